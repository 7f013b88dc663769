"""Float types by name: one source of kernels serves float64 (CPU) and float32 (GPU)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import warp as wp

from grouser.errors import InputError


@dataclass(frozen=True)
class Precision:
    """A scalar type, its vectors and matrices, and the slack geometric tests allow for its round-off."""

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
    slack: float  # in grid cells: a node this far outside a triangle still counts as inside


@cache
def precision(name: str) -> Precision:
    """The float types called `name`: "float64" or "float32"."""
    if name == "float64":
        f, double, slack = wp.float64, np.float64, 1e-9
    elif name == "float32":
        f, double, slack = wp.float32, np.float32, 1e-4
    else:
        raise InputError(f"dtype: {name!r} is not known; allowed: 'float64', 'float32'")
    vector, matrix = wp.types.vector, wp.types.matrix
    return Precision(
        name, f, vector(2, f), vector(3, f), vector(4, f), wp.types.quaternion(f),
        matrix((3, 3), f), vector(6, f), matrix((6, 6), f), double, slack,
    )  # fmt: skip
