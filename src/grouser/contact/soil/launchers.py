"""Launchers of the soil stages: one thread per world, or one thread per vertex, triangle or node.

Both run the stages in the order of `stages.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import warp as wp

from grouser.contact.soil import per_node, per_node_displacement, raster
from grouser.contact.soil.arrays import SoilArrays
from grouser.contact.soil.per_world import commit_world, evaluate_world
from grouser.contact.soil.placement import MOST_PARTS
from grouser.contact.soil.stages import COMMIT, EVALUATE
from grouser.contact.soil.surface import Surface
from grouser.device import at
from grouser.launches import only_if


class PerWorldLauncher:
    """Launches one kernel for `commit` and one for `evaluate`, with one thread per world."""

    def __init__(self, dtype: str, replaced: dict[Any, Any], device: Any):
        """`replaced` maps device functions to the ones to call instead, see `pressure.chosen_law`."""
        self._commit, self._evaluate = at(commit_world, dtype, replaced), at(evaluate_world, dtype, replaced)

    def commit(self, launch: Any, arrays: SoilArrays, motion: Any, between: Any, out: Any) -> None:
        launch(self._commit, arrays.worlds, [*arrays.groups, motion, out.effective, out.status])

    def evaluate(self, launch: Any, arrays: SoilArrays, motion: Any, out: Any) -> None:
        launch(self._evaluate, arrays.worlds, [*arrays.groups, motion, out.wrench, out.implicit])


class PerNodeLauncher:
    """Launches the kernels of each stage one after another, each over all worlds."""

    def __init__(self, dtype: str, replaced: dict[Any, Any], device: Any):
        self._needed = wp.zeros(MOST_PARTS, dtype=wp.int32, device=device)  # 1: some world needs this part of the step
        self._at: dict[Any, Any] = {
            kernel: at(kernel, dtype, replaced) for kernel in (*per_node.KERNELS, *per_node_displacement.KERNELS)
        }

    def commit(self, launch: Any, arrays: SoilArrays, motion: Any, between: Any, out: Any) -> None:
        """`between` holds the motion of one body at the end of a part of the step, `placement.motion_in_part`.

        Worlds that need few parts of a step leave out the first ones: their bodies are then far from the soil. On CUDA
        launches of parts that no world needs are left out.
        """
        for body, (surface, small) in enumerate(arrays.parts):
            run_once = self._runner(launch, arrays, motion, out, body)
            run_kernel = self._runner(launch, arrays, between, out, body)
            faces = bool(np.diff(arrays.first_face)[body])
            stages = self._commit_stages(run_kernel, arrays, surface, bool(small), faces)
            move = partial(run_once, per_node.move_to_part, arrays.worlds, between=between)
            rest = [*(stages[name] for name in COMMIT[1:]), partial(run_kernel, per_node.finish, arrays.worlds)]
            run_once(per_node.book, arrays.worlds)
            self._run_parts(move, rest, MOST_PARTS - 1 if len(surface.triangles) else 0)
            run_kernel(per_node.judge, arrays.worlds)

    def _run_parts(self, move: Callable[..., None], stages: Sequence[Callable[[], None]], last: int) -> None:
        """Run the parts of a step up to the `last` one, each if some world needs it."""
        if last > 0:
            only_if(self._needed[last - 1 : last], lambda: self._run_parts(move, stages, last - 1))
        move(part=last)
        for run_stage in stages:
            run_stage()

    def evaluate(self, launch: Any, arrays: SoilArrays, motion: Any, out: Any) -> None:
        for body in range(len(arrays.parts)):
            run_kernel = self._runner(launch, arrays, motion, out, body)
            stages = self._evaluate_stages(run_kernel, arrays)
            for name in EVALUATE:
                stages[name]()

    def _runner(self, launch: Any, arrays: SoilArrays, motion: Any, out: Any, body: int) -> Callable[..., None]:
        """Return a function that launches a kernel for one body. It finds the arguments by the kernel's own names."""
        given = {
            **arrays.by_name, "motion": motion, "body": body, "status_out": out.status, "wrench_out": out.wrench,
            "implicit_out": out.implicit, "effective": out.effective, "needed_out": self._needed,
        }  # fmt: skip

        def run_kernel(kernel: Any, dim: Any, **more: Any) -> None:
            if dim == arrays.worlds or dim[1] > 0:  # a body may have no creases, or only small shapes: nothing to do
                launch(self._at[kernel], dim, [{**given, **more}[arg.label] for arg in kernel.adj.args])

        return run_kernel

    @staticmethod
    def _commit_stages(
        run_kernel: Callable[..., None], arrays: SoilArrays, surface: Surface, small: bool, faces: bool
    ) -> dict[str, Callable[[], None]]:
        worlds, o = arrays.worlds, arrays.options
        nodes, blocks = (worlds, arrays.window.side**2), (worlds, arrays.displacement.blocks**2)
        vertices, triangles = (worlds, len(surface.vertices)), (worlds, len(surface.triangles))

        def place() -> None:
            run_kernel(per_node.begin, worlds)
            run_kernel(per_node.place_vertices, vertices)
            run_kernel(per_node.open_window, worlds)

        def rasterise() -> None:
            run_kernel(per_node.raster_triangles, triangles, mode=raster.HEIGHTS)
            run_kernel(per_node.raster_triangles, triangles, mode=raster.TRIANGLES)
            run_kernel(per_node.mark_creases, (worlds, len(surface.creases)))
            run_kernel(per_node.close_hit, worlds)

        def displace() -> None:
            if faces:
                run_kernel(per_node_displacement.sweep_faces, worlds)
            run_kernel(per_node_displacement.touch_nodes, nodes)
            if small:
                run_kernel(per_node_displacement.press_shapes, worlds)
            if faces:
                run_kernel(per_node_displacement.include_swept, worlds)
            run_kernel(per_node_displacement.mark_borders, nodes)
            if surface.width is None:
                run_kernel(per_node_displacement.measure_patch, worlds)
            if o.spoil:
                run_kernel(per_node_displacement.dig, nodes)
            run_kernel(per_node_displacement.share_sinkage, nodes)
            if o.spoil:
                run_kernel(per_node_displacement.collect_spoil, blocks)
                run_kernel(per_node_displacement.pile_spoil, nodes)
            run_kernel(per_node_displacement.sink_nodes, nodes)

        def shear() -> None:
            if o.node_shear:
                run_kernel(per_node.shear_nodes, nodes)
            elif len(surface.triangles):  # else small shapes only: their points keep the shear
                run_kernel(per_node.shear_vertices, vertices)

        return {
            "place": place,
            "gather": lambda: run_kernel(per_node.gather, nodes),
            "raster": rasterise,
            "displace": displace,
            "shear": shear,
            "erode": lambda: run_kernel(per_node.erode, worlds) if o.sweeps else None,
            "write back": lambda: run_kernel(per_node.scatter, nodes),
            "push": lambda: run_kernel(per_node.move_faces, worlds) if faces else None,
        }

    @staticmethod
    def _evaluate_stages(run_kernel: Callable[..., None], arrays: SoilArrays) -> dict[str, Callable[[], None]]:
        worlds, nodes = arrays.worlds, (arrays.worlds, arrays.window.side**2)

        def push() -> None:
            run_kernel(per_node.force, nodes)
            run_kernel(per_node.sum_up, worlds)

        return {
            "refresh": lambda: run_kernel(per_node.refresh, nodes) if arrays.options.shared_ground else None,
            "predict": lambda: run_kernel(per_node.predict, nodes),
            "force": push,
        }
