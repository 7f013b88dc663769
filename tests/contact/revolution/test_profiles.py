"""Profiles: what they are, how they are sampled, and what is refused."""

import dataclasses

import numpy as np
import pytest

from grouser.contact.layers import Layer
from grouser.contact.polygonal.mesh_checks import is_closed
from grouser.contact.revolution import Profile, RevolutionBody, RevolutionContact, RevolutionPair
from grouser.errors import InputError
from tests.rig import ManufacturedMotion

LAYER = Layer(young=1e7)
BALL = RevolutionBody("ball", Profile.sphere(0.1), LAYER, "ball")
FLOOR = RevolutionBody(None, Profile.disk(1.0), LAYER, "floor")


def test_samples_lie_closer_where_a_curve_bends():
    """Chords leave the curve by the tolerance, everywhere alike, and none is longer than allowed."""
    tolerance = 1e-5

    def radius(z):
        return np.hypot(0.008, 0.6 * z)

    profile = Profile.from_function(radius, (-0.03, 0.2), tolerance=tolerance, longest=0.02, inner=True)
    length = np.hypot(np.diff(profile.r), np.diff(profile.z))
    middle = (profile.z[1:] + profile.z[:-1]) / 2
    gap = (profile.r[1:] + profile.r[:-1]) / 2 - radius(middle)
    assert length.max() <= 0.0201
    assert gap.min() >= 0
    assert gap.max() < 1.3 * tolerance  # the curvature changes within a chord
    throat = np.abs(middle) < 0.01
    assert gap[throat].min() > 0.5 * tolerance
    assert length[throat].max() < 0.3 * length.max()


def test_surfaces_and_sides():
    sphere = Profile.sphere(0.1, tolerance=1e-6)
    assert sphere.surface == pytest.approx(4 * np.pi * 0.1**2, rel=1e-4)
    assert sphere.edges == (False, False)
    assert not sphere.closed
    ring = Profile.ring(0.06, 0.004)
    assert ring.closed
    assert ring.area_inside == pytest.approx(np.pi * 0.004**2, rel=0.01)
    backwards = Profile([0.2, 0.0], [0.1, 0.05])
    assert backwards.z[0] == 0.0
    assert backwards.edges == (True, True)


@pytest.mark.parametrize(
    ("profile", "volume"),
    [
        (Profile.sphere(0.1, tolerance=1e-5), 4 / 3 * np.pi * 0.1**3),
        (Profile.cylinder(0.05, (0.0, 0.1), caps=True), np.pi * 0.05**2 * 0.1),
        (Profile.ring(0.06, 0.004), 2 * np.pi**2 * 0.06 * 0.004**2),
        (Profile.sphere(0.1, tolerance=1e-5, inner=True), -4 / 3 * np.pi * 0.1**3),
    ],
)
def test_meshes_look_outward(profile, volume):
    vertices, triangles = RevolutionBody(None, profile, LAYER, "body", axis=(1, 2, 3)).mesh(128)
    a, b, c = vertices[triangles].transpose(1, 0, 2)
    assert np.einsum("fk,fk->", a, np.cross(b, c)) / 6 == pytest.approx(volume, rel=0.02)


def test_parts_are_joined_end_to_end():
    nozzle = Profile.joined(
        Profile.cone((-0.03, -0.004), (0.02, 0.008), inner=True),
        Profile.from_function(lambda z: 0.008 + 0 * z, (-0.004, 0.0), tolerance=1e-5, longest=0.001, inner=True),
        Profile.cone((0.0, 0.2), (0.008, 0.122), inner=True),
    )
    assert nozzle.count == 1 + 4 + 2
    np.testing.assert_array_equal(nozzle.curved, [False] + [True] * 4 + [False])
    assert nozzle.inner


def test_a_smooth_curve_through_points():
    z = np.linspace(0, 0.1, 9)
    profile = Profile.from_points(z, 0.02 + 0.3 * z**2 / 0.1, tolerance=1e-5)
    np.testing.assert_allclose(profile.r, 0.02 + 3 * profile.z**2, atol=2e-5)
    assert profile.curved.all()
    assert not Profile.from_points(z, 0.02 + z).curved.any()


def contact(**more):
    return RevolutionContact([RevolutionPair("pair", BALL, FLOOR, **more)])


BAD = {
    "2 z and 3 r": lambda: Profile([0, 1], [1, 2, 3]),
    "is not a finite number": lambda: Profile([0, np.nan], [1, 2]),
    "r = -1 m of sample 1": lambda: Profile([0, 1], [1, -1]),
    "samples 1 and the next are equal": lambda: Profile([0, 1, 1], [1, 2, 2]),
    "lie on the axis": lambda: Profile([0, 1], [0, 0]),
    "lines 0 and 2 cross": lambda: Profile([0.0, 1.0, 1.0, 0.2], [1.0, 1.0, 2.0, 0.5]),
    "curved must be one or 1 flags": lambda: Profile([0, 1], [1, 1], curved=[True, False]),
    "wire 0.1 m is not allowed": lambda: Profile.ring(0.05, 0.1),
    "tolerance 0 m": lambda: Profile.from_function(lambda z: 1 + z, (0, 1), tolerance=0),
    "longest -1 m": lambda: Profile.cylinder(1, (0, 1), longest=-1),
    "all inner or all outer": lambda: Profile.joined(
        Profile.cylinder(1, (0, 1)), Profile.cylinder(1, (1, 2), inner=True)
    ),
    "profile must be a Profile": lambda: RevolutionBody("a", [1, 2], LAYER, "a"),
    "material must be a Layer": lambda: RevolutionBody("a", BALL.profile, 3.0, "a"),
    "axis (0, 0, 0) has no direction": lambda: RevolutionBody("a", BALL.profile, LAYER, "a", axis=(0, 0, 0)),
    "allowed: 3 finite numbers": lambda: RevolutionBody("a", BALL.profile, LAYER, "a", position=(0, 0)),
    "4 sectors are not allowed": lambda: RevolutionBody("a", BALL.profile, LAYER, "a", sectors=4),
    "refine 0 is not allowed": lambda: RevolutionBody("a", BALL.profile, LAYER, "a", refine=0),
    "line_material must hold": lambda: RevolutionBody("a", BALL.profile, LAYER, "a", line_material=[1]),
    "a and b must be RevolutionBody": lambda: RevolutionPair("pair", BALL, "floor"),
    "names must differ": lambda: RevolutionPair("pair", BALL, dataclasses.replace(FLOOR, name="ball")),
    "both surfaces are on body 'ball'": lambda: RevolutionPair(
        "pair", BALL, dataclasses.replace(BALL, name="other")
    ),
    "both surfaces are fixed": lambda: RevolutionPair("pair", FLOOR, dataclasses.replace(FLOOR, name="other")),
    "reach -1 is not allowed": lambda: contact(reach=-1),
    "largest_area 0 is not allowed": lambda: contact(largest_area=0),
    "friction (0.1, 0.2)": lambda: contact(friction=(0.1, 0.2)),
    "elements on 'roof'": lambda: contact(elements="roof"),
    "pairs must be a sequence of RevolutionPair": lambda: RevolutionContact([]),
    "two pairs are called 'pair'": lambda: RevolutionContact([RevolutionPair("pair", BALL, FLOOR)] * 2),
    "another surface is called 'floor'": lambda: RevolutionContact([
        RevolutionPair("one", BALL, FLOOR), RevolutionPair("two", BALL, dataclasses.replace(FLOOR)),
    ]),
    "are both rigid": lambda: RevolutionContact([
        RevolutionPair(
            "pair", dataclasses.replace(BALL, material=Layer(young=np.inf)),
            dataclasses.replace(FLOOR, material=Layer(young=np.inf)),
        )
    ]),
}  # fmt: skip


@pytest.mark.parametrize("words", BAD)
def test_bad_input_is_refused_in_one_line(words):
    with pytest.raises(InputError) as caught:
        BAD[words]()
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_bad_changes_are_refused():
    module = contact()
    with pytest.raises(InputError, match="after the simulation has been built"):
        module.spread("ball", 0.001)
    ManufacturedMotion(module)
    for words, change in {
        "no surface 'roof'; there are ball, floor": lambda: module.spread("roof", 0.1),
        "samples are not allowed": lambda: module.set_profile("ball", [[0, 0], [1, 1]]),
        "is not a finite number": lambda: module.set_profile("floor", [[0, np.nan], [1, 1]]),
        "makes r negative": lambda: module.spread("ball", -0.01),
        "speed must be 0": lambda: module.set_profile("floor", FLOOR.profile, [1.0, 2.0, 3.0]),
        "a speed is not a finite number": lambda: module.set_profile("floor", FLOOR.profile, np.inf),
    }.items():
        with pytest.raises(InputError, match=words):
            change()


def test_a_closed_mesh_stays_closed():
    vertices, triangles = RevolutionBody(None, Profile.cylinder(0.05, (0.0, 0.1)), LAYER, "body").mesh(16)
    assert not is_closed(triangles)
    assert len(vertices) == 32
