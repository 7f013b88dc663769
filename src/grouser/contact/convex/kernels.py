"""Kernels of convex contact: who may touch, and for pairs that do, forces at their points and sums to the bodies."""

from functools import cache
from types import SimpleNamespace
from typing import Any

import warp as wp

from grouser.contact import penalty
from grouser.contact.convex import laws
from grouser.contact.convex.patch import patches
from grouser.contact.convex.types import (
    CANDIDATES,
    CONTACTS,
    CORNERS,
    FREE,
    FULL,
    OVERFLOW,
    POINTS,
    SEEN,
    SLIPPING,
    STUCK,
    convex_types,
)

ALIKE = 0.99  # cosine between normals of contacts of one part that share their stick state


@cache
def convex_kernels(name: str, law: Any = laws.penalty_pressure) -> SimpleNamespace:
    """Kernels for one float type and one point law."""
    ty, where = convex_types(name), patches(name)
    p = ty.precision
    real, vec3, vec6, mat33, mat66, quat = p.real, p.vec3, p.vec6, p.mat33, p.mat66, p.quat
    Solids, Places, Found, Sticks, Contacts = ty.Solids, ty.Places, ty.Found, ty.Sticks, ty.Contacts
    Felt = ty.Felt
    place_of, meeting, velocity_at, patch = where.place_of, where.meeting, where.velocity_at, where.patch
    module = wp.get_module(f"grouser.contact.convex.{name}.{law.key}")
    module.options["enable_backward"] = False

    @wp.func
    def matrix(q: quat):
        return wp.quat_to_matrix(q)

    @wp.kernel(module=module)
    def search(
        s: Solids, places: Places, found: Found, sticks: Sticks,
        position: wp.array2d(dtype=vec3), rotation: wp.array2d(dtype=quat),
        velocity: wp.array2d(dtype=vec3), spin: wp.array2d(dtype=vec3),
    ):  # fmt: skip
        """Poses now and ahead, boxes, candidates: course pieces near a part, parts of other bodies near it."""
        h = s.step[0]
        for part in range(s.parts):
            row = s.row[part]
            x = position[0, row]
            v = velocity[0, row]
            w = spin[0, row]
            q = rotation[0, row]
            places.position[part] = x
            places.rotation[part] = matrix(q)
            places.velocity[part] = v
            places.spin[part] = w
            x = x + h * v
            angle = h * wp.length(w)
            if angle > real(0.0):
                q = wp.quat_from_axis_angle(wp.normalize(w), angle) * q
            R = matrix(q)
            places.ahead_position[part] = x
            places.ahead_rotation[part] = R
            low = vec3(real(1.0e30), real(1.0e30), real(1.0e30))
            high = -low
            for k in range(s.first_vertex[part], s.first_vertex[part + 1]):
                at = x + R * s.vertex[k]
                low = wp.min(low, at)
                high = wp.max(high, at)
            reach = h * (wp.length(v) + s.radius[part] * wp.length(w)) + real(1.0e-6)
            pad = vec3(reach, reach, reach)
            places.low[part] = low - pad
            places.high[part] = high + pad
        count = int(0)
        seen = int(0)
        room = found.reach.shape[0]
        for part in range(s.parts):
            low = places.low[part]
            high = places.high[part]
            reach = h * (wp.length(places.velocity[part]) + s.radius[part] * wp.length(places.spin[part]))
            if s.bvh != wp.uint64(0):
                # the tree has float32 boxes, padded when it was made
                query = wp.bvh_query_aabb(s.bvh, wp.vec3(low), wp.vec3(high))
                piece = wp.int32(0)
                while wp.bvh_query_next(query, piece):
                    seen += 1
                    if count < room:
                        found.pair[count, 0] = part
                        found.pair[count, 1] = s.parts + piece
                        found.reach[count] = reach
                    count += 1
        for k in range(s.between.shape[0]):
            a = s.between[k, 0]
            b = s.between[k, 1]
            apart = int(0)
            for i in range(3):
                if places.low[a][i] > places.high[b][i] or places.low[b][i] > places.high[a][i]:
                    apart = 1
            seen += 1
            if apart == 0:
                if count < room:
                    found.pair[count, 0] = a
                    found.pair[count, 1] = b
                    found.reach[count] = real(0.0)
                count += 1
        found.counts[OVERFLOW] = wp.where(count > room, 1, 0)
        count = wp.min(count, room)
        found.counts[CANDIDATES] = count
        found.counts[SEEN] = seen
        for k in range(count):
            guess = vec3(real(1.0), real(0.0), real(0.0))
            for j in range(sticks.count[0]):
                if sticks.pair[j, 0] == found.pair[k, 0] and sticks.pair[j, 1] == found.pair[k, 1]:
                    guess = -sticks.normal[j]
            found.guess[k] = guess

    @wp.func
    def stick_of(s: Solids, sticks: Sticks, a: int, b: int, x: vec3, R: mat33, normal: vec3, centre: vec3, area: real):
        """State a contact begins the step with, at `centre`: its own or that of a contact across a seam.

        Pressure is taken from the broadest of them, and no more load than it bore.
        """
        own = int(-1)
        broad = int(-1)
        most = real(0.0)
        for j in range(sticks.count[0]):
            least = real(2.0)  # a cosine that cannot be
            if sticks.pair[j, 0] == a:
                if sticks.pair[j, 1] == b:
                    least = real(0.5)
                elif b >= s.parts and sticks.pair[j, 1] >= s.parts:
                    least = real(ALIKE)
            if wp.dot(sticks.normal[j], normal) > least:
                if sticks.pair[j, 1] == b:
                    own = j
                if sticks.area[j] > most:
                    most = sticks.area[j]
                    broad = j
        if own < 0:
            own = broad
        state = int(FREE)
        xi = vec3()
        phi = real(0.0)
        pressure = real(0.0)
        slope = vec3()
        if own >= 0:
            # the load and the stick force are kept where a patch grows, the pressure and the way across a seam
            state = sticks.state[own]
            share = wp.min(real(1.0), sticks.area[broad] / area)
            shift = centre - x - R * sticks.centre[broad]
            phi = share * sticks.phi[broad] * wp.dot(sticks.normal[broad], normal)
            xi = share * sticks.xi[broad] + phi * wp.cross(normal, shift)
            xi = xi - wp.dot(xi, normal) * normal
            slope = share * sticks.slope[broad]
            pressure = share * sticks.pressure[broad] + wp.dot(slope, shift)
        return state, xi, phi, pressure, slope

    @wp.func
    def block_add(B: mat66, arm: vec3, K: mat33):
        """B + J^T K J with J = [I, -arm x]."""
        cross = wp.skew(arm)
        mixed = -K * cross
        turn = cross * mixed
        for r in range(3):
            for c in range(3):
                B[r, c] = B[r, c] + K[r, c]
                B[r, 3 + c] = B[r, 3 + c] + mixed[r, c]
                B[3 + c, r] = B[3 + c, r] + mixed[r, c]
                B[3 + r, 3 + c] = B[3 + r, 3 + c] + turn[r, c]
        return B

    @wp.func
    def wrench(force: vec3, moment: vec3):
        return vec6(force[0], force[1], force[2], moment[0], moment[1], moment[2])

    @wp.func
    def touching(
        s: Solids, places: Places, found: Found, old: Sticks, fresh: Sticks, e: Contacts, k: int, slot: int,
        wrench_out: wp.array2d(dtype=vec6), implicit_out: wp.array2d(dtype=mat66),
    ):  # fmt: skip
        """One pair that coal finds touching: points, forces, sums; returns whether it became a contact."""
        zero = real(0.0)
        m = s.material
        h = s.step[0]
        q = meeting(s, places, found.pair[k, 0], found.pair[k, 1])
        q.first = e.first_point[slot]
        q = patch(s, found, old, e, q, k, slot)
        if q.points == 0:
            return False
        n = q.n
        centre = vec3()
        area = zero
        for i in range(q.first, q.first + q.points):
            centre += e.area[i] * e.at[i]
            area += e.area[i]
        if area <= zero:
            return False
        centre = centre / area
        state, xi, phi, rest, slope = stick_of(s, old, q.a, q.b, q.xa, q.Ra, n, centre, area)
        slipping = wp.where(state == SLIPPING, 1, 0)
        force = vec3()
        moment = vec3()
        pressed = vec3()
        whole = zero
        stored = zero
        area = zero
        B = mat66()
        for i in range(q.first, q.first + q.points):
            x = e.at[i]
            w = e.area[i]
            depth = wp.dot(x - q.origin, q.steep)
            outward = wp.dot(velocity_at(q, x), n)
            e.load[i] = real(-1.0)
            e.dip[i] = depth
            if w <= zero or (depth <= zero and depth + q.now * outward <= zero):
                continue
            pressure, stiffness, damping = law(depth, m)
            damping = laws.release_damping(pressure, damping, outward)
            N = w * (pressure - damping * outward)
            # the load at the end of the step is a guess in an impact: friction rests on that of the last step
            held = w * wp.max(rest + wp.dot(slope, x - centre), zero)
            if q.ground:
                weight = h * w * (h * stiffness + damping)
                B = block_add(B, x - q.xa, weight * wp.outer(n, n))
            else:
                N = wp.max(N, zero)
                held = N
            e.load[i] = held
            force += N * n
            moment += wp.cross(x - q.xa, N * n)
            pressed += held * x
            if depth > zero:
                stored += real(0.5) * w * pressure * depth
            if held > zero:
                whole += held
                area += w
        # friction, spread as the load is, so that a patch that shifts slips everywhere at once
        along = wp.identity(n=3, dtype=real) - wp.outer(n, n)
        if whole > zero:
            for i in range(q.first, q.first + q.points):
                held = e.load[i]
                if held > zero:
                    x = e.at[i]
                    w = area * held / whole
                    vt = along * velocity_at(q, x)
                    way = xi + phi * wp.cross(n, x - centre)
                    stored += real(0.5) * w * m.c_t * wp.dot(way, way)
                    if q.ground:
                        way = way + h * vt
                    speed = wp.length(vt)
                    slip = m.mu_slip * held
                    limit = penalty.friction_limit(slipping, speed, m.stick_speed, m.mu_stick * held, slip)
                    drag, slips = penalty.friction(w * (m.c_t * way + m.d_t * vt), limit, slip)
                    weight = w * (h * m.c_t + m.d_t)
                    if slips == 1:
                        weight = penalty.friction_impedance(weight, slip, speed)
                    force += drag
                    moment += wp.cross(x - q.xa, drag)
                    if q.ground:
                        B = block_add(B, x - q.xa, (h * weight) * along)
        row = s.out[q.a]
        wrench_out[0, row] = wrench_out[0, row] + wrench(force, moment)
        if q.ground:
            implicit_out[0, row] = implicit_out[0, row] + B
        else:
            other = s.out[q.b]
            wrench_out[0, other] = wrench_out[0, other] - wrench(force, moment + wp.cross(q.xa - q.xb, force))
        e.kind[slot] = q.kind
        e.deepest[slot] = q.deepest
        e.force[slot] = force
        e.block[slot] = B
        e.pressed[slot] = centre
        if whole > zero:
            e.pressed[slot] = pressed / whole
        e.first_point[slot + 1] = q.first + q.points
        e.first_corner[slot + 1] = e.first_corner[slot] + q.corners
        e.stored[0] = e.stored[0] + stored
        fresh.pair[slot, 0] = q.a
        fresh.pair[slot, 1] = q.b
        fresh.state[slot] = state
        fresh.normal[slot] = n
        fresh.centre[slot] = centre
        fresh.xi[slot] = xi
        fresh.phi[slot] = phi
        return True

    @wp.kernel(module=module)
    def press(
        s: Solids, places: Places, found: Found, old: Sticks, fresh: Sticks, e: Contacts,
        wrench_out: wp.array2d(dtype=vec6), implicit_out: wp.array2d(dtype=mat66),
        status_out: wp.array2d(dtype=wp.int32),
    ):  # fmt: skip
        """All pairs that touch, in their order: sums to the bodies."""
        for row in range(wrench_out.shape[1]):
            wrench_out[0, row] = vec6()
            implicit_out[0, row] = mat66()
            status_out[0, row] = 0
        e.stored[0] = real(0.0)
        e.first_point[0] = 0
        e.first_corner[0] = 0
        slot = int(0)
        for k in range(found.counts[CANDIDATES]):
            if found.touch[k] == 1:
                if slot >= e.kind.shape[0]:
                    found.counts[OVERFLOW] = 1
                elif touching(s, places, found, old, fresh, e, k, slot, wrench_out, implicit_out):
                    slot += 1
        fresh.count[0] = slot
        found.counts[CONTACTS] = slot
        found.counts[POINTS] = e.first_point[slot]
        found.counts[CORNERS] = e.first_corner[slot]
        if found.counts[OVERFLOW] == 1:
            status_out[0, 0] = FULL

    @wp.func
    def end_loads(s: Solids, places: Places, fresh: Sticks, e: Contacts, slot: int, v: vec3, w: vec3, x: vec3):
        """Loads of a contact's points at the end of the step: the law at the depth and rate the step led to.

        v, w: velocity against the other at x and spin against it; `places` still has those of the step's start.
        """
        h = s.step[0]
        n = fresh.normal[slot]
        a = fresh.pair[slot, 0]
        for i in range(e.first_point[slot], e.first_point[slot + 1]):
            if e.load[i] >= real(0.0):
                at = e.at[i]
                outward = wp.dot(v + wp.cross(w, at - x), n)
                before = wp.dot(places.velocity[a] + wp.cross(places.spin[a], at - x), n)
                depth = e.dip[i] - h * (outward - before)
                pressure, stiffness, damping = law(depth, s.material)
                damping = laws.release_damping(pressure, damping, outward)
                e.load[i] = e.area[i] * wp.max(pressure - damping * outward, real(0.0))

    @wp.kernel(module=module)
    def stick(
        s: Solids, places: Places, old: Sticks, fresh: Sticks, e: Contacts, felt: Felt,
        position: wp.array2d(dtype=vec3), velocity: wp.array2d(dtype=vec3), spin: wp.array2d(dtype=vec3),
    ):  # fmt: skip
        """Stick springs take the velocity at the end of the step; what slips keeps the slip force (return mapping).

        The points' ways are fitted by one shift and one turn of the patch, their pressures by a plane.
        """
        zero = real(0.0)
        m = s.material
        h = s.step[0]
        count = int(0)
        for slot in range(fresh.count[0]):
            a = fresh.pair[slot, 0]
            b = fresh.pair[slot, 1]
            xa = position[0, s.row[a]]
            va = velocity[0, s.row[a]]
            wa = spin[0, s.row[a]]
            xb = vec3()
            vb = vec3()
            wb = vec3()
            if b < s.parts:
                xb = position[0, s.row[b]]
                vb = velocity[0, s.row[b]]
                wb = spin[0, s.row[b]]
            else:
                end_loads(s, places, fresh, e, slot, va, wa, xa)
            n = fresh.normal[slot]
            centre = fresh.centre[slot]
            xi = fresh.xi[slot] + h * wp.cross(wb, fresh.xi[slot])
            slipping = wp.where(fresh.state[slot] == SLIPPING, 1, 0)
            # what the part really got: f - B a
            change = wrench(va - places.velocity[a], wa - places.spin[a])
            pull = (e.block[slot] * change) / h
            felt.pair[slot, 0] = a
            felt.pair[slot, 1] = b
            felt.kind[slot] = e.kind[slot]
            felt.deepest[slot] = e.deepest[slot]
            felt.force[slot] = e.force[slot] - vec3(pull[0], pull[1], pull[2])
            felt.place[slot] = e.pressed[slot]
            area = zero
            load = zero
            middle = vec3()
            for i in range(e.first_point[slot], e.first_point[slot + 1]):
                if e.load[i] > zero:
                    middle += e.load[i] * e.at[i]
                    area += e.area[i]
                    load += e.load[i]
            if load <= zero:
                continue
            middle = middle / load
            slid = zero
            twist = zero
            spread = zero
            broad = zero
            shift = vec3()
            tilt = vec3()
            moments = mat33()
            broad_middle = vec3()
            for i in range(e.first_point[slot], e.first_point[slot + 1]):
                if e.load[i] > zero:
                    broad_middle += (e.area[i] / area) * e.at[i]
            for i in range(e.first_point[slot], e.first_point[slot + 1]):
                N = e.load[i]
                if N > zero:
                    x = e.at[i]
                    w = N / load
                    v = va + wp.cross(wa, x - xa) - vb - wp.cross(wb, x - xb)
                    v = v - wp.dot(v, n) * n
                    way = xi + fresh.phi[slot] * wp.cross(n, x - centre) + h * v
                    way = way - wp.dot(way, n) * n
                    slip = m.mu_slip * N
                    limit = penalty.friction_limit(slipping, wp.length(v), m.stick_speed, m.mu_stick * N, slip)
                    trial = w * area * (m.c_t * way + m.d_t * v)
                    kept, slips = penalty.elastic_displacement(way, trial, limit, slip, w * area * m.c_t)
                    if wp.length_sq(kept) > wp.length_sq(way):
                        kept = way  # the damper slipped, not the spring: it is no longer than it was drawn out
                    if slips == 1:
                        slid += w
                    lever = x - middle
                    lever = lever - wp.dot(lever, n) * n
                    shift += w * kept
                    twist += w * wp.dot(wp.cross(lever, kept), n)
                    spread += w * wp.dot(lever, lever)
                    lever = x - broad_middle
                    lever = lever - wp.dot(lever, n) * n
                    tilt += N * lever
                    moments += wp.outer(e.area[i] * lever, lever)
                    broad += e.area[i] * wp.dot(lever, lever)
            old.pair[count, 0] = a
            old.pair[count, 1] = b
            old.normal[count] = n
            xp, Rp = place_of(s, places, a, b >= s.parts)  # where the points were found
            old.centre[count] = wp.transpose(Rp) * (middle - xp)
            old.xi[count] = shift
            old.phi[count] = zero
            old.area[count] = area
            old.deepest[count] = e.deepest[slot]
            old.slope[count] = vec3()
            if spread > real(1.0e-12):  # [m^2] else a point, which does not turn
                old.phi[count] = twist / spread
            if broad > real(1.0e-12) * area:
                # a plane through pressures; across a line, and along n, it is level
                level = real(1.0e-9) * broad
                moments += wp.diag(vec3(level, level, level)) + wp.outer(broad * n, n)
                old.slope[count] = wp.inverse(moments) * tilt
            old.pressure[count] = load / area + wp.dot(old.slope[count], middle - broad_middle)
            old.state[count] = wp.where(slid > real(0.5), int(SLIPPING), int(STUCK))
            count += 1
        old.count[0] = count
        felt.count[0] = fresh.count[0]

    return SimpleNamespace(module=module, types=ty, search=search, press=press, stick=stick)
