"""Kernels of contact between bodies of revolution: elements of one surface mapped to the section of the other.

One thread a world does all of a step on a CPU; on a GPU lanes share a pair, with the same functions.
"""

from functools import cache
from types import SimpleNamespace

import warp as wp

from grouser.contact import clipping, penalty
from grouser.contact.revolution import laws
from grouser.contact.revolution import types as t
from grouser.contact.revolution.section import section_stages
from grouser.terrain.ground import natural

NEARLY_LOST = 0.95  # of the reach: deeper than this and the next step may find nothing
WIDER = 1.000001  # round-off of a bound


@cache
def revolution_kernels(name: str) -> SimpleNamespace:
    stages = section_stages(name)
    ty, shape_up, nearest, below = stages.types, stages.shape_up, stages.nearest, stages.below
    window, nearest_of = stages.window, stages.nearest_of
    p = ty.precision
    real, vec2, vec3, vec4, vec6, quat, mat33, mat66 = (
        p.real, p.vec2, p.vec3, p.vec4, p.vec6, p.quat, p.mat33, p.mat66,
    )  # fmt: skip
    Sections, Pairs, Places, Elements, Sums = ty.Sections, ty.Pairs, ty.Places, ty.Elements, ty.Sums
    polygon = ty.polygon
    module = wp.get_module(f"grouser.contact.revolution.{name}")
    module.options["enable_backward"] = False
    poses = wp.array2d(dtype=vec3)
    turns = wp.array2d(dtype=quat)
    wrenches = wp.array2d(dtype=vec6)
    blocks = wp.array2d(dtype=mat66)
    statuses = wp.array2d(dtype=wp.int32)
    sliver = wp.constant(real(p.slack * p.slack))  # of an element's area: less is round-off

    @wp.func
    def turned(q: quat, way: vec3):
        """Orientation after a turn by a rotation vector [rad], world axes."""
        angle = wp.length(way)
        if angle == real(0.0):
            return q
        return wp.normalize(wp.quat_from_axis_angle(way / angle, angle) * q)

    @wp.func
    def place(
        s: Sections, pairs: Pairs, places: Places, world: int, pair: int, ahead: real,
        position: poses, rotation: turns, velocity: poses, spinning: poses,
    ):  # fmt: skip
        """Relative pose `ahead` [s] from now (of pairs with the ground) and relative velocity now."""
        p1 = vec3()
        p2 = vec3()
        v1 = vec3()
        v2 = vec3()
        w1 = vec3()
        w2 = vec3()
        q1 = quat(real(0.0), real(0.0), real(0.0), real(1.0))
        q2 = quat(real(0.0), real(0.0), real(0.0), real(1.0))
        h = ahead
        if pairs.both_move[pair] == 1:
            h = real(0.0)
        one = pairs.row[pair, 0]
        two = pairs.row[pair, 1]
        if one >= 0:
            v1 = velocity[world, one]
            w1 = spinning[world, one]
            p1 = position[world, one] + h * v1
            q1 = turned(rotation[world, one], h * w1)
        if two >= 0:
            v2 = velocity[world, two]
            w2 = spinning[world, two]
            p2 = position[world, two] + h * v2
            q2 = turned(rotation[world, two], h * w2)
        first = pairs.surface[pair, 0]
        second = pairs.surface[pair, 1]
        arm1 = wp.quat_rotate(q1, s.mount[first])
        arm2 = wp.quat_rotate(q2, s.mount[second])
        R1 = wp.quat_to_matrix(q1) * s.mount_turn[first]
        R2 = wp.quat_to_matrix(q2) * s.mount_turn[second]
        into = wp.transpose(R2)
        between = p1 - p2
        places.position[world, pair] = into * (between + arm1 - arm2)
        places.rotation[world, pair] = into * R1
        places.velocity[world, pair] = into * (v1 - v2 + wp.cross(w1, arm1) - wp.cross(w2, between + arm1))
        places.spin[world, pair] = into * (w1 - w2)
        places.centre[world, pair] = into * (wp.where(one >= 0, between, vec3()) - arm2)
        places.apart[world, pair] = between
        places.world_position[world, pair] = p2 + arm2
        places.world_rotation[world, pair] = R2
        v = v1
        w = w1
        if one < 0:
            v = v2
            w = w2
        return vec6(v[0], v[1], v[2], w[0], w[1], w[2])

    @wp.func
    def place_ahead(
        s: Sections, pairs: Pairs, places: Places, e: Elements, sums: Sums, world: int, pair: int,
        position: poses, rotation: turns, velocity: poses, spinning: poses,
    ):  # fmt: skip
        """Poses at the end of the step; sums start at nil."""
        places.twist[world, pair] = place(
            s, pairs, places, world, pair, pairs.step[0], position, rotation, velocity, spinning
        )
        sums.wrench[world, pair] = vec6()
        sums.block[world, pair] = mat66()
        sums.depth[world, pair] = real(0.0)
        sums.area[world, pair] = real(0.0)
        sums.stiffness[world, pair] = real(0.0)
        sums.polygons[world, pair] = 0
        sums.flags[world, pair] = 0
        sums.touched[world, pair] = 0
        for k in range(t.COUNTS):
            e.counts[world, pair, k] = 0

    @wp.func
    def assemble(push: mat33, mixed: mat33, turn: mat33):
        """B from its blocks: force by velocity, force by spin, torque by spin."""
        B = mat66()
        for r in range(3):
            for c in range(3):
                B[r, c] = push[r, c]
                B[r, 3 + c] = mixed[r, c]
                B[3 + c, r] = mixed[r, c]
                B[3 + r, 3 + c] = turn[r, c]
        return B

    @wp.func
    def in_plane(x: vec3):
        """A point in the half plane (r, z)."""
        return vec2(wp.sqrt(x[0] * x[0] + x[1] * x[1]), x[2])

    @wp.func
    def in_space(m: vec2, x: vec3, r: real):
        """A direction (r, z) at the point x of radius r."""
        if r > real(0.0):
            return vec3(m[0] * x[0] / r, m[0] * x[1] / r, m[1])
        return vec3(m[0], real(0.0), m[1])

    @wp.func
    def shape_speed(s: Sections, world: int, line: int, share: real):
        """Speed (r, z) [m/s] of a section's shape at the share of a line."""
        a = s.speed[world, line]
        return a + share * (s.speed[world, line + 1] - a)

    @wp.func
    def ring_is_near(s: Sections, world: int, block: int, other: int, at: vec3, axis: vec3, grow: real):
        """Whether a block of lines, turned round its axis, can come within `grow` [m] of the other section."""
        low, high = laws.ring_bounds(at, axis, s.low[world, block], s.high[world, block])
        for b in range(s.first_block[other], s.first_block[other + 1]):
            gap = wp.max(low - s.high[world, b], s.low[world, b] - high)
            if wp.max(gap[0], gap[1]) <= grow:
                return True
        return False

    @wp.func
    def patch_is_near(
        s: Sections, world: int, one: int, two: int, block: int, sector: int, count: int, at: vec3,
        Rx: vec3, Ry: vec3, Rz: vec3, reach: real, slack: real,
    ):  # fmt: skip
        """Whether `count` sectors of a block of lines can touch the other section: by the ball round them."""
        half = real(0.5)
        low = s.low[world, block]
        high = s.high[world, block]
        mid = half * (low + high)
        sectors = s.sectors[one]
        middle = natural((sector + count / 2) % sectors)
        a = s.angle[s.first_angle[one] + middle * (3 + s.refine[one])]
        q = in_plane(at + mid[1] * Rz + mid[0] * (a[0] * Rx + a[1] * Ry))
        wide = high[0] * real(6.283185307179586) / real(sectors) * real(count / 2 + 1)
        size = half * wp.length(high - low)
        size = wp.sqrt(size * size + wide * wide) + slack
        line, along, gap2 = nearest(s, world, two, q, size + reach)
        if line < 0:
            return False
        depth, m, share, past = below(s, world, two, q, line, along)
        return depth >= -size and past <= size

    @wp.func
    def inside(
        l: real, w0: real, w1: real, d: real, dx: real, dy: real, past: real, past_x: real, past_y: real, clipped: bool
    ):
        """Part of an element, sides 2 l along the section and 2 w0, 2 w1 across, where d + dx x + dy y is above 0 and
        which lies within the edge of the other surface: area and centroid."""
        wide = wp.max(w0, w1)
        most = wp.abs(dx) * l + wp.abs(dy) * wide
        if d + most <= real(0.0):
            return real(0.0), real(0.0), real(0.0)
        if d - most >= real(0.0) and not clipped:
            return real(2.0) * l * (w0 + w1), l * (w1 - w0) / (real(3.0) * (w0 + w1)), real(0.0)
        px = polygon()
        py = polygon()
        px[0] = -l
        px[1] = l
        px[2] = l
        px[3] = -l
        py[0] = -w0
        py[1] = -w1
        py[2] = w1
        py[3] = w0
        count = int(4)
        px, py, count = clipping.cut(px, py, count, dx, dy, d)
        if clipped and count > 2:
            px, py, count = clipping.cut(px, py, count, -past_x, -past_y, -past)
        if count < 3:
            return real(0.0), real(0.0), real(0.0)
        M, Mx, My, Mxx, Mxy, Myy = clipping.moments(px, py, count)
        if M <= sliver * l * wide:
            return real(0.0), real(0.0), real(0.0)
        return M, Mx / M, My / M

    @wp.func
    def element_friction(
        pairs: Pairs, e: Elements, world: int, pair: int, own: int, implicit: bool,
        normal: vec3, law: vec4, way: vec3, mid_velocity: vec3, velocity: vec3,
    ):  # fmt: skip
        """Friction of an element and its weight in the implicit block; `way` from its stick point, if it has one."""
        h = pairs.step[0]
        state = int(t.FREE)
        if e.seen[world, own] == e.tick[world]:
            state = e.state[world, own]
        xi = way
        if state == t.FREE:
            xi = vec3()
            if implicit:
                xi = h * mid_velocity
        xi = xi - wp.dot(xi, normal) * normal
        v = velocity - wp.dot(velocity, normal) * normal
        speed = wp.length(v)
        slipping = wp.where(state == t.SLIPPING, 1, 0)
        limit = penalty.friction_limit(slipping, speed, pairs.stick_speed[pair], law[2], law[3])
        drag, slips = penalty.friction(law[0] * xi + law[1] * v, limit, law[3])
        weight = h * law[0] + law[1]
        if slips == 1:
            weight = penalty.grip(weight, law[3], speed)
        return drag, h * weight

    @wp.func
    def press(s: Sections, pairs: Pairs, places: Places, e: Elements, sums: Sums, world: int, pair: int, lane: int):
        """Normal force of every part of an element, friction of every element, implicit block of the pair.

        Blocks of lines, then patches, then elements are passed over where they cannot touch. An element whose border
        may be cut is divided, each part with the tangent plane of the depth; one that lies deep is integrated by
        Gauss's rule of 2 x 2 points. Against the ground the geometry is that at the end of the step, as in polygonal
        contact.
        """
        zero = real(0.0)
        half = real(0.5)
        h = pairs.step[0]
        at = places.position[world, pair]
        R = places.rotation[world, pair]
        Rx = vec3(R[0, 0], R[1, 0], R[2, 0])
        Ry = vec3(R[0, 1], R[1, 1], R[2, 1])
        Rz = vec3(R[0, 2], R[1, 2], R[2, 2])
        velocity = places.velocity[world, pair]
        spin = places.spin[world, pair]
        centre = places.centre[world, pair]
        implicit = pairs.both_move[pair] == 0
        now = zero  # from the depth at the end of the step to the depth now
        slack = zero
        if implicit:
            now = h
            slack = h * (wp.length(velocity) + pairs.radius[pair] * wp.length(spin))
        reach = pairs.reach[pair] + slack
        one = pairs.surface[pair, 0]
        two = pairs.surface[pair, 1]
        slack += s.height[world, one] + s.height[world, two]
        first = s.first[one]
        last = s.first[one + 1] - 1
        first_block = s.first_block[one]
        block_count = s.first_block[one + 1] - first_block
        sectors = s.sectors[one]
        group = t.ARC * t.ARCS
        arcs = (sectors + group - 1) / group
        refine = s.refine[one]
        stride = 3 + refine
        step_angle = real(6.283185307179586) / real(sectors)
        base = pairs.first_element[pair]
        sign = s.sign[one]
        force = vec3()
        moment = vec3()
        push = mat33()
        mixed = mat33()
        turn = mat33()
        deepest = zero
        whole = zero
        stiffness = zero
        polygons = int(0)
        touched = int(0)
        flags = int(0)
        tests = int(0)
        queries = int(0)
        looked_at = int(-1)
        near = bool(False)
        for patch in range(lane, block_count * arcs, pairs.lanes):
            block = first_block + patch / arcs
            if block != looked_at:
                looked_at = block
                near = ring_is_near(s, world, block, two, at, Rz, reach + slack)
            if not near:
                continue
            first_sector = (patch % arcs) * group
            queries += 1
            if not patch_is_near(s, world, one, two, block, first_sector, group, at, Rx, Ry, Rz, reach, slack):
                continue
            start = first + (block - first_block) * t.BLOCK
            close = bool(False)
            for sector in range(first_sector, wp.min(first_sector + group, sectors)):
                if sector % t.ARC == 0:
                    queries += 1
                    close = patch_is_near(s, world, one, two, block, sector, t.ARC, at, Rx, Ry, Rz, reach, slack)
                if not close:
                    continue
                table = s.first_angle[one] + sector * stride
                a = s.angle[natural(table)]
                e_r = a[0] * Rx + a[1] * Ry
                e_p = a[0] * Ry - a[1] * Rx
                for k in range(start, wp.min(start + t.BLOCK, last)):
                    line_k = natural(k)
                    p0 = s.point[world, line_k]
                    p1 = s.point[world, line_k + 1]
                    length = s.length[world, line_k]
                    u = s.along[world, line_k]
                    n2 = laws.outward(u, sign)
                    mid = half * (p0 + p1)
                    wide = half * step_angle * wp.max(p0[0], p1[0])
                    size = wp.sqrt(real(0.25) * length * length + wide * wide) + slack
                    mid += laws.bulge(s.tilt[world, line_k], half) * n2
                    x = at + mid[1] * Rz + mid[0] * e_r
                    q = in_plane(x)
                    tests += 1
                    line, along, gap2 = nearest(s, world, two, q, size + reach)
                    if line < 0:
                        continue
                    depth, m2, share, past = below(s, world, two, q, line, along)
                    if depth < -size or past > size:
                        continue
                    m = in_space(m2, x, q[0])
                    v = velocity + wp.cross(spin, x - at)
                    bound = depth  # that decides on what is in contact: now, where the two part
                    if implicit:
                        bound += h * wp.max(wp.dot(v, m), zero)
                    curved = s.bend[world, line_k] + s.bend[world, natural(line)]
                    curved += wp.abs(m2[0]) / wp.max(q[0], size) + wp.abs(n2[0]) / wp.max(mid[0], wide)
                    spread = half * length * wp.abs(wp.dot(m, u[0] * e_r + u[1] * Rz)) + wide * wp.abs(wp.dot(m, e_p))
                    spread += half * curved * size * size
                    deep = laws.inner_share(bound, spread)
                    if past > -size:
                        deep = zero
                    from_line, to_line = window(s, world, two, q, real(WIDER) * (wp.sqrt(gap2) + real(2.0) * size))
                    start_n = s.start[world, line_k]
                    end_n = s.end[world, line_k]
                    tilt = s.tilt[world, line_k]
                    area = zero
                    middle = vec3()
                    load = zero
                    pressed = vec3()
                    carried = vec3()
                    tangential = vec4()
                    for part in range(2):
                        part_share = wp.where(part == 0, real(1.0) - deep, deep)
                        if part_share <= zero:
                            continue
                        n = wp.where(part == 0, refine, 2)
                        l = half * length / real(n)
                        for i in range(n):
                            a = s.angle[natural(table + wp.where(part == 0, 3 + i, 1 + i))]
                            e_i = a[0] * Rx + a[1] * Ry
                            e_c = a[0] * Ry - a[1] * Rx
                            for j in range(n):
                                f = (real(j) + half) / real(n)
                                if part == 1:
                                    f = half + real(2 * j - 1) * real(laws.GAUSS)
                                pf = p0 + f * (p1 - p0) + laws.bulge(tilt, f) * n2
                                nf = laws.blend(start_n, end_n, f)
                                n3 = nf[0] * e_i + nf[1] * Rz
                                u3 = sign * (nf[0] * Rz - nf[1] * e_i)
                                x = at + pf[1] * Rz + pf[0] * e_i
                                q = in_plane(x)
                                queries += 1
                                line, along = nearest_of(s, world, from_line, to_line, q)
                                depth, m2, share, past = below(s, world, two, q, line, along)
                                m = in_space(m2, x, q[0])
                                g = -wp.dot(n3, m)
                                if g <= zero:
                                    continue
                                line = natural(line)
                                drift2 = s.speed[world, line] + share * (
                                    s.speed[world, line + 1] - s.speed[world, line]
                                )
                                drift = in_space(drift2, x, q[0])
                                grow2 = s.speed[world, line_k] + f * (
                                    s.speed[world, line_k + 1] - s.speed[world, line_k]
                                )
                                v = velocity + wp.cross(spin, x - at) + grow2[0] * e_i + grow2[1] * Rz - drift
                                out = wp.dot(v, m)
                                bound = depth
                                if implicit:
                                    bound += h * wp.max(out, zero)
                                dx = -wp.dot(u3, m)
                                dy = -wp.dot(e_c, m)
                                M = zero
                                cx = zero
                                cy = zero
                                if part == 1:
                                    if bound > zero:
                                        M = l * step_angle * pf[0]  # a quarter of the element
                                else:
                                    w = half * step_angle / real(n)
                                    dw = half * (p1[0] - p0[0]) / real(n)
                                    clipped = past > -wp.sqrt(
                                        l * l + w * w * (pf[0] + wp.abs(dw)) * (pf[0] + wp.abs(dw))
                                    )
                                    past_x = zero
                                    past_y = zero
                                    if clipped:
                                        u2 = s.along[world, line]
                                        if along < half * s.length[world, line]:
                                            u2 = -u2
                                        edge = in_space(u2, x, q[0])
                                        past_x = wp.dot(edge, u3)
                                        past_y = wp.dot(edge, e_c)
                                    M, cx, cy = inside(
                                        l,
                                        w * (pf[0] - dw),
                                        w * (pf[0] + dw),
                                        bound,
                                        dx,
                                        dy,
                                        past,
                                        past_x,
                                        past_y,
                                        clipped,
                                    )
                                if M <= zero:
                                    continue
                                M = part_share * M
                                point = x + cx * u3 + cy * e_c
                                depth += dx * cx + dy * cy
                                if depth > reach:
                                    continue
                                v += wp.cross(spin, point - x)
                                out = wp.dot(v, m)
                                law = pairs.contacts[
                                    pairs.first_contact[pair] + s.layer[line_k] * pairs.layers[pair] + s.layer[line]
                                ]
                                elastic = law.c * depth * M
                                outgoing = out * M
                                damping = law.d * penalty.damping_share(depth, law.s_d0)
                                damping = penalty.release_damping(elastic, damping, outgoing)
                                N = g * (elastic - damping * outgoing)
                                if N <= zero and not implicit:
                                    continue
                                touched = 1
                                arm = point - centre
                                force += N * m
                                moment += wp.cross(arm, N * m)
                                if implicit:
                                    weight = g * h * (h * law.c + damping) * M
                                    lever = wp.cross(arm, m)
                                    push += wp.outer(weight * m, m)
                                    mixed += wp.outer(weight * m, lever)
                                    turn += wp.outer(weight * lever, lever)
                                held = wp.min(N, N + g * law.c * now * outgoing)
                                if held <= zero:
                                    continue
                                if part == 0 or (deep == real(1.0) and i + j == 0):
                                    polygons += 1
                                load += held
                                pressed += held * m
                                carried += held * drift
                                area += M
                                middle += M * point
                                stiffness += g * law.c * M
                                tangential = tangential + vec4(
                                    law.c_t * M, law.d_t * M, law.mu_stick * held, law.mu_slip * held
                                )
                                depth += now * out
                                deepest = wp.max(deepest, depth)
                                if depth > law.thickness:
                                    flags = flags | (1 << t.DEEP)
                                if depth > real(NEARLY_LOST) * pairs.reach[pair]:
                                    flags = flags | (1 << t.LOST)
                                if law.far == 1:
                                    flags = flags | (1 << t.KAPPA)
                    if load > zero:
                        whole += area
                        point = middle / area
                        normal = wp.normalize(pressed)
                        drift = carried / load
                        mid3 = at + mid[1] * Rz + mid[0] * e_r
                        own = base + (k - first) * sectors + sector
                        grow = shape_speed(s, world, line_k, half)
                        growth = grow[0] * e_r + grow[1] * Rz - drift
                        drag, weight = element_friction(
                            pairs, e, world, pair, own, implicit, normal, tangential,
                            mid3 - e.anchor[world, own], velocity + wp.cross(spin, mid3 - at) + growth,
                            velocity + wp.cross(spin, point - at) + growth,
                        )  # fmt: skip
                        lever = point - centre
                        force += drag
                        moment += wp.cross(lever, drag)
                        slot = base + wp.atomic_add(e.counts, world, pair, t.ACTIVE, 1)
                        e.active[world, slot] = own - base
                        e.area[world, slot] = area
                        e.load[world, slot] = load
                        e.normal[world, slot] = normal
                        e.centre[world, slot] = point
                        e.carry[world, slot] = drift
                        e.tangential[world, slot] = tangential
                        if implicit:
                            tangent = wp.diag(vec3(weight, weight, weight)) - wp.outer(weight * normal, normal)
                            cross = wp.skew(lever)
                            push += tangent
                            mixed = mixed - tangent * cross
                            turn = turn - cross * (tangent * cross)
        wp.atomic_add(e.counts, world, pair, t.TESTS, tests)
        wp.atomic_add(e.counts, world, pair, t.QUERIES, queries)
        if touched == 1:
            wp.atomic_add(sums.wrench, world, pair, vec6(force[0], force[1], force[2], moment[0], moment[1], moment[2]))
            wp.atomic_add(sums.block, world, pair, assemble(push, mixed, turn))
            wp.atomic_max(sums.depth, world, pair, deepest)
            wp.atomic_add(sums.area, world, pair, whole)
            wp.atomic_add(sums.stiffness, world, pair, stiffness)
            wp.atomic_add(sums.polygons, world, pair, polygons)
            wp.atomic_or(sums.flags, world, pair, flags)
            sums.touched[world, pair] = 1

    @wp.func
    def worse(status: statuses, world: int, row: int, kind: int, pair: int):
        """Keep the gravest status of a body."""
        if row >= 0 and kind > status[world, row] % t.KINDS:
            status[world, row] = kind + t.KINDS * pair

    @wp.func
    def in_world(R: mat33, B: mat66):
        """A block turned from the second surface's axes into the world's."""
        push = mat33()
        mixed = mat33()
        turn = mat33()
        for r in range(3):
            for c in range(3):
                push[r, c] = B[r, c]
                mixed[r, c] = B[r, 3 + c]
                turn[r, c] = B[3 + r, 3 + c]
        back = wp.transpose(R)
        return assemble(R * push * back, R * mixed * back, R * turn * back)

    @wp.func
    def gather(
        pairs: Pairs, places: Places, sums: Sums, world: int,
        wrench_out: wrenches, implicit_out: blocks, status_out: statuses,
    ):  # fmt: skip
        """Pair sums to the bodies of one world: exactly opposite wrenches, blocks for pairs with the ground."""
        for row in range(wrench_out.shape[1]):
            wrench_out[world, row] = vec6()
            implicit_out[world, row] = mat66()
            status_out[world, row] = 0
        for pair in range(pairs.named.shape[0]):
            one = pairs.out[pair, 0]
            two = pairs.out[pair, 1]
            named = vec6()
            block = mat66()
            if sums.touched[world, pair] == 1:
                R = places.world_rotation[world, pair]
                f = sums.wrench[world, pair]
                force = R * vec3(f[0], f[1], f[2])
                moment = R * vec3(f[3], f[4], f[5])
                here = vec6(force[0], force[1], force[2], moment[0], moment[1], moment[2])
                there = -here
                if pairs.both_move[pair] == 1:
                    shifted = moment + wp.cross(places.apart[world, pair], force)
                    there = -vec6(force[0], force[1], force[2], shifted[0], shifted[1], shifted[2])
                else:
                    block = in_world(R, sums.block[world, pair])
                if one >= 0:
                    wrench_out[world, one] = wrench_out[world, one] + here
                    implicit_out[world, one] = implicit_out[world, one] + block
                if two >= 0:
                    wrench_out[world, two] = wrench_out[world, two] + there
                    implicit_out[world, two] = implicit_out[world, two] + block
                named = wp.where(pairs.named[pair] == 0, here, there)
            sums.named_wrench[world, pair] = named
            sums.named_block[world, pair] = block
            flags = sums.flags[world, pair]
            kind = int(t.FINE)
            if (flags & (1 << t.KAPPA)) != 0 and sums.said[world, pair] == 0:
                kind = int(t.KAPPA)
            if (flags & (1 << t.DEEP)) != 0:
                kind = int(t.DEEP)
            if pairs.both_move[pair] == 1 and sums.stiffness[world, pair] > pairs.stiffest[pair]:
                kind = int(t.STIFF)
            if (flags & (1 << t.LOST)) != 0:
                kind = int(t.LOST)
            worse(status_out, world, one, kind, pair)
            worse(status_out, world, two, kind, pair)

    @wp.func
    def place_now(
        s: Sections, pairs: Pairs, places: Places, sums: Sums, world: int, pair: int,
        position: poses, rotation: turns, velocity: poses, spinning: poses,
    ):  # fmt: skip
        """Poses after the step, and what it gave the named body: f - B (v+ - v) / h."""
        twist = place(s, pairs, places, world, pair, real(0.0), position, rotation, velocity, spinning)
        gained = (real(1.0) / pairs.step[0]) * (twist - places.twist[world, pair])
        sums.effective[world, pair] = sums.named_wrench[world, pair] - sums.named_block[world, pair] * gained
        if (sums.flags[world, pair] & (1 << t.KAPPA)) != 0:
            sums.said[world, pair] = 1

    @wp.func
    def stick(s: Sections, pairs: Pairs, places: Places, e: Elements, world: int, pair: int, lane: int):
        """Stick points after the step: stay, follow the slip, or begin; 000 eq. 2 with return mapping."""
        h = pairs.step[0]
        at = places.position[world, pair]
        R = places.rotation[world, pair]
        velocity = places.velocity[world, pair]
        spin = places.spin[world, pair]
        base = pairs.first_element[pair]
        one = pairs.surface[pair, 0]
        sectors = s.sectors[one]
        stride = 3 + s.refine[one]
        tick = e.tick[world]
        for slot in range(base + lane, base + e.counts[world, pair, t.ACTIVE], pairs.lanes):
            element = e.active[world, slot]
            own = base + element
            line = s.first[one] + element / sectors
            a = s.angle[s.first_angle[one] + (element % sectors) * stride]
            half = real(0.5)
            middle = half * (s.point[world, line] + s.point[world, line + 1])
            middle += laws.bulge(s.tilt[world, line], half) * laws.outward(s.along[world, line], s.sign[one])
            grow = shape_speed(s, world, line, half)
            arm = R * vec3(middle[0] * a[0], middle[0] * a[1], middle[1])
            mid = at + arm
            carry = e.carry[world, slot]
            v = velocity + wp.cross(spin, arm) + R * vec3(grow[0] * a[0], grow[0] * a[1], grow[1]) - carry
            normal = e.normal[world, slot]
            v = v - wp.dot(v, normal) * normal
            state = int(t.FREE)
            if e.seen[world, own] == tick:
                state = e.state[world, own]
            way = h * v
            if state != t.FREE:
                way = mid - e.anchor[world, own] - h * carry
                way = way - wp.dot(way, normal) * normal
            law = e.tangential[world, slot]
            trial = law[0] * way + law[1] * v
            slipping = wp.where(state == t.SLIPPING, 1, 0)
            limit = penalty.friction_limit(slipping, wp.length(v), pairs.stick_speed[pair], law[2], law[3])
            kept, slips = penalty.elastic_way(way, trial, limit, law[3], law[0])
            e.anchor[world, own] = mid - kept
            e.state[world, own] = wp.where(slips == 1, int(t.SLIPPING), int(t.STUCK))
            e.seen[world, own] = tick + 1

    # ---- one thread a world ---------------------------------------------------------------------------

    @wp.kernel(module=module)
    def evaluate_world(
        s: Sections, pairs: Pairs, places: Places, e: Elements, sums: Sums,
        position: poses, rotation: turns, velocity: poses, spinning: poses,
        wrench_out: wrenches, implicit_out: blocks, status_out: statuses,
    ):  # fmt: skip
        world = wp.tid()
        for surface in range(s.sign.shape[0]):
            shape_up(s, world, surface)
        for pair in range(pairs.named.shape[0]):
            place_ahead(s, pairs, places, e, sums, world, pair, position, rotation, velocity, spinning)
            press(s, pairs, places, e, sums, world, pair, 0)
        gather(pairs, places, sums, world, wrench_out, implicit_out, status_out)

    @wp.kernel(module=module)
    def commit_world(
        s: Sections, pairs: Pairs, places: Places, e: Elements, sums: Sums,
        position: poses, rotation: turns, velocity: poses, spinning: poses,
    ):  # fmt: skip
        world = wp.tid()
        for pair in range(pairs.named.shape[0]):
            place_now(s, pairs, places, sums, world, pair, position, rotation, velocity, spinning)
            stick(s, pairs, places, e, world, pair, 0)
        e.tick[world] = e.tick[world] + 1

    # ---- lanes of a pair, for a GPU ------------------------------------------------------------------------

    @wp.kernel(module=module)
    def shape_up_surfaces(s: Sections):
        world, surface = wp.tid()
        shape_up(s, world, surface)

    @wp.kernel(module=module)
    def place_pairs_ahead(
        s: Sections, pairs: Pairs, places: Places, e: Elements, sums: Sums,
        position: poses, rotation: turns, velocity: poses, spinning: poses,
    ):  # fmt: skip
        world, pair = wp.tid()
        place_ahead(s, pairs, places, e, sums, world, pair, position, rotation, velocity, spinning)

    @wp.kernel(module=module)
    def press_lanes(s: Sections, pairs: Pairs, places: Places, e: Elements, sums: Sums):
        world, pair, lane = wp.tid()
        press(s, pairs, places, e, sums, world, pair, lane)

    @wp.kernel(module=module)
    def gather_worlds(
        pairs: Pairs, places: Places, sums: Sums, wrench_out: wrenches, implicit_out: blocks, status_out: statuses
    ):
        gather(pairs, places, sums, wp.tid(), wrench_out, implicit_out, status_out)

    @wp.kernel(module=module)
    def place_pairs_now(
        s: Sections, pairs: Pairs, places: Places, sums: Sums,
        position: poses, rotation: turns, velocity: poses, spinning: poses,
    ):  # fmt: skip
        world, pair = wp.tid()
        place_now(s, pairs, places, sums, world, pair, position, rotation, velocity, spinning)

    @wp.kernel(module=module)
    def stick_lanes(s: Sections, pairs: Pairs, places: Places, e: Elements):
        world, pair, lane = wp.tid()
        stick(s, pairs, places, e, world, pair, lane)

    @wp.kernel(module=module)
    def count_steps(e: Elements):
        world = wp.tid()
        e.tick[world] = e.tick[world] + 1

    return SimpleNamespace(
        module=module, types=ty, evaluate_world=evaluate_world, commit_world=commit_world,
        shape_up_surfaces=shape_up_surfaces, place_pairs_ahead=place_pairs_ahead, press_lanes=press_lanes,
        gather_worlds=gather_worlds, place_pairs_now=place_pairs_now, stick_lanes=stick_lanes,
        count_steps=count_steps,
    )  # fmt: skip
