"""The examples that drive the super-component from host codes: SciPy alone, with a variable step, plain MuJoCo."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SLIP = 0.05  # of the way, while it speeds up
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


def _printed(example: str, seconds: float) -> dict[str, str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, str(ROOT / "examples" / example), str(seconds)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    return {line[:26].strip(): line[26:].strip() for line in done.stdout.splitlines()}


def _chain(seconds: float) -> float:
    """Length [m] of chain that has passed: at rest for 1.5 s, then half a second up to 0.8 m/s."""
    return 0.8 * (seconds - 1.5 - 0.25)


@pytest.mark.long
def test_a_host_chooses_its_step_and_uses_derivatives():
    found = _printed("track_variable_step.py", 2.6)
    assert found["MuJoCo loaded"] == "False"
    assert float(found["ground_load_over_weight"]) == pytest.approx(1.0, abs=LOAD)
    assert float(found["distance_m"]) == pytest.approx(_chain(2.6), rel=SLIP)
    assert float(found["shortest_step_ms"]) < 0.3
    assert float(found["longest_step_ms"]) > 1.9
    assert int(found["steps_tried_again"]) > 0
    assert float(found["pair_wrench_sum_rel"]) < 1e-12


@pytest.mark.long
def test_tracks_in_a_plain_mujoco_loop():
    found = _printed("track_in_mujoco.py", 3.0)
    assert float(found["ground_load_over_weight"]) == pytest.approx(1.0, abs=LOAD)
    assert float(found["distance_m"]) == pytest.approx(_chain(3.0), rel=SLIP)
    assert float(found["pair_wrench_sum_rel"]) < 1e-12
