"""Base class of force modules made of kernels. Launches are recorded once and replayed without Python in between."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import warp as wp

from grouser.launches import Launches, Record, StepLaunches
from grouser.precision import Precision


class KernelModule:
    """Base of a force module whose `evaluate` and `commit` consist of kernel launches only (`module.Compiled`).

    A module sets `device` and `precision`, calls `_keep_step` and `_record` in `bind`, and defines `state`. Kernels
    read the step from `_step`, because launches are recorded once and the step may change.
    """

    device: Any
    precision: Precision
    _h: float  # [s] value in `_step`
    _step: wp.array  # [s], (1,)
    _launches: StepLaunches

    def state(self) -> dict[str, wp.array]:
        raise NotImplementedError

    def _keep_step(self, step: float) -> None:
        self._h, self._step = step, wp.array([step], dtype=self.precision.real, device=self.device)

    def _record(self, evaluate: Record, commit: Record) -> None:
        self._launches = StepLaunches(evaluate, commit, self.device)

    def arrays_generation(self) -> int:
        """Changes when arrays of the launches are reallocated; the launches are then recorded again."""
        return 0

    def steps_ahead(self) -> int:
        """Number of steps that can run before arrays must grow."""
        return sys.maxsize

    def change_step(self, h: float) -> None:
        """Set the step [s] that the kernels read."""
        if h != self._h:
            self._h = h
            self._step.fill_(h)

    def launches(self, h: float) -> tuple[Launches, Launches]:
        self.change_step(h)
        return self._launches.recorded(self.arrays_generation())

    def evaluate(self, h: float) -> None:
        self.launches(h)[0].run()

    def commit(self, h: float) -> None:
        self.launches(h)[1].run()

    def reset(self, worlds: Sequence[int]) -> None:
        """Put the state of some worlds back to zero."""
        for array in self.state().values():
            host = array.numpy()
            host[list(worlds)] = 0
            array.assign(host)
