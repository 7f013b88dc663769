"""What is done to a robot before it stands on soil, and that it is said: files, base, floor, start, drives, step."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import grouser
from grouser import on_soil, soil
from grouser.contact.soil import wheel
from grouser.contact.soil.surface import CHUNK
from grouser.simulation.placement import GAP
from grouser.simulation.shapes import SAG, body_surface
from grouser.terrain import from_function
from tests.simulation.robots import G, ball, gymnasium_robot, lowest, notes, refusal, rover_urdf, urdf

LET_GO = 0.1  # of the sinkage of a light body: on a 10 mm grid it rests a fifth of a millimetre higher than by energy


def model(text: str) -> mujoco.MjSpec:
    return mujoco.MjSpec.from_string(text)


# ---- MJCF: names, options, base, start ----------------------------------------------------------------


def test_options_the_step_cannot_honour_are_changed_and_said():
    text = ball(more="").replace(
        "<worldbody>",
        '<option integrator="RK4" solver="PGS" noslip_iterations="3"><flag sleep="enable"/></option><worldbody>', 1,
    )  # fmt: skip
    sim = on_soil(model(text))
    assert sim.notes[:4] == [
        "integrator implicitfast instead of the model's RK4",
        "solver Newton instead of the model's PGS",
        "noslip_iterations 0 instead of the model's 3",
        "flag sleep switched off",
    ]
    sim.step(10)


def test_bodies_and_motors_without_a_name_are_called_after_their_joints():
    sim = on_soil(gymnasium_robot("ant"), bodies="ankle_[12]")
    assert sim.soil.bodies == ("ankle_1", "ankle_2")
    assert [sim.model.actuator(a).name for a in range(sim.model.nu)][:2] == ["hip_4", "ankle_4"]
    assert "bodies without a name are called ankle_1, ankle_2, ankle_3, ankle_4" in sim.notes


CART = """<mujoco model="cart"><worldbody><body name="chassis" pos="0 0 0.1">{joint}<geom type="box" size=".2 .1 .02"
    mass="5"/><body name="left" pos="0 .15 0"><joint name="l" axis="0 1 0"/><geom type="cylinder" size=".1 .03"
    zaxis="0 1 0" mass="2"/></body><body name="right" pos="0 -.15 0"><joint name="r" axis="0 1 0"/><geom type="cylinder"
    size=".1 .03" zaxis="0 1 0" mass="2"/></body></body></worldbody><actuator><motor name="left" joint="l"/>
    <velocity joint="r" kv="5" ctrlrange="-2 2"/></actuator>{more}</mujoco>"""


def test_a_base_that_lets_nothing_sink_is_set_free_and_keyframes_make_room():
    key = '<keyframe><key name="rest" qpos="0.3 0.4" ctrl="0.5 0.6"/><key name="go" qpos="1 2" qvel="3 4"/></keyframe>'
    sim = on_soil(model(CART.format(joint="", more=key)), bodies="left|right", settle=False)
    assert "body 'chassis' was fixed to the world and got a free joint" in sim.notes
    assert sim.model.nq == 9
    np.testing.assert_allclose(sim.data.qpos, [0, 0, 0.1 + GAP, 1, 0, 0, 0, 0.3, 0.4], atol=1e-3)
    np.testing.assert_allclose(sim.data.ctrl, [0.5, 0.6])
    assert [sim.model.key(k).name for k in range(sim.model.nkey)] == ["start", "rest", "go"]
    other = on_soil(model(CART.format(joint="", more=key)), bodies="left|right", keyframe="go")
    np.testing.assert_allclose(other.data.qpos[7:], [1, 2])
    np.testing.assert_allclose(other.data.qvel, [0] * 6 + [3, 4])
    other.step(20)
    other.reset()
    np.testing.assert_allclose(other.data.qpos[7:], [1, 2])


def test_a_base_on_rails_stays_on_them():
    """The same cart on a vertical rail: the wheels can sink, so nothing is set free; the rail is raised instead."""
    sim = on_soil(model(CART.format(joint='<joint name="rail" type="slide"/>', more="")), bodies="left|right",
                  terrain=from_function(lambda x, y: 0 * x + 2.0, size=(4, 4), spacing=1.0), settle=False)  # fmt: skip
    assert not notes(sim, "free")
    assert sim.data.qpos[0] == 0
    assert lowest(sim, "left") == pytest.approx(2.0 + GAP, abs=SAG)


def test_what_no_joint_lifts_is_said():
    text = CART.format(joint='<joint type="hinge" axis="0 0 1"/>', more="")
    assert notes(on_soil(model(text), bodies="left|right"), "rise or sink") == [
        "no joint of the model lets left, right rise or sink"
    ]


def test_the_users_own_spec_is_left_as_it_was():
    spec = model(CART.format(joint="", more=""))
    before = spec.to_xml()
    on_soil(spec, bodies="left|right", drive={"left": 1.0}, gravity=3.7)
    assert spec.to_xml() == before


def test_a_robot_stands_on_uneven_ground_wherever_it_was():
    ground = from_function(lambda x, y: 3 + 0.1 * np.sin(2 * x) + 0.05 * y, size=(8, 8), spacing=0.25)
    for height in (-5.0, 0.1, 40.0):
        text = CART.format(joint="<freejoint/>", more="").replace('pos="0 0 0.1"', f'pos="1 1 {height}"', 1)
        sim = on_soil(model(text), bodies="left|right", terrain=ground, settle=False)
        clear = []
        for name, surface in sim.soil.surfaces.items():
            p = surface.vertices @ sim.data.body(name).xmat.reshape(3, 3).T + sim.data.body(name).xpos
            clear.append((p[:, 2] - ground.height(p[:, 0], p[:, 1])).min())
        assert min(clear) == pytest.approx(GAP, abs=1e-9)
        assert max(clear) < 2e-3
        assert len(notes(sim, "to stand on the ground")) == 1
        np.testing.assert_allclose(sim.data.qpos[:2], 1.0)


def test_two_robots_are_set_down_each_for_itself_and_tied_ones_together():
    two = """<mujoco><worldbody><body name="a" pos="0 0 1"><freejoint/><geom size=".1"/></body>
        <body name="b" pos="1 0 2"><freejoint/><geom size=".1"/></body></worldbody>{}</mujoco>"""
    sim = on_soil(model(two.format("")), settle=False)
    assert lowest(sim, "a") == pytest.approx(GAP)
    assert lowest(sim, "b") == pytest.approx(GAP)
    tied = on_soil(model(two.format('<equality><weld body1="a" body2="b"/></equality>')), settle=False)
    assert lowest(tied, "a") == pytest.approx(GAP)
    assert tied.data.body("b").xpos[2] - tied.data.body("a").xpos[2] == pytest.approx(1.0)


def test_place_false_leaves_it_in_the_air():
    assert on_soil(model(ball(height=2.0)), place=False).data.qpos[2] == 2.0


def test_a_robot_on_a_platform_is_not_pushed_into_it():
    world = '<geom name="floor" type="plane" size="5 5 1"/><geom type="box" size="1 1 0.25" pos="0 0 0.25"/>'
    assert on_soil(model(ball(height=0.62, world=world)), settle=False).data.qpos[2] == 0.62
    sim = on_soil(model(ball(height=0.62, world=world)))
    assert notes(sim, "overlap something else")
    sim.step(100)
    assert sim.data.qpos[2] == pytest.approx(0.62, abs=2e-3)  # it rests on the platform, which is MuJoCo's
    assert sim.data.ncon > 0


@pytest.mark.long
def test_a_robot_tumbles_down_ground_that_is_steeper_than_soil_can_stand():
    """Soil slides on and on there, also after a wheel has left it: the window cannot follow all of it."""
    hill = from_function(lambda x, y: x, size=(20, 20), spacing=1.0)
    sim = on_soil(grouser.CART, "dry-sand", "wheel.*", terrain=hill)
    assert notes(sim, "not set down") == [
        "not set down: the ground has a slope of 45°, and soil slides above 28°; the robot starts in the air, as with "
        "settle=False"
    ]
    fastest = 0.0
    for _ in range(300):
        sim.step()
        fastest = max(fastest, float(np.abs(sim.data.qvel[:3]).max()))
    assert fastest < 9.81 * sim.time  # of free fall: no wheel is thrown out of the soil
    assert sim.data.qpos[2] < 0.3
    assert sim.ground.heights(region=(-1, 1, -1, 1)).min() > -1.2


def test_a_robot_beside_its_terrain_is_refused():
    line = refusal(model(ball().replace('pos="0 0 0.12"', 'pos="30 0 0.12"')),
                   terrain=from_function(lambda x, y: 0 * x, size=(4, 4), spacing=1.0))  # fmt: skip
    assert line == "terrain: body 'ball' starts at x = 30 m, y = 0 m, outside its x -2 to 2 m, y -2 to 2 m"


# ---- floors -----------------------------------------------------------------------------------------


def test_the_soil_lies_where_the_floor_of_the_model_was():
    sim = on_soil(model(ball(height=-0.3, world='<geom name="floor" type="plane" size="5 5 1" pos="0 0 -0.5"/>')))
    assert float(sim.terrain.height(0, 0)) == pytest.approx(-0.5)
    assert "floor 'floor' of the model was replaced by the soil" in sim.notes
    sim.step(150)
    assert sim.data.ncon == 0
    assert -0.5 + 0.12 - 0.04 < sim.data.qpos[2] < -0.5 + 0.12 - 0.003


def test_a_tilted_floor_becomes_tilted_soil():
    floor = '<geom name="ramp" type="plane" size="5 5 1" euler="0 -10 0"/>'  # rises along x
    sim = on_soil(model(ball(world=floor)))
    assert float(sim.terrain.height(1, 0)) == pytest.approx(np.tan(np.radians(10)))


def test_a_height_field_becomes_the_terrain():
    text = ball(world='<geom type="hfield" hfield="hill" pos="1 0 0.2"/>', height=2.0).replace(
        "<worldbody>",
        '<asset><hfield name="hill" nrow="3" ncol="5" size="2 1 0.5 0.1" '
        'elevation="0 0 0 0 0  0 2 4 2 0  0 0 0 0 0"/></asset><worldbody>', 1,
    )  # fmt: skip
    sim = on_soil(model(text))
    for x, y, z in ((1, 0, 0.7), (0, 0, 0.45), (3, 1, 0.2), (1, -1, 0.2), (1, 0.5, 0.45)):
        assert float(sim.terrain.height(x, y)) == pytest.approx(z, abs=1e-6)
    assert notes(sim, "is the terrain") == ["the model's height field 'hill' is the terrain"]
    assert not notes(sim, "hard floor")


def test_a_box_the_robot_stands_on_is_a_floor_and_one_beside_it_is_not():
    slab = '<geom name="slab" type="box" size="5 5 0.1" pos="0 0 -0.1"/>'
    world = slab + '<geom name="crate" type="box" size=".2 .2 .2" pos="1 0 .2"/>'
    sim = on_soil(model(ball(world=world)))
    assert "floor 'slab' of the model was replaced by the soil" in sim.notes
    sim.step(100)
    assert sim.data.qpos[2] < 0.12 - 0.003  # it sinks
    sim.data.qpos[:3], sim.data.qvel[:3] = (0.66, 0, 0.13), (0.5, 0, 0)
    touching: set[str] = set()
    for _ in range(40):
        sim.step()
        touching |= {sim.model.geom(g).name for c in sim.data.contact for g in c.geom}
    assert touching == {"ball", "crate"}
    assert sim.data.qpos[0] < 0.69


def test_walls_stay():
    floor = '<geom name="floor" type="plane" size="5 5 1"/>'
    world = floor + '<geom name="wall" type="plane" size="5 5 1" pos="0.5 0 0" zaxis="-1 0 0"/>'
    sim = on_soil(model(ball(world=world)))
    sim.data.qvel[0] = 2.0
    sim.step(100)
    assert sim.data.qpos[0] < 0.5 - 0.11


OTHERS = """<mujoco><worldbody><geom name="floor" type="plane" size="5 5 1" friction="0.3"/>
    <body name="ball" pos="0 0 0.12"><freejoint/><geom name="ball" size="0.12" mass="8"/></body>
    <body name="crate" pos="1 0 {z}"><freejoint/><geom name="crate" type="box" size=".1 .1 .1" mass="1" {bits}/></body>
    </worldbody>{more}</mujoco>"""


@pytest.mark.parametrize(
    ("ground", "height"),
    [(None, 0.0), (lambda x, y: 0.2 * x, 0.2), (lambda x, y: 0.1 * np.sin(2 * x), 0.1 * np.sin(2.0))],
    ids=["its own plane", "a slope", "waves"],
)
def test_bodies_not_on_soil_stand_on_the_undisturbed_ground(ground, height):
    terrain = None if ground is None else from_function(ground, size=(8, 8), spacing=0.1)
    spec = model(OTHERS.format(z=height + 0.15, more="", bits=""))
    sim = on_soil(spec, bodies="ball", terrain=terrain)
    assert notes(sim, "crate touch the undisturbed ground as a hard floor")
    sim.step(60)
    assert sim.data.body("crate").xpos[2] == pytest.approx(height + 0.1, abs=0.03)  # lies aslant where the ground does
    names = {sim.model.geom(g).name for c in sim.data.contact for g in c.geom}
    assert names == {"crate", "ground"}
    assert sim.model.geom("ground").friction[0] == pytest.approx(0.3)


def test_contact_pairs_and_sensors_that_name_the_floor_go_on_working():
    """A pair with a soil body goes, one with another body follows the ground."""
    more = """<contact><pair geom1="floor" geom2="ball"/><pair geom1="crate" geom2="floor"/></contact>
        <sensor><distance name="far" geom1="floor" geom2="crate" cutoff="5"/></sensor>"""
    sim = on_soil(model(OTHERS.format(z=0.1, more=more, bits='contype="0" conaffinity="0"')), bodies="ball")
    sim.step(100)
    assert {sim.model.geom(g).name for c in sim.data.contact for g in c.geom} == {"crate", "ground"}
    assert sim.data.body("crate").xpos[2] == pytest.approx(0.1, abs=1e-3)
    assert sim.data.body("ball").xpos[2] < 0.117


def test_without_a_floor_the_rest_is_held_by_nothing_and_that_is_said():
    sim = on_soil(model(CART.format(joint="<freejoint/>", more="")), bodies="left|right")
    assert notes(sim, "no ground") == ["these bodies touch no ground: chassis; add them to `bodies` if they should"]


# ---- drives -----------------------------------------------------------------------------------------


def test_motors_are_driven_by_the_name_of_actuator_or_joint():
    spec = CART.format(joint="<freejoint/>", more="")
    sim = on_soil(model(spec), bodies="left|right", drive={"left": 0.4, "r": 7.0})
    np.testing.assert_allclose(sim.data.ctrl, [0.4, 7.0])
    assert notes(sim, "driven") == ["driven at 0.4: left", "driven at 7: r"]
    assert notes(sim, "clips") == ["actuator 'r' takes -2 to 2: MuJoCo clips 7 to that"]
    sim.step(5)
    sim.reset()
    np.testing.assert_allclose(sim.data.ctrl, [0.4, 7.0])


def test_a_drive_that_meets_nothing_names_what_there_is(tmp_path):
    spec = CART.format(joint="<freejoint/>", more="")
    assert refusal(model(spec), drive={"motr.*": 1.0}) == "drive: 'motr.*' matches none of the actuators left, r"
    axles = "axle_fl, axle_fr, axle_rl, axle_rr"
    path = urdf(tmp_path, rover_urdf())
    assert refusal(path, drive={"motor.*": 1.0}) == f"drive: 'motor.*' matches none of the joints without one {axles}"
    assert "drive: '(' is not a regular expression" in refusal(model(spec), drive={"(": 1.0})
    assert refusal(model(ball()), drive={".*": 1.0}).endswith("it has none that can be driven")


def test_a_joint_without_a_motor_gets_a_servo(tmp_path):
    sim = on_soil(urdf(tmp_path, rover_urdf()), bodies="wheel.*", drive={"axle_.l": 0.5, "axle_.r": 0.25})
    assert notes(sim, "servo") == [
        "joints 'axle_fl', 'axle_rl', 'axle_fr', 'axle_rr' got a velocity servo [rad/s], no limit"
    ]
    sim.step(100)
    np.testing.assert_allclose(sim.data.qvel[6:], [0.5, 0.25, 0.5, 0.25], rtol=0.01)


# ---- step, spacing, bodies, shapes --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("option", "step"),
    [
        ("", 5e-3),
        ('<option timestep="0.002"/>', 2e-3),
        ('<option timestep="0.01"/>', 5e-3),
        ('<option gravity="0 0 -3"/>', 5e-3),
    ],
)
def test_the_step_is_5_ms_or_what_the_model_says_where_that_is_less(option, step):
    sim = on_soil(model(ball().replace("<worldbody>", f"{option}<worldbody>", 1)))
    assert sim.step_size == step


def test_a_step_that_is_asked_for_is_taken():
    assert on_soil(model(ball()), step=1e-3).step_size == 1e-3


def test_a_light_body_gets_a_step_at_which_it_does_not_bounce():
    """A ball of 50 g let go on the ground stops where W z = int F dz: F = c z^(n+1), so (n+2)^(1/(n+1)) z_rest."""
    material, mass, radius = soil("dry-sand").replace(compression=1.0, k_c=0.0), 0.05, 0.08
    n = material.n
    at_rest = (mass * G * (n + 1) / (2 * np.pi * material.k_phi * radius)) ** (1 / (n + 1))
    expected = at_rest * (n + 2) ** (1 / (n + 1))
    sinkage = {}
    for step in (None, 5e-3, 2e-2):
        sim = on_soil(model(ball(height=radius, mass=mass, radius=radius)), material, step=step, settle=False)
        assert notes(sim, "'ball' is light for its size, and longer steps may throw it into the air")
        sim.step(round(1.0 / sim.step_size))
        sinkage[step] = float(sim.observe()["soil/sinkage"][0, 0])
    assert sinkage[None] == pytest.approx(expected, rel=LET_GO)
    assert sinkage[5e-3] == pytest.approx(expected, rel=LET_GO)
    assert sinkage[2e-2] == pytest.approx(expected, rel=LET_GO)


def test_small_bodies_get_a_finer_grid():
    assert on_soil(model(ball())).ground.spacing == 0.01
    small = on_soil(model(ball(height=0.012, radius=0.012, mass=0.1)), step=1e-3)
    assert small.ground.spacing == pytest.approx(0.006)
    assert notes(small, "spacing 6 mm, because body 'ball' is small")


FREE = '<mujoco><worldbody><body name="b"><freejoint/>{}</body></worldbody></mujoco>'


def test_a_body_too_thin_for_any_grid_that_is_chosen_says_what_to_give():
    sheet = FREE.format('<geom type="box" size="0.1 0.05 0.0004"/>')
    assert "allowed is a spacing of at most 1.6 mm if you give one" in refusal(model(sheet))
    assert on_soil(model(sheet), spacing=1.6e-3).ground.spacing == 1.6e-3


def test_a_body_with_a_huge_skin_is_refused_before_it_is_prepared():
    hall = (
        '<mujoco><worldbody><body name="hall"><freejoint/><geom type="box" size="4 4 2"/></body></worldbody></mujoco>'
    )
    assert refusal(model(hall)).startswith("body 'hall' has 256 m^2 of surface: allowed are 100 m^2")


ROD = FREE.format('<geom type="capsule" size="{} 0.2" density="8000"/>')


@pytest.mark.parametrize("radius", [0.004, 0.01])
def test_a_rod_on_its_end_does_not_slip_between_the_nodes(radius):
    sim = on_soil(model(ROD.format(radius)))
    assert sim.ground.spacing == pytest.approx(radius / 2)
    sim.step(round(1 / sim.step_size))
    assert sim.observe()["soil/sinkage"][0, 0] < 0.2


@pytest.mark.parametrize("shift", [0.0, 0.005])
def test_a_rod_of_two_cells_on_its_end_does_not_slip_between_the_nodes_either(shift):
    rod = model(ROD.format(0.01).replace('<body name="b">', f'<body name="b" pos="{shift} {shift} 0">'))
    sim = on_soil(rod, spacing=0.01)
    sim.step(round(1 / sim.step_size))
    assert sim.observe()["soil/sinkage"][0, 0] < 0.2


def test_gravity_is_the_models_own_or_as_given():
    weak = model(ball().replace("<worldbody>", '<option gravity="0 0 -1.5"/><worldbody>', 1))
    assert on_soil(weak).model.opt.gravity[2] == -1.5
    assert on_soil(weak, gravity=3.71).model.opt.gravity[2] == -3.71
    assert "gravity 3.71 m/s^2 (as given)" in on_soil(weak, gravity=3.71).notes
    assert "0 or more" in refusal(weak, gravity=-9.81)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"bodies": "wheel.*"}, ["'wheel.*' matches none of ball"]),
        ({"bodies": "("}, ["not a regular expression"]),
        ({"bodies": []}, ["bodies: none is given"]),
        ({"bodies": {"bell": wheel(0.1, 0.1)}}, ["bodies: 'bell' is not in the model; it has ball"]),
        ({"base": "loose"}, ["base: 'loose'", "auto, free, fixed"]),
        ({"keyframe": "home"}, ["keyframe 'home' is not known"]),
        ({"spacing": 0.5}, ["spacing: 0.5 m", "at most 0.48 m"]),
        ({"worlds": 0}, ["worlds = 0", "at least 1"]),
        ({"worlds": 1.5}, ["worlds = 1.5"]),
        ({"soil": None}, ["soil: None", "name of a soil"]),
        ({"bodies": None}, ["bodies: None", "a pattern"]),
        ({"bodies": {"ball": 0.1}}, ["bodies['ball']: 0.1", "Surface"]),
        ({"drive": ["motor=1"]}, ["drive: ['motor=1']"]),
        ({"drive": {"motor": float("nan")}}, ["drive['motor'] = nan"]),
        ({"drive": {"motor": "1"}}, ["drive['motor'] = '1'"]),
        ({"terrain": "dem.tif"}, ["terrain: 'dem.tif'", "grouser.terrain.load('dem.tif')"]),
        ({"terrain": np.zeros((4, 4))}, ["terrain: ndarray", "from_array"]),
        ({"options": {"erosion": False}}, ["options: dict", "SoilOptions"]),
        ({"place": "no"}, ["place: 'no'"]),
        ({"step": "1 ms"}, ["step: '1 ms'"]),
    ],
)
def test_what_cannot_be_is_refused(options, words):
    line = refusal(model(ball()), **options)
    for word in words:
        assert word in line


@pytest.mark.parametrize("axis", ["1 0 0", "0 1 0", "0 0 1", "0.6 0 0.8"])
def test_a_cylinder_that_turns_about_its_own_axis_is_a_wheel_whichever_way_it_lies(axis):
    text = f"""<mujoco><worldbody><body name="arm"><freejoint/><geom size=".1"/><body name="w" pos="1 0 0">
        <joint axis="{axis}"/><geom type="cylinder" size="0.2 0.05" zaxis="{axis}" pos="0.3 0.2 0.1"/></body></body>
        </worldbody></mujoco>"""
    surface = body_surface(model(text).compile(), "w")
    assert surface.width == pytest.approx(0.1)
    unit = np.array(axis.split(), float)
    away = surface.vertices - [0.3, 0.2, 0.1]
    along = away @ unit
    assert np.abs(along).max() == pytest.approx(0.05)
    assert np.linalg.norm(away - along[:, None] * unit, axis=1).max() == pytest.approx(0.2)
    centres, radii = surface.triangle_spheres[:, :3], surface.triangle_spheres[:, 3]
    for k, chunk in enumerate(range(0, len(surface.triangles), CHUNK)):
        corners = surface.vertices[np.unique(surface.triangles[chunk : chunk + CHUNK])]
        assert np.linalg.norm(corners - centres[k], axis=1).max() <= radii[k] * (1 + 1e-9)


@pytest.mark.parametrize(
    ("shape", "volume"),
    [
        ('type="sphere" size="0.1"', 4 / 3 * np.pi * 0.1**3),
        ('type="capsule" size="0.05 0.3"', np.pi * 0.05**2 * (0.6 + 0.2 / 3)),
        ('type="cylinder" size="0.1 0.04"', np.pi * 0.1**2 * 0.08),
        ('type="ellipsoid" size="0.1 0.2 0.05"', 4 / 3 * np.pi * 1e-3),
    ],
)
def test_round_shapes_are_closed_and_as_large_as_they_say(shape, volume):
    import trimesh

    text = f'<mujoco><worldbody><body name="b"><freejoint/><geom {shape}/></body></worldbody></mujoco>'
    surface = body_surface(model(text).compile(), "b")
    mesh = trimesh.Trimesh(surface.vertices, surface.triangles, process=False)
    assert mesh.is_watertight
    assert mesh.volume == pytest.approx(volume, rel=0.02)
    assert len(surface.vertices) < 5000
