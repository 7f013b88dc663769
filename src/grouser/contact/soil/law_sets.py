"""Named sets of soil laws: the default, and those of the two papers. `SoilOptions(laws=...)` chooses one.

A set fixes options of `SoilOptions` and may replace stages of the kernels. An option that a set does not fix (erosion,
sweeps, creep_speed, deposit_exponent) stays free.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from grouser.contact.soil import krenn_stages
from grouser.errors import InputError
from grouser.terrain.ground import Ground

DEFAULT = "default"
KRENN_2008, KRENN_2009 = "krenn2008", "krenn2009"


@dataclass(frozen=True)
class LawSet:
    """A set of laws."""

    fixes: Mapping[str, Any] = field(default_factory=dict)  # options by name
    stages: Callable[[], dict[Any, Any]] = dict  # device functions and those to call instead, for `device.at`


# Not in the papers: steep faces, digging by slip, loose cover, shear displacement, lugs other than by their vertices.
_PAPERS: dict[str, Any] = {
    "pressure": "bekker", "interface_friction": "caps", "lugs": "share", "slip_sinkage": 0.0, "lug_carry": 0.0,
    "loose_cover": False, "samples": 1, "node_shear": False, "faces": False, "threads": "per-world",
}  # fmt: skip
LAW_SETS = {
    DEFAULT: LawSet(),
    KRENN_2008: LawSet({**_PAPERS, "friction": "coulomb"}, krenn_stages.replacements),
    KRENN_2009: LawSet({**_PAPERS, "friction": "mohr-coulomb"}, krenn_stages.replacements),
}


def fixed_options(options: Any) -> Mapping[str, Any]:
    """Options that the set chosen by `options.laws` fixes. An InputError if one of them was given otherwise."""
    if options.laws not in LAW_SETS:
        raise InputError(f"laws: {options.laws!r} is not known; allowed: {', '.join(LAW_SETS)}")
    fixes = LAW_SETS[options.laws].fixes
    usual = {one.name: one.default for one in fields(options)}
    for name, value in fixes.items():
        given = getattr(options, name)
        if given not in (usual[name], value):
            raise InputError(f"{name}: {given!r} contradicts laws: {options.laws!r}, which needs {value!r}")
    return fixes


def check_law_set(options: Any, ground: Ground) -> None:
    """Raise an InputError for what the chosen set has no law for."""
    usual = {one.name: one.default for one in fields(options)}["deposit_exponent"]
    if options.deposit_exponent != usual and options.laws != KRENN_2009:
        raise InputError(
            f"deposit_exponent: {options.deposit_exponent} is not allowed with laws: {options.laws!r}; "
            f"it belongs to {KRENN_2009!r}"
        )
    if options.laws != DEFAULT and ground.depth is not None:
        raise InputError(f"laws: {options.laws!r} has no soil of finite depth; leave out the depth of the soil")
