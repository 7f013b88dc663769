"""Range in which the pressure of soil under shoes is taken to hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from grouser.module import Limit
from grouser.track.ground import FlatGround, GridGround, MeshGround, SoilGround, Terrain
from grouser.track.parts import SoilValues

DEEP = 1.0  # sinkage of a shoe over its smaller side; plates of tests do not go deeper than they are wide; assumed


def track_limits(name: str, tracks: Sequence[Any], ground: Terrain | None) -> list[Limit]:
    """Limits of a module of tracks with this name: the pressure [Pa] at which a shoe would be DEEP."""
    found = []
    for track in tracks:
        links = len(track.assembly.position)
        scale = _pressure(ground, DEEP * min(track.link.pitch, track.link.shoe.width), track.link)
        found.append(
            Limit(
                f"pressure under shoes over that at which they sink as deep as they are wide, {track.name}",
                f"{name}/{track.name}/shoe_pressure", tuple(f"link {n}" for n in range(links)), (scale,) * links, 1.0,
                "plates that sink deeper than they are wide have not been compared",
            )
        )  # fmt: skip
    return found


def _pressure(ground: Terrain | None, depth: float, link: Any) -> float:
    """Pressure [Pa] of the softest soil of the ground at a sinkage [m] of a shoe."""
    if isinstance(ground, SoilGround):
        soil = ground.ground.soils[0]
        return soil.pressure_modulus(min(link.pitch, link.shoe.width)) * depth**soil.n
    soils = ground.soil if isinstance(ground, FlatGround | GridGround | MeshGround) else SoilValues()
    return depth * min(one.stiffness for one in (soils if isinstance(soils, tuple) else (soils,)))
