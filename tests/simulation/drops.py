"""Bodies thrown on soil, at random: shapes, sizes, densities, falls, spins; and how much energy they have after."""

from __future__ import annotations

from dataclasses import dataclass, field

import mujoco
import numpy as np

from grouser import on_soil
from grouser.simulation.step_choice import LONGEST_STEP
from grouser.terrain.soils import soil_names
from tests.simulation.robots import G

SHORTEST_STEP = 2e-4  # [s] of the drops: shorter ones only take longer
LOOKS = 100  # at the energy, in a drop
SECONDS = 0.3  # of a drop, from just above the ground: blow, rebound, and what tips over
CLEAR = 1e-3  # [m] above the ground at the start
SHAPES = ("sphere", "box", "capsule", "cylinder", "ellipsoid", "mesh")


@dataclass(frozen=True)
class Drop:
    """A free body that comes down with the speed of a fall."""

    shape: str
    size: tuple[float, ...]  # [m] as MuJoCo has it; of a mesh its vertices, one after another
    density: float  # [kg/m^3]
    soil: str
    fall: float  # [m]
    quat: tuple[float, ...] = (1.0, 0.0, 0.0, 0.0)
    along: float = 0.0  # [m/s]
    spin: tuple[float, float, float] = field(default=(0.0, 0.0, 0.0))  # [rad/s]

    def spec(self, height: float = 2.0) -> mujoco.MjSpec:
        size = " ".join(map(str, self.size))
        mesh = f'<asset><mesh name="m" vertex="{size}"/></asset>' if self.shape == "mesh" else ""
        given = 'mesh="m"' if self.shape == "mesh" else f'size="{size}"'
        return mujoco.MjSpec.from_string(
            f'<mujoco>{mesh}<worldbody><body name="b" pos="0 0 {height}" quat="{" ".join(map(str, self.quat))}">'
            f'<freejoint/><geom type="{self.shape}" {given} density="{self.density}"/></body></worldbody></mujoco>'
        )

    def gain(self, **options) -> float:
        """Largest energy [1] above that at the start, over the energy of the blow; `options` of `on_soil`."""
        sim = on_soil(self.spec(), self.soil, settle=False, **options)
        down = np.sqrt(2 * G * self.fall)
        sim.data.qpos[2] += CLEAR
        sim.data.qvel[:] = [self.along, 0.0, -down, *self.spin]
        sim.engine.kinematics()
        sim.soil.reset([0])  # it starts in the air: what pressed the ground where it was placed does not count
        sim.soil.commit(sim.engine.step)
        mass, inertia = float(sim.model.body_mass[1]), float(sim.model.body_inertia[1].max())
        start, height = energy(sim), float(sim.data.qpos[2])
        most, lowest = -np.inf, height
        steps = max(LOOKS, round(SECONDS / sim.step_size))
        for _ in range(LOOKS):
            sim.step(steps // LOOKS)
            most, lowest = max(most, energy(sim)), min(lowest, float(sim.data.qpos[2]))
        moved = mass * (down**2 + self.along**2) / 2 + inertia * float(np.dot(self.spin, self.spin)) / 2
        return (most - start) / (moved + mass * G * (height - lowest))


def energy(sim) -> float:
    """[J] kinetic and potential, of all bodies."""
    mujoco.mj_energyPos(sim.model, sim.data)
    mujoco.mj_energyVel(sim.model, sim.data)
    return float(sim.data.energy.sum())


def random_drop(*seed: int) -> Drop:
    """Bodies of 20 to 300 mm, 1 to 3000 kg/m^3, falls of 1 mm to 5 m, a third along the ground, a third with spin."""
    rng = np.random.default_rng(seed)
    shape, size = str(rng.choice(SHAPES)), 10 ** rng.uniform(np.log10(0.02), np.log10(0.3))
    sides = size * rng.permuted([1.0, *rng.uniform(0.4, 1.0, 2)])
    points = rng.normal(size=(12, 3))
    points *= size * rng.uniform(0.7, 1.0, (12, 1)) / np.linalg.norm(points, axis=1, keepdims=True)
    given = {"sphere": sides[:1], "capsule": sides[:2], "cylinder": sides[:2], "mesh": points.ravel()}
    turned = rng.normal(size=4) if rng.random() < 0.65 else np.array([1.0, 0.0, 0.0, 0.0])
    return Drop(
        shape=shape,
        size=tuple(float(f"{x:.4g}") for x in given.get(shape, sides)),
        density=float(10 ** rng.uniform(0.0, np.log10(3000))),
        soil=str(rng.choice(soil_names())),
        fall=float(10 ** rng.uniform(-3, np.log10(5))),
        quat=tuple(turned / np.linalg.norm(turned)),
        along=float(rng.uniform(0, 5)) if rng.random() < 1 / 3 else 0.0,
        spin=tuple(rng.normal(scale=5.0, size=3)) if rng.random() < 1 / 3 else (0.0, 0.0, 0.0),
    )


def random_step(*seed: int) -> float | None:
    """A step to ask for [s]: from the shortest to the longest that is accepted, in a quarter of the cases none."""
    rng = np.random.default_rng((*seed, 1))
    if rng.random() < 1 / 4:
        return None
    if rng.random() < 1 / 3:
        return LONGEST_STEP
    return float(10 ** rng.uniform(np.log10(SHORTEST_STEP), np.log10(LONGEST_STEP)))
