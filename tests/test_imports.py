"""`import grouser` is light, the core needs little, and every public name is there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import grouser

ROOT = Path(__file__).parents[1]

# What takes longer to import than all of Grouser, or is not on every machine.
HEAVY = {
    "numpy", "mujoco", "warp", "h5py", "pydantic", "ruamel", "typer", "rich", "matplotlib", "PIL", "trimesh",
    "scipy", "pint", "rasterio", "mujoco_warp",
}  # fmt: skip
CORE = {"numpy", "mujoco", "warp"}  # what terrain and contact may load


def modules_after(code: str) -> set[str]:
    """Top-level modules a fresh interpreter has loaded after running some code."""
    script = f"{code}\nimport sys\nprint(' '.join(sorted({{name.split('.')[0] for name in sys.modules}})))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split())


def test_import_grouser_loads_nothing_heavy():
    assert not HEAVY & modules_after("import grouser")


def test_errors_and_names_come_without_an_engine():
    loaded = modules_after("import grouser; grouser.InputError, grouser.__version__, dir(grouser), grouser.ForceModule")
    assert not HEAVY & loaded


@pytest.mark.parametrize(
    "code",
    [
        "import grouser.terrain",
        "import grouser; grouser.soil('dry-sand')",
        "import grouser.contact.soil",
        "import grouser.contact.polygonal",
    ],
)
def test_the_core_loads_only_numpy_mujoco_and_warp(code):
    assert not (HEAVY - CORE) & modules_after(code)


def test_reading_a_command_line_loads_no_engine():
    loaded = modules_after("from grouser.cli import status; assert status(['run', 'nothing']) == 2")
    assert not {"mujoco", "warp", "h5py", "matplotlib", "PIL", "trimesh", "pint"} & loaded


@pytest.mark.parametrize("name", grouser.__all__)
def test_public_names_are_there(name):
    assert getattr(grouser, name) is not None
    assert name in dir(grouser)


def test_an_unknown_name_is_an_attribute_error():
    assert not hasattr(grouser, "soill")


def test_citation_and_changelog_name_this_version():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"version: {grouser.__version__}\n" in citation
    assert f"## {grouser.__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
