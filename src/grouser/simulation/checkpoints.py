"""Checkpoints: the complete state of a simulation between two steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from grouser.engine.parameters import parameters, set_parameters
from grouser.errors import InputError

if TYPE_CHECKING:
    from grouser.simulation.simulation import Simulation


def take(sim: Simulation) -> dict[str, Any]:
    """Complete state between two steps: restoring it continues the run bit for bit."""
    return {
        "time": sim.time,
        "steps": sim.steps,
        "due": list(sim.due),
        "engine": sim.engine.states(),
        "model": parameters(sim.model),
        "frozen": sim.engine.frozen.copy(),
        "stop": sim.stop_reason,
        "finished": sim.finished,
        "ground": copies(sim.ground.state()) if sim.ground else None,
        "modules": [copies(m.state()) for m in sim.modules],
        "outputs": [copies(vars(s.out)) for s in sim.engine.slots],
        "controllers": [copies(c.state()) for c in sim.controllers],
        "sensors": [(sim.sensor_due[name], copies(one.state())) for name, one in sim.sensors.items()],
        "loads": None if sim.loads is None else sim.loads.state(),
        "draws": None if sim.soil_draws is None else [one.bit_generator.state for one in sim.soil_draws[1]],
    }


def restore(sim: Simulation, checkpoint: dict[str, Any]) -> None:
    """Restore a checkpoint of this simulation or of one built the same way. The run continues bit for bit."""
    check(sim, checkpoint)
    sim.stop_reason, sim.finished = checkpoint["stop"], checkpoint.get("finished", False)
    sim.time, sim.steps, sim.due = checkpoint["time"], checkpoint["steps"], list(checkpoint["due"])
    sim.engine.thaw(range(sim.worlds))
    set_parameters(sim.model, checkpoint["model"])
    sim.engine.restore_states(checkpoint["engine"])
    if sim.ground:
        sim.ground.restore(checkpoint["ground"])
    for owner, saved in zip(
        (*(m.state() for m in sim.modules), *(vars(s.out) for s in sim.engine.slots),
         *(c.state() for c in sim.controllers)),
        (*checkpoint["modules"], *checkpoint["outputs"], *checkpoint["controllers"]),
        strict=True,
    ):  # fmt: skip
        for name, array in owner.items():
            assign(array, saved[name])
    for (name, sensor), (due, saved) in zip(sim.sensors.items(), checkpoint.get("sensors", ()), strict=True):
        sim.sensor_due[name] = due
        for key, array in sensor.state().items():
            assign(array, saved[key])
    for generator, state in zip(
        sim.soil_draws[1] if sim.soil_draws else (), checkpoint.get("draws") or (), strict=True
    ):
        generator.bit_generator.state = state
    sim.tile_stamps.clear()
    sim.engine.clear_alarm()
    sim.engine.kinematics()
    sim.controls.take(range(sim.worlds))
    for world in np.flatnonzero(checkpoint["frozen"]):
        sim.engine.freeze(int(world))
    if sim.loads is not None:
        seen = checkpoint.get("loads")
        sim.loads.reset() if seen is None else sim.loads.restore(seen)  # None: taken before `watch_loads`


def check(sim: Simulation, checkpoint: Mapping[str, Any]) -> None:
    """Raise an InputError for a checkpoint of another simulation, before anything is changed."""
    own = {
        "worlds": (sim.worlds, len(checkpoint.get("engine", ()))),
        "modules": (len(sim.modules), len(checkpoint.get("modules", ()))),
        "controllers": (len(sim.controllers), len(checkpoint.get("controllers", ()))),
        "sensors": (len(sim.sensors), len(checkpoint.get("sensors", ()))),
    }
    for what, (mine, there) in own.items():
        if mine != there:
            raise InputError(f"checkpoint: it has {there} {what}; allowed are the {mine} of this simulation")
    mine, there = len(sim.engine.state(0)), len(checkpoint["engine"][0])
    if mine != there:
        raise InputError(f"checkpoint: it is of another model: {there} numbers of state; allowed are {mine}")
    for module, saved in zip(sim.modules, checkpoint["modules"], strict=True):
        for name, array in copies(module.state()).items():
            if name not in saved or saved[name].dtype != array.dtype:
                raise InputError(f"checkpoint: state {name!r} of {module.name} is missing or of another version")


def copies(arrays: dict[str, Any]) -> dict[str, np.ndarray]:
    """Copies of arrays of the host or of a device, as NumPy arrays."""
    return {name: np.array(a.numpy() if hasattr(a, "numpy") else a) for name, a in arrays.items()}


def assign_worlds(array: Any, value: np.ndarray, chosen: Sequence[int], worlds: int) -> None:
    """Copy the chosen worlds of `value` into `array`, whose first axis counts worlds. The tile pool may have grown."""
    host = np.array(array.numpy() if hasattr(array, "numpy") else array)
    if len(host) % worlds:
        return  # shared by all worlds
    here, there = host.reshape(worlds, -1, *host.shape[1:]), value.reshape(worlds, -1, *value.shape[1:])
    if here.shape[1] == 1 and host.ndim > 1:  # (world, …)
        here[chosen, :, : value.shape[1]] = there[chosen]
    else:  # (world x slot, …)
        here[chosen] = there[chosen]
    assign(array, host)


def assign(array: Any, value: np.ndarray) -> None:
    """Write values into an array of the host or of a device."""
    if hasattr(array, "assign"):
        array.assign(value)
    else:
        array[...] = value
