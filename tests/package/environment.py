"""An empty virtual environment with the built package, and commands run in it from a folder elsewhere."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

UV = [sys.executable, "-m", "uv"]
PATIENCE = 600  # [s] for one command: the first run of a kernel compiles it
LEFT_OUT = ("PYTHONPATH", "VIRTUAL_ENV", "RAY_ADDRESS")  # settings of this process that would reach into the other


def interpreter(version: str) -> str | None:
    """The interpreter pythonX.Y of this machine. None if there is none, or one that does not run."""
    if sys.version_info[:2] == tuple(map(int, version.split("."))):
        return sys.executable
    found = shutil.which(f"python{version}")
    if found and subprocess.run([found, "-c", "pass"], capture_output=True).returncode == 0:
        return found
    return None


class Environment:
    def __init__(self, path: Path, python: str, folder: Path, requirements: tuple[str, ...]):
        self.path, self.folder = path, folder
        folder.mkdir(exist_ok=True)
        self._uv("venv", "--python", python, str(path))
        self._uv("pip", "install", "--python", str(path / "bin" / "python"), *requirements)
        self.version = self.call(
            "python", "-c", "from importlib.metadata import version; print(version('grouser'))"
        ).strip()

    def _uv(self, *arguments: str) -> None:
        done = subprocess.run([*UV, *arguments], capture_output=True, text=True, cwd=self.folder)
        assert done.returncode == 0, done.stderr

    def run(self, program: str, *arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        """Run a program of the environment. Nothing of this process' Python reaches it."""
        settings = {key: value for key, value in os.environ.items() if key not in LEFT_OUT}
        return subprocess.run(
            [str(self.path / "bin" / program), *arguments],
            cwd=cwd or self.folder, env=settings, capture_output=True, text=True, timeout=PATIENCE,
        )  # fmt: skip

    def call(self, program: str, *arguments: str, cwd: Path | None = None) -> str:
        """Standard output of a program that must succeed."""
        done = self.run(program, *arguments, cwd=cwd)
        assert done.returncode == 0, (
            f"{program} {' '.join(arguments)[:200]}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
        )
        return done.stdout
