"""What is recorded of bodies and joints is what MuJoCo has."""

import numpy as np
import warp as wp

from grouser.engine.frame import Frame
from grouser.scenarios.registry import scenario


def test_a_frame_is_what_mujoco_has_with_wheels_where_their_suspensions_have_them():
    course = scenario("vivi-sinusoid")
    sim = course.build(course.settings(controller="cdta", step=1e-3, duration=5.0))
    sim.step(300)
    m, d = sim.model, sim.data
    channels = {channel.name: channel for channel in sim.channels()}
    pose = channels["body/pose"].read()[0]
    ids = [m.body(name).id for name in sim.recorded_bodies]
    tyre = sim.modules[0]
    shift, bodies = tyre.shifts()
    stand = d.xpos[ids].copy()
    for k, body in enumerate(bodies):
        stand[sim.recorded_bodies.index(body)] += shift.numpy()[0, k]
    assert np.abs(shift.numpy()).max() > 0.01
    np.testing.assert_array_equal(pose[:, :3], stand)
    np.testing.assert_array_equal(pose[:, 3:], d.xquat[ids][:, [1, 2, 3, 0]])
    single = [j for j in range(m.njnt) if m.jnt_type[j] in (2, 3)]
    np.testing.assert_array_equal(channels["joint/position"].read()[0], d.qpos[m.jnt_qposadr[single]])
    np.testing.assert_array_equal(channels["joint/velocity"].read()[0], d.qvel[m.jnt_dofadr[single]])
    np.testing.assert_array_equal(channels["actuator/force"].read()[0], d.actuator_force)


def test_every_world_has_its_own_row_and_unknown_bodies_do_not_shift():
    course = scenario("single-wheel")
    sim = course.build(course.settings())
    shift = wp.array(np.array([[[1.0, 2.0, 3.0], [9.0, 9.0, 9.0]]]), dtype=wp.vec3d, device="cpu")
    name = sim.recorded_bodies[-1]
    plain = Frame(sim.engine, sim.recorded_bodies, [])
    moved = Frame(sim.engine, sim.recorded_bodies, [], [(shift, (name, "nobody"))])
    for frame in (plain, moved, moved):  # twice: nothing adds up
        frame.refresh()
    change = moved.pose - plain.pose
    np.testing.assert_allclose(change[0, -1, :3], [1, 2, 3], atol=1e-12)
    assert np.abs(change[0, :-1]).max(initial=0) == 0
