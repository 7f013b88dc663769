"""Soil levels at a point between the nodes of a window."""

from __future__ import annotations

import warp as wp

from grouser.contact.soil import types as t
from grouser.contact.soil.types import Window
from grouser.device import nonnegative
from grouser.precision import real, vec2, vec4
from grouser.terrain.ground import SURFACE, VIRGIN

FAR = wp.constant(real(t.FAR))


@wp.func
def node_below(win: Window, slot: int, at: vec2):
    """Find the cell that holds a point `at` (column, row) [cells].

    Returns the node at its lower corner, -1 outside the window, and the position inside the cell, 0 to 1.
    """
    frame = win.frame[slot]
    x = at[0] - real(frame.column0)
    y = at[1] - real(frame.row0)
    i = int(wp.floor(y))
    j = int(wp.floor(x))
    k = int(-1)
    # Not on the rim: the four nodes of the cell need all their neighbours in the window.
    if i >= 1 and j >= 1 and i < frame.rows - 2 and j < frame.columns - 2:
        k = slot * win.nodes + i * win.side + j
    return k, vec2(x - real(j), y - real(i))


@wp.func
def corner_node(win: Window, k: int, c: int):
    """One of the four nodes of a cell, c from 0 to 3."""
    return nonnegative(k + (c // 2) * win.side + c % 2)


@wp.func
def corner_weight(inside: vec2, c: int):
    """Bilinear weight of one of the four nodes of a cell at the position `inside` it."""
    one = real(1.0)
    return wp.where(c % 2 == 0, one - inside[0], inside[0]) * wp.where(c // 2 == 0, one - inside[1], inside[1])


@wp.func
def nearest_node(win: Window, k: int, inside: vec2):
    """Nearest of the four nodes of a cell; its soil type is used at the point."""
    half = real(0.5)
    return nonnegative(k + wp.where(inside[1] < half, 0, win.side) + wp.where(inside[0] < half, 0, 1))


@wp.func
def bears(win: Window, k: int, n: int):
    """Whether n, one of the four nodes around a point, has soil below the point. If a blade pushes all four, all do."""
    if win.soil[n] < 0:
        return False
    return win.mark[n] != t.AHEAD or (
        win.mark[nonnegative(k)] == t.AHEAD
        and win.mark[nonnegative(k + 1)] == t.AHEAD
        and win.mark[nonnegative(k + win.side)] == t.AHEAD
        and win.mark[nonnegative(k + win.side + 1)] == t.AHEAD
    )


@wp.func
def levels_at(win: Window, k: int, inside: vec2):
    """Interpolate the four levels of the soil [m] at a point. Nodes without soil and soil ahead of a blade are ignored.

    Levels are bilinear between nodes, except the surface: it lies as far below the virgin level as at the node that has
    been pressed least. A footprint has vertical walls, so a pressed node must not lower the soil next to it.
    """
    levels = vec4()
    weight = real(0.0)
    pressed = real(FAR)
    for c in range(4):
        n = corner_node(win, k, c)
        if bears(win, k, n):
            w = corner_weight(inside, c) + real(1.0e-12)  # avoids 0/0 at a point exactly over a bare node
            levels += w * win.levels[n]
            weight += w
            pressed = wp.min(pressed, win.levels[n][VIRGIN] - win.levels[n][SURFACE])
    levels = levels / weight
    levels[SURFACE] = levels[VIRGIN] - pressed
    return levels


@wp.func
def pressed_level(level: real, pressed: real):
    """Level [m] of the soil below a point: the grid's level, or the lower level to which the point has pressed it."""
    return wp.where(pressed < level, pressed, level)
