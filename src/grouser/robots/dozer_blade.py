"""Blade of a bulldozer: a flat plate on a lift, as a body of the model and as a surface for the soil.

The frame of the blade is at the middle of its lower edge, x forward. The lift is a vertical slide at the chassis; push
arms and cylinders are not modelled. All numbers are assumed: typical values of the 20 t class.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import mujoco
import numpy as np

from grouser.contact.soil import prepare
from grouser.contact.soil.surface import Surface
from grouser.terrain import checks

FINEST = 0.3  # [m] longest edge of the mesh that the soil gets: all of a straight edge slides alike
QUADS = ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3))  # of eight corners


@dataclass(frozen=True)
class DozerBlade:
    """Size, place and lift of the blade. The rake is the angle between its face and the ground ahead."""

    width: float = 3.2  # [m]
    height: float = 1.2  # [m]
    thickness: float = 0.075  # [m]
    rake_deg: float = 75.0  # below 90 the face looks up
    mass: float = 1800.0  # [kg] with its share of the push arms
    x: float = 4.4  # [m] of the lower edge, from the sprockets' axles
    lift_gain: float = 2e6  # [N s/m] of the speed servo of the lift
    lift_force: float = 2e5  # [N] limit of the lift

    def __post_init__(self):
        for name in ("width", "height", "thickness", "mass", "lift_gain", "lift_force"):
            checks.number(getattr(self, name), f"bulldozer: blade: {name}", above=0.0)
        checks.number(self.rake_deg, "bulldozer: blade: rake_deg", at_least=30.0, at_most=95.0)

    @property
    def corners(self) -> np.ndarray:
        """Corners [m], (8, 3): the lower edge of the face at the origin, the lower end level."""
        rake = math.radians(self.rake_deg)
        deep = self.thickness / math.sin(rake)
        out = np.array([
            [x, y * self.width, z * self.height] for x in (-deep, 0.0) for y in (-0.5, 0.5) for z in (0.0, 1.0)
        ])  # fmt: skip
        out[:, 0] -= out[:, 2] / math.tan(rake)
        return out

    def surface(self) -> Surface:
        """The blade as the soil needs it."""
        triangles = np.array([t for a, b, c, d in QUADS for t in ((a, b, c), (a, c, d))], np.int32)
        return prepare(self.corners, triangles, width=self.thickness, longest_edge=FINEST, name="blade")

    def add_to(self, spec, chassis, height: float, gravity: float) -> None:
        """Add body, lift and drive of the lift. `height` [m] of the lower edge above the chassis' origin.

        The lift bears the weight of the blade, as a closed hydraulic cylinder does: no sinking on its speed servo.
        """
        blade = chassis.add_body(name="blade", pos=[self.x, 0, height])
        blade.add_joint(name="blade_lift", type=mujoco.mjtJoint.mjJNT_SLIDE, axis=[0, 0, 1])
        w, h, t = self.width, self.height, self.thickness
        blade.mass, blade.explicitinertial, blade.ipos = self.mass, True, [-t, 0, h / 2]
        blade.inertia = [self.mass * s / 12 for s in (w * w + h * h, h * h + t * t, w * w + t * t)]
        tilt = math.pi / 2 - math.radians(self.rake_deg)
        middle = self.corners.mean(axis=0)
        blade.add_geom(
            type=mujoco.mjtGeom.mjGEOM_BOX, size=[t / 2, w / 2, h / 2 / math.cos(tilt)], pos=middle.tolist(),
            quat=[math.cos(tilt / 2), 0, -math.sin(tilt / 2), 0], contype=0, conaffinity=0, mass=0,
            rgba=[0.85, 0.65, 0.15, 1],
        )  # fmt: skip
        lift = spec.add_actuator(name="blade_lift", target="blade_lift", trntype=mujoco.mjtTrn.mjTRN_JOINT)
        lift.set_to_velocity(kv=self.lift_gain)
        lift.biasprm[0] = self.mass * gravity  # [N]
        lift.forcelimited = mujoco.mjtLimited.mjLIMITED_TRUE
        lift.forcerange = [-self.lift_force, self.lift_force]
