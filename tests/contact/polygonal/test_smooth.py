"""Force free of jumps as a ball slides over facets; candidates counted; room on the lists."""

import numpy as np
import pytest

from grouser.contact.pairs import FULL, KINDS
from grouser.contact.polygonal import Layer, Pair, PolygonalModule, shape
from tests.contact.polygonal.bodies import SOFT, ball, ball_mesh, grid, on_ground, plane, rest
from tests.rig import ManufacturedMotion

R, DEPTH = 0.1, 0.001
FEWER = 1e4  # bar: all pairs of triangles over those looked at
FACET = 0.01  # [m] of the ground below


def bumpy(layer=SOFT):
    """Ground of facets that meet at ridges and valleys."""
    along = np.arange(-5, 6) * FACET
    random = np.random.default_rng(1).uniform(-2e-4, 2e-4, (11, 11))
    return shape(*grid(along, along, lambda x, y: random), layer, name="bumpy")


def forces(steps: int, mode: str | None = None) -> np.ndarray:
    """(steps, 3) on a ball that slides, without friction, over two facets."""
    slick = Layer(young=1e7, thickness=0.02, friction_stick=0.0, friction_slip=0.0)
    rig = on_ground(ball(R, 5, slick), bumpy(slick), depth=mode)
    return np.array([rest(rig, (x, 0.0007, R - DEPTH)).wrench[0, 0, :3] for x in np.linspace(-FACET, FACET, steps)])


@pytest.mark.parametrize("mode", ["linear", "exact"])
def test_force_has_no_jumps_over_facets(mode):
    """Measure: the largest change of force between neighbouring places, over the mean force, on 1/100 of a facet.

    It shrinks in proportion as the places move together; a jump would stay. The force itself varies, the ground does.
    """
    coarse, fine = forces(201, mode), forces(801, mode)
    load = np.linalg.norm(coarse, axis=1).mean()
    jumps = [np.linalg.norm(np.diff(f, axis=0), axis=1).max() / load for f in (coarse, fine)]
    assert jumps[0] < 0.02  # the ground rises by 2 % of the depth on 1/100 of a facet at most, force goes as its square
    assert jumps[1] < 0.3 * jumps[0]  # a quarter of the way


def test_candidates_are_ten_thousand_times_fewer_than_all_pairs():
    """Two bodies of 20 000 triangles that touch over at most 200 of them."""
    along = np.linspace(-0.2, 0.2, 101)
    ground = shape(*grid(along, along, lambda x, y: 0.002 * np.sin(40 * x) * np.cos(30 * y)), SOFT, name="ground")
    vertices, triangles = ball_mesh(0.2, 6)  # 32 768 of them
    body = shape(vertices, triangles, Layer(young=1e7, thickness=0.002), name="ball")
    rig = rest(on_ground(body, ground, reach=0.004), (0.0, 0.0, 0.2 - 0.0005))
    assert len(ground.triangles) == 20000
    assert len(body.triangles) > 20000
    touching = (rig.module._elements.load.numpy() > 0).sum()
    assert 20 < touching <= 200
    assert len(body.triangles) * len(ground.triangles) / rig.module.tests()[0, 0] > FEWER


def test_bodies_that_do_not_touch_are_not_looked_at():
    rig = rest(on_ground(ball(R, 5), plane()), (0, 0, R + 0.05))
    assert rig.module.tests()[0, 0] == 0
    assert not rig.wrench.any()


def test_a_full_list_is_said_and_not_cut_short():
    rig = on_ground(ball(R, 5), plane(), capacity=10)
    rig.place((0, 0, R - DEPTH)).advance()
    code = int(rig.out.status.numpy()[0, 0])
    assert code % KINDS == FULL
    reason, fatal = rig.module.explain(code)
    assert fatal
    assert "'ground'" in reason
    assert "10 pairs of faces" in reason


def test_the_tree_of_a_ground_is_built_once():
    rig = on_ground(ball(R, 3), plane())
    before = [tree.id for tree in rig.module._trees if tree]
    rest(rig, (0, 0, R - DEPTH))
    rest(rig, (0.5, 0, R - DEPTH))
    assert [tree.id for tree in rig.module._trees if tree] == before
    assert len(before) == 1  # none for the body, whose own tree is walked


def test_fast_bodies_do_not_pass_through_the_reach():
    """A body that would be 50 mm deep at the end of the step, twelve times the reach: still held."""
    rig = on_ground(ball(R, 4, Layer(young=1e7, thickness=0.001)), plane(layer=Layer(young=1e7, thickness=0.001)))
    rig.place((0, 0, R + 0.001), velocity=(0, 0, -50.0)).advance()
    assert rig.wrench[0, 0, 2] > 0
    assert rig.implicit[0, 0, 2, 2] > 0


@pytest.mark.parametrize("thickness", [0.01, 0.0005])
def test_depth_beyond_the_layers_is_said_by_name(thickness):
    layer = Layer(young=1e7, thickness=thickness)
    module = PolygonalModule(
        {"wheel": ball(R, 4, layer)}, {"rock": plane(layer=layer)}, [Pair("wheel", "rock", reach=0.1)]
    )
    rig = ManufacturedMotion(module)
    rig.place((0, 0, R - 2 * DEPTH)).advance()
    code = int(rig.out.status.numpy()[0, 0])
    if thickness > DEPTH:
        assert code == 0
    else:
        reason, fatal = module.explain(code)
        assert not fatal
        assert "'rock'" in reason
        assert "0.001 m" in reason


def test_kappa_far_from_zero_is_said_once():
    hard = Layer(young=1e9, thickness=0.01)
    rig = on_ground(ball(R, 4, hard), plane())
    said = []
    for _ in range(5):
        rig.place((0, 0, R - DEPTH)).advance()
        said.append(int(rig.out.status.numpy()[0, 0]))
    assert "kappa" in rig.module.explain(said[0])[0]
    assert not rig.module.explain(said[0])[1]
    assert said[1:] == [0] * 4
