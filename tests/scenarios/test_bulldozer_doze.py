"""A bulldozer that moves earth with its blade, on one ground with its tracks."""

import numpy as np
import pytest

import grouser
from grouser.errors import InputError
from grouser.recording import Recording
from grouser.scenarios import bulldozer_doze, tracked_machine
from grouser.scenarios.bulldozer_doze import BulldozerDoze
from grouser.track.model import SLIDE_REACH

SHORT = {"length": 1.0, "speed": 1.5}
ROUND_OFF = 1e-9  # of the displaced volume
SWUNG = 3e-3  # [m] by which the lift gives way while the machine swings to rest; without its weight borne 26 mm
STAYS = 5e-4  # [m] of the lift while the machine stands


def test_blade_and_tracks_keep_the_volume_of_their_ground():
    """Summed over the whole grid, not by the accounts of the modules: what is missing was compressed."""
    settings = BulldozerDoze(**SHORT)
    sim = bulldozer_doze.build(settings)
    sim.step(round(4.2 / settings.step))
    track, soil = sim.modules
    tally = soil.arrays.displacement.tally.numpy()
    removed, owed = (float(getattr(track._ruts, name).numpy().sum()) for name in ("removed", "owed"))
    compressed = settings.plastic.resolve().compression * removed + float(tally["compressed"].sum())
    assert float(tally["removed"].sum()) * settings.spacing**2 > 0.1, "the blade has cut soil"
    assert removed * settings.spacing**2 > 0.1, "the tracks have left ruts"
    # No node that slides of the tracks may move is one that the blade holds.
    columns, dozer = track._ruts.footprint.numpy()["column1"], settings.machine.dozer
    farthest = sim.ground.arrays.x0 + settings.spacing * float(columns.max() + SLIDE_REACH)
    assert farthest < float(sim.data.body("blade").xpos[0]) + dozer.corners[dozer.corners[:, 2] == 0][:, 0].min()
    rise = float(sim.ground.heights().sum())
    assert rise == pytest.approx(-compressed - owed, abs=ROUND_OFF * removed)


def test_the_lift_bears_the_blade_and_the_machine_comes_to_rest():
    """On a speed servo alone the blade sank by 9 mm/s, and the machine did not come to rest before time 0."""
    sim = bulldozer_doze.build(BulldozerDoze(**SHORT))
    assert not [note for note in sim.notes if "rest" in note]
    lift = float(sim.data.joint("blade_lift").qpos[0])
    sim.step(round(0.9 * tracked_machine.SETTLING / sim.step_size))
    assert abs(lift) < SWUNG
    assert float(sim.data.joint("blade_lift").qpos[0]) == pytest.approx(lift, abs=STAYS)


def test_cells_with_which_slides_of_the_tracks_would_reach_the_blade_are_refused():
    with pytest.raises(InputError, match=r"spacing = 0.1 m: .* allowed is up to 0.0\d+ m"):
        bulldozer_doze.build(BulldozerDoze(spacing=0.1))


@pytest.mark.long
def test_a_pass_cuts_pushes_a_pile_and_spills(tmp_path):
    outcome = grouser.run("bulldozer-doze", out=tmp_path / "out", report=False)
    assert outcome.missed == []
    values = outcome.metrics
    assert values["draught_N"] > 5 * values["draught_level_N"], "the pile is most of the load"
    assert values["pile_volume_m3"] > 1.0
    assert values["spilled_volume_m3"] > 0.3
    with Recording(outcome.recording) as recording:
        travel, draught = recording["blade/travel"], recording["blade/draught"]
        x, y, heights, before = recording.surface_at()
        height = recording["body/pose[chassis]"][:, 2]
        at_rest = height[int(np.searchsorted(recording.time, tracked_machine.SETTLING))]
    # The tracks stand on the floor that the blade has cut.
    assert -2 < (height[-1] - at_rest) / values["cut_depth_m"] < -0.8, (
        "lower by the cut, and by ruts in its loose floor"
    )
    early, late = (draught[(travel > a) & (travel < a + 2)].mean() for a in (2.0, 8.0))
    assert late > 1.5 * early, "the pile grows"
    rise = heights - before
    behind = (x > 7.0) & (x < 12.0)
    for side in (-1, 1):  # windrows beside the cut, outside the ends of the blade
        beside = (side * y > 1.6) & (side * y < 2.2)
        assert rise[beside][:, behind].max(axis=0).min() > 0.02
    assert np.abs(rise[np.abs(y) > 3.5]).max() == 0.0
