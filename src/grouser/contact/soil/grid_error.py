"""Estimate of the error that the spacing of the grid makes, from the cells along the contact of a body.

A node stands for a cell. With n cells along the contact its ends are known to a cell, and the force along it is wrong
by the order of 1/n^2. Soil that is pushed aside is put on the next row of cells, half a cell too far from the body on
average: a round body, which grows into it as it sinks, meets it too late, by the order of 1/n. Shapes that press with
points put it farther away, and the soil ahead of such a shape that slides is not resolved. The factors are those of
wheels, balls and blades on grids of 40 to 5 mm against 2.5 mm, see docs/theory/soil.md.
"""

from __future__ import annotations

import warp as wp

from grouser.contact.soil.elements import Box, GridError
from grouser.contact.soil.step_error import LOADED, MEMORY
from grouser.contact.soil.types import FINE, NOT_FINITE, Bodies, Displacement, Energy, Options, Placement
from grouser.precision import real, vec3
from grouser.terrain.ground import GroundArrays as Ground

COARSE = 0.02  # estimated error from which on it is reported
# Assumed: no law gives these factors. They were fitted by hand on errors against 2.5 mm. They change notes, no result.
ENDS = 0.3  # times 1 / n^2; wheels with chi = 1 on 40 to 5 mm, and blades
SPOIL = 0.33  # times 1 / n and 1 - chi, for a round body that is pressed in; balls of 0.3 and 0.12 m on 20 to 5 mm
ROLLING = 0.6  # times sinkage / radius, 1 / n and 1 - chi, for a wheel, which rolls on; wheels of 85 to 300 mm radius
POINTS = 0.08  # of a shape that presses with points, round or sliding like a blade; balls and soles of few cells
VERDICTS = 4  # number of verdicts on a step: FINE and three that ask for a shorter one; the same for a grid


@wp.func
def cells_of_side(touched: Box):
    """Number of cells along the longer side of a footprint."""
    return real(wp.max(wp.max(touched.column1 - touched.column0, touched.row1 - touched.row0) + 1, 1))


@wp.func
def cells_along(touched: Box, velocity: vec3, spacing: real):
    """Number of cells of a footprint along the travel, or of its longer side if it moves less than a cell in MEMORY."""
    columns = real(touched.column1 - touched.column0 + 1)
    rows = real(touched.row1 - touched.row0 + 1)
    speed = wp.sqrt(velocity[0] * velocity[0] + velocity[1] * velocity[1])
    if speed * real(MEMORY) < spacing:
        return cells_of_side(touched)
    return wp.max((columns * wp.abs(velocity[0]) + rows * wp.abs(velocity[1])) / speed, real(1.0))


@wp.func
def error_of_grid(
    g: Ground, b: Bodies, body: int, spoil: real, sinkage: real, on_points: int, touched: Box, cells: real, travel: real
):  # fmt: skip
    """Estimated relative error. `cells` are those along the travel in MEMORY, `travel` is over their length."""
    if on_points == 1:
        return real(POINTS) * wp.where(b.rounded[body] == 1, real(1.0), wp.min(travel, real(1.0)))
    if b.rounded[body] == 0:
        cells = cells_of_side(touched)  # pressed in: the thickness of a blade says nothing, it may stand between nodes
        if travel > real(1.0):  # it pushes: cells over its depth matter
            cells = wp.max(sinkage * g.per_spacing, real(1.0))
    error = real(ENDS) / (cells * cells)
    if b.rolls[body] > real(0.0):
        error += real(ROLLING) * wp.max(sinkage, real(0.0)) / b.rolls[body] * spoil / cells
    elif b.rounded[body] == 1:
        error += real(SPOIL) * spoil / cells
    return error


@wp.func
def judge_grid(
    g: Ground, o: Options, b: Bodies, place: Placement, disp: Displacement, energy: Energy, body: int, slot: int,
    v: vec3,
):  # fmt: skip
    """By how much the grid is too coarse for an error below COARSE: 0, or 1 to 3 as in `model.TIMES`. Worst so far.

    The mean over MEMORY, weighted by force. `v` [m/s] is that of the contact, `placement.contact_velocity`.
    """
    cells = cells_along(disp.touched[slot], v, g.spacing)
    travel = real(MEMORY) * wp.sqrt(v[0] * v[0] + v[1] * v[1]) / (cells * g.spacing)
    # A blade in its own cut has no nodes in contact, but presses with no points either.
    on_points = wp.where(disp.contacts[slot].nodes == 0 and disp.contacts[slot].pressed > 0, 1, 0)
    spoil = o.spoil_share[slot]
    error = error_of_grid(g, b, body, spoil, place.sinkage[slot], on_points, disp.touched[slot], cells, travel)
    keep = real(1.0) / (real(1.0) + o.step[0] / real(MEMORY))
    force = wp.length(energy.account[slot].force)
    before = energy.grid[slot]
    change = keep * (before.change + force * error)
    total = keep * (before.force + force)
    loaded = before.loaded + wp.where(force > real(0.0), o.step[0], real(0.0))
    verdict = int(0)
    if loaded >= real(LOADED) and total > real(0.0):
        times = change / total / real(COARSE)
        verdict = wp.where(times > real(1.0), 1, 0)
        verdict = wp.where(times > real(2.0), 2, verdict)
        verdict = wp.where(times > real(5.0), 3, verdict)
    verdict = wp.max(verdict, before.verdict)
    energy.grid[slot] = GridError(change, total, loaded, verdict)
    return verdict


@wp.func
def with_grid(status: int, grid: int):
    """One status for the verdicts on step and grid, see `model.verdicts`."""
    if grid == 0:
        return status
    return wp.where(status == FINE, NOT_FINITE, status) + VERDICTS * grid
