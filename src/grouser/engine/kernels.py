"""Kernels that convert between MuJoCo's conventions and Grouser's: motion in, wrenches and implicit blocks out.

MuJoCo's conventions: `cvel` and `cdof` have the angular part first and refer to the tree's centre of mass, forces are
generalised, quaternions are wxyz, `M` is the lower triangle in compressed rows. No other code needs to know them.

MuJoCo's arrays are always float64, so their types are written out (`wp.float64`, `wp.vec3d`); `real` and `vec3` are the
float type of the force modules. Spatial vectors in float64 are `wp.spatial_vectord`, linear part first.
"""

from __future__ import annotations

import warp as wp

from grouser import device
from grouser.device import array, array2d, struct
from grouser.pose import Pose
from grouser.precision import mat66, quat, real, vec3, vec6

MODULE = device.module("grouser.engine")
FINE, STATUS_ALARM, DIVERGED = 0, 1, 2  # values of the alarm: go on, a module reports a status, the step failed


@struct
class SpatialVelocity:
    """Spatial velocity in MuJoCo's order: angular before linear."""

    angular: wp.vec3d  # [rad/s], or a rotation axis
    linear: wp.vec3d  # [m/s] at the tree's centre of mass


@struct
class Tree:
    """Constant structure of the model, the same for all worlds. Written once by the engine."""

    body: array[int]  # (motion row,) MuJoCo body
    root: array[int]  # (body,) root body of its tree
    last_dof: array[int]  # (body,) last degree of freedom that moves it, -1 if fixed
    parent_dof: array[int]  # (dof,) next degree of freedom towards the root, -1 at the end
    row_start: array[int]  # (dof,) first entry of a row of M
    row_count: array[int]  # (dof,) entries of a row of M; the diagonal is the last
    column: array[int]  # (entry of M,) its column


@struct
class World:
    """Views of one world's MjData (nothing is copied), and workspace of the kernels."""

    position: array[wp.vec3d]  # [m], (body,) xpos
    rotation: array[wp.vec4d]  # (body,) xquat, wxyz
    tree_centre: array[wp.vec3d]  # [m], (body,) subtree_com: centre of mass of the subtree
    velocity: array[SpatialVelocity]  # (body,) cvel
    dof_axis: array[SpatialVelocity]  # (dof,) cdof: velocity per unit speed of a degree of freedom
    speed: array[wp.float64]  # [m/s or rad/s], (dof,) qvel
    mass: array[wp.float64]  # (entry of M,) M; `add_forces` adds the implicit blocks
    passive: array[wp.float64]  # [N or N m], (dof,) qfrc_passive, reset by mj_step1; `add_forces` adds wrenches
    speed_before: array[wp.float64]  # [m/s or rad/s], (dof,) at the start of the step; written by `start_step`
    jacobian: array[wp.spatial_vectord]  # (dof,) columns of the Jacobian of one body; workspace of `add_forces`


@wp.func
def arm_from_tree_centre(w: World, tree: Tree, body: int):
    """Vector [m] from the reference point of MuJoCo's spatial velocities to the body's frame origin."""
    return w.position[body] - w.tree_centre[tree.root[body]]


@wp.func
def origin_velocity(w: World, tree: Tree, body: int):
    """Velocity [m/s] of the body's frame origin."""
    v = w.velocity[body]
    return v.linear + wp.cross(v.angular, arm_from_tree_centre(w, tree, body))


@wp.func
def jacobian_column(w: World, tree: Tree, body: int, dof: int):
    """Velocity and angular velocity of the body's frame origin per unit speed of one degree of freedom."""
    axis = w.dof_axis[dof]
    v = axis.linear + wp.cross(axis.angular, arm_from_tree_centre(w, tree, body))
    return wp.spatial_vectord(v[0], v[1], v[2], axis.angular[0], axis.angular[1], axis.angular[2])


@wp.func
def spatial_velocity(w: World, tree: Tree, body: int):
    """Velocity [m/s] and angular velocity [rad/s] of the body's frame origin, from the speeds of its joints."""
    v = wp.spatial_vectord()
    i = tree.last_dof[body]
    while i >= 0:
        v = v + jacobian_column(w, tree, body, i) * w.speed[i]
        i = tree.parent_dof[i]
    return v


@wp.func
def row_times(B: mat66, r: int, c: wp.spatial_vectord):
    """Row r of B times c, in float64."""
    return (
        wp.float64(B[r, 0]) * c[0] + wp.float64(B[r, 1]) * c[1] + wp.float64(B[r, 2]) * c[2]
        + wp.float64(B[r, 3]) * c[3] + wp.float64(B[r, 4]) * c[4] + wp.float64(B[r, 5]) * c[5]
    )  # fmt: skip


@wp.func
def times(B: mat66, c: wp.spatial_vectord):
    """B c in float64. MuJoCo's mass matrix is float64, and float32 products would make it unsymmetric."""
    return wp.spatial_vectord(
        row_times(B, 0, c), row_times(B, 1, c), row_times(B, 2, c),
        row_times(B, 3, c), row_times(B, 4, c), row_times(B, 5, c),
    )  # fmt: skip


@wp.func
def in_double(f: vec6):
    return wp.spatial_vectord(
        wp.float64(f[0]), wp.float64(f[1]), wp.float64(f[2]), wp.float64(f[3]), wp.float64(f[4]), wp.float64(f[5])
    )


@wp.func
def add_wrench(w: World, tree: Tree, body: int, f: wp.spatial_vectord):
    """Add J^T f to the passive forces. Stores the columns of J for `add_block`."""
    i = tree.last_dof[body]
    while i >= 0:
        column = jacobian_column(w, tree, body, i)
        w.jacobian[i] = column
        w.passive[i] = w.passive[i] + wp.dot(f, column)
        i = tree.parent_dof[i]


@wp.func
def add_block(w: World, tree: Tree, body: int, B: mat66):
    """Add J^T B J to the mass matrix, with the columns of J that `add_wrench` has stored."""
    i = tree.last_dof[body]
    while i >= 0:
        b = times(B, w.jacobian[i])
        j = i
        entry = tree.row_start[i] + tree.row_count[i] - 1
        while j >= 0:
            # The ancestors of i appear in the columns of its row in the same order, with other columns in between.
            while tree.column[entry] != j:
                entry -= 1
            w.mass[entry] = w.mass[entry] + wp.dot(b, w.jacobian[j])
            j = tree.parent_dof[j]
        i = tree.parent_dof[i]


@wp.func
def acceleration(w: World, tree: Tree, body: int, h: wp.float64):
    """Spatial acceleration J (v+ - v) / h of the body's frame origin over the last step."""
    a = wp.spatial_vectord()
    i = tree.last_dof[body]
    while i >= 0:
        a = a + jacobian_column(w, tree, body, i) * ((w.speed[i] - w.speed_before[i]) / h)
        i = tree.parent_dof[i]
    return a


@wp.kernel(module=MODULE)
def gather_motion(
    tree: Tree, w: World, world: int,
    position_out: array2d[vec3], rotation_out: array2d[quat],
    velocity_out: array2d[vec3], angular_velocity_out: array2d[vec3],
):  # fmt: skip
    """Copy the motion of the bodies that force modules use. One thread per world."""
    for row in range(tree.body.shape[0]):
        body = tree.body[row]
        x = w.position[body]
        q = w.rotation[body]
        v = origin_velocity(w, tree, body)
        omega = w.velocity[body].angular
        position_out[world, row] = vec3(real(x[0]), real(x[1]), real(x[2]))
        rotation_out[world, row] = quat(real(q[1]), real(q[2]), real(q[3]), real(q[0]))
        velocity_out[world, row] = vec3(real(v[0]), real(v[1]), real(v[2]))
        angular_velocity_out[world, row] = vec3(real(omega[0]), real(omega[1]), real(omega[2]))


@wp.kernel(module=MODULE)
def start_step(w: World):
    """Store the speeds at the start of the step, from which its accelerations are computed."""
    for dof in range(w.speed.shape[0]):
        w.speed_before[dof] = w.speed[dof]


@wp.kernel(module=MODULE)
def add_forces(
    tree: Tree, w: World, world: int, rows: array[int], implicit: int, wrench: array2d[vec6], block: array2d[mat66],
):  # fmt: skip
    """Add the wrenches of one module to the passive forces and J^T B J to the mass matrix."""
    for k in range(rows.shape[0]):
        body = tree.body[rows[k]]
        add_wrench(w, tree, body, in_double(wrench[world, k]))
        if implicit == 1:
            add_block(w, tree, body, block[world, k])


@wp.kernel(module=MODULE)
def effective_wrench(
    tree: Tree, w: World, world: int, rows: array[int], implicit: int, step: array[wp.float64],
    wrench: array2d[vec6], block: array2d[mat66], status: array2d[int], explained: array2d[int],
    effective_out: array2d[vec6], alarm_out: array[int],
):  # fmt: skip
    """Compute the wrench that bodies received over the step, f - B a with a = J (v+ - v) / h, and raise alarms.

    f is evaluated at the predicted pose, so it already contains the term -h K v.
    """
    for k in range(rows.shape[0]):
        f = wrench[world, k]
        if implicit == 1:
            s = times(block[world, k], acceleration(w, tree, tree.body[rows[k]], step[0]))
            f = f - vec6(real(s[0]), real(s[1]), real(s[2]), real(s[3]), real(s[4]), real(s[5]))
        effective_out[world, k] = f
        if status[world, k] != 0 and status[world, k] != explained[world, k]:
            alarm_out[world] = STATUS_ALARM
        if not wp.isfinite(f):
            alarm_out[world] = DIVERGED


@wp.kernel(module=MODULE)
def watch_speeds(w: World, world: int, limit: wp.float64, alarm_out: array[int]):
    """Raise the alarm if a speed is not finite or above `limit`."""
    for dof in range(w.speed.shape[0]):
        if not (wp.abs(w.speed[dof]) < limit):  # also true of NaN
            alarm_out[world] = DIVERGED


@wp.kernel(module=MODULE)
def show(
    w: World, coordinate: array[wp.float64], actuator: array[wp.float64], world: int,
    bodies: array[int], places: array[int], dofs: array[int],
    pose_out: array2d[Pose], position_out: array2d[wp.float64], speed_out: array2d[wp.float64],
    force_out: array2d[wp.float64],
):  # fmt: skip
    """Copy the recorded values of bodies, joints (`places` in qpos, `dofs` in qvel) and actuators."""
    for k in range(bodies.shape[0]):
        q = w.rotation[bodies[k]]
        pose_out[world, k] = Pose(w.position[bodies[k]], wp.quatd(q[1], q[2], q[3], q[0]))
    for k in range(places.shape[0]):
        position_out[world, k] = coordinate[places[k]]
        speed_out[world, k] = w.speed[dofs[k]]
    for k in range(actuator.shape[0]):
        force_out[world, k] = actuator[k]


@wp.kernel(module=MODULE)
def show_shifted(rows: array[int], shift: array2d[vec3], pose_out: array2d[Pose]):
    """Add the suspension travel to the recorded pose of a wheel."""
    world = wp.tid()
    for k in range(rows.shape[0]):
        if rows[k] >= 0:
            s = shift[world, k]
            moved = wp.vec3d(wp.float64(s[0]), wp.float64(s[1]), wp.float64(s[2]))
            pose_out[world, rows[k]].position = pose_out[world, rows[k]].position + moved
