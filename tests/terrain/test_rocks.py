"""Rock fields: numbers against the table, shapes that are closed and of the stated size, burial, places, masks."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import scipy.integrate
import scipy.spatial
import scipy.stats
import trimesh

from grouser.contact.polygonal.mesh_checks import self_intersections
from grouser.errors import InputError
from grouser.terrain import BARE, flat, from_function, slope
from grouser.terrain.rock_shapes import icosphere, mass_properties, rock_mesh
from grouser.terrain.rocks import (
    VIKING_1,
    Rock,
    SizeClasses,
    SizeTable,
    golombek_rapp,
    power_law,
    rock_field,
)

TABLE_1 = {0.05: 2.0, 0.1: 1.7, 0.25: 0.8}  # [m]: [1/m^2], Krenn et al. 2008
CHANCE = 1e-4  # of a right generator falling outside the bounds, for one seed and one count
LAW = 1e-3  # of a table with 256 entries against the integrals it stands for
ROUND_OFF = 1e-9  # of sums over hundreds of vertices


def poisson_bounds(expected: float) -> tuple[float, float]:
    return scipy.stats.poisson.ppf(CHANCE / 2, expected), scipy.stats.poisson.isf(CHANCE / 2, expected)


@pytest.fixture(scope="module")
def large():
    """20 m x 20 m of Viking I."""
    return rock_field(VIKING_1, size=(20.0, 20.0), seed=1)


# ---- numbers ----------------------------------------------------------------------------------------


def test_viking_1_is_the_papers_table():
    assert dict(zip(VIKING_1.diameters, VIKING_1.densities, strict=True)) == TABLE_1


@pytest.mark.parametrize(("diameter", "density"), TABLE_1.items())
def test_the_density_of_every_class_is_that_of_the_table(large, diameter, density):
    low, high = poisson_bounds(density * 400)
    assert low <= np.count_nonzero(large.diameters == diameter) <= high
    assert large.left_out == 0


def test_numbers_scatter_as_a_poisson_process_does():
    """Mean and variance of the count over 60 small fields; the variance of a Poisson count is its mean."""
    counts = np.array([len(rock_field(SizeClasses((0.05,), (2.0,)), size=(3.0, 3.0), seed=k).rocks) for k in range(60)])
    expected = 18.0
    assert poisson_bounds(60 * expected)[0] <= counts.sum() <= poisson_bounds(60 * expected)[1]
    low, high = (scipy.stats.chi2.ppf(p, 59) / 59 for p in (CHANCE / 2, 1 - CHANCE / 2))
    assert low <= counts.var(ddof=1) / expected <= high


def test_the_rocks_cover_the_share_of_ground_that_the_table_says(large):
    disc = np.pi / 4 * np.array(list(TABLE_1)) ** 2
    density = np.array(list(TABLE_1.values()))
    expected, deviation = disc @ density, np.sqrt(disc**2 @ density / 400)
    assert VIKING_1.area_fraction == pytest.approx(expected, rel=ROUND_OFF)
    assert abs(large.area_fraction - expected) <= scipy.stats.norm.isf(CHANCE / 2) * deviation


def test_rocks_are_spread_evenly(large):
    """Quarters of the field hold what they should; large rocks do not drive small ones to one side."""
    place = np.array([rock.position[:2] for rock in large.rocks])
    quarter = (place[:, 0] > 0) + 2 * (place[:, 1] > 0)
    counts = np.bincount(quarter, minlength=4)
    assert scipy.stats.chisquare(counts).pvalue > CHANCE


def test_golombek_and_rapps_law_is_what_it_says():
    k, least, most = 0.1, 0.05, 0.8
    q = 1.79 + 0.152 / k
    law = golombek_rapp(k, least, most)
    covered = k * (np.exp(-q * least) - np.exp(-q * most))  # F(least) - F(most)
    assert law.area_fraction == pytest.approx(covered, rel=LAW)
    for d in (0.05, 0.1, 0.3, 0.6):
        number = scipy.integrate.quad(lambda x: 4 * k * q / np.pi * np.exp(-q * x) / x**2, d, most)[0]
        assert law.density(d) == pytest.approx(number, rel=LAW)
    assert law.density(0.0) == law.density(least)
    assert law.density(most) == law.density(2.0) == 0.0


def test_a_power_law_is_one():
    law = power_law(0.02, 2.2, 0.05, 1.0)
    for d in (0.05, 0.12, 0.5):
        assert law.density(d) == pytest.approx(0.02 * (d**-2.2 - 1.0), rel=LAW)
    covered = scipy.integrate.quad(lambda x: np.pi / 4 * x**2 * 0.02 * 2.2 * x**-3.2, 0.05, 1.0)[0]
    assert law.area_fraction == pytest.approx(covered, rel=LAW)


@pytest.mark.parametrize("law", [golombek_rapp(0.07), power_law(0.02, 2.0, 0.05, 1.0)], ids=["exponential", "power"])
def test_diameters_follow_the_law(law):
    drawn = law.draw(4000, np.random.default_rng(0))

    def share_below(diameters):
        return np.array([1 - law.density(d) / law.density() for d in diameters])

    assert scipy.stats.kstest(drawn, share_below).pvalue > CHANCE


def test_a_users_table_is_met_class_by_class():
    table = SizeTable((0.05, 0.1, 0.2, 0.4), (5.0, 2.0, 0.6, 0.1))
    drawn = table.draw(5000, np.random.default_rng(3))
    between = np.array([np.count_nonzero((drawn >= a) & (drawn < b)) for a, b in ((0.05, 0.1), (0.1, 0.2), (0.2, 0.4))])
    counts = [*between, np.count_nonzero(drawn >= 0.4 * (1 - ROUND_OFF))]
    assert scipy.stats.chisquare(counts, np.array([3.0, 1.4, 0.5, 0.1]) * 1000).pvalue > CHANCE
    assert table.density(0.1) == pytest.approx(2.0)
    assert rock_field(table, size=(3, 3), seed=2).diameters.max() <= 0.4 * (1 + ROUND_OFF)


# ---- shapes -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(20))
def test_a_rock_is_closed_and_wound_outward(seed):
    vertices, triangles = rock_mesh(0.3, np.random.default_rng(seed))
    assert 100 <= len(triangles) <= 1000
    mesh = trimesh.Trimesh(vertices, triangles, process=False)
    assert mesh.is_watertight
    assert mesh.is_winding_consistent
    assert mesh.euler_number == 2
    assert mesh.volume > 0
    assert len(self_intersections(vertices, triangles)) == 0
    assert mesh.volume > 0.85 * mesh.convex_hull.volume  # hollows are shallow
    volume, centre, inertia = mass_properties(vertices, triangles)
    assert volume == pytest.approx(mesh.volume, rel=ROUND_OFF)
    assert np.abs(centre).max() < ROUND_OFF * 0.3
    mesh.density = 1.0
    np.testing.assert_allclose(inertia, mesh.moment_inertia, atol=ROUND_OFF * np.abs(inertia).max())


def test_rocks_are_irregular_and_differ():
    shapes = [rock_mesh(1.0, np.random.default_rng(k))[0] for k in range(6)]
    for k, one in enumerate(shapes):
        radius = np.linalg.norm(one, axis=1)
        assert radius.std() > 0.05 * radius.mean()  # of a sphere 0
        assert all(np.abs(one - other).max() > 0.05 for other in shapes[:k])


def test_the_size_is_the_stated_diameter(large):
    for rock in large.rocks[::7]:
        c, s = np.cos(rock.heading), np.sin(rock.heading)
        x, y = rock.vertices[:, 0], rock.vertices[:, 1]
        length, width = np.ptp(c * x + s * y), np.ptp(c * y - s * x)
        assert (length + width) / 2 == pytest.approx(rock.diameter, rel=ROUND_OFF)
        assert length >= width


# ---- places -----------------------------------------------------------------------------------------


def test_no_two_rocks_overlap(large):
    place = np.array([rock.position[:2] for rock in large.rocks])
    reach = np.array([np.hypot(*rock.vertices[:, :2].T).max() for rock in large.rocks])
    apart = np.hypot(*(place[:, None] - place[None]).transpose(2, 0, 1)) - reach[:, None] - reach
    np.fill_diagonal(apart, np.inf)
    assert apart.min() >= -ROUND_OFF
    assert (np.abs(place) <= 10.0).all()


def test_a_gap_is_kept_and_a_crowd_is_refused():
    field = rock_field(SizeClasses((0.2,), (4.0,)), size=(3, 3), seed=1, gap=0.1)
    place = np.array([rock.position[:2] for rock in field.rocks])
    reach = np.array([rock.reach for rock in field.rocks])
    apart = np.hypot(*(place[:, None] - place[None]).transpose(2, 0, 1)) - reach[:, None] - reach
    np.fill_diagonal(apart, np.inf)
    assert apart.min() >= 0.1 - ROUND_OFF
    with pytest.raises(InputError, match=r"no room for a rock of 0\.5 m"):
        rock_field(SizeClasses((0.5,), (20.0,)), size=(3, 3), seed=1)


def test_nothing_reaches_into_a_keep_out_circle_and_the_rest_keeps_its_density():
    law, circle = SizeClasses((0.05,), (20.0,)), (1.0, -0.5, 1.5)
    field = rock_field(law, size=(5, 5), seed=4, keep_out=[circle])
    away = np.array([np.hypot(*(rock.world_vertices[:, :2] - circle[:2]).T).min() for rock in field.rocks])
    assert away.min() >= circle[2]
    free = 25 - np.pi * (circle[2] + 0.025) ** 2  # a rock reaches half a diameter, more or less
    low, high = poisson_bounds(20 * free)
    assert low <= len(field.rocks) <= high
    assert field.left_out > 0


def test_the_share_below_ground_is_that_of_every_rock():
    ground = from_function(lambda x, y: 0.1 * np.sin(x) + 0.05 * y, size=(12, 12), spacing=0.02)
    field = rock_field(size=(10, 10), seed=5, burial=(0.2, 0.5), ground=ground)
    for rock in field.rocks:
        z = rock.world_vertices[:, 2]
        below = ground.height(*rock.position[:2]) - z.min()
        assert below / np.ptp(z) == pytest.approx(rock.burial, abs=ROUND_OFF)
    shares = np.array([rock.burial for rock in field.rocks])
    assert scipy.stats.kstest(shares, scipy.stats.uniform(0.2, 0.3).cdf).pvalue > CHANCE
    assert {rock.burial for rock in rock_field(size=(3, 3), burial=0.4).rocks} == {0.4}


def test_the_same_seed_gives_the_same_field_and_another_another():
    one, same, other = (rock_field(size=(4, 4), seed=seed) for seed in (7, 7, 8))
    assert len(one.rocks) == len(same.rocks)
    for a, b in zip(one.rocks, same.rocks, strict=True):
        assert (a.world_vertices == b.world_vertices).all()
    assert len(one.rocks) != len(other.rocks) or (one.rocks[0].position != other.rocks[0].position).any()


def test_small_rocks_lie_loose_on_the_ground_and_large_ones_stay():
    ground = slope(12.0, size=(8, 8))
    field = rock_field(size=(6, 6), seed=2, movable_below=0.2, ground=ground)
    assert {rock.diameter for rock in field.movable} == {0.05, 0.1}
    assert {rock.diameter for rock in field.fixed} == {0.25}
    for rock in field.movable:
        x, y, z = rock.world_vertices.T
        assert (z - ground.height(x, y)).min() == pytest.approx(0.0, abs=ROUND_OFF)
        assert rock.burial == 0.0


def test_movable_rocks_may_be_some_of_them_and_stay_where_they_are():
    fixed = rock_field(size=(6, 6), seed=2)
    some = rock_field(size=(6, 6), seed=2, movable_below=0.2, movable_within=(-1, 2, 0, 3))
    assert 0 < len(some.movable) < len([rock for rock in some.rocks if rock.diameter < 0.2])
    for one, other in zip(fixed.rocks, some.rocks, strict=True):
        assert (one.position[:2] == other.position[:2]).all()
        inside = -1 <= one.position[0] <= 2 and 0 <= one.position[1] <= 3
        assert other.movable == (inside and one.diameter < 0.2)
        assert other.burial == (0.0 if other.movable else one.burial)


# ---- ground under rocks ------------------------------------------------------------------------------


def ball(radius: float, z: float) -> Rock:
    directions, triangles = icosphere(3)
    return Rock("ball", 2 * radius, np.array([0.2, -0.1, z]), 0.0, 0.5, False, radius * directions, triangles)


@pytest.mark.parametrize(("z", "covered"), [(0.0, 0.3), (-0.18, 0.24), (0.1, 0.3), (-0.35, 0.0)])
def test_nodes_under_a_ball_are_those_of_its_circle(z, covered):
    """Above its middle the whole outline shades the ground, below it the circle in which it cuts the ground."""
    field = rock_field(size=(1, 1), seed=0)
    field = type(field)((ball(0.3, z),), (1.0, 1.0), (-0.5, -0.5))
    ground = flat(size=(2, 2), spacing=0.02)
    x, y = np.meshgrid(ground.x, ground.y)
    away = np.hypot(x - 0.2, y + 0.1)
    mask = field.cover(ground)
    facet = 0.002  # [m] by which the facets of the ball lie inside it, and more where they cut at a slant
    assert mask[away < covered - facet].all()
    assert not mask[away > covered + ROUND_OFF].any()


def test_the_mask_takes_soil_away_and_nothing_else():
    field = rock_field(size=(3, 3), seed=6)
    ground = flat(size=(4, 4), spacing=0.02, soil="dry-sand")
    masked = field.masked(ground)
    assert masked.soil_index is not None
    bare = masked.soil_index == BARE
    assert (bare == field.cover(ground)).all()
    assert (masked.soil_index[~bare] == 0).all()
    assert masked.soils == ground.soils
    assert (masked.heights == ground.heights).all()
    two = ground.with_soils(np.ones(ground.heights.shape, int), ["clay", "dry-sand"])
    index = field.masked(two).soil_index
    assert index is not None
    assert set(np.unique(index)) == {BARE, 1}


def within(points: np.ndarray, sides: np.ndarray) -> np.ndarray:
    """Whether points (n, 2) lie inside a polygon given by its sides (m, 2, 2): an odd number lies to their right."""
    (x0, y0), (x1, y1) = sides[:, 0].T, sides[:, 1].T
    x, y = points[:, :1], points[:, 1:]
    level = np.where(y0 == y1, 1.0, y1 - y0)
    crossed = ((y0 > y) != (y1 > y)) & (x < x0 + (y - y0) / level * (x1 - x0))
    return crossed.sum(axis=1) % 2 == 1


def test_the_mask_lies_between_the_cut_at_the_ground_and_the_outline():
    field = rock_field(SizeClasses((0.3,), (2.0,)), size=(3, 3), seed=6)
    ground = flat(size=(4, 4), spacing=0.01)
    x, y = np.meshgrid(ground.x, ground.y)
    covered = field.cover(ground)
    for rock in field.rocks:
        mesh = trimesh.Trimesh(rock.world_vertices, rock.triangles)
        cut = trimesh.intersections.mesh_plane(mesh, [0, 0, 1], [0, 0, 1e-9])[:, :, :2]
        outline = rock.world_vertices[scipy.spatial.ConvexHull(rock.world_vertices[:, :2]).vertices, :2]
        near = np.hypot(x - rock.position[0], y - rock.position[1]) <= rock.reach
        points = np.column_stack([x[near], y[near]])
        inside = within(points, cut)
        outside = ~within(points, np.stack([outline, np.roll(outline, -1, axis=0)], axis=1))
        assert covered[near][inside].all()
        assert not covered[near][outside].any()
        assert inside.sum() > 100


def test_movable_rocks_leave_the_soil_as_it_is():
    field = rock_field(size=(3, 3), seed=6, movable_below=1.0)
    assert not field.cover(flat(size=(4, 4), spacing=0.02)).any()
    assert field.mesh()[0].shape == (0, 3)


def test_all_fixed_rocks_as_one_mesh():
    field = rock_field(size=(4, 4), seed=9)
    vertices, triangles = field.mesh()
    assert triangles.shape == (320 * len(field.rocks), 3)
    mesh = trimesh.Trimesh(vertices, triangles, process=False)
    assert mesh.volume == pytest.approx(sum(rock.volume for rock in field.rocks), rel=ROUND_OFF)


# ---- bad input ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: rock_field(size=(0, 3)), r"size\[0\] = 0"),
        (lambda: rock_field(burial=1.2), "burial = 1.2"),
        (lambda: rock_field(burial=(0.5, 0.2)), "burial, most = 0.2"),
        (lambda: rock_field(seed=-1), "seed = -1"),
        (lambda: rock_field(gap=-0.1), "gap = -0.1"),
        (lambda: rock_field(keep_out=[(0, 0)]), r"keep_out\[0\] = \(0, 0\)"),
        (lambda: rock_field(keep_out=[(0, 0, -1)]), "radius = -1"),
        (lambda: rock_field(movable_within=(0, 1)), "x_min, x_max, y_min and y_max"),
        (lambda: rock_field(size=(1000, 1000)), "4500000 rocks are expected"),
        (lambda: SizeClasses((0.1, 0.2), (1.0,)), "2 diameters and 1 densities"),
        (lambda: SizeClasses((0.1,), (-1.0,)), r"densities\[0\] = -1"),
        (lambda: SizeTable((0.1, 0.05), (2.0, 1.0)), r"diameters\[1\] = 0.05"),
        (lambda: SizeTable((0.1, 0.2), (1.0, 2.0)), r"densities\[1\] = 2"),
        (lambda: golombek_rapp(0.0), "abundance = 0"),
        (lambda: golombek_rapp(0.1, 0.5, 0.2), "most = 0.2"),
        (lambda: power_law(1.0, -2.0, 0.1, 1.0), "exponent = -2"),
    ],
)
def test_bad_input_is_named(call, words):
    with pytest.raises(InputError, match=words):
        call()


def test_rocks_need_numpy_and_nothing_else():
    script = (
        "import sys, grouser.terrain.rocks as r; r.rock_field(size=(2, 2)); "
        "print(sorted({'mujoco', 'warp', 'trimesh', 'scipy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
