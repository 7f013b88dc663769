"""Slip of wheels that roll farther, or less far, than they go."""

import math

import numpy as np
import pytest

from grouser.control import WheelSlip
from tests.control.vehicle import DRIVE, RADIUS, STEER, Rolling, vehicle, wheels_of

WAY = 0.03  # [m] of the chassis between two looks


def after(way, rolled, *, direction=0.0, mirrored=False):
    """Slip of the six wheels after a way [m] of the chassis in a direction [rad] all are steered to."""
    rig = Rolling([], model=vehicle(mirrored=mirrored).compile())
    meter, sign = WheelSlip(wheels_of(rig.model)), -1 if mirrored else 1
    for share in (0.0, 1.0):
        for k in range(6):
            rig.data.joint(STEER[k]).qpos[0] = sign * direction
            rig.data.joint(DRIVE[k]).qpos[0] = sign * share * rolled / RADIUS
        rig.place((share * way * math.cos(direction), share * way * math.sin(direction), 0.0))
        meter.act(share, rig.data, rig.data.ctrl)
    return meter.slip[0]


@pytest.mark.parametrize("mirrored", [False, True])
@pytest.mark.parametrize("direction", [0.0, 0.7])
@pytest.mark.parametrize(
    ("way", "rolled", "slip"),
    [(WAY, WAY, 0.0), (0.7 * WAY, WAY, 0.3), (WAY, 0.8 * WAY, -0.2), (0.0, WAY, 1.0), (WAY, 0.0, -1.0),
     (-0.7 * WAY, -WAY, 0.3), (-WAY, -0.8 * WAY, -0.2)],
)  # fmt: skip
def test_slip_of_a_wheel(way, rolled, slip, direction, mirrored):
    """Driving is above 0, braking below, forwards and backwards."""
    np.testing.assert_allclose(after(way, rolled, direction=direction, mirrored=mirrored), slip, atol=1e-9)


def test_a_wheel_that_stands_has_none():
    np.testing.assert_array_equal(after(1e-5, 5e-5), 0)
