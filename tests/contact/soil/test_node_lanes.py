"""Eight nodes at once are the same laws as one by one: node by node, row by row, in both float types."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from grouser.contact.soil import SoilModule, SoilOptions, prepare, wheel
from grouser.contact.soil.types import FAR
from grouser.simulation.shapes import box
from grouser.terrain import ElevationGrid, flat, soil
from grouser.terrain.ground import Ground
from tests.contact.soil.test_kernels import CASES, STEP, roll
from tests.contact.soil.twins import copy_state
from tests.rig import ManufacturedMotion

# Round-off of the same operations, in another order where they are sums, relative to the sum of all nodes' sizes.
BOUND = {"float64": 1e-13, "float32": 1e-5}
ALL = {
    **CASES,
    "thin layer": {"depth": 0.05},
    "second soil below": {"depth": 0.03, "below": "sandy-loam"},
    "5 mm grid": {"spacing": 0.005},
    "one point": {"options": {"samples": 1}},
}


def rolling(case: dict, dtype: str, lanes: bool) -> ManufacturedMotion:
    material = soil("dry-sand").replace(**case.get("soil", {}))
    below = {"below": soil(case["below"])} if "below" in case else {}
    layer = {"depth": case["depth"], **below} if "depth" in case else {}
    base = flat(size=(1.5, 1), spacing=0.5, origin=(-0.5, -0.5))
    ground = Ground(base, material, case.get("spacing", 0.01), dtype=dtype, **layer)
    options = SoilOptions(threads="per-world", lanes=lanes, **case.get("options", {}))
    module = SoilModule(ground, {"wheel": wheel(0.15, 0.1, **case.get("wheel", {}))}, options)
    return ManufacturedMotion(module, dtype=dtype, step=STEP)


def on_two_soils(dtype: str, lanes: bool) -> ManufacturedMotion:
    """A wheel and a plate on soil that changes from node to node, with bare ground beside it."""
    index = np.zeros((4, 4), np.int32)
    index[:, 2:], index[0, 0] = 1, -1
    base = ElevationGrid(np.zeros((4, 4)), 0.4, (-0.6, -0.6)).with_soils(index, ["dry-sand", "sandy-loam"])
    foot = prepare(*box(np.array([0.1, 0.08, 0.06])), name="foot")
    module = SoilModule(
        Ground(base, spacing=0.01, dtype=dtype), {"wheel": wheel(0.15, 0.1), "foot": foot},
        SoilOptions(threads="per-world", lanes=lanes),
    )  # fmt: skip
    rig = ManufacturedMotion(module, dtype=dtype, step=STEP)
    for k in range(60):
        t = k * STEP
        places = [[0.1 * t - 0.03, 0.01, 0.15 - 0.04 * t], [0.3, 0.06 - 0.05 * t, 0.06 - 0.04 * t]]
        rig.place(
            position=np.array(places)[None], rotation=rig.rotation,
            velocity=np.array([[0.1, 0, -0.04], [0, -0.05, -0.04]])[None],
            spin=np.array([[0, 0.8, 0], [0, 0, 0.2]])[None],
        ).advance()  # fmt: skip
    return rig


def numbers(array: Any, slot: int) -> np.ndarray:
    """All numbers of one element of an array of structs or vectors."""
    element = array.numpy()[slot]
    if element.dtype.names:
        return np.concatenate([np.ravel(element[name]).astype(float) for name in element.dtype.names])
    return np.ravel(element).astype(float)


def sums(rig: ManufacturedMotion, near: tuple[int, int, int, int], slot: int) -> np.ndarray:
    """Sums of the loaded nodes in a box of the window: wrench, implicit block, losses, and their number."""
    rig.module.arrays.displacement.near.numpy()[slot] = near
    rig.evaluate()
    pred = rig.module.arrays.prediction
    return np.concatenate([numbers(a, slot) for a in (pred.wrench, pred.sums, pred.losses, pred.loaded)])


# Force, moment, the sums of BlockSums, losses, number of nodes.
GROUPS = (0, 3, 6, 12, 21, 27, 28, 31, 37, 43, 44)


def size_of(nodes: np.ndarray) -> np.ndarray:
    """Sum over the nodes of what each adds: the largest component of a group, of which others may be a small rest."""
    sizes = np.abs(nodes).sum(axis=0)
    return np.concatenate([np.full(b - a, sizes[a:b].max()) for a, b in itertools.pairwise(GROUPS)])


def assert_same_nodes(rigs: list[ManufacturedMotion], dtype: str, slot: int = 0) -> None:
    """Compare nodes one by one, then whole rows, in which lanes hold different nodes."""
    boxes = [tuple(rig.module.arrays.displacement.near.numpy()[slot]) for rig in rigs]
    assert boxes[0] == boxes[1]
    row0, row1, column0, column1 = map(int, boxes[0])
    single = [(i, i, j, j) for i in range(row0, row1 + 1) for j in range(column0, column1 + 1)]
    rows = [(i, i + wide, column0, column1) for wide in (0, 1) for i in range(row0, row1)]
    scale: Any = None
    for some in (single, rows, [boxes[0]]):
        one_by_one, lanes = (np.array([sums(rig, near, slot) for near in some]) for rig in rigs)
        assert one_by_one[:, 2].max() > 0, "some soil pushes up"
        assert np.array_equal(one_by_one[:, -1], lanes[:, -1]), "the same nodes are loaded"
        scale = size_of(one_by_one) if scale is None else scale
        assert (np.abs(lanes - one_by_one) <= BOUND[dtype] * scale).all()
    ends = [numbers_of_nodes(rig) for rig in rigs]
    size = np.where(np.abs(ends[0]) < FAR / 2, np.abs(ends[0]), 0.0).max(axis=1, keepdims=True)
    assert (np.abs(ends[1] - ends[0]) <= BOUND[dtype] * size).all()


def numbers_of_nodes(rig: ManufacturedMotion) -> np.ndarray:
    end = rig.module.arrays.prediction.end.numpy()
    return np.stack([end[name] for name in end.dtype.names]).astype(float)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("case", ALL)
def test_a_wheel(case, dtype):
    rigs = [rolling(ALL[case], dtype, lanes) for lanes in (False, True)]
    roll(rigs[:1], 120)
    copy_state(*rigs)
    assert_same_nodes(rigs, dtype)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("slot", [0, 1])
def test_bodies_on_two_soils_and_bare_ground(dtype, slot):
    rigs = [on_two_soils(dtype, lanes) for lanes in (False, True)]
    copy_state(*rigs)
    assert_same_nodes(rigs, dtype, slot)


def test_400_steps_stay_together():
    """Forces move the wheel: round-off of a different order of sums must not grow."""
    from grouser.scenarios.single_wheel import SingleWheel, build

    runs = [build(SingleWheel(speed=0.1, options={"lanes": lanes})) for lanes in (False, True)]
    for sim in runs:
        sim.step(400)
    for name in ("soil/force", "soil/torque", "soil/sinkage", "soil/work"):
        one_by_one, lanes = (np.asarray(next(c for c in s.channels() if c.name == name).read()) for s in runs)
        assert np.abs(lanes - one_by_one).max() <= 1e-9 * np.abs(one_by_one).max(), name
