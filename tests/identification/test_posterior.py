"""The sampler against exact posteriors, and what is said about constants and laws."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from grouser.errors import InputError
from grouser.identification import sampling
from grouser.identification.constants import PRESSURE, STRESS, Prior, default_range
from grouser.identification.data import read_measurements
from grouser.identification.likelihood import SHAPES, Likelihood, exact_curves
from grouser.identification.posterior import posterior
from grouser.identification.sampling import sample, split_spread
from grouser.terrain.soils import builtin_soils, soil
from tests.identification.synthetic import SINKAGES, bekker, janosi, plates, shear

PLATE, SHEAR = STRESS[:3], STRESS[3:]
GRID = 60  # nodes of each axis of the exact posterior
BENT = 0.16  # of the pressure: a deviation of the law that hides in 5 % scatter
MONTE_CARLO = 0.12  # error of mean and width in standard deviations, for 1000 independent draws: 1/sqrt(1000) x 4


def curves(**tests):
    return tuple(exact_curves(read_measurements(tests)))


def exact(prior, likelihood, centre, reach):
    """Mean and standard deviation of coordinates, by quadrature over a box around the posterior."""
    axes = [np.linspace(max(lo, c - r), min(hi, c + r), GRID)
            for lo, hi, c, r in zip(prior.low, prior.high, centre, reach, strict=True)]  # fmt: skip
    q = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))
    density = likelihood.log_density(prior.values(q), np.empty((len(q), 0)))
    weight = np.exp(density - density.max())
    weight /= weight.sum()
    mean = weight @ q
    return mean, np.sqrt(weight @ (q - mean) ** 2)


@pytest.mark.parametrize(("names", "kind", "make"), [(PLATE, "plates", plates), (SHEAR, "shear", shear)])
def test_the_sampler_finds_the_exact_posterior(names, kind, make):
    """Without a discrepancy, three constants: quadrature gives the posterior to any accuracy."""
    prior = Prior.of(names, soil("dry-sand"))
    likelihood = Likelihood(curves(**{kind: make(soil("lete-sand"), np.random.default_rng(1))}), discrepancy=False)
    found = posterior(prior, likelihood, seed=1)
    assert found.draws.mixed
    mean, width = exact(prior, likelihood, found.q.mean(axis=0), 6 * found.q.std(axis=0))
    assert np.all(np.abs(found.q.mean(axis=0) - mean) < MONTE_CARLO * width)
    assert found.q.std(axis=0) == pytest.approx(width, rel=MONTE_CARLO)


def gaussian(one, values, k, s, d, shape):
    """ln N(0, s^2 (I + d^2 D)) of the residuals of soil k, without its constant. D is written out here again."""
    (length, rough), size = shape, len(one.x)
    apart = np.subtract.outer(one.x, one.x) / (length * (one.x.max() - one.x.min()))
    deviation = (1 - rough) * np.exp(-0.5 * apart**2) + rough * np.eye(size)
    covariance = s**2 * (np.eye(size) + d**2 * deviation)
    density = multivariate_normal(np.zeros(size), covariance).logpdf(one.residuals(one.predict(values))[k])
    return density + size / 2 * np.log(2 * np.pi)


def test_the_density_of_a_curve_is_that_of_its_gaussian():
    """Eigenvectors or not, ln p is that of N(0, s^2 (I + d^2 D)) for the residuals, for each shape."""
    one = curves(plates=plates(soil("clay"), np.random.default_rng(3)))[0]
    values = {name: np.array([getattr(soil("clay"), name)] * 2) for name in STRESS}
    s, d, shapes = np.array([1.0, 1.7]), np.array([0.3, 4.0]), ((0.2, 0.0), (1.0, 0.3), (1.0, 1.0))
    found = one.log_density(values, s, d, shapes)
    expected = [[gaussian(one, values, k, s[k], d[k], shape) for k in range(2)] for shape in shapes]
    assert found == pytest.approx(np.array(expected), rel=1e-9)


def test_tests_of_a_kind_have_one_shape_of_the_deviation_which_is_not_known():
    """ln p of all data: for each kind the mean over shapes of the product of its tests."""
    rng = np.random.default_rng(3)
    both = curves(plates=plates(soil("clay"), rng), shear=shear(soil("clay"), rng))
    likelihood = Likelihood(both, shapes=((0.2, 0.0), (1.0, 0.0), (0.5, 0.4)))
    values = {name: np.array([1.1 * getattr(soil("clay"), name)]) for name in STRESS}
    d, expected, shares = (0.7, 3.0), 0.0, {}
    for kind, size in zip(("plate", "shear"), d, strict=True):
        by_shape = [
            np.exp(sum(gaussian(one, values, 0, 1.0, size, shape) for one in likelihood.curves if one.kind == kind))
            for shape in likelihood.shapes
        ]
        expected += np.log(np.mean(by_shape))
        shares[kind] = np.array(by_shape) / np.sum(by_shape)
    hyper = np.log([d])
    assert likelihood.log_density(values, hyper) == pytest.approx(expected, rel=1e-9)
    many = {name: np.repeat(one, 4000) for name, one in values.items()}
    for kind, share in shares.items():
        drawn = likelihood.shape(kind, many, np.repeat(hyper, 4000, axis=0), np.random.default_rng(0))
        assert [np.mean(drawn == one) for one in range(3)] == pytest.approx(share, abs=0.03)


def test_constants_that_data_cannot_determine_are_said():
    """Plates say nothing about shear, and plates of one width nothing about k_c apart from k_phi."""
    data = plates(soil("dry-sand"), np.random.default_rng(2))
    one_width = {"width-100": data["width-100"]}
    found = posterior(Prior.of(STRESS, soil("dry-sand")), Likelihood(curves(plates=one_width)), effective=400)
    assert set(SHEAR) <= set(found.undetermined)
    assert found.estimate("k_c").verdict != "determined"
    assert found.estimate("n").verdict == "determined"
    assert not any(check.deviates for check in found.checks)


def saturating(soil, width, z):
    """Pressure that rises to a limit, as no power of the depth does."""
    return (soil.k_c / width + soil.k_phi) * 0.03**soil.n * (1 - np.exp(-z / 0.015))


def shallow(soil, width, z):
    """A little more pressure at depth, by less than the scatter."""
    return bekker(soil, width, z) * (1 + BENT * (z / z.max()) ** 4)


def peaked(soil, pressure, j):
    """Dense soil: a peak of the stress, which the law does not have."""
    return janosi(soil, pressure, j) * (1 + 0.4 * np.exp(-(((j - 0.012) / 0.006) ** 2)))


@pytest.mark.parametrize("name", ["dry-sand", pytest.param("clay", marks=pytest.mark.long)])
def test_data_of_another_law_are_flagged_and_widen_the_answer(name):
    rng = np.random.default_rng(4)
    truth, prior = soil(name), Prior.of(STRESS, soil("dry-sand"))
    right = posterior(prior, Likelihood(curves(plates=plates(truth, rng), shear=shear(truth, rng))), effective=400)
    wrong = posterior(
        prior,
        Likelihood(curves(plates=plates(truth, rng, saturating), shear=shear(truth, rng, peaked))),
        effective=400,
    )
    assert [check.deviates for check in right.checks] == [False, False]
    assert [check.deviates for check in wrong.checks] == [True, True]
    assert all("deviates" in check.words or "cannot follow" in check.words for check in wrong.checks)
    assert not any("point to point" in check.words for check in wrong.checks)
    for constant in ("n", "shear_modulus"):
        assert wrong.estimate(constant).share > 2 * right.estimate(constant).share


def test_an_unknown_scatter_is_found():
    """Tests without `scatter`: it is sampled, and the truth of 5 % is inside its interval."""
    data = plates(soil("lete-sand"), np.random.default_rng(5))
    for test in data.values():
        del test["scatter"]
    found = posterior(Prior.of(PLATE, soil("dry-sand")), Likelihood(curves(plates=data)), effective=400)
    low, high = np.quantile(np.exp(found.hyper[:, -1]), [0.05, 0.95])
    assert low < 0.05 < high
    assert high / low < 2


def stated(data, scatter):
    return {name: test | {"scatter": scatter} for name, test in data.items()}


def test_a_scatter_of_which_a_part_is_known_is_found_above_it():
    """5 % where 1 % is how well values can be read: as the whole it stands for a law that deviates."""
    data, prior = plates(soil("lete-sand"), np.random.default_rng(5)), Prior.of(PLATE, soil("dry-sand"))
    whole, part, right = (posterior(prior, Likelihood(curves(plates=stated(data, scatter))), effective=400)
                          for scatter in ("1 %", "at least 1 %", "5 %"))  # fmt: skip
    assert whole.checks[0].deviates
    assert whole.checks[0].words.endswith("it differs from point to point: the scatter may be larger than stated")
    smooth = posterior(prior, Likelihood(curves(plates=stated(data, "1 %")), shapes=((0.5, 0.0),)), effective=400)
    assert smooth.estimate("n").share > 2 * right.estimate("n").share, "taken for a smooth deviation"
    assert whole.estimate("n").share < 0.5 * smooth.estimate("n").share
    low, high = np.quantile(0.01 * np.exp(part.hyper[:, -1]), [0.05, 0.95])
    assert low < 0.05 < high
    assert high / low < 2
    assert not part.checks[0].deviates
    assert "estimated scatter of 5 %" in part.checks[0].words
    assert part.estimate("n").share < 1.5 * right.estimate("n").share


def test_a_scatter_is_not_estimated_below_the_least_one():
    """Where the least scatter is all of it, hardly more than it is found, and nothing below."""
    data, prior = plates(soil("lete-sand"), np.random.default_rng(5)), Prior.of(PLATE, soil("dry-sand"))
    found = posterior(prior, Likelihood(curves(plates=stated(data, "at least 5 %"))), effective=400)
    s = np.exp(found.hyper[:, -1])
    assert s.min() >= 1
    assert np.quantile(s, 0.95) < 1.4
    mixed = stated(data, "at least 1 %") | {"other": {k: v for k, v in data["width-50"].items() if k != "scatter"}}
    assert Likelihood(curves(plates=mixed)).unknown == ("plate pressure over the least", "plate pressure")


def test_a_deviation_is_smooth_where_the_scatter_is_sampled():
    """Else the two would stand for the same: what differs from point to point."""
    data, rng = plates(soil("lete-sand"), np.random.default_rng(5)), np.random.default_rng(6)
    unknown = {name: {k: v for k, v in test.items() if k != "scatter"} for name, test in data.items()}
    smooth = tuple(shape for shape in SHAPES if shape[1] == 0)
    for some in (unknown, stated(data, "at least 1 %")):
        likelihood = Likelihood(curves(plates=some, shear=shear(soil("lete-sand"), rng)))
        assert (likelihood.shapes_of("plate"), likelihood.shapes_of("shear")) == (smooth, SHAPES)
    mixed = unknown | {"width-50": data["width-50"]}
    assert Likelihood(curves(plates=mixed)).shapes_of("plate") == SHAPES


def few(data, points):
    """Some points of each test, evenly spaced, and no scatter."""
    found = {}
    for name, test in data.items():
        chosen = np.linspace(0, len(test["sinkage"]["values"]) - 1, points).round().astype(int)
        lists = {
            key: test[key] | {"values": [test[key]["values"][k] for k in chosen]} for key in ("sinkage", "pressure")
        }
        found[name] = {"width": test["width"], **lists}
    return found


@pytest.mark.parametrize("seed", [4, 6])
def test_few_points_without_a_scatter_do_not_tell_whether_the_law_follows(seed):
    """Four points of each plate of a law with a limit: an estimated scatter hides it. 20 points show it."""
    data, prior = plates(soil("dry-sand"), np.random.default_rng(seed), saturating), Prior.of(PLATE, soil("dry-sand"))
    check = posterior(prior, Likelihood(curves(plates=few(data, 4))), effective=400).checks[0]
    assert not check.deviates
    assert check.undecided
    assert check.words.startswith("these data do not tell whether the law follows (deviation 0.00")
    assert f"times the estimated scatter of {100 * check.scatter:.0f} %)" in check.words
    whole = posterior(prior, Likelihood(curves(plates=few(data, 20))), effective=400).checks[0]
    assert whole.deviates
    assert not whole.undecided


def test_many_points_of_the_right_law_tell_that_it_follows():
    data, prior = plates(soil("dry-sand"), np.random.default_rng(4)), Prior.of(PLATE, soil("dry-sand"))
    stated = posterior(prior, Likelihood(curves(plates=data)), effective=400).checks[0]
    assert stated.words == "the law follows these data within their scatter"
    estimated = posterior(prior, Likelihood(curves(plates=few(data, 20))), effective=400).checks[0]
    assert estimated.words == "the law follows these data within their estimated scatter of 5 %"


def test_a_law_follows_if_it_does_whatever_shape_its_deviation_has():
    """d as found with each shape alone: rough shapes, with which d is small, do not speak for smooth ones."""
    data, prior = plates(soil("dry-sand"), np.random.default_rng(4), shallow), Prior.of(PLATE, soil("dry-sand"))
    check = posterior(prior, Likelihood(curves(plates=data)), effective=1000).checks[0]
    alone = [posterior(prior, Likelihood(curves(plates=data), shapes=(shape,)), effective=1000).checks[0].deviation[2]
             for shape in SHAPES]  # fmt: skip
    assert check.largest == pytest.approx(max(alone), rel=0.25)  # the end of a long tail of some hundred draws
    assert check.largest > 1.3 * check.deviation[2]
    assert check.undecided
    assert f"to {check.largest:.2g} times" in check.words


def test_default_priors_hold_all_built_in_soils():
    prior = Prior.of(STRESS, soil("dry-sand"))
    for name, one in builtin_soils().items():
        assert prior.inside(prior.coordinates(one)[None])[0], name
    low, high = default_range(PRESSURE)
    assert 3e3 < low < high < 1e6


def test_coordinates_lead_back_to_the_soil():
    prior = Prior.of(STRESS, soil("dry-sand"))
    back = prior.soil(prior.coordinates(soil("exomars-test")), "back")
    assert [getattr(back, name) for name in STRESS] == pytest.approx([getattr(soil("exomars-test"), n) for n in STRESS])


def test_a_user_s_range_of_k_phi_is_kept_and_nonsense_refused():
    prior = Prior.of(STRESS, soil("dry-sand"), {"k_phi": (1e6, 2e6)})
    k_phi = prior.values(prior.draw(500, np.random.default_rng(0)))["k_phi"]
    assert 1e6 <= k_phi.min() < k_phi.max() <= 2e6
    with pytest.raises(InputError, match="prior of cohesion, lower end"):
        Prior.of(STRESS, soil("dry-sand"), {"cohesion": (0.0, 100.0)})
    with pytest.raises(InputError, match="hardly any soil"):
        Prior.of(STRESS, soil("dry-sand"), {"k_phi": (1e-3, 2e-3)}).draw(10, np.random.default_rng(0))


@pytest.mark.long
def test_held_back_points_follow_the_deviation_of_fitted_ones():
    """With a wrong law, points between fitted ones are predicted better with its deviation than without."""
    truth, rng = soil("dry-sand"), np.random.default_rng(6)
    data = plates(truth, rng, saturating)
    halves = [{k: v | {f: {"unit": v[f]["unit"], "values": v[f]["values"][part::2]} for f in ("sinkage", "pressure")}
               for k, v in data.items()} for part in (0, 1)]  # fmt: skip
    fitted, back = curves(plates=halves[0]), curves(plates=halves[1])
    found = posterior(Prior.of(PLATE, soil("dry-sand")), Likelihood(fitted), effective=400)
    known = np.concatenate(
        [found.held_back(one, other)[1] / other.y - 1 for one, other in zip(fitted, back, strict=True)]
    )
    plain = np.concatenate([found.band(other)[1] / other.y - 1 for other in back])
    assert np.median(np.abs(known)) < 0.6 * np.median(np.abs(plain))
    bands = [found.held_back(one, other) for one, other in zip(fitted, back, strict=True)]
    inside = np.concatenate([(b[0] <= o.y) & (o.y <= b[2]) for b, o in zip(bands, back, strict=True)])
    assert 0.75 <= inside.mean() <= 1.0  # 30 points at 90 %


def test_the_law_is_the_one_of_the_oracle():
    one = curves(plates=plates(soil("clay"), np.random.default_rng(0)))[0]
    values = {name: np.array([getattr(soil("clay"), name)]) for name in STRESS}
    assert one.predict(values)[0] == pytest.approx(bekker(soil("clay"), 0.05, SINKAGES))


def test_a_posterior_with_a_bend_is_covered_to_its_ends():
    """exp(x) + exp(y) = 1 within 5 %: each is free where the other one carries the sum, as k_c and k_phi are."""
    low, high = np.array([-5.0, -5.0]), np.array([1.0, 1.0])

    def density(q):
        return -0.5 * (np.log(np.exp(q[:, 0]) + np.exp(q[:, 1])) / 0.05) ** 2

    found = sample(
        density,
        lambda count, rng: rng.uniform(low, high, (count, 2)),
        lambda q: np.all((q >= low) & (q <= high), axis=1),
        (low, high),
        effective=400,
    )
    axis = np.linspace(-5, 1, 1500)
    grid = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    below = np.cumsum(np.exp(density(grid)).reshape(1500, 1500).sum(axis=1))
    for quantile in (0.05, 0.25, 0.5):
        exact = np.interp(quantile, below / below[-1], axis)
        share = np.mean(found.points[:, 0] <= exact)
        assert share == pytest.approx(quantile, abs=4 * np.sqrt(quantile * (1 - quantile) / 400))
    assert found.mixed


def test_sampling_goes_on_until_the_walkers_have_mixed(monkeypatch):
    looks = []

    def spread(chain):
        looks.append(len(chain))
        return 2.0 if len(looks) < 4 else 1.0

    monkeypatch.setattr(sampling, "split_spread", spread)
    low, high = np.zeros(1), np.ones(1)
    found = sample(
        lambda q: -0.5 * ((q[:, 0] - 0.5) / 0.1) ** 2,
        lambda count, rng: rng.uniform(low, high, (count, 1)),
        lambda q: np.all((q >= low) & (q <= high), axis=1),
        (low, high),
        effective=100,
    )
    assert found.mixed
    assert looks[2] < looks[3], "three chunks that had not mixed, and one more"
    assert looks[3] > 1500


def test_walkers_that_stay_apart_are_seen():
    rng = np.random.default_rng(0)
    chain = rng.standard_normal((500, 64, 1))
    assert split_spread(chain) < 1.01
    chain[:, ::4] += 2.0  # a quarter of them around another place, in both halves
    assert split_spread(chain) > 1.2
