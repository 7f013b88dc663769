"""Stages that bring sliding soil to rest before the body it slid at is gone, one thread a body."""

from functools import cache
from types import SimpleNamespace

import warp as wp

from grouser.contact.soil import laws
from grouser.contact.soil import types as t
from grouser.contact.soil.plasticity import plasticity_stages
from grouser.terrain.ground import natural


@cache
def erosion_stages(name: str) -> SimpleNamespace:
    ty = t.soil_types(name)
    real = ty.precision.real
    Ground, Options, Window = ty.ground.Arrays, ty.Options, ty.Window
    s = plasticity_stages(name)
    may_slide, slide, settle = s.may_slide, s.slide, s.settle

    @wp.func
    def put_in_line(win: Window, start: int, i: int, j: int, stamp: int, waiting: int):
        """A node to look at in the next sweep, once; returns how many wait."""
        k = natural(start + i * win.side + j)
        if win.queued[k] == stamp:
            return waiting
        win.queued[k] = stamp
        win.waiting[natural(start + waiting)] = (i << 16) + j
        return waiting + 1

    @wp.func
    def put_pair_in_line(win: Window, start: int, i: int, j: int, di: int, dj: int, stamp: int, waiting: int):
        """Two neighbours on a steep slope, unless the body holds one of them."""
        k = start + i * win.side + j
        if not may_slide(win, natural(k)) or not may_slide(win, natural(k + di * win.side + dj)):
            return waiting
        return put_in_line(win, start, i + di, j + dj, stamp, put_in_line(win, start, i, j, stamp, waiting))

    @wp.func
    def is_far(win: Window, slot: int, i: int, j: int, calm: int):
        """Whether a node lies inside the loose box but more than `calm` nodes off the body."""
        if i < win.box[slot, t.LOOSE] or i > win.box[slot, t.LOOSE + 1]:
            return False
        if j < win.box[slot, t.LOOSE + 2] or j > win.box[slot, t.LOOSE + 3]:
            return False
        return (
            i < win.box[slot, t.NEAR] - calm
            or i > win.box[slot, t.NEAR + 1] + calm
            or j < win.box[slot, t.NEAR + 2] - calm
            or j > win.box[slot, t.NEAR + 3] + calm
            or win.box[slot, t.NEAR + 1] < win.box[slot, t.NEAR]
        )

    @wp.func
    def bring_to_rest(g: Ground, o: Options, win: Window, slot: int):
        """Sweeps over the soil far from the body until it rests; it keeps what it has, soil near the body is a wall."""
        start = natural(slot * win.side * win.side)
        calm = o.calm
        limit = o.weakest * g.spacing
        steep = limit * real(1.0 + laws.EROSION_BAND)
        stamp = int(win.box[slot, t.SWEEP] + 1)
        waiting = int(0)
        for i in range(win.box[slot, t.LOOSE], win.box[slot, t.LOOSE + 1] + 1):
            for j in range(win.box[slot, t.LOOSE + 2], win.box[slot, t.LOOSE + 3] + 1):
                if is_far(win, slot, i, j, calm):
                    n = start + i * win.side + j
                    z = win.levels[natural(n)][0]
                    if wp.abs(win.levels[natural(n + 1)][0] - z) > steep and is_far(win, slot, i, j + 1, calm):
                        waiting = put_pair_in_line(win, start, i, j, 0, 1, stamp, waiting)
                    if wp.abs(win.levels[natural(n + win.side)][0] - z) > steep and is_far(win, slot, i + 1, j, calm):
                        waiting = put_pair_in_line(win, start, i, j, 1, 0, stamp, waiting)
        i0 = int(win.box[slot, t.MOVED_BOX])
        i1 = int(win.box[slot, t.MOVED_BOX + 1])
        j0 = int(win.box[slot, t.MOVED_BOX + 2])
        j1 = int(win.box[slot, t.MOVED_BOX + 3])
        for _sweep in range(o.rest_sweeps):
            moved = int(0)
            for q in range(waiting):
                place = win.waiting[natural(start + q)]
                i = place >> 16
                j = place & 0xFFFF
                if slide(
                    g, o, win, natural(start + i * win.side + j),
                    is_far(win, slot, i, j + 1, calm), is_far(win, slot, i, j - 1, calm),
                    is_far(win, slot, i + 1, j, calm), is_far(win, slot, i - 1, j, calm), limit,
                ) == 1:  # fmt: skip
                    win.moved[natural(start + moved)] = place
                    moved += 1
            if moved == 0:
                break
            stamp += 1
            waiting = int(0)
            for q in range(moved):
                place = win.moved[natural(start + q)]
                i = place >> 16
                j = place & 0xFFFF
                settle(o, win, natural(start + i * win.side + j))
                i0 = wp.min(i0, i)
                i1 = wp.max(i1, i)
                j0 = wp.min(j0, j)
                j1 = wp.max(j1, j)
                waiting = put_in_line(win, start, i, j, stamp, waiting)
                if is_far(win, slot, i + 1, j, calm):
                    waiting = put_in_line(win, start, i + 1, j, stamp, waiting)
                if is_far(win, slot, i - 1, j, calm):
                    waiting = put_in_line(win, start, i - 1, j, stamp, waiting)
                if is_far(win, slot, i, j + 1, calm):
                    waiting = put_in_line(win, start, i, j + 1, stamp, waiting)
                if is_far(win, slot, i, j - 1, calm):
                    waiting = put_in_line(win, start, i, j - 1, stamp, waiting)
        win.box[slot, t.SWEEP] = stamp
        win.box[slot, t.MOVED_BOX] = i0
        win.box[slot, t.MOVED_BOX + 1] = i1
        win.box[slot, t.MOVED_BOX + 2] = j0
        win.box[slot, t.MOVED_BOX + 3] = j1

    return SimpleNamespace(
        put_in_line=put_in_line, put_pair_in_line=put_pair_in_line, bring_to_rest=bring_to_rest
    )  # fmt: skip
