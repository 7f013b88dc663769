"""`grouser drive` takes every machine that moves: vehicles by torque, tracks by sprockets, the walker by its motors."""

from __future__ import annotations

import numpy as np
import pytest

from grouser.commands.drive import DriveSession, with_driver
from grouser.control.step_drive import HOLDS
from grouser.control.torque_shares import TURN_RATE, TorqueShares
from grouser.errors import InputError
from grouser.scenarios.settings import from_command

HELD = 0.01  # of the wanted turn rate: how far a gain of 20 N m s/rad leaves a turn from the balance of its tyres
LAG = 0.07  # of the wanted turn rate that the same gain leaves at the torque a turn takes
STILL = 1e-3  # [rad] by which a braked carrier creeps
MOVED = 0.05  # [m]


class Driven:
    """A machine, and a driver that holds its inputs."""

    def __init__(self, name: str, *options: str):
        self.session = DriveSession(name, list(options))
        experiment = with_driver(from_command(name, list(options)), self.session, 10.0)
        self.sim = experiment.scenario.build(experiment.settings)
        assert self.session.input is not None
        self.driver = self.session.input
        self.driver.paced = False
        names = [self.sim.model.body(k).name for k in range(1, self.sim.model.nbody)]
        self.body = next(name for name in names if name.endswith(("chassis", "hull")))
        self.hold(self.driver.start)

    def hold(self, seconds: float, *inputs: float) -> None:
        for _ in range(round(seconds / 0.1)):
            self.driver.take(*inputs or (0, 0))
            self.sim.step(round(0.1 / self.sim.step_size))

    @property
    def axes(self) -> np.ndarray:
        return self.sim.data.body(self.body).xmat.reshape(3, 3)

    @property
    def heading(self) -> float:
        return float(np.arctan2(self.axes[1, 0], self.axes[0, 0]))

    def recorded(self, name: str) -> np.ndarray:
        return {c.name: c for c in self.driver.channels()}[name].read()


@pytest.mark.parametrize("name", ["vivi-acceleration", "vivi-jump", "vivi-sinusoid", "vivi-turn"])
def test_every_ground_of_a_vehicle_can_be_driven_on(name):
    driven = Driven(name)
    driven.hold(0.5, 1, 0)
    assert driven.sim.data.body(driven.body).xpos[0] > MOVED


def test_a_vehicle_turns_as_fast_as_asked_with_and_without_traction_control():
    driven = Driven("vivi-ramp")
    law = next(c for c in driven.sim.controllers if isinstance(c, TorqueShares))
    for position in ("on", "off"):
        driven.session.on_message({"switch": ["traction_control", position]})
        driven.hold(3.0, 0, 1)
        rates = driven.sim.data.qvel[6:10]
        assert (rates[[0, 2]] < 0).all(), "left wheels back"
        assert (rates[[1, 3]] > 0).all(), "right wheels forward"
        yaw = driven.sim.data.qvel[5]
        assert yaw == pytest.approx(TURN_RATE, rel=LAG)
        balanced = yaw / np.abs(rates).mean() * 0.208 / 0.28 / 0.15  # (x^2 + y^2) / |y| / r of VIVI
        assert balanced == pytest.approx(1, abs=HELD)
        assert driven.recorded("driver/traction_control") == (position == "off")
        driven.hold(1.0, 0, 0)
        np.testing.assert_allclose(driven.sim.data.qvel[:6], 0, atol=0.02)
    assert driven.recorded("driver/share").tolist() == [[0, 0, 0]]
    assert (np.abs(law.torque) <= law.vehicle.motor.torque_limit).all()


def test_traction_control_keeps_wheels_from_racing():
    racing = {}
    for position in ("on", "off"):
        driven = Driven("vivi-ramp", "friction_factor=0.3")
        driven.driver.switch("traction_control", position)
        driven.hold(0.5, 1, 0)
        racing[position] = float(driven.sim.data.qvel[6:10].max() * 0.15 - driven.sim.data.qvel[0])
    assert racing["on"] < 0.2 < 2.0 < racing["off"], racing  # [m/s] of the rim over the ground


def test_a_driver_does_not_turn_a_fast_vehicle_over():
    driven = Driven("vivi-ramp", "ramp_start=300")
    driven.hold(1.5, 1, 0)
    speed = driven.sim.data.qvel[0]
    assert speed > 6
    driven.hold(1.5, 1, 1)
    assert driven.axes[2, 2] > 0.98, "upright"
    assert 0.1 < driven.sim.data.qvel[5] < 3.5 / speed, "in a curve as wide as its speed needs"


def test_a_steered_vehicle_steers():
    driven = Driven("vivi-turn", "vehicle=her")
    driven.hold(1.5, 0.2, 1)
    assert driven.heading > 0.05


@pytest.mark.parametrize("name", ["bulldozer-turn", "bulldozer-drawbar", "bulldozer-ditch", "bulldozer-doze"])
def test_tracks_turn_by_their_sprockets(name):
    driven = Driven(name)
    x, heading = driven.sim.data.body(driven.body).xpos[0], driven.heading
    driven.hold(0.8, 1, 0)
    assert driven.sim.data.body(driven.body).xpos[0] > x + MOVED
    assert driven.heading == pytest.approx(heading, abs=0.01)
    driven.hold(0.8, 0, 1)
    assert driven.heading > heading + 0.02
    left, right = (driven.sim.data.joint(f"drive_{side}").qvel[0] for side in ("left", "right"))
    assert left < 0 < right


def test_a_driver_lowers_the_blade_into_the_soil_and_raises_it():
    driven = Driven("bulldozer-doze")
    blade, ground = driven.sim.data.body("blade"), driven.sim.ground
    front = (4.0, 6.5, -0.5, 0.5)
    driven.hold(0.2, 1, 0)
    assert blade.xpos[2] > 0.02
    assert ground.heights(region=front).min() == 0.0
    driven.session.on_message({"switch": ["blade", "down"]})
    driven.hold(1.8, 1, 0)
    assert blade.xpos[2] == pytest.approx(-0.1, abs=0.03)
    assert ground.heights(region=front).min() < -0.05, "it cuts"
    assert ground.heights(region=front).max() > 0.02, "and pushes a pile"
    assert driven.recorded("driver/blade") == 1
    driven.session.on_message({"switch": ["blade", "up"]})
    driven.hold(0.8, 0, 0)
    assert blade.xpos[2] > 0.02


def test_the_carriers_of_the_walker_are_braked_and_locked_on_the_way():
    driven = Driven("wheel-walker-stairs")
    model, data = driven.sim.model, driven.sim.data
    assert "round_hull" not in [model.body(k).name for k in range(model.nbody)], "one robot"
    x = data.body("hull").xpos[0]
    driven.hold(0.7, 1, 0)
    assert data.body("hull").xpos[0] > x + MOVED
    for position in ("brake", "lock", "none"):
        driven.session.on_message({"switch": ["carriers", position]})
        driven.hold(0.2, 1, 0)
        closed = {model.equality(e).name.split("_")[0] for e in range(model.neq) if data.eq_active[e]}
        assert closed & {"brake", "lock"} == {position} - {"none"}
        assert driven.recorded("driver/carriers") == HOLDS.index(position)
        before = np.array([data.joint(f"carrier_{n}").qpos[0] for n in ("fl", "fr", "rl", "rr")])
        driven.hold(0.3, 1, 0)
        turned = np.abs([data.joint(f"carrier_{n}").qpos[0] for n in ("fl", "fr", "rl", "rr")] - before)
        if position == "brake":
            assert turned.max() < STILL
        elif position == "lock":
            assert turned.min() > 0.1, "locked carriers only step"
    driven.hold(0.3, 0, 1)
    motors = [data.ctrl[model.actuator(f"motor_{n}").id] for n in ("fl", "rl", "fr", "rr")]
    assert motors[0] == motors[1] == -motors[2] == -motors[3] < 0


def test_a_walker_turns_on_the_spot_and_faster_where_its_wheels_slide_more_easily():
    """Eight wheels in a row of 1.2 m slide sideways: its motors turn it by a few degrees a second."""
    rates = []
    for friction in (0.6, 0.3):
        driven = Driven("wheel-walker-stairs", f"friction={friction}")
        driven.hold(1.0, 0, 1)
        begin = driven.heading
        driven.hold(1.5, 0, 1)
        rates.append(np.degrees(driven.heading - begin) / 1.5)
    assert 2.5 < rates[0] < 6
    assert rates[1] > 1.3 * rates[0]
    hull = driven.sim.data.body("hull").xpos
    assert abs(hull[1]) < 0.3, "on the spot"


def test_switches_hold_for_the_next_start():
    driven = Driven("wheel-walker-stairs")
    driven.session.on_message({"switch": ["carriers", "lock"]})
    driven.session.on_message({"switch": ["wings", "out"]})  # nonsense does nothing
    again = driven.session
    experiment = with_driver(from_command("wheel-walker-stairs", []), again, 10.0)
    sim = experiment.scenario.build(experiment.settings)
    again.input.paced = False
    sim.step(20)
    assert {c.name: c.read() for c in again.input.channels()}["driver/carriers"] == HOLDS.index("lock")


def test_what_cannot_be_driven_is_refused():
    with pytest.raises(InputError, match="nothing to drive; allowed: rover-course"):
        Driven("plate-sinkage")
