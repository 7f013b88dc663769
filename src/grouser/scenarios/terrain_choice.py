"""The ground of a scenario from a file of the user."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import pydantic

from grouser.errors import InputError
from grouser.files import is_file
from grouser.scenarios.quantity import Unit
from grouser.scenarios.scenario import Settings
from grouser.terrain.course import Course
from grouser.terrain.courses import from_mesh
from grouser.terrain.elevation import ElevationGrid
from grouser.terrain.importers import load
from grouser.terrain.mesh_file import _read as read_mesh

Positive = pydantic.Field(gt=0)
MOST_DRAWN = 300  # pieces of a course


class FileChoice(Settings):
    """A file, by its name alone or in a mapping with options."""

    file: Path

    @pydantic.model_validator(mode="before")
    @classmethod
    def _named(cls, given: Any) -> Any:
        return of_file(given)

    @pydantic.field_validator("file")
    @classmethod
    def _check_file(cls, file: Path, info: pydantic.ValidationInfo) -> Path:
        return beside(file, info)


class TerrainChoice(FileChoice):
    """A terrain file, or a mapping with the options of its importer (`grouser.terrain.load`)."""

    key: str | None = None  # name of the array in an .npz file; None: heights
    spacing: Annotated[float, Positive, Unit("m")] | None = None
    scale: float | None = None
    offset: Annotated[float, Unit("m")] | None = None
    missing: Literal["error", "nearest"] | float | None = None

    def read(self) -> ElevationGrid:
        options = self.model_dump(exclude={"file"}, exclude_none=True)
        return load(self.file, **options)


class CourseChoice(FileChoice):
    """A mesh file that is cut into convex pieces, or a mapping with options (`grouser.terrain.courses.from_mesh`)."""

    method: Literal["patches", "coacd"] = "patches"  # patches: faceted meshes, also open ones; coacd: closed ones
    thickness: Annotated[float, Positive, Unit("m")] = 0.1  # of the patches, behind their faces
    threshold: Annotated[float, Positive] = 0.05  # relative concavity that coacd allows
    scale: Annotated[float, Positive] = 1.0  # metres per unit of the file

    def read(self) -> Course:
        _, vertices, triangles = read_mesh(self.file)
        options = self.model_dump(include={"method", "thickness", "threshold"})
        return from_mesh((self.scale * vertices, triangles), **options)


def faces_of(course: Course) -> list[list[list[list[float]]]]:
    """Corners [m] of the faces of each piece, for a figure."""
    return [[piece.vertices[list(face)].round(4).tolist() for face in piece.faces] for piece in course]


def pieces_figure(course: Course) -> list[dict[str, Any]]:
    """The figure of a course that was cut from a mesh; none if it has too many pieces to be seen."""
    if len(course) > MOST_DRAWN:
        return []
    caption = "The mesh, and the convex pieces it was cut into, moved apart, as in Stadukhin 2016, Fig. 5 and 6."
    return [{"name": "pieces", "title": "The course", "kind": "pieces", "pieces": faces_of(course), "caption": caption}]


def height_at(terrain: ElevationGrid, x: float, y: float, what: str) -> float:
    """Height [m] of the ground at a point. Raises an InputError that names `what` if it lies beyond the ground."""
    x0, x1, y0, y1 = terrain.bounds
    if not (x0 <= x <= x1 and y0 <= y <= y1):
        raise InputError(
            f"terrain: {what} at ({x:g}, {y:g}) m is beyond the ground, {x0:g} to {x1:g} m and {y0:g} to {y1:g} m"
        )
    return float(terrain.height(x, y))


def of_file(given: Any) -> Any:
    """A file name alone as a mapping; `terrain=FILE` together with `terrain.spacing=1` is one with the key `name`."""
    if isinstance(given, str | Path):
        return {"file": given}
    if isinstance(given, Mapping) and "name" in given:
        return {"file": given["name"], **{key: value for key, value in given.items() if key != "name"}}
    return given


def beside(file: Path, info: pydantic.ValidationInfo) -> Path:
    """Find a file: first next to the scenario file, then in the working directory."""
    folder = (info.context or {}).get("folder")
    return folder / file if folder is not None and is_file(folder / file) else file
