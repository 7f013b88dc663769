"""MuJoCo 4.0.0 factors the Newton solver's sparse matrix wrongly for some branched trees; the engine avoids it."""

import mujoco
import numpy as np
import pytest

from grouser.engine.mujoco_cpu import DENSE_NOTE, WRONG_SPARSE_FACTOR, MujocoCpu

TREES = 25
STEP = 2e-3  # [s]
LANDED, EVERY = 400, 20  # steps in which a tree falls and lies, and between two comparisons
WRONG = 0.01  # of the largest acceleration; the faulty factor is off by 80 % and more
ROUND_OFF = 1e-8  # of the largest acceleration: two solvers that stop at MuJoCo's tolerance of 1e-8
FAULTY = mujoco.__version__ in WRONG_SPARSE_FACTOR
AUTO, DENSE, SPARSE = (getattr(mujoco.mjtJacobian, f"mjJAC_{name}") for name in ("AUTO", "DENSE", "SPARSE"))


def tree(seed: int, jacobian: int, bodies: int = 24) -> mujoco.MjSpec:
    """Capsules on hinges, each hung on one of those before it, over a floor."""
    random, spec = np.random.default_rng(seed), mujoco.MjSpec()
    spec.option.timestep, spec.option.jacobian = STEP, jacobian
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[5, 5, 0.1])
    made = [spec.worldbody.add_body(name="b0", pos=[0, 0, 1.0])]
    made[0].add_freejoint()
    made[0].add_geom(type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[0.1, 0, 0])
    for k in range(1, bodies):
        body = made[int(random.integers(0, k))].add_body(name=f"b{k}", pos=random.uniform(-0.3, 0.3, 3))
        for _ in range(int(random.integers(1, 3))):
            body.add_joint(type=mujoco.mjtJoint.mjJNT_HINGE, axis=random.normal(size=3))
        body.add_geom(type=mujoco.mjtGeom.mjGEOM_CAPSULE, size=[0.03, 0.1, 0], pos=random.uniform(-0.1, 0.1, 3))
        made.append(body)
    return spec


def disagreement(model: mujoco.MjModel, seed: int) -> float:
    """Largest difference of the accelerations to those with a dense Jacobian, over a fall, of the largest there."""
    reference = tree(seed, DENSE).compile()
    right, data, worst = mujoco.MjData(reference), mujoco.MjData(model), 0.0
    for _ in range(LANDED // EVERY):
        mujoco.mj_step(reference, right, EVERY)
        mujoco.mj_forward(reference, right)
        data.qpos[:], data.qvel[:], data.qacc_warmstart[:] = right.qpos, right.qvel, right.qacc_warmstart
        mujoco.mj_forward(model, data)
        worst = max(worst, float(np.abs(data.qacc - right.qacc).max() / np.abs(right.qacc).max()))
    assert right.nefc > 0
    return worst


def test_the_engine_knows_which_versions_are_wrong():
    """Fails with a faulty version that is not in the list, and with a listed one that is right."""
    wrong = [seed for seed in range(TREES) if disagreement(tree(seed, SPARSE).compile(), seed) > WRONG]
    assert bool(wrong) == FAULTY, f"MuJoCo {mujoco.__version__}: trees {wrong} are wrong"


def test_trees_of_the_engine_accelerate_as_they_should():
    for seed in range(TREES):
        engine = MujocoCpu(tree(seed, SPARSE), [], STEP)
        assert disagreement(engine.model, seed) < ROUND_OFF, seed
        assert engine.notes == [DENSE_NOTE] * FAULTY


@pytest.mark.parametrize(("jacobian", "bodies", "said"), [(AUTO, 24, 0), (AUTO, 50, 1), (DENSE, 50, 0), (SPARSE, 5, 1)])
def test_a_note_says_where_mujoco_would_take_a_sparse_jacobian(jacobian, bodies, said):
    """MuJoCo's automatic choice is sparse from 60 degrees of freedom on."""
    engine = MujocoCpu(tree(1, jacobian, bodies), [], STEP)
    assert mujoco.mj_isSparse(engine.model) == (said and not FAULTY)
    assert engine.notes.count(DENSE_NOTE) == (said and FAULTY)
