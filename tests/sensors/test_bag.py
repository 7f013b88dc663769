"""Samples of sensors in MCAP, read back with ROS 2 message types."""

from __future__ import annotations

import math

import mujoco
import numpy as np
import pytest

import grouser
from grouser.recording import Recording
from grouser.sensors import DepthCamera, Imu, Lidar
from grouser.simulation import Simulation
from grouser.terrain import ElevationGrid, soil
from grouser.terrain.ground import Ground

EXACT = (0.0, 0.0, 0.0)
STORED = 1e-6  # relative, of float32


@pytest.fixture(scope="module")
def messages(tmp_path_factory):
    pytest.importorskip("rosbags")
    from rosbags.highlevel import AnyReader

    from grouser.viewer.bag import write_bag

    place = tmp_path_factory.mktemp("bag")
    spec = mujoco.MjSpec()
    spec.worldbody.add_body(
        name="mast", pos=[0, 0, 1], mass=1.0, ipos=[0, 0, 0], inertia=[1, 1, 1], explicitinertial=True
    )
    grid = ElevationGrid(np.zeros((21, 21)), 1.0, (-10.0, -10.0))
    sim = Simulation(spec, ground=Ground(grid, soil("dry-sand"), 0.05), step=1e-3)
    sim.add_sensor(Lidar("level", "mast", columns=8, angles_deg=(0, 30, 0), vertical_deg=(0, 0), noise=EXACT, rate=10))
    sim.add_sensor(Lidar("rows", "mast", columns=8, rows=3, vertical_deg=(-60, -30), noise=EXACT, rate=10))
    sim.add_sensor(DepthCamera("front", "mast", angles_deg=(0, 60, 20), width=16, height=12, noise=EXACT, rate=5))
    sim.add_sensor(Imu("imu", "mast", acceleration_noise=0.0, acceleration_bias=0.0, rate=100))
    grouser.record(sim, place / "run", 0.5, rate=20, report=False)
    found: dict[str, list] = {}
    with Recording(place / "run" / "recording.h5") as recording:
        write_bag(recording, place / "bag")
    with AnyReader([place / "bag"]) as reader:
        for connection, time, raw in reader.messages():
            found.setdefault(connection.topic, []).append((time, reader.deserialize(raw, connection.msgtype)))
    return found


def test_scan(messages):
    scans = messages["/level/scan"]
    assert [time for time, _ in scans] == [k * 10**8 for k in range(6)]
    scan = scans[-1][1]
    assert scan.__msgtype__ == "sensor_msgs/msg/LaserScan"
    assert scan.header.frame_id == "level"
    assert scan.angle_min + 4 * scan.angle_increment == pytest.approx(0, abs=STORED)
    assert scan.ranges[4] == pytest.approx(1 / math.sin(math.radians(30)), rel=STORED)  # ahead, 30 deg down
    assert np.isinf(scan.ranges[0])  # behind, 30 deg up


def test_cloud_is_the_plane(messages):
    cloud = messages["/rows/points"][0][1]
    assert cloud.__msgtype__ == "sensor_msgs/msg/PointCloud2"
    assert (cloud.height, cloud.width, cloud.point_step) == (3, 8, 12)
    assert [one.name for one in cloud.fields] == ["x", "y", "z"]
    points = cloud.data.view(np.float32).reshape(3, 8, 3)
    np.testing.assert_allclose(points[..., 2], -1.0, rtol=STORED)
    np.testing.assert_allclose(points[0, 4], [1 / math.tan(math.radians(60)), 0, -1], atol=STORED)


def test_image_through_its_transforms_is_the_plane(messages):
    image, info = messages["/front/depth/image"][0][1], messages["/front/depth/camera_info"][0][1]
    assert (image.encoding, image.width, image.height, image.step) == ("32FC1", 16, 12, 64)
    assert image.header.frame_id == "front_optical"
    depth = image.data.view(np.float32).reshape(12, 16)
    column, row = np.meshgrid(np.arange(16), np.arange(12))
    k = info.k.reshape(3, 3)
    optical = np.stack([(column - k[0, 2]) / k[0, 0] * depth, (row - k[1, 2]) / k[1, 1] * depth, depth], axis=-1)
    mounted = {one.child_frame_id: one for one in messages["/tf_static"][0][1].transforms}
    world = optical
    for frame in ("front_optical", "front"):
        world = world @ _matrix(mounted[frame].transform.rotation).T
    finite = np.isfinite(world).all(axis=-1)
    assert finite.sum() > 100
    np.testing.assert_allclose(world[finite][:, 2], -1.0, atol=1e-5)
    assert mounted["front"].header.frame_id == "mast"


def test_imu(messages):
    samples = messages["/imu/imu"]
    assert len(samples) == 50
    assert samples[0][1].orientation_covariance[0] == -1
    assert samples[0][1].linear_acceleration.z == pytest.approx(9.81, rel=STORED)


def _matrix(q) -> np.ndarray:
    out = np.zeros(9)
    mujoco.mju_quat2Mat(out, np.array([q.w, q.x, q.y, q.z]))
    return out.reshape(3, 3)
