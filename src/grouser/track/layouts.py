"""Layouts of wheels in the plane of a track: oval, and triangular with the sprocket on top.

x is forward, z up, and the pins of the lower run under the rollers are at z = 0. Dimensions are assumed values of a
bulldozer of the 20 t class; scale them for a smaller machine.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from grouser.track.assembly import Assembly, assemble, pin_belt
from grouser.track.parts import Link, Sprocket, TrackWheel, collared, flanged, hunting_sprocket


@dataclass(frozen=True)
class Layout:
    """Positions and kinds of the wheels of one track, and the bodies that carry them."""

    shape: Literal["oval", "triangular"] = "oval"
    link: Link = field(default_factory=Link)
    sprocket: Sprocket | None = None  # None: 25 hunting teeth for the link's pitch
    idler_radius: float = 0.34  # [m]
    roller_radius: float = 0.10  # [m]
    carrier_radius: float = 0.085  # [m]
    rollers: int = 5
    roller_spacing: float = 0.55  # [m]
    first_roller: float = 0.62  # [m] ahead of the sprocket's or rear idler's axle
    idler_x: float = 3.41  # [m] of the front idler before the chain is closed
    sprocket_lift: float = 0.05  # [m] of its lowest bushing above the rollers' pins
    idler_lift: float = 0.03  # [m]
    carriers: tuple[float, ...] = (1.15, 2.35)  # [m] x
    sprocket_height: float = 1.25  # [m] of the axle, triangular
    sprocket_x: float = 0.75  # [m], triangular
    idler_inertia: float = 14.0  # [kg m^2]
    roller_inertia: float = 0.4
    carrier_inertia: float = 0.2
    bearing_drag: float = 0.5  # [N m s]
    rail_gap: float = 0.111  # [m] half the distance between the flanges of rollers
    collar: float = 0.058  # [m] half the width of the idler's collar
    flange: float = 0.02  # [m] height of flanges and collar

    def wheels(self, bodies: dict[str, str] | None = None) -> list[TrackWheel]:
        """All wheels, sprocket first. `bodies` maps kinds to bodies. Places: assembly frame, see `mount`."""
        names = {"sprocket": "sprocket", "idler": "front_frame", "roller": "frame", "carrier": "frame"} | (bodies or {})
        link, sprocket = self.link, self.sprocket or hunting_sprocket(25, self.link.pitch, self.link.bushing_radius)
        height, pins = link.rail.height, float(np.hypot(self.idler_radius + link.rail.height, link.pitch / 2))
        wide = self.rail_gap + 0.02
        idler = {"profile": collared(self.idler_radius, self.collar, wide, self.flange), "inertia": self.idler_inertia}
        at = (0.0, sprocket.pitch_radius + self.sprocket_lift)
        if self.shape == "triangular":
            at = (self.sprocket_x, self.sprocket_height)
        wheels = [_wheel("sprocket", "sprocket", names, at, sprocket=sprocket)]
        if self.shape == "triangular":
            wheels.append(
                _wheel(
                    "rear idler", "idler", names | {"idler": names["roller"]}, (0.0, pins + self.idler_lift), **idler
                )
            )
        for k in range(self.rollers):
            x = self.first_roller + k * self.roller_spacing
            wheels.append(_wheel(
                f"roller {k + 1}", "roller", names, (x, height + self.roller_radius), inertia=self.roller_inertia,
                profile=flanged(self.roller_radius, self.rail_gap, wide, self.flange), drag=self.bearing_drag,
            ))  # fmt: skip
        wheels.append(
            _wheel("idler", "idler", names, (self.idler_x, pins + self.idler_lift), drag=self.bearing_drag, **idler)
        )
        if self.shape == "oval":
            wheels += self._carriers(wheels, names)
        return wheels

    def _carriers(self, wheels: list[TrackWheel], names: dict[str, str]) -> list[TrackWheel]:
        """Carrier rollers just below the rails of the straight upper run."""
        path = pin_belt(wheels, self.link, 0.0, len(wheels) - 1, np.array([1.0, 0.0]), self.link.pitch)
        upper = max((p for p in path.pieces if p[0] == "line"), key=lambda p: p[1][1] + p[2][1])
        out = []
        for k, x in enumerate(self.carriers):
            (x1, z1), (x2, z2) = upper[1], upper[2]
            z = z1 + (z2 - z1) * (x - x1) / (x2 - x1) - self.link.rail.height - self.carrier_radius - 0.004
            out.append(_wheel(
                f"carrier {k + 1}", "carrier", names, (x, float(z)), drag=self.bearing_drag,
                inertia=self.carrier_inertia,
                profile=flanged(self.carrier_radius, self.rail_gap, self.rail_gap + 0.02, self.flange),
            ))  # fmt: skip
        return out

    def close(
        self, bodies: dict[str, str] | None = None, *, links: int | None = 46, tension: float = 0.0,
        travel: tuple[float, float] = (-0.15, 0.15),
    ) -> tuple[list[TrackWheel], Assembly]:  # fmt: skip
        """Assemble the chain. Returns the wheels, with the idler moved to where the chain closes, and the chain."""
        wheels = self.wheels(bodies)
        chain = assemble(wheels, self.link, links=links, tension=tension, travel=travel)
        k = max((k for k, w in enumerate(wheels) if w.kind == "idler"), key=lambda k: wheels[k].centre[0])
        x, z = wheels[k].centre
        wheels[k] = replace(wheels[k], centre=(x + chain.idler_shift, z))
        return wheels, chain


def _wheel(name: str, kind, names: dict[str, str], at: tuple[float, float], **more) -> TrackWheel:
    return TrackWheel(name, kind, names[kind], (at[0], 0.0, at[1]), at, **more)


def mount(wheels: list[TrackWheel], origins: dict[str, tuple[float, float, float]]) -> tuple[TrackWheel, ...]:
    """The wheels with places in the frames of their bodies. `origins` [m] are the bodies' in the assembly's frame."""
    return tuple(
        replace(w, place=(w.centre[0] - origins[w.body][0], -origins[w.body][1], w.centre[1] - origins[w.body][2]))
        for w in wheels
    )
