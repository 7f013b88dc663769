"""Range in which the law of elastic layers is taken to hold."""

from __future__ import annotations

from collections.abc import Sequence

from grouser.module import Limit

STRAIN = 0.2  # penetration over the thickness of both layers up to which they are taken as linear; assumed


def pair_limits(name: str, labels: Sequence[str], thicknesses: Sequence[float]) -> list[Limit]:
    """Limits of a module of pairs with these labels, and the thickness [m] of both layers of each."""
    if not labels:
        return []
    reason = "layers are taken as linear: real ones stiffen when they are compressed that much"
    quantity = f"penetration over the thickness of the layers, {name}"
    return [Limit(quantity, f"{name}/penetration", tuple(labels), tuple(thicknesses), STRAIN, reason)]
