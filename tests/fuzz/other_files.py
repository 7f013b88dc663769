"""Files that commands read besides settings, terrain, robots and recordings: tyres, measured wheels, policies, …"""

from __future__ import annotations

import dataclasses
import io
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

from tests.fuzz.targets import ROOT, Target, mesh_files, plain, read, terrain_target
from tests.fuzz.values import changed, damaged
from tests.robots.test_vehicles import TIR
from tests.terrain.test_hostile_files import PDS

STEPS = 3
MESH_ROBOT = """<mujoco><asset><mesh file="FILE" name="shape"/></asset><worldbody>
  <body name="stone" pos="0 0 0.5"><freejoint/><geom type="mesh" mesh="shape" density="1000"/></body>
</worldbody></mujoco>"""
SOIL = {"mine": {"like": "dry-sand", "k_c": 900.0, "n": 1.0, "uncertainty": {
    "constants": ["n", "ln k_c"], "covariance": [[1e-4, 0.0], [0.0, 1e-2]], "draws": [[1.0, 6.8], [1.01, 6.7]],
}}}  # fmt: skip


def of_tree(name: str, tree: Callable[[], Any], use: Callable[[Path], Any], ending: str = "yaml") -> Target:
    """A file of YAML or JSON with entries changed, or with its text damaged."""

    def inputs() -> st.SearchStrategy[bytes]:
        whole = plain(tree())
        entries = changed(whole, most=2).map(lambda t: json.dumps(t, default=str).encode())
        return entries | damaged(json.dumps(whole, indent=1).encode())

    return of_bytes(name, inputs, use, ending)


def of_bytes(
    name: str, inputs: Callable[[], st.SearchStrategy[bytes]], use: Callable[[Path], Any], ending: str
) -> Target:
    def used(content: bytes, folder: Path) -> None:
        file = folder / f"fuzzed.{ending}"
        file.write_bytes(content)
        use(file)

    return Target(name, inputs, used)


# ---- what reads them -------------------------------------------------------------------------------------


def read_wheels(file: Path) -> None:
    from grouser.validation.measured import read_wheels as read

    read(file)


def read_blades(file: Path) -> None:
    from grouser.validation.blades import read_blades as read

    read(file)


def read_spread(file: Path) -> None:
    """Soil of `grouser identify` in a run with --samples."""
    from grouser.terrain.soil_uncertainty import load_uncertainty
    from grouser.terrain.soils import load_soils

    for name in load_soils(file):
        load_uncertainty(file, name)


def read_initial(file: Path) -> None:
    from grouser.scenarios.settings import from_python

    from_python("docking-olev", {"initial_file": str(file)})


def read_tyre(file: Path) -> None:
    from grouser.contact.tyre.tir import read_tir

    tyre = read_tir(file)
    assert np.isfinite(float(tyre.longitudinal(0.1)))


def read_policy(file: Path) -> None:
    """A policy that is accepted drives."""
    from grouser.envs.policy import load_policy

    policy = load_policy(file)
    policy(np.zeros((1, len(policy.names)), np.float32))


def step_robot(file: Path) -> None:
    from grouser.simulation import on_soil

    robot = file.with_name("robot.xml")
    robot.write_text(MESH_ROBOT.replace("FILE", file.name))
    on_soil(robot, "dry-sand", ".*").step(STEPS)


def ground_of_shoes(file: Path) -> None:
    """A mesh with soil constants at its vertices, under tracks."""
    from grouser.scenarios.track_terrain import TrackTerrain
    from grouser.track import SoilValues

    TrackTerrain(file=file).hard(SoilValues())


def soils_at_vertices(file: Path) -> None:
    from grouser.scenarios.track_terrain import TrackTerrain

    mesh = file.with_name("mesh.stl")
    mesh.write_bytes(mesh_files()["a.stl"])
    TrackTerrain(file=mesh, soils=file).constants(8)


# ---- what is changed -------------------------------------------------------------------------------------


@cache
def policy() -> bytes:
    from tests.envs.test_policies import small_policy

    file = ROOT / ".hypothesis" / "policy.npz"
    file.parent.mkdir(exist_ok=True)
    small_policy().save(file)
    return file.read_bytes()


def initial_tree() -> Any:
    from grouser.robots.olev import InitialState

    return dataclasses.asdict(InitialState())


def shoe_mesh() -> bytes:
    """A box as PLY text whose vertices have a stiffness and a cohesion."""
    text = io.StringIO()
    text.write("ply\nformat ascii 1.0\nelement vertex 4\nproperty float x\nproperty float y\nproperty float z\n")
    text.write("property float stiffness\nproperty float cohesion\nelement face 2\n")
    text.write("property list uchar int vertex_indices\nend_header\n")
    for x, y in ((0, 0), (2, 0), (2, 1), (0, 1)):
        text.write(f"{x} {y} 0 1e6 {500 + x}\n")
    text.write("3 0 1 2\n3 0 2 3\n")
    return text.getvalue().encode()


def other_targets() -> list[Target]:
    pds = PDS.format("^IMAGE = 129").encode().ljust(512) + bytes(range(1, 17))
    wheels, blades = (sorted((ROOT / "benchmarks" / kind).glob("*.yaml"))[0] for kind in ("wheels", "blades"))
    constants = b"stiffness,cohesion\n" + b"1e6,500\n" * 8
    return [
        of_tree("yaml wheels", lambda: read(wheels), read_wheels),
        of_tree("yaml blades", lambda: read(blades), read_blades),
        of_tree("yaml spread", lambda: SOIL, read_spread),
        of_tree("yaml docking", initial_tree, read_initial),
        of_bytes("tyre", lambda: damaged(TIR.encode()), read_tyre, "tir"),
        of_bytes("policy", lambda: damaged(policy()), read_policy, "npz"),
        of_bytes("shoes a.ply", lambda: damaged(shoe_mesh()), ground_of_shoes, "ply"),
        of_bytes("shoes a.csv", lambda: damaged(constants), soils_at_vertices, "csv"),
        terrain_target("a.img", pds),
        *(
            of_bytes(f"robot mesh {kind}", lambda kind=kind: damaged(mesh_files()[f"a.{kind}"]), step_robot, kind)
            for kind in ("stl", "obj")
        ),
    ]
