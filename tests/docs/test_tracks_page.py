"""The Python of the page on tracks runs as it stands there."""

import re
from pathlib import Path

import numpy as np

from grouser.scenarios.track_terrain import TrackTerrain
from grouser.track import SoilValues

ROOT = Path(__file__).parents[2]


def test_the_page_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # it writes a mesh
    page = (ROOT / "docs" / "tracks.md").read_text(encoding="utf-8")
    names: dict = {}
    for block in re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL):
        exec(compile(block, "docs/tracks.md", "exec"), names)
    tension = names["module"]._results.tension.numpy()
    assert np.isfinite(names["sim"].data.qpos).all()
    assert len(TrackTerrain(file=tmp_path / "ground.ply").hard(SoilValues()).soil) == 4
    assert 5e3 < tension.mean() < 3e4  # given were 15 kN; it has just been set down
