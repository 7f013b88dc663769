"""Accelerometers and force sensors during an implicit step: from (v+ - v) / h and effective wrenches."""

import mujoco
import numpy as np
import pytest

from grouser.engine.mujoco_cpu import MujocoCpu
from tests.engine.fakes import CHAIN, LawModule, random_state, spring, start, step, with_block

ROUND_OFF = 1e-9  # relative
G = 9.81
CARRIAGE, WHEEL = 5.0, 2.0  # [kg]

DROPPED = f"""
<mujoco model="quarter"><option gravity="0 0 -{G}"/><worldbody>
  <body name="carriage" pos="0 0 0.5"><joint name="heave" type="slide" axis="0 0 1"/>
    <inertial pos="0 0 0" mass="{CARRIAGE}" diaginertia="0.1 0.1 0.1"/>
    <body name="wheel" pos="0 0 -0.3">
      <inertial pos="0 0 0" mass="{WHEEL}" diaginertia="0.01 0.01 0.01"/><site name="hub"/>
    </body></body></worldbody>
  <sensor><accelerometer name="a" site="hub"/><force name="f" site="hub"/>
    <framelinacc name="l" objtype="body" objname="wheel"/></sensor>
</mujoco>
"""


def dropped(height, h=5e-3, stiffness=1e6):
    """Carriage and wheel, one rigid pair, above a stiff spring that only the implicit step can take."""
    module = LawModule("wheel", spring(stiffness, 200.0, anchor=(0, 0, 0.2)))
    engine = MujocoCpu(mujoco.MjSpec.from_string(DROPPED), [module], h)
    start(engine, qpos=[height])
    return engine


def test_at_rest_they_read_gravity_and_the_weight_the_wheel_passes_up():
    engine = dropped(0.0)
    step(engine, 400)
    d = engine.data[0]
    soil = engine.slots[0].out.effective.numpy()[0, 0, 2]
    np.testing.assert_allclose(soil, (CARRIAGE + WHEEL) * G, rtol=ROUND_OFF)
    np.testing.assert_allclose(d.sensor("a").data, [0, 0, G], atol=ROUND_OFF * G)
    np.testing.assert_allclose(d.sensor("f").data, [0, 0, WHEEL * G - soil], atol=ROUND_OFF * soil)


def test_during_an_impact_they_read_the_motion_and_the_effective_force():
    """Applied and effective wrench differ many times over here; the sensors follow the second."""
    engine = dropped(0.05)
    d, most = engine.data[0], 0.0
    for _ in range(60):
        before = d.qvel[0]
        step(engine)
        applied, soil = (getattr(engine.slots[0].out, name).numpy()[0, 0, 2] for name in ("wrench", "effective"))
        acceleration = (d.qvel[0] - before) / engine.step
        most = max(most, abs(applied - soil))
        size = abs(soil) + G
        np.testing.assert_allclose(d.sensor("a").data, [0, 0, acceleration + G], atol=ROUND_OFF * size)
        np.testing.assert_allclose(d.sensor("l").data, [0, 0, acceleration + G], atol=ROUND_OFF * size)
        np.testing.assert_allclose(d.sensor("f").data[2], WHEEL * (acceleration + G) - soil, atol=ROUND_OFF * size)
        np.testing.assert_allclose(d.sensor("f").data[2], -CARRIAGE * (acceleration + G), atol=ROUND_OFF * size)
    assert most > 1e4  # [N]


SENSED = CHAIN.replace(
    "</mujoco>",
    """<sensor><accelerometer name="a" site="s"/><force name="f" site="s"/><torque name="t" site="s"/>
    <force name="hip" site="u"/><torque name="hip torque" site="u"/>
    <framelinacc name="l" objtype="body" objname="foot"/><frameangacc name="w" objtype="body" objname="foot"/></sensor>
    </mujoco>""",
).replace(
    """mass="0.3" diaginertia="0.001 0.001 0.001"/>""",
    """mass="0.3" diaginertia="0.001 0.001 0.001"/><site name="s" pos="0.03 0.02 0.01" euler="10 20 30"/>""",
).replace("""0.001 0.002 -0.001"/>""", """0.001 0.002 -0.001"/><site name="u"/>""")  # fmt: skip


@pytest.mark.parametrize("seed", range(3))
def test_all_sensors_of_a_moving_chain_are_those_of_mujoco_under_the_effective_wrenches(seed):
    """Oracle: plain MuJoCo in the same state, pushed with the effective wrenches and nothing implicit."""
    random, bodies = np.random.default_rng(seed), ("foot", "lower")
    root = random.normal(size=(2, 6, 6))
    law = with_block(20 * random.normal(size=(2, 6)), 3 * root @ root.transpose(0, 2, 1))
    engine = MujocoCpu(mujoco.MjSpec.from_string(SENSED), [LawModule(bodies, law)], 2e-3)
    random_state(engine, seed)
    m, plain = engine.model, mujoco.MjData(engine.model)
    plain.qpos[:], plain.qvel[:] = engine.data[0].qpos, engine.data[0].qvel
    step(engine)
    mujoco.mj_fwdPosition(m, plain)
    for name, wrench in zip(bodies, engine.slots[0].out.effective.numpy()[0], strict=True):
        b = m.body(name).id
        torque = wrench[3:] + np.cross(plain.xpos[b] - plain.xipos[b], wrench[:3])
        plain.xfrc_applied[b] = [*wrench[:3], *torque]
    mujoco.mj_forward(m, plain)
    largest = np.abs(plain.sensordata).max()
    np.testing.assert_allclose(engine.data[0].sensordata, plain.sensordata, atol=ROUND_OFF * largest)


def test_sensors_of_every_world_are_its_own():
    engine = MujocoCpu(
        mujoco.MjSpec.from_string(DROPPED), [LawModule("wheel", spring(1e6, 200.0, anchor=(0, 0, 0.2)))], 5e-3, worlds=2
    )
    start(engine, qpos=[0.05], world=1)
    step(engine, 20)
    single = dropped(0.05)
    step(single, 20)
    np.testing.assert_array_equal(engine.data[1].sensordata, single.data[0].sensordata)
    assert not np.array_equal(engine.data[0].sensordata, engine.data[1].sensordata)


def test_reading_sensors_changes_nothing():
    """The same model with and without sensors ends in the same bits."""
    ends = []
    for text in (DROPPED, DROPPED[: DROPPED.index("<sensor>")] + "</mujoco>"):
        module = LawModule("wheel", spring(1e6, 200.0, anchor=(0, 0, 0.2)))
        engine = MujocoCpu(mujoco.MjSpec.from_string(text), [module], 5e-3)
        start(engine, qpos=[0.05])
        step(engine, 50)
        ends.append((engine.data[0].qpos[0], engine.data[0].qvel[0]))
    assert ends[0] == ends[1]
