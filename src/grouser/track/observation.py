"""Observed quantities of tracks as arrays for recordings and controllers: poses, loads, speeds, balances."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import warp as wp

from grouser.device import at, fields
from grouser.launches import Launches
from grouser.module import Motion
from grouser.pose import Pose, pose_values
from grouser.track.observation_kernels import Observed, observe

STRAIGHT = math.radians(3)  # fold up to which a joint counts as straight


class TrackObservation:
    """Arrays that `refresh` overwrites with present values. Copy what you want to keep.

    `values` by link: pose [m, 1], lateral offset [m] from the plane of the wheels to the left, shoe_pressure and
    shoe_shear [Pa], shoe_force [N] and shoe_point [m], where it acts. By wheel: wheel_force and wheel_load [N],
    wheel_torque [N m] and wheel_spin [rad/s] about the axle.
    By track: momentum of the links [N s]; chain_speed [m/s] relative to the frame, mean of links on straight runs
    (around a wheel the middle of a link is slower); pair_wrench_sum [1], the sum of the wrenches of links and wheels on
    each other over the larger one.
    """

    def __init__(
        self, name: str, tables: Any, state: Any, wheels: Any, results: Any, motion: Motion, offsets: wp.array
    ):
        """`offsets` [m], (track,): lateral positions of the tracks on their frames. `name`: the float type."""
        device, (worlds, links) = motion.position.device, state.position.shape
        count, tracks = wheels.centre.shape[1], offsets.shape[0]
        observed = Observed()
        for key, kind in fields(Observed).items():
            rows = {"wheel": count, "momentum": tracks, "chain": tracks, "pair": tracks}.get(key.split("_")[0], links)
            setattr(observed, key, wp.zeros((worlds, rows), dtype=kind.dtype, device=device))
        self._arrays = {key: getattr(observed, key) for key in fields(Observed)}
        self.values: dict[str, np.ndarray] = {key: _host(array) for key, array in self._arrays.items()}
        self._on_host = wp.get_device(device).is_cpu
        moving = motion.position, motion.rotation, motion.velocity, motion.angular_velocity
        inputs = [tables, state, wheels, results, offsets, math.cos(STRAIGHT), *moving, observed]
        kernel = at(observe, name)
        self._launches = Launches(lambda launch: launch(kernel, (worlds, tracks), inputs), device)

    def refresh(self) -> None:
        self._launches.run()
        if not self._on_host:
            for key, array in self._arrays.items():
                self.values[key][...] = _host(array)

    def read(self, key: str) -> np.ndarray:
        self.refresh()
        return self.values[key].copy()


def _host(array: wp.array) -> np.ndarray:
    return pose_values(array) if array.dtype is Pose else array.numpy()
