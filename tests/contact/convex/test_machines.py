"""Parts of machines and stacks: a stack of ten, a manipulator's tip, a ski, an outrigger, seams under a sliding box."""

from __future__ import annotations

import math

import mujoco
import numpy as np
import pytest

from grouser.contact.convex import ConvexContact, ConvexPart, Material
from grouser.simulation import Simulation
from grouser.terrain.course import Course
from grouser.terrain.courses import ditch, from_grid, stairs
from grouser.terrain.elevation import ElevationGrid
from grouser.terrain.polyhedra import box, hull
from tests.contact.convex.bodies import FLOOR, MASS, SINKAGE, SIZE, G, boxes, effective, one_box

CLOSED = 0.01  # the bar of the closed forms
JUMP = 0.01  # of the whole contact force, at seams
STANDS = 1e-3  # [m] a stack may shift in a minute: the springs settle


def stack(seconds: float) -> np.ndarray:
    """(box, 3) how far [m] ten boxes, each a little off the one below, go after the first second."""
    side = 0.2
    places = [(0.002 * (k % 2), 0.001 * (k % 3), side / 2 + k * side) for k in range(10)]
    parts = [ConvexPart(f"box{k}", box((side,) * 3)) for k in range(10)]
    pairs = [(f"box{k}", f"box{k + 1}") for k in range(9)]
    module = ConvexContact(parts, FLOOR, Material(stiffness=5e7, spread=0.01), 0.6, between=pairs)
    sim = Simulation(boxes(places, size=(side,) * 3, mass=8.0), [module], step=5e-4)
    sim.step(2000)
    start = sim.data.qpos.reshape(10, 7)[:, :3].copy()
    sim.step(round((seconds - 1) / sim.step_size))
    assert effective(sim)[2] == pytest.approx(8.0 * G, rel=CLOSED)  # its own weight: the rest is passed on
    return sim.data.qpos.reshape(10, 7)[:, :3] - start


def test_ten_boxes_stand_for_three_seconds():
    assert np.abs(stack(3.0)).max() < STANDS


@pytest.mark.long
def test_ten_boxes_stand_for_a_minute():
    assert np.abs(stack(60.0)).max() < STANDS


TILED = Course(tuple(box((0.1, 0.1, 1), (0.1 * i, 0.1 * j, -0.5)) for i in range(-3, 20) for j in range(-3, 4)))


@pytest.mark.parametrize("course", [TILED, None], ids=["tiles", "grid"])
@pytest.mark.parametrize("friction", [0.0, 0.3])
def test_box_slides_across_seams_as_over_one_piece(course, friction):
    course = course or from_grid(ElevationGrid(np.zeros((7, 23)), 0.1, (-0.35, -0.3)))
    forces = []
    for ground in (FLOOR, course):
        sim = one_box(ground, place=(0, 0.013, SIZE[2] / 2 - SINKAGE), velocity=(2.0, 0, 0, 0, 0, 0), friction=friction)
        own = []
        for _ in range(400):
            sim.step()
            own.append(effective(sim))
        forces.append(np.array(own)[5:])
    difference = np.abs(forces[1] - forces[0])[:, :3].max()
    assert difference < JUMP * MASS * G
    assert np.abs(np.diff(forces[1], axis=0))[:, :3].max() < JUMP * MASS * G


@pytest.mark.parametrize("seed", [5, 6])
def test_a_stone_thrown_on_rough_ground_gains_no_energy(seed):
    """Peaks of an elevation grid, where all pieces round a node hide each other's walls."""
    rng = np.random.default_rng(seed)
    ground = from_grid(ElevationGrid(0.15 * rng.random((9, 9)), 0.25, (-1, -1)))
    stone = hull(rng.uniform(-0.15, 0.15, (14, 3)))
    spec = mujoco.MjSpec()
    body = spec.worldbody.add_body(name="stone")
    body.add_freejoint()
    body.mass, body.inertia, body.ipos, body.explicitinertial = 5.0, [0.03, 0.04, 0.05], [0, 0, 0], True
    turn = rng.normal(size=4)
    qpos = [0, 0, 0.8, *(turn / np.linalg.norm(turn))]
    spec.add_key(qpos=qpos, qvel=[*(0.3 * rng.normal(size=3)), *(4 * rng.normal(size=3))])
    module = ConvexContact([ConvexPart("stone", stone)], ground, friction=0.5)
    sim = Simulation(spec, [module], step=5e-4)
    least, most = math.inf, 0.0
    for _ in range(3000):
        sim.step()
        module.evaluate_for_channels()
        mujoco.mj_energyPos(sim.model, sim.data)
        mujoco.mj_energyVel(sim.model, sim.data)
        energy = float(sim.data.energy.sum()) + module.stored()
        least = min(least, energy)
        most = max(most, energy - least)
    assert most < 1e-3 * 5.0 * G * 0.5
    assert abs(sim.data.qpos[2]) < 0.4  # it lies on the ground


def held(shape, angle: float, load: float, mass: float = 2.0, friction=0.5, velocity=0.0):
    """A body on rails along x and z, turned by `angle` about y, pressed down by `load` [N] and its weight."""
    spec = mujoco.MjSpec()
    body = spec.worldbody.add_body(name="tip", pos=[0, 0, 0.3], quat=[math.cos(angle / 2), 0, math.sin(angle / 2), 0])
    along, up = [math.cos(angle), 0, math.sin(angle)], [-math.sin(angle), 0, math.cos(angle)]  # in the body's axes
    for name, rail in (("x", along), ("z", up)):
        body.add_joint(name=name, type=mujoco.mjtJoint.mjJNT_SLIDE, axis=rail)
    body.mass, body.inertia, body.ipos, body.explicitinertial = mass, [0.01] * 3, [0, 0, 0], True
    spec.add_actuator(name="press", target="z", trntype=mujoco.mjtTrn.mjTRN_JOINT).set_to_motor()
    module = ConvexContact([ConvexPart("tip", shape)], FLOOR, friction=friction)
    sim = Simulation(spec, [module], step=5e-4)
    sim.data.ctrl[0] = -load
    sim.data.qvel[0] = velocity
    return sim, module


def test_manipulator_tip_presses_with_its_load():
    """A four-sided point on its corner: the whole load goes through one place."""
    tip = hull([(0, 0, -0.1), *((x, y, 0.1) for x in (-0.03, 0.03) for y in (-0.03, 0.03))])
    sim, module = held(tip, 0.0, load=50.0)
    sim.step(3000)
    module.evaluate_for_channels()
    (contact,) = module.contacts()
    assert effective(sim)[2] == pytest.approx(50 + 2 * G, rel=CLOSED)
    assert contact[7] == 2
    assert contact[:2] == pytest.approx([0, 0], abs=1e-3)
    assert len(module.points()) == 1


def test_ski_glides_with_its_friction():
    """A long flat runner with bent-up ends: mu N against the motion, the load along its length."""
    ski = hull(
        [(x, y, z) for y in (-0.05, 0.05) for x, z in ((-0.7, 0.02), (-0.6, 0), (0.6, 0), (0.8, 0.1), (-0.7, 0.12))]
    )
    sim, module = held(ski, 0.0, load=100.0, mass=20.0, friction=0.1, velocity=2.0)
    sim.step(1000)
    force = effective(sim)
    module.evaluate_for_channels()
    assert force[2] == pytest.approx(100 + 20 * G, rel=CLOSED)
    assert -force[0] / force[2] == pytest.approx(0.1, rel=CLOSED)
    length = np.ptp(module.points()[:, 0])
    assert length == pytest.approx(1.2, abs=1e-3)
    assert module.contacts()[0, 7] == 0


def test_outrigger_on_a_slope_holds_by_friction():
    """A foot at an angle to its leg set on level ground by an edge, pressed down: the edge carries, and stays put."""
    foot = box((0.2, 0.15, 0.03))
    sim, module = held(foot, 0.15, load=500.0, friction=0.4)
    sim.step(3000)
    module.evaluate_for_channels()
    (contact,) = module.contacts()
    assert contact[7] == 1
    assert effective(sim)[2] == pytest.approx(500 + 2 * G, rel=CLOSED)
    place = sim.data.qpos.copy()
    sim.step(2000)
    assert sim.data.qpos == pytest.approx(place, abs=1e-6)


def test_walls_push_as_they_lean():
    """A box beside an overhanging riser is pushed back and down; in a ditch with upright walls level."""
    overhang = 0.1
    leaning = stairs(count=1, rise=0.5, run=0.3, overhang=overhang)
    lean = math.atan2(overhang, 0.5)
    expected = {  # place of the box, direction out of the wall
        "overhang": (leaning, (-overhang / 2 - SIZE[0] / 2, 0, 0.4), (-math.cos(lean), 0, -math.sin(lean))),
        "ditch": (ditch(opening=0.6, depth=0.6), (0.6 - SIZE[0] / 2 + 1e-4, 0, -0.3), (-1, 0, 0)),
    }
    for course, place, direction in expected.values():
        module = ConvexContact([ConvexPart("box0", box(SIZE))], course)
        Simulation(boxes([place]), [module])
        module.evaluate_for_channels()
        assert len(module.contacts()) == 1
        assert module.normals()[0] == pytest.approx(direction, abs=1e-9)
