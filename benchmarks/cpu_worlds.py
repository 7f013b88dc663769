"""Many carts on the CPU, each on its own soil: time of a step on one thread and on several, time of a reset.

python -m benchmarks.cpu_worlds --worlds 16 --threads 2
"""

from __future__ import annotations

import argparse
import statistics
import time

import grouser
from grouser.simulation.simulation import Simulation
from grouser.terrain import soil

ROUNDS = 5  # of each measurement, taken in turn; the median counts


def carts(worlds: int, threads: int) -> Simulation:
    """Carts that drive, on soils from half to twice the stiffness of dry sand."""
    sand = soil("dry-sand")
    soils = [sand.replace(k_phi=sand.k_phi * 2 ** (2 * k / worlds - 1)) for k in range(worlds)]
    sim = grouser.on_soil(grouser.CART, soils, "wheel.*", drive={"motor.*": 0.4}, worlds=worlds, threads=threads)
    sim.step(100)
    return sim


def step_time(sim: Simulation, steps: int) -> float:
    """Wall time [s] of a step."""
    began = time.perf_counter()
    sim.step(steps)
    return (time.perf_counter() - began) / steps


def reset_time(sim: Simulation) -> float:
    """Wall time [s] of the reset of one world."""
    began = time.perf_counter()
    sim.reset([sim.worlds // 2])
    return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=16)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--steps", type=int, default=100)
    given = parser.parse_args()
    one, several = carts(given.worlds, 1), carts(given.worlds, given.threads)
    times = [(step_time(one, given.steps), step_time(several, given.steps)) for _ in range(ROUNDS)]
    single, parallel = (statistics.median(each) for each in zip(*times, strict=True))
    both = f"{1e3 * single:.3f} ms on one thread, {1e3 * parallel:.3f} ms on {given.threads}"
    print(f"{given.worlds} carts, step: {both}: {single / parallel:.2f} times as fast")
    same = (one.qpos == several.qpos).all()
    print(f"bits of both are {'equal' if same else 'NOT equal'}")
    for sim in (several, carts(4 * given.worlds, given.threads)):
        reset = statistics.median(reset_time(sim) for _ in range(ROUNDS))
        print(f"reset of one of {sim.worlds} worlds: {1e3 * reset:.2f} ms")


if __name__ == "__main__":
    main()
