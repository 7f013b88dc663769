"""Terrain from arrays and files. NumPy files are read here, rasters and meshes in modules of their own.

`load` chooses the reader by the file name extension. Row 0 of an elevation grid has the smallest y; pictures and
rasters, whose first row is the northern one, are flipped. `origin` is the world position [m] of the first node:
None centres the ground on the world origin, "file" keeps the coordinates of a georeferenced file.
"""

from __future__ import annotations

import inspect
import math
import zipfile
from pathlib import Path
from typing import Any, Literal

import numpy as np

from grouser.errors import InputError
from grouser.terrain import checks
from grouser.terrain.elevation import ElevationGrid
from grouser.terrain.geotiff import from_geotiff
from grouser.terrain.gridding import MOST_NODES, Missing, Origin, check_node_count, filled, placed, square_cells
from grouser.terrain.mesh_file import from_mesh
from grouser.terrain.rasters import from_esri_ascii, from_png

HEIGHT_BYTES = 8  # of a float64
METRES_PER_DEGREE = math.radians(1.0) * 6_371_008.8  # [m] of latitude, on a sphere of the Earth's mean radius


def from_array(
    heights: Any,
    spacing: float,
    *,
    origin: Origin = None,
    first_row: Literal["south", "north"] = "south",
    scale: float = 1.0,
    offset: float = 0.0,
    missing: Missing = "error",
) -> ElevationGrid:
    """Ground z = offset + scale * heights from an array (ny, nx). NaN and masked entries are missing heights."""
    return _from_array("array", heights, spacing, origin, first_row, scale, offset, missing)


def from_npy(
    path: str | Path,
    spacing: float,
    *,
    origin: Origin = None,
    first_row: Literal["south", "north"] = "south",
    scale: float = 1.0,
    offset: float = 0.0,
    missing: Missing = "error",
) -> ElevationGrid:
    """Ground from an array (ny, nx) saved with `np.save`; options as in `from_array`."""
    heights = _numpy_file(path)
    if not isinstance(heights, np.ndarray):
        raise InputError(f"terrain file {str(path)!r} holds several arrays: read it as .npz")
    return _from_array(str(path), heights, spacing, origin, first_row, scale, offset, missing)


def from_npz(
    path: str | Path,
    spacing: float | None = None,
    *,
    key: str = "heights",
    origin: Origin = None,
    first_row: Literal["south", "north"] = "south",
    scale: float = 1.0,
    offset: float = 0.0,
    missing: Missing = "error",
) -> ElevationGrid:
    """Ground from the array `key` of an .npz file, which may also contain `spacing`, `origin` and `soil_index`."""
    arrays = _numpy_file(path)
    if isinstance(arrays, np.ndarray):
        raise InputError(f"terrain file {str(path)!r} holds one array: read it as .npy")
    checks.choice(key, f"terrain file {str(path)!r}: array", arrays)
    if spacing is None:
        if "spacing" not in arrays:
            raise InputError(f"terrain file {str(path)!r} has no array 'spacing': give spacing = … in m")
        spacing = _scalar(path, arrays["spacing"])
    if origin is None and "origin" in arrays:
        origin = checks.pair(arrays["origin"].tolist(), f"terrain file {str(path)!r}: origin")
    grid = _from_array(str(path), arrays[key], spacing, origin, first_row, scale, offset, missing)
    if "soil_index" not in arrays:
        return grid
    index = arrays["soil_index"]
    return grid.with_soils(index[::-1] if first_row == "north" else index, ())


def jacksboro(
    spacing: float | None = None,
    *,
    rows: tuple[int, int] | None = None,
    columns: tuple[int, int] | None = None,
    scale: float | None = None,
    origin: Origin = None,
) -> ElevationGrid:
    """The Jacksboro fault in Tennessee, a real elevation model of 30 km x 32 km that ships with matplotlib.

    Its nodes are 3 arc seconds apart: 92.7 m north-south (111.2 km per degree of latitude) and, at 36.6 deg
    north, 74 m east-west; the rows are resampled to square cells of 92.7 m. `spacing` [m] sets another
    distance between nodes. This makes a scale model: heights are scaled by the same factor, so slopes stay
    the same (`scale` sets the factor of the heights, 1: as measured). `rows`, `columns` (first, last + 1)
    select a part; row 0 is the southern border. Heights are above sea level, times the factor.
    """
    try:
        from matplotlib.cbook import get_sample_data

        data: Any = get_sample_data("jacksboro_fault_dem.npz")
    except (ImportError, OSError) as error:
        raise InputError(f"jacksboro: matplotlib's sample file is not readable: {error}") from None
    latitude = 0.5 * (float(data["ymin"]) + float(data["ymax"]))
    metres_y = METRES_PER_DEGREE * float(data["dy"])
    metres_x = METRES_PER_DEGREE * float(data["dx"]) * math.cos(math.radians(latitude))
    measured = data["elevation"][::-1].astype(np.float64)
    heights, true_spacing = square_cells("jacksboro", measured, metres_x, metres_y, metres_y)
    heights = heights[_part("rows", rows, heights.shape[0]), _part("columns", columns, heights.shape[1])]
    given = true_spacing if spacing is None else checks.number(spacing, "jacksboro: spacing", above=0.0)
    factor = given / true_spacing if scale is None else checks.number(scale, "jacksboro: scale", above=0.0)
    return placed("jacksboro", factor * heights, given, origin)


def load(path: str | Path, **options: Any) -> ElevationGrid:
    """Load a terrain file. The extension selects the importer, and options are passed to it."""
    importers = {
        ".npy": from_npy,
        ".npz": from_npz,
        ".png": from_png,
        ".asc": from_esri_ascii,
        ".tif": from_geotiff,
        ".tiff": from_geotiff,
        ".img": from_geotiff,
        ".obj": from_mesh,
        ".stl": from_mesh,
        ".ply": from_mesh,
        ".glb": from_mesh,
    }
    file = checks.existing_file(path, "terrain file")
    ending = file.suffix.lower()
    if ending not in importers:
        raise InputError(f"terrain file {str(path)!r} ends in {ending!r}: allowed are {', '.join(importers)}")
    importer = importers[ending]
    _, *parameters = inspect.signature(importer).parameters.values()
    names = [parameter.name for parameter in parameters]
    for name in options:
        checks.choice(name, f"terrain file {str(path)!r}: option", names)
    lacking = [p.name for p in parameters if p.default is inspect.Parameter.empty and p.name not in options]
    if lacking:
        raise InputError(f"terrain file {str(path)!r}: give its {', '.join(lacking)} as an option")
    return importer(file, **options)


def _from_array(
    what: str,
    heights: Any,
    spacing: float,
    origin: Origin,
    first_row: str,
    scale: float,
    offset: float,
    missing: Missing,
) -> ElevationGrid:
    checks.choice(first_row, f"{what}: first_row", ("south", "north"))
    factor = checks.number(scale, f"{what}: scale")
    shift = checks.number(offset, f"{what}: offset")
    try:
        given = np.ma.asarray(heights)
    except ValueError:  # rows of different lengths
        given = None
    if given is None or given.dtype.kind not in "iuf":
        raise InputError(f"terrain {what!r}: heights are not an array of real numbers")
    if given.ndim == 2:
        check_node_count(f"terrain {what!r}", (given.shape[0] - 1, given.shape[1] - 1))
    numbers = np.ma.filled(given.astype(np.float64), np.nan)
    if first_row == "north":
        numbers = numbers[::-1]
    return placed(what, filled(what, shift + factor * numbers, missing), spacing, origin)


def _numpy_file(path: str | Path) -> np.ndarray | dict[str, np.ndarray]:
    """Read a file written by `np.save` or `np.savez`."""
    file = checks.existing_file(path, "terrain file")
    try:
        if zipfile.is_zipfile(file):
            _check_archive_size(file)
        else:
            _check_array_size(file)
        content = np.load(file, allow_pickle=False)
        return content if isinstance(content, np.ndarray) else {name: content[name] for name in content.files}
    except InputError:
        raise
    except Exception as error:  # NumPy's parsers of headers and archives raise many unrelated types
        reason = " ".join(str(error).split()) or type(error).__name__
        raise InputError(f"terrain file {str(path)!r} is not readable as NumPy data: {reason}") from None


def _check_archive_size(file: Path) -> None:
    """Raise an InputError if an archive is too large, by the sizes in its directory, before unpacking it."""
    with zipfile.ZipFile(file) as archive:
        size = sum(member.file_size for member in archive.infolist())
    if size > HEIGHT_BYTES * MOST_NODES:
        allowed = f"{HEIGHT_BYTES * MOST_NODES / 1e9:.3g} GB, {MOST_NODES} nodes"
        raise InputError(f"terrain file {str(file)!r} unpacks to {size / 1e9:.3g} GB: allowed is {allowed}")


def _check_array_size(file: Path) -> None:
    with file.open("rb") as opened:
        version = np.lib.format.read_magic(opened)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, _ = read(opened)
    if math.prod(shape) > MOST_NODES:
        raise InputError(f"terrain file {str(file)!r} holds an array {shape}: allowed are {MOST_NODES} nodes in all")


def _scalar(path: str | Path, array: np.ndarray) -> float:
    if array.size != 1 or array.dtype.kind not in "iuf":
        raise InputError(f"terrain file {str(path)!r}: spacing = {array!r}: allowed is one number")
    return float(array.reshape(()))


def _part(what: str, limits: tuple[int, int] | None, length: int) -> slice:
    """The slice (first, last + 1) of an axis, with at least two nodes."""
    if limits is None:
        return slice(None)
    try:
        first, last = limits
        fits = 0 <= first < last - 1 < length
    except (TypeError, ValueError):
        fits = False
    if not fits:
        raise InputError(f"jacksboro: {what} = {limits}: allowed are two nodes or more within (0, {length})")
    return slice(*limits)
