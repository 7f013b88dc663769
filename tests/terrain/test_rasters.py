"""PNG, ESRI ASCII and GeoTIFF: files written here, read back, and broken on purpose."""

import math
import sys

import numpy as np
import pytest
from PIL import Image, TiffImagePlugin

from grouser import terrain
from grouser.errors import InputError
from tests.terrain import pds

ROUND_OFF = 1e-12  # relative, float64
HEIGHTS = np.array([[10.0, 11.0, 12.5], [20.0, 21.0, 22.0], [30.0, 31.0, -2.0], [40.0, 41.0, 42.0]])  # north first


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_png_of_8_and_16_bit(tmp_path, dtype):
    grey = (np.arange(12).reshape(3, 4) * (np.iinfo(dtype).max // 11)).astype(dtype)
    Image.fromarray(grey).save(tmp_path / "hill.png")
    grid = terrain.load(tmp_path / "hill.png", spacing=0.5, scale=0.001, offset=-0.2)
    np.testing.assert_allclose(grid.heights, -0.2 + 0.001 * grey[::-1].astype(float), rtol=ROUND_OFF)
    assert grid.origin == (-0.75, -0.5)


def test_png_that_is_coloured_broken_or_not_there(tmp_path):
    Image.new("RGB", (4, 4)).save(tmp_path / "colour.png")
    (tmp_path / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\n but no more")
    Image.fromarray(np.random.default_rng(0).integers(0, 255, (64, 64), np.uint8)).save(tmp_path / "whole.png")
    (tmp_path / "cut.png").write_bytes((tmp_path / "whole.png").read_bytes()[:2000])
    Image.new("L", (1, 5)).save(tmp_path / "thin.png")
    cases = {
        "colour": "is of mode RGB: allowed is grey of 8 or 16 bit",
        "broken": "broken.png' is not readable",
        "cut": "cut.png' is not readable",
        "thin": r"heights have shape \(5, 1\)",
        "none": "none.png' does not exist",
    }
    for name, message in cases.items():
        with pytest.raises(InputError, match=message) as caught:
            terrain.from_png(tmp_path / f"{name}.png", 0.1, 0.01)
        assert "\n" not in str(caught.value)


HEADER = "ncols 3\nnrows 4\nxllcorner 100\nyllcorner 200\ncellsize 2\nNODATA_value -9999\n"


def ascii_rows(heights) -> str:
    return "".join(" ".join(f"{value!r}" for value in row) + "\n" for row in np.asarray(heights).tolist())


def test_esri_ascii_round_trip_with_corner_and_centre(tmp_path):
    file = tmp_path / "dem.asc"
    file.write_text(HEADER + ascii_rows(HEIGHTS))
    grid = terrain.load(file)
    assert np.array_equal(grid.heights, HEIGHTS[::-1])
    assert (grid.spacing, grid.origin) == (2.0, (-2.0, -3.0))
    placed = terrain.from_esri_ascii(file, origin="file")
    assert placed.origin == (101.0, 201.0)
    assert placed.height(105.0, 203.0) == -2.0
    file.write_text(HEADER.replace("llcorner", "LLCENTER").upper() + "\n" + ascii_rows(HEIGHTS))
    assert terrain.from_esri_ascii(file, origin="file").origin == (100.0, 200.0)
    assert terrain.from_esri_ascii(file, 0.5, scale=2, offset=1).height(-0.5, -0.75) == 81.0


def test_esri_ascii_nodata_is_refused_or_filled(tmp_path):
    holed = HEIGHTS.copy()
    holed[0, 0] = -9999
    file = tmp_path / "dem.asc"
    file.write_text(HEADER + ascii_rows(holed))
    with pytest.raises(InputError, match=r"no height at node \(row 3, column 0\) counted from the south-west, 1 of 12"):
        terrain.load(file)
    assert terrain.load(file, missing=5.0).heights[3, 0] == 5.0
    assert terrain.load(file, missing="nearest").heights[3, 0] in (11.0, 20.0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEADER + "1 2 3\n1 2\n1 2 3\n1 2 3\n", r"dem.asc:8: 2 columns: allowed are ncols = 3"),
        (HEADER + "1 2 3\n1 2 x\n1 2 3\n1 2 3\n", r"dem.asc:8: could not convert string to float: .*'x'"),
        (HEADER + "1 2 3\n1 2 3\n", "2 rows of heights: allowed are nrows = 4"),
        (HEADER + "1 2 3\n" * 5, r"dem.asc:11: more rows of heights than nrows = 4"),
        (HEADER + "1 2 3\n1 nan 3\n1 2 3\n1 2 3\n", r"no height at node \(row 2, column 1\)"),
        (HEADER + "1 2 3\n1 inf 3\n1 2 3\n1 2 3\n", r"height inf at node \(row 2, column 1\)"),
        (HEADER, "0 rows of heights"),
        (HEADER.replace("cellsize 2\n", "") + "1 2 3\n" * 4, "the header has no cellsize"),
        (
            HEADER.replace("cellsize 2", "cellsize 0") + "1 2 3\n" * 4,
            "cellsize = 0.0: allowed is a finite number above 0",
        ),
        (
            HEADER.replace("nrows 4", "nrows 1") + "1 2 3\n",
            "nrows = 1: allowed is an integer of at least 2",
        ),
        (HEADER.replace("nrows 4", "nrows 4.5") + "1 2 3\n" * 4, "nrows = 4.5: allowed is an integer"),
        (HEADER.replace("xllcorner 100\n", "") + "1 2 3\n" * 4, "neither xllcorner nor xllcenter"),
        (
            HEADER.replace("ncols 3", "ncols three") + "1 2 3\n" * 4,
            r"dem.asc:1: 'ncols three': allowed is KEY NUMBER",
        ),
        ("", "the header has no ncols"),
        ("\xff\xfe", "is not readable as ESRI ASCII"),
    ],
)
def test_a_bad_esri_ascii_file_says_where(tmp_path, text, message):
    file = tmp_path / "dem.asc"
    file.write_text(text, encoding="latin-1")
    with pytest.raises(InputError, match=message) as caught:
        terrain.from_esri_ascii(file)
    assert "\n" not in str(caught.value)


def write_tiff(file, heights, *, pixel=(2.0, 2.0), tie=(0.0, 0.0, 0.0, 100.0, 208.0, 0.0), keys=(), **more):
    """A GeoTIFF as a surveyor's tool writes it: pixel scale, tie point, key directory, GDAL's own tags."""
    info = TiffImagePlugin.ImageFileDirectory_v2()

    def tag(number, kind, value):
        info.tagtype[number] = kind
        info[number] = value

    double, short, text = 12, 3, 2
    if pixel:
        tag(33550, double, (*pixel, 0.0))
        tag(33922, double, tie)
    if "matrix" in more:
        tag(34264, double, more["matrix"])
    if keys:
        tag(
            34735,
            short,
            (1, 1, 0, len(keys), *(number for key, value in keys for number in (key, 0, 1, value))),
        )
    if "nodata" in more:
        tag(42113, text, more["nodata"])
    if "metadata" in more:
        tag(42112, text, more["metadata"])
    Image.fromarray(heights).save(file, tiffinfo=info)
    return file


METRES = ((1024, 1), (1025, 1), (3072, 32633))  # projected, pixel is area, UTM zone 33
FEET = ((1024, 1), (1025, 1), (3072, 2263))  # projected, pixel is area, New York Long Island in US survey feet
DEGREES = ((1024, 2), (1025, 1), (2048, 4326))  # geographic, pixel is area, WGS 84


@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.uint16, np.uint8])
def test_geotiff_round_trip(tmp_path, dtype):
    heights = np.abs(HEIGHTS).astype(dtype)
    file = write_tiff(tmp_path / "dem.tif", heights, keys=METRES)
    grid = terrain.load(file, origin="file")
    assert np.array_equal(grid.heights, heights[::-1])
    assert grid.spacing == 2.0
    assert grid.origin == pytest.approx((101.0, 201.0), rel=ROUND_OFF)
    centred = terrain.load(file, spacing=0.1, scale=0.5)
    assert centred.origin == pytest.approx((-0.1, -0.15), rel=ROUND_OFF)
    assert centred.height(-0.1, -0.15) == 20.0


def test_geotiff_whose_pixels_are_points(tmp_path):
    keys = ((1024, 1), (1025, 2), (3072, 32633))
    tie = (1.0, 1.0, 0.0, 100.0, 208.0, 0.0)
    file = write_tiff(tmp_path / "dem.tif", HEIGHTS.astype(np.float32), keys=keys, tie=tie)
    grid = terrain.from_geotiff(file, origin="file")
    assert grid.origin == pytest.approx((98.0, 204.0), rel=ROUND_OFF)
    assert grid.height(100.0, 208.0) == 21.0


def test_geotiff_with_a_transformation_matrix(tmp_path):
    matrix = (2.0, 0.0, 0.0, 100.0, 0.0, -2.0, 0.0, 208.0, *(0.0,) * 7, 1.0)
    file = write_tiff(tmp_path / "dem.tif", HEIGHTS.astype(np.float32), pixel=None, matrix=matrix, keys=METRES)
    grid = terrain.from_geotiff(file, origin="file")
    assert grid.origin == pytest.approx((101.0, 201.0), rel=ROUND_OFF)
    turned = (1.6, 1.2, 0.0, 100.0, 1.2, -1.6, 0.0, 208.0, *(0.0,) * 7, 1.0)
    file = write_tiff(tmp_path / "turned.tif", HEIGHTS.astype(np.float32), pixel=None, matrix=turned, keys=METRES)
    with pytest.raises(InputError, match="is a rotated raster: allowed is north up"):
        terrain.from_geotiff(file)


def test_geotiff_scale_offset_and_nodata_are_applied(tmp_path):
    metadata = (
        '<GDALMetadata><Item name="OFFSET" sample="0" role="offset">5</Item>'
        '<Item name="SCALE" sample="0" role="scale">0.1</Item></GDALMetadata>'
    )
    file = write_tiff(tmp_path / "dem.tif", HEIGHTS.astype(np.float32), keys=METRES, nodata="-2", metadata=metadata)
    with pytest.raises(InputError, match=r"no height at node \(row 1, column 2\)"):
        terrain.from_geotiff(file)
    grid = terrain.from_geotiff(file, missing=-1.0)
    assert grid.heights[1, 2] == -1.0
    assert grid.heights[0, 0] == pytest.approx(5 + 0.1 * 40, rel=ROUND_OFF)


def test_geotiff_nodata_is_compared_in_the_files_own_precision(tmp_path):
    heights = HEIGHTS.astype(np.float32)
    heights[0, 0] = np.float32(-3.4028235e38)
    file = write_tiff(tmp_path / "dem.tif", heights, keys=METRES, nodata="-3.4028235e+38")
    assert terrain.from_geotiff(file, missing=0.0).heights[3, 0] == 0.0


def test_geotiff_in_degrees_needs_the_size_of_the_body(tmp_path):
    plane = np.tile(np.arange(9, dtype=np.float32), (5, 1))
    file = write_tiff(tmp_path / "dem.tif", plane, pixel=(0.001, 0.001), tie=(0, 0, 0, 10.0, 60.0025, 0), keys=DEGREES)
    with pytest.raises(InputError, match="pixels in degrees: give body_radius"):
        terrain.from_geotiff(file)
    with pytest.raises(InputError, match="origin = 'file': allowed where the file itself is in metres"):
        terrain.from_geotiff(file, origin="file")
    radius = 1_737_400.0
    grid = terrain.from_geotiff(file, body_radius=radius)
    step_y = math.radians(0.001) * radius
    step_x = step_y * math.cos(math.radians(60.0))
    assert grid.spacing == pytest.approx(step_x, rel=1e-9)
    assert grid.size == pytest.approx((8 * step_x, 8 * step_x), rel=1e-9)
    assert grid.gradient(1.0, 2.0) == pytest.approx((1 / step_x, 0.0), abs=1e-9)


def test_geotiff_with_oblong_pixels_is_resampled(tmp_path):
    y, x = np.mgrid[0:5, 0:7]
    heights = (3.0 * x + 8.0 * y).astype(np.float32)
    file = write_tiff(tmp_path / "dem.tif", heights, pixel=(1.0, 4.0), keys=METRES)
    grid = terrain.from_geotiff(file)
    assert grid.spacing == 1.0
    assert grid.heights.shape == (17, 7)
    assert grid.gradient(0.3, 0.7) == pytest.approx((3.0, -2.0), abs=1e-9)


def test_geotiff_in_feet_wants_a_spacing(tmp_path):
    file = write_tiff(tmp_path / "dem.tif", HEIGHTS.astype(np.float32), keys=FEET)
    with pytest.raises(InputError, match="has pixels in US survey foot: give spacing"):
        terrain.from_geotiff(file)


def test_a_bad_geotiff_is_one_clear_line(tmp_path):
    plain = write_tiff(tmp_path / "plain.tif", HEIGHTS.astype(np.float32), pixel=None)
    Image.new("RGB", (4, 4)).save(tmp_path / "colour.tif")
    (tmp_path / "text.tif").write_text("no raster")
    south_up = (2.0, 0.0, 0.0, 100.0, 0.0, 2.0, 0.0, 208.0, *(0.0,) * 7, 1.0)
    upside = write_tiff(tmp_path / "up.tif", HEIGHTS.astype(np.float32), pixel=None, matrix=south_up, keys=METRES)
    cases = [
        (plain, {}, "does not say its pixel size: give spacing"),
        (tmp_path / "colour.tif", {}, "has 3 bands: allowed is one"),
        (tmp_path / "text.tif", {}, "is not readable"),
        (upside, {}, "is a rotated raster: allowed is north up"),
        (tmp_path / "none.tif", {}, "does not exist"),
        (plain, {"spacing": 0}, "spacing = 0"),
        (plain, {"scale": np.nan}, "scale = nan"),
    ]
    for file, options, message in cases:
        with pytest.raises(InputError, match=message) as caught:
            terrain.from_geotiff(file, **options)
        assert "\n" not in str(caught.value)


def test_a_geotiff_without_rasterio_says_which_extra_it_needs(tmp_path, monkeypatch):
    file = write_tiff(tmp_path / "dem.tif", HEIGHTS.astype(np.float32), keys=METRES)
    monkeypatch.setitem(sys.modules, "rasterio", None)
    with pytest.raises(InputError, match=r"dem\.tif' needs rasterio: pip install 'grouser\[geo\]'") as caught:
        terrain.load(file)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("scale", ["2 <METERS/PIXEL>", "2.0 <M/PIXEL>", "0.002 <KM/PIXEL>"])
def test_a_projected_pds_model_has_its_spacing_and_place(tmp_path, scale):
    """As the label says; a label whose offsets differ by lines and samples puts the same heights that far away."""
    heights = -2500 + np.arange(40.0 * 60).reshape(40, 60) / 8
    pds.write(tmp_path / "a.img", heights, scale, offset=(-1000.5, 200.5))
    grid = terrain.load(tmp_path / "a.img", origin="file")
    assert grid.spacing == pytest.approx(2.0)
    np.testing.assert_array_equal(grid.heights, heights[::-1])
    pds.write(tmp_path / "b.img", heights, scale, offset=(-1000.5 + 7, 200.5 - 3))
    moved = terrain.load(tmp_path / "b.img", origin="file").origin
    assert np.subtract(moved, grid.origin) == pytest.approx((2.0 * 3, 2.0 * 7))


def test_a_pds_model_with_a_gap_is_refused_or_filled(tmp_path):
    heights = np.full((40, 60), -2500.0, np.float32)
    heights[3, 4] = pds.MISSING
    pds.write(tmp_path / "a.img", heights)
    with pytest.raises(InputError, match=r"no height at node \(row 36, column 4\)"):
        terrain.load(tmp_path / "a.img")
    assert (terrain.load(tmp_path / "a.img", missing="nearest").heights == -2500).all()
