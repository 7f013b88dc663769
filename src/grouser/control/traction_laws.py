"""Distribution of a force along the chassis among the axles of a vehicle: CDTA as pure functions.

Morrot et al., section 3 and eq. 9-10, after Silva et al. 2010. Arrays are (axle,). Forces and loads [N] are sums over
the wheels of an axle; torques [N m] are those of one wheel. "Along" means along the chassis' x axis.
"""

from __future__ import annotations

import warp as wp

from grouser.device import array, struct
from grouser.precision import real

OF_PEAK = 0.9  # largest fraction of the tyre's peak D that is used: beyond the peak wheels spin (assumed)
TRIES, CLOSE_ENOUGH = 8, 1e-3  # iterations and relative tolerance of the search for the possible force
FLATTEST = 0.2  # lower bound on the cosine of the contact angle (assumed)
UNBOUNDED = 1.0e30  # [N or W]
BY_GRIP, BY_POWER = 0, 1  # which bound `reserve` checks


@struct
class AxleData:
    """Constants of an axle, that is wheels side by side, in the pitch plane."""

    first: int  # index of its first wheel in the list of the wheels of all axles
    count: int  # number of its wheels
    radius: real  # [m]
    torque_limit: real  # [N m] of one wheel's motor
    inertia: real  # [kg m^2] of one wheel and its rotor, at the wheel
    drag: real  # [N m] friction of one drive, at the wheel
    heat: real  # [W/(N m)^2] lost in one motor's winding
    static_share: real  # fraction of the vehicle's weight that it carries without a force along
    load_transfer: real  # decrease of its load per force along the chassis
    least_load: real  # [N] that it must keep


@struct
class AxleState:
    """An axle at one moment; written by `axle_state`."""

    static_load: real  # [N] from the statics of the whole vehicle, without a force along
    measured_load: real  # [N] the same from the load sensors of the wheels
    load_transfer: real
    least_load: real  # [N]
    per_cosine: real  # 1 / cos(contact angle): force along the chassis over force along the ground
    tangent: real  # of the contact angle
    grip: real  # largest force along the ground over load
    motor_force: real  # [N] largest force along the ground that its motors give
    wheel_rate: real  # [rad/s]


@struct
class Vehicle:
    """Data of the vehicle for a controller; written by the host."""

    axles: array[AxleData]
    wheels: array[int]  # (entry,) in the order of the axles
    actuators: array[int]  # (entry,)
    gears: array[real]  # (entry,)
    mass: real  # [kg]
    gravity: real  # [m/s^2]
    gain: real  # [1/s] k
    speed: array[real]  # [m/s], (1,) wanted
    driven: int  # wheels
    friction: real  # peak D over load
    power_limit: real  # [W]
    smoothing: real  # weight of a new reading of the accelerometers


@struct
class Scratch:
    """Work arrays for the allocation in one world."""

    axles: array[AxleState]
    weights: array[real]  # of the forces along the ground in their sum
    bounds: array[real]  # [N] on these forces


@wp.func
def axle_state(
    a: AxleData, touching: real, angle: real, load: real, rate: real, up: real, present: real, friction: real
):
    """State of an axle from the number of `touching` wheels, their mean `angle` [rad], total `load` [N] and `rate`.

    In chassis axes it gives E = F cos g - N sin g along and B = N cos g + F sin g up (Morrot et al., eq. 9-10). `up`
    and `present` [N] are totals from the accelerometers: sum B, and the present force along.
    """
    s = AxleState()
    cosine = wp.max(wp.cos(angle), real(FLATTEST))
    s.static_load = a.static_share * up
    s.measured_load = load * cosine + a.load_transfer * present
    s.load_transfer = a.load_transfer
    s.least_load = a.least_load
    s.per_cosine = real(1.0) / cosine
    s.tangent = wp.sin(angle) / cosine
    s.grip = real(OF_PEAK) * friction / cosine * touching / real(a.count)
    s.motor_force = a.torque_limit * real(a.count) / a.radius
    s.wheel_rate = rate
    return s


@wp.func
def axle_load(s: AxleState, along: real):
    """Load B = min(static, measured) - transfer E [N] at a force E = `along` [N], never negative.

    Statics do not account for a wheel in the air, and the measured load lags: the smaller of both is safe.
    """
    return wp.max(wp.min(s.static_load, s.measured_load) - s.load_transfer * along, real(0.0))


@wp.func
def force_range(axles: array[AxleState]):
    """Smallest and largest force along the chassis [N] at which every axle keeps its least load.

    An axle that has left the ground needs the force that turns the chassis back, for the front axle a braking one. The
    range is then empty (smallest > largest).
    """
    low = real(-UNBOUNDED)
    high = real(UNBOUNDED)
    for k in range(axles.shape[0]):
        s = axles[k]
        if s.load_transfer > real(0.0):
            high = wp.min(high, (wp.min(s.static_load, s.measured_load) - s.least_load) / s.load_transfer)
        elif s.load_transfer < real(0.0):
            low = wp.max(low, (wp.min(s.static_load, s.measured_load) - s.least_load) / s.load_transfer)
    return low, high


@wp.func
def least_squares_share(need: real, weights: array[real], bounds: array[real], share_out: array[real]):
    """Forces F with sum(weight F) = need, |F| <= bound and smallest sum F^2: F = l weight, clamped to the bounds.

    Returns False, with all forces zero, if the bounds do not allow it.
    """
    left = wp.abs(need)
    most = real(0.0)
    for k in range(bounds.shape[0]):
        most += weights[k] * bounds[k]
        share_out[k] = real(0.0)
    if most < left:
        return False
    # Forces beyond their bounds are clamped and the rest is shared again. In share_out 0 means free, -1 clamped at 0.
    factor = real(0.0)
    for _ in range(bounds.shape[0]):
        size = real(0.0)
        for k in range(bounds.shape[0]):
            if share_out[k] == real(0.0):
                size += weights[k] * weights[k]
        if size == real(0.0):
            break
        factor = left / size
        over = int(0)
        for k in range(bounds.shape[0]):
            if share_out[k] == real(0.0) and factor * weights[k] > bounds[k]:
                over += 1
                share_out[k] = wp.where(bounds[k] > real(0.0), bounds[k], real(-1.0))
                left -= weights[k] * bounds[k]
        if over == 0:
            break
    for k in range(bounds.shape[0]):
        force = wp.where(share_out[k] == real(0.0), factor * weights[k], wp.max(share_out[k], real(0.0)))
        share_out[k] = wp.where(need < real(0.0), -force, force)
    return True


@wp.func
def grip_reserve(along: real, axles: array[AxleState]):
    """Force [N] by which grip and motors together exceed the force `along` [N]."""
    need = along
    most = real(0.0)
    for k in range(axles.shape[0]):
        s = axles[k]
        load = axle_load(s, along)
        need += load * s.tangent
        most += s.per_cosine * wp.min(s.motor_force, s.grip * load)
    return most - wp.abs(need)


@wp.func
def wheel_torques(along: real, v: Vehicle, w: Scratch, torque_out: array[real]):
    """Torque [N m] per wheel of each axle: together they push with `along` [N], accelerate wheels, overcome drag."""
    need = along
    for k in range(w.axles.shape[0]):
        s = w.axles[k]
        load = axle_load(s, along)
        need += load * s.tangent
        w.weights[k] = s.per_cosine
        w.bounds[k] = wp.min(s.motor_force, s.grip * load)
    least_squares_share(need, w.weights, w.bounds, torque_out)
    for k in range(w.axles.shape[0]):
        a = v.axles[k]
        torque = torque_out[k] * a.radius / real(a.count) + a.inertia * along / v.mass / a.radius
        torque += wp.where(along < real(0.0), -a.drag, a.drag)
        torque_out[k] = wp.clamp(torque, -a.torque_limit, a.torque_limit)


@wp.func
def electric_power(data: array[AxleData], axles: array[AxleState], torque: array[real]):
    """Electric power [W] for these torques. A braking axle recovers nothing."""
    power = real(0.0)
    for k in range(axles.shape[0]):
        t = torque[k]
        power += real(data[k].count) * wp.max(t * axles[k].wheel_rate + data[k].heat * t * t, real(0.0))
    return power


@wp.func
def reserve(bound: int, along: real, v: Vehicle, w: Scratch, torque: array[real]):
    """Reserve of grip and motors [N], or of the battery's power [W], at a force `along` [N]."""
    if bound == BY_GRIP:
        return grip_reserve(along, w.axles)
    wheel_torques(along, v, w, torque)
    return v.power_limit - electric_power(v.axles, w.axles, torque)


@wp.func
def largest_feasible(bound: int, start: real, end: real, v: Vehicle, w: Scratch, torque: array[real]):
    """Force [N] closest to `end` with a positive reserve, searched from `start`, by false position (Illinois)."""
    short = reserve(bound, end, v, w, torque)
    if short >= real(0.0):
        return end
    enough = reserve(bound, start, v, w, torque)
    low = real(0.0)
    high = real(1.0)
    if enough <= real(0.0):
        return start
    for _ in range(TRIES):
        middle = (low * short - high * enough) / (short - enough)
        along = start + middle * (end - start)
        found = reserve(bound, along, v, w, torque)
        # Halve the value at the end that stays; otherwise false position converges slowly from one side.
        if found >= real(0.0):
            low = middle
            enough = found
            short = real(0.5) * short
        else:
            high = middle
            short = found
            enough = real(0.5) * enough
        if high - low < real(CLOSE_ENOUGH):
            break
    return start + low * (end - start)
