"""Who may look: on this machine all, elsewhere those with the token; and nothing but the page is served."""

import http.client
import logging
import socket

import pytest
import viser
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from grouser.viewer.access_control import NO_MESSAGE, AccessControl, is_loopback
from grouser.viewer.server import View
from tests.viewer import made
from tests.waiting import PATIENCE

LOCAL = {"Host": "127.0.0.1:8080"}


@pytest.fixture(scope="module")
def view(tmp_path_factory):
    folder = tmp_path_factory.mktemp("view")
    (folder / "secret.txt").write_text("secret")
    with View(made.recording(folder / "recording.h5", 0.5), port=0) as one:
        yield one


@pytest.fixture(scope="module")
def strict(tmp_path_factory):
    """As on another host: a token is asked for."""
    with View(made.recording(tmp_path_factory.mktemp("view") / "r.h5", 0.5), port=0, token="abc") as one:
        yield one


def asked(view, path, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", view.port, timeout=PATIENCE)
    connection.putrequest("GET", path, skip_host="Host" in headers)
    for name, value in headers.items():
        connection.putheader(name, value)
    connection.endheaders()
    answer = connection.getresponse()
    return answer.status, answer.read(), answer.headers


def test_the_page_is_served_here(view):
    status, page, headers = asked(view, "/")
    assert status == 200
    assert b"/input" in page
    assert headers["X-Frame-Options"] == "DENY"
    assert view.address == f"http://127.0.0.1:{view.port}/"


@pytest.mark.parametrize(
    "path",
    ["/secret.txt", "/../secret.txt", "/..%2fsecret.txt", "/%2e%2e/secret.txt", "/recording.h5", "//etc/passwd",
     "/etc/passwd", "/..\\secret.txt", "/index.html/../../secret.txt", "/assets/"],
)  # fmt: skip
def test_no_other_path(view, path):
    status, text, _ = asked(view, path)
    assert status == 404
    assert b"secret" not in text


def test_pages_of_other_sites_are_kept_out(view):
    assert asked(view, "/", Host="evil.example")[0] == 403, "a name that leads to 127.0.0.1"
    for path in ("/", "/input"):
        with pytest.raises(InvalidStatus, match="403"):
            connect(f"ws://127.0.0.1:{view.port}{path}", origin="http://evil.example")
    connect(f"ws://127.0.0.1:{view.port}/input", origin=f"http://127.0.0.1:{view.port}").close()


def test_a_token_where_one_is_asked_for(strict):
    assert asked(strict, "/")[0] == 401
    assert asked(strict, "/?token=abd")[0] == 401
    assert asked(strict, "/?token=")[0] == 401
    status, _, headers = asked(strict, "/?token=abc")
    assert status == 200
    cookie = headers["Set-Cookie"].split(";")[0]
    assert "HttpOnly" in headers["Set-Cookie"]
    assert asked(strict, "/", Cookie=cookie)[0] == 200
    for path in ("/", "/input"):
        with pytest.raises(InvalidStatus, match="401"):
            connect(f"ws://127.0.0.1:{strict.port}{path}")
    connect(f"ws://127.0.0.1:{strict.port}/input", additional_headers={"Cookie": cookie}).close()


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.5", "robot.lab", "::"])
def test_another_host_always_has_a_token(host):
    access = AccessControl(host)
    assert len(access.token) >= 24
    assert access.token != AccessControl(host).token
    assert access.token in access.address(80)
    assert access.refusal("/", {"Host": host}) is not None
    assert access.refusal(f"/?token={access.token}", {"Host": host}) is None


def test_loopback_needs_none():
    for host in ("127.0.0.1", "localhost", "::1", "127.0.0.5"):
        assert is_loopback(host)
        assert not AccessControl(host).token
    assert AccessControl("127.0.0.1").refusal("/", LOCAL) is None


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", "null", '{"viewer": "x", "keys": 3}', "{" * 9000, '{"viewer":1,"keys":["a"],"pad":3}']
)
def test_nonsense_on_the_input_socket_is_ignored(view, text):
    with connect(f"ws://127.0.0.1:{view.port}/input", open_timeout=PATIENCE, ping_timeout=None) as page:
        page.send(text)
        page.send(b"\x00\x01")
        assert page.ping().wait(PATIENCE)


@pytest.mark.parametrize(
    "message", ["words", b"", b"\x00\x01", b"\xff" * 2000, b"\x80", b"\x93\x01\x02\x03", b"\x81\xa4type\xa1x"]
)
def test_nonsense_on_the_socket_of_the_page_closes_it_without_a_word(view, message, caplog):
    """Each would be a traceback of twenty lines on the terminal of whoever runs the view, a thousand a second."""
    address, spoken = f"ws://127.0.0.1:{view.port}/", [f"viser-v{viser.__version__}"]
    with caplog.at_level(logging.INFO), connect(address, subprotocols=spoken, max_size=None) as page:
        page.send(message)
        with pytest.raises(ConnectionClosed) as closed:
            while True:
                page.recv(timeout=PATIENCE)
    assert closed.value.rcvd.code == NO_MESSAGE
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == []
    assert asked(view, "/")[0] == 200


@pytest.mark.parametrize(
    "sent", [b"", b"garbage\r\n\r\n", b"\x00" * 3000, b"POST / HTTP/1.1\r\nHost: localhost\r\n\r\n"]
)
def test_what_is_no_request_is_dropped_without_a_word(view, sent, caplog):
    """A scan of ports, or a browser that opens a connection in advance."""
    with caplog.at_level(logging.INFO), socket.create_connection(("127.0.0.1", view.port), PATIENCE) as plain:
        plain.sendall(sent)
        plain.shutdown(socket.SHUT_WR)
        while plain.recv(1000):
            pass
        assert asked(view, "/")[0] == 200
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == []
