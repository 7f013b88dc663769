"""Edges of a body at rows of nodes: what it feels and presses does not depend on where the grid lies."""

from __future__ import annotations

import math

import mujoco
import numpy as np
import pytest
import warp as wp

from grouser.contact.soil import SoilModule, SoilOptions, edges, model, prepare, wheel
from grouser.contact.soil.model import THREADS
from grouser.contact.soil.types import Skin, Window
from grouser.precision import real
from grouser.scenarios import exomars_drawbar, single_wheel
from grouser.scenarios.settings import from_python
from grouser.simulation import Simulation
from grouser.simulation.shapes import box
from grouser.terrain import flat, soil
from grouser.terrain.ground import Ground
from tests.rig import ManufacturedMotion, quaternion

CELL = 0.01  # [m]
ALIKE = 0.02  # the bar: drawbar pull at ten offsets of the grid, and what else a wheel feels
ROUND_OFF = 1e-9
TABLE = 1e-6  # of a volume: the table of powers is off by 1e-5 of the elastic depth
STIFF = {"compression": 1.0, "elastic_stiffness": 1e10}  # nearly all of the depth is plastic and goes into the ground
SAND = soil("dry-sand").replace(**STIFF)
DEPTH = 0.02  # [m]
PLASTIC = DEPTH - SAND.pressure_modulus(0.1) * DEPTH**SAND.n / SAND.elastic_stiffness  # [m]
# [m] sideways: a row of nodes at an edge, a micrometre beside it on either side, and the rest of a cell
OFFSETS = (0.0, 1e-6, -1e-6, 1e-3, 2e-3, 3e-3, 4e-3, 5e-3, 6.5e-3, 8e-3)
SWAY = 2e-6, 2.0  # [m], [Hz]: what moves a parked or a driving machine sideways


# ---- a wheel ----------------------------------------------------------------------------------------------


def rolled(offset: float, sways: bool, **changes) -> np.ndarray:
    """Pull [N], side force [N], torque [N m] and sinkage [m] of a wheel at forced slip, on a grid that is moved."""
    s = from_python("single-wheel", changes).settings
    ground = Ground(flat(size=(1.5, 1.0), spacing=0.25, origin=(-0.4, -0.5 - offset)), s.chosen_soil(), s.spacing)
    surface = wheel(s.wheel.radius, s.wheel.width)
    spec = single_wheel._bin(s)
    if sways:
        rail = spec.body("carriage").add_joint(name="sway", type=mujoco.mjtJoint.mjJNT_SLIDE, axis=[0, 1, 0])
        single_wheel._servo(spec, "sway", rail.name)
        spec.delete(spec.keys[0])
        spin = s.rim_speed / s.wheel.radius
        spec.add_key(qpos=[0] * 4, qvel=[s.travel_speed, 0, 0, spin], ctrl=[s.travel_speed, spin, 0])
    sim = Simulation(spec, [SoilModule(ground, {"wheel": surface})], ground=ground, step=s.chosen_step)
    out, angle = sim.engine.slots[0].out, math.radians(s.slip_angle_deg)
    heading, across = np.array([math.cos(angle), math.sin(angle), 0]), np.array([-math.sin(angle), math.cos(angle), 0])
    steps, values = round(0.5 / s.speed / sim.step_size), []
    amplitude, rate = SWAY[0], 2 * math.pi * SWAY[1]
    for k in range(steps):
        if sways:
            sim.data.ctrl[2] = amplitude * rate * math.cos(rate * k * sim.step_size)
        sim.step()
        if 3 * k > steps:
            force = out.effective.numpy()[0, 0]
            values.append([force[:3] @ heading, force[:3] @ across, -force[3:] @ across, -sim.data.qpos[1]])
    return np.mean(values, axis=0)


@pytest.mark.parametrize(
    "sways", [pytest.param(False, marks=pytest.mark.long), pytest.param(True, marks=pytest.mark.nightly)]
)
@pytest.mark.parametrize(
    "changes", [{}, {"slip": 0.6}, {"compression": 1.0}, {"slip_angle_deg": 1.0}, {"slip_angle_deg": 30.0}], ids=str
)
def test_a_wheel_goes_alike_at_ten_offsets_of_the_grid(changes, sways):
    """The pull over both horizontal forces, as at 30 degrees nearly all is side force; the side force over the load.

    The passive force on the side of the wheel has a ripple of its own: its wedge is summed over nodes.
    """
    values = np.array([rolled(offset, sways, **changes) for offset in OFFSETS])
    pull, side, torque, sinkage = values.T
    load = from_python("single-wheel", changes).settings.load
    assert np.ptp(pull) < ALIKE * float(np.hypot(pull, side).mean())
    assert np.ptp(side) < ALIKE * load
    assert np.ptp(torque) < ALIKE * torque.mean()
    assert np.ptp(sinkage) < ALIKE * sinkage.mean()


def test_a_wheel_goes_alike_with_nodes_at_its_edges_and_between_them():
    """Three of the ten: before edges were shared the pull was 2.3 % apart, and the moment about the heading turned."""
    values = np.array([rolled(offset, False, slip=0.3) for offset in (0.0, 1e-6, 5e-3)])
    pull, _, torque, sinkage = values.T
    for value in (pull, torque, sinkage):
        assert np.ptp(value) < ALIKE * value.mean()


# ---- a plate ----------------------------------------------------------------------------------------------


def pressed(
    cells: tuple[float, float], at: tuple[float, float], turned: float = 0.0, threads="per-world", **constants
) -> ManufacturedMotion:
    """A plate of that many cells, pushed straight down by DEPTH at a steady speed in 100 steps."""
    ground = Ground(flat(size=(1, 1), spacing=0.25, origin=(-0.5, -0.5)), SAND.replace(**constants), CELL)
    plate = prepare(*box(np.array([cells[0] * CELL / 2, cells[1] * CELL / 2, 0.05])), width=0.1)
    module = SoilModule(ground, {"plate": plate}, SoilOptions(erosion=False, threads=threads))
    rig = ManufacturedMotion(module, step=1e-3)
    speed, rotation = DEPTH / (100 * rig.step), quaternion(np.array([0, 0, turned]))
    return rig.follow(lambda t: (np.array([*at, 0.05 - speed * t]), rotation), 100)


def lost(rig: ManufacturedMotion) -> float:
    return -float(rig.module.ground.heights().sum()) * CELL**2


@pytest.mark.parametrize("cells", [(14, 14), (14, 13.3), (20.5, 17)], ids=str)
@pytest.mark.parametrize("at", [(0.0, 0.0), (1e-6, -1e-6), (0.005, 0.002), (0.0031, 0.0077)], ids=str)
def test_a_plate_presses_its_area_times_its_depth(cells, at):
    """With complete cells it was 15 % more for 14 cells with nodes at all edges."""
    rig, area = pressed(cells, at), cells[0] * cells[1] * CELL**2
    assert lost(rig) == pytest.approx(PLASTIC * area, rel=TABLE)
    assert rig.module.volume_error()[0] < ROUND_OFF


@wp.func
def nothing_missing(skin: Skin, win: Window, k: int, way: int):
    """In place of `edges.missing`: each cell counts as covered in whole."""
    return real(0.0)


@pytest.mark.long
def test_without_the_law_of_edges_a_plate_would_press_whole_cells(monkeypatch):
    """So the tests of its volume can fail: 14 cells with nodes at all edges have 15 rows of them."""
    monkeypatch.setattr(model, "chosen_law", lambda name: {edges.missing: nothing_missing})
    assert lost(pressed((14, 14), (0.0, 0.0))) == pytest.approx(PLASTIC * (15 * CELL) ** 2, rel=TABLE)


def test_a_plate_that_displaces_soil_loses_what_it_compresses():
    rig, chi = pressed((14, 13.3), (1e-6, 0.002), compression=0.3), 0.3
    assert lost(rig) == pytest.approx(chi * PLASTIC * 14 * 13.3 * CELL**2, rel=TABLE)
    assert rig.module.volume_error()[0] < ROUND_OFF


@pytest.mark.parametrize("turned_deg", [0.0, 1.0, 30.0])
def test_the_wrench_is_the_same_on_both_sides_of_a_row_of_nodes(turned_deg):
    """Force and moment; with forces at the nodes the moment jumped by a half of a cell times the load of an edge."""
    wrenches = [pressed((14, 14), (x, 0.0), math.radians(turned_deg)).wrench[0, 0] for x in (-1e-6, 0.0, 1e-6)]
    force = wrenches[1][2]
    for wrench in wrenches:
        assert wrench[2] == pytest.approx(force, rel=1e-3)
        assert np.abs(wrench[3:5] - wrenches[1][3:5]).max() < 1e-3 * force * 14 * CELL


def test_kernels_agree_at_edges():
    heights, wrenches = [], []
    for threads in THREADS:
        rig = pressed((14, 13.3), (0.002, 1e-6), 0.3, threads=threads, compression=0.3)
        start = rig.position[0, 0].copy()
        rig.time = 0.0
        rig.follow(lambda t, s=start: (s + np.array([0.1, 0.05, -0.02]) * t, quaternion(np.array([0, 0, 0.3]))), 100)
        heights.append(rig.module.ground.heights())
        wrenches.append(rig.wrench)
    # One thread a world adds displaced soil up eight nodes at a time, in another order.
    np.testing.assert_allclose(*heights, rtol=0, atol=1e-15)  # [m]
    np.testing.assert_allclose(*wrenches, rtol=ROUND_OFF)


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("compression", [1.0, 0.3])
def test_no_soil_is_taken_from_below_the_hard_ground_beside_a_plate(threads, compression):
    """The plate reaches 0.3 cells beyond the half of its last cells. Beside them there are only 2 mm of soil."""
    terrain = flat(size=(1, 1), spacing=CELL, origin=(-0.5, -0.5))
    beside = np.abs(terrain.origin[0] + CELL * np.arange(terrain.heights.shape[1])) > 0.075
    depth = np.broadcast_to(np.where(beside, 2e-3, 0.05), terrain.heights.shape)
    material = SAND.replace(compression=compression)
    ground = Ground(terrain, material, CELL, depth=depth)
    plate = prepare(*box(np.array([7.8 * CELL, 7.3 * CELL, 0.05])), width=0.1)
    rig = ManufacturedMotion(
        SoilModule(ground, {"plate": plate}, SoilOptions(erosion=False, threads=threads)), step=1e-3
    )
    speed = DEPTH / (100 * rig.step)
    rig.follow(lambda t: (np.array([0, 0, 0.05 - speed * t]), quaternion(np.zeros(3))), 100)
    left = ground.heights() + depth
    assert left.min() > -ROUND_OFF
    assert left[50, beside].min() < 1e-3  # some of it was taken
    assert rig.module.volume_error()[0] < ROUND_OFF
    rig.time = 0.0
    way, start = np.array([0.1, 0.05, 0]), rig.position[0, 0].copy()
    rig.follow(lambda t: (start + way * t, quaternion(np.zeros(3))), 100)
    assert rig.module.volume_error()[0] < ROUND_OFF


# ---- a rover ----------------------------------------------------------------------------------------------


def drawbar(offset: float, monkeypatch, **changes) -> float:
    """Largest pull [N] of `exomars-drawbar`, with the grid moved sideways. At 0 rows of nodes lie at all edges."""
    settings = from_python("exomars-drawbar", changes).settings

    def moved(*, origin, **more):
        return flat(origin=(origin[0], origin[1] - offset), **more)

    with monkeypatch.context() as patch:
        patch.setattr(exomars_drawbar, "flat", moved)
        sim = exomars_drawbar.build(settings)
    read = next(channel for channel in sim.channels() if channel.name == "drawbar/pull")
    every, pulls = round(0.1 / sim.step_size), []
    for _ in range(round(settings.duration / (every * sim.step_size))):
        sim.step(every)
        pulls.append(float(read.read()[0]))
    return float(np.convolve(pulls, np.full(20, 0.05), "valid").max())  # mean of two seconds


@pytest.mark.long
def test_a_rover_pulls_as_much_with_nodes_at_the_edges_of_its_wheels(monkeypatch):
    """It pulled a tenth less: soil slid below the edges and was pressed down again as the rover swayed."""
    pulls = np.array([drawbar(offset, monkeypatch) for offset in (0.0, 1e-6, 5e-3)])
    assert np.abs(pulls / pulls.mean() - 1).max() < ALIKE


@pytest.mark.nightly
def test_a_rover_pulls_alike_at_ten_offsets_of_the_grid(monkeypatch):
    pulls = np.array([drawbar(offset, monkeypatch) for offset in OFFSETS])
    assert np.abs(pulls / pulls.mean() - 1).max() < ALIKE


@pytest.mark.long
def test_on_a_grid_that_is_too_coarse_a_rover_does_not_pull_alike(monkeypatch):
    """So the test above can fail: three cells below a wheel, and pulls at two of its offsets are 13 % apart."""
    pulls = np.array([drawbar(offset, monkeypatch, spacing=0.03) for offset in (6e-3, 19.5e-3)])
    assert np.abs(pulls / pulls.mean() - 1).max() > ALIKE
