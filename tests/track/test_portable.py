"""The example that drives the super-component from SciPy alone."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LOAD = 0.02  # at rest after 1.5 s, the hull still swings a little


def test_tracks_carry_a_hull_that_scipy_integrates_without_mujoco():
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "track_without_mujoco.py"), "2.6"],
        capture_output=True, text=True, env=environment, check=True,
    )  # fmt: skip
    found = {line[:26].strip(): line[26:].strip() for line in done.stdout.splitlines()}
    assert found["MuJoCo loaded"] == "False"
    assert float(found["ground_load_over_weight"]) == pytest.approx(1.0, abs=LOAD)
    assert 0.4 < float(found["distance_m"]) < 0.8
    assert float(found["pair_wrench_sum_rel"]) < 1e-12
