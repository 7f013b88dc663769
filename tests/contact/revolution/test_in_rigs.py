"""The module in the shared rigs: implicit matrix, symmetries, opposite wrenches, jumps, worlds, lanes, float32."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings

from grouser.contact.pairs import DEEP, KAPPA, KINDS, LOST
from grouser.contact.revolution import Layer, Profile, RevolutionBody, RevolutionContact, RevolutionPair
from tests.contact.revolution.geometries import cylinder_in_tube, rotated, sphere_in_cone, tool_in_nozzle
from tests.rig import (
    HALF_TURN,
    MIRROR,
    QUARTER_TURN,
    ManufacturedMotion,
    SteadyMotion,
    check_implicit,
    image_errors,
    product,
    quaternion,
    steady_motions,
    translation,
)

R, DEPTH = 0.1, 0.001
RIGID = Layer(young=np.inf, name="rigid")
LENGTH = 0.05  # [m] of the bodies
GRIPPY = Layer(young=1e7, thickness=0.02, damping=2e4, transition_depth=5e-4, friction_stick=0.6, friction_slip=0.5)
GEOMETRIC = 0.03  # B leaves out that arms and faces turn with the body: depth over LENGTH, 0.02
SYMMETRIC, POSITIVE = 1e-13, 1e-12  # sums of outer products, in another order above the diagonal than below
PAIR_SUM = 1e-12  # bar: wrenches of a pair, about one point
ROUND_OFF = 1e-9  # of float64, over some dozens of steps
SINGLE = 1e-3  # of the largest force: float32 round-off of depth, 6e-8 x 0.1 m of 1e-3 m, and of the area at the border
JUMP = 1e-4  # of the force in one of 400 steps over a whole element: a part that came or went at once would be 1e-2
BUILDS = [sphere_in_cone, cylinder_in_tube, tool_in_nozzle]


def ball(sectors=64, tolerance=5e-5) -> RevolutionBody:
    return RevolutionBody("body", Profile.sphere(R, tolerance=tolerance), RIGID, "ball", sectors=sectors)


def ground(layer=GRIPPY, **more) -> RevolutionBody:
    return RevolutionBody(None, Profile.disk(2.0), layer, "ground", **more)


def on_ground(body=None, *, worlds=1, dtype="float64", lanes=None, **more) -> ManufacturedMotion:
    body = body or ball()
    module = RevolutionContact([RevolutionPair("pair", body, ground(), elements=body.name, **more)])
    rig = ManufacturedMotion(module, worlds=worlds, dtype=dtype)
    if lanes:
        module.one_thread, module._pairs.lanes, module.lanes = False, lanes, lanes
    return rig


def still(rig, position, rotation=(0.0, 0.0, 0.0, 1.0)):
    return rig.place(position, rotation, np.zeros(3), np.zeros(3)).advance()


@pytest.mark.parametrize(
    ("profile", "height"),
    [(Profile.sphere(R, tolerance=5e-5), R), (Profile.cylinder(0.03, (0.0, 0.02), caps=True, longest=0.005), 0.0)],
)
def test_the_implicit_matrix_at_rest_is_the_derivative_of_the_wrench(profile, height):
    rig = on_ground(RevolutionBody("body", profile, RIGID, "body"))
    still(rig, (0.0013, 0.0021, height - DEPTH), quaternion([0.002, 0.001, 0.3])).advance()  # now it sticks
    check = check_implicit(rig, length=LENGTH)
    assert check.B[2, 2] > 0
    assert check.error < GEOMETRIC
    flat = np.ix_([0, 1], [0, 1])  # friction, which is softer than the layer
    np.testing.assert_allclose(check.differences[flat], check.B[flat], atol=GEOMETRIC * check.B[0, 0])
    assert check.asymmetry < SYMMETRIC


def test_the_implicit_matrix_is_that_of_the_moving_body_when_elements_lie_on_the_ground():
    module = RevolutionContact([
        RevolutionPair(
            "pair", ball(), RevolutionBody(None, Profile.disk(0.05, longest=0.002), GRIPPY, "ground", sectors=96),
            elements="ground",
        )
    ])  # fmt: skip
    rig = still(ManufacturedMotion(module), (0.0013, 0.0021, R - DEPTH)).advance()
    assert rig.wrench[0, 0, 2] > 10
    assert check_implicit(rig, length=LENGTH).error < GEOMETRIC


@settings(max_examples=15)
@given(steady_motions((R - 0.0006, R + 0.0002), tilt=0.5, speed=0.1, spin=1.0, sink=0.02))
def test_the_implicit_matrix_is_symmetric_and_never_negative(motion):
    """Whatever the motion: sticking, slipping, bouncing off."""
    rig = on_ground()

    def look():
        B = rig.implicit[0, 0]
        largest = np.abs(B).max()
        assert np.abs(B - B.T).max() <= SYMMETRIC * largest
        assert np.linalg.eigvalsh((B + B.T) / 2)[0] >= -POSITIVE * largest

    rig.follow(motion, 15, look)


def test_turns_and_mirrors_change_nothing():
    """About the vertical, of a body that rolls and slips on a disk."""
    motion = SteadyMotion((0.02, 0.03, R - 0.0008), (0.2, 0.1, 0.4), (0.05, 0.02, 0.001), (0.5, 0.3, 0.2))
    symmetries = (translation(0.0137, -0.021), QUARTER_TURN, HALF_TURN)
    rig = on_ground(worlds=len(symmetries) + 1)
    assert max(image_errors(rig, motion, symmetries, 20, length=R).values()) < ROUND_OFF


def test_a_mirror_changes_nothing():
    motion = SteadyMotion((0.02, 0.03, R - 0.0008), (0.0, 0.1, 0.0), (0.05, 0.02, 0.001), (0.5, 0.3, 0.2))
    assert max(image_errors(on_ground(worlds=2), motion, [MIRROR], 20, length=R).values()) < ROUND_OFF


def pair_sums(build) -> float:
    """Sum of forces, and of torques about the world's origin, of the largest; both bodies turned and rubbing."""
    geometry = build(1, GRIPPY, GRIPPY)
    module = geometry.contact()
    rig = geometry.rig(module)
    turn, shift = quaternion(np.array([0.4, -1.1, 0.7])), np.array([1.3, -0.2, 0.6])
    here = [np.linalg.norm(rig.wrench[0, k, :3]) for k in (0, 1)]
    velocity = np.random.default_rng(0).normal(size=(2, 2, 3)) * 0.01
    rig.place(rotated(rig.position, turn) + shift, product(turn, rig.rotation)).advance()
    assert [np.linalg.norm(rig.wrench[0, k, :3]) for k in (0, 1)] == pytest.approx(here, rel=0.05)
    rig.place(None, None, *velocity[:, None]).advance().advance()
    force, torque = rig.wrench[0, :, :3], rig.wrench[0, :, 3:]
    about = torque + np.cross(rig.position[0], force)
    assert np.abs(about).max() > 1e-3 * np.abs(force).max()
    return max(np.abs(part.sum(axis=0)).max() / np.abs(part).max() for part in (force, about))


@pytest.mark.parametrize("build", BUILDS)
def test_wrenches_of_a_pair_are_opposite(build):
    assert pair_sums(build) <= PAIR_SUM


def swept_forces(build) -> np.ndarray:
    """[N], (step, 3) over a way of 0.4 mm and 0.2 rad: elements come in, leave the border and are listed anew."""
    geometry = build()
    module = geometry.contact()
    rig = geometry.rig(module)
    k, start = module.bodies.index("moving"), quaternion(np.array(geometry.tilt))
    forces = []
    for share in np.linspace(-1, 1, 401):
        rig.position[0, k] = np.array(geometry.touching) + 2e-4 * share * np.array([0.7, 0.2, 0.4])
        rig.rotation[0, k] = product(quaternion(np.array([0, 0, 0.1 * share])), start)
        forces.append(rig.place(rig.position, rig.rotation).advance().wrench[0, k, :3])
    assert module.work()["searches"][0, 0] > 3
    return np.array(forces)


@pytest.mark.parametrize("build", BUILDS)
def test_the_force_has_no_jumps(build):
    forces = swept_forces(build)
    assert np.abs(np.diff(forces, 2, axis=0)).max() < JUMP * np.abs(forces).max()


def test_a_surface_that_ends_lets_go_by_degrees():
    """A plug drawn out of a tube over its edge."""
    geometry = cylinder_in_tube()
    module = geometry.contact()
    rig = geometry.rig(module)
    k, forces = module.bodies.index("moving"), []
    for z in np.linspace(0.065, 0.135, 351):
        rig.position[0, k] = (0.0003, 0.0, z)
        rig.rotation[0, k] = (0, 0, 0, 1)
        forces.append(rig.place(rig.position, rig.rotation).advance().wrench[0, k, 0])
    forces = np.array(forces)
    assert forces[-1] == 0
    share = np.clip((0.13 - np.linspace(0.065, 0.135, 351)) / 0.06, 0, 1)  # of its length still inside
    np.testing.assert_allclose(forces, forces[0] * share, atol=2e-3 * abs(forces[0]))


def rolled(**how) -> np.ndarray:
    rig, found = on_ground(**how), []
    motion = SteadyMotion((0.02, 0.03, R - 0.0008), (0.2, 0.1, 0.4), (0.05, 0.02, 0.001), (0.5, 0.3, 0.2))
    rig.follow(motion, 10, lambda: found.append(np.concatenate([rig.wrench[-1, 0], rig.implicit[-1, 0, 0]])))
    return np.array(found)


def test_worlds_agree():
    np.testing.assert_array_equal(rolled(worlds=3), rolled())


@pytest.mark.long  # compiles kernels of its own
@pytest.mark.parametrize(("how", "allowed"), [({"lanes": 7}, ROUND_OFF), ({"dtype": "float32"}, SINGLE)])
def test_lanes_and_single_precision_agree(how, allowed):
    """One launch a world against lanes of a pair as on a GPU, float64 against float32."""
    alone = rolled()
    np.testing.assert_allclose(rolled(**how), alone, atol=allowed * np.abs(alone).max())


def test_lists_change_nothing():
    """A module that has come a long way, and one that begins there with its state: the same bits."""
    geometry = sphere_in_cone(1, GRIPPY, GRIPPY)
    one, two = (geometry.rig(geometry.contact()) for _ in range(2))
    k = one.module.bodies.index("moving")

    def go(rig, shares):
        for share in shares:
            rig.position[0, k] = np.array(geometry.touching) + 1e-3 * share * np.array([0.7, 0.2, 0.4])
            rig.velocity[0, k] = np.array([0.07, 0.02, 0.04])
            rig.place(rig.position, None, rig.velocity).advance()
        return rig.wrench

    go(one, np.linspace(0, 0.5, 60))
    one.module.set_profile("moving", Profile.sphere(0.0301, tolerance=3e-5), 0.0)
    go(one, np.linspace(0.5, 0.6, 5))
    for name, array in one.module.state().items():
        two.module.state()[name].assign(array.numpy())
    two.place(one.position, one.rotation, one.velocity, one.spin)
    np.testing.assert_array_equal(two.evaluate().wrench, one.evaluate().wrench)  # as after a checkpoint is read
    np.testing.assert_array_equal(go(one, np.linspace(0.6, 0.7, 5)), go(two, np.linspace(0.6, 0.7, 5)))


def test_reset_starts_anew():
    rig = on_ground(worlds=2)
    first = still(rig, (0.0, 0.0, R - DEPTH)).wrench.copy()
    rig.module.spread("ball", 0.001)
    assert np.abs(rig.advance().wrench - first).max() > 1
    rig.module.reset([1])
    rig.advance()
    np.testing.assert_array_equal(rig.wrench[1], first[1])
    assert np.abs(rig.wrench[0] - first[0]).max() > 1


# ---- shapes that change -----------------------------------------------------------------------------


def test_a_profile_that_spreads_is_the_one_it_has_become():
    """A ring that widens in a tube, step by step, against a ring made at the end's size."""
    geometry = cylinder_in_tube()
    wide = 0.0002
    ring = dataclasses.replace(geometry, touching=(0.0, 0.0, 0.0), tilt=(0.0, 0.0, 0.0))
    module = ring.contact()
    rig = ring.rig(module)
    assert not rig.wrench.any()
    for way in np.linspace(0, wide, 21):
        module.spread("moving", way)
        rig.advance()
    area = 2 * np.pi * (0.05 + wide) * 0.06
    load = ring.still.material.stiffness * (wide - 0.0001) * area
    patch = module.patch()
    assert (patch[:, 6] * patch[:, 7]).sum() == pytest.approx(load, rel=1e-9)
    made = dataclasses.replace(ring, moving=dataclasses.replace(
        ring.moving, profile=Profile.cylinder(0.05 + wide, (-0.03, 0.03), longest=0.005)
    ))  # fmt: skip
    other = made.contact()
    made.rig(other)
    np.testing.assert_allclose(patch, other.patch(), atol=1e-9 * patch.max())


def test_a_shape_that_moves_is_damped_like_a_body_that_moves():
    """A punch that goes down with its body, and one whose profile does: the same force, on either side of the pair."""
    speed = 0.05
    punch = Profile.disk(0.03, up=False, longest=0.005)
    still_one = on_ground(RevolutionBody("body", punch, RIGID, "punch"))
    still_one.place((0, 0, -DEPTH), (0, 0, 0, 1), np.zeros(3), np.zeros(3)).advance()
    calm = still_one.wrench[0, 0, 2]
    still_one.module.set_profile("punch", punch, np.tile([0.0, -speed], (punch.count, 1)))
    grown = still_one.evaluate().wrench[0, 0, 2]
    damped = calm + GRIPPY.damping * speed * np.pi * 0.03**2
    assert grown == pytest.approx(damped, rel=1e-9)
    still_one.module.set_profile("punch", punch)
    floor = Profile.disk(2.0)
    still_one.module.set_profile("ground", floor, np.tile([0.0, speed], (floor.count, 1)))
    assert still_one.evaluate().wrench[0, 0, 2] == pytest.approx(damped, rel=1e-9)


# ---- what is said -----------------------------------------------------------------------------------


def status(layer, depth, **more):
    body = ball()
    module = RevolutionContact([RevolutionPair("pair", body, ground(layer), elements="ball", **more)])
    rig = ManufacturedMotion(module)
    rig.place((0, 0, R - depth), (0, 0, 0, 1), np.zeros(3), np.zeros(3)).evaluate()
    code = int(rig.out.status.numpy()[0, 0])
    return code % KINDS, module.explain(code) if code else ("", False)


def test_what_passes_the_layer_or_the_reach_is_said():
    thin = Layer(young=1e7, thickness=0.001)
    assert status(thin, 0.0005)[0] == KAPPA  # rigid against elastic: said once
    kind, (words, fatal) = status(thin, 0.0015)
    assert (kind, fatal) == (DEEP, False)
    assert "'pair'" in words
    assert "0.001 m" in words
    kind, (words, fatal) = status(thin, 0.00195)
    assert (kind, fatal) == (LOST, True)
    assert "0.002 m" in words


def test_kappa_is_said_once():
    rig = on_ground()
    still(rig, (0, 0, R - DEPTH))
    assert rig.out.status.numpy()[0, 0] % KINDS == KAPPA
    assert rig.advance().out.status.numpy()[0, 0] == 0


SHAPES = {
    "sphere": Profile.sphere(0.03, tolerance=5e-5),
    "ring": Profile.ring(0.03, 0.004, tolerance=2e-5),
    "capped": Profile.cylinder(0.02, (-0.02, 0.03), caps=True, longest=0.005),
    "wavy": Profile.from_function(lambda z: 0.02 + 0.004 * np.sin(200 * z), (-0.03, 0.03), tolerance=2e-5),
    "spool": Profile(
        [-0.03, -0.03, -0.01, -0.01, 0.01, 0.01, 0.03, 0.03], [0, 0.03, 0.03, 0.012, 0.012, 0.03, 0.03, 0]
    ),
    "cup": Profile([0.0, 0.0, 0.05], [0.0, 0.03, 0.04], inner=True),
    "disk": Profile.disk(0.2),
}


@pytest.mark.parametrize("pair", ["sphere capped", "ring cup", "capped disk", "wavy capped", "spool wavy", "ring ring"])
def test_nothing_that_touches_is_passed_over(pair):
    """Bodies at random poses going through each other: one with its lists, and one that looks at everything anew."""
    one, two = (SHAPES[name] for name in pair.split())
    random = np.random.default_rng(sum(map(ord, pair)))
    first = RevolutionBody("a", one, RIGID, "first", sectors=40, position=(0.01, 0, 0), axis=random.normal(size=3))
    second = RevolutionBody("b", two, GRIPPY, "second", axis=random.normal(size=3))
    pairs = [RevolutionPair("pair", first, second, elements="first", reach=0.012)]
    lazy, eager = (ManufacturedMotion(RevolutionContact(pairs)) for _ in range(2))
    touched = 0
    for _ in range(4):
        place, way, turn = random.normal(size=(3, 3)) * np.array([[0.02], [0.02], [0.5]])
        for angle in np.linspace(0, np.pi, 50):
            position = np.stack([place + way * np.sin(angle), np.zeros(3)])
            rotation = np.stack([quaternion(turn * np.sin(angle)), quaternion(np.zeros(3))])
            eager.module._lists.state.zero_()
            eager.module._lists.clear.zero_()
            for rig in (lazy, eager):
                rig.place(position, rotation, np.zeros(3), np.zeros(3)).evaluate()
            status = np.concatenate([rig.out.status.numpy().ravel() for rig in (lazy, eager)])
            if (status % KINDS != LOST).all():  # deeper than the reach the run stops
                touched += int(eager.wrench.any())
                largest = max(np.abs(eager.wrench).max(), 1.0)
                np.testing.assert_allclose(lazy.wrench, eager.wrench, atol=ROUND_OFF * largest)
    assert touched > 20
    assert lazy.module.work()["searches"][0, 0] > 10
