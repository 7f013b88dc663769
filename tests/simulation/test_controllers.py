"""Controllers act at the first step at or after they are due and hold until the next time."""

import mujoco
import numpy as np
import pytest

from grouser.errors import InputError, RunStopped
from grouser.simulation import Simulation

H = 2e-3


class Clock:
    """Writes down when it acts; commands how often it has."""

    def __init__(self, period):
        self.period, self.times, self.count = period, [], np.zeros(1)

    def act(self, time, sensors, command):
        self.times.append(time)
        self.count += 1
        command[:] = self.count[0]

    def state(self):
        return {"count": self.count}

    def reset(self, worlds):
        self.count[:] = 0

    def channels(self):
        return []


def slider() -> mujoco.MjSpec:
    return mujoco.MjSpec.from_string(
        """<mujoco><option gravity="0 0 0"/><worldbody><body name="mass"><joint name="x" type="slide" axis="1 0 0"/>
        <geom size="0.1" mass="1"/></body></worldbody><actuator><motor joint="x"/></actuator></mujoco>"""
    )


def run(period, count):
    clock, commands = Clock(period), []
    sim = Simulation(slider(), controllers=[clock], step=H)
    for _ in range(count):
        sim.step()
        commands.append(sim.data.ctrl[0])
    return clock, commands, sim


def test_with_the_period_of_the_step_it_acts_in_every_step():
    clock, commands, _ = run(H, 50)
    np.testing.assert_allclose(clock.times, H * np.arange(50), atol=1e-12)
    assert commands == list(range(1, 51))


def test_a_controller_acts_every_period_and_its_command_holds_in_between():
    clock, commands, sim = run(5 * H, 23)
    np.testing.assert_allclose(clock.times, 5 * H * np.arange(5), atol=1e-12)
    assert commands == [1] * 5 + [2] * 5 + [3] * 5 + [4] * 5 + [5] * 3
    np.testing.assert_allclose(sim.data.qvel[0], H * sum(commands), rtol=1e-12)  # 1 kg: the force held did work


def test_a_period_that_is_no_multiple_of_the_step_keeps_its_mean():
    """Due at 0, 2.5, 5, 7.5 … steps: acts at 0, 3, 5, 8 …"""
    clock, _, _ = run(2.5 * H, 20)
    np.testing.assert_allclose(np.array(clock.times) / H, [0, 3, 5, 8, 10, 13, 15, 18], atol=1e-9)


def test_a_period_below_the_step_is_refused():
    with pytest.raises(InputError, match=r"controller Clock: period 0\.001 s is below the step 0\.002 s"):
        Simulation(slider(), controllers=[Clock(1e-3)], step=H)


def test_after_a_reset_it_acts_at_once_and_from_its_start():
    clock, _, sim = run(5 * H, 7)
    sim.reset()
    clock.times.clear()
    sim.step()
    assert clock.times == [0.0]
    assert sim.data.ctrl[0] == 1


def test_every_world_is_commanded():
    class Name(Clock):
        def act(self, time, sensors, command):
            command[:] = sensors.qpos[0] + 10

    sim = Simulation(slider(), controllers=[Name(H)], step=H, worlds=3)
    for world, d in enumerate(sim.engine.data):
        d.qpos[0] = world
    sim.step()
    assert [d.ctrl[0] for d in sim.engine.data] == [10, 11, 12]


class Clumsy(Clock):
    """Fails at its third act, inside a call of its own."""

    def act(self, time, sensors, command):
        super().act(time, sensors, command)
        if len(self.times) == 3:
            self.reach(command)

    def reach(self, command):
        command[7] = 1.0


def test_a_controller_that_raises_stops_the_run_and_is_named_with_file_and_line():
    sim = Simulation(slider(), controllers=[Clumsy(2 * H)], step=H)
    with pytest.raises(RunStopped) as stopped:
        sim.step(20)
    line = Clumsy.reach.__code__.co_firstlineno + 1
    assert stopped.value.reason.startswith("the controller raised IndexError: index 7 is out of bounds")
    assert stopped.value.reason.endswith(f"({__file__}, line {line})")
    assert (stopped.value.module, stopped.value.time) == ("Clumsy", pytest.approx(4 * H))
    assert isinstance(stopped.value.__cause__, IndexError)
    assert sim.steps == 4


def test_a_controller_may_stop_the_run_itself():
    class Careful(Clock):
        def act(self, time, sensors, command):
            raise RunStopped("too steep", module="guard", body="mass", time=time)

    with pytest.raises(RunStopped, match="guard, body 'mass': too steep"):
        Simulation(slider(), controllers=[Careful(H)], step=H).step()
