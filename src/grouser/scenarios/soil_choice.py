"""A soil in settings: by name, by name with changed constants, or fully defined by the user."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import pydantic
from pydantic_core import PydanticCustomError

from grouser.errors import InputError
from grouser.files import is_file
from grouser.scenarios.quantity import Unit
from grouser.scenarios.scenario import Settings
from grouser.terrain import checks
from grouser.terrain.soils import OPTIONAL, RANGES, Soil, load_soils, soil, soil_names

REQUIRED = ("n", "k_c", "k_phi", "cohesion", "friction_angle_deg", "shear_modulus")


class SoilConstants(Settings):
    """The constants of `grouser.Soil`; one that is not given is the named soil's own."""

    n: float | None = None
    k_c: float | None = None
    k_phi: float | None = None
    cohesion: Annotated[float, Unit("Pa")] | None = None
    friction_angle_deg: Annotated[float, Unit("degree")] | None = None
    shear_modulus: Annotated[float, Unit("m")] | None = None
    elastic_stiffness: Annotated[float, Unit("Pa/m")] | None = None
    damping_time: Annotated[float, Unit("s")] | None = None
    wheel_friction: float | None = None
    compression: float | None = None
    repose_angle_deg: Annotated[float, Unit("degree")] | None = None
    density: Annotated[float, Unit("kg/m^3")] | None = None
    wall_friction_deg: Annotated[float, Unit("degree")] | None = None

    @pydantic.field_validator(*RANGES)
    @classmethod
    def _in_range(cls, value: float | None, info: pydantic.ValidationInfo) -> float | None:
        if value is not None:
            try:
                checks.number(value, "", **RANGES[str(info.field_name)])
            except InputError as error:
                raise PydanticCustomError("range", "{text}", {"text": str(error).split(": ", 1)[1]}) from None
        return value

    def constants(self) -> dict[str, float | None]:
        """The constants that were given. None only where it has a meaning."""
        given = {name: getattr(self, name) for name in RANGES if name in self.model_fields_set}
        return {name: value for name, value in given.items() if value is not None or name in OPTIONAL}

    @pydantic.model_serializer(mode="wrap")
    def _only_given(self, handler: pydantic.SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {name: value for name, value in handler(self).items() if name in self.model_fields_set}


class SoilDefinition(SoilConstants):
    """A soil under `soils:` of a scenario file, in full or starting from another one."""

    like: str | None = None
    sources: dict[str, str] = {}  # noqa: RUF012 - pydantic copies defaults

    def soil(self, name: str, known: Mapping[str, Soil]) -> Soil:
        """Make the soil. `like` names one of `known`."""
        if self.like is not None:
            start = known[checks.choice(self.like, f"soil {name!r}: like", known)]
            return start.replace(name=name, **self.constants(), sources=self.sources)
        missing = [field for field in REQUIRED if field not in self.constants()]
        if missing:
            raise InputError(f"soil {name!r} lacks {', '.join(missing)} (or `like: NAME` to start from)")
        return Soil(name=name, **self.constants(), sources=self.sources)  # type: ignore[arg-type]


class SoilChoice(SoilConstants):
    """`dry-sand`, or a mapping: `name`, constants that differ, `file` with soils of the user's own.

    A soil from a file, or from `soils:` of the scenario file, is filled in at once, so that the settings in a
    recording say all.
    """

    name: str
    file: Path | None = None

    @pydantic.model_validator(mode="before")
    @classmethod
    def _filled(cls, given: Any, info: pydantic.ValidationInfo) -> Any:
        if isinstance(given, str):
            given = {"name": given}
        if not isinstance(given, Mapping):
            return given
        context = info.context or {}
        name, own = given.get("name"), context.get("soils", {})
        if given.get("file") is not None:
            file = _beside(Path(str(given["file"])), context.get("folder"))
            own = _checked(lambda: load_soils(file))
            name = next(iter(own)) if name is None and len(own) == 1 else name
            name = _checked(lambda: checks.choice(name, f"soil of {file}", own))
            given = {**given, "name": name, "file": file}
        if isinstance(given.get("name"), str) and given["name"] in own:
            definition = own[given["name"]]
            return {**{field: getattr(definition, field) for field in RANGES}, **given}
        return given

    @pydantic.model_validator(mode="after")
    def _known(self) -> SoilChoice:
        _checked(self.resolve)
        return self

    def with_compression(self, compression: float | None) -> Soil:
        """The soil with the given compression [1], or with its own if None."""
        chosen = self.resolve()
        return chosen if compression is None else chosen.replace(compression=compression)

    def resolve(self) -> Soil:
        """The chosen soil."""
        given = self.constants()
        if self.name in soil_names():
            return soil(self.name).replace(**given)
        if given.keys() >= set(REQUIRED):
            return Soil(name=self.name, **given)  # type: ignore[arg-type]
        return soil(self.name)

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: Any, handler: pydantic.GetJsonSchemaHandler) -> dict[str, Any]:
        fields = handler.resolve_ref_schema(handler(schema))
        name = {"type": "string", "description": f"a soil by name: {', '.join(soil_names())}"}
        return {"anyOf": [name, fields]}


def _beside(file: Path, folder: Path | None) -> Path:
    """Find a soil file: first next to the scenario file, then in the working directory."""
    if folder is not None and is_file(folder / file):
        return folder / file
    return file


def _checked(action: Any) -> Any:
    """Return the result of `action`. An InputError becomes an error that pydantic reports with its location."""
    try:
        return action()
    except InputError as error:
        raise PydanticCustomError("soil", "{text}", {"text": str(error)}) from None
