"""Shared by the tests of convex contact: one box, or several, as a model of MuJoCo."""

from __future__ import annotations

from collections.abc import Sequence

import mujoco
import numpy as np

from grouser.contact.convex import ConvexContact, ConvexPart, Material
from grouser.simulation import Simulation
from grouser.terrain.course import Course
from grouser.terrain.polyhedra import box

G = 9.81  # [m/s^2]
SIZE = (0.3, 0.3, 0.2)  # [m]
MASS = 10.0  # [kg]
STIFFNESS, SPREAD = 1e9, 0.02  # [Pa/m], [m] of the default material
FLOOR = Course((box((20, 20, 1), (0, 0, -0.5), "floor"),), "floor")


def pressed_area(a: float, b: float, spread: float = SPREAD) -> float:
    """[m^2] over which a rectangle presses: A + r P + pi r^2."""
    return a * b + spread * 2 * (a + b) + np.pi * spread**2


SINKAGE = MASS * G / (STIFFNESS * pressed_area(SIZE[0], SIZE[1]))  # [m] of the box at rest


def boxes(
    places: Sequence[Sequence[float]], *, size=SIZE, mass=MASS, quats=None, velocity=None, gravity=G
) -> mujoco.MjSpec:
    """Free boxes named box0, box1 … at `places`; velocity (6,) of each at the start."""
    spec = mujoco.MjSpec()
    spec.option.gravity = [0, 0, -gravity]
    qpos, qvel = [], []
    for k, place in enumerate(places):
        quat = [1, 0, 0, 0] if quats is None else list(quats[k])
        body = spec.worldbody.add_body(name=f"box{k}", pos=list(place), quat=quat)
        body.add_freejoint()
        body.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, size=[x / 2 for x in size], mass=mass)
        qpos += [*place, *quat]
        qvel += [0.0] * 6 if velocity is None else list(velocity)
    spec.add_key(qpos=qpos, qvel=qvel)
    return spec


def one_box(course=FLOOR, *, place=None, quat=(1, 0, 0, 0), velocity=None, friction=(0.6, 0.5), step=1e-3, **more):
    """A simulation of one box on a course; it starts at rest depth on level ground at z = 0 unless told."""
    place = (0, 0, SIZE[2] / 2 - SINKAGE) if place is None else place
    module = ConvexContact([ConvexPart("box0", box(SIZE))], course, more.pop("material", Material()), friction, **more)
    return Simulation(boxes([place], quats=[quat], velocity=velocity), [module], step=step)


def effective(sim: Simulation) -> np.ndarray:
    """(6,) force and torque the first body really got in the last step."""
    return sim.engine.slots[0].out.effective.numpy()[0, 0].astype(float)
