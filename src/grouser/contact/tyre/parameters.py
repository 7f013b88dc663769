"""Parameters of tyres and suspensions."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace

import numpy as np

from grouser.errors import InputError
from grouser.terrain import checks

PROPORTIONAL = 1e3  # value of p_Ky2 so large that the cornering stiffness is proportional to the load


@dataclass(frozen=True)
class Tyre:
    """Coefficients of the Magic Formula in the notation of Pacejka 2006 (eq. 4.E9-4.E30), without camber.

    The defaults are widely quoted from the appendix of that book for a passenger car tyre 205/60R15 at 220 kPa (the
    book itself was not at hand). Shifts are zero, so that a tyre does not pull to one side. Set radius and load to
    those of the vehicle.
    """

    radius: float = 0.3135  # [m]
    width: float = 0.205  # [m], for display only
    load: float = 4000.0  # [N] nominal load F_z0
    p_Cx1: float = 1.685
    p_Dx1: float = 1.210
    p_Dx2: float = -0.037
    p_Ex1: float = 0.344
    p_Ex2: float = 0.095
    p_Ex3: float = -0.020
    p_Ex4: float = 0.0
    p_Kx1: float = 21.51
    p_Kx2: float = -0.163
    p_Kx3: float = 0.245
    p_Hx1: float = 0.0
    p_Hx2: float = 0.0
    p_Vx1: float = 0.0
    p_Vx2: float = 0.0
    p_Cy1: float = 1.193
    p_Dy1: float = 0.990
    p_Dy2: float = -0.145
    p_Ey1: float = -1.003
    p_Ey2: float = -0.537
    p_Ky1: float = 14.95
    p_Ky2: float = 2.130
    p_Hy1: float = 0.0
    p_Hy2: float = 0.0
    p_Vy1: float = 0.0
    p_Vy2: float = 0.0
    relaxation_x: float = 0.1  # [m] longitudinal relaxation length; assumed
    relaxation_y: float = 0.1  # [m] lateral relaxation length; assumed
    standstill_damping: float = 0.02  # [s] damping of the tread at a standstill; assumed
    standstill_speed: float = 0.3  # [m/s] speed below which the wheel counts as standing; assumed
    rolling_resistance: float = 0.0  # resistance over load
    radial_stiffness: float = 2e5  # [N/m], against walls; assumed, about that of a car tyre
    radial_damping: float = 500.0  # [N s/m], against walls; assumed

    def __post_init__(self):
        positive = ("radius", "width", "load", "p_Cx1", "p_Dx1", "p_Kx1", "p_Cy1", "p_Dy1", "p_Ky1", "p_Ky2",
                    "relaxation_x", "relaxation_y", "standstill_speed", "radial_stiffness")  # fmt: skip
        for field in fields(self):
            value, what = getattr(self, field.name), f"tyre: {field.name}"
            if field.name in positive:
                checks.number(value, what, above=0.0)
            elif field.name in ("standstill_damping", "rolling_resistance", "radial_damping"):
                checks.number(value, what, at_least=0.0)
            elif field.name in ("p_Ex1", "p_Ey1"):
                checks.number(value, what, at_most=1.0)
            else:
                checks.number(value, what)

    @classmethod
    def simple(cls, radius: float, load: float, *, B: float, C: float, mu: float, E: float, **more: float) -> Tyre:
        """Tyre with the plain formula of Morrot et al., eq. 11, the same in both directions, D = mu N."""
        stiffness = B * C * mu
        plain = dict.fromkeys([f.name for f in fields(cls) if f.name.startswith("p_")], 0.0)
        plain |= {"p_Cx1": C, "p_Dx1": mu, "p_Ex1": E, "p_Kx1": stiffness, "p_Cy1": C, "p_Dy1": mu, "p_Ey1": E}
        plain |= {"p_Ky1": stiffness * PROPORTIONAL / 2, "p_Ky2": PROPORTIONAL}
        return cls(radius=radius, load=load, **{**plain, **more})

    def scaled(self, radius: float, load: float) -> Tyre:
        """The same tyre for another wheel: dimensionless coefficients stay, lengths scale with the radius."""
        ratio = radius / self.radius
        lengths = {name: getattr(self, name) * ratio for name in ("width", "relaxation_x", "relaxation_y")}
        return replace(self, radius=radius, load=load, **lengths)

    def longitudinal(self, kappa, load: float | None = None) -> np.ndarray:
        """Longitudinal force F_x [N] of pure slip at `load` [N] (default: nominal)."""
        N = self.load if load is None else load
        excess = (N - self.load) / self.load
        D = max(self.p_Dx1 + self.p_Dx2 * excess, 0.0) * N
        K = N * (self.p_Kx1 + self.p_Kx2 * excess) * math.exp(self.p_Kx3 * excess)
        x = np.asarray(kappa, float) + self.p_Hx1 + self.p_Hx2 * excess
        E = np.minimum((self.p_Ex1 + self.p_Ex2 * excess + self.p_Ex3 * excess**2) * (1 - self.p_Ex4 * np.sign(x)), 1.0)
        return _formula(x, K / (self.p_Cx1 * D), self.p_Cx1, D, E) + N * (self.p_Vx1 + self.p_Vx2 * excess)

    def lateral(self, tangent, load: float | None = None) -> np.ndarray:
        """Lateral force F_y [N] of pure slip, `tangent` = tan(alpha), at `load` [N] (default: nominal)."""
        N = self.load if load is None else load
        excess = (N - self.load) / self.load
        D = max(self.p_Dy1 + self.p_Dy2 * excess, 0.0) * N
        K = self.p_Ky1 * self.load * math.sin(2 * math.atan(N / (self.p_Ky2 * self.load)))
        y = np.asarray(tangent, float) + self.p_Hy1 + self.p_Hy2 * excess
        E = min(self.p_Ey1 + self.p_Ey2 * excess, 1.0)
        return _formula(y, K / (self.p_Cy1 * D), self.p_Cy1, D, E) + N * (self.p_Vy1 + self.p_Vy2 * excess)

    @property
    def peak_slip(self) -> float:
        """Slip at the largest force; the larger value of the two directions."""
        slips = np.linspace(1e-3, 1.0, 1000)
        return float(max(slips[np.argmax(self.longitudinal(slips))], slips[np.argmax(self.lateral(slips))]))

    def peak_force(self, load: float) -> float:
        """Largest longitudinal force D [N] at `load` [N]; Morrot et al., eq. 11."""
        return max(self.p_Dx1 + self.p_Dx2 * (load - self.load) / self.load, 0.0) * load


def _formula(x, B, C, D, E):
    s = B * x
    return D * np.sin(C * np.arctan(s - E * (s - np.arctan(s))))


@dataclass(frozen=True)
class Suspension:
    """Spring and damper of one wheel along the chassis' own vertical axis. It never pulls."""

    stiffness: float  # [N/m]
    compression: float  # [N s/m] damping in compression
    rebound: float | None = None  # [N s/m] damping in rebound; None: the same
    saturation: float = 0.1  # [m] H_sat; the spring is linear up to this travel
    progression: float = 1e6  # [N/m^2] coefficient of the square beyond H_sat
    travel: float = 0.2  # [m] largest travel; a steep obstacle that would need more is a wall
    stop_stiffness: float = 0.0  # [N/m] of the bump stop beyond the travel; 0: none

    def __post_init__(self):
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name == "stiffness":
                checks.number(value, "suspension: stiffness", above=0.0)
            elif value is not None:
                checks.number(value, f"suspension: {field.name}", at_least=0.0)
        if self.travel < self.saturation:
            raise InputError(
                f"suspension: travel = {self.travel:g} m: allowed is at least saturation, {self.saturation:g} m"
            )

    def force(self, travel: float) -> float:
        """Static force [N] at `travel` [m]."""
        over, beyond = max(travel - self.saturation, 0.0), max(travel - self.travel, 0.0)
        return self.stiffness * max(travel, 0.0) + self.progression * over**2 + self.stop_stiffness * beyond

    def travel_under(self, force: float) -> float:
        """Static travel [m] under `force` [N]."""
        linear = force / self.stiffness
        if linear <= self.saturation or self.progression == self.stop_stiffness == 0:
            return max(linear, 0.0)
        k, q, s, stop, end = self.stiffness, self.progression, self.saturation, 0.0, 0.0
        if force > self.force(self.travel):
            stop, end = self.stop_stiffness, self.travel
        # k (s + x) + q x^2 + stop (s + x - end) = force
        slope, rest = k + stop, force - k * s - stop * (s - end)
        if q == 0:
            return s + rest / slope
        return s + (-slope + math.sqrt(slope * slope + 4 * q * rest)) / (2 * q)


@dataclass(frozen=True)
class WheelUnit:
    """A wheel with its suspension and tyre. `body` turns on a hinge about its own y axis; its frame is at the axle."""

    body: str
    tyre: Tyre
    suspension: Suspension
