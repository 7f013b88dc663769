"""A soil from runs of a wheel, by the command as users call it, interrupted once."""

import numpy as np
import pytest

import grouser
from grouser.commands.identify import MOST_RUNS, identify
from grouser.errors import InputError
from grouser.terrain.soils import soil

SLIPS = (0.1, 0.3, 0.5)
RUNS = 100
# The others are known, those of dry sand: three runs do not determine seven constants.
SOUGHT = ["k_phi", "friction_angle_deg", "compression"]
COARSE = 0.03  # of the load: scatter, about the error of an emulator of so few runs


@pytest.mark.long
def test_an_interrupted_identification_goes_on_and_finds_the_soil(tmp_path):
    """Runs in dry sand stand for measurements. Finished runs of the first call are not run again."""
    true = [grouser.run("single-wheel", slip=slip, speed=0.1, out=tmp_path / f"{slip}", report=False) for slip in SLIPS]
    load, rng = 185.5, np.random.default_rng(0)
    pulls = [run.metrics["drawbar_pull_N"] + COARSE * load * rng.standard_normal() for run in true]
    data = {
        "wheels": {
            "smooth": {
                "wheel": {"radius": 0.15, "width": 0.1},
                "load": load,
                "slip": list(SLIPS),
                "pull": {"unit": "N", "scatter": f"{COARSE * load} N", "values": pulls},
                "sinkage": {"unit": "m", "scatter": "5 %", "values": [run.metrics["sinkage_m"] for run in true]},
            }
        }
    }
    out = tmp_path / "out"

    def interrupt(what, share):
        if share > 0.3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        identify(data, out=out, constants=SOUGHT, runs=RUNS, workers=1, progress=interrupt)
    kept = {file: file.stat().st_mtime_ns for file in out.glob("wheel-runs/smooth-1/cases/*.json")}
    assert 0.2 * RUNS / 2 < len(kept) < RUNS * 2 / 3
    done = identify(data, out=out, constants=SOUGHT, runs=RUNS, workers=1)
    assert {file: file.stat().st_mtime_ns for file in kept} == kept
    friction = done.posterior.estimate("friction_angle_deg")
    assert friction.low <= soil("dry-sand").friction_angle_deg <= friction.high
    assert friction.verdict == "determined"
    assert not any(check.cannot_follow for check in done.posterior.checks)
    assert (out / "identify.html").is_file()


@pytest.mark.parametrize("runs", [10, MOST_RUNS + 1])
def test_the_number_of_runs_is_bounded(runs, tmp_path):
    data = {"plates": {"a": {"width": 0.1, "sinkage": {"unit": "mm", "values": [10]},
                             "pressure": {"unit": "kPa", "values": [8]}}}}  # fmt: skip
    with pytest.raises(InputError, match=f"runs = {runs}: allowed are 100 to {MOST_RUNS}"):
        identify(data, out=tmp_path / "out", runs=runs)
