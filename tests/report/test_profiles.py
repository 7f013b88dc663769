"""Sections through the ground at several times, points with scatter, and what is refused."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from grouser.errors import InputError
from grouser.report.figures import draw
from grouser.report.profiles import height_stretch
from tests.report.runs import finished

BOX = [[x, y, z] for x in (-0.5, 0.5) for y in (-0.2, 0.2) for z in (-0.1, 0.1)]
FIGURE = {"name": "cut", "kind": "profiles", "times": [0.0, 1.0, 1e9], "body": "rover", "corners": BOX, "across": 0.3}


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    with finished(tmp_path_factory.mktemp("run") / "recording.h5") as opened:
        yield opened


def test_a_profile_is_the_row_of_nodes_nearest_to_the_section(recording):
    axes = draw(recording, FIGURE).axes[0]
    *profiles, before = axes.lines
    assert len(profiles) == len(axes.patches) == 2  # the run never came to the third time
    for time, line in zip(FIGURE["times"], profiles, strict=False):
        x, y, heights, first = recording.surface_at(time)
        row = int(np.abs(y - FIGURE["across"]).argmin())
        assert np.array_equal(line.get_xydata(), np.column_stack([x, heights[row]]))
        assert np.array_equal(before.get_ydata(), first[row])


@pytest.mark.parametrize(
    ("length", "height", "stretch"), [(20.0, 1.0, 10), (20.0, 2.0, 5), (20.0, 4.0, 2), (2.0, 2.0, 1)]
)
def test_long_flat_sections_are_drawn_higher_than_to_scale(length, height, stretch):
    axes = Figure().add_subplot()
    axes.set_xlim(0.0, length)
    axes.set_ylim(0.0, height)
    assert height_stretch(axes) == stretch


def test_the_axis_says_how_much_higher(recording):
    flat = draw(recording, {**FIGURE, "body": None}).axes[0]
    stretch = height_stretch(flat)
    assert stretch > 1
    assert flat.get_ylabel() == f"z [m], {stretch} times as high as to scale"
    assert flat.get_aspect() == stretch


def test_times_are_needed(recording):
    with pytest.raises(InputError, match="times are needed"):
        draw(recording, {**FIGURE, "times": []})


def test_points_have_the_scatter_they_are_given(recording):
    extra = {"label": "measured", "x": [0.1, 0.2], "y": [3.0, 4.0], "scatter": [0.5, 1.0]}
    figure = {"name": "forces", "kind": "lines", "y": ["soil/pull"], "overlay": [extra]}
    (bars,) = draw(recording, figure).axes[0].collections
    assert [sorted(bar[:, 1]) for bar in bars.get_segments()] == [[2.5, 3.5], [3.0, 5.0]]
    with pytest.raises(InputError, match="2 y and 1 scatter values"):
        draw(recording, {**figure, "overlay": [{**extra, "scatter": [0.5]}]})
