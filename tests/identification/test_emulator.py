"""The emulator on a function that is known everywhere, so that its own error can be checked without runs."""

import dataclasses

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from grouser.commands.identify import likelihood as curves_of
from grouser.errors import InputError
from grouser.identification.constants import CONSTANTS, DEPTH, Prior
from grouser.identification.data import read_measurements
from grouser.identification.emulator import different_wheels, learn, wheel_curves
from grouser.identification.likelihood import Likelihood
from grouser.identification.posterior import posterior
from grouser.identification.predictions import predictions
from grouser.identification.process import error_model
from grouser.identification.wheel_runs import TestedWheel, around, plan, spread
from grouser.terrain.soils import soil
from grouser.validation.measured import Wheel

RUNS = 150
WHEEL = TestedWheel(Wheel(radius=0.15, width=0.1), 9.81, slip=(0.1, 0.6), load=(100.0, 200.0))
SLIPS, LOAD = [0.1, 0.25, 0.4, 0.6], 150.0


def simple_wheel(values, operation):
    """A wheel in one line each: pressure carries the load, shear pulls. Not right, but smooth and monotonous as one."""
    load, slip = operation["load"], operation["slip"]
    modulus = (values["k_c"] / 0.1 + values["k_phi"]) * DEPTH ** values["n"]
    z = DEPTH * (load / (0.1 * 0.12) / modulus) ** (1 / (values["n"] + 0.5)) * (1 + slip * (1 - values["compression"]))
    area = 0.1 * np.sqrt(2 * 0.15 * np.minimum(z, 0.1))
    shear = values["cohesion"] * area + load * np.tan(np.radians(values["friction_angle_deg"]))
    pull = shear * (1 - np.exp(-0.06 * slip / values["shear_modulus"])) - 0.6 * load * np.sqrt(np.minimum(z, 0.1) / 0.3)
    return {"pull": pull, "sinkage": z, "torque": 0.15 * (pull + 0.1 * load), "side_force": 0 * pull}


@pytest.fixture(scope="module")
def prior():
    return Prior.of(CONSTANTS, soil("dry-sand"), {"pressure_at_30_mm": (1e4, 3e5)})


@pytest.fixture(scope="module")
def emulator(prior):
    design = spread(WHEEL, prior, RUNS)
    return learn([design], [simple_wheel(prior.values(design.soils), design.operation)], ["pull", "sinkage"])


def test_the_emulator_knows_its_own_error(prior, emulator):
    """At points that it has not seen, 90 % intervals hold four of five at least, and it explains the quantity."""
    rng = np.random.default_rng(3)
    soils = prior.values(prior.draw(200, rng))
    operation = {"slip": np.array([0.2]), "load": np.array([140.0]), "slip_angle_deg": np.array([0.0])}
    true = simple_wheel(soils, {"slip": 0.2, "load": 140.0})
    for quantity in ("pull", "sinkage"):
        mean, deviation = (one[:, 0] for one in emulator.predict(quantity, soils, operation))
        inside = np.mean(np.abs(true[quantity] - mean) < 1.645 * deviation)
        assert inside >= 0.8, quantity
        assert np.std(true[quantity] - mean) < 0.35 * np.std(true[quantity]), quantity


@pytest.mark.long
def test_an_emulator_of_a_few_runs_says_that_it_is_worse(prior, emulator):
    design = spread(WHEEL, prior, 40)
    few = learn([design], [simple_wheel(prior.values(design.soils), design.operation)], ["pull", "sinkage"])
    assert few.errors["pull"] > emulator.errors["pull"]


def data(rng, constants):
    operation = {"slip": np.array(SLIPS), "load": np.full(len(SLIPS), LOAD)}
    true = simple_wheel(constants, operation)
    scatter = 0.02 * LOAD
    return {
        "wheels": {
            "smooth": {
                "wheel": {"radius": 0.15, "width": 0.1},
                "load": [LOAD, LOAD, LOAD, LOAD + 1e-6],
                "slip": SLIPS,
                "pull": {"unit": "N", "values": (true["pull"] + scatter * rng.standard_normal(4)).tolist(),
                         "scatter": f"{scatter} N"},
                "sinkage": {"unit": "m", "values": (true["sinkage"] * (1 + 0.05 * rng.standard_normal(4))).tolist(),
                            "scatter": "5 %"},
            }
        }
    }  # fmt: skip


def found_from(prior, emulator, given):
    tests = read_measurements(given).wheels
    return posterior(prior, Likelihood(tuple(wheel_curves("smooth", tests["smooth"], emulator))), effective=300)


@pytest.mark.long
def test_a_wheel_determines_what_it_feels_and_no_more(prior, emulator):
    truth = {name: np.array([getattr(soil("dry-sand"), name)]) for name in CONSTANTS}
    found = found_from(prior, emulator, data(np.random.default_rng(5), truth))
    friction = found.estimate("friction_angle_deg")
    assert friction.low <= 28 <= friction.high
    assert friction.verdict != "not determined"
    assert {"k_c", "n"} <= set(found.undetermined)
    assert not any(check.cannot_follow for check in found.checks)


def test_designs_are_spread_over_the_prior_and_cases_have_its_soils(prior):
    design = spread(WHEEL, prior, 32)
    assert prior.inside(design.soils).all()
    cases = plan(design, "test").cases
    k_phi = prior.values(design.soils)["k_phi"]
    assert [case.settings.soil.k_phi for case in cases] == pytest.approx(k_phi.tolist())
    assert min(case.settings.load for case in cases) < 110 < 190 < max(case.settings.load for case in cases)
    again = around(WHEEL, prior, design.soils[:3], 16)
    assert {tuple(row) for row in again.soils} <= {tuple(row) for row in design.soils[:3]}


def test_wheels_with_one_geometry_share_an_emulator():
    given = data(np.random.default_rng(0), {name: np.array([getattr(soil("clay"), name)]) for name in CONSTANTS})
    given["wheels"]["again"] = given["wheels"]["smooth"] | {"load": 50.0}
    given["wheels"]["lugged"] = given["wheels"]["smooth"] | {
        "wheel": {"radius": 0.15, "width": 0.1, "lugs": {"count": 12, "height": "1 cm", "thickness": "3 mm"}}
    }
    found = different_wheels(read_measurements(given).wheels)
    assert list(found.values()) == [["smooth", "again"], ["lugged"]]
    assert next(iter(found)).load[0] == 50.0


def test_too_many_failed_runs_are_refused(prior):
    design = spread(WHEEL, prior, 64)
    results = simple_wheel(prior.values(design.soils), design.operation)
    results["pull"][:20] = np.nan
    with pytest.raises(InputError, match="20 of 64 runs of the wheel failed"):
        learn([design], [results], ["pull"])


def test_errors_of_pull_and_torque_that_go_together_count_once(prior):
    """ln p of all curves of a test is that of one Gaussian with C_ab E_a R E_b between them."""
    design = spread(WHEEL, prior, RUNS)
    results = simple_wheel(prior.values(design.soils), design.operation)
    emulator = learn([design], [results], ["pull", "torque"])
    assert emulator.coupled("pull")["torque"] > 0.9  # the torque of `simple_wheel` is the pull plus a constant
    truth = {name: np.array([getattr(soil("dry-sand"), name)] * 2) for name in CONSTANTS}
    given = data(np.random.default_rng(5), {name: one[:1] for name, one in truth.items()})["wheels"]["smooth"]
    del given["sinkage"]
    given["torque"] = {"unit": "N m", "values": [1.0, 2.0, 3.0, 4.0], "scatter": "0.5 N m"}
    curves = wheel_curves("smooth", read_measurements({"wheels": {"smooth": given}}).wheels["smooth"], emulator)
    likelihood = Likelihood(tuple(curves), shapes=((0.2, 0.0), (1.0, 0.0)))
    d = np.array([[0.3, 2.0], [1.5, 0.1]])
    found = likelihood.log_density(truth, np.log(d))
    apart = np.subtract.outer(SLIPS, SLIPS) / (max(SLIPS) - min(SLIPS))
    emulated, *deviating = (np.exp(-0.5 * (apart / length) ** 2) for length in (0.5, 0.2, 1.0))
    for k in range(2):
        e = np.concatenate([(one.error(truth) / one.sigma)[k] for one in curves])
        r = np.concatenate([one.residuals(one.predict(truth))[k] for one in curves])
        known = np.eye(8) + e[:, None] * np.kron(emulator.coupling, emulated) * e
        each = [multivariate_normal(np.zeros(8), known + np.kron(np.diag(d[k] ** 2), one)).pdf(r) for one in deviating]
        assert found[k] == pytest.approx(np.log(np.mean(each)) + 4 * np.log(2 * np.pi))


def test_an_error_that_grows_with_an_input_is_widened_there():
    """Errors of runs left out that are three times as large at one end as expected, and a third at the other."""
    rng = np.random.default_rng(1)
    inputs = rng.uniform(-1, 1, (600, 3))
    model = error_model(inputs, 0.1 * 3 ** inputs[:, 0] * rng.standard_normal(600), np.full(600, 0.01))
    found = model.deviation(np.array([[-1.0, 0, 0], [0, 0, 0], [1, 0, 0]]))
    assert found == pytest.approx([0.1 / 3, 0.1, 0.3], rel=0.25)


@pytest.mark.long
def test_a_side_force_says_what_it_depends_on(prior):
    """A wheel whose side force is friction across it: side forces alone determine the angle of friction."""
    tested = dataclasses.replace(WHEEL, load=(LOAD, LOAD), slip_angle_deg=(0.0, 15.0))
    angles = [4.0, 8.0, 12.0, 15.0]

    def side(values, operation):
        friction = np.tan(np.radians(values["friction_angle_deg"]))
        return operation["load"] * friction * np.tanh(operation["slip_angle_deg"] / 10)

    design = spread(tested, prior, RUNS)
    values = prior.values(design.soils)
    runs = simple_wheel(values, design.operation) | {"side_force": side(values, design.operation)}
    emulator = learn([design], [runs], ["side_force"])
    truth = {"friction_angle_deg": np.array(28.0)}
    measured = side(truth, {"load": LOAD, "slip_angle_deg": np.array(angles)})
    given = {"wheel": {"radius": 0.15, "width": 0.1}, "load": LOAD, "slip": [0.3] * 4, "slip_angle_deg": angles,
             "side_force": {"unit": "N", "values": measured.tolist(), "scatter": "2 N"}}  # fmt: skip
    found = found_from(prior, emulator, {"wheels": {"smooth": given}})
    friction = found.estimate("friction_angle_deg")
    assert friction.low <= 28.0 <= friction.high
    assert friction.verdict == "determined"
    assert {"k_c", "n", "cohesion"} <= set(found.undetermined)
    assert [check.group for check in found.checks] == ["wheel side force"]


def test_a_rover_has_a_deviation_of_its_own(prior, emulator):
    """A rover and a wheel in one file: two groups, and the rover finds the friction that its slopes were made with."""
    truth = {name: np.array([getattr(soil("dry-sand"), name)]) for name in CONSTANTS}
    given = data(np.random.default_rng(5), truth)
    weight = 6 * LOAD
    pulls = simple_wheel(truth, {"slip": np.array(SLIPS), "load": np.full(4, LOAD)})["pull"]
    slopes = np.degrees(np.arcsin(np.clip(pulls / LOAD, -0.6, 0.6)))
    given["rovers"] = {"climb": {"wheel": {"radius": 0.15, "width": 0.1}, "wheels": 6, "mass": weight / 9.81,
                                 "slip": SLIPS, "slope": {"unit": "degree", "values": slopes.tolist(),
                                                          "scatter": "1 degree"}}}  # fmt: skip
    measured = read_measurements(given)
    both = dataclasses.replace(emulator, tests=("smooth", "climb"))
    found = curves_of(measured, {"smooth, climb": both})
    assert found.groups == ("wheel pull", "wheel sinkage", "rover pull")
    rover = [curve for curve in found.curves if curve.group == "rover pull"]
    posterior_of = posterior(prior, Likelihood(tuple(rover)), effective=300)
    friction = posterior_of.estimate("friction_angle_deg")
    assert friction.low <= soil("dry-sand").friction_angle_deg <= friction.high
    assert friction.verdict != "not determined"


@pytest.mark.long
def test_slips_in_between_are_predicted_with_the_deviation_of_the_law(prior, emulator):
    """Pulls with a wave that the law does not have: it misses crest and trough, and with its deviation it does not."""
    truth = {name: np.array([getattr(soil("dry-sand"), name)]) for name in CONSTANTS}
    slips, between = np.linspace(0.1, 0.6, 11), [0.225, 0.475]
    wave, scatter = 10.0, 0.5  # [N]

    def pull(slip):
        law = simple_wheel(truth, {"slip": np.array(slip), "load": np.full(len(slip), LOAD)})["pull"]
        return law + wave * np.sin(2 * np.pi * (np.array(slip) - 0.1) / 0.5)

    measured = pull(slips) + scatter * np.random.default_rng(8).standard_normal(len(slips))
    test = {"wheel": {"radius": 0.15, "width": 0.1}, "load": LOAD, "slip": slips.tolist(), "predict_slip": between,
            "pull": {"unit": "N", "values": measured.tolist(), "scatter": f"{scatter} N"}}  # fmt: skip
    tests = read_measurements({"wheels": {"smooth": test}}).wheels
    found = found_from(prior, emulator, {"wheels": {"smooth": test}})
    assert found.checks[0].deviates
    rows = predictions(found, tests, {"smooth": dataclasses.replace(emulator, tests=("smooth",))})
    assert [(one.quantity, one.slip) for one in rows] == [("pull", slip) for slip in between]
    for one, true in zip(rows, pull(between), strict=True):
        assert abs(one.with_deviation[1] - true) < 3 * scatter
        assert abs(one.law[1] - true) > 3 * scatter
        assert one.with_deviation[0] <= true <= one.with_deviation[2]
        assert one.with_deviation[2] - one.with_deviation[0] < one.law[2] - one.law[0]
