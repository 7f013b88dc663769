"""Longest step at which no impact on soil gains energy.

The plastic force F(z) of the soil is explicit: it belongs to the depth z at the start of a step. A body that arrives
with speed v is h v deep before the soil pushes at all, and the next step changes its speed by h F(h v) / m. A change of
more than v reverses the motion; more than 2 v throws the body up faster than it came. So h F(z) / m must stay below
v = z / h, with a margin:

    h^2 F(z) / (z m) <= CALM^2    for SLOWEST h <= z <= the depth of the fastest impact.

m is the effective mass at the lowest point of the body, 1 / (J M^-1 J^T). A foot in the air is light, whatever it
carries later. F is Bekker's force, for every orientation in which the body can land.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import mujoco
import numpy as np

from grouser.contact.soil import Surface
from grouser.errors import InputError
from grouser.terrain.soils import Soil

CALM = 0.75  # factor on the step of the rule above: spheres gain energy from 1.0 on, flat bodies from 1.5 (measured)
FASTEST = 10.0  # [m/s] fastest impact considered, a fall of 5 m on Earth
SLOWEST = 0.2  # [m/s] slowest impact considered; slower ones stay in the elastic range of the soil, which is implicit
DEPTHS = np.geomspace(1e-5, 1.0, 64)  # [m]
EDGES = np.concatenate([[0.0], DEPTHS])[:-1]  # [m] heights above the lowest point that separate the bins of faces
ALL_ROUND, FACES = 26, 16  # landing directions checked: evenly spread ones, and normals of the largest faces
EVEN = 1e-3  # [m] points at most this far above the lowest one touch together with it
STANDING = 0.01  # [m] bodies at most this far above the lowest one land together with it
SINGULAR = 1e-12  # smallest eigenvalue of the inertia matrix whose diagonal is scaled to 1
LEANING = 0.7  # sine of the largest lean of a wheel: it does not land on its side


class Skin:
    """Faces of a surface, prepared for landing in any orientation."""

    def __init__(self, surface: Surface):
        corners = surface.vertices[surface.triangles]
        self.vertices, self.width = surface.vertices, surface.width
        self.areas = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]) / 2  # [m^2], (face, 3)
        self.middles = corners.mean(axis=1)  # [m], (face, 3)


@dataclass(frozen=True)
class Landing:
    """A body that lands in one orientation: force of the soil and effective mass of the body."""

    force: np.ndarray  # [N], (depth,) Bekker's force at DEPTHS
    lightness: float  # [1/kg] 1 / m, with m of the rule above
    push: np.ndarray  # (6,) unit force at the lowest point as a wrench about the body's origin, body axes

    def rates(self, mass: float) -> np.ndarray:
        """F / (z m) [1/s^2], (depth,) down to the depth at which an impact of `mass` [kg] ends."""
        return self.force / DEPTHS * self.lightness * reached(self.force, mass)


def reached(force: np.ndarray, mass: float) -> np.ndarray:
    """Whether a `mass` [kg] that lands at speed FASTEST reaches each of DEPTHS, (depth,) bool."""
    work = np.cumsum((force[1:] + force[:-1]) / 2 * np.diff(DEPTHS))
    return np.concatenate([[0.0, 0.0], work[:-1]]) <= mass * FASTEST**2 / 2


def longest_step(rates: np.ndarray) -> float:
    """Step h [s] at which the largest h^2 F / (z m) equals CALM^2. `rates`: F / (z m) [1/s^2], (…, depth)."""
    worst = rates.reshape(-1, len(DEPTHS)).max(axis=0)
    with np.errstate(divide="ignore"):
        calm = CALM / np.sqrt(worst)
    counts = calm < DEPTHS / SLOWEST  # otherwise only impacts slower than SLOWEST are this deep after a step
    return float(calm[counts].min(initial=np.inf))


def inertia_matrix(model: mujoco.MjModel, data: mujoco.MjData) -> np.ndarray:
    """Inertia matrix, (dof, dof). Raises an InputError if joints can move together without moving any mass."""
    full = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, full)
    size = np.sqrt(np.diag(full))
    if not model.nv or not size.all():  # MuJoCo itself refuses a joint that moves nothing
        return full
    values, vectors = np.linalg.eigh(full / size / size[:, None])
    if values[0] < SINGULAR:
        share = np.abs(vectors[:, 0])
        moving = dict.fromkeys(int(model.dof_jntid[dof]) for dof in np.flatnonzero(share > 0.1 * share.max()))
        names = ", ".join(repr(model.joint(joint).name or f"joint {joint}") for joint in moving)
        raise InputError(f"{names}: they can move against each other without moving any mass: leave one of them out")
    return full


def stable_step(
    model: mujoco.MjModel, data: mujoco.MjData, surfaces: Mapping[str, Surface], soil: Soil
) -> tuple[str, float]:
    """The body that needs the shortest step, and that step [s]. `data`: start of the robot, after `mj_forward`."""
    full = inertia_matrix(model, data)
    limits: dict[str, float] = {}
    standing: list[tuple[str, float, np.ndarray, np.ndarray]] = []
    for name, surface in surfaces.items():
        body = model.body(name).id
        jacobian = body_jacobian(model, data, body)
        mobility = jacobian @ np.linalg.solve(full, jacobian.T) if model.nv else np.zeros((6, 6))
        mass = float(model.body_subtreemass[model.body_rootid[body]])
        down = -data.xmat[body].reshape(3, 3)[2]
        skin = Skin(surface)
        candidates = directions(skin, axle(model, body) if surface.width else None)
        landings = [land(skin, soil, direction, mobility) for direction in (down, *candidates)]
        limits[name] = longest_step(np.array([landing.rates(mass) for landing in landings]))
        lowest = float(data.xpos[body, 2] - (surface.vertices @ down).max())
        standing.append((name, lowest, landings[0].force, jacobian.T @ landings[0].push))
    lowest = min(each[1] for each in standing)
    together = [each for each in standing if each[1] < lowest + STANDING]
    light = min(limits, key=lambda name: limits[name])
    if len(together) > 1 and model.nv:
        force, push = np.array([each[2] for each in together]), np.array([each[3] for each in together])
        at_once = longest_step(landing_together(force, push @ np.linalg.solve(full, push.T), model))
        if at_once < limits[light]:
            return together[0][0], at_once
    return light, limits[light]


def landing_together(force: np.ndarray, mobility: np.ndarray, model: mujoco.MjModel) -> np.ndarray:
    """F / (z m) [1/s^2], (depth,) of bodies that land at once: largest eigenvalue of M^-1 sum F/z J^T J.

    `force`: [N], (body, depth); `mobility`: [1/kg], (body, body) J M^-1 J^T.
    """
    roots = np.sqrt(force / DEPTHS).T  # (depth, body)
    rates = np.linalg.eigvalsh(roots[:, :, None] * mobility * roots[:, None, :])[:, -1]
    return rates * reached(force.sum(axis=0), float(model.body_mass.sum()))


def land(skin: Skin, soil: Soil, direction: np.ndarray, mobility: np.ndarray) -> Landing:
    """Landing of a body with `direction` (body axes) pointing down. `mobility`: (6, 6) J M^-1 J^T, body axes."""
    heights = skin.vertices @ direction
    low = skin.vertices[heights > heights.max() - EVEN]
    pushes = np.hstack([np.broadcast_to(-direction, low.shape), np.cross(low, -direction)])
    lightness = ((pushes @ mobility) * pushes).sum(axis=1)
    lightest = int(lightness.argmax())
    return Landing(bekker_force(skin, soil, direction), float(lightness[lightest]), pushes[lightest])


def bekker_force(skin: Skin, soil: Soil, direction: np.ndarray) -> np.ndarray:
    """Force [N], (depth,) on a body pushed in by DEPTHS along `direction` (body axes): p(z) summed over its surface."""
    area = skin.areas @ direction
    height = (skin.vertices @ direction).max() - skin.middles @ direction
    looks_down = area > 0
    bins = np.searchsorted(EDGES, height[looks_down], side="right") - 1  # a face counts at the lower edge
    areas = np.bincount(np.maximum(bins, 0), area[looks_down], len(EDGES))
    depth = np.maximum(DEPTHS[:, None] - EDGES, 0.0)
    return np.minimum(modulus(skin, soil, areas)[:, None] * depth**soil.n, soil.elastic_stiffness * depth) @ areas


def modulus(skin: Skin, soil: Soil, areas: np.ndarray) -> np.ndarray:
    """Modulus k_c/b + k_phi [N/m^(n+2)], (depth,). b is the surface's width, or 2 area / perimeter of a round patch."""
    width = np.full(len(areas), skin.width) if skin.width else np.sqrt(np.cumsum(areas) / np.pi)
    return soil.k_c / np.maximum(width, DEPTHS[0]) + soil.k_phi


def directions(skin: Skin, axle: np.ndarray | None) -> np.ndarray:
    """Directions that may point down at landing, (direction, 3), body axes.

    With an `axle` (a wheel), directions that lean more than LEANING are left out.
    """
    k = np.arange(ALL_ROUND) + 0.5
    z, turn = 1 - 2 * k / ALL_ROUND, np.pi * (1 + 5**0.5) * k  # a spiral from pole to pole
    around = np.sqrt(1 - z * z)
    spread = np.column_stack([around * np.cos(turn), around * np.sin(turn), z])
    sizes = np.linalg.norm(skin.areas, axis=1)
    rounded = np.round(100 * skin.areas / sizes[:, None]).astype(int) + 100
    codes, first, which = np.unique(rounded @ (1, 1000, 1000000), return_index=True, return_inverse=True)
    largest = np.argsort(-np.bincount(which, sizes, len(codes)))[:FACES]
    faces = skin.areas[first[largest]] / sizes[first[largest], None]
    out = np.vstack([spread, faces])
    return out if axle is None else out[np.abs(out @ axle) <= LEANING]


def axle(model: mujoco.MjModel, body: int) -> np.ndarray | None:
    """Axis of a body's hinge in body axes, or None if that hinge is not its only joint."""
    joint = model.body_jntadr[body]
    hinged = model.body_jntnum[body] == 1 and model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_HINGE
    return model.jnt_axis[joint] if hinged else None


def body_jacobian(model: mujoco.MjModel, data: mujoco.MjData, body: int) -> np.ndarray:
    """Jacobian (6, nv) of the velocity of a body's origin and its angular velocity, body axes."""
    linear, angular = np.zeros((3, model.nv)), np.zeros((3, model.nv))
    mujoco.mj_jacBody(model, data, linear, angular, body)
    axes = data.xmat[body].reshape(3, 3).T
    return np.vstack([axes @ linear, axes @ angular])
