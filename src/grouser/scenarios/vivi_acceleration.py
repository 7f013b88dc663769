"""A vehicle accelerates on level ground under constant torques: Morrot et al., section 4, Fig. 8.

Four worlds, one for each torque. The reference is the balance of the whole vehicle in the pitch plane at constant
acceleration. The paper's own formula, N_front = m (g L_1 - a h_cm) / L, neglects that pitch moves the contacts relative
to the centre of mass and that the angular acceleration of the wheels turns the chassis. Its error is given too.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import pydantic

from grouser.errors import InputError
from grouser.module import Channel
from grouser.recording import Recording
from grouser.robots.vehicle import Vehicle
from grouser.robots.vehicle import build as build_vehicle
from grouser.scenarios.quantity import Unit
from grouser.scenarios.scenario import metric, scenario_of
from grouser.scenarios.vehicle_choice import PAPER, OnOwnGround, acceleration_channel, add_start_on, ground_below
from grouser.simulation import Simulation
from grouser.terrain.generators import flat

END = 0.2  # [s] at the end over which forces and pitch are averaged
MANY = 2000  # slices of the paper's finer wheel
FEW = 20  # slices of the paper's coarser wheel
TIMED = 15  # `slice_cost_increase_rel` takes the fastest of this many timings, with this many steps each
COARSE_BAR, FINE_BAR = 3.4e-3, 3e-4  # paper: 0.34 % with 20 slices, 0.03 % with 2000
PITCH_BAR = 0.01  # [deg] as in the paper
SOLVED = 1e-9  # largest residual / weight in every equation of the balance
MARGIN = 5.0  # [m] ground ahead and behind

Torques = Annotated[tuple[Annotated[float, Unit("N m")], ...], pydantic.Field(min_length=1)]


class ViviAcceleration(OnOwnGround):
    """Settings of `vivi-acceleration`."""

    torques: Torques = (2.5, 5.0, 7.5, 10.0)  # at every wheel; assumed
    start_speed: Annotated[float, pydantic.Field(gt=0), Unit("m/s")] = 2.0
    duration: Annotated[float, pydantic.Field(gt=0), Unit("s")] = 3.0
    slices: Annotated[int, pydantic.Field(ge=4, le=100000)] = FEW
    refine: bool = True  # false: the paper's search, without refinement between slices
    step: Annotated[float, pydantic.Field(gt=0, le=0.01), Unit("s")] = 1e-3
    gravity: Annotated[float, pydantic.Field(gt=0), Unit("m/s^2")] = 9.81

    @property
    def bar(self) -> float:
        """Largest error allowed for the front normal force, as the paper reports for its wheel."""
        return FINE_BAR if self.refine or self.slices >= MANY else COARSE_BAR


def build(s: ViviAcceleration) -> Simulation:
    for torque in s.torques if s.terrain is None else ():
        balance(s.chosen_vehicle(), torque, s.gravity)  # raises InputError if there is no balance
    sim = _simulation(s, s.slices, s.refine, s.torques)
    cost = _cost_increase(s)
    for channel in (*_channels(sim, cost), acceleration_channel(sim, "chassis/acceleration")):
        sim.add_channel(channel)
    return sim


def _simulation(s: ViviAcceleration, slices: int, refine: bool, torques: tuple[float, ...]) -> Simulation:
    v = s.chosen_vehicle()
    fastest = s.start_speed + s.duration * max(torques) * len(v.drives) / v.tyre.radius / v.chassis.mass
    length = (s.start_speed + fastest) / 2 * s.duration + 2 * MARGIN
    terrain = flat(size=(length, 2 * MARGIN), spacing=1.0, origin=(-MARGIN, -MARGIN))
    if s.terrain is not None:
        terrain = s.terrain.read()
    point, slope = ground_below(terrain, v, s.at)
    spec = build_vehicle(v, drive="torque", gravity=s.gravity)
    start = {
        "height": v.rest_height(s.gravity * math.cos(slope)), "velocity": (s.start_speed, 0.0, 0.0), "rolling": True,
    }  # fmt: skip
    for torque in torques:
        add_start_on(
            spec, v, point, slope, **start, ctrl=[torque] * len(v.drives) + [0.0] * sum(1 for n in v.steers if n)
        )
    module = v.module(terrain, slices=slices, refine=refine)
    return Simulation(spec, [module], step=s.step, worlds=len(torques))


def _cost_increase(s: ViviAcceleration) -> float:
    """Wall time of a step with MANY slices / that with FEW, minus 1. The paper's search, timed before the run."""
    spent = []
    for slices in (FEW, MANY):
        sim = _simulation(s, slices, False, s.torques[:1])
        chunks = []
        for _ in range(TIMED):
            start = time.perf_counter()
            sim.step(TIMED)
            chunks.append(time.perf_counter() - start)
        spent.append(min(chunks))
    return spent[1] / spent[0] - 1


def _channels(sim: Simulation, cost: float) -> list[Channel]:
    data = sim.engine.data
    body = sim.model.body("chassis").id

    def pitch() -> np.ndarray:
        """Pitch angle, positive nose up."""
        return np.array([math.degrees(math.asin(d.xmat[body][6])) for d in data])

    def speed() -> np.ndarray:
        """Along the ground: level ground is driven along x."""
        return np.array([math.copysign(math.hypot(d.qvel[0], d.qvel[2]), d.qvel[0]) for d in data])

    return [
        Channel("chassis/pitch_deg", "deg", frame="", read=pitch),
        Channel("chassis/speed", "m/s", frame="", read=speed),
        Channel("cost/increase", "1", frame="", read=lambda: np.full(len(data), cost)),
    ]


@dataclass(frozen=True)
class Balance:
    """Balance of a vehicle at constant acceleration on level ground."""

    acceleration: float  # [m/s^2]
    pitch: float  # [rad] nose up
    normal: np.ndarray  # [N], (axle,) normal force of one wheel
    height: float  # [m] of the centre of mass
    wheel_reaction: float  # [N m] reaction of the wheels' angular acceleration on the chassis: sum I w'


def balance(v: Vehicle, torque: float, gravity: float) -> Balance:
    """Solve the balance of forces and moments of the whole vehicle, its springs and its rolling wheels.

    The unknowns are height, pitch, acceleration and the slips.

    tan(pitch) = (h_rear - h_front) / L follows from wheels of one size on level ground (Morrot et al., Fig. 8).
    """
    from scipy.optimize import root

    x = np.array([w.x for w in v.wheels])
    z = np.array([w.z for w in v.wheels])
    driven = np.array([w.driven for w in v.wheels], float)
    r, m, inertia = v.tyre.radius, v.chassis.mass, v.wheel_inertia

    def state(unknown: np.ndarray):
        height, pitch, acceleration, slip = unknown[0], unknown[1], unknown[2] * gravity, unknown[3:]
        travel = (r - height - x * math.sin(pitch)) / math.cos(pitch) - z
        spring = np.array([v.suspension.force(h) for h in travel])
        wheel_acceleration = acceleration * (1 + slip) / r
        along = (torque * driven - inertia * wheel_acceleration) / r
        normal = (spring + along * math.sin(pitch)) / math.cos(pitch)  # eq. 10 with gamma = -pitch
        ahead = x * math.cos(pitch) - (z + travel) * math.sin(pitch)
        return height, pitch, acceleration, slip, wheel_acceleration, along, normal, ahead

    def residual(unknown: np.ndarray) -> np.ndarray:
        height, _, acceleration, slip, wheel_acceleration, along, normal, ahead = state(unknown)
        weight = m * gravity
        tyre = np.array([float(v.tyre.longitudinal(s, n)) for s, n in zip(slip, normal, strict=True)])
        return np.array([
            normal.sum() / weight - 1,
            along.sum() / weight - acceleration / gravity,
            ((ahead * normal).sum() + height * along.sum() + inertia * wheel_acceleration.sum()) / weight,
            *((tyre - along) / weight),
        ])  # fmt: skip

    start = np.array([v.rest_height(gravity), 0.0, 0.0, *([0.0] * len(x))])
    with np.errstate(divide="ignore", invalid="ignore"):  # wheels that lift off in an iteration have no stiffness
        found = root(residual, start, tol=1e-13)
        solved = np.abs(residual(found.x)).max() <= SOLVED
    if not solved:
        raise InputError(
            f"torques = {torque:g} N m: more than the tyres of {v.name!r} can transmit at a constant acceleration"
        )
    height, pitch, acceleration, _, wheel_acceleration, _, normal, _ = state(found.x)
    front = [normal[axle].mean() for axle in v.axles]
    return Balance(acceleration, pitch, np.array(front), height, float(inertia * wheel_acceleration.sum()))


def paper_front(v: Vehicle, acceleration: float, height: float, gravity: float) -> float:
    """Normal force [N] of one front wheel: N_front = m (g L_1 - a h_cm) / L for the axle (Morrot et al., Fig. 8)."""
    front, rear = v.wheels[v.axles[0][0]].x, v.wheels[v.axles[-1][0]].x
    axle = v.chassis.mass * (gravity * -rear - acceleration * height) / (front - rear)
    return axle / len(v.axles[0])


def metrics(s: ViviAcceleration) -> list[dict[str, Any]]:
    worst = f"worst of the torques, mean over the last {END:g} s"
    level = [
        metric(
            "front_normal_force_error_rel", "1", f"normal force of a front wheel against the balance, {worst}",
            0.0, {"abs": s.bar}, f"{PAPER}, section 4: {'0.03' if s.bar == FINE_BAR else '0.34'} %",
        ),
        metric(
            "pitch_error_deg", "deg", f"pitch of the chassis against the balance, {worst}",
            0.0, {"abs": PITCH_BAR}, f"{PAPER}, section 4: less than 0.01 deg",
        ),
        metric("front_normal_force_paper_error_rel", "1",
               f"the same against m (g L_1 - a h_cm) / L, which ignores pitch and wheel inertia, {worst}"),
    ]  # fmt: skip
    return [
        *(level if s.terrain is None else []),
        metric("front_normal_force_N", "N", "of one front wheel, one value for each torque"),
        metric("rear_normal_force_N", "N", "of one rear wheel, one value for each torque"),
        metric("pitch_deg", "deg", "nose up, one value for each torque"),
        metric("acceleration_m_s2", "m/s^2", "of the chassis, one value for each torque"),
        metric("slice_cost_increase_rel", "1",
               f"wall time of a step with {MANY} slices over that with {FEW}, less one, without refinement "
               f"({PAPER}, section 4: 4.67)"),
        metric("real_time_factor", "1", "simulated time over wall time of the loop"),
    ]  # fmt: skip


def figures(s: ViviAcceleration) -> list[dict[str, Any]]:
    return [
        {
            "name": "normal-force", "title": "Normal forces of a front and a rear wheel", "kind": "lines",
            "y": ["tyre/normal_force[wheel_fl]", "tyre/normal_force[wheel_rl]"] if s.vehicle == "vivi"
            else ["tyre/normal_force"],
            "ylabel": "normal force [N]", "window": [0.01, None],
            "caption": "One thin line for each torque (Morrot et al., Fig. 8).",
        },
        {
            "name": "pitch", "title": "Pitch of the chassis", "kind": "lines", "y": ["chassis/pitch_deg"],
            "ylabel": "pitch, nose up [deg]", "caption": "It oscillates when the torque starts, then settles.",
        },
        {
            "name": "speed", "title": "Speed", "kind": "lines", "y": ["chassis/speed"], "ylabel": "speed [m/s]",
            "caption": "Constant torques give constant accelerations.",
        },
    ]  # fmt: skip


def measure(s: ViviAcceleration, recording: Recording) -> dict[str, Any]:
    v = s.chosen_vehicle()
    last = recording.time >= recording.time[-1] - END
    count = len(s.torques)
    normal = _worlds(recording, "tyre/normal_force", count)[last]
    pitch = _worlds(recording, "chassis/pitch_deg", count)[last].mean(axis=0)
    speed = _worlds(recording, "chassis/speed", count)[last]
    times = recording.time[last]
    acceleration = (speed[-1] - speed[0]) / (times[-1] - times[0])
    front = normal[:, :, v.axles[0]].mean(axis=(0, 2))
    rear = normal[:, :, v.axles[-1]].mean(axis=(0, 2))
    return {
        **(_against_balance(s, v, front, pitch, acceleration) if s.terrain is None else {}),
        "front_normal_force_N": front.tolist(),
        "rear_normal_force_N": rear.tolist(),
        "pitch_deg": pitch.tolist(),
        "acceleration_m_s2": acceleration.tolist(),
        "slice_cost_increase_rel": float(_worlds(recording, "cost/increase", count)[-1, 0]),
    }


def _against_balance(
    s: ViviAcceleration, v: Vehicle, front: np.ndarray, pitch: np.ndarray, acceleration: np.ndarray
) -> dict[str, float]:
    oracles = [balance(v, torque, s.gravity) for torque in s.torques]
    wanted = np.array([o.normal[0] for o in oracles])
    paper = np.array([
        paper_front(v, a, o.height, s.gravity) for a, o in zip(acceleration, oracles, strict=True)
    ])  # fmt: skip
    return {
        "front_normal_force_error_rel": float(np.abs(front / wanted - 1).max()),
        "pitch_error_deg": float(np.abs(pitch - np.degrees([o.pitch for o in oracles])).max()),
        "front_normal_force_paper_error_rel": float(np.abs(front / paper - 1).max()),
    }


def _worlds(recording: Recording, channel: str, count: int) -> np.ndarray:
    """Values of a channel, (frame, world, …), for one world or many."""
    values = np.asarray(recording[channel])
    return values[:, None] if count == 1 else values


SCENARIO = scenario_of(
    __name__, ViviAcceleration,
    summary="a four-wheel vehicle accelerates under constant torques: normal forces and pitch against theory",
    source=f"{PAPER}, section 4, Fig. 8",
)  # fmt: skip
