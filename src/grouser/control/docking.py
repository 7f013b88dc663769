"""The docking sequence of Krenn and Hirzinger 2009, section II, as a state machine.

Every transition is triggered by sensors: camera, distance sensors, contact switches, the boom's encoder, load cell and
strain gauges, the crown's encoder and the force of its spindle. None is triggered by the clock.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from enum import IntEnum
from typing import Any

import mujoco
import numpy as np

from grouser.control.docking_sensors import ContactSwitches, DistanceSensors
from grouser.control.spacecraft import Aocs, Mode
from grouser.control.wheels import actuator_id
from grouser.errors import InputError
from grouser.module import Channel

NEVER = -(2**31)  # value of `key` before a length has been written into the model


class Phase(IntEnum):
    APPROACH = 0  # the boom deploys the tool towards the nozzle
    INSERTION = 1  # inside the nozzle, until the boom stops before the shoulder touches
    LOCKING = 2  # the crown spreads and is pulled back
    CHECK = 3  # locked; wait until contact is steady
    RETRACTION = 4
    TOUCHDOWN = 5  # from the first bracket to the third
    SPRING = 6  # the safety spring is extended
    MATED = 7  # the servicer controls the attitude of both satellites
    ABORT = 8  # crown closes, boom retracts, servicer moves away
    RETREATED = 9


class Reason(IntEnum):
    """Why a docking was aborted."""

    NONE = 0
    FORCE = 1  # excess force on the boom
    BLIND = 2  # the camera lost the client
    NO_NOZZLE = 3  # the boom is at the end of its stroke and the shoulder is not near the seat
    NO_LOCK = 4  # the crown is at the end of its stroke and holds nothing
    LOST = 5  # the lock opened


@dataclass(frozen=True)
class DockingPlan:
    """Speeds and thresholds of the sequence. Values from the paper are marked; all others are assumed."""

    approach_rate: float = 0.025  # [m/s] of the boom
    insertion_rate: float = 0.006  # [m/s] largest speed inside the nozzle, with which the bolt meets the throat
    insertion_time: float = 3.0  # [s] speed is the gap to the seat divided by this, so that the tool slows down
    creep_rate: float = 0.002  # [m/s] smallest speed of the boom inside the nozzle
    boom_acceleration: float = 0.005  # [m/s^2]
    centring: float = 0.05  # [m] offset from the axis beyond which the boom waits outside the nozzle
    stop_gap: float = 0.004  # [m] along the axis to the seat at which the boom stops
    crown_rate: float = 0.0026  # [m/s]
    crown_gain: float = 2e-5  # [m/s/N] by which the crown slows near the locking force
    locking_force: float = 100.0  # [N]; paper
    locked_share: float = 0.985  # fraction of the locking force at which the crown counts as locked
    steady: int = 10  # consecutive readings that must agree
    float_time: float = 0.5  # [s] time constant with which the boom yields to load while the crown locks
    swings: int = 0  # extremes of the boom's strain about both axes to wait for before it is retracted
    retraction_rate: float = 0.0108  # [m/s]; 170 s of retraction in the paper
    near: float = 0.03  # [m] distance before touchdown from which the boom moves slowly
    touchdown_rate: float = 0.002  # [m/s]
    spring_rate: float = 0.001  # [m/s]
    spring_drawn: float = 0.995  # fraction of the safety spring's stroke that counts as extended
    insertion_force: float = 15.0  # [N] largest force on the boom before locking; more is an abort
    boom_force: float = 400.0  # [N] the same after locking
    blind_time: float = 3.0  # [s] longest time without the client in view outside the nozzle; more is an abort
    retreat_rate: float = 0.02  # [m/s] of the boom
    crown_opening_rate: float = 0.004  # [m/s]

    def __post_init__(self):
        for field in fields(self):
            value = getattr(self, field.name)
            least_allowed = value >= 0 if field.name == "swings" else value > 0
            if not (least_allowed and math.isfinite(value)):
                what = "0 or a number above" if field.name == "swings" else "a number above 0"
                raise InputError(f"plan: {field.name} = {value}: allowed is {what}")


@dataclass(frozen=True)
class Hardware:
    """Names of drives and joints, and the dimensions that the sequence needs."""

    stages: tuple[str, ...]  # drives of the boom
    shares: tuple[float, ...]  # fraction of the boom's length in each
    bends: tuple[str, ...]
    spring: str
    crown: str
    longest: float  # [m] length of the extended boom
    shortest: float  # [m] length of the retracted boom
    mated_length: float  # [m] boom length at which the ring touches the brackets
    spring_stroke: float  # [m]
    crown_stroke: float  # [m]
    crown_spreading: float  # [m]
    seat_distance: np.ndarray  # [m], (n,) mean reading of the distance sensors …
    seat_gap: np.ndarray  # [m], (n,) … and the corresponding distance to the seat


class Docking:
    """Commands boom, crown and mode of the attitude control through the sequence."""

    period = 0.05  # [s]

    def __init__(
        self, plan: DockingPlan, hardware: Hardware, aocs: Aocs, distance: DistanceSensors,
        tool: ContactSwitches, brackets: ContactSwitches,
    ):  # fmt: skip
        """`tool`: contact switches of shoulder and crown; `brackets`: one contact switch per bracket."""
        self.plan, self.hardware, self.aocs = plan, hardware, aocs
        self.distance, self.tool, self.brackets = distance, tool, brackets
        self.phase = np.zeros(1, int)
        self.reason = np.zeros(1, int)
        self.entered = np.full(len(Phase), np.nan)  # [s] when each phase began
        self.length, self.crown = np.zeros(1), np.zeros(1)  # [m] positions of the spindles
        self.rate, self.crown_rate = np.zeros(1), np.zeros(1)  # [m/s] commanded
        self.run = np.zeros(1, int)  # consecutive readings that agree
        self.swing = np.zeros(6)  # last strain, sign of its change and number of extremes; two axes each
        self._wired = False
        self._steps = {
            Phase.APPROACH: self._approach, Phase.INSERTION: self._insert, Phase.LOCKING: self._lock,
            Phase.CHECK: self._check, Phase.RETRACTION: self._retract, Phase.TOUCHDOWN: self._touch_down,
            Phase.SPRING: self._draw_spring, Phase.MATED: self._hold, Phase.ABORT: self._leave,
            Phase.RETREATED: self._hold,
        }  # fmt: skip

    def _wire(self, model: mujoco.MjModel) -> None:
        h = self.hardware
        self._stages = np.array([actuator_id(model, name) for name in h.stages])
        self._crown = actuator_id(model, h.crown)
        self._stage_act = model.actuator_actadr[self._stages]  # spindles: controls are rates, activations are positions
        self._crown_act = int(model.actuator_actadr[self._crown])
        self._stage_q = np.array([model.joint(name).qposadr[0] for name in h.stages])
        self._bends = np.array([model.joint(name).qposadr[0] for name in h.bends])
        self._spring_q, self._crown_q = model.joint(h.spring).qposadr[0], model.joint(h.crown).qposadr[0]
        self._shares = np.asarray(h.shares)
        self._wired = True

    def act(self, time: float, sensors: Any, command: Any) -> None:
        if not self._wired:
            self._wire(sensors.model)
        if np.isnan(self.entered[Phase.APPROACH]):
            self.entered[Phase.APPROACH] = time
        self.length[0], self.crown[0] = sensors.act[self._stage_act].sum(), sensors.act[self._crown_act]
        self.crown_rate[0] = 0.0
        before = Phase(self.phase[0])
        after = self._excess(sensors, before) or self._steps[before](sensors) or before
        if after != before:
            self.phase[0], self.run[0] = after, 0
            self.entered[after] = time
            self._begin(after)
        command[self._stages] = self._shares * self.rate[0]
        command[self._crown] = self.crown_rate[0]

    # ---- what the sensors say ---------------------------------------------------------------------------

    def load(self, data: Any) -> float:
        """Tension [N] at the end of the boom."""
        return -_spindle_force(data, self._stages[-1], self._stage_q[-1])

    def crown_force(self, data: Any) -> float:
        """Force [N] with which the spindle pulls the crown."""
        return -_spindle_force(data, self._crown, self._crown_q)

    def gap(self) -> float:
        """Distance [m] along the axis to the seat from the distance sensors; infinite if one of them sees no wall."""
        h = self.hardware
        return float(np.interp(self.distance.distance.mean(), h.seat_distance, h.seat_gap, right=math.inf))

    def _steady(self, now: bool) -> bool:
        """Whether a condition has been true for enough consecutive readings."""
        self.run[0] = self.run[0] + 1 if now else 0
        return self.run[0] >= self.plan.steady

    # ---- phases ------------------------------------------------------------------------------------------

    def _begin(self, phase: Phase) -> None:
        modes = {Phase.LOCKING: Mode.FREE, Phase.MATED: Mode.MATED, Phase.ABORT: Mode.RETREAT}
        if phase in modes:
            self.aocs.set_mode(modes[phase])
        if phase == Phase.CHECK:
            self.swing[:] = 0

    def _abort(self, reason: Reason) -> Phase:
        self.reason[0] = reason
        return Phase.ABORT

    def _excess(self, data: Any, phase: Phase) -> Phase | None:
        if phase in (Phase.MATED, Phase.ABORT, Phase.RETREATED):
            return None
        limit = self.plan.insertion_force if phase < Phase.LOCKING else self.plan.boom_force
        return self._abort(Reason.FORCE) if abs(self.load(data)) > limit else None

    def _move_boom(self, wanted: float) -> None:
        """Extend the boom at `wanted` [m/s], within the acceleration of its drive."""
        most = self.plan.boom_acceleration * self.period
        self.rate[0] += min(max(wanted - self.rate[0], -most), most)
        if self.length[0] <= self.hardware.shortest:
            self.rate[0] = max(self.rate[0], 0.0)

    def _approach(self, data: Any) -> Phase | None:
        aocs, plan = self.aocs, self.plan
        if aocs.blind > plan.blind_time:
            return self._abort(Reason.BLIND)
        off = float(np.hypot(*(aocs.place - aocs.target)[:2]))
        self._move_boom(plan.approach_rate if off < plan.centring else 0.0)
        if math.isfinite(self.gap()):
            return Phase.INSERTION
        return self._abort(Reason.NO_NOZZLE) if self.length[0] >= self.hardware.longest else None

    def _insert(self, data: Any) -> Phase | None:
        plan, gap = self.plan, self.gap()
        if gap <= plan.stop_gap:
            self.rate[0] = 0.0
            return Phase.LOCKING
        wanted = min(max((gap - plan.stop_gap) / plan.insertion_time, plan.creep_rate), plan.insertion_rate)
        self._move_boom(wanted if math.isfinite(gap) else plan.creep_rate)
        return self._abort(Reason.NO_NOZZLE) if self.length[0] >= self.hardware.longest else None

    def _lock(self, data: Any) -> Phase | None:
        plan, h = self.plan, self.hardware
        force = self.crown_force(data)
        rate = min(plan.crown_rate, plan.crown_gain * (plan.locking_force - force))
        self.crown_rate[0] = -max(rate, 0.0)
        stiffness = data.model.jnt_stiffness[data.model.joint(h.spring).id]
        self.rate[0] = self.load(data) / (stiffness * plan.float_time)
        if self._steady(force >= plan.locked_share * plan.locking_force and bool(self.tool.closed().all())):
            self.rate[0] = self.crown_rate[0] = 0.0
            return Phase.CHECK
        return self._abort(Reason.NO_LOCK) if -self.crown[0] >= h.crown_stroke else None

    def _check(self, data: Any) -> Phase | None:
        """Wait for steady contact and, if the plan says so, extremes of the boom's strain: the lock bears a swing."""
        if not self.tool.closed().any():
            return self._abort(Reason.LOST)
        angles = data.qpos[self._bends].reshape(2, 2).sum(axis=0)  # about x, y
        last, sign, seen = self.swing[:2], self.swing[2:4], self.swing[4:]
        change = np.sign(angles - last)
        seen += (sign != 0) & (change != 0) & (change != sign)
        sign[:] = np.where(change != 0, change, sign)
        last[:] = angles
        holds = bool(self.tool.closed().all()) and seen.min() >= self.plan.swings
        return Phase.RETRACTION if self._steady(holds) else None

    def _retract(self, data: Any) -> Phase | None:
        plan, h = self.plan, self.hardware
        if not self.tool.closed().any():
            return self._abort(Reason.LOST)
        left = float(data.qpos[self._stage_q].sum()) - h.mated_length - plan.near
        slow = math.sqrt(max(2 * plan.boom_acceleration * left, 0.0))  # speed from which it can stop in time
        self._move_boom(-min(plan.retraction_rate, max(slow, plan.touchdown_rate)))
        return Phase.TOUCHDOWN if self.brackets.closed().any() else None

    def _touch_down(self, data: Any) -> Phase | None:
        self._move_boom(-self.plan.touchdown_rate)
        return Phase.SPRING if self._steady(bool(self.brackets.closed().all())) else None

    def _draw_spring(self, data: Any) -> Phase | None:
        drawn = float(data.qpos[self._spring_q]) / self.hardware.spring_stroke
        if drawn >= self.plan.spring_drawn:
            self.rate[0] = 0.0
            return Phase.MATED
        self._move_boom(-self.plan.spring_rate)
        return None

    def _hold(self, data: Any) -> Phase | None:
        return None

    def _leave(self, data: Any) -> Phase | None:
        """Release the crown, then pull the tool out of the nozzle."""
        plan, h = self.plan, self.hardware
        self.crown_rate[0] = min(plan.crown_opening_rate, max(-self.crown[0], 0.0) / self.period)
        closed = data.qpos[self._crown_q] > -0.05 * h.crown_spreading
        self._move_boom(-plan.retreat_rate if closed else 0.0)
        return Phase.RETREATED if self.length[0] <= h.shortest else None

    # ---- state -------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        return {
            "phase": self.phase, "reason": self.reason, "entered": self.entered, "length": self.length,
            "rate": self.rate, "crown": self.crown, "crown_rate": self.crown_rate, "run": self.run, "swing": self.swing,
        }  # fmt: skip

    def reset(self, worlds: Sequence[int]) -> None:
        for array in self.state().values():
            array[:] = 0
        self.entered[:] = np.nan

    def channels(self) -> list[Channel]:
        names = tuple(phase.name.lower() for phase in Phase)

        def gap() -> np.ndarray:
            found = self.gap()
            return np.array([found if math.isfinite(found) else np.nan])

        return [
            Channel("docking/phase", "1", (), "", read=lambda: self.phase.astype(float)),
            Channel("docking/reason", "1", (), "", read=lambda: self.reason.astype(float)),
            Channel("docking/entered", "s", (len(names),), "", labels=names, read=lambda: self.entered[None]),
            Channel("docking/boom_length", "m", (), "", read=lambda: self.length.copy()),
            Channel("docking/gap", "m", (), "", read=gap),
        ]


def _spindle_force(data: Any, actuator: int, place: int) -> float:
    """Force [N] of a spindle along its joint, computed from the state alone. `place`: index of the joint in qpos."""
    model = data.model
    bias = model.actuator_biasprm[actuator]
    dof = model.jnt_dofadr[model.actuator_trnid[actuator, 0]]
    drawn = model.actuator_gainprm[actuator, 0] * data.act[model.actuator_actadr[actuator]]
    return float(drawn + bias[0] + bias[1] * data.qpos[place] + bias[2] * data.qvel[dof])


class BoomFlexure:
    """Writes bending stiffness and damping of a boom into the model, as functions of its length."""

    STEP = 1e-3  # [m] resolution of the length

    def __init__(self, stages: Sequence[str], bends: Sequence[str], lengths: np.ndarray, stiffness: np.ndarray,
                 damping: np.ndarray, period: float):  # fmt: skip
        """Tables: `lengths` [m], (n,); `stiffness` [N m/rad] and `damping` [N m s/rad], (n, bend)."""
        self.stages, self.bends, self.period = tuple(stages), tuple(bends), period
        self.lengths, self.stiffness, self.damping = lengths, stiffness, damping
        self.key = np.full(1, NEVER)  # length [STEP] whose values are in the model
        self._model: mujoco.MjModel | None = None

    def _wire(self, model: mujoco.MjModel) -> None:
        self._q = [int(model.joint(name).qposadr[0]) for name in self.stages]
        self._joints = np.array([model.joint(name).id for name in self.bends])
        self._dofs = model.jnt_dofadr[self._joints]
        self._first = model.jnt_stiffness[self._joints].copy(), model.dof_damping[self._dofs].copy()
        self._model = model

    def act(self, time: float, sensors: Any, command: Any) -> None:
        model = sensors.model
        if self._model is None:
            self._wire(model)
        qpos = sensors.qpos
        key = round(sum(qpos[q] for q in self._q) / self.STEP)
        if key == self.key[0]:
            return
        self.key[0] = key
        for k, (joint, dof) in enumerate(zip(self._joints, self._dofs, strict=True)):
            model.jnt_stiffness[joint] = np.interp(key * self.STEP, self.lengths, self.stiffness[:, k])
            model.dof_damping[dof] = np.interp(key * self.STEP, self.lengths, self.damping[:, k])

    def state(self) -> dict[str, Any]:
        return {"key": self.key}  # the stiffness itself is saved with the model

    def reset(self, worlds: Sequence[int]) -> None:
        self.key[0] = NEVER
        if self._model is not None:
            self._model.jnt_stiffness[self._joints], self._model.dof_damping[self._dofs] = self._first

    def channels(self) -> list[Channel]:
        return []
