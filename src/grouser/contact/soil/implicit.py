"""Implicit block of a body: B = sum over nodes of J^T (h D + h^2 K) J, about the frame origin.

D is damping, K stiffness and J maps the body's twist to the velocity of a node. The engine adds B to the mass matrix,
so that stiff soil stays stable at large steps.

Each node adds a weight c along its normal n, with the moment arm m = r x n, and an isotropic weight w at the lever arm
r. The 6 x 6 block follows from 31 sums over the nodes.
"""

from __future__ import annotations

import warp as wp

from grouser.contact.soil.elements import BlockSums
from grouser.precision import mat33, mat66, real, vec3, vec6


@wp.func
def symmetric(a: vec3, b: vec3):
    """Upper triangle of the outer product a b^T, in the order xx, xy, xz, yy, yz, zz."""
    return vec6(a[0] * b[0], a[0] * b[1], a[0] * b[2], a[1] * b[1], a[1] * b[2], a[2] * b[2])


@wp.func
def block_sums(c: real, n: vec3, m: vec3, weight: real, r: vec3):
    """Sums of one node, from which `assemble` builds the block.

    The weight `c` along `n` with moment arm `m` gives c n n^T, c m n^T, c m m^T. The isotropic weight w at the lever
    arm `r` gives w, w r, w r r^T.
    """
    # Sum these numbers over the nodes and build B once per body: that is cheaper than summing 6 x 6 blocks.
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
    """Add two sets of sums."""
    return BlockSums(a.nn + b.nn, a.mn + b.mn, a.mm + b.mm, a.weight + b.weight, a.lever + b.lever, a.lever2 + b.lever2)


@wp.func
def minus(a: BlockSums, b: BlockSums):
    return BlockSums(a.nn - b.nn, a.mn - b.mn, a.mm - b.mm, a.weight - b.weight, a.lever - b.lever, a.lever2 - b.lever2)


@wp.func
def assemble(a: BlockSums):
    """Build the 6 x 6 block B from its sums.

    An isotropic weight w at the lever arm r adds w [1, -r~; r~, -r~ r~], where r~ is the cross-product matrix of r.
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
    # The lower left 3 x 3 part couples velocity and torque. Mirror it, because B is symmetric.
    turn = wp.skew(a.lever)
    for q in range(3):
        for r in range(3):
            B[3 + q, r] = a.mn[q, r] + turn[q, r]
            B[r, 3 + q] = B[3 + q, r]
    return B
