"""Two tasks of a rover of the ExoMars class: drive to a goal with least slip and energy, and climb a sandy slope."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import mujoco
import numpy as np
import warp as wp

from grouser.device import array, array2d, struct
from grouser.envs import kernels
from grouser.envs.kernels import (
    IMU,
    MODULE,
    Episode,
    Robot,
    base_position,
    base_rotation,
    has_failed,
    sense_motion,
)
from grouser.envs.task import DISTANCE, ENERGY, IMU_ERRORS, RETURN, SLIP_PATH, SUCCESS, Range, Task, Value, plane
from grouser.robots import exomars
from grouser.robots.exomars import WHEELS
from grouser.terrain.soils import soil

ROVER = exomars.ExoMars(drive_speed=1.0)  # [rad/s]: seven times the speed of the real one, for short episodes
SPEED = 0.12  # [m/s] at action 1; rims of outer wheels are faster in a turn
CURVATURE = 0.9  # [1/m] at action 1
TRIM = 0.3  # by which actions change the rates of front and rear wheels
STEER_RATE = 0.5  # [rad/s]
ARRIVED = 0.2  # [m] from the goal
TIPPED = math.cos(math.radians(40))  # cosine of the tilt beyond which a rover has failed
MARGIN = 1.0  # [m] between the origin of the rover and the edge of the ground
REAR, FRONT, SIDE = -1.4, 3.4, 2.4  # [m] bounds of the ground
TILTS = tuple((t, a) for t in (0.0, 3.0, 6.0, 9.0) for a in (-135.0, -45.0, 45.0, 135.0))  # [deg] and direction
GRADES = (8.0, 10.0, 12.0, 14.0, 16.0, 18.0)  # [deg]
FEATURES = (
    "goal_distance", "goal_ahead", "goal_left", "progress", *(f"imu_{k}" for k in range(IMU)), "speed", "side_speed",
)  # fmt: skip


@struct
class Rover:
    """Constants of the rover and of its rewards."""

    drive: array[int]  # (wheel,) index of the drive in qpos
    steer: array[int]  # (wheel,) index of the steering in qpos
    x: array[float]  # [m], (wheel,) of the steering axis in the chassis
    y: array[float]  # [m], (wheel,)
    slope_x: array[float]  # (terrain,) gradient of the ground
    slope_y: array[float]
    radius: float  # [m] of a wheel
    height: float  # [m] of the chassis above the ground
    weight: float  # [N]
    fastest: float  # [rad/s] of a wheel
    goal_distance: int  # rows of `drawn`
    goal_bearing: int
    heading: int
    terrain: int
    imu: int
    limit: int  # control periods of an episode
    progress_gain: float  # [1/m] rewards, see docs/envs.md
    slip_gain: float  # [1/m]
    energy_gain: float  # [1/m] of energy over weight
    time_gain: float  # [1/s]
    success_gain: float
    failure_gain: float


@wp.kernel(module=MODULE)
def start_rover(mask: array[int], c: Rover, e: Episode, qpos_out: array2d[float], terrain_out: array[int]):
    """Put the rover on its plane at the origin, and its goal where it was drawn."""
    world = wp.tid()
    if mask[world] == 0:
        return
    terrain = wp.min(int(e.drawn[c.terrain, world]), c.slope_x.shape[0] - 1)
    terrain_out[world] = terrain
    heading = e.drawn[c.heading, world]
    bearing = heading + e.drawn[c.goal_bearing, world]
    distance = e.drawn[c.goal_distance, world]
    e.goal[world] = wp.vec3(distance * wp.cos(bearing), distance * wp.sin(bearing), 0.0)
    up = wp.normalize(wp.vec3(-c.slope_x[terrain], -c.slope_y[terrain], 1.0))
    level = wp.vec3(wp.cos(heading), wp.sin(heading), 0.0)
    ahead = wp.normalize(level - wp.dot(level, up) * up)
    left = wp.cross(up, ahead)
    turn = wp.quat_from_matrix(wp.matrix_from_cols(ahead, left, up))
    for k in range(qpos_out.shape[1]):
        qpos_out[world, k] = 0.0
    for k in range(3):
        qpos_out[world, k] = c.height * up[k]
    qpos_out[world, 3] = turn[3]
    for k in range(3):
        qpos_out[world, 4 + k] = turn[k]


@wp.kernel(module=MODULE)
def command_rover(c: Rover, r: Robot, ctrl: array2d[float]):
    """Actions to wheels: speed, curvature, and how much faster front and rear wheels turn. Ackermann steering.

    A wheel at (x, y) moves along (1 - k y, k x) if the chassis moves ahead with curvature k.
    """
    world = wp.tid()
    wheels = c.x.shape[0]
    speed = 0.5 * (r.action[world, 0] + 1.0) * SPEED
    curvature = r.action[world, 1] * CURVATURE
    for k in range(wheels):
        along = 1.0 - curvature * c.y[k]
        across = curvature * c.x[k]
        trim = float(1.0)
        if k < 2:
            trim += TRIM * r.action[world, 2]
        if k >= wheels - 2:
            trim += TRIM * r.action[world, 3]
        rate = trim * speed * wp.sqrt(along * along + across * across) / c.radius
        ctrl[world, k] = wp.min(rate, c.fastest)
        most = STEER_RATE * r.period
        wanted = wp.atan2(across, along)
        ctrl[world, wheels + k] += wp.clamp(wanted - ctrl[world, wheels + k], -most, most)


@wp.func
def heading_of(turn: wp.quat):
    ahead = wp.quat_rotate(turn, wp.vec3(1.0, 0.0, 0.0))
    return wp.atan2(ahead[1], ahead[0])


@wp.kernel(module=MODULE)
def judge_rover(mask: array[int], first: int, c: Rover, r: Robot, e: Episode):
    """Features of the chosen worlds; unless it is the first look of an episode, reward and end as well."""
    world = wp.tid()
    if mask[world] == 0:
        return
    turn = base_rotation(r.qpos, world)
    position = base_position(r.qpos, world)
    before = base_position(e.before_qpos, world)
    heading = heading_of(turn)
    yaw = heading - heading_of(base_rotation(e.before_qpos, world))
    yaw = wp.atan2(wp.sin(yaw), wp.cos(yaw))
    moved = wp.quat_rotate_inv(turn, position - before)
    goal = wp.vec2(e.goal[world][0] - position[0], e.goal[world][1] - position[1])
    distance = wp.length(goal)
    progress = wp.length(wp.vec2(e.goal[world][0] - before[0], e.goal[world][1] - before[1])) - distance
    # The goal in axes of the rover: a unit vector, as a camera sees it.
    per = 1.0 / wp.max(distance, 0.01)
    e.features[world, 0] = distance
    e.features[world, 1] = per * (wp.cos(heading) * goal[0] + wp.sin(heading) * goal[1])
    e.features[world, 2] = per * (wp.cos(heading) * goal[1] - wp.sin(heading) * goal[0])
    e.features[world, 3] = progress
    sense_motion(e, r, world, 4, c.imu)
    e.features[world, 10] = moved[0] / r.period
    e.features[world, 11] = moved[1] / r.period
    if first == 1:
        return
    # A wheel that rolls without slip covers the path of its axle along its own direction.
    slipped = float(0.0)
    energy = float(0.0)
    wheels = c.x.shape[0]
    for k in range(wheels):
        angle = r.qpos[world, c.steer[k]]
        rolled = r.qpos[world, c.drive[k]] - e.before_qpos[world, c.drive[k]]
        path = wp.cos(angle) * (moved[0] - yaw * c.y[k]) + wp.sin(angle) * (moved[1] + yaw * c.x[k])
        slipped += wp.abs(c.radius * rolled - path) / float(wheels)
        energy += wp.max(r.force[world, k] * rolled, 0.0)
    e.elapsed[world] += 1
    up = wp.quat_rotate(turn, wp.vec3(0.0, 0.0, 1.0))
    off = position[0] < REAR + MARGIN or position[0] > FRONT - MARGIN or wp.abs(position[1]) > SIDE - MARGIN
    failed = has_failed(r, world) or up[2] < TIPPED or off
    arrived = distance < ARRIVED and not failed
    reward = (
        c.progress_gain * progress
        - c.slip_gain * slipped
        - c.energy_gain * energy / c.weight
        - c.time_gain * r.period
    )  # fmt: skip
    reward += wp.where(arrived, c.success_gain, 0.0)
    reward -= wp.where(failed, c.failure_gain, 0.0)
    reward = wp.where(wp.isfinite(reward), reward, -c.failure_gain)
    e.reward[world] = reward
    e.terminated[world] = arrived or failed
    e.truncated[world] = e.elapsed[world] >= c.limit and not (arrived or failed)
    e.totals[world, RETURN] += reward
    e.totals[world, ENERGY] += energy
    e.totals[world, SLIP_PATH] += slipped
    e.totals[world, DISTANCE] += wp.length(moved)
    e.totals[world, SUCCESS] = wp.where(arrived, 1.0, 0.0)


# ---- data -------------------------------------------------------------------------------------------

REWARD = {
    "progress_gain": 8.0, "slip_gain": 8.0, "energy_gain": 4.0, "time_gain": 0.05, "success_gain": 3.0,
    "failure_gain": 5.0,
}  # fmt: skip
SOILS = {
    "k_phi": Range(2e5, 1.5e6, logarithmic=True),  # [N/m^(n+2)]
    "n": Range(0.8, 1.1),
    "cohesion": Range(50.0, 800.0),  # [Pa]
    "friction_angle_deg": Range(25.0, 35.0),
    "shear_modulus": Range(0.01, 0.025),  # [m]
}
OUTSIDE = {  # softer and weaker than all soils of the training range
    "k_phi": Range(1.4e5, 2e5, logarithmic=True),
    "cohesion": Range(20.0, 50.0),
    "friction_angle_deg": Range(23.0, 25.0),
    "shear_modulus": Range(0.025, 0.03),
}
IMU_BIAS = dict.fromkeys(IMU_ERRORS[:3], Range(-0.02, 0.02)) | dict.fromkeys(IMU_ERRORS[3:], Range(-0.01, 0.01))


def _constants(slopes: list[tuple[float, float]], limit: int) -> Any:
    def made(model: mujoco.MjModel, rows: Mapping[str, int], device: Any) -> Any:
        c: Any = Rover()
        positions = exomars.wheel_positions(ROVER)

        def floats(values: Any) -> wp.array:
            return wp.array(np.asarray(values, np.float32), dtype=float, device=device)

        def integers(values: Any) -> wp.array:
            return wp.array(np.asarray(values, np.int32), dtype=int, device=device)

        c.drive = integers([model.joint(f"drive_{name}").qposadr[0] for name in WHEELS])
        c.steer = integers([model.joint(f"steer_{name}").qposadr[0] for name in WHEELS])
        c.x, c.y = floats(positions[:, 0]), floats(positions[:, 1])
        c.slope_x, c.slope_y = floats([one[0] for one in slopes]), floats([one[1] for one in slopes])
        c.radius, c.height, c.fastest = ROVER.wheel_radius, ROVER.longitudinal_pivot_height, ROVER.drive_speed
        c.weight = ROVER.mass * exomars.MARS
        for name in ("goal_distance", "goal_bearing", "heading", "terrain"):
            setattr(c, name, rows[name])
        c.imu, c.limit = rows[IMU_ERRORS[0]], limit
        for name, gain in REWARD.items():
            setattr(c, name, gain)
        return c

    return made


def _readings(model: mujoco.MjModel) -> list[Value]:
    """Goal as a camera and localisation show it, IMU, joints, torques of the drives, last action."""
    bogies = [model.joint(f"bogie_{name}").qposadr[0] for name in exomars.BOGIES]
    steers = [model.joint(f"steer_{name}").qposadr[0] for name in WHEELS]
    rates = [model.joint(f"drive_{name}").dofadr[0] for name in WHEELS]
    feature = {name: k for k, name in enumerate(FEATURES)}
    f = kernels.FEATURES
    return [
        Value("goal_distance", f, feature["goal_distance"], noise=0.01),
        Value("goal_ahead", f, feature["goal_ahead"], noise=0.01),
        Value("goal_left", f, feature["goal_left"], 2.0, noise=0.01),
        Value("progress", f, feature["progress"], 40.0, noise=0.002),
        *(Value(f"imu_force_{axis}", f, 4 + k, 5.0, float(k == 2), 0.01) for k, axis in enumerate("xyz")),
        *(Value(f"imu_turn_{axis}", f, 7 + k, 5.0, 0.0, 0.005) for k, axis in enumerate("xyz")),
        *(Value(f"bogie_{n}", kernels.QPOS, at, 5.0, 0.0, 0.002) for n, at in zip(exomars.BOGIES, bogies, strict=True)),
        *(Value(f"steer_{n}", kernels.QPOS, at, 2.0, 0.0, 0.002) for n, at in zip(WHEELS, steers, strict=True)),
        *(Value(f"rate_{n}", kernels.QVEL, at, 1.5, 0.0, 0.01) for n, at in zip(WHEELS, rates, strict=True)),
        *(Value(f"torque_{n}", kernels.FORCE, k, 0.05, 0.0, 0.3) for k, n in enumerate(WHEELS)),
        *(Value(f"last_{n}", kernels.ACTION, k) for k, n in enumerate(ACTIONS)),
    ]


def _simulator_readings(model: mujoco.MjModel) -> list[Value]:
    """Speed over ground, sinkage and slip of the wheels, constants of the soil, height scan."""
    rows = [name for name in _drawn({}) if name in SOILS]
    middle = {name: (bounds.low + bounds.high) / 2 for name, bounds in SOILS.items()}
    return [
        *(Value(FEATURES[k], kernels.FEATURES, k, 10.0) for k in (10, 11)),
        *(Value(f"sinkage_{n}", kernels.SINKAGE, k, 20.0) for k, n in enumerate(WHEELS)),
        *(Value(f"slip_{n}", kernels.SLIP, k) for k, n in enumerate(WHEELS)),
        *(Value(name, kernels.DRAWN, k, 1 / middle[name], middle[name]) for k, name in enumerate(rows)),
        *(Value(f"height_{k}", kernels.SCAN, k, 5.0, -ROVER.longitudinal_pivot_height) for k in range(len(SCAN[0]))),
    ]


def _drawn(more: Mapping[str, Range]) -> dict[str, Range]:
    """What is drawn at a reset: constants of the soil first."""
    return {**SOILS, **more, **IMU_BIAS}


def _slope(tilt_deg: float, direction_deg: float) -> tuple[float, float]:
    """Gradient of a plane that rises by `tilt_deg` towards `direction_deg`."""
    steepness, way = math.tan(math.radians(tilt_deg)), math.radians(direction_deg)
    return steepness * math.cos(way), steepness * math.sin(way)


def _task(name: str, slopes: list[tuple[float, float]], limit: int, drawn: Mapping[str, Range], notes: str) -> Task:
    bodies = tuple(f"wheel_{wheel}" for wheel in WHEELS)
    everything = _drawn({**drawn, "terrain": Range(0.0, float(len(slopes)))})
    return Task(
        name=name, spec=lambda: exomars.build(ROVER),
        surfaces=lambda: dict.fromkeys(bodies, exomars.wheel_surface(ROVER)),
        terrains=[plane(one, (REAR, FRONT), (-SIDE, SIDE)) for one in slopes], soil=soil("dry-sand"), step=5e-3, steps=40, limit=limit,
        actions=ACTIONS, drawn=everything, outside=OUTSIDE, features=FEATURES, readings=_readings,
        simulator_readings=_simulator_readings, scan=SCAN, constants=_constants(slopes, limit), start=start_rover,
        command=command_rover, judge=judge_rover, notes=notes,
    )  # fmt: skip


ACTIONS = ("speed", "curvature", "front", "rear")
_AHEAD, _LEFT = np.meshgrid(np.linspace(-0.8, 1.6, 7), np.linspace(-0.6, 0.6, 5), indexing="ij")
SCAN = _AHEAD.ravel(), _LEFT.ravel()


def rover_goal() -> Task:
    """Drive to a goal on a plane that is tilted in any direction."""
    slopes = [_slope(*one) for one in TILTS]
    drawn = {"goal_distance": Range(1.2, 2.0), "goal_bearing": Range(-0.6, 0.6), "heading": Range(-0.2, 0.2)}
    return _task("RoverGoal", slopes, 150, drawn, "drive to a goal with least slip and energy")


def rover_slope() -> Task:
    """Climb a slope to a goal above."""
    slopes = [_slope(grade, 0.0) for grade in GRADES]
    drawn = {"goal_distance": Range(1.5, 2.0), "goal_bearing": Range(-0.1, 0.1), "heading": Range(-0.1, 0.1)}
    return _task("RoverSlope", slopes, 200, drawn, "climb a sandy slope")
