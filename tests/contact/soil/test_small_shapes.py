"""Feet of half a cell to a few cells: Bekker's force for their area and depth, wherever they stand on the grid."""

from __future__ import annotations

import math

import numpy as np
import pytest

from grouser import InputError
from grouser.contact.soil import SoilModule, SoilOptions, Surface, prepare, wheel
from grouser.contact.soil.model import THREADS
from grouser.contact.soil.small_shapes import shapes_apart, split
from grouser.simulation.shapes import _arc, box, cylinder, revolved
from grouser.terrain import flat, slope, soil
from grouser.terrain.ground import Ground
from tests.rig import ManufacturedMotion, check_implicit, quaternion

CELL = 0.01  # [m]
VOLUME = 0.06  # of the volume of a ball: facets 1.5 %; the grid has lost 4 % below its flanks before they come down
BEKKER = 0.05  # of the force and the volume: what a shape of half a cell or more keeps to
ROUND_OFF = 1e-9
STIFF = {"compression": 1.0, "elastic_stiffness": 1e10}  # all of the depth is plastic and goes into the ground
SAND = soil("dry-sand").replace(**STIFF)
CLAY = soil("clay").replace(**STIFF)  # k_c / b is most of it for a foot
STEPS = 100  # of a push: the force is that at the end of the next step, 1 / 100 deeper

Mesh = tuple[np.ndarray, np.ndarray]


def rig_of(mesh: Mesh | Surface, ground=SAND, spacing: float = CELL, terrain=None, **options) -> ManufacturedMotion:
    surface = mesh if isinstance(mesh, Surface) else prepare(*mesh)
    terrain = terrain or flat(size=(1, 1), spacing=0.25, origin=(-0.5, -0.5))
    return ManufacturedMotion(
        SoilModule(Ground(terrain, ground, spacing), {"foot": surface}, SoilOptions(**options)), step=1e-3
    )


def push(rig: ManufacturedMotion, depth: float, at: tuple[float, float] = (0, 0), turned: float = 0.0, level=0.0):
    """Straight down from the surface at a steady speed; the vertical force [N] at the end."""
    bottom = -float(rig.module.surfaces["foot"].vertices[:, 2].min())
    speed = depth / (STEPS * rig.step)
    rotation = quaternion(np.array([0, 0, turned]))
    rig.follow(lambda t: (np.array([*at, level + bottom - speed * t]), rotation), STEPS)
    return float(rig.wrench[0, 0, 2])


def lost_volume(rig: ManufacturedMotion) -> float:
    """Of the ground [m^3], from its heights."""
    return -float(rig.module.ground.heights().sum()) * rig.module.ground.spacing**2


def prism(kind: str, cells: float) -> tuple[Mesh, float, float]:
    """A foot of that many cells across, its area [m^2] and the 1/b [1/m] of k_c/b, perimeter / (2 area)."""
    half = cells * CELL / 2
    if kind == "box":
        return box(np.array([half, half, 0.05])), 4 * half**2, 1 / half
    return cylinder(half, 0.05), math.pi * half**2, 1 / half


@pytest.mark.parametrize("ground", [SAND, CLAY], ids=["sand", "clay"])
@pytest.mark.parametrize("cells", [0.5, 0.8, 1.5, 4.3, 8.6, 11.9, 13.1])  # the last one presses on nodes
@pytest.mark.parametrize("kind", ["box", "disc"])
def test_a_flat_foot_carries_bekkers_force_and_presses_area_times_depth(kind, cells, ground):
    mesh, area, per_b = prism(kind, cells)
    depth, places = 0.006, np.random.default_rng(round(10 * cells))
    pressure = (ground.k_c * per_b + ground.k_phi) * depth**ground.n
    for _ in range(2):
        at, turned = tuple(places.uniform(0, CELL, 2)), places.uniform(0, math.pi)
        rig = rig_of(mesh, ground)
        assert push(rig, depth, at, turned) == pytest.approx(pressure * area, rel=BEKKER)
        assert lost_volume(rig) == pytest.approx(area * depth, rel=BEKKER)
        rig.module.volume_error()
        displaced = next(c for c in rig.module.channels() if c.name == "soil/displaced_volume").source
        assert displaced is not None
        assert displaced[0, 0] == pytest.approx(lost_volume(rig), rel=ROUND_OFF)


@pytest.mark.nightly
def test_a_flat_foot_carries_bekkers_force_anywhere_on_the_grid():
    """400 feet of half a cell to 24 cells; a fifth of them stand with their edges at nodes, straight or askew."""
    random, wrong = np.random.default_rng(18), {}
    for k in range(400):
        kind, ground = ("box", "disc")[k % 2], (SAND, CLAY)[k // 2 % 2]
        cells = 0.5 * 48 ** random.uniform()
        mesh, area, per_b = prism(kind, cells)
        at, turned = tuple(random.uniform(0, CELL, 2)), random.uniform(0, math.pi)
        if k % 5 == 0:
            at, turned = (0.0, 0.0), math.pi / 4 * (k // 5 % 2)
        depth = 0.006
        rig = rig_of(mesh, ground)
        force = push(rig, depth, at, turned)
        error = force / ((ground.k_c * per_b + ground.k_phi) * depth**ground.n * area) - 1
        volume = lost_volume(rig) / (area * depth) - 1
        if abs(error) > BEKKER or abs(volume) > BEKKER:
            wrong[k] = (kind, ground.name, cells, at, turned, error, volume)
    assert wrong == {}


@pytest.mark.parametrize("cells", [0.5, 1.2, 3.0, 4.1, 7.9, 11.9])
def test_a_ball_carries_bekkers_force_over_the_depths_of_its_skin(cells):
    """Without shear, whose vertical part on its flanks is not Bekker's."""
    radius, sand = cells * CELL / 2, SAND.replace(k_c=0.0)
    depth = min(0.8 * radius, 0.006)
    height = np.linspace(0, depth, 2001)  # above its lowest point
    rings = np.diff(math.pi * (2 * radius * height - height**2))
    expected = (sand.k_phi * (depth - (height[1:] + height[:-1]) / 2) ** sand.n * rings).sum()
    volume = math.pi * depth**2 * (radius - depth / 3)
    for at in ((0.0, 0.0), (0.0031, 0.0047)):
        rig = rig_of(revolved(*_arc(radius, 0.0)), sand, friction="none")
        assert push(rig, depth, at) == pytest.approx(expected, rel=BEKKER)
        assert lost_volume(rig) == pytest.approx(volume, rel=VOLUME)


def test_a_small_foot_on_a_slope_stands_in_as_much_soil_as_on_the_level():
    mesh, area, per_b = prism("disc", 0.8)
    ground = slope(10.0, 30.0, size=(1, 1), spacing=0.25)
    at = (0.0132, 0.0278)
    level = float(ground.height(*at))
    depth = 0.006
    pressure = (SAND.k_c * per_b + SAND.k_phi) * depth**SAND.n
    rig = rig_of(mesh, terrain=ground, erosion=False)
    assert push(rig, depth, at, level=level) == pytest.approx(pressure * area, rel=BEKKER)


def test_soil_does_not_rise_again_under_a_small_foot_that_lets_go():
    """It lifts out of its print and comes back: nothing on the way, the old force at the old depth, no more volume."""
    rig = rig_of(prism("box", 0.7)[0])
    pressed = push(rig, 0.006, at=(0.003, 0.004))
    volume, start = lost_volume(rig), rig.position[0, 0].copy()
    for lift in (5e-4, 2e-3, 4e-3):
        rig.place(position=start + np.array([0, 0, lift]), velocity=np.zeros(3)).advance()
        assert rig.wrench[0, 0, 2] == 0
    rig.place(position=start, velocity=np.zeros(3)).advance()
    assert rig.wrench[0, 0, 2] == pytest.approx(pressed, rel=BEKKER)
    assert lost_volume(rig) == pytest.approx(volume, rel=ROUND_OFF)


def test_displaced_soil_goes_beside_a_small_foot():
    rig = rig_of(prism("disc", 0.9)[0], SAND.replace(compression=0.3))
    push(rig, 0.006, at=(0.003, 0.004))
    assert rig.module.ground.heights().max() > 1e-4
    assert rig.module.volume_error()[0] < ROUND_OFF


def test_a_small_foot_that_slides_presses_a_rut_as_wide_as_itself():
    mesh, _, _ = prism("box", 0.8)
    rig, depth, way, steps = rig_of(mesh, erosion=False), 0.004, 0.06, 600
    push(rig, depth)
    before = lost_volume(rig)
    start = rig.position[0, 0].copy()
    rig.time = 0.0
    rig.follow(lambda t: (start + np.array([way * t / (steps * rig.step), 0, 0]), quaternion(np.zeros(3))), steps)
    swept = 0.8 * CELL * depth * way
    assert lost_volume(rig) - before == pytest.approx(swept, rel=0.3), (
        "at the pace of its own width, not front by front"
    )
    assert rig.wrench[0, 0, 0] < 0


@pytest.mark.parametrize("turned", [(0, 0, 0.3), (0.2, -0.1, 0.3)])
def test_the_implicit_matrix_is_the_derivative_of_the_wrench(turned):
    rig = rig_of(prism("box", 1.5)[0])
    rig.place(position=(0.002, 0.001, 0.049), rotation=quaternion(np.array(turned)), velocity=(0, 0, 0)).advance()
    rig.place(position=(0.002, 0.001, 0.0491)).advance()
    check = check_implicit(rig, length=0.05)
    assert check.asymmetry < ROUND_OFF
    assert check.least > -ROUND_OFF
    assert check.error < 0.2, "the normal of a tilted face turns with it"


def test_a_point_force_acts_where_the_foot_is():
    """Not at the nearest node: no torque about its own middle."""
    rig = rig_of(prism("disc", 0.6)[0])
    push(rig, 0.004, at=(0.0033, 0.0046))
    force, torque = rig.wrench[0, 0, 2], rig.wrench[0, 0, 3:]
    assert np.abs(torque[:2]).max() < 1e-3 * CELL * force


def four_feet(cells: float, apart: float = 0.06) -> Mesh:
    """Discs in the corners of a square [m]."""
    vertices, triangles = prism("disc", cells)[0]
    corners = [(x, y, 0.0) for x in (-apart / 2, apart / 2) for y in (-apart / 2, apart / 2)]
    return (
        np.vstack([vertices + corner for corner in corners]),
        np.vstack([triangles + k * len(vertices) for k in range(4)]),
    )


def test_four_small_feet_of_one_body_carry_four_times_what_one_does():
    _, area, per_b = prism("disc", 0.6)
    pressure = (CLAY.k_c * per_b + CLAY.k_phi) * 0.006**CLAY.n
    rig = rig_of(four_feet(0.6), CLAY)
    assert push(rig, 0.006, at=(0.003, 0.001), turned=0.4) == pytest.approx(4 * pressure * area, rel=BEKKER)


def test_a_foot_beside_a_plate_carries_its_part_and_the_plate_what_it_did():
    plate_vertices, plate_triangles = box(np.array([0.1, 0.05, 0.05]))
    stud_vertices, stud_triangles = prism("box", 0.8)[0]
    both = (
        np.vstack([plate_vertices, stud_vertices + np.array([0.2, 0, 0])]),
        np.vstack([plate_triangles, stud_triangles + len(plate_vertices)]),
    )
    sand = SAND.replace(k_c=0.0)
    alone, stud = (
        push(rig_of((plate_vertices, plate_triangles), sand), 0.006),
        push(rig_of(prism("box", 0.8)[0], sand), 0.006),
    )
    assert push(rig_of(both, sand), 0.006) == pytest.approx(alone + stud, rel=ROUND_OFF)


def test_fused_and_fine_kernels_press_alike():
    wrenches = []
    for threads in THREADS:
        rig = rig_of(four_feet(0.6), SAND.replace(compression=0.3), threads=threads)
        push(rig, 0.004, at=(0.003, 0.001), turned=0.4)
        wrenches.append((rig.wrench, rig.implicit, rig.module.ground.heights()))
    for one, other in zip(*wrenches, strict=True):
        np.testing.assert_allclose(one, other, rtol=ROUND_OFF, atol=ROUND_OFF * np.abs(one).max())


# ---- which shapes are small, which too small -----------------------------------------------------------


def test_a_body_of_ordinary_size_is_left_to_the_nodes():
    for surface in (
        wheel(0.1, 0.04),
        wheel(0.1, 0.04, grouser_height=0.01, grouser_count=12),
        prepare(*box(np.full(3, 0.061))),
    ):
        assert split(surface, CELL) == (surface, [])


def test_pieces_within_a_cell_of_each_other_are_one_shape():
    assert len(shapes_apart(prepare(*four_feet(0.6)), CELL)) == 4
    assert len(shapes_apart(prepare(*four_feet(0.6, apart=0.012)), CELL)) == 1


def test_what_lies_inside_another_piece_of_a_shape_carries_nothing():
    """Two boxes that overlap by half press with the area of both less what is common."""
    vertices, triangles = prism("box", 1.0)[0]
    two = (
        np.vstack([vertices, vertices + np.array([CELL / 2, 0, 0])]),
        np.vstack([triangles, triangles + len(vertices)]),
    )
    areas = split(prepare(*two), CELL)[1][0].areas
    walls = areas[np.abs(areas[:, 0]) > 0]
    assert np.abs(walls[:, 0]).sum() == pytest.approx(2 * CELL * 0.1)


@pytest.mark.parametrize(
    ("mesh", "across", "allowed"),
    [
        (prism("disc", 0.4)[0], "4 mm", "0.008 m"), (four_feet(0.3), "3 mm", "0.006 m"),
        (box(np.array([0.1, 0.1, 0.002])), "4 mm", "0.008 m"),
    ],
)  # fmt: skip
def test_shapes_below_half_a_cell_are_refused_with_the_spacing_that_carries_them(mesh, across, allowed):
    with pytest.raises(InputError) as refused:
        rig_of(mesh)
    assert str(refused.value) == (
        f"spacing: 0.01 m is too coarse for body 'foot': it has a separate shape that is {across} across; "
        f"allowed is a spacing of at most {allowed}"
    )
    rig_of(mesh, spacing=float(allowed.removesuffix(" m")))


@pytest.mark.parametrize(("narrow", "allowed"), [(wheel(0.1, 0.008), 0.008), (wheel(0.018, 0.02), 0.009)])
def test_a_wheel_needs_nodes_below_it(narrow, allowed):
    """Slip digs on nodes only: on points it would not, without a word."""
    with pytest.raises(InputError, match=rf"too coarse for the wheel 'foot', .* of at most {allowed} m"):
        rig_of(narrow)
    assert split(narrow, allowed) == (narrow, [])
    rig_of(narrow, spacing=allowed)
