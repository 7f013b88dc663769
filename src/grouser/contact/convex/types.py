"""Device structs of convex contact: solids, poses, candidates, friction states, results."""

from __future__ import annotations

import warp as wp

from grouser.contact.penalty import Constants
from grouser.device import array, array2d, struct
from grouser.precision import mat33, mat66, real, vec3

FACE, EDGE, VERTEX = 0, 1, 2  # kinds of contact
FULL = 1  # status


@struct
class Solids:
    """Convex solids: parts, in the axes of their bodies, then course pieces, in the world's. Written by the host."""

    parts: int  # number of parts
    first_vertex: array[int]  # (solid + 1,)
    vertex: array[vec3]  # [m]
    cover: array[wp.int64]  # (vertex,) bits of covered faces, see terrain/course.py
    ridge: array[wp.int64]  # (vertex,) bits of faces along ridges, see terrain/course.py
    first_face: array[int]  # (solid + 1,)
    normal: array[vec3]  # (face,) outward
    offset: array[real]  # [m], (face,)
    covered: array[int]  # (face,) 1: a neighbour covers it
    first_corner: array[int]  # (face + 1,)
    corner: array[int]  # (corner,) its vertex
    seam: array[int]  # (corner,) 1: the edge from it on runs along a seam
    row: array[int]  # (part,) in motion
    out: array[int]  # (part,) output row
    radius: array[real]  # [m], (part,) about the body's origin
    between: array2d[int]  # (pair, 2) parts of bodies that both move
    bvh: wp.uint64  # tree over the course, 0: none
    material: Constants  # of all contacts
    stick_speed: real  # [m/s] v_T0
    spread: real  # [m] by which the pressure reaches beyond edges
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
    low: array[vec3]  # [m] box round the part over the step
    high: array[vec3]


@struct
class Counts:
    """Of the last evaluation."""

    seen: int  # pairs the search compared
    candidates: int  # pairs coal was asked about
    contacts: int
    points: int
    corners: int
    overflow: int  # 1: there was no room for all of them


@struct
class Candidates:
    """Pairs that may touch, written by the search, and what coal says about them, written by the host."""

    pair: array2d[int]  # (candidate, 2) part, solid
    guess: array[vec3]  # (candidate,) direction of the last step, from the part to the other
    reach: array[real]  # [m], (candidate,) distance up to which it matters
    touch: array[int]  # (candidate,) 1: coal says that they touch
    normal: array[vec3]  # (candidate,) from the part to the other
    distance: array[real]  # [m], (candidate,) below 0 where they overlap
    point: array[vec3]  # [m], (candidate,)
    counts: array[Counts]  # (1,)


@struct
class Sticks:
    """Friction state of every contact: stick spring and pressure. Written by `stick`, a trial of it by `press`.

    The displacement of the stick spring at x is xi + phi n x (x - centre). The pressure at the end of the step, on
    which friction of the next step rests, is pressure + slope . (x - centre).
    """

    count: array[int]  # (1,)
    pair: array2d[int]  # (contact, 2) part, solid
    state: array[int]  # (contact,) FREE, STUCK or SLIPPING
    normal: array[vec3]  # pushes the part out
    centre: array[vec3]  # [m], axes of the part's body: the patch goes along with it
    xi: array[vec3]  # [m]
    phi: array[real]  # [rad]
    pressure: array[real]  # [Pa]
    slope: array[vec3]  # [Pa/m]
    area: array[real]  # [m^2]
    deepest: array[real]  # [m]


@struct
class Contacts:
    """Results of the last evaluation. Written by `press`."""

    kind: array[int]  # (contact,) FACE, EDGE, VERTEX
    deepest: array[real]  # [m] at the end of the step
    force: array[vec3]  # [N] on the part
    block: array[mat66]  # its share of B
    pressed: array[vec3]  # [m] centre of pressure
    first_point: array[int]  # (contact + 1,)
    first_corner: array[int]
    at: array[vec3]  # [m], (point,)
    area: array[real]  # [m^2]
    load: array[real]  # [N], (point,) below 0: not in contact
    dip: array[real]  # [m], (point,) depth
    corner: array[vec3]  # [m], (corner,) of the clipped polygon
    depth: array[real]  # [m], (corner,)
    stored: array[real]  # [J], (1,) in all springs
    polygon: array2d[vec3]  # [m], (2, corner) two polygons, for clipping one into the other
    flag: array2d[int]  # (2, corner) 1: no pressure reaches beyond the edge from this corner on


@struct
class StepContacts:
    """Contacts of the last step with the forces the parts really got, for channels. Written by `stick`."""

    count: array[int]  # (1,)
    pair: array2d[int]  # (contact, 2) part, solid
    kind: array[int]
    deepest: array[real]  # [m]
    place: array[vec3]  # [m] centre of pressure
    force: array[vec3]  # [N]


# ---- values of one thread -------------------------------------------------------------------------------


@struct
class Overlap:
    """Two solids that touch: where they are, how they move, and the patch between them."""

    a: int  # part
    b: int  # course piece or other part
    ground: bool  # whether b is of the course
    now: real  # [s] from the end of the step, where the patch is found, back to now
    xa: vec3  # [m] pose and motion of a
    Ra: mat33
    va: vec3  # [m/s]
    wa: vec3  # [rad/s]
    xb: vec3  # the same of b
    Rb: mat33
    vb: vec3
    wb: vec3
    n: vec3  # pushes a out of b
    deepest: real  # [m]
    origin: vec3  # [m] depth of a place x along n: steep . (x - origin)
    steep: vec3
    kind: int  # FACE, EDGE or VERTEX
    first: int  # of its points
    points: int
    corners: int


@struct
class Reference:
    """The face that a contact is measured from."""

    face: int  # -1: none is there that may push
    of_part: int  # 1: of the part, 0: of the other
    crossing: int  # 1: two edges cross, and the face only stands for the direction
    out: vec3  # direction that pushes the part out
    depth: real  # [m] along it


@struct
class Stick:
    """Friction state a contact begins the step with."""

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
    load: real  # [N] that friction rests on
    pressed: vec3  # [N m] load times place
    area: real  # [m^2] of the points that bear load
    stored: real  # [J]
