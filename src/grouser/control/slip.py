"""Slip of each wheel over a period: rolled distance compared with distance travelled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from grouser.control.wheels import OnWheels, Wheels, Worlds
from grouser.module import Channel

PERIOD = 0.5  # [s] over which slip is measured (assumed: a rover moves a few centimetres, several grousers)
LEAST_DISTANCE = 1e-3  # [m] distance per period, rolled and travelled, below which a wheel counts as standing


class WheelSlip(OnWheels):
    """Slip over the last period: 1 - travelled/rolled when driving, rolled/travelled - 1 when braking.

    The travelled distance is that of the wheel's centre along its heading (mean of the headings at both ends). The
    rolled distance is radius times rotation of the encoder. Sideways slip is not included.
    """

    def __init__(self, wheels: Wheels, *, worlds: int = 1, period: float = PERIOD):
        self.wheels, self.period = wheels, period
        count = len(wheels.drive)
        self.slip = np.zeros((worlds, count))  # [1]
        self.started = np.zeros(worlds, bool)
        self.rolled = np.zeros((worlds, count))  # [rad] encoders at the last act
        self.centres = np.zeros((worlds, count, 3))  # [m] at the last act
        self.ahead = np.zeros((worlds, count, 3))  # unit vectors at the last act
        self._worlds = Worlds(self, worlds, self._wire)

    def act(self, time: float, sensors: Any, command: Any) -> None:
        world, wires = self._worlds.index(sensors), self._wiring
        rolled = sensors.qpos[wires.roll] * wires.drive_sign
        centres, up = sensors.xpos[wires.bodies], sensors.xmat[wires.chassis].reshape(3, 3)[:, 2]
        ahead = np.cross(sensors.xaxis[wires.axles] * wires.drive_sign[:, None], up)
        if self.started[world]:
            heading = (ahead + self.ahead[world]) / 2
            displacement = np.einsum("ij,ij->i", centres - self.centres[world], heading)
            rim = (rolled - self.rolled[world]) * self.wheels.radius
            larger = np.where(np.abs(rim) >= np.abs(displacement), rim, displacement)
            moves = np.abs(larger) > LEAST_DISTANCE
            self.slip[world] = np.where(moves, (rim - displacement) / np.where(moves, larger, 1.0), 0.0)
        self.started[world] = True
        self.rolled[world], self.centres[world], self.ahead[world] = rolled, centres, ahead

    def state(self) -> dict[str, Any]:
        return {
            "slip": self.slip, "started": self.started, "rolled": self.rolled, "centres": self.centres,
            "ahead": self.ahead,
        }  # fmt: skip

    def reset(self, worlds: Sequence[int]) -> None:
        self._worlds.clear(worlds)

    def channels(self) -> list[Channel]:
        names = self.wheels.names
        return [Channel("wheel/slip", "1", (len(names),), "", labels=names, source=self.slip)]
