"""Device functions of rigid motion and implicit blocks that modules of contact pairs share."""

from functools import cache
from types import SimpleNamespace

import warp as wp

from grouser.precision import precision


@cache
def rigid_stages(name: str) -> SimpleNamespace:
    p = precision(name)
    real, vec3, quat, mat33, mat66 = p.real, p.vec3, p.quat, p.mat33, p.mat66

    @wp.func
    def turned(q: quat, way: vec3):
        """Orientation after a turn by a rotation vector [rad], world axes."""
        angle = wp.length(way)
        if angle == real(0.0):
            return q
        return wp.normalize(wp.quat_from_axis_angle(way / angle, angle) * q)

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
    def in_world(R: mat33, B: mat66):
        """A block turned from the axes R stands for into the world's."""
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

    return SimpleNamespace(turned=turned, assemble=assemble, in_world=in_world)
