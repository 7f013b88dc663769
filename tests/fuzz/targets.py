"""What is fuzzed. Each target draws an input and uses it as a command would."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from contextlib import redirect_stderr
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st
from PIL import Image, TiffImagePlugin, TiffTags

import grouser
from grouser.scenarios.registry import NAMES, scenario
from grouser.scenarios.settings import from_command, from_python
from grouser.terrain.soils import load_soils
from grouser.terrain.yaml_file import read_yaml
from tests.fuzz.values import changed, damaged, odd, some_settings

ROOT = Path(__file__).parents[2]
SRC = ROOT / "src" / "grouser"
STEPS = 3  # made with settings that are accepted


@dataclass(frozen=True)
class Target:
    name: str
    inputs: Callable[[], st.SearchStrategy[Any]]
    use: Callable[[Any, Path], None]  # the input, and a folder for files


# ---- settings --------------------------------------------------------------------------------------------


def settings_target(name: str) -> Target:
    """Settings of a scenario: refused, or the machine is built and stepped."""

    def use(given: dict[str, Any], folder: Path) -> None:
        if name == "robot":
            given = {"robot": str(grouser.CART), **given}
        experiment = from_python(name, given)
        sim = experiment.scenario.build(experiment.settings)
        assert experiment.duration >= 0
        sim.step(STEPS)
        for channel in sim.channels():
            if channel.read is not None:
                channel.read()

    return Target(f"settings {name}", lambda: some_settings(scenario(name).settings), use)


# ---- YAML ------------------------------------------------------------------------------------------------


def read(file: Path) -> Any:
    return read_yaml(file, "a mapping")


@cache
def yaml_trees() -> dict[str, Any]:
    wheel = {"scenario": "single-wheel", "settings": {"soil": "mine", "slip": 0.2, "wheel": {"radius": 0.15}},
             "soils": {"mine": {"like": "dry-sand", "k_c": 900.0}}}  # fmt: skip
    soils = read(SRC / "terrain" / "soils.yaml")
    return {
        "scenario": wheel,
        "soil": dict(list(soils.items())[:2]),
        "vehicle": read(SRC / "robots" / "vehicles" / "vivi.yaml"),
        "sweep": read(ROOT / "examples" / "wheel-design.yaml"),
        "measurements": read(ROOT / "examples" / "bevameter.yaml"),
    }


def read_scenario(file: Path) -> None:
    from_command(str(file))


def read_vehicle(file: Path) -> None:
    from grouser.robots.vehicle_file import vehicle

    vehicle(str(file))


def read_sweep(file: Path) -> None:
    from grouser.campaign import read_sweep as read

    read(file)


def read_measurements(file: Path) -> None:
    from grouser.identification.data import read_measurements as read

    read(file)


READERS: dict[str, Callable[[Path], Any]] = {
    "scenario": read_scenario, "soil": load_soils, "vehicle": read_vehicle, "sweep": read_sweep,
    "measurements": read_measurements,
}  # fmt: skip


def yaml_target(name: str) -> Target:
    """A file with entries changed, or with its text damaged."""

    def inputs() -> st.SearchStrategy[bytes]:
        tree = plain(yaml_trees()[name])
        text = json.dumps(tree, indent=1).encode()
        return changed(tree, most=2).map(lambda t: json.dumps(t, default=str).encode()) | damaged(text)

    def use(content: bytes, folder: Path) -> None:
        file = folder / f"{name}.yaml"
        file.write_bytes(content)
        READERS[name](file)

    return Target(f"yaml {name}", inputs, use)


def plain(tree: Any) -> Any:
    return json.loads(json.dumps(tree, default=str))


# ---- terrain and meshes ----------------------------------------------------------------------------------


@cache
def terrain_files() -> dict[str, bytes]:
    """A small valid file of each format."""
    heights = np.round(0.1 * np.random.default_rng(0).random((12, 9)), 4)
    npy, npz, png = io.BytesIO(), io.BytesIO(), io.BytesIO()
    np.save(npy, heights)
    np.savez(npz, heights=heights, spacing=0.1)
    Image.fromarray((heights * 2e5).astype(np.uint16)).save(png, "png")
    head = "ncols 9\nnrows 12\nxllcorner 0\nyllcorner 0\ncellsize 0.5\nNODATA_value -9999\n"
    ascii_grid = head + "\n".join(" ".join(map(str, row)) for row in heights)
    return {
        "a.tif": geotiff(heights),
        "a.npy": npy.getvalue(), "a.npz": npz.getvalue(), "a.png": png.getvalue(), "a.asc": ascii_grid.encode(),
        **mesh_files(),
    }  # fmt: skip


def geotiff(heights: np.ndarray) -> bytes:
    """With places of the pixels in metres, as `terrain.load` reads them."""
    file = io.BytesIO()
    tags = TiffImagePlugin.ImageFileDirectory_v2()
    tags[33550], tags[33922] = (0.5, 0.5, 0.0), (0.0, 0.0, 0.0, 10.0, 20.0, 0.0)
    tags.tagtype[33550] = tags.tagtype[33922] = TiffTags.DOUBLE
    tags[34735] = (1, 1, 0, 1, 1024, 0, 1, 1)
    tags.tagtype[34735] = TiffTags.SHORT
    Image.fromarray(heights.astype(np.float32)).save(file, "tiff", tiffinfo=tags)
    return file.getvalue()


def mesh_files() -> dict[str, bytes]:
    import trimesh

    box = trimesh.creation.box((2.0, 1.0, 0.2))
    files = {f"a.{kind}": box.export(file_type=kind) for kind in ("obj", "stl", "ply", "glb")}
    return {name: data.encode() if isinstance(data, str) else bytes(data) for name, data in files.items()}


def terrain_target(name: str, whole: bytes = b"") -> Target:
    options: dict[str, Any] = {"spacing": 0.1} if name in ("a.npy", "a.png", "a.img") else {}

    def use(content: bytes, folder: Path) -> None:
        from grouser import terrain

        (folder / name).write_bytes(content)
        more = dict(options)
        if name == "a.png":
            more |= {"lowest": 0.0, "highest": 1.0} if _takes(terrain.from_png, "lowest") else {}
        if name.endswith(("obj", "stl", "ply", "glb")):
            more |= {"spacing": 0.1}
        grid = terrain.load(folder / name, **more)
        assert np.isfinite(grid.heights).all()

    return Target(f"terrain {name}", lambda: damaged(whole or terrain_files()[name]), use)


def _takes(function: Any, name: str) -> bool:
    import inspect

    return name in inspect.signature(function).parameters


def course_target(name: str) -> Target:
    def use(content: bytes, folder: Path) -> None:
        from grouser.terrain import courses

        (folder / name).write_bytes(content)
        courses.from_mesh(folder / name, method="patches")  # CoACD takes half a minute for a box with a hole

    return Target(f"course {name}", lambda: damaged(mesh_files()[name]), use)


# ---- robots ----------------------------------------------------------------------------------------------


def robot_target(file: Path, bodies: str) -> Target:
    """A robot with bytes changed: refused, or put on soil and stepped."""

    def use(content: bytes, folder: Path) -> None:
        from grouser.simulation import on_soil

        (folder / file.name).write_bytes(content)
        on_soil(folder / file.name, "dry-sand", bodies).step(STEPS)

    return Target(f"robot {file.name}", lambda: damaged(file.read_bytes()), use)


# ---- recordings, checkpoints -----------------------------------------------------------------------------


@cache
def recorded() -> bytes:
    import tempfile

    from tests.recording.samples import TILE, Clock, fill, sample

    with tempfile.TemporaryDirectory() as folder:
        path, clock = Path(folder) / "recording.h5", Clock()
        writer = sample(path, clock, block=8)
        fill(writer, clock, 40)
        writer.append_tiles(clock.time, 0, np.arange(2, dtype=np.int32).reshape(1, 2), np.zeros((1, TILE, TILE)))
        writer.close("complete")
        return path.read_bytes()


def use_recording(content: bytes, folder: Path) -> None:
    from tests.recording.damaged import read_all

    (folder / "recording.h5").write_bytes(content)
    read_all(folder / "recording.h5")


@cache
def checkpoint() -> bytes:
    from grouser.simulation.checkpoint_file import save

    tree = {"time": 1.0, "arrays": [{"a": np.arange(20.0)}, (np.zeros((3, 3)), None)], "text": "x", "stop": None}
    file = ROOT / ".hypothesis" / "checkpoint"
    save(tree, file)
    return file.read_bytes()


def use_checkpoint(content: bytes, folder: Path) -> None:
    from grouser.simulation.checkpoint_file import load

    (folder / "checkpoint").write_bytes(content)
    load(folder / "checkpoint")


# ---- options of the command line -------------------------------------------------------------------------


def option_inputs() -> st.SearchStrategy[list[str]]:
    words = st.sampled_from(
        ["soil", "soil.k_c", "wheel.radius", "slip", "speed", "options.x", "", ".", "a..b", "wheel"]
    )
    values = (odd | st.text(max_size=12)).map(str)
    return st.lists(st.tuples(words, values).map("=".join) | st.text(max_size=20), min_size=1, max_size=3)


def use_options(given: list[str], folder: Path) -> None:
    from_command("single-wheel", given)


COMMANDS = ("run", "sweep", "view", "export", "report", "repair", "list", "schema", "compare", "identify", "nothing")
WORDS = (
    "single-wheel", "plate-sinkage", "nowhere", "nowhere.yaml", "--set", "slip=0.2", "soil=clay", "speed=1", "--out",
    "out", "--force", "--rate", "--format", "csv", "html", "mcap", "--continue", "--checkpoints", "--robot", "--bodies",
    "--drive", "--time", "--help", "-1", "1e9", "nan", "", ".", "..", "/dev/null", "x" * 3000, "\x00", "--",
    "--no-report", "--controller",
)  # fmt: skip
LONG_WORK = ("drive", "bench", "video")  # they wait for somebody, or take minutes


def command_lines() -> st.SearchStrategy[list[str]]:
    words = st.sampled_from(WORDS) | odd.map(str) | st.text(max_size=10)
    first = st.sampled_from(COMMANDS) | st.text(max_size=6).filter(lambda word: word not in LONG_WORK)
    return st.builds(lambda one, others: [one, *others], first, st.lists(words, max_size=5))


def use_command(given: list[str], folder: Path) -> None:
    """Each ends with a status of its own. An error that nobody foresaw would end with 1 and its name."""
    from grouser.cli import status

    told = io.StringIO()
    with redirect_stderr(told):
        ended = status([*given, "--no-report"] if given[0] == "run" else given)
    assert ended in (0, 1, 2, 3), ended
    assert "grouser --debug shows where" not in told.getvalue(), told.getvalue()[-500:]


def targets() -> list[Target]:
    from tests.fuzz.other_files import other_targets

    return [
        *(yaml_target(name) for name in READERS),
        *(terrain_target(name) for name in terrain_files()),
        *(course_target(name) for name in mesh_files()),
        robot_target(grouser.CART, "wheel.*"),
        robot_target(ROOT / "examples" / "robots" / "urdf-rover.urdf", ".*wheel.*"),
        robot_target(ROOT / "examples" / "robots" / "microbot.xml", ".*"),
        Target("recording", lambda: damaged(recorded()), use_recording),
        Target("checkpoint", lambda: damaged(checkpoint()), use_checkpoint),
        Target("options", option_inputs, use_options),
        Target("command", command_lines, use_command),
        *other_targets(),
        *(settings_target(name) for name in NAMES),  # last: they take longest
    ]
