"""Draws a recording with viser at any time: ground, shapes, forces, paths. Sends only what has changed."""

from __future__ import annotations

import math
import time as clock
from collections.abc import Callable
from functools import cache
from io import BytesIO
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from grouser.recording import Recording
from grouser.viewer import glb, light
from grouser.viewer.cameras import Cameras
from grouser.viewer.colours import Scale, srgb
from grouser.viewer.ground import Cell, GroundView, Patch
from grouser.viewer.motion import RecordedMotion
from grouser.viewer.pressure import Pressure

if TYPE_CHECKING:
    import viser

PUSH_COLOUR = (196, 16, 8)
PATH_COLOURS = ((43, 108, 153), (209, 84, 63), (63, 143, 95), (224, 160, 48), (122, 91, 166), (90, 107, 120))
MOST_ARROWS = 60
MANY_ARROWS = 30  # more than this are drawn thin
LEAST_ARROW, ARROW_CHANGE = 0.02, 0.02  # of the robot's size: shorter arrows and smaller changes are not drawn
COMB = 60  # approximate number of force vectors along a path
WORLD = "/world"  # frame of what has a place on the ground
SKY_RADIUS = 500.0  # [m]; browsers draw up to 1000 m
SKY_STEP = 20.0  # [m] the robot goes before the sky follows it
SUNLIGHT, SKYLIGHT = 2.4, 2.2  # intensities of the lights on shapes
SHADOW = 0.5  # darkness of shadows on the ground
LINGER = 0.25  # [s] a patch of ground stays after the next version of it was sent, which a browser has to read first
DARK_EDGE = 0.75  # brightness of the lower end of the walls below patches, of that of the upper end


class Scene:
    """One recording in one viser scene (of a client or of the server)."""

    def __init__(
        self,
        recording: Recording,
        api: viser.SceneApi,
        *,
        stride: int = 1,
        texture: Texture | None = None,
        follows: bool = True,
        carried: bool = False,
    ):
        """`stride`: draw every n-th node of the fine ground. `follows`: in a long recording the ground around the robot
        is drawn node by node, wherever it is; else all of it as coarse as the rest. `carried`: the world moves below
        the robot, which stays at the origin: for pages whose camera cannot be moved.
        """
        self.follows, self.carried = follows, carried
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
        self._world = api.add_frame(WORLD, show_axes=False)  # parent of all that has a place on the ground
        self._nodes = [self._added(k) for k in range(len(self.shapes))]
        self._arrows: dict[int, tuple[Any, np.ndarray]] = {}  # node and vector drawn [m]
        self._paths: dict[str, Any] = {}
        self._paths_until = -math.inf
        self.path_period = 1.0  # [s] of the recording after which paths are drawn anew
        self._newtons = self._largest_force()
        self._picture = b""
        self._versions = 0  # of patches of ground sent so far
        self._outdated: list[tuple[float, Any]] = []  # time [s] of the next version, and the node
        api.set_up_direction("+z")
        self._light_up()
        self.lay_texture(self.texture.size if self.texture else sand_size(self.cameras.size))

    def _light_up(self) -> None:
        """Sun with shadows, light of the sky, and the sky."""
        self.api.configure_default_lights(enabled=False)
        self.api.configure_environment_map(None)
        x, y, z = light.SUN.tolist()
        self.api.add_light_directional("/light/sun", intensity=SUNLIGHT, cast_shadow=True, position=(x, y, z))
        self.api.add_light_hemisphere(
            "/light/sky", sky_color=(226, 232, 240), ground_color=(190, 170, 140), intensity=SKYLIGHT
        )
        vertices, triangles, colours = sky(SKY_RADIUS)
        self.sky = self.api.add_glb(
            "/sky", glb.mesh(vertices, triangles, colours), cast_shadow=False, receive_shadow=False
        )
        self._sky_at = np.zeros(3)  # [m]

    def _stay_near(self, time: float) -> None:
        """Keep the sky around the robot, which may be far from the origin and high above it; or carry the world."""
        if not self.cameras.main or not len(self.recording):
            return
        place = self.cameras.place(time)
        if self.carried:
            self._world.position = -np.array(place, float)
        elif np.linalg.norm(place - self._sky_at) > SKY_STEP:
            self.sky.position = self._sky_at = np.array(place, float)

    # ---- shapes -------------------------------------------------------------------------------------

    def _added(self, k: int) -> Any:
        shape, follow = self.shapes[k], self.motion.follow(self.shapes[k])
        red, green, blue, alpha = shape.colour
        colour = (round(255 * red), round(255 * green), round(255 * blue))
        style: dict[str, Any] = {"opacity": None if alpha >= 1 else alpha, "side": "double", "receive_shadow": False}
        name = f"{WORLD}/shapes/{k}"
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
        self.texture = None
        if size > 0:
            self.texture = Texture(self._picture, size) if self._picture else Texture(sand(), size, SAND_MEAN)
        self._stamps.clear()

    def _draw_ground(self, time: float) -> int:
        """Draw the cells of the ground that changed. Returns their number."""
        if self.ground is None:
            return 0
        self.ground.refresh()
        if self.follows and self.cameras.main and len(self.recording):
            x, y, _ = self.cameras.place(time)
            self.ground.look_at(float(x), float(y))
        for gone in self._cells.keys() - self.ground.cells:  # drawn cells that no longer exist
            self._outdate(self._cells.pop(gone))
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
        """Send a version of a patch. The one before stays a while: a node whose mesh is replaced is blank meanwhile."""
        if cell in self._cells:
            self._outdate(self._cells[cell])
        self._versions += 1
        name = f"{WORLD}/ground/{cell.level}_{cell.row}_{cell.column}_{self._versions}"
        self._cells[cell] = self.api.add_glb(name, data, cast_shadow=False, receive_shadow=SHADOW)

    def _outdate(self, node: Any) -> None:
        self._outdated.append((clock.perf_counter(), node))

    def tidy(self, linger: float = LINGER) -> None:
        """Remove patches of ground that were replaced more than `linger` [s] ago."""
        until = clock.perf_counter() - linger
        while self._outdated and self._outdated[0][0] <= until:
            self._outdated.pop(0)[1].remove()

    def _glb(self, cell: Cell, patch: Patch, scale: Scale, time: float) -> bytes:
        assert self.ground is not None
        ny, nx = patch.heights.shape
        values = patch.heights if scale.field == "height" else patch.first - patch.heights
        if scale.field == "pressure" and self.pressure is not None:
            values = self.pressure.at(cell, patch, time)
        x, y = np.meshgrid(patch.x, patch.y)
        vertices = np.stack([x, y, patch.heights], -1).reshape(-1, 3)
        shown = srgb(scale.field, scale.share(values)) * light.shade(patch.normals)[..., None]
        colours = light.before_aces(shown).reshape(-1, 3)
        # Neighbours of another resolution meet only at their common nodes: walls below the edges close the gaps.
        around, wall = glb.skirt_triangles(ny, nx)
        below = vertices[around].copy()
        below[:, 2] = self.ground.bottom
        vertices = np.concatenate([vertices, below])
        triangles = np.concatenate([glb.grid_triangles(ny, nx), wall])
        colours = np.concatenate([colours, DARK_EDGE * colours[around]])
        if self.texture is None:
            return glb.mesh(vertices, triangles, colours)
        places = vertices[:, :2] / self.texture.size
        return glb.mesh(vertices, triangles, colours / self.texture.mean, self.texture.picture, places)

    # ---- forces and paths ---------------------------------------------------------------------------

    def _largest_force(self) -> float:
        """Force [N] drawn a good quarter as long as the robot: the third quartile of a hundred frames.

        Impacts are drawn longer; they do not make all other arrows short.
        """
        count = len(self.recording)
        if not self.motion.arrows or not count:
            return 1.0
        picked = np.unique(np.linspace(0, count - 1, min(count, 100)).astype(int))
        forces = [self.motion.forces(float(self.recording.time[k]))[1] for k in picked]
        sizes = [np.linalg.norm(force, axis=1).max(initial=0.0) for force in forces]  # there may be no contact
        return max(float(np.percentile(sizes, 75)), 1e-6)

    def _arrow_ends(self, starts: np.ndarray, forces: np.ndarray, size: float = 0.6) -> np.ndarray:
        return np.stack([starts, starts + forces * (size * self.cameras.size / self._newtons)], axis=1)

    def _draw_forces(self, time: float) -> None:
        """Draw one arrow per force. Arrows are moved, which is cheap, and redrawn only if the force changed visibly."""
        if not self.motion.arrows:
            return
        starts, forces = self.motion.forces(time)
        vectors = self._arrow_ends(np.zeros_like(starts), forces)[:, 1]
        size = self.cameras.size
        lengths = np.linalg.norm(vectors, axis=1)
        longest = set(np.argsort(-lengths, kind="stable")[:MOST_ARROWS].tolist()) if self.forces_shown else set()
        for k in self._arrows.keys() - set(range(len(vectors))):  # contacts that are no longer there
            self._arrows[k][0].visible = False
        for k, (start, vector) in enumerate(zip(starts, vectors, strict=True)):
            shown = k in longest and lengths[k] > LEAST_ARROW * size
            node, drawn = self._arrows.get(k, (None, np.full(3, np.nan)))
            if not shown:
                if node is not None and node.visible:
                    node.visible = False
                continue
            points = np.stack([np.zeros(3), vector])[None].astype(np.float32)
            if node is None:
                thick = (0.02 if len(vectors) <= MANY_ARROWS else 0.009) * size
                node = self.api.add_arrows(
                    f"{WORLD}/forces/{k}", points, PUSH_COLOUR,
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
        """Redraw the paths after each `path_period`, or if time went back."""
        if self.path_style == "none" or 0 <= time - self._paths_until < self.path_period:
            return
        self._paths_until = time
        for k, body in enumerate(self.motion.trails()):
            times, points = self.motion.path(body, time)
            if len(points) < 2:
                if body in self._paths:
                    self._paths.pop(body).remove()
                continue
            if self.path_style == "vectors":
                self._draw_force_comb(k, body, times, points)
                continue
            colour = PATH_COLOURS[k % len(PATH_COLOURS)]
            vertices, triangles = ribbon(points, 0.008 * self.cameras.size)
            self._paths[body] = self.api.add_mesh_simple(
                f"{WORLD}/ways/{k}",
                vertices,
                triangles,
                color=colour,
                side="double",
                cast_shadow=False,
                receive_shadow=False,
            )

    def _draw_force_comb(self, place: int, body: str, times: np.ndarray, points: np.ndarray) -> None:
        """Draw the force on a body or a track at points of its path."""
        picked = np.unique(np.linspace(0, len(points) - 1, COMB).astype(int))
        forces = np.array([self.motion.force_on(body, float(times[k])) for k in picked])
        ends = self._arrow_ends(points[picked], forces, 0.3).astype(np.float32)
        thin = 0.006 * self.cameras.size
        self._paths[body] = self.api.add_arrows(
            f"{WORLD}/ways/{place}", ends, PATH_COLOURS[place % len(PATH_COLOURS)],
            shaft_radius=thin, head_radius=2 * thin, head_length=4 * thin,
        )  # fmt: skip

    # ---- everything ---------------------------------------------------------------------------------

    def show(self, time: float, ground: bool = True) -> int:
        """Draw the recording at `time` [s]. Returns the number of ground cells sent; none if `ground` is false."""
        self.tidy()
        self._stay_near(time)
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
    mean: float = 1.0  # its brightness, by which the colours of the ground are divided


SAND_MEAN = 0.62  # mean of the linear brightness of `sand`


def sand_size(robot: float) -> float:
    """Side [m] of the pattern of sand, so that its grains can be seen beside a robot of this half size [m]."""
    return float(np.clip(round(1.2 * robot / 0.05) * 0.05, 0.25, 2.0))


@cache
def sand() -> bytes:
    """A PNG of sand grains that can be repeated without visible edges: noise of several grain sizes."""
    from PIL import Image

    count = 256
    wave = np.hypot(*np.meshgrid(np.fft.fftfreq(count), np.fft.fftfreq(count)))  # [1/pixel]
    weight = np.where(wave > 3 / count, np.maximum(wave, 1 / count) ** -0.6, 0) * (wave < 0.35)
    noise = np.fft.ifft2(np.fft.fft2(np.random.default_rng(0).normal(size=(count, count))) * weight).real
    brightness = np.clip(SAND_MEAN * (1 + 0.17 * noise / noise.std()), 0, 1)
    grey = np.where(brightness <= 0.0031308, 12.92 * brightness, 1.055 * brightness ** (1 / 2.4) - 0.055)
    file = BytesIO()
    Image.fromarray((16 * np.round(255 * grey / 16)).clip(0, 255).astype(np.uint8)).save(file, "PNG", optimize=True)
    return file.getvalue()


def sky(radius: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Vertices [m], triangles and linear colours of a sphere: light at the horizon, blue above."""
    height, around = np.meshgrid(
        np.linspace(-math.pi / 2, math.pi / 2, 33), np.linspace(0, 2 * math.pi, 33), indexing="ij"
    )
    up = np.sin(height)
    vertices = radius * np.stack([np.cos(height) * np.cos(around), np.cos(height) * np.sin(around), up], -1)
    share = np.clip(up, 0, 1)[..., None] ** 0.6
    colours = light.before_aces((1 - share) * np.array(light.HORIZON) + share * np.array(light.ZENITH))
    return vertices.reshape(-1, 3), glb.grid_triangles(33, 33), colours.reshape(-1, 3)
