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
functions, constants, modules of this package. Each copy is made once. `wp.float64` and `wp.vec3d`, if written out, stay
float64. Constants that depend on the type (`area_slack`) are fields of `Precision`.

`at(kernel, name, {first: second})` also replaces the function `first` by `second` wherever the code calls it, for
example a pressure law or the source of heights.

Warp passes structs by value. If a function in an inner loop takes or returns one, `@wp.func(inline=True)` avoids the
copies.

Build all kernels of a Warp module with `at` before the first launch, or Warp compiles the module twice.
"""

from __future__ import annotations

import dis
import sys
import zlib
from collections.abc import Mapping
from functools import cache
from types import FunctionType, ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import warp as wp

from grouser.precision import precision

Thing = TypeVar("Thing")

if TYPE_CHECKING:
    # Types of device code for the type checker. Warp's own classes describe the host side, where a struct is an
    # object, not a class, and an array cannot be indexed by a thread.
    def struct(cls: type[Thing]) -> type[Thing]: ...

    class array(Generic[Thing]):
        shape: tuple[int, ...]

        def __getitem__(self, index: Any) -> Thing: ...
        def __setitem__(self, index: Any, value: Any) -> None: ...

    class array2d(array[Thing]): ...

    class array3d(array[Thing]): ...

    class array4d(array[Thing]): ...
else:
    struct, array, array2d, array3d, array4d = wp.struct, wp.array, wp.array2d, wp.array3d, wp.array4d

Struct: Any = type(wp.struct(type("Empty", (), {})))  # the class of structs, which Warp does not export
PACKAGE = __name__.partition(".")[0]
LONGEST = 80  # characters of the names of replaced functions in the name of a module
DOUBLE = "float64"  # float type for which device code is written


def module(name: str) -> Any:
    """The Warp module called `name`. Its kernels are compiled together, without adjoints."""
    made = wp.get_module(name)
    made.options["enable_backward"] = False
    return made


@wp.func
def nonnegative(index: int):
    """The index itself, which must be 0 or more. The compiler then drops the wrap-around of negative indices."""
    return index & 0x7FFFFFFF


class _Build(NamedTuple):
    """Options of a copy of device code."""

    name: str  # of the float type
    replaced: tuple[tuple[Any, Any], ...] = ()  # pairs of a function and its replacement

    @property
    def suffix(self) -> str:
        """Suffix that makes the names of the copies' Warp modules distinct. It becomes part of a file's name."""
        names = "".join(f".{new.key}" for _, new in self.replaced)
        if len(names) > LONGEST:
            names = f".{len(self.replaced)}_replaced_{zlib.crc32(names.encode()):08x}"
        return names + f".{self.name}"


def at(thing: Any, name: str, replace: Mapping[Any, Any] | None = None) -> Any:
    """A struct, function, kernel, vector type or constant for the float type `name`, "float64" or "float32".

    `replace`: device functions and their replacements, both as written for float64. Code that depends on neither the
    float type nor a replaced function is returned unchanged.
    """
    precision(name)  # raises an error for an unknown name
    return _at(thing, _Build(name, tuple((replace or {}).items())))


def _at(thing: Any, build: _Build) -> Any:
    if build == (DOUBLE, ()):
        return thing
    real = precision(build.name).real
    if isinstance(thing, Struct):
        return _struct(thing, _Build(build.name))  # replaced functions do not affect structs
    if isinstance(thing, wp.Function):
        if thing in dict(build.replaced):  # the replacement may call the original
            return _at(dict(build.replaced)[thing], _Build(build.name))
        return _function(thing, build)
    if isinstance(thing, wp.Kernel):
        return _kernel(thing, build)
    if isinstance(thing, type):
        return _type(thing, real)
    if isinstance(thing, wp.float64):
        return real(thing.value)
    if _is_double(type(thing)):  # a constant vector or matrix
        return _type(type(thing), real)(*(real(value) for value in _numbers(thing)))
    return thing


def _value(key: str, value: Any, build: _Build) -> Any:
    """Value of a global name of device code in the copy."""
    double = vars(precision(DOUBLE))
    if key in double and value is double[key]:  # by name too: some, such as `area_slack`, are not types
        return getattr(precision(build.name), key)
    if isinstance(value, ModuleType):
        ours = value.__name__.partition(".")[0] == PACKAGE
        return _Module(value, build) if ours else value
    return _at(value, build)


def _is_double(kind: Any) -> bool:
    """Whether a type is a vector, matrix or quaternion of float64."""
    return getattr(kind, "_wp_scalar_type_", None) is wp.float64


def _type(kind: Any, real: Any) -> Any:
    """A scalar, vector, matrix or quaternion type with float64 replaced by `real`."""
    if kind is wp.float64:
        return real
    if not _is_double(kind) or real is wp.float64:
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
    """Stands for a module of this package inside a copy of device code."""

    def __init__(self, module: ModuleType, build: _Build):
        super().__init__(module.__name__)
        self._original = module, build

    def __getattr__(self, key: str) -> Any:
        module, build = self._original
        return _value(key, getattr(module, key), build)


@cache
def _struct(struct: Any, build: _Build) -> Any:
    cls = struct.cls
    _check_annotations_are_text(cls, cls.__annotations__, build)
    names = vars(sys.modules[cls.__module__])
    space = _space(names, _names_in(cls.__annotations__), build)
    if all(value is names[key] for key, value in space.items()):
        return struct  # no field depends on the float type
    annotations = {key: _read(text, space) for key, text in cls.__annotations__.items()}
    body = {"__annotations__": annotations, "__module__": cls.__module__ + build.suffix}
    body |= {"__qualname__": cls.__qualname__, "__doc__": cls.__doc__}
    return wp.struct(type(cls.__name__, (), body))


@cache
def _function(function: Any, build: _Build) -> Any:
    if function.func is None:  # a built-in function of Warp
        return function
    copy = _copy(function.func, build)
    if function.native_snippet:
        return wp.func_native(function.native_snippet)(copy)
    inline = {None: None, "forceinline": True, "noinline": False}[function.inline_hint]
    return wp.func(copy, inline=inline)


@cache
def _kernel(kernel: Any, build: _Build) -> Any:
    home = wp.get_module(kernel.module.name + build.suffix)
    home.options.update(kernel.module.options)
    registers = kernel.options.get("cuda_max_registers")
    return wp.kernel(_copy(kernel.func, build), module=home, cuda_max_registers=registers)


def _copy(f: Any, build: _Build) -> Any:
    """The same code with its global names bound to new values. Warp reads the source through the code object."""
    if f.__closure__:
        raise TypeError(
            f"device function {f.__qualname__} refers to {', '.join(f.__code__.co_freevars)} of an enclosing function; "
            "`at` can rebind names of a module only: move it to module level"
        )
    _check_annotations_are_text(f, f.__annotations__, build)
    used = {step.argval for step in dis.get_instructions(f) if step.opname == "LOAD_GLOBAL"}
    space = _space(f.__globals__, used | _names_in(f.__annotations__), build)
    copy = FunctionType(f.__code__, space, f.__name__, f.__defaults__)
    copy.__annotations__, copy.__qualname__, copy.__doc__ = f.__annotations__, f.__qualname__, f.__doc__
    copy.__module__ = f.__module__ + build.suffix
    return copy


def _check_annotations_are_text(owner: Any, annotations: dict[str, Any], build: _Build) -> None:
    """Raise an error for evaluated annotations of float64: only annotations kept as text can get another type."""
    for kind in annotations.values():
        element = getattr(kind, "dtype", kind)  # element type of an array
        if not isinstance(kind, str) and _at(element, build) is not element:
            raise TypeError(
                f"device code {owner.__qualname__}: its module {owner.__module__} lacks "
                "'from __future__ import annotations', without which it exists in float64 only"
            )


def _names_in(annotations: dict[str, Any]) -> set[str]:
    texts = [text for text in annotations.values() if isinstance(text, str)]
    return {used for text in texts for used in compile(text, "annotation", "eval").co_names}


def _read(annotation: Any, space: dict[str, Any]) -> Any:
    return eval(annotation, space) if isinstance(annotation, str) else annotation


def _space(names: dict[str, Any], used: set[str], build: _Build) -> dict[str, Any]:
    return {key: _value(key, names[key], build) for key in used if key in names}


# ---- host: arrays of structs ----------------------------------------------------------------------------


def zeros(kind: Any, device: Any, shape: tuple[int, ...], **shapes: tuple[int, ...]) -> Any:
    """Make a struct with arrays of zeros of `shape`. `shapes` gives other shapes by field name."""
    made = kind()
    unknown = shapes.keys() - kind.vars.keys()
    if unknown:
        raise TypeError(f"{kind.key} has no field {sorted(unknown)[0]!r}")
    for field, variable in kind.vars.items():
        if hasattr(variable.type, "ndim"):
            setattr(made, field, wp.zeros(shapes.get(field, shape), dtype=variable.type.dtype, device=device))
    return made


def arrays(**structs: Any) -> dict[str, Any]:
    """The arrays of some structs, named "struct/field", as a module returns them from `state`."""
    return {
        f"{name}/{field}": getattr(struct, field)
        for name, struct in structs.items()
        for field, variable in struct._cls.vars.items()
        if hasattr(variable.type, "ndim")
    }


# ---- for the host -------------------------------------------------------------------------------------


def fields(struct: Any) -> dict[str, Any]:
    """Types of a struct's fields by name, in declared order: scalars, arrays with `dtype` and `ndim`."""
    return {name: variable.type for name, variable in struct.vars.items()}


def numpy_dtype(struct: Any) -> Any:
    """The NumPy type of a struct, to fill an array of it on the host."""
    return struct.numpy_dtype()


def kernels(source: ModuleType, name: str) -> SimpleNamespace:
    """All kernels of a Python module, by name, for one float type. Built together, they are compiled together."""
    made = {key: at(value, name) for key, value in vars(source).items() if isinstance(value, wp.Kernel)}
    return SimpleNamespace(**made)
