"""Kernels of convex contact: who may touch, and for pairs that do, the contact points, their forces and sums.

coal says whether two solids touch and along which direction; the reference face, the clipped points and their depths
are found here, since coal's patch lies in one plane with one depth.
"""

from functools import cache
from types import SimpleNamespace
from typing import Any

import warp as wp

from grouser.contact import penalty
from grouser.contact.convex import laws
from grouser.precision import precision

FREE, STUCK, SLIPPING = 0, 1, 2
FACE, EDGE, VERTEX = 0, 1, 2  # kinds of contact
CANDIDATES, CONTACTS, POINTS, CORNERS, OVERFLOW, SEEN = range(6)  # columns of counts
COUNTS = 6
FULL = 1  # status
ALIGNED = 0.7  # least cosine between coal's direction and that of a face tried instead
ALIKE = 0.99  # cosine between normals of contacts of one part that share their stick state
PREFERENCE = 1e-3  # relative: by so much a face of the other must be nearer to be preferred
CLOSE = 1e-7  # [m] below this depths count as equal
SUPPORT = 1e-5  # [m] corners this near to the farthest one are as far


@cache
def convex_kernels(name: str, law: Any = laws.penalty_pressure) -> SimpleNamespace:
    """Kernels and structs for one float type and one point law."""
    p = precision(name)
    real, vec2, vec3, vec6, mat33, mat66, quat = p.real, p.vec2, p.vec3, p.vec6, p.mat33, p.mat66, p.quat
    module = wp.get_module(f"grouser.contact.convex.{name}.{law.key}")
    module.options["enable_backward"] = False

    @wp.struct
    class Material:
        """Of a unit of area; symbols of penalty.py."""

        c: real  # [Pa/m]
        d: real  # [Pa s/m]
        c_t: real  # [Pa/m]
        d_t: real  # [Pa s/m]
        s_d0: real  # [m]
        mu_stick: real
        mu_slip: real
        stick_speed: real  # [m/s] v_T0
        spread: real  # [m] by which the pressure reaches beyond edges
        law: vec2  # numbers of a law of its own

    @wp.struct
    class Solids:
        """Parts, in the axes of their bodies, then course pieces, in the world's."""

        parts: wp.int32
        first_vertex: wp.array(dtype=wp.int32)  # (solid + 1,)
        vertex: wp.array(dtype=vec3)  # [m]
        cover: wp.array(dtype=wp.int64)  # (vertex,) bits of covered faces, see terrain/course.py
        ridge: wp.array(dtype=wp.int64)
        first_face: wp.array(dtype=wp.int32)  # (solid + 1,)
        normal: wp.array(dtype=vec3)  # (face,)
        offset: wp.array(dtype=real)  # [m], (face,)
        covered: wp.array(dtype=wp.int32)  # (face,)
        first_corner: wp.array(dtype=wp.int32)  # (face + 1,)
        corner: wp.array(dtype=wp.int32)  # vertex
        seam: wp.array(dtype=wp.int32)  # (corner,) 1: the edge from it on runs along a seam
        row: wp.array(dtype=wp.int32)  # (part,) in motion
        out: wp.array(dtype=wp.int32)  # (part,) output row
        radius: wp.array(dtype=real)  # [m], (part,) about the body's origin
        between: wp.array2d(dtype=wp.int32)  # (pair, 2) parts of bodies that both move
        bvh: wp.uint64  # over the course
        material: Material
        step: wp.array(dtype=real)  # [s], (1,)

    @wp.struct
    class Places:
        """Of every part: the pose now and at the end of the step."""

        position: wp.array(dtype=vec3)
        rotation: wp.array(dtype=mat33)
        ahead_position: wp.array(dtype=vec3)
        ahead_rotation: wp.array(dtype=mat33)
        velocity: wp.array(dtype=vec3)
        spin: wp.array(dtype=vec3)
        low: wp.array(dtype=vec3)  # [m] box round the part over the step
        high: wp.array(dtype=vec3)

    @wp.struct
    class Found:
        """Candidates, and what coal says of them."""

        pair: wp.array2d(dtype=wp.int32)  # (candidate, 2) part, solid
        guess: wp.array(dtype=vec3)  # (candidate,) direction of the last step, from the part to the other
        reach: wp.array(dtype=real)  # [m], (candidate,) distance up to which it matters
        touch: wp.array(dtype=wp.int32)  # (candidate,)
        normal: wp.array(dtype=vec3)  # from the part to the other
        distance: wp.array(dtype=real)  # [m] below 0 where they overlap
        point: wp.array(dtype=vec3)  # [m]
        counts: wp.array(dtype=wp.int32)  # (COUNTS,)

    @wp.struct
    class Sticks:
        """State of every contact: the stick spring's way at x is xi + phi n x (x - centre), and the pressure at the
        end of the step, on which friction of the next one rests, is pressure + slope . (x - centre)."""

        count: wp.array(dtype=wp.int32)  # (1,)
        pair: wp.array2d(dtype=wp.int32)  # (contact, 2) part, solid
        state: wp.array(dtype=wp.int32)
        normal: wp.array(dtype=vec3)  # pushes the part out
        centre: wp.array(dtype=vec3)  # [m], axes of the part's body: the patch goes along with it
        xi: wp.array(dtype=vec3)  # [m]
        phi: wp.array(dtype=real)  # [rad]
        pressure: wp.array(dtype=real)  # [Pa]
        slope: wp.array(dtype=vec3)  # [Pa/m]
        area: wp.array(dtype=real)  # [m^2]

    @wp.struct
    class Contacts:
        """Result of the last evaluation."""

        kind: wp.array(dtype=wp.int32)  # (contact,) FACE, EDGE, VERTEX
        deepest: wp.array(dtype=real)  # [m] at the end of the step
        force: wp.array(dtype=vec3)  # [N] on the part
        pressed: wp.array(dtype=vec3)  # [m] centre of pressure
        first_point: wp.array(dtype=wp.int32)  # (contact + 1,)
        first_corner: wp.array(dtype=wp.int32)
        at: wp.array(dtype=vec3)  # [m], (point,)
        area: wp.array(dtype=real)  # [m^2]
        load: wp.array(dtype=real)  # [N]
        dip: wp.array(dtype=real)  # [m], (point,) depth
        corner: wp.array(dtype=vec3)  # [m], (corner,) of the clipped polygon
        depth: wp.array(dtype=real)  # [m], (corner,)
        stored: wp.array(dtype=real)  # [J], (1,)
        polygon: wp.array2d(dtype=vec3)  # room for clipping
        flag: wp.array2d(dtype=wp.int32)

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
    def place_of(s: Solids, places: Places, solid: int, ahead: bool):
        """Pose of a solid: the course stands, parts that meet it are ahead."""
        if solid >= s.parts:
            return vec3(), wp.identity(n=3, dtype=real)
        if ahead:
            return places.ahead_position[solid], places.ahead_rotation[solid]
        return places.position[solid], places.rotation[solid]

    @wp.func
    def farthest(s: Solids, solid: int, direction: vec3):
        """Greatest v . direction over the corners, direction in the solid's axes."""
        best = real(-1.0e30)
        for k in range(s.first_vertex[solid], s.first_vertex[solid + 1]):
            best = wp.max(best, wp.dot(s.vertex[k], direction))
        return best

    @wp.func
    def may_push(s: Solids, solid: int, direction: vec3, far: real):
        """Whether the solid can be touched along `direction`: its farthest corners are not hidden by a neighbour."""
        cover = wp.int64(-1)
        ridge = wp.int64(-1)
        count = int(0)
        for k in range(s.first_vertex[solid], s.first_vertex[solid + 1]):
            if wp.dot(s.vertex[k], direction) >= far - real(SUPPORT):
                cover = cover & s.cover[k]
                ridge = ridge & s.ridge[k]
                count += 1
        if count <= 2:
            cover = cover & (ridge ^ wp.int64(-1))
        return cover == wp.int64(0)

    @wp.func
    def facing(s: Solids, solid: int, direction: vec3):
        """The face that looks most along `direction`, covered ones left out."""
        best = int(-1)
        most = real(-2.0)
        for f in range(s.first_face[solid], s.first_face[solid + 1]):
            if s.covered[f] == 0:
                along = wp.dot(s.normal[f], direction)
                if along > most:
                    most = along
                    best = f
        return best

    @wp.func
    def reference(s: Solids, a: int, b: int, xa: vec3, Ra: mat33, xb: vec3, Rb: mat33, away: vec3, distance: real):
        """Reference face, whether it is of the part, whether two edges cross, direction out, depth [m] along it.

        Where two edges cross the direction is coal's, and the face that looks most along it stands for the reference.
        """
        back_b = wp.transpose(Rb)
        back_a = wp.transpose(Ra)
        local = back_b * away
        trusted = may_push(s, b, local, farthest(s, b, local))
        aligned = real(ALIGNED)
        if not trusted:
            aligned = real(-0.1)
        face = int(-1)
        of_part = int(0)
        crossing = int(0)
        out = away
        depth = real(1.0e30)
        for f in range(s.first_face[b], s.first_face[b + 1]):
            if s.covered[f] == 0:
                m = Rb * s.normal[f]
                if wp.dot(m, away) > aligned:
                    # the part's farthest corner against this face
                    d = s.offset[f] + wp.dot(m, xb) - wp.dot(m, xa) + farthest(s, a, -(back_a * m))
                    if d < depth:
                        depth = d
                        face = f
                        out = m
        limit = depth - real(PREFERENCE) * wp.abs(depth) - real(CLOSE)
        for f in range(s.first_face[a], s.first_face[a + 1]):
            m = -(Ra * s.normal[f])
            if wp.dot(m, away) > aligned:
                local = back_b * m
                far = farthest(s, b, local)
                d = s.offset[f] - wp.dot(m, xa) + wp.dot(m, xb) + far
                if d < limit:
                    if may_push(s, b, local, far):
                        depth = d
                        limit = d
                        face = f
                        of_part = 1
                        out = m
        edges = -distance < depth - real(PREFERENCE) * wp.abs(depth) - real(CLOSE)
        if face < 0 or (trusted and edges):
            crossing = 1
            depth = -distance
            out = away
            face = facing(s, b, back_b * away)
            of_part = 0
            own = facing(s, a, -(back_a * away))
            along = real(0.0)
            if face >= 0:
                along = wp.dot(Rb * s.normal[face], away)
            if -wp.dot(Ra * s.normal[own], away) > along + real(PREFERENCE):
                face = own
                of_part = 1
        return face, of_part, crossing, out, depth

    @wp.func
    def cut(e: Contacts, side: int, count: int, origin: vec3, inward: vec3, flag: int):
        """Clip polygon `side` by a plane into the other side; the new edge gets `flag`."""
        other = 1 - side
        kept = int(0)
        room = e.flag.shape[1]
        for k in range(count):
            nxt = k + 1
            if nxt == count:
                nxt = 0
            one = e.polygon[side, k]
            two = e.polygon[side, nxt]
            d1 = wp.dot(one - origin, inward)
            d2 = wp.dot(two - origin, inward)
            if d1 >= real(0.0):
                if kept < room:
                    e.polygon[other, kept] = one
                    e.flag[other, kept] = e.flag[side, k]
                    kept += 1
                if d2 < real(0.0) and kept < room:
                    e.polygon[other, kept] = one + (d1 / (d1 - d2)) * (two - one)
                    e.flag[other, kept] = flag
                    kept += 1
            elif d2 >= real(0.0) and kept < room:
                e.polygon[other, kept] = one + (d1 / (d1 - d2)) * (two - one)
                e.flag[other, kept] = e.flag[side, k]
                kept += 1
        return other, kept

    @wp.func
    def clip(
        s: Solids, e: Contacts, face: int, solid: int, x: vec3, R: mat33, other: int, xo: vec3, Ro: mat33, out: vec3,
    ):  # fmt: skip
        """The incident face of `other` within the sides of the reference face of `solid`, both seen along `out`.

        `out` points away from `solid`.
        """
        incident = facing(s, other, -(wp.transpose(Ro) * out))
        side = int(0)
        count = int(0)
        for k in range(s.first_corner[incident], s.first_corner[incident + 1]):
            e.polygon[0, count] = xo + Ro * s.vertex[s.corner[k]]
            e.flag[0, count] = s.seam[k]
            count += 1
        first = s.first_corner[face]
        last = s.first_corner[face + 1]
        for k in range(first, last):
            nxt = k + 1
            if nxt == last:
                nxt = first
            one = x + R * s.vertex[s.corner[k]]
            two = x + R * s.vertex[s.corner[nxt]]
            side, count = cut(e, side, count, one, wp.cross(out, two - one), s.seam[k])
        return side, count

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
    def quadrature(e: Contacts, side: int, count: int, first: int, normal: vec3, spread: real):
        """Points of a polygon with their areas [m^2]: exact for what is quadratic in place, plus a strip along edges.

        Beyond an edge the pressure reaches by `spread` r: a polygon of area A and outline P presses over
        A + r P + pi r^2 (Steiner), so that edges and corners carry too. Along seams there is none of it.
        """
        n = int(0)
        middle = vec3()
        for k in range(count):
            middle += e.polygon[side, k]
        middle = middle / real(count)
        room = e.area.shape[0]
        if first + 3 * count > room:
            return n
        for k in range(count):
            before = k - 1
            if before < 0:
                before = count - 1
            after = k + 1
            if after == count:
                after = 0
            v0 = e.polygon[side, before]
            v1 = e.polygon[side, k]
            v2 = e.polygon[side, after]
            third_before = wp.abs(wp.dot(wp.cross(v0 - middle, v1 - middle), normal)) / real(6.0)
            third = wp.abs(wp.dot(wp.cross(v1 - middle, v2 - middle), normal)) / real(6.0)
            back = v1 - v0
            ahead = v2 - v1
            back = back - wp.dot(back, normal) * normal
            ahead = ahead - wp.dot(ahead, normal) * normal
            length_back = wp.length(back)
            length = wp.length(ahead)
            strip = real(0.0)
            corner = real(0.0)
            if e.flag[side, k] == 0:
                strip = spread * length
                corner += strip / real(6.0)
            if e.flag[side, before] == 0:
                corner += spread * length_back / real(6.0)
                if e.flag[side, k] == 0 and length > real(0.0) and length_back > real(0.0):
                    bend = wp.dot(back, ahead) / (length * length_back)
                    corner += real(0.5) * wp.acos(wp.clamp(bend, real(-1.0), real(1.0))) * spread * spread
            e.at[first + n] = real(0.5) * (middle + v1)
            e.area[first + n] = third_before + third
            e.at[first + n + 1] = real(0.5) * (v1 + v2)
            e.area[first + n + 1] = third + strip * real(4.0) / real(6.0)
            e.at[first + n + 2] = v1
            e.area[first + n + 2] = corner
            n += 3
        return n

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
        a = found.pair[k, 0]
        b = found.pair[k, 1]
        ground = b >= s.parts
        xa, Ra = place_of(s, places, a, ground)
        xb, Rb = place_of(s, places, b, False)
        va = places.velocity[a]
        wa = places.spin[a]
        vb = vec3()
        wb = vec3()
        now = h  # from the depth at the end of the step to the depth now
        if not ground:
            vb = places.velocity[b]
            wb = places.spin[b]
            now = zero
        face, of_part, crossing, n, deepest = reference(s, a, b, xa, Ra, xb, Rb, -found.normal[k], found.distance[k])
        side = int(0)
        count = int(0)
        origin = vec3()
        steep = vec3()  # depth of a place x of the other solid, along n below the reference face: steep . (x - origin)
        if of_part == 1:
            side, count = clip(s, e, face, a, xa, Ra, b, xb, Rb, -n)
            origin = xa + Ra * s.vertex[s.corner[s.first_corner[face]]]
            steep = -(Ra * s.normal[face])
            steep = steep / wp.dot(steep, n)
        else:
            side, count = clip(s, e, face, b, xb, Rb, a, xa, Ra, n)
            origin = xb + Rb * s.vertex[s.corner[s.first_corner[face]]]
            steep = Rb * s.normal[face]
            steep = -steep / wp.dot(steep, n)
        first_corner = e.first_corner[slot]
        corners = int(0)
        below = int(0)
        for i in range(count):
            x = e.polygon[side, i]
            depth = wp.dot(x - origin, steep)
            if depth > zero:
                below += 1
                if first_corner + corners < e.depth.shape[0]:
                    e.corner[first_corner + corners] = x
                    e.depth[first_corner + corners] = depth
                    corners += 1
        held_on = zero  # time back to the depth that bounds the contact: what leaves is held as long as it is in now
        if below == 0 and deepest <= zero:
            held_on = now
        first = e.first_point[slot]
        points = int(0)
        kind = int(FACE)
        if crossing == 1 or below == 2:
            kind = EDGE
        elif below == 1:
            kind = VERTEX
        if count >= 3:
            # what is out of the other is cut off, by the depth that bounds the contact: linear in place
            gradient = steep + held_on * wp.cross(n, wa - wb)
            level = -wp.dot(origin, steep) + held_on * (
                wp.dot(va - vb, n) - wp.dot(wp.cross(wa, xa), n) + wp.dot(wp.cross(wb, xb), n)
            )
            size2 = wp.dot(gradient, gradient)
            side, count = cut(e, side, count, (-level / size2) * gradient, gradient, 1)
            if count >= 3:
                points = quadrature(e, side, count, first, n, m.spread)
                if points == 0:
                    found.counts[OVERFLOW] = 1
                    return False
        if points == 0:  # corners or edges that only just meet
            bound = deepest + held_on * wp.dot(
                va + wp.cross(wa, found.point[k] - xa) - vb - wp.cross(wb, found.point[k] - xb), n
            )
            if bound <= zero or found.distance[k] > zero or first >= e.area.shape[0]:
                return False
            e.at[first] = found.point[k]
            e.area[first] = real(0.25) * real(wp.pi) * m.spread * m.spread
            points = 1
            kind = EDGE
            origin = found.point[k] - (deepest / wp.dot(steep, steep)) * steep
            if corners == 0 and deepest > zero and first_corner < e.depth.shape[0]:
                e.corner[first_corner] = found.point[k]
                e.depth[first_corner] = deepest
                corners = 1
        centre = vec3()
        area = zero
        for i in range(points):
            centre += e.area[first + i] * e.at[first + i]
            area += e.area[first + i]
        if area <= zero:
            return False
        centre = centre / area
        state, xi, phi, rest, slope = stick_of(s, old, a, b, xa, Ra, n, centre, area)
        slipping = wp.where(state == SLIPPING, 1, 0)
        force = vec3()
        moment = vec3()
        pressed = vec3()
        whole = zero
        stored = zero
        area = zero
        B = mat66()
        for i in range(points):
            x = e.at[first + i]
            w = e.area[first + i]
            depth = wp.dot(x - origin, steep)
            v = va + wp.cross(wa, x - xa) - vb - wp.cross(wb, x - xb)
            outward = wp.dot(v, n)
            e.load[first + i] = real(-1.0)
            e.dip[first + i] = depth
            if w <= zero or (depth <= zero and depth + now * outward <= zero):
                continue
            pressure, stiffness, damping = law(depth, m)
            damping = laws.release_damping(pressure, damping, outward)
            N = w * (pressure - damping * outward)
            held = w * wp.max(rest + wp.dot(slope, x - centre), zero)
            if ground:
                weight = h * w * (h * stiffness + damping)
                B = block_add(B, x - xa, weight * wp.outer(n, n))
            else:
                N = wp.max(N, zero)
                held = N
            e.load[first + i] = held
            force += N * n
            moment += wp.cross(x - xa, N * n)
            pressed += held * x
            if depth > zero:
                stored += real(0.5) * w * pressure * depth
            if held > zero:
                whole += held
                area += w
        # friction, spread as the load is, so that a patch that shifts slips everywhere at once
        along = wp.identity(n=3, dtype=real) - wp.outer(n, n)
        if whole > zero:
            for i in range(points):
                held = e.load[first + i]
                if held > zero:
                    x = e.at[first + i]
                    w = area * held / whole
                    vt = along * (va + wp.cross(wa, x - xa) - vb - wp.cross(wb, x - xb))
                    way = xi + phi * wp.cross(n, x - centre)
                    stored += real(0.5) * w * m.c_t * wp.dot(way, way)
                    if ground:
                        way = way + h * vt
                    speed = wp.length(vt)
                    slip = m.mu_slip * held
                    limit = penalty.friction_limit(slipping, speed, m.stick_speed, m.mu_stick * held, slip)
                    drag, slips = penalty.friction(w * (m.c_t * way + m.d_t * vt), limit, slip)
                    weight = w * (h * m.c_t + m.d_t)
                    if slips == 1:
                        weight = penalty.grip(weight, slip, speed)
                    force += drag
                    moment += wp.cross(x - xa, drag)
                    if ground:
                        B = block_add(B, x - xa, (h * weight) * along)
        row = s.out[a]
        wrench_out[0, row] = wrench_out[0, row] + wrench(force, moment)
        if ground:
            implicit_out[0, row] = implicit_out[0, row] + B
        else:
            other = s.out[b]
            wrench_out[0, other] = wrench_out[0, other] - wrench(force, moment + wp.cross(xa - xb, force))
        e.kind[slot] = kind
        e.deepest[slot] = deepest
        e.force[slot] = force
        e.pressed[slot] = centre
        if whole > zero:
            e.pressed[slot] = pressed / whole
        e.first_point[slot + 1] = first + points
        e.first_corner[slot + 1] = first_corner + corners
        e.stored[0] = e.stored[0] + stored
        fresh.pair[slot, 0] = a
        fresh.pair[slot, 1] = b
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
        s: Solids, places: Places, old: Sticks, fresh: Sticks, e: Contacts,
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
                    kept, slips = penalty.elastic_way(way, trial, limit, slip, w * area * m.c_t)
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

    return SimpleNamespace(
        module=module, precision=p, Material=Material, Solids=Solids, Places=Places, Found=Found, Sticks=Sticks,
        Contacts=Contacts, search=search, press=press, stick=stick,
    )  # fmt: skip
