"""Pairs of bodies of revolution for tests and benchmarks, as sections and as meshes."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from grouser.contact.layers import Layer
from grouser.contact.polygonal import Pair, PolygonalModule, shape
from grouser.contact.revolution import Profile, RevolutionBody, RevolutionContact, RevolutionPair
from tests.rig import UPRIGHT, ManufacturedMotion, quaternion

RIGID = Layer(young=np.inf, friction_stick=0.0, friction_slip=0.0, name="rigid")
SHOULDER = -0.003208926  # [m] where the shoulder of the tool meets the nozzle
SOFT = Layer(young=1e7, poisson=0.3, thickness=0.004, friction_stick=0.0, friction_slip=0.0, name="soft")


@dataclass(frozen=True)
class Geometry:
    """Two bodies, "moving" and "still", and where the first stands in contact and apart, in the axes of the second."""

    moving: RevolutionBody
    still: RevolutionBody
    touching: tuple[float, float, float]  # [m]
    apart: tuple[float, float, float]
    tilt: tuple[float, float, float] = (0.0, 0.0, 0.0)  # [rad] rotation vector

    def contact(self, **more) -> RevolutionContact:
        pair = RevolutionPair("pair", self.moving, self.still, elements="moving", **more)
        return RevolutionContact([pair])

    def polygonal(self, fineness: int = 1) -> PolygonalModule:
        """The same two surfaces as meshes, every line and sector of the sections divided into `fineness`."""
        shapes = {
            side.name: shape(*finer(side, fineness).mesh(), side.material, check_intersections=False, name=side.name)
            for side in (self.moving, self.still)
        }
        return PolygonalModule(shapes, {}, [Pair("moving", "still", elements="moving")])

    def rig(self, module, place=None, **more) -> ManufacturedMotion:
        """Both bodies at rest."""
        rig = ManufacturedMotion(module, **more)
        both = {"moving": (place or self.touching, quaternion(np.array(self.tilt))), "still": ((0, 0, 0), UPRIGHT)}
        position, rotation = (np.array([both[name][k] for name in module.bodies], float) for k in (0, 1))
        return rig.place(position, rotation, np.zeros(3), np.zeros(3)).advance()


def rotated(points: np.ndarray, q: np.ndarray) -> np.ndarray:
    """(…, 3) turned by a quaternion xyzw."""
    across = 2 * np.cross(q[:3], points)
    return points + q[3] * across + np.cross(q[:3], across)


def finer(side: RevolutionBody, times: int) -> RevolutionBody:
    """A surface with more samples on the same curve, and more sectors."""
    points = side.profile.samples
    share = (np.arange(times) + 1) / times
    new = [points[:1]]
    for a, b in pairwise(points):
        new.append(a + share[:, None] * (b - a))
    r, z = np.concatenate(new).T
    profile = Profile(z, r, side.profile.inner, side.profile.name)
    return RevolutionBody(side.body, profile, side.material, side.name, sectors=side.sectors * times)


def sphere_in_cone(times: float = 1, moving: Layer = RIGID, still: Layer = SOFT) -> Geometry:
    """A ball of 30 mm in a cone of 29.7 degrees, off the axis."""
    ball = Profile.sphere(0.03, tolerance=3e-5 / times**2)
    cone = Profile.cone((0.0, 0.2), (0.008, 0.122), inner=True, longest=0.01 / times)
    return Geometry(
        RevolutionBody("moving", ball, moving, "moving", sectors=round(64 * times)),
        RevolutionBody("still", cone, still, "still", sectors=round(128 * times)),
        (0.0006, 0.0003, 0.0455), (0.0006, 0.0003, 0.049), (0.4, 0.3, 0.1),
    )  # fmt: skip


def cylinder_in_tube(times: float = 1, moving: Layer = RIGID, still: Layer = SOFT) -> Geometry:
    """A plug of 50 mm, 60 mm long, tilted a little in a tube with 0.1 mm of play."""
    plug = Profile.cylinder(0.05, (-0.03, 0.03), longest=0.005 / times)
    tube = Profile.cylinder(0.0501, (-0.1, 0.1), inner=True, longest=0.01 / times)
    return Geometry(
        RevolutionBody("moving", plug, moving, "moving", sectors=round(96 * times)),
        RevolutionBody("still", tube, still, "still", sectors=round(96 * times)),
        (0.0003, 0.0001, 0.0), (0.00001, 0.0, 0.0), (0.0, 0.002, 0.5),
    )  # fmt: skip


def tool_in_nozzle(times: float = 1, moving: Layer = RIGID, still: Layer = SOFT) -> Geometry:
    """A tool with a rounded shoulder, pressed against the throat of a nozzle, tilted and off the axis."""
    fine = 2e-5 / times**2
    nozzle = Profile.from_function(
        lambda z: np.hypot(0.008, 0.6 * z), (-0.03, 0.2), tolerance=fine, longest=0.01 / times, inner=True
    )
    tool = Profile.from_function(
        lambda z: 0.006 + 0.012 / (1 + np.exp((0.02 - z) / 0.004)), (-0.02, 0.06), tolerance=fine,
        longest=0.004 / times,
    )  # fmt: skip
    return Geometry(
        RevolutionBody("moving", tool, moving, "moving", sectors=round(64 * times)),
        RevolutionBody("still", nozzle, still, "still", sectors=round(96 * times)),
        (0.0003, 0.0, SHOULDER - 0.0003), (0.0, 0.0, SHOULDER + 0.002), (0.0, 0.01, 0.0),
    )  # fmt: skip
