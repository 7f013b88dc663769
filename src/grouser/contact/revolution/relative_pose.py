"""Relative poses and velocities of pairs, and the check whether their lists of near elements are still valid."""

from __future__ import annotations

import warp as wp

from grouser.contact.pairs import PairSums, RelativePoses, clear_sums, moved_since, record_effective, set_relative_pose
from grouser.contact.revolution.mapping import frame_of
from grouser.contact.revolution.types import Elements, Lists, Pairs, Rounds, Sections
from grouser.device import array2d
from grouser.precision import quat, real, vec3


@wp.func
def set_surface_pose(
    rounds: Rounds, pairs: Pairs, poses: RelativePoses, world: int, pair: int, ahead: real,
    position: array2d[vec3], rotation: array2d[quat], velocity: array2d[vec3], angular_velocity: array2d[vec3],
):  # fmt: skip
    """Write the relative pose of the two surfaces of a pair. Returns the twist of the implicit body."""
    first = pairs.surface[pair, 0]
    second = pairs.surface[pair, 1]
    return set_relative_pose(
        pairs.bodies, poses, world, pair, ahead,
        rounds.mount[first], rounds.mount_turn[first], rounds.mount[second], rounds.mount_turn[second],
        position, rotation, velocity, angular_velocity,
    )  # fmt: skip


@wp.func
def check_list(
    s: Sections, rounds: Rounds, pairs: Pairs, poses: RelativePoses, lists: Lists, world: int, pair: int,
):  # fmt: skip
    """Mark a pair as out of reach if it still cannot touch, and its list as stale if it must be rebuilt.

    Both the relative motion of the pair and the change of its shapes count.
    """
    lists.state[world, pair].stale = 0
    position = poses.position[world, pair]
    rotation = poses.rotation[world, pair]
    path = s.path[world, pairs.surface[pair, 0]] + s.path[world, pairs.surface[pair, 1]]
    cleared = lists.clear_position[world, pair]
    radius = pairs.radius[pair]
    moved = moved_since(poses, world, pair, cleared, lists.clear_rotation[world, pair], radius)
    moved += path - lists.clear_path[world, pair] + frame_of(s, rounds, pairs, poses, world, pair).slack
    lists.state[world, pair].out_of_reach = wp.where(moved < lists.clear[world, pair], 1, 0)
    if moved < lists.clear[world, pair]:
        return
    # Start a new clearance from here. The force stage may reduce it.
    lists.clear[world, pair] = pairs.margin[pair]
    lists.clear_position[world, pair] = position
    lists.clear_rotation[world, pair] = rotation
    lists.clear_path[world, pair] = path
    moved = moved_since(poses, world, pair, lists.position[world, pair], lists.rotation[world, pair], radius)
    moved += path - lists.path[world, pair]
    if moved >= pairs.margin[pair] or lists.state[world, pair].searches == 0:
        lists.position[world, pair] = position
        lists.rotation[world, pair] = rotation
        lists.path[world, pair] = path
        moved = real(0.0)
        lists.state[world, pair].stale = 1
        lists.state[world, pair].searches = lists.state[world, pair].searches + 1
        lists.listed[world, pair] = 0
        lists.state[world, pair].tests = 0
    lists.moved[world, pair] = moved


@wp.func
def pose_ahead(
    s: Sections, rounds: Rounds, pairs: Pairs, poses: RelativePoses, lists: Lists, e: Elements, sums: PairSums,
    world: int, pair: int,
    position: array2d[vec3], rotation: array2d[quat], velocity: array2d[vec3], angular_velocity: array2d[vec3],
):  # fmt: skip
    """Predict the relative pose at the end of the step, clear the sums, and check the list."""
    poses.twist[world, pair] = set_surface_pose(
        rounds, pairs, poses, world, pair, pairs.bodies.step[0], position, rotation, velocity, angular_velocity
    )
    clear_sums(sums, world, pair)
    e.active_count[world, pair] = 0
    e.mapped[world, pair] = 0
    check_list(s, rounds, pairs, poses, lists, world, pair)


@wp.func
def pose_now(
    rounds: Rounds, pairs: Pairs, poses: RelativePoses, sums: PairSums, world: int, pair: int,
    position: array2d[vec3], rotation: array2d[quat], velocity: array2d[vec3], angular_velocity: array2d[vec3],
):  # fmt: skip
    """Compute the relative pose after the step, and the wrench the named body received."""
    twist = set_surface_pose(
        rounds, pairs, poses, world, pair, real(0.0), position, rotation, velocity, angular_velocity
    )
    record_effective(pairs.bodies, poses, sums, world, pair, twist)
