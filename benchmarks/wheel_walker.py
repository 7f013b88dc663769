"""The wheel-stepping robot on stairs: what a step costs, MuJoCo's own contacts on the same course, tables, figures.

`make bench NAME=convex` for the costs; `.venv/bin/python benchmarks/wheel_walker.py --write` for the tables and
figures of docs/validation.md.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

import grouser
from grouser.robots import wheel_walker
from grouser.robots import wheel_walker_balance as balance
from grouser.robots.wheel_walker import DRIVES, WheelWalker
from grouser.scenarios import wheel_walker_stairs as scenario
from grouser.scenarios.wheel_walker_stairs import CASES, SETTLING, WheelWalkerStairs

REAL_TIME = 3.0  # times faster than real time
STEPS = (1e-3, 2e-3, 3e-3, 5e-3)  # [s]
SIDES = (6, 10, 20, 40, 80)
COPIED = ("path", "speeds", "ripple", "carriers")


# ---- costs ------------------------------------------------------------------------------------------------


def measure():
    """Rows of `make bench`: the whole climb of one robot, ours and MuJoCo's contacts one after the other."""
    from benchmarks.run import Row

    s = WheelWalkerStairs(compare_sides=None)
    ours, seen = climb_with_module(s)
    theirs, _ = climb_with_mujoco(s)
    candidates, touching = seen
    return [
        Row(
            "convex",
            f"walker on stairs, {1e3 * s.step:g} ms step (3 x real time)",
            ours,
            "us",
            1e6 * s.step / REAL_TIME,
        ),
        Row("convex", "walker on stairs, MuJoCo's own contacts", theirs, "us"),
        Row("convex", "walker: pairs coal is asked about a step, mean", candidates, "1", None, False),
        Row("convex", "walker: touching pairs a step, mean", touching, "1", None, False),
        Row("convex", "walker: all, for each touching pair", ours / touching, "us"),
    ]


def climb_with_module(s: WheelWalkerStairs) -> tuple[float, tuple[float, float]]:
    """[us] a step over the whole climb; mean candidates and contacts."""
    sim = scenario.build(s)
    module: Any = sim.modules[0]
    steps, wall, counts = round(scenario.duration(s) / s.step), 0.0, []
    sim.step(10)
    for _ in range(steps // 50):
        began = time.perf_counter()
        sim.step(50)
        wall += time.perf_counter() - began
        counts.append((module.counts["candidates"], module.counts["contacts"]))
    candidates, contacts = np.mean(counts, axis=0)
    return 1e6 * wall / (50 * len(counts)), (float(candidates), float(contacts))


def climb_with_mujoco(s: WheelWalkerStairs) -> tuple[float, dict[str, Any]]:
    """[us] a step over the whole climb, and how far it came."""
    model = with_mujoco_contacts(s)
    data = mujoco.MjData(model)
    motors = np.array([model.actuator(f"motor_{name}").id for name in DRIVES])
    hubs = np.array([model.body(f"carrier_{name}").id for name in DRIVES])
    last, climbed, wall = (s.stairs.count - 1) * s.stairs.run, None, 0.0
    steps = round(scenario.duration(s) / s.step)
    for _ in range(steps // 10):
        data.ctrl[motors] = s.voltage if data.time >= SETTLING and data.qpos[0] < s.goal else 0.0
        began = time.perf_counter()
        for _ in range(10):
            mujoco.mj_step(model, data)
        wall += time.perf_counter() - began
        if climbed is None and (data.xpos[hubs, 0] > last).all():
            climbed = data.time - SETTLING
    turns = [float(data.joint(f"carrier_{name}").qpos[0]) / scenario.THIRD for name in ("fr", "rr")]
    return 1e6 * wall / steps, {"climb_time_s": climbed, "turns": turns, "x": float(data.qpos[0])}


def with_mujoco_contacts(s: WheelWalkerStairs) -> mujoco.MjModel:
    """The same robot and course with MuJoCo's soft contacts: its defaults, but an elliptic cone and little slip."""
    p = s.parameters
    spec = wheel_walker.build(p, gravity=s.gravity, x=s.start_x)
    for k, piece in enumerate(scenario.course_of(s).pieces):
        spec.add_mesh(name=f"piece{k}", uservert=piece.vertices.flatten(), maxhullvert=-1)
        spec.worldbody.add_geom(
            type=mujoco.mjtGeom.mjGEOM_MESH, meshname=f"piece{k}", contype=1, conaffinity=0, condim=3, priority=1,
            friction=[s.friction, 0, 0],
        )  # fmt: skip
    for geom in spec.geoms:
        if geom.type == mujoco.mjtGeom.mjGEOM_MESH and not geom.meshname.startswith("piece"):
            geom.conaffinity = 1
    model = spec.compile()
    model.opt.timestep, model.opt.cone, model.opt.impratio = s.step, mujoco.mjtCone.mjCONE_ELLIPTIC, 10
    return model


# ---- tables -----------------------------------------------------------------------------------------------


def main(write: bool) -> int:
    from page import publish, quiet

    quiet()
    publish(
        {
            "wheel-walker-cases": cases(),
            "wheel-walker-limits": limits(),
            "wheel-walker-thresholds": thresholds(),
            "wheel-walker-steps": steps(),
            "wheel-walker-ripple": ripples(),
            "wheel-walker-mujoco": against_mujoco(),
        },
        write,
    )
    if write:
        pictures()
    return 0


def ran(**settings) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        return grouser.run("wheel-walker-stairs", settings, out=Path(folder) / "out", report=False).metrics


def cases() -> str:
    from page import table

    rows = []
    for case, hold, more in [
        *((case, "none", {}) for case in CASES),
        ("paper", "none", {key: CASES["too-light"][key] for key in ("pull", "friction")} | {"time": 2.0}),
        ("too-light", "brake", {}),
        ("poor-grip", "lock", {"time": 14.0}),
    ]:
        got = ran(case=case, hold=hold, compare_sides=None, **more)
        change = ", ".join(f"{key} {value:g}" for key, value in {**CASES[case], **more}.items()) or "–"
        modes = ", ".join(got["mode_sequence"])
        rows.append([f"`{case}`", change, hold, str(got["steps_on_flat"]), modes, str(got["steps_climbed"])])
    return table(["case", "changed", "hold", "steps on the flat", "modes of the front right drive", "climbed"], rows)


def limits() -> str:
    from page import number, table

    rows = []
    for words, p in (
        ("robot of the scenario", WheelWalker()),
        ("mass 20 kg", WheelWalker(mass=20.0)),
        ("mass 100 kg", WheelWalker(mass=100.0)),
        ("wheel gears of 10 teeth", WheelWalker(wheel_teeth=10)),
        ("wheel gears of 40 teeth", WheelWalker(wheel_teeth=40)),
    ):
        values = [balance.flat_limit(p), balance.flat_friction(p), balance.wall_limit(p), balance.wall_friction(p)]
        cells = [number(v, d) if np.isfinite(v) else "never" for v, d in zip(values, (1, 2, 1, 2), strict=True)]
        rows.append([words, number(p.ratio, 3), *cells])
    return table(["", "i", "flat, torque [N m]", "flat, friction", "wall, torque [N m]", "wall, friction"], rows)


def thresholds() -> str:
    """Where forty-sided wheels begin or cease to step in the scenario, between two runs, and what the balances say."""
    from page import number, table

    p, light = WheelWalker(), WheelWalker(mass=CASES["too-light"]["mass"])
    heaviest = p.mass * p.stall_torque / balance.wall_limit(p)
    rows = []
    for words, values, at, said in (
        ("at the wall: mass [kg]", (70, 75, 80, 85, 90, 95), lambda v: {"robot": {"mass": v}}, number(heaviest, 0)),
        ("at the wall: friction", (0.2, 0.25, 0.3, 0.35, 0.4), lambda v: {"friction": v},
         number(balance.wall_friction(p), 2)),
        ("`too-light` on the level: friction", (0.5, 0.6, 0.7, 0.8, 0.9),
         lambda v: {"case": "too-light", "friction": v}, number(balance.flat_friction(light), 2)),
    ):  # fmt: skip
        seen = [_steps(at(value)) for value in values]
        change = next(k for k in range(1, len(seen)) if seen[k] != seen[0])
        rows.append([words, f"{values[change - 1]:g} to {values[change]:g}", said])
    return table(["steps up to or from", "seen", "balance"], rows)


def _steps(changed: dict[str, Any]) -> bool:
    """Whether the front right drive steps: once as a whole on the level, at all at the wall."""
    robot = {"sides": 40, **changed.pop("robot", {})}
    got = ran(compare_sides=None, robot=robot, time=5.0, **changed)
    return got["steps_on_flat"] > 0 if "case" in changed else "stepping" in got["mode_sequence"]


def steps() -> str:
    from page import number, table

    rows = []
    for step in STEPS:
        got = ran(step=step)  # beside the second robot, as in the default run: one value for ten sides in all tables
        rows.append([
            number(1e3 * step, 0), str(got["steps_climbed"]), ", ".join(got["mode_sequence"]),
            number(got["climb_time_s"], 2), number(got["ripple_10_sides"], 3),
        ])  # fmt: skip
    return table(["step [ms]", "climbed", "modes", "climb time [s]", "ripple"], rows)


def ripples() -> str:
    from page import number, table

    rows = []
    for sides in SIDES:
        got = ran(robot={"sides": sides}, time=2.0)
        rows.append([str(sides), number(got[f"ripple_{sides}_sides"], 4)])
    return table(["sides of a wheel", "ripple of its speed on the level"], rows)


def against_mujoco() -> str:
    from page import number, table

    s = WheelWalkerStairs(compare_sides=None)
    with tempfile.TemporaryDirectory() as folder:
        run = grouser.run("wheel-walker-stairs", {"compare_sides": None}, out=Path(folder) / "out", report=False)
        with grouser.Recording(run.recording) as recording:
            turns = [float(recording[f"joint/position[carrier_{k}]"][-1]) / scenario.THIRD for k in ("fr", "rr")]
    ours = {"climb_time_s": run.metrics["climb_time_s"], "turns": turns}
    rows = []
    for words, got in (("convex contact", ours), ("MuJoCo's contacts", climb_with_mujoco(s)[1])):
        climbed = "–" if got["climb_time_s"] is None else number(got["climb_time_s"], 2)
        rows.append([words, climbed, "front {}, rear {}".format(*(number(value, 2) for value in got["turns"]))])
    return table(["", "climb time [s]", "thirds of a turn of the carriers"], rows)


# ---- figures ----------------------------------------------------------------------------------------------


def pictures() -> None:
    """Figures of the default run."""
    from page import FIGURES

    with tempfile.TemporaryDirectory() as folder:
        run = grouser.run("wheel-walker-stairs", out=Path(folder) / "out")
        for name in COPIED:
            shutil.copy(run.folder / "figures" / f"{name}.png", FIGURES / f"wheel-walker-{name}.png")


if __name__ == "__main__":
    sys.exit(main("--write" in sys.argv[1:]))
