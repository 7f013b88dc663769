"""Closed forms of plate and shear tests, for many soils at once."""

from __future__ import annotations

import numpy as np


def plate_pressure(n: np.ndarray, k_c: np.ndarray, k_phi: np.ndarray, width: float, sinkage: np.ndarray) -> np.ndarray:
    """Pressure p = (k_c/b + k_phi) z^n [Pa], (soil, point); sinkage z [m], (point,).

    Krenn and Hirzinger 2009, eq. 3; Krenn et al. 2008, eq. 17.
    """
    return (k_c / width + k_phi)[:, None] * sinkage ** n[:, None]


def shear_stress(
    cohesion: np.ndarray,
    friction_angle_deg: np.ndarray,
    shear_modulus: np.ndarray,
    pressure: float,
    displacement: np.ndarray,
) -> np.ndarray:
    """Stress tau = (c + p tan(phi)) (1 - exp(-j/K)) [Pa], (soil, point); displacement j [m], (point,).

    Mohr-Coulomb (Krenn and Hirzinger 2009, eq. 5) and Janosi and Hanamoto 1961.
    """
    limit = cohesion + pressure * np.tan(np.radians(friction_angle_deg))
    return limit[:, None] * -np.expm1(-displacement / shear_modulus[:, None])
