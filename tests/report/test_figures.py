"""What is drawn is what was recorded: the data of the artists, not the pixels."""

import numpy as np
import pytest
from PIL import Image

from grouser.errors import InputError
from grouser.module import Channel
from grouser.recording import Recording, RecordingWriter, build_header
from grouser.report.figures import draw, draw_figures
from grouser.report.style import DOTS_PER_INCH, WIDTH
from tests.report.runs import FIGURES, WHEELS, finished

FIGURE = {figure["name"]: figure for figure in FIGURES}


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    with finished(tmp_path_factory.mktemp("run") / "recording.h5") as opened:
        yield opened


def curves(axes):
    return {line.get_label(): line.get_xydata() for line in axes.lines if not line.get_label().startswith("_")}


def test_all_are_written_as_pictures(recording, tmp_path):
    paths = draw_figures(recording, tmp_path / "figures")
    assert [path.stem for path in paths] == [figure["name"] for figure in FIGURES]
    for path in paths:
        with Image.open(path) as picture:
            assert picture.size[0] == round(WIDTH * DOTS_PER_INCH)
            colours = np.unique(np.asarray(picture.convert("L")))
        assert len(colours) > 20  # not a blank page


def test_lines_have_a_curve_for_each_label_and_the_overlay(recording):
    axes = draw(recording, FIGURE["sinkage"]).axes[0]
    found = curves(axes)
    assert list(found) == [*WHEELS, "Bekker, front"]
    for place, wheel in enumerate(WHEELS):
        np.testing.assert_array_equal(found[wheel][:, 0], recording.time)
        np.testing.assert_array_equal(found[wheel][:, 1], recording["soil/sinkage"][:, place])
    np.testing.assert_array_equal(found["Bekker, front"], [[0, 0.022], [20, 0.022]])
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("time [s]", "sinkage [m]")
    assert axes.get_title(loc="left") == "Sinkage of the wheels"
    assert [text.get_text() for text in axes.get_legend().get_texts()] == list(found)


def test_xy_and_points(recording):
    axes = draw(recording, FIGURE["pull-over-slip"]).axes[0]
    found = curves(axes)
    np.testing.assert_array_equal(found["pull"][:, 0], recording["soil/slip[front left]"])
    np.testing.assert_array_equal(found["pull"][:, 1], recording["soil/pull"])
    points = next(line for line in axes.lines if line.get_label() == "measured")
    assert (points.get_linestyle(), points.get_marker()) == ("None", "o")


def test_xy_pairs_labels(recording):
    axes = draw(recording, {"name": "p", "kind": "xy", "x": "soil/slip", "y": ["soil/load"]}).axes[0]
    np.testing.assert_array_equal(curves(axes)["rear left"][:, 0], recording["soil/slip"][:, 2])
    with pytest.raises(InputError, match="has no '', which 'soil/pull' needs"):
        draw(recording, {"name": "p", "kind": "xy", "x": "soil/slip", "y": ["soil/pull"]})


def test_window(recording):
    axes = draw(recording, {**FIGURE["sinkage"], "window": [5.0, 7.0]}).axes[0]
    assert curves(axes)["rear left"][[0, -1], 0].tolist() == pytest.approx([5.0, 7.0])
    with pytest.raises(InputError, match=r"figure 'sinkage'.*start < stop"):
        draw(recording, {**FIGURE["sinkage"], "window": [7.0, 5.0]})


def test_axes_get_words_and_units_from_the_channels(recording):
    axes = draw(recording, {"name": "a", "y": "soil/pull"}).axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("time [s]", "pull [N]")
    assert axes.get_legend() is None
    axes = draw(recording, {"name": "a", "y": ["soil/pull", "soil/load[rear left]"]}).axes[0]
    assert list(curves(axes)) == ["pull", "load, rear left"]
    axes = draw(recording, {"name": "a", "y": ["body/pose[rover, x]"]}).axes[0]
    np.testing.assert_array_equal(curves(axes)["rover, x"][:, 1], recording["body/pose"][:, 0, 0])


def test_bars_are_means_over_the_window(recording):
    axes = draw(recording, FIGURE["load"]).axes[0]
    later = recording["soil/load"][recording.time >= 5.0]
    assert [bar.get_height() for bar in axes.patches] == pytest.approx(later.mean(axis=0))
    assert [label.get_text() for label in axes.get_xticklabels()] == list(WHEELS)
    axes = draw(recording, {"name": "m", "kind": "bars", "y": ["sinkage_m", "soil/pull"]}).axes[0]
    assert axes.patches[0].get_height() == recording.metrics["sinkage_m"]


def test_map_of_sinkage(recording):
    figure = draw(recording, FIGURE["ruts"])
    axes = figure.axes[0]
    _, _, heights, first = recording.surface_at()
    np.testing.assert_array_equal(axes.images[0].get_array(), first - heights)
    assert axes.images[0].get_array().max() == pytest.approx(0.022, rel=0.2)
    low, high = axes.images[0].get_clim()
    assert low == -high
    np.testing.assert_array_equal(curves(axes)["rover"], recording["body/pose"][:, 0, :2])
    assert any("sinkage [m]" in other.get_ylabel() for other in axes.child_axes)
    assert (axes.get_xlabel(), axes.get_ylabel(), axes.get_aspect()) == ("x [m]", "y [m]", 1.0)


@pytest.mark.parametrize("top", [0.2, 1.4])
def test_labels_of_a_map_are_not_cut_off(recording, tmp_path, monkeypatch, top):
    """Whatever its shape: nothing is drawn on the picture's own edge."""
    figure = {**FIGURE["ruts"], "region": [-1.0, 1.45, -0.85, top]}
    monkeypatch.setitem(recording.header, "figures", [figure])
    with Image.open(draw_figures(recording, tmp_path)[0]) as picture:
        pixels = np.asarray(picture.convert("L"))
    for side in (pixels[:, 0], pixels[:, -1], pixels[0], pixels[-1]):
        assert (side == pixels[0, 0]).all()


def test_map_at_a_time_shows_that_time(recording):
    axes = draw(recording, {**FIGURE["ground"], "time": 5.0}).axes[0]
    np.testing.assert_array_equal(axes.images[0].get_array(), recording.surface_at(5.0)[2])
    assert list(curves(axes)) == ["rover", *WHEELS]
    assert len(curves(axes)["rover"]) == 51


def test_points_are_the_last_frame_in_order(recording):
    axes = draw(recording, {"name": "p", "kind": "points", "x": "soil/sinkage", "y": ["soil/load"]}).axes[0]
    order = np.argsort(recording["soil/sinkage"][-1])
    drawn = axes.lines[0].get_xydata()
    np.testing.assert_array_equal(drawn[:, 0], recording["soil/sinkage"][-1][order])
    np.testing.assert_array_equal(drawn[:, 1], recording["soil/load"][-1][order])
    with pytest.raises(InputError, match="the numbers must be equal"):
        draw(recording, {"name": "p", "kind": "points", "x": "soil/sinkage", "y": ["soil/pull"]})


def test_points_have_as_few_ticks_as_a_narrow_panel_needs(recording):
    figure = {"name": "p", "kind": "points", "x": "soil/sinkage", "y": ["soil/load"]}
    many, few = (draw(recording, {**figure, **more}).axes[0].get_xticks() for more in ({}, {"x_ticks": 2}))
    assert len(few) < len(many)


def test_points_that_were_never_set_are_left_out(tmp_path):
    values = np.array([[[3.0, np.nan, 1.0]]])
    channels = [Channel(name, "1", (3,), read=lambda: values[0]) for name in ("a", "b")]
    header = build_header(scenario="s", settings={}, step=1, duration=1, command="")
    with RecordingWriter(tmp_path / "r.h5", header, channels) as writer:
        writer.append(0.0)
    with Recording(tmp_path / "r.h5") as recording:
        drawn = draw(recording, {"name": "p", "kind": "points", "x": "a", "y": ["b"]}).axes[0].lines[0]
    assert drawn.get_xydata().tolist() == [[1.0, 1.0], [3.0, 3.0]]


def test_panels_are_figures_side_by_side(recording):
    panels = [{"title": f"to {end} s", "y": ["soil/pull"], "window": [0, end]} for end in (5.0, 10.0, 15.0)]
    axes = draw(recording, {"name": "p", "kind": "panels", "title": "Pull", "panels": panels}).axes
    assert [a.get_title(loc="left") for a in axes] == ["to 5.0 s", "to 10.0 s", "to 15.0 s", ""]
    assert [a.get_visible() for a in axes] == [True, True, True, False]
    assert [len(curves(a)["pull"]) for a in axes[:3]] == [51, 101, 151]
    assert len({a.get_ylim() for a in axes[:3]}) == 1
    free = draw(recording, {"name": "p", "kind": "panels", "panels": panels, "same_scale": False}).axes
    assert len({a.get_xlim() for a in free[:3]}) == 3


@pytest.mark.parametrize(
    ("figure", "words"),
    [
        (
            {"kind": "pie"},
            r"kind: 'pie'; allowed: lines, xy, bars, points, map, route, chain, loop, snapshots, scene, profiles, "
            r"pieces \(or panels\)",
        ),
        ({"kind": "panels"}, "0 panels in 2 columns"),
        (
            {"kind": "panels", "panels": [{"kind": "map"}]},
            "kind: 'map'; allowed: lines, xy, bars, points, chain, loop, snapshots, scene, profiles",
        ),
        ({"y": []}, "names no channel"),
        ({"y": ["soil/sinkag"]}, "did you mean 'soil/sinkage'"),
        ({"y": ["body/pose"]}, r"'body/pose\[label, component\]'"),
        ({"y": ["soil/pull"], "overlay": [{"label": "o", "x": [1], "y": [1, 2]}]}, "1 x and 2 y values"),
        ({"kind": "map", "field": "colour"}, "field: 'colour'; allowed: height, sinkage"),
        ({"kind": "map", "paths": ["soil/pull"]}, "positions"),
    ],
)
def test_wrong_figures_are_refused_by_name(recording, figure, words):
    with pytest.raises(InputError, match=f"figure 'f'.*{words}"):
        draw(recording, {"name": "f", **figure})


def test_names_stay_inside_the_folder(tmp_path):
    figures = [{"name": "../../up", "y": ["a"]}, {"name": "b/c", "y": ["a"]}]
    with Recording(plain(tmp_path, figures, 3)) as recording:
        paths = draw_figures(recording, tmp_path / "figures")
    assert [path.relative_to(tmp_path / "figures").as_posix() for path in paths] == ["up.png", "b-c.png"]
    with Recording(plain(tmp_path, [{"name": "a b", "y": ["a"]}, {"name": "a-b", "y": ["a"]}], 3)) as recording:
        with pytest.raises(InputError, match="same name"):
            draw_figures(recording, tmp_path)


def plain(tmp_path, figures, frames, worlds=1):
    channel = Channel("a", "m", read=lambda: np.arange(worlds, dtype=float))
    header = build_header(scenario="plain", settings={}, step=0.1, duration=1.0, figures=figures)
    with RecordingWriter(tmp_path / "plain.h5", header, [channel], worlds=worlds) as writer:
        for frame in range(frames):
            writer.append(0.1 * frame)
    return tmp_path / "plain.h5"


def test_no_frames_say_so(tmp_path):
    figures = [{"name": "l", "y": ["a"]}, {"name": "b", "kind": "bars", "y": ["a"]}]
    with Recording(plain(tmp_path, figures, 0)) as recording:
        for figure in figures:
            assert "no frames recorded" in [text.get_text() for text in draw(recording, figure).axes[0].texts]
        assert len(draw_figures(recording, tmp_path)) == 2


def test_a_batch_shows_worlds_and_their_median(tmp_path):
    with Recording(plain(tmp_path, [], 4, worlds=5)) as recording:
        axes = draw(recording, {"name": "l", "y": ["a"]}).axes[0]
    assert curves(axes)["a (median of 5 worlds)"][:, 1].tolist() == [2.0] * 4
    assert len([line for line in axes.lines if len(line.get_xdata()) == 4]) == 6
