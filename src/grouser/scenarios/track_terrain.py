"""Ground of the user under a machine on tracks: a mesh with soil constants at its vertices, or an elevation grid."""

from __future__ import annotations

import math
from dataclasses import fields
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pydantic

from grouser.errors import InputError
from grouser.files import is_file
from grouser.robots.bulldozer import Bulldozer
from grouser.scenarios.terrain_choice import TerrainChoice, beside
from grouser.simulation.placement import place_of
from grouser.terrain import checks
from grouser.terrain.elevation import ElevationGrid
from grouser.terrain.mesh_file import ply_values, upright_mesh
from grouser.track import GridGround, MeshGround, SoilValues
from grouser.track.ground import Terrain, heights_at

MESHES = (".obj", ".stl", ".ply", ".glb", ".gltf")
CONSTANTS = tuple(f.name for f in fields(SoilValues))
BOUNDS: dict[str, dict[str, float]] = {
    "stiffness": {"above": 0.0}, "shear_rate": {"above": 0.0}, "slip_speed": {"above": 0.0},
    "friction_angle_deg": {"at_least": 0.0, "below": 60.0},
}  # fmt: skip  # others: at least 0
BETWEEN = 0.1  # [m] of the points below the tracks at which a start is fitted to the ground
BEYOND = 0.2  # [m] that these points reach before the first and behind the last roller


class TrackTerrain(TerrainChoice):
    """A terrain file for shoes. A mesh stays a mesh (Omar 2014, Fig. 12); its soil may differ from vertex to vertex."""

    soils: Path | None = None  # CSV with a row for each vertex; columns are named like the settings of `soil`
    up: Literal["z", "y"] | None = None  # None: z, for GLB y

    @pydantic.field_validator("soils")
    @classmethod
    def _find(cls, file: Path | None, info: pydantic.ValidationInfo) -> Path | None:
        return file and beside(file, info)

    @property
    def is_mesh(self) -> bool:
        return self.file.suffix.lower() in MESHES

    def grid(self, spacing: float) -> ElevationGrid:
        """The file as a grid; a mesh is seen from above, at nodes of `spacing` [m] unless it has its own."""
        self._refuse_constants("plastic soil is the same everywhere")
        own = self.model_dump(exclude={"file", "soils"}, exclude_none=True)
        choice = TerrainChoice(file=self.file, **{key: value for key, value in own.items() if key != "up"})
        if not self.is_mesh:
            return choice.read()
        from grouser.terrain.importers import load

        return load(self.file, **({"spacing": spacing} | own))

    def hard(self, soil: SoilValues) -> Terrain:
        """Ground that keeps its shape. Constants that the file does not give are those of `soil`."""
        if not self.is_mesh:
            self._refuse_constants("a grid has no vertices")
            return GridGround(self.read(), soil)
        _, vertices, triangles = upright_mesh(self.file, scale=self.scale or 1.0, up=self.up)
        given = self.constants(len(vertices))
        if not given:
            return MeshGround(vertices, triangles, soil)
        columns = [given.get(name, np.full(len(vertices), getattr(soil, name))) for name in CONSTANTS]
        return MeshGround(vertices, triangles, tuple(SoilValues(*map(float, row)) for row in np.stack(columns, axis=1)))

    def constants(self, vertices: int) -> dict[str, np.ndarray]:
        """Soil constants at the vertices, (vertex,) each, by name: columns of `soils`, or properties of a PLY file."""
        source = self.soils or self.file
        found = _table(self.soils) if self.soils else ply_values(checks.existing_file(self.file, "terrain mesh"))
        if self.soils:
            for name in found:
                checks.choice(name, f"soils {str(source)!r}: column", CONSTANTS)
        found = {name: values for name, values in found.items() if name in CONSTANTS}
        for name, values in found.items():
            where = f"soils {str(source)!r}: {name}"
            if len(values) != vertices:
                raise InputError(f"{where}: {len(values)} values for {vertices} vertices; one for each is needed")
            for k in {int(np.argmax(~np.isfinite(values))), int(values.argmin()), int(values.argmax())}:
                checks.number(float(values[k]), f"{where} of vertex {k}", **BOUNDS.get(name, {"at_least": 0.0}))
        return found

    def _refuse_constants(self, reason: str) -> None:
        named = set(ply_values(self.file)) & set(CONSTANTS) if self.is_mesh and is_file(self.file) else set()
        if self.soils or named:
            raise InputError(f"terrain: soil constants at vertices are not allowed here; {reason}")


def _table(file: Path) -> dict[str, np.ndarray]:
    """Columns of a CSV file by name."""
    checks.existing_file(file, "soils")
    try:
        table: Any = np.genfromtxt(file, delimiter=",", names=True, dtype=float, ndmin=1)
    except (ValueError, IndexError, TypeError) as error:  # IndexError: NumPy on a file without a line
        raise InputError(f"soils {str(file)!r} is not readable: {' '.join(str(error).split())}") from None
    if table.dtype.names is None:
        raise InputError(f"soils {str(file)!r} has no header; allowed are columns named {', '.join(CONSTANTS)}")
    return {name: np.asarray(table[name], float) for name in table.dtype.names}


def place_from(given: Any) -> Any:
    """Two or three numbers of `at`, also as the text "1.5,0,90" of `--at`, as x, y [m] and heading [deg]."""
    numbers = [float(value) for value in given.split(",")] if isinstance(given, str) else given
    return place_of(numbers)


Pose = tuple[tuple[float, float, float], tuple[float, float, float]]


def start_on(ground: Terrain, at: tuple[float, float, float], p: Bulldozer) -> Pose:
    """Start of a machine: the point of the ground below its sprockets, and its upward axis.

    A plane is fitted to the ground below both tracks and raised until none of it is above.
    """
    x, y, heading = *at[:2], math.radians(at[2])
    first, half = p.layout.first_roller - BEYOND, p.layout.link.shoe.width / 2
    last = p.layout.first_roller + (p.layout.rollers - 1) * p.layout.roller_spacing + BEYOND
    ahead = np.arange(first, last + BETWEEN, BETWEEN)
    left = np.array([side * p.gauge / 2 + across for side in (-1, 1) for across in (-half, 0.0, half)])
    u, v = (one.ravel() for one in np.meshgrid(ahead, left))
    c, s = math.cos(heading), math.sin(heading)
    heights = heights_at(ground, x + c * u - s * v, y + s * u + c * v)
    if np.isnan(heights).any():
        k = int(np.isnan(heights).argmax())
        px, py = x + c * u[k] - s * v[k], y + s * u[k] + c * v[k]
        raise InputError(f"at = {x:g}, {y:g} m: below the tracks there is no ground at ({px:g}, {py:g}) m")
    columns = np.stack([np.ones_like(u), u, v], axis=1)
    (height, along, across), *_ = np.linalg.lstsq(columns, heights, rcond=None)
    height += (heights - columns @ (height, along, across)).max()
    up = np.array([-c * along + s * across, -s * along - c * across, 1.0])
    up /= np.linalg.norm(up)
    return (x, y, float(height)), (float(up[0]), float(up[1]), float(up[2]))
