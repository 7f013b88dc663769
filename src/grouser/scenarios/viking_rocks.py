"""A rover of the ExoMars class drives through the rocks of Viking I on hard ground: Krenn et al. 2008, Fig. 9-11.

All contact is polygonal (Krenn et al. 2008, section 2.1), as in the paper: wheels with rocks and with level ground. The
paper gives the number densities of the rocks and the speed. Shapes and burial of the rocks (terrain/rocks.py), the
rover (robots/exomars.py) and the layer and friction of the wheels are assumed.
"""

from __future__ import annotations

from typing import Any

from grouser.contact.polygonal import Pair, hard_ground
from grouser.robots import exomars
from grouser.scenarios import rocky_ground as rocky
from grouser.scenarios.rock_crossings import crossing
from grouser.scenarios.rocky_ground import PAPER, RockyDrive
from grouser.scenarios.rover_course import BODIES
from grouser.scenarios.scenario import scenario_of
from grouser.simulation import Simulation
from grouser.terrain.generators import flat
from grouser.terrain.rock_bodies import add_rocks

STEP = 5e-3  # [s]
BEYOND = 1.0  # [m] margin of ground around the rocks


class VikingRocks(RockyDrive):
    """Settings of `viking-rocks`."""


def build(s: VikingRocks) -> Simulation:
    p, field = s.parameters, rocky.field_of(s)
    size, corner = s.rectangle
    level = flat(
        size=(size[0] + 2 * BEYOND, size[1] + 2 * BEYOND), spacing=1.0, origin=(corner[0] - BEYOND, corner[1] - BEYOND)
    )
    fixed = {
        "rocks": rocky.rock_shape(s, field),
        "ground": hard_ground(level, rocky.rigid_layer(s.tread)),
    }
    pairs = [rocky.rock_pair(wheel) for wheel in BODIES] + [Pair(wheel, "ground") for wheel in BODIES]
    module = rocky.RockContact(dict.fromkeys(BODIES, rocky.wheel_shape(p, s.tread)), fixed, pairs)
    spec = exomars.build(p, gravity=s.gravity)
    add_rocks(spec, field)
    sim = Simulation(spec, [module], controllers=rocky.controllers(s), step=s.step or STEP)
    rocky.add_channels(sim, module, field, p.mass * s.gravity)
    return sim


def metrics(s: VikingRocks) -> list[dict[str, Any]]:
    if s.rocks.law != "viking-1":
        return rocky.shared_metrics()
    return rocky.shared_metrics(crossing(s, rocky.field_of(s), f"{PAPER}, section 3: it drives through the rocks"))


def figures(s: VikingRocks) -> list[dict[str, Any]]:
    return rocky.shared_figures(rocky.rock_outlines(s, rocky.field_of(s)))


SCENARIO = scenario_of(
    __name__, VikingRocks, duration=rocky.duration, rate=rocky.RATE,
    summary="a six-wheel rover drives through the rocks of Viking I on hard ground: torque of its motors",
    source=f"{PAPER}, Table 1, section 3, Fig. 9-11",
    measure=lambda s, recording: rocky.shared_measures(recording),
)  # fmt: skip
