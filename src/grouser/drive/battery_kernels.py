"""Kernel that limits the torques of motors to what their battery can deliver."""

from __future__ import annotations

import warp as wp

from grouser import device
from grouser.device import array, array2d, struct
from grouser.precision import real

MODULE = device.module("grouser.drive.battery")


@struct
class MotorData:
    """A motor on its actuator."""

    actuator: int
    dof: int  # of the wheel
    gear: real
    constant: real  # [N m/A] K
    resistance: real  # [ohm] R
    current_limit: real  # [A]


@struct
class Pack:
    """A battery and its motors (constants, written by the host) and their state, written by `share`."""

    motors: array[MotorData]
    voltage: real  # [V] U, open circuit
    resistance: real  # [ohm] R
    power_limit: real  # [W]
    recovers: wp.bool  # whether braking motors charge it
    period: real  # [s]
    current: array2d[real]  # [A], (world, motor)
    power: array2d[real]  # [W], (world, motor) electric
    total: array[real]  # [A], (world,) of the battery
    sum: array[real]  # [W], (world,) of all motors
    energy: array[real]  # [J], (world,) taken from the terminals
    charge: array[real]  # [C], (world,) left
    scale: array[real]  # (world,) factor on the currents of motors that draw


@wp.func
def battery_current(power: real, voltage: real, resistance: real):
    """Current [A] at which the terminals deliver `power` [W]: smaller root of P = (U - R I) I; negative if charging."""
    if resistance == real(0.0):
        return power / voltage
    root = voltage * voltage - real(4.0) * resistance * power
    return (voltage - wp.sqrt(wp.max(root, real(0.0)))) / (real(2.0) * resistance)


@wp.func
def shaft_power(m: MotorData, speed: real, current: real):
    """Mechanical power K w i [W] of the motor shaft. `speed` [rad/s] of the wheel."""
    return m.constant * m.gear * speed * current


@wp.func
def current_scale(p: Pack, world: int, speeds: array[real]):
    """Factor s on the currents of drawing motors at which sum(s K w i + s^2 R i^2) is within the limit.

    A motor with a reduced current may start to generate. It is then left out, and the others get less.
    """
    scale = real(1.0)
    for _ in range(p.motors.shape[0]):
        linear = real(0.0)
        square = real(0.0)
        for k in range(p.motors.shape[0]):
            m = p.motors[k]
            i = p.current[world, k]
            a = shaft_power(m, speeds[m.dof], i)
            b = m.resistance * i * i
            if a + b > real(0.0) and a + scale * b > real(0.0):
                linear += a
                square += b
        if scale * linear + scale * scale * square <= p.power_limit:
            break
        root = wp.sqrt(linear * linear + real(4.0) * square * p.power_limit)
        scale = real(2.0) * p.power_limit / (linear + root)
    return scale


@wp.kernel(module=MODULE)
def share(p: Pack, world: int, speeds: array[real], command: array[real]):
    """Limit the wanted torques in `command` [N m], (actuator,) to what the battery allows."""
    # The terminal voltage drops with the battery's last current. It drives each motor against its back-EMF.
    voltage = p.voltage - p.resistance * p.total[world]
    for k in range(p.motors.shape[0]):
        m = p.motors[k]
        induced = m.constant * m.gear * speeds[m.dof]
        low = wp.max(-m.current_limit, (-voltage - induced) / m.resistance)
        high = wp.min(m.current_limit, (voltage - induced) / m.resistance)
        p.current[world, k] = wp.min(wp.max(command[m.actuator] / m.constant, low), high)
    scale = real(0.0)  # an empty battery delivers nothing
    if p.charge[world] > real(0.0):
        scale = current_scale(p, world, speeds)
    total = real(0.0)
    every = real(0.0)
    for k in range(p.motors.shape[0]):
        m = p.motors[k]
        i = p.current[world, k]
        linear = shaft_power(m, speeds[m.dof], i)
        square = m.resistance * i * i
        factor = wp.where(linear + square > real(0.0), scale, real(1.0))
        power = factor * linear + factor * factor * square
        command[m.actuator] = factor * i * m.constant
        p.current[world, k] = factor * i
        p.power[world, k] = power
        every += power
        if power > real(0.0) or p.recovers:
            total += power
    current = battery_current(total, p.voltage, p.resistance)
    p.scale[world] = scale
    p.total[world] = current
    p.sum[world] = every
    p.energy[world] = p.energy[world] + total * p.period
    p.charge[world] = wp.max(p.charge[world] - current * p.period, real(0.0))
