"""Kernels of tyres, one thread per world (one vehicle): forces on the wheels, then the state of their treads."""

from __future__ import annotations

import warp as wp

from grouser.contact.rigid import wrench_of
from grouser.contact.tyre import contact_search
from grouser.contact.tyre.contact_force import ground_force, wall_force, y_axis, z_axis
from grouser.contact.tyre.laws import limit_slip, next_deflection
from grouser.contact.tyre.types import ON_GROUND, ON_WALL, GroundContact, Terrain, Wheel, WheelPose, WheelStates
from grouser.device import array, array2d, module
from grouser.precision import mat66, quat, real, vec2, vec3, vec6
from grouser.terrain.ground import GroundArrays

LEAST_UPRIGHT = 0.5  # cosine between suspension and vertical below which wheels find no ground (assumed)
BURIED = 2.0  # multiple of the suspension's travel above which the chassis itself lies on the ground (assumed)
SHALLOW = 0.25  # share of the radius; a first contact with a wall deeper than this comes from inside it (assumed)
BEYOND, TOO_FAR = 1, 2  # status: the wheel is outside the terrain; its suspension is compressed beyond its travel

tyre = module("grouser.contact.tyre.kernels")
tyre.options["max_unroll"] = 0  # do not unroll the loops over slices


@wp.kernel(module=tyre)
def evaluate(
    wheels: array[Wheel], t: Terrain, ground: GroundArrays, rows: array[int],
    step: array[real],
    position: array2d[vec3], rotation: array2d[quat],
    velocity: array2d[vec3], angular_velocity: array2d[vec3], state: WheelStates,
    wrench_out: array2d[vec6], implicit_out: array2d[mat66],
    status_out: array2d[int],
):  # fmt: skip
    """Find the contact of every wheel at the present pose, forces at the end of the step, and implicit blocks."""
    world = wp.tid()
    h = step[0]
    zero = real(0.0)
    g = WheelPose()
    g.up = z_axis(rotation[world, rows[0]])
    g.chassis_angular_velocity = angular_velocity[world, rows[0]]
    chassis_torque = vec3()
    for k in range(wheels.shape[0]):
        w = wheels[k]
        row = rows[k + 1]
        centre = position[world, row]
        g.across = y_axis(rotation[world, row])
        g.ahead = wp.normalize(wp.cross(g.across, g.up))
        g.angular_velocity = angular_velocity[world, row]
        found = GroundContact(zero, zero, real(1.0), zero)
        # Wheels of a vehicle on its side or roof find no ground: it lies on its chassis.
        if g.up[2] > real(LEAST_UPRIGHT):
            found = contact_search.find_contact(t, ground, world, centre, g.ahead, g.up, w.radius, w.travel)
        before = state.held[world, k]
        # Ignore a contact that would need more travel than this. Otherwise a wheel that is pushed under the ground, or
        # comes up from below after a rollover, would be shot out.
        most = wp.where((before & ON_GROUND) == 0, w.travel, real(BURIED) * w.travel)
        travel = wp.where(found.travel > most, zero, wp.max(found.travel, zero))
        # MuJoCo's wheel stays where its suspension is extended. The wheel that rolls is lifted from there by the
        # travel, and moves with the chassis.
        shift = travel * g.up
        g.axle = centre + shift
        g.velocity = velocity[world, row] + wp.cross(g.chassis_angular_velocity, shift)
        touching = int(0)
        push = vec3()
        if travel > zero:
            foot = g.axle + w.radius * (found.sine * g.ahead - found.cosine * g.up)
            lean = contact_search.side_slope(t, ground, world, foot, g.across)
            push = ground_force(w, g, found, lean, h, world, k, state, wrench_out, implicit_out)
            touching = ON_GROUND
        else:  # in the air: clear what the last step wrote
            state.slip[world, k] = vec2()
            wrench_out[world, k + 1] = vec6()
            implicit_out[world, k + 1] = mat66()
        state.wall[world, k] = zero
        # Some of the rim is in ground that the suspension cannot climb. Ignore a wall in which the wheel is deep at
        # first contact: it did not come from outside and would be shot out.
        if found.wall_travel > travel:
            wall = contact_search.find_wall(t, ground, world, g.axle, centre, g.ahead, g.up, w.radius, w.travel)
            if wall.depth > zero and ((before & ON_WALL) != 0 or wall.depth <= real(SHALLOW) * w.radius):
                push = push + wall_force(w, g, wall, h, world, k, state, wrench_out, implicit_out)
                touching = touching + ON_WALL
        # The force acts `shift` above the origin of MuJoCo's wheel. The suspension takes this moment to the chassis; on
        # the wheel it would turn it about its axle.
        chassis_torque = chassis_torque + wp.cross(shift, push)
        state.across[world, k] = g.across
        state.shift[world, k] = shift
        state.travel[world, k] = travel
        state.touching[world, k] = touching
        status = wp.where(travel > w.travel, TOO_FAR, 0)
        status_out[world, k + 1] = wp.where(touching == 1 and contact_search.is_beyond(t, g.axle), BEYOND, status)
    wrench_out[world, 0] = wrench_of(vec3(), chassis_torque)


@wp.kernel(module=tyre)
def commit(
    wheels: array[Wheel], rows: array[int], step: array[real],
    velocity: array2d[vec3], angular_velocity: array2d[vec3], effective: array2d[vec6],
    state: WheelStates,
):  # fmt: skip
    """Advance the tread deflection with the velocity at the end of the step, and record the forces received."""
    world = wp.tid()
    h = step[0]
    for k in range(wheels.shape[0]):
        state.held[world, k] = state.touching[world, k]
        if (state.touching[world, k] & ON_GROUND) == 0:
            state.deflection[world, k] = vec2()
            state.force[world, k] = vec3()
        else:
            w = wheels[k]
            along = state.along[world, k]
            across = state.across[world, k]
            shift = state.shift[world, k]
            frame_speed = velocity[world, rows[k + 1]] + wp.cross(angular_velocity[world, rows[0]], shift)
            contact_speed = frame_speed + wp.cross(angular_velocity[world, rows[k + 1]], state.arm[world, k])
            vx = wp.dot(contact_speed, along)
            vy = wp.dot(contact_speed, across)
            travelling = wp.dot(frame_speed, along)
            u = state.deflection[world, k]
            kappa = next_deflection(u[0], vx, travelling, w.length_x, h) / w.length_x
            tangent = next_deflection(u[1], vy, travelling, w.length_y, h) / w.length_y
            # Beyond the peak the tread slides: limit its deflection to that of steady slip.
            steady = wp.sqrt(vx * vx + vy * vy) / wp.max(wp.abs(travelling), w.slow)
            share = limit_slip(kappa, tangent, wp.max(w.peak, steady))
            state.deflection[world, k] = vec2(kappa * share * w.length_x, tangent * share * w.length_y)
            e = effective[world, k + 1]
            got = vec3(e[0], e[1], e[2])
            state.force[world, k] = vec3(wp.dot(got, along), wp.dot(got, across), wp.dot(got, state.normal[world, k]))
