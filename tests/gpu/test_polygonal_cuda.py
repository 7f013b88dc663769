"""Polygonal contact on CUDA against the float64 CPU: 256 balls on waves, with linear and with exact depth.

See comparison.py for machines without pytest.
"""

from __future__ import annotations

import sys

import numpy as np
import warp as wp

from grouser.contact.polygonal import Layer, shape
from tests.contact.polygonal.bodies import ball, grid, on_ground
from tests.gpu.comparison import WORLDS, Arrays, Comparison, random_motions, wrenches

RADIUS = 0.1  # [m]
LAYER = Layer(young=1e7, thickness=0.02, damping=2e4, transition_depth=5e-4, friction_stick=0.6, friction_slip=0.5)
# float64: sums in another order, through the thresholds of friction.
# float32: 6e-8 of 0.1 m is 1e-5 of a depth of 1 mm; an element with little load may stick in one and slip in the other.
BOUNDS = {
    "float64": {"force_max": 1e-9, "force_rms": 1e-10, "block": 1e-9},
    "float32": {"force_max": 2e-3, "force_rms": 1e-4, "block": 2e-3},
}


def simulate(dtype: str, device: str) -> Arrays:
    """Worlds one after another: first those of linear depth, then those of exact."""
    body = ball(RADIUS, 5, LAYER, check_intersections=False)
    along = np.linspace(-1, 1, 61)
    waves = grid(along, along, lambda x, y: 3e-4 * np.sin(10 * x) * np.cos(8 * y))
    ground = shape(*waves, LAYER, name="waves", check_intersections=False)
    motions = random_motions((0.0985, 0.1), 0.3, 1.0, (-0.01, 0.01))
    parts = []
    for depth in ("linear", "exact"):
        rig = on_ground(body, ground, worlds=WORLDS, dtype=dtype, device=device, depth=depth)
        parts.append((wrenches(rig, motions), rig.implicit[:, 0], rig.out.status.numpy()))
    wrench, implicit, status = zip(*parts, strict=True)
    return {
        "wrench": np.concatenate(wrench, axis=1),
        "implicit": np.concatenate(implicit),
        "status": np.concatenate(status),
    }


def differences(got: Arrays, expected: Arrays) -> dict[str, float]:
    """Implicit blocks at the end, of the largest entry."""
    return {"block": float(np.abs(got["implicit"] - expected["implicit"]).max() / np.abs(expected["implicit"]).max())}


POLYGONAL = Comparison("Polygonal contact", simulate, differences, BOUNDS)

if __name__ == "__main__":
    sys.exit(POLYGONAL.main())

import pytest  # noqa: E402  (not on a GPU machine that can install nothing)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", list(BOUNDS))
def test_cuda_follows_the_cpu(dtype):
    if not wp.is_cuda_available():
        pytest.skip("needs an NVIDIA GPU")
    result = POLYGONAL.compare(dtype)
    assert not POLYGONAL.misses(dtype, result), result
