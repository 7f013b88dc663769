"""A quadruped follows a velocity on sand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import mujoco
import numpy as np
import warp as wp

from grouser.contact.soil import prepare
from grouser.envs import kernels
from grouser.envs.kernels import IMU
from grouser.envs.quadruped_kernels import SIDE, Walker, command_walker, judge_walker, start_walker
from grouser.envs.task import IMU_ERRORS, Range, Task, Value, plane
from grouser.robots import quadruped
from grouser.robots.quadruped import JOINTS, LEGS
from grouser.simulation.shapes import geom_mesh
from grouser.terrain.soils import soil

FEATURES = (
    "wanted_speed", "wanted_turn", "phase_sine", "phase_cosine", *(f"imu_{k}" for k in range(IMU)), "speed",
    "side_speed",
)  # fmt: skip
REWARD = {"speed_gain": 1.0, "turn_gain": 0.5, "energy_gain": 0.5, "failure_gain": 2.0}
SOILS = {
    "k_phi": Range(5e5, 3e6, logarithmic=True),  # [N/m^(n+2)]
    "n": Range(0.8, 1.1),
    "cohesion": Range(100.0, 1500.0),  # [Pa]
    "friction_angle_deg": Range(27.0, 36.0),
    "shear_modulus": Range(0.01, 0.025),  # [m]
}
OUTSIDE = {
    "k_phi": Range(2.5e5, 5e5, logarithmic=True),
    "cohesion": Range(0.0, 100.0),
    "friction_angle_deg": Range(23.0, 27.0),
    "shear_modulus": Range(0.025, 0.035),
}
IMU_BIAS = dict.fromkeys(IMU_ERRORS[:3], Range(-0.02, 0.02)) | dict.fromkeys(IMU_ERRORS[3:], Range(-0.01, 0.01))
DRAWN = {**SOILS, "speed": Range(0.0, 0.5), "turn": Range(-0.3, 0.3), **IMU_BIAS}
LIMIT = 250  # control periods: 5 s
_AHEAD, _LEFT = np.meshgrid(np.linspace(-0.3, 0.5, 5), np.linspace(-0.2, 0.2, 3), indexing="ij")
SCAN = _AHEAD.ravel(), _LEFT.ravel()


def _constants(model: mujoco.MjModel, rows: Mapping[str, int], device: Any) -> Any:
    c: Any = Walker()
    c.stance = wp.array(quadruped.stance().astype(np.float32), dtype=float, device=device)
    c.height, c.weight = quadruped.HIP + quadruped.FOOT, quadruped.MASS * float(np.linalg.norm(model.opt.gravity))
    c.speed, c.turn, c.imu, c.limit = rows["speed"], rows["turn"], rows[IMU_ERRORS[0]], LIMIT
    for name, gain in REWARD.items():
        setattr(c, name, gain)
    return c


def _readings(model: mujoco.MjModel) -> list[Value]:
    """Wanted velocity, clock of the stride, IMU, joints, torques, last action."""
    stand, f = quadruped.stance(), kernels.FEATURES
    return [
        Value("wanted_speed", f, 0, 2.0),
        Value("wanted_turn", f, 1, 2.0),
        Value("phase_sine", f, 2),
        Value("phase_cosine", f, 3),
        *(Value(f"imu_force_{axis}", f, 4 + k, 1.0, float(k == 2), 0.02) for k, axis in enumerate("xyz")),
        *(Value(f"imu_turn_{axis}", f, 7 + k, 0.5, 0.0, 0.02) for k, axis in enumerate("xyz")),
        *(Value(f"angle_{n}", kernels.QPOS, 7 + k, 2.0, float(stand[k]), 0.005) for k, n in enumerate(JOINTS)),
        *(Value(f"rate_{n}", kernels.QVEL, 6 + k, 0.1, 0.0, 0.05) for k, n in enumerate(JOINTS)),
        *(Value(f"torque_{n}", kernels.FORCE, k, 0.05, 0.0, 0.2) for k, n in enumerate(JOINTS)),
        *(Value(f"last_{n}", kernels.ACTION, k) for k, n in enumerate(JOINTS)),
    ]


def _simulator_readings(model: mujoco.MjModel) -> list[Value]:
    """Velocity of the trunk, sinkage of the feet, constants of the soil, height scan."""
    middle = {name: (bounds.low + bounds.high) / 2 for name, bounds in SOILS.items()}
    return [
        *(Value(FEATURES[k], kernels.FEATURES, k, 2.0) for k in (10, 11)),
        *(Value(f"sinkage_{n}", kernels.SINKAGE, k, 20.0) for k, n in enumerate(LEGS)),
        *(Value(name, kernels.DRAWN, k, 1 / middle[name], middle[name]) for k, name in enumerate(SOILS)),
        *(Value(f"height_{k}", kernels.SCAN, k, 5.0, -quadruped.HIP) for k in range(len(SCAN[0]))),
    ]


def _surfaces() -> dict[str, Any]:
    model = quadruped.build().compile()
    return {
        f"foot_{leg}": prepare(*geom_mesh(model, int(model.body(f"foot_{leg}").geomadr[0])), name=f"foot_{leg}")
        for leg in LEGS
    }


def quadruped_sand() -> Task:
    """Follow a forward speed and a turn rate for 5 s."""
    return Task(
        name="QuadrupedSand", spec=quadruped.build, surfaces=_surfaces,
        terrains=[plane((0.0, 0.0), (-SIDE, SIDE), (-SIDE, SIDE))], soil=soil("dry-sand"), step=1.25e-3, steps=16,
        limit=LIMIT, actions=JOINTS, drawn=DRAWN, outside=OUTSIDE, features=FEATURES, readings=_readings,
        simulator_readings=_simulator_readings, scan=SCAN, constants=_constants, start=start_walker,
        command=command_walker, judge=judge_walker, spacing=0.005, tiles=256, notes="follow a velocity on sand",
    )  # fmt: skip
