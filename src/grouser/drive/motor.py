"""A brushed DC motor with gearbox, built as MuJoCo's `dcmotor`."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import mujoco
import numpy as np

from grouser.terrain import checks

TORQUE_INPUT = int(mujoco.mjtCtrlInput.mjINPUT_FF)
GEARBOX = 20407.0  # first value of an actuator's user data; it marks that GEAR_DATA follows
GEAR_DATA = ("efficiency", "constant", "resistance", "voltage", "torque")


@dataclass(frozen=True)
class LuGre:
    """Friction of the motor's shaft, tau = s0 z + s1 z' + s2 w (Morrot et al., eq. 14; Canudas de Wit et al. 1995)."""

    stiffness: float = 10.0  # [N m/rad] s0; assumed
    damping: float = 1e-3  # [N m s/rad] s1; assumed, small: a large one makes MuJoCo's step sluggish (docs/vehicles.md)
    viscous: float = 2.8e-5  # [N m s/rad] s2; assumed: with `coulomb` 3.4 A run the shaft at no load
    coulomb: float = 0.1  # [N m]; assumed
    static: float = 0.15  # [N m]; assumed
    stribeck: float = 1.0  # [rad/s]; assumed

    def __post_init__(self):
        for field in fields(self):
            checks.number(getattr(self, field.name), f"friction: {field.name}", at_least=0.0)
        checks.number(self.static, "friction: static", at_least=self.coulomb)


@dataclass(frozen=True)
class Motor:
    """Magmotor S28-150 by default; its torque constant, no-load current and resistance are those of Morrot et al."""

    torque_constant: float = 0.0374  # [N m/A], also [V s/rad]
    resistance: float = 0.064  # [ohm]
    current_limit: float = 120.0  # [A] of its driver; assumed
    gear: float = 11.0  # motor turns per wheel turn; assumed
    efficiency: float = 1.0  # of the gearbox: power out over power in, whichever side drives; assumed
    rotor_inertia: float = 3.0e-4  # [kg m^2]; assumed
    friction: LuGre = LuGre()

    def __post_init__(self):
        for name in ("torque_constant", "resistance", "current_limit", "gear"):
            checks.number(getattr(self, name), f"motor: {name}", above=0.0)
        checks.number(self.efficiency, "motor: efficiency", above=0.0, at_most=1.0)
        checks.number(self.rotor_inertia, "motor: rotor_inertia", at_least=0.0)

    @property
    def torque_limit(self) -> float:
        """Driving torque [N m] at the wheel at the driver's current limit."""
        return self.torque_constant * self.current_limit * self.gear * self.efficiency

    def shaft_torque(self, torque: np.ndarray, rate: np.ndarray) -> np.ndarray:
        """Motor torque [N m] that gives `torque` [N m] at a wheel turning at `rate` [rad/s]."""
        return torque / np.where(torque * rate >= 0, self.gear * self.efficiency, self.gear / self.efficiency)

    def current(self, torque: float) -> float:
        """Current [A] for a torque [N m] of the motor shaft."""
        return torque / self.torque_constant

    def add_to(self, spec: mujoco.MjSpec, name: str, joint: str, voltage: float) -> Any:
        """Add an actuator whose control is the wanted motor torque [N m] before friction, within `voltage` [V].

        The driver has a current loop: the torque is exact until voltage or current reaches its limit. The engine
        applies the gearbox efficiency (`engine/gearbox.py`), because MuJoCo has none.
        """
        actuator = spec.add_actuator(name=name, target=joint, trntype=mujoco.mjtTrn.mjTRN_JOINT)
        f = self.friction
        actuator.set_to_dcmotor(
            motorconst=[self.torque_constant, self.torque_constant], resistance=self.resistance,
            controller=[0, 0, 0, 0, 0, voltage], ctrlspec=TORQUE_INPUT,
            lugre=[f.stiffness, f.damping, f.coulomb, f.static, f.stribeck],
        )  # fmt: skip
        actuator.gear[0] = self.gear
        actuator.damping[0] = f.viscous
        actuator.armature = self.rotor_inertia
        limit = self.torque_constant * self.current_limit
        actuator.ctrllimited, actuator.ctrlrange = mujoco.mjtLimited.mjLIMITED_TRUE, [-limit, limit]
        if self.efficiency < 1:
            actuator.userdata = [GEARBOX, self.efficiency, self.torque_constant, self.resistance, voltage, limit]
        return actuator


def gear_data(model: mujoco.MjModel) -> dict[int, dict[str, float]]:
    """GEAR_DATA of the actuators whose gearbox has losses, by actuator number."""
    count = 1 + len(GEAR_DATA)
    rows = model.actuator_user[:, :count] if model.nuser_actuator >= count else ()
    return {k: dict(zip(GEAR_DATA, row[1:].tolist(), strict=True)) for k, row in enumerate(rows) if row[0] == GEARBOX}
