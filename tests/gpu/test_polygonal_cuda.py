"""Polygonal contact on CUDA against the float64 CPU: 256 balls, each with a motion of its own.

Needs NumPy and Warp. On a GPU machine without pytest, or without Warp's CPU compiler, from the repository root:

    PYTHONPATH=src python tests/gpu/test_polygonal_cuda.py --write reference.npz       # where the CPU is
    PYTHONPATH=src python tests/gpu/test_polygonal_cuda.py --reference reference.npz   # where the GPU is
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

from grouser.contact.polygonal import Layer
from tests.contact.polygonal.bodies import ball, on_ground, plane
from tests.rig import SteadyMotion

WORLDS, STEPS, RADIUS = 256, 40, 0.1  # RADIUS [m]
LAYER = Layer(young=1e7, thickness=0.02, damping=2e4, transition_depth=5e-4, friction_stick=0.6, friction_slip=0.5)
# Bounds by dtype, of the largest force. float64: sums in another order, through the thresholds of friction.
# float32: 6e-8 of 0.1 m is 1e-5 of a depth of 1 mm; an element with little load may stick in one and slip in the other.
BOUNDS = {"float64": {"force_max": 1e-9, "force_rms": 1e-10}, "float32": {"force_max": 2e-3, "force_rms": 1e-4}}


def motions(count: int) -> list[SteadyMotion]:
    """Rolling, sliding, pressing, hovering."""
    random = np.random.default_rng(0)

    def numbers(*sizes: float) -> tuple[float, ...]:
        return tuple(float(random.uniform(-size, size)) for size in sizes)

    return [
        SteadyMotion(
            (*numbers(0.3, 0.3), float(random.uniform(0.0985, 0.1))), numbers(1, 1, 3),
            (*numbers(0.1, 0.1), float(random.uniform(-0.01, 0.01))), numbers(1, 1, 1),
        )
        for _ in range(count)
    ]  # fmt: skip


def simulate(dtype: str, device: str, worlds: int = WORLDS, steps: int = STEPS) -> dict[str, np.ndarray]:
    """Wrenches [N, N m], (step, world, 6), blocks (world, 6, 6), at the end contact polygons."""
    body = ball(RADIUS, 5, LAYER, check_intersections=False)
    ground = plane(cells=40, layer=LAYER, check_intersections=False)
    rig, chosen, wrenches = on_ground(body, ground, worlds=worlds, dtype=dtype, device=device), motions(worlds), []

    def poses(time: float):
        position, rotation = zip(*(m(time) for m in chosen), strict=True)
        return np.stack(position)[:, None], np.stack(rotation)[:, None]

    rig.follow(poses, steps, lambda: wrenches.append(rig.wrench[:, 0]))
    return {"wrench": np.stack(wrenches), "implicit": rig.implicit[:, 0], "status": rig.out.status.numpy()}


def compare(dtype: str, reference: dict[str, np.ndarray] | None = None, device: str = "cuda:0") -> dict[str, float]:
    """How far `dtype` on `device` is from the CPU; forces relative to the largest."""
    expected = simulate("float64", "cpu") if reference is None else reference
    got = simulate(dtype, device)
    force = np.abs(got["wrench"] - expected["wrench"]) / np.abs(expected["wrench"]).max()
    return {
        "force_max": float(force.max()),
        "force_rms": float(np.sqrt(np.mean(force**2))),
        "block": float(np.abs(got["implicit"] - expected["implicit"]).max() / np.abs(expected["implicit"]).max()),
        "loaded_worlds": float((np.abs(expected["wrench"]).max(axis=(0, 2)) > 1).sum()),
        "statuses_off": float((got["status"] != expected["status"]).sum()),
    }


def misses(dtype: str, result: dict[str, float]) -> dict[str, float]:
    """What lies beyond its bound; also where the reference shows nothing worth comparing."""
    out = {name: result[name] for name, bound in BOUNDS[dtype].items() if not result[name] <= bound}
    if result["block"] > BOUNDS[dtype]["force_max"]:
        out["block"] = result["block"]
    if result["loaded_worlds"] < WORLDS / 2:
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
    options = argparse.ArgumentParser(description="Polygonal contact on CUDA against the float64 CPU.")
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
