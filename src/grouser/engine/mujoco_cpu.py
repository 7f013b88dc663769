"""MuJoCo on the CPU: one MjData per world, forces from modules, the linearly implicit step.

Each module gives a wrench f at the predicted geometry and a block B = sum J^T (h D + h^2 K) J. J^T B J is added to the
mass matrix between `mj_step1` and `mj_step2`, so stiff ground needs no small steps. A body receives the wrench f - B a,
and this is what is recorded.
"""

from __future__ import annotations

import ctypes
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any, ClassVar

import mujoco
import numpy as np
import warp as wp

from grouser import device
from grouser.engine import kernels
from grouser.engine.gearbox import add_losses, gearboxes
from grouser.engine.height_field_filter import HeightFieldFilter
from grouser.engine.kernels import SpatialVelocity, Tree, World
from grouser.engine.preparation import (
    SPEED_LIMIT,
    body_names,
    check_options,
    check_step,
    keep_full_mass_matrix,
    last_dofs,
    start_values,
)
from grouser.launches import Call, Launches, Loop, put_pointer
from grouser.model_compiler import compile_model
from grouser.module import ForceModule, Motion, Outputs
from grouser.precision import precision
from grouser.terrain import checks

WRONG_SPARSE_FACTOR = ("4.0.0",)  # versions of MuJoCo, see tests/engine/test_sparse_factor.py; drop it with the last
DENSE_NOTE = (
    f"Jacobian of the constraints set to dense: with a sparse one MuJoCo {mujoco.__version__} computes wrong "
    "accelerations for some branched trees (fixed in 4.0.1)"
)
ACCELERATION_SENSORS = tuple(
    getattr(mujoco.mjtSensor, f"mjSENS_{name}")
    for name in ("ACCELEROMETER", "FORCE", "TORQUE", "TOUCH", "FRAMELINACC", "FRAMEANGACC")
)


class WarningNotes:
    """Collects MuJoCo's warnings in the notes of the engine that steps."""

    notes: ClassVar[list[str]] = []

    @classmethod
    def note(cls, text: str) -> None:
        line = f"MuJoCo warns: {' '.join(text.split())}"
        if line not in cls.notes:
            cls.notes.append(line)


if mujoco.get_mju_user_warning() is None:  # MuJoCo's own handler leaves MUJOCO_LOG.TXT in the working directory
    mujoco.set_mju_user_warning(WarningNotes.note)


def _addresses(*names: str) -> dict[str, int]:
    """Addresses of functions of MuJoCo's library, to call them without Python; empty if it does not export them."""
    library = ctypes.CDLL(mujoco._functions.__file__)  # the library it is linked to is found through it
    try:
        found = {name: ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0 for name in names}
        for name in ("mju_user_error", "mjcb_time"):
            found[name] = ctypes.addressof(ctypes.c_void_p.in_dll(library, name))
    except (AttributeError, ValueError):
        return {}
    return found


@ctypes.CFUNCTYPE(None, ctypes.c_char_p)
def _end(text: bytes) -> None:
    """Handle a fatal MuJoCo error during compiled steps: print it and end the process. Python cannot be reached.

    A recording keeps what was flushed before.
    """
    sys.stderr.write(f"stopped: mujoco: {' '.join(text.decode(errors='replace').split())}\n")
    sys.stderr.flush()
    os._exit(3)


FUNCTIONS = _addresses("mj_step1", "mj_factorM", "mj_step2")


@cache
def _without_python(begins: bool) -> Launches:
    """Launches around direct calls of MuJoCo's functions: errors go to `_end`, and MuJoCo's timers are off."""
    error, timer = FUNCTIONS["mju_user_error"], FUNCTIONS["mjcb_time"]
    clock = ctypes.c_uint64.from_address(timer).value
    values = (ctypes.cast(_end, ctypes.c_void_p).value, 0) if begins else (0, clock)

    def record(launch) -> None:
        launch(put_pointer, 1, [error, values[0]])
        launch(put_pointer, 1, [timer, values[1]])

    return Launches(record)


@dataclass
class ModuleSlot:
    """A module with its rows and outputs in the engine."""

    module: ForceModule
    rows: list[int]
    row_array: wp.array
    out: Outputs
    explained: wp.array  # (world, row) status that has been reported and is not fatal: it raises no alarm again


@dataclass
class MujocoCpu:
    """A compiled model with its worlds. Hides MuJoCo's conventions from all other code."""

    spec: mujoco.MjSpec
    modules: Sequence[ForceModule]
    step: float
    implicit: bool = True
    worlds: int = 1
    dtype: str = "float64"
    notes: list[str] = field(default_factory=list)

    def __post_init__(self):
        check_step(self.step, self.modules)
        self.worlds = checks.count(self.worlds, "worlds", at_least=1)
        check_options(self.spec, self.notes)
        self.spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET
        for module in self.modules:
            module.declare(self.spec)
        keep_full_mass_matrix(self.spec, self.body_names())
        self.model = compile_spec(self.spec, self.notes)
        self.model.opt.timestep = self.step
        self.data = [mujoco.MjData(self.model) for _ in range(self.worlds)]
        self._starts: dict[str, np.ndarray] = {}  # set by `set_start`
        self.frozen, self._any_frozen = np.zeros(self.worlds, bool), False
        self._loop: Loop | None = None
        self._part_loops: list[Loop] | None = None
        self._senses_acceleration = bool(np.isin(self.model.sensor_type, ACCELERATION_SENSORS).any())
        self.kernels = device.kernels(kernels, self.dtype)
        self._allocate()
        self._record()

    # ---- set-up -------------------------------------------------------------------------------------

    def body_names(self) -> list[str]:
        """Bodies used by force modules, each once, in the order in which modules name them."""
        return body_names(self.modules)

    def _allocate(self) -> None:
        p, m, names = precision(self.dtype), self.model, self.body_names()
        tree: Any = Tree()
        self.tree = tree
        self.body_ids = np.array([m.body(name).id for name in names], np.int32)
        tree.body = _array(self.body_ids)
        tree.root = _array(m.body_rootid)
        tree.last_dof = _array(last_dofs(m))
        tree.parent_dof = _array(m.dof_parentid)
        tree.row_start, tree.row_count, tree.column = _array(m.M_rowadr), _array(m.M_rownnz), _array(m.M_colind)
        self.views: list[Any] = [self._view(d) for d in self.data]
        count = max(len(names), 1)

        def zeros(shape, dtype):
            return wp.zeros(shape, dtype=dtype, device="cpu")

        self.motion = Motion(
            zeros((self.worlds, count), p.vec3),
            zeros((self.worlds, count), p.quat),
            zeros((self.worlds, count), p.vec3),
            zeros((self.worlds, count), p.vec3),
        )
        self.alarm = zeros(self.worlds, wp.int32)
        self._alarm = self.alarm.numpy()
        self._h = wp.array([self.step], dtype=wp.float64, device="cpu")
        self.slots = []
        for module in self.modules:
            rows, k = [names.index(b) for b in module.bodies], len(module.bodies)
            out = Outputs(
                zeros((self.worlds, k), p.vec6),
                zeros((self.worlds, k), p.mat66),
                zeros((self.worlds, k), p.vec6),
                zeros((self.worlds, k), wp.int32),
            )
            module.bind(self.motion, rows, out, self.step)
            self.slots.append(ModuleSlot(module, rows, _array(rows), out, zeros((self.worlds, k), wp.int32)))

    def _view(self, d: mujoco.MjData) -> World:
        w: Any = World()
        for field_name, source, dtype in (
            ("position", d.xpos, wp.vec3d), ("rotation", d.xquat, wp.vec4d),
            ("tree_centre", d.subtree_com, wp.vec3d),
            ("velocity", _spatial(d.cvel), SpatialVelocity), ("dof_axis", _spatial(d.cdof), SpatialVelocity),
            ("speed", d.qvel, wp.float64), ("mass", d.M, wp.float64), ("passive", d.qfrc_passive, wp.float64),
        ):  # fmt: skip
            setattr(w, field_name, wp.array(source, dtype=dtype, copy=False, device="cpu"))
        w.speed_before = wp.zeros(self.model.nv, dtype=wp.float64, device="cpu")
        w.jacobian = wp.zeros(self.model.nv, dtype=wp.spatial_vectord, device="cpu")
        return w

    def _record(self) -> None:
        """Record the launches that exchange data between modules and MuJoCo."""
        k, m, implicit, boxes = self.kernels, self.motion, int(self.implicit), gearboxes(self.model)

        def gather(launch) -> None:
            for world, view in enumerate(self.views):
                motion = [m.position, m.rotation, m.velocity, m.angular_velocity]
                launch(k.gather_motion, dim=1, inputs=[self.tree, view, world, *motion])

        def assemble(launch) -> None:
            for world, view in enumerate(self.views):
                launch(k.start_step, dim=1, inputs=[view])
                for s in self.slots:
                    given = [s.out.wrench, s.out.implicit]
                    launch(k.add_forces, dim=1, inputs=[self.tree, view, world, s.row_array, implicit, *given])
                if boxes is not None:
                    control = wp.array(self.data[world].ctrl, dtype=wp.float64, copy=False, device="cpu")
                    changed = [view.passive, view.mass]
                    launch(add_losses, dim=1, inputs=[boxes, control, view.speed, implicit, self._h, *changed])

        def effective(launch) -> None:
            for world, view in enumerate(self.views):
                for s in self.slots:
                    given = [s.out.wrench, s.out.implicit, s.out.status, s.explained, s.out.effective, self.alarm]
                    inputs = [self.tree, view, world, s.row_array, implicit, self._h, *given]
                    launch(k.effective_wrench, dim=1, inputs=inputs)
                launch(k.watch_speeds, dim=1, inputs=[view, world, SPEED_LIMIT, self.alarm])

        self._gather, self._assemble, self._effective = Launches(gather), Launches(assemble), Launches(effective)
        fields = HeightFieldFilter(self.model, self.tree, self._h)
        self._around_search = [fields.around(view, d) for view, d in zip(self.views, self.data, strict=True)]

    # ---- the step -----------------------------------------------------------------------------------

    def kinematics(self, worlds: Sequence[int] | None = None) -> None:
        """Compute positions, velocities and the mass matrix at the present time, and the motion for the modules.

        `worlds`: only these; None: all that are not frozen.
        """
        WarningNotes.notes = self.notes
        for d in self._moving() if worlds is None else (self.data[world] for world in worlds):
            mujoco.mj_step1(self.model, d)
        self._gather.run()

    def assemble(self) -> None:
        """Add wrenches and implicit blocks of all modules to MuJoCo's arrays."""
        self._assemble.run()

    def advance(self) -> None:
        """Integrate one step, then compute the wrenches that the bodies received."""
        WarningNotes.notes = self.notes
        for d in self._moving():
            if self.implicit:
                mujoco.mj_factorM(self.model, d)
            mujoco.mj_step2(self.model, d)
        self._effective.run()
        if self._senses_acceleration:
            for world in np.flatnonzero(~self.frozen):
                self._sense(int(world))

    def loop(self, launches: Sequence[tuple[Launches, Launches]]) -> Loop | None:
        """Whole steps without Python, from the modules' launches for `evaluate` and `commit`.

        One round does the same as `step.advance`; its second part is `step.settle`. Returns None if Python must see
        every step.
        """
        if not FUNCTIONS or self._senses_acceleration:
            return None
        if self._loop is None or self._looped != launches:
            integrate = ("mj_factorM", "mj_step2") if self.implicit else ("mj_step2",)
            evaluate, commit = [first for first, _ in launches], [second for _, second in launches]
            before = [*_calls(*evaluate, self._assemble), *self._functions(*integrate), *_calls(self._effective)]
            after = [*self._functions("mj_step1", among=self._around_search), *_calls(self._gather, *commit)]
            self._loop, self._looped = Loop(before, after, self.alarm), list(launches)
        WarningNotes.notes = self.notes
        return self._loop

    def loops(
        self, parts: Sequence[range], launches: Sequence[Sequence[tuple[Launches, Launches]]]
    ) -> list[Loop] | None:
        """One loop for each part of the worlds, to run on threads inside `without_python`. Otherwise as `loop`.

        `launches`: for each part those of the modules, which act on its worlds only.
        """
        if not FUNCTIONS or self._senses_acceleration:
            return None
        given = [pair for of_part in launches for pair in of_part]
        if self._part_loops is None or self._looped != given:
            self._part_loops = [self._loop_of(part, own) for part, own in zip(parts, launches, strict=True)]
            self._looped = given
        WarningNotes.notes = self.notes
        return self._part_loops

    def _loop_of(self, part: range, launches: Sequence[tuple[Launches, Launches]]) -> Loop:
        """Loop over the worlds of one part."""

        def own(all_worlds: Launches) -> list[Call]:
            each = len(all_worlds.calls) // self.worlds  # calls are in the order of worlds
            return all_worlds.calls[part.start * each : part.stop * each]

        integrate = ("mj_factorM", "mj_step2") if self.implicit else ("mj_step2",)
        evaluate, commit = [first for first, _ in launches], [second for _, second in launches]
        before = [*_calls(*evaluate), *own(self._assemble), *self._world_calls(part, integrate), *own(self._effective)]
        kinematics = self._world_calls(part, ("mj_step1",), self._around_search)
        after = [*kinematics, *own(self._gather), *_calls(*commit)]
        alarm: Any = self.alarm[part.start : part.stop]
        return Loop(before, after, alarm)

    @contextmanager
    def without_python(self) -> Iterator[None]:
        """While loops of `loops` run: errors of MuJoCo end the program, see `_end`."""
        _without_python(begins=True).run()
        try:
            yield
        finally:
            _without_python(begins=False).run()

    def _functions(self, *names: str, among: Sequence[tuple[list[Launches], list[Launches]]] = ()) -> list[Call]:
        """Calls of MuJoCo's functions on every world that moves, with the launches `among` before and after them.

        An error of MuJoCo in these calls ends the program, see `_end`.
        """
        calls = self._world_calls(range(self.worlds), names, among)
        return [*_calls(_without_python(begins=True)), *calls, *_calls(_without_python(begins=False))]

    def _world_calls(
        self, worlds: range, names: Sequence[str], among: Sequence[tuple[list[Launches], list[Launches]]] = ()
    ) -> list[Call]:
        calls: list[Call] = []
        for world in worlds:
            if not self.frozen[world]:
                d = self.data[world]
                own = [(FUNCTIONS[name], self.model._address, d._address) for name in names]
                before, behind = among[world] if among else ((), ())
                calls += [*_calls(*before), *own, *_calls(*behind)]
        return calls

    def _moving(self) -> list[mujoco.MjData]:
        """Data of the worlds that are not frozen. A world that failed is frozen while the others go on."""
        if self._any_frozen:
            return [d for d, still in zip(self.data, self.frozen, strict=True) if not still]
        return self.data

    def freeze(self, world: int) -> None:
        self.frozen[world] = self._any_frozen = True
        self._loop = self._part_loops = None

    def thaw(self, worlds: Sequence[int]) -> None:
        chosen = list(worlds)
        if not self.frozen[chosen].any():
            return
        self.frozen[chosen] = False
        self._any_frozen = bool(self.frozen.any())
        self._loop = self._part_loops = None

    @property
    def alarmed(self) -> bool:
        if self._any_frozen:
            self._alarm[self.frozen] = 0
        return bool(self._alarm.item(0) if self.worlds == 1 else self._alarm.any())

    def clear_alarm(self) -> None:
        self._alarm[:] = 0

    def _sense(self, world: int) -> None:
        """Recompute force and acceleration sensors from the effective wrenches and (v+ - v) / h."""
        m, d, view = self.model, self.data[world], self.views[world]
        applied, after = d.xfrc_applied.copy(), d.qvel.copy()
        before = view.speed_before.numpy()
        for s in self.slots:
            for k, row in enumerate(s.rows):
                b = self.body_ids[row]
                got = s.out.effective.numpy()[world, k].astype(float)
                d.xfrc_applied[b, :3] += got[:3]
                d.xfrc_applied[b, 3:] += got[3:] + np.cross(d.xpos[b] - d.xipos[b], got[:3])
        d.qacc[:] = (after - before) / self.step
        d.qvel[:] = before
        mujoco.mj_rnePostConstraint(m, d)
        mujoco.mj_sensorAcc(m, d)
        d.qvel[:], d.xfrc_applied[:] = after, applied

    # ---- arrays of all worlds -----------------------------------------------------------------------

    @property
    def qpos(self) -> np.ndarray:
        """Coordinates [m or rad], (world, nq); a copy."""
        return np.stack([d.qpos for d in self.data])

    @property
    def qvel(self) -> np.ndarray:
        """Speeds [m/s or rad/s], (world, nv); a copy."""
        return np.stack([d.qvel for d in self.data])

    # ---- state --------------------------------------------------------------------------------------

    def state(self, world: int) -> np.ndarray:
        kind = mujoco.mjtState.mjSTATE_INTEGRATION
        out = np.empty(mujoco.mj_stateSize(self.model, kind))
        mujoco.mj_getState(self.model, self.data[world], out, kind)
        return out

    def restore(self, world: int, state: np.ndarray) -> None:
        mujoco.mj_setState(self.model, self.data[world], state, mujoco.mjtState.mjSTATE_INTEGRATION)

    def states(self) -> list[np.ndarray]:
        return [self.state(world) for world in range(self.worlds)]

    def restore_states(self, states: Sequence[np.ndarray]) -> None:
        for world, state in enumerate(states):
            self.restore(world, state)

    def begin_at(self, world: int, state: np.ndarray) -> None:
        """Start a world from a state: nothing is left of a run before, such as forces of actuators and sensors."""
        mujoco.mj_resetData(self.model, self.data[world])
        self.restore(world, state)

    def reset(self, worlds: Sequence[int]) -> None:
        self.thaw(worlds)
        for world in worlds:
            d = self.data[world]
            if self.model.nkey:  # a model with one for every world, none called "start", starts each from its own
                own = self.model.nkey == self.worlds and self.model.key(0).name != "start"
                mujoco.mj_resetDataKeyframe(self.model, d, world if own else 0)
            else:
                mujoco.mj_resetData(self.model, d)
            for name, values in self._starts.items():
                getattr(d, name)[:] = values[world]

    def set_start(self, **values: Any) -> None:
        """Set the start of all worlds, used by later resets: `qpos`, `qvel`, `act`, `ctrl`, each (world, n) or (n,)."""
        self._starts |= {name: start_values(self.model, name, value, self.worlds) for name, value in values.items()}

    def clear_outputs(self, worlds: Sequence[int]) -> None:
        """Set all wrenches, blocks and status codes of some worlds to zero."""
        for slot in self.slots:
            for array in vars(slot.out).values():
                array.numpy()[list(worlds)] = 0

    def total_mass(self) -> float:
        return float(self.model.body_mass.sum())


def compile_spec(spec: mujoco.MjSpec, notes: list[str] | None = None) -> mujoco.MjModel:
    """Compile a model, or raise an InputError. Warnings of MuJoCo are added to `notes`, each once."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        model = compile_model(spec)
    for line in dict.fromkeys(f"MuJoCo warns: {' '.join(str(w.message).split())}" for w in heard):
        if notes is not None and line not in notes:
            notes.append(line)
    _avoid_sparse_factor(model, notes)
    return model


def _avoid_sparse_factor(model: mujoco.MjModel, notes: list[str] | None) -> None:
    """Use the dense Jacobian if this MuJoCo would factor the Newton solver's matrix wrongly (its issue 3767)."""
    if mujoco.__version__ not in WRONG_SPARSE_FACTOR or not mujoco.mj_isSparse(model):
        return
    model.opt.jacobian = mujoco.mjtJacobian.mjJAC_DENSE
    if notes is not None and DENSE_NOTE not in notes:
        notes.append(DENSE_NOTE)


def _calls(*launches: Launches) -> list[Call]:
    return [call for each in launches for call in each.calls]


def _array(values) -> wp.array:
    return wp.array(np.ascontiguousarray(values, dtype=np.int32), dtype=wp.int32, device="cpu")


def _spatial(values: np.ndarray) -> np.ndarray:
    """View (n, 6) numbers as n spatial velocities, without a copy."""
    return values.view(device.numpy_dtype(SpatialVelocity)).reshape(-1)
