"""One element against one face: where it lies, what of it is behind the face, how far a line goes to it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from grouser.contact import clipping
from grouser.contact.clipping import Moments, coordinates
from grouser.contact.polygonal import neighbour_search, overlap
from grouser.contact.polygonal.types import Element, Shapes
from grouser.device import zeros
from grouser.precision import mat33, real, vec3
from tests.device_call import call

ROUND_OFF = 1e-12
FACE = np.array([[0.0, 0.0, 0.0], [2.0, 0.0, 0.0], [0.0, 1.0, 0.0]])  # looks up
OTHER = np.array([[0.0, 0.0, -0.1], [0.0, 1.0, -0.1], [2.0, 0.0, -0.1]])  # looks down; FACE is 0.1 m behind it
ASIDE, FAR_DOWN, IN_FRONT = np.array([5.0, 0, 0]), np.array([0, 0, -1.0]), np.array([0, 0, 0.2])  # [m] shifts of it
UPRIGHT = mat33(*np.eye(3).ravel())


def shapes(*faces: np.ndarray):
    """Faces with their normals."""
    made = zeros(Shapes, "cpu", (len(faces),), corners=(len(faces), 3))
    corners = np.array(faces)
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    made.corners.assign(corners)
    made.normal.assign(normals / np.linalg.norm(normals, axis=1, keepdims=True))
    return made


def element(face: np.ndarray = FACE):
    """The device struct of a face."""
    values = call(overlap.element_of, shapes(face), 0, vec3(), UPRIGHT, returns=Element)
    made = Element()
    for name in values.dtype.names:
        value = values[name]
        setattr(made, name, vec3(*value) if value.ndim else float(value))
    return made


def test_an_element_has_its_corners_in_its_own_plane():
    turn, position = Rotation.random(random_state=0), np.array([1.0, 2.0, 3.0])
    face = np.random.default_rng(1).normal(size=(3, 3))
    el = call(overlap.element_of, shapes(face), 0, vec3(*position), mat33(*turn.as_matrix().ravel()), returns=Element)
    flat = np.array([[0.0, 0.0], [el["L"], 0.0], [el["a"], el["b"]]])
    placed = el["corner"] + flat @ np.stack([el["e1"], el["e2"]])
    np.testing.assert_allclose(placed, turn.apply(face) + position, atol=ROUND_OFF)
    np.testing.assert_allclose(np.cross(el["e1"], el["e2"]), el["n"], atol=ROUND_OFF)


def area_behind(el, face: np.ndarray, depth: float, slope: float = 0.0, limit: float = 9.0) -> float:
    plane = real(depth), real(slope), real(0.0), real(limit)
    x, y, count = call(
        overlap.behind_face, el, *(vec3(*corner) for corner in face), *plane, returns=(coordinates, coordinates, int)
    )
    if count < 3:
        return 0.0
    return float(call(clipping.moments, coordinates(*x), coordinates(*y), count, returns=Moments)["area"])


def test_the_part_behind_a_face_is_what_both_cover():
    assert area_behind(element(), OTHER, 0.1) == pytest.approx(1.0)
    half = OTHER * [0.5, 0.5, 1.0]
    assert area_behind(element(), half, 0.1) == pytest.approx(0.25)
    assert area_behind(element(), OTHER + ASIDE, 0.1) == 0.0


def test_what_is_in_front_of_the_face_or_beyond_the_limit_is_left_out():
    """Depth x - 1 over the triangle with legs 2 and 1: below 0 for x < 1, above 0.5 for x > 1.5."""
    assert area_behind(element(), OTHER, -1.0, 1.0) == pytest.approx(0.25)
    assert area_behind(element(), OTHER, -1.0, 1.0, limit=0.5) == pytest.approx(0.25 - 0.0625)


@pytest.mark.parametrize(
    ("place", "distance"),
    [((0.5, 0.25, 0.0), 0.1), ((0.5, 0.25, -0.2), -0.1), ((3.0, 0.0, 0.0), None), ((0.5, 0.25, 0.9), None)],
)
def test_the_distance_from_a_corner_to_the_face_over_it(place, distance):
    """Against the normal of an element that looks up: searched from 0.2 m in front of it to 0.5 m behind."""
    arguments = vec3(*place), vec3(0.0, 0.0, 1.0), real(0.2), real(0.5)
    found = call(overlap.distance_to, shapes(OTHER), 0, *arguments, returns=real)
    assert found == (pytest.approx(distance) if distance is not None else overlap.MISSED.value)


def kind_of(face: np.ndarray, lift: float = 0.0) -> int:
    normal = vec3(*shapes(face).normal.numpy()[0])
    corners = [vec3(*corner) for corner in face]
    bounds = real(0.01), real(0.5), real(0.01), real(lift)  # slack, reach, turn, lift
    return call(neighbour_search.may_touch, element(), *corners, normal, *bounds, returns=(int, real))[0]


def test_what_a_face_can_become_to_an_element():
    assert kind_of(OTHER) == neighbour_search.BEHIND
    assert kind_of(OTHER[::-1]) == neighbour_search.REVERSED
    assert kind_of(OTHER + IN_FRONT) == neighbour_search.NOTHING
    assert kind_of(OTHER + IN_FRONT, lift=0.2) == neighbour_search.BEYOND
    assert kind_of(OTHER + ASIDE) == neighbour_search.NOTHING
    assert kind_of(OTHER + FAR_DOWN) == neighbour_search.NOTHING
