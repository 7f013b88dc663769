"""Laws of soil contact, pure and scalar; symbols as in the papers.

A node's levels are a 4-vector: surface Z, virgin level of the loose cover V_l, compacted level C, virgin
level of the compacted soil V_c [m]. Papers: Krenn et al. 2008, Krenn and Hirzinger 2009.
"""

from typing import Any

import warp as wp

SHEAR_BAND = 1e-3  # [m] of soil that a slipping surface drags along (assumed: some ten grains)
STUCK_SPEED = 1e-3  # [m/s] of slip below which soil is stuck (assumed)
SUDDEN = 0.2  # [m/s^2] by which a step may change the acceleration of a body at rest or in steady motion (assumed)
STEADY = 1e-3  # of the speed, change in a step below which a body moves steadily (assumed)
HOLD = 0.05  # cells: soil this close below a body does not slide under it, shear ends this far above the soil
FALLING = 2e-3  # [s] within which a body reaches soil that takes no more spoil, or the step if longer (assumed)
EROSION_BAND = 0.005  # of the slope; half of what a slope may exceed the friction angle by
EROSION_REST = 0.9  # of the slope, where sliding ends (assumed: sand rests some 2.5 degrees below where it starts)
ROLLING = 0.1  # rim over travel speed above which the rim says where "ahead" is, below it the travel does


@wp.func
def bekker(depth: Any, k: Any, n: Any):
    """Pressure p = k z^n [Pa], k = k_c/b + k_phi; Krenn et al. 2008, eq. 17, 29, Krenn and Hirzinger 2009, eq. 3."""
    zero = type(depth)(0.0)
    if depth <= zero:
        return zero
    return k * wp.pow(depth, n)


@wp.func
def yield_pressure(loose: Any, packed: Any, reload: Any):
    """Pressure [Pa] at which soil gives way under a body at height z.

    The loose cover yields as virgin soil below V_l; below C the compacted soil is reloaded elastically up to its
    own virgin curve: y(z) = max(k (V_l - z)^n, min(k (V_c - z)^n, K_e (C - z))).
    """
    return wp.max(loose, wp.min(packed, reload))


@wp.func
def unforeseen(step: Any, change: Any):
    """Height [m] by which the end of a step may lie off x + h v, where the last step changed the speed by `change`."""
    return step * (type(step)(SUDDEN) * step + type(step)(2.0) * wp.abs(change))


@wp.func
def left_out(step: Any, v: Any, change: Any):
    """Height [m] above the end of a step at which soil yields under a body that sinks with -v and whose speed the last
    step changed by `change`: the whole travel of the step, nil where the body is driven down steadily (a bevameter)."""
    steady = type(v)(STEADY) * v
    c = change * change
    return -step * v * c / (c + steady * steady + type(v)(1.0e-30))


@wp.func
def yielding_stiffness(k_e: Any, spare: Any, per_off: Any):
    """Stiffness [Pa/m] of soil that a step takes `spare` [m] beyond its elastic limit: the secant of
    min(y, K_e (u - w)) from w = 0 to 1 / `per_off`. Nil where soil goes on yielding, K_e where it hardly yields."""
    return k_e * wp.max(type(spare)(1.0) - wp.max(spare, type(spare)(0.0)) * per_off, type(spare)(0.0))


@wp.func
def sink(levels: Any, d: Any, a: Any):
    """Levels after plastic sinkage d [m] of which the share a compacts (raises z_0) and the rest is carried off.

    Krenn et al. 2008, eq. 29: pressure is continuous because Z falls while the virgin level stays; soil carried away by
    bulldozing and shear takes its virgin level with it, so a slipping wheel digs.
    """
    one = type(d)(1.0)
    z = levels[0] - d
    virgin = levels[1] - (one - a) * d
    packed = levels[2]
    packed_virgin = levels[3]
    if z <= packed:
        virgin = wp.max(virgin, packed_virgin - (one - a) * wp.min(d, packed - z))
        packed_virgin = virgin
        packed = z
    return type(levels)(z, virgin, packed, packed_virgin)


@wp.func
def cover(levels: Any, f: Any, loose: int):
    """Levels after f [m] of loose soil is put on (f > 0) or slides off (f < 0).

    loose = 1: a cover over the compacted level. loose = 0: Krenn et al. 2008, eq. 29 to the letter, z_0 = max(0, z_0 -
    f). There soil that slides off leaves the virgin level where it is.
    """
    z = levels[0] + f
    virgin = levels[1]
    packed = levels[2]
    packed_virgin = levels[3]
    if f > type(f)(0.0):
        if loose == 1 and packed >= levels[0]:
            virgin = z
        else:
            virgin = wp.max(z, virgin)
    elif loose == 1:
        virgin = virgin + f
        if z < packed:
            packed_virgin = packed_virgin + z - packed
            packed = z
            virgin = wp.max(virgin, packed_virgin)
    if loose == 0:
        packed = z
        packed_virgin = virgin
    return type(levels)(z, virgin, packed, packed_virgin)


@wp.func
def shear_limit(p: Any, covered: Any, cohesion: Any, tan_phi: Any, mu: Any):
    """Greatest shear stress [Pa]: c + p tan(phi), not above mu p where mu >= 0 is given.

    Krenn and Hirzinger 2009, eq. 5; Krenn et al. 2008, eq. 19.
    """
    tau = cohesion * covered + p * tan_phi
    if mu >= type(p)(0.0):
        tau = wp.min(tau, mu * p)
    return tau


@wp.func
def advance_shear(s: Any, v_t: Any, step_over_k: Any):
    """Shear state after a step: ds = (v_T - s |v_T|) dt / K, implicit in s; |s| = 1 - exp(-j/K) in steady slip.

    Janosi and Hanamoto 1961, as cited in Krenn and Hirzinger 2009; stress is -tau_max s.
    """
    one = type(step_over_k)(1.0)
    return (one / (one + step_over_k * wp.length(v_t))) * (s + step_over_k * v_t)


@wp.func
def rest_damping(s: Any, v_t: Any):
    """Share of tau_max per unit velocity [s/m] that brings a body swinging on its stuck soil to rest.

    The shear state is a spring with nothing to damp it. Where it unloads (v against s) this adds
    e x / (1 + x^2)^2, x = v/v_0, with e = 10 % and v_0 = 8 mm/s (both assumed): at most 3.2 % of tau_max. Steady
    slip, in which s lies along v, is not touched.
    """
    zero = type(v_t[0])(0.0)
    one = type(v_t[0])(1.0)
    per = type(v_t[0])(125.0)
    v = wp.length(v_t)
    against = -wp.dot(s, v_t)
    if against <= zero:
        return zero
    weight = wp.min(one, type(v_t[0])(100.0) * against / v)
    x = per * v
    y = one + x * x
    return weight * type(v_t[0])(0.1) * per / (y * y)


@wp.func
def displacement_parts(v: Any, normal: Any):
    """Velocity split into its normal part and the shares sinkage, bulldozing, shear; Krenn and Hirzinger 2009, eq. 6-8.

    `normal` need not have length one. The three shares sum to 1; the shear share is what the others leave.
    """
    v_n = (wp.dot(v, normal) / wp.dot(normal, normal)) * normal
    per_v_2 = type(v[0])(1.0) / (wp.dot(v, v) + type(v[0])(1.0e-30))
    sinkage = v_n[2] * v_n[2] * per_v_2
    bulldozing = (v_n[0] * v_n[0] + v_n[1] * v_n[1]) * per_v_2
    return v_n, sinkage, bulldozing


@wp.func
def dug_height(v_t: Any, chi: Any, step_per_cell: Any):
    """Height [m] a slipping body drags off a node with no soil coming in from behind: (1 - chi) t |v_T| dt / dx.

    A band of soil of thickness t moves with the surface; inside the footprint as much comes as goes, at its upstream
    edge nothing comes. Over a pass this is t s / (1 - s), the form of classical slip sinkage; a wheel that spins on
    the spot digs. t = SHEAR_BAND. Soil that is stuck does not flow: below STUCK_SPEED nothing is dragged.
    """
    speed = wp.max(wp.length(v_t) - type(chi)(STUCK_SPEED), type(chi)(0.0))
    return (type(chi)(1.0) - chi) * type(chi)(SHEAR_BAND) * speed * step_per_cell


@wp.func
def deposit_weight(dx: Any, dy: Any):
    """Weight 1/d^2 of a border node (Krenn et al. 2008, eq. 24, Krenn and Hirzinger 2009, eq. 9), d in cells; a quarter
    cell keeps it finite.
    """
    return type(dx)(1.0) / (dx * dx + dy * dy + type(dx)(0.25))


@wp.func
def directed_weight(dx: Any, dy: Any, along_x: Any, along_y: Any, weight: Any):
    """max(0, cos alpha)^2 / 1 times |direction|^2: Krenn and Hirzinger 2009, eq. 10 with m = 2, alpha between d and the
    direction.
    """
    c = wp.max(dx * along_x + dy * along_y, type(dx)(0.0))
    return c * c * weight


@wp.func
def erosion_flux(difference: Any, limit: Any):
    """Height a neighbour `difference` [m] higher hands over, per unit rate; nil up to the limit dx tan(phi).

    Krenn and Hirzinger 2009, eq. 11-12, Krenn et al. 2008, eq. 25-28 as a flux between pairs, so that what one node
    gives the other gets. A slope that exceeds the limit by EROSION_BAND slides until it is EROSION_REST of it: sand
    comes to rest a little below the angle it starts to move at.
    """
    d = wp.abs(difference)
    if d <= limit * type(limit)(1.0 + EROSION_BAND):
        return type(limit)(0.0)
    return wp.sign(difference) * (d - limit * type(limit)(EROSION_REST))


@wp.func
def slip(velocity: Any, spin: Any, depth: Any, normal: Any):
    """Driving 1 - v/u, braking u/v - 1, with u = depth spin x normal the speed of the lower rim, v that of travel.

    Both are vectors along the ground (m/s); v counts along u. `depth` [m] is how far the deepest point lies below the
    frame origin: for a wheel its radius. A body that slides without turning has slip -1, one at rest 0.
    """
    zero = type(depth)(0.0)
    along = wp.cross(spin, normal)
    sinking = wp.dot(velocity, normal)
    rim = depth * wp.length(along)
    travel = wp.sqrt(wp.max(wp.dot(velocity, velocity) - sinking * sinking, zero))
    both = depth * wp.dot(along, velocity)
    u = rim
    v = both / wp.max(rim, type(depth)(1.0e-30))
    if rim <= type(depth)(ROLLING) * travel:
        u = both / wp.max(travel, type(depth)(1.0e-30))
        v = travel
    larger = wp.max(wp.abs(u), wp.abs(v))
    if larger < type(depth)(STUCK_SPEED):
        return zero
    return (u - v) / larger
