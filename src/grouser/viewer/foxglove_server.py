"""A recording for Foxglove, live or played: the messages of its MCAP file over a WebSocket.

Foxglove (the desktop or web app) connects to ws://HOST:PORT and gets the same topics with the same ROS 2 types as
`grouser export --format mcap` writes. Nothing is read from those who connect.
"""

from __future__ import annotations

import threading
import time as clock
from pathlib import Path
from typing import Any

from grouser.errors import InputError
from grouser.recording import Recording
from grouser.viewer.access_control import check_host_is_local
from grouser.viewer.bag import Messages, Stamped

PORT = 8765  # that Foxglove asks for by default
PAGE_PORT = 8080  # default of a page in a browser: stands for PORT here
PERIOD = 1 / 30  # [s] between two looks for new frames
HELD = 1.0  # [s] after which mounts of sensors are sent again, for those who connect later
PAUSE = 1.0  # [s] at the end of a recording before it is played again
LOOPBACK = ("127.0.0.1", "::1", "localhost")


class FoxgloveServer:
    """Sends a recording to any number of viewers: frames of a running one as they come, a finished one in real time."""

    def __init__(self, path: str | Path, *, host: str = "127.0.0.1", port: int = PORT):
        foxglove, self._types = _imported()
        self.path = Path(path)
        check_host_is_local(host)
        if host not in LOOPBACK:
            raise InputError(f"--host {host}: --foxglove knows no token; allowed is 127.0.0.1, with ssh -L from afar")
        self._foxglove, self._context, self._channels = foxglove, foxglove.Context(), dict[str, Any]()
        with Recording(self.path) as recording:  # raises now if it cannot be read
            # Topics are declared before anybody connects: one who asks for a topic at once, as it appears, is refused.
            if len(recording):
                for _, item in Messages(recording, self._types).block(slice(0, 1)):
                    self._channel(item)
        foxglove.set_log_level("ERROR")
        try:
            self._server = foxglove.start_server(
                name="Grouser", host=host, port=PORT if port == PAGE_PORT else port, context=self._context,
                capabilities=[foxglove.Capability.Time],
            )  # fmt: skip
        except (OSError, RuntimeError) as error:
            raise InputError(f"--port {port}: {error}") from None
        self.address = f"ws://{host}:{self._server.port}"
        self._ended, self._switched = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._serve, name="foxglove", daemon=True)
        self._thread.start()

    def switch(self, path: Path) -> None:
        """Go on with another recording."""
        self.path = path
        self._switched.set()

    def show_note(self, text: str) -> None:
        self._server.publish_status(text, self._foxglove.StatusLevel.Info)

    def close(self) -> None:
        self._ended.set()
        self._switched.set()
        self._thread.join()
        self._server.stop()

    def __enter__(self) -> FoxgloveServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- the thread -----------------------------------------------------------------------------------

    def _serve(self) -> None:
        while not self._ended.is_set():
            self._switched.clear()
            with Recording(self.path) as recording:
                self._play(recording)
            self._switched.wait(PAUSE)
            self._server.clear_session()  # time goes back

    def _play(self, recording: Recording) -> None:
        """Send frames until the recording ends: of a running one the latest, of a finished one at their times."""
        messages, live = Messages(recording, self._types), recording.status == "running"
        started, held = clock.monotonic(), 0.0
        sent = max(0, len(recording) - 1) if live else 0
        while not self._switched.is_set():
            over = recording.status != "running"
            if live:
                recording.refresh()
            until = len(recording)
            if not live and until:
                elapsed = float(recording.time[0]) + clock.monotonic() - started
                until = int(recording.time.searchsorted(elapsed, side="right"))
            if until > sent:
                self._send(sorted(messages.block(slice(sent, until)), key=lambda entry: entry[0]))
                sent = until
            if sent and clock.monotonic() >= held:
                self._send(messages.mounts(float(recording.time[sent - 1])))
                held = clock.monotonic() + HELD
            if over and sent == len(recording):
                return
            self._switched.wait(PERIOD)

    def _send(self, items: list[tuple[int, Stamped]]) -> None:
        for nanoseconds, item in items:
            raw = bytes(self._types.serialize_cdr(item.message, item.kind))
            self._channel(item).log(raw, log_time=nanoseconds)
        if items:
            self._server.broadcast_time(max(nanoseconds for nanoseconds, _ in items))

    def _channel(self, item: Stamped) -> Any:
        """The channel of a topic, with the definition of its ROS 2 type."""
        if item.topic not in self._channels:
            definition, _ = self._types.generate_msgdef(item.kind, ros_version=2)
            schema = self._foxglove.Schema(name=item.kind, encoding="ros2msg", data=definition.encode())
            self._channels[item.topic] = self._foxglove.Channel(
                item.topic, schema=schema, message_encoding="cdr", context=self._context
            )
        return self._channels[item.topic]


def _imported() -> tuple[Any, Any]:
    try:
        import foxglove
        from rosbags.typesys import Stores, get_typestore
    except ModuleNotFoundError:
        raise InputError("--foxglove needs foxglove-sdk and rosbags: pip install 'grouser[foxglove]'") from None
    return foxglove, get_typestore(Stores.ROS2_HUMBLE)
