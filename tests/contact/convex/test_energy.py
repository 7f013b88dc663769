"""Energy in impacts: it must not depend on which face of a solid looks closest to the ground."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from benchmarks.convex import solids_to_throw, throw, throwing_courses
from grouser.contact.convex import ConvexContact, ConvexPart
from grouser.terrain.polyhedra import hull
from tests.contact.convex.bodies import FLOOR
from tests.rig import ManufacturedMotion

GAIN = 1e-3  # of the first drop
DEPTH, TURN = 3e-3, 1e-4  # [m] of the lowest corner, [rad] from pose to pose
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


@pytest.mark.parametrize("name", ["stairs", "blocks"])
def test_a_stone_whose_incident_face_changes_in_the_blow_gains_no_energy(name):
    rng = np.random.default_rng(2)
    rises = [throw(solid, throwing_courses()[name], rng, 5e-4, time=0.6) for solid in solids_to_throw(rng)]
    assert max(rises) < GAIN


@pytest.mark.long
@pytest.mark.parametrize("name", ["stairs", "ditch", "blocks"])
def test_no_throw_gains_energy(name):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        for solid in solids_to_throw(rng):
            assert throw(solid, throwing_courses()[name], rng, 5e-4) < GAIN
