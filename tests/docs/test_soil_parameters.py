"""docs/soil-parameters.md: tables as the code has them, examples that run and give what they say."""

import shutil
from pathlib import Path

import pytest

from grouser.terrain import load_soils, soil, soil_names
from grouser.terrain.soils import RANGES

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "soil-parameters.md"
CART = ROOT / "src" / "grouser" / "scenarios" / "cart.xml"
PLATE = 1e-4  # of a constant: the soil's table of z^n is good to 1e-5, and k_c is a difference of two such pressures
EXACT = 1e-6  # of a constant, from exact stresses


def blocks(language: str) -> list[str]:
    return [part.split("\n```")[0] for part in PAGE.read_text(encoding="utf-8").split(f"```{language}\n")[1:]]


@pytest.fixture
def tables(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import soil_tables  # pyright: ignore[reportMissingImports] - a script beside page.py

    return soil_tables


@pytest.mark.parametrize("marker", ["builtin-soils", "soil-sources", "soil-sensitivity"])
def test_tables_are_those_of_the_code(tables, marker):
    made = {
        "builtin-soils": tables.builtin_soils,
        "soil-sources": tables.sources,
        "soil-sensitivity": tables.sensitivity,
    }
    text = PAGE.read_text(encoding="utf-8").split(f"<!-- begin {marker} -->")[1].split(f"<!-- end {marker} -->")[0]
    assert text.strip() == made[marker](), "python benchmarks/soil_tables.py --write"


def test_every_constant_is_explained_and_every_soil_stands_there():
    text = PAGE.read_text(encoding="utf-8")
    constants = text.split("## The constants")[1].split("## ")[0]
    assert all(f"| `{name}` |" in constants for name in RANGES)
    assert all(f"`{name}`" in text for name in soil_names())


def test_the_examples_measure_a_soil_and_get_its_constants_back(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = {}
    for code in blocks("python")[:2]:
        exec(compile(code, str(PAGE), "exec"), names)
    capsys.readouterr()
    known = soil("lete-sand")
    for field, value in names["fit"].constants.items():
        assert value == pytest.approx(getattr(known, field), rel=PLATE)
    made_up = {"cohesion": 500, "friction_angle_deg": 32, "shear_modulus": 0.015}
    assert names["shear"].constants == pytest.approx(made_up, rel=EXACT)
    assert names["measured"].cohesion == pytest.approx(500, rel=EXACT)
    assert names["measured"].name == "our-sand"


def test_the_soil_file_is_read_and_put_under_a_robot(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (text,) = blocks("yaml")
    Path("our-soils.yaml").write_text(text, encoding="utf-8")
    shutil.copy(CART, "cart.xml")
    soils = load_soils("our-soils.yaml")
    assert soils["dune"].cohesion == pytest.approx(600)
    assert soils["dune"].shear_modulus == pytest.approx(0.014)
    assert soils["dune"].sources["cohesion"] == "shear ring, 3 tests"
    assert soils["dune-wet"].replace(name="dune", cohesion=soils["dune"].cohesion) == soils["dune"]
    names = {}
    exec(compile("import grouser\n" + blocks("python")[2], str(PAGE), "exec"), names)
    names["sim"].step(2)
    assert names["loose"].cohesion == 200
    assert names["loose"].k_phi == soil("dry-sand").k_phi
