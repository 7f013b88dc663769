"""`traverse`: its ground, a short drive, and a kilometre at night."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

import grouser
from grouser.errors import InputError
from grouser.recording import Recording
from grouser.report.route import pieces
from grouser.scenarios import traverse_ground as terrain
from grouser.scenarios import traverse_rocks
from grouser.scenarios.traverse import PER_RUT, RUTS, Traverse
from grouser.terrain.rocks import RockField
from grouser.viewer.ground import MOST_CELLS, GroundView
from tests.terrain import pds

CHANCE = 1e-4  # of a right number of rocks falling outside the bounds, for one seed
UNDER_ROCKS = 0.002  # of load share, power and distance: soil is met under the rim of a rock only, to its penetration
STEP_SLIP, STEP_SINKAGE = 1e-3, 0.02  # error of the step: a tenth of a percentage point, and relative
LARGEST_FILE = 100e6  # [bytes] of the recording of a kilometre


def slopes_deg(grid) -> np.ndarray:
    return np.degrees(np.arctan(np.hypot(*np.gradient(grid.heights, grid.spacing))))


def test_the_ground_is_the_model_with_roughness_and_the_same_for_a_shorter_drive():
    s = Traverse()
    model, ground = terrain.default_model(), s.ground()
    rows, columns = (round((ground.origin[k] - model.origin[k]) / model.spacing) for k in (1, 0))
    coarse = ground.heights[::25, ::25]
    part = model.heights[rows : rows + coarse.shape[0], columns : columns + coarse.shape[1]]
    # Added waves have no mean and are lower than what differs between neighbours.
    assert abs(float((coarse - part).mean())) < 0.1 * s.roughness.law(model).at(model.spacing)
    assert float((coarse - part).std()) < s.roughness.law(model).at(model.spacing)
    assert np.array_equal(Traverse(length=5.0).ground().heights, ground.heights)
    assert np.percentile(slopes_deg(ground), 99) < 20, "sand carries a rover up"


def write_geotiff(file, heights) -> None:
    rasterio = pytest.importorskip("rasterio")
    transform = rasterio.transform.from_origin(1000.0, 9000.0, 2.0, 2.0)
    rows, columns = heights.shape
    with rasterio.open(
        file, "w", driver="GTiff", height=rows, width=columns, count=1, dtype="float32", crs="EPSG:32633",
        transform=transform,
    ) as out:  # fmt: skip
        out.write(heights, 1)


@pytest.mark.parametrize(("name", "write"), [("model.tif", write_geotiff), ("model.img", pds.write)])
def test_a_projected_model_is_driven_over_where_it_lies(tmp_path, name, write):
    """An elevation model with projected metres: the ground has its heights at its nodes, less the short waves."""
    file = tmp_path / name
    y, x = np.mgrid[0:40, 0:60]
    heights = (500 + 0.4 * np.sin(x / 3) + 0.02 * y).astype(np.float32)
    write(file, heights)
    s = Traverse(
        terrain={"file": file}, waypoints=((-40.0, 0.0), (40.0, 3.0)), roughness={"deviation": 0.0, "hurst": 0.5}
    )
    ground = s.ground()
    assert ground.spacing == 0.2
    at = ground.heights[::10, ::10]
    west, south = (round((ground.origin[k] + size) / 2.0) for k, size in ((0, 59.0), (1, 39.0)))
    assert at == pytest.approx(heights[::-1][south : south + at.shape[0], west : west + at.shape[1]], abs=1e-4)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"waypoints": ((0.0, 0.0), (2000.0, 0.0))}, "nearer than 8 m to the border"),
        ({"roughness": {"spacing": 0.05}}, "allowed are 1e"),
        ({"roughness": {"spacing": 0.3}}, "whole fraction"),
        ({"speed": 0.9}, "rover.drive_speed"),
    ],
)
def test_what_cannot_be_driven_is_refused(given, said):
    from grouser.scenarios.traverse import build

    with pytest.raises(InputError, match=said):
        build(Traverse(**given))


def test_rocks_lie_along_the_way_by_their_law_and_a_shorter_drive_meets_the_same():
    s = Traverse(rocks={}, length=60.0)
    ground = s.ground()
    rocks = s.rocks_on(ground)
    p, law = s.parameters, s.rocks.sizes()
    strip = 60.0 * (p.track + p.wheel_width + 2 * traverse_rocks.BESIDE)
    low, high = scipy.stats.poisson.interval(1 - CHANCE, law.density() * strip)
    assert low < len(rocks) < high + 2 * 0.2 / 2.0 * len(rocks), "those that only reach into the strip come on top"
    assert all(0.1 <= rock.diameter <= 0.2 for rock in rocks)
    level = [rock.position[2] - ground.height(*rock.position[:2]) for rock in rocks]
    assert np.abs(level).max() < 0.1, "on the ground, which is metres higher and lower"
    fewer = Traverse(rocks={}, length=20.0).rocks_on(ground)
    at = [{(r.diameter, *r.position.tolist()) for r in found} for found in (fewer, rocks)]
    assert at[0] < at[1]
    half = [traverse_rocks.share_over_rocks(rocks[::k], s.way, ground, p) for k in (1, 2)]
    assert half[0] > half[1] > 0
    assert Traverse().rocks_on(ground) == ()


def test_pieces_of_a_route_have_means_and_rates():
    along, energy = np.array([0.0, 0.0, 1.0, 2.0, 4.0]), np.array([0.0, 0.0, 10.0, 20.0, 60.0])
    ends, rate = pieces(along, energy, 2.0, rate=True)
    assert ends.tolist() == [0.0, 2.0, 4.0]
    assert rate.tolist() == [10.0, 20.0]
    _, mean = pieces(along, np.array([0.0, 1.0, 1.0, 3.0, 3.0]), 4.0, rate=False)
    assert mean.tolist() == [pytest.approx((1 * 0.5 + 1 * 2 + 2 * 3) / 4)], "at rest the last value counts"


@pytest.mark.long
def test_a_short_drive(tmp_path):
    run = grouser.run("traverse", length=1.0, out=tmp_path / "run")
    assert run.metrics["arrived"]
    assert run.metrics["distance_m"] == pytest.approx(1.0, abs=0.1)
    assert run.metrics["climb_m"] < 0.2
    assert {"energy-map.png", "slip-map.png"} <= {file.name for file in (tmp_path / "run" / "figures").iterdir()}


@pytest.mark.long
def test_the_chosen_step_is_nearly_as_good_as_a_short_one(tmp_path):
    """Parts of 1/8 cell in a long step are not: a wheel that rolls then slips too much."""

    def driven(name: str, **settings) -> np.ndarray:
        run = grouser.run("traverse", settings, length=4.0, out=tmp_path / name, report=False)
        return np.array([run.metrics[key] for key in ("slip_mean", "sinkage_mean_m")])

    fine = driven("fine", step=1e-3)
    chosen, wrong = driven("chosen"), driven("wrong", step=8e-3, part_travel=0.125)
    assert chosen[0] == pytest.approx(fine[0], abs=STEP_SLIP)
    assert chosen[1] == pytest.approx(fine[1], rel=STEP_SINKAGE)
    assert abs(wrong[0] - fine[0]) > STEP_SLIP


@pytest.mark.long
def test_soil_under_rocks_carries_next_to_nothing(monkeypatch, tmp_path):
    """A traverse leaves the soil under its rocks: as the sand of `rocks-and-sand` without the gaps for them."""
    shares = []
    for whole in (False, True):
        if whole:
            monkeypatch.setattr(RockField, "masked", lambda field, ground: ground)
        run = grouser.run("rocks-and-sand", time=20.0, speed=0.03, out=tmp_path / str(whole), report=False)
        shares.append([run.metrics[name] for name in ("rock_load_share", "drive_power_mean_W", "distance_m")])
    assert shares[0][0] > 0.1
    assert shares[1] == pytest.approx(shares[0], rel=UNDER_ROCKS)
    assert shares[1] != shares[0]


@pytest.mark.nightly
def test_a_kilometre(tmp_path):
    run = grouser.run("traverse", length=1000.0, out=tmp_path / "run")
    assert run.metrics["arrived"]
    file = tmp_path / "run" / "recording.h5"
    assert file.stat().st_size < LARGEST_FILE
    with Recording(file) as recording:
        memory, way = recording["ground/memory"], recording["travel/distance"]
        late = way > 500
        low = [memory[late & (way > start) & (way < start + 100)].min() for start in (500, 900)]
        assert (low[1] - low[0]) / 0.4 < RUTS * PER_RUT, "MB a kilometre"
        view = GroundView(recording)
        assert sum(view._is_touched(cell) for cell in view.cells if cell.level <= view.detail) <= MOST_CELLS
