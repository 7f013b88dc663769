"""Motion of the links in a substep: start the sums of forces with gravity, change velocities, move the links."""

from __future__ import annotations

import warp as wp

from grouser.precision import quat, real, vec3
from grouser.track import cyclic
from grouser.track import types as t
from grouser.track.stages import blocks
from grouser.track.types import Contacts, Links, Results, State, Track, mat68

FASTEST_SQUARED = wp.constant(real(1.0e6))  # [m^2/s^2] squared speed above which a chain is broken: 1 km/s


@wp.func
def rotate(q: quat, angular_velocity: vec3, h: real):
    """Orientation after h [s] with a constant angular velocity [rad/s].

    The whole quaternion is normalised; Omar 2014, eq. 18 to 20 correct only a part of it.
    """
    w = quat(angular_velocity[0], angular_velocity[1], angular_velocity[2], real(0.0))
    return wp.normalize(q + real(0.5) * h * (w * q))


@wp.func
def begin_links(world: int, which: int, tr: Track, s: State, links: Links, contacts: Contacts, substep: int):
    """Start the sums of a substep: weight, inertia, no contacts."""
    weight = tr.mass * tr.gravity
    for i in range(tr.first_link, tr.first_link + tr.links):
        if substep == 0:  # in later substeps `move_links` has written the axes
            links.axes[world, i] = wp.quat_to_matrix(s.rotation[world, i])
        links.force[world, i] = weight
        links.torque[world, i] = vec3()
        if tr.implicit == 1:
            R = links.axes[world, i]
            links.effective_mass[world, i] = tr.mass
            links.effective_moment[world, i] = vec3()
            links.effective_inertia[world, i] = R * wp.diag(tr.inertia) * wp.transpose(R)
            links.diagonal[world, i] = mat68()
    contacts.found[world, which].count = 0


@wp.func
def finish_diagonal(world: int, links: Links, i: int):
    """Add the isotropic part to a diagonal block."""
    a = links.effective_moment[world, i]
    links.diagonal[world, i] = links.diagonal[world, i] + blocks.isotropic_block(
        links.effective_mass[world, i], a, a, links.effective_inertia[world, i]
    )


@wp.func
def change_velocities(world: int, tr: Track, links: Links, h: real):
    """Compute the change of velocity of the links over the substep h [s]: one by one, or all together if implicit."""
    for i in range(tr.first_link, tr.first_link + tr.links):
        force = links.force[world, i]
        torque = links.torque[world, i]
        if tr.implicit == 1:
            links.velocity_change[world, i] = h * blocks.wrench(force, torque)
            finish_diagonal(world, links, i)
        else:
            R = links.axes[world, i]
            rotation = R * wp.cw_mul(wp.transpose(R) * torque, tr.per_inertia)
            links.velocity_change[world, i] = h * blocks.wrench(force / tr.mass, rotation)
    if tr.implicit == 1:
        cyclic.solve_ring(
            world, tr.first_link, tr.links, links.diagonal, links.coupling, links.fill, links.velocity_change
        )


@wp.func
def move_links(world: int, which: int, tr: Track, s: State, links: Links, results: Results, h: real, last: int):
    """Move the links with their new velocities. `last`: 1 in the last substep.

    The rotation keeps the angular momentum, from which the new angular velocity follows.
    """
    for i in range(tr.first_link, tr.first_link + tr.links):
        change = links.velocity_change[world, i]
        v = s.velocity[world, i] + blocks.linear(change)
        omega = s.angular_velocity[world, i] + blocks.angular(change)
        R = links.axes[world, i]
        momentum = R * wp.cw_mul(tr.inertia, wp.transpose(R) * omega)
        q = rotate(s.rotation[world, i], omega, h)
        R = wp.quat_to_matrix(q)
        s.velocity[world, i] = v
        s.position[world, i] = s.position[world, i] + h * v
        s.rotation[world, i] = q
        s.angular_velocity[world, i] = R * wp.cw_mul(wp.transpose(R) * momentum, tr.per_inertia)
        if last == 0:  # keep the axes with which the contacts of the last substep were found: outputs need them
            links.axes[world, i] = R
        if not (wp.length_sq(v) < FASTEST_SQUARED):  # also true of NaN
            results.status[world, which] = t.BROKEN


@wp.func
def copy_state(world: int, which: int, tr: Track, a: State, b: State):
    """Copy one track from state a to state b."""
    for i in range(tr.first_link, tr.first_link + tr.links):
        b.position[world, i] = a.position[world, i]
        b.rotation[world, i] = a.rotation[world, i]
        b.velocity[world, i] = a.velocity[world, i]
        b.angular_velocity[world, i] = a.angular_velocity[world, i]
        row = tr.first_grip + (i - tr.first_link) * tr.markers
        for m in range(row, row + tr.markers):
            b.anchor[world, m] = a.anchor[world, m]
            b.gripped[world, m] = a.gripped[world, m]
    for k in range(tr.first_wheel, tr.first_wheel + tr.wheels):
        b.wheel_rate[world, k] = a.wheel_rate[world, k]
    b.impulse[world, which] = a.impulse[world, which]
    b.placed[world, which] = a.placed[world, which]
