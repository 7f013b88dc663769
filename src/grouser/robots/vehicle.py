"""Wheeled vehicles from one description: chassis, wheels on suspensions, tyres, motors, battery, appearance.

x forward, y left, z up. The frame of the chassis is at the centre of mass. Morrot et al., section 2.2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import mujoco
import numpy as np

from grouser.contact.soil import SoilModule, SoilOptions
from grouser.contact.soil import wheel as soil_wheel
from grouser.contact.tyre import Suspension, Tyre, TyreModule, WheelUnit
from grouser.drive import Battery, Motor
from grouser.errors import InputError
from grouser.terrain import checks
from grouser.terrain.elevation import ElevationGrid
from grouser.terrain.ground import Ground

AXLE_MASS = 1e-6  # [kg] of a wheel's body: the mass of wheels is in the chassis (Morrot et al., section 2.2.4)
KNUCKLE_INERTIA = 1e-3  # [kg m^2] of a steered unit about its axis (assumed)
BRAKE_STIFFNESS, BRAKE_DAMPING = 2e4, 20.0  # [N m/rad, N m s/rad] of a locked wheel (assumed)
CORNER = 0.02  # [m] radius of a corner of the chassis (assumed)
TOGETHER = 1e-3  # [m] wheels this close along x form one axle


@dataclass(frozen=True)
class Chassis:
    """A rigid box. Each side has its own distance from the centre of mass, which may thus be anywhere in the box."""

    mass: float  # [kg] of the whole vehicle, wheels included
    front: float  # [m] l_1
    rear: float  # [m] l_2
    left: float  # [m] w_1
    right: float  # [m] w_2
    top: float  # [m] h_top
    base: float  # [m] h_base
    inertia: tuple[float, float, float] | None = None  # [kg m^2] about x, y, z; None: those of a solid box

    def __post_init__(self):
        checks.number(self.mass, "chassis: mass", above=0.0)
        for name in ("front", "rear", "left", "right", "top", "base"):
            checks.number(getattr(self, name), f"chassis: {name}", at_least=0.0)
        for name, pair in (("front", "rear"), ("left", "right"), ("top", "base")):
            checks.number(getattr(self, name) + getattr(self, pair), f"chassis: {name} + {pair}", above=0.0)

    @property
    def size(self) -> np.ndarray:
        """Side lengths [m], (3,)."""
        return np.array([self.front + self.rear, self.left + self.right, self.top + self.base])

    @property
    def middle(self) -> np.ndarray:
        """Centre [m], (3,) of the box relative to the centre of mass."""
        return np.array([self.front - self.rear, self.left - self.right, self.top - self.base]) / 2

    @property
    def inertias(self) -> np.ndarray:
        """Moments of inertia [kg m^2], (3,)."""
        if self.inertia is not None:
            return np.array(self.inertia, float)
        x, y, z = self.size
        return self.mass / 12 * np.array([y * y + z * z, x * x + z * z, x * x + y * y])


@dataclass(frozen=True)
class WheelMount:
    """Position of a wheel's axle relative to the centre of mass, with the suspension unloaded."""

    name: str
    x: float  # [m]
    y: float  # [m]
    z: float  # [m]
    driven: bool = True
    steer_limit_deg: float = 0.0  # 0: not steered

    def __post_init__(self):
        for field_name in ("x", "y", "z"):
            checks.number(getattr(self, field_name), f"wheel {self.name!r}: {field_name}")
        checks.number(self.steer_limit_deg, f"wheel {self.name!r}: steer_limit_deg", at_least=0.0, below=90.0)


@dataclass(frozen=True)
class Looks:
    """Appearance. Files are relative to the vehicle's own file."""

    chassis: str | None = None  # OBJ with its materials
    wheel: str | None = None  # OBJ, axle along y
    scale: float = 1.0  # of both
    colour: tuple[float, float, float] = (0.75, 0.55, 0.2)
    texture: str | None = None  # PNG on the chassis
    texture_scale: float = 1.0  # repetitions


@dataclass(frozen=True)
class Vehicle:
    """Complete description of a vehicle."""

    name: str
    chassis: Chassis
    wheels: tuple[WheelMount, ...]
    tyre: Tyre
    suspension: Suspension
    wheel_inertia: float  # [kg m^2] of a wheel about its axle
    motor: Motor = field(default_factory=Motor)
    battery: Battery = field(default_factory=Battery)
    steering: Literal["skid", "ackermann"] = "skid"
    looks: Looks = field(default_factory=Looks)
    folder: Path | None = None

    def __post_init__(self):
        names = [str(wheel.name) for wheel in self.wheels]
        if not names or len(set(names)) != len(names):
            raise InputError(f"vehicle: wheels {', '.join(names) or 'none'}: allowed is 1 or more, each name once")
        checks.number(self.wheel_inertia, "vehicle: wheel_inertia", above=0.0)
        checks.choice(self.steering, "vehicle: steering", ("skid", "ackermann"))
        if self.steering == "ackermann" and not any(w.steer_limit_deg for w in self.wheels):
            raise InputError("vehicle: steering = ackermann: no wheel has a steer_limit_deg above 0")
        front, rear = max(w.x for w in self.wheels), min(w.x for w in self.wheels)
        if not front > 0 > rear:
            raise InputError(
                f"vehicle: wheels from x = {rear:g} to {front:g} m: allowed are wheels in front of and behind the "
                "centre of mass"
            )

    @property
    def bodies(self) -> tuple[str, ...]:
        """Body names of the wheels."""
        return tuple(f"wheel_{wheel.name}" for wheel in self.wheels)

    @property
    def drives(self) -> tuple[str, ...]:
        """Actuator names of the driven wheels."""
        return tuple(f"drive_{wheel.name}" for wheel in self.wheels if wheel.driven)

    @property
    def steers(self) -> tuple[str | None, ...]:
        """Steering actuator names of all wheels; None for wheels that are not steered."""
        return tuple(f"steer_{w.name}" if w.steer_limit_deg else None for w in self.wheels)

    @property
    def axles(self) -> list[list[int]]:
        """Wheels of each axle, front first."""
        out: list[list[int]] = []
        for k in sorted(range(len(self.wheels)), key=lambda k: -self.wheels[k].x):
            if out and abs(self.wheels[out[-1][0]].x - self.wheels[k].x) < TOGETHER:
                out[-1].append(k)
            else:
                out.append([k])
        return out

    def module(self, terrain: ElevationGrid | Ground, prefix: str = "", **options) -> TyreModule:
        """The force module of its wheels on a terrain. `prefix`: of its names, if it was attached to another model."""
        units = [WheelUnit(prefix + body, self.tyre, self.suspension) for body in self.bodies]
        return TyreModule(terrain, units, f"{prefix}chassis", name=f"{prefix}tyre", **options)

    def soil_module(self, ground: Ground, prefix: str = "", options: SoilOptions | None = None, **others) -> SoilModule:
        """The force module of its wheels on soil, where tyres are rigid; for a model built with `wheels` "rigid".

        `others`: surfaces of further bodies on the same ground, such as blades and feet, by name.
        """
        rims = {prefix + body: soil_wheel(self.tyre.radius, self.tyre.width) for body in self.bodies}
        return SoilModule(ground, {**rims, **others}, options, name=f"{prefix}soil")

    @property
    def wheel_mass(self) -> float:
        """Mass [kg] of a rigid wheel: that of a solid disc with the wheel's inertia (assumed)."""
        return 2 * self.wheel_inertia / self.tyre.radius**2

    def rest_travel(self, gravity: float = 9.81) -> np.ndarray:
        """Travel [m], (wheel,) of the suspensions at rest on level ground: springs under a rigid body, two unknowns."""
        x = np.array([wheel.x for wheel in self.wheels])
        weight, heave, pitch = self.chassis.mass * gravity, 0.0, 0.0
        for _ in range(50):  # Newton's method for the balance of force and moment
            travel = heave - pitch * x
            force = np.array([self.suspension.force(h) for h in travel])
            step = 1e-7
            slope = np.array([(self.suspension.force(h + step) - f) / step for h, f in zip(travel, force, strict=True)])
            slope = np.maximum(slope, self.suspension.stiffness * 1e-3)
            residual = np.array([force.sum() - weight, (force * x).sum()])
            matrix = np.array([[slope.sum(), -(slope * x).sum()], [(slope * x).sum(), -(slope * x * x).sum()]])
            change = np.linalg.solve(matrix, residual)
            heave, pitch = heave - change[0], pitch - change[1]
            if abs(change).max() < 1e-12:
                break
        return heave - pitch * x

    def rest_height(self, gravity: float = 9.81) -> float:
        """Height [m] of the centre of mass above level ground at rest, without the effect of pitch."""
        travel = self.rest_travel(gravity)
        return float(np.mean([self.tyre.radius - w.z - h for w, h in zip(self.wheels, travel, strict=True)]))


def build(
    vehicle: Vehicle,
    *,
    drive: Literal["motors", "torque"] = "motors",
    gravity: float = 9.81,
    position: tuple[float, float, float] = (0.0, 0.0, 0.0),
    quaternion: tuple[float, float, float, float] = (1.0, 0.0, 0.0, 0.0),
    parked: bool = False,
    wheels: Literal["tyres", "rigid"] = "tyres",
) -> mujoco.MjSpec:
    """Build the vehicle alone, with its centre of mass at `position` [m] and wxyz `quaternion`.

    `wheels` "tyres": suspensions are those of the tyre module. "rigid": wheels with mass on struts, for soil, on which
    a tyre hardly deforms; the strut has the spring up to saturation and the compression damping of the suspension.

    `drive` "motors": DC motors with gearbox and friction, control = torque of the motor shaft [N m]; "torque": plain
    torques at the wheels [N m]. `parked`: brakes hold the wheels.
    """
    spec = mujoco.MjSpec()
    spec.modelname = vehicle.name
    spec.option.gravity = [0, 0, -gravity]
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.compiler.degree = False
    if vehicle.folder is not None:
        spec.meshdir = spec.texturedir = str(vehicle.folder)
    body = spec.worldbody.add_body(name="chassis", pos=position, quat=quaternion)
    body.add_freejoint(name="chassis")
    mass = vehicle.chassis.mass - (len(vehicle.wheels) * vehicle.wheel_mass if wheels == "rigid" else 0.0)
    if mass <= 0:
        raise InputError(
            f"vehicle: wheel_inertia = {vehicle.wheel_inertia:g} kg m^2: rigid wheels of {vehicle.wheel_mass:.3g} kg "
            f"each are heavier than the vehicle, {vehicle.chassis.mass:g} kg"
        )
    _give_inertia(body, mass, vehicle.chassis.inertias)
    _draw_chassis(spec, body, vehicle)
    for wheel in vehicle.wheels:
        _add_wheel(spec, body, wheel, vehicle, rigid=wheels == "rigid")
        if parked:
            brake = spec.joint(f"drive_{wheel.name}")
            brake.stiffness[0], brake.damping[0] = BRAKE_STIFFNESS, BRAKE_DAMPING
    for wheel in vehicle.wheels:
        if not wheel.driven:
            continue
        name = f"drive_{wheel.name}"
        if drive == "motors":
            vehicle.motor.add_to(spec, name, name, vehicle.battery.voltage)
        else:
            motor = spec.add_actuator(name=name, target=name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
            motor.set_to_motor()
    for wheel in vehicle.wheels:
        if wheel.steer_limit_deg:
            _add_steering(spec, wheel)
    return spec


def add_ground(spec: mujoco.MjSpec, terrain: ElevationGrid) -> None:
    """Add the terrain as a hard height field for the chassis. Contact of the wheels is computed by the tyre module."""
    low, span = float(terrain.heights.min()), max(float(np.ptp(terrain.heights)), 1e-3)
    x0, x1, y0, y1 = terrain.bounds
    rows, columns = terrain.heights.shape
    sheet = spec.add_hfield(name="ground", nrow=rows, ncol=columns)
    sheet.size = [(x1 - x0) / 2, (y1 - y0) / 2, span, 1.0]
    sheet.userdata = ((terrain.heights - low) / span).ravel().astype(np.float32)
    spec.worldbody.add_geom(
        name="ground", type=mujoco.mjtGeom.mjGEOM_HFIELD, hfieldname="ground",
        pos=[(x0 + x1) / 2, (y0 + y1) / 2, low], rgba=[0.55, 0.5, 0.42, 1],
    )  # fmt: skip


def _add_wheel(spec: mujoco.MjSpec, chassis, wheel: WheelMount, vehicle: Vehicle, rigid: bool = False) -> None:
    """Add a hinge body with the wheel's inertia about its axle, on a knuckle if steered, on a strut if `rigid`."""
    hinge, place = mujoco.mjtJoint.mjJNT_HINGE, [wheel.x, wheel.y, wheel.z]
    mount = chassis
    if rigid:
        p = vehicle.suspension
        mount = chassis.add_body(name=f"strut_{wheel.name}", pos=place)
        mount.add_joint(
            name=f"strut_{wheel.name}", type=mujoco.mjtJoint.mjJNT_SLIDE, axis=[0, 0, 1], stiffness=p.stiffness,
            damping=p.compression, limited=mujoco.mjtLimited.mjLIMITED_TRUE, range=[0.0, p.travel],
        )  # fmt: skip
        _give_inertia(mount, AXLE_MASS, [AXLE_MASS] * 3)
        place = [0, 0, 0]
    if wheel.steer_limit_deg:
        limit = math.radians(wheel.steer_limit_deg)
        mount = mount.add_body(name=f"knuckle_{wheel.name}", pos=place)
        mount.add_joint(
            name=f"steer_{wheel.name}", type=hinge, axis=[0, 0, 1], armature=KNUCKLE_INERTIA,
            limited=mujoco.mjtLimited.mjLIMITED_TRUE, range=[-limit, limit],
        )  # fmt: skip
        _give_inertia(mount, AXLE_MASS, [AXLE_MASS] * 3)
        place = [0, 0, 0]
    body = mount.add_body(name=f"wheel_{wheel.name}", pos=place)
    body.add_joint(name=f"drive_{wheel.name}", type=hinge, axis=[0, 1, 0])
    axial = vehicle.wheel_inertia
    _give_inertia(body, vehicle.wheel_mass if rigid else AXLE_MASS, [axial / 2, axial, axial / 2])
    _draw_wheel(spec, body, vehicle)


def _give_inertia(body, mass: float, inertia) -> None:
    """Set mass and inertia about the frame's origin. `ipos` must be set, because MuJoCo would use `pos` for it."""
    body.mass, body.inertia, body.ipos, body.explicitinertial = mass, inertia, [0, 0, 0], True


def _add_steering(spec: mujoco.MjSpec, wheel: WheelMount) -> None:
    limit = math.radians(wheel.steer_limit_deg)
    name = f"steer_{wheel.name}"
    servo = spec.add_actuator(name=name, target=name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
    servo.set_to_position(kp=500.0, dampratio=1.0)  # assumed
    servo.ctrllimited, servo.ctrlrange = mujoco.mjtLimited.mjLIMITED_TRUE, [-limit, limit]
    servo.forcelimited, servo.forcerange = mujoco.mjtLimited.mjLIMITED_TRUE, [-200.0, 200.0]  # [N m] assumed


def _draw_chassis(spec: mujoco.MjSpec, body, vehicle: Vehicle) -> None:
    """Draw the box, or the mesh if there is one, and add the corners that may hit the ground."""
    looks, chassis = vehicle.looks, vehicle.chassis
    shown = looks.chassis is None
    if looks.texture is not None:
        _file(vehicle, looks.texture, "texture")
        spec.add_texture(name="skin", type=mujoco.mjtTexture.mjTEXTURE_2D, file=looks.texture)
    skin = spec.add_material(name="skin", rgba=[*looks.colour, 1.0], texrepeat=[looks.texture_scale] * 2)
    if looks.texture is not None:
        skin.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = "skin"
    spec.add_material(name="rubber", rgba=[0.12, 0.12, 0.13, 1.0])
    spec.add_material(name="rim", rgba=[0.7, 0.7, 0.72, 1.0])
    body.add_geom(
        name="chassis", type=mujoco.mjtGeom.mjGEOM_BOX, pos=chassis.middle, size=chassis.size / 2, material="skin",
        group=2 if shown else 3, mass=0.0, contype=0, conaffinity=0,
    )  # fmt: skip
    # Corners collide with the ground instead of the box, which against a height field costs more than the whole step.
    for k in range(8):
        corner = [-1 if k & (1 << axis) else 1 for axis in range(3)]
        place = chassis.middle + (chassis.size / 2 - CORNER) * corner
        body.add_geom(type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[CORNER, 0, 0], pos=place, group=3, mass=0.0)
    if looks.chassis is not None:
        _add_mesh(spec, body, vehicle, looks.chassis, "chassis")


def _draw_wheel(spec: mujoco.MjSpec, body, vehicle: Vehicle) -> None:
    if vehicle.looks.wheel is not None:
        _add_mesh(spec, body, vehicle, vehicle.looks.wheel, "wheel")
        return
    radius, half = vehicle.tyre.radius, vehicle.tyre.width / 2
    visual_only = {"contype": 0, "conaffinity": 0, "mass": 0.0, "group": 2}
    disc = {"type": mujoco.mjtGeom.mjGEOM_CYLINDER, "quat": [math.sqrt(0.5), math.sqrt(0.5), 0, 0], **visual_only}
    body.add_geom(size=[radius, half, 0], material="rubber", **disc)
    body.add_geom(size=[0.55 * radius, 1.02 * half, 0], material="rim", **disc)
    for k in range(3):  # spokes make the rotation visible
        body.add_geom(
            type=mujoco.mjtGeom.mjGEOM_BOX, size=[0.9 * radius, 1.04 * half, 0.06 * radius], material="rim",
            quat=[math.cos(math.pi * k / 6), 0, math.sin(math.pi * k / 6), 0], **visual_only,
        )  # fmt: skip


def _add_mesh(spec: mujoco.MjSpec, body, vehicle: Vehicle, file: str, name: str) -> None:
    """Add the parts of an OBJ file, each in the colour of its material. They have no mass and do not collide."""
    import trimesh

    path = _file(vehicle, file, name)
    scene = trimesh.load(path, force="scene", group_material=True)
    for k, mesh in enumerate(scene.geometry.values()):  # type: ignore[attr-defined]
        label = f"{name}_{k}"
        if label not in {m.name for m in spec.meshes}:
            points = np.asarray(mesh.vertices, float) * vehicle.looks.scale
            spec.add_mesh(name=label, uservert=points.ravel(), userface=np.asarray(mesh.faces, np.int32).ravel())
            colour = np.asarray(getattr(mesh.visual.material, "diffuse", [160, 160, 160, 255]), float) / 255
            spec.add_material(name=label, rgba=colour)
        body.add_geom(
            type=mujoco.mjtGeom.mjGEOM_MESH, meshname=label, material=label, contype=0, conaffinity=0, group=2, mass=0.0
        )


def _file(vehicle: Vehicle, file: str, what: str) -> Path:
    return checks.existing_file((vehicle.folder or Path()) / file, f"vehicle {vehicle.name!r}: {what}")
