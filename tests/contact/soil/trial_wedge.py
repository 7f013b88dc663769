"""Oracle of the passive force on a steep face: Coulomb's trial wedge by numerical minimisation, with side wedges.

A plate of width b pushes soil ahead of it. Every plane through its lower edge (the toe) that rises at the angle rho is
tried; the soil above the plane slides up on it, and the plane with the least force is the one that forms (Coulomb
1776). Beside the ends of the plate the plane continues as a cone about the end of the toe, of which only the part of
the force along the motion counts (McKyes 1985, chapter 3). Nothing here is shared with the package.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

GRAVITY = 9.81  # [m/s^2]
ANGLES = np.radians(np.arange(4.0, 80.0, 0.05))  # trial planes


@dataclass(frozen=True)
class Plate:
    """A plate in soil: geometry [m], angles [rad], cohesion [Pa], unit weight [N/m^3]."""

    depth: float
    width: float
    phi: float
    delta: float
    cohesion: float
    unit_weight: float
    rake: float = math.pi / 2  # between the face and the level ahead of it; below 90 degrees it faces up

    def force(self, weight: np.ndarray, area: np.ndarray) -> tuple[float, float]:
        """Horizontal force [N] and angle [rad] of the weakest plane.

        `weight` [N] of the soil above each trial plane and `area` [m^2] of each plane itself, (angle,).
        """
        reaction = ANGLES + self.phi
        lean = self.rake + self.delta + reaction
        push = (weight * np.sin(reaction) + self.cohesion * area * math.cos(self.phi)) / np.sin(lean)
        push[lean > math.pi - 1e-3] = np.inf  # steeper planes lock
        best = int(push.argmin())
        return float(push[best] * math.sin(self.rake + self.delta)), float(ANGLES[best])

    def level(self, sides: bool = True) -> float:
        """Horizontal force [N] in level ground."""
        t = np.tan(ANGLES)
        ahead = self.depth / t
        on_face = self.depth / math.tan(self.rake)
        weight = self.unit_weight * self.width * self.depth * (ahead + on_face) / 2
        plan = self.width * ahead
        if sides:  # integrals of (d - r tan rho) cos(psi) and of cos(psi) over two quarter circles
            weight = weight + self.unit_weight * self.depth * ahead**2 / 3
            plan = plan + ahead**2
        return self.force(weight, plan / np.cos(ANGLES))[0]

    def ahead(self, height: Callable[[np.ndarray, np.ndarray], np.ndarray], fine: float = 1e-3) -> float:
        """Horizontal force [N] through the actual ground ahead.

        `height(x, y)` [m] above the toe, x ahead of the toe, y from the middle of the plate. Soil that lies on a raked
        face is as high as that at the toe.
        """
        reach = 1.2
        x = np.arange(fine / 2, reach, fine)
        front = np.linspace(-0.5, 0.5, 41) * self.width
        profile = np.maximum(height(x[:, None], front[None, :]), 0.0)
        psi = (np.arange(60) + 0.5) * math.pi / 120
        sectors = []
        for side in (-1.0, 1.0):
            y = side * (self.width / 2 + x[:, None] * np.sin(psi)[None, :])
            sectors.append(height(x[:, None] * np.cos(psi)[None, :], y))
        ring = np.cos(psi)[None, :] * (math.pi / 120) * x[:, None] * fine
        at_face = float(profile[0].mean())
        weight, area = np.zeros(len(ANGLES)), np.zeros(len(ANGLES))
        for k, rho in enumerate(ANGLES):
            plane = x[:, None] * math.tan(rho)
            above = profile - plane
            # The wedge ends where the plane first comes out of the ground.
            inside = np.logical_and.accumulate(above > 0, axis=0)
            volume = float((above * inside).mean(axis=1).sum() * fine * self.width)
            plan = float(inside.mean(axis=1).sum() * fine * self.width)
            for sector in sectors:
                above = sector - plane
                inside = np.logical_and.accumulate(above > 0, axis=0)
                volume += float((above * inside * ring).sum())
                plan += float((inside * ring).sum())
            volume += self.width * at_face**2 / 2 / math.tan(self.rake)
            weight[k], area[k] = self.unit_weight * volume, plan / math.cos(rho)
        return self.force(weight, area)[0]
