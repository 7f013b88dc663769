"""The step a robot on soil needs: its model's own, and short enough for the stiff soil under what it rests on."""

from __future__ import annotations

import math
from collections.abc import Mapping

import mujoco
import numpy as np

from grouser.contact.soil import Surface
from grouser.simulation.placement import points_of
from grouser.simulation.robot_file import BroughtRobot
from grouser.terrain.soils import Soil

LARGEST_STEP = 5e-3  # [s]
UNSAID = 2e-3  # [s] MuJoCo's own default, where a model says nothing
FINEST_STEP = 1e-4  # [s] chosen steps are multiples of it
CALM = 1.5  # h sqrt(K_e A / m) at most, half of that at which hard soil throws up a ball that is let go
STANDING = 0.01  # [m] a body this much above the lowest one carries the robot too


def chosen_step(
    robot: BroughtRobot, data: mujoco.MjData, surfaces: Mapping[str, Surface], soil: Soil, step: float | None
) -> float:
    """The step [s] asked for, else 5 ms, or less where the model says so or a body presses lightly on stiff soil."""
    own = robot.spec.option.timestep
    said = bool(robot.spec.authored.option & 1) or own != UNSAID  # the first bit stands for the timestep
    wanted = step if step is not None else min(own, LARGEST_STEP) if said else LARGEST_STEP
    light, limit = calm_step(robot, data, surfaces, soil)
    if step is not None:
        if step > limit:
            robot.notes.append(
                f"step {1e3 * step:g} ms: {light!r} presses lightly and may bounce above {1e3 * limit:.2g} ms"
            )
        return step
    told = f" (the model says {1e3 * own:g} ms)" if said else ""
    if wanted > limit:
        wanted = round(max(FINEST_STEP * math.floor(limit / FINEST_STEP), FINEST_STEP), 7)
        told = f": {light!r} presses lightly and may bounce at longer ones"
    robot.notes.append(f"step {1e3 * wanted:g} ms{told}")
    return wanted


def calm_step(
    robot: BroughtRobot, data: mujoco.MjData, surfaces: Mapping[str, Surface], soil: Soil
) -> tuple[str, float]:
    """The body that needs the shortest step and that step [s]: h sqrt(K_e A / m) = CALM.

    Those that stand lowest share the weight; A is the footprint each needs for its share.
    """
    model, g = data.model, float(np.linalg.norm(robot.spec.option.gravity))
    points = points_of(data, surfaces)
    lowest = min(p[:, 2].min() for p in points.values())
    standing = [name for name, p in points.items() if p[:, 2].min() < lowest + STANDING]
    roots = {int(model.body_rootid[model.body(name).id]) for name in standing}
    mass = sum(float(model.body_subtreemass[root]) for root in roots) / len(standing)
    limits = dict.fromkeys(standing, math.inf)
    for name in standing:
        area = footprint(points[name], surfaces[name], soil, mass * g)
        if area > 0 and mass > 0:
            limits[name] = CALM * math.sqrt(mass / (soil.elastic_stiffness * area))
    light = min(limits, key=lambda name: limits[name])
    return light, limits[light]


def footprint(points: np.ndarray, surface: Surface, soil: Soil, load: float) -> float:
    """Area [m^2] on which a body at rest carries `load` [N] by Bekker's law; `points` are its vertices as it stands."""
    a, b, c = points[surface.triangles].transpose(1, 0, 2)
    area = -np.cross(b - a, c - a)[:, 2] / 2  # seen from below
    height = (a + b + c)[:, 2] / 3 - points[:, 2].min()
    height, area = height[area > 0], area[area > 0]
    modulus = soil.pressure_modulus(surface.width or float(np.ptp(surface.vertices, axis=0).min()) or 1.0)
    low, high = 0.0, float(np.ptp(points[:, 2])) or 1.0
    for _ in range(40):  # bisection: a micrometre of a body a kilometre high
        depth = (low + high) / 2
        carried = modulus * (np.maximum(depth - height, 0.0) ** soil.n * area).sum()
        low, high = (depth, high) if carried < load else (low, depth)
    return float(area[height < high].sum())
