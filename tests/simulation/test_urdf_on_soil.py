"""Robots from URDF files: links, base, meshes and where they are found, files that cannot be read."""

from __future__ import annotations

import struct
from pathlib import Path

import mujoco
import numpy as np
import pytest

from grouser import on_soil
from grouser.simulation.placement import GAP
from grouser.simulation.shapes import SAG, box
from tests.simulation.robots import lowest, notes, refusal, rover_urdf, urdf


def test_a_urdf_keeps_its_links_and_its_base_is_set_free_on_the_ground(tmp_path):
    sim = on_soil(urdf(tmp_path, rover_urdf()), bodies="wheel_.*", settle=False)
    names = [sim.model.body(b).name for b in range(sim.model.nbody)]
    assert names == ["world", "base_footprint", "base_link", "wheel_fl", "wheel_fr", "wheel_rl", "wheel_rr"]
    assert sim.model.jnt_type[0] == mujoco.mjtJoint.mjJNT_FREE
    assert notes(sim, "free joint") == ["body 'base_footprint' was fixed to the world and got a free joint"]
    assert lowest(sim, "wheel_fl") == pytest.approx(GAP, abs=SAG)
    assert notes(sim, "raised by 100 mm")
    assert all(surface.width == pytest.approx(0.06) for surface in sim.soil.surfaces.values())  # they are wheels


@pytest.mark.parametrize(("base", "free"), [("auto", False), ("fixed", False), ("free", True)])
def test_a_urdf_that_is_tied_to_a_link_called_world_stays_tied(tmp_path, base, free):
    leg = """<robot name="leg"><link name="world"/>
        <joint name="tie" type="fixed"><parent link="world"/><child link="hip"/><origin xyz="0 0 0.5"/></joint>
        <link name="hip"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>
        </inertial></link>
        <joint name="rail" type="prismatic"><parent link="hip"/><child link="foot"/><axis xyz="0 0 1"/>
        <limit lower="-1" upper="1" effort="10" velocity="1"/></joint><link name="foot"><inertial><mass value="2"/>
        <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
        <collision><geometry><box size="0.2 0.1 0.04"/></geometry></collision></link></robot>"""
    sim = on_soil(urdf(tmp_path, leg), bodies="foot", base=base)
    assert (sim.model.nv == 7) is free
    if not free:
        assert notes(sim, "stays fixed") == [
            "body 'hip' is fixed to the world and stays fixed (base = free gives it a free joint)"
        ]


INERTIAL = """<inertial><mass value="{}"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>"""


def cart_with(base: str = "", plate: str = "", wheel: str = "", hub: str = "", compiler: str = "") -> str:
    """A base with a plate fixed on it and a wheel with a hub fixed on it; all have shapes, masses are what is given."""

    def link(name: str, mass: str, shape: str = '<box size="0.4 0.3 0.1"/>') -> str:
        inertial = INERTIAL.format(mass) if mass else ""
        return f'<link name="{name}">{inertial}<collision><geometry>{shape}</geometry></collision></link>'

    def joint(kind: str, parent: str, child: str, at: str) -> str:
        return (f'<joint name="to_{child}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
                f'<origin xyz="{at}"/><axis xyz="0 1 0"/></joint>')  # fmt: skip

    ball = '<sphere radius="0.1"/>'
    return f"""<robot name="cart">{f"<mujoco><compiler {compiler}/></mujoco>" if compiler else ""}
        {link("base", base)}{joint("fixed", "base", "plate", "0 0 0.2")}{link("plate", plate)}
        {joint("continuous", "base", "wheel", "0 0 -0.2")}{link("wheel", wheel, ball)}
        {joint("fixed", "wheel", "hub", "0 0 0")}{link("hub", hub, '<sphere radius="0.05"/>')}</robot>"""


def test_a_link_without_inertial_has_no_mass_and_the_weight_is_said(tmp_path):
    sim = on_soil(urdf(tmp_path, cart_with(base="12", wheel="3")), bodies="wheel", gravity=10.0)
    assert {sim.model.body(b).name: sim.model.body_mass[b] for b in range(1, sim.model.nbody)} == {
        "base": 12.0, "plate": 0.0, "wheel": 3.0, "hub": 0.0,
    }  # fmt: skip
    assert notes(sim, "no mass") == ["no mass: plate, hub (the file gives none, and none is assumed)"]
    assert notes(sim, "weight") == ["mass 15 kg, weight 150 N"]
    sim.step(10)


def test_a_moving_link_may_have_its_mass_from_a_link_that_is_fixed_to_it(tmp_path):
    sim = on_soil(urdf(tmp_path, cart_with(plate="12", hub="3")), bodies="wheel")
    assert sim.model.body_subtreemass[sim.model.body("base").id] == 15.0
    sim.step(10)


NO_MASS = (
    "link {!r} moves (joint {!r}) and has no mass: give it, or a link fixed to it, an <inertial> with a mass above 0"
)


@pytest.mark.parametrize(
    ("masses", "line"),
    [
        ({"base": "12"}, NO_MASS.format("wheel", "to_wheel")),
        ({"base": "12", "wheel": "0"}, NO_MASS.format("wheel", "to_wheel")),
        ({"wheel": "3"}, NO_MASS.format("base", "base")),
        (
            {"base": "12", "wheel": "3", "hub": "-1"},
            "link 'hub' has a mass of -1 kg: allowed is a finite number, 0 or more",
        ),
        ({"base": "12", "wheel": "nan"}, "link 'wheel' has a mass of nan kg: allowed is a finite number, 0 or more"),
    ],
)
def test_a_moving_link_without_any_mass_is_refused_by_name(tmp_path, masses, line):
    assert refusal(urdf(tmp_path, cart_with(**masses)), bodies="wheel") == line


def test_masses_a_urdf_asks_mujoco_for_are_made(tmp_path):
    """MuJoCo's own section says so in the file: nothing is made up behind the user's back."""
    bound = cart_with(base="12", compiler='boundmass="0.5" boundinertia="0.01"')
    sim = on_soil(urdf(tmp_path, bound), bodies="wheel")
    assert sim.model.body("wheel").mass == 0.5
    assert notes(sim, "no mass") == ["no mass: plate, wheel, hub (the file gives none; its boundmass makes it 0.5 kg)"]
    volume = cart_with(base="12", compiler='inertiafromgeom="auto"')
    sphere = 1000 * 4 / 3 * np.pi * 0.1**3
    assert on_soil(urdf(tmp_path, volume), bodies="wheel").model.body("wheel").mass == pytest.approx(sphere)


def write_stl(path: Path, triangles: np.ndarray) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    body = b"".join(struct.pack("<12fH", 0, 0, 0, *t.reshape(-1), 0) for t in triangles.astype(np.float32))
    path.write_bytes(bytes(80) + struct.pack("<I", len(triangles)) + body)


def block(mesh: str, kind: str = "collision", more: str = "") -> str:
    return f"""<robot name="block"><link name="block"><inertial><mass value="5"/>
        <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
        <{kind}><geometry><mesh filename="{mesh}"/></geometry></{kind}>{more}</link></robot>"""


@pytest.mark.parametrize(
    "written",
    ["package://my_robot/meshes/block.stl", "model://my_robot/meshes/block.stl", "../meshes/block.stl",
     "{folder}/my_robot/meshes/block.stl", "file://{folder}/my_robot/meshes/block.stl"],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["collision", "visual"])
def test_meshes_of_a_urdf_are_found_and_looks_serve_where_there_is_no_other_shape(tmp_path, written, kind):
    vertices, triangles = box(np.array([0.1, 0.08, 0.05]))
    write_stl(tmp_path / "my_robot/meshes/block.stl", vertices[triangles])
    path = urdf(tmp_path, block(written.format(folder=tmp_path), kind), "my_robot/urdf/block.urdf")
    surface = on_soil(path).soil.surfaces["block"]
    np.testing.assert_allclose(np.ptp(surface.vertices, axis=0), [0.2, 0.16, 0.1], atol=1e-6)


def test_meshes_are_found_in_the_packages_of_ros_too(tmp_path, monkeypatch):
    vertices, triangles = box(np.full(3, 0.1))
    write_stl(tmp_path / "ws/arm/block.stl", vertices[triangles])
    monkeypatch.setenv("ROS_PACKAGE_PATH", f"/nowhere:{tmp_path / 'ws'}")
    assert on_soil(urdf(tmp_path, block("package://arm/block.stl"), "elsewhere/a.urdf")).soil.bodies == ("block",)


def test_a_mesh_that_is_only_looked_at_need_not_be_there(tmp_path):
    more = '<visual><geometry><mesh filename="package://x/shiny.dae"/></geometry></visual>'
    text = block("unused.stl").replace('<mesh filename="unused.stl"/>', '<box size="0.2 0.2 0.2"/>')
    assert on_soil(urdf(tmp_path, text.replace("</link>", more + "</link>"))).soil.bodies == ("block",)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (block("package://a/b.stl"), ["mesh 'package://a/b.stl' of link 'block'", "ROS_PACKAGE_PATH"]),
        (block("block.stl"), ["mesh 'block.stl' of link 'block'", "the file is missing"]),
        (block("block.dae"), ["mesh 'block.dae' of link 'block'", ".stl, .obj, .msh"]),
        ('<robot xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:include filename="a"/></robot>', ["xacro"]),
        ("<robot><link></robot>", ["robot.urdf"]),
        ("<sdf version='1.7'/>", ["robot.urdf"]),
    ],
)  # fmt: skip
def test_a_urdf_that_cannot_be_read_is_told_in_one_line(tmp_path, text, words):
    line = refusal(urdf(tmp_path, text))
    for word in words:
        assert word in line
