"""Channels whose memory is known are recorded as those that are asked, with one call a frame."""

import numpy as np
import pytest

from grouser.errors import InputError
from grouser.module import Channel
from grouser.recording import Recording, RecordingWriter, writer

FRAMES = 1500  # more than wait in memory


def write(path, channels, step, frames=FRAMES, **more):
    with RecordingWriter(path, {}, channels, **more) as recording:
        for frame in range(frames):
            step(frame)
            recording.append(0.01 * frame)


@pytest.mark.parametrize("dtype", ["f8", "f4", "i4"])
@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_a_source_is_recorded_as_what_read_gives(tmp_path, dtype, precision):
    memory = np.zeros((2, 5, 6), dtype)
    views = {"plain": memory, "part": memory[..., 2], "steps": memory[:, ::2, 1:], "back": memory[:, ::-1]}
    channels = []
    for name, view in views.items():
        channels.append(Channel(f"source/{name}", "m", view.shape[1:], source=view))
        channels.append(Channel(f"read/{name}", "m", view.shape[1:], read=view.copy))
    random = np.random.default_rng(1)

    def step(frame):
        memory[...] = random.integers(-1000, 1000, memory.shape) / (1 if dtype == "i4" else 7)

    write(tmp_path / "a.h5", channels, step, worlds=2, precision=precision)
    with Recording(tmp_path / "a.h5") as recording:
        assert len(recording) == FRAMES
        for name in views:
            np.testing.assert_array_equal(recording[f"source/{name}"], recording[f"read/{name}"])
        assert np.ptp(recording["source/part"]) > 100


def test_what_channels_share_is_refreshed_once_a_frame(tmp_path):
    memory, calls = np.zeros((1, 2)), []

    def refresh():
        calls.append(1)
        memory[:] = len(calls)

    names = ("a/one", "a/two")
    channels = [Channel(name, "m", (), source=memory[:, k], refresh=refresh) for k, name in enumerate(names)]
    write(tmp_path / "a.h5", channels, lambda frame: None, frames=10)
    assert len(calls) == 10
    with Recording(tmp_path / "a.h5") as recording:
        for name in names:
            np.testing.assert_array_equal(recording[name], np.arange(1, 11))


def test_read_of_a_source_is_a_copy():
    memory = np.zeros((1, 3))
    channel = Channel("a/one", "m", (3,), source=memory, refresh=lambda: memory.__iadd__(1))
    assert channel.read is not None
    first, second = channel.read(), channel.read()
    np.testing.assert_array_equal(first, [[1, 1, 1]])
    np.testing.assert_array_equal(second, [[2, 2, 2]])


def test_a_source_of_another_shape_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"channel 'a/one'.*\(1, 3\).*\(1, 4\)"):
        RecordingWriter(tmp_path / "a.h5", {}, [Channel("a/one", "m", (4,), source=np.zeros((1, 3)))])


@pytest.mark.parametrize(("period", "flushed"), [(1e9, 64), (0.0, 192)])
def test_full_blocks_wait_for_others_but_not_for_long(tmp_path, monkeypatch, period, flushed):
    monkeypatch.setattr(writer, "FLUSH_PERIOD", period)
    recording = RecordingWriter(tmp_path / "a.h5", {}, [Channel("a/one", "m", (), source=np.zeros(1))])
    for frame in range(200):
        recording.append(0.01 * frame)
    with Recording(tmp_path / "a.h5") as seen:
        assert len(seen) == flushed
    recording.close("complete")
    with Recording(tmp_path / "a.h5") as seen:
        assert len(seen) == 200
