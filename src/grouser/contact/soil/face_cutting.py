"""Stage `displace`: cut the soil that steep faces pass, and pile it up ahead of them."""

from __future__ import annotations

import warp as wp

from grouser.contact.soil import bottom, boxes, laws, pressure
from grouser.contact.soil import types as t
from grouser.contact.soil.elements import FaceView
from grouser.contact.soil.face_geometry import (
    face_place,
    may_push,
    node_box,
    normal_speed,
    outline_face,
    plane_at,
    toe_at,
    toe_range,
    view_face,
)
from grouser.contact.soil.steep_faces import BLADE, LEAVES
from grouser.contact.soil.types import BodyMotion, Displacement, Faces, Options, Placement, Pushing, Skin, Window
from grouser.device import nonnegative
from grouser.precision import real
from grouser.terrain.ground import SURFACE
from grouser.terrain.ground import GroundArrays as Ground

NARROW = wp.constant(real(4.0))  # [cells] a narrower face cuts no nodes: the cells would be too coarse for it
LOOK = wp.constant(real(0.01))  # [cells] nodes are cut this much ahead of the toe: a slow face need not always look


@wp.func
def pile_at(
    g: Ground, o: Options, win: Window, slot: int, m: BodyMotion, view: FaceView, row: real, column: real, limit: real,
    f: real,
):  # fmt: skip
    """Put f [m] of soil on the four nodes around a place of the window, beyond s = `limit` [m]. Returns what is placed.

    Nodes whose cell the body covers in part take none: soil does not slide away from there.
    """
    j0 = int(wp.floor(column + real(1.0e-9)))
    i0 = int(wp.floor(row + real(1.0e-9)))
    u = wp.max(column - real(j0), real(0.0))
    v = wp.max(row - real(i0), real(0.0))
    frame = win.frame[slot]
    # Two passes: the weights of the nodes that can take soil, then their shares.
    whole = real(0.0)
    for pass_number in range(2):
        for c in range(4):
            ii = i0 + c // 2
            jj = j0 + c % 2
            w = wp.where(c // 2 == 1, v, real(1.0) - v) * wp.where(c % 2 == 1, u, real(1.0) - u)
            if w > real(1.0e-6) and ii >= 1 and jj >= 1 and ii <= frame.rows - 2 and jj <= frame.columns - 2:
                k = nonnegative(slot * win.nodes + ii * win.side + jj)
                at = face_place(g, m, view, frame.row0 + ii, frame.column0 + jj)
                if win.mark[k] != t.BARE_NODE and win.mark[k] != t.BESIDE and at[0] > limit:
                    if pass_number == 0:
                        whole += w
                    else:
                        win.levels[k] = laws.add_loose_soil(win.levels[k], f * w / whole, o.loose)
        if whole == real(0.0):
            return real(0.0)
    return f


@wp.func
def pile_ahead(
    g: Ground, o: Options, win: Window, slot: int, m: BodyMotion, view: FaceView, i: int, j: int, toe: real, f: real
):  # fmt: skip
    """Put f [m] of soil, cut at the node (i, j) of the window, one or two cells ahead. Returns the height placed."""
    limit = plane_at(view, toe) + LOOK * g.spacing
    placed = pile_at(g, o, win, slot, m, view, real(i) + view.ahead[1], real(j) + view.ahead[0], limit, f)
    if placed == real(0.0):
        two = real(2.0)
        placed = pile_at(
            g, o, win, slot, m, view, real(i) + two * view.ahead[1], real(j) + two * view.ahead[0], limit, f
        )
    return placed


@wp.func
def compacted_share(
    o: Options, skin: Skin, win: Window, disp: Displacement, view: FaceView, slot: int, i: int, j: int, toe: real
):  # fmt: skip
    """Share of the cut height by which a node of the window counts as compacted once it is below the body.

    It then bears the pressure of the node next to it that the body stands on now: neither does a foot that slides under
    its load dig in with every cell, nor is the trench behind a blade hard. `toe` [m] is the new height of the node.
    """
    zero = real(0.0)
    k = nonnegative(slot * win.nodes + i * win.side + j)
    back = slot * win.nodes + (i - int(wp.round(view.ahead[1]))) * win.side + j - int(wp.round(view.ahead[0]))
    n = nonnegative(back)
    depth = win.levels[n][SURFACE] - skin.height[n]
    if win.soil[n] < 0 or depth <= zero:  # no body above it, or the body does not press on it
        return zero
    soil = o.soils[nonnegative(win.soil[n])]
    modulus = pressure.modulus_of(soil, disp.per_width[slot])
    pressed = wp.min(soil.k_e * depth, pressure.yield_at(o, win.soil[n], modulus, skin.height[n], win.levels[n]))
    most = pressure.yield_at(o, win.soil[k], modulus, toe, win.levels[k])
    if pressed >= most:  # pyright: ignore[reportOperatorIssue]
        return real(1.0)
    return wp.pow(pressed / most, real(1.0) / soil.n)  # pyright: ignore[reportOperatorIssue]


@wp.func
def sweep_face(
    g: Ground, o: Options, faces: Faces, push: Pushing, place: Placement, skin: Skin, win: Window,
    disp: Displacement, world: int, slot: int, f: int, m: BodyMotion,
):  # fmt: skip
    """Cut the nodes that the toe of a face has passed in this step. Returns the heights cut and compressed [m], summed.

    Behind a blade the nodes next to it are held, so that soil cannot slide through it.
    """
    zero = real(0.0)
    cut = zero
    lost = zero
    view = view_face(faces, f, m)
    if view.steep == 0:
        return cut, lost
    travel = m.duration * normal_speed(view, m, view.middle) / wp.sqrt(real(1.0) - view.normal[2] * view.normal[2])
    blade = faces.cuts[f] == BLADE
    unswept = push.unswept[world, f] + wp.max(travel, zero)
    push.unswept[world, f] = unswept
    if unswept < real(0.5) * LOOK * g.spacing and not blade:
        return cut, lost
    push.unswept[world, f] = zero
    outline = outline_face(faces, push, view, world, f, m, place.top[slot] - m.position[2])
    l0 = outline[0]
    l1 = outline[1]
    if l1 - l0 < NARROW * g.spacing:  # above the soil, or a foot so narrow that its points press its rut
        return cut, lost
    # How far behind the toe nodes are looked at: the travel since the last time, with a margin for turning bodies.
    early = LOOK * g.spacing
    passed = real(2.0) * unswept + early
    behind = passed
    if blade:  # wide enough that the held nodes leave no way between two of them
        behind = wp.max(passed, g.spacing * (wp.abs(view.ahead[0]) + wp.abs(view.ahead[1])))  # pyright: ignore[reportOperatorIssue]
    low, high = toe_range(push, view, world, f)
    frame = win.frame[slot]
    beyond = early
    if blade and push.mobilised[world, f] > zero:
        beyond = behind + early
    rear = low - behind  # pyright: ignore[reportOperatorIssue]
    box = boxes.shifted(node_box(g, m, view, rear, high + beyond, l0, l1), -frame.row0, -frame.column0)
    box = boxes.common(box, boxes.inside_rim(frame.rows, frame.columns))
    for i in range(box.row0, box.row1 + 1):
        for j in range(box.column0, box.column1 + 1):
            k = nonnegative(slot * win.nodes + i * win.side + j)
            at = face_place(g, m, view, frame.row0 + i, frame.column0 + j)
            if win.mark[k] != t.BARE_NODE and at[1] >= l0 and at[1] <= l1:
                toe = toe_at(push, world, f, l0, l1, at[1])
                x = at[0] - plane_at(view, toe)
                if x > early and x <= beyond:
                    win.mark[k] = t.AHEAD
                    push.swept[slot] = boxes.widened(push.swept[slot], i - 1, i + 1, j - 1, j + 1)
                if x <= early and x > -behind:  # pyright: ignore[reportOperatorIssue]
                    d = win.levels[k][SURFACE] - m.position[2] - toe
                    if bottom.is_limited(g, o):
                        d = wp.min(d, bottom.soil_left(g, win, k))
                    if unswept > zero and x > -passed and d > zero:
                        share = compacted_share(o, skin, win, disp, view, slot, i, j, toe + m.position[2])
                        win.levels[k] = laws.sink(win.levels[k], d, share)
                        cut += d
                        placed = zero
                        if o.spoil == 1:
                            placed = pile_ahead(g, o, win, slot, m, view, i, j, toe, d)
                        lost += d - placed
                        push.swept[slot] = boxes.widened(push.swept[slot], i - 3, i + 3, j - 3, j + 3)
                    if blade and x <= zero:
                        win.mark[k] = t.HELD
                        push.swept[slot] = boxes.widened(push.swept[slot], i - 1, i + 1, j - 1, j + 1)
    return cut, lost


@wp.func
def sweep_faces(
    g: Ground, o: Options, faces: Faces, push: Pushing, place: Placement, skin: Skin, win: Window, disp: Displacement,
    world: int, body: int, slot: int, m: BodyMotion,
):  # fmt: skip
    """Cut the soil ahead of all steep faces of a body and pile it up. One thread: faces may share nodes."""
    push.swept[slot] = boxes.empty_box()
    cut = real(0.0)
    lost = real(0.0)
    for f in range(faces.first_face[body], faces.first_face[body + 1]):
        if faces.cuts[f] != LEAVES and may_push(faces, push, place, world, slot, f, m):
            more, less = sweep_face(g, o, faces, push, place, skin, win, disp, world, slot, f, m)
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
