"""Terrain files that are small and mean much, name other files, or hold heights no ground has: refused in one line."""

from __future__ import annotations

import json
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from grouser import terrain
from grouser.errors import InputError
from grouser.terrain.checks import FARTHEST, HIGHEST
from grouser.terrain.gridding import MOST_NODES

HEADER = "ncols {}\nnrows {}\nxllcorner 0\nyllcorner 0\ncellsize 1\n"


def refusal(make) -> str:
    with pytest.raises(InputError) as caught:
        make()
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("kind", ["tif", "img", "npy", "npz", "png", "asc", "obj", "stl", "ply", "glb"])
def test_empty_files(tmp_path, kind):
    file = tmp_path / f"a.{kind}"
    file.touch()
    refusal(lambda: terrain.load(file, spacing=1.0))


# ---- heights and places no ground has ----------------------------------------------------------------


@pytest.mark.parametrize("height", [1e308, -1e308, 2 * HIGHEST])
def test_heights_no_ground_has(height):
    heights = np.zeros((3, 4))
    heights[1, 2] = height
    line = refusal(lambda: terrain.ElevationGrid(heights, 0.1, (0, 0)))
    assert f"height {height} at node (row 1, column 2)" in line
    assert f"{HIGHEST:g} m" in line


def test_heights_above_the_centre_of_a_planet_are_taken():
    mars = 3_389_500.0  # [m] maps of radii hold such numbers
    assert terrain.ElevationGrid(np.full((2, 2), mars), 1.0, (0, 0)).height(0.5, 0.5) == mars


@pytest.mark.parametrize("scale", [1e308, 1e300])
def test_heights_that_a_scale_makes_too_large(tmp_path, scale):
    np.save(tmp_path / "a.npy", np.ones((3, 3)))
    assert f"{HIGHEST:g} m" in refusal(lambda: terrain.load(tmp_path / "a.npy", spacing=1.0, scale=scale))


@pytest.mark.parametrize(
    ("spacing", "origin", "word"),
    [(1e-300, (0, 0), "spacing"), (1e300, (0, 0), "spacing"), (1.0, (1e308, 0), "origin"), (1.0, (0, -2e9), "origin")],
)
def test_places_no_ground_has(spacing, origin, word):
    assert FARTHEST < 2e9
    assert word in refusal(lambda: terrain.ElevationGrid(np.zeros((3, 3)), spacing, origin))


# ---- small files that mean much ----------------------------------------------------------------------


@pytest.mark.parametrize("size", [("1e9", "1e9"), ("1e9", "2"), ("2", "1e300"), ("inf", "2"), ("nan", "2")])
def test_an_ascii_grid_of_a_billion_columns(tmp_path, size):
    file = tmp_path / "a.asc"
    file.write_text(HEADER.format(*size) + "1 2\n3 4\n")
    line = refusal(lambda: terrain.load(file))
    assert str(MOST_NODES) in line or "integer" in line


def test_an_npz_that_unpacks_to_gigabytes(tmp_path):
    """The archive's own list of sizes is looked at; nothing is unpacked."""
    file = tmp_path / "a.npz"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        with archive.open("heights.npy", "w", force_zip64=True) as member:
            header = {"descr": "<f8", "fortran_order": False, "shape": (20_000, 20_000)}
            np.lib.format.write_array_header_1_0(member, header)
            member.write(bytes(1000))
    content = bytearray(file.read_bytes())
    entry = content.rindex(b"PK\1\2")  # size in the archive's directory: 3.2 GB
    content[entry + 24 : entry + 28] = (3_200_000_000).to_bytes(4, "little")
    file.write_bytes(content)
    assert "unpacks to 3.2 GB" in refusal(lambda: terrain.load(file, spacing=1.0))


@pytest.mark.parametrize("dtype", ["<f8", "|i1"])
def test_an_array_file_that_claims_more_than_it_holds(tmp_path, dtype):
    file = tmp_path / "a.npy"
    with file.open("wb") as opened:
        header = {"descr": dtype, "fortran_order": False, "shape": (1_000_000, 1_000_000)}
        np.lib.format.write_array_header_1_0(opened, header)
    assert str(MOST_NODES) in refusal(lambda: terrain.load(file, spacing=1.0))


def test_an_array_of_too_many_nodes_is_refused_before_it_is_converted():
    heights = np.broadcast_to(np.zeros(1, np.int8), (20_000, 20_000))
    assert str(MOST_NODES) in refusal(lambda: terrain.from_array(heights, 1.0))


def test_a_picture_of_too_many_pixels(tmp_path):
    file = tmp_path / "a.png"
    Image.new("L", (16, 16)).save(file)
    content = bytearray(file.read_bytes())
    content[16:24] = (20_000).to_bytes(4, "big") * 2  # width and height in IHDR
    import zlib

    content[29:33] = zlib.crc32(content[12:29]).to_bytes(4, "big")
    file.write_bytes(content)
    refusal(lambda: terrain.load(file, spacing=1.0, scale=1.0))


def test_a_geotiff_of_too_many_pixels(tmp_path):
    file = tmp_path / "a.tif"
    Image.new("F", (16, 16)).save(file)
    content = bytearray(file.read_bytes())
    first = int.from_bytes(content[4:8], "little") + 2
    for entry in range(first, first + 24, 12):
        if int.from_bytes(content[entry : entry + 2], "little") in (256, 257):  # ImageWidth, ImageLength
            content[entry + 2 : entry + 4] = (4).to_bytes(2, "little")
            content[entry + 8 : entry + 12] = (100_000).to_bytes(4, "little")
    file.write_bytes(content)
    refusal(lambda: terrain.from_geotiff(file, 1.0))


def geotiff(file: Path, step_x: float, step_y: float) -> Path:
    """A GeoTIFF with pixels of this size."""
    from PIL.TiffImagePlugin import ImageFileDirectory_v2

    info = ImageFileDirectory_v2()
    for tag, value in {33550: (step_x, step_y, 0.0), 33922: (0.0,) * 6}.items():
        info[tag], info.tagtype[tag] = value, 12
    Image.new("F", (16, 16)).save(file, tiffinfo=info)
    return file


def test_pixels_so_oblong_that_square_ones_are_too_many(tmp_path):
    file = geotiff(tmp_path / "a.tif", 1.0, 1e-9)
    assert str(MOST_NODES) in refusal(lambda: terrain.from_geotiff(file))


@pytest.mark.parametrize("side", [np.nan, np.inf])
def test_pixels_whose_size_is_not_a_number(tmp_path, side):
    file = geotiff(tmp_path / "a.tif", side, 1.0)
    assert "allowed are positive sizes" in refusal(lambda: terrain.from_geotiff(file))


# ---- files that name other files ---------------------------------------------------------------------


def plain_tiff(file: Path) -> Path:
    Image.fromarray(np.ones((4, 4), np.float32)).save(file)
    return file


VRT = (
    '<VRTDataset rasterXSize="4" rasterYSize="4"><VRTRasterBand dataType="Float32" band="1"><SimpleSource>'
    '<SourceFilename relativeToVRT="0">{}</SourceFilename><SourceBand>1</SourceBand></SimpleSource>'
    "</VRTRasterBand></VRTDataset>"
)


@pytest.mark.parametrize("ending", [".tif", ".img"])
def test_a_vrt_under_another_name_opens_nothing(tmp_path, ending):
    file = tmp_path / f"a{ending}"
    file.write_text(VRT.format(plain_tiff(tmp_path / "other.tif")))
    line = refusal(lambda: terrain.from_geotiff(file, 1.0))
    assert "not readable" in line
    assert "vsimem" not in line


PDS = "PDS_VERSION_ID = PDS3\nRECORD_TYPE = FIXED_LENGTH\nRECORD_BYTES = 4\nFILE_RECORDS = 68\n{}\n"
PDS += (
    "OBJECT = IMAGE\nLINES = 4\nLINE_SAMPLES = 4\nSAMPLE_TYPE = LSB_INTEGER\nSAMPLE_BITS = 8\nEND_OBJECT = IMAGE\nEND\n"
)


def test_a_pds_picture_in_one_file_is_read(tmp_path):
    file = tmp_path / "a.img"
    file.write_bytes(PDS.format("^IMAGE = 129").encode().ljust(512) + bytes(range(1, 17)))
    heights = terrain.from_geotiff(file, 1.0).heights
    np.testing.assert_array_equal(heights, np.arange(1.0, 17.0).reshape(4, 4)[::-1])


@pytest.mark.parametrize(
    "pointer",
    ['^IMAGE = "OTHER.DAT"', '^IMAGE = ("OTHER.DAT", 1)', "^IMAGE\n =\n (\n'OTHER.DAT')", '^image = "OTHER.DAT"'],
)
def test_a_pds_label_that_names_another_file(tmp_path, pointer):
    (tmp_path / "OTHER.DAT").write_bytes(bytes(range(1, 17)))
    file = tmp_path / "a.img"
    file.write_text(PDS.format(pointer))
    assert "refers to another file" in refusal(lambda: terrain.from_geotiff(file, 1.0))


def test_a_file_beside_a_pds_picture_is_not_read(tmp_path):
    """GDAL takes the projection from a .prj where there is one: in degrees the pixels would have no size in metres."""
    mapped = "OBJECT = IMAGE_MAP_PROJECTION\nMAP_SCALE = 2 <M/PIXEL>\nEND_OBJECT = IMAGE_MAP_PROJECTION\n^IMAGE = 129"
    file = tmp_path / "a.img"
    file.write_bytes(PDS.format(mapped).encode().ljust(512) + bytes(range(1, 17)))
    (tmp_path / "a.prj").write_text(
        'GEOGCS["x",DATUM["x",SPHEROID["x",1000000,0]],PRIMEM["x",0],UNIT["degree",0.0174]]'
    )
    assert terrain.from_geotiff(file).spacing == 2.0


@pytest.mark.parametrize("pointer", ["^IMAGE = 129", "^IMAGE = 513 <BYTES>", "^image = 129"])
def test_a_pds_picture_that_is_cut_off(tmp_path, pointer):
    """GDAL would read what is missing as zeros, or as nothing known."""
    whole = PDS.format(pointer).encode().ljust(512) + bytes(range(1, 17))
    file = tmp_path / "a.img"
    file.write_bytes(whole)
    assert terrain.from_geotiff(file, 1.0).heights.min() == 1.0
    file.write_bytes(whole[:-1])
    line = refusal(lambda: terrain.from_geotiff(file, 1.0))
    assert "is cut off: it has 527 bytes of 528" in line


def test_files_beside_a_geotiff_are_not_read(tmp_path):
    file = plain_tiff(tmp_path / "a.tif")
    (tmp_path / "a.tif.aux.xml").write_text(
        '<PAMDataset><PAMRasterBand band="1"><Offset>5</Offset><Scale>7</Scale></PAMRasterBand></PAMDataset>'
    )
    (tmp_path / "a.tfw").write_text("2\n0\n0\n-2\n0\n0\n")
    assert terrain.from_geotiff(file, 1.0).heights.max() == 1.0
    assert "pixel size" in refusal(lambda: terrain.from_geotiff(file))


def test_a_mesh_that_keeps_its_vertices_in_another_file(tmp_path):
    """A GLB may name files; only its own bytes are read."""
    corners = struct.pack("<9f", 0, 0, 0, 4, 0, 0, 0, 4, 0)
    (tmp_path / "other.bin").write_bytes(corners)
    parts = {
        "asset": {"version": "2.0"},
        "buffers": [{"byteLength": len(corners), "uri": "other.bin"}],
        "bufferViews": [{"buffer": 0, "byteLength": len(corners)}],
        "accessors": [{"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3"}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}],
        "nodes": [{"mesh": 0}],
        "scenes": [{"nodes": [0]}],
        "scene": 0,
    }
    text = json.dumps(parts).encode()
    text = text.ljust(-(-len(text) // 4) * 4)
    file = tmp_path / "a.glb"
    file.write_bytes(b"glTF" + struct.pack("<IIII", 2, 20 + len(text), len(text), 0x4E4F534A) + text)
    assert "not readable" in refusal(lambda: terrain.load(file, spacing=1.0, missing=0.0))
