"""Polygonal contact against its bars: `python benchmarks/polygonal_bars.py [--write]`.

The cases are those of tests/contact/polygonal, with their numbers written down.
"""

from __future__ import annotations

import sys
from functools import partial

import numpy as np
from page import ROOT, asked_to_write, number, percent, publish, table

sys.path.insert(0, str(ROOT))
ACROSS = (10, 20, 40, 80)


def closed_forms() -> str:
    from tests.contact.polygonal.test_closed_forms import cylinder_error, sphere_error
    from tests.contact.polygonal.test_linear import MODES, dome_error

    rows = []
    for name, error in (
        ("sphere", sphere_error), ("cylinder", cylinder_error),
        *((f"two domes, {mode} depth", partial(dome_error, mode=mode)) for mode in MODES),
    ):  # fmt: skip
        errors = np.array([error(n) for n in ACROSS])
        orders = np.log2(errors[:-1] / errors[1:])
        rows.append((name, *(percent(e, 3) for e in errors), number(float(orders.min()), 2)))
    return table(("body", *(f"{n} elements across" for n in ACROSS), "least order"), rows)


def moving() -> str:
    from tests.contact.polygonal import test_motion as m
    from tests.contact.polygonal.test_linear import MODES
    from tests.contact.polygonal.test_smooth import forces

    rows = []
    path, depth, duration, h, _, energy, _ = m.impact_of_two(300, m.SLICK)
    kinetic = 0.5 * m.MASS * m.SPEED**2
    rows.append(("impact of two bodies, 300 steps: energy", percent(energy / kinetic - 1, 3), "1 %"))
    rows.append(("… greatest depth", percent(path[:, 0].max() / depth - 1, 2), "1 %"))
    rows.append(("… duration", percent(h * (path[:, 1] > 0).sum() / duration - 1, 2), "1 %"))
    for steps in (1000, 2000):
        loss, pull = m.implicit_impact(steps)
        rows.append((f"impact on the ground, {steps} steps: energy lost", percent(loss, 2), "1 %"))
        rows.append(("… greatest pull over greatest push", f"{pull:.1e}", ""))
    lost, power = m.damped_impact()
    rows.append(("damped impact: power integral over energy lost", percent(power / lost - 1, 2), "1 %"))
    rows.append(("breakaway over μ_stick N", percent(m.breakaway() / 0.6 - 1, 2), "1 %"))
    rows.append(("stopping distance, step 1 ms", percent(m.stopping() * 2 * 0.3 * m.G - 1, 2), "1 %"))
    rows.append(("creep on 24° in 60 s, step 2 ms", f"{1e3 * m.creep(60.0, 2e-3):.1e} mm", "0.1 mm"))
    for mode in MODES:
        for steps in (201, 801):
            f = forces(steps, mode)
            jump = np.linalg.norm(np.diff(f, axis=0), axis=1).max() / np.linalg.norm(f, axis=1).mean()
            what = f"largest change of force over 1/{(steps - 1) // 2} of a facet, {mode} depth"
            rows.append((what, percent(jump, 3), ""))
    return table(("what", "measured", "bar"), rows)


def main() -> int:
    write = asked_to_write(__doc__)
    publish({"polygonal-forms": closed_forms(), "polygonal-motion": moving()}, write)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
