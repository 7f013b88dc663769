"""Creates all datasets of a recording at once, because SWMR allows no new ones later."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from grouser.errors import InputError
from grouser.module import Channel, Shape
from grouser.recording.schema import (
    FILE_PAGE,
    FORMAT,
    SCHEMA,
    TILE_COMPRESSION,
    check_channels,
    check_shapes,
    check_tiles,
    to_json,
)

if TYPE_CHECKING:
    import h5py

Geometry = Mapping[str, Mapping[str, np.ndarray]]  # body -> vertices [m], (n, 3); triangles (m, 3)

RAGGED_CHUNK_BYTES = 16384
OUTCOME_CHUNK_BYTES = 4096
TILE_TIME_CHUNK = 256


class Elevation(Protocol):
    """The part of a terrain that is recorded. `ElevationGrid` satisfies this protocol."""

    @property
    def heights(self) -> np.ndarray: ...  # [m], (ny, nx)
    @property
    def spacing(self) -> float: ...  # [m]
    @property
    def origin(self) -> tuple[float, float]: ...  # [m] world x, y of node (row 0, column 0)


@dataclass
class Layout:
    """The datasets that grow during a run."""

    time: h5py.Dataset
    outcome: h5py.Dataset
    fixed: dict[str, h5py.Dataset] = field(default_factory=dict)
    ragged: dict[str, tuple[h5py.Dataset, h5py.Dataset]] = field(default_factory=dict)  # data, offsets
    tiles: dict[str, h5py.Dataset] = field(default_factory=dict)  # heights, index, world, time


def create(
    file: h5py.File,
    header: Mapping[str, Any],
    channels: Sequence[Channel],
    dtypes: Mapping[str, np.dtype],
    *,
    worlds: int,
    block: int,
    terrain: Elevation | None = None,
    geometry: Geometry | None = None,
    shapes: Sequence[Shape] = (),
    compress: bool = False,
) -> Layout:
    """Create all datasets in an empty file.

    Set `compress` only if no chunk is written twice: SWMR never frees the space of the old chunk.
    """
    check_channels(channels)
    filters: dict[str, Any] = {"compression": "gzip", "compression_opts": TILE_COMPRESSION, "shuffle": True}
    file.attrs.update({"format": FORMAT, "schema": SCHEMA, "worlds": worlds, "header": to_json(header)})
    axes = _Axes(file)
    time = file.create_dataset("time", (0,), "f8", maxshape=(None,), chunks=(whole_pages(block, 8),), fillvalue=np.nan)
    time.attrs["unit"] = "s"
    time.make_scale("time")
    world = file.create_dataset("world", data=np.arange(worlds, dtype=np.int32))
    world.make_scale("world")
    outcome = file.create_dataset("outcome/json", (0,), "u1", maxshape=(None,), chunks=(OUTCOME_CHUNK_BYTES,))
    layout = Layout(time, outcome)
    group = file.create_group("channels")
    for channel in channels:
        if channel.kind == "tiles":
            continue
        dtype = dtypes[channel.name]
        if channel.kind == "ragged":
            data, offsets = _ragged(group, channel, dtype, worlds, block)
            axes.attach(offsets, time, world)
            layout.ragged[channel.name] = data, offsets
            continue
        size = (worlds, *channel.shape)
        rows = whole_pages(block, dtype.itemsize * math.prod(size))
        dataset = group.create_dataset(
            channel.name, (0, *size), dtype, maxshape=(None, *size), chunks=(rows, *size), fillvalue=np.nan,
            **(filters if compress else {}),
        )  # fmt: skip
        _describe(dataset, channel)
        axes.attach(dataset, time, world, labels=channel.labels)
        layout.fixed[channel.name] = dataset
    if "tiles" in header:
        check_tiles(header["tiles"])
        layout.tiles = _tiles(file.create_group("tiles"), int(header["tiles"]["size"]), axes, filters)
    if terrain is not None:
        _terrain(file.create_group("terrain"), terrain, filters)
    meshes = _Meshes(filters)
    _geometry(file.create_group("geometry"), geometry or {}, meshes)
    check_shapes(shapes, channels)
    _display(file.create_group("display"), shapes, meshes)
    return layout


def whole_pages(rows: int, row_bytes: int) -> int:
    """Rows of a chunk, `rows` or a few more, that fill whole pages. HDF5 tracks every unused rest in memory."""
    unit = FILE_PAGE // math.gcd(FILE_PAGE, max(1, row_bytes))
    return -(-rows // unit) * unit


class _Axes:
    """Dimension scales at the root of the file, visible to every group: one for each set of labels or each size.

    Two axes of one dataset never share a scale, because xarray requires different names.
    """

    def __init__(self, file: h5py.File):
        self.file = file
        self._made: dict[str | tuple[str, ...], h5py.Dataset] = {}

    def attach(self, dataset: h5py.Dataset, *first: h5py.Dataset, labels: tuple[str, ...] = ()) -> None:
        """Attach scales to all axes. `first`: scales of the leading axes; `labels`: names along the next axis."""
        scales = list(first)
        for size in dataset.shape[len(first) :]:
            scale = self._labelled(labels) if labels else self._numbered(size, f"axis_{size}")
            scales.append(scale if scale not in scales else self._numbered(size, f"axis_{size}_{len(scales)}"))
            labels = ()
        for axis, scale in enumerate(scales):
            dataset.dims[axis].attach_scale(scale)

    def _labelled(self, labels: tuple[str, ...]) -> h5py.Dataset:
        name = f"labels_{sum(isinstance(key, tuple) for key in self._made)}"
        return self._scale(labels, name, np.char.encode(np.array(labels), "utf-8"))

    def _numbered(self, size: int, name: str) -> h5py.Dataset:
        return self._scale(name, name, np.arange(size, dtype=np.int32))

    def _scale(self, key: str | tuple[str, ...], name: str, values: np.ndarray) -> h5py.Dataset:
        if key not in self._made:
            self._made[key] = self.file.create_dataset(name, data=values)
            self._made[key].make_scale(name)
        return self._made[key]


def _describe(target: h5py.Dataset | h5py.Group, channel: Channel) -> None:
    target.attrs.update({"unit": channel.unit, "frame": channel.frame, "kind": channel.kind})
    target.attrs["labels"] = np.array(channel.labels, dtype=object) if channel.labels else ""


def _ragged(
    group: h5py.Group, channel: Channel, dtype: np.dtype, worlds: int, block: int
) -> tuple[h5py.Dataset, h5py.Dataset]:
    folder = group.create_group(channel.name)
    _describe(folder, channel)
    row_bytes = dtype.itemsize * int(np.prod(channel.shape, dtype=int))
    rows = whole_pages(max(1, RAGGED_CHUNK_BYTES // max(1, row_bytes)), row_bytes)
    frames = whole_pages(block, 8 * worlds)
    size = channel.shape
    data = folder.create_dataset("data", (0, *size), dtype, maxshape=(None, *size), chunks=(rows, *size))
    ends = folder.create_dataset("offsets", (0, worlds), "i8", maxshape=(None, worlds), chunks=(frames, worlds))
    return data, ends


def _tiles(group: h5py.Group, size: int, axes: _Axes, filters: Mapping[str, Any]) -> dict[str, h5py.Dataset]:
    chunk = TILE_TIME_CHUNK
    time = group.create_dataset("time", (0,), "f8", maxshape=(None,), chunks=(chunk,), fillvalue=np.nan)
    time.attrs["unit"] = "s"
    time.make_scale("time")
    world = group.create_dataset("world", (0,), "i4", maxshape=(None,), chunks=(chunk,))
    index = group.create_dataset("index", (0, 2), "i4", maxshape=(None, 2), chunks=(chunk, 2))
    heights = group.create_dataset(
        "heights", (0, size, size), "f4", maxshape=(None, size, size), chunks=(1, size, size), **filters
    )
    heights.attrs["unit"] = "m"
    for dataset in (world, index, heights):
        axes.attach(dataset, time)
    return {"heights": heights, "index": index, "world": world, "time": time}


def _terrain(group: h5py.Group, terrain: Elevation, filters: Mapping[str, Any]) -> None:
    values = np.asarray(terrain.heights, dtype=np.float32)
    if values.ndim != 2 or not values.size:
        raise InputError(f"terrain heights of shape {values.shape}; allowed: (ny, nx) with at least one node")
    heights = group.create_dataset("heights", data=values, **filters)
    group.attrs.update({"spacing": float(terrain.spacing), "origin": np.asarray(terrain.origin, dtype=float)})
    heights.attrs["unit"] = "m"
    for axis, name, start in ((0, "y", terrain.origin[1]), (1, "x", terrain.origin[0])):
        scale = group.create_dataset(name, data=start + terrain.spacing * np.arange(values.shape[axis]))
        scale.attrs["unit"] = "m"
        scale.make_scale(name)
        heights.dims[axis].attach_scale(scale)


class _Meshes:
    """Writes triangle meshes. Equal arrays, such as those of six wheels, are stored once and linked."""

    def __init__(self, filters: Mapping[str, Any]):
        self.filters = filters
        self._kept: dict[bytes, h5py.Dataset] = {}

    def put(self, folder: h5py.Group, what: str, vertices: Any, triangles: Any) -> None:
        for name, array, dtype in (("vertices", vertices, np.float32), ("triangles", triangles, np.int32)):
            values = np.ascontiguousarray(array, dtype=dtype)
            if values.ndim != 2 or values.shape[1] != 3:
                raise InputError(f"{what}: {name} of shape {values.shape}; allowed: (n, 3)")
            key = hashlib.sha256(name.encode() + values.tobytes()).digest()
            if key in self._kept:
                folder[name] = self._kept[key]
            else:
                filters = self.filters if values.size else {}
                self._kept[key] = folder.create_dataset(name, data=values, **filters)


def _geometry(group: h5py.Group, geometry: Geometry, meshes: _Meshes) -> None:
    for place, (body, arrays) in enumerate(geometry.items()):
        folder = group.create_group(str(place))
        folder.attrs["body"] = body
        meshes.put(folder, f"geometry of body {body!r}", arrays["vertices"], arrays["triangles"])


def _display(group: h5py.Group, shapes: Sequence[Shape], meshes: _Meshes) -> None:
    for place, shape in enumerate(shapes):
        folder = group.create_group(str(place))
        folder.attrs.update({"name": shape.name, "follows": shape.follows, "colour": np.asarray(shape.colour, float)})
        meshes.put(folder, f"shape {shape.name!r}", shape.vertices, shape.triangles)
