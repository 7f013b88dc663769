"""Device code (structs, functions, kernels) written once and built for float64 or float32.

Device code stands at module level and is written for float64 with the names of `precision.py`:

    from __future__ import annotations                 # needed: annotations are read again for each float type

    @struct
    class Spring:
        stiffness: real                                # [N/m]

    @wp.func
    def force(spring: Spring, x: real):
        return -spring.stiffness * x

    force_single = at(force, "float32")

`at` copies the code with those names bound to the other float type, and with it everything the code refers to: structs,
functions, constants, modules of this package. Each copy is made once. `wp.float64` and `wp.vec3d`, spelled out, stay
double. Constants that differ by type (`area_slack`) are fields of `Precision`.

Build all kernels of a Warp module with `at` before the first launch, or Warp compiles the module twice.
"""

from __future__ import annotations

import dis
import sys
from functools import cache
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import warp as wp

from grouser.precision import precision

Thing = TypeVar("Thing")

if TYPE_CHECKING:
    # What device code sees, for the type checker. Warp's own classes describe the host's side: there a struct is an
    # object, not a class, and an array cannot be indexed by a thread.
    def struct(cls: type[Thing]) -> type[Thing]: ...

    class array(Generic[Thing]):
        shape: tuple[int, ...]

        def __getitem__(self, index: Any) -> Thing: ...
        def __setitem__(self, index: Any, value: Any) -> None: ...

    array2d = array3d = array4d = array
else:
    struct, array, array2d, array3d, array4d = wp.struct, wp.array, wp.array2d, wp.array3d, wp.array4d

Struct: Any = type(wp.struct(type("Empty", (), {})))  # the class of structs, which Warp does not export
PACKAGE = __name__.partition(".")[0]
DOUBLE = "float64"  # what device code is written for


def module(name: str) -> Any:
    """The Warp module called `name`: kernels of it are compiled together, without adjoints."""
    made = wp.get_module(name)
    made.options["enable_backward"] = False
    return made


def at(thing: Any, name: str) -> Any:
    """A struct, function, kernel, vector type or constant for the float type `name`, "float64" or "float32".

    What does not depend on the float type is returned as it is.
    """
    p = precision(name)  # refuses what is not known
    if name == DOUBLE:
        return thing
    if isinstance(thing, Struct):
        return _struct(thing, name)
    if isinstance(thing, wp.Function):
        return _function(thing, name)
    if isinstance(thing, wp.Kernel):
        return _kernel(thing, name)
    if isinstance(thing, type):
        return _type(thing, p.real)
    if isinstance(thing, wp.float64):
        return p.real(thing.value)
    if _is_double(type(thing)):  # a constant vector or matrix
        return _type(type(thing), p.real)(*(p.real(value) for value in _numbers(thing)))
    return thing


def _value(key: str, value: Any, name: str) -> Any:
    """What a global name of device code stands for in the other float type."""
    double = vars(precision(DOUBLE))
    if key in double and value is double[key]:  # by name: constants such as `area_slack` are more than a type
        return getattr(precision(name), key)
    if isinstance(value, ModuleType):
        ours = value.__name__.partition(".")[0] == PACKAGE
        return _Module(value, name) if ours else value
    return at(value, name)


def _is_double(kind: Any) -> bool:
    """Whether a type is a vector, matrix or quaternion of float64."""
    return getattr(kind, "_wp_scalar_type_", None) is wp.float64


def _type(kind: Any, real: Any) -> Any:
    """A scalar, vector, matrix or quaternion type with `real` for float64."""
    if kind is wp.float64:
        return real
    if not _is_double(kind):
        return kind
    family = kind._wp_generic_type_str_
    if family == "quat_t":
        return wp.types.quaternion(real)
    if family == "vec_t":
        return wp.types.vector(*kind._shape_, real)
    if family == "mat_t":
        return wp.types.matrix(kind._shape_, real)
    raise TypeError(f"device type {kind}: allowed are scalars, vectors, matrices and quaternions")


def _numbers(constant: Any) -> list[float]:
    """Components of a constant vector or matrix, row by row."""
    flat: list[float] = []
    for part in constant:
        flat += list(part) if hasattr(part, "__len__") else [part]
    return flat


class _Module(ModuleType):
    """A module of this package as device code of another float type sees it."""

    def __init__(self, module: ModuleType, name: str):
        super().__init__(module.__name__)
        self._original = module, name

    def __getattr__(self, key: str) -> Any:
        module, name = self._original
        return _value(key, getattr(module, key), name)


@cache
def _struct(struct: Any, name: str) -> Any:
    cls = struct.cls
    _refuse_read_annotations(cls, cls.__annotations__)
    names = vars(sys.modules[cls.__module__])
    space = _space(names, _names_in(cls.__annotations__), name)
    if all(value is names[key] for key, value in space.items()):
        return struct  # it holds nothing of either float type
    body = {"__annotations__": {key: eval(text, space) for key, text in cls.__annotations__.items()}}
    body |= {"__module__": f"{cls.__module__}.{name}", "__qualname__": cls.__qualname__, "__doc__": cls.__doc__}
    return wp.struct(type(cls.__name__, (), body))


@cache
def _function(function: Any, name: str) -> Any:
    if function.func is None:  # one of Warp's own
        return function
    copy = _copy(function.func, name)
    if function.native_snippet:
        return wp.func_native(function.native_snippet)(copy)
    return wp.func(copy)


@cache
def _kernel(kernel: Any, name: str) -> Any:
    home = wp.get_module(f"{kernel.module.name}.{name}")
    home.options.update(kernel.module.options)
    return wp.kernel(_copy(kernel.func, name), module=home)


def _copy(f: Any, name: str) -> Any:
    """The same code with the global names it uses bound anew. Warp reads the source through the code object."""
    if f.__closure__:
        raise TypeError(
            f"device function {f.__qualname__} refers to {', '.join(f.__code__.co_freevars)} of a function round it; "
            "`at` can rebind names of a module only: move it to module level"
        )
    _refuse_read_annotations(f, f.__annotations__)
    used = {step.argval for step in dis.get_instructions(f) if step.opname == "LOAD_GLOBAL"}
    space = _space(f.__globals__, used | _names_in(f.__annotations__), name)
    copy = FunctionType(f.__code__, space, f.__name__, f.__defaults__)
    copy.__annotations__, copy.__qualname__, copy.__doc__ = f.__annotations__, f.__qualname__, f.__doc__
    copy.__module__ = f"{f.__module__}.{name}"
    return copy


def _refuse_read_annotations(owner: Any, annotations: dict[str, Any]) -> None:
    """Annotations that are no longer text hold float64 for good."""
    if not all(isinstance(text, str) for text in annotations.values()):
        raise TypeError(
            f"device code {owner.__qualname__}: its module {owner.__module__} lacks "
            "'from __future__ import annotations', without which it exists in float64 only"
        )


def _names_in(annotations: dict[str, str]) -> set[str]:
    return {used for text in annotations.values() for used in compile(text, "annotation", "eval").co_names}


def _space(names: dict[str, Any], used: set[str], name: str) -> dict[str, Any]:
    return {key: _value(key, names[key], name) for key in used if key in names}
