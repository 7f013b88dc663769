"""Force module of deformable soil: options, allocation of device arrays, kernel launches."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import warp as wp

from grouser.contact.soil import grid_error, step_error
from grouser.contact.soil import types as t
from grouser.contact.soil.arrays import (
    allocate,
    body_arrays,
    face_arrays,
    motion_arrays,
    motion_of,
    outputs_of,
)
from grouser.contact.soil.bottom import NO_SECOND_SOIL
from grouser.contact.soil.launchers import PerWorldLauncher
from grouser.contact.soil.law_sets import DEFAULT, LAW_SETS, check_law_set, fixed_options
from grouser.contact.soil.layout import LAYOUTS, PER_WORLD, TEAMS, bytes_per_node
from grouser.contact.soil.limits import soil_limits
from grouser.contact.soil.losses import CHANNELS as ENERGIES
from grouser.contact.soil.lugs import lug_tips
from grouser.contact.soil.node_lanes import lane_stages
from grouser.contact.soil.observation import Observation
from grouser.contact.soil.pressure import PRESSURE_LAWS, chosen_law
from grouser.contact.soil.small_shapes import check_shape_sizes, split
from grouser.contact.soil.soil_table import Margin, SoilTable
from grouser.contact.soil.spoil import WIDEST
from grouser.contact.soil.stage_clock import lap_array
from grouser.contact.soil.stages import COMMIT, EVALUATE
from grouser.contact.soil.steep_faces import steep_faces
from grouser.contact.soil.surface import Surface
from grouser.contact.soil.vertex_cloud import vertex_cloud
from grouser.device import at
from grouser.errors import InputError
from grouser.kernel_module import KernelModule
from grouser.launches import Launches, StepLaunches
from grouser.module import Channel, Limit, Motion, Outputs
from grouser.resets import world_mask
from grouser.terrain import checks
from grouser.terrain.elevation import ElevationGrid
from grouser.terrain.ground import TILE, Ground, check_device_memory

PART_TRAVEL = 0.125  # [cells] default of `SoilOptions.part_travel`
FINE_SPACING = 7.5e-3  # [m] up to this spacing two sub-cell points per axis are enough, above it three
SWEEPS = 1000  # maximum number of erosion sweeps per step; a slide ends long before
PAPER_SWEEPS = 1  # the same with the papers' laws, which do not say how many (assumed)
MARGIN = 0.2  # [m] default of `SoilOptions.margin`
AT_ONCE = 4096  # worlds that work at the same time on a GPU
LONGEST_PILE = 1.0  # [m] default of `SoilOptions.longest_pile`
FLATTEST = 0.3  # least slope limit of soils that worlds draw anew for which windows hold the whole pile (assumed)
SPARE = 0.1  # [m] extra window around the footprint and sliding soil: a slide runs no farther in one step
TEAM_SPARE = 0.06  # [m] the same for teams of lanes, whose windows take memory of thousands of worlds
BLOCK = 0.05  # [m] displaced soil is summed over blocks this wide before it is put on the border
FACE_INTERVAL = 0.05  # [cells] default of `SoilOptions.face_interval`
GRAVITY = 9.81  # [m/s^2] where no model says otherwise
MEMORY_SHARE = 0.8  # largest share of the machine's memory that windows may use
SHEAR_LAWS = {
    "shear-displacement": t.SHEAR_DISPLACEMENT, "mohr-coulomb": t.SHEAR_LIMIT, "coulomb": t.SHEAR_LIMIT,
    "none": t.NO_SHEAR,
}  # fmt: skip
INTERFACES = ("scales", "caps")  # what friction of body on soil does to the shear curve
LUG_LAWS = ("share", "tips")
THREADS = ("per-world", "per-team")  # kernels of per_world.py or of per_team.py
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
    # Soil that a body pushes or drags away takes its virgin level along. False: the ground under a law with forces of
    # its own that counts depth from there (contact/rft). Sinkage leaves the virgin level where it was, slip does not
    # dig, and small shapes press on nodes as others do.
    digs: bool = True
    samples: int | None = None  # sub-cell points along an axis, 1 to 4; None: chosen by grid spacing
    node_shear: bool = False  # True: store the shear state on soil nodes instead of on the body (gives too much pull)
    creep_speed: float = 1e-3  # [m/s] slip speed below which "mohr-coulomb" and "coulomb" are regularised
    fused: bool | None = None  # older name of `threads`: True is "per-world", False is "per-team"
    pressure: str = "bekker"  # one of pressure.PRESSURE_LAWS
    faces: bool = True  # steep faces of bodies push the soil ahead of them
    face_interval: float = FACE_INTERVAL  # [cells] advance of a face after which its wedge is computed again
    threads: str | None = None  # one of THREADS; None: "per-world" on CPU, "per-team" on GPU
    lanes: bool = True  # "per-world" on a CPU: forces of eight nodes at once (node_lanes.py); False: one by one
    laws: str = DEFAULT  # one of law_sets.LAW_SETS; the papers' own laws fix most of the other options
    # Worlds that work at the same time; the others use the same scratch memory after them. None: all on a CPU, AT_ONCE
    # on a GPU.
    worlds_at_once: int | None = None
    margin: float = MARGIN  # [m] distance from a footprint within which soil may slide, without faces that pile it up
    longest_pile: float = LONGEST_PILE  # [m] the same with faces that pile up soil, at most
    deposit_exponent: float = 2.0  # m of Krenn and Hirzinger 2009, eq. 10, above 1 (assumed); "krenn2009" alone
    # [cells] travel along the ground in a part of a step (`placement.parts_of_step`). A larger one is faster, and right
    # for bodies that roll rather than push: see docs/traverse.md, where it is compared.
    part_travel: float = PART_TRAVEL

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
        if self.worlds_at_once is not None:
            checks.count(self.worlds_at_once, "worlds_at_once", at_least=1)
        checks.number(self.margin, "margin", above=0)
        checks.number(self.longest_pile, "longest_pile", above=0)
        checks.number(self.face_interval, "face_interval", above=0, at_most=1)
        checks.number(self.part_travel, "part_travel", above=0)
        if self.threads is not None and self.threads not in THREADS:
            raise InputError(f"threads: {self.threads!r} is not known; allowed: {', '.join(THREADS)}")
        if self.threads is not None and self.fused is not None and self.fused != (self.threads == "per-world"):
            raise InputError(f"fused: {self.fused} contradicts threads: {self.threads!r}; give threads alone")

    @property
    def by_vertices(self) -> bool:
        """Whether the body touches the soil with its vertices, as in the papers' laws, not with its triangles."""
        return self.laws != DEFAULT

    def one_thread_per_world(self, device: str) -> bool:
        """Whether a step runs in one thread per world on this `device`, else by one team of lanes per body."""
        if self.threads is not None:
            return self.threads == "per-world"
        return self.fused if self.fused is not None else device == "cpu"


class SoilModule(KernelModule):
    """Soil forces and ruts under any number of bodies on one ground: Bekker pressure, Janosi-Hanamoto shear."""

    step_limit = math.inf
    fatal_codes = len(REASONS) + 1  # status codes below this may be fatal
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
        whole = not self.options.digs
        self._parts = [(s, []) if whole else split(s, ground.spacing) for s in self.surfaces.values()]
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
        kept, scratch = self._node_memory()
        body, reach = max(((name, s.reach) for name, s in self.surfaces.items()), key=lambda one: one[1])
        nodes = count * self._window_nodes()
        size = nodes * kept + nodes // self.ground.worlds * self._at_once() * scratch
        check_device_memory(size, self.ground.device, self.ground.worlds, "windows of the bodies")
        if nodes >= 2**30 or (self.ground.device == "cpu" and size > MEMORY_SHARE * _memory()):
            raise InputError(
                f"spacing: {spacing:g} m under {count} bodies, of which {body!r} is {2 * reach:.3g} m across, "
                f"takes {size / 2**30:.3g} GiB, more than the memory allows: use a larger spacing, or fewer "
                "or smaller bodies"
            )

    def _node_memory(self) -> tuple[int, int]:
        """Memory [bytes] of a node: state, and scratch.

        State is that in the window, and in two tiles, as the pool of tiles is copied when it grows.
        """
        values = 7 if self.options.node_shear else 4  # of a node in a tile: levels, shear state
        tiles = 0 if self.ground.fixed else 2 * values * np.dtype(self.precision.numpy).itemsize
        kept, scratch = bytes_per_node(self.precision.name, self.options.node_shear, self._left_out())
        return kept + tiles, scratch

    def _left_out(self) -> str:
        """Kernels that do not run, whose own arrays are not needed."""
        if self.options.one_thread_per_world(self.ground.device):
            return TEAMS
        return "" if self.options.by_vertices else PER_WORLD

    def _at_once(self) -> int:
        """Number of worlds that work at the same time. On a GPU the others share their scratch."""
        given = self.options.worlds_at_once or (self.ground.worlds if self.ground.device == "cpu" else AT_ONCE)
        return min(given, self.ground.worlds)

    def _margin(self) -> Margin:
        """Width of the ring of nodes around a footprint in which soil may slide.

        The sides of wheels are left out: what a wheel pushes aside is no higher than it sinks.
        """
        flat = [not surface.rolls for surface in self.surfaces.values()]
        faces = [face.side for of_body, pushes in zip(self._faces, flat, strict=True) if pushes for face in of_body]
        shortest, longest = (self.options.margin, self.options.longest_pile) if self.options.erosion else (0.0, 0.0)
        any_size = Margin(max(faces, default=0.0), shortest, longest, self.ground.spacing, sys.maxsize)
        of_worlds = self.ground.world_soils
        weakest = min(soil.slope_limit for soils in of_worlds or (self.ground.soils,) for soil in soils)
        if self.options.erosion and weakest <= 0:
            raise InputError(
                "soil: a friction or repose angle of 0 degrees: it never stops sliding; allowed with erosion = False"
            )
        # Soils may be drawn anew: windows have room for the pile of a weaker one.
        return replace(any_size, most=any_size.nodes(weakest if of_worlds is None else min(weakest, FLATTEST)))

    def _window_side(self) -> int:
        """Nodes along each side of a window: enough for the largest body in any orientation."""
        lugs = int(self.options.by_vertices)  # the vertices of lugs lie outside the surface
        reach = max(s.reach + lugs * s.grouser_height for s in self.surfaces.values())
        return 2 * math.ceil(reach / self.ground.spacing) + 2 * self._margin().most + 4

    def _spare_nodes(self) -> int:
        """Nodes around the footprint and around sliding soil that a window has to spare."""
        one_thread = self.options.one_thread_per_world(self.ground.device)
        spare = max(2, round((SPARE if one_thread else TEAM_SPARE) / self.ground.spacing))
        return min(spare, self._margin().nodes(math.inf))

    def _window_nodes(self) -> int:
        """Room for nodes in each window.

        Teams of lanes have room for the largest footprint in any orientation with spare nodes around it. A footprint
        is mostly smaller, which leaves room for slides. Bodies that pile up soil need a window of full size.
        """
        side, margin = self._window_side(), self._margin()
        piles = margin.most > margin.nodes(math.inf)
        if self.options.one_thread_per_world(self.ground.device) or piles:
            return side**2
        return (side - 2 * margin.most + 2 * self._spare_nodes()) ** 2

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
        per_world = self._per_world = self.options.one_thread_per_world(device)
        self.arrays = allocate(
            self._parts, self.worlds, self._window_side(), self._window_nodes(), self.ground.arrays,
            self._make_options(), bodies, p, device, self._at_once(), self._left_out(),
        )  # fmt: skip
        moving = motion_arrays(motion, p.name)
        self._observation = Observation(self.ground, motion, rows, out, self.arrays, moving)
        self._spare = len(self.bodies) * (self.arrays.window.side // TILE + 2) ** 2
        kind = PerWorldLauncher if per_world else _team_launcher()
        replaced = {**chosen_law(self.options.pressure), **LAW_SETS[self.options.laws].stages()}
        if per_world and self.options.lanes and not replaced and wp.get_device(device).is_cpu:
            replaced = lane_stages()
        launcher = kind(p.name, replaced, device)
        self._launcher, self._parts_of_worlds = launcher, {}
        at_once = self._at_once()
        parts = [range(first, min(first + at_once, self.worlds)) for first in range(0, self.worlds, at_once)]
        self._all_parts = parts
        self._record(lambda launch: [self._launch_part(launch, part, "evaluate") for part in parts], self.launch_commit)
        self.ground.held_by(self._held if per_world else None)
        self.make_room()

    def _held(self) -> np.ndarray:
        """Nodes of the windows, (window, 5): world, first row, one past the last, first column, one past the last."""
        frame = self.arrays.window.frame.numpy()
        world = np.repeat(np.arange(self.worlds), len(self.bodies))
        row, column = frame["row0"], frame["column0"]
        boxes = np.column_stack([world, row, row + frame["rows"], column, column + frame["columns"]])
        return boxes[frame["rows"] > 0]

    def _make_options(self):
        p, choice, spacing = self.precision, self.options, self.ground.spacing
        o = at(t.Options, p.name)()
        self.soils = table = SoilTable(self.ground, choice, self.gravity, len(self.bodies), self._margin(), self.device)
        o.soils, o.powers, o.weakest, o.spoil_share = table.soils, table.powers, table.weakest, table.spoil_share
        o.active = self._active = wp.ones(self.worlds, dtype=wp.int32, device=self.device)
        o.step = self._step
        sweeps = PAPER_SWEEPS if choice.by_vertices else SWEEPS
        o.sweeps = choice.sweeps if choice.sweeps is not None else sweeps
        if not choice.erosion:
            o.sweeps = 0
        o.margin = table.margin
        o.spare = self._spare_nodes()
        o.samples = choice.samples or (3 if spacing > FINE_SPACING else 2)
        o.block = min(max(1, round(BLOCK / spacing)), WIDEST)
        o.spoil = int(table.displaces())
        o.loose = int(choice.loose_cover)
        o.digs = int(choice.digs)
        o.shear_law = SHEAR_LAWS[choice.friction]
        o.lug_tips = int(choice.lugs == "tips")
        o.node_shear = int(choice.node_shear)
        o.creep_speed = choice.creep_speed
        # The papers move the soil once a step. A float32 holds this number.
        o.part_travel = t.FAR if choice.by_vertices else choice.part_travel * spacing
        o.face_interval = choice.face_interval * spacing
        o.stages = wp.array([len(COMMIT), len(EVALUATE)], dtype=wp.int32, device=self.device)
        o.laps = lap_array(self.device)
        o.below = NO_SECOND_SOIL if self.ground.below is None else table.soils.shape[0] - 1
        o.shared_ground = int(len(self.bodies) > 1)
        o.directed_deposit = int(choice.laws == "krenn2009")
        o.deposit_exponent = choice.deposit_exponent
        return o

    # ---- the step -----------------------------------------------------------------------------------

    def commit(self, h: float) -> None:
        super().commit(h)
        self.make_room()

    def launch_commit(self, launch: Any) -> None:
        """Launch the stages that move the soil, for a module with its own forces that records them with its own."""
        for part in self._all_parts:
            self._launch_part(launch, part, "commit")

    def make_room(self) -> None:
        """Allocate the tiles of ground that the next step may need."""
        self.ground.ensure(self._spare)

    def commit_worlds(self, h: float, mask: wp.array) -> None:
        """Commit only the worlds whose `mask`, (world,) int32 on the device, is 1. The others stay as they are."""
        self.choose_worlds(mask)
        super().commit(h)
        self.choose_worlds(None)
        self.make_room()

    def choose_worlds(self, mask: wp.array | None) -> None:
        """Let the launches of `commit` act only on the worlds whose `mask`, (world,) int32, is 1; None: on all."""
        if mask is None:
            self._active.fill_(1)
        else:
            wp.copy(self._active, mask)

    def launches_of(self, h: float, part: range) -> tuple[Launches, Launches] | None:
        """Launches of `evaluate` and `commit` that act on some worlds only, to run beside those of other worlds.

        None if this device or kind of kernels has none.
        """
        if not self._per_world or self.device != "cpu":
            return None
        self.launches(h)  # the step is the same array
        if part not in self._parts_of_worlds:
            self._parts_of_worlds[part] = StepLaunches(
                lambda launch: self._launch_part(launch, part, "evaluate"),
                lambda launch: self._launch_part(launch, part, "commit"),
                self.device,
            )
        return self._parts_of_worlds[part].recorded(self.arrays_generation())

    def _launch_part(self, launch: Any, part: range, stage: str) -> None:
        """Launch the kernels of some worlds."""
        arrays, out = self.arrays.of_worlds(part), outputs_of(self.out, part)
        moving = motion_arrays(motion_of(self.motion, part), self.precision.name)
        if stage == "evaluate":
            self._launcher.evaluate(launch, arrays, moving, out)
        else:
            self._launcher.commit(launch, arrays, moving, out)

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
        return self.arrays.layout.state | self.soils.state()

    def reset(self, worlds: Sequence[int] | wp.array) -> None:
        """Reset some worlds, given by number or as a mask (world,) int32 on the device. Their soils stay."""
        mask = world_mask(worlds, self.worlds, self.device)
        self.arrays.layout.reset(mask)
        self.ground.reset(mask)

    def set_soil(self, worlds: Sequence[int] | wp.array, fields: Mapping[str, Any]) -> None:
        """Set constants of the soils of some worlds: `SoilTable.set_values`. Reset these worlds afterwards."""
        self.soils.set_values(worlds, fields)

    def memory(self) -> int:
        """Memory [bytes] of all worlds: windows, state of the bodies, tiles."""
        return sum(self.memory_by_array().values())

    def memory_by_array(self) -> dict[str, int]:
        """Memory [bytes] of all worlds by array, the largest first. Scratch that stages share is one entry."""
        ground = {f"ground/{name}": array.capacity for name, array in self.ground.state().items()}
        return dict(sorted({**self.arrays.layout.bytes, **ground}.items(), key=lambda one: -one[1]))

    def reset_energy(self) -> None:
        """Begin the accounts of work anew, in all worlds, as if the bodies started where they are."""
        for name in LAYOUTS[t.Energy]:
            getattr(self.arrays.energy, name).zero_()

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

    def observe_on_device(self) -> dict[str, wp.array]:
        """The same as arrays on the device, without a copy to the host."""
        return self._observation.read_on_device()

    def work(self) -> float:
        """Nodes under all bodies: about what the time of a step is proportional to."""
        return float(self.ground.worlds * len(self.bodies) * self._window_nodes())

    def limits(self) -> list[Limit]:
        return soil_limits(self.name, self.surfaces)

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


def _team_launcher() -> Any:
    """The launcher of teams. Its kernels take a tenth of a second to load."""
    from grouser.contact.soil.team_launcher import PerTeamLauncher

    return PerTeamLauncher


def _memory() -> float:
    """Memory of the machine [bytes]; infinite if unknown."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):  # this system does not report it
        return math.inf
