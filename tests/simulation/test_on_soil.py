"""A user's robot on soil: its shapes, its weight, the contacts handed over, real terrain."""

import mujoco
import numpy as np
import pytest

from grouser.errors import InputError
from grouser.simulation import on_soil
from grouser.terrain import flat, jacksboro

CARRIED = 0.01  # of the weight: the soil of a body at rest still creeps and erodes a little
SHARED = 0.1  # statics do not settle it: wheels that stick where they landed keep side forces
STILL = 0.01  # [m/s] after 1.2 s: a round body still rocks in its own bed
MASS, G = 8.0, 9.81


def body(geom: str, height: float, more: str = "", assets: str = "") -> mujoco.MjSpec:
    return mujoco.MjSpec.from_string(
        f"""<mujoco model="block"><option gravity="0 0 -{G}"/>{assets}<worldbody>{more}
        <body name="block" pos="0 0 {height}"><freejoint/><geom {geom} mass="{MASS}"/></body></worldbody></mujoco>"""
    )


def pyramid(half=0.08, top=0.1) -> str:
    corners = [(x * half, y * half, -top / 2) for x in (-1, 1) for y in (-1, 1)] + [(0, 0, top / 2)]
    return f'<asset><mesh name="pyramid" vertex="{" ".join(f"{c:g}" for p in corners for c in p)}"/></asset>'


SHAPES = {
    "box": ('type="box" size="0.1 0.08 0.05"', 0.05, ""),
    "sphere": ('type="sphere" size="0.12"', 0.12, ""),
    "capsule": ('type="capsule" size="0.06 0.08" euler="0 90 0"', 0.06, ""),
    "cylinder": ('type="cylinder" size="0.08 0.05"', 0.05, ""),
    "ellipsoid": ('type="ellipsoid" size="0.12 0.1 0.06"', 0.06, ""),
    "mesh": ('type="mesh" mesh="pyramid"', 0.05, pyramid()),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_body_of_any_shape_comes_to_rest_on_soil_that_carries_its_weight(shape):
    geom, height, assets = SHAPES[shape]
    sim = on_soil(body(geom, height, assets=assets), terrain=flat(size=(2, 2), spacing=0.5, origin=(-1, -1)))
    sim.step(200)
    carried = []
    for _ in range(40):
        sim.step()
        carried.append(sim.engine.slots[0].out.effective.numpy()[0, 0, 2])
    assert np.mean(carried) == pytest.approx(MASS * G, rel=CARRIED)
    assert 0 < height - sim.data.xpos[1, 2] < 0.04  # sunk a little
    assert np.abs(sim.data.qvel[:3]).max() < STILL


def test_a_robot_shares_its_weight_among_its_wheels():
    spec = mujoco.MjSpec.from_string(
        f"""<mujoco model="cart"><option gravity="0 0 -{G}"/><worldbody>
        <body name="chassis" pos="0 0 0.12"><freejoint/><geom type="box" size="0.2 0.1 0.02" mass="10"/>
        """
        + "".join(
            f'<body name="wheel{k}" pos="{x} {y} -0.02"><joint axis="0 1 0" damping="5"/>'
            '<geom type="cylinder" size="0.1 0.03" euler="90 0 0" mass="1"/></body>'
            for k, (x, y) in enumerate([(-0.2, -0.15), (-0.2, 0.15), (0.2, -0.15), (0.2, 0.15)])
        )
        + "</body></worldbody></mujoco>"
    )
    sim = on_soil(spec, bodies="wheel.*", terrain=flat(size=(2, 2), spacing=0.5, origin=(-1, -1)))
    sim.step(240)
    seen = []
    for _ in range(40):  # light wheels swing from step to step
        sim.step()
        seen.append(sim.engine.slots[0].out.effective.numpy()[0, :, 2].copy())
    forces = np.mean(seen, axis=0)
    assert forces.sum() == pytest.approx(14 * G, rel=CARRIED)
    np.testing.assert_allclose(forces, 14 * G / 4, rtol=SHARED)
    assert all(sim.modules[0].surfaces[f"wheel{k}"].width == pytest.approx(0.06) for k in range(4))


FLOOR = '<geom name="floor" type="plane" size="5 5 1"/>'
FLOORS = {
    "of the world": (FLOOR, ""),
    "a body of its own": (f'<body name="ground">{FLOOR}</body>', ""),
    "a nameless body": (f"<body>{FLOOR}</body>", ""),
    "a contact pair": (FLOOR, '<contact><pair geom1="floor" geom2="ball"/></contact>'),
}


@pytest.mark.parametrize("kind", FLOORS)
def test_the_floor_of_a_model_does_not_hold_a_soil_body(kind):
    """It sinks through z = 0 as without a floor, touches nothing in MuJoCo, and the user is told."""
    height, terrain, ends = 0.12, flat(size=(2, 2), spacing=0.5, origin=(-1, -1)), []
    for floor, contact in (FLOORS[kind], ("", "")):
        spec = mujoco.MjSpec.from_string(
            f"""<mujoco model="ball"><worldbody>{floor}<body name="block" pos="0 0 {height}"><freejoint/>
            <geom name="ball" size="{height}" mass="{MASS}"/></body></worldbody>{contact}</mujoco>"""
        )
        sim = on_soil(spec, terrain=terrain)  # the pattern for all bodies leaves out what stands still
        assert "ground contact of block moved from MuJoCo to the soil (dry-sand)" in sim.notes
        sim.step(150)
        assert sim.data.ncon == 0
        ends.append(sim.data.qpos.copy())
    np.testing.assert_array_equal(*ends)
    assert ends[0][2] < height - 0.005


def test_the_rest_of_a_robot_keeps_its_contacts():
    """A second body, not on soil, still stands on the floor."""
    spec = body(SHAPES["sphere"][0], 0.12, FLOOR)
    other = spec.worldbody.add_body(name="other", pos=[1, 0, 0.05])
    other.add_freejoint()
    other.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, size=[0.05, 0.05, 0.05], mass=1.0)
    sim = on_soil(spec, bodies="block")
    sim.step(200)
    assert sim.data.body("other").xpos[2] == pytest.approx(0.05, abs=1e-3)
    assert sim.data.ncon > 0


def test_a_body_that_is_not_there_is_refused():
    with pytest.raises(InputError, match=r"bodies: 'wheel\.\*' matches none of block"):
        on_soil(body(*SHAPES["box"][:2]), bodies="wheel.*")
    with pytest.raises(InputError, match=r"'bl' matches none of block; whole names must match, 'bl\.\*' takes block$"):
        on_soil(body(*SHAPES["box"][:2]), bodies="bl")
    with pytest.raises(InputError, match="bodies: 'wheel' is not in the model; it has block"):
        on_soil(body(*SHAPES["box"][:2]), bodies=["wheel"])


def test_a_missing_or_broken_robot_file_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"robot: no file 'nowhere\.xml'"):
        on_soil("nowhere.xml")
    broken = tmp_path / "broken.xml"
    broken.write_text("<mujoco><worldbody><body><geom size='0.1'></body></worldbody></mujoco>")
    with pytest.raises(InputError, match=r"broken\.xml") as refusal:
        on_soil(broken)
    assert "\n" not in str(refusal.value)


def test_a_robot_file_is_read(tmp_path):
    path = tmp_path / "block.xml"
    path.write_text(body(*SHAPES["box"][:2]).to_xml())
    sim = on_soil(path, terrain=flat(size=(2, 2), spacing=0.5, origin=(-1, -1)), step=5e-3)
    sim.step(100)
    assert sim.time == pytest.approx(0.5)


def test_a_wheel_drives_over_a_real_landscape_and_stays_on_it():
    """The Jacksboro fault as a model with nodes 1 m apart; the ground is as high as the map says under the wheel."""
    radius, speed, x, y = 0.15, 0.2, 118.6, 42.2
    terrain = jacksboro(1.0, origin=(0.0, 0.0))
    start = float(terrain.height(x, y))
    spec = mujoco.MjSpec()
    carriage = spec.worldbody.add_body(name="carriage", pos=[x, y, start + radius])
    for name, axis in (("x", [1, 0, 0]), ("z", [0, 0, 1])):
        carriage.add_joint(name=name, type=mujoco.mjtJoint.mjJNT_SLIDE, axis=axis)
    carriage.mass, carriage.inertia, carriage.ipos, carriage.explicitinertial = 6.0, [0.1] * 3, [0, 0, 0], True
    axle = carriage.add_body(name="wheel")
    axle.add_joint(name="axle", type=mujoco.mjtJoint.mjJNT_HINGE, axis=[0, 1, 0])
    turned = [np.sqrt(0.5), np.sqrt(0.5), 0, 0]
    axle.add_geom(type=mujoco.mjtGeom.mjGEOM_CYLINDER, size=[radius, 0.05, 0], quat=turned, mass=3.0)
    spec.add_actuator(trntype=mujoco.mjtTrn.mjTRN_JOINT, target="axle").set_to_velocity(kv=1e4)
    spec.add_key(qpos=[0, 0, 0], qvel=[speed, 0, speed / radius], ctrl=[speed / radius])
    sim = on_soil(spec, bodies="wheel", terrain=terrain, place=False)
    clearance, climbed = [], []
    for _ in range(300):
        sim.step()
        at = sim.data.body("wheel").xpos
        clearance.append(at[2] - float(terrain.height(at[0], at[1])))
        climbed.append(float(terrain.height(at[0], at[1])))
    assert sim.data.qpos[0] > 0.1  # it has gone somewhere
    assert np.ptp(climbed) > 0.01  # over ground that is not level
    assert min(clearance) > radius - 0.05
    assert max(clearance) < radius * 1.1
    assert sim.engine.slots[0].out.effective.numpy()[0, 0, 2] > 0.5 * 9 * G
