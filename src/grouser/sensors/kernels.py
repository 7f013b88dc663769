"""Rays against the present ground and against fixed shapes.

Numbers of a ray are float64 whatever the float type of the ground: a ray of 100 m over cells of 10 mm needs them.
"""

from __future__ import annotations

import warp as wp

from grouser.device import array, array3d, module, nonnegative
from grouser.precision import real
from grouser.terrain.ground import TILE, GroundArrays, surface_at

MODULE = module("grouser.sensors")
NUDGE = 1e-7  # [cells] by which a ray on the border of a cell counts as in the next one
MOST_CELLS = 1 << 22  # cells that one ray may cross


@wp.kernel(module=MODULE)
def tile_tops(g: GroundArrays, top_out: array3d[real]):
    """Largest height [m] of the elevation grids over each tile, (terrain, tile row, tile column)."""
    terrain, row, column = wp.tid()
    last_row = g.base.shape[1] - 1
    last_column = g.base.shape[2] - 1
    i0 = wp.clamp(int(wp.floor(real(row * TILE) * g.ratio)) - 1, 0, last_row)
    j0 = wp.clamp(int(wp.floor(real(column * TILE) * g.ratio)) - 1, 0, last_column)
    i1 = wp.clamp(int(wp.ceil(real((row + 1) * TILE) * g.ratio)) + 1, 0, last_row)
    j1 = wp.clamp(int(wp.ceil(real((column + 1) * TILE) * g.ratio)) + 1, 0, last_column)
    top = g.base[terrain, i0, j0]
    for i in range(i0, i1 + 1):
        for j in range(j0, j1 + 1):
            top = wp.max(top, g.base[terrain, i, j])
    top_out[terrain, row, column] = top


@wp.func
def leave(position: wp.float64, speed: wp.float64, low: wp.float64, high: wp.float64):
    """Distance [m] after which a ray leaves the interval from `low` to `high`; infinite along it."""
    if speed > wp.float64(0.0):
        return (high - position) / speed
    if speed < wp.float64(0.0):
        return (low - position) / speed
    return wp.float64(wp.inf)


@wp.func
def enter(position: wp.float64, speed: wp.float64, high: wp.float64):
    """Distance [m] after which a ray enters the interval from 0 to `high`; infinite if it passes beside it."""
    if position >= wp.float64(0.0) and position <= high:
        return wp.float64(0.0)
    ahead = leave(position, -speed, wp.float64(0.0), high)
    if speed == wp.float64(0.0) or ahead > wp.float64(0.0):
        return wp.float64(wp.inf)
    return -ahead


@wp.func
def bilinear_hit(
    z00: wp.float64, z01: wp.float64, z10: wp.float64, z11: wp.float64,
    u: wp.float64, v: wp.float64, z: wp.float64,
    du: wp.float64, dv: wp.float64, dz: wp.float64,
):  # fmt: skip
    """Distance [m] to the first point at which a ray is not above the bilinear surface of a cell; infinite if none.

    (u, v) is the place in the cell, 0 to 1, and (du, dv) its change per metre. Height above the surface along the
    ray: a t^2 + b t + c.
    """
    zero = wp.float64(0.0)
    along_u = z01 - z00
    along_v = z10 - z00
    twist = z11 - z10 - z01 + z00
    c = z - (z00 + along_u * u + along_v * v + twist * u * v)
    if c <= zero:
        return zero
    b = dz - along_u * du - along_v * dv - twist * (u * dv + v * du)
    a = -twist * du * dv
    square = b * b - wp.float64(4.0) * a * c
    found = wp.float64(wp.inf)
    if square >= zero:
        q = wp.float64(-0.5) * (b + wp.where(b < zero, -wp.sqrt(square), wp.sqrt(square)))
        if q > zero:
            found = c / q
        if a != zero and q / a >= zero:
            found = wp.min(found, q / a)
    return found


@wp.func
def node(g: GroundArrays, world: int, row: int, column: int):
    return wp.float64(surface_at(g, world, row, column))


@wp.func
def base_node(g: GroundArrays, layer: int, row: int, column: int):
    return wp.float64(g.base[layer, row, column])


@wp.func
def is_touched(g: GroundArrays, world: int, row: int, column: int):
    """Whether a tile, or one whose first nodes its last cells use, has been touched."""
    next_row = wp.min(row + 1, g.table.shape[1] - 1)
    next_column = wp.min(column + 1, g.table.shape[2] - 1)
    return (
        g.table[world, row, column] != -1
        or g.table[world, next_row, column] != -1
        or g.table[world, row, next_column] != -1
        or g.table[world, next_row, next_column] != -1
    )


@wp.func
def ground_hit(
    g: GroundArrays, tops: array3d[real], world: int, origin: wp.vec3d, direction: wp.vec3d, reach: wp.float64
):
    """Distance [m] along a unit vector to the surface of the ground; infinite if there is none within `reach` [m].

    In tiles that a body has touched the ray goes from cell to cell of the fine grid. In others it goes from cell to
    cell of the elevation grid, or to the next tile if it stays above the highest node. The ground ends at its border.
    """
    none = wp.float64(wp.inf)
    nudge = wp.float64(NUDGE)
    per = wp.float64(g.per_spacing)
    ratio = wp.float64(g.ratio)
    layer = nonnegative(g.terrain[world])
    x0 = (origin[0] - wp.float64(g.x0)) * per
    y0 = (origin[1] - wp.float64(g.y0)) * per
    dx = direction[0] * per
    dy = direction[1] * per
    width = wp.float64(g.columns - 1)
    breadth = wp.float64(g.rows - 1)
    t = wp.max(enter(x0, dx, width), enter(y0, dy, breadth))
    end = wp.min(reach, wp.min(leave(x0, dx, wp.float64(0.0), width), leave(y0, dy, wp.float64(0.0), breadth)))
    shift_x = wp.where(dx < wp.float64(0.0), -nudge, nudge)
    shift_y = wp.where(dy < wp.float64(0.0), -nudge, nudge)
    for _cell in range(MOST_CELLS):
        if t > end:
            return none
        x = x0 + dx * t
        y = y0 + dy * t
        z = origin[2] + direction[2] * t
        column = wp.clamp(int(wp.floor(x + shift_x)), 0, g.columns - 2)
        row = wp.clamp(int(wp.floor(y + shift_y)), 0, g.rows - 2)
        i = row // TILE
        j = column // TILE
        hit = none
        step = none
        if is_touched(g, world, i, j):
            u = x - wp.float64(column)
            v = y - wp.float64(row)
            step = wp.min(
                leave(u, dx, wp.float64(0.0), wp.float64(1.0)), leave(v, dy, wp.float64(0.0), wp.float64(1.0))
            )
            hit = bilinear_hit(
                node(g, world, row, column), node(g, world, row, column + 1),
                node(g, world, row + 1, column), node(g, world, row + 1, column + 1),
                u, v, z, dx, dy, direction[2],
            )  # fmt: skip
        else:
            step = wp.min(
                leave(x, dx, wp.float64(j * TILE), wp.float64((j + 1) * TILE)),
                leave(y, dy, wp.float64(i * TILE), wp.float64((i + 1) * TILE)),
            )
            step = wp.min(step, end - t)
            lowest = wp.min(z, z + direction[2] * wp.max(step, wp.float64(0.0)))
            if lowest <= wp.float64(tops[layer, i, j]):
                x = x * ratio
                y = y * ratio
                column = wp.clamp(int(wp.floor(x + shift_x)), 0, g.base.shape[2] - 2)
                row = wp.clamp(int(wp.floor(y + shift_y)), 0, g.base.shape[1] - 2)
                u = x - wp.float64(column)
                v = y - wp.float64(row)
                step = wp.min(step, leave(u, dx * ratio, wp.float64(0.0), wp.float64(1.0)))
                step = wp.min(step, leave(v, dy * ratio, wp.float64(0.0), wp.float64(1.0)))
                hit = bilinear_hit(
                    base_node(g, layer, row, column), base_node(g, layer, row, column + 1),
                    base_node(g, layer, row + 1, column), base_node(g, layer, row + 1, column + 1),
                    u, v, z, dx * ratio, dy * ratio, direction[2],
                )  # fmt: skip
        # Round-off may put a hit just behind the border of its cell.
        if hit <= step + nudge / per:
            return wp.where(t + hit <= reach, t + hit, none)
        t += wp.max(step, wp.float64(0.01) * nudge / per)
    return none


@wp.kernel(module=MODULE)
def cast_on_ground(
    g: GroundArrays, tops: array3d[real], world: int, origin: wp.vec3d, direction: array[wp.vec3d],
    distance_out: array[wp.float64],
):  # fmt: skip
    """Shorten the distances [m] of rays to those at which they meet the ground. One thread per ray."""
    ray = wp.tid()
    known = distance_out[ray]
    distance_out[ray] = wp.min(known, ground_hit(g, tops, world, origin, direction[ray], known))


@wp.kernel(module=MODULE)
def cast_on_mesh(mesh: wp.uint64, origin: wp.vec3d, direction: array[wp.vec3d], distance_out: array[wp.float64]):
    """Shorten the distances [m] of rays to those at which they meet a mesh. One thread per ray."""
    ray = wp.tid()
    known = distance_out[ray]
    query = wp.mesh_query_ray(mesh, wp.vec3(origin), wp.vec3(direction[ray]), wp.float32(known))
    if query.result:
        distance_out[ray] = wp.min(known, wp.float64(query.t))
