"""Channels of a docking run: contact in the crown's axes, sums of wrenches, total momentum, outline of the tool."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mujoco
import numpy as np

from grouser.module import Channel
from grouser.robots import olev
from grouser.robots import olev_shapes as shapes
from grouser.robots.olev import Olev
from grouser.simulation import Simulation

PAIRS = ("tool", "crown", "bolt")
AXES = ("x", "y", "z")
SECTION = 61  # points of the outline of the tool in Fig. 10


def _reader(module: Any, what: str) -> Callable[[], np.ndarray]:
    """Reader of a module's channel in the only world. It makes a view at the first call, when the module is bound."""
    found: list[np.ndarray] = []

    def read() -> np.ndarray:
        if not found:
            channel = next(c for c in module.channels() if c.name == f"{module.name}/{what}")
            assert channel.read is not None
            found.append(channel.read()[0])
        return found[0]

    return read


def force_reader(module: Any) -> Callable[[], np.ndarray]:
    """Reader of the contact forces [N], (pair, 3), of a module."""
    return _reader(module, "force")


class WrenchSums:
    """Largest sum of opposite contact wrenches, ideally 0, checked in one step of every `EVERY` seconds.

    Wrenches can be summed only about the positions at which they were computed: at the start of a step it notes the
    positions, at its end it sums.
    """

    EVERY = 0.05  # [s]

    def __init__(self, step: float):
        self._step, self.period = step, step
        self.worst = np.zeros(1)
        self.noted = np.full(1, -math.inf)  # [s] time of the positions
        self.places = np.zeros((0, 3))  # [m], (body, 3)
        self._slots: list[tuple[Any, np.ndarray]] = []

    def watch(self, sim: Simulation) -> None:
        """Sum the wrenches of both contact modules of `sim`."""
        self._slots = [(slot.out.wrench, sim.engine.body_ids[slot.rows]) for slot in sim.engine.slots[:2]]
        self.places = np.zeros((sim.model.nbody, 3))

    def act(self, time: float, sensors: Any, command: Any) -> None:
        if abs(time - self.noted[0] - self._step) < 0.5 * self._step:
            self.worst[0] = max(self.worst[0], *(wrench_sum(out, self.places[ids]) for out, ids in self._slots))
            self.noted[0] = -math.inf
            self.period = max(self.EVERY - self._step, self._step)
        else:
            self.places[:] = sensors.xpos
            self.noted[0] = time
            self.period = self._step

    def state(self) -> dict[str, Any]:
        return {"worst": self.worst, "noted": self.noted, "places": self.places}

    def reset(self, worlds: Any) -> None:
        self.worst[:], self.noted[:] = 0, -math.inf

    def channels(self) -> list[Channel]:
        return [Channel("contact/wrench_sum_rel", "1", (), "", read=self.worst.copy)]


def wrench_sum(out: Any, places: np.ndarray) -> float:
    """Sum of a contact module's wrenches about the world origin / sum of their magnitudes, forces and torques.

    `out`: wrenches, (world, body); `places` [m], (body, 3): positions at which they were computed.
    """
    wrench, worst = out.numpy()[0].astype(float), 0.0
    turn = wrench[:, 3:] + np.cross(places, wrench[:, :3])
    for part in (wrench[:, :3], turn):
        size = np.linalg.norm(part, axis=1).sum()
        if size > 0:
            worst = max(worst, float(np.linalg.norm(part.sum(axis=0)) / size))
    return worst


def crown_channels(sim: Simulation, p: Olev) -> list[Channel]:
    """Contact on the tool's side in the crown's axes (Fig. 9): x, y lateral, z axial; torques about the throat."""
    data, nozzle = sim.data, sim.modules[0]
    pressed, turned = force_reader(nozzle), _reader(nozzle, "torque")
    origins = [sim.model.body(name).id for name in ("tool", "crown", "crown")]

    def force() -> np.ndarray:
        return (pressed() @ data.body("tool").xmat.reshape(3, 3))[None]

    def total() -> np.ndarray:
        return force().sum(axis=1)

    def torque() -> np.ndarray:
        forces = pressed()
        arms = data.xpos[origins] - data.body("tool").xpos
        about = (turned() + np.cross(arms, forces)).sum(axis=0)
        return (about @ data.body("tool").xmat.reshape(3, 3))[None]

    def load() -> np.ndarray:
        return -data.actuator(olev.BOOM_STAGES[-1]).force[:1]

    return [
        Channel("crown/pair_force", "N", (3, 3), "crown", labels=PAIRS, read=force),
        Channel("crown/force", "N", (3,), "crown", labels=AXES, read=total),
        Channel("crown/torque", "N m", (3,), "crown", labels=AXES, read=torque),
        Channel("crown/axial", "N", (3,), "crown", labels=PAIRS, read=lambda: force()[:, :, 2]),
        Channel("boom/load", "N", (), "", read=load),
        Channel("boom/spring", "m", (), "", read=lambda: data.joint("safety_spring").qpos.copy()),
        Channel("crown/position", "m", (), "", read=lambda: data.joint("crown").qpos.copy()),
    ]


def system_channels(sim: Simulation, thrusters: Any) -> list[Channel]:
    """Total momentum, external impulse, angular rates."""
    model, data = sim.model, sim.data
    root = {name: model.joint(name).dofadr[0] for name in ("servicer", "client")}
    client = np.array([b for b in range(model.nbody) if model.body_rootid[b] == model.body("client").id])
    orbit: Any = next((module for module in sim.modules if module.name == "orbit"), None)

    def momentum() -> np.ndarray:
        mujoco.mj_subtreeVel(model, data)
        push = float(model.body_subtreemass[0]) * data.subtree_linvel[0]
        turn = data.subtree_angmom[0] + np.cross(data.subtree_com[0], push)
        return np.concatenate([push, turn])[None]

    def outside() -> np.ndarray:
        return (thrusters.impulse + (orbit.impulse[0] if orbit is not None else 0.0))[None]

    def client_momentum() -> np.ndarray:
        """Linear [N s] and angular [N m s] momentum of the client relative to and about the common centre of mass."""
        mujoco.mj_subtreeVel(model, data)
        b = client[0]
        mass = float(model.body_subtreemass[b])
        push = mass * (data.subtree_linvel[b] - data.subtree_linvel[0])
        turn = data.subtree_angmom[b] + np.cross(data.subtree_com[b] - data.subtree_com[0], push)
        return np.array([[np.linalg.norm(push), np.linalg.norm(turn)]])

    def rates() -> np.ndarray:
        return np.array([[np.linalg.norm(data.qvel[root[n] + 3 : root[n] + 6]) for n in ("servicer", "client")]])

    def separation() -> np.ndarray:
        p = data.body("client").xpos - data.body("servicer").xpos
        return np.array([[*(p @ data.body("servicer").xmat.reshape(3, 3))]])

    def tilt() -> np.ndarray:
        turn = data.body("servicer").xmat.reshape(3, 3).T @ data.body("client").xmat.reshape(3, 3)
        return np.array([math.degrees(math.atan2(math.hypot(turn[0, 2], turn[1, 2]), turn[2, 2]))])

    return [
        Channel("system/momentum", "N s, N m s", (6,), labels=(*AXES, *(f"about {a}" for a in AXES)), read=momentum),
        Channel("system/impulse", "N s, N m s", (6,), labels=(*AXES, *(f"about {a}" for a in AXES)), read=outside),
        Channel("system/client_momentum", "N s, N m s", (2,), "", labels=("linear", "angular"), read=client_momentum),
        Channel("system/rate", "rad/s", (2,), "", labels=("servicer", "client"), read=rates),
        Channel("system/separation", "m", (3,), "servicer", labels=AXES, read=separation),
        Channel("system/tilt_deg", "degree", (), "", read=tilt),
    ]


def section_channels(sim: Simulation, p: Olev) -> list[Channel]:
    """Outline of tool, bolt and crown in the nozzle's plane of symmetry (Fig. 10)."""
    data = sim.data
    z_tool, r_tool = shapes.tool_section(p)
    z_bolt, r_bolt = shapes.bolt_section(p)
    grid = np.linspace(z_tool[0], z_bolt[-1], SECTION)

    found: dict[bytes, tuple[np.ndarray, np.ndarray, np.ndarray]] = {}  # the last outline, by joint positions

    def outline() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Axial coordinate, upper and lower edge [m], (point,) each; computed once for three channels."""
        key = data.qpos.tobytes()
        if key not in found:
            found.clear()
            found[key] = compute()
        return found[key]

    def compute() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        q = float(data.joint("crown").qpos[0])
        z_crown, r_crown = shapes.crown_section(p, shapes.spread_of(p, q))
        along = np.minimum(grid, z_bolt[-1] + q)  # the outline ends at the tip
        r = np.interp(along, z_tool, r_tool, right=0)
        r = np.maximum(r, np.interp(along, z_bolt + q, r_bolt, right=0))
        r = np.maximum(r, np.interp(along, z_crown + q, r_crown, left=0, right=0))
        client, tool = data.body("client"), data.body("tool")
        axes = client.xmat.reshape(3, 3) @ p.nozzle_rotation
        base = client.xpos + client.xmat.reshape(3, 3) @ p.throat
        turn = axes.T @ tool.xmat.reshape(3, 3)
        at = axes.T @ (tool.xpos - base)
        middle = at + np.outer(along, turn[:, 2])
        return middle[:, 2], middle[:, 0] + r, middle[:, 0] - r

    labels = tuple(str(k) for k in range(SECTION))
    return [
        Channel(f"section/{name}", "m", (SECTION,), "nozzle", labels=labels, read=lambda k=k: outline()[k][None])
        for k, name in enumerate(("axial", "above", "below"))
    ]
