"""Bodies of revolution on CUDA against the float64 CPU: 256 balls. See comparison.py for machines without pytest."""

from __future__ import annotations

import sys

import numpy as np
import warp as wp

from grouser.contact.layers import Layer
from grouser.contact.revolution import Profile, RevolutionBody, RevolutionContact, RevolutionPair
from tests.gpu.comparison import WORLDS, Arrays, Comparison, random_motions, wrenches
from tests.rig import ManufacturedMotion

RADIUS = 0.1  # [m]
LAYER = Layer(young=1e7, thickness=0.02, damping=2e4, transition_depth=5e-4, friction_stick=0.6, friction_slip=0.5)
# float64: sums in another order, through the thresholds of friction.
# float32: 6e-8 of 0.1 m is 1e-5 of a depth of 1 mm; an element with little load may stick in one and slip in the other.
BOUNDS = {
    "float64": {"force_max": 1e-9, "force_rms": 1e-10, "block": 1e-9},
    "float32": {"force_max": 5e-3, "force_rms": 2e-4, "block": 5e-3},
}


def simulate(dtype: str, device: str) -> Arrays:
    body = RevolutionBody("body", Profile.sphere(RADIUS, tolerance=4e-5), LAYER, "ball")
    ground = RevolutionBody(None, Profile.disk(3.0), LAYER, "ground")
    module = RevolutionContact([RevolutionPair("pair", body, ground, elements="ball")])
    rig = ManufacturedMotion(module, worlds=WORLDS, dtype=dtype, device=device)
    wrench = wrenches(rig, random_motions((0.0985, 0.1), 0.3, 1.0, (-0.01, 0.01)))
    return {"wrench": wrench, "implicit": rig.implicit[:, 0], "status": rig.out.status.numpy()}


def differences(got: Arrays, expected: Arrays) -> dict[str, float]:
    """Implicit blocks at the end, of the largest entry."""
    return {"block": float(np.abs(got["implicit"] - expected["implicit"]).max() / np.abs(expected["implicit"]).max())}


REVOLUTION = Comparison("Contact between bodies of revolution", simulate, differences, BOUNDS)

if __name__ == "__main__":
    sys.exit(REVOLUTION.main())

import pytest  # noqa: E402  (not on a GPU machine that can install nothing)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", list(BOUNDS))
def test_cuda_follows_the_cpu(dtype):
    if not wp.is_cuda_available():
        pytest.skip("needs an NVIDIA GPU")
    result = REVOLUTION.compare(dtype)
    assert not REVOLUTION.misses(dtype, result), result
