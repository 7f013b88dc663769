"""Why worlds on a device have stopped, in words: what kernels have stored in `Health`, and status codes of modules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import warp as wp

from grouser.engine import mujoco_warp_kernels as kernels
from grouser.errors import RunStopped
from grouser.module import ForceModule, Outputs

if TYPE_CHECKING:
    from grouser.engine.mujoco_warp import MujocoWarp

Note = Callable[[str, str, str, float], None]  # gets module, body, line and time [s]


@dataclass
class WorldSlot:
    """A module with its rows and outputs in the engine."""

    module: ForceModule
    rows: list[int]
    row_array: wp.array
    out: Outputs
    seen: wp.array  # (world, row) status code that the host has not read yet
    explained: wp.array  # (world, row) status that has been reported and is not fatal: it raises no alarm again
    fatal: wp.array  # (code,) 1 for a status with which a world cannot go on: the device stops it


def fatal_codes(module: ForceModule) -> list[int]:
    """(code,) 1 for each status of a module with which a world cannot go on.

    A module says by `fatal_codes` below which number they are; without it the host finds them, some steps later.
    """
    return [int(code > 0 and module.explain(code)[1]) for code in range(getattr(module, "fatal_codes", 1))]


def new_faults(engine: MujocoWarp, time: float, note: Note) -> list[tuple[int, RunStopped]]:
    """Worlds that cannot continue and are not reported yet, with the reason. Reads from the device.

    `note` gets each status of a module that is not fatal. `time` [s]: of the simulation.
    """
    h = engine.health
    alarm, kinds, steps = h.alarm.numpy(), h.kind.numpy(), h.steps.numpy()
    module, place, size = h.module.numpy(), h.place.numpy(), h.size.numpy()
    stops: dict[int, RunStopped] = {}
    for k in np.flatnonzero((alarm == kernels.DIVERGED) & (kinds != 0)):
        name, body, reason = _explain(engine, kinds[k], module[k], int(place[k]), float(size[k]))
        stops[int(k)] = RunStopped(reason, module=name, body=body, time=float(steps[k] * engine.step))
    for slot in engine.slots:
        _explain_statuses(slot, time, note, stops)
    return sorted(stops.items())


def _explain(engine: MujocoWarp, kind: int, module: int, place: int, size: float) -> tuple[str, str, str]:
    """Module, body and reason of a fault."""
    if kind == kernels.WRENCH_FAULT:
        owner = engine.slots[module].module
        return owner.name, owner.bodies[place], "the wrench is not finite"
    if kind == kernels.STATUS_FAULT:
        owner = engine.slots[module].module
        return owner.name, owner.bodies[place], owner.explain(int(size))[0]
    if kind == kernels.CONTROL_FAULT:
        return "mujoco", "-", f"control {place} is {size}; allowed are finite numbers"
    if kind == kernels.CAPACITY_FAULT:
        full = ", ".join(bit.name for bit in engine.mjw.OverflowType if bit.value & place and bit.name)
        room = f"{engine.contacts} contacts and {engine.constraints} rows of constraints"
        return "mujoco", "-", f"a world has room for {room}, which is not enough ({full}): set it larger"
    return "mujoco", engine.model.body(engine.model.dof_bodyid[place]).name, "the motion diverged"


def _explain_statuses(slot: WorldSlot, time: float, note: Note, stops: dict[int, RunStopped]) -> None:
    """Note the new status codes of a module, and add worlds with a fatal one to `stops`."""
    seen, name, bodies = slot.seen.numpy(), slot.module.name, slot.module.bodies
    if not seen.any():
        return
    explained = slot.explained.numpy().copy()
    for row, code in _rows_and_codes(seen):
        worlds, (reason, fatal) = np.flatnonzero(seen[:, row] == code), slot.module.explain(code)
        if fatal:
            stop = RunStopped(reason, module=name, body=bodies[row], time=time)
            stops.update({int(world): stop for world in worlds if int(world) not in stops})
            continue
        explained[worlds, row] = code
        for line in reason.splitlines():
            note(name, bodies[row], line, time)
    slot.explained.assign(explained)
    slot.seen.zero_()


def _rows_and_codes(seen: np.ndarray) -> list[tuple[int, int]]:
    """Pairs of a row and a status code that some world has; `seen`: (world, row) codes, 0 for none."""
    return [(row, int(code)) for row in range(seen.shape[1]) for code in np.unique(seen[:, row]) if code]
