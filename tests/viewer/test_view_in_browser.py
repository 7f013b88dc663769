"""The page in a real browser: what is seen, not only what is in the document."""

import numpy as np
import pytest

from grouser.viewer.server import View
from tests.viewer import made
from tests.viewer.browser import PATIENCE, browser, eventually, opened, picture

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]
FREE = {"port": 0}
PAD = """navigator.getGamepads = () => [{connected: true, axes: [0, 0, 0, 0],
  buttons: Array.from({length: 16}, (_, k) => ({value: k === 3 ? 1 : 0}))}]"""
BLUE = 60  # by how much blue must be above red for a pixel to be of the cart
ENOUGH = 150  # pixels: the cart covers thousands, and drawing without a GPU loses no more than edges


@pytest.fixture(scope="module")
def running():
    with browser() as one:
        yield one


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    return made.recording(tmp_path_factory.mktemp("made") / "recording.h5")


def cart_pixels(image: np.ndarray) -> np.ndarray:
    """(n, 2) row and column of the blue cart."""
    return np.argwhere(image[..., 2].astype(int) - image[..., 0] > BLUE)


def rut_pixels(image: np.ndarray) -> int:
    """Dark ground: neither sky nor sand nor the cart."""
    red, green, blue = (image[..., k].astype(int) for k in range(3))
    return int(((red < 150) & (red > blue - 20) & (red + green > 40)).sum())


def sand_pixels(image: np.ndarray) -> int:
    red, blue = image[..., 0].astype(int), image[..., 2].astype(int)
    return int((red - blue > 15).sum())


def drawn(page) -> np.ndarray:
    """The picture once cart and sand are there."""

    def look():
        image = picture(page)
        return image if len(cart_pixels(image)) > ENOUGH and sand_pixels(image) > ENOUGH else None

    return eventually(look, "cart and sand in the picture")


def session_of(view: View):
    return eventually(lambda: next(iter(view.sessions.values()), None), "a session")


def test_ground_robot_and_scrubbing(running, finished, tmp_path):
    with View(finished, **FREE) as view:
        page = opened(running, view.address)
        session = session_of(view)
        session.set_camera("top")
        first = drawn(page)
        before = cart_pixels(first).mean(axis=0)
        session.set_camera("free")
        page.get_by_role("slider").first.focus()
        page.keyboard.press("End")
        eventually(lambda: session.time > session.end - 0.1, "the slider moves time")

        def moved():
            image = picture(page)
            now = cart_pixels(image)
            return len(now) < ENOUGH or np.abs(now.mean(axis=0) - before).max() > 40

        eventually(moved, "the cart elsewhere in the picture")
        page.screenshot(path=tmp_path / "end.png")
        session.set_camera("follow")
        eventually(lambda: rut_pixels(picture(page)) > ENOUGH, "the rut behind the cart")
        page.close()
        eventually(lambda: not view.sessions, "the session ends with its page")


def test_two_viewers_at_their_own_times(running, finished):
    with View(finished, **FREE) as view:
        pages = [opened(running, view.address) for _ in range(2)]
        eventually(lambda: len(view.sessions) == 2, "two sessions")
        one, two = view.sessions.values()
        one.go(1.0)
        two.go(5.0)
        eventually(lambda: one.time == 1.0 and two.time == 5.0, "each its own time")
        pages[0].close()
        eventually(lambda: len(view.sessions) == 1, "one is left")
        assert two in view.sessions.values()
        assert len(cart_pixels(drawn(pages[1]))) > ENOUGH
        pages[1].close()


def test_keys_and_gamepad_choose_cameras_and_play(running, finished):
    with View(finished, **FREE) as view:
        page = opened(running, view.address)
        session = session_of(view)
        page.mouse.click(200, 300)
        page.keyboard.press("Digit4")
        eventually(lambda: session.camera == "top", "key 4: from the top")
        page.keyboard.press("KeyC")
        eventually(lambda: session.camera == "driver", "key C: the next camera")
        page.evaluate(PAD)
        eventually(lambda: session.camera == "free", "Y of a gamepad: the next camera")
        page.keyboard.press("KeyP")
        eventually(lambda: session.playing or session.time == session.end, "key P: plays")
        eventually(lambda: session.time > 0.3, "time goes on")
        page.close()


def test_viewers_that_come_early_late_and_leave_half_way(running, tmp_path):
    cart, path = made.Cart(), tmp_path / "recording.h5"
    writer = made.opened(path, cart, block=4)
    with View(path, **FREE) as view:
        early = opened(running, view.address)
        first = session_of(view)
        eventually(lambda: "no frames yet" in early.content() or None, "nothing is there yet, and it says so")
        for k in range(41):
            made.append(writer, cart, k / 20)
        writer.flush()
        eventually(lambda: first.time > 1.9, "who came before the first frame sees the run")
        early.close()
        eventually(lambda: not view.sessions, "and leaves half way")
        page = opened(running, view.address)
        session = session_of(view)
        assert session.running
        assert session.following
        eventually(lambda: session.time > 1.9, "the viewer catches up with the run")
        for k in range(41, 101):
            made.append(writer, cart, k / 20)
        writer.flush()
        eventually(lambda: session.time > 4.9, "the view goes on with the run")
        writer.close("complete")
        eventually(lambda: session.status == "complete", "the end is noticed")
        assert len(cart_pixels(drawn(page))) > ENOUGH
        page.close()
    assert not session.thread.is_alive() or session._gone.is_set()


def test_an_empty_recording_and_one_cut_by_a_kill(running, tmp_path):
    empty = tmp_path / "empty.h5"
    made.opened(empty, made.Cart()).close("interrupted")
    with View(empty, **FREE) as view:
        page = opened(running, view.address)
        eventually(lambda: "no frames" in page.content(), "an empty recording says so")
        page.close()
    cut = tmp_path / "cut.h5"
    writer = made.opened(tmp_path / "alive.h5", cart := made.Cart())
    for k in range(60):
        made.append(writer, cart, k / 20)
    writer.flush()
    cut.write_bytes((tmp_path / "alive.h5").read_bytes())  # what a kill would leave
    writer.close("complete")
    with View(cut, **FREE) as view:
        page = opened(running, view.address)
        session = session_of(view)
        assert session.status == "interrupted"
        assert session.end > 2.5
        assert len(cart_pixels(drawn(page))) > ENOUGH
        page.close()


def test_a_replay_is_not_pale_at_first(running, finished, tmp_path):
    from grouser.recording import Recording
    from grouser.viewer.replay import replay

    with Recording(finished) as recording:
        (tmp_path / "replay.html").write_text(replay(recording), encoding="utf-8")
    page = running.new_page(viewport={"width": 400, "height": 300})
    page.goto((tmp_path / "replay.html").as_uri(), timeout=1000 * PATIENCE)
    page.wait_for_selector("canvas", state="attached", timeout=1000 * PATIENCE)
    assert page.evaluate("getComputedStyle(document.querySelector('canvas')).opacity") == "1"
    page.close()


def test_a_robot_that_goes_far_stays_in_the_picture_of_its_replay(running, tmp_path, monkeypatch):
    """60 m in 12 s: seen from where it is in the middle it would pass by in a second or two."""
    from grouser.recording import Recording
    from grouser.viewer.replay import replay

    monkeypatch.setattr(made, "SPEED", 5.0)
    with Recording(made.recording(tmp_path / "recording.h5", 12.0, rate=4.0)) as recording:
        (tmp_path / "replay.html").write_text(replay(recording), encoding="utf-8")
    page = running.new_page(viewport={"width": 600, "height": 440})
    page.set_default_timeout(1000 * PATIENCE)
    page.goto((tmp_path / "replay.html").as_uri())
    eventually(lambda: len(cart_pixels(picture(page))) > ENOUGH, "the cart in the picture")
    seen = []
    for _ in range(6):
        page.wait_for_timeout(1000)
        seen.append(len(cart_pixels(picture(page))) > ENOUGH)
    assert all(seen)
    page.close()


def test_a_page_that_only_shows_has_no_buttons_to_drive(running, finished):
    with View(finished, **FREE) as view:
        page = opened(running, view.address)
        drawn(page)
        assert page.locator("#grouser-buttons").count() == 0
