"""Drive of a machine that is steered by two motors, such as the sprockets of its tracks, for a driver."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import mujoco
import numpy as np

from grouser.control.driver import sides
from grouser.control.wheels import Worlds, actuator_id, body_id
from grouser.errors import InputError
from grouser.module import Channel

BLADE = "blade"  # the switch of a driver, and its positions
UP, DOWN = "up", "down"


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


class BladeDrive(SideDrive):
    """A `SideDrive` whose driver also raises and lowers a blade; a grade control keeps it at its height."""

    switches: Mapping[str, tuple[str, ...]] = {BLADE: (UP, DOWN)}

    def __init__(
        self, actuators: tuple[str, str], rate: float, *, blade: str, lift: str, heights: tuple[float, float],
        lift_speed: float, lift_time: float, **more: Any,
    ):  # fmt: skip
        """`blade`: body; `lift`: velocity servo of its lift; `heights` [m] of the body in the world, up and down.

        An error of height is corrected in `lift_time` [s], at most at `lift_speed` [m/s]. `more`: as for `SideDrive`.
        """
        super().__init__(actuators, rate, **more)
        if not (lift_speed > 0 and lift_time > 0 and heights[0] > heights[1]):
            raise InputError(
                f"BladeDrive: heights = {heights}, lift_speed = {lift_speed}, lift_time = {lift_time}: allowed are "
                "heights that fall, and numbers above 0"
            )
        self.blade, self.lift, self.heights = blade, lift, heights
        self.lift_speed, self.lift_time = lift_speed, lift_time
        self.lowered = np.zeros(1)  # 1: down

    def _wire(self, model: mujoco.MjModel) -> None:
        super()._wire(model)
        self._lift, self._blade = actuator_id(model, self.lift), body_id(model, self.blade)

    def switch(self, name: str, position: str) -> None:
        self.lowered[0] = position == DOWN

    def act(self, time: float, sensors: Any, command: Any) -> None:
        super().act(time, sensors, command)
        error = self.heights[int(self.lowered[0])] - float(sensors.xpos[self._blade, 2])
        command[self._lift] = min(max(error / self.lift_time, -self.lift_speed), self.lift_speed)

    def state(self) -> dict[str, Any]:
        return {**super().state(), "lowered": self.lowered}

    def reset(self, worlds: Sequence[int]) -> None:
        super().reset(worlds)
        self.lowered[:] = 0.0
