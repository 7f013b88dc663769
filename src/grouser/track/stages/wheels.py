"""Wheels and the bodies that carry them: positions during the substeps, links near them, forces on them."""

from __future__ import annotations

import warp as wp

from grouser.device import array2d
from grouser.precision import quat, real, vec3, vec6
from grouser.track import types as t
from grouser.track.stages.blocks import wrench
from grouser.track.stages.links import rotate
from grouser.track.types import Carriers, Contacts, Results, State, Tables, Track, Wheels

LIST_MARGIN = wp.constant(real(0.05))  # [m] how much closer a link may come during a step after lists are built


@wp.func
def read_carriers(
    world: int, tr: Track, c: Tables, carriers: Carriers, wheels: Wheels,
    position: array2d[vec3], rotation: array2d[quat], velocity: array2d[vec3], angular_velocity: array2d[vec3],
):  # fmt: skip
    """Read the motion of the engine's bodies at the start of a step, and clear their wrenches."""
    for k in range(tr.first_carrier, tr.first_carrier + tr.carriers):
        row = c.row[k]
        carriers.position[world, k] = position[world, row]
        carriers.rotation[world, k] = rotation[world, row]
        carriers.velocity[world, k] = velocity[world, row]
        carriers.angular_velocity[world, k] = angular_velocity[world, row]
        carriers.wrench[world, k] = vec6()
    for k in range(tr.first_wheel, tr.first_wheel + tr.wheels):
        wheels.mean_wrench[world, k] = vec6()


@wp.func
def place_wheels(world: int, tr: Track, c: Tables, s: State, carriers: Carriers, wheels: Wheels):
    """Place the wheels on their carriers in this substep, and clear their wrenches."""
    for k in range(tr.first_wheel, tr.first_wheel + tr.wheels):
        b = tr.first_carrier + c.carrier[k]
        q = carriers.rotation[world, b]
        omega = carriers.angular_velocity[world, b]
        arm = wp.quat_rotate(q, c.place[k])
        axle = wp.quat_rotate(q, c.axis[k])
        wheels.centre[world, k] = carriers.position[world, b] + arm
        wheels.axle[world, k] = axle
        wheels.velocity[world, k] = carriers.velocity[world, b] + wp.cross(omega, arm)
        if c.turns[k] == t.FREE:
            omega = omega + s.wheel_rate[world, k] * axle
        else:
            wheels.first_gap[world, k] = wp.quat_rotate(q, c.start[k])
        wheels.angular_velocity[world, k] = omega
        wheels.wrench[world, k] = vec6()
        wheels.axle_damping[world, k] = real(0.0)


@wp.func
def move_carriers(world: int, tr: Track, carriers: Carriers, h: real):
    """Extrapolate the engine's bodies by a substep: the engine itself moves them only after the step."""
    for k in range(tr.first_carrier, tr.first_carrier + tr.carriers):
        carriers.position[world, k] = carriers.position[world, k] + h * carriers.velocity[world, k]
        carriers.rotation[world, k] = rotate(carriers.rotation[world, k], carriers.angular_velocity[world, k], h)


@wp.func
def list_near_links(world: int, tr: Track, c: Tables, s: State, wheels: Wheels):
    """List the links within reach of each wheel, for all substeps of a step."""
    for k in range(tr.first_wheel, tr.first_wheel + tr.wheels):
        count = int(0)
        first = tr.first_candidate + (k - tr.first_wheel) * tr.links
        far = c.reach[k] + tr.rail_height + tr.pitch + LIST_MARGIN
        for i in range(tr.first_link, tr.first_link + tr.links):
            near = wp.length_sq(s.position[world, i] - wheels.centre[world, k]) < far * far
            if tr.neighbour_lists == 0 or near:
                wheels.near_links[world, first + count] = i
                count += 1
        wheels.near_count[world, k] = count


@wp.func
def push_carriers(
    world: int, which: int, tr: Track, c: Tables, s: State, carriers: Carriers, wheels: Wheels, results: Results,
    h: real,
):  # fmt: skip
    """Accelerate the wheels by the torques about their axles. All other forces go through the bearings to the carriers.

    A wheel that speeds up slides less, so its change of rate is implicit in the friction about the axle. The torque
    that turns a wheel does not reach the carrier; the drag of the bearing does.
    """
    total = vec6()
    for k in range(tr.first_wheel, tr.first_wheel + tr.wheels):
        f = wheels.wrench[world, k]
        F = vec3(f[0], f[1], f[2])
        T = vec3(f[3], f[4], f[5])
        total = total + wrench(F, T + wp.cross(wheels.centre[world, k], F))
        wheels.mean_wrench[world, k] = wheels.mean_wrench[world, k] + f / real(tr.substeps)
        if c.turns[k] == t.FREE:
            axle = wheels.axle[world, k]
            about = wp.dot(T, axle)
            drag = c.drag[k]
            rate = s.wheel_rate[world, k]
            # Implicit: wheels are light and the friction of links on them is stiff, so explicit substeps would be tiny.
            change = h * (about - drag * rate) / (c.inertia[k] + h * (wheels.axle_damping[world, k] + drag))
            s.wheel_rate[world, k] = rate + change
            # The bearing passes on everything but the torque about the axle, and of that only its own drag.
            T = T + (drag * rate - about) * axle
        b = tr.first_carrier + c.carrier[k]
        # About the carrier's origin, and the mean over the substeps: the engine applies it for the whole step.
        T = T + wp.cross(wheels.centre[world, k] - carriers.position[world, b], F)
        carriers.wrench[world, b] = carriers.wrench[world, b] + wrench(F, T) / real(tr.substeps)
    results.wheels_wrench[world, which] = total


@wp.func
def return_losses(
    world: int, which: int, tr: Track, c: Tables, s: State, carriers: Carriers, wheels: Wheels, contacts: Contacts,
    wrench: array2d[vec6], effective: array2d[vec6], step: real, velocity: array2d[vec3],
    angular_velocity: array2d[vec3],
):  # fmt: skip
    """Give links the opposite of what a host that is implicit in B took off the wrenches of their wheels' bodies.

    It took Z (dv . n) n at each contact for the change of velocity dv there in the step, see `add_derivatives`. Without
    the return B would act as mass on the bodies, and momentum would be lost as they speed up. `velocity` and
    `angular_velocity` are the motion at the end of the step; `carriers` has that at its start.
    """
    for k in range(tr.first_contact, tr.first_contact + contacts.found[world, which].count):
        one = contacts.contact[world, k]
        if one.wheel != t.GROUND:
            b = tr.first_carrier + c.carrier[one.wheel]
            taken = wrench[world, c.out[b]] - effective[world, c.out[b]]
            if wp.length_sq(taken) > real(0.0):  # a host that does without B gives the wrench itself
                row = c.row[b]
                start = carriers.position[world, b] - step * carriers.velocity[world, b]
                arm = wheels.centre[world, one.wheel] + one.wheel_arm - start
                turned = angular_velocity[world, row] - carriers.angular_velocity[world, b]
                change = velocity[world, row] - carriers.velocity[world, b] + wp.cross(turned, arm)
                push = step * one.normal_impedance * wp.dot(change, one.normal) * one.normal
                i = one.link
                R = wp.quat_to_matrix(s.rotation[world, i])
                spin = R * wp.cw_mul(wp.transpose(R) * wp.cross(one.arm, push), tr.per_inertia)
                s.velocity[world, i] = s.velocity[world, i] + push / tr.mass
                s.angular_velocity[world, i] = s.angular_velocity[world, i] + spin
