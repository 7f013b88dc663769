"""Neighbour lists: elements of a surface that may touch the other while a pair moves little."""

from __future__ import annotations

import warp as wp

from grouser.contact.pairs import RelativePoses
from grouser.contact.revolution import types as t
from grouser.contact.revolution.mapping import frame_of, patch_is_near, ring_is_near, search_element
from grouser.contact.revolution.types import Lists, Pairs, Rounds, Sections
from grouser.device import nonnegative
from grouser.precision import real


@wp.func
def search(
    s: Sections, rounds: Rounds, pairs: Pairs, poses: RelativePoses, lists: Lists, world: int, pair: int, lane: int
):
    """Rebuild the list of a pair if it is stale.

    Blocks of lines, patches of sectors and single elements that cannot touch while the list is valid are skipped.
    Several lanes share the patches.
    """
    if lists.state[world, pair].stale == 0:
        return
    F = frame_of(s, rounds, pairs, poses, world, pair)
    F.slack += real(2.0) * pairs.margin[pair]  # once for motion, once for rotation about an element's middle
    start = s.first[F.one]
    end = s.first[F.one + 1] - 1
    start_block = s.first_block[F.one]
    first = s.first[F.two]
    last = s.first[F.two + 1] - 1
    first_block = s.first_block[F.two]
    sectors = rounds.sectors[F.one]
    group = t.ARC * t.ARCS
    arcs = (sectors + group - 1) / group
    stride = rounds.stride[F.one]
    table = rounds.first_angle[F.one]
    base = pairs.first_element[pair]
    tests = int(0)
    last_block = int(-1)
    near_ring = bool(False)
    for patch in range(lane, (s.first_block[F.one + 1] - start_block) * arcs, pairs.lanes):
        block = start_block + patch / arcs
        # Coarsest test: the whole ring of a block of lines.
        if block != last_block:
            last_block = block
            near_ring = ring_is_near(s.box, world, block, first_block, s.first_block[F.two + 1], F)
        if not near_ring:
            continue
        # Then ARCS patches together.
        from_sector = (patch % arcs) * group
        tests += 1
        a = rounds.angle[nonnegative(table + ((from_sector + group / 2) % sectors) * stride)]
        wide = real(group / 2 + 1)
        if not patch_is_near(s.line, s.box, world, first, last, first_block, block, a, wide, F):
            continue
        close = bool(False)
        from_line = start + (block - start_block) * t.BLOCK
        for sector in range(from_sector, wp.min(from_sector + group, sectors)):
            # Then a single patch.
            if sector % t.ARC == 0:
                tests += 1
                a = rounds.angle[nonnegative(table + ((sector + t.ARC / 2) % sectors) * stride)]
                wide = real(t.ARC / 2 + 1)
                close = patch_is_near(s.line, s.box, world, first, last, first_block, block, a, wide, F)
            if not close:
                continue
            a = rounds.angle[nonnegative(table + sector * stride)]
            e_r = a[0] * F.Rx + a[1] * F.Ry
            e_p = a[0] * F.Ry - a[1] * F.Rx
            for k in range(from_line, wp.min(from_line + t.BLOCK, end)):
                tests += 1
                line = s.line[world, nonnegative(k)]
                near = search_element(s.line, s.box, world, first, last, first_block, F, line, e_r, e_p)
                if near.touches == 1:
                    slot = base + wp.atomic_add(lists.listed, world, pair, 1)
                    lists.element[world, slot] = (k - start) * sectors + sector
                    lists.first[world, slot] = near.first
                    lists.last[world, slot] = near.last
                    lists.gap[world, slot] = near.gap
    lists.state[world, pair].tests += tests
