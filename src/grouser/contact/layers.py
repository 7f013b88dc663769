"""Elastic layers on rigid cores, and the constants of two layers in contact. For polygonal and revolution contact."""

from __future__ import annotations

import math
from dataclasses import dataclass

from grouser.contact.penalty import (
    POISSON_LIMIT,
    damping_in_series,
    in_series,
    kappa,
    layer_modulus,
    shear_modulus,
)
from grouser.errors import InputError


@dataclass(frozen=True)
class Layer:
    """An elastic layer on a rigid core, with the friction of its surface.

    Krenn et al. 2008, section 2.1; Krenn and Hirzinger 2009, eq. 1-2. An infinite `young` stands for a rigid surface.
    Of two surfaces that touch, at least one must be elastic.
    """

    young: float  # [Pa] Young's modulus
    poisson: float = 0.3  # Poisson's ratio, below 0.45
    thickness: float = 0.01  # [m]
    damping: float = 0.0  # [Pa s/m] d_N, per unit area
    transition_depth: float = 0.0  # [m] s_d0, penetration over which the damping fades in
    friction_stick: float = 0.6  # static friction coefficient
    friction_slip: float = 0.5  # sliding friction coefficient
    shear_stiffness: float | None = None  # [Pa/m] c_T; None: G / thickness
    shear_damping: float | None = None  # [Pa s/m] d_T; None: same relaxation time as the normal part, d_N c_T / c_N
    stick_speed: float = 1e-3  # [m/s] v_T0; a slipping element sticks again below this speed
    name: str = "layer"

    def __post_init__(self):
        def check(field: str, good: bool, allowed: str):
            if not good:
                raise InputError(f"layer {self.name!r}: {field} {getattr(self, field)} is not allowed; {allowed}")

        check("young", self.young > 0, "it must be above 0 Pa")
        check(
            "poisson", -1 < self.poisson < POISSON_LIMIT,
            f"the layer model holds below {POISSON_LIMIT} (Krenn et al. 2008, eq. 2), and above -1",
        )  # fmt: skip
        check("thickness", 0 < self.thickness < math.inf, "it must be above 0 m")
        check("friction_slip", self.friction_slip <= self.friction_stick, "at most friction_stick")
        for field in ("damping", "transition_depth", "friction_stick", "friction_slip", "stick_speed"):
            check(field, 0 <= getattr(self, field) < math.inf, "it must be 0 or more")
        check("shear_stiffness", self.shear_stiffness is None or self.shear_stiffness > 0, "it must be above 0 Pa/m")
        check("shear_damping", self.shear_damping is None or self.shear_damping >= 0, "it must be 0 or more")

    @property
    def rigid(self) -> bool:
        return math.isinf(self.young)

    @property
    def stiffness(self) -> float:
        """Normal stiffness c = K / b [Pa/m], with the thickness b. Krenn et al. 2008, eq. 1-2."""
        return layer_modulus(self.young, self.poisson) / self.thickness

    @property
    def tangential_stiffness(self) -> float:
        """Tangential stiffness c_T [Pa/m]."""
        return self.shear_stiffness or shear_modulus(self.young, self.poisson) / self.thickness

    @property
    def tangential_damping(self) -> float:
        """Tangential damping d_T [Pa s/m]."""
        if self.shear_damping is not None:
            return self.shear_damping
        return 0.0 if self.rigid else self.damping * self.tangential_stiffness / self.stiffness


def contact_constants(a: Layer, b: Layer, friction: tuple[float, float] | None, where: str) -> dict[str, float]:
    """Constants of two layers in series, with the names of `penalty.Constants`. Krenn et al. 2008, eq. 1-5.

    `friction` (stick, slip) overrides the friction of the layers. `where` names the pair in error messages.
    """
    if a.rigid and b.rigid:
        raise InputError(f"{where}: layers {a.name!r} and {b.name!r} are both rigid; one must have a finite young")
    stiffness, shear = (a.stiffness, b.stiffness), (a.tangential_stiffness, b.tangential_stiffness)
    c, c_t = in_series(*stiffness), in_series(*shear)
    stick, slip = friction or (
        min(a.friction_stick, b.friction_stick), min(a.friction_slip, b.friction_slip)
    )  # fmt: skip
    return {
        "c": c, "c_t": c_t,
        "d": damping_in_series(c, stiffness, (a.damping, b.damping)),
        "d_t": damping_in_series(c_t, shear, (a.tangential_damping, b.tangential_damping)),
        "s_d0": max(a.transition_depth, b.transition_depth), "mu_stick": stick, "mu_slip": slip,
        "thickness": sum(layer.thickness for layer in (a, b) if not layer.rigid),
        "kappa": kappa((a.young, b.young), (a.poisson, b.poisson)),
    }  # fmt: skip
