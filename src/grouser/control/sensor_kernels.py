"""Virtual sensors as a kernel: from MjData and the tyres to what controllers may know."""

from functools import cache
from types import SimpleNamespace

import warp as wp

from grouser.precision import precision


@wp.struct
class Sensed:
    """What the sensors of a vehicle say; (world, …)."""

    time: wp.array(dtype=wp.float64)  # [s]
    wheel_rate: wp.array2d(dtype=wp.float64)  # [rad/s], (world, wheel)
    contact: wp.array2d(dtype=wp.bool)  # (world, wheel)
    contact_angle: wp.array2d(dtype=wp.float64)  # [rad], (world, wheel)
    load: wp.array2d(dtype=wp.float64)  # [N], (world, wheel)
    speed: wp.array(dtype=wp.float64)  # [m/s]
    attitude: wp.array(dtype=wp.vec3d)  # [rad] roll, pitch, yaw
    spin: wp.array(dtype=wp.vec3d)  # [rad/s] chassis axes
    specific_force: wp.array(dtype=wp.vec3d)  # [m/s^2] chassis axes
    position: wp.array(dtype=wp.vec3d)  # [m] world
    rotation: wp.array(dtype=wp.mat33d)  # chassis to world
    last: wp.array2d(dtype=wp.float64)  # [m/s, s] velocity and time of the last reading, whether there was one; state


@wp.struct
class Wires:
    """Where the sensors of one world are connected."""

    world: wp.int32
    body: wp.int32  # the chassis
    free: wp.int32  # first degree of freedom of its free joint
    dofs: wp.array(dtype=wp.int32)  # (wheel,)
    gravity: wp.vec3d  # [m/s^2]
    speeds: wp.array(dtype=wp.float64)  # (dof,) qvel
    places: wp.array(dtype=wp.vec3d)  # [m], (body,)
    axes: wp.array(dtype=wp.mat33d)  # (body,)


@cache
def sensor_kernels(name: str) -> SimpleNamespace:
    """`name` of the tyres' float type."""
    p = precision(name)
    real = p.real
    module = wp.get_module(f"grouser.control.sensors.{name}")
    module.options["enable_backward"] = False

    @wp.kernel(module=module)
    def sense(
        at: Wires, clock: wp.array(dtype=wp.float64), touching: wp.array2d(dtype=wp.int32),
        angle: wp.array2d(dtype=real), force: wp.array2d(dtype=p.vec3), s: Sensed,
    ):  # fmt: skip
        """Accelerometers give the mean over the time since the last reading: (v - v_last) / dt - g."""
        w = at.world
        time = clock[0]
        for k in range(at.dofs.shape[0]):
            s.wheel_rate[w, k] = at.speeds[at.dofs[k]]
            s.contact[w, k] = touching[w, k] != 0
            s.contact_angle[w, k] = wp.float64(angle[w, k])
            s.load[w, k] = wp.float64(force[w, k][2])
        m = at.axes[at.body]
        v = wp.vec3d(at.speeds[at.free], at.speeds[at.free + 1], at.speeds[at.free + 2])
        back = wp.transpose(m)
        s.time[w] = time
        s.position[w] = at.places[at.body]
        s.rotation[w] = m
        s.spin[w] = wp.vec3d(at.speeds[at.free + 3], at.speeds[at.free + 4], at.speeds[at.free + 5])
        s.speed[w] = v[0] * m[0, 0] + v[1] * m[1, 0] + v[2] * m[2, 0]
        level = wp.sqrt(m[2, 1] * m[2, 1] + m[2, 2] * m[2, 2])
        s.attitude[w] = wp.vec3d(wp.atan2(m[2, 1], m[2, 2]), wp.atan2(m[2, 0], level), wp.atan2(m[1, 0], m[0, 0]))
        before = wp.vec3d(s.last[w, 0], s.last[w, 1], s.last[w, 2])
        elapsed = time - s.last[w, 3]
        felt = -at.gravity
        if s.last[w, 4] > wp.float64(0.0) and elapsed > wp.float64(0.0):
            felt = (v - before) / elapsed - at.gravity
        s.specific_force[w] = back * felt
        s.last[w, 0] = v[0]
        s.last[w, 1] = v[1]
        s.last[w, 2] = v[2]
        s.last[w, 3] = time
        s.last[w, 4] = wp.float64(1.0)

    return SimpleNamespace(sense=sense)
