"""SMART-OLEV, a servicer with a boom and a capture tool, and the client it docks to, a Spacebus-class satellite.

Krenn and Hirzinger 2009, section II names the parts. "paper" marks values it gives, "public" values known of such
satellites, "assumed" all others. z is the docking axis, from the servicer to the client. There are no MuJoCo
collisions: contact of tool and nozzle, and of brackets and ring, is computed by force modules.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import mujoco
import numpy as np

from grouser.errors import InputError
from grouser.model_compiler import compile_model
from grouser.robots import olev_shapes as shapes
from grouser.terrain import checks

REACTION_WHEELS = ("wheel_x", "wheel_y", "wheel_z")
BOOM_STAGES = ("boom1", "boom2", "boom3")
BENDS = ("bend1x", "bend1y", "bend2x", "bend2y")  # about x and y, at the first and the second point
BRACKETS = ("bracket1", "bracket2", "bracket3")
WINGS = ("left", "right")  # along +y and -y
GAUSS = (0.5 - 0.5 / math.sqrt(3), 1 / math.sqrt(3), 0.5 - 0.5 / math.sqrt(3))  # parts of the boom between joints
MAY_BE_ZERO = (
    "camera_bearing_noise", "camera_depth_noise", "camera_attitude_noise", "distance_noise", "gyro_noise",
    "momentum_wheel_rate", "panel_turn_rate", "nozzle_tilt_deg", "nozzle_tilt_direction_deg",
)  # fmt: skip


@dataclass(frozen=True)
class Olev:
    """Parameters of both satellites and the docking hardware."""

    servicer_mass: float = 1200.0  # [kg] bus; assumed, servicer about 1.2 t
    servicer_inertia_x: float = 750.0  # [kg m^2] bus about its own axes; assumed, as are the next two
    servicer_inertia_y: float = 700.0  # [kg m^2]
    servicer_inertia_z: float = 600.0  # [kg m^2]
    servicer_half_height: float = 0.9  # [m] of the bus along z; assumed
    servicer_half_width: float = 0.7  # [m]; assumed
    client_mass: float = 3000.0  # [kg] bus; assumed, Spacebus 3000 class at the end of its life is about 2 to 3 t
    client_inertia_x: float = 3200.0  # [kg m^2]; assumed, as are the next two
    client_inertia_y: float = 3000.0  # [kg m^2]
    client_inertia_z: float = 2200.0  # [kg m^2]
    client_half_height: float = 1.4  # [m]; assumed
    client_half_width: float = 0.9  # [m]; assumed

    servicer_panel_mass: float = 25.0  # [kg] each wing; assumed
    servicer_panel_length: float = 4.0  # [m]; assumed
    client_panel_mass: float = 60.0  # [kg] each wing; assumed
    client_panel_length: float = 10.0  # [m]; assumed, Spacebus 3000 spans about 25 to 30 m (public)
    panel_width: float = 2.0  # [m]; assumed
    panel_frequency: float = 0.15  # [Hz] first bending with the root held; assumed
    panel_damping_ratio: float = 0.005  # assumed
    panel_turn_rate: float = 7.292e-5  # [rad/s] one turn a day follows the sun at GEO (public)
    panel_drive_gain: float = 500.0  # [N m s/rad] of the drive that turns a wing; assumed

    wheel_inertia: float = 0.05  # [kg m^2] of a reaction wheel about its axis; assumed
    wheel_mass: float = 8.0  # [kg]; assumed
    wheel_torque: float = 0.2  # [N m] limit; assumed
    wheel_momentum: float = 20.0  # [N m s] limit; assumed
    momentum_wheel_inertia: float = 0.1  # [kg m^2]; assumed
    momentum_wheel_rate: float = 200.0  # [rad/s] bias about y; assumed
    thruster_force: float = 1.0  # [N] each of twelve; assumed
    thruster_quantum: float = 0.02  # [s] on-times are multiples of it; assumed
    thruster_period: float = 0.5  # [s] of pulses; assumed

    camera_x: float = 0.4  # [m] on the servicer's deck, looking along z; assumed
    camera_rate: float = 5.0  # [Hz]; assumed
    camera_bearing_noise: float = 3e-4  # [rad] standard deviation across the line of sight; assumed
    camera_depth_noise: float = 1e-3  # [1/m] along it, times range squared; assumed
    camera_attitude_noise: float = 1e-3  # [rad]; assumed
    camera_bias_x: float = 0.0015  # [m] of the calibration; assumed, as are the next three
    camera_bias_y: float = -0.001  # [m]
    camera_tilt_bias_x_deg: float = 0.3
    camera_tilt_bias_y_deg: float = -0.3
    camera_half_field_deg: float = 20.0  # assumed
    camera_farthest: float = 10.0  # [m]; assumed
    distance_rate: float = 20.0  # [Hz] of the tool's three distance sensors; assumed
    distance_noise: float = 2e-4  # [m]; assumed
    distance_farthest: float = 0.10  # [m]; assumed
    gyro_noise: float = 2e-6  # [rad/s]; assumed
    switch_force: float = 0.5  # [N] at which a contact switch closes; assumed

    boom_stroke: float = 1.7  # [m] from capture to touchdown; assumed (170 s of retraction in the paper)
    boom_retracted: float = 0.42  # [m] free length when mated; assumed
    boom_flexural_rigidity: float = 400.0  # [N m^2]; assumed: 126 N/m lateral at full length
    boom_damping_ratio: float = 0.02  # of the lowest bending of the two satellites on the boom; assumed
    seat_tilt_stiffness: float = 5300.0  # [N m/rad] of the locked tool in the nozzle, as its contact gives; see bending
    boom_stage_mass: float = 5.0  # [kg] each of three; assumed
    boom_drive_stiffness: float = 3e5  # [N/m] of each stage and its spindle; assumed
    boom_drive_inertia: float = 60.0  # [kg] of a spindle seen along the boom; assumed
    spring_force: float = 200.0  # [N] of the safety spring fully drawn out; paper
    spring_stroke: float = 0.04  # [m]; assumed
    spring_damping_ratio: float = 0.1  # of the two satellites on the spring; assumed

    tool_mass: float = 12.0  # [kg] capture tool without the crown; assumed
    tool_length: float = 0.28  # [m] from the end of the boom to the plane of the nozzle throat when seated; assumed
    crown_mass: float = 6.0  # [kg] wire crown, bolt and spindle; assumed
    crown_drive_inertia: float = 60.0  # [kg] of the spindle seen along the bolt; assumed
    crown_drive_stiffness: float = 4e6  # [N/m] of the self-locking spindle; assumed
    crown_stroke: float = 0.020  # [m]; assumed
    crown_spreading: float = 0.008  # [m] of its stroke, over which the crown spreads; assumed
    crown_radius: float = 0.016  # [m] spread; assumed
    bolt_radius: float = 0.006  # [m]; assumed
    shoulder_radius: float = 0.045  # [m] at which the tool seats in the nozzle; assumed
    shoulder_rounding: float = 0.015  # [m] radius of its profile; assumed
    locking_force: float = 100.0  # [N]; paper

    throat_radius: float = 0.008  # [m]; assumed, 400 N apogee motor
    throat_rounding: float = 0.006  # [m] radius of the profile at the throat; assumed
    exit_radius: float = 0.122  # [m]; assumed, 400 N apogee motor
    nozzle_length: float = 0.30  # [m] from throat to exit; assumed
    nozzle_angle_deg: float = 35.0  # of the wall behind the throat; assumed
    chamber_radius: float = 0.028  # [m]; assumed
    nozzle_tilt_deg: float = 0.4  # of its axis against the adapter ring's; assumed, "not ideally aligned" (paper)
    nozzle_tilt_direction_deg: float = 30.0  # about which axis of the x-y plane it is tilted; assumed
    nozzle_depth: float = 0.05  # [m] of the exit plane inside the ring's plane; assumed

    ring_radius: float = 0.597  # [m] of the launch adapter ring, interface 1194 (public)
    ring_width: float = 0.03  # [m]; assumed
    ring_height: float = 0.10  # [m] below the client's bus; assumed
    bracket_height: float = 0.35  # [m] above the servicer's bus; assumed
    bracket_mass: float = 10.0  # [kg] each; assumed
    pad_size: float = 0.06  # [m]; assumed

    contact_stiffness: float = 7.5e9  # [N/m^3] c_N of nozzle, tool, crown and bolt; assumed, at least 6e9
    contact_damping_time: float = 2e-4  # [s] d_N / c_N; assumed
    contact_friction: float = 0.2  # stick and slip; assumed, metal on a dry-lubricated tool
    pad_stiffness: float = 1.5e8  # [N/m^3]; assumed, stiff elastomer
    pad_damping_time: float = 2e-3  # [s]; assumed
    pad_friction: float = 0.3  # assumed

    def __post_init__(self):
        for field in fields(self):
            value, what = getattr(self, field.name), f"machine: {field.name}"
            if "bias" in field.name:
                checks.number(value, what)
            elif field.name in MAY_BE_ZERO:
                checks.number(value, what, at_least=0.0)
            else:
                checks.number(value, what, above=0.0)
        if not self.bolt_radius < self.throat_radius < self.crown_radius < self.chamber_radius < self.exit_radius:
            raise InputError(
                "machine: crown_radius: the order must be bolt, throat, spread crown, chamber, exit; given are "
                f"{self.bolt_radius:g}, {self.throat_radius:g}, {self.crown_radius:g}, {self.chamber_radius:g}, "
                f"{self.exit_radius:g} m"
            )
        if not self.throat_radius < self.shoulder_radius < self.exit_radius:
            raise InputError(f"machine: shoulder_radius: {self.shoulder_radius:g} m must lie between throat and exit")
        if self.crown_spreading >= self.crown_stroke:
            raise InputError(f"machine: crown_spreading: {self.crown_spreading:g} m must be below crown_stroke")

    @property
    def boom_extended(self) -> float:
        """Free length [m] at capture."""
        return self.boom_retracted + self.boom_stroke

    @property
    def spring_stiffness(self) -> float:
        """Stiffness [N/m] of the safety spring."""
        return self.spring_force / self.spring_stroke

    @property
    def ring_plane(self) -> float:
        """z [m] of the ring's lower face in the client's frame."""
        return -self.client_half_height - self.ring_height

    @property
    def throat(self) -> np.ndarray:
        """Position [m], (3,) of the nozzle's throat in the client's frame."""
        return np.array([0.0, 0.0, self.ring_plane + self.nozzle_depth + self.nozzle_length])

    @property
    def nozzle_rotation(self) -> np.ndarray:
        """Axes (3, 3) of the nozzle in the client's frame; z points into the chamber."""
        direction = math.radians(self.nozzle_tilt_direction_deg)
        return rotation_matrix(
            math.radians(self.nozzle_tilt_deg) * np.array([math.cos(direction), math.sin(direction), 0])
        )

    @property
    def seated(self) -> float:
        """z [m] of the throat of a seated tool in the servicer's frame, for a straight boom of length 0."""
        return self.servicer_half_height + self.tool_length

    @property
    def mated_length(self) -> float:
        """Boom length [m] with the ring on the brackets and the safety spring slack."""
        pads = self.servicer_half_height + self.bracket_height
        return pads + self.throat[2] - self.ring_plane - self.seated


@dataclass(frozen=True)
class InitialState:
    """Initial state: pose and velocity of the client relative to the nominal capture pose, in servicer axes.

    In the nominal pose the nozzle's axis is that of the boom, and the throat is where the tool seats with the boom at
    full length. All assumed.
    """

    boom_length: float = 1.72  # [m] free length
    client_x: float = 0.012  # [m] of the throat
    client_y: float = -0.008  # [m]
    client_z: float = 0.0  # [m]
    client_tilt_x_deg: float = 0.35  # of the nozzle's axis about x
    client_tilt_y_deg: float = -0.25
    client_roll_deg: float = 0.0
    client_velocity_x: float = 0.0005  # [m/s]
    client_velocity_y: float = 0.0003  # [m/s]
    client_velocity_z: float = 0.0  # [m/s]
    client_rate_x_deg: float = 0.004  # [deg/s]
    client_rate_y_deg: float = -0.003  # [deg/s]
    client_rate_z_deg: float = 0.002  # [deg/s]
    servicer_rate_x_deg: float = 0.0  # [deg/s]
    servicer_rate_y_deg: float = 0.0  # [deg/s]
    servicer_rate_z_deg: float = 0.0  # [deg/s]

    def __post_init__(self):
        for field in fields(self):
            bounds = {"above": 0.0} if field.name == "boom_length" else {}
            checks.number(getattr(self, field.name), f"initial: {field.name}", **bounds)


def build(parameters: Olev | None = None, initial: InitialState | None = None) -> mujoco.MjSpec:
    """Build both satellites, floating freely, in their initial state (the model's keyframe)."""
    p, start = parameters or Olev(), initial or InitialState()
    if not p.boom_retracted / 2 < start.boom_length <= p.boom_extended:
        raise InputError(
            f"initial: boom_length: {start.boom_length:g} m is not allowed; above {p.boom_retracted / 2:g} m "
            f"to {p.boom_extended:g} m is"
        )
    spec = mujoco.MjSpec()
    spec.modelname = "olev"
    spec.compiler.degree = False
    spec.option.gravity = [0, 0, 0]
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    shapes.add_materials(spec)
    servicer = _add_bus(
        spec, "servicer", p.servicer_mass, (p.servicer_inertia_x, p.servicer_inertia_y, p.servicer_inertia_z)
    )
    shapes.draw_servicer(servicer, p)
    _add_wings(spec, servicer, "servicer", p.servicer_panel_mass, p.servicer_panel_length, p.servicer_half_width, p)
    _add_reaction_wheels(spec, servicer, p)
    _add_thrusters(spec, servicer, p)
    _add_brackets(servicer, p)
    _add_boom(spec, servicer, p)
    client = _add_bus(spec, "client", p.client_mass, (p.client_inertia_x, p.client_inertia_y, p.client_inertia_z))
    shapes.draw_client(spec, client, p)
    _add_wings(spec, client, "client", p.client_panel_mass, p.client_panel_length, p.client_half_width, p)
    _place(spec, p, start)
    return spec


def _add_bus(spec, name: str, mass: float, inertia: tuple[float, float, float]):
    body = spec.worldbody.add_body(name=name)
    body.add_freejoint(name=name)
    _give_inertia(body, mass, inertia)
    return body


def _give_inertia(body, mass: float, inertia, centre=(0.0, 0.0, 0.0)) -> None:
    body.mass, body.explicitinertial = mass, True
    body.inertia, body.ipos = np.asarray(inertia, float), np.asarray(centre, float)


def _rod(mass: float, length: float, radius: float) -> tuple[float, float, float]:
    """Moments of inertia [kg m^2] of a cylinder along z."""
    across = mass * (3 * radius**2 + length**2) / 12
    return across, across, mass * radius**2 / 2


def _add_wings(spec, bus, name: str, mass: float, length: float, half_width: float, p: Olev) -> None:
    """Add the wings: each has a drive that turns it about y, and its first bending mode as a hinge at the root."""
    hinge = mujoco.mjtJoint.mjJNT_HINGE
    about_root = mass * length**2 / 3
    stiffness = about_root * (2 * math.pi * p.panel_frequency) ** 2
    damping = 2 * p.panel_damping_ratio * math.sqrt(stiffness * about_root)
    for wing in WINGS:
        side = 1.0 if wing == "left" else -1.0
        yoke = bus.add_body(name=f"{name}_yoke_{wing}", pos=[0, side * half_width, 0])
        yoke.add_joint(name=f"{name}_turn_{wing}", type=hinge, axis=[0, 1, 0])
        _give_inertia(yoke, 0.05 * mass, [0.1, 0.1, 0.1])
        panel = yoke.add_body(name=f"{name}_panel_{wing}")
        panel.add_joint(
            name=f"{name}_bend_{wing}", type=hinge, axis=[1, 0, 0], stiffness=stiffness, damping=damping,
        )  # fmt: skip
        middle = side * length / 2
        inertia = mass / 12 * np.array([length**2, p.panel_width**2, length**2 + p.panel_width**2])
        _give_inertia(panel, mass, inertia, [0, middle, 0])
        shapes.draw_panel(panel, middle, length, p.panel_width)
        drive = spec.add_actuator(
            name=f"{name}_turn_{wing}", target=f"{name}_turn_{wing}", trntype=mujoco.mjtTrn.mjTRN_JOINT
        )
        drive.set_to_velocity(kv=p.panel_drive_gain)


def _add_reaction_wheels(spec, bus, p: Olev) -> None:
    hinge, lower = mujoco.mjtJoint.mjJNT_HINGE, -0.5 * p.servicer_half_height
    wheels = zip((*REACTION_WHEELS, "momentum_wheel"), (0, 1, 2, 1), strict=True)
    for place, (name, axis) in enumerate(wheels):
        wheel = bus.add_body(name=name, pos=[0.3 * (place - 1.5), 0.2, lower])
        direction = np.eye(3)[axis]
        wheel.add_joint(name=name, type=hinge, axis=direction)
        about = p.momentum_wheel_inertia if name == "momentum_wheel" else p.wheel_inertia
        _give_inertia(wheel, p.wheel_mass, np.full(3, 0.55 * about) + 0.45 * about * direction)
        if name != "momentum_wheel":
            motor = spec.add_actuator(name=name, target=name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
            motor.set_to_motor()
            motor.ctrllimited, motor.ctrlrange = True, [-p.wheel_torque, p.wheel_torque]


def thruster_layout(p: Olev) -> tuple[np.ndarray, np.ndarray]:
    """Positions [m], (12, 3) and force directions (12, 3) of the thrusters: a pair for each direction of each axis.

    Both thrusters of a pair give a force without torque. One thruster from each of two opposite pairs gives a torque
    without force.
    """
    arms = np.array(
        [[0, p.servicer_half_width, 0], [0, 0, 0.8 * p.servicer_half_height], [p.servicer_half_width, 0, 0]]
    )
    places, directions = [], []
    for axis in range(3):
        for sign in (1.0, -1.0):
            for side in (1.0, -1.0):
                places.append(side * arms[axis])
                directions.append(sign * np.eye(3)[axis])
    return np.array(places), np.array(directions)


THRUSTERS = tuple(f"thruster{k + 1}" for k in range(12))


def _add_thrusters(spec, bus, p: Olev) -> None:
    for name, place, direction in zip(THRUSTERS, *thruster_layout(p), strict=True):
        bus.add_site(name=name, pos=place, size=[0.02, 0.02, 0.02], group=4)
        thruster = spec.add_actuator(name=name, target=name, trntype=mujoco.mjtTrn.mjTRN_SITE)
        thruster.set_to_motor()
        thruster.gear = [*(p.thruster_force * direction), 0, 0, 0]
        thruster.ctrllimited, thruster.ctrlrange = True, [0, 1]


def _add_brackets(bus, p: Olev) -> None:
    """Add the brackets. The frame of a bracket is at the middle of its pad's face, z up."""
    for k, name in enumerate(BRACKETS):
        angle = math.radians(90 + 120 * k)
        place = [p.ring_radius * math.cos(angle), p.ring_radius * math.sin(angle)]
        bracket = bus.add_body(
            name=name, pos=[*place, p.servicer_half_height + p.bracket_height],
            quat=[math.cos(angle / 2), 0, 0, math.sin(angle / 2)],
        )  # fmt: skip
        _give_inertia(bracket, p.bracket_mass, [0.1, 0.1, 0.05], [0, 0, -0.05])
        shapes.draw_bracket(bracket, p)


def _add_boom(spec, bus, p: Olev) -> None:
    """Add the telescopic boom. Joints at its two Gauss points bend exactly as a cantilever does under end loads.

    Its stages are on spindles, whose position is the integral of their command [m/s].

    With stiffness 2 EI / L each, end force F and moment M give the deflection F L^3/3EI + M L^2/2EI and the slope
    F L^2/2EI + M L/EI.
    """
    hinge, slide = mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE
    body, bends = bus, iter(BENDS)
    for k, stage in enumerate(BOOM_STAGES):
        body = body.add_body(name=stage, pos=[0, 0, p.servicer_half_height if k == 0 else 0])
        if k > 0:
            body.add_joint(name=next(bends), type=hinge, axis=[1, 0, 0])
            body.add_joint(name=next(bends), type=hinge, axis=[0, 1, 0])
        body.add_joint(name=stage, type=slide, axis=[0, 0, 1], armature=p.boom_drive_inertia)
        _give_inertia(body, p.boom_stage_mass, _rod(p.boom_stage_mass, 0.4, 0.06), [0, 0, -0.1])
        shapes.draw_stage(body, k)
        drive = spec.add_actuator(name=stage, target=stage, trntype=mujoco.mjtTrn.mjTRN_JOINT)
        damping = 2 * 0.5 * math.sqrt(p.boom_drive_stiffness * p.boom_drive_inertia)  # half of critical (assumed)
        drive.set_to_intvelocity(kp=p.boom_drive_stiffness, kv=damping)
    tool = body.add_body(name="tool", pos=[0, 0, p.tool_length])
    masses = p.servicer_mass * p.client_mass / (p.servicer_mass + p.client_mass)
    tool.add_joint(
        name="safety_spring", type=slide, axis=[0, 0, 1], stiffness=p.spring_stiffness,
        damping=2 * p.spring_damping_ratio * math.sqrt(p.spring_stiffness * masses),
        limited=True, range=[-0.05 * p.spring_stroke, 1.05 * p.spring_stroke],
    )  # fmt: skip
    _give_inertia(tool, p.tool_mass, [0.1, 0.1, 0.1], [0, 0, shapes.seat(p)[0]])
    shapes.draw_tool(spec, tool, p)
    crown = tool.add_body(name="crown")
    crown.add_joint(name="crown", type=slide, axis=[0, 0, 1], armature=p.crown_drive_inertia)
    _give_inertia(crown, p.crown_mass, [0.05, 0.05, 0.05], [0, 0, 0.01])
    shapes.draw_crown(crown, p)
    drive = spec.add_actuator(name="crown", target="crown", trntype=mujoco.mjtTrn.mjTRN_JOINT)
    drive.set_to_intvelocity(
        kp=p.crown_drive_stiffness, kv=2 * 0.5 * math.sqrt(p.crown_drive_stiffness * p.crown_drive_inertia)
    )


def wings_about(p: Olev, name: str, axis: int) -> float:
    """Moment of inertia [kg m^2] of both wings about x or y through the bus."""
    mass, length = getattr(p, f"{name}_panel_mass"), getattr(p, f"{name}_panel_length")
    half = getattr(p, f"{name}_half_width")
    if axis == 1:
        return 2 * mass * p.panel_width**2 / 12
    return 2 * mass * (length**2 / 12 + (half + length / 2) ** 2)


def rotation_matrix(vector: np.ndarray) -> np.ndarray:
    """Rotation matrix (3, 3) of a rotation vector [rad]."""
    quat, out = np.zeros(4), np.zeros(9)
    angle = float(np.linalg.norm(vector))
    mujoco.mju_axisAngle2Quat(quat, vector / angle if angle > 0 else np.array([1.0, 0, 0]), angle)
    mujoco.mju_quat2Mat(out, quat)
    return out.reshape(3, 3)


def _place(spec: mujoco.MjSpec, p: Olev, start: InitialState) -> None:
    """Add the keyframe: servicer at rest at the origin, client as in the initial state."""
    model = compile_model(spec)
    data = mujoco.MjData(model)
    for stage, share in zip(BOOM_STAGES, GAUSS, strict=True):
        data.joint(stage).qpos[0] = share * start.boom_length
        data.act[model.actuator(stage).actadr[0]] = share * start.boom_length
    data.joint("momentum_wheel").qvel[0] = p.momentum_wheel_rate
    for bus in ("servicer", "client"):
        for wing in WINGS:
            data.joint(f"{bus}_turn_{wing}").qvel[0] = p.panel_turn_rate
            data.actuator(f"{bus}_turn_{wing}").ctrl[0] = p.panel_turn_rate
    tilt = rotation_matrix(np.radians([start.client_tilt_x_deg, start.client_tilt_y_deg, start.client_roll_deg]))
    rotation = tilt @ p.nozzle_rotation.T  # without tilt the nozzle's axis is that of the boom
    throat = np.array([start.client_x, start.client_y, p.seated + p.boom_extended + start.client_z])
    quat = np.zeros(4)
    mujoco.mju_mat2Quat(quat, rotation.ravel())
    client = data.joint("client")
    client.qpos[:3], client.qpos[3:] = throat - rotation @ p.throat, quat
    rate = np.radians([start.client_rate_x_deg, start.client_rate_y_deg, start.client_rate_z_deg])
    velocity = np.array([start.client_velocity_x, start.client_velocity_y, start.client_velocity_z])
    client.qvel[:3] = velocity - np.cross(rate, rotation @ p.throat)  # `velocity` is that of the throat
    client.qvel[3:] = rotation.T @ rate  # body axes
    data.joint("servicer").qvel[3:] = np.radians(
        [start.servicer_rate_x_deg, start.servicer_rate_y_deg, start.servicer_rate_z_deg]
    )
    spec.add_key(name="start", qpos=data.qpos, qvel=data.qvel, act=data.act, ctrl=data.ctrl)
