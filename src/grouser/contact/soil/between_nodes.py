"""The soil at a place between the nodes of a window."""

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
    """Node at the lower corner of the cell a place [cells] lies in, -1 outside the window; place in that cell."""
    frame = win.frame[slot]
    x = at[0] - real(frame.column0)
    y = at[1] - real(frame.row0)
    i = int(wp.floor(y))
    j = int(wp.floor(x))
    k = int(-1)
    # Off the rim, so that the four nodes of the cell have their neighbours in the window too.
    if i >= 1 and j >= 1 and i < frame.rows - 2 and j < frame.columns - 2:
        k = (slot * win.side + i) * win.side + j
    return k, vec2(x - real(j), y - real(i))


@wp.func
def corner_node(win: Window, k: int, c: int):
    """One of the four nodes of a cell, c from 0 to 3."""
    return nonnegative(k + (c // 2) * win.side + c % 2)


@wp.func
def corner_weight(inside: vec2, c: int):
    """Bilinear weight of one of the four nodes round a place."""
    one = real(1.0)
    return wp.where(c % 2 == 0, one - inside[0], inside[0]) * wp.where(c // 2 == 0, one - inside[1], inside[1])


@wp.func
def nearest_node(win: Window, k: int, inside: vec2):
    """The node whose soil a point stands on."""
    half = real(0.5)
    return nonnegative(k + wp.where(inside[1] < half, 0, win.side) + wp.where(inside[0] < half, 0, 1))


@wp.func
def levels_at(win: Window, k: int, inside: vec2):
    """The four levels of the soil [m] at a place; nodes without soil do not count.

    They are straight between nodes, but for the surface: it is as far below the virgin level as at the node that
    has been pressed least. A print has upright walls, and the soil beside it is where it was.
    """
    levels = vec4()
    weight = real(0.0)
    pressed = real(FAR)
    for c in range(4):
        n = corner_node(win, k, c)
        if win.soil[n] >= 0:
            w = corner_weight(inside, c) + real(1.0e-12)  # a place right over a bare node still has soil beside it
            levels += w * win.levels[n]
            weight += w
            pressed = wp.min(pressed, win.levels[n][VIRGIN] - win.levels[n][SURFACE])
    levels = levels / weight
    levels[0] = levels[1] - pressed
    return levels


@wp.func
def pressed_level(level: real, pressed: real):
    """Level [m] of the soil below a point: that of the grid, lower where the point has pressed it."""
    return wp.where(pressed < level, pressed, level)
