"""Sweeps: many cases of a scenario on local processes or a cluster, one result file each."""

from grouser.campaign.case import Case, Parameter, Sweep
from grouser.campaign.definition import read_sweep
from grouser.campaign.executor import Executor, Job, SweepCounts, SweepStopped
from grouser.campaign.results import SweepFolder
from grouser.campaign.run import run_sweep
from grouser.campaign.worker import Runner

__all__ = [
    "Case",
    "Executor",
    "Job",
    "Parameter",
    "Runner",
    "Sweep",
    "SweepCounts",
    "SweepFolder",
    "SweepStopped",
    "read_sweep",
    "run_sweep",
]
