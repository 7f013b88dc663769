"""The shared rigs, on modules whose answers are known."""

import numpy as np
import pytest

from tests.engine.fakes import LawModule, constant
from tests.rig import (
    HALF_TURN,
    MIRROR,
    QUARTER_TURN,
    ManufacturedMotion,
    SteadyMotion,
    check_implicit,
    conjugate,
    image_errors,
    product,
    quaternion,
    rotation_vector,
    translation,
)

ROUND_OFF = 1e-12
DIFFERENCE = 1e-6  # relative, of central differences with 1e-7 m/s in float64
L, K, D = 0.3, 5e4, 40.0
ARM = np.array([0.05, -0.1, -0.2])  # [m] where the springs below hold the body


def skew(a):
    return np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])


def held(share=1.0):
    """A spring and damper at ARM (world axes): B = J^T (h D + h^2 K) J, J = [1, -arm x], times `share`."""
    J = np.hstack([np.eye(3), -skew(ARM)])

    def law(h, motion):
        v = motion.velocity + np.cross(motion.angular_velocity, ARM)
        force = -K * (motion.position + h * v) - D * v
        block = share * J.T @ J * (h * D + h**2 * K)
        return np.concatenate([force, np.cross(ARM, force)], axis=-1), block

    return law


def test_the_implicit_check_passes_what_is_right_and_only_that():
    rig = ManufacturedMotion(LawModule("body", held()), step=1e-3)
    rig.place(position=(0.01, 0.02, 0.03), velocity=(1, 2, 3)).advance()
    check = check_implicit(rig, length=L)
    assert check.error < DIFFERENCE
    assert check.asymmetry < ROUND_OFF
    assert check.least > -ROUND_OFF
    np.testing.assert_array_equal(rig.velocity[0, 0], [1, 2, 3])
    wrong = ManufacturedMotion(LawModule("body", held(1.02)), step=1e-3)
    assert check_implicit(wrong, length=L).error == pytest.approx(0.02, rel=0.05)


def test_the_implicit_check_sees_asymmetry_and_negative_directions():
    B = np.eye(6)
    B[0, 1] = 0.1
    B[5, 5] = -0.2
    rig = ManufacturedMotion(LawModule("body", lambda h, motion: (np.zeros(6), B)))
    check = check_implicit(rig, length=1.0)
    assert check.asymmetry == pytest.approx(0.1)
    assert check.least == pytest.approx(-0.2)


def test_velocities_are_those_that_led_to_the_pose():
    """x+ = x + h v+ and q+ = exp(h w+) q, in every world."""
    rig = ManufacturedMotion(LawModule("body", constant(np.zeros(6))), worlds=2, step=1e-2)
    motion = SteadyMotion((1, 2, 3), (0.3, -0.2, 0.5), (0.1, 0.2, -0.3), (0.5, -1.0, 2.0))
    rig.follow(motion, 7)
    np.testing.assert_allclose(rig.velocity, np.broadcast_to(motion.velocity, (2, 1, 3)), atol=ROUND_OFF)
    np.testing.assert_allclose(rig.spin, np.broadcast_to(motion.spin, (2, 1, 3)), atol=1e-11)
    end = np.array([1, 2, 3]) + 0.07 * np.array(motion.velocity)
    np.testing.assert_allclose(rig.motion.position.numpy()[1, 0], end)
    assert (rig.module.commits == 8).all()  # the start and seven steps


def test_rotations_go_there_and_back():
    vector = np.array([[0.3, -0.4, 1.2], [0, 0, 0], [1e-9, 0, 0]])
    np.testing.assert_allclose(rotation_vector(quaternion(vector)), vector, atol=1e-15)
    turned = product(quaternion(np.array([0, 0, 0.5])), quaternion(np.array([0, 0, 0.7])))
    np.testing.assert_allclose(turned, quaternion(np.array([0, 0, 1.2])), atol=1e-15)


SYMMETRIES = [translation(0.5, -0.3), QUARTER_TURN, HALF_TURN, MIRROR]
MOTION = SteadyMotion((0.4, 0.2, 0.1), (0.1, 0.2, 0.3), (0.3, 0.2, 0.1), (0.4, 0.5, 0.6))


def isotropic(h, motion):
    """Drag, lift with the tilt of the body, and a torque against its spin: the same in all directions."""
    q, v = motion.rotation, motion.velocity
    up = product(product(q, np.array([0.0, 0, 1, 0])), conjugate(q))[..., :3]
    return np.concatenate([up - v, np.cross(v, up) - motion.angular_velocity], axis=-1), np.zeros((6, 6))


def test_an_isotropic_law_has_every_symmetry():
    rig = ManufacturedMotion(LawModule("body", isotropic), worlds=5, step=0.01)
    errors = image_errors(rig, MOTION, SYMMETRIES, 20, length=1.0)
    assert max(errors.values()) < ROUND_OFF


@pytest.mark.parametrize(
    ("broken", "law"),
    [
        ({0}, lambda h, m: (np.concatenate([m.position, m.angular_velocity], axis=-1), 0)),  # knows where it is
        (
            {1, 2},
            lambda h, m: (np.concatenate([m.velocity + np.eye(3)[0], m.angular_velocity], axis=-1), 0),
        ),  # knows x from y
        (
            {3},
            lambda h, m: (np.concatenate([m.velocity, m.angular_velocity + m.velocity], axis=-1), 0),
        ),  # has a handedness
    ],
)
def test_a_law_that_breaks_a_symmetry_is_found(broken, law):
    rig = ManufacturedMotion(LawModule("body", law), worlds=5, step=0.01)
    errors = list(image_errors(rig, MOTION, SYMMETRIES, 5, length=1.0).values())
    assert {k for k, error in enumerate(errors) if error > 1e-6} == broken
