"""Kernels of the rover's tasks: the start on a plane, wheels from actions, features, reward and end."""

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

SPEED = 0.12  # [m/s] at action 1; rims of outer wheels are faster in a turn
CURVATURE = 0.9  # [1/m] at action 1
TRIM = 0.3  # by which actions change the rates of front and rear wheels
STEER_RATE = 0.5  # [rad/s]
ARRIVED = 0.2  # [m] from the goal
TIPPED = math.cos(math.radians(40))  # cosine of the tilt beyond which a rover has failed
MARGIN = 1.0  # [m] between the origin of the rover and the edge of the ground
REAR, FRONT, SIDE = -1.4, 3.4, 2.4  # [m] bounds of the ground


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
