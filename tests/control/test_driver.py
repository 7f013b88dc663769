"""What a driver asks for, as twists; a driver who lets go stops; a run is no faster than real."""

import numpy as np
import pytest

from grouser.control import Drive, DriverInput, Wheels
from grouser.control import driver as module
from grouser.errors import InputError, RunEnded

SPEED = 0.1


def made(**more):
    positions = np.array([(0.5, 0.4), (0.5, -0.4), (-0.5, 0.4), (-0.5, -0.4)])
    wheels = Wheels(positions, 0.1, np.full(4, 0.6), tuple("abcd"), tuple("efgh"))
    drive = Drive(wheels)
    return drive, DriverInput(drive, SPEED, paced=False, **more)


def test_shares_become_twists():
    drive, driver = made()
    assert driver.twist(1, 0, 0) == (SPEED, 0, 0)
    assert driver.twist(-0.5, 0, 0) == (-SPEED / 2, 0, 0)
    vx, vy, turn = driver.twist(1, 1, 0)
    assert (vx, vy) == (SPEED, 0)
    assert turn == pytest.approx(SPEED * driver.sharpest), "an arc to the left, as sharp as the wheels can steer"
    assert driver.twist(-1, 1, 0)[2] > 0, "backwards the nose still turns to the left"
    assert driver.twist(0, 1, 0)[2] == pytest.approx(SPEED / np.hypot(0.5, 0.4)), "outermost wheel at full speed"
    assert driver.twist(0, 0, 1) == pytest.approx((0, SPEED, 0)), "sideways to the left"
    assert np.hypot(*driver.twist(1, 0, 1)[:2]) == pytest.approx(SPEED), "not faster than allowed"
    driver.share_of_speed = 0.5
    assert driver.twist(1, 0, 0)[0] == SPEED / 2


def test_a_driver_who_is_not_heard_of_has_let_go(monkeypatch):
    drive, driver = made(start=1.0)
    driver.take(1, 0)
    driver.act(0.5, None, None)
    assert not drive.twist.any(), "before the start it stands"
    driver.act(1.5, None, None)
    assert drive.twist[0, 0] == SPEED
    assert driver.channels()[0].read().tolist() == [[1, 0, 0]]
    monkeypatch.setattr(module, "PATIENCE", 0.0)
    driver.act(1.6, None, None)
    assert not drive.twist.any()


def test_nonsense_is_no_command():
    drive, driver = made()
    driver.take(float("nan"), 7.0, -float("inf"))
    driver.act(0.0, None, None)
    assert np.isfinite(drive.twist).all()
    assert driver.shares.tolist() == [[0, 1, 0]]
    with pytest.raises(InputError, match="speed"):
        DriverInput(drive, 0.0)


def test_ending():
    _, driver = made()
    driver.end("enough")
    with pytest.raises(RunEnded, match="enough"):
        driver.act(0.0, None, None)


class Clock:
    """Goes on only where somebody sleeps."""

    def __init__(self):
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def test_no_faster_than_real_and_lag_is_not_made_up_for(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(module, "clock", clock)
    _, driver = made()
    driver.paced = True
    for k in range(6):
        driver.act(0.05 * k, None, None)
        assert clock.now == pytest.approx(100 + 0.05 * k)
    assert driver.behind == 0
    clock.sleep(module.FALLS_BEHIND + 0.2)
    driver.act(0.3, None, None)
    assert driver.behind == pytest.approx(module.FALLS_BEHIND + 0.2 - 0.05)
    before = clock.now
    driver.act(0.4, None, None)
    assert clock.now - before == pytest.approx(0.1), "after a lag it does not race"
