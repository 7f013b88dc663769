"""Hashes of everything a run records: shows whether a change of the code changed a result.

    python -m benchmarks.fingerprint --save FILE       before the change (also writes FILE.npz)
    python -m benchmarks.fingerprint --compare FILE    after it: "equal", or how far a channel is off

Every scenario is shortened and run in float64, and in float32 where its modules allow it; a few robots on soil are
added. Channels are read at every one of the first steps, when Python drives the loop, and then at intervals, when the
compiled loop does. Names of cases after the options restrict the run to them.
"""

from __future__ import annotations

import argparse
import hashlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import grouser
from grouser.engine.mujoco_cpu import MujocoCpu
from grouser.quiet_warp import start_warp
from grouser.scenarios import registry
from grouser.scenarios.settings import from_python
from grouser.simulation import Simulation

FIRST = 40  # steps whose samples are kept to measure a difference
BLOCKS = 20  # intervals the rest of a run is divided into
BOUNDS = {"float64": 1e-11, "float32": 1e-4}  # of a channel's range, after FIRST steps: more is a defect
GROUND = "ground/surface"  # stands for the recorded tiles
# Measured with a clock, so never the same twice.
WALL_CLOCK = frozenset({"cost/increase"})

Samples = dict[str, np.ndarray]  # "case dtype channel": (step, …) values of the first steps
Hashes = dict[str, str]  # the same keys


@dataclass(frozen=True)
class Case:
    """One run: how it is built in a float type, how long it is, and when the first compared step is taken."""

    name: str
    build: Callable[[str], Simulation]
    seconds: float
    dtypes: tuple[str, ...] = ("float64", "float32")
    start: float = 0.0  # [s] before which nothing touches


# ---- scenarios ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Short:
    """A scenario with changed settings. `own`: it has a setting `dtype`; `follows`: its modules take the engine's."""

    seconds: float
    settings: Mapping[str, Any] = field(default_factory=dict)
    own: bool = False
    follows: bool = False
    start: float = 0.0


NEAR = {  # the tool is in the nozzle already
    "boom_length": 2.11, "client_x": 0.0015, "client_y": -0.001, "client_tilt_x_deg": 0.2, "client_tilt_y_deg": -0.2,
}  # fmt: skip
SHORT = {
    "blade": Short(3.0, {"travel": 0.1}, own=True),
    "box-on-stairs": Short(2.0, start=0.25),
    "bulldozer-ditch": Short(1.0, follows=True),
    "bulldozer-doze": Short(4.2, {"length": 1.0, "speed": 1.5}),
    "bulldozer-drawbar": Short(1.0),
    "bulldozer-turn": Short(1.0),
    "docking-olev": Short(15.0, {"initial": NEAR}, follows=True),
    "exomars-drawbar": Short(2.4, own=True),
    "exomars-gradeability": Short(3.0, {"trials": 3, "starts": 1, "approach": 2.2, "length": 0.1, "window": 0.05}),
    "multi-pass": Short(2.0),
    "plate-sinkage": Short(2.0),
    "robot": Short(2.0, own=True),
    "rocks-and-sand": Short(8.0, {"time": 9.0, "speed": 0.03}, start=0.25),
    "rover-course": Short(2.0, own=True),
    "single-wheel": Short(3.0, {"slip": 0.3, "slip_angle_deg": 10.0}, own=True),
    "track-rig": Short(1.0, follows=True),
    "traverse": Short(2.0),
    "viking-rocks": Short(8.0, {"time": 9.0, "speed": 0.03}, follows=True),
    "vivi-acceleration": Short(1.5, follows=True),
    "vivi-jump": Short(1.2, {"step": 5e-4}, start=0.61),
    "vivi-ramp": Short(3.0, follows=True),
    "vivi-sinusoid": Short(2.0, follows=True),
    "vivi-turn": Short(1.0, follows=True),
    "wheel-walker-stairs": Short(2.0),
}


def of_scenario(name: str) -> Case:
    short = SHORT[name]

    def build(dtype: str) -> Simulation:
        settings = {**short.settings, "dtype": dtype} if short.own else short.settings
        experiment = from_python(name, settings)
        with engine_in(dtype):
            return experiment.scenario.build(experiment.settings)

    dtypes = ("float64", "float32") if short.own or short.follows else ("float64",)
    return Case(name, build, short.seconds, dtypes, short.start)


def engine_in(dtype: str) -> Any:
    """Makes every engine built meanwhile one of `dtype`: most scenarios do not offer the choice."""

    def build(spec, modules, step, implicit, worlds, _, notes) -> MujocoCpu:
        return MujocoCpu(spec, modules, step, implicit, worlds, dtype, notes)

    return mock.patch("grouser.simulation.simulation.MujocoCpu", build)


# ---- robots on soil -----------------------------------------------------------------------------------

CART = Path(grouser.__file__).parent / "scenarios" / "cart.xml"
BALLS = """<mujoco model="balls"><worldbody>
  <body name="ball" pos="0 0 0.1"><freejoint/><geom type="sphere" size="0.1" mass="6"/></body>
  <body name="block" pos="0.5 0 0.1"><freejoint/><geom type="box" size="0.1 0.08 0.06" mass="5" euler="10 20 0"/></body>
</worldbody><keyframe><key name="thrown" qpos="0 0 0.12 1 0 0 0 0.5 0 0.12 1 0 0 0"
  qvel="0.5 0.1 -0.3 0 3 1 -0.4 0.2 -0.5 1 0 2"/></keyframe></mujoco>"""
HOPPER = """<mujoco model="hopper"><worldbody><body name="trunk" pos="0 0 0.5"><freejoint/>
  <geom type="box" size="0.1 0.1 0.05" mass="4"/>
  <body name="leg" pos="0 0 -0.05"><joint name="knee" type="slide" axis="0 0 1" range="-0.1 0.1" damping="20"/>
    <geom type="capsule" size="0.03" fromto="0 0 0 0 0 -0.25" mass="1"/>
    <body name="foot" pos="0 0 -0.27"><geom type="cylinder" size="0.08 0.02" mass="0.5"/></body>
  </body></body></worldbody>
  <actuator><position name="push" joint="knee" kp="800"/></actuator></mujoco>"""


def thrown(dtype: str) -> Simulation:
    """A ball and a tilted block, thrown; both slide, dig and come to rest."""
    return grouser.on_soil(_spec(BALLS), "dry-sand", dtype=dtype, keyframe="thrown", place=False)


def hopping(dtype: str) -> Simulation:
    """A foot pressed into clay in two worlds."""
    return grouser.on_soil(_spec(HOPPER), "clay", bodies="foot", drive={"push": -0.05}, worlds=2, dtype=dtype)


def carting(dtype: str) -> Simulation:
    """A cart that drives on a fine grid."""
    return grouser.on_soil(CART, "lunar-nominal", bodies="wheel.*", drive={"motor.*": 2.0}, spacing=5e-3, dtype=dtype)


def _spec(text: str) -> Any:
    import mujoco

    return mujoco.MjSpec.from_string(text)


ROBOTS = (Case("thrown", thrown, 1.0), Case("hopper", hopping, 1.0), Case("cart", carting, 1.5))

# ---- meshes and sections in contact ---------------------------------------------------------------------

PILE = """<mujoco model="pile"><worldbody>
  <body name="ball" pos="0 0 0.0995"><freejoint/>
    <geom type="sphere" size="0.1" mass="3" contype="0" conaffinity="0"/></body>
  <body name="block" pos="0.01 0.005 0.2295"><freejoint/>
    <geom type="box" size="0.05 0.04 0.03" mass="1" contype="0" conaffinity="0"/></body>
</worldbody></mujoco>"""
PLUG = """<mujoco model="plug"><worldbody><body name="plug" pos="0.0003 0.0001 0" euler="0 0.1 20"><freejoint/>
  <geom type="cylinder" size="0.05 0.03" mass="2" contype="0" conaffinity="0"/></body></worldbody></mujoco>"""


def pile(dtype: str) -> Simulation:
    """A block that rolls off a ball on waves: meshes against the ground and each other, exact and linear depth."""
    import trimesh

    from grouser.contact.polygonal import Layer, Pair, PolygonalModule, shape

    layer = Layer(young=1e7, thickness=0.02, damping=2e4, transition_depth=5e-4)
    ball, block = trimesh.creation.icosphere(3, 0.1), trimesh.creation.box((0.1, 0.08, 0.06)).subdivide()
    x, y = np.meshgrid(*2 * [np.linspace(-0.4, 0.4, 41)])
    k = (np.arange(40)[:, None] * 41 + np.arange(40)).ravel()
    cells = np.concatenate([np.stack([k, k + 1, k + 42], 1), np.stack([k, k + 42, k + 41], 1)])
    waves = np.stack([x, y, 3e-4 * np.sin(10 * x) * np.cos(8 * y)], -1).reshape(-1, 3)
    bodies = {"ball": (ball.vertices, ball.faces), "block": (block.vertices, block.faces)}
    shapes = {name: shape(*mesh, layer, name=name) for name, mesh in bodies.items()}
    ground = {"waves": shape(waves, cells, layer, name="waves")}
    pairs = [
        Pair("ball", "waves"),
        Pair("block", "waves", depth="exact"),
        Pair("block", "ball", largest_area=4e-4, capacity=20000),
    ]
    return Simulation(_spec(PILE), [PolygonalModule(shapes, ground, pairs)], step=5e-4, dtype=dtype)


def plug(dtype: str) -> Simulation:
    """A tilted plug that slides down in a narrow tube: sections against each other."""
    from grouser.contact.layers import Layer
    from grouser.contact.revolution import Profile, RevolutionBody, RevolutionContact, RevolutionPair

    layer = Layer(young=1e7, thickness=0.004, damping=1e4, friction_stick=0.2, friction_slip=0.1)
    inside = Profile.cylinder(0.05, (-0.03, 0.03), longest=0.005)
    outside = Profile.cylinder(0.0501, (-0.3, 0.1), inner=True, longest=0.01)
    moving, still = RevolutionBody("plug", inside, layer, "plug"), RevolutionBody(None, outside, layer, "tube")
    return Simulation(_spec(PLUG), [RevolutionContact([RevolutionPair("fit", moving, still)])], step=1e-3, dtype=dtype)


CONTACTS = (Case("pile", pile, 0.5), Case("plug", plug, 0.15))


def cases(names: Sequence[str] = ()) -> list[Case]:
    every = [*(of_scenario(name) for name in registry.NAMES), *ROBOTS, *CONTACTS]
    return [case for case in every if not names or case.name in names]


# ---- running ------------------------------------------------------------------------------------------


def fingerprint(case: Case, dtype: str) -> tuple[Hashes, Samples]:
    """Hash of every channel over a whole run, and its samples of the first steps."""
    sim = case.build(dtype)
    channels = [channel for channel in sim.channels() if channel.name not in WALL_CLOCK]
    digests = {channel.name: hashlib.sha256() for channel in channels}
    kept: dict[str, list[np.ndarray]] = {name: [] for name in digests}
    for k, _ in enumerate(moments(sim, case)):
        for channel in channels:
            values = joined(channel.read() if channel.read else np.zeros(0))
            digests[channel.name].update(values.tobytes())
            if k <= FIRST:
                kept[channel.name].append(values)
    hashes = {name: digest.hexdigest() for name, digest in digests.items()}
    if sim.ground is not None:
        hashes[GROUND], kept[GROUND] = surface(sim)
    label = f"{case.name} {dtype}"
    return (
        {f"{label} {name}": text[:16] for name, text in hashes.items()},
        {f"{label} {name}": stacked(values) for name, values in kept.items()},
    )


def moments(sim: Simulation, case: Case) -> Iterator[None]:
    """The times at which channels are read: step by step at first, then at the ends of longer blocks."""
    sim.step(round(case.start / sim.step_size))
    yield
    for _ in range(FIRST):
        sim.step()
        yield
    left = max(1, round((case.seconds - sim.time) / sim.step_size))
    for k in range(BLOCKS):
        sim.step((k + 1) * left // BLOCKS - k * left // BLOCKS)
        yield


def joined(values: Any) -> np.ndarray:
    """One array of a channel's values; ragged channels give one for each world."""
    if isinstance(values, list | tuple):
        return np.concatenate([np.ravel(part) for part in values])
    return np.array(values)


def stacked(values: list[np.ndarray]) -> np.ndarray:
    """(step, …); flat where the number of rows differs from step to step."""
    if len({part.shape for part in values}) == 1:
        return np.stack(values)
    return np.concatenate([np.ravel(part) for part in values])


def surface(sim: Simulation) -> tuple[str, list[np.ndarray]]:
    """Heights of all tiles that were touched, at the end, by place."""
    assert sim.ground is not None
    digest, heights = hashlib.sha256(), []
    for world in range(sim.worlds):
        _, owners, levels = sim.ground.written(world)
        order = np.lexsort(owners.T)
        digest.update(np.ascontiguousarray(owners[order]).tobytes())
        digest.update(np.ascontiguousarray(levels[order][..., 0]).tobytes())
        heights.append(np.array([levels[..., 0].min(), levels[..., 0].max()]))
    return digest.hexdigest(), heights


# ---- comparing ----------------------------------------------------------------------------------------


def off_by(before: np.ndarray | None, after: np.ndarray) -> float:
    """Largest difference of the samples over the range of the earlier ones; infinite where they cannot be compared."""
    if before is None or before.shape != after.shape:
        return float("inf")
    if after.size == 0:
        return 0.0
    before, after = before.astype(float), after.astype(float)
    if not np.array_equal(np.isfinite(before), np.isfinite(after)):
        return float("inf")
    span = float(np.nanmax(before) - np.nanmin(before)) or float(np.nanmax(np.abs(before))) or 1.0
    return float(np.nanmax(np.abs(after - before))) / span


def verdict(key: str, hashes: Hashes, before: Hashes, samples: Samples, old: Samples) -> tuple[str, bool]:
    """A line about one channel, and whether it is as it should be."""
    if key not in before:
        return "new", True
    if before[key] == hashes[key]:
        return "equal", True
    difference, bound = off_by(old.get(key), samples[key]), BOUNDS[key.split()[1]]
    return f"differs, {difference:.2g} of its range after {FIRST} steps", difference <= bound


def read(file: Path) -> tuple[Hashes, Samples]:
    lines = [line.rsplit(" ", 1) for line in file.read_text().splitlines()]
    with np.load(file.with_suffix(".npz")) as stored:
        return dict(lines), dict(stored)


def write(file: Path, hashes: Hashes, samples: Samples) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(f"{key} {text}\n" for key, text in hashes.items()))
    np.savez_compressed(file.with_suffix(".npz"), **samples)  # type: ignore[arg-type]


def take(chosen: Sequence[Case]) -> Iterator[tuple[Hashes, Samples]]:
    for case in chosen:
        for dtype in case.dtypes:
            yield fingerprint(case, dtype)


def measure():
    """`make bench NAME=fingerprint`: prints the hashes."""
    from benchmarks.run import Row

    start, count = time.perf_counter(), 0
    for hashes, _ in take(cases()):
        count += len(hashes)
        print("".join(f"{key} {text}\n" for key, text in hashes.items()), end="")
    return [
        Row("fingerprint", "channels", count, "1", None, False),
        Row("fingerprint", "all cases", time.perf_counter() - start, "s"),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="CASE")
    parser.add_argument("--save", type=Path, metavar="FILE")
    parser.add_argument("--compare", type=Path, metavar="FILE")
    asked = parser.parse_args()
    start_warp()
    before, old = read(asked.compare) if asked.compare else ({}, {})
    hashes, samples, wrong, seen = {}, {}, 0, 0
    for some, values in take(cases(asked.names)):
        hashes |= some
        samples |= values
        for key, text in some.items():
            line, good = verdict(key, hashes, before, samples, old) if asked.compare else (text, True)
            seen += line != "equal" and bool(asked.compare)
            wrong += not good
            print(f"{key} {line}{'' if good else ', a defect'}", flush=True)
    if asked.save:
        write(asked.save, hashes, samples)
    if asked.compare:
        ran = {key.rsplit(" ", 1)[0] for key in hashes}
        gone = [key for key in before if key not in hashes and key.rsplit(" ", 1)[0] in ran]
        print("".join(f"{key} gone\n" for key in gone), end="")
        print(f"{len(hashes) - seen} of {len(hashes)} channels equal, {wrong} defects, {len(gone)} gone")
        return int(bool(wrong or gone))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
