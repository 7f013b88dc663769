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
def test_a_missing_package_names_its_extra(package, extra, call):
    code = f"import sys; sys.modules[{package!r}] = None\n{call}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    last = done.stderr.splitlines()[-1]
    assert last.startswith("grouser.errors.InputError: ")
    assert last.endswith(f"pip install 'grouser[{extra}]'")
