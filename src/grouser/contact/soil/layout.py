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

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar, dataclass_transform

import numpy as np
import warp as wp

from grouser.device import Struct, at, struct
from grouser.lanes import LANES
from grouser.resets import Resets

# Extents: what an array has one element for. A slot is one body of one world.
SLOT, NODE, SHEAR_NODE, PAIR, BLOCK = "slot", "node", "node that keeps a shear state", "pair of nodes", "block of nodes"
VERTEX, CHUNK = "vertex of each world", "chunk of vertices of each world"
SHAPE, POINT, POINT_CHUNK = "small shape of each world", "point of each world", "chunk of points of each world"
FACE, FACE_SAMPLE, FACE_BIN = "steep face of each world", "sample of a face's toe", "trial plane of a face"
TOP = "tile whose top is known"
PER_WORLD, TEAMS = "kernels with one thread per world", "kernels with a team of lanes per body"
DISPLACE, ERODE, EVALUATE = "displace", "erode", "evaluate"  # stages whose scratch may lie in the same memory
SHARED = (NODE, PAIR, BLOCK)  # extents of scratch that worlds share if they do not work at the same time
PAIRS = 2  # pairs of nodes for each node: with the next one along both axes
ALIGNED = 256  # [bytes] where arrays that lie in the same memory begin
STAGGER = 320  # [bytes] offset between large arrays: five cache lines, see `Arrays._zeros`

Thing = TypeVar("Thing")


@dataclass(frozen=True)
class Layout:
    """Layout of one array of a struct."""

    extent: str  # SLOT, NODE, ...
    start: Any  # a number, or a tuple for vectors and structs
    kept: bool  # whether it is state: restoring all state continues the run bit for bit
    only: str = ""  # PER_WORLD or TEAMS: kernels that use it; others allocate one element
    stage: str = ""  # DISPLACE, ERODE or EVALUATE, if no other stage uses it


def kept(extent: str, start: Any = 0) -> Any:
    """Declare an array that is state."""
    return Layout(extent, start, kept=True)


def scratch(extent: str, start: Any = 0, only: str = "", stage: str = "") -> Any:
    """Declare an array that is not state: every step writes it before reading it, or leaves it at its start value.

    Worlds that do not work at the same time share scratch of nodes. `only`: PER_WORLD or TEAMS, kernels that use it.
    `stage`: the only one that uses it. Teams run one stage of all bodies after another, so their scratch of different
    stages lies in the same memory. No other stage may count on what such an array held.
    """
    return Layout(extent, start, kept=False, only=only, stage=stage)


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


def bytes_per_node(dtype: str, keeps_shear: bool, left_out: str = "") -> tuple[int, int]:
    """Memory [bytes] that all arrays of windows take for a node: state, and scratch.

    `keeps_shear`: nodes keep the shear state. `left_out`: PER_WORLD or TEAMS, whose own arrays are not allocated.
    """
    counts, sums = {NODE: 1, PAIR: PAIRS, SHEAR_NODE: int(keeps_shear)}, {True: 0, False: 0}
    stages = {DISPLACE: 0, ERODE: 0, EVALUATE: 0}
    for kind, fields in LAYOUTS.items():
        for name, layout in fields.items():
            if not (layout.only and layout.only == left_out):
                size = counts.get(layout.extent, 0) * wp.types.type_size_in_bytes(at(kind, dtype).vars[name].type.dtype)
                if layout.stage and left_out == PER_WORLD:
                    stages[layout.stage] += size
                else:
                    sums[layout.kept] += size
    return sums[True], sums[False] + max(stages.values())


class Arrays:
    """Allocates device structs by `LAYOUTS` and holds the arrays that are state."""

    def __init__(
        self, dtype: str, device: Any, worlds: int, sizes: Mapping[str, Any], at_once: int, left_out: str = ""
    ):
        """`sizes` gives the shape of an array for each extent; elements are world-major.

        `at_once`: worlds that work at the same time; the others share their scratch of nodes. `left_out`: PER_WORLD or
        TEAMS, kernels that do not run.
        """
        self._dtype, self._device, self._worlds, self._sizes = dtype, device, worlds, sizes
        self._at_once, self._left_out = at_once, left_out
        self.bytes: dict[str, int] = {}  # memory of each array, by name; of stages that share memory under one name
        self._stages = self._stage_memory()
        self._offset = 0  # [bytes] offset of the last large array, see `_zeros`
        self.state: dict[str, wp.array] = {}  # all arrays that are state, by name
        self._state_starts, self._other_starts = Resets(worlds, device), Resets(worlds, device)

    def allocate(self, kind: Any, **starts: Any) -> Any:
        """Allocate a struct with its arrays. Call `begin` after the last one.

        `starts` gives initial values for arrays whose elements start unequal: all elements, or one for each world.
        """
        made = at(kind, self._dtype)()
        for name, layout in LAYOUTS[kind].items():
            element = made._cls.vars[name].type.dtype
            array = self._zeros(name, layout, element)
            start: Any = starts.get(name, layout.start)
            if not isinstance(start, wp.array):
                start = np.array(start, _host_type(element))
            setattr(made, name, array)
            if layout.kept:
                if name in self.state:
                    raise TypeError(f"state {name!r} is declared in two structs")
                self.state[name] = array
                self._state_starts.add(array, start)
            elif np.any(layout.start) or name in starts:
                self._other_starts.add(array, start)
        return made

    def begin(self) -> None:
        """Give all arrays their initial values, once they are allocated."""
        self._state_starts.run_all()
        self._other_starts.run_all()

    def reset(self, mask: wp.array) -> None:
        """Set the state of the worlds whose mask is 1 back to its initial value."""
        self._state_starts.run(mask)

    def memory(self) -> int:
        """Memory [bytes] of all arrays."""
        return sum(self.bytes.values())

    def _shape(self, layout: Layout) -> Any:
        shape = self._sizes[layout.extent]
        if not layout.kept and layout.extent in SHARED:
            shape = shape // self._worlds * self._at_once
        return shape

    def _is_left_out(self, layout: Layout) -> bool:
        return bool(layout.only) and layout.only == self._left_out

    def _stage_memory(self) -> wp.array | None:
        """Memory in which the arrays of one stage lie after another, and those of other stages in their place."""
        if self._left_out != PER_WORLD:  # bodies go through the stages one by one
            return None
        self._ends = {DISPLACE: 0, ERODE: 0, EVALUATE: 0}  # [bytes] where the next array of a stage begins
        sizes = dict.fromkeys(self._ends, 0)
        for kind, fields in LAYOUTS.items():
            for name, layout in fields.items():
                if layout.stage and not self._is_left_out(layout):
                    sizes[layout.stage] += self._room(layout, at(kind, self._dtype).vars[name].type.dtype)
        self.bytes["scratch of stages"] = max(sizes.values())
        # In rows: no axis of a Warp array may have 2^31 elements, and thousands of worlds take more bytes than that.
        return wp.zeros((max(sizes.values()) // ALIGNED, ALIGNED), dtype=wp.uint8, device=self._device)

    def _room(self, layout: Layout, element: Any) -> int:
        """Memory [bytes] of an array of a stage, up to where the next may begin."""
        size = int(np.prod(self._shape(layout))) * wp.types.type_size_in_bytes(element)
        return -(-size // ALIGNED) * ALIGNED

    def _in_stage(self, layout: Layout, element: Any) -> wp.array:
        """The next array of a stage, in memory that other stages use too."""
        assert self._stages is not None
        begin = self._ends[layout.stage]
        self._ends[layout.stage] += self._room(layout, element)
        return wp.array(
            ptr=(self._stages.ptr or 0) + begin, dtype=element, shape=self._shape(layout), device=self._device
        )

    def _zeros(self, name: str, layout: Layout, element: Any) -> Any:
        extent, shape = layout.extent, self._shape(layout)
        if self._is_left_out(layout):
            return wp.zeros(1, dtype=element, device=self._device)
        if layout.stage and self._stages is not None:
            return self._in_stage(layout, element)
        self.bytes[name] = int(np.prod(shape)) * wp.types.type_size_in_bytes(element)
        if extent not in (NODE, PAIR):
            return wp.zeros(shape, dtype=element, device=self._device)
        # Large arrays are allocated at page boundaries, so the entries of one node in different arrays would compete
        # for the same cache set. Shift each array by some cache lines. Lanes may read past the last node.
        self._offset += STAGGER
        offset = -(-self._offset // wp.types.type_size_in_bytes(element))
        return wp.zeros(offset + shape + LANES, dtype=element, device=self._device)[offset : offset + shape]


def _host_type(element: Any) -> Any:
    """NumPy type of the numbers of an element, or of a device struct."""
    if isinstance(element, Struct):
        return element.numpy_dtype()
    return wp.dtype_to_numpy(getattr(element, "_wp_scalar_type_", element))
