"""Made-up measurements of soils whose constants are known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from grouser.terrain.soils import Soil

WIDTHS = (0.05, 0.10, 0.20)  # [m] plates
PRESSURES = (3e3, 6e3, 12e3)  # [Pa] of shear tests
SCATTER = 0.05  # relative
POINTS = 20
SINKAGES = np.linspace(0.003, 0.04, POINTS)  # [m]
DISPLACEMENTS = np.linspace(0.002, 0.05, POINTS)  # [m]


def bekker(soil: Soil, width: float, z: np.ndarray) -> np.ndarray:
    return (soil.k_c / width + soil.k_phi) * z**soil.n


def janosi(soil: Soil, pressure: float, j: np.ndarray) -> np.ndarray:
    return (soil.cohesion + pressure * np.tan(np.radians(soil.friction_angle_deg))) * (
        1 - np.exp(-j / soil.shear_modulus)
    )


def plates(soil: Soil, rng: np.random.Generator, law: Callable[..., np.ndarray] = bekker) -> dict[str, Any]:
    """Plate tests with scatter, as a mapping of DATA.yaml."""
    return {
        f"width-{1e3 * width:.0f}": {
            "width": width,
            "sinkage": {"unit": "mm", "values": (1e3 * SINKAGES).tolist()},
            "pressure": {"unit": "Pa", "values": _scattered(law(soil, width, SINKAGES), rng)},
            "scatter": f"{100 * SCATTER} %",
        }
        for width in WIDTHS
    }


def shear(soil: Soil, rng: np.random.Generator, law: Callable[..., np.ndarray] = janosi) -> dict[str, Any]:
    """Shear tests with scatter, as a mapping of DATA.yaml."""
    return {
        f"pressure-{pressure:.0f}": {
            "pressure": pressure,
            "displacement": {"unit": "mm", "values": (1e3 * DISPLACEMENTS).tolist()},
            "stress": {"unit": "Pa", "values": _scattered(law(soil, pressure, DISPLACEMENTS), rng)},
            "scatter": f"{100 * SCATTER} %",
        }
        for pressure in PRESSURES
    }


def _scattered(values: np.ndarray, rng: np.random.Generator) -> list[float]:
    return (values * np.exp(SCATTER * rng.standard_normal(len(values)))).tolist()
