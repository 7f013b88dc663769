"""Slides beside ruts: slopes that shoes leave steeper than the soil can stand slide until they rest.

The law is that of the soil module (`contact.soil.laws.erosion_flux`; Krenn and Hirzinger 2009, eq. 11-12): neighbouring
nodes exchange a height, all pairs at the same time, sweep by sweep. Soil below a plate is held by it.
"""

from __future__ import annotations

import warp as wp

from grouser.contact.soil import boxes
from grouser.contact.soil import laws as soil_laws
from grouser.contact.soil.elements import Box
from grouser.precision import real
from grouser.terrain.ground import TILE, GroundArrays, allocate_tile, surface_at
from grouser.track.stages.ruts import node_box, on_plate, plate_of, set_levels, touched_levels
from grouser.track.types import Contacts, Ground, Heap, Ruts, State, Track

REACH = 3  # [nodes] distance from a footprint within which it may have made slopes too steep
SPREAD = 6  # [nodes] a slide runs no farther than this beyond them in one step; it goes on in the next
SWEEPS = 200  # largest number of sweeps in a step; what is still too steep slides in the next
GIVES, TAKES = 1, 8  # added to `pairs` of the higher and the lower node of a pair; a node is in at most four pairs
OPEN = wp.constant(real(1.0e30))  # [m] height of a plate where there is none
HOLD = wp.constant(real(soil_laws.HOLD))


@wp.func
def slide(
    world: int, which: int, tr: Track, g: Ground, tiles: GroundArrays, s: State, contacts: Contacts, ruts: Ruts,
    heap: Heap, box: Box,
):  # fmt: skip
    """Let slopes around the nodes of `box` (grid indices) slide. What does not come to rest is looked at next time."""
    ruts.steep[world, which] = boxes.empty_box()
    if boxes.is_empty(box):
        return
    grid = Box(0, tiles.rows - 1, 0, tiles.columns - 1)
    near = boxes.common(boxes.grown(box, REACH), grid)
    frame = boxes.common(boxes.shortened(boxes.grown(near, SPREAD), heap.side, heap.side), grid)
    base = which * heap.side * heap.side
    limit = g.tan_repose * tiles.spacing
    open_heap(world, tr, tiles, s, contacts.low_links, contacts.low_count[world, which], heap, frame, base)
    pairs, moving = first_pairs(world, limit, tiles.spacing, heap, frame, base, boxes.common(near, frame))
    moved = boxes.empty_box()
    sweep = int(0)
    while pairs > 0 and sweep < SWEEPS:
        find_flows(world, limit, heap, frame, base, pairs)
        moved = boxes.spanning(moved, move_nodes(world, heap, frame, base, moving, sweep))
        pairs, moving = next_pairs(world, limit, tiles.spacing, heap, frame, base, moving, sweep)
        sweep += 1
    if boxes.is_empty(moved):
        return
    write_back(world, which, tiles, ruts, heap, frame, base, moved)
    inner = boxes.common(boxes.grown(frame, -1), grid)
    at_rim = moved.row0 < inner.row0 or moved.row1 > inner.row1
    if at_rim or moved.column0 < inner.column0 or moved.column1 > inner.column1 or pairs > 0:
        ruts.steep[world, which] = moved


@wp.func
def open_heap(
    world: int, tr: Track, tiles: GroundArrays, s: State, low_links: wp.array2d(dtype=int), low: int, heap: Heap,
    frame: Box, base: int,
):  # fmt: skip
    """Copy the surface of the nodes of `frame` and find the plates above them."""
    columns = frame.column1 - frame.column0 + 1
    for row in range(frame.row0, frame.row1 + 1):
        for column in range(frame.column0, frame.column1 + 1):
            k = base + (row - frame.row0) * columns + column - frame.column0
            heap.height[world, k] = surface_at(tiles, world, row, column)
            heap.plate[world, k] = OPEN
            heap.flow[world, k] = real(0.0)
            heap.pairs[world, k] = 0
            heap.sweep[world, k] = -1
    for q in range(tr.first_link, tr.first_link + low):
        i = low_links[world, q]
        R = wp.quat_to_matrix(s.rotation[world, i])
        x = s.position[world, i]
        if R[2, 2] >= real(0.5):
            under = boxes.common(node_box(tr, tiles, R, x, real(1.0)), frame)
            plane = plate_of(tr, R)
            for row in range(under.row0, under.row1 + 1):
                for column in range(under.column0, under.column1 + 1):
                    z, along, across = on_plate(tiles, plane, x, row, column)
                    inside = wp.abs(along) <= real(0.5) * tr.pitch and wp.abs(across) <= real(0.5) * tr.shoe_width
                    k = base + (row - frame.row0) * columns + column - frame.column0
                    if inside:
                        heap.plate[world, k] = wp.min(heap.plate[world, k], z)


@wp.func
def shared(pairs: int):
    """Twice the number of pairs among which a node shares its flow, see `contact.soil.erosion.shared_pairs`."""
    gives = pairs % TAKES
    takes = pairs // TAKES
    return gives + takes + wp.max(gives, takes)


@wp.func
def node_code(row: int, column: int):
    """Pack row and column of a node, counted from those of the frame, into one number."""
    return (row << 15) + column


@wp.func
def add_pair(
    world: int, limit: real, spacing: real, heap: Heap, frame: Box, base: int, row: int, column: int, side: int,
    pairs: int, moving: int,
):  # fmt: skip
    """List a pair if soil slides between its nodes, and its nodes if they are not yet. Returns the new lengths.

    `row` and `column`, counted from those of the frame, are of the first node; the second lies to the east (`side` 0)
    or north (1).
    """
    columns = frame.column1 - frame.column0 + 1
    k = base + row * columns + column
    n = k + wp.where(side == 0, 1, columns)
    below = heap.height[world, k]
    above = heap.height[world, n]
    if wp.abs(above - below) <= limit * real(soil_laws.EROSION_START):
        return pairs, moving
    # A plate holds the soil that it touches, and soil does not rise into it.
    hold = HOLD * spacing
    if below > heap.plate[world, k] - hold or above > heap.plate[world, n] - hold:
        return pairs, moving
    code = node_code(row, column)
    heap.steep[world, 2 * base + pairs] = 2 * code + side
    now = moving
    if heap.pairs[world, k] == 0:
        heap.moving[world, base + now] = code
        now += 1
    if heap.pairs[world, n] == 0:
        heap.moving[world, base + now] = wp.where(side == 0, node_code(row, column + 1), node_code(row + 1, column))
        now += 1
    rises = wp.where(above > below, TAKES, GIVES)  # what the first node does
    heap.pairs[world, k] = heap.pairs[world, k] + rises
    heap.pairs[world, n] = heap.pairs[world, n] + (GIVES + TAKES - rises)
    return pairs + 1, now


@wp.func
def first_pairs(world: int, limit: real, spacing: real, heap: Heap, frame: Box, base: int, near: Box):
    """List all pairs too steep whose first node is in `near` or next to it. Returns the lengths of both lists."""
    columns = frame.column1 - frame.column0 + 1
    start = limit * real(soil_laws.EROSION_START)
    pairs = int(0)
    moving = int(0)
    for row in range(wp.max(near.row0 - 1, frame.row0) - frame.row0, near.row1 + 1 - frame.row0):
        for column in range(wp.max(near.column0 - 1, frame.column0) - frame.column0, near.column1 + 1 - frame.column0):
            k = base + row * columns + column
            z = heap.height[world, k]
            east = int(0)  # 1: there is a neighbour, and it is far higher or lower; nearly all soil is at rest
            north = int(0)
            if column < columns - 1:
                east = wp.where(wp.abs(heap.height[world, k + 1] - z) > start, 1, 0)
            if row < frame.row1 - frame.row0:
                north = wp.where(wp.abs(heap.height[world, k + columns] - z) > start, 1, 0)
            if east == 1:
                pairs, moving = add_pair(world, limit, spacing, heap, frame, base, row, column, 0, pairs, moving)
            if north == 1:
                pairs, moving = add_pair(world, limit, spacing, heap, frame, base, row, column, 1, pairs, moving)
    return pairs, moving


@wp.func
def next_pairs(
    world: int, limit: real, spacing: real, heap: Heap, frame: Box, base: int, count: int, sweep: int
):  # fmt: skip
    """List the pairs too steep of the `count` nodes that moved in `sweep`, each once. No others can have become so."""
    columns = frame.column1 - frame.column0 + 1
    pairs = int(0)
    moving = int(0)
    for q in range(base, base + count):
        code = heap.moved[world, q]
        row = code >> 15
        column = code & 0x7FFF
        k = base + row * columns + column
        if column < columns - 1:
            pairs, moving = add_pair(world, limit, spacing, heap, frame, base, row, column, 0, pairs, moving)
        if row < frame.row1 - frame.row0:
            pairs, moving = add_pair(world, limit, spacing, heap, frame, base, row, column, 1, pairs, moving)
        # Western and southern neighbours that have moved list the pair themselves.
        if column > 0 and heap.sweep[world, k - 1] != sweep:
            pairs, moving = add_pair(world, limit, spacing, heap, frame, base, row, column - 1, 0, pairs, moving)
        if row > 0 and heap.sweep[world, k - columns] != sweep:
            pairs, moving = add_pair(world, limit, spacing, heap, frame, base, row - 1, column, 1, pairs, moving)
    return pairs, moving


@wp.func
def find_flows(world: int, limit: real, heap: Heap, frame: Box, base: int, pairs: int):
    """Sum the heights that nodes exchange in a sweep."""
    columns = frame.column1 - frame.column0 + 1
    for q in range(2 * base, 2 * base + pairs):
        code = heap.steep[world, q]
        k = base + (code >> 16) * columns + ((code >> 1) & 0x7FFF)
        n = k + wp.where((code & 1) == 0, 1, columns)
        difference = heap.height[world, n] - heap.height[world, k]
        lower = wp.where(difference > real(0.0), k, n)
        # A node in several pairs shares its flow, or it would overshoot and the slope oscillate.
        sharing = wp.max(shared(heap.pairs[world, k]), shared(heap.pairs[world, n]))
        flow = soil_laws.erosion_flux(difference, limit) / (real(1.0) + real(0.5) * real(sharing))
        room = heap.plate[world, lower] - heap.height[world, lower]
        room = room / real(heap.pairs[world, lower] // TAKES)
        flow = wp.clamp(flow, -room, room)
        heap.flow[world, k] = heap.flow[world, k] + flow
        heap.flow[world, n] = heap.flow[world, n] - flow


@wp.func
def move_nodes(world: int, heap: Heap, frame: Box, base: int, count: int, sweep: int):
    """Add the flows of a sweep to the `count` nodes that have some. Returns the box of these nodes, grid indices."""
    columns = frame.column1 - frame.column0 + 1
    moved = boxes.empty_box()
    for q in range(base, base + count):
        code = heap.moving[world, q]
        row = code >> 15
        column = code & 0x7FFF
        k = base + row * columns + column
        heap.height[world, k] = heap.height[world, k] + heap.flow[world, k]
        heap.flow[world, k] = real(0.0)
        heap.pairs[world, k] = 0
        heap.sweep[world, k] = sweep
        heap.moved[world, q] = code
        moved = boxes.widened(moved, row, row, column, column)
    return boxes.shifted(moved, frame.row0, frame.column0)


@wp.func
def write_back(
    world: int, which: int, tiles: GroundArrays, ruts: Ruts, heap: Heap, frame: Box, base: int, moved: Box
):  # fmt: skip
    """Write the nodes that slid back to their tiles, as loose soil that came or went."""
    columns = frame.column1 - frame.column0 + 1
    for row in range(moved.row0, moved.row1 + 1):
        for column in range(moved.column0, moved.column1 + 1):
            k = base + (row - frame.row0) * columns + column - frame.column0
            gained = heap.height[world, k] - surface_at(tiles, world, row, column)
            if gained != real(0.0) and allocate_tile(tiles, world, row / TILE, column / TILE):
                old = touched_levels(tiles, world, row, column)
                set_levels(tiles, world, row, column, soil_laws.add_loose_soil(old, gained, 1))
                ruts.moved[world, which] = ruts.moved[world, which] + gained
