"""A machine from the side: outlines where the poses put them, ways, ground, and what is refused."""

import mujoco
import numpy as np
import pytest

from grouser.errors import InputError
from grouser.report.figures import draw
from grouser.report.snapshots import side_outline
from tests.report.runs import finished

BOX = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.2, 0.2) for z in (-0.1, 0.1)])
FIGURE = {
    "name": "side",
    "kind": "snapshots",
    "outlines": [{"bodies": ["rover"], "corners": BOX.tolist()}],
    "times": [0.0, 1.0, 1e9],
    "profile": {"x": [-1, 0, 0, 3], "z": [0, 0, 0.2, 0.2]},
}


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    with finished(tmp_path_factory.mktemp("run") / "recording.h5") as opened:
        yield opened


def test_outline_is_that_of_the_turned_corners():
    rng = np.random.default_rng(1)
    for _ in range(20):
        quaternion = rng.normal(size=4)
        quaternion /= np.linalg.norm(quaternion)
        matrix = np.zeros(9)
        mujoco.mju_quat2Mat(matrix, np.roll(quaternion, 1))  # wxyz
        place = rng.normal(size=3)
        world = BOX @ matrix.reshape(3, 3).T + place
        ring = side_outline(BOX, np.concatenate([place, quaternion]))
        for direction in rng.normal(size=(10, 2)):  # the same support in every direction
            assert (ring @ direction).max() == pytest.approx((world[:, [0, 2]] @ direction).max(), abs=1e-6)
        edges = np.roll(ring, -1, 0) - ring
        following = np.roll(edges, -1, 0)
        assert (edges[:, 0] * following[:, 1] - edges[:, 1] * following[:, 0] > 0).all()  # convex, anticlockwise


def test_the_machine_stands_where_it_was(recording):
    axes = draw(recording, FIGURE).axes[0]
    rings = [patch.get_xy() for patch in axes.patches]
    assert len(rings) == 2  # the run never came to the third time
    for time, ring in zip(FIGURE["times"], rings, strict=False):
        frame = int(np.searchsorted(recording.time, time))
        pose = recording["body/pose[rover]"][frame]
        assert (ring.min(0) + ring.max(0)) / 2 == pytest.approx(pose[[0, 2]], abs=1e-6)


def test_panels_of_one_view_have_one_scale(recording):
    for times in ([0.0], [0.0, 1.0]):
        axes = draw(recording, {**FIGURE, "times": times, "view": (6.0, 3.0)}).axes[0]
        assert (np.ptp(axes.get_xlim()), np.ptp(axes.get_ylim())) == pytest.approx((6.0, 3.0))
        assert axes.get_aspect() == 1.0


@pytest.mark.parametrize("missing", ["outlines", "times"])
def test_what_is_needed_is_asked_for(recording, missing):
    with pytest.raises(InputError, match="outlines and times are needed"):
        draw(recording, {key: value for key, value in FIGURE.items() if key != missing})


def test_ways_go_with_their_labels(recording):
    with pytest.raises(InputError, match=r", which .* needs"):
        draw(recording, {**FIGURE, "x": "soil/slip[front left]", "y": ["soil/pull"]})
