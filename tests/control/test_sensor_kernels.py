"""Device functions of the sensors, one at a time."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp
from scipy.spatial.transform import Rotation

from grouser.control import sensor_kernels as kernels
from tests.device_call import call

GRAVITY = np.array([0.0, 0.0, -9.81])


def test_roll_pitch_and_yaw_are_those_of_the_turns():
    roll, pitch, yaw = 0.3, -0.2, 1.1
    turn = Rotation.from_euler("ZYX", [yaw, -pitch, roll])  # nose up is a turn about -y
    got = call(kernels.roll_pitch_yaw, wp.mat33d(*turn.as_matrix().ravel()), returns=wp.vec3d)
    assert got == pytest.approx([roll, pitch, yaw], rel=1e-12)


def test_specific_force_is_the_mean_since_the_last_reading():
    last = kernels.LastReading()
    last.last_velocity = wp.array([[1.0, 2.0, 3.0]], dtype=wp.vec3d, device="cpu")
    last.last_time = wp.array([0.5], dtype=wp.float64, device="cpu")
    last.last_known = wp.zeros(1, dtype=int, device="cpu")

    def felt(time):
        given = wp.vec3d(1.5, 2.0, 3.2), wp.float64(time), wp.vec3d(*GRAVITY)
        return call(kernels.specific_force, last, 0, *given, returns=wp.vec3d)

    assert felt(0.7) == pytest.approx(-GRAVITY)  # the first reading knows no change
    last.last_known.fill_(1)
    assert felt(0.7) == pytest.approx(np.array([0.5, 0.0, 0.2]) / 0.2 - GRAVITY)
    assert felt(0.5) == pytest.approx(-GRAVITY)  # a second one at the same time neither
