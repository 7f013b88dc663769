"""Sweeps: many cases of a scenario on local processes, one result file each."""

from grouser.campaign.case import Case, Parameter, Sweep
from grouser.campaign.definition import read_sweep
from grouser.campaign.results import SweepFolder
from grouser.campaign.run import run_sweep
from grouser.campaign.worker import Runner
from grouser.campaign.worker_pool import SweepCounts, SweepStopped

__all__ = [
    "Case",
    "Parameter",
    "Runner",
    "Sweep",
    "SweepCounts",
    "SweepFolder",
    "SweepStopped",
    "read_sweep",
    "run_sweep",
]
