"""Equality constraints and several robots, with implicit blocks in the mass matrix."""

import mujoco
import numpy as np
import pytest

from grouser.engine.mujoco_cpu import MujocoCpu
from tests.engine.fakes import LawModule, spring, step, with_block
from tests.engine.test_wrench import measured_impulse

SOLVER = 1e-6  # of the largest generalised force: Newton stops at a cost of 1e-8 in units of the model's mean inertia
AT_REST = 1e-3  # relative: what still moves after 3 s
CLOSED = 1e-3  # [rad] a hundredth of what the arms turn

BOGIE = """
<mujoco model="bogie"><option gravity="0 0 -9.81"/><worldbody>
  <body name="trunk" pos="0 0 1"><joint name="heave" type="slide" axis="0 0 1"/>
    <inertial pos="0.03 0 0.02" mass="20" diaginertia="0.5 0.6 0.7"/>
    <body name="left" pos="0 0.3 0"><joint name="left" axis="0 1 0"/>
      <inertial pos="0.1 0 0" mass="4" diaginertia="0.05 0.05 0.05"/>
      <body name="left_wheel" pos="0.4 0 -0.2"><inertial pos="0.01 0 0" mass="2" diaginertia="0.02 0.02 0.02"/></body>
    </body>
    <body name="right" pos="0 -0.3 0"><joint name="right" axis="0 1 0"/>
      <inertial pos="0.1 0 0" mass="4" diaginertia="0.05 0.05 0.05"/>
      <body name="right_wheel" pos="0.4 0 -0.2"><inertial pos="0.01 0 0" mass="2" diaginertia="0.02 0.02 0.02"/></body>
    </body>
  </body></worldbody>
  <equality><joint joint1="left" joint2="right" polycoef="0 -1 0 0 0" solref="0.002 1"/></equality>
</mujoco>
"""


def robots(count: int) -> mujoco.MjSpec:
    """`count` bogies in one world, called r0_, r1_ and so on."""
    spec = mujoco.MjSpec()
    for k in range(count):
        place = spec.worldbody.add_frame(pos=[0, 2 * k, 0])
        spec.attach(mujoco.MjSpec.from_string(BOGIE), prefix=f"r{k}_", frame=place)
    return spec


def wheels(count):
    return tuple(f"r{k}_{side}_wheel" for k in range(count) for side in ("left", "right"))


def uneven_ground(count, stiffness):
    """Springs that hold the two wheels of every bogie at different heights."""

    def law(h, motion):
        at = motion.position.copy()
        at[..., 2] = np.resize([0.75, 0.85], 2 * count)
        return spring(stiffness, 100.0, anchor=at)(h, motion)

    return law


@pytest.mark.parametrize("stiffness", [1e4, 1e7])
def test_a_joint_coupling_stays_as_closed_as_the_solver_makes_it(stiffness):
    """left + right = f R / k, MuJoCo's own softness, while the ground pushes the arms apart.

    At 1e7 N/m and 2 ms only the implicit step survives.
    """
    engine = MujocoCpu(robots(2), [LawModule(wheels(2), uneven_ground(2, stiffness))], 2e-3)
    engine.kinematics()
    step(engine, 1500)
    m, d = engine.model, engine.data[0]
    at = [m.joint(f"r{k}_{side}").qposadr[0] for k in range(2) for side in ("left", "right")]
    arms = d.qpos[at].reshape(2, 2)
    assert np.abs(np.diff(arms)).min() > 0.02  # [rad] the arms have moved
    assert np.abs(d.efc_force).min() > 5  # [N m] and the coupling carries
    stiff = d.efc_KBIP[:, 0] * d.efc_KBIP[:, 2]
    np.testing.assert_allclose(arms.sum(axis=1), -d.efc_force * d.efc_R / stiff, rtol=AT_REST)
    assert np.abs(arms.sum(axis=1)).max() < CLOSED


@pytest.mark.parametrize("solver", [mujoco.mjtSolver.mjSOL_NEWTON, mujoco.mjtSolver.mjSOL_CG])
@pytest.mark.parametrize("islands", [True, False])
def test_forces_balance_with_the_constraint_solved_on_the_same_mass_matrix(solver, islands):
    """M (v+ - v) / h + bias = J^T f + constraint: wrong where the solver saw M without its blocks."""
    spec = robots(2)
    spec.option.solver, spec.option.iterations, spec.option.tolerance = solver, 200, 1e-14
    if not islands:
        spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_ISLAND
    root = np.random.default_rng(0).normal(size=(4, 6, 6))
    law = with_block(20 * np.random.default_rng(1).normal(size=(4, 6)), 5 * root @ root.transpose(0, 2, 1))
    engine = MujocoCpu(spec, [LawModule(wheels(2), law)], 2e-3)
    engine.kinematics()
    for _ in range(5):
        got, effective = measured_impulse(engine)
        np.testing.assert_allclose(got, effective, atol=SOLVER * np.abs(effective).max())
        assert np.abs(engine.data[0].qfrc_constraint).max() > 0.1


def test_robots_do_not_feel_each_other():
    """One bogie moves alike alone and beside a second one that is pushed differently."""
    paths = []
    for count in (1, 2):
        law = with_block(np.arange(count * 12).reshape(count * 2, 6), np.eye(6))
        engine = MujocoCpu(robots(count), [LawModule(wheels(count), law)], 2e-3)
        engine.kinematics()
        step(engine, 50)
        paths.append(engine.data[0].qpos[:3].copy())
    np.testing.assert_allclose(*paths, atol=1e-7)  # two independent runs of an iterative solver


def test_contacts_mujoco_keeps_still_work_with_blocks():
    """A ball on MuJoCo's floor with a block of added damping rests with its weight on the floor."""
    spec = mujoco.MjSpec.from_string(
        """<mujoco><worldbody><geom type="plane" size="1 1 1"/><body name="ball" pos="0 0 0.1"><freejoint/>
        <geom type="sphere" size="0.1" mass="2"/></body></worldbody></mujoco>"""
    )
    engine = MujocoCpu(spec, [LawModule("ball", with_block(np.zeros(6), np.eye(6)))], 2e-3)
    engine.kinematics()
    step(engine, 1000)
    d = engine.data[0]
    assert abs(d.qvel[2]) < 1e-6
    np.testing.assert_allclose(d.qfrc_constraint[2], 2 * 9.81, rtol=1e-5)  # at rest to the speed above
