"""Writes a ROS 2 bag (MCAP): transforms, joint states, wrenches, samples of sensors, other channels as numbers."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from grouser.errors import InputError
from grouser.recording import Recording
from grouser.recording.selection import axis_names
from grouser.viewer.motion import BODIES
from grouser.viewer.sensor_messages import FIRST_SEEN, SensorMessages

FRAME = "world"
BLOCK = 500  # frames read at a time
JOINTS = ("joint/position", "joint/velocity")


class Stamped(NamedTuple):
    """A message on a topic at one frame."""

    topic: str
    kind: str
    message: Any


def write_bag(
    recording: Recording, folder: Path, progress: Callable[[int, int], None] = lambda done, total: None
) -> Path:
    """Write a folder with metadata.yaml and one .mcap file, as `ros2 bag` does. The first world only."""
    try:
        from rosbags.rosbag2 import StoragePlugin, Writer
        from rosbags.typesys import Stores, get_typestore
    except ModuleNotFoundError:
        raise InputError("MCAP needs rosbags: pip install 'grouser[ros]'") from None
    if folder.exists():
        raise InputError(f"{folder} exists: a bag is written into a new folder only")
    folder.parent.mkdir(parents=True, exist_ok=True)
    types = get_typestore(Stores.ROS2_HUMBLE)
    try:
        with Writer(folder, version=9, storage_plugin=StoragePlugin.MCAP) as writer:
            _write(writer, Messages(recording, types), types, progress)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)  # leave no incomplete bag
        raise
    return folder


def _write(writer: Any, messages: Messages, types: Any, progress: Callable[[int, int], None]) -> None:
    topics: dict[str, Any] = {}
    count = len(messages.recording)
    for start in range(0, count, BLOCK):
        part = slice(start, min(start + BLOCK, count))
        for nanoseconds, item in messages.block(part):
            if item.topic not in topics:
                topics[item.topic] = _connection(writer, item, types)
            writer.write(topics[item.topic], nanoseconds, types.serialize_cdr(item.message, item.kind))
        progress(part.stop, count)


def _connection(writer: Any, item: Stamped, types: Any) -> Any:
    """Declare a topic. That of mounts holds its message for those who come later, as ROS's static transforms do."""
    from rosbags.interfaces import Qos, QosDurability, QosHistory, QosLiveliness, QosReliability, QosTime

    never = QosTime(0, 0)
    held = Qos(
        QosHistory.KEEP_LAST, 1, QosReliability.RELIABLE, QosDurability.TRANSIENT_LOCAL, never, never,
        QosLiveliness.SYSTEM_DEFAULT, never, False,
    )  # fmt: skip
    qos = [held] if item.topic == FIRST_SEEN else []
    return writer.add_connection(item.topic, item.kind, typestore=types, offered_qos_profiles=qos)


class Messages:
    """Frames of a recording as ROS messages."""

    def __init__(self, recording: Recording, types: Any):
        self.recording = recording
        self.types = types.types
        self.sensors = SensorMessages(recording, self.types, self._stamp)
        names = recording.names()
        self.bodies = recording.channel_info(BODIES).labels if BODIES in names else ()
        self.joints = recording.channel_info(JOINTS[0]).labels if all(name in names for name in JOINTS) else ()
        self.wrenches = [n for n in names if n.rsplit("/", 1)[-1] == "force" and self._has_torque(n, names)]
        self.others = [
            n for n in names if n not in (BODIES, *JOINTS) and recording.channel_info(n).kind in ("fixed", "pose")
        ]

    def _has_torque(self, force: str, names: list[str]) -> bool:
        torque = f"{force.rpartition('/')[0]}/torque"
        if torque not in names:
            return False
        shapes = {self.recording.channel_info(name).shape for name in (force, torque)}
        return len(shapes) == 1 and len(shape := shapes.pop()) == 2 and shape[1] == 3

    def mounts(self, time: float) -> list[tuple[int, Stamped]]:
        """Where sensors are mounted, stamped with a time [s]."""
        return [
            (round(at * 1e9), Stamped(topic(name.lstrip("/")), kind, message))
            for at, name, kind, message in self.sensors.mounts(time)
        ]

    def block(self, part: slice) -> Iterator[tuple[int, Stamped]]:
        recording = self.recording
        wanted = [*self.others, *([BODIES] if self.bodies else []), *(JOINTS if self.joints else ())]
        wanted += [f"{name.rpartition('/')[0]}/torque" for name in self.wrenches]
        values = {}
        for name in dict.fromkeys(wanted):
            rows = recording.read(name, part)
            values[name] = rows if recording.worlds == 1 else rows[:, 0]
        if part.start == 0:
            yield from self.mounts(float(recording.time[0]))
        for time, name, kind, message in self.sensors.block(part):
            yield round(time * 1e9), Stamped(topic(name), kind, message)
        for k, time in enumerate(recording.time[part]):
            stamp = self._stamp(float(time))
            nanoseconds = stamp.sec * 10**9 + stamp.nanosec
            for item in self._frame({name: rows[k] for name, rows in values.items()}, stamp):
                yield nanoseconds, item

    def _stamp(self, time: float) -> Any:
        nanoseconds = round(time * 1e9)
        return self.types["builtin_interfaces/msg/Time"](sec=nanoseconds // 10**9, nanosec=nanoseconds % 10**9)

    def _frame(self, values: dict[str, np.ndarray], stamp: Any) -> Iterator[Stamped]:
        t = self.types
        header = t["std_msgs/msg/Header"](stamp=stamp, frame_id=FRAME)
        if self.bodies:
            moved = [self._transform(body, row, header) for body, row in zip(self.bodies, values[BODIES], strict=True)]
            yield Stamped("/tf", "tf2_msgs/msg/TFMessage", t["tf2_msgs/msg/TFMessage"](transforms=moved))
        if self.joints:
            position, velocity = (np.asarray(values[name], float) for name in JOINTS)
            state = t["sensor_msgs/msg/JointState"](
                header=header, name=list(self.joints), position=position, velocity=velocity, effort=np.zeros(0)
            )
            yield Stamped("/joint_states", "sensor_msgs/msg/JointState", state)
        for name in self.wrenches:
            group = name.rpartition("/")[0]
            labels = axis_names(self.recording.channel_info(name), 0)
            for label, force, torque in zip(labels, values[name], values[f"{group}/torque"], strict=True):
                wrench = t["geometry_msgs/msg/Wrench"](force=self._vector(force), torque=self._vector(torque))
                stamped = t["geometry_msgs/msg/WrenchStamped"](header=header, wrench=wrench)
                yield Stamped(topic(f"{group}/wrench/{label}"), "geometry_msgs/msg/WrenchStamped", stamped)
        for name in self.others:
            yield self._numbers(name, np.asarray(values[name], float))

    def _transform(self, body: str, row: np.ndarray, header: Any) -> Any:
        t = self.types
        x, y, z, w = map(float, row[3:])
        turn = t["geometry_msgs/msg/Quaternion"](x=x, y=y, z=z, w=w)
        transform = t["geometry_msgs/msg/Transform"](translation=self._vector(row[:3]), rotation=turn)
        return t["geometry_msgs/msg/TransformStamped"](header=header, child_frame_id=body, transform=transform)

    def _vector(self, values: np.ndarray) -> Any:
        return self.types["geometry_msgs/msg/Vector3"](x=float(values[0]), y=float(values[1]), z=float(values[2]))

    def _numbers(self, name: str, values: np.ndarray) -> Stamped:
        t = self.types
        if values.ndim == 0:
            return Stamped(topic(name), "std_msgs/msg/Float64", t["std_msgs/msg/Float64"](data=float(values)))
        channel = self.recording.channel_info(name)
        axes = [
            t["std_msgs/msg/MultiArrayDimension"](
                label=", ".join(axis_names(channel, k)), size=size, stride=int(np.prod(values.shape[k:]))
            )
            for k, size in enumerate(values.shape)
        ]
        layout = t["std_msgs/msg/MultiArrayLayout"](dim=axes, data_offset=0)
        message = t["std_msgs/msg/Float64MultiArray"](layout=layout, data=values.ravel())
        return Stamped(topic(name), "std_msgs/msg/Float64MultiArray", message)


def topic(name: str) -> str:
    """Convert to a valid ROS name: letters, digits and underscores; no part begins with a digit."""
    parts = [re.sub(r"[^A-Za-z0-9_]", "_", part) for part in name.split("/")]
    return "/" + "/".join(f"_{part}" if part[:1].isdigit() else part for part in parts)
