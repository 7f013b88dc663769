"""A track on CUDA against the float64 CPU: 256 of them, each pressed into the ground and driven in its own way.

See comparison.py for machines without pytest.
"""

from __future__ import annotations

import sys

import numpy as np
import warp as wp

from grouser.track import FlatGround, TrackModule
from tests.gpu.comparison import STEPS, WORLDS, Arrays, Comparison
from tests.rig import ManufacturedMotion, quaternion
from tests.track.stands import one_track

# float64: places that differ by 4e-16 m give 6e-7 of the greatest force and 2e-10 m after 40 steps, on the CPU too.
# float32: 2e-7 of 3 m are 20 N in a joint; the CPU in float32 is 0.07 off at worst, 3e-4 rms, 4e-5 m.
BOUNDS = {
    "float64": {"force_max": 1e-5, "force_rms": 2e-7, "position": 5e-9},
    "float32": {"force_max": 0.3, "force_rms": 2e-3, "position": 3e-4},
}


def simulate(dtype: str, device: str) -> Arrays:
    track = one_track(tension=15e3)
    module = TrackModule([track], FlatGround(height=-0.1))
    rig = ManufacturedMotion(module, worlds=WORLDS, dtype=dtype, device=device)
    random = np.random.default_rng(0)
    place = np.zeros((WORLDS, len(module.bodies), 3))
    sprocket = module.bodies.index("sprocket")
    place[:, sprocket] = (track.wheels[0].centre[0], 0.0, track.wheels[0].centre[1])
    place[..., 2] += random.uniform(-0.005, 0.01, WORLDS)[:, None]
    speed = random.uniform(-3, 3, WORLDS)

    def poses(time: float):
        turned = np.zeros((WORLDS, len(module.bodies), 3))
        turned[:, sprocket, 1] = speed * time
        return place, quaternion(turned)

    out: list[np.ndarray] = []
    rig.follow(poses, STEPS, lambda: out.append(rig.wrench.reshape(WORLDS, -1)))
    links = module.state()["position"].numpy().astype(float)
    return {"wrench": np.stack(out), "status": rig.out.status.numpy(), "links": links}


def differences(got: Arrays, expected: Arrays) -> dict[str, float]:
    """Places of the links [m] at the end."""
    return {"position": float(np.abs(got["links"] - expected["links"]).max())}


TRACK = Comparison("A track", simulate, differences, BOUNDS)

if __name__ == "__main__":
    sys.exit(TRACK.main())

import pytest  # noqa: E402  (not on a GPU machine that can install nothing)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", list(BOUNDS))
def test_cuda_follows_the_cpu(dtype):
    if not wp.is_cuda_available():
        pytest.skip("needs an NVIDIA GPU")
    result = TRACK.compare(dtype)
    assert not TRACK.misses(dtype, result), result
