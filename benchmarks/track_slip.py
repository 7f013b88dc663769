"""Slip of a bulldozer's tracks at steady pulls, over whole link pitches: with no grousers and with one to three.

    python -m benchmarks.track_slip [--write]

Slip is one less travel over the chain that the sprockets moved, teeth times pitch. `--write` puts the table into
docs/theory/track.md.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from benchmarks.page import ROOT, asked_to_write, percent, publish, table
from grouser.scenarios import tracked_machine as tracked
from grouser.scenarios.tracked_machine import RAMP, SETTLING, SIDES, MachineSettings

PAGE = ROOT / "docs" / "theory" / "track.md"
SPEED = 0.8  # [m/s] of the chains
AWAY, EVERY = 3.75, 2e-3  # [s] driving before: longer than a track lies on the ground; between two values
PITCHES, STARTS = 8, 4  # over which slip is taken, from so many places within the first pitch
PULLS = (0.0, 25e3, 60e3, 100e3)  # [N]
SAND = {"plastic": {"name": "dry-sand"}}


def slip(pull: float = 0.0, **settings: Any) -> float:
    """Slip of the tracks of a bulldozer that is pulled back with `pull` [N]."""
    s = MachineSettings(blade_load=pull, **settings)
    sim = tracked.simulate(s, tracked.ramped([(SETTLING, SPEED, SPEED)]))
    link, sprocket = s.machine.layout.link, s.machine.layout.wheels()[0].sprocket
    assert sprocket is not None
    angle_per_pitch = 2 * 2 * math.pi / sprocket.teeth  # two teeth a pitch
    at = [int(sim.model.joint(f"drive_{side}").qposadr[0]) for side in SIDES]
    sim.step(round((SETTLING + RAMP + AWAY) / s.step))
    pitches, places = [float(sim.data.qpos[at].mean()) / angle_per_pitch], [float(sim.data.qpos[0])]
    while pitches[-1] < pitches[0] + PITCHES + 1:
        sim.step(round(EVERY / s.step))
        pitches.append(float(sim.data.qpos[at].mean()) / angle_per_pitch)
        places.append(float(sim.data.qpos[0]))
    begin = pitches[0] + np.arange(STARTS) / STARTS
    way = np.interp(begin + PITCHES, pitches, places) - np.interp(begin, pitches, places)
    return 1 - float(way.mean()) / (PITCHES * link.pitch)


def main() -> None:
    write = asked_to_write(__doc__, "docs/theory/track.md")
    rows = [
        [name, *(percent(slip(pull, **settings), 2) for pull in PULLS)]
        for name, settings in (
            ("hard ground, no grousers", {"grousers": 0}),
            *((f"hard ground, {n} a shoe", {"grousers": n}) for n in (1, 2, 3)),
            ("dry sand, 1 a shoe", SAND),
        )
    ]
    head = ["pull", *("none" if not pull else f"{pull / 1e3:g} kN" for pull in PULLS)]
    publish({"track-slip": table(head, rows)}, write, PAGE)


if __name__ == "__main__":
    main()
