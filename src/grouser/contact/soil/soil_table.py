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
from grouser.contact.soil.pressure import power_table
from grouser.contact.soil.soil_table_kernels import FIELDS, NOT_GIVEN, copy_column, derive_soils, take_values
from grouser.device import at
from grouser.errors import InputError
from grouser.resets import chosen_worlds, world_mask
from grouser.terrain import checks
from grouser.terrain.ground import Ground
from grouser.terrain.soils import OPTIONAL, Soil

LANES = 128  # threads of a world on CUDA
Fields = Mapping[str, Any]  # constants of soils by name, (world,) or (world, soil) each, or one number


@dataclasses.dataclass(frozen=True)
class Margin:
    """Width of the ring of nodes around a footprint in which soil may slide: room for the pile ahead of a face."""

    face: float  # [m] side of the largest face that piles up soil
    shortest: float  # [m]
    longest: float  # [m]
    spacing: float  # [m]
    most: int  # [nodes] for which windows have room

    def nodes(self, slope_limit: float) -> int:
        """Nodes of the ring in a soil that stands up to this slope; 0: a soil without friction."""
        pile = self.face / slope_limit if slope_limit > 0 else self.longest
        reach = max(self.shortest, min(pile, self.longest))
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
        self.powers = wp.array(self._power_rows(flat), dtype=self._p.vec4, device=device)
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
        soils: Any = self.soils.numpy()
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

    def _give(self, row: Any, values: Any, name: str) -> None:
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
