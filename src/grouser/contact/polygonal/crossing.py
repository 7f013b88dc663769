"""Find triangles of a mesh that intersect each other, with Warp's tree. Used once, when a mesh is read."""

from __future__ import annotations

import warp as wp

from grouser.device import array, array2d, module

crossing = module("grouser.contact.polygonal.crossing")


@wp.func
def pierces(P: wp.vec3d, Q: wp.vec3d, A: wp.vec3d, B: wp.vec3d, C: wp.vec3d, touch: wp.float64):
    """Whether the edge P Q passes through the triangle A B C by more than `touch` [m]."""
    n = wp.normalize(wp.cross(B - A, C - A))
    p = wp.dot(P - A, n)
    q = wp.dot(Q - A, n)
    if (p > -touch and q > -touch) or (p < touch and q < touch):
        return False
    X = P + (p / (p - q)) * (Q - P)
    a = wp.dot(wp.cross(B - A, X - A), n) / wp.length(B - A)
    b = wp.dot(wp.cross(C - B, X - B), n) / wp.length(C - B)
    c = wp.dot(wp.cross(A - C, X - C), n) / wp.length(A - C)
    return a > touch and b > touch and c > touch


@wp.kernel(module=crossing)
def find_crossings(
    tree: wp.uint64, low: array[wp.vec3], high: array[wp.vec3],
    corners: array2d[wp.vec3d], triangles: array[wp.vec3i], touch: wp.float64,
    found_out: array[int], pairs_out: array[wp.vec2i],
):  # fmt: skip
    """Find pairs of faces without a common vertex where an edge of one pierces the other. One thread per face."""
    f = wp.tid()
    mine = triangles[f]
    query = wp.bvh_query_aabb(tree, low[f], high[f])
    g = wp.int32(0)
    while wp.bvh_query_next(query, g):
        if g > f:  # report each pair once
            theirs = triangles[g]
            common = int(0)
            for i in range(3):
                for j in range(3):
                    if mine[i] == theirs[j]:
                        common += 1
            if common == 0:
                crosses = int(0)
                for i in range(3):
                    j = (i + 1) % 3
                    if pierces(corners[f, i], corners[f, j], corners[g, 0], corners[g, 1], corners[g, 2], touch):
                        crosses = 1
                    if pierces(corners[g, i], corners[g, j], corners[f, 0], corners[f, 1], corners[f, 2], touch):
                        crosses = 1
                if crosses == 1:
                    at = wp.atomic_add(found_out, 0, 1)
                    if at < pairs_out.shape[0]:
                        pairs_out[at] = wp.vec2i(f, g)
