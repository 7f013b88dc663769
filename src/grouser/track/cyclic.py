"""Solver of the implicit chain: symmetric positive definite, cyclic block tridiagonal system with 6 x 6 blocks.

Blocks are stored with rows of 8 numbers: 6 entries, the right-hand side if there is one, and one unused. A row then
fills whole SIMD registers.
"""

from __future__ import annotations

import warp as wp

from grouser.device import array2d
from grouser.precision import real, vec6
from grouser.track.types import mat68

SIDE = wp.constant(6)  # column of a block that holds its right-hand side


@wp.func
def transposed(m: mat68, b: vec6):
    """The transposed block with the right-hand side b."""
    zero = real(0.0)
    return mat68(
        m[0, 0], m[1, 0], m[2, 0], m[3, 0], m[4, 0], m[5, 0], b[0], zero,
        m[0, 1], m[1, 1], m[2, 1], m[3, 1], m[4, 1], m[5, 1], b[1], zero,
        m[0, 2], m[1, 2], m[2, 2], m[3, 2], m[4, 2], m[5, 2], b[2], zero,
        m[0, 3], m[1, 3], m[2, 3], m[3, 3], m[4, 3], m[5, 3], b[3], zero,
        m[0, 4], m[1, 4], m[2, 4], m[3, 4], m[4, 4], m[5, 4], b[4], zero,
        m[0, 5], m[1, 5], m[2, 5], m[3, 5], m[4, 5], m[5, 5], b[5], zero,
    )  # fmt: skip


@wp.func
def with_side(m: mat68, b: vec6):
    """The block with the right-hand side b."""
    out = m
    for r in range(6):
        out[r, SIDE] = b[r]
    return out


@wp.func
def solve_upper(d: mat68, u: mat68, z: mat68, after: vec6, end: vec6):
    """Solve d x + u after + z end = b by back substitution; d is upper triangular, b the right-hand side in z."""
    x = vec6()
    for back in range(6):
        r = 5 - back
        s = z[r, SIDE]
        for c in range(6):
            s -= u[r, c] * after[c] + z[r, c] * end[c]
        for c in range(r + 1, 6):
            s -= d[r, c] * x[c]
        x[r] = s / d[r, r]
    return x


@wp.func
def solve_ring(
    world: int, first: int, count: int,
    D: array2d[mat68], U: array2d[mat68], Z: array2d[mat68], x: array2d[vec6],
):  # fmt: skip
    """Replace x by A^-1 x for the rows `first` to `first + count - 1` of the arrays, (world, row).

    D are the diagonal blocks, U[i] = A[i, i + 1] (the last one: A[last, first]). D, U and Z are overwritten. Gaussian
    elimination starts at the first block. Because the chain is closed, every block becomes coupled to the last one: z
    is that coupling, and it also carries the right-hand side.
    """
    n = int(6)  # a variable: loops over it are not unrolled
    last = first + count - 1
    z = transposed(U[world, last], x[world, first])
    end = with_side(D[world, last], x[world, last])
    d = D[world, first]
    for i in range(first, last):
        u = U[world, i]
        if i == last - 1:  # the next block is the last one: its two couplings are one and the same
            z = z + u
            u = mat68()
        # Make d upper triangular, with the same row operations on u and z.
        inv = vec6()
        for k in range(6):
            inv[k] = real(1.0) / d[k, k]
            for r in range(k + 1, 6):
                f = d[k, r] * inv[k]
                d[r] = d[r] - f * d[k]
                u[r] = u[r] - f * u[k]
                z[r] = z[r] - f * z[k]
        D[world, i] = d
        U[world, i] = u
        Z[world, i] = z
        # Subtract u^T d^-1 u and the like from the remaining blocks.
        following = D[world, i + 1]
        carried = with_side(mat68(), x[world, i + 1])
        for k in range(n):
            uk = u[k]
            zk = z[k]
            fk = inv[k] * uk
            gk = inv[k] * zk
            for r in range(6):
                following[r] = following[r] - fk[r] * uk
                carried[r] = carried[r] - fk[r] * zk
                end[r] = end[r] - gk[r] * zk
        d = following
        z = carried
    for k in range(6):
        for r in range(k + 1, 6):
            end[r] = end[r] - (end[k, r] / end[k, k]) * end[k]
    # Back substitution from the last block on.
    tip = solve_upper(end, mat68(), end, vec6(), vec6())
    x[world, last] = tip
    after = tip
    for k in range(1, count):
        i = last - k
        after = solve_upper(D[world, i], U[world, i], Z[world, i], after, tip)
        x[world, i] = after
