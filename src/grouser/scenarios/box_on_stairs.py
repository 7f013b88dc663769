"""A box tumbles down stairs: Stadukhin 2016, Fig. 7, with contacts of faces, edges and vertices.

The paper gives no numbers; stairs, box, initial motion and material are assumed. The test is the energy: the sum of
kinetic energy, potential energy and energy stored in the contacts must never rise.
"""

from __future__ import annotations

import functools
import math
from typing import Annotated, Any

import mujoco
import numpy as np
import pydantic

from grouser.contact.convex import ConvexContact, ConvexPart, Material
from grouser.errors import InputError
from grouser.module import Channel
from grouser.recording import Recording
from grouser.scenarios.quantity import Unit
from grouser.scenarios.scenario import Settings, metric, scenario_of
from grouser.scenarios.terrain_choice import CourseChoice, pieces_figure
from grouser.simulation import Simulation
from grouser.terrain.course import Course
from grouser.terrain.courses import stairs
from grouser.terrain.mesh_rays import heights_from_above
from grouser.terrain.polyhedra import Polyhedron, box

PAPER = "Stadukhin 2016"
KINDS = ("face", "edge", "vertex")
ENERGY_GAIN = 1e-3  # largest gain allowed / energy of the first drop
AT_REST = 1e-3, 1e-2  # [m/s], [rad/s] speeds below which the box is at rest

Metres = Annotated[float, pydantic.Field(gt=0, le=10), Unit("m")]
Speed = Annotated[float, pydantic.Field(ge=-20, le=20), Unit("m/s")]


class BoxOnStairs(Settings):
    """Settings of `box-on-stairs`; all values are assumed."""

    steps: Annotated[int, pydantic.Field(ge=1, le=100)] = 5
    rise: Metres = 0.17
    run: Metres = 0.28
    width: Metres = 2.0
    overhang: Annotated[float, pydantic.Field(ge=0, le=10), Unit("m")] = 0.0  # of the top of each riser over its foot
    terrain: CourseChoice | None = None  # a mesh, cut into convex pieces, instead of stairs
    at: tuple[float, float] = (0.0, 0.0)  # [m] x and y of the start above a mesh
    length: Metres = 0.30  # length of the box, along x
    breadth: Metres = 0.22
    height: Metres = 0.16
    mass: Annotated[float, pydantic.Field(gt=0, le=1e4), Unit("kg")] = 5.0
    drop: Metres = 0.15  # height of the lowest corner above the top tread, or above a mesh
    speed: Speed = 0.8  # downstairs
    spin: Annotated[float, pydantic.Field(ge=-50, le=50), Unit("rad/s")] = 4.0  # forward rotation, about y
    tilt_deg: tuple[float, float, float] = (17.0, -29.0, 11.0)  # rotation vector at the start
    friction: Annotated[float, pydantic.Field(ge=0, le=2)] = 0.4
    stiffness: Annotated[float, pydantic.Field(gt=0, le=1e12), Unit("Pa/m")] = 1e9
    damping_time: Annotated[float, pydantic.Field(ge=0, le=1), Unit("s")] = 2e-3  # damping / stiffness
    spread: Metres = 0.02
    gravity: Annotated[float, pydantic.Field(gt=0, le=100), Unit("m/s^2")] = 9.81
    time: Annotated[float, pydantic.Field(gt=0, le=100), Unit("s")] = 3.0
    step: Annotated[float, pydantic.Field(gt=0, le=0.01), Unit("s")] = 5e-4

    @functools.cached_property
    def course(self) -> Course:
        """Stairs from a landing down along -x to a floor that is long enough for the box to come to rest; or a mesh."""
        if self.terrain is not None:
            return self.terrain.read()
        return stairs(self.steps, self.rise, self.run, self.width, approach=2.0, landing=1.0, overhang=self.overhang)

    @property
    def below(self) -> np.ndarray:
        """Point (3,) of the course [m] above which the box starts: over the top riser of stairs, at `at` on a mesh."""
        if self.terrain is None:
            return np.array([(self.steps - 1) * self.run, 0, self.steps * self.rise])
        x, y = self.at
        beside = np.array([0.0, 1e-3])  # heights are found at nodes of a grid
        height = heights_from_above(self.course.vertices, self.course.triangles, x + beside, y + beside)[0, 0]
        if not np.isfinite(height):
            raise InputError(f"at = {x:g}, {y:g} m: nothing of the mesh is below; allowed: a point above the mesh")
        return np.array([x, y, height])

    @property
    def solid(self) -> Polyhedron:
        return box((self.length, self.breadth, self.height))

    @property
    def start(self) -> np.ndarray:
        """Initial pose (7,), position and quaternion wxyz, above the top riser."""
        vector = np.radians(self.tilt_deg)
        angle = float(np.linalg.norm(vector))
        axis = vector / angle if angle > 0 else np.array([1.0, 0, 0])
        quat = np.array([math.cos(angle / 2), *(math.sin(angle / 2) * axis)])
        turn = np.zeros(9)
        mujoco.mju_quat2Mat(turn, quat)
        lowest = (self.solid.vertices @ turn.reshape(3, 3).T)[:, 2].min()
        return np.array([*(self.below + np.array([0, 0, self.drop - lowest])), *quat])


def build(s: BoxOnStairs) -> Simulation:
    spec = mujoco.MjSpec()
    spec.modelname = "box-on-stairs"
    spec.option.gravity = [0, 0, -s.gravity]
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    body = spec.worldbody.add_body(name="box", pos=s.start[:3].tolist(), quat=s.start[3:].tolist())
    body.add_freejoint()
    size = [s.length / 2, s.breadth / 2, s.height / 2]
    body.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, size=size, mass=s.mass)
    turn = np.zeros(9)
    mujoco.mju_quat2Mat(turn, s.start[3:])
    # The angular velocity of a free joint is in body axes.
    angular_velocity = turn.reshape(3, 3).T @ np.array([0, -s.spin, 0])
    spec.add_key(qpos=s.start.tolist(), qvel=[-s.speed, 0, 0, *angular_velocity])
    material = Material(stiffness=s.stiffness, damping=s.damping_time * s.stiffness, spread=s.spread)
    module = ConvexContact([ConvexPart("box", s.solid)], s.course, material, s.friction)
    sim = Simulation(spec, [module], step=s.step)
    sim.add_channel(Channel("box/energy", "J", frame="", read=lambda: _energy(sim)))
    sim.add_channel(
        Channel("box/speed", "m/s, rad/s", (2,), frame="", labels=("speed", "spin"), read=lambda: _speed(sim))
    )
    return sim


def _energy(sim: Simulation) -> np.ndarray:
    """Kinetic and potential energy [J] of the box."""
    mujoco.mj_energyPos(sim.model, sim.data)
    mujoco.mj_energyVel(sim.model, sim.data)
    return np.array([sim.data.energy.sum()])


def _speed(sim: Simulation) -> np.ndarray:
    v = sim.data.qvel
    return np.array([[np.linalg.norm(v[:3]), np.linalg.norm(v[3:])]])


def duration(s: BoxOnStairs) -> float:
    return s.time


def metrics(s: BoxOnStairs) -> list[dict[str, Any]]:
    full = s.time >= BoxOnStairs().time and s.terrain is None
    steps = [metric("steps_descended", "1", "number of steps between the landing and the final position of the box")]
    return [
        metric(
            "energy_gain_max_rel", "1",
            "largest increase of kinetic, potential and contact energy above an earlier value, over the energy of "
            "the first drop",
            0.0, {"max": ENERGY_GAIN}, "conservation of energy",
        ),
        metric(
            "contact_kinds", "1", "kinds of contact that occurred", sorted(KINDS) if full else None, None,
            f"{PAPER}, Fig. 7: faces, edges and vertices" if full else None,
        ),
        metric("rest_time_s", "s", "time after which the box stays at rest"),
        *(steps if s.terrain is None else []),
        metric("force_max_N", "N", "largest force on the box in one step"),
        metric("energy_left_rel", "1", "energy at the end over that at the start, relative to the floor"),
        metric("real_time_factor", "1", "simulated time over wall time of the loop"),
    ]  # fmt: skip


def figures(s: BoxOnStairs) -> list[dict[str, Any]]:
    outlines = [_side(piece) for piece in s.course]
    return [
        {
            "name": "tumble", "title": "A box on stairs", "kind": "scene", "body": "box", "contacts": "convex/contacts",
            "corners": s.solid.vertices.tolist(), "course": outlines,
            "caption": "Positions evenly spaced along the path, contact points and force vectors, as in Stadukhin "
            "2016, Fig. 7.",
        },
        {
            "name": "energy", "title": "Energy", "kind": "lines", "y": ["box/energy", "convex/stored"],
            "ylabel": "energy [J]", "caption": "Kinetic and potential energy of the box, and elastic energy of the "
            "contacts.",
        },
        {
            "name": "force", "title": "Force on the box", "kind": "lines", "y": ["convex/force[box]"],
            "ylabel": "force [N]", "caption": "Force applied to the box in each step, world axes.",
        },
        *(pieces_figure(s.course) if s.terrain is not None else []),
    ]  # fmt: skip


def _side(piece: Polyhedron) -> list[list[float]]:
    """Side view of a piece that is extruded along y: the outline of its face towards +y."""
    face = piece.faces[int(np.argmax(piece.normals[:, 1]))]
    return piece.vertices[list(face)][:, [0, 2]].tolist()


def measure(s: BoxOnStairs, recording: Recording) -> dict[str, Any]:
    own, stored = (np.asarray(recording[name], float).ravel() for name in ("box/energy", "convex/stored"))
    energy = own + stored
    contacts = recording["convex/contacts"]
    seen = {int(kind) for rows in contacts for kind in np.asarray(rows).reshape(-1, 10)[:, 7]}
    touched = [k for k, rows in enumerate(contacts) if len(rows)]
    pose = np.asarray(recording["body/pose[box]"], float).reshape(len(recording), 7)
    drop = s.mass * s.gravity * float(pose[0, 2] - pose[touched[0], 2]) if touched else math.nan
    force = np.asarray(recording["convex/force[box]"], float).reshape(len(recording), 3)
    steps = s.steps - round(float(np.floor((pose[-1, 2] - 1e-3) / s.rise))) if touched else 0
    return {
        **({"steps_descended": steps} if s.terrain is None else {}),
        "energy_gain_max_rel": float((energy - np.minimum.accumulate(energy)).max()) / drop,
        "contact_kinds": sorted(KINDS[kind] for kind in seen),
        "rest_time_s": rest_time(recording.time, np.asarray(recording["box/speed"], float).reshape(-1, 2)),
        "force_max_N": float(np.linalg.norm(force, axis=1).max()),
        "energy_left_rel": float(energy[-1] / energy[0]),
    }


def rest_time(time: np.ndarray, speeds: np.ndarray) -> float | None:
    """Time [s] from which on speed and angular velocity stay small. None if the box still moves at the end."""
    moving = np.flatnonzero((speeds > np.array(AT_REST)).any(1))
    if not len(moving):
        return float(time[0])
    return float(time[moving[-1] + 1]) if moving[-1] + 1 < len(time) else None


SCENARIO = scenario_of(
    __name__, BoxOnStairs, rate=1 / BoxOnStairs().step,
    summary="a box tumbles down stairs: contacts of faces, edges and corners, and no energy gained",
    source=f"{PAPER}, Fig. 7",
)  # fmt: skip
