"""A sweep as data: the parameters that vary, and one case for each point."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import grouser

if TYPE_CHECKING:
    from grouser.scenarios.scenario import Settings


@dataclass(frozen=True)
class Parameter:
    """A setting that varies. Its unit is "1" if it has none."""

    path: str
    unit: str


@dataclass(frozen=True)
class Case:
    """One run: checked settings, and the values of the parameters in SI, as shown in the table."""

    name: str  # "0001"
    scenario: str
    settings: Settings
    parameters: dict[str, Any]
    seed: int


@dataclass(frozen=True)
class Sweep:
    """All cases of a sweep and the requested output."""

    title: str
    scenario: str
    method: str
    seed: int
    parameters: tuple[Parameter, ...]
    cases: tuple[Case, ...]
    metrics: tuple[str, ...]  # metrics in figures and tables; empty: all
    recordings: bool
    rate: float  # [Hz] frames recorded per simulated second

    @cached_property
    def digest(self) -> str:
        """Hash of everything that affects the results. The choice of metrics to draw does not."""
        decisive = {
            "version": grouser.__version__,
            "scenario": self.scenario,
            "recordings": self.recordings,
            "rate": self.rate,
            "cases": [[case.settings.model_dump(mode="json"), case.seed] for case in self.cases],
        }
        return hashlib.sha256(json.dumps(decisive, sort_keys=True).encode()).hexdigest()

    def described(self) -> dict[str, Any]:
        """Content of sweep.json: enough to make tables and figures without the definition."""
        return {
            "title": self.title,
            "scenario": self.scenario,
            "version": grouser.__version__,
            "method": self.method,
            "seed": self.seed,
            "digest": self.digest,
            "parameters": [{"path": parameter.path, "unit": parameter.unit} for parameter in self.parameters],
            "metrics": list(self.metrics),
            "recordings": self.recordings,
            "rate": self.rate,
            "cases": [{"name": case.name, "seed": case.seed, "parameters": case.parameters} for case in self.cases],
        }
