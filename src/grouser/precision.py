"""Float types by name. The same kernels are built for float64 (CPU) and float32 (GPU)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import warp as wp

from grouser.errors import InputError


@dataclass(frozen=True)
class Precision:
    """A scalar type, its vectors and matrices, and tolerances of geometric tests for its round-off."""

    name: str
    real: Any
    vec2: Any
    vec3: Any
    vec4: Any
    quat: Any
    mat33: Any
    vec6: Any
    mat66: Any
    numpy: Any
    slack: float  # [cells] a node this far outside a triangle still counts as inside
    area_slack: Any  # fraction of a face's area below which an area is round-off
    length_slack: Any  # relative, or [rad]: an iteration ends when it changes by less
    cell_slack: Any  # `slack` for device code
    flat_slack: Any  # [cells^2] twice the area of a triangle seen edge-on, up to round-off


@cache
def precision(name: str) -> Precision:
    """The float types called `name`: "float64" or "float32"."""
    if name == "float64":
        f, double, slack, length_slack = wp.float64, np.float64, 1e-9, 1e-9
    elif name == "float32":
        f, double, slack, length_slack = wp.float32, np.float32, 1e-4, 1e-6
    else:
        raise InputError(f"dtype: {name!r} is not known; allowed: 'float64', 'float32'")
    vector, matrix = wp.types.vector, wp.types.matrix
    return Precision(
        name, f, vector(2, f), vector(3, f), vector(4, f), wp.types.quaternion(f),
        matrix((3, 3), f), vector(6, f), matrix((6, 6), f), double, slack, f(slack * slack), f(length_slack),
        f(slack), f(1e-3 * slack),
    )  # fmt: skip


# Names for device code, which is written for float64. `device.at` binds them to another type.
if TYPE_CHECKING:
    real: Any
    vec2: Any
    vec3: Any
    vec4: Any
    quat: Any
    mat33: Any
    vec6: Any
    mat66: Any
    area_slack: Any
    length_slack: Any
    cell_slack: Any
    flat_slack: Any
else:
    _double = precision("float64")
    real, vec2, vec3, vec4, quat = _double.real, _double.vec2, _double.vec3, _double.vec4, _double.quat
    mat33, vec6, mat66 = _double.mat33, _double.vec6, _double.mat66
    area_slack, length_slack = _double.area_slack, _double.length_slack
    cell_slack, flat_slack = _double.cell_slack, _double.flat_slack
