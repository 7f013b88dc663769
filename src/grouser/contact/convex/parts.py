"""Convex parts of a machine, and the material of their contacts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from grouser.errors import InputError
from grouser.terrain.polyhedra import Polyhedron, hull


@dataclass(frozen=True, eq=False)
class ConvexPart:
    """A convex part of a body: a wheel, the hull, a foot. One body may have several.

    `shape` is a `Polyhedron` (`box`, `prism`, `hull` of grouser.terrain.polyhedra) or an array of corners [m], (n, 3).
    `position` [m] and `orientation` (quaternion xyzw) place it in the body frame.
    """

    body: str  # name of the MuJoCo body
    shape: Any
    position: Sequence[float] = (0.0, 0.0, 0.0)
    orientation: Sequence[float] = (0.0, 0.0, 0.0, 1.0)
    name: str = ""  # default: the name of the body

    @property
    def label(self) -> str:
        return self.name or self.body

    def solid(self) -> Polyhedron:
        """The part as a polyhedron in the body frame."""
        from scipy.spatial.transform import Rotation

        quaternion = np.asarray(self.orientation, float)
        if quaternion.shape != (4,) or not abs(np.linalg.norm(quaternion) - 1) < 1e-3:
            raise InputError(
                f"part {self.label!r}: orientation {self.orientation} is not allowed; allowed: a quaternion xyzw of "
                "length 1"
            )
        shape = self.shape if isinstance(self.shape, Polyhedron) else hull(self.shape, self.label)
        return shape.placed(self.position, Rotation.from_quat(quaternion).as_rotvec())


@dataclass(frozen=True)
class Material:
    """Material of a contact: both surfaces together, per unit area, with the symbols of contact/penalty.py.

    The values are assumed: Stadukhin gives none. `spread` is how far the pressure reaches beyond an edge, about the
    thickness of an elastic layer. Without it edges and corners, which have no area, would carry no load.
    """

    stiffness: float = 1e9  # [Pa/m] c
    damping: float | None = None  # [Pa s/m] d; None: relaxation time of 2 ms, d = c x 2 ms
    spread: float = 0.02  # [m]
    shear_stiffness: float | None = None  # [Pa/m] c_T; None: half of c
    shear_damping: float | None = None  # [Pa s/m] d_T; None: same relaxation time as the normal part
    transition_depth: float = 0.0  # [m] s_d0, penetration over which the damping fades in
    stick_speed: float = 1e-3  # [m/s] v_T0; a slipping contact sticks again below this speed
    law: tuple[float, float] = (0.0, 0.0)  # parameters of a user-defined point law, such as (k, n) of Bekker's

    def __post_init__(self):
        for field, value in vars(self).items():
            if field == "law" or value is None:
                continue
            least = 0.0 if field in ("damping", "shear_damping", "transition_depth", "stick_speed") else 1e-12
            if not least <= value < math.inf:
                raise InputError(
                    f"material: {field} {value} is not allowed; it must be {'0 or more' if not least else 'above 0'}"
                )

    def constants(self, friction: tuple[float, float]) -> dict[str, Any]:
        """Constants with the names of `penalty.Constants`. `friction`: stick, slip."""
        c = self.stiffness
        d = 2e-3 * c if self.damping is None else self.damping
        c_t = 0.5 * c if self.shear_stiffness is None else self.shear_stiffness
        d_t = d * c_t / c if self.shear_damping is None else self.shear_damping
        return {
            "c": c, "d": d, "c_t": c_t, "d_t": d_t, "s_d0": self.transition_depth, "mu_stick": friction[0],
            "mu_slip": friction[1],
        }  # fmt: skip
