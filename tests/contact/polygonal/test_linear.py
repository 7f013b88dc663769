"""Depth that is linear between an element's corners: closed forms of two curved meshes, and where it is not used."""

import numpy as np
import pytest

from grouser.contact.polygonal import Layer, Pair, PolygonalModule, merged, shape
from grouser.simulation.simulation import Simulation
from tests.contact.polygonal.bodies import RIGID, SOFT, ball, ball_cap, ball_mesh, box, grid, on_ground, plane, rest
from tests.contact.polygonal.test_in_rigs import GEOMETRIC, GRIPPY, LENGTH, PAIR_SUM, ROUND_OFF, SYMMETRIC, TRIANGLE
from tests.contact.polygonal.test_motion import BAR, MASS, SPEED, bodies, start
from tests.rig import ManufacturedMotion, SteadyMotion, check_implicit, quaternion

ORDER = 1.8  # bar of convergence with the mesh
UPPER, LOWER = 0.1, 0.15  # [m] radii of two domes
RELATIVE = 1 / (1 / UPPER + 1 / LOWER)
TINY = 1e-5  # depth over radius: the choice of normal changes the force by as much
EITHER_DEPTH = 0.02  # of the force at 20 elements across: linear against exact depth, 0.3 % there, on coarser patches
MODES = ("linear", "exact")


def dome(radius: float, half: float, cells: int, layer: Layer, up: bool):
    """A square of sides 2 half [m] of a paraboloid, its top in the origin, that looks up or down."""
    along = np.linspace(-half, half, cells + 1)
    sign = -1 if up else 1
    vertices, triangles = grid(along, along, lambda x, y: sign * (x**2 + y**2) / (2 * radius))
    return shape(vertices, triangles if up else triangles[:, ::-1], layer, name="dome")


def two_domes(across: int, depth: float, mode: str | None, layer=SOFT, **more):
    """A rig with an upper dome of `across` elements on its patch, turned and off the middle of a fixed one."""
    half = 1.3 * np.sqrt(2 * RELATIVE * depth)
    upper = dome(UPPER, half, round(1.3 * across), RIGID, up=False)
    lower = dome(LOWER, 1.25 * half, round(1.6 * across), layer, up=True)
    rig = on_ground(upper, lower, depth=mode, reach=10 * depth, **more)
    x, y = 0.013 * half, 0.021 * half
    low = -depth - (x**2 + y**2) / (2 * (UPPER + LOWER))
    return rest(rig, (x, y, low), quaternion([0, 0, 0.3]))


def dome_error(across: int, mode: str) -> float:
    """Of pi c R* depth^2."""
    depth = TINY * UPPER
    force = two_domes(across, depth, mode).wrench[0, 0, 2]
    return abs(force / (np.pi * SOFT.stiffness * RELATIVE * depth**2) - 1)


@pytest.mark.parametrize("mode", MODES)
def test_two_curved_meshes_meet_the_bar_and_converge(mode):
    errors = np.array([dome_error(n, mode) for n in (10, 20, 40)])
    assert errors[2] < BAR
    assert np.log2(errors[:-1] / errors[1:]).min() > ORDER, errors


def test_one_polygon_an_element():
    values = {}
    for mode in MODES:
        channels = {c.name: c.read() for c in two_domes(20, 1e-3, mode).module.channels()}
        values[mode] = channels["polygonal/polygons"][0, 0], len(channels["polygonal/patch"])
    assert values["linear"][0] == values["linear"][1] > 200
    assert values["exact"][0] > 3 * values["exact"][1]


@pytest.mark.parametrize("body", [ball(0.1, 4), box((0.03, 0.02, 0.01), longest_edge=0.01)])
def test_on_flat_ground_it_is_exact(body):
    """One plane: force and implicit matrix are those of the cut mesh, walls and edges of the body included."""
    height = {"ball": 0.1, "box": 0.011}[body.name]
    found = []
    for mode in MODES:
        rig = on_ground(body, TRIANGLE, depth=mode)
        rest(rig, (0.0013, 0.0021, height - 0.001), quaternion([0.05, 0.02, 0.3])).advance()
        found.append((rig.wrench[0, 0], rig.implicit[0, 0]))
    for one, two in zip(*found, strict=True):
        np.testing.assert_allclose(one, two, atol=ROUND_OFF * np.abs(two).max())


def test_linear_contact_is_chosen_where_the_other_surface_hardly_bends_across_an_element():
    def chosen(body, other, **more):
        return on_ground(body, other, **more).module.depth_between(0)

    fine, coarse = (dome(LOWER, 0.02, cells, SOFT, up=True) for cells in (40, 4))
    assert chosen(ball(0.1, 5), fine) == "linear"
    assert chosen(ball(0.1, 5), coarse) == "exact"  # bends by 4 degrees at its edges
    assert chosen(ball(0.1, 2), fine) == "exact"  # elements of 4 cm
    assert chosen(box((0.03, 0.02, 0.01)), plane()) == "linear"
    assert chosen(ball(0.1, 5, SOFT), box((0.2, 0.2, 0.2))) == "exact"  # an edge
    assert chosen(ball(0.1, 5), fine, depth="exact") == "exact"


def test_two_flat_plates_at_different_heights_are_cut():
    """Between two open pieces the surface is not known: linear depth would lay a ramp over the step, and jump to it."""
    low = shape(plane(0.1).vertices + np.array([0.2, 0, -3e-4]), plane(0.1).triangles, SOFT, name="low")
    plates = merged([plane(0.1), low])
    body = ball(0.1, 4)
    assert on_ground(body, plates).module.depth_between(0) == "exact"
    jumps = {}
    for mode in (None, "linear"):
        rig = on_ground(body, plates, elements="body", depth=mode, friction=(0.0, 0.0))
        for steps in (401, 1601):
            way = np.linspace(0.1, 0.11, steps)
            force = np.array([rest(rig, (x, 0.0007, 0.099)).wrench[0, 0, :3] for x in way])
            jumps[mode, steps] = np.linalg.norm(np.diff(force, axis=0), axis=1).max() / force[:, 2].mean()
    assert jumps[None, 1601] < 0.3 * jumps[None, 401]
    assert jumps["linear", 1601] > 0.1


def test_elements_larger_than_the_patch_are_cut():
    """A coarse face on a fine ball: by its corners alone it would not touch."""
    ball_ = ball_cap(0.1, 0.02, 60, SOFT)
    upside = shape(ball_.vertices * [1, 1, -1], ball_.triangles[:, ::-1], SOFT, name="hill")
    rig = rest(
        on_ground(box((0.05, 0.05, 0.02)), upside, elements="body", capacity=10**5), (0.003, 0.002, 0.1 + 0.02 - 0.001)
    )
    exact = np.pi * SOFT.stiffness * 0.1 * 1e-6
    assert rig.module.depth_between(0) == "exact"
    assert rig.wrench[0, 0, 2] == pytest.approx(exact, rel=2 * BAR)


def test_a_concave_ground_and_several_patches():
    """Two balls in one body, one in a bowl and one on a hill: with linear depth about what the cut mesh gives."""
    along = np.linspace(-0.02, 0.02, 41)
    shallow = shape(*grid(along, along, lambda x, y: (x**2 + y**2) / 0.6), SOFT, name="bowl")
    hill = shape(*grid(along, along, lambda x, y: -(x**2 + y**2) / 0.6), SOFT, name="hill")
    ground = merged([shallow, shape(np.add(hill.vertices, [0.3, 0, 0]), hill.triangles, SOFT, name="hill")])
    v, f = ball_mesh(0.1, 6)
    body = merged([shape(np.add(v, [x, 0, 0.1]), f, RIGID, name="ball", check_intersections=False) for x in (0, 0.3)])
    forces = []
    for mode in MODES:
        rig = rest(on_ground(body, ground, depth=mode, reach=0.01), (0.0003, 0.0002, -0.0005))
        forces.append(rig.wrench[0, 0])
        assert np.ptp(rig.module.patch()[:, 0]) > 0.3
    assert forces[1][2] > 1
    np.testing.assert_allclose(forces[0][:3], forces[1][:3], atol=EITHER_DEPTH * forces[1][2])
    np.testing.assert_allclose(forces[0][3:], forces[1][3:], atol=0.3 * EITHER_DEPTH * forces[1][2])


def test_the_far_side_of_a_thin_shell_says_nothing():
    """A dome 2 mm thick, reach 20 mm: pressed from above it is as one without a lower side."""
    top = dome(LOWER, 0.03, 40, SOFT, up=True)
    under = shape(top.vertices - [0, 0, 0.002], top.triangles[:, ::-1], SOFT, name="under")
    body = ball_cap(0.1, 0.03, 60)
    place = (0.0003, 0.0002, 0.1 - 0.0005)
    alone, thin = (
        rest(on_ground(body, ground, depth="linear", reach=0.02), place).wrench[0, 0]
        for ground in (top, merged([top, under]))
    )
    assert alone[2] > 1
    np.testing.assert_allclose(thin, alone, atol=ROUND_OFF * alone[2])


def test_past_the_border_of_an_open_mesh_elements_are_cut():
    """A box half beyond the end of a plane: c x half its area x depth."""
    rig = rest(on_ground(box((0.03, 0.02, 0.01), longest_edge=0.007), plane(0.5), depth="linear"), (0.5, 0, 0.009))
    assert rig.wrench[0, 0, 2] == pytest.approx(SOFT.stiffness * 0.0012 * 0.001, rel=1e-9)


def test_faces_with_layers_of_their_own_are_told_apart():
    """Linear depth over a dome of two halves: an element over both is cut."""
    whole = dome(LOWER, 0.02, 40, SOFT, up=True)
    hard = Layer(young=3e7, poisson=0.3, thickness=0.02)
    side = (whole.corners.mean(axis=1)[:, 0] > 0).astype(int)
    halves = shape(whole.vertices, whole.triangles, (SOFT, hard), face_layer=side, name="halves")
    loads = []
    for ground in (whole, halves):
        rig = rest(on_ground(ball_cap(0.1, 0.02, 41), ground, depth="linear"), (0, 0, 0.1 - 0.0005))
        loads.append(rig.wrench[0, 0, 2])
    assert loads[1] == pytest.approx(loads[0] * (SOFT.stiffness + hard.stiffness) / (2 * SOFT.stiffness), rel=BAR)


def test_the_implicit_matrix_is_the_derivative_of_the_wrench():
    rig = two_domes(20, 1e-3, "linear", layer=GRIPPY, friction=(0.6, 0.5))
    rig.advance()  # now it sticks
    check = check_implicit(rig, length=LENGTH)
    assert check.B[2, 2] > 0
    assert check.error < GEOMETRIC
    assert check.asymmetry < SYMMETRIC


def rolling_balls(margin=None):
    module = PolygonalModule(
        {"one": ball(0.1, 4, GRIPPY), "two": ball(0.12, 5, RIGID)}, {},
        [Pair("one", "two", depth="linear", margin=margin)],
    )  # fmt: skip
    return ManufacturedMotion(module, step=1e-4)


def both_roll(time):
    one = SteadyMotion((0.003, 0.002, 0.2185), (0.1, 0.2, 0.3), (0.05, 0.02, -0.01), (0.3, 5.0, 0.2))
    two = SteadyMotion((0, 0, 0), (0.01, 0.02, 0.4), (0.01, 0, 0.02), (0.1, -2.0, 0.3))
    (x, q), (y, p) = one(time), two(time)
    return np.stack([x, y])[None], np.stack([q, p])[None]


def test_wrenches_of_two_balls_are_opposite_and_lists_that_last_give_what_fresh_ones_give():
    seen = []
    for margin in (None, 1e-9):
        rig, forces = rolling_balls(margin), []

        def look(rig=rig, forces=forces):
            f, x = rig.wrench[0], rig.position[0]
            moment = f[:, 3:] + np.cross(x, f[:, :3])
            assert np.abs(f[:, :3].sum(axis=0)).max() <= PAIR_SUM * np.abs(f).max()
            assert np.abs(moment.sum(axis=0)).max() <= PAIR_SUM * np.abs(f).max()
            forces.append(f[0])

        rig.follow(both_roll, 100, look)
        seen.append(np.array(forces))
    assert np.abs(seen[0]).max(axis=1).min() > 1
    np.testing.assert_allclose(seen[0], seen[1], atol=ROUND_OFF * np.abs(seen[1]).max())


def test_an_undamped_impact_of_two_curved_bodies_gives_its_energy_back():
    """Explicit, 300 steps a contact, the upper body turning; closed form with the relative radius."""
    slick = Layer(young=1e7, poisson=0.3, thickness=0.02, friction_stick=0.0, friction_slip=0.0)
    other = 3.0
    reduced = MASS * other / (MASS + other)
    depth = (3 * reduced * SPEED**2 / (2 * np.pi * slick.stiffness * RELATIVE)) ** (1 / 3)
    half = 1.3 * np.sqrt(2 * RELATIVE * depth)
    module = PolygonalModule(
        {"upper": dome(UPPER, half, 40, RIGID, up=False), "lower": dome(LOWER, 1.3 * half, 40, slick, up=True)}, {},
        [Pair("upper", "lower", depth="linear", largest_area=2 * np.pi * RELATIVE * depth)],
    )  # fmt: skip
    spec = bodies((0, 0, 0), upper=(MASS, 0.004, (0, 0, UPPER)), lower=(other, 0.05, (0, 0, -LOWER)))
    h = 2.804 * depth / SPEED / 300
    sim = Simulation(spec, [module], step=h)
    start(sim, (0.0003, 0.0002, 0.5 * h * SPEED), (0, 0, -SPEED))
    start(sim, (0, 0, 0), body=1)
    sim.step(390)
    v = sim.data.qvel
    energy = 0.5 * MASS * np.sum(v[:3] ** 2) + 0.5 * other * np.sum(v[6:9] ** 2)
    energy += 0.5 * 0.004 * np.sum(v[3:6] ** 2) + 0.5 * 0.05 * np.sum(v[9:] ** 2)
    np.testing.assert_allclose(energy, 0.5 * MASS * SPEED**2, rtol=BAR)
    assert v[2] > v[8]
