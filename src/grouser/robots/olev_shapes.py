"""Sections r(z) of the docking hardware, and visual shapes of the satellites."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import mujoco
import numpy as np

if TYPE_CHECKING:
    from grouser.robots.olev import Olev

CONVERGENT_DEG = 45.0  # of the chamber's wall before the throat (assumed)
CROWN_LENGTH = 0.036  # [m] of the wires (assumed)
CROWN_TIP = 0.006  # [m] of the bolt beyond the wires (assumed)
CROWN_BASE = 0.0105  # [m] where the wires begin, ahead of the throat's plane when the tool is seated (assumed)
CHAMBER_LENGTH = 0.10  # [m] (assumed)
TOOL_BACK = 0.015  # [m] of the tool's body behind its shoulder that can touch (assumed)
SHOULDER_ARC = (0.02, math.radians(75))  # [rad] of the shoulder, between its normal and the radius (assumed)
TOOL_RADIUS = 0.03  # [m] of the tool behind its shoulder (assumed)

GREY, GOLD, BLUE, DARK, RED = (
    [0.75, 0.76, 0.78, 1], [0.83, 0.66, 0.25, 1], [0.12, 0.2, 0.45, 1], [0.3, 0.3, 0.32, 1], [0.75, 0.25, 0.2, 1],
)  # fmt: skip


def bell_end(p: Olev) -> tuple[float, float]:
    """z and r [m] where the bell meets the rounding of the throat."""
    wide = math.radians(p.nozzle_angle_deg)
    return -p.throat_rounding * math.sin(wide), p.throat_radius + p.throat_rounding * (1 - math.cos(wide))


def bell_radius(p: Olev, z: np.ndarray | float) -> np.ndarray:
    """r [m] of the bell at z [m]: a parabola that leaves the throat's rounding without a kink."""
    end, narrowest = bell_end(p)
    depth, slope = p.nozzle_length + end, math.tan(math.radians(p.nozzle_angle_deg))
    quadratic = (p.exit_radius - narrowest - slope * depth) / depth**2
    d = end - np.asarray(z)
    return narrowest + slope * d + quadratic * d**2


def nozzle_section(p: Olev) -> tuple[np.ndarray, np.ndarray]:
    """z and r [m] of the nozzle's inner wall: exit, bell, rounded throat at z = 0, convergent part, chamber."""
    r_t, rounding = p.throat_radius, p.throat_rounding
    wide, narrow = math.radians(p.nozzle_angle_deg), math.radians(CONVERGENT_DEG)
    arc = np.linspace(-wide, narrow, 25)
    z_arc, r_arc = rounding * np.sin(arc), r_t + rounding * (1 - np.cos(arc))
    z_bell = z_arc[0] - (p.nozzle_length + z_arc[0]) * np.linspace(1, 0, 17)[:-1] ** 1.5
    r_bell = bell_radius(p, z_bell)
    rise = (p.chamber_radius - r_arc[-1]) / math.tan(narrow)
    share = np.linspace(0, 1, 4)[1:]
    z_cone, r_cone = z_arc[-1] + share * rise, r_arc[-1] + share * rise * math.tan(narrow)
    z_end = np.array([CHAMBER_LENGTH])
    return np.concatenate([z_bell, z_arc, z_cone, z_end]), np.concatenate([r_bell, r_arc, r_cone, [p.chamber_radius]])


def seat(p: Olev) -> tuple[float, float]:
    """z [m] and angle [rad] of the nozzle's wall where the shoulder sits."""
    z = np.linspace(-p.nozzle_length, bell_end(p)[0], 2001)
    place = float(np.interp(-p.shoulder_radius, -bell_radius(p, z), z))
    around = 1e-3
    slope = (bell_radius(p, place - around) - bell_radius(p, place + around)) / (2 * around)
    return place, math.atan(float(slope))


def shoulder_centre(p: Olev) -> tuple[float, float]:
    """z and r [m] of the middle of the shoulder's rounding, in the tool's frame."""
    place, angle = seat(p)
    rounding = p.shoulder_rounding
    # The wall's normal points inwards and back.
    return place - rounding * math.sin(angle), p.shoulder_radius - rounding * math.cos(angle)


def tool_section(p: Olev) -> tuple[np.ndarray, np.ndarray]:
    """z and r [m] of the capture tool from its body to the tip of its rounded shoulder, in the tool's frame.

    If the frame's origin is in the plane of the throat, the shoulder just touches the nozzle.
    """
    centre_z, centre_r = shoulder_centre(p)
    arc = np.linspace(*SHOULDER_ARC, 17)
    z_arc, r_arc = centre_z + p.shoulder_rounding * np.sin(arc), centre_r + p.shoulder_rounding * np.cos(arc)
    return np.concatenate([[z_arc[0] - TOOL_BACK], z_arc]), np.concatenate([[r_arc[0]], r_arc])


def crown_section(p: Olev, spread: float, share: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """z and r [m] of the wire crown at `spread` 0 (closed) to 1, in the crown's frame (the tool's if extended).

    `share`, (sample,): where along its length, 0 to 1; evenly at 25 places if not given.
    """
    share = np.linspace(0, 1, 25) if share is None else share
    closed = p.bolt_radius - 2e-4
    r = closed + spread * (p.crown_radius - closed) * np.sin(np.pi * share) ** 2
    return CROWN_BASE + CROWN_LENGTH * share, r


def bolt_shaft(p: Olev) -> tuple[float, float]:
    """z [m] at both ends of the bolt's shaft, in the crown's frame."""
    return seat(p)[0] + 0.012, CROWN_BASE + CROWN_LENGTH


def bolt_section(p: Olev) -> tuple[np.ndarray, np.ndarray]:
    """z and r [m] of the central bolt with its round tip, in the crown's frame."""
    shaft = np.linspace(*bolt_shaft(p), 11)
    share = np.sin(np.linspace(0, math.pi / 2, 9))[1:]
    tip = shaft[-1] + CROWN_TIP * share
    r_tip = p.bolt_radius * np.sqrt(1 - share**2)
    return np.concatenate([shaft, tip]), np.concatenate([np.full(len(shaft), p.bolt_radius), r_tip])


def spread_of(p: Olev, position: float) -> float:
    """Spread (0 to 1) of the crown at a joint position [m], which is negative when pulled back."""
    return min(max(-position / p.crown_spreading, 0.0), 1.0)


def ring_mesh(p: Olev, facets: int = 72) -> tuple[np.ndarray, np.ndarray]:
    """Closed mesh of the launch adapter ring in the client's frame: vertices [m], (vertex, 3), and faces (face, 3)."""
    low, high = p.ring_plane, p.ring_plane + p.ring_height
    corners = [
        (p.ring_radius - p.ring_width / 2, low), (p.ring_radius + p.ring_width / 2, low),
        (p.ring_radius + p.ring_width / 2, high), (p.ring_radius - p.ring_width / 2, high),
    ]  # fmt: skip
    angle = 2 * math.pi * np.arange(facets) / facets
    vertices = np.array([[r * math.cos(a), r * math.sin(a), z] for a in angle for r, z in corners])
    triangles = []
    for k in range(facets):
        for c in range(4):
            a, b = 4 * k + c, 4 * k + (c + 1) % 4
            a2, b2 = (a + 4) % (4 * facets), (b + 4) % (4 * facets)
            triangles += [[a, a2, b], [b, a2, b2]]
    faces = np.array(triangles)
    return vertices, faces if _volume(vertices, faces) > 0 else faces[:, ::-1]


def pad_mesh(p: Olev, cells: int = 6, thickness: float = 0.02) -> tuple[np.ndarray, np.ndarray]:
    """Mesh of a bracket's pad, a block whose upper face at z = 0 is divided into cells: vertices [m] and faces."""
    side = np.linspace(-p.pad_size / 2, p.pad_size / 2, cells + 1)
    top = np.array([[x, y, 0.0] for y in side for x in side])
    bottom = top - [0, 0, thickness]
    n = cells + 1
    faces = []
    for j in range(cells):
        for i in range(cells):
            a = j * n + i
            faces += [[a, a + 1, a + n], [a + 1, a + n + 1, a + n]]
    lower = [[c + n * n, b + n * n, a + n * n] for a, b, c in faces]
    edge = [*range(n), *(j * n + cells for j in range(1, n)), *(cells * n + i for i in range(cells - 1, -1, -1)),
            *(j * n for j in range(cells - 1, 0, -1))]  # fmt: skip
    walls = []
    for a, b in zip(edge, edge[1:] + edge[:1], strict=True):
        walls += [[a, a + n * n, b], [b, a + n * n, b + n * n]]
    vertices, triangles = np.concatenate([top, bottom]), np.array(faces + lower + walls)
    return vertices, triangles


def _volume(vertices: np.ndarray, triangles: np.ndarray) -> float:
    a, b, c = vertices[triangles].transpose(1, 0, 2)
    return float((np.cross(a, b) * c).sum() / 6)


def revolved(z: np.ndarray, r: np.ndarray, facets: int = 32, thickness: float = 0.0):
    """Mesh of a surface of revolution for display: vertices [m] and faces. `thickness` [m] adds a back side."""
    if thickness > 0:
        z, r = np.concatenate([z, z[::-1]]), np.concatenate([r, r[::-1] + thickness])
    else:
        z, r = np.concatenate([[z[0]], z, [z[-1]]]), np.concatenate([[1e-4], r, [1e-4]])
    angle = 2 * math.pi * np.arange(facets) / facets
    count = len(z)
    vertices = np.stack([np.outer(np.cos(angle), r), np.outer(np.sin(angle), r), np.tile(z, (facets, 1))], axis=-1)
    triangles = []
    for k in range(facets):
        for c in range(count if thickness > 0 else count - 1):
            a, b = k * count + c, k * count + (c + 1) % count
            a2, b2 = (k + 1) % facets * count + c, (k + 1) % facets * count + (c + 1) % count
            triangles += [[a, a2, b], [b, a2, b2]]
    points, faces = vertices.reshape(-1, 3), np.array(triangles)
    return points, faces if _volume(points, faces) > 0 else faces[:, ::-1]


def add_materials(spec: mujoco.MjSpec) -> None:
    spec.add_texture(
        name="sky", type=mujoco.mjtTexture.mjTEXTURE_SKYBOX, builtin=mujoco.mjtBuiltin.mjBUILTIN_FLAT,
        rgb1=[0.05, 0.06, 0.1], rgb2=[0.05, 0.06, 0.1], width=8, height=48,
    )  # fmt: skip
    spec.worldbody.add_light(pos=[6, -8, 6], dir=[-0.6, 0.7, -0.4], type=mujoco.mjtLightType.mjLIGHT_DIRECTIONAL)
    spec.worldbody.add_light(pos=[-6, 8, 2], dir=[0.6, -0.7, -0.2], type=mujoco.mjtLightType.mjLIGHT_DIRECTIONAL)


def _draw(body, kind, **more) -> None:
    body.add_geom(type=kind, contype=0, conaffinity=0, mass=0, **more)


def _draw_mesh(spec, body, name: str, mesh: tuple[np.ndarray, np.ndarray], colour) -> None:
    vertices, triangles = mesh
    spec.add_mesh(
        name=name, uservert=vertices.astype(np.float32).ravel(), userface=triangles.astype(np.int32).ravel(),
        inertia=mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL,
    )  # fmt: skip
    _draw(body, mujoco.mjtGeom.mjGEOM_MESH, meshname=name, rgba=colour)


def draw_servicer(body, p: Olev) -> None:
    half = [p.servicer_half_width, p.servicer_half_width, p.servicer_half_height]
    _draw(body, mujoco.mjtGeom.mjGEOM_BOX, size=half, rgba=GOLD)


def draw_client(spec, body, p: Olev) -> None:
    half = [p.client_half_width, p.client_half_width, p.client_half_height]
    _draw(body, mujoco.mjtGeom.mjGEOM_BOX, size=half, rgba=GREY)
    _draw_mesh(spec, body, "ring", ring_mesh(p), DARK)
    z, r = nozzle_section(p)
    points, faces = revolved(z, r, thickness=0.003)
    _draw_mesh(spec, body, "nozzle", (points @ p.nozzle_rotation.T + p.throat, faces), DARK)


def draw_panel(body, middle: float, length: float, width: float) -> None:
    gap = 0.06 * length
    shift = math.copysign(gap / 2, middle)
    _draw(
        body, mujoco.mjtGeom.mjGEOM_BOX, size=[width / 2, (length - gap) / 2, 0.015], pos=[0, middle + shift, 0],
        rgba=BLUE,
    )  # fmt: skip


def draw_bracket(body, p: Olev) -> None:
    half = p.pad_size / 2
    _draw(body, mujoco.mjtGeom.mjGEOM_BOX, size=[half, half, 0.01], pos=[0, 0, -0.01], rgba=RED)
    _draw(
        body, mujoco.mjtGeom.mjGEOM_BOX, size=[0.02, 0.03, (p.bracket_height - 0.02) / 2],
        pos=[0, 0, -(p.bracket_height + 0.02) / 2], rgba=DARK,
    )  # fmt: skip


def draw_stage(body, k: int) -> None:
    radius = 0.05 - 0.01 * k
    reach = (0.45, 1.2, 0.45)[k]
    _draw(body, mujoco.mjtGeom.mjGEOM_CYLINDER, size=[radius, reach / 2, 0], pos=[0, 0, -reach / 2], rgba=DARK)


def draw_tool(spec, body, p: Olev) -> None:
    back = tool_section(p)[0][0]
    behind = p.tool_length + back
    _draw(
        body, mujoco.mjtGeom.mjGEOM_CYLINDER, size=[TOOL_RADIUS, behind / 2, 0], pos=[0, 0, back - behind / 2],
        rgba=GREY,
    )  # fmt: skip
    _draw_mesh(spec, body, "tool", revolved(*tool_section(p)), GREY)


def draw_crown(body, p: Olev) -> None:
    reach = CROWN_BASE + CROWN_LENGTH + CROWN_TIP
    _draw(body, mujoco.mjtGeom.mjGEOM_CAPSULE, size=[p.bolt_radius, reach / 2, 0], pos=[0, 0, reach / 2], rgba=RED)
