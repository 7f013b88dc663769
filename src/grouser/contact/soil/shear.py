"""Stage `shear`: advance the shear state of the body's vertices, or of the soil's nodes."""

from __future__ import annotations

import warp as wp

from grouser.contact.soil import laws
from grouser.contact.soil import types as t
from grouser.contact.soil.between_nodes import corner_node, corner_weight
from grouser.contact.soil.types import SEEN, Bodies, BodyMotion, Options, Skin, Vertices, Window
from grouser.device import nonnegative
from grouser.precision import real, vec2, vec3
from grouser.terrain.ground import SURFACE
from grouser.terrain.ground import GroundArrays as Ground

HOLD = wp.constant(real(laws.HOLD))


@wp.func
def central(ahead: real, behind: real, here: real):
    """Height difference per cell [m] from two neighbours; a neighbour past the end of the body counts as `here`."""
    return real(0.5) * (wp.where(ahead < SEEN, ahead, here) - wp.where(behind < SEEN, behind, here))


@wp.func
def is_touching(g: Ground, skin: Skin, win: Window, slot: int, at: vec3, sheared: bool):
    """Whether a vertex is in the soil, and the node south-west of it.

    A vertex is in the soil if all four nodes around it are in contact, or if it lies below the soil of those that are
    not: ahead of a body soil is level up to the body, and soil that was pressed is linear between all nodes. At an edge
    only the nodes below the body count, because the soil across the edge says little about the soil below it: it may
    have been piled up, or its cell may be covered in part. A vertex that already has a shear state keeps contact a
    little above the soil. Without this, round-off would reset the shear of a body at rest and the body would lose its
    grip.
    """
    frame = win.frame[slot]
    x = at[0] - real(frame.column0)
    y = at[1] - real(frame.row0)
    i = int(wp.floor(y))
    j = int(wp.floor(x))
    touching = bool(False)
    k = int(0)
    if i >= 0 and j >= 0 and i < frame.rows - 1 and j < frame.columns - 1:
        k = nonnegative(slot * win.nodes + i * win.side + j)
        inside = vec2(x - real(j), y - real(i))
        # Mean heights with bilinear weights. Ahead of a body that of the nodes not in contact is the right one: a node
        # in contact has the height of the body itself.
        tiny = real(1.0e-12)  # avoids 0/0 exactly over a node
        free = vec2()  # sums of weight and weight times height: nodes below the body that are not in contact
        pressed = vec2()  # nodes below the body in contact
        across = vec2()  # nodes across the edge
        for corner in range(4):
            n = corner_node(win, k, corner)
            w = corner_weight(inside, corner) + tiny
            part = vec2(w, w * win.levels[n][SURFACE])
            # No branches: which nodes are in contact differs from vertex to vertex.
            in_contact = win.mark[n] == t.CONTACT
            below = skin.height[n] < SEEN
            pressed += wp.where(in_contact, part, vec2())
            free += wp.where(below and not in_contact, part, vec2())
            across += wp.where(below or in_contact, vec2(), part)
        if free[0] == real(0.0) and across[0] == real(0.0):
            touching = True
        else:
            level = real(0.0)
            if free[0] > real(0.0):
                # In its rut a body also loses contact with single nodes, by less than a micrometre. Where the rut rises
                # the height of such a node alone would be far below that of the soil at the vertex.
                level = wp.max(free[1] / free[0], (free[1] + pressed[1]) / (free[0] + pressed[0]))
            else:
                level = across[1] / across[0]
                if pressed[0] > real(0.0):
                    level = wp.max(level, pressed[1] / pressed[0])
            if at[2] < level or (sheared and at[2] < level + HOLD * g.spacing):
                touching = True
    return touching, k


@wp.func
def shear_vertex(
    g: Ground, o: Options, b: Bodies, skin: Skin, win: Window, verts: Vertices,
    world: int, body: int, slot: int, v: int, m: BodyMotion,
):  # fmt: skip
    """Advance the shear state of a vertex with the velocity at the end of the step. Above the soil, reset it to 0."""
    s = verts.shear[world, v]
    sheared = s[0] != real(0.0) or s[1] != real(0.0) or s[2] != real(0.0)
    touching, k = is_touching(g, skin, win, slot, verts.place[world, v], sheared)
    if touching:
        # Soil shears at the tips of the grousers. Work in the body frame: the shear state turns with the body.
        normal = b.normals[v]
        arm = m.R * (b.vertices[v] + b.grouser[body] * normal)
        u = wp.transpose(m.R) * (m.velocity + wp.cross(m.angular_velocity, arm))
        u = u - wp.dot(u, normal) * normal  # at a crease the normal is zero: the whole velocity shears
        # The soil index of a bare node is below 0. Use soil 0 then: no pressure acts there, so the value has no effect.
        soil = o.soils[wp.max(win.soil[k], g.first_soil[world])]
        s = laws.advance_shear(s, u, m.duration / soil.shear_k)
        # Lugs take hold of the soil: only a smooth surface slides on it.
        largest = wp.where(o.lug_tips == 1 and b.grouser[body] > real(0.0), real(1.0), soil.largest_shear)
        verts.shear[world, v] = laws.shortening(s, largest) * s
    elif sheared:
        verts.shear[world, v] = vec3()


@wp.func
def shear_node(
    g: Ground, o: Options, skin: Skin, win: Window, slot: int, i: int, j: int, first_node: vec3, m: BodyMotion
):  # fmt: skip
    """Advance the shear state of a node in contact. Reset it to 0 when the body has left the node."""
    k = nonnegative(slot * win.nodes + i * win.side + j)
    if win.mark[k] != t.CONTACT:
        win.node_shear[k] = vec3()
        return
    z = skin.height[k]
    dx = central(skin.height[k + 1], skin.height[nonnegative(k - 1)], z)
    dy = central(skin.height[nonnegative(k + win.side)], skin.height[nonnegative(k - win.side)], z)
    n = wp.normalize(vec3(-dx, -dy, g.spacing))  # normal of the body's lower surface, pointing up
    v = m.velocity + wp.cross(m.angular_velocity, first_node + vec3(real(j) * g.spacing, real(i) * g.spacing, z))
    soil = o.soils[nonnegative(win.soil[k])]
    s = laws.advance_shear(win.node_shear[k], v - wp.dot(v, n) * n, m.duration / soil.shear_k)
    win.node_shear[k] = laws.shortening(s, soil.largest_shear) * s
    win.changed[slot] = 1
