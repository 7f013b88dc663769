"""Call a device function from a test: `call(at(friction, dtype), spring, 0.1, returns=dtype)`."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import warp as wp


def call(function: Any, *arguments: Any, returns: Any = None) -> Any:
    """Run a device function in one thread on the CPU and give what it returns.

    Arguments must have the types of the function's own: `p.real(0.1)`, `p.vec3(…)`, an int, an array, a struct.
    `returns` is a type, or a tuple of types where the function returns several values; None where it returns nothing.
    Vectors and matrices come back as NumPy arrays.
    """
    kinds = tuple(_kind(argument) for argument in arguments)
    expected = returns if isinstance(returns, tuple) else () if returns is None else (returns,)
    results = [wp.zeros(1, dtype=kind, device="cpu") for kind in expected]
    wp.launch(_kernel(function, kinds, expected), 1, inputs=[*arguments, *results], device="cpu")
    values = tuple(_plain(result) for result in results)
    return values if isinstance(returns, tuple) else values[0] if values else None


def _plain(result: wp.array) -> Any:
    value = result.numpy()[0]
    return value if isinstance(value, np.ndarray | np.void) else value.item()


def _kind(argument: Any) -> Any:
    if isinstance(argument, wp.array):
        return wp.array(dtype=argument.dtype, ndim=argument.ndim)
    return getattr(argument, "_cls", type(argument))  # an instance of a struct knows its Warp type


@cache
def _kernel(function: Any, kinds: tuple, returns: tuple) -> Any:
    given, got = [f"a{k}" for k in range(len(kinds))], [f"r{k}" for k in range(len(returns))]
    left = ", ".join(f"value_{name}" for name in got) + " = " if got else ""
    lines = [f"{left}function({', '.join(given)})", *(f"{name}[0] = value_{name}" for name in got)]
    source = f"def run({', '.join(given + got)}):\n" + "".join(f"    {line}\n" for line in lines)
    space: dict[str, Any] = {"function": function}
    exec(source, space)
    run = space["run"]
    run.__module__ = __name__
    results = {name: wp.array(dtype=kind) for name, kind in zip(got, returns, strict=True)}
    run.__annotations__ = dict(zip(given, kinds, strict=True)) | results
    module = wp.get_module(f"{__name__}.{function.module.name}.{function.key}.{len(_seen)}")
    _seen.append(function)
    module.options["enable_backward"] = False
    return wp.Kernel(run, key="run", module=module, source=source)


_seen: list[Any] = []  # functions called so far: each call with other types is a module of its own
