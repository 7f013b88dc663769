"""Where wheels pass over rocks, and what follows for a drive: against slabs whose ends are known."""

from __future__ import annotations

import numpy as np
import pytest

from grouser.robots import exomars
from grouser.scenarios import rock_crossings as crossings
from grouser.scenarios.rocky_ground import PAPER_SPEED, RockyDrive
from grouser.simulation.shapes import box
from grouser.terrain.rocks import Rock, RockField

DRIVE = RockyDrive(time=100.0, speed=0.01)  # 1 m
HALF = np.array([0.05, 0.06, 0.05])  # [m] half sides of a slab
FRONT_LEFT = exomars.wheel_positions(DRIVE.parameters)[0]
END = 2 * crossings.SPACING  # [m] places are that far apart at most


def slab(ahead: float, aside: float = 0.0, top: float = 0.02) -> Rock:
    """A slab whose middle is `ahead` and `aside` [m] of the first wheel."""
    x, y = FRONT_LEFT + np.array([ahead, aside])
    return Rock("slab", 0.1, np.array([x, y, top - HALF[2]]), 0.0, 0.5, False, *box(HALF))


def field_of(*rocks: Rock) -> RockField:
    return RockField(rocks, (4.0, 4.0), (-2.0, -2.0))


def test_a_wheel_is_over_a_slab_for_its_length():
    driven, over = crossings.over_rocks(DRIVE, field_of(slab(0.4)))
    there = driven[over[0]]
    assert (there[0], there[-1]) == pytest.approx((0.35, 0.45), abs=END)
    assert len(there) * crossings.SPACING == pytest.approx(0.1, abs=END)


def test_rocks_beside_the_wheel_or_below_the_ground_do_not_count():
    for rock in (slab(0.4, aside=0.07), slab(0.4, top=-0.01)):
        assert not crossings.over_rocks(DRIVE, field_of(rock))[1][0].any()


@pytest.mark.parametrize(
    ("places", "passed"), [((0.4,), 0.45), ((0.4, 0.7), 0.75), ((0.4, 0.9), 0.45), ((0.83,), None), ((1.2,), None)]
)
def test_the_rover_must_pass_the_rocks_it_has_time_for(places, passed):
    """It may lag by 15 %: rocks that end beyond 0.85 m of 1 m are not held against it."""
    rocks = field_of(*(slab(x) for x in places))
    assert not crossings.over_rocks(DRIVE, rocks)[1][1:].any(), "only the first wheel comes to the slabs"
    found = crossings.last_crossing(DRIVE, rocks)
    assert found == (None if passed is None else pytest.approx(passed, abs=END))


def test_the_bound_does_not_follow_the_command():
    """A drive of the same length at another speed has the same rocks to pass."""
    slow = RockyDrive(time=0.7 / PAPER_SPEED)
    fast = RockyDrive(time=0.7 / 0.05, speed=0.05)
    rocks = field_of(slab(0.4))
    assert crossings.last_crossing(slow, rocks) == crossings.last_crossing(fast, rocks)
