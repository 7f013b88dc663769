"""Ruts of shoes in deformable soil: lower the nodes below a plate, and put part of the soil beside it."""

from __future__ import annotations

import warp as wp

from grouser.contact.soil import boxes
from grouser.contact.soil.elements import Box
from grouser.precision import mat33, real, vec3, vec4
from grouser.terrain.ground import PACKED, PACKED_VIRGIN, SURFACE, TILE, VIRGIN, GroundArrays, allocate_tile
from grouser.track import laws
from grouser.track.stages.surface import node_levels
from grouser.track.types import Ground, Plate, Ruts, State, Track

LEAST_SLOPE = wp.constant(real(0.1))  # slope of heaps of frictionless soil; assumed
LOWEST, WEIGH, LAY_DOWN = range(3)  # passes over the nodes beside a plate


@wp.func
def nodes_of(tiles: GroundArrays, middle: real, reach: real, begin: real, count: int):
    """First and last row (or column) within `reach` [m] of `middle` [m]; row 0 is at `begin` [m], there are `count`."""
    first = int(wp.ceil((middle - reach - begin) * tiles.per_spacing))
    last = int(wp.floor((middle + reach - begin) * tiles.per_spacing))
    return wp.max(first, 0), wp.min(last, count - 1)


@wp.func
def node_box(tr: Track, tiles: GroundArrays, R: mat33, x: vec3, widths: real):
    """Nodes in the bounding box of a plate `widths` times as wide as it is, grid indices."""
    half = real(0.5)
    wide = widths * half * tr.shoe_width
    reach_x = wp.abs(R[0, 0]) * half * tr.pitch + wp.abs(R[0, 1]) * wide
    reach_y = wp.abs(R[1, 0]) * half * tr.pitch + wp.abs(R[1, 1]) * wide
    i0, i1 = nodes_of(tiles, x[1], reach_y, tiles.y0, tiles.rows)
    j0, j1 = nodes_of(tiles, x[0], reach_x, tiles.x0, tiles.columns)
    return Box(i0, i1, j0, j1)


@wp.func
def plate_of(tr: Track, R: mat33):
    """The plane of the plate of a link with axes R."""
    z = vec3(tr.edge_z / R[2, 2], -R[0, 2] / R[2, 2], -R[1, 2] / R[2, 2])
    zero = real(0.0)
    along = R[2, 0] * z + vec3(zero, R[0, 0], R[1, 0])
    return Plate(z, along, R[2, 1] * z + vec3(zero, R[0, 1], R[1, 1]))


@wp.func
def on_plate(tiles: GroundArrays, plate: Plate, x: vec3, row: int, column: int):
    """Height [m] of the plate's plane at a node, and the node's position [m] along and across the link at x."""
    at = vec3(
        real(1.0),
        tiles.x0 + real(column) * tiles.spacing - x[0],
        tiles.y0 + real(row) * tiles.spacing - x[1],
    )  # fmt: skip
    return x[2] + wp.dot(plate.height, at), wp.dot(plate.along, at), wp.dot(plate.across, at)


@wp.func
def touched_levels(tiles: GroundArrays, world: int, row: int, column: int):
    """The four levels [m] of a node whose tile exists."""
    tile = tiles.table[world, row / TILE, column / TILE]
    return tiles.levels[world, tile, row % TILE, column % TILE]


@wp.func
def set_levels(tiles: GroundArrays, world: int, row: int, column: int, now: vec4):
    """Write the four levels [m] of a node whose tile exists, and count the write."""
    tile = tiles.table[world, row / TILE, column / TILE]
    tiles.levels[world, tile, row % TILE, column % TILE] = now
    tiles.stamp[world, tile] = tiles.stamp[world, tile] + 1


@wp.func
def leave_rut(world: int, which: int, tr: Track, g: Ground, tiles: GroundArrays, s: State, ruts: Ruts, i: int):
    """Lower the nodes below the plate of link i to the level after elastic rebound.

    Returns the sum of the heights [m] that nodes lost. Part of the soil is owed to the ground beside the plate.
    """
    zero, half = real(0.0), real(0.5)
    R = wp.quat_to_matrix(s.rotation[world, i])
    x = s.position[world, i]
    if R[2, 2] < half:  # a link on its way around a wheel is too steep to leave a rut
        return zero
    wide = half * tr.shoe_width
    box = node_box(tr, tiles, R, x, real(1.0))
    plane = plate_of(tr, R)
    stiffness = g.soil[0].stiffness
    dug = real(0.0)  # [m] sum over nodes
    for row in range(box.row0, box.row1 + 1):
        for column in range(box.column0, box.column1 + 1):
            plate, along, across = on_plate(tiles, plane, x, row, column)
            if wp.abs(along) <= half * tr.pitch and wp.abs(across) <= wide:
                levels = node_levels(tiles, world, row, column)
                pressed = levels[SURFACE] - plate
                if pressed > zero:
                    bears = laws.yield_pressure(levels[VIRGIN] - levels[SURFACE], g.modulus, g.exponent)
                    if stiffness * pressed > bears:  # the soil yields
                        sinkage = levels[VIRGIN] - plate
                        spring, _slope = laws.rebound(pressed, sinkage, bears, stiffness, g.modulus, g.exponent)
                        if pressed > spring and allocate_tile(tiles, world, row / TILE, column / TILE):
                            old = touched_levels(tiles, world, row, column)
                            now = plate + spring
                            packed = wp.min(old[PACKED], now)
                            set_levels(tiles, world, row, column, vec4(now, old[VIRGIN], packed, old[PACKED_VIRGIN]))
                            dug = dug + old[SURFACE] - now
    ruts.removed[world, which] = ruts.removed[world, which] + dug
    ruts.moved[world, which] = ruts.moved[world, which] - dug
    ruts.owed[world, i] = ruts.owed[world, i] + g.displaced * dug
    return dug


@wp.func
def pay_spoil(world: int, which: int, tr: Track, g: Ground, tiles: GroundArrays, s: State, ruts: Ruts):
    """Put the soil from below all plates of a track beside them. Returns the box of nodes that may have got some."""
    box = Box(tiles.rows, -1, tiles.columns, -1)
    for i in range(tr.first_link, tr.first_link + tr.links):
        if ruts.owed[world, i] > real(0.0):
            R = wp.quat_to_matrix(s.rotation[world, i])
            x = s.position[world, i]
            put = push_aside(world, tr, g, tiles, R, x, ruts.owed[world, i])
            ruts.moved[world, which] = ruts.moved[world, which] + put
            ruts.owed[world, i] = ruts.owed[world, i] - put
            box = boxes.spanning(box, node_box(tr, tiles, R, x, real(3.0)))
    return box


@wp.func
def push_aside(world: int, tr: Track, g: Ground, tiles: GroundArrays, R: mat33, x: vec3, dug: real):
    """Put soil from below a plate beside it, where a heap at the friction angle is lowest.

    `dug` [m] is the sum of node heights; the soil put down sums to the same. It is loose soil that has not been pressed
    yet. The heap on each side is at most as wide as the plate (assumed). Returns the sum of what was put down.
    """
    zero, half = real(0.0), real(0.5)
    wide = half * tr.shoe_width
    box = node_box(tr, tiles, R, x, real(3.0))
    plane = plate_of(tr, R)
    steep = wp.max(g.soil[0].tan_friction, LEAST_SLOPE)
    lowest = real(1.0e9)
    weights = real(0.0)
    put = real(0.0)
    rounds = int(3)  # LOWEST, WEIGH, LAY_DOWN; a variable, so that the loop is not unrolled
    for turn in range(rounds):
        for row in range(box.row0, box.row1 + 1):
            for column in range(box.column0, box.column1 + 1):
                plate, along, across = on_plate(tiles, plane, x, row, column)
                beside = wp.abs(across) - wide
                if wp.abs(along) <= half * tr.pitch and beside > zero and beside < tr.shoe_width:
                    if allocate_tile(tiles, world, row / TILE, column / TILE):
                        old = touched_levels(tiles, world, row, column)
                        level = old[SURFACE] + steep * beside  # constant on the slope of a heap
                        weight = wp.max(lowest + steep * wide - level, zero)
                        if turn == LOWEST:
                            lowest = wp.min(lowest, level)
                        elif turn == WEIGH:
                            weights = weights + weight
                        elif weight > zero:
                            more = dug * weight / weights
                            raised = vec4(old[SURFACE] + more, old[VIRGIN] + more, old[PACKED], old[PACKED_VIRGIN])
                            set_levels(tiles, world, row, column, raised)
                            put = put + raised[SURFACE] - old[SURFACE]
    return put
