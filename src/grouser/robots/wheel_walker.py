"""A robot with four wheel-stepping drives, each with three wheels on a carrier (Stadukhin 2016, Fig. 8 and 9).

A drive is a planetary gear without a ring gear: the motor turns the sun, the sun turns three satellites, and each
satellite turns one wheel. The carrier is free to turn on the hull. When the wheels roll, the carrier is at rest. When
they are blocked, the carrier turns and the drive steps. A brake holds the carriers to the hull, a lock to the suns.

x forward, y left, z up; positive rotation about y rolls forward. The paper gives the layout and the ten sides of the
wheels. All numbers are assumed, chosen with the balances of `docs/theory/wheel-walker.md`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import mujoco
import numpy as np

from grouser.errors import InputError
from grouser.terrain import checks

DRIVES = ("fl", "fr", "rl", "rr")  # front, rear; left, right
WHEELS = tuple(f"wheel_{name}_{k}" for name in DRIVES for k in range(3))
MAY_BE_NEGATIVE = ("centre_x", "centre_height")
LENGTHS = (
    "wheelbase", "track", "centre_x", "centre_height", "hull_size", "hull_clearance", "arm", "wheel_radius",
    "wheel_width", "carrier_width",
)  # fmt: skip
AT_MOST = {**dict.fromkeys(LENGTHS, 10.0), "sides": 1000}  # [m]
MAY_BE_ZERO = ("carrier_damping",)
GEAR_SOLREF = (0.01, 1.0)  # [s] time constant of a gear mesh: two steps of 5 ms
GEAR_SOLIMP = (0.999, 0.9999, 1e-3, 0.5, 2.0)
HOLD_SOLREF = (0.0, -100.0)  # no spring, only a damper [1/s]: a brake holds at the angle at which it closes
HOLD_SOLIMP = (0.9999, 0.9999, 1e-3, 0.5, 2.0)
GREEN, GREY, DARK, YELLOW = (0.35, 0.5, 0.35, 1), (0.55, 0.55, 0.58, 1), (0.15, 0.15, 0.17, 1), (0.8, 0.65, 0.2, 1)


@dataclass(frozen=True)
class WheelWalker:
    """Parameters of the robot; all assumed except the number of sides."""

    mass: float = 40.0  # [kg] of the whole robot
    carrier_mass: float = 0.8  # [kg] each
    wheel_mass: float = 0.4  # [kg] each
    gear_mass: float = 0.15  # [kg] each satellite
    sun_mass: float = 0.5  # [kg] each

    wheelbase: float = 1.2  # [m] between front and rear hubs
    track: float = 0.56  # [m] between left and right hubs
    centre_x: float = 0.15  # [m] centre of mass of the whole robot, from the middle between the hubs
    centre_height: float = 0.0  # [m] of it, above the hubs
    hull_size: tuple[float, float, float] = (1.05, 0.40, 0.12)  # [m]
    hull_clearance: float = 0.03  # [m] from the hubs' height up to the bottom of the hull

    arm: float = 0.16  # [m] from a hub to the axles of its wheels
    wheel_radius: float = 0.09  # [m] to the corners of the prism
    wheel_width: float = 0.06  # [m]
    sides: int = 10  # of a wheel; Stadukhin 2016, the paper's
    carrier_width: float = 0.03  # [m]
    carrier_damping: float = 0.05  # [N m s/rad] of the bearing of a carrier

    sun_teeth: int = 60
    satellite_teeth: int = 24
    wheel_teeth: int = 16

    voltage: float = 24.0  # [V] at which the next two hold
    stall_torque: float = 28.0  # [N m] of a motor behind its own gearbox, at the sun
    no_load_speed: float = 2.0  # [rad/s] of the sun
    rotor_inertia: float = 0.02  # [kg m^2] rotor seen through the gearbox

    def __post_init__(self):
        checks.fields_in_range(self, "robot", may_be_negative=MAY_BE_NEGATIVE, may_be_zero=MAY_BE_ZERO, at_most=AT_MOST)
        if not (isinstance(self.sides, int) and self.sides >= 3):
            raise InputError(f"robot: sides: {self.sides} is not allowed; a wheel has 3 or more")
        if self.hull_mass <= 0:
            parts = self.mass - self.hull_mass
            raise InputError(f"robot: mass: {self.mass:g} kg is not allowed; the four drives alone are {parts:g} kg")
        if self.wheel_radius >= self.arm * math.sqrt(3) / 2:
            raise InputError(
                f"robot: wheel_radius: {self.wheel_radius:g} m is not allowed; the wheels of one carrier touch at "
                f"{self.arm * math.sqrt(3) / 2:.4g} m"
            )

    @property
    def drive_mass(self) -> float:
        """Mass [kg] of one drive: sun, carrier, satellites and wheels."""
        return self.sun_mass + self.carrier_mass + 3 * (self.gear_mass + self.wheel_mass)

    @property
    def hull_mass(self) -> float:
        """Mass [kg] of the hull: total minus the drives."""
        return self.mass - 4 * self.drive_mass

    @property
    def ratio(self) -> float:
        """Gear ratio i: sun turns per wheel turn, relative to the carrier. If i < 1, blocked drives step forward."""
        return self.wheel_teeth / self.sun_teeth

    @property
    def hub_height(self) -> float:
        """Height [m] of the hubs above level ground, with two wheels of each drive standing on flats."""
        return self.arm / 2 + self.wheel_radius * math.cos(math.pi / self.sides)

    def hub(self, name: str) -> np.ndarray:
        """Centre [m], (3,) of a drive in the frame of the hull, which is in the middle between the hubs."""
        x = self.wheelbase / 2 * (1 if name[0] == "f" else -1)
        return np.array([x, self.track / 2 * (1 if name[1] == "l" else -1), 0.0])

    def axle(self, k: int, length: float | None = None) -> np.ndarray:
        """Position [m], (3,) of axle k of a carrier in its frame: 0 lower front, 1 lower rear, 2 top."""
        angle = math.radians((-30.0, 210.0, 90.0)[k])
        return (length or self.arm) * np.array([math.cos(angle), 0.0, math.sin(angle)])

    @property
    def satellite_arm(self) -> float:
        """Distance [m] from a hub to the axles of the satellites. All gears are in line and have the same module."""
        whole = self.sun_teeth / 2 + self.satellite_teeth + self.wheel_teeth / 2
        return self.arm * (self.sun_teeth + self.satellite_teeth) / 2 / whole


def wheel_vertices(p: WheelWalker) -> np.ndarray:
    """Corners [m], (2 sides, 3) of a wheel in its frame: a prism along y that stands on a flat."""
    angle = 2 * np.pi * (np.arange(p.sides) + 0.5) / p.sides - np.pi / 2
    ring = p.wheel_radius * np.column_stack([np.cos(angle), np.sin(angle)])
    return np.array([[x, side * p.wheel_width / 2, z] for side in (-1, 1) for x, z in ring])


def carrier_vertices(p: WheelWalker) -> np.ndarray:
    """Corners [m], (6, 3) of a carrier in its frame: a triangle between the axles, on the inner side of the wheels."""
    half = np.array([0, p.carrier_width / 2, 0])
    return np.array([p.axle(k) + side * half for side in (-1, 1) for k in range(3)])


def hull_vertices(p: WheelWalker) -> np.ndarray:
    """Corners [m], (8, 3) of the hull in its frame."""
    half = np.array(p.hull_size) / 2
    centre = np.array([0, 0, p.hull_clearance + half[2]])
    return np.array([centre + half * [x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])


def build(parameters: WheelWalker | None = None, *, gravity: float = 9.81, x: float = 0.0) -> mujoco.MjSpec:
    """Build the robot on z = 0 with its middle at `x` [m]; `gravity` [m/s^2] points down.

    The robot has no MuJoCo collisions: contact is computed by a force module. Controls are the voltages of the four
    motors. Brakes and locks are equality constraints "brake_fl", "lock_fl", …, open until `eq_active` closes them.
    """
    p = parameters or WheelWalker()
    spec = mujoco.MjSpec()
    spec.modelname = "wheel_walker"
    spec.compiler.degree = False
    spec.option.gravity = [0, 0, -gravity]
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    hull = spec.worldbody.add_body(name="hull", pos=[x, 0, p.hub_height])
    hull.add_freejoint(name="base")
    _give_hull_inertia(hull, p)
    _mesh(spec, hull, "hull", hull_vertices(p), GREEN)
    for name in DRIVES:
        _add_drive(spec, hull, name, p)
    return spec


def _add_drive(spec, hull, name: str, p: WheelWalker) -> None:
    hinge, side = mujoco.mjtJoint.mjJNT_HINGE, 1 if name[1] == "l" else -1
    sun = hull.add_body(name=f"sun_{name}", pos=p.hub(name))
    sun.add_joint(name=f"sun_{name}", type=hinge, axis=[0, 1, 0], armature=p.rotor_inertia)
    pitch = p.arm / (p.sun_teeth / 2 + p.satellite_teeth + p.wheel_teeth / 2) / 2  # [m] radius of a gear per tooth
    _give_disc_inertia(sun, p.sun_mass, pitch * p.sun_teeth, p.carrier_width)
    carrier = hull.add_body(name=f"carrier_{name}", pos=p.hub(name))
    carrier.add_joint(name=f"carrier_{name}", type=hinge, axis=[0, 1, 0], damping=p.carrier_damping)
    _give_disc_inertia(carrier, p.carrier_mass, p.arm / 2, p.carrier_width)
    _mesh(spec, carrier, f"carrier_{name}", carrier_vertices(p), GREY)
    for k in range(3):
        satellite = carrier.add_body(name=f"satellite_{name}_{k}", pos=p.axle(k, p.satellite_arm))
        satellite.add_joint(name=f"satellite_{name}_{k}", type=hinge, axis=[0, 1, 0])
        _give_disc_inertia(satellite, p.gear_mass, pitch * p.satellite_teeth, p.carrier_width)
        _disc(satellite, pitch * p.satellite_teeth, p, side, YELLOW)
        wheel = carrier.add_body(name=f"wheel_{name}_{k}", pos=p.axle(k))
        wheel.add_joint(name=f"wheel_{name}_{k}", type=hinge, axis=[0, 1, 0])
        _give_disc_inertia(wheel, p.wheel_mass, p.wheel_radius, p.wheel_width)
        _mesh(spec, wheel, f"wheel_{name}_{k}", wheel_vertices(p), DARK)
        _add_meshes(spec, name, k, p)
    _disc(sun, pitch * p.sun_teeth, p, side, YELLOW)
    motor = spec.add_actuator(name=f"motor_{name}", target=f"sun_{name}", trntype=mujoco.mjtTrn.mjTRN_JOINT)
    motor.set_to_dcmotor(motorconst=[0, 0], resistance=0, nominal=[p.voltage, p.stall_torque, p.no_load_speed])
    _add_holds(spec, name)


def _add_meshes(spec, name: str, k: int, p: WheelWalker) -> None:
    """Add the gear meshes sun-satellite and satellite-wheel: z_1 w_1 + z_2 w_2 = 0 relative to the carrier (Willis)."""
    first = spec.add_tendon(name=f"mesh_{name}_{k}")
    first.wrap_joint(f"sun_{name}", 1.0)
    first.wrap_joint(f"carrier_{name}", -1.0)
    first.wrap_joint(f"satellite_{name}_{k}", p.satellite_teeth / p.sun_teeth)
    spec.add_equality(
        type=mujoco.mjtEq.mjEQ_TENDON, name=f"mesh_{name}_{k}", name1=f"mesh_{name}_{k}",
        solref=GEAR_SOLREF, solimp=GEAR_SOLIMP,
    )  # fmt: skip
    second = spec.add_equality(
        type=mujoco.mjtEq.mjEQ_JOINT, name=f"gear_{name}_{k}", name1=f"wheel_{name}_{k}",
        name2=f"satellite_{name}_{k}", solref=GEAR_SOLREF, solimp=GEAR_SOLIMP,
    )  # fmt: skip
    second.data[:5] = [0, -p.satellite_teeth / p.wheel_teeth, 0, 0, 0]


def _add_holds(spec, name: str) -> None:
    """Add the brake between carrier and hull and the lock between carrier and sun, both open."""
    spec.add_equality(
        type=mujoco.mjtEq.mjEQ_JOINT, name=f"brake_{name}", name1=f"carrier_{name}", active=False,
        solref=HOLD_SOLREF, solimp=HOLD_SOLIMP,
    )  # fmt: skip
    lock = spec.add_equality(
        type=mujoco.mjtEq.mjEQ_JOINT, name=f"lock_{name}", name1=f"carrier_{name}", name2=f"sun_{name}", active=False,
        solref=HOLD_SOLREF, solimp=HOLD_SOLIMP,
    )  # fmt: skip
    lock.data[:5] = [0, 1, 0, 0, 0]


def _give_hull_inertia(body, p: WheelWalker) -> None:
    """Give the hull the inertia of a solid box, with its centre such that the whole robot has its centre of mass."""
    x, y, z = p.hull_size
    mass = p.hull_mass
    body.mass, body.explicitinertial = mass, True
    body.ipos = [p.mass * p.centre_x / mass, 0, p.mass * p.centre_height / mass]
    body.inertia = [mass * (y * y + z * z) / 12, mass * (x * x + z * z) / 12, mass * (x * x + y * y) / 12]


def _give_disc_inertia(body, mass: float, radius: float, width: float) -> None:
    """Set the inertia of a solid disc about y. `ipos` must be set, because MuJoCo would use the body's `pos` for it."""
    body.mass, body.explicitinertial, body.ipos = mass, True, [0, 0, 0]
    across = mass * (3 * radius**2 + width**2) / 12
    body.inertia = [across, mass * radius**2 / 2, across]


def _mesh(spec, body, name: str, vertices: np.ndarray, colour) -> None:
    spec.add_mesh(name=name, uservert=vertices.flatten(), maxhullvert=-1)
    body.add_geom(
        name=name, type=mujoco.mjtGeom.mjGEOM_MESH, meshname=name, contype=0, conaffinity=0, mass=0, rgba=colour
    )


def _disc(body, radius: float, p: WheelWalker, side: int, colour) -> None:
    """Draw a gear just outside the carrier."""
    y = side * (p.carrier_width / 2 + 0.003)
    body.add_geom(
        type=mujoco.mjtGeom.mjGEOM_CYLINDER, fromto=[0, y - 0.002, 0, 0, y + 0.002, 0], size=[radius, 0, 0],
        contype=0, conaffinity=0, mass=0, rgba=colour,
    )  # fmt: skip
