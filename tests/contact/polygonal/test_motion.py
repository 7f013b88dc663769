"""Bodies that fall, bounce, slide, stop and rest on elastic layers, moved by the engine."""

import mujoco
import numpy as np
import pytest

from grouser.contact.polygonal import Layer, Pair, PolygonalModule
from grouser.errors import InputError, RunStopped
from grouser.simulation.simulation import Simulation
from tests.contact.polygonal.bodies import RIGID, ball, ball_cap, box, plane

G = 9.81
BAR = 0.01  # of the closed form: energy, breakaway, stopping distance
SLICK = Layer(young=1e7, poisson=0.3, thickness=0.02, friction_stick=0.0, friction_slip=0.0, name="slick")
GRIPPY = Layer(young=1e7, poisson=0.3, thickness=0.02, damping=1e5, name="grippy")
R, MASS, SPEED = 0.1, 1.0, 0.5
MESH = 0.002  # of the greatest depth: sagitta of the ball's facets
ROUND_OFF = 1e-10


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


def greatest_depth(c, mass):
    return (3 * mass * SPEED**2 / (2 * np.pi * c * R)) ** (1 / 3)


def ball_on(layer, depth, cells=60):
    return ball_cap(R, 1.3 * np.sqrt(2 * R * depth), cells, layer)


def impact_of_two(steps: int, layer: Layer):
    """A ball hits a plate, both free: depth and force on the ball by step, energies and momenta before and after."""
    plate = 3.0  # [kg]
    reduced = MASS * plate / (MASS + plate)
    depth = greatest_depth(layer.stiffness, reduced)
    duration = 2.804 * depth / SPEED
    spec = bodies((0, 0, 0), ball=(MASS, 0.004, (0, 0, 0)), plate=(plate, 0.05, (0, 0, 0)))
    module = PolygonalModule(
        {"ball": ball_on(RIGID, depth), "plate": plane(0.2, layer=layer)}, {},
        [Pair("ball", "plate", largest_area=2 * np.pi * R * depth)],
    )  # fmt: skip
    h = duration / steps
    sim = Simulation(spec, [module], step=h)
    start(sim, (0.0003, 0.0002, R + 0.5 * h * SPEED), (0, 0, -SPEED))
    start(sim, (0, 0, 0), body=1)
    path = []
    for _ in range(round(1.3 * steps)):
        sim.step()
        gap = sim.data.qpos[2] - sim.data.qpos[9]
        path.append((R - gap, module.out.wrench.numpy()[0, 0, 2], sim.data.qvel[2] - sim.data.qvel[8]))
    momentum = MASS * sim.data.qvel[:3] + plate * sim.data.qvel[6:9]
    energy = 0.5 * MASS * np.sum(sim.data.qvel[:3] ** 2) + 0.5 * plate * np.sum(sim.data.qvel[6:9] ** 2)
    energy += 0.5 * 0.004 * np.sum(sim.data.qvel[3:6] ** 2) + 0.5 * 0.05 * np.sum(sim.data.qvel[9:] ** 2)
    return np.array(path), depth, duration, h, momentum, energy, reduced


def test_an_undamped_impact_of_two_bodies_gives_its_energy_back():
    path, depth, duration, h, momentum, energy, reduced = impact_of_two(300, SLICK)
    np.testing.assert_allclose(momentum, [0, 0, -MASS * SPEED], atol=ROUND_OFF)
    assert energy == pytest.approx(0.5 * MASS * SPEED**2, rel=BAR)
    assert path[-1, 2] == pytest.approx(SPEED, rel=BAR)  # they part as fast as they met
    assert path[:, 0].max() == pytest.approx(depth, rel=BAR)
    assert h * (path[:, 1] > 0).sum() == pytest.approx(duration, rel=BAR)


DAMPED = Layer(
    young=1e7, poisson=0.3, thickness=0.02, friction_stick=0.0, friction_slip=0.0, damping=1e5, transition_depth=2e-4
)


def damped_impact():
    """Energy lost, and the sum over steps of damping force x speed x step.

    The elastic force is known: c times the volume behind the plane.
    """
    path, _, _, h, _, _, reduced = impact_of_two(1000, DAMPED)
    s, rate = np.maximum(path[:-1, 0], 0), -path[:, 2]  # the force of a step rests on the depth before it
    elastic = np.pi * DAMPED.stiffness * R * s**2 * (1 - s / (3 * R))
    rates = (rate[1:] + rate[:-1]) / 2
    return 0.5 * reduced * (SPEED**2 - path[-1, 2] ** 2), h * np.sum((path[1:, 1] - elastic) * rates)


def test_damping_loses_its_power_integral():
    lost, power = damped_impact()
    assert lost > 0.1 * 0.5 * 0.75 * SPEED**2
    assert power == pytest.approx(lost, rel=BAR)


def test_damping_comes_in_over_its_transition_depth():
    """The law on the rings 2 pi R ds of the patch: d min(1, s/s_d0) v^2, one share a polygon."""
    path, _, _, h, _, _, _ = impact_of_two(1000, DAMPED)
    ring = np.linspace(0, 1, 401)[None, :] * np.maximum(path[:-1, 0], 0)[:, None]
    area = 2 * np.pi * R * np.trapezoid(np.minimum(1, ring / DAMPED.transition_depth), ring, axis=1)
    rates = (path[1:, 2] + path[:-1, 2]) / 2
    assert h * np.sum(DAMPED.damping * area * rates**2) == pytest.approx(damped_impact()[0], rel=3 * BAR)


def implicit_impact(steps: int):
    """Share of the energy lost by a ball on fixed ground, and how far the ground ever pulls, of its greatest push."""
    depth = greatest_depth(SLICK.stiffness, MASS)
    h = 2.804 * depth / SPEED / steps
    sim = Simulation(
        bodies((0, 0, 0), ball=(MASS, 0.004, (0, 0, 0))),
        [PolygonalModule({"ball": ball_on(RIGID, depth)}, {"ground": plane(layer=SLICK)})], step=h,
    )  # fmt: skip
    start(sim, (0.0003, 0.0002, R + 0.5 * h * SPEED), (0, 0, -SPEED))
    depths, forces = [], []
    for _ in range(round(1.2 * steps)):
        sim.step()
        depths.append(R - sim.data.qpos[2])
        forces.append(sim.modules[0].out.effective.numpy()[0, 0, 2])
    assert max(depths) == pytest.approx(depth, rel=BAR)
    assert np.sum(forces) * h == pytest.approx(MASS * (sim.data.qvel[2] + SPEED), rel=1e-9)
    return 1 - (sim.data.qvel[2] / SPEED) ** 2, -min(forces) / max(forces)


def test_the_implicit_step_loses_little_at_1000_steps_a_contact():
    """Backward Euler on a spring loses pi^2 / N of the energy; here force goes as the square of depth."""
    loss, pull = implicit_impact(1000)
    assert 0 < loss < 1.5 * np.pi**2 / 1000
    assert pull < 1e-4


def block(gravity, friction, step=1e-3, half=(0.05, 0.05, 0.01), layer=GRIPPY, sunk=None):
    """A block of 2 kg with its centre of mass in the plane it stands on, so that a pull does not tip it."""
    spec = bodies(gravity, block=(2.0, 0.01, (0, 0, -half[2])))
    module = PolygonalModule(
        {"block": box(half, longest_edge=0.04)}, {"ground": plane(3.0, layer=layer)},
        [Pair("block", "ground", friction=friction)],
    )  # fmt: skip
    sim = Simulation(spec, [module], step=step)
    weight = -2.0 * gravity[2]
    rest = weight / (layer.stiffness * 4 * half[0] * half[1]) if sunk is None else sunk
    start(sim, (0, 0, half[2] - rest))
    return sim


def breakaway() -> float:
    """Pull over weight at which a block of mu_stick 0.6 starts to slide."""
    sim = block((0, 0, -G), (0.6, 0.4))
    steps = 8000
    for k in range(steps):
        sim.model.opt.gravity[0] = 0.8 * G * k / steps
        sim.step()
        if sim.data.qvel[0] > 0.01:
            break
    return float(sim.model.opt.gravity[0]) / G


def test_a_block_breaks_away_at_its_stick_friction():
    assert breakaway() == pytest.approx(0.6, rel=BAR)


def stopping() -> float:
    """[m] a block of mu_slip 0.3 slides from 1 m/s until it stands."""
    sim = block((0, 0, -G), (0.3, 0.3))
    sim.data.qvel[0] = 1.0
    sim.engine.kinematics()
    sim.step(600)
    assert np.abs(sim.data.qvel).max() < 1e-6
    return float(sim.data.qpos[0])


def test_a_sliding_block_stops_after_its_stopping_distance():
    assert stopping() == pytest.approx(1 / (2 * 0.3 * G), rel=BAR)


def test_a_block_without_friction_is_not_held_for_a_step():
    """From rest, where the trial force is nil as well: the first step already has all of the acceleration."""
    sim = block((0.3 * G, 0, -G), (0.0, 0.0))
    for k in range(3):
        sim.step()
        assert sim.data.qvel[0] == pytest.approx((k + 1) * 0.3 * G * sim.step_size, rel=1e-9)


def test_a_block_that_slips_goes_on_at_its_slip_friction():
    """On a slope between the two friction angles: pushed once it keeps sliding, at g (sin - mu_slip cos)."""
    sim = block((0.55 * G, 0, -G), (0.6, 0.5))
    sim.data.qvel[0] = 0.2
    sim.engine.kinematics()
    sim.step(500)
    assert sim.data.qvel[0] == pytest.approx(0.2 + 0.5 * 0.05 * G, rel=BAR)


def test_friction_in_a_hard_landing_is_what_the_ground_really_pushes():
    """A block that slides as it lands, h sqrt(K/m) = 9: its sideways impulse is mu_slip times the one upwards."""
    sim = block((0, 0, -G), (0.3, 0.3), step=5e-3, sunk=-0.002)
    sim.data.qvel[0] = 2.0
    sim.engine.kinematics()
    impulse = np.zeros(3)
    for _ in range(20):
        sim.step()
        impulse += sim.step_size * sim.modules[0].out.effective.numpy()[0, 0, :3]
    assert impulse[2] > 2.0 * np.sqrt(2 * G * 0.002)  # it has landed
    assert -impulse[0] <= 0.3 * impulse[2] * (1 + BAR)
    assert -impulse[0] > 0.3 * impulse[2] * (1 - 0.3)  # of the first step, when nothing presses yet, it gets none


def creep(seconds: float, step: float) -> float:
    """[m] a block moves down a slope of 24 degrees, once it has settled."""
    tilt = np.radians(24)  # tan = 0.445
    sim = block((G * np.sin(tilt), 0, -G * np.cos(tilt)), (0.6, 0.5), step=step, half=(0.05, 0.04, 0.05))
    sim.step(round(0.2 / step))
    at = sim.data.qpos[:3].copy()
    sim.step(round(seconds / step))
    return float(np.linalg.norm(sim.data.qpos[:3] - at))


@pytest.mark.parametrize("step", [1e-3, 5e-3])
def test_a_block_rests_on_a_slope(step):
    assert creep(2.0, step) < 1e-7


@pytest.mark.long
def test_a_block_rests_on_a_slope_for_a_minute():
    assert creep(60.0, 2e-3) < 1e-4


def test_a_dropped_block_comes_to_rest_at_a_step_nine_times_too_long_for_its_bounce():
    """h sqrt(K/m) = 9: a block that is let go for a step falls 80 times as deep as it rests; it must settle."""
    sim = block((0, 0, -G), (0.6, 0.5), step=5e-3, sunk=-0.002)
    sim.step(400)
    assert np.abs(sim.data.qvel).max() < 1e-9
    assert 0.01 - sim.data.qpos[2] == pytest.approx(2 * G / (GRIPPY.stiffness * 0.01), rel=1e-6)


def test_pair_channels_are_what_the_bodies_really_got():
    """Against the engine's own effective wrench, in an impact where the applied one is far off."""
    sim = block((0, 0, -G), (0.6, 0.5), step=5e-3, sunk=-0.002)
    module, worst, apart = sim.modules[0], 0.0, 0.0
    channels = {c.name: c for c in module.channels()}
    for _ in range(30):
        sim.step()
        got = module.out.effective.numpy()[0, 0]
        pair = np.concatenate([channels["polygonal/force"].read()[0, 0], channels["polygonal/torque"].read()[0, 0]])
        worst = max(worst, float(np.abs(pair - got).max()))
        apart = max(apart, float(np.abs(module.out.wrench.numpy()[0, 0] - got).max()))
    assert apart > 1
    assert worst < 1e-6 * apart


def test_a_ball_rolls_down_a_slope_without_slipping():
    """Acceleration 5/7 g sin for a solid ball."""
    tilt = np.radians(5)
    layer = Layer(young=1e7, poisson=0.3, thickness=0.01, damping=1e5)
    spec = bodies((G * np.sin(tilt), 0, -G * np.cos(tilt)), ball=(MASS, 0.4 * MASS * R**2, (0, 0, 0)))
    module = PolygonalModule(
        {"ball": ball(R, 6)}, {"ground": plane(layer=layer)}, [Pair("ball", "ground", friction=(0.6, 0.5))]
    )
    sim = Simulation(spec, [module], step=1e-3)
    start(sim, (0, 0, R - 1e-4))
    sim.step(500)
    assert sim.data.qvel[0] == pytest.approx(5 / 7 * G * np.sin(tilt) * 0.5, rel=2 * BAR)
    assert sim.data.qvel[4] * R == pytest.approx(sim.data.qvel[0], rel=BAR)


# ---- step limit, stops, checkpoints -------------------------------------------------------------------


def pair_on_pair(step, **pair):
    spec = bodies((0, 0, 0), one=(1.0, 0.004, (0, 0, 0)), two=(2.0, 0.01, (0, 0, 0)))
    module = PolygonalModule({"one": ball(R, 4), "two": box((0.2, 0.2, 0.02), SLICK)}, {}, [Pair("one", "two", **pair)])
    return Simulation(spec, [module], step=step), module


def test_explicit_pairs_state_their_step_limit():
    with pytest.raises(InputError, match="'one' and 'two' touching over"):
        pair_on_pair(1e-3)
    _, module = pair_on_pair(1e-5, largest_area=1e-4)
    easy = module.step_limit
    _, module = pair_on_pair(1e-5, largest_area=4e-4)
    assert module.step_limit == pytest.approx(easy / 2)
    assert PolygonalModule({"one": ball(R, 3)}, {"two": plane()}).step_limit == np.inf


def test_the_step_limit_is_where_a_spring_and_a_mass_blow_up():
    """A block that rests on one far heavier, lifted a little: its swing stays below the limit, grows above it."""
    spec = bodies(one=(1.0, 1e6, (0, 0, 0)), two=(1e9, 1e9, (0, 0, 0)))
    spec.body("two").gravcomp = 1.0
    shapes = {"one": box((0.01, 0.01, 0.01)), "two": box((0.05, 0.05, 0.01), SLICK)}
    limit = 2 / np.sqrt(SLICK.stiffness * 4e-4)
    rest = G / (SLICK.stiffness * 4e-4)

    def swing(step):
        module = PolygonalModule(shapes, {}, [Pair("one", "two", largest_area=1e-6)])  # lets any step pass
        sim = Simulation(spec.copy(), [module], step=step)
        start(sim, (0, 0, 0.02 - 0.9 * rest))
        start(sim, (0, 0, 0), body=1)
        away = []
        for _ in range(100):
            sim.step()
            away.append(abs(0.02 - rest - sim.data.qpos[2]))
        return max(away) / (0.1 * rest)

    module = PolygonalModule(shapes, {}, [Pair("one", "two")])
    module.declare(spec)
    assert module.step_limit == pytest.approx(limit, rel=1e-3)
    assert swing(0.95 * limit) < 5
    assert swing(1.05 * limit) > 20


def test_a_contact_stiffer_than_the_limit_was_found_for_is_said():
    sim, module = pair_on_pair(1e-5, largest_area=1e-6)
    start(sim, (0, 0, R + 0.02 - 0.001))
    start(sim, (0, 0, 0), body=1)
    sim.step(2)
    assert any("largest_area" in note for note in sim.notes)


def test_a_body_that_sinks_past_the_reach_stops_the_run():
    layer = Layer(young=1e3, thickness=0.001)
    spec = bodies(ball=(50.0, 0.2, (0, 0, 0)))
    sim = Simulation(spec, [PolygonalModule({"ball": ball(R, 4, layer)}, {"ground": plane(layer=layer)})], step=1e-3)
    start(sim, (0, 0, R))
    with pytest.raises(RunStopped, match="contact is lost"):
        sim.step(1000)
    assert any("the limit of the theory" in note for note in sim.notes)


def test_a_checkpoint_goes_on_bit_for_bit():
    """While sliding, with lists half used up."""
    sim = block((0.3 * G, 0.1 * G, -G), (0.4, 0.3), sunk=-0.0005)
    sim.step(57)
    saved = sim.checkpoint()
    sim.step(40)
    first = sim.data.qpos.copy(), sim.modules[0].out.effective.numpy().copy()
    sim.restore(saved)
    sim.step(40)
    np.testing.assert_array_equal(sim.data.qpos, first[0])
    np.testing.assert_array_equal(sim.modules[0].out.effective.numpy(), first[1])
    sim.reset()
    assert not sim.modules[0]._elements.state.numpy().any()


def test_mujoco_leaves_these_contacts_to_the_module():
    spec = bodies(block=(1.0, 0.01, (0, 0, 0)), other=(1.0, 0.01, (0, 0, 0)))
    module = PolygonalModule(
        {"block": box((0.02, 0.02, 0.02)), "other": box((0.02, 0.02, 0.02), SLICK)}, {"ground": plane()},
        [Pair("block", "ground"), Pair("block", "other")],
    )  # fmt: skip
    module.declare(spec)
    module.declare(spec)
    assert [(e.bodyname1, e.bodyname2) for e in spec.excludes] == [("world", "block"), ("other", "block")]
