"""The built package in empty environments: the whole command line, and what each extra promises."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.package.environment import Environment, interpreter
from tests.package.extras import CART, DEM, EXTRAS, GROUSER, PLATES, RUN, TWO_CASES, Extra

ROOT = Path(__file__).parents[2]
PYTHONS = ("3.11", "3.12", "3.13")
OLDER_MUJOCO = ("3.12.0", "3.17.0")  # the oldest that is allowed, and the newest 3
QUICK = ("--set", "depth=1cm", "--set", "speed=10cm/s", "--set", "spacing=2cm")  # 0.1 s of a plate
COMMANDS = (
    "list", "run", "sweep", "validate", "identify", "report", "export", "video", "view", "drive", "robots", "compare",
    "repair", "doctor", "bench", "schema",
)  # fmt: skip

pytestmark = pytest.mark.package


@pytest.fixture(scope="session")
def built(tmp_path_factory) -> Path:
    """The wheel, built from the sdist, which is built from the checkout."""
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)],
        check=True, capture_output=True,
    )  # fmt: skip
    assert len(list(folder.glob("*.tar.gz"))) == 1
    (wheel,) = folder.glob("*.whl")
    return wheel


@pytest.fixture(scope="session")
def files(tmp_path_factory) -> Path:
    """Files that the commands name: a GeoTIFF, a robot, measurements, a sweep."""
    import numpy as np
    import rasterio

    folder = tmp_path_factory.mktemp("files")
    place = rasterio.transform.from_origin(-2.0, 2.0, 0.1, 0.1)
    with rasterio.open(
        folder / DEM, "w", driver="GTiff", width=40, height=40, count=1, dtype="float32", crs="EPSG:32632",
        transform=place,
    ) as file:  # fmt: skip
        file.write(np.zeros((1, 40, 40), "float32"))
    shutil.copy(ROOT / "src" / "grouser" / "scenarios" / "cart.xml", folder / CART)
    shutil.copy(ROOT / "examples" / PLATES, folder / PLATES)
    (folder / TWO_CASES).write_text(
        "scenario: plate-sinkage\nset: {depth: 1 cm, speed: 10 cm/s, spacing: 2 cm}\n"
        "parameters: {soil: [clay, dry-sand]}\n"
    )
    return folder


@pytest.fixture
def environment(tmp_path, files):
    """Makes empty environments whose commands run in a folder away from the checkout; they are deleted afterwards."""
    made: list[Environment] = []

    def make(*requirements: str, python: str = "3.11") -> Environment:
        found = interpreter(python)
        if found is None:
            pytest.skip(f"no Python {python} on this machine")
        one = Environment(tmp_path / f"environment-{len(made)}", found, tmp_path / "away", requirements)
        made.append(one)
        shutil.copytree(files, one.folder, dirs_exist_ok=True)
        return one

    yield make
    for one in made:
        shutil.rmtree(one.path, ignore_errors=True)


def use_every_command(env: Environment) -> None:
    """The command line without an extra: run, sweep, report, compare, repair, and help of all."""
    version = env.call(GROUSER, "--version")
    assert version.strip() == env.version
    assert all(command in env.call(GROUSER, "--help") for command in COMMANDS)
    for command in COMMANDS:
        assert f"grouser {command}" in env.call(GROUSER, command, "--help")
    assert "single-wheel" in env.call(GROUSER, "list")
    assert '"const": "plate-sinkage"' in env.call(GROUSER, "schema", "plate-sinkage")
    env.call(GROUSER, "run", "plate-sinkage", *QUICK, "--out", RUN)
    assert (env.folder / RUN / "report.html").stat().st_size > 10_000
    env.call(GROUSER, "run", "plate-sinkage", *QUICK, "--set", "soil=clay", "--no-report", "--out", "other")
    assert "soil" in env.call(GROUSER, "compare", RUN, "other")
    env.call(GROUSER, "export", RUN, "--format", "csv", "--out", "tables")
    env.call(GROUSER, "report", RUN, "--no-replay")
    env.call(GROUSER, "repair", RUN)
    env.call(GROUSER, "sweep", TWO_CASES, "--workers", "1", "--out", "local")
    assert (env.folder / "local" / "table.csv").read_text().count("\n") == 3
    assert "viser" in env.call(GROUSER, "doctor")


def keep_promise(env: Environment, extra: Extra) -> None:
    env.call(*extra.promise)
    if extra.leaves:
        assert (env.folder / extra.leaves).stat().st_size >= extra.least
    if extra.also:
        env.call("python", "-c", extra.also)


@pytest.mark.parametrize("python", PYTHONS)
def test_the_whole_command_line_without_an_extra(environment, built, python):
    env = environment(str(built), python=python)
    use_every_command(env)
    for extra in EXTRAS:
        done = env.run(*extra.promise)
        assert (done.returncode, f"'grouser[{extra.name}]'" in done.stderr) == (2, True), (extra.name, done.stderr)
        assert len(done.stderr.splitlines()) == 1, done.stderr


def test_plain_pip_installs_it(tmp_path, built):
    """As a user does who has neither uv nor a checkout."""
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "env")], check=True)
    binaries = tmp_path / "env" / "bin"
    subprocess.run([str(binaries / "pip"), "install", "--quiet", str(built)], check=True, capture_output=True)
    clean = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        [str(binaries / "grouser"), "list"], cwd=tmp_path, env=clean, capture_output=True, text=True, check=True
    )
    assert "single-wheel" in done.stdout


@pytest.mark.parametrize("extra", EXTRAS, ids=lambda extra: extra.name)
def test_an_extra_alone(environment, built, extra):
    env = environment(f"grouser[{extra.name}] @ {built.as_uri()}")
    env.call(GROUSER, "run", "plate-sinkage", *QUICK, "--no-report", "--out", RUN)
    keep_promise(env, extra)


@pytest.mark.parametrize("python", PYTHONS)
def test_all_extras_together(environment, built, python):
    env = environment(f"grouser[all] @ {built.as_uri()}", python=python)
    env.call(GROUSER, "run", "plate-sinkage", *QUICK, "--no-report", "--out", RUN)
    for extra in EXTRAS:
        keep_promise(env, extra)


@pytest.mark.parametrize("mujoco", OLDER_MUJOCO)
def test_mujoco_3(environment, built, mujoco):
    """The engine's and the motors' own tests, and the command line, with the installed wheel beside MuJoCo 3."""
    env = environment(str(built), f"mujoco=={mujoco}", "pytest", "pytest-xdist", "hypothesis")
    assert env.call("python", "-c", "import mujoco; print(mujoco.__version__)").strip() == mujoco
    use_every_command(env)
    calm = "not long and not batch and not browser and not nightly and not gpu"
    env.call(
        "python", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", calm, "tests/engine", "tests/drive", cwd=ROOT
    )
