"""Two robots whose results on soil shall not depend on the step: a quadruped that trots and a four-wheel machine."""

from __future__ import annotations

import mujoco
import numpy as np

HIP = 0.3  # [m] height of the hips above the feet
LINK = 0.18  # [m] length of thigh and of shank, to the middle of the foot
FOOT = 0.025  # [m] radius of the foot
LIFT = 0.07  # [m] height of a swing
PERIOD = 0.5  # [s] of a stride; half of it is swing
STIFFNESS, DAMPING = 120.0, 4.0  # [N m/rad], [N m s/rad] of the servos
LEGS = {"fl": (0.19, 0.12), "fr": (0.19, -0.12), "rl": (-0.19, 0.12), "rr": (-0.19, -0.12)}  # [m] hips
DIAGONAL = ("fl", "rr")  # these legs swing first, the others half a stride later
RIM = 0.13  # [m] radius of the wheels
TURNING = 30.0  # [N m s/rad] gain of the drives


def quadruped() -> str:
    """MJCF of a quadruped of 12 kg with ball feet; legs of two hinges each, position servos."""
    legs, servos = [], []
    for name, (x, y) in LEGS.items():
        legs.append(f"""
        <body name="thigh_{name}" pos="{x} {y} 0"><joint name="hip_{name}" axis="0 1 0"/>
          <geom class="link" fromto="0 0 0 0 0 {-LINK}" mass="0.7"/>
          <body name="shank_{name}" pos="0 0 {-LINK}"><joint name="knee_{name}" axis="0 1 0"/>
            <geom class="link" fromto="0 0 0 0 0 {-LINK}" mass="0.2"/>
            <geom name="foot_{name}" pos="0 0 {-LINK}" size="{FOOT}" mass="0.1" friction="1"/>
          </body></body>""")
        servos += [f'<position name="{part}_{name}" joint="{part}_{name}"/>' for part in ("hip", "knee")]
    return f"""
    <mujoco model="quadruped">
      <default>
        <joint armature="0.01"/>
        <position kp="{STIFFNESS}" kv="{DAMPING}"/>
        <default class="link"><geom type="capsule" size="0.012" contype="0" conaffinity="0"/></default>
      </default>
      <worldbody>
        <geom name="floor" type="plane" size="0 0 1" friction="1"/>
        <body name="trunk" pos="0 0 {HIP + FOOT}"><freejoint/>
          <geom type="box" size="0.21 0.09 0.05" mass="8" contype="0" conaffinity="0"/>{"".join(legs)}
        </body>
      </worldbody>
      <actuator>{"".join(servos)}</actuator>
      <keyframe><key name="stand" qpos="0 0 {HIP + FOOT} 1 0 0 0 {" ".join(map(str, stance()))}" /></keyframe>
    </mujoco>"""


def stance() -> np.ndarray:
    """Angles [rad] of hip and knee of all legs, standing, (8,)."""
    return np.tile(leg_angles(0.0, -HIP), len(LEGS))


def leg_angles(x: float, z: float) -> np.ndarray:
    """Angles [rad] of hip and knee that put the foot at (x, z) [m] from the hip; the knee points back."""
    reach = np.hypot(x, z)
    knee = np.arccos(np.clip(reach / (2 * LINK), -1, 1))
    return np.array([np.arctan2(-x, -z) + knee, -2 * knee])


def foot_place(phase: float, stride: float) -> tuple[float, float]:
    """Place (x, z) [m] of a foot from its hip. `phase` 0 to 0.5: swing; 0.5 to 1: stance, at constant speed."""
    if phase >= 0.5:
        return stride * (0.75 - phase), -HIP
    s = 2 * phase
    along = 0.5 * s * s * (3 - 2 * s) - 0.5 * s * (1 - s) * (1 - 2 * s)  # both ends have the speed of the stance
    return stride * (along - 0.25), -HIP + LIFT * np.sin(np.pi * s) ** 2


def trot(speed: float, time: float, command: np.ndarray) -> None:
    """Write the controls of an open-loop trot at `speed` [m/s]; the stride grows from zero during the first one."""
    stride = speed * PERIOD * min(time / PERIOD, 1.0)
    for k, name in enumerate(LEGS):
        phase = (time / PERIOD + (0.0 if name in DIAGONAL else 0.5)) % 1.0
        command[2 * k : 2 * k + 2] = leg_angles(*foot_place(phase, stride))


def four_wheels() -> str:
    """MJCF of a machine of 57 kg on four driven wheels."""
    wheels, drives = [], []
    for name, x, y in (("fl", 0.3, 0.3), ("fr", 0.3, -0.3), ("rl", -0.3, 0.3), ("rr", -0.3, -0.3)):
        wheels.append(f"""
        <body name="wheel_{name}" pos="{x} {y} 0"><joint name="axle_{name}" axis="0 1 0"/>
          <geom type="cylinder" size="{RIM} 0.05" zaxis="0 1 0" mass="3" friction="1"/></body>""")
        drives.append(f'<velocity name="motor_{name}" joint="axle_{name}" kv="{TURNING}"/>')
    return f"""
    <mujoco model="four-wheels">
      <worldbody>
        <geom name="floor" type="plane" size="0 0 1" friction="1"/>
        <body name="chassis" pos="0 0 {RIM}"><freejoint/>
          <geom type="box" size="0.35 0.2 0.06" pos="0 0 0.1" mass="45" contype="0" conaffinity="0"/>{"".join(wheels)}
        </body>
      </worldbody>
      <actuator>{"".join(drives)}</actuator>
    </mujoco>"""


def spec(text: str) -> mujoco.MjSpec:
    return mujoco.MjSpec.from_string(text)
