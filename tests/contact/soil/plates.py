"""A plate dragged through soil by prescribed motion, for tests of steep faces."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from grouser.contact.soil import SoilModule
from grouser.contact.soil.model import SoilOptions
from grouser.contact.soil.surface import Surface, prepare
from grouser.terrain import Soil, flat, soil
from grouser.terrain.ground import Ground
from tests.contact.soil.trial_wedge import GRAVITY, Plate
from tests.rig import ManufacturedMotion

SPEED = 0.1  # [m/s]
STEP = 5e-3  # [s]: half a millimetre of travel
HEIGHT = 0.6  # [m] of the plate: more than any pile


def plate_surface(width: float, thickness: float, rake_deg: float, height: float = HEIGHT) -> Surface:
    """A plate whose toe is the y axis and that faces along x; its lower end is level."""
    import trimesh

    lean = height / math.tan(math.radians(rake_deg))
    corners = [
        (x - (lean if z else 0.0), y, z)
        for x in (0.0, -thickness)
        for y in (-width / 2, width / 2)
        for z in (0.0, height)
    ]
    hull = trimesh.convex.convex_hull(np.array(corners))
    return prepare(hull.vertices, hull.faces, name="plate")


@dataclass
class Drag:
    """A plate lowered into level soil and dragged along x, turned by `yaw`."""

    depth: float = 0.05
    width: float = 0.5
    thickness: float = 0.05
    rake_deg: float = 90.0
    yaw: float = 0.0  # [rad]
    spacing: float = 0.01
    offset: tuple[float, float] = (0.0037, 0.0043)  # [m] of the toe against the nodes
    options: SoilOptions | None = None
    material: Soil | None = None
    room: float = 1.2  # [m] of ground ahead and at the sides

    def __post_init__(self):
        self.material = self.material or soil("dry-sand")
        side = self.width + 2 * self.room
        size = (0.6 + 2 * self.room, side)
        self.ground = Ground(flat(size=size, spacing=0.1, origin=(-0.6, -side / 2)), self.material, self.spacing)
        surface = plate_surface(self.width, self.thickness, self.rake_deg)
        self.module = SoilModule(self.ground, {"plate": surface}, self.options or SoilOptions(friction="none"))
        self.rig = ManufacturedMotion(self.module, step=STEP)
        self.ahead = np.array([math.cos(self.yaw), math.sin(self.yaw), 0.0])
        self.at = np.array([*self.offset, 0.01])
        self.forces: list[np.ndarray] = []
        turned = (0.0, 0.0, math.sin(self.yaw / 2), math.cos(self.yaw / 2))
        steps = 20
        for _ in range(steps):
            self._go(np.array([0.0, 0.0, -(self.depth + 0.01) / steps]), turned)
        self.forces.clear()

    def _go(self, travel: np.ndarray, rotation=None) -> None:
        self.at = self.at + travel
        self.rig.place(position=self.at, rotation=rotation, velocity=travel / STEP).advance()
        self.forces.append(self.rig.wrench[0, 0].copy())

    def drag(self, distance: float) -> Drag:
        """Move on by `distance` [m]; negative: draw back."""
        for _ in range(round(abs(distance) / SPEED / STEP)):
            self._go(math.copysign(SPEED * STEP, distance) * self.ahead)
        return self

    def draught(self, over: float | None = None) -> float:
        """Mean force [N] against the motion over the last `over` [m] of travel, by default one cell."""
        count = max(1, round((over or self.spacing) / SPEED / STEP))
        return float(-(np.array(self.forces[-count:])[:, :3] @ self.ahead).mean())

    def oracle(self) -> Plate:
        s = self.material
        assert s is not None
        phi, delta = math.radians(s.friction_angle_deg), math.radians(s.wall_angle_deg)
        return Plate(self.depth, self.width, phi, delta, s.cohesion, s.density * GRAVITY, math.radians(self.rake_deg))

    def expected(self) -> float:
        """Force [N] of the trial wedge through the heights that are there now; the plate must face along x."""
        from scipy.interpolate import RegularGridInterpolator

        heights, (x0, y0), dx = self.ground.heights(), self.ground.elevation.origin, self.spacing
        first = math.floor((self.at[0] - x0) / dx + 1e-9) + 1
        heights[:, :first] = heights[:, first : first + 1]  # soil at the plate stands as high as at the first node
        x, y = x0 + dx * np.arange(self.ground.columns), y0 + dx * np.arange(self.ground.rows)
        surface = RegularGridInterpolator((y, x), heights, bounds_error=False, fill_value=0.0)

        def height(ahead: np.ndarray, across: np.ndarray) -> np.ndarray:
            places = np.broadcast_arrays(across + self.at[1], ahead + self.at[0])
            return surface(np.stack(places, axis=-1)) + self.depth

        return self.oracle().ahead(height, fine=dx / 5)
