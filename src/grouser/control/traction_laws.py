"""How the axles of a vehicle share a force along its chassis: CDTA as pure functions.

Morrot et al., section 3, after Silva et al. 2010; Morrot et al., eq. 9-10. Arrays are (axle,).
"""

import warp as wp

real = wp.float64
Reals = wp.array(dtype=wp.float64)

OF_PEAK = 0.9  # of the tyre's peak D that is asked for: beyond it wheels spin (assumed)
TRIES, CLOSE_ENOUGH = 8, 1e-3  # to find how much may be had of what is wanted, and how nearly
FLATTEST = 0.2  # least cosine of a contact angle that is reckoned with (assumed)
UNBOUNDED = 1.0e30  # [N]
BY_GRIP, BY_POWER = 0, 1  # what bounds the force


@wp.struct
class AxleData:
    """Wheels side by side, as the pitch plane has them."""

    first: wp.int32  # of its wheels, in a list of the wheels of all axles
    count: wp.int32
    radius: wp.float64  # [m]
    torque_limit: wp.float64  # [N m] of one wheel's motor
    inertia: wp.float64  # [kg m^2] of one wheel and its rotor, at the wheel
    drag: wp.float64  # [N m] friction of one drive, at the wheel
    heat: wp.float64  # [W/(N m)^2] lost in one motor's winding
    rest: wp.float64  # share of the force up that it carries, where nothing pushes along
    moved: wp.float64  # load that a force along the chassis takes away, over that force
    least: wp.float64  # [N] load that it shall keep


@wp.struct
class Standing:
    """An axle at one moment; loads and forces [N] of all its wheels."""

    rest: wp.float64  # load by the statics of the whole, at no force along
    measured: wp.float64  # the same from what the wheels measure
    moved: wp.float64
    least: wp.float64
    weight: wp.float64  # 1 / cos(contact angle)
    tangent: wp.float64
    grip: wp.float64  # largest force over load
    strongest: wp.float64  # of the motors
    rate: wp.float64  # [rad/s]


@wp.func
def standing(
    a: AxleData, touching: wp.float64, angle: wp.float64, load: wp.float64, rate: wp.float64, up: wp.float64,
    present: wp.float64, friction: wp.float64,
):  # fmt: skip
    """An axle with `touching` wheels on the ground, their mean angle [rad] and whole load [N]; `rate` [rad/s].

    In chassis axes it gives E = F cos g - N sin g along and B = N cos g + F sin g up. `up` and `present` [N] are what
    accelerometers say of the whole: sum B and the force along now.
    """
    s = Standing()
    cosine = wp.max(wp.cos(angle), real(FLATTEST))
    s.rest = a.rest * up
    s.measured = load * cosine + a.moved * present
    s.moved = a.moved
    s.least = a.least
    s.weight = real(1.0) / cosine
    s.tangent = wp.sin(angle) / cosine
    s.grip = real(OF_PEAK) * friction / cosine * touching / real(a.count)
    s.strongest = a.torque_limit * real(a.count) / a.radius
    s.rate = rate
    return s


@wp.func
def load_of(s: Standing, along: wp.float64):
    """[N] B = min(rest - moved E, measured - moved (E - present)), never negative."""
    return wp.max(wp.min(s.rest, s.measured) - s.moved * along, real(0.0))


@wp.func
def grounded(axles: wp.array(dtype=Standing)):
    """[N] least and largest force along the chassis with which every axle keeps its least load.

    An axle that has left the ground asks for the force that turns the chassis back: a braking one for the front.
    """
    low = real(-UNBOUNDED)
    high = real(UNBOUNDED)
    for k in range(axles.shape[0]):
        s = axles[k]
        if s.moved > real(0.0):
            high = wp.min(high, (wp.min(s.rest, s.measured) - s.least) / s.moved)
        elif s.moved < real(0.0):
            low = wp.max(low, (wp.min(s.rest, s.measured) - s.least) / s.moved)
    return low, high


@wp.func
def least_squares_share(need: wp.float64, weights: Reals, bounds: Reals, share_out: Reals):
    """Forces F with sum(weight F) = need, |F| <= bound and least sum F^2: F = l weight, held at the bounds.

    False, and none, where the bounds do not allow it.
    """
    left = wp.abs(need)
    most = real(0.0)
    for k in range(bounds.shape[0]):
        most += weights[k] * bounds[k]
        share_out[k] = real(0.0)
    if most < left:
        return False
    factor = real(0.0)
    for _ in range(bounds.shape[0]):
        size = real(0.0)
        for k in range(bounds.shape[0]):  # those that are free
            if share_out[k] == real(0.0):
                size += weights[k] * weights[k]
        if size == real(0.0):
            break
        factor = left / size
        over = int(0)
        for k in range(bounds.shape[0]):
            if share_out[k] == real(0.0) and factor * weights[k] > bounds[k]:
                over += 1
                share_out[k] = wp.where(bounds[k] > real(0.0), bounds[k], real(-1.0))  # -1: held at nothing
                left -= weights[k] * bounds[k]
        if over == 0:
            break
    for k in range(bounds.shape[0]):
        force = wp.where(share_out[k] == real(0.0), factor * weights[k], wp.max(share_out[k], real(0.0)))
        share_out[k] = wp.where(need < real(0.0), -force, force)
    return True


@wp.func
def to_spare(along: wp.float64, axles: wp.array(dtype=Standing)):
    """[N] by which grip and motors together outdo what pushing with `along` [N] takes."""
    need = along
    most = real(0.0)
    for k in range(axles.shape[0]):
        s = axles[k]
        load = load_of(s, along)
        need += load * s.tangent
        most += s.weight * wp.min(s.strongest, s.grip * load)
    return most - wp.abs(need)


@wp.func
def torques(
    along: wp.float64, mass: wp.float64, data: wp.array(dtype=AxleData), axles: wp.array(dtype=Standing),
    weights: Reals, bounds: Reals, torque_out: Reals,
):  # fmt: skip
    """[N m] of a wheel of each axle: together they push with `along` [N], spin up wheels, outdo the drives' drag."""
    need = along
    for k in range(axles.shape[0]):
        s = axles[k]
        load = load_of(s, along)
        need += load * s.tangent
        weights[k] = s.weight
        bounds[k] = wp.min(s.strongest, s.grip * load)
    least_squares_share(need, weights, bounds, torque_out)
    for k in range(axles.shape[0]):
        a = data[k]
        torque = torque_out[k] * a.radius / real(a.count) + a.inertia * along / mass / a.radius
        torque += wp.where(along < real(0.0), -a.drag, a.drag)
        torque_out[k] = wp.clamp(torque, -a.torque_limit, a.torque_limit)


@wp.func
def power_of(data: wp.array(dtype=AxleData), axles: wp.array(dtype=Standing), torque: Reals):
    """[W] electric that these torques take."""
    power = real(0.0)
    for k in range(axles.shape[0]):
        t = torque[k]
        power += real(data[k].count) * wp.max(t * axles[k].rate + data[k].heat * t * t, real(0.0))
    return power


@wp.func
def spare(
    bound: int, along: wp.float64, mass: wp.float64, power_limit: wp.float64, data: wp.array(dtype=AxleData),
    axles: wp.array(dtype=Standing), weights: Reals, bounds: Reals, torque: Reals,
):  # fmt: skip
    """What is left of grip and motors [N], or of the battery's power [W]."""
    if bound == BY_GRIP:
        return to_spare(along, axles)
    torques(along, mass, data, axles, weights, bounds, torque)
    return power_limit - power_of(data, axles, torque)


@wp.func
def farthest(
    bound: int, start: wp.float64, end: wp.float64, mass: wp.float64, power_limit: wp.float64,
    data: wp.array(dtype=AxleData), axles: wp.array(dtype=Standing), weights: Reals, bounds: Reals, torque: Reals,
):  # fmt: skip
    """The force nearest to `end` where something is to spare, as there is at `start`: false position (Illinois)."""
    short = spare(bound, end, mass, power_limit, data, axles, weights, bounds, torque)
    if short >= real(0.0):
        return end
    enough = spare(bound, start, mass, power_limit, data, axles, weights, bounds, torque)
    low = real(0.0)
    high = real(1.0)
    if enough <= real(0.0):
        return start
    for _ in range(TRIES):
        middle = (low * short - high * enough) / (short - enough)
        at = start + middle * (end - start)
        found = spare(bound, at, mass, power_limit, data, axles, weights, bounds, torque)
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
