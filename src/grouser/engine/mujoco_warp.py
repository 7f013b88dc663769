"""MuJoCo Warp: many worlds of one model on a device, forces from modules, the linearly implicit step.

The same step as that of `mujoco_cpu.py`: each module gives a wrench f at the predicted geometry and a block
B = sum J^T (h D + h^2 K) J, and J^T B J is added to the mass matrix before it is factored. MuJoCo Warp computes in
float32. Modules may compute in float32 or float64; motion and wrenches are converted where they meet.

On CUDA a step is one graph, in which the host reads nothing. On Warp's CPU device the same launches are made one after
the other, slowly: for tests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import mujoco
import numpy as np
import warp as wp

from grouser import device as device_code
from grouser.engine import mujoco_warp_kernels as kernels
from grouser.engine.gearbox import add_losses_to_worlds, gearboxes
from grouser.engine.graph_loop import GraphLoop, graph_of
from grouser.engine.mujoco_cpu import ACCELERATION_SENSORS, DENSE_NOTE, compile_spec
from grouser.engine.mujoco_warp_kernels import Health, StepStart, Worlds
from grouser.engine.mujoco_warp_order import ACTUATION, INTEGRATION, POSITION, VELOCITY, ordered_stages
from grouser.engine.mujoco_warp_parameters import Parameters
from grouser.engine.mujoco_warp_setup import (
    check_modules,
    check_place,
    constraint_rows,
    device_called,
    integers,
    mujoco_warp,
    put_model,
    start_arrays,
    tree_of,
)
from grouser.engine.preparation import (
    SPEED_LIMIT,
    body_names,
    check_options,
    check_step,
    keep_full_mass_matrix,
)
from grouser.engine.world_faults import Note, WorldSlot, fatal_codes, new_faults
from grouser.errors import InputError, RunStopped
from grouser.launches import Launches
from grouser.module import ForceModule, Motion, Outputs
from grouser.precision import precision
from grouser.quiet_warp import start_warp
from grouser.terrain import checks

CONTACTS_PER_PAIR, MOST_CONTACTS = 8, 64  # room for contacts of a world: for each pair of geoms, and in all
STATE = mujoco.mjtState.mjSTATE_INTEGRATION


@dataclass
class MujocoWarp:
    """A compiled model with its worlds on a device. Hides MuJoCo Warp's conventions from all other code.

    `contacts`, `constraints`: room per world for contacts of MuJoCo and for rows of constraints. A world that needs
    more is frozen; contacts share the room of all worlds. `repeatable`: MuJoCo Warp sums in one order, so that the same
    batch gives the same bits.
    """

    spec: mujoco.MjSpec
    modules: Sequence[ForceModule]
    step: float
    implicit: bool = True
    worlds: int = 1
    dtype: str = "float32"  # of the modules
    notes: list[str] = field(default_factory=list)
    device: Any = "cuda"
    contacts: int | None = None
    constraints: int | None = None
    repeatable: bool = True

    def __post_init__(self):
        start_warp()
        self.mjw = mujoco_warp()
        check_step(self.step, self.modules)
        self.worlds = checks.count(self.worlds, "worlds", at_least=1)
        self.device = device_called(self.device)
        check_modules(self.modules, self.device)
        check_options(self.spec, self.notes)
        for module in self.modules:
            module.declare(self.spec)
        keep_full_mass_matrix(self.spec, self.body_names())
        self.model = self._compile()
        self.kernels = device_code.kernels(kernels, self.dtype)
        try:
            with wp.ScopedDevice(self.device):
                self._put_model()
                self._allocate()
        except RuntimeError as error:
            if "allocate" not in str(error):
                raise
            raise InputError(f"worlds: the memory of {self.device.alias} does not hold {self.worlds}") from None
        self._loop: GraphLoop | None = None
        self._looped: list[tuple[Launches, Launches]] = []
        self._reset_graph: Callable[[], None] | None = None
        self._used = False  # whether kernels of a reset are loaded
        self.parameters = Parameters(self.model, self.mjw, self.m, self.d, self.worlds)
        if self.device.is_cuda:  # kernels cannot always be loaded while a graph is captured: use each of them once
            self.kinematics()
            self.assemble()
            self.advance()
        self.reset(range(self.worlds))

    # ---- set-up -------------------------------------------------------------------------------------

    def body_names(self) -> list[str]:
        """Bodies used by force modules, each once, in the order in which modules name them."""
        return body_names(self.modules)

    def _compile(self) -> mujoco.MjModel:
        notes: list[str] = []
        model = compile_spec(self.spec, notes)
        self.notes += [line for line in notes if line != DENSE_NOTE]
        model.opt.disableflags &= ~int(mujoco.mjtDisableBit.mjDSBL_AUTORESET)  # unknown there: it never resets itself
        model.opt.timestep = self.step
        return model

    def _put_model(self) -> None:
        mjw = self.mjw
        # `compile_spec` avoids a wrong sparse factor of MuJoCo. MuJoCo Warp has its own and gets the model's choice.
        dense, self.model.opt.jacobian = self.model.opt.jacobian, self.spec.option.jacobian
        self.m = put_model(mjw, self.model, self.spec.modelname, self.notes)
        pairs = len(self.m.nxn_geom_pair_filtered)
        self.m.opt.run_collision_detection = pairs > 0
        self.m.opt.warn_overflow = 0  # `world_faults` says it in words
        self._ordered = ordered_stages(self.model, pairs, sparse=bool(self.m.qLD_updates))
        self._in_order()
        if self.contacts is None:
            self.contacts = min(CONTACTS_PER_PAIR * pairs, MOST_CONTACTS)
        self.contacts = checks.count(self.contacts, "contacts", at_least=0)
        if self.constraints is None:
            self.constraints = constraint_rows(self.model, self.contacts)
        # Without room for a constraint MuJoCo Warp would not compute M qacc, from which it integrates: at least one.
        self.constraints = checks.count(self.constraints, "constraints", at_least=1)
        self.d: Any = mjw.make_data(
            self.model, nworld=self.worlds, nconmax=max(self.contacts, 1), njmax=self.constraints
        )
        self.model.opt.jacobian = dense
        self._gearboxes = gearboxes(self.model, self.device)
        self._senses_acceleration = bool(np.isin(self.model.sensor_type, ACCELERATION_SENSORS).any())
        over = mjw.OverflowType
        self._capacity_bits = int(
            over.NEFC | over.NJMAX_NNZ | over.BROADPHASE | over.NARROWPHASE | over.CCD | over.HFIELD
        )

    def _allocate(self) -> None:
        p, m, d, names = precision(self.dtype), self.model, self.d, self.body_names()
        self.body_ids = np.array([m.body(name).id for name in names], np.int32)
        self.tree = tree_of(m, self.body_ids)
        w: Any = Worlds()
        for name, source in (
            ("position", d.xpos), ("rotation", d.xquat), ("tree_centre", d.subtree_com), ("velocity", d.cvel),
            ("dof_axis", d.cdof), ("coordinate", d.qpos), ("speed", d.qvel), ("activation", d.act),
            ("control", d.ctrl), ("warmstart", d.qacc_warmstart), ("mass", d.M), ("passive", d.qfrc_passive),
            ("overflow", d.overflow),
        ):  # fmt: skip
            setattr(w, name, source)
        self.views = w
        start: Any = StepStart()
        start.coordinate, start.speed = wp.zeros_like(d.qpos), wp.zeros_like(d.qvel)
        start.activation = wp.zeros_like(d.act)
        self._before = start
        self._speed_after, self._applied = wp.zeros_like(d.qvel), wp.zeros_like(d.xfrc_applied)
        self.health: Any = device_code.zeros(Health, self.device, (self.worlds,))
        self._chosen = wp.zeros(self.worlds, dtype=wp.bool)
        self._start = start_arrays(m, self.worlds)
        count = max(len(names), 1)
        self.motion = Motion(*(wp.zeros((self.worlds, count), dtype=kind) for kind in (p.vec3, p.quat, p.vec3, p.vec3)))
        self.slots = []
        for module in self.modules:
            rows, shape = [names.index(b) for b in module.bodies], (self.worlds, len(module.bodies))
            out = Outputs(*(wp.zeros(shape, dtype=kind) for kind in (p.vec6, p.mat66, p.vec6, wp.int32)))
            seen, explained = wp.zeros(shape, dtype=wp.int32), wp.zeros(shape, dtype=wp.int32)
            module.bind(self.motion, rows, out, self.step)
            check_place(module, self.device)
            fatal = integers(fatal_codes(module))
            self.slots.append(WorldSlot(module, rows, integers(rows), out, seen, explained, fatal))

    # ---- arrays of all worlds -----------------------------------------------------------------------

    @property
    def qpos(self) -> wp.array:
        """Coordinates [m or rad], (world, nq) float32. After writing them call `kinematics`."""
        return self.d.qpos

    @property
    def qvel(self) -> wp.array:
        """Speeds [m/s or rad/s], (world, nv) float32. After writing them call `kinematics`."""
        return self.d.qvel

    @property
    def ctrl(self) -> wp.array:
        """Controls, (world, nu) float32. They hold until they are written again."""
        return self.d.ctrl

    @property
    def act(self) -> wp.array:
        """Activations of actuators, (world, na) float32."""
        return self.d.act

    @property
    def xpos(self) -> wp.array:
        """Positions [m] of the bodies' frame origins, (world, body) vec3 float32."""
        return self.d.xpos

    @property
    def xquat(self) -> wp.array:
        """Rotations of bodies, (world, body) quaternions w, x, y, z, float32."""
        return self.d.xquat

    @property
    def sensordata(self) -> wp.array:
        """Values of the model's sensors, (world, nsensordata) float32."""
        return self.d.sensordata

    @property
    def actuator_force(self) -> wp.array:
        """Forces of actuators [N or N m], (world, nu) float32."""
        return self.d.actuator_force

    @property
    def diverged(self) -> wp.array:
        """(world,) int32: 1 for a world that has failed and stands still until it is reset."""
        return self.health.diverged

    @property
    def steps(self) -> wp.array:
        """(world,) int32: steps since the reset of the world."""
        return self.health.steps

    @property
    def data(self) -> Any:
        raise InputError(
            "data: worlds on a device have no MjData; allowed: engine.qpos, qvel, ctrl, xpos, … with a world axis, "
            "engine.host(world) for a copy, and controls written to engine.ctrl instead of controllers"
        )

    def host(self, world: int) -> mujoco.MjData:
        """A copy of one world as MjData, with all that MuJoCo computes from its state. Changes have no effect."""
        d = mujoco.MjData(self.model)
        mujoco.mj_setState(self.model, d, self.state(world), STATE)
        mujoco.mj_forward(self.model, d)
        return d

    # ---- the step -----------------------------------------------------------------------------------

    def _in_order(self, stage: str = "") -> None:
        """Let what follows sum in a fixed order, unless any order gives the same bits in this `stage`."""
        kinds = self.mjw.DeterminismType
        free = stage and stage not in self._ordered
        chosen = kinds.ALL & ~kinds.ATOMICS if free else kinds.ALL
        self.m.opt.deterministic = int(chosen if self.repeatable else kinds.NONE)

    def kinematics(self) -> None:
        """Compute positions, velocities and the mass matrix at the present time, and the motion for the modules."""
        with wp.ScopedDevice(self.device):
            mjw, m, d, motion = self.mjw, self.m, self.d, self.motion
            self._in_order(POSITION)
            mjw.fwd_position(m, d, factorize=False)
            self._in_order()
            mjw.sensor_pos(m, d)
            self._in_order(VELOCITY)
            mjw.fwd_velocity(m, d)
            self._in_order()
            mjw.sensor_vel(m, d)
            if len(self.body_ids):
                out = [motion.position, motion.rotation, motion.velocity, motion.angular_velocity]
                self._launch(self.kernels.gather_motion, len(self.body_ids), [self.tree, self.views, *out])

    def assemble(self) -> None:
        """Add wrenches and implicit blocks of all modules to MuJoCo Warp's arrays, except in worlds that diverged."""
        k, w = self.kernels, self.views
        with wp.ScopedDevice(self.device):
            self._launch(k.start_step, 0, [w, self._before, self.health])
            for number, s in enumerate(self.slots):
                out = [s.out.wrench, s.out.implicit]
                watched = [s.out.status, s.explained, s.fatal, self.health, s.seen]
                self._launch(k.watch_outputs, 0, [number, *out, *watched])
            for s in self.slots:
                out = [s.out.wrench, s.out.implicit]
                inputs = [self.tree, w, s.row_array, int(self.implicit), *out, self.health]
                self._launch(k.add_forces, self.model.nv, inputs)
            if self._gearboxes is not None:
                given = [self._gearboxes, w.control, w.speed, self.health.diverged, int(self.implicit), self.step]
                self._launch(add_losses_to_worlds, 0, [*given, w.passive, w.mass])

    def advance(self) -> None:
        """Integrate one step, hold the worlds that diverged, then compute the wrenches that the bodies received."""
        mjw, m, d, k, w = self.mjw, self.m, self.d, self.kernels, self.views
        with wp.ScopedDevice(self.device):
            self._in_order(ACTUATION)
            mjw.fwd_actuation(m, d)
            self._in_order()
            mjw.fwd_acceleration(m, d, factorize=True)
            mjw.solve(m, d)
            self._in_order(INTEGRATION)
            mjw.implicit(m, d)
            self._in_order()
            self._launch(k.hold_diverged, 0, [w, self._before, SPEED_LIMIT, self._capacity_bits, self.health])
            for s in self.slots:
                constant = [self.tree, w, self._before, s.row_array, int(self.implicit), self.step]
                inputs = [*constant, s.out.wrench, s.out.implicit, self.health, s.out.effective]
                self._launch(k.effective_wrench, len(s.rows), inputs)
            if self._senses_acceleration:
                self._sense()

    def _sense(self) -> None:
        """Compute force and acceleration sensors from the effective wrenches and (v+ - v) / h."""
        d, k, w, after, applied = self.d, self.kernels, self.views, self._speed_after, self._applied
        wp.copy(applied, d.xfrc_applied)
        self._launch(k.show_last_step, self.model.nv, [w, self._before, self.step, after, d.qacc])
        for s in self.slots:
            given = [self.tree, w, s.row_array, s.out.effective, d.xipos]
            self._launch(k.apply_effective, 0, [*given, d.xfrc_applied])
        d.sensordata.zero_()  # touch sensors add to it; `kinematics` computes those of position and velocity again
        self.mjw.sensor_acc(self.m, d)
        wp.copy(d.qvel, after)
        wp.copy(d.xfrc_applied, applied)

    def _launch(self, kernel: Any, count: int, inputs: list[Any]) -> None:
        """Launch one thread a world, or `count` of them."""
        wp.launch(kernel, (self.worlds, count) if count else self.worlds, inputs, device=self.device)

    def loop(self, launches: Sequence[tuple[Launches, Launches]]) -> GraphLoop:
        """Whole steps, from the modules' launches for `evaluate` and `commit`. On CUDA each is one graph."""
        if self._loop is None or self._looped != list(launches):
            replay = Launches.make if self.device.is_cuda else Launches.run  # a graph cannot be launched in a graph

            def before() -> None:
                for evaluate, _ in launches:
                    replay(evaluate)
                self.assemble()
                self.advance()

            def after() -> None:
                self.kinematics()
                for _, commit in launches:
                    replay(commit)

            self._loop, self._looped = GraphLoop(before, after, self.device), list(launches)
        return self._loop

    # ---- alarms -------------------------------------------------------------------------------------

    @property
    def alarmed(self) -> bool:
        """Whether a world has failed or a module reports a new status. Reads from the device."""
        return bool(self.health.alarm.numpy().any())

    def clear_alarm(self) -> None:
        self.health.alarm.zero_()

    @property
    def frozen(self) -> np.ndarray:
        """(world,) worlds that have failed and stand still. Reads from the device."""
        return self.health.diverged.numpy() != 0

    def freeze(self, world: int) -> None:
        self.health.diverged[world : world + 1].fill_(1)

    def thaw(self, worlds: Iterable[int]) -> None:
        diverged = self.health.diverged.numpy().copy()
        diverged[list(worlds)] = 0
        self.health.diverged.assign(diverged)

    def faults(self, time: float, note: Note) -> list[tuple[int, RunStopped]]:
        """Worlds that cannot continue and are not reported yet, with the reason. Reads from the device.

        `note` gets each status of a module that is not fatal. `time` [s]: of the simulation.
        """
        return new_faults(self, time, note)

    # ---- state --------------------------------------------------------------------------------------

    def reset(self, worlds: Any) -> None:
        """Put some worlds to their start: a list of numbers, or a mask, (world,) of bool or, on the device, int32.

        Forces of modules there become zero, kinematics are computed. Other worlds are not touched.
        """
        with wp.ScopedDevice(self.device):
            self._choose(worlds)
        if self._reset_graph is None and self.device.is_cuda and self._used:
            self._reset_graph = graph_of(self._reset_chosen, self.device)  # reset_data takes milliseconds of Python
        (self._reset_graph or self._reset_chosen)()
        self._used = True

    def _reset_chosen(self) -> None:
        with wp.ScopedDevice(self.device):
            self.mjw.reset_data(self.m, self.d, reset=self._chosen)
            given = [self._start[name] for name in ("qpos", "qvel", "act", "ctrl")]
            self._launch(self.kernels.put_start, 0, [self._chosen, *given, self.views, self.health])
            self._clear_chosen_outputs()
        self.kinematics()

    def set_start(self, **values: Any) -> None:
        """Set the start of all worlds, used by later resets: `qpos`, `qvel`, `act`, `ctrl`, each (world, n) or (n,)."""
        for name, value in values.items():
            if name not in self._start:
                raise InputError(f"start: {name!r} is not known; allowed: {', '.join(self._start)}")
            target = self._start[name]
            given = value if isinstance(value, wp.array) else np.asarray(value, np.float32)
            if given.shape not in (target.shape, target.shape[1:]):
                raise InputError(
                    f"start: {name} has shape {given.shape}; allowed: {target.shape} or {target.shape[1:]}"
                )
            if isinstance(given, wp.array):
                wp.copy(target, given)
                continue
            if not np.isfinite(given).all():
                raise InputError(f"start: {name} has a number that is not finite")
            target.assign(np.ascontiguousarray(np.broadcast_to(given, target.shape)))

    def _choose(self, worlds: Any) -> None:
        """Set the mask of chosen worlds, on the device."""
        if isinstance(worlds, wp.array):
            if worlds.shape != (self.worlds,) or worlds.dtype not in (wp.bool, wp.int32):
                raise InputError(f"worlds: a mask must be of bool or int32 with shape ({self.worlds},)")
            if worlds.dtype == wp.bool:
                wp.copy(self._chosen, worlds)
            else:
                self._launch(self.kernels.choose, 0, [worlds, self._chosen])
            return
        given = np.asarray(list(worlds) if isinstance(worlds, Iterable) else worlds)
        mask = np.zeros(self.worlds, bool)
        if given.dtype == bool and given.shape == mask.shape:
            mask[:] = given
        elif given.size and (given.dtype.kind not in "iu" or given.min() < 0 or given.max() >= self.worlds):
            raise InputError(f"worlds: {worlds!r}: allowed are some of 0 to {self.worlds - 1}, or a mask of them")
        else:
            mask[given.astype(int)] = True
        self._chosen.assign(mask)

    def clear_outputs(self, worlds: Any) -> None:
        """Set all wrenches, blocks and status codes of some worlds to zero."""
        with wp.ScopedDevice(self.device):
            self._choose(worlds)
            self._clear_chosen_outputs()

    def _clear_chosen_outputs(self) -> None:
        for s in self.slots:
            out = [s.out.wrench, s.out.implicit, s.out.effective, s.out.status, s.seen]
            self._launch(self.kernels.clear_outputs, len(s.rows), [self._chosen, *out])

    def states(self) -> list[np.ndarray]:
        """State of each world as MuJoCo orders it (mjSTATE_INTEGRATION)."""
        size = mujoco.mj_stateSize(self.model, STATE)
        with wp.ScopedDevice(self.device):
            out = wp.zeros((self.worlds, size), dtype=wp.float32)
            self.mjw.get_state(self.m, self.d, out, int(STATE))
        return list(out.numpy().astype(float))

    def state(self, world: int) -> np.ndarray:
        return self.states()[world]

    def restore_states(self, states: Sequence[np.ndarray]) -> None:
        """Put all worlds into states that `states` has returned, here or on the CPU. Then call `kinematics`."""
        with wp.ScopedDevice(self.device):
            given = wp.array(np.array(states, np.float32), dtype=wp.float32)
            self.mjw.set_state(self.m, self.d, given, int(STATE))

    def restore(self, world: int, state: np.ndarray) -> None:
        """Put one world into a state. Then call `kinematics`."""
        self.restore_states([state if k == world else other for k, other in enumerate(self.states())])

    def set_parameter(self, name: str, values: Any) -> None:
        """Set a parameter of the model in every world, (world, …); `mujoco_warp_parameters.PER_WORLD` has the names."""
        with wp.ScopedDevice(self.device):
            if self.parameters.set(name, values):
                self._loop = self._reset_graph = None  # arrays were replaced, so graphs must be captured again
        self.kinematics()

    def total_mass(self) -> float:
        return float(self.model.body_mass.sum())
