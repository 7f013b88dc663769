"""Points of small shapes press the soil between the nodes; part of the stages `displace` and `force`.

A footprint smaller than a cell cannot be stored on the grid. So each point stores the level to which it has pressed the
soil below it. The displaced volume goes to the grid, shared among the four nodes around the point.
"""

from __future__ import annotations

import warp as wp

from grouser.contact.soil import bottom, boxes, implicit, laws, losses, placement, pressure
from grouser.contact.soil import types as t
from grouser.contact.soil.between_nodes import (
    bears,
    corner_node,
    corner_weight,
    levels_at,
    nearest_node,
    node_below,
    pressed_level,
)
from grouser.contact.soil.elements import BlockSums, Losses
from grouser.contact.soil.patch import along_directions, mean_width, outline, widths
from grouser.contact.soil.surface import CHUNK
from grouser.contact.soil.surface import UPRIGHT as UPRIGHT_COSINE
from grouser.contact.soil.types import (
    SEEN,
    BodyMotion,
    Constants,
    Displacement,
    Lug,
    Options,
    Placement,
    Points,
    SmallShapes,
    Window,
)
from grouser.device import nonnegative
from grouser.precision import real, vec2, vec3, vec4, vec6
from grouser.terrain.ground import SURFACE, VIRGIN
from grouser.terrain.ground import GroundArrays as Ground

RIM_ONSET = 1e3  # [Pa] pressure of the rim over which it takes over the shear between the lugs (assumed)
FAR = wp.constant(real(t.FAR))
UPRIGHT = wp.constant(real(UPRIGHT_COSINE))
HOLD = wp.constant(real(laws.HOLD))
STUCK = wp.constant(real(laws.STUCK_SPEED))
FALLING = wp.constant(real(laws.FALLING))
PER_ONSET = wp.constant(real(1.0 / RIM_ONSET))


# ---- one point --------------------------------------------------------------------------------------------


@wp.func
def place_point(g: Ground, shapes: SmallShapes, e: int, m: BodyMotion):
    """Vector [m] from the frame origin to a point, area vector [m^2] and position (column, row) [cells]; world axes."""
    arm = m.R * shapes.points[nonnegative(e)]
    at = vec2((arm[0] + m.position[0] - g.x0) * g.per_spacing, (arm[1] + m.position[1] - g.y0) * g.per_spacing)
    return arm, m.R * shapes.areas[nonnegative(e)], at


@wp.func
def looks_down(area: vec3):
    """Whether a piece of surface can press on soil: it faces down and is not a wall."""
    return area[2] < real(0.0) and area[2] * area[2] > UPRIGHT * UPRIGHT * wp.dot(area, area)


@wp.func
def forget_point(points: Points, world: int, e: int):
    """Reset a point that has left the soil: no footprint, no shear state."""
    points.pressed[world, e] = FAR
    points.point_shear[world, e] = vec3()


@wp.func
def surface_rise(area: vec3, v: vec3):
    """Speed [m/s] at which a piece of surface that moves with `v` rises at a fixed place of the ground."""
    return wp.dot(v, area) / area[2]


@wp.func
def fresh_share(v: vec3, h: real, across: real):
    """Share of the soil below a shape that is fresh after a step of sliding with `v`: 1 - exp(-|v_xy| h / across).

    Slower than STUCK is no sliding: the tremor of a body at rest would fill up its print.
    """
    travel = wp.max(wp.sqrt(v[0] * v[0] + v[1] * v[1]) - STUCK, real(0.0)) * h
    return real(1.0) - wp.exp(-travel / across)


@wp.func
def fresh_level(pressed: real, level: real, rim: real, share: real):
    """Pressed level [m] below a point after the `share` of fresh soil has come below its shape.

    Fresh soil comes in over the edge of the shape, as high as the soil stands above that edge, `rim` [m].
    """
    return pressed + wp.max(level - wp.max(pressed, rim), real(0.0)) * share


@wp.func
def settle_point(
    g: Ground, o: Options, shapes: SmallShapes, place: Placement, win: Window, points: Points,
    world: int, slot: int, shape: int, e: int, m: BodyMotion, arm: vec3, area: vec3, at: vec2,
):  # fmt: skip
    """Update the pressed level of a point, which faces down. Returns its cell, its place in the cell, its depth [m].

    The cell is given by its lower node; it is -1 if the point touches nothing. The depth is measured before the soil
    yields in this step. A point that rises above the soil loses its footprint. A print stays where it was made, and has
    the form of the shape: at its new place a point finds the print as much higher or lower as the shape is there. So
    the depth grows by the sinking of the surface at a fixed place, whichever way the point itself moves. A point is
    never lower than the bottom of its print. Below a flat shape fresh soil comes in over the edge, see `fresh_level`.
    """
    z = arm[2] + m.position[2]
    k, inside = node_below(win, slot, at)
    u = real(-FAR)
    if k < 0 or z > place.top[slot] + g.spacing:  # outside the window, or far above all soil: it cannot press
        forget_point(points, world, e)
        return -1, inside, u
    if win.soil[nearest_node(win, k, inside)] < 0:  # bare ground: the soil module carries nothing here
        forget_point(points, world, e)
        return -1, inside, u
    level = levels_at(win, k, inside)[SURFACE]
    pressed = pressed_level(level, points.pressed[world, e])
    if z > level:  # out of its print. Its cell is still returned: soil close below it takes no spoil
        pressed = level
        points.pressed[world, e] = FAR
    else:
        if points.pressed[world, e] < SEEN:
            h = m.duration
            v = m.velocity + wp.cross(m.angular_velocity, arm)
            if shapes.lug[shape].height > real(0.0):
                # The force on a tip is normal to it, so motion along its face does no work and must not compress the
                # soil: a lug that turns down takes its print along. One that turns up leaves it, unless the soil sticks
                # to it (slower than STUCK).
                n = wp.normalize(area)
                v_t = v - wp.dot(v, n) * n
                if v_t[2] < real(0.0) or wp.sqrt(v_t[0] * v_t[0] + v_t[1] * v_t[1]) <= STUCK:
                    pressed = wp.min(pressed + h * v_t[2], level)
            else:
                floor = wp.min(points.shape_bottom[world, shape], pressed)
                pressed = wp.max(pressed + h * (v[2] - surface_rise(area, v)), floor)
                rim = m.position[2] + points.shape_rim[world, shape]
                pressed = fresh_level(pressed, level, rim, fresh_share(v, h, shapes.across[shape]))
                pressed = pressed_level(level, pressed)
        points.pressed[world, e] = pressed
    return k, inside, pressed - z


@wp.func
def mark_nodes(win: Window, disp: Displacement, slot: int, k: int, inside: vec2, mark: int):
    """Mark the four nodes around a point. Returns the number of nodes that are newly in contact."""
    count = int(0)
    node = k - slot * win.nodes
    i = node // win.side
    j = node % win.side
    disp.near[slot] = boxes.widened(disp.near[slot], i, i + 1, j, j + 1)
    win.dirty[slot] = boxes.widened(win.dirty[slot], i - 1, i + 2, j - 1, j + 2)  # one node more for the border
    if mark == t.CONTACT:
        disp.touched[slot] = boxes.widened(disp.touched[slot], i, i + 1, j, j + 1)
    for c in range(4):
        n = corner_node(win, k, c)
        before = win.mark[n]
        if before != t.CONTACT and bears(win, k, n):
            win.mark[n] = mark
            if mark == t.CONTACT:  # start at zero: `press_point` adds the sinkage of one point after another
                disp.sunk[n] = real(0.0)
                count += 1
    return count


@wp.func
def patch_per_width(
    g: Ground, shapes: SmallShapes, place: Placement, win: Window, slot: int, shape: int, m: BodyMotion, area: real
):  # fmt: skip
    """1/b = perimeter / (2 area) of the contact patch [1/m], from the corners of the shape that are in the soil."""
    low = widths(FAR)
    high = widths(-FAR)
    for v in range(shapes.first_rim[shape], shapes.first_rim[shape + 1]):
        r = m.R * shapes.rims[nonnegative(v)]
        if r[2] + m.position[2] < place.top[slot]:
            at = vec2((r[0] + m.position[0] - g.x0) * g.per_spacing, (r[1] + m.position[1] - g.y0) * g.per_spacing)
            k, inside = node_below(win, slot, at)
            if k >= 0:
                if r[2] + m.position[2] < levels_at(win, k, inside)[SURFACE]:
                    out = along_directions(r[0], r[1])
                    low = wp.min(low, out)
                    high = wp.max(high, out)
    perimeter = outline(area, mean_width(low, high))
    return wp.min(perimeter / (real(2.0) * area), real(1.0) / shapes.least[shape])


@wp.func
def points_of(shapes: SmallShapes, shape: int, chunk: int):
    """First point of a chunk, and one past its last."""
    first = shapes.first_point[shape] + (chunk - shapes.first_point_chunk[shape]) * CHUNK
    return first, wp.min(first + CHUNK, shapes.first_point[shape + 1])


@wp.func
def press_point(
    g: Ground, o: Options, shapes: SmallShapes, win: Window, points: Points, disp: Displacement,
    world: int, slot: int, shape: int, e: int, m: BodyMotion,
):  # fmt: skip
    """Add the plastic sinkage of a point to the four nodes around it and advance its shear state.

    Returns the sum of the sinkage over the nodes [m].
    """
    zero = real(0.0)
    lost = zero
    spared = zero
    pressed = points.pressed[world, e]
    arm, area, at = place_point(g, shapes, e, m)
    k, inside = node_below(win, slot, at)
    if pressed < SEEN and k >= 0:
        z = arm[2] + m.position[2]
        u = pressed - z
        material = win.soil[nearest_node(win, k, inside)]
        soil = o.soils[nonnegative(material)]
        if u > zero:
            modulus = pressure.modulus_of(soil, points.shape_per_width[world, shape])
            under = bottom.bottom_at(g, o, at, points.shape_per_width[world, shape])
            y = bottom.yield_at(o, material, modulus, z, levels_at(win, k, inside), under)
            # Plastic sinkage: the depth beyond the elastic compression y / K_e.
            d = wp.max(u - y * soil.per_k_e, zero)
            points.pressed[world, e] = pressed - d
            # Lugs leave no prints on the grid: each keeps its own until it turns out of the soil.
            if shapes.lug[shape].height == zero:
                lost = -area[2] * d * g.per_spacing * g.per_spacing  # displaced volume over the area of a cell
            # Bare nodes have no soil to sink: the other nodes share all of it.
            whole = real(1.0e-30)
            for c in range(4):
                if bears(win, k, corner_node(win, k, c)):
                    whole += corner_weight(inside, c)
            for c in range(4):
                n = corner_node(win, k, c)
                if bears(win, k, n):
                    share = corner_weight(inside, c) * lost / whole
                    if bottom.is_limited(g, o):  # no soil is taken from below the hard ground
                        left = wp.max(bottom.soil_left(g, win, n) - disp.sunk[n], zero)
                        spared += wp.max(share - left, zero)
                        share = wp.min(share, left)
                    disp.sunk[n] = disp.sunk[n] + share
        # Shear goes on until a little above the soil: round-off must not reset the shear of a body at rest.
        if u > -HOLD * g.spacing:
            v = wp.transpose(m.R) * (m.velocity + wp.cross(m.angular_velocity, arm))
            n_body = wp.normalize(shapes.areas[nonnegative(e)])
            v_t = v - wp.dot(v, n_body) * n_body
            s = laws.advance_shear(points.point_shear[world, e], v_t, m.duration / soil.shear_k)
            largest = wp.where(shapes.lug[shape].height > zero, real(1.0), soil.largest_shear)
            points.point_shear[world, e] = laws.shortening(s, largest) * s
        else:
            points.point_shear[world, e] = vec3()
    return lost - spared


# ---- commit: all shapes of a body -------------------------------------------------------------------------


@wp.func
def press_shape(
    g: Ground, o: Options, shapes: SmallShapes, place: Placement, win: Window, points: Points, disp: Displacement,
    world: int, slot: int, shape: int, m: BodyMotion,
):  # fmt: skip
    """Press all points of a shape into the soil. Returns the sum of the sinkage over the nodes [m]."""
    zero = real(0.0)
    area = zero
    cut = place.top[slot] + g.spacing
    fall = wp.max(-place.travel[slot].velocity[2], zero)
    beside = HOLD * g.spacing + wp.max(o.step[0], FALLING) * fall  # soil this close below the shape takes no spoil
    rim = real(-FAR)
    # First pass: locate all points. The pressure needs the width b of the patch, which depends on all of them.
    for chunk in range(shapes.first_point_chunk[shape], shapes.first_point_chunk[shape + 1]):
        first, end = points_of(shapes, shape, chunk)
        if placement.sphere_bottom(shapes.point_spheres[chunk], m.position, m.R) < cut:
            points.point_near[world, chunk] = 1
            for e in range(first, end):
                arm, face, at = place_point(g, shapes, e, m)
                if looks_down(face):
                    rim = wp.max(rim, arm[2])
                    k, inside, u = settle_point(
                        g, o, shapes, place, win, points, world, slot, shape, e, m, arm, face, at
                    )  # fmt: skip
                    if k >= 0 and u > -beside and shapes.lug[shape].height == zero:
                        new = mark_nodes(win, disp, slot, k, inside, wp.where(u > zero, t.CONTACT, t.HELD))
                        disp.contacts[slot].pressed = disp.contacts[slot].pressed + new
                        if u > zero:
                            area -= face[2]
                elif points.pressed[world, e] < SEEN:  # a side or top face cannot press
                    forget_point(points, world, e)
        elif points.point_near[world, chunk] == 1:
            points.point_near[world, chunk] = 0
            for e in range(first, end):
                forget_point(points, world, e)
    points.shape_rim[world, shape] = rim
    lowest = real(t.FAR)
    # Second pass: press the soil with this width.
    if area > zero and shapes.from_patch[shape] == 1:
        points.shape_per_width[world, shape] = patch_per_width(g, shapes, place, win, slot, shape, m, area)
    removed = zero
    for chunk in range(shapes.first_point_chunk[shape], shapes.first_point_chunk[shape + 1]):
        if points.point_near[world, chunk] == 1:
            first, end = points_of(shapes, shape, chunk)
            for e in range(first, end):
                removed += press_point(g, o, shapes, win, points, disp, world, slot, shape, e, m)
                lowest = wp.min(lowest, points.pressed[world, e])
    points.shape_bottom[world, shape] = lowest
    return removed


@wp.func
def press_shapes(
    g: Ground, o: Options, shapes: SmallShapes, place: Placement, win: Window, points: Points, disp: Displacement,
    world: int, body: int, slot: int, m: BodyMotion,
):  # fmt: skip
    """Press all small shapes of a body into the soil. Returns the sum of the sinkage over the nodes [m].

    One thread does this: the shapes have few points, and several of them may press on one node.
    """
    removed = real(0.0)
    for shape in range(shapes.first_shape[body], shapes.first_shape[body + 1]):
        removed += press_shape(g, o, shapes, place, win, points, disp, world, slot, shape, m)
    return removed


# ---- evaluate ---------------------------------------------------------------------------------------------


@wp.func
def rim_pressure(o: Options, material: int, modulus: real, z: real, yield_offset: real, levels: vec4):
    """Pressure [Pa] of the rim at the height z [m] over a lug's tip; the law of a node without damping."""
    soil = o.soils[nonnegative(material)]
    y = pressure.yield_at(o, material, modulus, z + yield_offset, levels)
    return wp.min(soil.k_e * wp.max(levels[SURFACE] - z, real(0.0)), y)


@wp.func
def tip_shear_limit(soil: Constants, lug: Lug, push: real, rim: real, depth: real):
    """Largest shear stress [Pa] on the tip of a lug that carries the pressure `push` beyond that of the rim.

    The lesser of tip plane and faces (`laws.lug_limit`) under rim and tip together, less what the nodes below the rim
    have of it, referred to the area of the tip. `depth` [m] of the tip is how much of the face is in the soil.
    """
    in_soil = wp.min(depth, lug.height)
    face = lug.per_pitch * laws.face_force(in_soil, rim, soil.cohesion, soil.tan_phi, soil.unit_weight)
    both = laws.lug_limit(rim + push * lug.share, face, soil.cohesion, soil.tan_phi, soil.mu_rim)
    # Soil between the lugs belongs to the tips until the rim presses on it.
    below_rim = wp.min(rim * PER_ONSET, real(1.0)) * laws.lug_limit(rim, face, soil.cohesion, soil.tan_phi, soil.mu_rim)
    return wp.max(both - below_rim, real(0.0)) / lug.share


@wp.func
def point_force(
    g: Ground, o: Options, shapes: SmallShapes, place: Placement, win: Window, points: Points,
    world: int, slot: int, shape: int, point: int, m: BodyMotion,
):  # fmt: skip
    """Wrench, sums of the implicit block, loaded area [m^2] and losses of the step of a point.

    The same laws as in `traction.node_force`, applied to the point's own piece of surface.
    """
    zero = real(0.0)
    one = real(1.0)
    h = o.step[0]
    arm, area, at = place_point(g, shapes, point, m)
    if not looks_down(area):
        return vec6(), BlockSums(), zero, Losses()
    size = wp.length(area)
    normal = (-one / size) * area  # points up, into the body
    # Height of the surface at the end of the step, at a fixed place of the ground.
    velocity = m.velocity + wp.cross(m.angular_velocity, arm)
    rise = surface_rise(area, velocity)
    height = arm[2] + m.position[2] + h * rise
    k, inside = node_below(win, slot, at)
    if k < 0 or height > place.top[slot] + real(0.5) * g.spacing:  # half a cell: spoil may have raised the soil since
        return vec6(), BlockSums(), zero, Losses()
    material = win.soil[nearest_node(win, k, inside)]
    if material < 0:
        return vec6(), BlockSums(), zero, Losses()
    levels = levels_at(win, k, inside)
    pressed = pressed_level(levels[SURFACE], points.pressed[world, point])
    edge_height = m.position[2] + points.shape_rim[world, shape]
    fresh = fresh_share(velocity, h, shapes.across[shape])
    depth = fresh_level(pressed, levels[SURFACE], edge_height, fresh) - height
    if depth <= zero:
        return vec6(), BlockSums(), zero, Losses()
    soil = o.soils[nonnegative(material)]
    modulus = pressure.modulus_of(soil, points.shape_per_width[world, shape])
    under = bottom.bottom_at(g, o, at, points.shape_per_width[world, shape])
    # The soil yields at the depth of the point itself, which does not follow the surface at a fixed place.
    point_height = arm[2] + m.position[2] + h * velocity[2]
    travel = place.travel[slot]
    yield_pressure = bottom.yield_at(o, material, modulus, point_height + travel.yield_offset, levels, under)
    # Elastic trial pressure with damping, capped by the yield pressure. Damping never pulls (max).
    push = wp.min(soil.k_e * wp.max(depth - soil.damping_time * rise, zero), yield_pressure)
    stiffness = laws.yielding_stiffness(soil.k_e, depth - yield_pressure * soil.per_k_e, travel.per_prediction_error)
    plan_area = -area[2]  # plan area that carries `push`; a lug has its part of it
    carried = push  # [Pa] with that of the rim above a lug
    limit = laws.shear_limit(push, one, soil.cohesion, soil.tan_phi, soil.mu)
    cap = laws.interface_cap(push, one, soil.cohesion, soil.tan_phi, soil.mu_cap)
    lug = shapes.lug[shape]
    if lug.height > zero:
        # The rim presses on its whole area, so a lug adds only what the soil at its tip carries beyond that.
        rim_height = height + lug.height * normal[2]
        of_rim = rim_pressure(o, material, modulus, rim_height, travel.yield_offset, levels)
        push -= of_rim
        if push <= zero:
            return vec6(), BlockSums(), zero, Losses()
        plan_area *= push / carried
        limit = tip_shear_limit(soil, lug, push, of_rim, levels[SURFACE] - height)
        cap = real(1.0)
    v_t = velocity - wp.dot(velocity, normal) * normal
    s = vec3()
    grip = zero  # [s/m] growth of the shear state with velocity, for the implicit block
    if o.shear_law == t.SHEAR_DISPLACEMENT:
        s = m.R * points.point_shear[world, point]
        s, grip = laws.shear_at_end(s - wp.dot(s, normal) * normal, v_t, h / soil.shear_k, cap)
    elif o.shear_law == t.SHEAR_LIMIT:
        grip = one / (wp.length(v_t) + o.creep_speed)
        s = grip * v_t
    shear = size * limit
    force = -push * area - shear * s
    moment = wp.cross(arm, force)
    normal_weight = size / normal[2] * h * (h + soil.damping_time) * stiffness
    shear_weight = shear * grip * h
    wrench = vec6(force[0], force[1], force[2], moment[0], moment[1], moment[2])
    fall = -h * rise
    growth = losses.yield_growth(yield_pressure, soil.n, levels[VIRGIN] - point_height, travel.yield_offset)
    elastic_depth = soil.per_k_e * (yield_pressure + growth)
    damping = carried - wp.min(soil.k_e * depth, yield_pressure)
    lost = losses.of_pressure(
        plan_area, soil.chi, losses.elastic_energy(soil.k_e, depth, elastic_depth),
        losses.plastic_work(carried, depth - elastic_depth, fall), damping * fall,
        h * shear * wp.dot(s, v_t),
    )  # fmt: skip
    sums = implicit.block_sums(normal_weight - shear_weight, normal, wp.cross(arm, normal), shear_weight, arm)
    return wrench, sums, -area[2], lost


@wp.func
def shape_forces(
    g: Ground, o: Options, shapes: SmallShapes, place: Placement, win: Window, points: Points,
    world: int, body: int, slot: int, m: BodyMotion,
):  # fmt: skip
    """Wrench, sums of the implicit block, loaded area [m^2] and losses of the step of all small shapes of a body."""
    wrench = vec6()
    sums = BlockSums()
    area = real(0.0)
    lost = Losses()
    for shape in range(shapes.first_shape[body], shapes.first_shape[body + 1]):
        for chunk in range(shapes.first_point_chunk[shape], shapes.first_point_chunk[shape + 1]):
            if points.point_near[world, chunk] == 1 and win.frame[slot].rows > 0:
                first, end = points_of(shapes, shape, chunk)
                for e in range(first, end):
                    part, share, loaded, worn = point_force(g, o, shapes, place, win, points, world, slot, shape, e, m)
                    if loaded > real(0.0):
                        wrench += part
                        sums = implicit.plus(sums, share)
                        area += loaded
                        lost = losses.plus(lost, worn)
    return wrench, sums, area, lost


@wp.func
def has_shapes(shapes: SmallShapes, body: int):
    """Whether a body has small shapes; most have none."""
    return shapes.first_shape[body + 1] > shapes.first_shape[body]
