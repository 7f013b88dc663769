"""Launch kernels of one line each that call a law of the soil; constants and values that their tests share."""

from __future__ import annotations

import numpy as np
import warp as wp
from hypothesis import strategies as st

from grouser.precision import real
from grouser.terrain.soils import builtin_soils

ROUND_OFF = 1e-12  # a few operations in float64
SOILS = builtin_soils().values()


def array(values, dtype=real) -> wp.array:
    return wp.array(np.atleast_1d(np.asarray(values, float)), dtype=dtype, device="cpu")


def launch(kernel, count: int, inputs: list, *outputs: tuple[int, object]) -> list[np.ndarray]:
    out = [wp.zeros(size, dtype=dtype, device="cpu") for size, dtype in outputs]
    wp.launch(kernel, dim=count, inputs=[*inputs, *out], device="cpu")
    return [o.numpy() for o in out]


shares = st.floats(0, 1)
units = st.floats(-1, 1)
