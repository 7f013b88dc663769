"""Visual shapes of the ExoMars rover; none has mass or collides."""

from __future__ import annotations

from typing import TYPE_CHECKING

import mujoco
import numpy as np

if TYPE_CHECKING:
    from grouser.robots.exomars import ExoMars

COLOURS = {
    "gold": (0.80, 0.62, 0.25, 1.0),
    "white": (0.88, 0.88, 0.86, 1.0),
    "panel": (0.10, 0.13, 0.30, 1.0),
    "metal": (0.55, 0.56, 0.58, 1.0),
    "dark": (0.16, 0.16, 0.17, 1.0),
}
BODY_BOTTOM, BODY_TOP = 0.38, 0.72  # [m] above the ground
LEG = 0.018  # [m] half thickness of beams and legs
BOX, CYLINDER, CAPSULE = mujoco.mjtGeom.mjGEOM_BOX, mujoco.mjtGeom.mjGEOM_CYLINDER, mujoco.mjtGeom.mjGEOM_CAPSULE


def add_materials(spec: mujoco.MjSpec) -> None:
    for name, colour in COLOURS.items():
        spec.add_material(name=name, rgba=colour, specular=0.3, shininess=0.4)


def _draw(body, kind, material: str, **shape) -> None:
    body.add_geom(type=kind, material=material, contype=0, conaffinity=0, mass=0.0, group=2, **shape)


def _bar(body, start, end, material: str = "metal", thickness: float = LEG) -> None:
    """Add a round bar between two points, unless they coincide."""
    if np.linalg.norm(np.subtract(end, start)) > 1e-6:
        _draw(body, CAPSULE, material, fromto=[*start, *end], size=[thickness, 0, 0])


def draw_chassis(chassis, p: ExoMars) -> None:
    """Body, deck with unfolded solar panels, drill box in front, mast with its camera head, pivots."""
    low, high = BODY_BOTTOM - p.longitudinal_pivot_height, BODY_TOP - p.longitudinal_pivot_height
    _draw(chassis, BOX, "gold", pos=[-0.02, 0, (low + high) / 2], size=[0.46, 0.33, (high - low) / 2])
    _draw(chassis, BOX, "panel", pos=[-0.05, 0, high + 0.012], size=[0.50, 0.36, 0.01])
    for side in (1, -1):
        _draw(chassis, BOX, "panel", pos=[-0.10, side * 0.62, high + 0.012], size=[0.42, 0.25, 0.008])
        _draw(chassis, BOX, "panel", pos=[-0.78, side * 0.28, high + 0.012], size=[0.22, 0.26, 0.008])
        pivot = p.pivot("left" if side > 0 else "right")
        _bar(chassis, [pivot[0] - 0.1, side * 0.30, low + 0.03], [*pivot[:2], 0.0])
    _draw(chassis, CYLINDER, "white", fromto=[0.50, -0.28, low + 0.14, 0.50, 0.28, low + 0.14], size=[0.07, 0, 0])
    _bar(chassis, [0.36, 0.0, high], [0.36, 0.0, high + 0.92], "white")
    _draw(chassis, BOX, "white", pos=[0.38, 0, high + 0.98], size=[0.05, 0.24, 0.06])
    for side in (1, -1):
        at = [0.43, side * 0.19, high + 0.98]
        _draw(chassis, CYLINDER, "dark", fromto=[*at, at[0] + 0.02, *at[1:]], size=[0.035, 0, 0])
    rear = p.pivot("rear")
    _bar(chassis, [-0.45, 0, low + 0.03], rear)


def draw_bogie(body, name: str, p: ExoMars) -> None:
    """A beam from the pivot to above the wheels, from which the legs hang."""
    pivot = p.pivot(name)
    ends = ["rl", "rr"] if name == "rear" else [f"f{name[0]}", f"m{name[0]}"]
    axis = [0.05, 0, 0] if name == "rear" else [0, 0.05, 0]
    _draw(body, CYLINDER, "dark", fromto=[*(-np.array(axis)), *axis], size=[0.04, 0, 0])
    for end in ends:
        _bar(body, [0, 0, 0], _steering_head(end, p) - pivot)


def _steering_head(name: str, p: ExoMars) -> np.ndarray:
    """Above the wheel, in the frame of the chassis."""
    return p.axle(name) + np.array([0, 0, p.wheel_radius + 0.07])


def draw_knuckle(body, name: str, p: ExoMars) -> None:
    """Steering unit above the wheel, a leg down its inner side, the drive at the axle."""
    top, inner = p.wheel_radius + 0.07, (-1 if name[1] == "l" else 1) * (p.wheel_width / 2 + 0.03)
    _draw(body, CYLINDER, "dark", fromto=[0, 0, top - 0.04, 0, 0, top + 0.04], size=[0.035, 0, 0])
    _bar(body, [0, 0, top - 0.03], [0, inner, top - 0.05])
    _bar(body, [0, inner, top - 0.05], [0, inner, 0])
    _draw(body, CYLINDER, "dark", fromto=[0, inner, 0, 0, -inner * 0.2, 0], size=[0.035, 0, 0])


def draw_wheel(body, p: ExoMars) -> None:
    """Rim, hub and grousers."""
    half = p.wheel_width / 2
    _draw(body, CYLINDER, "metal", fromto=[0, -half, 0, 0, half, 0], size=[p.wheel_radius, 0, 0])
    _draw(body, CYLINDER, "dark", fromto=[0, -half - 0.004, 0, 0, half + 0.004, 0], size=[0.45 * p.wheel_radius, 0, 0])
    for angle in 2 * np.pi * np.arange(int(p.grouser_count)) / max(int(p.grouser_count), 1):
        out = np.array([np.cos(angle), 0, np.sin(angle)])
        _draw(
            body, BOX, "dark", pos=out * (p.wheel_radius + p.grouser_height / 2),
            xyaxes=[*out, 0, 1, 0], size=[max(p.grouser_height, 1e-4) / 2, half, p.grouser_width / 2],
        )  # fmt: skip
