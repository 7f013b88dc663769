"""Constants of the soils of all worlds on the device: shared by all worlds, or each world its own, drawn anew at will.

With soils of their own, the table holds those of world 0 first, then those of world 1. The soil below a bottom is the
same in all worlds and comes last.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import warp as wp

from grouser.contact.soil import types as t
from grouser.contact.soil.arrays import records
from grouser.contact.soil.pressure import CELLS, DEEPEST, power_table
from grouser.contact.soil.types import Constants
from grouser.device import array, array2d, array3d, at, module
from grouser.errors import InputError
from grouser.precision import real, vec2
from grouser.resets import chosen_worlds, world_mask
from grouser.terrain import checks
from grouser.terrain.ground import Ground
from grouser.terrain.soils import OPTIONAL, RANGES, WALL_SHARE, Soil

MODULE = module("grouser.contact.soil.soil_table")
FIELDS = tuple(RANGES)  # rows of `values`, in the order of the constants below
(
    N, K_C, K_PHI, COHESION, FRICTION_ANGLE, SHEAR_MODULUS, ELASTIC_STIFFNESS, DAMPING_TIME, WHEEL_FRICTION,
    COMPRESSION, REPOSE_ANGLE, DENSITY, WALL_FRICTION,
) = range(len(FIELDS))  # fmt: skip
NOT_GIVEN = -1.0  # in `values`, for fields that a soil may leave out
LANES = 128  # threads of a world on CUDA
WIDTH = wp.constant(wp.float64(math.sqrt(DEEPEST) / CELLS))  # interval of the table of powers, in sqrt of the depth
RADIANS = wp.constant(wp.float64(math.pi / 180))
WALL = wp.constant(wp.float64(WALL_SHARE))
Fields = Mapping[str, Any]  # constants of soils by name, (world,) or (world, soil) each, or one number


@wp.func
def allowed(field: int, value: wp.float64):
    """Whether a value is in the range that `soils.RANGES` allows for a field."""
    zero = wp.float64(0.0)
    if not wp.isfinite(value):
        return False
    if field == N or field == K_PHI or field == SHEAR_MODULUS or field == ELASTIC_STIFFNESS or field == DENSITY:
        return value > zero
    if field == WHEEL_FRICTION:
        return value >= zero or value == wp.float64(NOT_GIVEN)
    if field == FRICTION_ANGLE:
        return value >= zero and value < wp.float64(90.0)
    if field == WALL_FRICTION:
        return (value >= zero and value < wp.float64(90.0)) or value == wp.float64(NOT_GIVEN)
    if field == REPOSE_ANGLE:
        return (value > zero and value < wp.float64(90.0)) or value == wp.float64(NOT_GIVEN)
    if field == COMPRESSION:
        return value >= zero and value <= wp.float64(1.0)
    return value >= zero


@wp.func
def constants_of(values: array3d[wp.float64], world: int, soil: int, caps: int, coulomb: int, gravity: wp.float64):
    """Constants of a soil from its values: `model.soil_constants` on the device."""
    phi = values[FRICTION_ANGLE, world, soil] * RADIANS
    tan_phi = wp.tan(phi)
    wall = values[WALL_FRICTION, world, soil] * RADIANS
    if wall < wp.float64(0.0):
        wall = WALL * phi
    wall = wp.min(wall, phi)
    mu = values[WHEEL_FRICTION, world, soil]
    mu_rim = wp.where(mu < wp.float64(0.0), wp.tan(wall), mu)
    mu_cap = wp.float64(-1.0)
    largest = wp.float64(1.0)
    cohesion = values[COHESION, world, soil]
    if caps == 1:
        mu_cap = mu
        mu = wp.float64(-1.0)
        if mu_cap >= wp.float64(0.0) and mu_cap < tan_phi:
            largest = wp.min(mu_cap / tan_phi, wp.float64(1.0))
    if coulomb == 1:
        tan_phi = wp.where(mu < wp.float64(0.0), tan_phi, mu)
        cohesion = wp.float64(0.0)
    k_e = values[ELASTIC_STIFFNESS, world, soil]
    return Constants(
        real(values[K_C, world, soil]), real(values[K_PHI, world, soil]), real(values[N, world, soil]),
        real(cohesion), real(tan_phi), real(values[SHEAR_MODULUS, world, soil]), real(k_e),
        real(wp.float64(1.0) / k_e), real(values[DAMPING_TIME, world, soil]), real(values[COMPRESSION, world, soil]),
        real(mu), real(mu_cap), real(mu_rim), real(largest), real(slope_limit(values, world, soil)),
        real(values[DENSITY, world, soil] * gravity), real(phi), real(wall),
    )  # fmt: skip  # pyright: ignore[reportCallIssue] device structs take their fields


@wp.func
def slope_limit(values: array3d[wp.float64], world: int, soil: int):
    """Tangent of the steepest stable slope of a soil."""
    angle = values[REPOSE_ANGLE, world, soil]
    return wp.tan(wp.where(angle < wp.float64(0.0), values[FRICTION_ANGLE, world, soil], angle) * RADIANS)


@wp.kernel(module=MODULE)
def take_values(
    mask: array[int], given: array3d[wp.float64], values: array3d[wp.float64], refused_out: array[int]
):  # fmt: skip
    """Take over new values of the chosen worlds; NaN leaves one as it is. One thread per world.

    A world with a value out of range keeps all its soils and is marked.
    """
    world = wp.tid()
    if mask[world] == 0:
        return
    wrong = int(0)
    for field in range(given.shape[0]):
        for soil in range(given.shape[2]):
            value = given[field, world, soil]
            if not wp.isnan(value) and not allowed(field, value):
                wrong += 1
    refused_out[world] = wp.min(wrong, 1)
    if wrong == 0:
        for field in range(given.shape[0]):
            for soil in range(given.shape[2]):
                if not wp.isnan(given[field, world, soil]):
                    values[field, world, soil] = given[field, world, soil]


@wp.kernel(module=MODULE)
def derive_soils(
    mask: array[int], values: array3d[wp.float64], caps: int, coulomb: int, gravity: wp.float64, bodies: int,
    lanes: int, face: wp.float64, shortest: wp.float64, longest: wp.float64, spacing: wp.float64, most: int,
    soils_out: array[Constants], powers_out: array2d[vec2],
    weakest_out: array[real], spoil_out: array[real], margin_out: array[int],
):  # fmt: skip
    """Compute constants, tables of powers and bounds of the chosen worlds. `lanes` threads per world.

    `face` [m] to `most`: the fields of `Margin`.
    """
    world, lane = wp.tid()
    if mask[world] == 0:
        return
    count = values.shape[2]
    weakest = wp.float64(1.0e30)
    least = wp.float64(1.0)
    for soil in range(count):
        row = world * count + soil
        if lane == 0:
            soils_out[row] = constants_of(values, world, soil, caps, coulomb, gravity)
        weakest = wp.min(weakest, slope_limit(values, world, soil))
        least = wp.min(least, values[COMPRESSION, world, soil])
        twice = wp.float64(2.0) * values[N, world, soil]
        i = int(lane)
        while i < powers_out.shape[1]:
            x = WIDTH * wp.float64(i)
            slope = wp.float64(0.0)
            if i > 0:
                slope = twice * wp.pow(x, twice - wp.float64(1.0)) * WIDTH
            powers_out[row, i] = vec2(real(wp.pow(x, twice)), real(slope))
            i += lanes
    if lane == 0:
        reach = wp.max(shortest, wp.min(face / weakest, longest))
        margin = wp.clamp(int(wp.rint(reach / spacing)), 2, most)
        for body in range(bodies):
            margin_out[world * bodies + body] = margin
            weakest_out[world * bodies + body] = real(weakest)
            spoil_out[world * bodies + body] = real(wp.float64(1.0) - least)


@dataclasses.dataclass(frozen=True)
class Margin:
    """Width of the ring of nodes around a footprint in which soil may slide: room for the pile ahead of a face."""

    face: float  # [m] side of the largest face that piles up soil
    shortest: float  # [m]
    longest: float  # [m]
    spacing: float  # [m]
    most: int  # [nodes] for which windows have room

    def nodes(self, slope_limit: float) -> int:
        """Nodes of the ring in a soil that stands up to this slope."""
        reach = max(self.shortest, min(self.face / slope_limit, self.longest))
        return min(max(2, round(reach / self.spacing)), self.most)


class SoilTable:
    """The soils of all worlds as device arrays: `soils`, `powers`, `weakest`, `spoil_share`, `margin` of `Options`."""

    def __init__(self, ground: Ground, options: Any, gravity: float, bodies: int, margin: Margin, device: Any):
        self._margin = margin
        self._options, self._gravity, self._bodies, self._device = options, gravity, bodies, device
        self._p, self.worlds, self.count = ground.precision, ground.worlds, len(ground.soils)
        self.own = ground.world_soils is not None
        of_worlds = ground.world_soils or (ground.soils,)
        self._soils = [list(one) for one in of_worlds]  # of each world, on the host; unused on CUDA after the start
        self._below = [] if ground.below is None else [ground.below]
        self._on_host = wp.get_device(device).is_cpu
        flat = [one for of_world in self._soils for one in of_world] + self._below
        columns = self._columns(flat)
        self.soils = records(at(t.Constants, self._p.name), columns, device)
        self.powers = wp.array(self._power_rows(flat), dtype=self._p.vec2, device=device)
        slots = self.worlds * bodies
        self.weakest, self.spoil_share = (wp.zeros(slots, dtype=self._p.real, device=device) for _ in range(2))
        self.margin = wp.zeros(slots, dtype=wp.int32, device=device)
        bounds = np.array([self._bounds(one) for one in self._soils])
        spread = np.repeat(np.broadcast_to(bounds, (self.worlds, 3)), bodies, axis=0)
        for target, values in zip((self.weakest, self.spoil_share, self.margin), spread.T, strict=True):
            target.assign(np.ascontiguousarray(values).astype(wp.dtype_to_numpy(target.dtype)))
        self.refused = wp.zeros(self.worlds, dtype=wp.int32, device=device)
        if self.own and not self._on_host:
            self.keep_values()
            self._derive(world_mask(range(self.worlds), self.worlds, device))

    def keep_values(self) -> None:
        """Allocate the values from which a device computes constants."""
        host = np.array([[[_value(one, name) for one in of_world] for of_world in self._soils] for name in FIELDS])
        self._values = wp.array(host, dtype=wp.float64, device=self._device)
        self._given = wp.zeros_like(self._values)

    def displaces(self) -> bool:
        """Whether some soil displaces volume. Soils that may be drawn anew do."""
        return self.own or bool((self.spoil_share.numpy() > 0).any())

    def state(self) -> dict[str, wp.array]:
        """Arrays that change when soils are drawn anew."""
        if not self.own:
            return {}
        named = {"soil_constants": self.soils, "soil_powers": self.powers, "soil_weakest": self.weakest,
                 "soil_spoil_share": self.spoil_share, "soil_margin": self.margin}  # fmt: skip
        return named if self._on_host else named | {"soil_values": self._values}

    # ---- new soils ------------------------------------------------------------------------------------

    def set_soils(self, worlds: Sequence[int], soils: Sequence[Sequence[Soil]]) -> None:
        """Give some worlds new soils, a sequence of soils for each."""
        self._check_own()
        if self._on_host:
            for world, of_world in zip(worlds, soils, strict=True):
                self._set_world(world, list(of_world))
            return
        given = np.full((len(FIELDS), self.worlds, self.count), np.nan)
        for world, of_world in zip(worlds, soils, strict=True):
            given[:, world] = [[_value(one, name) for one in of_world] for name in FIELDS]
        self._given.assign(given)
        self._take(world_mask(worlds, self.worlds, self._device))

    def set_values(self, worlds: Sequence[int] | wp.array, fields: Fields) -> None:
        """Set some constants of the soils of some worlds, given by number or as a mask on the device.

        `fields`: names of `Soil` and values, (world,) or (world, soil) for all worlds, or one number; NaN leaves a
        value as it is. On CUDA nothing passes through the host: a world with a value out of range keeps its soils, and
        `refused` is 1 for it.
        """
        self._check_own()
        for name in fields:
            checks.choice(name, "soil: constant", FIELDS)
        if self._on_host:
            host = {name: self._spread(np.asarray(values, float), name) for name, values in fields.items()}
            changed = {world: [self._changed(world, k, host) for k in range(self.count)]
                       for world in chosen_worlds(worlds)}  # fmt: skip
            for world, of_world in changed.items():
                self._set_world(world, of_world)
            return
        self._given.fill_(math.nan)
        for name, values in fields.items():
            self._give(self._given[FIELDS.index(name)], values, name)
        self._take(world_mask(worlds, self.worlds, self._device))

    def _check_own(self) -> None:
        if not self.own:
            raise InputError("soil: all worlds share one; give a soil for each world, and it can be drawn anew")

    def _changed(self, world: int, k: int, fields: Mapping[str, np.ndarray]) -> Soil:
        """Soil k of a world with new constants; NaN leaves one as it is."""
        now = {name: float(values[world, k]) for name, values in fields.items() if not np.isnan(values[world, k])}
        given = {name: None if name in OPTIONAL and value == NOT_GIVEN else value for name, value in now.items()}
        return dataclasses.replace(self._soils[world][k], **given)

    def _spread(self, values: np.ndarray, name: str) -> np.ndarray:
        """Values of one constant as (world, soil)."""
        try:
            wide = values[:, None] if values.ndim == 1 else values
            return np.broadcast_to(wide, (self.worlds, self.count))
        except ValueError:
            raise InputError(
                f"soil: {name} has shape {values.shape}; allowed is ({self.worlds},) or ({self.worlds}, {self.count})"
            ) from None

    def _set_world(self, world: int, of_world: list[Soil]) -> None:
        if len(of_world) != self.count:
            raise InputError(f"soil: world {world} gets {len(of_world)} soils; allowed are {self.count}")
        self._soils[world] = of_world
        rows = slice(world * self.count, (world + 1) * self.count)
        slots = slice(world * self._bodies, (world + 1) * self._bodies)
        soils = self.soils.numpy()
        for name, values in self._columns(of_world).items():
            soils[name][rows] = values
        self.powers.numpy()[rows] = self._power_rows(of_world)
        for target, value in zip((self.weakest, self.spoil_share, self.margin), self._bounds(of_world), strict=True):
            target.numpy()[slots] = value

    def soil_of(self, world: int, k: int = 0) -> Soil:
        """Soil k of a world as it is now."""
        if self._on_host or not self.own:
            return self._soils[world if self.own else 0][k]
        values = dict(zip(FIELDS, self._values.numpy()[:, world, k].tolist(), strict=True))
        given = {name: None if name in OPTIONAL and value < 0 else value for name, value in values.items()}
        return dataclasses.replace(self._soils[world][k], **given)

    # ---- on the device --------------------------------------------------------------------------------

    def _give(self, row: wp.array, values: Any, name: str) -> None:
        """Copy values of one constant, (world,) or (world, soil), into a row of `_given`."""
        if np.ndim(values) == 0 and not hasattr(values, "__cuda_array_interface__"):
            row.fill_(float(values))
            return
        given = values if isinstance(values, wp.array) else wp.array(values, device=self._device)
        if given.size not in (row.size, self.worlds) or given.shape[0] != self.worlds:
            raise InputError(
                f"soil: {name} has shape {tuple(given.shape)}; allowed is ({self.worlds},) or {tuple(row.shape)}"
            )
        wide = given.reshape((self.worlds, -1))
        for soil in range(self.count):
            column = wide[:, soil if wide.shape[1] > 1 else 0]
            wp.launch(copy_column, dim=self.worlds, inputs=[column, row, soil], device=self._device)

    def _take(self, mask: wp.array) -> None:
        inputs = [mask, self._given, self._values, self.refused]
        wp.launch(take_values, dim=self.worlds, inputs=inputs, device=self._device)
        self._derive(mask)

    def _derive(self, mask: wp.array) -> None:
        """Compute the constants of the chosen worlds from their values."""
        lanes = 1 if self._on_host else LANES
        caps = self._options.friction == "shear-displacement" and self._options.interface_friction == "caps"
        coulomb = self._options.friction == "coulomb"
        inputs = [mask, self._values, int(caps), int(coulomb), self._gravity, self._bodies, lanes,
                  *dataclasses.astuple(self._margin), self.soils, self.powers, self.weakest, self.spoil_share,
                  self.margin]  # fmt: skip
        kernel = at(derive_soils, self._p.name)
        wp.launch(kernel, dim=(self.worlds, lanes), inputs=inputs, device=self._device)

    def _bounds(self, soils: Sequence[Soil]) -> tuple[float, float, int]:
        """Smallest slope limit, largest displaced share and margin of the soils of a world."""
        weakest = min(one.slope_limit for one in soils)
        return weakest, 1 - min(one.compression for one in soils), self._margin.nodes(weakest)

    def _columns(self, soils: Sequence[Soil]) -> dict[str, list[float]]:
        constants = [soil_constants(one, self._options, self._gravity) for one in soils]
        return {key: [one[key] for one in constants] for key in constants[0]}

    def _power_rows(self, soils: Sequence[Soil]) -> np.ndarray:
        return power_table([one.n for one in soils]).astype(self._p.numpy)


@wp.kernel(module=MODULE)
def copy_column(source: array[Any], row_out: array2d[wp.float64], soil: int):
    """Copy values of one constant of one soil of each world."""
    world = wp.tid()
    row_out[world, soil] = wp.float64(source[world])


def _value(soil: Soil, name: str) -> float:
    value = getattr(soil, name)
    return NOT_GIVEN if value is None else float(value)


def soil_constants(soil: Soil, options: Any, gravity: float) -> dict[str, float]:
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
