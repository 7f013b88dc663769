"""Device functions of the ground and of boxes of nodes, called alone, against a few lines of NumPy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import warp as wp

from grouser.contact.soil import boxes
from grouser.contact.soil.elements import EMPTY, Box
from grouser.device import at
from grouser.precision import precision
from grouser.terrain import ElevationGrid, flat, soil
from grouser.terrain.ground import Ground, allocate_tile, base_height, soil_at, surface_at
from tests.device_call import call

ROUND_OFF = {"float64": 1e-13, "float32": 1e-5}  # relative, of a few operations
SAND = soil("dry-sand")


# ---- ground -----------------------------------------------------------------------------------------------


def sloped(dtype: str) -> Ground:
    x, y = np.meshgrid(np.arange(5), np.arange(5))
    grid = ElevationGrid(0.1 * x + 0.02 * y * x, 0.25, (0.0, 0.0)).with_soils(
        (x > 1).astype(np.int32), ["dry-sand", "sandy-loam"]
    )
    return Ground(grid, spacing=0.05, dtype=dtype)


def test_base_height_is_bilinear_and_soil_that_of_the_nearest_node():
    dtype = "float64"
    ground = sloped(dtype)
    real = precision(dtype).real
    for row, column in ((0, 0), (3, 7), (20, 20), (11, 4)):
        x, y = column / 5, row / 5  # in cells of the elevation grid: the height is bilinear everywhere
        got = call(at(base_height, dtype), ground.arrays, 0, row, column, returns=real)
        assert got == pytest.approx(0.1 * x + 0.02 * x * y, rel=ROUND_OFF[dtype], abs=ROUND_OFF[dtype])
        assert call(at(soil_at, dtype), ground.arrays, 0, row, column, returns=int) == int(math.floor(x + 0.5) > 1)


def test_allocate_tile_makes_a_tile_of_untouched_soil_once_and_says_when_there_is_no_room():
    dtype = "float64"
    ground = Ground(flat(size=(3, 3), spacing=0.5), SAND, 0.05, dtype=dtype, capacity=1)
    assert call(at(allocate_tile, dtype), ground.arrays, 0, 1, 0, returns=bool)
    assert call(at(allocate_tile, dtype), ground.arrays, 0, 1, 0, returns=bool)
    assert ground.arrays.used.numpy().tolist() == [1]
    assert not call(at(allocate_tile, dtype), ground.arrays, 0, 0, 0, returns=bool), "one tile is all there is"
    host = ground.arrays.levels.numpy()
    host[0, 0, 3, 4] = (0.5, 0.6, 0.4, 0.7)
    ground.arrays.levels.assign(host)
    real = precision(dtype).real
    assert call(at(surface_at, dtype), ground.arrays, 0, 35, 4, returns=real) == precision(dtype).numpy(0.5)
    assert call(at(surface_at, dtype), ground.arrays, 0, 3, 4, returns=real) == 0.0


# ---- boxes ------------------------------------------------------------------------------------------------


def as_box(*edges: int) -> Any:
    made = Box()
    made.row0, made.row1, made.column0, made.column1 = edges
    return made


def test_boxes():
    a, b = as_box(2, 5, 1, 8), as_box(4, 9, -3, 6)
    assert tuple(call(boxes.spanning, a, b, returns=Box)) == (2, 9, -3, 8)
    assert tuple(call(boxes.common, a, b, returns=Box)) == (4, 5, 1, 6)
    assert tuple(call(boxes.grown, a, 2, returns=Box)) == (0, 7, -1, 10)
    assert tuple(call(boxes.shortened, a, 3, 5, returns=Box)) == (2, 4, 2, 6)
    assert tuple(call(boxes.shortened, a, 4, 8, returns=Box)) == (2, 5, 1, 8)
    assert tuple(call(boxes.shifted, a, 10, -1, returns=Box)) == (12, 15, 0, 7)
    empty = call(boxes.empty_box, returns=Box)
    assert tuple(call(boxes.widened, as_box(*empty), 3, 4, 7, 7, returns=Box)) == (3, 4, 7, 7)
    assert call(boxes.is_empty, as_box(*empty), returns=bool)
    assert call(boxes.holds, a, 5, 8, returns=bool)
    assert not call(boxes.holds, a, 6, 8, returns=bool)


def test_a_box_widens_from_threads_as_it_does_alone():
    array = wp.array(np.array([EMPTY] * 2, Box.numpy_dtype()), dtype=Box, device="cpu")
    call(boxes.widen_atomically, array, 1, 4, 4, 7, 7)
    call(boxes.widen_atomically, array, 1, 2, 3, 9, 9)
    assert [tuple(box) for box in array.numpy()] == [EMPTY, (2, 4, 7, 9)]
