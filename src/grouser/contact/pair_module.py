"""Host code shared by modules made of pairs: arrays, reset, patches and channels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import warp as wp

from grouser.contact import explicit
from grouser.contact.pair_limits import pair_limits
from grouser.kernel_module import KernelModule
from grouser.module import Channel, Limit, Motion

PATCH = 8  # numbers per element in the patch channel


class PairModule(KernelModule):
    """Base class of a module made of pairs: arrays, patches and channels of its pairs.

    A subclass sets `name`, `pairs`, `worlds`, `device`, `precision`, `motion`, `_laws`, `_stiffest`, `_elements`,
    `_poses`, `_sums` and `_first_element` (the first element of each pair), and defines `state` and `_in_contact`.
    """

    name: str
    pairs: Sequence[Any]
    worlds: int
    motion: Motion
    _elements: Any
    _poses: Any
    _sums: Any
    _first_element: np.ndarray
    _laws: Any  # constants of the layers of each pair
    _stiffest: np.ndarray  # [N/m], (pair,) stiffness for which the step limit was computed

    def _in_contact(self, world: int, load: np.ndarray) -> list[Any]:
        """Indices of the elements in contact, for each pair. `load` [N], (element,)."""
        raise NotImplementedError

    def _array(self, values, dtype, kind=None) -> wp.array:
        return wp.array(np.ascontiguousarray(values, kind), dtype=dtype, device=self.device)

    def _reals(self, values, dtype=None) -> wp.array:
        return self._array(values, dtype or self.precision.real, self.precision.numpy)

    def _indices(self, values) -> wp.array:
        return self._array(values, wp.int32, np.int32)

    def _limit_step(self, contacts: Iterable[tuple[int, float, float]]) -> None:
        """Set the largest stable step of explicit contact. `contacts`: pair, mobility [1/kg], largest area [m^2]."""
        limits = []
        for k, mobility, area in contacts:
            c, d = (max(law[key] for law in self._laws[k]) for key in ("c", "d"))
            self._stiffest[k] = c * area
            if mobility > 0:
                limits.append((explicit.largest_step(c * area, d * area, mobility), self.pairs[k], area))
        if limits:
            self.step_limit, self._tightest, self._tightest_area = min(limits, key=lambda entry: entry[0])

    def _moving(self) -> list[wp.array]:
        m = self.motion
        return [m.position, m.rotation, m.velocity, m.angular_velocity]

    def patch(self, world: int = 0) -> np.ndarray:
        """Elements in contact, (element, 8), world axes: centre [m], outward normal of the touched surface, pressure
        [Pa], area [m^2]."""
        e = self._elements
        rotation, position = (a.numpy()[world] for a in (self._poses.world_rotation, self._poses.world_position))
        area, load = e.area.numpy()[world], e.load.numpy()[world]
        centre, normal = e.centre.numpy()[world], e.normal.numpy()[world]
        return np.concatenate([
            np.column_stack([
                centre[slots] @ rotation[k].T + position[k], normal[slots] @ rotation[k].T,
                load[slots] / area[slots], area[slots],
            ])
            for k, slots in enumerate(self._in_contact(world, load))
        ])  # fmt: skip

    def _patches(self) -> Any:
        """The patch of the only world, or a list with the patch of every world."""
        return self.patch() if self.worlds == 1 else [self.patch(world) for world in range(self.worlds)]

    def points(self, world: int) -> np.ndarray:
        """Centre of pressure of each pair [m], (pair, 3), world axes; the origin of its frame if it does not touch."""
        e = self._elements
        rotation, position = (a.numpy()[world] for a in (self._poses.world_rotation, self._poses.world_position))
        load, centre = e.load.numpy()[world], e.centre.numpy()[world]
        found = np.array(position, float).reshape(-1, 3)
        for k, slots in enumerate(self._in_contact(world, load)):
            whole = float(load[slots].sum())
            if whole > 0:
                found[k] += (load[slots] @ centre[slots] / whole) @ rotation[k].T
        return found

    def channels(self) -> list[Channel]:
        raise NotImplementedError

    def limits(self) -> list[Limit]:
        labels = next(iter(self.channels())).labels
        return pair_limits(self.name, labels, [max(law["thickness"] for law in laws) for laws in self._laws])

    def _pair_channels(self, labels: tuple[str, ...]) -> list[Channel]:
        count, sums = len(self.pairs), self._sums

        def of_pairs(name, unit, values):
            return Channel(f"{self.name}/{name}", unit, (count,), labels=labels, read=values.numpy, frame="")

        def of_wrench(name, unit, part):
            return Channel(
                f"{self.name}/{name}", unit, (count, 3), labels=labels, read=lambda: sums.effective.numpy()[..., part]
            )

        return [
            of_wrench("force", "N", slice(0, 3)),
            of_wrench("torque", "N m", slice(3, 6)),
            of_pairs("penetration", "m", sums.depth),
            of_pairs("pressure", "Pa", sums.pressure),
            of_pairs("peak_force", "N", sums.peak_force),
            of_pairs("peak_penetration", "m", sums.peak_depth),
            of_pairs("peak_pressure", "Pa", sums.peak_pressure),
            of_pairs("contact_area", "m^2", sums.area),
            of_pairs("polygons", "1", sums.polygons),
            Channel(f"{self.name}/patch", "m, 1, Pa, m^2", (PATCH,), kind="ragged", read=self._patches),
            Channel(
                f"{self.name}/point", "m", (count, 3), labels=labels,
                read=lambda: np.stack([self.points(world) for world in range(self.worlds)]),
            ),
        ]  # fmt: skip
