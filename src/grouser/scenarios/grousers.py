"""Checks the grousers of a wheel."""

from __future__ import annotations

import math


def check_grousers_fit(radius: float, height: float, count: int, width: float) -> None:
    """Raise ValueError for bars [m] that are as high as the wheel's radius or overlap around its rim."""
    if not (height and count):
        return
    if height >= radius:
        raise ValueError(f"grouser_height {height:g} m: allowed is less than the radius of {radius:g} m")
    rim = 2 * math.pi * radius
    if count * width > rim:
        raise ValueError(f"{count} grousers of {width:g} m do not fit round a rim of {rim:.3g} m")
