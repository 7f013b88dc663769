"""Boxes of nodes: pure functions of `types.Box`, and atomic versions for many threads."""

from __future__ import annotations

import warp as wp

from grouser.contact.soil.elements import MANY, Box, Extent
from grouser.device import array
from grouser.precision import real


@wp.func
def empty_box():
    """An empty box. Widening it by any box gives that box."""
    return Box(MANY, -1, MANY, -1)


@wp.func
def everywhere():
    """A box of all nodes."""
    return Box(0, MANY, 0, MANY)


@wp.func
def is_empty(box: Box):
    return box.row1 < box.row0 or box.column1 < box.column0


@wp.func
def widened(box: Box, row0: int, row1: int, column0: int, column1: int):
    """The smallest box that contains `box` and the given rows and columns."""
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
    """The smallest box that contains both boxes."""
    return widened(a, b.row0, b.row1, b.column0, b.column1)


@wp.func
def common(a: Box, b: Box):
    """The nodes that lie in both boxes."""
    return Box(
        wp.max(a.row0, b.row0), wp.min(a.row1, b.row1), wp.max(a.column0, b.column0), wp.min(a.column1, b.column1)
    )


@wp.func
def node_count(box: Box):
    """Number of nodes of a box that is not empty."""
    return (box.row1 - box.row0 + 1) * (box.column1 - box.column0 + 1)


@wp.func
def shortened(box: Box, rows: int, columns: int):
    """The box cut about its middle to at most `rows` and `columns` nodes."""
    row = wp.max(box.row1 - box.row0 + 1 - rows, 0)
    column = wp.max(box.column1 - box.column0 + 1 - columns, 0)
    return Box(
        box.row0 + row // 2, box.row1 - (row - row // 2),
        box.column0 + column // 2, box.column1 - (column - column // 2),
    )  # fmt: skip


@wp.func
def inside_rim(rows: int, columns: int):
    """The nodes of a window that have all four neighbours in it."""
    return Box(1, rows - 2, 1, columns - 2)


@wp.func
def holds(box: Box, i: int, j: int):
    """Whether a node lies in a box."""
    return i >= box.row0 and i <= box.row1 and j >= box.column0 and j <= box.column1


# Native code, because Warp has no atomic minimum for a field of a struct.
WIDEN = """
    wp::atomic_min(&boxes.data[slot].row0, row0);
    wp::atomic_max(&boxes.data[slot].row1, row1);
    wp::atomic_min(&boxes.data[slot].column0, column0);
    wp::atomic_max(&boxes.data[slot].column1, column1);
"""


@wp.func_native(WIDEN)
def widen_atomically(boxes: array[Box], slot: int, row0: int, row1: int, column0: int, column1: int):
    """Widen one box of an array atomically; many threads may do this at once."""
    ...


SPAN = """
    wp::atomic_min(&extents.data[slot].column0, column);
    wp::atomic_max(&extents.data[slot].column1, column);
    wp::atomic_min(&extents.data[slot].row0, row);
    wp::atomic_max(&extents.data[slot].row1, row);
"""


@wp.func_native(SPAN)
def span_atomically(extents: array[Extent], slot: int, column: real, row: real):
    """Widen an extent atomically so that it contains a point [cells]; many threads may do this at once."""
    ...
