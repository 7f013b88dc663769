"""Force module of resistive force theory: allocation and kernel launches."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
import warp as wp

from grouser.contact.rft import kernels
from grouser.contact.rft.faces import face_corners
from grouser.contact.rft.laws import PLATE_DOWN, medium_scale
from grouser.contact.rft.limits import rft_limits
from grouser.device import arrays, at, zeros
from grouser.errors import InputError
from grouser.kernel_module import KernelModule
from grouser.launches import Launches
from grouser.module import Channel, Limit, Mesh, Motion, Outputs
from grouser.resets import world_mask
from grouser.terrain import checks
from grouser.terrain.elevation import ElevationGrid
from grouser.terrain.ground import Ground
from grouser.terrain.soils import EARTH, Soil

FACE_LENGTH = 2.0  # [cells] of the ground that a face element is long at most (assumed)
STUCK_SPEED = 1e-3  # [m/s] below which slip counts as 0 (assumed)
ROLLING = 0.1  # rim speed over travel speed below which a body slides rather than rolls (assumed)
LEAST_SCALE = 1e3  # [N/m^3] less carries nothing: media of Li et al. 2013 have 2e5 and more
FORMS = ("li2013", "agarwal2023")  # in the order of `laws.flow_stress`


@dataclass(frozen=True)
class RftOptions:
    """Choices of the law."""

    form: Literal["li2013", "agarwal2023"] = "agarwal2023"
    scale: float | None = None  # [N/m^3] of the medium; None: from density and friction angle of the soil
    memory: float = 5e-4  # [m] path over which the direction of flow follows the motion (assumed: a grain)
    ruts: bool = True  # bodies displace the ground; False: it stays undisturbed, also above a buried body

    def __post_init__(self):
        checks.choice(self.form, "rft: form", FORMS)
        checks.number(self.memory, "rft: memory", above=0.0)
        if self.scale is not None:
            checks.number(self.scale, "rft: scale", above=0.0)
            if self.scale < LEAST_SCALE:
                raise InputError(
                    f"rft: scale {self.scale:g} N/m^3 is not allowed; it must be {LEAST_SCALE:g} or more "
                    "(1 N/cm^3, in which scales of media are often given, is 1e6 N/m^3)"
                )

    def scale_of(self, soil: Soil, gravity: float) -> float:
        """Scale [N/m^3] of a soil. Both forms carry the same level plate (assumed for li2013)."""
        if self.scale is not None:
            return self.scale
        if not soil.friction_angle_deg > 0:
            raise InputError(
                f"soil {soil.name!r}: a friction angle of 0 is not allowed with law 'rft', which it scales"
            )
        scale = medium_scale(soil.density, gravity, math.tan(math.radians(soil.friction_angle_deg)))
        return scale * (PLATE_DOWN if self.form == "li2013" else 1.0)


class Ruts(Protocol):
    """What moves the soil out of the way of the bodies: the stages of commit of `contact.soil.SoilModule`."""

    gravity: float
    fatal_codes: int

    def bind(self, motion: Motion, rows: Sequence[int], out: Outputs, step: float) -> None: ...
    def launch_commit(self, launch: Any) -> None: ...
    def change_step(self, h: float) -> None: ...
    def choose_worlds(self, mask: wp.array | None) -> None: ...
    def make_room(self) -> None: ...
    def steps_ahead(self) -> int: ...
    def state(self) -> dict[str, wp.array]: ...
    def reset(self, worlds: Sequence[int] | wp.array) -> None: ...
    def explain(self, code: int) -> tuple[str, bool]: ...
    def channels(self) -> list[Channel]: ...
    def volume_error(self) -> np.ndarray: ...


class RftModule(KernelModule):
    """Bodies in a granular medium, which `ruts` moves out of their way."""

    def __init__(
        self, ground: Ground, surfaces: Mapping[str, Mesh], options: RftOptions | None = None, *,
        ruts: Ruts | None = None, name: str = "soil",
    ):  # fmt: skip
        """`surfaces`: closed meshes by body. `ruts`: a module of soil on the same ground and bodies with
        `SoilOptions(digs=False, faces=False)`, of which only the displacement and erosion of soil is used; None: the
        ground stays undisturbed.
        """
        if not surfaces:
            raise InputError(f"{name}: no bodies given; allowed is 1 or more")
        if ground.depth is not None:
            raise InputError("depth: soil with a bottom is not allowed with law 'rft', which has none")
        if ground.elevation.soil_index is not None:
            raise InputError("soil_index: a map of soils is not allowed with law 'rft'; use one soil")
        self.name, self.ground, self.surfaces = name, ground, dict(surfaces)
        self.options = options or RftOptions()
        self.bodies, self.step_limit, self.precision = tuple(surfaces), math.inf, ground.precision
        self.gravity, self.takes_floor = EARTH, True
        self.ruts = ruts
        self.fatal_codes = 1 if ruts is None else ruts.fatal_codes
        self.mesh_notes: list[str] = []  # what the law changes in the meshes, or cannot do with them
        # A face has one velocity, and soil before it or not: it is no longer than some cells.
        self._corners = [
            face_corners(surface, body, FACE_LENGTH * ground.spacing, self.mesh_notes)
            for body, surface in surfaces.items()
        ]

    def declare(self, spec) -> None:
        """Switch off MuJoCo's contact between the bodies and the floor of the world. Take over its gravity."""
        self.gravity = float(np.linalg.norm(spec.option.gravity))
        if not self.takes_floor:
            return
        for body in self.bodies:
            if not any(e.bodyname1 == "world" and e.bodyname2 == body for e in spec.excludes):
                spec.add_exclude(bodyname1="world", bodyname2=body)

    def bind(self, motion: Motion, rows: Sequence[int], out: Outputs, step: float) -> None:
        self.motion, self.out, self.device = motion, out, self.ground.device
        self.worlds, p = motion.position.shape[0], self.precision
        if self.worlds != self.ground.worlds:
            raise InputError(f"{self.name}: ground has {self.ground.worlds} worlds, the engine {self.worlds}")
        self._kernels = at(kernels.evaluate, p.name), at(kernels.commit, p.name)
        self._keep_step(step)
        self._rows = wp.array(np.array(list(rows), np.int32), dtype=wp.int32, device=self.device)
        self._faces, self._first = self._make_faces()
        self._media = self._make_media()
        self._highest = max(float(one.heights.max()) for one in self.ground.terrains)
        self._active = wp.ones(self.worlds, dtype=wp.int32, device=self.device)
        count, shape = self._faces.shape[0], (self.worlds, len(self.bodies))
        self._outermost = [np.unique(corners.reshape(-1, 3), axis=0) for corners in self._corners]
        self.faces = zeros(at(kernels.FaceStates, p.name), self.device, (self.worlds, count))
        self._sinkage, self._area = (wp.zeros(shape, dtype=wp.float64, device=self.device) for _ in range(2))
        if self.ruts is not None:
            self.ruts.gravity = self.gravity
            self.ruts.bind(motion, rows, out, step)
        self._record(self._launch_evaluate, self._launch_commit)

    def _make_faces(self) -> tuple[wp.array, wp.array]:
        kind = at(kernels.Face, self.precision.name)
        tables = []
        for corners in self._corners:
            normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
            size = np.linalg.norm(normals, axis=1)
            table: Any = np.zeros(len(size), dtype=kind.numpy_dtype())
            table["centre"], table["area"] = corners.mean(axis=1), size / 2
            table["normal"] = normals / size[:, None]
            table["corners"] = corners
            table["reach"] = np.linalg.norm(corners - corners.mean(axis=1)[:, None], axis=2).max(axis=1)
            tables.append(table)
        first = np.cumsum([0, *(len(table) for table in tables)]).astype(np.int32)
        faces = wp.array(np.concatenate(tables), dtype=kind, device=self.device)
        return faces, wp.array(first, dtype=wp.int32, device=self.device)

    def _make_media(self) -> wp.array:
        kind = at(kernels.Medium, self.precision.name)
        table: Any = np.zeros(self.worlds, dtype=kind.numpy_dtype())
        of_worlds = self.ground.world_soils or [self.ground.soils] * self.worlds
        for k, (soil, *_) in enumerate(of_worlds):
            table["scale"][k] = self.options.scale_of(soil, self.gravity)
            table["stiffness"][k] = soil.elastic_stiffness
            own = math.tan(math.radians(soil.friction_angle_deg))
            table["friction"][k] = own if soil.wheel_friction is None else soil.wheel_friction
        return wp.array(table, dtype=kind, device=self.device)

    # ---- the step -------------------------------------------------------------------------------------

    def arrays_generation(self) -> int:
        return self.ground.generation

    def steps_ahead(self) -> int:
        return super().steps_ahead() if self.ruts is None else self.ruts.steps_ahead()

    def launches(self, h: float) -> tuple[Launches, Launches]:
        if self.ruts is not None:
            self.ruts.change_step(h)
        return super().launches(h)

    def commit(self, h: float) -> None:
        super().commit(h)
        if self.ruts is not None:
            self.ruts.make_room()

    def commit_worlds(self, h: float, mask: wp.array) -> None:
        """Commit only the worlds whose `mask`, (world,) int32 on the device, is 1. The others stay as they are."""
        wp.copy(self._active, mask)
        if self.ruts is not None:
            self.ruts.choose_worlds(mask)
        self.commit(h)
        self._active.fill_(1)
        if self.ruts is not None:
            self.ruts.choose_worlds(None)

    def _launch_evaluate(self, launch) -> None:
        m, out, form = self.motion, self.out, FORMS.index(self.options.form)
        inputs = [self._faces, self._first, self._media, self.ground.arrays, self._rows, self._step]
        inputs += [self.precision.real(self._highest), self.precision.real(self.options.memory), form]
        inputs += [m.position, m.rotation, m.velocity, m.angular_velocity, self.faces]
        outputs = [out.wrench, out.implicit, self._sinkage, self._area]
        launch(self._kernels[0], (self.worlds, len(self.bodies)), [*inputs, *outputs])

    def _launch_commit(self, launch) -> None:
        m, memory = self.motion, self.precision.real(self.options.memory)
        inputs = [self._first, self._media, self._active, self._rows, self._step, memory]
        inputs += [m.velocity, m.angular_velocity, self.faces, self.out.status]
        launch(self._kernels[1], (self.worlds, len(self.bodies)), inputs)
        if self.ruts is not None:
            self.ruts.launch_commit(launch)

    # ---- state, channels ------------------------------------------------------------------------------

    def explain(self, code: int) -> tuple[str, bool]:
        if self.ruts is None:
            raise KeyError(code)  # the forces alone have no faults
        return self.ruts.explain(code)

    def state(self) -> dict[str, wp.array]:
        return self._own_state() | ({} if self.ruts is None else self.ruts.state())

    def _own_state(self) -> dict[str, wp.array]:
        return arrays(faces=self.faces)

    def reset(self, worlds: Sequence[int] | wp.array) -> None:
        """Reset some worlds, given by number or as a mask (world,) int32 on the device, with their ground."""
        mask = world_mask(worlds, self.worlds, self.device)
        chosen = mask.numpy().astype(bool)
        for array in self._own_state().values():
            host = array.numpy()
            host[chosen] = 0
            array.assign(host)
        if self.ruts is not None:
            self.ruts.reset(mask)

    @property
    def elevation(self) -> ElevationGrid:
        return self.ground.elevation

    def reset_energy(self) -> None:
        """Nothing to do: this module keeps no account of energy."""

    def has_pressed(self) -> np.ndarray:
        """Whether each body is loaded by the medium, (world, body)."""
        return self._area.numpy() > 0

    def set_soil(self, worlds: Any, fields: Mapping[str, Any]) -> None:
        raise InputError("set_soil: soils of a running simulation are not allowed to change with law 'rft'")

    def stored_energy(self) -> np.ndarray:
        """Elastic energy [J] of the medium at each body, (world, body)."""
        strain = self.faces.strain.numpy().astype(float)
        media: Any = self._media.numpy()
        first: Any = self._first.numpy()
        spring = self.faces.area.numpy().astype(float) * media["stiffness"][:, None]  # [N/m], (world, face)
        energy = 0.5 * spring * (strain**2).sum(axis=2)
        return np.add.reduceat(energy, first[:-1], axis=1)

    def observe(self) -> dict[str, np.ndarray]:
        """Force [N], torque [N m], sinkage [m], loaded area [m^2] and slip [1] of each body, (world, body, …)."""
        wrench, sinkage = self.out.effective.numpy(), self._depths()
        return {
            "force": wrench[..., :3], "torque": wrench[..., 3:], "sinkage": sinkage,
            "contact_area": self._area.numpy(), "slip": self._slip(sinkage),
        }  # fmt: skip

    def _depths(self) -> np.ndarray:
        """Sinkage [m], (world, body); of bodies in the air minus the least height of a vertex above the ground."""
        sinkage = self._sinkage.numpy()
        terrain, rows = self.ground.arrays.terrain.numpy(), self._rows.numpy()
        for body in np.flatnonzero((sinkage <= 0).any(axis=0)):
            q = self.motion.rotation.numpy()[:, rows[body]].astype(float)  # (world, xyzw)
            w, axis, corners = q[:, None, 3:], q[:, None, :3], self._outermost[body][None]
            turned = corners + 2 * np.cross(axis, np.cross(axis, corners) + w * corners)
            places = turned + self.motion.position.numpy()[:, rows[body], None].astype(float)
            for world in np.flatnonzero(sinkage[:, body] <= 0):
                x, y, z = places[world].T
                sinkage[world, body] = -(z - self.ground.terrains[terrain[world]].height(x, y)).min()
        return sinkage

    def _slip(self, sinkage: np.ndarray) -> np.ndarray:
        """Slip of the bodies, (world, body): driving 1 - v/u, braking u/v - 1; 0 out of contact and at rest.

        u is the horizontal speed [m/s] of the lowest point relative to the frame origin, v that of the origin along u.
        If a body hardly turns, both are taken along its travel: one that slides without turning has slip -1.
        """
        m, rows = self.motion, self._rows.numpy()
        position, velocity, spin = (
            a.numpy()[:, rows].astype(float) for a in (m.position, m.velocity, m.angular_velocity)
        )
        level = [
            self.ground.terrains[terrain].height(place[:, 0], place[:, 1])
            for terrain, place in zip(self.ground.arrays.terrain.numpy(), position, strict=True)
        ]
        radius = position[..., 2] - np.array(level) + sinkage
        rim = radius[..., None] * np.stack([spin[..., 1], -spin[..., 0]], axis=-1)
        turning, travel = np.linalg.norm(rim, axis=-1), np.linalg.norm(velocity[..., :2], axis=-1)
        both = (rim * velocity[..., :2]).sum(axis=-1)
        rolls = turning > ROLLING * travel
        u = np.where(rolls, turning, both / np.maximum(travel, 1e-30))
        v = np.where(rolls, both / np.maximum(turning, 1e-30), travel)
        larger = np.maximum(np.abs(u), np.abs(v))
        moving = (larger >= STUCK_SPEED) & (self._area.numpy() > 0)
        return np.where(moving, (u - v) / np.where(moving, larger, 1.0), 0.0)

    def limits(self) -> list[Limit]:
        return rft_limits(self.name, self.surfaces)

    def channels(self) -> list[Channel]:
        def of_bodies(name: str, unit: str, *shape: int) -> Channel:
            return Channel(
                f"{self.name}/{name}", unit, (len(self.bodies), *shape), labels=self.bodies,
                read=lambda: np.array(self.observe()[name], float),
            )  # fmt: skip

        return [
            of_bodies("force", "N", 3),
            of_bodies("torque", "N m", 3),
            of_bodies("sinkage", "m"),
            of_bodies("contact_area", "m^2"),
            of_bodies("slip", "1"),
            *self._volumes(),
        ]

    def _volumes(self) -> list[Channel]:
        """Channels of the displaced soil."""
        wanted = (f"{self.name}/displaced_volume", f"{self.name}/volume_error")
        if self.ruts is not None:
            return [channel for channel in self.ruts.channels() if channel.name in wanted]
        none = np.zeros((self.worlds, len(self.bodies)))
        return [Channel(wanted[0], "m^3", (len(self.bodies),), labels=self.bodies, read=lambda: none)]

    def volume_error(self) -> np.ndarray:
        """Relative error of the volume balance, (world,): |change of the surface + compressed| / displaced volume."""
        return np.zeros(self.worlds) if self.ruts is None else self.ruts.volume_error()
