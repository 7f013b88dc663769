"""Teeth, rollers and shoes against closed forms: one link, everything else far away."""

import math
from dataclasses import replace

import numpy as np
import pytest

from grouser.terrain.generators import flat, from_function
from grouser.terrain.ground import Ground
from grouser.terrain.soils import soil as built_in
from grouser.track import (
    FlatGround,
    GridGround,
    Layout,
    Link,
    MeshGround,
    Shoe,
    SoilGround,
    SoilValues,
    hunting_sprocket,
    spline_sprocket,
)
from tests.track.stands import Stand, one_track

ROUND_OFF = 1e-9  # relative


@pytest.fixture(scope="module")
def track():
    return one_track()


def wheel_of(track, name):
    return next(w for w in track.wheels if w.name == name)


def bushing_at(stand, place):
    """Link 0 with its bushing at `place` [m], x of the link upright and pointing down."""
    stand.scatter()
    stand.rotation[0] = (0, math.sin(math.pi / 4), 0, math.cos(math.pi / 4))  # x to -z
    stand.position[0] = np.array(place) - np.array([0, 0, stand.track.link.pitch / 2])


def gap_direction(track):
    angle = track.assembly.first_gap["sprocket"]
    return np.array([math.cos(angle), 0, math.sin(angle)])


def test_a_seated_bushing_bears_on_the_root(track):
    stand, sprocket = Stand(track), wheel_of(track, "sprocket")
    axle, out = np.array([sprocket.centre[0], 0, sprocket.centre[1]]), gap_direction(track)
    depth = 2e-4
    bushing_at(stand, axle + (sprocket.radius - depth) * out)
    assert stand.forces()[0] == pytest.approx(1e8 * depth * out, rel=ROUND_OFF, abs=1e-3)
    bushing_at(stand, axle + (sprocket.radius + depth) * out)
    assert np.abs(stand.forces()[0]).max() == 0


@pytest.mark.parametrize("side", [1, -1])
def test_both_flanks_push_at_right_angles(track, side):
    stand, sprocket = Stand(track), wheel_of(track, "sprocket")
    axle, out = np.array([sprocket.centre[0], 0, sprocket.centre[1]]), gap_direction(track)
    across = np.cross(out, [0, 1, 0])
    flank, clearance, shift, lift = math.radians(25), 0.0012, 3e-3, 1e-3
    bushing_at(stand, axle + (sprocket.radius + lift) * out + side * shift * across)
    depth = shift * math.cos(flank) - clearance - lift * math.sin(flank)
    normal = -side * math.cos(flank) * across + math.sin(flank) * out
    force = stand.forces()[0]
    assert depth > 0
    assert force == pytest.approx(1e8 * depth * normal, rel=1e-6, abs=1.0)


def test_teeth_repeat_by_their_number(track):
    stand, sprocket = Stand(track), wheel_of(track, "sprocket")
    axle, angle = np.array([sprocket.centre[0], 0, sprocket.centre[1]]), track.assembly.first_gap["sprocket"]
    for k in (0, 7, 24):
        a = angle + 2 * math.pi * k / 25
        out = np.array([math.cos(a), 0, math.sin(a)])
        bushing_at(stand, axle + (sprocket.radius - 2e-4) * out)
        assert stand.forces()[0] @ out == pytest.approx(2e4, rel=1e-6)


def test_a_link_beside_the_sprocket_is_pushed_back(track):
    stand, sprocket = Stand(track), wheel_of(track, "sprocket")
    place = np.array([sprocket.centre[0], 0.008, sprocket.centre[1]]) + (sprocket.radius + 0.001) * gap_direction(track)
    bushing_at(stand, place)
    assert stand.forces()[0][1] == pytest.approx(-2e7 * 0.002, rel=1e-6)


def test_a_spline_gap_touches_once_where_it_is_deepest():
    radius, seat = hunting_sprocket().pitch_radius, 0.036
    angles = np.radians(np.linspace(-150, -30, 13))
    knots = tuple((seat * math.cos(a), radius + seat - 0.033 + seat * math.sin(a)) for a in angles)
    sprocket = spline_sprocket(25, radius, knots, count=60)
    track = one_track(Layout(sprocket=sprocket))
    stand, wheel = Stand(track), wheel_of(track, "sprocket")
    out = gap_direction(track)
    bushing_at(stand, np.array([wheel.centre[0], 0, wheel.centre[1]]) + (radius - 2e-4) * out)
    force = stand.forces()[0]
    chord = 2 * math.pi / 3 * seat / 60  # of the arc: its segments lie (chord^2 / 8 seat) inside
    assert force @ out == pytest.approx(2e4, abs=1e8 * chord**2 / (8 * seat))
    assert stand.contacts() == 1


def on_roller(stand, along=0.0, depth=0.0, sideways=0.0, roller="roller 3"):
    """Link 0 straight below a roller that is `along` [m] ahead of its middle, pressed by `depth`."""
    wheel = wheel_of(stand.track, roller)
    stand.scatter()
    height = wheel.centre[1] - wheel.radius - stand.track.link.rail.height + depth
    stand.position[0] = (wheel.centre[0] - along, sideways, height)


def test_a_roller_bears_by_depth_to_the_power_of_one_and_a_half(track):
    stand = Stand(track)
    for depth in (1e-4, 4e-4):
        on_roller(stand, depth=depth)
        assert stand.forces()[0] == pytest.approx([0, 0, -5e9 * depth**1.5], rel=1e-6, abs=1e-6)


def test_narrow_ends_of_the_rail_are_softer_and_share_the_roller(track):
    stand, depth = Stand(track), 2e-4
    on_roller(stand, depth=depth)
    middle = stand.forces()[0][2]
    on_roller(stand, along=track.link.pitch / 2, depth=depth)
    widths = track.link.rail.widths
    assert stand.forces()[0][2] / middle == pytest.approx(0.5 * widths[-1] / widths.max(), rel=1e-6)
    on_roller(stand, along=track.link.pitch / 2 + track.link.rail.overlap, depth=depth)
    assert abs(stand.forces()[0][2]) < 1e-6


def test_flanges_push_a_link_back_to_its_line(track):
    stand = Stand(track)
    on_roller(stand, depth=2e-4, sideways=0.0075)
    assert stand.forces()[0][1] < -1e3
    on_roller(stand, depth=2e-4, sideways=-0.0075)
    assert stand.forces()[0][1] > 1e3
    on_roller(stand, depth=2e-4, sideways=0.003)
    assert abs(stand.forces()[0][1]) < 1e-6


def test_wheel_and_link_get_opposite_wrenches(track):
    stand = Stand(track)
    on_roller(stand, depth=2e-4, sideways=0.0075, along=0.03)
    stand.velocity[0], stand.angular_velocity[0] = (0.3, 0.1, 0.0), (0.0, 0.4, 0.1)
    stand.forces()
    assert stand.module.pair_wrench_sum()[0, 0] < 1e-12


# ---- shoes ------------------------------------------------------------------------------------------


def shod(grousers=0, markers=(2, 2), **soil):
    return one_track(Layout(link=Link(shoe=Shoe(grousers=grousers, markers=markers)))), SoilValues(**soil)


def lying(stand, depth, height=0.0):
    """Link 0 alone, its plate `depth` [m] in the ground."""
    stand.scatter()
    stand.position[0] = (40.0, 30.0, height + stand.track.link.shoe.depth - depth)


@pytest.mark.parametrize("markers", [(2, 2), (3, 4)])
def test_a_flat_shoe_bears_stiffness_times_area_times_depth(markers):
    track, soil = shod(markers=markers)
    stand = Stand(track, FlatGround(soil=soil))
    lying(stand, 0.01)
    area = track.link.pitch * track.link.shoe.width
    assert stand.forces()[0] == pytest.approx([0, 0, 5e6 * area * 0.01], rel=ROUND_OFF, abs=1e-6)


@pytest.mark.parametrize("grousers", [1, 2, 3])
def test_grousers_take_their_area_and_reach_deeper(grousers):
    track, soil = shod(grousers)
    shoe, depth = track.link.shoe, 0.01
    stand = Stand(track, FlatGround(soil=soil))
    lying(stand, depth)
    tips = grousers * shoe.grouser_thickness * shoe.width
    plate = track.link.pitch * shoe.width - tips
    expected = 5e6 * (plate * depth + tips * (depth + shoe.grouser_height))
    assert stand.forces()[0][2] == pytest.approx(expected, rel=ROUND_OFF)


def test_shear_follows_the_anchor_back_and_forth():
    track, soil = shod(damping=0.0, slip_damping=0.0)
    stand, depth = Stand(track, FlatGround(soil=soil)), 0.01
    lying(stand, depth)
    stand.forces()
    area = track.link.pitch * track.link.shoe.width
    strength = area * (3e3 + 5e6 * depth * math.tan(math.radians(30)))
    stand.keep()
    for shift, expected in (
        (0.01, -math.tanh(0.5)),
        (0.2, -math.tanh(3.0)),
        (0.2 - 0.03, -math.tanh(1.5)),
        (0.0, math.tanh(3.0)),
    ):
        stand.position[0][0] = 40.0 + shift
        assert stand.forces()[0][0] == pytest.approx(strength * expected, rel=1e-6)
        stand.keep()
    lying(stand, -0.01)  # lifted: the anchor is let go
    stand.forces()
    stand.keep()
    lying(stand, depth)
    assert stand.forces()[0][0] == 0


@pytest.mark.parametrize("rule", ["sum", "lesser"])
@pytest.mark.parametrize("depth", [0.01, -0.02], ids=["plate in the ground", "on the grousers"])
def test_grousers_add_their_faces_or_the_lesser_of_face_and_tip_plane(rule, depth):
    soil = SoilValues(damping=0.0, slip_damping=0.0)
    track = one_track(Layout(link=Link(shoe=Shoe(grousers=1, grouser_strength=rule))))
    stand, shoe = Stand(track, FlatGround(soil=soil)), track.link.shoe
    lying(stand, depth)
    load = stand.forces()[0][2]
    stand.keep()
    stand.position[0][0] = 40.2  # far beyond 3 / k_T
    tip, tan_phi = depth + shoe.grouser_height, math.tan(math.radians(soil.friction_angle_deg))
    area = shoe.width * (track.link.pitch if depth > 0 else shoe.grouser_thickness)
    root = math.tan(math.radians(45 + soil.friction_angle_deg / 2))
    face = shoe.width * (0.5 * soil.weight * tip**2 * root**2 + 2 * soil.cohesion * tip * root)  # Rankine
    if rule == "lesser":
        gap = shoe.width * (track.link.pitch - shoe.grouser_thickness)
        face = min(face, gap * (soil.cohesion + soil.weight * tip * tan_phi)) if depth < 0 else 0.0
    strength = area * soil.cohesion + load * tan_phi + face
    assert stand.forces()[0][0] == pytest.approx(-strength * math.tanh(3.0), rel=1e-6)


def test_a_slope_pushes_along_its_normal():
    track, soil = shod()
    slope = math.tan(math.radians(20))
    grid = from_function(lambda x, y: slope * (x - 40.0), size=(20, 20), spacing=0.5, origin=(30, 20))
    stand = Stand(track, GridGround(grid, soil))
    stand.scatter()
    turn = -math.radians(20) / 2
    stand.rotation[0] = (0, math.sin(turn), 0, math.cos(turn))
    up = np.array([-math.sin(math.radians(20)), 0, math.cos(math.radians(20))])
    stand.position[0] = np.array([40.0, 30.0, 0.0]) + (track.link.shoe.depth - 0.01) * up
    area = track.link.pitch * track.link.shoe.width
    assert stand.forces()[0] == pytest.approx(5e6 * area * 0.01 * up, rel=1e-6, abs=1e-3)


def patch(spacing=1.0, size=20):
    """A triangulated square whose soil stiffens along x."""
    n = int(size / spacing) + 1
    x, y = np.meshgrid(30 + spacing * np.arange(n), 20 + spacing * np.arange(n))
    z = 0.02 * np.sin(x) * np.cos(y)
    k = np.arange(n * n).reshape(n, n)
    a, b, c, d = k[:-1, :-1].ravel(), k[:-1, 1:].ravel(), k[1:, :-1].ravel(), k[1:, 1:].ravel()
    triangles = np.concatenate([np.stack([a, b, d], 1), np.stack([a, c, d], 1)])
    soils = tuple(SoilValues(stiffness=1e6 * (1 + q - 30)) for q in x.ravel())
    return np.stack([x.ravel(), y.ravel(), z.ravel()], 1), triangles, soils


def test_soil_values_at_vertices_are_interpolated():
    vertices, triangles, soils = patch()
    vertices[:, 2] = 0.0
    track, _ = shod()
    stand = Stand(track, MeshGround(vertices, triangles, soils))
    lying(stand, 0.01)
    stand.position[0][:2] = (40.3, 30.4)
    area = track.link.pitch * track.link.shoe.width
    assert stand.forces()[0][2] == pytest.approx(1e6 * 11.3 * area * 0.01, rel=1e-9)


def test_lists_of_triangles_are_brute_force():
    vertices, triangles, soils = patch(0.7)
    track, _ = shod(1)
    forces = []
    for lists in (True, False):
        stand = Stand(track, MeshGround(vertices, triangles, soils, lists=lists))
        stand.scatter()
        random = np.random.default_rng(3)
        stand.position[:] = np.column_stack(
            [random.uniform(31, 48, 46), random.uniform(21, 38, 46), random.uniform(0, 0.15, 46)]
        )
        forces.append(stand.forces())
    assert np.array_equal(*forces)
    assert (np.abs(forces[0][:, 2]) > 0).sum() > 10


def test_plastic_soil_bears_after_bekker_and_keeps_the_rut():
    track, _ = shod()
    sand = built_in("dry-sand")
    ground = Ground(flat(size=(20, 20), spacing=1.0, origin=(30, 20)), sand, 0.05)
    stand, depth = Stand(track, SoilGround(ground)), 0.02
    area = track.link.pitch * track.link.shoe.width
    lying(stand, depth)
    pressed = stand.forces()[0][2]
    stand.keep()
    rut = -ground.heights(region=(39.95, 40.05, 29.9, 30.1)).max()
    bekker = sand.pressure_modulus(track.link.shoe.width) * rut**sand.n
    assert pressed / area == pytest.approx(bekker, rel=1e-6)
    assert pressed / area == pytest.approx(sand.elastic_stiffness * (depth - rut), rel=1e-6)
    assert stand.forces()[0][2] == pytest.approx(pressed, rel=1e-6)  # held there it bears the same
    lying(stand, rut - 1e-4)
    assert stand.forces()[0][2] == 0  # above its rut the shoe is free
    assert ground.heights(region=(41.0, 42.0, 31.0, 32.0)).min() == 0


@pytest.mark.parametrize("compression", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("turned", [0.0, 0.5])
def test_soil_that_does_not_vanish_lies_beside_the_shoe(compression, turned):
    track, _ = shod()
    sand = replace(built_in("dry-sand"), compression=compression)
    ground = Ground(flat(size=(20, 20), spacing=1.0, origin=(30, 20)), sand, 0.05)
    stand = Stand(track, SoilGround(ground, erosion=False))  # where it is put, before it slides
    for depth in (0.01, 0.02):
        lying(stand, depth)
        stand.rotation[0] = (0, 0, math.sin(turned / 2), math.cos(turned / 2))
        stand.forces()
        stand.module._ruts.waited.numpy()[:] = 1.0  # [s] long enough: soil is put down every 10 ms
        stand.keep()
    heights = ground.heights(region=(39.0, 41.0, 29.0, 31.0))
    raised, dug = heights[heights > 0].sum(), -heights[heights < 0].sum()
    assert dug > 20 * 0.01
    assert raised == pytest.approx((1 - compression) * dug, rel=ROUND_OFF, abs=1e-12)
    y, x = np.mgrid[29.0:31.01:0.05, 39.0:41.01:0.05]
    across = -math.sin(turned) * (x - 40) + math.cos(turned) * (y - 30)
    assert np.abs(across[: heights.shape[0], : heights.shape[1]][heights > 0]).min(initial=1.0) > 0.305 - 1e-9


def test_a_shoe_off_the_ground_given_is_reported(track):
    grid = from_function(lambda x, y: 0 * x, size=(5, 5), spacing=1.0)
    stand = Stand(track, GridGround(grid))
    stand.forces()
    code = int(stand.rig.out.status.numpy()[0].max())
    assert stand.module.explain(code) == ("a shoe has left the given ground", True)


def test_links_heavier_than_the_default_are_checked():
    with pytest.raises(Exception, match="mass"):
        replace(Link(), mass=0.0)
