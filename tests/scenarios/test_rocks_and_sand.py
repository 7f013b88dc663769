"""Rocks and sand in one run: what each carries, that nothing is carried twice, and rocks that are pushed."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import grouser
from grouser.contact.polygonal import Layer, PolygonalModule, shape
from grouser.contact.polygonal.wheel import wheel_mesh
from grouser.contact.soil import SoilModule, SoilOptions, wheel
from grouser.report.figures import draw
from grouser.robots.exomars import WHEELS
from grouser.scenarios import rocks_and_sand as ras
from grouser.scenarios import rocky_ground as rocky
from grouser.simulation import Simulation
from grouser.simulation.shapes import box
from grouser.terrain import BARE, flat
from grouser.terrain.ground import Ground
from grouser.terrain.rock_bodies import add_rocks
from grouser.terrain.rocks import Rock, RockField, SizeClasses, rock_field
from tests.rig import ManufacturedMotion, SteadyMotion

RADIUS, WIDTH, LOAD = 0.1425, 0.12, 190.0
STATIC = 1e-3  # of the load, once the wheel is at rest
HALF = 0.02  # of half the sand's force: the bar of the soil on a 10 mm grid
ROCKS_HALF = 0.03  # of half the rock's force: the shoulders of the tread, which are not over the rock's edge
ROUND_OFF = 1e-9
WEIGHT = 0.01  # of a rock that has come to rest on sand
ROCKING = 2e-3  # [rad/s] of a loose rock: what is left of its swings after 4 s,
LIGHT = 0.1  # of one six cells wide
BALANCE = 1e-3  # of the rover's weight, mean over a drive
QUICK = {"time": 9.0, "speed": 0.03}
FLAT_ROCK = np.array([0.3, 0.3, 0.05])  # [m] half sides


def flat_rock(y: float, top: float = 0.0) -> Rock:
    """A rock with a level top at z = `top` [m] that covers `y` [m] - 0.3 to `y` + 0.3."""
    corners, faces = box(FLAT_ROCK)
    return Rock("slab", 0.6, np.array([0.0, y, top - FLAT_ROCK[2]]), 0.0, 0.99, False, corners, faces)


def field_of(*rocks: Rock) -> RockField:
    return RockField(rocks, (2.0, 2.0), (-1.0, -1.0))


def sand(field: RockField, **soil):
    """Level dry sand that is only compacted, nodes at odd multiples of 5 mm, no soil under the rocks."""
    material = grouser.soil("dry-sand").replace(compression=1.0, **soil)
    return field.masked(flat(size=(1.0, 1.0), spacing=0.01, origin=(-0.505, -0.505), soil=material))


def modules(field: RockField, tread: rocky.Tread, elevation):
    ground = Ground(elevation, spacing=0.01)
    soil = SoilModule(ground, {"wheel": wheel(RADIUS, WIDTH)}, SoilOptions(erosion=False))
    surface = shape(*wheel_mesh(RADIUS, WIDTH, tread.shoulder), tread.layer, name="wheel")
    rocks = rocky.rock_shape(ras.RocksAndSand(tread=tread, rocks=rocky.Rocks(longest_edge=0.03)), field)
    return ground, soil, PolygonalModule({"wheel": surface}, {"rocks": rocks}, [rocky.rock_pair("wheel")])


def standing(field: RockField, tread: rocky.Tread, elevation) -> tuple[Simulation, Ground]:
    """A wheel with LOAD, free up and down, that comes to rest without going too deep: sand would not spring back."""
    ground, soil, polygonal = modules(field, tread, elevation)
    spec = mujoco.MjSpec()
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    body = spec.worldbody.add_body(name="wheel", pos=[0, 0, RADIUS + 1e-3])
    body.add_joint(type=mujoco.mjtJoint.mjJNT_SLIDE, axis=[0, 0, 1], damping=4000.0)
    body.mass, body.inertia, body.ipos, body.explicitinertial = LOAD / 9.81, [0.1] * 3, [0] * 3, True
    sim = Simulation(spec, [soil, polygonal], ground=ground, step=2e-3)
    sim.step(1500)
    return sim, ground


def lifted(sim: Simulation) -> tuple[float, float]:
    """[N] what sand and rocks really carried in the last step."""
    soil, rocks = (float(slot.out.effective.numpy()[0, 0, 2]) for slot in sim.engine.slots)
    return soil, rocks


# ---- nothing twice, nothing missing --------------------------------------------------------------------------


def test_a_wheel_half_on_a_rock_and_half_on_sand_carries_the_sum():
    """At rest sand and rock together carry the load; each of them what it would carry of half a wheel so deep."""
    field, soft = field_of(flat_rock(0.3)), rocky.Tread(young=4e4)
    sim, _ = standing(field, soft, sand(field))
    soil, rocks = lifted(sim)
    assert soil + rocks == pytest.approx(LOAD, rel=STATIC)
    assert min(soil, rocks) > 0.1 * LOAD
    depth = RADIUS - float(sim.data.body("wheel").xpos[2])

    nowhere, everywhere = field_of(flat_rock(50.0)), field_of(flat_rock(0.0))
    path = SteadyMotion((0, 0, RADIUS + 1e-3), velocity=(0, 0, -0.01))
    count = round((depth + 1e-3) / 0.01 / 1e-3)
    _, whole_sand, _ = modules(nowhere, soft, sand(nowhere))
    whole = ManufacturedMotion(whole_sand, step=1e-3).follow(path, count).wrench[0, 0, 2]
    assert soil == pytest.approx(whole / 2, rel=HALF)
    _, _, whole_rock = modules(everywhere, soft, sand(everywhere))
    rig = ManufacturedMotion(whole_rock, step=1e-3).follow(path, count)
    pressed = rig.place(velocity=np.zeros(3)).evaluate().wrench[0, 0, 2]
    assert rocks == pytest.approx(pressed / 2, rel=ROCKS_HALF)


def test_sand_under_a_rock_carries_nothing_and_stays():
    field = field_of(flat_rock(0.0))
    sim, ground = standing(field, rocky.Tread(), sand(field))
    soil, rocks = lifted(sim)
    assert soil == 0.0
    assert rocks == pytest.approx(LOAD, rel=STATIC)
    bare = field.cover(ground.elevation)
    assert bare.sum() > 1000
    assert (ground.heights()[bare] == 0).all()


def test_without_the_mask_the_wheel_is_held_twice():
    """What masking is for: the sand under the slab would push as well."""
    field = field_of(flat_rock(0.0))
    sim, _ = standing(field, rocky.Tread(young=4e4), sand(field_of(flat_rock(50.0))))
    soil, rocks = lifted(sim)
    assert soil > 0.1 * LOAD
    assert rocks < 0.9 * LOAD


def test_a_rock_above_the_sand_takes_the_whole_load():
    field = field_of(flat_rock(0.3, top=0.03))
    sim, _ = standing(field, rocky.Tread(), sand(field))
    soil, rocks = lifted(sim)
    assert soil == 0.0
    assert rocks == pytest.approx(LOAD, rel=STATIC)


def test_the_masked_nodes_of_the_scenario_are_those_under_its_rocks():
    s = ras.RocksAndSand()
    field = rocky.field_of(s)
    ground = ras.sand(s, field)
    assert ground.soil_index is not None
    bare = ground.soil_index == BARE
    assert (bare == field.cover(ground)).all()
    for rock in field.rocks[:20]:
        if rock.position[2] + rock.vertices[:, 2].max() > 0.02:
            assert ground.soil_index_at(*rock.position[:2]) == BARE


# ---- the scenario ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    outcome = grouser.run("rocks-and-sand", QUICK, out=tmp_path_factory.mktemp("quick") / "out")
    with grouser.Recording(outcome.recording) as recording:
        yield outcome, recording


def test_rocks_and_sand_together_carry_the_weight(quick):
    outcome, recording = quick
    metrics = outcome.metrics
    assert outcome.missed == []
    assert metrics["weight_carried"] == pytest.approx(1.0, abs=BALANCE)
    share = recording["weight/share"][recording.time >= rocky.SETTLING]
    np.testing.assert_allclose(share.sum(axis=1).mean(), 1.0, atol=BALANCE)
    assert metrics["rock_load_share"] == pytest.approx(share[:, 1].mean())
    assert 0 < metrics["rock_load_share"] < 0.5
    assert metrics["contact_pairs_max"] >= 1
    assert metrics["sinkage_max_m"] > 0.01


def test_the_rover_is_set_down_and_not_dropped(quick):
    """A drop of a centimetre would press with more than twice the weight."""
    _, recording = quick
    settling = recording.time < rocky.SETTLING
    assert recording["weight/carried"][settling].max() < 1.2


def test_a_wheel_on_a_rock_rises_and_the_sand_lets_go(quick):
    _, recording = quick
    force = recording["polygonal/force"][..., 2]
    k = int(force[-1].argmax())
    before = recording["rocks/touched"][:, k] == 0
    height, sinking = recording["wheel/z"][:, k], recording["soil/force"][:, k, 2]
    rolling = before & (recording.time > rocky.SETTLING)
    assert height[-1] > height[rolling].max() + 0.005
    assert sinking[-1] < 0.8 * sinking[rolling].mean()


def test_soil_and_rocks_are_recorded_side_by_side(quick):
    outcome, recording = quick
    assert set(recording.geometry()) == {*(f"wheel_{name}" for name in WHEELS), "rocks"}
    names = {path.stem for path in (outcome.folder / "figures").glob("*.png")}
    assert names >= {"drive-torque", "steer-torque", "carried", "soil", "field"}


def test_no_sand_is_lost_and_none_comes_to_lie_under_rocks(quick):
    _, recording = quick
    assert abs(recording["soil/volume_error"][-1]) < ROUND_OFF
    s = ras.RocksAndSand(**QUICK)
    ground = ras.sand(s, rocky.field_of(s))
    x, y, heights, _ = recording.surface_at(np.inf, (-1.0, 1.5, -1.0, 1.0), max_nodes=10**6)
    assert x[1] - x[0] == pytest.approx(0.01)
    bare = ground.soil_index_at(x[None, :], y[:, None]) == BARE
    assert bare.sum() > 100
    assert (heights[bare] == 0).all()
    assert heights.min() < -0.01


def test_the_map_shows_the_rocks(quick):
    _, recording = quick
    figure = next(figure for figure in recording.header["figures"] if figure["name"] == "soil")
    (axes,) = draw(recording, figure).axes[:1]
    (outlines,) = (line for line in axes.get_lines() if line.get_label() == "rocks")
    field = rocky.field_of(ras.RocksAndSand(**QUICK))
    near = [rock for rock in field.rocks if rock.position[0] < 0.03 * 9.0 + rocky.AHEAD]
    assert np.isnan(outlines.get_xdata()).sum() == len(near)


@pytest.mark.long
def test_ninety_seconds(tmp_path):
    outcome = grouser.run("rocks-and-sand", out=tmp_path / "out")
    assert outcome.missed == []
    assert outcome.metrics["penetration_max_m"] < rocky.Tread().thickness
    assert outcome.metrics["distance_m"] > 0.5 * 7 / 900 * 90


# ---- rocks that move ----------------------------------------------------------------------------------------------


def loose_rock(width: float = 0.1, seed: int = 8, x: float = 0.17) -> RockField:
    law = SizeClasses((width,), (1.0,))
    field = rock_field(law, size=(1.4, 1.4), seed=seed, movable_below=0.2)
    rock = field.rocks[0]
    at = np.array([x, 0.0, rock.position[2]])
    loose = Rock("rock", width, at, 0.0, 0.0, True, rock.vertices, rock.triangles)
    return RockField((loose,), (2.0, 2.0), (-1.0, -1.0))


def pusher(field: RockField, speed: float) -> Simulation:
    """A wheel-shaped pusher on rails 5 mm above the sand, and a loose rock ahead."""
    spec = mujoco.MjSpec()
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    body = spec.worldbody.add_body(name="wheel", pos=[0, 0, RADIUS + 0.005])
    body.add_joint(name="rail", type=mujoco.mjtJoint.mjJNT_SLIDE, axis=[1, 0, 0])
    body.mass, body.inertia, body.ipos, body.explicitinertial = 4.0, [0.05] * 3, [0] * 3, True
    motor = spec.add_actuator(name="motor", target="rail", trntype=mujoco.mjtTrn.mjTRN_JOINT)
    motor.set_to_velocity(kv=1e4)
    add_rocks(spec, field)
    spec.add_key(ctrl=[speed])
    rock, tread = field.movable[0], rocky.Tread()
    ground = Ground(flat(size=(1.6, 1.0), spacing=0.1, origin=(-0.5, -0.5), soil="dry-sand"), spacing=0.01)
    soil = SoilModule(ground, {"rock": ras.rock_surface(rock)})
    soft = Layer(ras.SOFT, tread.poisson, tread.thickness, name="loose rock")
    surfaces = {
        "wheel": shape(*wheel_mesh(RADIUS, WIDTH, tread.shoulder), tread.layer, name="wheel"),
        "rock": shape(rock.vertices, rock.triangles, soft, name="rock"),
    }
    polygonal = PolygonalModule(surfaces, pairs=[rocky.rock_pair("wheel", "rock", largest_area=ras.TOUCHING * 0.1**2)])
    return Simulation(spec, [soil, polygonal], ground=ground, step=5e-4)


@pytest.mark.parametrize(
    ("rock", "swing"), [({}, ROCKING), ({"width": 0.06, "seed": 1, "x": 0.27}, LIGHT)], ids=["860 g", "160 g"]
)
def test_a_loose_rock_rests_on_sand_with_its_weight(rock, swing):
    """The lighter one rocks by degrees at first: soil put below what it lifts would keep it going, at 3 rad/s."""
    field = loose_rock(**rock)
    sim = pusher(field, 0.0)
    sim.step(8000)
    lift = []
    before = sim.data.body("rock").xpos.copy()
    for _ in range(500):
        sim.step()
        lift.append(sim.engine.slots[0].out.effective.numpy()[0, 0, 2])
    weight = 2700 * field.movable[0].volume * 9.81
    assert np.mean(lift) == pytest.approx(weight, rel=WEIGHT)
    rocking, drift = np.linalg.norm(sim.data.body("rock").cvel.reshape(2, 3), axis=1)
    assert drift < 0.1 * swing
    assert np.abs(sim.data.body("rock").xpos - before).max() < 1e-4
    assert rocking < swing
    assert sim.data.body("rock").xpos[2] < field.movable[0].position[2]  # it sank


def test_a_loose_rock_is_pushed_along():
    field = loose_rock()
    sim = pusher(field, 0.05)
    start = sim.data.body("rock").xpos.copy()
    pushes, drags = [], []
    for _ in range(120):
        sim.step(50)
        wheel_force, rock_force = sim.engine.slots[1].out.effective.numpy()[0, :, :3]
        np.testing.assert_allclose(wheel_force, -rock_force, atol=ROUND_OFF * max(1.0, np.abs(rock_force).max()))
        if rock_force[0] > 0:
            pushes.append(rock_force[0])
            drags.append(sim.engine.slots[0].out.effective.numpy()[0, 0, 0])
    moved = sim.data.body("rock").xpos - start
    assert moved[0] > 0.05
    assert np.isfinite(sim.data.qpos).all()
    assert len(pushes) > 10
    assert np.mean(drags) < 0  # sand resists
    assert all("use a spacing" in note for note in sim.notes)  # a round rock of few cells


@pytest.mark.long
def test_the_rover_meets_small_rocks_that_move(tmp_path):
    settings = {"movable_below": 0.15, "time": 12.0, "speed": 0.03}
    outcome = grouser.run("rocks-and-sand", settings, out=tmp_path / "out")
    assert outcome.missed == []
    assert outcome.metrics["contact_pairs_max"] >= 1
    # The Jacobian is dense, see tests/engine; small rocks have few cells below them, and the note on the grid says so.
    expected = ("Jacobian", "use a spacing")
    assert [note for note in outcome.notes if not any(words in note for words in expected)] == []
    with grouser.Recording(outcome.recording) as recording:
        driving = recording.time >= rocky.SETTLING
        field = rocky.field_of(ras.RocksAndSand(**settings), 0.15)
        ways = [np.ptp(recording[f"body/pose[{rock.name}]"][driving, :3], axis=0).max() for rock in field.movable]
    assert max(ways) > 5e-3  # pushed or pressed into the sand
    assert min(ways) < 1e-3  # others lie still
