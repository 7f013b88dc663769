"""Launcher of the soil stages with one team of lanes per body. Loaded where it is used: a run on a CPU has no teams."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import warp as wp

from grouser.contact.soil import per_team, per_team_evaluation
from grouser.contact.soil.arrays import SoilArrays
from grouser.contact.soil.placement import MOST_PARTS
from grouser.contact.soil.stages import COMMIT, EVALUATE
from grouser.contact.soil.team import CUDA_LANES
from grouser.device import at
from grouser.launches import only_if


class PerTeamLauncher:
    """Launches the kernels of each stage one after another, each over all bodies of all worlds."""

    def __init__(self, dtype: str, replaced: dict[Any, Any], device: Any):
        self._device = device
        self._lanes = 1 if wp.get_device(device).is_cpu else CUDA_LANES
        self._part_needed = wp.zeros(MOST_PARTS, dtype=wp.int32, device=device)  # 1: some body needs this part
        self._at: dict[Any, Any] = {
            kernel: at(kernel, dtype, replaced) for kernel in (*per_team.KERNELS, *per_team_evaluation.KERNELS)
        }
        self._turn_needed: wp.array | None = None

    def commit(self, launch: Any, arrays: SoilArrays, motion: Any, out: Any) -> None:
        """Launch the stages for every turn and part of the step.

        On CUDA launches of turns and parts that no body needs are left out.
        """
        bodies = len(arrays.parts)
        if self._turn_needed is None:
            self._turn_needed = wp.zeros(bodies, dtype=wp.int32, device=self._device)  # 1: some body works in this turn
        run_kernel = self._runner(launch, arrays, motion, out)
        run_kernel(per_team.book)
        run_kernel(per_team.place_bodies, turn=0, part=MOST_PARTS - 1, ahead=1)
        if bodies > 1:
            run_kernel(per_team.take_turns)
        self._run_turns(run_kernel, arrays, 0)
        run_kernel(per_team.judge)

    def _run_turns(self, run_kernel: Callable[..., None], arrays: SoilArrays, turn: int) -> None:
        """Run a turn and the ones after it, each if some body works in it."""
        self._run_parts(run_kernel, arrays, turn, MOST_PARTS - 1)
        if turn + 1 < len(arrays.parts):
            assert self._turn_needed is not None
            needed = self._turn_needed[turn + 1 : turn + 2]
            only_if(needed, lambda: self._run_turns(run_kernel, arrays, turn + 1))

    def _run_parts(self, run_kernel: Callable[..., None], arrays: SoilArrays, turn: int, last: int) -> None:
        """Run the parts of a step up to the `last` one, each if some body needs it."""
        if last > 0:
            needed = self._part_needed[last - 1 : last]
            only_if(needed, lambda: self._run_parts(run_kernel, arrays, turn, last - 1))
        for name in COMMIT[1:]:
            for kernel in self._kernels_of(name, arrays):
                run_kernel(kernel, turn=turn, part=last, ahead=0)

    @staticmethod
    def _kernels_of(stage: str, arrays: SoilArrays) -> Sequence[Any]:
        faces = bool(arrays.first_face[-1])
        return {
            "place": (per_team.place_bodies, per_team.claim_tiles, per_team.prepare_tiles),
            "gather": (per_team.gather,),
            "raster": (per_team.raster_bodies,),
            "displace": (
                *((per_team.cut_soil,) if faces else ()),
                per_team.touch,
                *((per_team.press_points,) if any(small for _, small in arrays.parts) else ()),
                per_team.find_spoil,
                per_team.move_soil,
            ),
            "shear": (per_team.shear,),
            "erode": (per_team.erode,) if arrays.options.sweeps else (),
            "write back": (per_team.write_back,),
            "push": (per_team.move_faces,) if faces else (),
        }[stage]

    def evaluate(self, launch: Any, arrays: SoilArrays, motion: Any, out: Any) -> None:
        run_kernel = self._runner(launch, arrays, motion, out)
        stages = {
            "refresh": (),
            "predict": (per_team_evaluation.predict,),
            "force": (per_team_evaluation.force, per_team_evaluation.sum_up),
        }
        for name in EVALUATE:
            for kernel in stages[name]:
                run_kernel(kernel)

    def _runner(self, launch: Any, arrays: SoilArrays, motion: Any, out: Any) -> Callable[..., None]:
        """Return a function that launches a kernel. It finds the arguments by the kernel's own names."""
        given = {
            **arrays.by_name, "windows": arrays.window, "motion": motion, "status_out": out.status,
            "wrench_out": out.wrench,
            "implicit_out": out.implicit, "effective": out.effective, "part_needed": self._part_needed,
            "turn_needed": self._turn_needed, "lanes": self._lanes,
        }  # fmt: skip
        bodies = len(arrays.parts)

        def run_kernel(kernel: Any, **more: int) -> None:
            labels = [argument.label for argument in kernel.adj.args]
            dim: Any = (arrays.worlds, bodies)
            if kernel in (per_team.take_turns, per_team.claim_tiles):
                dim = arrays.worlds
            elif "lanes" in labels:
                dim = (arrays.worlds, bodies, self._lanes)
            launch(self._at[kernel], dim, [{**given, **more}[label] for label in labels])

        return run_kernel
