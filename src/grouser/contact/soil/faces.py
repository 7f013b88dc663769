"""Steep faces of a body: the soil they cut and push ahead, and its passive force on them.

A face that advances cuts every node that its lower edge (the toe) passes down to the toe, and puts the soil on the
nodes ahead, where it piles up and slides. The force is that of Coulomb's trial wedge (`wedge.py`) through the heights
that are there. Faces that look down by more than `surface.UPRIGHT` press on nodes (`traction.py`) instead, so no part
of a body gets both forces.

Coordinates of a face: e is the horizontal direction in which it looks, s [m] counts along e and l [m] along the
horizontal direction across, both from the origin of the body's frame. Heights are relative to that origin.
"""

from __future__ import annotations

import warp as wp

from grouser.contact.soil import bottom, boxes, implicit, laws, wedge
from grouser.contact.soil import types as t
from grouser.contact.soil.surface import UPRIGHT as UPRIGHT_COSINE
from grouser.contact.soil.types import (
    BlockSums,
    BodyMotion,
    Box,
    Displacement,
    Faces,
    FaceView,
    Options,
    Placement,
    Pushing,
    Window,
)
from grouser.device import nonnegative
from grouser.precision import real, vec2, vec3, vec4, vec6
from grouser.terrain.elevation import BARE
from grouser.terrain.ground import SURFACE, soil_at, surface_at
from grouser.terrain.ground import GroundArrays as Ground

SAMPLES = 33  # places along the toe at which its height is known
BINS = 24  # trial planes
LAST_BIN = BINS - 1
PLANES = wp.constant(real(BINS))
FAR = wp.constant(real(t.FAR))
UPRIGHT = wp.constant(real(UPRIGHT_COSINE))
FLATTEST = wp.constant(real(0.87))  # vertical part of the normal above which a face lifts soil rather than pushes it
FIRST_COT = wp.constant(real(3.0))  # cotangent of the first slip plane: a face that has just met the soil
AGAIN = wp.constant(real(0.05))  # [cells] advance or change of depth after which the wedge is computed again
LOOK = wp.constant(
    real(0.01)
)  # [cells] nodes are cut this much ahead of the toe: a slow face need not look in every step


# ---- where a face is ----------------------------------------------------------------------------------------


@wp.func
def view_face(faces: Faces, f: int, m: BodyMotion):
    """Directions of a face as the body is turned now; `steep` = 0 if it does not push soil ahead."""
    n = m.R * faces.normals[f]
    middle = m.R * faces.middles[f]
    level = wp.sqrt(n[0] * n[0] + n[1] * n[1])
    if n[2] < -UPRIGHT or n[2] > FLATTEST:
        return FaceView(0, n, vec3(), vec3(), middle, real(0.0))
    ahead = vec3(n[0] / level, n[1] / level, real(0.0))
    return FaceView(1, n, ahead, vec3(-ahead[1], ahead[0], real(0.0)), middle, n[2] / level)


@wp.func
def lower_toe(push: Pushing, world: int, base: int, start: vec3, end: vec3, across: vec3, l0: real, l1: real):
    """Lower the samples of the toe along one edge of the outline. `base` is the first sample of the face."""
    slack = real(1.0e-6)
    per = real(SAMPLES - 1) / (l1 - l0)
    first = (wp.dot(start, across) - l0) * per
    last = (wp.dot(end, across) - l0) * per
    q0 = wp.max(int(wp.ceil(wp.min(first, last) - slack)), 0)
    q1 = wp.min(int(wp.floor(wp.max(first, last) + slack)), SAMPLES - 1)
    for q in range(q0, q1 + 1):
        z = wp.min(start[2], end[2])  # an edge that stands upright
        if wp.abs(last - first) > slack:
            share = wp.clamp((real(q) - first) / (last - first), real(0.0), real(1.0))
            z = start[2] + share * (end[2] - start[2])
        push.toe[world, base + q] = wp.min(push.toe[world, base + q], z)


@wp.func
def outline_face(faces: Faces, push: Pushing, view: FaceView, world: int, f: int, m: BodyMotion, cut: real):
    """Find the range of l of the part of a face below the height `cut`, and the height of the toe along it.

    Returns the range and the top of the face [m]; the range is empty (first > last) if the face is above `cut`.
    """
    l0 = real(t.FAR)
    l1 = real(-t.FAR)
    top = real(-t.FAR)
    first = faces.first_edge[f]
    last = faces.first_edge[f + 1]
    for e in range(first, last):
        a = m.R * faces.edge_starts[e]
        b = m.R * faces.edge_ends[e]
        top = wp.max(top, wp.max(a[2], b[2]))
        if a[2] < cut or b[2] < cut:
            # Clip the edge at the cut: only its lower part is in the soil.
            if a[2] > cut:
                a = a + ((cut - a[2]) / (b[2] - a[2])) * (b - a)
            elif b[2] > cut:
                b = b + ((cut - b[2]) / (a[2] - b[2])) * (a - b)
            la = wp.dot(a, view.across)
            lb = wp.dot(b, view.across)
            l0 = wp.min(l0, wp.min(la, lb))
            l1 = wp.max(l1, wp.max(la, lb))
    if l0 >= l1:
        return vec3(real(1.0), real(0.0), top)
    for q in range(SAMPLES):
        push.toe[world, f * SAMPLES + q] = FAR
    for e in range(first, last):
        lower_toe(push, world, f * SAMPLES, m.R * faces.edge_starts[e], m.R * faces.edge_ends[e], view.across, l0, l1)
    return vec3(l0, l1, top)


@wp.func
def toe_at(push: Pushing, world: int, f: int, l0: real, l1: real, l: real):
    """Height [m] of the toe at l, linear between its samples and constant beyond the ends of the face."""
    place = wp.clamp((l - l0) / (l1 - l0), real(0.0), real(1.0)) * real(SAMPLES - 1)
    q = wp.min(int(place), SAMPLES - 2)
    low = push.toe[world, f * SAMPLES + q]
    return low + (place - real(q)) * (push.toe[world, f * SAMPLES + q + 1] - low)


@wp.func
def plane_at(view: FaceView, z: real):
    """Place s [m] of the plane of a face at the height z [m]."""
    return wp.dot(view.middle, view.ahead) - view.cot_rake * (z - view.middle[2])


@wp.func
def node_box(g: Ground, m: BodyMotion, view: FaceView, s0: real, s1: real, l0: real, l1: real):
    """Box of the grid nodes around a rectangle in the coordinates of a face, inside the grid."""
    mid_s = real(0.5) * (s0 + s1)
    mid_l = real(0.5) * (l0 + l1)
    x = (m.position[0] + mid_s * view.ahead[0] + mid_l * view.across[0] - g.x0) * g.per_spacing
    y = (m.position[1] + mid_s * view.ahead[1] + mid_l * view.across[1] - g.y0) * g.per_spacing
    half_s = real(0.5) * (s1 - s0) * g.per_spacing
    half_l = real(0.5) * (l1 - l0) * g.per_spacing
    half_x = wp.abs(view.ahead[0]) * half_s + wp.abs(view.across[0]) * half_l
    half_y = wp.abs(view.ahead[1]) * half_s + wp.abs(view.across[1]) * half_l
    return Box(
        wp.max(int(wp.ceil(y - half_y)), 0), wp.min(int(wp.floor(y + half_y)), g.rows - 1),
        wp.max(int(wp.ceil(x - half_x)), 0), wp.min(int(wp.floor(x + half_x)), g.columns - 1),
    )  # fmt: skip


@wp.func
def face_place(g: Ground, m: BodyMotion, view: FaceView, row: int, column: int):
    """Coordinates s, l [m] of a grid node."""
    x = g.x0 + real(column) * g.spacing - m.position[0]
    y = g.y0 + real(row) * g.spacing - m.position[1]
    return vec2(x * view.ahead[0] + y * view.ahead[1], x * view.across[0] + y * view.across[1])


@wp.func
def normal_speed(view: FaceView, m: BodyMotion, arm: vec3):
    """Speed [m/s] of a point of a face along its normal; `arm` [m] from the frame origin."""
    return wp.dot(view.normal, m.velocity + wp.cross(m.angular_velocity, arm))


@wp.func
def may_push(faces: Faces, push: Pushing, place: Placement, world: int, slot: int, f: int, m: BodyMotion):
    """Whether a face can have anything to do: its lowest point may be in the soil, or it still holds a force."""
    low = (m.R * faces.middles[f])[2] + m.position[2] - faces.radii[f]
    return low < place.top[slot] or push.mobilised[world, f] > real(0.0)


# ---- commit: cut the soil -----------------------------------------------------------------------------------


@wp.func
def pile_ahead(
    g: Ground, o: Options, win: Window, slot: int, m: BodyMotion, view: FaceView, i: int, j: int, toe: real, f: real
):  # fmt: skip
    """Put f [m] of soil, cut at the node (i, j) of the window, on the nodes a cell ahead. Returns the height placed."""
    side = win.side
    column = real(j) + view.ahead[0]
    row = real(i) + view.ahead[1]
    j0 = int(wp.floor(column + real(1.0e-9)))
    i0 = int(wp.floor(row + real(1.0e-9)))
    u = wp.max(column - real(j0), real(0.0))
    v = wp.max(row - real(i0), real(0.0))
    frame = win.frame[slot]
    limit = plane_at(view, toe) + LOOK * g.spacing
    # Two passes: the weights of the nodes that can take soil, then their shares.
    whole = real(0.0)
    for pass_number in range(2):
        for c in range(4):
            ii = i0 + c // 2
            jj = j0 + c % 2
            w = wp.where(c // 2 == 1, v, real(1.0) - v) * wp.where(c % 2 == 1, u, real(1.0) - u)
            if w > real(1.0e-6) and ii >= 1 and jj >= 1 and ii <= frame.rows - 2 and jj <= frame.columns - 2:
                k = nonnegative((slot * side + ii) * side + jj)
                at = face_place(g, m, view, frame.row0 + ii, frame.column0 + jj)
                if win.mark[k] != t.BARE_NODE and at[0] > limit:
                    if pass_number == 0:
                        whole += w
                    else:
                        win.levels[k] = laws.add_loose_soil(win.levels[k], f * w / whole, o.loose)
        if whole == real(0.0):
            return real(0.0)
    return f


@wp.func
def sweep_face(
    g: Ground, o: Options, faces: Faces, push: Pushing, place: Placement, win: Window, world: int, slot: int, f: int,
    m: BodyMotion,
):  # fmt: skip
    """Cut the nodes that the toe of a face has passed in this step. Returns the heights cut and compressed [m], summed.

    Behind a thin face the nodes next to it are held, so that soil cannot slide through it.
    """
    zero = real(0.0)
    cut = zero
    lost = zero
    view = view_face(faces, f, m)
    if view.steep == 0:
        return cut, lost
    travel = o.step[0] * normal_speed(view, m, view.middle) / wp.sqrt(real(1.0) - view.normal[2] * view.normal[2])
    thin = faces.thin[f]
    unswept = push.unswept[world, f] + wp.max(travel, zero)
    push.unswept[world, f] = unswept
    if unswept < real(0.5) * LOOK * g.spacing and thin == 0:
        return cut, lost
    push.unswept[world, f] = zero
    outline = outline_face(faces, push, view, world, f, m, place.top[slot] - m.position[2])
    l0 = outline[0]
    l1 = outline[1]
    if l0 >= l1:
        return cut, lost
    # How far behind the toe nodes are looked at: the travel since the last time, with a margin for turning bodies.
    early = LOOK * g.spacing
    passed = real(2.0) * unswept + early
    behind = passed
    if thin == 1:  # wide enough that the held nodes leave no way between two of them
        behind = wp.max(passed, g.spacing * (wp.abs(view.ahead[0]) + wp.abs(view.ahead[1])))
    low = real(t.FAR)
    high = real(-t.FAR)
    for q in range(SAMPLES):
        s = plane_at(view, push.toe[world, f * SAMPLES + q])
        if push.toe[world, f * SAMPLES + q] < real(0.1) * FAR:
            low = wp.min(low, s)
            high = wp.max(high, s)
    frame = win.frame[slot]
    box = boxes.shifted(node_box(g, m, view, low - behind, high + early, l0, l1), -frame.row0, -frame.column0)
    box = boxes.common(box, boxes.inside_rim(frame.rows, frame.columns))
    for i in range(box.row0, box.row1 + 1):
        for j in range(box.column0, box.column1 + 1):
            k = nonnegative((slot * win.side + i) * win.side + j)
            at = face_place(g, m, view, frame.row0 + i, frame.column0 + j)
            if win.mark[k] != t.BARE_NODE and at[1] >= l0 and at[1] <= l1:
                toe = toe_at(push, world, f, l0, l1, at[1])
                x = at[0] - plane_at(view, toe)
                if x <= early and x > -behind:
                    d = win.levels[k][SURFACE] - m.position[2] - toe
                    if bottom.is_limited(g, o):
                        d = wp.min(d, bottom.soil_left(g, win, k))
                    if unswept > zero and x > -passed and d > zero:
                        win.levels[k] = laws.add_loose_soil(win.levels[k], -d, o.loose)
                        cut += d
                        placed = zero
                        if o.spoil == 1:
                            placed = pile_ahead(g, o, win, slot, m, view, i, j, toe, d)
                        lost += d - placed
                        push.swept[slot] = boxes.widened(push.swept[slot], i - 2, i + 2, j - 2, j + 2)
                    if thin == 1 and x <= zero:
                        win.mark[k] = t.HELD
                        push.swept[slot] = boxes.widened(push.swept[slot], i - 1, i + 1, j - 1, j + 1)
    return cut, lost


@wp.func
def sweep_faces(
    g: Ground, o: Options, faces: Faces, push: Pushing, place: Placement, win: Window, disp: Displacement,
    world: int, body: int, slot: int, m: BodyMotion,
):  # fmt: skip
    """Cut the soil ahead of all steep faces of a body and pile it up. One thread: faces may share nodes."""
    push.swept[slot] = boxes.empty_box()
    cut = real(0.0)
    lost = real(0.0)
    for f in range(faces.first_face[body], faces.first_face[body + 1]):
        if may_push(faces, push, place, world, slot, f, m):
            more, less = sweep_face(g, o, faces, push, place, win, world, slot, f, m)
            cut += more
            lost += less
    if cut > real(0.0):
        win.changed[slot] = 1
        disp.tally[slot].removed = disp.tally[slot].removed + cut
        disp.tally[slot].compressed = disp.tally[slot].compressed + lost
    if not boxes.is_empty(push.swept[slot]):
        frame = win.frame[slot]
        push.swept[slot] = boxes.common(push.swept[slot], boxes.inside_rim(frame.rows, frame.columns))
        win.dirty[slot] = boxes.spanning(win.dirty[slot], boxes.grown(push.swept[slot], 1))


@wp.func
def include_swept(push: Pushing, disp: Displacement, slot: int):
    """Add the nodes that faces have cut to the nodes near the body: their soil may slide."""
    if not boxes.is_empty(push.swept[slot]):
        disp.near[slot] = boxes.spanning(disp.near[slot], push.swept[slot])


# ---- commit: the force that the soil ahead can bear -----------------------------------------------------------


@wp.func
def add_column(push: Pushing, world: int, base: int, per_bin: real, depth: real, away: real, share: real, part: int):
    """Add a column of soil to the first trial plane that passes below its top: sums of depth and distance.

    The column stands `depth` [m] above the toe and `away` [m] from it, and counts by `share`. It carries weight on all
    planes flatter than depth / away. `part` is the pair of sums, 0 to 2.
    """
    if depth > real(0.0) and away * per_bin < PLANES * depth:  # else it is below all planes
        plane = int(away * per_bin / depth)
        q = nonnegative(base + wp.min(plane, LAST_BIN))
        sums = push.columns[world, q]
        sums[2 * part] = sums[2 * part] + share * depth
        sums[2 * part + 1] = sums[2 * part + 1] + share * away
        push.columns[world, q] = sums


@wp.func
def weigh_soil(
    g: Ground, push: Pushing, view: FaceView, world: int, f: int, m: BodyMotion, l0: real, l1: real, reach: real,
    per_bin: real, shift: real,
):  # fmt: skip
    """Sum the soil ahead of a face for all trial planes. Returns sums over the nodes next to the face, see below.

    The sums are: share, share x depth, share x depth^2, share x depth^2 x l. Beside the ends of the face the plane
    continues as a cone about the end of the toe; of its soil the part along e counts (side wedges, McKyes 1985).
    `shift` [m] is added to and subtracted from the depths, for the area of the plane.
    """
    zero = real(0.0)
    half = real(0.5)
    near = vec4()
    base = f * BINS
    for q in range(BINS):
        push.columns[world, base + q] = vec6()
    low = real(t.FAR)
    high = real(-t.FAR)
    for q in range(SAMPLES):
        toe = push.toe[world, f * SAMPLES + q]
        if toe < real(0.1) * FAR:
            low = wp.min(low, plane_at(view, toe))
            high = wp.max(high, plane_at(view, toe))
    box = node_box(g, m, view, low, high + reach, l0 - reach, l1 + reach)
    for i in range(box.row0, box.row1 + 1):
        for j in range(box.column0, box.column1 + 1):
            at = face_place(g, m, view, i, j)
            l = at[1]
            toe = toe_at(push, world, f, l0, l1, l)
            x = at[0] - plane_at(view, toe)
            beside = wp.max(wp.max(l - l1, l0 - l), zero)
            if x > zero and x * x + beside * beside < reach * reach:
                depth = surface_at(g, world, i, j) - m.position[2] - toe
                if depth + shift > zero:
                    # Share of the node's cell between the ends of the face; the rest is beside it.
                    inside = wp.min(l + half * g.spacing, l1) - wp.max(l - half * g.spacing, l0)
                    share = wp.clamp(inside * g.per_spacing, zero, real(1.0))
                    if share > zero:
                        add_column(push, world, base, per_bin, depth, x, share, 0)
                        add_column(push, world, base, per_bin, depth + shift, x, share, 1)
                        add_column(push, world, base, per_bin, depth - shift, x, share, 2)
                        if x <= real(1.001) * g.spacing and depth > zero:
                            near += vec4(share, share * depth, share * depth * depth, share * depth * depth * l)
                    if share < real(1.0):
                        out = wp.max(beside, half * (real(1.0) - share) * g.spacing)
                        away = wp.sqrt(x * x + out * out)
                        weight = (real(1.0) - share) * x / away
                        add_column(push, world, base, per_bin, depth, away, weight, 0)
                        add_column(push, world, base, per_bin, depth + shift, away, weight, 1)
                        add_column(push, world, base, per_bin, depth - shift, away, weight, 2)
    return near


@wp.func
def weakest_plane(
    g: Ground, push: Pushing, world: int, f: int, per_bin: real, shift: real, extra: real, rake: real,
    unit_weight: real, cohesion: real, phi: real, delta: real,
):  # fmt: skip
    """Least push [N] over all trial planes and the cotangent of that plane. `extra` [m^3] of soil lies on the face."""
    cell = g.spacing * g.spacing
    base = f * BINS
    sums = vec6()
    best = real(wedge.LOCKED)
    at = int(0)
    before = real(wedge.LOCKED)
    after = real(wedge.LOCKED)
    last = real(wedge.LOCKED)
    for q in range(BINS):
        sums += push.columns[world, base + q]
        slope = per_bin / real(q + 1)  # tangent of the plane whose columns are complete now
        volume = cell * (sums[0] - slope * sums[1]) + extra
        # Area in plan view: change of the volume with the depth. Counting nodes instead would jump row by row.
        plan = cell * ((sums[2] - slope * sums[3]) - (sums[4] - slope * sums[5])) / (real(2.0) * shift)
        rho = wp.atan(slope)
        area = plan / wp.cos(rho)
        p = wedge.passive_force(unit_weight * volume, area, cohesion, phi, delta, rake, rho)
        if p < best:
            best = p
            at = q
            before = last
            after = real(wedge.LOCKED)
        elif q == at + 1:
            after = p
        last = p
    cot = real(at + 1) / per_bin
    if before < real(wedge.LOCKED) and after < real(wedge.LOCKED):
        # Parabola through the best plane and its neighbours.
        bend = before - real(2.0) * best + after
        if bend > real(0.0):
            aside = real(0.5) * (before - after) / bend
            best -= real(0.25) * (before - after) * aside
            cot += aside / per_bin
    return best, cot


@wp.func
def forget_face(push: Pushing, world: int, f: int):
    """Reset a face that is out of the soil."""
    push.target[world, f] = real(0.0)
    push.mobilised[world, f] = real(0.0)
    push.gap[world, f] = real(0.0)
    push.depth[world, f] = real(0.0)
    push.since[world, f] = real(0.0)
    push.unswept[world, f] = real(0.0)


@wp.func
def weigh_face(
    g: Ground, o: Options, faces: Faces, push: Pushing, place: Placement, view: FaceView, world: int, slot: int, f: int,
    m: BodyMotion,
):  # fmt: skip
    """Find the passive force that the soil ahead of a face can bear, where it acts, and how deep the face is."""
    zero = real(0.0)
    one = real(1.0)
    outline = outline_face(faces, push, view, world, f, m, place.top[slot] - m.position[2])
    l0 = outline[0]
    l1 = outline[1]
    if l0 >= l1:
        forget_face(push, world, f)
        return
    # The soil is that at the middle of the face.
    row = wp.clamp(int(wp.floor((m.position[1] + view.middle[1] - g.y0) * g.per_spacing)), 0, g.rows - 1)
    column = wp.clamp(int(wp.floor((m.position[0] + view.middle[0] - g.x0) * g.per_spacing)), 0, g.columns - 1)
    index = int(0)
    if g.base_soil.shape[0] > 1:
        index = soil_at(g, row, column)
    if index == BARE:
        forget_face(push, world, f)
        return
    soil = o.soils[nonnegative(index)]
    # Planes around the one of the last time; the first time, around that of level ground.
    cot = push.cot[world, f]
    if push.depth[world, f] == zero:
        cot = FIRST_COT
    most = real(1.6) * cot + real(0.5)
    per_bin = PLANES / most
    lowest = real(t.FAR)
    for q in range(SAMPLES):
        lowest = wp.min(lowest, push.toe[world, f * SAMPLES + q])
    deepest = wp.max(place.top[slot] - m.position[2] - lowest, real(1.2) * push.depth[world, f]) + g.spacing
    shift = real(0.5) * g.spacing / cot
    near = weigh_soil(g, push, view, world, f, m, l0, l1, most * deepest, per_bin, shift)
    if near[0] <= zero or near[1] <= zero:
        forget_face(push, world, f)
        return
    depth = near[1] / near[0]
    height = outline[2] - lowest
    # Soil on a face that looks up lies as high as at the toe, but not above the top of the face.
    on_face = wp.min(depth, height)
    extra = wp.max(view.cot_rake, zero) * (depth - real(0.5) * on_face) * on_face * (l1 - l0)
    rake = wp.atan2(one, view.cot_rake)
    target, cot = weakest_plane(
        g, push, world, f, per_bin, shift, extra, rake, soil.unit_weight, soil.cohesion, soil.phi, soil.wall_angle
    )
    if depth > height:  # the top of the face is below the surface: soil above it passes over
        target *= one - (one - height / depth) * (one - height / depth)
    l = near[3] / near[2]
    toe = toe_at(push, world, f, l0, l1, l)
    z = toe + wp.min(depth, height) / real(3.0)  # pressure grows with depth: it acts at a third of the height
    point = plane_at(view, z) * view.ahead + l * view.across + vec3(zero, zero, z)
    push.target[world, f] = target
    push.cot[world, f] = cot
    push.depth[world, f] = depth
    push.at[world, f] = wp.transpose(m.R) * point
    push.wall[world, f] = soil.wall_angle
    push.since[world, f] = zero


@wp.func
def move_face(
    g: Ground, o: Options, faces: Faces, push: Pushing, place: Placement, world: int, slot: int, f: int, m: BodyMotion
):  # fmt: skip
    """Advance the state of a face by the step that has ended."""
    view = view_face(faces, f, m)
    if view.steep == 0:
        forget_face(push, world, f)
        return
    arm = view.middle
    if push.depth[world, f] > real(0.0):
        arm = m.R * push.at[world, f]
    travel = o.step[0] * normal_speed(view, m, arm)
    if push.mobilised[world, f] == real(0.0) and travel <= real(0.0):
        return  # a face that does not push: the side of a wheel that rolls straight ahead costs nothing
    # The wedge is computed again after some advance, or when the body has moved down or up.
    moved = wp.abs(travel) + wp.abs(o.step[0] * m.velocity[2])
    push.since[world, f] = push.since[world, f] + moved
    if push.depth[world, f] == real(0.0) or push.since[world, f] > AGAIN * g.spacing:
        weigh_face(g, o, faces, push, place, view, world, slot, f, m)
    if push.depth[world, f] > real(0.0):
        distance = wedge.mobilising_distance(push.depth[world, f], g.spacing)
        mobilised, gap = wedge.advance_face(
            push.target[world, f], push.mobilised[world, f], push.gap[world, f], travel, distance
        )
        if gap > real(0.0):  # lifted out, the face keeps no more force than the soil ahead can still bear
            mobilised = wp.min(mobilised, push.target[world, f])
        push.mobilised[world, f] = mobilised
        push.gap[world, f] = gap


@wp.func
def move_faces(
    g: Ground, o: Options, faces: Faces, push: Pushing, place: Placement, world: int, body: int, slot: int,
    m: BodyMotion,
):  # fmt: skip
    """Advance all steep faces of a body."""
    for f in range(faces.first_face[body], faces.first_face[body + 1]):
        if may_push(faces, push, place, world, slot, f, m):
            move_face(g, o, faces, push, place, world, slot, f, m)
        elif push.depth[world, f] > real(0.0):
            forget_face(push, world, f)


# ---- evaluate -----------------------------------------------------------------------------------------------


@wp.func
def face_force(g: Ground, o: Options, faces: Faces, push: Pushing, world: int, f: int, m: BodyMotion):
    """Wrench and sums of the implicit block of one face at the end of the step."""
    view = view_face(faces, f, m)
    if view.steep == 0 or push.depth[world, f] <= real(0.0):
        return vec6(), BlockSums()
    arm = m.R * push.at[world, f]
    v = m.velocity + wp.cross(m.angular_velocity, arm)
    speed = wp.dot(view.normal, v)
    distance = wedge.mobilising_distance(push.depth[world, f], g.spacing)
    p, weight = wedge.face_push(
        push.target[world, f], push.mobilised[world, f], push.gap[world, f], speed, distance, o.step[0]
    )
    if p <= real(0.0):
        return vec6(), BlockSums()
    up = wp.normalize(vec3(real(0.0), real(0.0), real(1.0)) - view.normal[2] * view.normal)
    along = wedge.wall_direction(speed, real(1.0) / push.cot[world, f], up, v - speed * view.normal)
    delta = push.wall[world, f]
    force = p * (wp.sin(delta) * along - wp.cos(delta) * view.normal)
    moment = wp.cross(arm, force)
    wrench = vec6(force[0], force[1], force[2], moment[0], moment[1], moment[2])
    c = wp.cos(delta) * weight
    return wrench, implicit.block_sums(c, view.normal, wp.cross(arm, view.normal), real(0.0), vec3())


@wp.func
def face_forces(g: Ground, o: Options, faces: Faces, push: Pushing, world: int, body: int, m: BodyMotion):
    """Wrench and sums of the implicit block of all steep faces of a body."""
    wrench = vec6()
    sums = BlockSums()
    for f in range(faces.first_face[body], faces.first_face[body + 1]):
        if push.depth[world, f] > real(0.0):
            part, share = face_force(g, o, faces, push, world, f, m)
            wrench += part
            sums = implicit.plus(sums, share)
    return wrench, sums


@wp.func
def has_faces(faces: Faces, body: int):
    """Whether a body has steep faces."""
    return faces.first_face[body + 1] > faces.first_face[body]
