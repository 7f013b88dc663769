"""Where a steep face is: its directions, its lower edge (the toe), and the nodes around it.

Coordinates of a face: e is the horizontal direction in which it looks, s [m] counts along e and l [m] along the
horizontal direction across, both from the origin of the body's frame. Heights are relative to that origin.
"""

from __future__ import annotations

import warp as wp

from grouser.contact.soil import types as t
from grouser.contact.soil.elements import Box, FaceView
from grouser.contact.soil.surface import UPRIGHT as UPRIGHT_COSINE
from grouser.contact.soil.types import BodyMotion, Faces, Placement, Pushing
from grouser.precision import real, vec2, vec3
from grouser.terrain.ground import GroundArrays as Ground

SAMPLES = 33  # places along the toe at which its height is known
FAR = wp.constant(real(t.FAR))
UPRIGHT = wp.constant(real(UPRIGHT_COSINE))
FLATTEST = wp.constant(real(0.87))  # vertical part of the normal above which a face lifts soil rather than pushes it


@wp.func
def view_face(faces: Faces, f: int, m: BodyMotion):
    """Directions of a face as the body is turned now; `steep` = 0 if it does not push soil ahead."""
    n = m.R * faces.normals[f]
    middle = m.R * faces.middles[f]
    level = wp.sqrt(n[0] * n[0] + n[1] * n[1])
    if n[2] < -UPRIGHT or n[2] > FLATTEST:
        return FaceView(0, n, vec3(), vec3(), middle, real(0.0))  # pyright: ignore[reportCallIssue] a device struct
    ahead = vec3(n[0] / level, n[1] / level, real(0.0))
    across = vec3(-ahead[1], ahead[0], real(0.0))
    return FaceView(1, n, ahead, across, middle, n[2] / level)  # pyright: ignore[reportCallIssue]


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
    if l0 >= l1:  # pyright: ignore[reportOperatorIssue]
        return vec3(real(1.0), real(0.0), top)
    for q in range(SAMPLES):
        push.toe[world, f * SAMPLES + q] = FAR
    for e in range(first, last):
        lower_toe(push, world, f * SAMPLES, m.R * faces.edge_starts[e], m.R * faces.edge_ends[e], view.across, l0, l1)
    return vec3(l0, l1, top)


@wp.func
def span_of_face(faces: Faces, view: FaceView, f: int, m: BodyMotion, cut: real):
    """Range of l of the edges of a face that begin or end below the height `cut`, and the lowest of their heights [m].

    Not less than what `outline_face` finds, and nothing is stored. The range is empty if the face is above `cut`.
    """
    l0 = real(t.FAR)
    l1 = real(-t.FAR)
    lowest = real(t.FAR)
    for e in range(faces.first_edge[f], faces.first_edge[f + 1]):
        a = m.R * faces.edge_starts[e]
        b = m.R * faces.edge_ends[e]
        if a[2] < cut or b[2] < cut:
            la = wp.dot(a, view.across)
            lb = wp.dot(b, view.across)
            l0 = wp.min(l0, wp.min(la, lb))
            l1 = wp.max(l1, wp.max(la, lb))
            lowest = wp.min(lowest, wp.min(a[2], b[2]))
    return l0, l1, lowest


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
def toe_range(push: Pushing, view: FaceView, world: int, f: int):
    """Least and greatest place s [m] of the plane of a face along its toe."""
    low = real(t.FAR)
    high = real(-t.FAR)
    for q in range(SAMPLES):
        toe = push.toe[world, f * SAMPLES + q]
        if toe < real(0.1) * FAR:  # else no edge of the face passes here
            s = plane_at(view, toe)
            low = wp.min(low, s)
            high = wp.max(high, s)
    return low, high


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
    row0 = wp.max(int(wp.ceil(y - half_y)), 0)
    row1 = wp.min(int(wp.floor(y + half_y)), g.rows - 1)
    column0 = wp.max(int(wp.ceil(x - half_x)), 0)
    column1 = wp.min(int(wp.floor(x + half_x)), g.columns - 1)
    return Box(row0, row1, column0, column1)  # pyright: ignore[reportCallIssue]


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
