"""Kernels of tracks: a thread runs all substeps of a track, one stage after another.

A substep: place the wheels; sum the forces of joints, wheels and ground on the links; compute the change of velocity of
the links (explicitly, or implicitly for all of them together); apply the opposite of the received forces to the wheels;
move links and carriers. Warp passes structs by value, so stages that run for every link are inlined to save the copies.
"""

from __future__ import annotations

import warp as wp

from grouser import device
from grouser.contact.soil import boxes
from grouser.device import array, array2d
from grouser.precision import mat66, quat, real, vec3, vec6
from grouser.standby import choose_end, take_piece
from grouser.terrain.ground import SURFACE, GroundArrays
from grouser.track import types as t
from grouser.track.stages import contacts as contact_stage
from grouser.track.stages import links as link_stage
from grouser.track.stages import pins, rollers, ruts, shoes, slides, surface, teeth
from grouser.track.stages import wheels as wheel_stage
from grouser.track.types import Carriers, Contacts, Ground, Heap, Links, Results, Ruts, State, Tables, Track, Wheels

MODULE = device.module("grouser.track")
SAME = wp.constant(real(1.0e-3))  # [steps] round-off of sums of steps
LOOK = wp.constant(real(0.01))  # [s] soil beside ruts is put down and slides this often: a rut deepens little meanwhile


@wp.kernel(module=MODULE)
def run_tracks(
    c: Tables, g: Ground, tiles: GroundArrays, committed: State,
    s: State, carriers: Carriers, wheels: Wheels, links: Links, contacts: Contacts, results: Results,
    taken: array[int], shared: int, step: array[real],
    position: array2d[vec3], rotation: array2d[quat], velocity: array2d[vec3], angular_velocity: array2d[vec3],
):  # fmt: skip
    """Advance the trial state s from the committed state through all substeps of a step.

    `position` to `angular_velocity` are the motion of the engine's bodies. Threads that share the work, see
    `standby.py`, take one track after another; else there is one for each.
    """
    tracks = c.track.shape[0]
    count = committed.placed.shape[0] * tracks
    index = wp.tid()
    end = int(0)
    if shared == 1:
        end = choose_end(taken)
        index = take_piece(taken, count, end)
    while index < count:
        world = index // tracks
        which = index % tracks
        tr = c.track[which]
        h = step[0] / real(tr.substeps)
        ahead = real(0.0)
        if tr.implicit == 1:
            ahead = h
        link_stage.copy_state(world, which, tr, committed, s)
        wheel_stage.read_carriers(
            world, tr, c, carriers, wheels, position, rotation, velocity, angular_velocity
        )  # fmt: skip
        wheel_stage.place_wheels(world, tr, c, s, carriers, wheels)
        wheel_stage.list_near_links(world, tr, c, s, wheels)
        shoes.list_low_links(world, which, tr, g, tiles, s, contacts)
        results.ground_force[world, which] = vec3()
        results.status[world, which] = t.FINE
        for i in range(tr.first_link, tr.first_link + tr.links):
            results.tooth_load[world, i] = real(0.0)
            results.shoe_load[world, i] = vec3()
            results.shoe_force[world, i] = vec3()
            results.shoe_normal[world, i] = real(0.0)
            results.shoe_lever[world, i] = vec3()

        for substep in range(tr.substeps):
            wheel_stage.place_wheels(world, tr, c, s, carriers, wheels)
            link_stage.begin_links(world, which, tr, s, links, contacts, substep)
            # Sum all forces on the links.
            for i in range(tr.first_link, tr.first_link + tr.links):
                pins.joint_forces(world, tr, s, links, i, h, ahead)
            for m in range(tr.first_wheel, tr.first_wheel + tr.wheels):
                near = tr.first_candidate + (m - tr.first_wheel) * tr.links
                for q in range(near, near + wheels.near_count[world, m]):
                    i = wheels.near_links[world, q]
                    if c.teeth[m] > 0:
                        teeth.tooth_contacts(world, which, tr, c, s, links, wheels, contacts, results, m, i, h, ahead)
                    else:
                        rollers.rail_contacts(world, which, tr, c, s, links, wheels, contacts, results, m, i, h, ahead)
            for q in range(tr.first_link, tr.first_link + contacts.low_count[world, which]):
                i = contacts.low_links[world, q]
                shoes.shoe_contacts(world, which, tr, c, g, tiles, s, links, contacts, results, i, h, ahead)
            # Change velocities, apply the reactions to wheels and carriers, then move everything.
            link_stage.change_velocities(world, tr, links, h)
            last = int(0)
            if substep == tr.substeps - 1:
                last = 1
            contact_stage.share_contacts(world, which, tr, c, s, links, wheels, contacts, results, h, last)
            wheel_stage.push_carriers(world, which, tr, c, s, carriers, wheels, results, h)
            link_stage.move_links(world, which, tr, s, links, results, h, last)
            wheel_stage.move_carriers(world, tr, carriers, h)
        pins.measure_tensions(world, tr, s, results)
        if shared == 1:
            index = take_piece(taken, count, end)
        else:
            index = count


@wp.kernel(module=MODULE)
def push_bodies(
    c: Tables, carriers: Carriers, results: Results, wrench_out: array2d[vec6], status_out: array2d[int]
):  # fmt: skip
    """Sum the wrenches on the engine's bodies; several tracks may share a body. One thread per world."""
    world = wp.tid()
    for row in range(wrench_out.shape[1]):
        wrench_out[world, row] = vec6()
        status_out[world, row] = 0
    for which in range(c.track.shape[0]):
        tr = c.track[which]
        for k in range(tr.first_carrier, tr.first_carrier + tr.carriers):
            row = c.out[k]
            wrench_out[world, row] = wrench_out[world, row] + carriers.wrench[world, k]
        if results.status[world, which] != 0:
            status_out[world, c.out[tr.first_carrier + tr.frame]] = results.status[world, which]


@wp.kernel(module=MODULE)
def add_derivatives(
    c: Tables, wheels: Wheels, contacts: Contacts, step: array[real], position: array2d[vec3],
    implicit_out: array2d[mat66],
):  # fmt: skip
    """Sum h times the loss of wrench per velocity of each body, from the contacts of the last substep.

    Only along the normals: friction turns the free wheels rather than it holds their bodies. The links are taken as
    they move, so the true loss, with links that give way, is less. One thread per world.
    """
    world = wp.tid()
    for row in range(implicit_out.shape[1]):
        implicit_out[world, row] = mat66()
    for which in range(c.track.shape[0]):
        tr = c.track[which]
        for k in range(tr.first_contact, tr.first_contact + contacts.found[world, which].count):
            one = contacts.contact[world, k]
            if one.wheel != t.GROUND:
                b = tr.first_carrier + c.carrier[one.wheel]
                arm = wheels.centre[world, one.wheel] + one.wheel_arm - position[world, c.row[b]]
                turn = wp.cross(arm, one.normal)
                n = one.normal
                j = vec6(n[0], n[1], n[2], turn[0], turn[1], turn[2])
                share = step[0] * one.normal_impedance * wp.outer(j, j)
                implicit_out[world, c.out[b]] = implicit_out[world, c.out[b]] + share


@wp.func
def leave_ruts(
    world: int, which: int, tr: Track, g: Ground, tiles: GroundArrays, s: State, contacts: Contacts, rut: Ruts
):  # fmt: skip
    """Leave the ruts of all plates of a track, and note where the soil beside them may have become too steep."""
    box = rut.steep[world, which]
    footprint = boxes.empty_box()
    for q in range(tr.first_link, tr.first_link + contacts.low_count[world, which]):
        i = contacts.low_links[world, q]
        dug = ruts.leave_rut(world, which, tr, g, tiles, s, rut, i)
        R = wp.quat_to_matrix(s.rotation[world, i])
        x = s.position[world, i]
        # A plate well above the soil holds none of it: those that come down at the idler do not count yet.
        there, levels = surface.soil_levels(tiles, world, x[0], x[1])
        above = x[2] + R[2, 2] * tr.edge_z - levels[SURFACE]
        if R[2, 2] >= real(0.5) and above < tr.pitch:
            under = ruts.node_box(tr, tiles, R, x, real(1.0))
            footprint = boxes.spanning(footprint, under)
            if dug > real(0.0):
                box = boxes.spanning(box, under)
    # Plates that lift off set walls free that they held: look at the whole track whenever it has moved on by a node.
    last = rut.footprint[world, which]
    if (
        footprint.row0 != last.row0 or footprint.row1 != last.row1
        or footprint.column0 != last.column0 or footprint.column1 != last.column1
    ):  # fmt: skip
        box = boxes.spanning(box, footprint)
        rut.footprint[world, which] = footprint
    rut.steep[world, which] = box


@wp.func
def shape_ground(
    world: int, which: int, tr: Track, g: Ground, tiles: GroundArrays, s: State, contacts: Contacts, rut: Ruts,
    heap: Heap, h: real,
):  # fmt: skip
    """Leave the ruts of all plates of a track in a step of h [s], and let the soil beside them slide."""
    # Loading does not depend on the rut, see `shoes.shoe_contacts`, so that a plate need not leave it in every step.
    waited = rut.waited[world, which]
    if waited - g.rut_interval * wp.floor(waited / g.rut_interval + SAME) < (real(1.0) - SAME) * h:
        leave_ruts(world, which, tr, g, tiles, s, contacts, rut)
    rut.waited[world, which] = waited + h
    if rut.waited[world, which] < LOOK:
        return
    rut.waited[world, which] = real(0.0)
    box = rut.steep[world, which]
    if g.displaced > real(0.0):
        box = boxes.spanning(box, ruts.pay_spoil(world, which, tr, g, tiles, s, rut))
    if g.tan_repose > real(0.0):
        slides.slide(world, which, tr, g, tiles, s, contacts, rut, heap, box)


@wp.kernel(module=MODULE)
def commit_tracks(
    c: Tables, g: Ground, tiles: GroundArrays, committed: State, s: State, contacts: Contacts, rut: Ruts, heap: Heap,
    carriers: Carriers, wheels: Wheels, derivatives: int, wrench: array2d[vec6], effective: array2d[vec6],
    step: array[real],
    position: array2d[vec3], rotation: array2d[quat], velocity: array2d[vec3], angular_velocity: array2d[vec3],
):  # fmt: skip
    """Make the trial state the committed one, and leave ruts. At the start, place the links as assembled.

    The assembled links start with the motion of the body they were assembled on.
    """
    world, which = wp.tid()
    tr = c.track[which]
    if committed.placed[world, which] == 1:
        link_stage.copy_state(world, which, tr, s, committed)
        if derivatives == 1:
            wheel_stage.return_losses(
                world, which, tr, c, committed, carriers, wheels, contacts, wrench, effective, step[0], velocity,
                angular_velocity,
            )  # fmt: skip
        # Ruts only here: a step may be evaluated more than once, but is committed once.
        if g.kind == t.SOIL:
            shape_ground(world, which, tr, g, tiles, s, contacts, rut, heap, step[0])
        return
    # First commit: the chain starts at rest against its frame. On a vehicle that already moves, links at rest in the
    # world would be jerked along.
    row = c.row[tr.first_carrier + tr.frame]
    q = rotation[world, row]
    for i in range(tr.first_link, tr.first_link + tr.links):
        rut.owed[world, i] = real(0.0)
        arm = wp.quat_rotate(q, c.start_position[i])
        committed.position[world, i] = position[world, row] + arm
        committed.rotation[world, i] = wp.normalize(q * c.start_rotation[i])
        committed.velocity[world, i] = velocity[world, row] + wp.cross(angular_velocity[world, row], arm)
        committed.angular_velocity[world, i] = angular_velocity[world, row]
        grip = tr.first_grip + (i - tr.first_link) * tr.markers
        for m in range(grip, grip + tr.markers):
            committed.gripped[world, m] = 0  # shear starts where a shoe first touches
    for k in range(tr.first_wheel, tr.first_wheel + tr.wheels):
        committed.wheel_rate[world, k] = real(0.0)
    committed.impulse[world, which] = vec3()
    rut.removed[world, which] = real(0.0)
    rut.moved[world, which] = real(0.0)
    # Two tracks take turns, so that steps cost about the same.
    rut.waited[world, which] = LOOK * real(which) / real(c.track.shape[0])
    rut.steep[world, which] = boxes.empty_box()
    rut.footprint[world, which] = boxes.empty_box()
    committed.placed[world, which] = 1
    # The next commit copies the trial state, also if no step was evaluated before it.
    link_stage.copy_state(world, which, tr, committed, s)
