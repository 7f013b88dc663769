"""Compile a model with MuJoCo. Its errors, and numbers that are not finite, become InputErrors."""

from __future__ import annotations

from typing import Any

import numpy as np

from grouser.errors import InputError

OPTIONS = ("gravity", "wind", "magnetic", "density", "viscosity")
LARGEST_OPTION = 1e15  # in MuJoCo's units; its square is still finite


def compile_model(spec: Any) -> Any:
    """Compile a spec. Returns the model; InputError if MuJoCo refuses it or a number in it is not finite."""
    try:
        model = spec.compile()
    except ValueError as error:
        raise InputError(f"model {spec.modelname!r}: {' '.join(str(error).split())}") from None
    for name in dir(model):
        values = getattr(model, name)
        if isinstance(values, np.ndarray) and values.dtype.kind == "f" and not np.isfinite(values).all():
            row = int(np.argwhere(~np.isfinite(values))[0][0])
            raise InputError(f"model {spec.modelname!r}: {_place(model, name, row)}: allowed are finite numbers")
    for name in OPTIONS:
        values = np.atleast_1d(getattr(model.opt, name))
        if not (np.abs(values) <= LARGEST_OPTION).all():
            raise InputError(
                f"model {spec.modelname!r}: option {name} = {' '.join(f'{value:g}' for value in values)}: "
                f"allowed are finite numbers up to {LARGEST_OPTION:g}"
            )
    return model


def _place(model: Any, name: str, row: int) -> str:
    """Describe an element of a compiled model: `body_mass` of body 'chassis'."""
    kind = name.split("_")[0]
    owner = getattr(model, {"jnt": "joint", "dof": "", "cam": "camera"}.get(kind, kind), None) if kind else None
    try:
        label = repr(owner(row).name) if owner is not None else str(row)
    except (KeyError, IndexError, TypeError, AttributeError):
        label = str(row)
    return f"{name} of {kind} {label} is not a number MuJoCo can use"
