"""Robots not written for Grouser, on soil: weight is carried, feet sink as Bekker says, nothing falls through."""

from __future__ import annotations

import math

import mujoco
import numpy as np
import pytest
from scipy.optimize import brentq

from grouser import on_soil, soil
from grouser.scenarios.single_wheel import SingleWheel, build
from grouser.simulation.adapt import SOFT_BAND
from grouser.simulation.shapes import SAG
from tests.simulation.robots import G, gymnasium_robot, rover_urdf

CARRIED = 2e-3  # of the weight, mean of a second at rest: what its last swings leave
CALM = 0.01  # of the weight: how much the force of a body may vary at rest
PRESSED = 0.02  # plate on a 10 mm grid against Bekker, its edge between nodes (the module's own bar is 0.5 % forced)
COMPACTING = soil("dry-sand").replace(compression=1.0)  # nothing is pushed aside: the closed forms hold


def settled(sim, seconds: float):
    """Mean soil force on all bodies [N] over the last second."""
    sim.step(round((seconds - 1) / sim.step_size))
    forces = []
    for _ in range(round(1 / sim.step_size)):
        sim.step()
        forces.append(sim.observe()["soil/force"][0].sum(axis=0))
    return np.mean(forces, axis=0)


def loaded_slowly(robot, bodies, material, seconds: float = 2.0):
    """Gravity grows from nothing, so that nothing drops; then half a second at rest."""
    sim = on_soil(robot, material, bodies, gravity=0.0, step=4e-3)
    count = round(seconds / sim.step_size)
    for k in range(count + round(0.5 / sim.step_size)):
        sim.model.opt.gravity[2] = -G * min(1.0, (k + 1) / count)
        sim.step()
    return sim


def weight(sim) -> float:
    return float(sim.model.body_mass.sum() * G)


def sphere_sinkage(radius: float, material, load: float) -> float:
    """z of W = 2 pi k (R z^(n+1)/(n+1) - z^(n+2)/((n+1)(n+2))), the integral of k (z - s)^n over a sphere's cap."""
    k, n = material.k_phi, material.n

    def carried(z):
        return 2 * math.pi * k * (radius * z ** (n + 1) / (n + 1) - z ** (n + 2) / ((n + 1) * (n + 2)))

    return float(brentq(lambda z: carried(z) - load, 1e-7, radius))


def test_the_feet_of_the_ant_sink_as_far_as_bekker_says():
    """Gymnasium's ant with its ankles at their stops: four hemispheres of 80 mm under 0.91 kg."""
    spec, stop = mujoco.MjSpec.from_file(str(gymnasium_robot("ant"))), math.radians(30)
    spec.add_key(name="stand", qpos=[0, 0, 0.75, 1, 0, 0, 0, 0, stop, 0, -stop, 0, -stop, 0, stop])
    material = COMPACTING.replace(k_c=0.0)  # without k_c / b, whose b a sphere has none of
    sim = loaded_slowly(spec, "ankle.*", material)
    expected, forces = sphere_sinkage(0.08, material, weight(sim) / 4), []
    for _ in range(20):  # its force varies by 0.6 % from step to step: docs/validation.md
        sim.step()
        forces.append(sim.observe()["soil/force"][0, :, 2].copy())
    seen = sim.observe()
    assert sim.soil.bodies == ("ankle_1", "ankle_2", "ankle_3", "ankle_4")
    np.testing.assert_allclose(np.mean(forces, axis=0), weight(sim) / 4, rtol=CARRIED)
    np.testing.assert_allclose(forces, weight(sim) / 4, rtol=CALM)
    np.testing.assert_allclose(seen["soil/sinkage"][0], expected, atol=SAG)  # the lowest vertex is not the lowest point
    assert sim.data.ncon == 0  # the torso hangs free


CREEP = 1e-4  # [m] what a parked wheel may creep in a minute; here in 15 s


def ball(name: str, mass: float = 6.0):
    """80 mm; of 6 kg: let go on soft soil it sinks by a third of its radius and more."""
    spec = mujoco.MjSpec.from_string(
        f'<mujoco><worldbody><body name="ball" pos="0 0 0.1"><freejoint/><geom size="0.08" mass="{mass}"/></body>'
        "</worldbody></mujoco>"
    )
    return on_soil(spec, name, "ball", settle=False)


@pytest.mark.parametrize("name", ["dry-sand", "hit-lss1", "lunar-nominal", "exomars-test"])
def test_a_ball_comes_to_rest(name):
    sim = ball(name)
    sim.step(round(5 / sim.step_size))
    begin, forces = float(sim.data.qpos[2]), []
    sim.step(round(14 / sim.step_size))
    for _ in range(round(1 / sim.step_size)):
        sim.step()
        forces.append(float(sim.observe()["soil/force"][0, 0, 2]))
    assert np.mean(forces) == pytest.approx(6 * G, rel=CARRIED)
    assert abs(sim.data.qpos[2] - begin) < CREEP
    assert np.std(forces) < CALM * 6 * G


@pytest.mark.parametrize("name", ["dry-sand", "exomars-test"])
def test_a_light_ball_comes_to_rest(name):
    """500 g: it lifts off its bed by micrometres."""
    sim = ball(name, 0.5)
    sim.step(round(6 / sim.step_size))
    forces = []
    for _ in range(100):
        sim.step()
        forces.append(float(sim.observe()["soil/force"][0, 0, 2]))
    assert np.array(forces) == pytest.approx(0.5 * G, rel=CALM)


@pytest.mark.parametrize("name", ["dry-sand", "exomars-test"])
def test_a_ball_in_its_bed_feels_the_stiffness_its_implicit_block_holds(name):
    """Moved up and down by a tenth of a millimetre, 2 um at a time: a step whose block holds less than half of the true
    slope, or whose force jumps, overshoots and alternates."""
    sim = ball(name)
    h, out, motion = sim.step_size, sim.engine.slots[0].out, sim.engine.motion
    sim.step(round(6 / h))
    motion.angular_velocity.numpy()[:] = 0
    heights = np.arange(-1e-4, 1e-4, 2e-6)
    force, held = [], []
    for z in heights:  # forces are those at the end of the step
        motion.velocity.numpy()[0, 0] = (0, 0, z / h)
        sim.soil.evaluate(h)
        force.append(out.wrench.numpy()[0, 0, 2])
        held.append(out.implicit.numpy()[0, 0, 2, 2] / h**2)
    assert force[0] > 6 * G > force[-1] > 0
    slope = -np.diff(force) / np.diff(heights)
    assert (slope < 2 * np.maximum(held[1:], held[:-1])).all()


@pytest.mark.parametrize("mass", [3.0, 12.0])
def test_a_flat_foot_sinks_as_far_as_bekker_says(mass):
    """One leg on a rail, as in a test stand."""
    length, width = 0.16, 0.1
    spec = mujoco.MjSpec.from_string(
        f"""<mujoco><worldbody><body name="hip" pos="0 0 1"><joint type="slide"/><geom size="0.05" mass="{mass}"/>
        <body name="foot" pos="0 0 -0.3"><geom type="box" size="{length / 2} {width / 2} 0.02" mass="0.5"/></body>
        </body></worldbody></mujoco>"""
    )
    sim = loaded_slowly(spec, "foot", COMPACTING)
    modulus = COMPACTING.pressure_modulus(width)
    expected = (weight(sim) / (modulus * length * width)) ** (1 / COMPACTING.n)
    assert sim.observe()["soil/sinkage"][0, 0] == pytest.approx(expected, rel=PRESSED)
    assert sim.observe()["soil/force"][0, 0, 2] == pytest.approx(weight(sim), rel=CARRIED)


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("half_cheetah", ["integrator implicitfast instead of the model's EULER"]),
        ("hopper", ["integrator implicitfast instead of the model's RK4"]),
        pytest.param(
            "humanoid",
            ["integrator implicitfast instead of the model's RK4", "solver Newton instead of the model's PGS"],
            marks=pytest.mark.long,
        ),
        pytest.param("walker2d", ["integrator implicitfast instead of the model's RK4"], marks=pytest.mark.long),
    ],
)
def test_a_robot_of_gymnasium_stands_or_lies_on_soil(name, changes):
    """All its bodies meet soil; it comes to rest, the soil carries its weight, and it lies on the ground, not in it."""
    sim = on_soil(gymnasium_robot(name), "dry-sand")
    for note in (*changes, "floor 'floor' of the model was replaced by the soil"):
        assert note in sim.notes
    force = settled(sim, 5.0)
    assert force[2] == pytest.approx(weight(sim), rel=CARRIED)
    seen = sim.observe()
    assert 0.005 < seen["soil/sinkage"].max() < 0.12
    lowest = [
        (s.vertices @ sim.data.body(b).xmat.reshape(3, 3).T + sim.data.body(b).xpos)[:, 2].min()
        for b, s in sim.soil.surfaces.items()
    ]
    assert min(lowest) == pytest.approx(-seen["soil/sinkage"].max(), abs=1e-3)  # none is deeper than it says


def test_a_driven_ant_digs_with_its_feet_and_keeps_its_other_contacts():
    """Ankles and hips pushed by its motors; its torso, not on soil, still meets the hard floor."""
    sim = on_soil(gymnasium_robot("ant"), "dry-sand", "ankle.*", drive={"hip_.*": 0.3, "ankle_.*": 0.2})
    assert "driven at 0.3: hip_4, hip_1, hip_2, hip_3" in sim.notes
    sim.step(round(1.0 / sim.step_size))
    assert sim.soil.ground.heights(region=(-1.5, 1.5, -1.5, 1.5)).min() < -0.002
    sim.data.qpos[2] = 0.2  # the torso, a ball of 0.25 m, 5 cm into the floor
    sim.step(5)
    names = {sim.model.geom(g).name for c in sim.data.contact for g in c.geom}
    assert {"torso_geom", "ground"} <= names


# ---- wheels -----------------------------------------------------------------------------------------


@pytest.fixture
def rover(tmp_path):
    path = tmp_path / "rover.urdf"
    path.write_text(rover_urdf())
    return path


def test_a_urdf_rover_rolls_as_far_as_its_slip_leaves(rover):
    sim = on_soil(rover, "dry-sand", "wheel_.*", drive={"axle_.*": 0.5})
    sim.step(round(1 / sim.step_size))
    start, slip = sim.data.body("base_link").xpos[0], []
    for _ in range(round(3 / sim.step_size)):
        sim.step()
        slip.append(sim.observe()["soil/slip"][0].mean())
    travelled = sim.data.body("base_link").xpos[0] - start
    assert travelled == pytest.approx(0.5 * 0.1 * 3 * (1 - np.mean(slip)), rel=0.01)
    assert 0 < np.mean(slip) < 0.3
    assert abs(sim.data.body("base_link").xpos[1]) < 0.01  # straight on
    assert 0.002 < sim.observe()["soil/sinkage"].max() < 0.04


def test_a_wall_stops_the_rover_at_its_wheels(rover):
    """A box of the world stays solid for soil bodies too: the wheels touch it, and the rover goes no further.

    The wall is smooth (its `priority` rules): wheels climb a rough one.
    """
    from grouser.simulation.robot_file import load_robot

    spec = load_robot(rover).spec
    spec.worldbody.add_geom(
        type=mujoco.mjtGeom.mjGEOM_BOX, size=[0.05, 1, 0.3], pos=[0.36, 0, 0.3], condim=1, priority=1
    )
    sim = on_soil(spec, "dry-sand", "wheel_.*", drive={"axle_.*": 0.5}, base="free")
    sim.step(round(2 / sim.step_size))
    touching: set[str] = set()
    for _ in range(round(1 / sim.step_size)):
        sim.step()
        touching |= {sim.model.body(sim.model.geom_bodyid[g]).name for c in sim.data.contact for g in c.geom}
    assert touching == {"world", "wheel_fl", "wheel_fr"}
    assert sim.data.body("wheel_fl").xpos[0] == pytest.approx(0.31 - 0.1, abs=5e-3)
    assert sim.observe()["soil/slip"][0, 2:].mean() > 0.95  # the rear wheels spin on


def test_the_servo_of_a_weak_joint_keeps_its_limit_and_its_speed_and_does_not_chatter(tmp_path):
    """The effort of a URDF joint limits its servo."""
    path = tmp_path / "rover.urdf"
    path.write_text(rover_urdf('<limit effort="2" velocity="10"/>'))
    sim = on_soil(path, "dry-sand", "wheel_.*", drive={"axle_.*": 0.5})
    names = "'axle_fl', 'axle_fr', 'axle_rl', 'axle_rr'"
    assert f"joints {names} got a velocity servo [rad/s], up to 2 N m" in sim.notes
    torque, speed = [], []
    for _ in range(round(3 / sim.step_size)):
        sim.step()
        torque.append(sim.data.actuator_force.copy())
        speed.append(sim.data.qvel[6:].copy())
    assert np.abs(torque).max() <= 2.0
    late = np.array(speed)[len(speed) // 2 :]
    np.testing.assert_allclose(late.mean(axis=0), 0.5, rtol=SOFT_BAND)
    assert late.std(axis=0).max() < SOFT_BAND * 0.5  # it keeps inside its band


@pytest.mark.parametrize("degrees", [10.0, -10.0])
def test_on_a_slope_a_robot_stands_as_the_ground_does_and_is_carried(rover, degrees):
    from grouser.terrain import slope

    ground = slope(degrees, size=(20, 20))
    sim = on_soil(rover, "dry-sand", "wheel_.*", terrain=ground, drive={"axle_.*": 0.0}, settle=False)
    up = sim.data.body("base_link").xmat.reshape(3, 3)[:, 2]
    np.testing.assert_allclose(up, ground.normal(0, 0), atol=1e-9)
    points = [s.vertices @ sim.data.body(b).xmat.reshape(3, 3).T + sim.data.body(b).xpos
              for b, s in sim.soil.surfaces.items()]  # fmt: skip
    clear = [float((p[:, 2] - ground.height(p[:, 0], p[:, 1])).min()) for p in points]
    np.testing.assert_allclose(clear, 1e-4, atol=2e-5)  # all four; r (1 - cos 1.25 deg) of a rim's corners
    force = settled(sim, 3.0)
    assert force[2] == pytest.approx(weight(sim), rel=CARRIED)
    assert abs(force[0]) < 0.02 * weight(sim)  # and held: no sliding down


# ---- observations -----------------------------------------------------------------------------------


@pytest.mark.parametrize("slip", [0.0, 0.3, 0.6, -0.3])
def test_slip_is_what_the_test_bed_forces(slip):
    sim = build(SingleWheel(slip=slip, speed=0.05))
    sim.step(400)
    assert sim.observe()["soil/slip"][0, 0] == pytest.approx(slip, abs=2e-3)  # 144 corners of the rim


def test_observations_are_the_channels_and_take_no_new_arrays(rover):
    sim = on_soil(rover, "dry-sand", "wheel_.*", drive={"axle_.*": 0.5})
    sim.step(40)
    seen = sim.observe()
    channels = {c.name: np.array(c.read()) for c in sim.channels()}
    assert set(seen) == {f"soil/{name}" for name in ("sinkage", "slip", "force", "torque", "contact_area")}
    for name, values in seen.items():
        np.testing.assert_array_equal(values, channels[name])
    before = {name: values.copy() for name, values in seen.items()}
    sim.step(20)
    again = sim.observe()
    assert all(again[name] is seen[name] for name in seen)
    assert not np.array_equal(again["soil/force"], before["soil/force"])


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_every_world_has_its_own_observations(rover, dtype):
    sim = on_soil(rover, "dry-sand", "wheel_.*", drive={"axle_.*": 0.5}, worlds=3, dtype=dtype)
    sim.engine.data[1].ctrl[:] = 0.25
    sim.step(200)
    seen = sim.observe()
    assert seen["soil/force"].shape == (3, 4, 3)
    np.testing.assert_array_equal(seen["soil/sinkage"][0], seen["soil/sinkage"][2])
    assert not np.array_equal(seen["soil/sinkage"][0], seen["soil/sinkage"][1])
    np.testing.assert_allclose(seen["soil/force"][:, :, 2].sum(axis=1), weight(sim), rtol=0.1)
