"""Terrain from GeoTIFF and PDS files, read with rasterio."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from grouser.errors import InputError
from grouser.terrain import checks
from grouser.terrain.elevation import ElevationGrid
from grouser.terrain.gridding import MOST_NODES, Missing, Origin, check_node_count, filled, placed, square_cells

# Only these formats are allowed: in most others a file can name further files or network addresses, which GDAL opens.
TIFF = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")  # first bytes of TIFF and BigTIFF; anything else is read as PDS
ALONE: dict[str, Any] = {
    "GDAL_DISABLE_READDIR_ON_OPEN": "EMPTY_DIR",
    "GDAL_PAM_ENABLED": "NO",
}  # do not look for sidecar files either
LARGEST_PDS = 8 * MOST_NODES + (1 << 20)  # [bytes] largest number of nodes allowed, plus a label
PDS_LABEL = 1 << 16  # [bytes] at the start of a PDS file that are searched for its label
ELSEWHERE = re.compile(rb"(\^\w*IMAGE\w*\s*=\s*\(?\s*[\"'])|COMPRESSED_FILE", re.IGNORECASE)
BEHIND = re.compile(rb"\^IMAGE\s*=\s*(\d+)\s*(<BYTES>)?", re.IGNORECASE)  # record or byte of the image, from 1
RECORD = re.compile(rb"\bRECORD_BYTES\s*=\s*(\d+)", re.IGNORECASE)
IN_MEMORY = re.compile(r"'/vsimem/[^']*'")  # name of the in-memory copy of a PDS file in GDAL's messages


def from_geotiff(
    path: str | Path,
    spacing: float | None = None,
    *,
    scale: float = 1.0,
    offset: float = 0.0,
    origin: Origin = None,
    missing: Missing = "error",
    body_radius: float | None = None,
) -> ElevationGrid:
    """Read a single-band elevation raster. The file's own scale, offset and nodata value are applied first.

    Reads GeoTIFF, or PDS with label and image in one file; needs rasterio (extra `geo`). No other file is opened.
    Pixels that are not square are resampled bilinearly to the smaller side. Pixel sizes in degrees are converted to
    metres on a sphere of `body_radius` [m] at the middle latitude. `spacing` [m] replaces the file's pixel size.
    """
    what = str(path)
    file = checks.existing_file(path, "terrain file")
    raster = _read(file)
    factor, shift = checks.number(scale, f"{what}: scale"), checks.number(offset, f"{what}: offset")
    heights = filled(what, shift + factor * raster.heights[::-1], missing)
    if origin == "file" and (spacing is not None or raster.unit != "metre"):
        raise InputError(f"terrain {what!r}: origin = 'file': allowed where the file itself is in metres")
    if spacing is not None:
        return placed(what, heights, spacing, origin)
    step_x, step_y = raster.pixel_metres(what, body_radius)
    heights, side = square_cells(what, heights, step_x, step_y, min(step_x, step_y))
    return placed(what, heights, side, raster.south_west if origin == "file" else origin)


@dataclass(frozen=True)
class _Raster:
    """Contents of a raster file; the first row is the northern one."""

    heights: np.ndarray  # (ny, nx) float64, NaN where missing
    pixel: tuple[float, float]  # along x and y, in `unit`
    south_west: tuple[float, float]  # centre of the lower left pixel, in `unit`
    unit: str  # "metre", "degree", "pixel" (not georeferenced) or the name of another unit

    def pixel_metres(self, what: str, body_radius: float | None) -> tuple[float, float]:
        """Pixel sides [m] along x and y."""
        step_x, step_y = self.pixel
        if self.unit == "pixel":
            raise InputError(f"terrain {what!r} does not say its pixel size: give spacing = … in m")
        if self.unit not in ("metre", "degree"):
            raise InputError(f"terrain {what!r} has pixels in {self.unit}: give spacing = … in m")
        if not all(math.isfinite(step) and step > 0 for step in self.pixel):
            text = f"terrain {what!r} has pixels of {step_x:g} x {step_y:g} {self.unit}s: allowed are positive sizes"
            raise InputError(f"{text}, or spacing = … in m")
        if self.unit == "metre":
            return step_x, step_y
        if body_radius is None:
            raise InputError(
                f"terrain {what!r} has pixels in degrees: give body_radius = … in m "
                "(Earth 6371009, Moon 1737400, Mars 3389500) or spacing"
            )
        degree = math.radians(checks.number(body_radius, f"{what}: body_radius", above=0.0))
        latitude = self.south_west[1] + 0.5 * step_y * (self.heights.shape[0] - 1)
        return degree * step_x * math.cos(math.radians(latitude)), degree * step_y


@contextmanager
def _opened(file: Path) -> Iterator[Any]:
    """Open the raster with one GDAL driver: GTiff if the first bytes are those of a TIFF, otherwise PDS.

    A PDS label can name another file for the image, and GDAL looks for sidecar files. Therefore GDAL gets the bytes
    of a PDS file only, as a file in memory with no other file beside it.
    """
    import rasterio

    with file.open("rb") as opened:
        start = opened.read(PDS_LABEL)
    if start.startswith(TIFF):
        with rasterio.open(file.absolute(), driver="GTiff") as source:
            yield source
        return
    if not start:  # rasterio would fail on it with an error of its own
        raise InputError(f"terrain {str(file)!r} is empty")
    if ELSEWHERE.search(start):
        raise InputError(
            f"terrain {str(file)!r} refers to another file: allowed is a label with the image in the same file"
        )
    if (size := file.stat().st_size) > LARGEST_PDS:
        raise InputError(f"terrain {str(file)!r} has {size} bytes: allowed are {LARGEST_PDS} of a PDS file")
    with rasterio.MemoryFile(file.read_bytes()) as memory, memory.open(driver="PDS") as source:
        _check_whole(file, start, source)
        yield source


def _check_whole(file: Path, label: bytes, source: Any) -> None:
    """Raise an InputError if a PDS file is too short for its image; GDAL would fill in zeros."""
    pointer, record = BEHIND.search(label), RECORD.search(label)
    first = int(pointer[1]) - 1 if pointer else 0
    if pointer and not pointer[2] and record:
        first *= int(record[1])
    wanted = first + source.count * source.height * source.width * np.dtype(source.dtypes[0]).itemsize
    if (size := file.stat().st_size) < wanted:
        raise InputError(f"terrain {str(file)!r} is cut off: it has {size} bytes of {wanted}")


def _read(file: Path) -> _Raster:
    """Read a GeoTIFF or PDS file with north up. No other file is opened."""
    try:
        import rasterio
        import rasterio.errors
    except ModuleNotFoundError:
        raise InputError(f"terrain {str(file)!r} needs rasterio: pip install 'grouser[geo]'") from None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", rasterio.errors.NotGeoreferencedWarning)
            with rasterio.Env(**ALONE), _opened(file) as source:
                if source.count != 1:
                    raise InputError(f"terrain {str(file)!r} has {source.count} bands: allowed is one")
                check_node_count(f"terrain {str(file)!r}", (source.height - 1, source.width - 1))
                band = source.read(1, masked=True).astype(np.float64).filled(np.nan)
                heights = source.offsets[0] + source.scales[0] * band
                transform, crs = source.transform, source.crs
    except rasterio.errors.RasterioError as error:
        raise InputError(f"terrain {str(file)!r} is not readable: {IN_MEMORY.sub('it is', str(error))}") from None
    if transform.is_identity:
        return _Raster(heights, (1.0, 1.0), (0.0, 0.0), "pixel")
    if transform.b or transform.d or transform.a <= 0.0 or transform.e >= 0.0:
        raise InputError(f"terrain {str(file)!r} is a rotated raster: allowed is north up")
    south_west = (transform.c + 0.5 * transform.a, transform.f + (heights.shape[0] - 0.5) * transform.e)
    unit = "metre"
    if crs and crs.is_geographic:
        unit = "degree"
    elif crs and crs.is_projected and crs.linear_units_factor[1] != 1.0:
        unit = crs.linear_units
    return _Raster(heights, (transform.a, -transform.e), south_west, unit)
