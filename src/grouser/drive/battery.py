"""A battery shared by all motors. It limits their currents if they need more than it can deliver."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np
import warp as wp

from grouser.device import fields, numpy_dtype
from grouser.drive.battery_kernels import MotorData, Pack, share
from grouser.drive.motor import Motor
from grouser.errors import InputError
from grouser.launches import Launches
from grouser.module import Channel
from grouser.terrain import checks

ROUND_OFF = 1e-12  # [current limit]


@dataclass(frozen=True)
class Battery:
    """Parameters of a battery: open-circuit voltage, limits and charge."""

    voltage: float = 36.0  # [V] (Morrot et al.)
    current_limit: float = 80.0  # [A] for all motors together (Morrot et al.)
    resistance: float = 0.05  # [ohm] internal; assumed
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
                f"battery of {self.voltage:g} V and {self.resistance:g} ohm gives its maximum power"
            )

    @property
    def power_limit(self) -> float:
        """Power [W] at its terminals at the current limit."""
        return (self.voltage - self.resistance * self.current_limit) * self.current_limit


class BatteryPack:
    """Applies the limits of a battery to the motors. Put it last among the controllers.

    It reads the torques that the controllers want, limits each motor to its voltage and current, and sums the electric
    power P = sum (K w i + R i^2). If the battery cannot deliver it, all currents are scaled by one factor. An empty
    battery delivers nothing. With `recovers`, braking motors charge it; otherwise their power is lost in the drivers.
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
        """`motors`: one for each of `actuators`. `period` [s]: preferably the step of the simulation."""
        self.battery, self.motors, self.actuators, self.period = battery, tuple(motors), tuple(actuators), period
        if len(self.motors) != len(self.actuators):
            raise InputError(f"battery: {len(self.motors)} motors for {len(self.actuators)} actuators")
        count = len(self.motors)
        self.recovers, self.prefix, self.worlds = recovers, prefix, worlds
        self.current = np.zeros((worlds, count))  # [A] of the motors
        self.total = np.zeros(worlds)  # [A] of the battery
        self.power = np.zeros((worlds, count))  # [W] electric, of the motors
        self.sum = np.zeros(worlds)  # [W] electric, of all motors together
        self.energy = np.zeros(worlds)  # [J] taken from the terminals
        self.charge = np.full(worlds, battery.charge)  # [C] left
        self.scale = np.ones(worlds)
        self._acts: dict[int, tuple[Any, Any, Callable[[], None]]] = {}  # by id of MjData: it, its command, launch

    def act(self, time: float, sensors: Any, command: Any) -> None:
        _, given, run = self._acts.get(id(sensors), (None, None, None))
        if given is not command or run is None:
            world = list(self._acts).index(id(sensors)) if id(sensors) in self._acts else len(self._acts)
            if world >= self.worlds:
                raise InputError(f"battery: made for {self.worlds} world(s), the simulation has more; give worlds=")
            run = Launches(lambda launch: self._record(launch, world, sensors, command)).run
            self._acts[id(sensors)] = sensors, command, run
        run()

    def _record(self, launch: Callable[..., Any], world: int, data: mujoco.MjData, command: np.ndarray) -> None:
        pack: Any = Pack()
        b = self.battery
        pack.motors = wp.array(self._motor_table(data.model), dtype=MotorData, device="cpu")
        pack.voltage, pack.resistance, pack.power_limit = b.voltage, b.resistance, b.power_limit * (1 - ROUND_OFF)
        pack.recovers, pack.period = self.recovers, self.period
        for name, values in self.state().items():
            setattr(pack, name, _view(values))
        launch(share, 1, [pack, world, _view(data.qvel), _view(command)])

    def _motor_table(self, model: mujoco.MjModel) -> np.ndarray:
        table: Any = np.zeros(len(self.motors), dtype=numpy_dtype(MotorData))
        for k, (motor, name) in enumerate(zip(self.motors, self.actuators, strict=True)):
            found = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_ACTUATOR, name)
            if found < 0:
                raise InputError(f"battery: actuator {name!r} is not in the model")
            table["actuator"][k], table["dof"][k] = found, model.jnt_dofadr[model.actuator_trnid[found, 0]]
            table["gear"][k], table["constant"][k] = model.actuator_gear[found, 0], motor.torque_constant
            table["resistance"][k], table["current_limit"][k] = motor.resistance, motor.current_limit
        return table

    def state(self) -> dict[str, Any]:
        """All arrays of `Pack` that a step writes."""
        arrays = (name for name, kind in fields(Pack).items() if hasattr(kind, "ndim") and name != "motors")
        return {name: getattr(self, name) for name in arrays}

    def reset(self, worlds: Sequence[int]) -> None:
        chosen = list(worlds)
        for array in self.state().values():
            array[chosen] = 0
        self.charge[chosen], self.scale[chosen] = self.battery.charge, 1.0

    def channels(self) -> list[Channel]:
        count, names = len(self.actuators), self.actuators
        return [
            Channel(f"{self.prefix}motor/current", "A", (count,), "", labels=names, source=self.current),
            Channel(f"{self.prefix}motor/power", "W", (count,), "", labels=names, source=self.power),
            Channel(f"{self.prefix}battery/current", "A", (), "", source=self.total),
            Channel(f"{self.prefix}battery/power", "W", (), "", source=self.sum),
            Channel(f"{self.prefix}battery/energy", "J", (), "", source=self.energy),
            Channel(f"{self.prefix}battery/charge", "C", (), "", source=self.charge),
            Channel(f"{self.prefix}battery/scale", "1", (), "", source=self.scale),
        ]


def _view(values: np.ndarray) -> wp.array:
    """Warp array on the same memory."""
    return wp.array(values, dtype=wp.float64, copy=False, device="cpu")
