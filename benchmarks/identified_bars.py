"""Bars of soils identified from measured wheels: medians of errors, and how many points the bands hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.stats import binom

LARGEST_ERROR = 0.15  # bar of the median of a quantity over all sets
RARE = 0.05  # so many bands that are right would be judged wrong


def missed_bars(rows: Sequence[dict[str, Any]]) -> list[str]:
    """What is missed by `errors` and points `inside` 90 % bands of rows, one for each quantity of a set."""
    missed = []
    for quantity in dict.fromkeys(row["quantity"] for row in rows):
        median = float(np.median([x for row in rows if row["quantity"] == quantity for x in row["errors"]]))
        if median >= LARGEST_ERROR:
            missed.append(f"{quantity}: median error {100 * median:.0f} %, bar {100 * LARGEST_ERROR:.0f} %")
    held = [x for row in rows for x in row["inside"]]
    low, high = binom.ppf([RARE / 2, 1 - RARE / 2], len(held), 0.9)
    if not low <= sum(held) <= high:
        missed.append(f"90 % bands hold {sum(held)} of {len(held)} points: by chance {low:.0f} to {high:.0f}")
    return missed
