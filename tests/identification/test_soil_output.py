"""A soil file of an identification: every scenario takes it, and its draws have its covariance."""

import json

import numpy as np
import pytest

from grouser.cli import status
from grouser.commands.samples import chosen_from_file
from grouser.errors import InputError
from grouser.identification.constants import STRESS, Prior
from grouser.identification.likelihood import Likelihood
from grouser.identification.posterior import Posterior
from grouser.identification.sampling import Draws
from grouser.identification.sensitivity import sobol
from grouser.identification.soil_output import write_soil
from grouser.scenarios.registry import scenarios
from grouser.scenarios.settings import from_python
from grouser.terrain.soil_file import read_soils
from grouser.terrain.soil_uncertainty import SoilUncertainty, load_uncertainty
from grouser.terrain.soils import soil
from tests.identification.synthetic import plates, shear

TEXT = """\
sand:
  like: dry-sand
  n: 1.0
  uncertainty:
    constants: [n, ln k_phi]
    covariance: [[0.0004, 0.001], [0.001, 0.01]]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    import grouser

    rng = np.random.default_rng(1)
    data = {"title": "our sand", "plates": plates(soil("lete-sand"), rng), "shear": shear(soil("lete-sand"), rng)}
    out = tmp_path_factory.mktemp("identify") / "out"
    done = grouser.identify(data, out=out)
    assert done.exit_status == 0
    return out


def test_scenarios_take_the_soil_and_its_constants_are_near_the_truth(folder):
    chosen = from_python("plate-sinkage", {"soil": {"file": folder / "soil.yaml"}}).settings.soil.resolve()
    assert chosen.name == "our-sand"
    for name, width in (("n", 0.05), ("k_phi", 0.2), ("friction_angle_deg", 0.1), ("shear_modulus", 0.1)):
        assert getattr(chosen, name) == pytest.approx(getattr(soil("lete-sand"), name), rel=width)
    assert "identified, 90 % interval" in read_soils(folder / "soil.yaml")["our-sand"].sources["n"]


def test_every_scenario_on_soil_takes_a_soil_file(tmp_path):
    (tmp_path / "soil.yaml").write_text(TEXT, encoding="utf-8")
    taken = []
    for name, scenario in scenarios().items():
        fields = scenario.settings.model_fields
        for field in [
            key for key in ("soil", "plastic") if key in fields and "SoilChoice" in str(fields[key].annotation)
        ]:
            settings = from_python(name, {field: {"file": tmp_path / "soil.yaml"}}).settings
            chosen = getattr(settings, field).resolve()
            assert (chosen.name, chosen.n) == ("sand", 1.0), f"{name}, {field}"
            assert chosen_from_file(settings)[0] == field, "--samples finds it"
            taken.append(name)
    assert {"blade", "bulldozer-ditch", "exomars-drawbar", "multi-pass", "robot", "rover-course"} < set(taken)


@pytest.mark.parametrize("title", ["2024", "1e3", "no", "null", "-", "2024-11-18"])
def test_a_title_that_yaml_takes_for_something_else_is_a_name(tmp_path, title):
    prior = Prior.of(STRESS, soil("dry-sand"))
    draws = Draws(prior.draw(300, np.random.default_rng(0)), 300.0, 1.0)
    file = write_soil(Posterior(prior, Likelihood(()), draws), title, tmp_path / "soil.yaml")
    chosen = from_python("plate-sinkage", {"soil": {"file": file}}).settings.soil.resolve()
    assert chosen.name == title
    assert load_uncertainty(file, title).names == STRESS


def test_files_agree(folder):
    found = json.loads((folder / "identification.json").read_text(encoding="utf-8"))
    uncertainty = load_uncertainty(folder / "soil.yaml", "our-sand")
    assert uncertainty.names == tuple(found["constants"])
    table = np.genfromtxt(folder / "posterior.csv", delimiter=",", names=True)
    assert np.quantile(table["n"], [0.05, 0.95]) == pytest.approx(found["constants"]["n"]["interval_90"], rel=1e-3)
    assert uncertainty.covariance[0, 0] == pytest.approx(table["n"].var(), rel=0.02)
    assert uncertainty.rows[:, 0].std() == pytest.approx(table["n"].std(), rel=0.25)  # 200 draws
    page = (folder / "identify.html").read_text(encoding="utf-8")
    for check in found["checks"].values():
        low, _, high = check["deviation_over_scatter"]
        assert check["deviation_at_most"] > high, "with some shape a deviation may be larger than with their mean"
        assert f"({low:.2g} to {check['deviation_at_most']:.2g})" in page
    assert "the law follows these data within their scatter" in page
    assert page.count("data:image/png") == 3


def test_the_same_command_goes_on_and_other_data_are_refused(folder, tmp_path, capsys):
    file = tmp_path / "other.yaml"
    file.write_text(
        "plates: {a: {width: 1 dm, sinkage: {unit: mm, values: [10, 20]}, pressure: {unit: kPa, values: [8, 17]}}}\n"
    )
    assert status(["identify", str(file), "--out", str(folder)]) == 2
    assert "holds something else" in capsys.readouterr().err


def test_drawn_soils_have_the_covariance(tmp_path):
    (tmp_path / "soil.yaml").write_text(TEXT, encoding="utf-8")
    sand = read_soils(tmp_path / "soil.yaml")["sand"]
    drawn = load_uncertainty(tmp_path / "soil.yaml", "sand").draw(sand, 2000)
    table = np.array([[one["n"], np.log(one["k_phi"])] for one in drawn])
    assert table.mean(axis=0) == pytest.approx([1.0, np.log(sand.k_phi)], rel=0.01)
    assert np.cov(table, rowvar=False) == pytest.approx(np.array([[0.0004, 0.001], [0.001, 0.01]]), rel=0.15)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("[[0.0004, 0.001], [0.001, 0.01]]", "[[0.0004, 0.001]]", "symmetric table of 2 rows"),
        ("[[0.0004, 0.001], [0.001, 0.01]]", "[[0.0004, 0.01], [0.01, 0.01]]", "positive semidefinite"),
        ("[[0.0004, 0.001], [0.001, 0.01]]", "[[a, b], [c, d]]", "rows of 2 numbers"),
        ("[n, ln k_phi]", "[n, ln kphi]", "did you mean 'k_phi'"),
        ("covariance:", "covarience:", "did you mean 'covariance'"),
        ("[n, ln k_phi]", "[n, n]", "n stands there more than once"),
        ("[n, ln k_phi]", "[k_phi, ln k_phi]", "k_phi stands there more than once"),
    ],
)
def test_a_wrong_uncertainty_is_refused_in_one_line(tmp_path, old, new, said):
    assert old in TEXT
    (tmp_path / "soil.yaml").write_text(TEXT.replace(old, new), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_soils(tmp_path / "soil.yaml")
    assert len(str(caught.value).splitlines()) == 1
    assert said in str(caught.value)
    assert "soil.yaml:" in str(caught.value)


OWN = "sand: {{like: dry-sand, {constants}uncertainty: {{constants: {scales}, covariance: {covariance}{draws}}}}}\n"


@pytest.mark.parametrize(
    ("scales", "covariance", "constants", "draws", "said"),
    [
        ("[n]", "[[0.01]]", "", "[[1.0], [-0.5]]", "draws: row 2 has n = -0.5"),
        ("[ln k_c]", "[[0.01]]", "", "[[3.0], [900]]", "draws: row 2 has k_c = inf"),
        ("[ln k_c]", "[[0.01]]", "", "[[3.0], [-900]]", "draws: row 2 has k_c = 0"),
        ("[ln cohesion]", "[[0.01]]", "cohesion: 0, ", None, "cohesion of the soil is 0"),
        ("[ln cohesion]", "[[0.01]]", "cohesion: 0, ", "[[3.0], [3.1]]", "cohesion of the soil is 0"),
        ("[wheel_friction]", "[[0.01]]", "", None, "the soil has no wheel_friction"),
        ("[ln wheel_friction]", "[[0.01]]", "", None, "the soil has no wheel_friction"),
        ("[ln k_phi]", "[[1e300]]", "", None, "hardly any draw has constants that a soil can have"),
        ("[friction_angle_deg]", "[[1e300]]", "", None, "hardly any draw has constants that a soil can have"),
    ],
)
def test_an_uncertainty_that_gives_no_soils_ends_with_one_line_and_status_2(
    tmp_path, capsys, scales, covariance, constants, draws, said
):
    text = OWN.format(
        scales=scales, covariance=covariance, constants=constants, draws=f", draws: {draws}" if draws else ""
    )
    (tmp_path / "soil.yaml").write_text(text, encoding="utf-8")
    command = ["run", "plate-sinkage", "--set", f"soil.file={tmp_path / 'soil.yaml'}", "--samples", "2",
               "--out", str(tmp_path / "out")]  # fmt: skip
    assert status(command) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1, lines
    assert said in lines[0]
    assert not (tmp_path / "out").exists()


@pytest.mark.long
def test_samples_give_intervals_and_indices_of_metrics(tmp_path, capsys):
    """Plates: the exponent that is measured is n of each drawn soil, whatever k_phi is."""
    (tmp_path / "soil.yaml").write_text(TEXT, encoding="utf-8")
    out = tmp_path / "out"
    command = ["run", "plate-sinkage", "--set", f"soil.file={tmp_path / 'soil.yaml'}", "--set", "depth=0.01",
               "--samples", "20", "--workers", "1", "--out", str(out)]  # fmt: skip
    assert status(command) == 0
    told = capsys.readouterr().out
    assert "±" in told
    assert "pressure_exponent: most by n" in told
    found = json.loads((out / "uncertainty.json").read_text(encoding="utf-8"))
    sand = read_soils(tmp_path / "soil.yaml")["sand"]
    exponents = [one["n"] for one in load_uncertainty(tmp_path / "soil.yaml", "sand").draw(sand, 20)]
    assert found["metrics"]["pressure_exponent"]["mean"] == pytest.approx(np.mean(exponents), rel=0.01)
    assert found["metrics"]["pressure_exponent"]["deviation"] == pytest.approx(np.std(exponents, ddof=1), rel=0.1)
    sobol = found["sobol"]["pressure_exponent"]
    first = dict(zip(sobol["constants"], sobol["first"], strict=True))
    assert first["n"] > 0.95
    assert first["k_phi"] == pytest.approx(0.25, abs=0.1), "what it says about n: their correlation is 0.5"
    page = (out / "sweep.html").read_text(encoding="utf-8")
    assert "90 % interval" in page
    assert 'id="sobol"' in page


def test_samples_without_an_uncertainty_are_refused(tmp_path, capsys):
    assert status(["run", "plate-sinkage", "--samples", "4", "--out", str(tmp_path / "out")]) == 2
    assert "--samples needs a soil with uncertainty" in capsys.readouterr().err
    (tmp_path / "soil.yaml").write_text("sand: {like: dry-sand}\n", encoding="utf-8")
    assert status(["run", "plate-sinkage", "--set", f"soil.file={tmp_path / 'soil.yaml'}", "--samples", "4"]) == 2
    assert "soil 'sand' has no 'uncertainty'" in capsys.readouterr().err


def test_draws_of_the_file_are_used_first():
    rows = np.array([[0.9], [1.0], [1.1]])
    some = SoilUncertainty(("n",), np.array([[0.01]]), rows)
    assert [one["n"] for one in some.draw(soil("clay"), 3)] == [0.9, 1.0, 1.1]


def test_sobol_indices_of_a_linear_function_of_correlated_constants():
    """Closed forms for Y = a X, X normal: S_i = (C a)_i^2 / (C_ii a C a), T_i = a_i^2 Var(X_i | others) / (a C a)."""
    a = np.array([1.0, -2.0, 0.5])
    covariance = np.array([[1.0, 0.8, 0.0], [0.8, 1.0, 0.3], [0.0, 0.3, 2.0]])
    first, total = sobol(lambda x: x @ a, np.zeros(3), covariance)
    variance = a @ covariance @ a
    assert first == pytest.approx((covariance @ a) ** 2 / np.diag(covariance) / variance, abs=0.03)
    assert total == pytest.approx(a**2 / np.diag(np.linalg.inv(covariance)) / variance, abs=0.03)


def test_sobol_indices_of_a_product_are_in_the_total_alone():
    """Y = X_1 X_2 with independent inputs of mean 0: knowing one alone takes nothing away."""
    first, total = sobol(lambda x: x[:, 0] * x[:, 1], np.zeros(3), np.eye(3))
    assert first == pytest.approx([0, 0, 0], abs=0.03)
    assert total == pytest.approx([1, 1, 0], abs=0.08)


def test_data_that_no_soil_follows_end_with_a_word_and_status_1(tmp_path, capsys):
    """A pressure that falls with depth: no n does that."""
    depths, pressures = [5, 10, 20, 30, 40], [60, 40, 20, 10, 5]
    test = {"width": "10 cm", "sinkage": {"unit": "mm", "values": depths},
            "pressure": {"unit": "kPa", "values": pressures}, "scatter": "5 %"}  # fmt: skip
    file = tmp_path / "falling.yaml"
    file.write_text(json.dumps({"plates": {"one": test}}), encoding="utf-8")
    command = ["identify", str(file), "--constants", "n,k_phi", "--out", str(tmp_path / "out")]
    assert status(command) == 1
    said = "the law cannot follow these data"
    assert said in capsys.readouterr().out
    assert said in (tmp_path / "out" / "identify.html").read_text(encoding="utf-8")
