"""Lugs (grousers) of a wheel as points on their tips; `points.py` has the device functions.

A lug is thinner than a cell. Its tip presses with points of its own, so it carries load before the rim touches the
soil, and without the rim on hard ground.
"""

from __future__ import annotations

import numpy as np

from grouser.contact.soil.small_shapes import SmallShape
from grouser.contact.soil.surface import Surface, place_codes

STAYS = 1e30  # [m] slip after which a lug would have left its print: it turns out of the soil before


def lug_pitch(surface: Surface) -> float:
    """Distance [m] of two lugs along the circle of their tips; infinite without lugs."""
    if not surface.grouser_count or surface.grouser_height <= 0:
        return float("inf")
    return 2 * np.pi * (rim_radius(surface) + surface.grouser_height) / surface.grouser_count


def rim_radius(surface: Surface) -> float:
    """Radius [m] of the rim of a wheel about its y axis."""
    return float(np.linalg.norm(surface.vertices[:, ::2], axis=1).max())


def lug_tips(surface: Surface, spacing: float) -> SmallShape:
    """Points on the tips of all lugs, at most one cell apart along each bar and across it."""
    height, radius = surface.grouser_height, rim_radius(surface) + surface.grouser_height
    width = float(np.ptp(surface.vertices[:, 1]))
    across, along = (max(1, int(np.ceil(size / spacing))) for size in (width, surface.grouser_width))
    y = ((np.arange(across) + 0.5) / across - 0.5) * width
    offset = ((np.arange(along) + 0.5) / along - 0.5) * surface.grouser_width / radius
    angle = 2 * np.pi * np.arange(surface.grouser_count)[:, None] / surface.grouser_count + offset
    outward = np.stack([np.cos(angle), np.zeros_like(angle), np.sin(angle)], -1).reshape(-1, 3)
    normals = np.repeat(outward, across, axis=0)
    points = radius * normals
    points[:, 1] = np.tile(y, len(outward))
    areas = normals * (surface.grouser_width / along * width / across)
    # Sort the points in space, so that the chunks of `points.py` have small bounding spheres.
    order = np.argsort(place_codes(points, points.min(axis=0), float(np.ptp(points, axis=0).max())), kind="stable")
    return SmallShape(
        points[order], areas[order], points[:1], STAYS, width, lug_height=height, lug_pitch=lug_pitch(surface),
        lug_share=surface.grouser_width / lug_pitch(surface),
    )  # fmt: skip
