"""One thread for the vehicle of a world: where each wheel touches, how hard, and what the tread has become."""

from functools import cache
from types import SimpleNamespace

import warp as wp

from grouser.contact.tyre.laws import deflected, held, low_speed, magic_formula, normal_load, spring_force
from grouser.precision import precision
from grouser.terrain.ground import ground_types

STEEPEST = 1.2217304763960306  # [rad] 70 deg: contact farther from the suspension's axis is with a wall (assumed)
FLATTEST = 0.7853981633974483  # [rad] 45 deg: nearer to it never, however far the suspension must go (assumed)
LEAST_UPRIGHT = 0.5  # cosine between suspension and vertical below which wheels find no ground (assumed)
NORMAL_STEPS = 4  # of the iteration of N and F_x at most
CLOSER_STEPS, WALL_STEPS = 8, 24  # Newton steps on eq. 8 at most; bisections at a wall
CLOSE = 1e-9  # of the radius: two travels this near are one
ROUNDS, SHRINK, FINEST = 20, 8.0, 1e-5  # refinement round the best slice, in ever smaller neighbourhoods [rad]
WALL_SPEED = 0.05  # [m/s] of slip at which friction on a wall is fully there (assumed)
ON_GROUND, ON_WALL = 1, 2
BURIED = 2.0  # of its travel: where the ground asks a suspension for more, the chassis lies on it (assumed)
SHALLOW = 0.25  # of the radius: a wall that is met deeper at once was met from inside (assumed)
BEYOND = 1  # status: the wheel is beyond the terrain


@cache
def tyre_kernels(name: str) -> SimpleNamespace:
    p = precision(name)
    real, vec3, quat, vec6, mat66 = p.real, p.vec3, p.quat, p.vec6, p.mat66
    floor = ground_types(name)
    Arrays, surface_at = floor.Arrays, floor.surface_at
    module = wp.get_module(f"grouser.contact.tyre.{name}")
    module.options["enable_backward"], module.options["max_unroll"] = False, 0

    @wp.struct
    class Wheel:
        """One wheel: its size, suspension and tyre. SI."""

        radius: real
        stiffness: real  # [N/m]
        saturation: real  # [m] H_sat
        progression: real  # [N/m^2]
        travel: real  # [m] beyond which it is a wall
        compression: real  # [N s/m] damping
        rebound: real  # [N s/m]
        radial_stiffness: real  # [N/m] of the tyre, against walls
        radial_damping: real  # [N s/m]
        load: real  # [N] nominal, F_z0
        cx: real
        dx1: real
        dx2: real
        ex1: real
        ex2: real
        ex3: real
        ex4: real
        kx1: real
        kx2: real
        kx3: real
        hx1: real
        hx2: real
        vx1: real
        vx2: real
        cy: real
        dy1: real
        dy2: real
        ey1: real
        ey2: real
        ky1: real
        ky2: real
        hy1: real
        hy2: real
        vy1: real
        vy2: real
        length_x: real  # [m] relaxation
        length_y: real  # [m]
        peak: real  # slip at the peak
        damping: real  # [s] of the tread at a standstill
        slow: real  # [m/s] below which it counts as one
        rolling: real  # resistance over load

    @wp.struct
    class Terrain:
        """Heights on a grid; with `deep` those of a ground that bodies change."""

        heights: wp.array2d(dtype=real)  # [m], (row, column)
        ceiling: wp.array2d(dtype=real)  # [m], (row, column) highest of the nodes a wheel over this one may meet
        spacing: real
        per_spacing: real
        x0: real
        y0: real
        turns: wp.array(dtype=p.vec2)  # (slices + 1,) sine and cosine of their angles
        slices: wp.int32
        slice_steps: wp.int32  # Newton steps on eq. 8 in a slice
        refine: wp.int32
        deep: wp.int32
        ground: Arrays

    @wp.struct
    class Touch:
        """What the wheels are doing; (world, wheel)."""

        deflection: wp.array2d(dtype=p.vec2)  # [m] of the tread along and across, state
        travel: wp.array2d(dtype=real)  # [m] of the suspension
        angle: wp.array2d(dtype=real)  # [rad] gamma
        arm: wp.array2d(dtype=vec3)  # [m] axle to contact
        along: wp.array2d(dtype=vec3)  # direction of F_x
        across: wp.array2d(dtype=vec3)  # direction of F_y
        normal: wp.array2d(dtype=vec3)  # direction of N
        shift: wp.array2d(dtype=vec3)  # [m] h b: from where the body is to where the wheel is
        slip: wp.array2d(dtype=p.vec2)  # kappa, tan(alpha)
        force: wp.array2d(dtype=vec3)  # [N] F_x, F_y, N really got, at the suspension's contact
        point: wp.array2d(dtype=vec3)  # [m] contact, world
        wall: wp.array2d(dtype=real)  # [N] of a wall
        touching: wp.array2d(dtype=wp.int32)  # ON_GROUND + ON_WALL
        held: wp.array2d(dtype=wp.int32)  # the same at the last commit, state

    @wp.func
    def node(t: Terrain, world: int, row: int, column: int):
        if t.deep == 0:
            return t.heights[row & 0x7FFFFFFF, column & 0x7FFFFFFF]
        return surface_at(t.ground, world, row, column)

    @wp.func
    def sample(t: Terrain, world: int, x: real, y: real):
        """Bilinear height and gradient (001 eq. 3-5); outside those of the nearest point of the border."""
        rows = t.heights.shape[0]
        columns = t.heights.shape[1]
        if t.deep != 0:
            rows = t.ground.rows
            columns = t.ground.columns
        fx = wp.clamp((x - t.x0) * t.per_spacing, real(0.0), real(columns - 1))
        fy = wp.clamp((y - t.y0) * t.per_spacing, real(0.0), real(rows - 1))
        j = wp.min(int(fx), columns - 2)
        i = wp.min(int(fy), rows - 2)
        u = fx - real(j)
        v = fy - real(i)
        a = node(t, world, i, j)
        b = node(t, world, i, j + 1)
        c = node(t, world, i + 1, j)
        d = node(t, world, i + 1, j + 1)
        low = a + u * (b - a)
        high = c + u * (d - c)
        slope_x = ((b - a) + v * ((d - c) - (b - a))) * t.per_spacing
        slope_y = (high - low) * t.per_spacing
        return vec3(low + v * (high - low), slope_x, slope_y)

    @wp.func
    def travel_at(
        t: Terrain, world: int, centre: vec3, ahead: vec3, up: vec3, radius: real, turn: p.vec2, guess: real,
        steps: int,
    ):  # fmt: skip
        """Suspension travel h that puts the rim's point at an angle (`turn`: its sine and cosine) on the ground.

        001 eq. 6-8 by Newton's method inside a bracket.
        """
        rim = centre + radius * (turn[0] * ahead - turn[1] * up)
        h = guess
        near = real(CLOSE) * radius
        low = real(-1.0e9)  # at this travel the point is under the ground, at `high` over it
        high = real(1.0e9)
        for _ in range(steps):
            z = sample(t, world, rim[0] + h * up[0], rim[1] + h * up[1])
            error = rim[2] + h * up[2] - z[0]  # eq. 8
            if error < real(0.0):
                low = h
            else:
                high = h
            rate = wp.max(up[2] - z[1] * up[0] - z[2] * up[1], real(0.1) * up[2])
            change = error / rate
            h = h - change
            if wp.abs(change) < near:
                return h
            if h <= low or h >= high:
                h = real(0.5) * (low + high)
        return h

    @wp.func
    def turned(angle: real):
        return p.vec2(wp.sin(angle), wp.cos(angle))

    @wp.func
    def ceiling(t: Terrain, centre: vec3):
        """[m] no less than the highest ground a wheel at `centre` may meet."""
        if t.deep != 0:
            return real(1.0e9)
        column = wp.clamp(int((centre[0] - t.x0) * t.per_spacing + real(0.5)), 0, t.heights.shape[1] - 1)
        row = wp.clamp(int((centre[1] - t.y0) * t.per_spacing + real(0.5)), 0, t.heights.shape[0] - 1)
        return t.ceiling[row & 0x7FFFFFFF, column & 0x7FFFFFFF]

    @wp.func
    def is_ground(h: real, angle: real, limit: real):
        """Whether the suspension carries a contact; else it is a wall's."""
        size = wp.abs(angle)
        return size <= real(FLATTEST) or (h <= limit and size <= real(STEEPEST))

    @wp.func
    def find_contact(t: Terrain, world: int, centre: vec3, ahead: vec3, up: vec3, radius: real, limit: real):
        """Largest travel over the slices of the lower half circle, its angle, and the largest that a wall asks for."""
        best = real(-1.0e9)
        wall = real(-1.0e9)
        angle = real(0.0)
        width = real(wp.pi) / real(t.slices)
        top = ceiling(t, centre)
        middle_slice = t.slices / 2
        for j in range(2 * (t.slices - middle_slice) + 1):  # from the lowest slice outwards, to both sides
            k = middle_slice + (j + 1) / 2
            if (j & 1) == 1:
                k = middle_slice - (j + 1) / 2
            if k >= 0:
                turn = t.turns[k & 0x7FFFFFFF]
                rim = centre[2] + radius * (turn[0] * ahead[2] - turn[1] * up[2])
                # No point of the ground near the wheel is higher than the ceiling: nor can this travel be.
                if (top - rim) / up[2] > best:
                    g = real(k) * width - real(0.5 * wp.pi)
                    h = travel_at(t, world, centre, ahead, up, radius, turn, wp.max(best, real(0.0)), t.slice_steps)
                    if is_ground(h, g, limit):
                        if h > best:
                            best = h
                            angle = g
                    else:
                        wall = wp.max(wall, h)
        if t.refine == 1 and best > real(0.0):
            for _ in range(ROUNDS):
                middle = angle
                before = best
                left = best
                right = best
                bend = real(0.0)
                aside = real(0.0)
                crest = real(0.0)
                gain = real(0.0)
                for side in range(3):  # a little behind, a little ahead, at the crest
                    g = middle - width
                    if side == 1:
                        g = middle + width
                    if side == 2:
                        # The circle over a plane is a cosine: this is its crest, not that of a parabola.
                        bend = real(2.0) * before - left - right
                        if bend > real(0.0):
                            aside = wp.atan(wp.tan(real(0.5) * width) * (right - left) / bend)
                            steep = real(0.5) * bend / (real(1.0) - wp.cos(width))
                            gain = steep * (real(1.0) / wp.cos(aside) - real(1.0))
                            crest = before + gain
                        g = middle + wp.clamp(aside, -width, width)
                    h = travel_at(t, world, centre, ahead, up, radius, turned(g), best, CLOSER_STEPS)
                    if side == 0:
                        left = h
                    if side == 1:
                        right = h
                    if side == 2 and bend > real(0.0):
                        crest = wp.abs(h - crest)
                    if h > best and is_ground(h, g, limit):
                        best = h
                        angle = g
                if bend > real(0.0) and crest < real(CLOSE) * radius:
                    break  # a plane it is
                # Where the crest was foretold well the ground is smooth; else there may be an edge anywhere between.
                smooth = bend > real(0.0) and crest < real(0.1) * gain
                width = wp.where(smooth, width / real(SHRINK), real(0.5) * width)
                if width < real(FINEST):
                    break
        return vec3(best, angle, wall)

    @wp.func
    def find_wall(
        t: Terrain, world: int, axle: vec3, centre: vec3, ahead: vec3, up: vec3, radius: real, limit: real,
    ):  # fmt: skip
        """Depth of the rim, along its radius, where the suspension cannot lift it out; and the angle."""
        depth = real(0.0)
        angle = real(0.0)
        width = real(wp.pi) / real(t.slices)
        for k in range(t.slices + 1):
            g = real(k) * width - real(0.5 * wp.pi)
            turn = t.turns[k]
            out = turn[0] * ahead - turn[1] * up
            rim = axle + radius * out
            z = sample(t, world, rim[0], rim[1])
            if rim[2] < z[0]:
                h = travel_at(t, world, centre, ahead, up, radius, turn, real(0.0), CLOSER_STEPS)
                if not is_ground(h, g, limit):
                    outer = real(0.0)  # under the ground
                    inner = radius
                    for _ in range(WALL_STEPS):
                        middle = real(0.5) * (outer + inner)
                        at = rim - middle * out
                        z = sample(t, world, at[0], at[1])
                        if at[2] < z[0]:
                            outer = middle
                        else:
                            inner = middle
                    if inner > depth:
                        depth = inner
                        angle = g
        return p.vec2(depth, angle)

    @wp.func
    def peak_x(w: Wheel, excess: real):
        return wp.max(w.dx1 + w.dx2 * excess, real(0.0))

    @wp.func
    def forces(w: Wheel, N: real, kappa: real, tangent: real, moving: real):
        """F_x, F_y and the secants F_x / kappa, F_y / tan(alpha) [N] along the combined slip, Pacejka 2006 section 4.3.

        With s_x = kappa / (1 + kappa), s_y = tan(alpha) / (1 + kappa) the force of each axis is its Magic Formula at
        the resultant slip (1 + kappa) |s|, times its share s / |s|: pure slip gives 001 eq. 11-13 itself. Coefficients
        depend on load as in Pacejka 2006 eq. 4.E9-4.E30, camber nil; `moving` fades the shifts at a standstill.
        """
        excess = (N - w.load) / w.load
        x = kappa + (w.hx1 + w.hx2 * excess) * moving
        y = tangent + (w.hy1 + w.hy2 * excess) * moving
        slip = wp.max(wp.sqrt(x * x + y * y), real(1.0e-9))
        Dx = peak_x(w, excess) * N
        Dy = wp.max(w.dy1 + w.dy2 * excess, real(0.0)) * N
        Ex = wp.min((w.ex1 + w.ex2 * excess + w.ex3 * excess * excess) * (real(1.0) - w.ex4 * wp.sign(x)), real(1.0))
        Ey = wp.min(w.ey1 + w.ey2 * excess, real(1.0))
        Kx = N * (w.kx1 + w.kx2 * excess) * wp.exp(w.kx3 * excess)
        Ky = w.ky1 * w.load * wp.sin(real(2.0) * wp.atan(N / (w.ky2 * w.load)))
        tiny = real(1.0e-9)
        secant_x = magic_formula(slip, Kx / (w.cx * Dx + tiny), w.cx, Dx, Ex) / slip
        secant_y = magic_formula(slip, Ky / (w.cy * Dy + tiny), w.cy, Dy, Ey) / slip
        Fx = secant_x * x + N * (w.vx1 + w.vx2 * excess) * moving
        Fy = secant_y * y + N * (w.vy1 + w.vy2 * excess) * moving
        return p.vec4(Fx, Fy, secant_x, secant_y)

    @wp.func
    def pressed(n: vec3, arm: vec3, size: real):
        """J sqrt(size) of the speed along n of a point `arm` [m] off a body's origin: its square is size J^T J."""
        turn = wp.cross(arm, n)
        root = wp.sqrt(wp.max(size, real(0.0)))
        return root * vec6(n[0], n[1], n[2], turn[0], turn[1], turn[2])

    @wp.kernel(module=module)
    def evaluate(
        wheels: wp.array(dtype=Wheel), t: Terrain, rows: wp.array(dtype=wp.int32), step: wp.array(dtype=real),
        position: wp.array2d(dtype=vec3), rotation: wp.array2d(dtype=quat),
        velocity: wp.array2d(dtype=vec3), spin: wp.array2d(dtype=vec3), touch: Touch,
        wrench_out: wp.array2d(dtype=vec6), implicit_out: wp.array2d(dtype=mat66),
        status_out: wp.array2d(dtype=wp.int32),
    ):  # fmt: skip
        """Contact of every wheel at the present pose, forces at the end of the step, implicit blocks."""
        world = wp.tid()
        h = step[0]
        zero = real(0.0)
        one = real(1.0)
        chassis = rows[0]
        up = wp.quat_rotate(rotation[world, chassis], vec3(zero, zero, one))
        chassis_spin = spin[world, chassis]
        chassis_torque = vec3()
        for k in range(wheels.shape[0]):
            w = wheels[k]
            row = rows[k + 1]
            centre = position[world, row]
            across = wp.quat_rotate(rotation[world, row], vec3(zero, one, zero))
            ahead = wp.normalize(wp.cross(across, up))
            f = vec6()
            ground_n = vec6()
            ground_x = vec6()
            ground_y = vec6()
            wall_n = vec6()
            wall_x = vec6()
            wall_y = vec6()
            code = int(0)
            touching = int(0)
            travel = zero
            wall_force = zero
            slip = p.vec2()
            if up[2] > real(LEAST_UPRIGHT):
                found = find_contact(t, world, centre, ahead, up, w.radius, w.travel)
                before = touch.held[world, k]
                # A wheel that is pushed under the ground, or comes up from there after a roll, is not shot out of it.
                most = wp.where((before & ON_GROUND) == 0, w.travel, real(BURIED) * w.travel)
                if found[0] > most:
                    found = vec3(zero, zero, found[2])
                angle = found[1]
                travel = wp.max(found[0], zero)
                shift = travel * up
                if found[0] > zero:
                    cosine = wp.cos(angle)
                    sine = wp.sin(angle)
                    normal = cosine * up - sine * ahead
                    along = cosine * ahead + sine * up
                    arm = -w.radius * normal
                    frame_speed = velocity[world, row] + wp.cross(chassis_spin, shift)
                    rate = -wp.dot(normal, frame_speed) / cosine
                    damping = wp.where(rate > zero, w.compression, w.rebound)
                    spring, slope = spring_force(found[0] + h * rate, w.stiffness, w.saturation, w.progression)
                    suspension = wp.max(spring + damping * rate, zero)
                    touching = ON_GROUND
                    contact_speed = frame_speed + wp.cross(spin[world, row], arm)
                    vx = wp.dot(contact_speed, along)
                    vy = wp.dot(contact_speed, across)
                    travelling = wp.dot(frame_speed, along)
                    slow = low_speed(travelling, w.slow)
                    u = touch.deflection[world, k]
                    lag_x = h / (one + h * wp.abs(travelling) / w.length_x) + w.damping * slow
                    lag_y = h / (one + h * wp.abs(travelling) / w.length_y) + w.damping * slow
                    kappa = (deflected(u[0], vx, travelling, w.length_x, h) - w.damping * slow * vx) / w.length_x
                    tangent = (deflected(u[1], vy, travelling, w.length_y, h) - w.damping * slow * vy) / w.length_y
                    slip = p.vec2(kappa, tangent)
                    N = suspension / cosine
                    tyre = p.vec4()
                    for _ in range(NORMAL_STEPS):  # N and F_x depend on each other
                        load = wp.max(N, real(1.0e-6))
                        tyre = forces(w, load, kappa, tangent, one - slow)
                        N = normal_load(suspension, tyre[0] / load, cosine, sine)
                        if wp.abs(N - load) < real(1.0e-9) * load:
                            break
                    if suspension > zero:
                        push = N * normal + tyre[0] * along + tyre[1] * across
                        turn = wp.cross(arm, push)
                        rim_speed = wp.dot(spin[world, row] - chassis_spin, across) * w.radius
                        resist = -w.rolling * N * w.radius * rim_speed / (wp.abs(rim_speed) + real(0.01))
                        turn = turn + resist * across
                        f = vec6(push[0], push[1], push[2], turn[0], turn[1], turn[2])
                        chassis_torque = chassis_torque + wp.cross(shift, push)
                        # The normal force acts through the axle and knows no spin.
                        ground_n = pressed(normal, vec3(), h * (damping + h * slope) / (cosine * cosine))
                        ground_x = pressed(along, arm, h * tyre[2] * lag_x / w.length_x)
                        ground_y = pressed(across, arm, h * tyre[3] * lag_y / w.length_y)
                    touch.arm[world, k] = arm
                    touch.along[world, k] = along
                    touch.normal[world, k] = normal
                    touch.point[world, k] = centre + shift + arm
                    touch.angle[world, k] = angle
                    at = centre + shift + arm
                    x1 = t.x0 + t.spacing * real(t.heights.shape[1] - 1)
                    y1 = t.y0 + t.spacing * real(t.heights.shape[0] - 1)
                    if t.deep != 0:
                        x1 = t.x0 + t.spacing * real(t.ground.columns - 1)
                        y1 = t.y0 + t.spacing * real(t.ground.rows - 1)
                    if at[0] < t.x0 or at[1] < t.y0 or at[0] > x1 or at[1] > y1:
                        code = BEYOND
                axle = centre + shift
                wall = p.vec2()
                if found[2] > travel:
                    wall = find_wall(t, world, axle, centre, ahead, up, w.radius, w.travel)
                if (before & ON_WALL) == 0 and wall[0] > real(SHALLOW) * w.radius:
                    wall = p.vec2()
                if wall[0] > zero:
                    touching = touching + ON_WALL
                    normal = wp.cos(wall[1]) * up - wp.sin(wall[1]) * ahead
                    along = wp.cos(wall[1]) * ahead + wp.sin(wall[1]) * up
                    arm = -(w.radius - wall[0]) * normal
                    frame_speed = velocity[world, row] + wp.cross(chassis_spin, shift)
                    rate = -wp.dot(normal, frame_speed)
                    size = wp.max(w.radial_stiffness * (wall[0] + h * rate) + w.radial_damping * rate, zero)
                    wall_force = size
                    if size > zero:
                        contact_speed = frame_speed + wp.cross(spin[world, row], arm)
                        vx = wp.dot(contact_speed, along)
                        vy = wp.dot(contact_speed, across)
                        speed = wp.sqrt(vx * vx + vy * vy)
                        drag = peak_x(w, zero) * size / wp.max(speed, real(WALL_SPEED))
                        push = size * normal - drag * (vx * along + vy * across)
                        turn = wp.cross(arm, push)
                        f = f + vec6(push[0], push[1], push[2], turn[0], turn[1], turn[2])
                        chassis_torque = chassis_torque + wp.cross(shift, push)
                        wall_n = pressed(normal, vec3(), h * (w.radial_damping + h * w.radial_stiffness))
                        wall_x = pressed(along, arm, h * drag)
                        wall_y = pressed(across, arm, h * drag)
            touch.across[world, k] = across
            touch.shift[world, k] = travel * up
            touch.travel[world, k] = travel
            touch.touching[world, k] = touching
            touch.slip[world, k] = slip
            touch.wall[world, k] = wall_force
            wrench_out[world, k + 1] = f
            block = mat66()
            for r in range(6):
                for c in range(6):
                    entry = ground_n[r] * ground_n[c] + ground_x[r] * ground_x[c] + ground_y[r] * ground_y[c]
                    block[r, c] = entry + wall_n[r] * wall_n[c] + wall_x[r] * wall_x[c] + wall_y[r] * wall_y[c]
            implicit_out[world, k + 1] = block
            status_out[world, k + 1] = code
        wrench_out[world, 0] = vec6(zero, zero, zero, chassis_torque[0], chassis_torque[1], chassis_torque[2])

    @wp.kernel(module=module)
    def commit(
        wheels: wp.array(dtype=Wheel), rows: wp.array(dtype=wp.int32), step: wp.array(dtype=real),
        velocity: wp.array2d(dtype=vec3), spin: wp.array2d(dtype=vec3), effective: wp.array2d(dtype=vec6),
        touch: Touch,
    ):  # fmt: skip
        """The tread's deflection goes on with the velocity at the end of the step; what wheels really got."""
        world = wp.tid()
        h = step[0]
        for k in range(wheels.shape[0]):
            touch.held[world, k] = touch.touching[world, k]
            if (touch.touching[world, k] & ON_GROUND) == 0:
                touch.deflection[world, k] = p.vec2()
                touch.force[world, k] = vec3()
            else:
                w = wheels[k]
                along = touch.along[world, k]
                across = touch.across[world, k]
                shift = touch.shift[world, k]
                frame_speed = velocity[world, rows[k + 1]] + wp.cross(spin[world, rows[0]], shift)
                contact_speed = frame_speed + wp.cross(spin[world, rows[k + 1]], touch.arm[world, k])
                vx = wp.dot(contact_speed, along)
                vy = wp.dot(contact_speed, across)
                travelling = wp.dot(frame_speed, along)
                u = touch.deflection[world, k]
                kappa = deflected(u[0], vx, travelling, w.length_x, h) / w.length_x
                tangent = deflected(u[1], vy, travelling, w.length_y, h) / w.length_y
                # Beyond the peak the tread slides: it winds up no farther than steady slip would wind it.
                steady = wp.sqrt(vx * vx + vy * vy) / wp.max(wp.abs(travelling), w.slow)
                share = held(kappa, tangent, wp.max(w.peak, steady))
                touch.deflection[world, k] = p.vec2(kappa * share * w.length_x, tangent * share * w.length_y)
                e = effective[world, k + 1]
                got = vec3(e[0], e[1], e[2])
                touch.force[world, k] = vec3(
                    wp.dot(got, along), wp.dot(got, across), wp.dot(got, touch.normal[world, k])
                )

    return SimpleNamespace(
        Wheel=Wheel, Terrain=Terrain, Touch=Touch, evaluate=evaluate, commit=commit, module=module
    )  # fmt: skip
