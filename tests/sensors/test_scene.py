"""Rays against geometry in closed form: planes, steps, spheres, and cells of the grid."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from grouser.sensors import Scene
from grouser.terrain import ElevationGrid, soil
from grouser.terrain.ground import TILE, Ground

ROUND_OFF = 1e-9  # [m] of the march from cell to cell in float64
SINGLE = 2e-6  # [m] heights in float32, and meshes, which are float32


def empty() -> tuple[mujoco.MjModel, mujoco.MjData]:
    model = mujoco.MjSpec().compile()
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    return model, data


def ground_of(heights, spacing=1.0, origin=(-5.0, -5.0), fine=None, dtype="float64") -> Ground:
    grid = ElevationGrid(np.asarray(heights, float), spacing, origin)
    return Ground(grid, soil("dry-sand"), fine, dtype=dtype)


def touch(ground: Ground, heights) -> None:
    """Allocate all tiles of the first world and set their heights by a function of x and y [m]."""
    rows, columns = ground.arrays.table.shape[1:]
    ground.grow(max(rows * columns, ground.capacity))
    table, levels = np.arange(rows * columns).reshape(1, rows, columns), ground.arrays.levels.numpy()
    for i in range(rows):
        for j in range(columns):
            x = ground.elevation.origin[0] + ground.spacing * (TILE * j + np.arange(TILE))
            y = ground.elevation.origin[1] + ground.spacing * (TILE * i + np.arange(TILE))
            levels[0, table[0, i, j]] = heights(x[None, :], y[:, None])[..., None]
    ground.arrays.table.assign(table.astype(np.int32))
    ground.arrays.levels.assign(levels)
    ground.arrays.used.assign(np.array([rows * columns], np.int32))


def unit(rays) -> np.ndarray:
    rays = np.atleast_2d(np.asarray(rays, float))
    return rays / np.linalg.norm(rays, axis=1, keepdims=True)


def random_rays(count=2000, seed=1) -> np.ndarray:
    rays = unit(np.random.default_rng(seed).standard_normal((count, 3)))
    rays[:, 2] = -np.abs(rays[:, 2])
    return rays


def plane_distance(origin, rays, slope_x, slope_y):
    """Distance to z = slope_x x + slope_y y in a square of side 10 m; inf where the ray leaves it before."""
    normal = np.array([-slope_x, -slope_y, 1.0])
    with np.errstate(divide="ignore"):
        t = -(normal @ origin) / (rays @ normal)
    place = origin + t[:, None] * rays
    inside = (np.abs(place[:, :2]) < 5).all(axis=1) & (t > 0)
    return np.where(inside, t, np.inf), place


@pytest.mark.parametrize(("dtype", "close"), [("float64", ROUND_OFF), ("float32", SINGLE)])
@pytest.mark.parametrize("fine", [1.0, 0.05, 0.07])
@pytest.mark.parametrize("touched", [False, True])
def test_plane(dtype, close, fine, touched):
    axis = np.linspace(-5, 5, 11)
    slope = 0.2, -0.1
    ground = ground_of(slope[0] * axis[None, :] + slope[1] * axis[:, None], fine=fine, dtype=dtype)
    if touched:
        touch(ground, lambda x, y: slope[0] * x + slope[1] * y)
    model, data = empty()
    origin, rays = np.array([0.3, -0.4, 1.7]), random_rays()
    found = Scene(model, ground).cast(data, origin, rays, 100.0)
    expected, place = plane_distance(origin, rays, *slope)
    clear = np.abs(np.abs(place[:, :2]) - 5).min(axis=1) > 0.15  # the fine grid may end within one spacing
    assert clear.sum() > 1500
    # Heights are exact at nodes; along the ray an error of height counts by the angle between ray and surface.
    grazing = np.abs(rays @ unit([-slope[0], -slope[1], 1.0])[0])
    assert (np.isfinite(found) == np.isfinite(expected))[clear].all()
    both = clear & np.isfinite(expected)
    assert (np.abs(found[both] - expected[both]) * grazing[both]).max() < close


def test_straight_down_and_up():
    model, data = empty()
    scene = Scene(model, ground_of(np.full((11, 11), 0.25), fine=0.1))
    found = scene.cast(data, np.array([0.0, 0.0, 2.0]), unit([[0, 0, -1], [0, 0, 1], [1, 0, 0]]), 50.0)
    assert found[0] == pytest.approx(1.75, abs=ROUND_OFF)
    assert np.isinf(found[1:]).all()


def test_below_the_surface_is_distance_zero():
    model, data = empty()
    scene = Scene(model, ground_of(np.full((11, 11), 0.25)))
    assert scene.cast(data, np.array([0.0, 0.0, 0.2]), unit([1, 0, 0.3]), 50.0)[0] == 0


def test_beyond_reach_and_beyond_the_border_nothing_returns():
    model, data = empty()
    scene = Scene(model, ground_of(np.zeros((11, 11))))
    down = unit([0, 0, -1])
    assert np.isinf(scene.cast(data, np.array([0.0, 0.0, 2.0]), down, 1.99)[0])
    assert np.isinf(scene.cast(data, np.array([5.5, 0.0, 2.0]), down, 50.0)[0])
    outside = scene.cast(data, np.array([6.0, 0.0, 2.0]), unit([-2, 0, -1]), 50.0)
    assert outside[0] == pytest.approx(2 * np.sqrt(5), abs=ROUND_OFF)


def test_step_is_a_ramp_of_one_cell():
    """A step of 0.5 m between columns x = 1 and x = 1.1 m: level ground, a face, and the top behind it."""
    x = np.arange(-5, 5.05, 0.1)
    heights = np.tile(np.where(x > 1.05, 0.5, 0.0), (len(x), 1))
    model, data = empty()
    scene = Scene(model, ground_of(heights, spacing=0.1))
    origin = np.array([0.0, 0.0, 0.3])
    level, down, over = scene.cast(data, origin, unit([[1, 0, 0], [1, 0, -0.5], [1, 0, 0.25]]), 50.0)
    assert level == pytest.approx(1.06, abs=1e-9)  # height 0.3 of 0.5 m on the face of 0.1 m
    assert down == pytest.approx(0.6 * np.hypot(1, 0.5), abs=1e-9)
    assert np.isinf(over)


def test_bilinear_cells_by_bisection():
    """Rough ground, an independent oracle: the first change of sign of z - h(x, y) along finely sampled rays."""
    generator = np.random.default_rng(3)
    ground = ground_of(0.4 * generator.random((11, 11)))
    model, data = empty()
    origin, rays = np.array([0.1, 0.2, 1.0]), random_rays(300, 4)
    found = Scene(model, ground).cast(data, origin, rays, 20.0)
    t = np.linspace(0, 20, 200_001)
    for ray, distance in zip(rays, found, strict=True):
        place = origin + t[:, None] * ray
        below = place[:, 2] <= ground.elevation.height(place[:, 0], place[:, 1])
        below &= np.asarray(ground.elevation.contains(place[:, 0], place[:, 1]))
        expected = t[below.argmax()] if below.any() else np.inf
        assert np.isinf(distance) == np.isinf(expected)
        if np.isfinite(expected):
            assert expected - 1.01e-4 <= distance <= expected + 1e-9


def test_hidden_tiles_are_not_skipped():
    """Single high nodes in many untouched tiles: skipping a tile that is not all below the ray would miss them."""
    heights = np.zeros((201, 201))
    heights[100, 150] = 1.0
    model, data = empty()
    scene = Scene(model, ground_of(heights, spacing=0.05))
    found = scene.cast(data, np.array([-4.0, 0.0, 0.999]), unit([[1, 0, 0], [1, 0.02, 0]]), 50.0)
    assert found[0] == pytest.approx(6.5 - 0.05 * 0.001, abs=1e-9)
    assert np.isinf(found[1])


def test_sphere_geom():
    spec = mujoco.MjSpec()
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[0.5, 0, 0], pos=[3, 0, 1])
    model = spec.compile()
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    scene = Scene(model, ground_of(np.zeros((11, 11))))
    angles = np.radians(np.linspace(-20, 20, 81))
    rays = np.stack([np.cos(angles), np.sin(angles), 0 * angles], axis=1)
    found = scene.cast(data, np.array([0.0, 0.0, 1.0]), rays, 50.0)
    across = 3 * np.sin(angles)
    expected = np.where(np.abs(across) < 0.5, 3 * np.cos(angles) - np.sqrt(np.maximum(0.25 - across**2, 0)), np.inf)
    np.testing.assert_allclose(found, expected, atol=1e-9)
    behind = scene.cast(data, np.array([0.0, 0.0, 1.0]), unit([3, 0, -1.2]), 50.0)  # under the sphere, onto the ground
    assert behind[0] == pytest.approx(np.hypot(2.5, 1.0), abs=1e-9)


def test_fixed_shapes():
    wall = np.array([[2.0, -1, -1], [2, 1, -1], [2, 0, 2]]), np.array([[0, 1, 2]])
    model, data = empty()
    found = Scene(model, None, [wall]).cast(data, np.zeros(3), unit([[1, 0, 0], [1, 2, 0]]), 50.0)
    assert found[0] == pytest.approx(2.0, abs=SINGLE)
    assert np.isinf(found[1])
