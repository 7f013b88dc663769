"""Laws of Krenn et al. 2008 and Krenn and Hirzinger 2009 as printed, where the default laws of laws.py differ.

Pure functions of scalars and vectors, with the symbols of the papers. `docs/theory/soil.md`, "The papers' own laws",
says how they are read where they leave something open.
"""

from __future__ import annotations

import warp as wp

from grouser.precision import real, vec3


@wp.func
def soil_normal(east: real, west: real, north: real, south: real, cell: real):
    """Area normal n = dZ/dx x dZ/dy [m^2] of the soil at a node, from the heights [m] of its neighbours.

    Its length is the inclined area of a cell. Krenn et al. 2008, eq. 12-13.
    """
    half = real(0.5) * cell
    return vec3(half * (west - east), half * (south - north), cell * cell)


@wp.func
def friction_stress(p: real, cohesion: real, tan_phi: real):
    """Shear stress [Pa] of a surface that slides: c + p tan(phi), Krenn and Hirzinger 2009, eq. 5.

    With c = 0 and mu for tan(phi) it is Krenn et al. 2008, eq. 19.
    """
    return cohesion + p * tan_phi


@wp.func
def distance_weight(dx: real, dy: real):
    """Weight 1/d^2 of a border node at the distance d [cells]. Krenn et al. 2008, eq. 24; 2009, eq. 9."""
    return real(1.0) / (dx * dx + dy * dy)


@wp.func
def direction_weight(dx: real, dy: real, v: vec3, m: real):
    """Weight (cos alpha)^m of a border node, 0 behind; alpha is the angle between d and v in plan view.

    Krenn and Hirzinger 2009, eq. 10. A velocity without a horizontal part gives 0 everywhere.
    """
    along = dx * v[0] + dy * v[1]
    if along <= real(0.0):
        return real(0.0)
    speed_2 = v[0] * v[0] + v[1] * v[1]
    return wp.pow(along / wp.sqrt((dx * dx + dy * dy) * speed_2), m)


@wp.func
def sinkage_share(v: vec3, normal: vec3):
    """Share of the displaced soil that is due to sinkage, v_Nz^2 / v^2; the rest is bulldozing and shear.

    Krenn and Hirzinger 2009, eq. 6-8. `normal` need not be a unit vector. 1 for a body at rest.
    """
    speed_2 = wp.dot(v, v)
    if speed_2 == real(0.0):
        return real(1.0)
    down = wp.dot(v, normal) / wp.dot(normal, normal) * normal[2]
    return down * down / speed_2


@wp.func
def eroded_height(steepest: real, limit: real):
    """Height [m] that a node loses in a sweep: half of what its largest fall exceeds the limit dx tan(phi) by.

    Krenn et al. 2008, eq. 26-28; Krenn and Hirzinger 2009, eq. 11-12.
    """
    return real(0.5) * wp.max(steepest - limit, real(0.0))
