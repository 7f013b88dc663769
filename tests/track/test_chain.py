"""The chain by itself: conservation, back-bend stops, schemes that converge to each other."""

from dataclasses import replace

import numpy as np
import pytest

from grouser.errors import InputError
from grouser.track import Layout, Link, PinBushing, TrackModule
from tests.rig import ManufacturedMotion
from tests.track.stands import Stand, one_track

ROUND_OFF = 1e-12  # of the momentum that passes through the joints, hundreds of steps
ENERGY_RIPPLE = 0.02  # of a symplectic step at a third of its limit: (w h)^2 / 4


def free_chain(scheme, step, *, damped=False, substeps=1, back_bend="angle"):
    joint = PinBushing(back_bend=back_bend)
    if not damped:
        joint = replace(
            joint, radial_damping=0.0, axial_damping=0.0, tilt_damping=0.0, pin_damping=0.0, back_bend_damping=0.0
        )
    stand = Stand(one_track(Layout(link=Link(joint=joint)), tension=1e3), step=step, scheme=scheme, substeps=substeps)
    stand.rig.place(position=stand.rig.position + np.array([0, 300.0, 0]))  # wheels away
    random = np.random.default_rng(2)
    stand.velocity[:] = random.normal(0, 0.3, stand.velocity.shape)
    stand.angular_velocity[:] = random.normal(0, 0.5, stand.angular_velocity.shape)
    return stand


def energy(stand):
    """[J] of motion and of the joints' springs."""
    link, joint = stand.track.link, stand.track.link.joint
    x, y, z, w = stand.rotation.T
    R = np.array([
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]).transpose(2, 0, 1)  # fmt: skip
    local = np.einsum("kji,kj->ki", R, stand.angular_velocity)
    moving = 0.5 * link.mass * (stand.velocity**2).sum() + 0.5 * (local**2 * np.array(link.inertia)).sum()
    after = np.roll(R, -1, axis=0)
    half = link.pitch / 2
    d = np.roll(stand.position, -1, axis=0) - half * after[:, :, 0] - stand.position - half * R[:, :, 0]
    along = (d * R[:, :, 1]).sum(1)
    springs = 0.5 * joint.radial_stiffness * ((d**2).sum(1) - along**2) + 0.5 * joint.axial_stiffness * along**2
    springs += 0.5 * joint.roll_stiffness * (R[:, :, 2] * after[:, :, 1]).sum(1) ** 2
    springs += 0.5 * joint.yaw_stiffness * (R[:, :, 0] * after[:, :, 1]).sum(1) ** 2
    fold = np.arctan2((after[:, :, 0] * R[:, :, 2]).sum(1), (after[:, :, 0] * R[:, :, 0]).sum(1))
    springs += 0.5 * joint.back_bend_stiffness * np.maximum(-fold - joint.back_bend_angle, 0) ** 2
    return moving + springs.sum()


@pytest.mark.parametrize(("scheme", "step"), [("explicit", 5e-5), ("implicit", 1e-3)])
@pytest.mark.parametrize("back_bend", ["angle", "shoes"])
def test_a_free_chain_keeps_its_momentum(scheme, step, back_bend):
    stand = free_chain(scheme, step, damped=True, back_bend=back_bend)
    before, passed = stand.module.momentum()[0, 0], 0.0
    for _ in range(200):
        stand.rig.evaluate()
        passed += step * np.abs(stand.module._results.tension.numpy()).sum()
        stand.module.commit(step)
    assert np.abs(stand.module.momentum()[0, 0] - before).max() < ROUND_OFF * max(passed, np.abs(before).max()) * 10
    assert passed > 1.0


def test_a_free_chain_without_damping_keeps_its_energy():
    step = Link().largest_step / 4
    stand = free_chain("explicit", 2e-5)
    start, seen = energy(stand), []
    for _ in range(2000):
        stand.rig.evaluate()
        stand.module.commit(2e-5)
        seen.append(energy(stand))
    assert step > 2e-5
    assert np.abs(np.array(seen) / start - 1).max() < ENERGY_RIPPLE


def test_the_stability_bound_holds_and_is_not_far_below_what_blows_up():
    limit = Link(joint=PinBushing()).largest_step
    grown = {}
    for share in (0.9, 1.3):
        stand = free_chain("explicit", 1e-6, damped=True)
        start = energy(stand)
        for _ in range(300):
            stand.module.evaluate(share * limit)
            stand.module.commit(share * limit)
        grown[share] = energy(stand) / start
    assert grown[0.9] < 1.0
    assert not grown[1.3] < 10.0


def test_substeps_beyond_the_bound_are_refused():
    with pytest.raises(InputError, match=r"substeps: 1 of 0.001 s are not stable .* at least 6 are needed"):
        Stand(one_track(), step=1e-3, scheme="explicit", substeps=1)


def test_substeps_are_chosen_from_the_bound():
    track = one_track()
    assert TrackModule([track], scheme="implicit").substeps(track, 1e-3) == 1
    explicit = TrackModule([track], scheme="explicit").substeps(track, 1e-3)
    assert 1e-3 / explicit < track.link.largest_step <= 1e-3 / (explicit / 2)


@pytest.mark.parametrize("back_bend", ["angle", "shoes"])
def test_bent_back_links_are_pushed_forward_again(back_bend):
    stand = free_chain("explicit", 5e-5, back_bend=back_bend)
    stand.velocity[:] = stand.angular_velocity[:] = 0.0
    lower = np.flatnonzero((stand.position[:, 2] < 0.05) & (np.abs(stand.position[:, 0] - 1.5) < 0.8))
    pin = stand.position[lower[2]] + np.array([0.1016, 0, 0])
    turn = np.radians(8) / 2  # nose down: away from the wheels
    for i in lower[3:5]:
        arm = stand.position[i] - pin
        c, s = np.cos(2 * turn), np.sin(2 * turn)
        stand.position[i] = pin + np.array([c * arm[0] + s * arm[2], arm[1], c * arm[2] - s * arm[0]])
        stand.rotation[i] = (0, np.sin(turn), 0, np.cos(turn))
    stand.rig.evaluate()
    torque = stand.module._links.torque.numpy()[0]
    assert torque[lower[3], 1] < -500.0  # nose up again
    assert torque[lower[2], 1] > 500.0


def test_the_implicit_step_converges_to_the_explicit_one():
    """Positions after 20 ms from rest under gravity, wheels in place: halving the implicit step halves the error."""
    ends = {}
    for scheme, count, sub in (("explicit", 20, 100), ("implicit", 20, 1), ("implicit", 20, 2), ("implicit", 20, 4)):
        stand = Stand(one_track(tension=15e3), step=1e-3, scheme=scheme, substeps=sub, gravity=9.81)
        for _ in range(count):
            stand.rig.evaluate()
            stand.module.commit(1e-3)
        ends[scheme, sub] = stand.position.copy()
    errors = [np.abs(ends["implicit", sub] - ends["explicit", 100]).max() for sub in (1, 2, 4)]
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 0.5 * errors[0]


def test_lists_are_brute_force_and_runs_repeat_bit_for_bit():
    ends = []
    for lists in (True, False, True):
        stand = Stand(one_track(tension=15e3), step=1e-3, scheme="implicit", gravity=9.81, lists=lists)
        sprocket = stand.module.bodies.index("sprocket")
        stand.rig.spin[0, sprocket] = (0, 2.0, 0)
        stand.rig.place(spin=stand.rig.spin)
        for _ in range(60):
            stand.rig.evaluate()
            stand.module.commit(1e-3)
        ends.append((stand.position.copy(), stand.rig.wrench.copy()))
    for other in ends[1:]:
        assert np.array_equal(ends[0][0], other[0])
        assert np.array_equal(ends[0][1], other[1])


def test_two_worlds_do_not_feel_each_other():
    track = one_track(tension=15e3)
    alone = Stand(track, step=1e-3, scheme="implicit", gravity=9.81)
    module = TrackModule([track], gravity=9.81)
    both = ManufacturedMotion(module, worlds=2, step=1e-3)
    both.place(position=alone.rig.position, rotation=[0, 0, 0, 1], velocity=np.zeros(3), spin=np.zeros(3))
    module.commit(1e-3)
    for _ in range(20):
        alone.rig.evaluate()
        alone.module.commit(1e-3)
        both.evaluate()
        module.commit(1e-3)
    for world in range(2):
        assert np.array_equal(both.wrench[world], alone.rig.wrench[0])
