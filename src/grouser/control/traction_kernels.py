"""Kernels of the speed controllers: sensor readings in, motor controls out."""

from __future__ import annotations

import warp as wp

from grouser import device
from grouser.control import traction_laws as laws
from grouser.control.sensor_kernels import Sensed
from grouser.control.traction_laws import AxleState, Scratch, Vehicle
from grouser.device import array, struct
from grouser.precision import real

MODULE = device.module("grouser.control.traction")


@struct
class Smoothed:
    """State of the allocation: smoothed accelerometers; read and written by `cdta`."""

    smooth_along: array[real]  # [m/s^2], (world,) specific force along the chassis
    smooth_up: array[real]  # [m/s^2], (world,) specific force upwards


@wp.func
def wanted_force(v: Vehicle, s: Sensed, world: int):
    """Wanted force along the chassis [N]: m (k (v_wanted - v) + g sin(pitch))."""
    return v.mass * (v.gain * (v.speed[0] - s.speed[world]) + v.gravity * wp.sin(s.attitude[world][1]))


@wp.func
def upside_down(s: Sensed, world: int):
    return s.rotation[world][2, 2] < real(0.0)


@wp.func
def send_torques(v: Vehicle, torque: array[real], command_out: array[real]):
    """Write the controls of the motors: torque at the wheel divided by the gear ratio."""
    for k in range(v.axles.shape[0]):
        for j in range(v.axles[k].count):
            entry = v.axles[k].first + j
            command_out[v.actuators[entry]] = torque[k] / v.gears[entry]


@wp.kernel(module=MODULE)
def proportional(
    v: Vehicle, s: Sensed, world: int, torque_out: array[real], speed_out: array[real], command_out: array[real],
):  # fmt: skip
    """Same force from every driven wheel, within the motors' torque limits; zero while the vehicle is upside down."""
    share = wanted_force(v, s, world) / real(v.driven)
    for k in range(v.axles.shape[0]):
        a = v.axles[k]
        torque = wp.clamp(share * a.radius, -a.torque_limit, a.torque_limit)
        torque_out[k] = wp.where(upside_down(s, world), real(0.0), torque)
    speed_out[world] = s.speed[world]
    send_torques(v, torque_out, command_out)


@wp.func
def update_axles(v: Vehicle, s: Sensed, world: int, up: real, present: real, axles_out: array[AxleState]):
    """Compute the state of each axle from the readings of its wheels. Returns the number of wheels on the ground."""
    on_ground = int(0)
    for k in range(v.axles.shape[0]):
        a = v.axles[k]
        touching = int(0)
        angle = real(0.0)
        load = real(0.0)
        rate = real(0.0)
        for j in range(a.count):
            wheel = v.wheels[a.first + j]
            rate += s.wheel_rate[world, wheel]
            if s.contact[world, wheel]:  # a wheel in the air has no contact angle
                touching += 1
                angle += s.contact_angle[world, wheel]
                load += s.load[world, wheel]
        angle = angle / real(wp.max(touching, 1))
        axles_out[k] = laws.axle_state(
            a, real(touching), angle, load, rate / real(a.count), up, present, v.friction
        )  # fmt: skip
        on_ground += touching
    return on_ground


@wp.func
def allocate(v: Vehicle, s: Sensed, world: int, w: Scratch, torque_out: array[real]):
    """Compute torques that give the wanted force and keep all axles on the ground. Returns the force along [N]."""
    low, high = laws.force_range(w.axles)
    wanted = real(0.5) * (low + high)  # if no force keeps all axles down: a compromise
    if low <= high:
        wanted = wp.max(wp.min(wanted_force(v, s, world), high), low)
    # Without torques the slopes under the wheels push with this force. It needs no grip, so the search starts from it.
    coast = real(0.0)
    for k in range(w.axles.shape[0]):
        coast -= w.axles[k].static_load * w.axles[k].tangent
    along = laws.largest_feasible(laws.BY_GRIP, coast, wanted, v, w, torque_out)
    if v.power_limit < real(laws.UNBOUNDED):
        along = laws.largest_feasible(laws.BY_POWER, coast, along, v, w, torque_out)
    laws.wheel_torques(along, v, w, torque_out)
    return along


@wp.kernel(module=MODULE)
def cdta(
    v: Vehicle, s: Sensed, world: int, w: Scratch, smoothed: Smoothed, force_out: array[real],
    torque_out: array[real], speed_out: array[real], command_out: array[real],
):  # fmt: skip
    """CDTA: smallest sum of squared torques that gives the wanted force while every axle stays on the ground."""
    force_out[world] = real(0.0)
    for k in range(v.axles.shape[0]):
        torque_out[k] = real(0.0)
    if not upside_down(s, world):
        specific = s.specific_force[world]
        along = smoothed.smooth_along[world] + v.smoothing * (specific[0] - smoothed.smooth_along[world])
        up = smoothed.smooth_up[world] + v.smoothing * (specific[2] - smoothed.smooth_up[world])
        smoothed.smooth_along[world] = along
        smoothed.smooth_up[world] = up
        on_ground = update_axles(v, s, world, v.mass * up, v.mass * along, w.axles)
        if on_ground > 0 and up > real(0.0):
            force_out[world] = allocate(v, s, world, w, torque_out)
    speed_out[world] = s.speed[world]
    send_torques(v, torque_out, command_out)
