"""Observed quantities of the soil bodies (force, sinkage, slip, ...) as arrays for controllers and recordings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import warp as wp

from grouser.contact.soil.kernels import observe
from grouser.contact.soil.losses import CHANNELS as ENERGIES
from grouser.device import at
from grouser.launches import Launches
from grouser.module import Motion, Outputs
from grouser.terrain.ground import Ground

SINCE_START = ("displaced_volume", "volume_error", *ENERGIES)


class Observation:
    """Arrays that `refresh` overwrites with present values. Copy what you want to keep."""

    def __init__(
        self, ground: Ground, motion: Motion, rows: Sequence[int], out: Outputs, arrays: Any, device_motion: Any
    ):
        """Allocate the arrays `values`.

        Force [N], torque about the frame origin [N m], sinkage [m], slip [1], contact area [m^2] and displaced volume
        [m^3], energies of `losses.CHANNELS` [J], each (world, body, …), and volume error [1], (world,).
        """
        shape = (motion.position.shape[0], len(rows))
        device, p = ground.device, ground.precision
        self._on_host = wp.get_device(device).is_cpu
        kinds = {
            "force": wp.vec3d, "torque": wp.vec3d, "sinkage": wp.float64, "slip": wp.float64,
            "contact_area": wp.float64, "displaced_volume": wp.float64,
        }  # fmt: skip
        self._arrays = {name: wp.zeros(shape, dtype=kind, device=device) for name, kind in kinds.items()}
        self._arrays["volume_error"] = wp.zeros(shape[0], dtype=wp.float64, device=device)
        self._energies = wp.zeros((len(ENERGIES), *shape), dtype=wp.float64, device=device)
        self.values: dict[str, np.ndarray] = {name: array.numpy() for name, array in self._arrays.items()}
        self.values |= zip(ENERGIES, self._energies.numpy(), strict=True)
        inputs = [
            ground.arrays, wp.array(np.asarray(rows, np.int32), dtype=wp.int32, device=device),
            device_motion, out.effective, arrays.placement, arrays.displacement, arrays.prediction,
            arrays.energy, *self._arrays.values(), self._energies,
        ]  # fmt: skip
        kernel = at(observe, p.name)
        self._launches = Launches(lambda launch: launch(kernel, shape, inputs), device)

    def refresh(self) -> None:
        self._launches.run()
        if not self._on_host:
            for name, array in self._arrays.items():
                self.values[name][...] = array.numpy()
            for name, values in zip(ENERGIES, self._energies.numpy(), strict=True):
                self.values[name][...] = values

    def read(self) -> dict[str, np.ndarray]:
        """Refresh and return the values of each body, without what is summed since the start."""
        self.refresh()
        return {name: value for name, value in self.values.items() if name not in SINCE_START}

    def read_on_device(self) -> dict[str, wp.array]:
        """The same as device arrays. The host reads nothing."""
        self._launches.run()
        return {name: array for name, array in self._arrays.items() if name not in SINCE_START}
