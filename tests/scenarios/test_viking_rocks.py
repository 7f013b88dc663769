"""The rover on rocks and hard ground: what carries it, what its motors say, and one wheel against a closed form."""

from __future__ import annotations

import math

import mujoco
import numpy as np
import pytest

import grouser
from grouser.contact.polygonal import Layer, Pair, hard_ground, shape
from grouser.contact.polygonal.wheel import wheel_mesh
from grouser.errors import InputError
from grouser.robots.exomars import WHEELS, ExoMars
from grouser.scenarios import rocky_ground as rocky
from grouser.scenarios import viking_rocks
from grouser.simulation import Simulation
from grouser.simulation.shapes import box
from grouser.terrain import flat

QUICK = {"time": 9.0, "speed": 0.03}  # faster than the paper; the first wheel reaches a rock after 6 s
FULL = {"time": 900.0}  # [s], 15 min
BALANCE = 1e-3  # of the weight: the rover rises by centimetres in minutes
PATCH = 0.003  # [m] by which the middle of the patch may miss the edge: the tread gives 1.5 mm
QUASI_STATIC = 0.01  # of the weight: facets of the tread lift the wheel in small bumps
REST = 0.05  # [N m] of 12 a rock costs: level ground costs nothing
RADIUS, WEIGHT = 0.1425, 190.0  # [m], [N] of one wheel
EDGE, KERB = 0.1, 0.012  # [m] where the kerb begins, its height
STEP = 0.02  # of the greatest torque: 5 ms against 1 ms


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    outcome = grouser.run("viking-rocks", QUICK, out=tmp_path_factory.mktemp("quick") / "out")
    with grouser.Recording(outcome.recording) as recording:
        yield outcome, recording


# ---- wheels and rocks as surfaces --------------------------------------------------------------------------


def test_rocks_are_counted_by_wheel():
    """Two elements on one rock, one on another, one on level ground; the second wheel touches the ground alone."""
    wheels = np.array([[0.0, 0, 0.14], [1.0, 0, 0.14]])
    circles = np.array([[0.1, 0, 0.05], [0.0, 0.1, 0.04]])
    patch = np.zeros((5, 8))
    patch[:, :3] = [[0.08, 0, 0.03], [0.07, 0.01, 0.03], [0.0, 0.08, 0.03], [0.1, 0, 0], [1.0, 0, 0]]
    patch[:, 3:6] = [[-0.6, 0, 0.8], [-0.6, 0, 0.8], [0, -0.6, 0.8], [0, 0, 1], [0, 0, 1]]
    assert rocky.rocks_touched(patch, wheels, circles).tolist() == [2, 0]
    assert rocky.rocks_touched(patch[3:], wheels, circles).tolist() == [0, 0]


def test_the_field_is_that_of_the_table_and_free_where_the_wheels_stand():
    field = rocky.field_of(viking_rocks.VikingRocks())
    assert set(field.diameters) == {0.05, 0.1, 0.25}
    p = ExoMars()
    for name in WHEELS:
        x, y, _ = p.axle(name)
        for rock in field.rocks:
            inside = (np.abs(rock.world_vertices[:, :2] - (x, y)) < (p.wheel_radius, p.wheel_width / 2)).all(axis=1)
            assert not inside.any()


def test_a_short_drive_crosses_the_rocks_of_the_long_one():
    short, long = (rocky.field_of(viking_rocks.VikingRocks(time=time)) for time in (90.0, 900.0))
    assert [rock.position.tolist() for rock in short.rocks] == [rock.position.tolist() for rock in long.rocks]


# ---- one wheel against a closed form ------------------------------------------------------------------------


def at_a_kerb(friction: float) -> Simulation:
    """A driven wheel before a kerb, as the scenarios pair them."""
    tread = rocky.Tread(friction_stick=friction, friction_slip=friction)
    rigid = rocky.rigid_layer(tread)
    half = np.array([0.3, 0.3, 0.1])
    corners, faces = box(half)
    middle = np.array([EDGE + half[0], 0, KERB - half[2]])
    kerb = shape(corners + middle, faces, rigid, longest_edge=0.02, name="kerb")
    ground = hard_ground(flat(size=(3, 2), spacing=1.0), rigid)
    wheel = shape(*wheel_mesh(RADIUS, 0.12, tread.shoulder), tread.layer, name="wheel")
    pairs = [rocky.rock_pair("wheel", "kerb"), Pair("wheel", "ground")]
    sim = Simulation(_cart(), [rocky.RockContact({"wheel": wheel}, {"kerb": kerb, "ground": ground}, pairs)])
    sim.step(200)  # it settles
    return sim


def test_a_wheel_climbs_an_edge_with_the_torque_of_its_lever():
    """On an edge alone, slowly and without a pull, a driven wheel needs its weight times the way to the edge."""
    sim = at_a_kerb(0.7)
    sim.data.ctrl[0] = 0.1  # [rad/s]
    checked = 0
    for _ in range(150):
        sim.step(20)
        force = sim.modules[0].channels()[0].read()[0]  # (pair, 3): kerb, ground
        lever = EDGE - sim.data.body("wheel").xpos[0]
        if 0.01 < lever < 0.048:  # off the ground for a while, not yet on top
            assert force[1, 2] == 0
            assert force[0, 2] == pytest.approx(WEIGHT, rel=QUASI_STATIC)
            assert abs(sim.data.actuator_force[0] / WEIGHT - lever) < PATCH
            checked += 1
    assert checked > 20
    assert sim.data.body("wheel").xpos[2] == pytest.approx(RADIUS + KERB, abs=1e-3)


def test_without_friction_a_wheel_climbs_nothing_and_needs_no_torque():
    """Forces of the kerb go through the axle: it spins on the spot however it is held against the edge."""
    sim = at_a_kerb(0.0)
    angle = math.acos((RADIUS - KERB) / RADIUS)
    sim.data.qfrc_applied[0] = 0.5 * WEIGHT * math.tan(angle)  # half of the push that would lift it
    sim.model.dof_damping[0] = 2000.0
    sim.data.ctrl[0] = 0.1
    sim.step(2000)
    assert sim.data.body("wheel").xpos[2] < RADIUS
    assert abs(sim.data.actuator_force[0]) < PATCH * WEIGHT
    pushed = sim.modules[0].channels()[0].read()[0].sum(axis=0)
    assert pushed[0] == pytest.approx(-0.5 * WEIGHT * math.tan(angle), rel=QUASI_STATIC)


def _cart() -> mujoco.MjSpec:
    """A wheel with weight, free in its plane, with a speed servo."""
    spec = mujoco.MjSpec()
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    carriage = spec.worldbody.add_body(name="carriage", pos=[0, 0, RADIUS])
    for axis in ([1, 0, 0], [0, 0, 1]):
        carriage.add_joint(type=mujoco.mjtJoint.mjJNT_SLIDE, axis=axis)
    carriage.mass, carriage.inertia, carriage.ipos, carriage.explicitinertial = (
        WEIGHT / 9.81 - 4,
        [1, 1, 1],
        [0] * 3,
        True,
    )
    wheel = carriage.add_body(name="wheel")
    wheel.add_joint(name="axle", axis=[0, 1, 0])
    wheel.mass, wheel.inertia, wheel.ipos, wheel.explicitinertial = 4.0, [0.03, 0.05, 0.03], [0] * 3, True
    motor = spec.add_actuator(name="motor", target="axle", trntype=mujoco.mjtTrn.mjTRN_JOINT)
    motor.set_to_velocity(kv=2000.0)
    return spec


# ---- the scenario ----------------------------------------------------------------------------------------------


def test_a_short_drive(quick):
    outcome, recording = quick
    metrics = outcome.metrics
    assert outcome.status == "complete"
    assert outcome.missed == []
    assert outcome.notes == ()
    assert metrics["weight_carried"] == pytest.approx(1.0, abs=BALANCE)
    assert metrics["distance_m"] == pytest.approx(0.03 * 9.0, rel=0.1)
    assert metrics["contact_pairs_max"] >= 1
    assert 0 < metrics["drive_power_mean_W"] < metrics["drive_power_peak_W"]
    assert metrics["drive_torque_peak_Nm"] < ExoMars().drive_torque
    assert metrics["penetration_max_m"] < rocky.Tread().thickness
    assert {path.stem for path in (outcome.folder / "figures").glob("*.png")} >= {"drive-torque", "steer-torque"}


def test_level_ground_costs_nothing_and_a_rock_does(quick):
    _, recording = quick
    touched = recording["rocks/touched"].sum(axis=1)
    first = int(np.argmax(touched > 0))
    rolling = (recording.time > rocky.SETTLING + 2) & (recording.time < recording.time[first] - 0.1)
    torque = np.column_stack([recording[f"actuator/force[drive_{name}]"] for name in WHEELS])
    assert rolling.sum() > 50
    assert np.abs(torque[rolling]).max() < REST
    assert np.abs(torque[first:]).max() > 20 * REST


def test_peaks_are_those_of_the_channels(quick):
    outcome, recording = quick
    driving = recording.time >= rocky.SETTLING
    forces = recording["actuator/force"][driving]
    names = recording.channel_info("actuator/force").labels
    drives = [k for k, name in enumerate(names) if name.startswith("drive")]
    assert outcome.metrics["drive_torque_peak_Nm"] == pytest.approx(np.abs(forces[:, drives]).max())
    steers = [k for k, name in enumerate(names) if name.startswith("steer")]
    assert outcome.metrics["steer_torque_peak_Nm"] == pytest.approx(np.abs(forces[:, steers]).max())
    # Power is torque times rate, averaged over the meter's period.
    rate = np.column_stack([recording[f"joint/velocity[drive_{name}]"] for name in WHEELS])[driving]
    assert outcome.metrics["drive_power_peak_W"] == pytest.approx((forces[:, drives] * rate).max(), rel=0.1)


def test_rocks_are_there_to_be_seen(quick):
    _, recording = quick
    shown = recording.geometry()
    assert set(shown) == {*(f"wheel_{name}" for name in WHEELS), "rocks", "ground"}
    field = rocky.field_of(viking_rocks.VikingRocks())
    assert len(shown["rocks"]["triangles"]) == 320 * len(field.rocks)


@pytest.mark.long
def test_the_first_rock_costs_the_same_at_a_fifth_of_the_step():
    """Greatest torque up to 30 s, when the first wheel climbs."""
    torques = {}
    for step in (5e-3, 1e-3):
        sim = viking_rocks.build(viking_rocks.VikingRocks(step=step))
        forces = []
        for _ in range(300):
            sim.step(round(0.1 / step))
            forces.append(np.abs(sim.data.actuator_force[:6]).max())
        torques[step] = max(forces)
    assert torques[5e-3] == pytest.approx(torques[1e-3], rel=STEP)


@pytest.mark.nightly
def test_fifteen_minutes(tmp_path):
    outcome = grouser.run("viking-rocks", FULL, out=tmp_path / "out")
    assert outcome.missed == []
    assert outcome.metrics["penetration_max_m"] < rocky.Tread().thickness
    assert outcome.metrics["contact_pairs_max"] >= 3
    assert outcome.notes == ()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"rocks.burial": [0.5, 0.2]}, "burial: the first share"),
        ({"rocks.law": "table"}, "0 diameters and 0 densities"),
        ({"rocks.law": "golombek-rapp", "rocks.least": 0.5, "rocks.most": 0.2}, "most = 0.2"),
        ({"tread.poisson": 0.45}, "poisson"),
        ({"tread.friction_slip": 0.9}, "friction_slip must not be above"),
        ({"speed": 0.09}, "speed = 0.09 m/s: allowed is at most 0.0712"),
        ({"rocks.law": "table", "rocks.table": [[0.1, 0.0]]}, "no fixed rock"),
    ],
)
def test_bad_input_is_named(settings, words, tmp_path):
    with pytest.raises(InputError, match=words):
        grouser.run("viking-rocks", settings, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("law", ["golombek-rapp", "power"])
def test_other_laws_run(law, tmp_path):
    outcome = grouser.run("viking-rocks", {"rocks.law": law, "time": 1.0}, out=tmp_path / "out", report=False)
    assert outcome.status == "complete"
    assert outcome.summary["metrics"]["distance_m"]["expected"] is None


def test_layers_are_near_kappa_nil():
    """Or every wheel would say that friction is outside the theory."""
    layer = rocky.Tread().layer
    assert abs(1 - 2 * layer.poisson) / 4 < 0.05
    assert isinstance(layer, Layer)
