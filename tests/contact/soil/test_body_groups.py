"""Threads that share the bodies of a world: same bits as one thread, in any order of the groups; what would miss."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import warp as wp

import grouser
from grouser.contact.soil import SoilModule, SoilOptions, launchers, prepare, wheel
from grouser.contact.soil.body_groups import BodyGroups
from grouser.device import module
from grouser.scenarios.exomars_drawbar import ExoMarsDrawbar
from grouser.scenarios.exomars_drawbar import build as rover
from grouser.simulation import Simulation
from grouser.simulation.shapes import box
from grouser.standby import standby, take_back
from grouser.terrain import flat, soil
from grouser.terrain.ground import TILE, Ground
from grouser.thread_count import VARIABLE
from tests.rig import ManufacturedMotion

STEP = 5e-3
MODULE = module("tests.contact.soil.test_body_groups")
SOFT = soil("dry-sand").replace(compression=0.3)


# ---- orders in which threads might take the groups ----------------------------------------------------------------


@wp.kernel(module=MODULE)
def backwards(groups: BodyGroups):
    """The last group first, as if a thread were slow."""
    count = groups.count[0]
    take_back(groups.taken)
    for k in range(count // 2):
        first = groups.first[k]
        groups.first[k] = groups.first[count - 1 - k]
        groups.first[count - 1 - k] = first


@wp.kernel(module=MODULE)
def each_alone(groups: BodyGroups):
    """A wrong machine: bodies that overlap in different groups."""
    count = groups.order.shape[0]
    groups.count[0] = count
    take_back(groups.taken)
    groups.waits[0] = 1
    for k in range(count):
        groups.order[k] = k
        groups.ends[k] = 1
        groups.first[k] = count - 1 - k


@wp.kernel(module=MODULE)
def nobody_waits(groups: BodyGroups):
    """A wrong machine: whoever comes first numbers its new tiles first."""
    groups.waits[0] = 0


class InOneThread:
    """Stands for the worker threads: takes the groups in a given order."""

    def __init__(self, *orders: Any):
        self.orders = orders

    def launch(self, launch: Any, kernel: Any, inputs: list[Any], *_: Any) -> None:
        for order in (backwards, *self.orders):
            launch(order, 1, [inputs[-1]])
        launch(kernel, 1, inputs)


# ---- rigs ---------------------------------------------------------------------------------------------------------


def wheels(starts: list[tuple[float, float]], *, spacing: float = 0.01, dtype: str = "float64") -> ManufacturedMotion:
    """Wheels at places (x, y) [m] over one ground."""
    ground = Ground(flat(size=(4, 3), spacing=0.5, origin=(-1, -1.5)), SOFT, spacing, dtype=dtype)
    module = SoilModule(ground, {f"wheel {k}": wheel(0.15, 0.1) for k in range(len(starts))}, SoilOptions())
    rig = ManufacturedMotion(module, dtype=dtype, step=STEP)
    rig.starts = np.array(starts)  # type: ignore[attr-defined]
    return rig


def roll(rig: ManufacturedMotion, first: int, last: int, speed: float = 0.2) -> None:
    """The wheels sink by 30 mm and roll and skid sideways, some slower than others."""
    starts = rig.starts  # type: ignore[attr-defined]
    turned = np.array([0.0, 0.0, np.sin(0.1), np.cos(0.1)])  # by 0.2 rad, so that their sides push
    for k in range(first, last):
        time, own = k * STEP, speed * (1 - 0.1 * np.arange(len(starts)))
        z = np.full(len(starts), 0.15 - 0.03 * min(time / 0.2, 1.0))
        places = np.column_stack([starts[:, 0] + own * time, starts[:, 1], z])
        rates = np.column_stack([own, 0 * own, np.where(time < 0.2, -0.15, 0.0) + 0 * own])
        rig.place(position=places[None], rotation=turned, velocity=rates[None], spin=(0, 2.0 * speed / 0.15, 0))
        rig.advance()


def saved(module: SoilModule) -> dict[str, np.ndarray]:
    return {name: a.numpy() for name, a in {**module.state(), **module.ground.state()}.items()}


def differences(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> list[str]:
    """Arrays that differ in a bit, structs field by field: what lies between the fields has no meaning."""
    found = []
    for name, values in one.items():
        for field in values.dtype.names or [None]:
            a, b = (values, other[name]) if field is None else (values[field], other[name][field])
            if not np.array_equal(a, b, equal_nan=a.dtype.kind == "f"):
                found.append(name)
    return found


def alike(one: ManufacturedMotion, other: ManufacturedMotion) -> list[str]:
    found = differences(saved(one.module), saved(other.module))
    outs = ("wrench", "implicit", "status")
    return found + [n for n in outs if not np.array_equal(getattr(one.out, n).numpy(), getattr(other.out, n).numpy())]


FAR_APART = [(0.0, 0.7), (0.0, -0.7), (-0.7, 0.7), (-0.7, -0.7)]  # two and two at first, then each alone
IN_TRACKS = [(0.4, 0.0), (0.0, 0.01), (0.0, 0.9), (-0.4, 0.02)]  # three in one track and one apart
CASES = {"apart": FAR_APART, "in each other's tracks": IN_TRACKS}


def made(monkeypatch, starts: Any, workers: Any, **more: Any) -> ManufacturedMotion:
    monkeypatch.setattr(launchers, "standby", lambda: workers)
    return wheels(starts, **more)


@pytest.mark.parametrize("speed", [0.2, 1.0], ids=["slow", "in parts of steps"])
@pytest.mark.parametrize("case", CASES)
def test_any_order_of_the_groups_has_the_bits_of_one_thread(monkeypatch, case, speed):
    one, other = made(monkeypatch, CASES[case], None), made(monkeypatch, CASES[case], InOneThread())
    counts = set()
    for k in range(0, 150, 5):
        for rig, workers in ((one, None), (other, InOneThread())):
            monkeypatch.setattr(launchers, "standby", lambda workers=workers: workers)  # asked when tiles have grown
            roll(rig, k, k + 5, speed)
        counts.add(int(other.module._launcher.groups.label.numpy().max()))
        assert not alike(one, other), k
    tiles = int(one.module.ground.arrays.used.numpy()[0])
    assert max(counts) > 0, "several groups"
    assert tiles > len(CASES[case]), "new tiles on the way"
    assert np.abs(one.wrench[0]).max(axis=1).min() > 10


@pytest.mark.parametrize("wrong", ["overlapping bodies apart", "nobody waits for tiles"])
def test_groups_that_are_wrong_miss(monkeypatch, wrong):
    starts, order = (IN_TRACKS, each_alone) if wrong.startswith("over") else (FAR_APART, nobody_waits)
    one, other = made(monkeypatch, starts, None), None
    roll(one, 0, 60)
    other = made(monkeypatch, starts, InOneThread(order))
    roll(other, 0, 60)
    assert alike(one, other)


# ---- real threads -------------------------------------------------------------------------------------------------


def states(sim: Simulation) -> dict[str, np.ndarray]:
    found = {"qpos": sim.engine.qpos, "qvel": sim.engine.qvel}
    for one in sim.modules:
        found |= {name: a.numpy() for name, a in one.state().items()}
    return found | {name: a.numpy() for name, a in sim.ground.state().items()}  # type: ignore[union-attr]


def cart() -> Simulation:
    return grouser.on_soil(grouser.CART, soil="dry-sand", bodies="wheel.*", drive={"motor.*": 0.4})


MACHINES = {"rover": lambda: rover(ExoMarsDrawbar(duration=20.0)), "cart": cart}


@pytest.mark.parametrize("threads", [2, 3])
@pytest.mark.parametrize("machine", MACHINES)
def test_machines_have_the_bits_of_one_thread(monkeypatch, machine, threads):
    """Also after a reset and from a checkpoint, and while workers come and go."""
    sims = []
    for count in (1, threads):
        monkeypatch.setenv(VARIABLE, str(count))
        sims.append(MACHINES[machine]())
        sims[-1].step(1)
    one, other = sims
    workers = standby()
    assert workers is not None
    before = workers.served()
    other.step(149)
    checkpoint = other.checkpoint()
    for _ in range(10_000):  # others may have the cores
        if workers.served() > before:
            break
        other.step(10)
    assert workers.served() > before, "a worker took part"
    one.step(other.steps - 1)
    assert not differences(states(one), states(other))
    other.restore(checkpoint)
    other.step(one.steps - other.steps)
    assert not differences(states(one), states(other)), "from a checkpoint"
    for sim in sims:
        sim.reset()
        sim.step(60)
    assert not differences(states(one), states(other)), "after a reset"


def test_worlds_and_single_bodies_have_one_thread(monkeypatch):
    monkeypatch.setenv(VARIABLE, "2")
    for worlds, count, shared in ((1, 2, 1), (1, 1, 0), (2, 2, 0)):
        ground = Ground(flat(size=(3, 3), spacing=0.5, origin=(-1.5, -1.5)), SOFT, 0.01, worlds=worlds)
        bodies = {f"wheel {k}": wheel(0.15, 0.1) for k in range(count)}
        rig = ManufacturedMotion(SoilModule(ground, bodies), worlds=worlds, step=STEP)
        rig.place(position=(0, 0, 0.14), rotation=rig.rotation).advance()
        assert rig.module._launcher.groups.shared == shared, (worlds, count)


# ---- where a body may work ------------------------------------------------------------------------------------------


def test_a_commit_neither_reads_nor_writes_outside_its_area():
    """The ground in other tiles is not a number for one of two twins, and nothing of it gets in or is repaired."""
    bodies = {"wheel": wheel(0.15, 0.1), "blade": prepare(*box(np.array([0.01, 0.2, 0.1])))}
    for body, surface in bodies.items():
        twins = []
        for _ in range(2):
            ground = Ground(flat(size=(6, 3), spacing=0.5, origin=(-4.5, -1.5)), SOFT, 0.01)
            twins.append(ManufacturedMotion(SoilModule(ground, {body: surface}), step=STEP))
        outside = 0
        for k in range(150):
            time = k * STEP
            depth = min(0.2 * time, 0.04)
            height = (0.15 if body == "wheel" else 0.1) - depth
            where: Any = {
                "position": (-0.6 + 0.9 * time if k > 50 else -4.0, 0.1 * time, height), "rotation": twins[0].rotation,
                "velocity": (0.9, 0.1, -0.2 if depth < 0.04 else 0.0), "spin": (0, 6.0 if body == "wheel" else 0.0, 0),
            }  # fmt: skip
            twins[0].place(**where)
            twins[0].module.commit(STEP)
            free = np.ones(twins[0].module.ground.heights().shape, bool)
            place = twins[0].module.arrays.placement
            for area in (place.area.numpy()[0], place.seen.numpy()[0]):
                rows, columns = (
                    slice(*whole_tiles(area[f"{along}0"], area[f"{along}1"])) for along in ("row", "column")
                )
                free[rows, columns] = False
            outside += poisoned(twins[1], free, where)
            for twin in twins:
                twin.evaluate()
            assert not alike(*twins), (body, k)
        assert outside > 1000, "some of the ground outside was in use"


def whole_tiles(first: int, last: int) -> tuple[int, int]:
    """The nodes of the tiles from one node to another: bodies are apart if they share no tile."""
    return max(int(first) // TILE * TILE, 0), max(int(last) // TILE * TILE + TILE, 0)


def poisoned(rig: ManufacturedMotion, free: np.ndarray, where: Any) -> int:
    """Commit while nodes in use outside the areas are not numbers. Returns how many there were."""
    a = rig.module.ground.arrays
    used = int(a.used.numpy()[0])
    owner, levels = a.owner.numpy()[0, :used], a.levels.numpy()[0]
    side = levels.shape[1]
    mask = np.zeros((used, side, side), bool)
    padded = np.pad(free, ((0, side), (0, side)))
    for k, (row, column) in enumerate(owner):
        mask[k] = padded[row * side : (row + 1) * side, column * side : (column + 1) * side]
    kept = levels[:used][mask].copy()
    levels[:used][mask] = np.nan
    rig.place(**where)
    rig.module.commit(STEP)
    a = rig.module.ground.arrays  # the pool of tiles may have grown
    levels = a.levels.numpy()[0]
    assert np.isnan(levels[:used][mask]).all(), "written to"
    levels[:used][mask] = kept
    return int(mask.sum())
