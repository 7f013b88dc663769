"""Rocks along a way: numbers by the law, no two in one another, and the same ones for every way that comes by."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.stats

from grouser.errors import InputError
from grouser.terrain import from_function
from grouser.terrain.rock_strip import rocks_along
from grouser.terrain.rocks import SizeClasses, golombek_rapp

LAW = SizeClasses((0.1, 0.3), (1.5, 0.5))
CHANCE = 1e-4  # of a right generator falling outside the bounds, for one seed
BESIDE = 1.5  # [m]
WAY = np.array([(740.0, -8.0), (760.0, 0.0), (770.0, 20.0)])


def places(rocks) -> set[tuple[float, float]]:
    return {(rock.diameter, *rock.position[:2].tolist()) for rock in rocks}


def test_numbers_are_those_of_the_law():
    """Along 400 m across the squares; rocks count if their middle is near the way."""
    rocks = rocks_along(LAW, [(0.0, 0.0), (320.0, 240.0)], BESIDE, divisions=0)
    x, y = np.array([rock.position[:2] for rock in rocks]).T
    near = (np.abs(0.8 * y - 0.6 * x) < BESIDE) & (0.8 * x + 0.6 * y > 0) & (0.8 * x + 0.6 * y < 400)
    inside = np.array([rock.diameter for rock in rocks])[near]
    for diameter, density in zip(LAW.diameters, LAW.densities, strict=True):
        low, high = scipy.stats.poisson.interval(1 - CHANCE, density * 2 * BESIDE * 400)
        assert low <= np.count_nonzero(inside == diameter) <= high


def test_rocks_keep_apart_and_near_the_way_on_the_ground():
    ground = from_function(lambda x, y: 0.05 * x, size=(200.0, 200.0), spacing=1.0, origin=(650.0, -100.0))
    rocks = rocks_along(golombek_rapp(0.3, 0.1, 0.5), WAY, BESIDE, ground=ground, burial=0.25)
    at, reach = np.array([rock.position[:2] for rock in rocks]), np.array([rock.reach for rock in rocks])
    apart = np.hypot(*(at[:, None] - at[None]).transpose(2, 0, 1)) - reach[:, None] - reach[None]
    assert apart[~np.eye(len(rocks), dtype=bool)].min() >= 0
    dense = np.concatenate([np.linspace(a, b, 2000) for a, b in itertools.pairwise(WAY)])
    assert max(np.hypot(*(dense - place).T).min() - r for place, r in zip(at, reach, strict=True)) < BESIDE + 0.01
    for rock in rocks[:20]:
        depth = 0.05 * rock.position[0] - rock.world_vertices[:, 2].min()
        assert depth == pytest.approx(0.25 * rock.height, abs=1e-9)
    assert len({rock.name for rock in rocks}) == len(rocks)


def test_rocks_belong_to_the_ground_and_not_to_the_way():
    along = places(rocks_along(LAW, WAY, BESIDE, seed=3))
    part = places(rocks_along(LAW, WAY[:2], BESIDE, seed=3))
    across = places(rocks_along(LAW, [(760.0, -9.0), (760.0, 9.0)], BESIDE, seed=3))
    assert part < along
    crossing = {place for place in along if np.hypot(place[1] - 760.0, place[2]) < BESIDE - 0.3}
    assert crossing
    assert crossing <= across
    assert not places(rocks_along(LAW, WAY, BESIDE, seed=4)) & along


def test_coarse_rocks_are_the_same_rocks():
    fine, coarse = (rocks_along(LAW, WAY, BESIDE, divisions=divisions) for divisions in (2, 1))
    assert {len(rock.triangles) for rock in fine} == {320}
    assert {len(rock.triangles) for rock in coarse} == {80}
    assert np.mean([rock.volume for rock in coarse]) == pytest.approx(np.mean([r.volume for r in fine]), rel=0.1)


def test_none_lies_where_it_is_kept_out():
    rocks = rocks_along(LAW, WAY, BESIDE, keep_out=[(740.0, -8.0, 1.0)])
    assert min(np.hypot(*(rock.position[:2] - WAY[0])) - rock.reach for rock in rocks) >= 1.0


def test_too_many_are_refused():
    with pytest.raises(InputError, match="omit the smallest"):
        rocks_along(LAW, [(0.0, 0.0), (9000.0, 0.0)], BESIDE)
