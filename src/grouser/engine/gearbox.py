"""Losses of gearboxes, which MuJoCo's `dcmotor` does not model.

The loss is a force on the wheel's joint, added to the passive forces between the two halves of the step. It is computed
in float64. MuJoCo's arrays are always float64 and MuJoCo Warp's float32, so the types here are written out.
"""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np
import warp as wp

from grouser import device as device_code
from grouser.device import array, array2d, struct
from grouser.drive.motor import gear_data

MODULE = device_code.module("grouser.engine.gearbox")
# [rad/s] motor speed over which the loss changes from driving to back-driven; assumed
BAND = wp.constant(wp.float64(1.0))


@struct
class Gearbox:
    """A motor behind a gearbox with loss."""

    control: int  # index of its control
    dof: int  # degree of freedom of the wheel
    diagonal: int  # index of the wheel's diagonal entry in M
    gear: wp.float64  # gear ratio: turns of the motor per turn of the wheel
    constant: wp.float64  # [N m/A], [V s/rad] K
    resistance: wp.float64  # [ohm] R
    voltage: wp.float64  # [V] largest voltage
    torque: wp.float64  # [N m] largest torque of the motor
    efficiency: wp.float64


@wp.func
def motor_torque(g: Gearbox, asked: wp.float64, rate: wp.float64):
    """Torque [N m] of the motor as in `dcmotor`: as requested, within the voltage. `rate` [rad/s]: motor speed."""
    wanted = wp.clamp(asked, -g.torque, g.torque) * g.resistance / g.constant + g.constant * rate
    return g.constant * (wp.clamp(wanted, -g.voltage, g.voltage) - g.constant * rate) / g.resistance


@wp.func
def loss(g: Gearbox, asked: wp.float64, speed: wp.float64, h: wp.float64):
    """Force [N m] of a gearbox's loss on the wheel's joint, and h times its slope with speed, an added inertia.

    A motor that drives or stands still gives the wheel the torque T = eta N tau, a back-driven one T = N tau / eta
    (assumed). So the wheel gets the share eta of the motor's power, and the braking motor the share eta of the wheel's.
    """
    zero = wp.float64(0.0)
    one = wp.float64(1.0)
    rate = g.gear * speed
    torque = motor_torque(g, asked, rate)
    factor = g.efficiency
    inertia = zero
    back = wp.where(torque > zero, -rate, rate)  # [rad/s] at which the wheel turns the motor against its torque
    if torque != zero and back > zero:
        # Within the band the factor is linear in the rate: a jump would make a wheel at rest vibrate.
        change = one / g.efficiency - g.efficiency
        factor += change * wp.min(back / BAND, one)
        if back < BAND:
            inertia = h * g.gear * g.gear * wp.abs(torque) * change / BAND
    return wp.vec2d(g.gear * torque * (factor - one), inertia)


@wp.kernel(module=MODULE)
def add_losses(
    gearboxes: array[Gearbox], control: array[wp.float64], speed: array[wp.float64], implicit: int,
    h: array[wp.float64], passive: array[wp.float64], mass: array[wp.float64],
):  # fmt: skip
    """Add the loss of each gearbox to `passive` [N m], (dof,), and its slope with speed to `mass`, MuJoCo's M.

    One thread.
    """
    for k in range(gearboxes.shape[0]):
        g = gearboxes[k]
        found = loss(g, control[g.control], speed[g.dof], h[0])
        if implicit == 1:
            mass[g.diagonal] = mass[g.diagonal] + found[1]
        passive[g.dof] = passive[g.dof] + found[0]


@wp.kernel(module=MODULE)
def add_losses_to_worlds(
    gearboxes: array[Gearbox], control: array2d[wp.float32], speed: array2d[wp.float32], diverged: array[int],
    implicit: int, h: wp.float64, passive: array2d[wp.float32], mass: array2d[wp.float32],
):  # fmt: skip
    """`add_losses` for MuJoCo Warp's arrays, except in worlds that diverged. One thread per world."""
    world = wp.tid()
    if diverged[world] != 0:
        return
    for k in range(gearboxes.shape[0]):
        g = gearboxes[k]
        found = loss(g, wp.float64(control[world, g.control]), wp.float64(speed[world, g.dof]), h)
        if implicit == 1:
            mass[world, g.diagonal] = mass[world, g.diagonal] + wp.float32(found[1])
        passive[world, g.dof] = passive[world, g.dof] + wp.float32(found[0])


def gearboxes(model: mujoco.MjModel, device: Any = "cpu") -> wp.array | None:
    """Gearboxes with loss of a model's motors; None if there are none."""
    found = gear_data(model)
    if not found:
        return None
    table: Any = np.zeros(len(found), dtype=device_code.numpy_dtype(Gearbox))
    for row, (k, data) in zip(table, found.items(), strict=True):
        dof = model.jnt_dofadr[model.actuator_trnid[k, 0]]
        row["control"], row["dof"], row["gear"] = model.actuator_ctrladr[k], dof, model.actuator_gear[k, 0]
        row["diagonal"] = model.M_rowadr[dof] + model.M_rownnz[dof] - 1
        for name, value in data.items():
            row[name] = value
    return wp.array(table, dtype=Gearbox, device=device)
