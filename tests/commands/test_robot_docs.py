"""The Python of "put your robot on soil" and of the README runs as it stands there."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from grouser.scenarios.robot import CART

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("page", "said"), [("docs/put-your-robot-on-soil.md", "ground contact of wheel_fl"), ("README.md", "[[")]
)
def test_examples_run(tmp_path, monkeypatch, capsys, page, said):
    monkeypatch.chdir(tmp_path)
    shutil.copy(CART, "cart.xml")
    text = (ROOT / page).read_text(encoding="utf-8")
    space: dict = {}
    for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        assert len([line for line in code.splitlines() if line.strip()]) <= 10  # ten lines
        exec(compile(code, page, "exec"), space)
    assert said in capsys.readouterr().out
    space["sim"].step(20)
    assert 0 < space["sim"].observe()["soil/sinkage"].max() < 0.05
