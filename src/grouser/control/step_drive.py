"""Controller that drives a wheel-stepping robot straight ahead: motor voltages, brakes and locks of its carriers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mujoco
import numpy as np

from grouser.control.wheels import Worlds, actuator_id, body_id
from grouser.errors import InputError
from grouser.module import Channel

HOLDS = ("none", "brake", "lock")


class StepDrive:
    """Applies one voltage to all motors from `start` [s] until the hull reaches x = `goal` [m], then shorts them.

    `hold` "brake" closes the brakes of the carriers, which then cannot step; "lock" locks them to the suns, so that
    they only step (Stadukhin 2016 gives such drives both). `pull` [N] pulls the hull back at the height of its hubs; it
    rises from 0 over `rise_time` [s] after the start.
    """

    def __init__(
        self,
        drives: Sequence[str],
        voltage: float,
        *,
        start: float = 0.0,
        goal: float = np.inf,
        hold: str = "none",
        pull: float = 0.0,
        rise_time: float = 0.5,
        prefix: str = "",
        period: float = 0.01,
        worlds: int = 1,
    ):
        """`drives`: names that follow "motor_", "brake_", "lock_". `prefix`: prefix of all names of this robot."""
        if hold not in HOLDS:
            raise InputError(f"StepDrive: hold = {hold!r}: allowed are {', '.join(HOLDS)}")
        if not period > 0:
            raise InputError(f"StepDrive: period = {period}: allowed is a number above 0")
        self.drives, self.voltage, self.start, self.goal = tuple(drives), voltage, start, goal
        self.hold, self.pull, self.rise_time, self.prefix, self.period = hold, pull, rise_time, prefix, period
        self.arrived = np.zeros(worlds, bool)
        self._worlds = Worlds(self, worlds, self._wire)

    def _wire(self, model: mujoco.MjModel) -> None:
        self._hull = body_id(model, f"{self.prefix}hull")
        self._motors = np.array([actuator_id(model, f"{self.prefix}motor_{name}") for name in self.drives])
        kind = self.hold if self.hold != "none" else "brake"
        self._holds = np.array([model.equality(f"{self.prefix}{kind}_{name}").id for name in self.drives])
        self._along = int(model.jnt_dofadr[model.body_jntadr[self._hull]])  # x of the free joint

    def act(self, time: float, sensors: Any, command: Any) -> None:
        world = self._worlds.index(sensors)
        self.arrived[world] |= sensors.xpos[self._hull, 0] >= self.goal
        going = time >= self.start and not self.arrived[world]
        command[self._motors] = self.voltage if going else 0.0
        sensors.eq_active[self._holds] = self.hold != "none"
        if self.pull:
            share = np.clip((time - self.start) / self.rise_time, 0.0, 1.0)
            sensors.qfrc_applied[self._along] = -self.pull * share * going

    def state(self) -> dict[str, Any]:
        return {"arrived": self.arrived}

    def reset(self, worlds: Sequence[int]) -> None:
        self.arrived[self._worlds.check(worlds)] = False

    def channels(self) -> list[Channel]:
        return []
