"""Where a wrench acts, what it does to momentum and energy, and that what is reported is what the body got."""

import mujoco
import numpy as np
import pytest

from grouser.engine.mujoco_cpu import MujocoCpu
from tests.engine.fakes import (
    LawModule,
    chain,
    constant,
    free_body,
    full_mass,
    jacobian,
    random_state,
    spring,
    start,
    step,
    with_block,
)

ROUND_OFF = 1e-12  # relative, of a few dozen float64 operations on numbers of one size
SOLVED = 1e-9  # relative: round-off through a solve whose matrix has a condition number of about 1e4
F, T = np.array([3.0, -2.0, 5.0]), np.array([0.4, 0.7, -0.2])
H = 1e-3


def measured_impulse(engine, world=0):
    """Take one step; generalised force that is neither gravity, bias, passive, actuator nor constraint.

    M (v+ - v) / h + bias - passive - actuator - constraint with M as it was before any implicit block.
    """
    d, m = engine.data[world], engine.model
    mass, before = full_mass(engine, world), d.qvel.copy()
    bias, passive = d.qfrc_bias.copy(), d.qfrc_passive.copy()
    for slot in engine.slots:
        slot.module.evaluate(engine.step)
    J = {name: jacobian(engine, name, world) for slot in engine.slots for name in slot.module.bodies}
    engine.assemble()
    engine.advance()
    acceleration = (d.qvel - before) / engine.step
    got = mass @ acceleration + bias - passive - d.qfrc_actuator - d.qfrc_constraint
    effective = np.zeros(m.nv)
    for slot in engine.slots:
        for k, name in enumerate(slot.module.bodies):
            effective += J[name].T @ slot.out.effective.numpy()[world, k].astype(float)
    engine.kinematics()
    return got, effective


def test_a_wrench_acts_at_the_frame_origin_of_a_body_whose_mass_is_elsewhere():
    """a = F / m, I w' = T + (origin - centre) x F, both at once from rest."""
    mass, inertia, centre = 3.0, np.array([0.02, 0.03, 0.04]), np.array([0.1, -0.2, 0.05])
    engine = MujocoCpu(free_body(mass, inertia, centre), [LawModule("body", constant([*F, *T]))], H)
    start(engine)
    step(engine)
    spin = engine.data[0].qvel[3:] / H
    np.testing.assert_allclose(spin, (T + np.cross(-centre, F)) / inertia, rtol=ROUND_OFF)
    origin = engine.data[0].qvel[:3] / H
    np.testing.assert_allclose(origin + np.cross(spin, centre), F / mass, rtol=SOLVED)


@pytest.mark.parametrize("body", ["trunk", "upper", "lower", "foot", "arm"])
def test_a_wrench_on_a_chain_is_what_mujoco_makes_of_a_force_at_that_point(body):
    engine = MujocoCpu(chain(), [LawModule(body, constant([*F, *T]))], H)
    random_state(engine, 7)
    m, d = engine.model, engine.data[0]
    b = m.body(body).id
    expected = np.zeros(m.nv)
    mujoco.mj_applyFT(m, d, F, T, d.xpos[b].copy(), b, expected)
    got, effective = measured_impulse(engine)
    np.testing.assert_allclose(got, expected, atol=SOLVED * np.abs(expected).max())
    np.testing.assert_allclose(effective, expected, atol=ROUND_OFF * np.abs(expected).max())


@pytest.mark.parametrize("implicit", [False, True])
def test_momentum_of_a_free_body_changes_by_the_impulse(implicit):
    """Explicit and, with a block of damping that changes the impulse, implicit."""
    mass, count = 3.0, 200
    block = np.diag([4.0, 5.0, 6.0, 0.1, 0.1, 0.1])
    engine = MujocoCpu(free_body(mass), [LawModule("body", with_block([*F, 0, 0, 0], block))], H, implicit)
    start(engine, qvel=[0.5, 0, 0, 0, 0, 0])
    impulse = np.zeros(3)
    for _ in range(count):
        step(engine)
        impulse += engine.step * engine.slots[0].out.effective.numpy()[0, 0, :3]
    change = mass * (engine.data[0].qvel[:3] - [0.5, 0, 0])
    np.testing.assert_allclose(change, impulse, rtol=SOLVED)
    given = count * H * F
    expected = given * mass / (mass + np.diag(block)[:3]) if implicit else given
    np.testing.assert_allclose(change, expected, rtol=SOLVED)


def test_angular_momentum_of_a_free_body_changes_by_the_angular_impulse():
    """About a principal axis, where the discrete step is exact."""
    inertia, count = np.array([0.02, 0.03, 0.04]), 100
    engine = MujocoCpu(free_body(inertia=inertia), [LawModule("body", constant([0, 0, 0, 0, 0, 0.3]))], H)
    start(engine)
    step(engine, count)
    np.testing.assert_allclose(engine.data[0].qvel[3:], [0, 0, 0.3 * count * H / inertia[2]], atol=ROUND_OFF)


@pytest.mark.parametrize("implicit", [False, True])
def test_kinetic_energy_changes_by_the_work_of_the_effective_force(implicit):
    """Work of a step: f . (v + v+) / 2 h, without gravity."""
    mass, stiffness = 3.0, 200.0
    engine = MujocoCpu(free_body(mass), [LawModule("body", spring(stiffness, 2.0))], H, implicit)
    start(engine, qpos=[0.1, 0.05, 0, 1, 0, 0, 0], qvel=[0, 0, 0.4, 0, 0, 0])
    d, work = engine.data[0], 0.0
    energy = 0.5 * mass * d.qvel[:3] @ d.qvel[:3]
    for _ in range(300):
        before = d.qvel[:3].copy()
        step(engine)
        work += engine.slots[0].out.effective.numpy()[0, 0, :3] @ (before + d.qvel[:3]) / 2 * H
    np.testing.assert_allclose(0.5 * mass * d.qvel[:3] @ d.qvel[:3] - energy, work, atol=SOLVED * energy)


def blocked_free_body(seed, h, spin):
    """Measured and effective generalised force of one step: tilted body, offset mass, gravity, a full block."""
    random = np.random.default_rng(seed)
    root = random.normal(size=(6, 6))
    law = with_block(random.normal(size=6), root @ root.T)
    engine = MujocoCpu(free_body(centre=(0.1, 0.2, -0.1), gravity=9.81), [LawModule("body", law)], h)
    random_state(engine, seed)
    engine.data[0].qvel[3:] *= spin
    engine.kinematics()
    return measured_impulse(engine)


@pytest.mark.parametrize("seed", range(3))
def test_effective_wrench_is_the_measured_impulse_on_a_free_body(seed):
    got, effective = blocked_free_body(seed, H, spin=0)
    np.testing.assert_allclose(effective, got, atol=SOLVED * np.abs(got).max())


@pytest.mark.parametrize("seed", range(3))
def test_on_a_spinning_free_body_they_differ_by_what_the_integrator_adds_which_goes_with_the_step(seed):
    """implicitfast adds the derivative of gyroscopic forces of a single free body, h dC/dv (v+ - v) / h."""
    apart = [np.abs(np.subtract(*blocked_free_body(seed, h, spin=1))).max() for h in (2e-3, 1e-3, 5e-4)]
    assert apart[0] < 0.05
    np.testing.assert_allclose([apart[0] / apart[1], apart[1] / apart[2]], 2, rtol=0.02)  # second order: 1e-3


@pytest.mark.parametrize("bodies", [("foot",), ("trunk", "arm"), ("lower", "foot", "upper")])
def test_effective_wrenches_are_the_measured_impulse_on_a_chain(bodies):
    """Stiff blocks on several bodies at once: J^T f of all is what the chain got."""
    random = np.random.default_rng(len(bodies))
    root = random.normal(size=(len(bodies), 6, 6))
    law = with_block(10 * random.normal(size=(len(bodies), 6)), 5 * root @ root.transpose(0, 2, 1))
    engine = MujocoCpu(chain(), [LawModule(bodies, law)], 5e-3)
    random_state(engine, 11)
    for _ in range(5):
        got, effective = measured_impulse(engine)
        np.testing.assert_allclose(effective, got, atol=SOLVED * np.abs(got).max())
        applied = engine.slots[0].out.wrench.numpy()
        assert np.abs(applied - engine.slots[0].out.effective.numpy()).max() > 1  # the block does matter here


def test_without_implicit_blocks_the_effective_wrench_is_the_one_applied():
    engine = MujocoCpu(chain(), [LawModule("foot", with_block([*F, *T], 100 * np.eye(6)))], H, implicit=False)
    random_state(engine, 2)
    got, effective = measured_impulse(engine)
    np.testing.assert_allclose(effective, got, atol=SOLVED * np.abs(got).max())
    np.testing.assert_array_equal(engine.slots[0].out.effective.numpy(), engine.slots[0].out.wrench.numpy())


def test_modules_on_one_body_add_up():
    """Two modules with blocks of their own move a body as one module with the sums does; each knows its share."""
    random = np.random.default_rng(5)
    roots, forces = random.normal(size=(2, 6, 6)), random.normal(size=(2, 6))
    blocks = roots @ roots.transpose(0, 2, 1)
    apart = [LawModule("lower", with_block(f, b)) for f, b in zip(forces, blocks, strict=True)]
    together = [LawModule("lower", with_block(forces.sum(0), blocks.sum(0)))]
    speeds, shares = [], []
    for modules in (apart, together):
        engine = MujocoCpu(chain(), modules, H)
        random_state(engine, 9)
        step(engine)
        speeds.append(engine.data[0].qvel.copy())
        shares.append(sum(slot.out.effective.numpy()[0, 0] for slot in engine.slots))
    np.testing.assert_allclose(*speeds, rtol=SOLVED)
    np.testing.assert_allclose(*shares, rtol=SOLVED)


def test_a_wrench_does_not_stay_when_its_module_stops_pushing():
    """What the engine adds to is made anew by every mj_step1."""
    push = [*F, *T]
    engine = MujocoCpu(free_body(), [LawModule("body", lambda h, motion: (np.array(push), np.zeros((6, 6))))], H)
    start(engine)
    step(engine)
    push[:] = [0.0] * 6
    before = engine.data[0].qvel[:3].copy()
    step(engine)
    np.testing.assert_array_equal(engine.data[0].qvel[:3], before)


def test_what_a_user_applies_to_the_same_body_acts_beside_the_module():
    engine = MujocoCpu(free_body(), [LawModule("body", with_block([*F, *T], np.zeros((6, 6))))], H)
    speeds = []
    for pushed in (False, True):
        engine.reset([0])
        start(engine)
        engine.data[0].xfrc_applied[1, :3] = np.multiply(pushed, [1.0, 2.0, 3.0])
        for _ in range(3):
            step(engine)
        speeds.append(engine.data[0].qvel[:3].copy())
    gained = np.subtract(speeds[1], speeds[0]) * engine.total_mass() / (3 * H)
    np.testing.assert_allclose(gained, [1.0, 2.0, 3.0], rtol=SOLVED)
    np.testing.assert_array_equal(engine.data[0].xfrc_applied[1, :3], [1.0, 2.0, 3.0])


def test_float32_modules_push_as_float64_ones_to_their_precision():
    speeds = []
    for dtype in ("float64", "float32"):
        engine = MujocoCpu(chain(), [LawModule("foot", with_block([*F, *T], np.eye(6)))], H, dtype=dtype)
        random_state(engine, 4)
        step(engine)
        speeds.append(engine.data[0].qvel.copy())
    np.testing.assert_allclose(*speeds, atol=1e-7)  # float32 holds 6e-8 of forces of order 1 for 1 ms
    assert not np.array_equal(*speeds)
