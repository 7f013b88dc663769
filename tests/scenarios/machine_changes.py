"""Changes of a machine that no setting makes. Each takes the build function of a scenario and its settings.

What the scenario declares stays as it was: it describes the right machine.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import sys
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any
from unittest import mock

from grouser.scenarios import rocks_and_sand, tracked_machine, traverse_rocks, vivi_course, wheel_walker_stairs
from grouser.simulation import Simulation
from grouser.terrain.ground import Ground

Build = Callable[[Any], Simulation]
EXTRA = 0.02  # of the mass of the body that carries the load
STIFF = 100.0  # times the declared pressure of the soil
WEAK = 0.9  # of the declared strength of the ground
STEEP = 36.0  # [degree] slope on which soil stands; declared are 28
ASIDE = 0.06  # [m] of the idlers, out of the line of the rollers; three times the flange's play


def undeclared_load(build: Build, s: Any) -> Simulation:
    """The first body that moves is heavier than declared."""
    sim = build(s)
    sim.model.body_mass[1] *= 1 + EXTRA
    return sim


def much_lighter(build: Build, s: Any) -> Simulation:
    """The machine has a tenth of its declared mass."""
    sim = build(s)
    sim.model.body_mass[:] /= 10
    sim.model.body_inertia[:] /= 10
    return sim


def single_precision(build: Build, s: Any) -> Simulation:
    """Computed in float32."""
    if "dtype" in type(s).model_fields:
        return build(s.model_copy(update={"dtype": "float32"}))
    with ExitStack() as stack:
        for module in (sys.modules[build.__module__], tracked_machine):
            for kind in (Simulation, Ground):
                if hasattr(module, kind.__name__):
                    single = functools.partial(kind, dtype="float32")
                    stack.enter_context(mock.patch.object(module, kind.__name__, single))
        return build(s)


def bent_idlers(build: Build, s: Any) -> Simulation:
    """The idlers stand beside the line of the rollers."""
    sim = build(s)
    for k in range(sim.model.nbody):
        if sim.model.body(k).name.startswith("front"):
            sim.model.body_pos[k, 1] += ASIDE
    return sim


def exchanged_controllers(build: Build, s: Any) -> Simulation:
    """The vehicle named cdta has the proportional controller, and the other way round."""
    make, other = vivi_course._controller, {"cdta": "proportional", "proportional": "cdta"}
    with mock.patch.object(vivi_course, "_controller", lambda kind, *rest: make(other[kind], *rest)):
        return build(s)


def exchanged_wheels(build: Build, s: Any) -> Simulation:
    """The robot has the wheels of the one beside it, and the other way round."""
    make = wheel_walker_stairs.robot_parts

    def parts(p: Any, prefix: str = "") -> Any:
        return make(dataclasses.replace(p, sides=s.robot.sides if prefix else s.compare_sides), prefix)

    with mock.patch.object(wheel_walker_stairs, "robot_parts", parts):
        return build(s)


def rocks_without_contact(build: Build, s: Any) -> Simulation:
    """Wheels go through the rocks: each is paired with one that is out of reach."""
    make = rocks_and_sand.rock_contact

    def apart(s: Any, field: Any) -> Any:
        far = dataclasses.replace(field.rocks[-1], position=field.rocks[-1].position - [0.0, 0.0, 10.0])
        return make(s, dataclasses.replace(field, rocks=(far,)))

    with mock.patch.object(rocks_and_sand, "rock_contact", apart):
        return build(s)


def traverse_rocks_without_contact(build: Build, s: Any) -> Simulation:
    """Wheels go through the rocks: those that they meet lie far below."""
    make = traverse_rocks.rock_contact

    def apart(rocks: Any, s: Any) -> Any:
        return make((dataclasses.replace(rocks[0], position=rocks[0].position - [0.0, 0.0, 10.0]),), s)

    with mock.patch.object(traverse_rocks, "rock_contact", apart):
        return build(s)


def hard_sand(build: Build, s: Any) -> Simulation:
    """The soil is much stiffer than declared."""
    soil = s.soil.resolve()
    stiff = s.soil.model_copy(update={"k_phi": STIFF * soil.k_phi, "k_c": STIFF * soil.k_c})
    return build(s.model_copy(update={"soil": stiff}))


def weaker_ground(build: Build, s: Any) -> Simulation:
    """The ground under the shoes has less strength than declared."""
    tangent = WEAK * math.tan(math.radians(s.soil.friction_angle_deg))
    weak = {"cohesion": WEAK * s.soil.cohesion, "friction_angle_deg": math.degrees(math.atan(tangent))}
    return build(s.model_copy(update={"soil": s.soil.model_copy(update=weak)}))


def steeper_soil(build: Build, s: Any) -> Simulation:
    """The soil stands on slopes steeper than declared."""
    steep = s.plastic.model_copy(update={"repose_angle_deg": STEEP})
    return build(s.model_copy(update={"plastic": steep}))
