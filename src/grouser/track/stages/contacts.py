"""Functions shared by all contacts of links: friction, the list of contacts, action and reaction."""

from __future__ import annotations

import warp as wp

from grouser.device import array2d
from grouser.precision import mat33, real, vec3, vec6
from grouser.track import laws
from grouser.track import types as t
from grouser.track.stages.blocks import angular, directed_block, linear, rotation_block, wrench
from grouser.track.types import Contact, Contacts, Counter, Links, Results, State, Tables, Track, Wheels, mat68


@wp.func
def add_friction(u: vec3, n: vec3, size: real, most: real, full_speed: real):
    """Force [N] on the link from a normal force `size` [N] and friction up to `most` [N] (Omar 2014, eq. 35).

    Also returns the tangential impedance and the sliding speed. u [m/s] is the velocity of the link relative to the
    other body.
    """
    tangential = u - wp.dot(u, n) * n
    sliding = wp.length(tangential)
    impedance = laws.friction_impedance(sliding, most, full_speed)
    return size * n - impedance * tangential, impedance, sliding


@wp.func
def add_contact(
    world: int, which: int, first: int, room: int, implicit: int, h: real, one: Contact,
    found: array2d[Counter], contact: array2d[Contact], status: array2d[int],
    force: array2d[vec3], torque: array2d[vec3], diagonal: array2d[mat68],
    mass: array2d[real], moment: array2d[vec3], inertia: array2d[mat33],
):  # fmt: skip
    """Add a contact of track `which` to the list and to the equations of motion of its link.

    This runs for every contact. Warp passes structs by value, so it takes the few arrays it writes instead of structs.
    """
    count = found[world, which].count
    if count >= room:
        status[world, which] = t.FULL
        return
    found[world, which].count = count + 1
    contact[world, first + count] = one
    i = one.link
    force[world, i] = force[world, i] + one.force
    torque[world, i] = torque[world, i] + wp.cross(one.arm, one.force)
    if implicit == 1:
        add_contact_blocks(world, h, one, diagonal, mass, moment, inertia)


@wp.func
def add_contact_blocks(
    world: int, h: real, one: Contact,
    diagonal: array2d[mat68], mass: array2d[real], moment: array2d[vec3], inertia: array2d[mat33],
):  # fmt: skip
    """Add the implicit blocks of a contact: tangential impedance in all directions, the difference along the normal."""
    i = one.link
    a = one.arm
    across = h * one.tangential_impedance
    mass[world, i] = mass[world, i] + across
    moment[world, i] = moment[world, i] + across * a
    inertia[world, i] = inertia[world, i] + across * rotation_block(a, a)
    along = h * one.normal_impedance - across
    diagonal[world, i] = diagonal[world, i] + directed_block(one.normal, a, a, along)


@wp.func
def share_contacts(
    world: int, which: int, tr: Track, c: Tables, s: State, links: Links, wheels: Wheels, contacts: Contacts,
    results: Results, h: real, last: int,
):  # fmt: skip
    """Apply to the wheels the opposite of the force that the links received from each contact. `last`: last substep.

    In the implicit scheme the received force differs from the evaluated one by the impedance times the change of
    velocity at the contact. With this correction action and reaction are equal to round-off.
    """
    ground = vec3()
    links_wrench = vec6()
    for k in range(tr.first_contact, tr.first_contact + contacts.found[world, which].count):
        one = contacts.contact[world, k]
        i = one.link
        wheel = one.wheel
        F = one.force
        arm = one.arm
        if tr.implicit == 1:
            # The force with which the links were accelerated: as evaluated, less impedance times change of velocity.
            change = links.velocity_change[world, i]
            du = linear(change) + wp.cross(angular(change), arm)
            n = one.normal
            F = (
                F - one.tangential_impedance * du
                - (one.normal_impedance - one.tangential_impedance) * wp.dot(du, n) * n
            )  # fmt: skip
            if last == 1:
                one.force = F
                contacts.contact[world, k] = one
        if wheel == t.GROUND:
            ground = ground + F
            results.shoe_force[world, i] = results.shoe_force[world, i] + F / real(tr.substeps)
            if last == 1:
                pressing = wp.dot(F, one.normal)
                results.shoe_load[world, i] = results.shoe_load[world, i] + F
                results.shoe_normal[world, i] = results.shoe_normal[world, i] + pressing
                results.shoe_lever[world, i] = results.shoe_lever[world, i] + pressing * arm
        else:
            wheel_arm = one.wheel_arm
            wheels.wrench[world, wheel] = wheels.wrench[world, wheel] - wrench(F, wp.cross(wheel_arm, F))
            # Friction that a wheel loses as it turns faster. `push_carriers` is implicit in it.
            wheels.axle_damping[world, wheel] = (
                wheels.axle_damping[world, wheel] + one.tangential_impedance * wp.length_sq(wheel_arm)
            )  # fmt: skip
            # About the world's origin, as `push_carriers` sums the wheels' side: the two must cancel.
            links_wrench = links_wrench + wrench(F, wp.cross(s.position[world, i] + arm, F))
            if last == 1 and c.teeth[wheel] > 0:
                results.tooth_load[world, i] = results.tooth_load[world, i] + wp.dot(F, one.normal)
    results.ground_force[world, which] = results.ground_force[world, which] + ground / real(tr.substeps)
    # Impulse from outside: scenarios compare it with the momentum that machine and links gain together.
    s.impulse[world, which] = s.impulse[world, which] + h * (ground + real(tr.links) * tr.mass * tr.gravity)
    results.links_wrench[world, which] = links_wrench
