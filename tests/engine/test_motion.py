"""Motion of frame origins, against finite differences of MuJoCo's positions."""

import mujoco
import numpy as np
import pytest

from grouser.engine.mujoco_cpu import MujocoCpu
from tests.engine.fakes import LawModule, chain, constant, random_state
from tests.rig import conjugate, product, rotation_vector

BODIES = ("foot", "trunk", "lower", "arm", "upper")  # not MuJoCo's order
NUDGE = 1e-5  # [s] each way
DIFFERENCE = 1e-7  # of central differences over 2e-5 s at speeds of order 1: cut-off and round-off 1e-10, with room


def engine_of(bodies, dtype="float64", worlds=1):
    return MujocoCpu(chain(), [LawModule(bodies, constant(np.zeros(6)))], 1e-3, dtype=dtype, worlds=worlds)


def poses(engine, seconds):
    """Positions and rotations (xyzw) of BODIES if the speeds held for `seconds`."""
    m, d = engine.model, mujoco.MjData(engine.model)
    d.qpos[:] = engine.data[0].qpos
    mujoco.mj_integratePos(m, d.qpos, engine.data[0].qvel, seconds)
    mujoco.mj_kinematics(m, d)
    ids = [m.body(b).id for b in BODIES]
    return d.xpos[ids].copy(), d.xquat[ids][:, [1, 2, 3, 0]]


@pytest.mark.parametrize("seed", range(4))
def test_velocity_and_spin_of_a_frame_origin_are_the_rates_of_its_pose(seed):
    engine = engine_of(BODIES)
    random_state(engine, seed)
    (x0, q0), (x1, q1) = poses(engine, -NUDGE), poses(engine, NUDGE)
    np.testing.assert_allclose(engine.motion.velocity.numpy()[0], (x1 - x0) / (2 * NUDGE), atol=DIFFERENCE)
    turn = rotation_vector(product(q1, conjugate(q0)))
    np.testing.assert_allclose(engine.motion.angular_velocity.numpy()[0], turn / (2 * NUDGE), atol=DIFFERENCE)


def test_pose_is_the_frame_origin_and_quaternions_are_xyzw():
    engine = engine_of(BODIES)
    random_state(engine, 1)
    d, ids = engine.data[0], [engine.model.body(b).id for b in BODIES]
    np.testing.assert_array_equal(engine.motion.position.numpy()[0], d.xpos[ids])
    q = engine.motion.rotation.numpy()[0]
    for k, b in enumerate(ids):
        forward = product(product(q[k], np.array([1.0, 0, 0, 0])), conjugate(q[k]))[:3]
        np.testing.assert_allclose(forward, d.xmat[b].reshape(3, 3)[:, 0], atol=1e-14)


def test_every_world_has_its_own_motion():
    engine = engine_of(("trunk",), worlds=3)
    for world in range(3):
        engine.data[world].qpos[:3] = world, 0, 1
        engine.data[world].qvel[:3] = 0, world, 0
    engine.kinematics()
    np.testing.assert_allclose(engine.motion.position.numpy()[:, 0, 0], [0, 1, 2])
    np.testing.assert_allclose(engine.motion.velocity.numpy()[:, 0, 1], [0, 1, 2], atol=1e-14)


def test_float32_motion_is_the_float64_motion_rounded():
    """Velocities are formed in float64 and rounded once."""
    single, double = engine_of(BODIES, dtype="float32"), engine_of(BODIES)
    for engine in (single, double):
        random_state(engine, 3)
    for name in ("position", "rotation", "velocity", "angular_velocity"):
        a, b = getattr(single.motion, name).numpy(), getattr(double.motion, name).numpy()
        assert a.dtype == np.float32
        np.testing.assert_array_equal(a, b.astype(np.float32))
