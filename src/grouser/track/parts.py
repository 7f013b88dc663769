"""Parts of a track: links with bushings, rails and shoes; wheels with profiles; soil values.

Default numbers are assumed engineering values of a bulldozer of the 20 t class, because Omar 2014 gives none.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from grouser.errors import InputError
from grouser.terrain import checks

Points = tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class PinBushing:
    """The joint between two links (Omar 2014, eq. 25) and its back-bend stop."""

    radial_stiffness: float = 1e8  # [N/m]
    axial_stiffness: float = 5e7  # [N/m]
    radial_damping: float = 4e4  # [N s/m]
    axial_damping: float = 2e4  # [N s/m]
    roll_stiffness: float = 5e5  # [N m/rad] about the link's long axis
    yaw_stiffness: float = 5e5  # [N m/rad] about its vertical axis
    tilt_damping: float = 300.0  # [N m s/rad]
    pin_damping: float = 20.0  # [N m s/rad]
    back_bend: Literal["angle", "shoes"] = "angle"  # what stops bending back: an angle, or the edges of the shoes
    back_bend_angle: float = math.radians(5)  # [rad]
    back_bend_stiffness: float = 5e5  # [N m/rad]
    back_bend_damping: float = 500.0  # [N m s/rad]
    edge_gap: float = 0.005  # [m] between the shoes of a straight chain: they also meet at 5 degrees
    edge_stiffness: float = 1e8  # [N/m]
    edge_damping: float = 2e4  # [N s/m]


@dataclass(frozen=True)
class Rail:
    """Both rails of a link, given by sections of the left one: y outward and z up from the pins [m].

    Sections are given at `stations` [m] along the link. Between stations they are interpolated; beyond the last one
    they stay constant.
    """

    height: float = 0.052  # [m] nominal, of the tread above the pins
    stations: tuple[float, ...] = (-0.1016, -0.04, 0.04, 0.1016)
    sections: tuple[Points, ...] = (
        ((0.066, 0.036), (0.068, 0.052), (0.096, 0.052), (0.098, 0.036)),
        ((0.064, 0.036), (0.066, 0.052), (0.104, 0.052), (0.106, 0.036)),
        ((0.064, 0.036), (0.066, 0.052), (0.104, 0.052), (0.106, 0.036)),
        ((0.072, 0.036), (0.074, 0.052), (0.102, 0.052), (0.104, 0.036)),
    )
    overlap: float = 0.02  # [m] on both sides of the pins, where neighbours share a roller

    def __post_init__(self):
        if len(self.stations) != len(self.sections) or not self.stations:
            raise InputError(
                f"rail: {len(self.stations)} stations and {len(self.sections)} sections; the numbers must be equal"
            )
        if len({len(section) for section in self.sections}) != 1:
            raise InputError("rail: sections with different numbers of points; all must have the same number")
        if any(b <= a for a, b in zip(self.stations, self.stations[1:], strict=False)):
            raise InputError(f"rail: stations {self.stations} must increase along the link")

    @property
    def widths(self) -> np.ndarray:
        """Width of the section [m], (station,)."""
        return np.array([max(y for y, _ in section) - min(y for y, _ in section) for section in self.sections])

    def shares(self) -> np.ndarray:
        """Shares of a roller's stiffness, (station, point), by the width of the section; Omar 2014, eq. 44."""
        treads = [sum(z >= self.height - 1e-9 for _, z in section) or len(section) for section in self.sections]
        relative = self.widths / max(self.widths.max(), 1e-12)
        return np.array([
            [wide / (2 * count)] * len(section)
            for wide, count, section in zip(relative, treads, self.sections, strict=True)
        ])  # fmt: skip


GROUSER_STRENGTHS = ("sum", "lesser")


@dataclass(frozen=True)
class Shoe:
    """A plate with straight grousers across it. The ground acts at marker points."""

    width: float = 0.61  # [m]
    depth: float = 0.058  # [m] of the plate's underside below the pins
    grousers: int = 1
    grouser_height: float = 0.05  # [m]
    grouser_thickness: float = 0.015  # [m]
    markers: tuple[int, int] = (2, 2)  # of the plate, along and across
    grouser_strength: str = "sum"  # of tip plane and face, or "lesser", one of GROUSER_STRENGTHS

    def __post_init__(self):
        if self.grouser_strength not in GROUSER_STRENGTHS:
            raise InputError(f"shoe: grouser_strength: {self.grouser_strength!r} is not known; allowed: sum, lesser")
        if not 0 <= self.grousers <= 3:
            raise InputError(f"shoe: grousers: {self.grousers} is not allowed; allowed: 0 to 3")
        if min(self.markers) < 1 or self.markers[0] * self.markers[1] < 4:
            raise InputError(f"shoe: markers: {self.markers} is not allowed; 4 or more are needed, such as (2, 2)")

    def marker_table(self, pitch: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Positions [m] in the link's frame, (marker, 3), areas [m^2] and grouser widths [m], (marker,) each."""
        along, across = self.markers
        x = (np.arange(along) + 0.5) / along * pitch - pitch / 2
        y = (np.arange(across) + 0.5) / across * self.width - self.width / 2
        tips = (np.arange(self.grousers) + 0.5) / max(self.grousers, 1) * pitch - pitch / 2
        bare = pitch - self.grousers * self.grouser_thickness
        plate = [(a, b, -self.depth) for a in x for b in y]
        ends = [(a, b, -self.depth - self.grouser_height) for a in tips for b in y]
        share = self.width / across
        areas = [bare / along * share] * len(plate) + [self.grouser_thickness * share] * len(ends)
        return np.array(plate + ends), np.array(areas), np.array([0.0] * len(plate) + [share] * len(ends))


@dataclass(frozen=True)
class Link:
    """One link with its shoe; the centre of mass lies between the pins (assumed)."""

    pitch: float = 0.2032  # [m]
    mass: float = 45.0  # [kg]
    inertia: tuple[float, float, float] = (0.95, 0.19, 1.05)  # [kg m^2] about forward, lateral, up
    bushing_radius: float = 0.033  # [m]
    joint: PinBushing = field(default_factory=PinBushing)
    rail: Rail = field(default_factory=Rail)
    shoe: Shoe = field(default_factory=Shoe)

    def __post_init__(self):
        for name in ("pitch", "mass", "bushing_radius"):
            checks.number(getattr(self, name), f"link: {name}", above=0.0)
        for value in self.inertia:
            checks.number(value, "link: inertia", above=0.0)

    @property
    def largest_step(self) -> float:
        """Largest stable step [s] of the explicit scheme: the smallest (2/w)(sqrt(1 + z^2) - z) of several modes.

        Links that pitch against each other: w^2 = 4 K (p/2)^2 / I, 2 z w = 4 C (p/2)^2 / I. Links that move along the
        chain: w^2 = 4 K / m. Roll and yaw likewise.
        """
        limits = []
        for mass in (self.inertia[1] / (self.pitch / 2) ** 2, self.mass):
            w = math.sqrt(4 * self.joint.radial_stiffness / mass)
            z = 4 * self.joint.radial_damping / mass / (2 * w)
            limits.append(2 / w * (math.sqrt(1 + z * z) - z))
        for inertia, stiffness in zip(
            (self.inertia[0], self.inertia[2]), (self.joint.roll_stiffness, self.joint.yaw_stiffness), strict=True
        ):
            arm = self.pitch / 2 if inertia == self.inertia[2] else 0.0
            w = math.sqrt(4 * (stiffness + self.joint.axial_stiffness * arm**2) / inertia)
            z = 4 * (self.joint.tilt_damping + self.joint.axial_damping * arm**2) / inertia / (2 * w)
            limits.append(2 / w * (math.sqrt(1 + z * z) - z))
        return min(limits)


@dataclass(frozen=True)
class WheelContact:
    """Contact of links with wheels: teeth, rollers, friction (Omar 2014, eq. 34, 35, 44)."""

    tooth_stiffness: float = 1e8  # [N/m]
    tooth_damping: float = 4e4  # [N s/m]
    roller_stiffness: float = 5e9  # [N/m^1.5]
    roller_damping: float = 4e4  # [N s/m]
    side_stiffness: float = 2e7  # [N/m] of links against the sides of a sprocket
    side_damping: float = 2e4  # [N s/m]
    side_gap: float = 0.006  # [m]
    friction: float = 0.15
    full_friction_speed: float = 0.1  # [m/s] v_mu
    full_damping_depth: float = 1e-4  # [m]


@dataclass(frozen=True)
class Sprocket:
    """A sprocket, given by the outline of one gap between teeth: across (ascending) and radially outwards [m]."""

    teeth: int
    pitch_radius: float  # [m] of the bushings' centres when seated
    gap: Points  # six points or more
    groups: tuple[int, ...]  # (segment,) segments with the same number give one contact together

    @property
    def reach(self) -> float:
        return max(math.hypot(*point) for point in self.gap)


def hunting_sprocket(
    teeth: int = 25,
    pitch: float = 0.2032,
    bushing_radius: float = 0.033,
    *,
    teeth_per_pitch: int = 2,
    clearance: float = 0.0012,
    flank_angle: float = math.radians(25),
    tooth_height: float = 0.055,
) -> Sprocket:
    """Sprocket with straight flanks: six points along tip, flank, root, flank, tip (Omar 2014, Fig. 6)."""
    radius = pitch / (2 * math.sin(math.pi * teeth_per_pitch / teeth))
    root = radius - bushing_radius

    def half_width(above: float) -> float:
        """Half width [m] of the gap that gives a seated bushing `clearance` to both flanks."""
        return (bushing_radius + clearance + math.sin(flank_angle) * (above - bushing_radius)) / math.cos(flank_angle)

    low, high, top = half_width(0.0), half_width(tooth_height), root + tooth_height
    tip = math.tan(math.pi / teeth) * top
    if high >= tip or low <= 0:
        raise InputError(
            f"sprocket: {teeth} teeth of height {tooth_height:g} m leave no tooth between gaps for a bushing of radius "
            f"{bushing_radius:g} m; fewer teeth per pitch or a smaller height or flank angle is needed"
        )
    points = ((-tip, top), (-high, top), (-low, root), (low, root), (high, top), (tip, top))
    return Sprocket(teeth, radius, points, tuple(range(5)))


def spline_sprocket(teeth: int, pitch_radius: float, knots: Points, count: int = 24) -> Sprocket:
    """Sprocket whose gap is a cubic spline through knots (across, outwards), divided into `count` equal segments.

    Consecutive segments that turn by less than 45 degrees in total give one contact, where the bushing is deepest.
    """
    from scipy.interpolate import CubicSpline

    given = np.array(knots, float)
    along = np.concatenate([[0], np.cumsum(np.linalg.norm(np.diff(given, axis=0), axis=1))])
    curve = CubicSpline(along, given)
    fine = curve(np.linspace(0, along[-1], 50 * count))
    length = np.concatenate([[0], np.cumsum(np.linalg.norm(np.diff(fine, axis=0), axis=1))])
    places = np.interp(np.linspace(0, length[-1], count + 1), length, np.linspace(0, along[-1], 50 * count))
    points = curve(places)
    heading = np.unwrap(np.arctan2(*np.diff(points, axis=0).T[::-1]))
    groups, begin = [0], heading[0]
    for angle in heading[1:]:
        if abs(angle - begin) > math.radians(45):
            groups.append(groups[-1] + 1)
            begin = angle
        else:
            groups.append(groups[-1])
    return Sprocket(teeth, pitch_radius, tuple((float(a), float(b)) for a, b in points), tuple(groups))


def rounded_sprocket(
    teeth: int = 25,
    pitch: float = 0.2032,
    bushing_radius: float = 0.033,
    *,
    teeth_per_pitch: int = 2,
    clearance: float = 0.0012,
    flank_angle: float = math.radians(25),
    tooth_height: float = 0.055,
) -> Sprocket:
    """Sprocket whose gap has a round root, straight flanks and rounded tips, as a spline (Omar 2014, section 4.2).

    The root is round about the seated bushing, with `clearance` [m] more than its radius; numbers are assumed.
    """
    straight = hunting_sprocket(
        teeth, pitch, bushing_radius, teeth_per_pitch=teeth_per_pitch, clearance=clearance, flank_angle=flank_angle,
        tooth_height=tooth_height,
    )  # fmt: skip
    root, seat = straight.pitch_radius - bushing_radius, bushing_radius + clearance
    turn = math.pi / 2 - flank_angle  # from the deepest point of the root to where a flank begins
    arc = [(seat * math.sin(a), root + seat * (1 - math.cos(a))) for a in np.linspace(0, turn, 8)]
    out = np.array([math.sin(flank_angle), math.cos(flank_angle)])
    length = (root + tooth_height - arc[-1][1]) / out[1]
    flank = [tuple(np.array(arc[-1]) + share * length * out) for share in (0.25, 0.5, 0.75)]
    tip, top = straight.gap[-1]
    edge = flank[-1][0] + 0.25 * length * out[0]
    half = [*arc, *flank, (0.5 * edge + 0.5 * tip, top), (tip, top)]
    knots = [(-x, z) for x, z in half[:0:-1]] + half
    return spline_sprocket(teeth, straight.pitch_radius, tuple((float(x), float(z)) for x, z in knots), count=40)


def flanged(radius: float, tread: float = 0.111, width: float = 0.13, flange: float = 0.02) -> Points:
    """Profile (along the axle, radius) [m] of a roller with flanges outside the rails, at `tread` on both sides."""
    lip = 0.001
    return (
        (-width, radius + flange), (-tread - lip, radius + flange), (-tread, radius),
        (tread, radius), (tread + lip, radius + flange), (width, radius + flange),
    )  # fmt: skip


def collared(radius: float, collar: float = 0.058, width: float = 0.13, height: float = 0.02) -> Points:
    """Profile (along the axle, radius) [m] of an idler with a collar between the rails, `collar` to both sides."""
    lip = 0.001
    return (
        (-width, radius), (-collar - lip, radius), (-collar, radius + height),
        (collar, radius + height), (collar + lip, radius), (width, radius),
    )  # fmt: skip


@dataclass(frozen=True)
class TrackWheel:
    """A wheel of the track, and the engine's body that carries it.

    A wheel with `turns_with_body`, such as a sprocket, is fixed to its body. Other wheels turn on it, and the track
    module integrates their rotation itself: light wheels held by stiff friction would need tiny steps in the engine.
    """

    name: str
    kind: Literal["sprocket", "idler", "roller", "carrier"]
    body: str
    place: tuple[float, float, float]  # [m] of the centre, in the body's frame
    centre: tuple[float, float]  # [m] x and z in the frame of the assembly
    profile: Points = ()  # along the axle, radius [m]; empty for a sprocket
    sprocket: Sprocket | None = None
    axis: tuple[float, float, float] = (0.0, 1.0, 0.0)  # in the body's frame; forward drive turns about +axis
    inertia: float = 1.0  # [kg m^2] about the axle
    drag: float = 0.0  # [N m s] of the bearing
    turns_with_body: bool = False

    def __post_init__(self):
        if (self.kind == "sprocket") != (self.sprocket is not None):
            raise InputError(f"wheel {self.name!r}: a sprocket needs teeth, and no other wheel has them")
        if self.sprocket is None and len(self.profile) < 2:
            raise InputError(f"wheel {self.name!r}: profile: {len(self.profile)} points; at least 2 are needed")

    @property
    def radius(self) -> float:
        """Radius [m] of the tread, or pitch radius of a sprocket."""
        return self.sprocket.pitch_radius if self.sprocket else min(r for _, r in self.profile)

    @property
    def reach(self) -> float:
        return self.sprocket.reach if self.sprocket else max(r for _, r in self.profile)


@dataclass(frozen=True)
class SoilValues:
    """Soil values for shoes (Omar 2014, eq. 48 to 55)."""

    stiffness: float = 5e6  # [N/m^3] K_y
    damping: float = 1e5  # [N s/m^3]
    cohesion: float = 3e3  # [Pa]
    friction_angle_deg: float = 30.0
    shear_rate: float = 50.0  # [1/m] k_T
    slip_damping: float = 2e4  # [N s/m^3] C
    slip_speed: float = 0.5  # [m/s], the mu of eq. 55, which is a speed
    weight: float = 1.6e4  # [N/m^3] of the soil, for grousers

    @property
    def tan_friction(self) -> float:
        return math.tan(math.radians(self.friction_angle_deg))
