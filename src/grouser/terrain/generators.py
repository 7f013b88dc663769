"""Terrain generators: shapes with a closed form, and seeded random ones.

The last arguments are the same for all: `size` [m] along x and y (rounded up to whole cells), `spacing` [m],
`origin` [m] of the first node (default: the grid is centred on the world origin) and `soil` (a Soil or the name
of a built-in one). Shapes that vary along one direction use s = x cos(direction) + y sin(direction).
To add two grounds: `from_function(lambda x, y: a.height(x, y) + b.height(x, y))`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from grouser.errors import InputError
from grouser.terrain import checks
from grouser.terrain.elevation import ElevationGrid
from grouser.terrain.gridding import check_node_count
from grouser.terrain.soils import Soil

Pair = tuple[float, float]
ROUND_OFF = 1e-9  # [cells or treads] a size or position this close to a whole number counts as whole
STEEPEST_DEG = 89.0
FRESH_DEPTH, FRESH_RIM = 0.2, 0.036  # [diameters] lunar craters below 15 km (Pike 1977)


def flat(
    height: float = 0.0,
    *,
    size: Pair = (10.0, 10.0),
    spacing: float | None = None,
    origin: Pair | None = None,
    soil: Soil | str | None = None,
) -> ElevationGrid:
    """A level plane. `spacing` defaults to the shorter side, because a plane needs no more nodes."""
    z = checks.number(height, "flat: height")
    lattice = _Lattice("flat", size, _plane_spacing("flat", size, spacing), origin)
    return lattice.grid(z, soil)


def slope(
    angle_deg: float,
    direction_deg: float = 0.0,
    *,
    size: Pair = (10.0, 10.0),
    spacing: float | None = None,
    origin: Pair | None = None,
    soil: Soil | str | None = None,
) -> ElevationGrid:
    """A plane z = s tan(angle) through the world origin that rises along `direction_deg`."""
    steepness = math.tan(math.radians(_angle("slope: angle_deg", angle_deg)))
    lattice = _Lattice("slope", size, _plane_spacing("slope", size, spacing), origin)
    return lattice.grid(steepness * lattice.along(direction_deg), soil)


def ramp(
    height: float,
    angle_deg: float,
    start: float = 0.0,
    direction_deg: float = 0.0,
    *,
    size: Pair = (10.0, 10.0),
    spacing: float = 0.1,
    origin: Pair | None = None,
    soil: Soil | str | None = None,
) -> ElevationGrid:
    """Level ground at 0 up to s = start, then a slope of `angle_deg` up (or down if height < 0) to level `height`."""
    rise = checks.number(height, "ramp: height")
    angle = checks.number(angle_deg, "ramp: angle_deg", above=0.0, at_most=STEEPEST_DEG)
    begin = checks.number(start, "ramp: start")
    lattice = _Lattice("ramp", size, spacing, origin)
    climbed = (lattice.along(direction_deg) - begin) * math.tan(math.radians(angle))
    return lattice.grid(math.copysign(1.0, rise) * np.clip(climbed, 0.0, abs(rise)), soil)


def sinusoid(
    amplitude: float,
    wavelength: float,
    direction_deg: float = 0.0,
    phase_deg: float = 0.0,
    *,
    size: Pair = (10.0, 10.0),
    spacing: float = 0.1,
    origin: Pair | None = None,
    soil: Soil | str | None = None,
) -> ElevationGrid:
    """Waves z = A sin(2 pi s/wavelength + phase)."""
    peak = checks.number(amplitude, "sinusoid: amplitude", at_least=0.0)
    lattice = _Lattice("sinusoid", size, spacing, origin)
    length = checks.number(wavelength, "sinusoid: wavelength (at least 2 spacings)", at_least=2.0 * lattice.spacing)
    phase = math.radians(checks.number(phase_deg, "sinusoid: phase_deg"))
    return lattice.grid(peak * np.sin(2.0 * np.pi / length * lattice.along(direction_deg) + phase), soil)


def steps(
    step_count: int,
    height: float,
    depth: float,
    start: float = 0.0,
    direction_deg: float = 0.0,
    *,
    size: Pair = (10.0, 10.0),
    spacing: float = 0.1,
    origin: Pair | None = None,
    soil: Soil | str | None = None,
) -> ElevationGrid:
    """Stairs: z = height at s = start, and one more `height` every `depth` [m]. A negative height descends.

    A grid cannot have a vertical face: each riser is a slope across the cell before its edge.
    """
    treads = checks.count(step_count, "steps: step_count", at_least=1)
    rise = checks.number(height, "steps: height")
    lattice = _Lattice("steps", size, spacing, origin)
    tread = checks.number(depth, "steps: depth (at least one spacing)", at_least=lattice.spacing)
    climbed = (lattice.along(direction_deg) - checks.number(start, "steps: start")) / tread
    return lattice.grid(rise * np.clip(np.floor(climbed + ROUND_OFF) + 1.0, 0.0, treads), soil)


def v_ditch(
    depth: float,
    width: float,
    centre: float = 0.0,
    direction_deg: float = 0.0,
    *,
    size: Pair = (10.0, 10.0),
    spacing: float = 0.1,
    origin: Pair | None = None,
    soil: Soil | str | None = None,
) -> ElevationGrid:
    """A ditch across the direction: z = -depth max(0, 1 - 2 |s - centre|/width)."""
    deepest = checks.number(depth, "v_ditch: depth", at_least=0.0)
    mouth = checks.number(width, "v_ditch: width", above=0.0)
    middle = checks.number(centre, "v_ditch: centre")
    lattice = _Lattice("v_ditch", size, spacing, origin)
    away = np.abs(lattice.along(direction_deg) - middle)
    return lattice.grid(-deepest * np.maximum(0.0, 1.0 - 2.0 * away / mouth), soil)


def fractal(
    roughness: float,
    hurst: float = 0.8,
    seed: int = 0,
    shortest: float | None = None,
    *,
    size: Pair = (10.0, 10.0),
    spacing: float = 0.1,
    origin: Pair | None = None,
    soil: Soil | str | None = None,
) -> ElevationGrid:
    """Self-affine ground of rms height `roughness` [m] by spectral synthesis (Saupe 1988).

    Waves with wave vector q have complex Gaussian amplitudes of variance |q|^-(2H + 2). Wavelengths go from the
    size of the grid down to `shortest` [m] (default: the shortest that the spacing resolves). The surface is
    periodic with period `size`. The same seed, size and shortest give the same surface at any spacing.
    """
    rms = checks.number(roughness, "fractal: roughness", at_least=0.0)
    exponent = checks.number(hurst, "fractal: hurst", above=0.0, at_most=1.0)
    lattice = _Lattice("fractal", size, spacing, origin)
    finest = 2.0 * lattice.spacing
    if shortest is not None:
        finest = checks.number(shortest, "fractal: shortest (at least 2 spacings)", at_least=finest)
    waves = _waves(lattice, exponent, _generator("fractal", seed), finest)
    spread = math.sqrt(np.mean(waves**2))
    if spread > 0.0:
        waves *= rms / spread
    elif rms > 0.0:
        raise InputError(
            f"fractal: no wave between shortest = {finest:g} m and size = {size}: allowed is a longer size"
        )
    return lattice.grid(np.pad(waves, ((0, 1), (0, 1)), mode="wrap"), soil)


def crater(
    diameter: float,
    depth: float | None = None,
    rim_height: float | None = None,
    centre: Pair = (0.0, 0.0),
    *,
    size: Pair = (10.0, 10.0),
    spacing: float = 0.1,
    origin: Pair | None = None,
    soil: Soil | str | None = None,
) -> ElevationGrid:
    """A bowl-shaped crater in level ground.

    Inside the rim radius R: z = rim - depth (1 - (r/R)^2). Outside: z = rim (r/R)^-3, the ejecta blanket
    (McGetchin et al. 1973). `depth` is measured from rim crest to floor. Defaults are those of fresh lunar
    craters below 15 km: depth 0.2 diameters, rim 0.036 diameters (Pike 1977).
    """
    across = checks.number(diameter, "crater: diameter", above=0.0)
    deep = checks.number(FRESH_DEPTH * across if depth is None else depth, "crater: depth", at_least=0.0)
    crest = FRESH_RIM * across if rim_height is None else rim_height
    rim = checks.number(crest, "crater: rim_height", at_least=0.0)
    x, y = checks.pair(centre, "crater: centre")
    lattice = _Lattice("crater", size, spacing, origin)
    return lattice.grid(_bowl(lattice, across, deep, rim, x, y), soil)


def craters(
    crater_count: int,
    diameters: Pair = (0.5, 3.0),
    slope_exponent: float = 2.0,
    seed: int = 0,
    *,
    size: Pair = (20.0, 20.0),
    spacing: float = 0.1,
    origin: Pair | None = None,
    soil: Soil | str | None = None,
) -> ElevationGrid:
    """Many fresh craters with centres spread uniformly over the grid. Their heights are added.

    Diameters lie between the two in `diameters`, with cumulative number N(>D) ~ D^-slope_exponent. Each crater
    has the default depth and rim of `crater`.
    """
    total = checks.count(crater_count, "craters: crater_count", at_least=0)
    least, most = checks.pair(diameters, "craters: diameters", above=0.0)
    if least > most:
        raise InputError(f"craters: diameters = {diameters}: allowed is the smaller one first")
    power = checks.number(slope_exponent, "craters: slope_exponent", above=0.0)
    lattice = _Lattice("craters", size, spacing, origin)
    random = _generator("craters", seed)
    heights = np.zeros((len(lattice.y), len(lattice.x)))
    for _ in range(total):
        share, at_x, at_y = random.random(3)
        across = (least**-power - share * (least**-power - most**-power)) ** (-1.0 / power)
        x = lattice.x[0] + at_x * (lattice.x[-1] - lattice.x[0])
        y = lattice.y[0] + at_y * (lattice.y[-1] - lattice.y[0])
        heights += _bowl(lattice, across, FRESH_DEPTH * across, FRESH_RIM * across, x, y)
    return lattice.grid(heights, soil)


def from_function(
    function: Callable[[np.ndarray, np.ndarray], Any],
    *,
    size: Pair = (10.0, 10.0),
    spacing: float = 0.1,
    origin: Pair | None = None,
    soil: Soil | str | None = None,
) -> ElevationGrid:
    """Ground z = function(x, y). The function is called once with arrays x, y [m] of shape (ny, nx)."""
    lattice = _Lattice("from_function", size, spacing, origin)
    x, y = np.meshgrid(lattice.x, lattice.y)
    name = getattr(function, "__name__", repr(function))
    try:
        heights = np.asarray(function(x, y), dtype=np.float64)
    except Exception as error:  # the user's code may raise anything
        raise InputError(f"from_function: {name} raised {type(error).__name__}: {error}") from error
    if heights.shape not in (x.shape, ()):
        raise InputError(f"from_function: {name} returned shape {heights.shape}: allowed is that of x and y, {x.shape}")
    return lattice.grid(heights, soil)


class _Lattice:
    """Nodes of the grid to be made, from the checked size, spacing and origin."""

    def __init__(self, what: str, size: Pair, spacing: float, origin: Pair | None):
        lengths = checks.pair(size, f"{what}: size", above=0.0)
        self.spacing = checks.number(spacing, f"{what}: spacing", above=0.0)
        cells = [max(1, math.ceil(length / self.spacing - ROUND_OFF)) for length in lengths]
        check_node_count(f"{what}: spacing = {self.spacing:g} m on size = {size}", cells)
        if origin is None:
            self.origin = (-0.5 * cells[0] * self.spacing, -0.5 * cells[1] * self.spacing)
        else:
            self.origin = checks.pair(origin, f"{what}: origin")
        self.what = what
        self.x = self.origin[0] + self.spacing * np.arange(cells[0] + 1)  # [m], (nx,)
        self.y = self.origin[1] + self.spacing * np.arange(cells[1] + 1)  # [m], (ny,)

    def along(self, direction_deg: float) -> np.ndarray:
        """s = x cos(direction) + y sin(direction) [m], (ny, nx); exact for directions along the axes."""
        angle = checks.number(direction_deg, f"{self.what}: direction_deg") % 360.0
        axes = {0.0: (1.0, 0.0), 90.0: (0.0, 1.0), 180.0: (-1.0, 0.0), 270.0: (0.0, -1.0)}
        cosine, sine = axes.get(angle, (math.cos(math.radians(angle)), math.sin(math.radians(angle))))
        return cosine * self.x[None, :] + sine * self.y[:, None]

    def grid(self, heights: Any, soil: Soil | str | None) -> ElevationGrid:
        """Make the elevation grid from `heights` [m]: one number for all nodes, or (ny, nx)."""
        shape = (len(self.y), len(self.x))
        whole = np.array(np.broadcast_to(heights, shape), dtype=np.float64)
        whole.flags.writeable = False
        grid = ElevationGrid(whole, self.spacing, self.origin)
        return grid if soil is None else grid.with_soil(soil)


def _angle(what: str, angle_deg: float) -> float:
    return checks.number(angle_deg, what, at_least=-STEEPEST_DEG, at_most=STEEPEST_DEG)


def _plane_spacing(what: str, size: Pair, spacing: float | None) -> float:
    return min(checks.pair(size, f"{what}: size", above=0.0)) if spacing is None else spacing


def _generator(what: str, seed: int) -> np.random.Generator:
    return np.random.default_rng(checks.count(seed, f"{what}: seed", at_least=0))


def _bowl(lattice: _Lattice, diameter: float, depth: float, rim: float, x: float, y: float) -> np.ndarray:
    """Height [m], (ny, nx) of one crater, see `crater`."""
    away = np.hypot(lattice.x[None, :] - x, lattice.y[:, None] - y) / (0.5 * diameter)
    return np.where(away <= 1.0, rim - depth * (1.0 - away**2), rim * np.maximum(away, 1.0) ** -3)


def _waves(lattice: _Lattice, hurst: float, random: np.random.Generator, shortest: float) -> np.ndarray:
    """Sum of random waves, (ny - 1, nx - 1), on one period of the lattice, before scaling."""
    nx, ny = len(lattice.x) - 1, len(lattice.y) - 1
    length, breadth = nx * lattice.spacing, ny * lattice.spacing
    most_x = int(length / shortest + ROUND_OFF)
    most_y = int(breadth / shortest + ROUND_OFF)
    number_x = np.arange(most_x + 1)[None, :]
    number_y = np.arange(-most_y, most_y + 1)[:, None]
    wave_number = np.hypot(number_x / length, number_y / breadth)
    parts = random.standard_normal((2, 2 * most_y + 1, most_x + 1))
    resolved = (wave_number > 0.0) & (wave_number < (1.0 - ROUND_OFF) / shortest)
    amplitude = np.zeros(wave_number.shape)
    amplitude[resolved] = wave_number[resolved] ** -(hurst + 1.0)
    amplitude[:, 0] *= math.sqrt(2.0)  # the real inverse FFT counts waves along y once and all others twice
    spectrum = np.zeros((ny, nx // 2 + 1), dtype=np.complex128)
    spectrum[number_y[:, 0] % ny, : most_x + 1] = amplitude * (parts[0] + 1j * parts[1])
    return np.fft.irfft2(spectrum, s=(ny, nx), norm="forward")
