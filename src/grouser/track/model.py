"""Force module of tracks: tables, allocation, kernel launches, channels."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import warp as wp

from grouser import device
from grouser.device import at
from grouser.errors import InputError
from grouser.kernel_module import KernelModule
from grouser.module import Channel, Limit, Motion, Outputs, Shape
from grouser.precision import precision
from grouser.standby import LINE, standby
from grouser.terrain.elevation import ElevationGrid
from grouser.terrain.ground import TILE, Ground
from grouser.terrain.soils import soil
from grouser.track import kernels, table_rows
from grouser.track import types as t
from grouser.track.assembly import Assembly
from grouser.track.display import floor, shapes
from grouser.track.ground import GridGround, MeshGround, SoilGround, Terrain, ground_arrays
from grouser.track.limits import track_limits
from grouser.track.momentum import momentum_of
from grouser.track.observation import TrackObservation
from grouser.track.pace import choose_threads, new_pace
from grouser.track.parts import Link, TrackWheel, WheelContact
from grouser.track.stages import slides

LARGEST_STEP = 2e-3  # [s] largest step of the engine: during it wheels are extrapolated with constant velocity
STABLE_SHARE = 0.8  # share of the explicit limit of the bushings that is used: wheels and ground are stiff too
IMPLICIT_STEP = 1e-3  # [s] largest substep at which the implicit scheme is accurate
CONTACTS = 16  # room for contacts per link
OF_JOINT = (
    "radial_stiffness", "axial_stiffness", "radial_damping", "axial_damping", "roll_stiffness", "yaw_stiffness",
    "tilt_damping", "pin_damping", "back_bend_angle", "back_bend_stiffness", "back_bend_damping",
)  # fmt: skip  # fields of `types.Track` that are copied from `PinBushing`
OF_CONTACT = (
    "tooth_stiffness", "tooth_damping", "side_gap", "side_stiffness", "side_damping", "roller_stiffness",
    "roller_damping", "friction", "full_friction_speed", "full_damping_depth",
)  # fmt: skip  # and from `WheelContact`
OF_LINKS = ("tension", "tooth_load", "shoe_load", "shoe_force", "shoe_normal", "shoe_lever")  # in `types.Results`
WEAR = ("link", "wheel", "normal_force", "sliding_speed", "x", "z")  # columns of the wear channel
REASONS = {
    t.BROKEN: ("the chain diverged: links move faster than 1 km/s; use smaller substeps", True),
    t.FULL: ("too many contacts: increase `contacts`", True),
    t.OUTSIDE: ("a shoe has left the given ground", True),
}
MOVED = 0.05  # [m] most that a link moves in a step of 2 ms, at 25 m/s
SLIDE_REACH = slides.REACH + slides.SPREAD  # [nodes] from a footprint to the farthest node that may slide in a step


@dataclass(frozen=True)
class Track:
    """One chain around its wheels."""

    name: str
    link: Link
    wheels: tuple[TrackWheel, ...]
    assembly: Assembly
    frame: str  # body in whose frame the assembly is given
    offset: tuple[float, float, float] = (0.0, 0.0, 0.0)  # [m] origin of the assembly in that frame
    contact: WheelContact = field(default_factory=WheelContact)

    @property
    def bodies(self) -> tuple[str, ...]:
        """The frame, then all other bodies that carry wheels."""
        return tuple(dict.fromkeys((self.frame, *(wheel.body for wheel in self.wheels))))

    @property
    def mass(self) -> float:
        return len(self.assembly.position) * self.link.mass


class TrackModule(KernelModule):
    """Any number of tracks. Links have six degrees of freedom inside the module; it gives wrenches on wheel bodies."""

    def __init__(
        self,
        tracks: Sequence[Track],
        ground: Terrain | None = None,
        *,
        scheme: Literal["implicit", "explicit"] = "implicit",
        substeps: int | None = None,
        gravity: float | tuple[float, float, float] = 9.81,
        threads: int = 1,
        lists: bool = True,
        contacts: int = CONTACTS,
        derivatives: bool = False,
        name: str = "track",
    ):
        """`substeps` per step (default: by the stability bound); `gravity` [m/s^2] downwards, or a vector.

        `derivatives`: tell the host how the wrench on each body falls with its velocity (`Outputs.implicit`). Light
        bodies that carry wheels, such as road arms, need it; implicit scheme only.
        """
        if not tracks:
            raise InputError(f"{name}: no tracks given")
        if scheme not in ("implicit", "explicit"):
            raise InputError(f"{name}: scheme: {scheme!r} is not known; allowed: 'implicit', 'explicit'")
        if derivatives and scheme != "implicit":
            raise InputError(f"{name}: derivatives: not allowed with scheme {scheme!r}; allowed: 'implicit'")
        self.derivatives = derivatives
        self.name, self.tracks, self.ground, self.scheme = name, tuple(tracks), ground, scheme
        self.bodies = tuple(dict.fromkeys(body for track in self.tracks for body in track.bodies))
        self.step_limit = LARGEST_STEP
        self.threads, self._lists, self._room, self._given = threads, lists, contacts, substeps
        self.gravity = np.array(gravity if isinstance(gravity, tuple) else (0.0, 0.0, -gravity))

    def declare(self, spec) -> None:
        """Do nothing: links are not bodies of the engine."""

    def substeps(self, track: Track, step: float) -> int:
        """Number of substeps per step: as given, or from the stability bound."""
        largest = IMPLICIT_STEP if self.scheme == "implicit" else STABLE_SHARE * track.link.largest_step
        if self._given is not None:
            if self.scheme == "explicit" and step / self._given > track.link.largest_step:
                needed = math.ceil(step / track.link.largest_step)
                raise InputError(
                    f"{self.name}: substeps: {self._given} of {step:g} s are not stable with the explicit scheme; at "
                    f"least {needed} are needed (bound {track.link.largest_step:.2g} s)"
                )
            return self._given
        return max(1, math.ceil(step / largest - 1e-9))

    # ---- allocation -----------------------------------------------------------------------------------

    def bind(self, motion: Motion, rows: Sequence[int], out: Outputs, step: float) -> None:
        self.motion, self.out, self.device = motion, out, motion.position.device
        self.precision = precision("float64" if motion.position.dtype._wp_scalar_type_ == wp.float64 else "float32")
        self.kernels = device.kernels(kernels, self.precision.name)
        self.worlds = motion.position.shape[0]
        self._keep_step(step)
        self._tables = self._make_tables(rows, step)
        self._ground = ground_arrays(self.ground, self.precision, self._array, self.tracks[0].link.shoe.width)
        self._bind_soil()
        self._allocate()
        wp.load_module(self.kernels.run_tracks.module, device=self.device)
        offsets = self._array([track.offset[1] for track in self.tracks], self.precision.real)
        self._observation = TrackObservation(
            self.precision.name, self._tables, self._committed, self._wheels, self._results, motion, offsets
        )
        self._record(self._record_evaluate, self._record_commit)
        # A second thread takes one of the tracks where that is faster; see pace.py.
        several = self.threads > 1 and self.worlds * len(self.tracks) > 1 and wp.get_device(self.device).is_cpu
        self._beside = standby() if several else None
        self._taken, self._pieces = (wp.zeros(n, dtype=wp.int32, device=self.device) for n in (2 * LINE, 1))
        self._pace, self._laps = new_pace(), wp.zeros(1, dtype=wp.int64, device="cpu")

    def _bind_soil(self) -> None:
        """Set the deformable grid: that of the simulation, or an unused dummy for other kinds of ground."""
        if isinstance(self.ground, SoilGround):
            self._soil = self.ground.ground
            if self._soil.worlds != self.worlds:
                raise InputError(f"{self.name}: ground has {self._soil.worlds} worlds, the engine {self.worlds}")
        else:
            nothing = ElevationGrid(np.zeros((5, 5)), 1.0, (0.0, 0.0))
            self._soil = Ground(
                nothing,
                soil("clay"),
                worlds=self.worlds,
                dtype=self.precision.name,
                device=str(self.device),
                capacity=1,
            )
        self._spare = sum(map(self._tiles_under, self.tracks)) if isinstance(self.ground, SoilGround) else 0
        self._soil.held_by(None)  # shoes read levels of tiles in use only
        self._soil.reserve(self._spare)

    def _tiles_under(self, track: Track) -> int:
        """Largest number of new tiles that a track and the soil beside it may touch within a step, in any direction."""
        tile = TILE * self._soil.spacing
        length, width = self._extent(track)
        return math.ceil(1.5 * (length / tile + 2) * (width / tile + 2))

    def _array(self, values, dtype) -> wp.array:
        if not isinstance(dtype, device.Struct):
            kind = np.int32 if dtype in (wp.int32, wp.vec3i) else self.precision.numpy
            values = np.ascontiguousarray(values, kind)
        return wp.array(values, dtype=dtype, device=self.device)

    def _kind(self, struct: Any) -> Any:
        """A device struct at the float type of this module."""
        return at(struct, self.precision.name)

    def _make_tables(self, rows: Sequence[int], step: float):
        c, p, tracks = self._kind(t.Tables)(), self.precision, self.tracks
        wheels = [wheel for track in tracks for wheel in track.wheels]
        carriers = [body for track in tracks for body in track.bodies]
        row_of = dict(zip(self.bodies, rows, strict=True))
        real, integer = p.real, wp.int32
        c.row = self._array([row_of[b] for b in carriers], integer)
        c.out = self._array([self.bodies.index(b) for b in carriers], integer)
        c.carrier = self._array([track.bodies.index(w.body) for track in tracks for w in track.wheels], integer)
        fixed = [w.kind == "sprocket" or w.turns_with_body for w in wheels]
        c.turns = self._array([t.FIXED if f else t.FREE for f in fixed], integer)
        c.place, c.axis = (self._array([getattr(w, n) for w in wheels], p.vec3) for n in ("place", "axis"))
        c.start = self._array([self._first_gap(track, w) for track in tracks for w in track.wheels], p.vec3)
        c.inertia, c.drag, c.reach = (
            self._array([getattr(w, n) for w in wheels], real) for n in ("inertia", "drag", "reach")
        )
        c.teeth = self._array([w.sprocket.teeth if w.sprocket else 0 for w in wheels], integer)
        profiles = [w.sprocket.gap if w.sprocket else w.profile for w in wheels]
        groups = [[*w.sprocket.groups, -1] if w.sprocket else [0] * len(w.profile) for w in wheels]
        c.first_point = self._array(np.cumsum([0, *map(len, profiles)]), integer)
        c.profile = self._array(np.concatenate([np.array(q, float) for q in profiles]), p.vec2)
        segment = self._kind(t.Segment)
        c.segment = self._array(
            np.concatenate([table_rows.segments(q, segment.numpy_dtype()) for q in profiles]), segment
        )
        c.group = self._array(np.concatenate(groups), integer)
        points = max(len(track.link.rail.sections[0]) for track in tracks)
        c.station = self._array(np.concatenate([track.link.rail.stations for track in tracks]), real)
        c.per_station = self._array(
            np.concatenate([table_rows.per_station(track.link.rail.stations) for track in tracks]), real
        )
        sections = [np.array(track.link.rail.sections, float) for track in tracks]
        shares = [track.link.rail.shares() for track in tracks]
        c.section = self._array(np.concatenate([table_rows.padded(s, points) for s in sections]), p.vec2)
        c.share = self._array(np.concatenate([table_rows.padded(s, points) for s in shares]), real)
        markers = [track.link.shoe.marker_table(track.link.pitch) for track in tracks]
        c.marker = self._array(np.concatenate([m[0] for m in markers]), p.vec3)
        c.area, c.blade = (self._array(np.concatenate([m[k] for m in markers]), real) for k in (1, 2))
        c.start_position = self._array(
            np.concatenate([track.assembly.position + track.offset for track in tracks]), p.vec3
        )
        c.start_rotation = self._array(np.concatenate([track.assembly.rotation() for track in tracks]), p.quat)
        c.track = self._make_track_table([len(m[0]) for m in markers], step)
        return c

    @staticmethod
    def _first_gap(track: Track, wheel: TrackWheel) -> tuple[float, float, float]:
        """Direction of a gap in the frame of the sprocket's body, which must be aligned with the frame at the start."""
        angle = track.assembly.first_gap.get(wheel.name, 0.0)
        return (math.cos(angle), 0.0, math.sin(angle))

    def _make_track_table(self, marker_counts: list[int], step: float) -> wp.array:
        table: Any = np.zeros(len(self.tracks), dtype=self._kind(t.Track).numpy_dtype())
        first: dict[str, int] = dict.fromkeys(
            ("link", "wheel", "carrier", "contact", "candidate", "marker", "grip", "station"), 0
        )
        for k, (track, markers) in enumerate(zip(self.tracks, marker_counts, strict=True)):
            link, joint, touch = track.link, track.link.joint, track.contact
            links, wheels = len(track.assembly.position), len(track.wheels)
            counts = {
                "link": links, "wheel": wheels, "carrier": len(track.bodies), "contact": self._room * links,
                "candidate": links * wheels, "marker": markers, "grip": links * markers,
                "station": len(link.rail.stations),
            }  # fmt: skip
            values = {
                **{f"first_{what}": first[what] for what in first},
                "links": links, "wheels": wheels, "carriers": len(track.bodies), "contacts": self._room * links,
                "markers": markers, "stations": len(link.rail.stations), "section_points": len(link.rail.sections[0]),
                "frame": track.bodies.index(track.frame), "substeps": self.substeps(track, step),
                "implicit": int(self.scheme == "implicit"), "neighbour_lists": int(self._lists),
                "back_bend_by_shoes": int(joint.back_bend == "shoes"),
                "pitch": link.pitch, "mass": link.mass, "inertia": link.inertia,
                "per_inertia": 1 / np.array(link.inertia), "bushing_radius": link.bushing_radius,
                "rail_height": link.rail.height, "rail_overlap": link.rail.overlap,
                "ground_reach": self._ground_reach(track),
                **{name: getattr(joint, name) for name in OF_JOINT},
                "edge_x": (link.pitch - joint.edge_gap) / 2, "edge_y": link.shoe.width / 4, "edge_z": -link.shoe.depth,
                "edge_stiffness": joint.edge_stiffness / 2, "edge_damping": joint.edge_damping / 2,
                "shoe_width": link.shoe.width,
                "lesser_of_plane_and_face": int(link.shoe.grouser_strength == "lesser"),
                "grouser_height": link.shoe.grouser_height,
                "grouser_gap": link.pitch / max(link.shoe.grousers, 1) - link.shoe.grouser_thickness,
                **{name: getattr(touch, name) for name in OF_CONTACT},
                "gravity": self.gravity,
            }  # fmt: skip
            for key, value in values.items():
                table[key][k] = value
            for what, count in counts.items():
                first[what] += count
        self._first_link = np.cumsum([0] + [len(track.assembly.position) for track in self.tracks])
        self._first_wheel = np.cumsum([0] + [len(track.wheels) for track in self.tracks])
        self._totals = {**first, "track": len(self.tracks)}
        return wp.array(table, dtype=self._kind(t.Track), device=self.device)

    def _allocate(self) -> None:
        """Allocate the state and the working arrays, as declared by the structs."""
        shape = {"anchor": "grip", "gripped": "grip", "wheel_rate": "wheel", "impulse": "track", "placed": "track"}
        self._committed, self._trial = (self._make(t.State, "link", shape) for _ in range(2))
        self._carriers = self._make(t.Carriers, "carrier", {})
        self._wheels = self._make(t.Wheels, "wheel", {"near_links": "candidate"})
        self._links = self._make(t.Links, "link", {})
        self._contacts = self._make(t.Contacts, "track", {"contact": "contact", "low_links": "link"})
        self._results = self._make(t.Results, "track", dict.fromkeys(OF_LINKS, "link"))
        self._ruts = self._make(t.Ruts, "track", {"owed": "link"})
        side = max(map(self._heap_side, self.tracks)) if isinstance(self.ground, SoilGround) else 1
        self._totals["node"] = len(self.tracks) * side**2
        self._totals["pair"] = 2 * self._totals["node"]
        self._heap = self._make(t.Heap, "node", {"steep": "pair"})
        self._heap.side = side

    def _heap_side(self, track: Track) -> int:
        """Nodes along each side of a square that holds a track and the soil beside it, in any direction."""
        length, width = self._extent(track)
        return math.ceil(math.hypot(length, width) / self._soil.spacing) + 2 * (slides.REACH + slides.SPREAD) + 2

    def _ground_reach(self, track: Track) -> float:
        """Height [m] of a link above the ground below it, from which on its shoe cannot touch any in this step.

        Soil rises by no more than it is away (45 degrees); grids and meshes may have steeper steps.
        """
        shoe, pitch = track.link.shoe, track.link.pitch
        if isinstance(self.ground, GridGround | MeshGround):
            return pitch + shoe.width + shoe.depth + shoe.grouser_height
        corner = math.hypot(pitch / 2, shoe.width / 2, shoe.depth + shoe.grouser_height)
        return (2.0 if isinstance(self.ground, SoilGround) else 1.0) * corner + MOVED

    @staticmethod
    def _extent(track: Track) -> tuple[float, float]:
        """Length [m] of a track, and its width with the soil that it puts beside its shoes."""
        return len(track.assembly.position) / 2 * track.link.pitch, 3 * track.link.shoe.width

    def _make(self, struct: Any, rows: str, others: dict[str, str]) -> Any:
        """A struct of zero arrays, (world, row). `rows` names what a row is, `others` the fields that differ."""
        made, kind = self._kind(struct)(), self._kind(struct)
        arrays = {name: given for name, given in device.fields(kind).items() if hasattr(given, "ndim")}
        for name, field_type in arrays.items():
            shape = (self.worlds, max(self._totals[others.get(name, rows)], 1))
            setattr(made, name, wp.zeros(shape, dtype=field_type.dtype, device=self.device))
        return made

    # ---- the step -------------------------------------------------------------------------------------

    def commit(self, h: float) -> None:
        super().commit(h)
        if self._spare:
            self._soil.ensure(0)

    def steps_ahead(self) -> int:
        return self._soil.room_for(0) if self._spare else sys.maxsize

    def arrays_generation(self) -> int:
        return self._soil.generation

    @property
    def elevation(self) -> ElevationGrid | None:
        return self.ground.elevation if isinstance(self.ground, GridGround) else None

    def _record_evaluate(self, launch) -> None:
        """Record the substeps of all tracks, from the committed to the trial state, with extrapolated engine bodies."""
        m, several = self.motion, self._beside is not None
        inputs = [
            self._tables, self._ground, self._soil.arrays, self._committed,
            self._trial, self._carriers, self._wheels, self._links, self._contacts, self._results,
            self._taken, int(several), self._step, m.position, m.rotation, m.velocity, m.angular_velocity,
        ]  # fmt: skip
        tracks = self.worlds * len(self.tracks)
        if self._beside is None:
            launch(self.kernels.run_tracks, tracks, inputs)
        else:
            launch(choose_threads, 1, [self._pace, self._pieces, tracks])
            self._beside.launch(launch, self.kernels.run_tracks, inputs, self._pieces, self._taken, self._laps)
        inputs = [self._tables, self._carriers, self._results, self.out.wrench, self.out.status]
        launch(self.kernels.push_bodies, self.worlds, inputs)
        if self.derivatives:
            inputs = [
                self._tables, self._wheels, self._contacts, self._step, self.motion.position, self.out.implicit,
            ]  # fmt: skip
            launch(self.kernels.add_derivatives, self.worlds, inputs)

    def _record_commit(self, launch) -> None:
        m = self.motion
        inputs = [
            self._tables, self._ground, self._soil.arrays, self._committed, self._trial, self._contacts,
            self._ruts, self._heap, self._carriers, self._wheels, int(self.derivatives), self.out.wrench,
            self.out.effective, self._step, m.position, m.rotation, m.velocity, m.angular_velocity,
        ]  # fmt: skip
        launch(self.kernels.commit_tracks, (self.worlds, len(self.tracks)), inputs)

    # ---- state, channels ------------------------------------------------------------------------------

    def explain(self, code: int) -> tuple[str, bool]:
        return REASONS[code]

    def state(self) -> dict[str, wp.array]:
        held = {name: getattr(self._committed, name) for name in device.fields(t.State)}
        return held | {f"ruts/{name}": getattr(self._ruts, name) for name in device.fields(t.Ruts)}

    def reset(self, worlds: Sequence[int]) -> None:
        """Reset some worlds. The links are placed on their wheels at the next commit."""
        for state in (self._committed, self._trial):
            for name in ("placed", "gripped", "wheel_rate", "impulse"):
                array = getattr(state, name)
                host = array.numpy()
                host[list(worlds)] = 0
                array.assign(host)
        if self._spare:
            self._soil.reset(worlds)

    def links_of(self, track: int) -> slice:
        return slice(int(self._first_link[track]), int(self._first_link[track + 1]))

    def wheels_of(self, track: int) -> slice:
        return slice(int(self._first_wheel[track]), int(self._first_wheel[track + 1]))

    def momentum(self) -> np.ndarray:
        """Linear [N s] and angular momentum about the world's origin [N m s] of the links, (world, track, 6)."""
        each = [
            momentum_of(self._committed, track.link, self.links_of(k)) for k, track in enumerate(self.tracks)
        ]  # fmt: skip
        return np.stack(each, axis=1)

    def pair_wrench_sum(self) -> np.ndarray:
        """Sum of the wrenches of links and wheels on each other over the larger one, (world, track): 0 if opposite."""
        return self._observation.read("pair_wrench_sum")

    def volume_error(self) -> np.ndarray:
        """Relative error of the volume balance of ruts, (world, track).

        |rise of the surface + compressed + still to be put down| / volume pressed down.
        """
        removed, moved, owed = (getattr(self._ruts, n).numpy().astype(float) for n in ("removed", "moved", "owed"))
        kept = np.add.reduceat(owed, self._first_link[:-1], axis=1) + removed * (1 - float(self._ground.displaced))
        return np.abs(moved + kept) / np.maximum(removed, 1e-30)

    def ground_force(self) -> np.ndarray:
        """Force [N] of the ground on each chain, (world, track, 3), mean over the last step."""
        return self._results.ground_force.numpy()

    def chain_speed(self) -> np.ndarray:
        """Speed [m/s] of the chain relative to the frame, (world, track): mean of links on straight runs."""
        return self._observation.read("chain_speed")

    def lateral(self, k: int) -> np.ndarray:
        """Lateral offset [m] of the links from the plane of their wheels, to the left, (world, link)."""
        return self._observation.read("lateral")[:, self.links_of(k)]

    def wear(self, k: int, world: int = 0) -> np.ndarray:
        """Contacts of a track, (contact, 6): link, wheel (-1: ground), normal force [N], sliding speed [m/s], x and z
        [m] on the link."""
        first = int(self._tables.track.numpy()["first_contact"][k])
        count = int(self._contacts.found.numpy()["count"][world, k])
        c = self._contacts.contact.numpy()[world, first : first + count]
        link, wheel = c["link"], c["wheel"]
        force, normal, arm = (c[n].astype(float) for n in ("force", "normal", "arm"))
        local = np.einsum("kji,kj->ki", self._links.axes.numpy()[world, link].astype(float), arm)
        return np.column_stack([
            link - self._first_link[k], np.where(wheel < 0, -1, wheel - self._first_wheel[k]),
            (force * normal).sum(-1), c["sliding_speed"], local[:, 0], local[:, 2],
        ])  # fmt: skip

    def _wear(self, k: int) -> Any:
        """Contacts of the only world, or a list with those of each."""
        return self.wear(k) if self.worlds == 1 else [self.wear(k, n) for n in range(self.worlds)]

    def display(self) -> list[Shape]:
        """Shapes of links, wheels and ground for display."""
        chains = [shape for track in self.tracks for shape in shapes(track, f"{self.name}/{track.name}/pose")]
        return [*chains, *floor(self.ground)]

    def limits(self) -> list[Limit]:
        return track_limits(self.name, self.tracks, self.ground)

    def channels(self) -> list[Channel]:
        return [channel for k in range(len(self.tracks)) for channel in self._channels_of(k)]

    def _channels_of(self, k: int) -> list[Channel]:
        track, results = self.tracks[k], self._results
        at, wheels = self.links_of(k), self.wheels_of(k)
        links = at.stop - at.start
        names = tuple(f"link {n}" for n in range(links))
        wheel_names = tuple(wheel.name for wheel in track.wheels)

        def name(what: str) -> str:
            return f"{self.name}/{track.name}/{what}"

        def of_links(what: str, unit: str, *shape: int, kind: Any = "fixed") -> Channel:
            return seen(what, unit, at, links, *shape, kind=kind, frame="world" if shape else "", labels=names)

        def of_wheels(what: str, unit: str, *shape: int, frame: str = "") -> Channel:
            return seen(what, unit, wheels, len(wheel_names), *shape, frame=frame, labels=wheel_names)

        def seen(what: str, unit: str, rows, *shape: int, **more: Any) -> Channel:
            values = self._observation.values[what][:, rows]
            return Channel(name(what), unit, shape, source=values, refresh=self._observation.refresh, **more)

        def held(what: str, unit: str, array: wp.array, rows, *shape: int, **more: Any) -> Channel:
            """Channel of an array that is stored."""
            if self.device.is_cpu:
                return Channel(name(what), unit, shape, source=array.numpy()[:, rows], **more)
            return Channel(name(what), unit, shape, read=lambda: array.numpy()[:, rows], **more)

        return [
            of_links("pose", "m, 1", 7, kind="pose"),
            held("tension", "N", results.tension, at, links, frame="", labels=names),
            held("tooth_load", "N", results.tooth_load, at, links, frame="", labels=names),
            of_links("shoe_pressure", "Pa"),
            of_links("shoe_shear", "Pa"),
            of_links("shoe_force", "N", 3),
            of_links("shoe_point", "m", 3),
            of_links("lateral", "m"),
            of_wheels("wheel_force", "N", 3, frame="world"),
            of_wheels("wheel_load", "N"),
            of_wheels("wheel_torque", "N m", frame="axle"),
            of_wheels("wheel_spin", "rad/s", frame="axle"),
            held("wheel_place", "m", self._wheels.centre, wheels, len(wheel_names), 3, labels=wheel_names),
            held("ground_force", "N", results.ground_force, k, 3),
            held("impulse", "N s", self._committed.impulse, k, 3),
            seen("momentum", "N s", k, 3),
            seen("chain_speed", "m/s", k, frame=""),
            seen("pair_wrench_sum", "1", k, frame=""),
            Channel(name("rut_volume_error"), "1", (), "", read=lambda: self.volume_error()[:, k]),
            Channel(name("wear"), "1, 1, N, m/s, m, m", (len(WEAR),), "", "ragged", WEAR, lambda: self._wear(k)),
        ]
