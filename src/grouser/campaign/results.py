"""The folder of a sweep, with one result file per case. Files are written completely or not at all.

sweep.json         the sweep: parameters, cases, a hash of everything that affects the results
cases/0001.json    settings, metrics and status of a case that has ended
recordings/0001.h5 recordings, if requested
.working/          temporary files of the running cases
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grouser.errors import InputError
from grouser.files import write_atomically

if TYPE_CHECKING:
    from grouser.campaign.case import Sweep

SWEEP, CASES, RECORDINGS, WORKING, LOCK = "sweep.json", "cases", "recordings", ".working", ".lock"
MADE = ("table.csv", "table.md", "table.parquet", "sweep.html")  # files made from the results
COMPLETE, FAILED = "complete", "failed"


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write a JSON file atomically, so that no reader sees it half written."""
    write_atomically(path, json.dumps(content, indent=2, allow_nan=False) + "\n")


def read_json(path: Path) -> dict[str, Any] | None:
    """Read a JSON object from a file. None if there is no file or it is not a JSON object."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return content if isinstance(content, dict) else None


class SweepFolder:
    def __init__(self, path: Path, sweep: Sweep):
        self.path, self.sweep = path, sweep

    def case_file(self, name: str) -> Path:
        return self.path / CASES / f"{name}.json"

    def check(self, force: bool) -> None:
        """Raise InputError if the sweep cannot start or continue in this folder. Writes nothing."""
        path = self.path
        if path.exists() and not path.is_dir():
            raise InputError(f"--out {path}: is a file: allowed is a folder")
        parent = next(place for place in (path, *path.absolute().parents) if place.exists())
        if not parent.is_dir() or not os.access(parent, os.W_OK):
            raise InputError(f"--out {path}: {parent} cannot be written to")
        if force or not path.is_dir() or all(file.name == LOCK for file in path.iterdir()):
            return
        there = read_json(path / SWEEP)
        if there is None:
            raise InputError(
                f"--out {path}: not empty: allowed is a new or empty folder, one of the same sweep, or --force"
            )
        if there.get("digest") != self.sweep.digest:
            raise InputError(
                f"--out {path}: holds another sweep ({self._difference(there)}): allowed is the same sweep, "
                "another folder, or --force to replace it"
            )

    def _difference(self, there: Mapping[str, Any]) -> str:
        here = self.sweep.described()
        for key in ("scenario", "version", "parameters", "recordings", "rate"):
            old, new = there.get(key), here[key]
            if old != new:
                if key == "parameters":
                    old, new = (", ".join(item["path"] for item in items or ()) for items in (old, new))
                return f"{key} {old}, not {new}"
        old, new = there.get("cases") or (), here["cases"]
        if len(old) != len(new):
            return f"{len(old)} cases, not {len(new)}"
        differ = sum(a != b for a, b in zip(old, new, strict=True))
        return f"{differ} of {len(new)} cases differ" if differ else "settings under 'set' differ"

    @contextmanager
    def opened(self, force: bool) -> Iterator[None]:
        """Prepare and lock the folder. `force` deletes the results of an earlier sweep."""
        self.check(force)
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"--out {self.path}: cannot be created: {error.strerror}") from None
        from grouser.recording.folder_lock import FolderLock  # here: workers import this file and need no lock

        with FolderLock(self.path):
            self.check(force)  # check again: another sweep may have been faster
            try:
                if force:
                    self._clear()
                self._remove_partial()
                write_json(self.path / SWEEP, self.sweep.described())
            except OSError as error:
                raise InputError(f"--out {self.path}: cannot be written to: {error.strerror or error}") from None
            yield
            shutil.rmtree(self.path / WORKING, ignore_errors=True)

    def _clear(self) -> None:
        """Delete the results of another sweep. Other files stay."""
        if read_json(self.path / SWEEP) is None:
            return
        made = (f"{CASES}/[0-9]*.json", f"{RECORDINGS}/[0-9]*.h5", "figures/*.png", SWEEP, *MADE)
        for file in [file for pattern in made for file in self.path.glob(pattern)]:
            file.unlink(missing_ok=True)

    def _remove_partial(self) -> None:
        """Delete partial files of a killed sweep."""
        shutil.rmtree(self.path / WORKING, ignore_errors=True)
        for part in (*self.path.glob("*.part"), *(self.path / CASES).glob("*.part")):
            part.unlink(missing_ok=True)

    def finished(self, name: str) -> bool:
        """Whether the case is complete. Failed cases are run again."""
        there = read_json(self.case_file(name)) or {}
        return there.get("status") == COMPLETE and there.get("digest") == self.sweep.digest
