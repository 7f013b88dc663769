"""Where a body is in the soil: its lower skin on the nodes, and what it feels there at once."""

from __future__ import annotations

import math

import numpy as np
import pytest

from grouser.contact.soil import SoilModule, SoilOptions, Surface, prepare, wheel
from grouser.contact.soil import types as t
from grouser.simulation.shapes import box
from grouser.terrain import ElevationGrid, flat, soil
from grouser.terrain.ground import Ground
from tests.rig import ManufacturedMotion, quaternion

ROUND_OFF = 1e-9  # [m] of a plane through the corners of a triangle
BOWED = 0.4  # of the sag, up to 30 degrees from the bottom: the bow is set off along the normal, not straight down
SAND = soil("dry-sand").replace(compression=1.0)


def over(surface: Surface, spacing: float = 0.005, **options) -> ManufacturedMotion:
    ground = Ground(flat(size=(1, 1), spacing=0.25, origin=(-0.5, -0.5)), SAND, spacing)
    return ManufacturedMotion(SoilModule(ground, {"body": surface}, SoilOptions(**options)), step=5e-3)


def lower_skin(rig: ManufacturedMotion) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """x, y [m] of the nodes below the body and the height [m] of its skin there."""
    state, ground = rig.module.state(), rig.module.ground
    row, column, rows, columns = state["frame"].numpy()[0]
    side = math.isqrt(len(state["height"].numpy()))
    height = state["height"].numpy().reshape(side, side)[:rows, :columns]
    i, j = np.nonzero(height < 0.1 * t.FAR)
    x0, y0 = ground.elevation.origin
    return x0 + ground.spacing * (column + j), y0 + ground.spacing * (row + i), height[i, j]


@pytest.mark.parametrize("facets", [48, 144])
@pytest.mark.parametrize("turned", [0.0, 0.03, 0.1])
def test_a_wheel_of_facets_presses_like_a_round_one(facets, turned):
    """Up to its sag outside the polygon, or the corners of a slipping wheel would dig and its flats carry nothing."""
    radius, axle = 0.15, np.array([0.0013, 0.0007, 0.09])
    rig = over(wheel(radius, 0.1, facets=facets))
    rig.place(position=axle, rotation=quaternion(np.array([0, turned, 0]))).advance()
    x, y, under = lower_skin(rig)
    near = np.abs(x - axle[0]) < radius * math.sin(math.radians(30))
    circle = axle[2] - np.sqrt(radius**2 - (x - axle[0])[near] ** 2)
    sag = radius * (1 - math.cos(math.pi / facets))
    assert np.abs(under[near] - circle).max() < BOWED * sag
    assert (np.abs(y - axle[1]) < 0.05 + 1e-9).all()
    width = len(np.unique(y)) * 0.005
    assert width == pytest.approx(0.1, abs=0.006)


def test_a_tilted_box_has_a_plane_below_it():
    half, tilt, centre = np.array([0.1, 0.06, 0.03]), np.array([0.1, -0.15, 0.3]), np.array([0.002, -0.001, 0.02])
    rig = over(prepare(*box(half)))
    rotation = quaternion(tilt)
    rig.place(position=centre, rotation=rotation).advance()
    x, y, under = lower_skin(rig)
    xx, yy, zz, ww = rotation
    normal = np.array([2 * (xx * zz + yy * ww), 2 * (yy * zz - xx * ww), 1 - 2 * (xx**2 + yy**2)])  # its z axis
    corner = centre - half[2] * normal
    bottom = corner[2] - ((x - corner[0]) * normal[0] + (y - corner[1]) * normal[1]) / normal[2]
    inside = np.abs(under - bottom) < ROUND_OFF
    assert inside.mean() > 0.75, "the rest are nodes below its sides"
    assert (under >= bottom - ROUND_OFF).all()


def test_a_body_in_the_air_feels_and_changes_nothing():
    rig = over(wheel(0.15, 0.1))
    rig.place(position=(0, 0, 0.151), rotation=rig.rotation, velocity=(0.1, 0, 0)).advance()
    assert not rig.wrench.any()
    assert not rig.implicit.any()
    assert not rig.module.ground.heights().any()


def test_damping_never_pulls():
    """A plate torn out of the soil is let go, not held back."""
    rig = over(prepare(*box(np.array([0.1, 0.05, 0.02])), width=0.1), spacing=0.01)
    rig.place(position=(0, 0, 0.0), rotation=rig.rotation).advance()
    pressed = rig.wrench[0, 0, 2]
    assert pressed > 100
    for speed in (1e-3, 0.01, 0.1, 1.0, 10.0):
        pull = rig.place(velocity=(0, 0, speed)).evaluate().wrench[0, 0, 2]
        assert 0 <= pull < pressed
    assert pull == 0


def test_force_acts_where_the_soil_is():
    """A plate half over a step down: the wrench about its centre is that of the half that is carried."""
    heights = np.zeros((2, 201))
    heights[:, 100:] = -0.1
    ground = Ground(ElevationGrid(np.repeat(heights, 101, axis=0)[:201], 0.005, (-0.5, -0.5)), SAND)
    plate = prepare(*box(np.array([0.1, 0.05, 0.02])), width=0.1)
    rig = ManufacturedMotion(SoilModule(ground, {"plate": plate}, SoilOptions(erosion=False)), step=5e-3)
    rig.place(position=(0, 0, 0.01), rotation=rig.rotation).advance()
    force, torque = rig.wrench[0, 0, :3], rig.wrench[0, 0, 3:]
    carried = force[2] / (0.02 * SAND.pressure_modulus(0.1) * 0.01**SAND.n)
    last = 0.5 - 0.005 / 0.2  # of its length: the last high node, a cell before the middle
    assert carried == pytest.approx(last, abs=0.0025 / 0.2), "half a cell: the soil falls away beyond that node"
    quarter = 0.005 / 4 + 0.0025 / 2  # half a cell less soil at one end moves the middle by half of that
    assert torque[1] / force[2] == pytest.approx(0.05, abs=1.01 * quarter), "0.05 m behind the centre: it tips forward"
    assert abs(torque[0]) < 1e-6 * force[2]


def test_evaluating_changes_no_state():
    """A predictor may ask as often as it likes; only commit moves the soil."""
    rig = over(wheel(0.15, 0.1))
    rig.place(position=(0, 0, 0.14), rotation=rig.rotation, velocity=(0.05, 0, -0.01), spin=(0, 1, 0)).advance()
    kept = {name: array.numpy().copy() for name, array in rig.module.ground.state().items()}
    shear = rig.module.state()["shear"].numpy().copy()
    first = rig.wrench
    rig.place(velocity=(0.2, 0.1, -0.3)).evaluate()
    assert not np.array_equal(rig.wrench, first)
    rig.place(velocity=(0.05, 0, -0.01)).evaluate()
    assert np.array_equal(rig.wrench, first)
    for name, array in rig.module.ground.state().items():
        assert np.array_equal(array.numpy(), kept[name])
    assert np.array_equal(rig.module.state()["shear"].numpy(), shear)
