"""Plates and boxes in a granular medium: closed forms, the implicit matrix, passivity, float types, worlds."""

from types import SimpleNamespace

import numpy as np
import pytest

from grouser.contact.rft import RftModule, RftOptions
from grouser.contact.rft.laws import PLATE_DOWN
from grouser.errors import InputError
from grouser.terrain import soils
from grouser.terrain.elevation import ElevationGrid
from grouser.terrain.ground import Ground
from tests.rig import ManufacturedMotion, check_implicit, product, quaternion

SIDE, THICK = 0.1, 0.02  # [m] of the plate
SCALE = 1e6  # [N/m^3]
STEP = 1e-3  # [s]
ROUND_OFF = 1e-9  # of sums over some hundred faces in float64
SINGLE = 1e-3  # the same in float32, with heights of centimetres taken as differences
CORNERS = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * [SIDE / 2, SIDE / 2, THICK / 2]
QUADS = [(0, 2, 6, 4), (1, 5, 7, 3), (0, 4, 5, 1), (2, 3, 7, 6), (0, 1, 3, 2), (4, 6, 7, 5)]
PLATE = SimpleNamespace(
    vertices=CORNERS, triangles=np.array([t for a, b, c, d in QUADS for t in ((a, b, c), (a, c, d))])
)


TAPER = np.where(CORNERS[:, 2:] > 0, [[0.5, 0.5, 1.0]], 1.0)  # narrower above: its sides do not lead as it sinks
FOOT = SimpleNamespace(vertices=CORNERS * TAPER, triangles=PLATE.triangles)


def module_of(*, form="agarwal2023", worlds=1, dtype="float64", soil="dry-sand", body=PLATE):
    elevation = ElevationGrid(np.zeros((21, 21)), 0.1, origin=(-1.0, -1.0))
    ground = Ground(elevation, soils.soil(soil), worlds=worlds, dtype=dtype)
    return RftModule(ground, {"plate": body}, RftOptions(form, SCALE))


def test_the_plate_is_closed_and_its_normals_point_outward():
    module = module_of()
    ManufacturedMotion(module)
    faces = module._faces.numpy()
    assert (faces["normal"] * faces["area"][:, None]).sum(axis=0) == pytest.approx(np.zeros(3), abs=1e-15)
    assert ((faces["normal"] * faces["centre"]).sum(axis=1) > 0).all()


@pytest.mark.parametrize(("form", "alpha"), [("li2013", 1.0), ("agarwal2023", PLATE_DOWN)])
@pytest.mark.parametrize("speed", [0.01, 0.5])
def test_a_plate_that_sinks_meets_alpha_times_area_times_depth(form, alpha, speed):
    rig = ManufacturedMotion(module_of(form=form), step=STEP)
    steps = round(0.03 / (speed * STEP))
    start = THICK / 2
    rig.follow(lambda t: (np.array([0.0, 0, start - speed * t]), quaternion(np.zeros(3))), steps)
    depth = speed * (rig.time + STEP / 2)  # the force is that at the middle of the next step
    assert rig.wrench[0, 0, 2] == pytest.approx(SCALE * alpha * SIDE**2 * depth, rel=1e-6)
    assert rig.wrench[0, 0, [0, 1, 3, 4, 5]] == pytest.approx(np.zeros(5), abs=1e-6)


def test_sinkage_is_that_of_the_lowest_corner():
    rig = ManufacturedMotion(module_of(), step=STEP)
    rig.place((0, 0, -0.03), quaternion(np.array([0.0, 0.3, 0.0]))).advance()
    lowest = -0.03 - np.sin(0.3) * SIDE / 2 - np.cos(0.3) * THICK / 2
    assert rig.module.observe()["sinkage"][0, 0] == pytest.approx(-lowest, rel=ROUND_OFF)


def test_a_plate_above_the_ground_feels_nothing():
    rig = ManufacturedMotion(module_of()).place((0, 0, 0.1), velocity=(0.1, 0, -0.1)).advance()
    assert not rig.wrench.any()
    assert not rig.implicit.any()


def test_above_the_ground_sinkage_is_minus_the_height():
    rig = ManufacturedMotion(module_of()).place((0, 0, 0.1), quaternion(np.array([0.0, 0.3, 0.0]))).advance()
    lowest = 0.1 - np.sin(0.3) * SIDE / 2 - np.cos(0.3) * THICK / 2
    assert rig.module.observe()["sinkage"][0, 0] == pytest.approx(-lowest, rel=ROUND_OFF)


@pytest.mark.parametrize(
    ("speed", "spin", "slip"), [(0.1, 0.0, -1.0), (0.0, 5.0, 1.0), (8e-4, 0.0, 0.0), (2e-3, 0.0, -1.0)]
)
def test_slip_of_a_body_that_slides_spins_or_rests(speed, spin, slip):
    """Below 1 mm/s a body rests; one that slides without turning has slip -1, one that spins on the spot 1."""
    rig = ManufacturedMotion(module_of(), step=STEP)
    rig.place((0, 0, 0.02), velocity=(0, 0, -0.01)).evaluate().advance()
    rig.place((0, 0, 0.005), velocity=(speed, 0, -1e-4), spin=(0, spin, 0)).evaluate().advance()
    assert rig.module.observe()["contact_area"][0, 0] > 0
    assert rig.module.observe()["slip"][0, 0] == pytest.approx(slip, abs=1e-9)


def test_the_implicit_matrix_is_the_derivative_at_rest():
    rig = ManufacturedMotion(module_of(body=FOOT), step=STEP)
    rig.place((0, 0, -0.03), velocity=(0, 0, -1e-3)).evaluate().advance()
    rig.place(velocity=(0, 0, 0)).advance()
    check = check_implicit(rig, length=SIDE, change=1e-9)
    assert check.B.any()
    assert check.asymmetry < ROUND_OFF
    assert check.least > -ROUND_OFF
    assert check.error < 1e-5  # round-off of a difference over 1e-9 m/s


@pytest.mark.parametrize("form", ["li2013", "agarwal2023"])
def test_in_flow_the_implicit_matrix_is_symmetric_and_positive(form):
    rig = ManufacturedMotion(module_of(form=form), step=STEP)
    rng = np.random.default_rng(3)
    for _ in range(40):
        rig.place((0, 0, -0.02), quaternion(rng.normal(size=3)), rng.normal(size=3), rng.normal(size=3)).advance()
        B = rig.implicit[0, 0]
        assert np.abs(B - B.T).max() <= ROUND_OFF * np.abs(B).max()
        assert np.linalg.eigvalsh(B)[0] >= -ROUND_OFF * np.abs(B).max()


@pytest.mark.parametrize("form", ["li2013", "agarwal2023"])
def test_random_drops_never_gain_energy(form):
    """A free plate, stepped as the engine does, (M + B) dv = h f: kinetic and elastic energy never grow by a step."""
    mass, inertia = 0.5, 2e-3
    M = np.diag([mass] * 3 + [inertia] * 3)  # a ball's inertia keeps it the same in all orientations
    worst, lost = 0.0, 0.0
    for seed in range(4):
        rng = np.random.default_rng(seed)
        module = module_of(form=form)
        rig = ManufacturedMotion(module, step=STEP)
        v = np.concatenate([rng.normal(size=2) * 0.3, [-1.0], rng.normal(size=3) * 3])
        rig.place((0, 0, 0.01), quaternion(rng.normal(size=3)), v[:3], v[3:]).evaluate()
        first = energy = 0.5 * v @ M @ v
        for _ in range(300):
            v = v + np.linalg.solve(M + rig.implicit[0, 0], STEP * rig.wrench[0, 0])
            turned = product(quaternion(STEP * v[3:]), rig.rotation[0, 0])
            rig.place(rig.position + STEP * v[:3], turned, v[:3], v[3:]).advance()
            now = 0.5 * v @ M @ v + float(module.stored_energy()[0, 0])
            worst, energy = max(worst, (now - energy) / first), now
        lost = max(lost, 1 - energy / first)
    assert worst < ROUND_OFF
    assert lost > 0.5


def test_float32_and_many_worlds_agree():
    results = {}
    for dtype, worlds in (("float64", 1), ("float64", 3), ("float32", 3)):
        rig = ManufacturedMotion(module_of(dtype=dtype, worlds=worlds), dtype=dtype, worlds=worlds, step=STEP)
        rig.follow(lambda t: (np.array([0.2 * t, 0, 0.01 - 0.2 * t]), quaternion(np.array([0.0, 0.2, 0.0]))), 100)
        results[dtype, worlds] = rig.wrench
    one, many, single = results.values()
    assert np.array_equal(np.broadcast_to(one, many.shape), many)
    assert np.abs(single - many).max() < SINGLE * np.abs(many).max()


def test_wrong_choices_are_named():
    with pytest.raises(InputError, match="form"):
        RftOptions("li")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="scale"):
        RftOptions(scale=-1.0)
