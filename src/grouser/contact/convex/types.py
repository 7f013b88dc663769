"""Device structs of convex contact: solids, poses, candidates, friction states, results."""

from __future__ import annotations

import warp as wp

from grouser.contact.penalty import Constants
from grouser.device import array, array2d, struct
from grouser.precision import mat33, mat66, real, vec3

FACE, EDGE, VERTEX = 0, 1, 2  # kinds of contact
FULL = 1  # status: more contacts than there is room for


@struct
class Solids:
    """All convex solids: first parts, in body axes, then course pieces, in world axes. Written by the host."""

    parts: int  # number of parts
    first_vertex: array[int]  # (solid + 1,)
    vertex: array[vec3]  # [m]
    cover: array[wp.int64]  # (vertex,) covered faces at the vertex as bits, see terrain/course.py
    ridge: array[wp.int64]  # (vertex,) faces along ridges at the vertex as bits, see terrain/course.py
    first_face: array[int]  # (solid + 1,)
    normal: array[vec3]  # (face,) outward
    offset: array[real]  # [m], (face,)
    covered: array[int]  # (face,) 1: a neighbouring piece covers it
    first_corner: array[int]  # (face + 1,)
    corner: array[int]  # (corner,) vertex of each corner of a face
    rim: array[real]  # (corner,) 1: pressure reaches beyond the edge that starts here; 0: a seam between two pieces
    beyond: array[vec3]  # (corner,) normal of the face beyond that seam, or zero
    row: array[int]  # (part,) row in `Motion`
    out: array[int]  # (part,) row in `Outputs`
    radius: array[real]  # [m], (part,) largest distance of a vertex from the body's origin
    between: array2d[int]  # (pair, 2) pairs of parts of two moving bodies
    bvh: wp.uint64  # tree over the course, 0: no course
    material: Constants  # the same for all contacts
    stick_speed: real  # [m/s] v_T0
    spread: real  # [m] distance by which the pressure reaches beyond edges
    step: array[real]  # [s], (1,)


@struct
class Poses:
    """Poses of all parts now and at the end of the step. Written by the search."""

    position: array[vec3]  # [m], (part,)
    rotation: array[mat33]
    ahead_position: array[vec3]  # [m]
    ahead_rotation: array[mat33]
    velocity: array[vec3]  # [m/s]
    angular_velocity: array[vec3]  # [rad/s]
    low: array[vec3]  # [m] bounding box of the part over the whole step
    high: array[vec3]


@struct
class Counts:
    """Counts of the last evaluation."""

    seen: int  # pairs whose boxes were compared
    candidates: int  # pairs passed to coal
    contacts: int
    points: int
    corners: int
    overflow: int  # 1: there was no room for all of them


@struct
class Candidates:
    """Pairs that may touch, written by the search, and coal's results for them, written by the host."""

    pair: array2d[int]  # (candidate, 2) part, solid
    guess: array[vec3]  # (candidate,) direction in the last step, from the part to the other
    reach: array[real]  # [m], (candidate,) distance up to which the pair counts as touching
    touch: array[int]  # (candidate,) 1: coal finds that they touch
    normal: array[vec3]  # (candidate,) from the part to the other
    distance: array[real]  # [m], (candidate,) negative if they overlap
    point: array[vec3]  # [m], (candidate,) coal's contact point
    counts: array[Counts]  # (1,)


@struct
class Sticks:
    """Friction state of every contact: stick spring and pressure.

    Written by `update_sticks`; `compute_forces` writes a trial state.

    The displacement of the stick spring at x is xi + phi n x (x - centre). The pressure at the end of the step is
    pressure + slope . (x - centre). It limits the friction of the next step.
    """

    count: array[int]  # (1,)
    pair: array2d[int]  # (contact, 2) part, solid
    state: array[int]  # (contact,) FREE, STUCK or SLIPPING
    normal: array[vec3]  # direction that pushes the part out
    centre: array[vec3]  # [m], axes of the part's body: the patch moves with the part
    xi: array[vec3]  # [m] displacement of the stick spring at the centre
    phi: array[real]  # [rad] rotation of the stick spring about the normal
    lever: array[real]  # [m^2] mean square distance of the points from the centre
    pressure: array[real]  # [Pa] at the centre
    slope: array[vec3]  # [Pa/m] gradient of the pressure
    area: array[real]  # [m^2]
    deepest: array[real]  # [m] largest depth


@struct
class Contacts:
    """Results of the last evaluation. Written by `compute_forces`."""

    kind: array[int]  # (contact,) FACE, EDGE, VERTEX
    deepest: array[real]  # [m] largest depth at the end of the step
    force: array[vec3]  # [N] on the part
    block: array[mat66]  # contribution to the implicit block B
    pressed: array[vec3]  # [m] centre of pressure
    first_point: array[int]  # (contact + 1,)
    first_corner: array[int]
    at: array[vec3]  # [m], (point,) contact points
    area: array[real]  # [m^2], (point,)
    load: array[real]  # [N], (point,) negative: not in contact
    point_depth: array[real]  # [m], (point,)
    corner: array[vec3]  # [m], (corner,) corners of the clipped polygon
    depth: array[real]  # [m], (corner,)
    stored: array[real]  # [J], (1,) energy in all springs
    polygon: array2d[vec3]  # [m], (2, corner) two buffers: clipping reads one and writes the other
    rim: array2d[real]  # (2, corner) share of the strip beyond the edge that starts at this corner, 0: none


@struct
class StepContacts:
    """Contacts of the last step with the forces the parts received, for channels. Written by `update_sticks`."""

    count: array[int]  # (1,)
    pair: array2d[int]  # (contact, 2) part, solid
    kind: array[int]
    deepest: array[real]  # [m]
    place: array[vec3]  # [m] centre of pressure
    force: array[vec3]  # [N]
    left: array[vec3]  # [N], (row,) what a body received less the forces of its contacts
    weight: array[real]  # [N s/m], (row,) of its contacts with the course, among which that is shared


# ---- values of one thread -------------------------------------------------------------------------------


@struct
class Overlap:
    """Two solids that touch: their poses and velocities, and the contact patch between them."""

    a: int  # part
    b: int  # course piece or other part
    ground: bool  # whether b is a course piece
    now: real  # [s] time from the pose of the patch (end of the step) back to now; 0 between two parts
    xa: vec3  # [m] pose and motion of a
    Ra: mat33
    va: vec3  # [m/s]
    wa: vec3  # [rad/s]
    xb: vec3  # the same of b
    Rb: mat33
    vb: vec3
    wb: vec3
    n: vec3  # direction that pushes a out of b
    deepest: real  # [m] largest depth
    origin: vec3  # [m] the depth at x, measured along n, is steep . (x - origin)
    steep: vec3
    kind: int  # FACE, EDGE or VERTEX
    first: int  # index of its first point
    points: int
    corners: int


@struct
class Reference:
    """Reference face of a contact: depths are measured from it."""

    face: int  # -1: there is no face that may push
    of_part: int  # 1: a face of the part, 0: of the other solid
    crossing: int  # 1: two edges cross, and the face is only the one closest to the direction
    out: vec3  # direction that pushes the part out
    depth: real  # [m] along it


@struct
class Stick:
    """Friction state of a contact at the start of the step; fields as in `Sticks`."""

    state: int
    xi: vec3  # [m]
    phi: real  # [rad]
    pressure: real  # [Pa]
    slope: vec3  # [Pa/m]


@struct
class Totals:
    """Sums over the points of a contact."""

    force: vec3  # [N] on the part
    moment: vec3  # [N m] about its body's origin
    block: mat66  # B
    load: real  # [N] normal load that limits friction
    pressed: vec3  # [N m] load times position
    area: real  # [m^2] of the points that carry load
    stored: real  # [J] energy in the springs
