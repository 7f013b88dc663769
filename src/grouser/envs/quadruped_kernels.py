"""Kernels of the quadruped's task: the start, joints from actions, features, reward and end."""

from __future__ import annotations

import math

import warp as wp

from grouser.device import array, array2d, struct
from grouser.envs.kernels import (
    MODULE,
    Episode,
    Robot,
    base_position,
    base_rotation,
    has_failed,
    heading_of,
    sense_motion,
)
from grouser.envs.task import DISTANCE, ENERGY, RETURN, SLIP_PATH, SUCCESS
from grouser.robots import quadruped

REACH = 0.6  # [rad] of a joint from its stance at action 1
PERIOD = quadruped.PERIOD
TWO_PI = 2 * math.pi
TIPPED = math.cos(math.radians(50))
LOWEST = 0.14  # [m] of the trunk above the ground
SIDE = 3.0  # [m] half the side of the ground
MARGIN = 0.5  # [m]
SPEED_WIDTH, TURN_WIDTH = 0.25, 0.5  # [m/s], [rad/s] errors at which the rewards fall to 1/e


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
