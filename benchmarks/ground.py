"""What the size of the ground costs: one wheel on 2 m x 2 m and on 100 m x 100 m at 1 cm, and memory along a path."""

from __future__ import annotations

import time

import numpy as np

from benchmarks.run import Row
from grouser.contact.soil import SoilModule, wheel
from grouser.scenarios.single_wheel import SingleWheel, _bin
from grouser.simulation.simulation import Simulation
from grouser.terrain import resting
from grouser.terrain.generators import flat
from grouser.terrain.ground import TILE, Ground
from grouser.terrain.soils import soil

SLICE = 4.0  # [m] of path that is really driven; a kilometre is this many times longer
PATH = 1000.0  # [m]


def measure() -> list[Row]:
    rows, costs = [], {}
    for side in (2.0, 100.0):
        sim = rolling(side)
        sim.step(200)
        times = []
        for _ in range(10):
            start = time.perf_counter()
            sim.step(100)
            times.append((time.perf_counter() - start) / 100)
        costs[side] = 1e6 * float(np.median(times))
        rows.append(Row("ground", f"{side:g} m x {side:g} m at 1 cm: a step", costs[side], "us"))
        rows.append(
            Row("ground", f"{side:g} m x {side:g} m at 1 cm: memory", sim.ground.memory() / 1e6, "MB", scales=False)
        )
    rows.append(Row("ground", "cost of 100 m over 2 m", costs[100.0] / costs[2.0], "1", 1.1, scales=False))
    return rows + along_a_path()


def rolling(side: float, travel: float = 1.0) -> Simulation:
    settings = SingleWheel(speed=0.1)
    length = max(side, travel)
    terrain = flat(size=(length, side), spacing=side / 2, origin=(-0.4, -side / 2))
    ground = Ground(terrain, soil("dry-sand"), 0.01)
    return Simulation(_bin(settings), [SoilModule(ground, {"wheel": wheel(0.15, 0.1)})], ground=ground)


def along_a_path() -> list[Row]:
    """Memory of a square kilometre at 1 cm: the table of tiles, and the tiles one wheel touches on its way."""
    terrain = flat(size=(1000.0, 1000.0), spacing=500.0, origin=(-0.5, -500.0))
    ground = Ground(terrain, soil("dry-sand"), 0.01)
    module = SoilModule(ground, {"wheel": wheel(0.15, 0.1)})
    sim = Simulation(_bin(SingleWheel(speed=0.2)), [module], ground=ground)
    sim.step(round(SLICE / 0.2 / sim.step_size))
    tiles = int(ground.arrays.used.numpy()[0])
    per_tile = ground.arrays.levels.numpy()[0, 0].nbytes
    driven = float(sim.data.qpos[0])
    path = tiles * per_tile * PATH / driven
    table = ground.arrays.table.numpy().nbytes
    ground.live_tiles = 1  # all that the wheel is not near comes to rest
    ground.rest()
    at_rest = resting.memory_at_rest(ground) * PATH / driven
    return [
        Row("ground", "1 km x 1 km at 1 cm: table of tiles", table / 1e6, "MB", scales=False),
        Row("ground", f"tiles of {TILE} x {TILE} nodes on {driven:.1f} m of path", tiles, "1", scales=False),
        Row("ground", "the same for 1 km of path, one wheel", path / 1e6, "MB", scales=False),
        Row("ground", "1 km of path, one wheel, at rest", at_rest / 1e6, "MB", 60.0, scales=False),
    ]
