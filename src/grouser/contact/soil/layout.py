"""Layout of the arrays of a device struct, given where they are declared: size, initial value, and whether they are
state.

    @laid_out
    class Skin:
        height: array[real] = kept(NODE, FAR)  # [m] state: saved in checkpoints, set to FAR by a reset
        flow: array[real] = scratch(NODE)      # not state: every step writes it before reading it

Allocation, `state()` and `reset()` of the soil module all follow from these declarations. Arrays are world-major: the
elements of world 0 come first, then those of world 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar, dataclass_transform

import numpy as np
import warp as wp

from grouser.device import Struct, at, struct
from grouser.lanes import LANES

# Extents: what an array has one element for. A slot is one body of one world.
SLOT, NODE, SHEAR_NODE, PAIR, BLOCK = "slot", "node", "node that keeps a shear state", "pair of nodes", "block of nodes"
VERTEX, CHUNK = "vertex of each world", "chunk of vertices of each world"
SHAPE, POINT, POINT_CHUNK = "small shape of each world", "point of each world", "chunk of points of each world"
FACE, FACE_SAMPLE, FACE_BIN = "steep face of each world", "sample of a face's toe", "trial plane of a face"
PAIRS = 2  # pairs of nodes for each node: with the next one along both axes
STAGGER = 320  # [bytes] offset between large arrays: five cache lines, see `Arrays._zeros`

Thing = TypeVar("Thing")


@dataclass(frozen=True)
class Layout:
    """Layout of one array of a struct."""

    extent: str  # SLOT, NODE, ...
    start: Any  # a number, or a tuple for vectors and structs
    kept: bool  # whether it is state: restoring all state continues the run bit for bit


def kept(extent: str, start: Any = 0) -> Any:
    """Declare an array that is state."""
    return Layout(extent, start, kept=True)


def scratch(extent: str, start: Any = 0) -> Any:
    """Declare an array that is not state: every step writes it before reading it, or leaves it at its start value."""
    return Layout(extent, start, kept=False)


LAYOUTS: dict[Any, dict[str, Layout]] = {}  # by struct

if TYPE_CHECKING:

    @dataclass_transform()
    def laid_out(cls: type[Thing]) -> type[Thing]: ...
else:

    def laid_out(cls):
        """Make a device struct of a class whose arrays have a `Layout` as default value."""
        fields = {name: value for name, value in vars(cls).items() if isinstance(value, Layout)}
        for name in fields:
            delattr(cls, name)  # Warp structs have no default values
        made = struct(cls)
        missing = [name for name, var in made.vars.items() if hasattr(var.type, "ndim") and name not in fields]
        if missing:
            raise TypeError(f"struct {cls.__name__}: {', '.join(missing)}: say how it is laid out, kept or scratch")
        LAYOUTS[made] = fields
        return made


def bytes_per_node(dtype: str, keeps_shear: bool) -> int:
    """Memory [bytes] that all arrays of windows take for a node. `keeps_shear`: nodes keep the shear state."""
    counts = {NODE: 1, PAIR: PAIRS, SHEAR_NODE: int(keeps_shear)}
    return sum(
        counts.get(layout.extent, 0) * wp.types.type_size_in_bytes(at(kind, dtype).vars[name].type.dtype)
        for kind, fields in LAYOUTS.items()
        for name, layout in fields.items()
    )


class Arrays:
    """Allocates device structs by `LAYOUTS` and holds the arrays that are state."""

    def __init__(self, dtype: str, device: Any, worlds: int, sizes: Mapping[str, Any]):
        """`sizes` gives the shape of an array for each extent; elements are world-major."""
        self._dtype, self._device, self._worlds, self._sizes = dtype, device, worlds, sizes
        self._offset = 0  # [bytes] offset of the last large array, see `_zeros`
        self.state: dict[str, wp.array] = {}  # all arrays that are state, by name
        self._starts: dict[str, np.ndarray] = {}  # initial value of each element, or one value for all

    def allocate(self, kind: Any, **starts: np.ndarray) -> Any:
        """Allocate a struct with its arrays. `starts` gives initial values for arrays whose elements start unequal."""
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
        """Set the state of some worlds back to its initial value."""
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
        # Large arrays are allocated at page boundaries, so the entries of one node in different arrays would compete
        # for the same cache set. Shift each array by some cache lines. Lanes may read past the last node.
        self._offset += STAGGER
        offset = -(-self._offset // wp.types.type_size_in_bytes(element))
        return wp.zeros(offset + shape + LANES, dtype=element, device=self._device)[offset : offset + shape]
