"""Controls of all worlds as one array, and masks of worlds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import warp as wp

from grouser.device import array, module
from grouser.engine.mujoco_cpu import MujocoCpu
from grouser.errors import InputError

MODULE = module("grouser.simulation.controls")


class Controls:
    """Controls (world, nu) of worlds on the CPU, which users write between steps. MuJoCo keeps those of each world."""

    def __init__(self, engine: Any):
        self._data = engine.data if isinstance(engine, MujocoCpu) else []
        self._names = [engine.model.actuator(k).name for k in range(engine.model.nu)]
        self._array: np.ndarray | None = None  # made at first use
        self._sent = np.zeros(0)

    @property
    def array(self) -> np.ndarray:
        """The controls of all worlds. What is written takes effect at the next step."""
        if self._array is None:
            self._array = np.zeros((len(self._data), len(self._names)))
            self._sent = self._array.copy()
            self.take(range(len(self._data)))
        return self._array

    def take(self, worlds: Iterable[int]) -> None:
        """Read the controls of some worlds from MuJoCo, after a reset."""
        if self._array is not None:
            for world in worlds:
                self._array[world] = self._sent[world] = self._data[world].ctrl

    def send(self) -> list[tuple[int, str]]:
        """Give MuJoCo the controls that were written. Returns worlds with one that is not finite, and the reason."""
        given = self._array
        if given is None or np.array_equal(given, self._sent):
            return []
        wrong = []
        for world in np.flatnonzero((given != self._sent).any(axis=1)):
            bad = np.flatnonzero(~np.isfinite(given[world]))
            if len(bad):
                reason = f"control {self._names[bad[0]]!r} is {given[world, bad[0]]}; allowed are finite numbers"
                wrong.append((int(world), reason))
                given[world] = self._sent[world]
            self._data[world].ctrl[:] = given[world]
        self._sent[:] = given
        return wrong


def device_mask(worlds: Any, count: int, device: Any) -> wp.array:
    """Mask (world,) of bool on the device. `worlds`: None for all, numbers, or a mask on the host or the device."""
    if worlds is None:
        return wp.full(count, True, dtype=wp.bool, device=device)
    if hasattr(worlds, "__cuda_array_interface__") or isinstance(worlds, wp.array):
        mask = worlds if isinstance(worlds, wp.array) else wp.array(worlds, device=device, copy=False)
        if mask.shape != (count,):
            raise InputError(f"worlds: a mask of shape {tuple(mask.shape)}; allowed is ({count},)")
        if mask.dtype == wp.bool:
            return mask
        if mask.dtype != wp.int32:
            raise InputError("worlds: a mask of numbers of another type; allowed are bool and int32")
        made = wp.zeros(count, dtype=wp.bool, device=device)
        wp.launch(is_set, dim=count, inputs=[mask, made], device=device)
        return made
    given = np.asarray(worlds.numpy() if hasattr(worlds, "numpy") else worlds)
    if given.dtype == bool and given.shape == (count,):
        return wp.array(given, dtype=wp.bool, device=device)
    known = range(count)
    if (given.dtype.kind not in "iu" and given.size) or any(world not in known for world in given.reshape(-1).tolist()):
        raise InputError(f"worlds: {worlds!r}: allowed are some of 0 to {count - 1}, or a mask of shape ({count},)")
    host = np.zeros(count, bool)
    host[given.astype(int)] = True
    return wp.array(host, dtype=wp.bool, device=device)


@wp.kernel(module=MODULE)
def is_set(numbers: array[int], mask_out: array[wp.bool]):
    world = wp.tid()
    mask_out[world] = numbers[world] != 0
