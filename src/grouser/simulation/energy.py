"""Kinetic and potential energy of all bodies as channels: with the soil's account they show where energy goes."""

from __future__ import annotations

import mujoco
import numpy as np

from grouser.engine.host_worlds import HostWorlds
from grouser.engine.mujoco_cpu import MujocoCpu
from grouser.module import Channel


class BodyEnergy:
    """Reads the energies of a model's bodies from MuJoCo. Nothing is computed in steps that are not recorded."""

    def __init__(self, engine: MujocoCpu | HostWorlds):
        self._engine = engine
        self.kinetic, self.potential = np.zeros(engine.worlds), np.zeros(engine.worlds)  # [J], (world,)

    def refresh(self) -> None:
        model = self._engine.model
        for world, d in enumerate(self._engine.data):
            mujoco.mj_energyPos(model, d)  # weight and springs
            mujoco.mj_energyVel(model, d)
            self.potential[world], self.kinetic[world] = d.energy

    def channels(self) -> list[Channel]:
        values = {"kinetic": self.kinetic, "potential": self.potential}
        return [
            Channel(f"body/{name}_energy", "J", (), "", source=value, refresh=self.refresh)
            for name, value in values.items()
        ]
