"""Every expectation of `docking-olev` has a setting that breaks it, and the numbers of the docs converge."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import grouser
from grouser.robots.olev import Olev
from grouser.robots.olev_contact import Discretisation
from grouser.scenarios import docking_olev
from grouser.scenarios.docking_olev import DockingOlev
from grouser.simulation import Simulation

# in the nozzle, a little off: insertion and locking in some seconds
NEAR = {
    "boom_length": 2.11, "client_x": 0.0015, "client_y": -0.001, "client_tilt_x_deg": 0.2, "client_tilt_y_deg": -0.2,
}  # fmt: skip
FINER = {"contact.sectors": 40, "contact.chord_error": 1.25e-6, "contact.border_passes": 3}  # elements of half the side
CONVERGED = 0.05  # bar of penetrations
LAYER = 0.02  # bar of forces and times
LOCKED = 50.0  # [s] the paper's time of the lock: a run from `SHORT` begins later, its times are compared with this
SIGNIFICANT = 0.1  # of the 200 N of the safety spring
SHORT = {**NEAR, "boom_length": 0.51, "client_z": -1.6}  # the client is close to the brackets: retraction over 0.1 m
DOCKED = 97.0  # [s] end of such a run: mated, and the 10 s more of the spring's mean
TIMES = ("lock_start_s", "lock_end_s", "retraction_start_s", "touchdown_start_s", "touchdown_end_s", "mated_s")
HELD = ("locking_force_N", "safety_spring_force_N", "force_brackets_max_N")  # by drives and springs
PEAKS = ("force_tool_max_N", "force_crown_max_N", "force_bolt_max_N", "contact_before_lock_max_N")
SOFTER = {"machine__contact_stiffness": 0.5 * Olev().contact_stiffness}
STIFFER = {"machine__contact_stiffness": 2 * Olev().contact_stiffness, "step": 0.001}  # a longer step is not stable
BOLT = 2  # third pair
BEFORE_IMPACT, AFTER_IMPACT = 29.5, 35.0  # [s] the bolt meets the throat at 30 s
DAMPED = 0.05  # of an exponent: contact is damped, and the boom pushes on; contact along a line would have 0.4


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


@pytest.fixture(scope="module")
def short(tmp_path_factory):
    """Metrics of a docking from `SHORT`, run once for each change of the settings."""
    folder, done = tmp_path_factory.mktemp("short"), {}

    def run(**given: float) -> dict[str, Any]:
        key = tuple(sorted(given.items()))
        if key not in done:
            settings = {name.replace("__", "."): value for name, value in given.items()}
            done[key] = values(settings, DOCKED, SHORT, folder / str(len(done)))
        return done[key]

    return run


def differ(usual: dict[str, Any], other: dict[str, Any], names: Iterable[str]) -> list[str]:
    """Metrics that differ by more than the bar of forces and times."""
    return [
        name for name in names
        if other[name] != pytest.approx(usual[name], rel=LAYER, abs=LAYER * LOCKED if name in TIMES else 0.0)
    ]  # fmt: skip


@pytest.mark.nightly
@pytest.mark.parametrize("times", [0.5, 2.0])
def test_the_thickness_of_the_layer_is_numerical(short, times):
    """At the same stiffness per area it changes no force of any pair and no time, peaks included."""
    given = {f"contact__{name}": times * getattr(Discretisation(), name) for name in ("layer", "pad_layer")}
    assert differ(short(), short(**given), (*TIMES, *HELD, *PEAKS)) == []


@pytest.mark.nightly
def test_times_and_forces_of_drives_and_springs_do_not_depend_on_the_stiffness_of_contact(short):
    """Others do, see docs/validation.md: peaks at touchdown, with the tilt of the seat, and that of an impact."""
    assert [differ(short(), short(**given), (*TIMES, *HELD)) for given in (SOFTER, STIFFER)] == [[], []]


@pytest.mark.nightly
def test_a_tilted_nozzle_makes_the_lateral_force_at_touchdown_significant(short):
    name = "touchdown_lateral_force_N"
    significant = SIGNIFICANT * docking_olev.SPRING_FORCE
    assert short()[name] < significant < short(machine__nozzle_tilt_deg=2.0)[name]


@pytest.mark.long
def test_the_peak_of_an_impact_grows_with_the_cube_root_of_stiffness():
    """The bolt meets the throat. A point contact of stiffness c per area presses with c d^2; the energy is c d^3."""

    def docking(share: float) -> Simulation:
        stiffness = share * Olev().contact_stiffness
        return docking_olev.build(DockingOlev(machine=docking_olev.Machine(contact_stiffness=stiffness)))

    start = docking(1.0)
    start.step(round(BEFORE_IMPACT / start.step_size))
    saved = start.checkpoint()

    def peak(share: float) -> float:
        sim = docking(share)
        sim.restore(saved)  # nothing has touched yet
        assert peaks_of(sim).max() == 0
        while not (peaks_of(sim)[BOLT] > 0 and touching(sim)[BOLT] == 0):
            sim.step(10)
            assert sim.time < AFTER_IMPACT
        return float(peaks_of(sim)[BOLT])

    exponent = math.log(peak(1.0) / peak(0.25)) / math.log(4.0)
    assert exponent == pytest.approx(1 / 3, abs=DAMPED)


def touching(sim: Simulation) -> np.ndarray:
    return _channel(sim, "penetration")


def peaks_of(sim: Simulation) -> np.ndarray:
    return _channel(sim, "peak_force")


def _channel(sim: Simulation, name: str) -> np.ndarray:
    """Values (pair,) of a channel of the contact in the nozzle."""
    nozzle = sim.modules[0]
    return next(c for c in nozzle.channels() if c.name == f"nozzle/{name}").read()[0]  # type: ignore[misc]
