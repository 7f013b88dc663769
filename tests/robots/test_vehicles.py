"""Vehicle files: the built-in ones, a user's own with tyre file, mesh and texture, and what is wrong in them."""

import math

import mujoco
import numpy as np
import pytest
from PIL import Image

from grouser.contact.tyre.tir import read_tir
from grouser.errors import InputError
from grouser.robots.vehicle import add_ground, build
from grouser.robots.vehicle_file import FOLDER, builtin_vehicles, read_vehicle, vehicle
from grouser.simulation import Simulation
from grouser.terrain.generators import flat

TIR = """$ a tyre
[MODEL]
FITTYP = 52 $ Magic Formula
[DIMENSION]
UNLOADED_RADIUS = 0.344 $Free tyre radius
WIDTH = 0.235
[VERTICAL]
FNOMIN = 4850
VERTICAL_STIFFNESS = 2.1e+005
VERTICAL_DAMPING = 50
[LONGITUDINAL_COEFFICIENTS]
PCX1 = 1.6
PDX1 = 1.1
PDX2 = -0.08
PEX1 = 0.1
PKX1 = 22.0
PTX1 = 2.3
[LATERAL_COEFFICIENTS]
PCY1 = 1.3
PDY1 = -0.95
PDY2 = 0.2
PEY1 = -0.8
PKY1 = -20.0
PKY2 = 1.8
PTY1 = 2.0
PTY2 = 2.2
[ROLLING_COEFFICIENTS]
QSY1 = 0.01
"""
OBJ = """mtllib car.mtl
v 0 0 0
v 0.4 0 0
v 0 0.3 0
v 0 0 0.2
usemtl red
f 1 3 2
f 1 2 4
usemtl grey
f 1 4 3
f 2 3 4
"""
MTL = "newmtl red\nKd 1 0 0\nnewmtl grey\nKd 0.5 0.5 0.5\n"


@pytest.mark.parametrize("name", builtin_vehicles())
def test_a_built_in_vehicle_stands(name):
    v = vehicle(name)
    terrain = flat(size=(20, 20))
    spec = build(v, position=(0, 0, v.rest_height()))
    add_ground(spec, terrain)
    sim = Simulation(spec, [v.module(terrain)], step=1e-3)
    sim.step(2000)
    loads = sim.modules[0].observe()["force"][0, :, 2]
    assert loads.sum() == pytest.approx(v.chassis.mass * 9.81, rel=1e-4)
    assert (loads > 0).all()
    assert sim.data.xmat[sim.model.body("chassis").id][8] > 0.99
    shown = sim.channels()[0].read()[0]  # recorded wheels stand on the ground, not in it
    wheels = [sim.recorded_bodies.index(body) for body in v.bodies]
    np.testing.assert_allclose(shown[wheels, 2], v.tyre.radius, atol=1e-3)


@pytest.mark.parametrize("name", builtin_vehicles())
def test_the_centre_of_mass_is_the_frame_of_the_chassis(name):
    v = vehicle(name)
    model = build(v, position=(1.0, 2.0, 3.0)).compile()
    assert model.body_mass.sum() == pytest.approx(v.chassis.mass, rel=1e-6)
    assert np.abs(model.body_ipos).max() == 0.0
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    np.testing.assert_allclose(data.subtree_com[0], [1.0, 2.0, 3.0], atol=1e-6)


def test_the_names():
    assert builtin_vehicles() == ["her", "vivi"]
    assert len(vehicle("her").wheels) == 6
    assert [len(axle) for axle in vehicle("her").axles] == [2, 2, 2]
    with pytest.raises(InputError, match="vehicle 'vivo' is not known; allowed: her, vivi, or a YAML file"):
        vehicle("vivo")


def test_a_tyre_file(tmp_path):
    file = tmp_path / "car.tir"
    file.write_text(TIR)
    tyre = read_tir(file)
    assert (tyre.radius, tyre.load, tyre.p_Cx1, tyre.p_Dx2) == (0.344, 4850, 1.6, -0.08)
    assert (tyre.p_Dy1, tyre.p_Dy2, tyre.p_Ky1) == (0.95, -0.2, 20.0)  # turned round with the sign of slip
    assert tyre.p_Ex2 == 0.0  # what the file does not have is nil, not that of another tyre
    assert tyre.relaxation_x == pytest.approx(2.3 * 0.344)
    assert tyre.relaxation_y == pytest.approx(2.0 * math.sin(2 * math.atan(1 / 2.2)) * 0.344)
    assert float(tyre.longitudinal(1e-6)) == pytest.approx(22.0 * 4850 * 1e-6, rel=1e-4)
    small = tyre.scaled(0.172, 400.0)
    assert small.relaxation_x == pytest.approx(tyre.relaxation_x / 2)
    file.write_text("[UNITS]\nLENGTH = 'meter'\nFORCE = 'newton'\n" + TIR)
    assert read_tir(file) == tyre
    file.write_text("[UNITS]\nLENGTH = 'mm'\n" + TIR)
    with pytest.raises(InputError, match=r"car\.tir: LENGTH = 'mm': allowed is meter"):
        read_tir(file)
    file.write_text("[LONGITUDINAL_COEFFICIENTS]\nPCX1 = 1.6\n")
    with pytest.raises(InputError, match=r"car\.tir: lacks UNLOADED_RADIUS, FNOMIN"):
        read_tir(file)


def own(folder, change=lambda text: text):
    text = (FOLDER / "vivi.yaml").read_text()
    file = folder / "mine.yaml"
    file.write_text(change(text))
    return file


def test_a_vehicle_with_tyre_file_mesh_and_texture(tmp_path):
    (tmp_path / "car.tir").write_text(TIR)
    (tmp_path / "car.obj").write_text(OBJ)
    (tmp_path / "car.mtl").write_text(MTL)
    Image.new("RGB", (8, 8), (20, 90, 40)).save(tmp_path / "skin.png")

    def change(text):
        head, rest = text.split("tyre:", 1)
        after = "motor:" + rest.split("motor:", 1)[1]
        looks = "looks: {chassis: car.obj, texture: skin.png, texture_scale: 3}\n"
        return head + "tyre: {file: car.tir, radius: 0.15, load: 196}\n" + after.split("looks:")[0] + looks

    v = read_vehicle(own(tmp_path, change))
    assert v.tyre.p_Cx1 == 1.6
    assert v.tyre.radius == 0.15
    model = build(v).compile()
    colours = {model.mat(k).name: model.mat_rgba[k] for k in range(model.nmat)}
    assert [round(float(c), 2) for c in colours["chassis_0"][:3]] in ([1, 0, 0], [0.5, 0.5, 0.5])
    assert model.mat_texrepeat[mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_MATERIAL, "skin")][0] == 3
    assert model.nmesh == 2
    assert model.ntex == 1


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            lambda t: t.replace("mass: 80.0", "mass: -80.0"),
            "mine.yaml: chassis: mass = -80.0: allowed is a finite number",
        ),
        (lambda t: t.replace("mass: 80.0", "masss: 80.0"), "field 'masss' is not known, did you mean 'mass'"),
        (lambda t: t.replace("chassis:", "chasis:"), "vehicle: field 'chasis' is not known, did you mean 'chassis'"),
        (lambda t: t.replace("  stiffness: 10000.0", ""), "suspension: lacks 'stiffness'"),
        (lambda t: t.replace("steering: skid", "steering: ackermann"), "no wheel has a steer_limit_deg above 0"),
        (lambda t: t.replace("steering: skid", "steering: crab"), "steering 'crab' is not known"),
        (lambda t: t.replace("name: fr", "name: fl"), "each name once"),
        (lambda t: t.replace("x: -0.36", "x: 0.5"), "wheels in front of and behind the centre of mass"),
        (lambda t: t.replace("  mu: 0.7", ""), "tyre: lacks mu"),
        (lambda t: t.replace("x: -0.36", "x: back"), "wheel 'r[lr]': x = 'back': allowed is a finite number"),
        (lambda t: t.replace("  mu: 0.7", "  mu: low"), "tyre: mu = 'low': allowed is a finite number"),
        (lambda t: "wheels: [", "not readable as YAML"),
        (lambda t: t.replace("  colour:", "  chassis: none.obj\n  colour:"), "chassis .*none.obj"),
    ],
)
def test_bad_input_is_refused(tmp_path, change, says):
    with pytest.raises(InputError, match=says):
        build(read_vehicle(own(tmp_path, change)))


@pytest.mark.parametrize("part", ["motor", "battery", "looks", "chassis", "suspension"])
@pytest.mark.parametrize("value", ["5", "[1]", "text", "true"])
def test_a_part_that_is_no_mapping(tmp_path, part, value):
    text = (FOLDER / "vivi.yaml").read_text()
    head, _, rest = text.partition(f"\n{part}:")
    kept = rest.partition("\n")[2].splitlines(keepends=True) if rest else []
    while kept and kept[0].startswith((" ", "#")):
        kept.pop(0)
    file = tmp_path / "mine.yaml"
    file.write_text(f"{head}\n{part}: {value}\n{''.join(kept)}")
    with pytest.raises(InputError, match=rf"{part} = .*: allowed is a mapping"):
        read_vehicle(file)
