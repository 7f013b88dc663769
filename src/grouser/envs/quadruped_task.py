"""A quadruped follows a velocity on sand."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import mujoco
import numpy as np
import warp as wp

from grouser.contact.soil import prepare
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
from grouser.envs.rover_tasks import heading_of
from grouser.envs.task import DISTANCE, ENERGY, IMU_ERRORS, RETURN, SLIP_PATH, SUCCESS, Range, Task, Value, plane
from grouser.robots import quadruped
from grouser.robots.quadruped import JOINTS, LEGS
from grouser.simulation.shapes import geom_mesh
from grouser.terrain.soils import soil

REACH = 0.6  # [rad] of a joint from its stance at action 1
PERIOD = quadruped.PERIOD
TWO_PI = 2 * math.pi
TIPPED = math.cos(math.radians(50))
LOWEST = 0.14  # [m] of the trunk above the ground
SIDE = 3.0  # [m] half the side of the ground
MARGIN = 0.5  # [m]
SPEED_WIDTH, TURN_WIDTH = 0.25, 0.5  # [m/s], [rad/s] errors at which the rewards fall to 1/e
FEATURES = (
    "wanted_speed", "wanted_turn", "phase_sine", "phase_cosine", *(f"imu_{k}" for k in range(IMU)), "speed",
    "side_speed",
)  # fmt: skip


@struct
class Walker:
    """Constants of the quadruped and of its rewards."""

    stance: array[float]  # [rad], (joint,)
    height: float  # [m] of the trunk at the start
    weight: float  # [N]
    speed: int  # rows of `drawn`
    turn: int
    imu: int
    limit: int
    speed_gain: float  # [1/s] rewards, see docs/envs.md
    turn_gain: float  # [1/s]
    energy_gain: float  # [1/m] of energy over weight
    failure_gain: float


@wp.kernel(module=MODULE)
def start_walker(mask: array[int], c: Walker, e: Episode, qpos_out: array2d[float], terrain_out: array[int]):
    """Stand at the origin, and take the wanted velocity that was drawn."""
    world = wp.tid()
    if mask[world] == 0:
        return
    terrain_out[world] = 0
    e.goal[world] = wp.vec3(e.drawn[c.speed, world], e.drawn[c.turn, world], 0.0)
    for k in range(7):
        qpos_out[world, k] = 0.0
    qpos_out[world, 2] = c.height
    qpos_out[world, 3] = 1.0
    for k in range(c.stance.shape[0]):
        qpos_out[world, 7 + k] = c.stance[k]


@wp.kernel(module=MODULE)
def command_walker(c: Walker, r: Robot, ctrl: array2d[float]):
    """Actions are wanted angles of the joints, from those of the stance."""
    world = wp.tid()
    for k in range(c.stance.shape[0]):
        ctrl[world, k] = c.stance[k] + REACH * r.action[world, k]


@wp.kernel(module=MODULE)
def judge_walker(mask: array[int], first: int, c: Walker, r: Robot, e: Episode):
    """Features of the chosen worlds; unless it is the first look of an episode, reward and end as well."""
    world = wp.tid()
    if mask[world] == 0:
        return
    turn = base_rotation(r.qpos, world)
    position = base_position(r.qpos, world)
    moved = position - base_position(e.before_qpos, world)
    heading = heading_of(turn)
    speed = (wp.cos(heading) * moved[0] + wp.sin(heading) * moved[1]) / r.period
    side = (wp.cos(heading) * moved[1] - wp.sin(heading) * moved[0]) / r.period
    yaw = heading - heading_of(base_rotation(e.before_qpos, world))
    yaw = wp.atan2(wp.sin(yaw), wp.cos(yaw)) / r.period
    if first == 0:
        e.elapsed[world] += 1
    phase = TWO_PI * float(e.elapsed[world]) * r.period / PERIOD
    e.features[world, 0] = e.goal[world][0]
    e.features[world, 1] = e.goal[world][1]
    e.features[world, 2] = wp.sin(phase)
    e.features[world, 3] = wp.cos(phase)
    sense_motion(e, r, world, 4, c.imu)
    e.features[world, 10] = speed
    e.features[world, 11] = side
    if first == 1:
        return
    energy = float(0.0)
    for k in range(c.stance.shape[0]):
        energy += wp.max(r.force[world, k] * r.qvel[world, 6 + k], 0.0) * r.period
    up = wp.quat_rotate(turn, wp.vec3(0.0, 0.0, 1.0))
    off = wp.max(wp.abs(position[0]), wp.abs(position[1])) > SIDE - MARGIN
    fell = has_failed(r, world) or up[2] < TIPPED or position[2] < LOWEST
    speed_error = ((speed - e.goal[world][0]) * (speed - e.goal[world][0]) + side * side) / (SPEED_WIDTH * SPEED_WIDTH)
    turn_error = (yaw - e.goal[world][1]) / TURN_WIDTH
    reward = r.period * (c.speed_gain * wp.exp(-speed_error) + c.turn_gain * wp.exp(-turn_error * turn_error))
    reward -= c.energy_gain * energy / c.weight
    reward -= wp.where(fell, c.failure_gain, 0.0)
    reward = wp.where(wp.isfinite(reward), reward, -c.failure_gain)
    ends = e.elapsed[world] >= c.limit or off
    e.reward[world] = reward
    e.terminated[world] = fell
    e.truncated[world] = ends and not fell
    e.totals[world, RETURN] += reward
    e.totals[world, ENERGY] += energy
    e.totals[world, SLIP_PATH] += wp.abs(speed - e.goal[world][0]) * r.period  # path by which it is ahead or behind
    e.totals[world, DISTANCE] += wp.abs(speed) * r.period
    e.totals[world, SUCCESS] = wp.where(ends and not fell, 1.0, 0.0)


# ---- data -------------------------------------------------------------------------------------------

REWARD = {"speed_gain": 1.0, "turn_gain": 0.5, "energy_gain": 0.5, "failure_gain": 2.0}
SOILS = {
    "k_phi": Range(5e5, 3e6, logarithmic=True),  # [N/m^(n+2)]
    "n": Range(0.8, 1.1),
    "cohesion": Range(100.0, 1500.0),  # [Pa]
    "friction_angle_deg": Range(27.0, 36.0),
    "shear_modulus": Range(0.01, 0.025),  # [m]
}
OUTSIDE = {
    "k_phi": Range(2.5e5, 5e5, logarithmic=True),
    "cohesion": Range(0.0, 100.0),
    "friction_angle_deg": Range(23.0, 27.0),
    "shear_modulus": Range(0.025, 0.035),
}
IMU_BIAS = dict.fromkeys(IMU_ERRORS[:3], Range(-0.02, 0.02)) | dict.fromkeys(IMU_ERRORS[3:], Range(-0.01, 0.01))
DRAWN = {**SOILS, "speed": Range(0.0, 0.5), "turn": Range(-0.3, 0.3), **IMU_BIAS}
LIMIT = 250  # control periods: 5 s
_AHEAD, _LEFT = np.meshgrid(np.linspace(-0.3, 0.5, 5), np.linspace(-0.2, 0.2, 3), indexing="ij")
SCAN = _AHEAD.ravel(), _LEFT.ravel()


def _constants(model: mujoco.MjModel, rows: Mapping[str, int], device: Any) -> Any:
    c: Any = Walker()
    c.stance = wp.array(quadruped.stance().astype(np.float32), dtype=float, device=device)
    c.height, c.weight = quadruped.HIP + quadruped.FOOT, quadruped.MASS * float(np.linalg.norm(model.opt.gravity))
    c.speed, c.turn, c.imu, c.limit = rows["speed"], rows["turn"], rows[IMU_ERRORS[0]], LIMIT
    for name, gain in REWARD.items():
        setattr(c, name, gain)
    return c


def _readings(model: mujoco.MjModel) -> list[Value]:
    """Wanted velocity, clock of the stride, IMU, joints, torques, last action."""
    stand, f = quadruped.stance(), kernels.FEATURES
    return [
        Value("wanted_speed", f, 0, 2.0),
        Value("wanted_turn", f, 1, 2.0),
        Value("phase_sine", f, 2),
        Value("phase_cosine", f, 3),
        *(Value(f"imu_force_{axis}", f, 4 + k, 1.0, float(k == 2), 0.02) for k, axis in enumerate("xyz")),
        *(Value(f"imu_turn_{axis}", f, 7 + k, 0.5, 0.0, 0.02) for k, axis in enumerate("xyz")),
        *(Value(f"angle_{n}", kernels.QPOS, 7 + k, 2.0, float(stand[k]), 0.005) for k, n in enumerate(JOINTS)),
        *(Value(f"rate_{n}", kernels.QVEL, 6 + k, 0.1, 0.0, 0.05) for k, n in enumerate(JOINTS)),
        *(Value(f"torque_{n}", kernels.FORCE, k, 0.05, 0.0, 0.2) for k, n in enumerate(JOINTS)),
        *(Value(f"last_{n}", kernels.ACTION, k) for k, n in enumerate(JOINTS)),
    ]


def _simulator_readings(model: mujoco.MjModel) -> list[Value]:
    """Velocity of the trunk, sinkage of the feet, constants of the soil, height scan."""
    middle = {name: (bounds.low + bounds.high) / 2 for name, bounds in SOILS.items()}
    return [
        *(Value(FEATURES[k], kernels.FEATURES, k, 2.0) for k in (10, 11)),
        *(Value(f"sinkage_{n}", kernels.SINKAGE, k, 20.0) for k, n in enumerate(LEGS)),
        *(Value(name, kernels.DRAWN, k, 1 / middle[name], middle[name]) for k, name in enumerate(SOILS)),
        *(Value(f"height_{k}", kernels.SCAN, k, 5.0, -quadruped.HIP) for k in range(len(SCAN[0]))),
    ]


def _surfaces() -> dict[str, Any]:
    model = quadruped.build().compile()
    return {
        f"foot_{leg}": prepare(*geom_mesh(model, int(model.body(f"foot_{leg}").geomadr[0])), name=f"foot_{leg}")
        for leg in LEGS
    }


def quadruped_sand() -> Task:
    """Follow a forward speed and a turn rate for 5 s."""
    return Task(
        name="QuadrupedSand", spec=quadruped.build, surfaces=_surfaces,
        terrains=[plane((0.0, 0.0), (-SIDE, SIDE), (-SIDE, SIDE))], soil=soil("dry-sand"), step=1.25e-3, steps=16,
        limit=LIMIT, actions=JOINTS, drawn=DRAWN, outside=OUTSIDE, features=FEATURES, readings=_readings,
        simulator_readings=_simulator_readings, scan=SCAN, constants=_constants, start=start_walker,
        command=command_walker, judge=judge_walker, spacing=0.005, tiles=256, notes="follow a velocity on sand",
    )  # fmt: skip
