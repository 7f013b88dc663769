"""One pair: its relative pose, friction of an element, status, and the wrenches on its two bodies."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp
from scipy.spatial.transform import Rotation

from grouser.contact import pairs
from grouser.contact.pairs import DEEP, KAPPA, KINDS, LOST, PairBodies, PairSums, RelativePoses
from grouser.contact.penalty import FREE, SLIPPING, STUCK, Friction
from grouser.device import zeros
from grouser.precision import mat33, quat, real, vec3, vec6
from tests.device_call import call

ROUND_OFF = 1e-12
STEP = 1e-3  # [s]
NORMAL, STICK_SPEED = vec3(0.0, 0.0, 1.0), real(1e-3)


def bodies(both_move: int = 1):
    made = zeros(PairBodies, "cpu", (1,), row=(1, 2), out=(1, 2))
    made.row.assign(np.array([[0, 1 if both_move else -1]], np.int32))
    made.out.assign(made.row.numpy())
    made.both_move.fill_(both_move)
    made.step.fill_(STEP)
    made.stiffest.fill_(1e9)
    return made


def device(values, kind) -> wp.array:
    return wp.array(np.array([values], float), dtype=kind, device="cpu")


def test_the_relative_pose_is_that_of_the_first_in_the_axes_of_the_second():
    random = np.random.default_rng(1)
    place, velocity, spin = random.normal(size=(3, 2, 3))
    turn, mount_turn = Rotation.random(2, random_state=2), Rotation.random(2, random_state=3)
    mount = random.normal(size=(2, 3))
    poses = zeros(RelativePoses, "cpu", (1, 1))
    call(
        pairs.set_relative_pose, bodies(), poses, 0, 0, real(0.5),
        vec3(*mount[0]), mat33(*mount_turn[0].as_matrix().ravel()),
        vec3(*mount[1]), mat33(*mount_turn[1].as_matrix().ravel()),
        device(place, vec3), device(turn.as_quat(), quat), device(velocity, vec3), device(spin, vec3), returns=vec6,
    )  # fmt: skip
    axes = turn * mount_turn  # two that move are taken where they are now
    origin = place + turn.apply(mount)
    back = axes[1].inv()
    np.testing.assert_allclose(poses.position.numpy()[0, 0], back.apply(origin[0] - origin[1]), atol=ROUND_OFF)
    np.testing.assert_allclose(poses.rotation.numpy()[0, 0], (back * axes[0]).as_matrix(), atol=ROUND_OFF)
    arms = origin[0] - place
    moving = velocity[0] + np.cross(spin[0], arms[0]) - velocity[1] - np.cross(spin[1], arms[1])
    np.testing.assert_allclose(poses.velocity.numpy()[0, 0], back.apply(moving), atol=ROUND_OFF)
    np.testing.assert_allclose(poses.angular_velocity.numpy()[0, 0], back.apply(spin[0] - spin[1]), atol=ROUND_OFF)


def test_no_point_moves_further_than_said():
    random = np.random.default_rng(4)
    turn, shift = Rotation.random(random_state=5), random.normal(size=3)
    poses = zeros(RelativePoses, "cpu", (1, 1))
    poses.rotation.assign(turn.as_matrix()[None, None])
    poses.position.assign(shift[None, None])
    upright = mat33(*np.eye(3).ravel())
    bound = call(pairs.moved_since, poses, 0, 0, vec3(), upright, real(2.0), returns=real)
    points = random.normal(size=(1000, 3))
    points *= 2 / np.linalg.norm(points, axis=1, keepdims=True)
    moved = np.linalg.norm(turn.apply(points) + shift - points, axis=1)
    assert moved.max() <= bound <= np.linalg.norm(shift) + 4


def law(stiffness=1000.0, damping=0.0, stick=6.0, slip=4.0):
    made = Friction()
    made.stiffness, made.damping, made.stick_limit, made.slip_limit = stiffness, damping, stick, slip
    return made


def drag(displacement, velocity, state=STUCK, ahead=0.0, **more):
    arguments = NORMAL, law(**more), vec3(*displacement), vec3(*velocity), vec3(*velocity), state, STICK_SPEED
    return call(pairs.element_friction, *arguments, real(ahead), returns=(vec3, real))


def test_an_element_is_drawn_back_along_the_surface_only():
    force, weight = drag((0.003, 0.0, 0.5), (0.0, 0.0, 7.0))
    np.testing.assert_allclose(force, [-3.0, 0.0, 0.0], atol=ROUND_OFF)
    assert weight == 0.0  # explicit


def test_a_free_element_begins_to_stick_in_this_step():
    force, weight = drag((9.0, 9.0, 9.0), (1.0, 0.0, 0.0), state=FREE, ahead=STEP, damping=2.0)
    np.testing.assert_allclose(force, [-(1000 * STEP + 2), 0.0, 0.0], atol=ROUND_OFF)
    assert weight == pytest.approx(STEP * (STEP * 1000 + 2))


def test_a_slipping_element_counts_by_its_secant():
    force, weight = drag((0.01, 0.0, 0.0), (8.0, 0.0, 0.0), ahead=STEP)
    np.testing.assert_allclose(force, [-4.0, 0.0, 0.0], atol=ROUND_OFF)
    assert weight == pytest.approx(STEP * 4.0 / 8.0)


@pytest.mark.parametrize(("drawn", "state", "kept"), [(0.003, STUCK, 0.003), (0.02, SLIPPING, 0.004)])
def test_the_stick_point_stays_or_follows_the_slip(drawn, state, kept):
    arguments = NORMAL, law(), vec3(drawn, 0.0, 0.0), vec3(), vec3(), vec3(), STUCK, STICK_SPEED, real(STEP)
    anchor, after = call(pairs.next_stick_point, *arguments, returns=(vec3, int))
    assert after == state
    np.testing.assert_allclose(anchor, [drawn - kept, 0.0, 0.0], atol=ROUND_OFF)


def test_the_most_severe_status_is_kept():
    status = wp.zeros((1, 1), dtype=wp.int32, device="cpu")
    for kind, pair in ((KAPPA, 3), (LOST, 2), (DEEP, 1)):
        call(pairs.raise_status, status, 0, 0, kind, pair)
    assert status.numpy()[0, 0] == LOST + KINDS * 2
    call(pairs.raise_status, status, 0, -1, LOST, 0)  # fixed: it has no row


def test_wrenches_on_two_bodies_are_opposite_about_any_point():
    random = np.random.default_rng(6)
    wrench, between = random.normal(size=6), random.normal(size=3)
    turn = Rotation.random(random_state=7)
    poses, sums = zeros(RelativePoses, "cpu", (1, 1)), zeros(PairSums, "cpu", (1, 1))
    poses.world_rotation.assign(turn.as_matrix()[None, None])
    poses.between.assign(between[None, None])
    sums.wrench.assign(wrench[None, None])
    sums.touched.fill_(1)
    out = wp.zeros((1, 2), dtype=vec6, device="cpu")
    implicit = wp.zeros((1, 2), dtype=wp.types.matrix((6, 6), wp.float64), device="cpu")
    status = wp.zeros((1, 2), dtype=wp.int32, device="cpu")
    call(pairs.sum_onto_bodies, bodies(), poses, sums, 0, out, implicit, status)
    one, two = out.numpy()[0]
    np.testing.assert_allclose(one[:3], turn.apply(wrench[:3]), atol=ROUND_OFF)
    np.testing.assert_allclose(two[:3], -one[:3], atol=ROUND_OFF)
    # about the second body's origin, `between` away from the first's
    np.testing.assert_allclose(one[3:] + np.cross(between, one[:3]) + two[3:], 0, atol=ROUND_OFF)
    assert not status.numpy().any()
