"""How often the note on the step is right about a body that falls: `python benchmarks/step_notes.py [BODY …]`.

Where the note is silent, the depth at which the body comes to rest shall be within 3 % of that at 0.2 ms; where it
speaks, it shall be off by more than 1 %. All soils, `compression` 0.3 and 1, five heights and three steps.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks import page
from grouser import soil_names
from tests.contact.soil.test_rest import WHEEL, dropped
from tests.simulation.test_steps_of_robots import BALL, LARGE_WHEEL, SHORT_OF_DROPS, SILENT, SOLE, SPEAKS

BODIES = {"wheel": WHEEL, "large-wheel": LARGE_WHEEL, "ball": BALL, "sole": SOLE}
COMPRESSIONS = (0.3, 1.0)
FALLS = (0.02, 0.05, 0.1, 0.3, 0.5)  # [m]
STEPS = (5.0, 2.0, 1.0)  # [ms]


def judge(name: str) -> list[str]:
    """Row of the table: number of drops, and how many are judged wrong either way. Prints these."""
    wrong = {"silent": 0, "told": 0}
    cases = [(soil, chi, fall) for soil in soil_names() for chi in COMPRESSIONS for fall in FALLS]
    for soil, chi, fall in cases:
        fine, _ = dropped(soil, chi, SHORT_OF_DROPS, fall, BODIES[name])
        for step in STEPS:
            depth, sim = dropped(soil, chi, 1e-3 * step, fall, BODIES[name])
            error, spoke = depth / fine - 1, any("inaccurate" in note for note in sim.notes)
            kind = "told" if spoke else "silent"
            if abs(error) <= SPEAKS if spoke else abs(error) >= SILENT:
                wrong[kind] += 1
                case = f"{name}, {soil}, {chi:g}, {1e3 * fall:g} mm, {step:g} ms"
                print(f"{case}: {100 * error:.1f} %, {kind}", flush=True)
    return [name, str(len(cases) * len(STEPS)), *(str(count) for count in wrong.values())]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bodies", nargs="*", default=list(BODIES), help=f"of {', '.join(BODIES)}")
    args = parser.parse_args()
    page.quiet()
    head = ["body", "drops", "silent, off by 3 % and more", "told, off by 1 % and less"]
    page.publish({"step-notes": page.table(head, [judge(name) for name in args.bodies])}, False)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
