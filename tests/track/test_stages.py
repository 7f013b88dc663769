"""Stages of a substep, one device function at a time, against a few lines of NumPy."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp
from scipy.spatial.transform import Rotation

from grouser.precision import precision
from grouser.track import types as t
from grouser.track.stages import blocks, contacts, links, pins, rollers, surface, teeth
from tests.device_call import call

P = precision("float64")
ROUND_OFF = 1e-12  # relative, of a few operations
RANDOM = np.random.default_rng(7)


def filled(struct, **fields):
    """A struct with some of its fields."""
    made = struct()
    for name, values in fields.items():
        kind = struct.vars[name].type
        setattr(made, name, wp.array(values, dtype=kind.dtype, device="cpu") if hasattr(kind, "ndim") else values)
    return made


def zeros(struct, rows):
    """A struct of arrays of zeros, (world, row)."""
    made = struct()
    for name, variable in struct.vars.items():
        setattr(made, name, wp.zeros((1, rows), dtype=variable.type.dtype, device="cpu"))
    return made


# ---- profiles -----------------------------------------------------------------------------------------


def profile(points):
    """Tables with one profile."""
    points = np.array(points, float)
    step = np.diff(points, axis=0)
    segment = np.zeros(len(points), t.Segment.numpy_dtype())
    segment["length"][:-1] = np.linalg.norm(step, axis=1)
    segment["direction"][:-1] = step / segment["length"][:-1, None]
    return filled(t.Tables, profile=points, segment=segment)


ROOF = [(-1.0, 0.0), (0.0, 1.0), (1.0, 0.0)]  # a corner that bulges
VALLEY = [(-1.0, 1.0), (0.0, 0.0), (1.0, 1.0)]  # one that is hollow


@pytest.mark.parametrize(
    ("points", "segment", "at", "depth", "out"),
    [
        (ROOF, 0, (-0.6, 0.6), 0.2 - np.sqrt(0.02), (-np.sqrt(0.5), np.sqrt(0.5))),  # beside the segment
        (ROOF, 0, (0.0, 1.1), 0.1, (0.0, 1.0)),  # over the corner: along the line to it
        (ROOF, 1, (0.0, 1.1), -1.0, None),  # only once: not in the segment after it
        (VALLEY, 0, (0.1, -0.1), -1.0, None),  # beyond a hollow corner the next segment comes first
        (ROOF, 0, (-0.4, 0.3), -1.0, None),  # the centre itself is inside: another segment's
    ],
)
def test_a_bushing_in_one_segment_of_a_tooth(points, segment, at, depth, out):
    found, direction = call(
        teeth.tooth_depth, profile(points), segment, len(points) - 1, P.vec2(*at), P.real(0.2), returns=(P.real, P.vec2)
    )
    assert found == pytest.approx(depth, rel=ROUND_OFF)
    if out is not None:
        assert direction == pytest.approx(out, rel=ROUND_OFF, abs=ROUND_OFF)


def distance_to_lines(points, at):
    """[m] least distance of a point from a line of segments."""
    a, b = np.array(points[:-1]), np.array(points[1:])
    along = np.clip(((at - a) * (b - a)).sum(-1) / ((b - a) ** 2).sum(-1), 0, 1)
    return np.linalg.norm(a + along[:, None] * (b - a) - at, axis=-1).min()


def test_depth_in_a_profile_is_the_least_distance_to_it():
    points = [(-0.3, 0.5), (-0.2, 0.45), (-0.1, 0.3), (0.15, 0.32), (0.3, 0.5)]
    tables, last = profile(points), len(points) - 1
    for along in np.linspace(-0.28, 0.28, 9):
        segment = call(rollers.segment_at, tables, 0, last, P.real(along), returns=int)
        assert points[segment][0] <= along <= points[segment + 1][0]
        surface_there = np.interp(along, *zip(*points, strict=True))
        radius = surface_there - 0.04
        depth, out = call(
            rollers.depth_in_profile, tables, 0, last, segment, P.real(along), P.real(radius), P.real(0.04),
            returns=(P.real, P.vec2),
        )  # fmt: skip
        assert depth == pytest.approx(distance_to_lines(points, np.array([along, radius])), rel=1e-9)
        assert np.linalg.norm(out) == pytest.approx(1.0)


# ---- blocks -------------------------------------------------------------------------------------------


def jacobian(arm):
    """(3, 6) velocity of a point from velocity and angular velocity: v + w x arm."""
    x, y, z = arm
    return np.hstack([np.eye(3), np.array([[0, z, -y], [-z, 0, x], [y, -x, 0]])])


def test_blocks_are_products_of_jacobians():
    a, b, n = RANDOM.normal(size=(3, 3))
    size = 2.5
    turning = call(blocks.rotation_block, P.vec3(*a), P.vec3(*b), returns=P.mat33)
    scaled = P.vec3(*(size * a)), P.vec3(*(size * b)), P.mat33(*(size * turning).ravel())
    got = call(blocks.isotropic_block, P.real(size), *scaled, returns=t.mat68)
    assert got[:, :6] == pytest.approx(size * jacobian(a).T @ jacobian(b), rel=1e-9, abs=1e-12)
    got = call(blocks.directed_block, P.vec3(*n), P.vec3(*a), P.vec3(*b), P.real(size), returns=t.mat68)
    expected = size * np.outer(jacobian(a).T @ n, jacobian(b).T @ n)
    assert got[:, :6] == pytest.approx(expected, rel=1e-9, abs=1e-12)
    assert not got[:, 6:].any()


def test_rotation_is_that_of_the_angular_velocity():
    q, omega, h = Rotation.random(random_state=3), np.array([0.4, -1.1, 0.7]), 1e-3
    got = call(links.rotate, P.quat(*q.as_quat()), P.vec3(*omega), P.real(h), returns=P.quat)
    expected = Rotation.from_rotvec(h * omega) * q
    assert (Rotation.from_quat(got) * expected.inv()).magnitude() < (h * np.linalg.norm(omega)) ** 3
    assert np.linalg.norm(got) == pytest.approx(1.0, rel=ROUND_OFF)


# ---- contacts and joints ------------------------------------------------------------------------------


def test_a_full_list_of_contacts_is_reported_and_nothing_is_added():
    one = t.Contact()
    one.force = P.vec3(1.0, 2.0, 3.0)
    listed, loads, results = zeros(t.Contacts, 2), zeros(t.Links, 2), zeros(t.Results, 2)

    def add(room):
        call(
            contacts.add_contact, 0, 0, 0, room, 0, P.real(1e-3), one, listed.found, listed.contact, results.status,
            loads.force, loads.torque, loads.diagonal, loads.effective_mass, loads.effective_moment,
            loads.effective_inertia,
        )  # fmt: skip

    add(room=1)
    assert listed.found.numpy()["count"][0, 0] == 1
    assert loads.force.numpy()[0, 0].tolist() == [1, 2, 3]
    add(room=1)
    assert listed.found.numpy()["count"][0, 0] == 1
    assert results.status.numpy()[0, 0] == t.FULL
    assert loads.force.numpy()[0, 0].tolist() == [1, 2, 3]


def test_friction_opposes_the_sliding():
    n, u = np.array([0.0, 0.6, 0.8]), np.array([0.3, -0.1, 0.2])
    force, _, sliding = call(
        contacts.add_friction, P.vec3(*u), P.vec3(*n), P.real(100.0), P.real(30.0), P.real(0.01),
        returns=(P.vec3, P.real, P.real),
    )  # fmt: skip
    tangential = u - (u @ n) * n
    assert sliding == pytest.approx(np.linalg.norm(tangential))
    assert force == pytest.approx(100.0 * n - 30.0 * tangential / np.linalg.norm(tangential), rel=ROUND_OFF)


H = 1e-3  # [s]
DIFFERENCES = 1e-6  # relative: the wrench is linear in the velocities, so this is round-off over the step


def track_of_three(by_shoes):
    tr = t.Track()
    tr.links, tr.implicit, tr.pitch, tr.back_bend_by_shoes = 3, 1, 0.2, by_shoes
    tr.radial_stiffness, tr.axial_stiffness, tr.radial_damping, tr.axial_damping = 1e6, 4e5, 400.0, 300.0
    tr.roll_stiffness, tr.yaw_stiffness, tr.tilt_damping, tr.pin_damping = 5e3, 3e3, 30.0, 4.0
    tr.back_bend_angle, tr.back_bend_stiffness, tr.back_bend_damping = 0.02, 5e3, 10.0
    tr.edge_x, tr.edge_y, tr.edge_z, tr.full_damping_depth = 0.0995, 0.05, -0.03, 1e-6
    tr.edge_stiffness, tr.edge_damping = 1e6, 100.0
    return tr


def chain(position, turn, twist):
    """State and loads of one world's links."""
    state = filled(
        t.State, position=position[None], rotation=turn.as_quat()[None], velocity=twist[None, :, :3].copy(),
        angular_velocity=twist[None, :, 3:].copy(),
    )  # fmt: skip
    loads = zeros(t.Links, len(position))
    loads.axes.assign(turn.as_matrix()[None])
    return state, loads


@pytest.mark.parametrize("by_shoes", [0, 1])
def test_the_blocks_of_a_joint_are_the_derivative_of_its_forces(by_shoes):
    """(M + B) dv = h f holds at the end of the substep if B = -h df/dv, positions extrapolated by the substep."""
    turn = Rotation.from_euler("xyz", [[0.0, 0.0, 0.0], [0.01, 0.06, -0.02], [0.0, 0.0, 0.0]])  # the second bent back
    position = np.array([[0.0, 0.0, 0.0], [0.1998, 0.001, 0.006], [0.4, 0.0, 0.0]])
    twist = 0.05 * RANDOM.normal(size=(3, 6))

    def evaluate(twist):
        state, loads = chain(position, turn, twist)
        call(pins.joint_forces, 0, track_of_three(by_shoes), state, loads, 0, P.real(H), P.real(H))
        return loads

    def wrenches(twist):
        loads = evaluate(twist)
        return np.hstack([loads.force.numpy()[0], loads.torque.numpy()[0]])[:2].ravel()

    loads, step = evaluate(twist), 1e-3
    derivative = np.zeros((12, 12))
    for k in range(12):
        d = np.zeros((3, 6))
        d.flat[k] = step
        derivative[:, k] = (wrenches(twist + d) - wrenches(twist - d)) / (2 * step)
    mass, moment = loads.effective_mass.numpy()[0], loads.effective_moment.numpy()[0]
    inertia, diagonal = loads.effective_inertia.numpy()[0], loads.diagonal.numpy()[0, :, :, :6]
    block = np.zeros((12, 12))
    for k in range(2):
        lever = jacobian(moment[k])[:, 3:]
        isotropic = np.block([[mass[k] * np.eye(3), lever], [lever.T, inertia[k]]])
        block[6 * k : 6 * k + 6, 6 * k : 6 * k + 6] = isotropic + diagonal[k]
    block[:6, 6:] = loads.coupling.numpy()[0, 0, :, :6]
    block[6:, :6] = block[:6, 6:].T
    assert block == pytest.approx(-H * derivative, rel=DIFFERENCES, abs=DIFFERENCES * np.abs(block).max())


def test_action_and_reaction_of_a_joint():
    turn = Rotation.random(3, random_state=5)
    position = RANDOM.normal(size=(3, 3))
    state, loads = chain(position, turn, RANDOM.normal(size=(3, 6)))
    call(pins.joint_forces, 0, track_of_three(0), state, loads, 0, P.real(H), P.real(H))
    force, torque = loads.force.numpy()[0], loads.torque.numpy()[0]
    assert np.abs(force.sum(0)).max() <= ROUND_OFF * np.abs(force).max()
    moment = (torque + np.cross(position, force)).sum(0)
    assert np.abs(moment).max() <= 100 * ROUND_OFF * np.abs(torque).max()


# ---- ground -------------------------------------------------------------------------------------------


def ground(**fields):
    soils = np.zeros(3, t.ShoeSoil.numpy_dtype())
    for k, name in enumerate(soils.dtype.names):
        soils[name] = [1.0 + k, 10.0 * (1 + k), 100.0 * (1 + k)]
    return filled(t.Ground, soil=soils, per_spacing=2.0, x0=-1.0, y0=3.0, **fields)


def look(g, x, y):
    kinds = (wp.bool, P.real, P.vec3, t.ShoeSoil)
    return call(surface.ground_at, g, P.real(x), P.real(y), returns=kinds)


def test_a_grid_is_bilinear_and_ends_at_its_border():
    heights = RANDOM.normal(size=(4, 5))
    g = ground(kind=t.GRID, heights=heights)
    x, y = 0.3, 3.9

    def bilinear(x, y):
        u, v = (x + 1.0) * 2.0, (y - 3.0) * 2.0
        i, j = int(v), int(u)
        columns = (1 - v + i) * heights[i] + (v - i) * heights[i + 1]
        return (1 - u + j) * columns[j] + (u - j) * columns[j + 1]

    there, height, normal, _ = look(g, x, y)
    assert there
    assert height == pytest.approx(bilinear(x, y), rel=1e-9)
    d = 1e-6
    slope = [(bilinear(x + d, y) - bilinear(x - d, y)) / (2 * d), (bilinear(x, y + d) - bilinear(x, y - d)) / (2 * d)]
    expected = np.array([-slope[0], -slope[1], 1.0])
    assert normal == pytest.approx(expected / np.linalg.norm(expected), rel=1e-6)
    assert not look(g, 1.01, 3.9)[0]
    assert not look(g, 0.3, 2.99)[0]


def test_soil_of_a_mesh_is_interpolated_in_every_field():
    vertex = np.array([[-1.0, 3.0, 0.0], [1.0, 3.0, 1.0], [-1.0, 5.0, 2.0]])
    first, count = np.zeros((1, 1), np.int32), np.ones((1, 1), np.int32)
    triangle, listed = np.array([[0, 1, 2]], np.int32), np.zeros(1, np.int32)
    g = ground(kind=t.MESH, vertex=vertex, triangle=triangle, listed=listed, first=first, count=count)
    g.per_spacing = 0.5
    there, height, normal, soil = look(g, -0.5, 3.5)
    weights = np.array([0.5, 0.25, 0.25])
    assert there
    assert height == pytest.approx(weights @ vertex[:, 2])
    assert normal == pytest.approx(np.array([-0.5, -1.0, 1.0]) / 1.5)
    expected = [weights @ np.array([1.0 + k, 10.0 * (1 + k), 100.0 * (1 + k)]) for k in range(8)]
    assert list(soil) == pytest.approx(expected)
    assert not look(g, 0.8, 4.8)[0]
