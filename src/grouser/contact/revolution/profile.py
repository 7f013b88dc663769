"""Longitudinal sections of bodies of revolution, checked and sampled more finely where they are more curved.

Krenn and Hirzinger 2009, section II.B.1: surfaces are given by their discrete section, radius over axial coordinate.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from grouser.errors import InputError

DENSE = 2001  # points at which a curve is evaluated before it is sampled
ON_AXIS = 1e-9  # share of the section's size; an end this close to the axis closes the surface


@dataclass(frozen=True, eq=False)
class Profile:
    """A section r(z): consecutive samples along a curve in the half plane (r, z), r >= 0.

    With r to the right and z up, the outside lies to the right of the curve, that is at larger radius where z
    increases. With `inner` it lies to the left, as for the inside of a nozzle. Samples from high to low z are reversed.
    If the first sample equals the last one, the section is a closed ring. An end on the axis closes the surface, any
    other end is an edge. Samples are joined by straight lines, or by a smooth cubic where `curved` is set.
    """

    z: np.ndarray  # [m], (sample,) along the axis
    r: np.ndarray  # [m], (sample,) from the axis
    inner: bool = False
    name: str = "profile"
    curved: bool | np.ndarray = False  # (sample - 1,): the line is the chord of a smooth curve through the samples

    def __post_init__(self):
        z, r = (np.array(a, float).ravel() for a in (self.z, self.r))
        if len(z) != len(r) or len(z) < 2:
            raise InputError(f"profile {self.name!r}: {len(z)} z and {len(r)} r; allowed are equal numbers, 2 or more")
        check_samples(np.column_stack([r, z]), self.name)
        try:
            curved = np.broadcast_to(np.asarray(self.curved, bool), len(z) - 1)
        except ValueError:
            raise InputError(f"profile {self.name!r}: curved must be one or {len(z) - 1} flags") from None
        self._keep(z, r, curved)
        turn = self.area_inside < 0 if self.closed else z[-1] < z[0]
        if turn:
            self._keep(z[::-1].copy(), r[::-1].copy(), curved[::-1])

    def _keep(self, z: np.ndarray, r: np.ndarray, curved: np.ndarray) -> None:
        for name, value in (("z", z), ("r", r), ("curved", curved)):
            object.__setattr__(self, name, value)

    # ---- what it is ---------------------------------------------------------------------------------

    @property
    def samples(self) -> np.ndarray:
        """Samples (r, z) [m], (sample, 2)."""
        return np.column_stack([self.r, self.z])

    @property
    def count(self) -> int:
        return len(self.z)

    @property
    def size(self) -> float:
        """Larger of the section's length and radius [m]."""
        return float(max(np.ptp(self.z), self.r.max()))

    @property
    def closed(self) -> bool:
        return bool(np.hypot(self.z[-1] - self.z[0], self.r[-1] - self.r[0]) <= ON_AXIS * self.size)

    @property
    def edges(self) -> tuple[bool, bool]:
        """Whether the surface ends at its first and at its last sample."""
        limit = ON_AXIS * self.size
        return (not self.closed and self.r[0] > limit, not self.closed and self.r[-1] > limit)

    @property
    def area_inside(self) -> float:
        """Area [m^2] enclosed by a closed section; positive if the outside lies to the right of the curve."""
        r, z = self.r, self.z
        return float(np.sum(r[:-1] * z[1:] - r[1:] * z[:-1]) / 2)

    @property
    def surface(self) -> float:
        """Area [m^2] of the surface of revolution."""
        return float(np.sum(np.pi * (self.r[1:] + self.r[:-1]) * np.hypot(np.diff(self.r), np.diff(self.z))))

    # ---- sampled curves -----------------------------------------------------------------------------

    @classmethod
    def from_function(
        cls,
        radius: Callable[[np.ndarray], np.ndarray],
        z: tuple[float, float],
        *,
        tolerance: float,
        longest: float = math.inf,
        inner: bool = False,
        name: str = "profile",
    ) -> Profile:
        """Sample r = radius(z) between two z [m]. Chords deviate by at most `tolerance` [m] and are at most `longest`
        [m] long."""
        along = np.linspace(*z, DENSE)
        curve = np.column_stack([np.broadcast_to(np.asarray(radius(along), float), along.shape), along])
        r, z_new = sampled(curve, tolerance, longest, name).T
        return cls(z_new, r, inner, name, True)

    @classmethod
    def from_points(
        cls,
        z,
        r,
        *,
        tolerance: float | None = None,
        longest: float = math.inf,
        inner: bool = False,
        name: str = "profile",
    ) -> Profile:
        """Straight lines through points, or with a `tolerance` [m] a smooth curve (Catmull-Rom spline)."""
        points = cls(z, r, inner, name).samples
        if tolerance is None:
            samples = divided(points, longest, name)
        else:
            samples = sampled(smooth_curve(points), tolerance, longest, name)
        return cls(samples[:, 1], samples[:, 0], inner, name, tolerance is not None)

    @classmethod
    def cone(
        cls, z: tuple[float, float], r: tuple[float, float], *, longest: float = math.inf, inner: bool = False,
        name: str = "cone",
    ) -> Profile:  # fmt: skip
        """Cone between two z [m] with the radii r [m]."""
        return cls.from_points(z, r, longest=longest, inner=inner, name=name)

    @classmethod
    def cylinder(
        cls, radius: float, z: tuple[float, float], *, caps: bool = False, longest: float = math.inf,
        inner: bool = False, name: str = "cylinder",
    ) -> Profile:  # fmt: skip
        """Cylinder of one radius [m] between two z [m]; with `caps` its flat ends are included."""
        low, high = min(z), max(z)
        points = [(low, 0.0), (low, radius), (high, radius), (high, 0.0)] if caps else [(low, radius), (high, radius)]
        along, radii = zip(*points, strict=True)
        return cls.from_points(along, radii, longest=longest, inner=inner, name=name)

    @classmethod
    def disk(cls, radius: float, z: float = 0.0, *, up: bool = True, longest: float = math.inf, name: str = "disk"):
        """Flat disk whose normal points along the axis (`up`) or against it."""
        return cls.from_points([z, z], [0.0, radius], longest=longest, inner=up, name=name)

    @classmethod
    def arc(
        cls, radius: float, centre: tuple[float, float], angles: tuple[float, float], *, tolerance: float,
        longest: float = math.inf, inner: bool = False, name: str = "arc",
    ) -> Profile:  # fmt: skip
        """Circular arc about `centre` (z, r) [m]; angles [rad] are measured from r towards z."""
        angle = np.linspace(*angles, DENSE)
        curve = np.column_stack([centre[1] + radius * np.cos(angle), centre[0] + radius * np.sin(angle)])
        curve[np.abs(curve[:, 0]) < ON_AXIS * radius, 0] = 0.0
        r, z = sampled(curve, tolerance, longest, name).T
        return cls(z, r, inner, name, True)

    @classmethod
    def sphere(
        cls, radius: float, z: float = 0.0, *, tolerance: float | None = None, longest: float = math.inf,
        inner: bool = False, name: str = "sphere",
    ) -> Profile:  # fmt: skip
        """Sphere centred at z [m] on the axis."""
        tolerance = 1e-4 * radius if tolerance is None else tolerance
        angles = (-math.pi / 2, math.pi / 2)
        return cls.arc(radius, (z, 0.0), angles, tolerance=tolerance, longest=longest, inner=inner, name=name)

    @classmethod
    def ring(
        cls, radius: float, wire: float, z: float = 0.0, *, tolerance: float | None = None, longest: float = math.inf,
        name: str = "ring",
    ) -> Profile:  # fmt: skip
        """Torus: a wire of radius `wire` [m] bent to a ring of `radius` [m]."""
        if not 0 < wire < radius:
            raise InputError(f"profile {name!r}: wire {wire} m is not allowed; above 0 and below the ring's {radius} m")
        tolerance = 1e-3 * wire if tolerance is None else tolerance
        angles = (-math.pi, math.pi)
        ring = cls.arc(wire, (z, radius), angles, tolerance=tolerance, longest=longest, name=name)
        zs, rs = ring.z.copy(), ring.r.copy()
        zs[-1], rs[-1] = zs[0], rs[0]
        return cls(zs, rs, False, name, True)

    @classmethod
    def joined(cls, *parts: Profile, name: str = "profile") -> Profile:
        """Join profiles end to end, in order. Ends that coincide become one sample."""
        if not parts or any(part.inner != parts[0].inner for part in parts):
            raise InputError(f"profile {name!r}: parts to join must be at least one, all inner or all outer")
        samples, curved = [parts[0].samples], [parts[0].curved]
        for part in parts[1:]:
            new = part.samples
            same = np.hypot(*(new[0] - samples[-1][-1])) <= ON_AXIS * max(part.size, parts[0].size)
            samples.append(new[1:] if same else new)
            curved += [part.curved] if same else [np.array([False]), part.curved]
        whole = np.concatenate(samples)
        return cls(whole[:, 1], whole[:, 0], parts[0].inner, name, np.concatenate(curved))


def check_samples(samples: np.ndarray, name: str) -> None:
    """Raise an InputError for samples (r, z) that do not describe a surface of revolution."""
    if not np.isfinite(samples).all():
        raise InputError(
            f"profile {name!r}: sample {int(np.argmin(np.isfinite(samples).all(axis=1)))} is not a finite number"
        )
    if samples[:, 0].min() < 0:
        k = int(samples[:, 0].argmin())
        raise InputError(
            f"profile {name!r}: r = {samples[k, 0]:g} m of sample {k} is not allowed; it must be 0 or more"
        )
    steps = np.hypot(*np.diff(samples, axis=0).T)
    if steps.min() <= ON_AXIS * max(float(np.ptp(samples[:, 1])), float(samples[:, 0].max())):
        raise InputError(f"profile {name!r}: samples {int(steps.argmin())} and the next are equal; they must differ")
    if samples[:, 0].max() <= 0:
        raise InputError(f"profile {name!r}: all samples lie on the axis; at least one r must be above 0")
    crossing = first_crossing(samples)
    if crossing is not None:
        raise InputError(f"profile {name!r}: its lines {crossing[0]} and {crossing[1]} cross; it must not cross itself")


def first_crossing(samples: np.ndarray) -> tuple[int, int] | None:
    """Indices of two lines of a section that cross, or None."""
    a, b = samples[:-1], samples[1:]

    def side(p, q, x):  # (line, line)
        return (q[:, None, 0] - p[:, None, 0]) * (x[None, :, 1] - p[:, None, 1]) - (q[:, None, 1] - p[:, None, 1]) * (
            x[None, :, 0] - p[:, None, 0]
        )

    apart = side(a, b, a) * side(a, b, b) < 0
    both = np.argwhere(apart & apart.T)
    return None if not len(both) else (int(both[0, 0]), int(both[0, 1]))


def sampled(curve: np.ndarray, tolerance: float, longest: float, name: str) -> np.ndarray:
    """Sample a smooth dense curve (r, z) so that its chords deviate by at most `tolerance` [m].

    A chord of length s deviates by s^2 k / 8 from a curve of curvature k. So the number of chords is the integral of
    max(sqrt(k / (8 tolerance)), 1 / longest) along the curve.
    """
    if not (tolerance > 0 and longest > 0):
        raise InputError(f"profile {name!r}: tolerance {tolerance} m, longest {longest} m; both must be above 0")
    path_length = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(curve, axis=0).T))])
    if not np.isfinite(path_length[-1]) or path_length[-1] <= 0:
        raise InputError(f"profile {name!r}: the curve has zero length or is not finite")
    first = np.gradient(curve, path_length, axis=0)
    second = np.gradient(first, path_length, axis=0)
    curvature = np.abs(first[:, 0] * second[:, 1] - first[:, 1] * second[:, 0])
    density = np.maximum(np.sqrt(curvature / (8 * tolerance)), 1 / longest)
    need = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2 * np.diff(path_length))])
    pieces = max(1, math.ceil(need[-1] - 1e-9))
    at = np.interp(np.linspace(0, need[-1], pieces + 1), need, path_length) if need[-1] > 0 else path_length[[0, -1]]
    return np.column_stack([np.interp(at, path_length, curve[:, k]) for k in (0, 1)])


def divided(points: np.ndarray, longest: float, name: str) -> np.ndarray:
    """Add points (r, z) on lines longer than `longest` [m]."""
    if not longest > 0:
        raise InputError(f"profile {name!r}: longest {longest} m is not allowed; it must be above 0")
    parts = [points[:1]]
    for a, b in pairwise(points):
        pieces = max(1, math.ceil(float(np.hypot(*(b - a))) / longest - 1e-9))
        parts.append(a + (b - a) * (np.arange(1, pieces + 1) / pieces)[:, None])
    return np.concatenate(parts)


def smooth_curve(points: np.ndarray) -> np.ndarray:
    """Dense cubic curve (r, z) through points. The slope at a point is that of the parabola through its neighbours."""
    if len(points) < 3:
        return points
    at = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(points, axis=0).T))])
    slope = np.gradient(points, at, axis=0, edge_order=2)
    fine = np.unique(np.concatenate([np.linspace(0, at[-1], DENSE), at]))
    k = np.clip(np.searchsorted(at, fine, side="right") - 1, 0, len(at) - 2)
    step = (at[k + 1] - at[k])[:, None]
    t = (fine - at[k])[:, None] / step
    curve = (
        (1 + 2 * t) * (1 - t) ** 2 * points[k] + t * (1 - t) ** 2 * step * slope[k]
        + t**2 * (3 - 2 * t) * points[k + 1] + t**2 * (t - 1) * step * slope[k + 1]
    )  # fmt: skip
    curve[:, 0] = np.maximum(curve[:, 0], 0.0)
    return curve
