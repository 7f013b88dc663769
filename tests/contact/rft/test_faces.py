"""Meshes as the law takes them: faces outward, none inside another part, what cannot be used is told."""

from types import SimpleNamespace

import numpy as np
import pytest

from grouser.contact.rft.faces import face_corners
from grouser.contact.rft.wetted import subdivided
from grouser.errors import InputError
from tests.contact.rft.test_boxes import CORNERS, HIGH, LONG, TRIANGLES, WIDE

COARSE = 1.0  # [m] longer than the box: triangles stay whole
FINE = 0.005  # [m]
SKIN = 2 * (LONG * WIDE + LONG * HIGH + WIDE * HIGH)  # [m^2]


def mesh_of(*parts):
    """One mesh of boxes with some offset [m]; those turned have their triangles face inward."""
    vertices = np.concatenate([CORNERS + np.asarray(offset) for offset, _ in parts])
    triangles = [TRIANGLES[:, ::-1] if turned else TRIANGLES for _, turned in parts]
    return SimpleNamespace(vertices=vertices, triangles=np.concatenate([t + 8 * k for k, t in enumerate(triangles)]))


def areas(corners):
    return np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]) / 2


def skin(*parts):
    """Area [m^2] of the faces, and their sum as vectors."""
    area = areas(face_corners(mesh_of(*parts), "box", FINE, []))
    return np.linalg.norm(area, axis=1).sum(), np.abs(area.sum(axis=0)).max()


def test_a_box_is_taken_as_it_is():
    notes: list[str] = []
    assert len(face_corners(mesh_of(((0, 0, 0), False)), "box", COARSE, notes)) == 12
    assert not notes


def test_parts_that_face_inward_are_turned_and_told():
    notes: list[str] = []
    faces = face_corners(mesh_of(((0, 0, 0), True), ((1, 0, 0), False)), "box", COARSE, notes)
    volume = np.einsum("ti,ti->", faces[:, 0], np.cross(faces[:, 1], faces[:, 2])) / 6
    assert volume == pytest.approx(2 * LONG * WIDE * HIGH)
    assert notes == ["body 'box': 1 parts of its mesh face inward and were turned, for law 'rft'"]


def test_faces_between_overlapping_parts_are_left_out():
    """Two boxes that overlap by half their length have the skin of one box of one and a half."""
    longer = 2 * (1.5 * LONG * (WIDE + HIGH) + WIDE * HIGH)
    area, net = skin(((0, 0, 0), False), ((LONG / 2, 0, 0), False))
    assert area == pytest.approx(longer, rel=0.02)  # a face is kept or left out whole
    assert net < 0.02 * SKIN
    assert area < 0.8 * 2 * SKIN  # which all faces would have


def test_faces_at_which_parts_touch_are_left_out():
    assert skin(((0, 0, 0), False), ((LONG, 0, 0), False))[0] == pytest.approx(2 * SKIN - 2 * WIDE * HIGH)


def test_a_part_inside_another_is_left_out():
    inner = SimpleNamespace(
        vertices=np.concatenate([CORNERS, 0.5 * CORNERS]), triangles=np.concatenate([TRIANGLES, TRIANGLES + 8])
    )
    assert np.linalg.norm(areas(face_corners(inner, "box", COARSE, [])), axis=1).sum() == pytest.approx(SKIN)


def test_an_open_mesh_is_told_and_mixed_faces_are_refused():
    notes: list[str] = []
    open_box = SimpleNamespace(vertices=CORNERS, triangles=TRIANGLES[2:])
    assert len(face_corners(open_box, "tray", COARSE, notes)) == 10
    assert notes == ["body 'tray': its mesh is open; law 'rft' pushes only on the side that its triangles face"]
    mixed = np.concatenate([TRIANGLES[:1, ::-1], TRIANGLES[1:]])
    with pytest.raises(InputError, match="body 'box': neighbouring triangles of its mesh face opposite sides"):
        face_corners(SimpleNamespace(vertices=CORNERS, triangles=mixed), "box", COARSE, [])


def test_faces_are_cut_to_the_length_asked_for():
    assert len(face_corners(mesh_of(((0, 0, 0), False)), "box", FINE, [])) == len(subdivided(CORNERS[TRIANGLES], FINE))
