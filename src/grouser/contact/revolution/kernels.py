"""Kernels of contact between bodies of revolution: elements of one surface mapped to the section of the other.

One thread a world does all of a step on a CPU; on a GPU lanes share a pair, with the same functions.
"""

from functools import cache
from types import SimpleNamespace

import warp as wp

from grouser.contact.pairs import pair_stages
from grouser.contact.revolution import types as t
from grouser.contact.revolution.placing import placing_stages
from grouser.contact.revolution.pressing import pressing_stages
from grouser.contact.revolution.searching import searching_stages
from grouser.contact.revolution.section import section_stages


def _module(name: str):
    module = wp.get_module(name)
    module.options["enable_backward"] = False
    return module


@cache
def revolution_kernels(name: str) -> SimpleNamespace:
    placing, pressing = placing_stages(name), pressing_stages(name)
    shape_up, search = section_stages(name).shape_up, searching_stages(name).search
    place_ahead, place_now = placing.place_ahead, placing.place_now
    press, stick = pressing.press, pressing.stick
    shared = pair_stages(name)
    gather, poses, turns = shared.gather, shared.poses, shared.turns
    wrenches, blocks, statuses = shared.wrenches, shared.blocks, shared.statuses
    ty = t.revolution_types(name)
    Sections, Rounds, Pairs, Places = ty.Sections, ty.Rounds, ty.Pairs, ty.Places
    Lists, Elements, Sums = ty.Lists, ty.Elements, ty.Sums
    module = _module(f"grouser.contact.revolution.{name}")
    lanes_module = _module(f"grouser.contact.revolution.lanes.{name}")  # what runs on a CPU compiles without it

    # ---- one thread a world ---------------------------------------------------------------------------

    @wp.kernel(module=module)
    def shape_up_world(s: Sections):
        world = wp.tid()
        for surface in range(s.sign.shape[0]):
            shape_up(s, world, surface)

    @wp.kernel(module=module)
    def evaluate_world(
        s: Sections, rounds: Rounds, pairs: Pairs, places: Places, lists: Lists, e: Elements, sums: Sums,
        position: poses, rotation: turns, velocity: poses, spinning: poses,
        wrench_out: wrenches, implicit_out: blocks, status_out: statuses,
    ):  # fmt: skip
        world = wp.tid()
        for surface in range(s.sign.shape[0]):
            shape_up(s, world, surface)
        for pair in range(pairs.ends.named.shape[0]):
            place_ahead(s, rounds, pairs, places, lists, e, sums, world, pair, position, rotation, velocity, spinning)
            search(s, rounds, pairs, places, lists, world, pair, 0)
            press(s, rounds, pairs, places, lists, e, sums, world, pair, 0)
        gather(pairs.ends, places, sums, world, wrench_out, implicit_out, status_out)

    @wp.kernel(module=module)
    def commit_world(
        s: Sections, rounds: Rounds, pairs: Pairs, places: Places, e: Elements, sums: Sums,
        position: poses, rotation: turns, velocity: poses, spinning: poses,
    ):  # fmt: skip
        world = wp.tid()
        for pair in range(pairs.ends.named.shape[0]):
            place_now(rounds, pairs, places, sums, world, pair, position, rotation, velocity, spinning)
            stick(s, rounds, pairs, places, e, world, pair, 0)
        e.tick[world] = e.tick[world] + 1

    # ---- lanes of a pair, for a GPU -------------------------------------------------------------------

    @wp.kernel(module=lanes_module)
    def shape_up_surfaces(s: Sections):
        world, surface = wp.tid()
        shape_up(s, world, surface)

    @wp.kernel(module=lanes_module)
    def place_pairs_ahead(
        s: Sections, rounds: Rounds, pairs: Pairs, places: Places, lists: Lists, e: Elements, sums: Sums,
        position: poses, rotation: turns, velocity: poses, spinning: poses,
    ):  # fmt: skip
        world, pair = wp.tid()
        place_ahead(s, rounds, pairs, places, lists, e, sums, world, pair, position, rotation, velocity, spinning)

    @wp.kernel(module=lanes_module)
    def search_lanes(s: Sections, rounds: Rounds, pairs: Pairs, places: Places, lists: Lists):
        world, pair, lane = wp.tid()
        search(s, rounds, pairs, places, lists, world, pair, lane)

    @wp.kernel(module=lanes_module)
    def press_lanes(s: Sections, rounds: Rounds, pairs: Pairs, places: Places, lists: Lists, e: Elements, sums: Sums):
        world, pair, lane = wp.tid()
        press(s, rounds, pairs, places, lists, e, sums, world, pair, lane)

    @wp.kernel(module=lanes_module)
    def gather_worlds(
        pairs: Pairs, places: Places, sums: Sums, wrench_out: wrenches, implicit_out: blocks, status_out: statuses
    ):
        gather(pairs.ends, places, sums, wp.tid(), wrench_out, implicit_out, status_out)

    @wp.kernel(module=lanes_module)
    def place_pairs_now(
        rounds: Rounds, pairs: Pairs, places: Places, sums: Sums,
        position: poses, rotation: turns, velocity: poses, spinning: poses,
    ):  # fmt: skip
        world, pair = wp.tid()
        place_now(rounds, pairs, places, sums, world, pair, position, rotation, velocity, spinning)

    @wp.kernel(module=lanes_module)
    def stick_lanes(s: Sections, rounds: Rounds, pairs: Pairs, places: Places, e: Elements):
        world, pair, lane = wp.tid()
        stick(s, rounds, pairs, places, e, world, pair, lane)

    @wp.kernel(module=lanes_module)
    def count_steps(e: Elements):
        world = wp.tid()
        e.tick[world] = e.tick[world] + 1

    return SimpleNamespace(
        module=module, lanes_module=lanes_module, types=ty, shape_up_world=shape_up_world,
        evaluate_world=evaluate_world, commit_world=commit_world,
        shape_up_surfaces=shape_up_surfaces, place_pairs_ahead=place_pairs_ahead, search_lanes=search_lanes,
        press_lanes=press_lanes, gather_worlds=gather_worlds, place_pairs_now=place_pairs_now,
        stick_lanes=stick_lanes, count_steps=count_steps,
    )  # fmt: skip
