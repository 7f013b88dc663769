"""Runs benchmark cases, prints a table and appends to a history file.

Timing is noisy, so every run measures a reference too: MuJoCo stepping the bare 22-DoF rover without contact. Bars
hold for a machine on which that takes 9 microseconds; `scaled` is the measured time brought to such a machine. A bar is
met if the scaled value is at most the bar.
"""

from __future__ import annotations

import importlib
import json
import platform
import time
from dataclasses import asdict, dataclass
from pathlib import Path

CASES = {
    "soil-wheel": "soil_wheel",
    "rover": "rover",
    "threads": "threads",
    "command": "command",
    "polygonal": "polygonal",
    "revolution": "revolution",
    "convex": "convex",
    "ground": "ground",
    "kilometre": "kilometre",
    "vehicle": "vehicle",
    "track": "track",
    "start-up": "start_up",
    "wheel-series": "wheel_series",
    "twelve-runs": "twelve_runs",
    "view": "view",
    "fingerprint": "fingerprint",
}
REFERENCE = 9.0  # [us] a step of the bare rover on the machine the bars are given for
HISTORY = Path(__file__).with_name("history.jsonl")


@dataclass(frozen=True)
class Row:
    """One measured quantity."""

    case: str
    what: str
    value: float
    unit: str
    bar: float | None = None  # at most this, on the reference machine
    scales: bool = True  # a time that shrinks with a faster machine

    def scaled(self, reference: float) -> float:
        """The value on the machine of the bars, from one whose bare rover takes `reference` [us] a step."""
        return self.value * REFERENCE / reference if self.scales else self.value

    def met(self, reference: float) -> bool | None:
        """Whether the bar is met; None without a bar. A value that is not a number meets none."""
        return None if self.bar is None else self.scaled(reference) <= self.bar


def main(names: list[str], check: bool = False) -> int:
    """Measure the cases and print them. With `check` the exit status is 1 if a bar is missed."""
    from grouser.errors import InputError

    unknown = [name for name in names if name not in CASES]
    if unknown:
        raise InputError(f"benchmark: {unknown[0]!r} is not known; allowed: {', '.join(CASES)}")
    rows: list[Row] = []
    references = [bare_rover()]
    for name in names or CASES:
        rows += importlib.import_module(f"benchmarks.{CASES[name]}").measure()
        references.append(bare_rover())
    reference = min(references)
    report(rows, reference)
    return status(rows, reference) if check else 0


def status(rows: list[Row], reference: float) -> int:
    """Exit status of a check: 0 if all bars are met, else 1."""
    return int(any(row.met(reference) is False for row in rows))


def report(rows: list[Row], reference: float) -> None:
    print(f"reference: bare rover {reference:.2f} us a step (bars: {REFERENCE:.0f} us); times scaled by the ratio")
    print(f"{'case':12} {'what':52} {'measured':>12} {'scaled':>10} {'bar':>8}  {'rover steps':>11}")
    for row in rows:
        bar = "" if row.bar is None else f"{row.bar:g}"
        mark = {None: "", True: "  met", False: "  missed"}[row.met(reference)]
        ratio = f"{row.value / reference:11.2f}" if row.unit == "us" else ""
        print(
            f"{row.case:12} {row.what:52} {row.value:9.4g} {row.unit:4} {row.scaled(reference):8.4g} {bar:>8}  "
            f"{ratio:11}{mark}"
        )
    judged = [row for row in rows if row.bar is not None]
    print(f"bars: {sum(bool(row.met(reference)) for row in judged)} of {len(judged)} met")
    entry = {
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "processor": platform.machine(),
        "reference_us": reference,
        "rows": [asdict(row) for row in rows],
    }
    with HISTORY.open("a") as history:
        history.write(json.dumps(entry) + "\n")


def bare_rover(steps: int = 2000, repeats: int = 8) -> float:
    """[us] a step of MuJoCo alone on a six-wheel rover with 22 degrees of freedom, contact off."""
    import mujoco

    model = mujoco.MjModel.from_xml_string(ROVER)
    data = mujoco.MjData(model)
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        for _ in range(steps):
            mujoco.mj_step(model, data)
        best = min(best, (time.perf_counter() - start) / steps)
    return 1e6 * best


def _wheel(name: str, x: float, z: float) -> str:
    return (
        f'<body pos="{x} 0 {z}"><joint name="steer{name}" axis="0 0 1" damping="1" armature=".01"/>'
        '<geom type="box" size=".03 .03 .1" mass="2"/><body pos="0 0 -.1">'
        f'<joint name="drive{name}" axis="0 1 0" damping=".1" armature=".02"/>'
        '<geom type="cylinder" size=".15 .05" euler="90 0 0" mass="4"/></body></body>'
    )


def _side(name: str, y: float) -> str:
    bar = '<geom type="box" size=".3 .02 .02" mass="{}"/>'
    return (
        f'<body pos="0 {y} 0"><joint name="rocker{name}" axis="0 1 0"/>{bar.format(5)}{_wheel(name + "1", 0.6, -0.2)}'
        f'<body pos="-.3 0 -.05"><joint name="bogie{name}" axis="0 1 0"/>{bar.format(4)}'
        f"{_wheel(name + '2', 0.3, -0.15)}{_wheel(name + '3', -0.3, -0.15)}</body></body>"
    )


ROVER = f"""<mujoco><option timestep="0.001" integrator="implicitfast"><flag contact="disable"/></option>
<worldbody><body pos="0 0 .6"><freejoint/><geom type="box" size=".5 .35 .15" mass="120"/>
{_side("L", 0.5)}{_side("R", -0.5)}</body></worldbody>
<equality><joint joint1="rockerL" joint2="rockerR" polycoef="0 -1 0 0 0"/></equality>
<actuator>{
    "".join(
        f'<velocity joint="drive{s}{k}" kv="5"/><position joint="steer{s}{k}" kp="200" kv="10"/>'
        for s in "LR"
        for k in (1, 2, 3)
    )
}</actuator></mujoco>"""
