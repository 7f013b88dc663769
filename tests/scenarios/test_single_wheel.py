"""A free wheel in the engine: the book's sinkage, pull and torque, and what the book does not know."""

from __future__ import annotations

import math

import numpy as np
import pytest

from grouser.report import judge
from grouser.scenarios import single_wheel
from grouser.scenarios.wheel_theory import rolling_wheel
from grouser.terrain import soil
from tests.scenarios.soil_bin import built, errors, recorded, rolled, table_errors, walked
from tests.scenarios.wheel_table import RIGID, TABLE, cases

BARS = {0.01: 0.02, 0.005: 0.01}  # sinkage, pull and torque against the integrals, by grid spacing [m]
VOLUME = 1e-9  # the bar: round-off of a float64 run
FLOAT32_VOLUME = 2e-6  # heights of 24 bits: five times what 60 s were measured to lose
FLOAT32_RESULT = 0.02  # the bar of the model itself: rounding may not cost more
LOAD = 0.01  # a steady wheel carries its weight
STEP_5 = 0.02  # the bar: means at 5 ms against 0.2 ms
STEP_10 = 0.05  # the bar: means at 10 ms against 0.2 ms
NOISE = 0.05  # the bar: standard deviation of the load over its mean at 5 ms
EXPLICIT = 0.01  # both steps go to the same limit; at 0.2 ms half of the bar at 5 ms
NIL = 0.01  # half of the bar of the closed forms: what is left of the mound at chi = 0.99
ODD = 0.03  # left and right differ by how the rim's triangles lie, and the bar twice
ELASTIC = [(name, column, values) for name, k_e, column, values in cases() if k_e != RIGID]
QUICK = {
    ("dry-sand", "frictionless"), ("dry-sand", "slip 0.3"), ("lunar-nominal", "slip 0.1"),
    ("sandy-loam", "full shear"), ("sandy-loam", "slip 0.6"), ("exomars-test", "frictionless"),
}  # fmt: skip


# ---- compaction only: the integrals ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "column", "values"), [case for case in ELASTIC if case[:2] in QUICK], ids=lambda v: str(v)
)
def test_a_free_wheel_meets_the_integrals(name, column, values):
    for what, error in table_errors(name, column, values).items():
        assert abs(error) < BARS[0.01], what


@pytest.mark.long
@pytest.mark.parametrize("erosion", [True, False], ids=["erosion", "no erosion"])
@pytest.mark.parametrize("spacing", BARS)
@pytest.mark.parametrize(("name", "column", "values"), ELASTIC, ids=lambda v: str(v))
def test_a_free_wheel_meets_the_whole_table(name, column, values, spacing, erosion):
    for what, error in table_errors(name, column, values, spacing=spacing, erosion=erosion).items():
        assert abs(error) < BARS[spacing], what


OTHERS = [
    ("dry-sand", 0.15, 0.093, 185.5, 0.01, 0.2),  # edges between nodes
    ("clay", 0.15, 0.1061, 185.5, 0.01, 0.4),
    ("lete-sand", 0.15, 0.0977, 300.0, 0.01, 0.2),
    ("hit-lss1", 0.15735, 0.165, 80.0, 0.01, 0.3),
    ("lunar-nominal", 0.12, 0.0837, 90.0, 0.008, 0.15),
    ("sandy-loam", 0.3, 0.201, 1500.0, 0.02, 0.3),
]


def check_against_theory(name, radius, width, load, spacing, slip):
    material = soil(name).replace(compression=1.0)
    book = rolling_wheel(material, radius=radius, width=width, load=load, slip=slip)
    free = rolling_wheel(material, radius=radius, width=width, load=load, slip=slip, friction=False)
    metrics = rolled(
        soil=name, compression=1.0, wheel__radius=radius, wheel__width=width, load=load, spacing=spacing, slip=slip
    )
    got = errors(metrics, book.sinkage, book.drawbar_pull, book.torque, abs(free.drawbar_pull))
    for what, error in got.items():
        assert abs(error) < BARS[0.01], what


def test_another_wheel_between_the_nodes_of_the_grid():
    check_against_theory(*OTHERS[0])


@pytest.mark.long
@pytest.mark.parametrize("wheel", OTHERS[1:], ids=lambda wheel: wheel[0])
def test_other_wheels_and_soils(wheel):
    check_against_theory(*wheel)


CAPPED = [("sandy-loam", 0.3, 0.3), ("dry-sand", 0.4, 0.1), ("hit-lss1", 0.39, 0.2), ("lunar-nominal", 0.4, 0.6)]


def check_smooth_wheel(name: str, mu: float, slip: float, spacing: float = 0.01) -> None:
    """A wheel that slides on its soil: the integrals with the capped shear curve, where scaling gives other values."""
    wheel = {"radius": 0.15, "width": 0.1, "load": 185.5, "slip": slip}
    material = soil(name).replace(compression=1.0, wheel_friction=mu)
    book, scaled = (rolling_wheel(material, **wheel, interface_friction=law) for law in ("caps", "scales"))
    settings = {"soil": name, "soil__wheel_friction": mu, "compression": 1.0, "slip": slip, "spacing": spacing}
    metrics = rolled(interface_friction="caps", **settings)
    for what, error in errors(metrics, book.sinkage, book.drawbar_pull, book.torque, resistance(name)).items():
        assert abs(error) < BARS[spacing], what
    wrong = errors(metrics, scaled.sinkage, scaled.drawbar_pull, scaled.torque, resistance(name))
    assert max(map(abs, wrong.values())) > BARS[spacing], "the two laws cannot be told apart here"


def test_a_smooth_wheel_meets_the_integrals_with_capped_friction():
    check_smooth_wheel(*CAPPED[0])


@pytest.mark.long
@pytest.mark.parametrize("spacing", BARS)
@pytest.mark.parametrize("wheel", CAPPED, ids=lambda wheel: wheel[0])
def test_smooth_wheels_with_capped_friction(wheel, spacing):
    check_smooth_wheel(*wheel, spacing=spacing)


def test_metrics_say_what_happened():
    metrics = rolled(compression=1.0, slip=0.3)
    assert metrics["load_N"] == pytest.approx(185.5, rel=LOAD)
    assert metrics["slip"] == pytest.approx(0.3, abs=1e-3)
    assert metrics["volume_error_rel"] < VOLUME
    assert metrics["load_noise_rel"] < NOISE
    assert abs(metrics["side_force_N"]) < 1e-6 * 185.5
    assert metrics["notes"] == ()


# ---- soil that is pushed aside -----------------------------------------------------------------------


def test_a_mound_adds_resistance_and_goes_with_what_it_is_made_of():
    """chi from 0.3 to 1 on sand, frictionless: every step to less spoil is a step towards the closed form."""
    by_share = {chi: rolled(friction="none", slip=0.0, compression=chi) for chi in (0.3, 0.9, 0.99, 1.0)}
    resistance = {chi: -metrics["drawbar_pull_N"] for chi, metrics in by_share.items()}
    sinkage = {chi: metrics["sinkage_m"] for chi, metrics in by_share.items()}
    assert resistance[0.3] > 1.03 * resistance[1.0]
    assert resistance[0.99] == pytest.approx(resistance[1.0], rel=NIL)
    assert sinkage[0.99] == pytest.approx(sinkage[1.0], rel=NIL)
    for what in (resistance, sinkage):
        missing = [abs(what[chi] / what[1.0] - 1) for chi in (0.3, 0.9, 0.99)]
        assert missing == sorted(missing, reverse=True)


@pytest.mark.long
@pytest.mark.parametrize("name", ["dry-sand", "sandy-loam", "lunar-nominal"])
@pytest.mark.parametrize("slip", [0.1, 0.3, 0.6])
def test_results_go_over_into_compaction_only(name, slip):
    near, full = (rolled(soil=name, slip=slip, compression=chi) for chi in (0.99, 1.0))
    resistance = abs(TABLE[name, 5e7][0][1])
    left = errors(near, full["sinkage_m"], full["drawbar_pull_N"], full["torque_Nm"], resistance)
    for what, error in left.items():
        assert abs(error) < NIL, what


def test_a_slipping_wheel_digs_where_soil_is_carried_away():
    deep = [rolled(slip=slip)["sinkage_m"] for slip in (0.1, 0.3, 0.6)]
    assert deep[1] > 1.2 * deep[0]
    assert deep[2] > 1.2 * deep[1]
    flat = [rolled(slip=slip, compression=1.0)["sinkage_m"] for slip in (0.1, 0.6)]
    assert flat[1] < flat[0], "the closed forms rise a little with slip"


@pytest.mark.long
@pytest.mark.parametrize("name", ["dry-sand", "sandy-loam", "lunar-nominal", "hit-lss1"])
@pytest.mark.parametrize("chi", [0.3, 0.6])
def test_sinkage_grows_with_slip_on_every_soil(name, chi):
    deep = [rolled(soil=name, slip=slip, compression=chi)["sinkage_m"] for slip in (0.0, 0.1, 0.2, 0.4, 0.6, 0.8)]
    assert (np.diff(deep) > 0).all()


def test_a_wheel_spinning_on_the_spot_digs_itself_in():
    """Deeper with every second; soil that only compacts holds it up."""
    depth = {}
    for chi in (0.3, 1.0):
        _, (time, sinkage) = recorded({"slip": 1.0, "compression": chi}, "time", "soil/sinkage")
        depth[chi] = np.interp([1.0, 3.0, 6.0, 9.9], time, sinkage[:, 0])
    assert (np.diff(depth[0.3]) > 5e-4).all()
    assert depth[0.3][-1] > depth[0.3][0] + 5e-3
    assert abs(depth[1.0][-1] - depth[1.0][1]) < 5e-4


# ---- modes -------------------------------------------------------------------------------------------


def test_a_towed_wheel_has_no_torque_and_turns_a_little_too_slowly():
    metrics = rolled(mode="towed")
    assert abs(metrics["torque_Nm"]) < 0.01 * 185.5 * 0.15
    assert -0.3 < metrics["slip"] < 0
    assert metrics["drawbar_pull_N"] < -0.1 * 185.5


def test_a_driven_wheel_pulls_nothing_but_itself():
    metrics = rolled(mode="driven")
    assert abs(metrics["drawbar_pull_N"]) < LOAD * 185.5
    assert 0 < metrics["slip"] < 0.3
    assert metrics["torque_Nm"] > 0


def test_a_braked_wheel_is_held_back():
    metrics = rolled(slip=-0.3)
    assert metrics["slip"] == pytest.approx(-0.3, abs=1e-3)
    assert metrics["torque_Nm"] < 0
    assert metrics["drawbar_pull_N"] < rolled(mode="towed")["drawbar_pull_N"]


# ---- size of the step --------------------------------------------------------------------------------


def resistance(name: str) -> float:
    """[N] of the frictionless wheel."""
    wheel = {"radius": 0.15, "width": 0.1, "load": 185.5, "slip": 0.0}
    return abs(rolling_wheel(soil(name), **wheel, friction=False).drawbar_pull)


def step_errors(step: float, **changes) -> tuple[dict[str, float], dict]:
    """Sinkage and pull at a step against 0.2 ms; pull over max(|pull|, resistance of a towed wheel)."""
    fine, coarse = walked(step=2e-4, **changes), walked(step=step, **changes)
    got = errors(coarse, fine["sinkage_m"], fine["drawbar_pull_N"], 1.0, resistance(changes.get("soil", "dry-sand")))
    return {what: got[what] for what in ("sinkage", "pull")}, coarse


def check_steps(step: float, bar: float, **changes) -> None:
    got, metrics = step_errors(step, **changes)
    for what, error in got.items():
        assert abs(error) < bar, what
    assert metrics["load_noise_rel"] < NOISE


def test_five_milliseconds_are_fine_enough():
    """Half a millimetre of travel a step, the most the program chooses by itself: 5 ms at 0.1 m/s."""
    check_steps(5e-3, STEP_5, speed=0.1)


WALKS = [
    {}, {"compression": 1.0}, {"compression": 0.0}, {"slip": 0.0}, {"slip": 0.1}, {"slip": 0.6}, {"mode": "towed"},
    {"soil": "sandy-loam"}, {"soil": "clay"}, {"soil": "lunar-nominal", "slip": 0.6},
    {"soil": "lunar-nominal", "slip": 0.1, "compression": 0.6}, {"soil": "exomars-test"},
]  # fmt: skip
PACES = [(changes, 0.1) for changes in WALKS] + [(changes, speed) for changes in WALKS[:2] for speed in (0.02, 0.05)]


@pytest.mark.long
@pytest.mark.parametrize(("changes", "speed"), PACES, ids=str)
def test_five_milliseconds_everywhere(changes, speed):
    check_steps(5e-3, STEP_5, speed=speed, **changes)


@pytest.mark.long
@pytest.mark.parametrize(("changes", "speed"), PACES, ids=str)
def test_ten_milliseconds_everywhere(changes, speed):
    check_steps(1e-2, STEP_10, speed=speed, **changes)


@pytest.mark.parametrize(("speed", "largest"), [(0.01, 5e-3), (0.1, 5e-3), (0.5, 1e-3), (2.0, 2.5e-4)])
def test_the_program_keeps_the_travel_of_a_step_below_half_a_millimetre(speed, largest):
    settings, simulation = built(speed=speed)
    assert simulation.step_size == settings.chosen_step <= largest
    assert simulation.step_size * speed <= 0.5e-3 * (1 + 1e-9)
    assert simulation.notes == []


@pytest.mark.parametrize(
    "changes", [{}, *(pytest.param(changes, marks=pytest.mark.long) for changes in WALKS[1:])], ids=str
)
def test_a_fast_wheel_at_the_step_the_program_chose(changes):
    """0.5 m/s: 0.5 mm a step."""
    fine, chosen = (walked(speed=0.5, step=step, **changes) for step in (2e-4, None))
    got = errors(chosen, fine["sinkage_m"], fine["drawbar_pull_N"], 1.0, resistance(changes.get("soil", "dry-sand")))
    for what in ("sinkage", "pull"):
        assert abs(got[what]) < STEP_5, what
    assert chosen["load_noise_rel"] < NOISE
    assert chosen["notes"] == []


def test_a_step_too_large_for_the_speed_is_said():
    _, simulation = built(speed=0.5, step=5e-3)
    assert len(simulation.notes) == 1
    assert "2.5 mm per step" in simulation.notes[0]


@pytest.mark.parametrize("chi", [1.0])
def test_explicit_steps_agree_where_they_are_small(chi):
    implicit, explicit = (rolled(step=2e-4, speed=0.3, compression=chi, implicit=choice) for choice in (True, False))
    got = errors(
        explicit, implicit["sinkage_m"], implicit["drawbar_pull_N"], implicit["torque_Nm"],
        abs(TABLE["dry-sand", 5e7][0][1]),
    )  # fmt: skip
    for what, error in got.items():
        assert abs(error) < EXPLICIT, what


# ---- grousers ----------------------------------------------------------------------------------------

DING = {"soil": "hit-lss1", "load": 80.0, "wheel__radius": 0.15735, "wheel__width": 0.165}  # Ding et al. 2011
LUGS = {"wheel__grouser_height": 0.01, "wheel__grouser_count": 30}


def ripple(slip: float, **changes) -> tuple[float, float, float]:
    """Frequency [Hz] of the strongest ripple of the pull, that of the lugs, and the share of power there."""
    settings = {name.replace("__", "."): value for name, value in {**DING, **changes}.items()}
    _, (time, pull) = recorded({**settings, "slip": slip}, "time", "wheel/drawbar_pull")
    steady = pull[time > time[-1] - 20.0]
    power = np.abs(np.fft.rfft((steady - steady.mean()) * np.hanning(len(steady)))) ** 2
    frequency = np.fft.rfftfreq(len(steady), time[1] - time[0])
    passing = 0.05 / (1 - slip) / DING["wheel__radius"] / (2 * math.pi) * LUGS["wheel__grouser_count"]
    heard = frequency > 0.3  # slower than that is drift
    share = power[np.abs(frequency - passing) < 0.1].sum() / power[heard].sum()
    return float(frequency[heard][power[heard].argmax()]), passing, float(share)


@pytest.mark.parametrize(
    ("slip", "spacing"),
    [(0.2, 0.01)] + [pytest.param(slip, 0.005, marks=pytest.mark.long) for slip in (0.1, 0.2, 0.3, 0.6)],
)
def test_lugs_ripple_at_their_own_frequency(slip, spacing):
    resolution = 2 / 20.0  # [Hz] of 20 s under a Hann window
    strongest, passing, share = ripple(slip, spacing=spacing, **LUGS)
    assert strongest == pytest.approx(passing, abs=resolution)
    assert share > 4 * ripple(slip, spacing=spacing)[2], "a smooth wheel has no such line"


@pytest.mark.parametrize(
    "slip", [0.2, pytest.param(0.1, marks=pytest.mark.long), pytest.param(0.3, marks=pytest.mark.long)]
)
def test_lugs_pull_more_and_sink_alike(slip):
    smooth, lugged = rolled(slip=slip, **DING), rolled(slip=slip, **DING, **LUGS)
    assert lugged["drawbar_pull_N"] > smooth["drawbar_pull_N"]
    assert lugged["torque_Nm"] > smooth["torque_Nm"]
    assert 0.5 < lugged["sinkage_m"] / smooth["sinkage_m"] < 1.5


@pytest.mark.long
@pytest.mark.parametrize("slip", [0.1, 0.3, 0.6])
def test_a_smooth_wheel_that_slides_on_the_soil_pulls_less_than_lugs(slip):
    """The friction of the smooth wheel is that of a smooth wall on sand, tan(2 phi / 3), as in `benchmarks/wheels`."""
    smooth = rolled(slip=slip, **DING, soil__wheel_friction=math.tan(math.radians(2 / 3 * 31.9)))
    lugged = rolled(slip=slip, **DING, **LUGS)
    assert lugged["drawbar_pull_N"] > 1.2 * smooth["drawbar_pull_N"]


# ---- side force --------------------------------------------------------------------------------------


def test_side_force_is_odd_and_grows_with_the_slip_angle():
    """Along the axle, to the left where the wheel is turned to the left of its way."""
    left = {angle: rolled(slip_angle_deg=angle) for angle in (0.0, 5.0, 15.0)}
    right = rolled(slip_angle_deg=-15.0)
    assert abs(left[0.0]["side_force_N"]) < 1e-6 * 185.5
    assert 0.01 * 185.5 < left[5.0]["side_force_N"] < left[15.0]["side_force_N"]
    assert right["side_force_N"] == pytest.approx(-left[15.0]["side_force_N"], rel=ODD)
    assert right["drawbar_pull_N"] == pytest.approx(left[15.0]["drawbar_pull_N"], abs=ODD * 185.5)
    assert left[15.0]["drawbar_pull_N"] < left[0.0]["drawbar_pull_N"]


@pytest.mark.long
@pytest.mark.parametrize("chi", [0.3, 1.0])
@pytest.mark.parametrize("name", ["dry-sand", "sandy-loam", "lunar-nominal"])
def test_side_force_on_other_soils(name, chi):
    forces = [rolled(soil=name, compression=chi, slip_angle_deg=a)["side_force_N"] for a in (-20, -10, 0, 10, 20, 40)]
    assert (np.diff(forces) > 0).all()
    assert forces[1] == pytest.approx(-forces[3], rel=ODD)
    assert forces[0] == pytest.approx(-forces[4], rel=ODD)


# ---- options -----------------------------------------------------------------------------------------


def test_loose_cover_bears_less_than_equation_29_to_the_letter():
    """Sand slid back under the wheel would carry as if it had never been loosened."""
    letter, loose = rolled(loose_cover=False), rolled()
    assert letter["sinkage_m"] < 0.99 * loose["sinkage_m"]
    assert letter["drawbar_pull_N"] > 1.02 * loose["drawbar_pull_N"]


def test_pure_limits_pull_more_than_shear_that_builds_up():
    """Krenn and Hirzinger 2009, eq. 5 and Krenn et al. 2008, eq. 19 know no shear displacement.

    Without cohesion there is less.
    """
    built_up, mohr, coulomb = (
        rolled(friction=law, compression=1.0) for law in ("shear-displacement", "mohr-coulomb", "coulomb")
    )
    assert built_up["drawbar_pull_N"] < coulomb["drawbar_pull_N"] < mohr["drawbar_pull_N"]
    assert built_up["torque_Nm"] < coulomb["torque_Nm"] < mohr["torque_Nm"]


def test_a_pure_limit_is_full_shear_at_any_slip():
    """At 0.5 m/s the creep speed of the regularised law is less than a percent of the slip's."""
    _, pull, torque = TABLE["dry-sand", 5e7][1]
    for slip in (0.3, 0.6):
        metrics = rolled(friction="mohr-coulomb", compression=1.0, slip=slip, speed=0.5)
        assert metrics["drawbar_pull_N"] == pytest.approx(pull, rel=BARS[0.01])
        assert metrics["torque_Nm"] == pytest.approx(torque, rel=BARS[0.01])


def test_friction_of_the_wheel_bounds_the_pull():
    mu = 0.3
    metrics = rolled(compression=1.0, soil__wheel_friction=mu)
    material = soil("dry-sand").replace(compression=1.0, wheel_friction=mu)
    book = rolling_wheel(material, radius=0.15, width=0.1, load=185.5, slip=0.3)
    got = errors(metrics, book.sinkage, book.drawbar_pull, book.torque, abs(TABLE["dry-sand", 5e7][0][1]))
    for what, error in got.items():
        assert abs(error) < BARS[0.01], what


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "pulls"),
    [("dry-sand", (3.9, 34.8, 54.6)), ("lunar-nominal", (14.2, 48.7, 69.1)), ("sandy-loam", (-3.4, 28.5, 65.5))],
)
def test_shear_that_stays_with_the_soil_pulls_as_its_own_integrals_say(name, pulls):
    """An option for comparison only; the integrals are for a rigid soil, so a tenth of the resistance is left open."""
    resistance = abs(TABLE[name, RIGID][0][1])
    stiff = {"soil": name, "soil__elastic_stiffness": 2e9, "step": 5e-4, "compression": 1.0, "erosion": False}
    for slip, pull in zip((0.1, 0.3, 0.6), pulls, strict=True):
        got = rolled(slip=slip, node_shear=True, **stiff)["drawbar_pull_N"]
        assert got == pytest.approx(pull, abs=0.1 * max(abs(pull), resistance))
    assert got > 1.1 * rolled(slip=0.6, **stiff)["drawbar_pull_N"]


# ---- precision ---------------------------------------------------------------------------------------


def test_single_precision_is_good_enough():
    double, single = rolled(), rolled(dtype="float32")
    resistance = abs(TABLE["dry-sand", 5e7][0][1])
    got = errors(single, double["sinkage_m"], double["drawbar_pull_N"], double["torque_Nm"], resistance)
    for what, error in got.items():
        assert abs(error) < FLOAT32_RESULT, what
    assert single["volume_error_rel"] < FLOAT32_VOLUME


def test_single_precision_is_not_held_to_the_rounding_of_double():
    declared = {m["name"]: m for m in single_wheel.metrics(single_wheel.SingleWheel(dtype="float32"))}
    assert judge(declared["volume_error_rel"], FLOAT32_VOLUME / 2) is None
    declared = {m["name"]: m for m in single_wheel.metrics(single_wheel.SingleWheel())}
    assert judge(declared["volume_error_rel"], FLOAT32_VOLUME / 2) is False


def test_options_of_the_soil_reach_the_module():
    given = {"options": {"samples": 3, "creep_speed": 2e-3}, "erosion": False}
    (module,) = single_wheel.build(single_wheel.SingleWheel(**given)).modules
    assert (module.options.samples, module.options.creep_speed, module.options.erosion) == (3, 2e-3, False)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"sample": 2}, ["option 'sample' is not known, did you mean 'samples'", "creep_speed"]),
        ({"erosion": True}, ["option 'erosion' is not known"]),  # a setting of its own
        ({"samples": 9}, ["samples: 9", "1 to 4"]),
        ({"creep_speed": "fast"}, ["creep_speed", "number"]),
    ],
)
def test_options_that_the_soil_does_not_know_are_refused(options, words):
    with pytest.raises(ValueError) as caught:
        single_wheel.SingleWheel(options=options)
    for word in words:
        assert word in str(caught.value)
