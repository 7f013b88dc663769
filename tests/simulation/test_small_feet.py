"""Robots whose feet are written as a few small balls: they stand, and what carries nothing is said."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from grouser import on_soil
from grouser.simulation.loads import PERIOD
from tests.simulation.robots import G, notes, refusal

BALLS = [(-0.05, 0.025), (-0.05, -0.025), (0.12, 0.03), (0.12, -0.03)]  # [m] as on the soles of a humanoid
TRAPEZE = 0.17 * (0.05 + 0.06) / 2  # [m^2] between their middles
CARRIED = 0.02  # of the weight: a robot that has come to rest on soil still swings a little


def biped(radius: float = 0.005, balls=BALLS, mass: float = 2.0, more: str = "", floor: str = "") -> mujoco.MjSpec:
    """A trunk on a vertical rail, with two feet that have small balls for a sole."""
    geoms = "".join(f'<geom size="{radius}" pos="{x} {y} -0.03" mass="0"/>' for x, y in balls)
    feet = "".join(
        f'<body name="{side}_foot" pos="0 {y} -0.4"><geom type="box" size=".05 .02 .01" contype="0" conaffinity="0" '
        f'mass="1"/>{geoms}</body>'
        for side, y in (("left", 0.1), ("right", -0.1))
    )
    return mujoco.MjSpec.from_string(
        f"""<mujoco model="biped"><worldbody>{floor}<body name="trunk" pos="0 0 0.5"><joint type="slide" axis="0 0 1"/>
        <geom type="box" size=".1 .15 .2" mass="{mass}"/>{feet}{more}</body></worldbody></mujoco>"""
    )


def carried(sim) -> np.ndarray:
    """Vertical force of the soil on each body [N], mean of the next tenth of a second."""
    loads = []
    for _ in range(20):
        sim.step(max(1, round(0.005 / sim.step_size)))
        loads.append(sim.observe()["soil/force"][0, :, 2].copy())
    return np.mean(loads, axis=0)


def test_four_small_balls_of_a_foot_are_one_sole_and_carry_the_robot():
    sim = on_soil(biped(), bodies=".*_foot")
    area = 1e4 * (TRAPEZE + 0.005 * (0.05 + 0.06 + 2 * 0.17))  # a margin of the radius, corners less
    said = notes(sim, "are replaced by their hull")
    assert len(said) == 1
    start, rest = (
        "bodies 'left_foot', 'right_foot': 4 small shapes (10 mm) are replaced by their hull, ",
        " cm^2 seen from above",
    )
    assert said[0].startswith(start)
    assert said[0].endswith(f"{rest} (merge_small_shapes = false keeps them apart)")
    assert float(said[0].removeprefix(start).split()[0]) == pytest.approx(area, rel=0.02)
    sim.step(round(1.0 / sim.step_size))
    assert carried(sim).sum() == pytest.approx(4 * G, rel=CARRIED)
    assert sim.observe()["soil/sinkage"].max() < 0.005


def test_kept_apart_they_sink_deeper_but_carry_it_too():
    merged, apart = (on_soil(biped(), bodies=".*_foot", merge_small_shapes=flag) for flag in (True, False))
    assert not notes(apart, "hull")
    for sim in (merged, apart):
        sim.step(round(1.0 / sim.step_size))
    assert carried(apart).sum() == pytest.approx(4 * G, rel=CARRIED)
    assert apart.observe()["soil/sinkage"].max() > 2 * merged.observe()["soil/sinkage"].max()


def test_small_shapes_that_lie_far_apart_stay_apart():
    far = [(-0.15, 0.0), (0.15, 0.0)]  # 29 diameters between them
    assert not notes(on_soil(biped(balls=far), bodies=".*_foot"), "hull")
    assert notes(on_soil(biped(balls=[(-0.1, 0.0), (0.1, 0.0)]), bodies=".*_foot"), "hull")


def test_shapes_of_ordinary_size_stay_as_they_are():
    assert not notes(on_soil(biped(radius=0.025), bodies=".*_foot"), "hull")


def test_small_shapes_beside_a_large_one_do_not_swallow_it():
    sole = """<body name="plate" pos="0 0 -0.4"><geom type="box" size=".1 .05 .01"/>
        <geom size=".004" pos=".05 0 -.015"/><geom size=".004" pos="-.05 0 -.015"/></body>"""
    sim = on_soil(biped(more=sole), bodies="plate")
    assert len(notes(sim, "2 small shapes (8 mm) are replaced by their hull")) == 1
    np.testing.assert_allclose(np.ptp(sim.soil.surfaces["plate"].vertices, axis=0)[:2], [0.2, 0.1])


def test_a_ball_below_half_a_cell_is_refused_with_the_spacing_that_carries_it():
    line = refusal(biped(radius=0.002), bodies=".*_foot", spacing=0.01, merge_small_shapes=False)
    assert line == (
        "spacing: 0.01 m is too coarse for body 'left_foot': it has a separate shape that is 4 mm across; "
        "allowed is a spacing of at most 0.008 m"
    )
    sim = on_soil(biped(radius=0.002), bodies=".*_foot", merge_small_shapes=False)
    assert sim.ground.spacing <= 0.008


# ---- who carries the robot ---------------------------------------------------------------------------------

FLOOR = '<geom name="floor" type="plane" size="5 5 1"/>'
PEG = """<body name="peg" pos="0 0 -0.2"><joint type="slide" axis="0 0 1"/>
    <geom type="box" size=".03 .03 .03" mass="1"/></body>"""


def test_a_chosen_body_that_carries_nothing_is_said_at_the_start_and_later():
    sim = on_soil(biped(), bodies="trunk|.*_foot", settle=False)
    start = "trunk (235 mm above the ground at the start)"
    assert notes(sim, "carried no load") == [f"soil bodies that carried no load up to t = 0 s: {start}"]
    sim.step(round(0.5 / sim.step_size))
    (line,) = notes(sim, "carried no load")
    assert line.endswith(f" s: {start}")
    assert 0.5 - PERIOD <= float(line.split("t = ")[1].split()[0]) <= 0.5
    sim.reset()
    assert notes(sim, "carried no load") == [f"soil bodies that carried no load up to t = 0 s: {start}"]


def test_feet_that_carry_are_not_said_to_carry_nothing():
    sim = on_soil(biped(), bodies=".*_foot")
    sim.step(round(0.2 / sim.step_size))
    assert not notes(sim, "carried no load")


def test_what_an_unchosen_body_puts_on_the_hard_floor_is_said_with_how_much_and_when():
    """A peg that slides down between the feet: nothing chose it, so it stands on the undisturbed ground."""
    sim = on_soil(biped(more=PEG, floor=FLOOR), bodies=".*_foot")
    assert not notes(sim, "hard floor, not soil")
    sim.step(round(1.0 / sim.step_size))
    (line,) = notes(sim, "hard floor, not soil")
    assert line.startswith("'peg' touches the hard floor, not soil, first at t = 0.")
    assert "% of the weight" in line
    assert sim.loads is not None
    falls = np.sqrt(2 * 0.205 / G)  # [s] from 205 mm above the ground
    assert falls - 0.01 < float(line.split("t = ")[1].split()[0]) < falls + 2 * PERIOD
    assert sim.loads.floor_load[0] == pytest.approx([0.0, 1.0 * G], rel=CARRIED), (
        "the trunk nothing, the peg its weight"
    )


def test_loads_do_not_change_the_run():
    one, other = (on_soil(biped(more=PEG, floor=FLOOR), bodies=".*_foot") for _ in range(2))
    other.loads = None
    for sim in (one, other):
        sim.step(round(0.6 / sim.step_size))
    assert np.array_equal(one.data.qpos, other.data.qpos)


def test_what_is_said_of_loads_goes_back_with_a_checkpoint():
    """Of a run that went on and was taken back, and in a fresh simulation."""

    def build():
        return on_soil(biped(more=PEG, floor=FLOOR), bodies="trunk|.*_foot")

    def told(sim) -> tuple[list[str], list[float]]:
        return notes(sim, "carried no load") + notes(sim, "not on soil"), sim.loads.floor_load[0].tolist()

    steps, one = round(0.55 / build().step_size), build()
    start, before = one.checkpoint(), told(one)
    one.step(steps)
    middle, then = one.checkpoint(), told(one)
    one.step(steps)
    end = told(one)
    assert before != then != end
    for sim in (one, build()):
        sim.restore(middle)
        assert told(sim) == then
        sim.step(steps)
        assert told(sim) == end
        sim.restore(start)
        assert told(sim) == before
        sim.step(steps)
        assert told(sim) == then
