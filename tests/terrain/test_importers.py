"""Importers of arrays and NumPy files, the dispatch by ending, the real elevation model."""

import math
import subprocess
import sys

import numpy as np
import pytest

from grouser import terrain
from grouser.errors import InputError

ROUND_OFF = 1e-12  # relative, float64
HEIGHTS = np.array([[0.0, 1.0, 2.0], [3.0, 4.0, 5.5]])


def test_from_array_is_centred_with_row_0_south():
    grid = terrain.from_array(HEIGHTS, 0.5, scale=2.0, offset=1.0)
    assert grid.origin == (-0.5, -0.25)
    assert grid.height(0.5, 0.25) == 1.0 + 2.0 * 5.5
    assert grid.height(-0.5, -0.25) == 1.0


def test_from_array_turns_a_picture_and_takes_an_origin():
    grid = terrain.from_array(HEIGHTS.astype(np.int16), 1.0, origin=(10, 20), first_row="north")
    assert grid.height(10, 21) == 0.0
    assert grid.height(12, 20) == 5.0


def test_missing_heights_are_refused_filled_or_set():
    holed = HEIGHTS.copy()
    holed[0, 2] = np.nan
    with pytest.raises(InputError, match=r"'array': no height at node \(row 0, column 2\).*1 of 6 missing"):
        terrain.from_array(holed, 1.0)
    assert terrain.from_array(holed, 1.0, missing=-7.0).heights[0, 2] == -7.0
    assert terrain.from_array(holed, 1.0, missing="nearest").heights[0, 2] in (1.0, 5.5)
    masked = np.ma.masked_equal(HEIGHTS, 5.5)
    assert terrain.from_array(masked, 1.0, missing=0.25).heights[1, 2] == 0.25
    with pytest.raises(InputError, match="no node has a height"):
        terrain.from_array(holed * np.nan, 1.0, missing="nearest")


def test_nearest_fill_takes_the_closest_known_height():
    wide = np.tile(np.arange(10.0), (4, 1))
    holed = wide.copy()
    holed[:, 3:6] = np.nan
    filled = terrain.from_array(holed, 1.0, missing="nearest").heights
    assert filled[1].tolist() == [0, 1, 2, 2, filled[1, 4], 6, 6, 7, 8, 9]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"heights": HEIGHTS[0]}, r"heights have shape \(3,\): allowed is \(ny, nx\)"),
        ({"heights": HEIGHTS[:1]}, r"heights have shape \(1, 3\)"),
        ({"heights": HEIGHTS + 1j}, "heights are not an array of real numbers"),
        ({"heights": [[1, 2], [3]]}, "heights are not an array of real numbers"),
        ({"heights": [["a", "b"], ["c", "d"]]}, "heights are not an array of real numbers"),
        ({"heights": np.full((2, 2), np.inf), "missing": 0.0}, "'array': elevation grid: height inf"),
        ({"spacing": 0}, "'array': spacing = 0"),
        ({"origin": "file"}, "origin = 'file': it has no coordinates"),
        ({"first_row": "top"}, "array: first_row 'top' is not known"),
        ({"scale": "big"}, "array: scale = 'big'"),
        ({"heights": [[np.nan, 0], [0, 0]], "missing": "neerest"}, "array: missing"),
    ],
)
def test_a_bad_array_is_one_clear_line(arguments, message):
    with pytest.raises(InputError, match=message) as caught:
        terrain.from_array(**({"heights": HEIGHTS, "spacing": 1.0} | arguments))
    assert "\n" not in str(caught.value)


def test_npy_and_npz_round_trip(tmp_path):
    np.save(tmp_path / "hill.npy", HEIGHTS)
    assert np.array_equal(terrain.load(tmp_path / "hill.npy", spacing=0.5).heights, HEIGHTS)
    index = np.array([[0, 0, 1], [-1, 0, 1]])
    np.savez(tmp_path / "hill.npz", heights=HEIGHTS, spacing=0.2, origin=[3.0, 4.0], soil_index=index)
    grid = terrain.load(tmp_path / "hill.npz")
    assert (grid.spacing, grid.origin) == (0.2, (3.0, 4.0))
    assert np.array_equal(grid.heights, HEIGHTS)
    assert np.array_equal(grid.soil_index, index)
    other = terrain.from_npz(tmp_path / "hill.npz", 1.0, origin=(0, 0), first_row="north")
    assert (other.spacing, other.origin) == (1.0, (0.0, 0.0))
    assert np.array_equal(other.soil_index, index[::-1])
    assert np.array_equal(other.heights, HEIGHTS[::-1])


def test_a_header_that_ends_too_soon(tmp_path):
    np.save(tmp_path / "hill.npy", HEIGHTS)
    whole = (tmp_path / "hill.npy").read_bytes()
    (tmp_path / "hill.npy").write_bytes(whole.replace(b"), }", b")  "))
    with pytest.raises(InputError, match=r"hill.npy' is not readable as NumPy data: .*EOF"):
        terrain.load(tmp_path / "hill.npy", spacing=0.1)


def test_bad_numpy_files_are_one_clear_line(tmp_path):
    np.savez(tmp_path / "plain.npz", heights=HEIGHTS, dem=HEIGHTS)
    np.save(tmp_path / "objects.npy", np.array([{}, {}]), allow_pickle=True)
    (tmp_path / "text.npy").write_text("no array")
    (tmp_path / "cut.npz").write_bytes((tmp_path / "plain.npz").read_bytes()[:200])
    (tmp_path / "empty.npy").write_bytes(b"")
    cases = [
        (lambda: terrain.from_npz(tmp_path / "plain.npz"), "has no array 'spacing': give spacing"),
        (
            lambda: terrain.from_npz(tmp_path / "plain.npz", 1, key="heigths"),
            r"'heigths' is not known, did you mean 'heights'\?",
        ),
        (lambda: terrain.from_npy(tmp_path / "objects.npy", 1.0), "is not readable as NumPy data"),
        (lambda: terrain.from_npy(tmp_path / "text.npy", 1.0), "is not readable as NumPy data"),
        (lambda: terrain.from_npy(tmp_path / "empty.npy", 1.0), "is not readable as NumPy data"),
        (lambda: terrain.from_npz(tmp_path / "cut.npz", 1.0), "is not readable as NumPy data"),
        (lambda: terrain.from_npy(tmp_path / "plain.npz", 1.0), "holds several arrays"),
        (lambda: terrain.from_npy(tmp_path / "none.npy", 1.0), r"terrain file '.*none.npy' does not exist"),
    ]
    for make, message in cases:
        with pytest.raises(InputError, match=message) as caught:
            make()
        assert "\n" not in str(caught.value)


def test_load_names_what_is_wrong_with_the_call(tmp_path):
    np.save(tmp_path / "hill.npy", HEIGHTS)
    (tmp_path / "hill.xyz").write_text("")
    with pytest.raises(InputError, match=r"option 'spaceing' is not known, did you mean 'spacing'\?"):
        terrain.load(tmp_path / "hill.npy", spaceing=1)
    with pytest.raises(InputError, match="give its spacing as an option"):
        terrain.load(tmp_path / "hill.npy")
    with pytest.raises(InputError, match=r"ends in '.xyz': allowed are .npy, .npz, .png, .asc, .tif"):
        terrain.load(tmp_path / "hill.xyz")
    with pytest.raises(InputError, match="does not exist"):
        terrain.load(tmp_path / "none.png")
    with pytest.raises(InputError, match="is a folder"):
        terrain.load(tmp_path)


def test_jacksboro_is_real_ground_in_metres():
    grid = terrain.jacksboro()
    assert grid.spacing == pytest.approx(92.66, abs=0.01)  # 3 arc seconds of latitude
    length, breadth = grid.size
    assert breadth == pytest.approx(343 / 1200 * 111195, rel=1e-4)
    assert length == pytest.approx(402 / 1200 * 111195 * math.cos(math.radians(36.59)), rel=5e-3)  # whole cells
    assert 236 <= grid.heights.min() < 246  # the file's extremes are 236 and 1076 m, at nodes between the new ones
    assert 1066 < grid.heights.max() <= 1076
    assert grid.contains(0, 0)


def test_jacksboro_rows_run_north_and_columns_are_resampled_linearly():
    from matplotlib.cbook import get_sample_data

    measured = get_sample_data("jacksboro_fault_dem.npz")["elevation"].astype(float)
    grid = terrain.jacksboro()
    assert grid.heights[0, 0] == measured[-1, 0]
    assert grid.heights[-1, 0] == measured[0, 0]
    stretch = 1 / math.cos(math.radians(0.5 * (36.73291666666667 + 36.44625)))
    position = np.arange(grid.heights.shape[1]) * stretch
    np.testing.assert_allclose(grid.heights[5], np.interp(position, np.arange(403), measured[-6]), rtol=1e-10)


def test_jacksboro_as_a_model_keeps_its_slopes_and_can_be_cut():
    real = terrain.jacksboro(rows=(100, 120), columns=(50, 90))
    model = terrain.jacksboro(1.0, rows=(100, 120), columns=(50, 90))
    assert real.heights.shape == model.heights.shape == (20, 40)
    assert model.size == (39.0, 19.0)
    factor = real.spacing
    x, y = np.linspace(-19, 19, 7), np.linspace(-9, 9, 7)
    np.testing.assert_allclose(model.normal(x, y), real.normal(factor * x, factor * y), atol=1e-10)
    flat = terrain.jacksboro(1.0, rows=(100, 120), columns=(50, 90), scale=1.0)
    np.testing.assert_allclose(flat.heights, real.heights, rtol=ROUND_OFF)
    assert np.array_equal(real.heights, terrain.jacksboro().heights[100:120, 50:90])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rows": (0, 1)}, r"jacksboro: rows = \(0, 1\): allowed are two nodes or more within \(0, 344\)"),
        ({"columns": (0, 5000)}, "jacksboro: columns"),
        ({"rows": 5}, "jacksboro: rows = 5"),
        ({"spacing": -1}, "jacksboro: spacing = -1"),
        ({"scale": 0}, "jacksboro: scale = 0"),
    ],
)
def test_jacksboro_refuses_what_it_has_not(options, message):
    with pytest.raises(InputError, match=message):
        terrain.jacksboro(**options)


def test_terrain_imports_without_anything_heavy():
    heavy = ["warp", "trimesh", "PIL", "matplotlib", "rasterio", "pint", "ruamel.yaml", "scipy", "pydantic"]
    code = f"import sys, grouser.terrain; print([name for name in {heavy} if name in sys.modules])"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.strip() == "[]"
