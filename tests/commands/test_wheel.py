"""The wheel works away from the checkout."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

import grouser
from grouser.scenarios import registry

ROOT = Path(__file__).parents[2]
DATA = "grouser/terrain/soils.yaml"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    (file,) = folder.glob("*.whl")
    return file


@pytest.mark.long
def test_wheel_carries_all_code_and_data(wheel):
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if name.startswith("grouser/")}
    source = ROOT / "src"
    suffixes = {".py", ".yaml", ".xml"}
    expected = {str(file.relative_to(source)) for file in source.rglob("*") if file.suffix in suffixes}
    assert packed >= expected
    assert DATA in packed


@pytest.mark.long
def test_wheel_runs_outside_the_checkout(wheel, tmp_path):
    """Installed alone in a new environment that borrows only the other packages of this one."""
    venv.create(tmp_path / "env", with_pip=False)
    python = tmp_path / "env" / "bin" / "python"
    query = [str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    site = Path(subprocess.run(query, check=True, capture_output=True, text=True).stdout.strip())
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    (site / "borrowed.pth").write_text(borrowed(tmp_path), encoding="utf-8")
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    call = [str(python), "-c", "from grouser.cli import main; main()"]

    def command(*arguments: str) -> str:
        done = subprocess.run(
            [*call, *arguments], cwd=tmp_path, env=environment, check=True, capture_output=True, text=True
        )
        return done.stdout

    where = [str(python), "-c", "import grouser; print(grouser.__file__)"]
    assert subprocess.run(where, cwd=tmp_path, env=environment, capture_output=True, text=True).stdout.startswith(
        str(site)
    )
    assert command("--version").strip() == grouser.__version__
    assert [line.split()[0] for line in command("list").splitlines()] == list(registry.NAMES)
    for name in registry.NAMES:
        assert '"const": "' + name + '"' in command("schema", name)


def borrowed(folder: Path) -> str:
    """Links to the packages of this environment, all but Grouser itself."""
    links = folder / "packages"
    links.mkdir()
    for entry in Path(sysconfig.get_path("purelib")).iterdir():
        if "grouser" not in entry.name and entry.suffix != ".pth":
            (links / entry.name).symlink_to(entry)
    return f"{links}\n"
