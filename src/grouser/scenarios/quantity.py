"""Numbers with units in settings. Values are SI; texts such as "1.2 kPa" are accepted as input."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import PydanticCustomError, core_schema

from grouser.terrain import units


@dataclass(frozen=True)
class Unit:
    """Unit of a field, last in `speed: Annotated[float, Field(gt=0), Unit("m/s")]`; "1" means dimensionless."""

    symbol: str

    def number(self, value: Any) -> Any:
        """Convert a text with a unit to a number in this unit. Other values are returned unchanged."""
        if not isinstance(value, str):
            return value
        try:
            return float(value)
        except ValueError:
            return in_unit(value, self.symbol)

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        return core_schema.no_info_before_validator_function(self.number, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        number = handler(schema)
        text = {"type": "string", "description": f"a number with a unit, converted to {self.symbol}"}
        return {"anyOf": [number, text], "x-unit": self.symbol}


def in_unit(text: str, unit: str) -> float:
    """Convert a text with a unit to a number in another: "1.2 kPa" in Pa is 1200. "1" is the unit of a plain number."""
    try:
        return units.in_unit(text, "" if unit == "1" else unit)
    except ValueError as error:
        allowed = "a plain number" if unit == "1" else f"a number in {unit} or a text such as '3 {unit}'"
        raise PydanticCustomError("quantity", "{text}", {"text": f"{error}: allowed is {allowed}"}) from None
