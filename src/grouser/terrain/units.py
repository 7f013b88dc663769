"""Convert texts such as "1.2 kPa" to numbers. A text is a number and a unit; expressions are not allowed.

pint's own parser evaluates expressions, and one such as 10**10**10 never finishes.
"""

from __future__ import annotations

import re

LONGEST = 100  # [characters] longest text allowed
NUMBER = r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
POWER = r"(?:\s*(?:\*\*|\^)\s*[-+]?[0-9]{1,2}|[⁺⁻]?[⁰¹²³⁴⁵⁶⁷⁸⁹]{1,2})?"
NAME = r"[^\W\d⁰¹²³⁴⁵⁶⁷⁸⁹][A-Za-z0-9_]*|[%‰°]"
QUANTITY = re.compile(
    rf"\s*(?P<number>{NUMBER})\s*(?P<unit>(?:1\s*/\s*)?(?:{NAME}){POWER}(?:\s*[*·/\s]\s*(?:{NAME}){POWER})*)\s*"
)


def in_unit(text: str, unit: str) -> float:
    """Convert a number with a unit to another unit: "1.2 kPa" in "Pa" is 1200. A ValueError says what is wrong."""
    import pint

    parts = QUANTITY.fullmatch(text) if len(text) <= LONGEST else None
    if parts is None:
        raise ValueError("is not a quantity")
    try:
        quantity = pint.get_application_registry().Quantity(float(parts["number"]), parts["unit"].replace("·", "*"))
        return float(quantity.to(unit).magnitude)
    except pint.DimensionalityError:
        raise ValueError("has another dimension") from None
    except Exception:  # pint raises many unrelated types for a unit it cannot read
        raise ValueError("is not a quantity") from None


def is_ratio(unit: str) -> bool:
    """Whether a unit that can be read is a ratio such as %. An angle has no dimension either, but is in radians."""
    import pint

    registry = pint.get_application_registry()
    return registry.Quantity(1.0, unit.replace("·", "*")).to_root_units().units == registry.Unit("dimensionless")
