"""Sensors and controllers of the servicer, made from its parameters."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from grouser.control.docking import BoomFlexure, Docking, DockingPlan, Hardware
from grouser.control.docking_sensors import ContactSwitches, DistanceSensors, Mount, StereoCamera, wall_distance
from grouser.control.spacecraft import Aocs, Thrusters
from grouser.robots import olev, olev_bending
from grouser.robots.olev import Olev
from grouser.robots.olev_shapes import nozzle_section, seat

SENSOR_OUT, SENSOR_BACK = 0.002, 0.016  # [m] distance sensors: outside the shoulder radius, and behind it (assumed)
SENSOR_ANGLE = math.radians(45)  # angle between their line of sight and the tool's axis (assumed)
FARTHEST_GAP = 0.25  # [m] of the table of distances
BENDING_TABLE, DAMPING_TABLE = 200, 24  # lengths
FLEXURE_PERIOD = 0.02  # [s] the boom moves by less than the resolution of its stiffness, 1 mm


@dataclass(frozen=True)
class Equipment:
    """Sensors and controllers of the servicer. `controllers` is in the order in which they act."""

    camera: StereoCamera
    distance: DistanceSensors
    thrusters: Thrusters
    aocs: Aocs
    docking: Docking
    flexure: BoomFlexure

    @property
    def controllers(self) -> list[Any]:
        return [self.flexure, self.camera, self.distance, self.docking, self.aocs, self.thrusters]


def equip(
    p: Olev, plan: DockingPlan, tool: ContactSwitches, brackets: ContactSwitches, *, step: float, seed: int = 0
) -> Equipment:
    """Make all sensors and controllers for the model of `olev.build`. `step` [s] of the simulation."""
    nozzle = Mount("client", tuple(p.throat), p.nozzle_rotation)
    eye = Mount("servicer", (p.camera_x, 0.0, p.servicer_half_height), np.eye(3))
    camera = StereoCamera(
        eye, nozzle, rate=p.camera_rate, bearing_noise=p.camera_bearing_noise, depth_noise=p.camera_depth_noise,
        attitude_noise=p.camera_attitude_noise, half_field_deg=p.camera_half_field_deg, farthest=p.camera_farthest,
        bias=(p.camera_bias_x, p.camera_bias_y, 0.0),
        tilt_bias=(math.radians(p.camera_tilt_bias_x_deg), math.radians(p.camera_tilt_bias_y_deg), 0.0), seed=seed,
    )  # fmt: skip
    origins, directions = distance_rays(p)
    distance = DistanceSensors(
        Mount("tool", (0.0, 0.0, 0.0), np.eye(3)), nozzle, nozzle_section(p), origins, directions,
        rate=p.distance_rate, noise=p.distance_noise, farthest=p.distance_farthest, seed=seed,
    )  # fmt: skip
    thrusters = Thrusters(
        olev.THRUSTERS, *olev.thruster_layout(p), p.thruster_force, body="servicer", quantum=p.thruster_quantum,
        pulse_period=p.thruster_period, step=step,
    )  # fmt: skip
    own, both = inertias(p)
    aocs = Aocs(
        camera, thrusters, olev.REACTION_WHEELS, body="servicer", target=np.array([0, 0, p.seated + p.boom_extended]),
        mass=p.servicer_mass, inertia=own, mated_inertia=both, wheel_torque=p.wheel_torque,
        wheel_momentum=p.wheel_momentum, wheel_inertia=p.wheel_inertia, gyro_noise=p.gyro_noise, seed=seed,
    )  # fmt: skip
    docking = Docking(plan, hardware(p), aocs, distance, tool, brackets)
    return Equipment(camera, distance, thrusters, aocs, docking, flexure(p, step))


def distance_rays(p: Olev) -> tuple[np.ndarray, np.ndarray]:
    """Origins [m], (3, 3) and directions (3, 3) of the distance sensors in the tool's frame."""
    angle = 2 * math.pi * np.arange(3) / 3
    out = np.stack([np.cos(angle), np.sin(angle), np.zeros(3)], axis=1)
    ahead = np.array([0.0, 0.0, 1.0])
    return (
        (p.shoulder_radius + SENSOR_OUT) * out + (seat(p)[0] - SENSOR_BACK) * ahead,
        math.sin(SENSOR_ANGLE) * out + math.cos(SENSOR_ANGLE) * ahead,
    )


def seat_table(p: Olev) -> tuple[np.ndarray, np.ndarray]:
    """Readings [m] of a distance sensor, increasing, and the distance [m] of a centred tool to the seat for each."""
    origins, directions = distance_rays(p)
    gaps = np.linspace(0, FARTHEST_GAP, 251)
    at = np.repeat(origins[:1], len(gaps), axis=0)
    at[:, 2] -= gaps
    found = wall_distance(at, np.repeat(directions[:1], len(gaps), axis=0), *nozzle_section(p))
    rising = np.flatnonzero(np.isfinite(found) & (found <= p.distance_farthest))
    return np.maximum.accumulate(found[rising]), gaps[rising]


def hardware(p: Olev) -> Hardware:
    reading, gap = seat_table(p)
    return Hardware(
        stages=olev.BOOM_STAGES, shares=olev.GAUSS, bends=olev.BENDS, spring="safety_spring", crown="crown",
        longest=p.boom_extended + 0.1, shortest=p.boom_retracted / 2, mated_length=p.mated_length,
        spring_stroke=p.spring_stroke, crown_stroke=p.crown_stroke, crown_spreading=p.crown_spreading,
        seat_distance=reading, seat_gap=gap,
    )  # fmt: skip


def flexure(p: Olev, step: float) -> BoomFlexure:
    lengths = np.linspace(p.boom_retracted / 2, p.boom_extended + 0.2, BENDING_TABLE)
    stiffness = np.array([[olev_bending.stiffness(p, length)] * 4 for length in lengths])
    known = np.linspace(lengths[0], lengths[-1], DAMPING_TABLE)
    about = np.array([olev_bending.damping(p, length) for length in known])
    damping = np.stack([np.interp(lengths, known, about[:, k % 2]) for k in range(4)], axis=1)
    return BoomFlexure(olev.BOOM_STAGES, olev.BENDS, lengths, stiffness, damping, max(step, FLEXURE_PERIOD))


def inertias(p: Olev) -> tuple[np.ndarray, np.ndarray]:
    """Moments of inertia [kg m^2], (3,) of the servicer with wings, and of both mated satellites about their centre."""
    servicer = np.array([p.servicer_inertia_x, p.servicer_inertia_y, p.servicer_inertia_z])
    client = np.array([p.client_inertia_x, p.client_inertia_y, p.client_inertia_z])
    for name, inertia in (("servicer", servicer), ("client", client)):
        about_x, about_y = (olev.wings_about(p, name, axis) for axis in (0, 1))
        inertia += [about_x, about_y, about_x]
    apart = p.servicer_half_height + p.bracket_height - p.ring_plane
    reduced = p.servicer_mass * p.client_mass / (p.servicer_mass + p.client_mass)
    return servicer, servicer + client + reduced * apart**2 * np.array([1.0, 1.0, 0.0])
