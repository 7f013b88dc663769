"""Pace of a replay page: long recordings as a time lapse that moves as smoothly as a short one."""

from __future__ import annotations

import numpy as np
import pytest

from grouser.viewer.replay import FRAMES, RATE, time_lapse


def test_a_short_recording_is_shown_at_its_own_pace():
    assert time_lapse(np.arange(0.0, 10.0, 1 / RATE)) == 1.0
    assert time_lapse(np.array([0.0, 30.0])) == 1.0, "two pictures are no film"


def test_pictures_of_a_long_one_follow_each_other_as_fast_as_those_of_a_short_one():
    times = np.linspace(0.0, 3340.0, FRAMES)
    assert (times[1] - times[0]) / time_lapse(times) == pytest.approx(1 / RATE)
