"""Ranges in which the laws of tyres and suspensions are taken to hold."""

from __future__ import annotations

from collections.abc import Sequence

from grouser.contact.tyre.parameters import WheelUnit
from grouser.module import Limit

LOAD = 2.0  # load over nominal load: coefficients are fitted up to about twice the nominal load; assumed
SIDE_SLIP = 1.0  # tangent of the slip angle: tyres are measured up to 15 to 20 degrees, beyond 45 they scrub; assumed


def tyre_limits(name: str, wheels: Sequence[WheelUnit]) -> list[Limit]:
    """Limits of a module of tyres with this name."""
    bodies = tuple(wheel.body for wheel in wheels)
    return [
        Limit(
            "load of tyres over their nominal load", f"{name}/normal_force", bodies,
            tuple(wheel.tyre.load for wheel in wheels), LOAD, "the Magic Formula is fitted up to there",
        ),
        Limit(
            "tangent of the slip angle of tyres", f"{name}/slip_tangent", bodies, (1.0,) * len(bodies), SIDE_SLIP,
            "no tyre is measured at such angles",
        ),
        Limit(
            "travel of suspensions over their largest", f"{name}/travel", bodies,
            tuple(wheel.suspension.travel for wheel in wheels), 1.0, "only a bump stop holds the wheel there",
        ),
    ]  # fmt: skip
