"""Stages that find the forces: predicted geometry, pressure with sub-cell averaging, shear, implicit blocks."""

from functools import cache
from types import SimpleNamespace

import warp as wp

from grouser.contact.soil import laws
from grouser.contact.soil import types as t
from grouser.contact.soil.bekker import bekker_stages
from grouser.terrain.ground import natural

ALMOST = 0.99  # of the yield pressure: soil this close to it counts as yielding
ALONG = 4.0  # times steeper along one axis than along the other: the pressure of a cell varies along that axis only
SOFT = 0.05  # cells of height over which one rule for the soil beside a node passes into another
LUG_ONSET = 1e3  # [Pa] (assumed)


@cache
def traction_stages(name: str) -> SimpleNamespace:
    ty = t.soil_types(name)
    p = ty.precision
    real, vec3, vec4, mat33, vec6, mat66 = p.real, p.vec3, p.vec4, p.mat33, p.vec6, p.mat66
    Ground, Options, Bodies, Window = ty.ground.Arrays, ty.Options, ty.Bodies, ty.Window
    Constants, sums = ty.Constants, ty.sums
    yield_at = bekker_stages(name).yield_at
    far = wp.constant(real(t.FAR))
    seen = wp.constant(real(0.1 * t.FAR))
    half = wp.constant(real(0.5))
    third = wp.constant(real(1.0 / 3.0))
    tiny = wp.constant(real(1.0e-30))
    along = wp.constant(real(ALONG))

    @wp.func
    def slope(ahead: real, behind: real, here: real):
        """Slope per cell [m] of the body's lower skin, one-sided where the body ends."""
        if ahead < seen:
            if behind < seen:
                return half * (ahead - behind)
            return ahead - here
        if behind < seen:
            return here - behind
        return real(0.0)

    @wp.func
    def bend(ahead: real, behind: real, here: real):
        """Second difference per cell^2 [m]."""
        if ahead < seen and behind < seen:
            return ahead + behind - here - here
        return real(0.0)

    @wp.func
    def predict_node(
        g: Ground, o: Options, b: Bodies, win: Window, world: int, body: int, slot: int, i: int, j: int,
        rows: int, columns: int, first_node: vec3, vel: vec3, spin: vec3,
    ):  # fmt: skip
        """Lower surface of the body at the end of the step, Zp = Zw + h (v_z - v_x dZw/dx - v_y dZw/dy), and what
        pressure the soil bears there.

        What a falling body itself sinks in the step is left out of the yield: depth and speed then leapfrog, and a fall
        loses the energy it should, to second order in h.
        """
        k = natural((slot * win.side + i) * win.side + j)
        z = win.under[k]
        if z >= seen or i <= 0 or j <= 0 or i >= rows - 1 or j >= columns - 1:
            win.end[k] = vec4(far, -far, real(0.0), real(0.0))
            return
        per = g.per_spacing
        zx = slope(win.under[k + 1], win.under[natural(k - 1)], z) * per
        zy = slope(win.under[natural(k + win.side)], win.under[natural(k - win.side)], z) * per
        v = vel + wp.cross(spin, first_node + vec3(real(j) * g.spacing, real(i) * g.spacing, z))
        rise = v[2] - v[0] * zx - v[1] * zy
        out = z + o.step[0] * rise
        u = win.levels[k][0] - out
        if win.soil[k] < 0:  # bare: nothing presses there
            u = -far
        y = real(0.0)
        yielding = real(0.0)
        if u > real(0.0):
            soil = o.soils[natural(win.soil[k])]
            modulus = soil.k_c * b.per_width[world, body] + soil.k_phi
            y = yield_at(o, win.soil[k], modulus, out + win.motion[slot, 4][0], win.levels[k])
            if soil.k_e * (u - soil.damping_time * rise) >= y * real(ALMOST):
                yielding = real(1.0)
        win.end[k] = vec4(out, u, yielding, y)

    @wp.func
    def soil_beside(share: real, pressed: real, load: real, here: vec4, there: vec4, gap: real, per_soft: real):
        """Change of the four levels [m] part of a cell away, towards a neighbour that is `gap` in the body.

        Virgin soil (`pressed` 0) is level up to the body. Soil that has been pressed (1) is straight between nodes,
        except towards a free neighbour that stands higher: that is a rut wall and begins at once where the body presses
        on (`load` 1), not where it lets go (0). One rule passes into the other over 1 / `per_soft` [m].
        """
        zero = real(0.0)
        one = real(1.0)
        change = there - here
        wall = load * wp.clamp(-gap * per_soft, zero, one) * wp.clamp(change[0] * per_soft - one, zero, one)
        part = share + (one - share) * wall
        return vec4(pressed * part * change[0], part * change[1], part * change[2], part * change[3])

    @wp.func
    def beside(
        x: real, pressed: real, load: real, here: vec4, behind: vec4, ahead: vec4, gap_behind: real, gap_ahead: real,
        there_behind: bool, there_ahead: bool, per_soft: real,
    ):  # fmt: skip
        """Change of the four levels [m] from a node to a point x cells along an axis."""
        if x > real(0.0) and there_ahead:
            return soil_beside(x, pressed, load, here, ahead, gap_ahead, per_soft)
        if x < real(0.0) and there_behind:
            return soil_beside(-x, pressed, load, here, behind, gap_behind, per_soft)
        return vec4()

    @wp.func
    def cell_pressure(
        g: Ground, o: Options, win: Window, soil: Constants, k: int, modulus: real,
        sinking: real, before: real, per_off: real,
    ):  # fmt: skip
        """Mean capped pressure [Pa] of a cell, stiffness [Pa/m], first moments with the slope, covered share, slopes.

        Elastic trial K_e (Z - Zp) capped by the yield pressure. Where part of the cell unloads or is free the
        mean is taken over sub-cell points, else the node speaks for its cell. `before` [m] is how much higher the body
        stands when soil yields, `per_off` one over that of `laws.unforeseen`.
        """
        zero = real(0.0)
        cell = g.spacing
        per = g.per_spacing
        here = win.end[k]
        at_east = win.end[k + 1]
        at_west = win.end[natural(k - 1)]
        at_north = win.end[natural(k + win.side)]
        at_south = win.end[natural(k - win.side)]
        z = here[0]
        u = here[1]
        east = at_east[0]
        west = at_west[0]
        north = at_north[0]
        south = at_south[0]
        zx = slope(east, west, z) * per
        zy = slope(north, south, z) * per
        if (
            here[2] > zero
            and (east > seen or at_east[2] > zero)
            and (west > seen or at_west[2] > zero)
            and (north > seen or at_north[2] > zero)
            and (south > seen or at_south[2] > zero)
        ):
            y = here[3]
            give = laws.yielding_stiffness(soil.k_e, u - y * soil.per_k_e, per_off)
            return y, give, y * zx, y * zy, real(1.0), zx, zy
        u_east = at_east[1]
        u_west = at_west[1]
        u_north = at_north[1]
        u_south = at_south[1]
        levels = win.levels[k]
        per_soft = real(1.0 / SOFT) * per
        pressed = wp.min((levels[1] - levels[0] + wp.max(u, zero)) * per_soft, real(1.0))
        if pressed <= zero and u + half * cell * (wp.abs(zx) + wp.abs(zy)) <= zero:
            return zero, zero, zero, zero, zero, zx, zy
        bow_x = bend(east, west, z)
        bow_y = bend(north, south, z)
        steep_x = wp.abs(bow_x) + wp.max(
            wp.where(east < seen, wp.abs(u_east - u), zero), wp.where(west < seen, wp.abs(u_west - u), zero)
        )
        steep_y = wp.abs(bow_y) + wp.max(
            wp.where(north < seen, wp.abs(u_north - u), zero), wp.where(south < seen, wp.abs(u_south - u), zero)
        )
        columns = o.samples
        rows = o.samples
        apart_x = real(1.0)
        apart_y = real(1.0)
        if steep_x > along * steep_y:
            rows = 1
        elif steep_y > along * steep_x:
            columns = 1
        else:
            apart_x = wp.min(along * (steep_x + tiny) / (steep_y + tiny) - real(1.0), real(1.0))
            apart_y = wp.min(along * (steep_y + tiny) / (steep_x + tiny) - real(1.0), real(1.0))
        to_east = win.levels[k + 1]
        to_west = win.levels[natural(k - 1)]
        to_north = win.levels[natural(k + win.side)]
        to_south = win.levels[natural(k - win.side)]
        load = zero
        if u > zero:
            load = pressed * wp.min(soil.k_e * u / wp.max(here[3], real(1.0e-9)), real(1.0))
        start = z + before
        rise_x = zx * cell
        rise_y = zy * cell
        per_column = real(1.0) / real(columns)
        per_row = real(1.0) / real(rows)
        column_step = half * per_column * apart_x
        row_step = half * per_row * apart_y
        pressure = zero
        px = zero
        py = zero
        stiffness = zero
        inside = int(0)
        for c in range(rows):
            y = real(2 * c + 1 - rows) * row_step  # the middle point is 0 to the last bit
            row = beside(
                y, pressed, load, levels, to_south, to_north, u_south, u_north, south < seen, north < seen, per_soft
            )
            skin = y * (rise_y + half * bow_y * y)
            for a in range(columns):
                x = real(2 * a + 1 - columns) * column_step
                change = row + beside(
                    x, pressed, load, levels, to_west, to_east, u_west, u_east, west < seen, east < seen, per_soft
                )
                rise = skin + x * (rise_x + half * bow_x * x)
                deep = u - rise + change[0]
                if deep > zero:
                    cap = yield_at(o, win.soil[k], modulus, start + rise, levels + change)
                    q = wp.min(soil.k_e * wp.max(deep + sinking, zero), cap)
                    pressure += q
                    stiffness += laws.yielding_stiffness(soil.k_e, deep - cap * soil.per_k_e, per_off)
                    inside += 1
                    px += q * (rise_x + bow_x * x)
                    py += q * (rise_y + bow_y * y)
        mean = per_row * per_column
        covered = real(inside) * mean
        return pressure * mean, stiffness * mean, px * mean * per, py * mean * per, covered, zx, zy

    @wp.func
    def within_triangle(b: Bodies, world: int, corners: wp.vec3i, column: real, row: real):
        """Weights of a triangle's corners at a place inside it."""
        A = b.placed[world, natural(corners[0])]
        B = b.placed[world, natural(corners[1])] - A
        C = b.placed[world, natural(corners[2])] - A
        per = real(1.0) / (B[0] * C[1] - C[0] * B[1])
        x = column - A[0]
        y = row - A[1]
        v = (x * C[1] - C[0] * y) * per
        w = (B[0] * y - x * B[1]) * per
        return vec3(real(1.0) - v - w, v, w)

    @wp.func
    def sample_triangle(b: Bodies, world: int, triangle: int, column: real, row: real):
        """Shear state (body frame) at a place inside a triangle, linear between its vertices."""
        corners = b.triangles[natural(triangle)]
        w = within_triangle(b, world, corners, column, row)
        return (
            w[0] * b.shear[world, natural(corners[0])]
            + w[1] * b.shear[world, natural(corners[1])]
            + w[2] * b.shear[world, natural(corners[2])]
        )

    @wp.func
    def carries_lugs(b: Bodies, triangle: int):
        """Whether any grouser is on a triangle."""
        corners = b.triangles[natural(triangle)]
        return b.lugs[natural(corners[0])] + b.lugs[natural(corners[1])] + b.lugs[natural(corners[2])] > real(0.0)

    @wp.func
    def lug_share(b: Bodies, world: int, triangle: int, column: real, row: real):
        """Share of grouser at a place inside a triangle."""
        corners = b.triangles[natural(triangle)]
        w = within_triangle(b, world, corners, column, row)
        return (
            w[0] * b.lugs[natural(corners[0])] + w[1] * b.lugs[natural(corners[1])] + w[2] * b.lugs[natural(corners[2])]
        )

    @wp.func
    def lug_gain(o: Options, win: Window, k: int, modulus: real, pressure: real, share: real, height: real):
        """Factor on the rim's pressure where a share of the cell is grouser and presses `height` deeper.

        Grousers press as the soil yields at their tips while the rim loads it, and let go with the rim; the first
        LUG_ONSET of the rim's pressure bring them in gently.
        """
        y = win.end[k][3]
        tip = yield_at(o, win.soil[k], modulus, win.end[k][0] - height, win.levels[k])
        return real(1.0) + share * wp.max(tip - y, real(0.0)) / (wp.max(pressure, y) + real(LUG_ONSET))

    @wp.func
    def loaded(win: Window, k: int, cell: real):
        """Whether soil may press anywhere in a node's cell at the end of the step.

        It does so below a round body before the node itself or a neighbour is in the soil: pressed soil is straight
        between nodes and the body bows into it, (1 - 1/3) 1/3 / 2 of its second difference at a third of a cell. A
        body in the bed it made would else lose a finite force where it lifts off by a micrometre.
        """
        zero = real(0.0)
        u = win.end[k][1]
        if u > zero:
            return True
        if u <= -cell:
            return False
        at_east = win.end[k + 1]
        at_west = win.end[natural(k - 1)]
        at_north = win.end[natural(k + win.side)]
        at_south = win.end[natural(k - win.side)]
        if at_east[1] > zero or at_west[1] > zero or at_north[1] > zero or at_south[1] > zero:
            return True
        z = win.end[k][0]
        bow = wp.max(bend(at_east[0], at_west[0], z), zero) + wp.max(bend(at_north[0], at_south[0], z), zero)
        return u + third * bow > zero  # at the corner, a third of the way to neighbours that just touch

    @wp.func
    def block_sums(c: real, n: vec3, m: vec3, weight: real, r: vec3):
        """What `assemble` needs of a weight c along n with the moment m (n n^T, m n^T, m m^T) and of one that acts
        alike in all directions at a lever r (1, r, r r^T)."""
        p = c * n
        q = c * m
        w = weight * r
        return sums(
            p[0] * n[0], p[0] * n[1], p[0] * n[2], p[1] * n[1], p[1] * n[2], p[2] * n[2],
            q[0] * n[0], q[0] * n[1], q[0] * n[2], q[1] * n[0], q[1] * n[1], q[1] * n[2],
            q[2] * n[0], q[2] * n[1], q[2] * n[2],
            q[0] * m[0], q[0] * m[1], q[0] * m[2], q[1] * m[1], q[1] * m[2], q[2] * m[2],
            weight, w[0], w[1], w[2],
            w[0] * r[0], w[0] * r[1], w[0] * r[2], w[1] * r[1], w[1] * r[2], w[2] * r[2],
        )  # fmt: skip

    @wp.func
    def assemble(a: sums):
        """B = sum J^T (h D + h^2 K) J from `block_sums`.

        A weight c at lever r adds c [1, -r~; r~, -r~ r~], r~ the cross product matrix.
        """
        B = mat66()
        c = int(0)
        for q in range(3):
            for r in range(q, 3):
                normal = a[c]
                moment = a[15 + c] - a[25 + c]
                if q == r:
                    normal += a[21]
                    moment += a[25] + a[28] + a[30]
                B[q, r] = normal
                B[r, q] = normal
                B[3 + q, 3 + r] = moment
                B[3 + r, 3 + q] = moment
                c += 1
        turn = wp.skew(vec3(a[22], a[23], a[24]))
        for q in range(3):
            for r in range(3):
                B[3 + q, r] = a[6 + 3 * q + r] + turn[q, r]
                B[r, 3 + q] = B[3 + q, r]
        return B

    @wp.func
    def node_force(
        g: Ground, o: Options, b: Bodies, win: Window,
        world: int, body: int, slot: int, i: int, j: int, first_node: vec3, R: mat33, vel: vec3, spin: vec3,
    ):  # fmt: skip
        """A node's part of the body's wrench (Krenn et al. 2008, eq. 11-22) and of the sums for its implicit block."""
        zero = real(0.0)
        one = real(1.0)
        h = o.step[0]
        per_h = one / h
        cell = g.spacing
        k = natural((slot * win.side + i) * win.side + j)
        z = win.end[k][0]
        soil = o.soils[natural(win.soil[k])]
        modulus = soil.k_c * b.per_width[world, body] + soil.k_phi
        sinking = soil.damping_time * (win.under[k] - z) * per_h
        before = win.motion[slot, 4][0]
        per_off = win.motion[slot, 4][1]
        pressure, stiffness, px, py, covered, zx, zy = cell_pressure(
            g, o, win, soil, k, modulus, sinking, before, per_off
        )
        if covered <= zero:
            return vec6(), sums()
        east = win.end[k + 1][0]
        west = win.end[natural(k - 1)][0]
        north = win.end[natural(k + win.side)][0]
        south = win.end[natural(k - win.side)][0]
        width = wp.where(east < seen, half, win.reach[k][0]) + wp.where(west < seen, half, win.reach[k][1])
        length = wp.where(north < seen, half, win.reach[k][2]) + wp.where(south < seen, half, win.reach[k][3])
        area = cell * cell * width * length
        steep = one + zx * zx + zy * zy
        inclined = wp.sqrt(steep)
        normal = (one / inclined) * vec3(-zx, -zy, one)
        arm = first_node + vec3(real(j) * cell, real(i) * cell, z) - h * vel
        if b.grouser[body] > zero:
            if carries_lugs(b, win.triangle[k]):
                here_column = real(win.box[slot, t.COLUMN0] + j)
                here_row = real(win.box[slot, t.ROW0] + i)
                lugs = lug_share(b, world, win.triangle[k], here_column, here_row)
                gain = lug_gain(o, win, k, modulus, pressure, lugs, b.grouser[body] - before)
                pressure *= gain
                stiffness *= gain
                px *= gain
                py *= gain
        lever = arm - b.grouser[body] * normal
        v = vel + wp.cross(spin, lever)
        v_t = v - wp.dot(v, normal) * normal
        tau = laws.shear_limit(pressure, covered, soil.cohesion, soil.tan_phi, soil.mu)
        s = vec3()
        grip = zero
        if o.shear_law == t.JANOSI:
            at_column = real(win.box[slot, t.COLUMN0] + j) - h * v[0] * g.per_spacing
            at_row = real(win.box[slot, t.ROW0] + i) - h * v[1] * g.per_spacing
            if o.node_shear == 1:
                s = win.node_shear[k]
            else:
                s = R * sample_triangle(b, world, win.triangle[k], at_column, at_row)
            s = s - wp.dot(s, normal) * normal
            per_k = h / soil.shear_k
            viscous = laws.rest_damping(s, v_t)
            s = laws.advance_shear(s, v_t, per_k) + viscous * v_t
            grip = per_k * (one / (one + per_k * wp.length(v_t))) + viscous
        elif o.shear_law == t.LIMIT:
            grip = one / (wp.length(v_t) + o.creep_speed)
            s = grip * v_t
        shear = area * inclined * tau
        normal_force = vec3(-area * px, -area * py, area * pressure)
        shear_force = -shear * s
        force = normal_force + shear_force
        moment = wp.cross(arm, normal_force) + wp.cross(lever, shear_force)
        ct = shear * grip * h
        damped = h * soil.damping_time
        cn = area * steep * (h * h + damped) * stiffness
        m = wp.cross(arm, normal)
        wrench = vec6(force[0], force[1], force[2], moment[0], moment[1], moment[2])
        if b.grouser[body] == zero:  # lever and arm are one: the tangential block's n n^T part joins the normal's
            return wrench, block_sums(cn - ct, normal, m, ct, lever)
        tips = block_sums(ct, normal, wp.cross(lever, normal), zero, vec3())
        return wrench, block_sums(cn, normal, m, ct, lever) - tips

    return SimpleNamespace(
        predict_node=predict_node,
        loaded=loaded,
        node_force=node_force,
        assemble=assemble,
        block_sums=block_sums,
        cell_pressure=cell_pressure,
    )
