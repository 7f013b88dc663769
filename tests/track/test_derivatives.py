"""What a track tells its host of the loss of wrench with velocity, against differences."""

import numpy as np
import pytest

from grouser.errors import InputError
from grouser.track import Layout, Link, TrackModule, WheelContact
from tests.track.stands import Stand, one_track

STEP, FASTER = 1e-4, 1e-6  # [s], [m/s]: so small that damping does not end with the contact
PRESSED = 5e-4  # [m] into the links: more than the depth from which damping is full
HEAVY = 1e7  # times the mass of a link: links that do not give way
AGREES = 0.03  # links that turn about their pins still give way a little, and Hertz's stiffness grows


def _loss(link: Link, body: str, axis: int) -> tuple[float, float]:
    """Loss of force [N s/m] of a body that moves faster along an axis: by difference, and as told."""
    track = one_track(Layout(link=link), tension=15e3, contact=WheelContact(friction=0.0))  # friction is not told
    stand = Stand(track, step=STEP, scheme="implicit", derivatives=True)
    k, out = stand.module.bodies.index(body), stand.rig.out
    stand.rig.motion.position.numpy()[0, k, axis] += PRESSED  # as assembled, the links just touch their wheels
    forces = []
    for speed in (FASTER, 0.0):
        stand.rig.motion.velocity.numpy()[0, k, axis] = speed
        stand.rig.evaluate()
        forces.append(float(out.wrench.numpy()[0, k, axis]))
    block = out.implicit.numpy()[0, k]
    assert np.allclose(block, block.T)
    assert np.linalg.eigvalsh(block).min() > -1e-9 * np.abs(block).max()
    return (forces[1] - forces[0]) / FASTER, float(block[axis, axis]) / STEP


def test_the_loss_is_that_of_the_contacts_where_links_do_not_give_way():
    heavy = Link(mass=45.0 * HEAVY, inertia=(0.95 * HEAVY, 0.19 * HEAVY, 1.05 * HEAVY))
    measured, told = _loss(heavy, "front_frame", 0)
    assert measured > 1e4
    assert told == pytest.approx(measured, rel=AGREES)


def test_links_that_give_way_lose_less_than_told():
    measured, told = _loss(Link(), "front_frame", 0)
    assert 0 < measured < told


def test_derivatives_need_the_implicit_scheme():
    with pytest.raises(InputError, match="derivatives: not allowed with scheme 'explicit'"):
        TrackModule([one_track()], scheme="explicit", derivatives=True)
