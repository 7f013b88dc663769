"""Worlds on CUDA: the same bits twice and among other worlds, resets in mid-run, worlds that fail.

Without pytest, where nothing can be installed: `python -m tests.gpu.test_worlds_cuda`; `--device cpu` anywhere.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np
import warp as wp

from benchmarks import batch
from grouser.simulation.simulation import Simulation

WORLDS, STEPS = 6, 60  # the host looks for alarms every 100 steps
REGION = (-1.0, 1.0, -1.0, 1.0)


def bits(sim: Simulation, world: int) -> list[bytes]:
    """Motion, forces and ground of one world."""
    assert sim.ground is not None
    arrays = (sim.engine.qpos, sim.engine.qvel, sim.engine.slots[0].out.effective)
    return [sim.ground.heights(world, REGION).tobytes(), *(a.numpy()[world].tobytes() for a in arrays)]


def run(device: str, worlds: int = WORLDS, steps: int = STEPS) -> Simulation:
    sim = batch.build(worlds, device)
    sim.step(steps)
    return sim


def repeats(device: str) -> bool:
    """Whether the same batch gives the same bits twice."""
    first, second = run(device), run(device)
    return all(bits(first, world) == bits(second, world) for world in range(WORLDS))


def steps_can_be_grouped(device: str) -> bool:
    """Whether single steps give the bits of many in one call."""
    whole, single = run(device), batch.build(WORLDS, device)
    for _ in range(STEPS):
        single.step()
    return all(bits(whole, world) == bits(single, world) for world in range(WORLDS))


def resets_touch_no_other(device: str) -> bool:
    """Whether a world that is reset runs as from its start, and the others go on."""
    once, twice, sim = run(device), run(device, steps=2 * STEPS), run(device)
    sim.reset([1])
    sim.step(STEPS)
    others = [world for world in range(WORLDS) if world != 1]
    return bits(sim, 1) == bits(once, 1) and all(bits(sim, world) == bits(twice, world) for world in others)


def failures_touch_no_other(device: str) -> bool:
    """Whether a world with a control that is not finite stands still while the others go on."""
    plain, sim = run(device, steps=2 * STEPS), run(device)
    controls = sim.engine.ctrl.numpy().copy()
    controls[1, 0] = np.nan
    sim.engine.ctrl.assign(controls)
    sim.step(STEPS)
    others = [world for world in range(WORLDS) if world != 1]
    stands = sim.engine.diverged.numpy().tolist() == [0, 1, 0, 0, 0, 0] and not sim.engine.qvel.numpy()[1].any()
    told = any("control 0 is nan" in line for line in sim.notes)
    return stands and told and all(bits(sim, world) == bits(plain, world) for world in others)


CHECKS = (repeats, steps_can_be_grouped, resets_touch_no_other, failures_touch_no_other)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--device", default="cuda:0")
    device = options.parse_args().device
    results = {check.__name__: check(device) for check in CHECKS}
    print(results)
    return 0 if all(results.values()) else 1


if __name__ == "__main__":
    sys.exit(main())

import pytest  # noqa: E402  (not on a GPU machine that can install nothing)


@pytest.mark.gpu
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_worlds_are_independent(check):
    if not wp.is_cuda_available():
        pytest.skip("needs an NVIDIA GPU")
    assert check("cuda:0")
