"""Chains put round their wheels: closed, stretched, clear of the wheels; refusals say what would fit."""

import math

import numpy as np
import pytest

from grouser.errors import InputError
from grouser.track import Layout, assemble

CLOSED = 1e-12  # [m]
CLEAR = 1e-6  # [m] round-off of the belt's radii


@pytest.mark.parametrize(("shape", "links"), [("oval", 46), ("oval", None), ("triangular", None)])
def test_chain_closes_and_every_joint_is_stretched_alike(shape, links):
    layout = Layout(shape=shape)
    tension = 15e3
    _, chain = layout.close(links=links, tension=tension)
    ahead = np.stack([np.cos(chain.pitch_angle), 0 * chain.pitch_angle, np.sin(chain.pitch_angle)], axis=1)
    half = layout.link.pitch / 2
    gap = np.roll(chain.position - half * ahead, -1, axis=0) - (chain.position + half * ahead)
    stretch = np.linalg.norm(gap, axis=1)
    assert chain.gap < CLOSED
    assert stretch == pytest.approx(tension / layout.link.joint.radial_stiffness, rel=0.2)  # bent joints a little more
    assert len(chain.position) == (links or len(chain.position))
    folded = np.diff(np.unwrap(np.append(chain.pitch_angle, chain.pitch_angle[0])))
    assert folded.sum() == pytest.approx(2 * math.pi)
    assert (folded > -1e-9).all()  # nowhere bent back


@pytest.mark.parametrize("shape", ["oval", "triangular"])
def test_no_rail_cuts_a_wheel(shape):
    layout = Layout(shape=shape)
    wheels, chain = layout.close(links=None, tension=15e3)
    ahead = np.stack([np.cos(chain.pitch_angle), np.sin(chain.pitch_angle)], axis=1)
    inward = np.stack([-ahead[:, 1], ahead[:, 0]], axis=1)
    s = np.linspace(-0.5, 0.5, 41)[None, :, None] * layout.link.pitch
    rails = (chain.position[:, [0, 2]] + layout.link.rail.height * inward)[:, None] + s * ahead[:, None]
    for wheel in wheels:
        if not wheel.sprocket:
            nearest = np.linalg.norm(rails - np.array(wheel.centre), axis=-1).min()
            assert nearest > wheel.radius - CLEAR, wheel.name


def test_bushings_sit_on_the_pitch_circle_of_the_sprocket():
    layout = Layout()
    wheels, chain = layout.close(links=46)
    ahead = np.stack([np.cos(chain.pitch_angle), np.sin(chain.pitch_angle)], axis=1)
    bushings = chain.position[:, [0, 2]] - layout.link.pitch / 2 * ahead
    distance = np.linalg.norm(bushings - np.array(wheels[0].centre), axis=1)
    seated = np.abs(distance - wheels[0].sprocket.pitch_radius) < 1e-9
    angles = np.arctan2(*(bushings[seated] - np.array(wheels[0].centre)).T[::-1])
    off = (angles - chain.first_gap["sprocket"]) / (2 * math.pi / 25)
    assert seated.sum() >= 6
    assert np.abs(off - np.round(off)).max() < 1e-9


def test_a_chain_that_cannot_close_says_how_many_links_would():
    with pytest.raises(InputError, match=r"40 links cannot close .* 45 to 47 links would"):
        Layout().close(links=40, travel=(-0.15, 0.15))


def test_a_chain_needs_sprocket_and_idler():
    wheels = [w for w in Layout().wheels() if w.kind != "idler"]
    with pytest.raises(InputError, match="needs a sprocket and an idler"):
        assemble(wheels, Layout().link)
