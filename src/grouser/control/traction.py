"""Speed controllers of a wheeled vehicle in the pitch plane: proportional with gravity compensation, and CDTA.

Morrot et al., section 3, after Silva et al. 2010. Both compute the acceleration a = k (v_wanted - v) and the force
m (a + g sin(pitch)) along the chassis. They differ in how the force is shared among the wheels.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import mujoco
import numpy as np
import warp as wp

from grouser.control.sensors import VehicleSensors
from grouser.control.traction_kernels import Smoothed, cdta, proportional
from grouser.control.traction_laws import UNBOUNDED, AxleData, AxleState, Scratch, Vehicle
from grouser.control.wheels import actuator_id
from grouser.device import numpy_dtype
from grouser.errors import InputError
from grouser.launches import Launches
from grouser.module import Channel

LEAST_SHARE = 0.1  # fraction of its static load that every axle must keep (assumed)
SMOOTHING = 0.02  # [s] over which accelerometers are smoothed (assumed)


@dataclass(frozen=True)
class Axle:
    """Wheels side by side, which count as one axle in the pitch plane."""

    wheels: tuple[int, ...]
    x: float  # [m] in front of the centre of mass
    lever: float  # [m] from the centre of mass down to the contact
    radius: float  # [m]
    stiffness: float  # [N/m] sum of its suspensions
    torque_limit: float  # [N m] of one wheel's motor; 0: not driven
    inertia: float = 0.0  # [kg m^2] of one wheel and its rotor, at the wheel
    drag: float = 0.0  # [N m] friction of one drive, at the wheel
    heat: float = 0.0  # [W/(N m)^2] lost in one motor's winding


class SpeedController:
    """Holds `speed` [m/s] with the same force from every driven wheel, within the torque limits of the motors."""

    name = "proportional"

    def __init__(
        self,
        sensors: VehicleSensors,
        axles: Sequence[Axle],
        actuators: Sequence[str],
        gears: Sequence[float],
        *,
        mass: float,
        speed: float,
        gain: float = 100.0,
        gravity: float = 9.81,
        period: float = 0.01,
        prefix: str = "",
    ):
        """`actuators` and `gears`: one per wheel; control = torque at the wheel / gear. `gain` [1/s]."""
        if not (period > 0 and math.isfinite(period)):
            raise InputError(f"{self.name}: period = {period}: allowed is a finite number above 0")
        self.sensors, self.axles, self.actuators = sensors, tuple(axles), tuple(actuators)
        self.gears, self.mass, self.gain = tuple(gears), mass, gain
        self.gravity, self.period, self.prefix = gravity, period, prefix
        self._speed = np.array([speed])
        worlds = sensors.worlds.count
        self.torque = np.zeros((worlds, len(self.axles)))  # [N m] of one wheel of each axle
        self.measured_speed = np.zeros(worlds)  # [m/s] speed along the chassis at the last reading
        self._acts: dict[int, tuple[Any, Callable[[], None]]] = {}

    @property
    def speed(self) -> float:
        """Wanted speed [m/s]."""
        return float(self._speed[0])

    @speed.setter
    def speed(self, value: float) -> None:
        self._speed[0] = value

    def act(self, time: float, sensors: Any, command: Any) -> None:
        world = self.sensors.worlds.index(sensors)
        given, run = self._acts.get(world, (None, None))
        if given is not command or run is None:
            run = Launches(lambda launch: self._record(launch, sensors, command)).run
            self._acts[world] = command, run
        self.sensors.set_time(time)
        run()

    def _record(self, launch: Callable[..., Any], data: mujoco.MjData, command: np.ndarray) -> None:
        self.sensors.record(launch, data)
        self._record_law(launch, self._vehicle(data.model), self.sensors.worlds.index(data), _view(command))

    def _record_law(self, launch: Callable[..., Any], vehicle: Any, world: int, command: wp.array) -> None:
        out = [_view(self.torque[world]), _view(self.measured_speed), command]
        launch(proportional, 1, [vehicle, self.sensors.sensed, world, *out])

    def _vehicle(self, model: mujoco.MjModel) -> Any:
        v: Any = Vehicle()
        wheels = [k for axle in self.axles for k in axle.wheels]
        v.axles = wp.array(self._axle_table(), dtype=AxleData, device="cpu")
        v.wheels = wp.array(wheels, dtype=wp.int32, device="cpu")
        v.actuators = wp.array([actuator_id(model, self.actuators[k]) for k in wheels], dtype=wp.int32, device="cpu")
        v.gears = wp.array([self.gears[k] for k in wheels], dtype=wp.float64, device="cpu")
        v.mass, v.gravity, v.gain, v.speed = self.mass, self.gravity, self.gain, _view(self._speed)
        v.driven = sum(len(a.wheels) for a in self.axles if a.torque_limit > 0)
        return v

    def _axle_table(self) -> np.ndarray:
        table: Any = np.zeros(len(self.axles), dtype=numpy_dtype(AxleData))
        table["count"] = [len(a.wheels) for a in self.axles]
        table["first"] = np.cumsum(table["count"]) - table["count"]
        for name in ("radius", "torque_limit", "inertia", "drag", "heat"):
            table[name] = [getattr(a, name) for a in self.axles]
        return table

    def state(self) -> dict[str, Any]:
        return {"torque": self.torque, "measured_speed": self.measured_speed, **self.sensors.state()}

    def reset(self, worlds: Sequence[int]) -> None:
        self.sensors.reset(worlds)
        self.torque[worlds] = self.measured_speed[worlds] = 0.0

    def channels(self) -> list[Channel]:
        count = len(self.axles)
        labels = tuple(f"axle {k + 1}" for k in range(count))
        return [
            Channel(f"{self.prefix}control/torque", "N m", (count,), "", labels=labels, source=self.torque),
            Channel(f"{self.prefix}control/speed", "m/s", (), "", source=self.measured_speed),
        ]


class Cdta(SpeedController):
    """CDTA: smallest sum of squared torques that gives the wanted force while every axle stays on the ground.

    In chassis axes an axle with contact angle g gives E = F cos g - N sin g along and B = N cos g + F sin g up (Morrot
    et al., eq. 9-10). The loads B of a rigid chassis on springs follow from sum B = m f_z (accelerometer) and sum x B +
    sum lever E = 0, so they are linear in the total force E. F is bounded by the motor torque T / r (Morrot et al.
    prints T r) and by the tyre's peak D at N. The total is bounded by the power of the battery, and by the load of the
    axles: each must keep a fraction of its static load, by these statics and by its measured load. If the wanted force
    is not possible, the largest possible one is used. The torques also accelerate wheels and rotors and overcome the
    friction of the drives.
    """

    name = "cdta"

    def __init__(self, *args, friction: float, power_limit: float = math.inf, **more):
        """`friction`: peak D over load of the tyres. `power_limit` [W]: largest power of the battery."""
        super().__init__(*args, **more)
        self.friction, self.power_limit = friction, power_limit
        worlds = self.sensors.worlds.count
        self.force = np.zeros(worlds)  # [N] commanded force along the chassis
        self.smooth_along = np.zeros(worlds)  # [m/s^2] accelerometers along the chassis, smoothed
        self.smooth_up = np.full(worlds, self.gravity)  # [m/s^2] the same, upwards
        total = sum(a.stiffness for a in self.axles)
        mean = sum(a.stiffness * a.x for a in self.axles) / total
        spread = sum(a.stiffness * (a.x - mean) ** 2 for a in self.axles)
        if spread <= 0:
            raise InputError("cdta: all axles have the same position; allowed are two positions or more")
        # B_k = share_k sum(B) + tilt_k (moment about the centre of mass)
        tilt = [a.stiffness * (a.x - mean) / spread for a in self.axles]
        self._share = [a.stiffness / total - t * mean for a, t in zip(self.axles, tilt, strict=True)]
        lever = sum(a.lever for a in self.axles) / len(self.axles)
        self._transfer = [lever * t for t in tilt]
        weight = self.mass * self.gravity
        self._least = [LEAST_SHARE * weight * share for share in self._share]

    def _record_law(self, launch: Callable[..., Any], vehicle: Any, world: int, command: wp.array) -> None:
        scratch: Any = Scratch()
        smoothed: Any = Smoothed()
        count = len(self.axles)
        scratch.axles = wp.zeros(count, dtype=cast(Any, AxleState), device="cpu")
        scratch.weights, scratch.bounds = (wp.zeros(count, dtype=wp.float64, device="cpu") for _ in range(2))
        smoothed.smooth_along, smoothed.smooth_up = _view(self.smooth_along), _view(self.smooth_up)
        out = [_view(self.force), _view(self.torque[world]), _view(self.measured_speed), command]
        launch(cdta, 1, [vehicle, self.sensors.sensed, world, scratch, smoothed, *out])

    def _vehicle(self, model: mujoco.MjModel) -> Any:
        v = super()._vehicle(model)
        v.friction, v.power_limit = self.friction, min(self.power_limit, UNBOUNDED)
        v.smoothing = self.period / (self.period + SMOOTHING)
        return v

    def _axle_table(self) -> np.ndarray:
        table: Any = super()._axle_table()
        table["static_share"], table["load_transfer"], table["least_load"] = self._share, self._transfer, self._least
        return table

    def state(self) -> dict[str, Any]:
        smoothed = {"smooth_along": self.smooth_along, "smooth_up": self.smooth_up}
        return {**super().state(), **smoothed, "force": self.force}

    def reset(self, worlds: Sequence[int]) -> None:
        super().reset(worlds)
        self.force[worlds] = self.smooth_along[worlds] = 0.0
        self.smooth_up[worlds] = self.gravity


def _view(values: np.ndarray) -> wp.array:
    """Warp array on the same memory."""
    return wp.array(values, dtype=wp.float64, copy=False, device="cpu")


def axles_of(vehicle: Any, gravity: float = 9.81) -> list[Axle]:
    """The axles of a `Vehicle`, front first."""
    travel = vehicle.rest_travel(gravity)
    out = []
    for wheels in vehicle.axles:
        mounts = [vehicle.wheels[k] for k in wheels]
        lever = float(np.mean([vehicle.tyre.radius - m.z - travel[k] for m, k in zip(mounts, wheels, strict=True)]))
        limit = vehicle.motor.torque_limit if all(m.driven for m in mounts) else 0.0
        stiffness = vehicle.suspension.stiffness * len(wheels)
        motor = vehicle.motor
        out.append(Axle(
            tuple(wheels), mounts[0].x, lever, vehicle.tyre.radius, stiffness, limit,
            inertia=vehicle.wheel_inertia + motor.rotor_inertia * motor.gear**2,
            drag=motor.friction.coulomb * motor.gear,
            heat=motor.resistance / (motor.torque_constant * motor.gear * motor.efficiency) ** 2,
        ))  # fmt: skip
    return out
