"""The linearly implicit step: stiff springs at large steps, order of convergence, the full mass matrix."""

import math

import mujoco
import numpy as np
import pytest

from grouser.engine.mujoco_cpu import MujocoCpu
from tests.engine.fakes import (
    LawModule,
    chain,
    free_body,
    full_mass,
    jacobian,
    random_state,
    spring,
    start,
    step,
    with_block,
)

MASS = 3.0
ROUND_OFF = 1e-9  # relative, of hundreds of steps in float64
ORDER = 0.05  # by which a measured order may miss 1 at the steps used: the next term of the error


def on_spring(stiffness, damping, h, implicit=True, gravity=0.0, height=0.01):
    engine = MujocoCpu(free_body(MASS, gravity=gravity), [LawModule("body", spring(stiffness, damping))], h, implicit)
    start(engine, qpos=[0, 0, height, 1, 0, 0, 0], qvel=np.zeros(6))
    return engine


def test_a_spring_of_1e7_at_10_ms_comes_to_rest_where_its_weight_hangs():
    """h sqrt(K/m) = 18; backward Euler brings it to m g / K."""
    engine = on_spring(1e7, 0.0, 1e-2, gravity=9.81)
    heights = []
    for _ in range(100):
        step(engine)
        heights.append(engine.data[0].qpos[2])
    assert np.abs(heights).max() < 0.01
    np.testing.assert_allclose(heights[-1], -MASS * 9.81 / 1e7, rtol=ROUND_OFF)
    np.testing.assert_allclose(engine.slots[0].out.effective.numpy()[0, 0, 2], MASS * 9.81, rtol=ROUND_OFF)


def test_the_same_spring_diverges_when_it_is_explicit(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # MuJoCo writes its log of diverging runs where it is
    engine = on_spring(1e7, 0.0, 1e-2, implicit=False)
    step(engine, 20)
    assert not abs(engine.data[0].qpos[2]) < 1e6  # NaN with MuJoCo 3.12
    assert engine.alarmed


def test_each_step_is_backward_euler_to_round_off():
    """(m + h D + h^2 K) v+ = m v - h K x - h m g, x+ = x + h v+."""
    K, D, h, g = 4e4, 30.0, 5e-3, 9.81
    engine = on_spring(K, D, h, gravity=g)
    x, v = 0.01, 0.0
    for _ in range(200):
        step(engine)
        v = (MASS * v - h * K * x - h * MASS * g) / (MASS + h * D + h**2 * K)
        x += h * v
        np.testing.assert_allclose([engine.data[0].qpos[2], engine.data[0].qvel[2]], [x, v], atol=1e-14)


def test_energy_never_grows_without_gravity():
    K = 4e4
    engine = on_spring(K, 0.0, 5e-3)
    energies = []
    for _ in range(100):
        d = engine.data[0]
        energies.append(0.5 * MASS * d.qvel[2] ** 2 + 0.5 * K * d.qpos[2] ** 2)
        step(engine)
    assert (np.diff(energies) <= 0).all()


def test_the_implicit_step_converges_to_the_damped_swing_with_first_order():
    """x = x0 exp(-d t) (cos w t + d / w sin w t), d = D / 2m, w^2 = K/m - d^2."""
    K, D, time, x0 = 400.0, 6.0, 0.5, 0.01
    decay = D / (2 * MASS)
    w = math.sqrt(K / MASS - decay**2)
    exact = x0 * math.exp(-decay * time) * (math.cos(w * time) + decay / w * math.sin(w * time))
    errors = []
    for h in (1e-3, 5e-4, 2.5e-4):
        engine = on_spring(K, D, h, height=x0)
        step(engine, round(time / h))
        errors.append(abs(engine.data[0].qpos[2] - exact))
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    np.testing.assert_allclose(orders, 1, atol=ORDER)


def test_a_simple_free_body_keeps_the_full_block_of_the_mass_matrix():
    """MuJoCo stores only the diagonal for a body whose centre of mass is its frame origin."""
    plain = free_body().compile()
    assert plain.M_rownnz.sum() == 6
    engine = MujocoCpu(free_body(), [LawModule("body", spring(1.0))], 1e-3)
    assert engine.model.M_rownnz.tolist() == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("seed", range(3))
def test_a_full_block_on_a_simple_free_body_acts_as_the_dense_solve(seed):
    """(M + B) (v+ - v) = h f, couplings between force and rotation included."""
    random = np.random.default_rng(seed)
    root, wrench, h = random.normal(size=(6, 6)), random.normal(size=6), 1e-3
    block = root @ root.T
    engine = MujocoCpu(free_body(MASS), [LawModule("body", with_block(wrench, block))], h)
    start(engine)
    M = full_mass(engine)
    step(engine)
    np.testing.assert_allclose(engine.data[0].qvel, np.linalg.solve(M + block, h * wrench), rtol=ROUND_OFF)


@pytest.mark.parametrize("body", ["trunk", "upper", "lower", "foot", "arm"])
def test_a_block_anywhere_on_a_chain_acts_as_the_dense_solve(body):
    """(M + J^T B J) (v+ - v) = h (J^T f - bias)."""
    random = np.random.default_rng(1)
    root, wrench, h = random.normal(size=(6, 6)), 10 * random.normal(size=6), 2e-3
    block = 3 * root @ root.T
    engine = MujocoCpu(chain(), [LawModule(body, with_block(wrench, block))], h)
    random_state(engine, 3)
    d, J, M = engine.data[0], jacobian(engine, body), full_mass(engine)
    expected = d.qvel + np.linalg.solve(M + J.T @ block @ J, h * (J.T @ wrench - d.qfrc_bias))
    before = d.qvel.copy()
    step(engine)
    np.testing.assert_allclose(d.qvel, expected, rtol=ROUND_OFF)
    np.testing.assert_allclose(d.qacc, (d.qvel - before) / h, rtol=1e-7)  # MuJoCo's own is that of the same matrix


def test_the_mass_matrix_is_left_as_mujoco_made_it():
    engine = MujocoCpu(chain(), [LawModule("foot", with_block(np.ones(6), 1e6 * np.eye(6)))], 1e-3)
    random_state(engine, 6)
    step(engine, 3)
    d = mujoco.MjData(engine.model)
    d.qpos[:], d.qvel[:] = engine.data[0].qpos, engine.data[0].qvel
    mujoco.mj_step1(engine.model, d)
    np.testing.assert_array_equal(engine.data[0].M, d.M)


def test_a_body_that_cannot_move_takes_a_wrench_and_a_block():
    spec = chain()
    spec.worldbody.add_body(name="rock", pos=[1, 0, 0])
    engine = MujocoCpu(spec, [LawModule(("rock", "foot"), with_block([1, 2, 3, 4, 5, 6], np.eye(6)))], 1e-3)
    random_state(engine, 0)
    step(engine)
    np.testing.assert_array_equal(engine.slots[0].out.effective.numpy()[0, 0], [1, 2, 3, 4, 5, 6])
    assert np.isfinite(engine.data[0].qvel).all()
