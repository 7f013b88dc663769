"""Energy account between each body and the soil: the soil returns at most the work it has received.

Forces summed over nodes and sub-cell points do not derive exactly from a potential, so a light body that tips over
could gain energy at any step size. The account prevents this. A force that would return more work than the soil holds
is scaled down, as in a passivity controller (Hannaford and Ryu 2002, time-domain passivity).

A robot that drives, stands or walks has put in far more work than it gets back, so its forces are not changed. A body
that starts inside the soil counts as pressed there: its account begins with the work that takes.
"""

from __future__ import annotations

import warp as wp

from grouser.contact.soil.types import Account, BodyMotion, Energy
from grouser.precision import real, vec3, vec6

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
def open_account(energy: Energy, h: real, slot: int, m: BodyMotion, wrench: vec6, sinkage: real):
    """Store the motion at the start of a step. Returns the factor on the wrench, see `allowed_share`."""
    held = energy.account[slot].held
    if energy.account[slot].status == NEW:
        # Without this a body deeper than its weight presses it would be in debt for good: it would rise a little, and
        # from then on every second step would carry nothing.
        held = work_of_pressing(wrench[2], sinkage)
    energy.account[slot] = Account(held, m.velocity, m.angular_velocity, OPEN)
    return allowed_share(held, h * power(wrench, m.velocity, m.angular_velocity))


@wp.func
def book_work(energy: Energy, h: real, slot: int, m: BodyMotion, effective: vec6):
    """Subtract the work of the finished step from the account. `effective` is the wrench the body received."""
    a = energy.account[slot]
    if a.status == OPEN:  # else there was no step since the last booking: the run has just started or was reset
        # Mean velocity of the step times h is the displacement.
        half = real(0.5)
        given = h * power(effective, half * (a.velocity + m.velocity), half * (a.angular_velocity + m.angular_velocity))
        energy.account[slot] = Account(a.held - given, a.velocity, a.angular_velocity, BOOKED)
