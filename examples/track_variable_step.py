"""Tracks in a host code of one's own that chooses its step and uses derivatives: SciPy's `solve_ivp`, without MuJoCo.

The host asks for the wrench over the next h seconds and for B = -h dW/dv, how it falls as its bodies speed up
(`derivatives=True`). Between two exchanges it integrates its own equations with W - (B/h)(v - v0) by an implicit
method. h follows the change of the wrench, from 0.25 to 2 ms. Nothing is kept of a step until the host commits it: one
that is too long is tried again with half of it.

    python examples/track_variable_step.py [seconds]
"""

import sys

import numpy as np
import warp as wp
from scipy.integrate import solve_ivp
from track_without_mujoco import CENTRE, GAUGE, GRAVITY, INERTIA, MASS, RAMP, SETTLING, SPEED, Hull, rotation, tracks

from grouser.module import Motion, Outputs
from grouser.precision import precision
from grouser.track import FlatGround, TrackModule

SHORTEST, LONGEST = 0.25e-3, 2e-3  # [s] steps of the host
CHANGE = 0.03  # of the weight: wanted change of the wrench from step to step


class Host:
    """A hull with sprockets on its axles; pose and velocity of the hull in 13 numbers."""

    def __init__(self):
        self.module, p = TrackModule(tracks(), FlatGround(), derivatives=True), precision("float64")
        count = len(self.module.bodies)
        self.motion = Motion(
            *(wp.zeros((1, count), dtype=kind, device="cpu") for kind in (p.vec3, p.quat, p.vec3, p.vec3))
        )
        self.out = Outputs(
            *(wp.zeros((1, count), dtype=kind, device="cpu") for kind in (p.vec6, p.mat66, p.vec6, wp.int32))
        )
        self.module.bind(self.motion, range(count), self.out, LONGEST)
        wheels = {track.name: next(w for w in track.wheels if w.kind == "sprocket") for track in self.module.tracks}
        self.radius = wheels["left"].radius
        self.arms = {"hull": np.zeros(3)}
        for side, y in (("left", GAUGE / 2), ("right", -GAUGE / 2)):
            centre = wheels[side].centre
            self.arms[f"sprocket_{side}"] = np.array([centre[0], y, centre[1]]) - CENTRE
        self.y, self.angle, self.time, self.rate = Hull().y, 0.0, 0.0, 0.0

    def tell(self) -> None:
        """Put the bodies where they are."""
        x, q, v, w = np.split(self.y, [3, 7, 10])
        R, m = rotation(q), self.motion
        self.rate = SPEED / self.radius * min(max((self.time - SETTLING) / RAMP, 0.0), 1.0)
        rolled = np.array([0.0, np.sin(self.angle / 2), 0.0, np.cos(self.angle / 2)])
        turned = np.append(
            q[3] * rolled[:3] + rolled[3] * q[:3] + np.cross(q[:3], rolled[:3]), q[3] * rolled[3] - q[:3] @ rolled[:3]
        )
        for k, body in enumerate(self.module.bodies):
            arm, spins = R @ self.arms[body], body != "hull"
            m.position.numpy()[0, k], m.velocity.numpy()[0, k] = x + arm, v + np.cross(w, arm)
            m.rotation.numpy()[0, k] = turned if spins else q
            m.angular_velocity.numpy()[0, k] = w + (self.rate * R[:, 1] if spins else 0.0)

    def ask(self, h: float) -> tuple[np.ndarray, np.ndarray]:
        """Wrench [N, N m] on the hull about its centre of mass over the next h [s], and its B."""
        self.module.evaluate(h)
        wrench, block, R = np.zeros(6), np.zeros((6, 6)), rotation(self.y[3:7])
        for k, body in enumerate(self.module.bodies):
            X = np.eye(6)  # velocity of the body's origin from that of the hull
            x, y, z = R @ self.arms[body]
            X[:3, 3:] = [[0, z, -y], [-z, 0, x], [y, -x, 0]]
            wrench += X.T @ self.out.wrench.numpy()[0, k]
            block += X.T @ self.out.implicit.numpy()[0, k] @ X
        return wrench, block

    def advance(self, wrench: np.ndarray, block: np.ndarray, h: float) -> None:
        """Integrate the hull over h [s] by an implicit method of variable order and step, and commit the tracks."""
        before, fall = self.y[7:].copy(), block / h

        def rates(_, y):
            q, w = y[3:7] / np.linalg.norm(y[3:7]), y[10:]
            load = wrench - fall @ (y[7:] - before)
            R = rotation(q)
            spin_up = R @ ((R.T @ (load[3:] - np.cross(w, R @ (INERTIA * (R.T @ w))))) / INERTIA)
            turn = 0.5 * np.append(q[3] * w + np.cross(w, q[:3]), -w @ q[:3])
            return np.concatenate([y[7:10], turn, load[:3] / MASS - [0, 0, GRAVITY], spin_up])

        self.y = solve_ivp(rates, (0.0, h), self.y, method="LSODA", rtol=1e-6, atol=1e-9).y[:, -1]
        self.y[3:7] /= np.linalg.norm(self.y[3:7])
        self.angle, self.time = self.angle + self.rate * h, self.time + h
        self.tell()
        self.module.commit(h)


def run(seconds: float = 4.0) -> dict[str, float]:
    host = Host()
    start, weight = host.y[0], MASS * GRAVITY
    host.tell()
    host.module.commit(LONGEST)
    h, last, steps, again, loads = SHORTEST, np.zeros(6), [], 0, []
    while host.time < seconds - 1e-9:
        h = min(h, seconds - host.time)
        wrench, block = host.ask(h)
        change = np.abs((wrench - last)[:3]).max() / weight
        if change > 2 * CHANGE and h > 1.01 * SHORTEST and host.time > 0:
            h, again = max(h / 2, SHORTEST), again + 1  # nothing was kept: ask again for less
            continue
        host.advance(wrench, block, h)
        steps.append(h)
        if SETTLING - 0.3 < host.time <= SETTLING:
            loads.append((h, host.module.ground_force()[0, :, 2].sum()))
        h = float(np.clip(h * np.clip(CHANGE / max(change, 1e-6), 0.5, 1.5), SHORTEST, LONGEST))
        last = wrench
    whole = weight + sum(track.mass for track in host.module.tracks) * GRAVITY
    rest = np.array(loads)
    return {
        "distance_m": float(host.y[0] - start),
        "ground_load_over_weight": float(rest[:, 0] @ rest[:, 1] / rest[:, 0].sum()) / whole if len(rest) else np.nan,
        "steps": len(steps), "steps_tried_again": again, "shortest_step_ms": 1e3 * min(steps),
        "longest_step_ms": 1e3 * max(steps), "mean_step_ms": 1e3 * float(np.mean(steps)),
        "pair_wrench_sum_rel": float(host.module.pair_wrench_sum().max()),
    }  # fmt: skip


if __name__ == "__main__":
    lines = [f"{name:26} {value:.6g}" for name, value in run(*map(float, sys.argv[1:2])).items()]
    lines.append(f"{'MuJoCo loaded':26} {'mujoco' in sys.modules}")
    sys.stdout.write("\n".join(lines) + "\n")
