"""Waiting for events in tests: as soon as they are there, and with a limit that only a hang reaches."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

PATIENCE = 600.0  # [s] a busy machine takes a hundredth of it, and one that hangs shall say where
LOOK_PERIOD = 0.02  # [s] between two looks


def eventually(check: Callable[[], Any], what: str, period: float = LOOK_PERIOD) -> Any:
    """What `check` returns once it is neither None nor False, NumPy's included."""
    end = time.monotonic() + PATIENCE
    while True:
        found = check()
        if found is not None and not (isinstance(found, (bool, np.bool_)) and not found):
            return found
        if time.monotonic() > end:
            pytest.fail(f"not within {PATIENCE:g} s: {what}")
        time.sleep(period)
