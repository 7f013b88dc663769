"""Settings of sensors that a scenario mounts on its machine."""

from __future__ import annotations

from typing import Annotated, Any

import pydantic
from pydantic_core import PydanticCustomError

from grouser.errors import InputError
from grouser.sensors.descriptions import KINDS, Sensor
from grouser.simulation import Simulation
from grouser.terrain import checks


def _checked(given: Any) -> dict[str, Any]:
    """Check one sensor: a mapping with `kind`, `body` and the fields of its class; `name` is the kind by default."""
    try:
        described(given)
    except InputError as error:
        raise PydanticCustomError("sensor", "{text}", {"text": str(error)}) from None
    return dict(given)


SensorSettings = Annotated[dict[str, Any], pydantic.BeforeValidator(_checked)]
Sensors = tuple[SensorSettings, ...]


def described(given: Any) -> Sensor:
    """The sensor that a mapping describes."""
    if not isinstance(given, dict) or "kind" not in given:
        raise InputError(f"{checks.shown(given)}: allowed is a mapping with kind and body; kinds: {', '.join(KINDS)}")
    kind = KINDS[checks.choice(given["kind"], "kind", KINDS)]
    values = {"name": given["kind"], **{key: value for key, value in given.items() if key != "kind"}}
    fields = kind.__dataclass_fields__
    for key in values:
        checks.choice(key, f"field of {kind.kind}", fields)
    if "body" not in values:
        raise InputError(f"{kind.kind}: body is missing; allowed is the name of a body")
    return kind(**values)


def mount(sim: Simulation, sensors: Sensors) -> None:
    """Add sensors to a simulation."""
    for given in sensors:
        sim.add_sensor(described(given))
