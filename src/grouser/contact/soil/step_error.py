"""Estimate of the error that the step makes, from the forces that the bodies got.

A step takes the force at its end for all of it. A force that changes by dF in the step is then wrong by dF / 2 on
average. Where errors of one sign add up (a foot that lands, slides and lifts in every stride), the impulse of the soil
is wrong by e = sum |dF| / 2 over sum |F|. A single landing is better: the depth at which it ends is of second order,
e^2 of the landing alone. The rebound from it is not, see rebound.py.

The force of a body that travels is steady, but the soil below it is not. A step takes the contact at its end for all of
it: on average the stress along a contact of length l lags by half of the travel h v. Where it grows along the contact
it is wrong by at most h v / 2 l. Of a wheel of radius R the soil follows the round shape within the step, and what is
left is of second order: (h v)^2 / (R LAGGING).
"""

from __future__ import annotations

import warp as wp

from grouser.contact.soil import types as t
from grouser.contact.soil.elements import Box, StepError
from grouser.contact.soil.rebound import judge_rebound
from grouser.contact.soil.types import Bodies, Displacement, Energy, Options
from grouser.precision import real, vec3
from grouser.terrain.ground import GroundArrays as Ground

MEMORY = 1.0  # [s] time over which e is taken (assumed: about two strides)
LOADED = 1.0  # [s] time under load before which it says nothing: the start of a robot is a landing (assumed)
LANDING = 0.1  # [s] duration of a landing (assumed)
# [m] assumed: 11 to 18 mm by the power of a four-wheel machine on three soils, see docs/theory/soil.md
LAGGING = 0.015
ROUGH = 0.02  # estimated error from which on it is reported


@wp.func
def add_force(energy: Energy, h: real, slot: int, before: vec3, now: vec3):
    """Add the effective force [N] of a step, and that of the step before, to the sums."""
    e = energy.error[slot]
    size = wp.length(now)
    change = wp.length(now - before)
    keep = real(1.0) / (real(1.0) + h / real(MEMORY))
    landing_change = e.landing_change
    landing_force = e.landing_force
    since = e.since_landing + h
    loaded = e.loaded + wp.where(size > real(0.0), h, real(0.0))
    # In the air, and not in a bounce of a landing: the next force is that of a new landing.
    if size == real(0.0) and (e.since_landing == real(0.0) or since > real(LANDING)):
        landing_change = real(0.0)
        landing_force = real(0.0)
        since = real(0.0)
    elif since < real(LANDING) + real(0.5) * h:  # half a step for round-off
        landing_change += change
        landing_force += size
    # The first landing is no part of the sums: it comes once, and is judged by itself.
    counts = wp.where(loaded > real(LANDING), real(1.0), real(0.0))
    energy.error[slot] = StepError(
        keep * (e.change + counts * change), keep * (e.force + counts * size), keep * e.lag, loaded,
        landing_change, landing_force, since, e.verdict,
    )  # fmt: skip


@wp.func
def is_loaded(disp: Displacement, energy: Energy, slot: int):
    """Whether a body touches soil. A blade in its own cut has no node in contact, but its face gets a force."""
    if disp.contacts[slot].nodes + disp.contacts[slot].pressed > 0:
        return True
    return wp.length_sq(energy.account[slot].force) > real(0.0)


@wp.func
def contact_length(g: Ground, touched: Box, velocity: vec3):
    """Length [m] of the footprint along the travel, at least one cell."""
    speed = wp.sqrt(velocity[0] * velocity[0] + velocity[1] * velocity[1])
    if speed == real(0.0):
        return real(1.0)
    columns = real(touched.column1 - touched.column0 + 1)
    rows = real(touched.row1 - touched.row0 + 1)
    cells = (columns * wp.abs(velocity[0]) + rows * wp.abs(velocity[1])) / speed
    return g.spacing * wp.max(cells, real(1.0))


@wp.func
def lag_error(g: Ground, b: Bodies, disp: Displacement, body: int, slot: int, travel: real, v: vec3):
    """Estimated relative error of the stress below a body that moves by `travel` [m] in the step, see above."""
    if b.rolls[body] > real(0.0):
        return travel * travel / (b.rolls[body] * real(LAGGING))
    return real(0.5) * travel / contact_length(g, disp.touched[slot], v)


@wp.func
def estimate(e: StepError):
    """Estimated relative error: the largest of change and lag in the last MEMORY, and that of the last landing."""
    error = real(0.0)
    if e.loaded >= real(LOADED) and e.force > real(0.0):
        error = wp.max(real(0.5) * e.change, e.lag) / e.force
    if e.since_landing > real(LANDING) and e.landing_force > real(0.0):
        landing = real(0.5) * e.landing_change / e.landing_force
        error = wp.max(error, landing * landing)
    return error


@wp.func
def judge_step(g: Ground, o: Options, b: Bodies, disp: Displacement, energy: Energy, body: int, slot: int, v: vec3):
    """Status of a body on soil: FINE, or by how much its step has been too long for an error below ROUGH.

    `v` [m/s] is that of the contact, `placement.contact_velocity`.
    """
    travel = o.step[0] * wp.sqrt(v[0] * v[0] + v[1] * v[1])
    error = energy.error[slot]
    # A blade in its own cut has no contact along which soil could lag.
    touching = disp.contacts[slot].nodes + disp.contacts[slot].pressed > 0
    if error.loaded > real(LANDING) and touching:
        error.lag += wp.length(energy.account[slot].force) * lag_error(g, b, disp, body, slot, travel, v)
    times = wp.max(estimate(error), judge_rebound(energy, slot, g.spacing)) / real(ROUGH)
    verdict = wp.where(times > real(1.0), t.TWICE, t.FINE)
    verdict = wp.where(times > real(2.0), t.FIVE_TIMES, verdict)
    verdict = wp.where(times > real(5.0), t.TEN_TIMES, verdict)
    # The worst so far: an estimate that wavers about a limit would be reported again and again.
    error.verdict = wp.max(verdict, error.verdict)
    energy.error[slot] = error
    return error.verdict
