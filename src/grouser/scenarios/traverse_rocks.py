"""Rocks on a traverse: those near the way, as one fixed shape under all wheels."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Literal

import mujoco
import numpy as np
import pydantic

from grouser.contact.polygonal import shape
from grouser.control import Path
from grouser.recording import Recording
from grouser.robots import exomars
from grouser.robots.exomars import ExoMars
from grouser.scenarios import rocky_ground as rocky
from grouser.scenarios.quantity import Unit
from grouser.scenarios.rocky_ground import FREE, RockContact, Rocks
from grouser.scenarios.rover_course import BODIES
from grouser.terrain.elevation import ElevationGrid
from grouser.terrain.rock_bodies import COLOUR
from grouser.terrain.rock_strip import rocks_along
from grouser.terrain.rocks import Rock

if TYPE_CHECKING:
    from grouser.scenarios.traverse import Traverse

BESIDE = 0.25  # [m] beyond the wheels' tracks up to which rocks are made: the path follower stays within 0.1 m
MARGIN = 0.006  # [m] of relative motion for which a list of faces stays valid; longer lists cost more than new ones
TOGETHER = 64  # rocks in one mesh to be seen
CROSSED = 0.7  # of the share over rocks that a rover beside the way by some centimetres crosses at least (assumed)
SPACING = 0.01  # [m] between the places of the way that are looked at


class TraverseRocks(Rocks):
    """Rocks on a traverse, which is steered around larger ones."""

    law: Literal["viking-1", "golombek-rapp", "power", "table"] = "golombek-rapp"
    least: Annotated[float, pydantic.Field(gt=0), Unit("m")] = 0.1
    most: Annotated[float, pydantic.Field(gt=0), Unit("m")] = 0.2  # half of it stands out: a third of a wheel
    faces: Literal[80, 320] = 80  # triangles of a rock
    seed: Annotated[int, pydantic.Field(ge=0)] = 0

    def near(self, way: Path, ground: ElevationGrid, p: ExoMars, stance: np.ndarray) -> tuple[Rock, ...]:
        """Rocks that the wheels may meet on a way; none where they stand at the start, `stance` [m], (wheel, 2)."""
        free = math.hypot(p.wheel_radius, p.wheel_width / 2) + FREE
        return rocks_along(
            self.sizes(), way.points, (p.track + p.wheel_width) / 2 + BESIDE, ground=ground, seed=self.seed,
            burial=self.burial, keep_out=[(x, y, free) for x, y in stance.tolist()],
            divisions=1 if self.faces == 80 else 2,
        )  # fmt: skip


def stance(p: ExoMars, way: Path) -> np.ndarray:
    """Places of the wheels at the start of a way [m], (wheel, 2)."""
    heading = way.heading(0)
    turn = np.array([[math.cos(heading), -math.sin(heading)], [math.sin(heading), math.cos(heading)]])
    return way.points[0] + exomars.wheel_positions(p) @ turn.T


def rock_contact(rocks: tuple[Rock, ...], s: Traverse) -> RockContact:
    """Contact of each wheel with all rocks, which are one shape."""
    longest = s.rocks.longest_edge if s.rocks else None
    field = shape(
        *joined(rocks), rocky.rigid_layer(s.tread), longest_edge=longest, check_intersections=False, name="rocks"
    )
    wheel = rocky.wheel_shape(s.parameters, s.tread)
    pairs = [rocky.rock_pair(name, margin=MARGIN) for name in BODIES]
    return RockContact(dict.fromkeys(BODIES, wheel), {"rocks": field}, pairs)


def joined(rocks: tuple[Rock, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Vertices [m], (vertex, 3) in world axes and triangles (triangle, 3) of rocks as one mesh."""
    starts = np.cumsum([0] + [len(rock.vertices) for rock in rocks])
    triangles = [rock.triangles + start for rock, start in zip(rocks, starts[:-1], strict=True)]
    return np.vstack([rock.world_vertices for rock in rocks]), np.vstack(triangles).astype(np.int32)


def show_rocks(spec: mujoco.MjSpec, rocks: tuple[Rock, ...]) -> None:
    """Add rocks to be seen, several in one mesh: MuJoCo takes long for thousands of them."""
    spec.add_material(name="rock", rgba=COLOUR, specular=0.1, shininess=0.1)
    for first in range(0, len(rocks), TOGETHER):
        vertices, triangles = joined(rocks[first : first + TOGETHER])
        middle, name = vertices.mean(axis=0), f"rocks{first // TOGETHER}"
        spec.add_mesh(name=name, uservert=(vertices - middle).ravel().tolist(), userface=triangles.ravel().tolist())
        spec.worldbody.add_geom(
            name=name, type=mujoco.mjtGeom.mjGEOM_MESH, meshname=name, material="rock", group=2,
            contype=0, conaffinity=0, mass=0.0, pos=middle,
        )  # fmt: skip


def share(contact: RockContact, weight: float) -> Callable[[], np.ndarray]:
    """Vertical force of the rocks on all wheels over the rover's weight [N]."""
    return lambda: np.array([float(contact.out.effective.numpy()[0, :, 2].sum()) / weight])


def measures(recording: Recording, driving: slice) -> dict[str, float]:
    if "rocks/share" not in recording:  # no rock lies near the way
        return {"rock_load_share": 0.0, "penetration_max_m": 0.0}
    return {
        "rock_load_share": float(recording["rocks/share"][driving].mean()),
        "penetration_max_m": float(recording["polygonal/peak_penetration"][driving].max()),
    }


def share_over_rocks(rocks: tuple[Rock, ...], way: Path, ground: ElevationGrid, p: ExoMars) -> float:
    """Share of the two tracks' length on which the middle of a wheel is over a rock."""
    arc = np.arange(0.0, way.length, SPACING)
    lengths = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(way.points, axis=0).T))])
    x, y = (np.interp(arc, lengths, way.points[:, k]) for k in (0, 1))
    ahead = np.gradient(np.column_stack([x, y]), SPACING, axis=0)
    over = []
    for side in (-p.track / 2, p.track / 2):
        tx, ty = x - side * ahead[:, 1], y + side * ahead[:, 0]
        covered = np.zeros(len(arc), bool)
        for rock in rocks:
            beside = np.maximum(np.abs(tx - rock.position[0]), np.abs(ty - rock.position[1]))
            near = np.flatnonzero(beside < rock.reach)
            if len(near):
                covered[near] |= rock.top(tx[near], ty[near]) >= ground.height(tx[near], ty[near])
        over.append(covered.mean())
    return float(np.mean(over))
