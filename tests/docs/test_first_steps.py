"""The Python of the README, of getting started and of "put your robot on soil" runs as it stands there."""

import re
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CART = ROOT / "src" / "grouser" / "scenarios" / "cart.xml"


def blocks(page: str, language: str = "python") -> list[str]:
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


@pytest.fixture
def shell(tmp_path, monkeypatch, capsys):
    """Runs blocks one after the other in an empty folder, with the names they leave each other."""
    monkeypatch.chdir(tmp_path)
    names = {}

    def ran(page: str, *numbers: int) -> dict:
        for number in numbers:
            exec(compile(blocks(page)[number], page, "exec"), names)
        capsys.readouterr()
        return names

    return ran


def test_readme(shell):
    names = shell("README.md", 0)
    assert names["run"].metrics["drawbar_pull_N"] > 0
    assert names["sim"].data.body("chassis").xpos[0] > 0.1  # 5 s at 0.4 rad/s of 0.12 m wheels are 0.24 m without slip
    assert (names["sim"].observe()["soil/sinkage"] > 0).all()
    assert Path("my-drive/report.html").is_file()


def test_getting_started(shell):
    """All but the import of a GeoTIFF, for which the page has no file."""
    page = "docs/getting-started.md"
    (cart,) = blocks(page, "xml")
    Path("cart.xml").write_text(cart, encoding="utf-8")
    names = shell(page, 0, 1, 2)
    assert len(names["sinkage"]) == 4
    assert names["rut"].min() < 0
    assert Path("my-drive/report.html").is_file()
    shell(page, 3)
    names["sim"].step(300)
    assert (names["sim"].data.ctrl == 0.4).all()
    assert "dem.tif" in blocks(page)[4]
    Path("my-run").rename("first")
    shell(page, 5)
    assert names["recording"].status == "complete"


def test_put_your_robot_on_soil(shell):
    page = "docs/put-your-robot-on-soil.md"
    shutil.copy(CART, "cart.xml")
    names = shell(page, 0, 1, 2)
    assert set(names["wheels"]) == set(names["sim"].soil.bodies)
