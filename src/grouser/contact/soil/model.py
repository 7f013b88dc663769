"""The soil as a force module: parameters, allocation, launches."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp

from grouser.contact.soil import types as t
from grouser.contact.soil.bekker import power_table
from grouser.contact.soil.fine import FineLauncher
from grouser.contact.soil.fused import FusedLauncher
from grouser.contact.soil.observation import Observation
from grouser.contact.soil.small_shapes import SmallShape, refused_if_too_small, split
from grouser.contact.soil.surface import Surface, bounding_spheres, chunks
from grouser.errors import InputError
from grouser.launches import Launches, StepLaunches
from grouser.module import Channel, Motion, Outputs
from grouser.terrain.ground import TILE, Ground
from grouser.terrain.soils import Soil

ROUGH_TRAVEL = 0.6e-3  # [m] along the ground in a step, beyond which pull and sinkage are off by percents
ROUGH_DROP = 3.5e-3  # [m] down in a step, beyond which an impact sinks too deep
ROUGH_BLOW = 0.015  # change of a step's downward travel over the depth: (h w)^2, fifty steps to a swing
FINE_SPACING = 7.5e-3  # [m] below which two sub-cell points along an axis do, else three
SWEEPS = 1000  # of erosion in a step at most; a slide ends long before
MARGIN = 0.2  # [m] round a footprint within which soil may slide
SPARE = 0.1  # [m] of window round what slides: a slide does not run farther in a step
STAGGER = 320  # [bytes] five cache lines
BLOCK = 0.05  # [m] displaced soil is summed over blocks this wide before it is put on the border
NODE_REALS, NODE_BYTES = 31, 36  # what a node of a window takes: arrays of its own, two tiles; whole numbers
MEMORY_SHARE = 0.8  # of the machine's
STAGES = ("place", "gather", "raster", "displace", "shear", "erode", "write back")  # of a fused commit, in order
SHEAR_LAWS = {"shear-displacement": t.JANOSI, "mohr-coulomb": t.LIMIT, "coulomb": t.LIMIT, "none": t.NONE}
EMPTY_BOX = np.zeros(t.BOX, np.int32)
EMPTY_BOX[t.RESTLESS : t.RESTLESS + 4] = 1 << 20, -1, 1 << 20, -1
EMPTY_BOX[t.SLID : t.SLID + 4] = 1 << 20, -1, 1 << 20, -1
EMPTY_BOX[t.DIRTY : t.DIRTY + 4] = 0, 1 << 20, 0, 1 << 20  # all of the window
REASONS = {
    t.EDGE: ("its footprint reaches the edge of the terrain, where no soil carries it", False),
    t.LEFT: ("it has left the terrain", True),
    t.WINDOW_FULL: ("its footprint is larger than its own bounding sphere allows", True),
    t.TILES_FULL: ("the ground ran out of tiles within one step", True),
    t.FAST: (
        f"it moves more than {1e3 * ROUGH_TRAVEL:g} mm along the ground in a step: rough, take a smaller step",
        False,
    ),
    t.BLOW: ("a blow ends within a few steps: how deep it goes is rough, take a smaller step", False),
    t.NOT_FINITE: ("its position is not a number", True),
}


@dataclass(frozen=True)
class SoilOptions:
    """Choices of the model where the papers differ or are silent."""

    # or "mohr-coulomb" (Krenn and Hirzinger 2009, eq. 5), "coulomb" (Krenn et al. 2008, eq. 19), "none"
    friction: str = "shear-displacement"
    erosion: bool = True
    sweeps: int | None = None  # of erosion in a step, at most
    loose_cover: bool = True  # False: Krenn et al. 2008, eq. 29 to the letter
    samples: int | None = None  # sub-cell points along an axis; None: by spacing
    node_shear: bool = False  # True: the shear state stays with the soil, not with the body (pulls too much)
    creep_speed: float = 1e-3  # [m/s] below which the pure limit laws are regularised
    fused: bool | None = None  # None: fused kernels on a CPU, fine ones on a GPU

    def __post_init__(self):
        if self.friction not in SHEAR_LAWS:
            raise InputError(f"friction: {self.friction!r} is not known; allowed: {', '.join(SHEAR_LAWS)}")
        if self.samples is not None and not 1 <= self.samples <= 4:
            raise InputError(f"samples: {self.samples} is not allowed; 1 to 4 are")


class SoilModule:
    """Bekker pressure, Janosi-Hanamoto shear and plastic ruts under any number of bodies on one ground."""

    step_limit = math.inf
    takes_floor = True  # whether `declare` takes the floor of the world away from the bodies

    def __init__(
        self, ground: Ground, surfaces: Mapping[str, Surface], options: SoilOptions | None = None, name: str = "soil"
    ):
        self.ground, self.options, self.name = ground, options or SoilOptions(), name
        self.surfaces = dict(surfaces)
        self.bodies = tuple(self.surfaces)
        self.precision = ground.precision
        if not self.bodies:
            raise InputError(f"{name}: no body is given; name at least one")
        for body, surface in self.surfaces.items():
            refused_if_too_small(body, surface, ground.spacing)
        self._refuse_what_fits_no_memory()
        self._parts = [split(surface, ground.spacing) for surface in self.surfaces.values()]  # on nodes, on points

    def _refuse_what_fits_no_memory(self) -> None:
        """Every body has a window as wide as the widest needs; pairs of its nodes are numbered with 31 bits."""
        spacing, count = self.ground.spacing, self.ground.worlds * len(self.bodies)
        body, reach = max(((name, s.reach) for name, s in self.surfaces.items()), key=lambda one: one[1])
        nodes = count * self._window_side() ** 2
        size = nodes * (NODE_REALS * np.dtype(self.precision.numpy).itemsize + NODE_BYTES)
        if nodes >= 2**30 or (self.ground.device == "cpu" and size > MEMORY_SHARE * _memory()):
            raise InputError(
                f"spacing: {spacing:g} m under {count} bodies, of which {body!r} is {2 * reach:.3g} m across, "
                f"takes {size / 2**30:.3g} GiB: allowed is what fits into memory, by a larger spacing, fewer "
                "or smaller bodies"
            )

    def _margin(self) -> int:
        """Nodes round a footprint."""
        return max(2, round(MARGIN / self.ground.spacing)) if self.options.erosion else 2

    def _window_side(self) -> int:
        """Nodes along a window: whatever way the largest body turns."""
        reach = max(s.reach for s in self.surfaces.values())
        return 2 * math.ceil(reach / self.ground.spacing) + 2 * self._margin() + 4

    def declare(self, spec) -> None:
        """Take the floor of the world away from the soil bodies; a world without one stays solid for them."""
        import mujoco

        kinds = (mujoco.mjtGeom.mjGEOM_PLANE, mujoco.mjtGeom.mjGEOM_HFIELD)
        floors = [g for g in spec.worldbody.geoms if g.type in kinds and (g.contype or g.conaffinity)]
        if not (self.takes_floor and floors):
            return
        for body in self.bodies:
            if any(e.bodyname1 == "world" and e.bodyname2 == body for e in spec.excludes):
                continue
            spec.add_exclude(bodyname1="world", bodyname2=body)

    # ---- allocation ---------------------------------------------------------------------------------

    def bind(self, motion: Motion, rows: Sequence[int], out: Outputs, step: float) -> None:
        name, device = self.precision.name, self.ground.device
        self.motion, self.out, self.types = motion, out, t.soil_types(name)
        fused = self.options.fused if self.options.fused is not None else device == "cpu"
        self._launcher = (FusedLauncher if fused else FineLauncher)(name, device)
        self.device = device
        self.worlds = motion.position.shape[0]
        if self.worlds != self.ground.worlds:
            raise InputError(f"{self.name}: ground has {self.ground.worlds} worlds, the engine {self.worlds}")
        self._h = step
        if self.options.node_shear:
            self.ground.keep_shear()
        self._step = wp.array([step], dtype=self.precision.real, device=device)
        self._options = self._make_options()
        self._bodies = self._make_bodies(rows)
        self._window = self._make_window()
        self._observation = Observation(self.ground, motion, rows, out, self._window)
        self._spare = len(self.bodies) * (self._window.side // TILE + 2) ** 2
        evaluate, commit = self._record(self._launcher.evaluate), self._record(self._launcher.commit)
        self._launches = StepLaunches(evaluate, commit, device)
        self.ground.ensure(self._spare)

    def _make_options(self):
        o, choice, spacing = self.types.Options(), self.options, self.ground.spacing
        constants: Any = np.zeros(len(self.ground.soils), dtype=self.types.Constants.numpy_dtype())
        for k, soil in enumerate(self.ground.soils):
            for key, value in soil_constants(soil, choice.friction).items():
                constants[key][k] = value
        o.soils = wp.array(constants, dtype=self.types.Constants, device=self.device)
        powers = power_table([soil.n for soil in self.ground.soils]).astype(self.precision.numpy)
        o.powers = wp.array(powers, dtype=self.precision.vec2, device=self.device)
        o.step = self._step
        o.sweeps = choice.sweeps if choice.sweeps is not None else SWEEPS
        if not choice.erosion:
            o.sweeps = 0
        o.weakest = min(soil.slope_limit for soil in self.ground.soils)
        o.margin = self._margin()
        o.spare = min(max(2, round(SPARE / spacing)), o.margin)
        o.samples = choice.samples or (3 if spacing > FINE_SPACING else 2)
        o.block = max(1, round(BLOCK / spacing))
        o.spoil = int(any(soil.compression < 1 for soil in self.ground.soils))
        o.loose = int(choice.loose_cover)
        o.shear_law = SHEAR_LAWS[choice.friction]
        o.node_shear = int(choice.node_shear)
        o.creep_speed = choice.creep_speed
        o.fast, o.hard, o.blow = ROUGH_TRAVEL, ROUGH_DROP, ROUGH_BLOW
        o.stages = wp.array([len(STAGES)], dtype=wp.int32, device=self.device)
        o.several = int(len(self.bodies) > 1)
        return o

    def _make_bodies(self, rows: Sequence[int]):
        b, p, parts = self.types.Bodies(), self.precision, [surface for surface, _ in self._parts]

        def device(values, dtype):
            return wp.array(np.ascontiguousarray(values), dtype=dtype, device=self.device)

        def firsts(arrays):
            return device(np.cumsum([0] + [len(a) for a in arrays]).astype(np.int32), wp.int32)

        def joined(arrays, dtype):
            return device(np.concatenate(arrays).astype(p.numpy), dtype)

        starts = np.cumsum([0] + [len(s.vertices) for s in parts])
        b.rows = device(np.asarray(rows, np.int32), wp.int32)
        b.first_vertex = firsts([s.vertices for s in parts])
        b.first_triangle = firsts([s.triangles for s in parts])
        b.first_vertex_chunk = firsts([s.vertex_spheres for s in parts])
        b.first_triangle_chunk = firsts([s.triangle_spheres for s in parts])
        b.first_crease = firsts([s.creases for s in parts])
        b.half = device(np.array([np.abs(s.vertices).max(axis=0) for s in parts], p.numpy), p.vec3)
        b.edge = device(np.array([s.longest_edge for s in self.surfaces.values()], p.numpy), p.real)
        b.grouser = device(np.array([s.grouser_height for s in parts], p.numpy), p.real)
        b.from_patch = device(np.array([s.width is None for s in parts], np.int32), wp.int32)
        self._per_width = np.array([1 / (s.width or np.ptp(s.vertices, axis=0).min() or 1.0) for s in parts], p.numpy)
        b.per_width = device(np.tile(self._per_width, (self.worlds, 1)), p.real)
        b.vertices = joined([s.vertices for s in parts], p.vec3)
        b.normals = joined([s.normals for s in parts], p.vec3)
        b.lugs = joined([s.lugs for s in parts], p.real)
        triangles = [s.triangles + start for s, start in zip(parts, starts[:-1], strict=True)]
        creases = [s.creases + start for s, start in zip(parts, starts[:-1], strict=True)]
        b.triangles = device(np.concatenate(triangles).astype(np.int32), wp.vec3i)
        b.creases = device(np.concatenate(creases).astype(np.int32).reshape(-1, 2), wp.vec2i)
        b.bulge = joined([s.bulge for s in parts], p.vec4)
        b.vertex_spheres = joined([s.vertex_spheres for s in parts], p.vec4)
        b.triangle_spheres = joined([s.triangle_spheres for s in parts], p.vec4)
        b.triangle_cones = joined([s.triangle_cones for s in parts], p.vec4)
        b.shear = wp.zeros((self.worlds, starts[-1]), dtype=p.vec3, device=self.device)
        b.placed = device(np.tile([0, 0, t.FAR], (self.worlds, starts[-1], 1)).astype(p.numpy), p.vec3)
        b.near = wp.zeros((self.worlds, b.vertex_spheres.shape[0]), dtype=wp.int32, device=self.device)
        self._add_small_shapes(b, device, firsts, joined)
        return b

    def _add_small_shapes(self, b, device, firsts, joined) -> None:
        """Points of the small shapes and what they keep; where there are none, one row that nobody looks at."""
        p, kept = self.precision, [small for _, small in self._parts]
        shapes = [shape for small in kept for shape in small]
        rows = shapes or [SmallShape(np.zeros((0, 3)), np.zeros((0, 3)), np.zeros((1, 3)), 1.0, 1.0)]
        own = [s.width for s, small in self._parts for _ in small] or [None]
        b.first_shape = firsts(kept)
        b.first_point, b.first_rim = firsts([s.points for s in rows]), firsts([s.rim for s in rows])
        spare = [np.zeros((int(not shapes), 3))]
        b.points, b.areas = (
            joined([s.points for s in rows] + spare, p.vec3),
            joined([s.areas for s in rows] + spare, p.vec3),
        )
        b.rims = joined([s.rim for s in rows], p.vec3)
        b.first_point_chunk = firsts([chunks(s.points) for s in rows])
        groups = [group for s in rows for group in chunks(s.points)] or [np.zeros((1, 3))]
        b.point_spheres = joined([bounding_spheres(groups)], p.vec4)
        b.point_near = wp.zeros((self.worlds, len(groups)), dtype=wp.int32, device=self.device)
        b.shape_across = device(np.array([s.across for s in rows], p.numpy), p.real)
        b.shape_least = device(np.array([s.least for s in rows], p.numpy), p.real)
        b.shape_from_patch = device(np.array([width is None for width in own], np.int32), wp.int32)
        self._shape_per_width = np.array([1 / (w or s.least) for w, s in zip(own, rows, strict=True)], p.numpy)
        b.shape_per_width = device(np.tile(self._shape_per_width, (self.worlds, 1)), p.real)
        b.pressed = wp.full((self.worlds, b.points.shape[0]), t.FAR, dtype=p.real, device=self.device)
        b.point_shear = wp.zeros((self.worlds, b.points.shape[0]), dtype=p.vec3, device=self.device)

    def _make_window(self):
        w, p, device = self.types.Window(), self.precision, self.device
        self._stagger = 0
        slots = self.worlds * len(self.bodies)
        w.side = self._window_side()
        w.blocks = -(-w.side // self._options.block)
        nodes, blocks = slots * w.side**2, slots * w.blocks**2
        w.box = wp.array(np.tile(EMPTY_BOX, (slots, 1)), dtype=wp.int32, device=device)
        w.extent = wp.zeros((slots, 4), dtype=p.real, device=device)
        w.tally = wp.zeros((slots, 3), dtype=p.real, device=device)
        w.step_tally = wp.zeros((slots, 3), dtype=p.real, device=device)
        w.reach, w.levels, w.end = (self._staggered(nodes, p.vec4) for _ in range(3))
        w.node_shear = wp.zeros(nodes if self.options.node_shear else 1, dtype=p.vec3, device=device)
        w.place, w.weights = self._staggered(nodes, p.vec2), self._staggered(nodes, p.vec3)
        w.spoil = wp.zeros(blocks, dtype=self.types.parts, device=device)
        w.wrench_sum = wp.zeros(slots, dtype=p.vec6, device=device)
        w.block_sum = wp.zeros(slots, dtype=self.types.sums, device=device)
        w.motion = wp.zeros((slots, 5), dtype=p.vec3, device=device)
        w.lowest = wp.zeros(slots, dtype=p.vec3, device=device)
        for field in ("top", "sinkage", "area"):
            setattr(w, field, wp.zeros(slots, dtype=p.real, device=device))
        for field in ("soil", "mark", "triangle", "listed", "moved", "queued", "steep"):
            setattr(w, field, self._staggered(nodes, wp.int32))
        w.pairs = self._staggered(2 * nodes, wp.int32)
        w.loaded = wp.zeros(blocks, dtype=wp.int32, device=device)
        for field in ("under", "sunk", "dug", "share", "flow", "received"):
            setattr(w, field, self._staggered(nodes, p.real))
        return w

    def _staggered(self, count: int, dtype) -> Any:
        """Zeros that begin a few cache lines further into a page than the array before.

        Large arrays all begin at the start of a page; a node's entries would then compete for one set of the cache.
        """
        self._stagger += STAGGER
        offset = -(-self._stagger // wp.types.type_size_in_bytes(dtype))
        return wp.zeros(offset + count, dtype=dtype, device=self.device)[offset:]

    # ---- the step -----------------------------------------------------------------------------------

    def evaluate(self, h: float) -> None:
        self.launches(h)[0].run()

    def commit(self, h: float) -> None:
        self.launches(h)[1].run()
        self.ground.ensure(self._spare)

    def steps_ahead(self) -> int:
        """Each step may take up the tiles under all windows."""
        return self.ground.room_for(self._spare)

    def launches(self, h: float) -> tuple[Launches, Launches]:
        if h != self._h:
            self._h = h
            self._step.fill_(h)
        return self._launches.recorded(self.ground.generation)

    def _record(self, half):
        """Launches of one half of the step on the arrays there are now."""
        return lambda launch: half(
            launch,
            self.ground.arrays,
            self._options,
            self._bodies,
            self._window,
            self.motion,
            self.out,
            self.worlds,
            self._parts,
        )

    # ---- state, channels ----------------------------------------------------------------------------

    def explain(self, code: int) -> tuple[str, bool]:
        return REASONS[code]

    def state(self) -> dict[str, wp.array]:
        w, b = self._window, self._bodies
        names = (
            "box", "motion", "top", "extent", "lowest", "sinkage", "area", "tally", "soil", "mark", "levels",
            "under", "triangle", "reach", "queued", "node_shear",
        )  # fmt: skip
        return {
            "shear": b.shear, "placed": b.placed, "near": b.near, "per_width": b.per_width,
            **{name: getattr(w, name) for name in names},
            **(self._kept_by_points() if any(small for _, small in self._parts) else {}),
        }  # fmt: skip

    def _kept_by_points(self) -> dict[str, wp.array]:
        names = ("pressed", "point_shear", "shape_per_width", "point_near")
        return {name: getattr(self._bodies, name) for name in names}

    def reset(self, worlds: Sequence[int]) -> None:
        worlds = list(worlds)
        count = len(self.bodies)
        slots = [w * count + k for w in worlds for k in range(count)]
        for array, rows, value in (
            (self._bodies.shear, worlds, 0.0), (self._bodies.placed, worlds, [0.0, 0.0, t.FAR]),
            (self._bodies.near, worlds, 0), (self._bodies.per_width, worlds, self._per_width),
            (self._bodies.pressed, worlds, t.FAR), (self._bodies.point_shear, worlds, 0.0),
            (self._bodies.shape_per_width, worlds, self._shape_per_width), (self._bodies.point_near, worlds, 0),
            (self._window.box, slots, EMPTY_BOX), (self._window.tally, slots, 0.0),
            (self._window.motion, slots, 0.0), (self._window.sinkage, slots, 0.0), (self._window.area, slots, 0.0),
            (self._window.queued.reshape((-1, self._window.side**2)), slots, 0),
        ):  # fmt: skip
            host = array.numpy()
            host[rows] = value
            array.assign(host)
        self.ground.reset(worlds)

    def volume_error(self) -> np.ndarray:
        """(world,) what the surface lost less what was compressed, over what was displaced."""
        self._observation.refresh()
        return self._observation.values["volume_error"].copy()

    def has_pressed(self) -> np.ndarray:
        """(world, body) whether it has pressed soil since the start."""
        return self._window.tally.numpy().reshape(self.worlds, len(self.bodies), -1)[..., t.REMOVED] > 0

    def observe(self) -> dict[str, np.ndarray]:
        """What each body feels now, (world, body, …); the same arrays at every call, see `Observation.read`."""
        return self._observation.read()

    def channels(self) -> list[Channel]:
        count, look = len(self.bodies), self._observation

        def felt(name: str, unit: str, *shape: int, frame: str = "world") -> Channel:
            return Channel(
                f"{self.name}/{name}", unit, (count, *shape), frame, labels=self.bodies,
                source=look.values[name], refresh=look.refresh,
            )  # fmt: skip

        return [
            felt("force", "N", 3),
            felt("torque", "N m", 3),
            felt("sinkage", "m"),
            felt("contact_area", "m^2"),
            felt("slip", "1", frame=""),
            felt("displaced_volume", "m^3"),
            Channel(f"{self.name}/volume_error", "1", (), "", source=look.values["volume_error"], refresh=look.refresh),
        ]


def _memory() -> float:
    """Of the machine, in bytes."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):  # no such machine
        return math.inf


def soil_constants(soil: Soil, friction: str) -> dict[str, float]:
    """Constants of the kernels from a soil and the friction law chosen."""
    tan_phi = math.tan(math.radians(soil.friction_angle_deg))
    mu = -1.0 if soil.wheel_friction is None else soil.wheel_friction
    cohesion = soil.cohesion
    if friction == "coulomb":  # Krenn et al. 2008, eq. 19: friction of wheel on soil alone
        tan_phi, cohesion = (tan_phi if mu < 0 else mu), 0.0
    return {
        "k_c": soil.k_c, "k_phi": soil.k_phi, "n": soil.n, "cohesion": cohesion, "tan_phi": tan_phi,
        "shear_k": soil.shear_modulus, "k_e": soil.elastic_stiffness,
        "per_k_e": 1 / soil.elastic_stiffness, "damping_time": soil.damping_time,
        "chi": soil.compression, "mu": mu, "tan_repose": soil.slope_limit,
    }  # fmt: skip
