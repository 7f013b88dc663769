"""A quadruped of 12 kg with ball feet: legs of two hinges each, position servos. All values are assumed.

x forward, y left, z up. Knees point back. A trot is written as places of the feet below the hips.
"""

from __future__ import annotations

import mujoco
import numpy as np

HIP = 0.3  # [m] height of the hips above the middle of the feet
LINK = 0.18  # [m] length of thigh and of shank, to the middle of the foot
FOOT = 0.025  # [m] radius of the foot
LIFT = 0.07  # [m] height of a swing
PERIOD = 0.5  # [s] of a stride; half of it is swing
STIFFNESS, DAMPING = 120.0, 4.0  # [N m/rad], [N m s/rad] of the servos
TORQUE = 40.0  # [N m] limit of a servo
ARMATURE = 0.01  # [kg m^2]
LEGS = {"fl": (0.19, 0.12), "fr": (0.19, -0.12), "rl": (-0.19, 0.12), "rr": (-0.19, -0.12)}  # [m] hips
SWING_FIRST = ("fl", "rr")  # the others swing half a stride later
JOINTS = tuple(f"{part}_{leg}" for leg in LEGS for part in ("hip", "knee"))
MASS = 12.0  # [kg]


def build(gravity: float = 9.81) -> mujoco.MjSpec:
    """The quadruped, standing on z = 0. It has no MuJoCo collisions: the soil module computes the feet's contact."""
    spec = mujoco.MjSpec()
    spec.modelname = "quadruped"
    spec.compiler.degree = False
    spec.option.gravity = [0, 0, -gravity]
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    trunk = spec.worldbody.add_body(name="trunk", pos=[0, 0, HIP + FOOT])
    trunk.add_freejoint(name="base")
    _add_geom(trunk, mujoco.mjtGeom.mjGEOM_BOX, 8.0, size=[0.21, 0.09, 0.05])
    for leg, (x, y) in LEGS.items():
        thigh = trunk.add_body(name=f"thigh_{leg}", pos=[x, y, 0])
        _add_hinge(thigh, f"hip_{leg}")
        _add_link(thigh, 0.7)
        shank = thigh.add_body(name=f"shank_{leg}", pos=[0, 0, -LINK])
        _add_hinge(shank, f"knee_{leg}")
        _add_link(shank, 0.2)
        foot = shank.add_body(name=f"foot_{leg}", pos=[0, 0, -LINK])
        _add_geom(foot, mujoco.mjtGeom.mjGEOM_SPHERE, 0.1, size=[FOOT, 0, 0])
    for name in JOINTS:
        servo = spec.add_actuator(name=name, target=name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
        servo.set_to_position(kp=STIFFNESS, kv=DAMPING)
        servo.forcelimited, servo.forcerange = mujoco.mjtLimited.mjLIMITED_TRUE, [-TORQUE, TORQUE]
    return spec


def _add_hinge(body, name: str) -> None:
    body.add_joint(name=name, type=mujoco.mjtJoint.mjJNT_HINGE, axis=[0, 1, 0], armature=ARMATURE)


def _add_link(body, mass: float) -> None:
    _add_geom(body, mujoco.mjtGeom.mjGEOM_CAPSULE, mass, size=[0.012, 0, 0], fromto=[0, 0, 0, 0, 0, -LINK])


def _add_geom(body, kind, mass: float, **more) -> None:
    body.add_geom(type=kind, mass=mass, contype=0, conaffinity=0, **more)


def stance() -> np.ndarray:
    """Angles [rad] of hip and knee of all legs, standing, (8,)."""
    return np.tile(leg_angles(0.0, -HIP), len(LEGS))


def leg_angles(x: float, z: float) -> np.ndarray:
    """Angles [rad] of hip and knee that put the foot at (x, z) [m] from the hip."""
    knee = np.arccos(np.clip(np.hypot(x, z) / (2 * LINK), -1, 1))
    return np.array([np.arctan2(-x, -z) + knee, -2 * knee])


def foot_place(phase: float, stride: float) -> tuple[float, float]:
    """Place (x, z) [m] of a foot from its hip. `phase` 0 to 0.5: swing; 0.5 to 1: stance, at constant speed."""
    if phase >= 0.5:
        return stride * (0.75 - phase), -HIP
    s = 2 * phase
    along = 0.5 * s * s * (3 - 2 * s) - 0.5 * s * (1 - s) * (1 - 2 * s)  # both ends have the speed of the stance
    return stride * (along - 0.25), -HIP + LIFT * np.sin(np.pi * s) ** 2


def trot(phase: float, strides: tuple[float, float]) -> np.ndarray:
    """Angles [rad] of all joints, (8,), of a trot. `phase` 0 to 1; `strides` [m] of the left and the right legs."""
    places = []
    for leg in LEGS:
        own = (phase + (0.0 if leg in SWING_FIRST else 0.5)) % 1.0
        places.append(leg_angles(*foot_place(own, strides[0 if leg[1] == "l" else 1])))
    return np.concatenate(places)
