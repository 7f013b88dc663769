"""A plain function as a controller."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from grouser.control.memoryless import Memoryless
from grouser.control.user_file import load
from grouser.errors import InputError
from grouser.module import Controller
from grouser.terrain import checks

ControlLaw = Callable[[float, Any], object]  # time [s], MjData


class ControlFunction(Memoryless):
    """Calls `control(time, data)` at its own rate. `time` [s]; `data` is MuJoCo's MjData, of which it sets `ctrl`.

    It may return the controls instead of setting them, one for each actuator. What the function itself remembers is not
    in checkpoints, and a reset does not change it.
    """

    def __init__(self, function: ControlLaw, period: float):
        self.function, self.period = function, period  # [s]

    def act(self, time: float, sensors: Any, command: Any) -> None:
        self._take(self.function(time, sensors), command)

    def _take(self, returned: object, command: Any) -> None:
        """Take what the function returned, if anything, as the controls, (actuator,)."""
        if returned is None or returned is command:
            return
        try:
            values = np.asarray(returned, float)
        except (TypeError, ValueError):
            values = np.zeros((0, 0))
        if values.shape != command.shape or isinstance(returned, bool):
            raise InputError(
                f"controller {name_of(self)}: returned {type(returned).__name__}{_shape(returned)}; allowed are "
                f"nothing, if it sets data.ctrl, or {len(command)} controls"
            )
        command[:] = values


class DrivenFunction(ControlFunction):
    """Calls `control(time, data, wanted)`: `wanted` is the twist a driver asks for, forward, left [m/s], turn [rad/s].

    It has no wheels: a `DriverInput` gives it the curves of a machine with wheels at `driver.LEGS`.
    """

    wheels = None

    def __init__(self, function: Callable[..., object], period: float):
        super().__init__(function, period)
        self.twist = np.zeros((1, 3))
        self._listens = _takes(function, 3)

    def act(self, time: float, sensors: Any, command: Any) -> None:
        if self._listens:
            self._take(self.function(time, sensors, self.twist[0].copy()), command)  # type: ignore[call-arg]
        else:
            self._take(self.function(time, sensors), command)

    def state(self) -> dict[str, Any]:
        return {"twist": self.twist}

    def reset(self, worlds: Any) -> None:
        self.twist[:] = 0.0


def as_controllers(given: Iterable[Controller | ControlLaw] | ControlLaw, step: float) -> list[Controller]:
    """Controllers as they are, and functions as controllers that act in every step [s]. One may stand alone."""
    alone = callable(given) or hasattr(given, "act") or not isinstance(given, Iterable)
    each: list[Any] = [given] if alone else list(given)  # type: ignore[arg-type]
    for one in each:
        if not (hasattr(one, "act") and hasattr(one, "period")) and not _takes_time_and_data(one):
            raise InputError(f"controllers: {one!r} is not allowed; it must be a controller or a function(time, data)")
    found: list[Controller] = [one if hasattr(one, "act") else ControlFunction(one, step) for one in each]
    for one in found:
        if one.period < step * (1 - 1e-9):
            raise InputError(f"controller {name_of(one)}: period {one.period:g} s is below the step {step:g} s")
    return found


def _shape(returned: object) -> str:
    """How many values a function returned, where that can be said."""
    try:
        return f" of shape {np.shape(returned)}"  # type: ignore[arg-type]
    except ValueError:
        return ""


def _takes_time_and_data(function: Any) -> bool:
    return _takes(function, 2)


def _takes(function: Any, count: int) -> bool:
    """Whether a function can be called with `count` arguments."""
    if not callable(function):
        return False
    try:
        inspect.signature(function).bind(*[None] * count)
    except TypeError:
        return False
    except ValueError:  # a built-in that does not tell
        return True
    return True


def name_of(controller: Controller) -> str:
    """Name of a controller in messages: that of its class, or of its function."""
    if isinstance(controller, ControlFunction):
        return getattr(controller.function, "__name__", type(controller.function).__name__)
    return type(controller).__name__


def from_file(file: str | Path, step: float) -> DrivenFunction:
    """The function `control(time, data)` of a Python file, which may set PERIOD [s]; else it acts in every step [s].

    It may take a third argument, the twist a driver wants; without a driver it is zero.
    """
    path = checks.existing_file(file, "controller")
    module = load(path)
    function: Any = getattr(module, "control", None)
    if not (_takes_time_and_data(function) or _takes(function, 3)):
        raise InputError(f"controller {path}: has no function control(time, data)")
    period = checks.number(getattr(module, "PERIOD", step), f"controller {path}: PERIOD", at_least=step * (1 - 1e-9))
    return DrivenFunction(function, period)


def cause(error: Exception) -> str:
    """What a controller raised, in one line, and where in its own file; deeper frames belong to libraries it calls."""
    frames = traceback.extract_tb(error.__traceback__)[1:]
    frames = [frame for frame in frames if frame.filename != __file__]  # which only calls it
    own = [frame for frame in frames if frame.filename == frames[0].filename] if frames else []
    where = f"{own[-1].filename}, line {own[-1].lineno}" if own else "no Python code of its own"
    return f"the controller raised {type(error).__name__}: {' '.join(str(error).split())} ({where})"
