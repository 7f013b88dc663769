"""The ring solver against a dense solve."""

import numpy as np
import pytest
import warp as wp

from grouser.precision import precision
from grouser.track.cyclic import cyclic_solver

ROUND_OFF = 1e-9  # relative: condition 1e5 times the round-off of float64


@pytest.fixture(scope="module")
def kernel():
    p, solver = precision("float64"), cyclic_solver("float64")
    module = wp.get_module("tests.track.cyclic")
    module.options["enable_backward"] = False
    solve_ring, block = solver.solve_ring, solver.mat68

    @wp.kernel(module=module)
    def solve(
        first: int, count: int, D: wp.array2d(dtype=block), U: wp.array2d(dtype=block),
        Z: wp.array2d(dtype=block), x: wp.array2d(dtype=p.vec6),
    ):  # fmt: skip
        solve_ring(0, first, count, D, U, Z, x)

    return p, block, solve


@pytest.mark.parametrize("count", [3, 4, 11])
def test_ring_solve_is_the_dense_solve(kernel, count):
    p, block, solve = kernel
    random = np.random.default_rng(1)
    dense = np.zeros((6 * count, 6 * count))
    joints = []
    for i in range(count):  # springs between neighbours, as a chain has them
        j = (i + 1) % count
        J = np.zeros((6, 6 * count))
        J[:, 6 * i : 6 * i + 6], J[:, 6 * j : 6 * j + 6] = random.normal(size=(6, 6)), -random.normal(size=(6, 6))
        K = np.diag(10.0 ** random.uniform(0, 4, 6))
        joints.append(J.T @ K @ J)
    dense = sum(joints) + np.kron(np.eye(count), np.diag([45, 45, 45, 0.95, 0.19, 1.05]))
    blocks = dense.reshape(count, 6, count, 6).transpose(0, 2, 1, 3)
    D, U = np.zeros((2, count, 6, 8))
    for i in range(count):
        D[i, :, :6], U[i, :, :6] = blocks[i, i], blocks[i, (i + 1) % count]
    b = random.normal(size=(count, 6))
    pad = 2  # the ring may begin anywhere in its array
    arrays = [np.concatenate([np.zeros((pad, *a.shape[1:])), a])[None] for a in (D, U, np.zeros_like(U), b)]
    on = [wp.array(a, dtype=k, device="cpu") for a, k in zip(arrays, (block, block, block, p.vec6), strict=True)]
    wp.launch(solve, dim=1, inputs=[pad, count, *on], device="cpu")
    expected = np.linalg.solve(dense, b.ravel()).reshape(count, 6)
    assert np.abs(on[3].numpy()[0, pad:] - expected).max() < ROUND_OFF * np.abs(expected).max()
