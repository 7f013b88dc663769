"""Force module of polygonal contact: pairs, allocation, kernel launches."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import warp as wp

from grouser.contact import explicit
from grouser.contact.layers import contact_constants
from grouser.contact.pair_module import PairModule
from grouser.contact.pairs import (
    DEEP,
    FULL,
    KAPPA,
    KINDS,
    LOST,
    STIFF,
    PairBodies,
    PairSums,
    RelativePoses,
    contact_table,
)
from grouser.contact.polygonal import kernels
from grouser.contact.polygonal import types as t
from grouser.contact.polygonal.pairs import EXACT, LINEAR, Pair, check_pairs
from grouser.contact.polygonal.shape import Shape, tree_boxes, tree_depth
from grouser.device import arrays, at, zeros
from grouser.errors import InputError
from grouser.model_compiler import compile_model
from grouser.module import Channel, Motion, Outputs
from grouser.precision import precision

REACH = 2.0  # depth up to which faces are searched, over the thickness of both layers
MARGIN = 0.25  # relative motion for which a list stays valid, over the mean edge of the elements
CANDIDATES = 24  # room on a list per face of the elements' shape
MOST_LISTED = 8192  # elements on a list, if their shape is larger than what touches it
LEAST_CANDIDATES = 4096  # smallest room on a list
FLAT = 1e-3  # largest curvature for linear depth: rise over a chord of an element's length, over both layers (assumed)
GPU_LANES = 128  # number of threads that share a pair on a GPU
REASONS = {
    KAPPA: ("its material and that of {other!r} differ: |kappa| = {kappa:.2f}, and the layer model holds for "
              "tangential contact near 0 only (Krenn et al. 2008, eq. 3)", False),
    DEEP: ("it is deeper in {other!r} than the thickness of both layers ({thickness:.3g} m), the limit of the "
        "theory", False),
    STIFF: ("its contact with {other!r} is stiffer than assumed for the step limit ({stiffest:.3g} N/m): "
              "give the pair a larger largest_area", False),
    LOST: ("it is {reach:.3g} m deep in {other!r}, the limit of the contact search: the contact is lost", True),
    FULL: ("more than {listed} elements or {room} pairs of faces may touch in its pair with {other!r}: increase "
           "`listed` or `capacity` of the pair", True),
}  # fmt: skip


class PolygonalModule(PairModule):
    """Contact of triangle meshes with elastic layers: bodies against each other and against fixed ground."""

    def __init__(
        self,
        bodies: Mapping[str, Shape],
        fixed: Mapping[str, Shape] | None = None,
        pairs: Sequence[Pair | tuple[str, str]] | None = None,
        name: str = "polygonal",
    ):
        """By default `pairs` is every body with every fixed shape."""
        self.name, self.surfaces, self.fixed = name, dict(bodies), dict(fixed or {})
        self.shapes = {**self.surfaces, **self.fixed}
        if pairs is None:
            pairs = [Pair(body, other) for body in self.surfaces for other in self.fixed]
        self.pairs = tuple(p if isinstance(p, Pair) else Pair(*p) for p in pairs)
        check_pairs(self.name, self.pairs, self.surfaces, self.fixed)
        used = {n for pair in self.pairs for n in (pair.body, pair.other)}
        self.bodies = tuple(b for b in self.surfaces if b in used)
        self.step_limit = math.inf
        self.notes = [note for n in self.shapes if n in used for note in self.shapes[n].notes]
        self._order = [self._elements_first(pair) for pair in self.pairs]
        self._laws = [self._pair_laws(pair, order) for pair, order in zip(self.pairs, self._order, strict=True)]
        self._stiffest = np.full(len(self.pairs), math.inf)

    def _elements_first(self, pair: Pair) -> tuple[str, str]:
        """Names of a pair: the shape that carries the elements first, then the other."""
        one, two = pair.body, pair.other
        spread = {n: float(np.ptp(self.shapes[n].vertices, axis=0).max()) for n in (one, two)}
        first = pair.elements or (two if spread[two] < spread[one] else one)
        return (first, two if first == one else one)

    def _pair_laws(self, pair: Pair, order: tuple[str, str]) -> list[dict[str, float]]:
        """Contact constants of every combination of layers; layers of the elements' shape in the outer loop."""
        return [
            contact_constants(a, b, pair.friction, f"{self.name}: {pair}")
            for a in self.shapes[order[0]].layers
            for b in self.shapes[order[1]].layers
        ]

    def depth_between(self, k: int) -> str:
        """How the depth is found in pair k: LINEAR if the other surface is nearly flat across an element, else EXACT.

        For LINEAR an open surface must be in one piece: between two pieces there is no surface to interpolate.
        """
        chosen = self.pairs[k].depth
        if chosen:
            return chosen
        elements, other = (self.shapes[name] for name in self._order[k])
        turning_angle = other.sharpest * max(1.0, elements.longest / other.edge)  # [rad] across an element
        if turning_angle * elements.longest / 8 >= FLAT * min(law["thickness"] for law in self._laws[k]):
            return EXACT
        return LINEAR if other.closed or other.pieces == 1 else EXACT

    def moves(self, pair: Pair) -> bool:
        """Whether both shapes of a pair are moving bodies."""
        return pair.other in self.surfaces

    # ---- step limit -----------------------------------------------------------------------------------

    def declare(self, spec) -> None:
        """Exclude these contacts from MuJoCo's, and find the step limit of pairs of moving bodies."""
        for pair in self.pairs:
            names = ("world" if pair.other in self.fixed else pair.other, pair.body)
            if not any({e.bodyname1, e.bodyname2} == set(names) for e in spec.excludes):
                spec.add_exclude(bodyname1=names[0], bodyname2=names[1])
        if any(self.moves(pair) for pair in self.pairs):
            self._find_step_limit(spec)

    def _find_step_limit(self, spec) -> None:
        """Find the largest stable step of explicit contact over all pairs of moving bodies."""
        model = compile_model(spec.copy())
        contacts = []
        for k, pair in enumerate(self.pairs):
            if not self.moves(pair):
                continue
            give = sum(self._mobility(model, name) for name in (pair.body, pair.other))
            area = pair.largest_area or min(self.shapes[name].broadest for name in (pair.body, pair.other))
            contacts.append((k, give, area))
        self._limit_step(contacts)

    def _mobility(self, model, name: str) -> float:
        """Inverse effective mass [1/kg] of a body at its farthest point, see `explicit.mobility`."""
        return explicit.mobility(
            model, name, lambda centre: np.linalg.norm(self.shapes[name].vertices - centre, axis=1).max()
        )

    # ---- allocation -----------------------------------------------------------------------------------

    def bind(self, motion: Motion, rows: Sequence[int], out: Outputs, step: float) -> None:
        if step > self.step_limit:
            pair = self._tightest
            raise InputError(
                f"step: {step:g} s is above the stability limit of module {self.name!r}, {self.step_limit:g} s (bodies "
                f"{pair.body!r} and {pair.other!r} touching over {self._tightest_area:g} m^2; give the pair its "
                "largest_area if this area is too large)"
            )
        self.motion, self.out, self.device = motion, out, motion.position.device
        self.precision = precision("float64" if motion.position.dtype._wp_scalar_type_ == wp.float64 else "float32")
        name = self.precision.name
        self._kernels = {kernel.key: at(kernel, name) for kernel in kernels.KERNELS}
        self.worlds = motion.position.shape[0]
        self.lanes = 1 if self.device.is_cpu else GPU_LANES
        self._keep_step(step)
        self._shapes = self._make_shapes()
        self._pairs = self._make_pairs(rows)
        of_pairs = (self.worlds, len(self.pairs))
        of_slots, of_faces = (self.worlds, int(self._first_slot[-1])), (self.worlds, int(self._first_element[-1]))
        self._poses = zeros(at(RelativePoses, name), self.device, of_pairs)
        self._sums = zeros(at(PairSums, name), self.device, of_pairs)
        by_face = {"state": of_faces, "anchor": of_faces, "over": (*of_faces, 3)}
        self._elements = zeros(at(t.Elements, name), self.device, of_slots, **by_face)
        listed = dict.fromkeys(("face", "first", "count", "may_face_away"), of_slots)
        self._lists = zeros(at(t.Lists, name), self.device, of_pairs, **listed, other=(self.worlds, sum(self._room)))
        self._record(self._launch_evaluate, self._launch_commit)

    def _make_shapes(self):
        """Make `types.Shapes`: faces of all shapes used, and Warp's trees of the shapes that elements touch."""
        s, p = at(t.Shapes, self.precision.name)(), self.precision
        self._names = list(dict.fromkeys(name for order in self._order for name in order))
        shapes = [self.shapes[name] for name in self._names]
        met = {order[1] for order in self._order}
        corners = [shape.corners for shape in shapes]
        s.first_face = self._indices(np.cumsum([0] + [len(c) for c in corners]))
        s.corners = self._reals(np.concatenate(corners), p.vec3)
        s.normal = self._reals(np.concatenate([shape.normals for shape in shapes]), p.vec3)
        s.layer = self._indices(np.concatenate([shape.face_layer for shape in shapes]))
        self._trees = [self._tree(c) if n in met else None for n, c in zip(self._names, corners, strict=True)]
        s.bvh = self._array([tree.id if tree else 0 for tree in self._trees], wp.uint64, np.uint64)
        return s

    def _tree(self, corners: np.ndarray) -> wp.Bvh:
        pad = 1e-6 * np.abs(corners).max()  # Warp's tree is float32
        low, high = corners.min(axis=1) - pad, corners.max(axis=1) + pad
        return wp.Bvh(self._array(low, wp.vec3, np.float32), self._array(high, wp.vec3, np.float32))

    def _make_pairs(self, rows: Sequence[int]):
        name, order = self.precision.name, self._order
        q, bodies = at(t.Pairs, name)(), at(PairBodies, name)()
        motion_row = dict(zip(self.bodies, rows, strict=True))
        out_row = {name: k for k, name in enumerate(self.bodies)}
        firsts = [self.shapes[a] for a, _ in order]
        self.reach = np.array([
            pair.reach or REACH * max(law["thickness"] for law in laws)
            for pair, laws in zip(self.pairs, self._laws, strict=True)
        ])  # fmt: skip
        q.shape = self._indices([[self._names.index(n) for n in names] for names in order])
        bodies.row = self._indices([[motion_row.get(n, -1) for n in names] for names in order])
        bodies.out = self._indices([[out_row.get(n, -1) for n in names] for names in order])
        bodies.named = self._indices([names.index(pair.body) for names, pair in zip(order, self.pairs, strict=True)])
        bodies.both_move = self._indices([self.moves(pair) for pair in self.pairs])
        q.linear = self._indices([self.depth_between(k) == LINEAR for k in range(len(self.pairs))])
        margins = [pair.margin or MARGIN * shape.edge for pair, shape in zip(self.pairs, firsts, strict=True)]
        about = [self._touching_radius(k, margin) for k, margin in enumerate(margins)]
        q.about_second = self._indices([second for second, _ in about])
        q.radius = self._reals([radius for _, radius in about])
        q.margin = self._reals(margins)
        q.reach = self._reals(self.reach)
        boxes = [tree_boxes(shape, reach) for shape, reach in zip(firsts, self.reach, strict=True)]
        q.first_node = self._indices(np.cumsum([0] + [len(centre) for centre, _ in boxes])[:-1])
        q.depth = self._indices([tree_depth(len(shape.triangles)) for shape in firsts])
        q.box = self._reals(np.concatenate([centre for centre, _ in boxes]), self.precision.vec3)
        q.half = self._reals(np.concatenate([half for _, half in boxes]), self.precision.vec3)
        bodies.stick_speed = self._reals([
            max(layer.stick_speed for name in names for layer in self.shapes[name].layers) for names in order
        ])  # fmt: skip
        bodies.stiffest = self._reals(np.minimum(self._stiffest, np.finfo(self.precision.numpy).max))
        q.first_contact = self._indices(np.cumsum([0] + [len(laws) for laws in self._laws])[:-1])
        q.layers = self._indices([len(self.shapes[b].layers) for _, b in order])
        q.contacts = contact_table(self.precision.name, [law for laws in self._laws for law in laws], self.device)
        faces = [len(shape.triangles) for shape in firsts]
        slots = [
            pair.listed or (min(n, MOST_LISTED) if second else n)
            for pair, n, (second, _) in zip(self.pairs, faces, about, strict=True)
        ]
        self._room = [
            pair.capacity or max(CANDIDATES * n, LEAST_CANDIDATES) for pair, n in zip(self.pairs, slots, strict=True)
        ]
        self._first_slot = np.cumsum([0, *slots])
        q.first_slot = self._indices(self._first_slot)
        self._first_element = np.cumsum([0, *faces])
        q.first_element = self._indices(self._first_element)
        q.first_candidate = self._indices(np.cumsum([0, *self._room]))
        bodies.step, q.lanes = self._step, self.lanes
        q.bodies = bodies
        return q

    def _touching_radius(self, k: int, margin: float) -> tuple[bool, float]:
        """Whether pair k is best seen from the second's origin, and the distance [m] from it within which it touches.

        A wheel is small, a field of rocks is not: seen from the wheel, rocks far away do not matter. Elements of the
        field that are on a list reach beyond the wheel by their own length, the reach and the slack of the list.
        """
        first, second = (self.shapes[name] for name in self._order[k])
        lengths = 2 if self.depth_between(k) == LINEAR else 1  # linear elements may lie in front by their length
        beyond = second.radius + lengths * first.longest + float(self.reach[k]) + 3 * margin
        return beyond < first.radius, min(first.radius, beyond)

    # ---- the step -------------------------------------------------------------------------------------

    def _launch_evaluate(self, launch) -> None:
        """Launch the kernels of `evaluate`: poses at the end of the step, contact forces, wrenches on the bodies."""
        k = self._kernels
        by_pair, by_lane = (self.worlds, len(self.pairs)), (self.worlds, len(self.pairs), self.lanes)
        q, poses, lists, sums = self._pairs, self._poses, self._lists, self._sums
        launch(k["poses_ahead"], by_pair, [q.bodies, *self._moving(), poses, sums])
        launch(k["press"], by_lane, [self._shapes, q, poses, lists, self._elements, sums])
        outputs = [self.out.wrench, self.out.implicit, self.out.status]
        launch(k["gather"], self.worlds, [q.bodies, poses, sums, *outputs])

    def _launch_commit(self, launch) -> None:
        """Launch the kernels of `commit`: stick points after the step, new lists for pairs that have moved on."""
        k = self._kernels
        by_pair, by_lane = (self.worlds, len(self.pairs)), (self.worlds, len(self.pairs), self.lanes)
        q, poses, lists, sums = self._pairs, self._poses, self._lists, self._sums
        launch(k["poses_now"], by_pair, [q.bodies, *self._moving(), poses, sums])
        launch(k["stick"], by_lane, [self._shapes, q, poses, lists, self._elements])
        launch(k["check_lists"], by_pair, [q, poses, lists, sums])
        launch(k["search"], by_lane, [self._shapes, q, lists])

    # ---- state, channels ------------------------------------------------------------------------------

    def explain(self, code: int) -> tuple[str, bool]:
        kind, k = code % KINDS, code // KINDS
        reason, fatal = REASONS[kind]
        laws = self._laws[k]
        return reason.format(
            other=self.pairs[k].other, thickness=max(law["thickness"] for law in laws), reach=self.reach[k],
            kappa=max(abs(law["kappa"]) for law in laws), room=self._room[k],
            listed=int(np.diff(self._first_slot)[k]), stiffest=self._stiffest[k],
        ), fatal  # fmt: skip

    def state(self) -> dict[str, wp.array]:
        return arrays(lists=self._lists, elements=self._elements, sums=self._sums, poses=self._poses)

    def tests(self) -> np.ndarray:
        """Number of pairs of faces compared by the last search, (world, pair)."""
        return self._lists.state.numpy()["tests"]

    def searches(self) -> np.ndarray:
        """Number of searches since the last reset, (world, pair)."""
        return self._lists.state.numpy()["searches"]

    def _in_contact(self, world: int, load: np.ndarray) -> list[Any]:
        out_of_reach, listed = self._lists.state.numpy()["out_of_reach"][world], self._lists.elements.numpy()[world]
        first = self._first_slot[:-1]
        slots = [np.arange(n, n + (0 if out_of_reach[k] else listed[k])) for k, n in enumerate(first)]
        return [own[load[own] > 0] for own in slots]

    def channels(self) -> list[Channel]:
        return self._pair_channels(tuple(f"{pair.body}/{pair.other}" for pair in self.pairs))
