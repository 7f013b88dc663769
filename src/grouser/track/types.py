"""Device structs of tracks, for one float type: constants and tables, state, scratch, ground."""

from functools import cache
from types import SimpleNamespace

import warp as wp

from grouser.precision import precision

FLAT, GRID, MESH, SOIL = 0, 1, 2, 3  # kinds of ground
FREE, FIXED = 0, 1  # a wheel that turns on its carrier, a wheel that turns with its body
FINE, BROKEN, FULL, OUTSIDE = range(4)  # kinds of status
SOIL_VALUES = 8  # K_y, C_y, c, tan(phi), k_T, C, v_s, unit weight
CACHE_LINE = 16  # integers: what two threads count does not share one
GROUND = -1  # wheel number of a contact with the ground


@cache
def track_types(name: str) -> SimpleNamespace:
    p = precision(name)
    real, vec2, vec3, quat, mat33, vec6 = p.real, p.vec2, p.vec3, p.quat, p.mat33, p.vec6
    values = wp.types.vector(SOIL_VALUES, real)
    vec4, vec8, mat68 = p.vec4, wp.types.vector(8, real), wp.types.matrix((6, 8), real)

    @wp.struct
    class Track:
        """Constants of one track, and where its rows begin in the tables and states."""

        first_link: wp.int32
        links: wp.int32
        first_wheel: wp.int32
        wheels: wp.int32
        first_carrier: wp.int32
        carriers: wp.int32
        first_contact: wp.int32
        contacts: wp.int32
        first_candidate: wp.int32
        first_marker: wp.int32
        markers: wp.int32  # of a link
        first_grip: wp.int32  # of the markers' states
        first_station: wp.int32
        stations: wp.int32  # of a rail
        section: wp.int32  # points of a rail's section
        frame: wp.int32  # carrier the links are assembled on
        substeps: wp.int32
        lists: wp.int32  # 0: all links against all wheels
        by_shoes: wp.int32  # back-bend stop: 1 by the shoes' edges, 0 by the angle
        pitch: real  # [m]
        mass: real  # [kg]
        inertia: vec3  # [kg m^2] about x, y, z of the link
        per_inertia: vec3  # [1/(kg m^2)]
        bushing_radius: real  # [m]
        rail_height: real  # [m] nominal, above the pins
        taper: real  # [m]
        low: real  # [m] above the ground below which a link's shoe may touch it
        radial: real  # [N/m]
        axial: real
        c_radial: real  # [N s/m]
        c_axial: real
        roll: real  # [N m/rad] about x
        yaw: real  # [N m/rad] about z
        c_tilt: real  # [N m s/rad]
        c_pin: real
        bend_limit: real  # [rad]
        bend: real  # [N m/rad]
        c_bend: real  # [N m s/rad]
        edge_x: real  # [m] of a shoe's front edge
        edge_y: real  # [m] where its two points of contact lie
        edge_z: real  # [m] of its underside
        shoe_width: real  # [m]
        edge: real  # [N/m]
        c_edge: real  # [N s/m]
        tooth: real  # [N/m]
        c_tooth: real  # [N s/m]
        side_gap: real  # [m] play of the links along the sprocket's axle
        side: real  # [N/m]
        c_side: real
        roller: real  # [N/m^1.5]
        c_roller: real
        friction: real
        full_speed: real  # [m/s] v_mu
        full_depth: real  # [m] of full damping
        gravity: vec3  # [m/s^2]

    @wp.struct
    class Contact:
        """One point where a link meets a wheel or the ground."""

        link: wp.int32
        wheel: wp.int32  # GROUND where it is the ground
        arm: vec3  # [m] from the link's centre of mass
        lever: vec3  # [m] from the wheel's centre
        normal: vec3  # out of the wheel or the ground
        push: vec3  # [N] on the link, as evaluated, then as it got it
        along: real  # [N s/m] impedance in the normal's direction
        across: real  # [N s/m] and at right angles to it
        sliding: real  # [m/s]

    @wp.struct
    class Tables:
        track: wp.array(dtype=Track)
        row: wp.array(dtype=wp.int32)  # (carrier,) in motion
        out: wp.array(dtype=wp.int32)  # (carrier,) output row
        carrier: wp.array(dtype=wp.int32)  # (wheel,) carrier of its track
        turns: wp.array(dtype=wp.int32)  # (wheel,) FREE or FIXED
        place: wp.array(dtype=vec3)  # [m], (wheel,) centre in the carrier's frame
        axis: wp.array(dtype=vec3)  # (wheel,) axle in the carrier's frame
        start: wp.array(dtype=vec3)  # (wheel,) direction of the first gap of a sprocket in the carrier's frame
        inertia: wp.array(dtype=real)  # [kg m^2], (wheel,) about the axle
        drag: wp.array(dtype=real)  # [N m s], (wheel,) of the bearing
        reach: wp.array(dtype=real)  # [m], (wheel,) greatest radius
        teeth: wp.array(dtype=wp.int32)  # (wheel,) 0: no sprocket
        first_point: wp.array(dtype=wp.int32)  # (wheel + 1,) in profile
        profile: wp.array(dtype=vec2)  # [m], (point,) tooth: across and radial; others: along the axle and radius
        piece: wp.array(dtype=vec4)  # (point,) of the segment that begins there: direction, length [m], slope
        group: wp.array(dtype=wp.int32)  # (point,) segments of a tooth that give one contact together
        station: wp.array(dtype=real)  # [m], (station,) x along the link
        per_station: wp.array(dtype=real)  # [1/m], (station,) over the way to the next, 0 at the last
        section: wp.array2d(dtype=vec2)  # [m], (station, point) y, z of the left rail; the right one mirrors it
        share: wp.array2d(dtype=real)  # (station, point) of the roller's stiffness
        marker: wp.array(dtype=vec3)  # [m], (marker,) in the link's frame
        area: wp.array(dtype=real)  # [m^2], (marker,)
        blade: wp.array(dtype=real)  # [m], (marker,) width of a grouser's share, 0 on the plate
        start_position: wp.array(dtype=vec3)  # [m], (link,) assembled, in the frame of its carrier
        start_rotation: wp.array(dtype=quat)

    @wp.struct
    class State:
        position: wp.array2d(dtype=vec3)  # [m], (world, link) of the centre of mass
        rotation: wp.array2d(dtype=quat)
        velocity: wp.array2d(dtype=vec3)  # [m/s]
        spin: wp.array2d(dtype=vec3)  # [rad/s], world axes
        anchor: wp.array2d(dtype=vec3)  # [m], (world, link x marker) where shear began
        gripped: wp.array2d(dtype=wp.int32)  # (world, link x marker) 1: in the ground
        turning: wp.array2d(dtype=real)  # [rad/s], (world, wheel) of wheels that turn on their carriers
        impulse: wp.array2d(dtype=vec3)  # [N s], (world, track) of ground and gravity on the links since the start
        placed: wp.array2d(dtype=wp.int32)  # (world, track) 1: the links have been put on their wheels

    @wp.struct
    class Scratch:
        R: wp.array2d(dtype=mat33)  # (world, link)
        force: wp.array2d(dtype=vec3)  # [N]
        torque: wp.array2d(dtype=vec3)  # [N m]
        size: wp.array2d(dtype=real)  # (world, link) sums of inertia and impedance x step, see contacts.py
        lean: wp.array2d(dtype=vec3)
        turn: wp.array2d(dtype=mat33)
        D: wp.array2d(dtype=mat68)  # blocks of the ring, see cyclic.py
        U: wp.array2d(dtype=mat68)
        Z: wp.array2d(dtype=mat68)
        change: wp.array2d(dtype=vec6)  # [m/s, rad/s] of a substep
        carrier_position: wp.array2d(dtype=vec3)  # (world, carrier) carried on through the substeps
        carrier_rotation: wp.array2d(dtype=quat)
        carrier_velocity: wp.array2d(dtype=vec3)
        carrier_spin: wp.array2d(dtype=vec3)
        carrier_wrench: wp.array2d(dtype=vec6)  # mean over the substeps, about the frame origin
        centre: wp.array2d(dtype=vec3)  # (world, wheel)
        axle: wp.array2d(dtype=vec3)
        gap: wp.array2d(dtype=vec3)  # direction of the first gap of a sprocket
        speed: wp.array2d(dtype=vec3)  # [m/s] of the centre
        spin: wp.array2d(dtype=vec3)  # [rad/s] of the wheel
        wheel_wrench: wp.array2d(dtype=vec6)  # of a substep, about the centre
        wheel_mean: wp.array2d(dtype=vec6)  # mean over the substeps, axle torque included
        wheel_grip: wp.array2d(dtype=real)  # [N m s] of friction about the axle
        candidate: wp.array2d(dtype=wp.int32)  # (world, wheel x link) links near each wheel
        near: wp.array2d(dtype=wp.int32)  # (world, wheel) how many
        grounded: wp.array2d(dtype=wp.int32)  # (world, link) links near the ground
        low: wp.array2d(dtype=wp.int32)  # (world, track) how many
        found: wp.array3d(dtype=wp.int32)  # (world, track, CACHE_LINE) contacts, in the first of each
        contact: wp.array2d(dtype=Contact)  # (world, contact)
        tension: wp.array2d(dtype=real)  # [N], (world, link) of the joint at its pin
        tooth_load: wp.array2d(dtype=real)  # [N], (world, link) of the sprocket on its bushing
        shoe_load: wp.array2d(dtype=vec3)  # [N], (world, link) of the ground
        ground: wp.array2d(dtype=vec3)  # [N], (world, track) mean of the ground over the substeps
        links_side: wp.array2d(dtype=vec6)  # (world, track) sum over wheel contacts, on links, about the world's origin
        wheels_side: wp.array2d(dtype=vec6)  # the same on wheels, from their wrenches
        status: wp.array2d(dtype=wp.int32)  # (world, track)

    @wp.struct
    class Ground:
        kind: wp.int32
        height: real  # [m] of flat ground
        x0: real  # [m] of the first node or bucket
        y0: real
        per_spacing: real  # [1/m]
        heights: wp.array2d(dtype=real)  # [m], (row, column)
        soil: wp.array(dtype=values)  # one, or one for each vertex of a mesh
        modulus: real  # [N/m^(n+2)] k_c/b + k_phi of plastic soil
        exponent: real  # n
        displaced: real  # share of the rut that goes aside, 1 - chi
        vertex: wp.array(dtype=vec3)  # [m], (vertex,)
        triangle: wp.array(dtype=wp.vec3i)
        first: wp.array2d(dtype=wp.int32)  # (row, column) of the first triangle in the bucket's list
        count: wp.array2d(dtype=wp.int32)
        listed: wp.array(dtype=wp.int32)  # triangles

    return SimpleNamespace(
        precision=p,
        values=values,
        vec8=vec8,
        mat68=mat68,
        Track=Track,
        Contact=Contact,
        Tables=Tables,
        State=State,
        Scratch=Scratch,
        Ground=Ground,
    )
