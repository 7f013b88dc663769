"""The vehicle page: its code runs, its fields are those of the files."""

import re
from pathlib import Path

import pytest

from grouser import cli
from grouser.contact.tyre import Suspension, Tyre
from grouser.drive import Battery, LuGre, Motor
from grouser.robots.vehicle import Chassis, Looks, WheelMount
from grouser.robots.vehicle_file import TOP

PAGE = (Path(__file__).parents[2] / "docs" / "vehicles.md").read_text(encoding="utf-8")
CODE = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def test_the_programs_run(capsys):
    known: dict[str, object] = {}  # the one on soil goes on with the names of the first
    for program, shorter in ((CODE[0], ("step(2000)", "step(200)")), (CODE[1], ("step(500)", "step(50)"))):
        exec(compile(program.replace(*shorter), "vehicles.md", "exec"), known)
        assert "[" in capsys.readouterr().out


def test_the_controller_of_the_page_drives(tmp_path):
    file = tmp_path / "my_controller.py"
    file.write_text(CODE[2])
    line = ["run", "vivi-sinusoid", "--controller", str(file), "--set", "duration=0.5", "--no-report"]
    assert cli.status([*line, "--out", str(tmp_path / "out")]) == 0


@pytest.mark.parametrize("kind", [Chassis, WheelMount, Suspension, Motor, LuGre, Battery, Looks])
def test_every_field_is_on_the_page(kind):
    assert [name for name in kind.__dataclass_fields__ if f"`{name}`" not in PAGE] == []


def test_every_part_is_on_the_page():
    assert [name for name in TOP if name != "name" and f"`{name}`" not in PAGE] == []
    assert [n for n in ("B", "C", "mu", "E", "radius", "width", "load") if f"`{n}`" not in PAGE] == []
    assert "p_Cx1" in Tyre.__dataclass_fields__
