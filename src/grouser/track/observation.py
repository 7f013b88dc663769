"""What tracks show, as arrays for recordings and controllers: poses, loads, speeds, balances."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import warp as wp

from grouser.launches import Launches
from grouser.module import Motion
from grouser.track.kernels import observation_kernels

STRAIGHT = math.radians(3)  # fold up to which a joint counts as straight


class TrackObservation:
    """Arrays that `refresh` fills anew: the same ones every time, so keep a copy of what you want to keep.

    `values`, by link: pose [m, 1], lateral [m] off the plane of the wheels to the left, shoe_pressure and shoe_shear
    [Pa]; by wheel: wheel_force and wheel_load [N], wheel_torque [N m] and wheel_spin [rad/s] about the axle; by track:
    momentum of the links [N s], chain_speed [m/s] along the chain against the frame, mean of links on straight runs
    (round a wheel the middle of a link is slower), pair_wrench_sum [1] of wrenches of links and wheels on each other.
    """

    def __init__(self, name: str, tables: Any, state: Any, scratch: Any, motion: Motion, offsets: wp.array):
        """`offsets` [m], (track,) to the left of the frames; `name` of the float type."""
        kernels, device = observation_kernels(name), motion.position.device
        worlds, links, wheels = motion.position.shape[0], state.position.shape[1], scratch.centre.shape[1]
        f, vector, tracks = wp.float64, wp.vec3d, offsets.shape[0]
        kinds = {
            "pose": (links, kernels.pose_type), "lateral": (links, f), "shoe_pressure": (links, f),
            "shoe_shear": (links, f), "wheel_force": (wheels, vector), "wheel_load": (wheels, f),
            "wheel_torque": (wheels, f), "wheel_spin": (wheels, f), "momentum": (tracks, vector),
            "chain_speed": (tracks, f), "pair_wrench_sum": (tracks, f),
        }  # fmt: skip
        self._arrays = {
            key: wp.zeros((worlds, count), dtype=kind, device=device) for key, (count, kind) in kinds.items()
        }
        self.values: dict[str, np.ndarray] = {key: array.numpy() for key, array in self._arrays.items()}
        self._on_host = wp.get_device(device).is_cpu
        moving = motion.position, motion.rotation, motion.velocity, motion.spin
        inputs = [tables, state, scratch, offsets, math.cos(STRAIGHT), *moving, *self._arrays.values()]
        self._launches = Launches(lambda launch: launch(kernels.look, (worlds, tracks), inputs), device)

    def refresh(self) -> None:
        self._launches.run()
        if not self._on_host:
            for key, array in self._arrays.items():
                self.values[key][...] = array.numpy()

    def read(self, key: str) -> np.ndarray:
        self.refresh()
        return self.values[key].copy()
