"""Writes an identified soil as a soil file: mean, covariance and draws, which every scenario takes as `soil.file`."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from grouser.files import write_atomically
from grouser.identification.constants import LOGARITHMIC
from grouser.identification.posterior import Posterior
from grouser.terrain.soil_uncertainty import LN
from grouser.terrain.soils import RANGES

DRAWS = 200  # draws of the posterior in the file
DIGITS = 6  # significant digits of draws and covariances


def write_soil(posterior: Posterior, name: str, file: Path) -> Path:
    """Write the soil with its uncertainty."""
    soil = posterior.soil(name)
    scales = [f"{LN}{one}" if one in LOGARITHMIC else one for one in posterior.prior.names]
    chosen = np.linspace(0, len(posterior.scaled) - 1, DRAWS).astype(int)
    # A chain keeps walkers side by side: shuffled, any few rows of the file are a fair sample.
    rows = np.random.default_rng(0).permutation(posterior.scaled)[chosen]
    lines = ["# Identified by `grouser identify`. The constants are means, of logarithms where `uncertainty` says ln.",
             f'"{name}":']  # fmt: skip
    for field in RANGES:
        value = getattr(soil, field)
        if value is not None:
            lines.append(f"  {field}: {_number(value)}")
    lines.append("  sources:")
    lines += [f'    {field}: "{text}"' for field, text in soil.sources.items()]
    lines += ["  uncertainty:", f"    constants: [{', '.join(scales)}]", "    covariance:"]
    lines += [f"      - [{', '.join(map(_number, row))}]" for row in posterior.covariance]
    lines.append("    draws:")
    lines += [f"      - [{', '.join(map(_number, row))}]" for row in rows]
    return write_atomically(file, "\n".join(lines) + "\n")


def _number(value: float) -> str:
    """Text of a number that every YAML reader takes for one: 1.0e-05 has a point and a sign."""
    text = f"{value:.{DIGITS}g}"
    if "e" in text:
        digits, power = text.split("e")
        return f"{digits if '.' in digits else digits + '.0'}e{int(power):+03d}"
    return text if math.isfinite(value) else "0"
