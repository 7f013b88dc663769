"""A simulation: robots on ground, stepped, recorded, saved and restored."""

from __future__ import annotations

import math
import time as clock
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import mujoco
import numpy as np

from grouser import module as optional
from grouser.control.function import ControlLaw, as_controllers, cause, name_of
from grouser.engine.frame import Frame
from grouser.engine.mujoco_cpu import MujocoCpu
from grouser.engine.mujoco_warp import MujocoWarp
from grouser.engine.parameters import parameters, set_parameters
from grouser.engine.preparation import SPEED_LIMIT
from grouser.errors import GrouserError, InputError, RunStopped
from grouser.module import Channel, Compiled, Controller, ForceModule, Mesh, RoundSurface, Shape
from grouser.quiet_warp import start_warp
from grouser.resets import world_mask
from grouser.sensors import Instrument, Scene, Sensor, instrument
from grouser.simulation import display
from grouser.simulation import step as stepping
from grouser.simulation.controls import Controls, device_mask
from grouser.simulation.energy import BodyEnergy
from grouser.simulation.loads import Loads
from grouser.simulation.module_notes import ModuleNotes
from grouser.simulation.world_threads import WorldThreads, cores, parts_of
from grouser.terrain import checks
from grouser.terrain.elevation import ElevationGrid
from grouser.terrain.ground import TILE, Ground

if TYPE_CHECKING:
    from grouser.recording import RecordingWriter

TILE_RATE = 5.0  # [Hz] at which changed ground is recorded
DUE = 1e-4  # [steps] by which a controller may act early: due times are sums of periods, and rounding adds up
UNWATCHED = 1000  # largest number of steps between two returns to Python
UNSEEN = 100  # steps of worlds on a device between two looks for alarms, which are reads
MOST_NOTES = 200  # worlds that fail after so many notes are not noted: a batch may fail and be reset without end
PROGRESS_STEPS = 16  # steps between two readings of the wall clock
PROGRESS_PERIOD = 0.1  # [s] of wall time between two calls of `progress`


@dataclass(frozen=True)
class RunResult:
    """Result of a run."""

    steps: int
    wall_s: float
    sim_s: float

    @property
    def real_time_factor(self) -> float:
        return self.sim_s / self.wall_s if self.wall_s > 0 else float("inf")


class Simulation:
    """MuJoCo bodies, force modules, controllers and one ground, simulated together."""

    def __init__(
        self,
        spec: mujoco.MjSpec,
        modules: Sequence[ForceModule] = (),
        *,
        ground: Ground | None = None,
        controllers: Sequence[Controller | ControlLaw] | ControlLaw = (),
        step: float = 5e-3,
        substeps: int = 1,
        implicit: bool = True,
        worlds: int = 1,
        dtype: str = "float64",
        recorded_bodies: Sequence[str] | None = None,
        notes: Sequence[str] = (),
        engine: Callable[..., Any] = MujocoCpu,
        threads: int | None = None,
    ):
        """`step` [s]: the engine divides it into `substeps` equal parts; controllers and recordings see whole steps.

        `controllers`: also plain functions(time, data), or one, which set `data.ctrl` in every step.
        `recorded_bodies`: default are all named bodies that move. `engine`: `MujocoCpu`, or `MujocoWarp` for worlds on
        a device, with its own arguments bound by `functools.partial`. `threads`: on which worlds run on the CPU; None:
        as many as there are cores.
        """
        start_warp()
        self.modules, self.controllers, self.ground = list(modules), as_controllers(controllers, step), ground
        self.compiled = [m for m in self.modules if isinstance(m, Compiled)]  # if all are, steps run without Python
        self.step_size, self.worlds = step, worlds
        self.substeps = checks.count(substeps, "substeps", at_least=1)
        self.notes: list[str] = list(notes)
        self.engine = engine(spec, self.modules, step / self.substeps, implicit, worlds, dtype, self.notes)
        if self.controllers and isinstance(self.engine, MujocoWarp):
            raise InputError("controllers: worlds on a device have none; allowed: write to engine.ctrl between steps")
        m = self.engine.model
        movable = [m.body(b).name for b in range(1, m.nbody) if m.body(b).name]
        self.recorded_bodies = tuple(recorded_bodies) if recorded_bodies is not None else tuple(movable)
        self._more_channels: list[Channel] = []
        self._more_shapes: list[Shape] = []
        self._module_notes = ModuleNotes(self.notes)
        self.due: list[float] = []  # [s] when each controller acts next
        self.sensors: dict[str, Instrument] = {}  # by name
        self.sensor_due: dict[str, float] = {}  # [s] when each takes its next sample
        self._scene: Scene | None = None  # what the rays of sensors meet
        self._stop: RunStopped | None = None  # reason why the run has stopped
        self._tile_stamps: dict[int, np.ndarray] = {}
        self.loads: Loads | None = None  # set by `watch_loads`
        self._start: dict[str, Any] | None = None  # checkpoint to which `reset` goes back; None: the model's start
        self.finished = False  # set by a controller that has seen enough: `run` ends at the next frame
        self._failures = np.zeros(worlds, int)
        self.controls = Controls(self.engine)
        self._draws: tuple[Callable[[np.random.Generator], Any], list[np.random.Generator]] | None = None
        self._terrain_starts: np.ndarray | None = None  # (terrain, nq), where there are several
        self._unseen = 0  # steps since the last look for alarms on a device
        self.threads = self._make_threads(threads)
        self.reset()

    def _make_threads(self, wanted: int | None) -> WorldThreads | None:
        """Threads for parts of the worlds; None for one thread."""
        count = cores() if wanted is None else checks.count(wanted, "threads", at_least=1)
        if isinstance(self.engine, MujocoWarp):
            stuck = [m.name for m in self.modules if not isinstance(m, optional.CommitsWorlds)]
            if stuck:
                raise InputError(
                    f"module {stuck[0]!r} cannot be reset in some worlds and not in others; allowed with worlds on a "
                    "device: soil"
                )
            return None
        return WorldThreads(parts_of(self.worlds, min(count, self.worlds))) if min(count, self.worlds) > 1 else None

    @property
    def model(self) -> mujoco.MjModel:
        return self.engine.model

    @property
    def data(self) -> mujoco.MjData:
        """MjData of the first world."""
        return self.engine.data[0]

    @property
    def terrain(self) -> ElevationGrid | None:
        """Terrain that is recorded and drawn: that of the ground, or the rigid terrain of a module."""
        if self.ground:
            return self.ground.elevation
        own = (module.elevation for module in self.modules if isinstance(module, optional.StandsOnTerrain))
        return next((elevation for elevation in own if elevation is not None), None)

    @property
    def soil(self) -> Any:
        """The soil module with its `bodies`, `surfaces` and `options`, or None."""
        return next((module for module in self.modules if module.name == "soil"), None)

    def observe(self) -> dict[str, Any]:
        """Present values that modules report, by channel name: "soil/sinkage" (world, body), …; arrays on the device.

        The same arrays are returned and overwritten at every call: copy what you keep.
        """
        seen = [module for module in self.modules if isinstance(module, optional.Observable)]
        if isinstance(self.engine, MujocoWarp):
            observed = {m.name: m.observe_on_device() for m in seen if isinstance(m, optional.ObservableOnDevice)}
        else:
            observed = {module.name: module.observe() for module in seen}
        return {f"{name}/{key}": value for name, values in observed.items() for key, value in values.items()}

    # ---- stepping -----------------------------------------------------------------------------------

    def reset(self, worlds: Sequence[int] | Any = None) -> None:
        """Reset bodies, ground, modules and controllers to the start, in all worlds or only in `worlds`.

        `worlds`: numbers, or a mask (world,) of bool. On a device the mask may be an array there, of Warp, torch or
        JAX; then the host reads nothing, unless soils are drawn by a function.
        """
        if isinstance(self.engine, MujocoWarp):
            self._reset_on_device(worlds)
            return
        chosen = list(range(self.worlds)) if worlds is None else self._checked_worlds(worlds)
        if self._start is None:
            self._reset_to_model(chosen)
        else:
            self._reset_to_start(chosen, self._start)
        for one in (*self.controllers, *self.sensors.values()):
            one.reset(chosen)
        self._stop = None if chosen else self._stop
        for world in chosen:
            self._tile_stamps.pop(world, None)
        if worlds is None:
            self._restart_clock()
            if self.loads is not None:
                self.loads.reset()

    def start_here(self) -> None:
        """Make the present state the start: its time is 0, and `reset` goes back to it."""
        self.time, self.steps = 0.0, 0
        self.sensor_due = dict.fromkeys(self.sensors, 0.0)
        for world in range(self.worlds):
            self.engine.begin_at(world, self.engine.state(world))
        self.controls.take(range(self.worlds))
        self.engine.kinematics()
        self._start = self.checkpoint()

    def _reset_to_start(self, chosen: list[int], start: dict[str, Any]) -> None:
        self._failures[chosen] += self.engine.frozen[chosen]
        self.engine.thaw(chosen)
        for world in chosen:
            self.engine.begin_at(world, start["engine"][world])
        self.controls.take(chosen)
        arrays = [*(m.state() for m in self.modules), *(vars(s.out) for s in self.engine.slots)]
        saved = [*start["modules"], *start["outputs"]]
        if self.ground:
            arrays, saved = [*arrays, self.ground.state()], [*saved, start["ground"]]
        for own, values in zip(arrays, saved, strict=True):
            for name, array in own.items():
                _assign_worlds(array, values[name], chosen, self.worlds)
        self.engine.clear_alarm()
        self.engine.kinematics(chosen)

    def _reset_to_model(self, chosen: list[int]) -> None:
        others = [w for w in range(self.worlds) if w not in chosen]
        self._failures[chosen] += self.engine.frozen[chosen]
        self._draw_soils(chosen)
        self.engine.reset(chosen)
        for module in self.modules:
            module.reset(chosen)
        self.engine.clear_outputs(chosen)
        self.engine.clear_alarm()
        self.controls.take(chosen)
        if not others:
            stepping.settle(self)
        elif chosen:
            self._settle_some(chosen, others)

    def _restart_clock(self) -> None:
        self.time, self.steps, self.finished = 0.0, 0, False
        self.due = [0.0] * len(self.controllers)
        self.sensor_due = dict.fromkeys(self.sensors, 0.0)

    def _reset_on_device(self, worlds: Any) -> None:
        """Reset by a mask on the device. Only these worlds are committed: their first evaluation needs a footprint."""
        mask = device_mask(worlds, self.worlds, self.engine.device)
        if self._draws is not None:
            self._draw_soils(np.flatnonzero(mask.numpy()).tolist())
        self.engine.reset(mask)
        chosen: Any = world_mask(mask, self.worlds, self.engine.device)
        for module in self.modules:
            module.reset(chosen)
        for module in self.modules:
            if isinstance(module, optional.CommitsWorlds):  # all are, see `_make_threads`
                module.commit_worlds(self.engine.step, chosen)
        self._stop = None
        if worlds is None:
            self._restart_clock()

    def _settle_some(self, chosen: list[int], others: list[int]) -> None:
        """Kinematics and commit of the chosen worlds. The others stay as they are."""
        self.engine.kinematics(chosen)
        mask = world_mask(chosen, self.worlds, "cpu")
        for module, slot in zip(self.modules, self.engine.slots, strict=True):
            if isinstance(module, optional.CommitsWorlds):
                module.commit_worlds(self.engine.step, mask)
                continue
            changed = [module.state(), vars(slot.out), *([self.ground.state()] if self.ground else [])]
            kept = [_copies(arrays) for arrays in changed]
            module.commit(self.engine.step)
            changed = [module.state(), vars(slot.out), *([self.ground.state()] if self.ground else [])]
            for arrays, saved in zip(changed, kept, strict=True):
                for name, array in arrays.items():
                    _assign_worlds(array, saved[name], others, self.worlds)

    def _checked_worlds(self, worlds: Any) -> list[int]:
        """Check world numbers or a mask. Returns each number once."""
        given = np.asarray(worlds.numpy() if hasattr(worlds, "numpy") else worlds)
        if given.dtype == bool and given.shape == (self.worlds,):
            return np.flatnonzero(given).tolist()
        known = range(self.worlds)
        if given.dtype == bool or not isinstance(worlds, Iterable) or any(world not in known for world in worlds):
            raise InputError(f"worlds: {worlds!r}: allowed are some of 0 to {self.worlds - 1}, such as [0]")
        return [int(world) for world in dict.fromkeys(worlds)]

    # ---- many worlds --------------------------------------------------------------------------------

    @property
    def qpos(self) -> Any:
        """Coordinates of all worlds now, (world, nq): on a device the live array, else a copy."""
        return self.engine.qpos

    @property
    def qvel(self) -> Any:
        """Speeds of all worlds now, (world, nv): on a device the live array, else a copy."""
        return self.engine.qvel

    @property
    def ctrl(self) -> Any:
        """Controls of all worlds, (world, nu), to be written between steps. They hold until they are written again."""
        return self.engine.ctrl if isinstance(self.engine, MujocoWarp) else self.controls.array

    @property
    def diverged(self) -> Any:
        """(world,) worlds that have failed and stand still until they are reset; int32 on a device, else bool."""
        return self.engine.diverged if isinstance(self.engine, MujocoWarp) else self.engine.frozen

    @property
    def failures(self) -> Any:
        """(world,) times that each world was reset after it had failed; int32 on a device."""
        return self.engine.health.failures if isinstance(self.engine, MujocoWarp) else self._failures

    def reset_diverged(self) -> None:
        """Reset the worlds that have failed. `failures` counts how often each has been reset after a failure."""
        self.reset(self.diverged)

    def set_start(self, **values: Any) -> None:
        """Set where worlds start at their next reset: `qpos`, `qvel`, `act`, `ctrl`, (world, n) or (n,) each."""
        self._start = None
        self.engine.set_start(**values)

    def set_soil(self, worlds: Any = None, **constants: Any) -> None:
        """Give worlds new constants of their soil, (world,) each or one number, before a reset of these worlds.

        Names are those of `Soil`, such as `k_phi` or `friction_angle_deg`; NaN leaves a value as it is. On a device
        values may be arrays there, and the host reads nothing: a world with a value that is not allowed keeps its soil.
        """
        self._start = None
        self._own_soils().set_soil(self._world_mask(worlds), constants)

    def set_terrain(self, worlds: Any, numbers: Any) -> None:
        """Choose the terrain of worlds by number, one or (world,) of all worlds, before a reset of these worlds."""
        if self.ground is None:
            raise InputError("terrain: this simulation has no ground")
        self._start = None
        mask = self._world_mask(worlds)
        self.ground.set_terrain(mask, numbers)
        if self._terrain_starts is not None:
            self.engine.set_start(qpos=self._terrain_starts[self.ground.arrays.terrain.numpy()])

    def start_by_terrain(self, coordinates: np.ndarray) -> None:
        """Set where worlds start on each terrain, (terrain, nq), and reset all worlds."""
        self._terrain_starts = coordinates
        self.set_terrain(None, self.ground.arrays.terrain.numpy() if self.ground else 0)
        self.reset()

    def draw_soils(self, draw: Callable[[np.random.Generator], Any], seed: int = 0, drawn: int = 0) -> None:
        """From now on, a world that is reset gets the soil that `draw` returns, with a generator of its own.

        `drawn`: soils that each world has drawn before.
        """
        self._own_soils()
        generators = [np.random.default_rng([seed, world]) for world in range(self.worlds)]
        for generator in generators * drawn:
            draw(generator)
        self._draws = draw, generators

    def _draw_soils(self, worlds: Sequence[int]) -> None:
        if self._draws is not None:
            draw, generators = self._draws
            self._own_soils().soils.set_soils(worlds, [(draw(generators[world]),) for world in worlds])

    def _own_soils(self) -> Any:
        if self.soil is None:
            raise InputError("soil: this simulation has no soil")
        return self.soil

    def _world_mask(self, worlds: Any) -> Any:
        """Mask (world,) int32 on the device of the worlds."""
        if isinstance(self.engine, MujocoWarp):
            mask = device_mask(worlds, self.worlds, self.engine.device)
            return world_mask(mask, self.worlds, self.engine.device)
        chosen = range(self.worlds) if worlds is None else self._checked_worlds(worlds)
        return world_mask(chosen, self.worlds, "cpu")

    def looks_for_alarms(self, count: int) -> bool:
        """Whether to look for alarms after `count` more steps. On a device that is a read, so not every time."""
        if not isinstance(self.engine, MujocoWarp) or self.engine.device.is_cpu:
            return True
        self._unseen += count
        if self._unseen < UNSEEN:
            return False
        self._unseen = 0
        return True

    def step(self, count: int = 1) -> None:
        """Advance by `count` steps. A stopped run raises the same error again until it is reset or restored."""
        if type(count) is not int or count < 0:
            count = checks.count(count, "count", at_least=0)
        if self._stop is not None:
            raise self._stop.with_traceback(None)
        for world, reason in self.controls.send():
            self._freeze(world, RunStopped(reason, module="mujoco", body="-", time=self.time))
        while count > 0:
            most = count if self.loads is None else min(count, self.loads.steps_until_sample())
            count -= stepping.advance(self, most)
            if self.loads is not None:
                self.loads.sample()

    def watch_loads(self) -> None:
        """From now on, note soil bodies that carry nothing and loads of other bodies on the hard floor.

        Worlds on a device are not watched: the host would have to read them in every sample.
        """
        if not isinstance(self.engine, MujocoWarp):
            self.loads = Loads(self)

    def steps_until_due(self) -> int:
        """Number of steps until a controller or a sensor is due, at least 1."""
        if not self.due and not self.sensor_due:
            return UNWATCHED
        first = min((*self.due, *self.sensor_due.values()))
        return max(1, math.ceil(first / self.step_size - DUE - self.steps))

    def act(self) -> None:
        """Let sensors and controllers act that are due. Each acts at the first step at or after its due time.

        Controllers come last, so that they know what sensors see at the same time.
        """
        self.sample_sensors()
        for k, controller in enumerate(self.controllers):
            if self.time >= self.due[k] - DUE * self.step_size:
                try:
                    for d in self.engine.data:
                        controller.act(self.time, d, d.ctrl)
                except GrouserError:
                    raise
                except Exception as error:
                    name = name_of(controller)
                    raise RunStopped(cause(error), module=name, body="-", time=self.time) from error
                self.due[k] += controller.period

    def sample_sensors(self) -> None:
        """Let sensors that are due take a sample."""
        for name, due in self.sensor_due.items():
            if self.time >= due - DUE * self.step_size:
                self.sensors[name].sample(self.time, self.engine.data)
                self.sensor_due[name] = due + self.sensors[name].period

    def add_sensor(self, sensor: Sensor) -> Instrument:
        """Mount a `DepthCamera`, `Lidar` or `Imu` (docs/sensors.md). Its first sample is due now.

        Returns the sensor at work, `sensors[name]`, which has the values of the last sample.
        """
        if isinstance(self.engine, MujocoWarp):
            raise InputError(f"sensor {sensor.name!r}: worlds on a device have none; allowed with device='cpu'")
        if not isinstance(sensor, Sensor):
            raise InputError(f"sensor {sensor!r}: allowed are DepthCamera, Lidar and Imu")
        if sensor.name in self.sensors:
            raise InputError(f"sensor {sensor.name!r} is there already; names must differ")
        if sensor.rate * self.step_size > 1 + DUE:
            most = f"{1 / self.step_size:g} Hz"
            raise InputError(f"sensor {sensor.name!r}: rate {sensor.rate:g} Hz: allowed is one sample a step, {most}")
        if self._scene is None:
            self._scene = Scene(self.model, self.ground, self._fixed_meshes())
        made = self.sensors[sensor.name] = instrument(sensor, self.model, self.worlds, self._scene)
        self.sensor_due[sensor.name] = self.time
        return made

    def _fixed_meshes(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Fixed shapes of modules that are no geoms of the model, world axes."""
        shapes = [shape for m in self.modules if isinstance(m, optional.HasFixedShapes) for shape in m.fixed.values()]
        return [s.mesh() if isinstance(s, RoundSurface) else (s.vertices, s.triangles) for s in shapes]

    def use_controllers(self, controllers: Sequence[Controller | ControlLaw] | ControlLaw) -> None:
        """Replace the controllers, for example a path follower by a driver. All new ones are due at once."""
        self.controllers = as_controllers(controllers, self.step_size)
        self.due = [self.time] * len(self.controllers)

    def explain_alarm(self) -> None:
        """Note each status of a module once. Freeze worlds with a fatal one; stop when no world is left."""
        stops, frozen = self._faults(), self.engine.frozen.copy()
        self.engine.clear_alarm()
        for world, stop in stops:
            frozen[world] = True
            self._freeze(world, stop, last=bool(frozen.all()))

    def _freeze(self, world: int, stop: RunStopped, last: bool | None = None) -> None:
        """Let a world stand still. `last`: no world is left; None: look."""
        self.engine.freeze(world)
        if self.engine.frozen.all() if last is None else last:
            self._stop = stop
            raise stop
        if len(self.notes) < MOST_NOTES:
            self.notes.append(f"world {world} is frozen: {stop}")

    def _faults(self) -> list[tuple[int, RunStopped]]:
        """Worlds that cannot continue since the last alarm, with the reason. Statuses that are not fatal are noted."""
        if isinstance(self.engine, MujocoWarp):
            return self.engine.faults(self.time, self._module_notes.add)
        found = ((int(world), self._fault(int(world))) for world in np.flatnonzero(~self.engine.frozen))
        return [(world, stop) for world, stop in found if stop is not None]

    def _fault(self, world: int) -> RunStopped | None:
        """Reason why a world cannot continue, or None. Statuses that are not fatal are noted."""
        engine = self.engine
        for slot in engine.slots:  # check first: a NaN wrench causes the faults found below
            wrench, implicit = slot.out.wrench.numpy()[world], slot.out.implicit.numpy()[world]
            wrong = ~(np.isfinite(wrench).all(axis=1) & np.isfinite(implicit).all(axis=(1, 2)))
            if wrong.any():
                body = slot.module.bodies[int(wrong.argmax())]
                return RunStopped("the wrench is not finite", module=slot.module.name, body=body, time=self.time)
        fast = np.flatnonzero(~(np.abs(engine.data[world].qvel) < SPEED_LIMIT))
        if len(fast):
            body = self.model.body(self.model.dof_bodyid[fast[0]]).name
            return RunStopped(
                f"the motion diverged{self._largest_wrench_text(world)}", module="mujoco", body=body, time=self.time
            )
        for slot in engine.slots:
            module = slot.module
            for k in np.flatnonzero(slot.out.status.numpy()[world]):
                code, body = int(slot.out.status.numpy()[world, k]), module.bodies[k]
                reason, fatal = module.explain(code)
                if fatal:
                    return RunStopped(reason, module=module.name, body=body, time=self.time)
                slot.explained.numpy()[world, k] = code
                for line in reason.splitlines():
                    self._module_notes.add(module.name, body, line, self.time)
        return None

    def _largest_wrench_text(self, world: int) -> str:
        """Text that names the module and body with the largest wrench of this step."""
        most, words = 0.0, ""
        for slot in self.engine.slots:
            sizes = np.abs(slot.out.wrench.numpy()[world]).max(axis=1)
            if len(sizes) and sizes.max() > most:
                most, body = float(sizes.max()), slot.module.bodies[int(sizes.argmax())]
                words = f"; the largest wrench, {most:.3g} N or N m, was that of {slot.module.name} on {body!r}"
        return words

    def forget_module_notes(self) -> None:
        """From now on, modules may say again what they have said. Lines in `notes` stay as they are."""
        self._module_notes = ModuleNotes(self.notes)
        for slot in self.engine.slots:
            slot.explained.zero_()

    # ---- recording ----------------------------------------------------------------------------------

    def channels(self) -> list[Channel]:
        """All channels that can be recorded: poses, joints, actuators, and those of modules and controllers."""
        m = self.model
        single = [j for j in range(m.njnt) if m.jnt_type[j] in (2, 3)]  # slide or hinge
        joints, actuators = tuple(m.joint(j).name or f"joint{j}" for j in single), actuator_outputs(m)
        shifts = [module.shifts() for module in self.modules if isinstance(module, optional.ShiftsBodies)]
        frame = Frame(self.engine, self.recorded_bodies, single, shifts)
        out = [
            Channel(
                "body/pose", "m, 1", (len(self.recorded_bodies), 7), kind="pose", labels=self.recorded_bodies,
                source=frame.pose, refresh=frame.refresh,
            ),
            Channel(
                "joint/position", "rad or m", (len(single),), frame="", labels=joints,
                source=frame.position, refresh=frame.refresh,
            ),
            Channel(
                "joint/velocity", "rad/s or m/s", (len(single),), frame="", labels=joints,
                source=frame.speed, refresh=frame.refresh,
            ),
            Channel(
                "actuator/force", "N m or N", (len(actuators),), frame="", labels=actuators,
                source=frame.force, refresh=frame.refresh,
            ),
        ]  # fmt: skip
        energy = [] if self.ground is None else [BodyEnergy(self.engine)]
        for source in (*energy, *self.modules, *self.controllers, *self.sensors.values()):
            out.extend(source.channels())
        out.extend(self._more_channels)
        return [c for c in out if 0 not in c.shape]

    def add_channel(self, channel: Channel) -> None:
        """Record one more quantity."""
        self._more_channels.append(channel)

    def changed_tiles(self, world: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """Tiles changed since the last call: (m, 2) row and column, (m, T, T) heights [m] float32."""
        if self.ground is None:
            return np.zeros((0, 2), np.int32), np.zeros((0, TILE, TILE), np.float32)
        stamps, owners, levels = self.ground.written(world)
        before = self._tile_stamps.get(world, np.zeros(0, np.int32))[: len(stamps)]
        known = np.zeros(len(stamps), np.int32)
        known[: len(before)] = before
        changed = np.flatnonzero(stamps != known)
        self._tile_stamps[world] = stamps.copy()
        return owners[changed].astype(np.int32), levels[changed, :, :, 0].astype(np.float32)

    def geometry(self) -> dict[str, dict[str, np.ndarray]]:
        """Meshes of the bodies of modules, and of their fixed shapes (world axes), for display."""
        parts: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {}
        shown: list[tuple[str, Mesh | RoundSurface]] = []
        for module in self.modules:
            shown += module.surfaces.items() if isinstance(module, optional.HasSurfaces) else ()
            shown += module.fixed.items() if isinstance(module, optional.HasFixedShapes) else ()
        for name, surface in shown:
            if isinstance(surface, RoundSurface):
                parts.setdefault(surface.body or name, []).append(surface.mesh())
            else:
                parts.setdefault(name, []).append((surface.vertices, surface.triangles))
        out = {}
        for name, meshes in parts.items():
            first = np.cumsum([0] + [len(vertices) for vertices, _ in meshes])
            out[name] = {
                "vertices": np.concatenate([vertices for vertices, _ in meshes]).astype(np.float32),
                "triangles": np.concatenate([t + k for (_, t), k in zip(meshes, first, strict=False)]).astype(np.int32),
            }
        return out

    def shapes(self) -> list[Shape]:
        """All shapes to draw: geoms, module surfaces of bodies without geoms, shapes added by modules or scenarios."""
        added = [
            shape for module in self.modules if isinstance(module, optional.Displayed) for shape in module.display()
        ]
        found = display.shapes(self.model, self.recorded_bodies, self.geometry(), fields=self.terrain is None)
        found += [*added, *self._more_shapes]
        return [shape for shape in found if self._is_recorded(shape)]

    def _is_recorded(self, shape: Shape) -> bool:
        """Whether the body of a shape is recorded; others cannot be drawn."""
        body = shape.follows.removeprefix("body/pose[").removesuffix("]")
        return not shape.follows.startswith("body/pose[") or body in self.recorded_bodies

    def add_shape(self, shape: Shape) -> None:
        """Draw one more shape."""
        self._more_shapes.append(shape)

    def run(
        self,
        duration: float,
        writer: RecordingWriter | None = None,
        rate: float = 100.0,
        progress: Callable[[float], None] | None = None,
    ) -> RunResult:
        """Run for `duration` [s], or until `finished`, and record at `rate` [Hz]. `progress` gets the time [s]."""
        checks.number(duration, "duration", at_least=0)
        checks.number(rate, "rate", above=0)
        start_steps, start_time = self.steps, self.time
        total = round(duration / self.step_size)
        every = max(1, round(1 / (rate * self.step_size)))
        tiles_every = max(every, round(1 / (TILE_RATE * self.step_size)))
        if writer is not None and writer.last_time == -math.inf:  # a new recording begins with all ruts so far
            self._tile_stamps.clear()
        for sensor in self.sensors.values():
            sensor.begin_recording(writer is not None)
        began = said = clock.perf_counter()
        try:
            k = 0
            while True:
                if writer is not None and k % every == 0:
                    self.sample_sensors()  # a frame has the samples up to its own time
                    if writer.last_time != self.time:  # otherwise the run before has recorded it
                        writer.append(self.time)
                    if self.ground is not None and k % tiles_every == 0:
                        self._record_tiles(writer)
                if k == total or (self.finished and k % every == 0):
                    break
                ahead = min(total - k, PROGRESS_STEPS if progress else UNWATCHED, every - k % every)
                self.step(ahead)
                k += ahead
                if progress is not None and clock.perf_counter() - said > PROGRESS_PERIOD:
                    said = clock.perf_counter()
                    progress(self.time)
        finally:
            for sensor in self.sensors.values():
                sensor.begin_recording(False)
            if self.loads is not None:
                self.loads.sample(at_once=True)
            if writer is not None:
                if self.ground is not None:
                    self._record_tiles(writer)
                writer.flush()
        if progress is not None:
            progress(self.time)
        return RunResult(self.steps - start_steps, clock.perf_counter() - began, self.time - start_time)

    def _record_tiles(self, writer: RecordingWriter) -> None:
        for world in range(self.worlds):
            indices, heights = self.changed_tiles(world)
            if len(indices):
                writer.append_tiles(self.time, world, indices, heights)

    # ---- checkpoints --------------------------------------------------------------------------------

    def checkpoint(self) -> dict[str, Any]:
        """Complete state between two steps: restoring it continues the run bit for bit."""
        return {
            "time": self.time,
            "steps": self.steps,
            "due": list(self.due),
            "engine": self.engine.states(),
            "model": parameters(self.model),
            "frozen": self.engine.frozen.copy(),
            "stop": self._stop,
            "finished": self.finished,
            "ground": _copies(self.ground.state()) if self.ground else None,
            "modules": [_copies(m.state()) for m in self.modules],
            "outputs": [_copies(vars(s.out)) for s in self.engine.slots],
            "controllers": [_copies(c.state()) for c in self.controllers],
            "sensors": [(self.sensor_due[name], _copies(one.state())) for name, one in self.sensors.items()],
            "loads": None if self.loads is None else self.loads.state(),
            "draws": None if self._draws is None else [one.bit_generator.state for one in self._draws[1]],
        }

    def restore(self, checkpoint: dict[str, Any]) -> None:
        """Restore a checkpoint of this simulation or of one built the same way. The run continues bit for bit."""
        self._check_checkpoint(checkpoint)
        self._stop, self.finished = checkpoint["stop"], checkpoint.get("finished", False)
        self.time, self.steps, self.due = checkpoint["time"], checkpoint["steps"], list(checkpoint["due"])
        self.engine.thaw(range(self.worlds))
        set_parameters(self.model, checkpoint["model"])
        self.engine.restore_states(checkpoint["engine"])
        if self.ground:
            self.ground.restore(checkpoint["ground"])
        for owner, saved in zip(
            (*(m.state() for m in self.modules), *(vars(s.out) for s in self.engine.slots),
             *(c.state() for c in self.controllers)),
            (*checkpoint["modules"], *checkpoint["outputs"], *checkpoint["controllers"]),
            strict=True,
        ):  # fmt: skip
            for name, array in owner.items():
                _assign(array, saved[name])
        for (name, sensor), (due, saved) in zip(self.sensors.items(), checkpoint.get("sensors", ()), strict=True):
            self.sensor_due[name] = due
            for key, array in sensor.state().items():
                _assign(array, saved[key])
        for generator, state in zip(self._draws[1] if self._draws else (), checkpoint.get("draws") or (), strict=True):
            generator.bit_generator.state = state
        self._tile_stamps.clear()
        self.engine.clear_alarm()
        self.engine.kinematics()
        self.controls.take(range(self.worlds))
        for world in np.flatnonzero(checkpoint["frozen"]):
            self.engine.freeze(int(world))
        if self.loads is not None:
            seen = checkpoint.get("loads")
            self.loads.reset() if seen is None else self.loads.restore(seen)  # None: taken before `watch_loads`

    def _check_checkpoint(self, checkpoint: Mapping[str, Any]) -> None:
        """Raise an InputError for a checkpoint of another simulation, before anything is changed."""
        own = {
            "worlds": (self.worlds, len(checkpoint.get("engine", ()))),
            "modules": (len(self.modules), len(checkpoint.get("modules", ()))),
            "controllers": (len(self.controllers), len(checkpoint.get("controllers", ()))),
            "sensors": (len(self.sensors), len(checkpoint.get("sensors", ()))),
        }
        for what, (mine, there) in own.items():
            if mine != there:
                raise InputError(f"checkpoint: it has {there} {what}; allowed are the {mine} of this simulation")
        mine, there = len(self.engine.state(0)), len(checkpoint["engine"][0])
        if mine != there:
            raise InputError(f"checkpoint: it is of another model: {there} numbers of state; allowed are {mine}")
        for module, saved in zip(self.modules, checkpoint["modules"], strict=True):
            for name, array in _copies(module.state()).items():
                if name not in saved or saved[name].dtype != array.dtype:
                    raise InputError(f"checkpoint: state {name!r} of {module.name} is missing or of another version")


def actuator_outputs(m: mujoco.MjModel) -> tuple[str, ...]:
    """A name for each output force of the actuators. Those of an actuator with several outputs are numbered."""
    names = []
    for a in range(m.nactuator):
        name, count = m.actuator(a).name or f"actuator{a}", m.actuator_outnum[a]
        names += [name] if count == 1 else [f"{name}{k}" for k in range(count)]
    return tuple(names)


def _copies(arrays: dict[str, Any]) -> dict[str, np.ndarray]:
    return {name: np.array(a.numpy() if hasattr(a, "numpy") else a) for name, a in arrays.items()}


def _assign_worlds(array: Any, value: np.ndarray, chosen: Sequence[int], worlds: int) -> None:
    """Copy the chosen worlds of `value` into `array`, whose first axis counts worlds. The tile pool may have grown."""
    host = np.array(array.numpy() if hasattr(array, "numpy") else array)
    if len(host) % worlds:
        return  # shared by all worlds
    here, there = host.reshape(worlds, -1, *host.shape[1:]), value.reshape(worlds, -1, *value.shape[1:])
    if here.shape[1] == 1 and host.ndim > 1:  # (world, …)
        here[chosen, :, : value.shape[1]] = there[chosen]
    else:  # (world x slot, …)
        here[chosen] = there[chosen]
    _assign(array, host)


def _assign(array: Any, value: np.ndarray) -> None:
    if hasattr(array, "assign"):
        array.assign(value)
    else:
        array[...] = value
