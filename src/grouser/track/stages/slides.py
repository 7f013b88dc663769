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
from grouser.track.stages.ruts import node_box, on_plate, set_levels, touched_levels
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
    open_heap(world, tr, tiles, s, contacts.low_links, contacts.low_count[world, which], heap, frame, base)
    active = boxes.common(near, frame)
    moved = boxes.empty_box()
    sweep = int(0)
    while not boxes.is_empty(active) and sweep < SWEEPS:
        active = sweep_once(world, g.tan_repose * tiles.spacing, tiles.spacing, heap, frame, base, active)
        if not boxes.is_empty(active):
            moved = boxes.spanning(moved, active)
            active = boxes.common(boxes.grown(active, 1), frame)
        sweep += 1
    if boxes.is_empty(moved):
        return
    write_back(world, which, tiles, ruts, heap, frame, base, moved)
    inner = boxes.common(boxes.grown(frame, -1), grid)
    at_rim = moved.row0 < inner.row0 or moved.row1 > inner.row1
    if at_rim or moved.column0 < inner.column0 or moved.column1 > inner.column1 or sweep == SWEEPS:
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
    for q in range(tr.first_link, tr.first_link + low):
        i = low_links[world, q]
        R = wp.quat_to_matrix(s.rotation[world, i])
        x = s.position[world, i]
        if R[2, 2] >= real(0.5):
            under = boxes.common(node_box(tr, tiles, R, x, real(1.0)), frame)
            for row in range(under.row0, under.row1 + 1):
                for column in range(under.column0, under.column1 + 1):
                    z, along, across = on_plate(tr, tiles, R, x, row, column)
                    inside = wp.abs(along) <= real(0.5) * tr.pitch and wp.abs(across) <= real(0.5) * tr.shoe_width
                    k = base + (row - frame.row0) * columns + column - frame.column0
                    if inside:
                        heap.plate[world, k] = wp.min(heap.plate[world, k], z)


@wp.func
def steep_difference(world: int, heap: Heap, k: int, n: int, limit: real, spacing: real):
    """Height [m] of node n above node k if soil slides between them, else 0."""
    difference = heap.height[world, n] - heap.height[world, k]
    if wp.abs(difference) <= limit * real(soil_laws.EROSION_START):
        return real(0.0)
    # A plate holds the soil that it touches, and soil does not rise into it.
    hold = HOLD * spacing
    if heap.height[world, k] > heap.plate[world, k] - hold or heap.height[world, n] > heap.plate[world, n] - hold:
        return real(0.0)
    return difference


@wp.func
def shared(pairs: int):
    """Twice the number of pairs among which a node shares its flow, see `contact.soil.erosion.shared_pairs`."""
    gives = pairs % TAKES
    takes = pairs // TAKES
    return gives + takes + wp.max(gives, takes)


@wp.func
def sweep_once(world: int, limit: real, spacing: real, heap: Heap, frame: Box, base: int, active: Box):
    """Slide all steep pairs whose first node is in `active` or next to it. Returns the box of nodes that moved."""
    columns = frame.column1 - frame.column0 + 1
    row0 = wp.max(active.row0 - 1, frame.row0)
    column0 = wp.max(active.column0 - 1, frame.column0)
    found = int(0)
    passes = int(2)  # count the pairs of each node, then find the flows; a variable, so that nothing is unrolled
    for turn in range(passes):
        for row in range(row0, active.row1 + 1):
            for column in range(column0, active.column1 + 1):
                k = base + (row - frame.row0) * columns + column - frame.column0
                sides = int(2)
                for side in range(sides):
                    n = k + 1
                    there = column < frame.column1
                    if side == 1:
                        n = k + columns
                        there = row < frame.row1
                    difference = real(0.0)
                    if there:
                        difference = steep_difference(world, heap, k, n, limit, spacing)
                    if difference != real(0.0):
                        lower = wp.where(difference > real(0.0), k, n)
                        if turn == 0:
                            heap.pairs[world, lower] = heap.pairs[world, lower] + TAKES
                            heap.pairs[world, k + n - lower] = heap.pairs[world, k + n - lower] + GIVES
                            found += 1
                        else:
                            # A node in several pairs shares its flow, or it would overshoot and the slope oscillate.
                            sharing = wp.max(shared(heap.pairs[world, k]), shared(heap.pairs[world, n]))
                            flow = soil_laws.erosion_flux(difference, limit) / (real(1.0) + real(0.5) * real(sharing))
                            room = heap.plate[world, lower] - heap.height[world, lower]
                            room = room / real(heap.pairs[world, lower] // TAKES)
                            flow = wp.clamp(flow, -room, room)
                            heap.flow[world, k] = heap.flow[world, k] + flow
                            heap.flow[world, n] = heap.flow[world, n] - flow
        if found == 0:
            return boxes.empty_box()
    moved = boxes.empty_box()
    for row in range(row0, wp.min(active.row1 + 1, frame.row1) + 1):
        for column in range(column0, wp.min(active.column1 + 1, frame.column1) + 1):
            k = base + (row - frame.row0) * columns + column - frame.column0
            if heap.pairs[world, k] > 0:
                heap.height[world, k] = heap.height[world, k] + heap.flow[world, k]
                heap.flow[world, k] = real(0.0)
                heap.pairs[world, k] = 0
                moved = boxes.widened(moved, row, row, column, column)
    return moved


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
