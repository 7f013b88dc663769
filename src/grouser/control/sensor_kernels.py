"""Kernel of the virtual sensors: readings from MjData and the tyre module.

MuJoCo's arrays and the readings are float64; `real` and `vec3` have the float type of the tyres.
"""

from __future__ import annotations

import warp as wp

from grouser import device
from grouser.device import array, array2d, struct
from grouser.precision import real, vec3, vec6

MODULE = device.module("grouser.control.sensors")


@struct
class Sensed:
    """Sensor readings of a vehicle; written by `sense`, read by controllers."""

    time: array[wp.float64]  # [s], (world,)
    wheel_rate: array2d[wp.float64]  # [rad/s], (world, wheel)
    contact: array2d[wp.bool]  # (world, wheel)
    contact_angle: array2d[wp.float64]  # [rad], (world, wheel)
    load: array2d[wp.float64]  # [N], (world, wheel)
    speed: array[wp.float64]  # [m/s], (world,) along the chassis' x axis
    attitude: array[wp.vec3d]  # [rad], (world,) roll, pitch, yaw
    angular_velocity: array[wp.vec3d]  # [rad/s], (world,) chassis axes
    specific_force: array[wp.vec3d]  # [m/s^2], (world,) chassis axes
    position: array[wp.vec3d]  # [m], (world,) world axes
    rotation: array[wp.mat33d]  # (world,) chassis to world


@struct
class LastReading:
    """State of the sensors: values of the previous reading that the accelerometers need."""

    last_velocity: array[wp.vec3d]  # [m/s], (world,) world axes
    last_time: array[wp.float64]  # [s], (world,)
    last_known: array[int]  # (world,) 0: no reading yet


@struct
class Wires:
    """Inputs of the sensors of one world: indices, and views of its MjData."""

    world: int
    chassis: int  # body
    free_dof: int  # first degree of freedom of its free joint
    wheel_dofs: array[int]  # (wheel,)
    gravity: wp.vec3d  # [m/s^2]
    speeds: array[wp.float64]  # [m/s or rad/s], (dof,) qvel
    positions: array[wp.vec3d]  # [m], (body,) xpos
    rotations: array[wp.mat33d]  # (body,) xmat


@wp.func
def roll_pitch_yaw(R: wp.mat33d):
    """Roll (left side up), pitch (nose up) and yaw (to the left) [rad] of a rotation."""
    level = wp.sqrt(R[2, 1] * R[2, 1] + R[2, 2] * R[2, 2])
    return wp.vec3d(wp.atan2(R[2, 1], R[2, 2]), wp.atan2(R[2, 0], level), wp.atan2(R[1, 0], R[0, 0]))


@wp.func
def specific_force(last: LastReading, world: int, velocity: wp.vec3d, time: wp.float64, gravity: wp.vec3d):
    """Mean specific force [m/s^2] since the last reading: (v - v_last) / dt - g, or -g at the first reading.

    A mean includes everything an accelerometer measures between two readings. The value at one instant would depend on
    the phase of a vibration.
    """
    elapsed = time - last.last_time[world]
    if last.last_known[world] == 1 and elapsed > wp.float64(0.0):
        return (velocity - last.last_velocity[world]) / elapsed - gravity
    return -gravity


@wp.kernel(module=MODULE)
def sense(
    wires: Wires, clock: array[wp.float64],
    touching: array2d[int], angle: array2d[real], force: array2d[vec3],
    last: LastReading, sensed_out: Sensed,
):  # fmt: skip
    """Read all sensors of one world. `touching`, `angle` [rad] and `force` [N], (world, wheel) come from the tyres."""
    world = wires.world
    time = clock[0]
    for k in range(wires.wheel_dofs.shape[0]):
        sensed_out.wheel_rate[world, k] = wires.speeds[wires.wheel_dofs[k]]
        sensed_out.contact[world, k] = touching[world, k] != 0
        sensed_out.contact_angle[world, k] = wp.float64(angle[world, k])
        sensed_out.load[world, k] = wp.float64(force[world, k][2])

    # For a free joint, MuJoCo gives the velocity in world axes and the angular velocity in body axes.
    R = wires.rotations[wires.chassis]
    dof = wires.free_dof
    v = wp.vec3d(wires.speeds[dof], wires.speeds[dof + 1], wires.speeds[dof + 2])
    sensed_out.time[world] = time
    sensed_out.position[world] = wires.positions[wires.chassis]
    sensed_out.rotation[world] = R
    sensed_out.angular_velocity[world] = wp.vec3d(wires.speeds[dof + 3], wires.speeds[dof + 4], wires.speeds[dof + 5])
    sensed_out.speed[world] = v[0] * R[0, 0] + v[1] * R[1, 0] + v[2] * R[2, 0]
    sensed_out.attitude[world] = roll_pitch_yaw(R)

    sensed_out.specific_force[world] = wp.transpose(R) * specific_force(last, world, v, time, wires.gravity)
    last.last_velocity[world] = v
    last.last_time[world] = time
    last.last_known[world] = 1


@wp.kernel(module=MODULE)
def feel_soil(
    wires: Wires, effective: array2d[vec6],
    touching_out: array2d[int], angle_out: array2d[real], force_out: array2d[vec3],
):  # fmt: skip
    """What `sense` reads of tyres, for rigid wheels on soil: the force of the last step in chassis axes.

    Soil presses on an arc of the rim and not at a point; the middle of the arc counts as straight below the axle.
    """
    world = wires.world
    R = wires.rotations[wires.chassis]
    for k in range(wires.wheel_dofs.shape[0]):
        f = effective[world, k]
        local = wp.transpose(R) * wp.vec3d(wp.float64(f[0]), wp.float64(f[1]), wp.float64(f[2]))
        load = wp.max(local[2], wp.float64(0.0))
        touching_out[world, k] = wp.where(load > wp.float64(0.0), 1, 0)
        angle_out[world, k] = real(0.0)
        force_out[world, k] = vec3(real(local[0]), real(local[1]), real(load))
