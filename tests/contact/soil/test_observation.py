"""Slip and sinkage of a body on level and inclined ground, in closed form."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp

from grouser.contact.soil import SoilModule, SoilOptions, laws
from grouser.contact.soil.model import THREADS
from grouser.terrain.generators import slope
from grouser.terrain.ground import Ground
from tests.rig import ManufacturedMotion, SteadyMotion
from tests.simulation.beds import SAND, tread

UP = np.array([0.0, 0.0, 1.0])
FACETS = 720
CORNERS = 1e-5  # [m, 1] 0.1 m (1 - cos 0.25 deg): the rim has corners


def slip(velocity, spin, depth=0.1, normal=UP) -> float:
    v, w, n = (wp.vec3d(*map(float, a)) for a in (velocity, spin, normal))
    return float(laws.slip(v, w, wp.float64(depth), n))


@pytest.mark.parametrize(
    ("v", "u", "expected"),
    [(0.1, 0.1, 0.0), (0.05, 0.1, 0.5), (0.0, 0.1, 1.0), (0.1, 0.05, -0.5), (0.1, 0.0, -1.0), (-0.1, -0.2, 0.5),
     (-0.05, 0.1, 1.5), (0.0, 0.0, 0.0), (5e-4, 0.0, 0.0)],
)  # fmt: skip
def test_driving_braking_locked_backwards_and_at_rest(v, u, expected):
    assert slip((v, 0, 0), (0, u / 0.1, 0)) == pytest.approx(expected)


def test_slip_does_not_depend_on_the_directions_of_slope_and_heading():
    """Turned with the ground, the same motion has the same slip; sideways slide and yaw do not count."""
    rng = np.random.default_rng(5)
    for _ in range(20):
        q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
        q *= np.sign(np.linalg.det(q))
        v, w = np.array([0.06, 0.02, 0.01]), np.array([0.0, 0.8, 0.3])
        assert slip(q @ v, q @ w, normal=q @ UP) == pytest.approx(1 - 0.06 / 0.08)


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize(("angle", "direction"), [(0.0, 0.0), (12.0, 0.0), (-20.0, 0.0), (15.0, 180.0)])
def test_a_wheel_on_a_slope_is_as_deep_and_slips_as_much_everywhere(angle, direction, threads):
    """Down to the point of the rim that is deepest below the slope: r / cos(slope) less the height of the hub."""

    radius, hub, speed, slip_ratio = 0.1, 0.097, 0.05, 0.25
    terrain = slope(angle, direction, size=(2, 2))
    module = SoilModule(
        Ground(terrain, SAND, 0.01), {"tread": tread(radius, facets=FACETS)}, SoilOptions(threads=threads)
    )
    rig = ManufacturedMotion(module, step=5e-3)
    lean = np.arctan(terrain.gradient(0.0, 0.0)[0])
    motion = SteadyMotion(
        (-0.2, 0.0, float(terrain.height(-0.2, 0.0)) + hub / np.cos(lean)),
        velocity=(speed * np.cos(lean), 0.0, speed * np.sin(lean)),
        spin=(0.0, speed / (1 - slip_ratio) / radius, 0.0),
    )
    depths, slips = [], []

    def look():
        seen = module.observe()
        depths.append(float(seen["sinkage"][0, 0]))
        slips.append(float(seen["slip"][0, 0]))

    rig.follow(motion, 20, look)
    np.testing.assert_allclose(depths, (radius - hub) / np.cos(lean), atol=CORNERS)
    np.testing.assert_allclose(slips[1:], slip_ratio, atol=5 * CORNERS)  # an error of the radius, and of its place
