"""A robot begins at rest, as deep as its weight alone presses it."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import grouser
from grouser import on_soil, soil
from grouser.terrain import from_function
from tests.simulation.robots import G, ball, lowest, notes, refusal, rover_urdf, urdf
from tests.simulation.step_robots import quadruped, stance

GRID_SHARE = 0.02  # of Bekker's sinkage: what is left of the approach (0.5 %) and the width of the patch in k_c/b
WITHIN = 1e-3  # [m] of the sinkage of a set-down over 6 s
DEEPER = 1.5  # times as deep a dropped foot sinks: a fall onto soil with F ~ z^n reaches (n + 1)^(1/n) times the depth
CARRIED = 0.01  # of the weight
SOILS = ("dry-sand", "clay", "lunar-nominal")


def box(mass: float = 40.0, half: float = 0.1) -> mujoco.MjSpec:
    return mujoco.MjSpec.from_string(
        f'<mujoco><worldbody><body name="foot" pos="0 0 1"><freejoint/><geom type="box" size="{half} {half} {half}" '
        f'mass="{mass}"/></body></worldbody></mujoco>'
    )


def plate_sinkage(name: str, mass: float, side: float) -> float:
    """Bekker: p = (k_c/b + k_phi) z^n under a square plate."""
    s = soil(name)
    return float((mass * G / side**2 / (s.k_c / side + s.k_phi)) ** (1 / s.n))


def standing(**more):
    """The quadruped of 12 kg, whose position servos hold its stance."""
    spec = mujoco.MjSpec.from_string(quadruped())
    return on_soil(spec, "dry-sand", "shank.*", start={"ctrl": stance()}, **more)


@pytest.mark.parametrize("name", ["dry-sand", "lunar-nominal"])
def test_a_foot_is_set_down_to_the_sinkage_of_its_weight_and_dropped_to_more(name):
    wanted = plate_sinkage(name, 40.0, 0.2)
    sim = on_soil(box(), name)
    assert sim.time == 0
    assert sim.observe()["soil/sinkage"][0, 0] == pytest.approx(wanted, rel=GRID_SHARE)
    assert sim.observe()["soil/force"][0, 0, 2] == pytest.approx(40 * G, rel=CARRIED)
    sim.step(200)
    assert sim.observe()["soil/sinkage"][0, 0] == pytest.approx(wanted, rel=GRID_SHARE)
    dropped = on_soil(box(), name, settle=False)
    assert dropped.observe()["soil/sinkage"][0, 0] < 0
    dropped.step(200)
    assert dropped.observe()["soil/sinkage"][0, 0] > DEEPER * wanted


def lowered_slowly() -> np.ndarray:
    """Sinkage [m] of each foot of the quadruped whose gravity grows over 6 s: an independent set-down."""
    sim = standing(settle=False)
    full = sim.model.opt.gravity.copy()
    for share in np.linspace(0, 1, 1000):
        sim.model.opt.gravity[:] = share * full
        sim.step(3)
    return sim.observe()["soil/sinkage"][0].copy()


def test_a_quadruped_begins_within_a_millimetre_of_a_slow_set_down():
    sim = standing()
    begins = sim.observe()["soil/sinkage"][0].copy()
    np.testing.assert_allclose(begins, lowered_slowly(), atol=WITHIN)
    weight = sim.model.body_subtreemass[0] * G
    assert sim.observe()["soil/force"][0, :, 2].sum() == pytest.approx(weight, rel=CARRIED)
    sim.step(500)
    np.testing.assert_allclose(sim.observe()["soil/sinkage"][0], begins, atol=WITHIN)
    dropped = standing(settle=False)
    dropped.step(500)
    assert dropped.observe()["soil/sinkage"].min() > begins.max() + WITHIN


def test_a_quadruped_let_down_by_its_trunk_stands_deeper_on_the_same_weight():
    """Its legs hang at first, and its feet slide as they take the load: depth depends on the way down."""
    sim = standing(settle=False)
    weight = sim.model.body_subtreemass[0] * G
    for share in np.linspace(1, 0, 1000):
        sim.data.xfrc_applied[sim.model.body("trunk").id, 2] = share * weight
        sim.step(3)
    sinkage = sim.observe()["soil/sinkage"][0]
    assert sim.observe()["soil/force"][0, :, 2].sum() == pytest.approx(weight, rel=CARRIED)
    assert (sinkage.min(), sinkage.max()) == pytest.approx((22.5e-3, 27.9e-3), abs=0.5e-3)  # docs: 22 to 28 mm
    begins = standing().observe()["soil/sinkage"][0]
    assert (begins.min(), begins.max()) == pytest.approx((20.2e-3, 21.6e-3), abs=0.5e-3)  # docs: 20 to 22 mm
    assert (sinkage > begins + WITHIN).all()


def test_no_work_is_booked_before_time_zero_and_none_is_given_back():
    sim = on_soil(box(), "dry-sand")
    work = next(c for c in sim.channels() if c.name == "soil/work")
    assert work.read is not None
    assert work.read() == 0
    sim.step()
    stored = work.read().item()  # a body that starts in the soil counts as pressed there: that much is elastic
    sim.step(200)
    pressed = 0.5 * 40 * G * sim.observe()["soil/sinkage"][0, 0]
    assert abs(work.read().item() - stored) < GRID_SHARE * pressed


def test_reset_goes_back_to_the_rest_and_the_run_repeats_bit_for_bit():
    sim = on_soil(grouser.CART, "dry-sand", "wheel.*", worlds=2)
    start = sim.data.qpos.copy()
    assert sim.ground is not None
    sim.step(50)
    once, ruts = sim.data.qpos.copy(), sim.ground.heights(region=(-0.5, 0.5, -0.5, 0.5))
    sim.reset([1])
    np.testing.assert_array_equal(sim.data.qpos, once)
    np.testing.assert_array_equal(sim.engine.data[1].qpos, start)
    sim.reset()
    assert sim.time == 0
    np.testing.assert_array_equal(sim.data.qpos, start)
    sim.step(50)
    np.testing.assert_array_equal(sim.data.qpos, once)
    np.testing.assert_array_equal(sim.engine.data[1].qpos, once)
    np.testing.assert_array_equal(sim.ground.heights(region=(-0.5, 0.5, -0.5, 0.5)), ruts)


def test_wheels_do_not_turn_while_they_are_set_down_also_on_a_slope(tmp_path):
    hill = from_function(lambda x, y: np.tan(np.radians(15)) * x, size=(20, 20), spacing=1.0)
    sim = on_soil(urdf(tmp_path, rover_urdf()), "dry-sand", "wheel_.*", drive={"axle_.*": 2.0}, terrain=hill)
    np.testing.assert_allclose(sim.data.qpos[7:], 0.0, atol=1e-6)
    np.testing.assert_array_equal(sim.data.qvel, 0.0)
    assert (sim.data.ctrl == 2.0).all()
    seen = sim.observe()["soil/force"][0]
    assert seen[:, 2].sum() == pytest.approx(16 * G, rel=CARRIED)
    assert not notes(sim, "set down")


LEG = """<mujoco><worldbody><body name="trunk" pos="0 0 1"><freejoint/><geom type="box" size=".2 .2 .05" mass="10"/>
    {}</body></worldbody>{}</mujoco>"""
CORNERS = [(x, y) for x in (-0.15, 0.15) for y in (-0.15, 0.15)]
LEGS = "".join(
    f'<body name="foot{k}" pos="{x} {y} -0.05"><joint name="hip{k}" axis="0 1 0"/><geom size=".05" '
    f'pos="0 0 -.2" mass="1"/></body>'
    for k, (x, y) in enumerate(CORNERS)
)
MOTORS = "<actuator>" + "".join(f'<motor joint="hip{k}"/>' for k in range(4)) + "</actuator>"


def test_torque_motors_are_locked_and_joints_that_nothing_holds_are_named():
    held = on_soil(mujoco.MjSpec.from_string(LEG.format(LEGS, MOTORS)), "dry-sand", "foot.*")
    np.testing.assert_allclose(held.data.qpos[7:], 0.0, atol=1e-6)
    assert not notes(held, "set down")
    leaning = [0, 0, 1, 1, 0, 0, 0, *[0.5] * 4]
    loose = on_soil(
        mujoco.MjSpec.from_string(LEG.format(LEGS, "")), "dry-sand", "foot.*", start={"qpos": leaning},
    )  # fmt: skip
    assert notes(loose, "set down") == [
        "locked while the robot was set down, as nothing in the model holds it: 'hip0', 'hip1', 'hip2', 'hip3'"
    ]
    np.testing.assert_allclose(loose.data.qpos[7:], 0.5, atol=1e-6)
    for sim in (held, loose):
        assert sim.observe()["soil/force"][0, :, 2].sum() == pytest.approx(14 * G, rel=CARRIED)


ROD = """<mujoco><option timestep="0.0005"/><worldbody>
    <body name="trunk" pos="0 0 .5"><freejoint/><geom type="box" size=".2 .2 .05" mass="30"/>
    {}</body></worldbody><equality>{}</equality><actuator>{}</actuator></mujoco>"""


def legs_closed_by_rods() -> str:
    """Four legs of thigh and shank with torque motors, a rod from each trunk corner closing a chain to the shank."""
    legs = "".join(
        f'<body name="thigh{k}" pos="{x} {y} -0.05"><joint name="hip{k}" axis="0 1 0"/>'
        f'<geom type="capsule" size=".01" fromto="0 0 0 .08 0 -.12" mass=".3"/>'
        f'<body name="shank{k}" pos=".08 0 -.12"><joint name="knee{k}" axis="0 1 0" stiffness="20"/>'
        f'<geom type="capsule" size=".01" fromto="0 0 0 -.08 0 -.12" mass=".2"/>'
        f'<body name="foot{k}" pos="-.08 0 -.12"><geom size=".04" mass=".2"/></body></body></body>'
        f'<body name="rod{k}" pos="{x - 0.05} {y} -0.05"><joint name="rod{k}" axis="0 1 0"/>'
        f'<geom type="capsule" size=".006" fromto="0 0 0 .09 0 -.18" mass=".05"/></body>'
        for k, (x, y) in enumerate(CORNERS)
    )
    closed = "".join(
        f'<connect solref="0.005 1" body1="rod{k}" body2="shank{k}" anchor=".09 0 -.18"/>' for k in range(4)
    )
    return ROD.format(legs, closed, "".join(f'<motor joint="hip{k}"/>' for k in range(4)))


def test_closed_chains_with_torque_motors_come_to_rest_on_their_weight():
    """Locked joints must not be so heavy that the forces which close a chain are lost beside them."""
    sim = on_soil(mujoco.MjSpec.from_string(legs_closed_by_rods()), "dry-sand", "foot.*")
    assert not notes(sim, "set down")
    weight = sim.model.body_subtreemass[1] * G
    assert sim.observe()["soil/force"][0, :, 2].sum() == pytest.approx(weight, rel=CARRIED)
    hips = [sim.model.joint(f"hip{k}").qposadr[0] for k in range(4)]
    np.testing.assert_allclose(sim.data.qpos[hips], 0.0, atol=1e-4)


def test_a_robot_that_cannot_stand_starts_where_it_was_placed_and_a_note_says_so():
    tall = '<geom type="cylinder" size=".02 .02" pos="0.15 0 -0.6" mass="0.1"/>'  # stands beside its centre of mass
    sim = on_soil(mujoco.MjSpec.from_string(LEG.format(tall, "")), "dry-sand", "trunk")
    assert notes(sim, "set down") == [
        "not set down: 'trunk' falls over; the robot starts in the air, as with settle=False"
    ]
    assert lowest(sim, "trunk") == pytest.approx(1e-4, abs=1e-9)
    assert sim.time == 0
    slope = from_function(lambda x, y: 0.5 * x, size=(20, 20), spacing=1.0)
    for ground, why in (("dry-sand", "'ball' falls over"), ("clay", "the ground has a slope of 26.6°")):
        rolling = on_soil(mujoco.MjSpec.from_string(ball()), ground, terrain=slope)
        assert len(notes(rolling, f"not set down: {why}")) == 1


def test_what_is_not_placed_or_has_no_weight_is_not_set_down():
    assert on_soil(mujoco.MjSpec.from_string(ball(height=0.5)), place=False).data.qpos[2] == 0.5
    assert refusal(mujoco.MjSpec.from_string(ball(height=0.5)), place=False, settle=True) == (
        "settle: True is not allowed with place=False, which keeps the pose given"
    )
    sim = on_soil(mujoco.MjSpec.from_string(ball(height=0.5)), gravity=0.0)
    assert lowest(sim, "ball") == pytest.approx(1e-4)


def test_arguments_by_a_wrong_name_are_named():
    spec = mujoco.MjSpec.from_string(ball())
    assert refusal(spec, soils="clay") == "on_soil: 'soils' is no argument; use 'soil'"
    assert refusal(spec, controler=[]) == "on_soil: 'controler' is no argument; use 'controllers'"
    assert refusal(spec, zebra=1) == "on_soil: 'zebra' is no argument"


def test_a_start_from_python():
    base = [1.0, 2.0, 3.0, 1.0, 0, 0, 0]
    pose = stance() + 0.05
    spec = mujoco.MjSpec.from_string(quadruped())
    speed = np.zeros(14)
    speed[0] = 0.5
    sim = on_soil(spec, bodies="shank.*", start={"qpos": [*base, *pose], "qvel": speed, "ctrl": pose})
    np.testing.assert_allclose(sim.data.qpos[:2], [1, 2], atol=0.01)
    np.testing.assert_allclose(sim.data.qpos[7:], pose, atol=0.1)
    np.testing.assert_array_equal(sim.data.qvel, speed)
    assert refusal(spec, bodies="shank.*", start={"qpos": [0, 1]}) == "start: qpos has 2 numbers; the model has 15"
    assert refusal(spec, bodies="shank.*", start={"q": [0, 1]}) == (
        "start: 'q' is not known; allowed: qpos, qvel, act, ctrl"
    )
    assert refusal(spec, bodies="shank.*", start={"ctrl": ["a"]}) == "start: ctrl must be a list of finite numbers"


def test_a_start_of_a_urdf_may_leave_out_its_base(tmp_path):
    file = urdf(tmp_path, rover_urdf())
    sim = on_soil(file, bodies="wheel_.*", start={"qpos": [0.1, 0.2, 0.3, 0.4]})
    np.testing.assert_allclose(sim.data.qpos[7:], [0.1, 0.2, 0.3, 0.4], atol=1e-6)
    assert refusal(file, bodies="wheel_.*", start={"qpos": [1.0]}) == (
        "start: qpos has 1 numbers; the model has 4 or 11 with the pose of its base"
    )


def test_a_place_and_a_heading():
    ground = from_function(lambda x, y: 0.05 * x, size=(10, 10), spacing=0.5)
    sim = on_soil(grouser.CART, "dry-sand", "wheel.*", terrain=ground, at=(2.0, -1.0, 90.0))
    np.testing.assert_allclose(sim.data.body("chassis").xpos[:2], [2, -1], atol=0.02)
    np.testing.assert_allclose(sim.data.body("chassis").xmat.reshape(3, 3)[:2, 0], [0, 1], atol=0.01)
    sim.step(200)
    assert sim.data.body("chassis").xpos[1] > -0.95  # it drives along its heading, which is y
    assert refusal(grouser.CART, bodies="wheel.*", terrain=ground, at=(20.0, 0.0)).startswith("terrain: body 'wheel_")
    assert refusal(grouser.CART, bodies="wheel.*", at=(1.0,)) == (
        "at: (1.0,) is not allowed; it must be x, y [m] or x, y, heading [deg], such as 1.5, 0, 90"
    )


def test_a_robot_on_a_rail_moves_with_its_rail():
    rail = """<mujoco><worldbody><body name="mast" pos="1 0 1" euler="0 0 20"><joint type="slide" axis="0 0 1"/>
        <geom type="box" size=".2 .05 .05" mass="3"/></body></worldbody></mujoco>"""
    sim = on_soil(mujoco.MjSpec.from_string(rail), "dry-sand", at=(-2.0, 1.0, 70.0))
    np.testing.assert_allclose(sim.data.body("mast").xpos[:2], [-2, 1], atol=1e-9)
    np.testing.assert_allclose(sim.data.body("mast").xmat.reshape(3, 3)[:2, 0], [0, 1], atol=1e-9)
    assert sim.observe()["soil/force"][0, 0, 2] == pytest.approx(3 * G, rel=CARRIED)
