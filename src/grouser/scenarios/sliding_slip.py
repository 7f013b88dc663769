"""Slip averaged over a sliding time window, which removes the noise of single grid cells."""

from __future__ import annotations

from typing import Any

import numpy as np

from grouser.control import Wheels, WheelSlip
from grouser.module import Channel


class SlidingSlip(WheelSlip):
    """Mean slip over the last periods, at most `longest` [s]. The channel is the mean over the last `window` [s]."""

    def __init__(self, wheels: Wheels, *, window: float, longest: float, period: float, worlds: int = 1):
        super().__init__(wheels, worlds=worlds, period=period)
        self.window, self.longest = window, longest
        count = max(1, round(longest / period))
        self.past = np.full((worlds, count, len(wheels.drive)), np.nan)  # newest first
        self.recent = np.zeros((worlds, len(wheels.drive)))  # mean over the last `window`
        self.recent_mean, self.longest_mean = np.zeros((2, worlds))  # means over all wheels

    def act(self, time: float, sensors: Any, command: Any) -> None:
        world = self._worlds.index(sensors)
        known = self.started[world]
        super().act(time, sensors, command)
        if known:
            self.past[world, 1:] = self.past[world, :-1].copy()
            self.past[world, 0] = self.slip[world]
            self.recent[world] = self.mean(self.window)[world]
            self.recent_mean[world] = self.recent[world].mean()
            self.longest_mean[world] = self.mean(self.longest)[world].mean()

    def mean(self, window: float) -> np.ndarray:
        """Mean slip, (world, wheel), over the last `window` [s], or less at the start. Zero before the first period."""
        past = self.past[:, : max(1, round(window / self.period))]
        known = ~np.isnan(past)
        return np.where(known, past, 0.0).sum(axis=1) / np.maximum(known.sum(axis=1), 1)

    def state(self) -> dict[str, Any]:
        means = {"recent": self.recent, "recent_mean": self.recent_mean, "longest_mean": self.longest_mean}
        return {**super().state(), "past": self.past, **means}

    def reset(self, worlds) -> None:
        super().reset(worlds)
        self.past[list(worlds)] = np.nan

    def channels(self) -> list[Channel]:
        names = self.wheels.names
        return [Channel("wheel/slip", "1", (len(names),), "", labels=names, source=self.recent)]
