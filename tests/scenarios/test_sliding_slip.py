"""Slip over a sliding window against the mean of the slips of its periods."""

import numpy as np

from grouser.scenarios.sliding_slip import SlidingSlip
from tests.control.vehicle import DRIVE, RADIUS, Rolling, wheels_of

WAY = 0.03  # [m] rolled between two looks
GONE = (1.0, 0.9, 0.7, 0.4, 0.2, 0.1)  # of it, period by period


def test_the_means_are_those_of_the_last_periods():
    rig = Rolling([])
    meter = SlidingSlip(wheels_of(rig.model), window=1.0, longest=2.0, period=0.5)
    place, slips = 0.0, []
    assert [array.tolist() for array in (meter.recent_mean, meter.longest_mean)] == [[0], [0]]
    meter.act(0.0, rig.data, rig.data.ctrl)
    for k, share in enumerate(GONE, 1):
        place += share * WAY
        for name in DRIVE:
            rig.data.joint(name).qpos[0] = k * WAY / RADIUS
        rig.place((place, 0.0, 0.0))
        meter.act(0.5 * k, rig.data, rig.data.ctrl)
        slips.append(1 - share)
        np.testing.assert_allclose(meter.recent, np.mean(slips[-2:]), atol=1e-9)
        np.testing.assert_allclose(meter.recent_mean, np.mean(slips[-2:]), atol=1e-9)
        np.testing.assert_allclose(meter.longest_mean, np.mean(slips[-4:]), atol=1e-9)
    (channel,) = meter.channels()
    np.testing.assert_array_equal(channel.read(), meter.mean(1.0))
    meter.reset([0])
    assert not channel.read().any()
    assert not meter.longest_mean.any()
