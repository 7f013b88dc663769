"""What a wheel does at slips that were not measured: by the law alone, and with the deviation that measured slips show.

Where the law deviates, its deviation at measured slips says what it is in between (Kennedy and O'Hagan 2001): the
prediction with deviation is the better one there. It holds for this wheel in this soil only; a soil file has the law
alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from grouser.identification.data import WheelTest
from grouser.identification.emulator import Emulator, predicted_curve
from grouser.identification.posterior import Posterior

Band = tuple[float, float, float]  # 5 %, median and 95 % of a new measurement, SI


@dataclass(frozen=True)
class Prediction:
    """One quantity of a wheel at one slip of `predict_slip`."""

    test: str
    quantity: str
    unit: str
    slip: float
    law: Band
    with_deviation: Band


def predictions(
    found: Posterior, wheels: Mapping[str, WheelTest], emulators: Mapping[str, Emulator]
) -> list[Prediction]:
    """Predictions of all wheels at their `predict_slip`."""
    curves, rows = {curve.name: curve for curve in found.likelihood.curves}, []
    for name, test in wheels.items():
        if not test.predict_slip:
            continue
        emulator = next(one for one in emulators.values() if name in one.tests)
        for quantity in test.quantities:
            fitted = curves[f"wheels.{name}.{quantity}"]
            curve = predicted_curve(fitted, quantity, test, emulator)
            bands = zip(test.predict_slip, found.band(curve).T, found.held_back(fitted, curve).T, strict=True)
            rows += [
                Prediction(name, quantity, curve.unit, slip, _band(law), _band(deviating))
                for slip, law, deviating in bands
            ]
    return rows


def _band(quantiles: np.ndarray) -> Band:
    low, median, high = (float(one) for one in quantiles)
    return low, median, high
