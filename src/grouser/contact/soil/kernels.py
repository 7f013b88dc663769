"""The kernel that gathers what the soil bodies feel."""

from functools import cache
from types import SimpleNamespace

import warp as wp

from grouser.contact.soil import laws
from grouser.contact.soil import types as t


@cache
def observation_kernels(name: str) -> SimpleNamespace:
    ty = t.soil_types(name)
    p = ty.precision
    real, vec3, vec6 = p.real, p.vec3, p.vec6
    Window = ty.Window
    module = wp.get_module(f"grouser.contact.soil.observation.{name}")
    module.options["enable_backward"] = False

    @wp.func
    def volume_error(win: Window, first: int, bodies: int):
        """What the surface of a world lost less what was compressed, over what was displaced."""
        off = real(0.0)
        removed = real(0.0)
        for slot in range(first, first + bodies):
            off += win.tally[slot, t.MOVED] + win.tally[slot, t.COMPRESSED]
            removed += win.tally[slot, t.REMOVED]
        return wp.abs(off) / wp.max(removed, real(1.0e-30))

    @wp.kernel(module=module)
    def look(
        rows: wp.array(dtype=wp.int32),
        position: wp.array2d(dtype=vec3), velocity: wp.array2d(dtype=vec3), spin: wp.array2d(dtype=vec3),
        effective: wp.array2d(dtype=vec6), normal: wp.array2d(dtype=vec3),
        spacing: real, x0: real, y0: real, win: Window,
        force_out: wp.array2d(dtype=wp.vec3d), torque_out: wp.array2d(dtype=wp.vec3d),
        sinkage_out: wp.array2d(dtype=wp.float64), slip_out: wp.array2d(dtype=wp.float64),
        area_out: wp.array2d(dtype=wp.float64), displaced_out: wp.array2d(dtype=wp.float64),
        error_out: wp.array(dtype=wp.float64),
    ):  # fmt: skip
        """Every body of every world, as it is now."""
        world, body = wp.tid()
        slot = world * rows.shape[0] + body
        row = rows[body]
        wrench = effective[world, body]
        force_out[world, body] = wp.vec3d(wp.float64(wrench[0]), wp.float64(wrench[1]), wp.float64(wrench[2]))
        torque_out[world, body] = wp.vec3d(wp.float64(wrench[3]), wp.float64(wrench[4]), wp.float64(wrench[5]))
        sinkage_out[world, body] = wp.float64(win.sinkage[slot])
        area_out[world, body] = wp.float64(win.area[slot])
        cell = wp.float64(spacing)
        displaced_out[world, body] = wp.float64(win.tally[slot, t.REMOVED]) * cell * cell
        slip = real(0.0)
        if win.area[slot] > real(0.0):
            low = win.lowest[slot]
            lowest = vec3(x0 + spacing * low[0], y0 + spacing * low[1], low[2])
            n = normal[world, body]
            depth = wp.dot(position[world, row] - lowest, n)
            slip = laws.slip(velocity[world, row], spin[world, row], depth, n)
        slip_out[world, body] = wp.float64(slip)
        if body == 0:
            error_out[world] = wp.float64(volume_error(win, slot, rows.shape[0]))

    return SimpleNamespace(look=look)
