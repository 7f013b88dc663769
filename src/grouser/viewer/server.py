"""The page: a viser server with access control, with one session for each browser."""

from __future__ import annotations

import json
import threading
from contextlib import redirect_stdout, suppress
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from grouser.errors import InputError, check_headroom
from grouser.recording import Recording
from grouser.viewer.access_control import AccessControl, access_controlled, check_host_is_local
from grouser.viewer.session import Session

if TYPE_CHECKING:
    import viser

HEADROOM = 256 << 20  # [bytes] of address space that threads of viser take; with less they print tracebacks or crash
PORT = 8080
HOST = "127.0.0.1"
MESSAGE_LIMIT = 4096  # largest number of characters of a message about keys
BUTTON_PRESSED = 0.5


class Driver(Protocol):
    """Receives keys and gamepad input if the run can be driven."""

    def add_widgets(self, session: Session, gui: viser.GuiApi) -> None: ...

    def take(self, keys: set[str], pad: dict[str, Any] | None) -> None: ...

    def pressed(self, code: str) -> None: ...


class View:
    """Shows a finished or growing recording to any number of browsers; a context manager."""

    def __init__(
        self,
        path: str | Path,
        *,
        host: str = HOST,
        port: int = PORT,
        token: str | None = None,
        driver: Driver | None = None,
        texture: bytes = b"",
    ):
        viser = imported()
        self.path, self.driver, self.texture = Path(path), driver, texture
        Recording(self.path).close()  # raises now if the recording cannot be read
        check_host_is_local(host)
        self.access = AccessControl(host, token)
        self.sessions: dict[int, Session] = {}
        self.note = ""
        self._held: dict[str, set[str]] = {}
        self._lock = threading.Lock()
        with access_controlled(self.access, self._listen), redirect_stdout(StringIO()):  # hide viser's start-up text
            self.server = viser.ViserServer(host=host, port=port, verbose=False, label="Grouser")
        self.server.gui.configure_theme(show_logo=False, show_share_button=False, control_width="medium")
        self.server.scene.world_axes.visible = False
        self.server.on_client_connect(self._opened)
        self.server.on_client_disconnect(self._closed)

    @property
    def port(self) -> int:
        return self.server.get_port()

    @property
    def address(self) -> str:
        return self.access.address(self.port)

    def _opened(self, client: viser.ClientHandle) -> None:
        try:
            session = Session(self, client)
        except InputError as error:
            client.gui.add_markdown(str(error))
            return
        with self._lock:
            self.sessions[client.client_id] = session

    def _closed(self, client: viser.ClientHandle) -> None:
        with self._lock:
            session = self.sessions.pop(client.client_id, None)
        if session is not None:
            session.close()

    def switch(self, path: Path) -> None:
        """Show another recording in all browsers."""
        Recording(path).close()  # raises before any browser lets go of the old one; each opens the new one for itself
        self.path = path
        for client in self.server.get_clients().values():
            self._closed(client)
            client.scene.reset()
            client.gui.reset()
            self._opened(client)

    def show_note(self, note: str) -> None:
        """Show a note on every page."""
        self.note = note
        for session in list(self.sessions.values()):
            session.notice = note

    async def _listen(self, connection: Any) -> None:
        """Receive keys and gamepad input of one page until it closes. Then all its keys count as released."""
        from websockets.exceptions import ConnectionClosed

        held: set[str] = set()
        with suppress(ConnectionClosed):
            async for text in connection:
                message = _message(text)
                if message is None:
                    continue
                now = set(message["keys"]) | _buttons(message["pad"])
                for code in sorted(now - held):
                    self._pressed(message["viewer"], code)
                held = now
                if self.driver is not None:
                    self.driver.take(set(message["keys"]), message["pad"])
        if self.driver is not None:
            self.driver.take(set(), None)

    def _pressed(self, viewer: int, code: str) -> None:
        with self._lock:
            session = self.sessions.get(viewer)
        if session is not None:
            session.key(code)
        if self.driver is not None:
            self.driver.pressed(code)

    def close(self) -> None:
        for session in list(self.sessions.values()):
            session.close()
        with redirect_stdout(StringIO()):
            self.server.stop()

    def __enter__(self) -> View:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _message(text: Any) -> dict[str, Any] | None:
    """Decode a message of a page; None if it is not valid."""
    if not isinstance(text, str) or len(text) > MESSAGE_LIMIT:
        return None
    try:
        message = json.loads(text)
        keys = [str(key) for key in message["keys"]]
        pad = message.get("pad")
        if pad is not None:
            pad = {name: [float(value) for value in pad[name]] for name in ("axes", "buttons")}
        return {"viewer": int(message["viewer"]), "keys": keys, "pad": pad}
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def _buttons(pad: dict[str, Any] | None) -> set[str]:
    return {f"Pad{k}" for k, value in enumerate(pad["buttons"]) if value > BUTTON_PRESSED} if pad else set()


def imported() -> Any:
    check_headroom(HEADROOM)
    try:
        import viser
    except ModuleNotFoundError:
        raise InputError("the view needs viser: pip install 'grouser[view]'") from None
    return viser
