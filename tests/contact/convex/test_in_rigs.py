"""The module in the shared rigs: its implicit matrix, opposite wrenches, restarts; one world only, and bad input."""

from __future__ import annotations

import numpy as np
import pytest

from grouser.contact.convex import ConvexContact, ConvexPart, Material
from grouser.errors import InputError
from grouser.simulation import Simulation
from grouser.terrain.polyhedra import box, hull
from tests.contact.convex.bodies import FLOOR, SIZE, boxes, effective, one_box
from tests.rig import ManufacturedMotion, check_implicit, quaternion

IMPLICIT = 1e-2  # of B: it does not know that the patch of a tilted face grows with its depth
ROUND_OFF = 1e-9


@pytest.mark.parametrize("tilt", [(0.0, 0.0, 0.3), (0.002, 0.003, 0.0), (0.0, 0.5, 0.0), (0.5, 0.6, 0.0)])
def test_block_is_the_derivative_of_the_wrench(tilt):
    """Face, tilted face, edge, corner; depth small against the spread, so that the patch hardly changes."""
    part = box(SIZE)
    module = ConvexContact([ConvexPart("box0", part)], FLOOR, Material(shear_damping=0.0))
    rig = ManufacturedMotion(module)
    q = quaternion(np.array(tilt))
    from scipy.spatial.transform import Rotation

    lowest = Rotation.from_quat(q).apply(part.vertices)[:, 2].min()
    rig.place(position=(0, 0, -lowest - 2e-6), rotation=q).advance().advance()
    result = check_implicit(rig, length=0.2, change=1e-6)
    assert result.error < IMPLICIT
    assert result.asymmetry < ROUND_OFF
    assert result.least > -ROUND_OFF


def two_boxes(height: float = 1e-4, **more) -> tuple[ConvexContact, Simulation]:
    material = Material(stiffness=1e7)
    module = ConvexContact(
        [ConvexPart("box0", box(SIZE)), ConvexPart("box1", box(SIZE))], None, material, between=[("box0", "box1")]
    )
    spec = boxes([(0, 0, 0), (0.05, 0.02, SIZE[2] - height)], gravity=0.0, **more)
    return module, Simulation(spec, [module], step=1e-4)


def test_two_bodies_push_each_other_equally():
    """Momentum, linear and angular, stays where two boxes bump into each other at a tilt."""
    module, sim = two_boxes(-1e-3, quats=[(1, 0, 0, 0), (0.995, 0.05, 0.07, 0.03)], velocity=(0.1, 0, 0, 0.2, 0.1, 0))
    sim.data.qvel[6:12] = [0, 0.1, -0.5, 0, 0.3, 0]
    start = momentum(sim)
    before = sim.data.qvel.copy()
    sim.step(400)
    assert np.abs(sim.data.qvel - before).max() > 0.1  # they did
    assert np.abs(momentum(sim) - start).max() < 1e-5 * 10 * 0.5  # MuJoCo's own drift


def momentum(sim: Simulation) -> np.ndarray:
    import mujoco

    mujoco.mj_fwdPosition(sim.model, sim.data)
    mujoco.mj_fwdVelocity(sim.model, sim.data)
    mujoco.mj_subtreeVel(sim.model, sim.data)
    d, m = sim.data, sim.model
    linear = m.body_subtreemass[0] * d.subtree_linvel[0]
    return np.concatenate([linear, d.subtree_angmom[0] + np.cross(d.subtree_com[0], linear)])


def test_step_beyond_the_limit_of_two_bodies_is_refused():
    module, _ = two_boxes()
    assert 1e-4 < module.step_limit < 1e-2
    again = ConvexContact(module.parts, None, module.material, between=[("box0", "box1")])
    with pytest.raises(InputError, match="is above the"):
        Simulation(boxes([(0, 0, 0), (0, 0, 0.3)]), [again], step=2 * module.step_limit)


def test_run_goes_on_bit_for_bit_from_a_checkpoint():
    sim = one_box(velocity=(0.4, 0.1, 0, 0, 0, 1.0))
    sim.step(50)
    saved = sim.checkpoint()
    sim.step(50)
    expected = sim.data.qpos.copy()
    sim.restore(saved)
    sim.step(50)
    assert np.array_equal(sim.data.qpos, expected)


def test_looking_changes_nothing():
    one, two = (one_box(velocity=(0.4, 0.1, 0, 0, 0, 1.0)) for _ in range(2))
    for _ in range(100):
        one.step()
        one.modules[0].evaluate_for_channels()
        two.step()
    assert np.array_equal(one.data.qpos, two.data.qpos)


def test_float32_is_refused():
    module = ConvexContact([ConvexPart("box0", box(SIZE))], FLOOR)
    with pytest.raises(InputError, match="float32"):
        Simulation(boxes([(0, 0, 1)]), [module], dtype="float32")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ConvexContact([], FLOOR), "no part"),
        (lambda: ConvexContact([ConvexPart("a", box(SIZE))] * 2, FLOOR), "two parts are called 'a'"),
        (lambda: ConvexContact([ConvexPart("a", box(SIZE))], None), "neither a course nor"),
        (lambda: ConvexContact([ConvexPart("a", box(SIZE))], FLOOR, friction=(0.2, 0.4)), "friction"),
        (lambda: ConvexContact([ConvexPart("a", box(SIZE))], FLOOR, between=[("a", "b")]), "no part 'b'"),
        (lambda: ConvexContact([ConvexPart("a", box(SIZE), orientation=(1, 1, 0, 0))], FLOOR), "quaternion"),
        (lambda: ConvexContact([ConvexPart("a", np.zeros((5, 3)))], FLOOR), "span no volume"),
        (lambda: hull([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]]), "span no volume"),
        (lambda: Material(stiffness=-1.0), "stiffness"),
    ],
)
def test_bad_input_is_named(make, words):
    with pytest.raises(InputError, match=words):
        make()


def test_a_batch_is_refused():
    module = ConvexContact([ConvexPart("box0", box(SIZE))], FLOOR)
    with pytest.raises(InputError, match="one world only"):
        Simulation(boxes([(0, 0, 1)]), [module], worlds=2)


def test_too_many_contacts_stop_the_run():
    from grouser.errors import RunStopped

    sim = one_box(
        course=[box((0.05, 0.05, 1), (0.05 * i, 0.05 * j, -0.5)) for i in range(9) for j in range(9)], capacity=8
    )
    with pytest.raises(RunStopped, match="capacity"):
        sim.step(3)


def test_contacts_of_a_step_add_up_to_what_the_body_got():
    sim = one_box(place=(0, 0, SIZE[2] / 2 + 1e-3), velocity=(0.5, 0.2, -1.0, 0.5, 1.0, 0))
    touched = 0
    for _ in range(100):
        sim.step()
        rows = sim.modules[0].step_contacts()
        touched += len(rows)
        assert rows[:, 3:6].sum(0) == pytest.approx(effective(sim)[:3], abs=1e-6)
    assert touched > 10
