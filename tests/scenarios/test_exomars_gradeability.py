"""The steepest slope a rover climbs: the search, trials that do not feel each other, work against gravity, drift."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import grouser
from grouser.contact.soil import SoilModule
from grouser.errors import InputError
from grouser.robots import exomars
from grouser.scenarios import exomars_drawbar as drawbar
from grouser.scenarios import exomars_gradeability as eg
from grouser.scenarios import grade_search
from grouser.scenarios.rover_course import BODIES, DRIVES
from grouser.simulation import Simulation
from grouser.terrain import soil
from grouser.terrain.generators import slope
from grouser.terrain.ground import Ground

SHORT = {  # so short that slip has not settled
    "soil": "dry-sand", "spacing": 0.02, "trials": 3, "starts": 1, "approach": 4.0, "length": 0.3, "window": 0.15,
    "settled_rise": 0.5, "speed": 0.05, "slope_step_deg": 5.0, "stated_slope_deg": 5.0,
}  # fmt: skip
BRIEF = {"trials": 2, "approach": 2.5, "length": 0.02, "window": 0.01}  # two trials in 14 s
AS_NEW = 5e-5  # [m] rounding of places some metres apart decides on which side of a row of nodes an edge lies
# of slip: on an inclined grid depth and Krenn and Hirzinger 2009, eq. 6-8 count vertically, not square to it
INCLINED = 0.06
GENTLE = {  # the level and 2.5 degrees, at full length
    "soil": "exomars-test", "spacing": 0.01, "trials": 2, "approach": 8.0, "length": 3.0, "window": 1.0,
    "settled_rise": 0.02, "slope_step_deg": 2.5, "stated_slope_deg": 2.5,
}  # fmt: skip
FIRM = {  # soil that is only compacted: wheels do not dig, and slip settles up to 0.7
    "soil": "dry-sand", "compression": 1.0, "spacing": 0.01, "trials": None, "approach": 8.0, "length": 3.0,
    "window": 1.0, "settled_rise": 0.02, "slope_step_deg": 5.0, "stated_slope_deg": 5.0, "resolution_deg": 1.25,
}  # fmt: skip
LUGS = {"lugged": {}, "smooth": {"rover.grouser_height": 0.0}}
NARROW = {"rover.wheel_width": 0.06}  # wheels that sink in deeper and slip more, with lugs or without
STEADY_PULL = {"soil": "dry-sand", "compression": 1.0, "stiffness": 80.0}  # reaches m g sin(10 degrees)
SLIPPERY = {"soil.friction_angle_deg": 22.0}
SOFT = {"stiffness": 40.0}  # [N/m] so soft that the rover leaves the pits of its drop before it pulls
FRONT_HEAVY = {"rover.centre_x": 0.2}  # a rover that digs in with its front wheels
SAME_SLIP, HALF = 0.1, 0.5  # the bar: how close slips are, where they are below a half
PHI = 30.0  # [deg] friction of the soil: no rover climbs more
PERIODS = 20.0  # [s] of the comparison with an inclined grid


def ran(folder, **changes) -> tuple[dict, grouser.Recording]:
    outcome = grouser.run("exomars-gradeability", {**SHORT, **changes}, out=folder / "out", report=False)
    return outcome.metrics, grouser.Recording(outcome.recording)


@pytest.fixture(scope="module")
def uphill(tmp_path_factory):
    metrics, recording = ran(tmp_path_factory.mktemp("uphill"))
    with recording:
        yield metrics, recording


# ---- the search -----------------------------------------------------------------------------------------


@given(st.lists(st.floats(0.01, 30.0), min_size=5, max_size=5), st.sampled_from([2.5, 5.0]), st.integers(0, 6))
def test_the_median_of_the_limits_is_bracketed(limits, step, halvings):
    """Each start has a limit of its own: the median lies between the steepest slope climbed and the gentlest failed."""
    slopes: list[float] = []
    settled: list[bool] = []
    resolution = step / 2**halvings
    while (slope := grade_search.next_slope(slopes, settled, 5, step, resolution, 45.0)) is not None:
        settled.append(slope <= limits[slopes.count(slope)])
        slopes.append(slope)
    low, high = grade_search.bracket(slopes, settled, 5)
    assert low is not None
    assert high is not None
    assert low <= float(np.median(limits)) < high
    assert high - low == pytest.approx(resolution)
    assert len(slopes) <= 5 * len(set(slopes))


def test_a_slope_is_decided_by_most_starts():
    assert grade_search.verdict([True, False, True], 5) is None
    assert grade_search.verdict([True, False, True, True], 5) is True
    assert grade_search.verdict([False, False, True, False], 5) is False
    assert grade_search.verdict([True], 1) is True


def test_what_fails_on_the_level_has_no_grade():
    assert grade_search.bracket([0.0], [False], 1) == (None, 0.0)
    assert grade_search.next_slope([0.0], [False], 1, 5.0, 0.5, 45.0) is None
    assert grade_search.bracket([0.0, 5.0], [True, True], 1) == (5.0, None)
    assert grade_search.next_slope([0.0, 5.0], [True, True], 1, 5.0, 0.5, 8.0) is None  # no steeper one allowed


def test_one_start_decides_on_the_level():
    assert eg.level_counts_for_all([0.0, 5.0], [True, False], 3) == ([0.0, 0.0, 0.0, 5.0], [True, True, True, False])


def test_half_slip_is_read_between_slopes():
    slopes, slips = np.array([0.0, 10.0, 5.0, 7.5]), np.array([-0.1, 0.9, 0.3, 0.7])
    assert grade_search.crossing(slopes, slips, 0.5) == pytest.approx(6.25)
    assert grade_search.crossing(slopes, slips, 0.95) is None
    assert grade_search.crossing(slopes, slips, -0.2) is None
    assert grade_search.crossing(slopes[:0], slips[:0], 0.5) is None
    several = np.array([5.0, 5.0, 5.0, 7.5, 0.0]), np.array([0.3, 0.9, 0.2, 0.7, 0.0])  # the median on a slope
    assert grade_search.crossing(*several, 0.5) == pytest.approx(6.25)


# ---- the trials -----------------------------------------------------------------------------------------


def test_slopes_come_up_one_after_the_other(uphill):
    _, recording = uphill
    tilt, time = recording["trial/tilt_deg"], recording["trial/time"]
    np.testing.assert_allclose(recording["trials/slope_deg"][-1], [0.0, 5.0, 10.0])
    assert tilt[time < SHORT["approach"]].max() == 0.0
    half = np.abs(time - (SHORT["approach"] + eg.TILTING / 2)) < 0.03
    assert sorted(np.round(tilt[half]).tolist())[-1] == 5.0
    assert tilt[-1] == 10.0


def test_a_trial_ends_with_its_length(uphill):
    """And the run with the last trial, long before its longest duration."""
    _, recording = uphill
    np.testing.assert_allclose(recording["trials/distance"][-1], SHORT["length"], atol=1e-3)
    settings = eg.Gradeability(**SHORT)
    assert recording.time[-1] < eg.duration(settings) / 2


def test_every_trial_begins_as_new():
    """On the level they cannot be told apart until rounding has grown: rover and ground are as at the start."""
    s = eg.Gradeability(**{**SHORT, **BRIEF})
    sim = eg.build(s)
    trials = next(controller for controller in sim.controllers if isinstance(controller, eg.Trials))
    heights: list[list[float]] = []
    for trial in range(s.count):
        while trials.number[0] < trial:  # the first step of the trial is the last one taken here
            sim.step()
        heights.append([])
        for _ in range(60):
            heights[-1].append(float(sim.data.body("chassis").xpos[2]))
            sim.step()
    assert trials.results["slope_deg"].tolist() == [0.0, 5.0]
    np.testing.assert_allclose(heights[1], heights[0], atol=AS_NEW)
    assert np.ptp(heights[0]) > 1e-3  # it has dropped and sunk in


def test_slip_and_energy_grow_with_the_slope(uphill):
    metrics, recording = uphill
    assert (np.diff(recording["trials/slip"][-1]) > 0).all()
    energy = recording["trials/energy_per_metre"][-1]
    assert (np.diff(energy) > 0).all()
    weight = exomars.ExoMars().mass * exomars.MARS
    assert (energy > weight * np.sin(np.radians([0.0, 5.0, 10.0]))).all()
    assert metrics["energy_per_metre_J"] == pytest.approx(energy[1])
    assert metrics["max_grade_deg"] == 10.0
    assert metrics["failing_grade_deg"] is None
    assert metrics["volume_error_rel"] < eg.VOLUME_TOLERANCE


def test_a_slope_that_is_too_steep_fails(tmp_path):
    """Most of three starts decide, and they differ: two of them, then the search is at its resolution and ends."""
    changes = {"slope_step_deg": 30.0, "resolution_deg": 30.0, "stated_slope_deg": 0.0, "trials": 9, "starts": 3}
    metrics, recording = ran(tmp_path, **changes)
    with recording:
        settled, slip = recording["trials/settled"][-1], recording["trials/slip"][-1]
        assert settled[:3].tolist() == [1.0, 0.0, 0.0]
        assert np.isnan(settled[3:]).all()
        assert slip[1] != slip[2]
    assert metrics["max_grade_deg"] == 0.0
    assert metrics["half_slip_grade_deg"] is None  # of settled trials only
    assert metrics["failing_grade_deg"] == 30.0


def test_across_a_slope_it_drifts_down(tmp_path):
    metrics, recording = ran(tmp_path, heading="cross", slope_step_deg=8.0, stated_slope_deg=8.0, trials=2)
    with recording:
        level, steep = recording["trials/drift"][-1]
    assert abs(level) < 0.01
    assert steep > 0.02
    assert metrics["cross_slope_drift"] == pytest.approx(steep)


def test_trials_continue_from_a_checkpoint():
    s = eg.Gradeability(**{**SHORT, **BRIEF})
    sim = eg.build(s)
    sim.step(round(4.0 / s.chosen_step))
    saved = sim.checkpoint()
    sim.step(round(5.0 / s.chosen_step))  # across the beginning of a trial
    first = sim.data.qpos.copy(), sim.model.opt.gravity.copy()
    sim.restore(saved)
    sim.step(round(5.0 / s.chosen_step))
    np.testing.assert_array_equal(sim.data.qpos, first[0])
    np.testing.assert_array_equal(sim.model.opt.gravity, first[1])


def test_a_search_that_is_over_can_be_run_again():
    s = eg.Gradeability(**{**SHORT, **BRIEF})
    sim = eg.build(s)
    saved = sim.checkpoint()
    first = sim.run(eg.duration(s)).steps
    assert sim.finished
    assert sim.run(1.0).steps == 0
    sim.reset()
    assert sim.run(eg.duration(s)).steps == first > 0
    sim.restore(saved)
    assert not sim.finished


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"starts": 2}, "odd"),
        ({"starts": 5, "trials": 3, "stated_slope_deg": 5.0}, "which 3 trials reach"),
        ({"window": 1e-3}, "window"),
        ({"stated_slope_deg": 7.0}, "multiples"),
        ({"stated_slope_deg": 40.0}, "multiples"),
        ({"window": 0.2}, "window"),
        ({"approach": 1.0}, "approach"),
        ({"speed": 0.5}, "motors"),
        ({"heading": "down"}, "heading"),
    ],
)
def test_what_cannot_be_is_refused(changes, words, tmp_path):
    with pytest.raises(InputError, match=words):
        ran(tmp_path, **changes)


# ---- full length ----------------------------------------------------------------------------------------


@pytest.mark.nightly
def test_the_rover_of_the_paper_has_a_limit(tmp_path):
    outcome = grouser.run("exomars-gradeability", out=tmp_path / "out", report=False)
    metrics = outcome.metrics
    assert 0 < metrics["max_grade_deg"] < metrics["failing_grade_deg"] < PHI
    assert metrics["failing_grade_deg"] - metrics["max_grade_deg"] <= eg.Gradeability().resolution_deg
    assert metrics["settled_slip_max"] < eg.Gradeability().failing_slip
    assert not outcome.missed


def slip_at_pull(folder, pull: float, **changes) -> float:
    """Slip of the drawbar test where its spring pulls that much [N], past the pits of the drop.

    Of a rover that cannot pull so much, slip at the end.
    """
    outcome = grouser.run("exomars-drawbar", changes, out=folder, report=False)
    with grouser.Recording(outcome.recording) as recording:
        late = recording.time >= drawbar.GROWTH_FROM
        pulls, slips = np.maximum.accumulate(recording["drawbar/pull"][late]), recording["drawbar/smooth_slip"][late]
    assert pulls[0] < pull
    return float(np.interp(pull, pulls, slips))


@pytest.mark.nightly
def test_slip_on_a_slope_is_that_of_the_drawbar_test_at_the_same_pull(tmp_path):
    metrics, recording = ran(tmp_path, **GENTLE)
    with recording:
        assert recording["trials/settled"][-1].tolist() == [1.0, 1.0]
    slip = metrics["slip_stated"]
    assert slip < HALF
    pull = exomars.ExoMars().mass * exomars.MARS * math.sin(math.radians(metrics["max_grade_deg"]))
    assert slip_at_pull(tmp_path / "same", pull, **SOFT) == pytest.approx(slip, abs=SAME_SLIP)
    assert abs(slip_at_pull(tmp_path / "other", pull, **SOFT, **FRONT_HEAVY) - slip) > SAME_SLIP


@pytest.fixture(scope="module")
def climbs(tmp_path_factory):
    """Half-slip grade [deg], and slip by slope [deg], of a rover on soil that is only compacted; each found once.

    Of a rover that is stuck before slip has settled at a half, the slope on which it is stuck.
    """
    done: dict[str, tuple[float, dict[float, float]]] = {}

    def climb(name: str, **changes) -> tuple[float, dict[float, float]]:
        if name not in done:
            metrics, recording = ran(tmp_path_factory.mktemp(name), **FIRM, **changes)
            with recording:
                slopes, slips = recording["trials/slope_deg"][-1], recording["trials/slip"][-1]
                settled = recording["trials/settled"][-1] > 0
            half = metrics["half_slip_grade_deg"]
            half = metrics["failing_grade_deg"] if half is None else half
            done[name] = half, dict(zip(slopes[settled].tolist(), slips[settled].tolist(), strict=True))
        return done[name]

    return climb


@pytest.mark.nightly
def test_lugged_wheels_reach_half_slip_on_a_steeper_slope_than_smooth_ones(climbs):
    (lugged, _), (smooth, _) = (climbs(name, **changes) for name, changes in LUGS.items())
    assert lugged >= smooth > 0
    assert climbs("narrow", **NARROW)[0] < smooth


@pytest.mark.nightly
@pytest.mark.parametrize("name", LUGS)
def test_slips_on_slopes_are_those_of_the_drawbar_test_at_the_same_pulls(climbs, name, tmp_path):
    weight = exomars.ExoMars().mass * exomars.MARS
    slips = {angle: slip for angle, slip in climbs(name, **LUGS[name])[1].items() if 0 < angle <= 10}
    assert set(slips) >= {5.0, 10.0}
    assert max(slips.values()) < HALF
    for angle, slip in slips.items():
        pull = weight * math.sin(math.radians(angle))
        same = slip_at_pull(tmp_path / f"same {angle}", pull, **STEADY_PULL, **LUGS[name])
        assert same == pytest.approx(slip, abs=SAME_SLIP)
    other = slip_at_pull(tmp_path / "other", weight * math.sin(math.radians(10.0)), **STEADY_PULL, **SLIPPERY)
    assert abs(other - slips[10.0]) > SAME_SLIP


def climbed(angle_deg: float, inclined: bool) -> float:
    """Slip of the rover on dry sand: on an inclined grid, or on a level one under tilted gravity."""
    p, angle, h = exomars.ExoMars(), math.radians(angle_deg), 4e-3
    terrain = slope(angle_deg if inclined else 0.0, size=(6.0, 3.0), spacing=1.0, origin=(-3.0, -1.5))
    ground = Ground(terrain, soil("dry-sand"), 0.01)
    spec = exomars.build(p)
    if inclined:
        lift = p.longitudinal_pivot_height
        spec.body("chassis").pos = [-math.sin(angle) * lift, 0.0, math.cos(angle) * lift]
        spec.body("chassis").quat = [math.cos(angle / 2), 0.0, -math.sin(angle / 2), 0.0]
    else:
        spec.option.gravity = [-exomars.MARS * math.sin(angle), 0.0, -exomars.MARS * math.cos(angle)]
    sim = Simulation(spec, [SoilModule(ground, dict.fromkeys(BODIES, exomars.wheel_surface(p)))], ground=ground, step=h)
    sim.step(round(2.0 / h))
    sim.data.ctrl[[sim.model.actuator(name).id for name in DRIVES]] = 0.05 / p.wheel_radius
    sim.step(round(PERIODS / h))
    before, turned = sim.data.body("chassis").xpos.copy(), eg._place(sim.data)[2]
    sim.step(round(PERIODS / h))
    way = float(np.linalg.norm(sim.data.body("chassis").xpos - before))
    return 1 - way / (p.wheel_radius * (eg._place(sim.data)[2] - turned))


@pytest.mark.long
@pytest.mark.parametrize("angle_deg", [5.0, 10.0])  # steeper, where it digs in, they part
def test_tilted_gravity_stands_for_an_inclined_plane(angle_deg):
    assert climbed(angle_deg, inclined=False) == pytest.approx(climbed(angle_deg, inclined=True), abs=INCLINED)
