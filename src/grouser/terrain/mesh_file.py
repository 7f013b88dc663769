"""Make an elevation grid from a triangle mesh seen from above."""

from __future__ import annotations

import math
from io import BytesIO
from pathlib import Path
from typing import Any, Literal

import numpy as np

from grouser.errors import InputError
from grouser.terrain import checks
from grouser.terrain.elevation import ElevationGrid
from grouser.terrain.gridding import Missing, check_node_count, filled

WHOLE = 1e-6  # [cells] a mesh that ends this close to a grid line counts as reaching it
Y_UP_ENDINGS = (".glb", ".gltf")  # glTF 2.0 defines +y as up


def from_mesh(
    source: str | Path | tuple[Any, Any],
    spacing: float,
    *,
    scale: float = 1.0,
    up: Literal["z", "y"] | None = None,
    bounds: tuple[float, float, float, float] | None = None,
    origin: tuple[float, float] | None = None,
    missing: Missing = "error",
) -> ElevationGrid:
    """Ground from the topmost surface of a mesh file (OBJ, STL, PLY, GLB) or of (vertices, triangles).

    `scale`: metres per unit of the file. `up` defaults to z, for GLB to y. `bounds` [m] (x_min, x_max, y_min,
    y_max) select a part of the mesh after scaling and rotation. The mesh keeps its position in the world unless
    `origin` gives that of the first node. Surfaces below an overhang are ignored; a node over a hole is missing.
    """
    what, vertices, triangles = upright_mesh(source, scale=scale, up=up)
    step = checks.number(spacing, f"{what}: spacing", above=0.0)
    x, y = _nodes(what, vertices, triangles, step, bounds)

    from grouser.terrain.mesh_rays import heights_from_above

    heights = heights_from_above(vertices, triangles, x, y)
    heights = filled(what, heights, missing)
    corner = (float(x[0]), float(y[0])) if origin is None else checks.pair(origin, f"{what}: origin")
    return ElevationGrid(heights, step, corner)


def upright_mesh(
    source: str | Path | tuple[Any, Any], *, scale: float = 1.0, up: Literal["z", "y"] | None = None
) -> tuple[str, np.ndarray, np.ndarray]:
    """Read a mesh. Returns its name, vertices [m] (n, 3) with z up, and triangles (m, 3); arguments as `from_mesh`."""
    what, vertices, triangles = _read(source)
    upright = up or ("y" if what.lower().endswith(Y_UP_ENDINGS) else "z")
    if checks.choice(upright, f"{what}: up", ("z", "y")) == "y":
        vertices = vertices[:, [0, 2, 1]] * np.array([1.0, -1.0, 1.0])
    return what, vertices * checks.number(scale, f"{what}: scale", above=0.0), triangles


def ply_values(file: Path) -> dict[str, np.ndarray]:
    """Further properties of the vertices of a PLY file, (vertex,) each, by name; none for other files."""
    if file.suffix.lower() != ".ply":
        return {}
    found = _load(file).metadata.get("_ply_raw", {}).get("vertex", {}).get("data", {})
    names = [name for name in getattr(found, "keys", lambda: found.dtype.names)() if name not in ("x", "y", "z")]
    try:
        return {name: np.asarray(found[name], float).ravel() for name in names}
    except (TypeError, ValueError):
        raise InputError(f"{file}: a property of the vertices is not one number for each") from None


def _read(source: str | Path | tuple[Any, Any]) -> tuple[str, np.ndarray, np.ndarray]:
    """Read and check a mesh. Returns its name, vertices (n, 3) float64 and triangles (m, 3) int32."""
    if isinstance(source, str | Path):
        what = str(source)
        vertices, triangles = _read_file(checks.existing_file(source, "terrain mesh"))
    else:
        what = "mesh"
        try:
            vertices, triangles = source
        except (TypeError, ValueError):
            raise InputError("terrain mesh: allowed is a file name or (vertices, triangles)") from None
    vertices, triangles = np.asarray(vertices), np.asarray(triangles)
    if vertices.size == 0 or triangles.size == 0:
        raise InputError(f"terrain mesh {what!r} has no triangles")
    for name, array, kinds in (("vertices", vertices, "iuf"), ("triangles", triangles, "iu")):
        if array.ndim != 2 or array.shape[1] != 3 or array.dtype.kind not in kinds:
            raise InputError(
                f"terrain mesh {what!r}: {name} are {array.dtype} {array.shape}: allowed is (n, 3) numbers"
            )
    bad = ~np.isfinite(vertices).all(axis=1)
    if bad.any():
        number = int(np.argmax(bad))
        raise InputError(f"terrain mesh {what!r}: vertex {number} = {vertices[number]}: allowed are finite numbers")
    if triangles.min() < 0 or triangles.max() >= len(vertices):
        raise InputError(
            f"terrain mesh {what!r}: triangles refer to vertices {triangles.min()} to {triangles.max()}: "
            f"allowed are 0 to {len(vertices) - 1}"
        )
    return what, vertices.astype(np.float64), triangles.astype(np.int32)


def _read_file(file: Path) -> tuple[Any, Any]:
    mesh = _load(file)
    return mesh.vertices, mesh.faces


def _load(file: Path) -> Any:
    try:
        import trimesh
    except ModuleNotFoundError:
        raise InputError(f"terrain mesh {str(file)!r}: reading it needs trimesh: pip install trimesh") from None
    try:
        # Pass bytes without a path, so that files named in the mesh, such as materials, are not opened.
        mesh = trimesh.load_mesh(BytesIO(file.read_bytes()), file_type=file.suffix.lower().lstrip("."), process=False)
    except Exception as error:  # trimesh's parsers raise many unrelated types
        raise InputError(f"terrain mesh {str(file)!r} is not readable: {type(error).__name__}: {error}") from None
    if not hasattr(mesh, "faces"):
        raise InputError(f"terrain mesh {str(file)!r} holds no triangles")
    return mesh


def _nodes(
    what: str,
    vertices: np.ndarray,
    triangles: np.ndarray,
    step: float,
    bounds: tuple[float, float, float, float] | None,
) -> tuple[np.ndarray, np.ndarray]:
    """x (nx,) and y (ny,) [m] of the nodes inside the mesh or the part of it given by `bounds`."""
    used = vertices[np.unique(triangles)]
    limits = (*_range(used[:, 0]), *_range(used[:, 1]))
    if bounds is not None:
        try:
            x_min, x_max, y_min, y_max = bounds
        except (TypeError, ValueError):
            raise InputError(f"{what}: bounds = {bounds!r}: allowed are x_min, x_max, y_min, y_max") from None
        along_x = checks.pair((x_min, x_max), f"{what}: bounds x")
        limits = (*along_x, *checks.pair((y_min, y_max), f"{what}: bounds y"))
    lengths = limits[1] - limits[0], limits[3] - limits[2]
    if min(lengths) < step * (1.0 - WHOLE):
        raise InputError(
            f"terrain mesh {what!r}: {lengths[0]:g} m x {lengths[1]:g} m seen from above: "
            f"allowed is at least one spacing of {step:g} m in each direction"
        )
    cells = [math.floor(length / step + WHOLE) for length in lengths]
    check_node_count(f"terrain mesh {what!r}: spacing = {step:g} m", cells)
    return limits[0] + step * np.arange(cells[0] + 1), limits[2] + step * np.arange(cells[1] + 1)


def _range(values: np.ndarray) -> tuple[float, float]:
    return float(values.min()), float(values.max())
