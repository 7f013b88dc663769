"""Reads a recording: finished, still being written, or left by a killed run."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from grouser.errors import InputError, check_headroom
from grouser.module import Channel, Shape
from grouser.recording.file_lock import error_text, is_locked_by_writer
from grouser.recording.schema import FORMAT, SCHEMA
from grouser.recording.selection import select, split, unknown
from grouser.recording.superblock import Checked, Snapshot, is_closed
from grouser.recording.surface import Region, Surface, surface_at

HEADROOM = 8 << 20  # [bytes] without which HDF5 crashes where it opens a file
MAX_NODES = 1_000_000  # default limit on the nodes of a surface
# What h5py raises on a broken file.
DAMAGE = (OSError, RuntimeError, KeyError, ValueError, TypeError, AttributeError, OverflowError)


class Recording:
    """A recording to read from; a context manager. `refresh` reads what a running writer has flushed since then."""

    def __init__(self, path: str | Path):
        self.path = Path(path)
        check_headroom(HEADROOM)
        with suppress(OSError):
            self._opened = self.path.stat()
        self.finished, self.file = _open(self.path)  # finished: closed by its writer, or repaired
        try:
            with self._readable():
                attributes = self.file.attrs
                if attributes.get("format") != FORMAT:
                    raise InputError(f"{self.path} is an HDF5 file but not a Grouser recording")
                if attributes["schema"] > SCHEMA:
                    found = attributes["schema"]
                    raise InputError(f"{self.path} has schema {found}; allowed: up to {SCHEMA}; update Grouser")
                self.header: dict[str, Any] = json.loads(attributes["header"])
                self.worlds = int(attributes["worlds"])
                self._channels = _channels(self.file["channels"])
            self._load()
        except BaseException:
            self.file.close()
            raise

    @contextmanager
    def _readable(self) -> Iterator[None]:
        try:
            yield
        except DAMAGE as error:
            raise InputError(f"recording {self.path} is damaged or cut short: {error_text(error)}") from None

    def _load(self) -> None:
        with self._readable():
            times = self.file["time"][:]
            missing = np.flatnonzero(~np.isfinite(times))
            self.time: np.ndarray = times[: missing[0]] if len(missing) else times  # [s], (frame,)
            for name in self._channels:  # a frame counts if it is complete in every channel
                self.time = self.time[: len(self.dataset(name))]
            text = self.file["outcome/json"][:].tobytes()
        try:
            self.outcome: dict[str, Any] = json.loads(text) if text else {}
        except ValueError:  # killed during its last write
            self.outcome = {}

    def refresh(self) -> None:
        """Update `time`, channels, tiles and status with what the writer has flushed in the meantime."""
        with self._readable():
            for dataset in self._growing() if self.file.swmr_mode else ():
                dataset.id.refresh()
        for name in ("_tile_columns", "status"):
            self.__dict__.pop(name, None)
        self._load()

    def _growing(self) -> Iterator[Any]:
        yield self.file["outcome/json"]
        yield self.file["time"]
        for name, channel in self._channels.items():
            yield self.dataset(name)
            if channel.kind == "ragged":
                yield self.file[f"channels/{name}/data"]
        if "tiles" in self.file:
            yield from self.file["tiles"].values()

    @cached_property
    def status(self) -> str:
        """One of "complete", "running", "stopped" (by the program) or "interrupted" (Ctrl-C or killed)."""
        return self.outcome.get("status") or ("running" if self._is_written() else "interrupted")

    def _is_written(self) -> bool:
        """Whether a run writes this very file. Another run may have replaced it, or somebody removed it."""
        try:
            return os.path.samestat(self.path.stat(), self._opened) and is_locked_by_writer(self.path)
        except OSError:
            return False

    @property
    def title(self) -> str:
        """What the run is called: the name of a user's robot, otherwise the scenario."""
        return str(self.header.get("title") or self.header.get("scenario") or "")

    @property
    def message(self) -> str:
        return self.outcome.get("message", "")

    @property
    def metrics(self) -> dict[str, Any]:
        """Metric values by name, measured at the end of the run. Empty during the run and after a kill."""
        return self.outcome.get("metrics", {})

    @property
    def notes(self) -> list[str]:
        return self.outcome.get("notes", [])

    @property
    def wall_s(self) -> float | None:
        return self.outcome.get("wall_s")

    @property
    def sim_s(self) -> float:
        """Simulated time [s]."""
        return self.outcome.get("sim_s", self.last_time)

    @property
    def last_time(self) -> float:
        """Time [s] of the last readable frame, 0 if there is none. Earlier than `sim_s` if the disk was full."""
        return float(self.time[-1]) if len(self.time) else 0.0

    @property
    def steps(self) -> int | None:
        return self.outcome.get("steps")

    def __len__(self) -> int:
        return len(self.time)

    def names(self) -> list[str]:
        return sorted(self._channels)

    def __contains__(self, words: str) -> bool:
        return split(words)[0] in self._channels

    def channel_info(self, words: str) -> Channel:
        """Unit, shape, frame, kind and labels of a channel."""
        name = split(words)[0]
        if name not in self._channels:
            raise unknown(name, self.names())
        return self._channels[name]

    def __getitem__(self, words: str) -> Any:
        return self.read(words)

    def read(self, words: str, frames: slice = slice(None)) -> Any:
        """Read frames of a channel: (frame, world, *shape) float64, without the world axis if there is only one world.

        "name[label]" and "name[label, component]" select along the axes of the shape. A ragged channel gives a list
        with one entry per frame: an array (m, *shape), or a list of such arrays, one per world.
        """
        name, inside = split(words)
        channel = self.channel_info(name)
        start, stop, step = frames.indices(len(self))
        if channel.kind == "ragged":
            return self._rows(name, channel, range(start, stop, step), inside)
        with self._readable():
            values = self.dataset(name).astype(np.float64)[start:stop:step]
        axis = 2
        if self.worlds == 1:
            values, axis = values[:, 0], 1
        return select(values, channel, inside, axis)

    def _rows(self, name: str, channel: Channel, frames: range, inside: str) -> list[Any]:
        if not len(frames):
            return []
        ends = self.row_ends(name, min(frames), max(frames) + 1)
        with self._readable():
            data = self.file[f"channels/{name}/data"].astype(np.float64)[ends[0] : ends[-1]]
        cut = ends - ends[0]
        result = []
        for frame in frames:
            first = (frame - min(frames)) * self.worlds
            places = range(first, first + self.worlds)
            parts = [select(data[cut[k] : cut[k + 1]], channel, inside, 1) for k in places]
            result.append(parts[0] if self.worlds == 1 else parts)
        return result

    def row_ends(self, name: str, start: int, stop: int) -> np.ndarray:
        """Row offsets of ragged frames `start` to `stop`: the first row, then the end of each frame and world."""
        with self._readable():
            ends = self.dataset(name)[max(start - 1, 0) : stop].ravel()
            ends = np.concatenate(([0], ends)) if start == 0 else ends[self.worlds - 1 :]
            if np.any(np.diff(ends) < 0) or ends[0] < 0 or ends[-1] > len(self.file[f"channels/{name}/data"]):
                raise ValueError(f"the rows of channel {name!r} do not follow each other")
        return ends

    def dataset(self, name: str) -> Any:
        """The h5py dataset with one row per frame: the values, or the offsets of a ragged channel."""
        ragged = self._channels[name].kind == "ragged"
        with self._readable():
            return self.file[f"channels/{name}/offsets" if ragged else f"channels/{name}"]

    def stored_dtype(self, name: str) -> np.dtype:
        ragged = self._channels[name].kind == "ragged"
        with self._readable():
            return self.file[f"channels/{name}/data"].dtype if ragged else self.dataset(name).dtype

    @property
    def has_terrain(self) -> bool:
        return "terrain" in self.file

    def terrain_place(self) -> tuple[tuple[float, float], float]:
        """Origin [m] and spacing [m] of the terrain before the run."""
        if not self.has_terrain:
            raise InputError(f"{self.path} holds no terrain")
        with self._readable():
            x, y = self.file["terrain"].attrs["origin"]
            return (float(x), float(y)), float(self.file["terrain"].attrs["spacing"])

    def terrain_shape(self) -> tuple[int, int]:
        with self._readable():
            return self.file["terrain/heights"].shape

    def terrain_patch(self, rows: slice, columns: slice) -> np.ndarray:
        with self._readable():
            return self.file["terrain/heights"].astype(np.float64)[rows, columns]

    def terrain(self) -> tuple[tuple[float, float], float, np.ndarray]:
        """Origin [m], spacing [m] and heights [m], (ny, nx), of the terrain before the run."""
        origin, spacing = self.terrain_place()
        return origin, spacing, self.terrain_patch(slice(None), slice(None))

    def surface_at(
        self,
        time: float = math.inf,
        region: Region | None = None,
        *,
        world: int = 0,
        max_nodes: int = MAX_NODES,
    ) -> Surface:
        """The terrain at `time` [s]: x (nx,), y (ny,), heights then and heights before the run (ny, nx), all [m].

        `region` is x0, x1, y0, y1 [m]; the default is the area that changed. The grid is thinned to at most `max_nodes`
        nodes.
        """
        return surface_at(self, time, world, region, max_nodes)

    @cached_property
    def _tile_columns(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        if "tiles" not in self.file:
            return np.empty(0), np.empty(0, int), np.empty((0, 2), int)
        with self._readable():
            group = self.file["tiles"]
            time = group["time"][:]
            missing = np.flatnonzero(~np.isfinite(time))
            count = missing[0] if len(missing) else len(time)
            count = min(count, *(len(group[name]) for name in ("world", "index", "heights")))  # complete patches only
            return time[:count], group["world"][:count], group["index"][:count]

    def tile_time(self) -> np.ndarray:
        """Times [s] of the patches, (patch,)."""
        return self._tile_columns[0]

    def tile_world(self) -> np.ndarray:
        """World index of the patches, (patch,)."""
        return self._tile_columns[1]

    def tile_index(self) -> np.ndarray:
        """Tile row and column of the patches, (patch, 2)."""
        return self._tile_columns[2]

    def tile_heights(self, patch: int) -> np.ndarray:
        """Heights [m] of one patch, (T, T) float32."""
        with self._readable():
            return self.file["tiles/heights"][patch]

    def tiles_between(
        self, start: float, stop: float, world: int = 0
    ) -> Iterator[tuple[float, tuple[int, int], np.ndarray]]:
        """Iterate over patches with start < time <= stop, in order: time [s], (row, column), heights [m], (T, T)."""
        time, index = self.tile_time(), self.tile_index()
        for patch in np.flatnonzero((time > start) & (time <= stop) & (self.tile_world() == world)):
            row, column = map(int, index[patch])
            yield float(time[patch]), (row, column), self.tile_heights(int(patch))

    def geometry(self) -> dict[str, dict[str, np.ndarray]]:
        """Meshes by body: vertices [m], (n, 3) float32 in body axes, and triangles (m, 3) int32."""
        with self._readable():
            groups = sorted(self.file["geometry"].items(), key=lambda item: int(item[0]))
            arrays = ("vertices", "triangles")
            return {group.attrs["body"]: {name: group[name][:] for name in arrays} for _, group in groups}

    def shapes(self) -> list[Shape]:
        """Shapes to draw. A recording without display shapes gives its geometry."""
        with self._readable():
            kept = self.file["display"].items() if "display" in self.file else ()
            groups = sorted(kept, key=lambda item: int(item[0]))
            found = [
                Shape(
                    str(group.attrs["name"]), group["vertices"][:], group["triangles"][:], str(group.attrs["follows"]),
                    tuple(map(float, group.attrs["colour"])),  # type: ignore[arg-type]
                )
                for _, group in groups
            ]  # fmt: skip
        if found:
            return found
        bodies = self.channel_info("body/pose").labels if "body/pose" in self else ()
        return [
            Shape(body, mesh["vertices"], mesh["triangles"], f"body/pose[{body}]" if body in bodies else "")
            for body, mesh in self.geometry().items()
        ]

    def close(self) -> None:
        self.file.close()

    def __enter__(self) -> Recording:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _open(path: Path) -> tuple[bool, Any]:
    """Open a recording that is finished, being written, or left by a killed run. Returns whether it is finished."""
    import h5py

    if not path.is_file():
        raise InputError(f"{path} is a folder; a recording is a file" if path.exists() else f"{path}: no such file")
    if not h5py.is_hdf5(path):
        raise InputError(f"{path} is not an HDF5 file, so not a recording")
    locked = is_locked_by_writer(path)
    if locked:
        with suppress(*DAMAGE):
            return False, h5py.File(path, "r")
    elif is_closed(path):
        with suppress(*DAMAGE):
            return True, h5py.File(Checked(path), "r")
    try:
        if locked:
            return False, h5py.File(path, "r", swmr=True)
        return False, h5py.File(Snapshot(path), "r")
    except DAMAGE as error:
        raise InputError(f"{path} cannot be opened as a recording: {error_text(error)}") from None


def _channels(group: Any) -> dict[str, Channel]:
    found: dict[str, Channel] = {}

    def take(name: str, item: Any) -> None:
        if "kind" not in item.attrs:
            return
        ragged = item.attrs["kind"] == "ragged"
        shape = item["data"].shape[1:] if ragged else item.shape[2:]
        labels = item.attrs["labels"]
        found[name] = Channel(
            name,
            item.attrs["unit"],
            tuple(int(size) for size in shape),
            item.attrs["frame"],
            item.attrs["kind"],
            () if isinstance(labels, str) else tuple(map(str, labels)),
        )

    group.visititems(take)
    return found
