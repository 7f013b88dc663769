"""Rolling or stepping: speeds and torques of a wheel-stepping drive at rest or in steady motion.

Stadukhin 2016 describes the behaviour in words; the balances are our own (docs/theory/wheel-walker.md).
Symbols: i ratio, r wheel radius, R arm, a = R sqrt(3)/2, H = R/2 + r height of the hubs, L wheelbase, T torque of each
motor at its sun, V load on a hub. Wheels are treated as round, and all four motors have the same torque.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from grouser.robots.wheel_walker import WheelWalker

LARGEST_FRICTION = 1.0  # largest friction for which wall and floor both slip at the limit


@dataclass(frozen=True)
class Lengths:
    """Lengths [m] of one drive and the hull."""

    r: float
    arm: float
    a: float  # hub to axle of a standing wheel, along x
    hub: float  # H

    @staticmethod
    def of(p: WheelWalker) -> Lengths:
        return Lengths(p.wheel_radius, p.arm, p.arm * math.sqrt(3) / 2, p.arm / 2 + p.wheel_radius)


def wheel_speed(p: WheelWalker, sun: float, carrier: float) -> float:
    """Speed [rad/s] of a wheel relative to its carrier, from sun and carrier relative to the hull: (w_s - w_c) / i."""
    return (sun - carrier) / p.ratio


def stepping_sun_speed(p: WheelWalker, carrier: float) -> float:
    """Speed [rad/s] of the sun while the wheels stand still and the carrier turns: (1 - i) w_c."""
    return (1 - p.ratio) * carrier


def resting_loads(p: WheelWalker, gravity: float) -> tuple[float, float]:
    """Loads [N] on a front and a rear hub at rest with motors off."""
    mean, shift = p.mass * gravity / 4, 2 * p.centre_x / p.wheelbase
    return mean * (1 + shift), mean * (1 - shift)


def flat_limit(p: WheelWalker, gravity: float = 9.81) -> float:
    """Torque T [N m] at which the front carriers tip forward on level ground; inf if they cannot.

    The traction i T / r acts a height H below the hub against T: T (1 - i H/r) = a V. The motors' reaction on the hull
    unloads the front hubs: V = V_0 - 2 T/L. The wheels must grip: see `flat_friction`.
    """
    s, front = Lengths.of(p), resting_loads(p, gravity)[0]
    tipping = 1 - p.ratio * s.hub / s.r + 2 * s.a / p.wheelbase
    return s.a * front / tipping if tipping > 0 else math.inf


def flat_friction(p: WheelWalker) -> float:
    """Least friction at which a drive can tip forward on level ground: mu (r/i - H) = a; inf if none is enough."""
    s = Lengths.of(p)
    lever = s.r / p.ratio - s.hub
    return s.a / lever if lever > 0 else math.inf


def wall_limit(p: WheelWalker, gravity: float = 9.81) -> float:
    """Torque T [N m] at which the front drives, blocked by a wall, begin to step; inf if they cannot.

    Moments about the hub when the rear wheel just lifts off: T (1 - i) + R F/2 = a V, with the push F = i T / r of the
    rear drive and V = V_0 - 2 T/L. Friction at the wall cancels, because it turns the wheel as traction on the floor
    does.
    """
    s, front = Lengths.of(p), resting_loads(p, gravity)[0]
    stepping = 1 - p.ratio + p.ratio * s.arm / (2 * s.r) + 2 * s.a / p.wheelbase
    return s.a * front / stepping if stepping > 0 else math.inf


def wall_friction(p: WheelWalker, gravity: float = 9.81) -> float:
    """Least friction at which blocked front drives step, however strong the motors; inf if none is enough."""
    low, high = 0.0, LARGEST_FRICTION
    if _wall_excess(p, gravity, high) < 0:
        return math.inf
    while high - low > 1e-9:
        middle = (low + high) / 2
        low, high = (middle, high) if _wall_excess(p, gravity, middle) < 0 else (low, middle)
    return high


def _wall_excess(p: WheelWalker, gravity: float, mu: float) -> float:
    """Excess torque [N m] for stepping at a wall when all wheels slip; positive if the drive steps.

    Floor X = mu (V - Q) and wall Q = mu (X + F) on the front drive give X + Q = g V + e F; rear drives push F = mu V_r.
    """
    s, (front, rear) = Lengths.of(p), resting_loads(p, gravity)
    share = mu / (1 + mu * mu)
    g, e = mu + (1 - mu) * share * mu, (1 - mu) * share
    lever = s.r / p.ratio
    # Loads V_f, V_r and torques T_f = lever (g V_f + e mu V_r), T_r = lever mu V_r; V_f = front - (T_f + T_r)/L.
    pull = np.array([lever * g, lever * (e * mu + mu)]) / p.wheelbase
    matrix = np.eye(2) + np.array([pull, -pull])
    load_front, load_rear = np.linalg.solve(matrix, [front, rear])
    torque = lever * (g * load_front + e * mu * load_rear)
    return float(torque * (1 - p.ratio) + s.arm * mu * load_rear / 2 - s.a * load_front)
