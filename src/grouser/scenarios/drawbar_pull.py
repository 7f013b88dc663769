"""A horizontal force that holds a machine back: a drawbar pull, or the load of a blade. A force module."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp

from grouser import device
from grouser.device import array, array2d
from grouser.kernel_module import KernelModule
from grouser.module import Channel, Motion, Outputs
from grouser.precision import precision, quat, real, vec3, vec6
from grouser.track.stages.blocks import wrench

MODULE = device.module("grouser.scenarios.drawbar_pull")
CREEP = wp.constant(real(0.03))  # [m/s] forward speed below which a pull fades


@dataclass(frozen=True)
class Ramp:
    """A force that grows evenly."""

    most: float  # [N]
    begin: float  # [s] until when it is zero
    duration: float  # [s] in which it grows to `most`


@wp.kernel(module=MODULE)
def pull_back(
    most: real, begin: real, duration: real, point: vec3, row: int, time: array[real],
    rotation: array2d[quat], velocity: array2d[vec3], wrench_out: array2d[vec6],
):  # fmt: skip
    """Pull a `point` [m] of a body back. `most` [N] to `duration` [s] are those of a ramp. One thread per world."""
    world = wp.tid()
    zero, one = real(0.0), real(1.0)
    q = rotation[world, row]
    arm = wp.quat_rotate(q, point)
    heading = wp.quat_rotate(q, vec3(one, zero, zero))
    ahead = wp.normalize(wp.cw_mul(heading, vec3(one, one, zero)))
    size = most * wp.clamp((time[world] - begin) / duration, zero, one)
    # It resists motion and never drags the body back.
    size = size * wp.clamp(wp.dot(velocity[world, row], ahead) / CREEP, zero, one)
    force = -size * ahead
    wrench_out[world, 0] = wrench(force, wp.cross(arm, force))


@wp.kernel(module=MODULE)
def sum_impulse(
    step: array[real], effective: array2d[vec6], begun: array[int], time: array[real], impulse: array[vec3]
):  # fmt: skip
    """Sum the impulse [N s] that the body received. The first commit, before any step, only starts the time."""
    world = wp.tid()
    if begun[world] == 1:
        f = effective[world, 0]
        time[world] = time[world] + step[0]
        impulse[world] = impulse[world] + step[0] * vec3(f[0], f[1], f[2])
    begun[world] = 1


class Pull(KernelModule):
    """A horizontal force on a point of a body, against its heading. Below CREEP it fades with the forward speed."""

    step_limit = math.inf

    def __init__(self, name: str, body: str, point: Sequence[float], ramp: Ramp):
        """`point` [m] in the body's frame."""
        self.name, self.bodies, self.point, self.ramp = name, (body,), tuple(map(float, point)), ramp

    def declare(self, spec) -> None:
        """Do nothing: it has no shape."""

    def bind(self, motion: Motion, rows: Sequence[int], out: Outputs, step: float) -> None:
        self.device, self.out = motion.position.device, out
        p = precision("float64" if motion.position.dtype._wp_scalar_type_ == wp.float64 else "float32")
        self.precision, worlds = p, motion.position.shape[0]
        time, impulse, begun = (wp.zeros(worlds, dtype=kind, device=self.device) for kind in (p.real, p.vec3, wp.int32))
        self._arrays = {"time": time, "impulse": impulse, "begun": begun}
        self._keep_step(step)
        r = self.ramp
        pulled: list[Any] = [r.most, r.begin, r.duration, p.vec3(*self.point), rows[0], time]
        pulled += [motion.rotation, motion.velocity, out.wrench]
        summed = [self._step, out.effective, begun, time, impulse]
        pull, add_up = (device.at(kernel, p.name) for kernel in (pull_back, sum_impulse))
        self._record(lambda launch: launch(pull, worlds, pulled), lambda launch: launch(add_up, worlds, summed))

    def state(self) -> dict[str, wp.array]:
        return self._arrays

    def explain(self, code: int) -> tuple[str, bool]:
        raise KeyError(code)

    def channels(self) -> list[Channel]:
        impulse = self._arrays["impulse"].numpy()  # a view
        return [
            Channel(
                f"{self.name}/pull", "N", frame="",
                read=lambda: np.linalg.norm(self.out.effective.numpy()[:, 0, :3], axis=-1),
            ),
            Channel(f"{self.name}/impulse", "N s", (3,), read=lambda: impulse),
        ]  # fmt: skip
