"""Static equilibrium of a machine on tracks before time 0: it begins at rest on its shoes.

Kinetic damping, as in dynamic relaxation (Barnes 1999): the machine moves freely, and when its kinetic energy has
passed a peak all velocities are set to zero. At a peak the forces are in balance along the motion, so that every swing
starts nearer to the equilibrium. Soil is not pressed more than the weight needs: a swing ends where it would begin to.
"""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

from grouser.errors import RunStopped
from grouser.simulation import Simulation
from grouser.track import TrackModule

LOOK = 2  # steps between two looks at the kinetic energy
SMALL = 1e-5  # peak of the kinetic energy over the largest one, below which the machine rests
LONGEST = 3.0  # [s] after which it is taken as it is, with a note


def set_to_rest(sim: Simulation) -> None:
    """Bring machine and chains to rest with their controls as they are. `sim` then is at time 0; `reset` goes there."""
    started, notes = sim.checkpoint(), list(sim.notes)
    controllers, sim.controllers = sim.controllers, []
    due, sim.due = sim.due, []
    tracks: Any = next(module for module in sim.modules if isinstance(module, TrackModule))
    try:
        rests = _swing(sim, tracks)
    except RunStopped as stop:
        sim.controllers, sim.due = controllers, due
        sim.restore(started)
        sim.notes[:] = [*notes, f"not set to rest: {stop}; the machine starts as it was built"]
        return
    sim.controllers, sim.due = controllers, due
    for module in sim.modules:
        if not isinstance(module, TrackModule) and "time" in module.state():
            module.reset(range(sim.worlds))  # loads that count their time
    sim.start_here()
    sim.forget_module_notes()
    if not rests:
        sim.notes.append(f"not at rest after {LONGEST:g} s of setting down: the machine starts as it then was")


def _swing(sim: Simulation, tracks: Any) -> bool:
    """Let the machine swing until its kinetic energy stays small, then stand still. Returns whether it does."""
    largest, last = 0.0, 0.0
    while sim.time < LONGEST:
        sim.step(LOOK)
        now = _kinetic(sim, tracks)
        if now >= last:
            last = now
            continue
        _stop(sim, tracks)
        if last < SMALL * largest:
            return True
        largest, last = max(largest, last), 0.0
    return False


def _kinetic(sim: Simulation, tracks: Any) -> float:
    """Kinetic energy [J] of the machine and its links, which turn with the mean of their moments of inertia."""
    mujoco.mj_energyVel(sim.model, sim.data)
    total = float(sim.data.energy[1])
    for k, track in enumerate(tracks.tracks):
        at, state = tracks.links_of(k), tracks._committed
        speed, turning = (
            float((getattr(state, n).numpy()[0, at] ** 2).sum()) for n in ("velocity", "angular_velocity")
        )
        total += 0.5 * (track.link.mass * speed + float(np.mean(track.link.inertia)) * turning)
    return total


def _stop(sim: Simulation, tracks: Any) -> None:
    """Set all velocities to zero."""
    sim.data.qvel[:] = 0.0
    for state in (tracks._committed, tracks._trial):
        for name in ("velocity", "angular_velocity", "wheel_rate"):
            getattr(state, name).numpy()[...] = 0
    sim.engine.kinematics()
