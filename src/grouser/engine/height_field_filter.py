"""Skip MuJoCo's contact search on height fields while nothing can touch them.

MuJoCo bounds a height field by one box, from its lowest to its highest node. A vehicle on wavy ground is always inside
this box, and every geom is tested against the field. Here each geom is first compared with the highest node near it.
"""

from __future__ import annotations

import math
from typing import Any

import mujoco
import numpy as np
import warp as wp

from grouser.engine import height_field_kernels
from grouser.engine.height_field_kernels import Field, SavedFilter
from grouser.engine.kernels import Tree, World
from grouser.launches import Launches

HFIELD = int(mujoco.mjtGeom.mjGEOM_HFIELD)


class HeightFieldFilter:
    """Makes launches before and after `mj_step1` of each world. Uses the heights the model was compiled with."""

    def __init__(self, model: mujoco.MjModel, tree: Tree, step: wp.array):
        self._tree, self._step = tree, step
        self.fields = [field for geom in range(model.ngeom) if (field := _field(model, geom)) is not None]
        self._filters = [
            wp.array(values, dtype=wp.int32, copy=False, device="cpu")
            for values in (model.geom_contype, model.geom_conaffinity)
        ]

    def around(self, view: World, data: mujoco.MjData) -> tuple[list[Launches], list[Launches]]:
        """Launches before and after the contact search of one world; none without a height field."""
        if not self.fields:
            return [], []
        place = wp.array(data.geom_xpos, dtype=wp.vec3d, copy=False, device="cpu")

        def skip_unreachable(launch) -> None:
            for field in self.fields:
                launch(
                    height_field_kernels.skip_unreachable,
                    1,
                    [self._tree, view, field, place, self._step, *self._filters],
                )

        def restore_filter(launch) -> None:
            for field in self.fields:
                launch(height_field_kernels.restore_filter, 1, [field, *self._filters])

        return [Launches(skip_unreachable)], [Launches(restore_filter)]


def _field(m: mujoco.MjModel, geom: int) -> Field | None:
    """A level height field that does not move, with the geoms that may touch it; None for other geoms."""
    body = m.geom_bodyid[geom]
    level = np.array_equal(m.geom_quat[geom], [1, 0, 0, 0]) and body == 0
    touching = _touching(m, geom)
    if m.geom_type[geom] != HFIELD or not level or not touching:
        return None
    at = m.geom_dataid[geom]
    rows, columns, start = int(m.hfield_nrow[at]), int(m.hfield_ncol[at]), int(m.hfield_adr[at])
    half_x, half_y, height, _ = m.hfield_size[at]
    x, y, z = m.geom_pos[geom]
    f: Any = Field()
    f.geom, f.saved = geom, wp.zeros(1, dtype=SavedFilter, device="cpu")
    f.x0, f.y0 = x - half_x, y - half_y
    f.spacing_x, f.spacing_y = 2 * half_x / (columns - 1), 2 * half_y / (rows - 1)
    nodes = z + height * m.hfield_data[start : start + rows * columns].reshape(rows, columns).astype(float)
    bounds = m.geom_rbound[touching] + m.geom_margin[touching] + m.geom_margin[geom]
    reach = float(bounds.max())  # one cell is added below for the path of a step
    highest = _highest(_highest(nodes, math.ceil(reach / f.spacing_y) + 1).T, math.ceil(reach / f.spacing_x) + 1).T
    f.ceiling = wp.array(np.ascontiguousarray(highest), dtype=wp.float64, device="cpu")
    f.geoms = wp.array(np.array(touching, np.int32), dtype=wp.int32, device="cpu")
    f.body = wp.array(m.geom_bodyid[touching].astype(np.int32), dtype=wp.int32, device="cpu")
    f.radius = wp.array(bounds, dtype=wp.float64, device="cpu")
    return f


def _touching(m: mujoco.MjModel, geom: int) -> list[int]:
    """Geoms on moving bodies that MuJoCo would test against this one."""
    meets = (m.geom_contype & m.geom_conaffinity[geom]) | (m.geom_conaffinity & m.geom_contype[geom])
    moves = m.body_weldid[m.geom_bodyid] != 0
    return np.flatnonzero((meets != 0) & moves & (m.geom_rbound > 0)).tolist()


def _highest(nodes: np.ndarray, count: int) -> np.ndarray:
    """Maximum over rows k - count to k + 1 + count for the cell between rows k and k + 1, (n - 1, …)."""
    padded = np.pad(nodes, [(count, count), *[(0, 0)] * (nodes.ndim - 1)], constant_values=-np.inf)
    length = len(nodes) - 1
    return np.max([padded[k : k + length] for k in range(2 * count + 2)], axis=0)
