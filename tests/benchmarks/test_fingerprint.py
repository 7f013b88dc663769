"""The fingerprint of recorded channels has a case for every scenario."""

from __future__ import annotations

from benchmarks import fingerprint
from grouser.scenarios.registry import NAMES


def test_every_scenario_has_a_case():
    assert set(NAMES) == set(fingerprint.SHORT)
