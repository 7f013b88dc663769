"""Forces between neighbouring links: pins in bushings and back-bend stops; Omar 2014, eq. 21 to 25."""

from __future__ import annotations

import warp as wp

from grouser.precision import mat33, real, vec3
from grouser.track import laws
from grouser.track.stages.blocks import directed_block, isotropic_block, rotation_block
from grouser.track.types import Links, Results, State, Track


@wp.func
def next_link(first: int, count: int, i: int):
    """The link after i; the chain is closed."""
    j = i + 1
    if j == first + count:
        j = first
    return j


@wp.func(inline=True)
def joint_forces(world: int, tr: Track, s: State, links: Links, i: int, h: real, ahead: real):
    """Add the force of the pin of link i in the bushing of the next; Omar 2014, eq. 21 to 25, corrected in laws.py."""
    half = real(0.5)
    j = next_link(tr.first_link, tr.links, i)
    Ri = links.axes[world, i]
    Rj = links.axes[world, j]
    x = vec3(Ri[0, 0], Ri[1, 0], Ri[2, 0])
    y = vec3(Ri[0, 1], Ri[1, 1], Ri[2, 1])
    z = vec3(Ri[0, 2], Ri[1, 2], Ri[2, 2])
    xj = vec3(Rj[0, 0], Rj[1, 0], Rj[2, 0])
    yj = vec3(Rj[0, 1], Rj[1, 1], Rj[2, 1])

    # Both forces act at the same point, the bushing of the next link, so that their moments cancel.
    arm_j = -half * tr.pitch * xj
    arm_i = s.position[world, j] + arm_j - s.position[world, i]
    d = arm_i - half * tr.pitch * x
    wi = s.angular_velocity[world, i]
    wj = s.angular_velocity[world, j]
    rate = s.velocity[world, j] + wp.cross(wj, arm_j) - s.velocity[world, i] - wp.cross(wi, arm_i)
    turning = wj - wi
    F = laws.bushing_force(
        d, rate, y, tr.radial_stiffness, tr.axial_stiffness, tr.radial_damping, tr.axial_damping, ahead
    )
    roll, about_roll, k_roll = laws.tilt(z, yj, turning, tr.roll_stiffness, tr.tilt_damping, ahead)
    yaw, about_yaw, k_yaw = laws.tilt(x, yj, turning, tr.yaw_stiffness, tr.tilt_damping, ahead)
    T = roll + yaw - tr.pin_damping * wp.dot(turning, y) * y
    k_pin = tr.pin_damping
    if tr.back_bend_by_shoes == 0:
        leaning = wp.dot(xj, z)
        if leaning < -half * tr.back_bend_angle:  # half way to the stop; saves the arctangent for all other links
            fold = wp.atan2(leaning, wp.dot(xj, x))
            stop, k_stop = laws.back_bend(
                fold, -wp.dot(turning, y), tr.back_bend_angle, tr.back_bend_stiffness, tr.back_bend_damping, ahead
            )
            T = T - stop * y
            k_pin = k_pin + k_stop
    links.force[world, i] = links.force[world, i] - F
    links.force[world, j] = links.force[world, j] + F
    links.torque[world, i] = links.torque[world, i] - T - wp.cross(arm_i, F)
    links.torque[world, j] = links.torque[world, j] + T + wp.cross(arm_j, F)
    if tr.implicit == 1:
        tilts = (
            (h * k_roll) * wp.outer(about_roll, about_roll)
            + (h * k_yaw) * wp.outer(about_yaw, about_yaw)
            + (h * k_pin) * wp.outer(y, y)
        )
        joint_blocks(world, tr, links, i, j, arm_i, arm_j, y, tilts, h, ahead)
    if tr.back_bend_by_shoes == 1:
        sides = int(2)  # a variable, so that the loop is not unrolled and its body is inlined only once
        for side in range(sides):
            shoe_edges(world, tr, s, links, i, j, x, real(2 * side - 1), h, ahead)


@wp.func(inline=True)
def joint_blocks(
    world: int, tr: Track, links: Links, i: int, j: int, arm_i: vec3, arm_j: vec3, y: vec3, tilts: mat33,
    h: real, ahead: real,
):  # fmt: skip
    """Add the implicit blocks of one joint. y is its pin, `tilts` [kg m^2] are the impedances of its torques times h.

    This is a separate function because Warp clears all matrices at the start of a function, and the explicit scheme
    needs none of these.
    """
    # Radial impedance in all directions, the difference between axial and radial along the pin, and the tilts.
    across = h * (tr.radial_stiffness * ahead + tr.radial_damping)
    along = h * (tr.axial_stiffness * ahead + tr.axial_damping) - across
    links.effective_mass[world, i] = links.effective_mass[world, i] + across
    links.effective_moment[world, i] = links.effective_moment[world, i] + across * arm_i
    links.effective_inertia[world, i] = (
        links.effective_inertia[world, i] + tilts + across * rotation_block(arm_i, arm_i)
    )
    links.diagonal[world, i] = links.diagonal[world, i] + directed_block(y, arm_i, arm_i, along)
    links.effective_mass[world, j] = links.effective_mass[world, j] + across
    links.effective_moment[world, j] = links.effective_moment[world, j] + across * arm_j
    links.effective_inertia[world, j] = (
        links.effective_inertia[world, j] + tilts + across * rotation_block(arm_j, arm_j)
    )
    links.diagonal[world, j] = links.diagonal[world, j] + directed_block(y, arm_j, arm_j, along)
    links.coupling[world, i] = isotropic_block(
        -across, -across * arm_i, -across * arm_j, -tilts - across * rotation_block(arm_i, arm_j)
    ) + directed_block(y, arm_i, arm_j, -along)


@wp.func
def shoe_edges(
    world: int, tr: Track, s: State, links: Links, i: int, j: int, x: vec3, side: real, h: real, ahead: real
):
    """Add the contact of the next shoe's rear edge with this shoe's front face: the back-bend stop by geometry."""
    # One end of the edge (`side` is -1 or 1). With two points the contact also resists a twist between the shoes.
    arm_j = links.axes[world, j] * vec3(-tr.edge_x, side * tr.edge_y, tr.edge_z)
    arm_i = s.position[world, j] + arm_j - s.position[world, i]
    # Shoes meet at their undersides when the chain bends the wrong way; bending around a wheel opens the gap.
    depth = tr.edge_x - wp.dot(arm_i, x)
    rate = (
        s.velocity[world, j] + wp.cross(s.angular_velocity[world, j], arm_j)
        - s.velocity[world, i] - wp.cross(s.angular_velocity[world, i], arm_i)
    )  # fmt: skip
    size, elastic, k = laws.press(
        depth, -wp.dot(rate, x), tr.edge_stiffness, tr.edge_damping, tr.full_damping_depth, ahead
    )
    if size > real(0.0):
        # Opposite forces at one point, so that their moments cancel too.
        F = size * x
        links.force[world, i] = links.force[world, i] - F
        links.force[world, j] = links.force[world, j] + F
        links.torque[world, i] = links.torque[world, i] - wp.cross(arm_i, F)
        links.torque[world, j] = links.torque[world, j] + wp.cross(arm_j, F)
        if tr.implicit == 1:
            links.diagonal[world, i] = links.diagonal[world, i] + directed_block(x, arm_i, arm_i, h * k)
            links.diagonal[world, j] = links.diagonal[world, j] + directed_block(x, arm_j, arm_j, h * k)
            links.coupling[world, i] = links.coupling[world, i] + directed_block(x, arm_i, arm_j, -h * k)


@wp.func
def measure_tensions(world: int, tr: Track, s: State, results: Results):
    """Tension [N] of every joint along its link, from the positions of the links after the step."""
    zero, one, half = real(0.0), real(1.0), real(0.5)
    for i in range(tr.first_link, tr.first_link + tr.links):
        j = next_link(tr.first_link, tr.links, i)
        x = wp.quat_rotate(s.rotation[world, i], vec3(one, zero, zero))
        y = wp.quat_rotate(s.rotation[world, i], vec3(zero, one, zero))
        arm_j = wp.quat_rotate(s.rotation[world, j], vec3(-half * tr.pitch, zero, zero))
        arm_i = s.position[world, j] + arm_j - s.position[world, i]
        rate = (
            s.velocity[world, j] + wp.cross(s.angular_velocity[world, j], arm_j)
            - s.velocity[world, i] - wp.cross(s.angular_velocity[world, i], arm_i)
        )  # fmt: skip
        d = arm_i - half * tr.pitch * x
        F = laws.bushing_force(
            d, rate, y, tr.radial_stiffness, tr.axial_stiffness, tr.radial_damping, tr.axial_damping, zero
        )
        results.tension[world, i] = -wp.dot(F, x)
