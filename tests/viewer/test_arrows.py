"""Arrows of every kind of contact against the momentum that a machine gains: their sum, and where they act."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import mujoco
import numpy as np
import pytest

from grouser.commands import run as running
from grouser.contact.polygonal import Layer, Pair, PolygonalModule
from grouser.contact.revolution import Profile, RevolutionBody, RevolutionContact, RevolutionPair
from grouser.module import Channel
from grouser.recording import Recording
from grouser.robots.vehicle import build as build_vehicle
from grouser.robots.vehicle_file import vehicle
from grouser.robots.wheel_walker import DRIVES, WHEELS
from grouser.scenarios.registry import scenario
from grouser.scenarios.scenario import Scenario, Settings
from grouser.scenarios.settings import Experiment
from grouser.simulation import Simulation
from grouser.terrain.generators import flat, steps
from grouser.viewer.cameras import Cameras
from grouser.viewer.motion import RecordedMotion
from grouser.viewer.scene import MOST_ARROWS, Scene
from tests.contact.polygonal.bodies import RIGID, box, plane
from tests.viewer.made import Nothing

G = 9.81
KEPT = 1e-5  # of the largest force: recorded in single precision
BAR = 0.01  # of weight times time, and of weight times time times a metre: what arrows may lack
TILT = 0.2  # of the plane on which a box slides: its friction acts below its centre
WALL = 0.4  # [m] height of the wall, in which no suspension can climb


@dataclass(frozen=True)
class Case:
    build: Callable[[], Simulation]
    seconds: float
    wheels: tuple[str, ...]  # that have a camera of their own


def of_scenario(name: str, **settings) -> Callable[[], Simulation]:
    found = scenario(name)
    return lambda: found.build(found.settings(**settings))


def free(name: str, mass: float, inertia: float, gravity: float = G) -> mujoco.MjSpec:
    spec = mujoco.MjSpec()
    spec.option.gravity = [0, 0, -gravity]
    body = spec.worldbody.add_body(name=name)
    body.add_freejoint()
    body.mass, body.inertia, body.ipos, body.explicitinertial = mass, [inertia] * 3, [0, 0, 0], True
    return spec


def start(sim: Simulation, position, velocity=(0.0, 0.0, 0.0)) -> Simulation:
    sim.data.qpos[:3], sim.data.qvel[:3] = position, velocity
    sim.engine.kinematics()
    for module in sim.modules:
        module.commit(sim.step_size)
    return sim


def polygonal() -> Simulation:
    """A box slides down a tilted plane."""
    layer = Layer(young=1e6, poisson=0.3, thickness=0.02, damping=1e5, friction_stick=0.1, friction_slip=0.1)
    contact = PolygonalModule({"box": box((0.1, 0.1, 0.05))}, {"plane": plane(2.0, layer=layer, tilt=(TILT, 0.0))},
                              [Pair("box", "plane")])  # fmt: skip
    return start(Simulation(free("box", 2.0, 0.01), [contact], step=2e-4), (0.3, 0.1, 0.12))


def revolution() -> Simulation:
    """A ball falls on a plate off its middle, and slides."""
    layer = Layer(young=1e7, poisson=0.3, thickness=0.02, damping=1e5, name="soft")
    ball = RevolutionBody("ball", Profile.sphere(0.1, tolerance=4e-5), RIGID, "ball", sectors=96)
    plate = RevolutionBody("plate", Profile.disk(0.5), layer, "plate")
    contact = RevolutionContact([RevolutionPair("ball/plate", ball, plate, elements="ball", largest_area=0.01)])
    spec = free("ball", 1.0, 0.004)
    spec.worldbody.add_body(name="plate")
    return start(Simulation(spec, [contact], step=2e-4), (0.05, 0.02, 0.101), (0.4, 0.1, 0.0))


def vivi_on(terrain, speed: float, torque: float, step: float = 1e-3) -> Simulation:
    vivi = vehicle("vivi")
    spec = build_vehicle(vivi, drive="torque", position=(0.0, 0.0, vivi.rest_height(G)))
    sim = start(Simulation(spec, [vivi.module(terrain)], step=step), (0, 0, vivi.rest_height(G)), (speed, 0.0, 0.0))
    sim.data.ctrl[:] = torque
    return sim


def tyre() -> Simulation:
    """VIVI speeds up: its tyres push it below its axles."""
    return vivi_on(flat(size=(6.0, 6.0), spacing=1.0), 0.0, 18.0)


def tyre_at_a_wall() -> Simulation:
    """VIVI rolls against a step that its wheels cannot climb."""
    return vivi_on(steps(1, WALL, 3.0, 0.6, size=(6.0, 6.0), spacing=0.02, origin=(-3.0, -3.0)), 1.0, 0.0, 5e-4)


def walker() -> Simulation:
    """A robot rolls off on wheels that turn on carriers: the Jacobians of its parts turn within a step."""
    return of_scenario("wheel-walker-stairs", compare_sides=None)()


CASES = {
    "tyre": Case(tyre, 0.3, ("wheel_fl", "wheel_fr", "wheel_rl", "wheel_rr")),
    "tyre at a wall": Case(tyre_at_a_wall, 0.3, ("wheel_fl", "wheel_fr", "wheel_rl", "wheel_rr")),
    "convex": Case(of_scenario("box-on-stairs"), 0.7, ("box",)),
    "convex, on joints": Case(walker, 0.9, (*WHEELS, *(f"carrier_{name}" for name in DRIVES), "hull")),
    "polygonal": Case(polygonal, 0.1, ("box",)),
    "revolution": Case(revolution, 0.1, ("ball",)),
    "track": Case(of_scenario("bulldozer-ditch"), 0.1, ("track/left/sprocket", "track/right/roller 3")),
    "track, explicit": Case(of_scenario("bulldozer-ditch", scheme="explicit"), 0.05, ("track/left/sprocket",)),
}


def with_momentum(build: Callable[[], Simulation]) -> Callable[[], Simulation]:
    """Record momentum, angular momentum about the origin, mass times centre of mass and mass of the bodies too."""

    def built() -> Simulation:
        sim = build()
        model, data = sim.model, sim.data

        def read() -> np.ndarray:
            mujoco.mj_subtreeVel(model, data)
            mass, centre = model.body_subtreemass[0], data.subtree_com[0]
            p = mass * data.subtree_linvel[0]
            turn = data.subtree_angmom[0] + np.cross(centre, p)
            return np.concatenate([p, turn, mass * centre, [mass]])[None]

        sim.add_channel(Channel("test/momentum", "1", (10,), frame="", read=read))
        return sim

    return built


def recorded(case: Case, folder) -> Recording:
    build = with_momentum(case.build)
    sim = build()
    made = Scenario(
        "arrows", "", "", Settings, metrics=lambda s: [], figures=lambda s: [], build=lambda s: sim,
        duration=lambda s: case.seconds, measure=lambda s, r: {},
    )  # fmt: skip
    running.execute(Experiment(made, Settings()), out=folder, rate=1 / sim.step_size, report=False)
    return Recording(folder / "recording.h5")


def impulses(recording: Recording) -> tuple[np.ndarray, np.ndarray]:
    """Impulse [N s] of all arrows over the run, and their angular impulse [N m s] about the origin."""
    motion, h = RecordedMotion(recording), float(np.diff(recording.time).mean())
    total, turn = np.zeros(3), np.zeros(3)
    for time in recording.time[1:]:
        points, forces = motion.forces(float(time))
        total += h * forces.sum(axis=0)
        turn += h * np.cross(points, forces).sum(axis=0)
    return total, turn


def gained(recording: Recording) -> tuple[np.ndarray, np.ndarray, float]:
    """What arrows must give besides weight: impulse and angular impulse, and the impulse of the weight [N s]."""
    values, time = recording["test/momentum"], recording.time
    gravity = np.array([0.0, 0.0, -G])
    weight_turn = np.cross(values[1:, 6:9], gravity).sum(axis=0) * float(np.diff(time).mean())
    span = float(time[-1] - time[0])
    impulse = values[-1, :3] - values[0, :3] - values[0, 9] * gravity * span
    turn = values[-1, 3:6] - values[0, 3:6] - weight_turn
    return impulse, turn, float(values[0, 9]) * G * span


def drawn(recording: Recording) -> int:
    """Draw the first and the last frame, with forces along the paths. Returns the number of arrows in the last."""
    scene = Scene(recording, Nothing())  # type: ignore[arg-type]
    scene.show_paths("vectors")
    for time in recording.time[[0, -1]]:
        scene.show(float(time))
    return sum(bool(node.visible) for node, _ in scene._arrows.values())


@pytest.mark.parametrize("kind", [k for k in CASES if "track" not in k])
def test_arrows_give_the_momentum_that_is_gained(kind, tmp_path):
    with recorded(CASES[kind], tmp_path / "run") as recording:
        (impulse, turn), (wanted, wanted_turn, weight) = impulses(recording), gained(recording)
        cameras = Cameras(RecordedMotion(recording), recording.shapes())
        assert RecordedMotion(recording).trails() == list(CASES[kind].wheels)
        drawn(recording)
    np.testing.assert_allclose(impulse, wanted, atol=BAR * weight)
    np.testing.assert_allclose(turn, wanted_turn, atol=BAR * weight)
    assert set(CASES[kind].wheels) <= set(cameras.wheels)


@pytest.mark.parametrize("kind", [k for k in CASES if "convex" in k])
def test_arrows_of_contacts_are_the_recorded_force_of_their_bodies(kind, tmp_path):
    """In every step and on every body, not on average; a contact's columns are those of `ConvexContact.contacts`."""
    with recorded(CASES[kind], tmp_path / "run") as recording:
        forces, contacts = recording["convex/force"], recording["convex/contacts"]
    summed = np.zeros_like(forces)
    for k, rows in enumerate(contacts):
        np.add.at(summed[k], rows[:, 8].astype(int), rows[:, 3:6])
    assert np.abs(forces).max() > 100
    np.testing.assert_allclose(summed, forces, atol=KEPT * np.abs(forces).max())


@pytest.mark.parametrize("kind", [k for k in CASES if "track" in k])
def test_arrows_of_shoes_give_the_force_of_the_ground(kind, tmp_path):
    with recorded(CASES[kind], tmp_path / "run") as recording:
        motion = RecordedMotion(recording)
        sums = np.array([motion.forces(float(time))[1].sum(axis=0) for time in recording.time[1:]])
        ground = sum(recording[f"track/{side}/ground_force"][1:] for side in ("left", "right"))
        np.testing.assert_allclose(sums, ground, atol=BAR * np.abs(ground).max())
        momentum = recording["test/momentum"][:, :3]
        links = sum(recording[f"track/{side}/momentum"] for side in ("left", "right"))
        h = float(np.diff(recording.time).mean())
        got = recording.read("test/momentum")[0, 9]
        machine = scenario("bulldozer-ditch").settings().machine
        assert got < machine.total_mass, "the links are not bodies of the engine"
        weight = machine.total_mass * G * (recording.time[-1] - recording.time[0])
        wanted = (momentum + links)[-1] - (momentum + links)[0] + np.array([0, 0, weight])
        np.testing.assert_allclose(h * sums.sum(axis=0), wanted, atol=BAR * weight)
        points, forces = motion.forces(float(recording.time[-1]))
        pushed = np.linalg.norm(forces, axis=1) > 0
        assert 8 < pushed.sum() < 40
        assert np.abs(points[pushed, 2]).max() < 0.1, "arrows begin at the ground"
        cameras = Cameras(motion, recording.shapes())
        assert set(CASES[kind].wheels) <= set(cameras.wheels)
        for wheel in CASES[kind].wheels:
            look = cameras.camera_pose("wheel", float(recording.time[-1]), wheel)
            np.testing.assert_allclose(look.target, motion.place(wheel, float(recording.time[-1])))
        assert motion.trails() == ["track/left", "track/right"]
        _, path = motion.path("track/left")
        assert path.shape[1] == 3
        assert path[0, 1] > 0.5
        assert 8 < drawn(recording) <= MOST_ARROWS
