"""Shapes that draw a model. They move with the bodies of a recording."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import mujoco
import numpy as np

from grouser import module as optional
from grouser.errors import InputError
from grouser.module import ForceModule, Mesh, RoundSurface, Shape
from grouser.simulation.shapes import geom_mesh

SHOWN_GROUPS = 3  # geoms of groups 0 to 2 are shown, as in MuJoCo's viewer
SAME_PLACE = 1e-3  # [m] difference of bounding boxes within which two meshes count as the same thing
PLANE = 10.0  # [m] half side at which an infinite plane is drawn
SURFACE_COLOUR = (0.30, 0.31, 0.33, 1.0)  # of bodies without geoms, mostly wheels
FIXED_COLOUR = (0.55, 0.45, 0.37, 1.0)  # of fixed pieces, mostly rocks

Meshes = Mapping[str, Mapping[str, np.ndarray]]


def shapes(model: mujoco.MjModel, recorded: Collection[str], surfaces: Meshes, fields: bool = True) -> list[Shape]:
    """Geoms grouped by body and colour, and surfaces of force modules for bodies and pieces without visible geoms.

    With `fields` false, height fields are left out, because the terrain itself is drawn.
    """
    parts: dict[tuple[str, tuple[float, ...]], list[tuple[np.ndarray, np.ndarray]]] = {}
    for g in range(model.ngeom):
        colour = _colour(model, g)
        if model.geom_group[g] >= SHOWN_GROUPS or colour[3] <= 0:
            continue
        if model.geom_type[g] == mujoco.mjtGeom.mjGEOM_HFIELD and not fields:
            continue
        body, rotation, offset = _carrier(model, int(model.geom_bodyid[g]), recorded)
        mesh = _mesh(model, g)
        if body is None or mesh is None:
            continue
        vertices, triangles = _moved(mesh, model.geom_quat[g], model.geom_pos[g])
        parts.setdefault((body, colour), []).append((vertices @ rotation.T + offset, triangles))
    found = [
        Shape(f"{body or 'world'}/{k}", *_joined(meshes), f"body/pose[{body}]" if body else "", colour)  # type: ignore[arg-type]
        for k, ((body, colour), meshes) in enumerate(parts.items())
    ]
    shown = {body for body, _ in parts}
    fixed = [v for (body, _), meshes in parts.items() if not body for v, _ in meshes]
    for name, mesh in surfaces.items():
        v, t = mesh["vertices"], mesh["triangles"]
        if name in recorded:
            if name not in shown:
                found.append(Shape(name, v, t, f"body/pose[{name}]", SURFACE_COLOUR))
        elif not (fixed and _same_place(v, np.vstack(fixed))):
            found.append(Shape(name, v, t, "", FIXED_COLOUR))
    return found


def geometry(modules: Sequence[ForceModule]) -> dict[str, dict[str, np.ndarray]]:
    """Meshes of the bodies of modules, and of their fixed shapes (world axes), for display."""
    parts: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {}
    shown: list[tuple[str, Mesh | RoundSurface]] = []
    for module in modules:
        shown += module.surfaces.items() if isinstance(module, optional.HasSurfaces) else ()
        shown += module.fixed.items() if isinstance(module, optional.HasFixedShapes) else ()
    for name, surface in shown:
        if isinstance(surface, RoundSurface):
            parts.setdefault(surface.body or name, []).append(surface.mesh())
        else:
            parts.setdefault(name, []).append((surface.vertices, surface.triangles))
    out = {}
    for name, meshes in parts.items():
        first = np.cumsum([0] + [len(vertices) for vertices, _ in meshes])
        out[name] = {
            "vertices": np.concatenate([vertices for vertices, _ in meshes]).astype(np.float32),
            "triangles": np.concatenate([t + k for (_, t), k in zip(meshes, first, strict=False)]).astype(np.int32),
        }
    return out


def _colour(model: mujoco.MjModel, g: int) -> tuple[float, ...]:
    """Colour of a geom: that of its material if it has one, as MuJoCo draws it, otherwise its own."""
    material = model.geom_matid[g]
    rgba = model.mat_rgba[material] if material >= 0 else model.geom_rgba[g]
    return tuple(round(float(x), 4) for x in rgba)


def _carrier(model: mujoco.MjModel, body: int, recorded: Collection[str]) -> tuple[str | None, np.ndarray, np.ndarray]:
    """The recorded body to which a body is fixed ("": the world, None: there is none), and its pose in that body."""
    rotation, offset = np.eye(3), np.zeros(3)
    while body and model.body(body).name not in recorded:
        if model.body_jntnum[body] or model.body_mocapid[body] >= 0:
            return None, rotation, offset
        turn = np.zeros(9)
        mujoco.mju_quat2Mat(turn, model.body_quat[body])
        matrix = turn.reshape(3, 3)
        rotation, offset = matrix @ rotation, matrix @ offset + model.body_pos[body]
        body = int(model.body_parentid[body])
    return (model.body(body).name if body else ""), rotation, offset


def _mesh(model: mujoco.MjModel, g: int) -> tuple[np.ndarray, np.ndarray] | None:
    kind = model.geom_type[g]
    if kind == mujoco.mjtGeom.mjGEOM_PLANE:
        x, y = (float(side) or PLANE for side in model.geom_size[g, :2])
        corners = np.array([(-x, -y, 0), (x, -y, 0), (x, y, 0), (-x, y, 0)], float)
        return corners, np.array([(0, 1, 2), (0, 2, 3)], np.int32)
    if kind == mujoco.mjtGeom.mjGEOM_HFIELD:
        return _height_field(model, int(model.geom_dataid[g]))
    try:
        return geom_mesh(model, g)
    except InputError:  # a geom type that is not drawn
        return None


def _height_field(model: mujoco.MjModel, h: int) -> tuple[np.ndarray, np.ndarray]:
    rows, columns = int(model.hfield_nrow[h]), int(model.hfield_ncol[h])
    start = int(model.hfield_adr[h])
    heights = model.hfield_data[start : start + rows * columns].reshape(rows, columns)
    sx, sy, sz, _ = model.hfield_size[h]
    x, y = np.meshgrid(np.linspace(-sx, sx, columns), np.linspace(-sy, sy, rows))
    node = np.arange(rows * columns).reshape(rows, columns)
    a, b, c, d = node[:-1, :-1].ravel(), node[:-1, 1:].ravel(), node[1:, 1:].ravel(), node[1:, :-1].ravel()
    triangles = np.concatenate([np.stack([a, b, c], -1), np.stack([a, c, d], -1)])
    return np.stack([x, y, sz * heights], -1).reshape(-1, 3), triangles.astype(np.int32)


def _moved(mesh: tuple[np.ndarray, np.ndarray], quaternion: np.ndarray, offset: np.ndarray):
    turn = np.zeros(9)
    mujoco.mju_quat2Mat(turn, quaternion)
    return mesh[0] @ turn.reshape(3, 3).T + offset, mesh[1]


def _joined(meshes: list[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    starts = np.cumsum([0, *(len(v) for v, _ in meshes[:-1])])
    vertices = np.vstack([v for v, _ in meshes])
    return vertices, np.vstack([t + start for (_, t), start in zip(meshes, starts, strict=True)])


def _same_place(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two sets of vertices have the same bounding box."""
    return bool(np.abs(a.min(0) - b.min(0)).max() < SAME_PLACE and np.abs(a.max(0) - b.max(0)).max() < SAME_PLACE)
