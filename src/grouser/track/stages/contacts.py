"""What all contacts of links share: friction, the list of contacts, the implicit blocks, action and reaction."""

from functools import cache
from types import SimpleNamespace

import warp as wp

from grouser.track import laws
from grouser.track import types as t


@cache
def contact_stage(name: str, implicit: bool) -> SimpleNamespace:
    ty = t.track_types(name)
    p = ty.precision
    real, vec3, vec6, vec8, mat33, mat68 = p.real, p.vec3, p.vec6, ty.vec8, p.mat33, ty.mat68
    Contact, Track, Tables, State, Scratch = ty.Contact, ty.Track, ty.Tables, ty.State, ty.Scratch
    zero = wp.constant(real(0.0))

    @wp.func
    def wrench_of(force: vec3, torque: vec3):
        return vec6(force[0], force[1], force[2], torque[0], torque[1], torque[2])

    @wp.func
    def arms_block(size: real, a: vec3, b: vec3, turning: mat33):
        """Sum of size J_a^T J_b with J of a point at an arm: J (v, w) = v + w x arm; a, b: arms times size, summed."""
        return mat68(
            size, zero, zero, zero, b[2], -b[1], zero, zero,
            zero, size, zero, -b[2], zero, b[0], zero, zero,
            zero, zero, size, b[1], -b[0], zero, zero, zero,
            zero, -a[2], a[1], turning[0, 0], turning[0, 1], turning[0, 2], zero, zero,
            a[2], zero, -a[0], turning[1, 0], turning[1, 1], turning[1, 2], zero, zero,
            -a[1], a[0], zero, turning[2, 0], turning[2, 1], turning[2, 2], zero, zero,
        )  # fmt: skip

    @wp.func
    def turned(a: vec3, b: vec3):
        """The turning part of J_a^T J_b: (a . b) I - b a^T."""
        return wp.identity(n=3, dtype=real) * wp.dot(a, b) - wp.outer(b, a)

    @wp.func
    def line_block(n: vec3, a: vec3, b: vec3, size: real):
        """size (J_a^T n) (J_b^T n)^T: what acts along n alone."""
        f = wp.cross(a, n)
        g = wp.cross(b, n)
        left = vec6(n[0], n[1], n[2], f[0], f[1], f[2])
        return wp.outer(size * left, vec8(n[0], n[1], n[2], g[0], g[1], g[2], zero, zero))

    # Structs go by value: what is called for every contact gets the few arrays it writes, not all of the scratch.

    @wp.func
    def add_contact(
        world: int, which: int, first: int, room: int, h: real, one_contact: Contact,
        found: wp.array3d(dtype=wp.int32), status: wp.array2d(dtype=wp.int32), contact: wp.array2d(dtype=Contact),
        force: wp.array2d(dtype=vec3), torque: wp.array2d(dtype=vec3), D: wp.array2d(dtype=mat68),
        size: wp.array2d(dtype=real), lean: wp.array2d(dtype=vec3), turn: wp.array2d(dtype=mat33),
    ):  # fmt: skip
        count = found[world, which, 0]
        if count >= room:
            status[world, which] = wp.static(t.FULL)
            return
        found[world, which, 0] = count + 1
        contact[world, first + count] = one_contact
        i = one_contact.link
        force[world, i] = force[world, i] + one_contact.push
        torque[world, i] = torque[world, i] + wp.cross(one_contact.arm, one_contact.push)
        if wp.static(implicit):
            a = one_contact.arm
            across = h * one_contact.across
            size[world, i] = size[world, i] + across
            lean[world, i] = lean[world, i] + across * a
            turn[world, i] = turn[world, i] + across * turned(a, a)
            D[world, i] = D[world, i] + line_block(one_contact.normal, a, a, h * one_contact.along - across)

    @wp.func
    def rub(u: vec3, n: vec3, size: real, most: real, full_speed: real):
        """Force on the link with friction (eq. 35), tangential impedance and sliding speed."""
        ut = u - wp.dot(u, n) * n
        sliding = wp.length(ut)
        across = laws.friction_impedance(sliding, most, full_speed)
        return size * n - across * ut, across, sliding

    @wp.func
    def share_contacts(world: int, which: int, tr: Track, c: Tables, s: State, w: Scratch, h: real, last: int):
        """What the links really got from each contact goes, reversed, to the wheels."""
        ground = vec3()
        links_side = vec6()
        for at in range(tr.first_contact, tr.first_contact + w.found[world, which, 0]):
            one_contact = w.contact[world, at]
            i = one_contact.link
            k = one_contact.wheel
            F = one_contact.push
            arm = one_contact.arm
            if wp.static(implicit):
                b = w.change[world, i]
                du = vec3(b[0], b[1], b[2]) + wp.cross(vec3(b[3], b[4], b[5]), arm)
                n = one_contact.normal
                F = F - one_contact.across * du - (one_contact.along - one_contact.across) * wp.dot(du, n) * n
                if last == 1:
                    one_contact.push = F
                    w.contact[world, at] = one_contact
            if k == wp.static(t.GROUND):
                ground = ground + F
                if last == 1:
                    w.shoe_load[world, i] = w.shoe_load[world, i] + F
            else:
                lever = one_contact.lever
                w.wheel_wrench[world, k] = w.wheel_wrench[world, k] - wrench_of(F, wp.cross(lever, F))
                w.wheel_grip[world, k] = w.wheel_grip[world, k] + one_contact.across * wp.length_sq(lever)
                links_side = links_side + wrench_of(F, wp.cross(s.position[world, i] + arm, F))
                if last == 1 and c.teeth[k] > 0:
                    w.tooth_load[world, i] = w.tooth_load[world, i] + wp.dot(F, one_contact.normal)
        w.ground[world, which] = w.ground[world, which] + ground / real(tr.substeps)
        s.impulse[world, which] = s.impulse[world, which] + h * (ground + real(tr.links) * tr.mass * tr.gravity)
        w.links_side[world, which] = links_side

    return SimpleNamespace(
        add_contact=add_contact, rub=rub, share_contacts=share_contacts, wrench_of=wrench_of, arms_block=arms_block,
        line_block=line_block, turned=turned,
    )  # fmt: skip
