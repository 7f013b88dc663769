"""Layout of a recording on disk, and its header. Schema 1, HDF5:

    /                        attributes: format, schema, worlds, header (JSON text)
    /time                    [s], (frame,) float64; written last, so a frame that has a time is complete
    /world                   (world,) int32
    /channels/NAME           fixed, pose: (frame, world, *shape); attributes unit, frame, kind, labels
    /channels/NAME/data      ragged: (row, *shape), the rows of all frames one after another
    /channels/NAME/offsets   ragged: (frame, world) int64, end of the rows of that frame and world
    /tiles                   tiles of the fine terrain that changed: time [s], world (patch,), index (patch, 2) row and
                             column, heights [m] (patch, T, T)
    /terrain                 the terrain before the run [m]: heights (ny, nx), x (nx,), y (ny,);
                             attributes spacing, origin
    /geometry/K              vertices [m] (n, 3) in body axes, triangles (m, 3); attribute body
    /display/K               meshes to draw: vertices [m] (n, 3), triangles (m, 3); attributes name, colour (RGBA),
                             follows ("" fixed, else the pose or channel of poses it moves with)
    /outcome/json            (byte,) uint8, empty until the end: status, message, metrics, notes, wall_s,
                             sim_s, steps

Time, poses (position [m], quaternion xyzw) and channels of single numbers are float64. All others are float32
unless the writer is given another precision. Heights of tiles are rounded to 2^-17 m (7.6 um), so that they compress
well. All axes have dimension scales: /time, /world, /labels_K (names along an axis) or /axis_N.

If there are tiles, the header's "tiles" entry gives their grid: {"spacing" [m], "origin" [m, m] of fine node (0, 0),
"nx", "ny" fine nodes, "size" T}. Tile (r, c) holds rows r T to r T + T - 1 and columns c T to c T + T - 1 of the fine
grid. Values beyond the last row or column have no meaning.
"""

from __future__ import annotations

import json
import platform
import re
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

import grouser
from grouser.errors import InputError
from grouser.module import Channel, Shape
from grouser.recording.selection import axis_names, split

FORMAT = "grouser recording"
SCHEMA = 1
LIBRARY_VERSIONS = ("v110", "v110")  # oldest HDF5 format with SWMR, so that older readers open the file
MEMORY_PAGE = 4096  # bytes: a kill can interrupt a write at the end of such a page, not inside one
FILE_PAGE = 512  # bytes: HDF5 puts no smaller piece across two of these, so after a kill it is old or new
PAGED: dict[str, Any] = {"fs_strategy": "page", "fs_page_size": FILE_PAGE}
CHUNK_CACHE_BYTES = 1 << 16  # per dataset; HDF5 would keep 8 MiB each, but written data is never read again
NEW_FILE: dict[str, Any] = {"libver": LIBRARY_VERSIONS, "rdcc_nbytes": CHUNK_CACHE_BYTES}
TILE_HEIGHT_STEP = 2.0**-17  # [m] tile heights are multiples of this
TILE_COMPRESSION = 1  # level of deflate
STATUSES = ("complete", "running", "stopped", "interrupted")
PROVENANCE_PACKAGES = {"numpy": "numpy", "mujoco": "mujoco", "warp": "warp-lang", "h5py": "h5py"}
TILE_PLACEMENT = ("spacing", "origin", "nx", "ny", "size")


def package_version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "unknown"


def provenance(command: str | None = None) -> dict[str, str]:
    """How this recording was made: versions, platform, command line and date and time (UTC)."""
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        **{name: package_version(package) for name, package in PROVENANCE_PACKAGES.items()},
        "command": shlex.join(sys.argv) if command is None else command,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def build_header(
    *,
    scenario: str,
    settings: Mapping[str, Any],
    step: float,
    duration: float,
    seed: int = 0,
    dtype: str = "float64",
    metrics: Sequence[Mapping[str, Any]] = (),
    figures: Sequence[Mapping[str, Any]] = (),
    version: str | None = None,
    command: str | None = None,
    tiles: Mapping[str, Any] | None = None,
    sensors: Sequence[Mapping[str, Any]] = (),
    title: str = "",
    limits: Sequence[Mapping[str, Any]] = (),
    rate: float | None = None,
) -> dict[str, Any]:
    """Make the header of a recording. `step` and `duration` [s]; `metrics` and `figures` are declarations.

    `title`: what reports and pages call the run, by default the scenario. `limits`: fields of `Limit`. `rate` [Hz]:
    frames.
    """
    header: dict[str, Any] = {
        "schema": SCHEMA,
        "scenario": scenario,
        "version": grouser.__version__ if version is None else version,
        "settings": dict(settings),
        "seed": seed,
        "dtype": dtype,
        "step": step,
        "duration": duration,
        "metrics": list(metrics),
        "figures": list(figures),
        "provenance": provenance(command),
    }
    if tiles is not None:
        header["tiles"] = dict(tiles)
    if sensors:
        header["sensors"] = [dict(sensor) for sensor in sensors]
    if title:
        header["title"] = title
    if rate is not None:
        header["rate"] = rate
    if limits:
        header["limits"] = [dict(limit) for limit in limits]
    return header


def to_json(value: Any) -> str:
    """Convert to JSON text, including NumPy numbers, arrays and paths. NaN and Infinity stay as Python writes them."""
    return json.dumps(value, default=_plain)


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, set | frozenset):
        return sorted(value)
    kind = type(value).__name__
    raise InputError(f"recording: {value!r} is a {kind}; numbers, text, lists and dicts can be stored")


def check_channels(channels: Iterable[Channel]) -> None:
    """Check that names are unique paths, none the folder of another, and that labels and poses fit the shape."""
    seen: set[str] = set()
    for channel in channels:
        if not re.fullmatch(r"[^/\[\]]+(/[^/\[\]]+)*", channel.name) or "." in channel.name.split("/"):
            raise InputError(f"channel name {channel.name!r}; allowed: words joined by '/', without '[' and ']'")
        if channel.name in seen:
            raise InputError(f"channel {channel.name!r} is declared twice; names must differ")
        if channel.kind == "pose" and channel.shape[-1:] != (7,):
            raise InputError(
                f"channel {channel.name!r}: shape {channel.shape}; a pose ends in 7 (xyz, quaternion xyzw)"
            )
        if channel.labels and channel.shape[:1] != (len(channel.labels),):
            raise InputError(
                f"channel {channel.name!r}: {len(channel.labels)} labels for shape {channel.shape}; "
                "allowed: one for each entry of its first axis"
            )
        seen.add(channel.name)
    for name in seen:
        for other in seen:
            if other.startswith(name + "/"):
                raise InputError(f"channel {name!r} is also the folder of {other!r}; rename one of them")


def check_shapes(shapes: Iterable[Shape], channels: Iterable[Channel]) -> None:
    """Check what the shapes follow: nothing, one pose of a channel, or all poses of a channel."""
    known = {channel.name: channel for channel in channels}
    for shape in shapes:
        if not shape.follows:
            continue
        name, inside = split(shape.follows)
        channel = known.get(name)
        if channel is None or channel.shape[-1:] != (7,) or (channel.kind == "ragged" and channel.shape != (7,)):
            raise InputError(f"shape {shape.name!r} follows {shape.follows!r}, which is not a channel of poses (.., 7)")
        if inside and inside not in axis_names(channel, 0):
            raise InputError(f"shape {shape.name!r} follows {shape.follows!r}; no {inside!r} in that channel")


def check_tiles(placement: Mapping[str, Any]) -> None:
    missing = [key for key in TILE_PLACEMENT if key not in placement]
    if missing:
        raise InputError(f"recording header, tiles: {', '.join(missing)} missing")
    for key in ("spacing", "nx", "ny", "size"):
        if not placement[key] > 0:
            raise InputError(f"recording header, tiles.{key}: {placement[key]!r}; it must be above 0")


def stored_dtype(channel: Channel, precision: str | Mapping[str, str]) -> np.dtype:
    """Float type of a channel in the file: float64 for poses and single numbers, else by `precision`.

    `precision` is one type name for all channels, or a mapping from channel name to type name.
    """
    wanted = precision.get(channel.name) if isinstance(precision, Mapping) else precision
    if wanted not in (None, "float32", "float64"):
        raise InputError(f"precision of channel {channel.name!r}: {wanted!r}; allowed: float32, float64")
    if isinstance(precision, Mapping) and wanted is not None:
        return np.dtype(wanted)
    alone = channel.kind in ("fixed", "ragged") and not channel.shape
    return np.dtype("float64" if alone or channel.kind == "pose" else wanted or "float32")
