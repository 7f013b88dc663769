"""Tip-over margin of a vehicle: angle by which its weight must turn to pass an edge of the support polygon."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any

import mujoco
import numpy as np

from grouser.control.drive import PERIOD
from grouser.control.wheels import Wheels, Wiring, Worlds
from grouser.module import Channel

COLLINEAR = 1e-9  # [support size] distance by which a point may lie outside an edge of the hull


def tip_over_margin(supports: np.ndarray, centre: np.ndarray, force: np.ndarray) -> float:
    """Smallest angle [rad] by which `force` would have to turn to tip the vehicle; negative if it tips.

    Force-angle measure (Papadopoulos and Rey 1996) without its weights: for each edge of the convex hull of the
    `supports` [m], (point, 3), seen along the force, the angle between the force and the line from the centre of mass
    [m], (3,) perpendicular to the edge. `force` (3,) is weight minus mass times acceleration, in any unit. NaN without
    a force or with fewer than two points; points must not coincide.
    """
    size = math.sqrt(float(force @ force))
    if size == 0 or len(supports) < 2:
        return math.nan
    x, y, z = (force / size).tolist()
    down = np.array([x, y, z])
    first, second = _pairs(len(supports))
    arms = supports - centre
    edges = arms[second] - arms[first]
    # A pair of points is an edge of the hull if no point lies to its right, seen from above.
    right = edges @ np.array([[0.0, z, -y], [-z, 0.0, x], [y, -x, 0.0]])  # down x edge
    beyond = right @ arms.T - (right * arms[first]).sum(axis=1)[:, None]
    is_edge = beyond.max(axis=1) <= COLLINEAR * float(np.abs(arms).max()) ** 2
    edges, right, arms = edges[is_edge], right[is_edge], arms[first[is_edge]]
    lengths = np.sqrt((edges * edges).sum(axis=1))
    # With l and f the parts of arm and force perpendicular to the edge e: sine e . (l x f), cosine l . f.
    sine = (right * arms).sum(axis=1) / lengths
    cosine = arms @ down - (edges * arms).sum(axis=1) * (edges @ down) / lengths**2
    return float(np.arctan2(sine, cosine).min())


@cache
def _pairs(count: int) -> tuple[np.ndarray, np.ndarray]:
    """All ordered pairs of different points."""
    first, second = np.nonzero(~np.eye(count, dtype=bool))
    return first, second


class TipOver:
    """Tip-over margin [rad] under the effective gravity: gravity minus the mean acceleration of the last period.

    The vehicle is treated as one rigid body that stands on the lowest points of all its wheels. This is not exact: a
    chassis on free bogies may tip about its pivots a little earlier, a wheel in the air carries nothing, and loads
    other than gravity, such as a towed load, are not included.
    """

    def __init__(self, wheels: Wheels, *, worlds: int = 1, period: float = PERIOD):
        self.wheels, self.period = wheels, period
        self.margin = np.full(worlds, np.nan)  # [rad]
        self.velocity = np.zeros((worlds, 3))  # [m/s] of the centre of mass at the last act
        self.time = np.full(worlds, np.nan)  # [s] of the last act
        self._worlds = Worlds(self, worlds, self._wire)

    def _wire(self, model: mujoco.MjModel) -> None:
        w = self.wheels
        self._model, self._wiring = model, Wiring(model, w.drive, w.steer, w.chassis)

    def act(self, time: float, sensors: Any, command: Any) -> None:
        world, wires = self._worlds.index(sensors), self._wiring
        body = wires.chassis
        mujoco.mj_subtreeVel(self._model, sensors)
        velocity = sensors.subtree_linvel[body]
        passed = time - self.time[world]
        gravity = self._model.opt.gravity
        pull = gravity - (velocity - self.velocity[world]) / passed if passed > 0 else gravity
        self.time[world], self.velocity[world] = time, velocity
        up = sensors.xmat[body].reshape(3, 3)[:, 2]
        contacts = sensors.xpos[wires.bodies] - self.wheels.radius * up
        self.margin[world] = tip_over_margin(contacts, sensors.subtree_com[body], pull)

    def state(self) -> dict[str, Any]:
        return {"margin": self.margin, "velocity": self.velocity, "time": self.time}

    def reset(self, worlds: Sequence[int]) -> None:
        chosen = self._worlds.check(worlds)
        self.margin[chosen], self.velocity[chosen], self.time[chosen] = np.nan, 0.0, np.nan

    def channels(self) -> list[Channel]:
        return [Channel("tip_over/margin", "rad", (), "", read=self.margin.copy)]
