"""The wheel-stepping robot on stairs: modes from angles, cases and settings, a start, and (long) the whole climb."""

from __future__ import annotations

import math

import mujoco
import numpy as np
import pytest

import grouser
from grouser.control.step_drive import StepDrive
from grouser.errors import InputError
from grouser.robots import wheel_walker
from grouser.robots.wheel_walker import DRIVES, WheelWalker
from grouser.scenarios import wheel_walker_stairs as stairs
from grouser.scenarios.wheel_walker_stairs import CASES, THIRD, WheelWalkerStairs, mode_sequence

CARRIED = 0.01  # of the weight: suns and wheels move against the hull, whose speed stands for all
FINE = 5e-4  # [s] at 2 ms wheels of ten sides slide by 5 % of their way, at each blow of a corner, at 0.5 ms by 0.2 %
ROLLING = {10: 0.005, 40: 0.002}  # of a way, at the fine step: drives pull, so wheels slide a little at each corner
SPREAD = 0.08  # of the climbing time: every landing is an impact, and starts centimetres apart differ by 5 % already


def outcome(folder, **settings):
    return grouser.run("wheel-walker-stairs", settings, out=folder / "out", report=False)


# ---- modes --------------------------------------------------------------------------------------------------


def carrier(*pieces: tuple[float, float]) -> tuple[np.ndarray, np.ndarray]:
    """Angle over time at 100 Hz from (seconds, speed [rad/s]) one after the other."""
    speed = np.concatenate([np.full(round(100 * seconds), value) for seconds, value in pieces])
    return np.arange(len(speed)) / 100, np.cumsum(speed) / 100


def test_a_resting_carrier_rolls():
    assert mode_sequence(*carrier((3.0, 0.0))) == ["rolling"]


def test_rocking_is_rolling():
    time, angle = carrier((5.0, 0.0))
    assert mode_sequence(time, angle + 0.2 * np.sin(9 * time)) == ["rolling"]


def test_three_steps_in_a_row_are_one_mode():
    sequence = mode_sequence(*carrier((2.0, 0.0), (1.0, THIRD), (1.0, THIRD), (1.0, THIRD), (2.0, 0.0)))
    assert sequence == ["rolling", "stepping", "rolling"]


def test_stepping_back_is_stepping():
    assert mode_sequence(*carrier((2.0, 0.0), (1.0, -THIRD))) == ["rolling", "stepping"]


# ---- settings and cases -----------------------------------------------------------------------------------


def test_a_case_changes_only_what_was_not_given():
    assert WheelWalkerStairs(case="too-light").parameters.mass == CASES["too-light"]["mass"]
    assert WheelWalkerStairs(case="too-light", robot={"mass": 25.0}).parameters.mass == 25.0
    assert WheelWalkerStairs(case="too-light", robot={"mass": 25.0}).changed("pull") == CASES["too-light"]["pull"]
    assert WheelWalkerStairs(case="too-strong").changed("voltage") == CASES["too-strong"]["voltage"]
    assert WheelWalkerStairs(case="too-strong").parameters.voltage == WheelWalker().voltage  # the motor is the same
    assert WheelWalkerStairs(case="poor-grip", friction=0.3).changed("friction") == 0.3
    assert WheelWalkerStairs(case="wrong-gears").parameters.wheel_teeth == CASES["wrong-gears"]["wheel_teeth"]


def test_every_case_is_a_setting():
    for case in CASES:
        assert WheelWalkerStairs(case=case).case == case


def test_the_robot_begins_before_the_stairs_and_ends_on_the_landing():
    s = WheelWalkerStairs()
    p = s.parameters
    assert s.start_x + p.wheelbase / 2 + p.axle(0)[0] + p.wheel_radius == pytest.approx(-s.approach)
    assert s.goal - p.wheelbase / 2 > (s.stairs.count - 1) * s.stairs.run
    ends = np.concatenate([piece.vertices for piece in stairs.course_of(s).pieces])[:, 0]
    assert ends.max() > s.goal + p.wheelbase / 2 + p.arm + p.wheel_radius
    assert ends.min() < s.start_x - p.wheelbase / 2 - p.arm - p.wheel_radius


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"robot": {"sides": 2}}, "sides: 2"),
        ({"robot": {"wheel_radius": 0.2}}, "touch at"),
        ({"case": "too-slow"}, "case"),
        ({"stairs": {"count": 0}}, "count"),
        ({"hold": "glue"}, "hold"),
    ],
)
def test_nonsense_is_refused(settings, words, tmp_path):
    with pytest.raises(InputError, match=words):
        outcome(tmp_path, **settings)


# ---- drive ------------------------------------------------------------------------------------------------


def driven(**options) -> tuple[mujoco.MjModel, mujoco.MjData, StepDrive]:
    model = wheel_walker.build(WheelWalker()).compile()
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    return model, data, StepDrive(DRIVES, 24.0, start=0.5, goal=1.0, **options)


def test_motors_run_from_start_to_goal():
    _, data, drive = driven(pull=50.0)
    drive.act(0.4, data, data.ctrl)
    assert not data.ctrl.any()
    drive.act(1.0, data, data.ctrl)
    assert (data.ctrl == 24).all()
    assert data.qfrc_applied[0] == -50
    data.xpos[1, 0] = 1.1
    drive.act(1.1, data, data.ctrl)
    data.xpos[1, 0] = 0.9  # it has arrived, whatever it does then
    drive.act(1.2, data, data.ctrl)
    assert not data.ctrl.any()
    assert data.qfrc_applied[0] == 0
    drive.reset([0])
    drive.act(1.2, data, data.ctrl)
    assert data.ctrl.all()


@pytest.mark.parametrize("hold", ["none", "brake", "lock"])
def test_holds_are_closed(hold):
    model, data, drive = driven(hold=hold)
    drive.act(0.0, data, data.ctrl)
    closed = {model.equality(e).name for e in range(model.neq) if data.eq_active[e]}
    for kind in ("brake", "lock"):
        assert {f"{kind}_{name}" in closed for name in DRIVES} == {kind == hold}


def test_drive_refuses_what_it_cannot_hold():
    with pytest.raises(InputError, match="hold = 'glue'"):
        StepDrive(DRIVES, 24.0, hold="glue")


# ---- runs -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def start(tmp_path_factory):
    done = outcome(tmp_path_factory.mktemp("start"), time=1.6)
    with grouser.Recording(done.recording) as recording:
        yield done, recording


def test_the_robot_stands_on_its_wheels(start):
    _, recording = start
    standing, expected = recording.time < 0.3, WheelWalkerStairs().parameters.hub_height
    assert recording["hub/z"][standing] == pytest.approx(np.full((standing.sum(), 4), expected), abs=1e-3)
    for part in ("hull", "carrier_fr"):
        assert not recording[f"convex/force[{part}]"].any()


def test_the_wheels_carry_the_weight_of_the_robot():
    """Over every step: impacts of the corners are shorter than a frame of a recording."""
    s = WheelWalkerStairs(compare_sides=None)
    sim = stairs.build(s)
    sim.step(300)
    effective, speed, impulse = sim.engine.slots[0].out.effective.numpy(), sim.data.qvel[2], 0.0
    for _ in range(500):
        sim.step()
        impulse += effective[0, :, 2].sum() * s.step
    weight = s.parameters.mass * s.gravity
    gained = s.parameters.mass * (sim.data.qvel[2] - speed)
    assert impulse == pytest.approx(weight * 500 * s.step + gained, rel=CARRIED)


def test_the_robot_rolls_as_far_as_its_wheels_turn(tmp_path):
    """A polygon rolls its perimeter in a turn."""
    done = outcome(tmp_path, time=1.6, step=FINE)
    with grouser.Recording(done.recording) as recording:
        check_rolling(recording)


def check_rolling(recording):
    p = WheelWalkerStairs().parameters
    begin = int(np.searchsorted(recording.time, 0.8))  # up to speed: at the start the wheels spin
    for prefix, sides in (("", p.sides), (stairs.ROUND, 40)):
        pose = recording[f"body/pose[{prefix}hull]"]
        angle = recording[f"joint/position[{prefix}wheel_fr_0]"] + recording[f"joint/position[{prefix}carrier_fr]"]
        turned = (angle + 2 * pose[:, 4])[-1] - (angle + 2 * pose[:, 4])[begin]
        way = pose[-1, 0] - pose[begin, 0]
        assert way == pytest.approx(
            turned * sides * p.wheel_radius * math.sin(math.pi / sides) / math.pi, rel=ROLLING[sides]
        )


def test_more_sides_ripple_less(start):
    done, _ = start
    assert 0 < done.metrics["ripple_40_sides"] < 0.6 * done.metrics["ripple_10_sides"]
    assert done.metrics["steps_on_flat"] == 0
    assert done.metrics["mode_sequence"] == ["rolling"]
    assert done.metrics["steps_climbed"] == 0


def test_a_checkpoint_goes_on_bit_for_bit():
    """Brakes closed, wheels sticking and sliding."""
    sim = stairs.build(WheelWalkerStairs(compare_sides=None, case="too-light", hold="brake"))
    sim.step(250)
    saved = sim.checkpoint()
    sim.step(50)
    first = sim.data.qpos.copy()
    sim.restore(saved)
    sim.step(50)
    assert (sim.data.qpos == first).all()


@pytest.mark.parametrize("case", ["poor-grip", "too-heavy"])
def test_the_robot_never_steps_without_grip_or_when_too_heavy(case, tmp_path):
    done = outcome(tmp_path, case=case, compare_sides=None, time=3.5)
    assert not done.missed
    with grouser.Recording(done.recording) as recording:
        p = WheelWalker()
        ahead = recording["hub/x[fr]"][-1] + p.axle(0)[0] + p.wheel_radius
        assert -0.02 < ahead < 0.01  # it stands against the riser


@pytest.mark.parametrize("case", ["too-light", "too-strong", "wrong-gears"])
def test_the_robot_steps_on_level_ground(case, tmp_path):
    done = outcome(tmp_path, case=case, compare_sides=None, time=2.0)
    assert done.metrics["steps_on_flat"] >= 1


def test_weight_or_a_brake_keeps_a_loaded_robot_rolling(tmp_path):
    """What tips the light one does not tip the other; the light one with its brakes closed rolls on."""
    load = {key: CASES["too-light"][key] for key in ("pull", "friction")}
    heavy = outcome(tmp_path / "heavy", compare_sides=None, time=2.0, **load)
    braked = outcome(tmp_path / "braked", case="too-light", hold="brake", compare_sides=None, time=2.0)
    for done in (heavy, braked):
        assert done.metrics["steps_on_flat"] == 0
        assert done.metrics["mode_sequence"] == ["rolling"]


@pytest.mark.long
def test_the_robot_climbs_the_stairs(tmp_path):
    done = grouser.run("wheel-walker-stairs", out=tmp_path / "out")
    assert not done.missed
    assert done.metrics["mode_sequence"] == ["rolling", "stepping", "rolling"]
    with grouser.Recording(done.recording) as recording:
        s = WheelWalkerStairs()
        turns = np.array([recording[f"joint/position[carrier_{name}]"][-1] for name in DRIVES]) / THIRD
        assert turns == pytest.approx(np.full(4, s.stairs.count), abs=0.1)  # a third of a turn a step
        top = s.stairs.count * s.stairs.rise + s.parameters.hub_height
        assert recording["hub/z"][-1] == pytest.approx(np.full(4, top), abs=0.01)
        assert recording["path/x"][-1, 0] == pytest.approx(s.goal, abs=0.2)
        power = sum(recording[f"actuator/force[motor_{k}]"] * recording[f"joint/velocity[sun_{k}]"] for k in DRIVES)
        lifted = s.parameters.mass * s.gravity * s.stairs.count * s.stairs.rise
        assert lifted < np.trapezoid(power, recording.time) < 5 * lifted  # blows and slip cost more than the height


@pytest.mark.long
def test_the_robot_climbs_stairs_of_fifteen_centimetres(tmp_path):
    done = outcome(tmp_path, compare_sides=None, stairs={"rise": 0.15}, time=16.0)
    assert done.metrics["steps_climbed"] == WheelWalkerStairs().stairs.count


@pytest.mark.long
def test_the_climb_does_not_hang_on_the_step(tmp_path):
    coarse, fine = (
        outcome(tmp_path / str(step), compare_sides=None, step=step).metrics["climb_time_s"] for step in (2e-3, 1e-3)
    )
    assert coarse == pytest.approx(fine, rel=SPREAD)


@pytest.mark.long
def test_a_lock_makes_it_climb_where_grip_is_poor(tmp_path):
    done = outcome(tmp_path, case="poor-grip", hold="lock", compare_sides=None, time=14.0)
    assert done.metrics["steps_climbed"] == WheelWalkerStairs().stairs.count


# ---- courses of the user ------------------------------------------------------------------------------------


def copied_stairs(file):
    """The default stairs as an open mesh, 3 m wide."""
    import trimesh

    s = WheelWalkerStairs().stairs
    profile = [(-4.0, 0.0)]
    for k in range(s.count):
        profile += [(k * s.run, k * s.rise), (k * s.run, (k + 1) * s.rise)]
    profile.append((4.0, s.count * s.rise))
    vertices = [(x, y, z) for x, z in profile for y in (-1.5, 1.5)]
    triangles = [f for k in range(0, 2 * len(profile) - 2, 2) for f in ((k, k + 2, k + 3), (k, k + 3, k + 1))]
    trimesh.Trimesh(vertices, triangles, process=False).export(file)
    return str(file)


def test_a_robot_starts_on_the_course_of_the_user(tmp_path):
    mesh = copied_stairs(tmp_path / "stairs.obj")
    s = WheelWalkerStairs(terrain=mesh, at=(-1.6, 0.2))
    sim = stairs.build(s)
    assert sim.data.qpos[:3] == pytest.approx([-1.6, 0.2, s.parameters.hub_height])
    sim.step(100)
    weight = sim.modules[0].out.effective.numpy()[0, :, 2].sum()
    assert weight == pytest.approx(s.parameters.mass * s.gravity, rel=0.05)
    with pytest.raises(InputError, match=r"at = 3.5, 0 m: part of the robot is beside the mesh"):
        stairs.build(WheelWalkerStairs(terrain=mesh, at=(3.5, 0.0)))


@pytest.mark.long
def test_the_robot_climbs_stairs_cut_from_a_mesh_and_not_without_grip(tmp_path):
    mesh = {"terrain": copied_stairs(tmp_path / "stairs.obj"), "at": (-1.6, 0.0)}
    climbed = outcome(tmp_path / "right", **mesh).metrics
    top = WheelWalkerStairs().stairs.count * WheelWalkerStairs().stairs.rise
    assert climbed["height_gained_m"] == pytest.approx(top, abs=0.01)
    assert climbed["mode_sequence"] == ["rolling", "stepping", "rolling"]
    assert outcome(tmp_path / "wrong", friction=0.2, time=5.0, **mesh).metrics["height_gained_m"] < 0.05
