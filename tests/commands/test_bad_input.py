"""Bad input to the real scenarios and to `on_soil`: one clear line, exit 2, nothing written."""

from __future__ import annotations

import struct
import warnings
from pathlib import Path

import mujoco
import numpy as np
import pytest

import grouser
from grouser.cli import status
from grouser.contact.soil.surface import prepare, wheel
from grouser.errors import LEFT_OUT, MOST_LINES, InputError
from grouser.scenarios import registry
from grouser.simulation import on_soil
from grouser.terrain import ElevationGrid, flat, soil
from grouser.terrain.polyhedra import hull
from tests.commands import fake_rig


def error_line(arguments: list[str], capsys) -> str:
    """The one line on stderr of a command that must refuse, without a warning of NumPy's beside it."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        assert status(arguments) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("error: ")
    assert captured.err.count("\n") == 1, captured.err
    assert "Traceback" not in captured.err
    return captured.err.removeprefix("error: ").rstrip("\n")


@pytest.mark.parametrize("scenario", ["single-wheel", "plate-sinkage"])
@pytest.mark.parametrize(
    ("option", "allowed"),
    [
        ("soil.k_phi=0", "above 0"), ("soil.k_phi=-1e6", "above 0"), ("soil.n=-1", "above 0"), ("soil.n=0", "above 0"),
        ("soil.k_c=-1", "at least 0"), ("soil.shear_modulus=0", "above 0"), ("soil.cohesion=-5", "at least 0"),
        ("soil.elastic_stiffness=0", "above 0"), ("soil.friction_angle_deg=90", "below 90"),
        ("soil.wheel_friction=-0.1", "at least 0"), ("soil.n=nan", "finite"), ("soil.k_phi=stiff", ""),
    ],
)  # fmt: skip
def test_soil_constants_that_cannot_be(tmp_path, monkeypatch, capsys, scenario, option, allowed):
    monkeypatch.chdir(tmp_path)
    line = error_line(["run", scenario, "--out", "out", "--set", option], capsys)
    assert line.startswith(f"--set {option}: ")
    assert allowed in line
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["single-wheel", "--set", "spacing=0.4"], ["spacing: 0.4 m", "at least 4 x 4"]),
        (["viking-rocks", "--set", "rocks.law=power", "--set", "rocks.exponent=300"], ["densities[0] = inf", "finite"]),
        (
            ["viking-rocks", "--set", "rocks.law=table", "--set", "rocks.table=[[0.1, 1e15], [0.2, 1]]"],
            ["2.256e+16 rocks", "20000"],
        ),
        (["viking-rocks", "--set", "rocks.table=[[0.1, 1e300]]"], ["magnitude"]),
        (["robot", "--set", "drive={'motor.*': 1e300}"], ["magnitude"]),
        (["vivi-acceleration", "--set", "gravity=1e-6"], ["torques = 2.5 N m", "tyres"]),
        (["single-wheel", "--set", "spacing=0.15"], ["spacing: 0.15 m", "'wheel'", "0.3 m"]),
        (["single-wheel", "--set", "spacing=0.06", "--set", "wheel.width=0.05"], ["spacing: 0.06 m", "0.05 m"]),
        (["plate-sinkage", "--set", "spacing=0.5"], ["spacing: 0.5 m"]),
        (["single-wheel", "--set", "spacing=0"], ["spacing=0", "greater than 0"]),
        (["single-wheel", "--set", "spacing=1e-9"], ["spacing: 1e-09 m", "nodes", "larger spacing"]),
        (["robot", "--set", "spacing=1e-6"], ["spacing: 1e-06 m", "larger spacing"]),
        (["single-wheel", "--set", "step=-0.001"], ["step=-0.001", "greater than 0"]),
        (["single-wheel", "--set", "wheel.radius=0"], ["wheel.radius=0", "greater than 0"]),
        (["single-wheel", "--set", "wheel.radius=15"], ["wheel.radius=15", "less than or equal to 5"]),
        (["single-wheel", "--set", "wheel.grouser_height=0.01"], ["grouser_height 0.01 m", "grouser_count"]),
        (["single-wheel", "--set", "wheel.grouser_count=24"], ["grouser_count 24", "grouser_height"]),
        (
            ["single-wheel", "--set", "wheel={grouser_count: 24, grouser_height: 0.2}"],
            ["grouser_height 0.2 m", "radius of 0.15 m"],
        ),
        (
            ["single-wheel", "--set", "wheel={grouser_count: 24, grouser_height: 0.01, grouser_width: 0.05}"],
            ["24 grousers of 0.05 m", "round a rim of 0.942 m"],
        ),
        (["multi-pass", "--set", "declination_deg=1e-12"], ["declination_deg = 1e-12", "allowed are 200000000"]),
        (["multi-pass", "--set", "grouser_width=0.1"], ["12 grousers of 0.1 m", "round a rim of 0.942 m"]),
        (["single-wheel", "--set", "load=-10"], ["load=-10", "greater than 0"]),
        (["single-wheel", "--set", "compression=1.5"], ["compression=1.5", "less than or equal to 1"]),
        (["single-wheel", "--set", "sinkgae=1"], ["sinkgae", "unknown field"]),
        (["single-wheel", "--set", "wheel.radios=0.1"], ["wheel.radios", "unknown field", "'radius'"]),
        (["single-wheel", "--set", "soil.k_fi=1"], ["soil.k_fi", "unknown field", "'k_phi'"]),
        (["single-wheel", "--set", "soil=dry-snd"], ["dry-snd", "'dry-sand'"]),
        (["single-wheel", "--set", "mode=pushed"], ["mode=pushed", "allowed: towed, driven"]),
        (["single-wheel", "--set", "soil.file=none.yaml"], ["none.yaml"]),
        (["single-wheel", "--set", "wheel.grouser_count=2.5"], ["wheel.grouser_count=2.5: must be an integer"]),
        (["robot", "--bodies", "wheel.*", "--time", "1e-6"], ["1e-06 s", "at least one step, 0.005 s"]),
        (["single-wheel", "--set", "soil.name=[]"], ["soil.name=[]", "must be a string"]),
        (["single-wheel", "--set", "step=1e-300"], ["step=1e-300", "from 1e-15 to 1e+15"]),
        (["single-wheel", "--set", "step=1e-12"], ["step: 1e-12 s", "at least 1e-07 s"]),
        (["bulldozer-ditch", "--set", "time=1e12"], ["1e+12 s", "1e+15 steps", "allowed are 1e+10 steps"]),
        (["vivi-jump", "--set", "angles_deg=[]"], ["angles_deg=[]", "at least 1"]),
        (["vivi-acceleration", "--set", "torques=[]"], ["torques=[]", "at least 1"]),
        (["exomars-gradeability", "--set", "approach=1e308"], ["approach=1e308", "from 1e-15 to 1e+15"]),
        (["exomars-drawbar", "--set", "rover.wheel_width=1e6"], ["wheel_width = 1000000.0", "at most 10"]),
        (["exomars-drawbar", "--set", "rover.grouser_count=1000000"], ["grouser_count = 1000000", "at most 200"]),
        (["docking-olev", "--set", "machine.client_inertia_y=1e6"], ["'olev'", "A + B >= C", "client"]),
        (["docking-olev", "--set", "machine.client_half_height=1e6"], ["machine: no bending modes", "masses"]),
        (["viking-rocks", "--set", "rocks.longest_edge=1e-12"], ["longest_edge", "allowed are 10000000;"]),
        (["missing.yaml"], ["missing.yaml: not readable"]),
        (["cart.xml"], ["cart.xml", "--robot cart.xml"]),
        (["cart.urdf"], ["cart.urdf", "--robot cart.urdf"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)  # fmt: skip
def test_settings_that_cannot_be(tmp_path, monkeypatch, capsys, arguments, words):
    monkeypatch.chdir(tmp_path)
    line = error_line(["run", *arguments, "--out", "out"], capsys)
    for word in words:
        assert word in line
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("scenario: single-wheel\nsettings: {slip: [\n", ["wheel.yaml:"]),
        ("scenario: single-wheel\nsettings:\n\tslip: 0.1\n", ["wheel.yaml:3:1"]),
        ("scenario: single-wheel\nsettings:\n  spaceing: 0.01\n", ["wheel.yaml:3:3", "spaceing", "'spacing'"]),
        ("scenario: single-wheel\nsettings:\n  soil: {name: clay, n: -1}\n", ["wheel.yaml:3:", "soil.n", "above 0"]),
        ("scenario: single-whel\n", ["wheel.yaml:1:11", "'single-wheel'"]),
        ("- 1\n", ["wheel.yaml"]),
        ("", ["wheel.yaml"]),
    ],
    ids=["never closed", "tab", "misspelt", "soil constant", "scenario", "a list", "nothing"],
)
def test_files_that_cannot_be_read_name_the_place(tmp_path, monkeypatch, capsys, text, words):
    monkeypatch.chdir(tmp_path)
    Path("wheel.yaml").write_text(text, encoding="utf-8")
    line = error_line(["run", "wheel.yaml", "--out", "out"], capsys)
    for word in words:
        assert word in line
    assert [file.name for file in tmp_path.iterdir()] == ["wheel.yaml"]


def test_bytes_that_are_no_text(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("wheel.yaml").write_bytes(b"\xff\xfe\x00scenario")
    assert "wheel.yaml" in error_line(["run", "wheel.yaml", "--out", "out"], capsys)
    assert not Path("out").exists()


def test_results_are_not_mixed_with_those_of_another_run(tmp_path, capsys):
    out = tmp_path / "out"
    out.mkdir()
    (out / "notes.txt").write_text("mine")
    line = error_line(["run", "single-wheel", "--out", str(out)], capsys)
    assert line.startswith(f"--out {out}: not empty")
    assert [file.name for file in out.iterdir()] == ["notes.txt"]


# ---- robots and ground -------------------------------------------------------------------------------


def stl(path: Path, triangles: np.ndarray) -> Path:
    """A binary STL file."""
    body = b"".join(struct.pack("<12fH", 0, 0, 0, *t.reshape(-1), 0) for t in triangles.astype(np.float32))
    path.write_bytes(bytes(80) + struct.pack("<I", len(triangles)) + body)
    return path


def cube(size: float = 0.1) -> np.ndarray:
    from grouser.simulation.shapes import box

    vertices, triangles = box(np.full(3, size))
    return vertices[triangles]


def robot_with_mesh(folder: Path, triangles: np.ndarray) -> Path:
    stl(folder / "foot.stl", triangles)
    file = folder / "robot.xml"
    file.write_text(
        '<mujoco><asset><mesh name="foot" file="foot.stl"/></asset><worldbody><body name="foot" pos="0 0 1">'
        '<freejoint/><geom type="mesh" mesh="foot" mass="1"/></body></worldbody></mujoco>'
    )
    return file


def refusal(make) -> str:
    with pytest.raises(InputError) as caught:
        make()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_mesh_that_is_fine_is_taken(tmp_path):
    """So that the refusals below are about what is wrong with the others."""
    assert on_soil(robot_with_mesh(tmp_path, cube()), "clay").modules[0].bodies == ("foot",)


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_a_mesh_with_a_hole_in_its_numbers(tmp_path, wrong):
    triangles = cube()
    triangles[3, 1, 2] = wrong
    line = refusal(lambda: on_soil(robot_with_mesh(tmp_path, triangles), "clay"))
    assert "robot.xml" in line or "foot" in line


def test_a_run_names_the_file_of_a_robot_with_a_bad_mesh(tmp_path, capsys):
    triangles = cube()
    triangles[3, 1, 2] = np.nan
    file = robot_with_mesh(tmp_path, triangles)
    line = error_line(["run", "--robot", str(file), "--out", str(tmp_path / "out")], capsys)
    assert line.startswith(f"robot '{file}': ")
    assert not (tmp_path / "out").exists()


def test_an_empty_mesh(tmp_path):
    line = refusal(lambda: on_soil(robot_with_mesh(tmp_path, np.zeros((0, 3, 3))), "clay"))
    assert "foot" in line


def falling_ball(radius: float = 0.1) -> mujoco.MjSpec:
    return mujoco.MjSpec.from_string(
        f'<mujoco><worldbody><body name="ball" pos="0 0 1"><freejoint/><geom size="{radius}"/></body>'
        '<body name="ghost" pos="0 0 2"><freejoint/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/></body>'
        "</worldbody></mujoco>"
    )


def two_hinges() -> mujoco.MjSpec:
    """A wheel on two hinges about one axis, as where a closing tag is lost."""
    hinges = "".join(f'<joint name="{name}" axis="0 1 0"/>' for name in ("one", "other"))
    wheel = f'<body name="wheel" pos="0 0 0">{hinges}<geom type="sphere" size="0.1" mass="1"/></body>'
    return mujoco.MjSpec.from_string(
        f'<mujoco><worldbody><body name="hull" pos="0 0 1"><freejoint/><geom type="box" size=".1 .1 .01" mass="1"/>'
        f"{wheel}</body></worldbody></mujoco>"
    )


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: on_soil("no-such-robot.xml"), ["no-such-robot.xml"]),
        (lambda: on_soil(falling_ball(), "clay", ["bal"]), ["'bal'", "ball"]),
        (lambda: on_soil(falling_ball(), "clay", "wheel_.*"), ["wheel_.*", "ball"]),
        (lambda: on_soil(two_hinges(), "clay", ["wheel"]), ["'one', 'other'", "without moving any mass"]),
        (lambda: on_soil(falling_ball(), "clay", ["ghost"]), ["'ghost'", "no shape"]),
        (lambda: on_soil(falling_ball(), "clya"), ["clya", "'clay'"]),
        (
            lambda: on_soil(falling_ball(), "clay", ["ball"], spacing=0.45),
            ["spacing: 0.45 m", "'ball'", "at most 0.4 m"],
        ),
        (
            lambda: on_soil(falling_ball(), "clay", ["ball"], spacing=5e-5),
            ["'ball'", "4000 cells", "larger spacing"],
        ),
        (lambda: on_soil(falling_ball(100.0), "clay", ["ball"]), ["'ball'", "200 m large", "in metres?"]),
        (lambda: on_soil(falling_ball(), "clay", ["ball"], step=0.0), ["step: 0"]),
        (lambda: on_soil(falling_ball(), "clay", ["ball"], dtype="half"), ["'half'", "float64"]),
        (lambda: grouser.run("single-wheel", spacing=1.0, out="never"), ["spacing: 1"]),
        (lambda: ElevationGrid(np.full((3, 3), np.nan), 0.1, (0, 0)), ["height nan", "row 0, column 0"]),
        (lambda: flat(size=(1, 1), spacing=-1.0), ["spacing"]),
        (lambda: hull([(x, y, 1e-13 * z) for x in (0, 1) for y in (0, 1) for z in (0, 1)], "stair"), ["stair: "]),
        (lambda: wheel(0.2, 1e6), ["wheel.width: 1000000.0 m", "at most 20"]),
        (lambda: prepare(cube().reshape(-1, 3), np.arange(36), longest_edge=1e-9), ["allowed are 1000000;"]),
        (
            lambda: grouser.run("single-wheel", settings={"soil.friction_angle_deg": 0}, out="never"),
            ["friction or repose angle of 0", "erosion = False"],
        ),
        # Long thin triangles: their area says 200,000 pieces, halved edges make many more.
        (
            lambda: grouser.run("plate-sinkage", settings={"plate.width": 180}, out="never"),
            ["mesh of 'plate'", "allowed are 1000000;"],
        ),
        (lambda: soil("dry-sand").replace(k_phi=float("nan")), ["k_phi", "nan"]),
    ],
)
def test_robots_and_ground_that_cannot_be(tmp_path, monkeypatch, make, words):
    monkeypatch.chdir(tmp_path)
    line = refusal(make)
    for word in words:
        assert word in line
    assert list(tmp_path.iterdir()) == []


def test_a_robot_file_mujoco_cannot_read(tmp_path):
    (tmp_path / "robot.xml").write_text("<mujoco><worldbody><body>")
    assert "robot.xml" in refusal(lambda: on_soil(tmp_path / "robot.xml"))


MJCF = (
    '<mujoco><worldbody><body name="b" pos="0 0 1"><freejoint/>{}<geom name="g" size="0.1" {}/></body></worldbody>'
    "</mujoco>"
)
OPTION = MJCF.format("", "").replace("<worldbody>", "<option {}/><worldbody>")
INERTIAL = '<inertial pos="0 0 0" mass="{}" diaginertia="1 1 {}"/>'
URDF = (
    '<robot name="r"><link name="l"><inertial><mass value="{}"/><inertia ixx="1" iyy="1" izz="{}" ixy="0" ixz="0" '
    'iyz="0"/></inertial><collision><geometry><sphere radius="0.1"/></geometry></collision></link></robot>'
)


@pytest.mark.parametrize(
    "text",
    [
        MJCF.format("", 'mass="nan"'), MJCF.format("", 'mass="inf"'), MJCF.format("", 'mass="1e308"'),
        MJCF.format("", 'friction="nan 0 0"'), MJCF.format("", 'pos="inf 0 0"'),
        MJCF.format(INERTIAL.format("nan", 1), ""), MJCF.format(INERTIAL.format(1, "nan"), ""),
        OPTION.format('gravity="0 0 -inf"'), OPTION.format('gravity="0 0 -1e308"'),
        OPTION.format('wind="1e200 0 0"'),
        MJCF.format(INERTIAL.format("inf", 1), ""), URDF.format("nan", 1), URDF.format(1, "nan"), URDF.format("inf", 1),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_robots_with_numbers_that_are_none(tmp_path, capfd, text):
    file = tmp_path / "robot.xml"
    file.write_text(text)
    line = refusal(lambda: on_soil(file, "clay"))
    assert "finite" in line or "inertia" in line
    assert capfd.readouterr() == ("", "")
    assert not (tmp_path / "MUJOCO_LOG.TXT").exists()


@pytest.mark.parametrize(("head", "entry"), [("settings:", "  k{}: 1"), ("", "k{}: 1"), ("soils:", "  k{}: {{n: x}}")])
def test_of_many_mistakes_the_first_are_told(tmp_path, capsys, head, entry):
    file = tmp_path / "many.yaml"
    file.write_text("\n".join(["scenario: single-wheel", head, *(entry.format(n) for n in range(2000))]))
    assert status(["run", str(file), "--out", str(tmp_path / "out")]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith(f"error: {file}:3:")
    assert "k0" in lines[0]
    assert len(lines) == MOST_LINES + 1
    assert lines[-1] == f"error: {LEFT_OUT}"


LONG = "x" * 3000  # more than a file system allows in a name


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", LONG], ["run", f"{LONG}.yaml"], ["run", "single-wheel", "--out", LONG],
        ["run", "single-wheel", "--set", f"soil.file={LONG}"], ["run", "vivi-ramp", "--set", f"vehicle={LONG}"],
        ["run", "rover-course", "--set", f"terrain={LONG}.tif"], ["run", "--robot", LONG, "--bodies", "a"],
        ["run", "--continue", LONG], ["report", LONG], ["view", LONG], ["export", LONG], ["repair", LONG],
        ["sweep", LONG], ["identify", LONG],
    ],
    ids=lambda arguments: " ".join(arguments).replace(LONG, "LONG"),
)  # fmt: skip
def test_names_longer_than_any_file(tmp_path, monkeypatch, capsys, arguments):
    monkeypatch.chdir(tmp_path)
    error_line(arguments, capsys)
    assert list(tmp_path.iterdir()) == []


def test_a_vehicle_with_a_name_longer_than_any_file():
    with pytest.raises(InputError, match="is not known"):
        grouser.run("vivi-jump", vehicle=LONG)


def test_a_folder_whose_name_is_no_text(tmp_path, monkeypatch):
    """Linux allows any bytes. The report shows a question mark."""
    monkeypatch.setattr(registry, "NAMES", registry.NAMES)
    fake_rig.install()
    out = tmp_path / "\udcff"
    assert status(["run", "fake-rig", "--out", str(out)]) in (0, 1)
    assert (out / "report.html").read_text(encoding="utf-8").rstrip().endswith("</html>")
