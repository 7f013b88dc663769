"""Energy account between each body and the soil: the soil returns at most the work it has received.

Forces summed over nodes and sub-cell points do not derive exactly from a potential, so a light body that tips over
could gain energy at any step size. The account prevents this. A force that would return more work than the soil holds
is scaled down, as in a passivity controller (Hannaford and Ryu 2002, time-domain passivity).

A robot that drives, stands or walks has put in far more work than it gets back, so the account leaves its forces
alone. A body that starts inside the soil counts as pressed there: its account begins with the work that takes.

The account sees the work of a step only afterwards. Where a force appears within one step (a light body that lands in
the print it made), `braking_block` keeps this step from adding energy.
"""

from __future__ import annotations

import warp as wp

from grouser.contact.soil.elements import Account, Losses
from grouser.contact.soil.losses import book_losses, book_stored_at_start
from grouser.contact.soil.rebound import follow
from grouser.contact.soil.step_error import add_force
from grouser.contact.soil.types import BodyMotion, Energy
from grouser.precision import mat66, real, vec3, vec6

IMPACT_SPEED = 0.05  # [m/s] slower contact is no impact: a robot that settles at its start (assumed)
REST_SPEED = 1.0e-3  # [m/s] smallest speed in the divisor of `braking_block`, so that the block stays finite (assumed)

# Account.status. NEW: nothing was evaluated since the start or a reset. BOOKED: `stored_work` includes all work so far.
# OPEN: a step has been evaluated but not yet committed.
NEW, BOOKED, OPEN = range(3)


@wp.func
def power(wrench: vec6, velocity: vec3, angular_velocity: vec3):
    """Power [W] of a wrench about the frame origin on a body with this velocity."""
    force = vec3(wrench[0], wrench[1], wrench[2])
    torque = vec3(wrench[3], wrench[4], wrench[5])
    return wp.dot(force, velocity) + wp.dot(torque, angular_velocity)


@wp.func
def allowed_share(stored_work: real, given: real):
    """Factor on a wrench that would give `given` [J] to the body while the soil holds `stored_work` [J]; at most 1."""
    if given > wp.max(stored_work, real(0.0)):
        return wp.max(stored_work, real(0.0)) / given
    return real(1.0)


@wp.func
def work_of_pressing(upward: real, sinkage: real):
    """Work [J] that it takes to press a body `sinkage` [m] into the soil, where the soil pushes up with `upward` [N].

    The force is taken to grow linearly from zero at the surface, so this is half of force times depth.
    """
    return real(0.5) * wp.max(upward, real(0.0)) * wp.max(sinkage, real(0.0))


@wp.func
def approach_speed(wrench: vec6, velocity: vec3, angular_velocity: vec3):
    """Speed [m/s] with which a body moves against the force of a wrench at its point of contact; 0 without a force."""
    size = wp.length(vec3(wrench[0], wrench[1], wrench[2]))
    if size < real(1.0e-12):
        return real(0.0)
    return -power(wrench, velocity, angular_velocity) / size


@wp.func
def impact_share(before: vec3, now: vec3, approach: real):
    """1 for the force of an impact, 0 for a force of steady contact, interpolated linearly between.

    An impact has a force `now` [N] that is new, at an approach speed [m/s] that is high. New: the last step had less
    than a quarter of it (1) or more than half of it (0). High: twice IMPACT_SPEED (1) or IMPACT_SPEED (0).
    """
    zero = real(0.0)
    one = real(1.0)
    fast = wp.clamp(approach / real(IMPACT_SPEED) - one, zero, one)
    if fast == zero:
        return zero
    return fast * wp.clamp(real(2.0) - real(4.0) * wp.dot(before, now) / wp.dot(now, now), zero, one)


@wp.func
def braking_block(h: real, share: real, wrench: vec6, approach: real):
    """Implicit block `share` h F F^T / P of a wrench F that takes the power P = -F^T v [W] from a body.

    With share = 1, (M + B) dv = h F gives F^T dv = P Q / (P + Q) with Q = h F^T M^-1 F: less than P, whatever the mass.
    So the wrench takes power until the end of the step and the body gains no energy: the contact is stopped at most.
    """
    if approach <= real(0.0):  # no force, or the body moves away
        return mat66()
    size = wp.length(vec3(wrench[0], wrench[1], wrench[2]))
    return (share * h / (size * wp.max(approach, real(REST_SPEED)))) * wp.outer(wrench, wrench)


@wp.func
def foresee_losses(energy: Energy, h: real, slot: int, m: BodyMotion, wrench: vec6, lost: Losses, sinkage: real):
    """Store where the work of the next step will go. A body that starts in the soil has received what is stored."""
    energy.losing[slot] = lost
    energy.foreseen[slot] = -h * power(wrench, m.velocity, m.angular_velocity)
    if energy.account[slot].status == NEW and sinkage > real(0.0):
        book_stored_at_start(energy, slot, lost.stored)


@wp.func
def open_account(energy: Energy, h: real, slot: int, m: BodyMotion, wrench: vec6, sinkage: real):
    """Store the motion at the start of a step. Returns the factor on the wrench, see `allowed_share`."""
    a = energy.account[slot]
    stored_work = a.stored_work
    if a.status == NEW:
        # Without this a body deeper than its weight presses it would be in debt for good: it would rise a little, and
        # from then on every second step would carry nothing.
        stored_work = wp.float64(work_of_pressing(wrench[2], sinkage))
    given = h * power(wrench, m.velocity, m.angular_velocity)
    # The body may speed up within the step, as it did in the last one.
    given += wp.max(real(0.5) * h * power(wrench, a.change, a.angular_change), real(0.0))
    energy.account[slot] = Account(
        stored_work, m.velocity, m.angular_velocity, a.change, a.angular_change, a.force, OPEN
    )
    return allowed_share(real(stored_work), given)


@wp.func
def book_work(energy: Energy, h: real, slot: int, m: BodyMotion, sinkage: real, effective: vec6):
    """Subtract the work of the finished step from the account. `effective` is the wrench the body received.

    `sinkage` [m] is that before the step.
    """
    a = energy.account[slot]
    if a.status == OPEN:  # else there was no step since the last booking: the run has just started or was reset
        # Mean velocity of the step times h is the displacement.
        half = real(0.5)
        given = h * power(effective, half * (a.velocity + m.velocity), half * (a.angular_velocity + m.angular_velocity))
        change = m.velocity - a.velocity
        angular_change = m.angular_velocity - a.angular_velocity
        force = vec3(effective[0], effective[1], effective[2])
        add_force(energy, h, slot, a.force, force)
        follow(energy, h, slot, m.velocity, sinkage, wp.length(a.force), wp.length(force))
        book_losses(energy, slot, -given)
        energy.account[slot] = Account(
            a.stored_work - wp.float64(given), a.velocity, a.angular_velocity, change, angular_change, force, BOOKED
        )


@wp.func
def limit_wrench(energy: Energy, h: real, slot: int, m: BodyMotion, wrench: vec6, block: mat66, sinkage: real):
    """Wrench and implicit block that the body gets, so that it gains no energy from the soil."""
    affordable = open_account(energy, h, slot, m, wrench, sinkage)
    approach = approach_speed(wrench, m.velocity, m.angular_velocity)
    # A force that was there in the last step changes as foreseen (`laws.yielding_stiffness`) and needs no more block.
    share = impact_share(energy.account[slot].force, vec3(wrench[0], wrench[1], wrench[2]), approach)
    if energy.account[slot].stored_work < wp.float64(0.0):  # overdrawn: from now on no step may add energy
        share = real(1.0)
    if share > real(0.0):
        block += braking_block(h, share, wrench, approach)
    return affordable * wrench, affordable * block
