"""What others open without Grouser: pages, tables, bags, films."""

import csv

import numpy as np
import pytest

from grouser import cli
from grouser.recording import Recording
from tests.viewer import made

SHORT = 1.0  # [s]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("run")
    made.recording(place / "recording.h5", SHORT)
    return place


def test_tables_bring_back_what_was_recorded(folder, tmp_path):
    assert cli.status(["export", str(folder), "--format", "csv", "--out", str(tmp_path)]) == 0
    with (tmp_path / "csv" / "channels.csv").open() as file:
        rows = list(csv.reader(file))
    with Recording(folder / "recording.h5") as recording:
        assert len(rows) == len(recording) + 1
        column = rows[0].index("body/pose[cart, x] [m, 1]")
        found = np.array([float(row[column]) for row in rows[1:]])
        np.testing.assert_allclose(found, recording["body/pose[cart, x]"], rtol=1e-8)
        assert rows[0][0] == "time [s]"
        with (tmp_path / "csv" / "cart-links.csv").open() as file:
            stones = list(csv.reader(file))
        assert len(stones) - 1 == sum(len(rows) for rows in recording["cart/links"])


def test_a_bag_is_read_by_a_ros_library(folder, tmp_path, capsys):
    from rosbags.highlevel import AnyReader

    assert cli.status(["export", str(folder), "--format", "mcap", "--out", str(tmp_path)]) == 0
    with Recording(folder / "recording.h5") as recording, AnyReader([tmp_path / "bag"]) as reader:
        topics = {connection.topic: connection.msgtype for connection in reader.connections}
        assert topics["/tf"] == "tf2_msgs/msg/TFMessage"
        assert topics["/soil/contact_area"] == "std_msgs/msg/Float64MultiArray"
        moves = [
            (stamp, reader.deserialize(raw, connection.msgtype))
            for connection, stamp, raw in reader.messages()
            if connection.topic == "/tf"
        ]
        assert len(moves) == len(recording)
        stamp, last = moves[-1]
        assert stamp == round(1e9 * recording.time[-1])
        assert [t.child_frame_id for t in last.transforms] == ["cart", "wheel"]
        assert last.transforms[0].transform.translation.x == pytest.approx(made.SPEED * SHORT)
    capsys.readouterr()
    assert cli.status(["export", str(folder), "--format", "mcap", "--out", str(tmp_path)]) == 2
    assert "exists" in capsys.readouterr().err


def test_the_replay_is_one_page_that_asks_for_nothing(folder, tmp_path):
    assert cli.status(["export", str(folder), "--out", str(tmp_path)]) == 0
    page = (tmp_path / "replay.html").read_text()
    assert "__VISER_EMBED_DATA__" in page
    assert "made: replay" in page
    assert '<script src="http' not in page
    assert '<link rel="stylesheet" href="http' not in page


def test_a_report_with_the_replay_in_it(folder):
    assert cli.status(["report", str(folder), "--no-replay"]) == 0
    assert "<iframe" not in (folder / "report.html").read_text()
    assert cli.status(["report", str(folder)]) == 0
    assert 'sandbox="allow-scripts"' in (folder / "report.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["export", "{}", "--format", "xml"], "--format xml: allowed are html, csv, mcap"),
        (["export", "{}/nothing"], "no recording found"),
        (["video", "{}", "--size", "big"], "--size big"),
        (["video", "{}", "--camera", "moon"], "camera 'moon'"),
        (["video", "{}", "--out", "film.avi"], "film.avi: the file name of a video must end in .mp4, .webm, .gif"),
        (["video", "{}", "--ground", "taste"], "ground by 'taste'"),
        (["view", "{}/nothing"], "no recording found"),
    ],
)
def test_bad_wishes_are_told_in_one_line(folder, tmp_path, monkeypatch, capsys, arguments, said):
    monkeypatch.chdir(tmp_path)
    assert cli.status([word.format(folder) for word in arguments]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_nothing_to_show_is_said(tmp_path, capsys):
    made.opened(tmp_path / "recording.h5", made.Cart()).close("interrupted")
    for command in ("export", "video"):
        assert cli.status([command, str(tmp_path)]) == 2
        assert "has no frames" in capsys.readouterr().err


@pytest.mark.browser  # needs OpenGL, which is installed with the browser
@pytest.mark.parametrize("kind", ["mp4", "webm", "gif"])
def test_films(folder, tmp_path, kind):
    import imageio.v3 as imageio

    path = tmp_path / f"film.{kind}"
    arguments = ["--size", "320x208", "--rate", "5", "--camera", "follow", "--camera", "top"]
    assert cli.status(["video", str(folder), "--out", str(path), *arguments]) == 0
    first = imageio.imread(path, index=0, **({} if kind == "gif" else {"plugin": "FFMPEG"}))
    assert first.shape[:2] == (208, 640)
    red, blue = (first[..., k].astype(int) for k in (0, 2))
    assert (red - blue > 20).sum() > 1000, "sand"
    assert (blue - red > 40).sum() > 200, "the blue cart"
