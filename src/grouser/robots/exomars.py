"""A rover of the ExoMars class: six driven and steered wheels on three bogies, two longitudinal and one transverse.

x forward, y left, z up. The layout is that of Krenn and Hirzinger 2009, section III.E (kinematics of the bogies) and of
the Rosalind Franklin rover. "public" marks values that ESA has published for that rover, "assumed" all others.
"""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np

from grouser.contact.soil import Surface, wheel
from grouser.errors import InputError
from grouser.robots import exomars_shapes as shapes
from grouser.terrain import checks

WHEELS = ("fl", "fr", "ml", "mr", "rl", "rr")  # front, middle, rear; left, right
BOGIES = ("left", "right", "rear")
FACETS = 108  # of a wheel: edges slightly shorter than a cell of 10 mm
MARS = 3.71  # [m/s^2]
RIM_GYRATION = 0.8  # radius of gyration of a wheel over its radius: most of its mass is in the rim (assumed)
MAY_BE_NEGATIVE = ("front_x", "middle_x", "rear_x", "longitudinal_pivot_x", "centre_x")
LENGTHS = (
    "track", "front_x", "middle_x", "rear_x", "longitudinal_pivot_x", "longitudinal_pivot_height",
    "transverse_pivot_height", "pivot_track", "wheel_radius", "wheel_width", "grouser_height", "grouser_width",
)  # fmt: skip
AT_MOST = {**dict.fromkeys(LENGTHS, 10.0), "grouser_count": 200}  # [m]; far above any rover ever built
MAY_BE_ZERO = ("grouser_height", "grouser_count", "drive_lag", "bogie_damping")


@dataclass(frozen=True)
class ExoMars:
    """Parameters of the rover. Heights are above the ground that the rims touch; x is from the middle of the wheels."""

    mass: float = 310.0  # [kg] of the whole rover; public
    wheel_mass: float = 4.0  # [kg] each; assumed
    knuckle_mass: float = 3.5  # [kg] each, steering unit, leg and drive; assumed
    bogie_mass: float = 6.0  # [kg] each, beam and pivot; assumed
    centre_x: float = 0.0  # [m] centre of mass of the whole rover; assumed, equal static loads on level ground
    centre_height: float = 0.60  # [m]; assumed, about the middle of the body

    track: float = 1.20  # [m] between left and right wheels; assumed, public pictures show about this
    front_x: float = 0.65  # [m]; assumed, as are the next two: a wheelbase of 1.3 m, evenly divided
    middle_x: float = 0.0  # [m]
    rear_x: float = -0.65  # [m]
    longitudinal_pivot_x: float = 0.325  # [m] half way between front and middle wheels; assumed
    longitudinal_pivot_height: float = 0.30  # [m], just above the wheels; assumed
    transverse_pivot_height: float = 0.30  # [m]; assumed
    pivot_track: float = 0.90  # [m] between the longitudinal pivots; assumed
    bogie_limit: float = 0.5  # [rad] either way; assumed
    bogie_damping: float = 10.0  # [N m s/rad] of the pivots; assumed, it only calms free swinging

    wheel_radius: float = 0.1425  # [m] of the rim without grousers; public (diameter 285 mm)
    wheel_width: float = 0.12  # [m]; public. Krenn and Hirzinger 2009, Fig. 17 has b = 0.1 m for an earlier design
    grouser_count: int = 12  # assumed, public pictures show about this
    grouser_height: float = 0.01  # [m]; assumed
    grouser_width: float = 0.004  # [m]; assumed

    drive_torque: float = 30.0  # [N m] limit of each wheel's motor; assumed
    drive_gain: float = 1500.0  # [N m s/rad] of the speed servo; assumed: 10 N m cost 0.007 rad/s
    drive_lag: float = 0.2  # [s] the motor follows a new speed with this time constant; assumed
    drive_inertia: float = 10.0  # [kg m^2] rotor seen through the gear (4e-6 kg m^2, 1:1600); assumed
    drive_speed: float = 0.5  # [rad/s] greatest command; assumed, 70 m/h (public, top speed) need 0.14
    steer_torque: float = 40.0  # [N m] limit of each steering motor; assumed
    steer_gain: float = 2000.0  # [N m/rad] of the position servo; assumed, critically damped
    steer_inertia: float = 1.0  # [kg m^2]; assumed, a smaller motor
    steer_limit: float = 1.9  # [rad] either way; assumed, enough for point turns and crabbing

    def __post_init__(self):
        checks.fields_in_range(self, "rover", may_be_negative=MAY_BE_NEGATIVE, may_be_zero=MAY_BE_ZERO, at_most=AT_MOST)
        if self.chassis_mass <= 0:
            parts = self.mass - self.chassis_mass
            raise InputError(f"rover: mass: {self.mass:g} kg is not allowed; wheels and bogies alone are {parts:g} kg")
        if not self.front_x > self.longitudinal_pivot_x > self.middle_x > self.rear_x:
            raise InputError(
                "rover: longitudinal_pivot_x: the order from front to rear must be front wheels, pivot, middle "
                f"wheels, rear wheels; given are {self.front_x:g}, {self.longitudinal_pivot_x:g}, "
                f"{self.middle_x:g}, {self.rear_x:g} m"
            )

    @property
    def chassis_mass(self) -> float:
        """Mass [kg] of the body: total minus the other parts."""
        return self.mass - 6 * (self.wheel_mass + self.knuckle_mass) - 3 * self.bogie_mass

    @property
    def chassis_centre(self) -> np.ndarray:
        """Centre of mass [m], (3,) of the body in its own frame that gives the whole rover its centre of mass."""
        centre = np.array([self.centre_x, 0.0, self.centre_height - self.longitudinal_pivot_height])
        wheels = (self.wheel_mass + self.knuckle_mass) * sum(self.axle(name) for name in WHEELS)
        bogies = self.bogie_mass * sum(self.pivot(name) for name in BOGIES)
        return (self.mass * centre - wheels - bogies) / self.chassis_mass

    def wheel_rate(self, speed: float) -> float:
        """Speed of the wheels [rad/s] at which the rover drives at `speed` [m/s], or an InputError if it cannot."""
        rate = speed / self.wheel_radius
        if rate > self.drive_speed:
            raise InputError(
                f"speed = {speed:g} m/s: allowed is at most {self.drive_speed * self.wheel_radius:.3g} m/s, "
                f"rover.drive_speed {self.drive_speed:g} rad/s times rover.wheel_radius {self.wheel_radius:g} m"
            )
        return rate

    def pivot(self, bogie: str) -> np.ndarray:
        """Pivot [m], (3,) of a bogie in the frame of the chassis."""
        if bogie == "rear":
            return np.array([self.rear_x, 0.0, self.transverse_pivot_height - self.longitudinal_pivot_height])
        return np.array([self.longitudinal_pivot_x, _side_sign(bogie) * self.pivot_track / 2, 0.0])

    def axle(self, name: str) -> np.ndarray:
        """Centre [m], (3,) of a wheel in the frame of the chassis, with level bogies."""
        x = {"f": self.front_x, "m": self.middle_x, "r": self.rear_x}[name[0]]
        return np.array([x, _side_sign(name[1]) * self.track / 2, self.wheel_radius - self.longitudinal_pivot_height])


def bogie_of(name: str) -> str:
    """The bogie that carries a wheel: a longitudinal one for front and middle wheels, the transverse one for rear."""
    if name[0] == "r":
        return "rear"
    return "left" if name[1] == "l" else "right"


def wheel_positions(parameters: ExoMars) -> np.ndarray:
    """Positions [m], (6, 2) of the steering axes in the frame of the chassis, in the order of WHEELS."""
    return np.array([parameters.axle(name)[:2] for name in WHEELS])


def wheel_surface(parameters: ExoMars) -> Surface:
    """Surface of a wheel with grousers for soil contact."""
    p = parameters
    return wheel(
        p.wheel_radius, p.wheel_width, grouser_height=p.grouser_height, grouser_count=int(p.grouser_count),
        grouser_width=p.grouser_width, facets=FACETS,
    )  # fmt: skip


def build(parameters: ExoMars | None = None, *, gravity: float = MARS, height: float = 0.0) -> mujoco.MjSpec:
    """Build the rover with its rims `height` [m] above z = 0; `gravity` [m/s^2] points down.

    The frame of the chassis is in the middle between the wheels, at the height of the longitudinal pivots. The rover
    has no MuJoCo collisions: ground contact is computed by the soil module.
    """
    p = parameters or ExoMars()
    spec = mujoco.MjSpec()
    spec.modelname = "exomars"
    spec.compiler.degree = False
    spec.option.gravity = [0, 0, -gravity]
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    shapes.add_materials(spec)
    chassis = spec.worldbody.add_body(name="chassis", pos=[0, 0, height + p.longitudinal_pivot_height])
    chassis.add_freejoint(name="base")
    _give_box_inertia(chassis, p.chassis_mass, (1.1, 0.9, 0.5), p.chassis_centre)
    shapes.draw_chassis(chassis, p)
    bogies = {name: _add_bogie(chassis, name, p) for name in BOGIES}
    for name in WHEELS:
        _add_wheel(bogies[bogie_of(name)], name, p)
    for name in WHEELS:
        _add_drive(spec, name, p)
    for name in WHEELS:
        _add_steering(spec, name, p)
    return spec


def _add_bogie(chassis, name: str, p: ExoMars):
    body = chassis.add_body(name=f"bogie_{name}", pos=p.pivot(name))
    axis = [1, 0, 0] if name == "rear" else [0, 1, 0]
    body.add_joint(
        name=f"bogie_{name}", type=mujoco.mjtJoint.mjJNT_HINGE, axis=axis, damping=p.bogie_damping,
        limited=mujoco.mjtLimited.mjLIMITED_TRUE, range=[-p.bogie_limit, p.bogie_limit],
    )  # fmt: skip
    beam = (0.06, p.track, 0.06) if name == "rear" else (p.front_x - p.middle_x, 0.06, 0.06)
    _give_box_inertia(body, p.bogie_mass, beam)
    shapes.draw_bogie(body, name, p)
    return body


def _add_wheel(bogie, name: str, p: ExoMars) -> None:
    """Add a steering knuckle and its wheel, both with their frame at the wheel's centre."""
    hinge = mujoco.mjtJoint.mjJNT_HINGE
    knuckle = bogie.add_body(name=f"knuckle_{name}", pos=p.axle(name) - p.pivot(bogie_of(name)))
    knuckle.add_joint(
        name=f"steer_{name}", type=hinge, axis=[0, 0, 1], armature=p.steer_inertia,
        limited=mujoco.mjtLimited.mjLIMITED_TRUE, range=[-p.steer_limit, p.steer_limit],
    )  # fmt: skip
    _give_box_inertia(knuckle, p.knuckle_mass, (0.1, 0.1, p.longitudinal_pivot_height))
    shapes.draw_knuckle(knuckle, name, p)
    body = knuckle.add_body(name=f"wheel_{name}")
    body.add_joint(name=f"drive_{name}", type=hinge, axis=[0, 1, 0], armature=p.drive_inertia)
    axial = p.wheel_mass * (RIM_GYRATION * p.wheel_radius) ** 2
    across = axial / 2 + p.wheel_mass * p.wheel_width**2 / 12
    body.mass, body.explicitinertial, body.ipos = p.wheel_mass, True, [0, 0, 0]
    body.inertia = [across, axial, across]
    shapes.draw_wheel(body, p)


def _add_drive(spec, name: str, p: ExoMars) -> None:
    """Add a speed servo [rad/s] with a torque limit. Its lag keeps a sudden command from reaching the limit."""
    motor = spec.add_actuator(name=f"drive_{name}", target=f"drive_{name}", trntype=mujoco.mjtTrn.mjTRN_JOINT)
    motor.set_to_velocity(kv=p.drive_gain)
    if p.drive_lag > 0:
        motor.dyntype = mujoco.mjtDyn.mjDYN_FILTEREXACT
        motor.dynprm[0] = p.drive_lag
    _limit(motor, p.drive_torque, p.drive_speed)


def _add_steering(spec, name: str, p: ExoMars) -> None:
    """Add a position servo [rad] with a torque limit."""
    motor = spec.add_actuator(name=f"steer_{name}", target=f"steer_{name}", trntype=mujoco.mjtTrn.mjTRN_JOINT)
    motor.set_to_position(kp=p.steer_gain, dampratio=1.0)
    _limit(motor, p.steer_torque, p.steer_limit)


def _limit(motor, torque: float, command: float) -> None:
    motor.forcelimited = motor.ctrllimited = mujoco.mjtLimited.mjLIMITED_TRUE
    motor.forcerange = [-torque, torque]
    motor.ctrlrange = [-command, command]


def _give_box_inertia(body, mass: float, size: tuple[float, float, float], centre=(0.0, 0.0, 0.0)) -> None:
    """Give a body the inertia of a solid box of `size` [m] about `centre`."""
    x, y, z = size
    body.mass, body.explicitinertial, body.ipos = mass, True, centre
    body.inertia = [mass * (y * y + z * z) / 12, mass * (x * x + z * z) / 12, mass * (x * x + y * y) / 12]


def _side_sign(side: str) -> int:
    """1 on the left, -1 on the right."""
    return 1 if side[0] == "l" else -1
