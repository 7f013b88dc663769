"""Force module of deformable soil: options, allocation of device arrays, kernel launches."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import warp as wp

from grouser.contact.soil import grid_error, step_error
from grouser.contact.soil import types as t
from grouser.contact.soil.arrays import allocate, body_arrays, face_arrays, motion_arrays, motion_between, records
from grouser.contact.soil.bottom import NO_SECOND_SOIL
from grouser.contact.soil.launchers import PerNodeLauncher, PerWorldLauncher
from grouser.contact.soil.law_sets import DEFAULT, LAW_SETS, check_law_set, fixed_options
from grouser.contact.soil.layout import bytes_per_node
from grouser.contact.soil.losses import CHANNELS as ENERGIES
from grouser.contact.soil.lugs import lug_tips
from grouser.contact.soil.node_lanes import lane_stages
from grouser.contact.soil.observation import Observation
from grouser.contact.soil.pressure import PRESSURE_LAWS, chosen_law, power_table
from grouser.contact.soil.small_shapes import check_shape_sizes, split
from grouser.contact.soil.stage_clock import lap_array
from grouser.contact.soil.stages import COMMIT, EVALUATE
from grouser.contact.soil.steep_faces import steep_faces
from grouser.contact.soil.surface import Surface
from grouser.contact.soil.vertex_cloud import vertex_cloud
from grouser.device import at
from grouser.errors import InputError
from grouser.kernel_module import KernelModule
from grouser.module import Channel, Motion, Outputs
from grouser.terrain.elevation import ElevationGrid
from grouser.terrain.ground import TILE, Ground
from grouser.terrain.soils import Soil

PART_TRAVEL = 0.125  # [cells] travel along the ground in a part of a step, see `placement.parts_of_step`
FINE_SPACING = 7.5e-3  # [m] up to this spacing two sub-cell points per axis are enough, above it three
SWEEPS = 1000  # maximum number of erosion sweeps per step; a slide ends long before
PAPER_SWEEPS = 1  # the same with the papers' laws, which do not say how many (assumed)
MARGIN = 0.2  # [m] distance from a footprint within which soil may slide, without faces that pile it up
LONGEST_PILE = 1.0  # [m] the same with such faces, at most
SPARE = 0.1  # [m] extra window around the footprint and sliding soil: a slide runs no farther in one step
BLOCK = 0.05  # [m] displaced soil is summed over blocks this wide before it is put on the border
GRAVITY = 9.81  # [m/s^2] where no model says otherwise
MEMORY_SHARE = 0.8  # largest share of the machine's memory that windows may use
SHEAR_LAWS = {
    "shear-displacement": t.SHEAR_DISPLACEMENT, "mohr-coulomb": t.SHEAR_LIMIT, "coulomb": t.SHEAR_LIMIT,
    "none": t.NO_SHEAR,
}  # fmt: skip
INTERFACES = ("scales", "caps")  # what friction of body on soil does to the shear curve
LUG_LAWS = ("share", "tips")
THREADS = ("per-world", "per-node")  # kernels of per_world.py or of per_node.py
REASONS = {
    t.EDGE: ("the footprint reaches the edge of the terrain, beyond which no soil carries it", False),
    t.LEFT: ("it has left the terrain", True),
    t.WINDOW_FULL: ("its footprint is larger than its bounding sphere", True),
    t.TILES_FULL: ("the ground ran out of tiles within one step", True),
    t.NOT_FINITE: ("its position is not a number", True),
}

TIMES = (0, 2, 5, 10)  # by which a step is too long or a grid too coarse: verdicts 0 to 3


@dataclass(frozen=True)
class SoilOptions:
    """Choices of the soil model where the papers differ or say nothing."""

    # Or "mohr-coulomb" (Krenn and Hirzinger 2009, eq. 5), "coulomb" (Krenn et al. 2008, eq. 19), "none".
    friction: str = "shear-displacement"
    # Where a soil gives wheel_friction: "scales", or "caps", as between sand and steel (docs/theory/soil.md).
    interface_friction: str = "caps"
    lugs: str = "share"  # "share": lugs raise the pressure of the rim; "tips": their tips press and shear the soil
    slip_sinkage: float = 0.0  # beta of slip sinkage along the arc of a wheel; 0: digging by velocities
    lug_carry: float = 0.0  # share of the height of lugs that moves with them as a layer of soil, 0 to 1 (assumed)
    erosion: bool = True  # let slopes steeper than the soil can stand slide
    sweeps: int | None = None  # maximum number of erosion sweeps per step; None: SWEEPS
    loose_cover: bool = True  # spoil forms a loose layer on compacted soil; False: Krenn et al. 2008, eq. 29 literally
    samples: int | None = None  # sub-cell points along an axis, 1 to 4; None: chosen by grid spacing
    node_shear: bool = False  # True: store the shear state on soil nodes instead of on the body (gives too much pull)
    creep_speed: float = 1e-3  # [m/s] slip speed below which "mohr-coulomb" and "coulomb" are regularised
    fused: bool | None = None  # older name of `threads`: True is "per-world", False is "per-node"
    pressure: str = "bekker"  # one of pressure.PRESSURE_LAWS
    faces: bool = True  # steep faces of bodies push the soil ahead of them
    threads: str | None = None  # one of THREADS; None: "per-world" on CPU, "per-node" on GPU
    lanes: bool = True  # "per-world" on a CPU: forces of eight nodes at once (node_lanes.py); False: one by one
    laws: str = DEFAULT  # one of law_sets.LAW_SETS; the papers' own laws fix most of the other options
    deposit_exponent: float = 2.0  # m of Krenn and Hirzinger 2009, eq. 10, above 1 (assumed); "krenn2009" alone

    def __post_init__(self):
        for name, value in fixed_options(self).items():
            object.__setattr__(self, name, value)
        if not (math.isfinite(self.deposit_exponent) and self.deposit_exponent > 1):
            raise InputError(f"deposit_exponent: {self.deposit_exponent} is not allowed; it must be above 1")
        if self.pressure not in PRESSURE_LAWS:
            raise InputError(f"pressure: {self.pressure!r} is not known; allowed: {', '.join(PRESSURE_LAWS)}")
        if self.friction not in SHEAR_LAWS:
            raise InputError(f"friction: {self.friction!r} is not known; allowed: {', '.join(SHEAR_LAWS)}")
        if self.interface_friction not in INTERFACES:
            raise InputError(
                f"interface_friction: {self.interface_friction!r} is not known; allowed: {', '.join(INTERFACES)}"
            )
        if self.lugs not in LUG_LAWS:
            raise InputError(f"lugs: {self.lugs!r} is not known; allowed: {', '.join(LUG_LAWS)}")
        if not (math.isfinite(self.slip_sinkage) and self.slip_sinkage >= 0):
            raise InputError(f"slip_sinkage: {self.slip_sinkage} is not allowed; it must be 0 or more")
        if not 0 <= self.lug_carry <= 1:
            raise InputError(f"lug_carry: {self.lug_carry} is not allowed; allowed: 0 to 1")
        if self.samples is not None and not 1 <= self.samples <= 4:
            raise InputError(f"samples: {self.samples} is not allowed; allowed: 1 to 4")
        if self.threads is not None and self.threads not in THREADS:
            raise InputError(f"threads: {self.threads!r} is not known; allowed: {', '.join(THREADS)}")
        if self.threads is not None and self.fused is not None and self.fused != (self.threads == "per-world"):
            raise InputError(f"fused: {self.fused} contradicts threads: {self.threads!r}; give threads alone")

    @property
    def by_vertices(self) -> bool:
        """Whether the body touches the soil with its vertices, as in the papers' laws, not with its triangles."""
        return self.laws != DEFAULT

    def one_thread_per_world(self, device: str) -> bool:
        """Whether a step runs in one thread per world on this `device`, else in one thread per node."""
        if self.threads is not None:
            return self.threads == "per-world"
        return self.fused if self.fused is not None else device == "cpu"


class SoilModule(KernelModule):
    """Soil forces and ruts under any number of bodies on one ground: Bekker pressure, Janosi-Hanamoto shear."""

    step_limit = math.inf
    takes_floor = True  # `declare` switches off contact between the soil bodies and the floor of the world

    def __init__(
        self, ground: Ground, surfaces: Mapping[str, Surface], options: SoilOptions | None = None, name: str = "soil"
    ):
        self.ground, self.options, self.name = ground, options or SoilOptions(), name
        self.surfaces = dict(surfaces)
        self.bodies = tuple(self.surfaces)
        self.gravity = GRAVITY  # [m/s^2] of which the weight of soil follows; `declare` sets that of the model
        self.precision = ground.precision
        if not self.bodies:
            raise InputError(f"{name}: no body is given; name at least one")
        check_law_set(self.options, ground)
        for body, surface in self.surfaces.items():
            check_shape_sizes(body, surface, ground.spacing)
        pushing = self.surfaces.values() if self.options.faces else ()
        self._faces = [steep_faces(surface, ground.spacing) for surface in pushing] or [[] for _ in self.surfaces]
        self._check_memory()
        # Per body: the surface that presses on nodes, and the small shapes that press with points.
        if self.options.by_vertices:
            self._parts = [(vertex_cloud(surface, ground.spacing), []) for surface in self.surfaces.values()]
            return
        self._parts = [split(surface, ground.spacing) for surface in self.surfaces.values()]
        if self.options.lugs == "tips":
            for surface, small in self._parts:
                if surface.grouser_count:
                    small.append(lug_tips(surface, ground.spacing))

    def _check_memory(self) -> None:
        """Raise an InputError if the windows of all bodies do not fit into memory.

        All windows have the size that the largest body needs. Pairs of nodes are numbered with 31 bits, which limits
        the number of nodes.
        """
        spacing, count = self.ground.spacing, self.ground.worlds * len(self.bodies)
        body, reach = max(((name, s.reach) for name, s in self.surfaces.items()), key=lambda one: one[1])
        nodes = count * self._window_side() ** 2
        size = nodes * self._node_memory()
        if nodes >= 2**30 or (self.ground.device == "cpu" and size > MEMORY_SHARE * _memory()):
            raise InputError(
                f"spacing: {spacing:g} m under {count} bodies, of which {body!r} is {2 * reach:.3g} m across, "
                f"takes {size / 2**30:.3g} GiB, more than the memory allows: use a larger spacing, or fewer "
                "or smaller bodies"
            )

    def _node_memory(self) -> int:
        """Memory [bytes] of a node: in the window, and in two tiles, as the pool of tiles is copied when it grows."""
        values = 7 if self.options.node_shear else 4  # of a node in a tile: levels, shear state
        tiles = 2 * values * np.dtype(self.precision.numpy).itemsize
        return bytes_per_node(self.precision.name, self.options.node_shear) + tiles

    def _margin(self) -> int:
        """Width of the ring of nodes around a footprint in which soil may slide: room for the pile ahead of a face.

        The sides of wheels are left out: what a wheel pushes aside is no higher than it sinks.
        """
        if not self.options.erosion:
            return 2
        flat = [not surface.rolls for surface in self.surfaces.values()]
        faces = [face.side for of_body, pushes in zip(self._faces, flat, strict=True) if pushes for face in of_body]
        pile = max(faces, default=0.0) / min(soil.slope_limit for soil in self.ground.soils)
        return max(2, round(max(MARGIN, min(pile, LONGEST_PILE)) / self.ground.spacing))

    def _window_side(self) -> int:
        """Nodes along each side of a window: enough for the largest body in any orientation."""
        lugs = int(self.options.by_vertices)  # the vertices of lugs lie outside the surface
        reach = max(s.reach + lugs * s.grouser_height for s in self.surfaces.values())
        return 2 * math.ceil(reach / self.ground.spacing) + 2 * self._margin() + 4

    def declare(self, spec) -> None:
        """Switch off MuJoCo's contact between the soil bodies and the floor of the world. Take over its gravity."""
        import mujoco

        self.gravity = float(np.linalg.norm(spec.option.gravity))
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
        p, device = self.precision, self.ground.device
        self.motion, self.out = motion, out
        self.device, self.worlds = device, motion.position.shape[0]
        if self.worlds != self.ground.worlds:
            raise InputError(f"{self.name}: ground has {self.ground.worlds} worlds, the engine {self.worlds}")
        if self.options.node_shear:
            self.ground.keep_shear()
        self._keep_step(step)
        edges = [surface.longest_edge for surface in self.surfaces.values()]
        dig = {"slip_sinkage": self.options.slip_sinkage, "lug_carry": self.options.lug_carry}
        rounded = [surface.rounded for surface in self.surfaces.values()]
        bodies = (
            *body_arrays(self._parts, edges, rounded, rows, p, device, **dig),
            face_arrays(self._faces, p, device),
        )
        self.arrays = allocate(
            self._parts, self.worlds, self._window_side(), self.ground.arrays, self._make_options(), bodies, p, device
        )
        moving = motion_arrays(motion, p.name)
        between = motion_between(motion, p.name)
        self._observation = Observation(self.ground, motion, rows, out, self.arrays, moving)
        self._spare = len(self.bodies) * (self.arrays.window.side // TILE + 2) ** 2
        per_world = self.options.one_thread_per_world(device)
        kind = PerWorldLauncher if per_world else PerNodeLauncher
        replaced = {**chosen_law(self.options.pressure), **LAW_SETS[self.options.laws].stages()}
        if per_world and self.options.lanes and not replaced and wp.get_device(device).is_cpu:
            replaced = lane_stages()
        launcher = kind(p.name, replaced, device)
        self._record(
            lambda launch: launcher.evaluate(launch, self.arrays, moving, out),
            lambda launch: launcher.commit(launch, self.arrays, moving, between, out),
        )
        self.ground.ensure(self._spare)

    def _make_options(self):
        p, choice, spacing = self.precision, self.options, self.ground.spacing
        o = at(t.Options, p.name)()
        soils = [*self.ground.soils, *([] if self.ground.below is None else [self.ground.below])]
        constants = [soil_constants(soil, choice, self.gravity) for soil in soils]
        columns = {key: [one[key] for one in constants] for key in constants[0]}
        o.soils = records(at(t.Constants, p.name), columns, self.device)
        powers = power_table([soil.n for soil in soils]).astype(self.precision.numpy)
        o.powers = wp.array(powers, dtype=self.precision.vec2, device=self.device)
        o.step = self._step
        sweeps = PAPER_SWEEPS if choice.by_vertices else SWEEPS
        o.sweeps = choice.sweeps if choice.sweeps is not None else sweeps
        if not choice.erosion:
            o.sweeps = 0
        o.weakest = min(soil.slope_limit for soil in self.ground.soils)
        o.margin = self._margin()
        o.spare = min(max(2, round(SPARE / spacing)), o.margin)
        o.samples = choice.samples or (3 if spacing > FINE_SPACING else 2)
        o.block = max(1, round(BLOCK / spacing))
        o.spoil_share = 1 - min(soil.compression for soil in self.ground.soils)
        o.spoil = int(o.spoil_share > 0)
        o.loose = int(choice.loose_cover)
        o.shear_law = SHEAR_LAWS[choice.friction]
        o.lug_tips = int(choice.lugs == "tips")
        o.node_shear = int(choice.node_shear)
        o.creep_speed = choice.creep_speed
        # The papers move the soil once a step. A float32 holds this number.
        o.part_travel = t.FAR if choice.by_vertices else PART_TRAVEL * spacing
        o.stages = wp.array([len(COMMIT), len(EVALUATE)], dtype=wp.int32, device=self.device)
        o.laps = lap_array(self.device)
        o.below = NO_SECOND_SOIL if self.ground.below is None else len(self.ground.soils)
        o.shared_ground = int(len(self.bodies) > 1)
        o.directed_deposit = int(choice.laws == "krenn2009")
        o.deposit_exponent = choice.deposit_exponent
        return o

    # ---- the step -----------------------------------------------------------------------------------

    def commit(self, h: float) -> None:
        super().commit(h)
        self.ground.ensure(self._spare)

    def steps_ahead(self) -> int:
        """Allocate free tiles for several steps ahead. Returns the number of steps they last for.

        In the worst case a step needs new tiles under every window.
        """
        return self.ground.room_for(self._spare)

    def arrays_generation(self) -> int:
        return self.ground.generation

    @property
    def elevation(self) -> ElevationGrid:
        return self.ground.elevation

    # ---- state, channels ----------------------------------------------------------------------------

    def explain(self, code: int) -> tuple[str, bool]:
        if code in REASONS:
            return REASONS[code]
        of_step, of_grid = verdicts(code)
        step, cell, lines = 1e3 * self._h, 1e3 * self.ground.spacing, []
        if of_step:
            lines.append(
                f"speed, sinkage and energy are inaccurate by about {100 * step_error.ROUGH * of_step:.2g} %, because "
                f"a step of {step:.3g} ms is too long for this motion: use a step of {step / of_step:.2g} ms"
            )
        if of_grid:
            lines.append(
                f"sinkage and forces are off by about {100 * grid_error.COARSE * of_grid:.2g} %, because the contact "
                f"has few cells on a grid of {cell:.3g} mm: use a spacing of {cell / of_grid:.2g} mm"
            )
        return "\n".join(lines), False

    def state(self) -> dict[str, wp.array]:
        """Complete state: restoring it, with the ground's, continues the run bit for bit. See `layout.kept`."""
        return self.arrays.layout.state

    def reset(self, worlds: Sequence[int]) -> None:
        self.arrays.layout.reset(worlds)
        self.ground.reset(worlds)

    def volume_error(self) -> np.ndarray:
        """Relative error of the volume balance, (world,): |change of the surface + compressed| / displaced volume."""
        self._observation.refresh()
        return self._observation.values["volume_error"].copy()

    def has_pressed(self) -> np.ndarray:
        """Whether each body has displaced soil since the start, (world, body)."""
        removed = self.arrays.displacement.tally.numpy()["removed"]
        return removed.reshape(self.worlds, len(self.bodies)) > 0

    def observe(self) -> dict[str, np.ndarray]:
        """Return force, sinkage, slip and more of each body now, (world, body, …); see `Observation.read`.

        Every call returns the same arrays with new values: copy what you want to keep.
        """
        return self._observation.read()

    def channels(self) -> list[Channel]:
        count, look = len(self.bodies), self._observation

        def of_bodies(name: str, unit: str, *shape: int, frame: str = "world") -> Channel:
            return Channel(
                f"{self.name}/{name}", unit, (count, *shape), frame, labels=self.bodies,
                source=look.values[name], refresh=look.refresh,
            )  # fmt: skip

        return [
            of_bodies("force", "N", 3),
            of_bodies("torque", "N m", 3),
            of_bodies("sinkage", "m"),
            of_bodies("contact_area", "m^2"),
            of_bodies("slip", "1", frame=""),
            of_bodies("displaced_volume", "m^3"),
            *(of_bodies(name, "J", frame="") for name in ENERGIES),
            Channel(f"{self.name}/volume_error", "1", (), "", source=look.values["volume_error"], refresh=look.refresh),
        ]


def verdicts(code: int) -> tuple[int, int]:
    """Times by which the step is too long and the grid too coarse, from a status code above NOT_FINITE; 0: neither."""
    grid, step = divmod(code - t.NOT_FINITE, grid_error.VERDICTS)
    return TIMES[step], TIMES[grid]


def _memory() -> float:
    """Memory of the machine [bytes]; infinite if unknown."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):  # this system does not report it
        return math.inf


def soil_constants(soil: Soil, options: SoilOptions, gravity: float = GRAVITY) -> dict[str, float]:
    """Fields of `types.Constants` for a soil, the chosen friction laws and the gravity [m/s^2]."""
    tan_phi = math.tan(math.radians(soil.friction_angle_deg))
    mu = -1.0 if soil.wheel_friction is None else soil.wheel_friction
    mu_rim = math.tan(math.radians(soil.wall_angle_deg)) if mu < 0 else mu
    cohesion, mu_cap, largest_shear = soil.cohesion, -1.0, 1.0
    if options.friction == "shear-displacement" and options.interface_friction == "caps":
        mu, mu_cap = -1.0, mu
        # mu p / (c + p tan(phi)) is below mu / tan(phi) at every pressure, so the stored state need not know it.
        largest_shear = min(mu_cap / tan_phi, 1.0) if 0 <= mu_cap < tan_phi else 1.0
    if options.friction == "coulomb":  # Krenn et al. 2008, eq. 19: only friction between wheel and soil, no cohesion
        tan_phi, cohesion = (tan_phi if mu < 0 else mu), 0.0
    return {
        "k_c": soil.k_c, "k_phi": soil.k_phi, "n": soil.n, "cohesion": cohesion, "tan_phi": tan_phi,
        "shear_k": soil.shear_modulus, "k_e": soil.elastic_stiffness,
        "per_k_e": 1 / soil.elastic_stiffness, "damping_time": soil.damping_time,
        "chi": soil.compression, "mu": mu, "mu_cap": mu_cap, "mu_rim": mu_rim,
        "largest_shear": largest_shear,
        "tan_repose": soil.slope_limit,
        "unit_weight": soil.density * gravity, "phi": math.radians(soil.friction_angle_deg),
        "wall_angle": math.radians(soil.wall_angle_deg),
    }  # fmt: skip
