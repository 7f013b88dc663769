"""The ring solver against a dense solve."""

import numpy as np
import pytest
import warp as wp

from grouser.precision import precision
from grouser.track.cyclic import solve_ring
from grouser.track.types import mat68
from tests.device_call import call

ROUND_OFF = 1e-9  # relative: condition 1e5 times the round-off of float64


@pytest.mark.parametrize("count", [3, 4, 11])
def test_ring_solve_is_the_dense_solve(count):
    vec6 = precision("float64").vec6
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
    on = [wp.array(a, dtype=k, device="cpu") for a, k in zip(arrays, (mat68, mat68, mat68, vec6), strict=True)]
    call(solve_ring, 0, pad, count, *on)
    expected = np.linalg.solve(dense, b.ravel()).reshape(count, 6)
    assert np.abs(on[3].numpy()[0, pad:] - expected).max() < ROUND_OFF * np.abs(expected).max()
