"""Steep faces: passive force against an independent trial wedge, the pile ahead, and what must not change."""

from __future__ import annotations

import math

import mujoco
import numpy as np
import pytest
import warp as wp

from grouser.contact.soil import SoilModule, wheel
from grouser.contact.soil.model import SoilOptions
from grouser.contact.soil.steep_faces import steep_faces
from grouser.contact.soil.surface import prepare
from grouser.contact.soil.wedge import FACE_DAMPING, LOSS, SLOW, advance_face, face_push, leave_behind
from grouser.scenarios import single_wheel
from grouser.scenarios.settings import from_python
from grouser.simulation import Simulation
from grouser.terrain import flat, soil
from grouser.terrain.ground import Ground
from tests.contact.soil.plates import SPEED, STEP, Drag
from tests.device_call import call
from tests.rig import ManufacturedMotion

WEDGE = 0.05  # the bar: force against the trial wedge
DIAGONAL = 0.08  # soil slides between axial neighbours, so a pile stands steeper along a diagonal of the grid
QUIET = 0.01  # the bar: rms of the force about its own mean over three cells
DRIFT = 0.1  # of the slip angle: one wheel is turned against its travel, the other is not
ONLY_COMPACTS = soil("dry-sand").replace(compression=1.0)  # no pile: the ground ahead stays level

LEVEL = [
    {}, {"depth": 0.02}, {"depth": 0.2}, {"width": 0.05}, {"rake_deg": 45.0}, {"rake_deg": 60.0, "depth": 0.1},
    {"width": 3.0, "depth": 0.1}, {"thickness": 0.006}, {"spacing": 0.02, "thickness": 0.1, "depth": 0.1},
    {"material": soil("clay").replace(compression=1.0)}, {"material": ONLY_COMPACTS.replace(cohesion=0.0)},
]  # fmt: skip
PILED = [
    {}, {"depth": 0.02}, {"depth": 0.2}, {"width": 0.05}, {"width": 3.0}, {"rake_deg": 75.0}, {"rake_deg": 45.0},
    {"rake_deg": 45.0, "depth": 0.1}, {"thickness": 0.006}, {"thickness": 0.006, "depth": 0.1},
    {"material": soil("clay")}, {"material": soil("dry-sand").replace(cohesion=0.0)},
    {"material": soil("lunar-nominal")},
]  # fmt: skip


@pytest.mark.parametrize("changes", LEVEL, ids=str)
def test_force_in_level_ground_is_that_of_the_trial_wedge(changes):
    """Soil that only compacts makes no pile. Mean over a cell of travel: the grid has no more to say."""
    plate = Drag(**{"material": ONLY_COMPACTS, **changes})
    plate.drag(plate.thickness + 10 * plate.spacing)  # beyond the soil that was pressed when it was let down
    assert plate.draught() == pytest.approx(plate.oracle().level(), rel=WEDGE)


@pytest.mark.long
@pytest.mark.parametrize("changes", PILED, ids=str)
def test_force_with_a_pile_is_that_of_the_trial_wedge_through_it(changes):
    """The force follows the growing pile over a cell of travel, which is less than it grows by within the bar."""
    plate = Drag(**changes).drag(0.3)
    assert plate.draught() == pytest.approx(plate.expected(), rel=WEDGE)
    if plate.width > 0.1:  # soil flows around a narrow plate, and no pile grows
        assert plate.draught() > 1.05 * plate.oracle().level()


WRONG = [{"density": 800.0}, {"wall_friction_deg": 0.0}, {"friction_angle_deg": 23.0}, {"cohesion": 500.0}]


@pytest.mark.parametrize("wrong", WRONG, ids=str)
def test_a_wrong_soil_misses(wrong):
    plate = Drag(material=ONLY_COMPACTS.replace(**wrong)).drag(0.08)
    assert abs(plate.draught() / Drag(material=ONLY_COMPACTS).oracle().level() - 1) > WEDGE


def test_without_faces_a_plate_feels_nothing():
    plate = Drag(options=SoilOptions(friction="none", faces=False)).drag(0.05)
    assert abs(plate.draught()) < 1.0


def test_the_force_is_smooth():
    plate = Drag().drag(0.3)
    force = -np.array(plate.forces)[:, 0]
    count = round(0.03 / SPEED / STEP)
    mean = np.convolve(force, np.ones(count) / count, "valid")
    rough = (force[count // 2 : count // 2 + len(mean)] - mean)[len(mean) // 3 :]
    assert np.sqrt((rough**2).mean()) < QUIET * mean[-1]


@pytest.mark.parametrize("thickness", [0.006, 0.05])
def test_pile_stands_no_steeper_than_the_soil_can_and_no_soil_is_lost(thickness):
    plate = Drag(thickness=thickness).drag(0.3)
    assert plate.module.volume_error()[0] < 1e-9
    heights, dx = plate.ground.heights(), plate.spacing
    assert heights.max() > 0.08, "soil piles up"
    first = math.ceil((plate.at[0] + 0.6) / dx) + 1
    ahead = heights[:, first:]
    steepest = max(np.abs(np.diff(ahead, axis=axis)).max() for axis in (0, 1))
    assert steepest < 1.01 * dx * plate.ground.soils[0].slope_limit
    middle = heights[plate.ground.rows // 2]
    assert middle[first - round(0.1 / dx)] < -0.02, "behind the plate there is a rut"


@pytest.mark.parametrize("yaw_deg", [30.0, 45.0, 90.0, 200.0])
def test_force_does_not_depend_on_the_heading(yaw_deg):
    straight, turned = Drag().drag(0.2), Drag(yaw=math.radians(yaw_deg)).drag(0.2)
    assert turned.draught() == pytest.approx(straight.draught(), rel=DIAGONAL)
    force = np.mean(turned.forces[-20:], axis=0)
    aside = float(force[:3] @ np.cross(turned.ahead, (0.0, 0.0, 1.0)))
    assert abs(aside) < WEDGE * turned.draught()


def test_face_pushes_up_by_its_wall_friction():
    """Soil rises along the face and drags it up: tan(delta) of the draught once the bottom is on cut soil."""
    plate = Drag().drag(0.3)
    up = float(np.mean(plate.forces[-20:], axis=0)[2])
    assert up / plate.draught() == pytest.approx(math.tan(math.radians(soil("dry-sand").wall_angle_deg)), rel=0.05)


# ---- build-up and unloading ----------------------------------------------------------------------------------


def pair(law, *values: float) -> tuple[float, float]:
    """Two results of a law of a face."""
    return call(law, *(wp.float64(value) for value in values), returns=(wp.float64, wp.float64))


def test_a_face_that_vibrates_does_not_advance():
    """Two states: a cycle below the farthest place ends where it began."""
    mobilised, gap = 50.0, 0.0
    for _ in range(100):
        mobilised, gap = pair(advance_face, 100.0, mobilised, gap, -1e-4, 0.01)
        mobilised, gap = pair(advance_face, 100.0, mobilised, gap, 1e-4, 0.01)
    assert (mobilised, gap) == pytest.approx((50.0, 0.0), abs=1e-9)
    assert pair(advance_face, 100.0, 50.0, 0.0, 0.01, 0.01)[0] == pytest.approx(75.0)


def test_a_face_that_moves_along_itself_leaves_the_soil_behind_that_it_has_pushed():
    """At an angle of 2 degrees: the force is steady where as much is mobilised as is left behind."""
    along, angle, length, distance, mobilised = 1e-5, math.radians(2.0), 0.2, 0.01, 0.0
    for _ in range(100_000):
        mobilised, gap = pair(leave_behind, mobilised, 0.0, along, length)
        mobilised, gap = pair(advance_face, 100.0, mobilised, gap, along * math.tan(angle), distance)
    assert mobilised == pytest.approx(100.0 / (1 + distance / (length * math.tan(angle))), rel=1e-3)
    assert pair(leave_behind, 50.0, 2e-3, 0.2, 0.2) == pytest.approx((25.0, 1e-3))


@pytest.mark.parametrize("gap", [0.0, 1e-4, 2e-3])
@pytest.mark.parametrize("speed", [-0.1, -2e-3, -5e-4, 1e-3, 0.1])
def test_push_never_pulls_and_its_weight_is_its_slope(gap, speed):
    step, change = 2e-3, 1e-7
    push, weight = pair(face_push, 100.0, 60.0, gap, speed, 0.01, step)
    assert 0 <= push <= 100
    high = pair(face_push, 100.0, 60.0, gap, speed + change, 0.01, step)[0]
    low = pair(face_push, 100.0, 60.0, gap, speed - change, 0.01, step)[0]
    assert weight == pytest.approx(step * (high - low) / (2 * change), rel=1e-3, abs=1e-9)


@pytest.mark.parametrize("gap", [0.0, 1e-4, 1.5e-3])
@pytest.mark.parametrize(("mass", "pulls"), [(1.0, True), (1e4, False)])
def test_a_light_face_that_draws_back_is_pulled_for_a_step_by_less_than_what_draws_it(gap, mass, pulls):
    """Within one step the engine takes the push as linear in the speed, so it may be a pull: that of a damper."""
    step, drawn, least = 2e-3, 100.0, math.inf
    for speed in np.linspace(0.0, -2 * SLOW, 41):
        push, weight = pair(face_push, 100.0, 60.0, gap, float(speed), 0.01, step)
        change = -step * (drawn + push) / (mass + weight)  # of the speed, along the outward normal
        effective = push + weight / step * change
        assert change <= 0  # it is slowed, never stopped
        assert effective > -drawn
        left = gap - step * (speed + change)
        after, _ = pair(face_push, 100.0, 60.0, left, float(speed + change), 0.01, step)
        assert after >= 0
        least = min(least, effective)
    assert (least < 0) == pulls


@pytest.mark.parametrize("speed", [2e-3, 0.02])
def test_a_face_gives_back_a_fifth_of_the_energy_of_a_swing(speed):
    """Back until the force is gone and forth again, at one speed: work of the way back over that of the way forth."""
    ways, step = {-1.0: 0.0, 1.0: 0.0}, 1e-5
    for way in ways:
        for gap in np.linspace(0.0, 2.5e-3, 2001):
            ways[way] += pair(face_push, 100.0, 60.0, gap, way * speed, 0.01, step)[0]
    # Damping is in phase with the speed, 1 ms of travel at most, and acts on both ways.
    assert ways[-1.0] / ways[1.0] == pytest.approx(1 - LOSS, abs=4 * FACE_DAMPING * speed / 2e-3)


def test_a_plate_that_draws_back_is_free_and_meets_its_pile_again():
    plate = Drag().drag(0.1)
    before = plate.draught()
    plate.drag(-0.02)
    assert abs(plate.draught()) < 0.05 * before
    plate.drag(0.04)
    assert plate.draught() > 0.8 * before


# ---- which bodies have faces ---------------------------------------------------------------------------------


def test_round_bodies_have_no_faces_and_wheels_have_two():
    import trimesh

    ball = trimesh.creation.icosphere(3, 0.1)
    assert steep_faces(prepare(ball.vertices, ball.faces), 0.01) == []
    sides = steep_faces(wheel(0.15, 0.1), 0.01)
    assert sorted(round(float(face.normal[1])) for face in sides) == [-1, 1]
    assert len(steep_faces(prepare(*_box(0.1, 0.2, 0.3)), 0.01)) == 6


def _box(*sides: float):
    import trimesh

    box = trimesh.creation.box(sides)
    return box.vertices, box.faces


def rolling(faces: bool, sideways: float) -> np.ndarray:
    ground = Ground(flat(size=(1.6, 0.8), spacing=0.1, origin=(-0.5, -0.4)), soil("dry-sand"), 0.01)
    module = SoilModule(ground, {"wheel": wheel(0.15, 0.1)}, SoilOptions(faces=faces))
    rig, forces = ManufacturedMotion(module, step=2e-3), []
    for n in range(300):
        time = 2e-3 * n
        turned = (0, math.sin(time / 3), 0, math.cos(time / 3))
        rig.place((0.1 * time, 0.0013 + sideways * time, 0.13), turned, (0.1, sideways, 0.0), (0.0, 2 / 3, 0.0))
        rig.advance()
        forces.append(rig.wrench[0, 0].copy())
    return np.array(forces)


def test_of_a_mesh_in_thousands_of_pieces_the_largest_faces_are_kept():
    """Found by fuzzing: a damaged mesh, each of whose triangles is a face of its own, took minutes."""
    random = np.random.default_rng(1)
    sizes = random.uniform(0.02, 0.1, 5000)
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]) * sizes[:, None, None]
    apart = np.stack([np.arange(5000) % 70, np.arange(5000) // 70, np.zeros(5000)], axis=1)
    vertices = (corners + apart[:, None]).reshape(-1, 3)
    sides = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
    triangles = (np.arange(5000)[:, None, None] * 4 + sides).reshape(-1, 3)
    kept = steep_faces(prepare(vertices, triangles, width=0.1), 0.01)
    expected = np.sort(sizes)[-len(kept) :][::-1]
    assert len(kept) == 16
    np.testing.assert_allclose([np.ptp(face.edges, axis=(0, 1)).max() for face in kept], expected, rtol=1e-6)


def test_a_wheel_that_rolls_straight_ahead_does_not_feel_its_sides():
    assert np.array_equal(rolling(True, 0.0), rolling(False, 0.0))


def test_a_wheel_that_slips_sideways_is_held_by_its_side():
    held, free = rolling(True, 0.03)[-50:].mean(axis=0), rolling(False, 0.03)[-50:].mean(axis=0)
    assert held[1] < 1.1 * free[1] < 0


def in_a_bin(slip_angle_deg: float, free: bool) -> tuple[single_wheel.SingleWheel, Simulation]:
    """The wheel of `single-wheel` on a long course, at a slip angle, or free to move sideways."""
    s = from_python("single-wheel", {"slip": 0.2, "slip_angle_deg": slip_angle_deg}).settings
    ground = Ground(flat(size=(3, 2), spacing=0.25, origin=(-0.4, -1)), s.chosen_soil(), s.spacing)
    spec = single_wheel._bin(s)
    if free:
        spec.body("carriage").add_joint(name="sway", type=mujoco.mjtJoint.mjJNT_SLIDE, axis=[0, 1, 0])
        spec.delete(spec.keys[0])
        turns = s.rim_speed / s.wheel.radius
        spec.add_key(qpos=[0] * 4, qvel=[s.travel_speed, 0, 0, turns], ctrl=[s.travel_speed, turns])
    surface = wheel(s.wheel.radius, s.wheel.width)
    return s, Simulation(spec, [SoilModule(ground, {"wheel": surface})], ground=ground, step=s.chosen_step)


def test_a_wheel_that_rolls_drifts_under_a_side_load_as_it_slips_sideways_at_an_angle():
    """It did not drift at all: its side kept the force that it had once mobilised, in soil that it had long left."""
    angle = math.radians(2.0)
    s, sim = in_a_bin(2.0, free=False)
    half, forces = round(0.5 / s.speed / sim.step_size), []
    sim.step(half)
    for _ in range(half):
        sim.step()
        forces.append(sim.engine.slots[0].out.effective.numpy()[0, 0, :3] @ [-math.sin(angle), math.cos(angle), 0])
    _, sim = in_a_bin(0.0, free=True)
    sway = sim.model.joint("sway")
    sim.data.qfrc_applied[sway.dofadr[0]] = np.mean(forces)
    sim.step(half)
    before = sim.data.qpos[sway.qposadr[0]]
    sim.step(half)
    drifted = (sim.data.qpos[sway.qposadr[0]] - before) / 0.5
    assert drifted == pytest.approx(math.tan(angle), rel=DRIFT)
