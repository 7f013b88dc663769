"""Kernel that fills the observation arrays of the soil bodies: force, sinkage, slip, volumes, energies."""

from __future__ import annotations

import warp as wp

from grouser.contact.soil import laws, losses
from grouser.contact.soil.types import Displacement, Energy, MotionArrays, Placement, Prediction
from grouser.device import array, array2d, array3d, module
from grouser.precision import real, vec3, vec6
from grouser.terrain.ground import GroundArrays as Ground
from grouser.terrain.ground import base_normal

MODULE = module("grouser.contact.soil.observation")


@wp.func
def volume_error(disp: Displacement, first: int, bodies: int):
    """Volume balance error of a world: |surface change + compressed| / displaced. `first` is the world's first slot."""
    off = real(0.0)
    removed = real(0.0)
    for slot in range(first, first + bodies):
        off += disp.tally[slot].moved + disp.tally[slot].compressed
        removed += disp.tally[slot].removed
    return wp.abs(off) / wp.max(removed, real(1.0e-30))


@wp.kernel(module=MODULE)
def observe(
    g: Ground, rows: array[int], motion: MotionArrays, effective: array2d[vec6], place: Placement,
    disp: Displacement, pred: Prediction, energy: Energy,
    force_out: array2d[wp.vec3d], torque_out: array2d[wp.vec3d],
    sinkage_out: array2d[wp.float64], slip_out: array2d[wp.float64],
    area_out: array2d[wp.float64], displaced_out: array2d[wp.float64],
    error_out: array[wp.float64], energy_out: array3d[wp.float64],
):  # fmt: skip
    """Write the present values of every body of every world. One thread per body; outputs are always float64."""
    world, body = wp.tid()
    slot = world * rows.shape[0] + body
    row = rows[body]
    wrench = effective[world, body]
    force_out[world, body] = wp.vec3d(wp.float64(wrench[0]), wp.float64(wrench[1]), wp.float64(wrench[2]))
    torque_out[world, body] = wp.vec3d(wp.float64(wrench[3]), wp.float64(wrench[4]), wp.float64(wrench[5]))
    sinkage_out[world, body] = wp.float64(place.sinkage[slot])
    area_out[world, body] = wp.float64(pred.area[slot])
    cell = wp.float64(g.spacing)
    displaced_out[world, body] = wp.float64(disp.tally[slot].removed) * cell * cell
    # Slip is defined only in contact. The rim speed comes from the height of the frame origin above the deepest point.
    slip = real(0.0)
    if pred.area[slot] > real(0.0):
        low = place.lowest[slot]
        lowest = vec3(g.x0 + g.spacing * low[0], g.y0 + g.spacing * low[1], low[2])
        n = base_normal(g, world, motion.position[world, row])
        depth = wp.dot(motion.position[world, row] - lowest, n)
        slip = laws.slip(motion.velocity[world, row], motion.angular_velocity[world, row], depth, n)
    slip_out[world, body] = wp.float64(slip)
    lost = energy.lost[slot]
    received = energy.work[slot]
    energy_out[0, world, body] = received  # rows in the order of `losses.CHANNELS`
    energy_out[1, world, body] = lost.stored
    energy_out[2, world, body] = lost.sinkage
    energy_out[3, world, body] = lost.spoil
    energy_out[4, world, body] = lost.damping
    energy_out[5, world, body] = lost.shear
    energy_out[6, world, body] = lost.faces
    energy_out[7, world, body] = received - losses.total(lost)
    if body == 0:  # the volume balance belongs to the world: one thread writes it
        error_out[world] = wp.float64(volume_error(disp, slot, rows.shape[0]))
