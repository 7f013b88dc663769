"""A pose as stored in recordings: seven numbers, position and quaternion xyzw."""

from __future__ import annotations

import numpy as np
import warp as wp

from grouser.device import struct


@struct
class Pose:
    """Pose of a body in world axes; float64 for both float types, because it goes to the host."""

    position: wp.vec3d  # [m]
    rotation: wp.quatd  # xyzw, body to world


def pose_values(poses: wp.array) -> np.ndarray:
    """An array of poses as numbers (…, 7); on the CPU a view."""
    host = poses.numpy()
    return host.view(np.float64).reshape(*host.shape, 7)
