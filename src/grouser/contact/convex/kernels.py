"""Kernels of convex contact, one thread each: find candidates, compute forces, update stick springs after the step."""

from __future__ import annotations

import warp as wp

from grouser.contact.convex.contact_force import end_loads, pair_force, record_contact, share_rest, update_stick
from grouser.contact.convex.neighbour_search import find_candidates, guess_directions, pose_and_box
from grouser.contact.convex.types import FULL, Candidates, Contacts, Poses, Solids, StepContacts, Sticks
from grouser.device import array2d, module
from grouser.precision import mat66, quat, real, vec3, vec6

convex = module("grouser.contact.convex.kernels")


@wp.kernel(module=convex)
def search(
    s: Solids, poses: Poses, found: Candidates, sticks: Sticks,
    position: array2d[vec3], rotation: array2d[quat], velocity: array2d[vec3], angular_velocity: array2d[vec3],
):  # fmt: skip
    """Find poses now and at the end of the step, bounding boxes, and pairs that may touch."""
    for part in range(s.parts):
        pose_and_box(s, poses, part, position, rotation, velocity, angular_velocity)
    find_candidates(s, poses, found)
    guess_directions(found, sticks)


@wp.kernel(module=convex)
def compute_forces(
    s: Solids, poses: Poses, found: Candidates, old: Sticks, fresh: Sticks, e: Contacts,
    wrench_out: array2d[vec6], implicit_out: array2d[mat66], status_out: array2d[int],
):  # fmt: skip
    """Compute the forces of all pairs that touch, in order, and sum them on the bodies."""
    for row in range(wrench_out.shape[1]):
        wrench_out[0, row] = vec6()
        implicit_out[0, row] = mat66()
        status_out[0, row] = 0
    e.stored[0] = real(0.0)
    e.first_point[0] = 0
    e.first_corner[0] = 0
    # One thread and a fixed order: the sums have the same bits in every run, and contacts fill consecutive slots.
    slot = int(0)
    for k in range(found.counts[0].candidates):
        if found.touch[k] == 1:
            if slot >= e.kind.shape[0]:  # the run must stop: without this contact a part would fall through
                found.counts[0].overflow = 1
            elif pair_force(s, poses, found, old, fresh, e, k, slot, False, wrench_out, implicit_out):
                slot += 1
    # A part that overlaps the course and that no contact holds: its directions were all hidden by neighbouring pieces,
    # as on a saddle of a grid. It would fall into the ground and be thrown out of it later.
    for part in range(s.parts):
        held = int(0)
        for j in range(slot):
            if fresh.pair[j, 0] == part or fresh.pair[j, 1] == part:
                held = 1
        if held == 0:
            for k in range(found.counts[0].candidates):
                if found.touch[k] == 1 and found.pair[k, 0] == part and found.distance[k] < real(0.0):
                    if slot >= e.kind.shape[0]:
                        found.counts[0].overflow = 1
                    elif pair_force(s, poses, found, old, fresh, e, k, slot, True, wrench_out, implicit_out):
                        slot += 1
    fresh.count[0] = slot
    found.counts[0].contacts = slot
    found.counts[0].points = e.first_point[slot]
    found.counts[0].corners = e.first_corner[slot]
    if found.counts[0].overflow == 1:
        status_out[0, 0] = FULL


@wp.kernel(module=convex)
def update_sticks(
    s: Solids, poses: Poses, old: Sticks, fresh: Sticks, e: Contacts, step: StepContacts,
    position: array2d[vec3], velocity: array2d[vec3], angular_velocity: array2d[vec3], effective: array2d[vec6],
):  # fmt: skip
    """Update the friction states after the step, and record the forces the parts received."""
    count = int(0)
    for slot in range(fresh.count[0]):
        a = s.row[fresh.pair[slot, 0]]
        b = fresh.pair[slot, 1]
        # The course stands still: position and velocity of the other solid stay zero.
        xb = vec3()
        vb = vec3()
        wb = vec3()
        if b < s.parts:
            xb = position[0, s.row[b]]
            vb = velocity[0, s.row[b]]
            wb = angular_velocity[0, s.row[b]]
        else:
            end_loads(s, poses, fresh, e, slot, velocity[0, a], angular_velocity[0, a], position[0, a])
        record_contact(s, poses, fresh, e, step, slot, velocity[0, a], angular_velocity[0, a])
        count = update_stick(
            s, poses, old, fresh, e, slot, count,
            position[0, a], velocity[0, a], angular_velocity[0, a], xb, vb, wb,
        )  # fmt: skip
    old.count[0] = count
    step.count[0] = fresh.count[0]
    share_rest(s, e, step, effective)


KERNELS = (search, compute_forces, update_sticks)
