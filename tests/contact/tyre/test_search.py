"""Where a wheel touches: the search against brute force on grounds with edges, and what it may pass over."""

import math

import numpy as np
import pytest

from grouser.contact.tyre import TyreModule, WheelUnit
from grouser.contact.tyre.model import NO_BOUND, rise_bound
from grouser.terrain.elevation import ElevationGrid
from grouser.terrain.generators import flat
from tests.contact.tyre.test_laws import SPRING, TYRE, R, rotation_matrix
from tests.rig import ManufacturedMotion, product, quaternion

WHEELS = 30
FINE = 1e-9  # [m] of travel: 1e-9 of the radius is what the search calls the same
ROUND_OFF = 1e-12  # [m, rad]
NODES = 80


def ground(kind):
    random = np.random.default_rng(5)
    spacing = {"smooth": 0.05, "rough": 0.1, "rocks": 0.05}[kind]
    x, y = np.meshgrid(np.arange(NODES) * spacing, np.arange(NODES) * spacing)
    if kind == "smooth":
        heights = 0.1 * np.sin(3 * x + 1) * np.cos(2 * y)
    elif kind == "rough":
        heights = 0.03 * random.normal(size=x.shape)
    else:
        heights = np.zeros(x.shape)
        for _ in range(60):
            a, b, size = *random.uniform(0, NODES * spacing, 2), random.uniform(0.05, 0.2)
            rock = 0.6 * np.sqrt(np.maximum(size**2 - (x - a) ** 2 - (y - b) ** 2, 0.0))
            heights = np.maximum(heights, rock)
    return ElevationGrid(heights, spacing, (0.0, 0.0))


def places(terrain, seed, depth=0.09):
    """Centres and attitudes of wheels in the ground, or just over it."""
    random = np.random.default_rng(seed)
    length = terrain.spacing * NODES
    centres, turns = np.zeros((WHEELS, 3)), np.zeros((WHEELS, 4))
    for w in range(WHEELS):
        x, y = random.uniform(0.6, length - 0.6, 2)
        centres[w] = x, y, terrain.height(x, y) + R - random.uniform(-0.02, depth)
        pitch, roll = quaternion([0, random.uniform(-0.3, 0.3), 0]), quaternion([random.uniform(-0.3, 0.3), 0, 0])
        turns[w] = product(quaternion([0, 0, random.uniform(-3, 3)]), product(pitch, roll))
    return centres, turns


def found(terrain, centres, turns, *, look_everywhere=False, **options):
    """(wheel,) travel and angle."""
    module = TyreModule(terrain, [WheelUnit("wheel", TYRE, SPRING)], **options)
    rig = ManufacturedMotion(module, worlds=len(centres))
    rig.place(position=centres[:, None], rotation=turns[:, None])
    module.state()["wheels/held"].fill_(1)
    if look_everywhere:
        module._terrain.rise_bound.fill_(NO_BOUND)
    rig.evaluate()
    seen = module.observe()
    return seen["travel"][:, 0].copy(), seen["angle"][:, 0].copy()


def largest_travel(terrain, centre, turn):
    """Over many points of the rim, by bisection; then closer round the best one."""
    matrix = rotation_matrix(turn)
    up, across = matrix[:, 2], matrix[:, 1]
    ahead = np.cross(across, up)
    steep, flattest = math.radians(70), math.radians(45)
    middle, width, best = 0.0, steep, 0.0
    for _ in range(4):
        angles = np.clip(np.linspace(middle - width, middle + width, 2001), -steep, steep)
        rim = centre + R * (np.sin(angles)[:, None] * ahead - np.cos(angles)[:, None] * up)
        low, high = np.full(len(angles), -0.5), np.full(len(angles), 0.5)
        for _ in range(45):
            half = (low + high) / 2
            at = rim + half[:, None] * up
            under = at[:, 2] < terrain.height(at[:, 0], at[:, 1])
            low, high = np.where(under, half, low), np.where(under, high, half)
        travel = np.where((low <= SPRING.travel) | (np.abs(angles) <= flattest), low, -1.0)
        best, middle, width = float(travel.max()), float(angles[travel.argmax()]), width / 200
    return max(best, 0.0)


@pytest.mark.parametrize("kind", ["smooth", "rough", "rocks"])
def test_the_search_finds_the_deepest_point_of_the_rim(kind):
    terrain = ground(kind)
    centres, turns = places(terrain, seed=3)
    got, _ = found(terrain, centres, turns)
    wanted = np.array([largest_travel(terrain, c, q) for c, q in zip(centres, turns, strict=True)])
    assert (wanted > 0).sum() > WHEELS / 2
    carried = wanted <= 2 * SPRING.travel
    np.testing.assert_allclose(got[carried], wanted[carried], rtol=0, atol=FINE)


@pytest.mark.parametrize("refine", [True, False])
@pytest.mark.parametrize("kind", ["smooth", "rough", "rocks"])
def test_what_it_passes_over_changes_nothing(kind, refine):
    """Slices whose rim is above the rise_bound of the ground are not looked at: it is as if they were."""
    terrain = ground(kind)
    for seed in range(3):
        centres, turns = places(terrain, seed)
        some = found(terrain, centres, turns, refine=refine)
        every = found(terrain, centres, turns, refine=refine, look_everywhere=True)
        np.testing.assert_allclose(some, every, rtol=0, atol=ROUND_OFF)


@pytest.mark.parametrize("nodes", [1, 3, 6])
def test_no_ground_within_reach_rises_over_its_swell(nodes):
    random = np.random.default_rng(nodes)
    x, y = np.meshgrid(np.arange(40), np.arange(30))
    for heights in (random.normal(size=x.shape), 0.01 * x * y, 0.02 * (x - y) ** 2, np.where(x > 20, 1.0, 0.0)):
        most = rise_bound(heights, nodes)
        inner = nodes + 1
        for row in range(inner, 30 - inner):
            for column in range(inner, 40 - inner):
                around = heights[row - nodes : row + nodes + 1, column - nodes : column + nodes + 1]
                by_row, by_column = np.mgrid[-nodes : nodes + 1, -nodes : nodes + 1]
                slope_x = (heights[row, column + 1] - heights[row, column - 1]) / 2
                slope_y = (heights[row + 1, column] - heights[row - 1, column]) / 2
                tangent = heights[row, column] + slope_x * by_column + slope_y * by_row
                assert (around - tangent).max() <= most[row, column] + 1e-12
        assert most[0, 0] == NO_BOUND


def test_the_swell_of_a_plane_is_nothing():
    x, y = np.meshgrid(np.arange(40), np.arange(30))
    assert np.abs(rise_bound(0.3 * x - 0.1 * y, 4)[6:-6, 6:-6]).max() < 1e-12
    assert rise_bound(flat(size=(2, 2), spacing=1.0).heights, 4).min() == NO_BOUND  # too small to know anything
