"""Access control of a view: only this machine, or a token. Only the page and its sockets are served.

viser's server has no access control, so its `serve` is wrapped: every request is checked by `AccessControl.refusal`.
The Origin header keeps pages of other sites from connecting. The Host header keeps them from reaching 127.0.0.1 under a
host name of their own.
"""

from __future__ import annotations

import hmac
import ipaddress
import logging
import secrets
import socket
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from grouser.errors import InputError

LOG = logging.getLogger(__name__)
SILENT = logging.getLogger(f"{__name__}.sockets")  # websockets prints a traceback for whatever is no request for a page
SILENT.setLevel(logging.CRITICAL)
LOOPBACK_NAMES = {"localhost", "127.0.0.1", "::1"}
COOKIE = "grouser-token"
INPUT_PATH = "/input"
NO_MESSAGE = 1008  # status with which the socket of a page is closed that sends what is no message (RFC 6455, 7.4.1)
PAGE_HEADERS = {
    "Content-Type": "text/html; charset=utf-8",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


class AccessControl:
    """Accepts or refuses requests. `token` is empty on the loopback interface, which needs none."""

    def __init__(self, host: str, token: str | None = None):
        self.host, self.local = host, is_loopback(host)
        self.token = token or ("" if self.local else secrets.token_urlsafe(24))

    def refusal(self, path: str, headers: Any) -> tuple[HTTPStatus, str] | None:
        """HTTP status and reason if a request is refused, else None."""
        host = headers.get("Host", "")
        if self.local and urlsplit(f"//{host}").hostname not in LOOPBACK_NAMES:
            return HTTPStatus.FORBIDDEN, f"this view answers to localhost only, not to {host!r}"
        origin = headers.get("Origin")
        if origin is not None and urlsplit(origin).netloc != host:
            return HTTPStatus.FORBIDDEN, "a page of another site may not connect"
        if self.token and not self._knows_token(path, headers):
            return HTTPStatus.UNAUTHORIZED, "the address needs its token: use the one Grouser printed"
        if urlsplit(path).path not in ("/", "/index.html", INPUT_PATH):
            return HTTPStatus.NOT_FOUND, "page not found"
        return None

    def _knows_token(self, path: str, headers: Any) -> bool:
        given = parse_qs(urlsplit(path).query).get("token", [""])[0]
        if not given:
            try:
                cookie = SimpleCookie(headers.get("Cookie", "")).get(COOKIE)
            except CookieError:
                return False
            given = cookie.value if cookie else ""
        return hmac.compare_digest(given.encode(), self.token.encode())

    def address(self, port: int) -> str:
        """Address to open in a browser."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{port}/" + (f"?token={self.token}" if self.token else "")


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def check_host_is_local(host: str) -> None:
    """Raise InputError if this machine cannot serve at that address. viser would try every port before it gives up."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as trial:
            trial.bind(address)
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or "not the name of a machine"
        allowed = "allowed is an address of this machine, 127.0.0.1, or 0.0.0.0 for all it has"
        raise InputError(f"--host {host}: cannot serve there ({reason}): {allowed}") from None


@contextmanager
def access_controlled(access: AccessControl, listen: Callable[[Any], Awaitable[None]]) -> Iterator[None]:
    """Apply `access` to viser servers started in the block. Connections to INPUT_PATH go to `listen`."""
    from websockets.asyncio import server as sockets
    from websockets.datastructures import Headers
    from websockets.http11 import Response

    original, page, passed = sockets.serve, _page(), False

    def serve(handler: Any, *arguments: Any, process_request: Any = None, **more: Any) -> Any:
        nonlocal passed
        passed = True

        async def handle(connection: Any) -> None:
            if urlsplit(connection.request.path).path == INPUT_PATH:
                await listen(connection)
                return
            try:
                await handler(connection)
            except Exception:  # viser could not read a message; websockets would print a traceback for each
                LOG.debug("a page has been closed", exc_info=True)
                await connection.close(NO_MESSAGE, "not a message of this page")

        def answer(connection: Any, request: Any) -> Any:
            refused = access.refusal(request.path, request.headers)
            if refused is not None:
                status, words = refused
                return Response(status, status.phrase, Headers({"Content-Type": "text/plain"}), (words + "\n").encode())
            if request.headers.get("Upgrade", "").lower() == "websocket":
                return None
            process_request(connection, request)  # its first call installs viser's log filter
            headers = {**PAGE_HEADERS, "Content-Length": str(len(page))}
            if access.token:
                headers["Set-Cookie"] = f"{COOKIE}={access.token}; HttpOnly; SameSite=Strict; Path=/"
            return Response(HTTPStatus.OK, "OK", Headers(headers), page)

        return original(handle, *arguments, process_request=answer, **{"logger": SILENT, **more})

    sockets.serve = serve  # type: ignore[assignment]
    try:
        yield
    finally:
        sockets.serve = original  # type: ignore[assignment]
    if not passed:  # never serve without access control
        raise InputError("this version of viser starts its server differently: install the one of requirements.lock")


# Until viser has read its own surroundings, which are not used, it draws at 5 % opacity.
STYLE = "<style>canvas { opacity: 1 !important }</style>"


def _page() -> bytes:
    """viser's page with a script that sends keys and gamepad input."""
    import viser

    page = (Path(viser.__file__).parent / "client" / "build" / "index.html").read_text(encoding="utf-8")
    script = resources.files("grouser.viewer").joinpath("input.js").read_text(encoding="utf-8")
    head, mark, rest = page.partition("<head>")
    if not mark:
        raise InputError("the page of this version of viser has no head: install the one of requirements.lock")
    return f"{head}{mark}<title>Grouser</title>{STYLE}<script>{script}</script>{rest}".encode()
