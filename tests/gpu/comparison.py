"""A force module on CUDA against itself on the float64 CPU, many worlds each with a motion of its own.

Needs NumPy and Warp. On a GPU machine without pytest, or without Warp's CPU compiler, from the repository root:

    PYTHONPATH=src:. python tests/gpu/test_soil_cuda.py --write reference.npz       # where the CPU is
    PYTHONPATH=src:. python tests/gpu/test_soil_cuda.py --reference reference.npz   # where the GPU is
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tests.rig import ManufacturedMotion, SteadyMotion

WORLDS, STEPS = 256, 40
LOADED = 0.5  # of the worlds at least: else there is nothing worth comparing

Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class Comparison:
    """What runs, how far results may lie apart by dtype; forces are relative to the largest."""

    what: str
    simulate: Callable[[str, str], Arrays]  # dtype, device: "wrench" (step, world, 6), "status", and more
    differences: Callable[[Arrays, Arrays], dict[str, float]]  # of the more, got and expected
    bounds: dict[str, dict[str, float]]

    def compare(self, dtype: str, reference: Arrays | None = None, device: str = "cuda:0") -> dict[str, float]:
        """How far `dtype` on `device` is from the CPU."""
        expected = self.simulate("float64", "cpu") if reference is None else reference
        got = self.simulate(dtype, device)
        force = np.abs(got["wrench"] - expected["wrench"]) / np.abs(expected["wrench"]).max()
        return {
            "force_max": float(force.max()),
            "force_rms": float(np.sqrt(np.mean(force**2))),
            "loaded_share": float((np.abs(expected["wrench"]).max(axis=(0, 2)) > 1).mean()),
            "statuses_off": float((got["status"] != expected["status"]).sum()),
            **self.differences(got, expected),
        }

    def misses(self, dtype: str, result: dict[str, float]) -> dict[str, float]:
        """What lies beyond its bound; also where the reference shows nothing worth comparing."""
        bounds = {"statuses_off": 0.0, **self.bounds[dtype]}
        out = {name: result[name] for name, bound in bounds.items() if not result[name] <= bound}
        if result["loaded_share"] < LOADED:
            out["loaded_share"] = result["loaded_share"]
        return out

    def main(self) -> int:
        options = argparse.ArgumentParser(description=f"{self.what} on CUDA against the float64 CPU.")
        options.add_argument("--write", help="only run the CPU and write what it gives to this file")
        options.add_argument("--reference", help="take the CPU's part from this file")
        options.add_argument("--device", default="cuda:0")
        options.add_argument("--dtype", choices=list(self.bounds), nargs="*", default=list(self.bounds))
        chosen = options.parse_args()
        if chosen.write:
            np.savez_compressed(chosen.write, **self.simulate("float64", "cpu"))  # type: ignore[arg-type]
            return 0
        reference = dict(np.load(chosen.reference)) if chosen.reference else None
        failed = False
        for dtype in chosen.dtype:
            result = self.compare(dtype, reference, chosen.device)
            wrong = self.misses(dtype, result)
            failed = failed or bool(wrong)
            numbers = {name: float(f"{value:.3g}") for name, value in result.items()}
            print(dtype, numbers, f"FAILED {wrong}" if wrong else "passed")
        return int(failed)


def random_motions(heights: tuple[float, float], place: float, tilt: float, sink: tuple[float, float]):
    """One for each world: rolling, slipping, pressing, hovering. Heights and sinking speeds between two values."""
    random = np.random.default_rng(0)

    def numbers(*sizes: float) -> tuple[float, ...]:
        return tuple(float(random.uniform(-size, size)) for size in sizes)

    return [
        SteadyMotion(
            (*numbers(place, place), float(random.uniform(*heights))), numbers(tilt, tilt, 3),
            (*numbers(0.1, 0.1), float(random.uniform(*sink))), numbers(1, 1, 1),
        )
        for _ in range(WORLDS)
    ]  # fmt: skip


def wrenches(rig: ManufacturedMotion, motions: list[SteadyMotion]) -> np.ndarray:
    """(step, world, 6) [N, N m] along the motions."""
    out = []

    def poses(time: float):
        position, rotation = zip(*(motion(time) for motion in motions), strict=True)
        return np.stack(position)[:, None], np.stack(rotation)[:, None]

    rig.follow(poses, STEPS, lambda: out.append(rig.wrench[:, 0]))
    return np.stack(out)
