"""One wheel in the rigs: where it touches, how hard, and the forces of slip, against closed forms."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grouser.contact.tyre import Suspension, Tyre, TyreModule, WheelUnit
from grouser.errors import InputError
from grouser.terrain.elevation import ElevationGrid
from grouser.terrain.generators import flat, sinusoid, slope, steps
from grouser.terrain.ground import Ground
from tests.rig import (
    HALF_TURN,
    MIRROR,
    QUARTER_TURN,
    ManufacturedMotion,
    check_implicit,
    product,
    quaternion,
    steady_motions,
    translation,
)

R = 0.15
TYRE = Tyre.simple(R, 200.0, B=10.0, C=1.6, mu=0.9, E=0.3)
CAR = Tyre().scaled(R, 200.0)
SPRING = Suspension(10000.0, 400.0, saturation=0.05, progression=1e6, travel=0.1)
STEP = 1e-3
ROUND_OFF = 1e-9
SETTLED = 1e-6  # of a force: exp(-V t / relaxation) of what it began with is left
DERIVATIVE = 1e-6  # central differences at 1e-7 m/s
FOUND = 2e-5  # [m] of travel: bilinear cells meet in faint edges, between which a search by slopes may stop
SINGLE = 1e-4  # float32: 6e-8 x 1 m of 0.02 m travel, times the slopes of the laws


def rig_of(terrain, tyre=TYRE, suspension=SPRING, **options):
    dtype = options.pop("dtype", "float64")
    module = TyreModule(terrain, [WheelUnit("wheel", tyre, suspension)], **options)
    rig = ManufacturedMotion(module, step=STEP, dtype=dtype)
    return rig.place(rotation=[0.0, 0.0, 0.0, 1.0])


def on_flat(travel=0.02, **options):
    rig = rig_of(flat(size=(10, 10)), **options)
    return rig.place(position=[[[0, 0, 0.5], [0, 0, R - travel]]])


def force(rig):
    return rig.evaluate().wrench[0, 1]


@pytest.mark.parametrize("travel", [0.001, 0.03, 0.05, 0.08])
def test_the_suspension_is_linear_then_stiffens(travel):
    wanted = 10000.0 * travel + 1e6 * max(travel - 0.05, 0.0) ** 2
    assert force(on_flat(travel))[2] == pytest.approx(wanted, rel=ROUND_OFF)
    assert SPRING.travel_under(wanted) == pytest.approx(travel, rel=ROUND_OFF)


@pytest.mark.parametrize("progression", [0.0, 1e6])
def test_a_bump_stop_adds_its_stiffness_beyond_the_travel(progression):
    from dataclasses import replace

    stopped = replace(SPRING, stop_stiffness=3e5, progression=progression)
    rig = on_flat(0.09, suspension=stopped)
    force(rig)
    rig.advance()  # a wheel that is beyond its travel at first contact would come from below the ground
    for travel, rate in ((0.09, 0.0), (0.12, 0.0), (0.12, 0.1)):
        at_end = travel + STEP * rate
        wanted = 10000.0 * at_end + progression * (at_end - 0.05) ** 2 + 3e5 * max(at_end - 0.1, 0.0)
        rig.place(position=[[[0, 0, 0.5], [0, 0, R - travel]]], velocity=[[[0, 0, 0], [0, 0, -rate]]])
        assert force(rig)[2] == pytest.approx(wanted + 400.0 * rate, rel=ROUND_OFF)
        assert stopped.travel_under(wanted) == pytest.approx(at_end, rel=ROUND_OFF)


def test_a_tyre_never_pulls_and_gives_no_force_in_the_air():
    rig = on_flat(0.02).place(velocity=[[[0, 0, 0], [0, 0, 1.0]]])
    assert np.abs(force(rig)).max() == 0.0
    rig = on_flat(-0.01).place(velocity=[[[0, 0, 0], [3.0, 0, -1.0]]])
    assert np.abs(rig.evaluate().wrench).max() == 0.0
    assert np.abs(rig.implicit).max() == 0.0


def test_the_damper_adds_its_rate():
    rig = on_flat(0.02).place(velocity=[[[0, 0, 0], [0, 0, -0.1]]])
    assert force(rig)[2] == pytest.approx(10000.0 * (0.02 + STEP * 0.1) + 400.0 * 0.1, rel=ROUND_OFF)


def rolled(rig, speed, kappa, tangent, steps=400):
    """Steady slip: kappa = (w r - V) / V, tan(alpha) = -V_y / V."""
    rig.place(velocity=[[[0, 0, 0], [speed, -tangent * speed, 0]]], spin=[[[0, 0, 0], [0, speed * (1 + kappa) / R, 0]]])
    rig.evaluate()
    for _ in range(steps):
        rig.advance()
    return rig.wrench[0, 1]


@pytest.mark.parametrize("tyre", [TYRE, CAR], ids=["plain", "car"])
@pytest.mark.parametrize("kappa", [-0.6, -0.1, -0.02, 0.03, 0.1, 0.5, 2.0])
def test_longitudinal_force_is_the_magic_formula(tyre, kappa):
    got = rolled(on_flat(tyre=tyre), 20.0, kappa, 0.0)
    assert got[0] == pytest.approx(float(tyre.longitudinal(kappa, got[2])), rel=SETTLED)
    assert got[4] == pytest.approx(-R * got[0], rel=SETTLED)  # the torque that brakes the wheel
    assert abs(got[1]) < SETTLED * got[2]


@pytest.mark.parametrize("tyre", [TYRE, CAR], ids=["plain", "car"])
@pytest.mark.parametrize("alpha_deg", [-12.0, -3.0, 1.0, 6.0, 20.0])
def test_lateral_force_is_the_magic_formula(tyre, alpha_deg):
    tangent = math.tan(math.radians(alpha_deg))
    got = rolled(on_flat(tyre=tyre), 20.0, 0.0, tangent)
    assert got[1] == pytest.approx(float(tyre.lateral(tangent, got[2])), rel=SETTLED)


@pytest.mark.parametrize(("kappa", "tangent"), [(0.1, 0.05), (-0.2, 0.3), (0.02, -0.02)])
def test_combined_slip_pushes_along_the_slip_with_the_force_of_its_size(kappa, tangent):
    got = rolled(on_flat(), 20.0, kappa, tangent)
    size = math.hypot(kappa, tangent)
    wanted = float(TYRE.longitudinal(size, got[2]))
    np.testing.assert_allclose(got[:2], np.array([kappa, tangent]) / size * wanted, rtol=SETTLED)


def test_the_plain_formula_by_hand():
    s = 10.0 * 0.08
    wanted = 0.9 * 200.0 * math.sin(1.6 * math.atan(s - 0.3 * (s - math.atan(s))))
    assert float(TYRE.longitudinal(0.08)) == pytest.approx(wanted, rel=ROUND_OFF)
    assert float(TYRE.lateral(0.08)) == pytest.approx(wanted, rel=1e-6)  # p_Ky2 = 1e3: sin(2 atan) bends by 1e-6
    assert TYRE.peak_force(300.0) == pytest.approx(270.0)


@pytest.mark.parametrize("angle", [-20.0, 5.0, 30.0])
def test_on_a_slope_the_contact_lies_uphill_of_the_axle(angle):
    """A level wheel over a plane z = x tan(a): travel r / cos(a) - height, contact at gamma = a; eq. 9 and 10."""
    a = math.radians(angle)
    rig = rig_of(slope(angle, size=(10, 10))).place(position=[[[0, 0, 1.0], [0, 0, R / math.cos(a) - 0.02]]])
    f = force(rig)
    assert rig.module.observe()["travel"][0, 0] == pytest.approx(0.02, abs=1e-9)
    assert rig.module.observe()["angle"][0, 0] == pytest.approx(a, abs=1e-5)  # a crest is flat: root of 1e-11
    suspension = 200.0
    assert f[2] == pytest.approx(suspension, rel=1e-5)
    assert f[0] == pytest.approx(-suspension * math.tan(a), rel=1e-4)


@settings(max_examples=25)
@given(st.floats(-3, 3), st.floats(-0.25, 0.25), st.floats(-0.25, 0.25), st.floats(-3, 3))
def test_refined_search_finds_the_deepest_point_of_the_rim(x, pitch, roll, heading):
    terrain = sinusoid(0.08, 1.7, 30.0, size=(12, 12), spacing=0.02)
    rig = rig_of(terrain)
    turn = quaternion([0, 0, heading])
    turn = product(turn, product(quaternion([0, pitch, 0]), quaternion([roll, 0, 0])))
    centre = np.array([x, 0.3, terrain.height(x, 0.3) + R - 0.03])
    rig.place(position=[[[0, 0, 1], centre]], rotation=turn)
    rig.evaluate()
    got = rig.module.observe()["travel"][0, 0]
    wanted = brute_force(terrain, centre, turn)
    assert got == pytest.approx(max(wanted, 0.0), abs=FOUND)


def brute_force(terrain, centre, turn):
    """Largest travel over many points of the rim, by bisection: no Newton, no refinement."""
    matrix = rotation_matrix(turn)
    up, across = matrix[:, 2], matrix[:, 1]
    ahead = np.cross(across, up)
    angles = np.linspace(-1.2, 1.2, 4001)
    rim = centre + R * (np.sin(angles)[:, None] * ahead - np.cos(angles)[:, None] * up)
    low, high = np.full(len(angles), -0.5), np.full(len(angles), 0.5)
    for _ in range(50):
        middle = (low + high) / 2
        at = rim + middle[:, None] * up
        under = at[:, 2] < terrain.height(at[:, 0], at[:, 1])
        low, high = np.where(under, middle, low), np.where(under, high, middle)
    travel = (low + high) / 2
    return float(travel[(travel <= SPRING.travel) | (np.abs(angles) < math.pi / 4)].max())


def rotation_matrix(q):
    x, y, z, w = q
    return np.array([
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ])  # fmt: skip


@pytest.mark.parametrize("slices", [20, 50, 200])
def test_without_refinement_the_travel_errs_by_the_slice(slices):
    """The best of the slices is at most half a slice from the crest: r (1 - cos(pi / 2n)) too little."""
    a = math.radians(7.3)
    place = [[[0, 0, 1.0], [0, 0, R / math.cos(a) - 0.02]]]
    rig = rig_of(slope(7.3, size=(10, 10)), slices=slices, refine=False).place(position=place)
    rig.evaluate()
    short = 0.02 - rig.module.observe()["travel"][0, 0]
    assert 0 <= short <= R / math.cos(a) * (1 - math.cos(math.pi / 2 / slices)) * (1 + 1e-6)


def test_the_implicit_matrix_is_the_derivative_of_the_wrench():
    check = check_implicit(on_flat(), length=R, body=1)
    assert check.B[2, 2] > 0
    assert check.B[0, 0] > 0
    assert check.error < DERIVATIVE
    assert check.asymmetry < 1e-12


def test_the_implicit_matrix_is_the_derivative_where_the_ground_slopes_across_the_wheel():
    rig = rig_of(slope(20.0, 90.0, size=(10, 10))).place(position=[[[0, 0, 0.5], [0, 0, R - 0.02]]])
    check = check_implicit(rig, length=R, body=1)
    assert abs(check.B[1, 2]) > 0.1 * check.B[2, 2]
    assert check.error < DERIVATIVE
    assert check.asymmetry < 1e-12


@pytest.mark.parametrize("direction", [0.0, 37.0, 90.0, 200.0])
def test_a_plane_pushes_a_wheel_at_rest_along_its_normal_whichever_way_it_slopes(direction):
    angle, heading = math.radians(20.0), math.radians(direction)
    normal = np.array([-math.sin(angle) * math.cos(heading), -math.sin(angle) * math.sin(heading), math.cos(angle)])
    below = R * math.hypot(normal[0], normal[2])  # a thin disc across y: how far its rim reaches against the normal
    rig = rig_of(slope(20.0, direction, size=(10, 10)))
    rig.place(position=[[[0, 0, 0.5], [0, 0, below / normal[2] - 0.02]]])
    push = force(rig)[:3]
    np.testing.assert_allclose(push / push[2], normal / normal[2], atol=ROUND_OFF)
    assert push[2] == pytest.approx(10000.0 * 0.02, rel=1e-6)


@settings(max_examples=40)
@given(*(st.floats(-2, 2) for _ in range(3)), st.floats(-20, 20), st.floats(-0.3, 0.3))
def test_the_implicit_matrix_is_symmetric_and_never_negative(vx, vy, vz, spin, tilt):
    terrain = steps(3, 0.08, 0.4, start=0.1, size=(4, 4), spacing=0.02)
    rig = rig_of(terrain).place(
        position=[[[0, 0, 0.5], [0, 0, R - 0.02]]], rotation=quaternion([0, tilt, 0]),
        velocity=[[[vx, vy, vz]] * 2], spin=[[[0, 0, 0], [0, spin, 0]]],
    )  # fmt: skip
    for _ in range(5):
        rig.evaluate().advance()
        B = rig.implicit[0, 1]
        assert np.isfinite(B).all()
        largest = np.abs(B).max()
        assert np.abs(B - B.T).max() <= 1e-12 * largest
        assert np.linalg.eigvalsh(B)[0] >= -1e-12 * largest


@settings(max_examples=8)
@given(steady_motions((R - 0.03, R - 0.01), tilt=0.2, speed=2.0, spin=10.0, sink=0.1))
def test_shifts_turns_and_mirrors_change_nothing(motion):
    """A wheel that rolls, slides and leans, and its images; chassis and wheel as one body."""
    symmetries = (translation(0.37, -0.21), QUARTER_TURN, HALF_TURN, MIRROR)
    module = TyreModule(flat(size=(12, 12)), [WheelUnit("wheel", CAR, SPRING)])
    rig = ManufacturedMotion(module, worlds=len(symmetries) + 1, step=STEP)
    scale, worst, largest = np.array([1, 1, 1, R, R, R]), 0.0, 1e-300

    def poses(time):
        x, q = motion(time)
        places = np.stack([x, *(s.point(x) for s in symmetries)])
        return places[:, None], np.stack([q, *(s.rotation(q) for s in symmetries)])[:, None]

    def compare():
        nonlocal worst, largest
        for body in (0, 1):
            wrench = rig.wrench[:, body] / scale
            largest = max(largest, float(np.abs(wrench[0]).max()))
            for image, s in zip(wrench[1:], symmetries, strict=True):
                worst = max(worst, float(np.abs(s.wrench(wrench[0]) - image).max()))

    rig.follow(poses, 15, compare)
    assert worst <= ROUND_OFF * largest


def test_a_ground_bodies_may_change_is_the_same_until_they_do():
    terrain = sinusoid(0.05, 1.3, 20.0, size=(6, 6), spacing=0.1)
    place = [[[0, 0, 1], [0.37, 0.21, terrain.height(0.37, 0.21) + R - 0.03]]]
    one = rig_of(terrain).place(position=place)
    two = rig_of(Ground(terrain, [soil()])).place(position=place)
    np.testing.assert_allclose(force(two), force(one), rtol=1e-12, atol=1e-12)


def soil():
    from grouser.terrain.soils import soil

    return soil("dry-sand")


def test_single_precision_agrees():
    one, two = (rolled(on_flat(dtype=dtype), 5.0, 0.1, 0.05) for dtype in ("float64", "float32"))
    np.testing.assert_allclose(two, one, rtol=SINGLE, atol=SINGLE * one[2])


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: TyreModule(flat(), []), "no wheels given"),
        (lambda: TyreModule(flat(), [WheelUnit("w", TYRE, SPRING)], slices=2), "slices = 2: allowed is an integer"),
        (lambda: TyreModule(flat(), [WheelUnit("w", TYRE, SPRING)] * 2), "each name once"),
        (lambda: Suspension(-1.0, 0.0), "suspension: stiffness = -1.0: allowed is a finite number above 0"),
        (lambda: Suspension(1e4, 0.0, travel=0.01), "travel = 0.01 m: allowed is at least saturation, 0.1 m"),
        (lambda: Tyre(radius=0.0), "tyre: radius = 0.0"),
        (lambda: Tyre(p_Ey1=1.5), "p_Ey1 = 1.5: allowed is a finite number at most 1"),
    ],
)  # fmt: skip
def test_bad_input_is_refused(make, says):
    with pytest.raises(InputError, match=says):
        make()


def test_the_ceiling_is_the_highest_ground_within_reach():
    """What cannot be the best slice is passed over: that must not lose a rock beside the wheel."""
    heights = np.zeros((41, 41))
    heights[20, 22] = 0.07  # 0.1 m ahead of the axle
    terrain = ElevationGrid(heights, 0.05, (-1.0, -1.0))
    rig = rig_of(terrain).place(position=[[[0, 0, 1], [0.0, 0.0, R - 0.01]]])
    rig.evaluate()
    centre = np.array([0.0, 0.0, R - 0.01])
    assert rig.module.observe()["travel"][0, 0] == pytest.approx(brute_force(terrain, centre, [0, 0, 0, 1]), abs=FOUND)
    assert rig.module.observe()["travel"][0, 0] > 0.02
