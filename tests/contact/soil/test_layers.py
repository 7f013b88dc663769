"""Soil of finite depth: hard ground or a second soil below it is felt, carries the body, and loses no soil."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from grouser.contact.soil import SoilModule, SoilOptions, bottom, prepare, wheel
from grouser.contact.soil.model import THREADS
from grouser.device import at
from grouser.errors import InputError
from grouser.precision import precision
from grouser.simulation.shapes import box
from grouser.terrain import ElevationGrid, Soil, flat, from_png, slope, soil
from grouser.terrain.ground import Ground
from tests.device_call import call
from tests.rig import ManufacturedMotion

FORCE = 5e-3  # the bar of a plate against its law, as without a bottom
FOOT = 0.05  # the bar of a small foot, as without a bottom
VOLUME = 1e-9  # round-off of a float64 run
ROUND_OFF = 1e-12  # [m] of heights
PLATE = (0.2, 0.1)  # [m] sides
STEPS = 100
SLICES = 4000  # of the oracle's integral; the midpoint rule is then right to 1e-6
SWEEPS = 1000  # of erosion in a step, at which it is broken off
SAND = soil("dry-sand")
COMPACTING = SAND.replace(compression=1.0)  # sinks without a velocity too


def rig_of(ground: Ground, mesh=None, *, step: float = 5e-3, **options: Any) -> ManufacturedMotion:
    """A plate (or another body) on a ground."""
    surface = mesh or prepare(*box(np.array([PLATE[0] / 2, PLATE[1] / 2, 0.02])), width=min(PLATE))
    module = SoilModule(ground, {"plate": surface}, SoilOptions(**options))
    return ManufacturedMotion(module, dtype=ground.precision.name, step=step)


def ground_of(material: Soil = SAND, spacing: float = 0.01, dtype: str = "float64", terrain=None, **more) -> Ground:
    terrain = terrain or flat(size=(1.0, 1.0), spacing=0.25, origin=(-0.5, -0.5))
    return Ground(terrain, material, spacing, dtype=dtype, **more)


def press(rig: ManufacturedMotion, depth: float, place=(0.003, 0.001), surface: float = 0.0) -> np.ndarray:
    """Press straight down from the surface at a steady speed. Depth [m] and force [N] at the end of each step."""
    lowest = -float(next(iter(rig.module.surfaces.values())).vertices[:, 2].min())
    speed, out = depth / (STEPS * rig.step), []
    rig.follow(
        lambda t: (np.array([*place, surface + lowest - speed * t]), rig.rotation[0, 0]), STEPS,
        lambda: out.append((len(out) + 2, float(rig.wrench[0, 0, 2]))),
    )  # fmt: skip
    ends = np.array(out)
    return np.column_stack([ends[:, 0] * depth / STEPS, ends[:, 1]])  # the force is that at the end of the next step


def squeezed(material: Soil, thickness: float, depth: float, b: float) -> float:
    """Pressure [Pa] of a layer on hard ground, by summing up the strains of what is left of it, slice by slice."""
    z = (np.arange(SLICES) + 0.5) * depth / SLICES
    strain = np.sum(depth / SLICES / (thickness - z))
    return material.pressure_modulus(b) * (thickness * strain) ** material.n


def layer(material: Soil, thickness: float, depth: float, b: float) -> float:
    """The same, and below the depth at which the layer is as stiff as the elastic ground, that of a spring K_e."""
    n, k_e = material.n, material.elastic_stiffness

    def stiffness(z: float) -> float:
        return n * squeezed(material, thickness, z, b) / (thickness * -math.log1p(-z / thickness)) / (1 - z / thickness)

    low, high = 1e-6 * thickness, thickness * (1 - 1e-9)
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if stiffness(middle) < k_e else (low, middle)
    if depth <= low:
        return squeezed(material, thickness, depth, b)
    return squeezed(material, thickness, low, b) + k_e * (depth - low)


AREA = PLATE[0] * PLATE[1]


@pytest.mark.parametrize("name", ["dry-sand", "clay", "lunar-nominal"])
@pytest.mark.parametrize("thickness", [0.02, 0.05])
def test_a_plate_meets_the_squeezed_layer(name, thickness):
    material = soil(name)
    for depth, force in press(rig_of(ground_of(material, depth=thickness)), 0.9 * thickness)[19::20]:
        assert force == pytest.approx(AREA * squeezed(material, thickness, depth, 0.1), rel=FORCE)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("threads", THREADS)
def test_the_bottom_carries_the_plate(threads, dtype):
    """Pressed below the bottom, the plate stands on a spring of K_e, and the soil's surface stays above the bottom."""
    thickness, material = 0.03, SAND.replace(damping_time=0.0)
    rig = rig_of(ground_of(material, dtype=dtype, depth=thickness), threads=threads)
    forces = press(rig, thickness + 1e-3)
    for depth, force in forces[[60, 90, 94, 98]]:
        assert force == pytest.approx(AREA * layer(material, thickness, depth, 0.1), rel=FORCE)
    assert (np.diff(forces[:, 1]) > 0).all()
    assert rig.module.ground.heights().min() > -thickness


def test_far_above_the_bottom_soil_is_deep():
    """The pressure is that of unlimited soil times (1 + z / (2 H))^n, to first order in z / H."""
    depth, thickness = 0.01, 1.0
    (_, deep), (_, limited) = (press(rig_of(ground_of(depth=d)), depth)[50] for d in (None, thickness))
    share = 51.0 / STEPS * depth / thickness
    assert limited / deep - 1 == pytest.approx(SAND.n * share / 2, rel=0.05)


@pytest.mark.parametrize("wrong", [0.1, None])
def test_another_depth_misses_the_layer(wrong):
    depth, force = press(rig_of(ground_of(depth=wrong)), 0.045)[-1]
    assert force < (1 - 20 * FORCE) * AREA * squeezed(SAND, 0.05, depth, 0.1)


def test_soil_that_was_pressed_reloads_with_its_own_stiffness():
    """Up by half of the elastic rebound and down again: half of the force at first, then on along the same curve."""
    thickness, rig = 0.03, rig_of(ground_of(COMPACTING, depth=0.03))
    pressed = squeezed(SAND, thickness, 0.02, 0.1)
    lifts = np.concatenate([np.zeros(5), np.linspace(0, 1, 40), np.linspace(1, 0, 40)]) * 0.5 * pressed / 5e7
    for z in np.linspace(0, 0.02, 100):
        rig.place(position=(0.003, 0.001, 0.02 - z), rotation=rig.rotation).advance()
    found = []
    for lift in lifts:
        rig.place(position=(0.003, 0.001, lift)).advance()
        found.append(rig.wrench[0, 0, 2])
    assert found[44] == pytest.approx(0.5 * AREA * pressed, rel=FORCE)
    assert found[-1] == pytest.approx(AREA * pressed, rel=FORCE)
    rig.place(position=(0.003, 0.001, -0.005)).advance()
    assert rig.wrench[0, 0, 2] == pytest.approx(AREA * squeezed(SAND, thickness, 0.025, 0.1), rel=FORCE)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", ["dry-sand", "clay", "lunar-nominal"])
def test_the_yield_pressure_rises_smoothly_and_no_faster_than_the_hard_ground(name, dtype):
    """From unlimited soil to a spring of K_e below the bottom. A lug that reaches below it meets a finite pressure."""
    material, thickness, p = soil(name), 0.03, precision(dtype)
    rig = rig_of(ground_of(material, dtype=dtype, depth=thickness))
    options, k = rig.module.arrays.by_name["o"], material.pressure_modulus(0.1)
    under = at(bottom.Bottom, dtype)()
    under.kind, under.height = bottom.HARD, -thickness
    depths = np.linspace(1e-3, 1.2 * thickness, 60)
    law = at(bottom.yield_at, dtype)
    found = np.array([
        call(law, options, 0, p.real(k), p.real(-z), p.vec4(0, 0, 0, 0), under, returns=p.real) for z in depths
    ])  # fmt: skip
    assert found == pytest.approx([layer(material, thickness, z, 0.1) for z in depths], rel=1e-4)
    slopes = np.diff(found) / np.diff(depths)
    assert (slopes > 0).all()
    assert slopes.max() < material.elastic_stiffness * (1 + 1e-3)
    assert slopes[-1] == pytest.approx(material.elastic_stiffness, rel=1e-3)


# ---- a second soil ----------------------------------------------------------------------------------------


def two_soils(upper: Soil, lower: Soil, thickness: float, depth: float) -> float:
    """Pressure [Pa]: Bekker above the interface; below it the second soil's own curve, without a jump."""
    k, k_2 = (material.pressure_modulus(0.1) for material in (upper, lower))
    if depth <= thickness:
        return k * depth**upper.n
    start = (k * thickness**upper.n / k_2) ** (1 / lower.n)
    return k_2 * (depth - thickness + start) ** lower.n


@pytest.mark.parametrize(
    ("upper", "lower"), [("dry-sand", "clay"), ("clay", "dry-sand"), ("dry-sand", "dry-sand")], ids=str
)
def test_a_second_soil_takes_over_at_its_depth(upper, lower):
    thickness, materials = 0.02, (soil(upper), soil(lower))
    rig = rig_of(ground_of(materials[0], depth=thickness, below=materials[1]))
    for depth, force in press(rig, 0.05)[9::10]:
        assert force == pytest.approx(AREA * two_soils(*materials, thickness, depth), rel=FORCE)


def test_soil_over_the_same_soil_is_deep():
    deep, same = (press(rig_of(ground_of(**more)), 0.05) for more in ({}, {"depth": 0.02, "below": SAND}))
    assert same[:, 1] == pytest.approx(deep[:, 1], rel=1e-4)  # the table of powers is right to 1e-5


# ---- maps -------------------------------------------------------------------------------------------------


def test_a_map_of_depths_is_felt_where_it_is(tmp_path: Path):
    """An array on the nodes of the terrain, a finer map and a picture: 20 mm on the left, 50 mm on the right."""
    terrain = flat(size=(2.0, 1.0), spacing=0.05, origin=(-1.0, -0.5))
    values = np.where(terrain.x < 0, 0.02, 0.05) * np.ones((len(terrain.y), 1))
    fine = ElevationGrid(np.where(np.arange(401) < 200, 0.02, 0.05) * np.ones((201, 1)), 0.005, (-1.0, -0.5))
    Image.fromarray(np.round(values * 1e3).astype(np.uint8)).save(tmp_path / "depth.png")
    picture = from_png(tmp_path / "depth.png", 0.05, 1e-3, origin=(-1.0, -0.5))
    for depth in (values, fine, picture):
        for x, thickness in ((-0.5, 0.02), (0.5, 0.05)):
            z, force = press(rig_of(ground_of(terrain=terrain, depth=depth)), 0.015, place=(x, 0.001))[-1]
            assert force == pytest.approx(AREA * squeezed(SAND, thickness, z, 0.1), rel=FORCE)


def test_the_bottom_follows_the_terrain():
    """Depth is measured from the initial surface: on a hill of 0.5 m, and on a slope of 5 degrees along a plate."""
    hill = ElevationGrid(np.full((5, 5), 0.5), 0.25, (-0.5, -0.5))
    z, force = press(rig_of(ground_of(terrain=hill, depth=0.03)), 0.02, surface=0.5)[-1]
    assert force == pytest.approx(AREA * squeezed(SAND, 0.03, z, 0.1), rel=FORCE)
    inclined = slope(5.0, 0.0, size=(1.0, 1.0), spacing=0.25, origin=(-0.5, -0.5))
    ground = ground_of(COMPACTING, terrain=inclined, depth=0.03)
    rig, angle, h = rig_of(ground), math.radians(5.0), 0.02
    level = inclined.height(0.0, 0.0)
    turn = np.array([0, -math.sin(angle / 2), 0, math.cos(angle / 2)])
    for k in range(STEPS):
        below = h / math.cos(angle) * (k + 1) / STEPS - 0.02 / math.cos(angle)
        rig.place(position=(0, 0.001, level - below), rotation=turn).advance()
    area = AREA * math.cos(angle)
    normal = float(rig.wrench[0, 0, 2]) / area
    assert normal == pytest.approx(squeezed(SAND, 0.03, h / math.cos(angle), 0.1), rel=2 * FORCE)


def test_bare_hard_ground_carries_without_sinkage():
    ground = ground_of(depth=np.zeros((5, 5)))
    rig = rig_of(ground)
    depth, force = press(rig, 1e-3)[-1]
    assert force == pytest.approx(AREA * SAND.elastic_stiffness * depth, rel=FORCE)
    assert np.abs(ground.heights()).max() == 0


# ---- no soil from below -----------------------------------------------------------------------------------


@pytest.mark.parametrize("threads", THREADS)
def test_a_spinning_wheel_digs_down_to_the_hard_ground_and_no_further(threads):
    """It spins on the spot in 15 mm of sand until its rim is at the bottom: volume is exact and no soil is below."""
    thickness, ground = 0.015, ground_of(depth=0.015)
    rig = rig_of(ground, wheel(0.15, 0.1), threads=threads)
    for k in range(600):
        z = 0.15 - min(k * 1e-4, thickness + 2e-4)
        rig.place(position=(0, 0.003, z), rotation=rig.rotation, spin=(0, 3.0, 0)).advance()
    assert ground.heights().min() >= -thickness - ROUND_OFF
    assert rig.module.volume_error()[0] < VOLUME
    assert np.count_nonzero(ground.heights() < -0.95 * thickness) > 10, "it has reached the hard ground"


def test_a_foot_of_points_meets_the_layer_and_takes_no_soil_from_below():
    thickness, foot = 0.012, prepare(*box(np.array([0.012, 0.008, 0.02])))
    ground = ground_of(COMPACTING, depth=thickness)
    rig = rig_of(ground, foot, step=1e-3)
    z, force = press(rig, 0.01)[-1]
    b = 1 / ((0.024 + 0.016) / (0.024 * 0.016))
    assert force == pytest.approx(0.024 * 0.016 * squeezed(SAND, thickness, z, b), rel=FOOT)
    for k in range(600):  # it slides to and fro on the bottom
        way = 0.06 * abs((k / 150) % 2 - 1)
        rig.place(position=(way, 0.001, 0.02 - thickness), velocity=(0.4, 0, 0)).advance()
    assert ground.heights().min() >= -thickness - ROUND_OFF
    assert rig.module.volume_error()[0] < VOLUME


def test_steep_hard_ground_keeps_its_shape_when_its_soil_slides_off():
    """A rock of 45 degrees under 10 mm of sand: a wheel sets the sand free, which slides, but the rock stays."""
    x = 0.05 * np.arange(21) - 0.5
    heights = np.clip(np.abs(x) - 0.05, 0, 0.2) * np.ones((21, 1))
    terrain = ElevationGrid(heights, 0.05, (-0.5, -0.5))
    ground = ground_of(terrain=terrain, depth=0.01)
    rig = rig_of(ground, wheel(0.1, 0.08))
    sweeps = []
    for k in range(60):
        rig.place(position=(0, 0.003, 0.095 - 2e-4 * k), rotation=rig.rotation, spin=(0, 1.0, 0)).advance()
        sweeps.append(int(rig.module.state()["sweeps"].numpy()[0]))
    px, py = np.meshgrid(-0.5 + 0.01 * np.arange(ground.columns), -0.5 + 0.01 * np.arange(ground.rows))
    left = ground.heights() - (terrain.height(px, py) - 0.01)
    assert left.min() >= -ROUND_OFF
    assert left.min() < 2e-3, "sand has slid down"
    assert np.diff(sweeps).max() < SWEEPS, "sliding ends, though the rock is steep"
    assert rig.module.volume_error()[0] < VOLUME


def test_a_blade_cuts_no_soil_from_below_the_hard_ground():
    """A plate of 0.3 m is dragged with its toe 5 mm below 20 mm of sand: it clears the hard ground and piles up."""
    ground, mesh = ground_of(depth=0.02), prepare(*box(np.array([0.02, 0.15, 0.1])))
    rig = rig_of(ground, mesh)
    for k in range(200):
        rig.place(position=(-0.2 + 1e-3 * k, 0.003, 0.1 - 0.025), rotation=rig.rotation, velocity=(0.2, 0, 0)).advance()
    heights = ground.heights()
    assert heights.min() >= -0.02 - ROUND_OFF
    assert heights.min() < -0.019, "it reaches the hard ground"
    assert heights.max() > 0.02, "a pile stands ahead of it"
    assert rig.module.volume_error()[0] < VOLUME


# ---- what is refused --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("depth", "words"),
    [
        (0.0, "depth = 0"),
        (-0.1, "depth = -0.1"),
        (math.nan, "depth = nan"),
        ("deep", "depth = 'deep'"),
        (np.ones((2, 3)), r"depth: an array of shape \(2, 3\) is not allowed; allowed are a number, 5 x 5 numbers"),
        (np.full((5, 5), -1.0), "depth: -1 m in row 0, column 0 is not allowed; allowed is 0 to 1000 m"),
        (ElevationGrid(np.ones((3, 3)), 0.1, (0, 0)), "depth: the map covers x 0 to 0.2 m"),
    ],
    ids=str,
)
def test_a_wrong_depth_is_refused_in_one_line(depth, words):
    with pytest.raises(InputError, match=words) as error:
        ground_of(depth=depth)
    assert "\n" not in str(error.value)


def test_a_second_soil_needs_a_depth():
    with pytest.raises(InputError, match="below: 'clay' is not allowed without a depth"):
        ground_of(below=soil("clay"))
