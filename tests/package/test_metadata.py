"""What the package says of itself, without building or installing it: quick."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import grouser
from tests.package.extras import EXTRAS

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PAGE = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")


def test_every_extra_is_tried_and_described():
    extras = set(PROJECT["optional-dependencies"]) - {"dev"}
    assert extras == {extra.name for extra in EXTRAS} | {"all"}
    assert set(re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE)) == extras
    (everything,) = PROJECT["optional-dependencies"]["all"]
    assert set(re.search(r"\[(.*)\]", everything)[1].split(",")) == extras - {"all"}


def test_doctor_knows_every_package_of_an_extra():
    """By the names of the distributions: `foxglove-sdk`, not the `foxglove` that is imported."""
    from grouser.commands import doctor

    named = {
        re.match(r"[\w-]+", requirement)[0]: extra
        for extra, requirements in PROJECT["optional-dependencies"].items()
        if extra not in ("dev", "all")
        for requirement in requirements
        if not requirement.startswith("grouser")
    }
    assert named == doctor.EXTRAS


def test_python_versions_are_those_that_are_tried():
    from tests.package.test_extras import PYTHONS

    named = [line.rsplit(" ", 1)[1] for line in PROJECT["classifiers"] if "Python :: 3." in line]
    assert tuple(named) == PYTHONS
    assert PROJECT["requires-python"] == f">={PYTHONS[0]}"


def test_the_wheel_takes_types_and_data_along():
    from hatchling.builders.wheel import WheelBuilder

    packed = {file.distribution_path for file in WheelBuilder(str(ROOT)).recurse_included_files()}
    assert {"grouser/py.typed", "grouser/terrain/soils.yaml", "grouser/scenarios/cart.xml"} <= packed
    assert not [name for name in packed if name.startswith(("tests", "benchmarks")) or name.endswith(".pyc")]


def test_the_page_names_the_present_wheel():
    assert set(re.findall(r"grouser-(\d[\w.]*)-py3", PAGE + (ROOT / "README.md").read_text())) == {grouser.__version__}


@pytest.mark.parametrize(
    ("package", "extra", "call"),
    [
        ("emcee", "identify", "import grouser; grouser.identify(EXAMPLES + '/bevameter.yaml')"),
        ("sklearn", "identify", "import grouser; grouser.identify(EXAMPLES + '/wheel-runs.yaml')"),
        ("gymnasium", "rl", "import grouser.envs"),
        ("mujoco_warp", "batch", "from grouser.engine.mujoco_warp_setup import mujoco_warp; mujoco_warp()"),
        ("coal", "convex", "import grouser; grouser.run('box-on-stairs')"),
        (
            "foxglove",
            "foxglove",
            "from grouser.viewer.foxglove_server import FoxgloveServer; FoxgloveServer('run').__enter__()",
        ),
        ("viser", "view", "from grouser.viewer.server import imported; imported()"),
        (
            "imageio_ffmpeg",
            "video",
            "from grouser.viewer.video import _writer; _writer('x.mp4', '.mp4', (2, 2), 1.0).__enter__()",
        ),
        ("rosbags", "ros", "from grouser.viewer.bag import write_bag; write_bag(None, None)"),
        ("rasterio", "geo", "from grouser.terrain.geotiff import _read; _read(None)"),
        ("ray", "cluster", "from grouser.campaign.run import executor_named; executor_named('ray', 1)"),
    ],
)
def test_a_missing_package_names_its_extra(package, extra, call, tmp_path):
    """Before anything is written or computed."""
    code = f"import sys; sys.modules[{package!r}] = None; EXAMPLES = {str(ROOT / 'examples')!r}\n{call}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    last = done.stderr.splitlines()[-1]
    assert last.startswith("grouser.errors.InputError: ")
    assert last.endswith(f"pip install 'grouser[{extra}]'")
    assert not list(tmp_path.iterdir())
