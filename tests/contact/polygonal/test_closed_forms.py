"""Contact forces against closed forms (polygonal.md), at depth over radius of at most 0.01."""

import numpy as np
import pytest

from grouser.contact.polygonal import Layer, Pair, PolygonalModule, hard_ground, merged, shape
from grouser.terrain import ElevationGrid
from tests.contact.polygonal.bodies import (
    RIGID,
    SOFT,
    ball,
    ball_cap,
    box,
    box_mesh,
    grid,
    on_ground,
    plane,
    rest,
    trough,
)
from tests.rig import ManufacturedMotion, quaternion

BAR = 0.01  # of the closed form at about 40 elements across the patch
ORDER = 1.8  # of convergence with the mesh
ROUND_OFF = 1e-12
NORMAL_CHOICE = 2.0  # times depth over radius: depth along one surface's normal or the other's
R, DEPTH = 0.1, 0.001
PATCH = np.sqrt(2 * R * DEPTH)  # [m] radius of the sphere's patch
PLACE = (0.0013, 0.0021)  # [m] no corner of the mesh on another


def sphere_force(c, radius=R, depth=DEPTH):
    """pi c R depth^2 (1 - depth / (3 R)): the volume behind the plane, times c."""
    return np.pi * c * radius * depth**2 * (1 - depth / (3 * radius))


def cylinder_force(c, length, radius=R, depth=DEPTH):
    """4 sqrt(2) / 3 c L sqrt(R) depth^1.5, to first order in depth over radius."""
    return 4 * np.sqrt(2) / 3 * c * length * np.sqrt(radius) * depth**1.5


def sphere_error(across: int) -> float:
    rig = on_ground(ball_cap(R, 1.3 * PATCH, round(1.3 * across)), plane())
    return abs(rest(rig, (*PLACE, R - DEPTH)).wrench[0, 0, 2] / sphere_force(SOFT.stiffness) - 1)


def cylinder_error(across: int) -> float:
    """Against the exact area of the segment behind the plane, of which the closed form is the first term."""
    angle = np.arccos(1 - DEPTH / R)
    exact = SOFT.stiffness * 0.05 * R**2 * (angle - np.sin(angle) * np.cos(angle))
    rig = on_ground(trough(R, 1.3 * PATCH, 0.05, round(1.3 * across)), plane())
    force = rest(rig, (*PLACE, R - DEPTH)).wrench[0, 0, 2]
    if across >= 40:
        assert force == pytest.approx(cylinder_force(SOFT.stiffness, 0.05), rel=BAR)
    return abs(force / exact - 1)


@pytest.mark.parametrize("error", [sphere_error, cylinder_error])
def test_smooth_bodies_meet_the_bar_and_converge(error):
    errors = np.array([error(n) for n in (10, 20, 40, 80)])
    assert errors[2] < BAR
    orders = np.log2(errors[:-1] / errors[1:])
    assert orders.min() > ORDER, (errors, orders)


def test_a_punch_presses_with_c_area_depth_however_it_is_meshed():
    """Exact: contact polygons are cut, and pressure is linear in them."""
    for body, ground in (
        (box((0.03, 0.02, 0.01)), plane()),
        (box((0.03, 0.02, 0.01), longest_edge=0.004), plane(cells=7)),
    ):
        wrench = rest(on_ground(body, ground), (*PLACE, 0.01 - DEPTH)).wrench[0, 0]
        load = SOFT.stiffness * 0.06 * 0.04 * DEPTH
        np.testing.assert_allclose(wrench / load, [0, 0, 1, 0, 0, 0], atol=ROUND_OFF)


def test_a_tilted_punch_rights_itself_with_the_second_moment_of_its_face():
    """Torque c I tilt for a small tilt, of a face of two triangles alone; the force stays."""
    tilt, a, b = 1e-4, 0.03, 0.02
    rig = rest(on_ground(box((a, b, 0.01)), plane()), (*PLACE, 0.01 - DEPTH), quaternion([0, tilt, 0]))
    second = (2 * b) * (2 * a) ** 3 / 12
    arm = 0.01 - DEPTH  # the force acts normal to the ground, the face's middle moves sideways by arm x tilt
    load = SOFT.stiffness * 4 * a * b * DEPTH
    torque = -SOFT.stiffness * second * tilt + load * 0.01 * tilt
    assert rig.wrench[0, 0, 2] == pytest.approx(load, rel=1e-4)
    assert rig.wrench[0, 0, 4] == pytest.approx(torque, rel=1e-2)
    assert arm > 0


def test_walls_of_a_tilted_box_press_by_what_the_ground_sees_of_them():
    """c times the volume behind the plane, whatever the tilt: no wall presses with depth / sin(tilt)."""
    half = np.array([0.03, 0.02, 0.01])
    for tilt in (1e-9, 1e-3, 0.1, 0.5):
        c, s = np.cos(tilt), np.sin(tilt)
        low = half[0] * s + half[2] * c  # the edge below the middle
        rig = rest(on_ground(box(half), plane()), (*PLACE, low - DEPTH), quaternion([0, tilt, 0]))
        force = rig.wrench[0, 0, :3] / SOFT.stiffness
        if tilt < 0.01:
            continue  # the face is in contact as a whole
        volume = 2 * half[1] * DEPTH**2 / (2 * s * c)
        np.testing.assert_allclose(force, [0, 0, volume], atol=1e-9 * volume, rtol=1e-9)


def test_elements_may_lie_on_either_surface():
    """Depth along the one normal or the other: a difference of the order of depth over radius."""
    along = np.linspace(-1.3 * PATCH, 1.3 * PATCH, 53)
    fine = shape(*grid(along, along, lambda x, y: 0 * x), SOFT, name="plane")
    ball_ = ball_cap(R, 1.3 * PATCH, 52)
    exact = sphere_force(SOFT.stiffness)
    for elements in ("body", "ground"):
        rig = rest(on_ground(ball_, fine, elements=elements), (*PLACE, R - DEPTH))
        assert rig.wrench[0, 0, 2] == pytest.approx(exact, rel=BAR + NORMAL_CHOICE * DEPTH / R)
        np.testing.assert_allclose(rig.wrench[0, 0, :2] / exact, 0, atol=1e-3)


def test_two_layers_in_series():
    stiff = Layer(young=4e7, poisson=0.2, thickness=0.01)
    rig = rest(on_ground(box((0.03, 0.02, 0.01), stiff), plane()), (*PLACE, 0.01 - DEPTH))
    c = 1 / (1 / stiff.stiffness + 1 / SOFT.stiffness)
    assert rig.wrench[0, 0, 2] == pytest.approx(c * 0.0024 * DEPTH, rel=ROUND_OFF)


def test_faces_have_layers_of_their_own():
    """A ground of two halves under a box: each half of it on its own stiffness."""
    vertices, triangles = grid(np.array([-1.0, 0.0, 1.0]), np.array([-1.0, 1.0]), lambda x, y: 0 * x)
    hard = Layer(young=3e7, poisson=0.3, thickness=0.02)
    side = (vertices[triangles].mean(axis=1)[:, 0] > 0).astype(int)
    ground = shape(vertices, triangles, (SOFT, hard), face_layer=side, name="halves")
    rig = rest(on_ground(box((0.03, 0.02, 0.01)), ground), (0.0, 0.0, 0.01 - DEPTH))
    load, area = DEPTH * 0.0012, rig.wrench[0, 0]
    assert area[2] == pytest.approx(load * (SOFT.stiffness + hard.stiffness), rel=ROUND_OFF)
    assert area[4] == pytest.approx(-load * 0.015 * (hard.stiffness - SOFT.stiffness), rel=1e-9)


def test_several_patches_at_once():
    """A concave body, a bridge on two feet of different height: each foot has its own patch."""
    feet = [box_mesh((0.01, 0.02, 0.01)) for _ in range(2)]
    parts = [
        shape(v + at, f, RIGID, name="foot")
        for (v, f), at in zip(feet, ((-0.05, 0, 0.01), (0.05, 0, 0.0105)), strict=True)
    ]
    rig = rest(on_ground(merged(parts), plane()), (*PLACE, -DEPTH))
    left, right = (SOFT.stiffness * 0.0008 * d for d in (DEPTH, DEPTH - 0.0005))
    assert rig.wrench[0, 0, 2] == pytest.approx(left + right, rel=1e-9)
    assert rig.wrench[0, 0, 4] == pytest.approx(0.05 * (left - right), rel=1e-9)
    patch = rig.module.patch()
    assert {round(x, 3) for x in patch[:, 0] - PLACE[0]} >= {-0.053, 0.053} or np.ptp(patch[:, 0]) > 0.09
    assert patch[:, 7].sum() == pytest.approx(0.0016)


def test_a_concave_ground_holds_a_ball_from_all_sides():
    """A ball in a slightly wider bowl: relative curvature 1/R - 1/Rb carries it."""
    bowl = 0.11
    along = np.linspace(-0.03, 0.03, 61)
    relative = 1 / (1 / R - 1 / bowl)
    depth = 5e-5
    ground = shape(*grid(along, along, lambda x, y: bowl - np.sqrt(bowl**2 - x**2 - y**2)), SOFT, name="bowl")
    body = ball_cap(R, 0.03, 60)
    rig = rest(on_ground(body, ground), (0.0, 0.0, R - depth))
    # paraboloids: F = pi c R* depth^2; the patch reaches x^2 = 2 R* depth, slopes to x / R add (x/R)^2 / 2
    slope = 2 * relative * depth / R**2
    assert rig.wrench[0, 0, 2] == pytest.approx(np.pi * SOFT.stiffness * relative * depth**2, rel=slope + 4 * BAR)


def test_hard_ground_is_an_elevation_grid():
    """A punch on a slope of 20 %: c area depth along the slope's normal."""
    x = np.linspace(-1, 1, 21)
    heights = np.tile(0.2 * x, (21, 1))
    ground = hard_ground(ElevationGrid(heights, 0.1, (-1.0, -1.0)), SOFT)
    tilt = np.arctan(0.2)
    normal = np.array([-np.sin(tilt), 0, np.cos(tilt)])
    rig = rest(on_ground(box((0.03, 0.02, 0.01)), ground), (0.01 - DEPTH) * normal, quaternion([0, -tilt, 0]))
    np.testing.assert_allclose(rig.wrench[0, 0, :3], SOFT.stiffness * 0.0024 * DEPTH * normal, rtol=1e-9, atol=1e-9)


def test_bare_cells_alone_are_hard_ground():
    index = np.zeros((5, 5), int)
    index[:, 2:] = -1
    index[4, 4] = 0
    terrain = ElevationGrid(np.zeros((5, 5)), 1.0, (0.0, 0.0), soil_index=index, soils=("dry-sand",))
    assert len(hard_ground(terrain, SOFT, bare_only=True).triangles) == 2 * 7


def test_force_on_a_ball_between_two_bodies_and_ground_at_once():
    """One body in two pairs: their wrenches add."""
    module = PolygonalModule(
        {"body": box((0.03, 0.02, 0.01))}, {"ground": plane(), "lid": plane()},
        [Pair("body", "ground"), Pair("body", "lid", friction=(0.0, 0.0))],
    )  # fmt: skip
    rig = rest(ManufacturedMotion(module), (*PLACE, 0.01 - DEPTH))
    assert rig.wrench[0, 0, 2] == pytest.approx(2 * SOFT.stiffness * 0.0024 * DEPTH, rel=ROUND_OFF)


def test_channels_show_depth_area_and_polygons():
    """Sphere on plane: area 2 pi R depth of the sphere itself, all polygons listed in the patch."""
    rig = rest(on_ground(ball(R, 6), plane()), (*PLACE, R - DEPTH)).advance()
    values = {c.name: c.read() for c in rig.module.channels()}
    assert values["polygonal/penetration"][0, 0] == pytest.approx(DEPTH, rel=0.1)
    assert values["polygonal/contact_area"][0, 0] == pytest.approx(2 * np.pi * R * DEPTH, rel=0.1)
    patch = values["polygonal/patch"]
    assert values["polygonal/polygons"][0, 0] >= len(patch) > 20
    np.testing.assert_allclose(patch[:, 3:6], np.tile([0, 0, 1], (len(patch), 1)), atol=ROUND_OFF)
    assert patch[:, 6] @ patch[:, 7] == pytest.approx(rig.wrench[0, 0, 2], rel=1e-3)
    assert patch[:, 7].sum() == pytest.approx(values["polygonal/contact_area"][0, 0])
    np.testing.assert_allclose(values["polygonal/force"][0, 0], rig.wrench[0, 0, :3], atol=1e-9)
