"""Set arrays back to their start values in some worlds, on the device that holds them.

A world is set back in constant time: one kernel goes through the arrays of the chosen worlds, and nothing passes
through the host. Arrays are world-major: the elements of world 0 come first, then those of world 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import warp as wp

from grouser import device as device_code
from grouser.device import array, numpy_dtype, struct

MODULE = device_code.module("grouser.resets")
WORD = 4  # [bytes] all elements are whole numbers of these
LANES = 256  # threads of a world on CUDA


@struct
class StartValues:
    """Start values of one array, in words of 4 bytes."""

    target: wp.uint64  # address of the array
    words: wp.uint64  # of one world
    start: wp.uint64  # address of the start values
    row: wp.uint64  # words between the start values of two worlds; 0: all worlds start alike
    period: wp.uint64  # words after which they repeat


SET_BACK = """
    for (int k = 0; k < count; ++k) {
        auto const& one = values.data[k];
        int* to = (int*)one.target + (size_t)world * one.words;
        const int* from = (const int*)one.start + (size_t)world * one.row;
        if (one.period == 1) {
            const int start = from[0];
            for (size_t i = lane; i < one.words; i += lanes) to[i] = start;
        } else {
            for (size_t i = lane; i < one.words; i += lanes) to[i] = from[i % one.period];
        }
    }
"""


@wp.func_native(SET_BACK)
def set_back(values: array[StartValues], count: int, world: int, lane: int, lanes: int): ...


@wp.kernel(module=MODULE)
def set_back_worlds(values: array[StartValues], count: int, lanes: int, mask: array[int], chosen: int):
    """Set back the worlds whose mask is 1, or with `chosen` 0 those whose mask is 0. `lanes` threads a world."""
    world, lane = wp.tid()  # pyright: ignore[reportAssignmentType] two, as it is launched
    if wp.where(mask[world] != 0, 1, 0) == chosen:
        set_back(values, count, world, lane, lanes)


class Resets:
    """Arrays with their start values. `run` sets some worlds back."""

    def __init__(self, worlds: int, device: Any):
        self._worlds, self._device = worlds, device
        self._lanes = 1 if wp.get_device(device).is_cpu else LANES
        self._rows: list[tuple[int, ...]] = []
        self._kept: list[Any] = []  # arrays whose addresses are in the table
        self._table: wp.array | None = None
        self._all = wp.ones(worlds, dtype=wp.int32, device=device)

    def add(self, target: wp.array, start: Any) -> None:
        """Add an array. `start`: one element, one for each world, or all elements, on the host or as a device array."""
        words = target.size * wp.types.type_size_in_bytes(target.dtype) // WORD // self._worlds
        if not isinstance(start, wp.array):
            start = wp.array(_words(start), dtype=wp.int32, device=self._device)
        count = start.size * wp.types.type_size_in_bytes(start.dtype) // WORD
        element = wp.types.type_size_in_bytes(target.dtype) // WORD
        if count == words * self._worlds and count > element:
            row, period = words, words
        elif count == element * self._worlds and count > element:
            row, period = element, element
        else:
            row, period = 0, count
        self._kept += [target, start]
        self._rows.append((target.ptr or 0, words, start.ptr or 0, row, period))
        self._table = None

    def run(self, mask: wp.array, chosen: bool = True) -> None:
        """Set back the worlds whose `mask`, (world,) int32 on the device, is 1; with `chosen` false, all others."""
        if not self._rows:
            return
        if self._table is None:
            table: Any = np.array(self._rows, np.uint64).view(numpy_dtype(StartValues)).reshape(-1)
            self._table = wp.array(table, dtype=StartValues, device=self._device)
        inputs = [self._table, len(self._rows), self._lanes, mask, int(chosen)]
        wp.launch(set_back_worlds, dim=(self._worlds, self._lanes), inputs=inputs, device=self._device)

    def run_all(self) -> None:
        """Set all worlds back."""
        self.run(self._all)


@wp.kernel(module=MODULE)
def as_numbers(chosen: array[wp.bool], mask_out: array[int]):
    world = wp.tid()
    mask_out[world] = wp.where(chosen[world], 1, 0)


def world_mask(worlds: Iterable[int] | wp.array, count: int, device: Any) -> wp.array:
    """Mask (world,) int32 on the device, 1 for each of the given worlds. A mask of int32 is returned as it is."""
    if isinstance(worlds, wp.array):
        if worlds.dtype != wp.bool:
            return worlds
        mask = wp.zeros(count, dtype=wp.int32, device=worlds.device)
        wp.launch(as_numbers, dim=count, inputs=[worlds, mask], device=worlds.device)
        return mask
    host = np.zeros(count, np.int32)
    host[list(worlds)] = 1
    return wp.array(host, dtype=wp.int32, device=device)


def chosen_worlds(worlds: Sequence[int] | wp.array) -> list[int]:
    """The numbers of the worlds of a mask; a list of numbers is returned as it is."""
    return np.flatnonzero(worlds.numpy()).tolist() if isinstance(worlds, wp.array) else list(worlds)


def _words(start: Any) -> np.ndarray:
    """Start values as words. Equal words are one: a world is then filled without looking up its place."""
    words = np.ascontiguousarray(start).view(np.int32).reshape(-1) if np.ndim(start) else _of_number(start)
    return words[:1] if (words == words[0]).all() else words


def _of_number(start: Any) -> np.ndarray:
    return np.ascontiguousarray(start).reshape(1).view(np.int32)
