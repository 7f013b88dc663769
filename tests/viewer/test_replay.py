"""Pace of a replay page: long recordings as a time lapse that moves as smoothly as a short one."""

from __future__ import annotations

import numpy as np
import pytest

from grouser.recording import Recording
from grouser.viewer.replay import FRAMES, RATE, goes_far, picture_times, time_lapse
from grouser.viewer.scene import Scene
from tests.viewer import made
from tests.viewer.made import Nothing


def test_a_short_recording_is_shown_at_its_own_pace():
    assert time_lapse(np.arange(0.0, 10.0, 1 / RATE)) == 1.0
    assert time_lapse(np.array([0.0, 30.0])) == 1.0, "two pictures are no film"


def test_pictures_of_a_long_one_follow_each_other_as_fast_as_those_of_a_short_one():
    times = np.linspace(0.0, 3340.0, FRAMES)
    assert (times[1] - times[0]) / time_lapse(times) == pytest.approx(1 / RATE)


@pytest.mark.parametrize(("duration", "far"), [(2.0, False), (60.0, True)])
def test_the_ground_moves_below_a_robot_that_goes_far(tmp_path, duration, far):
    """A robot that leaves the picture would leave an empty one: a camera of the page stands where it stands."""
    with Recording(made.recording(tmp_path / "recording.h5", duration, rate=4.0)) as recording:
        scene = Scene(recording, Nothing())
        assert goes_far(scene.cameras, picture_times(recording)) == far
