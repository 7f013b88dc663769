"""Find the floor of a user's model, replace it by soil, and add a hard floor for bodies that are not on soil."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import mujoco
import numpy as np

from grouser.simulation.robot_file import RobotModel
from grouser.terrain.elevation import ElevationGrid
from grouser.terrain.generators import flat
from grouser.terrain.gridding import square_cells
from grouser.terrain.ground import TILE
from grouser.terrain.ground_inputs import MOST_TILES

SIZE = 100.0  # [m] side of the default ground
COARSE = 10.0  # [m] distance between its nodes; it is level
TABLES = MOST_TILES // 4  # tiles in the tables of all worlds together, above which the default ground is smaller
UPWARD = 0.8  # least z of the unit normal of a plane that counts as a floor, not a wall
LEVEL = 0.999  # the same for the top of a box
AGREES = 1e-6  # [m] deviation up to which heights count as a plane
BESIDE = 0.01  # [m] largest height of a floor above the lowest point of the robot
COPIED = ("friction", "condim", "contype", "conaffinity", "priority", "solmix", "solref", "solimp", "margin", "gap")
_PLANE, _HFIELD, _BOX = (getattr(mujoco.mjtGeom, f"mjGEOM_{kind}") for kind in ("PLANE", "HFIELD", "BOX"))


def floors(spec: mujoco.MjSpec, model: mujoco.MjModel, data: mujoco.MjData, points: np.ndarray) -> list[Any]:
    """Geoms of `spec` that are ground: upward planes and height fields, or else boxes below all `points` [m].

    `model` is compiled from `spec`; `data` is its start.
    """
    fixed = [g for g in spec.geoms if model.body_weldid[model.geom_bodyid[g.id]] == 0 and _meets(spec, g)]
    found = [
        g
        for g in fixed
        if g.type == _HFIELD or (g.type == _PLANE and data.geom_xmat[g.id].reshape(3, 3)[2, 2] > UPWARD)
    ]
    return found or [g for g in fixed if g.type == _BOX and _carries(model, data, g.id, points)]


def _meets(spec: mujoco.MjSpec, geom: Any) -> bool:
    """Whether a geom can collide with anything."""
    paired = geom.name and any(geom.name in (pair.geomname1, pair.geomname2) for pair in spec.pairs)
    return bool(geom.contype or geom.conaffinity or paired)


def _carries(model: mujoco.MjModel, data: mujoco.MjData, box: int, points: np.ndarray) -> bool:
    """Whether a level box lies below all points and extends beyond them."""
    turn, size = data.geom_xmat[box].reshape(3, 3), model.geom_size[box]
    inside = np.abs((points - data.geom_xpos[box]) @ turn)[:, :2] <= size[:2]
    top = data.geom_xpos[box][2] + size[2]
    return bool(abs(turn[2, 2]) > LEVEL and inside.all() and top <= points[:, 2].min() + BESIDE)


def side_for(worlds: int, spacing: float) -> float:
    """Side [m] of the default ground: `SIZE`, or less for so many worlds that their tables of tiles would fill memory.

    `spacing` [m]: that of the soil's nodes.
    """
    return min(SIZE, math.floor(math.sqrt(TABLES / worlds)) * TILE * spacing)


def ground_of(
    model: mujoco.MjModel, data: mujoco.MjData, found: Sequence[Any], centre: np.ndarray, notes: list[str],
    side: float = SIZE,
) -> ElevationGrid:  # fmt: skip
    """Elevation grid of the model's own ground under the robot: its height field, its highest plane, or z = 0.

    A plane and z = 0 have a `side` [m].
    """
    for geom in found:
        if geom.type == _HFIELD and np.allclose(data.geom_xmat[geom.id].reshape(3, 3), np.eye(3)):
            notes.append(f"the model's height field {geom.hfieldname!r} is the terrain")
            return _field_terrain(model, data, geom.id)
    corner = (float(np.round(centre[0] - side / 2, 3)), float(np.round(centre[1] - side / 2, 3)))
    coarse = COARSE * side / SIZE
    ground = flat(size=(side, side), spacing=coarse, origin=corner)
    if side < SIZE:
        notes.append(f"the ground is {side:.3g} m x {side:.3g} m for so many worlds; give a terrain for a larger one")
    x, y = np.meshgrid(ground.x, ground.y)
    levels = [_plane_heights(model, data, geom, x, y) for geom in found if geom.type != _HFIELD]
    if not levels:
        return ground
    near = np.argmin((x - centre[0]) ** 2 + (y - centre[1]) ** 2)
    return ElevationGrid(max(levels, key=lambda z: z.flat[near]), coarse, corner)


def _field_terrain(model: mujoco.MjModel, data: mujoco.MjData, geom: int) -> ElevationGrid:
    field = int(model.geom_dataid[geom])
    rows, columns, start = (int(a[field]) for a in (model.hfield_nrow, model.hfield_ncol, model.hfield_adr))
    half_x, half_y, height, _ = model.hfield_size[field]
    heights = height * model.hfield_data[start : start + rows * columns].reshape(rows, columns).astype(float)
    step_x, step_y = 2 * half_x / (columns - 1), 2 * half_y / (rows - 1)
    heights, spacing = square_cells(model.geom(geom).name or "hfield", heights, step_x, step_y, min(step_x, step_y))
    x, y, z = data.geom_xpos[geom]
    return ElevationGrid(z + heights, spacing, (x - half_x, y - half_y))


def _plane_heights(model: mujoco.MjModel, data: mujoco.MjData, geom: Any, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    normal, at = data.geom_xmat[geom.id].reshape(3, 3)[:, 2], data.geom_xpos[geom.id].copy()
    if geom.type == _BOX:
        at[2] += model.geom_size[geom.id][2]
        normal = np.array([0.0, 0.0, 1.0])
    return at[2] - (normal[0] * (x - at[0]) + normal[1] * (y - at[1])) / normal[2]


# ---- handing over -----------------------------------------------------------------------------------


def replace_floors(
    robot: RobotModel, model: mujoco.MjModel, found: Sequence[Any], bodies: Sequence[str], terrain: ElevationGrid
) -> None:
    """Replace floors by soil under `bodies`. Other bodies get the undeformed ground as a hard floor."""
    spec = robot.spec
    others = [name for name in _that_collide(spec, model) if name not in bodies]
    if not found:
        if others:
            robot.notes.append(
                f"these bodies touch no ground: {', '.join(others)}; add them to `bodies` if they should"
            )
        return
    names = ", ".join(repr(g.name or mujoco.mjtGeom(g.type).name[7:].lower()) for g in found)
    note = f"floor {names} of the model was replaced by the soil"
    hard = _hard_ground(spec, found[0], terrain, bodies) if others else None
    for pair in list(spec.pairs):
        ends = [spec.geom(name) for name in (pair.geomname1, pair.geomname2)]
        floor = [k for k, g in enumerate(ends) if any(g is f or g.name == f.name != "" for f in found)]
        if not floor:
            continue
        if hard is None or ends[1 - floor[0]].parent.name in bodies:
            spec.delete(pair)
        else:
            setattr(pair, f"geomname{floor[0] + 1}", hard)
    for geom in found:
        geom.contype, geom.conaffinity, geom.group = 0, 0, 5  # kept without collisions, because sensors may refer to it
    if others:
        note += f"; {', '.join(others)} touch the undisturbed ground as a hard floor"
    robot.notes.append(note)


def _that_collide(spec: mujoco.MjSpec, model: mujoco.MjModel) -> list[str]:
    """Moving bodies with a geom that collides or is part of a contact pair."""
    solid = (model.geom_contype | model.geom_conaffinity) != 0
    for pair in spec.pairs:
        solid[[model.geom(pair.geomname1).id, model.geom(pair.geomname2).id]] = True
    owners = dict.fromkeys(int(b) for b in model.geom_bodyid[solid] if model.body_weldid[b] != 0)
    return [model.body(b).name for b in owners]


def _hard_ground(spec: mujoco.MjSpec, like: Any, terrain: ElevationGrid, bodies: Sequence[str]) -> str:
    """Add a body with the shape of the terrain that does not collide with soil bodies. Returns its geom's name."""
    taken = {g.name for g in spec.geoms} | {b.name for b in spec.bodies}
    name = next(n for n in ("ground", *(f"ground{k}" for k in range(2, 1000))) if n not in taken)
    geom = spec.worldbody.add_body(name=name).add_geom(name=name, group=5)
    for attribute in COPIED:
        setattr(geom, attribute, getattr(like, attribute))
    heights, (x0, x1, y0, y1) = terrain.heights, terrain.bounds
    middle = np.array([(x0 + x1) / 2, (y0 + y1) / 2, 0.0])
    plane = _plane_of(terrain)
    if plane is not None:
        normal, middle[2] = plane
        geom.type, geom.size, geom.pos = _PLANE, [0, 0, 1], middle
        turn = np.zeros(4)
        mujoco.mju_quatZ2Vec(turn, normal)
        geom.quat = turn
    else:
        low, span = heights.min(), max(float(np.ptp(heights)), 1e-6)
        middle[2] = low
        field = spec.add_hfield(name=name, nrow=heights.shape[0], ncol=heights.shape[1])
        field.size = [(x1 - x0) / 2, (y1 - y0) / 2, span, 1.0]
        field.userdata = ((heights - low) / span).ravel().astype(np.float32)
        geom.type, geom.hfieldname, geom.pos = _HFIELD, name, middle
    for body in bodies:
        spec.add_exclude(bodyname1=name, bodyname2=body)
    return name


def _plane_of(terrain: ElevationGrid) -> tuple[np.ndarray, float] | None:
    """Normal and height [m] at the middle of the terrain if it is a plane, otherwise None."""
    x, y = np.meshgrid(terrain.x - terrain.x.mean(), terrain.y - terrain.y.mean())
    terms = np.column_stack([x.ravel(), y.ravel(), np.ones(x.size)])
    slopes, *_ = np.linalg.lstsq(terms, terrain.heights.ravel(), rcond=None)
    if np.abs(terms @ slopes - terrain.heights.ravel()).max() > AGREES:
        return None
    normal = np.array([-slopes[0], -slopes[1], 1.0])
    return normal / np.linalg.norm(normal), float(slopes[2])
