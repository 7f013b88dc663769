"""Soil data: constants of the Bekker, Mohr-Coulomb and Janosi-Hanamoto laws with their sources."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from grouser.errors import InputError
from grouser.terrain import checks

BUILTIN_FILE = Path(__file__).with_name("soils.yaml")
USER_SOURCE = "set by the user"
EARTH = 9.81  # [m/s^2] gravity under which constants were measured

RANGES: dict[str, dict[str, float]] = {
    "n": {"above": 0.0},
    "k_c": {"at_least": 0.0},
    "k_phi": {"above": 0.0},
    "cohesion": {"at_least": 0.0},
    "friction_angle_deg": {"at_least": 0.0, "below": 90.0},
    "shear_modulus": {"above": 0.0},
    "elastic_stiffness": {"above": 0.0},
    "damping_time": {"at_least": 0.0},
    "wheel_friction": {"at_least": 0.0},
    "compression": {"at_least": 0.0, "at_most": 1.0},
    "repose_angle_deg": {"above": 0.0, "below": 90.0},
    "density": {"above": 0.0},
    "wall_friction_deg": {"at_least": 0.0, "below": 90.0},
}
OPTIONAL = ("wheel_friction", "repose_angle_deg", "wall_friction_deg")
WALL_SHARE = 2 / 3  # wall friction angle over friction angle of the soil, where none is given (assumed)


@dataclass(frozen=True)
class Soil:
    """Constants of p = (k_c/b + k_phi) z^n and tau = (c + p tan(phi)) (1 - exp(-j/K)) for one soil."""

    name: str
    n: float  # sinkage exponent
    k_c: float  # [N/m^(n+1)] cohesive modulus
    k_phi: float  # [N/m^(n+2)] frictional modulus
    cohesion: float  # [Pa]
    friction_angle_deg: float  # [deg] internal friction
    shear_modulus: float  # [m] Janosi-Hanamoto K
    elastic_stiffness: float = 5e7  # [Pa/m] K_e, unloading and reloading
    damping_time: float = 1e-3  # [s], damping is K_e times this
    wheel_friction: float | None = None  # between body and soil; None: the soil's own limit
    compression: float = 0.3  # chi, fraction of the sinkage volume that is lost to compaction
    repose_angle_deg: float | None = None  # [deg] steepest stable slope; None: the friction angle
    density: float = 1600.0  # [kg/m^3] bulk density, of which the weight of soil ahead of a face follows
    wall_friction_deg: float | None = None  # [deg] friction of soil on a steep face; None: 2/3 of the friction angle
    sources: Mapping[str, str] = field(default_factory=dict, compare=False)  # field -> paper or "assumed"

    def __post_init__(self):
        if not isinstance(self.name, str) or not self.name.strip():
            raise InputError(f"soil name = {self.name!r}: allowed is a text that is not empty")
        for name, bounds in RANGES.items():
            value = getattr(self, name)
            if value is None and name in OPTIONAL:
                continue
            object.__setattr__(self, name, checks.number(value, f"soil {self.name!r}: {name}", **bounds))
        for name in self.sources:
            checks.choice(name, f"soil {self.name!r}: source of field", RANGES)
        object.__setattr__(self, "sources", dict(self.sources))

    def pressure_modulus(self, b: float) -> float:
        """Modulus k_c/b + k_phi [N/m^(n+2)] of a contact patch with smaller side b [m].

        Krenn and Hirzinger 2009, eq. 3; Krenn et al. 2008, eq. 17.
        """
        return self.k_c / checks.number(b, f"soil {self.name!r}: contact width b", above=0.0) + self.k_phi

    @property
    def slope_limit(self) -> float:
        """Tangent of the steepest stable slope: the angle of repose, by default the friction angle."""
        angle_deg = self.friction_angle_deg if self.repose_angle_deg is None else self.repose_angle_deg
        return math.tan(math.radians(angle_deg))

    @property
    def wall_angle_deg(self) -> float:
        """Angle [deg] of the friction between soil and a steep face, at most that of the soil itself."""
        angle = WALL_SHARE * self.friction_angle_deg if self.wall_friction_deg is None else self.wall_friction_deg
        return min(angle, self.friction_angle_deg)

    def under_gravity(self, gravity: float) -> Soil:
        """The same soil under another `gravity` [m/s^2] than the Earth's, where its constants were measured.

        k_phi is multiplied by g / 9.81, all else stays: in p = (c k_c' + gamma b k_phi') (z/b)^n of Reece 1965 the
        frictional term is proportional to the unit weight gamma = rho g, the cohesive term is not.
        """
        share = checks.number(gravity, f"soil {self.name!r}: gravity", above=0.0) / EARTH
        source = f"{self.sources.get('k_phi', 'assumed')}; times {share:.4g} for gravity, Reece 1965"
        return self.replace(k_phi=share * self.k_phi, sources={"k_phi": source})

    def replace(self, **overrides: Any) -> Soil:
        """The same soil with some fields changed. New values are checked, and their source becomes the user."""
        for name in overrides:
            checks.choice(name, f"soil {self.name!r}: field", ["name", *RANGES, "sources"])
        changed = {name: USER_SOURCE for name in overrides if name in RANGES}
        sources = {**self.sources, **changed, **overrides.pop("sources", {})}
        return dataclasses.replace(self, **overrides, sources=sources)


def soil(name: str) -> Soil:
    """A built-in soil by name."""
    soils = builtin_soils()
    return soils[checks.choice(name, "soil", soils)]


def soil_names() -> list[str]:
    """The names of the built-in soils."""
    return list(builtin_soils())


def load_soils(path: str | Path) -> dict[str, Soil]:
    """Read the soils of a user's YAML file, by name. Fields as in soils.yaml; units and `like: NAME` are allowed."""
    from grouser.terrain.soil_file import read_soils

    return read_soils(path)


@functools.cache
def builtin_soils() -> dict[str, Soil]:
    """The seven soils of soils.yaml, read once."""
    tree = read_plain_yaml(BUILTIN_FILE.read_text(encoding="utf-8"))
    return {name: Soil(name=name, **fields) for name, fields in tree.items()}


def read_plain_yaml(text: str) -> dict[str, Any]:
    """Read nested mappings of numbers and quoted texts, the part of YAML that soils.yaml uses.

    Importing a YAML package takes longer than reading this file, and the core must run without one.
    """
    tree: dict[str, Any] = {}
    levels: list[tuple[int, dict[str, Any]]] = [(-1, tree)]
    for line in text.splitlines():
        content = line.strip()
        if not content or content.startswith("#"):
            continue
        indent = len(line) - len(line.lstrip())
        while levels[-1][0] >= indent:
            levels.pop()
        key, _, value = content.partition(":")
        value = value.strip()
        if value:
            levels[-1][1][key] = value[1:-1] if value.startswith('"') else float(value)
        else:
            levels.append((indent, levels[-1][1].setdefault(key, {})))
    return tree
