"""The Python of the page on rock fields runs as it stands there."""

import re
import shutil
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[2]


def test_the_page_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    shutil.copy(ROOT / "src" / "grouser" / "scenarios" / "cart.xml", "cart.xml")
    page = (ROOT / "docs" / "rocks.md").read_text(encoding="utf-8")
    names: dict = {}
    for block in re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL):
        exec(compile(block, "docs/rocks.md", "exec"), names)
    capsys.readouterr()
    sim = names["sim"]
    assert sim.data.body("chassis").xpos[0] > 0.3  # 10 s at 0.5 rad/s of 0.12 m wheels are 0.6 m without slip or rocks
    assert np.isfinite(sim.data.qpos).all()
    weight = 9.81 * sim.engine.total_mass()
    lift = sum(slot.out.effective.numpy()[0, :, 2].sum() for slot in sim.engine.slots)
    assert abs(lift / weight - 1) < 0.3  # it drives over rocks: carried, not thrown
