"""A Ray cluster of several nodes on this machine, reachable from this machine only, whose nodes can be killed."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.waiting import PATIENCE, eventually

ROOT = Path(__file__).parents[2]
LOOPBACK = "127.0.0.1"
# `ray start` replaces 127.0.0.1 by the address of the network, on which it would then listen.
HERE = "import ray._private.services as s; s.resolve_ip_for_localhost = lambda host: host\n"
RAY = [sys.executable, "-c", HERE + f"s.get_node_ip_address = lambda *_: '{LOOPBACK}'\n"
       "from ray.scripts.scripts import main; main()"]  # fmt: skip
STARTED = "Ray runtime started"  # said by `ray start`
STORE = str(100 * 2**20)  # [bytes]


def free_port() -> int:
    with socket.socket() as free:
        free.bind((LOOPBACK, 0))
        return free.getsockname()[1]


def family(pid: int) -> list[int]:
    """A process and all below it."""
    children: dict[int, list[int]] = {}
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            parent = int((place / "stat").read_text().rsplit(")", 1)[1].split()[1])
            children.setdefault(parent, []).append(int(place.name))
    found, todo = [], [pid]
    while todo:
        found.append(todo.pop())
        todo += children.get(found[-1], [])
    return found


def kill(pids: list[int]) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


class Nodes:
    """`ray start --head`, and more nodes by `--address`; one core each."""

    def __init__(self, more: int):
        self.port, self.client_port = free_port(), free_port()
        self.address = f"{LOOPBACK}:{self.port}"
        self.folder = tempfile.mkdtemp(prefix="ray-")  # its sockets need a short path
        self.environment = os.environ | {
            "PYTHONPATH": f"{ROOT}:{ROOT / 'src'}",
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": secrets.token_hex(32),
            "RAY_TMPDIR": self.folder,
        }
        self.nodes: list[subprocess.Popen[bytes]] = []
        try:
            self._start_all(more)
        except BaseException:
            self.end()
            raise

    def _start_all(self, more: int) -> None:
        self._start("--head", f"--port={self.port}", f"--ray-client-server-port={self.client_port}",
                    "--include-dashboard=false", f"--temp-dir={self.folder}")  # fmt: skip
        for _ in range(more):
            self.add()

    def add(self) -> subprocess.Popen[bytes]:
        return self._start(f"--address={self.address}")

    def _start(self, *options: str) -> subprocess.Popen[bytes]:
        call = [*RAY, "start", "--block", "--num-cpus=1", f"--node-ip-address={LOOPBACK}", "--disable-usage-stats",
                f"--object-store-memory={STORE}", *options]  # fmt: skip
        log = Path(self.folder, f"node-{len(self.nodes)}.log")
        only_here = (
            {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"} if "--head" in options else {}
        )  # also for its client server
        with log.open("wb") as file:
            node = subprocess.Popen(call, env=self.environment | only_here, stdout=file, stderr=file)
        self.nodes.append(node)
        eventually(lambda: node.poll() is not None or STARTED in log.read_text(), "the node is there")
        assert node.poll() is None, log.read_text()
        return node

    def end(self) -> None:
        for node in reversed(self.nodes):
            kill(family(node.pid))
            node.wait(PATIENCE)
        shutil.rmtree(self.folder, ignore_errors=True)
