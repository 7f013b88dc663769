"""The soil module in the shared rigs: implicit matrix, symmetries, both kinds of threads, many worlds."""

import numpy as np
import pytest
from hypothesis import given, settings

from grouser.contact.soil import SoilOptions, wheel
from grouser.contact.soil.model import THREADS
from tests.rig import (
    HALF_TURN,
    MIRROR,
    QUARTER_TURN,
    SteadyMotion,
    check_implicit,
    image_errors,
    steady_motions,
    translation,
)
from tests.simulation.beds import CELL, plate, soil_rig, tread

LENGTH = 0.1  # [m] of the bodies
GEOMETRIC = 2e-3  # B leaves out that arms turn with the body: elastic sinkage (0.2 mm) over LENGTH
SUB_CELL = 0.1  # B takes K_e also for the sub-cell points that yield: a few of a wheel's rim
ROUND_OFF = 1e-9  # of float64, over some dozens of steps through thresholds of the law
GRID = 0.1  # of the largest force, at 10 cells under a body: what a cell's border passing under it does
SINGLE_FORCE = 4e-3  # rms of the largest: a border node off (BORDER_FORCE) in one step of a hundred and fifty
ROUND_OFF = 1e-10  # of the largest value
BORDER_FORCE = 0.05  # of the largest: a node of a footprint of twenty that lies under the body in one and not the other
SINGLE_HEIGHT = 1e-6  # [m] round-off of float32 on heights of 0.1 m, some dozens of times
BORDER_HEIGHT, BORDER_SHARE = 1e-4, 0.1  # [m], of the disturbed nodes: the footprint's border is a tenth of them
SYMMETRIC, POSITIVE = 1e-14, 1e-12  # B is assembled symmetric; eigenvalues cancel to round-off


def pressed(rig, radius, sinkage, lift, speed=0.01):
    """Press straight down by `sinkage` [m], then lift by `lift`, and rest: every node is elastic, no shear."""
    rig.follow(SteadyMotion((0.001, 0.002, radius), velocity=(0, 0, -speed)), round(sinkage / speed / rig.step))
    return rig.place(position=rig.position + np.array([0, 0, lift]), velocity=np.zeros(3), spin=np.zeros(3)).advance()


@pytest.mark.parametrize("friction", ["shear-displacement", "mohr-coulomb", "none"])
def test_the_implicit_matrix_of_a_resting_plate_is_the_derivative_of_its_wrench(friction):
    rig = pressed(soil_rig(plate(), SoilOptions(friction=friction)), 0.0, 0.01, 5e-6)
    assert rig.wrench[0, 0, 2] > 10
    assert check_implicit(rig, length=LENGTH).error < GEOMETRIC


def test_the_tangential_part_alone_is_right_too():
    """It is a hundredth of the normal part, so the test above would pass with any."""
    check = check_implicit(pressed(soil_rig(plate()), 0.0, 0.01, 5e-6), length=LENGTH)
    flat = np.ix_([0, 1], [0, 1])
    assert check.B[0, 0] > 0
    np.testing.assert_allclose(check.differences[flat], check.B[flat], atol=GEOMETRIC * check.B[0, 0])


def test_the_implicit_matrix_of_a_wheel_that_unloads():
    """Without friction: a wheel pressed straight down shears the soil beside it, and shear that reverses is damped."""
    rig = pressed(soil_rig(wheel(0.15, 0.1), SoilOptions(friction="none"), cell=CELL / 2), 0.15, 0.01, 2e-5)
    check = check_implicit(rig, length=LENGTH)
    assert check.B[0, 0] > 0.01 * check.B[2, 2]  # its sides do lean on the soil
    assert check.error < SUB_CELL


@settings(max_examples=10)
@given(steady_motions((0.085, 0.095)))
def test_the_implicit_matrix_is_symmetric_and_never_negative(motion):
    """Whatever the motion: rolling, slipping, digging, tilted."""
    rig, looked = soil_rig(tread()), []

    def look():
        B = rig.implicit[0, 0]
        largest = np.abs(B).max()
        assert np.abs(B - B.T).max() <= SYMMETRIC * largest
        assert np.linalg.eigvalsh(B)[0] >= -POSITIVE * largest
        looked.append(largest)

    rig.follow(motion, 15, look)
    assert max(looked) > 0


EXACT = (translation(32 * CELL, -19 * CELL), QUARTER_TURN, HALF_TURN, MIRROR)
SHIFT = translation(0.37 * CELL, -0.61 * CELL)


@settings(max_examples=8)
@given(steady_motions((0.085, 0.095)))
def test_shifts_by_cells_quarter_turns_and_mirrors_change_nothing(motion):
    """Soil that only compresses: what is displaced is shared out in blocks that start at the window's corner."""
    rig = soil_rig(tread(), worlds=len(EXACT) + 1, compression=1.0)
    errors = image_errors(rig, motion, EXACT, 15, length=LENGTH)
    assert max(errors.values()) < ROUND_OFF, errors


@settings(max_examples=8)
@given(steady_motions((0.085, 0.095)))
def test_shifts_by_cells_change_nothing_in_soil_that_piles_up(motion):
    rig = soil_rig(tread(), worlds=2)
    assert max(image_errors(rig, motion, EXACT[:1], 15, length=LENGTH).values()) < ROUND_OFF


@settings(max_examples=8)
@given(steady_motions((0.085, 0.095), tilt=0.05))
def test_a_shift_by_part_of_a_cell_changes_little(motion):
    rig = soil_rig(tread(), worlds=2, compression=1.0)
    assert max(image_errors(rig, motion, [SHIFT], 15, length=LENGTH).values()) < GRID


def test_what_a_shift_changes_shrinks_with_the_cells():
    """The mean difference of forces over a roll and some shifts, at a half and a quarter of the spacing."""
    motion = SteadyMotion((0.003, 0.002, 0.092), velocity=(0.05, 0, 0), spin=(0, 0.6, 0))
    shifts = np.array([[0, 0, 0], [0.37, -0.61, 0], [0.5, 0.5, 0], [0.25, 0.1, 0], [-0.3, 0.8, 0], [0.15, -0.35, 0]])
    means = []
    for part in (1, 2, 4):
        rig, apart = soil_rig(tread(), worlds=len(shifts), cell=CELL / part, compression=1.0), []

        def poses(time, cell=CELL / part):
            x, q = motion(time)
            return (x + cell * shifts)[:, None], q

        def look(rig=rig, apart=apart):
            load = rig.wrench[:, 0, 2]
            apart.append(np.abs(load[1:] / load[0] - 1).mean())

        rig.follow(poses, 100, look)
        means.append(np.mean(apart[20:]))
    assert means[1] < 0.7 * means[0]
    assert means[2] < 0.7**2 * means[0]


# ---- many worlds ------------------------------------------------------------------------------------


def different_motions(count):
    """A motion for each world: some roll, some slip, some dig, some hover."""
    random = np.random.default_rng(0)
    return [
        SteadyMotion(
            position=(*random.uniform(-0.5, 0.5, 2), random.uniform(0.085, 0.102)),
            rotation=(*random.normal(0, 0.05, 2), random.uniform(-3, 3)),
            velocity=(*random.uniform(-0.1, 0.1, 2), random.uniform(-0.02, 0.01)),
            spin=tuple(random.uniform(-1, 1, 3)),
        )
        for _ in range(count)
    ]


def run(motions, count, **where):
    """Wrenches (step, world, 6), blocks at the end, heights (world, row, column) of a rig with a world each."""
    rig, wrenches = soil_rig(tread(), worlds=len(motions), half=0.7, **where), []

    def poses(time):
        x, q = zip(*(m(time) for m in motions), strict=True)
        return np.stack(x)[:, None], np.stack(q)[:, None]

    rig.follow(poses, count, lambda: wrenches.append(rig.wrench[:, 0]))
    heights = np.stack([rig.module.ground.heights(world) for world in range(len(motions))])
    return np.stack(wrenches), rig.implicit[:, 0], heights


def test_64_worlds_are_64_runs_bit_for_bit():
    motions = different_motions(64)
    together = run(motions, 12)
    assert (np.abs(together[0]).max(axis=(0, 2)) > 1).sum() > 40  # most are in the soil
    for world, motion in enumerate(motions):
        for many, one in zip(together, run([motion], 12), strict=True):
            axis = 1 if many is together[0] else 0
            np.testing.assert_array_equal(np.take(many, world, axis), np.take(one, 0, axis))


def test_a_team_of_one_lane_is_one_thread_on_the_cpu():
    """But for the flows of a slide, which a node adds in another order."""
    motions = different_motions(4)
    per_world, per_team = (run(motions, 20, options=SoilOptions(threads=choice, lanes=False)) for choice in THREADS)
    for a, b in zip(per_world, per_team, strict=True):
        np.testing.assert_allclose(b, a, atol=ROUND_OFF * np.abs(a).max())


def test_a_team_of_one_lane_has_the_bits_of_one_thread_where_nothing_slides():
    motions = different_motions(4)
    choices = [SoilOptions(threads=choice, lanes=False, erosion=False) for choice in THREADS]
    for a, b in zip(*(run(motions, 20, options=options) for options in choices), strict=True):
        np.testing.assert_array_equal(a, b)


def test_float32_follows_float64():
    """A node on the border of a footprint may lie below the body in one and not in the other: few nodes, no drift."""
    motions = different_motions(6)
    double, single = run(motions, 30), run(motions, 30, dtype="float32")
    off, largest = np.abs(single[0] - double[0]), np.abs(double[0]).max()
    assert off.max() < BORDER_FORCE * largest
    assert np.sqrt(np.mean(off**2)) < SINGLE_FORCE * largest
    disturbed = double[2] != 0
    off = np.abs(single[2] - double[2])[disturbed]
    assert disturbed.sum() > 500
    assert np.median(off) < SINGLE_HEIGHT
    assert (off > BORDER_HEIGHT).mean() < BORDER_SHARE
