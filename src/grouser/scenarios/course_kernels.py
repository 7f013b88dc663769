"""Kernel that computes the recorded values of vehicles on a course."""

from __future__ import annotations

import warp as wp

from grouser import device
from grouser.device import array, array2d, struct
from grouser.precision import real

MODULE = device.module("grouser.scenarios.course")


@struct
class CourseValues:
    """Channels of a course, (vehicle,). Each field is the channel `course/…` of the same name, written by `observe`."""

    speed: array[real]  # [m/s] of the centre of mass along the chassis
    power: array[real]  # [W] electric power of the motors that draw power
    energy: array[real]  # [J] taken from the battery
    battery_current: array[real]  # [A]
    upright: array[real]  # [1] cosine of the chassis' tilt
    pitch_deg: array[real]  # [deg] nose up
    distance: array[real]  # [m] x of the centre of mass
    height: array[real]  # [m] z of the centre of mass


@struct
class Chassis:
    """The chassis of one vehicle and views of MjData. The origin of the chassis is its centre of mass."""

    vehicle: int
    body: int
    dof: int  # first degree of freedom
    velocity: array[real]  # [m/s or rad/s], (dof,) qvel
    rotation: array[wp.mat33d]  # (body,) xmat
    position: array[wp.vec3d]  # [m], (body,) xpos


@wp.kernel(module=MODULE)
def observe(c: Chassis, power: array2d[real], energy: array[real], current: array[real], values_out: CourseValues):
    """Compute the values of one vehicle. `power` [W], (world, motor), `energy` [J] and `current` [A] of its battery."""
    R = c.rotation[c.body]
    drawn = real(0.0)
    for k in range(power.shape[1]):
        drawn += wp.max(power[0, k], real(0.0))
    along = c.velocity[c.dof] * R[0, 0] + c.velocity[c.dof + 1] * R[1, 0] + c.velocity[c.dof + 2] * R[2, 0]
    values_out.speed[c.vehicle] = along
    values_out.power[c.vehicle] = drawn
    values_out.energy[c.vehicle] = energy[0]
    values_out.battery_current[c.vehicle] = current[0]
    values_out.upright[c.vehicle] = R[2, 2]
    values_out.pitch_deg[c.vehicle] = wp.degrees(wp.asin(wp.clamp(R[2, 0], real(-1.0), real(1.0))))
    values_out.distance[c.vehicle] = c.position[c.body][0]
    values_out.height[c.vehicle] = c.position[c.body][2]
