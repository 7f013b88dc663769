"""Bodies of revolution beside polygonal contact on the same geometry: what a step costs, how many elements it takes.

Each way is given the coarsest of its samplings whose force is within 2 % of the limit (itself found with samplings four
times as fine), as whoever needs that accuracy would. The moving body goes at 5 mm/s in steps of 0.1 ms, so that lists
are made anew in their share. The geometries are those of tests/contact/revolution.
"""

from __future__ import annotations

import time

import numpy as np

from benchmarks.run import Row

WITHIN = 0.02  # of the force
FINENESS = (0.25, 0.5, 1, 2, 3)  # samplings that are tried, of those of the tests
SHARE_BAR = 0.1  # of polygonal contact: ten times cheaper
APART_BAR = 10.0  # [us] a step
STEP, SPEED, STEPS = 1e-4, 0.005, 300  # [s], [m/s]
WAY = np.array([0.6, 0.0, 0.8])  # direction of motion


def measure() -> list[Row]:
    from tests.contact.revolution.geometries import cylinder_in_tube, sphere_in_cone, tool_in_nozzle

    rows: list[Row] = []
    for build in (sphere_in_cone, cylinder_in_tube, tool_in_nozzle):
        rows += compare(build, build.__name__.replace("_", " "))
    return rows


def compare(build, label: str) -> list[Row]:
    fine = build(4)
    limit = force(fine, fine.contact())
    rows, costs = [], []
    for way, make in (("revolution", lambda g: g.contact()), ("polygonal", lambda g: g.polygonal())):
        geometry, module, off = coarsest(build, make, limit)
        costs.append(cost(geometry, module))
        what = f"{label}, {way}, {100 * off:.1f} % off: {elements(module)}"
        rows.append(Row("revolution", what, costs[-1], "us"))
    rows.append(Row("revolution", f"{label}: share of polygonal", costs[0] / costs[1], "1", SHARE_BAR, scales=False))
    same = build(1)
    both = [cost(same, module) for module in (same.contact(), same.polygonal())]
    rows.append(Row("revolution", f"{label}: share of it with the same mesh", both[0] / both[1], "1", scales=False))
    apart = cost(same, same.contact(), same.apart)
    return [*rows, Row("revolution", f"{label}: apart", apart, "us", APART_BAR)]


def force(geometry, module) -> np.ndarray:
    rig = geometry.rig(module, step=STEP)
    return rig.wrench[0, module.bodies.index("moving"), :3]


def coarsest(build, make, limit: np.ndarray):
    """Geometry and module within the bar, and how far off the force is."""
    for times in FINENESS:
        geometry = build(times)
        module = make(geometry)
        off = float(np.linalg.norm(force(geometry, module) - limit) / np.linalg.norm(limit))
        if off <= WITHIN:
            break
    return geometry, module, off


def elements(module) -> str:
    channels = {c.name.split("/")[1]: c for c in module.channels()}
    return f"{len(channels['patch'].read())} elements in {int(channels['polygons'].read()[0, 0])} polygons"


def cost(geometry, module, place=None) -> float:
    """[us] of commit and evaluate: median of steps that keep their list and of those that make one, in their share."""
    rig = geometry.rig(module, place, step=STEP)
    k = module.bodies.index("moving")
    rig.velocity[0, k] = SPEED * WAY
    start = rig.position[0, k] - 0.5 * STEPS * STEP * rig.velocity[0, k]
    costs: tuple[list[float], list[float]] = ([], [])
    for i in range(STEPS):
        rig.position[0, k] = start + i * STEP * rig.velocity[0, k]
        rig.place(rig.position, velocity=rig.velocity)
        before = searches(module)
        begin = time.perf_counter()
        module.commit(STEP)
        module.evaluate(STEP)
        taken = time.perf_counter() - begin
        if i >= STEPS // 10:
            costs[int(searches(module) > before)].append(taken)
    return 1e6 * sum(len(part) * float(np.median(part)) for part in costs if part) / sum(map(len, costs))


def searches(module) -> int:
    return int(module.work()["searches"][0, 0] if hasattr(module, "work") else module.searches()[0, 0])
