"""Drive of a machine that is steered by two motors, such as the sprockets of its tracks, for a driver."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import mujoco
import numpy as np

from grouser.control.driver import sides
from grouser.control.wheels import Worlds, actuator_id
from grouser.errors import InputError
from grouser.module import Channel


class SideDrive:
    """Drives the velocity servos of the left and the right side at a share of `rate` [rad/s] each.

    Full input in one direction turns one side against the other; with forward it stops the inner side.
    """

    switches: Mapping[str, tuple[str, ...]] = {}

    def __init__(self, actuators: tuple[str, str], rate: float, *, ramp: float = 0.5, period: float = 0.01):
        """`ramp` [s] from standstill to full rate."""
        if not (rate > 0 and ramp > 0 and period > 0):
            raise InputError(f"SideDrive: rate = {rate}, ramp = {ramp}, period = {period}: allowed are numbers above 0")
        self.actuators, self.rate, self.ramp, self.period = actuators, rate, ramp, period
        self.wanted = np.zeros(2)  # shares that the driver asks for, left and right
        self.shares = np.zeros((1, 2))  # commanded
        self._worlds = Worlds(self, 1, self._wire)

    def _wire(self, model: mujoco.MjModel) -> None:
        self._motors = np.array([actuator_id(model, name) for name in self.actuators])

    def drive(self, forward: float, turn: float) -> None:
        self.wanted[:] = sides(forward, turn)

    def switch(self, name: str, position: str) -> None:
        pass

    def act(self, time: float, sensors: Any, command: Any) -> None:
        self._worlds.index(sensors)
        most = self.period / self.ramp
        self.shares[0] += np.clip(self.wanted - self.shares[0], -most, most)
        command[self._motors] = self.rate * self.shares[0]

    def state(self) -> dict[str, Any]:
        return {"shares": self.shares}

    def reset(self, worlds: Sequence[int]) -> None:
        self.shares[self._worlds.check(worlds)] = 0.0
        self.wanted[:] = 0.0

    def channels(self) -> list[Channel]:
        return [Channel("drive/side_share", "1", (2,), "", labels=("left", "right"), read=self.shares.copy)]
