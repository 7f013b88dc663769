"""Roughness below the resolution of an elevation model.

An elevation model with nodes metres apart shows nothing shorter than two of its spacings. A rover feels what is
missing. `roughened` makes a finer grid: a smooth surface through the nodes of the model, plus random waves that are
shorter than the model can show. They follow the law of natural surfaces over short distances (Shepard et al. 2001,
"The roughness of natural terrain", J. Geophys. Res. 106 E12, RMS deviation and Hurst exponent):

    nu(d) = sqrt(<(z(x + d) - z(x))^2>) = nu_1 (d / 1 m)^H

By default nu_1 and H are those of the model itself between one and four of its spacings, so that its own law goes on.
Such an extrapolation is rather a lower bound of the true roughness (Campbell et al. 2003, "Limits on inference of Mars
small-scale topography from MOLA data", Geophys. Res. Lett. 30). A smooth model, as made by matching of stereo images,
needs values that are known from elsewhere.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from grouser.errors import InputError
from grouser.terrain import checks
from grouser.terrain.elevation import ElevationGrid
from grouser.terrain.gridding import check_node_count

LAGS = (1, 2, 3, 4)  # spacings of an elevation model over which its roughness is measured
FLATTEST = 1e-9  # [m] deviation below which an elevation model has no roughness
HURST = (0.05, 0.95)  # smallest and largest exponent that a measured one is clipped to: beyond it no surface is known


@dataclass(frozen=True)
class Roughness:
    """RMS deviation nu(d) = deviation * (d / 1 m)^hurst of heights that are d [m] apart."""

    deviation: float  # [m] at 1 m
    hurst: float

    def __post_init__(self):
        checks.number(self.deviation, "roughness: deviation", at_least=0.0)
        checks.number(self.hurst, "roughness: hurst", at_least=HURST[0], at_most=HURST[1])

    def at(self, distance: float) -> float:
        """RMS deviation [m] at a distance [m]."""
        return self.deviation * distance**self.hurst

    def spectrum(self, wave_number: np.ndarray) -> np.ndarray:
        """Power spectral density [m^4] at wave numbers [rad/m] of the isotropic surface with this law.

        S(k) = A k^-(2H + 2), with nu^2(d) = 4 pi A d^2H I and I = integral of x^-(2H + 1) (1 - J_0(x)) from 0 to
        infinity = Gamma(1 - H) / (H 2^(2H + 1) Gamma(1 + H)).
        """
        h = self.hurst
        integral = math.gamma(1 - h) / (h * 2 ** (2 * h + 1) * math.gamma(1 + h))
        return self.deviation**2 / (4 * math.pi * integral) * wave_number ** -(2 * h + 2)


def measured(grid: ElevationGrid) -> Roughness:
    """Roughness of an elevation model over one to four of its spacings, along both axes, without its mean slope."""
    heights, spacing = grid.heights, grid.spacing
    if min(heights.shape) <= LAGS[-1]:
        raise InputError(f"roughness: a model of {heights.shape[0]} x {heights.shape[1]} nodes is too small to measure")
    deviations = []
    for lag in LAGS:
        steps = heights[lag:] - heights[:-lag], heights[:, lag:] - heights[:, :-lag]
        deviations.append(math.sqrt(sum(float(step.var()) for step in steps) / 2))
    if min(deviations) < FLATTEST:
        return Roughness(0.0, 0.5)
    hurst = np.polyfit(np.log(spacing * np.array(LAGS)), np.log(deviations), 1)[0]
    hurst = float(np.clip(hurst, *HURST))
    return Roughness(deviations[0] / spacing**hurst, hurst)


def roughened(grid: ElevationGrid, spacing: float, roughness: Roughness | None = None, seed: int = 0) -> ElevationGrid:
    """A finer grid with the roughness that is missing in `grid`. Its soils are those of the nearest nodes.

    `spacing` [m] of the new grid. `roughness`: its law; None: as `measured`. The same grid, spacing and seed give the
    same surface.
    """
    finer = checks.number(spacing, "roughness: spacing", above=0.0)
    ratio = round(grid.spacing / finer)
    if ratio < 2 or abs(ratio * finer - grid.spacing) > 1e-6 * grid.spacing:
        raise InputError(
            f"roughness: spacing = {finer:g} m: allowed is a whole fraction of that of the model, {grid.spacing:g} m"
        )
    law = measured(grid) if roughness is None else roughness
    shape = tuple(ratio * (count - 1) + 1 for count in grid.heights.shape)
    check_node_count(f"roughness: spacing = {finer:g} m", shape)
    heights = _between(grid.heights, ratio)
    heights += _short_waves((shape[0], shape[1]), finer, grid.spacing, law, seed)
    heights.flags.writeable = False
    index = grid.soil_index
    if index is not None:
        rows, columns = (np.rint(np.arange(count) / ratio).astype(int) for count in shape)
        index = index[np.ix_(rows, columns)]
    return ElevationGrid(heights, finer, grid.origin, soil_index=index, soils=grid.soils)


def _between(heights: np.ndarray, ratio: int) -> np.ndarray:
    """Cubic splines through the nodes, along y and then along x, with `ratio` new cells in each old one."""
    from scipy.interpolate import CubicSpline

    for axis in (0, 1):
        count = heights.shape[axis]
        at = np.arange(ratio * (count - 1) + 1) / ratio
        # Two nodes allow a straight line only, three a parabola.
        end = "not-a-knot" if count > 3 else "natural"
        heights = CubicSpline(np.arange(count), heights, axis=axis, bc_type=end)(at)
    return heights


def _short_waves(shape: tuple[int, int], spacing: float, resolved: float, law: Roughness, seed: int) -> np.ndarray:
    """Random heights [m] made of waves shorter than two nodes of the model, `resolved` [m] apart."""
    import scipy.fft

    fft: Any = scipy.fft  # its annotations are incomplete
    # The waves are periodic: a margin of some spacings keeps opposite borders apart, and suits the transform.
    margin = 4 * math.ceil(resolved / spacing)
    rows, columns = (fft.next_fast_len(count + margin, real=True) for count in shape)
    random = np.random.default_rng(checks.count(seed, "roughness: seed", at_least=0))
    spectrum = fft.rfft2(random.standard_normal((rows, columns)))
    along_y = 2 * math.pi * fft.fftfreq(rows, spacing)[:, None]
    along_x = 2 * math.pi * fft.rfftfreq(columns, spacing)[None, :]
    wave_number = np.hypot(along_x, along_y)
    missing = wave_number > math.pi / resolved
    cell = (2 * math.pi / spacing) ** 2 / (rows * columns)  # [rad^2/m^2] of the wave numbers
    # White noise has the same power in all waves: its transform is scaled wave by wave.
    gain = np.zeros(wave_number.shape)
    gain[missing] = np.sqrt(rows * columns * cell * law.spectrum(wave_number[missing]))
    spectrum *= gain
    return fft.irfft2(spectrum, s=(rows, columns))[: shape[0], : shape[1]]
