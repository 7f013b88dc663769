"""Kernels between MuJoCo Warp's arrays and force modules, for many worlds on a device.

They compute what `kernels.py` computes for MuJoCo on the CPU, with the same conventions: `cvel` and `cdof` have the
angular part first and refer to the tree's centre of mass, quaternions are wxyz, `M` is the lower triangle in compressed
rows. MuJoCo Warp's arrays are always float32, so their types are written out (`wp.float32`, `wp.vec3f`); `real` and
`vec3` are the float type of the force modules.

No thread adds to a value that another thread writes, so sums have one order and results repeat bit for bit: a thread of
`add_forces` owns one degree of freedom of one world, and with it one row of M.
"""

from __future__ import annotations

import warp as wp

from grouser import device
from grouser.device import array, array2d, struct
from grouser.precision import mat66, quat, real, vec3, vec6

MODULE = device.module("grouser.engine.mujoco_warp")

FINE, STATUS_ALARM, DIVERGED = 0, 1, 2  # values of the alarm: go on, a module reports a status, a world is frozen
# What has stopped a world: a control, a wrench or block, a speed that is not finite or too large, a full array.
CONTROL_FAULT, WRENCH_FAULT, SPEED_FAULT, CAPACITY_FAULT, STATUS_FAULT = 1, 2, 3, 4, 5


@struct
class Tree:
    """Constant structure of the model, the same for all worlds."""

    body: array[int]  # (motion row,) MuJoCo body
    root: array[int]  # (body,) root body of its tree
    last_dof: array[int]  # (body,) last degree of freedom that moves it, -1 if fixed
    parent_dof: array[int]  # (dof,) next degree of freedom towards the root, -1 at the end
    row_start: array[int]  # (dof,) first entry of a row of M
    row_count: array[int]  # (dof,) entries of a row of M; the diagonal is the last
    column: array[int]  # (entry of M,) its column
    moves: array2d[int]  # (motion row, dof) 1 if the degree of freedom moves the body


@struct
class Worlds:
    """MuJoCo Warp's arrays (nothing is copied)."""

    position: array2d[wp.vec3f]  # [m], (world, body) xpos
    rotation: array2d[wp.quatf]  # (world, body) xquat: its components are w, x, y, z
    tree_centre: array2d[wp.vec3f]  # [m], (world, body) subtree_com
    velocity: array2d[wp.spatial_vectorf]  # (world, body) cvel: angular, linear
    dof_axis: array2d[wp.spatial_vectorf]  # (world, dof) cdof: angular, linear
    coordinate: array2d[wp.float32]  # [m or rad], (world, nq) qpos
    speed: array2d[wp.float32]  # [m/s or rad/s], (world, dof) qvel
    activation: array2d[wp.float32]  # (world, na) act
    control: array2d[wp.float32]  # (world, nu) ctrl
    warmstart: array2d[wp.float32]  # (world, dof) qacc_warmstart
    mass: array2d[wp.float32]  # (world, entry of M) M
    passive: array2d[wp.float32]  # [N or N m], (world, dof) qfrc_passive
    overflow: array[int]  # (world,) bits of the arrays that were too small


@struct
class StepStart:
    """State at the start of the step. A world that diverges is put back to it."""

    coordinate: array2d[wp.float32]  # (world, nq)
    speed: array2d[wp.float32]  # (world, dof)
    activation: array2d[wp.float32]  # (world, na)


@struct
class Health:
    """Which worlds have failed, and why."""

    diverged: array[int]  # (world,) 1: frozen until it is reset
    alarm: array[int]  # (world,) FINE, STATUS_ALARM or DIVERGED, until the host has read it
    steps: array[int]  # (world,) steps since the reset
    failures: array[int]  # (world,) times that it was reset after it had failed
    kind: array[int]  # (world,) CONTROL_FAULT, … or 0
    module: array[int]  # (world,) number of the module whose wrench was wrong
    place: array[int]  # (world,) row of the module, control, degree of freedom, or bits of `overflow`
    size: array[wp.float32]  # (world,) the value that was wrong


# ---- device functions -----------------------------------------------------------------------------------


@wp.func
def arm_from_tree_centre(w: Worlds, tree: Tree, world: int, body: int):
    """Vector [m] from the reference point of MuJoCo's spatial velocities to the body's frame origin."""
    return w.position[world, body] - w.tree_centre[world, tree.root[body]]


@wp.func
def jacobian_column(axis: wp.spatial_vectorf, arm: wp.vec3f):
    """Velocity and angular velocity of a frame origin per unit speed of one degree of freedom: linear part first."""
    angular = wp.spatial_top(axis)
    v = wp.spatial_bottom(axis) + wp.cross(angular, arm)
    return wp.spatial_vectorf(v[0], v[1], v[2], angular[0], angular[1], angular[2])


@wp.func
def in_single(f: vec6):
    return wp.spatial_vectorf(
        wp.float32(f[0]), wp.float32(f[1]), wp.float32(f[2]), wp.float32(f[3]), wp.float32(f[4]), wp.float32(f[5])
    )


@wp.func
def row_times(B: mat66, r: int, c: wp.spatial_vectorf):
    """Row r of B times c, in the modules' float type."""
    return (
        B[r, 0] * real(c[0]) + B[r, 1] * real(c[1]) + B[r, 2] * real(c[2])
        + B[r, 3] * real(c[3]) + B[r, 4] * real(c[4]) + B[r, 5] * real(c[5])
    )  # fmt: skip


@wp.func
def times(B: mat66, c: wp.spatial_vectorf):
    """B c in the modules' float type."""
    return vec6(
        row_times(B, 0, c), row_times(B, 1, c), row_times(B, 2, c),
        row_times(B, 3, c), row_times(B, 4, c), row_times(B, 5, c),
    )  # fmt: skip


@wp.func
def acceleration(w: Worlds, start: StepStart, tree: Tree, world: int, body: int, h: wp.float32):
    """Spatial acceleration J (v+ - v) / h of the body's frame origin over the last step."""
    arm = arm_from_tree_centre(w, tree, world, body)
    a = wp.spatial_vectorf()
    i = tree.last_dof[body]
    while i >= 0:
        rate = (w.speed[world, i] - start.speed[world, i]) / h
        a = a + jacobian_column(w.dof_axis[world, i], arm) * rate
        i = tree.parent_dof[i]
    return a


@wp.func
def stop_world(health: Health, world: int, kind: int, module: int, place: int, size: wp.float32):
    """Freeze a world and store the reason. The first reason stays."""
    if health.diverged[world] == 0:
        health.diverged[world] = 1
        health.alarm[world] = DIVERGED
        health.kind[world] = kind
        health.module[world] = module
        health.place[world] = place
        health.size[world] = size


# ---- the step -------------------------------------------------------------------------------------------


@wp.kernel(module=MODULE)
def gather_motion(
    tree: Tree, w: Worlds,
    position_out: array2d[vec3], rotation_out: array2d[quat],
    velocity_out: array2d[vec3], angular_velocity_out: array2d[vec3],
):  # fmt: skip
    """Copy the motion of the bodies that force modules use. One thread per world and row."""
    world, row = wp.tid()
    body = tree.body[row]
    x = w.position[world, body]
    q = w.rotation[world, body]
    omega = wp.spatial_top(w.velocity[world, body])
    v = wp.spatial_bottom(w.velocity[world, body]) + wp.cross(omega, arm_from_tree_centre(w, tree, world, body))
    position_out[world, row] = vec3(real(x[0]), real(x[1]), real(x[2]))
    rotation_out[world, row] = quat(real(q[1]), real(q[2]), real(q[3]), real(q[0]))
    velocity_out[world, row] = vec3(real(v[0]), real(v[1]), real(v[2]))
    angular_velocity_out[world, row] = vec3(real(omega[0]), real(omega[1]), real(omega[2]))


@wp.kernel(module=MODULE)
def start_step(w: Worlds, start_out: StepStart, health: Health):
    """Store the state at the start of the step, and stop worlds with a control that is not finite. Thread: world."""
    world = wp.tid()
    if health.diverged[world] == 0:
        health.steps[world] = health.steps[world] + 1
    for i in range(w.coordinate.shape[1]):
        start_out.coordinate[world, i] = w.coordinate[world, i]
    for i in range(w.speed.shape[1]):
        start_out.speed[world, i] = w.speed[world, i]
    for i in range(w.activation.shape[1]):
        start_out.activation[world, i] = w.activation[world, i]
    for i in range(w.control.shape[1]):
        if not wp.isfinite(w.control[world, i]):
            stop_world(health, world, CONTROL_FAULT, 0, i, w.control[world, i])


@wp.kernel(module=MODULE)
def watch_outputs(
    module: int, wrench: array2d[vec6], block: array2d[mat66], status: array2d[int], explained: array2d[int],
    fatal: array[int], health: Health, seen_out: array2d[int],
):  # fmt: skip
    """Stop worlds in which a wrench or block of this module is not finite or a status is fatal; keep other codes.

    `fatal`, (code,): 1 for a status with which a world cannot go on. Thread: world.

    It runs before `add_forces`, so that such a wrench reaches neither M nor the solver.
    """
    world = wp.tid()
    for k in range(wrench.shape[1]):
        finite = wp.isfinite(wrench[world, k])
        for r in range(6):
            for c in range(6):
                finite = finite and wp.isfinite(block[world, k][r, c])
        if not finite:
            stop_world(health, world, WRENCH_FAULT, module, k, wp.float32(0.0))
        code = status[world, k]
        if code < fatal.shape[0] and fatal[wp.clamp(code, 0, fatal.shape[0] - 1)] != 0:
            stop_world(health, world, STATUS_FAULT, module, k, wp.float32(code))
        if code != 0 and code != explained[world, k] and health.diverged[world] == 0:
            seen_out[world, k] = code
            health.alarm[world] = STATUS_ALARM


@wp.kernel(module=MODULE)
def add_forces(
    tree: Tree, w: Worlds, rows: array[int], implicit: int, wrench: array2d[vec6], block: array2d[mat66],
    health: Health,
):  # fmt: skip
    """Add the wrenches of one module to the passive forces and J^T B J to the mass matrix.

    One thread per world and degree of freedom i. It adds to element i of the forces and to row i of M. A frozen world
    gets nothing.
    """
    world, i = wp.tid()
    if health.diverged[world] != 0:
        return
    for k in range(rows.shape[0]):
        row = rows[k]
        if tree.moves[row, i] == 0:
            continue
        arm = arm_from_tree_centre(w, tree, world, tree.body[row])
        column = jacobian_column(w.dof_axis[world, i], arm)
        w.passive[world, i] = w.passive[world, i] + wp.dot(in_single(wrench[world, k]), column)
        if implicit == 1:
            b = in_single(times(block[world, k], column))
            j = i
            entry = tree.row_start[i] + tree.row_count[i] - 1
            while j >= 0:
                # The ancestors of i appear in the columns of its row in the same order, with other columns in between.
                while tree.column[entry] != j:
                    entry -= 1
                w.mass[world, entry] = w.mass[world, entry] + wp.dot(b, jacobian_column(w.dof_axis[world, j], arm))
                j = tree.parent_dof[j]


@wp.kernel(module=MODULE)
def hold_diverged(w: Worlds, start: StepStart, limit: wp.float32, capacity_bits: int, health: Health):
    """Stop worlds with a speed that is not finite or above `limit`, or with a full array. Thread: world.

    A stopped world stands still at the start of the step that stopped it, so its state stays finite.
    """
    world = wp.tid()
    full = w.overflow[world] & capacity_bits
    if full != 0:
        stop_world(health, world, CAPACITY_FAULT, 0, full, wp.float32(0.0))
    for i in range(w.speed.shape[1]):
        if not (wp.abs(w.speed[world, i]) < limit):  # also true of NaN
            stop_world(health, world, SPEED_FAULT, 0, i, w.speed[world, i])
    if health.diverged[world] != 0:
        for i in range(w.coordinate.shape[1]):
            w.coordinate[world, i] = start.coordinate[world, i]
        for i in range(w.activation.shape[1]):
            w.activation[world, i] = start.activation[world, i]
        for i in range(w.speed.shape[1]):
            w.speed[world, i] = wp.float32(0.0)
            w.warmstart[world, i] = wp.float32(0.0)


@wp.kernel(module=MODULE)
def effective_wrench(
    tree: Tree, w: Worlds, start: StepStart, rows: array[int], implicit: int, h: wp.float32,
    wrench: array2d[vec6], block: array2d[mat66], health: Health, effective_out: array2d[vec6],
):  # fmt: skip
    """Compute the wrench that a body received over the step, f - B a with a = J (v+ - v) / h. Thread: world, row.

    f is evaluated at the predicted pose, so it already contains the term -h K v.
    """
    world, k = wp.tid()
    f = wrench[world, k]
    if implicit == 1:
        f = f - times(block[world, k], acceleration(w, start, tree, world, tree.body[rows[k]], h))
    if health.diverged[world] != 0:
        f = vec6()
    effective_out[world, k] = f


# ---- sensors of acceleration and force ------------------------------------------------------------------


@wp.kernel(module=MODULE)
def show_last_step(
    w: Worlds, start: StepStart, h: wp.float32, speed_out: array2d[wp.float32], qacc_out: array2d[wp.float32]
):
    """Set qvel to that at the start of the step and qacc to (v+ - v) / h. Keeps v+. Thread: world, dof."""
    world, i = wp.tid()
    speed_out[world, i] = w.speed[world, i]
    qacc_out[world, i] = (w.speed[world, i] - start.speed[world, i]) / h
    w.speed[world, i] = start.speed[world, i]


@wp.kernel(module=MODULE)
def apply_effective(
    tree: Tree, w: Worlds, rows: array[int], effective: array2d[vec6], mass_centre: array2d[wp.vec3f],
    applied: array2d[wp.spatial_vectorf],
):  # fmt: skip
    """Add the effective wrenches of one module to xfrc_applied, which acts at the bodies' centres of mass.

    One thread per world, because a body may have several rows.
    """
    world = wp.tid()
    for k in range(rows.shape[0]):
        body = tree.body[rows[k]]
        f = in_single(effective[world, k])
        force = wp.spatial_top(f)
        arm = w.position[world, body] - mass_centre[world, body]
        moved = wp.cross(arm, force)
        there = wp.spatial_vectorf(force[0], force[1], force[2], f[3] + moved[0], f[4] + moved[1], f[5] + moved[2])
        applied[world, body] = applied[world, body] + there


# ---- reset ----------------------------------------------------------------------------------------------


@wp.kernel(module=MODULE)
def choose(mask: array[int], chosen_out: array[wp.bool]):
    """Choose the worlds whose mask is not zero. Thread: world."""
    world = wp.tid()
    chosen_out[world] = mask[world] != 0


@wp.kernel(module=MODULE)
def put_start(
    chosen: array[wp.bool], coordinate: array2d[wp.float32], speed: array2d[wp.float32],
    activation: array2d[wp.float32], control: array2d[wp.float32], w: Worlds, health: Health,
):  # fmt: skip
    """Put chosen worlds to their start state and forget their faults. Thread: world."""
    world = wp.tid()
    if not chosen[world]:
        return
    for i in range(coordinate.shape[1]):
        w.coordinate[world, i] = coordinate[world, i]
    for i in range(speed.shape[1]):
        w.speed[world, i] = speed[world, i]
    for i in range(activation.shape[1]):
        w.activation[world, i] = activation[world, i]
    for i in range(control.shape[1]):
        w.control[world, i] = control[world, i]
    if health.diverged[world] != 0:
        health.failures[world] = health.failures[world] + 1
    health.diverged[world] = 0
    health.alarm[world] = FINE
    health.steps[world] = 0
    health.kind[world] = 0


@wp.kernel(module=MODULE)
def clear_outputs(
    chosen: array[wp.bool], wrench_out: array2d[vec6], block_out: array2d[mat66], effective_out: array2d[vec6],
    status_out: array2d[int], seen_out: array2d[int],
):  # fmt: skip
    """Set all outputs of a module to zero in chosen worlds. Thread: world, row."""
    world, k = wp.tid()
    if chosen[world]:
        wrench_out[world, k] = vec6()
        block_out[world, k] = mat66()
        effective_out[world, k] = vec6()
        status_out[world, k] = 0
        seen_out[world, k] = 0
