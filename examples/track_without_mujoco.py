"""Two tracks under a hull that SciPy integrates: the super-component in a multibody code of one's own, without MuJoCo.

Omar 2014 claims that a track modelled as a super-component plugs into any multibody code. All it asks
for: arrays with pose and velocity of the bodies that carry wheels, and an array to put their wrenches into. Here the
code is a rigid hull in 13 numbers and scipy.integrate.solve_ivp; sprockets turn at a given speed.

    python examples/track_without_mujoco.py [seconds]
"""

import sys

import numpy as np
import warp as wp
from scipy.integrate import solve_ivp

from grouser.module import Motion, Outputs
from grouser.precision import precision
from grouser.track import FlatGround, Layout, Track, TrackModule, mount

STEP = 1e-3  # [s] between two exchanges
GAUGE, MASS, GRAVITY = 1.98, 15800.0, 9.81
INERTIA = np.array([1.4e4, 2.8e4, 2.6e4])  # [kg m^2] of the hull
CENTRE = np.array([1.66, 0.0, 0.95])  # [m] of its mass, from the point between the sprockets at the lower pins
SETTLING, RAMP, SPEED = 1.5, 0.5, 0.8  # [s], [s], [m/s]


def tracks() -> list[Track]:
    """A track on either side; the hull carries rollers and idlers, the sprockets are bodies of their own."""
    layout, out = Layout(), []
    for name, y in (("left", GAUGE / 2), ("right", -GAUGE / 2)):
        bodies = {"sprocket": f"sprocket_{name}", "idler": "hull", "roller": "hull", "carrier": "hull"}
        wheels, chain = layout.close(bodies, links=46, tension=15e3)
        axle = wheels[0].centre
        origins = {f"sprocket_{name}": (axle[0], 0.0, axle[1]), "hull": (CENTRE[0], -y, CENTRE[2])}
        offset = (-CENTRE[0], y, -CENTRE[2])
        out.append(Track(name, layout.link, mount(wheels, origins), chain, "hull", offset))
    return out


class Hull:
    """A rigid body: place, quaternion xyzw, velocity, spin (world axes)."""

    def __init__(self):
        shoe = Layout().link.shoe
        start = CENTRE + np.array([0, 0, shoe.depth + shoe.grouser_height])
        self.y = np.concatenate([start, [0, 0, 0, 1], np.zeros(6)])

    def advance(self, wrench: np.ndarray, h: float) -> None:
        """Over h [s] with a wrench that stays, about the centre of mass."""
        force, torque = wrench[:3] - np.array([0, 0, MASS * GRAVITY]), wrench[3:]

        def rates(_, y):
            q, w = y[3:7] / np.linalg.norm(y[3:7]), y[10:]
            R = rotation(q)
            turning = R @ (INERTIA * (R.T @ w))
            spin_up = R @ ((R.T @ (torque - np.cross(w, turning))) / INERTIA)
            turn = 0.5 * np.append(q[3] * w + np.cross(w, q[:3]), -w @ q[:3])
            return np.concatenate([y[7:10], turn, force / MASS, spin_up])

        self.y = solve_ivp(rates, (0.0, h), self.y, method="RK45").y[:, -1]
        self.y[3:7] /= np.linalg.norm(self.y[3:7])


def rotation(q: np.ndarray) -> np.ndarray:
    x, y, z, w = q
    return np.array([
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ])  # fmt: skip


def run(seconds: float = 4.0) -> dict[str, float]:
    module, p = TrackModule(tracks(), FlatGround()), precision("float64")
    count = len(module.bodies)
    motion = Motion(*(wp.zeros((1, count), dtype=kind, device="cpu") for kind in (p.vec3, p.quat, p.vec3, p.vec3)))
    out = Outputs(*(wp.zeros((1, count), dtype=kind, device="cpu") for kind in (p.vec6, p.mat66, p.vec6, wp.int32)))
    module.bind(motion, range(count), out, STEP)
    place, turn, velocity, spin = (
        a.numpy()[0] for a in (motion.position, motion.rotation, motion.velocity, motion.angular_velocity)
    )
    sprockets = {track.name: next(w for w in track.wheels if w.kind == "sprocket") for track in module.tracks}
    hull, angle, loads = Hull(), 0.0, []
    start = hull.y[0]

    def tell(time: float) -> float:
        """Put the bodies where they are; the sprockets turn with the hull and about their axles."""
        x, q, v, w = np.split(hull.y, [3, 7, 10])
        R, rate = rotation(q), SPEED / sprockets["left"].radius * min(max((time - SETTLING) / RAMP, 0.0), 1.0)
        rolled = np.array([0.0, np.sin(angle / 2), 0.0, np.cos(angle / 2)])
        for k, body in enumerate(module.bodies):
            arm = np.zeros(3)
            place[k], turn[k], velocity[k], spin[k] = x, q, v, w
            if body != "hull":
                side = body.split("_")[1]
                centre = sprockets[side].centre
                arm = R @ (np.array([centre[0], GAUGE / 2 if side == "left" else -GAUGE / 2, centre[1]]) - CENTRE)
                turn[k] = np.append(
                    q[3] * rolled[:3] + rolled[3] * q[:3] + np.cross(q[:3], rolled[:3]),
                    q[3] * rolled[3] - q[:3] @ rolled[:3],
                )
                place[k], velocity[k], spin[k] = x + arm, v + np.cross(w, arm), w + rate * R[:, 1]
        return rate

    rate = tell(0.0)
    module.commit(STEP)
    steps = round(seconds / STEP)
    for k in range(steps):
        module.evaluate(STEP)
        wrench = np.zeros(6)
        for body, f in enumerate(out.wrench.numpy()[0]):  # the sprockets' bearings hand on all, their drives the torque
            wrench += np.concatenate([f[:3], f[3:] + np.cross(place[body] - hull.y[:3], f[:3])])
        hull.advance(wrench, STEP)
        angle += rate * STEP
        rate = tell((k + 1) * STEP)
        module.commit(STEP)
        loads.append(module.ground_force()[0, :, 2].sum())
    weight = (MASS + sum(track.mass for track in module.tracks)) * GRAVITY
    rest = loads[round((SETTLING - 0.3) / STEP) : round(SETTLING / STEP)]
    return {
        "distance_m": float(hull.y[0] - start),
        "ground_load_over_weight": float(np.mean(rest)) / weight if len(rest) else float("nan"),
        "chain_speed_m_per_s": float(-module.chain_speed()[0].mean()),
        "pair_wrench_sum_rel": float(module.pair_wrench_sum().max()),
    }


if __name__ == "__main__":
    lines = [f"{name:26} {value:.6g}" for name, value in run(*map(float, sys.argv[1:2])).items()]
    lines.append(f"{'MuJoCo loaded':26} {'mujoco' in sys.modules}")
    sys.stdout.write("\n".join(lines) + "\n")
