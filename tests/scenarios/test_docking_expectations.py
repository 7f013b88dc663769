"""Every expectation of `docking-olev` has a setting that breaks it, and the numbers of the docs converge."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

import grouser
from grouser.scenarios import docking_olev
from grouser.scenarios.docking_olev import DockingOlev

# in the nozzle, a little off: insertion and locking in some seconds
NEAR = {
    "boom_length": 2.11, "client_x": 0.0015, "client_y": -0.001, "client_tilt_x_deg": 0.2, "client_tilt_y_deg": -0.2,
}  # fmt: skip
FINER = {"contact.sectors": 40, "contact.chord_error": 1.25e-6, "contact.border_passes": 3}  # elements of half the side
CONVERGED = 0.05  # bar of penetrations
LAYER = 0.02  # bar of forces and times
SIGNIFICANT = 0.1  # of the 200 N of the safety spring
QUICK = {"plan.retraction_rate": 0.03}


@dataclass(frozen=True)
class Broken:
    """Settings of a run, and the expectations it must miss."""

    settings: dict[str, Any]
    misses: tuple[str, ...]
    time: float  # [s]
    initial: dict[str, float] = field(default_factory=dict)


TOO_FAST = Broken(
    {"plan.insertion_rate": 0.03}, ("contact_before_lock_max_N", "lock_start_s", "lock_end_s", "retraction_start_s"), 60
)
TOO_STRONG = Broken({"plan.locking_force": 130.0}, ("locking_force_N",), 60)
TOO_SOFT = Broken(
    {"machine.contact_stiffness": 2e8}, ("penetration_max_m", "penetration_tool_m", "penetration_crown_m"), 16, NEAR
)
SOFT_BOLT = Broken({"machine.contact_stiffness": 2e8, "plan.insertion_rate": 0.03}, ("penetration_bolt_m",), 20)
SOFT_PADS = Broken({"machine.pad_stiffness": 3e7, "plan.retraction_rate": 0.08}, ("penetration_brackets_m",), 75, NEAR)
JERK = Broken(
    {"plan.retraction_rate": 0.05, "plan.boom_acceleration": 0.5}, ("penetration_jump_max_rel",), 60, NEAR
)  # fmt: skip
ONE_PASS = Broken({"contact.border_passes": 1}, ("polygons_crown_over_tool",), 60, NEAR)
LONG_STEP = Broken({"step": 0.005, "machine.contact_stiffness": 1e9}, ("momentum_drift_rel",), 16, NEAR)
WEAK_SPRING = Broken({"machine.spring_force": 150.0}, ("safety_spring_force_N",), 300)
TOO_EARLY = Broken({"plan.retraction_rate": 0.02}, ("touchdown_start_s", "touchdown_end_s"), 300)
TOO_DAMPED = Broken({"machine.boom_damping_ratio": 0.3}, ("swing_left",), 300)

LONG = (TOO_FAST, TOO_STRONG, TOO_SOFT, SOFT_BOLT, SOFT_PADS, JERK, ONE_PASS, LONG_STEP)
NIGHTLY = (WEAK_SPRING, TOO_EARLY, TOO_DAMPED)


def named(broken: Broken) -> str:
    return ", ".join(broken.settings)


def metrics_of(settings: dict[str, Any], time: float, initial: dict[str, float], out) -> dict[str, dict[str, Any]]:
    more: dict[str, Any] = {"initial": initial} if initial else {}
    return grouser.run("docking-olev", settings, time=time, **more, out=out, report=False).summary["metrics"]


def values(*args: Any) -> dict[str, Any]:
    return {name: metric["value"] for name, metric in metrics_of(*args).items()}


def test_every_expectation_has_a_setting_that_breaks_it():
    expected = {m["name"] for m in docking_olev.metrics(DockingOlev()) if m["tolerance"] is not None}
    assert expected == {name for broken in (*LONG, *NIGHTLY) for name in broken.misses}


def check(broken: Broken, folder) -> None:
    found = metrics_of(broken.settings, broken.time, broken.initial, folder)
    assert [name for name in broken.misses if found[name]["pass"] is not False] == []


@pytest.mark.long
@pytest.mark.parametrize("broken", LONG, ids=named)
def test_a_wrong_machine_misses(broken, tmp_path):
    check(broken, tmp_path / "run")


@pytest.mark.nightly
@pytest.mark.parametrize("broken", NIGHTLY, ids=named)
def test_a_wrong_machine_misses_later(broken, tmp_path):
    check(broken, tmp_path / "run")


@pytest.mark.long
def test_elements_of_half_the_side_change_penetrations_little(tmp_path):
    usual, finer = (values(given, 16.0, NEAR, tmp_path / str(k)) for k, given in enumerate(({}, FINER)))
    for pair in ("tool", "crown"):
        assert usual[f"penetration_{pair}_m"] == pytest.approx(finer[f"penetration_{pair}_m"], rel=CONVERGED)
        assert usual[f"force_{pair}_max_N"] == pytest.approx(finer[f"force_{pair}_max_N"], rel=LAYER)


@pytest.mark.nightly
def test_the_layer_is_numerical(tmp_path):
    """Half and twice its thickness: twice and half the stiffness. Twice needs a shorter step."""
    cases = ({}, {"machine.contact_stiffness": 3.75e9}, {"machine.contact_stiffness": 1.5e10, "step": 0.001})
    usual, thicker, thinner = (values(given, 300.0, {}, tmp_path / str(k)) for k, given in enumerate(cases))
    for name in (
        "lock_start_s", "lock_end_s", "retraction_start_s", "touchdown_start_s", "touchdown_end_s", "mated_s",
        "locking_force_N", "safety_spring_force_N", "force_brackets_max_N",
    ):  # fmt: skip
        assert thicker[name] == pytest.approx(usual[name], rel=LAYER), name
        assert thinner[name] == pytest.approx(usual[name], rel=LAYER), name


@pytest.mark.nightly
def test_a_tilted_nozzle_makes_the_lateral_force_at_touchdown_significant(tmp_path):
    usual, tilted = (
        values({**QUICK, **given}, 125.0, NEAR, tmp_path / str(k))
        for k, given in enumerate(({}, {"machine.nozzle_tilt_deg": 2.0}))
    )
    name = "touchdown_lateral_force_N"
    assert usual[name] < SIGNIFICANT * docking_olev.SPRING_FORCE < tilted[name]
