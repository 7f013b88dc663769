"""Samples of sensors as ROS 2 messages: Image and CameraInfo, LaserScan, PointCloud2, Imu, and where they are mounted.

Frames follow ROS REP 103: the sensor's own axes have x ahead; NAME_optical, that of images, has z ahead and x to the
right.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from grouser.recording import Recording

FLOAT32 = 7  # sensor_msgs/PointField.FLOAT32
OPTICAL = (-0.5, 0.5, -0.5, 0.5)  # quaternion x, y, z, w from optical axes to those of the sensor
FIRST_SEEN = "/tf_static"

Item = tuple[float, str, str, Any]  # time [s], topic, type, message


class SensorMessages:
    """Messages of all sensors of a recording, first world."""

    def __init__(self, recording: Recording, types: Mapping[str, Any], stamp: Any):
        """`stamp`: makes a ROS time of seconds."""
        self.recording, self.types, self.stamp = recording, types, stamp
        self.sensors: list[dict[str, Any]] = recording.header.get("sensors", [])

    def mounts(self, time: float) -> list[Item]:
        """One message with the place of every sensor on its body."""
        if not self.sensors:
            return []
        moved = []
        for sensor in self.sensors:
            moved.append(self._transform(time, sensor["body"], sensor["name"], sensor["position"], _quaternion(sensor)))
            if sensor["kind"] == "depth-camera":
                moved.append(self._transform(time, sensor["name"], f"{sensor['name']}_optical", (0, 0, 0), OPTICAL))
        kind = "tf2_msgs/msg/TFMessage"
        return [(time, FIRST_SEEN, kind, self.types[kind](transforms=moved))]

    def block(self, part: slice) -> Iterator[Item]:
        """Messages of the samples in some frames."""
        make = {"depth-camera": self._camera, "lidar": self._lidar, "imu": self._imu}
        for sensor in self.sensors:
            place = f"sensor/{sensor['name']}"
            names = ("range",) if sensor["kind"] != "imu" else ("acceleration", "angular_velocity")
            columns = [self._rows(f"{place}/{name}", part) for name in ("time", *names)]
            for time, *values in zip(*columns, strict=True):
                yield from make[sensor["kind"]](sensor, float(time), *values)

    def _rows(self, name: str, part: slice) -> np.ndarray:
        frames = self.recording.read(name, part)
        found = frames if self.recording.worlds == 1 else [worlds[0] for worlds in frames]
        return np.concatenate(found)

    def _camera(self, sensor: dict[str, Any], time: float, depth: np.ndarray) -> Iterator[Item]:
        t, name = self.types, sensor["name"]
        header = self._header(time, f"{name}_optical")
        rows, columns = depth.shape
        image = t["sensor_msgs/msg/Image"](
            header=header, height=rows, width=columns, encoding="32FC1", is_bigendian=0, step=4 * columns,
            data=_bytes(depth),
        )  # fmt: skip
        yield time, f"{name}/depth/image", "sensor_msgs/msg/Image", image
        focal = columns / 2 / math.tan(math.radians(sensor["horizontal_deg"]) / 2)
        across, down = (columns - 1) / 2, (rows - 1) / 2
        info = t["sensor_msgs/msg/CameraInfo"](
            header=header, height=rows, width=columns, distortion_model="plumb_bob", d=np.zeros(5),
            k=np.array([focal, 0, across, 0, focal, down, 0, 0, 1.0]), r=np.eye(3).ravel(),
            p=np.array([focal, 0, across, 0, 0, focal, down, 0, 0, 0, 1.0, 0]), binning_x=0, binning_y=0,
            roi=t["sensor_msgs/msg/RegionOfInterest"](x_offset=0, y_offset=0, height=0, width=0, do_rectify=False),
        )  # fmt: skip
        yield time, f"{name}/depth/camera_info", "sensor_msgs/msg/CameraInfo", info

    def _lidar(self, sensor: dict[str, Any], time: float, ranges: np.ndarray) -> Iterator[Item]:
        """A level row is a LaserScan; several rows, or one that stands at an angle, are points."""
        header, rows = self._header(time, sensor["name"]), len(ranges)
        azimuth, elevation = lidar_angles(sensor)
        if rows == 1 and elevation[0] == 0:
            step = float(azimuth[1] - azimuth[0]) if len(azimuth) > 1 else 0.0
            scan = self.types["sensor_msgs/msg/LaserScan"](
                header=header, angle_min=float(azimuth[0]), angle_max=float(azimuth[-1]), angle_increment=step,
                time_increment=0.0, scan_time=1 / sensor["rate"], range_min=float(sensor["nearest"]),
                range_max=float(sensor["farthest"]), ranges=ranges[0].astype(np.float32),
                intensities=np.zeros(0, np.float32),
            )  # fmt: skip
            yield time, f"{sensor['name']}/scan", "sensor_msgs/msg/LaserScan", scan
            return
        level = np.cos(elevation)[:, None]
        rays = np.stack(
            [level * np.cos(azimuth), level * np.sin(azimuth), np.tile(np.sin(elevation)[:, None], len(azimuth))], -1
        )
        distance = np.where(np.isfinite(ranges), ranges, np.nan)
        fields = [
            self.types["sensor_msgs/msg/PointField"](name=name, offset=4 * k, datatype=FLOAT32, count=1)
            for k, name in enumerate("xyz")
        ]
        cloud = self.types["sensor_msgs/msg/PointCloud2"](
            header=header, height=rows, width=len(azimuth), fields=fields, is_bigendian=False, point_step=12,
            row_step=12 * len(azimuth), data=_bytes(distance[..., None] * rays),
            is_dense=bool(np.isfinite(distance).all()),
        )  # fmt: skip
        yield time, f"{sensor['name']}/points", "sensor_msgs/msg/PointCloud2", cloud

    def _imu(self, sensor: dict[str, Any], time: float, force: np.ndarray, turning: np.ndarray) -> Iterator[Item]:
        t = self.types
        unknown = np.array([-1.0, *[0.0] * 8])  # no orientation is measured
        message = t["sensor_msgs/msg/Imu"](
            header=self._header(time, sensor["name"]),
            orientation=t["geometry_msgs/msg/Quaternion"](x=0.0, y=0.0, z=0.0, w=1.0), orientation_covariance=unknown,
            angular_velocity=self._vector(turning), angular_velocity_covariance=_covariance(sensor["angular_noise"]),
            linear_acceleration=self._vector(force),
            linear_acceleration_covariance=_covariance(sensor["acceleration_noise"]),
        )  # fmt: skip
        yield time, f"{sensor['name']}/imu", "sensor_msgs/msg/Imu", message

    def _header(self, time: float, frame: str) -> Any:
        return self.types["std_msgs/msg/Header"](stamp=self.stamp(time), frame_id=frame)

    def _vector(self, values: Any) -> Any:
        x, y, z = map(float, values)
        return self.types["geometry_msgs/msg/Vector3"](x=x, y=y, z=z)

    def _transform(self, time: float, parent: str, child: str, place: Any, turn: Any) -> Any:
        t = self.types
        x, y, z, w = map(float, turn)
        moved = t["geometry_msgs/msg/Transform"](
            translation=self._vector(place), rotation=t["geometry_msgs/msg/Quaternion"](x=x, y=y, z=z, w=w)
        )
        return t["geometry_msgs/msg/TransformStamped"](
            header=self._header(time, parent), child_frame_id=child, transform=moved
        )


def lidar_angles(sensor: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Angles [rad] of the columns from x towards y, and of the rows above the x, y plane, as `Lidar` has them."""
    full, count, rows = math.radians(sensor["horizontal_deg"]), sensor["columns"], sensor["rows"]
    if sensor["horizontal_deg"] == 360:
        azimuth = full / count * np.arange(count) - math.pi
    else:
        azimuth = full / max(count - 1, 1) * (np.arange(count) - (count - 1) / 2)
    low, high = np.radians(sensor["vertical_deg"])
    return azimuth, np.linspace(low, high, rows) if rows > 1 else np.array([(low + high) / 2])


def _quaternion(sensor: Mapping[str, Any]) -> tuple[float, float, float, float]:
    """Quaternion x, y, z, w of roll, pitch and yaw: yaw first, then pitch, then roll."""
    roll, pitch, yaw = np.radians(sensor["angles_deg"]) / 2
    (cr, sr), (cp, sp), (cy, sy) = ((math.cos(a), math.sin(a)) for a in (roll, pitch, yaw))
    return (
        sr * cp * cy - cr * sp * sy,
        cr * sp * cy + sr * cp * sy,
        cr * cp * sy - sr * sp * cy,
        cr * cp * cy + sr * sp * sy,
    )


def _covariance(spread: float) -> np.ndarray:
    return (spread**2 * np.eye(3)).ravel()


def _bytes(values: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(values, "<f4").view(np.uint8).ravel()
