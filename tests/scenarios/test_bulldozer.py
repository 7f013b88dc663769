"""The bulldozer in its ditch, turning and pulling: shortened runs, full ones marked long."""

from unittest import mock

import numpy as np
import pytest

import grouser
from grouser.recording import Recording
from grouser.scenarios import bulldozer_ditch, bulldozer_drawbar, track_rest, tracked_machine
from grouser.scenarios.bulldozer_turn import chain_speeds
from grouser.track import Link, SoilValues

SPLINE_AT_REST = 3e-3  # of the weight: its seats are softer, so that the same energy is a wider swing
AT_REST = 2e-3  # of the weight: chains still swing with a hundred-thousandth of the energy of the first fall
STANDS = 1e-3  # [m] in a tenth of a second; built above the ground, the machine falls by several centimetres
MIRROR = 1e-6  # relative: round-off that contact carries on for a few thousand steps


ARMS = {"rollers": "road-arms"}
OTHER_PARTS = {"rollers": "road-arms", "sprocket": "spline", "back_bend": "shoes"}


@pytest.mark.parametrize("parts", [{}, ARMS, OTHER_PARTS])
def test_on_level_ground_all_loads_are_accounted_for(tmp_path, parts):
    """Also where the engine is implicit in the track: what it takes off the bodies the links get back."""
    outcome = grouser.run("bulldozer-ditch", out=tmp_path / "out", time=0.8, report=False, **parts)
    assert outcome.missed == []
    values = outcome.metrics
    assert abs(values["ground_load_error_rel"]) < 1e-4
    assert abs(values["impulse_error_rel"]) < 1e-3
    assert values["distance_m"] > 0.3


@pytest.mark.parametrize(
    "parts", [{}, {"plastic": {"name": "dry-sand"}}, ARMS, {"sprocket": "spline"}, {"back_bend": "shoes"}, OTHER_PARTS]
)
def test_a_machine_begins_in_static_equilibrium(parts):
    """Ground load and height stay from the first step on; built just above the ground, the machine falls."""
    settings = tracked_machine.MachineSettings(**parts)
    weight = settings.machine.total_mass * settings.gravity
    errors = {}
    for at_rest in (True, False):
        sim = tracked_machine.simulate(settings, tracked_machine.ramped([]), at_rest=at_rest)
        assert not [note for note in sim.notes if "rest" in note]
        height, load = float(sim.data.qpos[2]), []
        for _ in range(10):
            sim.step(10)
            load.append(sim.modules[0].ground_force()[0, :, 2].sum() / weight - 1)
        errors[at_rest] = np.abs(load).max()
        assert (abs(float(sim.data.qpos[2]) - height) < STANDS) == at_rest
    assert errors[True] < (SPLINE_AT_REST if parts == {"sprocket": "spline"} else AT_REST)
    assert errors[False] > 0.5


def test_a_machine_that_does_not_come_to_rest_is_noted():
    with mock.patch.object(track_rest, "LONGEST", 0.1):
        sim = tracked_machine.simulate(tracked_machine.MachineSettings(), tracked_machine.ramped([]))
    assert [note for note in sim.notes if "not at rest after 0.1 s" in note]
    sim = tracked_machine.simulate(tracked_machine.MachineSettings(), tracked_machine.ramped([]))
    assert not [note for note in sim.notes if "rest" in note]


def test_left_and_right_turns_are_mirror_images(tmp_path):
    ends = []
    for radius in (3.0, -3.0):
        outcome = grouser.run("bulldozer-turn", out=tmp_path / f"r{radius}", radii=[radius], stage=0.8, report=False)
        with Recording(outcome.recording) as recording:
            ends.append(
                (
                    recording["body/pose[chassis]"][-1],
                    recording["track/left/tension"][-1],
                    recording["track/right/tension"][-1],
                )
            )
    (left, a, b), (right, c, d) = ends
    assert left[1] == pytest.approx(-right[1], abs=MIRROR)
    assert left[0] == pytest.approx(right[0], abs=MIRROR)
    assert np.abs(a - d).max() < MIRROR * np.abs(a).max() * 1e3
    assert left[5] == pytest.approx(-right[5], abs=MIRROR)
    assert abs(left[5]) > 1e-3


def test_turns_are_asked_by_radius():
    assert chain_speeds(0.0, 0.8, 1.98) == (-0.8, 0.8)
    assert chain_speeds(0.99, 0.8, 1.98) == (0.0, 0.8)
    assert chain_speeds(-0.99, 0.8, 1.98) == (0.8, 0.0)


def test_a_blade_load_is_pulled_by_the_ground(tmp_path):
    outcome = grouser.run("bulldozer-ditch", out=tmp_path / "out", time=1.4, blade_load=6e4, report=False)
    with Recording(outcome.recording) as recording:
        late = recording.time > tracked_machine.SETTLING + 1.0
        thrust = sum(recording[f"track/{side}/ground_force"][late][:, 0].mean() for side in ("left", "right"))
        assert recording["blade/pull"][-1] == pytest.approx(6e4)
    assert thrust == pytest.approx(6e4, rel=0.1)
    assert abs(outcome.metrics["impulse_error_rel"]) < 1e-3


def test_two_threads_give_the_same_numbers():
    ends = []
    for threads in (1, 2):
        sim = bulldozer_ditch.build(bulldozer_ditch.BulldozerDitch(threads=threads))
        sim.step(50)
        ends.append(sim.modules[0]._committed.position.numpy().copy())
    assert np.array_equal(*ends)


def test_a_stopped_run_with_a_load_on_soil_that_ruts_continues_bit_for_bit():
    settings = bulldozer_ditch.BulldozerDitch(blade_load=1e4, plastic={"name": "dry-sand"})
    sim = bulldozer_ditch.build(settings)
    sim.step(200)
    saved = sim.checkpoint()
    ends = []
    for _ in range(2):
        sim.step(30)
        ground = sim.ground.heights(region=(-1.0, 4.0, -2.0, 2.0))
        ends.append((sim.data.qpos.copy(), sim.modules[0]._committed.position.numpy().copy(), ground))
        sim.restore(saved)
    assert all(np.array_equal(a, b) for a, b in zip(*ends, strict=True))
    assert ends[0][2].min() < -0.001


@pytest.mark.long
@pytest.mark.parametrize("oblique", [0.0, 30.0])
def test_through_the_ditch_without_a_thrown_link(tmp_path, oblique):
    outcome = grouser.run("bulldozer-ditch", out=tmp_path / "out", oblique_deg=oblique, report=False)
    assert outcome.missed == []
    assert outcome.metrics["pitch_max_deg"] > 12
    assert outcome.metrics["distance_m"] > 11


@pytest.mark.long
def test_a_machine_that_is_stuck_does_not_pass(tmp_path):
    """A blade load of one and a half times its weight holds it before the ditch."""
    outcome = grouser.run("bulldozer-ditch", out=tmp_path / "out", blade_load=3e5, report=False)
    assert outcome.missed == ["distance_m"]
    assert outcome.metrics["distance_m"] < 0.5


@pytest.mark.long
def test_turning_moment_grows_as_the_radius_shrinks(tmp_path):
    values = grouser.run("bulldozer-turn", out=tmp_path / "out", radii=[20.0, 4.0, 0.99], report=False).metrics
    wide, narrow, locked = values["turning_moments_Nm"]
    assert 0 < wide < narrow < locked
    assert locked == pytest.approx(values["sliding_moment_Nm"], rel=0.25)  # even pressure and L are rough


@pytest.mark.long
def test_slip_grows_with_pull_up_to_the_strength_of_the_ground(tmp_path):
    """Cohesion, friction and the faces of the grousers, of the loads the shoes have meanwhile: no more, no less."""
    pulls = []
    for grousers in (0, 1):
        outcome = grouser.run("bulldozer-drawbar", out=tmp_path / f"{grousers}", grousers=grousers, report=False)
        assert outcome.missed == []
        values = outcome.metrics
        assert values["pull_over_strength"] == pytest.approx(1, rel=bulldozer_drawbar.THROUGH)
        assert values["slip_at_half"] < 0.05
        assert values["mean_maximum_pressure_Pa"] > values["mean_pressure_Pa"]
        pulls.append(values["drawbar_pull_max_N"])
    bare, with_grousers = pulls
    assert with_grousers > (1 + bulldozer_drawbar.THROUGH) * bare, "the faces of grousers count"


@pytest.mark.parametrize(
    ("load", "wanted"),
    [
        (0.0, 0.0),
        # tips of 0.00915 m^2 alone, 20 mm deep: c A + load tan(phi) + face
        (915.0, 27.45 + 528.27 + 132.64),
        # and the plate of 0.1148 m^2, 10 mm deep, the tips 60 mm
        (8485.1, 371.86 + 4898.88 + 433.06),
    ],
)
def test_the_strength_below_a_shoe(load, wanted):
    """By hand: 5e6 N/m^3, 3 kPa, 30 degrees, 16 kN/m^3, one grouser of 50 x 15 mm on a shoe of 610 x 203.2 mm."""
    found = bulldozer_drawbar.shear_strength(np.array([load]), Link(), SoilValues())
    assert found[0] == pytest.approx(wanted, rel=1e-4, abs=1e-9)


@pytest.mark.long
def test_soil_that_ruts_carries_the_machine_and_shows_its_tracks(tmp_path):
    outcome = grouser.run(
        "bulldozer-turn", out=tmp_path / "out", radii=[4.0], stage=2.0, plastic={"name": "dry-sand"}, report=False
    )
    assert outcome.missed == []
    with Recording(outcome.recording) as recording:
        x, y, heights, first = recording.surface_at()
    rut = first - heights
    beside = np.abs(np.abs(y) - 0.99) > 0.6
    assert rut[beside][:, x < 2.0].max() < 0.05  # between and outside the tracks
    assert outcome.metrics["rut_depth_m"] > 0.03
