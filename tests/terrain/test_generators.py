"""Generators against their closed forms."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grouser import terrain
from grouser.errors import InputError

ROUND_OFF = 1e-12  # [m] float64 on heights and positions of metres
FLOOR_BETWEEN_NODES = 0.1  # relative: floor and crest of a crater of a metre fall up to 0.14 m beside a node
EQUAL_WAVES = 0.2  # four standard deviations of the ratio of two sums of 60 x 15 random powers
SPECTRUM_ERROR = 0.1  # of an exponent near 4: scatter of a periodogram averaged over 24 seeds and whole rings


def test_flat_is_level_and_needs_one_cell():
    grid = terrain.flat(0.3, size=(1000.0, 1000.0))
    assert grid.heights.shape == (2, 2)
    assert grid.bounds == (-500.0, 500.0, -500.0, 500.0)
    assert grid.height(12.3, -45.6) == pytest.approx(0.3, abs=ROUND_OFF)


@given(st.floats(-60, 60), st.floats(0, 360), st.floats(-4, 4), st.floats(-4, 4))
def test_slope_has_its_angle_in_its_direction(angle_deg, direction_deg, x, y):
    grid = terrain.slope(angle_deg, direction_deg)
    s = x * math.cos(math.radians(direction_deg)) + y * math.sin(math.radians(direction_deg))
    assert grid.height(x, y) == pytest.approx(s * math.tan(math.radians(angle_deg)), abs=50 * ROUND_OFF)
    tilt = math.degrees(math.acos(min(1.0, grid.normal(x, y)[2])))
    assert tilt == pytest.approx(abs(angle_deg), abs=2e-6)  # acos near 1 loses half the digits


def test_slope_direction_is_uphill():
    grid = terrain.slope(10, direction_deg=90)
    assert grid.height(0, 1) == pytest.approx(math.tan(math.radians(10)), abs=ROUND_OFF)
    assert grid.height(3, 0) == 0.0


@pytest.mark.parametrize("height", [0.5, -0.5])
def test_ramp_is_flat_rises_and_is_flat(height):
    grid = terrain.ramp(height, 30, start=1.0, spacing=0.05)
    steepness = math.copysign(math.tan(math.radians(30)), height)
    assert grid.height([-5, 0, 1.0], 0.3).tolist() == [0, 0, 0]
    assert grid.height(1.4, 0.0) == pytest.approx(0.4 * steepness, abs=ROUND_OFF)
    assert grid.height([2.0, 5.0], -2.0) == pytest.approx([height, height], abs=ROUND_OFF)
    assert grid.gradient(1.42, 0.0)[0] == pytest.approx(steepness, abs=100 * ROUND_OFF)


def test_sinusoid_is_a_sine_on_the_nodes():
    grid = terrain.sinusoid(0.2, 2.5, direction_deg=90, phase_deg=30)
    expected = 0.2 * np.sin(2 * np.pi * grid.y / 2.5 + np.pi / 6)
    np.testing.assert_allclose(grid.heights, np.repeat(expected[:, None], grid.x.size, 1), atol=10 * ROUND_OFF)


def test_steps_have_their_heights_treads_and_count():
    grid = terrain.steps(4, 0.17, 0.3, start=-0.6, size=(4.0, 1.0), spacing=0.05)
    middles = -0.6 + 0.3 * (np.arange(-1, 7) + 0.5)
    expected = 0.17 * np.array([0, 1, 2, 3, 4, 4, 4, 4])
    np.testing.assert_allclose(grid.height(middles, 0.2), expected, atol=ROUND_OFF)
    edges = -0.6 + 0.3 * np.arange(4)
    np.testing.assert_allclose(grid.height(edges, 0.0), 0.17 * np.arange(1, 5), atol=1e-9)
    np.testing.assert_allclose(grid.height(edges - 0.05, 0.0), 0.17 * np.arange(4), atol=1e-9)


def test_steps_descend_with_a_negative_height():
    grid = terrain.steps(2, -0.2, 0.5, direction_deg=180)
    assert grid.height([1.0, -0.2, -0.8], 0.0) == pytest.approx([0.0, -0.2, -0.4], abs=ROUND_OFF)


def test_v_ditch_has_depth_width_and_straight_walls():
    grid = terrain.v_ditch(0.4, 1.6, centre=1.0)
    assert grid.height(1.0, 2.0) == pytest.approx(-0.4, abs=ROUND_OFF)
    assert grid.height([0.2, 1.8, -3.0], 0.0) == pytest.approx([0, 0, 0], abs=ROUND_OFF)
    assert grid.gradient(1.45, 0.0)[0] == pytest.approx(0.5, abs=100 * ROUND_OFF)
    assert grid.gradient(0.55, 0.0)[0] == pytest.approx(-0.5, abs=100 * ROUND_OFF)
    assert grid.heights.min() == pytest.approx(-0.4, abs=ROUND_OFF)


def test_crater_has_depth_rim_and_ejecta():
    grid = terrain.crater(4.0, depth=0.9, rim_height=0.2, centre=(0.5, -0.5), size=(12, 12), spacing=0.1)
    floor = grid.height(0.5, -0.5)
    assert floor == pytest.approx(0.2 - 0.9, abs=ROUND_OFF)
    assert floor == grid.heights.min()
    assert grid.height(2.5, -0.5) == pytest.approx(0.2, abs=10 * ROUND_OFF)
    assert grid.heights.max() == pytest.approx(0.2, abs=ROUND_OFF)
    assert grid.height(1.5, -0.5) == pytest.approx(0.2 - 0.9 * 0.75, abs=ROUND_OFF)
    assert grid.height(4.5, -0.5) == pytest.approx(0.2 / 8, abs=ROUND_OFF)


def test_crater_defaults_are_fresh_lunar_ones():
    grid = terrain.crater(5.0, size=(10, 10), spacing=0.1)
    assert grid.heights.max() - grid.heights.min() == pytest.approx(1.0, abs=ROUND_OFF)
    assert grid.heights.max() == pytest.approx(0.18, abs=ROUND_OFF)


def test_craters_are_seeded_and_add_up():
    two = terrain.craters(2, seed=3)
    assert np.array_equal(two.heights, terrain.craters(2, seed=3).heights)
    assert not np.array_equal(two.heights, terrain.craters(2, seed=4).heights)
    assert not terrain.craters(0).heights.any()
    second = two.heights - terrain.craters(1, seed=3).heights
    assert second.max() > 0.0 > second.min()
    assert second.max() / -second.min() == pytest.approx(0.036 / 0.164, rel=FLOOR_BETWEEN_NODES)


def test_crater_diameters_follow_the_size_law():
    depths = [-terrain.craters(1, (1.0, 4.0), 2.0, seed, spacing=0.2).heights.min() for seed in range(200)]
    diameters = np.array(depths) / 0.164
    assert diameters.max() < 4.0 * (1 + ROUND_OFF)
    assert diameters.min() > 1.0 * (1 - FLOOR_BETWEEN_NODES)
    share = (2.0**-2 - 4.0**-2) / (1.0**-2 - 4.0**-2)
    assert np.mean(diameters > 2.0) == pytest.approx(share, abs=3 * math.sqrt(share * (1 - share) / 200))


def test_fractal_is_seeded_periodic_and_has_its_rms():
    grid = terrain.fractal(0.05, seed=7, size=(6.4, 3.2), spacing=0.05)
    assert np.array_equal(grid.heights, terrain.fractal(0.05, seed=7, size=(6.4, 3.2), spacing=0.05).heights)
    assert not np.allclose(grid.heights, terrain.fractal(0.05, seed=8, size=(6.4, 3.2), spacing=0.05).heights)
    assert np.array_equal(grid.heights[:, 0], grid.heights[:, -1])
    assert np.array_equal(grid.heights[0], grid.heights[-1])
    period = grid.heights[:-1, :-1]
    assert np.sqrt(np.mean(period**2)) == pytest.approx(0.05, rel=ROUND_OFF)
    assert period.mean() == pytest.approx(0.0, abs=ROUND_OFF)
    assert not terrain.fractal(0.0).heights.any()


def test_fractal_is_the_same_surface_at_any_spacing():
    coarse = terrain.fractal(0.1, seed=1, shortest=0.4, size=(8, 4), spacing=0.2)
    fine = terrain.fractal(0.1, seed=1, shortest=0.4, size=(8, 4), spacing=0.05)
    np.testing.assert_allclose(fine.heights[::4, ::4], coarse.heights, atol=ROUND_OFF)


@pytest.mark.parametrize("hurst", [0.3, 0.8])
def test_fractal_spectrum_falls_as_the_hurst_exponent_says(hurst):
    nodes, spacing = 128, 0.1
    number = np.fft.fftfreq(nodes, 1 / nodes)
    radius = np.hypot(number[:, None], number[None, :])
    power = np.zeros((nodes, nodes))
    for seed in range(24):
        grid = terrain.fractal(0.1, hurst, seed, size=(12.8, 12.8), spacing=spacing)
        power += np.abs(np.fft.fft2(grid.heights[:-1, :-1])) ** 2
    rings = np.arange(4, 60)
    mean = [power[(radius >= r - 0.5) & (radius < r + 0.5)].mean() for r in rings]
    exponent = np.polyfit(np.log(rings), np.log(mean), 1)[0]
    assert exponent == pytest.approx(-(2 * hurst + 2), abs=SPECTRUM_ERROR)


def test_fractal_waves_along_x_are_as_high_as_waves_along_y():
    along_x = along_y = 0.0
    for seed in range(60):
        power = np.abs(np.fft.fft2(terrain.fractal(0.1, 0.5, seed, size=(3.2, 3.2)).heights[:-1, :-1])) ** 2
        rank = np.arange(1, 16) ** 3.0  # weighs all waves alike
        along_x += rank @ power[0, 1:16]
        along_y += rank @ power[1:16, 0]
    assert along_x / along_y == pytest.approx(1.0, abs=EQUAL_WAVES)


def test_from_function_calls_once_with_arrays():
    calls = []

    def hill(x, y):
        calls.append((x.shape, y.shape))
        return x**2 - y

    grid = terrain.from_function(hill, size=(2, 1), spacing=0.25)
    assert calls == [((5, 9), (5, 9))]
    assert np.array_equal(grid.heights, grid.x[None, :] ** 2 - grid.y[:, None])
    assert terrain.from_function(lambda x, y: 0.5).height(0, 0) == 0.5


def test_from_function_adds_grounds():
    hill, dip = terrain.slope(5), terrain.v_ditch(0.2, 1.0)
    both = terrain.from_function(lambda x, y: hill.height(x, y) + dip.height(x, y))
    np.testing.assert_allclose(both.heights, dip.heights + hill.height(dip.x[None, :], dip.y[:, None]), atol=ROUND_OFF)


@settings(max_examples=50)
@given(st.floats(0.5, 20), st.floats(0.5, 20), st.floats(0.1, 3))
def test_a_grid_covers_its_size_holds_the_origin_and_is_centred(length, breadth, spacing):
    grid = terrain.flat(size=(length, breadth), spacing=spacing)
    for extent, asked in zip(grid.size, (length, breadth), strict=True):
        assert asked - 1e-8 * spacing <= extent < asked + spacing * (1 + 1e-8)
    x_min, x_max, y_min, y_max = grid.bounds
    assert x_min == pytest.approx(-x_max, abs=ROUND_OFF)
    assert y_min == pytest.approx(-y_max, abs=ROUND_OFF)
    assert grid.contains(0.0, 0.0)


def test_size_that_is_whole_up_to_round_off_gets_no_extra_cell():
    assert terrain.sinusoid(0.1, 1.0, size=(0.3, 0.7), spacing=0.1).heights.shape == (8, 4)


def test_origin_and_soil_are_passed_on():
    grid = terrain.ramp(0.2, 10, size=(2, 1), origin=(-1.0, 3.0), soil="clay")
    assert grid.origin == (-1.0, 3.0)
    assert grid.soils[0].name == "clay"
    assert terrain.flat().soils == ()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: terrain.flat(math.nan), "flat: height = nan"),
        (lambda: terrain.flat(size=(1, -1)), r"flat: size\[1\] = -1: allowed is a finite number above 0"),
        (lambda: terrain.flat(size=3), "flat: size = 3: allowed are two numbers"),
        (lambda: terrain.flat(spacing=0), "flat: spacing = 0"),
        (lambda: terrain.flat(origin=(0, "x")), r"flat: origin\[1\] = 'x'"),
        (lambda: terrain.flat(soil="sand"), "soil 'sand' is not known"),
        (
            lambda: terrain.slope(90),
            "slope: angle_deg = 90: allowed is a finite number at least -89 and at most 89",
        ),
        (lambda: terrain.slope(10, math.inf), "slope: direction_deg = inf"),
        (lambda: terrain.ramp(0.5, 0), "ramp: angle_deg = 0"),
        (lambda: terrain.ramp("high", 10), "ramp: height = 'high'"),
        (lambda: terrain.sinusoid(-0.1, 1), "sinusoid: amplitude = -0.1"),
        (lambda: terrain.sinusoid(0.1, 0.15), r"sinusoid: wavelength \(at least 2 spacings\) = 0.15"),
        (
            lambda: terrain.steps(0, 0.1, 0.3),
            "steps: step_count = 0: allowed is an integer of at least 1",
        ),
        (lambda: terrain.steps(2.5, 0.1, 0.3), "steps: step_count = 2.5"),
        (lambda: terrain.steps(2, 0.1, 0.01), r"steps: depth \(at least one spacing\) = 0.01"),
        (lambda: terrain.v_ditch(-1, 1), "v_ditch: depth = -1"),
        (lambda: terrain.v_ditch(1, 0), "v_ditch: width = 0"),
        (lambda: terrain.fractal(-1), "fractal: roughness = -1"),
        (lambda: terrain.fractal(0.1, 1.5), "fractal: hurst = 1.5"),
        (lambda: terrain.fractal(0.1, seed=-1), "fractal: seed = -1"),
        (lambda: terrain.fractal(0.1, shortest=0.1), r"fractal: shortest \(at least 2 spacings\) = 0.1"),
        (lambda: terrain.fractal(0.1, shortest=50.0), "fractal: no wave between shortest = 50 m"),
        (lambda: terrain.crater(0), "crater: diameter = 0"),
        (lambda: terrain.crater(1, depth=-1), "crater: depth = -1"),
        (lambda: terrain.crater(1, rim_height=-1), "crater: rim_height = -1"),
        (lambda: terrain.craters(-1), "craters: crater_count = -1"),
        (
            lambda: terrain.craters(3, (2, 1)),
            r"craters: diameters = \(2, 1\): allowed is the smaller one first",
        ),
        (lambda: terrain.craters(3, slope_exponent=0), "craters: slope_exponent = 0"),
        (
            lambda: terrain.from_function(lambda x, y: x[0]),
            r"from_function: <lambda> returned shape \(101,\)",
        ),
        (
            lambda: terrain.from_function(lambda x, y: 1 / 0),
            "from_function: <lambda> raised ZeroDivisionError",
        ),
        (lambda: terrain.from_function(lambda x, y: x * np.nan), r"height nan at node \(row 0, column 0\)"),
        (
            lambda: terrain.sinusoid(1, 1, spacing=1e-6),
            r"gives 10000001 x 10000001 nodes: allowed are 200000000",
        ),
    ],
)
def test_bad_arguments_are_one_clear_line(make, message):
    with pytest.raises(InputError, match=message) as caught:
        make()
    assert "\n" not in str(caught.value)
