"""Speed of a wheeled vehicle in the pitch plane: proportional with gravity compensation, and CDTA.

001_ac5d14c10b944e50.txt section 3, after Silva et al. 2010. Both ask for the acceleration a = k (v_wanted - v) and the
force m (a + g sin(pitch)) along the chassis; they differ in how wheels share it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from grouser.control.sensors import Readings, VehicleSensors
from grouser.errors import InputError
from grouser.module import Channel

LEAST_SHARE = 0.1  # of its static load that every axle shall keep (assumed)
OF_PEAK = 0.9  # of the tyre's peak D that is asked for: beyond it wheels spin (assumed)
SMOOTHING = 0.02  # [s] over which accelerometers are smoothed (assumed)
TRIES, CLOSE_ENOUGH = 8, 1e-3  # to find how much may be had of what is wanted, and how nearly
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
        self.seen[0] = readings.speed, readings.pitch
        upside_down = self.sensors.upside_down
        torques = [0.0] * len(self.axles) if upside_down else self.torques(readings)
        for k, (ids, torque) in enumerate(zip(self._ids, torques, strict=True)):
            self.torque[0, k] = torque
            for actuator, gear in ids:
                command[actuator] = torque / gear

    def wanted(self, readings: Readings) -> float:
        """[N] along the chassis: m (k (v_wanted - v) + g sin(pitch))."""
        return self.mass * (self.gain * (self.speed - readings.speed) + self.gravity * math.sin(readings.pitch))

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
        lever = sum(a.lever for a in self.axles) / len(self.axles)
        self._moved = [lever * t for t in self._tilt]
        weight = self.mass * self.gravity
        self._least = [LEAST_SHARE * weight * rest for rest in self._rest]

    def torques(self, readings: Readings) -> list[float]:
        x, _, z = readings.specific_force.tolist()
        pull, push = self.smooth[0].tolist()
        share = self.period / (self.period + SMOOTHING)
        pull, push = pull + share * (x - pull), push + share * (z - push)
        self.smooth[0] = pull, push
        up, present = self.mass * max(push, 0.0), self.mass * pull
        axles = self._standing(readings, up, present)
        if up <= 0 or not any(a.grip for a in axles):
            return [0.0] * len(axles)
        low, high = self._grounded(axles)
        wanted = max(min(self.wanted(readings), high), low) if low <= high else 0.5 * (low + high)
        coast = -sum(a.rest * a.tangent for a in axles)
        along = _farthest(coast, wanted, lambda force: _to_spare(force, axles))
        if math.isfinite(self.power_limit):
            along = _farthest(coast, along, lambda force: self.power_limit - self._power(force, axles))
        return self._torques(along, axles)

    def _standing(self, readings: Readings, up: float, present: float) -> list[_Standing]:
        """How each axle stands: B = min(rest - moved E, measured - moved (E - present))."""
        touches, angles = readings.contact.tolist(), readings.contact_angle.tolist()
        loads, rates = readings.load.tolist(), readings.wheel_rate.tolist()
        out = []
        for a, rest, moved, least in zip(self.axles, self._rest, self._moved, self._least, strict=True):
            count = len(a.wheels)
            on = [k for k in a.wheels if touches[k]]
            angle = sum([angles[k] for k in on]) / len(on) if on else 0.0
            cosine = max(math.cos(angle), FLATTEST)
            measured = sum([loads[k] for k in on]) * cosine + moved * present
            grip = OF_PEAK * self.friction / cosine * len(on) / count
            rate = sum([rates[k] for k in a.wheels]) / count
            out.append(_Standing(
                rest * up, measured, moved, least, 1 / cosine, math.sin(angle) / cosine, grip,
                a.torque_limit * count / a.radius, rate,
            ))  # fmt: skip
        return out

    def _grounded(self, axles: list[_Standing]) -> tuple[float, float]:
        """[N] least and largest force along the chassis with which every axle keeps its least load.

        An axle that has left the ground asks for the force that turns the chassis back: a braking one for the front.
        """
        low, high = -math.inf, math.inf
        for a in axles:
            edge = (min(a.rest, a.measured) - a.least) / a.moved if a.moved else math.inf
            if a.moved > 0:
                high = min(high, edge)
            elif a.moved < 0:
                low = max(low, edge)
        return low, high

    def _torques(self, along: float, axles: list[_Standing]) -> list[float]:
        """[N m] of one wheel of each axle that together push with `along` [N]."""
        need, bounds = along, []
        for s in axles:
            load = s.load(along)
            need += load * s.tangent
            bounds.append(min(s.strongest, s.grip * load))
        forces = least_squares_share(need, [s.weight for s in axles], bounds) or [0.0] * len(axles)
        out = []
        for a, force in zip(self.axles, forces, strict=True):
            torque = force * a.radius / len(a.wheels) + a.inertia * along / self.mass / a.radius
            torque += math.copysign(a.drag, along)
            out.append(min(max(torque, -a.torque_limit), a.torque_limit))
        return out

    def _power(self, along: float, axles: list[_Standing]) -> float:
        """[W] electric that this force takes."""
        power = 0.0
        for a, s, torque in zip(self.axles, axles, self._torques(along, axles), strict=True):
            power += len(a.wheels) * max(torque * s.rate + a.heat * torque * torque, 0.0)
        return power

    def state(self) -> dict[str, Any]:
        return {**super().state(), "smooth": self.smooth}

    def reset(self, worlds: Sequence[int]) -> None:
        super().reset(worlds)
        self.smooth[:] = 0.0, self.gravity


@dataclass
class _Standing:
    """An axle at one moment; loads and forces [N] of all its wheels."""

    rest: float  # load by the statics of the whole, at no force along
    measured: float  # the same from what the wheels measure
    moved: float  # load that a force along the chassis takes away, over that force
    least: float  # load it shall keep
    weight: float  # 1 / cos(contact angle)
    tangent: float
    grip: float  # largest force over load
    strongest: float  # of the motors
    rate: float  # [rad/s]

    def load(self, along: float) -> float:
        return max(min(self.rest, self.measured) - self.moved * along, 0.0)


def _to_spare(along: float, axles: Sequence[_Standing]) -> float:
    """[N] by which grip and motors together outdo what pushing with `along` [N] takes."""
    need, most = along, 0.0
    for a in axles:
        load = a.load(along)
        need += load * a.tangent
        most += a.weight * min(a.strongest, a.grip * load)
    return most - abs(need)


def _farthest(start: float, end: float, to_spare: Callable[[float], float]) -> float:
    """The point nearest to `end` where something is to spare, as there is at `start`: false position (Illinois)."""
    short = to_spare(end)
    if short >= 0:
        return end
    spare, low, high = to_spare(start), 0.0, 1.0
    if spare <= 0:
        return start
    for _ in range(TRIES):
        middle = (low * short - high * spare) / (short - spare)
        found = to_spare(start + middle * (end - start))
        if found >= 0:
            low, spare, short = middle, found, 0.5 * short
        else:
            high, short, spare = middle, found, 0.5 * spare
        if high - low < CLOSE_ENOUGH:
            break
    return start + low * (end - start)


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
