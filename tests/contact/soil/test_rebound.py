"""The estimate of the step's error where a landing throws a body up again."""

from __future__ import annotations

import math

import numpy as np
import pytest

from grouser.contact.soil import SoilModule, rebound, wheel
from grouser.contact.soil import types as t
from grouser.terrain import flat, soil
from grouser.terrain.ground import Ground
from tests.rig import ManufacturedMotion

STEP = 5e-3
RADIUS = 0.13
LANDED = 20  # steps in which the force rises: so many that the landing itself is judged to be right
FALLS = 8  # steps in which the soil springs back


def judged(
    left: float, rests: float, along: float = 0.0, flies: float | None = None, first: float | None = None
) -> int:
    """Status of a wheel that lands, lifts off at a depth `left` [m] and rests at `rests`, `along` [m] from there.

    `flies` [m]: its depth while it touches nothing; `first` [m]: that of its first touches afterwards.
    """
    falls = FALLS
    ground = Ground(flat(size=(1, 1), spacing=0.25, origin=(-0.5, -0.5)), soil("dry-sand"), 0.005)  # fine enough
    rig = ManufacturedMotion(SoilModule(ground, {"wheel": wheel(RADIUS, 0.1)}), step=STEP)
    up = np.sin(np.pi / 2 * np.arange(1, LANDED + 1) / LANDED)
    down = np.cos(np.pi / 2 * np.arange(1, falls + 1) / falls)
    forces = np.concatenate([up, down, np.full(10, 0.0), np.full(30, 0.02)])
    after = np.full(40, rests)
    after[:10] = rests if flies is None else flies
    after[10:20] = rests if first is None else first
    depths = np.concatenate([np.linspace(0, left, LANDED), np.full(falls, left), after])
    places = np.where(np.arange(len(forces)) < LANDED + falls + 5, 0.0, along)
    speeds = np.diff(places, prepend=0.0) / STEP
    said = t.FINE
    for force, depth, x, v in zip(forces, depths, places, speeds, strict=True):
        got = np.zeros((1, 1, 6))
        got[..., 2] = 1e3 * max(force, 0.0)
        rig.place(position=(x, 0.0, RADIUS - depth), rotation=rig.rotation, velocity=(v, 0.0, 0.0))
        rig.out.effective.assign(got)
        rig.module.commit(STEP)
        said = max(said, int(rig.out.status.numpy()[0, 0]))
        rig.evaluate()
    return said


def test_the_height_of_a_rebound_has_the_error_of_an_implicit_spring():
    """A mass on a spring that is let go: its speed when the spring has its length again, against the closed form."""
    falls = 40
    wh = math.pi / 2 / falls
    x, v, forces = -1.0, 0.0, [1.0]
    while x < 0:
        v = (v - wh * x) / (1 + wh * wh)
        x += wh * v
        forces.append(max(-x, 0.0))
    force = np.array(forces)
    e = (force[0] - force[-1]) / 2 / (force[1:] + force[:-1]).sum() * 2
    assert 1 - v**2 == pytest.approx(rebound.HEIGHT * e, rel=0.1)  # of first order: 40 steps


@pytest.mark.parametrize(
    ("left", "rests", "along", "status"),
    [
        (0.02, 0.02, 0.0, t.FINE),  # pressed down again
        (0.02, 0.0185, 0.0, t.TWICE),  # 8 % higher, times pi * pi / (4 * 8) = 0.31
        (0.02, 0.017, 0.0, t.FIVE_TIMES),
        (0.02, 0.013, 0.0, t.TEN_TIMES),
        (0.02, 0.013, 0.05, t.FINE),  # it came down elsewhere
    ],
)
def test_a_body_that_rests_higher_than_it_lifted_off(left, rests, along, status):
    estimate = rebound.HEIGHT * math.pi / 4 / FALLS * (left / rests - 1)
    if along == 0.0:
        assert status == [t.FINE, t.TWICE, t.FIVE_TIMES, t.TEN_TIMES][np.searchsorted([0.02, 0.04, 0.1], estimate)]
    assert judged(left, rests, along) == status


@pytest.mark.parametrize(
    "path",
    [
        {"flies": 0.013},  # what counts is where it rests, not how high it flew
        {"flies": 0.013, "first": 0.013},  # the second landing presses the soil down again: too early to judge
    ],
)
def test_a_body_that_rests_where_it_lifted_off(path):
    assert judged(0.02, 0.02, **path) == t.FINE


def test_soil_that_has_begun_to_slide_in_goes_on():
    """A rise of 0.5 mm alone is 0.8 %; of a rebound of 4.5 mm it is so much that half of the height counts, 3.6 %."""
    low = {"flies": 0.0155, "first": 0.0155}
    assert judged(0.02, 0.0195) == t.FINE
    assert judged(0.02, 0.0195, **low) == t.TWICE
    assert judged(0.02, 0.0198, **low) == t.FINE  # too little soil came in: it is pressed down again
