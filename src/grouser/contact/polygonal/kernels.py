"""Kernels of polygonal contact: poses, forces and wrenches in `evaluate`; stick points and lists in `commit`."""

from __future__ import annotations

import warp as wp

from grouser.contact.pairs import (
    FULL,
    UPRIGHT,
    PairBodies,
    PairSums,
    RelativePoses,
    clear_sums,
    record_effective,
    set_relative_pose,
    sum_onto_bodies,
)
from grouser.contact.polygonal.contact_force import pair_motion, press_element, stick_element
from grouser.contact.polygonal.neighbour_search import check_list, search_pair
from grouser.contact.polygonal.types import Elements, Lists, Pairs, Shapes, Totals
from grouser.contact.rigid import assemble, wrench_of
from grouser.device import array2d, module
from grouser.precision import mat66, quat, real, vec3, vec6

polygonal = module("grouser.contact.polygonal.kernels")


@wp.kernel(module=polygonal)
def poses_ahead(
    bodies: PairBodies, position: array2d[vec3], rotation: array2d[quat], velocity: array2d[vec3],
    angular_velocity: array2d[vec3], poses: RelativePoses, sums: PairSums,
):  # fmt: skip
    """Predict the relative poses at the end of the step, and clear the sums. One thread per world and pair."""
    world, pair = wp.tid()
    poses.twist[world, pair] = set_relative_pose(
        bodies, poses, world, pair, bodies.step[0], vec3(), UPRIGHT, vec3(), UPRIGHT,
        position, rotation, velocity, angular_velocity,
    )  # fmt: skip
    clear_sums(sums, world, pair)


@wp.kernel(module=polygonal)
def press(s: Shapes, pairs: Pairs, poses: RelativePoses, lists: Lists, e: Elements, sums: PairSums):
    """Sum normal forces, friction and implicit block of all listed elements. Several threads (lanes) share a pair."""
    world, pair, lane = wp.tid()
    # Before the test of reach: faces are missing from this list, so whether the pair touches is not known.
    if lists.state[world, pair].overflow == 1:
        wp.atomic_or(sums.flags, world, pair, 1 << FULL)
    if lists.state[world, pair].out_of_reach == 1:
        return
    motion = pair_motion(pairs, poses, world, pair)
    totals = Totals()
    base = pairs.first_slot[pair]
    for k in range(lane, lists.elements[world, pair], pairs.lanes):
        totals = press_element(s, pairs, lists, e, world, pair, base + k, motion, totals)
    if totals.touched == 1:  # a thread sums its elements by itself, so that few atomics are needed
        wp.atomic_add(sums.wrench, world, pair, wrench_of(totals.force, totals.moment))
        wp.atomic_add(sums.block, world, pair, assemble(totals.block))
        wp.atomic_max(sums.depth, world, pair, totals.depth)
        wp.atomic_max(sums.pressure, world, pair, totals.pressure)
        wp.atomic_add(sums.area, world, pair, totals.area)
        wp.atomic_add(sums.stiffness, world, pair, totals.stiffness)
        wp.atomic_add(sums.polygons, world, pair, totals.polygons)
        wp.atomic_or(sums.flags, world, pair, totals.flags)
        sums.touched[world, pair] = 1


@wp.kernel(module=polygonal)
def gather(
    bodies: PairBodies, poses: RelativePoses, sums: PairSums,
    wrench_out: array2d[vec6], implicit_out: array2d[mat66], status_out: array2d[int],
):  # fmt: skip
    """Add the sums of all pairs to the wrenches on the bodies. One thread per world."""
    sum_onto_bodies(bodies, poses, sums, wp.tid(), wrench_out, implicit_out, status_out)


@wp.kernel(module=polygonal)
def poses_now(
    bodies: PairBodies, position: array2d[vec3], rotation: array2d[quat], velocity: array2d[vec3],
    angular_velocity: array2d[vec3], poses: RelativePoses, sums: PairSums,
):  # fmt: skip
    """Compute the poses after the step, and the wrench each named body received. One thread per world and pair."""
    world, pair = wp.tid()
    twist = set_relative_pose(
        bodies, poses, world, pair, real(0.0), vec3(), UPRIGHT, vec3(), UPRIGHT,
        position, rotation, velocity, angular_velocity,
    )  # fmt: skip
    record_effective(bodies, poses, sums, world, pair, twist)


@wp.kernel(module=polygonal)
def stick(s: Shapes, pairs: Pairs, poses: RelativePoses, lists: Lists, e: Elements):
    """Update the stick points and states of all listed elements after the step. Several lanes share a pair."""
    world, pair, lane = wp.tid()
    if lists.state[world, pair].out_of_reach == 1:
        return
    base = pairs.first_slot[pair]
    for k in range(lane, lists.elements[world, pair], pairs.lanes):
        stick_element(s, pairs, poses, lists, e, world, pair, base + k)


@wp.kernel(module=polygonal)
def check_lists(pairs: Pairs, poses: RelativePoses, lists: Lists, sums: PairSums):
    """Mark the lists that must be rebuilt. One thread per world and pair."""
    world, pair = wp.tid()
    check_list(pairs, poses, lists, sums, world, pair)


@wp.kernel(module=polygonal)
def search(s: Shapes, pairs: Pairs, lists: Lists):
    """Rebuild the lists that are stale. Several lanes share a pair."""
    world, pair, lane = wp.tid()
    if lists.state[world, pair].stale == 1:
        search_pair(s, pairs, lists, world, pair, lane)


KERNELS = (poses_ahead, press, gather, poses_now, stick, check_lists, search)
