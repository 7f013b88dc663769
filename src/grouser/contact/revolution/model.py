"""Force module of contact between bodies of revolution: pairs, allocation, kernel launches."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import warp as wp

from grouser.contact import explicit
from grouser.contact.layers import contact_constants
from grouser.contact.pair_module import PairModule
from grouser.contact.pairs import (
    DEEP,
    KAPPA,
    KINDS,
    LOST,
    STIFF,
    PairBodies,
    PairSums,
    RelativePoses,
    contact_table,
)
from grouser.contact.revolution import kernels
from grouser.contact.revolution import types as t
from grouser.contact.revolution.bodies import RevolutionBody, RevolutionPair
from grouser.contact.revolution.profile import Profile, check_samples
from grouser.device import arrays, at, zeros
from grouser.errors import InputError
from grouser.model_compiler import compile_model
from grouser.module import Channel, Motion, Outputs
from grouser.precision import precision

REACH = 2.0  # depth up to which contact is searched, over the thickness of both layers
MARGIN = 0.15  # relative motion for which a list stays valid, over the mean side of an element
GPU_LANES = 128  # number of threads that share a pair on a GPU
REASONS = {
    KAPPA: ("in pair {pair!r} its material and the other's differ: |kappa| = {kappa:.2f}, and the layer model holds "
              "for tangential contact near 0 only (Krenn et al. 2008, eq. 3)", False),
    DEEP: ("in pair {pair!r} it is deeper in the other than the thickness of both layers ({thickness:.3g} m), the "
             "limit of the theory", False),
    STIFF: ("in pair {pair!r} its contact is stiffer than assumed for the step limit ({stiffest:.3g} N/m): give "
              "the pair a larger largest_area", False),
    LOST: ("in pair {pair!r} it is {reach:.3g} m deep in the other, the limit of the contact search: the contact is "
             "lost", True),
}  # fmt: skip


class RevolutionContact(PairModule):
    """Contact of surfaces of revolution with elastic layers, with each other and with surfaces fixed to the world."""

    def __init__(self, pairs: Sequence[RevolutionPair], name: str = "revolution"):
        self.name, self.pairs = name, tuple(pairs)
        if not self.pairs or not all(isinstance(pair, RevolutionPair) for pair in self.pairs):
            raise InputError(f"{name}: pairs must be a sequence of RevolutionPair, not {pairs!r}")
        self.surfaces: dict[str, RevolutionBody] = {}
        for pair in self.pairs:
            for side in pair.order:
                if self.surfaces.setdefault(side.name, side) is not side:
                    raise InputError(f"{name}: pair {pair.name!r}: another surface is called {side.name!r} already")
        names = [pair.name for pair in self.pairs]
        if len(set(names)) < len(names):
            raise InputError(f"{name}: two pairs are called {max(names, key=names.count)!r}; names must differ")
        self.bodies = tuple(dict.fromkeys(side.body for side in self.surfaces.values() if side.body is not None))
        self.step_limit = math.inf
        self.notes: list[str] = []
        self._laws = [
            [
                contact_constants(a, b, pair.friction, f"{name}: pair {pair.name!r}")
                for a in pair.order[0].layers
                for b in pair.order[1].layers
            ]
            for pair in self.pairs
        ]
        self.reach = np.array([
            pair.reach or REACH * max(law["thickness"] for law in laws_of)
            for pair, laws_of in zip(self.pairs, self._laws, strict=True)
        ])  # fmt: skip
        self._stiffest = np.full(len(self.pairs), math.inf)

    # ---- step limit -----------------------------------------------------------------------------------

    def declare(self, spec) -> None:
        """Exclude these contacts from MuJoCo's, and find the step limit of pairs of moving bodies."""
        for pair in self.pairs:
            names = [side.body or "world" for side in (pair.a, pair.b)]
            if not any({e.bodyname1, e.bodyname2} == set(names) for e in spec.excludes):
                spec.add_exclude(bodyname1=names[0], bodyname2=names[1])
        if any(pair.moves for pair in self.pairs):
            self._find_step_limit(spec)

    def _find_step_limit(self, spec) -> None:
        """Find the largest stable step of explicit contact over all pairs of moving bodies."""
        model = compile_model(spec.copy())
        contacts = []
        for k, pair in enumerate(self.pairs):
            if not pair.moves:
                continue
            give = sum(self._mobility(model, side) for side in (pair.a, pair.b))
            area = pair.largest_area or min(side.profile.surface for side in (pair.a, pair.b))
            contacts.append((k, give, area))
        self._limit_step(contacts)

    def _mobility(self, model, side: RevolutionBody) -> float:
        """Inverse effective mass [1/kg] of a body at the farthest point of a surface on it, see `explicit.mobility`."""
        return explicit.mobility(
            model, side.body, lambda centre: np.linalg.norm(np.asarray(side.position, float) - centre) + side.radius
        )

    # ---- allocation -----------------------------------------------------------------------------------

    def bind(self, motion: Motion, rows: Sequence[int], out: Outputs, step: float) -> None:
        if step > self.step_limit:
            raise InputError(
                f"step: {step:g} s is above the stability limit of module {self.name!r}, {self.step_limit:g} s (pair "
                f"{self._tightest.name!r} touching over {self._tightest_area:g} m^2; give the pair its largest_area "
                "if this area is too large)"
            )
        self.motion, self.out, self.device = motion, out, motion.position.device
        self.precision = precision("float64" if motion.position.dtype._wp_scalar_type_ == wp.float64 else "float32")
        name = self.precision.name
        self.worlds = motion.position.shape[0]
        self.one_thread = self.device.is_cpu  # one launch with one thread per world
        self._kernels = {kernel.key: at(kernel, name) for kernel in (*kernels.ON_CPU, *kernels.ON_GPU)}
        self.lanes = 1 if self.one_thread else GPU_LANES
        self._keep_step(step)
        self._first_element = np.cumsum([0] + [pair.order[0].elements for pair in self.pairs])
        self._sections, self._rounds, self._pairs = self._make_sections(), self._make_rounds(), self._make_pairs(rows)
        of_pairs, of_elements = (self.worlds, len(self.pairs)), (self.worlds, int(self._first_element[-1]))
        self._poses = zeros(at(RelativePoses, name), self.device, of_pairs)
        self._sums = zeros(at(PairSums, name), self.device, of_pairs)
        listed = dict.fromkeys(("element", "first", "last", "gap"), of_elements)
        self._lists = zeros(at(t.Lists, name), self.device, of_pairs, **listed)
        self._elements = zeros(
            at(t.Elements, name), self.device, of_elements,
            active_count=of_pairs, mapped=of_pairs, tick=(self.worlds,),
        )  # fmt: skip
        self._record(self._launch_evaluate, self._launch_commit)
        self._put_profiles(range(self.worlds))

    def _zeros(self, count: int, *kinds) -> list[wp.array]:
        return [wp.zeros((self.worlds, count), dtype=kind, device=self.device) for kind in kinds]

    def _make_sections(self):
        s, p, surfaces = at(t.Sections, self.precision.name)(), self.precision, list(self.surfaces.values())
        counts = [side.profile.count for side in surfaces]
        blocks = [-(-(n - 1) // t.BLOCK) for n in counts]
        self._first = np.cumsum([0, *counts])
        self._index = {name: k for k, name in enumerate(self.surfaces)}
        s.first = self._indices(self._first)
        s.first_block = self._indices(np.cumsum([0, *blocks]))
        s.sign = self._reals([-1 if side.profile.inner else 1 for side in surfaces])
        s.edge = self._indices([
            [-1, -1] if side.profile.closed else [int(edge) for edge in side.profile.edges] for side in surfaces
        ])  # fmt: skip
        s.layer = self._indices(np.concatenate([np.append(side.layer_of_line, 0) for side in surfaces]))
        s.curved = self._indices(np.concatenate([np.append(side.profile.curved, 0) for side in surfaces]))
        total = sum(counts)
        s.point, s.speed, s.before, s.before_speed, s.corner = self._zeros(total, *[p.vec2] * 5)
        s.kind, s.line = self._zeros(total, wp.int32, at(t.Line, p.name))
        s.path, s.height = self._zeros(len(surfaces), p.real, p.real)
        (s.box,) = self._zeros(sum(blocks), at(t.Box, p.name))
        self._host = {name: self._mirror(getattr(s, name)) for name in ("point", "speed")}
        return s

    def _make_rounds(self):
        a, p, surfaces = at(t.Rounds, self.precision.name)(), self.precision, list(self.surfaces.values())
        angles = [_angles(int(side.sectors), int(side.refine), int(side.passes)) for side in surfaces]
        a.sectors = self._indices([side.sectors for side in surfaces])
        a.refine = self._indices([side.refine for side in surfaces])
        a.passes = self._indices([side.passes for side in surfaces])
        a.stride = self._indices([len(of) // int(side.sectors) for of, side in zip(angles, surfaces, strict=True)])
        a.first_angle = self._indices(np.cumsum([0] + [len(entry) for entry in angles])[:-1])
        a.angle = self._reals(np.concatenate(angles), p.vec2)
        a.mount = self._reals([side.position for side in surfaces], p.vec3)
        a.mount_turn = self._reals([side.rotation for side in surfaces], p.mat33)
        return a

    def _mirror(self, array: wp.array) -> tuple[wp.array, np.ndarray]:
        """Host copy of a device array, so that writing it allocates nothing. On a CPU it is the array itself."""
        host = array if self.device.is_cpu else wp.zeros_like(array, device="cpu", pinned=True)
        return host, host.numpy()

    def _make_pairs(self, rows: Sequence[int]):
        name, order = self.precision.name, [pair.order for pair in self.pairs]
        q, bodies = at(t.Pairs, name)(), at(PairBodies, name)()
        motion_row: dict[str | None, int] = dict(zip(self.bodies, rows, strict=True))
        out_row: dict[str | None, int] = {name: k for k, name in enumerate(self.bodies)}
        q.surface = self._indices([[self._index[side.name] for side in sides] for sides in order])
        bodies.row = self._indices([[motion_row.get(side.body, -1) for side in sides] for sides in order])
        bodies.out = self._indices([[out_row.get(side.body, -1) for side in sides] for sides in order])
        named = [pair.b if pair.a.body is None else pair.a for pair in self.pairs]
        bodies.named = self._indices([sides.index(side) for sides, side in zip(order, named, strict=True)])
        bodies.both_move = self._indices([pair.moves for pair in self.pairs])
        q.radius = self._reals([sides[0].radius for sides in order])
        q.reach = self._reals(self.reach)
        q.margin = self._reals([MARGIN * sides[0].edge for sides in order])
        bodies.stick_speed = self._reals([
            max(layer.stick_speed for side in sides for layer in side.layers) for sides in order
        ])  # fmt: skip
        bodies.stiffest = self._reals(np.minimum(self._stiffest, np.finfo(self.precision.numpy).max))
        q.first_contact = self._indices(np.cumsum([0] + [len(entry) for entry in self._laws])[:-1])
        q.layers = self._indices([len(sides[1].layers) for sides in order])
        q.contacts = contact_table(self.precision.name, [law for entry in self._laws for law in entry], self.device)
        q.first_element = self._indices(self._first_element)
        bodies.step, q.lanes = self._step, self.lanes
        q.bodies = bodies
        return q

    # ---- shapes that change ---------------------------------------------------------------------------

    def set_profile(self, name: str, samples, speed=0.0, worlds: Sequence[int] | slice = slice(None)) -> None:
        """Set new samples of a surface's profile: a Profile, or (r, z) [m], (sample, 2). Their number must not change.

        `speed` [m/s], (sample, 2), (2,) or 0, is the velocity (r, z) of the shape itself until the next call. It adds
        to the velocity of contact points, and so to damping and friction. Call this between steps. Nothing is allocated
        on the device.
        """
        first, last = self._range(name)
        new = samples.samples if isinstance(samples, Profile) else np.asarray(samples, float)
        if new.shape != (last - first, 2):
            raise InputError(f"profile of {name!r}: {new.shape} samples are not allowed; allowed: {(last - first, 2)}")
        check_samples(new, name)
        try:
            speed = np.broadcast_to(np.asarray(speed, float), new.shape)
        except ValueError:
            raise InputError(f"profile of {name!r}: speed must be 0, (r, z) or {new.shape} m/s") from None
        if not np.isfinite(speed).all():
            raise InputError(f"profile of {name!r}: a speed is not a finite number")
        self._write(first, last, new, speed, worlds)

    def spread(
        self, name: str, widening: float, speed: float = 0.0, worlds: Sequence[int] | slice = slice(None)
    ) -> None:
        """Widen a surface: add `widening` [m] to every r of its initial profile. It moves at `speed` [m/s] radially."""
        first, last = self._range(name)
        new = self.surfaces[name].profile.samples
        new[:, 0] += widening
        if new[:, 0].min() < 0:
            raise InputError(f"profile of {name!r}: spread by {widening:g} m makes r negative; its smallest r is "
                             f"{self.surfaces[name].profile.r.min():g} m")  # fmt: skip
        self._write(first, last, new, (speed, 0.0), worlds)

    def _range(self, name: str) -> tuple[int, int]:
        if name not in self.surfaces:
            raise InputError(f"{self.name}: no surface {name!r}; there are {', '.join(self.surfaces)}")
        if not hasattr(self, "_sections"):
            raise InputError(f"{self.name}: profile of {name!r} can only change after the simulation has been built")
        k = self._index[name]
        return int(self._first[k]), int(self._first[k + 1])

    def _write(self, first: int, last: int, samples, speed, worlds) -> None:
        if not self.device.is_cpu:  # read first: a checkpoint may have changed the device arrays
            for name, (host, _) in self._host.items():
                wp.copy(host, getattr(self._sections, name))
            wp.synchronize_device(self.device)
        self._host["point"][1][worlds, first:last] = samples
        self._host["speed"][1][worlds, first:last] = speed
        if not self.device.is_cpu:
            for name, (host, _) in self._host.items():
                wp.copy(getattr(self._sections, name), host)

    def _put_profiles(self, worlds: Sequence[int]) -> None:
        """Set the initial profile of every surface in some worlds."""
        for name, side in self.surfaces.items():
            first, last = self._range(name)
            self._write(first, last, side.profile.samples, 0.0, list(worlds))
        if self.one_thread:
            self._launch(self._kernels["update_world"], self.worlds, self._sections)
        else:
            self._launch(self._kernels["update_surfaces"], (self.worlds, len(self.surfaces)), self._sections)

    # ---- the step -------------------------------------------------------------------------------------

    def _launch(self, kernel, dim, *inputs) -> None:
        wp.launch(kernel, dim=dim, inputs=list(inputs), device=self.device)

    def _launch_evaluate(self, launch) -> None:
        """Launch the kernels of `evaluate`: poses at the end of the step, contact forces, wrenches on the bodies."""
        k, where = self._kernels, (self._sections, self._rounds, self._pairs, self._poses, self._lists)
        e, sums = self._elements, self._sums
        outputs = (self.out.wrench, self.out.implicit, self.out.status)
        if self.one_thread:
            launch(k["evaluate_world"], self.worlds, [*where, e, sums, *self._moving(), *outputs])
            return
        by_pair = (self.worlds, len(self.pairs))
        launch(k["update_surfaces"], (self.worlds, len(self.surfaces)), [self._sections])
        launch(k["poses_ahead"], by_pair, [*where, e, sums, *self._moving()])
        launch(k["search_lanes"], (*by_pair, self.lanes), [*where])
        launch(k["press_lanes"], (*by_pair, self.lanes), [*where, e, sums])
        launch(k["gather_worlds"], self.worlds, [self._pairs, self._poses, sums, *outputs])

    def _launch_commit(self, launch) -> None:
        """Launch the kernels of `commit`: stick points after the step."""
        k, e, sums = self._kernels, self._elements, self._sums
        rounds, pairs, poses = self._rounds, self._pairs, self._poses
        if self.one_thread:
            launch(k["commit_world"], self.worlds, [self._sections, rounds, pairs, poses, e, sums, *self._moving()])
            return
        by_pair = (self.worlds, len(self.pairs))
        launch(k["poses_now"], by_pair, [rounds, pairs, poses, sums, *self._moving()])
        launch(k["stick_lanes"], (*by_pair, self.lanes), [self._sections, rounds, pairs, poses, e])
        launch(k["count_steps"], self.worlds, [e])

    # ---- state, channels ------------------------------------------------------------------------------

    def explain(self, code: int) -> tuple[str, bool]:
        kind, k = code % KINDS, code // KINDS
        reason, fatal = REASONS[kind]
        entry = self._laws[k]
        return reason.format(
            pair=self.pairs[k].name, thickness=max(law["thickness"] for law in entry), reach=self.reach[k],
            kappa=max(abs(law["kappa"]) for law in entry), stiffest=self._stiffest[k],
        ), fatal  # fmt: skip

    def state(self) -> dict[str, wp.array]:
        """Complete state. Lines follow from samples, and results do not depend on lists, so neither is included."""
        samples = {"sections/point": self._sections.point, "sections/speed": self._sections.speed}
        return samples | arrays(elements=self._elements, sums=self._sums, poses=self._poses)

    def reset(self, worlds: Sequence[int]) -> None:
        super().reset(worlds)
        self._put_profiles(list(worlds))

    def work(self) -> dict[str, np.ndarray]:
        """Counts of the work done, (world, pair) each.

        `mapped` points and `active` elements in contact in the last step; `listed` near elements; `tests` of patches
        and elements in the last search; `searches` since the start.
        """
        e, lists, state = self._elements, self._lists, self._lists.state.numpy()
        return {
            "mapped": e.mapped.numpy(), "active": e.active_count.numpy(), "listed": lists.listed.numpy(),
            "tests": state["tests"], "searches": state["searches"],
        }  # fmt: skip

    def _in_contact(self, world: int, load: np.ndarray) -> list[Any]:
        active = self._elements.active_count.numpy()[world]
        return [slice(int(first), int(first) + int(active[k])) for k, first in enumerate(self._first_element[:-1])]

    def channels(self) -> list[Channel]:
        return self._pair_channels(tuple(pair.name for pair in self.pairs))


def _angles(sectors: int, refine: int, passes: int) -> np.ndarray:
    """cos and sin, (angle, 2), of the middle of every sector, each followed by those of its parts, pass after pass."""
    counts = [refine**level for level in range(1, passes + 1)]
    offset = np.concatenate([[0.0], *((np.arange(count) + 0.5) / count - 0.5 for count in counts)])
    angle = 2 * np.pi * (np.arange(sectors)[:, None] + 0.5 + offset) / sectors
    return np.stack([np.cos(angle), np.sin(angle)], -1).reshape(-1, 2)
