"""Where MuJoCo Warp's sums need a fixed order."""

import mujoco
import pytest

from grouser.engine.mujoco_warp import MujocoWarp
from grouser.engine.mujoco_warp_order import ACTUATION, INTEGRATION, POSITION, VELOCITY, ordered_stages

ALL = {POSITION, VELOCITY, ACTUATION, INTEGRATION}


def stages(world: str = "", more: str = "", options: str = "", pairs: int = 0, sparse: bool = False) -> set[str]:
    """Stages of a model of two links, with elements added to its body and to its root."""
    xml = f"""<mujoco><option integrator="implicitfast" {options}/><worldbody><site name="a"/>
        <body name="arm"><freejoint/><geom size="0.1"/><site name="b" pos="0 0 0.1"/>
        <body name="left"><joint name="left" axis="0 1 0"/><geom size="0.1"/><site name="c" pos="0.1 0 0"/></body>
        <body name="right"><joint name="right" axis="0 1 0"/><geom size="0.1"/></body>{world}</body>
        </worldbody>{more}</mujoco>"""
    return set(ordered_stages(mujoco.MjModel.from_xml_string(xml), pairs, sparse))


def test_one_motor_a_joint_and_one_spring_need_no_order():
    motors = '<actuator><motor joint="left"/><velocity joint="right"/></actuator>'
    spring = '<tendon><spatial stiffness="1"><site site="a"/><site site="b"/></spatial></tendon>'
    assert stages(more=motors + spring) == set()


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ('<actuator><motor joint="left"/><motor joint="left"/></actuator>', {POSITION, ACTUATION, INTEGRATION}),
        ('<actuator><motor site="b" gear="1 0 0 0 0 0"/></actuator>', {POSITION, ACTUATION, INTEGRATION}),
        (
            '<tendon><spatial><site site="a"/><site site="b"/><site site="c"/></spatial></tendon>',
            {POSITION, VELOCITY, INTEGRATION},
        ),
        (
            "<tendon>" + 2 * '<fixed><joint joint="left" coef="1"/></fixed>' + "</tendon>",
            {POSITION, VELOCITY, INTEGRATION},
        ),
    ],
)
def test_several_terms_in_one_sum_need_it(more, expected):
    assert stages(more=more) == expected


def test_large_trees_and_tendons_with_armature_need_it():
    assert stages(sparse=True) == {INTEGRATION}
    heavy = '<tendon><spatial armature="1"><site site="a"/><site site="b"/></spatial></tendon>'
    assert stages(more=heavy) == {VELOCITY}


@pytest.mark.batch
@pytest.mark.parametrize(("links", "sparse"), [(9, False), (72, True)])
def test_the_engine_knows_a_large_tree(links, sparse):
    chain = '<body pos="0 0 -0.1"><joint axis="0 1 0" damping="1"/><geom size="0.02" mass="0.1"/>'
    spec = mujoco.MjSpec.from_string(f"<mujoco><worldbody>{chain * links}{'</body>' * links}</worldbody></mujoco>")
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    engine = MujocoWarp(spec, [], 1e-3, device="cpu")
    assert (INTEGRATION in engine._ordered) == sparse


def test_contacts_fluid_and_gravity_compensation_need_it():
    assert stages(pairs=1) == {POSITION}
    assert stages(options='density="1.2"') == {INTEGRATION}
    carried = '<body gravcomp="1"><geom size="0.1"/></body>'
    assert stages(world=carried) == set()
    assert stages(world=carried * 2) == {VELOCITY}
