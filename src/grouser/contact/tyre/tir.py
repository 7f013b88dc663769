"""Read tyre property files (.tir, TNO MF-Tyre 5.2 and 6.x): the coefficients that this tyre model uses."""

from __future__ import annotations

import math
import re
from pathlib import Path

from grouser.contact.tyre.parameters import Tyre
from grouser.errors import InputError
from grouser.terrain import checks

DIRECT = {
    "UNLOADED_RADIUS": "radius", "WIDTH": "width", "FNOMIN": "load",
    "VERTICAL_STIFFNESS": "radial_stiffness", "VERTICAL_DAMPING": "radial_damping", "QSY1": "rolling_resistance",
    **{name: f"p_{name[1]}{name[2].lower()}{name[3]}" for name in (
        "PCX1", "PDX1", "PDX2", "PEX1", "PEX2", "PEX3", "PEX4", "PKX1", "PKX2", "PKX3", "PHX1", "PHX2", "PVX1", "PVX2",
        "PCY1", "PDY1", "PDY2", "PEY1", "PEY2", "PKY1", "PKY2", "PHY1", "PHY2", "PVY1", "PVY2",
    )},
}  # fmt: skip
REQUIRED = ("UNLOADED_RADIUS", "FNOMIN", "PCX1", "PDX1", "PKX1", "PCY1", "PDY1", "PKY1", "PKY2")
UNITS = {"LENGTH": ("meter", "metre", "m"), "FORCE": ("newton", "n"), "TIME": ("second", "s")}
LINE = re.compile(r"^\s*([A-Za-z0-9_]+)\s*=\s*([^$!]*)")


def read_tir(path: str | Path) -> Tyre:
    """Read the coefficients of pure slip with load, radius, stiffness and relaxation. Camber and aligning torque are
    ignored.

    Files with the opposite sign of slip have a negative cornering stiffness or peak: these are made positive.
    """
    file = checks.existing_file(path, "tyre file")
    values = _numbers(file)
    missing = [name for name in REQUIRED if name not in values]
    if missing:
        raise InputError(f"{file}: lacks {', '.join(missing)}: allowed is a tyre property file with [LONGITUDINAL_"
                         "COEFFICIENTS] and [LATERAL_COEFFICIENTS]")  # fmt: skip
    given = {field: values[name] for name, field in DIRECT.items() if name in values}
    given = {**dict.fromkeys([f for f in DIRECT.values() if f.startswith("p_")], 0.0), **given}
    if given["p_Ky1"] < 0:
        given["p_Ky1"] = -given["p_Ky1"]
    if given["p_Dy1"] < 0:
        given["p_Dy1"], given["p_Dy2"] = -given["p_Dy1"], -given["p_Dy2"]
    given["rolling_resistance"] = abs(given.get("rolling_resistance", 0.0))
    radius = values["UNLOADED_RADIUS"]
    if values.get("PTX1", 0.0) > 0:  # formula of MF-Tyre at the nominal load
        given["relaxation_x"] = values["PTX1"] * radius
    if values.get("PTY1", 0.0) > 0 and values.get("PTY2", 0.0) > 0:  # the same
        given["relaxation_y"] = values["PTY1"] * math.sin(2 * math.atan(1 / values["PTY2"])) * radius
    try:
        return Tyre(**given)
    except InputError as error:
        raise InputError(f"{file}: {error}") from None


def _numbers(file: Path) -> dict[str, float]:
    out = {}
    for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
        match = LINE.match(line)
        if match is None:
            continue
        try:
            out[match[1].upper()] = float(match[2])
        except ValueError:
            word = match[2].strip().strip("'\"").lower()
            if match[1].upper() in UNITS and word not in UNITS[match[1].upper()]:
                allowed = UNITS[match[1].upper()][0]
                raise InputError(f"{file}: {match[1]} = {word!r}: allowed is {allowed}") from None
    return out
