"""`grouser list` and `grouser schema`: the scenarios, and the schema of their YAML files."""

from __future__ import annotations

import json

from grouser.scenarios import registry
from grouser.scenarios.settings import file_schema


def list_scenarios() -> int:
    """Print name, summary and source of every scenario."""
    known = registry.scenarios()
    width = max(map(len, known), default=0)
    for name, scenario in known.items():
        print(f"{name:{width}}  {scenario.summary} ({scenario.source})")
    return 0


def print_schema(name: str) -> int:
    """Print the JSON Schema of the scenario's YAML file."""
    print(json.dumps(file_schema(registry.scenario(name)), indent=2))
    return 0
