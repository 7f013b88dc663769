"""How far a vehicle is from tipping over: the angle by which its weight must turn to pass an edge of its support."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import mujoco
import numpy as np

from grouser.control.drive import PERIOD
from grouser.control.wheels import Wheels, Wiring, Worlds, joint_id
from grouser.errors import InputError
from grouser.module import Channel

COLLINEAR = 1e-9  # share of the support's size by which a point may lie outside an edge and the edge still be one


def tip_over_margin(supports: np.ndarray, centre: np.ndarray, force: np.ndarray) -> float:
    """[rad]: the smallest angle by which `force` would have to turn to tip the vehicle; below 0 it tips.

    Force-angle measure (Papadopoulos and Rey 1996) without its weights: for each edge of the convex hull of the
    `supports` [m], (point, 3), seen along the force, the angle between the force and the line from the centre of mass
    [m], (3,) square to the edge. `force` (3,) is weight less mass times acceleration, in any unit. NaN without a force
    or with fewer than two points.
    """
    size = math.sqrt(float(force @ force))
    if size == 0 or len(supports) < 2:
        return math.nan
    down = force / size
    arms = supports - centre
    first, second = np.divmod(np.arange(len(arms) ** 2), len(arms))
    first, second = first[first != second], second[first != second]
    edges = arms[second] - arms[first]
    # A pair is an edge of the hull where no point lies to its right, seen from above: (e x (p - a)) . up >= 0.
    sideways = np.cross(down, edges)  # to the right of each edge, times its length
    outside = sideways @ arms.T - np.einsum("ij,ij->i", sideways, arms[first])[:, None]
    reach = float(np.abs(arms).max())
    is_edge = outside.max(axis=1) <= COLLINEAR * reach**2
    edges, arms = edges[is_edge], arms[first[is_edge]]
    lengths = np.sqrt(np.einsum("ij,ij->i", edges, edges))
    axes = edges / np.where(lengths > 0, lengths, 1.0)[:, None]
    square = arms - axes * np.einsum("ij,ij->i", axes, arms)[:, None]
    pull = down - axes * (axes @ down)[:, None]
    inside = np.einsum("ij,ij->i", axes, np.cross(square, pull))
    return float(np.arctan2(inside, np.einsum("ij,ij->i", square, pull)).min())


class TipOver:
    """Tip-over margin [rad] of a vehicle under its effective gravity (gravity less mean acceleration of a period).

    `tip_over/margin`: the vehicle as one rigid body on the lowest points of all its wheels. With `bogies`, joint names
    with the wheels they carry, also `tip_over/bogie_margin`: the chassis on its bogies, each of which, free about its
    pivot, can only carry a force through the pivot's axis, beside the middle of its wheels. The latter is what counts
    until a bogie meets its stop. Loads other than gravity, such as a towed one, are not counted.
    """

    def __init__(
        self,
        wheels: Wheels,
        bogies: Mapping[str, Sequence[int]] | None = None,
        *,
        worlds: int = 1,
        period: float = PERIOD,
    ):
        self.wheels, self.bogies, self.period = wheels, dict(bogies or {}), period
        carried = sorted(k for group in self.bogies.values() for k in group)
        if self.bogies and carried != list(range(len(wheels.drive))):
            raise InputError(
                f"TipOver: bogies carry wheels {carried}: allowed is each of 0 to {len(wheels.drive) - 1} once"
            )
        self.margin = np.full((worlds, 2), np.nan)  # [rad] rigid, on bogies
        self.velocity = np.zeros((worlds, 2, 3))  # [m/s] of the centres of mass at the last act
        self.time = np.full(worlds, np.nan)  # [s] of the last act
        self._worlds = Worlds(self, worlds, self._wire)
        self._shares = np.zeros((len(self.bogies), len(wheels.drive)))  # of each wheel in the middle of a bogie
        for row, group in zip(self._shares, self.bogies.values(), strict=True):
            row[list(group)] = 1 / len(group)

    def _wire(self, model: mujoco.MjModel) -> None:
        w = self.wheels
        self._model, self._wiring = model, Wiring(model, w.drive, w.steer, w.chassis)
        self._pivots = np.array([joint_id(model, name) for name in self.bogies], np.intp)

    def act(self, time: float, sensors: Any, command: Any) -> None:
        world, wires = self._worlds.index(sensors), self._wiring
        body = wires.chassis
        mujoco.mj_subtreeVel(self._model, sensors)
        velocity = self.velocity[world]
        before = velocity.copy()
        velocity[0] = sensors.subtree_linvel[body]
        spin, root = sensors.cvel[body], self._model.body_rootid[body]
        velocity[1] = spin[3:] + np.cross(spin[:3], sensors.xipos[body] - sensors.subtree_com[root])
        passed = time - self.time[world]
        self.time[world] = time
        gravity = self._model.opt.gravity
        pulls = gravity - (velocity - before) / passed if passed > 0 else np.tile(gravity, (2, 1))
        up = sensors.xmat[body].reshape(3, 3)[:, 2]
        contacts = sensors.xpos[wires.bodies] - self.wheels.radius * up
        self.margin[world, 0] = tip_over_margin(contacts, sensors.subtree_com[body], pulls[0])
        if self.bogies:
            anchors, axes = sensors.xanchor[self._pivots], sensors.xaxis[self._pivots]
            beside = np.einsum("ij,ij->i", self._shares @ contacts - anchors, axes)
            supports = anchors + beside[:, None] * axes
            self.margin[world, 1] = tip_over_margin(supports, sensors.xipos[body], pulls[1])

    def state(self) -> dict[str, Any]:
        return {"margin": self.margin, "velocity": self.velocity, "time": self.time}

    def reset(self, worlds: Sequence[int]) -> None:
        chosen = self._worlds.check(worlds)
        self.margin[chosen], self.velocity[chosen], self.time[chosen] = np.nan, 0.0, np.nan

    def channels(self) -> list[Channel]:
        out = [Channel("tip_over/margin", "rad", (), "", read=lambda: self.margin[:, 0].copy())]
        if self.bogies:
            out.append(Channel("tip_over/bogie_margin", "rad", (), "", read=lambda: self.margin[:, 1].copy()))
        return out
