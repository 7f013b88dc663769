"""Sections of the docking hardware for contact, sampled by curvature: Krenn and Hirzinger 2009, section II.B.1."""

from __future__ import annotations

import math

import numpy as np

from grouser.contact.revolution import Profile
from grouser.contact.revolution.profile import DENSE, sampled
from grouser.robots import olev_shapes as shapes
from grouser.robots.olev import Olev

SHAFT_LINE = 2e-3  # [m] longest line of the bolt's shaft: shorter than its clearance, so that it is skipped there


def nozzle_profile(p: Olev, chord_error: float) -> Profile:
    """Inner wall of the nozzle. Chords deviate from it by at most `chord_error` [m]: finest at the rounded throat."""
    wide, narrow = math.radians(p.nozzle_angle_deg), math.radians(shapes.CONVERGENT_DEG)
    bell = Profile.from_function(
        lambda z: shapes.bell_radius(p, z), (-p.nozzle_length, shapes.bell_end(p)[0]), tolerance=chord_error,
        inner=True, name="bell",
    )  # fmt: skip
    throat = Profile.arc(
        p.throat_rounding, (0.0, p.throat_radius + p.throat_rounding), (math.pi + wide, math.pi - narrow),
        tolerance=chord_error, inner=True, name="throat",
    )  # fmt: skip
    z, r = (float(end[-1]) for end in (throat.z, throat.r))
    cone = z + (p.chamber_radius - r) / math.tan(narrow)
    chamber = Profile(
        np.array([z, cone, shapes.CHAMBER_LENGTH]), np.array([r, p.chamber_radius, p.chamber_radius]), True, "chamber"
    )
    whole = Profile.joined(bell, throat, chamber, name="nozzle")
    # The curvature jumps from bell to throat, and a parabola through three samples has no good normal there. The last
    # line of the bell is straight, and the throat takes its normal.
    curved = np.array(whole.curved)
    curved[bell.count - 2] = False
    return Profile(whole.z, whole.r, True, "nozzle", curved)


def tool_profile(p: Olev, chord_error: float) -> Profile:
    """Body and rounded shoulder of the capture tool, with the plane of the seat at z = 0."""
    z, r = shapes.shoulder_centre(p)
    z -= shapes.seat(p)[0]
    shoulder = Profile.arc(p.shoulder_rounding, (z, r), shapes.SHOULDER_ARC, tolerance=chord_error, name="shoulder")
    body = Profile(
        np.array([shoulder.z[0] - shapes.TOOL_BACK, shoulder.z[0]]),
        np.array([shoulder.r[0], shoulder.r[0]]),
        name="body",
    )
    return Profile.joined(body, shoulder, name="tool")


def crown_shares(p: Olev, chord_error: float) -> np.ndarray:
    """Shares of the crown's length, (sample,), by the curvature of the spread crown; the same for every spread."""
    z, r = shapes.crown_section(p, 1.0, np.linspace(0, 1, DENSE))
    at = sampled(np.column_stack([r, z]), chord_error, math.inf, "crown")[:, 1]
    return (at - z[0]) / (z[-1] - z[0])


def crown_profile(p: Olev, shares: np.ndarray, spread: float = 0.0) -> Profile:
    """Wires of the crown at `spread` 0 (closed) to 1, in the crown's frame."""
    return Profile(*shapes.crown_section(p, spread, shares), name="crown", curved=True)


def bolt_profile(p: Olev, chord_error: float) -> Profile:
    """Central bolt with its round tip, in the crown's frame."""
    back, front = shapes.bolt_shaft(p)
    shaft = Profile.cylinder(p.bolt_radius, (back, front), longest=SHAFT_LINE)
    angle = np.linspace(0, math.pi / 2, DENSE)
    curve = np.column_stack([p.bolt_radius * np.cos(angle), front + shapes.CROWN_TIP * np.sin(angle)])
    curve[-1, 0] = 0.0
    r, z = sampled(curve, chord_error, math.inf, "tip").T
    return Profile.joined(shaft, Profile(z, r, name="tip", curved=True), name="bolt")
