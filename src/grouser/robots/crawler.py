"""A small inspection robot on two tracks with rubber pads, the second machine built from the track model.

x forward, y left, z up. It is not taken from a paper: all numbers are assumed, for a robot that two people can lift.
The pads are flat and wide, the rails low, teeth engage every pin, and the idlers are on plain tensioner springs.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import mujoco
import numpy as np

from grouser.track import Layout, Link, PinBushing, Rail, Shoe, Track, WheelContact, hunting_sprocket, mount

SIDES = {"left": 1.0, "right": -1.0}
EARTH = 9.81  # [m/s^2]


def pad_link() -> Link:
    """A link with a rubber pad."""
    joint = PinBushing(
        radial_stiffness=2e6, axial_stiffness=1e6, radial_damping=60.0, axial_damping=30.0, roll_stiffness=200.0,
        yaw_stiffness=200.0, tilt_damping=0.05, pin_damping=0.01, back_bend_stiffness=100.0, back_bend_damping=0.05,
        edge_gap=0.0015, edge_stiffness=1e6, edge_damping=30.0,
    )  # fmt: skip
    section = ((0.020, 0.008), (0.020, 0.012), (0.030, 0.012), (0.030, 0.008))
    rail = Rail(height=0.012, stations=(-0.025, 0.025), sections=(section, section), overlap=0.005)
    shoe = Shoe(width=0.15, depth=0.015, grousers=0)
    return Link(
        pitch=0.05, mass=0.15, inertia=(3e-4, 4e-5, 3.2e-4), bushing_radius=0.006, joint=joint, rail=rail, shoe=shoe
    )


def small_layout() -> Layout:
    link = pad_link()
    sprocket = hunting_sprocket(
        11,
        link.pitch,
        link.bushing_radius,
        teeth_per_pitch=1,
        clearance=3e-4,
        flank_angle=np.radians(20),
        tooth_height=0.010,
    )
    return Layout(
        link=link, sprocket=sprocket, idler_radius=0.07, roller_radius=0.025, carrier_radius=0.02, rollers=4,
        roller_spacing=0.11, first_roller=0.13, idler_x=0.60, sprocket_lift=0.012, idler_lift=0.008, carriers=(0.30,),
        idler_inertia=2e-3, roller_inertia=1e-4, carrier_inertia=5e-5, bearing_drag=1e-3, rail_gap=0.032, collar=0.018,
        flange=0.005,
    )  # fmt: skip


@dataclass(frozen=True)
class Crawler:
    """Parameters of the robot; all assumed."""

    mass: float = 55.0  # [kg] without links
    gauge: float = 0.42  # [m]
    links: int | None = None  # None: the number that closes the track best
    tension: float = 150.0  # [N]
    sprocket_mass: float = 1.0  # [kg] each
    front_mass: float = 1.5  # [kg] each, idler and tensioner
    tensioner_stiffness: float = 2e4  # [N/m]
    tensioner_damping: float = 200.0  # [N s/m]
    drive_gain: float = 200.0  # [N m s/rad]
    drive_torque: float = 60.0  # [N m]
    drive_inertia: float = 0.02  # [kg m^2]
    layout: Layout = field(default_factory=small_layout)
    contact: WheelContact = field(default_factory=lambda: WheelContact(
        tooth_stiffness=1e6, tooth_damping=60.0, roller_stiffness=5e7, roller_damping=60.0, side_stiffness=2e5,
        side_damping=30.0, side_gap=0.002, friction=0.2, full_friction_speed=0.05, full_damping_depth=2e-5,
    ))  # fmt: skip

    @property
    def start_height(self) -> float:
        """Height [m] of the lower pins above level ground."""
        return self.layout.link.shoe.depth


def build(parameters: Crawler | None = None, *, gravity: float = EARTH, place=(0.0, 0.0, 0.0)):
    """The robot as an MjSpec and its two tracks. `place` [m]: position of the lower pins below the sprockets."""
    p = parameters or Crawler()
    wheels, chain = p.layout.close(links=p.links, tension=p.tension, travel=(-0.03, 0.03))
    spec = mujoco.MjSpec()
    spec.modelname = "crawler"
    spec.compiler.degree = False
    spec.option.gravity = [0, 0, -gravity]
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    hull = spec.worldbody.add_body(name="hull", pos=list(place))
    hull.add_freejoint(name="base")
    _box(hull, p.mass - 2 * (p.sprocket_mass + p.front_mass), (0.6, 0.3, 0.14), (0.29, 0.0, 0.12))
    axle = wheels[0].centre
    tracks = []
    for side, sign in SIDES.items():
        y = sign * p.gauge / 2
        names = {"sprocket": f"sprocket_{side}", "front_frame": f"front_{side}", "frame": "hull"}
        sprocket = hull.add_body(name=names["sprocket"], pos=[axle[0], y, axle[1]])
        sprocket.add_joint(
            name=f"drive_{side}", type=mujoco.mjtJoint.mjJNT_HINGE, axis=[0, 1, 0], armature=p.drive_inertia
        )
        _box(sprocket, p.sprocket_mass, (0.1, 0.03, 0.1))
        front = hull.add_body(name=names["front_frame"], pos=[0, y, 0])
        front.add_joint(
            name=f"tensioner_{side}", type=mujoco.mjtJoint.mjJNT_SLIDE, axis=[1, 0, 0],
            stiffness=p.tensioner_stiffness, damping=p.tensioner_damping,
            springref=2 * p.tension / p.tensioner_stiffness,
        )  # fmt: skip
        _box(front, p.front_mass, (0.1, 0.05, 0.1), (0.6, 0.0, 0.1))
        renamed = [replace(w, body=names[w.body]) for w in wheels]
        origins = {
            names["sprocket"]: (axle[0], 0.0, axle[1]),
            names["front_frame"]: (0.0, 0.0, 0.0),
            "hull": (0.0, -y, 0.0),
        }
        tracks.append(Track(side, p.layout.link, mount(renamed, origins), chain, "hull", (0.0, y, 0.0), p.contact))
        motor = spec.add_actuator(name=f"drive_{side}", target=f"drive_{side}", trntype=mujoco.mjtTrn.mjTRN_JOINT)
        motor.set_to_velocity(kv=p.drive_gain)
        motor.forcelimited = mujoco.mjtLimited.mjLIMITED_TRUE
        motor.forcerange = [-p.drive_torque, p.drive_torque]
    return spec, tracks


def _box(body, mass: float, size, centre=(0.0, 0.0, 0.0)) -> None:
    """Give a body the inertia and the look of a solid box of `size` [m] about `centre`."""
    x, y, z = size
    body.mass, body.explicitinertial, body.ipos = mass, True, centre
    body.inertia = [mass * (y * y + z * z) / 12, mass * (x * x + z * z) / 12, mass * (x * x + y * y) / 12]
    body.add_geom(
        type=mujoco.mjtGeom.mjGEOM_BOX, size=[x / 2, y / 2, z / 2], pos=centre, contype=0, conaffinity=0, mass=0
    )
