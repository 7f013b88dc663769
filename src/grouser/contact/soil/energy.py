"""The account of work between each body and the soil: the soil gives back at most what it has taken.

Forces summed over nodes and sub-cell points follow no potential to the last digit: a light body that tips over may get
back more work than it put in, at any step. So what a step would give beyond the account is left out, as a passivity
controller does (Hannaford and Ryu 2002, time-domain passivity). Whoever drives, stands or walks has put in far more
than it gets back, and keeps every bit of its force. A body that starts in the soil has put in nothing yet: it is
carried, but not thrown up.
"""

from __future__ import annotations

import warp as wp

from grouser.contact.soil.types import Account, BodyMotion, Energy
from grouser.precision import real, vec3, vec6

BOOKED, OPEN = range(2)  # Account.status: all work is in `held`; between `evaluate` and `commit` of a step


@wp.func
def power(wrench: vec6, velocity: vec3, angular_velocity: vec3):
    """Power [W] that a wrench about the frame origin gives to a body."""
    force = vec3(wrench[0], wrench[1], wrench[2])
    torque = vec3(wrench[3], wrench[4], wrench[5])
    return wp.dot(force, velocity) + wp.dot(torque, angular_velocity)


@wp.func
def allowed_share(held: real, given: real):
    """Share of a wrench that stays where it would give `given` [J] to a body and the soil holds `held` [J]."""
    if given > wp.max(held, real(0.0)):
        return wp.max(held, real(0.0)) / given
    return real(1.0)


@wp.func
def open_account(energy: Energy, h: real, slot: int, m: BodyMotion, wrench: vec6):
    """Remember the motion at the start of a step; returns the share of the wrench that the soil can afford."""
    held = energy.account[slot].held
    energy.account[slot] = Account(held, m.velocity, m.angular_velocity, OPEN)
    return allowed_share(held, h * power(wrench, m.velocity, m.angular_velocity))


@wp.func
def book_work(energy: Energy, h: real, slot: int, m: BodyMotion, effective: vec6):
    """Put the work of the step that has been made into the account; `effective`: what the body really got."""
    a = energy.account[slot]
    if a.status == OPEN:  # else no step was made since: a start or a reset
        half = real(0.5)
        given = h * power(effective, half * (a.velocity + m.velocity), half * (a.angular_velocity + m.angular_velocity))
        energy.account[slot] = Account(a.held - given, a.velocity, a.angular_velocity, BOOKED)
