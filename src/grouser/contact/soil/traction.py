"""Stages `predict` and `force`: extrapolate body and soil to the end of the step, and sum the force on the body."""

from __future__ import annotations

import warp as wp

from grouser.contact.soil import bottom, implicit, laws, losses, pressure, sinkage
from grouser.contact.soil import types as t
from grouser.contact.soil.bottom import Bottom
from grouser.contact.soil.cell_pressure import cell_pressure, second_difference, slope
from grouser.contact.soil.elements import BlockSums, Frame, Losses, NodeEnd
from grouser.contact.soil.types import (
    SEEN,
    Bodies,
    BodyMotion,
    Displacement,
    Options,
    Placement,
    Prediction,
    Skin,
    Vertices,
    Window,
)
from grouser.device import nonnegative
from grouser.precision import real, vec3, vec4, vec6
from grouser.terrain.ground import SURFACE
from grouser.terrain.ground import GroundArrays as Ground

ALMOST = 0.99  # share of the yield pressure from which on soil counts as yielding
LUG_ONSET = 1e3  # [Pa] pressure of the rim over which the pressure of grousers fades in (assumed)
FAR = wp.constant(real(t.FAR))
HALF = wp.constant(real(0.5))
THIRD = wp.constant(real(1.0 / 3.0))


# ---- the end of the step ----------------------------------------------------------------------------------


@wp.func
def surface_at_end(g: Ground, skin: Skin, side: int, k: int, at: vec3, h: real, m: BodyMotion):
    """Height [m] of the body's lower surface over a node after a step h [s] at constant velocity, and its speed [m/s].

    The point of the body that is over the node then is now displaced by -d. With the rigid motion to second order in h,

        Zp(x) = Zw(x - d) + d_z,   d = h v + h^2 (w x (Z_t e_z - v) + w x (w x r) / 2),   v = V + w x r,

    where Z_t = v_z - v_x dZw/dx - v_y dZw/dy, and Zw is quadratic around the node. Without the second order a wheel
    would be predicted too deep by (h v)^2 / 2R, at 1 m/s and 5 ms an eighth of the elastic compression of sand. Z_t is
    the speed at which the surface rises now. At the end of the step it is 2 (Zp - Zw) / h - Z_t. With the mean speed
    of the step, damping would be too weak behind a wheel, where the surface rises faster and faster.

    Also returns the velocity of the body's point over the node now, and the slopes of its surface there.
    """
    z = skin.height[k]
    per = g.per_spacing
    east = skin.height[k + 1]
    west = skin.height[nonnegative(k - 1)]
    north = skin.height[nonnegative(k + side)]
    south = skin.height[nonnegative(k - side)]
    zx = slope(east, west, z) * per
    zy = slope(north, south, z) * per
    w = m.angular_velocity
    spin = wp.cross(w, at)
    v = m.velocity + spin
    rise = v[2] - v[0] * zx - v[1] * zy
    d = h * (v + h * (wp.cross(w, vec3(real(0.0), real(0.0), rise) - v) + HALF * wp.cross(w, spin)))
    # Between nodes the surface is known up to the neighbours only: farther away its curvature may not go on.
    x = wp.clamp(h * v[0] * per, real(-1.0), real(1.0))
    y = wp.clamp(h * v[1] * per, real(-1.0), real(1.0))
    curved = HALF * (x * x * second_difference(east, west, z) + y * y * second_difference(north, south, z))
    change = d[2] - d[0] * zx - d[1] * zy + curved
    return z + change, real(2.0) * change / h - rise, v, zx, zy


@wp.func
def node_at_end(
    g: Ground, o: Options, b: Bodies, place: Placement, win: Window, skin: Skin, disp: Displacement,
    body: int, slot: int, frame: Frame, k: int, i: int, j: int, first_node: vec3, m: BodyMotion,
):  # fmt: skip
    """Find the lower surface of the body at the end of the step, and the yield pressure of the soil there.

    The surface moves with the body, see `surface_at_end`. For a falling body the yield pressure is evaluated without
    the sinkage of this step, so that an impact loses the right energy to second order in h (see `laws.yield_offset`).
    The rest of the sinkage carries soil away, which takes its virgin level along. With the level of the start of the
    step the soil ahead of a wheel would bear too much, by a part that grows with the step.
    """
    z = skin.height[k]
    if z >= SEEN or i <= 0 or j <= 0 or i >= frame.rows - 1 or j >= frame.columns - 1:
        return NodeEnd(FAR, -FAR, real(0.0), real(0.0), real(0.0), real(0.0))
    at = first_node + vec3(real(j) * g.spacing, real(i) * g.spacing, z)
    height, rise, v, zx, zy = surface_at_end(g, skin, win.side, k, at, o.step[0], m)
    u = win.levels[k][SURFACE] - height
    if win.soil[k] < 0:  # bare node: no soil, no pressure
        u = -FAR
    y = real(0.0)
    yielding = real(0.0)
    given_way = real(0.0)
    if u > real(0.0):
        soil = o.soils[nonnegative(win.soil[k])]
        modulus = pressure.modulus_of(soil, disp.per_width[slot])
        under = bottom.bottom_of_node(g, o, win, k, disp.per_width[slot])
        offset = place.travel[slot].yield_offset
        y = bottom.yield_at(o, win.soil[k], modulus, height + offset, win.levels[k], under)
        plastic = wp.min(u - y * soil.per_k_e, z - height - offset)
        if o.spoil == 1 and plastic > real(0.0):
            v_n, down, bulldozing = laws.displacement_parts(v, vec3(-zx, -zy, real(1.0)))
            given_way = plastic * (real(1.0) - sinkage.compacting_share(o, b, win, body, k, down, 0))
            # A virgin level that falls is a body that is as much higher.
            y = bottom.yield_at(o, win.soil[k], modulus, height + offset + given_way, win.levels[k], under)
        # 99 % of the yield counts as yielding. Otherwise round-off would switch cells between two rules.
        if soil.k_e * (u - soil.damping_time * rise) >= y * real(ALMOST):
            yielding = real(1.0)
    return NodeEnd(height, u, rise, yielding, y, given_way)


@wp.func
def predict_node(
    g: Ground, o: Options, b: Bodies, place: Placement, win: Window, skin: Skin, disp: Displacement, pred: Prediction,
    body: int, slot: int, frame: Frame, i: int, j: int, first_node: vec3, m: BodyMotion,
):  # fmt: skip
    """Predict body and soil at a node, see `node_at_end`."""
    k = nonnegative(slot * win.nodes + i * win.side + j)
    pred.end[k] = node_at_end(g, o, b, place, win, skin, disp, body, slot, frame, k, i, j, first_node, m)


@wp.func
def loaded(pred: Prediction, side: int, k: int, cell: real):
    """Whether soil may press anywhere in a node's cell at the end of the step.

    A round body may press between nodes although neither the node nor a neighbour is in the soil: pressed soil is
    linear between nodes, and a convex body bulges below that line. At a third of a cell the bulge is (1 - 1/3) 1/3 / 2
    of its second difference. Without this case a body lying in its own rut would suddenly lose a finite force when it
    lifts off by a micrometre.
    """
    zero = real(0.0)
    u = pred.end[k].depth
    if u > zero:
        return True
    if u <= -cell:  # too high above the soil for any bulge
        return False
    at_east = pred.end[k + 1]
    at_west = pred.end[nonnegative(k - 1)]
    at_north = pred.end[nonnegative(k + side)]
    at_south = pred.end[nonnegative(k - side)]
    if at_east.depth > zero or at_west.depth > zero or at_north.depth > zero or at_south.depth > zero:
        return True
    z = pred.end[k].height
    bulge = wp.max(second_difference(at_east.height, at_west.height, z), zero) + wp.max(
        second_difference(at_north.height, at_south.height, z), zero
    )
    return u + THIRD * bulge > zero  # bound for points a third of a cell towards neighbours that just touch


# ---- inside a triangle ------------------------------------------------------------------------------------


@wp.func
def within_triangle(A: vec3, B: vec3, C: vec3, column: real, row: real):
    """Barycentric coordinates of a point (column, row) in a triangle in plan view, from the places of its corners."""
    b = B - A
    c = C - A
    per = real(1.0) / (b[0] * c[1] - c[0] * b[1])
    x = column - A[0]
    y = row - A[1]
    v = (x * c[1] - c[0] * y) * per
    w = (b[0] * y - x * b[1]) * per
    return vec3(real(1.0) - v - w, v, w)


@wp.func
def sample_shear(verts: Vertices, world: int, corners: wp.vec3i, w: vec3):
    """Shear state (body frame) at a point inside a triangle, linear between its vertices; `w`: barycentric."""
    return (
        w[0] * verts.shear[world, nonnegative(corners[0])]
        + w[1] * verts.shear[world, nonnegative(corners[1])]
        + w[2] * verts.shear[world, nonnegative(corners[2])]
    )


@wp.func
def carries_lugs(b: Bodies, corners: wp.vec3i):
    """Whether a triangle carries any part of a grouser."""
    total = b.lugs[nonnegative(corners[0])] + b.lugs[nonnegative(corners[1])] + b.lugs[nonnegative(corners[2])]
    return total > real(0.0)


@wp.func
def lug_share(b: Bodies, corners: wp.vec3i, w: vec3):
    """Share of the surface that carries a grouser at a point inside a triangle, linear between its vertices."""
    return (
        w[0] * b.lugs[nonnegative(corners[0])]
        + w[1] * b.lugs[nonnegative(corners[1])]
        + w[2] * b.lugs[nonnegative(corners[2])]
    )


@wp.func
def lug_gain(
    o: Options, win: Window, pred: Prediction, k: int, modulus: real, under: Bottom, rim: real, share: real,
    height: real,
):  # fmt: skip
    """Factor by which grousers raise the pressure `rim` [Pa] of the rim in a cell.

    The share `share` of the cell is grouser, which presses `height` [m] deeper than the rim. Grousers press with the
    yield pressure at their tips while the rim loads the soil, and unload together with the rim. Their pressure fades in
    over the first LUG_ONSET of the rim's pressure.
    """
    y = pred.end[k].yield_pressure
    tip = bottom.yield_at(o, win.soil[k], modulus, pred.end[k].height - height, win.levels[k], under)
    return real(1.0) + share * wp.max(tip - y, real(0.0)) / (wp.max(rim, y) + real(LUG_ONSET))


# ---- forces -----------------------------------------------------------------------------------------------


@wp.func
def covered_part(g: Ground, win: Window, skin: Skin, pred: Prediction, k: int):
    """Area [m^2] of a node's cell below the body in plan view, and its middle along columns and rows from the node [m].

    It extends half a cell to each side, or up to the body's edge.
    """
    east = pred.end[k + 1].height
    west = pred.end[nonnegative(k - 1)].height
    north = pred.end[nonnegative(k + win.side)].height
    south = pred.end[nonnegative(k - win.side)].height
    reach = vec4()
    if east >= SEEN or west >= SEEN or north >= SEEN or south >= SEEN:
        reach = skin.reach[k]
    to_east = wp.where(east < SEEN, HALF, reach[t.EAST])
    to_west = wp.where(west < SEEN, HALF, reach[t.WEST])
    to_north = wp.where(north < SEEN, HALF, reach[t.NORTH])
    to_south = wp.where(south < SEEN, HALF, reach[t.SOUTH])
    area = g.spacing * g.spacing * (to_east + to_west) * (to_north + to_south)
    return area, HALF * g.spacing * (to_east - to_west), HALF * g.spacing * (to_north - to_south)


@wp.func
def node_force(
    g: Ground, o: Options, b: Bodies, place: Placement, win: Window, skin: Skin, verts: Vertices, disp: Displacement,
    pred: Prediction, world: int, body: int, slot: int, i: int, j: int, first_node: vec3, m: BodyMotion,
):  # fmt: skip
    """Contribution of a node to the wrench on the body, to the sums of its implicit block and to the losses.

    The wrench is force [N] and moment about the frame origin [N m], world axes. Krenn et al. 2008, eq. 11-22.
    """
    zero = real(0.0)
    one = real(1.0)
    h = o.step[0]
    cell = g.spacing
    k = nonnegative(slot * win.nodes + i * win.side + j)
    z = pred.end[k].height
    soil = o.soils[nonnegative(win.soil[k])]
    modulus = pressure.modulus_of(soil, disp.per_width[slot])
    under = bottom.bottom_of_node(g, o, win, k, disp.per_width[slot])
    fall = skin.height[k] - z  # [m] by which the surface sinks in the step
    sinking = -soil.damping_time * pred.end[k].rise  # [m] damping as an additional depth
    yield_offset = place.travel[slot].yield_offset
    load = cell_pressure(g, o, win, pred, soil, k, modulus, under, sinking, fall, place.travel[slot])
    if load.covered <= zero:
        return vec6(), BlockSums(), Losses()
    normal_pressure = load.pressure
    stiffness = load.stiffness
    px = load.pressure_zx
    py = load.pressure_zy
    gain = one
    area, middle_x, middle_y = covered_part(g, win, skin, pred, k)
    # Use the normal of the body's lower surface. The normal of the soil would give no compaction or bulldozing
    # resistance.
    steep = one + load.zx * load.zx + load.zy * load.zy
    inclined = wp.sqrt(steep)
    normal = (one / inclined) * vec3(-load.zx, -load.zy, one)
    # Lever arm at the end of the step, relative to the frame origin, which moves by h v. It ends in the middle of the
    # covered part: at the node itself the moment would jump when an edge passes a row of nodes.
    lift = load.zx * middle_x + load.zy * middle_y
    arm = first_node + vec3(real(j) * cell + middle_x, real(i) * cell + middle_y, z + lift) - h * m.velocity
    corners = b.triangles[nonnegative(skin.triangle[k])]
    A = verts.place[world, nonnegative(corners[0])]
    B = verts.place[world, nonnegative(corners[1])]
    C = verts.place[world, nonnegative(corners[2])]
    here_column = real(win.frame[slot].column0 + j)
    here_row = real(win.frame[slot].row0 + i)
    by_tips = b.grouser[body] > zero and o.lug_tips == 1  # the lugs press with points of their own
    if b.grouser[body] > zero and not by_tips:
        if carries_lugs(b, corners):
            lugs = lug_share(b, corners, within_triangle(A, B, C, here_column, here_row))
            above = yield_offset + pred.end[k].given_way
            gain = lug_gain(o, win, pred, k, modulus, under, normal_pressure, lugs, b.grouser[body] - above)
            normal_pressure *= gain
            stiffness *= gain
            px *= gain
            py *= gain
    # Shear acts at the tips of the grousers, where soil shears on soil.
    lever = arm - b.grouser[body] * normal
    v = m.velocity + wp.cross(m.angular_velocity, lever)
    v_t = v - wp.dot(v, normal) * normal
    tau = laws.shear_limit(normal_pressure, load.covered, soil.cohesion, soil.tan_phi, soil.mu)
    cap = laws.interface_cap(normal_pressure, load.covered, soil.cohesion, soil.tan_phi, soil.mu_cap)
    if by_tips:
        held = soil.cohesion * load.covered
        weight = soil.unit_weight * load.covered
        face = b.per_pitch[body] * laws.face_force(b.grouser[body], normal_pressure, held, soil.tan_phi, weight)
        tau = laws.lug_limit(normal_pressure, face, held, soil.tan_phi, soil.mu_rim)
        cap = real(1.0)
    s = vec3()
    grip = zero  # [s/m] growth of the shear state with velocity, for the implicit block
    if o.shear_law == t.SHEAR_DISPLACEMENT:
        # The shear state belongs to the body's point that will be over the node at the end of the step. Sample it where
        # that point is now.
        at_column = here_column - h * v[0] * g.per_spacing
        at_row = here_row - h * v[1] * g.per_spacing
        if o.node_shear == 1:
            s = win.node_shear[k]
        else:
            s = m.R * sample_shear(verts, world, corners, within_triangle(A, B, C, at_column, at_row))
        s, grip = laws.shear_at_end(s - wp.dot(s, normal) * normal, v_t, h / soil.shear_k, cap)
    elif o.shear_law == t.SHEAR_LIMIT:
        # A pure limit law has no direction at rest, so it is regularised below the creep speed.
        grip = one / (wp.length(v_t) + o.creep_speed)
        s = grip * v_t
    # The vertical force of a pressure p on an inclined face is exactly p times the plan area. Shear acts on the
    # inclined area.
    shear = area * inclined * tau
    normal_force = vec3(-area * px, -area * py, area * normal_pressure)
    shear_force = -shear * s
    force = normal_force + shear_force
    slipped = h * shear * wp.dot(s, v_t)
    lost = losses.of_pressure(area * gain, soil.chi, load.stored, load.plastic, load.damped, slipped)
    moment = wp.cross(arm, normal_force) + wp.cross(lever, shear_force)
    # Weights of the implicit block: secant of the shear force, and h D + h^2 K along the normal.
    ct = shear * grip * h
    damped = h * soil.damping_time
    cn = area * steep * (h * h + damped) * stiffness
    moment_arm = wp.cross(arm, normal)
    wrench = vec6(force[0], force[1], force[2], moment[0], moment[1], moment[2])
    # The tangential weight acts on 1 - n n^T. Without grousers both lever arms are equal, and the n n^T part can be
    # subtracted from the normal weight; with grousers it is subtracted at the tips.
    if b.grouser[body] == zero:
        return wrench, implicit.block_sums(cn - ct, normal, moment_arm, ct, lever), lost
    tips = implicit.block_sums(ct, normal, wp.cross(lever, normal), zero, vec3())
    return wrench, implicit.minus(implicit.block_sums(cn, normal, moment_arm, ct, lever), tips), lost
