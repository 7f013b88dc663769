"""Convex contact: what a step costs, how it grows with pairs and pieces, MuJoCo's own contacts beside it.

`make bench NAME=convex`. What is counted (pairs the search met, pairs coal was asked about) does not depend on the
machine; `.venv/bin/python benchmarks/convex.py` prints the counts and the behaviour alone, for docs/validation.md.
"""

from __future__ import annotations

import time
from typing import Any

import mujoco
import numpy as np

from grouser.contact.convex import ConvexContact, ConvexPart, Material
from grouser.scenarios import box_on_stairs
from grouser.scenarios.box_on_stairs import BoxOnStairs
from grouser.simulation import Simulation
from grouser.terrain.course import Course
from grouser.terrain.courses import blocks, ditch, from_grid, stairs
from grouser.terrain.elevation import ElevationGrid
from grouser.terrain.polyhedra import Polyhedron, box, hull, prism

GROWTH = 2.0  # times a course of 100 pieces, at most
STEPS, WARM_UP = 2000, 100
SIZE, MASS = (0.3, 0.3, 0.2), 10.0
STEP, SPEED = 1e-3, 0.3


def measure():
    from benchmarks import wheel_walker
    from benchmarks.run import Row

    rows = wheel_walker.measure()
    small, large = (sliding(tiles(side)) for side in (10, 100))
    rows.append(Row("convex", "box slides over 100 tiles", small["cost"], "us"))
    rows.append(Row("convex", "box slides over 10 000 tiles", large["cost"], "us"))
    rows.append(Row("convex", "10 000 tiles over 100", large["cost"] / small["cost"], "1", GROWTH, False))
    rows.append(Row("convex", "pairs the search met, 10 000 tiles", large["seen"], "1", None, False))
    rows.append(Row("convex", "pairs the search met, 100 tiles", small["seen"], "1", None, False))
    few, many = sliding(tiles(10, 0.8)), sliding(tiles(60, 0.05))
    pair = (many["cost"] - few["cost"]) / (many["contacts"] - few["contacts"])
    rows.append(Row("convex", f"a touching pair more (of {many['contacts']:.0f})", pair, "us"))
    rows.append(Row("convex", "the same, coal's call alone", coal_call(), "us"))
    ours, theirs = tumble(ours=True), tumble(ours=False)
    rows.append(Row("convex", "box on stairs, a step", ours["cost"], "us"))
    rows.append(Row("convex", "box on stairs, a step, MuJoCo's own contacts", theirs["cost"], "us"))
    return rows


def tiles(side: int, edge: float = 0.2) -> Course:
    """side x side square tiles that make one level floor."""
    middle = (side - 1) / 2
    return Course(
        tuple(box((edge, edge, 0.5), (edge * (i - middle), edge * (j - middle), -0.25))
              for i in range(side) for j in range(side))
    )  # fmt: skip


def sliding(course: Course) -> dict[str, float]:
    """[us] a step, median, of a box that slides over a course, and what was counted, means."""
    spec = mujoco.MjSpec()
    body = spec.worldbody.add_body(name="box", pos=[-0.3, 0.013, SIZE[2] / 2])
    body.add_freejoint()
    body.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, size=[x / 2 for x in SIZE], mass=MASS)
    spec.add_key(qpos=[-0.3, 0.013, SIZE[2] / 2, 1, 0, 0, 0], qvel=[SPEED, 0, 0, 0, 0, 0])
    module = ConvexContact([ConvexPart("box", box(SIZE))], course, friction=0.0)
    sim = Simulation(spec, [module], step=STEP)
    sim.step(WARM_UP)
    costs, counts = [], []
    for _ in range(STEPS):
        start = time.perf_counter()
        module.evaluate(STEP)
        module.commit(STEP)
        costs.append(time.perf_counter() - start)
        sim.step()
        counts.append(list(module.counts.values()))
    mean = np.mean(counts, axis=0)
    names = ("seen", "candidates", "contacts", "points")
    return {"cost": 1e6 * float(np.median(costs)), **dict(zip(names, mean.tolist(), strict=True))}


def coal_call() -> float:
    """[us] of one call of coal for a box on a tile, with reading its answer."""
    module = ConvexContact([ConvexPart("box", box(SIZE))], tiles(1))
    spec = mujoco.MjSpec()
    body = spec.worldbody.add_body(name="box", pos=[0, 0, SIZE[2] / 2 - 1e-6])
    body.add_freejoint()
    body.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, size=[x / 2 for x in SIZE], mass=MASS)
    Simulation(spec, [module], step=STEP).step(10)
    costs = []
    for _ in range(STEPS):
        start = time.perf_counter()
        module._collide()
        costs.append(time.perf_counter() - start)
    return 1e6 * float(np.median(costs))


def tumble(*, ours: bool) -> dict[str, Any]:
    """The scenario `box-on-stairs` with its module, or with MuJoCo's contacts on the same course."""
    s = BoxOnStairs()
    if ours:
        sim = box_on_stairs.build(s)
        module, rise = sim.modules[0], Rise(s)
    else:
        sim, module, rise = Simulation(mujoco_stairs(s), [], step=s.step), None, Rise(s)
    wall, still, path = 0.0, np.nan, []
    for k in range(round(s.time / s.step)):
        start = time.perf_counter()
        sim.step()
        wall += time.perf_counter() - start
        stored = 0.0
        if module is not None:
            module.evaluate_for_channels()
            stored = module.stored()
        rise.add(box_on_stairs._energy(sim)[0] + stored, sim.data.qpos[2])
        path.append(sim.data.qpos[:3].copy())
        moving = np.linalg.norm(sim.data.qvel[:3]) > 1e-3 or np.linalg.norm(sim.data.qvel[3:]) > 1e-2
        still = np.nan if moving else still if np.isfinite(still) else k * s.step
    return {
        "cost": 1e6 * wall / len(path), "energy gain": rise.most / rise.drop, "rest": still, "end": path[-1],
        "sunk": rise.depth(sim),
    }  # fmt: skip


class Rise:
    """Greatest rise of energy above an earlier value."""

    def __init__(self, s: BoxOnStairs):
        self.s, self.least, self.most = s, np.inf, 0.0
        self.drop = s.mass * s.gravity * s.drop

    def add(self, energy: float, _: float) -> None:
        self.least = min(self.least, energy)
        self.most = max(self.most, energy - self.least)

    def depth(self, sim: Simulation) -> float:
        """[m] of the lowest corner below the nearest level of a tread at the end."""
        turn = sim.data.xmat[1].reshape(3, 3)
        low = float((self.s.solid.vertices @ turn.T + sim.data.xpos[1])[:, 2].min())
        return float(round(low / self.s.rise) * self.s.rise - low)


def mujoco_stairs(s: BoxOnStairs) -> mujoco.MjSpec:
    """The same box and stairs as geoms of MuJoCo, with its defaults."""
    spec = mujoco.MjSpec()
    spec.option.gravity = [0, 0, -s.gravity]
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    for k, piece in enumerate(stairs(s.steps, s.rise, s.run, s.width, approach=2.0, landing=1.0)):
        spec.add_mesh(name=f"piece{k}", uservert=piece.vertices.ravel().tolist())
        spec.worldbody.add_geom(
            type=mujoco.mjtGeom.mjGEOM_MESH, meshname=f"piece{k}", friction=[s.friction, 0.005, 0.0001], condim=4
        )
    body = spec.worldbody.add_body(name="box", pos=s.start[:3].tolist(), quat=s.start[3:].tolist())
    body.add_freejoint()
    size = [s.length / 2, s.breadth / 2, s.height / 2]
    body.add_geom(
        type=mujoco.mjtGeom.mjGEOM_BOX, size=size, mass=s.mass, friction=[s.friction, 0.005, 0.0001], condim=4
    )
    turn = np.zeros(9)
    mujoco.mju_quat2Mat(turn, s.start[3:])
    spin = turn.reshape(3, 3).T @ np.array([0, -s.spin, 0])
    spec.add_key(qpos=s.start.tolist(), qvel=[-s.speed, 0, 0, *spin])
    return spec


def one_box(
    course: Course, *, friction: float, speed: float = 0.0, step: float = STEP, angle: float = 0.0
) -> Simulation:
    """The box at its depth of rest, turned by `angle` about y."""
    material = Material()
    area = SIZE[0] * SIZE[1] + material.spread * 2 * (SIZE[0] + SIZE[1]) + np.pi * material.spread**2
    up = SIZE[2] / 2 - MASS * 9.81 * np.cos(angle) / (material.stiffness * area)
    place = [up * np.sin(angle), 0.013, up * np.cos(angle), np.cos(angle / 2), 0, np.sin(angle / 2), 0]
    spec = mujoco.MjSpec()
    body = spec.worldbody.add_body(name="box", pos=place[:3], quat=place[3:])
    body.add_freejoint()
    body.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, size=[x / 2 for x in SIZE], mass=MASS)
    spec.add_key(qpos=place, qvel=[speed, 0, 0, 0, 0, 0])
    return Simulation(spec, [ConvexContact([ConvexPart("box", box(SIZE))], course, material, friction)], step=step)


def print_bars() -> None:
    """Stopping distance, creep on a slope, force across seams."""
    floor = Course((box((40, 40, 1), (0, 0, -0.5)),))
    for step in (2e-3, 1e-3, 5e-4, 2e-4):
        sim = one_box(floor, friction=0.5, speed=2.0, step=step)
        sim.step(round(0.6 / step))
        print(f"stops, step {1e3 * step:g} ms: {100 * (sim.data.qpos[0] / (4 / 9.81) - 1):.2f} % late")
    angle = np.radians(25)
    slab = box((10, 4, 1), (0, 0, -0.5)).placed((0, 0, 0), (0, float(angle), 0))
    sim = one_box(Course((slab,)), friction=0.6, angle=float(angle))
    sim.step(1000)
    start = sim.data.qpos[:3].copy()
    sim.step(60000)
    print(f"25 degrees, friction 0.6, 60 s: {np.linalg.norm(sim.data.qpos[:3] - start):.1g} m")
    for friction in (0.0, 0.3):
        forces = []
        for course in (floor, tiles(60, 0.1)):
            sim, own = one_box(course, friction=friction, speed=2.0), []
            for _ in range(400):
                sim.step()
                own.append(sim.engine.slots[0].out.effective.numpy()[0, 0, :3].copy())
            forces.append(np.array(own)[5:])
        worst = np.abs(forces[1] - forces[0]).max(0) / (9.81 * MASS)
        jump = np.abs(np.diff(forces[1], axis=0)).max() / (9.81 * MASS)
        print(f"seams, friction {friction}: force off by {worst.max():.2g} of the weight, from step to step {jump:.2g}")


def throwing_courses() -> dict[str, Course]:
    rough = ElevationGrid(0.15 * np.random.default_rng(0).random((16, 16)), 0.25, (-2, -2))
    return {
        "stairs": stairs(width=4.0, overhang=0.05, approach=2.0), "ditch": ditch(wall_deg=100.0),
        "rough grid": from_grid(rough), "blocks": blocks(40, (4, 3), seed=2),
    }  # fmt: skip


def solids_to_throw(rng: np.random.Generator) -> tuple[Polyhedron, ...]:
    return box((0.3, 0.2, 0.15)), prism(0.15, 0.1, 12), hull(rng.uniform(-0.15, 0.15, (14, 3)))


def print_throws(seeds: int = 5, step: float = 5e-4) -> None:
    """Greatest rise of energy over the first drop, of solids thrown on courses from 1.2 m, 2 s each."""
    for name, course in throwing_courses().items():
        rises = []
        for seed in range(seeds):
            rng = np.random.default_rng(seed)
            rises += [throw(solid, course, rng, step) for solid in solids_to_throw(rng)]
        print(f"thrown on {name}, box, prism, hull in turn: " + ", ".join(f"{rise:.1g}" for rise in rises))


def throw(solid: Polyhedron, course: Course, rng: np.random.Generator, step: float, time: float = 2.0) -> float:
    spec = mujoco.MjSpec()
    body = spec.worldbody.add_body(name="solid")
    body.add_freejoint()
    body.mass, body.inertia, body.ipos, body.explicitinertial = 5.0, [0.03, 0.04, 0.05], [0, 0, 0], True
    turn, start = rng.normal(size=4), [*rng.uniform(-0.5, 0.5, 2), 1.2]
    velocity = [*(0.5 * rng.normal(size=3)), *(4 * rng.normal(size=3))]
    spec.add_key(qpos=[*start, *(turn / np.linalg.norm(turn))], qvel=velocity)
    module = ConvexContact([ConvexPart("solid", solid)], course, friction=0.5)
    sim, least, most, drop = Simulation(spec, [module], step=step), np.inf, 0.0, np.nan
    for _ in range(round(time / step)):
        sim.step()
        module.evaluate_for_channels()
        energy = box_on_stairs._energy(sim)[0] + module.stored()
        least = min(least, energy)
        most = max(most, energy - least)
        if np.isnan(drop) and module.counts["contacts"]:
            drop = 5.0 * 9.81 * (start[2] - sim.data.qpos[2])
    return most / drop


def main() -> None:
    """Counts and behaviour, which no other load on the machine changes."""
    print_bars()
    print_throws()
    for side in (10, 100):
        found = sliding(tiles(side))
        print(f"{side * side} tiles: " + ", ".join(f"{k} {v:.2f}" for k, v in found.items() if k != "cost"))
    for ours in (True, False):
        found = tumble(ours=ours)
        words = f"energy gain {found['energy gain']:.2g} of the first drop, at rest from {found['rest']:.2f} s"
        print(f"{'convex' if ours else 'MuJoCo'}: {words}, at {found['end'].round(3)}, {found['sunk']:.2g} m deep")


if __name__ == "__main__":
    main()
