"""Stages `predict` and `force`: where body and soil are at the end of the step, and what pushes on the body."""

from __future__ import annotations

import warp as wp

from grouser.contact.soil import implicit, laws, pressure
from grouser.contact.soil import types as t
from grouser.contact.soil.cell_pressure import bend, cell_pressure, slope
from grouser.contact.soil.types import (
    SEEN,
    BlockSums,
    Bodies,
    BodyMotion,
    Displacement,
    Frame,
    NodeEnd,
    Options,
    Placement,
    Prediction,
    Skin,
    Vertices,
    Window,
)
from grouser.device import nonnegative
from grouser.precision import real, vec3, vec6
from grouser.terrain.ground import SURFACE
from grouser.terrain.ground import GroundArrays as Ground

ALMOST = 0.99  # of the yield pressure: soil this close to it counts as yielding
LUG_ONSET = 1e3  # [Pa] (assumed)
FAR = wp.constant(real(t.FAR))
HALF = wp.constant(real(0.5))
THIRD = wp.constant(real(1.0 / 3.0))


# ---- the end of the step ----------------------------------------------------------------------------------


@wp.func
def predict_node(
    g: Ground, o: Options, place: Placement, win: Window, skin: Skin, disp: Displacement, pred: Prediction,
    slot: int, frame: Frame, i: int, j: int, first_node: vec3, m: BodyMotion,
):  # fmt: skip
    """Find the lower surface of the body at the end of the step and the pressure that the soil bears there.

    Zp = Zw + h (v_z - v_x dZw/dx - v_y dZw/dy): the surface moves with the body. What a falling body itself sinks in
    the step is left out of the yield: depth and speed then leapfrog, and a fall loses the energy it should, to second
    order in h.
    """
    k = nonnegative((slot * win.side + i) * win.side + j)
    z = skin.height[k]
    if z >= SEEN or i <= 0 or j <= 0 or i >= frame.rows - 1 or j >= frame.columns - 1:
        pred.end[k] = NodeEnd(FAR, -FAR, real(0.0), real(0.0))
        return
    per = g.per_spacing
    zx = slope(skin.height[k + 1], skin.height[nonnegative(k - 1)], z) * per
    zy = slope(skin.height[nonnegative(k + win.side)], skin.height[nonnegative(k - win.side)], z) * per
    # Velocity of the surface point over the node; the surface rises with it and moves along its own slope.
    v = m.velocity + wp.cross(m.angular_velocity, first_node + vec3(real(j) * g.spacing, real(i) * g.spacing, z))
    rise = v[2] - v[0] * zx - v[1] * zy
    height = z + o.step[0] * rise
    u = win.levels[k][SURFACE] - height
    if win.soil[k] < 0:  # bare: nothing presses there
        u = -FAR
    y = real(0.0)
    yielding = real(0.0)
    if u > real(0.0):
        soil = o.soils[nonnegative(win.soil[k])]
        modulus = pressure.modulus_of(soil, disp.per_width[slot])
        y = pressure.yield_at(o, win.soil[k], modulus, height + place.travel[slot].left_out, win.levels[k])
        # Almost: a cell in the middle of yielding soil would else switch rules by round-off.
        if soil.k_e * (u - soil.damping_time * rise) >= y * real(ALMOST):
            yielding = real(1.0)
    pred.end[k] = NodeEnd(height, u, yielding, y)


@wp.func
def loaded(pred: Prediction, side: int, k: int, cell: real):
    """Whether soil may press anywhere in a node's cell at the end of the step.

    It does so below a round body before the node itself or a neighbour is in the soil: pressed soil is straight
    between nodes and the body bows into it, (1 - 1/3) 1/3 / 2 of its second difference at a third of a cell. A
    body in the bed it made would else lose a finite force where it lifts off by a micrometre.
    """
    zero = real(0.0)
    u = pred.end[k].depth
    if u > zero:
        return True
    if u <= -cell:  # too far above for any bow
        return False
    at_east = pred.end[k + 1]
    at_west = pred.end[nonnegative(k - 1)]
    at_north = pred.end[nonnegative(k + side)]
    at_south = pred.end[nonnegative(k - side)]
    if at_east.depth > zero or at_west.depth > zero or at_north.depth > zero or at_south.depth > zero:
        return True
    z = pred.end[k].height
    bow = wp.max(bend(at_east.height, at_west.height, z), zero) + wp.max(
        bend(at_north.height, at_south.height, z), zero
    )
    return u + THIRD * bow > zero  # at the corner, a third of the way to neighbours that just touch


# ---- inside a triangle ------------------------------------------------------------------------------------


@wp.func
def within_triangle(verts: Vertices, world: int, corners: wp.vec3i, column: real, row: real):
    """Weights of a triangle's corners at a place inside it."""
    A = verts.place[world, nonnegative(corners[0])]
    B = verts.place[world, nonnegative(corners[1])] - A
    C = verts.place[world, nonnegative(corners[2])] - A
    per = real(1.0) / (B[0] * C[1] - C[0] * B[1])
    x = column - A[0]
    y = row - A[1]
    v = (x * C[1] - C[0] * y) * per
    w = (B[0] * y - x * B[1]) * per
    return vec3(real(1.0) - v - w, v, w)


@wp.func
def sample_shear(b: Bodies, verts: Vertices, world: int, triangle: int, column: real, row: real):
    """Shear state (body frame) at a place inside a triangle, linear between its vertices."""
    corners = b.triangles[nonnegative(triangle)]
    w = within_triangle(verts, world, corners, column, row)
    return (
        w[0] * verts.shear[world, nonnegative(corners[0])]
        + w[1] * verts.shear[world, nonnegative(corners[1])]
        + w[2] * verts.shear[world, nonnegative(corners[2])]
    )


@wp.func
def carries_lugs(b: Bodies, triangle: int):
    """Whether any grouser is on a triangle."""
    corners = b.triangles[nonnegative(triangle)]
    total = b.lugs[nonnegative(corners[0])] + b.lugs[nonnegative(corners[1])] + b.lugs[nonnegative(corners[2])]
    return total > real(0.0)


@wp.func
def lug_share(b: Bodies, verts: Vertices, world: int, triangle: int, column: real, row: real):
    """Share of grouser at a place inside a triangle."""
    corners = b.triangles[nonnegative(triangle)]
    w = within_triangle(verts, world, corners, column, row)
    return (
        w[0] * b.lugs[nonnegative(corners[0])]
        + w[1] * b.lugs[nonnegative(corners[1])]
        + w[2] * b.lugs[nonnegative(corners[2])]
    )


@wp.func
def lug_gain(
    o: Options, win: Window, pred: Prediction, k: int, modulus: real, rim: real, share: real, height: real
):  # fmt: skip
    """Factor on the pressure `rim` [Pa] of the rim where a share of the cell is grouser and presses `height` [m]
    deeper.

    Grousers press as the soil yields at their tips while the rim loads it, and let go with the rim; the first
    LUG_ONSET of the rim's pressure bring them in gently.
    """
    y = pred.end[k].bears
    tip = pressure.yield_at(o, win.soil[k], modulus, pred.end[k].height - height, win.levels[k])
    return real(1.0) + share * wp.max(tip - y, real(0.0)) / (wp.max(rim, y) + real(LUG_ONSET))


# ---- forces -----------------------------------------------------------------------------------------------


@wp.func
def covered_area(g: Ground, win: Window, skin: Skin, pred: Prediction, k: int):
    """Area [m^2] of a node's cell below the body, in plan view: half a cell on each side, or up to the body's edge."""
    east = pred.end[k + 1].height
    west = pred.end[nonnegative(k - 1)].height
    north = pred.end[nonnegative(k + win.side)].height
    south = pred.end[nonnegative(k - win.side)].height
    reach = skin.reach[k]
    width = wp.where(east < SEEN, HALF, reach[t.EAST]) + wp.where(west < SEEN, HALF, reach[t.WEST])
    length = wp.where(north < SEEN, HALF, reach[t.NORTH]) + wp.where(south < SEEN, HALF, reach[t.SOUTH])
    return g.spacing * g.spacing * width * length


@wp.func
def node_force(
    g: Ground, o: Options, b: Bodies, place: Placement, win: Window, skin: Skin, verts: Vertices, disp: Displacement,
    pred: Prediction, world: int, body: int, slot: int, i: int, j: int, first_node: vec3, m: BodyMotion,
):  # fmt: skip
    """A node's part of the body's wrench about its frame origin, and of the sums its implicit block comes from.

    Krenn et al. 2008, eq. 11-22. Force [N] and moment [N m], world axes.
    """
    zero = real(0.0)
    one = real(1.0)
    h = o.step[0]
    per_h = one / h
    cell = g.spacing
    k = nonnegative((slot * win.side + i) * win.side + j)
    z = pred.end[k].height
    soil = o.soils[nonnegative(win.soil[k])]
    modulus = pressure.modulus_of(soil, disp.per_width[slot])
    sinking = soil.damping_time * (skin.height[k] - z) * per_h
    left_out = place.travel[slot].left_out
    load = cell_pressure(g, o, win, pred, soil, k, modulus, sinking, left_out, place.travel[slot].per_unforeseen)
    if load.covered <= zero:
        return vec6(), BlockSums()
    normal_pressure = load.pressure
    stiffness = load.stiffness
    px = load.pressure_zx
    py = load.pressure_zy
    area = covered_area(g, win, skin, pred, k)
    # Normal of the body's lower surface: that of the soil would lose compaction and bulldozing resistance.
    steep = one + load.zx * load.zx + load.zy * load.zy
    inclined = wp.sqrt(steep)
    normal = (one / inclined) * vec3(-load.zx, -load.zy, one)
    # Levers at the end of the step, from where the frame origin is now: it moves on by h v.
    arm = first_node + vec3(real(j) * cell, real(i) * cell, z) - h * m.velocity
    if b.grouser[body] > zero:
        if carries_lugs(b, skin.triangle[k]):
            here_column = real(win.frame[slot].column0 + j)
            here_row = real(win.frame[slot].row0 + i)
            lugs = lug_share(b, verts, world, skin.triangle[k], here_column, here_row)
            gain = lug_gain(o, win, pred, k, modulus, normal_pressure, lugs, b.grouser[body] - left_out)
            normal_pressure *= gain
            stiffness *= gain
            px *= gain
            py *= gain
    # Shear acts at the tips of the grousers: there soil shears on soil.
    lever = arm - b.grouser[body] * normal
    v = m.velocity + wp.cross(m.angular_velocity, lever)
    v_t = v - wp.dot(v, normal) * normal
    tau = laws.shear_limit(normal_pressure, load.covered, soil.cohesion, soil.tan_phi, soil.mu)
    s = vec3()
    grip = zero  # [s/m] how fast the shear state grows with the velocity, for the implicit block
    if o.shear_law == t.SHEAR_DISPLACEMENT:
        # The state belongs to the surface point that is over the node at the end of the step: look where it comes from.
        at_column = real(win.frame[slot].column0 + j) - h * v[0] * g.per_spacing
        at_row = real(win.frame[slot].row0 + i) - h * v[1] * g.per_spacing
        if o.node_shear == 1:
            s = win.node_shear[k]
        else:
            s = m.R * sample_shear(b, verts, world, skin.triangle[k], at_column, at_row)
        s = s - wp.dot(s, normal) * normal
        per_k = h / soil.shear_k
        viscous = laws.rest_damping(s, v_t)
        s = laws.advance_shear(s, v_t, per_k) + viscous * v_t
        grip = per_k * (one / (one + per_k * wp.length(v_t))) + viscous
    elif o.shear_law == t.SHEAR_LIMIT:
        # The pure limit has no direction at rest: below the creep speed it is regularised.
        grip = one / (wp.length(v_t) + o.creep_speed)
        s = grip * v_t
    # The vertical part of the pressure on an inclined face is p dx^2 exactly; shear acts on the inclined area.
    shear = area * inclined * tau
    normal_force = vec3(-area * px, -area * py, area * normal_pressure)
    shear_force = -shear * s
    force = normal_force + shear_force
    moment = wp.cross(arm, normal_force) + wp.cross(lever, shear_force)
    # Weights of the implicit block: the tangential secant, and h D + h^2 K along the normal.
    ct = shear * grip * h
    damped = h * soil.damping_time
    cn = area * steep * (h * h + damped) * stiffness
    moment_arm = wp.cross(arm, normal)
    wrench = vec6(force[0], force[1], force[2], moment[0], moment[1], moment[2])
    if b.grouser[body] == zero:  # lever and arm are one: the tangential block's n n^T part joins the normal's
        return wrench, implicit.block_sums(cn - ct, normal, moment_arm, ct, lever)
    tips = implicit.block_sums(ct, normal, wp.cross(lever, normal), zero, vec3())
    return wrench, implicit.minus(implicit.block_sums(cn, normal, moment_arm, ct, lever), tips)
