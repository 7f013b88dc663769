"""The sequence goes on by sensors alone: fakes of them, no stepping."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from grouser.control.docking import Docking, DockingPlan, Phase, Reason
from grouser.control.docking_sensors import ContactSwitches
from grouser.control.spacecraft import Mode
from grouser.errors import InputError
from grouser.robots import olev, olev_control
from grouser.robots.olev import Olev


class Bench:
    """A sequence with sensors that say what they are told."""

    def __init__(self, **plan):
        self.tool, self.pads = np.zeros(2), np.zeros(3)
        p = self.p = Olev()
        self.equipment = olev_control.equip(
            p, DockingPlan(**plan), ContactSwitches(lambda: self.tool, p.switch_force),
            ContactSwitches(lambda: self.pads, p.switch_force), step=2e-3,
        )  # fmt: skip
        self.docking: Docking = self.equipment.docking
        model = olev.build(p).compile()
        self.data = mujoco.MjData(model)
        mujoco.mj_resetDataKeyframe(model, self.data, 0)
        self.time = 0.0
        for part in self.equipment.controllers:
            part.reset([0])

    def act(self, count: int = 1) -> Phase:
        for _ in range(count):
            self.docking.act(self.time, self.data, self.data.ctrl)
            self.time += self.docking.period
        return Phase(self.docking.phase[0])

    def see_gap(self, gap: float) -> None:
        h = self.docking.hardware
        self.equipment.distance.distance[:] = np.interp(gap, h.seat_gap, h.seat_distance)

    def pull(self, drive: str, force: float) -> None:
        """The spindle of a drive pulls with `force` [N]: it is wound in by force / stiffness."""
        model = self.data.model
        actuator = model.actuator(drive)
        place = self.data.joint(drive).qpos[0]
        self.data.act[actuator.actadr[0]] = place - force / actuator.gainprm[0]

    def at(self, phase: Phase) -> Bench:
        self.act()
        self.docking.phase[0] = phase
        return self


def test_no_wall_seen_no_insertion_however_long():
    bench = Bench()
    assert bench.act(2000) == Phase.APPROACH
    bench.see_gap(0.1)
    assert bench.act() == Phase.INSERTION


def test_boom_stops_before_the_seat_and_locking_begins():
    bench = Bench()
    bench.see_gap(0.05)
    bench.act(60)
    command = bench.data.actuator("boom2").ctrl[0]
    assert command > 0
    bench.see_gap(0.003)
    assert bench.act() == Phase.LOCKING
    assert bench.data.actuator("boom2").ctrl[0] == 0
    assert bench.equipment.aocs.mode[0] == Mode.FREE


def test_boom_waits_outside_while_off_the_axis():
    bench = Bench()
    aocs = bench.equipment.aocs
    aocs.place[:] = aocs.target
    aocs.place[0] += 0.2
    bench.act(20)
    assert bench.data.actuator("boom2").ctrl[0] == 0


@pytest.mark.parametrize(("force", "closed", "locked"), [(99.0, True, True), (99.0, False, False), (60.0, True, False)])
def test_lock_needs_the_force_and_both_switches(force, closed, locked):
    bench = Bench().at(Phase.LOCKING)
    bench.pull("crown", force)
    bench.tool[:] = 50.0 if closed else [50.0, 0.0]
    assert (bench.act(12) == Phase.CHECK) == locked


def test_crown_at_its_end_without_force_gives_up():
    bench = Bench().at(Phase.LOCKING)
    bench.data.act[bench.docking._crown_act] = -bench.p.crown_stroke
    assert bench.act() == Phase.ABORT
    assert bench.docking.reason[0] == Reason.NO_LOCK


@pytest.mark.parametrize("phase", [Phase.APPROACH, Phase.INSERTION, Phase.LOCKING, Phase.RETRACTION, Phase.SPRING])
def test_excess_force_aborts_and_retreats(phase):
    bench = Bench().at(phase)
    bench.tool[:] = 50.0
    bench.pull("boom3", 1000.0)
    assert bench.act() == Phase.ABORT
    assert bench.docking.reason[0] == Reason.FORCE
    assert bench.equipment.aocs.mode[0] == Mode.RETREAT
    bench.act(20)
    assert bench.data.actuator("boom2").ctrl[0] < 0  # the crown is closed: the tool comes out


def test_tool_comes_out_only_once_the_crown_is_closed():
    bench = Bench().at(Phase.LOCKING)
    for store, place in ((bench.data.act, bench.docking._crown_act), (bench.data.qpos, bench.docking._crown_q)):
        store[place] = -0.01
    bench.pull("boom3", -1000.0)
    assert bench.act() == Phase.ABORT
    bench.act(5)
    assert bench.data.actuator("boom2").ctrl[0] == 0
    assert bench.data.actuator("crown").ctrl[0] > 0


def test_camera_blind_outside_the_nozzle_gives_up():
    bench = Bench(blind_time=1.0)
    bench.equipment.aocs.since[0] = 20
    assert bench.act() == Phase.ABORT
    assert bench.docking.reason[0] == Reason.BLIND


def test_swing_is_watched_before_the_boom_is_drawn_in():
    bench = Bench(swings=2).at(Phase.CHECK)
    bench.tool[:] = 50.0
    assert bench.act(500) == Phase.CHECK  # no swing, no check passed
    for angle in np.sin(np.linspace(0, 9, 60)):
        bench.data.qpos[bench.docking._bends] = 1e-3 * angle
        phase = bench.act()
    assert phase == Phase.RETRACTION


def test_touchdown_begins_with_one_bracket_and_ends_with_three():
    bench = Bench().at(Phase.RETRACTION)
    bench.tool[:] = 50.0
    assert bench.act(10) == Phase.RETRACTION
    bench.pads[0] = 5.0
    assert bench.act() == Phase.TOUCHDOWN
    assert bench.act(50) == Phase.TOUCHDOWN
    bench.pads[:] = 5.0
    assert bench.act(10) == Phase.SPRING


def test_spring_drawn_out_ends_the_docking():
    bench = Bench().at(Phase.SPRING)
    assert bench.act(50) == Phase.SPRING
    bench.data.qpos[bench.docking._spring_q] = bench.p.spring_stroke
    assert bench.act() == Phase.MATED
    assert bench.equipment.aocs.mode[0] == Mode.MATED


def test_bad_plans_are_refused():
    with pytest.raises(InputError, match="crown_rate"):
        DockingPlan(crown_rate=0.0)
