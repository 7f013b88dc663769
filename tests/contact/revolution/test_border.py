"""Elements at the border are divided again and again, wide sectors follow their circle, and peaks are kept."""

from __future__ import annotations

import numpy as np
import pytest

from grouser.contact.revolution import Profile, RevolutionBody, RevolutionContact, RevolutionPair
from grouser.errors import InputError
from tests.contact.revolution.geometries import RIGID, SOFT
from tests.contact.revolution.test_closed_forms import channel, on_plane
from tests.rig import UPRIGHT, ManufacturedMotion

R = 0.1  # [m]
DEPTH = 5e-4  # [m]
EXACT = np.pi * SOFT.stiffness * R * DEPTH**2 * (1 - DEPTH / (3 * R))
CUT = 0.01  # of the force: elements are trapezoids, and parts of them follow the circle better
AROUND = 0.005  # of the force: mean depth of an element, of third order in its width
DEEPEST = 1e-3  # of the penetration: a chord of the shoulder turns by 0.05 rad, its cubic is off by that squared


def sphere(refine: int, passes: int) -> ManufacturedMotion:
    """A sphere on a plane, coarse: a few large elements, all at the border."""
    body = Profile.sphere(R, tolerance=4e-4)
    return on_plane(body, R - DEPTH, (0.7, 0.2, 0), sectors=32, refine=refine, passes=passes)


def error(rig: ManufacturedMotion) -> float:
    return abs(rig.wrench[0, 0, 2] / EXACT - 1)


def mapped(rig: ManufacturedMotion) -> int:
    return int(rig.module.work()["mapped"][0, 0])  # type: ignore[attr-defined]


def test_each_pass_refines_the_border_and_only_there():
    once, twice, thrice = (sphere(2, passes) for passes in (1, 2, 3))
    at_once = sphere(8, 1)
    assert error(thrice) < error(twice) < error(once)
    assert thrice.wrench[0, 0, 2] == pytest.approx(at_once.wrench[0, 0, 2], rel=CUT)
    assert mapped(thrice) < 0.6 * mapped(at_once)  # parts inside and outside are not divided again
    polygons = [channel(rig.module, "polygons")[0, 0] for rig in (once, twice, thrice)]
    assert polygons[0] < polygons[1] < polygons[2]


def test_parts_add_up_to_the_element_they_are_made_of():
    """A flat punch, tilted: the depth is linear, and the border cuts the same polygon out of any division."""
    profile = Profile.disk(0.04, up=False, longest=0.02)
    forces = [
        on_plane(profile, -2e-4, (0.01, 0.004, 0), sectors=16, refine=refine, passes=passes).wrench[0, 0, 2]
        for refine, passes in ((2, 1), (2, 3), (3, 2))
    ]
    np.testing.assert_allclose(forces, forces[0], rtol=CUT)


def force_over_depth(passes: int) -> np.ndarray:
    """Force of a sphere on a plane while it sinks in by steps of a hundredth."""
    depths = DEPTH * np.linspace(0.5, 1.5, 101)
    body = Profile.sphere(R, tolerance=2e-4)
    return np.array([
        on_plane(body, R - d, (0.7, 0.2, 0), sectors=48, refine=2, passes=passes).wrench[0, 0, 2] for d in depths
    ])  # fmt: skip


def test_the_force_does_not_jump_when_a_part_is_divided():
    force = force_over_depth(3)
    steps = np.diff(force)
    assert (steps > 0).all()
    assert np.abs(np.diff(steps)).max() < 0.2 * steps.mean()  # a part that were replaced at once would show as a kink


def ring_in_cone(sectors: int) -> RevolutionContact:
    """A rounded shoulder in a cone of 35 degrees, as a docking tool in a nozzle."""
    angle = np.radians(35.0)
    shoulder = Profile.arc(0.015, (-0.015 * np.sin(angle), 0.045 - 0.015 * np.cos(angle)), (0.02, 1.3), tolerance=5e-6)
    wall = Profile.cone((-0.05, 0.05), (0.045 + 0.05 * np.tan(angle), 0.045 - 0.05 * np.tan(angle)), inner=True)
    tool = RevolutionBody("tool", shoulder, SOFT, "tool", sectors=sectors, refine=2)
    nozzle = RevolutionBody(None, wall, RIGID, "nozzle")
    return RevolutionContact([RevolutionPair("pair", tool, nozzle, elements="tool")])


@pytest.mark.parametrize("sunk", [1e-4, 1e-3])  # [m] narrow: all elements at the border; wide: most inside
@pytest.mark.parametrize("sectors", [12, 24])
def test_wide_sectors_follow_their_circle(sectors, sunk):
    """The depth is the same all around, so force, area and penetration do not depend on the number of sectors."""
    found = []
    for count in (sectors, 400):
        module = ring_in_cone(count)
        rig = ManufacturedMotion(module).place((0, 0, sunk), UPRIGHT, np.zeros(3), np.zeros(3)).advance()
        found.append([rig.wrench[0, 0, 2], *(channel(module, name)[0, 0] for name in ("contact_area", "penetration"))])
    np.testing.assert_allclose(found[0], found[1], rtol=AROUND)
    assert found[0][2] == pytest.approx(sunk * np.sin(np.radians(35.0)), rel=DEEPEST)


def test_pressure_is_that_of_the_layer_at_the_deepest_point():
    rig = sphere(3, 1)
    assert channel(rig.module, "penetration")[0, 0] == pytest.approx(DEPTH, rel=0.01)
    assert channel(rig.module, "pressure")[0, 0] == pytest.approx(SOFT.stiffness * DEPTH, rel=0.01)


def test_peaks_are_those_of_the_worst_step():
    body = RevolutionBody("body", Profile.sphere(R, tolerance=1e-4), SOFT, "body", sectors=64)
    plane = RevolutionBody(None, Profile.disk(1.0), RIGID, "plane")
    module = RevolutionContact([RevolutionPair("pair", body, plane, elements="body")])
    rig = ManufacturedMotion(module)
    for depth in (DEPTH / 2, DEPTH, -DEPTH):
        rig.place((0, 0, R - depth), UPRIGHT, np.zeros(3), np.zeros(3)).advance()
    assert channel(module, "penetration")[0, 0] == 0
    assert channel(module, "peak_penetration")[0, 0] == pytest.approx(DEPTH, rel=0.01)
    assert channel(module, "peak_force")[0, 0] == pytest.approx(EXACT, rel=0.01)
    assert channel(module, "peak_pressure")[0, 0] == pytest.approx(SOFT.stiffness * DEPTH, rel=0.01)


@pytest.mark.parametrize(
    ("given", "message"), [({"passes": 0}, "passes 0"), ({"refine": 16, "passes": 2}, "256 parts")]
)
def test_too_many_parts_are_refused(given, message):
    with pytest.raises(InputError, match=message):
        RevolutionBody("body", Profile.sphere(R, tolerance=1e-3), SOFT, "body", **given)
