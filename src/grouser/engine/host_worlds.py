"""Worlds on a device as MjData on the host, for what reads them: recordings."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import mujoco
import numpy as np

from grouser.engine.mujoco_warp import STATE, MujocoWarp


class HostWorlds:
    """Copies of all worlds. `data` brings them up to date, at most once for each number of steps."""

    def __init__(self, engine: MujocoWarp, steps: Callable[[], int]):
        """`steps`: number of the present step."""
        self._engine, self._steps, self._known = engine, steps, -1
        self.model, self.worlds = engine.model, engine.worlds
        self._data = [mujoco.MjData(engine.model) for _ in range(engine.worlds)]

    def forget(self) -> None:
        """Worlds were changed without a step."""
        self._known = -1

    @property
    def data(self) -> Sequence[mujoco.MjData]:
        if self._known != self._steps():
            self._refresh()
            self._known = self._steps()
        return self._data

    def _refresh(self) -> None:
        """Positions and speeds now, and the forces of actuators in the last step, as after a step on the CPU."""
        of_actuators, of_joints = self._engine.actuator_force.numpy(), self._engine.d.qfrc_actuator.numpy()
        for k, (d, state) in enumerate(zip(self._data, self._engine.states(), strict=True)):
            mujoco.mj_setState(self.model, d, state, STATE)
            mujoco.mj_fwdPosition(self.model, d)
            mujoco.mj_fwdVelocity(self.model, d)
            d.actuator_force[:], d.qfrc_actuator[:] = of_actuators[k], of_joints[k]


class HostFrame:
    """Recorded quantities of bodies, joints and actuators, as `Frame` has them for worlds on the CPU."""

    def __init__(self, hosts: HostWorlds, bodies: Sequence[str], joints: Sequence[int]):
        m = self._model = hosts.model
        self._hosts, self._joints = hosts, list(joints)
        self._bodies = [m.body(name).id for name in bodies]
        self.pose = np.zeros((hosts.worlds, len(bodies), 7))  # positions [m] and quaternions xyzw
        self.position, self.speed = (np.zeros((hosts.worlds, len(joints))) for _ in range(2))
        self.force = np.zeros((hosts.worlds, len(hosts.data[0].actuator_force)))

    def refresh(self) -> None:
        m, bodies = self._model, self._bodies
        for k, d in enumerate(self._hosts.data):
            self.pose[k, :, :3] = d.xpos[bodies]
            self.pose[k, :, 3:] = d.xquat[bodies][:, [1, 2, 3, 0]]
            self.position[k], self.speed[k] = d.qpos[m.jnt_qposadr[self._joints]], d.qvel[m.jnt_dofadr[self._joints]]
            self.force[k] = d.actuator_force
