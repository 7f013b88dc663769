"""Soil on CUDA against the float64 CPU: 256 wheels, each with a motion of its own.

Needs NumPy and Warp. On a GPU machine without pytest, or without Warp's CPU compiler, from the repository root:

    PYTHONPATH=src python tests/gpu/test_soil_cuda.py --write reference.npz       # where the CPU is
    PYTHONPATH=src python tests/gpu/test_soil_cuda.py --reference reference.npz   # where the GPU is
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
import warp as wp

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

try:
    import pytest
except ImportError:
    pytest = None

from tests.rig import SteadyMotion
from tests.simulation.beds import soil_rig, tread

WORLDS, STEPS, HALF = 256, 40, 0.4  # HALF [m] of the bed
# Bounds by dtype. float64: sums in another order and CUDA's own pow, 1e-16 a time, through K_e = 5e7 Pa/m.
# float32: 1e-7 of 0.1 m is 10 nm of elastic sinkage, 1e-4 of a force; a node on the border of a footprint may lie under
# the body in one and not in the other, so a few heights and, for a step, a node's share of the force are off.
BOUNDS = {
    "float64": {"force_max": 1e-9, "force_rms": 1e-10, "height_max": 1e-9, "height_median": 1e-12, "border_share": 0.0},
    "float32": {"force_max": 0.05, "force_rms": 1e-3, "height_max": 0.05, "height_median": 1e-6, "border_share": 0.03},
}
BORDER = 1e-4  # [m] a height off by more is that of a border node


def motions(count: int) -> list[SteadyMotion]:
    """Rolling, slipping, digging, hovering."""
    random = np.random.default_rng(0)

    def numbers(*sizes: float) -> tuple[float, ...]:
        return tuple(float(random.uniform(-size, size)) for size in sizes)

    return [
        SteadyMotion(
            (*numbers(0.1, 0.1), float(random.uniform(0.085, 0.102))), numbers(0.1, 0.1, 3),
            (*numbers(0.1, 0.1), float(random.uniform(-0.02, 0.01))), numbers(1, 1, 1),
        )
        for _ in range(count)
    ]  # fmt: skip


def simulate(dtype: str, device: str, worlds: int = WORLDS, steps: int = STEPS) -> dict[str, np.ndarray]:
    """Wrenches [N, N m], (step, world, 6), and heights [m], (world, row, column), at the end."""
    rig = soil_rig(tread(), worlds=worlds, dtype=dtype, device=device, half=HALF, capacity=16)
    chosen, wrenches = motions(worlds), []

    def poses(time: float):
        position, rotation = zip(*(m(time) for m in chosen), strict=True)
        return np.stack(position)[:, None], np.stack(rotation)[:, None]

    rig.follow(poses, steps, lambda: wrenches.append(rig.wrench[:, 0]))
    heights = np.stack([rig.module.ground.heights(world) for world in range(worlds)])
    return {"wrench": np.stack(wrenches), "heights": heights, "status": rig.out.status.numpy()}


def compare(dtype: str, reference: dict[str, np.ndarray] | None = None, device: str = "cuda:0") -> dict[str, float]:
    """How far `dtype` on `device` is from the CPU; forces relative to the largest, heights [m] where soil moved."""
    expected = simulate("float64", "cpu") if reference is None else reference
    got = simulate(dtype, device)
    force = np.abs(got["wrench"] - expected["wrench"]) / np.abs(expected["wrench"]).max()
    moved = expected["heights"] != 0
    height = np.abs(got["heights"] - expected["heights"])[moved]
    return {
        "force_max": float(force.max()),
        "force_rms": float(np.sqrt(np.mean(force**2))),
        "height_max": float(height.max()),
        "height_median": float(np.median(height)),
        "border_share": float((height > BORDER).mean()),
        "loaded_worlds": float((np.abs(expected["wrench"]).max(axis=(0, 2)) > 1).sum()),
        "moved_nodes": float(moved.sum()),
        "statuses_off": float((got["status"] != expected["status"]).sum()),
    }


def misses(dtype: str, result: dict[str, float]) -> dict[str, float]:
    """What lies beyond its bound; also where the reference shows nothing worth comparing."""
    out = {name: result[name] for name, bound in BOUNDS[dtype].items() if not result[name] <= bound}
    if result["loaded_worlds"] < WORLDS / 2 or result["moved_nodes"] < 10 * WORLDS:
        out["loaded_worlds"] = result["loaded_worlds"]
    if result["statuses_off"]:
        out["statuses_off"] = result["statuses_off"]
    return out


if pytest is not None:

    @pytest.mark.gpu
    @pytest.mark.parametrize("dtype", list(BOUNDS))
    def test_cuda_follows_the_cpu(dtype):
        if not wp.is_cuda_available():
            pytest.skip("needs an NVIDIA GPU")
        result = compare(dtype)
        assert not misses(dtype, result), result


def main() -> int:
    options = argparse.ArgumentParser(description="Soil on CUDA against the float64 CPU.")
    options.add_argument("--write", help="only run the CPU and write what it gives to this file")
    options.add_argument("--reference", help="take the CPU's part from this file")
    options.add_argument("--device", default="cuda:0")
    chosen = options.parse_args()
    if chosen.write:
        np.savez_compressed(chosen.write, **simulate("float64", "cpu"))
        return 0
    reference = dict(np.load(chosen.reference)) if chosen.reference else None
    failed = False
    for dtype in BOUNDS:
        result = compare(dtype, reference, chosen.device)
        wrong = misses(dtype, result)
        failed = failed or bool(wrong)
        print(dtype, {k: float(f"{v:.3g}") for k, v in result.items()}, "FAILED " + str(wrong) if wrong else "passed")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
