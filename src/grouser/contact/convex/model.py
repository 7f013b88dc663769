"""Force module of convex contact: allocation, calls of coal, kernel launches."""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import warp as wp

from grouser.contact import explicit
from grouser.contact.convex import kernels, laws
from grouser.contact.convex import types as t
from grouser.contact.convex.parts import ConvexPart, Material
from grouser.contact.pair_limits import pair_limits
from grouser.contact.penalty import Constants
from grouser.device import arrays, at, zeros
from grouser.errors import InputError
from grouser.launches import Launches
from grouser.model_compiler import compile_model
from grouser.module import Channel, Limit, Motion, Outputs
from grouser.precision import real, vec2, vec3
from grouser.terrain.course import Course, Seams, valley_normals
from grouser.terrain.polyhedra import MOST_CORNERS, Polyhedron

POINTS_EACH = 96  # room for this many points per contact, on average
TOLERANCE = 1e-10  # [m] of coal's GJK and EPA; with its default 1e-6 a resting face may look like crossing edges
KINDS = ("face", "edge", "vertex")


class ConvexContact:
    """Contact of convex parts of machines with the pieces of a course, and with parts of other bodies.

    coal finds direction and depth of two solids (GJK, EPA), starting from the direction of the last step. The contact
    polygon is then clipped, and every contact point has its own depth. Forces against the course are implicit. Forces
    between two bodies are explicit and exactly opposite; they are stable up to `step_limit`.
    """

    def __init__(
        self,
        parts: Sequence[ConvexPart],
        course: Course | Iterable[Polyhedron] | None,
        material: Material | None = None,
        friction: tuple[float, float] | float = (0.6, 0.5),
        *,
        between: Sequence[tuple[str, str]] = (),
        law: Any = laws.penalty_pressure,
        capacity: int = 256,
        name: str = "convex",
    ):
        """`friction`: stick and slip, or one value for both. `between`: pairs of names of parts that may touch.

        `law`: pressure law at a point, see laws.py. `capacity`: largest number of candidates and of contacts.
        """
        self.name, self.parts, self.material = name, tuple(parts), material or Material()
        self.friction = friction if isinstance(friction, tuple) else (friction, friction)
        self.course = course if course is None or isinstance(course, Course) else Course(tuple(course))
        self.law, self.capacity = law, capacity
        self._check(between)
        self.bodies = tuple(dict.fromkeys(part.body for part in self.parts))
        self.labels = tuple(part.label for part in self.parts)
        self.between = [(self.labels.index(a), self.labels.index(b)) for a, b in between]
        self._solids = [part.solid() for part in self.parts]
        self.step_limit = math.inf
        self.surfaces = {body: self._shown(body) for body in self.bodies}
        self.fixed = {self.course.name: self.course} if self.course else {}

    def _check(self, between: Sequence[tuple[str, str]]) -> None:
        """Raise an InputError for invalid parts, pairs or settings."""
        labels = [part.label for part in self.parts]
        twice = [label for k, label in enumerate(labels) if label in labels[:k]]
        if not self.parts:
            raise InputError(f"{self.name}: no part is given; at least one is needed")
        if twice:
            raise InputError(f"{self.name}: two parts are called {twice[0]!r}; names must differ")
        if self.course is None and not between:
            raise InputError(f"{self.name}: neither a course nor pairs of parts are given; one is needed")
        if not (len(self.friction) == 2 and 0 <= self.friction[1] <= self.friction[0] < math.inf):
            raise InputError(
                f"{self.name}: friction {self.friction} is not allowed; allowed: (stick, slip) with 0 <= slip <= stick"
            )
        for pair in between:
            unknown = [label for label in pair if label not in labels]
            if unknown:
                raise InputError(f"{self.name}: pair {pair}: no part {unknown[0]!r}; there are {', '.join(labels)}")
            one, two = (self.parts[labels.index(label)].body for label in pair)
            if one == two:
                raise InputError(
                    f"{self.name}: pair {pair}: both are parts of {one!r}; allowed: parts of two different bodies"
                )
        if not 0 < self.capacity <= 1 << 20:
            raise InputError(f"{self.name}: capacity {self.capacity} is not allowed; allowed: 1 to {1 << 20}")

    def _shown(self, body: str) -> Any:
        """Join all parts of a body into one mesh for display."""
        own = [solid for part, solid in zip(self.parts, self._solids, strict=True) if part.body == body]
        first = np.cumsum([0] + [len(solid.vertices) for solid in own])
        return SimpleNamespace(
            vertices=np.concatenate([solid.vertices for solid in own]),
            triangles=np.concatenate([solid.triangles + k for solid, k in zip(own, first, strict=False)]),
        )

    # ---- step limit -----------------------------------------------------------------------------------

    def declare(self, spec) -> None:
        """Exclude these contacts from MuJoCo's, and find the step limit of pairs of parts."""
        pairs = [("world", body) for body in self.bodies] if self.course else []
        pairs += [(self.parts[a].body, self.parts[b].body) for a, b in self.between]
        for names in dict.fromkeys(pairs):
            if not any({e.bodyname1, e.bodyname2} == set(names) for e in spec.excludes):
                spec.add_exclude(bodyname1=names[0], bodyname2=names[1])
        if self.between:
            self._find_step_limit(spec)

    def _find_step_limit(self, spec) -> None:
        """Find the largest stable step of explicit contact, with the broadest face of the smaller part in contact.

        The lever arm of a body is half the size of its part, so that tilting is covered too.
        """
        model = compile_model(spec.copy())
        law = self.material.constants(self.friction)
        for a, b in self.between:
            area = min(_pressed_area(self._solids[k], self.material.spread) for k in (a, b))
            give = sum(self._mobility(model, k) for k in (a, b))
            if give > 0:
                limit = explicit.largest_step(law["c"] * area, law["d"] * area, give)
                if limit < self.step_limit:
                    self.step_limit, self._tightest = limit, (self.labels[a], self.labels[b])

    def _mobility(self, model, part: int) -> float:
        """Inverse effective mass [1/kg] of a part's body at the edge of the part, see `explicit.mobility`."""
        return explicit.mobility(model, self.parts[part].body, lambda centre: self._solids[part].size / 2)

    # ---- allocation -----------------------------------------------------------------------------------

    def bind(self, motion: Motion, rows: Sequence[int], out: Outputs, step: float) -> None:
        if step > self.step_limit:
            one, two = self._tightest
            raise InputError(
                f"step: {step:g} s is above the stability limit of module {self.name!r}, {self.step_limit:.3g} s "
                f"(parts {one!r} and {two!r} face to face); use a smaller step or a softer material"
            )
        if motion.position.shape[0] != 1 or not motion.position.device.is_cpu:
            raise InputError(
                f"{self.name}: {motion.position.shape[0]} worlds on {motion.position.device} are not supported: coal "
                "runs on the CPU and in one world only"
            )
        self.motion, self.out = motion, out
        if motion.position.dtype._wp_scalar_type_ != wp.float64:
            raise InputError(f"{self.name}: dtype float32 is not supported, coal works in float64; allowed: 'float64'")
        chosen = {} if self.law is laws.penalty_pressure else {laws.penalty_pressure: self.law}
        self._kernels = {kernel.key: at(kernel, "float64", chosen) for kernel in kernels.KERNELS}
        self._h = step
        self._step = wp.array([step], dtype=real, device="cpu")
        self._make_solids(rows)
        self._allocate()
        self._make_coal()
        self._launches: dict[str, Launches] = {}

    def _reals(self, values, dtype=None) -> wp.array:
        return wp.array(np.ascontiguousarray(values, float), dtype=dtype or real, device="cpu")

    def _make_solids(self, rows: Sequence[int]) -> None:
        """Make `types.Solids`: parts, then course pieces."""
        s: Any = t.Solids()
        pieces = list(self.course.pieces) if self.course else []
        solids = [*self._solids, *pieces]
        seams = [_open(solid) for solid in self._solids] + (list(self.course.seams) if self.course else [])
        loops = [np.array(f) for solid in solids for f in solid.faces]
        first_vertex = np.cumsum([0] + [len(solid.vertices) for solid in solids])
        owner = np.repeat(np.arange(len(solids)), [len(solid.faces) for solid in solids])

        def ints(values, kind: Any = np.int32) -> wp.array:
            return wp.array(np.ascontiguousarray(values, kind), device="cpu")

        s.parts = len(self.parts)
        s.first_vertex = ints(first_vertex)
        s.vertex = self._reals(np.concatenate([solid.vertices for solid in solids]), vec3)
        s.cover, s.ridge = (
            ints(np.concatenate([getattr(seam, n) for seam in seams]), np.int64) for n in ("cover", "ridge")
        )
        s.first_face = ints(np.cumsum([0] + [len(solid.faces) for solid in solids]))
        s.normal = self._reals(np.concatenate([solid.normals for solid in solids]), vec3)
        s.offset = self._reals(np.concatenate([solid.offsets for solid in solids]))
        s.covered = ints(np.concatenate([seam.covered for seam in seams]))
        s.first_corner = ints(np.cumsum([0] + [len(loop) for loop in loops]))
        s.corner = ints(np.concatenate([loop + first_vertex[k] for loop, k in zip(loops, owner, strict=True)]))
        s.rim = self._reals(np.concatenate([~edge for seam in seams for edge in seam.edges]))
        s.beyond = self._reals(np.concatenate(valley_normals(solids, seams)), vec3)
        row = dict(zip(self.bodies, rows, strict=True))
        s.row = ints([row[part.body] for part in self.parts])
        s.out = ints([self.bodies.index(part.body) for part in self.parts])
        s.radius = self._reals([np.linalg.norm(solid.vertices, axis=1).max() for solid in self._solids])
        s.between = wp.array(np.array(self.between, np.int32).reshape(-1, 2), dtype=wp.int32, device="cpu")
        self._tree = self._make_tree(pieces)
        s.bvh = self._tree.id if self._tree else 0
        s.material = self._make_material()
        s.stick_speed, s.spread = self.material.stick_speed, self.material.spread
        s.step = self._step
        self._device_solids = s

    def _make_tree(self, pieces: list[Polyhedron]):
        """Build Warp's tree over the boxes of the course. It is float32, so the boxes are padded by its round-off."""
        if not pieces:
            return None
        low = np.array([piece.vertices.min(0) for piece in pieces])
        high = np.array([piece.vertices.max(0) for piece in pieces])
        pad = 1e-6 * max(np.abs(low).max(), np.abs(high).max())
        return wp.Bvh(
            wp.array((low - pad).astype(np.float32), dtype=wp.vec3, device="cpu"),
            wp.array((high + pad).astype(np.float32), dtype=wp.vec3, device="cpu"),
        )

    def _make_material(self):
        m: Any = Constants()
        for key, value in self.material.constants(self.friction).items():
            setattr(m, key, value)
        m.law = vec2(*self.material.law)
        return m

    def _allocate(self) -> None:
        n, parts = self.capacity, len(self.parts)
        points = POINTS_EACH * n + 6 * MOST_CORNERS
        clipped = (2, 2 * MOST_CORNERS + 8)
        self._poses = zeros(t.Poses, "cpu", (parts,))
        self._found = zeros(t.Candidates, "cpu", (n,), pair=(n, 2), counts=(1,))
        self._sticks, self._trial = (zeros(t.Sticks, "cpu", (n,), pair=(n, 2), count=(1,)) for _ in range(2))
        of_points = dict.fromkeys(("at", "area", "load", "point_depth", "corner", "depth"), (points,))
        self._contacts = zeros(
            t.Contacts, "cpu", (n,), **of_points, first_point=(n + 1,), first_corner=(n + 1,), stored=(1,),
            polygon=clipped, rim=clipped,
        )  # fmt: skip
        rows = (len(self.bodies),)
        self._last = zeros(t.StepContacts, "cpu", (n,), pair=(n, 2), count=(1,), left=rows, weight=rows)
        o = self.out  # second set of outputs: present forces for channels, without changing those of the step
        self._now = Outputs(*(wp.zeros_like(x) for x in (o.wrench, o.implicit, o.effective, o.status)))

    def _make_coal(self) -> None:
        """Set up coal. Shapes and pair objects are made later, when two solids first come near each other."""
        try:
            coal: Any = importlib.import_module("coal")
        except ModuleNotFoundError:
            raise InputError(
                f"{self.name}: convex contact needs the package coal: pip install 'grouser[convex]'"
            ) from None
        self._coal: Any = coal
        self._pieces = list(self.course.pieces) if self.course else []
        self._shapes: dict[int, Any] = {}
        self._pairs: dict[tuple[int, int], tuple[Any, Any, Any]] = {}
        self._ahead = [coal.Transform3s() for _ in self.parts]
        self._present = [coal.Transform3s() for _ in self.parts]
        self._still = coal.Transform3s()
        self._request, self._result = coal.CollisionRequest(), coal.CollisionResult()
        self._request.gjk_tolerance = self._request.epa_tolerance = TOLERANCE
        self._request.gjk_initial_guess = coal.GJKInitialGuess.CachedGuess
        f, a = self._found, self._poses
        self._host = {
            "pair": f.pair.numpy(), "guess": f.guess.numpy(), "reach": f.reach.numpy(), "touch": f.touch.numpy(),
            "normal": f.normal.numpy(), "distance": f.distance.numpy(), "point": f.point.numpy(),
            "counts": f.counts.numpy(), "place": a.position.numpy(), "turn": a.rotation.numpy(),
            "ahead_place": a.ahead_position.numpy(), "ahead_turn": a.ahead_rotation.numpy(),
        }  # fmt: skip

    def _shape(self, solid: int):
        """coal's convex shape of a solid, made once."""
        if solid not in self._shapes:
            parts = len(self.parts)
            source = self._solids[solid] if solid < parts else self._pieces[solid - parts]
            points = self._coal.StdVec_Vec3s()
            for vertex in source.vertices:
                points.append(vertex)
            self._shapes[solid] = self._coal.Convex.convexHull(points, True, "Qt")
        return self._shapes[solid]

    def _join(self, a: int, b: int):
        """Make coal's collision functor of a pair, with the two poses it is called with."""
        ground = b >= len(self.parts)
        functor = self._coal.ComputeCollision(self._shape(a), self._shape(b))
        poses = (self._ahead[a], self._still) if ground else (self._present[a], self._present[b])
        self._pairs[a, b] = out = (functor, *poses)
        return out

    # ---- the step -------------------------------------------------------------------------------------

    def evaluate(self, h: float) -> None:
        self._set_step(h)
        self._run("search", self._launch_search)
        self._collide()
        self._run("compute_forces", lambda launch: self._launch_forces(launch, self.out))

    def commit(self, h: float) -> None:
        self._set_step(h)
        self._run("update_sticks", self._launch_sticks)

    def _set_step(self, h: float) -> None:
        if h != self._h:
            self._h = h
            self._step.fill_(h)

    def _collide(self) -> None:
        """Call coal for every candidate. This is the only loop of a step that runs in Python."""
        host, request, result, pairs = self._host, self._request, self._result, self._pairs
        count = int(host["counts"]["candidates"][0])
        if not count:
            return
        touch, normal, distance, point = host["touch"], host["normal"], host["distance"], host["point"]
        guess, reach = host["guess"], host["reach"]
        listed = host["pair"][:count].tolist()
        for part in {part for pair in listed for part in pair if part < len(self.parts)}:
            ahead, present = self._ahead[part], self._present[part]
            ahead.setRotation(host["ahead_turn"][part])
            ahead.setTranslation(host["ahead_place"][part])
            present.setRotation(host["turn"][part])
            present.setTranslation(host["place"][part])
        for k, (a, b) in enumerate(listed):
            functor, one, two = pairs.get((a, b)) or self._join(a, b)
            request.cached_gjk_guess = guess[k]
            request.security_margin = reach[k]
            result.clear()
            if functor(one, two, request, result):
                contact = result.getContact(0)
                touch[k] = 1
                normal[k] = contact.normal
                distance[k] = contact.penetration_depth
                point[k] = contact.pos
            else:
                touch[k] = 0

    def _run(self, name: str, record) -> None:
        if name not in self._launches:
            self._launches[name] = Launches(record)
        self._launches[name].run()

    def _launch_search(self, launch) -> None:
        m = self.motion
        inputs = [
            self._device_solids,
            self._poses,
            self._found,
            self._sticks,
            m.position,
            m.rotation,
            m.velocity,
            m.angular_velocity,
        ]
        launch(self._kernels["search"], 1, inputs)

    def _launch_forces(self, launch, out: Outputs) -> None:
        inputs = [self._device_solids, self._poses, self._found, self._sticks, self._trial, self._contacts]
        launch(self._kernels["compute_forces"], 1, [*inputs, out.wrench, out.implicit, out.status])

    def _launch_sticks(self, launch) -> None:
        m = self.motion
        inputs = [
            self._device_solids, self._poses, self._sticks, self._trial, self._contacts, self._last, m.position,
            m.velocity, m.angular_velocity, self.out.effective,
        ]  # fmt: skip
        launch(self._kernels["update_sticks"], 1, inputs)

    def evaluate_for_channels(self) -> None:
        """Evaluate the present contact for channels. Changes neither the state nor the outputs of the step."""
        before = self._h
        self._set_step(0.0)
        self._run("search", self._launch_search)
        self._collide()
        self._run("channels", lambda launch: self._launch_forces(launch, self._now))
        self._set_step(before)

    # ---- state, channels ------------------------------------------------------------------------------

    def explain(self, code: int) -> tuple[str, bool]:
        return f"more than {self.capacity} contacts: increase the capacity of the module", True

    def state(self) -> dict[str, wp.array]:
        return arrays(sticks=self._sticks, last=self._last)

    def reset(self, worlds: Sequence[int]) -> None:
        for array in (*self.state().values(), self._trial.count):
            array.zero_()

    @property
    def counts(self) -> dict[str, int]:
        """Counts of the last evaluation: pairs compared, candidates passed to coal, contacts, points."""
        c = self._host["counts"]
        return {name: int(c[name][0]) for name in ("seen", "candidates", "contacts", "points")}

    def contacts(self) -> np.ndarray:
        """Contacts of the last evaluation, (contact, 10).

        Columns: centre of pressure [m], force on the part [N], depth [m], kind (0 face, 1 edge, 2 vertex), part, piece
        (negative: another part, -1 - its index).
        """
        e = self._contacts
        return self._table(self.counts["contacts"], self._trial.pair, e.pressed, e.force, e.deepest, e.kind)

    def step_contacts(self) -> np.ndarray:
        """Contacts of the last step, (contact, 10), columns as in `contacts`. The force is what the part received."""
        d = self._last
        return self._table(int(d.count.numpy()[0]), d.pair, d.place, d.force, d.deepest, d.kind)

    def _table(self, n: int, pairs, place, force, deepest, kind) -> np.ndarray:
        pair = pairs.numpy()[:n]
        other = pair[:, 1] - len(self.parts)
        other = np.where(other < 0, -1 - pair[:, 1], other)
        columns = [place.numpy()[:n], force.numpy()[:n], deepest.numpy()[:n], kind.numpy()[:n], pair[:, 0], other]
        return np.column_stack(columns).astype(float).reshape(n, 10)

    def points(self) -> np.ndarray:
        """Clipped corners of the last evaluation, (point, 5): position [m], depth [m], index of the contact."""
        n, e = self.counts["contacts"], self._contacts
        first = e.first_corner.numpy()[: n + 1]
        total = int(first[-1]) if n else 0
        owner = np.repeat(np.arange(n), np.diff(first))
        return np.column_stack([e.corner.numpy()[:total], e.depth.numpy()[:total], owner]).astype(float).reshape(-1, 5)

    def normals(self) -> np.ndarray:
        """Directions that push the part out in the last evaluation, (contact, 3)."""
        return self._trial.normal.numpy()[: self.counts["contacts"]].astype(float)

    def stored(self) -> float:
        """Energy [J] in the springs at the last evaluation. Exact for the penalty law."""
        return float(self._contacts.stored.numpy()[0])

    def _evaluated_now(self, read):
        def value():
            self.evaluate_for_channels()
            return read()

        return value

    def limits(self) -> list[Limit]:
        return pair_limits(self.name, self.labels, [self.material.spread] * len(self.parts))

    def penetration(self) -> np.ndarray:
        """Depth [m] of the deepest point of each part in the last step, (1, part)."""
        n, found = int(self._last.count.numpy()[0]), np.zeros((1, len(self.parts)))
        pair, deepest = self._last.pair.numpy()[:n], self._last.deepest.numpy()[:n]
        for side in (0, 1):
            ours = pair[:, side] < len(self.parts)  # others are pieces of the course
            np.maximum.at(found[0], pair[ours, side], deepest[ours])
        return found

    def channels(self) -> list[Channel]:
        count, out = len(self.bodies), self.out
        return [
            Channel(
                f"{self.name}/force", "N", (count, 3), labels=self.bodies, read=lambda: out.effective.numpy()[..., :3]
            ),
            Channel(
                f"{self.name}/torque",
                "N m",
                (count, 3),
                labels=self.bodies,
                read=lambda: out.effective.numpy()[..., 3:],
            ),
            Channel(f"{self.name}/penetration", "m", (len(self.parts),), "", labels=self.labels, read=self.penetration),
            Channel(f"{self.name}/stored", "J", frame="", read=self._evaluated_now(lambda: np.array([self.stored()]))),
            Channel(f"{self.name}/contacts", "m, N, m, 1", (10,), kind="ragged", read=self.step_contacts),
            Channel(f"{self.name}/points", "m, m, 1", (5,), kind="ragged", read=self.points),
        ]


def _open(solid: Polyhedron) -> Seams:
    """Seams of a part: it has no neighbours, so no face is covered and no edge lies on a seam."""
    zeros = np.zeros(len(solid.vertices), np.int64)
    return Seams(np.zeros(len(solid.faces), bool), zeros, zeros, tuple(np.zeros(len(f), bool) for f in solid.faces))


def _pressed_area(solid: Polyhedron, spread: float) -> float:
    """Area A + r P + pi r^2 [m^2] over which the largest face presses; r is `spread`, P the perimeter."""
    return max(_area(solid.vertices[list(f)], spread) for f in solid.faces)


def _area(ring: np.ndarray, spread: float) -> float:
    edges = np.roll(ring, -1, 0) - ring
    area = np.linalg.norm(np.cross(ring - ring[0], edges).sum(0)) / 2
    return float(area + spread * np.linalg.norm(edges, axis=1).sum() + math.pi * spread**2)
