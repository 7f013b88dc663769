"""One thread for the vehicle of a world: how hard each wheel is pressed and pushed, and what its tread has become."""

from functools import cache
from types import SimpleNamespace

import warp as wp

from grouser.contact.tyre.laws import deflected, held, low_speed, magic_secant, normal_load, spring_force
from grouser.contact.tyre.search import search_functions
from grouser.precision import precision

LEAST_UPRIGHT = 0.5  # cosine between suspension and vertical below which wheels find no ground (assumed)
NORMAL_STEPS, NORMAL_CLOSE = 4, 1e-9  # of the iteration of N and F_x: at most, and how nearly
WALL_SPEED = 0.05  # [m/s] of slip at which friction on a wall is fully there (assumed)
ON_GROUND, ON_WALL = 1, 2
BURIED = 2.0  # of its travel: where the ground asks a suspension for more, the chassis lies on it (assumed)
SHALLOW = 0.25  # of the radius: a wall that is met deeper at once was met from inside (assumed)
BEYOND, TOO_FAR = 1, 2  # status: the wheel is beyond the terrain, its suspension beyond its travel


@cache
def tyre_kernels(name: str, deep: bool = False) -> SimpleNamespace:
    """`deep`: on ground that bodies change."""
    p = precision(name)
    real, vec2, vec3, vec4, quat, vec6, mat66 = p.real, p.vec2, p.vec3, p.vec4, p.quat, p.vec6, p.mat66
    search = search_functions(name, deep)
    Terrain, Arrays = search.Terrain, search.Arrays
    find_contact, find_wall, is_beyond = search.find_contact, search.find_wall, search.is_beyond
    side_slope = search.side_slope
    module = wp.get_module(f"grouser.contact.tyre.{name}{'.deep' if deep else ''}")
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
        load_free: wp.int32  # 1: F_x over load does not depend on the load

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

    @wp.struct
    class Pose:
        """One wheel where its suspension has it; world axes."""

        up: vec3  # along the suspension
        ahead: vec3  # where it rolls
        across: vec3  # along its axle
        axle: vec3  # [m]
        velocity: vec3  # [m/s] of the suspension's end
        spin: vec3  # [rad/s]
        chassis_spin: vec3  # [rad/s]

    @wp.func
    def y_axis(q: quat):
        """The y axis that q turns to."""
        one = real(1.0)
        two = real(2.0)
        x = two * (q[0] * q[1] - q[2] * q[3])
        z = two * (q[1] * q[2] + q[0] * q[3])
        return vec3(x, one - two * (q[0] * q[0] + q[2] * q[2]), z)

    @wp.func
    def z_axis(q: quat):
        """The z axis that q turns to."""
        one = real(1.0)
        two = real(2.0)
        x = two * (q[0] * q[2] + q[1] * q[3])
        y = two * (q[1] * q[2] - q[0] * q[3])
        return vec3(x, y, one - two * (q[0] * q[0] + q[1] * q[1]))

    @wp.func
    def grip_along(w: Wheel, excess: real):
        """Peak D over load."""
        return wp.max(w.dx1 + w.dx2 * excess, real(0.0))

    @wp.func
    def slip_of(w: Wheel, excess: real, kappa: real, tangent: real, moving: real):
        """Slip along and across with the shifts S_H (001 eq. 13), and their resultant."""
        x = kappa + (w.hx1 + w.hx2 * excess) * moving
        y = tangent + (w.hy1 + w.hy2 * excess) * moving
        return vec3(x, y, wp.max(wp.sqrt(x * x + y * y), real(1.0e-9)))

    @wp.func
    def secant_along(w: Wheel, excess: real, s: vec3):
        """F_x over slip and load. Pacejka 2006 eq. 4.E9-4.E18, camber nil, at the resultant slip (section 4.3)."""
        D = grip_along(w, excess)
        E = (w.ex1 + w.ex2 * excess + w.ex3 * excess * excess) * (real(1.0) - w.ex4 * wp.sign(s[0]))
        K = w.kx1 + w.kx2 * excess
        if w.kx3 != real(0.0):
            K = K * wp.exp(w.kx3 * excess)
        return magic_secant(s[2], K / (w.cx * D + real(1.0e-9)), w.cx, D, wp.min(E, real(1.0)))

    @wp.func
    def secant_across(w: Wheel, excess: real, s: vec3):
        """F_y over slip and load. Pacejka 2006 eq. 4.E19-4.E30, camber nil; sin(2 atan(r)) = 2 r / (1 + r^2) in K_y."""
        D = wp.max(w.dy1 + w.dy2 * excess, real(0.0))
        E = wp.min(w.ey1 + w.ey2 * excess, real(1.0))
        ratio = (real(1.0) + excess) / w.ky2
        K = real(2.0) * w.ky1 / (w.ky2 * (real(1.0) + ratio * ratio))
        return magic_secant(s[2], K / (w.cy * D + real(1.0e-9)), w.cy, D, E)

    @wp.func
    def block(sn: real, sx: real, sy: real, n: vec3, x: vec3, y: vec3, arm: vec3):
        """sum size J^T J of the speeds along n, x, y of the rim's point at `arm`."""
        r = wp.cross(arm, n)
        u = wp.cross(arm, x)
        v = wp.cross(arm, y)
        a = sn * n
        b = sx * x
        c = sy * y
        q = sn * r
        d = sx * u
        e = sy * v
        f01 = a[0] * n[1] + b[0] * x[1] + c[0] * y[1]
        f02 = a[0] * n[2] + b[0] * x[2] + c[0] * y[2]
        f12 = a[1] * n[2] + b[1] * x[2] + c[1] * y[2]
        g00 = q[0] * n[0] + d[0] * x[0] + e[0] * y[0]
        g01 = q[1] * n[0] + d[1] * x[0] + e[1] * y[0]
        g02 = q[2] * n[0] + d[2] * x[0] + e[2] * y[0]
        g10 = q[0] * n[1] + d[0] * x[1] + e[0] * y[1]
        g11 = q[1] * n[1] + d[1] * x[1] + e[1] * y[1]
        g12 = q[2] * n[1] + d[2] * x[1] + e[2] * y[1]
        g20 = q[0] * n[2] + d[0] * x[2] + e[0] * y[2]
        g21 = q[1] * n[2] + d[1] * x[2] + e[1] * y[2]
        g22 = q[2] * n[2] + d[2] * x[2] + e[2] * y[2]
        t01 = q[0] * r[1] + d[0] * u[1] + e[0] * v[1]
        t02 = q[0] * r[2] + d[0] * u[2] + e[0] * v[2]
        t12 = q[1] * r[2] + d[1] * u[2] + e[1] * v[2]
        return mat66(
            a[0] * n[0] + b[0] * x[0] + c[0] * y[0], f01, f02, g00, g01, g02,
            f01, a[1] * n[1] + b[1] * x[1] + c[1] * y[1], f12, g10, g11, g12,
            f02, f12, a[2] * n[2] + b[2] * x[2] + c[2] * y[2], g20, g21, g22,
            g00, g10, g20, q[0] * r[0] + d[0] * u[0] + e[0] * v[0], t01, t02,
            g01, g11, g21, t01, q[1] * r[1] + d[1] * u[1] + e[1] * v[1], t12,
            g02, g12, g22, t02, t12, q[2] * r[2] + d[2] * u[2] + e[2] * v[2],
        )  # fmt: skip

    @wp.func
    def carried(
        w: Wheel, g: Pose, found: vec4, lean: real, h: real, world: int, k: int, touch: Touch,
        wrench_out: wp.array2d(dtype=vec6), implicit_out: wp.array2d(dtype=mat66),
    ):  # fmt: skip
        """Force [N] of the ground on a wheel whose suspension carries it; writes what it does and feels.

        N lies in the wheel's plane (001 eq. 9, 10). Where the ground slopes across it by `lean`, sideways motion lifts
        the wheel too and the ground pushes aside with N lean; else that lift would come from nothing.
        """
        zero = real(0.0)
        one = real(1.0)
        sine = found[1]
        cosine = found[2]
        normal = cosine * g.up - sine * g.ahead
        along = cosine * g.ahead + sine * g.up
        across = g.across
        arm = -w.radius * normal
        rim_velocity = g.velocity + wp.cross(g.spin, arm)
        vx = wp.dot(rim_velocity, along)
        vy = wp.dot(rim_velocity, across)
        rate = -(wp.dot(normal, g.velocity) + lean * vy) / cosine
        damping = wp.where(rate > zero, w.compression, w.rebound)
        spring, slope = spring_force(found[0] + h * rate, w.stiffness, w.saturation, w.progression)
        suspension = wp.max(spring + damping * rate, zero)
        travelling = wp.dot(g.velocity, along)
        slow = low_speed(travelling, w.slow)
        moving = one - slow
        standing = w.damping * slow
        u = touch.deflection[world, k]
        kappa = (deflected(u[0], vx, travelling, w.length_x, h) - standing * vx) / w.length_x
        tangent = (deflected(u[1], vy, travelling, w.length_y, h) - standing * vy) / w.length_y
        touch.slip[world, k] = vec2(kappa, tangent)
        touch.arm[world, k] = arm
        touch.along[world, k] = along
        touch.normal[world, k] = normal
        touch.point[world, k] = g.axle + arm
        touch.angle[world, k] = wp.asin(sine)
        if suspension <= zero:
            wrench_out[world, k + 1] = vec6()
            implicit_out[world, k + 1] = mat66()
            return vec3()
        N = suspension / cosine
        s = vec3()
        secant_x = zero
        traction = zero
        for _ in range(NORMAL_STEPS):  # N and F_x depend on each other
            load = wp.max(N, real(1.0e-6))
            excess = load / w.load - one
            s = slip_of(w, excess, kappa, tangent, moving)
            secant_x = secant_along(w, excess, s)
            traction = secant_x * s[0] + (w.vx1 + w.vx2 * excess) * moving
            N = normal_load(suspension, traction, cosine, sine)
            if w.load_free == 1 or wp.abs(N - load) < real(NORMAL_CLOSE) * load:
                break
        excess = N / w.load - one
        secant_y = secant_across(w, excess, s)
        Fy = N * (secant_y * s[1] + (w.vy1 + w.vy2 * excess) * moving)
        pressing = normal + lean * across
        push = N * pressing + N * traction * along + Fy * across
        rim_speed = wp.dot(g.spin - g.chassis_spin, across) * w.radius
        resist = -w.rolling * N * w.radius * rim_speed / (wp.abs(rim_speed) + real(0.01))
        turn = wp.cross(arm, push) + resist * across
        wrench_out[world, k + 1] = vec6(push[0], push[1], push[2], turn[0], turn[1], turn[2])
        lag_x = h / (one + h * wp.abs(travelling) / w.length_x) + standing
        lag_y = h / (one + h * wp.abs(travelling) / w.length_y) + standing
        size_n = h * (damping + h * slope) / (cosine * cosine)
        size_x = h * N * secant_x * lag_x / w.length_x
        size_y = h * N * secant_y * lag_y / w.length_y
        implicit_out[world, k + 1] = block(size_n, size_x, size_y, pressing, along, across, arm)
        return push

    @wp.func
    def leaning(
        w: Wheel, g: Pose, wall: vec3, h: real, world: int, k: int, touch: Touch,
        wrench_out: wp.array2d(dtype=vec6), implicit_out: wp.array2d(dtype=mat66),
    ):  # fmt: skip
        """Force [N] of a wall on a wheel: spring, damper and friction of the tyre, added to what the ground does."""
        zero = real(0.0)
        normal = wall[2] * g.up - wall[1] * g.ahead
        along = wall[2] * g.ahead + wall[1] * g.up
        arm = -(w.radius - wall[0]) * normal
        rate = -wp.dot(normal, g.velocity)
        size = wp.max(w.radial_stiffness * (wall[0] + h * rate) + w.radial_damping * rate, zero)
        touch.wall[world, k] = size
        if size <= zero:
            return vec3()
        rim_velocity = g.velocity + wp.cross(g.spin, arm)
        vx = wp.dot(rim_velocity, along)
        vy = wp.dot(rim_velocity, g.across)
        speed = wp.sqrt(vx * vx + vy * vy)
        drag = grip_along(w, zero) * size / wp.max(speed, real(WALL_SPEED))
        push = size * normal - drag * (vx * along + vy * g.across)
        turn = wp.cross(arm, push)
        f = vec6(push[0], push[1], push[2], turn[0], turn[1], turn[2])
        wrench_out[world, k + 1] = wrench_out[world, k + 1] + f
        size_n = h * (w.radial_damping + h * w.radial_stiffness)
        more = block(size_n, h * drag, h * drag, normal, along, g.across, arm)
        implicit_out[world, k + 1] = implicit_out[world, k + 1] + more
        return push

    @wp.kernel(module=module)
    def evaluate(
        wheels: wp.array(dtype=Wheel), t: Terrain, ground: Arrays, rows: wp.array(dtype=wp.int32),
        step: wp.array(dtype=real),
        position: wp.array2d(dtype=vec3), rotation: wp.array2d(dtype=quat),
        velocity: wp.array2d(dtype=vec3), spin: wp.array2d(dtype=vec3), touch: Touch,
        wrench_out: wp.array2d(dtype=vec6), implicit_out: wp.array2d(dtype=mat66),
        status_out: wp.array2d(dtype=wp.int32),
    ):  # fmt: skip
        """Contact of every wheel at the present pose, forces at the end of the step, implicit blocks."""
        world = wp.tid()
        h = step[0]
        zero = real(0.0)
        g = Pose()
        g.up = z_axis(rotation[world, rows[0]])
        g.chassis_spin = spin[world, rows[0]]
        chassis_torque = vec3()
        for k in range(wheels.shape[0]):
            w = wheels[k]
            row = rows[k + 1]
            centre = position[world, row]
            g.across = y_axis(rotation[world, row])
            g.ahead = wp.normalize(wp.cross(g.across, g.up))
            g.spin = spin[world, row]
            found = vec4(zero, zero, real(1.0), zero)
            if g.up[2] > real(LEAST_UPRIGHT):
                found = find_contact(t, ground, world, centre, g.ahead, g.up, w.radius, w.travel)
            before = touch.held[world, k]
            # A wheel that is pushed under the ground, or comes up from there after a roll, is not shot out of it.
            most = wp.where((before & ON_GROUND) == 0, w.travel, real(BURIED) * w.travel)
            travel = wp.where(found[0] > most, zero, wp.max(found[0], zero))
            shift = travel * g.up
            g.axle = centre + shift
            g.velocity = velocity[world, row] + wp.cross(g.chassis_spin, shift)
            touching = int(0)
            push = vec3()
            if travel > zero:
                foot = g.axle + w.radius * (found[1] * g.ahead - found[2] * g.up)
                lean = side_slope(t, ground, world, foot, g.across)
                push = carried(w, g, found, lean, h, world, k, touch, wrench_out, implicit_out)
                touching = ON_GROUND
            else:
                touch.slip[world, k] = vec2()
                wrench_out[world, k + 1] = vec6()
                implicit_out[world, k + 1] = mat66()
            touch.wall[world, k] = zero
            if found[3] > travel:
                wall = find_wall(t, ground, world, g.axle, centre, g.ahead, g.up, w.radius, w.travel)
                if wall[0] > zero and ((before & ON_WALL) != 0 or wall[0] <= real(SHALLOW) * w.radius):
                    push = push + leaning(w, g, wall, h, world, k, touch, wrench_out, implicit_out)
                    touching = touching + ON_WALL
            chassis_torque = chassis_torque + wp.cross(shift, push)
            touch.across[world, k] = g.across
            touch.shift[world, k] = shift
            touch.travel[world, k] = travel
            touch.touching[world, k] = touching
            status = wp.where(travel > w.travel, TOO_FAR, 0)
            status_out[world, k + 1] = wp.where(touching == 1 and is_beyond(t, g.axle), BEYOND, status)
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
                touch.deflection[world, k] = vec2()
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
                touch.deflection[world, k] = vec2(kappa * share * w.length_x, tangent * share * w.length_y)
                e = effective[world, k + 1]
                got = vec3(e[0], e[1], e[2])
                touch.force[world, k] = vec3(
                    wp.dot(got, along), wp.dot(got, across), wp.dot(got, touch.normal[world, k])
                )

    return SimpleNamespace(
        Wheel=Wheel, Terrain=Terrain, Arrays=Arrays, Touch=Touch, evaluate=evaluate, commit=commit, module=module
    )
