"""Meshes, layers and pairs that cannot be: repaired with a note where that is safe, refused by name otherwise."""

import numpy as np
import pytest

from grouser.contact.polygonal import Layer, Pair, PolygonalModule, merged, shape
from grouser.contact.polygonal.mesh_checks import self_intersections, signed_volume
from grouser.errors import InputError
from tests.contact.polygonal.bodies import RIGID, SOFT, ball_mesh, box, box_mesh, on_ground, plane, rest

DEPTH = 0.001


def volume(s):
    return signed_volume(s.vertices, s.triangles, np.zeros(len(s.triangles), int))[0]


def load(s):
    return rest(on_ground(s, plane()), (0.0013, 0.0021, 0.01 - DEPTH)).wrench[0, 0, 2]


GOOD = box((0.03, 0.02, 0.01))
VERTICES, TRIANGLES = box_mesh((0.03, 0.02, 0.01))


def test_a_good_mesh_has_no_notes():
    assert GOOD.notes == ()
    assert GOOD.closed
    assert volume(GOOD) == pytest.approx(8 * 0.03 * 0.02 * 0.01)


@pytest.mark.parametrize(
    ("vertices", "triangles", "words"),
    [
        (VERTICES, TRIANGLES[:, ::-1], "inside out"),
        (VERTICES, np.vstack([TRIANGLES[:3], TRIANGLES[3:6, ::-1], TRIANGLES[6:]]), "wound opposite"),
        (VERTICES, np.vstack([TRIANGLES, [[0, 0, 1], [2, 3, 2]]]), "2 triangles with zero area"),
        (np.vstack([VERTICES, VERTICES]), np.vstack([TRIANGLES[:6], TRIANGLES[6:] + 8]), "repeated"),
    ],
    ids=["inside out", "mixed winding", "degenerate", "repeated vertices"],
)
def test_what_can_be_repaired_is_and_acts_like_the_good_mesh(vertices, triangles, words):
    repaired = shape(vertices, triangles, RIGID, name="crate")
    assert len(repaired.notes) == 1
    assert words in repaired.notes[0]
    assert "'crate'" in repaired.notes[0]
    assert load(repaired) == pytest.approx(load(GOOD), rel=1e-12)
    assert PolygonalModule({"crate": repaired}, {"ground": plane()}).notes == list(repaired.notes)


def test_an_open_mesh_acts_on_the_side_it_looks_to():
    lower = TRIANGLES[[(VERTICES[t, 2] < 0).all() for t in TRIANGLES]]
    assert len(lower) == 2
    sheet = shape(VERTICES, lower, RIGID)
    assert not sheet.closed
    assert load(sheet) == pytest.approx(load(GOOD), rel=1e-12)
    assert load(shape(VERTICES, lower[:, ::-1], RIGID)) == 0


MOBIUS = [
    [(1 + 0.2 * s * np.cos(a / 2)) * np.cos(a), (1 + 0.2 * s * np.cos(a / 2)) * np.sin(a), 0.2 * s * np.sin(a / 2)]
    for a in 2 * np.pi * np.arange(12) / 12
    for s in (-1, 1)
]
STRIP = [
    t
    for k in range(11)
    for t in ((2 * k, 2 * k + 2, 2 * k + 1), (2 * k + 1, 2 * k + 2, 2 * k + 3))
] + [(22, 1, 23), (23, 1, 0)]  # fmt: skip


@pytest.mark.parametrize(
    ("vertices", "triangles", "words"),
    [
        (np.zeros((0, 3)), np.zeros((0, 3), int), "empty"),
        (VERTICES, np.zeros((0, 3), int), "empty"),
        (np.where(np.arange(24).reshape(8, 3) == 7, np.nan, VERTICES), TRIANGLES, "vertex 2"),
        (VERTICES, TRIANGLES + 1, "index 8 is not allowed"),
        (VERTICES, TRIANGLES.astype(float), "integers"),
        (VERTICES[:, :2], TRIANGLES, r"\(8, 2\)"),
        (np.zeros((8, 3)), TRIANGLES, "zero area"),
        (VERTICES, np.vstack([TRIANGLES, [[0, 1, 7]]]), "3 faces"),
        (MOBIUS, STRIP, "not orientable"),
        (np.vstack([VERTICES, VERTICES + 0.013]), np.vstack([TRIANGLES, TRIANGLES + 8]), "crosses itself"),
    ],
    ids=["empty", "no faces", "nan", "index", "floats", "flat", "points", "fin", "strip", "crossing"],
)
def test_other_meshes_are_refused_by_name(vertices, triangles, words):
    with pytest.raises(InputError, match=words) as error:
        shape(vertices, triangles, RIGID, name="crate")
    assert "'crate'" in str(error.value)
    assert "\n" not in str(error.value)


def test_neighbours_do_not_count_as_crossing():
    for vertices, triangles in (ball_mesh(1.0, 3), box_mesh((1, 2, 3))):
        assert len(self_intersections(vertices, triangles)) == 0


def test_merged_shapes_keep_their_layers():
    other = Layer(young=3e7, name="other")
    both = merged([box((0.03, 0.02, 0.01)), box((0.01, 0.01, 0.01), other)])
    assert both.layers == (RIGID, other)
    assert np.bincount(both.face_layer).tolist() == [12, 12]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"poisson": 0.45}, "poisson 0.45 is not allowed; the layer model holds below 0.45"),
        ({"poisson": 0.49}, "poisson 0.49"),
        ({"poisson": -1.0}, "poisson -1.0"),
        ({"young": 0.0}, "young 0.0"),
        ({"thickness": 0.0}, "thickness 0.0"),
        ({"thickness": np.inf}, "thickness inf"),
        ({"damping": -1.0}, "damping -1.0"),
        ({"friction_slip": 0.7}, "friction_slip 0.7 is not allowed; at most friction_stick"),
        ({"shear_stiffness": 0.0}, "shear_stiffness 0.0"),
        ({"transition_depth": np.nan}, "transition_depth nan"),
    ],
)
def test_bad_layers_are_refused(change, words):
    with pytest.raises(InputError, match=words) as error:
        Layer(**{"young": 1e7, "name": "tread", **change})
    assert "'tread'" in str(error.value)


@pytest.mark.parametrize(
    ("pairs", "words"),
    [
        ([], "no pair"),
        ([("wheel", "rock")], "no body 'wheel'; there are box, crate"),
        ([("box", "rock")], "no other shape 'rock'; there are crate, ground"),
        ([("box", "box")], "no other shape 'box'"),
        ([("box", "ground"), ("box", "ground")], "given twice"),
        ([("box", "crate"), ("crate", "box")], "given twice"),
        ([Pair("box", "ground", friction=(0.3, 0.4))], "friction"),
        ([Pair("box", "ground", reach=-1.0)], "reach -1.0"),
        ([Pair("box", "ground", elements="crate")], "elements on 'crate'"),
        ([("box", "crate")], "both rigid"),
    ],
)
def test_bad_pairs_are_refused(pairs, words):
    with pytest.raises(InputError, match=words):
        PolygonalModule({"box": GOOD, "crate": GOOD}, {"ground": plane()}, pairs)


def test_a_name_stands_for_one_shape():
    with pytest.raises(InputError, match="both a body and fixed"):
        PolygonalModule({"box": GOOD}, {"box": plane()})


def test_layers_per_face_are_checked():
    with pytest.raises(InputError, match=r"face_layer 2 is not allowed; allowed: 0 to 1"):
        shape(VERTICES, TRIANGLES, (RIGID, SOFT), face_layer=np.full(12, 2))
    with pytest.raises(InputError, match=r"integers \(12,\)"):
        shape(VERTICES, TRIANGLES, (RIGID, SOFT), face_layer=np.zeros(11, int))
    with pytest.raises(InputError, match="longest_edge"):
        shape(VERTICES, TRIANGLES, RIGID, longest_edge=0.0)


def test_dividing_keeps_the_surface_and_its_layers():
    index = (np.arange(12) % 2).astype(int)
    fine = shape(VERTICES, TRIANGLES, (RIGID, SOFT), face_layer=index, longest_edge=0.005)
    corners = fine.corners
    assert np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2).max() <= 0.005

    def areas(s):
        c = s.corners
        area = np.linalg.norm(np.cross(c[:, 1] - c[:, 0], c[:, 2] - c[:, 0]), axis=1) / 2
        return np.bincount(s.face_layer, area)

    np.testing.assert_allclose(areas(fine), areas(shape(VERTICES, TRIANGLES, (RIGID, SOFT), face_layer=index)))
