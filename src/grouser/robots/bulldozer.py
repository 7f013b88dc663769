"""A bulldozer of the 20 t class on two tracks, with the kinematic tree of Omar 2014, Fig. 15.

x forward, y left, z up. The frame of the chassis is between the sprockets, at the height of the lower pins. The paper
gives the tree and 46 links per side. All other numbers are assumed: typical values of the class, not a datasheet.

    chassis ── cab                                on mounts
            ├─ tandem left, right ── sprocket     torsional spring to the chassis (bending of the drive tandem)
            ├─ equaliser left, right              two halves, a torsional spring between them
            └─ frame left, right                  on pivot shafts with torsional springs; rollers and carriers
                 └─ front frame ── idler          slides on the recoil spring

With `dozer` there is a blade on a lift at the chassis; without it the chassis has that mass. With `road_arms` each
roller hangs on a sprung arm of the frame; without them the rollers are fixed to the frame, as on most bulldozers.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import mujoco
import numpy as np

from grouser.errors import InputError
from grouser.robots.dozer_blade import DozerBlade
from grouser.terrain import checks
from grouser.track import Layout, Track, TrackWheel, WheelContact, mount

SIDES = {"left": 1.0, "right": -1.0}
EARTH = 9.81  # [m/s^2]


@dataclass(frozen=True)
class RoadArms:
    """Arms that carry the rollers, one each, hinged ahead of the roller. All assumed."""

    length: float = 0.3  # [m]
    stiffness: float = 3e5  # [N/m] at the roller
    damping: float = 2e4  # [N s/m] at the roller
    mass: float = 100.0  # [kg] of an arm with its roller, at the roller; taken from the frame
    travel: float = 0.12  # [m] up and down, to the stops

    def __post_init__(self):
        for name in ("length", "stiffness", "mass", "travel"):
            checks.number(getattr(self, name), f"bulldozer: road_arms: {name}", above=0.0)
        checks.number(self.damping, "bulldozer: road_arms: damping", at_least=0.0)


@dataclass(frozen=True)
class Bulldozer:
    """Parameters of the machine; x is measured from the sprockets' axles, z from the lower pins. All assumed."""

    mass: float = 15800.0  # [kg] without links; with 92 links of 45 kg 19.9 t
    gauge: float = 1.98  # [m] between the tracks
    links: int = 46  # a side; Omar 2014, section 7
    tension: float = 15e3  # [N] of the chain at rest
    layout: Layout = field(default_factory=Layout)
    contact: WheelContact = field(default_factory=WheelContact)
    road_arms: RoadArms | None = None  # None: rollers are fixed to their frame
    dozer: DozerBlade | None = None  # a blade that moves soil
    dozer_clearance: float = 0.35  # [m] of its lower edge above the ground at the start

    cab_mass: float = 700.0  # [kg]
    tandem_mass: float = 150.0  # [kg] each
    sprocket_mass: float = 200.0  # [kg] each
    frame_mass: float = 1100.0  # [kg] each, with rollers and carriers
    front_mass: float = 400.0  # [kg] each, with the idler
    equaliser_mass: float = 100.0  # [kg] each half
    centre: tuple[float, float] = (1.62, 0.95)  # [m] x and z of the chassis with its engine

    pivot_x: float = 0.55  # [m] of the pivot shafts
    pivot_z: float = 0.40  # [m]
    equaliser_x: float = 2.60  # [m] where the bar bears on the frames
    equaliser_z: float = 0.50  # [m]
    cab_x: float = 0.9  # [m]
    cab_z: float = 1.9  # [m]

    recoil_stiffness: float = 1e6  # [N/m]
    recoil_damping: float = 2e4  # [N s/m]
    pivot_stiffness: float = 1e5  # [N m/rad] of a pivot shaft in torsion
    pivot_damping: float = 1e4  # [N m s/rad]
    tandem_stiffness: float = 5e6  # [N m/rad] bending of the drive tandem
    tandem_damping: float = 2e4  # [N m s/rad]
    equaliser_stiffness: float = 5e6  # [N m/rad] between the halves of the bar
    equaliser_damping: float = 1e5  # [N m s/rad]
    mount_frequency: float = 8.0  # [Hz] of the cab on its mounts
    mount_damping: float = 0.3  # of critical

    drive_gain: float = 2e5  # [N m s/rad] of the sprockets' speed servos
    drive_torque: float = 1.2e5  # [N m] limit of each
    drive_inertia: float = 40.0  # [kg m^2] of the final drive, seen from the sprocket

    def __post_init__(self):
        for name in ("mass", "gauge", "cab_mass", "sprocket_mass", "frame_mass", "front_mass", "recoil_stiffness"):
            checks.number(getattr(self, name), f"bulldozer: {name}", above=0.0)
        if self.chassis_mass <= 0:
            parts = self.mass - self.chassis_mass
            raise InputError(f"bulldozer: mass: {self.mass:g} kg is not allowed; its other parts are {parts:g} kg")

    @property
    def chassis_mass(self) -> float:
        """Mass [kg] of the chassis: total minus the other parts."""
        pairs = self.tandem_mass + self.sprocket_mass + self.frame_mass + self.front_mass + self.equaliser_mass
        return self.mass - self.cab_mass - 2 * pairs - (self.dozer.mass if self.dozer else 0.0)

    @property
    def total_mass(self) -> float:
        """Mass [kg] with the links."""
        return self.mass + 2 * self.links * self.layout.link.mass

    @property
    def blade(self) -> tuple[float, float, float]:
        """Point [m] at which the load of a blade acts; assumed."""
        return (4.3, 0.0, 0.15)

    @property
    def hitch(self) -> tuple[float, float, float]:
        """Position [m] of the drawbar; assumed."""
        return (-0.7, 0.0, 0.45)

    @property
    def start_height(self) -> float:
        """Height [m] of the lower pins at which the grousers just touch level ground."""
        shoe = self.layout.link.shoe
        return shoe.depth + (shoe.grouser_height if shoe.grousers else 0.0)


def build(
    parameters: Bulldozer | None = None, *, gravity: float = EARTH, place=(0.0, 0.0, 0.0), heading: float = 0.0,
    up=(0.0, 0.0, 1.0),
):  # fmt: skip
    """The machine as an MjSpec and its two tracks.

    `place` [m]: position of the lower pins below the sprockets. `up`: upward axis of the machine, which is leaned there
    from its `heading` [rad] on level ground.
    """
    p = parameters or Bulldozer()
    wheels, chain = p.layout.close(links=p.links, tension=p.tension)
    spec = mujoco.MjSpec()
    spec.modelname = "bulldozer"
    spec.compiler.degree = False
    spec.option.gravity = [0, 0, -gravity]
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    chassis = spec.worldbody.add_body(name="chassis", pos=list(place), quat=_leaned(heading, up))
    chassis.add_freejoint(name="base")
    _box(chassis, p.chassis_mass, (3.2, 1.4, 1.2), (p.centre[0], 0, p.centre[1]), "0.85 0.65 0.15 1")
    _add_cab(chassis, p)
    tracks = [_add_side(spec, chassis, side, p, wheels, chain, gravity) for side in SIDES]
    _add_equaliser(spec, chassis, p)
    for side in SIDES:
        motor = spec.add_actuator(name=f"drive_{side}", target=f"drive_{side}", trntype=mujoco.mjtTrn.mjTRN_JOINT)
        motor.set_to_velocity(kv=p.drive_gain)
        motor.forcelimited = mujoco.mjtLimited.mjLIMITED_TRUE
        motor.forcerange = [-p.drive_torque, p.drive_torque]
    if p.dozer is not None:
        p.dozer.add_to(spec, chassis, p.dozer_clearance - p.start_height, gravity)
    return spec, tracks


def _leaned(heading: float, up) -> list[float]:
    """Quaternion wxyz of a heading [rad], then the shortest turn of the vertical to `up`."""
    lean, turned = np.array([1.0 + up[2], -up[1], up[0], 0.0]), np.zeros(4)
    mujoco.mju_normalize4(lean)
    mujoco.mju_mulQuat(turned, lean, np.array([np.cos(heading / 2), 0, 0, np.sin(heading / 2)]))
    return turned.tolist()


def _add_cab(chassis, p: Bulldozer) -> None:
    """Add the cab on mounts that allow heave, pitch and roll, all at one frequency."""
    cab = chassis.add_body(name="cab", pos=[p.cab_x, 0, p.cab_z])
    size = (1.2, 1.3, 1.4)
    _box(cab, p.cab_mass, size, (0, 0, 0.3), "0.3 0.35 0.4 1")
    w = 2 * np.pi * p.mount_frequency
    about = {"heave": p.cab_mass, "roll": p.cab_mass * 0.4, "pitch": p.cab_mass * 0.4}
    slide, hinge = mujoco.mjtJoint.mjJNT_SLIDE, mujoco.mjtJoint.mjJNT_HINGE
    for name, axis in (("heave", [0, 0, 1]), ("roll", [1, 0, 0]), ("pitch", [0, 1, 0])):
        cab.add_joint(
            name=f"cab_{name}", type=slide if name == "heave" else hinge, axis=axis, stiffness=about[name] * w * w,
            damping=2 * p.mount_damping * about[name] * w, springref=0.0,
        )  # fmt: skip


def _add_side(spec, chassis, side: str, p: Bulldozer, wheels: list[TrackWheel], chain, gravity: float) -> Track:
    y = SIDES[side] * p.gauge / 2
    hinge, slide = mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE
    axle = next(w.centre for w in wheels if w.kind == "sprocket")
    tandem = chassis.add_body(name=f"tandem_{side}", pos=[axle[0], 0.7 * y, axle[1]])
    tandem.add_joint(
        name=f"tandem_{side}", type=hinge, axis=[1, 0, 0], stiffness=p.tandem_stiffness, damping=p.tandem_damping
    )
    _box(tandem, p.tandem_mass, (0.4, 0.4, 0.4), (0, 0, 0), "0.5 0.5 0.5 1")
    sprocket = tandem.add_body(name=f"sprocket_{side}", pos=[0, 0.3 * y, 0])
    sprocket.add_joint(name=f"drive_{side}", type=hinge, axis=[0, 1, 0], armature=p.drive_inertia)
    _disc(sprocket, p.sprocket_mass, 0.38, 0.1)
    pivot = (p.pivot_x, y, p.pivot_z)
    frame = chassis.add_body(name=f"frame_{side}", pos=pivot)
    frame.add_joint(
        name=f"pivot_{side}", type=hinge, axis=[0, 1, 0], stiffness=p.pivot_stiffness, damping=p.pivot_damping
    )
    rollers = [wheel for wheel in wheels if wheel.kind == "roller"]
    arms = len(rollers) * p.road_arms.mass if p.road_arms else 0.0
    _box(frame, p.frame_mass - arms, (2.6, 0.3, 0.3), (1.17, 0, -0.05), "0.35 0.35 0.3 1")
    front = frame.add_body(name=f"front_{side}")
    front.add_joint(
        name=f"recoil_{side}", type=slide, axis=[1, 0, 0], stiffness=p.recoil_stiffness, damping=p.recoil_damping,
        springref=2 * p.tension / p.recoil_stiffness,
    )  # fmt: skip
    _box(front, p.front_mass, (0.9, 0.25, 0.25), (2.6, 0, 0), "0.45 0.45 0.4 1")
    names = {"sprocket": f"sprocket_{side}", "front_frame": f"front_{side}", "frame": f"frame_{side}"}
    renamed = [_on(w, names[w.body]) for w in wheels]
    origins: dict[str, tuple[float, float, float]] = {
        names["sprocket"]: (axle[0], 0.0, axle[1]),
        names["frame"]: (p.pivot_x, 0.0, p.pivot_z),
        names["front_frame"]: (p.pivot_x, 0.0, p.pivot_z),
    }
    if p.road_arms is not None:
        load = p.mass * gravity / (2 * len(rollers))  # of each roller at rest, about
        for k, wheel in enumerate(renamed):
            if wheel.kind == "roller":
                arm, (x, z) = f"arm_{side}_{wheel.name.split()[-1]}", wheel.centre
                at = (x + p.road_arms.length, 0.0, z)
                _add_arm(frame, arm, p, at, load)
                renamed[k], origins[arm] = _on(wheel, arm), at
    offset = (-p.pivot_x, 0.0, -p.pivot_z)
    return Track(side, p.layout.link, mount(renamed, origins), chain, names["frame"], offset, p.contact)


def _add_arm(frame, name: str, p: Bulldozer, hinge_at: tuple[float, float, float], load: float) -> None:
    """Add a road arm that points back from its hinge, level under `load` [N]. Positive angles lift the roller."""
    a = p.road_arms
    assert a is not None
    arm = frame.add_body(name=name, pos=[hinge_at[0] - p.pivot_x, 0, hinge_at[2] - p.pivot_z])
    most = a.travel / a.length
    arm.add_joint(
        name=name, type=mujoco.mjtJoint.mjJNT_HINGE, axis=[0, 1, 0], stiffness=a.stiffness * a.length**2,
        damping=a.damping * a.length**2, springref=-load / (a.stiffness * a.length),
        limited=mujoco.mjtLimited.mjLIMITED_TRUE, range=[-most, most],
    )  # fmt: skip
    _box(arm, a.mass, (0.2, 0.1, 0.2), (-a.length, 0, 0), "0.45 0.45 0.4 1")


def _on(wheel: TrackWheel, body: str) -> TrackWheel:
    from dataclasses import replace

    return replace(wheel, body=body)


def _add_equaliser(spec, chassis, p: Bulldozer) -> None:
    """Add the equaliser bar: two halves that rock about the middle of the chassis, joined by a torsional spring.

    Their ends move with the track frames. For small angles z = b * rotation of the bar (left end up) and
    z = -d * pitch of a frame.
    """
    arm, reach = p.gauge / 2, p.equaliser_x - p.pivot_x
    for side, sign in SIDES.items():
        half = chassis.add_body(name=f"equaliser_{side}", pos=[p.equaliser_x, 0, p.equaliser_z])
        half.add_joint(name=f"equaliser_{side}", type=mujoco.mjtJoint.mjJNT_HINGE, axis=[1, 0, 0])
        _box(half, p.equaliser_mass, (0.2, arm, 0.2), (0, sign * arm / 2, 0), "0.5 0.5 0.5 1")
        tie = spec.add_equality(type=mujoco.mjtEq.mjEQ_JOINT, name1=f"pivot_{side}", name2=f"equaliser_{side}")
        tie.objtype = mujoco.mjtObj.mjOBJ_JOINT
        tie.data[:5] = [0, -sign * arm / reach, 0, 0, 0]
        tie.solref = [0.004, 1.0]
    spring = spec.add_tendon(
        name="equaliser", stiffness=[p.equaliser_stiffness, 0, 0], damping=[p.equaliser_damping, 0, 0]
    )
    spring.springlength = [0, 0]
    spring.wrap_joint("equaliser_left", 1.0)
    spring.wrap_joint("equaliser_right", -1.0)


def _box(body, mass: float, size, centre, colour: str) -> None:
    """Give a body the inertia and the look of a solid box of `size` [m] about `centre`."""
    x, y, z = size
    body.mass, body.explicitinertial, body.ipos = mass, True, centre
    body.inertia = [mass * (y * y + z * z) / 12, mass * (x * x + z * z) / 12, mass * (x * x + y * y) / 12]
    body.add_geom(
        type=mujoco.mjtGeom.mjGEOM_BOX, size=[x / 2, y / 2, z / 2], pos=centre, contype=0, conaffinity=0, mass=0,
        rgba=[float(c) for c in colour.split()],
    )  # fmt: skip


def _disc(body, mass: float, radius: float, width: float) -> None:
    across = mass * (3 * radius**2 + width**2) / 12
    body.mass, body.explicitinertial, body.ipos = mass, True, [0, 0, 0]
    body.inertia = [across, mass * radius**2 / 2, across]
    body.add_geom(
        type=mujoco.mjtGeom.mjGEOM_CYLINDER, size=[radius, width / 2, 0], quat=[np.sqrt(0.5), np.sqrt(0.5), 0, 0],
        contype=0, conaffinity=0, mass=0, rgba=[0.4, 0.4, 0.4, 1],
    )  # fmt: skip
