"""How results depend on the step: a quadruped that trots and a machine on wheels, `python benchmarks/step.py`.

Speed along the heading, sinkage weighted by load, power sum max(torque x speed, 0) of the joints (as `energy_J` of the
scenario `robot` has it); means over strides and nudged starts.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from grouser import on_soil
from grouser.contact.soil import SoilOptions
from tests.simulation import step_robots as robots

TICK = 1e-2  # [s] between two looks at the soil; steps divide it
NUDGE = (0.01, 0.02)  # [m], [m/s] standard deviation of the place and the speed at the start


@dataclass(frozen=True)
class Case:
    """A robot, how fast it shall go, and for how long."""

    name: str
    speed: float  # [m/s]
    settling: float  # [s] before the means start
    time: float  # [s] of the means

    @property
    def walks(self) -> bool:
        return self.name.startswith("trot")


CASES = {
    case.name: case
    for case in (
        Case("trot-0.35", 0.35, 1.5, 10 * robots.PERIOD),
        Case("trot-0.6", 0.6, 1.5, 10 * robots.PERIOD),
        Case("wheels-1", 1.0, 1.5, 2.0),
    )
}


def simulate(case: Case, step: float, starts: int, soil: str = "dry-sand", options: SoilOptions | None = None, **more):
    """Means over `starts` worlds, (start, 3): speed [m/s], sinkage [m], power [W]; CPU seconds per simulated second."""
    text = robots.quadruped() if case.walks else robots.four_wheels()
    bodies = "shank.*" if case.walks else "wheel.*"
    sim = on_soil(robots.spec(text), soil, bodies, worlds=starts, step=step, options=options, **more)
    nudge(sim, starts)
    names = [sim.model.joint(j).name for j in range(sim.model.njnt) if sim.model.joint(j).type[0] == 3]
    at = np.array([sim.model.joint(n).qposadr[0] for n in names])
    dof = np.array([sim.model.joint(n).dofadr[0] for n in names])
    inner, worlds = round(TICK / step), sim.engine.data
    sums = np.zeros((starts, 4))
    wall = 0.0
    for tick in range(round((case.settling + case.time) / TICK)):
        counts = tick * TICK >= case.settling - 1e-9
        for part in range(inner):
            steer(case, tick * TICK + part * step, worlds)
            before = [(d.qpos.copy(), d.qvel.copy()) for d in worlds]
            now = time.process_time()
            sim.step(1)
            wall += time.process_time() - now
            if counts:
                for w, d in enumerate(worlds):
                    (q, v), u = before[w], d.ctrl
                    if case.walks:
                        force = robots.STIFFNESS * (u - q[at]) - robots.DAMPING * d.qvel[dof]
                    else:
                        force = robots.TURNING * (u - d.qvel[dof])
                    sums[w, 2] += step * np.maximum(force * (v[dof] + d.qvel[dof]) / 2, 0).sum()
                    ahead = d.xmat[1].reshape(3, 3)[:2, 0]
                    sums[w, 0] += step * d.qvel[:2] @ ahead / np.linalg.norm(ahead)
        if counts:
            seen = sim.observe()
            load = np.maximum(seen["soil/force"][..., 2], 0)
            sums[:, 1] += (load * seen["soil/sinkage"]).sum(axis=1)
            sums[:, 3] += load.sum(axis=1)
    out = np.column_stack([sums[:, 0] / case.time, sums[:, 1] / sums[:, 3], sums[:, 2] / case.time])
    return out, wall / starts / (case.settling + case.time), sim


def steer(case: Case, now: float, worlds) -> None:
    """Controls of all worlds; every step of the engine, so that servos follow smoothly."""
    if case.walks:
        robots.trot(case.speed, now, worlds[0].ctrl)
    else:
        worlds[0].ctrl[:] = case.speed / robots.RIM * min(1.0, now / (0.5 * case.settling))
    for d in worlds[1:]:
        d.ctrl[:] = worlds[0].ctrl


def nudge(sim, starts: int) -> None:
    """Move every world's robot a little, the first not at all."""
    for w, d in enumerate(sim.engine.data):
        rng = np.random.default_rng(w)
        if w:
            d.qpos[:2] += rng.normal(scale=NUDGE[0], size=2)
            d.qvel[:2] += rng.normal(scale=NUDGE[1], size=2)
    sim.engine.kinematics()
    sim.soil.reset(list(range(starts)))
    for module in sim.modules:
        module.commit(sim.engine.step)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", default=list(CASES))
    parser.add_argument("--steps", type=float, nargs="*", default=[5, 2, 1, 0.5, 0.25], help="[ms]")
    parser.add_argument("--starts", type=int, default=5)
    parser.add_argument("--soil", default="dry-sand")
    args = parser.parse_args()
    for name in args.cases:
        print(f"{name}: step ms, speed m/s, sinkage mm, power W (spread of the mean), times real time")
        for step in args.steps:
            values, wall, sim = simulate(CASES[name], 1e-3 * step, args.starts, args.soil)
            mean, spread = values.mean(axis=0), values.std(axis=0, ddof=1) / np.sqrt(args.starts)
            print(
                f"{step:6g} {mean[0]:.4f} ({spread[0]:.4f})  {1e3 * mean[1]:.3f} ({1e3 * spread[1]:.3f})  "
                f"{mean[2]:.3f} ({spread[2]:.3f})  {1 / wall:.1f}  {sim.engine.step * 1e3:g}",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
