"""A vehicle jumps and lands on level ground: Morrot et al., section 4, Fig. 9.

One world for each angle. With the paper's virtual ramp the vehicle starts with its wheels just above the ground, with
the speed and angle of the end of a ramp. It lands when its centre of mass is back at the initial height, after a
distance of v^2 sin(2 angle) / g. With a real ramp it rolls up an incline that ends in a cliff. Its axles leave the lip
one after the other, and it pitches in flight; from the last wheel off to the first wheel on, its centre of mass is on
the parabola of its velocity at the lip. A semi-implicit Euler step h makes the flight too short by a fraction
h g / (2 v_y), which is why the step is small.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import mujoco
import numpy as np
import pydantic
from pydantic_core import PydanticCustomError

from grouser.errors import InputError
from grouser.module import Channel
from grouser.recording import Recording
from grouser.robots.vehicle import Vehicle
from grouser.robots.vehicle import build as build_vehicle
from grouser.scenarios.quantity import Unit
from grouser.scenarios.scenario import metric, scenario_of
from grouser.scenarios.vehicle_choice import (
    PAPER,
    OnOwnGround,
    acceleration_channel,
    add_start,
    add_start_on,
    ground_below,
)
from grouser.simulation import Simulation
from grouser.terrain.elevation import ElevationGrid
from grouser.terrain.generators import flat, from_function

BAR = 2e-4  # paper: 0.02 %
AFTER = 0.1  # [s] recorded after the last landing
MARGIN = 5.0  # [m] ground ahead and behind
ROLL = 1.5  # [m] of the centre of mass along a real ramp before its lip
LANE = 6.0  # [m] lateral distance of real ramps
GRID = 0.1  # [m] of the ground with real ramps; the cliff is one cell wide
STEEPEST = 50.0  # [deg] of a real ramp: a suspension inclined by 60 finds no ground

Angle = Annotated[float, pydantic.Field(gt=0, lt=90), Unit("degree")]
Angles = Annotated[tuple[Angle, ...], pydantic.Field(min_length=1)]


class ViviJump(OnOwnGround):
    """Settings of `vivi-jump`."""

    ramp: Literal["virtual", "real"] = "virtual"  # virtual: the paper's
    angles_deg: Angles | None = None  # None: 22.5, 35 and 45 as in the paper, with a virtual ramp 60 too
    lip: Annotated[float, pydantic.Field(gt=0), Unit("m")] = 1.0  # height of the end of a real ramp; assumed
    speed: Annotated[float, pydantic.Field(gt=0), Unit("m/s")] = 8.0  # assumed
    step: Annotated[float, pydantic.Field(gt=0, le=0.01), Unit("s")] = 65e-6
    slices: Annotated[int, pydantic.Field(ge=4, le=100000)] = 20
    gravity: Annotated[float, pydantic.Field(gt=0), Unit("m/s^2")] = 9.81
    time: Annotated[float, pydantic.Field(gt=0), Unit("s")] | None = (
        None  # None: until all have landed; on a terrain, to its end at `speed`
    )

    @pydantic.model_validator(mode="after")
    def _not_too_steep(self) -> ViviJump:
        if self.terrain is not None and (self.ramp == "real" or self.angles_deg is not None):
            text = "ramp and angles_deg are not allowed with a terrain, which is the ramp; allowed: speed, at, time"
            raise PydanticCustomError("terrain", "{text}", {"text": text})
        if self.ramp == "real" and max(self.angles) > STEEPEST:
            text = f"angles_deg has {max(self.angles):g}: allowed on a real ramp is up to {STEEPEST:g} deg"
            raise PydanticCustomError("angles", "{text}", {"text": text})
        return self

    @property
    def angles(self) -> tuple[float, ...]:
        """Angles [deg], one for each world."""
        if self.terrain is not None:
            return (0.0,)
        if self.angles_deg is not None:
            return self.angles_deg
        return (22.5, 35.0, 45.0) if self.ramp == "real" else (22.5, 35.0, 45.0, 60.0)

    @property
    def rolls(self) -> bool:
        """Whether the vehicle rolls off ground that is there."""
        return self.ramp == "real" or self.terrain is not None

    @functools.cached_property
    def own_ground(self) -> ElevationGrid | None:
        return self.terrain.read() if self.terrain is not None else None

    @property
    def highest(self) -> float:
        """Upper bound [m] of the drop from the top of a flight to the ground."""
        rise = (self.speed * math.sin(math.radians(max(self.angles)))) ** 2 / (2 * self.gravity)
        return rise + (self.lip + 1.0 if self.ramp == "real" else 0.0)

    @property
    def flight_time(self) -> float:
        """Upper bound [s] of the time in the air."""
        steepest = math.sin(math.radians(max(self.angles)))
        return self.speed * steepest / self.gravity + math.sqrt(2 * self.highest / self.gravity)


def build(s: ViviJump) -> Simulation:
    v = s.chosen_vehicle()
    spec = build_vehicle(v, drive="torque", gravity=s.gravity)
    terrain = _own(s, v, spec) if s.own_ground else _real(s, v, spec) if s.rolls else _virtual(s, v, spec)
    sim = Simulation(spec, [v.module(terrain, slices=s.slices)], step=s.step, worlds=len(s.angles))
    body, data = sim.model.body("chassis").id, sim.engine.data
    for axis, name in ((0, "distance"), (2, "height")):
        read = _reader(data, body, axis)
        sim.add_channel(Channel(f"chassis/{name}", "m", frame="world", read=read))
    velocity = Channel(
        "chassis/velocity", "m/s", (3,), frame="world", labels=("x", "y", "z"),
        read=lambda: np.array([d.qvel[:3] for d in data]),
    )  # fmt: skip
    sim.add_channel(velocity)
    sim.add_channel(acceleration_channel(sim, "chassis/acceleration"))
    return sim


def _virtual(s: ViviJump, v: Vehicle, spec: mujoco.MjSpec) -> ElevationGrid:
    """Level ground, and starts in the air just above it."""
    longest = s.speed**2 / s.gravity
    height = v.tyre.radius - min(wheel.z for wheel in v.wheels)
    for angle in s.angles:
        turn = math.radians(angle)
        velocity = (s.speed * math.cos(turn), 0.0, s.speed * math.sin(turn))
        add_start(spec, v, height=height, velocity=velocity, rolling=True, ctrl=[0.0] * _controls(v))
    return flat(size=(longest + 2 * MARGIN, 2 * MARGIN), spacing=1.0, origin=(-MARGIN, -MARGIN))


def _real(s: ViviJump, v: Vehicle, spec: mujoco.MjSpec) -> ElevationGrid:
    """A ramp for each world, side by side, that ends at x = 0, and starts on them with the springs at rest."""
    for world, angle in enumerate(s.angles):
        turn = math.radians(angle)
        point = (-ROLL * math.cos(turn), world * LANE, s.lip - ROLL * math.sin(turn))
        _add_rolling(s, v, spec, point, turn)

    def heights(x, y):
        lane = np.clip(np.rint(y / LANE), 0, len(s.angles) - 1).astype(int)
        slope = np.tan(np.radians(s.angles))[lane]
        return np.where(x <= 0.0, s.lip + slope * x, 0.0)

    size = (s.speed * s.flight_time + 2 * MARGIN, (len(s.angles) + 1) * LANE)
    return from_function(heights, size=size, spacing=GRID, origin=(-MARGIN, -LANE))


def _own(s: ViviJump, v: Vehicle, spec: mujoco.MjSpec) -> ElevationGrid:
    """The terrain of the user, and a start on it with the springs at rest."""
    assert s.own_ground is not None
    _add_rolling(s, v, spec, *ground_below(s.own_ground, v, s.at))
    return s.own_ground


def _add_rolling(s: ViviJump, v: Vehicle, spec: mujoco.MjSpec, point: tuple[float, float, float], slope: float) -> None:
    """Add a start in which the vehicle rolls along ground of a slope [rad] at a point [m]."""
    add_start_on(
        spec, v, point, slope, height=v.rest_height(s.gravity * math.cos(slope)), velocity=(s.speed, 0.0, 0.0),
        rolling=True, ctrl=[0.0] * _controls(v),
    )  # fmt: skip


def _controls(v) -> int:
    return len(v.drives) + sum(1 for name in v.steers if name)


def _reader(data, body: int, axis: int):
    return lambda: np.array([d.xpos[body, axis] for d in data])


def duration(s: ViviJump) -> float:
    if s.time is not None:
        return s.time
    if s.own_ground is not None:
        ahead = s.own_ground.bounds[1] - s.at[0] - MARGIN
        if ahead <= 0:
            raise InputError(f"at = {s.at[0]:g} m: allowed: {MARGIN:g} m before the end of the terrain, or give time")
        return ahead / s.speed
    rolling = (ROLL + 1.0) / s.speed if s.ramp == "real" else 0.0
    return rolling + s.flight_time + AFTER


def metrics(s: ViviJump) -> list[dict[str, Any]]:
    if s.rolls:
        return [
            metric(
                "flight_distance_error_rel", "1", "horizontal distance of the centre of mass from the last wheel off "
                "the ramp to the first wheel on the ground, both interpolated between frames, against that of the "
                "parabola from the velocity at the start of the flight down to the same height; worst of the angles",
                0.0, {"abs": BAR}, f"{PAPER}, section 4: at most 0.02 %",
            ),
            metric("flight_distance_m", "m", "one value for each angle"),
            metric("flight_pitch_deg", "deg", "change of pitch in the flight, nose up, one value for each angle"),
            *_further(),
        ]  # fmt: skip
    return [
        metric(
            "landing_distance_error_rel", "1", "horizontal distance at which the centre of mass is back at its "
            "initial height (interpolated between frames) against v^2 sin(2 angle) / g; worst of the angles",
            0.0, {"abs": BAR}, f"{PAPER}, section 4: at most 0.02 %",
        ),
        metric("landing_distance_m", "m", "one value for each angle"),
        *_further(),
    ]  # fmt: skip


def _further() -> list[dict[str, Any]]:
    return [
        metric("landing_force_peak_N", "N", "largest normal force of a wheel, one value for each angle"),
        metric("real_time_factor", "1", "simulated time over wall time of the loop"),
    ]


def figures(s: ViviJump) -> list[dict[str, Any]]:
    return [
        {
            "name": "flight", "title": "Flight of the centre of mass", "kind": "xy", "x": "chassis/distance",
            "y": ["chassis/height"], "xlabel": "distance [m]", "ylabel": "height [m]", "equal": True,
            "caption": "On the ground and in the air." if s.terrain is not None else "One line for each angle: "
            f"{', '.join(f'{a:g}' for a in s.angles)} deg (Morrot et al., Fig. 9).",
        },
        {
            "name": "normal-force", "title": "Normal force of the wheels", "kind": "lines",
            "y": ["tyre/normal_force"], "ylabel": "normal force [N]", "caption": "0 in the air, then the landing.",
        },
    ]  # fmt: skip


def measure(s: ViviJump, recording: Recording) -> dict[str, Any]:
    count = len(s.angles)
    names = (
        "chassis/distance",
        "chassis/height",
        "chassis/velocity",
        "tyre/normal_force",
        "tyre/travel",
        "body/pose[chassis]",
    )
    read = [np.asarray(recording[name]) for name in names]
    x, z, velocity, force, travel, pose = (values[:, None] if count == 1 else values for values in read)
    out: dict[str, Any] = {"landing_force_peak_N": force.max(axis=(0, 2)).tolist()}
    if s.rolls:
        flights = [
            flight(recording.time, x[:, w], z[:, w], velocity[:, w], force[:, w], travel[:, w], s.gravity)
            for w in range(count)
        ]
        return out | {
            "flight_distance_error_rel": max(abs(f.distance / f.parabola - 1) for f in flights),
            "flight_distance_m": [f.distance for f in flights],
            "flight_pitch_deg": [_pitch(pose[f.last, w]) - _pitch(pose[f.first, w]) for w, f in enumerate(flights)],
        }
    landed = [landing(x[:, w], z[:, w]) for w in range(count)]
    wanted = [s.speed**2 * math.sin(2 * math.radians(angle)) / s.gravity for angle in s.angles]
    return out | {
        "landing_distance_error_rel": max(abs(a / b - 1) for a, b in zip(landed, wanted, strict=True)),
        "landing_distance_m": landed,
    }


def _pitch(pose: np.ndarray) -> float:
    """Pitch [deg], nose up, of a pose (7,) with quaternion xyzw."""
    qx, qy, qz, qw = pose[3:]
    return math.degrees(math.asin(max(-1.0, min(1.0, 2 * (qx * qz - qw * qy)))))


@dataclass(frozen=True)
class Flight:
    """A flight between two events, and the parabola beside it."""

    first: int  # first and last frame in the air
    last: int
    distance: float  # [m]
    parabola: float  # [m]


def flight(
    time: np.ndarray,
    x: np.ndarray,
    z: np.ndarray,
    velocity: np.ndarray,
    force: np.ndarray,
    travel: np.ndarray,
    gravity: float,
) -> Flight:
    """The longest time without any wheel force, from the instant of the last wheel off to that of the first one on.

    Both lie between frames. The force of the last wheel is continued linearly to zero, and the travel of the first
    spring back to zero. Between an event and the next frame in the air, the centre of mass is on a parabola.
    """
    first, last = _longest(force.max(axis=1) <= 0.0)
    if first < 2 or last + 2 >= len(time):
        return Flight(first, last, math.nan, math.nan)
    load = force.max(axis=1)
    off = _crossing(time[first - 2 : first], load[first - 2 : first], time[first - 1], time[first])
    wheel = int(travel[last + 1].argmax())
    on = _crossing(time[last + 1 : last + 3], travel[last + 1 : last + 3, wheel], time[last], time[last + 1])
    back, ahead = off - time[first], on - time[last]
    x0, vx, vz = x[first] + velocity[first, 0] * back, velocity[first, 0], velocity[first, 2] - gravity * back
    z0 = z[first] + velocity[first, 2] * back - gravity * back**2 / 2
    x1 = x[last] + velocity[last, 0] * ahead
    z1 = z[last] + velocity[last, 2] * ahead - gravity * ahead**2 / 2
    falling = (vz + math.sqrt(max(vz**2 - 2 * gravity * (z1 - z0), 0.0))) / gravity
    return Flight(first, last, float(x1 - x0), float(vx * falling))


def _longest(holds: np.ndarray) -> tuple[int, int]:
    """First and last index of the longest run of true values."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], holds, [False]]).astype(int)))
    if not len(edges):
        return 0, 0
    starts, ends = edges[::2], edges[1::2]
    k = int(np.argmax(ends - starts))
    return int(starts[k]), int(ends[k] - 1)


def _crossing(time: np.ndarray, value: np.ndarray, low: float, high: float) -> float:
    """Time [s] at which the line through two values is zero, within low to high."""
    slope = (value[1] - value[0]) / (time[1] - time[0])
    return float(np.clip(time[1] - value[1] / slope, low, high)) if slope else float(high)


def landing(x: np.ndarray, z: np.ndarray) -> float:
    """Distance [m] at which z falls below its initial value, interpolated between frames. NaN if it never does."""
    falling = np.flatnonzero((z[1:] <= z[0]) & (z[:-1] > z[0]))
    if not len(falling):
        return math.nan
    k = int(falling[0])
    share = (z[k] - z[0]) / (z[k] - z[k + 1])
    return float(x[k] + share * (x[k + 1] - x[k]) - x[0])


SCENARIO = scenario_of(
    __name__, ViviJump, rate=1000.0,
    summary="a four-wheel vehicle jumps off a virtual or a real ramp: where it lands, against the parabola",
    source=f"{PAPER}, section 4, Fig. 9",
)  # fmt: skip
