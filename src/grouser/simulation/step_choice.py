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
WALKING_STEP = 2e-3  # [s] the same for a robot with legs: MuJoCo's default; at 5 ms servos and impacts are off by 10 %
LONGEST_STEP = 2e-2  # [s] largest step a user may set
MUJOCO_DEFAULT = 2e-3  # [s] MuJoCo's default for models without a timestep
DIGITS = 2  # significant digits of a chosen step, rounded down


def chosen_step(
    robot: RobotModel, data: mujoco.MjData, surfaces: Mapping[str, Surface], soil: Soil, step: float | None
) -> tuple[float, int]:
    """Choose the step [s] and the number of substeps, short enough that no impact on soil gains energy.

    A step set by the user is divided into substeps. Otherwise the model's own step, at most 5 ms (2 ms for a robot that
    `has_legs`), is shortened. Both are noted.
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
    largest = WALKING_STEP if has_legs(data.model, surfaces) else LARGEST_STEP
    wanted = min(own, largest) if said else largest
    reason = f" (the model has {1e3 * own:g} ms)" if said else ""
    if wanted > limit:
        wanted, reason = (
            rounded_down(limit),
            f": {light!r} is light for its size, and longer steps may throw it into the air",
        )
    robot.notes.append(f"step {1e3 * wanted:g} ms{reason}")
    return wanted, 1


def has_legs(model: mujoco.MjModel, surfaces: Mapping[str, Surface]) -> bool:
    """Whether a body on the soil is no wheel and hangs on a joint: it lands and slides while it carries a robot."""
    for name, surface in surfaces.items():
        body = model.body(name).id
        while body and not surface.rolls:
            joints = model.jnt_type[model.body_jntadr[body] :][: model.body_jntnum[body]]
            if (joints != mujoco.mjtJoint.mjJNT_FREE).any():
                return True
            body = model.body_parentid[body]
    return False


def rounded_down(value: float) -> float:
    unit = 10.0 ** (math.floor(math.log10(value)) - DIGITS + 1)
    return float(f"{math.floor(value / unit) * unit:.{DIGITS}g}")
