"""Terrain from greyscale images and ESRI ASCII grids."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from grouser.errors import InputError
from grouser.terrain import checks
from grouser.terrain.elevation import ElevationGrid
from grouser.terrain.gridding import Missing, Origin, check_node_count, filled, placed


def from_png(
    path: str | Path,
    spacing: float,
    scale: float,
    *,
    offset: float = 0.0,
    origin: tuple[float, float] | None = None,
) -> ElevationGrid:
    """Ground from a greyscale image of 8 or 16 bit, with north at the top: z = offset + scale * grey level."""
    what = str(path)
    factor, shift = checks.number(scale, f"{what}: scale"), checks.number(offset, f"{what}: offset")
    with open_picture(path) as picture:
        if picture.mode not in ("L", "I", "I;16", "I;16B"):
            raise InputError(f"terrain picture {what!r} is of mode {picture.mode}: allowed is grey of 8 or 16 bit")
        grey = pixels(path, picture)
    return placed(what, shift + factor * grey[::-1], spacing, origin)


def from_esri_ascii(
    path: str | Path,
    spacing: float | None = None,
    *,
    scale: float = 1.0,
    offset: float = 0.0,
    origin: Origin = None,
    missing: Missing = "error",
) -> ElevationGrid:
    """Ground from an ESRI ASCII grid. `spacing` [m] replaces its cellsize, for files in units other than metres."""
    what = str(path)
    file = checks.existing_file(path, "terrain file")
    try:
        lines = file.read_text(encoding="ascii").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"terrain file {what!r} is not readable as ESRI ASCII: {error}") from None
    header, first = _ascii_header(what, lines)
    heights = _ascii_rows(what, lines, first, int(header["ncols"]), int(header["nrows"]))
    if "nodata_value" in header:
        heights[heights == header["nodata_value"]] = np.nan
    cell = header["cellsize"]
    corner = _first_node(header, "x"), _first_node(header, "y")
    factor, shift = checks.number(scale, f"{what}: scale"), checks.number(offset, f"{what}: offset")
    heights = shift + factor * heights[::-1]
    given = cell if spacing is None else spacing
    return placed(what, filled(what, heights, missing), given, corner if origin == "file" else origin)


def _ascii_header(what: str, lines: list[str]) -> tuple[dict[str, float], int]:
    """Header entries, with names in lower case, and the index of the first line of data."""
    header: dict[str, float] = {}
    for number, line in enumerate(lines):
        words = line.split()
        if not words or not words[0][0].isalpha() or words[0].lower() in ("nan", "inf"):
            break
        try:
            key, value = words
            header[key.lower()] = float(value)
        except ValueError:
            raise InputError(f"{what}:{number + 1}: {line.strip()!r}: allowed is KEY NUMBER") from None
    else:
        number = len(lines)
    for key in ("ncols", "nrows", "cellsize"):
        if key not in header:
            raise InputError(f"terrain {what!r}: the header has no {key}: an ESRI ASCII grid needs it")
        if key == "cellsize":
            checks.number(header[key], f"terrain {what!r}: {key}", above=0.0)
        elif not (header[key] >= 2 and header[key].is_integer()):
            raise InputError(f"terrain {what!r}: {key} = {header[key]:g}: allowed is an integer of at least 2")
    for axis in "xy":
        if not {f"{axis}llcorner", f"{axis}llcenter"} & header.keys():
            raise InputError(f"terrain {what!r}: the header has neither {axis}llcorner nor {axis}llcenter")
    return header, number


def _first_node(header: dict[str, float], axis: str) -> float:
    """Coordinate of the centre of the lower left cell along an axis."""
    if f"{axis}llcenter" in header:
        return header[f"{axis}llcenter"]
    return header[f"{axis}llcorner"] + 0.5 * header["cellsize"]


def _ascii_rows(what: str, lines: list[str], first: int, columns: int, rows: int) -> np.ndarray:
    """Heights (nrows, ncols), one row per line of the file; the first row is the northern one."""
    check_node_count(f"terrain {what!r}", (rows - 1, columns - 1))
    heights = np.empty((rows, columns))
    row = 0
    for number in range(first, len(lines)):
        words = lines[number].split()
        if not words:
            continue
        if row == rows:
            raise InputError(f"{what}:{number + 1}: more rows of heights than nrows = {rows}")
        if len(words) != columns:
            raise InputError(f"{what}:{number + 1}: {len(words)} columns: allowed are ncols = {columns}")
        try:
            heights[row] = np.array(words, dtype=np.float64)
        except ValueError as error:
            raise InputError(f"{what}:{number + 1}: {error}: allowed are numbers") from None
        row += 1
    if row != rows:
        raise InputError(f"terrain file {what!r}: {row} rows of heights: allowed are nrows = {rows}")
    return heights


def open_picture(path: str | Path) -> Any:
    """Open an image file."""
    file = checks.existing_file(path, "terrain picture")
    from PIL import Image

    try:
        return Image.open(file)
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise InputError(f"terrain picture {str(path)!r} is not readable: {error}") from None


def pixels(path: str | Path, picture: Any) -> np.ndarray:
    """Pixel values (ny, nx) float64 of a single-band image."""
    check_node_count(f"terrain picture {str(path)!r}", (picture.size[1] - 1, picture.size[0] - 1))
    try:
        return np.asarray(picture).astype(np.float64)
    except (OSError, SyntaxError, ValueError, TypeError) as error:
        raise InputError(f"terrain picture {str(path)!r} is not readable: {error}") from None
