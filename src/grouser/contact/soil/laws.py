"""Laws of soil contact: pure functions of scalars and vectors, symbols as in the papers.

A node's levels are a 4-vector [m]: surface Z, virgin level of the loose cover V_l, compacted level C, virgin level of
the compacted soil V_c (`terrain/ground.py`). Sources: Krenn et al. 2008, Krenn and Hirzinger 2009
(`docs/references.md`).
"""

from __future__ import annotations

import warp as wp

from grouser.precision import real, vec3, vec4
from grouser.terrain.ground import PACKED, PACKED_VIRGIN, SURFACE, VIRGIN

SHEAR_BAND = 1e-3  # [m] of soil that a slipping surface drags along (assumed: some ten grains)
STUCK_SPEED = 1e-3  # [m/s] of slip below which soil is stuck (assumed)
SUDDEN = 0.2  # [m/s^2] by which a step may change the acceleration of a body at rest or in steady motion (assumed)
STEADY = 1e-3  # of the speed, change in a step below which a body moves steadily (assumed)
HOLD = 0.05  # cells: soil this close below a body does not slide under it, shear ends this far above the soil
FALLING = 2e-3  # [s] within which a body reaches soil that takes no more spoil, or the step if longer (assumed)
EROSION_BAND = 0.005  # of the slope; half of what a slope may exceed the friction angle by
EROSION_START = 1.0 + EROSION_BAND  # of the slope limit: where soil starts to slide
EROSION_REST = 0.9  # of the slope, where sliding ends (assumed: sand rests some 2.5 degrees below where it starts)
ROLLING = 0.1  # rim over travel speed above which the rim says where "ahead" is, below it the travel does


@wp.func
def bekker(depth: real, k: real, n: real):
    """Pressure of virgin soil p = k z^n [Pa] at depth z [m], with k = k_c/b + k_phi.

    Krenn et al. 2008, eq. 17 and 29; Krenn and Hirzinger 2009, eq. 3. Zero above the soil.
    """
    if depth <= real(0.0):
        return real(0.0)
    return k * wp.pow(depth, n)


@wp.func
def yield_pressure(loose: real, packed: real, reload: real):
    """Pressure [Pa] at which soil gives way under a body at height z.

    The loose cover yields as virgin soil below V_l. Below C the compacted soil is reloaded elastically up to its own
    virgin curve: y(z) = max(k (V_l - z)^n, min(k (V_c - z)^n, K_e (C - z))).
    """
    return wp.max(loose, wp.min(packed, reload))


@wp.func
def unforeseen(step: real, change: real):
    """Height [m] by which the end of a step may lie off x + h v, where the last step changed the speed by `change`."""
    return step * (real(SUDDEN) * step + real(2.0) * wp.abs(change))


@wp.func
def left_out(step: real, v: real, change: real):
    """Height [m] above the end of a step at which the yield pressure is taken.

    `v` [m/s] is the vertical speed of the body (below 0: it sinks), `change` what the last step changed it by. A fall
    leaves out the whole travel of the step: depth and speed then leapfrog, and the energy lost is right to second order
    in h. Where the body is driven down steadily (a bevameter) nothing is left out.
    """
    steady = real(STEADY) * v
    c = change * change
    return -step * v * c / (c + steady * steady + real(1.0e-30))


@wp.func
def yielding_stiffness(k_e: real, spare: real, per_off: real):
    """Stiffness [Pa/m] of soil that a step takes `spare` [m] beyond its elastic limit.

    The secant of min(y, K_e (u - w)) from w = 0 to 1 / `per_off` [m]: zero where soil goes on yielding, K_e where it
    hardly yields. With K_e on yielding soil the implicit block would be an added mass.
    """
    return k_e * wp.max(real(1.0) - wp.max(spare, real(0.0)) * per_off, real(0.0))


@wp.func
def sink(levels: vec4, d: real, a: real):
    """Levels [m] after plastic sinkage d [m], of which the share a compacts (raises z_0) and the rest is carried off.

    Krenn et al. 2008, eq. 29: pressure is continuous because Z falls while the virgin level stays. Soil carried away by
    bulldozing and shear takes its virgin level with it, so a slipping wheel digs.
    """
    one = real(1.0)
    z = levels[SURFACE] - d
    virgin = levels[VIRGIN] - (one - a) * d
    packed = levels[PACKED]
    packed_virgin = levels[PACKED_VIRGIN]
    if z <= packed:  # the cover is gone: what is left is one compacted soil
        virgin = wp.max(virgin, packed_virgin - (one - a) * wp.min(d, packed - z))
        packed_virgin = virgin
        packed = z
    return vec4(z, virgin, packed, packed_virgin)


@wp.func
def cover(levels: vec4, f: real, loose: int):
    """Levels [m] after f [m] of loose soil is put on (f > 0) or slides off (f < 0).

    loose = 1: a cover over the compacted level. loose = 0: Krenn et al. 2008, eq. 29 to the letter, z_0 = max(0, z_0 -
    f); there soil that slides off leaves the virgin level where it is.
    """
    z = levels[SURFACE] + f
    virgin = levels[VIRGIN]
    packed = levels[PACKED]
    packed_virgin = levels[PACKED_VIRGIN]
    if f > real(0.0):
        if loose == 1 and packed >= levels[SURFACE]:  # a new cover begins: it yields from its own surface
            virgin = z
        else:
            virgin = wp.max(z, virgin)
    elif loose == 1:  # soil that slides off takes its virgin level along, below C that of the compacted soil too
        virgin = virgin + f
        if z < packed:
            packed_virgin = packed_virgin + z - packed
            packed = z
            virgin = wp.max(virgin, packed_virgin)
    if loose == 0:
        packed = z
        packed_virgin = virgin
    return vec4(z, virgin, packed, packed_virgin)


@wp.func
def shear_limit(p: real, covered: real, cohesion: real, tan_phi: real, mu: real):
    """Greatest shear stress [Pa] under the pressure p [Pa], where the share `covered` of the cell is in contact.

    c + p tan(phi), Krenn and Hirzinger 2009, eq. 5; not above mu p where mu >= 0 is given, Krenn et al. 2008, eq. 19.
    """
    tau = cohesion * covered + p * tan_phi
    if mu >= real(0.0):
        tau = wp.min(tau, mu * p)
    return tau


@wp.func
def advance_shear(s: vec3, v_t: vec3, step_over_k: real):
    """Shear state after a step: ds = (v_T - s |v_T|) dt / K, implicit in s; |s| = 1 - exp(-j/K) in steady slip.

    Janosi and Hanamoto 1961, as cited in Krenn and Hirzinger 2009. The stress is -tau_max s.
    """
    one = real(1.0)
    return (one / (one + step_over_k * wp.length(v_t))) * (s + step_over_k * v_t)


@wp.func
def rest_damping(s: vec3, v_t: vec3):
    """Share of tau_max per unit velocity [s/m] that brings a body swinging on its stuck soil to rest.

    The shear state is a spring with nothing to damp it. Where it unloads (v against s) this adds
    e x / (1 + x^2)^2, x = v/v_0, with e = 10 % and v_0 = 8 mm/s (both assumed): at most 3.2 % of tau_max. Steady
    slip, in which s lies along v, is not touched.
    """
    zero = real(0.0)
    one = real(1.0)
    per = real(125.0)
    v = wp.length(v_t)
    against = -wp.dot(s, v_t)
    if against <= zero:
        return zero
    # Fade in over the first per cent of opposition: a factor that jumps would make a resting body tremble.
    weight = wp.min(one, real(100.0) * against / v)
    x = per * v
    y = one + x * x
    return weight * real(0.1) * per / (y * y)


@wp.func
def displacement_parts(v: vec3, normal: vec3):
    """Normal part of a velocity [m/s], and the shares of sinkage and bulldozing in the displaced soil.

    Krenn and Hirzinger 2009, eq. 6-8. `normal` need not have length one. The shares of sinkage, bulldozing and shear
    sum to 1; the shear share is what the other two leave.
    """
    v_n = (wp.dot(v, normal) / wp.dot(normal, normal)) * normal
    per_v_2 = real(1.0) / (wp.dot(v, v) + real(1.0e-30))
    sinkage = v_n[2] * v_n[2] * per_v_2
    bulldozing = (v_n[0] * v_n[0] + v_n[1] * v_n[1]) * per_v_2
    return v_n, sinkage, bulldozing


@wp.func
def dug_height(v_t: vec3, chi: real, step_per_cell: real):
    """Height [m] a slipping body drags off a node with no soil coming in from behind: (1 - chi) t |v_T| dt / dx.

    A band of soil of thickness t moves with the surface; inside the footprint as much comes as goes, at its upstream
    edge nothing comes. Over a pass this is t s / (1 - s), the form of classical slip sinkage; a wheel that spins on
    the spot digs. t = SHEAR_BAND. Soil that is stuck does not flow: below STUCK_SPEED nothing is dragged.
    """
    speed = wp.max(wp.length(v_t) - real(STUCK_SPEED), real(0.0))
    return (real(1.0) - chi) * real(SHEAR_BAND) * speed * step_per_cell


@wp.func
def deposit_weight(dx: real, dy: real):
    """Weight 1/d^2 of a border node at the distance d [cells]; a quarter cell keeps it finite.

    Krenn et al. 2008, eq. 24; Krenn and Hirzinger 2009, eq. 9.
    """
    return real(1.0) / (dx * dx + dy * dy + real(0.25))


@wp.func
def directed_weight(dx: real, dy: real, along_x: real, along_y: real, weight: real):
    """`weight` times d^2 max(0, cos alpha)^2 |direction|^2, with alpha the angle between d and the direction.

    Krenn and Hirzinger 2009, eq. 10 with m = 2.
    """
    c = wp.max(dx * along_x + dy * along_y, real(0.0))
    return c * c * weight


@wp.func
def erosion_flux(difference: real, limit: real):
    """Height [m] that a neighbour `difference` [m] higher hands over, per unit rate; zero up to the limit dx tan(phi).

    Krenn and Hirzinger 2009, eq. 11-12, and Krenn et al. 2008, eq. 25-28, as a flux between pairs, so that what one
    node gives the other gets. A slope that exceeds the limit by EROSION_BAND slides until it is EROSION_REST of it:
    sand comes to rest a little below the angle at which it starts to move.
    """
    d = wp.abs(difference)
    if d <= limit * real(EROSION_START):
        return real(0.0)
    return wp.sign(difference) * (d - limit * real(EROSION_REST))


@wp.func
def slip(velocity: vec3, angular_velocity: vec3, depth: real, normal: vec3):
    """Slip of a rolling body: driving 1 - v/u, braking u/v - 1.

    u = depth |angular velocity x normal| is the speed of the lower rim, v that of travel along u [m/s], both along the
    ground. `depth` [m] is how far the deepest point lies below the frame origin: for a wheel its radius. A body that
    slides without turning has slip -1, one at rest 0.
    """
    zero = real(0.0)
    along = wp.cross(angular_velocity, normal)
    sinking = wp.dot(velocity, normal)
    rim = depth * wp.length(along)
    travel = wp.sqrt(wp.max(wp.dot(velocity, velocity) - sinking * sinking, zero))
    both = depth * wp.dot(along, velocity)
    u = rim
    v = both / wp.max(rim, real(1.0e-30))
    if rim <= real(ROLLING) * travel:  # it hardly turns: the travel says where "ahead" is
        u = both / wp.max(travel, real(1.0e-30))
        v = travel
    larger = wp.max(wp.abs(u), wp.abs(v))
    if larger < real(STUCK_SPEED):
        return zero
    return (u - v) / larger
