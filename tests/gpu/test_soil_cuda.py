"""Soil on CUDA against the float64 CPU: 256 wheels. See comparison.py for machines without pytest."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import warp as wp

from tests.gpu.comparison import WORLDS, Arrays, Comparison, random_motions, wrenches
from tests.simulation.beds import soil_rig, tread

HALF = 0.4  # [m] of the bed
FAST, SPEED = 3, (1.6, 0.4)  # one wheel in so many, [m/s]
BORDER = 1e-4  # [m] a height off by more is that of a border node
# float64: sums in another order and CUDA's own pow, 1e-16 a time, through K_e = 5e7 Pa/m.
# float32: 1e-7 of 0.1 m is 10 nm of elastic sinkage, 1e-4 of a force; a node on the border of a footprint may lie under
# the body in one and not in the other, so a few heights and, for a step, a node's share of the force are off.
BOUNDS = {
    "float64": {"force_max": 1e-9, "force_rms": 1e-10, "height_max": 1e-9, "height_median": 1e-12, "border_share": 0.0},
    "float32": {"force_max": 0.05, "force_rms": 1e-3, "height_max": 0.05, "height_median": 1e-6, "border_share": 0.03},
}


def simulate(dtype: str, device: str) -> Arrays:
    """Every third wheel is fast: it needs several parts of a step, which the others do not."""
    rig = soil_rig(tread(), worlds=WORLDS, dtype=dtype, device=device, half=HALF, capacity=16)
    motions = random_motions((0.085, 0.102), 0.1, 0.1, (-0.02, 0.01))
    motions[::FAST] = [replace(motion, velocity=(*SPEED, motion.velocity[2])) for motion in motions[::FAST]]
    wrench = wrenches(rig, motions)
    heights = np.stack([rig.module.ground.heights(world) for world in range(WORLDS)])
    return {"wrench": wrench, "heights": heights, "status": rig.out.status.numpy()}


def differences(got: Arrays, expected: Arrays) -> dict[str, float]:
    """Heights [m] where soil moved."""
    moved = expected["heights"] != 0
    height = np.abs(got["heights"] - expected["heights"])[moved]
    return {
        "height_max": float(height.max()),
        "height_median": float(np.median(height)),
        "border_share": float((height > BORDER).mean()),
        "moved_nodes": float(moved.sum()),
    }


SOIL = Comparison("Soil", simulate, differences, BOUNDS)

if __name__ == "__main__":
    sys.exit(SOIL.main())

import pytest  # noqa: E402  (not on a GPU machine that can install nothing)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", list(BOUNDS))
def test_cuda_follows_the_cpu(dtype):
    if not wp.is_cuda_available():
        pytest.skip("needs an NVIDIA GPU")
    result = SOIL.compare(dtype)
    assert not SOIL.misses(dtype, result), result
    assert result["moved_nodes"] > 10 * WORLDS
