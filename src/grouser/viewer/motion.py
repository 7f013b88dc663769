"""Poses, forces and paths of bodies, read from a recording."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from grouser.recording import Recording
from grouser.recording.selection import axis_names, split

if TYPE_CHECKING:
    from grouser.module import Shape

BODIES = "body/pose"
DIRECTIONS = 400  # in which the outermost vertices of a shape are looked for
LOWEST = 0.02  # of its height: points of a body this close to its lowest one count as lowest
STEEP = 0.2  # share of the vertical in a force above which its line is followed down to the ground
NO_BODY = -1  # for a force on what is not a body, such as a link of a track
CONTACT = 10  # numbers of a contact: point, force, depth, kind, part, and piece or, below 0, another part
WHEEL_PLACE = "wheel_place"  # channel of the places of a track's wheels
PATH_POINTS = 600  # largest number of points of a path


class Follow(NamedTuple):
    """The channel of poses that a shape follows."""

    channel: str
    place: int | None  # index along the first axis; None: all poses


class RecordedMotion:
    """Poses of one world at any time, interpolated between frames."""

    def __init__(self, recording: Recording, world: int = 0):
        self.recording, self.world = recording, world
        self.bodies = recording.channel_info(BODIES).labels if BODIES in recording else ()
        self._whole_paths: dict[str, tuple[int, np.ndarray]] = {}  # frames read, positions [m], (point, 3)

    def follow(self, shape: Shape) -> Follow | None:
        """What a shape follows; None for a fixed shape."""
        if not shape.follows:
            return None
        name, inside = split(shape.follows)
        channel = self.recording.channel_info(name)
        if not inside:
            return Follow(name, None)
        return Follow(name, axis_names(channel, 0).index(inside))

    def frame(self, time: float) -> tuple[int, float]:
        """The frame at or before `time` [s], and the position of `time` between it and the next frame, 0 to 1."""
        times = self.recording.time
        k = int(np.clip(np.searchsorted(times, time, side="right") - 1, 0, len(times) - 1))
        if k + 1 >= len(times):
            return k, 0.0
        return k, float(np.clip((time - times[k]) / (times[k + 1] - times[k]), 0, 1))

    def poses(self, channel: str, time: float) -> np.ndarray:
        """Poses, (n, 7), of a channel: x, y, z [m], quaternion x, y, z, w."""
        if not len(self.recording):
            return np.zeros((0, 7))
        k, share = self.frame(time)
        rows = self._world(self.recording.read(channel, slice(k, k + 2)))
        here = np.asarray(rows[0]).reshape(-1, 7)
        if len(rows) < 2 or share == 0 or len(rows[1]) != len(rows[0]):
            return here
        return interpolated(here, np.asarray(rows[1]).reshape(-1, 7), share)

    def _world(self, rows):
        if self.recording.worlds == 1:
            return rows
        return [frame[self.world] for frame in rows]

    @cached_property
    def arrows(self) -> list[Arrows]:
        """Channels of forces: those on bodies, and those with points of application."""
        found = []
        for name in self.recording.names():
            group, _, kind = name.rpartition("/")
            channel = self.recording.channel_info(name)
            if not (kind in ("force", "wrench") or kind.endswith("_force")) or channel.kind != "fixed":
                continue
            if len(channel.shape) != 2 or channel.shape[1] not in (3, 6) or channel.frame != "world":
                continue
            places = [self._body(label) for label in channel.labels]
            point = self._known(f"{group}/{kind.removesuffix('force').removesuffix('wrench')}point")
            contacts = self._known(f"{group}/contacts")
            if point or (kind in ("force", "wrench") and places and None not in places):
                bodies = np.array([NO_BODY if place is None else place for place in places])
                on_ground = bool(self._known(f"{group}/sinkage"))
                turns = on_ground or (point and None not in places)
                torque = self._known(f"{group}/torque") if turns else ""
                found.append(Arrows(name, bodies, point, contacts, torque, on_ground))
        return found

    def _known(self, name: str) -> str:
        """The name of a channel if it is recorded, else nothing."""
        return name if name in self.recording else ""

    def _body(self, label: str) -> int | None:
        """Index of the body that a label names: `wheel_fl`, or `wheel_fl/rocks` for the force on the first of two."""
        for words in (label, label.split("/")[0]):
            if words in self.bodies:
                return self.bodies.index(words)
        return None

    def _row(self, channel: str, k: int) -> np.ndarray:
        """Values of a channel in frame k, in this world."""
        return np.asarray(self._world(self.recording.read(channel, slice(k, k + 1)))[0])

    def forces(self, time: float) -> tuple[np.ndarray, np.ndarray]:
        """Points of application [m] and forces [N], (n, 3) each, in world axes."""
        starts, forces = [np.zeros((0, 3))], [np.zeros((0, 3))]
        if len(self.recording):
            k, _ = self.frame(time)
            poses = self.poses(BODIES, float(self.recording.time[k])) if self.arrows else np.zeros((0, 7))
            for arrows in self.arrows:
                if arrows.contacts:
                    at, pushed = self._contact_forces(arrows.contacts, k)
                    starts.append(at)
                    forces.append(pushed)
                    continue
                forces.append(self._row(arrows.channel, k)[:, :3])
                if arrows.point:
                    at = self._row(arrows.point, k)
                    if arrows.torque:
                        torques = self._row(arrows.torque, k)
                        at = on_lines(at, poses[arrows.bodies, :3], forces[-1], torques)
                    starts.append(at)
                elif arrows.on_ground:
                    starts.append(self._pressed_points(arrows, poses, forces[-1], k))
                else:
                    starts.append(poses[arrows.bodies, :3])
        return np.nan_to_num(np.concatenate(starts)), np.nan_to_num(np.concatenate(forces))

    def _contact_forces(self, channel: str, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Points and forces of a list of contacts. Between two parts there are two forces, one on each."""
        rows = self._row(channel, k).reshape(-1, CONTACT)
        between = rows[rows[:, CONTACT - 1] < 0]
        return np.concatenate([rows[:, :3], between[:, :3]]), np.concatenate([rows[:, 3:6], -between[:, 3:6]])

    def _pressed_points(self, arrows: Arrows, poses: np.ndarray, forces: np.ndarray, k: int) -> np.ndarray:
        """Where the ground pushes on bodies [m], (n, 3): where the line of each force meets the body's lowest height.

        Without a recorded torque, or where the line is nearly level, it is the middle of the body's lowest points.
        """
        torques = np.zeros_like(forces)
        if arrows.torque:
            torques = np.nan_to_num(self._row(arrows.torque, k))
        found = np.empty_like(forces)
        for n, (body, force, torque) in enumerate(zip(arrows.bodies, forces, torques, strict=True)):
            origin = poses[body, :3]
            points = self._outlines[int(body)] @ rotation_matrix(poses[body, 3:]).T + origin
            low, high = points.min(axis=0), points.max(axis=0)
            lowest = points[points[:, 2] <= low[2] + LOWEST * (high[2] - low[2])]
            found[n] = [*lowest[:, :2].mean(axis=0), low[2]]
            if arrows.torque and abs(force[2]) > STEEP * np.linalg.norm(force):
                line = origin + np.cross(force, torque) / (force @ force)  # a point of the line on which the force acts
                found[n, :2] = np.clip((line + force * ((low[2] - line[2]) / force[2]))[:2], low[:2], high[:2])
        return found

    @cached_property
    def _outlines(self) -> dict[int, np.ndarray]:
        """The outermost vertices [m], (n, 3), of each body's shapes in its own axes; its origin if it has none."""
        vertices: dict[int, list[np.ndarray]] = {k: [] for k in range(len(self.bodies))}
        for shape in self.recording.shapes():
            follow = self.follow(shape)
            if follow is not None and follow.channel == BODIES and follow.place is not None and len(shape.vertices):
                vertices[follow.place].append(np.asarray(shape.vertices, float))
        return {k: outermost(np.concatenate(own)) if own else np.zeros((1, 3)) for k, own in vertices.items()}

    def loaded_bodies(self) -> list[str]:
        """Bodies whose forces are recorded."""
        places = dict.fromkeys(int(k) for arrows in self.arrows for k in arrows.bodies if k != NO_BODY)
        return [self.bodies[k] for k in places]

    # ---- tracks -------------------------------------------------------------------------------------

    @cached_property
    def tracks(self) -> list[str]:
        """Tracks, by the first part of the names of their channels: `track/left`."""
        return [name.removesuffix(f"/{WHEEL_PLACE}") for name in self.recording.names() if name.endswith(WHEEL_PLACE)]

    @cached_property
    def track_wheels(self) -> dict[str, Follow]:
        """Wheels of tracks by name, `track/left/sprocket`, and where their places stand."""
        found = {}
        for track in self.tracks:
            labels = self.recording.channel_info(f"{track}/{WHEEL_PLACE}").labels
            found |= {f"{track}/{label}": Follow(f"{track}/{WHEEL_PLACE}", k) for k, label in enumerate(labels)}
        return found

    def place(self, name: str, time: float) -> np.ndarray:
        """Position [m], (3,) of a body or of a wheel of a track."""
        if name in self.bodies:
            return self.poses(BODIES, time)[self.bodies.index(name), :3]
        follow = self.track_wheels[name]
        k, share = self.frame(max(time, float(self.recording.time[:2][-1])))  # tracks place wheels in the first step
        rows = self._world(self.recording.read(follow.channel, slice(k, k + 2)))
        here, then = (np.asarray(row)[follow.place] for row in (rows[0], rows[-1]))
        return (1 - share) * here + share * then

    # ---- paths --------------------------------------------------------------------------------------

    def trails(self) -> list[str]:
        """What leaves a path: bodies whose forces are recorded, and tracks."""
        return [*self.loaded_bodies(), *self.tracks]

    def path(self, name: str, until: float = math.inf) -> tuple[np.ndarray, np.ndarray]:
        """Times [s] (n,) and positions [m] (n, 3) of a body, or of the middle of a track's links, thinned.

        Up to `until` [s].
        """
        recording, length = self.recording, len(self.recording)
        stride = max(1, math.ceil(length / PATH_POINTS))
        # Whole paths are kept: of a kilometre it takes a tenth of a second to read one.
        if name not in self._whole_paths or self._whole_paths[name][0] != length:
            track = name in self.tracks
            values = recording.read(f"{name}/pose" if track else f"{BODIES}[{name}]", slice(0, length, stride))
            if recording.worlds > 1:
                values = values[:, self.world]
            self._whole_paths[name] = length, values[..., :3].mean(axis=1) if track else values[:, :3]
        times = recording.time[0:length:stride]
        stop = int(np.searchsorted(times, until, side="right"))
        return times[:stop], self._whole_paths[name][1][:stop]

    def force_on(self, name: str, time: float) -> np.ndarray:
        """Sum of the recorded forces [N], (3,) on a body or a track."""
        k, _ = self.frame(time)
        if name in self.tracks:
            rows = [self._row(a.channel, k) for a in self.arrows if a.channel.rpartition("/")[0] == name]
        else:
            place = self.bodies.index(name)
            rows = [self._row(a.channel, k)[a.bodies == place] for a in self.arrows]
        return sum((np.nan_to_num(row[:, :3]).sum(axis=0) for row in rows), np.zeros(3))

    def main(self, shapes: list[Shape]) -> str:
        """The body that represents the robot: the first that is drawn."""
        drawn = {self.bodies[f.place] for f in map(self.follow, shapes) if f and f.place is not None and f[0] == BODIES}
        return next((body for body in self.bodies if body in drawn), self.bodies[0] if self.bodies else "")


class Arrows(NamedTuple):
    """A channel of forces and the bodies they act on."""

    channel: str
    bodies: np.ndarray  # index of each, or NO_BODY
    point: str  # channel of the points of application, if any
    contacts: str  # channel of a list of contacts with their own points and forces, if any
    torque: str  # channel of the torques about the bodies' origins, if any
    on_ground: bool  # whether the ground pushes, from below


def on_lines(points: np.ndarray, origins: np.ndarray, forces: np.ndarray, torques: np.ndarray) -> np.ndarray:
    """The points [m], (n, 3) nearest to `points` on the lines along which forces act that have these torques [N m].

    Torques are about `origins` [m]. Where a force acts is known only to its line; the centre of pressure says where
    along it, and is a little beside it where the pressure varies within a polygon.
    """
    size = (forces**2).sum(axis=1, keepdims=True)
    pushed = size[:, 0] > 0
    size = np.where(size > 0, size, 1.0)
    line = origins + np.cross(forces, torques) / size
    found = line + forces * (((points - line) * forces).sum(axis=1, keepdims=True) / size)
    return np.where(pushed[:, None], found, points)


def outermost(vertices: np.ndarray) -> np.ndarray:
    """The vertices (n, 3) that are farthest in any of many directions, and thus the lowest ones in any pose."""
    turns = np.arange(DIRECTIONS) + 0.5
    height, around = 1 - 2 * turns / DIRECTIONS, math.pi * (1 + math.sqrt(5)) * turns  # a spiral over the sphere
    level = np.sqrt(1 - height**2)
    directions = np.stack([level * np.cos(around), level * np.sin(around), height], axis=1)
    if len(vertices) <= DIRECTIONS:
        return vertices
    return vertices[np.unique((vertices @ directions.T).argmax(axis=0))]


def interpolated(a: np.ndarray, b: np.ndarray, share: float) -> np.ndarray:
    """Interpolate between poses a and b, (n, 7): positions linearly, quaternions by the shorter rotation."""
    sign = np.where((a[:, 3:] * b[:, 3:]).sum(axis=1, keepdims=True) < 0, -1.0, 1.0)
    mixed = np.hstack([(1 - share) * a[:, :3] + share * b[:, :3], (1 - share) * a[:, 3:] + share * sign * b[:, 3:]])
    mixed[:, 3:] /= np.maximum(np.linalg.norm(mixed[:, 3:], axis=1, keepdims=True), 1e-12)
    return mixed


def rotation_matrix(quaternion: np.ndarray) -> np.ndarray:
    """Rotation matrix, (3, 3), of a quaternion x, y, z, w."""
    x, y, z, w = quaternion
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )
