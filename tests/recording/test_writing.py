"""What goes in comes out: values, shapes, labels, units, outcome."""

import h5py
import numpy as np
import pytest

from grouser.errors import InputError
from grouser.module import Channel
from grouser.recording import Recording, RecordingWriter
from tests.recording.samples import PERIOD, TILE, WHEELS, Clock, fill, header, sample, triangle

FLOAT32 = 6e-8  # relative, half a unit in the last place: what the file keeps of channels with several numbers


@pytest.mark.parametrize("frames", [0, 1, 63, 64, 65, 200])
def test_every_kind_of_channel_comes_back(tmp_path, frames):
    clock = Clock()
    writer = sample(tmp_path / "a.h5", clock)
    fill(writer, clock, frames)
    writer.close("complete")
    time = PERIOD * np.arange(frames)
    with Recording(tmp_path / "a.h5") as recording:
        assert len(recording) == frames
        np.testing.assert_array_equal(recording.time, time)
        np.testing.assert_allclose(recording["soil/sinkage"], np.arange(4) + time[:, None], rtol=FLOAT32)
        np.testing.assert_array_equal(recording["drive/power"], np.pi * time)
        np.testing.assert_array_equal(recording["body/pose"][:, 0, 1], 2 * time)
        points = recording["contact/points"]
        assert [len(rows) for rows in points] == [k % 3 for k in range(frames)]
        for rows, t in zip(points, time, strict=True):
            np.testing.assert_allclose(rows.ravel(), np.arange(rows.size) + t, rtol=FLOAT32)


def test_worlds_keep_their_axis_and_their_rows(tmp_path):
    clock = Clock(worlds=3)
    with sample(tmp_path / "a.h5", clock, block=5) as writer:
        fill(writer, clock, 12)
    with Recording(tmp_path / "a.h5") as recording:
        assert recording["soil/sinkage"].shape == (12, 3, 4)
        assert recording["soil/sinkage[rear left]"].shape == (12, 3)
        np.testing.assert_allclose(recording["soil/sinkage"][:, 2, 1], 21 + recording.time, rtol=FLOAT32)
        frames = recording.read("contact/points", slice(4, 9))
        assert [[len(rows) for rows in worlds] for worlds in frames] == [
            [k % 3 + w for w in range(3)] for k in range(4, 9)
        ]


def test_words_in_brackets_pick_labels_and_components(tmp_path):
    clock = Clock()
    with sample(tmp_path / "a.h5", clock) as writer:
        fill(writer, clock, 10)
    with Recording(tmp_path / "a.h5") as recording:
        np.testing.assert_array_equal(recording["body/pose[rover, y]"], 2 * recording.time)
        np.testing.assert_array_equal(recording["body/pose[1, x]"], recording.time - 1)
        np.testing.assert_array_equal(recording["soil/sinkage[front right]"], recording["soil/sinkage"][:, 1])
        assert "soil/sinkage[front right]" in recording
        assert "soil/rut" not in recording
        with pytest.raises(InputError, match=r"no 'middle'; allowed: front left, .* or 0 to 3"):
            recording["soil/sinkage[middle]"]
        with pytest.raises(InputError, match="did you mean 'soil/sinkage'"):
            recording["soil/sinkge"]
        with pytest.raises(InputError, match="2 places for shape"):
            recording["soil/sinkage[0, 1]"]
        with pytest.raises(InputError, match="is not a channel"):
            recording["soil/sinkage[0"]


def test_partial_reads_match_the_whole(tmp_path):
    clock = Clock()
    with sample(tmp_path / "a.h5", clock, block=8) as writer:
        fill(writer, clock, 50)
    with Recording(tmp_path / "a.h5") as recording:
        for frames in (slice(0, 1), slice(7, 33), slice(10, 40, 7), slice(-3, None), slice(5, 5)):
            np.testing.assert_array_equal(recording.read("body/pose", frames), recording["body/pose"][frames])
            part, whole = recording.read("contact/points", frames), recording["contact/points"][frames]
            assert len(part) == len(whole)
            assert all(np.array_equal(a, b) for a, b in zip(part, whole, strict=True))


def test_channel_info_and_header_survive(tmp_path):
    clock = Clock()
    declared = header(metrics=[{"name": "m", "unit": "1", "expected": 1.0, "tolerance": None}])
    with RecordingWriter(tmp_path / "a.h5", declared, clock.channels(), geometry=triangle()):
        pass
    with Recording(tmp_path / "a.h5") as recording:
        assert recording.header == declared
        assert set(recording.header["provenance"]) >= {
            "python",
            "platform",
            "numpy",
            "mujoco",
            "warp",
            "h5py",
        }
        assert recording.names() == sorted(channel.name for channel in clock.channels())
        for channel in clock.channels():
            assert recording.channel_info(channel.name) == channel
        body = recording.geometry()["rover/hull"]
        np.testing.assert_array_equal(body["vertices"], triangle()["rover/hull"]["vertices"])
        assert body["triangles"].dtype == np.int32


def test_outcome(tmp_path):
    clock = Clock()
    writer = sample(tmp_path / "a.h5", clock)
    fill(writer, clock, 3)
    values = {"a": np.float32(1.5), "b": np.nan, "c": [1, 2], "d": True, "e": "text", "f": None}
    writer.close("stopped", "left the terrain", values, wall_s=2.0, steps=9, notes=["wheel handed over"])
    writer.close("complete")  # a second close changes nothing
    with Recording(tmp_path / "a.h5") as recording:
        assert (recording.status, recording.message) == ("stopped", "left the terrain")
        assert np.isnan(recording.metrics.pop("b"))
        assert recording.metrics == {"a": 1.5, "c": [1, 2], "d": True, "e": "text", "f": None}
        assert (recording.wall_s, recording.sim_s, recording.steps) == (2.0, 2 * PERIOD, 9)
        assert recording.notes == ["wheel handed over"]
    with pytest.raises(InputError, match="closed"):
        writer.append(1.0)


@pytest.mark.parametrize(
    ("error", "status"),
    [(None, "complete"), (KeyboardInterrupt(), "interrupted"), (ValueError("x"), "stopped")],
)
def test_leaving_the_block_says_how_it_ended(tmp_path, error, status):
    clock = Clock()

    def run():
        with sample(tmp_path / "a.h5", clock) as writer:
            fill(writer, clock, 3)
            if error is not None:
                raise error

    if error is None:
        run()
    else:
        with pytest.raises(type(error)):
            run()
    with Recording(tmp_path / "a.h5") as recording:
        assert recording.status == status
        assert len(recording) == 3


def test_precision(tmp_path):
    clock, value = Clock(), np.full((1, 2), np.pi)
    narrow = Channel("a", "1", (2,), read=lambda: value)
    for precision, error in (
        ("float32", np.pi - float(np.float32(np.pi))),
        ("float64", 0.0),
        ({"a": "float64"}, 0.0),
    ):
        with RecordingWriter(tmp_path / "a.h5", header(), [narrow], precision=precision) as writer:
            fill(writer, clock, 1)
        with Recording(tmp_path / "a.h5") as recording:
            assert recording["a"].dtype == np.float64
            np.testing.assert_array_equal(np.pi - recording["a"], error)
    with pytest.raises(InputError, match="'float16'; allowed: float32, float64"):
        RecordingWriter(tmp_path / "b.h5", header(), [narrow], precision="float16")
    assert not (tmp_path / "b.h5").exists()


def test_axes_carry_scales_for_xarray(tmp_path):
    clock = Clock(worlds=2)
    with sample(tmp_path / "a.h5", clock) as writer:
        fill(writer, clock, 3)
        writer.append_tiles(0.0, 0, np.zeros((1, 2), np.int32), np.zeros((1, TILE, TILE), np.float32))
    with h5py.File(tmp_path / "a.h5") as file:
        sinkage = file["channels/soil/sinkage"]
        assert [dim[0].name for dim in sinkage.dims][:2] == ["/time", "/world"]
        assert tuple(name.decode() for name in sinkage.dims[2][0][:]) == WHEELS
        assert sinkage.attrs["unit"] == "m"
        assert [dim[0].name for dim in file["channels/body/pose"].dims][3] == "/axis_7"
        assert [dim[0].name for dim in file["tiles/heights"].dims] == ["/tiles/time", "/axis_8", "/axis_8_2"]
        assert [dim[0].name for dim in file["terrain/heights"].dims] == ["/terrain/y", "/terrain/x"]
        for dataset in (sinkage, file["channels/body/pose"], file["tiles/heights"], file["terrain/heights"]):
            for size, dim in zip(dataset.shape, dataset.dims, strict=True):
                assert dim[0].shape == (size,)


def test_a_minute_of_a_rover_stays_small(tmp_path):
    """Six wheels with 30 numbers each, 20 bodies at 100 Hz, 24 tiles of 32 x 32 of noisy ground at 10 Hz."""
    limit = 50e6  # bytes
    random = np.random.default_rng(1)
    wheels, pose = random.normal(size=(1, 6, 30)), random.normal(size=(1, 20, 7))
    channels = [
        Channel("wheel/all", "N", (6, 30), read=lambda: wheels),
        Channel("body/pose", "1", (20, 7), kind="pose", read=lambda: pose),
    ]
    seconds = 6  # a tenth of it
    tiles = {"spacing": 0.01, "origin": [0, 0], "nx": 1000, "ny": 1000, "size": 32}
    with RecordingWriter(tmp_path / "a.h5", header(tiles=tiles), channels) as writer:
        for frame in range(100 * seconds):
            writer.append(frame * PERIOD)
            if frame % 10 == 0:
                heights = random.normal(0.0, 0.01, (24, 32, 32))  # rougher than ruts: hardly compresses
                writer.append_tiles(frame * PERIOD, 0, random.integers(0, 31, (24, 2)), heights)
    assert 60 / seconds * (tmp_path / "a.h5").stat().st_size < limit
