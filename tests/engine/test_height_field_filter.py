"""A height field is left out of MuJoCo's search only where nothing could touch it."""

import mujoco
import numpy as np
import pytest

from grouser.engine.height_field_filter import HeightFieldFilter, _highest
from grouser.scenarios.registry import scenario
from grouser.simulation import Simulation

ROWS, COLUMNS, HALF, HEIGHT = 41, 61, (3.0, 2.0), 0.8


def waves() -> np.ndarray:
    x, y = np.linspace(0, 12, COLUMNS), np.linspace(0, 9, ROWS)
    return 0.5 + 0.25 * (np.sin(x)[None, :] + np.cos(y)[:, None])


def falling(seed: int) -> mujoco.MjSpec:
    """Bodies of some shapes thrown over a field of waves; one with a limb."""
    random, spec = np.random.default_rng(seed), mujoco.MjSpec()
    field = spec.add_hfield(name="waves", nrow=ROWS, ncol=COLUMNS, size=[*HALF, HEIGHT, 0.1])
    field.userdata = waves().ravel()
    spec.worldbody.add_geom(name="ground", type=mujoco.mjtGeom.mjGEOM_HFIELD, hfieldname="waves", pos=[0.3, -0.2, -0.5])
    kinds = (mujoco.mjtGeom.mjGEOM_SPHERE, mujoco.mjtGeom.mjGEOM_BOX, mujoco.mjtGeom.mjGEOM_CAPSULE)
    for k, kind in enumerate(kinds):
        body = spec.worldbody.add_body(name=f"body{k}", pos=[2.0 * k - 2.0, random.uniform(-1, 1), 1.2])
        body.add_freejoint()
        body.add_geom(type=kind, size=[0.1, 0.15, 0.08])
    limb = body.add_body(name="limb", pos=[0.2, 0, 0])
    limb.add_joint(axis=[0, 1, 0])
    limb.add_geom(type=mujoco.mjtGeom.mjGEOM_CAPSULE, size=[0.03, 0, 0], fromto=[0, 0, 0, 0.3, 0, 0])
    return spec


def thrown(seed: int) -> Simulation:
    sim = Simulation(falling(seed), [], step=2e-3)
    sim.data.qvel[:] = np.random.default_rng(seed).uniform(-3, 3, sim.model.nv)
    return sim


@pytest.mark.parametrize("seed", range(5))
def test_bodies_fall_on_a_field_with_the_bits_of_mujoco_s_own_search(seed):
    one, two = thrown(seed), thrown(seed)
    two.engine.loop = lambda launches: None  # Python's steps, which leave nothing out
    touched = []
    for _ in range(60):
        one.step(20)
        two.step(20)
        touched.append(two.data.ncon)
        np.testing.assert_array_equal(one.data.qpos, two.data.qpos)
    assert min(touched) == 0
    assert max(touched) > 0


def test_a_field_is_left_out_while_the_body_is_in_the_air_and_restored_near_the_ground():
    sim = Simulation(falling(1), [], step=2e-3)
    field = HeightFieldFilter(sim.model, sim.engine.tree, sim.engine._h).fields[0]
    before, behind = sim.engine._around_search[0]
    ground = sim.model.geom("ground").id
    for launches, seen in ((before, 0), (behind, 1)):
        launches[0].run()
        assert (sim.model.geom_contype[ground], sim.model.geom_conaffinity[ground]) == (seen, seen)
    assert len(field.geoms.numpy()) == 4
    sim.data.qpos[2] = 0.0
    sim.engine.kinematics()
    before[0].run()
    assert sim.model.geom_contype[ground] == 1
    behind[0].run()


def test_the_ceiling_is_the_highest_node_within_reach():
    nodes = np.random.default_rng(2).uniform(size=(9, 7))
    for count in (0, 1, 3):
        expected = [nodes[max(k - count, 0) : k + 2 + count].max(axis=0) for k in range(8)]
        np.testing.assert_array_equal(_highest(nodes, count), expected)


def test_a_vehicle_that_rolls_over_has_the_bits_of_mujoco_s_own_search():
    course = scenario("vivi-ramp")
    settings = course.settings(controller="proportional", step=1e-3, duration=10.0)
    one, two = course.build(settings), course.build(settings)
    for sim in (one, two):
        sim.use_controllers([])
        sim.data.qvel[:6] = [4, 0, 3, 0.5, -8, 0]
    two.engine.loop = lambda launches: None
    touched = 0
    for _ in range(20):
        one.step(50)
        two.step(50)
        touched = max(touched, two.data.ncon)
        np.testing.assert_array_equal(one.data.qpos, two.data.qpos)
    assert touched > 0
