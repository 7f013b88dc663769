"""Energy account between each body and the soil: the soil returns at most the work it has received.

Forces summed over nodes and sub-cell points do not derive exactly from a potential, so a light body that tips over
could gain energy at any step size. The account prevents this. A force that would return more work than the soil holds
is scaled down, as in a passivity controller (Hannaford and Ryu 2002, time-domain passivity).

A robot that drives, stands or walks has put in far more work than it gets back, so its forces are not changed. A body
that starts inside the soil counts as pressed there: its account begins with the work that takes.

The account sees the work of a step only afterwards. Where a force appears within one step (a light body that lands in
the print it made), `braking_block` keeps this step from throwing the body back.
"""

from __future__ import annotations

import warp as wp

from grouser.contact.soil.types import Account, BodyMotion, Energy
from grouser.precision import mat66, real, vec3, vec6

STILL = 1.0e-6  # [m/s] below this speed a body is at rest (assumed)
GENTLE = 0.05  # [m/s] contact slower than this is no impact: a robot that settles at its start (assumed)

# Account.status. NEW: nothing was evaluated since the start or a reset. BOOKED: `held` includes all work so far.
# OPEN: a step has been evaluated but not yet committed.
NEW, BOOKED, OPEN = range(3)


@wp.func
def power(wrench: vec6, velocity: vec3, angular_velocity: vec3):
    """Power [W] of a wrench about the frame origin on a body with this velocity."""
    force = vec3(wrench[0], wrench[1], wrench[2])
    torque = vec3(wrench[3], wrench[4], wrench[5])
    return wp.dot(force, velocity) + wp.dot(torque, angular_velocity)


@wp.func
def allowed_share(held: real, given: real):
    """Factor on a wrench that would give `given` [J] to the body while the soil holds `held` [J]; 1 if affordable."""
    if given > wp.max(held, real(0.0)):
        return wp.max(held, real(0.0)) / given
    return real(1.0)


@wp.func
def work_of_pressing(upward: real, sinkage: real):
    """Work [J] of pressing a body in by `sinkage` [m] where the soil carries `upward` [N], growing with the depth."""
    return real(0.5) * wp.max(upward, real(0.0)) * wp.max(sinkage, real(0.0))


@wp.func
def suddenness(before: vec3, now: vec3, velocity: vec3):
    """How far a force is that of an impact, 0 to 1: it was not there in the last step, and the body comes fast.

    1 where the last step had less than a quarter of it and the body approaches with 2 GENTLE or more, 0 where the last
    step had more than half of it or the body approaches with less than GENTLE.
    """
    size = wp.length(now)
    approach = -wp.dot(now, velocity)
    if approach <= real(GENTLE) * size:
        return real(0.0)
    fresh = wp.clamp(real(2.0) - real(4.0) * wp.dot(before, now) / (size * size), real(0.0), real(1.0))
    return fresh * wp.min(approach / (real(GENTLE) * size) - real(1.0), real(1.0))


@wp.func
def braking_block(h: real, share: real, wrench: vec6, velocity: vec3, angular_velocity: vec3):
    """Implicit block `share` h F F^T / P of a wrench F that brakes a body, P = -F^T v [W] being the power it takes.

    With share = 1, (M + B) dv = h F gives F^T dv = P q / (P + q) with q = h F^T M^-1 F: less than P, whatever the mass.
    So the body may be stopped within the step, not thrown back.
    """
    taken = -power(wrench, velocity, angular_velocity)
    if taken <= real(STILL) * wp.length(vec3(wrench[0], wrench[1], wrench[2])):  # at rest, moving apart, or no force
        return mat66()
    return (share * h / taken) * wp.outer(wrench, wrench)


@wp.func
def open_account(energy: Energy, h: real, slot: int, m: BodyMotion, wrench: vec6, sinkage: real):
    """Store the motion at the start of a step. Returns the factor on the wrench, see `allowed_share`."""
    a = energy.account[slot]
    held = a.held
    if a.status == NEW:
        # Without this a body deeper than its weight presses it would be in debt for good: it would rise a little, and
        # from then on every second step would carry nothing.
        held = work_of_pressing(wrench[2], sinkage)
    given = h * power(wrench, m.velocity, m.angular_velocity)
    if a.status == BOOKED:  # the body may speed up within the step, as it did in the last one
        faster = real(0.5) * h * power(wrench, m.velocity - a.velocity, m.angular_velocity - a.angular_velocity)
        given += wp.max(faster, real(0.0))
    energy.account[slot] = Account(held, m.velocity, m.angular_velocity, a.force, OPEN)
    return allowed_share(held, given)


@wp.func
def book_work(energy: Energy, h: real, slot: int, m: BodyMotion, effective: vec6):
    """Subtract the work of the finished step from the account. `effective` is the wrench the body received."""
    a = energy.account[slot]
    if a.status == OPEN:  # else there was no step since the last booking: the run has just started or was reset
        # Mean velocity of the step times h is the displacement.
        half = real(0.5)
        given = h * power(effective, half * (a.velocity + m.velocity), half * (a.angular_velocity + m.angular_velocity))
        force = vec3(effective[0], effective[1], effective[2])
        energy.account[slot] = Account(a.held - given, a.velocity, a.angular_velocity, force, BOOKED)


@wp.func
def limit_wrench(energy: Energy, h: real, slot: int, m: BodyMotion, wrench: vec6, block: mat66, sinkage: real):
    """Wrench and implicit block that the body gets: no sudden throw, and no more work than the soil holds."""
    affordable = open_account(energy, h, slot, m, wrench, sinkage)
    # A force that was there in the last step changes as foreseen (`laws.yielding_stiffness`): it needs no more block,
    # and a wheel or a foot at work gets none. With an overdrawn account every step has to be free of gain.
    sudden = suddenness(energy.account[slot].force, vec3(wrench[0], wrench[1], wrench[2]), m.velocity)
    if energy.account[slot].held < real(0.0):
        sudden = real(1.0)
    if sudden > real(0.0):
        block += braking_block(h, sudden, wrench, m.velocity, m.angular_velocity)
    return affordable * wrench, affordable * block
