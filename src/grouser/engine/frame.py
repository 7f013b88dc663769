"""Recorded quantities of bodies, joints and actuators, updated by one call."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import warp as wp

from grouser.engine.mujoco_cpu import MujocoCpu
from grouser.launches import Launches
from grouser.module import Array
from grouser.pose import Pose, pose_values


class Frame:
    """Arrays with a leading world axis. `refresh` updates them to the present values."""

    def __init__(
        self,
        engine: MujocoCpu,
        bodies: Sequence[str],
        joints: Sequence[int],
        shifts: Sequence[tuple[Array, Sequence[str]]] = (),
    ):
        """`joints` must have one degree of freedom. `shifts`: vectors [m], (world, k), added to poses of k bodies."""
        m, k = engine.model, engine.kernels

        def zeros(count: int, dtype):
            return wp.zeros((engine.worlds, count), dtype=dtype, device="cpu")

        def indices(values) -> wp.array:
            return wp.array(np.array(values, np.int32), dtype=wp.int32, device="cpu")

        outputs = (
            zeros(len(bodies), Pose), zeros(len(joints), wp.float64), zeros(len(joints), wp.float64),
            zeros(len(engine.data[0].actuator_force), wp.float64),
        )  # fmt: skip
        pose, *_ = outputs
        self.pose = pose_values(pose)  # (world, body, 7) positions [m] and quaternions xyzw
        self.position, self.speed, self.force = (array.numpy() for array in outputs[1:])
        chosen = [
            indices([m.body(name).id for name in bodies]),
            indices(m.jnt_qposadr[list(joints)]),
            indices(m.jnt_dofadr[list(joints)]),
        ]

        def record(launch) -> None:
            for world, (d, view) in enumerate(zip(engine.data, engine.views, strict=True)):
                given = [wp.array(a, dtype=wp.float64, copy=False, device="cpu") for a in (d.qpos, d.actuator_force)]
                launch(k.show, 1, [view, *given, world, *chosen, *outputs])
            for shift, names in shifts:
                rows = indices([bodies.index(name) if name in bodies else -1 for name in names])
                launch(k.show_shifted, engine.worlds, [rows, shift, pose])

        self.refresh = Launches(record).run
