"""Linear against exact depth of polygonal contact: `python benchmarks/polygonal_depth.py [--write]`.

Two domes of tests/contact/polygonal/test_linear.py, their meshes equally fine, pressed together: error of the force
against its closed form, contact polygons, and what an evaluation costs.
"""

from __future__ import annotations

import sys
import time

from page import ROOT, asked_to_write, number, percent, publish, table

sys.path.insert(0, str(ROOT))
ACROSS = (10, 20, 40, 80)
REPEATS = 200
THEORY = ROOT / "docs" / "theory" / "polygonal.md"


def evaluation(rig) -> float:
    """[us] the least of some: what else the machine does only adds."""
    costs = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        rig.module.evaluate(rig.step)
        costs.append(time.perf_counter() - start)
    return 1e6 * min(costs)


def depths() -> str:
    from benchmarks.run import REFERENCE, bare_rover
    from tests.contact.polygonal.test_linear import MODES, TINY, UPPER, dome_error, two_domes

    scale = REFERENCE / bare_rover()
    rows = []
    for across in ACROSS:
        cells = [str(across)]
        rigs = [two_domes(across, TINY * UPPER, mode) for mode in MODES]
        cells.append(str(len(rigs[0].module.patch())))
        for mode, rig in zip(MODES, rigs, strict=True):
            polygons = {c.name: c for c in rig.module.channels()}["polygonal/polygons"].read()[0, 0]
            cells += [str(polygons), percent(dome_error(across, mode), 2), number(scale * evaluation(rig), 0)]
        rows.append(cells)
    head = [f"{mode}: {what}" for mode in MODES for what in ("polygons", "error", "µs")]
    return table(("elements across", "faces in contact", *head), rows)


def main() -> int:
    write = asked_to_write(__doc__, "docs/theory/polygonal.md")
    publish({"polygonal-depth": depths()}, write, THEORY)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
