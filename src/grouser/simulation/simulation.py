"""A simulation: robots on ground, stepped, recorded, saved and restored."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mujoco
import numpy as np

from grouser import module as optional
from grouser.control.function import ControlLaw, as_controllers, cause, name_of
from grouser.engine.host_worlds import HostWorlds
from grouser.engine.mujoco_cpu import MujocoCpu
from grouser.engine.mujoco_warp import MujocoWarp
from grouser.errors import GrouserError, InputError, RunStopped
from grouser.module import Channel, Compiled, Controller, ForceModule, Shape
from grouser.quiet_warp import start_warp
from grouser.resets import world_mask
from grouser.sensors import Instrument, Scene, Sensor
from grouser.simulation import checkpoint_file, checkpoints, display, recorded_run, sensing, world_resets
from grouser.simulation import step as stepping
from grouser.simulation.channels import channels
from grouser.simulation.controls import Controls, device_mask
from grouser.simulation.faults import fault
from grouser.simulation.loads import Loads
from grouser.simulation.module_notes import ModuleNotes
from grouser.simulation.recorded_run import MOST_STEPS, RunResult
from grouser.simulation.sensing import DUE
from grouser.simulation.world_threads import WorldThreads, cores
from grouser.terrain import checks
from grouser.terrain.elevation import ElevationGrid
from grouser.terrain.ground import TILE, Ground
from grouser.terrain.ground_levels import Seen, changed_tiles
from grouser.terrain.resting import REST_PERIOD

if TYPE_CHECKING:
    from grouser.recording import RecordingWriter

TILE_RATE = 5.0  # [Hz] at which changed ground is recorded if nobody says otherwise
UNSEEN = 100  # steps of worlds on a device between two looks for alarms, which are reads
MOST_NOTES = 200  # worlds that fail after so many notes are not noted: a batch may fail and be reset without end


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
        self.added_channels: list[Channel] = []
        self.added_shapes: list[Shape] = []
        self.module_notes = ModuleNotes(self.notes)
        self.due: list[float] = []  # [s] when each controller acts next
        self.sensors: dict[str, Instrument] = {}  # by name
        self.sensor_due: dict[str, float] = {}  # [s] when each takes its next sample
        self.scene: Scene | None = None  # what the rays of sensors meet
        self.stop_reason: RunStopped | None = None  # reason why the run has stopped
        self.tile_stamps: dict[int, Seen] = {}  # by world: writes to tiles that recordings have seen
        self.tile_rate = TILE_RATE  # [Hz] at which changed ground is recorded
        self.loads: Loads | None = None  # set by `watch_loads`
        self.start_checkpoint: dict[str, Any] | None = None  # to which `reset` goes back; None: the model's start
        self.finished = False  # set by a controller that has seen enough: `run` ends at the next frame
        self.failure_counts = np.zeros(worlds, int)
        self.controls = Controls(self.engine)
        self.hosts = HostWorlds(self.engine, lambda: self.steps) if isinstance(self.engine, MujocoWarp) else None
        self.world_stops: dict[int, RunStopped] = {}  # why worlds have failed since their last reset
        self.soil_draws: tuple[Callable[[np.random.Generator], Any], list[np.random.Generator]] | None = None
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
        return WorldThreads(self.worlds, min(count, self.worlds)) if min(count, self.worlds) > 1 else None

    @property
    def model(self) -> mujoco.MjModel:
        return self.engine.model

    @property
    def data(self) -> mujoco.MjData:
        """MjData of the first world."""
        return self.engine.data[0]

    @property
    def worlds_data(self) -> Sequence[mujoco.MjData]:
        """MjData of each world; of worlds on a device copies of the present state."""
        return self.engine.data if self.hosts is None else self.hosts.data

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
        chosen = list(range(self.worlds)) if worlds is None else world_resets.checked_worlds(self, worlds)
        if self.start_checkpoint is None:
            world_resets.to_model(self, chosen)
        else:
            world_resets.to_start(self, chosen, self.start_checkpoint)
        for one in (*self.controllers, *self.sensors.values()):
            one.reset(chosen)
        self.stop_reason = None if chosen else self.stop_reason
        for world in chosen:
            self.tile_stamps.pop(world, None)
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
        self.start_checkpoint = self.checkpoint()

    def _restart_clock(self) -> None:
        self.time, self.steps, self.finished = 0.0, 0, False
        self.due = [0.0] * len(self.controllers)
        self.sensor_due = dict.fromkeys(self.sensors, 0.0)

    def _reset_on_device(self, worlds: Any) -> None:
        """Reset by a mask on the device. Only these worlds are committed: their first evaluation needs a footprint."""
        mask = device_mask(worlds, self.worlds, self.engine.device)
        if self.soil_draws is not None:
            self.draw_for(np.flatnonzero(mask.numpy()).tolist())
        self.engine.reset(mask)
        if self.hosts is not None:
            self.hosts.forget()
        if worlds is None:
            self.world_stops.clear()
        chosen: Any = world_mask(mask, self.worlds, self.engine.device)
        for module in self.modules:
            module.reset(chosen)
        for module in self.modules:
            if isinstance(module, optional.CommitsWorlds):  # all are, see `_make_threads`
                module.commit_worlds(self.engine.step, chosen)
        self.stop_reason = None
        if worlds is None:
            self._restart_clock()

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
        return self.engine.health.failures if isinstance(self.engine, MujocoWarp) else self.failure_counts

    def reset_diverged(self) -> None:
        """Reset the worlds that have failed. `failures` counts how often each has been reset after a failure."""
        self.reset(self.diverged)

    def set_start(self, **values: Any) -> None:
        """Set where worlds start at their next reset: `qpos`, `qvel`, `act`, `ctrl`, (world, n) or (n,) each."""
        self.start_checkpoint = None
        self.engine.set_start(**values)

    def set_soil(self, worlds: Any = None, **constants: Any) -> None:
        """Give worlds new constants of their soil, (world,) each or one number, before a reset of these worlds.

        Names are those of `Soil`, such as `k_phi` or `friction_angle_deg`; NaN leaves a value as it is. On a device
        values may be arrays there, and the host reads nothing: a world with a value that is not allowed keeps its soil.
        """
        self.start_checkpoint = None
        self._own_soils().set_soil(self._world_mask(worlds), constants)

    def set_terrain(self, worlds: Any, numbers: Any) -> None:
        """Choose the terrain of worlds by number, one or (world,) of all worlds, before a reset of these worlds."""
        if self.ground is None:
            raise InputError("terrain: this simulation has no ground")
        self.start_checkpoint = None
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
        self.soil_draws = draw, generators

    def draw_for(self, worlds: Sequence[int]) -> None:
        if self.soil_draws is not None:
            draw, generators = self.soil_draws
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
        chosen = range(self.worlds) if worlds is None else world_resets.checked_worlds(self, worlds)
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
        if self.stop_reason is not None:
            raise self.stop_reason.with_traceback(None)
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
            return MOST_STEPS
        first = min((*self.due, *self.sensor_due.values()))
        return max(1, math.ceil(first / self.step_size - DUE - self.steps))

    def rest_ground(self) -> int:
        """Every REST_PERIOD steps bring ground to rest that no body is near. Returns the steps until the next time."""
        if self.ground is None or not self.ground.rests:
            return MOST_STEPS
        passed = self.steps % REST_PERIOD
        if passed == 0:
            self.ground.rest()
        return REST_PERIOD - passed

    def act(self) -> None:
        """Let sensors and controllers act that are due. Each acts at the first step at or after its due time.

        Controllers come last, so that they know what sensors see at the same time.
        """
        sensing.sample_due(self)
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

    def add_sensor(self, sensor: Sensor) -> Instrument:
        """Mount a `DepthCamera`, `Lidar` or `Imu` (docs/sensors.md). Its first sample is due now.

        Returns the sensor at work, `sensors[name]`, which has the values of the last sample.
        """
        return sensing.mount(self, sensor)

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
        self.world_stops[world] = stop
        if self.engine.frozen.all() if last is None else last:
            self.stop_reason = stop
            raise stop
        if len(self.notes) < MOST_NOTES:
            self.notes.append(f"world {world} is frozen: {stop}")

    def _faults(self) -> list[tuple[int, RunStopped]]:
        """Worlds that cannot continue since the last alarm, with the reason. Statuses that are not fatal are noted."""
        if isinstance(self.engine, MujocoWarp):
            return self.engine.faults(self.time, self.module_notes.add)
        found = ((int(world), fault(self, int(world))) for world in np.flatnonzero(~self.engine.frozen))
        return [(world, stop) for world, stop in found if stop is not None]

    def forget_module_notes(self) -> None:
        """From now on, modules may say again what they have said. Lines in `notes` stay as they are."""
        self.module_notes = ModuleNotes(self.notes)
        for slot in self.engine.slots:
            slot.explained.zero_()

    # ---- recording ----------------------------------------------------------------------------------

    def channels(self) -> list[Channel]:
        """All channels that can be recorded: poses, joints, actuators, and those of modules and controllers."""
        return channels(self)

    def add_channel(self, channel: Channel) -> None:
        """Record one more quantity."""
        self.added_channels.append(channel)

    def changed_tiles(self, world: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """Tiles changed since the last call: (m, 2) row and column, (m, T, T) heights [m] float32."""
        if self.ground is None:
            return np.zeros((0, 2), np.int32), np.zeros((0, TILE, TILE), np.float32)
        indices, heights, self.tile_stamps[world] = changed_tiles(self.ground, world, self.tile_stamps.get(world))
        return indices, heights

    def geometry(self) -> dict[str, dict[str, np.ndarray]]:
        """Meshes of the bodies of modules, and of their fixed shapes (world axes), for display."""
        return display.geometry(self.modules)

    def shapes(self) -> list[Shape]:
        """All shapes to draw: geoms, module surfaces of bodies without geoms, shapes added by modules or scenarios."""
        added = [
            shape for module in self.modules if isinstance(module, optional.Displayed) for shape in module.display()
        ]
        found = display.shapes(self.model, self.recorded_bodies, self.geometry(), fields=self.terrain is None)
        found += [*added, *self.added_shapes]
        return [shape for shape in found if self._is_recorded(shape)]

    def _is_recorded(self, shape: Shape) -> bool:
        """Whether the body of a shape is recorded; others cannot be drawn."""
        body = shape.follows.removeprefix("body/pose[").removesuffix("]")
        return not shape.follows.startswith("body/pose[") or body in self.recorded_bodies

    def add_shape(self, shape: Shape) -> None:
        """Draw one more shape."""
        self.added_shapes.append(shape)

    def run(
        self,
        duration: float,
        writer: RecordingWriter | None = None,
        rate: float = 100.0,
        progress: Callable[[float], None] | None = None,
        *,
        done: int = 0,
        keep: Callable[[int], None] | None = None,
    ) -> RunResult:
        """Run for `duration` [s], or until `finished`, and record at `rate` [Hz]. `progress` gets the time [s].

        `done`: steps of this run that were made before its checkpoint was restored. `keep` is called with the steps
        done whenever all that has happened so far is in the recording: when a checkpoint can be taken.
        """
        return recorded_run.run(self, duration, writer, rate, progress, done, keep)

    # ---- checkpoints --------------------------------------------------------------------------------

    def checkpoint(self) -> dict[str, Any]:
        """Complete state between two steps: restoring it continues the run bit for bit."""
        return checkpoints.take(self)

    def restore(self, checkpoint: dict[str, Any]) -> None:
        """Restore a checkpoint of this simulation or of one built the same way. The run continues bit for bit."""
        checkpoints.restore(self, checkpoint)

    def save(self, path: str | Path) -> None:
        """Write a checkpoint to a file, from which `load` continues bit for bit, also in another process."""
        checkpoint_file.save(self.checkpoint(), path)

    def load(self, path: str | Path) -> None:
        """Restore a checkpoint from a file that `save` of this simulation, or of one built the same way, wrote."""
        self.restore(checkpoint_file.load(path))
