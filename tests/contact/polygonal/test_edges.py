"""Bodies with edges on rough ones: no wall, far side or second layer presses where the surface itself hardly does."""

import numpy as np
import pytest

from grouser.contact.polygonal import Layer, merged, shape
from tests.contact.polygonal.bodies import SOFT, ball_mesh, box, box_mesh, on_ground, plane, rest
from tests.rig import quaternion

DEPTH = 1e-4
SIDEWAYS = 0.1  # of the load: what the side wall of a box may press sideways, its corner being rounded by nothing


def ridge(slope: float, layer=SOFT):
    """A roof along y, its top at z = 0, sides falling with `slope`; long and open below."""
    vertices = np.array([[x, y, -slope * abs(x)] for x in (-0.1, 0.0, 0.1) for y in (-0.1, 0.1)])
    triangles = np.array([[0, 2, 1], [1, 2, 3], [2, 4, 3], [3, 4, 5]])
    return shape(vertices, triangles, layer, name="ridge")


def test_a_box_on_a_ridge_presses_with_the_area_of_its_cut():
    """Depth d over a roof of slope s: c g^2 x 2 sides x d^2 / (2 s) a length, both normals' vertical parts g."""
    slope, depth = 0.2, 5e-4
    rig = rest(on_ground(box((0.05, 0.05, 0.02)), ridge(slope)), (0.0, 0.0, 0.02 - depth))
    g = 1 / np.hypot(1, slope)
    expected = SOFT.stiffness * g**3 * depth**2 / slope * 0.1  # depth along m is g times the vertical one
    assert rig.wrench[0, 0, 2] == pytest.approx(expected, rel=1e-6)
    np.testing.assert_allclose(rig.wrench[0, 0, :2] / expected, 0, atol=1e-9)


def test_the_end_wall_of_a_box_hardly_pushes_along_a_falling_ridge():
    """The wall lies behind the flanks by the whole length of the cut, 1 mm; the way out is up, by a tenth of that."""
    fall = 0.1  # of the ridge along y
    roof = ridge(0.3)
    vertices = roof.vertices - np.outer(fall * roof.vertices[:, 1], [0, 0, 1])
    rig = rest(
        on_ground(box((0.05, 0.02, 0.02)), shape(vertices, roof.triangles, SOFT, name="ridge")),
        (0.0, 0.0, 0.02 + 0.02 * fall - DEPTH),
    )  # fmt: skip
    force = rig.wrench[0, 0, :3]
    assert force[2] > 0
    # the lower face alone: both flanks' normals lean along y by `fall`
    assert force[1] == pytest.approx(fall * force[2], rel=SIDEWAYS)


def test_a_wall_is_not_pushed_by_the_far_flank_of_what_the_floor_stands_on():
    """A bump that falls gently towards the wall and steeply behind its top, 4 mm inside: the way out is up, by 0.1 mm.

    By the steep flank alone the wall would lie 3 mm deep and press with a fifth of the load.
    """
    vertices = np.array([[x, y, z] for y, z in ((-0.1, -0.1), (0.0, 0.0), (0.1, -0.01)) for x in (-0.1, 0.1)])
    bump = shape(vertices, np.array([[0, 1, 2], [1, 3, 2], [2, 3, 4], [3, 5, 4]]), SOFT, name="bump")
    depth, inside, half = 5e-4, 4e-3, 0.02
    rig = rest(on_ground(box((half, 0.05, half)), bump), (0.0, inside - 0.05, half - depth))
    gentle = 1 / np.hypot(1, 0.1)
    floor = SOFT.stiffness * gentle**3 * (depth - 0.1 * inside / 2) * inside * 2 * half
    steep = SOFT.stiffness * np.sqrt(0.5) ** 3 * depth**2 / 2 * 2 * half
    assert rig.wrench[0, 0, 2] == pytest.approx(floor + steep, rel=0.05)
    assert rig.wrench[0, 0, 1] == pytest.approx(0.1 * floor - steep, abs=0.02 * floor)


def test_a_second_layer_behind_a_gap_is_not_touched():
    """A shelf over the body: the ray from the body's lower face, which is free, ends at the shelf's far side."""
    shelf = merged([
        plane(layer=SOFT),
        shape(np.add(box_mesh((0.1, 0.1, 0.002))[0], [0, 0, 0.03]), box_mesh((0.1, 0.1, 0.002))[1], SOFT, name="shelf"),
    ])  # fmt: skip
    free = rest(on_ground(box((0.03, 0.02, 0.01)), shelf, reach=0.05), (0.0, 0.0, 0.0115))
    assert not free.wrench.any()  # 1.5 mm above the ground, 6.5 mm below the shelf
    pressed = rest(on_ground(box((0.03, 0.02, 0.01)), shelf, reach=0.05), (0.0, 0.0, 0.01 - DEPTH))
    alone = rest(on_ground(box((0.03, 0.02, 0.01)), plane(layer=SOFT)), (0.0, 0.0, 0.01 - DEPTH))
    np.testing.assert_allclose(pressed.wrench, alone.wrench, rtol=1e-12, atol=1e-12)


def test_an_edge_and_a_corner_press_straight_up():
    """A cube on its edge and on its corner: c times the volume behind the plane."""
    half = 0.02
    on_edge = quaternion([np.pi / 4, 0, 0])
    rig = rest(on_ground(box((half,) * 3), plane()), (0, 0, np.sqrt(2) * half - DEPTH), on_edge)
    np.testing.assert_allclose(rig.wrench[0, 0, :3] / (SOFT.stiffness * DEPTH**2 * 2 * half), [0, 0, 1], atol=1e-9)
    axis = np.array([1.0, -1.0, 0]) / np.sqrt(2)
    on_corner = quaternion(np.arccos(1 / np.sqrt(3)) * axis)
    rig = rest(on_ground(box((half,) * 3), plane()), (0, 0, np.sqrt(3) * half - DEPTH), on_corner)
    volume = np.sqrt(3) / 2 * DEPTH**3  # of the tip: base 3 sqrt(3)/2 d^2, height d
    np.testing.assert_allclose(rig.wrench[0, 0, :3] / (SOFT.stiffness * volume), [0, 0, 1], atol=1e-6)


def test_a_rough_stone_under_the_rim_of_a_wheel():
    """A lump pressed by a box near its edge: force as in the middle of the box, hardly anything sideways."""
    random = np.random.default_rng(3)
    vertices, triangles = ball_mesh(0.03, 2)
    lump = shape(
        vertices * (1 + 0.05 * random.normal(size=len(vertices)))[:, None], triangles, SOFT,
        name="lump", check_intersections=False,
    )  # fmt: skip
    top = lump.vertices[lump.vertices[:, 2].argmax()]
    hard = Layer(young=np.inf)
    forces = []
    for edge in (0.02, 0.003):  # [m] from the lump's tip to the box's wall
        rig = on_ground(box((0.05, 0.05, 0.02), hard), lump, elements="body")
        rest(rig, (top[0], top[1] - 0.05 + edge, top[2] + 0.02 - DEPTH))
        forces.append(rig.wrench[0, 0, :3])
        assert rig.module.channels()[2].read()[0, 0] <= 1.01 * DEPTH
    assert abs(forces[1][1] - forces[0][1]) < SIDEWAYS * forces[0][2]
    assert forces[1][2] == pytest.approx(forces[0][2], rel=SIDEWAYS)
