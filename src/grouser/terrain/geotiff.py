"""Grounds from GeoTIFF and, with rasterio, from PDS."""

from __future__ import annotations

import importlib.util
import math
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from grouser.errors import InputError
from grouser.terrain import checks
from grouser.terrain.elevation import ElevationGrid
from grouser.terrain.gridding import Missing, Origin, check_node_count, filled, placed, square_cells
from grouser.terrain.rasters import open_picture, pixels

PIXEL_SCALE, TIE_POINT, TRANSFORMATION, GEO_KEYS = 33550, 33922, 34264, 34735  # GeoTIFF 1.1 tags
GDAL_METADATA, GDAL_NODATA = 42112, 42113
MODEL_TYPE, RASTER_TYPE, LINEAR_UNIT = 1024, 1025, 3076  # keys in the GeoTIFF key directory
# Most of GDAL's formats can name other files, or addresses in the network, that GDAL then opens.
TIFF = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")  # how TIFF and BigTIFF begin; anything else is read as PDS
ALONE: dict[str, Any] = {
    "GDAL_DISABLE_READDIR_ON_OPEN": "EMPTY_DIR",
    "GDAL_PAM_ENABLED": "NO",
}  # no files beside it either
PDS_LABEL = 1 << 16  # bytes at the start of a PDS file in which its label is looked for
POINTER = re.compile(rb"(\^\w*IMAGE\w*\s*=\s*\(?\s*[\"'])|COMPRESSED_FILE")
GEOGRAPHIC, PIXEL_IS_POINT, METRE = 2, 2, 9001


def from_geotiff(
    path: str | Path,
    spacing: float | None = None,
    *,
    scale: float = 1.0,
    offset: float = 0.0,
    origin: Origin = None,
    missing: Missing = "error",
    body_radius: float | None = None,
    reader: Literal["auto", "rasterio", "pillow"] = "auto",
) -> ElevationGrid:
    """A single-band elevation raster; the file's own scale, offset and nodata are applied first.

    rasterio reads it where installed (then also PDS with label and picture in one file), else Pillow: GeoTIFF with
    its first row north. No other file is opened. Pixels that are not square are resampled bilinearly to the
    smaller side. Pixels in degrees become metres at the middle latitude of a sphere of `body_radius` [m].
    `spacing` [m] replaces the file's pixel size.
    """
    what = str(path)
    file = checks.existing_file(path, "terrain file")
    raster = _reader(what, reader)(file)
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
    """What a raster file says, first row north."""

    heights: np.ndarray  # (ny, nx) float64, NaN where missing
    pixel: tuple[float, float]  # along x and y, in `unit`
    south_west: tuple[float, float]  # centre of the lower left pixel, in `unit`
    unit: str  # "metre", "degree", "pixel" (not georeferenced) or the name of another

    def pixel_metres(self, what: str, body_radius: float | None) -> tuple[float, float]:
        """[m] pixel sides along x and y."""
        step_x, step_y = self.pixel
        if self.unit == "metre":
            return step_x, step_y
        if self.unit == "pixel":
            raise InputError(f"terrain {what!r} does not say its pixel size: give spacing = … in m")
        if self.unit != "degree":
            raise InputError(f"terrain {what!r} has pixels in {self.unit}: give spacing = … in m")
        if body_radius is None:
            raise InputError(
                f"terrain {what!r} has pixels in degrees: give body_radius = … in m "
                "(Earth 6371009, Moon 1737400, Mars 3389500) or spacing"
            )
        degree = math.radians(checks.number(body_radius, f"{what}: body_radius", above=0.0))
        latitude = self.south_west[1] + 0.5 * step_y * (self.heights.shape[0] - 1)
        return degree * step_x * math.cos(math.radians(latitude)), degree * step_y


def _reader(what: str, name: str) -> Callable[[Path], _Raster]:
    """The function that reads rasters, rasterio's where it is installed."""
    checks.choice(name, f"{what}: reader", ("auto", "rasterio", "pillow"))
    installed = importlib.util.find_spec("rasterio") is not None
    if name == "rasterio" and not installed:
        raise InputError(f"terrain {what!r}: rasterio is not installed: pip install rasterio, or reader = 'pillow'")
    return _read_rasterio if installed and name != "pillow" else _read_pillow


def _read_pillow(file: Path) -> _Raster:
    """A GeoTIFF of one band."""
    with open_picture(file) as picture:
        if not hasattr(picture, "tag_v2") or len(picture.getbands()) != 1 or picture.mode in ("1", "P"):
            raise InputError(
                f"terrain {str(file)!r} ({picture.format}, mode {picture.mode}) is not a single-band TIFF; "
                "rasterio reads more: pip install rasterio"
            )
        tags = dict(picture.tag_v2)
        single = picture.mode == "F"
        heights = pixels(file, picture)
    if GDAL_NODATA in tags:
        nodata = _number(file, "GDAL_NODATA", str(tags[GDAL_NODATA]).strip(" \0"))
        heights[heights == (float(np.float32(nodata)) if single else nodata)] = np.nan
    factor, shift = _gdal_scale(file, str(tags.get(GDAL_METADATA, "")))
    heights = shift + factor * heights
    corner = _corner(file, tags)
    if corner is None:
        return _Raster(heights, (1.0, 1.0), (0.0, 0.0), "pixel")
    step_x, step_y, x, y = corner
    keys = _geo_keys(tags.get(GEO_KEYS, ()))
    centre = 0.0 if keys.get(RASTER_TYPE) == PIXEL_IS_POINT else 0.5
    south_west = (x + centre * step_x, y - (heights.shape[0] - 1 + centre) * step_y)
    unit = "metre" if keys.get(LINEAR_UNIT, METRE) == METRE else f"the EPSG unit {keys[LINEAR_UNIT]}"
    return _Raster(heights, (step_x, step_y), south_west, "degree" if keys.get(MODEL_TYPE) == GEOGRAPHIC else unit)


def _corner(file: Path, tags: dict[int, Any]) -> tuple[float, float, float, float] | None:
    """Pixel sides and x, y of raster point (0, 0), the top left; None: not georeferenced (GeoTIFF B.6)."""
    if PIXEL_SCALE in tags and TIE_POINT in tags:
        step_x, step_y = (float(step) for step in tags[PIXEL_SCALE][:2])
        column, row, _, x, y = (float(value) for value in tags[TIE_POINT][:5])
        x, y = x - column * step_x, y + row * step_y
    elif TRANSFORMATION in tags:
        step_x, turn_x, _, x, turn_y, down, _, y = (float(value) for value in tags[TRANSFORMATION][:8])
        step_y = -down
        if turn_x or turn_y:
            raise InputError(f"terrain {str(file)!r} is a turned raster: allowed is north up")
    else:
        return None
    if step_x <= 0.0 or step_y <= 0.0:
        raise InputError(f"terrain {str(file)!r} has pixels of {step_x:g} x {step_y:g}: allowed is above 0, north up")
    return step_x, step_y, x, y


def _geo_keys(directory: Any) -> dict[int, int]:
    """Key -> value of a GeoTIFF key directory: four numbers an entry, the first entry is its header."""
    entries = [tuple(directory[i : i + 4]) for i in range(4, len(directory) - 3, 4)]
    return {int(key): int(value) for key, location, _, value in entries if location == 0}


def _gdal_scale(file: Path, metadata: str) -> tuple[float, float]:
    """Scale and offset of the band from GDAL's XML tag, 1 and 0 where it has none."""
    items = dict(re.findall(r'<Item[^>]*role="(scale|offset)"[^>]*>([^<]*)</Item>', metadata))
    return _number(file, "scale", items.get("scale", "1")), _number(file, "offset", items.get("offset", "0"))


def _number(file: Path, what: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError(f"terrain {str(file)!r}: {what} = {text!r}: allowed is a number") from None


def _driver(file: Path) -> str:
    """The one format of GDAL that may read the file; a PDS label that says the picture is elsewhere is refused."""
    with file.open("rb") as opened:
        start = opened.read(PDS_LABEL)
    if start.startswith(TIFF):
        return "GTiff"
    if POINTER.search(start):
        raise InputError(f"terrain {str(file)!r} names another file: allowed is a label with the picture behind it")
    return "PDS"


def _read_rasterio(file: Path) -> _Raster:
    """GeoTIFF or PDS, north up; nothing but the file itself is opened."""
    import rasterio
    import rasterio.errors

    driver = _driver(file)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", rasterio.errors.NotGeoreferencedWarning)
            with rasterio.Env(**ALONE), rasterio.open(file.absolute(), driver=driver) as source:
                if source.count != 1:
                    raise InputError(f"terrain {str(file)!r} has {source.count} bands: allowed is one")
                check_node_count(f"terrain {str(file)!r}", (source.height - 1, source.width - 1))
                band = source.read(1, masked=True).astype(np.float64).filled(np.nan)
                heights = source.offsets[0] + source.scales[0] * band
                transform, crs = source.transform, source.crs
    except rasterio.errors.RasterioError as error:
        raise InputError(f"terrain {str(file)!r} is not readable: {error}") from None
    if transform.is_identity:
        return _Raster(heights, (1.0, 1.0), (0.0, 0.0), "pixel")
    if transform.b or transform.d or transform.a <= 0.0 or transform.e >= 0.0:
        raise InputError(f"terrain {str(file)!r} is a turned raster: allowed is north up")
    south_west = (transform.c + 0.5 * transform.a, transform.f + (heights.shape[0] - 0.5) * transform.e)
    unit = "metre"
    if crs and crs.is_geographic:
        unit = "degree"
    elif crs and crs.is_projected and crs.linear_units_factor[1] != 1.0:
        unit = crs.linear_units
    return _Raster(heights, (transform.a, -transform.e), south_west, unit)
