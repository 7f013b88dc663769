"""Both tracks of the bulldozer with its chassis on flat ground, driving: cost of a step, of a link, on two threads.

The accuracy is that of the implicit scheme at its default step against a fine explicit run, on the rig.
"""

from __future__ import annotations

import multiprocessing
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import grouser
from benchmarks.run import Row
from grouser.recording import Recording
from grouser.scenarios import bulldozer_ditch, bulldozer_doze, bulldozer_drawbar
from grouser.scenarios import tracked_machine as tracked
from grouser.scenarios.track_rig import SETTLING
from grouser.scenarios.tracked_machine import MachineSettings
from grouser.simulation import Simulation
from grouser.track import FlatGround, Layout, Track, TrackModule, mount, pace

STEP = 1e-3  # [s]
REAL_TIME = {"explicit": 3.0, "implicit": 4.0}  # times faster than real time
AIM = 8.0  # of the implicit scheme
WARM_UP = 3.2  # [s] after which it drives
CLOSE = 0.05  # of the fine explicit run
ROUNDS, STEPS = 5, 200
NOT_SLOWER = 1.03  # two threads over one: trials of a thread that does not pay take some time
SOIL_REAL_TIME = 5.0  # times faster than real time with soil and ruts
ON_SOIL: dict[str, tuple[Any, Any, float]] = {  # scenario, settings, time [s] to the end of the pass
    "bulldozer-drawbar": (bulldozer_drawbar, bulldozer_drawbar.BulldozerDrawbar, 5.0),
    "bulldozer-ditch": (bulldozer_ditch, bulldozer_ditch.BulldozerDitch, 5.0),
    "bulldozer-doze": (bulldozer_doze, bulldozer_doze.BulldozerDoze, 14.5),
}


def measure() -> list[Row]:
    rows = []
    for scheme, factor in REAL_TIME.items():
        sim = driving(scheme)
        whole, tracks = cost(lambda sim=sim: sim.step()), cost(lambda sim=sim: sim.modules[0].evaluate(STEP))
        bar = 1e6 * STEP / factor
        rows += [
            Row("track", f"{scheme}: step of 1 ms, all ({factor:g} x real time)", whole, "us", bar),
            Row("track", f"{scheme}: both tracks", tracks, "us"),
            Row("track", f"{scheme}: a link and millisecond", tracks / 92, "us"),
        ]
    for scheme in REAL_TIME:
        sim = driving(scheme, threads=2)
        whole, tracks = cost(lambda sim=sim: sim.step()), cost(lambda sim=sim: sim.modules[0].evaluate(STEP))
        rows += [
            Row("track", f"{scheme}: step of 1 ms, all, two threads", whole, "us"),
            Row("track", f"{scheme}: both tracks, two threads", tracks, "us"),
        ]
    return rows + on_soil() + second_thread() + growth() + accuracy()


def on_soil(threads: int = 1) -> list[Row]:
    """A mean step of whole runs on dry sand with ruts, with and without a blade that moves soil."""
    rows = []
    for name, (module, settings, seconds) in ON_SOIL.items():
        sim = module.build(settings.model_validate({"plastic": {"name": "dry-sand"}, "threads": threads}))
        sim.step(10)  # compiles
        start = time.perf_counter()
        sim.step(round(seconds / STEP))
        mean = 1e6 * (time.perf_counter() - start) / round(seconds / STEP)
        rows.append(Row("track", f"{name} with ruts, mean of {seconds:g} s", mean, "us", 1e6 * STEP / SOIL_REAL_TIME))
    return rows


def second_thread() -> list[Row]:
    """Time of steps with `threads=2` over that with one, in turn, alone and beside a process that is always busy."""
    rows = []
    for beside in ("", " beside a busy process"):
        busy = [multiprocessing.get_context("spawn").Process(target=_spin, daemon=True)] if beside else []
        for process in busy:
            process.start()
        sims = {threads: driving("implicit", threads) for threads in (1, 2)}
        times = dict.fromkeys(sims, 0.0)
        for _ in range(2 * pace.PERIOD // STEPS):  # two periods, so that the trials of the pace count as in long runs
            for threads, sim in sims.items():
                start = time.perf_counter()
                sim.step(STEPS)
                times[threads] += time.perf_counter() - start
        for process in busy:
            process.terminate()
        rows.append(Row("track", f"two threads over one{beside}", times[2] / times[1], "1", NOT_SLOWER, False))
    return rows


def _spin() -> None:
    while True:
        pass


def driving(scheme: Any, threads: int = 1) -> Simulation:
    settings = MachineSettings(scheme=scheme, threads=threads)
    sim = tracked.simulate(settings, tracked.ramped([(tracked.SETTLING, 1.0, 1.0)]))
    sim.step(round(WARM_UP / STEP))
    return sim


def cost(call) -> float:
    """[us] the best mean of some rounds."""
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for _ in range(STEPS):
            call()
        best = min(best, (time.perf_counter() - start) / STEPS)
    return 1e6 * best


def growth() -> list[Row]:
    """Cost of a link in chains of 46 and of 138 links: even cost means linear growth."""
    costs = {}
    for links, length in ((46, 3.41), (138, 3.41 + 46 * 0.2032)):
        rollers = 5 if links == 46 else 22
        module = standing(Layout(idler_x=length, rollers=rollers, carriers=(1.15, 2.35)), links)
        costs[links] = cost(lambda module=module: module.evaluate(STEP)) / links
    ratio = costs[138] / costs[46]
    return [
        Row("track", "implicit: a link of a chain of 46, alone", costs[46], "us"),
        Row("track", "implicit: a link of a chain of 138, alone", costs[138], "us"),
        Row("track", "cost of a link, 138 against 46 links", ratio, "1", 1.3, False),
    ]


def standing(layout: Layout, links: int) -> TrackModule:
    """A track held still on the ground, without an engine."""
    from tests.rig import ManufacturedMotion

    wheels, chain = layout.close(links=links, tension=15e3, travel=(-0.3, 0.3))
    axle = wheels[0].centre
    origins = {"frame": (0, 0, 0), "front_frame": (0, 0, 0), "sprocket": (axle[0], 0, axle[1])}
    track = Track("only", layout.link, mount(wheels, origins), chain, "frame")
    module = TrackModule([track], FlatGround(height=-0.1))
    rig = ManufacturedMotion(module, step=STEP)
    place = np.zeros((len(module.bodies), 3))
    place[module.bodies.index("sprocket")] = origins["sprocket"]
    rig.place(position=place, rotation=[0, 0, 0, 1], velocity=np.zeros(3), spin=np.zeros(3))
    for _ in range(300):
        rig.advance()
    return module


def accuracy() -> list[Row]:
    means = {scheme: pulled(scheme, substeps) for scheme, substeps in (("implicit", None), ("explicit", 16))}
    return [
        Row("track", f"{name}, implicit against fine explicit", abs(a / b - 1), "1", CLOSE, False)
        for name, a, b in zip(("tension", "sprocket torque"), means["implicit"], means["explicit"], strict=True)
    ]


def pulled(scheme: str, substeps: int | None) -> list[float]:
    """Greatest tension and sprocket torque of the rig, means while it pulls."""
    with tempfile.TemporaryDirectory() as folder:
        settings = {"scheme": scheme, "substeps": substeps, "time": 2.0}
        outcome = grouser.run("track-rig", settings, out=Path(folder) / "out", report=False)
        with Recording(outcome.recording) as recording:
            steady = recording.time > SETTLING + 1.0
            tension = recording["track/rig/tension"][steady].max(axis=1).mean()
            return [float(tension), float(recording["track/rig/wheel_torque[sprocket]"][steady].mean())]
