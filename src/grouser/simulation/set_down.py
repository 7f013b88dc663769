"""Set a robot down on soil before time 0, so that it begins at rest and as deep as its weight alone presses it.

A robot that is let fall sinks deeper than its weight needs: soil keeps the print of the largest force. So the robot is
lowered so slowly that no force exceeds its final value. All degrees of freedom are damped in proportion to their
inertia, with the rate c [1/s] of

    c = DAMPING sqrt(g / d),    d the present depth of the deepest body, or its height above the ground.

A body of mass m on soil whose force grows with depth as F ~ z^n is a spring of stiffness n F / z, and F is at most m g:
its frequency sqrt(n g / d) is at most c / 2 for every n up to (DAMPING / 2)^2, so it approaches the depth at which the
soil carries it from above. Legs and suspensions that give way add to the travel and make it slower still. It rests when
the damping carries less than REST of its weight and no soil body has more than NEAR to go. A robot that stands on one
leg topples so slowly meanwhile that it still starts upright.

Joints that no control and no spring holds are locked meanwhile: driven wheels, joints with torque motors. They start
at the pose of the model, and the robot's controller takes over at time 0.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import mujoco
import numpy as np

from grouser.engine.parameters import parameters, set_parameters
from grouser.errors import InputError, RunStopped
from grouser.simulation import step as stepping
from grouser.simulation.module_notes import listed
from grouser.simulation.placement import points_of

if TYPE_CHECKING:
    from grouser.simulation.simulation import Simulation

DAMPING = 3.0  # factor on sqrt(g / d): above critical for pressure exponents up to 2.2, of which no soil is known
LEAST_DEPTH = 1e-4  # [m] smallest depth in that rule, the gap above which a robot is placed
REST = 5e-3  # [weight] force of the damping on the sinking robot at which it counts as resting
NEAR = 1e-4  # [m] that a soil body may still go at its present speed, within the time c d / g of its approach
HOVER = 1.0  # [s] that are always given; after it, a robot that hangs still counts as held above the ground
GIVING = np.radians(2)  # [rad] motion of a joint from which it counts as giving way, if the robot falls (assumed)
INTERVAL = 0.01  # [s] between two looks at depth and speed
LONGEST = 20.0  # times c d / g, the time of the approach, after which a robot that still moves cannot rest (assumed)
SUNK = 2.0  # sinkage over the largest extent of a body from which on soil does not carry it (assumed)
FALLEN = np.radians(20)  # [rad] turn of the base or of a joint from which the robot counts as fallen (assumed)
LOCK = 1e6  # armature of a locked joint over the largest inertia of the robot; at 1e8 forces of closed chains are lost
HINGE, SLIDE = mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE


@dataclass(frozen=True)
class Outcome:
    """How one attempt to set a robot down ended."""

    rests: bool
    reason: str = ""  # why it does not rest
    gave_way: tuple[str, ...] = ()  # joints that moved by more than FALLEN


def can_set_down(wanted: bool | None, placed: bool, on_device: bool, terrains: int, own_soils: bool) -> bool:
    """Whether a robot is set down. `wanted` None: where it can be. `placed`: it is put on the ground.

    Worlds are set down together, until all rest: with soils or terrains of their own they would depend on each other.
    """
    if wanted and not placed:
        raise InputError("settle: True is not allowed with place=False, which keeps the pose given")
    able = placed and not on_device and terrains <= 1 and not own_soils
    if wanted and not able:
        raise InputError("settle: True is not allowed with worlds on a device, several terrains or soils by world")
    return able if wanted is None else wanted


def set_down(sim: Simulation) -> None:
    """Set the robot down. `sim` then is at time 0, at rest; `reset` goes back to there. It notes what it could not do.

    If joints give way, a second attempt locks them all. If the robot does not rest even then, it stays where it was.
    """
    gravity = float(np.linalg.norm(sim.model.opt.gravity))
    if gravity == 0 or sim.model.nv == 0:
        return
    if steep := _too_steep(sim):
        sim.notes.append(_not_set_down(steep))
        return
    started, notes = sim.checkpoint(), list(sim.notes)
    outcome = _attempt(sim, _unheld(sim), gravity)
    if outcome.gave_way:
        sim.restore(started)
        gave_way, outcome = outcome.gave_way, _attempt(sim, _inner(sim.model), gravity)
        if outcome.rests:
            notes.append(f"locked while the robot was set down, as nothing in the model holds it: {listed(gave_way)}")
    if not outcome.rests:
        sim.restore(started)
        notes.append(_not_set_down(outcome.reason))
    sim.notes[:] = notes
    if outcome.rests:
        _begin(sim, started)
    sim.forget_module_notes()


def _not_set_down(reason: str) -> str:
    return f"not set down: {reason}; the robot starts in the air, as with settle=False"


def _too_steep(sim: Simulation) -> str:
    """Why no robot can rest here, if the ground below the soil bodies, taken together, slides by itself; else empty."""
    assert sim.terrain is not None
    assert sim.ground is not None
    places = np.concatenate([[d.body(name).xpos[:2] for name in sim.soil.bodies] for d in sim.engine.data])
    rise = float(np.hypot(*np.mean(sim.terrain.gradient(places[:, 0], places[:, 1]), axis=1)))
    stands = max(soil.slope_limit for soil in sim.ground.soils)
    if rise <= stands:
        return ""
    slope, repose = np.degrees(np.arctan([rise, stands]))
    return f"the ground has a slope of {slope:.3g}°, and soil slides above {repose:.3g}°"


def _attempt(sim: Simulation, locked: np.ndarray, gravity: float) -> Outcome:
    """Lower the robot with the degrees of freedom `locked`, (dof,) bool, until it rests, falls or takes too long."""
    m, saved, flags = sim.model, parameters(sim.model), sim.model.opt.disableflags
    controllers, sim.controllers = sim.controllers, []
    due, sim.due = sim.due, []
    inertia = _inertia(m, sim.data)
    heavy = LOCK * float(inertia.max())
    m.dof_armature[locked] += heavy
    m.dof_M0[locked] += heavy  # the mass matrix of bodies without children
    inertia[locked] = heavy
    m.opt.disableflags &= ~int(mujoco.mjtDisableBit.mjDSBL_DAMPER)
    own, first = m.dof_damping.copy(), [(d.qpos.copy(), d.xmat.copy()) for d in sim.engine.data]
    free = (m.jnt_type == HINGE) & (_inner(m) & ~locked & ~_beyond_limit(m, sim.data))[m.jnt_dofadr]
    for d in sim.engine.data:
        d.qvel[:] = 0.0
    sim.engine.kinematics()
    steps = max(1, round(INTERVAL / sim.step_size))
    sizes = np.array([2 * surface.reach for surface in sim.soil.surfaces.values()])  # [m]
    try:
        while True:
            sinkage = sim.observe()["soil/sinkage"].copy()
            depth = float(sinkage.max())
            landed = depth > LEAST_DEPTH
            depth = depth if landed else max(_height(sim), LEAST_DEPTH)
            rate = DAMPING * np.sqrt(gravity / depth)
            m.dof_damping[:] = own + rate * inertia
            done = 0
            while done < steps:
                done += stepping.advance(sim, steps - done)
            if (fallen := _fallen(sim, first, free)) is not None:
                return fallen
            sunk = sinkage.max(axis=0) / sizes
            if sunk.max() > SUNK:  # the time below grows as it sinks, so it would never end
                return Outcome(False, f"soil does not carry {sim.soil.bodies[int(sunk.argmax())]!r}")
            left = np.abs(sim.observe()["soil/sinkage"] - sinkage) / INTERVAL * rate * depth / gravity
            if (landed or sim.time > HOVER) and rate * _sinking(sim) < REST * gravity and left.max() < NEAR:
                return Outcome(rests=True)
            if sim.time > HOVER + LONGEST * rate * depth / gravity:
                body = sim.soil.bodies[int(left.max(axis=0).argmax())]
                return Outcome(False, f"{body!r} still moves after {sim.time:.2g} s", _moved(sim, first, free, GIVING))
    except RunStopped as stop:
        return Outcome(rests=False, reason=str(stop))
    finally:
        m.opt.disableflags = flags
        set_parameters(m, saved)
        sim.controllers, sim.due = controllers, due


def _begin(sim: Simulation, started: dict[str, Any]) -> None:
    """Make the present pose the start: time 0, velocities and controls of the model's start, no work done yet."""
    for world, d in enumerate(sim.engine.data):
        reached = d.qpos.copy(), d.act.copy()
        sim.engine.restore(world, started["engine"][world])
        d.qpos[:], d.act[:] = reached
    sim.soil.reset_energy()
    sim.start_here()


# ---- which joints are locked ------------------------------------------------------------------------------


def _unheld(sim: Simulation) -> np.ndarray:
    """Degrees of freedom, (dof,) bool, to lock: motors without a spring, wheels, and bodies that touch nothing."""
    m, d, inner = sim.model, sim.data, _inner(sim.model)
    out = np.zeros(m.nv, bool)
    for a in range(m.nu):
        row = slice(d.moment_rowadr[a], d.moment_rowadr[a] + d.moment_rownnz[a])
        moves = d.moment_colind[row][np.abs(d.actuator_moment[row]) > 0]
        holds = m.actuator_biastype[a] == mujoco.mjtBias.mjBIAS_AFFINE and m.actuator_biasprm[a, 1] < 0
        out[moves] |= not holds
    for a in range(m.nu):  # a joint with both a motor and a position servo is held
        row = slice(d.moment_rowadr[a], d.moment_rowadr[a] + d.moment_rownnz[a])
        if m.actuator_biastype[a] == mujoco.mjtBias.mjBIAS_AFFINE and m.actuator_biasprm[a, 1] < 0:
            out[d.moment_colind[row]] = False
    rolling = [m.body(name).id for name, surface in sim.soil.surfaces.items() if surface.rolls]
    out |= np.isin(m.dof_bodyid, rolling)
    out &= inner & ~_beyond_limit(m, d)
    return out | _floating(m, d, sim.soil.bodies)


def _beyond_limit(m: mujoco.MjModel, d: mujoco.MjData) -> np.ndarray:
    """Degrees of freedom, (dof,) bool, of hinges and slides that start outside their range: MuJoCo pushes them back."""
    single = np.isin(m.jnt_type, (HINGE, SLIDE)) & (m.jnt_limited != 0)
    at = np.where(single, d.qpos[m.jnt_qposadr], 0.0)
    return (single & ((at < m.jnt_range[:, 0]) | (at > m.jnt_range[:, 1])))[m.dof_jntid]


def _inner(m: mujoco.MjModel) -> np.ndarray:
    """Degrees of freedom, (dof,) bool, of joints inside a robot: not those between its root body and the world."""
    return m.body_parentid[m.dof_bodyid] != 0


def _floating(m: mujoco.MjModel, d: mujoco.MjData, soil_bodies: Iterable[str]) -> np.ndarray:
    """Degrees of freedom, (dof,) bool, of kinematic trees without a soil body that touch nothing: they stay there."""
    roots = m.body_rootid[m.dof_bodyid]
    on_soil = [m.body_rootid[m.body(name).id] for name in soil_bodies]
    touching = m.body_rootid[m.geom_bodyid[d.contact.geom.ravel()]]
    return ~np.isin(roots, on_soil) & ~np.isin(roots, touching)


# ---- what is looked at --------------------------------------------------------------------------------------


def _inertia(m: mujoco.MjModel, d: mujoco.MjData) -> np.ndarray:
    """Diagonal of the mass matrix [kg or kg m^2], (dof,)."""
    full = np.zeros((m.nv, m.nv))
    mujoco.mj_fullM(m, d, full)
    return np.diag(full).copy()


def _height(sim: Simulation) -> float:
    """Height [m] of the lowest soil body above the undisturbed ground, in the world where it is largest."""
    terrain = sim.terrain
    assert terrain is not None
    heights = []
    for d in sim.engine.data:
        points = np.vstack(list(points_of(d, sim.soil.surfaces).values()))
        heights.append(float((points[:, 2] - terrain.height(points[:, 0], points[:, 1])).min()))
    return max(heights)


def _sinking(sim: Simulation) -> float:
    """Vertical speed [m/s] of the centre of mass of the trees with a soil body, the largest of all worlds."""
    m, speeds = sim.model, []
    roots = np.unique([m.body_rootid[m.body(name).id] for name in sim.soil.bodies])
    for d in sim.engine.data:
        mujoco.mj_subtreeVel(m, d)
        speeds.append(np.abs(d.subtree_linvel[roots, 2]).max())
    return max(speeds)


def _moved(
    sim: Simulation, first: list[tuple[np.ndarray, np.ndarray]], free: np.ndarray, angle: float
) -> tuple[str, ...]:
    """Names of the hinges among `free`, (joint,) bool, that turned by more than `angle` [rad] since `first`."""
    m = sim.model
    pairs = zip(sim.engine.data, first, strict=True)
    turned = np.max([np.abs(d.qpos - qpos)[m.jnt_qposadr] for d, (qpos, _) in pairs], axis=0)
    return tuple(m.joint(int(j)).name or f"joint {j}" for j in np.flatnonzero(free & (turned > angle)))


def _fallen(sim: Simulation, first: list[tuple[np.ndarray, np.ndarray]], free: np.ndarray) -> Outcome | None:
    """Compare with the poses (qpos, xmat) at the start: None while the robot stands."""
    m = sim.model
    gave_way = _moved(sim, first, free, GIVING)
    if _moved(sim, first, free, FALLEN):
        return Outcome(False, f"{listed(gave_way)} gave way", gave_way)
    roots = np.unique([m.body_rootid[m.body(name).id] for name in sim.soil.bodies])
    for d, (_, xmat) in zip(sim.engine.data, first, strict=True):
        lean = (d.xmat[roots, 6:] * xmat[roots, 6:]).sum(axis=1)  # cosine between its vertical then and now
        if (lean < np.cos(FALLEN)).any():
            return Outcome(False, f"{m.body(int(roots[lean.argmin()])).name!r} falls over", gave_way)
    return None
