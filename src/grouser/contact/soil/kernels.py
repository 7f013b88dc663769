"""The kernel that gathers what is observed of the soil bodies: forces, sinkage, slip, volumes."""

from __future__ import annotations

import warp as wp

from grouser.contact.soil import laws
from grouser.contact.soil.types import Displacement, MotionArrays, Placement, Prediction
from grouser.device import array, array2d, module
from grouser.precision import real, vec3, vec6

MODULE = module("grouser.contact.soil.observation")


@wp.func
def volume_error(disp: Displacement, first: int, bodies: int):
    """What the surface of a world lost less what was compressed, over what was displaced; `first` slot of the world."""
    off = real(0.0)
    removed = real(0.0)
    for slot in range(first, first + bodies):
        off += disp.tally[slot].moved + disp.tally[slot].compressed
        removed += disp.tally[slot].removed
    return wp.abs(off) / wp.max(removed, real(1.0e-30))


@wp.kernel(module=MODULE)
def observe(
    rows: array[int], motion: MotionArrays, effective: array2d[vec6], normal: array2d[vec3],
    spacing: real, x0: real, y0: real, place: Placement, disp: Displacement, pred: Prediction,
    force_out: array2d[wp.vec3d], torque_out: array2d[wp.vec3d],
    sinkage_out: array2d[wp.float64], slip_out: array2d[wp.float64],
    area_out: array2d[wp.float64], displaced_out: array2d[wp.float64],
    error_out: array[wp.float64],
):  # fmt: skip
    """Every body of every world, as it is now. One thread a body; outputs are double whatever the float type."""
    world, body = wp.tid()
    slot = world * rows.shape[0] + body
    row = rows[body]
    wrench = effective[world, body]
    force_out[world, body] = wp.vec3d(wp.float64(wrench[0]), wp.float64(wrench[1]), wp.float64(wrench[2]))
    torque_out[world, body] = wp.vec3d(wp.float64(wrench[3]), wp.float64(wrench[4]), wp.float64(wrench[5]))
    sinkage_out[world, body] = wp.float64(place.sinkage[slot])
    area_out[world, body] = wp.float64(pred.area[slot])
    cell = wp.float64(spacing)
    displaced_out[world, body] = wp.float64(disp.tally[slot].removed) * cell * cell
    slip = real(0.0)
    if pred.area[slot] > real(0.0):
        low = place.lowest[slot]
        lowest = vec3(x0 + spacing * low[0], y0 + spacing * low[1], low[2])
        n = normal[world, body]
        depth = wp.dot(motion.position[world, row] - lowest, n)
        slip = laws.slip(motion.velocity[world, row], motion.angular_velocity[world, row], depth, n)
    slip_out[world, body] = wp.float64(slip)
    if body == 0:
        error_out[world] = wp.float64(volume_error(disp, slot, rows.shape[0]))
