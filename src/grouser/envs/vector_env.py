"""A Gymnasium VectorEnv of robots on soil: one task in many worlds, on the CPU or on a CUDA device.

On the CPU the worlds are those of MuJoCo's C library, and arrays are NumPy's. On CUDA they are those of MuJoCo Warp;
observation, reward, end and reset are kernels there, and a step copies nothing to the host if torch tensors are wanted.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

import gymnasium
import numpy as np
import warp as wp
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from grouser import device as device_code
from grouser.contact.soil import SoilModule
from grouser.engine.mujoco_cpu import MujocoCpu
from grouser.engine.mujoco_warp import MujocoWarp
from grouser.envs import kernels
from grouser.envs.kernels import Episode, Reading, Robot
from grouser.envs.task import TOTALS, Task, Value
from grouser.errors import InputError, RunStopped
from grouser.quiet_warp import start_warp
from grouser.resets import world_mask
from grouser.simulation.simulation import Simulation
from grouser.terrain import checks
from grouser.terrain.ground import TILE, Ground

LARGEST_SEED = 2**31 - 1


class SoilVectorEnv(VectorEnv):
    """Worlds of a task. A world that ends is reset in the same step; `info["final_obs"]` is its last observation.

    `num_envs`: worlds. `device`: "cpu" or a CUDA device. `arrays`: "numpy" or "torch"; tensors share the memory of the
    environment and are overwritten by the next step. `simulator`: observe what only a simulator has as well; the
    observation then has the parts "robot" and "simulator". `soils`: "training", or "outside" of the training range.
    `spacing` [m] of the soil grid, by default that of the task. `dtype` of the soil, by default float64 on the CPU.
    `engine`: "mujoco" or "mujoco-warp", by default MuJoCo on the CPU; MuJoCo Warp runs there too, slowly, for tests.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": [], "autoreset_mode": AutoresetMode.SAME_STEP}

    def __init__(
        self,
        task: Task,
        num_envs: int = 1,
        *,
        device: str = "cpu",
        arrays: str = "numpy",
        simulator: bool = False,
        soils: str = "training",
        spacing: float | None = None,
        dtype: str | None = None,
        engine: str | None = None,
    ):
        start_warp()
        self.num_envs = checks.count(num_envs, "num_envs", at_least=1)
        checks.choice(arrays, "arrays", ("numpy", "torch"))
        self.task, self._arrays, self._with_simulator = task.on_soils(soils), arrays, bool(simulator)
        self.device = device
        self._shares = wp.get_device(device).is_cpu  # NumPy sees the memory of the device
        self._on_host = (
            checks.choice(engine, "engine", ("mujoco", "mujoco-warp")) == "mujoco" if engine else self._shares
        )
        if self._on_host and not self._shares:
            raise InputError(f"engine: 'mujoco' does not run on {device}; allowed: mujoco-warp")
        self.sim = self._simulate(spacing or task.spacing, dtype or ("float64" if self._on_host else "float32"))
        self.drawn_names = tuple(self.task.drawn)
        with wp.ScopedDevice(device):
            self._allocate()
        self._make_spaces()
        self._seeded = False

    def _simulate(self, spacing: float, dtype: str) -> Simulation:
        """The robot of the task on its ground. On CUDA tiles are allocated at the start: nothing grows in a step."""
        task, worlds = self.task, self.num_envs
        length, breadth = task.terrains[0].size
        tiles = (-(-round(length / spacing + 1) // TILE)) * (-(-round(breadth / spacing + 1) // TILE))
        room = 1 if self._on_host else min(tiles, task.tiles or tiles)
        self.ground = ground = Ground(
            task.terrains, spacing=spacing, worlds=worlds, dtype=dtype, device=self.device, capacity=room,
            fixed=not self._on_host, world_soils=[task.soil] * worlds,
        )  # fmt: skip
        module = SoilModule(ground, task.surfaces())
        engine = MujocoCpu if self._on_host else partial(MujocoWarp, device=self.device)
        return Simulation(
            task.spec(), [module], ground=ground, step=task.step, worlds=worlds, dtype=dtype, engine=engine
        )

    def _allocate(self) -> None:
        task, m, worlds = self.task, self.sim.model, self.num_envs
        zeros = partial(wp.zeros, dtype=float)
        e: Any = Episode()
        e.random, e.drawn = wp.zeros(worlds, dtype=wp.uint32), zeros((len(task.drawn), worlds))
        e.before_qpos, e.before_qvel = zeros((worlds, m.nq)), zeros((worlds, m.nv))
        e.goal, e.elapsed = wp.zeros(worlds, dtype=wp.vec3), wp.zeros(worlds, dtype=int)
        e.features, e.totals = zeros((worlds, len(task.features))), zeros((worlds, len(TOTALS)))
        e.reward = zeros(worlds)
        e.terminated, e.truncated = wp.zeros(worlds, dtype=wp.bool), wp.zeros(worlds, dtype=wp.bool)
        r: Any = Robot()
        r.action, r.period = zeros((worlds, len(task.actions))), task.period
        r.refused = wp.zeros(worlds, dtype=int)
        r.gravity = float(np.linalg.norm(m.opt.gravity))
        if self._on_host:
            r.qpos, r.qvel, r.force = zeros((worlds, m.nq)), zeros((worlds, m.nv)), zeros((worlds, m.nu))
            r.diverged = wp.zeros(worlds, dtype=int)
        else:  # the arrays of the engine themselves
            engine = self.sim.engine
            r.qpos, r.qvel, r.force, r.diverged = engine.qpos, engine.qvel, engine.actuator_force, engine.diverged
        self.episode, self.robot = e, r
        rows = {name: k for k, name in enumerate(self.drawn_names)}
        self._constants = task.constants(m, rows, self.device)
        low, high, logarithmic = zip(*task.drawn.values(), strict=True)
        self._bounds = [wp.array(np.array(one, np.float32), dtype=float) for one in (low, high)]
        self._bounds.append(wp.array(np.array(logarithmic, np.int32), dtype=int))
        self._ctrl, self._start = zeros((worlds, m.nu)), zeros((worlds, m.nq))
        self._terrain, self._given = wp.zeros(worlds, dtype=int), zeros((worlds, len(task.actions)))
        self._ended, self._ends = wp.zeros(worlds, dtype=int), wp.zeros(worlds, dtype=wp.bool)
        self._all = wp.ones(worlds, dtype=int)
        ahead, left = (np.asarray(part, np.float32) for part in task.scan)
        self._scan_points = [wp.array(part, dtype=wp.float32) for part in (ahead, left)]
        self._scan = zeros((worlds, max(len(ahead), 1)))
        self._scan_kernel = device_code.at(kernels.scan_ground, self.ground.precision.name)
        self._readings: dict[str, Any] = {"robot": self._table(task.readings(m))}
        self.observation_names = {"robot": tuple(value.name for value in task.readings(m))}
        if self._with_simulator:
            self._readings["simulator"] = self._table(task.simulator_readings(m))
            self.observation_names["simulator"] = tuple(value.name for value in task.simulator_readings(m))
        sizes = {name: (worlds, len(names)) for name, names in self.observation_names.items()}
        self._observed = {name: zeros(size) for name, size in sizes.items()}
        self._final = {name: zeros(size) for name, size in sizes.items()}
        self._final_totals, self._final_elapsed = zeros((worlds, len(TOTALS))), wp.zeros(worlds, dtype=int)

    def _table(self, values: Sequence[Value]) -> Any:
        reading: Any = Reading()
        columns = list(zip(*values, strict=True))
        for name, column, kind in (
            ("source", columns[1], int), ("index", columns[2], int), ("scale", columns[3], float),
            ("offset", columns[4], float), ("noise", columns[5], float),
        ):  # fmt: skip
            setattr(reading, name, wp.array(np.array(column, np.int32 if kind is int else np.float32), dtype=kind))
        return reading

    def _make_spaces(self) -> None:
        def box(size: int) -> gymnasium.spaces.Box:
            return gymnasium.spaces.Box(-np.inf, np.inf, (size,), np.float32)

        sizes = {name: len(names) for name, names in self.observation_names.items()}
        parts: dict[str, Any] = {name: box(size) for name, size in sizes.items()}
        self.single_observation_space = gymnasium.spaces.Dict(parts) if self._with_simulator else parts["robot"]
        self.single_action_space = gymnasium.spaces.Box(-1.0, 1.0, (len(self.task.actions),), np.float32)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)

    # ---- Gymnasium ------------------------------------------------------------------------------------

    def reset(self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None) -> Any:
        """Reset all worlds, or those of `options["reset_mask"]`, (world,) bool. World k has the seed `seed` + k."""
        chosen = np.ones(self.num_envs, bool)
        if options and options.get("reset_mask") is not None:
            chosen = np.asarray(options["reset_mask"])
            if chosen.shape != (self.num_envs,) or chosen.dtype != bool:
                raise InputError(f"reset_mask: {chosen.dtype} {chosen.shape}; allowed is bool ({self.num_envs},)")
        with self._ordered():
            self._seed(seed, chosen)
            mask = world_mask(np.flatnonzero(chosen), self.num_envs, self.device)
            self._reset(mask, wp.array(chosen, dtype=wp.bool, device=self.device))
        return self._out(self._observed), {}

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Advance all worlds by a control period."""
        with self._ordered():
            self.act(actions)
            with contextlib.suppress(RunStopped):  # all worlds have failed, and are reset below
                self.sim.step(self.task.steps)
            self.judge()
            e = self.episode
            self._launch(kernels.either, self.num_envs, [e.terminated, e.truncated, self._ended, self._ends])
            for name, observed in self._observed.items():
                wp.copy(self._final[name], observed)
            wp.copy(self._final_totals, e.totals)
            wp.copy(self._final_elapsed, e.elapsed)
            self._reset(self._ended, self._ends)
        rewards, terminated, truncated, ends = map(self._view, (e.reward, e.terminated, e.truncated, self._ends))
        return self._out(self._observed), rewards, terminated, truncated, self._info(ends)

    def _info(self, ends: Any) -> dict[str, Any]:
        """What is known of the worlds that have ended; on a device always, as the host does not look."""
        if self._on_host and not ends.any():
            return {}
        totals = self._view(self._final_totals)
        final = {name: totals[:, k] for k, name in enumerate(TOTALS)} | {"length": self._view(self._final_elapsed)}
        return {"final_obs": self._out(self._final), "_final_obs": ends, "final_info": final, "_final_info": ends}

    # ---- parts of a step, also used one by one to replay --------------------------------------------------

    def act(self, actions: Any) -> None:
        """Turn actions (world, action), limited to -1 … 1, into controls of the simulation.

        A number that is not finite is an InputError in an array of NumPy. In a tensor, which is not read, it ends the
        episode of its world as a failure.
        """
        shape = (self.num_envs, len(self.task.actions))
        if hasattr(actions, "detach"):  # a tensor of torch
            given = wp.from_torch(actions.detach().float().contiguous(), dtype=wp.float32)
        else:
            host = np.ascontiguousarray(actions, np.float32)
            if not np.isfinite(host).all():
                raise InputError(
                    f"actions: world {np.argwhere(~np.isfinite(host))[0, 0]} has a number that is not finite"
                )
            given = wp.array(host, dtype=float, device=self.device)
        if given.shape != shape:
            raise InputError(f"actions: shape {tuple(given.shape)}; allowed is {shape}")
        wp.copy(self._given, given)
        self._launch(kernels.take_actions, self.num_envs, [self._given, self.robot])
        self._launch(self.task.command, self.num_envs, [self._constants, self.robot, self._ctrl])
        if self._on_host:
            self.sim.ctrl[...] = self._ctrl.numpy()
        else:
            wp.copy(self.sim.ctrl, self._ctrl)

    def judge(self) -> Any:
        """Compute rewards and ends after a control period, and what is observed now. Returns the observation."""
        self._read()
        self._launch(self.task.judge, self.num_envs, [self._all, 0, self._constants, self.robot, self.episode])
        self._observe(self._all)
        self._launch(kernels.end_period, self.num_envs, [self._all, self.robot, self.episode])
        return self._out(self._observed)

    @property
    def ctrl(self) -> np.ndarray:
        """Controls of the last action, (world, nu)."""
        return self._ctrl.numpy()

    @property
    def drawn(self) -> dict[str, np.ndarray]:
        """What was drawn at the last reset of each world, (world,) each."""
        return dict(zip(self.drawn_names, self.episode.drawn.numpy().copy(), strict=True))

    def _read(self) -> None:
        """Copy the state of MuJoCo's worlds on the CPU. On a device the arrays are those of the engine."""
        if self._on_host:
            r, sim = self.robot, self.sim
            r.qpos.numpy()[...], r.qvel.numpy()[...] = sim.qpos, sim.qvel
            r.force.numpy()[...] = np.stack([d.actuator_force for d in sim.engine.data])
            r.diverged.numpy()[...] = sim.diverged

    def _observe(self, mask: wp.array) -> None:
        seen = self.sim.soil.observe_on_device()
        if self._with_simulator:
            inputs = [self.ground.arrays, self.robot.qpos, *self._scan_points, self._scan]
            self._launch(self._scan_kernel, (self.num_envs, len(self.task.scan[0])), inputs)
        for name, reading in self._readings.items():
            sources = [self.robot, self.episode, seen["sinkage"], seen["slip"], self._scan]
            self._launch(kernels.observe, self.num_envs, [mask, reading, *sources, self._observed[name]])

    def _seed(self, seed: Any, among: np.ndarray) -> None:
        """Start the random numbers of worlds: from `seed` + world, from a list, or at the first reset from anywhere.

        A seed is for worlds `among` those that are reset, (world,) bool; the others go on with their own numbers.
        """
        given = list(seed) if isinstance(seed, (list, tuple, np.ndarray)) else [seed] * self.num_envs
        if len(given) != self.num_envs:
            raise InputError(f"seed: {len(given)} are given; allowed is one, or one for each of {self.num_envs} worlds")
        if isinstance(seed, (int, np.integer)):
            given = [int(seed) + world for world in range(self.num_envs)]
        elif seed is None and not self._seeded:
            given = np.random.default_rng().integers(LARGEST_SEED, size=self.num_envs).tolist()
        if self._seeded:
            given = [one if reset else None for one, reset in zip(given, among.tolist(), strict=True)]
        chosen = [one is not None for one in given]
        if any(chosen):
            self._seeded = True
            seeds = np.array([0 if one is None else int(one) % LARGEST_SEED for one in given], np.int32)
            mask = world_mask(np.flatnonzero(chosen), self.num_envs, self.device)
            inputs = [mask, wp.array(seeds, dtype=int, device=self.device), self.episode.random]
            self._launch(kernels.seed_worlds, self.num_envs, inputs)

    def _reset(self, mask: wp.array, chosen: wp.array) -> None:
        """Draw soil, terrain and start of the chosen worlds anew, put them there and observe them."""
        worlds: Any = np.flatnonzero(mask.numpy()).tolist() if self._on_host else chosen
        if self._on_host and not worlds:
            return
        e, sim, count = self.episode, self.sim, self.num_envs
        self._launch(kernels.draw_worlds, count, [mask, *self._bounds, e])
        self._launch(self.task.start, count, [mask, self._constants, e, self._start, self._terrain])
        drawn = {name: e.drawn[self.drawn_names.index(name)] for name in self.task.soil_constants}
        if self._on_host:
            drawn = {name: values.numpy() for name, values in drawn.items()}
        sim.set_soil(worlds, **drawn)
        sim.set_terrain(worlds, self._terrain)
        sim.set_start(qpos=self._start.numpy() if self._on_host else self._start)
        sim.reset(worlds)
        self._read()
        self._launch(kernels.begin_episodes, count, [mask, self.robot, e, self._ctrl])
        self._launch(self.task.judge, count, [mask, 1, self._constants, self.robot, e])
        self._observe(mask)

    # ---- arrays -------------------------------------------------------------------------------------------

    def _launch(self, kernel: Any, threads: Any, inputs: list[Any]) -> None:
        wp.launch(kernel, dim=threads, inputs=inputs, device=self.device)

    def _out(self, observed: dict[str, wp.array]) -> Any:
        views = {name: self._view(values) for name, values in observed.items()}
        return views if self._with_simulator else views["robot"]

    def _view(self, values: wp.array) -> Any:
        """An array for the caller: a copy for NumPy, the memory itself for torch."""
        if self._arrays == "torch":
            return wp.to_torch(values)
        return values.numpy().copy() if self._shares else values.numpy()

    @contextlib.contextmanager
    def _ordered(self) -> Any:
        """On CUDA, kernels wait for what torch has begun before, and torch waits for the kernels."""
        if self._shares or self._arrays != "torch":
            yield
            return
        import torch  # pyright: ignore[reportMissingImports] an optional package

        theirs = wp.stream_from_torch(torch.cuda.current_stream())
        own = wp.get_stream(self.device)
        own.wait_stream(theirs)
        yield
        theirs.wait_stream(own)
