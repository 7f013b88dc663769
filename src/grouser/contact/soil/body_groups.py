"""Groups of bodies of one world whose soil may overlap: threads commit different groups at the same time.

Before the first body commits, `find_area` finds for each where it may work in this step: in a commit it writes to the
ground only inside its `area`, and reads it only there and in what its faces have `seen`. Bodies that share a tile to
which one of them may write are one group and work one after another, in their declared order. Groups know nothing of
each other, so the bits do not depend on the number of threads.

New tiles are numbered in the order in which they are needed. A body that needs one waits, with those after it in its
group, until all others are done; then one thread takes up those that wait, in their declared order.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from grouser.contact.soil import boxes, face_geometry, faces, placement
from grouser.contact.soil.elements import Box
from grouser.contact.soil.types import (
    Bodies,
    BodyMotion,
    Faces,
    MotionArrays,
    Options,
    Placement,
    Pushing,
    Slides,
    Window,
)
from grouser.device import array, nonnegative, struct
from grouser.precision import real
from grouser.standby import FRONT, LINE, choose_end, take_back, take_piece
from grouser.terrain.ground import TILE
from grouser.terrain.ground import GroundArrays as Ground

MOST_BODIES = 64  # bodies up to which groups are looked for: each body is compared with each
RISE = wp.constant(real(2.0))  # [cells] by which the soil at a face may rise above that of the step before
BEGIN, IN_PART = 1, 2  # values of BodyGroups.resume: from the start of the step; IN_PART + k: from part k


@struct
class BodyGroups:
    """Groups of bodies, and who has taken them. Without `shared` a thread takes all bodies of its world in order."""

    shared: int  # 1: threads share the bodies of the only world
    order: array[int]  # (body,) bodies, one group after another
    ends: array[int]  # (body,) 1: the last of its group
    first: array[int]  # (group,) place of its first body in `order`
    count: array[int]  # (1,) number of groups
    taken: array[int]  # what threads have taken, see standby.py, in a cache line of its own
    in_turn: array[int]  # (body,) `order` as `find_groups` left it: those that wait do not change it
    waits: array[int]  # (1,) 1: a body that needs a new tile waits
    resume: array[int]  # (body,) 0: it is done or has not begun; else where a body that waits goes on
    label: array[int]  # (body,) first body of its group


def one_thread(device: Any) -> Any:
    """Groups for a thread that takes all bodies of its world."""
    made: Any = BodyGroups()
    for name, variable in BodyGroups.vars.items():  # type: ignore[attr-defined]
        if hasattr(variable.type, "ndim"):
            setattr(made, name, wp.zeros(1, dtype=wp.int32, device=device))
    return made


def shared_groups(bodies: int) -> Any:
    """Groups for threads that share `bodies`, at first each a group of its own."""
    made: Any = BodyGroups()
    made.shared = 1
    for name in ("order", "first", "in_turn"):
        setattr(made, name, wp.array(np.arange(bodies), dtype=wp.int32, device="cpu"))
    made.ends = wp.ones(bodies, dtype=wp.int32, device="cpu")
    made.count = wp.full(1, bodies, dtype=wp.int32, device="cpu")
    made.taken = wp.zeros(2 * LINE, dtype=wp.int32, device="cpu")
    made.waits = wp.zeros(1, dtype=wp.int32, device="cpu")
    made.resume, made.label = (wp.zeros(bodies, dtype=wp.int32, device="cpu") for _ in range(2))
    return made


def single_bodies(groups: Any) -> Any:
    """Groups of one body each, in the order of a commit, so that a body stays with its thread."""
    made = shared_groups(len(groups.in_turn))
    made.order = groups.in_turn
    return made


# ---- where a body may work --------------------------------------------------------------------------------------


@wp.func
def find_area(
    g: Ground, o: Options, b: Bodies, shown: Faces, push: Pushing, place: Placement, win: Window, slides: Slides,
    motion: MotionArrays, world: int, body: int, slot: int,
):  # fmt: skip
    """Find the parts of the step of a body, and the nodes that it may write to and read in its commit."""
    row = nonnegative(b.rows[body])
    parts = placement.parts_of_step(g, o, b, place, body, slot, placement.motion_in_part(o, motion, world, row, 0, 1))
    place.parts[slot] = parts
    # Its vertices lie in its bounding box. One that leaves the soil still works where soil may slide.
    box = boxes.empty_box()
    for part in range(parts):
        reach = placement.reach_of(g, b, body, placement.motion_in_part(o, motion, world, row, part, parts))
        box = boxes.widened(box, reach.row0, reach.row1 - 1, reach.column0, reach.column1 - 1)
    if not boxes.is_empty(slides.recheck[slot]):
        box = boxes.spanning(box, slides.recheck[slot])
    box = boxes.grown(box, 1)
    area = boxes.grown(box, o.spare)
    slid = boxes.common(slides.slid[slot], boxes.grown(box, o.margin[slot]))
    if parts > 1:  # soil that slides in one part is in the window of the next
        area = boxes.grown(box, wp.max(o.spare, o.margin[slot] + 1))
    elif not boxes.is_empty(slides.slid[slot]) and not boxes.is_empty(slid):
        area = boxes.spanning(area, boxes.grown(slid, 1))
    grid = Box(0, g.rows - 1, 0, g.columns - 1)  # pyright: ignore[reportCallIssue] a device struct
    place.area[slot] = boxes.common(area, grid)
    place.seen[slot] = boxes.empty_box()
    if faces.has_faces(shown, body):
        m = placement.motion_in_part(o, motion, world, row, 0, parts)
        seen = seen_by_faces(g, o, b, shown, push, place, win, world, body, slot, m, parts)
        if parts > 1:
            m = placement.motion_in_part(o, motion, world, row, parts - 1, parts)
            seen = boxes.spanning(seen, seen_by_faces(g, o, b, shown, push, place, win, world, body, slot, m, parts))
        place.seen[slot] = boxes.common(seen, grid)


@wp.func
def seen_by_faces(
    g: Ground, o: Options, b: Bodies, shown: Faces, push: Pushing, place: Placement, win: Window, world: int, body: int,
    slot: int, m: BodyMotion, parts: int,
):  # fmt: skip
    """Nodes that the steep faces of a body may look at when they weigh the soil ahead of them, which is seldom."""
    seen = boxes.empty_box()
    top = place.top[slot]
    if win.frame[slot].rows == 0:  # no step has looked at the soil here
        highest, below = placement.highest_soil(g, b, world, body, m)
        top = highest
    top += RISE * g.spacing
    for f in range(shown.first_face[body], shown.first_face[body + 1]):
        view = face_geometry.view_face(shown, f, m)
        radius = shown.radii[f]
        above = m.position[2] + view.middle[2] - top  # of its middle above the soil
        weighs = view.steep == 1 and above < radius
        if weighs and parts == 1:  # what it does in later parts depends on the first
            work, since = faces.face_work(o, shown, push, view, world, f, m)
            weighs = work == faces.WEIGH
        if weighs:
            cut = top - m.position[2]
            l0, l1, lowest = face_geometry.span_of_face(shown, view, f, m, cut)
            if l0 <= l1:  # pyright: ignore[reportOperatorIssue]
                reach = faces.weighed_reach(g, push, world, f, cut - lowest)
                lean = wp.abs(view.cot_rake) * radius
                s = wp.dot(view.middle, view.ahead)
                nodes = face_geometry.node_box(g, m, view, s - lean, s + lean + reach, l0 - reach, l1 + reach)
                if not boxes.is_empty(nodes):
                    seen = boxes.spanning(seen, nodes)
    return seen


# ---- groups -----------------------------------------------------------------------------------------------------


@wp.func
def share_tile(a: Box, b: Box):
    """Whether two boxes of nodes, which may be empty, share a tile."""
    return (
        not boxes.is_empty(a) and not boxes.is_empty(b)
        and a.row0 // TILE <= b.row1 // TILE and b.row0 // TILE <= a.row1 // TILE
        and a.column0 // TILE <= b.column1 // TILE and b.column0 // TILE <= a.column1 // TILE
    )  # fmt: skip


@wp.func
def overlap(place: Placement, a: int, b: int):
    """Whether one of two bodies may write to a tile in which the other works."""
    return (
        share_tile(place.area[a], place.area[b])
        or share_tile(place.seen[a], place.area[b])
        or share_tile(place.area[a], place.seen[b])
    )


@wp.func
def find_groups(groups: BodyGroups, place: Placement, bodies: int):
    """Put bodies that overlap, also by way of others, into one group. A group stands where its first body would."""
    for body in range(bodies):
        groups.label[body] = body
        for other in range(body):
            if groups.label[other] != groups.label[body] and overlap(place, other, body):
                low = wp.min(groups.label[other], groups.label[body])
                high = wp.max(groups.label[other], groups.label[body])
                for k in range(body + 1):
                    if groups.label[k] == high:
                        groups.label[k] = low
    at = int(0)
    count = int(0)
    for body in range(bodies):
        if groups.label[body] == body:
            groups.first[count] = at
            count += 1
            for other in range(body, bodies):
                if groups.label[other] == body:
                    groups.order[at] = other
                    groups.in_turn[at] = other
                    groups.ends[at] = 0
                    at += 1
            groups.ends[at - 1] = 1
    groups.count[0] = count
    take_back(groups.taken)
    groups.waits[0] = wp.where(count > 1, 1, 0)


@wp.func
def collect_waiting(groups: BodyGroups, bodies: int):
    """Make one group of the bodies that wait, in their declared order. They may number new tiles now."""
    at = int(0)
    for body in range(bodies):
        if groups.resume[body] > 0:
            groups.order[at] = body
            groups.ends[at] = 0
            at += 1
    if at > 0:
        groups.ends[at - 1] = 1
    groups.first[0] = 0
    groups.count[0] = wp.where(at > 0, 1, 0)
    take_back(groups.taken)
    groups.waits[0] = 0


# ---- which body is next -----------------------------------------------------------------------------------------


@wp.func
def own_end(groups: BodyGroups):
    """End of the row of groups from which this thread takes, see `standby.choose_end`."""
    if groups.shared == 0:
        return FRONT
    return choose_end(groups.taken)


@wp.func
def first_of_group(groups: BodyGroups, end: int):
    """Place in `order` of the first body of a group that no thread has taken; -1: there is none."""
    group = take_piece(groups.taken, groups.count[0], end)
    if group >= groups.count[0]:
        return -1
    return groups.first[group]


@wp.func
def first_place(groups: BodyGroups, end: int):
    """Place in `order` of the first body that this thread takes; -1: there is none."""
    if groups.shared == 0:
        return 0
    return first_of_group(groups, end)


@wp.func
def body_at(groups: BodyGroups, at: int):
    if groups.shared == 0:
        return at
    return groups.order[at]


@wp.func
def next_place(groups: BodyGroups, at: int, bodies: int, end: int):
    """Place in `order` of the body that this thread takes after that at `at`; -1: there is none."""
    if groups.shared == 0:
        return wp.where(at + 1 < bodies, at + 1, -1)
    if groups.ends[at] == 0:
        return at + 1
    return first_of_group(groups, end)


@wp.func
def begun(groups: BodyGroups, body: int):
    """Where a body that has waited goes on: BEGIN or less from the start of the step, else IN_PART + its part."""
    if groups.shared == 0:
        return 0
    where = groups.resume[body]
    groups.resume[body] = 0
    return where


@wp.func
def put_off(groups: BodyGroups, at: int, part: int):
    """Let the body at `at` wait in this part, and those after it in its group. Returns the place of the last."""
    groups.resume[groups.order[at]] = IN_PART + part
    while groups.ends[at] == 0:
        at += 1
        groups.resume[groups.order[at]] = BEGIN
    return at
