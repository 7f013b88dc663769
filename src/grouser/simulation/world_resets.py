"""Resets of some worlds of a simulation on the CPU. The others stay as they are."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from grouser import module as optional
from grouser.errors import InputError
from grouser.resets import world_mask
from grouser.simulation import step as stepping
from grouser.simulation.checkpoints import assign_worlds, copies

if TYPE_CHECKING:
    from grouser.simulation.simulation import Simulation


def to_start(sim: Simulation, chosen: list[int], start: dict[str, Any]) -> None:
    sim.failure_counts[chosen] += sim.engine.frozen[chosen]
    sim.engine.thaw(chosen)
    for world in chosen:
        sim.engine.begin_at(world, start["engine"][world])
    sim.controls.take(chosen)
    arrays = [*(m.state() for m in sim.modules), *(vars(s.out) for s in sim.engine.slots)]
    saved = [*start["modules"], *start["outputs"]]
    if sim.ground:
        arrays, saved = [*arrays, sim.ground.state()], [*saved, start["ground"]]
    for own, values in zip(arrays, saved, strict=True):
        for name, array in own.items():
            assign_worlds(array, values[name], chosen, sim.worlds)
    sim.engine.clear_alarm()
    sim.engine.kinematics(chosen)


def to_model(sim: Simulation, chosen: list[int]) -> None:
    others = [w for w in range(sim.worlds) if w not in chosen]
    sim.failure_counts[chosen] += sim.engine.frozen[chosen]
    sim.draw_for(chosen)
    sim.engine.reset(chosen)
    for module in sim.modules:
        module.reset(chosen)
    sim.engine.clear_outputs(chosen)
    sim.engine.clear_alarm()
    sim.controls.take(chosen)
    if not others:
        stepping.settle(sim)
    elif chosen:
        settle_some(sim, chosen, others)


def settle_some(sim: Simulation, chosen: list[int], others: list[int]) -> None:
    """Kinematics and commit of the chosen worlds. The others stay as they are."""
    sim.engine.kinematics(chosen)
    mask = world_mask(chosen, sim.worlds, "cpu")
    for module, slot in zip(sim.modules, sim.engine.slots, strict=True):
        if isinstance(module, optional.CommitsWorlds):
            module.commit_worlds(sim.engine.step, mask)
            continue
        changed = [module.state(), vars(slot.out), *([sim.ground.state()] if sim.ground else [])]
        kept = [copies(arrays) for arrays in changed]
        module.commit(sim.engine.step)
        changed = [module.state(), vars(slot.out), *([sim.ground.state()] if sim.ground else [])]
        for arrays, saved in zip(changed, kept, strict=True):
            for name, array in arrays.items():
                assign_worlds(array, saved[name], others, sim.worlds)


def checked_worlds(sim: Simulation, worlds: Any) -> list[int]:
    """Check world numbers or a mask. Returns each number once."""
    given = np.asarray(worlds.numpy() if hasattr(worlds, "numpy") else worlds)
    if given.dtype == bool and given.shape == (sim.worlds,):
        return np.flatnonzero(given).tolist()
    known = range(sim.worlds)
    if given.dtype == bool or not isinstance(worlds, Iterable) or any(world not in known for world in worlds):
        raise InputError(f"worlds: {worlds!r}: allowed are some of 0 to {sim.worlds - 1}, such as [0]")
    return [int(world) for world in dict.fromkeys(worlds)]
