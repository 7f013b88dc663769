"""Device functions of the engine, one at a time, against MuJoCo's own Jacobians and dense algebra."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
import warp as wp

from grouser.device import at
from grouser.engine import height_field_kernels, kernels
from grouser.engine.mujoco_cpu import MujocoCpu
from grouser.precision import precision
from tests.device_call import call
from tests.engine.fakes import LawModule, chain, constant, random_state

BODIES = ("foot", "lower")
ROUND_OFF = 1e-12


@pytest.fixture(scope="module")
def engine():
    made = MujocoCpu(chain(), [LawModule(BODIES, constant(np.zeros(6)))], 1e-3)
    random_state(made, 2)
    return made


def jacobian(engine, body):
    """(6, dof) of the body's frame origin, by MuJoCo: linear, then angular."""
    m, d = engine.model, engine.data[0]
    linear, angular = np.zeros((2, 3, m.nv))
    mujoco.mj_jac(m, d, linear, angular, d.xpos[body], body)
    return np.vstack([linear, angular])


@pytest.mark.parametrize("name", BODIES)
def test_a_column_of_the_jacobian_is_mujoco_s(engine, name):
    body = engine.model.body(name).id
    expected, moved_by = jacobian(engine, body), engine.tree.last_dof.numpy()[body]
    for dof in (0, int(moved_by)):
        got = call(
            kernels.jacobian_column, engine.views[0], engine.tree, body, dof, returns=wp.spatial_vectord
        )  # fmt: skip
        assert got == pytest.approx(expected[:, dof], abs=ROUND_OFF)


@pytest.mark.parametrize("name", BODIES)
def test_the_spatial_velocity_is_the_jacobian_times_the_speeds(engine, name):
    body = engine.model.body(name).id
    got = call(kernels.spatial_velocity, engine.views[0], engine.tree, body, returns=wp.spatial_vectord)
    assert got == pytest.approx(jacobian(engine, body) @ engine.data[0].qvel, abs=ROUND_OFF)
    origin = call(kernels.origin_velocity, engine.views[0], engine.tree, body, returns=wp.vec3d)
    assert origin == pytest.approx(got[:3], abs=ROUND_OFF)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_block_goes_into_the_mass_matrix_as_j_b_j(engine, dtype):
    """In double, whatever the float type of the module that gave the block."""
    m, d, p = engine.model, engine.data[0], precision(dtype)
    mujoco.mj_step1(m, d)
    body, half = m.body("foot").id, np.random.default_rng(4).normal(size=(6, 6)).astype(p.numpy)
    block, J = (half @ half.T).astype(p.numpy), jacobian(engine, body)
    before = dense(m, d)
    passive = d.qfrc_passive.copy()
    wrench = np.arange(1.0, 7.0)
    call(kernels.add_wrench, engine.views[0], engine.tree, body, wp.spatial_vectord(*wrench))
    call(at(kernels.add_block, dtype), engine.views[0], engine.tree, body, p.mat66(*block.ravel().tolist()))
    assert d.qfrc_passive - passive == pytest.approx(J.T @ wrench, abs=1e-10)
    expected = J.T @ block.astype(float) @ J
    assert dense(m, d) - before == pytest.approx(expected, abs=1e-10 * np.abs(expected).max())


def dense(m, d):
    """(dof, dof) mass matrix from MuJoCo's compressed lower triangle."""
    full = np.zeros((m.nv, m.nv))
    for row in range(m.nv):
        for k in range(m.M_rowadr[row], m.M_rowadr[row] + m.M_rownnz[row]):
            full[row, m.M_colind[k]] = full[m.M_colind[k], row] = d.M[k]
    return full


@pytest.mark.parametrize(
    ("x", "path", "clear"),
    [
        ((0.5, 0.5, 1.4), 0.1, True),  # bottom of the sphere at 1.2, ceiling 1.0
        ((0.5, 0.5, 1.25), 0.1, False),  # too low
        ((0.5, 0.5, 5.0), 1.5, False),  # may leave the cell within the step
        ((-0.1, 0.5, 5.0), 0.1, False),  # beside the field
        ((2.1, 0.5, 5.0), 0.1, False),
    ],
)
def test_a_geom_is_clear_only_over_its_cell(x, path, clear):
    f = height_field_kernels.Field()
    f.spacing_x = f.spacing_y = 1.0
    f.ceiling = wp.array(np.ones((2, 2)), dtype=wp.float64, device="cpu")
    f.radius = wp.array([0.2], dtype=wp.float64, device="cpu")
    assert call(height_field_kernels.clear_of, f, 0, wp.vec3d(*x), wp.float64(path), returns=wp.bool) == clear
