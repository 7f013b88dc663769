"""Tracks in a plain MuJoCo loop: `mj_step1`, wrenches of the tracks into `xfrc_applied`, `mj_step2`.

The machine is Grouser's bulldozer; any model whose bodies carry the wheels of tracks will do. The step changes while it
runs: 2 ms while the machine settles, 1 ms while it drives.

    python examples/track_in_mujoco.py [seconds]
"""

import sys

import mujoco
import numpy as np
import warp as wp

from grouser.module import Motion, Outputs
from grouser.precision import precision
from grouser.robots import bulldozer
from grouser.robots.bulldozer import Bulldozer
from grouser.track import FlatGround, TrackModule

SETTLING, RAMP, SPEED = 1.5, 0.5, 0.8  # [s], [s], [m/s]
RESTING, DRIVING = 2e-3, 1e-3  # [s] steps


def run(seconds: float = 4.0) -> dict[str, float]:
    machine = Bulldozer()
    spec, tracks = bulldozer.build(machine, place=(0.0, 0.0, machine.start_height))
    model = spec.compile()
    data = mujoco.MjData(model)
    module, p = TrackModule(tracks, FlatGround()), precision("float64")
    bodies = [model.body(name).id for name in module.bodies]
    motion = Motion(
        *(wp.zeros((1, len(bodies)), dtype=kind, device="cpu") for kind in (p.vec3, p.quat, p.vec3, p.vec3))
    )
    out = Outputs(
        *(wp.zeros((1, len(bodies)), dtype=kind, device="cpu") for kind in (p.vec6, p.mat66, p.vec6, wp.int32))
    )
    module.bind(motion, range(len(bodies)), out, RESTING)
    place, turn, velocity, spin = (
        a.numpy()[0] for a in (motion.position, motion.rotation, motion.velocity, motion.angular_velocity)
    )

    def tell() -> None:
        """Copy pose and velocity of the bodies' frames; quaternions are xyzw here and wxyz in MuJoCo."""
        twist = np.zeros(6)
        for k, body in enumerate(bodies):
            mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_XBODY, body, twist, 0)
            place[k], turn[k] = data.xpos[body], np.roll(data.xquat[body], -1)
            spin[k], velocity[k] = twist[:3], twist[3:]

    mujoco.mj_forward(model, data)
    tell()
    module.commit(RESTING)  # puts the links on their wheels
    radius = next(w.radius for w in tracks[0].wheels if w.kind == "sprocket")
    start, loads = float(data.qpos[0]), []
    while data.time < seconds - 1e-9:
        h = RESTING if data.time < SETTLING else DRIVING
        model.opt.timestep = h
        data.ctrl[:2] = SPEED / radius * min(max((data.time - SETTLING) / RAMP, 0.0), 1.0)
        mujoco.mj_step1(model, data)
        tell()
        module.evaluate(h)
        wrench = out.wrench.numpy()[0]
        for k, body in enumerate(bodies):  # about the frame's origin; MuJoCo wants it about the centre of mass
            force, torque = wrench[k, :3], wrench[k, 3:]
            data.xfrc_applied[body] = [*force, *(torque + np.cross(place[k] - data.xipos[body], force))]
        mujoco.mj_step2(model, data)
        module.commit(h)
        if SETTLING - 0.3 < data.time <= SETTLING:
            loads.append(module.ground_force()[0, :, 2].sum())
    weight = machine.total_mass * 9.81
    return {
        "distance_m": float(data.qpos[0]) - start,
        "ground_load_over_weight": float(np.mean(loads)) / weight if loads else np.nan,
        "chain_speed_m_per_s": float(-module.chain_speed()[0].mean()),
        "pair_wrench_sum_rel": float(module.pair_wrench_sum().max()),
    }


if __name__ == "__main__":
    for name, value in run(*map(float, sys.argv[1:2])).items():
        sys.stdout.write(f"{name:26} {value:.6g}\n")
