"""Arrays of a device struct, described where they are declared: how many elements, the value they start with, and
whether they are state.

    @laid_out
    class Skin:
        height: array[real] = kept(NODE, FAR)  # [m] state: checkpoints hold it, a reset sets it to FAR
        flow: array[real] = scratch(NODE)      # written before it is read in every step

Allocation, `state()` and `reset()` of the soil module all follow from these lines. Arrays are world-major: the elements
of world 0 come first, then those of world 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar, dataclass_transform

import numpy as np
import warp as wp

from grouser.device import Struct, at, struct

# How many elements an array has. A slot is one body of one world.
SLOT, NODE, SHEAR_NODE, PAIR, BLOCK = "slot", "node", "node that keeps a shear state", "pair of nodes", "block of nodes"
VERTEX, CHUNK = "vertex of each world", "chunk of vertices of each world"
SHAPE, POINT, POINT_CHUNK = "small shape of each world", "point of each world", "chunk of points of each world"
STAGGER = 320  # [bytes] five cache lines

Thing = TypeVar("Thing")


@dataclass(frozen=True)
class Layout:
    """One array of a struct."""

    extent: str  # SLOT, NODE, ...
    start: Any  # a number, or a tuple for vectors and structs
    kept: bool  # state: restoring it continues the run bit for bit


def kept(extent: str, start: Any = 0) -> Any:
    """An array that is state."""
    return Layout(extent, start, kept=True)


def scratch(extent: str, start: Any = 0) -> Any:
    """An array that every step writes before it reads it, or leaves as it starts."""
    return Layout(extent, start, kept=False)


LAYOUTS: dict[Any, dict[str, Layout]] = {}  # by struct

if TYPE_CHECKING:

    @dataclass_transform()
    def laid_out(cls: type[Thing]) -> type[Thing]: ...
else:

    def laid_out(cls):
        """A device struct whose arrays have a `Layout` for a default value."""
        fields = {name: value for name, value in vars(cls).items() if isinstance(value, Layout)}
        for name in fields:
            delattr(cls, name)  # Warp does not know default values
        made = struct(cls)
        missing = [name for name, var in made.vars.items() if hasattr(var.type, "ndim") and name not in fields]
        if missing:
            raise TypeError(f"struct {cls.__name__}: {', '.join(missing)}: say how it is laid out, kept or scratch")
        LAYOUTS[made] = fields
        return made


class Arrays:
    """Allocates device structs as `LAYOUTS` says; keeps what of them is state."""

    def __init__(self, dtype: str, device: Any, worlds: int, sizes: Mapping[str, Any]):
        """`sizes`: shape of an array by its extent; the elements of each world follow one another."""
        self._dtype, self._device, self._worlds, self._sizes = dtype, device, worlds, sizes
        self._offset = 0  # [bytes] into a page, of the last array of nodes
        self.state: dict[str, wp.array] = {}  # all arrays that are state, by name
        self._starts: dict[str, np.ndarray] = {}  # value of each element at the start, or one for all

    def allocate(self, kind: Any, **starts: np.ndarray) -> Any:
        """An instance of a struct; `starts` gives the values of an array that do not start alike."""
        made = at(kind, self._dtype)()
        for name, layout in LAYOUTS[kind].items():
            element = made._cls.vars[name].type.dtype
            array = self._zeros(layout.extent, element)
            start: Any = starts.get(name, layout.start)
            if isinstance(element, Struct):
                start = np.array(start, element.numpy_dtype())
            if np.any(layout.start) or name in starts:
                array.assign(np.broadcast_to(start, array.numpy().shape).astype(array.numpy().dtype))
            setattr(made, name, array)
            if layout.kept:
                if name in self.state:
                    raise TypeError(f"state {name!r} is declared in two structs")
                self.state[name], self._starts[name] = array, start
        return made

    def reset(self, worlds: Sequence[int]) -> None:
        """Put the state of some worlds back to its start."""
        chosen = list(worlds)
        for name, array in self.state.items():
            host, start = array.numpy(), self._starts[name]
            components = host.shape[array.ndim :]
            by_world = host.reshape(self._worlds, -1, *components)
            if np.size(start) == host.size:
                start = np.reshape(start, by_world.shape)[chosen]
            by_world[chosen] = start
            array.assign(host)

    def _zeros(self, extent: str, element: Any) -> Any:
        shape = self._sizes[extent]
        if extent not in (NODE, PAIR):
            return wp.zeros(shape, dtype=element, device=self._device)
        # Large arrays all begin at the start of a page; entries of one node would then compete for one set of the
        # cache.
        self._offset += STAGGER
        offset = -(-self._offset // wp.types.type_size_in_bytes(element))
        return wp.zeros(offset + shape, dtype=element, device=self._device)[offset:]
