"""Notes on who carries a robot: soil bodies that carry nothing, and other bodies that load the hard floor."""

from __future__ import annotations

import math
from collections.abc import Mapping
from copy import copy
from typing import TYPE_CHECKING, Any

import mujoco
import numpy as np

from grouser.simulation.module_notes import listed
from grouser.simulation.placement import points_of

if TYPE_CHECKING:
    from grouser.simulation.simulation import Simulation

PERIOD = 0.05  # [s] between two samples
TOLD = 3  # bodies on the hard floor that get a note of their own, those with the largest loads
NOTED_LOAD = 1e-3  # [weight] smallest load on the hard floor that is noted
CLEAR = 0.01  # [m] clearance at the start from which a body counts as not standing on the ground
# Attributes changed by samples, the state of a checkpoint.
SAMPLED = ("floor_load", "peak", "_sum", "_first", "_samples", "carried", "_clear", "_due", "_sampled_at")
FLOORS = (mujoco.mjtGeom.mjGEOM_PLANE, mujoco.mjtGeom.mjGEOM_HFIELD)


class Loads:
    """Samples the loads every PERIOD and keeps the notes of a simulation up to date."""

    def __init__(self, sim: Simulation):
        m, soil = sim.model, sim.soil
        self._sim, self._bodies = sim, soil.bodies
        self._slot = next(slot for slot in sim.engine.slots if slot.module is soil)
        self._rows = np.array([m.body(name).id for name in self._bodies])
        solid = (m.geom_contype | m.geom_conaffinity) != 0
        still = m.body_weldid[m.geom_bodyid] == 0
        self._floor = np.isin(m.geom_type, FLOORS) & still & solid
        movers = np.unique(m.geom_bodyid[solid & ~still])
        self._others = (
            np.array([b for b in movers if b not in self._rows], int) if self._floor.any() else np.zeros(0, int)
        )
        self.others = tuple(m.body(b).name for b in self._others)  # bodies that may stand on the hard floor
        roots = np.unique(m.body_rootid[self._rows])
        self.weight = float(m.body_subtreemass[roots].sum() * np.linalg.norm(m.opt.gravity))  # [N]
        self._scratch = mujoco.MjData(m) if len(self._others) else None
        self.noted: list[str] = []  # lines of these loads in the notes of the simulation
        self.reset()

    def reset(self) -> None:
        """Clear all samples, then sample the start."""
        count, sim = len(self._others), self._sim
        self.floor_load = np.zeros((sim.worlds, count))  # [N] upwards, at the last sample
        self.peak, self._sum, self._first = np.zeros(count), np.zeros(count), np.full(count, np.nan)
        self._samples = np.zeros(count, int)  # samples since the body first stood there
        self.carried = np.zeros(len(self._bodies), bool)
        self._clear = self._clearance()
        self._due, self._sampled_at = 0.0, -1.0
        self.sample()

    def state(self) -> dict[str, Any]:
        """Copies of all samples: restoring them continues the notes of a run."""
        return {name: copy(getattr(self, name)) for name in SAMPLED}

    def restore(self, saved: Mapping[str, Any]) -> None:
        for name, value in saved.items():
            setattr(self, name, copy(value))
        self._update_notes(self._sampled_at)

    def _clearance(self) -> np.ndarray:
        """Height [m] of the lowest point of each soil body above the ground."""
        terrain, points = self._sim.terrain, points_of(self._sim.data, self._sim.soil.surfaces)
        if terrain is None:
            return np.zeros(len(points))
        return np.array([float((p[:, 2] - terrain.height(p[:, 0], p[:, 1])).min()) for p in points.values()])

    def steps_until_sample(self) -> int:
        """Number of steps until the next sample, at least 1."""
        return max(1, math.ceil((self._due - self._sim.time) / self._sim.step_size - 1e-9))

    def sample(self, at_once: bool = False) -> None:
        """Take a sample if one is due, or `at_once`. There is at most one sample for each time."""
        time = self._sim.time
        if time == self._sampled_at or (time < self._due - 1e-9 and not at_once):
            return
        self._sampled_at, self._due = time, time + PERIOD
        self.carried |= (self._slot.out.effective.numpy()[..., 2] > 0).any(axis=0) | self._sim.soil.has_pressed().any(
            axis=0
        )
        if len(self._others):
            self._sample_floor(time)
        self._update_notes(time)

    def _sample_floor(self, time: float) -> None:
        for world, d in enumerate(self._sim.engine.data):
            touching = d.ncon > 0 and self._floor[d.contact.geom].any()
            self.floor_load[world] = self._floor_load(world, d) if touching else 0.0
        most = self.floor_load.max(axis=0)
        self._first[np.isnan(self._first) & (most > NOTED_LOAD * self.weight)] = time
        known = ~np.isnan(self._first)
        self.peak = np.maximum(self.peak, most)
        self._sum[known] += most[known]
        self._samples[known] += 1

    def _floor_load(self, world: int, d: mujoco.MjData) -> np.ndarray:
        """Upward force [N] of the floor on each body that is not on soil.

        MuJoCo's contact forces belong to the contacts of the last step, which are gone. They are computed again for
        the present contacts, with the last forces of the soil.
        """
        m, s = self._sim.model, self._scratch
        assert s is not None
        kind = mujoco.mjtState.mjSTATE_INTEGRATION
        state = np.empty(mujoco.mj_stateSize(m, kind))
        mujoco.mj_getState(m, d, state, kind)
        mujoco.mj_setState(m, s, state, kind)
        got = self._slot.out.effective.numpy()[world].astype(float)
        arm = d.xpos[self._rows] - d.xipos[self._rows]
        s.xfrc_applied[self._rows, :3] += got[:, :3]
        s.xfrc_applied[self._rows, 3:] += got[:, 3:] + np.cross(arm, got[:, :3])
        mujoco.mj_forward(m, s)
        up, force = np.zeros(m.nbody), np.zeros(6)
        for k in np.flatnonzero(self._floor[s.contact.geom].any(axis=1)):
            mujoco.mj_contactForce(m, s, int(k), force)
            vertical = float(s.contact.frame[k].reshape(3, 3)[:, 2] @ force[:3])  # on the second geom
            first, second = m.geom_bodyid[s.contact.geom[k]]
            up[second] += vertical
            up[first] -= vertical
        return up[self._others]

    # ---- words ------------------------------------------------------------------------------------------

    def _update_notes(self, time: float) -> None:
        """Replace the last lines of notes by the present ones."""
        lines = self.lines(time)
        if lines == self.noted:
            return
        notes = self._sim.notes
        for line in self.noted:
            if line in notes:
                notes.remove(line)
        notes.extend(lines)
        self.noted = lines

    def lines(self, time: float) -> list[str]:
        """Lines of notes at a time [s]."""
        out, idle = [], ~self.carried
        if time == 0:
            idle &= self._clear > CLEAR
        if idle.any():
            names = [
                name + (f" ({1e3 * gap:.3g} mm above the ground at the start)" if gap > CLEAR else "")
                for name, gap, none in zip(self._bodies, self._clear, idle, strict=True)
                if none
            ]
            out.append(f"soil bodies that carried no load up to t = {time:.3g} s: {', '.join(names)}")
        standing = np.flatnonzero(~np.isnan(self._first))
        standing = standing[np.argsort(-self.peak[standing], kind="stable")]
        for k in standing[:TOLD]:
            share = f", {100 * self.peak[k] / self.weight:.3g} % of the weight" if self.weight > 0 else ""
            out.append(
                f"{self.others[k]!r} touches the hard floor, not soil, first at t = {self._first[k]:.3g} s: "
                f"{self.peak[k]:.3g} N at most{share}, {self._sum[k] / self._samples[k]:.3g} N on average since; add "
                "it to `bodies` if it should sink"
            )
        if len(standing) > TOLD:
            rest = standing[TOLD:]
            out.append(
                f"so do {listed([self.others[k] for k in rest])}, first at t = {self._first[rest].min():.3g} s: "
                f"{self.peak[rest].max():.3g} N at most on each"
            )
        return out
