"""No soil is made or lost, and none stands steeper than it can."""

from __future__ import annotations

import math

import numpy as np
import pytest

from grouser.contact.soil import SoilModule, wheel
from grouser.contact.soil.types import FAR
from grouser.scenarios.single_wheel import SingleWheel
from grouser.simulation import Simulation
from grouser.terrain import flat, soil
from grouser.terrain.ground import Ground
from tests.rig import ManufacturedMotion
from tests.scenarios.soil_bin import built

VOLUME = {"float64": 1e-9, "float32": 1.3e-5}  # the bar; float32: five times what 60 s were measured to lose
STEEPEST = 1.01  # the bar: of tan(phi), between nodes that are not in contact
TOUCH = 1e-4  # [m] spoil of soil that still gives way may reach the body by this
HOLD = 0.05  # cells: soil this close below the body, and what it falls on in a step, counts as in contact
BESIDE = 0.5  # cells: a node this close beside an edge stands, as part of its cell is below the wheel
SAG = 1 - math.cos(math.pi / 144)  # of the radius: the flats of the wheel's polygon lie inside its rim

RUNS = [
    {}, {"slip": 0.6}, {"compression": 0.0}, {"compression": 1.0}, {"soil": "sandy-loam"}, {"spacing": 0.005},
    {"slip_angle_deg": 15.0}, {"wheel__grouser_height": 0.01, "wheel__grouser_count": 24}, {"loose_cover": False},
]  # fmt: skip


def missing_volume(seconds: float, **changes) -> tuple[float, float]:
    """Relative volume error as the module reports it, and as the ground shows it: lost = chi x displaced."""
    settings, simulation = built(**changes)
    before = simulation.ground.heights().sum()
    simulation.step(round(seconds / simulation.step_size))
    lost = (before - simulation.ground.heights().sum()) * settings.spacing**2
    channels = {channel.name: channel for channel in simulation.channels()}
    displaced = float(channels["soil/displaced_volume"].read().sum())
    assert displaced > 1e-4, "a tenth of a litre at least"
    # Soil cut by the side of a wheel that slips sideways is moved, not compressed; all other soil by its share chi.
    tally = simulation.modules[0].arrays.displacement.tally.numpy()
    compressed = float(tally["compressed"].sum()) * settings.spacing**2
    if settings.slip_angle_deg == 0:
        assert compressed == pytest.approx(settings.chosen_soil().compression * displaced, rel=1e-4)
    return float(channels["soil/volume_error"].read()[0]), abs(lost - compressed) / displaced


@pytest.mark.parametrize("dtype", VOLUME)
@pytest.mark.parametrize("changes", [{}, {"slip": 0.6, "slip_angle_deg": 15.0}], ids=str)
def test_volume_balances(changes, dtype):
    assert max(missing_volume(10.0, dtype=dtype, **changes)) < VOLUME[dtype]


@pytest.mark.long
@pytest.mark.parametrize("dtype", VOLUME)
@pytest.mark.parametrize("changes", RUNS, ids=str)
def test_volume_balances_over_a_minute(changes, dtype):
    assert max(missing_volume(60.0, dtype=dtype, speed=0.025, **changes)) < VOLUME[dtype]


# ---- slopes ------------------------------------------------------------------------------------------


def steepest(settings: SingleWheel, simulation: Simulation, behind: float | None = None) -> float:
    """Steepest slope over tan(phi) between neighbours out of contact; farther than `behind` the axle, where given."""
    ground = simulation.ground
    heights, spacing, (x0, y0) = ground.heights(), ground.spacing, ground.elevation.origin
    x, y = np.meshgrid(x0 + spacing * np.arange(ground.columns), y0 + spacing * np.arange(ground.rows))
    axle, angle = simulation.data.body("wheel").xpos, math.radians(settings.slip_angle_deg)
    along = (x - axle[0]) * math.cos(angle) + (y - axle[1]) * math.sin(angle)
    across = (y - axle[1]) * math.cos(angle) - (x - axle[0]) * math.sin(angle)
    radius, half = settings.wheel.radius, settings.wheel.width / 2
    below = (np.abs(along) <= radius) & (np.abs(across) <= half + 1e-9)
    rim = axle[2] - np.sqrt(np.maximum(radius**2 - along**2, 0))
    fall = max(-simulation.data.body("wheel").cvel[5], 0.0) * simulation.step_size
    held = below & (heights > rim - HOLD * spacing - SAG * radius - fall)
    outside = np.abs(across) - half
    held |= (np.abs(along) <= radius) & (outside > 0) & (outside <= BESIDE * spacing)
    if behind is not None:
        held |= along > -behind
    limit = spacing * ground.soils[0].slope_limit
    slopes = []
    for axis in (0, 1):
        free = ~(held.take(range(1, held.shape[axis]), axis) | held.take(range(held.shape[axis] - 1), axis))
        slopes.append(np.abs(np.diff(heights, axis=axis))[free].max() / limit)
    return float(max(slopes))


def rolling_slopes(distance: float, looks: int, **changes) -> list[float]:
    """Steepest slope at every look while a wheel rolls, everywhere on the ground."""
    settings, simulation = built(**changes)
    every = max(1, round(distance / settings.speed / simulation.step_size / looks))
    slopes = []
    for _ in range(looks):
        simulation.step(every)
        slopes.append(steepest(settings, simulation))
    return slopes


STANDS = [
    {}, {"slip": 0.6}, {"compression": 1.0}, {"compression": 0.0}, {"compression": 0.0, "slip": 0.6},
    {"slip_angle_deg": 20.0}, {"load": 400.0}, {"speed": 0.2}, {"speed": 0.5},
    {"soil": "lunar-nominal", "slip": 0.6}, {"soil": "clay", "slip": 0.6}, {"soil": "exomars-test"},
    {"soil": "hit-lss1", "load": 80.0, "slip": 0.6}, {"soil": "exomars-test", "slip": 0.6, "speed": 0.5},
    {"soil": "lunar-nominal", "slip": 0.6, "speed": 0.5}, {"soil": "exomars-test", "speed": 0.5},
]  # fmt: skip
FINE = [
    {"spacing": 0.005}, {"spacing": 0.005, "speed": 0.2}, {"spacing": 0.005, "speed": 0.5, "slip_angle_deg": 20.0},
    {"spacing": 0.005, "soil": "exomars-test"},
]  # fmt: skip
QUICK = [{}, {"speed": 0.5}, {"soil": "exomars-test", "slip": 0.6, "speed": 0.5}]


@pytest.mark.parametrize(
    "changes", [pytest.param(c, marks=[] if c in QUICK else pytest.mark.long) for c in STANDS + FINE], ids=str
)
def test_no_slope_is_too_steep_while_a_wheel_rolls(changes):
    """Nor when it has stopped: soil comes to rest in the step in which it starts to slide."""
    slopes = rolling_slopes(0.5, 97, **changes)
    assert max(slopes) < STEEPEST
    assert max(slopes) > 0.9, "the rut has walls that have slid"


def test_without_erosion_walls_stay_as_steep_as_they_were_left():
    """What the tests above would see if nothing slid."""
    assert max(rolling_slopes(0.2, 5, erosion=False)) > 1.5


def test_soil_comes_to_rest_when_a_body_is_snatched_away():
    """Lifted out of its pit within one step, the walls of the pit slide all the same."""
    ground = Ground(flat(size=(1.2, 0.8), spacing=0.2, origin=(-0.5, -0.4)), soil("dry-sand"), 0.01)
    rig = ManufacturedMotion(SoilModule(ground, {"wheel": wheel(0.15, 0.1)}), step=2e-3)
    for n in range(30):
        rig.place(position=(0.0, 0.0013, 0.15 - 1e-3 * n), rotation=rig.rotation).advance()
    limit = 0.01 * soil("dry-sand").slope_limit
    assert np.abs(np.diff(ground.heights(), axis=0)).max() > 2 * limit, "the wheel holds its pit open"
    for _ in range(2):
        rig.place(position=(0.0, 0.0013, 1.0), rotation=rig.rotation).advance()
    assert max(np.abs(np.diff(ground.heights(), axis=axis)).max() for axis in (0, 1)) < STEEPEST * limit


def test_soil_that_slides_stops_at_the_body():
    """A wheel lifted slowly out of a deep pit: the walls slide in below it and follow it up, but not into it."""
    radius, depth, step = 0.15, 0.08, 8e-3
    ground = Ground(flat(size=(1.2, 0.8), spacing=0.2, origin=(-0.5, -0.4)), soil("exomars-test"), 0.01)
    module = SoilModule(ground, {"wheel": wheel(radius, 0.1)})
    rig, arrays = ManufacturedMotion(module, step=step), module.arrays

    def pose(time: float):
        """Down in 2 s, up in 2 s."""
        return (0.0, 0.0013, radius - depth * min(time / 2.0, 2.0 - time / 2.0)), (0.0, 0.0, 0.0, 1.0)

    def above() -> np.ndarray:
        """[m] soil over the lower skin of the wheel, by node of the grid."""
        out = np.full((ground.rows, ground.columns), -np.inf)
        row, column, rows, columns = arrays.window.frame.numpy()[0]
        under, height = (
            a.reshape(arrays.window.side, arrays.window.side)[:rows, :columns]
            for a in (arrays.skin.height.numpy(), arrays.window.levels.numpy()[:, 0])
        )
        out[row : row + rows, column : column + columns] = np.where(under < FAR / 10, height - under, -np.inf)
        return out

    rig.follow(pose, round(2.2 / step))
    before, slid, rise = above(), 0, depth / 2.0 * step
    for _ in range(round(1.0 / step)):
        rig.follow(pose, 1)
        now = above()
        gap = (before < -HOLD * 0.01) & (before > -0.02)
        assert now[gap].max() < TOUCH
        slid += np.count_nonzero(gap & (now > before - rise + 1e-3))
        before = now
    assert slid > 10, "soil does slide in"
