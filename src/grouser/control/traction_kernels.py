"""Controllers of speed as kernels: what sensors say goes in, controls of the motors come out."""

import warp as wp

from grouser.control.sensor_kernels import Sensed
from grouser.control.traction_laws import (
    BY_GRIP,
    BY_POWER,
    UNBOUNDED,
    AxleData,
    Reals,
    Standing,
    farthest,
    grounded,
    standing,
    torques,
)

module = wp.get_module("grouser.control.traction")
module.options["enable_backward"] = False
real = wp.float64


@wp.struct
class Vehicle:
    """What a controller knows of its vehicle."""

    axles: wp.array(dtype=AxleData)
    wheels: wp.array(dtype=wp.int32)  # (entry,) in the order of the axles
    actuators: wp.array(dtype=wp.int32)  # (entry,)
    gears: wp.array(dtype=wp.float64)  # (entry,)
    mass: wp.float64  # [kg]
    gravity: wp.float64  # [m/s^2]
    gain: wp.float64  # [1/s]
    speed: wp.array(dtype=wp.float64)  # [m/s], (1,) wanted
    driven: wp.int32  # wheels
    friction: wp.float64  # peak D over load
    power_limit: wp.float64  # [W]
    smoothing: wp.float64  # share of a new reading of the accelerometers


@wp.struct
class Workplace:
    """Room for one world's reckoning; (axle,)."""

    axles: wp.array(dtype=Standing)
    weights: Reals
    bounds: Reals


@wp.func
def wanted_force(v: Vehicle, s: Sensed, world: int):
    """[N] along the chassis: m (k (v_wanted - v) + g sin(pitch))."""
    return v.mass * (v.gain * (v.speed[0] - s.speed[world]) + v.gravity * wp.sin(s.attitude[world][1]))


@wp.func
def give(v: Vehicle, s: Sensed, world: int, torque: Reals, command_out: Reals, seen_out: wp.array2d(dtype=real)):
    """Controls of the motors: torque at the wheel over the gear."""
    seen_out[world, 0] = s.speed[world]
    seen_out[world, 1] = s.attitude[world][1]
    for k in range(v.axles.shape[0]):
        for j in range(v.axles[k].count):
            entry = v.axles[k].first + j
            command_out[v.actuators[entry]] = torque[k] / v.gears[entry]


@wp.kernel(module=module)
def proportional(
    v: Vehicle, s: Sensed, world: int, torque_out: Reals, seen_out: wp.array2d(dtype=real), command_out: Reals,
):  # fmt: skip
    """Same force from every driven wheel, within the motors' torque; none on its back."""
    share = wanted_force(v, s, world) / real(v.driven)
    for k in range(v.axles.shape[0]):
        a = v.axles[k]
        torque = wp.clamp(share * a.radius, -a.torque_limit, a.torque_limit)
        torque_out[k] = wp.where(s.rotation[world][2, 2] < real(0.0), real(0.0), torque)
    give(v, s, world, torque_out, command_out, seen_out)


@wp.func
def stand(v: Vehicle, s: Sensed, world: int, up: real, present: real, axles_out: wp.array(dtype=Standing)):
    """How each axle stands; how many wheels are on the ground."""
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
            if s.contact[world, wheel]:
                touching += 1
                angle += s.contact_angle[world, wheel]
                load += s.load[world, wheel]
        angle = angle / real(wp.max(touching, 1))
        axles_out[k] = standing(a, real(touching), angle, load, rate / real(a.count), up, present, v.friction)
        on_ground += touching
    return on_ground


@wp.func
def allotted(v: Vehicle, s: Sensed, world: int, w: Workplace, torque_out: Reals):
    """[N] along the chassis that is asked for, and the torques that give it, all axles on the ground."""
    low, high = grounded(w.axles)
    wanted = real(0.5) * (low + high)
    if low <= high:
        wanted = wp.max(wp.min(wanted_force(v, s, world), high), low)
    coast = real(0.0)
    for k in range(w.axles.shape[0]):
        coast -= w.axles[k].rest * w.axles[k].tangent
    limit = v.power_limit
    along = farthest(BY_GRIP, coast, wanted, v.mass, limit, v.axles, w.axles, w.weights, w.bounds, torque_out)
    if limit < real(UNBOUNDED):
        along = farthest(BY_POWER, coast, along, v.mass, limit, v.axles, w.axles, w.weights, w.bounds, torque_out)
    torques(along, v.mass, v.axles, w.axles, w.weights, w.bounds, torque_out)
    return along


@wp.kernel(module=module)
def cdta(
    v: Vehicle, s: Sensed, world: int, w: Workplace, smooth: wp.array2d(dtype=real), along_out: Reals,
    torque_out: Reals, seen_out: wp.array2d(dtype=real), command_out: Reals,
):  # fmt: skip
    """Least sum of squared torques that gives the wanted force while every axle stays on the ground."""
    along_out[world] = real(0.0)
    for k in range(v.axles.shape[0]):
        torque_out[k] = real(0.0)
    if s.rotation[world][2, 2] >= real(0.0):
        felt = s.specific_force[world]
        pull = smooth[world, 0] + v.smoothing * (felt[0] - smooth[world, 0])
        push = smooth[world, 1] + v.smoothing * (felt[2] - smooth[world, 1])
        smooth[world, 0] = pull
        smooth[world, 1] = push
        on_ground = stand(v, s, world, v.mass * push, v.mass * pull, w.axles)
        if on_ground > 0 and push > real(0.0):
            along_out[world] = allotted(v, s, world, w, torque_out)
    give(v, s, world, torque_out, command_out, seen_out)
