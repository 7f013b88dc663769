"""A bed of sand and the bodies put on it; NumPy and Warp are all it needs."""

from __future__ import annotations

import numpy as np

from grouser.contact.soil import SoilModule, SoilOptions, Surface, prepare
from grouser.terrain.generators import flat
from grouser.terrain.ground import Ground
from grouser.terrain.soils import Soil
from tests.rig import ManufacturedMotion

CELL = 1 / 128  # [m] a power of two: shifts by whole cells are exact
SAND = Soil(
    name="sand", n=1.1, k_c=990.0, k_phi=1.5e6, cohesion=1000.0, friction_angle_deg=28.0, shear_modulus=0.018,
    elastic_stiffness=5e7, damping_time=1e-3, compression=0.3,
)  # fmt: skip


def bed(*, worlds=1, dtype="float64", device="cpu", cell=CELL, half=2.0, capacity=64, **changes) -> Ground:
    """A level square of sand about the origin, `half` [m] each way; `changes` to SAND's fields."""
    plane = flat(size=(2 * half, 2 * half), spacing=half / 2, origin=(-half, -half))
    return Ground(plane, SAND.replace(**changes), cell, worlds=worlds, dtype=dtype, device=device, capacity=capacity)


def soil_rig(surface: Surface, options: SoilOptions | None = None, *, step=2e-3, **where) -> ManufacturedMotion:
    """A body over a bed of its own."""
    ground = bed(**where)
    module = SoilModule(ground, {surface.name: surface}, options)
    return ManufacturedMotion(
        module, dtype=ground.precision.name, device=ground.device, worlds=ground.worlds, step=step
    )


def tread(radius=0.1, width=0.08, facets=48) -> Surface:
    """The rim of a wheel about y; its triangles too are mirrored at its middle plane."""
    angle, y = 2 * np.pi * np.arange(facets) / facets, np.array([-width / 2, 0, width / 2])
    vertices = np.stack([np.array([radius * np.cos(a), b, radius * np.sin(a)]) for a in angle for b in y])
    triangles = []
    for here in range(facets):
        a, b = 3 * here, 3 * ((here + 1) % facets)
        triangles += [(a, a + 1, b), (a + 1, b + 1, b), (a + 1, a + 2, b + 2), (a + 1, b + 2, b + 1)]
    normals = vertices * (1, 0, 1)
    normals /= np.linalg.norm(normals, axis=1)[:, None]
    return prepare(vertices, np.array(triangles), normals=normals, width=width, name="tread")


def plate(length=0.16, breadth=0.1) -> Surface:
    """A level sheet that looks down."""
    x, y = length / 2, breadth / 2
    vertices = np.array([[-x, -y, 0], [x, -y, 0], [x, y, 0], [-x, y, 0]])
    return prepare(vertices, np.array([[0, 2, 1], [0, 3, 2]]), name="plate")
