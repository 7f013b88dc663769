"""Sensors as settings of a scenario."""

from __future__ import annotations

import numpy as np
import pytest

import grouser
from grouser.errors import InputError
from grouser.recording import Recording


def test_robot_with_sensors(tmp_path):
    sensors = [
        {"kind": "lidar", "body": "chassis", "position": [0, 0, 0.3], "columns": 30, "rate": 10},
        {"kind": "imu", "body": "chassis", "name": "unit"},
    ]
    grouser.run("robot", bodies="wheel.*", time=0.3, sensors=sensors, out=tmp_path / "run")
    with Recording(tmp_path / "run" / "recording.h5") as recording:
        assert np.concatenate(recording["sensor/lidar/range"]).shape == (4, 1, 30)
        acceleration = np.concatenate(recording["sensor/unit/acceleration"])
        assert acceleration[:, 2].mean() == pytest.approx(9.81, abs=0.2)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"body": "chassis"}, "kinds: depth-camera, lidar, imu"),
        ({"kind": "lider", "body": "chassis"}, "did you mean 'lidar'"),
        ({"kind": "lidar"}, "body is missing"),
        ({"kind": "lidar", "body": "chassis", "colums": 3}, "did you mean 'columns'"),
        ({"kind": "lidar", "body": "chasis"}, "did you mean 'chassis'"),
        ({"kind": "lidar", "body": "chassis", "rate": -1}, "rate"),
    ],
)
def test_mistakes_are_named(given, words, tmp_path):
    with pytest.raises(InputError, match=words):
        grouser.run("robot", bodies="wheel.*", time=0.1, sensors=[given], out=tmp_path / "run")
