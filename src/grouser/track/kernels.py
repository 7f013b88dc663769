"""Kernels of tracks: one thread a track runs all its substeps; links, wheels and ground meet in stages.

A substep: carriers and wheels move on, joints, wheels and ground push on the links, the links get their change of
velocity (explicit, or the ring solve), wheels get the opposite of what the links got, links move.
"""

from functools import cache
from types import SimpleNamespace

import warp as wp

from grouser.contact.penalty import damping_share
from grouser.terrain.ground import TILE, ground_types
from grouser.track import laws
from grouser.track import types as t
from grouser.track.cyclic import cyclic_solver

SLIP_KEPT = 3.0  # over k_T: longer ways drag the anchor along; tanh(3) = 0.995
LIST_MARGIN = 0.05  # [m] links may come nearer within a step than when the lists were made


@cache
def track_kernels(name: str) -> SimpleNamespace:
    ty = t.track_types(name)
    p = ty.precision
    module = wp.get_module(f"grouser.track.{name}")
    module.options["enable_backward"] = False
    real, vec2, vec3, vec4 = p.real, p.vec2, p.vec3, p.vec4
    quat, mat33, vec6, mat66 = p.quat, p.mat33, p.vec6, p.mat66
    mat36 = wp.types.matrix((3, 6), real)
    Contact = ty.Contact
    Track, Tables, State, Scratch, Ground = ty.Track, ty.Tables, ty.State, ty.Scratch, ty.Ground
    solve_ring = cyclic_solver(name).solve_ring
    deformable = ground_types(name)
    Tiles, touch = deformable.Arrays, deformable.touch
    base_height = deformable.base_height
    tile = wp.constant(TILE)
    zero, one, half = wp.constant(real(0.0)), wp.constant(real(1.0)), wp.constant(real(0.5))
    kept = wp.constant(real(SLIP_KEPT))
    margin = wp.constant(real(LIST_MARGIN))
    tau = wp.constant(real(6.283185307179586))

    @wp.func
    def moved(q: quat, spin: vec3, h: real):
        """Orientation after h [s] with a constant spin; renormalised whole (eq. 18 to 20 correct a part of it only)."""
        return wp.normalize(q + half * h * (quat(spin[0], spin[1], spin[2], zero) * q))

    @wp.func
    def wrench_of(force: vec3, torque: vec3):
        return vec6(force[0], force[1], force[2], torque[0], torque[1], torque[2])

    @wp.func
    def at_arm(a: vec3):
        """J of a point at arm a: its velocity is J (v, w)."""
        return mat36(
            one, zero, zero, zero, a[2], -a[1],
            zero, one, zero, -a[2], zero, a[0],
            zero, zero, one, a[1], -a[0], zero,
        )  # fmt: skip

    @wp.func
    def impedance_matrix(n: vec3, along: real, across: real):
        """across I + (along - across) n n^T."""
        return wp.identity(n=3, dtype=real) * across + wp.outer(n, n) * (along - across)

    @wp.func
    def add_turning(m: mat66, about: vec3, size: real):
        """m + size times the outer product of `about`, in the block of rotations."""
        out = m
        for i in range(3):
            for j in range(3):
                out[i + 3, j + 3] = out[i + 3, j + 3] + size * about[i] * about[j]
        return out

    # ---- ground -----------------------------------------------------------------------------------------

    @wp.func
    def in_triangle(g: Ground, k: int, x: real, y: real):
        """Whether (x, y) lies over a triangle, and its weights there."""
        v = g.triangle[k]
        a, b, c = laws.barycentric(x, y, g.vertex[v[0]], g.vertex[v[1]], g.vertex[v[2]])
        slack = real(-1.0e-9)
        return a >= slack and b >= slack and c >= slack, vec3(a, b, c)

    @wp.func
    def node_levels(g: Tiles, world: int, row: int, column: int):
        """Surface and virgin level [m] of a node of the deformable grid."""
        slot = g.table[world, row / tile, column / tile]
        if slot >= 0:
            levels = g.levels[world, slot, row % tile, column % tile]
            return vec2(levels[0], levels[1])
        z = base_height(g, row, column)
        return vec2(z, z)

    @wp.func
    def soil_levels(g: Tiles, world: int, x: real, y: real):
        """Whether there is soil at (x, y); surface and virgin level, bilinear."""
        u = (x - g.x0) * g.per_spacing
        v = (y - g.y0) * g.per_spacing
        i = int(wp.floor(v))
        j = int(wp.floor(u))
        if i < 0 or j < 0 or i > g.rows - 2 or j > g.columns - 2:
            return False, vec2()
        u = u - real(j)
        v = v - real(i)
        low = (one - u) * node_levels(g, world, i, j) + u * node_levels(g, world, i, j + 1)
        high = (one - u) * node_levels(g, world, i + 1, j) + u * node_levels(g, world, i + 1, j + 1)
        return True, (one - v) * low + v * high

    @wp.func
    def ground_at(g: Ground, x: real, y: real):
        """Whether there is ground at (x, y), its height [m], normal and soil values; not for deformable soil."""
        up = vec3(zero, zero, one)
        if g.kind == wp.static(t.FLAT):
            return True, g.height, up, g.soil[0]
        u = (x - g.x0) * g.per_spacing
        v = (y - g.y0) * g.per_spacing
        i = int(wp.floor(v))
        j = int(wp.floor(u))
        if g.kind == wp.static(t.GRID):
            if i < 0 or j < 0 or i > g.heights.shape[0] - 2 or j > g.heights.shape[1] - 2:
                return False, zero, up, g.soil[0]
            u = u - real(j)
            v = v - real(i)
            low = g.heights[i, j] + u * (g.heights[i, j + 1] - g.heights[i, j])
            high = g.heights[i + 1, j] + u * (g.heights[i + 1, j + 1] - g.heights[i + 1, j])
            near = g.heights[i, j + 1] - g.heights[i, j]
            gx = near + v * (g.heights[i + 1, j + 1] - g.heights[i + 1, j] - near)
            n = wp.normalize(vec3(-gx * g.per_spacing, -(high - low) * g.per_spacing, one))
            return True, low + v * (high - low), n, g.soil[0]
        if i >= 0 and j >= 0 and i < g.first.shape[0] and j < g.first.shape[1]:
            for at in range(g.first[i, j], g.first[i, j] + g.count[i, j]):
                k = g.listed[at]
                inside, b = in_triangle(g, k, x, y)
                if inside:
                    t3 = g.triangle[k]
                    v0 = g.vertex[t3[0]]
                    v1 = g.vertex[t3[1]]
                    v2 = g.vertex[t3[2]]
                    n = wp.normalize(wp.cross(v1 - v0, v2 - v0))
                    soil = b[0] * g.soil[t3[0]] + b[1] * g.soil[t3[1]] + b[2] * g.soil[t3[2]]
                    return True, b[0] * v0[2] + b[1] * v1[2] + b[2] * v2[2], n, soil
        return False, zero, up, g.soil[0]

    # ---- carriers and wheels --------------------------------------------------------------------------

    @wp.func
    def take_carriers(
        world: int, tr: Track, c: Tables, w: Scratch,
        position: wp.array2d(dtype=vec3), rotation: wp.array2d(dtype=quat),
        velocity: wp.array2d(dtype=vec3), spin: wp.array2d(dtype=vec3),
    ):  # fmt: skip
        for k in range(tr.first_carrier, tr.first_carrier + tr.carriers):
            row = c.row[k]
            w.carrier_position[world, k] = position[world, row]
            w.carrier_rotation[world, k] = rotation[world, row]
            w.carrier_velocity[world, k] = velocity[world, row]
            w.carrier_spin[world, k] = spin[world, row]
            w.carrier_wrench[world, k] = vec6()
        for k in range(tr.first_wheel, tr.first_wheel + tr.wheels):
            w.wheel_mean[world, k] = vec6()

    @wp.func
    def place_wheels(world: int, tr: Track, c: Tables, s: State, w: Scratch):
        for k in range(tr.first_wheel, tr.first_wheel + tr.wheels):
            b = tr.first_carrier + c.carrier[k]
            q = w.carrier_rotation[world, b]
            spin = w.carrier_spin[world, b]
            arm = wp.quat_rotate(q, c.place[k])
            axle = wp.quat_rotate(q, c.axis[k])
            w.centre[world, k] = w.carrier_position[world, b] + arm
            w.axle[world, k] = axle
            w.speed[world, k] = w.carrier_velocity[world, b] + wp.cross(spin, arm)
            if c.turns[k] == wp.static(t.FREE):
                spin = spin + s.turning[world, k] * axle
            else:
                w.gap[world, k] = wp.quat_rotate(q, c.start[k])
            w.spin[world, k] = spin
            w.wheel_wrench[world, k] = vec6()
            w.wheel_grip[world, k] = zero

    @wp.func
    def move_carriers(world: int, tr: Track, w: Scratch, h: real):
        for k in range(tr.first_carrier, tr.first_carrier + tr.carriers):
            w.carrier_position[world, k] = w.carrier_position[world, k] + h * w.carrier_velocity[world, k]
            w.carrier_rotation[world, k] = moved(w.carrier_rotation[world, k], w.carrier_spin[world, k], h)

    @wp.func
    def list_candidates(world: int, tr: Track, c: Tables, s: State, w: Scratch):
        """Links within reach of each wheel, for all substeps of a step."""
        for k in range(tr.first_wheel, tr.first_wheel + tr.wheels):
            count = int(0)
            at = tr.first_candidate + (k - tr.first_wheel) * tr.links
            far = c.reach[k] + tr.rail_height + tr.pitch + margin
            for i in range(tr.first_link, tr.first_link + tr.links):
                near = wp.length_sq(s.position[world, i] - w.centre[world, k]) < far * far
                if tr.lists == 0 or near:
                    w.candidate[world, at + count] = i
                    count += 1
            w.near[world, k] = count

    @wp.func
    def list_grounded(world: int, which: int, tr: Track, g: Ground, tiles: Tiles, s: State, w: Scratch):
        """Links whose shoes may touch the ground in this step; the others let go of it."""
        count = int(0)
        for i in range(tr.first_link, tr.first_link + tr.links):
            x = s.position[world, i]
            there = True
            height = zero
            if g.kind == wp.static(t.SOIL):
                there, levels = soil_levels(tiles, world, x[0], x[1])
                height = levels[1]
            else:
                there, height, n, soil = ground_at(g, x[0], x[1])
            if tr.lists == 0 or (there and x[2] - height < tr.low) or (not there and g.kind != wp.static(t.FLAT)):
                w.grounded[world, tr.first_link + count] = i
                count += 1
            else:
                row = tr.first_grip + (i - tr.first_link) * tr.markers
                for m in range(row, row + tr.markers):
                    s.gripped[world, m] = 0
        w.low[world, which] = count

    # ---- links ------------------------------------------------------------------------------------------

    @wp.func
    def begin_links(world: int, which: int, tr: Track, s: State, w: Scratch):
        for i in range(tr.first_link, tr.first_link + tr.links):
            R = wp.quat_to_matrix(s.rotation[world, i])
            w.R[world, i] = R
            w.force[world, i] = tr.mass * tr.gravity
            w.torque[world, i] = vec3()
            if tr.implicit == 1:
                D = mat66()
                J = R * wp.diag(tr.inertia) * wp.transpose(R)
                for a in range(3):
                    D[a, a] = tr.mass
                    for b in range(3):
                        D[a + 3, b + 3] = J[a, b]
                w.D[world, i] = D
        w.found[world, which] = 0

    @wp.func
    def next_link(first: int, count: int, i: int):
        j = i + 1
        if j == first + count:
            j = first
        return j

    @wp.func
    def join(world: int, tr: Track, s: State, w: Scratch, i: int, h: real, ahead: real):
        """Pin of link i in the bushing of the next; eq. 21 to 25 as corrected in laws.py."""
        j = next_link(tr.first_link, tr.links, i)
        Ri = w.R[world, i]
        Rj = w.R[world, j]
        x = vec3(Ri[0, 0], Ri[1, 0], Ri[2, 0])
        y = vec3(Ri[0, 1], Ri[1, 1], Ri[2, 1])
        z = vec3(Ri[0, 2], Ri[1, 2], Ri[2, 2])
        xj = vec3(Rj[0, 0], Rj[1, 0], Rj[2, 0])
        yj = vec3(Rj[0, 1], Rj[1, 1], Rj[2, 1])
        arm_j = -half * tr.pitch * xj
        arm_i = s.position[world, j] + arm_j - s.position[world, i]
        d = arm_i - half * tr.pitch * x
        wi = s.spin[world, i]
        wj = s.spin[world, j]
        rate = s.velocity[world, j] + wp.cross(wj, arm_j) - s.velocity[world, i] - wp.cross(wi, arm_i)
        turning = wj - wi
        F = laws.bushing_force(d, rate, y, tr.radial, tr.axial, tr.c_radial, tr.c_axial, ahead)
        roll, about_roll, k_roll = laws.tilt(z, yj, turning, tr.roll, tr.c_tilt, ahead)
        yaw, about_yaw, k_yaw = laws.tilt(x, yj, turning, tr.yaw, tr.c_tilt, ahead)
        T = roll + yaw - tr.c_pin * wp.dot(turning, y) * y
        k_pin = tr.c_pin
        if tr.by_shoes == 0:
            leaning = wp.dot(xj, z)
            if leaning < -half * tr.bend_limit:  # well before the stop
                fold = wp.atan2(leaning, wp.dot(xj, x))
                stop, k_stop = laws.back_bend(fold, -wp.dot(turning, y), tr.bend_limit, tr.bend, tr.c_bend, ahead)
                T = T - stop * y
                k_pin = k_pin + k_stop
        w.force[world, i] = w.force[world, i] - F
        w.force[world, j] = w.force[world, j] + F
        w.torque[world, i] = w.torque[world, i] - T - wp.cross(arm_i, F)
        w.torque[world, j] = w.torque[world, j] + T + wp.cross(arm_j, F)
        if tr.implicit == 1:
            across = h * (tr.radial * ahead + tr.c_radial)
            along = h * (tr.axial * ahead + tr.c_axial)
            add_joint_blocks(world, w, i, j, arm_i, arm_j, impedance_matrix(y, along, across))
            turn = add_turning(mat66(), about_roll, h * k_roll)
            turn = add_turning(turn, about_yaw, h * k_yaw)
            turn = add_turning(turn, y, h * k_pin)
            w.D[world, i] = w.D[world, i] + turn
            w.D[world, j] = w.D[world, j] + turn
            w.U[world, i] = w.U[world, i] - turn
        if tr.by_shoes == 1:
            sides = int(2)
            for side in range(sides):
                edge_of_shoes(world, tr, s, w, i, j, x, real(2 * side - 1), h, ahead)

    @wp.func
    def add_joint_blocks(world: int, w: Scratch, i: int, j: int, arm_i: vec3, arm_j: vec3, K: mat33):
        Ji = at_arm(arm_i)
        Jj = at_arm(arm_j)
        KJ = K * Jj
        w.D[world, i] = w.D[world, i] + wp.transpose(Ji) * (K * Ji)
        w.D[world, j] = w.D[world, j] + wp.transpose(Jj) * KJ
        w.U[world, i] = -(wp.transpose(Ji) * KJ)

    @wp.func
    def edge_of_shoes(
        world: int, tr: Track, s: State, w: Scratch, i: int, j: int, x: vec3, side: real, h: real, ahead: real
    ):
        """Rear edge of the next shoe against the front face of this one: the back-bend stop by geometry."""
        arm_j = w.R[world, j] * vec3(-tr.edge_x, side * tr.edge_y, tr.edge_z)
        arm_i = s.position[world, j] + arm_j - s.position[world, i]
        depth = tr.edge_x - wp.dot(arm_i, x)
        rate = (
            s.velocity[world, j] + wp.cross(s.spin[world, j], arm_j)
            - s.velocity[world, i] - wp.cross(s.spin[world, i], arm_i)
        )  # fmt: skip
        size, elastic, k = laws.press(depth, -wp.dot(rate, x), tr.edge, tr.c_edge, tr.full_depth, ahead)
        if size > zero:
            F = size * x
            w.force[world, i] = w.force[world, i] - F
            w.force[world, j] = w.force[world, j] + F
            w.torque[world, i] = w.torque[world, i] - wp.cross(arm_i, F)
            w.torque[world, j] = w.torque[world, j] + wp.cross(arm_j, F)
            if tr.implicit == 1:
                K = wp.outer(x, x) * (h * k)
                Ji = at_arm(arm_i)
                Jj = at_arm(arm_j)
                w.D[world, i] = w.D[world, i] + wp.transpose(Ji) * (K * Ji)
                w.D[world, j] = w.D[world, j] + wp.transpose(Jj) * (K * Jj)
                w.U[world, i] = w.U[world, i] - wp.transpose(Ji) * (K * Jj)

    # ---- contacts ---------------------------------------------------------------------------------------

    # Structs go by value: what is called for every contact gets the few arrays it writes, not all of the scratch.

    @wp.func
    def add_contact(
        world: int, which: int, first: int, room: int, implicit: int, h: real, one_contact: Contact,
        found: wp.array2d(dtype=wp.int32), status: wp.array2d(dtype=wp.int32), contact: wp.array2d(dtype=Contact),
        force: wp.array2d(dtype=vec3), torque: wp.array2d(dtype=vec3), D: wp.array2d(dtype=mat66),
    ):  # fmt: skip
        count = found[world, which]
        if count >= room:
            status[world, which] = wp.static(t.FULL)
            return
        found[world, which] = count + 1
        contact[world, first + count] = one_contact
        i = one_contact.link
        force[world, i] = force[world, i] + one_contact.push
        torque[world, i] = torque[world, i] + wp.cross(one_contact.arm, one_contact.push)
        if implicit == 1:
            J = at_arm(one_contact.arm)
            K = impedance_matrix(one_contact.normal, h * one_contact.along, h * one_contact.across)
            D[world, i] = D[world, i] + wp.transpose(J) * (K * J)

    @wp.func
    def rub(u: vec3, n: vec3, size: real, most: real, full_speed: real):
        """Force on the link with friction (eq. 35), tangential impedance and sliding speed."""
        ut = u - wp.dot(u, n) * n
        sliding = wp.length(ut)
        across = laws.friction_impedance(sliding, most, full_speed)
        return size * n - across * ut, across, sliding

    @wp.func
    def rail_point(tr: Track, c: Tables, s: real, point: int):
        """y, z and share of stiffness of a point of the rail's section at s [m] along the link, between stations."""
        m = tr.first_station
        last = tr.first_station + tr.stations - 1
        while m < last - 1 and s > c.station[m + 1]:
            m += 1
        if tr.stations == 1:
            q = c.section[m, point]
            return q[0], q[1], c.share[m, point]
        f = wp.clamp((s - c.station[m]) / (c.station[m + 1] - c.station[m]), zero, one)
        a = c.section[m, point]
        b = c.section[m + 1, point]
        return (
            a[0] + f * (b[0] - a[0]),
            a[1] + f * (b[1] - a[1]),
            c.share[m, point] + f * (c.share[m + 1, point] - c.share[m, point]),
        )

    @wp.func
    def depth_in_profile(c: Tables, wheel: int, along: real, radius: real):
        """How deep a point (along the axle, radius) is in a wheel of revolution, and the way out; -1 outside."""
        first = c.first_point[wheel]
        last = c.first_point[wheel + 1] - 1
        best = real(-1.0)
        out = vec2(zero, one)
        if along < c.profile[first][0] or along > c.profile[last][0]:
            return best, out
        k = first
        while k < last - 1 and along > c.profile[k + 1][0]:
            k += 1
        a = c.profile[k]
        b = c.profile[k + 1]
        surface = a[1] + (b[1] - a[1]) * (along - a[0]) / (b[0] - a[0])
        if radius >= surface:
            return best, out
        best = (surface - radius) * (surface - radius)
        found = vec2(one, zero)  # along the nearest piece; straight out if none is nearer
        for j in range(first, last):
            p0 = c.profile[j]
            e = c.profile[j + 1] - p0
            f = vec2(along, radius) - p0
            share = wp.clamp(wp.dot(f, e) / wp.length_sq(e), zero, one)
            gap = wp.length_sq(f - share * e)
            if gap <= best:
                best = gap
                found = e
        found = wp.normalize(found)
        return wp.sqrt(best), vec2(-found[1], found[0])

    @wp.func
    def roll(world: int, which: int, tr: Track, c: Tables, s: State, w: Scratch, k: int, i: int, h: real, ahead: real):
        """Rails of link i against wheel k, a surface of revolution: section points in its profile; eq. 38 to 46."""
        R = w.R[world, i]
        x = vec3(R[0, 0], R[1, 0], R[2, 0])
        axle = w.axle[world, k]
        to_link = s.position[world, i] - w.centre[world, k]
        flat = to_link - wp.dot(to_link, axle) * axle
        far = c.reach[k] + tr.rail_height + real(0.6) * tr.pitch
        if wp.length_sq(flat) > far * far:
            return
        v = s.velocity[world, i]
        turn = s.spin[world, i]
        wheel_v = w.speed[world, k]
        wheel_turn = w.spin[world, k]
        e = x - wp.dot(x, axle) * axle
        ee = wp.length_sq(e)
        nominal = c.section[tr.first_station, 0]
        sides = int(2)  # a variable: the loop is not unrolled, what it calls has one place and is inlined
        for side in range(sides):
            sign = real(1 - 2 * side)
            base = to_link + R * vec3(zero, sign * nominal[0], tr.rail_height)
            place = -wp.dot(base, e) / ee
            share = laws.taper(place, half * tr.pitch, tr.taper)
            if share > zero:
                for point in range(tr.section):
                    y, z, part = rail_point(tr, c, place, point)
                    arm = R * vec3(place, sign * y, z)
                    lever = to_link + arm
                    along = wp.dot(lever, axle)
                    radial = lever - along * axle
                    radius = wp.length(radial)
                    if radius < c.reach[k] and radius > half * tr.rail_height:
                        depth, way = depth_in_profile(c, k, along, radius)
                        if depth > zero:
                            n = way[0] * axle + (way[1] / radius) * radial
                            u = v + wp.cross(turn, arm) - wheel_v - wp.cross(wheel_turn, lever)
                            amount = share * part
                            size, elastic, along_n = laws.press_hertz(
                                depth, -wp.dot(u, n), amount * tr.roller, amount * tr.c_roller, tr.full_depth, ahead
                            )
                            if size > zero:
                                push, across, sliding = rub(u, n, size, tr.friction * elastic, tr.full_speed)
                                one_contact = Contact(i, k, arm, lever, n, push, along_n, across, sliding)
                                add_contact(
                                    world, which, tr.first_contact, tr.contacts, tr.implicit, h, one_contact,
                                    w.found, w.status, w.contact, w.force, w.torque, w.D,
                                )  # fmt: skip

    @wp.func
    def mesh_teeth(
        world: int, which: int, tr: Track, c: Tables, s: State, w: Scratch, k: int, i: int, h: real, ahead: real
    ):
        """Bushing of link i in the teeth of sprocket k, both flanks and the root, and along the axle; eq. 26 to 37."""
        R = w.R[world, i]
        axle = w.axle[world, k]
        start = w.gap[world, k]
        across = wp.cross(start, axle)
        bushing = -half * tr.pitch * vec3(R[0, 0], R[1, 0], R[2, 0])
        b = s.position[world, i] + bushing - w.centre[world, k]
        along = wp.dot(b, axle)
        b = b - along * axle
        far = c.reach[k] + tr.bushing_radius
        if wp.length_sq(b) > far * far:
            return
        pitch_angle = tau / real(c.teeth[k])
        angle = wp.atan2(wp.dot(b, across), wp.dot(b, start))
        nearest = wp.floor(angle / pitch_angle + half) * pitch_angle
        outward = wp.cos(nearest) * start + wp.sin(nearest) * across
        sideways = wp.cos(nearest) * across - wp.sin(nearest) * start
        at = vec2(wp.dot(b, sideways), wp.dot(b, outward))
        v = s.velocity[world, i]
        turn = s.spin[world, i]
        wheel_v = w.speed[world, k]
        wheel_turn = w.spin[world, k]
        first = c.first_point[k]
        last = c.first_point[k + 1] - 1
        deepest = zero
        way = vec2(zero, one)
        for j in range(first, last + 1):  # the last turn is for the sides
            n = axle
            lever = b
            arm = bushing
            depth = zero
            stiffness = tr.tooth
            damping = tr.c_tooth
            friction = tr.friction
            if j < last:
                piece, out = tooth_depth(c, j, last, at, tr.bushing_radius)
                if piece > deepest:
                    deepest = piece
                    way = out
                if c.group[j + 1] != c.group[j]:
                    n = way[0] * sideways + way[1] * outward
                    lever = b - tr.bushing_radius * n
                    arm = bushing - along * axle - tr.bushing_radius * n
                    depth = deepest
                    deepest = zero
            else:
                n = -wp.sign(along) * axle
                lever = b + along * axle
                depth = wp.abs(along) - tr.side_gap
                stiffness = tr.side
                damping = tr.c_side
                friction = zero
            if depth > zero:
                u = v + wp.cross(turn, arm) - wheel_v - wp.cross(wheel_turn, lever)
                size, elastic, along_n = laws.press(depth, -wp.dot(u, n), stiffness, damping, tr.full_depth, ahead)
                if size > zero:
                    push, across_n, sliding = rub(u, n, size, friction * elastic, tr.full_speed)
                    one_contact = Contact(i, k, arm, lever, n, push, along_n, across_n, sliding)
                    add_contact(
                        world, which, tr.first_contact, tr.contacts, tr.implicit, h, one_contact,
                        w.found, w.status, w.contact, w.force, w.torque, w.D,
                    )  # fmt: skip

    @wp.func
    def tooth_depth(c: Tables, j: int, last: int, at: vec2, radius: real):
        """Depth of the bushing's circle in one segment of the tooth profile, or in the corner it ends in."""
        a = c.profile[j]
        e = c.profile[j + 1] - a
        size = wp.length(e)
        e = e / size
        n = vec2(-e[1], e[0])
        f = at - a
        s = wp.dot(f, e)
        if s >= zero and s <= size:
            depth = radius - wp.dot(f, n)
            if depth < radius:
                return depth, n
            return real(-1.0), n
        if s > size and j + 1 < last:  # only a corner that bulges
            e2 = c.profile[j + 2] - c.profile[j + 1]
            if e[0] * e2[1] - e[1] * e2[0] < zero:
                g = at - c.profile[j + 1]
                if wp.dot(g, e2) < zero:
                    away = wp.length(g)
                    return radius - away, g / away
        return real(-1.0), n

    @wp.func
    def stand(
        world: int, which: int, tr: Track, c: Tables, g: Ground, tiles: Tiles, s: State, w: Scratch, i: int,
        h: real, ahead: real,
    ):  # fmt: skip
        """Shoe of link i on the ground, marker by marker; eq. 47 to 56 with the slip anchored at first touch."""
        R = w.R[world, i]
        x = vec3(R[0, 0], R[1, 0], R[2, 0])
        row = tr.first_grip + (i - tr.first_link) * tr.markers
        for m in range(tr.markers):
            q = tr.first_marker + m
            arm = R * c.marker[q]
            at = s.position[world, i] + arm
            there = True
            height = zero
            n = vec3(zero, zero, one)
            soil = g.soil[0]
            virgin = zero
            if g.kind == wp.static(t.SOIL):
                there, levels = soil_levels(tiles, world, at[0], at[1])
                height = levels[0]
                virgin = levels[1]
            elif g.kind == wp.static(t.FLAT):
                height = g.height
            else:
                there, height, n, soil = ground_at(g, at[0], at[1])
            if not there:
                w.status[world, which] = wp.static(t.OUTSIDE)
            depth = (height - at[2]) * n[2]
            if not there or depth <= zero:
                s.gripped[world, row + m] = 0
            else:
                if s.gripped[world, row + m] == 0:
                    s.gripped[world, row + m] = 1
                    s.anchor[world, row + m] = at
                u = s.velocity[world, i] + wp.cross(s.spin[world, i], arm)
                un = wp.dot(u, n)
                area = c.area[q]
                stiff = soil[0]
                pressed = depth
                if g.kind == wp.static(t.SOIL):
                    spring, slope = laws.rebound(virgin - at[2], soil[0], g.modulus, g.exponent)
                    if spring < depth:  # the soil yields
                        pressed = spring
                        stiff = slope
                along = area * (stiff * ahead + soil[1] * damping_share(depth, tr.full_depth))
                elastic = area * soil[0] * pressed
                size = wp.max(elastic - along * un, zero)
                if size == zero:
                    along = zero
                way = at - s.anchor[world, row + m]
                way = laws.kept_slip(way - wp.dot(way, n) * n, kept / soil[4])
                s.anchor[world, row + m] = at - way
                slip = wp.length(way)
                strength = area * laws.shear_strength(elastic / area, soil[2], soil[3])
                if c.blade[q] > zero and slip > zero:
                    straight = wp.dot(way, x) / slip
                    strength = strength + straight * straight * laws.passive_force(
                        depth, c.blade[q], soil[2], soil[3], soil[7]
                    )
                stiffness = laws.shear(slip, strength, soil[4])
                ut = u - un * n
                sliding = wp.length(ut)
                damping = laws.slip_damping(sliding, strength - stiffness * slip, soil[5] * area, soil[6])
                across = stiffness * ahead + damping
                push = size * n - stiffness * way - across * ut
                one_contact = Contact(i, wp.static(t.GROUND), arm, vec3(), n, push, along, across, sliding)
                add_contact(
                    world, which, tr.first_contact, tr.contacts, tr.implicit, h, one_contact,
                    w.found, w.status, w.contact, w.force, w.torque, w.D,
                )  # fmt: skip

    # ---- the substep ------------------------------------------------------------------------------------

    @wp.func
    def change_velocities(world: int, tr: Track, s: State, w: Scratch, h: real):
        for i in range(tr.first_link, tr.first_link + tr.links):
            f = w.force[world, i]
            m = w.torque[world, i]
            if tr.implicit == 1:
                w.change[world, i] = h * wrench_of(f, m)
            else:
                R = w.R[world, i]
                local = wp.transpose(R) * m
                turn = R * wp.cw_div(local, tr.inertia)
                w.change[world, i] = h * wrench_of(f / tr.mass, turn)
        if tr.implicit == 1:
            solve_ring(world, tr.first_link, tr.links, w.D, w.U, w.E, w.change)

    @wp.func
    def share_contacts(world: int, which: int, tr: Track, c: Tables, s: State, w: Scratch, h: real, last: int):
        """What the links really got from each contact goes, reversed, to the wheels."""
        ground = vec3()
        links_side = vec6()
        for at in range(tr.first_contact, tr.first_contact + w.found[world, which]):
            one_contact = w.contact[world, at]
            i = one_contact.link
            k = one_contact.wheel
            F = one_contact.push
            arm = one_contact.arm
            if tr.implicit == 1:
                b = w.change[world, i]
                du = vec3(b[0], b[1], b[2]) + wp.cross(vec3(b[3], b[4], b[5]), arm)
                n = one_contact.normal
                F = F - one_contact.across * du - (one_contact.along - one_contact.across) * wp.dot(du, n) * n
                if last == 1:
                    one_contact.push = F
                    w.contact[world, at] = one_contact
            if k == wp.static(t.GROUND):
                ground = ground + F
                if last == 1:
                    w.shoe_load[world, i] = w.shoe_load[world, i] + F
            else:
                lever = one_contact.lever
                w.wheel_wrench[world, k] = w.wheel_wrench[world, k] - wrench_of(F, wp.cross(lever, F))
                w.wheel_grip[world, k] = w.wheel_grip[world, k] + one_contact.across * wp.length_sq(lever)
                links_side = links_side + wrench_of(F, wp.cross(s.position[world, i] + arm, F))
                if last == 1 and c.teeth[k] > 0:
                    w.tooth_load[world, i] = w.tooth_load[world, i] + wp.dot(F, one_contact.normal)
        w.ground[world, which] = w.ground[world, which] + ground / real(tr.substeps)
        s.impulse[world, which] = s.impulse[world, which] + h * (ground + real(tr.links) * tr.mass * tr.gravity)
        w.links_side[world, which] = links_side

    @wp.func
    def push_carriers(world: int, which: int, tr: Track, c: Tables, s: State, w: Scratch, h: real):
        """Wheels turn with what acts about their axles; all else goes through the bearings to the carriers."""
        total = vec6()
        for k in range(tr.first_wheel, tr.first_wheel + tr.wheels):
            f = w.wheel_wrench[world, k]
            F = vec3(f[0], f[1], f[2])
            T = vec3(f[3], f[4], f[5])
            total = total + wrench_of(F, T + wp.cross(w.centre[world, k], F))
            w.wheel_mean[world, k] = w.wheel_mean[world, k] + f / real(tr.substeps)
            if c.turns[k] == wp.static(t.FREE):
                axle = w.axle[world, k]
                about = wp.dot(T, axle)
                drag = c.drag[k]
                turning = s.turning[world, k]
                change = h * (about - drag * turning) / (c.inertia[k] + h * (w.wheel_grip[world, k] + drag))
                s.turning[world, k] = turning + change
                T = T + (drag * turning - about) * axle
            b = tr.first_carrier + c.carrier[k]
            T = T + wp.cross(w.centre[world, k] - w.carrier_position[world, b], F)
            w.carrier_wrench[world, b] = w.carrier_wrench[world, b] + wrench_of(F, T) / real(tr.substeps)
        w.wheels_side[world, which] = total

    @wp.func
    def move_links(world: int, which: int, tr: Track, s: State, w: Scratch, h: real):
        """Positions with the new velocities; spins follow from the angular momentum, which turning does not change."""
        for i in range(tr.first_link, tr.first_link + tr.links):
            b = w.change[world, i]
            v = s.velocity[world, i] + vec3(b[0], b[1], b[2])
            spin = s.spin[world, i] + vec3(b[3], b[4], b[5])
            R = w.R[world, i]
            momentum = R * wp.cw_mul(tr.inertia, wp.transpose(R) * spin)
            q = moved(s.rotation[world, i], spin, h)
            R = wp.quat_to_matrix(q)
            s.velocity[world, i] = v
            s.position[world, i] = s.position[world, i] + h * v
            s.rotation[world, i] = q
            s.spin[world, i] = R * wp.cw_div(wp.transpose(R) * momentum, tr.inertia)
            if not (wp.length_sq(v) < real(1.0e6)):
                w.status[world, which] = wp.static(t.BROKEN)

    @wp.func
    def read_tensions(world: int, tr: Track, s: State, w: Scratch):
        for i in range(tr.first_link, tr.first_link + tr.links):
            j = next_link(tr.first_link, tr.links, i)
            x = wp.quat_rotate(s.rotation[world, i], vec3(one, zero, zero))
            y = wp.quat_rotate(s.rotation[world, i], vec3(zero, one, zero))
            arm_j = wp.quat_rotate(s.rotation[world, j], vec3(-half * tr.pitch, zero, zero))
            arm_i = s.position[world, j] + arm_j - s.position[world, i]
            rate = (
                s.velocity[world, j] + wp.cross(s.spin[world, j], arm_j)
                - s.velocity[world, i] - wp.cross(s.spin[world, i], arm_i)
            )  # fmt: skip
            d = arm_i - half * tr.pitch * x
            F = laws.bushing_force(d, rate, y, tr.radial, tr.axial, tr.c_radial, tr.c_axial, zero)
            w.tension[world, i] = -wp.dot(F, x)

    @wp.func
    def copy_state(world: int, which: int, tr: Track, a: State, b: State):
        for i in range(tr.first_link, tr.first_link + tr.links):
            b.position[world, i] = a.position[world, i]
            b.rotation[world, i] = a.rotation[world, i]
            b.velocity[world, i] = a.velocity[world, i]
            b.spin[world, i] = a.spin[world, i]
            row = tr.first_grip + (i - tr.first_link) * tr.markers
            for m in range(row, row + tr.markers):
                b.anchor[world, m] = a.anchor[world, m]
                b.gripped[world, m] = a.gripped[world, m]
        for k in range(tr.first_wheel, tr.first_wheel + tr.wheels):
            b.turning[world, k] = a.turning[world, k]
        b.impulse[world, which] = a.impulse[world, which]
        b.placed[world, which] = a.placed[world, which]

    @wp.func
    def leave_rut(world: int, tr: Track, g: Ground, tiles: Tiles, s: State, i: int):
        """Nodes below the plate of link i go down to where the soil springs back to; nothing is pushed aside."""
        R = wp.quat_to_matrix(s.rotation[world, i])
        x = s.position[world, i]
        up = vec3(R[0, 2], R[1, 2], R[2, 2])
        if up[2] < half:
            return
        reach_x = wp.abs(R[0, 0]) * half * tr.pitch + wp.abs(R[0, 1]) * half * tr.shoe_width
        reach_y = wp.abs(R[1, 0]) * half * tr.pitch + wp.abs(R[1, 1]) * half * tr.shoe_width
        i0 = wp.max(int(wp.ceil((x[1] - reach_y - tiles.y0) * tiles.per_spacing)), 0)
        i1 = wp.min(int(wp.floor((x[1] + reach_y - tiles.y0) * tiles.per_spacing)), tiles.rows - 1)
        j0 = wp.max(int(wp.ceil((x[0] - reach_x - tiles.x0) * tiles.per_spacing)), 0)
        j1 = wp.min(int(wp.floor((x[0] + reach_x - tiles.x0) * tiles.per_spacing)), tiles.columns - 1)
        stiffness = g.soil[0][0]
        for row in range(i0, i1 + 1):
            for column in range(j0, j1 + 1):
                dx = tiles.x0 + real(column) * tiles.spacing - x[0]
                dy = tiles.y0 + real(row) * tiles.spacing - x[1]
                plate = x[2] + (tr.edge_z - up[0] * dx - up[1] * dy) / up[2]
                at = wp.transpose(R) * vec3(dx, dy, plate - x[2])
                if wp.abs(at[0]) <= half * tr.pitch and wp.abs(at[1]) <= half * tr.shoe_width:
                    levels = node_levels(tiles, world, row, column)
                    if levels[0] > plate:
                        spring, slope = laws.rebound(levels[1] - plate, stiffness, g.modulus, g.exponent)
                        if levels[0] - plate > spring:
                            if touch(tiles, world, row / tile, column / tile):
                                slot = tiles.table[world, row / tile, column / tile]
                                old = tiles.levels[world, slot, row % tile, column % tile]
                                now = plate + spring
                                tiles.levels[world, slot, row % tile, column % tile] = vec4(
                                    now, old[1], wp.min(old[2], now), old[3]
                                )
                                tiles.stamp[world, slot] = tiles.stamp[world, slot] + 1

    @wp.kernel(module=module)
    def run_tracks(
        c: Tables, g: Ground, tiles: Tiles, committed: State, s: State, w: Scratch, first: int,
        step: wp.array(dtype=real),
        position: wp.array2d(dtype=vec3), rotation: wp.array2d(dtype=quat),
        velocity: wp.array2d(dtype=vec3), spin: wp.array2d(dtype=vec3),
    ):  # fmt: skip
        world, k = wp.tid()
        which = first + k
        tr = c.track[which]
        h = step[0] / real(tr.substeps)
        ahead = zero
        if tr.implicit == 1:
            ahead = h
        copy_state(world, which, tr, committed, s)
        take_carriers(world, tr, c, w, position, rotation, velocity, spin)
        place_wheels(world, tr, c, s, w)
        list_candidates(world, tr, c, s, w)
        list_grounded(world, which, tr, g, tiles, s, w)
        w.ground[world, which] = vec3()
        w.status[world, which] = wp.static(t.FINE)
        for i in range(tr.first_link, tr.first_link + tr.links):
            w.tooth_load[world, i] = zero
            w.shoe_load[world, i] = vec3()
        for sub in range(tr.substeps):
            place_wheels(world, tr, c, s, w)
            begin_links(world, which, tr, s, w)
            for i in range(tr.first_link, tr.first_link + tr.links):
                join(world, tr, s, w, i, h, ahead)
            for m in range(tr.first_wheel, tr.first_wheel + tr.wheels):
                at = tr.first_candidate + (m - tr.first_wheel) * tr.links
                for q in range(at, at + w.near[world, m]):
                    if c.teeth[m] > 0:
                        mesh_teeth(world, which, tr, c, s, w, m, w.candidate[world, q], h, ahead)
                    else:
                        roll(world, which, tr, c, s, w, m, w.candidate[world, q], h, ahead)
            for q in range(tr.first_link, tr.first_link + w.low[world, which]):
                stand(world, which, tr, c, g, tiles, s, w, w.grounded[world, q], h, ahead)
            change_velocities(world, tr, s, w, h)
            last = int(0)
            if sub == tr.substeps - 1:
                last = 1
            share_contacts(world, which, tr, c, s, w, h, last)
            push_carriers(world, which, tr, c, s, w, h)
            move_links(world, which, tr, s, w, h)
            move_carriers(world, tr, w, h)
        read_tensions(world, tr, s, w)

    @wp.kernel(module=module)
    def push_bodies(c: Tables, w: Scratch, wrench_out: wp.array2d(dtype=vec6), status_out: wp.array2d(dtype=wp.int32)):
        """Sums over tracks that share a body."""
        world = wp.tid()
        for row in range(wrench_out.shape[1]):
            wrench_out[world, row] = vec6()
            status_out[world, row] = 0
        for which in range(c.track.shape[0]):
            tr = c.track[which]
            for k in range(tr.first_carrier, tr.first_carrier + tr.carriers):
                row = c.out[k]
                wrench_out[world, row] = wrench_out[world, row] + w.carrier_wrench[world, k]
            if w.status[world, which] != 0:
                status_out[world, c.out[tr.first_carrier + tr.frame]] = w.status[world, which]

    @wp.kernel(module=module)
    def commit_tracks(
        c: Tables, g: Ground, tiles: Tiles, committed: State, s: State, w: Scratch,
        position: wp.array2d(dtype=vec3), rotation: wp.array2d(dtype=quat),
        velocity: wp.array2d(dtype=vec3), spin: wp.array2d(dtype=vec3),
    ):  # fmt: skip
        """The trial links become the links; at the start they are put where they were assembled, moving as one."""
        world, which = wp.tid()
        tr = c.track[which]
        if committed.placed[world, which] == 1:
            copy_state(world, which, tr, s, committed)
            if g.kind == wp.static(t.SOIL):
                for i in range(tr.first_link, tr.first_link + w.low[world, which]):
                    leave_rut(world, tr, g, tiles, s, w.grounded[world, i])
            return
        row = c.row[tr.first_carrier + tr.frame]
        q = rotation[world, row]
        for i in range(tr.first_link, tr.first_link + tr.links):
            arm = wp.quat_rotate(q, c.start_position[i])
            committed.position[world, i] = position[world, row] + arm
            committed.rotation[world, i] = wp.normalize(q * c.start_rotation[i])
            committed.velocity[world, i] = velocity[world, row] + wp.cross(spin[world, row], arm)
            committed.spin[world, i] = spin[world, row]
            grip = tr.first_grip + (i - tr.first_link) * tr.markers
            for m in range(grip, grip + tr.markers):
                committed.gripped[world, m] = 0
        for k in range(tr.first_wheel, tr.first_wheel + tr.wheels):
            committed.turning[world, k] = zero
        committed.impulse[world, which] = vec3()
        committed.placed[world, which] = 1
        copy_state(world, which, tr, committed, s)

    return SimpleNamespace(
        run_tracks=run_tracks, push_bodies=push_bodies, commit_tracks=commit_tracks, types=ty, module=module
    )
