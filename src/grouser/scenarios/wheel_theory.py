"""Steady rolling of a rigid wheel on soil that only compacts: the classical integrals, solved for the sinkage.

Pressure follows Bekker ahead of the lowest point and unloads elastically behind it. Shear follows Janosi and
Hanamoto with the shear displacement of the rim (Wong and Reece 1967). With theta from -theta_2 to theta_1:

    sigma = k (r (cos theta - cos theta_1))^n        ahead,  k = k_c/b + k_phi
    sigma = sigma_0 - K_e r (1 - cos theta)          behind, down to 0 at -theta_2
    tau   = (c + sigma tan phi) (1 - exp(-j/K)),     j = r ((theta_1 - theta) - (1 - s)(sin theta_1 - sin theta))
    W     = r b int (sigma cos theta + tau sin theta)
    DP    = r b int (tau cos theta - sigma sin theta),  T = r^2 b int tau

Soil of the depth H over hard ground has H ln(H / (H - z)) in the place of the depth z.
Friction mu of the wheel on the soil scales the shear curve, tau = min(c + sigma tan phi, mu sigma) (1 - exp(-j/K)), or
caps it, tau = min(mu sigma, (c + sigma tan phi) (1 - exp(-j/K))).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from grouser.errors import InputError
from grouser.terrain.soils import Soil

POINTS = 4000  # points of the integrals; doubling them changes results by less than 1e-5


@dataclass(frozen=True)
class WheelState:
    """Results of the theory."""

    sinkage: float  # [m]
    drawbar_pull: float  # [N]
    torque: float  # [N m]


def rolling_wheel(
    soil: Soil, *, radius: float, width: float, load: float, slip: float, friction: bool = True,
    depth: float = math.inf, interface_friction: str = "caps",
) -> WheelState:  # fmt: skip
    """Solve for the sinkage at which the wheel carries `load` [N] at `slip` (driving, 0 to 1). Also pull and torque.

    `depth` [m] of the soil over hard ground. The theory ends where the layer is as stiff as the ground itself.
    `interface_friction`: whether the soil's `wheel_friction` "scales" or "caps" the shear curve.
    """
    from scipy.optimize import brentq

    def integrals(sinkage: float) -> tuple[float, float, float]:
        return _integrals(soil, radius, width, sinkage, slip, friction, interface_friction == "caps", depth)

    deepest = min(radius * (1 - math.cos(1.5)), (1 - 1e-9) * depth)
    if integrals(deepest)[0] < load:
        raise InputError(f"load: {load:g} N sinks the wheel beyond the theory (contact angle above 86 degrees)")
    root: Any = brentq(lambda z: integrals(z)[0] - load, 1e-7, deepest, xtol=1e-10)
    sinkage = float(root)
    if _stiffness(soil, width, sinkage, depth) > soil.elastic_stiffness:
        raise InputError(f"load: {load:g} N is carried by the ground below the soil, not by soil that yields")
    _, pull, torque = integrals(sinkage)
    return WheelState(sinkage, pull, torque)


def _strained(z: Any, depth: float) -> Any:
    """Depth H ln(H / (H - z)) [m] in unlimited soil with the pressure of a layer of thickness H = `depth` at z [m]."""
    return z if math.isinf(depth) else -depth * np.log1p(-z / depth)


def _stiffness(soil: Soil, b: float, z: float, depth: float) -> float:
    """Slope dp/dz [Pa/m] of the pressure at depth z."""
    return soil.pressure_modulus(b) * soil.n * float(_strained(z, depth)) ** (soil.n - 1) / (1 - z / depth)


def _integrals(
    soil: Soil, r: float, b: float, z: float, s: float, friction: bool, caps: bool, below: float
) -> tuple[float, float, float]:
    """Load, pull and torque at sinkage z; `below` [m] is the depth of the soil."""
    k, n, k_e = soil.pressure_modulus(b), soil.n, soil.elastic_stiffness
    front = math.acos(1 - z / r)
    deepest = k * float(_strained(z, below)) ** n
    back = math.acos(max(1 - deepest / (k_e * r), -1.0))
    # The substitution theta = front (1 - x^2) removes the root singularity at the entry for n < 1.
    ahead = front * (1 - np.linspace(1, 0, POINTS) ** 2)
    theta = np.concatenate([np.linspace(-back, 0, POINTS // 4)[:-1], ahead])
    depth = np.maximum(r * (np.cos(theta) - math.cos(front)), 0)
    sigma = np.where(
        theta > 0, k * _strained(depth, below) ** n, np.maximum(deepest - k_e * r * (1 - np.cos(theta)), 0)
    )
    tau = np.zeros_like(sigma)
    if friction:
        j = r * ((front - theta) - (1 - s) * (math.sin(front) - np.sin(theta)))
        limit = soil.cohesion + sigma * math.tan(math.radians(soil.friction_angle_deg))
        interface = np.inf if soil.wheel_friction is None else soil.wheel_friction * sigma
        if not caps:
            limit = np.minimum(limit, interface)
        tau = np.minimum(limit * (1 - np.exp(-j / soil.shear_modulus)), interface)
    load = r * b * np.trapezoid(sigma * np.cos(theta) + tau * np.sin(theta), theta)
    pull = r * b * np.trapezoid(tau * np.cos(theta) - sigma * np.sin(theta), theta)
    return float(load), float(pull), float(r * r * b * np.trapezoid(tau, theta))
