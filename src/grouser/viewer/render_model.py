"""A MuJoCo model for rendering only, made from a recording: shapes on mocap bodies, the ground as a height field."""

from __future__ import annotations

import math
from typing import Any

import mujoco
import numpy as np

from grouser.recording import Recording
from grouser.viewer.cameras import CameraPose, Cameras
from grouser.viewer.colours import Scale, srgb
from grouser.viewer.motion import RecordedMotion

NODES = 400  # largest number of nodes of the height field along its longer side
BASE = 0.2  # [m] thickness of the height field below its lowest point
MOST_COPIES = 600  # largest number of copies of a shape that follows all poses of a channel
FORCE_COLOUR = (0.84, 0.24, 0.16, 1.0)
ARROW = 0.6  # length of the arrow of the largest force / half the robot's size


class RenderModel:
    """Sets bodies and ground to a time. `model` and `data` are for a renderer."""

    def __init__(self, recording: Recording, field: str, width: int, height: int, samples: int):
        self.recording, self.motion = recording, RecordedMotion(recording)
        self.shapes = [shape for shape in recording.shapes() if len(shape.triangles)]
        self.cameras = Cameras(self.motion, self.shapes)
        self.field = field
        fixed = [shape.vertices for shape in self.shapes if not shape.follows]
        self.ground = _Field(recording, self.motion, fixed) if recording.has_terrain else None
        self._copies: list[tuple[str, int | None, int, int]] = []  # channel, place, first mocap body, count
        spec = self._spec(width, height, samples)
        self.model: Any = spec.compile()
        self.data = mujoco.MjData(self.model)
        self.largest = self._largest_force()
        self._last_ground = -math.inf

    def _spec(self, width: int, height: int, samples: int) -> Any:
        spec: Any = mujoco.MjSpec()
        spec.visual.global_.offwidth, spec.visual.global_.offheight = width, height
        spec.visual.quality.offsamples = samples
        spec.visual.headlight.ambient = [0.42, 0.42, 0.42]
        spec.visual.headlight.diffuse = [0.32, 0.32, 0.32]
        spec.visual.headlight.specular = [0, 0, 0]
        spec.visual.map.znear, spec.visual.map.zfar = 0.004, 60
        spec.stat.extent, spec.stat.center = max(2 * self.cameras.size, 0.5), [0, 0, 0]
        spec.add_texture(
            name="sky", type=mujoco.mjtTexture.mjTEXTURE_SKYBOX, builtin=mujoco.mjtBuiltin.mjBUILTIN_GRADIENT,
            rgb1=[0.93, 0.95, 0.97], rgb2=[0.70, 0.77, 0.84], width=128, height=128,
        )  # fmt: skip
        spec.worldbody.add_light(
            type=mujoco.mjtLightType.mjLIGHT_DIRECTIONAL, dir=[0.4, 0.3, -0.85], diffuse=[0.55, 0.54, 0.5],
            specular=[0.05, 0.05, 0.05], castshadow=True,
        )  # fmt: skip
        mocap = 0
        for k, shape in enumerate(self.shapes):
            spec.add_mesh(
                name=f"shape{k}", uservert=shape.vertices.astype(float).ravel().tolist(),
                userface=shape.triangles.ravel().tolist(), inertia=mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL,
            )  # fmt: skip
            follow = self.motion.follow(shape)
            count = 1 if follow is None or follow.place is not None else self._most(follow.channel)
            bodies = [spec.worldbody] if follow is None else []
            if follow is not None:
                bodies = [spec.worldbody.add_body(mocap=True) for _ in range(count)]
                self._copies.append((follow.channel, follow.place, mocap, count))
                mocap += count
            for body in bodies:
                body.add_geom(
                    type=mujoco.mjtGeom.mjGEOM_MESH, meshname=f"shape{k}", rgba=list(shape.colour), contype=0,
                    conaffinity=0,
                )  # fmt: skip
        if self.ground is not None:
            self.ground.add_to(spec)
        return spec

    def _most(self, channel: str) -> int:
        """Largest number of poses that a channel has in a frame, among a hundred frames."""
        times = self.recording.time
        picked = np.unique(np.linspace(0, len(times) - 1, min(len(times), 100)).astype(int))
        return min(MOST_COPIES, max(1, *(len(self.motion.poses(channel, float(times[k]))) for k in picked)))

    def _largest_force(self) -> float:
        times = self.recording.time
        if not self.motion.arrows or not len(times):
            return 1.0
        picked = np.unique(np.linspace(0, len(times) - 1, min(len(times), 100)).astype(int))
        sizes = [np.linalg.norm(self.motion.forces(float(times[k]))[1], axis=1).max(initial=0.0) for k in picked]
        return max(float(np.percentile(sizes, 75)), 1e-6)

    def place(self, time: float) -> None:
        rows: dict[str, np.ndarray] = {}
        for channel, place, first, count in self._copies:
            if channel not in rows:
                rows[channel] = self.motion.poses(channel, time)
            poses = rows[channel] if place is None else rows[channel][place : place + 1]
            poses = poses[:count]
            chosen = slice(first, first + len(poses))
            self.data.mocap_pos[chosen] = poses[:, :3]
            self.data.mocap_quat[chosen] = poses[:, [6, 3, 4, 5]]
            self.data.mocap_pos[first + len(poses) : first + count] = (0, 0, -1e3)  # out of sight
        mujoco.mj_kinematics(self.model, self.data)
        mujoco.mj_camlight(self.model, self.data)

    def draw_ground(self, time: float) -> tuple[bool, bool]:
        """Update the ground. Returns whether heights and colours changed and must be uploaded to the renderer."""
        if self.ground is None:
            return False, False
        return self.ground.draw(self.model, time, self.field)

    def add_forces(self, scene: Any, time: float) -> None:
        starts, forces = self.motion.forces(time)
        size = self.cameras.size
        for start, force in zip(starts, forces, strict=True):
            end = start + force * (ARROW * size / self.largest)
            tip = start + 2 * (end - start)  # MuJoCo draws an arrow half as long as the distance of its ends
            if np.linalg.norm(end - start) < 0.02 * size or scene.ngeom >= scene.maxgeom:
                continue
            geom = scene.geoms[scene.ngeom]
            colour = np.array(FORCE_COLOUR, np.float32)
            kind = mujoco.mjtGeom.mjGEOM_ARROW
            mujoco.mjv_initGeom(geom, kind, np.zeros(3), np.zeros(3), np.eye(3).ravel(), colour)
            mujoco.mjv_connector(geom, kind, 0.012 * size, start, tip)
            scene.ngeom += 1

    def camera_pose(self, camera: str, time: float, wheel: str = "") -> CameraPose:
        return self.cameras.camera_pose(camera, time, wheel)


class _Field:
    """The ground around the paths of the bodies, as a height field with a texture."""

    def __init__(self, recording: Recording, motion: RecordedMotion, fixed: list[np.ndarray]):
        self.recording = recording
        x0, x1, y0, y1 = self._region(motion, fixed)
        x, y, heights, first = recording.surface_at(math.inf, (x0, x1, y0, y1), max_nodes=NODES * NODES)
        self.region, self.first = (float(x[0]), float(x[-1]), float(y[0]), float(y[-1])), first
        self.shape = heights.shape
        every = [heights, first]
        self.low = min(float(z.min()) for z in every) - 0.25 * float(np.ptp(np.stack(every))) - 0.02
        self.high = max(float(z.max()) for z in every) + 0.25 * float(np.ptp(np.stack(every))) + 0.02
        deepest = max(float((first - heights).max()), 0.02)
        low, high = float(first.min()), float(first.max())
        middle, half = (low + high) / 2, max((high - low) / 2, 0.05)
        self.scales = {
            "sinkage": Scale("sinkage", -deepest / 3, deepest),
            "height": Scale("height", middle - half, middle + half),
            "plain": Scale("plain", 0, 1),
        }
        self._shown: tuple[float, ...] = ()

    def _region(self, motion: RecordedMotion, fixed: list[np.ndarray]) -> tuple[float, float, float, float]:
        """Region [m] around the paths of all loaded bodies and below fixed shapes such as rocks, within the terrain."""
        (ox, oy), spacing = self.recording.terrain_place()
        ny, nx = self.recording.terrain_shape()
        whole = np.array([ox, ox + spacing * (nx - 1), oy, oy + spacing * (ny - 1)])
        paths = [motion.path(body)[1] for body in motion.loaded_bodies()] if len(self.recording) else []
        if not paths:
            return tuple(whole)  # type: ignore[return-value]
        points = np.concatenate(paths)
        reach = 1.2 + 0.25 * float(np.ptp(points[:, :2], axis=0).max())
        low, high = points[:, :2].min(axis=0) - reach, points[:, :2].max(axis=0) + reach
        for vertices in fixed:
            low, high = np.minimum(low, vertices[:, :2].min(axis=0)), np.maximum(high, vertices[:, :2].max(axis=0))
        return (
            max(whole[0], low[0]), min(whole[1], high[0]), max(whole[2], low[1]), min(whole[3], high[1]),
        )  # fmt: skip

    def add_to(self, spec: Any) -> None:
        rows, columns = self.shape
        x0, x1, y0, y1 = self.region
        spec.add_hfield(
            name="ground", nrow=rows, ncol=columns, userdata=np.zeros(rows * columns).tolist(),
            size=[(x1 - x0) / 2, (y1 - y0) / 2, self.high - self.low, BASE],
        )  # fmt: skip
        spec.add_texture(
            name="ground", type=mujoco.mjtTexture.mjTEXTURE_2D, builtin=mujoco.mjtBuiltin.mjBUILTIN_FLAT,
            rgb1=[0.8, 0.67, 0.48], width=columns, height=rows,
        )  # fmt: skip
        material = spec.add_material(name="ground", specular=0.0, shininess=0.0, texuniform=False)
        material.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = "ground"
        spec.worldbody.add_geom(
            type=mujoco.mjtGeom.mjGEOM_HFIELD, hfieldname="ground", material="ground", contype=0, conaffinity=0,
            pos=[(x0 + x1) / 2, (y0 + y1) / 2, self.low],
        )  # fmt: skip

    def draw(self, model: Any, time: float, field: str) -> tuple[bool, bool]:
        stamp = tuple(self.recording.tile_time()[self.recording.tile_time() <= time + 1e-9][-1:])
        if self._shown and self._shown == (1.0, *stamp):
            return False, False
        self._shown = (1.0, *stamp)
        _, _, heights, _ = self.recording.surface_at(time, self.region, max_nodes=NODES * NODES)
        heights = heights[: self.shape[0], : self.shape[1]]
        model.hfield_data[:] = ((heights - self.low) / (self.high - self.low)).ravel()
        scale = self.scales.get(field, self.scales["plain"])
        values = heights if scale.field == "height" else self.first - heights
        colours = np.round(255 * srgb(scale.field, scale.share(values))).astype(np.uint8)
        texture = model.texture("ground").id
        start = int(model.tex_adr[texture])
        model.tex_data[start : start + colours.size] = colours[::-1].ravel()  # rows of an image run downwards
        return True, True
