"""Stage `raster`, the barrel of a wheel: the height of a cylinder over a node, and where its rims cross grid lines.

Let a be the axis of a cylinder of radius R, e the direction of a in plan view, s the level and a_z the vertical part of
a = (s e, a_z), and m level and across e. A point of the lower half lies w along the axis, v across it and rho down from
it, along d = (a_z e, -s), with rho^2 + v^2 = R^2. At its place u along e and v along m in plan view

    u = s w + a_z rho,  z = z_0 + a_z w - s rho,

from the centre, which is z_0 high. The vertical line through a node (u, v) meets the cylinder where
a_z^2 t^2 - ... = 0, a quadratic equation for the height; its lower root is

    rho = (R^2 - v^2)^(1/2),  z = z_0 + (a_z u - rho) / s,  w = (u - a_z rho) / s.

The node is below the barrel if w lies between its ends. The vertical part of the outward normal is -s rho / R.
"""

from __future__ import annotations

import math

import warp as wp

from grouser.contact.soil import boxes, placement, raster
from grouser.contact.soil import types as t
from grouser.contact.soil.elements import Box
from grouser.contact.soil.surface import UPRIGHT as UPRIGHT_COSINE
from grouser.contact.soil.types import Bodies, BodyMotion, Placement, Skin, Window
from grouser.device import nonnegative, struct
from grouser.precision import cell_slack, real, vec3
from grouser.terrain.ground import GroundArrays as Ground

FAR = wp.constant(real(t.FAR))
HALF = wp.constant(real(0.5))
UPRIGHT = wp.constant(real(UPRIGHT_COSINE))
TURN = wp.constant(real(2.0 * math.pi))
TINY = wp.constant(real(1.0e-12))
# Abramowitz and Stegun 1964, 4.4.49: arctan x / x in powers of x^2 for |x| <= 1, within 2e-8.
ARCTAN = tuple(
    wp.constant(real(c))
    for c in (
        -0.3333314528, 0.1999355085, -0.1420889944, 0.1065626393, -0.0752896400, 0.0429096138, -0.0161657367,
        0.0028662257,
    )
)  # fmt: skip
C2, C4, C6, C8, C10, C12, C14, C16 = ARCTAN


@struct
class BarrelPose:
    """A barrel as it lies over the window of its body, in plan view and from the first node of the window [m]."""

    x: real  # [m] of the centre
    y: real
    z: real  # [m] height of the centre
    along_x: real  # e, unit vector of the axis in plan view
    along_y: real
    level: real  # s
    per_level: real  # 1 / s; 0 where the axis is so steep that the barrel does not press
    rise: real  # a_z
    radius: real  # R [m]
    half: real  # [m] half the width
    turned: real  # [facets] from the first one to the lowest line of the cylinder, up to half of all either way
    per_angle: real  # [facets/rad]
    per_strip: real  # [strips/m]
    per_facet: real  # [rad] angle of a facet
    cut: real  # [m] highest soil below the body and one cell: nothing is looked for above
    limit: real  # [m] the same for the lowest line of a facet
    first: int  # triangle
    facets: int
    strips: int


@wp.func
def has_barrel(b: Bodies, body: int):
    return b.barrels[body].radius > real(0.0)


@wp.func
def pose_of(g: Ground, b: Bodies, place: Placement, win: Window, body: int, slot: int, m: BodyMotion):
    """The barrel of a body over its window."""
    one = real(1.0)
    barrel = b.barrels[body]
    to_node = placement.first_node(g, win, slot, m.position)
    centre = m.R * barrel.centre
    axis = m.R * barrel.axis
    start = m.R * barrel.start
    level = wp.sqrt(axis[0] * axis[0] + axis[1] * axis[1])
    steep = level < TINY  # any direction will do
    along_x = wp.where(steep, one, axis[0] / wp.max(level, TINY))
    along_y = wp.where(steep, real(0.0), axis[1] / wp.max(level, TINY))
    # The lowest line of the cylinder lies at d from the axis. Angles grow from `start` to start x axis.
    down = vec3(axis[2] * along_x, axis[2] * along_y, -level)
    per_angle = real(barrel.facets) / TURN
    turned = wp.atan2(wp.dot(down, wp.cross(start, axis)), wp.dot(down, start)) * per_angle
    per_strip = real(barrel.strips) / (real(2.0) * barrel.half)
    cut = place.below[slot] + g.spacing
    return BarrelPose(
        centre[0] - to_node[0], centre[1] - to_node[1], centre[2] + m.position[2], along_x, along_y, level,
        wp.where(level > UPRIGHT, one / wp.max(level, UPRIGHT), real(0.0)), axis[2], barrel.radius, barrel.half,
        turned, per_angle, per_strip, one / per_angle, cut, cut + wp.abs(axis[2]) / per_strip,
        barrel.first, barrel.facets, barrel.strips,
    )  # fmt: skip


# ---- nodes ------------------------------------------------------------------------------------------------


@wp.func
def arctan(x: real):
    """Arc tangent of a number from -1 to 1 [rad]; Abramowitz and Stegun 1964, 4.4.49."""
    q = x * x
    high = q * (C10 + q * (C12 + q * (C14 + q * C16)))
    return x * (real(1.0) + q * (C2 + q * (C4 + q * (C6 + q * (C8 + high)))))


@wp.func
def triangle_at(p: BarrelPose, along: real, across: real, drop: real):
    """Triangle of the mesh at a point of the barrel: w along, v across and rho down from the axis [m].

    Triangles carry shear states and lugs. A place counts in facets and strips; round-off at their borders does not
    matter, where both sides have the same values.
    """
    angle = real(2.0) * arctan(across / (p.radius + drop))  # from the lowest line: tan(x/2) = sin x / (1 + cos x)
    turn = p.turned + angle * p.per_angle
    turn = wp.where(turn < real(0.0), turn + real(p.facets), turn)
    side = wp.clamp((along + p.half) * p.per_strip, real(0.0), real(p.strips))
    facet = wp.clamp(int(turn), 0, p.facets - 1)
    strip = wp.min(int(side), p.strips - 1)
    second = turn - real(facet) + side - real(strip) > real(1.0)  # which half of the facet
    return p.first + 2 * (facet * p.strips + strip) + wp.where(second, 1, 0)


@wp.func
def barrel_at(p: BarrelPose, slack: real, x: real, y: real):
    """Height [m] of the barrel over a place, x and y [m] from its centre, FAR where it does not press; its triangle.

    As triangles do, a facet counts that reaches down to a cell above all soil, up to its upper end. Walls do not press:
    nodes would get a height from anywhere along them. A place outside by `slack` [m] counts as inside.
    """
    u = x * p.along_x + y * p.along_y
    v = x * p.along_y - y * p.along_x
    drop = wp.sqrt(wp.max(p.radius * p.radius - v * v, real(0.0)))
    z = p.z + (p.rise * u - drop) * p.per_level
    w = (u - p.rise * drop) * p.per_level
    presses = wp.abs(w) <= p.half + slack and drop * p.level >= UPRIGHT * p.radius
    low = z - p.per_facet * p.level * wp.abs(v) <= p.limit  # a facet rises by no more
    return wp.where(presses and low, z, FAR), triangle_at(p, w, v, drop)


@wp.func
def lower_node(g: Ground, win: Window, skin: Skin, p: BarrelPose, slot: int, i: int, j: int):
    """Lower `skin.height` at a node to that of the barrel."""
    z, triangle = barrel_at(p, cell_slack * g.spacing, real(j) * g.spacing - p.x, real(i) * g.spacing - p.y)
    k = nonnegative(slot * win.nodes + i * win.side + j)
    before = skin.height[k]
    skin.height[k] = wp.where(z < before, z, before)
    skin.triangle[k] = wp.where(z < before, triangle, skin.triangle[k])


@wp.func
def lower_nodes(g: Ground, win: Window, skin: Skin, p: BarrelPose, slot: int, below: Box):
    """Lower `skin.height` at all nodes of a box to that of the barrel."""
    for i in range(below.row0, below.row1 + 1):
        j = int(below.column0)
        while j <= below.column1:
            lower_node(g, win, skin, p, slot, i, j)
            j += 1


@wp.func
def plan_box(g: Ground, win: Window, slot: int, p: BarrelPose, least: real):
    """Nodes of the window over the part of the barrel with rho >= `least` [m]; its ends are closed by nothing."""
    zero = real(0.0)
    across = wp.where(least > zero, wp.sqrt(wp.max(p.radius * p.radius - least * least, zero)), p.radius)
    near = wp.min(p.rise * least, p.rise * p.radius) - p.level * p.half
    far = wp.max(p.rise * least, p.rise * p.radius) + p.level * p.half
    middle = HALF * (near + far)
    reach = HALF * (far - near)
    x = (p.x + middle * p.along_x) * g.per_spacing
    y = (p.y + middle * p.along_y) * g.per_spacing
    dx = (reach * wp.abs(p.along_x) + across * wp.abs(p.along_y)) * g.per_spacing + cell_slack
    dy = (reach * wp.abs(p.along_y) + across * wp.abs(p.along_x)) * g.per_spacing + cell_slack
    frame = win.frame[slot]
    box = Box(
        wp.max(int(wp.ceil(y - dy)), 0), wp.min(int(wp.floor(y + dy)), frame.rows - 1),
        wp.max(int(wp.ceil(x - dx)), 0), wp.min(int(wp.floor(x + dx)), frame.columns - 1),
    )  # fmt: skip
    if boxes.is_empty(box):
        return boxes.empty_box()
    return box


@wp.func
def nodes_below(g: Ground, win: Window, slot: int, p: BarrelPose):
    """Nodes that may lie below the part of the barrel that presses."""
    if p.per_level == real(0.0):
        return boxes.empty_box()
    wall = UPRIGHT * p.radius * p.per_level
    # rho from which a line of the cylinder comes down to `limit` at its lower end, for any v, then for those left.
    sunk = (p.z - wp.abs(p.rise) * p.half - p.limit) * p.per_level
    least = wp.max(sunk - p.per_facet * p.radius, wall)
    if least < p.radius:
        least = wp.max(sunk - p.per_facet * wp.sqrt(wp.max(p.radius * p.radius - least * least, real(0.0))), wall)
    if least >= p.radius:
        return boxes.empty_box()
    return plan_box(g, win, slot, p, least)


# ---- rims -------------------------------------------------------------------------------------------------


@wp.func
def rim_box(g: Ground, win: Window, slot: int, p: BarrelPose):
    """Nodes over the parts of the rims that may reach the soil."""
    sunk = (p.z - wp.abs(p.rise) * p.half - p.cut) / wp.max(p.level, TINY)
    least = wp.clamp(sunk, -p.radius, p.radius)
    if least >= p.radius:
        return boxes.empty_box()
    return plan_box(g, win, slot, p, least)


@wp.func
def rim_lines(around: Box):
    """Number of `mark_rim` for a box: its columns and rows, for each rim."""
    if boxes.is_empty(around):
        return 0
    return 2 * (around.row1 - around.row0 + 1 + around.column1 - around.column0 + 1)


@wp.func
def mark_rim(g: Ground, win: Window, skin: Skin, p: BarrelPose, slot: int, around: Box, number: int, mode: int):
    """Where a rim crosses a column or row, record in both neighbouring nodes how far the body extends past them.

    As `raster.mark_crease`, with the circle instead of an edge. A column at x from the centre gives a linear equation
    in v and rho, x = (s w + a_z rho) e_x + v e_y, and a row likewise; with the circle there are two solutions.
    """
    columns = around.column1 - around.column0 + 1
    end = wp.where(number % 2 == 0, -p.half, p.half)
    line = number // 2
    is_column = line < columns
    ahead = wp.where(is_column, p.along_x, p.along_y)
    of_drop = p.rise * ahead
    of_across = wp.where(is_column, p.along_y, -p.along_x)
    line = wp.where(is_column, around.column0 + line, around.row0 + line - columns)
    rest = real(line) * g.spacing - wp.where(is_column, p.x, p.y) - p.level * end * ahead
    size = of_drop * of_drop + of_across * of_across
    square = size * p.radius * p.radius - rest * rest
    if size > TINY and square >= real(0.0):  # else the rim runs along the line, or beside it
        root = wp.sqrt(square)
        per_size = real(1.0) / size
        for way in range(2):
            drop = (rest * of_drop + root * of_across) * per_size
            across = (rest * of_across - root * of_drop) * per_size
            z = p.z + end * p.rise - p.level * drop
            if z <= p.cut:
                u = p.level * end + p.rise * drop
                if is_column:
                    y = (p.y + u * p.along_y - across * p.along_x) * g.per_spacing
                    raster.mark_on_column(g, win, skin, slot, line, y, z, mode)
                else:
                    x = (p.x + u * p.along_x + across * p.along_y) * g.per_spacing
                    raster.mark_on_row(g, win, skin, slot, line, x, z, mode)
            root = -root
