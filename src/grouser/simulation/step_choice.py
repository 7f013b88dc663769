"""Choice of the step of a robot on soil, and of the number of substeps."""

from __future__ import annotations

import math
from collections.abc import Mapping

import mujoco

from grouser.contact.soil import Surface
from grouser.errors import InputError
from grouser.simulation.impacts import stable_step
from grouser.simulation.robot_file import RobotModel
from grouser.terrain.soils import Soil

LARGEST_STEP = 5e-3  # [s] largest step chosen by default
LONGEST_STEP = 2e-2  # [s] largest step a user may set
MUJOCO_DEFAULT = 2e-3  # [s] MuJoCo's default for models without a timestep
DIGITS = 2  # significant digits of a chosen step, rounded down


def chosen_step(
    robot: RobotModel, data: mujoco.MjData, surfaces: Mapping[str, Surface], soil: Soil, step: float | None
) -> tuple[float, int]:
    """Choose the step [s] and the number of substeps, short enough that no impact on soil gains energy.

    A step set by the user is divided into substeps. Otherwise the model's own step, at most 5 ms, is shortened. Both
    are noted.
    """
    if step is not None and not 0 < step <= LONGEST_STEP:
        raise InputError(f"step: {step:g} s is not allowed; it must be above 0 and at most {LONGEST_STEP:g} s on soil")
    own = robot.spec.option.timestep
    said = bool(robot.spec.authored.option & 1) or own != MUJOCO_DEFAULT  # the first bit: the file sets the timestep
    light, limit = stable_step(data.model, data, surfaces, soil)
    if step is not None:
        parts = math.ceil(step / limit * (1 - 1e-9))
        if parts > 1:
            robot.notes.append(
                f"step {1e3 * step:g} ms, in {parts} parts of {1e3 * step / parts:.3g} ms: "
                f"{light!r} is light for its size, and longer steps may throw it into the air"
            )
        return step, parts
    wanted = min(own, LARGEST_STEP) if said else LARGEST_STEP
    reason = f" (the model has {1e3 * own:g} ms)" if said else ""
    if wanted > limit:
        wanted, reason = (
            rounded_down(limit),
            f": {light!r} is light for its size, and longer steps may throw it into the air",
        )
    robot.notes.append(f"step {1e3 * wanted:g} ms{reason}")
    return wanted, 1


def rounded_down(value: float) -> float:
    unit = 10.0 ** (math.floor(math.log10(value)) - DIGITS + 1)
    return float(f"{math.floor(value / unit) * unit:.{DIGITS}g}")
