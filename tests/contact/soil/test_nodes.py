"""Device functions of the soil called alone: one node, triangle, vertex or pair against a few lines of NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import warp as wp

from grouser.contact.soil import SoilModule, SoilOptions, erosion, implicit, prepare, raster, sinkage, spoil
from grouser.contact.soil import cell_pressure as cells
from grouser.contact.soil import shear as shearing
from grouser.contact.soil import types as t
from grouser.contact.soil.arrays import SoilArrays
from grouser.contact.soil.elements import BlockSums, Deposit, Frame, Spoil
from grouser.contact.soil.laws import HOLD, SHEAR_BAND, STUCK_SPEED
from grouser.contact.soil.placement import faces_up, sphere_bottom
from grouser.contact.soil.pressure import modulus_of, yield_at
from grouser.contact.soil.traction import loaded, predict_node
from grouser.device import at
from grouser.precision import precision
from grouser.terrain import flat, soil
from grouser.terrain.ground import SURFACE, Ground
from tests.device_call import call
from tests.rig import ManufacturedMotion

TYPES = ["float64", "float32"]
ROUND_OFF = {"float64": 1e-13, "float32": 1e-5}  # relative, of a few operations
CELL, STEP = 0.01, 5e-3
SAND = soil("dry-sand")
TRIANGLE = np.array([[-0.031, -0.027, 0.0], [0.034, -0.022, 0.015], [0.003, 0.041, -0.002]])


class Bench:
    """A soil module under one triangle that looks down, its window open: arrays to set and functions to call."""

    def __init__(self, dtype: str = "float64", **options: Any):
        self.dtype, self.p = dtype, precision(dtype)
        ground = Ground(flat(size=(1, 1), spacing=0.25, origin=(-0.5, -0.5)), SAND, CELL, dtype=dtype)
        surface = prepare(TRIANGLE, np.array([[0, 2, 1]]), width=0.1, longest_edge=1.0)
        self.module = SoilModule(ground, {"body": surface}, SoilOptions(**options))
        self.rig = ManufacturedMotion(self.module, dtype=dtype, step=STEP)
        self.rig.place(position=(0, 0, 0.05), rotation=self.rig.rotation)
        self.arrays: SoilArrays = self.module.arrays
        self.side = self.arrays.window.side
        # Rows and columns 40 to 59 of the grid; the origin is 50.
        self.set(self.arrays.window.frame, 0, (40, 40, 20, 20))
        self.arrays.skin.height.fill_(t.FAR)

    def set(self, array: wp.array, index: Any, value: Any) -> None:
        host = array.numpy()
        host[index] = value
        array.assign(host)

    def node(self, i: int, j: int) -> int:
        return i * self.side + j

    def call(self, function: Any, *arguments: Any, returns: Any = None) -> Any:
        """Strings stand for the groups by the names that device functions have for them, floats for reals."""
        known = self.arrays.by_name
        given = [known[a] if isinstance(a, str) else self.p.real(a) if isinstance(a, float) else a for a in arguments]
        kind = tuple(self._kind(r) for r in returns) if isinstance(returns, tuple) else self._kind(returns)
        return call(at(function, self.dtype), *given, returns=kind)

    def _kind(self, kind: Any) -> Any:
        return self.p.real if kind is float else at(kind, self.dtype)


@pytest.fixture
def bench(request) -> Bench:
    return Bench(getattr(request, "param", "float64"))


in_both_types = pytest.mark.parametrize("bench", TYPES, indirect=True)


# ---- raster -----------------------------------------------------------------------------------------------


@in_both_types
def test_a_triangle_gives_its_plane_to_the_nodes_inside_it(bench):
    order = bench.module.surfaces["body"]
    corners = order.vertices[order.triangles[0]] * (1 / CELL, 1 / CELL, 1) + (50, 50, 0.05)
    bench.arrays.vertices.place.assign(
        (order.vertices * (1 / CELL, 1 / CELL, 1) + (50, 50, 0.05))[None].astype(bench.p.numpy)
    )
    bench.set(bench.arrays.placement.below, 0, 1.0)
    bench.call(raster.raster_triangle, "g", "b", "place", "win", "verts", "skin", 0, 0, 0, raster.SERIAL)
    height = bench.arrays.skin.height.numpy().reshape(bench.side, -1)[:20, :20]
    i, j = np.mgrid[:20, :20]
    matrix = np.vstack([corners[:, 0] - 40, corners[:, 1] - 40, np.ones(3)])
    weights = np.linalg.solve(matrix, np.stack([j.ravel(), i.ravel(), np.ones(400)]))
    inside = (weights > 0).all(axis=0).reshape(20, 20)
    plane = (corners[:, 2] @ weights).reshape(20, 20)
    assert inside.sum() > 15
    assert ((height < t.FAR / 10) == inside).all()
    assert np.abs(height - plane)[inside].max() < ROUND_OFF[bench.dtype]
    hit = bench.arrays.skin.hit.numpy()[0]
    assert hit["row0"] <= i[inside].min() <= i[inside].max() <= hit["row1"]


def test_a_triangle_that_looks_up_gives_nothing(bench):
    order = bench.module.surfaces["body"]
    turned = order.vertices * (1 / CELL, -1 / CELL, 1) + (50, 50, 0.05)
    bench.arrays.vertices.place.assign(turned[None].astype(bench.p.numpy))
    bench.set(bench.arrays.placement.below, 0, 1.0)
    bench.call(raster.raster_triangle, "g", "b", "place", "win", "verts", "skin", 0, 0, 0, raster.SERIAL)
    assert (bench.arrays.skin.height.numpy() == bench.p.numpy(t.FAR)).all()


def test_a_crease_tells_the_nodes_beside_it_how_far_the_body_goes_on(bench):
    first, second = bench.module.surfaces["body"].creases[0]
    places = bench.arrays.vertices.place.numpy()
    places[0, first], places[0, second] = (45.25, 46.0, 0.0), (45.25, 49.0, 0.0)
    bench.arrays.vertices.place.assign(places)
    bench.set(bench.arrays.placement.below, 0, 1.0)
    bench.call(raster.mark_crease, "g", "b", "place", "win", "verts", "skin", 0, 0, 0, raster.SERIAL)
    reach = bench.arrays.skin.reach.numpy().reshape(bench.side, -1, 4)
    assert reach[7, 5, t.EAST] == 0.25, "column 45 is number 5 of the window"
    assert reach[7, 6, t.WEST] == 0.75
    assert np.count_nonzero(reach) == 2 * 4, "rows 6 to 9"


def test_spheres_and_cones(bench):
    p = bench.p
    turn = np.array([[1, 0, 0], [0, 0, -1], [0, 1, 0]], float)  # y becomes z
    sphere, cone = at(t.Sphere, bench.dtype)(), at(t.Cone, bench.dtype)()
    sphere.centre, sphere.radius = p.vec3(0.1, 0.2, 0.3), 0.05
    R = p.mat33(*turn.ravel())
    low = call(at(sphere_bottom, bench.dtype), sphere, p.vec3(0.0, 0.0, 1.0), R, returns=p.real)
    assert low == pytest.approx(1.0 + 0.2 - 0.05, rel=ROUND_OFF[bench.dtype])
    cone.axis, cone.limit = p.vec3(0.0, 1.0, 0.0), 0.5
    assert call(at(faces_up, bench.dtype), cone, R, returns=bool)
    cone.axis = p.vec3(0.0, -1.0, 0.0)
    assert not call(at(faces_up, bench.dtype), cone, R, returns=bool)


# ---- sinkage ----------------------------------------------------------------------------------------------


@in_both_types
def test_plastic_sinkage_of_a_node_is_what_the_elastic_trial_cannot_take(bench):
    depth, k = 0.02, bench.node(8, 8)
    bench.set(bench.arrays.skin.height, k, -depth)
    found = bench.call(sinkage.touch_node, "g", "o", "b", "place", "skin", "win", "disp", 0, k, returns=int)
    assert found == sinkage.IN_SOIL
    assert bench.arrays.window.mark.numpy()[k] == t.CONTACT
    bears = SAND.pressure_modulus(0.1) * depth**SAND.n
    table = 1e-5 * bears / SAND.elastic_stiffness  # stated error of the table of powers
    assert bench.arrays.displacement.sunk.numpy()[k] == pytest.approx(depth - bears / SAND.elastic_stiffness, abs=table)


@pytest.mark.parametrize(
    ("gap", "fall", "found", "mark"),
    [
        (0.4 * HOLD, 0.0, sinkage.ABOVE, t.HELD), (2 * HOLD, 0.0, sinkage.ABOVE, t.FREE),
        (0.5, 1.0, sinkage.ABOVE, t.HELD), (0.6, 1.0, sinkage.ABOVE, t.FREE), (1.1, 9.0, 0, t.FREE),
    ],
)  # fmt: skip
def test_soil_just_below_a_body_is_held_and_so_is_what_it_falls_on_in_a_step(bench, gap, fall, found, mark):
    """`gap` in cells; a fall of 1 m/s is half a cell in a step of 5 ms."""
    k = bench.node(8, 8)
    bench.set(bench.arrays.skin.height, k, gap * CELL)
    travel = bench.arrays.placement.travel.numpy()
    travel["velocity"][0] = (0, 0, -fall)
    bench.arrays.placement.travel.assign(travel)
    assert bench.call(sinkage.touch_node, "g", "o", "b", "place", "skin", "win", "disp", 0, k, returns=int) == found
    assert bench.arrays.window.mark.numpy()[k] == mark


def test_border_nodes_lie_beside_the_footprint_and_edges_bound_it(bench):
    k, free = bench.node(8, 8), bench.node(8, 9)
    bench.set(bench.arrays.window.mark, k, t.CONTACT)
    bench.set(bench.arrays.window.mark, bench.node(9, 8), t.CONTACT)
    assert bench.call(sinkage.mark_border, "win", free, returns=int) == 1
    assert bench.arrays.window.mark.numpy()[free] == t.BORDER
    assert bench.call(sinkage.mark_border, "win", bench.node(9, 9), returns=int) == 1, "beside the second"
    assert bench.call(sinkage.mark_border, "win", bench.node(11, 9), returns=int) == 0
    for node in (k, bench.node(9, 8)):
        bench.set(bench.arrays.skin.height, node, -0.01)
    assert bench.call(sinkage.count_edges, "skin", "win", k, returns=int) == 3


def test_a_node_that_sinks_keeps_its_virgin_level_by_the_share_that_compacts(bench):
    k, d, share, chi = bench.node(8, 8), 0.01, 0.25, SAND.compression
    bench.set(bench.arrays.displacement.sunk, k, d)
    bench.set(bench.arrays.displacement.share, k, share)
    bench.call(sinkage.sink_node, "o", "b", "win", "disp", 0, k, 0)
    carried_off = (1 - chi) * (1 - share) * d
    expected = (-d, -carried_off, -d, -carried_off)
    assert bench.arrays.window.levels.numpy()[k] == pytest.approx(expected, rel=ROUND_OFF[bench.dtype])


# ---- spoil ------------------------------------------------------------------------------------------------


def test_slip_drags_soil_off_the_upstream_edge_alone(bench):
    speed, dtype = 0.5, bench.dtype
    for j in (7, 8, 9):
        bench.set(bench.arrays.window.mark, bench.node(8, j), t.CONTACT)
        for i in (7, 8, 9):
            bench.set(bench.arrays.skin.height, bench.node(i, j), -0.01)
    m = at(t.BodyMotion, dtype)()
    m.duration = STEP
    m.velocity = bench.p.vec3(speed, 0.0, 0.0)
    dug = []
    for j in (7, 8, 9):
        dug.append(
            bench.call(spoil.dig_node, "g", "o", "b", "skin", "win", "disp", 0, 0, 8, j, bench.p.vec3(), m, returns=int)
        )
    assert dug == [1, 0, 0], "soil moves east: nothing comes in at the west end"
    height = (1 - SAND.compression) * SHEAR_BAND * (speed - STUCK_SPEED) * STEP / CELL
    got = bench.arrays.displacement.dug.numpy()[[bench.node(8, j) for j in (7, 8, 9)]]
    assert got == pytest.approx([height, 0, 0], rel=ROUND_OFF[dtype])


def as_spoil(p, **fields) -> Any:
    made = at(Spoil, p.name)()
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def test_a_deposit_gives_out_all_of_the_spoil():
    """Over three border nodes; what is dragged west finds no node there and goes all round."""
    dtype = "float64"
    p = precision(dtype)
    sums = as_spoil(
        p, volume=0.006, moment_column=0.03, moment_row=0.024, sunk=0.003, pushed=0.002, dragged=0.001,
        push=p.vec2(1.0, 0.0), drag=p.vec2(-1.0, 0.0),
    )  # fmt: skip
    deposit = struct_of(Deposit, p, call(at(spoil.deposit_of, dtype), sums, returns=at(Deposit, dtype)))
    assert (deposit.column, deposit.row) == pytest.approx((5.0, 4.0), rel=ROUND_OFF[dtype])
    nodes = np.array([[7.0, 4.0], [7.0, 5.0], [5.0, 6.0]])
    weights = [
        call(at(spoil.border_weights, dtype), deposit, p.real(x), p.real(y), returns=(p.real,) * 3) for x, y in nodes
    ]
    away = nodes - (5.0, 4.0)
    even = 1 / ((away**2).sum(axis=1) + 0.25)
    assert np.array(weights) == pytest.approx(
        np.stack([even, even * away[:, 0].clip(0) ** 2, 0 * even], axis=1), rel=ROUND_OFF[dtype]
    )
    totals = [p.real(total) for total in np.sum(weights, axis=0)]
    shared = call(at(spoil.complete_deposit, dtype), sums, deposit, *totals, returns=at(Deposit, dtype))
    deposit = struct_of(Deposit, p, shared)
    got = [call(at(spoil.received_from, dtype), deposit, *(p.real(w) for w in one), returns=p.real) for one in weights]
    assert sum(got) == pytest.approx(0.006, rel=ROUND_OFF[dtype])
    assert got[0] > got[2], "the nodes ahead get what is pushed"


def struct_of(kind: Any, p: Any, record: Any) -> Any:
    """A struct to hand to a device function, from what another one returned."""
    made = at(kind, p.name)()
    for name in record.dtype.names:
        value = record[name]
        setattr(made, name, at(kind, p.name).vars[name].type(*value) if np.ndim(value) else value.item())
    return made


def test_blocks_cut_a_footprint_and_its_mirror_image_alike():
    o = t.Options()
    o.block = 5
    for nodes in range(1, 24):
        blocks = call(spoil.blocks_along, o, 3, 3 + nodes - 1, returns=int)
        starts = [call(spoil.block_start, 3, 3 + nodes - 1, k, blocks, returns=int) for k in range(blocks + 1)]
        widths = np.diff(starts)
        assert (starts[0], starts[-1]) == (3, 3 + nodes)
        assert widths.min() >= 1
        assert widths.max() <= 5
        assert widths.tolist() == widths.tolist()[::-1] or nodes % blocks, "unless they cannot be equal"


# ---- shear ------------------------------------------------------------------------------------------------


def test_a_vertex_touches_where_it_is_below_the_free_soil_round_it(bench):
    p = bench.p

    def touches(z: float, sheared: bool) -> bool:
        place = p.vec3(48.5, 48.25, z)
        return bench.call(shearing.is_touching, "g", "skin", "win", 0, place, sheared, returns=(bool, int))[0]

    assert touches(-1e-4, False)
    assert not touches(1e-4, False)
    assert touches(1e-4, True), "it lets go a little above the soil"
    assert not touches(1.1 * HOLD * CELL, True)
    for i in (8, 9):
        for j in (8, 9):
            bench.set(bench.arrays.window.mark, bench.node(i, j), t.CONTACT)
    assert touches(0.5, False), "all four nodes in contact"


def test_a_vertex_in_a_rut_that_rises_touches_although_single_nodes_are_free(bench):
    """Pressed soil is linear between nodes; with the height of the free node alone a wheel lost its grip in its pit."""
    window, skin, rise = bench.arrays.window, bench.arrays.skin, 3e-3
    for i in (8, 9):
        for j in (8, 9):
            node, height = bench.node(i, j), rise * (j - 8)
            levels = window.levels.numpy()[node]
            levels[SURFACE] = height
            bench.set(window.levels, node, levels)
            bench.set(skin.height, node, height + (1e-7 if j == 8 else -1e-5))
            bench.set(window.mark, node, t.CONTACT if j == 9 else t.HELD)

    def touches(lift: float) -> bool:
        place = bench.p.vec3(48.5, 48.25, 0.5 * rise + lift)
        return bench.call(shearing.is_touching, "g", "skin", "win", 0, place, True, returns=(bool, int))[0]

    assert 0.5 * rise > HOLD * CELL
    assert touches(-1e-5)
    assert touches(0.9 * HOLD * CELL), "it lets go a little above the soil"
    assert not touches(1.1 * HOLD * CELL)


# ---- erosion ----------------------------------------------------------------------------------------------


def test_pairs_by_number():
    for i, j, side in ((0, 0, 0), (1, 2, 1), (700, 32000, 0)):
        code = call(erosion.pair_code, i, j, side, returns=int)
        assert call(erosion.decoded, code, returns=(int,) * 3) == (i, j, side)


def test_shared_pairs_counts_what_a_node_gives_and_takes():
    gives, takes = 3, 2
    assert call(erosion.shared_pairs, erosion.TAKES * takes + erosion.GIVES * gives, returns=int) == 2 * 3 + 2


def test_one_pair_hands_over_half_of_the_excess_and_less(bench):
    k, n = bench.node(8, 8), bench.node(8, 9)
    step = 2 * CELL * SAND.slope_limit
    bench.set(bench.arrays.window.levels, n, (step,) * 4)
    args = ("g", "o", "skin", "win", "slides")
    assert bench.call(erosion.add_pair, *args, 0, 0, 8, 8, erosion.TO_EAST, 0, returns=int) == 1
    bench.call(erosion.add_flow, *args, k, n)
    flow = bench.arrays.slides.flow.numpy()
    excess = step - 0.9 * CELL * SAND.slope_limit
    assert flow[[k, n]] == pytest.approx([excess / 2, -excess / 2], rel=ROUND_OFF[bench.dtype])
    assert bench.call(erosion.settle, *args, 0, 8, 9, 1, 0, returns=int) == 1
    assert bench.arrays.window.levels.numpy()[n][0] == pytest.approx(step - excess / 2, rel=ROUND_OFF[bench.dtype])


def test_no_pair_slides_on_the_rim_or_against_what_is_held(bench):
    step = 2 * CELL * SAND.slope_limit
    bench.set(bench.arrays.window.levels, bench.node(8, 9), (step,) * 4)
    bench.set(bench.arrays.window.levels, bench.node(0, 9), (step,) * 4)
    args = ("g", "o", "skin", "win", "slides")
    assert bench.call(erosion.add_pair, *args, 0, 0, 0, 8, erosion.TO_EAST, 0, returns=int) == 0
    bench.set(bench.arrays.skin.height, bench.node(8, 9), step)
    bench.call(erosion.hold_node, "g", "skin", "win", bench.node(8, 9))
    assert bench.arrays.window.mark.numpy()[bench.node(8, 9)] == t.HELD
    assert bench.call(erosion.add_pair, *args, 0, 0, 8, 8, erosion.TO_EAST, 0, returns=int) == 0


# ---- forces -----------------------------------------------------------------------------------------------


@in_both_types
def test_the_end_of_the_step_and_what_the_soil_bears_there(bench):
    depth, v, k = 0.02, 0.1, bench.node(8, 8)
    for i in (7, 8, 9):
        for j in (7, 8, 9):
            bench.set(bench.arrays.skin.height, bench.node(i, j), -depth + 0.5 * CELL * (j - 8))
    m, frame = at(t.BodyMotion, bench.dtype)(), Frame()
    m.velocity = bench.p.vec3(v, 0.0, -v)
    frame.rows = frame.columns = 20
    args = ("g", "o", "b", "place", "win", "skin", "disp", "pred", 0, 0, frame)
    bench.call(predict_node, *args, 8, 8, bench.p.vec3(), m)
    end = bench.arrays.prediction.end.numpy()[k]
    height = -depth + STEP * (-v - v * 0.5)
    assert end["height"] == pytest.approx(height, rel=ROUND_OFF[bench.dtype])
    assert end["depth"] == pytest.approx(-height, rel=ROUND_OFF[bench.dtype])
    # The normal velocity is (0.6, 0, -1.2) v: 0.72 of the sinkage goes straight down.
    given_way = (1 - SAND.compression) * (1 - 0.72) * (-depth - height)
    assert end["given_way"] == pytest.approx(given_way, rel=100 * ROUND_OFF[bench.dtype])  # of a difference of heights
    bears = SAND.pressure_modulus(0.1) * (-height - given_way) ** SAND.n
    assert end["yield_pressure"] == pytest.approx(bears, rel=1e-5)
    assert end["yielding"] == 1
    assert bench.call(loaded, "pred", bench.side, k, float(CELL), returns=bool)
    bench.call(predict_node, *args, 0, 8, bench.p.vec3(), m)
    assert bench.arrays.prediction.end.numpy()[bench.node(0, 8)]["height"] == bench.p.numpy(t.FAR), "on the rim"


def test_a_wall_beside_a_node_begins_at_once_while_it_is_loaded():
    vec4, real = precision("float64").vec4, precision("float64").real
    here, there, soft = vec4(-0.02, 0.0, -0.02, 0.0), vec4(0.01, 0.01, 0.01, 0.01), real(1 / 0.0005)

    def change(load: float) -> np.ndarray:
        args = (real(1 / 3), real(1.0), real(load), here, there, real(-0.01), soft)
        return call(cells.level_change_towards, *args, returns=vec4)

    assert change(1.0) == pytest.approx([0.03, 0.01, 0.03, 0.01])
    assert change(0.0) == pytest.approx([0.01, 0.01 / 3, 0.01, 0.01 / 3])


def test_slope_and_second_difference_are_one_sided_where_the_body_ends():
    real = precision("float64").real
    far = real(t.FAR)
    for ahead, behind, here, slope, second in (
        (3.0, 1.0, 1.5, 1.0, 1.0), (3.0, far, 1.0, 2.0, 0.0), (far, 3.0, 1.0, -2.0, 0.0), (far, far, 1.0, 0.0, 0.0),
    ):  # fmt: skip
        args = (real(ahead), real(behind), real(here))
        assert call(cells.slope, *args, returns=real) == slope
        assert call(cells.second_difference, *args, returns=real) == second


@pytest.mark.parametrize(
    ("steep_x", "steep_y", "expected"),
    [
        (1.0, 1.0, (3, 3, 1.0, 1.0)), (4.1, 1.0, (3, 1, 1.0, 1.0)), (1.0, 4.1, (1, 3, 1.0, 1.0)),
        (4.0, 1.0, (3, 3, 1.0, 0.0)), (1.0, 3.2, (3, 3, 0.25, 1.0)),
    ],
)  # fmt: skip
def test_points_of_a_cell_draw_together_before_they_lie_along_one_axis(steep_x, steep_y, expected):
    real = precision("float64").real
    got = call(cells.sample_points, 3, real(steep_x), real(steep_y), returns=(int, int, real, real))
    assert got == pytest.approx(expected)


@pytest.mark.parametrize("dtype", TYPES)
def test_the_implicit_block_is_the_sum_of_its_levers(dtype):
    """c along n at the arm a, w alike in all directions at the lever r: J^T K J of both, J = [1, -r~]."""
    p, rng = precision(dtype), np.random.default_rng(1)
    arm, lever, n, c, w = rng.normal(size=3), rng.normal(size=3), rng.normal(size=3), 3.0, 2.0

    def jacobian(r: np.ndarray) -> np.ndarray:
        x, y, z = r
        return np.hstack([np.eye(3), -np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])])

    expected = w * jacobian(lever).T @ jacobian(lever) + c * jacobian(arm).T @ np.outer(n, n) @ jacobian(arm)
    sums = call(
        at(implicit.block_sums, dtype), p.real(c), p.vec3(*n), p.vec3(*np.cross(arm, n)), p.real(w), p.vec3(*lever),
        returns=at(BlockSums, dtype),
    )  # fmt: skip
    made = at(BlockSums, dtype)()
    for name in sums.dtype.names:
        value = np.ravel(sums[name])
        setattr(made, name, at(BlockSums, dtype).vars[name].type(*value) if len(value) > 1 else value.item())
    got = call(at(implicit.assemble, dtype), made, returns=p.mat66)
    assert got == pytest.approx(expected, rel=10 * ROUND_OFF[dtype], abs=10 * ROUND_OFF[dtype])


def test_yield_of_cover_over_compacted_soil(bench):
    """max(k (V_l - z)^n, min(k (V_c - z)^n, K_e (C - z)))."""
    k, n, k_e = SAND.pressure_modulus(0.1), SAND.n, SAND.elastic_stiffness
    levels = (0.0, 0.0, -0.01, 0.03)
    constants = at(t.Constants, bench.dtype)()
    constants.k_c, constants.k_phi = SAND.k_c, SAND.k_phi
    modulus = call(at(modulus_of, bench.dtype), constants, bench.p.real(10.0), returns=bench.p.real)
    assert modulus == pytest.approx(k, rel=1e-6)
    for z in (-0.005, -0.0101, -0.02):
        got = bench.call(yield_at, "o", 0, modulus, z, bench.p.vec4(*levels), returns=float)
        packed = min(k * (0.03 - z) ** n, k_e * (-0.01 - z)) if z < -0.01 else 0.0
        assert got == pytest.approx(max(k * (-z) ** n, packed), rel=1e-4 if bench.dtype == "float32" else 1e-5)
