"""Contact between bodies of revolution against its bars: `python benchmarks/revolution_bars.py [--write]`.

The cases are those of tests/contact/revolution, with their numbers written down.
"""

from __future__ import annotations

import sys

import numpy as np
from page import ROOT, asked_to_write, number, percent, publish, table

sys.path.insert(0, str(ROOT))
TIMES = (1, 2, 4, 8)


def closed_forms() -> str:
    from tests.contact.revolution.test_closed_forms import active_elements, error_of_sphere

    errors = np.array([np.mean([error_of_sphere(times, turn) for turn in (0.3, 0.7, 1.2)]) for times in TIMES])
    rows = [
        (f"{32 * times}", f"{active_elements(times)}", percent(error, 3), "" if k == 0 else number(order, 2))
        for k, (times, error, order) in enumerate(
            zip(TIMES, errors, [0.0, *np.log2(errors[:-1] / errors[1:])], strict=True)
        )
    ]
    return table(("sectors of the sphere", "elements in contact", "mean error of the force", "order"), rows)


def agreement() -> str:
    from tests.contact.revolution.geometries import cylinder_in_tube, sphere_in_cone, tool_in_nozzle
    from tests.contact.revolution.test_closed_forms import against_polygons, over_limit

    rows = []
    for build, meshes in ((sphere_in_cone, (1, 2, 3)), (cylinder_in_tube, (1, 2)), (tool_in_nozzle, (1, 2, 3))):
        name = build.__name__.replace("_", " ")
        rows.append((name, "its own limit", percent(over_limit(build), 2), "2 %"))
        for times in meshes:
            wrench, mesh = against_polygons(build, times)
            off = float(np.linalg.norm(wrench[:3] - mesh[:3]) / np.linalg.norm(mesh[:3]))
            bar = "2 %" if times == meshes[-1] else ""
            rows.append((name, f"mesh, sections sampled {times} times as fine", percent(off, 2), bar))
    return table(("case", "against", "force off by", "bar"), rows)


def moving() -> str:
    from tests.contact.revolution import test_motion as m
    from tests.contact.revolution.geometries import cylinder_in_tube, sphere_in_cone, tool_in_nozzle
    from tests.contact.revolution.test_in_rigs import pair_sums, swept_forces

    sim, depth, deepest, lasted, duration = m.impact(m.SLICK)
    kinetic = 0.5 * m.MASS * m.SPEED**2
    rows = [
        ("impact of two bodies, 300 steps: energy", percent(m.energy(sim) / kinetic - 1, 3), "1 %"),
        ("… greatest depth", percent(deepest / depth - 1, 2), "1 %"),
        ("… duration", percent(lasted / duration - 1, 2), "1 %"),
    ]
    builds = (sphere_in_cone, cylinder_in_tube, tool_in_nozzle)
    rows.append(("sum of the wrenches of a pair, of the largest", f"{max(map(pair_sums, builds)):.1e}", "1e-12"))
    for build in builds:
        forces = swept_forces(build)
        jump = np.abs(np.diff(forces, 2, axis=0)).max() / np.abs(forces).max()
        name = build.__name__.replace("_", " ")
        rows.append((f"{name}: largest second difference of the force, 1 µm steps", f"{jump:.1e}", "1e-4"))
    return table(("what", "measured", "bar"), rows)


def main() -> int:
    write = asked_to_write(__doc__)
    publish(
        {"revolution-forms": closed_forms(), "revolution-agreement": agreement(), "revolution-motion": moving()}, write
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
