"""The scenarios by name; each is a file of this folder that defines SCENARIO."""

from __future__ import annotations

import importlib
from typing import Any

from grouser.scenarios.scenario import Scenario
from grouser.terrain import checks

# The file is the name with underscores.
NAMES = (
    "box-on-stairs",
    "bulldozer-ditch",
    "bulldozer-drawbar",
    "bulldozer-turn",
    "docking-olev",
    "exomars-drawbar",
    "exomars-gradeability",
    "multi-pass",
    "plate-sinkage",
    "robot",
    "rocks-and-sand",
    "rover-course",
    "single-wheel",
    "track-rig",
    "viking-rocks",
    "vivi-acceleration",
    "vivi-jump",
    "vivi-ramp",
    "vivi-sinusoid",
    "wheel-walker-stairs",
)


def scenario(name: str) -> Scenario[Any]:
    """One scenario; only its own file is imported."""
    checks.choice(name, "scenario", NAMES)
    return importlib.import_module(f"grouser.scenarios.{name.replace('-', '_')}").SCENARIO


def scenarios() -> dict[str, Scenario[Any]]:
    """All of them."""
    return {name: scenario(name) for name in NAMES}
