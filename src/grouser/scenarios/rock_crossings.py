"""Where the wheels of a straight drive pass over rocks, from the rock field alone: what a drive is expected to show."""

from __future__ import annotations

from typing import Any

import numpy as np

from grouser.robots import exomars
from grouser.scenarios.rocky_ground import RockyDrive
from grouser.terrain.rocks import RockField

SPACING = 1e-3  # [m] between the places that are looked at
LAG = 0.15  # share of the commanded distance that a rover may be behind, for the "about" in "about 7m/15min"


def over_rocks(s: RockyDrive, field: RockField) -> tuple[np.ndarray, np.ndarray]:
    """Distances [m] along the drive, (place,), and whether each wheel is over a fixed rock there, (wheel, place).

    Wheels go straight ahead, and their middles count. A rock counts where it stands above the ground.
    """
    driven = np.arange(0.0, s.speed * s.time, SPACING)
    starts = exomars.wheel_positions(s.parameters)
    over = np.zeros((len(starts), len(driven)), bool)
    for rock in field.fixed:
        for wheel, (x, y) in enumerate(starts.tolist()):
            if abs(rock.position[1] - y) < rock.reach:
                near = np.abs(x + driven - rock.position[0]) < rock.reach
                over[wheel, near] |= rock.top(x + driven[near], np.full(near.sum(), y)) >= 0
    return driven, over


def last_crossing(s: RockyDrive, field: RockField) -> float | None:
    """Distance [m] at which all rocks have been passed that the wheels leave behind within 1 - LAG of the drive.

    None if there is no such rock.
    """
    driven, over = over_rocks(s, field)
    left = (over[:, :-1] & ~over[:, 1:]).any(axis=0)
    passed = driven[1:][left & (driven[1:] <= (1 - LAG) * s.speed * s.time)]
    return float(passed[-1]) if len(passed) else None


def crossing(s: RockyDrive, field: RockField, source: str) -> tuple[Any, Any, Any]:
    """Expectation of `distance_m`: expected value, tolerance and source. None where no rock is crossed."""
    least = last_crossing(s, field)
    if least is None:
        return None, None, None
    return None, {"min": least}, f"{source}; geometry: these rocks have been passed"
