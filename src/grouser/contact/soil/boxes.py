"""Boxes of nodes: pure functions of `types.Box`, and one that widens a box from many threads."""

from __future__ import annotations

import warp as wp

from grouser.contact.soil import types as t
from grouser.contact.soil.types import Box, Extent
from grouser.device import array
from grouser.precision import real


@wp.func
def empty_box():
    """A box with no nodes, which widens to anything."""
    return Box(t.MANY, -1, t.MANY, -1)


@wp.func
def is_empty(box: Box):
    return box.row1 < box.row0 or box.column1 < box.column0


@wp.func
def widened(box: Box, row0: int, row1: int, column0: int, column1: int):
    """The least box that holds `box` and these rows and columns."""
    return Box(
        wp.min(box.row0, row0), wp.max(box.row1, row1), wp.min(box.column0, column0), wp.max(box.column1, column1)
    )


@wp.func
def grown(box: Box, by: int):
    """The box with `by` more nodes on every side."""
    return Box(box.row0 - by, box.row1 + by, box.column0 - by, box.column1 + by)


@wp.func
def shifted(box: Box, rows: int, columns: int):
    return Box(box.row0 + rows, box.row1 + rows, box.column0 + columns, box.column1 + columns)


@wp.func
def spanning(a: Box, b: Box):
    """The least box that holds both."""
    return widened(a, b.row0, b.row1, b.column0, b.column1)


@wp.func
def common(a: Box, b: Box):
    """Nodes in both boxes."""
    return Box(
        wp.max(a.row0, b.row0), wp.min(a.row1, b.row1), wp.max(a.column0, b.column0), wp.min(a.column1, b.column1)
    )


@wp.func
def inside_rim(rows: int, columns: int):
    """Nodes of a window that have all four neighbours in it."""
    return Box(1, rows - 2, 1, columns - 2)


@wp.func
def holds(box: Box, i: int, j: int):
    """Whether a node lies in a box."""
    return i >= box.row0 and i <= box.row1 and j >= box.column0 and j <= box.column1


# Warp has no atomic minimum of a field of a struct, hence native code.
WIDEN = """
    wp::atomic_min(&boxes.data[slot].row0, row0);
    wp::atomic_max(&boxes.data[slot].row1, row1);
    wp::atomic_min(&boxes.data[slot].column0, column0);
    wp::atomic_max(&boxes.data[slot].column1, column1);
"""


@wp.func_native(WIDEN)
def widen_atomically(boxes: array[Box], slot: int, row0: int, row1: int, column0: int, column1: int):
    """`widened` of one of an array of boxes, safe where many threads do it."""
    ...


SPAN = """
    wp::atomic_min(&extents.data[slot].column0, column);
    wp::atomic_max(&extents.data[slot].column1, column);
    wp::atomic_min(&extents.data[slot].row0, row);
    wp::atomic_max(&extents.data[slot].row1, row);
"""


@wp.func_native(SPAN)
def span_atomically(extents: array[Extent], slot: int, column: real, row: real):
    """Widen an extent to a place, safe where many threads do it."""
    ...
