"""Laws of soil contact: pure functions of scalars and vectors, with the symbols of the papers.

The levels of a node are a 4-vector [m]: surface Z, virgin level of the loose cover V_l, compacted level C, virgin level
of the compacted soil V_c (`terrain/ground.py`). The virgin level is the height from which Bekker's depth is measured.
Sources: Krenn et al. 2008, Krenn and Hirzinger 2009 (`docs/references.md`).
"""

from __future__ import annotations

import warp as wp

from grouser.precision import real, vec3, vec4
from grouser.terrain.ground import PACKED, PACKED_VIRGIN, SURFACE, VIRGIN

SHEAR_BAND = 1e-3  # [m] thickness of the soil layer that a slipping surface drags along (assumed: some ten grains)
STUCK_SPEED = 1e-3  # [m/s] slip speed below which soil is treated as stuck (assumed)
SUDDEN = 0.2  # [m/s^2] largest change of acceleration in a step of a body at rest or in steady motion (assumed)
STEADY = 1e-3  # change of speed per step over speed below which the motion is steady (assumed)
HOLD = 0.05  # [cells] soil this close below a body does not slide; shear contact ends this far above the soil
FALLING = 2e-3  # [s] soil that a falling body reaches within this time, or the step if longer, takes no spoil (assumed)
EROSION_BAND = 0.005  # share of the slope limit; half of what a slope may exceed the friction angle by
EROSION_START = 1.0 + EROSION_BAND  # share of the slope limit above which soil starts to slide
EROSION_REST = 0.9  # share of the slope limit at which sliding ends (assumed: sand rests about 2.5 degrees lower)
ROLLING = 0.1  # rim speed over travel speed; above it "ahead" is the direction of the rim, below it of the travel


@wp.func
def bekker(depth: real, k: real, n: real):
    """Pressure of virgin soil p = k z^n [Pa] at depth z [m], with k = k_c/b + k_phi.

    Zero above the soil. Krenn et al. 2008, eq. 17 and 29; Krenn and Hirzinger 2009, eq. 3.
    """
    if depth <= real(0.0):
        return real(0.0)
    return k * wp.pow(depth, n)


@wp.func
def yield_pressure(loose: real, packed: real, reload: real):
    """Yield pressure [Pa] of soil under a body at height z.

    The loose cover yields like virgin soil below V_l. Below C the compacted soil reloads elastically up to its own
    virgin curve: y(z) = max(k (V_l - z)^n, min(k (V_c - z)^n, K_e (C - z))).
    """
    return wp.max(loose, wp.min(packed, reload))


@wp.func
def prediction_error(step: real, change: real):
    """Largest expected error [m] of the height x + h v that is predicted for the end of a step.

    The prediction has no acceleration, so it is wrong by h times the change of speed in the step. This is taken as
    twice the `change` [m/s] of the last step, plus SUDDEN times h for a body whose motion was steady so far.
    """
    return step * (real(SUDDEN) * step + real(2.0) * wp.abs(change))


@wp.func
def yield_offset(step: real, v: real, change: real):
    """Vertical travel [m] of a step that the yield pressure leaves out: it is evaluated this much above x + h v.

    `v` [m/s] is the vertical speed of the body (negative: it sinks), `change` [m/s] its change in the last step.

    - A falling body leaves out the whole travel -h v. Depth and speed then advance alternately (leapfrog), and the
      energy lost in an impact is second-order accurate in h. The yield pressure at x + h v would brake a fall like a
      damper of h times the stiffness.
    - A body driven down at constant speed (a bevameter) leaves out nothing, so that force and depth belong to one time.

    The factor change^2 / (change^2 + (STEADY v)^2) leads from one case to the other.
    """
    steady = real(STEADY) * v
    c = change * change
    return -step * v * c / (c + steady * steady + real(1.0e-30))


@wp.func
def yielding_stiffness(k_e: real, spare: real, per_off: real):
    """Stiffness [Pa/m] of soil in the implicit block: K_e if the soil is elastic, less if it yields, down to zero.

    `spare` [m] is how far the predicted end of the step lies beyond the elastic limit, u - y / K_e. The pressure stays
    at y until the body ends the step higher than predicted by more than that. 1 / `per_off` [m] is how much higher it
    may end (`prediction_error`). The stiffness is the secant of the pressure min(y, K_e (u - w)) from w = 0 to there,
    or K_e max(1 - spare per_off, 0). With the full K_e on yielding soil the block would act like an added mass.
    """
    return k_e * wp.max(real(1.0) - wp.max(spare, real(0.0)) * per_off, real(0.0))


@wp.func
def sink(levels: vec4, d: real, a: real):
    """Levels [m] after plastic sinkage d [m]. The share `a` of it compacts (raises z_0), the rest is carried away.

    Krenn et al. 2008, eq. 29: compaction lowers Z and leaves the virgin level, so the pressure is continuous. Soil
    carried away by bulldozing and shear takes its virgin level with it. This is why a slipping wheel digs in.
    """
    one = real(1.0)
    z = levels[SURFACE] - d
    virgin = levels[VIRGIN] - (one - a) * d
    packed = levels[PACKED]
    packed_virgin = levels[PACKED_VIRGIN]
    if z <= packed:  # the loose cover is pressed through: one compacted soil is left
        virgin = wp.max(virgin, packed_virgin - (one - a) * wp.min(d, packed - z))
        packed_virgin = virgin
        packed = z
    return vec4(z, virgin, packed, packed_virgin)


@wp.func
def add_loose_soil(levels: vec4, f: real, loose: int):
    """Levels [m] after f [m] of loose soil is added (f > 0) or slides off (f < 0).

    loose = 1: the soil forms a loose cover over the compacted level. loose = 0: Krenn et al. 2008, eq. 29 literally,
    z_0 = max(0, z_0 - f); soil that slides off then leaves the virgin level unchanged.
    """
    z = levels[SURFACE] + f
    virgin = levels[VIRGIN]
    packed = levels[PACKED]
    packed_virgin = levels[PACKED_VIRGIN]
    if f > real(0.0):
        if loose == 1 and packed >= levels[SURFACE]:  # there was no cover: the new one yields from its own surface
            virgin = z
        else:
            virgin = wp.max(z, virgin)
    elif loose == 1:  # soil that slides off takes its virgin level along; below C also that of the compacted soil
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
    """Largest shear stress [Pa] under the pressure p [Pa]; `covered` is the share of the cell in contact.

    c + p tan(phi), Krenn and Hirzinger 2009, eq. 5. Where a friction coefficient mu >= 0 of body on soil is given, at
    most mu p, Krenn et al. 2008, eq. 19.
    """
    tau = cohesion * covered + p * tan_phi
    if mu >= real(0.0):
        tau = wp.min(tau, mu * p)
    return tau


@wp.func
def face_force(depth: real, p: real, cohesion: real, tan_phi: real, unit_weight: real):
    """Passive earth force [N/m] on a lug face of the height `depth` [m] under the surcharge p [Pa]; Rankine.

    1/2 gamma h^2 K_p + p h K_p + 2 c h sqrt(K_p), K_p = tan^2(45 deg + phi/2), for each metre of the lug's length.
    """
    root = wp.sqrt(real(1.0) + tan_phi * tan_phi) + tan_phi
    return depth * root * ((real(0.5) * unit_weight * depth + p) * root + real(2.0) * cohesion)


@wp.func
def lug_limit(p: real, face: real, cohesion: real, tan_phi: real, mu: real):
    """Largest shear stress [Pa] of a surface with lugs: the lesser of two ways in which the soil gives way.

    It shears along the plane of the tips, c + p tan(phi), with the soil between the lugs as one block. Or it gives way
    before each lug, `face` [Pa] (`face_force` over the pitch), and slides along the rim, mu p. Never their sum: soil
    that moves with the lugs cannot be pushed away by them (Wong, Theory of Ground Vehicles, on the spacing of lugs).
    """
    return wp.min(cohesion + p * tan_phi, face + mu * p)


@wp.func
def interface_cap(p: real, covered: real, cohesion: real, tan_phi: real, mu: real):
    """Largest length of the shear state where the body slides on the soil: mu p / (c + p tan(phi)), at most 1.

    Soil shears along its own curve until the interface slides: tau = min(mu p, (c + p tan(phi)) (1 - exp(-j/K))). A
    negative mu stands for no such friction. `covered` is the share of the cell in contact.
    """
    if mu < real(0.0):
        return real(1.0)
    own = cohesion * covered + p * tan_phi
    if mu * p >= own:
        return real(1.0)
    return mu * p / own


@wp.func
def shortening(s: vec3, cap: real):
    """Factor that shortens a shear state to the length `cap`; 1 for a shorter state and for a cap of 1 or more."""
    if cap >= real(1.0):  # before the length, so that most bodies need no root and no division
        return real(1.0)
    length = wp.length(s)
    if length <= cap:
        return real(1.0)
    return cap / length


@wp.func
def advance_shear(s: vec3, v_t: vec3, step_over_k: real):
    """Shear state s after a step of ds = (v_T - s |v_T|) dt / K, implicit in s. `step_over_k` is dt / K [s/m].

    The shear stress is -tau_max s. In steady slip |s| = 1 - exp(-j/K) at the shear displacement j. Janosi and Hanamoto
    1961, as cited in Krenn and Hirzinger 2009.
    """
    one = real(1.0)
    return (one / (one + step_over_k * wp.length(v_t))) * (s + step_over_k * v_t)


@wp.func
def rest_damping(s: vec3, v_t: vec3):
    """Damping of the shear state, as a share of tau_max per unit velocity [s/m].

    The shear state acts as an undamped spring, so a body would oscillate forever on soil that sticks to it. Where the
    spring unloads (v against s) this adds the stress share e x / (1 + x^2)^2, x = v/v_0, with e = 10 % and v_0 = 8 mm/s
    (both assumed): at most 3.2 % of tau_max. Steady slip, where s is along v, is not damped.
    """
    zero = real(0.0)
    one = real(1.0)
    per = real(125.0)
    v = wp.length(v_t)
    against = -wp.dot(s, v_t)
    if against <= zero:
        return zero
    # Fade in over the first percent of opposition: a factor that jumps would make a body at rest vibrate.
    weight = wp.min(one, real(100.0) * against / v)
    x = per * v
    y = one + x * x
    return weight * real(0.1) * per / (y * y)


@wp.func
def shear_at_end(s: vec3, v_t: vec3, step_over_k: real, cap: real):
    """Shear state at the end of a step with its damping at rest, and how much it grows with velocity [s/m].

    The state is at most `cap` long (`interface_cap`). Its growth shrinks by the same factor: across the slip this is
    the derivative, along the slip it is the secant, as without a cap.
    """
    one = real(1.0)
    viscous = rest_damping(s, v_t)
    grip = step_over_k * (one / (one + step_over_k * wp.length(v_t))) + viscous
    end = advance_shear(s, v_t, step_over_k) + viscous * v_t
    shorter = shortening(end, cap)
    return shorter * end, shorter * grip


@wp.func
def displacement_parts(v: vec3, normal: vec3):
    """Normal part of a velocity [m/s], and the shares of sinkage and bulldozing in the displaced soil.

    Krenn and Hirzinger 2009, eq. 6-8. `normal` need not be a unit vector. The shares of sinkage, bulldozing and shear
    sum to 1, so the share of shear follows from the two returned.
    """
    v_n = (wp.dot(v, normal) / wp.dot(normal, normal)) * normal
    per_v_2 = real(1.0) / (wp.dot(v, v) + real(1.0e-30))
    sinkage = v_n[2] * v_n[2] * per_v_2
    bulldozing = (v_n[0] * v_n[0] + v_n[1] * v_n[1]) * per_v_2
    return v_n, sinkage, bulldozing


@wp.func
def dug_height(v_t: vec3, chi: real, layer: real, step_per_cell: real):
    """Height [m] that slip drags off a node at the upstream edge of a footprint: (1 - chi) t |v_T| dt / dx.

    A `layer` of soil of thickness t [m] moves with the slipping surface: SHEAR_BAND, or what lugs carry. Inside the
    footprint as much soil arrives at a node as leaves it; at the upstream edge none arrives. Over one pass at slip s
    this gives t s / (1 - s), the form of classical slip sinkage, and a wheel that spins on the spot digs in. Below
    STUCK_SPEED soil does not flow.
    """
    speed = wp.max(wp.length(v_t) - real(STUCK_SPEED), real(0.0))
    return (real(1.0) - chi) * layer * speed * step_per_cell


@wp.func
def spinning_share(travel: real):
    """1 for a wheel that spins on the spot, falling to 0 as it travels [m/s]: v_0 / (v_0 + v), v_0 = STUCK_SPEED.

    With slip sinkage along the arc the shear band digs only on the spot, where that law ends.
    """
    return real(STUCK_SPEED) / (real(STUCK_SPEED) + travel)


@wp.func
def slip_sinkage(v_t: vec3, travel: real, step: real):
    """Height [m] by which the virgin level falls below a wheel that slips, per unit beta: |v_T| |v| / (|v| + |v_T|) dt.

    `travel` [m/s] is the speed v of the wheel along the ground. A wheel that has slip s is over a column of soil for
    1 / (1 - s) times as long as a point of its surface takes to cross the contact. The factor v / (v + v_T) takes this
    back, so that the level falls by beta times the shear displacement j of the surface. Below STUCK_SPEED soil does not
    flow.
    """
    speed = wp.max(wp.length(v_t) - real(STUCK_SPEED), real(0.0))
    return speed * travel / (travel + speed + real(1.0e-12)) * step


@wp.func
def frictional_share(p: real, cohesion: real, tan_phi: real):
    """Share p tan(phi) / (c + p tan(phi)) of friction in the shear strength; 0 without pressure."""
    friction = p * tan_phi
    return friction / (cohesion + friction + real(1.0e-30))


@wp.func
def weaken(levels: vec4, d: real):
    """Levels [m] after the virgin levels fall by d [m], at most down to the soil below them; the surface stays."""
    virgin = wp.max(levels[VIRGIN] - d, levels[SURFACE])
    packed_virgin = wp.max(levels[PACKED_VIRGIN] - d, levels[PACKED])
    return vec4(levels[SURFACE], virgin, levels[PACKED], packed_virgin)


@wp.func
def deposit_weight(dx: real, dy: real):
    """Weight 1/(d^2 + 1/4) of a border node at the distance d [cells]; the quarter keeps it finite.

    Krenn et al. 2008, eq. 24; Krenn and Hirzinger 2009, eq. 9.
    """
    return real(1.0) / (dx * dx + dy * dy + real(0.25))


@wp.func
def directed_weight(dx: real, dy: real, along_x: real, along_y: real, weight: real):
    """Weight of a border node for soil that moves along a direction; nodes behind get 0.

    `weight` times d^2 max(0, cos alpha)^2 |direction|^2, where alpha is the angle between d and the direction. Krenn
    and Hirzinger 2009, eq. 10 with m = 2.
    """
    c = wp.max(dx * along_x + dy * along_y, real(0.0))
    return c * c * weight


@wp.func
def erosion_flux(difference: real, limit: real):
    """Height [m] that slides from a neighbour `difference` [m] higher, per unit rate; zero up to `limit` = dx tan(phi).

    Krenn and Hirzinger 2009, eq. 11-12, and Krenn et al. 2008, eq. 25-28, written as a flux between two nodes, so that
    one node gains what the other loses. A slope that exceeds the limit by EROSION_BAND slides until it is EROSION_REST
    of the limit: sand comes to rest a little below the angle at which it starts to move.
    """
    d = wp.abs(difference)
    if d <= limit * real(EROSION_START):
        return real(0.0)
    return wp.sign(difference) * (d - limit * real(EROSION_REST))


@wp.func
def slip(velocity: vec3, angular_velocity: vec3, depth: real, normal: vec3):
    """Slip of a rolling body: driving 1 - v/u, braking u/v - 1.

    u = depth |angular velocity x normal| is the speed of the lower rim and v the travel speed along u [m/s], both along
    the ground. `depth` [m] is the distance of the deepest point below the frame origin: the radius of a wheel. A body
    that slides without turning has slip -1, a body at rest 0.
    """
    zero = real(0.0)
    along = wp.cross(angular_velocity, normal)
    sinking = wp.dot(velocity, normal)
    rim = depth * wp.length(along)
    travel = wp.sqrt(wp.max(wp.dot(velocity, velocity) - sinking * sinking, zero))
    both = depth * wp.dot(along, velocity)
    u = rim
    v = both / wp.max(rim, real(1.0e-30))
    if rim <= real(ROLLING) * travel:  # it hardly turns: measure along the travel, the rim's direction is noise
        u = both / wp.max(travel, real(1.0e-30))
        v = travel
    larger = wp.max(wp.abs(u), wp.abs(v))
    if larger < real(STUCK_SPEED):
        return zero
    return (u - v) / larger
