"""Steering geometry: angle and rolling speed of every wheel from the twist of a chassis.

A twist is (vx, vy, wz): velocity [m/s] of the chassis origin and turn rate [rad/s], chassis axes (x forward, y left).
A wheel rolls without side slip if its axle points at the instantaneous centre of rotation, that is if the wheel is
aligned with the velocity u = v + wz x p of its steering axis at p. Ackermann steering, crab, point turns and all
combinations of them are twists.
"""

from __future__ import annotations

import math

import numpy as np

STANDSTILL = 1e-9  # [m/s] speed below which a wheel has no direction to steer to
ROUND_OFF = 1e-12  # [rad] by which an angle may exceed its limit

Twist = tuple[float, float, float]


def ackermann(speed: float, curvature: float, axle: float = 0.0) -> Twist:
    """Twist of a chassis whose point (axle, 0) moves forward at `speed` [m/s] on an arc of `curvature` [1/m].

    The centre of rotation is (axle, 1/curvature), on the line of an axle that cannot be steered.
    """
    turn = speed * curvature
    return speed, -turn * axle, turn


def crab(speed: float, direction: float) -> Twist:
    """Twist with all wheels parallel: `speed` [m/s] in `direction` [rad] from straight ahead, heading unchanged."""
    return speed * math.cos(direction), speed * math.sin(direction), 0.0


def point_turn(rate: float, centre: tuple[float, float] = (0.0, 0.0)) -> Twist:
    """Twist of a turn at `rate` [rad/s] about a point [m] of the chassis, which stays in place."""
    return rate * centre[1], -rate * centre[0], rate


def centre_of_rotation(twist: Twist) -> tuple[float, float]:
    """Centre of rotation [m] in chassis axes. Without a turn it is infinitely far to the side."""
    vx, vy, wz = twist
    if wz == 0:
        return (-math.copysign(math.inf, vy) if vy else 0.0, math.copysign(math.inf, vx) if vx else 0.0)
    return -vy / wz, vx / wz


def wheel_velocities(twist: Twist, positions: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """Velocities u = v + wz x p [m/s], (wheel, 2) of the steering axes at `positions` [m], (wheel, 2)."""
    vx, vy, wz = twist
    out = np.empty(positions.shape) if out is None else out
    np.multiply(positions[:, 1], -wz, out=out[:, 0])
    np.multiply(positions[:, 0], wz, out=out[:, 1])
    out[:, 0] += vx
    out[:, 1] += vy
    return out


def steer_angles(velocities: np.ndarray, present: np.ndarray, limits: np.ndarray) -> np.ndarray:
    """Steering angles [rad], (wheel,) along the velocity or opposite to it (the wheel then rolls backwards).

    If both angles are within [-limit, limit], the one closer to the `present` angle is used. If neither is, the limit
    closest to either of them is used. A wheel at the centre of rotation keeps its angle.
    """
    along = np.arctan2(velocities[:, 1], velocities[:, 0])
    against = along - np.copysign(np.pi, along)
    fits, fits_backwards = np.abs(along) <= limits + ROUND_OFF, np.abs(against) <= limits + ROUND_OFF
    nearer = np.abs(against - present) < np.abs(along - present)
    less_beyond = np.abs(against) < np.abs(along)
    backwards = np.where(fits == fits_backwards, np.where(fits, nearer, less_beyond), fits_backwards)
    stands = (velocities * velocities).sum(axis=1) < STANDSTILL**2
    return np.clip(np.where(stands, present, np.where(backwards, against, along)), -limits, limits)


def rolling_speeds(velocities: np.ndarray, angles: np.ndarray) -> np.ndarray:
    """Rolling speeds u . (cos, sin) [m/s], (wheel,) of wheels at these angles [rad]."""
    return velocities[:, 0] * np.cos(angles) + velocities[:, 1] * np.sin(angles)


def sharpest_curvature(positions: np.ndarray, limits: np.ndarray, axle: float = 0.0) -> float:
    """Largest curvature [1/m] of `ackermann` at which no steered wheel exceeds its limit.

    tan(angle) = curvature (x - axle) / (1 - curvature y) on the inner side.
    """
    steered = limits > 0
    if not steered.any():
        return math.inf
    x, y = np.abs(positions[steered, 0] - axle), np.abs(positions[steered, 1])
    # With a limit above 90 degrees the centre of rotation may be as near as the wheel itself.
    slant = np.tan(np.minimum(limits[steered], np.pi / 2))
    nearest = float(np.max(x / slant + y))
    return 1 / nearest if nearest > 0 else math.inf
