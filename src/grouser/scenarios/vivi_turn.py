"""A skid-steered vehicle turns on the spot: yaw rate and turning moment against the balance of its sliding tyres.

Morrot et al. assume skid steering ("all wheels will always be parallel") and show no turn. The reference is the steady
balance about the vertical: a wheel at (x, y) of a vehicle that turns at w slides along by v - w |y| and sideways by
w |x|, where v is the speed of its rim, and its tyre pushes against that. If all wheels are at the same |x| and |y| and
tyres are alike in both directions, the yaw rate is v |y| / (x^2 + y^2) whatever the tyres' grip.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
import pydantic

from grouser.control import TorqueDrive
from grouser.drive import BatteryPack
from grouser.module import Channel
from grouser.recording import Recording
from grouser.robots.vehicle import Vehicle
from grouser.robots.vehicle import build as build_vehicle
from grouser.scenarios.quantity import Unit
from grouser.scenarios.scenario import metric, scenario_of
from grouser.scenarios.terrain_choice import height_at
from grouser.scenarios.vehicle_choice import PAPER, OnOwnGround
from grouser.simulation import Simulation
from grouser.terrain.generators import flat

END = 0.5  # share of the run over which rates and moments are averaged: the turn is steady by then
BAR = 1e-3  # by END the turn is steady to 1e-4 of its rate, up to a rim speed of 4 m/s
FIELD = 20.0  # [m] side of the level ground


class ViviTurn(OnOwnGround):
    """Settings of `vivi-turn`."""

    rim_speed: Annotated[float, pydantic.Field(gt=0, le=10), Unit("m/s")] = 2.0  # right side forward, left side back
    lateral_grip: Annotated[float, pydantic.Field(gt=0, le=2)] = 1.0  # factor on the tyres' grip sideways
    duration: Annotated[float, pydantic.Field(gt=0), Unit("s")] = 4.0
    slices: Annotated[int, pydantic.Field(ge=4, le=100000)] = 20
    step: Annotated[float, pydantic.Field(gt=0, le=0.01), Unit("s")] = 1e-3
    gravity: Annotated[float, pydantic.Field(gt=0), Unit("m/s^2")] = 9.81


def build(s: ViviTurn) -> Simulation:
    v = s.chosen_vehicle()
    tyre = replace(v.tyre, p_Dy1=v.tyre.p_Dy1 * s.lateral_grip, p_Ky1=v.tyre.p_Ky1 * s.lateral_grip)
    turning = replace(v, tyre=tyre)
    terrain = flat(size=(FIELD, FIELD), spacing=1.0, origin=(-FIELD / 2, -FIELD / 2))
    if s.terrain is not None:
        terrain = s.terrain.read()
    height = v.rest_height(s.gravity) + height_at(terrain, *s.at, "the start")
    spec = build_vehicle(turning, gravity=s.gravity, position=(*s.at, height))
    lever = float(np.mean([abs(wheel.y) for wheel in v.wheels]))
    drive = TorqueDrive(turning, (0.0, 0.0, s.rim_speed / lever), period=max(s.step, 1e-3))
    pack = BatteryPack(v.battery, [v.motor] * len(v.drives), v.drives, period=s.step)
    sim = Simulation(spec, [turning.module(terrain, slices=s.slices)], controllers=[drive, pack], step=s.step)
    for channel in _channels(sim, v):
        sim.add_channel(channel)
    return sim


def _channels(sim: Simulation, v: Vehicle) -> list[Channel]:
    data, body = sim.data, sim.model.body("chassis").id
    rates = np.array([int(sim.model.joint(name).dofadr[0]) for name in v.drives])

    def heading() -> np.ndarray:
        x = data.xmat[body].reshape(3, 3)[:, 0]
        return np.array([math.atan2(x[1], x[0])])

    return [
        Channel("chassis/heading", "rad", frame="", read=heading),
        Channel("chassis/yaw_rate", "rad/s", frame="", read=lambda: np.array([data.cvel[body, 2]])),
        Channel("wheel/rate", "rad/s", (len(rates),), "", labels=v.drives, read=lambda: data.qvel[rates][None]),
    ]


@dataclass(frozen=True)
class Turn:
    """Steady turn on the spot."""

    yaw_rate: float  # [rad/s]
    moment: float  # [N m] about the vertical, of the tyres' forces along the wheels


def balance(v: Vehicle, rim_speed: float, gravity: float) -> Turn:
    """Solve the moment balance about the vertical for wheels whose rims turn at `rim_speed` [m/s].

    The slip is the sliding velocity over the speed w |y| at which the wheel travels (Pacejka 2006, section 1.2.1), and
    the force is along it, of the size of pure longitudinal slip: tyres alike in both directions.
    """
    from scipy.optimize import root_scalar

    x, y = (np.abs([getattr(wheel, axis) for wheel in v.wheels]) for axis in "xy")
    loads = [v.suspension.force(travel) for travel in v.rest_travel(gravity)]

    def forces(rate: float) -> tuple[np.ndarray, np.ndarray]:
        along, across = (rim_speed - rate * y) / (rate * y), rate * x / (rate * y)
        size = np.hypot(along, across)
        force = np.array([float(v.tyre.longitudinal(k, n)) for k, n in zip(size, loads, strict=True)])
        return force * along / size, force * across / size

    def moment(rate: float) -> float:
        along, across = forces(rate)
        return float((along * y - across * x).sum())

    fastest = rim_speed / float(y.min())  # without any slip
    rate = float(root_scalar(moment, bracket=(1e-3 * fastest, fastest), method="brentq").root)
    return Turn(rate, float((forces(rate)[0] * y).sum()))


def metrics(s: ViviTurn) -> list[dict[str, Any]]:
    v = s.chosen_vehicle()
    skid = s.terrain is None and all(wheel.driven and not wheel.steer_limit_deg for wheel in v.wheels)
    source = "balance of moments about the vertical, tyres alike in both directions"
    yaw = (0.0, {"abs": BAR}, source) if skid else (None, None, None)
    moment = (0.0, {"abs": BAR}, source) if skid else (None, None, None)
    return [
        metric("yaw_rate_error_rel", "1", "yaw rate against the balance at the measured wheel rates", *yaw),
        metric("turning_moment_error_rel", "1", "turning moment against the balance", *moment),
        metric("yaw_rate_rad_s", "rad/s", f"mean over the last {END:.0%} of the run"),
        metric("rate_without_slip", "1", "yaw rate over that of wheels that do not slip: rim speed / half the track"),
        metric("turning_moment_Nm", "N m", "of the tyres' forces along the wheels, about the vertical"),
        metric("heading_change_deg", "degree", "over the run, positive to the left"),
        metric("drift_m", "m", "distance of the centre of mass from its start at the end"),
        metric("real_time_factor", "1", "simulated time over wall time of the loop"),
    ]


def figures(s: ViviTurn) -> list[dict[str, Any]]:
    return [
        {
            "name": "yaw-rate", "title": "Yaw rate", "kind": "lines", "y": ["chassis/yaw_rate"],
            "ylabel": "yaw rate [rad/s]", "caption": "Positive to the left.",
        },
        {
            "name": "forces", "title": "Forces of the tyres along the wheels", "kind": "lines",
            "y": ["tyre/longitudinal_force"], "ylabel": "force [N]",
            "caption": "Their moment about the vertical turns the vehicle against the tyres' forces across.",
        },
        {
            "name": "way", "title": "Path of the centre of mass", "kind": "xy", "x": "body/pose[chassis, x]",
            "y": ["body/pose[chassis, y]"], "xlabel": "x [m]", "ylabel": "y [m]", "equal": True,
            "caption": "From above.",
        },
    ]  # fmt: skip


def measure(s: ViviTurn, recording: Recording) -> dict[str, Any]:
    v, time = s.chosen_vehicle(), recording.time
    last = time >= time[0] + (1 - END) * (time[-1] - time[0])
    y = np.array([wheel.y for wheel in v.wheels])
    rim = float(np.abs(recording["wheel/rate"][last]).mean()) * v.tyre.radius
    yaw = float(recording["chassis/yaw_rate"][last].mean())
    moment = float((recording["tyre/longitudinal_force"][last] @ -y).mean())
    wanted = balance(v, rim, s.gravity)
    heading = np.unwrap(recording["chassis/heading"])
    path = recording["body/pose[chassis]"][[0, -1], :2]
    return {
        "yaw_rate_error_rel": yaw / wanted.yaw_rate - 1,
        "turning_moment_error_rel": moment / wanted.moment - 1,
        "yaw_rate_rad_s": yaw,
        "rate_without_slip": yaw * float(np.abs(y).mean()) / rim,
        "turning_moment_Nm": moment,
        "heading_change_deg": float(np.degrees(heading[-1] - heading[0])),
        "drift_m": float(np.linalg.norm(path[1] - path[0])),
    }


SCENARIO = scenario_of(
    __name__, ViviTurn,
    summary="a skid-steered vehicle turns on the spot: yaw rate and turning moment against the balance of its tyres",
    source=f"{PAPER}, section 2: skid steering; moment balance",
)  # fmt: skip
