"""Channels of a simulation that can be recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING

import mujoco

from grouser import module as optional
from grouser.engine.frame import Frame
from grouser.engine.host_worlds import HostFrame
from grouser.module import Channel
from grouser.simulation.energy import BodyEnergy

if TYPE_CHECKING:
    from grouser.simulation.simulation import Simulation


def channels(sim: Simulation) -> list[Channel]:
    """All channels that can be recorded: poses, joints, actuators, and those of modules and controllers."""
    m = sim.model
    single = [j for j in range(m.njnt) if m.jnt_type[j] in (2, 3)]  # slide or hinge
    joints, actuators = tuple(m.joint(j).name or f"joint{j}" for j in single), actuator_outputs(m)
    shifts = [module.shifts() for module in sim.modules if isinstance(module, optional.ShiftsBodies)]
    frame = HostFrame(sim.hosts, sim.recorded_bodies, single) if sim.hosts else Frame(
        sim.engine, sim.recorded_bodies, single, shifts
    )  # fmt: skip
    out = [
        Channel(
            "body/pose", "m, 1", (len(sim.recorded_bodies), 7), kind="pose", labels=sim.recorded_bodies,
            source=frame.pose, refresh=frame.refresh,
        ),
        Channel(
            "joint/position", "rad or m", (len(single),), frame="", labels=joints,
            source=frame.position, refresh=frame.refresh,
        ),
        Channel(
            "joint/velocity", "rad/s or m/s", (len(single),), frame="", labels=joints,
            source=frame.speed, refresh=frame.refresh,
        ),
        Channel(
            "actuator/force", "N m or N", (len(actuators),), frame="", labels=actuators,
            source=frame.force, refresh=frame.refresh,
        ),
    ]  # fmt: skip
    energy = [] if sim.ground is None else [BodyEnergy(sim.hosts or sim.engine)]
    for source in (*energy, *sim.modules, *sim.controllers, *sim.sensors.values()):
        out.extend(source.channels())
    out.extend(sim.added_channels)
    return [c for c in out if 0 not in c.shape]


def actuator_outputs(m: mujoco.MjModel) -> tuple[str, ...]:
    """A name for each output force of the actuators. Those of an actuator with several outputs are numbered."""
    names = []
    for a in range(m.nactuator):
        name, count = m.actuator(a).name or f"actuator{a}", m.actuator_outnum[a]
        names += [name] if count == 1 else [f"{name}{k}" for k in range(count)]
    return tuple(names)
