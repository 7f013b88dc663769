"""Draws a recording with viser at any time: ground, shapes, forces, paths. Sends only what has changed."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from io import BytesIO
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from grouser.recording import Recording
from grouser.viewer import glb
from grouser.viewer.cameras import Cameras
from grouser.viewer.colours import Scale, srgb
from grouser.viewer.ground import Cell, GroundView, Patch
from grouser.viewer.motion import RecordedMotion
from grouser.viewer.pressure import Pressure

if TYPE_CHECKING:
    import viser

PUSH_COLOUR = (214, 60, 40)
PATH_COLOURS = ((43, 108, 153), (209, 84, 63), (63, 143, 95), (224, 160, 48), (122, 91, 166), (90, 107, 120))
MOST_ARROWS = 60
LEAST_ARROW, ARROW_CHANGE = 0.02, 0.02  # of the robot's size: shorter arrows and smaller changes are not drawn
COMB = 60  # approximate number of force vectors along a path
SKY = (226, 232, 238)


class Scene:
    """One recording in one viser scene (of a client or of the server)."""

    def __init__(self, recording: Recording, api: viser.SceneApi, *, stride: int = 1, texture: Texture | None = None):
        """`stride`: draw every n-th node of the fine ground."""
        self.recording, self.api, self.stride, self.texture = recording, api, stride, texture
        self.shapes = recording.shapes()
        self.motion = RecordedMotion(recording)
        self.cameras = Cameras(self.motion, self.shapes)
        self.ground = GroundView(recording) if recording.has_terrain else None
        self.pressure = Pressure(self.ground, self.motion) if self.ground else None
        self.field, self.scales = "sinkage", dict[str, Scale]()
        self.forces_shown, self.path_style = True, "lines"
        self._stamps: dict[Cell, tuple[Any, ...]] = {}
        self._cells: dict[Cell, Any] = {}
        self._nodes = [self._added(k) for k in range(len(self.shapes))]
        self._arrows: dict[int, tuple[Any, np.ndarray]] = {}  # node and vector drawn [m]
        self._paths: dict[str, Any] = {}
        self._paths_until = -math.inf
        self._newtons = self._largest_force()
        self._picture = b""
        api.set_up_direction("+z")
        api.configure_default_lights(cast_shadow=False)

    # ---- shapes -------------------------------------------------------------------------------------

    def _added(self, k: int) -> Any:
        shape, follow = self.shapes[k], self.motion.follow(self.shapes[k])
        red, green, blue, alpha = shape.colour
        colour = (round(255 * red), round(255 * green), round(255 * blue))
        style: dict[str, Any] = {"opacity": None if alpha >= 1 else alpha, "side": "double"}
        name = f"/shapes/{k}"
        if follow is not None and follow.place is None:
            return self.api.add_batched_meshes_simple(
                name, shape.vertices, shape.triangles, np.tile((1.0, 0, 0, 0), (1, 1)), np.zeros((1, 3)),
                batched_colors=colour, lod="off", flat_shading=True, **style,
            )  # fmt: skip
        return self.api.add_mesh_simple(
            name, shape.vertices, shape.triangles, color=colour, flat_shading=len(shape.triangles) < 20000, **style
        )

    def _place_shapes(self, time: float) -> None:
        rows: dict[str, np.ndarray] = {}
        for shape, node in zip(self.shapes, self._nodes, strict=True):
            follow = self.motion.follow(shape)
            if follow is None:
                continue
            if follow.channel not in rows:
                rows[follow.channel] = self.motion.poses(follow.channel, time)
            poses = rows[follow.channel]
            if follow.place is None:
                node.batched_positions = poses[:, :3].astype(np.float32)
                node.batched_wxyzs = poses[:, [6, 3, 4, 5]].astype(np.float32)
                node.visible = bool(len(poses))
            elif len(poses):
                node.position, node.wxyz = poses[follow.place, :3], poses[follow.place, [6, 3, 4, 5]]

    # ---- ground -------------------------------------------------------------------------------------

    def scale(self) -> Scale:
        """Colour scale of the chosen field over the whole recording so far."""
        if self.field not in self.scales and self.ground is not None:
            ranges: dict[str, Callable[[], tuple[float, float]]] = {
                "height": self.ground.height_range,
                "sinkage": self.ground.sinkage_range,
                "pressure": self.pressure.range if self.pressure else lambda: (0.0, 1.0),
                "plain": lambda: (0.0, 1.0),
            }
            self.scales[self.field] = Scale(self.field, *ranges[self.field]())
        return self.scales.get(self.field, Scale("plain", 0.0, 1.0))

    def begin(self) -> None:
        """Set up the cameras. Call this when the first frames are there, because they determine the robot's size."""
        self.cameras = Cameras(self.motion, self.shapes)
        self.rescale()

    def rescale(self) -> None:
        """Rescale colours and arrows to the recording so far. Redraw the ground only if its colours change visibly."""
        self._newtons = self._largest_force()
        had = self.scales.get(self.field)
        self.scales.clear()
        now = self.scale()
        if had is None or max(abs(had.low - now.low), abs(had.high - now.high)) > 0.05 * (now.high - now.low):
            self._stamps.clear()

    def colour_by(self, field: str) -> None:
        self.field = field
        self._stamps.clear()

    def lay_picture(self, picture: bytes) -> None:
        """Set the PNG used as texture of the ground. If empty, a pattern of sand grains is used."""
        self._picture = picture

    def lay_texture(self, size: float) -> None:
        """Show the texture on the ground with a side length of `size` [m]; 0 removes it."""
        self.texture = Texture(self._picture or sand(), size) if size > 0 else None
        self._stamps.clear()

    def _draw_ground(self, time: float) -> int:
        """Draw the cells of the ground that changed. Returns their number."""
        if self.ground is None:
            return 0
        self.ground.refresh()
        for gone in self._cells.keys() - self.ground.cells:  # drawn cells that no longer exist
            self._cells.pop(gone).remove()
            self._stamps.pop(gone, None)
        scale, drawn = self.scale(), 0
        for cell, stamp in self.ground.stamps(time).items():
            if self._stamps.get(cell) == stamp:
                continue
            self._stamps[cell] = stamp
            self._put(cell, self._glb(cell, self.ground.patch(cell, self.stride), scale, time))
            drawn += 1
        return drawn

    def _put(self, cell: Cell, data: bytes) -> None:
        if cell in self._cells:
            self._cells[cell].glb_data = data
        else:
            name = f"/ground/{cell.level}_{cell.row}_{cell.column}"
            self._cells[cell] = self.api.add_glb(name, data, cast_shadow=False)

    def _glb(self, cell: Cell, patch: Patch, scale: Scale, time: float) -> bytes:
        ny, nx = patch.heights.shape
        values = patch.heights if scale.field == "height" else patch.first - patch.heights
        if scale.field == "pressure" and self.pressure is not None:
            values = self.pressure.at(cell, patch, time)
        x, y = np.meshgrid(patch.x, patch.y)
        vertices = np.stack([x, y, patch.heights], -1).reshape(-1, 3)
        gap = [float(np.diff(axis).mean()) if len(axis) > 1 else 1.0 for axis in (patch.x, patch.y)]
        normals = glb.height_normals(patch.heights, *gap).reshape(-1, 3)
        colours = srgb(scale.field, scale.share(values)).reshape(-1, 3)
        places = vertices[:, :2] / self.texture.size if self.texture else None
        picture = self.texture.picture if self.texture else b""
        return glb.mesh(vertices, glb.grid_triangles(ny, nx), normals, colours, picture, places)

    # ---- forces and paths ---------------------------------------------------------------------------

    def _largest_force(self) -> float:
        """Force [N] drawn a good quarter as long as the robot: the 98th percentile of a hundred frames."""
        count = len(self.recording)
        if not self.motion.arrows or not count:
            return 1.0
        picked = np.unique(np.linspace(0, count - 1, min(count, 100)).astype(int))
        sizes = [np.linalg.norm(self.motion.forces(float(self.recording.time[k]))[1], axis=1).max() for k in picked]
        return max(float(np.percentile(sizes, 98)), 1e-6)

    def _arrow_ends(self, starts: np.ndarray, forces: np.ndarray, size: float = 0.6) -> np.ndarray:
        return np.stack([starts, starts + forces * (size * self.cameras.size / self._newtons)], axis=1)

    def _draw_forces(self, time: float) -> None:
        """Draw one arrow per force. Arrows are moved, which is cheap, and redrawn only if the force changed visibly."""
        if not self.motion.arrows:
            return
        starts, forces = self.motion.forces(time)
        vectors = self._arrow_ends(np.zeros_like(starts), forces)[:, 1]
        size = self.cameras.size
        for k, (start, vector) in enumerate(zip(starts[:MOST_ARROWS], vectors[:MOST_ARROWS], strict=True)):
            shown = self.forces_shown and float(np.linalg.norm(vector)) > LEAST_ARROW * size
            node, drawn = self._arrows.get(k, (None, np.full(3, np.nan)))
            if not shown:
                if node is not None and node.visible:
                    node.visible = False
                continue
            points = np.stack([np.zeros(3), vector])[None].astype(np.float32)
            if node is None:
                thick = 0.02 * size
                node = self.api.add_arrows(
                    f"/forces/{k}", points, PUSH_COLOUR,
                    shaft_radius=thick, head_radius=2.2 * thick, head_length=5 * thick,
                )  # fmt: skip
                self._arrows[k] = node, vector
            elif np.linalg.norm(vector - drawn) > ARROW_CHANGE * size:
                node.points = points
                self._arrows[k] = node, vector
            node.position = start
            if not node.visible:
                node.visible = True

    def show_paths(self, kind: str) -> None:
        """Choose how paths are drawn: "lines", "vectors" (forces along the path) or "none"."""
        self.path_style, self._paths_until = kind, -math.inf
        for node in self._paths.values():
            node.remove()
        self._paths.clear()

    def _draw_paths(self, time: float) -> None:
        """Redraw the paths after each second of the recording, or if time went back."""
        if self.path_style == "none" or 0 <= time - self._paths_until < 1:
            return
        self._paths_until = time
        for k, body in enumerate(self.motion.loaded_bodies()):
            times, points = self.motion.path(body, time)
            if len(points) < 2:
                if body in self._paths:
                    self._paths.pop(body).remove()
                continue
            if self.path_style == "vectors":
                self._draw_force_comb(body, times, points)
                continue
            colour = PATH_COLOURS[k % len(PATH_COLOURS)]
            vertices, triangles = ribbon(points, 0.008 * self.cameras.size)
            self._paths[body] = self.api.add_mesh_simple(
                f"/ways/{k}", vertices, triangles, color=colour, side="double", cast_shadow=False, receive_shadow=False
            )

    def _draw_force_comb(self, body: str, times: np.ndarray, points: np.ndarray) -> None:
        """Draw the force on a body at points of its path."""
        rows = [a for a in self.motion.arrows if self.motion.bodies.index(body) in a.bodies]
        picked = np.unique(np.linspace(0, len(points) - 1, COMB).astype(int))
        place = self.motion.bodies.index(body)
        forces = np.zeros((len(picked), 3))
        for arrows in rows:
            for n, k in enumerate(picked):
                frame, _ = self.motion.frame(float(times[k]))
                values = np.asarray(self.motion._world(self.recording.read(arrows.channel, slice(frame, frame + 1)))[0])
                forces[n] += values[arrows.bodies == place, :3].sum(axis=0)
        ends = self._arrow_ends(points[picked], forces, 0.3).astype(np.float32)
        thin = 0.006 * self.cameras.size
        self._paths[body] = self.api.add_arrows(
            f"/ways/{place}", ends, PATH_COLOURS[place % len(PATH_COLOURS)],
            shaft_radius=thin, head_radius=2 * thin, head_length=4 * thin,
        )  # fmt: skip

    # ---- everything ---------------------------------------------------------------------------------

    def show(self, time: float, ground: bool = True) -> int:
        """Draw the recording at `time` [s]. Returns the number of ground cells sent; none if `ground` is false."""
        self._place_shapes(time)
        self._draw_forces(time)
        self._draw_paths(time)
        return self._draw_ground(time) if ground else 0


def ribbon(points: np.ndarray, width: float) -> tuple[np.ndarray, np.ndarray]:
    """A horizontal strip along points [m], (n, 3). Wide lines are slow in a browser without a GPU."""
    along = np.gradient(points, axis=0)[:, :2]
    length = np.linalg.norm(along, axis=1, keepdims=True)
    along = np.where(length > 1e-9, along / np.maximum(length, 1e-9), (1.0, 0.0))
    aside = 0.5 * width * np.column_stack([-along[:, 1], along[:, 0], np.zeros(len(points))])
    left = 2 * np.arange(len(points) - 1)
    triangles = np.concatenate([np.stack([left, left + 1, left + 3], -1), np.stack([left, left + 3, left + 2], -1)])
    return np.stack([points + aside, points - aside], axis=1).reshape(-1, 3), triangles


class Texture(NamedTuple):
    """An image repeated over the ground."""

    picture: bytes  # PNG
    size: float  # [m] side length


@cache
def sand() -> bytes:
    """A PNG of sand grains that can be repeated without visible edges."""
    from PIL import Image

    rough = np.random.default_rng(0).normal(size=(128, 128))
    smooth = sum(np.roll(rough, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1)) / 3
    grey = np.clip(225 + 14 * rough + 12 * smooth, 0, 255).astype(np.uint8)
    file = BytesIO()
    Image.fromarray(grey).save(file, "PNG")
    return file.getvalue()
