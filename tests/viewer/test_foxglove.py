"""`--foxglove`: a WebSocket client of Foxglove's protocol gets the messages of a recording, with their ROS 2 types."""

from __future__ import annotations

import json
import os
import re
import signal
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import grouser
from grouser.cli import status
from grouser.errors import InputError
from grouser.sensors import Imu, Lidar
from tests.waiting import PATIENCE

pytest.importorskip("foxglove")
from websockets.sync.client import connect  # comes with viser

SUBPROTOCOL = "foxglove.sdk.v1"
MESSAGE, TIME = 1, 2  # first byte of binary messages of the server


@pytest.fixture(scope="module")
def recorded(tmp_path_factory) -> Path:
    """Half a second of a cart with a lidar and an inertial unit."""
    place = tmp_path_factory.mktemp("cart") / "run"
    sim = grouser.on_soil(grouser.CART, soil="dry-sand", bodies="wheel.*", drive={"motor.*": 2.0})
    sim.add_sensor(Lidar("lidar", "chassis", position=(0, 0, 0.5), rows=4, columns=8, vertical_deg=(-60, -30), rate=20))
    sim.add_sensor(Imu("imu", "chassis", rate=100))
    grouser.record(sim, place, 0.5, rate=20, report=False)
    return place


class Client:
    """Speaks Foxglove's protocol: what is advertised, and the messages of topics it has subscribed to."""

    def __init__(self, address: str):
        self.socket = connect(
            address, subprotocols=[SUBPROTOCOL], open_timeout=PATIENCE, max_size=None,
            ping_interval=None,  # a busy machine is waited for, it is no lost connection
        )  # fmt: skip
        self.channels: dict[str, dict[str, Any]] = {}
        self.topics: dict[int, str] = {}
        self.messages: list[tuple[str, int, bytes]] = []

    def wait_for(self, *topics: str, count: int = 1) -> None:
        """Subscribe to topics and read until each has given so many messages."""
        wanted = set(topics)
        while wanted or any(sum(t == topic for t, _, _ in self.messages) < count for topic in topics):
            self._read(self.socket.recv(PATIENCE))
            for topic in [topic for topic in wanted if topic in self.channels]:
                wanted.remove(topic)
                self._subscribe(topic)

    def _subscribe(self, topic: str) -> None:
        number = 1 + len(self.topics)
        self.topics[number] = topic
        asked = {"id": number, "channelId": self.channels[topic]["id"]}
        self.socket.send(json.dumps({"op": "subscribe", "subscriptions": [asked]}))

    def _read(self, raw: str | bytes) -> None:
        if isinstance(raw, str):
            said = json.loads(raw)
            if said["op"] == "advertise":
                self.channels |= {channel["topic"]: channel for channel in said["channels"]}
            elif said["op"] == "status" and said["message"].startswith("Unknown channel"):  # asked too early
                late = int(said["message"].split()[-1])
                self._subscribe(next(topic for topic, channel in self.channels.items() if channel["id"] == late))
        elif raw[0] == MESSAGE:
            number, nanoseconds = struct.unpack_from("<IQ", raw, 1)
            self.messages.append((self.topics[number], nanoseconds, raw[13:]))

    def last(self, topic: str) -> tuple[int, Any]:
        """Time [ns] and message, decoded by the definition that the channel itself gave."""
        from rosbags.typesys import Stores, get_types_from_msg, get_typestore

        channel = self.channels[topic]
        assert channel["encoding"] == "cdr"
        assert channel["schemaEncoding"] == "ros2msg"
        types = get_typestore(Stores.EMPTY)
        types.register(get_types_from_msg(channel["schema"], channel["schemaName"]))
        _, nanoseconds, raw = next(entry for entry in reversed(self.messages) if entry[0] == topic)
        return nanoseconds, types.deserialize_cdr(raw, channel["schemaName"])


def test_a_recording_is_played_with_its_types_and_times(recorded):
    from grouser.viewer.foxglove_server import FoxgloveServer

    with FoxgloveServer(recorded / "recording.h5", port=0) as server:
        client = Client(server.address)
        client.wait_for("/tf", "/lidar/points", "/imu/imu", "/tf_static", count=3)
    nanoseconds, cloud = client.last("/lidar/points")
    assert cloud.__msgtype__ == "sensor_msgs/msg/PointCloud2"
    assert nanoseconds == cloud.header.stamp.sec * 10**9 + cloud.header.stamp.nanosec
    assert nanoseconds % (10**9 // 20) == 0
    points = cloud.data.view(np.float32).reshape(4, 8, 3)
    assert np.nanmin(points[..., 2]) < -0.4, "the ground, below the mast"
    assert client.last("/imu/imu")[1].linear_acceleration.z == pytest.approx(9.81, abs=2.0)
    moved = {one.child_frame_id for one in client.last("/tf")[1].transforms}
    assert "chassis" in moved
    assert {one.child_frame_id for one in client.last("/tf_static")[1].transforms} == {"lidar", "imu"}


@pytest.mark.long
def test_a_run_is_sent_while_it_runs(tmp_path):
    """The process of the run, of many laps, is ended by us: what came before that was live."""
    call = [
        sys.executable, "-c", "from grouser.cli import main; main()", "run", "rover-course", "--foxglove",
        "--set", "waypoints=[[0,0],[2,0],[2,2]]", "--set", "laps=500", "--rate", "20",
        "--port", "0", "--no-report", "--out", str(tmp_path / "run"),
    ]  # fmt: skip
    with subprocess.Popen(call, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            said = ""
            while not (found := re.search(r"view: (ws://\S+)", said)):
                said = process.stderr.readline()
                assert said, "the run ended early"
            client = Client(found.group(1))
            client.wait_for("/tf", count=5)
            times = [nanoseconds for topic, nanoseconds, _ in client.messages if topic == "/tf"]
            assert process.poll() is None
            assert times == sorted(times)
            assert times[-1] > times[0]
        finally:
            os.kill(process.pid, signal.SIGINT)
            process.communicate(timeout=PATIENCE)


def test_it_is_served_to_this_machine_only(recorded, capsys):
    from grouser.viewer.foxglove_server import FoxgloveServer

    with pytest.raises(InputError, match="knows no token"):
        FoxgloveServer(recorded / "recording.h5", host="0.0.0.0", port=0)
    assert status(["view", str(recorded), "--foxglove", "--host", "0.0.0.0"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_without_the_package_one_line_names_the_extra(recorded, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "foxglove", None)
    assert status(["view", str(recorded), "--foxglove"]) == 2
    assert "pip install 'grouser[foxglove]'" in capsys.readouterr().err
