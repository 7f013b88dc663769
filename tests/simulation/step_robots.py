"""Two robots whose results on soil shall not depend on the step: a quadruped that trots and a four-wheel machine."""

from __future__ import annotations

import time
from dataclasses import dataclass

import mujoco
import numpy as np

from grouser import Simulation, on_soil
from grouser.terrain.soils import Soil

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

TICK = 1e-2  # [s] between two looks at the soil; steps divide it
NUDGE = (0.01, 0.02)  # [m], [m/s] standard deviation of the place and the speed at the start


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


def four_wheels(radius: float = RIM) -> str:
    """MJCF of a machine of 57 kg on four driven wheels of a `radius` [m]."""
    wheels, drives = [], []
    for name, x, y in (("fl", 0.3, 0.3), ("fr", 0.3, -0.3), ("rl", -0.3, 0.3), ("rr", -0.3, -0.3)):
        wheels.append(f"""
        <body name="wheel_{name}" pos="{x} {y} 0"><joint name="axle_{name}" axis="0 1 0"/>
          <geom type="cylinder" size="{radius} 0.05" zaxis="0 1 0" mass="3" friction="1"/></body>""")
        drives.append(f'<velocity name="motor_{name}" joint="axle_{name}" kv="{TURNING}"/>')
    return f"""
    <mujoco model="four-wheels">
      <worldbody>
        <geom name="floor" type="plane" size="0 0 1" friction="1"/>
        <body name="chassis" pos="0 0 {radius}"><freejoint/>
          <geom type="box" size="0.35 0.2 0.06" pos="0 0 0.1" mass="45" contype="0" conaffinity="0"/>{"".join(wheels)}
        </body>
      </worldbody>
      <actuator>{"".join(drives)}</actuator>
    </mujoco>"""


@dataclass(frozen=True)
class Case:
    """A robot, how fast it shall go, and for how long."""

    name: str
    speed: float  # [m/s]
    settling: float  # [s] before the means start
    time: float  # [s] of the means
    radius: float = RIM  # [m] of the wheels

    @property
    def walks(self) -> bool:
        return self.name.startswith("trot")


CASES = {
    case.name: case
    for case in (
        Case("trot-0.35", 0.35, 1.5, 10 * PERIOD),
        Case("trot-0.6", 0.6, 1.5, 10 * PERIOD),
        Case("wheels-1", 1.0, 1.5, 2.0),
        Case("wheels-2", 2.0, 1.5, 1.5),
    )
}


def build(case: Case, soil: str | Soil, **more) -> Simulation:
    """The robot of a case on soil; `more` are arguments of `on_soil`."""
    text, bodies = (quadruped(), "shank.*") if case.walks else (four_wheels(case.radius), "wheel.*")
    return on_soil(mujoco.MjSpec.from_string(text), soil, bodies, settle=False, **more)


def simulate(case: Case, step: float, starts: int, soil: str | Soil = "dry-sand", **more):
    """Means over `starts` worlds, (start, 3): speed [m/s], sinkage [m], power [W]; CPU seconds per simulated second."""
    sim = build(case, soil, worlds=starts, step=step, **more)
    nudge(sim, starts)
    names = [sim.model.joint(j).name for j in range(sim.model.njnt) if sim.model.joint(j).type[0] == 3]
    at = np.array([sim.model.joint(n).qposadr[0] for n in names])
    dof = np.array([sim.model.joint(n).dofadr[0] for n in names])
    inner, worlds = round(TICK / step), sim.engine.data
    sums = np.zeros((starts, 4))
    wall = 0.0
    for tick in range(round((case.settling + case.time) / TICK)):
        counts = tick * TICK >= case.settling - 1e-9
        for part in range(inner):
            steer(case, tick * TICK + part * step, worlds)
            before = [(d.qpos.copy(), d.qvel.copy()) for d in worlds]
            now = time.process_time()
            sim.step(1)
            wall += time.process_time() - now
            if counts:
                for w, d in enumerate(worlds):
                    (q, v), u = before[w], d.ctrl
                    if case.walks:
                        force = STIFFNESS * (u - q[at]) - DAMPING * d.qvel[dof]
                    else:
                        force = TURNING * (u - d.qvel[dof])
                    sums[w, 2] += step * np.maximum(force * (v[dof] + d.qvel[dof]) / 2, 0).sum()
                    ahead = d.xmat[1].reshape(3, 3)[:2, 0]
                    sums[w, 0] += step * d.qvel[:2] @ ahead / np.linalg.norm(ahead)
        if counts:
            seen = sim.observe()
            load = np.maximum(seen["soil/force"][..., 2], 0)
            sums[:, 1] += (load * seen["soil/sinkage"]).sum(axis=1)
            sums[:, 3] += load.sum(axis=1)
    out = np.column_stack([sums[:, 0] / case.time, sums[:, 1] / sums[:, 3], sums[:, 2] / case.time])
    return out, wall / starts / (case.settling + case.time), sim


def steer(case: Case, now: float, worlds) -> None:
    """Controls of all worlds; every step of the engine, so that servos follow smoothly."""
    if case.walks:
        trot(case.speed, now, worlds[0].ctrl)
    else:
        worlds[0].ctrl[:] = case.speed / case.radius * min(1.0, now / (0.5 * case.settling))
    for d in worlds[1:]:
        d.ctrl[:] = worlds[0].ctrl


def nudge(sim, starts: int) -> None:
    """Move every world's robot a little, the first not at all."""
    for w, d in enumerate(sim.engine.data):
        rng = np.random.default_rng(w)
        if w:
            d.qpos[:2] += rng.normal(scale=NUDGE[0], size=2)
            d.qvel[:2] += rng.normal(scale=NUDGE[1], size=2)
    sim.engine.kinematics()
    sim.soil.reset(list(range(starts)))
    for module in sim.modules:
        module.commit(sim.engine.step)
