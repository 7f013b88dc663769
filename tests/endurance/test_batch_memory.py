"""A million steps of a batch: worlds that are reset again and again take no more memory."""

from __future__ import annotations

import gc
import subprocess
import sys
import textwrap
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import grouser
from grouser.engine.mujoco_warp import MujocoWarp
from grouser.simulation.simulation import Simulation

ROOT = Path(__file__).parents[2]
STEPS, EPISODE = 1_000_000, 500
FIRST = 0.1  # share of the steps after which everything has its room
MOST_GROWTH = 2e6  # [bytes], assumed: pages that the allocator of C keeps


def carts(warp: bool = False) -> Simulation:
    """Two carts that drive, with MuJoCo or with MuJoCo Warp."""
    more: dict[str, Any] = {"engine": partial(MujocoWarp, device="cpu"), "dtype": "float32"} if warp else {}
    drive = {"motor.*": 0.4}
    return grouser.on_soil(grouser.CART, "dry-sand", "wheel.*", drive=drive, worlds=2, spacing=0.02, threads=1, **more)


def resident() -> int:
    """Memory of this process [bytes]."""
    gc.collect()
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))


def growth(sim: Simulation, steps: int, after_episode: Callable[[], Any] = lambda: None) -> int:
    """Memory [bytes] taken between FIRST of the steps and their end; half are reset after each episode."""
    mask, before = np.arange(sim.worlds) % 2 == 0, 0
    for done in range(0, steps, EPISODE):
        if not before and done >= FIRST * steps:
            before = resident()
        sim.step(EPISODE)
        sim.reset(mask)
        mask = ~mask
        after_episode()
    diverged = sim.diverged if isinstance(sim.diverged, np.ndarray) else sim.diverged.numpy()
    assert not diverged.any()
    return resident() - before


def growth_in(carts: str, steps: int, kept: int = 0) -> int:
    """`growth` in a process of its own: other tests leave memory behind that hides or looks like growth.

    `kept`: bytes that the loop keeps after each episode.
    """
    code = f"""
        import numpy as np
        from tests.endurance.test_batch_memory import carts, growth
        kept = []
        print(growth({carts}, {steps}, lambda: kept.append(np.ones({kept // 8}))))
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return int(done.stdout.split()[-1])


@pytest.mark.nightly
def test_a_million_steps_take_no_more_memory():
    assert growth_in("carts()", STEPS) < MOST_GROWTH


@pytest.mark.nightly
def test_steps_of_mujoco_warp_take_no_more_memory():
    """On Warp's CPU device; on CUDA `benchmarks.batch --steps` looks at the memory of the device."""
    assert growth_in("carts(warp=True)", 20_000) < MOST_GROWTH


@pytest.mark.long
@pytest.mark.parametrize(("kept", "grows"), [(0, False), (40_000_000, True)])
def test_a_loop_that_keeps_its_observations_takes_more_memory(kept, grows):
    """What the tests above would see: 40 MB kept after each of nine episodes, more than a reserve of C."""
    assert (growth_in("carts()", 10 * EPISODE, kept) > MOST_GROWTH) is grows
