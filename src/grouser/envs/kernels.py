"""Kernels that all environments share: random draws, the IMU, the observation and a scan of the ground.

Everything of an environment is float32, as MuJoCo Warp is. One thread works on one world, so a world draws the same
random numbers whichever worlds are beside it, on any device.
"""

from __future__ import annotations

import warp as wp

from grouser.device import array, array2d, module, struct
from grouser.precision import real
from grouser.terrain.ground import GroundArrays, surface_at

MODULE = module("grouser.envs")
SCAN_MODULE = module("grouser.envs.scan")
IMU = 6  # values of an IMU: specific force in units of gravity, angular velocity [rad/s], body axes
QPOS, QVEL, FORCE, ACTION, FEATURES, DRAWN, SINKAGE, SLIP, SCAN = range(9)  # where an observed value is from


@struct
class Episode:
    """What an environment keeps of the present episode of each world."""

    random: array[wp.uint32]  # (world,) state of the random numbers
    drawn: array2d[float]  # (quantity, world) what was drawn at the reset: soil constants, goal, errors of the IMU
    before_qpos: array2d[float]  # [m or rad], (world, nq) at the end of the last control period
    before_qvel: array2d[float]  # [m/s or rad/s], (world, nv)
    goal: array[wp.vec3]  # (world,) what the robot shall do; the task gives it its meaning
    elapsed: array[int]  # (world,) control periods since the reset
    features: array2d[float]  # (world, feature) quantities computed from the motion, to be observed
    totals: array2d[float]  # (world, total) sums since the reset; see TOTALS of `task.py`
    reward: array[float]  # (world,)
    terminated: array[wp.bool]  # (world,)
    truncated: array[wp.bool]  # (world,)


@struct
class Robot:
    """State of the robot in all worlds at the end of a control period."""

    qpos: array2d[float]  # [m or rad], (world, nq)
    qvel: array2d[float]  # [m/s or rad/s], (world, nv)
    force: array2d[float]  # [N or N m], (world, actuator)
    action: array2d[float]  # (world, action) -1 to 1
    diverged: array[int]  # (world,) 1: the simulation of this world has failed
    refused: array[int]  # (world,) 1: its action had a number that is not finite
    period: float  # [s] of control
    gravity: float  # [m/s^2]


@struct
class Reading:
    """One observed value each: scale (value - offset), with noise."""

    source: array[int]  # QPOS, QVEL, …
    index: array[int]
    offset: array[float]
    scale: array[float]
    noise: array[float]  # standard deviation of the value before it is scaled


@wp.func
def uniform(e: Episode, world: int, low: float, high: float):
    """A random number of a world, evenly distributed."""
    state = e.random[world]
    value = wp.randf(state, low, high)
    e.random[world] = state
    return value


@wp.func
def normal(e: Episode, world: int):
    """A random number of a world with mean 0 and standard deviation 1."""
    state = e.random[world]
    value = wp.randn(state)
    e.random[world] = state
    return value


@wp.func
def base_rotation(qpos: array2d[float], world: int):
    """Rotation of the base from its free joint, whose quaternion is w, x, y, z."""
    return wp.quat(qpos[world, 4], qpos[world, 5], qpos[world, 6], qpos[world, 3])


@wp.func
def base_position(qpos: array2d[float], world: int):
    return wp.vec3(qpos[world, 0], qpos[world, 1], qpos[world, 2])


@wp.func
def heading_of(turn: wp.quat):
    """Heading [rad] of the base, from x to y."""
    ahead = wp.quat_rotate(turn, wp.vec3(1.0, 0.0, 0.0))
    return wp.atan2(ahead[1], ahead[0])


@wp.func
def sense_motion(e: Episode, r: Robot, world: int, first: int, bias: int):
    """Write what an IMU on the base shows into the features from `first` on. `bias`: row of its first error in `drawn`.

    Specific force is the mean over the control period, (v - v_before) / T - g, angular velocity is that of now.
    """
    turn = base_rotation(r.qpos, world)
    change = wp.vec3()
    for k in range(3):
        change[k] = (r.qvel[world, k] - e.before_qvel[world, k]) / r.period
    specific = wp.quat_rotate_inv(turn, change + wp.vec3(0.0, 0.0, r.gravity)) / r.gravity
    for k in range(3):
        e.features[world, first + k] = specific[k] + e.drawn[bias + k, world]
        e.features[world, first + 3 + k] = r.qvel[world, 3 + k] + e.drawn[bias + 3 + k, world]


@wp.kernel(module=MODULE)
def seed_worlds(mask: array[int], seeds: array[int], random_out: array[wp.uint32]):
    """Start the random numbers of the chosen worlds from their seeds."""
    world = wp.tid()
    if mask[world] != 0:
        random_out[world] = wp.rand_init(seeds[world])


@wp.kernel(module=MODULE)
def draw_worlds(mask: array[int], low: array[float], high: array[float], logarithmic: array[int], e: Episode):
    """Draw all quantities of the chosen worlds, evenly between their bounds or evenly in their logarithm."""
    world = wp.tid()
    if mask[world] == 0:
        return
    for k in range(low.shape[0]):
        share = uniform(e, world, 0.0, 1.0)
        if logarithmic[k] == 1:
            e.drawn[k, world] = low[k] * wp.pow(high[k] / low[k], share)
        else:
            e.drawn[k, world] = low[k] + share * (high[k] - low[k])


@wp.kernel(module=MODULE)
def begin_episodes(mask: array[int], r: Robot, e: Episode, ctrl_out: array2d[float]):
    """Clear what belongs to the last episode of the chosen worlds."""
    world = wp.tid()
    if mask[world] == 0:
        return
    e.elapsed[world] = 0
    for k in range(e.totals.shape[1]):
        e.totals[world, k] = 0.0
    for k in range(r.action.shape[1]):
        r.action[world, k] = 0.0
    for k in range(ctrl_out.shape[1]):
        ctrl_out[world, k] = 0.0
    for k in range(r.force.shape[1]):
        r.force[world, k] = 0.0  # MuJoCo Warp keeps the forces of the last step
    for k in range(r.qpos.shape[1]):
        e.before_qpos[world, k] = r.qpos[world, k]
    for k in range(r.qvel.shape[1]):
        e.before_qvel[world, k] = r.qvel[world, k]


@wp.kernel(module=MODULE)
def end_period(mask: array[int], r: Robot, e: Episode):
    """Keep the motion at the end of a control period, for differences over the next one."""
    world = wp.tid()
    if mask[world] == 0:
        return
    for k in range(r.qpos.shape[1]):
        e.before_qpos[world, k] = r.qpos[world, k]
    for k in range(r.qvel.shape[1]):
        e.before_qvel[world, k] = r.qvel[world, k]


@wp.func
def has_failed(r: Robot, world: int):
    """Whether a world cannot go on: its simulation has diverged, or its action was not a number."""
    return r.diverged[world] != 0 or r.refused[world] != 0


@wp.kernel(module=MODULE)
def take_actions(given: array2d[float], r: Robot):
    """Limit actions to -1 … 1. A world whose action is not finite gets none, fails in this step and is reset."""
    world = wp.tid()
    r.refused[world] = 0
    for k in range(given.shape[1]):
        if not wp.isfinite(given[world, k]):
            r.refused[world] = 1
    for k in range(given.shape[1]):
        value = wp.clamp(given[world, k], -1.0, 1.0)
        r.action[world, k] = wp.where(r.refused[world] != 0, 0.0, value)


@wp.kernel(module=MODULE)
def either(first: array[wp.bool], second: array[wp.bool], mask_out: array[int], chosen_out: array[wp.bool]):
    world = wp.tid()
    ends = first[world] or second[world]
    chosen_out[world] = ends
    mask_out[world] = wp.where(ends, 1, 0)


@wp.kernel(module=MODULE)
def observe(
    mask: array[int], reading: Reading, r: Robot, e: Episode, sinkage: array2d[wp.float64], slip: array2d[wp.float64],
    scan: array2d[float], observed_out: array2d[float],
):  # fmt: skip
    """Write the observation of the chosen worlds, one value after the other."""
    world = wp.tid()
    if mask[world] == 0:
        return
    for k in range(reading.source.shape[0]):
        i = reading.index[k]
        source = reading.source[k]
        value = float(0.0)
        if source == QPOS:
            value = r.qpos[world, i]
        elif source == QVEL:
            value = r.qvel[world, i]
        elif source == FORCE:
            value = r.force[world, i]
        elif source == ACTION:
            value = r.action[world, i]
        elif source == FEATURES:
            value = e.features[world, i]
        elif source == DRAWN:
            value = e.drawn[i, world]
        elif source == SINKAGE:
            value = float(sinkage[world, i])
        elif source == SLIP:
            value = wp.clamp(float(slip[world, i]), -1.0, 1.0)
        else:
            value = scan[world, i]
        if reading.noise[k] > 0.0:
            value += reading.noise[k] * normal(e, world)
        value = reading.scale[k] * (value - reading.offset[k])
        observed_out[world, k] = wp.where(wp.isfinite(value), value, 0.0)


@wp.kernel(module=SCAN_MODULE)
def scan_ground(
    g: GroundArrays, qpos: array2d[wp.float32], ahead: array[wp.float32], left: array[wp.float32],
    heights_out: array2d[wp.float32],
):  # fmt: skip
    """Height [m] of the ground as it is now at points round the base, less that of the base. One thread a point.

    `ahead`, `left` [m]: the points, in axes that are level and turn with the heading of the base.
    """
    world, point = wp.tid()
    w = qpos[world, 3]
    x = qpos[world, 4]
    y = qpos[world, 5]
    z = qpos[world, 6]
    heading = wp.atan2(wp.float32(2.0) * (w * z + x * y), wp.float32(1.0) - wp.float32(2.0) * (y * y + z * z))
    c = wp.cos(heading)
    s = wp.sin(heading)
    px = qpos[world, 0] + c * ahead[point] - s * left[point]
    py = qpos[world, 1] + s * ahead[point] + c * left[point]
    column = wp.clamp(int(wp.rint((real(px) - g.x0) * g.per_spacing)), 0, g.columns - 1)
    row = wp.clamp(int(wp.rint((real(py) - g.y0) * g.per_spacing)), 0, g.rows - 1)
    heights_out[world, point] = wp.float32(surface_at(g, world, row, column)) - qpos[world, 2]
