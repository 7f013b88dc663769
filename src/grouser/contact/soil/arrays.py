"""Device arrays of the soil module: surfaces of the bodies and the structs of `types.py`."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp

from grouser.contact.soil import types as t
from grouser.contact.soil.face_geometry import SAMPLES
from grouser.contact.soil.faces import BINS
from grouser.contact.soil.layout import (
    BLOCK,
    CHUNK,
    FACE,
    FACE_BIN,
    FACE_SAMPLE,
    LAYOUTS,
    NODE,
    PAIR,
    PAIRS,
    POINT,
    POINT_CHUNK,
    SHAPE,
    SHARED,
    SHEAR_NODE,
    SLOT,
    TEAMS,
    TOP,
    VERTEX,
    Arrays,
)
from grouser.contact.soil.lugs import lug_pitch
from grouser.contact.soil.small_shapes import SmallShape
from grouser.contact.soil.steep_faces import SteepFace
from grouser.contact.soil.surface import Surface, bounding_spheres, chunks
from grouser.device import at
from grouser.module import Motion, Outputs
from grouser.precision import Precision

TOPS = 1024  # tiles whose tops one thread per world remembers: those within reach of a large blade
LEAST_TOPS = 256  # of them those of each body, at least
# Arrays of structs in which the elements of world 0 come first, then those of world 1.
BY_WORLD = {kind.key.rsplit(".", 1)[-1]: tuple(names) for kind, names in LAYOUTS.items()} | {
    "GroundArrays": ("terrain", "first_soil", "table", "used", "owner", "stamp", "levels", "shear"),
    "Options": ("active", "weakest", "spoil_share", "margin"),
}
SHARED_SCRATCH = {
    kind.key.rsplit(".", 1)[-1]: [name for name, one in fields.items() if not one.kept and one.extent in SHARED]
    for kind, fields in LAYOUTS.items()
}
Part = tuple[Surface, list[SmallShape]]  # one body: the surface that presses on nodes, the shapes with points


def records(kind: Any, columns: dict[str, Any], device: Any) -> wp.array:
    """Make an array of device structs from columns of field values, (element, …) each."""
    host: Any = np.zeros(len(next(iter(columns.values()))), dtype=kind.numpy_dtype())
    for name, values in columns.items():
        host[name] = values
    return wp.array(host, dtype=kind, device=device)


class _Maker:
    """Makes device arrays of one float type from host arrays."""

    def __init__(self, p: Precision, device: Any):
        self._p, self._device = p, device

    def array(self, values: Any, dtype: Any) -> wp.array:
        return wp.array(np.ascontiguousarray(values), dtype=dtype, device=self._device)

    def start_indices(self, arrays: Any) -> wp.array:
        """Start index of each array in their concatenation, and the end of the last."""
        return self.array(np.cumsum([0] + [len(a) for a in arrays]).astype(np.int32), wp.int32)

    def joined(self, arrays: Any, dtype: Any) -> wp.array:
        return self.array(np.concatenate(arrays).astype(self._p.numpy), dtype)

    def numbers(self, values: Any) -> wp.array:
        return self.array(np.array(values, self._p.numpy), self._p.real)

    def flags(self, values: Any) -> wp.array:
        return self.array(np.array(values, np.int32), wp.int32)

    def vector_and_number(self, kind: Any, arrays: Any, vector: str, number: str) -> wp.array:
        """Make structs of a vector field and a scalar field from rows of four numbers."""
        rows = np.concatenate(arrays)
        return records(at(kind, self._p.name), {vector: rows[:, :3], number: rows[:, 3]}, self._device)


def body_arrays(
    parts: Sequence[Part], edges: Sequence[float], rounded: Sequence[bool], rows: Sequence[int], p: Precision,
    device: Any, slip_sinkage: float = 0.0, lug_carry: float = 0.0,
) -> tuple[Any, Any]:  # fmt: skip
    """Make `types.Bodies` and `types.SmallShapes`.

    `edges` [m]: longest edge of each body; `rounded`: whether it is round somewhere; both with its small shapes.
    `slip_sinkage` and `lug_carry` are those of `SoilOptions`.
    """
    make, b, surfaces = _Maker(p, device), at(t.Bodies, p.name)(), [surface for surface, _ in parts]
    starts = np.cumsum([0] + [len(s.vertices) for s in surfaces])
    b.rows = make.flags(rows)
    b.first_vertex = make.start_indices([s.vertices for s in surfaces])
    b.first_triangle = make.start_indices([s.triangles for s in surfaces])
    b.first_vertex_chunk = make.start_indices([s.vertex_spheres for s in surfaces])
    b.first_triangle_chunk = make.start_indices([s.triangle_spheres for s in surfaces])
    b.first_crease = make.start_indices([s.creases for s in surfaces])
    b.half = make.array(np.array([np.abs(s.vertices).max(axis=0) for s in surfaces], p.numpy), p.vec3)
    b.edge = make.numbers(edges)
    b.grouser = make.numbers([s.grouser_height for s in surfaces])
    b.slip_sinkage = make.numbers([slip_sinkage * s.rolls for s in surfaces])
    b.carried = make.numbers([lug_carry * s.grouser_height for s in surfaces])
    b.per_pitch = make.numbers([1 / lug_pitch(s) for s in surfaces])
    b.tip_reach = make.numbers([max((one.lug_height for one in small), default=0.0) for _, small in parts])
    b.from_patch = make.flags([s.width is None for s in surfaces])
    b.rounded = make.flags(rounded)
    b.rolls = make.numbers([np.ptp(s.vertices, axis=0).max() / 2 * s.rolls for s in surfaces])
    b.vertices = make.joined([s.vertices for s in surfaces], p.vec3)
    b.normals = make.joined([s.normals for s in surfaces], p.vec3)
    b.lugs = make.joined([s.lugs for s in surfaces], p.real)
    triangles = [s.triangles + start for s, start in zip(surfaces, starts[:-1], strict=True)]
    creases = [s.creases + start for s, start in zip(surfaces, starts[:-1], strict=True)]
    b.triangles = make.array(np.concatenate(triangles).astype(np.int32), wp.vec3i)
    b.creases = make.array(np.concatenate(creases).astype(np.int32).reshape(-1, 2), wp.vec2i)
    bulge = np.concatenate([s.bulge for s in surfaces])
    names = ("sag_ab", "sag_bc", "sag_ca", "per_area")
    b.bulge = records(at(t.Bulge, p.name), dict(zip(names, bulge.T, strict=True)), device)
    b.vertex_spheres = make.vector_and_number(t.Sphere, [s.vertex_spheres for s in surfaces], "centre", "radius")
    b.triangle_spheres = make.vector_and_number(t.Sphere, [s.triangle_spheres for s in surfaces], "centre", "radius")
    b.triangle_cones = make.vector_and_number(t.Cone, [s.triangle_cones for s in surfaces], "axis", "limit")
    return b, _shape_arrays(parts, make, p, device)


def _shape_arrays(parts: Sequence[Part], make: _Maker, p: Precision, device: Any) -> Any:
    """Make `types.SmallShapes`. If no body has small shapes, the arrays have one unused row."""
    s, found, rows = at(t.SmallShapes, p.name)(), [small for _, small in parts], shape_rows(parts)
    spare = [np.zeros((int(not any(found)), 3))]
    s.first_shape = make.start_indices(found)
    s.first_point = make.start_indices([one.points for one in rows])
    s.first_rim = make.start_indices([one.rim for one in rows])
    s.points = make.joined([one.points for one in rows] + spare, p.vec3)
    s.areas = make.joined([one.areas for one in rows] + spare, p.vec3)
    s.rims = make.joined([one.rim for one in rows], p.vec3)
    s.first_point_chunk = make.start_indices([chunks(one.points) for one in rows])
    groups = [group for one in rows for group in chunks(one.points)] or [np.zeros((1, 3))]
    s.point_spheres = make.vector_and_number(t.Sphere, [bounding_spheres(groups)], "centre", "radius")
    s.across = make.numbers([one.across for one in rows])
    s.least = make.numbers([one.least for one in rows])
    lugs = {"height": "lug_height", "per_pitch": "lug_pitch", "share": "lug_share"}
    columns = {name: [getattr(one, field) for one in rows] for name, field in lugs.items()}
    columns["per_pitch"] = [1 / pitch for pitch in columns["per_pitch"]]
    s.lug = records(at(t.Lug, p.name), columns, device)
    s.from_patch = make.flags([width is None for width in _shape_widths(parts)])
    return s


def shape_rows(parts: Sequence[Part]) -> list[SmallShape]:
    none = SmallShape(np.zeros((0, 3)), np.zeros((0, 3)), np.zeros((1, 3)), 1.0, 1.0)
    return [one for _, small in parts for one in small] or [none]


def _shape_widths(parts: Sequence[Part]) -> list[float | None]:
    """Width b [m] of each small shape as given for its body, or None."""
    return [surface.width for surface, small in parts for _ in small] or [None]


def face_arrays(faces: Sequence[Sequence[SteepFace]], p: Precision, device: Any) -> Any:
    """Make `types.Faces` from the faces of each body. If no body has any, the arrays have one unused row."""
    make, a, rows = _Maker(p, device), at(t.Faces, p.name)(), [face for of_body in faces for face in of_body]
    a.first_face = make.start_indices(faces)
    a.first_edge = make.start_indices([face.edges for face in rows])
    a.normals = make.joined([[face.normal for face in rows] or np.zeros((1, 3))], p.vec3)
    a.middles = make.joined([[face.middle for face in rows] or np.zeros((1, 3))], p.vec3)
    a.radii = make.numbers([face.radius for face in rows] or [0.0])
    a.cuts = make.flags([face.cuts for face in rows] or [0])
    a.spins = make.flags([face.spins for face in rows] or [0])
    edges = np.concatenate([face.edges for face in rows] or [np.zeros((1, 2, 3))])
    a.edge_starts, a.edge_ends = make.joined([edges[:, 0]], p.vec3), make.joined([edges[:, 1]], p.vec3)
    return a


def motion_arrays(motion: Motion, dtype: str) -> Any:
    """Make `types.MotionArrays` of views of the engine's arrays."""
    m = at(t.MotionArrays, dtype)()
    m.position, m.rotation, m.velocity, m.angular_velocity = (
        motion.position, motion.rotation, motion.velocity, motion.angular_velocity,
    )  # fmt: skip
    return m


def views_of(group: Any, part: range, worlds: int, at_once: int) -> Any:
    """A copy of a struct in which arrays with elements for each world are views of those of some worlds.

    Scratch that worlds share is that of the first `at_once` worlds.
    """
    name, made = group._cls.key.rsplit(".", 1)[-1], group._cls()
    for field in group._cls.vars:
        value = getattr(group, field)
        if field in SHARED_SCRATCH.get(name, ()) and at_once < worlds and value.shape[0] > 1:
            value = value[: value.shape[0] // at_once * len(part)]
        elif field in BY_WORLD.get(name, ()) and value.shape[0] >= worlds:  # one element is shared by all worlds
            each = value.shape[0] // worlds
            value = value[part.start * each : part.stop * each]
        setattr(made, field, value)
    return made


def motion_of(motion: Motion, part: range) -> Motion:
    """Views of the motion of some worlds."""
    return Motion(*(array[part.start : part.stop] for array in vars(motion).values()))


def outputs_of(out: Outputs, part: range) -> Outputs:
    """Views of the outputs of some worlds."""
    return Outputs(*(array[part.start : part.stop] for array in vars(out).values()))


@dataclass
class SoilArrays:
    """All arguments of the kernels, and the arrays among them that are state."""

    parts: Sequence[Part]
    of_all: int  # number of all worlds
    worlds: int
    at_once: int  # worlds that work at the same time
    ground: Any  # this and the following: structs of types.py at the chosen float type
    options: Any
    bodies: Any
    shapes: Any
    points: Any
    faces: Any
    pushing: Any
    placement: Any
    window: Any
    skin: Any
    vertices: Any
    displacement: Any
    slides: Any
    prediction: Any
    energy: Any
    layout: Arrays
    first_face: np.ndarray  # first steep face of each body, and the end of the last, (body + 1,); on the host

    @property
    def by_name(self) -> dict[str, Any]:
        """Structs by the parameter names of the kernels, in the order of the per-world kernels."""
        return {
            "g": self.ground, "o": self.options, "b": self.bodies, "shapes": self.shapes, "points": self.points,
            "faces": self.faces, "push": self.pushing, "place": self.placement, "win": self.window, "skin": self.skin,
            "verts": self.vertices, "disp": self.displacement, "slides": self.slides, "pred": self.prediction,
            "energy": self.energy,
        }  # fmt: skip

    @property
    def groups(self) -> list[Any]:
        return list(self.by_name.values())

    def of_worlds(self, part: range) -> SoilArrays:
        """Views of the arrays of some worlds, which then count from 0. Nothing is copied."""
        made = copy(self)
        made.worlds = len(part)
        for name, group in vars(self).items():
            if hasattr(group, "_cls"):
                setattr(made, name, views_of(group, part, self.worlds, self.at_once))
        return made


def allocate(
    parts: Sequence[Part], worlds: int, side: int, nodes: int, ground: Any, options: Any, bodies: tuple[Any, Any, Any],
    p: Precision, device: Any, at_once: int, left_out: str,
) -> SoilArrays:  # fmt: skip
    """Allocate all structs, with room for `nodes` in windows of at most `side` x `side`.

    `bodies`: `body_arrays`, `face_arrays`. `at_once`: worlds that work at the same time. `left_out`: see
    `layout.Arrays`.
    """
    slots, blocks, (b, shapes, faces) = worlds * len(parts), most_blocks(side, nodes, options.block), bodies
    sizes = {
        SLOT: slots, NODE: slots * nodes, PAIR: PAIRS * slots * nodes, BLOCK: slots * blocks,
        SHEAR_NODE: slots * nodes if options.node_shear else slots,
        VERTEX: (worlds, b.vertices.shape[0]), CHUNK: (worlds, b.vertex_spheres.shape[0]),
        SHAPE: (worlds, shapes.across.shape[0]), POINT: (worlds, shapes.points.shape[0]),
        POINT_CHUNK: (worlds, shapes.point_spheres.shape[0]), FACE: (worlds, faces.radii.shape[0]),
        TOP: (worlds, len(parts) * max(TOPS // len(parts), LEAST_TOPS) if left_out == TEAMS else 1),
        FACE_SAMPLE: (worlds, SAMPLES * faces.radii.shape[0]), FACE_BIN: (worlds, BINS * faces.radii.shape[0]),
    }  # fmt: skip
    layout = Arrays(p.name, device, worlds, sizes, at_once, left_out)
    widths = [s.width or np.ptp(s.vertices, axis=0).min() or 1.0 for s, _ in parts]
    small = [w or one.least for w, one in zip(_shape_widths(parts), shape_rows(parts), strict=True)]
    made = SoilArrays(
        parts, worlds, worlds, at_once, ground, options, b, shapes,
        layout.allocate(t.Points, shape_per_width=np.tile(1 / np.array(small), (worlds, 1))),
        faces, layout.allocate(t.Pushing),
        layout.allocate(t.Placement), layout.allocate(t.Window, soil=ground.first_soil),
        layout.allocate(t.Skin), layout.allocate(t.Vertices),
        layout.allocate(t.Displacement, per_width=np.tile(1 / np.array(widths), worlds)),
        layout.allocate(t.Slides), layout.allocate(t.Prediction), layout.allocate(t.Energy), layout,
        faces.first_face.numpy().copy(),
    )  # fmt: skip
    layout.begin()
    made.window.side, made.window.nodes, made.displacement.blocks = side, nodes, blocks
    return made


def most_blocks(side: int, nodes: int, block: int) -> int:
    """Largest number of blocks of `block` x `block` nodes that cover a box of up to `nodes` inside a window."""
    along = [(rows, min(side, nodes // rows)) for rows in range(1, side + 1)]
    return max(-(-rows // block) * -(-columns // block) for rows, columns in along)
