"""Surfaces of revolution on bodies, and pairs of surfaces that may touch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from grouser.contact.layers import Layer
from grouser.contact.revolution.profile import Profile
from grouser.errors import InputError

SECTORS, REFINE = 64, 3  # elements around the axis; divisions of each side of an element at the border of a contact
MOST_REFINE = 16
MOST_PASSES = 4  # as many as `contact_force.press_parts` has weights for
MOST_PARTS = 64  # divisions of a side of an element after all passes


@dataclass(frozen=True, eq=False)
class RevolutionBody:
    """A surface of revolution with an elastic layer, fixed to a MuJoCo body or, if `body` is None, to the world."""

    body: str | None
    profile: Profile
    material: Layer | Sequence[Layer]
    name: str
    position: Sequence[float] = (0.0, 0.0, 0.0)  # [m] origin of the profile in the body's axes
    axis: Sequence[float] = (0.0, 0.0, 1.0)  # direction of z in the body's axes
    quaternion: Sequence[float] | None = None  # wxyz, instead of `axis`: also sets where the sectors start
    sectors: int = SECTORS
    refine: int = REFINE
    passes: int = 1  # how often elements at the border are divided; each time those parts that the border cuts
    line_material: Sequence[int] | None = None  # (sample - 1,) index of the material of each line, if there are several

    def __post_init__(self):
        where = f"surface {self.name!r}"
        if not isinstance(self.profile, Profile):
            raise InputError(f"{where}: profile must be a Profile, not {self.profile!r}")
        several = isinstance(self.material, Sequence) and len(self.material) > 0
        if not (isinstance(self.material, Layer) or several) or not all(isinstance(m, Layer) for m in self.layers):
            raise InputError(f"{where}: material must be a Layer or a sequence of them, not {self.material!r}")
        for field_name, length in (("position", 3), ("axis", 3), ("quaternion", 4)):
            value = getattr(self, field_name)
            if value is None:
                continue
            numbers = np.asarray(value, float).ravel()
            if numbers.shape != (length,) or not np.isfinite(numbers).all():
                raise InputError(f"{where}: {field_name} {value} is not allowed; allowed: {length} finite numbers")
            if field_name != "position" and np.linalg.norm(numbers) < 1e-12:
                raise InputError(f"{where}: {field_name} {value} has no direction; it must not be zero")
        if not 8 <= self.sectors == int(self.sectors):
            raise InputError(f"{where}: {self.sectors} sectors are not allowed; allowed: 8 or more")
        if not 1 <= self.refine <= MOST_REFINE or self.refine != int(self.refine):
            raise InputError(f"{where}: refine {self.refine} is not allowed; allowed: 1 to {MOST_REFINE}")
        if not 1 <= self.passes <= MOST_PASSES or self.passes != int(self.passes):
            raise InputError(f"{where}: passes {self.passes} is not allowed; allowed: 1 to {MOST_PASSES}")
        if self.refine**self.passes > MOST_PARTS:
            raise InputError(
                f"{where}: refine {self.refine} and passes {self.passes} make {self.refine**self.passes} parts of a "
                f"side; allowed: {MOST_PARTS}"
            )
        lines = self.profile.count - 1
        index = self.layer_of_line
        if index.shape != (lines,) or index.min() < 0 or index.max() >= len(self.layers):
            raise InputError(f"{where}: line_material must hold {lines} indices from 0 to {len(self.layers) - 1}")

    @property
    def layers(self) -> tuple[Layer, ...]:
        return (self.material,) if isinstance(self.material, Layer) else tuple(self.material)

    @property
    def layer_of_line(self) -> np.ndarray:
        given = self.line_material
        return np.zeros(self.profile.count - 1, np.int32) if given is None else np.asarray(given, np.int32).ravel()

    @property
    def elements(self) -> int:
        return (self.profile.count - 1) * int(self.sectors)

    @property
    def edge(self) -> float:
        """Mean side length [m] of its elements."""
        return math.sqrt(self.profile.surface / self.elements)

    @property
    def radius(self) -> float:
        """Largest distance [m] of its surface from its origin."""
        return float(np.hypot(self.profile.r, self.profile.z).max())

    @property
    def rotation(self) -> np.ndarray:
        """Axes of the profile in the body's axes, (3, 3); x is perpendicular to z and close to the body's x."""
        if self.quaternion is not None:
            w, x, y, z = np.asarray(self.quaternion, float) / np.linalg.norm(self.quaternion)
            return np.array([
                [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
            ])  # fmt: skip
        along = np.asarray(self.axis, float) / np.linalg.norm(self.axis)
        start = np.array([1.0, 0, 0]) if abs(along[0]) < 0.9 else np.array([0, 1.0, 0])
        x = start - along * (start @ along)
        x /= np.linalg.norm(x)
        return np.column_stack([x, np.cross(along, x), along])

    def mesh(self, sectors: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Mesh for display: vertices [m] in body axes, and triangles, counter-clockwise from outside."""
        count = sectors or int(self.sectors)
        angle = 2 * np.pi * np.arange(count) / count
        r, z = self.profile.r, self.profile.z
        ring = np.stack([np.cos(angle), np.sin(angle)], -1)
        vertices = np.concatenate(
            [r[:, None, None] * ring, np.broadcast_to(z[:, None, None], (len(z), count, 1))], axis=2
        ).reshape(-1, 3)
        k, j = np.meshgrid(np.arange(len(z) - 1), np.arange(count), indexing="ij")
        a, b = (k * count + j).ravel(), (k * count + (j + 1) % count).ravel()
        triangles = np.concatenate([np.stack([a, b, b + count], 1), np.stack([a, b + count, a + count], 1)])
        if self.profile.inner:
            triangles = triangles[:, ::-1]
        corners = vertices[triangles]
        good = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1) > 0
        return vertices @ self.rotation.T + np.asarray(self.position, float), triangles[good]


@dataclass(frozen=True, eq=False)
class RevolutionPair:
    """Two surfaces that may touch. Channels give the wrench on the body of `a` (of `b` if `a` is fixed)."""

    name: str
    a: RevolutionBody
    b: RevolutionBody
    friction: tuple[float, float] | None = None  # stick, slip; None: the smaller values of the two surfaces (assumed)
    reach: float | None = None  # [m] depth up to which contact is searched; None: twice the thickness of both layers
    largest_area: float | None = None  # [m^2] largest contact area of two moving bodies, for the step limit
    elements: str | None = None  # name of the surface that carries the elements; None: the one with less area
    order: tuple[RevolutionBody, RevolutionBody] = field(init=False)  # surface with the elements, the other one

    def __post_init__(self):
        where = f"pair {self.name!r}"
        for side in (self.a, self.b):
            if not isinstance(side, RevolutionBody):
                raise InputError(f"{where}: a and b must be RevolutionBody, not {side!r}")
        if self.a.name == self.b.name:
            raise InputError(f"{where}: both surfaces are called {self.a.name!r}; names must differ")
        if self.a.body == self.b.body:
            on = "fixed to the world" if self.a.body is None else f"on body {self.a.body!r}"
            raise InputError(f"{where}: both surfaces are {on}; one must move relative to the other")
        for name in ("reach", "largest_area"):
            value = getattr(self, name)
            if value is not None and not 0 < value < math.inf:
                raise InputError(f"{where}: {name} {value} is not allowed; it must be above 0")
        if self.friction is not None and not 0 <= self.friction[1] <= self.friction[0] < math.inf:
            raise InputError(
                f"{where}: friction {self.friction} is not allowed; allowed: (stick, slip) with 0 <= slip <= stick"
            )
        if self.elements not in (None, self.a.name, self.b.name):
            raise InputError(f"{where}: elements on {self.elements!r}; allowed: {self.a.name!r}, {self.b.name!r}")
        first = self.elements or min(self.a, self.b, key=lambda side: side.profile.surface).name
        object.__setattr__(self, "order", (self.a, self.b) if first == self.a.name else (self.b, self.a))

    @property
    def moves(self) -> bool:
        """Whether both surfaces are on moving bodies."""
        return self.a.body is not None and self.b.body is not None
