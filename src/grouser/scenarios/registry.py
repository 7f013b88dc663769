"""The scenarios by name. Each is a file of this folder that defines SCENARIO."""

from __future__ import annotations

import importlib
from typing import Any

from grouser.scenarios.scenario import Scenario
from grouser.terrain import checks

# The file name is the name of the scenario with underscores.
NAMES = (
    "blade",
    "box-on-stairs",
    "bulldozer-ditch",
    "bulldozer-doze",
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
    "traverse",
    "viking-rocks",
    "vivi-acceleration",
    "vivi-jump",
    "vivi-ramp",
    "vivi-sinusoid",
    "vivi-turn",
    "wheel-walker-stairs",
)


def scenario(name: str) -> Scenario[Any]:
    """Get a scenario by name. Imports only its own file."""
    checks.choice(name, "scenario", NAMES)
    return importlib.import_module(f"grouser.scenarios.{name.replace('-', '_')}").SCENARIO


def scenarios() -> dict[str, Scenario[Any]]:
    """All scenarios by name."""
    return {name: scenario(name) for name in NAMES}
