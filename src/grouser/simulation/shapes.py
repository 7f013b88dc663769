"""Surfaces of MuJoCo bodies: their geoms as one triangle mesh in the body's frame."""

from __future__ import annotations

import mujoco
import numpy as np

from grouser.contact.soil.surface import Surface, disc, prepare, wheel
from grouser.errors import InputError

ROUND = 48  # sides of round shapes


def body_surface(model: mujoco.MjModel, name: str) -> Surface:
    """All solid geoms of a body (visual-only ones are left out where solid ones exist)."""
    body = model.body(name).id
    start, count = model.body_geomadr[body], model.body_geomnum[body]
    geoms = [g for g in range(start, start + count) if model.geom_type[g] != mujoco.mjtGeom.mjGEOM_PLANE]
    solid = [g for g in geoms if model.geom_contype[g] or model.geom_conaffinity[g]] or geoms
    if not solid:
        raise InputError(f"body {name!r}: it has no shape; give it a geom or a mesh")
    round_wheel = _as_wheel(model, solid, name)
    if round_wheel is not None:
        return round_wheel
    vertices, triangles, total = [], [], 0
    for g in solid:
        v, t = geom_mesh(model, g)
        rotation = np.zeros(9)
        mujoco.mju_quat2Mat(rotation, model.geom_quat[g])
        vertices.append(v @ rotation.reshape(3, 3).T + model.geom_pos[g])
        triangles.append(t + total)
        total += len(v)
    return prepare(np.vstack(vertices), np.vstack(triangles), name=name)


def _as_wheel(model: mujoco.MjModel, geoms: list[int], name: str) -> Surface | None:
    """A single cylinder about the body's y axis at its origin is a wheel, with its width for k_c / b."""
    if len(geoms) != 1 or model.geom_type[geoms[0]] != mujoco.mjtGeom.mjGEOM_CYLINDER:
        return None
    g = geoms[0]
    axis = np.zeros(3)
    mujoco.mju_rotVecQuat(axis, np.array([0.0, 0.0, 1.0]), model.geom_quat[g])
    if abs(abs(axis[1]) - 1) > 1e-6 or np.linalg.norm(model.geom_pos[g]) > 1e-6:
        return None
    return wheel(float(model.geom_size[g, 0]), 2 * float(model.geom_size[g, 1]), name=name)


def geom_mesh(model: mujoco.MjModel, g: int) -> tuple[np.ndarray, np.ndarray]:
    """Vertices [m] and triangles of one geom in its own frame."""
    size, kind, enum = model.geom_size[g], model.geom_type[g], mujoco.mjtGeom
    if kind == enum.mjGEOM_MESH:
        mesh = model.geom_dataid[g]
        v0, vn = model.mesh_vertadr[mesh], model.mesh_vertnum[mesh]
        f0, fn = model.mesh_faceadr[mesh], model.mesh_facenum[mesh]
        return model.mesh_vert[v0 : v0 + vn].astype(float), model.mesh_face[f0 : f0 + fn].astype(np.int32)
    if kind == enum.mjGEOM_BOX:
        return box(size)
    if kind == enum.mjGEOM_SPHERE:
        return revolved(*_arc(size[0], 0.0))
    if kind == enum.mjGEOM_ELLIPSOID:
        v, t = revolved(*_arc(1.0, 0.0))
        return v * size, t
    if kind == enum.mjGEOM_CAPSULE:
        return revolved(*_arc(size[0], size[1]))
    if kind == enum.mjGEOM_CYLINDER:
        return cylinder(size[0], size[1])
    raise InputError(f"geom {model.geom(g).name or g!r}: a {enum(kind).name[7:].lower()} cannot be a soil body")


def box(half: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A box of half sizes [m]."""
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * half
    faces = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    return corners, np.array([t for a, b, c, d in faces for t in ((a, b, c), (a, c, d))], np.int32)


def cylinder(radius: float, half_length: float) -> tuple[np.ndarray, np.ndarray]:
    """A cylinder about z [m], its two faces as discs."""
    flat, faces = disc(radius, ROUND)
    low = np.column_stack([flat, np.full(len(flat), -half_length)])
    high = np.column_stack([flat, np.full(len(flat), half_length)])
    n = len(flat)
    here, ahead = np.arange(ROUND), (np.arange(ROUND) + 1) % ROUND
    side = np.concatenate([np.stack([here, ahead, ahead + n], -1), np.stack([here, ahead + n, here + n], -1)])
    return np.vstack([low, high]), np.concatenate([faces[:, ::-1], faces + n, side]).astype(np.int32)


def _arc(radius: float, half_length: float) -> tuple[np.ndarray, np.ndarray]:
    """Profile (r, z) [m] of a sphere pulled apart by half_length: a capsule."""
    angle = np.linspace(-np.pi / 2, np.pi / 2, ROUND // 2 + 2 - ROUND % 2)
    z = radius * np.sin(angle) + np.where(angle < 0, -half_length, half_length)
    return radius * np.cos(angle), z


def revolved(r: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A closed profile turned about z; its first and last points lie on the axis."""
    angle = 2 * np.pi * np.arange(ROUND) / ROUND
    rings = [
        np.column_stack([a * np.cos(angle), a * np.sin(angle), np.full(ROUND, b)])
        for a, b in zip(r[1:-1], z[1:-1], strict=True)
    ]
    vertices = np.vstack([*rings, [[0, 0, z[0]], [0, 0, z[-1]]]])
    here, ahead = np.arange(ROUND), (np.arange(ROUND) + 1) % ROUND
    faces = []
    for k in range(len(rings) - 1):
        a, b = k * ROUND, (k + 1) * ROUND
        faces += [np.stack([here + a, ahead + a, ahead + b], -1), np.stack([here + a, ahead + b, here + b], -1)]
    south, north, last = len(vertices) - 2, len(vertices) - 1, (len(rings) - 1) * ROUND
    faces += [np.stack([np.full(ROUND, south), ahead, here], -1)]
    faces += [np.stack([np.full(ROUND, north), here + last, ahead + last], -1)]
    return vertices, np.concatenate(faces).astype(np.int32)
