"""Controller that drives a wheel-stepping robot: motor voltages, brakes and locks of its carriers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import mujoco
import numpy as np

from grouser.control.driver import sides
from grouser.control.wheels import Worlds, actuator_id, body_id
from grouser.errors import InputError
from grouser.module import Channel

HOLDS = ("none", "brake", "lock")
CARRIERS = "carriers"  # the switch of a driver


class StepDrive:
    """Applies one voltage to all motors from `start` [s] until the hull reaches x = `goal` [m], then shorts them.

    `hold` "brake" closes the brakes of the carriers, which then cannot step; "lock" locks them to the suns, so that
    they only step (Stadukhin 2016 gives such drives both). `pull` [N] pulls the hull back at the height of its hubs; it
    rises from 0 over `rise_time` [s] after the start. A driver gives the motors of each side a share of the voltage,
    and switches the carriers at any time.
    """

    switches: Mapping[str, tuple[str, ...]] = {CARRIERS: HOLDS}

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
        """`drives`: names that follow "motor_", "brake_", "lock_"; those of the left side end with l.

        `prefix`: prefix of all names of this robot.
        """
        if hold not in HOLDS:
            raise InputError(f"StepDrive: hold = {hold!r}: allowed are {', '.join(HOLDS)}")
        if not period > 0:
            raise InputError(f"StepDrive: period = {period}: allowed is a number above 0")
        self.drives, self.voltage, self.start, self.goal = tuple(drives), voltage, start, goal
        self.hold, self.pull, self.rise_time, self.prefix, self.period = hold, pull, rise_time, prefix, period
        self.arrived = np.zeros(worlds, bool)
        self.held = np.full(worlds, HOLDS.index(hold))  # index in HOLDS
        self.shares = np.ones((worlds, 2))  # of the voltage, left and right
        self._worlds = Worlds(self, worlds, self._wire)

    def _wire(self, model: mujoco.MjModel) -> None:
        self._hull = body_id(model, f"{self.prefix}hull")
        self._motors = np.array([actuator_id(model, f"{self.prefix}motor_{name}") for name in self.drives])
        self._side = np.array([0 if name.endswith("l") else 1 for name in self.drives])  # of each motor
        self._holds = {
            kind: np.array([model.equality(f"{self.prefix}{kind}_{name}").id for name in self.drives])
            for kind in HOLDS[1:]
        }
        self._along = int(model.jnt_dofadr[model.body_jntadr[self._hull]])  # x of the free joint

    def act(self, time: float, sensors: Any, command: Any) -> None:
        world = self._worlds.index(sensors)
        self.arrived[world] |= sensors.xpos[self._hull, 0] >= self.goal
        going = time >= self.start and not self.arrived[world]
        command[self._motors] = self.voltage * self.shares[world, self._side] if going else 0.0
        for kind, constraints in self._holds.items():
            sensors.eq_active[constraints] = HOLDS[self.held[world]] == kind
        if self.pull:
            share = np.clip((time - self.start) / self.rise_time, 0.0, 1.0)
            sensors.qfrc_applied[self._along] = -self.pull * share * going

    def drive(self, forward: float, turn: float) -> None:
        self.shares[:] = sides(forward, turn)

    def switch(self, name: str, position: str) -> None:
        self.held[:] = HOLDS.index(position)

    def state(self) -> dict[str, Any]:
        return {"arrived": self.arrived, "held": self.held, "shares": self.shares}

    def reset(self, worlds: Sequence[int]) -> None:
        chosen = self._worlds.check(worlds)
        self.arrived[chosen], self.held[chosen], self.shares[chosen] = False, HOLDS.index(self.hold), 1.0

    def channels(self) -> list[Channel]:
        return []
