"""The mesh of a wheel: closed, of the right size, without sharp edges."""

from __future__ import annotations

import math

import numpy as np
import pytest
import trimesh

from grouser.contact.polygonal.wheel import wheel_mesh
from grouser.errors import InputError

FACETS = 0.01  # of the volume: a polygon of 120 sides inside a circle, and of 5 points in a quarter of one
SHARP = math.radians(30)  # between neighbours: a quarter of a circle in four


def test_a_wheel_with_round_shoulders_is_closed():
    mesh = trimesh.Trimesh(*wheel_mesh(0.1425, 0.12, 0.015), process=False)
    assert mesh.is_watertight
    assert mesh.is_winding_consistent
    disc, ring = math.pi * 0.1425**2 * 0.12, 4 - math.pi  # Pappus: what the shoulders lack of a square
    lack = 2 * 0.015**2 * ring / 4 * 2 * math.pi * (0.1425 - 0.015 * 0.2234)
    assert mesh.volume == pytest.approx(disc - lack, rel=FACETS)
    assert mesh.face_adjacency_angles.max() < SHARP
    np.testing.assert_allclose(mesh.bounds, [[-0.1425, -0.06, -0.1425], [0.1425, 0.06, 0.1425]], atol=1e-4)


def test_a_shoulder_wider_than_the_wheel_is_refused():
    with pytest.raises(InputError, match=r"shoulder 0\.08 m is not allowed"):
        wheel_mesh(0.1425, 0.12, 0.08)
