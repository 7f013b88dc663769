"""Energy in impacts: it must not depend on which face of a solid looks closest to the ground."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from benchmarks.convex import solids_to_throw, throw, throwing_courses
from grouser.contact.convex import ConvexContact, ConvexPart
from grouser.terrain.course import Course
from grouser.terrain.polyhedra import box, hull
from tests.contact.convex.bodies import FLOOR
from tests.rig import ManufacturedMotion

GAIN = 1e-3  # of the first drop
DEPTH, TURN = 3e-3, 1e-4  # [m] of the lowest corner, [rad] from pose to pose
SLOPE = math.radians(25)  # of the sides of a valley
SPEED = 0.2  # [m/s] along them
JUMP = 0.02  # relative: TURN shifts a corner 0.3 m away by 1 % of DEPTH, and energy goes as depth squared


@pytest.mark.parametrize("seed", range(4))
def test_energy_of_a_corner_is_continuous_in_its_attitude(seed):
    """A stone on its corner turns until other faces look closest to the floor: the stored energy does not jump."""
    rng = np.random.default_rng(seed)
    stone = hull(rng.uniform(-0.15, 0.15, (14, 3)))
    module = ConvexContact([ConvexPart("stone", stone)], FLOOR)
    rig = ManufacturedMotion(module)
    start, energy = Rotation.random(rng=rng), []
    for k in range(2000):
        turn = Rotation.from_rotvec([TURN * k, 0, 0]) * start
        lowest = turn.apply(stone.vertices)[:, 2].min()
        rig.place(position=np.array([[[0, 0, -lowest - DEPTH]]]), rotation=turn.as_quat()[None, None])
        module.evaluate_for_channels()
        energy.append(module.stored())
    assert np.abs(np.diff(np.log(energy))).max() < JUMP


def test_a_corner_that_crosses_a_valley_keeps_its_energy():
    """The corner of a stone goes along two slopes that meet at x = 0, always as deep below the surface.

    Below the seam is a wedge beyond the normals of both slopes. A corner in it belongs to the slope it is less deep
    behind; if it belonged to none, its energy would vanish there and come back from nothing.
    """
    rise, half = math.tan(SLOPE), 1.0
    slopes = [
        hull([(x, y, z) for x in (0.0, side) for y in (-half, half) for z in (-0.5, rise * abs(x))]) for side in (-1, 1)
    ]
    stone = box((0.2, 0.2, 0.2))
    turn = Rotation.align_vectors([[0, 0, -1.0]], [[1.0, 1, 1]])[0]
    module = ConvexContact([ConvexPart("stone", stone)], Course(tuple(slopes), "valley"))
    rig, tip, energy = ManufacturedMotion(module, step=1e-4), turn.apply(stone.vertices), []
    lowest = tip[tip[:, 2].argmin()]

    def pose(time):
        """Down on one slope for 4 ms, then along both."""
        x = SPEED * (max(time, 4e-3) - 4e-3) - 3e-3
        deep = min(time / 4e-3, 1.0) * DEPTH / math.cos(SLOPE)
        return np.array([x, 0.0137, rise * abs(x) - deep]) - lowest, turn.as_quat()

    rig.follow(pose, 40)
    rig.follow(pose, round(6e-3 / SPEED / rig.step), lambda: energy.append(stored(module)))
    assert min(energy) > 0.5 * max(energy), "no gap"
    assert np.abs(np.diff(np.log(energy))).max() < JUMP


def test_a_stone_on_a_saddle_is_held():
    """Its only direction is hidden by neighbouring pieces: without it the stone would sink in and be thrown out."""
    rng = np.random.default_rng(0)
    solid = solids_to_throw(rng)[2]
    assert throw(solid, throwing_courses()["rough grid"], _after(rng, 2), 5e-4, time=1.55) < GAIN


def stored(module):
    module.evaluate_for_channels()
    return module.stored()


def _after(rng, throws):
    """The generator after so many throws have drawn from it."""
    for _ in range(throws):
        rng.normal(size=4), rng.uniform(-0.5, 0.5, 2), rng.normal(size=3), rng.normal(size=3)
    return rng


@pytest.mark.parametrize("name", ["stairs", "blocks"])
def test_a_stone_whose_incident_face_changes_in_the_blow_gains_no_energy(name):
    rng = np.random.default_rng(2)
    rises = [throw(solid, throwing_courses()[name], rng, 5e-4, time=0.6) for solid in solids_to_throw(rng)]
    assert max(rises) < GAIN


@pytest.mark.long
@pytest.mark.parametrize("name", ["stairs", "ditch", "blocks", "rough grid"])
def test_no_throw_gains_energy(name):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        for solid in solids_to_throw(rng):
            assert throw(solid, throwing_courses()[name], rng, 5e-4) < GAIN
