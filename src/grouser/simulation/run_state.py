"""What a recorded run needs besides a checkpoint to continue as if nothing had happened: ruts recorded, notes made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from grouser.simulation.checkpoints import assign, copies

if TYPE_CHECKING:
    from grouser.simulation.simulation import Simulation


def take(sim: Simulation) -> dict[str, Any]:
    """The checkpoint of the simulation, and the state of its recording and of its notes."""
    return {
        "simulation": sim.checkpoint(),
        "tiles": {str(world): seen for world, seen in sim.tile_stamps.items()},
        "notes": list(sim.notes),
        "said": sim.module_notes.state(),
        "explained": [copies({"status": slot.explained})["status"] for slot in sim.engine.slots],
        "noted_loads": None if sim.loads is None else sim.loads.noted,
    }


def restore(sim: Simulation, saved: Mapping[str, Any]) -> None:
    """Restore what `take` has given, in a simulation built the same way."""
    sim.restore(saved["simulation"])
    sim.tile_stamps.update({int(world): seen for world, seen in saved["tiles"].items()})
    sim.notes[:] = saved["notes"]
    sim.module_notes.restore(saved["said"])
    for slot, status in zip(sim.engine.slots, saved["explained"], strict=True):
        assign(slot.explained, status)
    if sim.loads is not None and saved["noted_loads"] is not None:
        sim.loads.noted = list(saved["noted_loads"])
