"""Colours of the ground by height, by sinkage, or by the contact pressure that last compacted it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

FIELDS = ("sinkage", "height", "pressure", "plain")
UNITS = {"sinkage": "m", "height": "m", "pressure": "kPa", "plain": ""}
SAND = (0.80, 0.67, 0.48)
# Colour stops from 0 to 1, sRGB. Sinkage: sunk ground is dark, unchanged ground sand-coloured, raised ground light.
STOPS: Mapping[str, tuple[tuple[float, float, float], ...]] = {
    "sinkage": ((0.93, 0.84, 0.67), SAND, (0.60, 0.43, 0.28), (0.40, 0.25, 0.16), (0.22, 0.11, 0.08)),
    "height": ((0.24, 0.28, 0.42), (0.33, 0.50, 0.50), (0.66, 0.66, 0.47), (0.85, 0.70, 0.50), (0.97, 0.94, 0.88)),
    "pressure": (SAND, (0.90, 0.60, 0.28), (0.82, 0.28, 0.22), (0.52, 0.08, 0.32), (0.20, 0.03, 0.30)),
    "plain": (SAND, SAND),
}


class Scale(NamedTuple):
    """A field and the range of values that its colours span."""

    field: str
    low: float
    high: float

    def share(self, values: np.ndarray) -> np.ndarray:
        return np.clip((values - self.low) / max(self.high - self.low, 1e-12), 0, 1)


def srgb(field: str, share: np.ndarray) -> np.ndarray:
    """sRGB colours (…, 3), 0 to 1, of a field at positions `share` (0 to 1) of its colour scale."""
    stops = np.array(STOPS[field])
    at = np.linspace(0, 1, len(stops))
    return np.stack([np.interp(share, at, stops[:, k]) for k in range(3)], axis=-1)


def linear(colour: np.ndarray) -> np.ndarray:
    """Convert sRGB to linear light, which glTF requires for vertex colours (IEC 61966-2-1)."""
    return np.where(colour <= 0.04045, colour / 12.92, ((colour + 0.055) / 1.055) ** 2.4)


def legend(scale: Scale) -> str:
    """Colour bar with labelled ends, as HTML."""
    if scale.field == "plain":
        return ""
    stops = ", ".join(f"rgb({', '.join(str(round(255 * part)) for part in colour)})" for colour in STOPS[scale.field])
    unit = UNITS[scale.field]
    return (
        f'<div style="margin:4px 12px;font-size:11px"><div style="height:10px;border-radius:3px;background:'
        f'linear-gradient(to right, {stops})"></div><div style="display:flex;justify-content:space-between">'
        f"<span>{scale.low:.3g} {unit}</span><span>{scale.field}</span><span>{scale.high:.3g} {unit}</span></div></div>"
    )
