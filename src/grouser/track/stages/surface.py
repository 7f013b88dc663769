"""Surface under a shoe: a plane, a grid of heights, triangles, or deformable soil; Omar 2014, eq. 47 and 48."""

from __future__ import annotations

import warp as wp

from grouser.precision import real, vec2, vec3
from grouser.terrain.ground import SURFACE, TILE, VIRGIN, GroundArrays, base_height
from grouser.track import laws
from grouser.track import types as t
from grouser.track.types import Ground, ShoeSoil


@wp.func
def weights_in_triangle(g: Ground, k: int, x: real, y: real):
    """Whether (x, y) lies over a triangle, and the weights of its vertices there."""
    v = g.triangle[k]
    a, b, c = laws.barycentric(x, y, g.vertex[v[0]], g.vertex[v[1]], g.vertex[v[2]])
    slack = real(-1.0e-9)  # so that a point on an edge is in at least one triangle in spite of round-off
    return a >= slack and b >= slack and c >= slack, vec3(a, b, c)


@wp.func
def mix_soils(w: vec3, a: ShoeSoil, b: ShoeSoil, c: ShoeSoil):
    """Mean of three soils with weights w."""
    return ShoeSoil(
        w[0] * a.stiffness + w[1] * b.stiffness + w[2] * c.stiffness,
        w[0] * a.damping + w[1] * b.damping + w[2] * c.damping,
        w[0] * a.cohesion + w[1] * b.cohesion + w[2] * c.cohesion,
        w[0] * a.tan_friction + w[1] * b.tan_friction + w[2] * c.tan_friction,
        w[0] * a.shear_rate + w[1] * b.shear_rate + w[2] * c.shear_rate,
        w[0] * a.slip_damping + w[1] * b.slip_damping + w[2] * c.slip_damping,
        w[0] * a.slip_speed + w[1] * b.slip_speed + w[2] * c.slip_speed,
        w[0] * a.weight + w[1] * b.weight + w[2] * c.weight,
    )


@wp.func
def ground_at(g: Ground, x: real, y: real):
    """Whether there is ground at (x, y), its height [m], normal and soil. Not for deformable soil."""
    zero, one = real(0.0), real(1.0)
    up = vec3(zero, zero, one)
    if g.kind == t.FLAT:
        return True, g.height, up, g.soil[0]
    u = (x - g.x0) * g.per_spacing
    v = (y - g.y0) * g.per_spacing
    i = int(wp.floor(v))
    j = int(wp.floor(u))
    if g.kind == t.GRID:
        if i < 0 or j < 0 or i > g.heights.shape[0] - 2 or j > g.heights.shape[1] - 2:
            return False, zero, up, g.soil[0]
        # Bilinear between the four nodes of the cell; the normal is that of the bilinear surface.
        u = u - real(j)
        v = v - real(i)
        low = g.heights[i, j] + u * (g.heights[i, j + 1] - g.heights[i, j])
        high = g.heights[i + 1, j] + u * (g.heights[i + 1, j + 1] - g.heights[i + 1, j])
        near = g.heights[i, j + 1] - g.heights[i, j]
        gx = near + v * (g.heights[i + 1, j + 1] - g.heights[i + 1, j] - near)
        n = wp.normalize(vec3(-gx * g.per_spacing, -(high - low) * g.per_spacing, one))
        return True, low + v * (high - low), n, g.soil[0]
    # A mesh: test the triangles of the bucket at the point, in order.
    if i >= 0 and j >= 0 and i < g.first.shape[0] and j < g.first.shape[1]:
        for entry in range(g.first[i, j], g.first[i, j] + g.count[i, j]):
            k = g.listed[entry]
            inside, b = weights_in_triangle(g, k, x, y)
            if inside:
                corner = g.triangle[k]
                v0 = g.vertex[corner[0]]
                v1 = g.vertex[corner[1]]
                v2 = g.vertex[corner[2]]
                n = wp.normalize(wp.cross(v1 - v0, v2 - v0))
                soil = mix_soils(b, g.soil[corner[0]], g.soil[corner[1]], g.soil[corner[2]])
                return True, b[0] * v0[2] + b[1] * v1[2] + b[2] * v2[2], n, soil
    return False, zero, up, g.soil[0]


@wp.func
def node_levels(tiles: GroundArrays, world: int, row: int, column: int):
    """Surface and virgin level [m] of a node of deformable soil, touched or untouched."""
    tile = tiles.table[world, row / TILE, column / TILE]
    if tile >= 0:
        levels = tiles.levels[world, tile, row % TILE, column % TILE]
        return vec2(levels[SURFACE], levels[VIRGIN])
    z = base_height(tiles, world, row, column)
    return vec2(z, z)


@wp.func
def soil_levels(tiles: GroundArrays, world: int, x: real, y: real):
    """Whether there is soil at (x, y); surface and virgin level [m] there, bilinear between nodes."""
    one = real(1.0)
    u = (x - tiles.x0) * tiles.per_spacing
    v = (y - tiles.y0) * tiles.per_spacing
    i = int(wp.floor(v))
    j = int(wp.floor(u))
    if i < 0 or j < 0 or i > tiles.rows - 2 or j > tiles.columns - 2:
        return False, vec2()
    u = u - real(j)
    v = v - real(i)
    low = (one - u) * node_levels(tiles, world, i, j) + u * node_levels(tiles, world, i, j + 1)
    high = (one - u) * node_levels(tiles, world, i + 1, j) + u * node_levels(tiles, world, i + 1, j + 1)
    return True, (one - v) * low + v * high
