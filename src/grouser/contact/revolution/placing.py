"""Where pairs stand: relative poses and velocities, and whether what was found near before is still good."""

from functools import cache
from types import SimpleNamespace

import warp as wp

from grouser.contact.pairs import pair_stages
from grouser.contact.revolution import types as t
from grouser.contact.revolution.mapping import mapping_stages


@cache
def placing_stages(name: str) -> SimpleNamespace:
    frame, shared = mapping_stages(name).frame, pair_stages(name)
    place, clear, settle, moved_since = shared.place, shared.clear, shared.settle, shared.moved_since
    poses, turns = shared.poses, shared.turns
    ty = t.revolution_types(name)
    p = ty.precision
    real = p.real
    Sections, Rounds, Pairs, Places = ty.Sections, ty.Rounds, ty.Pairs, ty.Places
    Lists, Elements, Sums = ty.Lists, ty.Elements, ty.Sums

    @wp.func
    def place_surfaces(
        rounds: Rounds, pairs: Pairs, places: Places, world: int, pair: int, ahead: real,
        position: poses, rotation: turns, velocity: poses, spinning: poses,
    ):  # fmt: skip
        """Relative pose of the two surfaces, each as it sits on its body."""
        first = pairs.surface[pair, 0]
        second = pairs.surface[pair, 1]
        return place(
            pairs.ends, places, world, pair, ahead,
            rounds.mount[first], rounds.mount_turn[first], rounds.mount[second], rounds.mount_turn[second],
            position, rotation, velocity, spinning,
        )  # fmt: skip

    @wp.func
    def check_list(
        s: Sections, rounds: Rounds, pairs: Pairs, places: Places, lists: Lists, world: int, pair: int,
    ):  # fmt: skip
        """Whether a pair that was apart still must be, and whether the list of near elements is still good.

        Motion is that of the pair and of its shapes.
        """
        lists.counts[world, pair, t.STALE] = 0
        position = places.position[world, pair]
        rotation = places.rotation[world, pair]
        wander = s.wander[world, pairs.surface[pair, 0]] + s.wander[world, pairs.surface[pair, 1]]
        cleared = lists.clear_position[world, pair]
        radius = pairs.radius[pair]
        moved = moved_since(places, world, pair, cleared, lists.clear_rotation[world, pair], radius)
        moved += wander - lists.clear_wander[world, pair] + frame(s, rounds, pairs, places, world, pair).slack
        lists.counts[world, pair, t.ASLEEP] = wp.where(moved < lists.clear[world, pair], 1, 0)
        if moved < lists.clear[world, pair]:
            return
        lists.clear[world, pair] = pairs.margin[pair]
        lists.clear_position[world, pair] = position
        lists.clear_rotation[world, pair] = rotation
        lists.clear_wander[world, pair] = wander
        moved = moved_since(places, world, pair, lists.position[world, pair], lists.rotation[world, pair], radius)
        moved += wander - lists.wander[world, pair]
        if moved >= pairs.margin[pair] or lists.counts[world, pair, t.SEARCHES] == 0:
            lists.position[world, pair] = position
            lists.rotation[world, pair] = rotation
            lists.wander[world, pair] = wander
            moved = real(0.0)
            lists.counts[world, pair, t.STALE] = 1
            lists.counts[world, pair, t.SEARCHES] = lists.counts[world, pair, t.SEARCHES] + 1
            lists.counts[world, pair, t.LISTED] = 0
            lists.counts[world, pair, t.TESTS] = 0
        lists.moved[world, pair] = moved

    @wp.func
    def place_ahead(
        s: Sections, rounds: Rounds, pairs: Pairs, places: Places, lists: Lists, e: Elements, sums: Sums,
        world: int, pair: int, position: poses, rotation: turns, velocity: poses, spinning: poses,
    ):  # fmt: skip
        """Poses at the end of the step; sums start at nil."""
        places.twist[world, pair] = place_surfaces(
            rounds, pairs, places, world, pair, pairs.ends.step[0], position, rotation, velocity, spinning
        )
        clear(sums, world, pair)
        e.counts[world, pair, t.ACTIVE] = 0
        e.counts[world, pair, t.MAPPED] = 0
        check_list(s, rounds, pairs, places, lists, world, pair)

    @wp.func
    def place_now(
        rounds: Rounds, pairs: Pairs, places: Places, sums: Sums, world: int, pair: int,
        position: poses, rotation: turns, velocity: poses, spinning: poses,
    ):  # fmt: skip
        """Poses after the step, and what it gave the named body."""
        twist = place_surfaces(rounds, pairs, places, world, pair, real(0.0), position, rotation, velocity, spinning)
        settle(pairs.ends, places, sums, world, pair, twist)

    return SimpleNamespace(place_ahead=place_ahead, place_now=place_now)
