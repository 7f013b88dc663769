"""Device structs of polygonal contact: shapes, pairs, neighbour lists, elements."""

from __future__ import annotations

import warp as wp

from grouser.contact.pairs import PairBodies
from grouser.contact.penalty import Constants, Friction
from grouser.contact.rigid import Block
from grouser.device import array, array2d, array3d, struct
from grouser.precision import mat33, real, vec3


@struct
class Shapes:
    """Faces of all shapes, one shape after another, in body axes. Written by the host."""

    first_face: array[int]  # (shape + 1,)
    bvh: array[wp.uint64]  # (shape,) Warp's tree over the faces
    corners: array2d[vec3]  # [m], (face, 3)
    normal: array[vec3]  # (face,) outward
    layer: array[int]  # (face,) index of its layer in its shape


@struct
class Pairs:
    """The pairs that may touch. The first shape carries the elements, the second is what they touch.

    Written by the host. The first shape has a tree of boxes over its faces, each extended inward by `reach`. The tree
    is stored as a heap: node k has the children 2 k + 1 and 2 k + 2. Leaf j of 2^depth holds the faces from
    count j / 2^depth on.
    """

    bodies: PairBodies
    shape: array2d[int]  # (pair, 2)
    linear: array[int]  # (pair,) 1: depth is linear between an element's corners
    about_second: array[int]  # (pair,) 1: relative motion is measured at the second's origin, 0: at the first's
    radius: array[real]  # [m], (pair,) largest distance from that origin at which the two may touch
    first_node: array[int]  # (pair,) root of its tree in `box`
    depth: array[int]  # (pair,) levels of its tree
    box: array[vec3]  # [m], (node,) centre
    half: array[vec3]  # [m], (node,) half sides
    reach: array[real]  # [m], (pair,) depth up to which faces are searched
    margin: array[real]  # [m], (pair,) relative motion for which a list stays valid
    first_contact: array[int]  # (pair,) first entry in `contacts`: layers of the first shape x layers of the second
    layers: array[int]  # (pair,) number of layers of the second shape
    contacts: array[Constants]
    first_element: array[int]  # (pair + 1,) in element states: one for each face of the first shape
    first_slot: array[int]  # (pair + 1,) in element lists, which a large first shape does not fill
    first_candidate: array[int]  # (pair + 1,)
    lanes: int  # number of threads that share a pair


@struct
class ListState:
    """State of one pair's list. Written by `check_list` and the search."""

    stale: int  # 1: it must be rebuilt in this step
    out_of_reach: int  # 1: nothing on it can touch, so the force kernel skips it
    overflow: int  # 1: there was no room for all candidates
    tests: int  # pairs of faces compared by the last search
    searches: int  # number of searches since the last reset


@struct
class Lists:
    """Neighbour lists: elements near the other surface, and the faces they may touch."""

    state: array2d[ListState]  # (world, pair)
    elements: array2d[int]  # (world, pair) elements on the list
    candidates: array2d[int]  # (world, pair) faces on the list
    slack: array2d[real]  # [m], (world, pair) relative motion for which this list stays valid
    gap: array2d[real]  # [m], (world, pair) relative motion before any listed element can touch
    position: array2d[vec3]  # [m], (world, pair) relative pose for which it was built
    rotation: array2d[mat33]
    face: array2d[int]  # (world, slot) face of the first shape
    first: array2d[int]  # (world, slot) its first candidate in `other`
    count: array2d[int]  # (world, slot) number of its candidates
    may_face_away: array2d[int]  # (world, slot) 1: some listed face may face away from it
    other: array2d[int]  # (world, candidate) face f of the second shape; -1 - f: it may face away


@struct
class Elements:
    """Results of the last evaluation, in the order of the list, and the stick points of all faces."""

    area: array2d[real]  # [m^2], (world, slot) area in contact
    load: array2d[real]  # [N], (world, slot) normal force
    normal: array2d[vec3]  # (world, slot) outward from the second shape, its axes
    centre: array2d[vec3]  # [m], (world, slot) of the area in contact, second's axes
    friction: array2d[Friction]  # (world, slot)
    state: array2d[int]  # (world, face of a pair) FREE, STUCK or SLIPPING
    anchor: array2d[vec3]  # [m], (world, face of a pair) stick point of the face's centroid, second's axes
    over: array3d[int]  # (world, face of a pair, 3) 1 + face last found over each corner, 0: none


# ---- values of one thread -------------------------------------------------------------------------------


@struct
class Element:
    """A face of the first shape in the second's axes. In its own plane its corners are (0, 0), (L, 0), (a, b)."""

    corner: vec3  # [m] first corner
    e1: vec3  # direction of its first edge
    e2: vec3  # n x e1
    n: vec3  # outward normal
    L: real  # [m]
    a: real  # [m]
    b: real  # [m]


@struct
class Plane:
    """The plane through the points of the other surface over an element's corners, see `laws.corner_plane`."""

    face: int  # one of the faces over the corners, -1: there is no such plane
    g: real  # -m.n, with m its outward normal
    d: real  # [m] depth of the element below it: d + dx x + dy y
    dx: real
    dy: real


@struct
class PairMotion:
    """Pose and velocity of the first shape of one pair in this step, relative to the second."""

    position: vec3  # [m]
    rotation: mat33
    velocity: vec3  # [m/s]
    angular_velocity: vec3  # [rad/s]
    centre: vec3  # [m] point about which moments are taken
    h: real  # [s] step
    now: real  # [s] time from the pose of the depths (end of the step) back to now; 0 for two moving bodies
    reach: real  # [m] depth up to which faces are searched
    implicit: bool  # whether the other shape is fixed, so that the contact is implicit


@struct
class Totals:
    """Sums over the elements of one thread."""

    force: vec3  # [N] on the first shape
    moment: vec3  # [N m] about the centre
    block: Block
    depth: real  # [m] largest depth
    pressure: real  # [Pa] largest elastic pressure
    area: real  # [m^2] contact area
    stiffness: real  # [N/m] normal stiffness
    polygons: int  # number of contact polygons
    touched: int  # 1: force or block is not zero
    flags: int  # kinds of status that occurred, as bits


@struct
class Patch:
    """Sums over the contact polygons of one element, from which its friction is computed."""

    area: real  # [m^2]
    middle: vec3  # [m^3] area times centroid
    load: real  # [N] normal force
    pressed: vec3  # [N] normal force times normal
    friction: Friction
