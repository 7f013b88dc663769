"""Solver of the implicit chain: symmetric positive definite, block tridiagonal with 6 x 6 blocks, closed to a ring."""

from functools import cache
from types import SimpleNamespace

import warp as wp

from grouser.precision import precision


@cache
def cyclic_solver(name: str) -> SimpleNamespace:
    p = precision(name)
    real, mat66, vec6 = p.real, p.mat66, p.vec6

    @wp.func
    def inverse(m: mat66):
        """Of a symmetric positive definite matrix, by Cholesky's factor: L^-T L^-1."""
        n = int(6)
        L = m
        for j in range(n):
            s = L[j, j]
            for k in range(j):
                s -= L[j, k] * L[j, k]
            d = real(1.0) / wp.sqrt(s)
            L[j, j] = d  # the diagonal keeps 1 / l_jj
            for i in range(j + 1, n):
                s = L[i, j]
                for k in range(j):
                    s -= L[i, k] * L[j, k]
                L[i, j] = s * d
        for j in range(n):
            for i in range(j + 1, n):
                s = real(0.0)
                for k in range(j, i):
                    s -= L[i, k] * L[k, j]
                L[i, j] = s * L[i, i]
        out = mat66()
        for i in range(n):
            for j in range(i + 1):
                s = real(0.0)
                for k in range(i, n):
                    s += L[k, i] * L[k, j]
                out[i, j] = s
                out[j, i] = s
        return out

    @wp.func
    def solve_ring(
        world: int, first: int, count: int,
        D: wp.array2d(dtype=mat66), U: wp.array2d(dtype=mat66), E: wp.array2d(dtype=mat66), x: wp.array2d(dtype=vec6),
    ):  # fmt: skip
        """x <- A^-1 x. D are the diagonal blocks, U[i] = A[i, i + 1] (the last: A[last, first]); D, U and E are lost.

        Elimination from the first block on, with the coupling to the last one carried along as a column E.
        """
        last = first + count - 1
        e = wp.transpose(U[world, last])
        for i in range(first, last):
            u = U[world, i]
            if i == last - 1:
                e = e + u
            d = inverse(D[world, i])
            q = d * e
            y = d * x[world, i]
            et = wp.transpose(e)
            D[world, last] = D[world, last] - et * q
            x[world, last] = x[world, last] - et * y
            if i < last - 1:
                ut = wp.transpose(u)
                r = d * u
                D[world, i + 1] = D[world, i + 1] - ut * r
                x[world, i + 1] = x[world, i + 1] - ut * y
                U[world, i] = r
                e = -(ut * q)
            E[world, i] = q
            x[world, i] = y
        end = inverse(D[world, last]) * x[world, last]
        x[world, last] = end
        for k in range(1, count):
            i = last - k
            y = x[world, i] - E[world, i] * end
            if i < last - 1:
                y = y - U[world, i] * x[world, i + 1]
            x[world, i] = y

    return SimpleNamespace(solve_ring=solve_ring, inverse=inverse)
