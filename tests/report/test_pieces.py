"""A course and its convex pieces: every piece is drawn, apart from the others, and none from behind."""

import numpy as np
import pytest

from grouser.errors import InputError
from grouser.report.figures import draw
from grouser.scenarios.terrain_choice import MOST_DRAWN, faces_of, pieces_figure
from grouser.terrain.course import Course
from grouser.terrain.polyhedra import box
from tests.report.runs import finished

COURSE = Course((box((1, 1, 1)), box((1, 1, 1), (1, 0, 0)), box((1, 1, 1), (2, 0, 0))), "row")


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    with finished(tmp_path_factory.mktemp("run") / "recording.h5") as opened:
        yield opened


def test_three_faces_of_every_box_are_seen_and_the_boxes_stand_apart(recording):
    (figure,) = pieces_figure(COURSE)
    together, apart = draw(recording, figure).axes[0].collections
    assert len(together.get_paths()) == len(apart.get_paths()) == 3 * len(COURSE)
    wide = [np.ptp(np.concatenate([path.vertices for path in one.get_paths()])[:, 0]) for one in (together, apart)]
    assert wide[1] > 1.2 * wide[0]


def test_courses_of_too_many_pieces_are_not_drawn(recording):
    assert pieces_figure(Course(COURSE.pieces * (MOST_DRAWN // 2), "many")) == []
    with pytest.raises(InputError, match="a list of faces for each piece is needed"):
        draw(recording, {"name": "none", "kind": "pieces", "pieces": []})
    assert [len(piece) for piece in faces_of(COURSE)] == [6, 6, 6]
