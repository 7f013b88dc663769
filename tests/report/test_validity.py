"""How often a run left the range in which its laws were compared: counted in summary and report."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest

import grouser
from grouser.module import Channel, HasLimits
from grouser.recording import Recording, RecordingWriter, build_header
from grouser.report.validity import beyond, validity
from grouser.scenarios.settings import from_python

FRAMES = 10


@pytest.fixture
def recording(tmp_path):
    """Two wheels: the second is 0.2 m deep in the last three of ten frames and moves at 3 m/s in the fifth."""
    depth, place = np.zeros((FRAMES, 2)), np.zeros((FRAMES, 2, 7))
    depth[:, 0], depth[7:, 1] = 0.05, 0.2
    place[:, :, 6] = 1.0
    place[5:, 1, 0] = 0.3
    now = [0]
    channels = [
        Channel("soil/sinkage", "m", (2,), labels=("a", "b"), read=lambda: depth[now[0]][None]),
        Channel("body/pose", "m, 1", (2, 7), kind="pose", labels=("a", "b"), read=lambda: place[now[0]][None]),
    ]
    limits = [
        {"quantity": "deep", "channel": "soil/sinkage", "bodies": ["a", "b"], "scales": [0.1, 0.1], "bound": 0.6,
         "reason": "not compared"},
        {"quantity": "speed", "channel": "body/pose", "bodies": ["a", "b"], "scales": [1, 1], "bound": 2.0,
         "reason": "quasi-static"},
        {"quantity": "other", "channel": "not/recorded", "bodies": ["a"], "scales": [1], "bound": 2.0, "reason": ""},
    ]  # fmt: skip
    header = build_header(scenario="made", settings={}, seed=0, step=0.1, duration=1.0, limits=limits)
    writer = RecordingWriter(tmp_path / "recording.h5", header, channels)
    for k in range(FRAMES):
        now[0] = k
        writer.append(0.1 * k)
    writer.close("complete", "")
    with Recording(tmp_path / "recording.h5") as opened:
        yield opened


def test_frames_beyond_a_limit_are_counted(recording):
    deep, speed = validity(recording)
    assert (deep["body"], deep["share_beyond"], deep["largest"]) == ("b", 0.3, pytest.approx(2.0))
    assert deep["time_s"] == pytest.approx(0.7)
    assert (speed["body"], speed["share_beyond"], speed["largest"]) == ("b", 0.1, pytest.approx(3.0))
    assert speed["time_s"] == pytest.approx(0.5)
    assert len(beyond(validity(recording))) == 2


LOADS = [(100.0, False), (10000.0, True)]  # [N], and whether the wheel is most of the time too deep for the law


@pytest.mark.parametrize(("load", "too_deep"), LOADS)
def test_a_wheel_with_a_hundred_times_its_load_is_told(load, too_deep, tmp_path):
    short = {"load": load, "speed": 0.5}
    outcome = grouser.run("single-wheel", short, out=tmp_path / "run", report=True)
    stored = json.loads((tmp_path / "run" / "summary.json").read_text())["validity"]
    assert stored == outcome.summary["validity"]
    deep = next(one for one in stored if one["quantity"] == "sinkage of wheels over their radius")
    assert (deep["share_beyond"] > 0.5) == too_deep
    assert "Where the laws hold" in (tmp_path / "run" / "report.html").read_text()


YOUNG = [(5e6, False), (5e4, True)]  # [Pa] of the wheels: the scenario's, and as soft as a sponge


@pytest.mark.long
@pytest.mark.parametrize(("young", "too_soft"), YOUNG)
def test_wheels_too_soft_for_the_law_of_layers_are_told(young, too_soft, tmp_path):
    settings = {"time": 1.0, "tread.young": young}
    outcome = grouser.run("viking-rocks", settings, out=tmp_path / "run", report=False)
    (strain,) = (one for one in outcome.summary["validity"] if "thickness of the layers" in one["quantity"])
    assert (strain["share_beyond"] > 0) == too_soft
    assert strain["largest"] > 0


def limited(name: str, **settings) -> dict[str, dict]:
    """What was counted in a few steps of a scenario, by the first words of its quantities."""
    experiment = from_python(name, settings)
    sim = experiment.scenario.build(experiment.settings)
    limits = [asdict(limit) for module in sim.modules if isinstance(module, HasLimits) for limit in module.limits()]
    header = build_header(scenario=name, settings={}, step=sim.step_size, duration=0.1, limits=limits)
    channels = [channel for channel in sim.channels() if channel.kind != "tiles"]
    with TemporaryDirectory() as folder:
        file = Path(folder) / "recording.h5"
        with RecordingWriter(file, header, channels) as writer:
            for _ in range(20):
                writer.append(sim.time)
                sim.step(1)
        with Recording(file) as opened:
            return {one["quantity"]: one for one in validity(opened)}


LAWS = [
    ("vivi-ramp", {}, ("load of tyres", "tangent of the slip", "travel of suspensions")),
    ("box-on-stairs", {}, ("penetration over the thickness",)),
    ("single-wheel", {"law": "rft"}, ("sinkage over the largest extent", "speed of bodies in a granular")),
    ("track-rig", {}, ("pressure under shoes",)),
]


@pytest.mark.long
@pytest.mark.parametrize(("name", "settings", "quantities"), LAWS, ids=[law[0] for law in LAWS])
def test_each_law_counts_its_own_range(name, settings, quantities):
    counted = limited(name, **settings)
    for words in quantities:
        assert any(quantity.startswith(words) for quantity in counted), (words, list(counted))


@pytest.mark.long
@pytest.mark.parametrize(("speed", "fast"), [(0.05, False), (0.9, True)])
def test_a_wheel_too_fast_for_resistive_forces_is_told(speed, fast):
    counted = limited("single-wheel", law="rft", speed=speed)
    assert (counted["speed of bodies in a granular medium [m/s]"]["share_beyond"] > 0.5) == fast
