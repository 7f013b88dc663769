"""Each stage in lanes leaves what the same stage leaves one by one: node by node, vertex by vertex, from one state."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from grouser.contact.soil import SoilModule, SoilOptions, prepare, wheel
from grouser.contact.soil.stages import COMMIT
from grouser.simulation.shapes import box
from grouser.terrain import ElevationGrid, flat, soil
from grouser.terrain.ground import Ground
from tests.contact.soil.twins import ARRAYS, copy_state
from tests.rig import ManufacturedMotion, quaternion

STEP = 5e-3
HALF = 0.06  # [m] of the height of the foot
# Round-off of the same operations: in another order where they are sums, fused or not elsewhere.
BOUND = {"float64": 1e-12, "float32": 1e-4}
LEFT_OUT = {"weights", "border_place", "received", "pairs", "moved", "toe", "columns"}  # lists and notes of one stage
# Read only where the node is in contact; elsewhere what an earlier step has left.
OF_CONTACT = {"sunk", "dug", "weakened", "excess", "share"}
CASES = {
    "wheel": {},
    "soil without memory": {"options": {"loose_cover": False}},
    "grousers": {"wheel": {"grouser_height": 0.01, "grouser_count": 24}},
    "tips and slip sinkage": {
        "wheel": {"grouser_height": 0.01, "grouser_count": 24},
        "options": {"lugs": "tips", "lug_carry": 0.5, "slip_sinkage": 0.5},
    },
    "hard ground below": {"depth": 0.03},
    "5 mm grid": {"spacing": 0.005},
    "shear with the soil": {"options": {"node_shear": True}},
    "two soils": {"two": True},
    # Its last vertices, fewer than lanes, are near the soil; the others must not be the wheel's, 0.115 m lower.
    "flat foot": {"half": 0.005},
}


def rig_of(case: dict, dtype: str, lanes: bool) -> ManufacturedMotion:
    """A wheel that slips and steers, and a plate whose edges lie between nodes, beside each other."""
    spacing = case.get("spacing", 0.01)
    layer = {"depth": case["depth"]} if "depth" in case else {}
    if case.get("two"):
        index = np.zeros((4, 4), np.int32)
        index[:, 2:], index[0, 0] = 1, -1
        base = ElevationGrid(np.zeros((4, 4)), 0.4, (-0.6, -0.6)).with_soils(index, ["dry-sand", "sandy-loam"])
        ground = Ground(base, spacing=spacing, dtype=dtype)
    else:
        base = flat(size=(1.5, 1), spacing=0.5, origin=(-0.5, -0.5))
        ground = Ground(base, soil("dry-sand"), spacing, dtype=dtype, **layer)
    foot = prepare(*box(np.array([0.08, 0.05, case.get("half", HALF)])))
    bodies = {"wheel": wheel(0.15, 0.1, **case.get("wheel", {})), "foot": foot}
    options = SoilOptions(threads="per-world", lanes=lanes, **case.get("options", {}))
    return ManufacturedMotion(SoilModule(ground, bodies, options), dtype=dtype, step=STEP)


def place(rig: ManufacturedMotion, step: int, half: float = HALF) -> ManufacturedMotion:
    time = step * STEP
    down = min(time, 0.6)
    places = [
        [0.05 * time - 0.1, 0.0013 + 0.01 * time, 0.15 - 0.05 * down],
        [0.2, 0.06 - 0.05 * time, half - 0.04 * down],
    ]
    turns = [quaternion(np.array([0, 0, 0.1 * time])), quaternion(np.array([0, 0, 0.2 * time]))]
    sinking = time < 0.6
    return rig.place(
        position=np.array([places]), rotation=np.array([turns]),
        velocity=np.array([[[0.05, 0.01, -0.05 * sinking], [0, -0.05, -0.04 * sinking]]]),
        spin=np.array([[[0.0, 0.9, 0.1], [0, 0, 0.2]]]),
    )  # fmt: skip


def run_up_to(rig: ManufacturedMotion, count: int) -> None:
    """Run the first stages of `commit`."""
    stages = rig.module.arrays.options.stages.numpy()
    stages[0] = count
    rig.module.commit(rig.step)
    stages[0] = len(COMMIT)


def parts(array: Any) -> dict[str, np.ndarray]:
    values = array.numpy()
    return {name: values[name] for name in values.dtype.names} if values.dtype.names else {"": values}


def assert_same_arrays(rigs: list[ManufacturedMotion], dtype: str, stage: str) -> None:
    """All numbers of all groups are the same, within round-off of the largest number of the array."""
    marks = rigs[0].module.arrays.window.mark.numpy()
    for group in ARRAYS:
        structs = [getattr(rig.module.arrays, group) for rig in rigs]
        for name, variable in structs[0]._cls.vars.items():
            if not hasattr(variable.type, "ndim") or name in LEFT_OUT:
                continue
            arrays = [parts(getattr(struct, name)) for struct in structs]
            for part, expected in arrays[0].items():
                got = arrays[1][part]
                if name in OF_CONTACT and len(expected) == len(marks):
                    expected, got = expected[marks == 4], got[marks == 4]
                if expected.dtype.kind != "f":
                    assert np.array_equal(got, expected), (stage, group, name, part)
                    continue
                size = np.abs(expected[np.abs(expected) < 1e29]).max(initial=1e-3)
                error = np.abs(got - expected).max(initial=0.0)
                assert error <= BOUND[dtype] * size, (stage, group, name, part, error / size)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("case", CASES)
def test_every_stage_of_commit(case, dtype):
    rigs = [rig_of(CASES[case], dtype, lanes) for lanes in (False, True)]
    half, done = CASES[case].get("half", HALF), 0
    for step in (40, 90, 130):
        for k in range(done, step):
            place(rigs[0], k, half).advance()
        done = step
        for rig in rigs:
            place(rig, step, half)
        before = rig_of(CASES[case], dtype, False)
        copy_state(rigs[0], before)
        for count in range(1, len(COMMIT) + 1):
            for rig in rigs:
                copy_state(before, rig)
                run_up_to(rig, count)
            assert_same_arrays(rigs, dtype, COMMIT[count - 1])
        assert rigs[0].module.arrays.displacement.contacts.numpy()["border"].min() > 0, "both displace soil"
        copy_state(before, rigs[0])
    assert rigs[0].module.arrays.slides.sweeps.numpy().max() > 10, "soil slid"
