"""Surfaces of MuJoCo bodies: all geoms of a body as one triangle mesh in the body's frame."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace

import mujoco
import numpy as np

from grouser.contact.soil.surface import Surface, disc, face_normals, prepare, wheel
from grouser.errors import InputError

SAG = 1e-4  # [m] largest distance of the flat sides from a round shape; sinkage is measured at the lowest vertex
ROUND = (24, 96)  # smallest and largest number of sides of round shapes
EDGE = 0.025  # [m] longest edge along the axis of a round shape
LARGEST_SKIN = 100.0  # [m^2] largest area of a body: in triangles of 3 cm it takes half a minute to prepare
CLOSE = 20.0  # [diameters] largest gap between small shapes of a body that count as one sole
AXLE = 1e-6  # [1, m] tolerance for an axle to match the axis of its wheel: URDF writes 1.5708 for a right angle

Mesh = tuple[np.ndarray, np.ndarray]  # vertices [m], (vertex, 3), and triangles, (triangle, 3)


def body_surface(model: mujoco.MjModel, name: str, merge: Merge | None = None) -> Surface:
    """Surface of all geoms of a body. Visual-only geoms are left out if the body has others.

    `merge`: replace small geoms that lie close together by their convex hull.
    """
    body = model.body(name).id
    start, count = model.body_geomadr[body], model.body_geomnum[body]
    geoms = [g for g in range(start, start + count) if model.geom_type[g] != mujoco.mjtGeom.mjGEOM_PLANE]
    solid = [g for g in geoms if model.geom_contype[g] or model.geom_conaffinity[g]] or geoms
    if not solid:
        raise InputError(f"body {name!r}: it has no shape; give it a geom or a mesh")
    round_wheel = _as_wheel(model, solid, name)
    if round_wheel is not None:
        return round_wheel
    meshes = [placed_mesh(model, g) for g in solid]
    if merge is not None:
        meshes = merged(meshes, name, merge)
    first = np.cumsum([0] + [len(v) for v, _ in meshes])
    skin = np.vstack([v for v, _ in meshes]), np.vstack([t + k for (_, t), k in zip(meshes, first, strict=False)])
    area = float(np.linalg.norm(face_normals(*skin), axis=1).sum() / 2)
    if area > LARGEST_SKIN:
        raise InputError(
            f"body {name!r} has {area:.3g} m^2 of surface: allowed are {LARGEST_SKIN:g} m^2; choose fewer bodies or "
            "give it "
            "a simpler shape"
        )
    return prepare(*skin, name=name)


def placed_mesh(model: mujoco.MjModel, g: int) -> Mesh:
    """Vertices [m] and triangles of one geom in its body's frame."""
    vertices, triangles = geom_mesh(model, g)
    rotation = np.zeros(9)
    mujoco.mju_quat2Mat(rotation, model.geom_quat[g])
    return vertices @ rotation.reshape(3, 3).T + model.geom_pos[g], triangles


# ---- small shapes that lie close together ----------------------------------------------------------------


@dataclass(frozen=True)
class Merge:
    """How small shapes are merged, and the list for notes about it."""

    small: float  # [m] largest size of a shape that counts as small
    up: np.ndarray  # (3,) vertical direction in the body's frame
    notes: list[str]


def merged(meshes: list[Mesh], name: str, merge: Merge) -> list[Mesh]:
    """Replace small shapes with gaps of up to CLOSE diameters by their convex hull, which represents the sole.

    A foot is often modelled as a few small balls, which is enough on a hard floor. On soil each ball would sink by
    itself.
    """
    size = np.array([np.ptp(v, axis=0).max() for v, _ in meshes])
    small = np.flatnonzero(size <= merge.small)
    group = {int(k): int(k) for k in small}
    for a, b in itertools.combinations(small.tolist(), 2):
        if _gap(meshes[a][0], meshes[b][0]) <= CLOSE * min(size[a], size[b]):
            old, new = group[b], group[a]
            group = {k: new if g == old else g for k, g in group.items()}
    out = [mesh for k, mesh in enumerate(meshes) if k not in group]
    for one in dict.fromkeys(group.values()):
        members = [k for k, g in group.items() if g == one]
        if len(members) == 1:
            out.append(meshes[one])
            continue
        sole = hull(np.vstack([meshes[k][0] for k in members]))
        area = float(np.abs(face_normals(*sole) @ merge.up).sum() / 4)  # each vertical line crosses a convex hull twice
        merge.notes.append(
            f"body {name!r}: {len(members)} small shapes ({1e3 * size[members].max():.3g} mm) are replaced by their "
            "hull, "
            f"{1e4 * area:.3g} cm^2 seen from above (merge_small_shapes = false keeps them apart)"
        )
        out.append(sole)
    return out


def _gap(one: np.ndarray, other: np.ndarray) -> float:
    """Gap [m] between the bounding boxes of two shapes."""
    apart = np.maximum(one.min(axis=0) - other.max(axis=0), other.min(axis=0) - one.max(axis=0))
    return float(np.linalg.norm(np.maximum(apart, 0.0)))


def hull(points: np.ndarray) -> Mesh:
    """Convex hull of points [m] with triangles counter-clockwise seen from outside."""
    from scipy.spatial import ConvexHull

    made = ConvexHull(points)
    used, triangles = np.unique(made.simplices, return_inverse=True)
    triangles = triangles.reshape(-1, 3).astype(np.int32)
    inward = np.einsum("ti,ti->t", face_normals(points[used], triangles), made.equations[:, :3]) < 0
    triangles[inward] = triangles[inward, ::-1]
    return points[used], triangles


# ---- one geom ---------------------------------------------------------------------------------------------


def _as_wheel(model: mujoco.MjModel, geoms: list[int], name: str) -> Surface | None:
    """Surface of a wheel, with its width for k_c / b, if the only geom is a cylinder about the body's hinge axis.

    A body without a hinge counts as a wheel if the cylinder lies at its origin with its axis along y.
    """
    if len(geoms) != 1 or model.geom_type[geoms[0]] != mujoco.mjtGeom.mjGEOM_CYLINDER:
        return None
    g = geoms[0]
    axis = np.zeros(3)
    mujoco.mju_rotVecQuat(axis, np.array([0.0, 0.0, 1.0]), model.geom_quat[g])
    body = model.geom_bodyid[g]
    joints = range(model.body_jntadr[body], model.body_jntadr[body] + model.body_jntnum[body])
    hinges = [model.jnt_axis[j] for j in joints if model.jnt_type[j] == mujoco.mjtJoint.mjJNT_HINGE]
    axles = hinges or ([np.array([0.0, 1.0, 0.0])] if np.linalg.norm(model.geom_pos[g]) < AXLE else [])
    if not any(abs(abs(axle @ axis) - 1) < AXLE for axle in axles):
        return None
    rolling = wheel(float(model.geom_size[g, 0]), 2 * float(model.geom_size[g, 1]), name=name)
    return placed(rolling, _turn(np.array([0.0, 1.0, 0.0]), axis), model.geom_pos[g])


def placed(surface: Surface, rotation: np.ndarray, offset: np.ndarray) -> Surface:
    """The surface rotated by a matrix (3, 3) and moved by `offset` [m] in its body's frame."""

    def moved(spheres: np.ndarray) -> np.ndarray:
        return np.column_stack([spheres[:, :3] @ rotation.T + offset, spheres[:, 3]])

    cones = np.column_stack([surface.triangle_cones[:, :3] @ rotation.T, surface.triangle_cones[:, 3]])
    return replace(
        surface, vertices=surface.vertices @ rotation.T + offset, normals=surface.normals @ rotation.T,
        vertex_spheres=moved(surface.vertex_spheres), triangle_spheres=moved(surface.triangle_spheres),
        triangle_cones=cones,
    )  # fmt: skip


def _turn(start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Smallest rotation from one axis onto the other. The sign of an axis does not matter."""
    end = end if start @ end >= 0 else -end
    axis = np.cross(start, end)
    quat, matrix = np.zeros(4), np.zeros(9)
    sine = np.linalg.norm(axis)
    mujoco.mju_axisAngle2Quat(quat, axis / sine if sine > 0 else start, np.arctan2(sine, start @ end))
    mujoco.mju_quat2Mat(matrix, quat)
    return matrix.reshape(3, 3)


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
        v, t = revolved(*_arc(size.max(), 0.0))
        return v * size / size.max(), t
    if kind == enum.mjGEOM_CAPSULE:
        return revolved(*_arc(size[0], size[1]))
    if kind == enum.mjGEOM_CYLINDER:
        return cylinder(size[0], size[1])
    raise InputError(f"geom {model.geom(g).name or g!r}: a {enum(kind).name[7:].lower()} cannot be a soil body")


def box(half: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mesh of a box with half sizes [m]."""
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * half
    faces = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    return corners, np.array([t for a, b, c, d in faces for t in ((a, b, c), (a, c, d))], np.int32)


def cylinder(radius: float, half_length: float) -> tuple[np.ndarray, np.ndarray]:
    """Mesh of a cylinder about z [m], with closed ends."""
    sides, heights = _sides(radius), _divided(-half_length, half_length)
    flat, faces = disc(radius, sides)
    rings = [np.column_stack([flat[:sides], np.full(sides, z)]) for z in heights]
    inner = [np.column_stack([flat[sides:], np.full(len(flat) - sides, z)]) for z in (-half_length, half_length)]
    start, last = len(rings) * sides, (len(rings) - 1) * sides
    low = np.where(faces < sides, faces, faces - sides + start)[:, ::-1]
    high = np.where(faces < sides, faces + last, faces - sides + start + len(inner[0]))
    return np.vstack([*rings, *inner]), np.concatenate([low, high, *_bands(len(rings), sides)]).astype(np.int32)


def _arc(radius: float, half_length: float) -> tuple[np.ndarray, np.ndarray]:
    """Profile (r, z) [m] of a capsule; with `half_length` 0, of a sphere."""
    angle = np.linspace(0, np.pi / 2, _sides(radius) // 4 + 1)
    r, z = radius * np.cos(angle), half_length + radius * np.sin(angle)
    middle = _divided(-half_length, half_length)[1:-1] if half_length > 0 else np.zeros(0)
    first = 1 if half_length == 0 else 0  # the halves of a sphere share the ring at the equator
    return (
        np.concatenate([r[::-1], np.full(len(middle), radius), r[first:]]),
        np.concatenate([-z[::-1], middle, z[first:]]),
    )


def _sides(radius: float) -> int:
    """Number of sides of a round shape, a multiple of four. n sides lie up to radius (pi/n)^2 / 2 inside the circle."""
    return 4 * int(np.ceil(np.clip(np.pi * np.sqrt(radius / (2 * SAG)), *ROUND) / 4))


def _divided(low: float, high: float) -> np.ndarray:
    """Points from low to high [m], at most EDGE apart."""
    return np.linspace(low, high, int(np.ceil((high - low) / EDGE)) + 1)


def revolved(r: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mesh of a profile revolved about z. Its first and last points lie on the axis."""
    sides = _sides(r.max())
    angle = 2 * np.pi * np.arange(sides) / sides
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    rings = [np.column_stack([a * circle, np.full(sides, b)]) for a, b in zip(r[1:-1], z[1:-1], strict=True)]
    vertices = np.vstack([*rings, [[0, 0, z[0]], [0, 0, z[-1]]]])
    here, ahead = np.arange(sides), (np.arange(sides) + 1) % sides
    south, north, last = len(vertices) - 2, len(vertices) - 1, (len(rings) - 1) * sides
    caps = [
        np.stack([np.full(sides, south), ahead, here], -1),
        np.stack([np.full(sides, north), here + last, ahead + last], -1),
    ]
    return vertices, np.concatenate([*_bands(len(rings), sides), *caps]).astype(np.int32)


def _bands(rings: int, sides: int) -> list[np.ndarray]:
    """Triangles between consecutive rings of `sides` vertices, from bottom to top."""
    here, ahead = np.arange(sides), (np.arange(sides) + 1) % sides
    quads = [(k * sides, (k + 1) * sides) for k in range(rings - 1)]
    return [
        np.concatenate([np.stack([here + a, ahead + a, ahead + b], -1), np.stack([here + a, ahead + b, here + b], -1)])
        for a, b in quads
    ]
