"""Two soil modules in the same state, also in what is no state."""

from __future__ import annotations

import numpy as np

from tests.rig import ManufacturedMotion

# Groups of the arrays that steps write.
ARRAYS = (
    "ground", "points", "pushing", "placement", "window", "skin", "vertices", "displacement", "slides", "prediction",
    "energy",
)  # fmt: skip


def copy_state(source: ManufacturedMotion, target: ManufacturedMotion) -> None:
    """Copy all arrays of one module, the motion and the wrenches into another of the same bodies."""
    target.place(source.position, source.rotation, source.velocity, source.spin)
    target.module.make_room()
    for group in ARRAYS:
        one, other = getattr(source.module.arrays, group), getattr(target.module.arrays, group)
        for name, variable in one._cls.vars.items():
            if hasattr(variable.type, "ndim"):
                values, into = getattr(one, name).numpy(), getattr(other, name).numpy()
                assert values.shape == into.shape, name
                np.copyto(into, values)
    for name in ("wrench", "implicit", "effective", "status"):
        getattr(target.out, name).assign(getattr(source.out, name).numpy().copy())
