"""Kernels between MuJoCo's conventions and Grouser's: motion in, wrenches and implicit blocks out.

MuJoCo: `cvel` is [spin, velocity] about the tree's centre of mass, forces are generalised, quaternions are wxyz, `M`
is the lower triangle in compressed rows. All of that ends here.
"""

from functools import cache
from types import SimpleNamespace

import warp as wp

from grouser.precision import precision

vec6 = wp.types.vector(6, wp.float64)
vec7 = wp.types.vector(7, wp.float64)
TURNING = 1.5  # on the way of a step, for directions that change meanwhile
SLACK = 1e-3  # [m] on the same


@wp.struct
class Tree:
    """Constant structure of the model (one for all worlds)."""

    body: wp.array(dtype=wp.int32)  # (motion row,) MuJoCo body
    root: wp.array(dtype=wp.int32)  # (body,) root of its tree
    last_dof: wp.array(dtype=wp.int32)  # (body,) last degree of freedom that moves it, -1 where fixed
    parent: wp.array(dtype=wp.int32)  # (dof,) next degree of freedom towards the root, -1 at its end
    row_start: wp.array(dtype=wp.int32)  # (dof,) of M
    row_count: wp.array(dtype=wp.int32)
    column: wp.array(dtype=wp.int32)


@wp.struct
class World:
    """Views of one world's MjData; nothing is copied."""

    position: wp.array(dtype=wp.vec3d)  # [m], (body,)
    rotation: wp.array(dtype=wp.vec4d)  # (body,) wxyz
    tree_centre: wp.array(dtype=wp.vec3d)  # [m], (body,) centre of mass of the subtree
    velocity: wp.array(dtype=vec6)  # (body,) spin, velocity about the tree's centre of mass
    dof_axis: wp.array(dtype=vec6)  # (dof,) spin, velocity about the tree's centre of mass
    speed: wp.array(dtype=wp.float64)  # (dof,)
    mass: wp.array(dtype=wp.float64)  # (nonzero of M,)
    passive: wp.array(dtype=wp.float64)  # (dof,) generalised force, made anew by mj_step1
    speed_before: wp.array(dtype=wp.float64)  # (dof,) at the start of the step
    column: wp.array(dtype=vec6)  # (dof,) of the Jacobian of the body in hand


@wp.func
def origin_velocity(w: World, tree: Tree, body: int):
    """Velocity [m/s] of the body's frame origin."""
    c = w.velocity[body]
    spin = wp.vec3d(c[0], c[1], c[2])
    arm = w.position[body] - w.tree_centre[tree.root[body]]
    return wp.vec3d(c[3], c[4], c[5]) + wp.cross(spin, arm)


@wp.func
def jacobian_column(w: World, tree: Tree, body: int, dof: int):
    """Velocity of the body's frame origin and its spin per unit speed of one degree of freedom."""
    axis = w.dof_axis[dof]
    spin = wp.vec3d(axis[0], axis[1], axis[2])
    arm = w.position[body] - w.tree_centre[tree.root[body]]
    v = wp.vec3d(axis[3], axis[4], axis[5]) + wp.cross(spin, arm)
    return vec6(v[0], v[1], v[2], spin[0], spin[1], spin[2])


@cache
def engine_kernels(name: str) -> SimpleNamespace:
    p = precision(name)
    module = wp.get_module(f"grouser.engine.{name}")
    module.options["enable_backward"] = False
    real, vec3, quat, vec6r, mat66r = p.real, p.vec3, p.quat, p.vec6, p.mat66

    @wp.func
    def row_times(B: mat66r, r: int, c: vec6):
        return (
            wp.float64(B[r, 0]) * c[0] + wp.float64(B[r, 1]) * c[1] + wp.float64(B[r, 2]) * c[2]
            + wp.float64(B[r, 3]) * c[3] + wp.float64(B[r, 4]) * c[4] + wp.float64(B[r, 5]) * c[5]
        )  # fmt: skip

    @wp.func
    def times(B: mat66r, c: vec6):
        return vec6(
            row_times(B, 0, c), row_times(B, 1, c), row_times(B, 2, c),
            row_times(B, 3, c), row_times(B, 4, c), row_times(B, 5, c),
        )  # fmt: skip

    @wp.kernel(module=module)
    def gather_motion(
        tree: Tree, w: World, world: int,
        position_out: wp.array2d(dtype=vec3), rotation_out: wp.array2d(dtype=quat),
        velocity_out: wp.array2d(dtype=vec3), spin_out: wp.array2d(dtype=vec3),
    ):  # fmt: skip
        for row in range(tree.body.shape[0]):
            body = tree.body[row]
            x = w.position[body]
            q = w.rotation[body]
            v = origin_velocity(w, tree, body)
            c = w.velocity[body]
            position_out[world, row] = vec3(real(x[0]), real(x[1]), real(x[2]))
            rotation_out[world, row] = quat(real(q[1]), real(q[2]), real(q[3]), real(q[0]))
            velocity_out[world, row] = vec3(real(v[0]), real(v[1]), real(v[2]))
            spin_out[world, row] = vec3(real(c[0]), real(c[1]), real(c[2]))

    @wp.kernel(module=module)
    def start_step(w: World):
        """Remember speeds."""
        for dof in range(w.speed.shape[0]):
            w.speed_before[dof] = w.speed[dof]

    @wp.kernel(module=module)
    def add_forces(
        tree: Tree, w: World, world: int, rows: wp.array(dtype=wp.int32), implicit: int,
        wrench: wp.array2d(dtype=vec6r), block: wp.array2d(dtype=mat66r),
    ):  # fmt: skip
        """Wrenches of one module into the passive forces, J^T B J into the mass matrix."""
        for k in range(rows.shape[0]):
            body = tree.body[rows[k]]
            g = wrench[world, k]
            f = vec6(
                wp.float64(g[0]), wp.float64(g[1]), wp.float64(g[2]),
                wp.float64(g[3]), wp.float64(g[4]), wp.float64(g[5]),
            )  # fmt: skip
            i = tree.last_dof[body]
            while i >= 0:
                column = jacobian_column(w, tree, body, i)
                w.column[i] = column
                w.passive[i] = w.passive[i] + wp.dot(f, column)
                i = tree.parent[i]
            if implicit == 1:
                i = tree.last_dof[body]
                while i >= 0:
                    b = times(block[world, k], w.column[i])
                    j = i
                    at = tree.row_start[i] + tree.row_count[i] - 1
                    while j >= 0:
                        while tree.column[at] != j:
                            at -= 1
                        w.mass[at] = w.mass[at] + wp.dot(b, w.column[j])
                        j = tree.parent[j]
                    i = tree.parent[i]

    @wp.kernel(module=module)
    def effective_wrench(
        tree: Tree, w: World, world: int, rows: wp.array(dtype=wp.int32), implicit: int,
        step: wp.array(dtype=wp.float64),
        wrench: wp.array2d(dtype=vec6r), block: wp.array2d(dtype=mat66r), status: wp.array2d(dtype=wp.int32),
        explained: wp.array2d(dtype=wp.int32),
        effective_out: wp.array2d(dtype=vec6r), alarm_out: wp.array(dtype=wp.int32),
    ):  # fmt: skip
        """What bodies really got: f - h K v - B a, a = J (v+ - v) / h."""
        for k in range(rows.shape[0]):
            body = tree.body[rows[k]]
            f = wrench[world, k]
            if implicit == 1:
                a = vec6()
                i = tree.last_dof[body]
                while i >= 0:
                    a = a + jacobian_column(w, tree, body, i) * ((w.speed[i] - w.speed_before[i]) / step[0])
                    i = tree.parent[i]
                s = times(block[world, k], a)
                f = f - vec6r(real(s[0]), real(s[1]), real(s[2]), real(s[3]), real(s[4]), real(s[5]))
            effective_out[world, k] = f
            if status[world, k] != 0 and status[world, k] != explained[world, k]:
                alarm_out[world] = 1
            if not wp.isfinite(f):
                alarm_out[world] = 2

    @wp.kernel(module=module)
    def watch_speeds(w: World, world: int, limit: wp.float64, alarm_out: wp.array(dtype=wp.int32)):
        """Raise the alarm where a speed is not finite or absurd."""
        for dof in range(w.speed.shape[0]):
            if not (wp.abs(w.speed[dof]) < limit):
                alarm_out[world] = 2

    @wp.kernel(module=module)
    def show(
        w: World, coordinate: wp.array(dtype=wp.float64), actuator: wp.array(dtype=wp.float64), world: int,
        bodies: wp.array(dtype=wp.int32), places: wp.array(dtype=wp.int32), dofs: wp.array(dtype=wp.int32),
        pose_out: wp.array2d(dtype=vec7), position_out: wp.array2d(dtype=wp.float64),
        speed_out: wp.array2d(dtype=wp.float64), force_out: wp.array2d(dtype=wp.float64),
    ):  # fmt: skip
        """What is recorded of bodies, joints and actuators."""
        for k in range(bodies.shape[0]):
            x = w.position[bodies[k]]
            q = w.rotation[bodies[k]]
            pose_out[world, k] = vec7(x[0], x[1], x[2], q[1], q[2], q[3], q[0])
        for k in range(places.shape[0]):
            position_out[world, k] = coordinate[places[k]]
            speed_out[world, k] = w.speed[dofs[k]]
        for k in range(actuator.shape[0]):
            force_out[world, k] = actuator[k]

    @wp.kernel(module=module)
    def show_shifted(rows: wp.array(dtype=wp.int32), shift: wp.array2d(dtype=vec3), pose_out: wp.array2d(dtype=vec7)):
        """A wheel stands where its suspension has it."""
        world = wp.tid()
        for k in range(rows.shape[0]):
            if rows[k] >= 0:
                s = shift[world, k]
                pose_out[world, rows[k]] = pose_out[world, rows[k]] + vec7(
                    wp.float64(s[0]), wp.float64(s[1]), wp.float64(s[2]),
                    wp.float64(0.0), wp.float64(0.0), wp.float64(0.0), wp.float64(0.0),
                )  # fmt: skip

    return SimpleNamespace(
        show=show, show_shifted=show_shifted, gather_motion=gather_motion, start_step=start_step, add_forces=add_forces,
        effective_wrench=effective_wrench, watch_speeds=watch_speeds, module=module,
    )  # fmt: skip


@wp.struct
class Field:
    """One height field and what may touch it."""

    geom: int
    kept: wp.array(dtype=wp.int32)  # (3,) whether it is left out now, its contype and conaffinity
    x0: wp.float64  # [m] of the first node
    y0: wp.float64
    across_x: wp.float64  # [m] between nodes
    across_y: wp.float64
    ceiling: wp.array2d(dtype=wp.float64)  # [m], (row, column) highest within reach of any geom over that cell
    geoms: wp.array(dtype=wp.int32)  # (k,) that may touch it
    body: wp.array(dtype=wp.int32)  # (k,)
    radius: wp.array(dtype=wp.float64)  # [m], (k,) of their bounding spheres


@cache
def field_kernels() -> SimpleNamespace:
    module = wp.get_module("grouser.engine.fields")
    module.options["enable_backward"] = False

    @wp.kernel(module=module)
    def look(
        tree: Tree, w: World, f: Field, place: wp.array(dtype=wp.vec3d), step: wp.array(dtype=wp.float64),
        contype_out: wp.array(dtype=wp.int32), conaffinity_out: wp.array(dtype=wp.int32),
    ):  # fmt: skip
        """Before contacts are looked for: a field that no geom, a step's way on, is low enough to touch is left out."""
        clear = int(0)
        last = int(-1)
        speed = wp.float64(0.0)
        spin = wp.float64(0.0)
        for k in range(f.geoms.shape[0]):
            body = f.body[k]
            if body != last:
                c = vec6()
                i = tree.last_dof[body]
                while i >= 0:
                    c = c + jacobian_column(w, tree, body, i) * w.speed[i]
                    i = tree.parent[i]
                speed = wp.length(wp.vec3d(c[0], c[1], c[2]))
                spin = wp.length(wp.vec3d(c[3], c[4], c[5]))
                last = body
            x = place[f.geoms[k]]
            way = wp.float64(TURNING) * step[0] * (speed + spin * wp.length(x - w.position[body])) + wp.float64(SLACK)
            column = int(wp.floor((x[0] - f.x0) / f.across_x))
            row = int(wp.floor((x[1] - f.y0) / f.across_y))
            if column >= 0 and row >= 0 and row < f.ceiling.shape[0] and column < f.ceiling.shape[1]:
                if x[2] - f.radius[k] - way > f.ceiling[row, column] and way < wp.min(f.across_x, f.across_y):
                    clear += 1
        f.kept[0] = 0
        if clear == f.geoms.shape[0]:
            f.kept[0] = 1
            f.kept[1] = contype_out[f.geom]
            f.kept[2] = conaffinity_out[f.geom]
            contype_out[f.geom] = 0
            conaffinity_out[f.geom] = 0

    @wp.kernel(module=module)
    def put_back(f: Field, contype_out: wp.array(dtype=wp.int32), conaffinity_out: wp.array(dtype=wp.int32)):
        if f.kept[0] == 1:
            contype_out[f.geom] = f.kept[1]
            conaffinity_out[f.geom] = f.kept[2]

    return SimpleNamespace(look=look, put_back=put_back)
