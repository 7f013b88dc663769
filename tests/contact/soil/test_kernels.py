"""One thread per world and one team of lanes per body are the same model, in both float types.

On the CPU a team has one lane. Its sums are those of one thread, but for the flows of a slide, which a node adds in
another order; without slides the bits agree.

One thread per world takes its nodes one by one here; `test_node_lanes.py` compares that with eight at once.
"""

from __future__ import annotations

import numpy as np
import pytest

from grouser.contact.soil import SoilModule, SoilOptions, prepare, wheel
from grouser.contact.soil.model import THREADS
from grouser.simulation.shapes import box
from grouser.terrain import ElevationGrid, flat, soil
from grouser.terrain.ground import Ground
from tests.rig import ManufacturedMotion, quaternion

STEP = 5e-3
ROUNDING = {"float64": 1e-10, "float32": 2e-3}  # of the largest value: order of a slide's flows, through K_e
VOLUME = {"float64": 1e-12, "float32": 1e-5}  # rounding of a hundred steps
CASES = {
    "wheel": {},
    "grousers": {"wheel": {"grouser_height": 0.01, "grouser_count": 24}},
    "compaction only": {"soil": {"compression": 1.0}},
    "wheel friction": {"soil": {"wheel_friction": 0.4}},
    "scaled friction": {"soil": {"wheel_friction": 0.4}, "options": {"interface_friction": "scales"}},
    "lugs on their tips": {
        "wheel": {"grouser_height": 0.01, "grouser_count": 24},
        "options": {"lugs": "tips", "lug_carry": 0.5, "slip_sinkage": 0.5},
    },
    "equation 29": {"options": {"loose_cover": False}},
    "no erosion": {"options": {"erosion": False}},
    "pure limit": {"options": {"friction": "mohr-coulomb"}},
    "shear with the soil": {"options": {"node_shear": True}},
}


def pair(build, dtype: str) -> list[ManufacturedMotion]:
    return [ManufacturedMotion(build(threads), dtype=dtype, step=STEP) for threads in THREADS]


def assert_same(rigs: list[ManufacturedMotion], when: str, dtype: str) -> None:
    per_world, per_team = rigs
    for name in ("wrench", "implicit", "status"):
        assert_close(getattr(per_world.out, name).numpy(), getattr(per_team.out, name).numpy(), dtype, (when, name))
    for level in range(4):  # node by node: a team's window is smaller, so it touches fewer tiles
        levels = (rig.module.ground.level(level) for rig in rigs)
        assert_close(*levels, dtype, (when, f"level {level}"))
    for channel, other in zip(per_world.module.channels(), per_team.module.channels(), strict=True):
        if channel.name.endswith(("volume_error", "energy_unaccounted")):
            continue  # differences of large numbers: nothing but round-off
        assert_close(channel.read(), other.read(), dtype, (when, channel.name))


def assert_close(got: np.ndarray, expected: np.ndarray, dtype: str, what: tuple[str, str]) -> None:
    """Within round-off of the largest value."""
    if got.dtype.names:
        return
    scale = max(np.abs(expected).max(), 1e-3)
    assert np.abs(got - expected).max() <= ROUNDING[dtype] * scale, (what, np.abs(got - expected).max() / scale)


def rolling(case: dict, dtype: str, threads: str) -> SoilModule:
    material = soil("dry-sand").replace(**case.get("soil", {}))
    ground = Ground(flat(size=(1.5, 1), spacing=0.5, origin=(-0.5, -0.5)), material, 0.01, dtype=dtype)
    return SoilModule(ground, {"wheel": wheel(0.15, 0.1, **case.get("wheel", {}))},
                      SoilOptions(threads=threads, lanes=False, **case.get("options", {})))  # fmt: skip


def roll(rigs: list[ManufacturedMotion], count: int) -> None:
    """A wheel that slips, steers and sinks."""
    for rig in rigs:
        for k in range(count):
            t = k * STEP
            turn = quaternion(np.array([0, 0, 0.1 * t]))
            spin = np.array([0.0, 0.9, 0.1])
            rig.place(
                position=(0.05 * t, 0.0013 + 0.01 * t, 0.15 - 0.03 * min(t, 1.0)), rotation=turn,
                velocity=(0.05, 0.01, -0.03 if t < 1 else 0.0), spin=spin,
            ).advance()  # fmt: skip


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("case", CASES)
def test_one_body(case, dtype):
    rigs = pair(lambda threads: rolling(CASES[case], dtype, threads), dtype)
    roll(rigs, 150)
    assert_same(rigs, "while it sinks", dtype)
    assert abs(rigs[0].wrench[0, 0]).max() > 10
    roll(rigs, 100)
    assert_same(rigs, "later", dtype)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_wheel_too_fast_for_its_soil(dtype):
    """It digs deep, and slides run to the rim of the window."""
    rigs = pair(lambda threads: rolling({"soil": {"compression": 0.0}}, dtype, threads), dtype)
    widest = [0, 0]
    for k, rig in enumerate(rigs):
        for n in range(120):
            down = 0.15 - min(4e-3 * n, 0.06)
            rig.place(
                position=(4e-3 * n - 0.2, 0.0013, down), rotation=rig.rotation, velocity=(0.8, 0, 0), spin=(0, 8.0, 0)
            ).advance()
            widest[k] = max(widest[k], int(rig.module.arrays.window.frame.numpy()["rows"][0]))
    assert min(widest) > 30, "ten rows of wheel, ten of soil that slides on either side"
    assert_same(rigs, "behind it", dtype)
    assert rigs[0].module.volume_error()[0] < VOLUME[dtype]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_two_bodies_over_two_soils(dtype):
    """A plate whose width comes from its patch beside a wheel, on soil that changes from node to node."""
    index = np.zeros((4, 4), np.int32)
    index[:, 2:] = 1
    index[0, 0] = -1
    base = ElevationGrid(np.zeros((4, 4)), 0.4, (-0.6, -0.6)).with_soils(index, ["dry-sand", "sandy-loam"])

    def build(threads: str) -> SoilModule:
        foot = prepare(*box(np.array([0.1, 0.05, 0.02])), name="foot")
        return SoilModule(
            Ground(base, spacing=0.01, dtype=dtype),
            {"wheel": wheel(0.15, 0.1), "foot": foot},
            SoilOptions(threads=threads, lanes=False),
        )

    rigs = pair(build, dtype)
    for rig in rigs:
        for k in range(120):
            t = k * STEP
            places = [[0.1 * t - 0.03, 0.01, 0.15 - 0.02 * t], [0.1, 0.06 - 0.05 * t, 0.02 - 0.02 * t]]
            rig.place(
                position=np.array(places)[None], rotation=rig.rotation,
                velocity=np.array([[0.1, 0, -0.02], [0, -0.05, -0.02]])[None],
                spin=np.array([[0, 0.8, 0], [0, 0, 0.2]])[None],
            ).advance()  # fmt: skip
    assert (np.abs(rigs[0].wrench[0]).max(axis=1) > 10).all()
    assert_same(rigs, "two bodies", dtype)


def test_a_reset_leaves_nothing_in_the_window():
    """What the body wrote over its nodes before is gone, wherever it comes down next."""
    rigs = [ManufacturedMotion(rolling({}, "float64", "per-world"), step=STEP) for _ in range(2)]
    used = rigs[0]
    for k in range(40):
        used.place(
            position=(0.1 + 1e-3 * k, 0.05, 0.12), rotation=used.rotation, velocity=(0.2, 0, 0), spin=(0, 2.0, 0)
        ).advance()
    used.module.reset([0])
    roll(rigs, 60)
    assert abs(used.wrench[0, 0]).max() > 10
    for read in (lambda r: r.wrench, lambda r: r.implicit, lambda r: r.module.ground.heights()):
        assert np.array_equal(*map(read, rigs))
