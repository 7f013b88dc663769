"""Draught of a blade in soil: Coulomb's trial wedge with side wedges, in level ground and through given heights.

A blade of width b, depth D and rake alpha pushes the soil above a plane that rises from its lower edge (the toe) at the
angle rho. Coulomb 1776 and McKyes 1985, chapter 3: of all planes the one with the least push P forms,

    P = [W sin(rho + phi) + c A cos(phi)] / sin(alpha + delta + rho + phi)
    draught = P sin(alpha + delta),  lift = -P cos(alpha + delta)

with the weight W of the wedge, the area A of the plane and the wall friction angle delta. Beside the ends of the blade
the plane continues as a cone about the end of the toe, of which the part cos(psi) along the motion counts. In level
ground, with the length L = D cot(rho) of the wedge:

    W = g density [b D (L + D cot(alpha))/2 + D L^2/3],  A cos(rho) = b L + L^2
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from grouser.errors import InputError
from grouser.terrain.soils import Soil

PLANES = np.radians(np.arange(4.0, 80.0, 0.1))  # trial planes; halving their distance changes forces by less than 1e-5
COARSE = 10  # through given heights every so many planes are tried first, then all those around the best
STRIPS, RAYS = 41, 60  # across the blade and around each of its ends
REACH = 2.5  # [m] soil farther ahead of the toe is left out

Height = Callable[[np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class BladeForce:
    """Results of the theory."""

    draught: float  # [N] against the motion
    lift: float  # [N] upwards
    plane_deg: float  # [deg] slope of the slip plane


def lift_ratio(soil: Soil, rake_deg: float) -> float:
    """Lift over draught: the soil rises along the face and pushes on it at the angle delta to its normal."""
    return -1 / math.tan(math.radians(rake_deg + soil.wall_angle_deg))


def level_draught(soil: Soil, *, width: float, depth: float, rake_deg: float = 90.0, gravity: float = 9.81,
                  sides: bool = True) -> BladeForce:  # fmt: skip
    """Force in level ground. `width` and `depth` in m; `sides` false: without side wedges, as for a very wide blade."""
    length = depth / np.tan(PLANES)
    volume = width * depth * (length + depth / math.tan(math.radians(rake_deg))) / 2
    plan = width * length
    if sides:
        volume, plan = volume + depth * length**2 / 3, plan + length**2
    return _weakest(soil, PLANES, volume, plan, rake_deg, gravity)


def draught_through(soil: Soil, height: Height, *, width: float, rake_deg: float = 90.0, gravity: float = 9.81,
                    fine: float = 2e-3) -> BladeForce:  # fmt: skip
    """Force through the actual heights ahead of a blade.

    `height(ahead, across)` [m] of the ground above the toe, with `ahead` [m] from the toe and `across` [m] from the
    middle of the blade. Soil on a raked face is as high as that at the toe. `fine` [m] is the step of the integrals.
    """
    r = np.arange(fine / 2, REACH, fine)[:, None]
    strip = np.linspace(-0.5, 0.5, STRIPS)[None, :] * width
    psi = ((np.arange(RAYS) + 0.5) * math.pi / 2 / RAYS)[None, :]
    ring = np.cos(psi) * (math.pi / 2 / RAYS) * r * fine
    ends = [(r * np.cos(psi), side * (width / 2 + r * np.sin(psi))) for side in (-1.0, 1.0)]
    columns = np.concatenate([height(*np.broadcast_arrays(r, strip)), *(height(*end) for end in ends)], axis=1)
    areas = np.concatenate([np.full((len(r), STRIPS), fine * width / STRIPS), ring, ring], axis=1)
    on_face = width * float(columns[0, :STRIPS].mean()) ** 2 / 2 / math.tan(math.radians(rake_deg))

    def weakest(planes: np.ndarray) -> BladeForce:
        volume, plan = np.full(len(planes), on_face), np.zeros(len(planes))
        for k, rho in enumerate(planes):
            above = columns - r * math.tan(rho)
            inside = np.logical_and.accumulate(above > 0, axis=0)  # the wedge ends where the plane comes out first
            volume[k] += float((above * areas)[inside].sum())
            plan[k] = float(areas[inside].sum())
        return _weakest(soil, planes, volume, plan, rake_deg, gravity)

    about = math.radians(weakest(PLANES[::COARSE]).plane_deg)
    return weakest(PLANES[np.abs(PLANES - about) < COARSE * (PLANES[1] - PLANES[0])])


def _weakest(soil: Soil, planes: np.ndarray, volume: np.ndarray, plan: np.ndarray, rake_deg: float,
             gravity: float) -> BladeForce:  # fmt: skip
    """Force of the plane with the least push. `volume` [m^3] above each trial plane, `plan` [m^2] of it from above."""
    phi, wall = math.radians(soil.friction_angle_deg), math.radians(rake_deg + soil.wall_angle_deg)
    slides = wall + phi + planes < math.pi - 1e-3  # steeper planes lock
    if not slides.any():
        raise InputError(f"rake: {rake_deg:g} degrees: no wedge can slide; allowed is a smaller rake or wall friction")
    rho = planes[slides]
    cohesion = soil.cohesion * (plan[slides] / np.cos(rho)) * math.cos(phi)
    weight = soil.density * gravity * volume[slides]
    push = (weight * np.sin(rho + phi) + cohesion) / np.sin(wall + rho + phi)
    best = int(push.argmin())
    return BladeForce(float(push[best] * math.sin(wall)), float(-push[best] * math.cos(wall)), math.degrees(rho[best]))
