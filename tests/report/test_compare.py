"""Two runs side by side."""

import json

import numpy as np
import pytest

from grouser.errors import InputError
from grouser.module import Channel
from grouser.recording import RecordingWriter, build_header
from grouser.report import compare, summarise, table, write_summary
from tests.report.runs import finished

ROUNDING = 1e-12  # N, float64: a straight line is interpolated exactly


def run(path, function, *, period=0.1, count=50, metrics=None, settings=None, **more):
    """A recording of function(t), one number, and of 3 function(t), two numbers."""
    now = [0.0]
    channels = [
        Channel("one", "N", read=lambda: np.array([function(now[0])])),
        Channel("two", "m", (2,), read=lambda: 3 * function(now[0]) * np.ones((1, 2))),
        *more.get("channels", []),
    ]
    declared = [{"name": name, "unit": "N"} for name in metrics or {}]
    header = build_header(
        scenario="wave", settings=settings or {}, step=0.01, duration=5.0, metrics=declared, version="1"
    )
    writer = RecordingWriter(path, header, channels)
    for frame in range(count):
        now[0] = frame * period
        writer.append(now[0])
    writer.close("complete", metrics=metrics)
    return path


def by_name(rows):
    return {(row.kind, row.name): row for row in rows}


def test_a_run_against_itself_differs_nowhere(tmp_path):
    path = run(tmp_path / "a.h5", np.sin, metrics={"pull": 2.0}, settings={"soil": "clay"})
    rows = compare(path, path)
    assert {row.kind for row in rows} == {"metric", "channel"}
    assert all(row.difference == 0 and row.relative == 0 for row in rows)


def test_metrics_settings_and_channels(tmp_path):
    first = {"metrics": {"pull": 2.0, "name": "x"}, "settings": {"soil": {"n": 1.0}}}
    second = {"metrics": {"pull": 2.5, "more": 1}, "settings": {"soil": {"n": 1.1}}}
    a = run(tmp_path / "a.h5", lambda t: t, **first)
    b = run(tmp_path / "b.h5", lambda t: t + 0.5 * (t == 2.0), **second)
    rows = by_name(compare(a, b))
    assert (rows["setting", "soil.n"].a, rows["setting", "soil.n"].b) == (1.0, 1.1)
    pull = rows["metric", "pull"]
    assert (pull.a, pull.b, pull.difference, pull.relative, pull.unit) == (2.0, 2.5, 0.5, 0.25, "N")
    assert (rows["metric", "name"].difference, rows["metric", "name"].note) == (None, "only in A")
    assert rows["metric", "more"].note == "only in B"
    one = rows["channel", "one"]
    assert one.difference == pytest.approx(0.5)
    assert one.relative == pytest.approx(0.5 / 4.9)
    assert one.note == "at t = 2 s"
    assert rows["channel", "two"].difference == pytest.approx(1.5, rel=1e-6)


def test_other_times_are_interpolated_where_both_have_some(tmp_path):
    a = run(tmp_path / "a.h5", lambda t: 2 * t, period=0.1, count=50)
    b = run(tmp_path / "b.h5", lambda t: 2 * t, period=0.25, count=8)
    rows = by_name(compare(a, b))
    assert rows["channel", "one"].difference < ROUNDING
    c = run(tmp_path / "c.h5", lambda t: 2 * t + 1, period=0.25, count=8)
    assert by_name(compare(a, c))["channel", "one"].difference == pytest.approx(1.0)


def test_nan_on_one_side_is_infinitely_far(tmp_path):
    a = run(tmp_path / "a.h5", lambda t: t)
    b = run(tmp_path / "b.h5", lambda t: t if t < 3 else np.nan)
    assert by_name(compare(a, b))["channel", "one"].difference == np.inf
    assert by_name(compare(b, b))["channel", "one"].difference == 0


def test_channels_that_cannot_be_compared_say_why(tmp_path):
    ragged = Channel("rows", "m", (3,), kind="ragged", read=lambda: np.zeros((1, 3)))
    a = run(tmp_path / "a.h5", np.sin, channels=[ragged, Channel("x", "m", read=lambda: np.zeros(1))])
    b = run(tmp_path / "b.h5", np.sin, channels=[ragged, Channel("x", "N", read=lambda: np.zeros(1))], count=0)
    notes = {row.name: row.note for row in compare(a, b)}
    assert notes == {
        "one": "no frames",
        "two": "no frames",
        "rows": "the number of rows varies: not compared",
        "x": "shape, unit or worlds differ",
    }
    plain = run(tmp_path / "c.h5", np.sin)
    assert {row.name: row.note for row in compare(plain, a)}["x"] == "only in B"


def test_folders_and_summaries(tmp_path):
    for name in "ab":
        (tmp_path / name).mkdir()
        with finished(tmp_path / name / "recording.h5", duration=1.0) as recording:
            write_summary(summarise(recording), tmp_path / name)
    folders = compare(tmp_path / "a", tmp_path / "b")
    assert {row.kind for row in folders} == {"metric", "channel"}
    summaries = compare(tmp_path / "a" / "summary.json", tmp_path / "b")
    assert summaries == [row for row in folders if row.kind == "metric"]
    (tmp_path / "b" / "recording.h5").unlink()
    assert compare(tmp_path / "a", tmp_path / "b") == summaries


def test_anything_else_is_refused(tmp_path):
    path = run(tmp_path / "a.h5", np.sin)
    for name, text in (("list.json", "[1]"), ("bad.json", "{"), ("other.json", json.dumps({"a": 1}))):
        (tmp_path / name).write_text(text)
        with pytest.raises(InputError, match=name):
            compare(tmp_path / name, path)
    with pytest.raises(InputError, match=r"missing\.h5: no such file"):
        compare(path, tmp_path / "missing.h5")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="empty"):
        compare(path, tmp_path / "empty")


def test_table(tmp_path):
    a = run(tmp_path / "a.h5", lambda t: 2.0, metrics={"pull": 2.0})
    b = run(tmp_path / "b.h5", lambda t: 2.0, metrics={"pull": 2.5})
    lines = table(compare(a, b)).splitlines()
    assert lines[0].split() == ["name", "unit", "A", "B", "difference", "relative"]
    assert lines[1].split() == ["metric", "pull", "N", "2", "2.5", "0.5", "25", "%"]
    assert len(lines) == 4
