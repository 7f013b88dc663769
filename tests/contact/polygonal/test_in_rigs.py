"""The module in the shared rigs: implicit matrix, symmetries, opposite wrenches, worlds, lanes, single precision."""

import numpy as np
import pytest
from hypothesis import given, settings

from grouser.contact.polygonal import Layer, Pair, PolygonalModule, shape
from tests.contact.polygonal.bodies import RIGID, ball, ball_cap, box, on_ground, plane, rest
from tests.rig import (
    HALF_TURN,
    MIRROR,
    QUARTER_TURN,
    ManufacturedMotion,
    SteadyMotion,
    check_implicit,
    image_errors,
    quaternion,
    steady_motions,
    translation,
)

R, DEPTH = 0.1, 0.001
LENGTH = 0.05  # [m] of the bodies
GRIPPY = Layer(young=1e7, thickness=0.02, damping=2e4, transition_depth=5e-4, friction_stick=0.6, friction_slip=0.5)
GEOMETRIC = 0.03  # B leaves out that arms and faces turn with the body: depth over LENGTH, 0.02
ROUND_OFF = 1e-9  # of float64, over some dozens of steps
DIVIDED = 5e-3  # an edge of the ground that divides elements: damping and the load of friction are found per polygon
PAIR_SUM = 1e-12  # bar: wrenches of a pair, about one point
SYMMETRIC, POSITIVE = 1e-13, 1e-12  # sums of outer products, in another order above the diagonal than below
SINGLE = 2e-4  # of the largest force: float32 round-off of depth, 6e-8 x 0.1 m of 1e-3 m, and of the area at the border


@pytest.fixture(params=["linear", "exact"])
def depth(request):
    return request.param


def rolling(body, **more):
    return on_ground(body, plane(layer=GRIPPY), **more)


@pytest.mark.parametrize("body", [box((0.03, 0.02, 0.01), longest_edge=0.01), ball_cap(R, 0.02, 40)])
def test_the_implicit_matrix_at_rest_is_the_derivative_of_the_wrench(body, depth):
    height = {"box": 0.01, "ball": R}[body.name]
    rig = rest(rolling(body, depth=depth), (0.0013, 0.0021, height - DEPTH), quaternion([0.002, 0.001, 0.3]))
    rig.advance()  # now it sticks
    check = check_implicit(rig, length=LENGTH)
    assert check.B[2, 2] > 0
    assert check.error < GEOMETRIC
    flat = np.ix_([0, 1], [0, 1])  # friction, which is softer than the layer
    np.testing.assert_allclose(check.differences[flat], check.B[flat], atol=GEOMETRIC * check.B[0, 0])
    assert check.asymmetry < SYMMETRIC


def test_the_implicit_matrix_is_that_of_the_moving_body_when_elements_lie_on_the_ground():
    ground = plane(0.05, cells=20, layer=GRIPPY)
    rig = rest(on_ground(box((0.03, 0.02, 0.01)), ground, elements="ground"), (0.0013, 0.0021, 0.01 - DEPTH))
    rig.advance()
    assert check_implicit(rig, length=LENGTH).error < GEOMETRIC


@settings(max_examples=15)
@given(steady_motions((0.0096, 0.0101), tilt=0.05, speed=0.1, spin=1.0, sink=0.02))
def test_the_implicit_matrix_is_symmetric_and_never_negative(motion):
    """Whatever the motion: sticking, slipping, bouncing off."""
    rig = rolling(box((0.03, 0.02, 0.01), longest_edge=0.02))

    def look():
        B = rig.implicit[0, 0]
        largest = np.abs(B).max()
        assert np.abs(B - B.T).max() <= SYMMETRIC * largest
        assert np.linalg.eigvalsh((B + B.T) / 2)[0] >= -POSITIVE * largest

    rig.follow(motion, 15, look)


EXACT = (translation(0.37, -0.21), QUARTER_TURN, HALF_TURN, MIRROR)


TRIANGLE = shape([[-20, -10, 0], [20, -10, 0], [0, 20, 0]], [[0, 1, 2]], GRIPPY, name="triangle")


@settings(max_examples=8)
@given(steady_motions((0.0985, 0.0995), tilt=0.3))
def test_shifts_turns_and_mirrors_change_nothing(motion):
    """On one big triangle; a sphere whose mesh has its own mirror plane."""
    rig = on_ground(ball(R, 4), TRIANGLE, worlds=len(EXACT) + 1)
    errors = image_errors(rig, motion, EXACT, 15, length=LENGTH)
    assert max(errors.values()) < ROUND_OFF, errors


@settings(max_examples=8)
@given(steady_motions((0.0985, 0.0995), tilt=0.3))
def test_the_mesh_of_flat_ground_hardly_matters(motion):
    whole, divided = on_ground(ball(R, 4), TRIANGLE), rolling(ball(R, 4))
    forces = [[], []]
    for rig, seen in zip((whole, divided), forces, strict=True):
        rig.follow(motion, 15, lambda rig=rig, seen=seen: seen.append(rig.wrench[0, 0]))
    assert np.abs(np.subtract(*forces)).max() < DIVIDED * np.abs(forces).max()


def two_balls(dtype="float64", worlds=1, step=1e-4):
    module = PolygonalModule(
        {"one": ball(R, 4, GRIPPY), "two": box((0.05, 0.04, 0.03), RIGID, longest_edge=0.02)}, {}, [Pair("one", "two")]
    )
    return ManufacturedMotion(module, dtype=dtype, worlds=worlds, step=step)


def both_move(time):
    """A ball that rolls and slides over a box that drifts and turns under it: (world, body, …)."""
    one = SteadyMotion((0.003, 0.002, 0.129), (0.1, 0.2, 0.3), (0.05, 0.02, -0.01), (0.3, 1.0, 0.2))
    two = SteadyMotion((0, 0, 0), (0.01, 0.02, 0.4), (0.01, 0, 0.02), (0.1, -0.2, 0.3))
    (x, q), (y, p) = one(time), two(time)
    return np.stack([x, y])[None], np.stack([q, p])[None]


def test_wrenches_of_a_pair_are_opposite_about_any_point():
    rig, seen = two_balls(), []

    def look():
        f, x = rig.wrench[0], rig.position[0]
        for about in (np.zeros(3), np.array([3.0, -2.0, 5.0])):
            moment = f[:, 3:] + np.cross(x - about, f[:, :3])
            size = np.abs(f[0]).max() * (1 + np.abs(about).max())
            assert np.abs(f[:, :3].sum(axis=0)).max() <= PAIR_SUM * size
            assert np.abs(moment.sum(axis=0)).max() <= PAIR_SUM * size
        seen.append(np.abs(f[0]).max())

    rig.follow(both_move, 40, look)
    assert min(seen) > 1
    assert not rig.implicit.any()  # explicit: a block for each alone would add mass


def test_a_pair_does_not_feel_where_in_space_it_is():
    """Both moved and turned together: the same wrench in their own axes, sticking and slipping on the way."""
    plain, turned = two_balls(), two_balls()
    turn = quaternion(np.array([0.4, -0.7, 1.1]))
    shift = np.array([5.0, -3.0, 2.0])
    from tests.rig import product

    matrix = np.array([turned_vector(turn, e) for e in np.eye(3)]).T

    def elsewhere(time):
        x, q = both_move(time)
        return x @ matrix.T + shift, product(turn, q)

    plain.follow(both_move, 30)
    turned.follow(elsewhere, 30)
    a, b = plain.wrench[0, 0], turned.wrench[0, 0]
    np.testing.assert_allclose(b[:3], matrix @ a[:3], atol=ROUND_OFF * np.abs(a).max())
    np.testing.assert_allclose(b[3:], matrix @ a[3:], atol=ROUND_OFF * np.abs(a).max())


def turned_vector(q, v):
    return v + 2 * np.cross(q[:3], np.cross(q[:3], v) + q[3] * v)


def different_motions(count):
    random = np.random.default_rng(0)
    return [
        SteadyMotion(
            position=(*random.uniform(-0.5, 0.5, 2), random.uniform(0.0985, 0.1)),
            rotation=tuple(random.normal(0, 1, 3)),
            velocity=(*random.uniform(-0.1, 0.1, 2), random.uniform(-0.01, 0.01)),
            spin=tuple(random.uniform(-1, 1, 3)),
        )
        for _ in range(count)
    ]


def run(motions, count, lanes=None, **where):
    """Wrenches (step, world, 6) and blocks at the end of a rig with a world for each motion."""
    rig, wrenches = rolling(ball(R, 4), worlds=len(motions), **where), []
    if lanes:
        rig.module.lanes = rig.module._pairs.lanes = lanes

    def poses(time):
        x, q = zip(*(m(time) for m in motions), strict=True)
        return np.stack(x)[:, None], np.stack(q)[:, None]

    rig.follow(poses, count, lambda: wrenches.append(rig.wrench[:, 0]))
    return np.stack(wrenches), rig.implicit[:, 0]


def test_16_worlds_are_16_runs_bit_for_bit(depth):
    motions = different_motions(16)
    together = run(motions, 12, depth=depth)
    assert (np.abs(together[0]).max(axis=(0, 2)) > 1).sum() > 8
    for world, motion in enumerate(motions):
        alone = run([motion], 12, depth=depth)
        np.testing.assert_array_equal(together[0][:, world], alone[0][:, 0])
        np.testing.assert_array_equal(together[1][world], alone[1][0])


def test_threads_that_share_a_pair_find_what_one_finds(depth):
    """As on a GPU; sums are taken in another order."""
    motions = different_motions(4)
    one, many = run(motions, 12, depth=depth), run(motions, 12, lanes=16, depth=depth)
    for a, b in zip(one, many, strict=True):
        np.testing.assert_allclose(b, a, atol=ROUND_OFF * np.abs(a).max())


def test_float32_follows_float64(depth):
    motions = different_motions(6)
    double, single = (run(motions, 30, dtype=dtype, depth=depth)[0] for dtype in ("float64", "float32"))
    assert np.abs(single - double).max() < SINGLE * np.abs(double).max()


def test_a_list_that_lasts_gives_what_a_fresh_one_gives(depth):
    """Rolling over several lists: the same as one made for every step."""
    motion = SteadyMotion((0.003, 0.002, R - DEPTH), velocity=(0.1, 0, 0), spin=(0, 1, 0))
    forces, searches = [], []
    for margin in (None, 1e-9):
        rig, seen = rolling(ball(R, 4), margin=margin, depth=depth), []
        rig.follow(motion, 100, lambda rig=rig, seen=seen: seen.append(rig.wrench[0, 0]))
        forces.append(np.array(seen))
        searches.append(rig.module.searches()[0, 0])
    np.testing.assert_allclose(forces[0], forces[1], atol=ROUND_OFF * np.abs(forces[1]).max())
    assert searches[1] > 90 > 10 * searches[0] / 2 > 0


def test_a_pair_marked_out_of_reach_does_not_touch():
    """Falling on the plane, spinning, and rising again: no contact is missed, and far off the pair is marked."""
    forces, apart = [], []
    for margin in (None, 1e-9):
        rig, seen, silent = rolling(ball(R, 4), margin=margin), [], []

        def note(rig=rig, seen=seen, silent=silent):
            seen.append(rig.wrench[0, 0])
            silent.append(rig.module._lists.state.numpy()["out_of_reach"][0, 0])

        for start, speed in ((R + DEPTH, -0.01), (R - DEPTH, 0.01)):
            motion = SteadyMotion((0.003, 0.002, start), velocity=(0, 0, speed), spin=(0, 0.03, 0))
            rig.follow(motion, round(2 * DEPTH / abs(speed) / rig.step), note)
        forces.append(np.array(seen))
        apart.append(np.array(silent))
    np.testing.assert_allclose(forces[0], forces[1], atol=ROUND_OFF * np.abs(forces[1]).max())
    touching = np.abs(forces[1]).max(axis=1) > 0
    assert touching.sum() > 10
    assert not (touching & (apart[0] == 1)).any()
    fall = touching.argmax()
    assert apart[0][:fall].sum() > fall / 2  # up again its list is still the one of the contact
