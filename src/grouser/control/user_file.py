"""Load a user's own controller from a Python file."""

from __future__ import annotations

import importlib.util
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from grouser.control.sensors import VehicleSensors
from grouser.errors import InputError, RunStopped
from grouser.module import Channel
from grouser.terrain import checks


class UserController:
    """Calls `control(readings, state)` of a file at its own rate. It returns a torque [N m] for each motor.

    The file may set PERIOD [s]. `readings` is a `Readings`. `state` is the dict of NumPy arrays that the file's
    `start()` returned (empty without `start`); it is saved in checkpoints and restored by a reset.
    """

    def __init__(self, file: str | Path, sensors: VehicleSensors, actuators: Sequence[str], *, period: float = 0.01):
        path = checks.existing_file(file, "controller")
        self.file, self.sensors, self.actuators = path, sensors, tuple(actuators)
        module = load(path)
        self._control = getattr(module, "control", None)
        self._start = getattr(module, "start", dict)
        if not callable(self._control):
            raise InputError(f"controller {path}: has no function control(readings, state)")
        self.period = checks.number(getattr(module, "PERIOD", period), f"controller {path}: PERIOD", above=0.0)
        self.torque = np.zeros((1, len(self.actuators)))
        self.kept = self._begun()
        self._ids: list[int] | None = None

    def _begun(self) -> dict[str, np.ndarray]:
        given = self._start()
        if not isinstance(given, dict):
            raise InputError(
                f"controller {self.file}: start() returned {type(given).__name__}: allowed is a dict of arrays"
            )
        return {str(name): np.array(value, float) for name, value in given.items()}

    def act(self, time: float, sensors: Any, command: Any) -> None:
        if self._ids is None:
            self._ids = [sensors.model.actuator(name).id for name in self.actuators]
        readings = self.sensors.read(time, sensors)
        try:
            self.torque[0] = self._control(readings, self.kept)  # type: ignore[misc]
        except Exception as error:
            reason = f"the controller raised {type(error).__name__}: {error} ({self._where(error)})"
            raise RunStopped(reason, module="controller", body="-", time=time) from error
        command[self._ids] = self.torque[0]

    def _where(self, error: Exception) -> str:
        """The last line of the user's file that was run."""
        frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == str(self.file)]
        return f"{self.file}, line {frames[-1].lineno}" if frames else f"{self.file}: what control() returned"

    def state(self) -> dict[str, Any]:
        kept = {f"user_{name}": value[None] for name, value in self.kept.items()}
        return {"torque": self.torque, **self.sensors.state(), **kept}

    def reset(self, worlds: Sequence[int]) -> None:
        self.torque[:] = 0.0
        self.sensors.reset()
        for name, value in self._begun().items():
            self.kept[name][...] = value

    def channels(self) -> list[Channel]:
        count = len(self.actuators)
        return [Channel("user/torque", "N m", (count,), "", labels=self.actuators, read=self.torque.copy)]


def load(path: Path) -> Any:
    """Load the file as a module. An error in it becomes one line with its position."""
    spec = importlib.util.spec_from_file_location(f"grouser_user_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise InputError(f"controller {path}: allowed is a Python file (.py)")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except SyntaxError as error:
        raise InputError(f"controller {path}:{error.lineno}: {error.msg}") from None
    except Exception as error:
        raise InputError(f"controller {path}: {type(error).__name__}: {error}") from None
    return module
