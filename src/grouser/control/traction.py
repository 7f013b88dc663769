"""Speed of a wheeled vehicle in the pitch plane: proportional with gravity compensation, and CDTA.

001_ac5d14c10b944e50.txt section 3, after Silva et al. 2010. Both ask for the acceleration a = k (v_wanted - v) and the
force m (a + g sin(pitch)) along the chassis; they differ in how wheels share it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from grouser.control.sensors import Readings, VehicleSensors, nose_up
from grouser.errors import InputError
from grouser.module import Channel

LEAST_SHARE = 0.05  # of its static load that every axle shall keep (assumed)
OF_PEAK = 0.9  # of the tyre's peak D that is asked for: beyond it wheels spin (assumed)
SMOOTHING = 0.02  # [s] over which accelerometers are smoothed (assumed)
HALVINGS = 14  # of the range of forces when not all that is wanted may be had
FLATTEST = 0.2  # least cosine of a contact angle that is reckoned with (assumed)


@dataclass(frozen=True)
class Axle:
    """Wheels side by side, as the pitch plane has them."""

    wheels: tuple[int, ...]
    x: float  # [m] before the centre of mass
    lever: float  # [m] from the centre of mass down to the contact
    radius: float  # [m]
    stiffness: float  # [N/m] of its suspensions together
    torque_limit: float  # [N m] of one wheel's motor; 0: not driven
    inertia: float = 0.0  # [kg m^2] of one wheel and its rotor, at the wheel
    drag: float = 0.0  # [N m] friction of one drive, at the wheel
    heat: float = 0.0  # [W/(N m)^2] lost in one motor's winding


class SpeedController:
    """Holds `speed` [m/s]: same force from every driven wheel, within the motors' torque."""

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
        """`actuators` and `gears` one for each wheel; control = torque at the wheel over the gear. `gain` [1/s]."""
        if not (period > 0 and math.isfinite(period)):
            raise InputError(f"{self.name}: period = {period}: allowed is a finite number above 0")
        self.sensors, self.axles, self.actuators = sensors, tuple(axles), tuple(actuators)
        self.gears, self.mass, self.speed, self.gain = tuple(gears), mass, speed, gain
        self.gravity, self.period, self.prefix = gravity, period, prefix
        self.torque = np.zeros((1, len(self.axles)))  # [N m] of one wheel of each axle
        self.seen = np.zeros((1, 2))  # [m/s, rad] speed and pitch
        self._ids: list[list[tuple[int, float]]] | None = None

    def act(self, time: float, sensors: Any, command: Any) -> None:
        if self._ids is None:
            actuator = sensors.model.actuator
            self._ids = [[(actuator(self.actuators[k]).id, self.gears[k]) for k in a.wheels] for a in self.axles]
        readings = self.sensors.read(time, sensors)
        self.seen[0, 0], self.seen[0, 1] = readings.speed, nose_up(readings)
        upside_down = self.sensors.upside_down
        torques = [0.0] * len(self.axles) if upside_down else self.torques(readings)
        for k, (ids, torque) in enumerate(zip(self._ids, torques, strict=True)):
            self.torque[0, k] = torque
            for actuator, gear in ids:
                command[actuator] = torque / gear

    def wanted(self, readings: Readings) -> float:
        """[N] along the chassis: m (k (v_wanted - v) + g sin(pitch))."""
        pitch = nose_up(readings)
        return self.mass * (self.gain * (self.speed - readings.speed) + self.gravity * math.sin(pitch))

    def torques(self, readings: Readings) -> list[float]:
        """[N m] of one wheel of each axle."""
        driven = sum(len(a.wheels) for a in self.axles if a.torque_limit > 0)
        share = self.wanted(readings) / driven
        return [min(max(share * a.radius, -a.torque_limit), a.torque_limit) for a in self.axles]

    def state(self) -> dict[str, Any]:
        return {"torque": self.torque, "seen": self.seen, **self.sensors.state()}

    def reset(self, worlds: Sequence[int]) -> None:
        self.torque[:] = self.seen[:] = 0.0
        self.sensors.reset()

    def channels(self) -> list[Channel]:
        count = len(self.axles)
        labels = tuple(f"axle {k + 1}" for k in range(count))
        return [
            Channel(f"{self.prefix}control/torque", "N m", (count,), "", labels=labels, read=self.torque.copy),
            Channel(f"{self.prefix}control/speed", "m/s", (), "", read=lambda: self.seen[:, 0].copy()),
        ]


class Cdta(SpeedController):
    """CDTA: least sum of squared torques that gives the wanted force while every axle stays on the ground.

    In chassis axes an axle with contact angle g gives E = F cos g - N sin g along and B = N cos g + F sin g up
    (001 eq. 9-10). The loads B of a rigid chassis on springs follow from sum B = m f_z (accelerometer) and
    sum x B + sum lever E = 0, so they are linear in the total force E. Bounds on F: motor torque T / r (001 prints
    T r), the tyre's peak D at N, and no axle lighter than a share of its static load, neither by these statics nor by
    its measured load; and the battery's power. Where not all that is wanted can be had, as much of it as can. Torques
    also spin up wheels and rotors and overcome the drives' friction.
    """

    name = "cdta"

    def __init__(self, *args, friction: float, power_limit: float = math.inf, **more):
        """`friction`: peak D over load of the tyres; `power_limit` [W] of the battery, within which it stays."""
        super().__init__(*args, **more)
        self.friction, self.power_limit = friction, power_limit
        self.smooth = np.array([[0.0, self.gravity]])  # [m/s^2] accelerometers along and up, smoothed
        total = sum(a.stiffness for a in self.axles)
        mean = sum(a.stiffness * a.x for a in self.axles) / total
        spread = sum(a.stiffness * (a.x - mean) ** 2 for a in self.axles)
        if spread <= 0:
            raise InputError("cdta: all axles are at one place; allowed are two or more")
        # B_k = rest_k sum(B) + tilt_k (moment about the centre of mass)
        self._tilt = [a.stiffness * (a.x - mean) / spread for a in self.axles]
        self._rest = [a.stiffness / total - t * mean for a, t in zip(self.axles, self._tilt, strict=True)]
        self._lever = sum(a.lever for a in self.axles) / len(self.axles)
        weight = self.mass * self.gravity
        self._least = [LEAST_SHARE * weight * rest for rest in self._rest]

    def torques(self, readings: Readings) -> list[float]:
        x, _, z = readings.specific_force.tolist()
        pull, push = self.smooth[0, 0], self.smooth[0, 1]
        share = self.period / (self.period + SMOOTHING)
        self.smooth[0] = pull + share * (x - pull), push + share * (z - push)
        up = self.mass * max(float(self.smooth[0, 1]), 0.0)
        axles = [self._touching(a, readings) for a in self.axles]
        if up <= 0 or not any(count for count, *_ in axles):
            return [0.0] * len(self.axles)
        present = self.mass * float(self.smooth[0, 0])
        coast = -sum(up * rest * tangent for rest, (_, _, tangent, _, _) in zip(self._rest, axles, strict=True))
        low, high = self._grounded(up, present, axles)
        wanted = max(min(self.wanted(readings), high), low) if low <= high else 0.5 * (low + high)
        found = self._asked(wanted, up, present, axles)
        torques = found or [0.0] * len(self.axles)
        low, high = 0.0, 1.0
        for _ in range(HALVINGS if found is None else 0):
            middle = (low + high) / 2
            found = self._asked(coast + middle * (wanted - coast), up, present, axles)
            if found is None:
                high = middle
            else:
                low, torques = middle, found
        return torques

    def state(self) -> dict[str, Any]:
        return {**super().state(), "smooth": self.smooth}

    def reset(self, worlds: Sequence[int]) -> None:
        super().reset(worlds)
        self.smooth[:] = 0.0, self.gravity

    def _touching(self, a: Axle, readings: Readings) -> tuple[int, float, float, float, float]:
        """Wheels on the ground, cosine and tangent of their contact angle, their load [N] up, wheel rate [rad/s]."""
        on = [k for k in a.wheels if readings.contact[k]]
        rate = sum(float(readings.wheel_rate[k]) for k in a.wheels) / len(a.wheels)
        if not on:
            return 0, 1.0, 0.0, 0.0, rate
        angle = sum(float(readings.contact_angle[k]) for k in on) / len(on)
        cosine = max(math.cos(angle), FLATTEST)
        return len(on), cosine, math.sin(angle) / cosine, sum(float(readings.load[k]) for k in on) * cosine, rate

    def _grounded(self, up: float, present: float, axles: list) -> tuple[float, float]:
        """[N] least and largest force along the chassis with which every axle keeps its least load.

        An axle that has left the ground asks for the force that turns the chassis back: a braking one for the front.
        """
        low, high = -math.inf, math.inf
        for rest, tilt, least, (_, _, _, measured, _) in zip(self._rest, self._tilt, self._least, axles, strict=True):
            moved = tilt * self._lever
            if moved > 0:
                high = min(high, (rest * up - least) / moved, present + (measured - least) / moved)
            elif moved < 0:
                low = max(low, (rest * up - least) / moved, present + (measured - least) / moved)
        return low, high

    def _asked(self, along: float, up: float, present: float, axles: list) -> list[float] | None:
        """[N m] of one wheel of each axle that together push with `along` [N]; None where a bound forbids it."""
        bounds, need = [], along
        for a, rest, tilt, (count, cosine, tangent, measured, _) in zip(
            self.axles, self._rest, self._tilt, axles, strict=True
        ):
            moved = tilt * self._lever
            load = max(min(rest * up - moved * along, measured - moved * (along - present)), 0.0)
            grip = OF_PEAK * self.friction * load / cosine * count / len(a.wheels)
            bounds.append(min(a.torque_limit * len(a.wheels) / a.radius, grip))
            need += load * tangent
        forces = least_squares_share(need, [1 / cosine for _, cosine, *_ in axles], bounds)
        if forces is None:
            return None
        torques, power = [], 0.0
        for a, force, (*_, rate) in zip(self.axles, forces, axles, strict=True):
            share = force * a.radius / len(a.wheels)
            spin_up = a.inertia * along / self.mass / a.radius
            torque = share + spin_up + math.copysign(a.drag, along)
            torques.append(min(max(torque, -a.torque_limit), a.torque_limit))
            power += len(a.wheels) * max(torque * rate + a.heat * torque * torque, 0.0)
        return torques if power <= self.power_limit else None


def least_squares_share(need: float, weights: Sequence[float], bounds: Sequence[float]) -> list[float] | None:
    """Forces F with sum(weight F) = need, |F| <= bound and least sum F^2: F = l weight, held at the bounds."""
    sign, need = math.copysign(1.0, need), abs(need)
    if sum(w * b for w, b in zip(weights, bounds, strict=True)) < need:
        return None
    out = [0.0] * len(bounds)
    free = list(range(len(bounds)))
    while free:
        factor = need / sum(weights[k] ** 2 for k in free)
        over = [k for k in free if factor * weights[k] > bounds[k]]
        if not over:
            for k in free:
                out[k] = sign * factor * weights[k]
            break
        for k in over:
            out[k] = sign * bounds[k]
            need -= weights[k] * bounds[k]
            free.remove(k)
    return out


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
            heat=motor.resistance / (motor.torque_constant * motor.gear) ** 2,
        ))  # fmt: skip
    return out
