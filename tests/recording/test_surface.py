"""The ground at a time: the first terrain, with the latest patch of each tile laid over it."""

import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from grouser.errors import InputError
from grouser.recording import Recording, RecordingWriter
from grouser.recording.schema import TILE_HEIGHT_STEP
from tests.recording.samples import PLACEMENT, SPACING, TILE, Clock, Slope, header, height, sample

ROOT = Path(__file__).parents[2]
FLOAT32 = 1e-7  # m, heights of at most 1 m kept as float32
ROUNDING = TILE_HEIGHT_STEP / 2


@pytest.fixture
def recording(tmp_path):
    """Tile (1, 2) is pressed at 1 s and deeper at 2 s, tile (3, 4) at 3 s; world 0."""
    with sample(tmp_path / "a.h5", Clock()) as writer:
        for time, row, column, value in ((1.0, 1, 2, -0.1), (2.0, 1, 2, -0.2), (3.0, 3, 4, -0.3)):
            index = np.array([[row, column]], np.int32)
            writer.append_tiles(time, 0, index, np.full((1, TILE, TILE), value, np.float32))
    with Recording(tmp_path / "a.h5") as opened:
        yield opened


def value_at(surface, x, y):
    xs, ys, heights, _ = surface
    return heights[np.argmin(abs(ys - y)), np.argmin(abs(xs - x))]


def centre(row, column):
    return (
        PLACEMENT["origin"][0] + SPACING * (column * TILE + TILE // 2),
        PLACEMENT["origin"][1] + SPACING * (row * TILE + TILE // 2),
    )


def test_terrain_comes_back(recording):
    origin, spacing, heights = recording.terrain()
    assert (origin, spacing) == (Slope().origin, Slope().spacing)
    np.testing.assert_allclose(heights, Slope().heights, atol=FLOAT32)


def test_first_heights_are_bilinear(recording):
    x, y, heights, first = recording.surface_at(0.0)
    np.testing.assert_allclose(first, height(x[None, :], y[:, None]), atol=FLOAT32)
    np.testing.assert_array_equal(heights, first)


@pytest.mark.parametrize(("time", "pressed", "later"), [(1.5, -0.1, None), (2.0, -0.2, None), (math.inf, -0.2, -0.3)])
def test_latest_patch_counts(recording, time, pressed, later):
    surface = recording.surface_at(time)
    assert value_at(surface, *centre(1, 2)) == pytest.approx(pressed, abs=ROUNDING)
    expected = height(*centre(3, 4)) if later is None else later
    assert value_at(surface, *centre(3, 4)) == pytest.approx(expected, abs=ROUNDING)


def test_a_patch_covers_its_tile_and_nothing_else(recording):
    x, y, heights, first = recording.surface_at(1.5, (-1.0, 3.0, -0.5, 1.5))
    assert (len(x), len(y)) == (PLACEMENT["nx"], PLACEMENT["ny"])
    inside = np.zeros(heights.shape, bool)
    inside[TILE : 2 * TILE, 2 * TILE : 3 * TILE] = True
    np.testing.assert_allclose(heights[inside], -0.1, atol=ROUNDING)
    np.testing.assert_array_equal(heights[~inside], first[~inside])


def test_default_region_is_what_was_touched(recording):
    x, y, _, _ = recording.surface_at()
    margin = SPACING * TILE / 2
    left, bottom = (PLACEMENT["origin"][0] + 2 * TILE * SPACING, PLACEMENT["origin"][1] + TILE * SPACING)
    assert (x[0], y[0]) == pytest.approx((left - margin, bottom - margin))
    assert x[-1] == pytest.approx(PLACEMENT["origin"][0] + 5 * TILE * SPACING + margin)


def test_thinned_to_a_number_of_nodes(recording):
    region = (-1.0, 3.0, -0.5, 1.5)
    x, y, heights, _ = recording.surface_at(math.inf, region, max_nodes=500)
    assert 100 < heights.size <= 500
    full_x, full_y, full, _ = recording.surface_at(math.inf, region)
    stride = round((x[1] - x[0]) / SPACING)
    assert stride > 1
    np.testing.assert_array_equal(heights, full[::stride, ::stride])
    np.testing.assert_array_equal(y, full_y[::stride])


def test_region_outside_or_empty_is_refused(recording):
    with pytest.raises(InputError, match="outside the terrain"):
        recording.surface_at(0.0, (50.0, 60.0, 0.0, 1.0))
    with pytest.raises(InputError, match="x0 < x1"):
        recording.surface_at(0.0, (1.0, 0.0, 0.0, 1.0))


def test_a_square_kilometre_of_two_nodes(tmp_path):
    """Fine nodes everywhere would be 1e10; only the touched part is made."""

    class Plane:
        heights, spacing, origin = np.zeros((2, 2)), 1000.0, (0.0, 0.0)

    tiles = {"spacing": 0.01, "origin": [0.0, 0.0], "nx": 100_001, "ny": 100_001, "size": 32}
    with RecordingWriter(tmp_path / "a.h5", header(tiles=tiles), [], terrain=Plane()) as writer:
        writer.append_tiles(0.0, 0, np.array([[1000, 2000]]), np.full((1, 32, 32), -0.05))
    with Recording(tmp_path / "a.h5") as recording:
        x, y, heights, _ = recording.surface_at()
        assert heights.size < 5000
        assert heights.min() == pytest.approx(-0.05, abs=ROUNDING)
        assert x[0] == pytest.approx(639.84)
        assert recording.surface_at(0.0, (0.0, 1000.0, 0.0, 1000.0), max_nodes=10_000)[2].size <= 10_000


def test_without_tiles_the_terrain_itself(tmp_path):
    with RecordingWriter(tmp_path / "a.h5", header(), [], terrain=Slope()):
        pass
    with Recording(tmp_path / "a.h5") as recording:
        x, y, heights, first = recording.surface_at()
        np.testing.assert_allclose(heights, Slope().heights, atol=FLOAT32)
        np.testing.assert_array_equal(heights, first)
        assert (len(x), len(y)) == (9, 5)


def test_without_terrain(tmp_path):
    with RecordingWriter(tmp_path / "a.h5", header(), []):
        pass
    with Recording(tmp_path / "a.h5") as recording, pytest.raises(InputError, match="holds no terrain"):
        recording.surface_at()


def test_worlds_have_ground_of_their_own(tmp_path):
    clock = Clock(worlds=2)
    with sample(tmp_path / "a.h5", clock) as writer:
        writer.append_tiles(1.0, 1, np.array([[1, 2]]), np.full((1, TILE, TILE), -0.5))
    with Recording(tmp_path / "a.h5") as recording:
        assert value_at(recording.surface_at(world=1), *centre(1, 2)) == pytest.approx(-0.5, abs=ROUNDING)
        assert value_at(recording.surface_at(world=0), *centre(1, 2)) == pytest.approx(height(*centre(1, 2)))


def test_tiles_between_times_in_order(recording):
    found = [(time, place, float(heights[0, 0])) for time, place, heights in recording.tiles_between(1.0, 3.0)]
    assert [(time, place) for time, place, _ in found] == [(2.0, (1, 2)), (3.0, (3, 4))]
    assert [value for _, _, value in found] == pytest.approx([-0.2, -0.3], abs=ROUNDING)


def test_patches_written_between_two_reads_of_a_growing_file(tmp_path, monkeypatch):
    """The writer may be faster than one look at all datasets: a patch counts once all of it is seen."""
    path, before = tmp_path / "a.h5", Recording._growing

    def disturbed(self):
        for dataset in before(self):
            yield dataset
            press()

    def press():
        run.stdin.write("press\n")
        run.stdin.flush()
        assert run.stdout.readline() == "pressed\n"

    command = [sys.executable, "-m", "tests.recording.pressing_run", str(path)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as run:
        press()
        with Recording(path) as growing:
            assert len(growing.tile_time()) == 1
            monkeypatch.setattr(Recording, "_growing", disturbed)
            growing.refresh()
            count = len(growing.tile_time())
            assert count > 1, "patches were added meanwhile"
            assert len(growing.tile_world()) == count
            assert len(growing.tile_index()) == count
            assert value_at(growing.surface_at(), *centre(1, 2)) == pytest.approx(-0.1, abs=ROUNDING)
        run.stdin.close()
    assert run.returncode == 0
