"""Rovers in closed loop on CUDA, soil and MuJoCo Warp in float32, against the float64 CPU engine.

Without pytest, as comparison.py says: `--write FILE` where the CPU is, `--reference FILE` where the GPU is.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial

import numpy as np
import warp as wp

from benchmarks import batch
from grouser.engine.mujoco_cpu import MujocoCpu
from grouser.engine.mujoco_warp import MujocoWarp
from grouser.simulation.simulation import Simulation

WORLDS, SETTLED, STEPS, LOOK = 8, 4000, 400, 20
LONG = 4000  # steps, 20 s: runs have parted by then, so only medians can be compared
CLOSE = 1e-3  # of the sinkage
NUDGE = 1e-7  # [m]
TIMES = 2.0  # by which slip, pull and all medians may differ more than between CPU runs that begin NUDGE apart
STILL = 0.02  # slip below this is compared with it: a rover that hardly slips
BODIES = ("qpos", "qvel", "act", "ctrl")

Arrays = dict[str, np.ndarray]


def on_cpu() -> Simulation:
    """Rovers on the float64 CPU, whose windows are those of the GPU: `tests/contact/soil/test_kernels.py` compares them
    with those of one thread per world."""
    return batch.build(WORLDS, "cpu", "float64", engine=MujocoCpu, threads="per-team")


def reference() -> Arrays:
    """Rovers on the float64 CPU: the state in which they drive steadily, and what is seen of them from there on."""
    sim = on_cpu()
    sim.step(SETTLED)
    state = {f"body/{name}": np.stack([getattr(d, name) for d in sim.engine.data]) for name in BODIES}
    state |= {f"soil/{name}": array.numpy().copy() for name, array in sim.modules[0].state().items()}
    state |= {f"ground/{name}": array.numpy().copy() for name, array in sim.ground.state().items()}
    return {**state, **looks(sim)}


def simulate(start: Arrays, dtype: str, device: str) -> Arrays:
    """The same rovers from the same state on MuJoCo Warp."""
    sim = batch.build(WORLDS, device, dtype, engine=partial(MujocoWarp, device=device))
    sim.engine.set_start(**{name: start[f"body/{name}"] for name in BODIES})
    sim.engine.reset(range(WORLDS))
    put_soil(sim, start)
    return looks(sim)


def nudged(start: Arrays) -> Arrays:
    """The same rovers on the float64 CPU, begun NUDGE farther ahead: how far runs part by round-off alone."""
    sim = on_cpu()
    for world, data in enumerate(sim.engine.data):
        for name in BODIES:
            getattr(data, name)[:] = start[f"body/{name}"][world]
        data.qpos[0] += NUDGE
    sim.engine.kinematics()
    put_soil(sim, start)
    return looks(sim)


def put_soil(sim: Simulation, start: Arrays) -> None:
    """Put soil and ground into the state of the reference."""
    for kind, states in (("soil", sim.modules[0].state()), ("ground", sim.ground.state())):
        for name, array in states.items():
            array.assign(np.ascontiguousarray(start[f"{kind}/{name}"].astype(array.numpy().dtype)))


def looks(sim: Simulation) -> Arrays:
    """Sinkage [m], slip and force [N] of every wheel, (look, world, wheel, ...)."""
    seen: dict[str, list[np.ndarray]] = {"sinkage": [], "slip": [], "force": []}
    for _ in range(LONG // LOOK):
        sim.step(LOOK)
        now = sim.observe()
        for name, values in seen.items():
            values.append(batch.on_host(now[f"soil/{name}"]))
    return {name: np.stack(values) for name, values in seen.items()}


def differences(got: Arrays, expected: Arrays) -> dict[str, float]:
    """Largest differences over STEPS, and medians over LONG."""
    sinkage = np.abs(got["sinkage"] / expected["sinkage"] - 1)
    slip = np.abs(got["slip"] - expected["slip"]) / np.maximum(np.abs(expected["slip"]), STILL)
    pull, wanted = (values["force"][..., 0].sum(axis=-1) for values in (got, expected))
    resistance = np.abs(expected["force"][..., 0]).sum(axis=-1)
    pull = np.abs(pull - wanted) / np.maximum(np.abs(wanted), resistance)
    first = slice(STEPS // LOOK)
    return {
        "sinkage": float(sinkage[first].max()),
        "slip": float(slip[first].max()),
        "slip_median": float(np.median(slip[first])),
        "pull": float(pull[first].max()),
        "long_sinkage": float(np.median(sinkage)),
        "long_slip": float(np.median(slip)),
        "long_pull": float(np.median(pull)),
    }


def show(name: str, got: Arrays, expected: Arrays) -> None:
    print(name, {what: float(f"{value:.3g}") for what, value in differences(got, expected).items()}, flush=True)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--write", help="only run the CPU and write what it gives to this file")
    options.add_argument("--reference", help="take the CPU's part from this file")
    options.add_argument("--device", default="cuda:0")
    options.add_argument("--dtype", nargs="*", default=["float32", "float64"])
    chosen = options.parse_args()
    if chosen.write:
        np.savez_compressed(chosen.write, **reference())  # type: ignore[arg-type]
        return 0
    expected = dict(np.load(chosen.reference)) if chosen.reference else reference()
    if not chosen.reference:
        show("CPU, nudged", nudged(expected), expected)
    for dtype in chosen.dtype:
        show(dtype, simulate(expected, dtype, chosen.device), expected)
    return 0


if __name__ == "__main__":
    sys.exit(main())

import pytest  # noqa: E402  (not on a GPU machine that can install nothing)


@pytest.mark.gpu
def test_rovers_follow_the_cpu():
    if not wp.is_cuda_available():
        pytest.skip("needs an NVIDIA GPU")
    expected = reference()
    result = differences(simulate(expected, "float32", "cuda:0"), expected)
    alike = differences(nudged(expected), expected)
    assert result["sinkage"] < CLOSE, result
    assert result["slip_median"] < TIMES * alike["slip_median"], (result, alike)
    for name in ("pull", "long_sinkage", "long_slip", "long_pull"):
        assert result[name] < TIMES * alike[name], (name, result, alike)
