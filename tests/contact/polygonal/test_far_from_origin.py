"""A wheel that rolls over a stone, with elements on the stone: it costs and pushes the same wherever the stone lies."""

import numpy as np
import pytest

from grouser.contact.pairs import FULL, KINDS
from grouser.contact.polygonal import Layer, Pair, PolygonalModule, merged, shape
from grouser.contact.polygonal.wheel import wheel_mesh
from grouser.terrain.rock_shapes import rock_mesh
from tests.contact.polygonal.bodies import RIGID
from tests.rig import ManufacturedMotion, SteadyMotion

RADIUS, STONE = 0.14, 0.06  # [m]
SPEED, STEP = 0.3, 5e-3  # [m/s], [s]
FAR = (480.0, 552.0, 20.0)  # [m] from the origin
ROUND_OFF = 1e-9  # of the largest force: 1e-13 m of a place 730 m away, over depths of a tenth of a millimetre
LONGER = (
    1e-6  # of the largest force: an oblique polygon asks all listed faces which is nearest, and a longer list has more
)
TREAD = Layer(5e6, 0.42, 0.02, damping=1e5, friction_stick=0.7, friction_slip=0.6)


def rolled_over_a_stone(place, speed: float = SPEED, **pair):
    """Wrenches (step, 6) on the wheel, pairs of faces compared, and searches. It turns as it does at SPEED."""
    place = np.array(place)
    vertices, triangles = rock_mesh(2 * STONE, np.random.default_rng(2))
    # A second stone far from the first, as in a field: the shape is large, whatever its origin.
    stones = merged(
        [shape(vertices + place + shift, triangles, RIGID) for shift in ((0.0, 0.0, 0.0), (40.0, 0.0, 0.0))]
    )
    wheel = shape(*wheel_mesh(RADIUS, 0.1, 0.015), TREAD)
    module = PolygonalModule({"wheel": wheel}, {"stones": stones}, [Pair("wheel", "stones", elements="stones", **pair)])
    rig = ManufacturedMotion(module, step=STEP)
    start = place + np.array([-0.0743 * speed / SPEED, 0.0113, RADIUS + vertices[:, 2].max() - 0.004])
    motion = SteadyMotion(tuple(start), velocity=(speed, 0, 0), spin=(0, SPEED / RADIUS, 0))
    wrenches, tests = [], []

    def note():
        wrenches.append(rig.wrench[0, 0])
        tests.append(int(module.tests()[0, 0]))

    rig.follow(motion, 100, note)
    assert not module._lists.state.numpy()["overflow"].any()
    return np.array(wrenches), np.array(tests), int(module.searches()[0, 0])


def test_distance_from_the_origin_changes_neither_force_nor_cost():
    near, near_tests, near_searches = rolled_over_a_stone((0.0, 0.0, 0.0))
    far, far_tests, far_searches = rolled_over_a_stone(FAR)
    assert np.abs(near[:, 2]).max() > 10
    np.testing.assert_allclose(far, near, atol=ROUND_OFF * np.abs(near).max())
    assert far_searches == near_searches
    assert far_tests.sum() == pytest.approx(near_tests.sum(), rel=0.01)  # faces on the border of a box


@pytest.mark.parametrize("speed", [SPEED, 0.0], ids=["rolls", "spins"])
def test_far_lists_that_last_give_what_fresh_ones_give(speed):
    lasting, _, searches = rolled_over_a_stone(FAR, speed, margin=0.02)
    fresh, _, often = rolled_over_a_stone(FAR, speed, margin=1e-9)
    np.testing.assert_allclose(lasting, fresh, atol=LONGER * np.abs(fresh).max())
    assert often > 4 * searches > 0


def test_a_list_without_room_says_so_and_writes_no_further():
    """Two wheels with a list each: the second list is whole, the first one's wheel is stopped by name."""
    vertices, triangles = rock_mesh(2 * STONE, np.random.default_rng(2))
    stone = shape(vertices, triangles, RIGID)
    wheel = shape(*wheel_mesh(RADIUS, 0.1, 0.015), TREAD)
    height = RADIUS + vertices[:, 2].max() - 0.004
    found = []
    for room in (2, None):
        pairs = [Pair("a", "stone", elements="stone", listed=room), Pair("b", "stone", elements="stone")]
        module = PolygonalModule({"a": wheel, "b": wheel}, {"stone": stone}, pairs)
        rig = ManufacturedMotion(module, step=STEP).place((0.0, 0.0, height)).advance()
        found.append((rig.wrench[0, 1], rig.out.status.numpy()[0], module))
    (short, status, module), (whole, fine, _) = found
    np.testing.assert_array_equal(short, whole)
    assert fine[0] % KINDS < FULL
    assert status[0] % KINDS == FULL > status[1] % KINDS
    reason, stops = module.explain(int(status[0]))
    assert stops
    assert "more than 2 elements" in reason
