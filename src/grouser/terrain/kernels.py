"""Kernel that casts rays straight down onto a triangle mesh."""

from __future__ import annotations

import warp as wp

from grouser.device import array, array2d

ATTEMPTS = 5  # at the node, then at four points round it


@wp.kernel
def cast_down(
    mesh: wp.uint64, x: array[wp.float32], y: array[wp.float32],
    top: wp.float32, reach: wp.float32, nudge: wp.float32,
    face_out: array2d[int],
):  # fmt: skip
    """Find the topmost triangle at each node (row = y, column = x); -1 if there is none.

    Round-off can let a ray pass between two triangles or miss the border. It is then cast again from four points
    `nudge` [m] aside.
    """
    row, column = wp.tid()
    face = wp.int32(-1)
    for attempt in range(ATTEMPTS):
        if face < 0:
            shift_x = wp.float32(0.0)
            shift_y = wp.float32(0.0)
            if attempt > 0:
                shift_x = wp.where((attempt & 1) == 1, nudge, -nudge)
                shift_y = wp.where(attempt > 2, nudge, -nudge)
            start = wp.vec3(x[column] + shift_x, y[row] + shift_y, top)
            query = wp.mesh_query_ray(mesh, start, wp.vec3(0.0, 0.0, -1.0), reach)
            if query.result:
                face = query.face
    face_out[row, column] = face
