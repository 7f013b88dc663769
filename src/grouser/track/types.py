"""Device structs of tracks: constants and tables, state, working arrays of a step, ground.

Axes of a link: x along the chain, y along the pin, z towards the inside of the loop. All other vectors are in world
axes unless noted. Indices of links, wheels, carriers and contacts run through all tracks of a module. A carrier is a
body of the engine that carries wheels.
"""

from __future__ import annotations

import warp as wp

from grouser.contact.soil.elements import Box
from grouser.device import array, array2d, struct
from grouser.precision import mat33, quat, real, vec2, vec3, vec6

FLAT, GRID, MESH, SOIL = 0, 1, 2, 3  # kinds of ground
FREE, FIXED = 0, 1  # a wheel that turns on its carrier, a wheel that turns with its body
FINE, BROKEN, FULL, OUTSIDE = range(4)  # kinds of status
GROUND = -1  # wheel number of a contact with the ground
CACHE_LINE = 16  # integers per cache line; counters of two threads must not share one

padding = wp.types.vector(CACHE_LINE - 1, int)
# 6 x 6 blocks of the equations of motion, in rows of 8: a row fills whole registers, and its seventh number is free for
# a right-hand side (cyclic.py).
row8 = wp.types.vector(8, real)
mat68 = wp.types.matrix((6, 8), real)


@struct
class Track:
    """Constants of one track, and its first rows (`first_*`) in tables and states. Written by the host."""

    first_link: int
    links: int
    first_wheel: int
    wheels: int
    first_carrier: int  # bodies that carry wheels
    carriers: int
    first_contact: int
    contacts: int  # room for contacts
    first_candidate: int
    first_marker: int
    markers: int  # of a link
    first_grip: int  # of the markers' states
    first_station: int
    stations: int  # of a rail
    section_points: int  # of a rail's section
    frame: int  # carrier on whose frame the links are assembled
    substeps: int
    implicit: int  # 1: linearly implicit links, 0: explicit ones
    neighbour_lists: int  # 0: all links against all wheels
    back_bend_by_shoes: int  # back-bend stop: 1 by the shoes' edges, 0 by the angle
    pitch: real  # [m]
    mass: real  # [kg] of a link
    inertia: vec3  # [kg m^2] about x, y, z of the link
    per_inertia: vec3  # [1/(kg m^2)]
    bushing_radius: real  # [m]
    rail_height: real  # [m] nominal, above the pins
    rail_overlap: real  # [m] of the rails of two neighbours, either side of a pin
    ground_reach: real  # [m] height of a link above the ground below which its shoe may touch it
    radial_stiffness: real  # [N/m] of a pin in its bushing
    axial_stiffness: real  # [N/m]
    radial_damping: real  # [N s/m]
    axial_damping: real  # [N s/m]
    roll_stiffness: real  # [N m/rad] about x
    yaw_stiffness: real  # [N m/rad] about z
    tilt_damping: real  # [N m s/rad] of both
    pin_damping: real  # [N m s/rad] about the pin
    back_bend_angle: real  # [rad]
    back_bend_stiffness: real  # [N m/rad]
    back_bend_damping: real  # [N m s/rad]
    edge_x: real  # [m] of a shoe's front edge
    edge_y: real  # [m] lateral position of its two contact points
    edge_z: real  # [m] of its underside
    shoe_width: real  # [m]
    lesser_of_plane_and_face: int  # 1: shear strength of grousers is the lesser of tip plane and face; 0: their sum
    grouser_height: real  # [m]
    grouser_gap: real  # [m] of ground between two grousers
    edge_stiffness: real  # [N/m] of one of the two points
    edge_damping: real  # [N s/m]
    tooth_stiffness: real  # [N/m]
    tooth_damping: real  # [N s/m]
    side_gap: real  # [m] play of the links along the sprocket's axle
    side_stiffness: real  # [N/m] along the axle
    side_damping: real  # [N s/m]
    roller_stiffness: real  # [N/m^1.5]
    roller_damping: real  # [N s/m]
    friction: real
    full_friction_speed: real  # [m/s] v_mu
    full_damping_depth: real  # [m]
    gravity: vec3  # [m/s^2]


@struct
class Segment:
    """A straight piece of a profile. Segment k starts at point k."""

    direction: vec2
    length: real  # [m]
    slope: real  # second coordinate over the first


@struct
class Tables:
    """Geometry of links and wheels. Written by the host."""

    track: array[Track]
    row: array[int]  # (carrier,) row in `Motion`
    out: array[int]  # (carrier,) row in `Outputs`
    carrier: array[int]  # (wheel,) index of its carrier within its track
    turns: array[int]  # (wheel,) FREE or FIXED
    place: array[vec3]  # [m], (wheel,) centre in the carrier's frame
    axis: array[vec3]  # (wheel,) axle in the carrier's frame
    start: array[vec3]  # (wheel,) direction of the first gap of a sprocket in the carrier's frame
    inertia: array[real]  # [kg m^2], (wheel,) about the axle
    drag: array[real]  # [N m s], (wheel,) of the bearing
    reach: array[real]  # [m], (wheel,) largest radius
    teeth: array[int]  # (wheel,) number of teeth; 0: no sprocket
    first_point: array[int]  # (wheel + 1,) in profile
    profile: array[vec2]  # [m], (point,) tooth gap: across and radial; others: along the axle and radius
    segment: array[Segment]  # (point,)
    group: array[int]  # (point,) segments of the same group give one contact together
    station: array[real]  # [m], (station,) x along the link
    per_station: array[real]  # [1/m], (station,) over the distance to the next, 0 at the last
    section: array2d[vec2]  # [m], (station, point) y, z of the left rail; the right one mirrors it
    share: array2d[real]  # (station, point) of the roller's stiffness
    marker: array[vec3]  # [m], (marker,) points of a shoe in the link's frame
    area: array[real]  # [m^2], (marker,)
    blade: array[real]  # [m], (marker,) width of a grouser's share, 0 on the plate
    start_position: array[vec3]  # [m], (link,) assembled, in the frame of its carrier
    start_rotation: array[quat]  # (link,)


@struct
class State:
    """State of links, shoes and wheels. A step advances the trial state; `commit_tracks` makes it the committed one."""

    position: array2d[vec3]  # [m], (world, link) of the centre of mass
    rotation: array2d[quat]  # (world, link)
    velocity: array2d[vec3]  # [m/s], (world, link)
    angular_velocity: array2d[vec3]  # [rad/s], (world, link)
    anchor: array2d[vec3]  # [m], (world, link x marker) point where shear began
    gripped: array2d[int]  # (world, link x marker) 1: in the ground
    wheel_rate: array2d[real]  # [rad/s], (world, wheel) of wheels that turn on their carriers, against them
    impulse: array2d[vec3]  # [N s], (world, track) of ground and gravity on the links since the start
    placed: array2d[int]  # (world, track) 1: the links have been put on their wheels


@struct
class Carriers:
    """Bodies of the engine that carry wheels, extrapolated with constant velocity through the substeps."""

    position: array2d[vec3]  # [m], (world, carrier)
    rotation: array2d[quat]  # (world, carrier)
    velocity: array2d[vec3]  # [m/s], (world, carrier)
    angular_velocity: array2d[vec3]  # [rad/s], (world, carrier)
    wrench: array2d[vec6]  # [N, N m], (world, carrier) mean over the substeps, about the frame origin


@struct
class Wheels:
    """Wheels in a substep, and the links near them; (world, wheel) unless noted."""

    centre: array2d[vec3]  # [m]
    axle: array2d[vec3]
    first_gap: array2d[vec3]  # direction of the first gap of a sprocket
    velocity: array2d[vec3]  # [m/s] of the centre
    angular_velocity: array2d[vec3]  # [rad/s]
    wrench: array2d[vec6]  # [N, N m] of the links in this substep, about the centre
    mean_wrench: array2d[vec6]  # [N, N m] mean over the substeps, torque about the axle included
    axle_damping: array2d[real]  # [N m s] friction about the axle: loss of torque per unit of angular velocity
    near_links: array2d[int]  # (world, wheel x link) links near each wheel, for all substeps of a step
    near_count: array2d[int]  # their number


@struct
class Links:
    """Equations of motion of the links in a substep; (world, link).

    Implicit scheme: (M + sum J^T (h C + h^2 K) J) dv = h f. The isotropic part of the diagonal blocks is summed in
    three small arrays, which is cheaper than summing whole blocks; `finish_diagonal` adds it to the blocks.
    """

    axes: array2d[mat33]  # rotation matrix: columns are x, y, z of the link
    force: array2d[vec3]  # [N]
    torque: array2d[vec3]  # [N m] about the centre of mass
    effective_mass: array2d[real]  # [kg] mass + h x isotropic impedances
    effective_moment: array2d[vec3]  # [kg m] sum of h x impedance x arm
    effective_inertia: array2d[mat33]  # [kg m^2] inertia + h x impedances at their arms
    diagonal: array2d[mat68]  # block of a link with itself
    coupling: array2d[mat68]  # block of a link with the next one
    fill: array2d[mat68]  # workspace of the solver, see cyclic.py
    velocity_change: array2d[vec6]  # [m/s, rad/s] of a substep


@struct
class Contact:
    """One contact point of a link with a wheel or the ground."""

    link: int
    wheel: int  # index of the wheel, or GROUND
    arm: vec3  # [m] from the link's centre of mass
    wheel_arm: vec3  # [m] from the wheel's centre
    normal: vec3  # out of the wheel or the ground
    force: vec3  # [N] on the link: first as evaluated, after the last substep as received
    normal_impedance: real  # [N s/m] loss of force for each m/s that the link gains along the normal
    tangential_impedance: real  # [N s/m] the same perpendicular to the normal
    sliding_speed: real  # [m/s]


@struct
class Counter:
    """A count in its own cache line, so that threads counting for two tracks do not slow each other down."""

    count: int
    unused: padding


@struct
class Contacts:
    """Contacts of the links in a substep, and the links that may touch the ground in a step."""

    found: array2d[Counter]  # (world, track) contacts
    contact: array2d[Contact]  # (world, contact)
    low_links: array2d[int]  # (world, link) links near the ground
    low_count: array2d[int]  # (world, track) how many


@struct
class Results:
    """Results of a step, for recordings and for the engine."""

    tension: array2d[real]  # [N], (world, link) of the joint at its pin
    tooth_load: array2d[real]  # [N], (world, link) of the sprocket on its bushing, last substep
    shoe_load: array2d[vec3]  # [N], (world, link) of the ground, last substep
    shoe_force: array2d[vec3]  # [N], (world, link) of the ground, mean over the substeps
    shoe_normal: array2d[real]  # [N], (world, link) part of `shoe_load` normal to the ground
    shoe_lever: array2d[vec3]  # [N m], (world, link) sum of normal force times place from the link's middle
    ground_force: array2d[vec3]  # [N], (world, track) mean of the ground over the substeps
    links_wrench: array2d[vec6]  # [N, N m], (world, track) of wheels on links, about the world's origin
    wheels_wrench: array2d[vec6]  # [N, N m], (world, track) of links on wheels, the same summed from the wheels
    status: array2d[int]  # (world, track) FINE, BROKEN, FULL or OUTSIDE


@struct
class Ruts:
    """What tracks have done to plastic soil, (world, track) unless noted. It is state."""

    removed: array2d[real]  # [m] pressed down by plates, sum over nodes
    moved: array2d[real]  # [m] rise of the surface, sum over nodes, of all that this track has written
    owed: array2d[real]  # [m], (world, link) soil from below its plate, to be put beside it; sum over nodes
    steep: array2d[Box]  # nodes that may be too steep, grid indices
    waited: array2d[real]  # [s] since slopes were last looked at
    footprint: array2d[Box]  # nodes around the plates when slopes were last looked at, grid indices


@struct
class Heap:
    """Working arrays of slides: nodes around a track, (world, track x node)."""

    side: int  # [nodes] largest number along each side
    height: array2d[real]  # [m] of the surface
    plate: array2d[real]  # [m] of the lowest plate above
    flow: array2d[real]  # [m] gained in this sweep; zero between sweeps
    pairs: array2d[int]  # number of pairs in which a node gives and takes; zero between sweeps
    sweep: array2d[int]  # the last sweep in which a node moved; -1: none
    steep: array2d[int]  # list of the pairs that are too steep, by numbers of their first nodes, see slides.py
    moving: array2d[int]  # list of the nodes that move in a sweep
    moved: array2d[int]  # list of those that moved in the last one


@struct
class Plate:
    """The plane of a shoe's plate over the place (x, y) relative to its link: each is c0 + c1 x + c2 y [m]."""

    height: vec3  # above the link
    along: vec3  # the link
    across: vec3


@struct
class ShoeSoil:
    """Soil constants for shoes; Omar 2014, eq. 48 to 55."""

    stiffness: real  # [N/m^3] K_y
    damping: real  # [N s/m^3] C_y
    cohesion: real  # [Pa] c
    tan_friction: real  # tan(phi)
    shear_rate: real  # [1/m] k_T
    slip_damping: real  # [N s/m^3] C
    slip_speed: real  # [m/s] v_s
    weight: real  # [N/m^3] of the soil


@struct
class Ground:
    """The ground under shoes. Written by the host. Heights of deformable soil are in `GroundArrays` instead."""

    kind: int  # FLAT, GRID, MESH or SOIL
    height: real  # [m] of flat ground
    x0: real  # [m] of the first node or bucket
    y0: real  # [m]
    per_spacing: real  # [1/m] of nodes or buckets
    heights: array2d[real]  # [m], (row, column)
    soil: array[ShoeSoil]  # one, or one for each vertex of a mesh
    modulus: real  # [N/m^(n+2)] k_c/b + k_phi of plastic soil
    exponent: real  # n
    displaced: real  # share of the rut's volume that is pushed to the sides, 1 - chi
    tan_repose: real  # slope above which plastic soil slides; 0: never
    rut_interval: real  # [s] after which ruts are left again
    vertex: array[vec3]  # [m], (vertex,)
    triangle: array[wp.vec3i]  # (triangle,) counter-clockwise from above
    first: array2d[int]  # (row, column) of the first triangle in the bucket's list
    count: array2d[int]  # (row, column) how many triangles
    listed: array[int]  # triangles of the buckets, one after another
