"""The papers' own laws, node by node, against an independent NumPy model under prescribed motion."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from grouser.contact.soil import SoilModule, SoilOptions, wheel
from grouser.contact.soil.laws import EROSION_START
from grouser.contact.soil.types import CONTACT
from grouser.contact.soil.vertex_cloud import vertex_cloud
from grouser.errors import InputError
from grouser.terrain import Soil, flat, soil
from grouser.terrain.ground import SURFACE, VIRGIN, Ground
from tests.contact.soil.krenn_model import KrennModel
from tests.rig import ManufacturedMotion, SteadyMotion

CELL, STEP = 0.01, 5e-3
RADIUS, WIDTH = 0.1, 0.06
# An angle of repose of its own, so that friction and erosion cannot take each other's.
SAND = soil("dry-sand").replace(compression=0.3, wheel_friction=0.4, repose_angle_deg=24.0)
ROUND_OFF = 1e-9  # [m] of heights: sums of some hundred terms over some hundred steps
PRESSURE = 1e-6  # relative, of pressures and forces: round-off of heights over depths of a millimetre
LEAST_CONTACT = 40  # contact nodes at the end; with few nodes the comparison would say little

# A tilt keeps two vertices of a row from being equally low, where round-off would choose.
TILT = (0.013, 0.0, 0.021)
MOTIONS = {
    "rolling": SteadyMotion((0.0, 0.003, 0.0995), TILT, (0.1, 0.0, -0.05), (0.0, 1.0, 0.0)),
    "slipping": SteadyMotion((0.0, 0.003, 0.0995), TILT, (0.05, 0.0, -0.05), (0.0, 2.0, 0.0)),
    "turning": SteadyMotion((0.0, 0.003, 0.0995), TILT, (0.08, 0.03, -0.05), (0.1, 1.0, 0.7)),
}


def matrix(q: np.ndarray) -> np.ndarray:
    """Rotation matrix of a quaternion xyzw."""
    x, y, z, w = q
    return np.array([
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ])  # fmt: skip


class Bench:
    """A wheel on sand, in the kernels and in the NumPy model."""

    def __init__(
        self, year: int, *, grousers: dict[str, Any] | None = None, m: float = 2.0, sand: Soil = SAND, **options: Any
    ):
        elevation = flat(size=(0.8, 0.6), spacing=0.1, origin=(-0.3, -0.3))
        self.ground = Ground(elevation, sand, CELL)
        body = wheel(RADIUS, WIDTH, **(grousers or {}))
        chosen = SoilOptions(laws=f"krenn{year}", deposit_exponent=m, **options)
        self.module = SoilModule(self.ground, {"wheel": body}, chosen)
        self.rig = ManufacturedMotion(self.module, step=STEP)
        self.model = KrennModel(
            Z=np.zeros((self.ground.rows, self.ground.columns)), origin=elevation.origin, dx=CELL,
            vertices=vertex_cloud(body, CELL).vertices, modulus=SAND.k_c / WIDTH + SAND.k_phi, n=SAND.n,
            tan_phi=math.tan(math.radians(SAND.friction_angle_deg)), tan_repose=math.tan(math.radians(24.0)),
            cohesion=SAND.cohesion, chi=SAND.compression, k_e=SAND.elastic_stiffness,
            damping_time=SAND.damping_time, h=STEP, year=year, mu=0.4, m=m, sweeps=options.get("sweeps", 1),
        )  # fmt: skip

    def follow(self, motion: SteadyMotion, steps: int, check: bool = True) -> None:
        for k in range(steps):
            position, rotation = motion((k + 1) * STEP)
            velocity, spin = np.array(motion.velocity), np.array(motion.spin)
            self.rig.place(position, rotation, velocity, spin).advance()
            wrench, self.loads = self.model.step(position, matrix(rotation), velocity, spin)
            if check:
                self.compare(wrench)

    def levels(self) -> tuple[np.ndarray, np.ndarray]:
        """Surface Z and pre-compression z_0 [m] of all nodes."""
        Z, virgin = (self.ground.level(which) for which in (SURFACE, VIRGIN))
        return Z, virgin - Z

    def compare(self, wrench: np.ndarray) -> None:
        Z, z0 = self.levels()
        np.testing.assert_allclose(Z, self.model.Z, rtol=0, atol=ROUND_OFF)
        np.testing.assert_allclose(z0, self.model.z0, rtol=0, atol=ROUND_OFF)
        ends = self.node_ends()
        assert ends.keys() == self.loads.keys()
        for node, load in self.loads.items():
            np.testing.assert_allclose(ends[node]["depth"], load.depth, rtol=0, atol=ROUND_OFF)
            np.testing.assert_allclose(ends[node]["yield_pressure"], load.yields_at, rtol=PRESSURE)
        size = np.linalg.norm(wrench[:3]) + 1.0
        np.testing.assert_allclose(self.rig.wrench[0, 0], wrench, rtol=0, atol=PRESSURE * size)

    def node_ends(self) -> dict[tuple[int, int], Any]:
        """What the kernels found at the nodes that are in contact at the end of the step, by row and column."""
        a = self.module.arrays
        frame, near, side = a.window.frame.numpy()[0], a.displacement.near.numpy()[0], a.window.side
        ends = a.prediction.end.numpy()[: side * side].reshape(side, side)
        return {
            (int(frame["row0"]) + i, int(frame["column0"]) + j): ends[i, j]
            for i in range(near["row0"], near["row1"] + 1)
            for j in range(near["column0"], near["column1"] + 1)
            if ends[i, j]["depth"] > 0
        }


@pytest.mark.parametrize("motion", MOTIONS)
@pytest.mark.parametrize("year", [2008, 2009])
def test_nodes_follow_the_papers(year, motion):
    bench = Bench(year)
    bench.follow(MOTIONS[motion], 60)
    assert len(bench.loads) > LEAST_CONTACT
    assert bench.model.Z.min() < -5e-3  # a rut
    assert bench.model.Z.max() > 1e-3  # and a mound beside it


@pytest.mark.parametrize("options", [{"sweeps": 5}, {"erosion": False}, {"m": 4.5}])
def test_free_options_of_the_papers(options):
    bench = Bench(2009, **options)
    bench.model.sweeps = 0 if options.get("erosion") is False else bench.model.sweeps
    bench.follow(MOTIONS["slipping"], 30)


def test_sweeps_end_with_the_last_steep_slope():
    bench = Bench(2008, sweeps=1000)
    bench.follow(MOTIONS["slipping"], 12)


def test_without_a_wheel_friction_it_is_that_of_the_soil():
    bench = Bench(2008, sand=SAND.replace(wheel_friction=None))
    bench.model.mu = bench.model.tan_phi
    bench.follow(MOTIONS["slipping"], 12)


def test_lugs_are_vertices():
    bench = Bench(2008, grousers={"grouser_height": 0.01, "grouser_count": 12})
    bench.follow(MOTIONS["rolling"], 40)


def test_round_off_does_not_choose_the_nodes():
    """A wheel whose sides are half way between nodes feels the same at every place of the grid."""
    wrenches = []
    for k in range(12):
        bench = Bench(2008)
        place = (0.0, -0.065 + k * CELL, RADIUS - 0.01)
        bench.rig.place(np.array(place), np.array([0.0, 0, 0, 1]), np.array([0.1, 0, 0]), np.zeros(3)).advance()
        wrenches.append(bench.rig.wrench[0, 0])
    np.testing.assert_allclose(wrenches, np.broadcast_to(wrenches[0], np.shape(wrenches)), rtol=PRESSURE, atol=PRESSURE)


# ---- a wrong reading of any equation shows -------------------------------------------------------------------


def truncated(model: KrennModel, points: np.ndarray) -> dict[tuple[int, int], int]:
    """Contact with the grid shifted by half a cell, which is what (int) in eq. 9 does."""
    return KrennModel.lowest(model, points - [CELL / 2, CELL / 2, 0.0])


def forward(model: KrennModel, node: tuple[int, int]) -> np.ndarray:
    """Eq. 12 with the difference to one neighbour instead of half the difference of two."""
    i, j = node
    z = model.Z
    return np.cross([model.dx, 0, z[i, j + 1] - z[i, j]], [0, model.dx, z[i + 1, j] - z[i, j]])


def by_distance(model: KrennModel, node: tuple[int, int], nodes: np.ndarray, v: np.ndarray) -> list[Any]:
    """Eq. 24 with 1/d, as its text may be read."""
    return [(1.0, 1 / np.linalg.norm(nodes - node, axis=1))]


def all_of_v_n(model: KrennModel, node: tuple[int, int], nodes: np.ndarray, v: np.ndarray) -> list[Any]:
    """2009, eq. 6 with all of v_N, so that bulldozing counts as sinkage."""
    (_, even), (_, ahead) = KrennModel.parts(model, node, nodes, v)
    n = model.normal(node)
    share = (v @ n) ** 2 / (n @ n) / (v @ v)
    return [(share, even), (1 - share, ahead)]


def never_less(model: KrennModel, dz: np.ndarray) -> None:
    """Eq. 29 without the reduction where soil is put."""
    model.Z += dz
    model.z0 = model.z0 + np.maximum(-dz, 0.0)


MISREAD: dict[str, tuple[int, dict[str, Any]]] = {
    "eq. 9: (int)": (2008, {"lowest": truncated}),
    "eq. 12": (2008, {"normal": forward}),
    "eq. 17: n": (2008, {"n": 1.0}),
    "eq. 19: tan(phi) for mu": (2008, {"mu": math.tan(math.radians(SAND.friction_angle_deg))}),
    "eq. 24": (2008, {"parts": by_distance}),
    "eq. 25-28: another vicinity": (2008, {"vicinity": 1}),
    "eq. 27: tan(phi)": (2008, {"tan_repose": math.tan(math.radians(SAND.friction_angle_deg))}),
    "eq. 28: two sweeps": (2008, {"sweeps": 2}),
    "eq. 29": (2008, {"change": never_less}),
    "2009, eq. 5: no cohesion": (2009, {"cohesion": 0.0}),
    "2009, eq. 5: mu": (2009, {"tan_phi": 0.4}),
    "2009, eq. 6": (2009, {"parts": all_of_v_n}),
    "2009, eq. 9 for 10": (2009, {"year": 2008}),
    "2009, eq. 10: m": (2009, {"m": 2.1}),
}


@pytest.mark.parametrize("reading", MISREAD)
def test_a_misread_equation_shows(reading):
    year, changes = MISREAD[reading]
    bench = Bench(year)
    for name, value in changes.items():
        known: Callable[..., Any] | Any = value.__get__(bench.model) if callable(value) else value
        setattr(bench.model, name, known)
    with pytest.raises(AssertionError):
        bench.follow(MOTIONS["slipping"], 40)


@pytest.mark.parametrize("year", [2008, 2009])
def test_volume_balances(year):
    bench = Bench(year)
    bench.follow(MOTIONS["turning"], 40, check=False)
    assert bench.module.volume_error()[0] < ROUND_OFF


def test_sweeps_until_no_slope_is_too_steep():
    bench = Bench(2008, sweeps=1000)
    for k in range(20):
        position, rotation = MOTIONS["rolling"]((k + 1) * STEP)
        bench.rig.place(position, rotation, np.array([0.1, 0, -0.05]), np.array([0, 1.0, 0])).advance()
    Z, _ = bench.levels()
    under = np.zeros_like(Z, bool)
    frame, window = bench.module.arrays.window.frame.numpy()[0], bench.module.arrays.window
    marks = window.mark.numpy()[: window.side**2].reshape(window.side, window.side)
    under[frame["row0"] :, frame["column0"] :][: frame["rows"], : frame["columns"]] = (
        marks[: frame["rows"], : frame["columns"]] == CONTACT
    )
    for axis in (0, 1):
        first, second = (np.delete(Z, k, axis) for k in (-1, 0))
        held = np.delete(under, -1, axis) | np.delete(under, 0, axis)
        assert np.abs(first - second)[~held].max() <= CELL * SAND.slope_limit * EROSION_START + ROUND_OFF


def test_cloud_has_a_vertex_in_every_cell():
    points = vertex_cloud(wheel(RADIUS, WIDTH), CELL).vertices
    bottom = points[points[:, 2] < -0.8 * RADIUS]
    for offset in (0.0, 0.3, 0.7):
        cells = {(int(x), int(y)) for x, y in np.floor(bottom[:, :2] / CELL + offset)}
        across = np.floor(np.array([-WIDTH / 2 + 1e-9, WIDTH / 2 - 1e-9]) / CELL + offset).astype(int)
        along = np.floor(np.array([-0.055, 0.055]) / CELL + offset).astype(int)
        wanted = {(i, j) for i in range(along[0], along[1] + 1) for j in range(across[0] + 1, across[1])}
        assert wanted <= cells


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"laws": "krenn"}, "laws: 'krenn' is not known; allowed: default, krenn2008, krenn2009"),
        ({"laws": "krenn2008", "friction": "none"}, "friction: 'none' contradicts laws: 'krenn2008'"),
        ({"laws": "krenn2009", "threads": "per-team"}, "threads: 'per-team' contradicts laws"),
        ({"laws": "krenn2009", "deposit_exponent": 1.0}, "deposit_exponent: 1.0 is not allowed"),
    ],
)
def test_what_a_set_does_not_allow(options, message):
    with pytest.raises(InputError, match=message):
        SoilOptions(**options)


def test_sets_need_unlimited_soil():
    ground = Ground(flat(size=(1, 1), spacing=0.25), SAND, CELL, depth=0.1)
    with pytest.raises(InputError, match="krenn2008' has no soil of finite depth"):
        SoilModule(ground, {"wheel": wheel(RADIUS, WIDTH)}, SoilOptions(laws="krenn2008"))


def test_exponent_belongs_to_2009():
    ground = Ground(flat(size=(1, 1), spacing=0.25), SAND, CELL)
    with pytest.raises(InputError, match="belongs to 'krenn2009'"):
        SoilModule(ground, {"wheel": wheel(RADIUS, WIDTH)}, SoilOptions(deposit_exponent=3.0))
