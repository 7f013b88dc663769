"""Stages of a soil step by the laws of Krenn et al. 2008 and Krenn and Hirzinger 2009, see krenn_laws.py.

They take the place of the stages of per_world.py when its kernels are built (`replacements`), so that the default laws
know nothing of them. Contact is by vertices: `Skin.triangle` holds the lowest vertex over a node.
"""

from __future__ import annotations

from typing import Any

import warp as wp

from grouser.contact.soil import boxes, erosion, implicit, laws, losses, per_world, pressure
from grouser.contact.soil import krenn_laws as krenn
from grouser.contact.soil import per_world_displacement as displacement
from grouser.contact.soil import types as t
from grouser.contact.soil.elements import BlockSums, Losses, NodeEnd
from grouser.contact.soil.surface import CHUNK
from grouser.contact.soil.types import (
    SEEN,
    Bodies,
    BodyMotion,
    Displacement,
    Options,
    Placement,
    Prediction,
    Skin,
    Slides,
    Vertices,
    Window,
)
from grouser.device import nonnegative
from grouser.precision import real, vec3, vec6
from grouser.terrain.ground import SURFACE, VIRGIN
from grouser.terrain.ground import GroundArrays as Ground

TIE = 1e-7  # [m] of two vertices that are equally low the one nearer to the node counts, else round-off would choose
FAR = wp.constant(real(t.FAR))
HALF = wp.constant(real(0.5))
HALF_UP = wp.constant(real(0.5 + 1e-4))  # [cells] of a vertex half way between nodes: round-off must not choose


# ---- contact ----------------------------------------------------------------------------------------------


@wp.func
def nearest_node(place: real):
    """Node [cells] nearest to a place [cells] along an axis; Krenn et al. 2008, eq. 9, without (int)."""
    return wp.floor(place + HALF_UP)


@wp.func
def off_node(spot: vec3):
    """Square of the distance [cells] of a vertex from its nearest node in plan view."""
    x = spot[0] - nearest_node(spot[0])
    y = spot[1] - nearest_node(spot[1])
    return x * x + y * y


@wp.func
def is_lower(verts: Vertices, skin: Skin, world: int, k: int, spot: vec3):
    """Whether a vertex is lower than the lowest one over its node so far."""
    z = skin.height[k]
    if wp.abs(spot[2] - z) > real(TIE):
        return spot[2] < z
    return off_node(spot) < off_node(verts.place[world, nonnegative(skin.triangle[k])])


@wp.func
def lowest_vertices(
    g: Ground, b: Bodies, place: Placement, win: Window, verts: Vertices, skin: Skin,
    world: int, body: int, slot: int, m: BodyMotion,
):  # fmt: skip
    """Find the lowest vertex over each node, Krenn et al. 2008, eq. 6-10; to the nearest node instead of (int)."""
    cut = place.top[slot] + g.spacing
    frame = win.frame[slot]
    inner = boxes.inside_rim(frame.rows, frame.columns)
    last = b.first_vertex[body + 1]
    hit = boxes.empty_box()
    for c in range(b.first_vertex_chunk[body], b.first_vertex_chunk[body + 1]):
        if verts.near_soil[world, c] == 1:
            first = b.first_vertex[body] + (c - b.first_vertex_chunk[body]) * CHUNK
            for v in range(first, wp.min(first + CHUNK, last)):
                spot = verts.place[world, v]
                j = int(nearest_node(spot[0])) - frame.column0
                i = int(nearest_node(spot[1])) - frame.row0
                if spot[2] < cut and boxes.holds(inner, i, j):
                    k = nonnegative(slot * win.nodes + i * win.side + j)
                    if is_lower(verts, skin, world, k, spot):
                        skin.height[k] = spot[2]
                        skin.triangle[k] = v
                    hit = boxes.widened(hit, i, i, j, j)
    skin.hit[slot] = hit
    if not boxes.is_empty(hit):
        win.dirty[slot] = boxes.spanning(win.dirty[slot], boxes.grown(hit, t.RING))


@wp.func
def bearing(o: Options, win: Window, disp: Displacement, slot: int, k: int, z: real):
    """Pressure [Pa] that the soil of a node bears under a body at the height z [m]; Krenn et al. 2008, eq. 29."""
    soil = o.soils[nonnegative(win.soil[k])]
    return laws.bekker(win.levels[k][VIRGIN] - z, pressure.modulus_of(soil, disp.per_width[slot]), soil.n)


@wp.func
def touch_nodes(
    g: Ground, o: Options, b: Bodies, place: Placement, skin: Skin, win: Window, disp: Displacement, slot: int
):  # fmt: skip
    """Mark the nodes in contact, and find by how much they give way: all but the elastic depth p / K_e.

    Krenn et al. 2008, eq. 10 and 23. Returns the sum over all nodes [m].
    """
    near = boxes.empty_box()
    touched = boxes.empty_box()
    hit = skin.hit[slot]
    contacts = int(0)
    removed = real(0.0)
    for i in range(hit.row0, hit.row1 + 1):
        for j in range(hit.column0, hit.column1 + 1):
            k = nonnegative(slot * win.nodes + i * win.side + j)
            z = skin.height[k]
            if z < SEEN and win.mark[k] != t.BARE_NODE:
                u = win.levels[k][SURFACE] - z
                if u > -g.spacing:
                    near = boxes.widened(near, i, i, j, j)
                if u > real(0.0):
                    win.mark[k] = t.CONTACT
                    soil = o.soils[nonnegative(win.soil[k])]
                    disp.sunk[k] = wp.max(u - bearing(o, win, disp, slot, k, z) * soil.per_k_e, real(0.0))
                    removed += disp.sunk[k]
                    contacts += 1
                    touched = boxes.widened(touched, i, i, j, j)
    disp.contacts[slot].nodes = contacts
    disp.near[slot] = near
    disp.touched[slot] = touched
    return removed


# ---- displacement -----------------------------------------------------------------------------------------


@wp.func
def node_normal(g: Ground, win: Window, k: int):
    """Area normal [m^2] of the soil at a node, see `krenn_laws.soil_normal`."""
    return krenn.soil_normal(
        win.levels[k + 1][SURFACE], win.levels[nonnegative(k - 1)][SURFACE],
        win.levels[nonnegative(k + win.side)][SURFACE], win.levels[nonnegative(k - win.side)][SURFACE], g.spacing,
    )  # fmt: skip


@wp.func
def vertex_arm(b: Bodies, skin: Skin, k: int, m: BodyMotion):
    """Vector [m] from the frame origin to the lowest vertex over a node."""
    return m.R * b.vertices[nonnegative(skin.triangle[k])]


@wp.func
def deposit(o: Options, disp: Displacement, start: int, border: int, i: int, j: int, f: real, v: vec3, sinkage: real):
    """Distribute the height f [m] that the node (i, j) displaces over the border nodes.

    The share `sinkage` goes to all sides, the rest along the velocity v, or to all sides if no border node lies there.
    """
    zero = real(0.0)
    even = zero
    directed = zero
    for q in range(start, start + border):
        spot = disp.border_place[nonnegative(q)]
        dx = spot[0] - real(j)
        dy = spot[1] - real(i)
        w = krenn.distance_weight(dx, dy)
        ahead = zero
        if o.directed_deposit == 1:
            ahead = krenn.direction_weight(dx, dy, v, o.deposit_exponent)
        disp.weights[nonnegative(q)] = vec3(w, ahead, zero)
        even += w
        directed += ahead
    per_directed = zero
    share = real(1.0)
    if directed > zero:
        share = sinkage
        per_directed = f * (real(1.0) - sinkage) / directed
    per_even = f * share / even
    for q in range(start, start + border):
        w3 = disp.weights[nonnegative(q)]
        disp.received[nonnegative(q)] = disp.received[nonnegative(q)] + per_even * w3[0] + per_directed * w3[1]


@wp.func
def displace(
    g: Ground, o: Options, b: Bodies, skin: Skin, win: Window, verts: Vertices, disp: Displacement,
    world: int, body: int, slot: int, removed: real, m: BodyMotion,
):  # fmt: skip
    """Lower the nodes in contact by what they give way, `removed` [m] in sum, and put the soil on the border.

    Krenn et al. 2008, eq. 23-24 and 29; Krenn and Hirzinger 2009, eq. 6-10. The share chi is compressed.
    """
    if disp.contacts[slot].nodes == 0:
        return
    border = displacement.list_border(win, disp, slot)
    if b.from_patch[body] == 1:
        displacement.measure_patch(g, b, skin, win, verts, disp, world, body, slot)
    win.changed[slot] = 1
    start = nonnegative(slot * win.nodes)
    for q in range(start, start + border):
        disp.received[nonnegative(q)] = real(0.0)
    touched = disp.touched[slot]
    compressed = real(0.0)
    # Deposit first: the shares of eq. 6-8 follow from the normals of the soil that is not yet lowered.
    for i in range(touched.row0, touched.row1 + 1):
        for j in range(touched.column0, touched.column1 + 1):
            k = nonnegative(start + i * win.side + j)
            if win.mark[k] == t.CONTACT and disp.sunk[k] > real(0.0):
                chi = o.soils[nonnegative(win.soil[k])].chi
                chi = wp.where(border == 0, real(1.0), chi)  # no border node takes the soil: all of it is compressed
                compressed += chi * disp.sunk[k]
                if chi < real(1.0):
                    v = m.velocity + wp.cross(m.angular_velocity, vertex_arm(b, skin, k, m))
                    sinkage = krenn.sinkage_share(v, node_normal(g, win, k))
                    deposit(o, disp, start, border, i, j, (real(1.0) - chi) * disp.sunk[k], v, sinkage)
    for i in range(touched.row0, touched.row1 + 1):
        for j in range(touched.column0, touched.column1 + 1):
            k = nonnegative(start + i * win.side + j)
            if win.mark[k] == t.CONTACT:
                win.levels[k] = laws.add_loose_soil(win.levels[k], -disp.sunk[k], 0)
    for q in range(start, start + border):
        k = nonnegative(start + disp.border[nonnegative(q)])
        win.levels[k] = laws.add_loose_soil(win.levels[k], disp.received[nonnegative(q)], 0)
    disp.tally[slot].removed = disp.tally[slot].removed + removed
    disp.tally[slot].compressed = disp.tally[slot].compressed + compressed


# ---- erosion ----------------------------------------------------------------------------------------------


@wp.func
def slides_freely(win: Window, k: int):
    """Whether the soil of a node may slide: it is not below the body, and not bare."""
    return win.mark[k] != t.CONTACT and win.mark[k] != t.BARE_NODE


@wp.func
def neighbour(win: Window, k: int, side: int):
    """Index of one of the four neighbours of a node: east, west, north, south."""
    return nonnegative(k + wp.where(side == 0, 1, wp.where(side == 1, -1, wp.where(side == 2, win.side, -win.side))))


@wp.func
def fall_to(win: Window, k: int, n: int):
    """Height [m] that a node stands above a neighbour; 0 if it is lower, or if its soil may not slide there."""
    if not slides_freely(win, n):
        return real(0.0)
    return wp.max(win.levels[k][SURFACE] - win.levels[n][SURFACE], real(0.0))


@wp.func
def erode_node(g: Ground, o: Options, win: Window, slides: Slides, k: int):
    """Add what a node loses in a sweep, and what its lower neighbours get of it, to their flows.

    Krenn et al. 2008, eq. 25-28; Krenn and Hirzinger 2009, eq. 11-12. Returns 1 if its slope is too steep by more than
    EROSION_BAND.
    """
    if not slides_freely(win, k):
        return 0
    steepest = real(0.0)
    total = real(0.0)
    for side in range(4):
        fall = fall_to(win, k, neighbour(win, k, side))
        steepest = wp.max(steepest, fall)
        total += fall
    limit = g.spacing * o.soils[nonnegative(win.soil[k])].tan_repose
    lost = krenn.eroded_height(steepest, limit)
    if lost <= real(0.0):
        return 0
    slides.flow[k] = slides.flow[k] - lost
    for side in range(4):
        n = neighbour(win, k, side)
        slides.flow[n] = slides.flow[n] + lost * fall_to(win, k, n) / total
    return wp.where(steepest > limit * real(laws.EROSION_START), 1, 0)


@wp.func
def erode(g: Ground, o: Options, skin: Skin, disp: Displacement, win: Window, slides: Slides, slot: int):
    """Sweep over the nodes around the contact `o.sweeps` times, or until no slope is too steep by EROSION_BAND.

    A sweep first finds the flows of all nodes and then moves the soil, so that the order of the nodes does not matter.
    The nodes are those of the box around the contact nodes, o.spare - 1 nodes wider on every side.
    """
    if disp.contacts[slot].nodes == 0:
        return
    frame = win.frame[slot]
    box = boxes.common(boxes.grown(disp.touched[slot], o.spare - 1), boxes.inside_rim(frame.rows, frame.columns))
    start = nonnegative(slot * win.nodes)
    steep = int(1)
    sweep = int(0)
    while steep > 0 and sweep < o.sweeps:
        steep = int(0)
        for i in range(box.row0, box.row1 + 1):
            for j in range(box.column0, box.column1 + 1):
                steep += erode_node(g, o, win, slides, nonnegative(start + i * win.side + j))
        for i in range(box.row0 - 1, box.row1 + 2):
            for j in range(box.column0 - 1, box.column1 + 2):
                k = nonnegative(start + i * win.side + j)
                if slides.flow[k] != real(0.0):
                    win.levels[k] = laws.add_loose_soil(win.levels[k], slides.flow[k], 0)
                    slides.flow[k] = real(0.0)
        sweep += 1
    slides.moving[slot] = boxes.grown(box, 1)


# ---- forces -----------------------------------------------------------------------------------------------


@wp.func
def keep_no_shear(
    g: Ground, o: Options, b: Bodies, place: Placement, skin: Skin, win: Window, verts: Vertices,
    world: int, body: int, slot: int, m: BodyMotion,
):  # fmt: skip
    """The papers' friction has no state: nothing to advance."""
    return


@wp.func
def predict(
    g: Ground, o: Options, b: Bodies, place: Placement, win: Window, skin: Skin, disp: Displacement, pred: Prediction,
    body: int, slot: int, first_node: vec3, m: BodyMotion,
):  # fmt: skip
    """Find depth and bearing pressure of the nodes near the body at the end of the step.

    The body's surface moves along the normal of the soil with its penetration velocity, Krenn et al. 2008, eq. 11-15.
    """
    near = disp.near[slot]
    for i in range(near.row0, near.row1 + 1):
        for j in range(near.column0, near.column1 + 1):
            k = nonnegative(slot * win.nodes + i * win.side + j)
            pred.end[k] = NodeEnd(FAR, -FAR, real(0.0), real(0.0), real(0.0), real(0.0))
            if skin.height[k] < SEEN and win.mark[k] != t.BARE_NODE:
                n = node_normal(g, win, k)
                v = m.velocity + wp.cross(m.angular_velocity, vertex_arm(b, skin, k, m))
                rise = wp.dot(v, n) / n[2]
                z = skin.height[k] + o.step[0] * rise
                u = win.levels[k][SURFACE] - z
                pred.end[k] = NodeEnd(z, u, rise, real(0.0), bearing(o, win, disp, slot, k, z), real(0.0))


@wp.func
def node_force(
    g: Ground, o: Options, b: Bodies, place: Placement, win: Window, skin: Skin, pred: Prediction, slot: int, k: int,
    m: BodyMotion,
):  # fmt: skip
    """Contribution of a node to the wrench, to the sums of the implicit block and to the losses.

    Krenn et al. 2008, eq. 11-22; Krenn and Hirzinger 2009, eq. 3-5.
    """
    h = o.step[0]
    soil = o.soils[nonnegative(win.soil[k])]
    end = pred.end[k]
    y = end.yield_pressure
    n = node_normal(g, win, k)
    size = wp.length(n)
    normal = n / size
    arm = vertex_arm(b, skin, k, m)
    v = m.velocity + wp.cross(m.angular_velocity, arm)
    v_t = v - wp.dot(v, normal) * normal
    pressed = wp.max(end.depth - soil.damping_time * end.rise, real(0.0))  # damping as an additional depth
    p = wp.min(soil.k_e * pressed, y)
    # The papers' friction has no direction at rest, so it is regularised below the creep speed.
    grip = real(1.0) / (wp.length(v_t) + o.creep_speed)
    shear = size * krenn.friction_stress(p, soil.cohesion, soil.tan_phi)
    force = p * n - (shear * grip) * v_t
    moment = wp.cross(arm, force)
    spare = end.depth - y * soil.per_k_e
    stiffness = real(0.0)
    if pressed > real(0.0):
        stiffness = laws.yielding_stiffness(soil.k_e, spare, place.travel[slot].per_prediction_error)
    area = g.spacing * g.spacing
    cn = size * size / area * (h * h + h * soil.damping_time) * stiffness
    ct = h * shear * grip
    sums = implicit.block_sums(cn - ct, normal, wp.cross(arm, normal), ct, arm)
    fall = -h * end.rise
    elastic = wp.min(soil.k_e * end.depth, y)
    lost = losses.of_pressure(
        area, soil.chi, HALF * elastic * elastic * soil.per_k_e, losses.plastic_work(y, spare, fall),
        (p - elastic) * fall, ct * wp.dot(v_t, v_t),
    )  # fmt: skip
    return vec6(force[0], force[1], force[2], moment[0], moment[1], moment[2]), sums, lost


@wp.func
def force(
    g: Ground, o: Options, b: Bodies, place: Placement, win: Window, skin: Skin, verts: Vertices, disp: Displacement,
    pred: Prediction, world: int, body: int, slot: int, first_node: vec3, m: BodyMotion,
):  # fmt: skip
    """Sum wrench, block and losses of the nodes in contact, and count them; Krenn et al. 2008, eq. 22."""
    wrench = vec6()
    sums = BlockSums()
    lost = Losses()
    nodes = int(0)
    near = disp.near[slot]
    for i in range(near.row0, near.row1 + 1):
        for j in range(near.column0, near.column1 + 1):
            k = nonnegative(slot * win.nodes + i * win.side + j)
            if pred.end[k].depth > real(0.0):
                part, share, worn = node_force(g, o, b, place, win, skin, pred, slot, k, m)
                wrench += part
                sums = implicit.plus(sums, share)
                lost = losses.plus(lost, worn)
                nodes += 1
    pred.wrench[slot] = wrench
    pred.sums[slot] = sums
    pred.losses[slot] = lost
    pred.loaded[slot] = nodes


def replacements() -> dict[Any, Any]:
    """Stages of the default laws and the ones to call instead, for `device.at`."""
    return {
        per_world.raster_body: lowest_vertices,
        displacement.touch_nodes: touch_nodes,
        displacement.displace: displace,
        per_world.shear: keep_no_shear,
        erosion.erode: erode,
        per_world.predict: predict,
        per_world.force: force,
    }
