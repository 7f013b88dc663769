"""Wrong input: one clear line, and no half-written file."""

import numpy as np
import pytest

from grouser.errors import InputError
from grouser.module import Channel
from grouser.recording import RecordingWriter
from tests.recording.samples import PLACEMENT, TILE, Clock, fill, header, sample


def channel(name="a", shape=(), **more):
    return Channel(name, "1", shape, read=lambda: np.zeros((1, *shape)), **more)


@pytest.mark.parametrize(
    ("channels", "words"),
    [
        ([channel("a"), channel("a")], "'a' is declared twice"),
        ([channel("a"), channel("a/b")], "also the folder of 'a/b'"),
        ([channel("a[0]")], "words joined by '/'"),
        ([channel("a//b")], "words joined by '/'"),
        ([channel("")], "words joined by '/'"),
        ([Channel("a", "1")], "no read function"),
        ([channel("p", (3,), kind="pose")], "a pose ends in 7"),
        ([channel("a", (3,), labels=("x",))], "1 labels for shape"),
        ([channel("t", (8, 8), kind="tiles")], "'tiles' entry must say"),
    ],
)
def test_channels(tmp_path, channels, words):
    with pytest.raises(InputError, match=words):
        RecordingWriter(tmp_path / "a.h5", header(), channels)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"worlds": 0}, "worlds = 0"),
        ({"block": 0}, "block = 0"),
        ({"tile_shape": (4, 4)}, r"tile shape \(4, 4\)"),
        (
            {"geometry": {"hull": {"vertices": np.zeros(3), "triangles": np.zeros((1, 3))}}},
            "body 'hull': vertices",
        ),
    ],
)
def test_options(tmp_path, changes, words):
    with pytest.raises(InputError, match=words):
        RecordingWriter(tmp_path / "a.h5", header(tiles=PLACEMENT), [channel()], **changes)
    assert not list(tmp_path.iterdir())


def test_header(tmp_path):
    with pytest.raises(InputError, match="nx, ny missing"):
        RecordingWriter(tmp_path / "a.h5", header(tiles={"spacing": 1, "origin": [0, 0], "size": 8}), [])
    with pytest.raises(InputError, match=r"tiles.spacing: 0; it must be above 0"):
        RecordingWriter(tmp_path / "a.h5", header(tiles={**PLACEMENT, "spacing": 0}), [])
    with pytest.raises(InputError, match="is a complex"):
        RecordingWriter(tmp_path / "a.h5", {"settings": 1j}, [])
    assert not list(tmp_path.iterdir())


def test_folder_that_is_not_there(tmp_path):
    with pytest.raises(InputError, match=r"missing/a\.h5 cannot be created: .*[Nn]o such file"):
        RecordingWriter(tmp_path / "missing" / "a.h5", header(), [])


def test_a_file_in_use_is_not_replaced_but_an_old_one_is(tmp_path):
    clock = Clock()
    writer = sample(tmp_path / "a.h5", clock)
    with pytest.raises(InputError, match="being written by another run"):
        sample(tmp_path / "a.h5", clock)
    fill(writer, clock, 1)
    writer.close("complete")
    sample(tmp_path / "a.h5", clock).close("complete")


@pytest.mark.parametrize("kind", ["fixed", "ragged"])
def test_shape_other_than_declared(tmp_path, kind):
    wrong = Channel("a", "1", (3,), kind=kind, read=lambda: np.zeros((1, 2)))
    with RecordingWriter(tmp_path / "a.h5", header(), [wrong]) as writer:
        with pytest.raises(InputError, match=r"channel 'a': read\(\) gave shape \(1, 2\)"):
            writer.append(0.0)


def test_worlds_other_than_declared(tmp_path):
    wrong = Channel("a", "1", (3,), kind="ragged", read=lambda: [np.zeros((1, 3))] * 3)
    with RecordingWriter(tmp_path / "a.h5", header(), [wrong], worlds=2) as writer:
        with pytest.raises(InputError, match="gave 3 worlds, not 2"):
            writer.append(0.0)


def test_time_moves_forward(tmp_path):
    with RecordingWriter(tmp_path / "a.h5", header(), [channel()]) as writer:
        writer.append(1.0)
        for time in (1.0, 0.5, float("nan")):
            with pytest.raises(InputError, match="times must increase"):
                writer.append(time)
        writer.append(1.5)


def test_tiles_need_a_place_and_a_shape(tmp_path):
    index, heights = np.zeros((1, 2), np.int32), np.zeros((1, TILE, TILE), np.float32)
    with RecordingWriter(tmp_path / "a.h5", header(), [channel()]) as writer:
        with pytest.raises(InputError, match="without a 'tiles' entry"):
            writer.append_tiles(0.0, 0, index, heights)
    with RecordingWriter(tmp_path / "b.h5", header(tiles=PLACEMENT), [channel()]) as writer:
        with pytest.raises(InputError, match=r"allowed: \(m, 2\) with \(m, 8, 8\)"):
            writer.append_tiles(0.0, 0, index, heights[:, 1:])


def test_status_by_name(tmp_path):
    writer = RecordingWriter(tmp_path / "a.h5", header(), [channel()])
    with pytest.raises(InputError, match="'running'; allowed: complete, stopped, interrupted"):
        writer.close("running")
    writer.close("complete")
