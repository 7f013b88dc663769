"""Windows of teams of lanes: packed, with a given room for nodes, and copied again only where others wrote."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import warp as wp

from benchmarks import batch
from grouser.contact.soil import SoilModule, SoilOptions, placement, raster, team_window, wheel
from grouser.contact.soil import types as t
from grouser.contact.soil.arrays import most_blocks
from grouser.contact.soil.elements import Box
from grouser.engine.mujoco_cpu import MujocoCpu
from grouser.terrain import flat, soil
from grouser.terrain.ground import Ground
from tests.contact.soil.test_kernels import rolling
from tests.device_call import call
from tests.rig import ManufacturedMotion

STEP = 5e-3
BAR = 2.5 - 0.25  # [MiB] a world without the engine and what CUDA takes for kernels and graphs
SAME = 1e-6  # [m] sums of lanes are in another order, and slides begin at a threshold
LESS_ROOM = 1e-3  # of the force: the largest footprint leaves slides only the spare nodes around it


def module(worlds: int = 1, threads: str = "per-team", **options: Any) -> SoilModule:
    ground = Ground(flat(size=(2, 1), spacing=0.5, origin=(-1, -0.5)), soil("dry-sand"), 0.01, worlds=worlds)
    surface = wheel(0.15, 0.1)
    return SoilModule(ground, {"front": surface, "rear": surface}, SoilOptions(threads=threads, **options))


def box(row0: int, row1: int, column0: int, column1: int) -> Any:
    made = Box()
    made.row0, made.row1, made.column0, made.column1 = row0, row1, column0, column1
    return made


def test_memory_of_a_rover_is_below_its_bar():
    sim = batch.build(2, "cpu", "float32", engine=MujocoCpu, tiles=batch.TILES, threads="per-team")
    taken = sim.modules[0].memory() / 2 / 2**20
    assert taken < BAR
    assert taken == pytest.approx(sum(sim.modules[0].memory_by_array().values()) / 2 / 2**20)
    full = batch.build(2, "cpu", "float32", engine=MujocoCpu, tiles=batch.TILES, threads="per-world")
    assert full.modules[0].memory() / 2 / 2**20 > 2 * BAR, "windows of full size miss it"


def test_scratch_of_stages_lies_in_the_same_memory_and_that_of_one_stage_does_not():
    made = module()
    ManufacturedMotion(made, step=STEP)
    d, s, p = made.arrays.displacement, made.arrays.slides, made.arrays.prediction
    spans = {
        stage: sorted((a.ptr, a.ptr + a.capacity) for a in arrays)
        for stage, arrays in {
            "displace": (d.sunk, d.dug, d.weakened, d.excess, d.share, d.border, d.deposit, d.spoil),
            "erode": (s.pairs, s.moved, s.pair_flow), "evaluate": (p.end, p.nodes),
        }.items()
    }  # fmt: skip
    for of_stage in spans.values():
        assert all(end <= begin for (_, end), (begin, _) in itertools.pairwise(of_stage))
    assert len({of_stage[0][0] for of_stage in spans.values()}) == 1


@pytest.mark.parametrize(("wanted", "fits"), [((0, 39, 0, 49), True), ((0, 60, 0, 60), False)])
def test_a_window_gets_no_more_nodes_than_it_has_room_for_and_keeps_the_footprint(wanted, fits):
    made = module()
    ManufacturedMotion(made, step=STEP)
    win, footprint = made.arrays.window, box(25, 35, 25, 45)
    row0, row1, column0, column1 = call(placement.fitting, win, box(*wanted), footprint, returns=Box)
    assert (row1 - row0 + 1) * (column1 - column0 + 1) <= win.nodes
    assert ((row0, row1, column0, column1) == wanted) == fits
    assert row0 < 25
    assert column0 < 25
    assert row1 > 35
    assert column1 > 45


def test_blocks_have_room_for_any_box_in_a_window():
    nodes, side, block = 48**2, 76, 5
    boxes = [(rows, min(side, nodes // rows)) for rows in range(1, side + 1)]
    assert all(-(-r // block) * -(-c // block) <= most_blocks(side, nodes, block) for r, c in boxes)
    assert most_blocks(76, 76**2, 5) == 16**2


def test_a_window_is_stale_only_where_another_body_wrote():
    made = module()
    ManufacturedMotion(made, step=STEP)
    win = made.arrays.window
    frames, written = win.frame.numpy(), win.written.numpy()
    frames[:] = [(10, 10, 20, 30), (10, 45, 20, 30)]  # rows 10 to 29; columns 10 to 39 and 45 to 74: in shared tiles
    win.frame.assign(frames)
    for last_column, stale in ((44, False), (45, True)):
        written[0], written[1] = (12, 20, 12, last_column), t.EMPTY
        win.written.assign(written)
        assert call(team_window.others_wrote, win, 1, 2, returns=bool) == stale
        assert not call(team_window.others_wrote, win, 0, 2, returns=bool), "its own writes"


def test_a_wheel_that_lies_on_its_side_fits_into_its_window():
    rigs = [ManufacturedMotion(rolling({}, "float64", threads), step=STEP) for threads in ("per-world", "per-team")]
    half = np.sqrt(0.5)
    for rig in rigs:
        for k in range(40):
            rig.place(
                position=(0.0013, 0.0007, 0.05 - 5e-4 * k), rotation=(half, half, 0, 0), velocity=(0, 0, -0.1)
            ).advance()
            assert rig.out.status.numpy().max() < t.LEFT or rig.out.status.numpy().max() > t.NOT_FINITE
    forces = [rig.wrench[0, 0] for rig in rigs]
    assert forces[0][2] > 100
    assert np.abs(forces[1] - forces[0]).max() < LESS_ROOM * np.abs(forces[0]).max()


def test_a_wheel_pushed_sideways_piles_its_own_soil_up():
    """Nodes that its side cuts, and those the soil is put on, belong to its own window in either layout."""
    rigs = [ManufacturedMotion(module(threads=threads), step=STEP) for threads in ("per-world", "per-team")]
    at = np.array([(0.3, 0.0, 0.145), (-0.3, 0.0, 0.145)])
    for rig in rigs:
        rig.place(rotation=rig.rotation)
        for k in range(60):
            across = np.array([(0, 0, 0), (0, 5e-4 * k, 0)])  # the second one: windows begin one after another
            rig.place(position=at + across, velocity=[[(0, 0, 0), (0, 0.1, 0)]]).advance()
    heights = [rig.module.ground.heights(0) for rig in rigs]
    beside = heights[0] - heights[0][0, 0]
    assert beside.max() > 5e-3, "the side of the wheel heaps soil up"
    assert np.abs(heights[1] - heights[0]).max() < SAME
    assert rigs[1].module.volume_error()[0] < 1e-9


@pytest.mark.parametrize("start", [1e30, 0.02, -0.02])
def test_a_height_is_lowered_to_the_lower_one(start):
    for z in (0.03, 0.01, 0.0, -0.01, -0.03):
        heights = wp.array([start], dtype=wp.float64, device="cpu")
        call(raster.lower, heights, 0, wp.float64(z))
        assert heights.numpy()[0] == min(start, z)
