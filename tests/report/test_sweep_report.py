"""Tables, figures and page of a sweep, from a folder written by hand."""

from __future__ import annotations

import csv
import itertools
import json
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from grouser.errors import InputError
from grouser.report.sweep import figures, read_table, write_sweep_report
from grouser.report.sweep.table import SweepTable


def metric(value, unit="N", passed=None) -> dict:
    return {"value": value, "unit": unit, "expected": None, "tolerance": None, "source": None, "pass": passed}


def folder(tmp_path: Path, points: list[dict], metrics=(), method="grid", units=None) -> Path:
    """A sweep whose pull is 100 r + 10 w; a case without an answer has failed, one with None has not been run."""
    names = [f"{k:04}" for k in range(1, len(points) + 1)]
    parameters = [{"path": path, "unit": (units or {}).get(path, "1")} for path in points[0]]
    about = {
        "title": "my <sweep>", "scenario": "single-wheel", "version": "1", "method": method, "seed": 3, "digest": "d",
        "parameters": parameters, "metrics": list(metrics), "recordings": False, "rate": 100.0,
        "cases": [{"name": name, "seed": 1, "parameters": point} for name, point in zip(names, points, strict=True)],
    }  # fmt: skip
    (tmp_path / "cases").mkdir()
    (tmp_path / "sweep.json").write_text(json.dumps(about))
    for name, point in zip(names, points, strict=True):
        numbers = [value for value in point.values() if isinstance(value, float)]
        found = {
            "case": name, "status": "complete", "reason": "", "digest": "d", "parameters": point, "wall_s": 0.5,
            "settings": {"wheel": {"radius": numbers[0]}, "soil": {"name": "clay"}},
            "metrics": {
                "pull_N": metric(100 * numbers[0] + 10 * numbers[-1]),
                "fits": metric(True, "1", passed=False),
                "forces": metric([1.0, 2.0]),
                "real_time_factor": metric(9.0, "1"),
            },
        }  # fmt: skip
        (tmp_path / "cases" / f"{name}.json").write_text(json.dumps(found))
    return tmp_path


GRID = [{"wheel.radius": r, "wheel.width": w} for r, w in itertools.product((0.1, 0.2, 0.3), (1.0, 2.0))]
UNITS = {"wheel.radius": "m", "wheel.width": "m"}


@pytest.fixture
def sweep(tmp_path) -> Path:
    """A grid of six of which the fourth failed and the sixth was not run."""
    place = folder(tmp_path, GRID, units=UNITS)
    failed = {"status": "failed", "reason": "it | <flew>\taway", "digest": "d"}
    (place / "cases/0004.json").write_text(json.dumps(failed))
    (place / "cases/0006.json").unlink()
    return place


def test_rows_are_the_cases_in_order(sweep):
    table = read_table(sweep)
    assert [row.status for row in table.rows] == ["complete", "complete", "complete", "failed", "complete", "missing"]
    assert [row.metrics["pull_N"] for row in table.complete] == pytest.approx([20, 30, 30, 40])
    assert table.failed == {"0004": "it | <flew>\taway"}
    assert table.steps == {"wheel.radius": [0.1, 0.2, 0.3], "wheel.width": [1.0, 2.0]}
    assert table.drawn_metrics() == ["pull_N"], "numbers only, and timings only where they are asked for"


def test_a_result_of_another_sweep_is_none(sweep):
    found = json.loads((sweep / "cases/0001.json").read_text())
    (sweep / "cases/0001.json").write_text(json.dumps(found | {"digest": "another"}))
    assert read_table(sweep).rows[0].status == "missing"


def test_csv_has_all_digits_and_every_case(sweep):
    write_sweep_report(sweep)
    with (sweep / "table.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == [
        "case", "status", "wheel.radius", "wheel.width", "pull_N", "fits", "forces", "real_time_factor", "missed",
        "wall_s", "reason",
    ]  # fmt: skip
    assert [row["case"] for row in rows] == ["0001", "0002", "0003", "0004", "0005", "0006"]
    assert float(rows[4]["pull_N"]) == 100 * 0.3 + 10 * 1.0
    assert (rows[0]["forces"], rows[0]["fits"], rows[0]["missed"]) == ("[1.0, 2.0]", "true", "fits")
    assert (rows[3]["status"], rows[3]["reason"], rows[3]["pull_N"]) == ("failed", "it | <flew>\taway", "")


def test_a_metric_named_like_a_parameter_has_a_column_of_its_own(tmp_path):
    table = read_table(folder(tmp_path, [{"pull_N": 0.1}, {"pull_N": 0.2}]))
    first, second = csv.DictReader(table.csv().splitlines())
    assert (first["pull_N"], second["pull_N"]) == ("0.1", "0.2")
    assert float(second["pull_N (metric)"]) == pytest.approx(22)


def test_parquet_has_types_and_units(sweep):
    from pyarrow import parquet

    write_sweep_report(sweep)
    table = parquet.read_table(sweep / "table.parquet")
    with (sweep / "table.csv").open(newline="") as file:
        assert table.column_names == next(csv.reader(file))
    assert table["pull_N"].to_pylist() == [20.0, 30.0, 30.0, None, 40.0, None]
    assert table["fits"].to_pylist() == [True, True, True, None, True, None]
    assert table["forces"].to_pylist()[0] == "[1.0, 2.0]"
    assert table["status"].to_pylist()[3:] == ["failed", "complete", "missing"]
    kinds = {name: str(table.schema.field(name).type) for name in ("case", "wheel.radius", "pull_N", "fits", "wall_s")}
    assert kinds == {"case": "string", "wheel.radius": "double", "pull_N": "double", "fits": "bool", "wall_s": "double"}
    units = [table.schema.field(name).metadata[b"unit"] for name in ("wheel.radius", "pull_N")]
    assert units == [b"m", b"N"]


def test_parquet_is_left_out_without_pyarrow(sweep, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    write_sweep_report(sweep)
    assert not (sweep / "table.parquet").exists()
    assert (sweep / "table.csv").exists()


def test_markdown_has_units_and_escapes(sweep):
    write_sweep_report(sweep)
    lines = (sweep / "table.md").read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith("| case | status | wheel.radius [m] | wheel.width [m] | pull_N |")
    assert lines[2].startswith("| 0001 | complete | 0.1 | 1 | 20 |")
    assert "it \\| <flew>" in lines[5]
    assert len(lines) == 2 + 6
    assert len({line.replace("\\|", "").count("|") for line in lines}) == 1


class Page(HTMLParser):
    """Checks that tags are closed in order, and keeps the text."""

    def __init__(self, text: str):
        super().__init__()
        self.open, self.text = [], ""
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        if tag not in ("meta", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def test_the_page_has_everything_in_it(sweep):
    page = Page(write_sweep_report(sweep).read_text(encoding="utf-8"))
    assert "my <sweep>" in page.text
    assert "4 of 6 cases complete" in page.text
    assert "it | <flew>" in page.text
    assert "1 not run" in page.text
    assert "soil.name" in page.text, "settings that all cases share"
    source = (sweep / "sweep.html").read_text(encoding="utf-8")
    assert source.count("data:image/png;base64") == 2
    assert "http" not in source


def test_a_grid_of_two_parameters_has_a_map(sweep):
    write_sweep_report(sweep)
    files = {file.name: file for file in (sweep / "figures").iterdir()}
    assert sorted(files) == ["pull_N-map.png", "pull_N.png"]
    for file in files.values():
        picture = np.asarray(Image.open(file).convert("L"))
        assert picture.std() > 10, "something is drawn"


def drawn(table: SweepTable, name: str) -> figures.Figure:
    from matplotlib.figure import Figure

    figure = Figure()
    if name == "map":
        figures._map(figure, table, "pull_N", table.parameters)
    else:
        figures._panels(figure, table, "pull_N", table.parameters)
    return figure


def test_cells_of_the_map_are_the_cases(sweep):
    axes = drawn(read_table(sweep), "map").axes[0]
    values = axes.images[0].get_array()
    assert values.shape == (2, 3)
    assert values.filled(np.nan) == pytest.approx(np.array([[20, 30, 40], [30, np.nan, np.nan]]), nan_ok=True)
    assert [label.get_text() for label in axes.get_xticklabels()] == ["0.1", "0.2", "0.3"]


def test_lines_join_cases_that_differ_in_one_parameter_only(tmp_path):
    table = read_table(folder(tmp_path, GRID, units=UNITS))
    first = drawn(table, "panels").axes[0]
    lines = [(list(line.get_xdata()), list(line.get_ydata())) for line in first.lines]
    assert lines == [
        ([0.1, 0.2, 0.3], pytest.approx([20, 30, 40])),
        ([0.1, 0.2, 0.3], pytest.approx([30, 40, 50])),
    ]
    assert first.get_xlabel() == "wheel.radius [m]"


def test_samples_are_points_with_their_rank_correlation(tmp_path):
    points = [{"r": float(k), "soil": ("clay", "sand")[k % 2], "w": 0.001 * k} for k in range(9)]
    table = read_table(folder(tmp_path, points, method="monte-carlo"))
    panels = [axes for axes in drawn(table, "panels").axes if axes.collections]
    assert [axes.get_xlabel() for axes in panels] == ["r", "soil", "w"]
    assert panels[0].get_title() == "ρ = 1"
    assert panels[1].get_title() == ""
    assert [label.get_text() for label in panels[1].get_xticklabels()] == ["clay", "sand"]
    assert len({tuple(colour) for colour in panels[0].collections[0].get_facecolors()}) == 2, "one for each word"


def test_chosen_metrics_only_and_old_figures_go(tmp_path):
    place = folder(tmp_path, GRID)
    write_sweep_report(place)
    (place / "figures/mine.png").write_bytes(b"")
    about = json.loads((place / "sweep.json").read_text())
    (place / "sweep.json").write_text(json.dumps(about | {"metrics": ["real_time_factor"]}))
    write_sweep_report(place)
    assert sorted(file.name for file in (place / "figures").iterdir()) == [
        "mine.png",
        "real_time_factor-map.png",
        "real_time_factor.png",
    ]
    assert (place / "table.csv").read_text().splitlines()[0].split(",")[4:6] == ["real_time_factor", "missed"]


@pytest.mark.parametrize("points", [
    [{"r": 0.1}],
    [{"r": 0.1}, {"r": 0.2}],
    [{"r": 10.0**k, "b": flag} for k in range(6) for flag in (True, False)],
    [{"r": 0.1 * k, "what": {"a": 1} if k % 2 else None} for k in range(1, 12)],
    [{"a": 1.0, "b": b, "c": 1.0, "d": d, "e": e} for b in (1.0, 2.0) for d in (1.0, 2.0) for e in ("x", "y")],
], ids=["one case", "one parameter", "decades", "groups", "many"])  # fmt: skip
def test_every_shape_of_sweep_can_be_drawn(tmp_path, points):
    place = folder(tmp_path, points)
    write_sweep_report(place)
    assert (place / "figures/pull_N.png").stat().st_size > 1000


def test_a_sweep_without_results_has_a_page_too(tmp_path):
    place = folder(tmp_path, GRID)
    for file in (place / "cases").iterdir():
        file.unlink()
    assert "6 not run" in write_sweep_report(place).read_text(encoding="utf-8")


def drawn_soils(tmp_path, digest="d", sobol=True) -> str:
    """Page of a sweep over soils that were drawn, as `run --samples` leaves it."""
    place = folder(tmp_path, [{"soil.n": 0.9 + 0.01 * k} for k in range(8)], method="posterior")
    (place / "figures").mkdir()
    Image.new("RGB", (4, 4)).save(place / "figures/sobol.png")
    spread = {"unit": "N", "mean": 160.0, "deviation": 25.0, "median": 158.0, "interval_90": [121.0, 203.0]}
    missing = {"unit": "m", "mean": None, "deviation": None, "median": None, "interval_90": [None, None]}
    found = {
        "digest": digest,
        "metrics": {"pull_N": spread, "depth_m": missing},
        "sobol": {"pull_N": {}} if sobol else {},
    }
    (place / "uncertainty.json").write_text(json.dumps(found))
    return write_sweep_report(place).read_text(encoding="utf-8")


def test_soils_that_were_drawn_give_intervals_and_indices(tmp_path):
    page = drawn_soils(tmp_path)
    row = page.split("<code>pull_N</code>")[1].split("</tr>")[0]
    assert [cell.split("<")[0] for cell in row.split('class="number">')[1:]] == ["160 ± 25 N", "158 N", "121 to 203 N"]
    assert page.count("data:image/png") == 2, "indices and pull"
    assert page.index('id="sobol"') < page.index('id="pull_N"')


def test_missing_indices_are_said(tmp_path):
    page = drawn_soils(tmp_path, sobol=False)
    assert "No Sobol' indices: they need 20 complete runs" in page.replace("&#39;", "'")
    assert 'id="sobol"' not in page


def test_intervals_of_another_sweep_are_not_shown(tmp_path):
    page = drawn_soils(tmp_path, digest="another")
    assert "160 ± 25 N" not in page
    assert 'id="sobol"' not in page


def test_no_sweep_there(tmp_path):
    with pytest.raises(InputError, match="no sweep found"):
        read_table(tmp_path)
