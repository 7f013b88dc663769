"""Contact of shoes with the ground, marker by marker: pressure, shear, grousers; Omar 2014, eq. 47 to 56."""

from __future__ import annotations

import warp as wp

from grouser.contact.penalty import damping_share
from grouser.precision import real, vec3
from grouser.terrain.ground import SURFACE, VIRGIN, GroundArrays
from grouser.track import laws
from grouser.track import types as t
from grouser.track.stages.contacts import add_contact
from grouser.track.stages.surface import ground_at, soil_levels
from grouser.track.types import Contact, Contacts, Ground, Links, Results, State, Tables, Track

SLIP_KEPT = wp.constant(real(3.0))  # k_T times path above which the anchor is dragged along; tanh(3) = 0.995


@wp.func
def list_low_links(
    world: int, which: int, tr: Track, g: Ground, tiles: GroundArrays, s: State, contacts: Contacts
):  # fmt: skip
    """List the links whose shoes may touch the ground in this step. Reset the grip of the others."""
    count = int(0)
    for i in range(tr.first_link, tr.first_link + tr.links):
        x = s.position[world, i]
        there = True
        height = real(0.0)
        if g.kind == t.SOIL:
            there, levels = soil_levels(tiles, world, x[0], x[1])
            height = levels[VIRGIN]
        else:
            there, height, n, soil = ground_at(g, x[0], x[1])
        # A link beyond the ground's border stays listed: its shoe may still touch the ground, or must be reported.
        if (
            tr.neighbour_lists == 0 or (there and x[2] - height < tr.ground_reach) or (not there and g.kind != t.FLAT)
        ):  # fmt: skip
            contacts.low_links[world, tr.first_link + count] = i
            count += 1
        else:
            row = tr.first_grip + (i - tr.first_link) * tr.markers
            for m in range(row, row + tr.markers):
                s.gripped[world, m] = 0
    contacts.low_count[world, which] = count


@wp.func(inline=True)
def shoe_contacts(
    world: int, which: int, tr: Track, c: Tables, g: Ground, tiles: GroundArrays, s: State, links: Links,
    contacts: Contacts, results: Results, i: int, h: real, ahead: real,
):  # fmt: skip
    """Add the contacts of the shoe of link i with the ground. Slip is measured from where a marker first touched."""
    zero = real(0.0)
    R = links.axes[world, i]
    x = vec3(R[0, 0], R[1, 0], R[2, 0])
    row = tr.first_grip + (i - tr.first_link) * tr.markers
    for m in range(tr.markers):
        q = tr.first_marker + m
        arm = R * c.marker[q]
        at = s.position[world, i] + arm
        there = True
        height = real(0.0)
        n = vec3(zero, zero, real(1.0))
        soil = g.soil[0]
        virgin = real(0.0)
        if g.kind == t.SOIL:
            there, levels = soil_levels(tiles, world, at[0], at[1])
            height = levels[SURFACE]
            virgin = levels[VIRGIN]
        elif g.kind == t.FLAT:
            height = g.height
        else:
            there, height, n, soil = ground_at(g, at[0], at[1])
        if not there:
            results.status[world, which] = t.OUTSIDE
        depth = (height - at[2]) * n[2]
        if not there or depth <= zero:
            s.gripped[world, row + m] = 0
        else:
            if s.gripped[world, row + m] == 0:
                s.gripped[world, row + m] = 1
                s.anchor[world, row + m] = at
            u = s.velocity[world, i] + wp.cross(s.angular_velocity[world, i], arm)
            un = wp.dot(u, n)
            area = c.area[q]

            # Pressure. Yielding soil carries only the pressure of its elastic rebound, and is softer than K_e.
            stiff = soil.stiffness
            pressed = depth
            if g.kind == t.SOIL:
                bears = laws.yield_pressure(virgin - height, g.modulus, g.exponent)
                if soil.stiffness * depth > bears:
                    pressed, stiff = laws.rebound(
                        depth, virgin - at[2], bears, soil.stiffness, g.modulus, g.exponent
                    )  # fmt: skip
            along = area * (stiff * ahead + soil.damping * damping_share(depth, tr.full_damping_depth))
            elastic = area * soil.stiffness * pressed
            size = wp.max(elastic - along * un, zero)
            if size == zero:
                along = real(0.0)

            # Shear grows with the slip from the anchor up to the soil's strength. A grouser adds its passive earth
            # force, in proportion to how far the slip is along the chain.
            path = at - s.anchor[world, row + m]
            path, slip = laws.kept_slip(path - wp.dot(path, n) * n, SLIP_KEPT / soil.shear_rate)
            s.anchor[world, row + m] = at - path
            tangential = u - un * n
            sliding = wp.length(tangential)
            # The slip at the end of the substep is dragged along too: what saturates does not grow by K h v.
            path, slip = laws.kept_slip(path + ahead * tangential, SLIP_KEPT / soil.shear_rate)
            strength = laws.shear_strength(elastic, area * soil.cohesion, soil.tan_friction)
            if c.blade[q] > zero and slip > zero:
                straight = wp.dot(path, x) / slip
                face = laws.passive_force(depth, c.blade[q], soil.cohesion, soil.tan_friction, soil.weight)
                if tr.lesser_of_plane_and_face == 1:
                    gap = tr.grouser_gap * c.blade[q]
                    face = laws.face_before_plate(
                        face, depth, tr.grouser_height, gap, soil.cohesion, soil.tan_friction, soil.weight
                    )
                strength = strength + straight * straight * face
            stiffness = laws.shear(slip, strength, soil.shear_rate)
            damping = laws.slip_damping(sliding, strength - stiffness * slip, soil.slip_damping * area, soil.slip_speed)
            across = damping
            if soil.shear_rate * slip < SLIP_KEPT:
                across = across + stiffness * ahead
            force = size * n - stiffness * path - damping * tangential
            contact = Contact(i, t.GROUND, arm, vec3(), n, force, along, across, sliding)
            add_contact(
                world, which, tr.first_contact, tr.contacts, tr.implicit, h, contact,
                contacts.found, contacts.contact, results.status, links.force, links.torque,
                links.diagonal, links.effective_mass, links.effective_moment, links.effective_inertia,
            )  # fmt: skip
