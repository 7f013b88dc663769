"""`grouser view`, and the live view of a run: a separate process that reads the recording while it is written."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import webbrowser
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from grouser.commands.folder import recording_path
from grouser.errors import InputError

STARTING, CLOSING = 600.0, 60.0  # [s] time limits for a view to start and to end, which only a hang reaches


def view(place: Path, host: str, port: int, token: str | None, texture: Path | None, browse: bool) -> int:
    """Serve the page until Ctrl-C."""
    from grouser.viewer.server import View

    with View(recording_path(place), host=host, port=port, token=token, texture=_picture(texture)) as shown:
        print(f"{shown.address}  (Ctrl-C ends)", flush=True)
        if browse:
            webbrowser.open(shown.address)
        with suppress(KeyboardInterrupt):
            threading.Event().wait()
    return 0


def _picture(path: Path | None) -> bytes:
    """Read an image of any format and convert it to PNG."""
    if path is None:
        return b""
    from io import BytesIO

    from PIL import Image, UnidentifiedImageError

    try:
        file = BytesIO()
        Image.open(path).convert("RGB").save(file, "PNG")
    except (OSError, UnidentifiedImageError):
        raise InputError(f"--texture {path}: not an image that can be read") from None
    return file.getvalue()


def foxglove(place: Path, host: str, port: int) -> int:
    """Send a recording to Foxglove until Ctrl-C."""
    from grouser.viewer.foxglove_server import FoxgloveServer

    with FoxgloveServer(recording_path(place), host=host, port=port) as server:
        print(f"{server.address}  open this in Foxglove (Ctrl-C ends)", flush=True)
        with suppress(KeyboardInterrupt):
            threading.Event().wait()
    return 0


class ViewProcess:
    """A view in a separate process, which ends with this one. `on_message` is called with requests of its pages."""

    def __init__(
        self,
        path: Path,
        host: str,
        port: int,
        token: str | None = None,
        *,
        on_message: Callable[[dict[str, Any]], None] | None = None,
        controls: Mapping[str, Any] | None = None,
        foxglove: bool = False,
    ):
        """`controls`: what a driver has, as arguments of `viewer.driving.PageDriver`. `foxglove`: instead of a page."""
        asked = {
            "path": str(path), "host": host, "port": port, "token": token, "driven": on_message is not None,
            "controls": dict(controls or {}), "foxglove": foxglove,
        }  # fmt: skip
        self.address, self._on_message, self._ready = "", on_message, threading.Event()
        self._failure = ""
        self._process = subprocess.Popen(
            [sys.executable, "-m", "grouser.commands.view_process", json.dumps(asked)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            with suppress(ValueError):
                message = json.loads(line)
                if "address" in message:
                    self.address = message["address"]
                    self._ready.set()
                elif "error" in message:
                    self._failure = message["error"]
                elif self._on_message is not None:
                    self._on_message(message)
        self._ready.set()

    def wait(self, timeout: float = STARTING) -> str:
        """Wait until the page can be opened. Returns its address."""
        self._ready.wait(timeout)
        if not self.address:
            self.close()
            raise InputError(self._failure or "the view did not start")
        return self.address

    def send(self, **message: Any) -> None:
        """Send a message to the view. `path`: recording to show; `note`: text for the page."""
        assert self._process.stdin is not None
        with suppress(OSError, ValueError):
            self._process.stdin.write(json.dumps(message) + "\n")
            self._process.stdin.flush()

    def close(self) -> None:
        """End the process by closing its stdin."""
        with suppress(OSError):
            if self._process.stdin is not None:
                self._process.stdin.close()
        try:
            self._process.wait(CLOSING)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
