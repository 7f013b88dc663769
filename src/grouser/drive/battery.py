"""A battery that all motors share: it holds back what they ask for when that is more than it can deliver."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np

from grouser.drive.motor import Motor
from grouser.errors import InputError
from grouser.module import Channel
from grouser.terrain import checks

ROUND_OFF = 1e-12  # of the current limit


@dataclass(frozen=True)
class Battery:
    """Open-circuit voltage, what it can deliver at most, and what is in it."""

    voltage: float = 36.0  # [V] (001)
    current_limit: float = 80.0  # [A] for all motors together (001)
    resistance: float = 0.05  # [ohm] inside; assumed
    charge: float = 10.0 * 3600  # [C], 10 A h; assumed

    def __post_init__(self):
        checks.number(self.voltage, "battery: voltage", above=0.0)
        checks.number(self.current_limit, "battery: current_limit", above=0.0)
        checks.number(self.resistance, "battery: resistance", at_least=0.0)
        checks.number(self.charge, "battery: charge", above=0.0)
        most = self.voltage / (2 * self.resistance) if self.resistance > 0 else math.inf
        if self.current_limit > most:
            raise InputError(
                f"battery: current_limit = {self.current_limit:g} A: allowed is at most {most:.4g} A, where a "
                f"battery of {self.voltage:g} V and {self.resistance:g} ohm gives the most power"
            )

    @property
    def power_limit(self) -> float:
        """[W] at its terminals at the current limit."""
        return (self.voltage - self.resistance * self.current_limit) * self.current_limit

    def current(self, power: float) -> float:
        """[A] at which the terminals give `power` [W]: P = (U - R I) I, the smaller root; negative when charging."""
        if self.resistance == 0:
            return power / self.voltage
        root = self.voltage**2 - 4 * self.resistance * power
        return (self.voltage - math.sqrt(max(root, 0.0))) / (2 * self.resistance)


class BatteryPack:
    """A stage between controllers and step: put it last among the controllers.

    Reads the torques the controllers asked for, limits every motor to its voltage and current, adds up the electric
    power P = sum (K w i + R i^2) and scales all currents by one factor where the battery cannot deliver it. An empty
    battery delivers nothing. Braking motors charge it where `recovers`, else their power is lost in the drivers.
    """

    def __init__(
        self,
        battery: Battery,
        motors: Sequence[Motor],
        actuators: Sequence[str],
        *,
        period: float,
        worlds: int = 1,
        recovers: bool = False,
        prefix: str = "",
    ):
        """`motors` one for each of `actuators`; `period` [s], best that of the step."""
        self.battery, self.motors, self.actuators, self.period = battery, tuple(motors), tuple(actuators), period
        if len(self.motors) != len(self.actuators):
            raise InputError(f"battery: {len(self.motors)} motors for {len(self.actuators)} actuators")
        count = len(self.motors)
        self.recovers, self.prefix = recovers, prefix
        self.current = np.zeros((worlds, count))  # [A] of the motors
        self.total = np.zeros(worlds)  # [A] of the battery
        self.power = np.zeros((worlds, count))  # [W] electric, of the motors
        self.energy = np.zeros(worlds)  # [J] taken from the terminals
        self.charge = np.full(worlds, battery.charge)  # [C] left
        self.scale = np.ones(worlds)
        self._ids: list[tuple[int, int, float, float, float, float]] | None = None
        self._worlds: dict[int, int] = {}

    def _wire(self, model: mujoco.MjModel) -> None:
        self._ids = []
        for motor, name in zip(self.motors, self.actuators, strict=True):
            found = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_ACTUATOR, name)
            if found < 0:
                raise InputError(f"battery: actuator {name!r} is not in the model")
            dof = int(model.jnt_dofadr[model.actuator_trnid[found, 0]])
            gear = float(model.actuator_gear[found, 0])
            self._ids.append((found, dof, gear, motor.torque_constant, motor.resistance, motor.current_limit))

    def act(self, time: float, sensors: Any, command: Any) -> None:
        if self._ids is None:
            self._wire(sensors.model)
        world = self._worlds.setdefault(id(sensors), len(self._worlds))
        speeds, voltage = sensors.qvel, self.battery.voltage - self.battery.resistance * float(self.total[world])
        asked = []
        for actuator, dof, gear, K, R, most in self._ids:  # type: ignore[union-attr]
            w = gear * float(speeds[dof])
            i = float(command[actuator]) / K
            i = min(max(i, -most, (-voltage - K * w) / R), most, (voltage - K * w) / R)
            asked.append((actuator, K, i, K * w * i, R * i * i))
        scale = self._share(world, [(linear, square) for _, _, _, linear, square in asked])
        total = 0.0
        for k, (actuator, K, i, linear, square) in enumerate(asked):
            held = scale if linear + square > 0 else 1.0
            command[actuator] = held * i * K
            power = held * linear + held * held * square
            self.current[world, k], self.power[world, k] = held * i, power
            total += power if power > 0 or self.recovers else 0.0
        current = self.battery.current(total)
        self.scale[world], self.total[world] = scale, current
        self.energy[world] += total * self.period
        self.charge[world] = max(self.charge[world] - current * self.period, 0.0)

    def _share(self, world: int, powers: list[tuple[float, float]]) -> float:
        """Factor s on the currents of motors that draw, so that sum(s linear + s^2 square) is within the limit.

        A motor held back may come to give instead of to draw: it then does not count, and the others get less.
        """
        if self.charge[world] <= 0:
            return 0.0
        limit, scale = self.battery.power_limit * (1 - ROUND_OFF), 1.0
        for _ in range(len(powers)):
            drawing = [(a, b) for a, b in powers if a + b > 0 and a + scale * b > 0]
            linear, square = sum(a for a, _ in drawing), sum(b for _, b in drawing)
            if scale * linear + scale * scale * square <= limit:
                return scale
            root = math.sqrt(linear * linear + 4 * square * limit)
            scale = limit / linear if square <= 0 else 2 * limit / (linear + root)
        return scale

    def state(self) -> dict[str, Any]:
        return {
            "current": self.current, "total": self.total, "power": self.power, "energy": self.energy,
            "charge": self.charge, "scale": self.scale,
        }  # fmt: skip

    def reset(self, worlds: Sequence[int]) -> None:
        chosen = list(worlds)
        for array in self.state().values():
            array[chosen] = 0
        self.charge[chosen], self.scale[chosen] = self.battery.charge, 1.0

    def channels(self) -> list[Channel]:
        count, names = len(self.actuators), self.actuators
        return [
            Channel(f"{self.prefix}motor/current", "A", (count,), "", labels=names, read=self.current.copy),
            Channel(f"{self.prefix}motor/power", "W", (count,), "", labels=names, read=self.power.copy),
            Channel(f"{self.prefix}battery/current", "A", (), "", read=self.total.copy),
            Channel(f"{self.prefix}battery/power", "W", (), "", read=lambda: self.power.sum(axis=1)),
            Channel(f"{self.prefix}battery/energy", "J", (), "", read=self.energy.copy),
            Channel(f"{self.prefix}battery/charge", "C", (), "", read=self.charge.copy),
            Channel(f"{self.prefix}battery/scale", "1", (), "", read=self.scale.copy),
        ]
