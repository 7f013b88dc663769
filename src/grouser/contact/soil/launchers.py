"""Launcher of the soil stages with one thread per world; `team_launcher.py` has that with a team of lanes per body."""

from __future__ import annotations

from typing import Any

import warp as wp

from grouser.contact.soil.arrays import SoilArrays
from grouser.contact.soil.body_groups import MOST_BODIES, one_thread, shared_groups, single_bodies
from grouser.contact.soil.per_world import commit_world, evaluate_world, plan_world, take_up_waiting
from grouser.device import at
from grouser.standby import Standby, standby


class PerWorldLauncher:
    """Launches the kernels of per_world.py with one thread per world, or threads that share the bodies of one world."""

    def __init__(self, dtype: str, replaced: dict[Any, Any], device: Any):
        """`replaced` maps device functions to the ones to call instead, see `pressure.chosen_law`."""
        self._device = device
        kernels = (plan_world, commit_world, take_up_waiting, evaluate_world)
        self._plan, self._commit, self._take_up, self._evaluate = (at(one, dtype, replaced) for one in kernels)
        self._alone = one_thread(device)  # made here: nothing is allocated while a graph is recorded
        self.groups: Any = self._alone  # of the last recorded commit: see body_groups.py
        self._shared: Any = None

    def commit(self, launch: Any, arrays: SoilArrays, motion: Any, out: Any) -> None:
        a, workers = arrays, self._workers(arrays)
        self.groups = groups = self._alone if workers is None else self._of_commit(arrays)
        planned = [a.ground, a.options, a.bodies, a.faces, a.pushing, a.placement, a.window, a.slides, motion, groups]
        inputs = [*arrays.groups, motion, out.effective, out.status, groups]
        launch(self._plan, arrays.worlds, planned)
        if workers is None:
            launch(self._commit, arrays.worlds, inputs)
        else:
            workers.launch(launch, self._commit, inputs, groups.count, groups.taken, arrays.options.laps)
            launch(self._take_up, 1, [groups])
            launch(self._commit, 1, inputs)

    def evaluate(self, launch: Any, arrays: SoilArrays, motion: Any, out: Any) -> None:
        workers = self._workers(arrays)
        groups = self._alone if workers is None else single_bodies(self._of_commit(arrays))
        inputs = [*arrays.groups, motion, out.wrench, out.implicit, groups]
        if workers is None:
            launch(self._evaluate, arrays.worlds, inputs)
        else:
            workers.launch(launch, self._evaluate, inputs, groups.count, groups.taken, arrays.options.laps)

    def _of_commit(self, arrays: SoilArrays) -> Any:
        """Groups of bodies in a commit, in whose order evaluations take bodies too."""
        if self._shared is None:
            self._shared = shared_groups(len(arrays.parts))
        return self._shared

    def _workers(self, arrays: SoilArrays) -> Standby | None:
        """The threads that share the bodies of one world; None: there is one thread for each world."""
        shares = arrays.of_all == 1 and 1 < len(arrays.parts) <= MOST_BODIES and wp.get_device(self._device).is_cpu
        return standby() if shares else None
