"""Estimate of the error that the step makes where a hard landing throws a body up again.

The depth of a landing is of second order in the step (step_error.py), the rebound after it is of first order. While the
soil springs back by a quarter of a period 2 pi / w, an implicit step of h takes the share w h / 2 of the amplitude in
every time 1 / w, pi w h / 4 in all. The force falls as a cosine over n = pi / (2 w h) steps, so that
e = sum |dF| / 2 over sum |F| = pi / (4 n) = w h / 2 of these steps. The speed of the rebound is then too low by
pi e / 2, and its height by pi e.

Soil that slides below the body meanwhile carries it from then on. The body comes to rest higher than it lifted off, and
that rise has the error of the height of the rebound. Once soil has begun to slide in, a higher rebound lets in more of
it than in proportion: of each further millimetre about half. Where there is no rise, the second landing has pressed the
soil down again, and the rebound does not matter.
"""

from __future__ import annotations

import math

import warp as wp

from grouser.contact.soil.elements import Rebound
from grouser.contact.soil.types import Energy
from grouser.precision import real, vec3

LIFTED = 0.1  # of the largest force: the soil has sprung back below this (assumed)
SETTLED = 0.1  # [s] of contact after which a body is no longer thrown up (assumed: as long as a landing)
BEGUN = 0.1  # of the height of the rebound: a rise from which on soil has begun to slide in (assumed)
FILLS = 0.5  # share of a further height of the rebound by which the body rests higher then (assumed)
HEIGHT = math.pi  # error of the height of the rebound over e, see above


@wp.func
def follow(energy: Energy, h: real, slot: int, velocity: vec3, sinkage: real, before: real, now: real):
    """Follow the force [N] of a body through landing, lift-off and second landing. `sinkage` [m]: before the step."""
    r = energy.rebound[slot]
    r.contact = wp.where(now > real(0.0), r.contact + h, real(0.0))
    if r.error > real(0.0):
        r.way += h * velocity
        if sinkage < r.highest:
            r.highest = sinkage
            r.deepest = sinkage
        r.deepest = wp.max(r.deepest, sinkage)
    if now >= r.peak:
        r.peak = now
        r.change = real(0.0)
        r.force = real(0.0)
    elif r.force >= real(0.0):  # the force falls
        r.change += before - now
        r.force += real(0.5) * (before + now)
        if now < real(LIFTED) * r.peak:
            if r.error == real(0.0):
                r.error = real(0.5) * real(HEIGHT) * r.change / r.force
                r.left = sinkage
                r.highest = sinkage
                r.deepest = sinkage
                r.way = vec3()
                r.contact = real(0.0)
            r.force = real(-1.0)  # until the force exceeds the peak
    energy.rebound[slot] = r


@wp.func
def judge_rebound(energy: Energy, slot: int, spacing: real):
    """Estimated relative error of the depth of a body that has come to rest after a rebound; 0 before, and elsewhere.

    A body that comes down a cell away from where it lifted off, as the foot of a robot that walks, meets other soil.
    """
    r = energy.rebound[slot]
    if r.error == real(0.0) or r.contact <= real(SETTLED):
        return real(0.0)
    error = real(0.0)
    if r.way[0] * r.way[0] + r.way[1] * r.way[1] < spacing * spacing and r.deepest > real(0.0):
        rise = wp.max(r.left - r.deepest, real(0.0))
        height = r.left - r.highest
        if rise > real(BEGUN) * height:
            rise = wp.max(rise, real(FILLS) * height)
        error = r.error * rise / r.deepest
    energy.rebound[slot] = Rebound()  # the next force that falls from here is that of a new rebound
    return error
