"""The implicit block of a body, B = sum J^T (h D + h^2 K) J about its frame origin, summed node by node.

A node adds a weight c along its normal n, with the moment m = r x n, and a weight w that acts alike in all directions
at the lever r. Six by six entries come from 31 sums, which are symmetric where the block is.
"""

from __future__ import annotations

import warp as wp

from grouser.contact.soil.types import BlockSums
from grouser.precision import mat33, mat66, real, vec3, vec6


@wp.func
def symmetric(a: vec3, b: vec3):
    """Upper triangle of a b^T: xx, xy, xz, yy, yz, zz."""
    return vec6(a[0] * b[0], a[0] * b[1], a[0] * b[2], a[1] * b[1], a[1] * b[2], a[2] * b[2])


@wp.func
def block_sums(c: real, n: vec3, m: vec3, weight: real, r: vec3):
    """What `assemble` needs of a weight c along n with the moment m (c n n^T, c m n^T, c m m^T) and of one that acts
    alike in all directions at a lever r (w, w r, w r r^T)."""
    # 31 numbers instead of 36 or more of full blocks: they are summed over all nodes, B is built once a body.
    p = c * n
    q = c * m
    w = weight * r
    return BlockSums(
        symmetric(p, n),
        mat33(
            q[0] * n[0], q[0] * n[1], q[0] * n[2],
            q[1] * n[0], q[1] * n[1], q[1] * n[2],
            q[2] * n[0], q[2] * n[1], q[2] * n[2],
        ),
        symmetric(q, m),
        weight,
        w,
        symmetric(w, r),
    )  # fmt: skip


@wp.func
def plus(a: BlockSums, b: BlockSums):
    """Sum of two nodes' sums."""
    return BlockSums(a.nn + b.nn, a.mn + b.mn, a.mm + b.mm, a.weight + b.weight, a.lever + b.lever, a.lever2 + b.lever2)


@wp.func
def minus(a: BlockSums, b: BlockSums):
    return BlockSums(a.nn - b.nn, a.mn - b.mn, a.mm - b.mm, a.weight - b.weight, a.lever - b.lever, a.lever2 - b.lever2)


@wp.func
def assemble(a: BlockSums):
    """The block B from its sums.

    A weight w at the lever r adds w [1, -r~; r~, -r~ r~], with r~ the cross product matrix.
    """
    B = mat66()
    xx = a.lever2[0]
    yy = a.lever2[3]
    zz = a.lever2[5]
    c = int(0)
    for q in range(3):
        for r in range(q, 3):
            normal = a.nn[c]
            moment = a.mm[c] - a.lever2[c]
            if q == r:  # -r~ r~ = r^2 1 - r r^T
                normal += a.weight
                moment += xx + yy + zz
            B[q, r] = normal
            B[r, q] = normal
            B[3 + q, 3 + r] = moment
            B[3 + r, 3 + q] = moment
            c += 1
    # The lower left block couples velocity and torque; B is symmetric.
    turn = wp.skew(a.lever)
    for q in range(3):
        for r in range(3):
            B[3 + q, r] = a.mn[q, r] + turn[q, r]
            B[r, 3 + q] = B[3 + q, r]
    return B
