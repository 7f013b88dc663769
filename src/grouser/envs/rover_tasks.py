"""Two tasks of a rover of the ExoMars class: drive to a goal with least slip and energy, and climb a sandy slope."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import mujoco
import numpy as np
import warp as wp

from grouser.envs import kernels
from grouser.envs.kernels import IMU
from grouser.envs.rover_kernels import FRONT, REAR, SIDE, Rover, command_rover, judge_rover, start_rover
from grouser.envs.task import IMU_ERRORS, Range, Task, Value, plane
from grouser.robots import exomars
from grouser.robots.exomars import WHEELS
from grouser.terrain.soils import soil

ROVER = exomars.ExoMars(drive_speed=1.0)  # [rad/s]: seven times the speed of the real one, for short episodes
TILTS = tuple((t, a) for t in (0.0, 3.0, 6.0, 9.0) for a in (-135.0, -45.0, 45.0, 135.0))  # [deg] and direction
GRADES = (8.0, 10.0, 12.0, 14.0, 16.0, 18.0)  # [deg]
FEATURES = (
    "goal_distance", "goal_ahead", "goal_left", "progress", *(f"imu_{k}" for k in range(IMU)), "speed", "side_speed",
)  # fmt: skip
ACTIONS = ("speed", "curvature", "front", "rear")
_AHEAD, _LEFT = np.meshgrid(np.linspace(-0.8, 1.6, 7), np.linspace(-0.6, 0.6, 5), indexing="ij")
SCAN = _AHEAD.ravel(), _LEFT.ravel()
REWARD = {
    "progress_gain": 8.0, "slip_gain": 4.0, "energy_gain": 2.0, "time_gain": 0.1, "success_gain": 10.0,
    "failure_gain": 5.0,
}  # fmt: skip
SOILS = {
    "k_phi": Range(2e5, 1.5e6, logarithmic=True),  # [N/m^(n+2)]
    "n": Range(0.8, 1.1),
    "cohesion": Range(50.0, 800.0),  # [Pa]
    "friction_angle_deg": Range(25.0, 35.0),
    "shear_modulus": Range(0.01, 0.025),  # [m]
}
OUTSIDE = {  # softer than all soils of the training range, with less cohesion; level ground can still be driven
    "k_phi": Range(1.2e5, 2e5, logarithmic=True),
    "cohesion": Range(20.0, 50.0),
    "friction_angle_deg": Range(27.0, 31.0),
}
IMU_BIAS = dict.fromkeys(IMU_ERRORS[:3], Range(-0.02, 0.02)) | dict.fromkeys(IMU_ERRORS[3:], Range(-0.01, 0.01))


def _constants(slopes: list[tuple[float, float]], limit: int) -> Any:
    def made(model: mujoco.MjModel, rows: Mapping[str, int], device: Any) -> Any:
        c: Any = Rover()
        positions = exomars.wheel_positions(ROVER)

        def floats(values: Any) -> wp.array:
            return wp.array(np.asarray(values, np.float32), dtype=float, device=device)

        def integers(values: Any) -> wp.array:
            return wp.array(np.asarray(values, np.int32), dtype=int, device=device)

        c.drive = integers([model.joint(f"drive_{name}").qposadr[0] for name in WHEELS])
        c.steer = integers([model.joint(f"steer_{name}").qposadr[0] for name in WHEELS])
        c.x, c.y = floats(positions[:, 0]), floats(positions[:, 1])
        c.slope_x, c.slope_y = floats([one[0] for one in slopes]), floats([one[1] for one in slopes])
        c.radius, c.height, c.fastest = ROVER.wheel_radius, ROVER.longitudinal_pivot_height, ROVER.drive_speed
        c.weight = ROVER.mass * exomars.MARS
        for name in ("goal_distance", "goal_bearing", "heading", "terrain"):
            setattr(c, name, rows[name])
        c.imu, c.limit = rows[IMU_ERRORS[0]], limit
        for name, gain in REWARD.items():
            setattr(c, name, gain)
        return c

    return made


def _readings(model: mujoco.MjModel) -> list[Value]:
    """Goal as a camera and localisation show it, IMU, joints, torques of the drives, last action."""
    bogies = [model.joint(f"bogie_{name}").qposadr[0] for name in exomars.BOGIES]
    steers = [model.joint(f"steer_{name}").qposadr[0] for name in WHEELS]
    rates = [model.joint(f"drive_{name}").dofadr[0] for name in WHEELS]
    feature = {name: k for k, name in enumerate(FEATURES)}
    f = kernels.FEATURES
    return [
        Value("goal_distance", f, feature["goal_distance"], noise=0.01),
        Value("goal_ahead", f, feature["goal_ahead"], noise=0.01),
        Value("goal_left", f, feature["goal_left"], 2.0, noise=0.01),
        Value("progress", f, feature["progress"], 40.0, noise=0.002),
        *(Value(f"imu_force_{axis}", f, 4 + k, 5.0, float(k == 2), 0.01) for k, axis in enumerate("xyz")),
        *(Value(f"imu_turn_{axis}", f, 7 + k, 5.0, 0.0, 0.005) for k, axis in enumerate("xyz")),
        *(Value(f"bogie_{n}", kernels.QPOS, at, 5.0, 0.0, 0.002) for n, at in zip(exomars.BOGIES, bogies, strict=True)),
        *(Value(f"steer_{n}", kernels.QPOS, at, 2.0, 0.0, 0.002) for n, at in zip(WHEELS, steers, strict=True)),
        *(Value(f"rate_{n}", kernels.QVEL, at, 1.5, 0.0, 0.01) for n, at in zip(WHEELS, rates, strict=True)),
        *(Value(f"torque_{n}", kernels.FORCE, k, 0.05, 0.0, 0.3) for k, n in enumerate(WHEELS)),
        *(Value(f"last_{n}", kernels.ACTION, k) for k, n in enumerate(ACTIONS)),
    ]


def _simulator_readings(model: mujoco.MjModel) -> list[Value]:
    """Speed over ground, sinkage and slip of the wheels, constants of the soil, height scan."""
    rows = [name for name in _drawn({}) if name in SOILS]
    middle = {name: (bounds.low + bounds.high) / 2 for name, bounds in SOILS.items()}
    return [
        *(Value(FEATURES[k], kernels.FEATURES, k, 10.0) for k in (10, 11)),
        *(Value(f"sinkage_{n}", kernels.SINKAGE, k, 20.0) for k, n in enumerate(WHEELS)),
        *(Value(f"slip_{n}", kernels.SLIP, k) for k, n in enumerate(WHEELS)),
        *(Value(name, kernels.DRAWN, k, 1 / middle[name], middle[name]) for k, name in enumerate(rows)),
        *(Value(f"height_{k}", kernels.SCAN, k, 5.0, -ROVER.longitudinal_pivot_height) for k in range(len(SCAN[0]))),
    ]


def _drawn(more: Mapping[str, Range]) -> dict[str, Range]:
    """What is drawn at a reset: constants of the soil first."""
    return {**SOILS, **more, **IMU_BIAS}


def _slope(tilt_deg: float, direction_deg: float) -> tuple[float, float]:
    """Gradient of a plane that rises by `tilt_deg` towards `direction_deg`."""
    steepness, way = math.tan(math.radians(tilt_deg)), math.radians(direction_deg)
    return steepness * math.cos(way), steepness * math.sin(way)


def _task(name: str, slopes: list[tuple[float, float]], limit: int, drawn: Mapping[str, Range], notes: str) -> Task:
    bodies = tuple(f"wheel_{wheel}" for wheel in WHEELS)
    everything = _drawn({**drawn, "terrain": Range(0.0, float(len(slopes)))})
    return Task(
        name=name, spec=lambda: exomars.build(ROVER),
        surfaces=lambda: dict.fromkeys(bodies, exomars.wheel_surface(ROVER)),
        terrains=[plane(one, (REAR, FRONT), (-SIDE, SIDE)) for one in slopes],
        soil=soil("dry-sand"), step=5e-3, steps=40, limit=limit,
        actions=ACTIONS, drawn=everything, outside=OUTSIDE, features=FEATURES, readings=_readings,
        simulator_readings=_simulator_readings, scan=SCAN, constants=_constants(slopes, limit), start=start_rover,
        command=command_rover, judge=judge_rover, notes=notes,
    )  # fmt: skip


def rover_goal() -> Task:
    """Drive to a goal on a plane that is tilted in any direction."""
    slopes = [_slope(*one) for one in TILTS]
    drawn = {"goal_distance": Range(1.2, 2.0), "goal_bearing": Range(-0.6, 0.6), "heading": Range(-0.2, 0.2)}
    return _task("RoverGoal", slopes, 150, drawn, "drive to a goal with least slip and energy")


def rover_slope() -> Task:
    """Climb a slope to a goal above."""
    slopes = [_slope(grade, 0.0) for grade in GRADES]
    drawn = {"goal_distance": Range(1.5, 2.0), "goal_bearing": Range(-0.1, 0.1), "heading": Range(-0.1, 0.1)}
    return _task("RoverSlope", slopes, 200, drawn, "climb a sandy slope")
