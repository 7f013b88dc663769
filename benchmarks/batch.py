"""Many rovers on one GPU, each on its own soil, in closed loop: steps per second, time of each kernel, memory.

The rover of robots/exomars.py with six wheels on a grid of 10 mm at 5 ms in float32. It pulls a spring as in
exomars-drawbar, so that its wheels slip more and more. All worlds differ: each rover has its own speed and place
between the nodes. Every 20 ms it is observed, on the device, and a wheel that slips by more than half turns slower.
On an H200 the exit status is 1 if a bar of 4096 worlds is missed.

    python -m benchmarks.batch 64 1024 4096 --seconds 5
    python -m benchmarks.batch 4 --device cpu --memory     # MiB a world by array; needs no GPU
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import sys
import time
from collections import defaultdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import warp as wp

sys.path.insert(0, str(Path(__file__).parents[1]))
from grouser.contact.soil import SoilModule, SoilOptions, per_team, team_launcher
from grouser.engine.mujoco_warp import MujocoWarp
from grouser.robots import exomars
from grouser.simulation.simulation import Simulation
from grouser.terrain import flat, soil
from grouser.terrain.ground import Ground

STEP = 5e-3  # [s]
SPACING = 0.01  # [m]
SOIL = "exomars-test"
SIZE = (3.2, 2.24)  # [m] of the ground: the rover and two metres of travel
SPRING = 150.0  # [N/m] that each rover pulls
SPEEDS = (0.015, 0.025)  # [m/s] of the rims, the slowest and the fastest rover
TILES = 48  # of a world on a device: two tracks, two tiles across and 3.5 m long, with one more at either end
WARM_UP = 200  # steps, after which the rovers have settled
PERIOD = 4  # steps between two observations: 50 Hz
MOST_SLIP = 0.5  # above which the controller slows a wheel down
BAR_WORLDS = 4096
RATES = {"default": 350e3, "0.1": 500e3}  # [1/s] least rover-steps a second, by laws
MOST_MEMORY = 2.5  # [MiB] a world
LAWS: dict[str, dict[str, Any]] = {
    "default": {},
    "0.1": {"faces": False, "interface_friction": "scales"},  # the laws of version 0.1
}


def build(
    worlds: int, device: str, dtype: str = "float32", laws: str = "default", engine: Any = None,
    tiles: int | None = None, **options: Any,
) -> Simulation:  # fmt: skip
    """Rovers on `device`. `engine`: MuJoCo Warp there if it is not given. `tiles` of a world: all, if it is not given.

    `options` of `SoilOptions`, besides those of the laws.
    """
    p = exomars.ExoMars()
    terrain = flat(size=SIZE, spacing=0.16, origin=(-1.1, -SIZE[1] / 2))
    every = int(np.prod([-(-round(side / SPACING + 1) // 32) for side in SIZE]))
    room = {"capacity": tiles or every, "fixed": tiles is not None}
    ground = Ground(terrain, soil(SOIL), SPACING, worlds=worlds, dtype=dtype, device=device, **room)
    surface = exomars.wheel_surface(p)
    bodies = tuple(f"wheel_{name}" for name in exomars.WHEELS)
    module = SoilModule(ground, dict.fromkeys(bodies, surface), SoilOptions(**LAWS[laws], **options))
    engine = engine or partial(MujocoWarp, device=device)
    spec = exomars.build(p)
    add_spring(spec, p)
    sim = Simulation(spec, [module], ground=ground, step=STEP, worlds=worlds, dtype=dtype, engine=engine)
    scatter(sim, p)
    return sim


def add_spring(spec: Any, p: exomars.ExoMars) -> None:
    """Add a spring from a post behind the rover to its rear. It only pulls."""
    spec.body("chassis").add_site(name="hitch", pos=[p.rear_x, 0, 0])
    spec.worldbody.add_site(name="post", pos=[p.rear_x - 1.0, 0, p.longitudinal_pivot_height])
    spring = spec.add_tendon(name="spring", stiffness=SPRING, springlength=[0, 1.0], width=0.01)
    spring.wrap_site("post")
    spring.wrap_site("hitch")


def scatter(sim: Simulation, p: exomars.ExoMars) -> None:
    """Give every world its own place between the nodes and its own speed."""
    random, m = np.random.default_rng(0), sim.model
    qpos = np.tile(m.qpos0, (sim.worlds, 1))
    qpos[:, :2] += random.uniform(-0.05, 0.05, (sim.worlds, 2))
    ctrl = np.zeros((sim.worlds, m.nu))
    ctrl[:, :6] = random.uniform(*SPEEDS, (sim.worlds, 1)) / p.wheel_radius
    if isinstance(sim.engine, MujocoWarp):
        sim.engine.set_start(qpos=qpos, ctrl=ctrl)
        sim.reset(range(sim.worlds))
        return
    for world, data in enumerate(sim.engine.data):
        data.qpos[:], data.ctrl[:] = qpos[world], ctrl[world]
    sim.engine.kinematics()
    sim.modules[0].commit(sim.engine.step)


def on_host(values: Any) -> np.ndarray:
    """A copy of an array of a device or of the host."""
    return values.numpy() if isinstance(values, wp.array) else np.array(values)


@wp.kernel
def slow_down(slip: wp.array2d[wp.float64], wanted: wp.array2d[wp.float32], ctrl: wp.array2d[wp.float32]):
    """Wheel rates [rad/s]: those that are wanted, less where a wheel slips by more than MOST_SLIP."""
    world, wheel = wp.tid()
    excess = wp.clamp(wp.float32(slip[world, wheel]) - wp.static(MOST_SLIP), 0.0, 0.5)
    ctrl[world, wheel] = wanted[world, wheel] * (1.0 - excess)


def rate(sim: Simulation, seconds: float, period: int = PERIOD) -> float:
    """Steps of one world per second of wall time, all worlds together, observed and controlled every `period` steps.

    Without a period rovers are not looked at.
    """
    wanted = wp.clone(sim.ctrl) if period else None
    steps, began = 0, time.perf_counter()
    while time.perf_counter() - began < seconds:
        if wanted is None:
            sim.step(50)
            steps += 50
        for _ in range(50 // period if period else 0):
            sim.step(period)
            slip = sim.observe()["soil/slip"]
            wp.launch(slow_down, slip.shape, inputs=[slip, wanted], outputs=[sim.ctrl], device=slip.device)
            steps += period
        wp.synchronize()
    return steps * sim.worlds / (time.perf_counter() - began)


def memory_growth(sim: Simulation, steps: int) -> int:
    """Memory of the device [bytes] that is taken after `steps` steps and was free before.

    A world in turn is reset each 50 steps, so that no rover leaves its ground where there are less than a hundred.
    """
    device = wp.get_device(sim.engine.qpos.device)
    sim.step(500)
    sim.reset([0])
    wp.synchronize()
    before = device.free_memory
    for turn in range(-(-steps // 50)):
        sim.step(50)
        sim.reset([turn % sim.worlds])
    wp.synchronize()
    return before - device.free_memory


def kernel_times(sim: Simulation, steps: int = 10) -> dict[str, float]:
    """Time [ms] of each kernel in a step, launched one by one; as in a graph, without those that no world needs."""
    evaluate, commit = sim.modules[0].launches(sim.engine.step)
    totals: dict[str, list[float]] = defaultdict(list)
    in_graphs, team_launcher.only_if = team_launcher.only_if, _if_set
    for _ in range(steps):
        wp.timing_begin(cuda_filter=wp.TIMING_KERNEL)
        evaluate.make()
        sim.engine.assemble()
        sim.engine.advance()
        sim.engine.kinematics()
        commit.make()
        found: dict[str, float] = defaultdict(float)
        for result in wp.timing_end():
            name = result.name.removeprefix("forward kernel ").split(".")[-1].split(" ")[0]
            found[name] += result.elapsed
        for name, elapsed in found.items():
            totals[name].append(elapsed)
    team_launcher.only_if = in_graphs
    return {name: statistics.median(times) for name, times in totals.items()}


def _if_set(flag: Any, record: Any) -> None:
    """`launches.only_if` without a graph: the host reads the flag."""
    if flag.numpy()[0]:
        record()


def misses(worlds: int, laws: str, speed: float, memory: float, frozen: int) -> list[str]:
    """What lies beyond its bar at 4096 worlds; bars hold for an NVIDIA H200."""
    if worlds != BAR_WORLDS:
        return []
    stopped = [f"{frozen} worlds stand still"] if frozen else []
    slow = [f"{speed:.3g} rover-steps/s, at least {RATES[laws]:.3g}"] if speed < RATES[laws] else []
    return stopped + slow + ([f"{memory:.2f} MiB a world, at most {MOST_MEMORY}"] if memory > MOST_MEMORY else [])


def print_memory(sim: Simulation, least: float = 0.01) -> None:
    """Print the memory of the soil by array, in MiB a world; what takes less than `least` MiB as one line."""
    each = {name: size / sim.worlds / 2**20 for name, size in sim.modules[0].memory_by_array().items()}
    window = sim.modules[0].arrays.window
    print(f"soil: {sum(each.values()):.2f} MiB a world, room for {window.nodes} nodes in the window of each wheel")
    for name, size in each.items():
        if size >= least:
            print(f"    {size:8.3f} MiB  {name}")
    print(f"    {sum(size for size in each.values() if size < least):8.3f} MiB  the others together", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("worlds", type=int, nargs="*", default=[64, 1024, 4096])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--laws", default=["default"], choices=list(LAWS), nargs="*")
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--period", type=int, default=PERIOD, help="steps between observations; 0: none")
    parser.add_argument("--steps", type=int, default=0, help="growth of memory over so many more steps too")
    parser.add_argument("--kernels", action="store_true", help="time of each kernel too")
    parser.add_argument("--memory", action="store_true", help="memory of the soil by array, and no run")
    parser.add_argument("--exact-math", action="store_true", help="without the fast divisions and powers of a GPU")
    parser.add_argument("--at-once", type=int, help="worlds that work at the same time")
    args = parser.parse_args()
    per_team.MODULE.options["fast_math"] = not args.exact_math
    missed: list[str] = []
    for worlds, laws in itertools.product(args.worlds, args.laws):
        began = time.perf_counter()
        before = wp.get_device(args.device).free_memory if wp.get_device(args.device).is_cuda else 0
        options = {"threads": "per-team", "worlds_at_once": args.at_once}
        sim = build(worlds, args.device, args.dtype, laws, tiles=TILES, **options)
        if args.memory:
            print_memory(sim)
            continue
        sim.step(WARM_UP)
        wp.synchronize()
        memory = (before - wp.get_device(args.device).free_memory) / worlds / 2**20 if before else float("nan")
        ready = time.perf_counter() - began
        speed = rate(sim, args.seconds, args.period)
        sinkage, frozen = on_host(sim.observe()["soil/sinkage"]), int(sim.engine.frozen.sum())
        print(
            f"{worlds} worlds, laws {laws}, {args.dtype}: {speed:.4g} rover-steps/s, "
            f"{1e3 * worlds / speed:.3f} ms a step, {memory:.2f} MiB a world, ready after {ready:.0f} s, "
            f"sinkage {1e3 * sinkage.min():.1f} to {1e3 * sinkage.max():.1f} mm, frozen {frozen}",
            flush=True,
        )
        missed += [f"{worlds} worlds, laws {laws}: {line}" for line in misses(worlds, laws, speed, memory, frozen)]
        if args.steps:
            print(f"    {memory_growth(sim, args.steps)} bytes more after {args.steps} steps", flush=True)
        if args.kernels:
            for name, elapsed in sorted(kernel_times(sim).items(), key=lambda item: -item[1])[:24]:
                print(f"    {elapsed:8.3f} ms  {name}")
        del sim
    for line in missed:
        print(f"MISSED {line}")
    return int(bool(missed) and "H200" in str(wp.get_device(args.device).name))


if __name__ == "__main__":
    sys.exit(main())
