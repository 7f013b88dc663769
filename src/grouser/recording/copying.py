"""Copies frames of a recording into the datasets of a new file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from grouser.errors import InputError
from grouser.recording.layout import Layout
from grouser.recording.reader import Recording

COPY_ROWS = 1024


@dataclass(frozen=True)
class Beginning:
    """The first frames of a recording, with which another one begins."""

    source: Recording
    frames: int
    patches: int  # of the ground

    def check(self) -> None:
        """Raise InputError if the recording has fewer frames than that."""
        found, patches = len(self.source), len(self.source.tile_time())
        if found < self.frames or patches < self.patches:
            raise InputError(
                f"{self.source.path}: it has {found} frames and {patches} patches of ground; "
                f"its checkpoint was taken after {self.frames} and {self.patches}"
            )

    @property
    def last_time(self) -> float:
        """Time [s] of the last of these frames."""
        return float(self.source.time[self.frames - 1])

    def rows(self, name: str) -> int:
        """Rows of a ragged channel in these frames."""
        return int(self.source.row_ends(name, 0, self.frames)[-1]) if self.frames else 0


def copy_frames(begin: Beginning, target: Layout) -> None:
    """Copy the frames. Times come last, so that everything with a time is complete."""
    source = begin.source
    for name, dataset in target.fixed.items():
        _transfer(source.dataset(name), dataset, begin.frames)
    for name, (data, offsets) in target.ragged.items():
        _transfer(source.dataset(name), offsets, begin.frames)
        _transfer(source.file[f"channels/{name}/data"], data, begin.rows(name))
    for name, dataset in target.tiles.items():
        _transfer(source.file[f"tiles/{name}"], dataset, begin.patches)
    _transfer(source.file["time"], target.time, begin.frames)


def _transfer(source: Any, target: Any, count: int) -> None:
    target.resize(count, axis=0)
    step = target.chunks[0] * max(1, COPY_ROWS // target.chunks[0])
    for start in range(0, count, step):
        target[start : start + step] = source[start : min(start + step, count)]
