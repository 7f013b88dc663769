"""Contact pressure on the ground: for each node, the mean pressure of the body that last lowered it.

Computed from the recorded tiles and the channels `soil/force` and `soil/contact_area`. Nodes that are lower in a tile
than in the previous one are assigned to the nearest body on the soil, whose mean pressure is |force| / area.
"""

from __future__ import annotations

import numpy as np

from grouser.viewer.ground import LEAF, Cell, GroundView, Patch
from grouser.viewer.motion import BODIES, RecordedMotion

FORCE, AREA = "soil/force", "soil/contact_area"
PRESSED = 1e-4  # [m] a node that sinks by more than this between two tiles counts as pressed
KEPT = 256  # number of tiles whose pressures are cached
KILO = 1e-3


class Pressure:
    def __init__(self, ground: GroundView, motion: RecordedMotion):
        self.ground, self.motion = ground, motion
        names = motion.recording.names()
        self.known = FORCE in names and AREA in names
        self._kept: dict[tuple[int, int], tuple[int, np.ndarray, np.ndarray]] = {}  # count, heights, pressure

    def range(self) -> tuple[float, float]:
        """Range [kPa] of the colours: 0 to the 98th percentile of two hundred frames."""
        recording = self.motion.recording
        if not self.known or not len(recording):
            return 0.0, 1.0
        picked = np.unique(np.linspace(0, len(recording) - 1, 200).astype(int))
        values = np.concatenate([self._bodies(float(recording.time[k]))[1] for k in picked])
        return 0.0, max(float(np.percentile(values, 98)), 1e-3)

    def _bodies(self, time: float) -> tuple[np.ndarray, np.ndarray]:
        """Horizontal positions [m], (n, 2), of the bodies on soil, and their mean pressures [kPa], (n,)."""
        motion, recording = self.motion, self.motion.recording
        k, _ = motion.frame(time)
        frame = slice(k, k + 1)
        force = np.asarray(motion._world(recording.read(FORCE, frame))[0])
        area = np.asarray(motion._world(recording.read(AREA, frame))[0])
        labels = recording.channel_info(FORCE).labels
        places = [motion.bodies.index(label) for label in labels if label in motion.bodies]
        known = [k for k, label in enumerate(labels) if label in motion.bodies]
        poses = motion.poses(BODIES, float(recording.time[k]))
        size = np.linalg.norm(force, axis=1)
        pressure = np.where(area > 0, size / np.maximum(area, 1e-9), 0.0) * KILO
        return poses[places, :2], pressure[known]

    def at(self, cell: Cell, patch: Patch, time: float) -> np.ndarray:
        """Pressure [kPa] at the nodes of a patch."""
        values = np.zeros_like(patch.heights)
        ground = self.ground
        if not self.known or not ground.size or cell.level:
            return values
        rows = np.round((patch.y - ground.origin[1]) / ground.spacing).astype(int)
        columns = np.round((patch.x - ground.origin[0]) / ground.spacing).astype(int)
        for r in range(cell.row * LEAF, (cell.row + 1) * LEAF + 1):
            for c in range(cell.column * LEAF, (cell.column + 1) * LEAF + 1):
                row = slice(*np.searchsorted(rows, (r * ground.size, (r + 1) * ground.size)))
                column = slice(*np.searchsorted(columns, (c * ground.size, (c + 1) * ground.size)))
                if row.start == row.stop or column.start == column.stop:
                    continue
                inside = np.ix_(rows[row] - r * ground.size, columns[column] - c * ground.size)
                values[row, column] = self._tile(r, c, time)[inside]
        return values

    def _tile(self, row: int, column: int, time: float) -> np.ndarray:
        """Pressure [kPa], (T, T), of a tile at a time. If time moved forward, continues from the cached result."""
        ground, recording = self.ground, self.ground.recording
        index = recording.tile_index()
        mine = (index[:, 0] == row) & (index[:, 1] == column) & (recording.tile_world() == ground.world)
        patches = np.flatnonzero(mine & (recording.tile_time() <= time + 1e-9))
        count, heights, pressure = self._kept.pop((row, column), (0, None, None))
        if heights is None or pressure is None or count > len(patches):
            count, heights = 0, self._first(row, column)
            pressure = np.zeros_like(heights)
        for patch in patches[count:]:
            new = recording.tile_heights(int(patch)).astype(float)
            pressed = new < heights - PRESSED
            if pressed.any():
                places, values = self._bodies(float(recording.tile_time()[patch]))
                i, j = np.nonzero(pressed)
                x = ground.origin[0] + ground.spacing * (column * ground.size + j)
                y = ground.origin[1] + ground.spacing * (row * ground.size + i)
                nearest = np.hypot(x[:, None] - places[:, 0], y[:, None] - places[:, 1]).argmin(axis=1)
                pressure[i, j] = values[nearest]
            heights = new
        self._kept[row, column] = len(patches), heights, pressure
        while len(self._kept) > KEPT:
            self._kept.pop(next(iter(self._kept)))
        return pressure

    def _first(self, row: int, column: int) -> np.ndarray:
        from grouser.recording.surface import first_heights

        ground = self.ground
        nodes = np.arange(ground.size)
        x = ground.origin[0] + ground.spacing * (column * ground.size + nodes)
        y = ground.origin[1] + ground.spacing * (row * ground.size + nodes)
        return first_heights(ground.recording, x, y)
