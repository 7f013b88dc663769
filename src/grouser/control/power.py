"""Mechanical energy and power of the motors, and energy per metre travelled."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import mujoco
import numpy as np

from grouser.control.drive import PERIOD
from grouser.control.wheels import Worlds, actuator_id, body_id
from grouser.module import Channel

LEAST_DISTANCE = 0.01  # [m] distance below which energy per metre is NaN


class PowerMeter:
    """Measures the mechanical work of actuators on their joints.

    Losses are left out, also those of gearboxes, and a braking motor recovers nothing (assumed). The work of a period
    is the mean of the forces at its two ends times the displacement, exact for a constant torque. Forces are those at
    the end of the last step with the command of that step, as the implicit step applied them.
    """

    def __init__(self, actuators: Sequence[str], chassis: str = "chassis", *, worlds: int = 1, period: float = PERIOD):
        self.actuators, self.chassis, self.period = tuple(actuators), chassis, period
        count = len(self.actuators)
        self.energy = np.zeros((worlds, count))  # [J]
        self.power = np.zeros((worlds, count))  # [W] mean over the last period
        self.distance = np.zeros(worlds)  # [m] path length of the chassis
        self.elapsed = np.zeros(worlds)  # [s]
        self.started = np.zeros(worlds, bool)
        self.force = np.zeros((worlds, count))  # [N m] at the last act
        self.length = np.zeros((worlds, count))  # [rad] at the last act
        self.place = np.zeros((worlds, 3))  # [m] of the chassis at the last act
        self.time = np.zeros(worlds)  # [s] of the last act
        # Totals of all actuators, computed once per act because channels may be read more often.
        self.total_power = np.zeros(worlds)  # [W] mean over the last period
        self.total_mean_power = np.zeros(worlds)  # [W] since the start
        self.total_energy = np.zeros(worlds)  # [J]
        self.total_per_metre = np.full(worlds, np.nan)  # [J/m] NaN below LEAST_DISTANCE
        self._worlds = Worlds(self, worlds, self._wire)

    def _wire(self, model: mujoco.MjModel) -> None:
        self._model, self._body = model, body_id(model, self.chassis)
        self._ids = np.array([actuator_id(model, name) for name in self.actuators], np.intp)

    def act(self, time: float, sensors: Any, command: Any) -> None:
        world = self._worlds.index(sensors)
        mujoco.mj_fwdActuation(self._model, sensors)  # actuator_force is one step old, and missing after a restore
        force, length = sensors.actuator_force[self._ids], sensors.actuator_length[self._ids]
        place = sensors.xpos[self._body]
        if self.started[world]:
            work = (force + self.force[world]) * (length - self.length[world])
            work *= 0.5
            np.maximum(work, 0.0, out=work)
            passed = time - self.time[world]
            self.energy[world] += work
            np.divide(work, passed, out=self.power[world])
            self.elapsed[world] += passed
            displacement = place - self.place[world]
            self.distance[world] += math.sqrt(displacement.dot(displacement))
        self.started[world] = True
        self.force[world], self.length[world], self.place[world] = force, length, place
        self.time[world] = time
        self._sum_up(world)

    def _sum_up(self, world: int) -> None:
        energy, distance = float(self.energy[world].sum()), float(self.distance[world])
        self.total_power[world] = self.power[world].sum()
        self.total_mean_power[world] = energy / max(float(self.elapsed[world]), self.period)
        self.total_energy[world] = energy
        self.total_per_metre[world] = energy / distance if distance >= LEAST_DISTANCE else np.nan

    def state(self) -> dict[str, Any]:
        return {
            "energy": self.energy, "power": self.power, "distance": self.distance, "elapsed": self.elapsed,
            "started": self.started, "force": self.force, "length": self.length, "place": self.place,
            "time": self.time, "total_power": self.total_power, "total_mean_power": self.total_mean_power,
            "total_energy": self.total_energy, "total_per_metre": self.total_per_metre,
        }  # fmt: skip

    def reset(self, worlds: Sequence[int]) -> None:
        chosen = self._worlds.clear(worlds)
        self.total_per_metre[chosen] = np.nan

    def energy_per_metre(self) -> np.ndarray:
        """Energy per metre [J/m], (world,); NaN below LEAST_DISTANCE."""
        far = self.distance >= LEAST_DISTANCE
        return np.where(far, self.energy.sum(axis=1) / np.where(far, self.distance, 1.0), np.nan)

    def mean_power(self) -> np.ndarray:
        """Mean power [W], (world,) since the start."""
        return self.energy.sum(axis=1) / np.maximum(self.elapsed, self.period)

    def channels(self) -> list[Channel]:
        count, names = len(self.actuators), self.actuators
        return [
            Channel("power/actuator", "W", (count,), "", labels=names, source=self.power),
            Channel("power/total", "W", (), "", source=self.total_power),
            Channel("power/mean", "W", (), "", source=self.total_mean_power),
            Channel("energy/actuator", "J", (count,), "", labels=names, source=self.energy),
            Channel("energy/total", "J", (), "", source=self.total_energy),
            Channel("energy/per_metre", "J/m", (), "", source=self.total_per_metre),
            Channel("travel/distance", "m", (), "", source=self.distance),
        ]
