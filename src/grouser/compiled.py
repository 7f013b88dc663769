"""MuJoCo's compiler: what it complains of is bad input, and so is a model with numbers that are not finite."""

from __future__ import annotations

from typing import Any

import numpy as np

from grouser.errors import InputError


def compiled(spec: Any) -> Any:
    """The model of a spec, or an InputError that names the model."""
    try:
        model = spec.compile()
    except ValueError as error:
        raise InputError(f"model {spec.modelname!r}: {' '.join(str(error).split())}") from None
    for name in dir(model):
        values = getattr(model, name)
        if isinstance(values, np.ndarray) and values.dtype.kind == "f" and not np.isfinite(values).all():
            row = int(np.argwhere(~np.isfinite(values))[0][0])
            raise InputError(f"model {spec.modelname!r}: {_place(model, name, row)}: allowed are finite numbers")
    return model


def _place(model: Any, name: str, row: int) -> str:
    """Which number of a compiled model: `body_mass` of body 'chassis'."""
    kind = name.split("_")[0]
    owner = getattr(model, {"jnt": "joint", "dof": "", "cam": "camera"}.get(kind, kind), None) if kind else None
    try:
        label = repr(owner(row).name) if owner is not None else str(row)
    except (KeyError, IndexError, TypeError, AttributeError):
        label = str(row)
    return f"{name} of {kind} {label} is not a number MuJoCo can use"
