"""A vehicle jumps off a virtual ramp and lands on level ground: Morrot et al., section 4, Fig. 9.

Four worlds, one for each angle. The vehicle starts with its wheels just above the ground, with the speed and angle of
the end of the ramp. It lands when its centre of mass is back at the initial height, after a distance of
v^2 sin(2 angle) / g. A semi-implicit Euler step h makes the flight too short by a fraction h g / (2 v_y), which is why
the step is small.
"""

from __future__ import annotations

import math
from typing import Annotated, Any

import numpy as np
import pydantic

from grouser.module import Channel
from grouser.recording import Recording
from grouser.robots.vehicle import build as build_vehicle
from grouser.scenarios.quantity import Unit
from grouser.scenarios.scenario import metric, scenario_of
from grouser.scenarios.vehicle_choice import PAPER, OnWheels, add_start
from grouser.simulation import Simulation
from grouser.terrain.generators import flat

BAR = 2e-4  # paper: 0.02 %
AFTER = 0.1  # [s] recorded after the last landing
MARGIN = 5.0  # [m] ground ahead and behind

Angle = Annotated[float, pydantic.Field(gt=0, lt=90), Unit("degree")]
Angles = Annotated[tuple[Angle, ...], pydantic.Field(min_length=1)]


class ViviJump(OnWheels):
    """Settings of `vivi-jump`."""

    angles_deg: Angles = (22.5, 35.0, 45.0, 60.0)  # three angles of the paper, and one more
    speed: Annotated[float, pydantic.Field(gt=0), Unit("m/s")] = 8.0  # assumed
    step: Annotated[float, pydantic.Field(gt=0, le=0.01), Unit("s")] = 65e-6
    slices: Annotated[int, pydantic.Field(ge=4, le=100000)] = 20
    gravity: Annotated[float, pydantic.Field(gt=0), Unit("m/s^2")] = 9.81


def build(s: ViviJump) -> Simulation:
    v = s.chosen_vehicle()
    longest = s.speed**2 / s.gravity
    terrain = flat(size=(longest + 2 * MARGIN, 2 * MARGIN), spacing=1.0, origin=(-MARGIN, -MARGIN))
    spec = build_vehicle(v, drive="torque", gravity=s.gravity)
    height = v.tyre.radius - min(wheel.z for wheel in v.wheels)
    for angle in s.angles_deg:
        turn = math.radians(angle)
        velocity = (s.speed * math.cos(turn), 0.0, s.speed * math.sin(turn))
        add_start(spec, v, height=height, velocity=velocity, rolling=True, ctrl=[0.0] * _controls(v))
    sim = Simulation(spec, [v.module(terrain, slices=s.slices)], step=s.step, worlds=len(s.angles_deg))
    body, data = sim.model.body("chassis").id, sim.engine.data
    for axis, name in ((0, "distance"), (2, "height")):
        read = _reader(data, body, axis)
        sim.add_channel(Channel(f"chassis/{name}", "m", frame="world", read=read))
    return sim


def _controls(v) -> int:
    return len(v.drives) + sum(1 for name in v.steers if name)


def _reader(data, body: int, axis: int):
    return lambda: np.array([d.xpos[body, axis] for d in data])


def duration(s: ViviJump) -> float:
    steepest = max(math.sin(math.radians(angle)) for angle in s.angles_deg)
    return 2 * s.speed * steepest / s.gravity + AFTER


def metrics(s: ViviJump) -> list[dict[str, Any]]:
    return [
        metric(
            "landing_distance_error_rel", "1", "horizontal distance at which the centre of mass is back at its "
            "initial height (interpolated between frames) against v^2 sin(2 angle) / g; worst of the angles",
            0.0, {"abs": BAR}, f"{PAPER}, section 4: at most 0.02 %",
        ),
        metric("landing_distance_m", "m", "one value for each angle"),
        metric("landing_force_peak_N", "N", "largest normal force of a wheel, one value for each angle"),
        metric("real_time_factor", "1", "simulated time over wall time of the loop"),
    ]  # fmt: skip


def figures(s: ViviJump) -> list[dict[str, Any]]:
    return [
        {
            "name": "flight", "title": "Flight of the centre of mass", "kind": "xy", "x": "chassis/distance",
            "y": ["chassis/height"], "xlabel": "distance [m]", "ylabel": "height [m]", "equal": True,
            "caption": f"One line for each angle: {', '.join(f'{a:g}' for a in s.angles_deg)} deg "
            "(Morrot et al., Fig. 9).",
        },
        {
            "name": "normal-force", "title": "Normal force of the wheels", "kind": "lines",
            "y": ["tyre/normal_force"], "ylabel": "normal force [N]", "caption": "0 in the air, then the landing.",
        },
    ]  # fmt: skip


def measure(s: ViviJump, recording: Recording) -> dict[str, Any]:
    count = len(s.angles_deg)
    x, z, force = (np.asarray(recording[name]) for name in ("chassis/distance", "chassis/height", "tyre/normal_force"))
    if count == 1:
        x, z, force = x[:, None], z[:, None], force[:, None]
    landed = [landing(x[:, w], z[:, w]) for w in range(count)]
    wanted = [s.speed**2 * math.sin(2 * math.radians(angle)) / s.gravity for angle in s.angles_deg]
    return {
        "landing_distance_error_rel": max(abs(a / b - 1) for a, b in zip(landed, wanted, strict=True)),
        "landing_distance_m": landed,
        "landing_force_peak_N": force.max(axis=(0, 2)).tolist(),
    }


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
    summary="a four-wheel vehicle jumps off a virtual ramp: where it lands, against the parabola",
    source=f"{PAPER}, section 4, Fig. 9",
)  # fmt: skip
