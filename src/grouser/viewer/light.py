"""The light of pages and films: direction of the sun, shade of the ground, colours that come out as they are meant.

The page lets the ground shine by itself with colours that are lit here, because viser replaces the normals of a mesh by
its own, which break at the edges of patches. It then shows a linear colour c as ACES(c / 0.6); `before_aces` inverts
this (three.js, ACESFilmicToneMapping: Hill's fit of the ACES RRT and ODT).
"""

from __future__ import annotations

import numpy as np

from grouser.viewer.colours import linear

SUN = np.array([-0.4, -0.3, 0.85]) / np.linalg.norm([-0.4, -0.3, 0.85])  # towards the sun
SHADED = 0.45  # shade of ground that the sun does not reach, of that of level ground
BRIGHTEST = 1.3  # largest shade: faces towards the sun
HORIZON, ZENITH = (0.815, 0.86, 0.905), (0.70, 0.77, 0.84)  # sRGB of the sky, as films have it
WHITEST = 0.97  # largest share of white that is inverted: ACES never reaches white

INPUT = np.array([[0.59719, 0.35458, 0.04823], [0.07600, 0.90834, 0.01566], [0.02840, 0.13383, 0.83777]])
OUTPUT = np.array([[1.60475, -0.53108, -0.07367], [-0.10208, 1.10813, -0.00605], [-0.00327, -0.07276, 1.07602]])
EXPOSURE = 1 / 0.6


def shade(normals: np.ndarray) -> np.ndarray:
    """Brightness (…,) of ground with unit normals (…, 3): 1 for level ground, Lambert's law for the part of the sun."""
    facing = np.maximum(normals @ SUN, 0) / SUN[2]
    return np.minimum(SHADED + (1 - SHADED) * facing, BRIGHTEST)


def before_aces(colour: np.ndarray) -> np.ndarray:
    """Linear colour (…, 3) that the page shows as the sRGB colour (…, 3)."""
    shown = np.maximum(linear(np.clip(colour, 0, WHITEST)) @ np.linalg.inv(OUTPUT).T, 0)
    # shown = (v (v + 0.0245786) - 0.000090537) / (v (0.983729 v + 0.4329510) + 0.238081), solved for v
    a, b, c = 1 - 0.983729 * shown, 0.0245786 - 0.4329510 * shown, -0.000090537 - 0.238081 * shown
    a = np.maximum(a, 1e-3)
    v = (-b + np.sqrt(np.maximum(b * b - 4 * a * c, 0))) / (2 * a)
    return np.maximum(v @ np.linalg.inv(INPUT).T, 0) / EXPOSURE


def aces(colour: np.ndarray) -> np.ndarray:
    """Linear colour on the screen, (…, 3), of a linear colour in the scene."""
    v = (colour * EXPOSURE) @ INPUT.T
    fitted = (v * (v + 0.0245786) - 0.000090537) / (v * (0.983729 * v + 0.4329510) + 0.238081)
    return np.clip(fitted @ OUTPUT.T, 0, 1)
