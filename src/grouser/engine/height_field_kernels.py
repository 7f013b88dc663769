"""Kernels that exclude a height field from MuJoCo's contact search while nothing can touch it."""

from __future__ import annotations

import warp as wp

from grouser import device
from grouser.device import array, array2d, struct
from grouser.engine.kernels import Tree, World, spatial_velocity
from grouser.precision import real

MODULE = device.module("grouser.engine.height_field_filter")
TURNING = 1.5  # safety factor on the path of a step, because velocities change within it
SLACK = 1e-3  # [m] safety margin on the path of a step


@struct
class SavedFilter:
    """Collision filter of a height field, saved while the field is excluded."""

    left_out: int  # 1: it is excluded now
    contype: int
    conaffinity: int


@struct
class Field:
    """One level height field and the geoms that may touch it."""

    geom: int  # of the field
    saved: array[SavedFilter]  # (1,) written by `skip_unreachable`, read by `restore_filter`
    x0: real  # [m] of the first node
    y0: real  # [m]
    spacing_x: real  # [m] between nodes
    spacing_y: real  # [m]
    ceiling: array2d[real]  # [m], (row, column) highest node within reach of any geom over that cell
    geoms: array[int]  # (k,) that may touch it, those of one body together
    body: array[int]  # (k,) body of each
    radius: array[real]  # [m], (k,) of their bounding spheres


@wp.func
def clear_of(f: Field, k: int, x: wp.vec3d, path: real):
    """Whether geom k at x [m] cannot touch the field if it moves by up to `path` [m] in any direction.

    False outside the grid, or if a step spans more than a cell: `ceiling` does not cover these cases.
    """
    column = int(wp.floor((x[0] - f.x0) / f.spacing_x))
    row = int(wp.floor((x[1] - f.y0) / f.spacing_y))
    if column < 0 or row < 0 or row >= f.ceiling.shape[0] or column >= f.ceiling.shape[1]:
        return False
    return x[2] - f.radius[k] - path > f.ceiling[row, column] and path < wp.min(f.spacing_x, f.spacing_y)


@wp.kernel(module=MODULE)
def skip_unreachable(
    tree: Tree, w: World, f: Field, place: array[wp.vec3d], step: array[real],
    contype_out: array[int], conaffinity_out: array[int],
):  # fmt: skip
    """Before the contact search: exclude a field that no geom can reach within the step."""
    clear = int(0)
    last = int(-1)
    speed = real(0.0)
    turning = real(0.0)
    for k in range(f.geoms.shape[0]):
        body = f.body[k]
        if body != last:  # geoms of one body share its velocity
            v = spatial_velocity(w, tree, body)
            speed = wp.length(wp.vec3d(v[0], v[1], v[2]))
            turning = wp.length(wp.vec3d(v[3], v[4], v[5]))
            last = body
        x = place[f.geoms[k]]
        path = real(TURNING) * step[0] * (speed + turning * wp.length(x - w.position[body])) + real(SLACK)
        if clear_of(f, k, x, path):
            clear += 1
    f.saved[0].left_out = 0
    if clear == f.geoms.shape[0]:
        f.saved[0] = SavedFilter(1, contype_out[f.geom], conaffinity_out[f.geom])
        contype_out[f.geom] = 0
        conaffinity_out[f.geom] = 0


@wp.kernel(module=MODULE)
def restore_filter(f: Field, contype_out: array[int], conaffinity_out: array[int]):
    """After the contact search: restore the collision filter."""
    if f.saved[0].left_out == 1:
        contype_out[f.geom] = f.saved[0].contype
        conaffinity_out[f.geom] = f.saved[0].conaffinity
