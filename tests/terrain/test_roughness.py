"""Roughness below the resolution of an elevation model: its law, what stays of the model, refusals."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import integrate, special

from grouser.errors import InputError
from grouser.terrain import ElevationGrid, flat
from grouser.terrain.generators import fractal
from grouser.terrain.roughness import Roughness, measured, roughened

MODEL, FINE = 2.0, 0.1  # [m] spacings
SAMPLED = 0.03  # of a deviation of 256 m^2 of random ground at lags below the spacing of the model
LAW = Roughness(0.02, 0.7)


def deviation(heights: np.ndarray, lag: int) -> float:
    """RMS of height differences along both axes [m]."""
    steps = heights[lag:] - heights[:-lag], heights[:, lag:] - heights[:, :-lag]
    return math.sqrt(sum(float((step**2).mean()) for step in steps) / 2)


def of_band(law: Roughness, distance: float) -> float:
    """RMS deviation [m] of the waves between those that the model shows and those that the fine grid shows.

    By quadrature over the wave numbers of the fine grid's square: no Fourier transform, no closed form of its integral.
    """
    first, last = math.pi / MODEL, math.pi / FINE

    def ring(k: float) -> float:
        corner = math.acos(min(1.0, last / k))  # beyond the square's side only its corners are left
        share = 1.0 - corner / (math.pi / 4)
        power = float(law.spectrum(np.array(k))) * 2 * math.pi * k * share
        return 2 * power * (1 - special.j0(k * distance))

    return math.sqrt(integrate.quad(ring, first, last * math.sqrt(2), points=[last], limit=400)[0])


def test_the_spectrum_has_the_deviation_that_is_asked_for():
    """Over all wave numbers the law is that of Shepard et al. 2001, at any distance."""
    for law in (LAW, Roughness(0.1, 0.3), Roughness(0.01, 0.9)):
        for distance in (0.1, 1.0, 7.0):

            def ring(log_k, distance=distance, law=law):
                k = math.exp(log_k)
                return 4 * math.pi * k**2 * float(law.spectrum(np.array(k))) * (1 - special.j0(k * distance))

            ends = math.log(1e-3 / distance), math.log(30 / distance), math.log(3e3 / distance)
            power = sum(integrate.quad(ring, a, b, limit=2000)[0] for a, b in itertools.pairwise(ends))
            # Below the first wave number 1 - J_0(x) is x^2 / 4; beyond the last one J_0 is small.
            k = math.exp(ends[0])
            below = math.pi * float(law.spectrum(np.array(k))) * k**2 * (k * distance) ** 2 / (2 - 2 * law.hurst)
            power += below
            k = math.exp(ends[-1])
            power += 4 * math.pi * float(law.spectrum(np.array(k))) * k**2 / (2 * law.hurst)
            assert math.sqrt(power) == pytest.approx(law.at(distance), rel=2e-3)


def test_added_waves_follow_the_law_below_the_resolution():
    grid = roughened(flat(size=(64.0, 64.0), spacing=MODEL), FINE, LAW, seed=3)
    for lag in (1, 2, 5, 10):
        assert deviation(grid.heights, lag) == pytest.approx(of_band(LAW, lag * FINE), rel=SAMPLED)
        # At a tenth of the model's spacing hardly anything of the law is missing.
    assert deviation(grid.heights, 2) == pytest.approx(LAW.at(2 * FINE), rel=0.15)
    wrong = roughened(flat(size=(64.0, 64.0), spacing=MODEL), FINE, Roughness(0.02, 0.5), seed=3)
    assert abs(deviation(wrong.heights, 1) / of_band(LAW, FINE) - 1) > 5 * SAMPLED, "another exponent misses"


def test_no_wave_that_the_model_shows_is_changed():
    """The power of the added heights at wave numbers below the model's own is nil, and their mean is nil."""
    heights = roughened(flat(size=(64.0, 64.0), spacing=MODEL), FINE, LAW, seed=1).heights
    window = np.hanning(len(heights))
    spectrum = np.abs(np.fft.fft2(heights * window * window[:, None])) ** 2
    k = 2 * math.pi * np.fft.fftfreq(len(heights), FINE)
    long = np.hypot(k[None, :], k[:, None]) < 0.8 * math.pi / MODEL
    assert spectrum[long].sum() < 1e-3 * spectrum.sum()


def test_without_roughness_the_nodes_of_the_model_stay():
    model = fractal(0.5, size=(40.0, 30.0), spacing=MODEL, seed=5)
    smooth = roughened(model, FINE, Roughness(0.0, 0.5))
    assert smooth.heights[::20, ::20] == pytest.approx(model.heights, abs=1e-12)
    assert smooth.origin == model.origin
    assert smooth.size == pytest.approx(model.size)


def test_the_law_of_a_model_is_found_in_it_and_goes_on_below_it():
    """A self-affine surface, sampled every 2 m: what `roughened` puts back has the deviations that were lost."""
    whole = fractal(1.0, hurst=0.7, size=(204.8, 204.8), spacing=FINE, seed=2)
    model = ElevationGrid(whole.heights[::20, ::20].copy(), MODEL, whole.origin)
    found = measured(model)
    assert found.hurst == pytest.approx(0.7, abs=0.06)
    back = roughened(model, FINE, seed=9)
    smooth = roughened(model, FINE, Roughness(0.0, 0.5))
    for lag in (2, 5, 10):
        truth = deviation(whole.heights, lag)
        assert deviation(back.heights, lag) == pytest.approx(truth, rel=0.12)
        assert deviation(smooth.heights, lag) < (0.9 if lag == 10 else 0.75) * truth, "the model alone is too smooth"


def test_a_seed_names_a_surface():
    model = fractal(0.5, size=(20.0, 20.0), spacing=MODEL, seed=5)
    first, again, other = (roughened(model, 0.5, LAW, seed=k).heights for k in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_soils_follow_their_nodes():
    index = np.zeros((5, 5), np.int32)
    index[:, 3:] = 1
    model = ElevationGrid(np.zeros((5, 5)), MODEL, (0.0, 0.0)).with_soils(index, ["dry-sand", "clay"])
    fine = roughened(model, 0.5)
    assert fine.soil_index is not None
    assert fine.soil_index[0].tolist() == [0] * 11 + [1] * 6, "half way between two nodes the one with an even number"
    assert [s.name for s in fine.soils] == [s.name for s in model.soils]


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: roughened(flat(size=(8, 8), spacing=2.0), 0.3), "spacing = 0.3 m: allowed is a whole fraction"),
        (lambda: roughened(flat(size=(8, 8), spacing=2.0), 2.0), "allowed is a whole fraction"),
        (lambda: roughened(flat(size=(2e5, 2e5), spacing=2e3), 1.0), "allowed are 200000000"),
        (lambda: Roughness(0.1, 1.2), "roughness: hurst"),
        (lambda: measured(flat(size=(4, 4), spacing=2.0)), "too small to measure"),
    ],
)
def test_refusals(make, said):
    with pytest.raises(InputError, match=said):
        make()
