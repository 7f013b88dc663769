"""Boxes of twelve triangles in a granular medium against closed forms: faces are clipped at the ground, not counted."""

from types import SimpleNamespace

import numpy as np
import pytest

from grouser.contact.rft import RftModule, RftOptions, laws
from grouser.contact.rft.wetted import Wetted, subdivided, wetted
from grouser.precision import precision
from grouser.terrain import soils
from grouser.terrain.elevation import ElevationGrid
from grouser.terrain.ground import Ground
from tests.device_call import call
from tests.rig import ManufacturedMotion, quaternion

P = precision("float64")
LONG, WIDE, HIGH = 0.12, 0.08, 0.10  # [m] of the box
SCALE, STEP, SPEED = 1e6, 1e-3, 0.2  # [N/m^3], [s], [m/s]
FORMS = {"li2013": 0, "agarwal2023": 1}
ROUND_OFF = 1e-9
CORNERS = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * [LONG / 2, WIDE / 2, HIGH / 2]
QUADS = [(0, 2, 6, 4), (1, 5, 7, 3), (0, 4, 5, 1), (2, 3, 7, 6), (0, 1, 3, 2), (4, 6, 7, 5)]
TRIANGLES = np.array([t for a, b, c, d in QUADS for t in ((a, b, c), (a, c, d))])
BOX = SimpleNamespace(vertices=CORNERS, triangles=TRIANGLES)


def rig_of(form, body=BOX, spacing=0.25):
    """A box on ground so coarse that its triangles stay whole."""
    elevation = ElevationGrid(np.zeros((21, 21)), spacing, origin=(-10 * spacing, -10 * spacing))
    module = RftModule(Ground(elevation, soils.soil("dry-sand")), {"box": body}, RftOptions(form, SCALE))
    return ManufacturedMotion(module, step=STEP)


def alpha(form, normal, direction):
    direction = np.asarray(direction) / np.linalg.norm(direction)
    friction = soils.soil("dry-sand").wheel_friction
    friction = np.tan(np.radians(soils.soil("dry-sand").friction_angle_deg)) if friction is None else friction
    arguments = P.vec3(*normal), P.vec3(*direction), P.real(friction), FORMS[form]
    return call(laws.flow_stress, *arguments, returns=P.vec3)


def dragged(form, depth, direction, body=BOX):
    """Wrench on a box of twelve faces whose bottom is at `depth` [m] after 60 mm along `direction`."""
    direction = np.asarray(direction) / np.linalg.norm(direction)
    end, steps = np.array([0.0, 0.0, HIGH / 2 - depth]), 300
    rig = rig_of(form, body)
    rig.follow(lambda t: (end + direction * SPEED * (t - (steps + 0.5) * STEP), quaternion(np.zeros(3))), steps)
    assert len(rig.module._faces) == 12
    return rig.wrench[0, 0]  # that of the middle of the next step, at `depth`


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("depth", [0.01, 0.033, 0.066, 0.1, 0.15])
def test_a_box_that_is_dragged_meets_half_the_square_of_its_depth(form, depth):
    """Only its front leads. Its force is alpha scale w (z^2 - t^2) / 2, t the depth of the top where that is buried."""
    top = max(depth - HIGH, 0.0)
    push = SCALE * WIDE * (depth**2 - top**2) / 2
    force = alpha(form, (1, 0, 0), (1, 0, 0)) * push
    low = (depth**3 - top**3) / 3 / ((depth**2 - top**2) / 2)  # [m] depth of the centre of pressure
    arm = np.array([LONG / 2, 0.0, depth - HIGH / 2 - low])
    found = dragged(form, depth, (1, 0, 0))
    assert abs(force[0]) > 0.1 * push
    assert found[:3] == pytest.approx(force, abs=ROUND_OFF * push)
    assert found[3:] == pytest.approx(np.cross(arm, force), abs=ROUND_OFF * push * LONG)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("depth", [0.01, 0.033, 0.066, 0.1])
def test_a_box_that_sinks_aslant_is_carried_by_its_bottom_and_its_front(form, depth):
    way = (1, 0, -1)
    front = alpha(form, (1, 0, 0), way) * SCALE * WIDE * depth**2 / 2
    bottom = alpha(form, (0, 0, -1), way) * SCALE * LONG * WIDE * depth
    found = dragged(form, depth, way)
    assert found[:3] == pytest.approx(front + bottom, abs=ROUND_OFF * np.linalg.norm(front + bottom))


def test_twelve_triangles_are_as_good_as_thousands():
    fine = subdivided(CORNERS[TRIANGLES], 0.004)
    triangles = np.arange(3 * len(fine)).reshape(-1, 3)
    mesh = SimpleNamespace(vertices=fine.reshape(-1, 3), triangles=triangles)
    turned, wrenches = quaternion(np.array([0.4, 0.3, 0.2])), []
    for body in (BOX, mesh):
        rig = rig_of("agarwal2023", body)
        rig.follow(lambda t: (np.array([0.5 * t, 0.1 * t, 0.05 - 0.5 * t]), turned), 100)
        wrenches.append(rig.wrench[0, 0])
    assert len(fine) > 5000
    assert wrenches[0] == pytest.approx(wrenches[1], abs=ROUND_OFF * np.abs(wrenches[1]).max())


def test_the_parts_above_and_below_make_up_the_triangle():
    rng = np.random.default_rng(5)
    for _ in range(30):
        corners, depths = rng.normal(size=(3, 3)), rng.normal(size=3)
        area = np.linalg.norm(np.cross(corners[1] - corners[0], corners[2] - corners[0])) / 2
        below, above = (
            call(wetted, P.real(area), P.mat33(corners), P.vec3(*d), returns=Wetted) for d in (depths, -depths)
        )
        assert below["area"] + above["area"] == pytest.approx(area, rel=ROUND_OFF)
        assert below["volume"] - above["volume"] == pytest.approx(area * depths.mean(), abs=ROUND_OFF)
        moment = area / 12 * (depths.sum() * corners.sum(axis=0) + depths @ corners)
        assert below["moment"] - above["moment"] == pytest.approx(moment, abs=ROUND_OFF)
