"""Bodies of revolution that bounce, slide and stop, moved by the engine."""

import dataclasses

import mujoco
import numpy as np
import pytest

from grouser.contact.revolution import Layer, Profile, RevolutionBody, RevolutionContact, RevolutionPair
from grouser.errors import InputError
from grouser.simulation.simulation import Simulation
from tests.contact.revolution.geometries import RIGID

G = 9.81
BAR = 0.01  # of the closed form: energy, breakaway, stopping distance
ROUND_OFF = 1e-10
SLICK = Layer(young=1e7, poisson=0.3, thickness=0.02, friction_stick=0.0, friction_slip=0.0, name="slick")
GRIPPY = Layer(young=1e7, poisson=0.3, thickness=0.02, damping=1e5, name="grippy")
R, MASS, PLATE, SPEED = 0.1, 1.0, 3.0, 0.5


def bodies(gravity=(0.0, 0.0, -G), **inertias):
    """Free bodies with (mass, inertia, centre of mass)."""
    spec = mujoco.MjSpec()
    spec.option.gravity = list(gravity)
    for name, (mass, inertia, centre) in inertias.items():
        body = spec.worldbody.add_body(name=name)
        body.add_freejoint()
        body.mass, body.inertia, body.ipos, body.explicitinertial = mass, [inertia] * 3, list(centre), True
    return spec


def start(sim, position, velocity=(0.0, 0.0, 0.0), body=0):
    sim.data.qpos[7 * body : 7 * body + 3] = position
    sim.data.qvel[6 * body : 6 * body + 3] = velocity
    sim.engine.kinematics()
    for module in sim.modules:
        module.commit(sim.step_size)


def impact(layer: Layer, steps: int = 300):
    """A ball hits a plate off its middle, both free: energies, momenta and angular momenta before and after, depth."""
    reduced = MASS * PLATE / (MASS + PLATE)
    depth = (3 * reduced * SPEED**2 / (2 * np.pi * layer.stiffness * R)) ** (1 / 3)
    duration = 2.804 * depth / SPEED
    ball = RevolutionBody("ball", Profile.sphere(R, tolerance=4e-5), RIGID, "ball", sectors=96)
    plate = RevolutionBody("plate", Profile.disk(0.3), layer, "plate")
    module = RevolutionContact(
        [RevolutionPair("pair", ball, plate, elements="ball", largest_area=2 * np.pi * R * depth)]
    )
    spec = bodies((0, 0, 0), ball=(MASS, 0.004, (0, 0, 0)), plate=(PLATE, 0.05, (0, 0, 0)))
    h = duration / steps
    sim = Simulation(spec, [module], step=h)
    start(sim, (0.0, 0.0, R + 0.5 * h * SPEED), (0, 0, -SPEED))
    start(sim, (0, 0, 0), body=1)
    depths = []
    for _ in range(round(1.3 * steps)):
        sim.step()
        depths.append(float(module.channels()[2].read()[0, 0]))
    return sim, depth, max(depths), h * np.sum(np.array(depths) > 0), duration


def energy(sim) -> float:
    v = sim.data.qvel
    linear = MASS * np.sum(v[:3] ** 2) + PLATE * np.sum(v[6:9] ** 2)
    return 0.5 * (linear + 0.004 * np.sum(v[3:6] ** 2) + 0.05 * np.sum(v[9:] ** 2))


def test_an_undamped_impact_of_two_bodies_gives_its_energy_back():
    sim, depth, deepest, lasted, duration = impact(SLICK)
    momentum = MASS * sim.data.qvel[:3] + PLATE * sim.data.qvel[6:9]
    np.testing.assert_allclose(momentum, [0, 0, -MASS * SPEED], atol=ROUND_OFF)
    assert energy(sim) == pytest.approx(0.5 * MASS * SPEED**2, rel=BAR)
    assert sim.data.qvel[2] - sim.data.qvel[8] == pytest.approx(SPEED, rel=BAR)
    assert deepest == pytest.approx(depth, rel=BAR)
    assert lasted == pytest.approx(duration, rel=BAR)


def test_damping_takes_energy():
    sim, *_ = impact(dataclasses.replace(SLICK, damping=1e5, transition_depth=2e-4))
    assert 0.3 * 0.5 * MASS * SPEED**2 < energy(sim) < 0.95 * 0.5 * MASS * SPEED**2


def puck(gravity, friction, step=1e-3):
    """A puck of 2 kg with its centre of mass in the plane it stands on, so that a pull does not tip it."""
    spec = bodies(gravity, puck=(2.0, 0.01, (0, 0, 0)))
    base = RevolutionBody("puck", Profile.disk(0.05, up=False, longest=0.01), RIGID, "base", sectors=32)
    floor = RevolutionBody(None, Profile.disk(3.0), GRIPPY, "floor")
    module = RevolutionContact([RevolutionPair("pair", base, floor, friction=friction, elements="base")])
    sim = Simulation(spec, [module], step=step)
    rest = -2.0 * gravity[2] / (GRIPPY.stiffness * np.pi * 0.05**2)
    start(sim, (0.1, 0.2, -rest))
    return sim


@pytest.mark.parametrize(("share", "moves"), [(0.98, False), (1.02, True)])
def test_a_puck_breaks_away_at_the_stick_limit(share, moves):
    sim = puck((share * 0.5 * G, 0, -G), (0.5, 0.5))
    for _ in range(300):
        sim.step()
    assert (np.linalg.norm(sim.data.qvel[:3]) > 0.01) == moves


def test_a_sliding_puck_stops_where_it_should():
    sim = puck((0, 0, -G), (0.4, 0.4), step=5e-4)
    sim.data.qvel[0] = 1.0
    for _ in range(900):
        sim.step()
    assert sim.data.qpos[0] - 0.1 == pytest.approx(1.0 / (2 * 0.4 * G), rel=BAR)
    assert np.linalg.norm(sim.data.qvel[:3]) < 1e-3


def test_a_ball_rests_in_a_nozzle():
    """It settles on the axis, with its weight on the cone; two surfaces sit on one body, one of them apart."""
    layer = Layer(young=1e7, thickness=0.004, damping=3e5, transition_depth=1e-5)
    spec = bodies((0, 0, -G), ball=(0.5, 2e-4, (0, 0, 0)))
    nozzle = RevolutionBody(None, Profile.cone((0.0, 0.2), (0.008, 0.122), inner=True), layer, "nozzle")
    far = RevolutionBody(None, Profile.disk(0.1), layer, "far", position=(0, 0, -0.2))
    tip = RevolutionBody("ball", Profile.sphere(0.03, tolerance=3e-5), RIGID, "tip")
    module = RevolutionContact([RevolutionPair("tip", tip, nozzle), RevolutionPair("far", tip, far)])
    sim = Simulation(spec, [module], step=2e-4)
    start(sim, (0.003, 0.0, 0.051))
    for _ in range(5000):
        sim.step()
    force = module.channels()[0].read()[0]
    assert force[0, 2] == pytest.approx(0.5 * G, rel=BAR)
    assert not force[1].any()
    assert np.hypot(*sim.data.qpos[:2]) < 1e-3


def test_a_step_above_the_limit_is_refused():
    plug = RevolutionBody("plug", Profile.cylinder(0.05, (-0.03, 0.03)), RIGID, "plug")
    tube = RevolutionBody("tube", Profile.cylinder(0.0501, (-0.1, 0.1), inner=True), SLICK, "tube")
    spec = bodies((0, 0, 0), plug=(1.0, 0.004, (0, 0, 0)), tube=(3.0, 0.05, (0, 0, 0)))
    with pytest.raises(
        InputError, match=r"step: 0\.01 s is above the stability limit of module 'revolution', .* s \(pair 'fit'"
    ):
        Simulation(spec, [RevolutionContact([RevolutionPair("fit", plug, tube)])], step=0.01)
