"""Whether the chassis can touch the ground at all: MuJoCo need not look for its contacts where it cannot."""

from functools import cache
from types import SimpleNamespace

import warp as wp

from grouser.contact.tyre.search import search_functions
from grouser.precision import precision

LEEWAY = 0.02  # [m] more than it can move in a step


@cache
def clearance_kernels(name: str) -> SimpleNamespace:
    p = precision(name)
    real, vec3, quat = p.real, p.vec3, p.quat
    search = search_functions(name, False)
    Terrain, over_tangent = search.Terrain, search.over_tangent
    module = wp.get_module(f"grouser.contact.tyre.clearance.{name}")
    module.options["enable_backward"] = False

    @wp.kernel(module=module)
    def watch(
        t: Terrain, swell: wp.array2d(dtype=real), middle: vec3, half: vec3, rows: wp.array(dtype=wp.int32),
        step: wp.array(dtype=real), position: wp.array2d(dtype=vec3), rotation: wp.array2d(dtype=quat),
        velocity: wp.array2d(dtype=vec3), spin: wp.array2d(dtype=vec3), given: wp.vec2i,
        contype_out: wp.array(dtype=wp.int32), conaffinity_out: wp.array(dtype=wp.int32),
    ):  # fmt: skip
        """Masks of the chassis: as `given` where in any world a box of it may meet the ground within a step, else nil.

        The box is clear where its lowest point is over the tangent at the node below its middle, raised by the swell.
        """
        near = int(0)
        size = wp.length(half)
        for world in range(position.shape[0]):
            q = rotation[world, rows[0]]
            at = position[world, rows[0]] + wp.quat_rotate(q, middle)
            moved = wp.length(velocity[world, rows[0]]) + wp.length(spin[world, rows[0]]) * (size + wp.length(middle))
            leeway = real(LEEWAY) + real(2.0) * step[0] * moved
            over = over_tangent(t, swell, at)
            n = wp.quat_rotate_inv(q, vec3(-over[1], -over[2], real(1.0)))
            low = over[0] - wp.abs(n[0]) * half[0] - wp.abs(n[1]) * half[1] - wp.abs(n[2]) * half[2]
            if low < leeway * wp.length(n) or leeway > size:
                near = 1
        contype_out[0] = near * given[0]
        conaffinity_out[0] = near * given[1]

    return SimpleNamespace(watch=watch)
