"""Laws against closed forms, and what Omar 2014 printed wrong."""

import math

import numpy as np
import pytest
import warp as wp

from grouser.track import laws as track_laws
from tests.device_call import call

ROUND_OFF = 1e-12
DIFFERENCES = 1e-7  # relative, of central differences with steps of 1e-6


def rotation(vector):
    angle = np.linalg.norm(vector)
    x, y, z = vector / angle
    k = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + math.sin(angle) * k + (1 - math.cos(angle)) * k @ k


VECTOR, NUMBER = wp.vec3d, wp.float64
RETURNS = {
    "bushing_force": VECTOR, "tilt": (VECTOR, VECTOR, NUMBER), "back_bend": (NUMBER, NUMBER),
    "press": (NUMBER, NUMBER, NUMBER), "press_hertz": (NUMBER, NUMBER, NUMBER),
    "rebound": (NUMBER, NUMBER), "barycentric": (NUMBER, NUMBER, NUMBER),
}  # fmt: skip  # of laws that return more than one number


class Called:
    """Laws called on the device in float64: `laws.press(1e-3, …)`."""

    def __getattr__(self, name):
        def run(*arguments):
            given = [VECTOR(*map(float, a)) if np.ndim(a) else NUMBER(a) for a in arguments]
            return call(getattr(track_laws, name), *given, returns=RETURNS.get(name, NUMBER))

        return run


laws = Called()


def tilt_torque(Rp, Rb, roll, yaw):
    return sum(
        np.array(laws.tilt((Rp[:, leaning]), (Rb[:, 1]), (np.zeros(3)), k, 0.0, 0.0)[0])
        for leaning, k in ((2, roll), (0, yaw))
    )


@pytest.mark.parametrize(("roll", "yaw"), [(5e5, 5e5), (8e5, 2e5)])
def test_tilt_torque_is_the_gradient_of_its_potential_at_30_degrees(roll, yaw):
    Rp, Rb = rotation(np.array([0.3, -0.2, 0.9])), rotation(np.array([0.3, 0.2, 0.9]) * 1.1)
    turn = rotation(np.radians(30) * np.array([0.6, 0.48, 0.64]))
    Rb = turn @ Rp

    def energy(R):
        return 0.5 * roll * (Rp[:, 2] @ R[:, 1]) ** 2 + 0.5 * yaw * (Rp[:, 0] @ R[:, 1]) ** 2

    d = 1e-6
    expected = [-(energy(rotation(d * e) @ Rb) - energy(rotation(-d * e) @ Rb)) / (2 * d) for e in np.eye(3)]
    assert tilt_torque(Rp, Rb, roll, yaw) == pytest.approx(expected, rel=DIFFERENCES, abs=1.0)


def test_turning_about_the_pin_is_free():
    Rp = rotation(np.array([0.3, -0.2, 0.9]))
    Rb = rotation(0.5 * Rp[:, 1]) @ Rp
    assert np.abs(tilt_torque(Rp, Rb, 5e5, 3e5)).max() < 5e5 * ROUND_OFF


def test_bushing_force_has_its_own_stiffness_along_the_pin():
    axis, d = ([0, 1, 0]), ([1e-4, 2e-4, -3e-4])
    force = laws.bushing_force(d, ([0, 0, 0]), axis, 1e8, 5e7, 4e4, 2e4, 0.0)
    assert list(force) == pytest.approx([-1e4, -1e4, 3e4], rel=ROUND_OFF)


def test_back_bend_stops_beyond_its_angle_and_never_pulls():
    limit = math.radians(5)
    assert laws.back_bend(-limit + 0.01, 0.0, limit, 5e5, 500.0, 0.0)[0] == 0
    assert laws.back_bend(-limit - 0.01, 0.0, limit, 5e5, 500.0, 0.0)[0] == pytest.approx(5e3)
    assert laws.back_bend(-limit - 0.01, 100.0, limit, 5e5, 500.0, 0.0)[0] == 0


def test_omar_eq35_is_negative_past_two_as_printed_and_not_here():
    xi = 3.0
    assert min(1, 2 * xi - xi**2) < 0
    assert laws.friction_impedance(xi * 0.1, 100.0, 0.1) * xi * 0.1 == pytest.approx(100.0)
    assert laws.friction_impedance(0.05, 100.0, 0.1) * 0.05 == pytest.approx(100.0 * 0.5 * 1.5)


def test_contact_never_pulls_and_its_damping_starts_from_nil():
    assert laws.press(1e-3, -1e3, 1e8, 4e4, 1e-4, 0.0)[0] == 0
    assert laws.press(1e-9, 1.0, 1e8, 4e4, 1e-4, 0.0)[0] == pytest.approx(0.1 + 0.4)
    assert laws.press_hertz(4e-4, 0.0, 5e9, 4e4, 1e-4, 0.0)[0] == pytest.approx(5e9 * 8e-6)


def test_two_links_share_a_roller_to_one():
    pitch, overlap = 0.2032, 0.02
    for s in np.linspace(0, pitch, 41):
        shares = laws.taper(s, pitch / 2, overlap) + laws.taper(s - pitch, pitch / 2, overlap)
        assert shares == pytest.approx(1.0, abs=ROUND_OFF)


def test_shear_saturates_and_total_slip_force_stays_within_the_strength():
    strength, rate = 1000.0, 50.0
    assert laws.shear(1e-12, strength, rate) == pytest.approx(strength * rate)
    assert laws.shear(0.06, strength, rate) * 0.06 == pytest.approx(strength * math.tanh(3.0))
    left = strength * (1 - math.tanh(3.0))
    assert laws.slip_damping(2.0, left, 1e5, 0.5) * 2.0 == pytest.approx(left)


def test_shear_is_the_hyperbolic_tangent_to_round_off():
    for x in np.concatenate([np.linspace(0.01, 3.0, 50), [3.0001, 5.0, 40.0]]):
        assert laws.shear(x / 50, 1.0, 50.0) * x / 50 == pytest.approx(math.tanh(x), rel=1e-14)
    assert laws.shear(0.0, 2.0, 50.0) == 100.0


def test_a_face_counts_up_to_the_tip_plane_and_not_below_a_plate():
    """Grousers of 50 mm, 188 mm apart: a block shears off where the face would hold more; the plate's soil is c A."""
    tan_phi, gamma, width, gap = math.tan(math.radians(30)), 1.6e4, 0.61, 0.188 * 0.61

    def counted(depth: float, cohesion: float) -> tuple[float, float, float]:
        face = laws.passive_force(depth, width, cohesion, tan_phi, gamma)
        plane = gap * (cohesion + gamma * depth * tan_phi)
        return laws.face_before_plate(face, depth, 0.05, gap, cohesion, tan_phi, gamma), face, plane

    for depth, cohesion in ((0.01, 3e3), (0.04, 3e3), (0.04, 0.0), (0.001, 0.0)):
        got, face, plane = counted(depth, cohesion)
        assert got == pytest.approx(face)
        assert face < plane
    gap *= 0.25  # four times as many grousers
    got, face, plane = counted(0.04, 3e3)
    assert got == pytest.approx(plane)
    assert plane < face
    assert counted(0.0475, 3e3)[0] == pytest.approx(0.5 * min(counted(0.0475, 3e3)[1:]))
    assert counted(0.05, 3e3)[0] == counted(0.06, 3e3)[0] == 0


def test_passive_force_of_a_grouser_is_rankines():
    n = math.tan(math.radians(45 + 15)) ** 2
    expected = 0.61 * (0.5 * 1.6e4 * 0.05**2 * n + 2 * 3e3 * 0.05 * math.sqrt(n))
    assert laws.passive_force(0.05, 0.61, 3e3, math.tan(math.radians(30)), 1.6e4) == pytest.approx(expected)


def test_eq47_gives_vertex_values_back_and_is_linear_between():
    a, b, c = ([0, 0, 0]), ([2, 0, 0]), ([0, 3, 0])
    assert list(laws.barycentric(2.0, 0.0, a, b, c)) == pytest.approx([0, 1, 0])
    weights = laws.barycentric(0.5, 1.0, a, b, c)
    assert sum(weights) == pytest.approx(1.0)
    assert np.array(weights) @ np.array([[0, 0], [2, 0], [0, 3]]) == pytest.approx([0.5, 1.0])


def sprung(sinkage, elastic, modulus, n, rut=0.0):
    """Rebound and slope of soil that has sunk by the share `rut` of the sinkage before."""
    bears = laws.yield_pressure(rut * sinkage, modulus, n)
    assert bears == pytest.approx(modulus * (rut * sinkage) ** n)
    return laws.rebound((1 - rut) * sinkage, sinkage, bears, elastic, modulus, n)


def test_soil_springs_back_to_bekkers_curve():
    elastic, modulus = 5e7, 1e6
    assert sprung(0.02, elastic, modulus, 1.0)[0] == pytest.approx(modulus * 0.02 / (elastic + modulus))
    e, slope = sprung(0.03, elastic, 4e6, 1.2)
    assert elastic * e == pytest.approx(4e6 * (0.03 - e) ** 1.2, rel=1e-6)
    near = elastic * (sprung(0.03 + 1e-6, elastic, 4e6, 1.2)[0] - e) / 1e-6
    assert slope == pytest.approx(near, rel=1e-4)
    assert laws.yield_pressure(-0.01, modulus, 1.0) == 0


@pytest.mark.parametrize("n", [0.63, 0.7, 1.0, 1.1])
@pytest.mark.parametrize("sinkage", [1e-4, 0.01, 0.2])
def test_soil_that_yields_again_springs_back_by_the_same_root(sinkage, n):
    elastic, modulus = 5e7, 1.5e6
    fresh = sprung(sinkage, elastic, modulus, n)
    for rut in (0.0, 0.5, 0.9):
        if elastic * (1 - rut) * sinkage > modulus * (rut * sinkage) ** n:
            e, slope = sprung(sinkage, elastic, modulus, n, rut)
            assert elastic * e == pytest.approx(modulus * (sinkage - e) ** n, rel=1e-9)
            assert (e, slope) == pytest.approx(fresh, rel=1e-9)
