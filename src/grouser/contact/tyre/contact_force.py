"""Forces of ground and walls on a wheel (suspension, Magic Formula, tread), and their implicit blocks."""

from __future__ import annotations

import warp as wp

from grouser.contact.rigid import wrench_of
from grouser.contact.tyre.laws import low_speed, magic_secant, next_deflection, normal_load, spring_force
from grouser.contact.tyre.types import GroundContact, Slip, WallContact, Wheel, WheelPose, WheelStates
from grouser.device import array2d
from grouser.precision import mat66, quat, real, vec2, vec3, vec6

NORMAL_STEPS, NORMAL_CLOSE = 4, 1e-9  # iteration of N and F_x: largest number of steps, relative tolerance
WALL_SPEED = 0.05  # [m/s] slip speed from which on friction on a wall has its full size (assumed)


@wp.func
def y_axis(q: quat):
    """The y axis of a frame with orientation q."""
    one = real(1.0)
    two = real(2.0)
    x = two * (q[0] * q[1] - q[2] * q[3])
    z = two * (q[1] * q[2] + q[0] * q[3])
    return vec3(x, one - two * (q[0] * q[0] + q[2] * q[2]), z)


@wp.func
def z_axis(q: quat):
    """The z axis of a frame with orientation q."""
    one = real(1.0)
    two = real(2.0)
    x = two * (q[0] * q[2] + q[1] * q[3])
    y = two * (q[1] * q[2] - q[0] * q[3])
    return vec3(x, y, one - two * (q[0] * q[0] + q[1] * q[1]))


@wp.func
def grip_along(w: Wheel, excess: real):
    """Peak longitudinal force D over load."""
    return wp.max(w.dx1 + w.dx2 * excess, real(0.0))


@wp.func
def slip_of(w: Wheel, excess: real, kappa: real, tangent: real, moving: real):
    """Longitudinal and lateral slip with the shifts S_H (Morrot et al., eq. 13), and their resultant."""
    x = kappa + (w.hx1 + w.hx2 * excess) * moving
    y = tangent + (w.hy1 + w.hy2 * excess) * moving
    return Slip(x, y, wp.max(wp.sqrt(x * x + y * y), real(1.0e-9)))


@wp.func
def secant_along(w: Wheel, excess: real, s: Slip):
    """F_x over slip and load. Pacejka 2006, eq. 4.E9-4.E18, without camber, at the resultant slip (section 4.3)."""
    D = grip_along(w, excess)
    E = (w.ex1 + w.ex2 * excess + w.ex3 * excess * excess) * (real(1.0) - w.ex4 * wp.sign(s.along))
    K = w.kx1 + w.kx2 * excess
    if w.kx3 != real(0.0):
        K = K * wp.exp(w.kx3 * excess)
    return magic_secant(s.size, K / (w.cx * D + real(1.0e-9)), w.cx, D, wp.min(E, real(1.0)))


@wp.func
def secant_across(w: Wheel, excess: real, s: Slip):
    """F_y over slip and load. Pacejka 2006, eq. 4.E19-4.E30, no camber; sin(2 atan(r)) = 2 r / (1 + r^2) in K_y."""
    D = wp.max(w.dy1 + w.dy2 * excess, real(0.0))
    E = wp.min(w.ey1 + w.ey2 * excess, real(1.0))
    ratio = (real(1.0) + excess) / w.ky2
    K = real(2.0) * w.ky1 / (w.ky2 * (real(1.0) + ratio * ratio))
    return magic_secant(s.size, K / (w.cy * D + real(1.0e-9)), w.cy, D, E)


@wp.func
def block(sn: real, sx: real, sy: real, n: vec3, x: vec3, y: vec3, arm: vec3):
    """Implicit block: sum of size J^T J for the velocities along n, x, y of the rim's point at `arm`, by component."""
    # The speed of the rim's point along n is n . velocity + (arm x n) . angular velocity, so J = [n, arm x n].
    r = wp.cross(arm, n)
    u = wp.cross(arm, x)
    v = wp.cross(arm, y)
    a = sn * n
    b = sx * x
    c = sy * y
    q = sn * r
    d = sx * u
    e = sy * v
    # Entries of the 3 x 3 blocks: f linear, g mixed, t angular. f and t are symmetric: only their upper halves.
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
def ground_force(
    w: Wheel, g: WheelPose, found: GroundContact, lean: real, h: real, world: int, k: int, state: WheelStates,
    wrench_out: array2d[vec6], implicit_out: array2d[mat66],
):  # fmt: skip
    """Force [N] of the ground on a wheel. Also writes its state, wrench and implicit block.

    N lies in the wheel's plane (Morrot et al., eq. 9, 10). If the ground slopes sideways by `lean`, sideways motion
    lifts the wheel, so the ground also pushes sideways with N lean. Without this force the lift would be energy from
    nothing.
    """
    zero = real(0.0)
    one = real(1.0)
    sine = found.sine
    cosine = found.cosine
    normal = cosine * g.up - sine * g.ahead
    along = cosine * g.ahead + sine * g.up
    across = g.across
    arm = -w.radius * normal
    rim_velocity = g.velocity + wp.cross(g.angular_velocity, arm)
    vx = wp.dot(rim_velocity, along)
    vy = wp.dot(rim_velocity, across)
    # Rate of compression [m/s] of the suspension. The spring is evaluated at the end of the step.
    rate = -(wp.dot(normal, g.velocity) + lean * vy) / cosine
    damping = wp.where(rate > zero, w.compression, w.rebound)
    spring, slope = spring_force(
        found.travel + h * rate, w.stiffness, w.saturation, w.progression, w.travel, w.stop_stiffness
    )
    suspension = wp.max(spring + damping * rate, zero)
    # Slip at the end of the step from the deflection of the tread. At a standstill the tread is a spring that needs
    # damping, and the shifts S_H and S_V fade out.
    travelling = wp.dot(g.velocity, along)
    slow = low_speed(travelling, w.slow)
    moving = one - slow
    standing = w.damping * slow
    u = state.deflection[world, k]
    kappa = (next_deflection(u[0], vx, travelling, w.length_x, h) - standing * vx) / w.length_x
    tangent = (next_deflection(u[1], vy, travelling, w.length_y, h) - standing * vy) / w.length_y
    state.slip[world, k] = vec2(kappa, tangent)
    state.arm[world, k] = arm
    state.along[world, k] = along
    state.normal[world, k] = normal
    state.point[world, k] = g.axle + arm
    state.angle[world, k] = wp.asin(sine)
    if suspension <= zero:
        wrench_out[world, k + 1] = vec6()
        implicit_out[world, k + 1] = mat66()
        return vec3()
    N = suspension / cosine
    s = Slip()
    secant_x = zero
    traction = zero
    for _ in range(NORMAL_STEPS):  # fixed-point iteration: N and F_x depend on each other
        load = wp.max(N, real(1.0e-6))
        excess = load / w.load - one
        s = slip_of(w, excess, kappa, tangent, moving)
        secant_x = secant_along(w, excess, s)
        traction = secant_x * s.along + (w.vx1 + w.vx2 * excess) * moving
        N = normal_load(suspension, traction, cosine, sine)
        if w.load_free == 1 or wp.abs(N - load) < real(NORMAL_CLOSE) * load:
            break
    excess = N / w.load - one
    secant_y = secant_across(w, excess, s)
    Fy = N * (secant_y * s.across + (w.vy1 + w.vy2 * excess) * moving)
    pressing = normal + lean * across
    push = N * pressing + N * traction * along + Fy * across
    # Rolling resistance as a torque about the axle, smooth around zero speed.
    rim_speed = wp.dot(g.angular_velocity - g.chassis_angular_velocity, across) * w.radius
    resist = -w.rolling * N * w.radius * rim_speed / (wp.abs(rim_speed) + real(0.01))
    turn = wp.cross(arm, push) + resist * across
    wrench_out[world, k + 1] = wrench_of(push, turn)
    # Weights of the implicit block: suspension along the normal, secant of the tread forces along and across.
    lag_x = h / (one + h * wp.abs(travelling) / w.length_x) + standing
    lag_y = h / (one + h * wp.abs(travelling) / w.length_y) + standing
    size_n = h * (damping + h * slope) / (cosine * cosine)
    size_x = h * N * secant_x * lag_x / w.length_x
    size_y = h * N * secant_y * lag_y / w.length_y
    implicit_out[world, k + 1] = block(size_n, size_x, size_y, pressing, along, across, arm)
    return push


@wp.func
def wall_force(
    w: Wheel, g: WheelPose, wall: WallContact, h: real, world: int, k: int, state: WheelStates,
    wrench_out: array2d[vec6], implicit_out: array2d[mat66],
):  # fmt: skip
    """Force [N] of a wall on a wheel: spring, damper and friction of the tyre. Adds to wrench and implicit block."""
    zero = real(0.0)
    # A wall presses along the tyre's own radius. The suspension cannot give way in this direction.
    normal = wall.cosine * g.up - wall.sine * g.ahead
    along = wall.cosine * g.ahead + wall.sine * g.up
    # The contact lies on the wall, inside the undeformed rim.
    arm = -(w.radius - wall.depth) * normal
    rate = -wp.dot(normal, g.velocity)
    size = wp.max(w.radial_stiffness * (wall.depth + h * rate) + w.radial_damping * rate, zero)
    state.wall[world, k] = size
    if size <= zero:
        return vec3()
    rim_velocity = g.velocity + wp.cross(g.angular_velocity, arm)
    vx = wp.dot(rim_velocity, along)
    vy = wp.dot(rim_velocity, g.across)
    speed = wp.sqrt(vx * vx + vy * vy)
    # Coulomb friction as force over speed. There is no tread spring here, so it fades out below WALL_SPEED: with its
    # full size at rest it would change sign in every step.
    drag = grip_along(w, zero) * size / wp.max(speed, real(WALL_SPEED))
    push = size * normal - drag * (vx * along + vy * g.across)
    turn = wp.cross(arm, push)
    # Add: a wheel may touch ground and wall together.
    f = wrench_of(push, turn)
    wrench_out[world, k + 1] = wrench_out[world, k + 1] + f
    size_n = h * (w.radial_damping + h * w.radial_stiffness)
    more = block(size_n, h * drag, h * drag, normal, along, g.across, arm)
    implicit_out[world, k + 1] = implicit_out[world, k + 1] + more
    return push
