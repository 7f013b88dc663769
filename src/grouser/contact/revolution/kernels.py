"""Kernels of contact between bodies of revolution: map elements of one surface to the section of the other.

On a CPU one thread does the whole step of a world. On a GPU several threads (lanes) share a pair. Both use the same
functions.
"""

from __future__ import annotations

import warp as wp

from grouser.contact.pairs import PairSums, RelativePoses, sum_onto_bodies
from grouser.contact.revolution.contact_force import press, stick
from grouser.contact.revolution.neighbour_search import search
from grouser.contact.revolution.relative_pose import pose_ahead, pose_now
from grouser.contact.revolution.section import update_section
from grouser.contact.revolution.types import Elements, Lists, Pairs, Rounds, Sections
from grouser.device import array2d, module
from grouser.precision import mat66, quat, vec3, vec6

MODULE = module("grouser.contact.revolution.kernels")
lanes = module("grouser.contact.revolution.kernels.lanes")  # a module of its own: a CPU need not compile it

# ---- one thread per world -------------------------------------------------------------------------------


@wp.kernel(module=MODULE)
def update_world(s: Sections):
    """Update the lines of all sections whose samples have changed."""
    world = wp.tid()
    for surface in range(s.sign.shape[0]):
        update_section(s, world, surface)


@wp.kernel(module=MODULE)
def evaluate_world(
    s: Sections, rounds: Rounds, pairs: Pairs, poses: RelativePoses, lists: Lists, e: Elements, sums: PairSums,
    position: array2d[vec3], rotation: array2d[quat], velocity: array2d[vec3], angular_velocity: array2d[vec3],
    wrench_out: array2d[vec6], implicit_out: array2d[mat66], status_out: array2d[int],
):  # fmt: skip
    """Compute contact forces at the end of the step and sum them on the bodies."""
    world = wp.tid()
    for surface in range(s.sign.shape[0]):
        update_section(s, world, surface)
    for pair in range(pairs.bodies.named.shape[0]):
        pose_ahead(s, rounds, pairs, poses, lists, e, sums, world, pair, position, rotation, velocity, angular_velocity)
        search(s, rounds, pairs, poses, lists, world, pair, 0)
        press(s, rounds, pairs, poses, lists, e, sums, world, pair, 0)
    sum_onto_bodies(pairs.bodies, poses, sums, world, wrench_out, implicit_out, status_out)


@wp.kernel(module=MODULE)
def commit_world(
    s: Sections, rounds: Rounds, pairs: Pairs, poses: RelativePoses, e: Elements, sums: PairSums,
    position: array2d[vec3], rotation: array2d[quat], velocity: array2d[vec3], angular_velocity: array2d[vec3],
):  # fmt: skip
    """Update stick points after the step and record the wrenches the bodies received."""
    world = wp.tid()
    for pair in range(pairs.bodies.named.shape[0]):
        pose_now(rounds, pairs, poses, sums, world, pair, position, rotation, velocity, angular_velocity)
        stick(s, rounds, pairs, poses, e, world, pair, 0)
    e.tick[world] = e.tick[world] + 1


# ---- several lanes per pair, for a GPU ------------------------------------------------------------------


@wp.kernel(module=lanes)
def update_surfaces(s: Sections):
    world, surface = wp.tid()
    update_section(s, world, surface)


@wp.kernel(module=lanes)
def poses_ahead(
    s: Sections, rounds: Rounds, pairs: Pairs, poses: RelativePoses, lists: Lists, e: Elements, sums: PairSums,
    position: array2d[vec3], rotation: array2d[quat], velocity: array2d[vec3], angular_velocity: array2d[vec3],
):  # fmt: skip
    world, pair = wp.tid()
    pose_ahead(s, rounds, pairs, poses, lists, e, sums, world, pair, position, rotation, velocity, angular_velocity)


@wp.kernel(module=lanes)
def search_lanes(s: Sections, rounds: Rounds, pairs: Pairs, poses: RelativePoses, lists: Lists):
    world, pair, lane = wp.tid()
    search(s, rounds, pairs, poses, lists, world, pair, lane)


@wp.kernel(module=lanes)
def press_lanes(
    s: Sections, rounds: Rounds, pairs: Pairs, poses: RelativePoses, lists: Lists, e: Elements, sums: PairSums
):
    world, pair, lane = wp.tid()
    press(s, rounds, pairs, poses, lists, e, sums, world, pair, lane)


@wp.kernel(module=lanes)
def gather_worlds(
    pairs: Pairs,
    poses: RelativePoses,
    sums: PairSums,
    wrench_out: array2d[vec6],
    implicit_out: array2d[mat66],
    status_out: array2d[int],
):
    sum_onto_bodies(pairs.bodies, poses, sums, wp.tid(), wrench_out, implicit_out, status_out)


@wp.kernel(module=lanes)
def poses_now(
    rounds: Rounds, pairs: Pairs, poses: RelativePoses, sums: PairSums,
    position: array2d[vec3], rotation: array2d[quat], velocity: array2d[vec3], angular_velocity: array2d[vec3],
):  # fmt: skip
    world, pair = wp.tid()
    pose_now(rounds, pairs, poses, sums, world, pair, position, rotation, velocity, angular_velocity)


@wp.kernel(module=lanes)
def stick_lanes(s: Sections, rounds: Rounds, pairs: Pairs, poses: RelativePoses, e: Elements):
    world, pair, lane = wp.tid()
    stick(s, rounds, pairs, poses, e, world, pair, lane)


@wp.kernel(module=lanes)
def count_steps(e: Elements):
    world = wp.tid()
    e.tick[world] = e.tick[world] + 1


ON_CPU = (update_world, evaluate_world, commit_world)
ON_GPU = (
    update_surfaces, poses_ahead, search_lanes, press_lanes, gather_worlds, poses_now, stick_lanes, count_steps
)  # fmt: skip
