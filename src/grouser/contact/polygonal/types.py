"""Device structs of polygonal contact: shapes, pairs, contact lists, elements."""

from __future__ import annotations

import warp as wp

from grouser.contact.pairs import PairBodies
from grouser.contact.penalty import Constants, Friction
from grouser.contact.rigid import Block
from grouser.device import array, array2d, array3d, struct
from grouser.precision import mat33, real, vec3


@struct
class Shapes:
    """Surfaces one after another, in the axes of their bodies. Written by the host."""

    first_face: array[int]  # (shape + 1,)
    bvh: array[wp.uint64]  # (shape,) Warp's tree over the faces
    corners: array2d[vec3]  # [m], (face, 3)
    normal: array[vec3]  # (face,) outward
    layer: array[int]  # (face,)


@struct
class Pairs:
    """The pairs that may touch. The first shape carries the elements, the second is what they touch.

    Written by the host. The first shape has a tree of boxes over its faces, each drawn `reach` inward. It is a heap:
    node k has the children 2 k + 1 and 2 k + 2; leaf j of 2^depth holds the faces from count j / 2^depth on.
    """

    bodies: PairBodies
    shape: array2d[int]  # (pair, 2)
    linear: array[int]  # (pair,) 1: depth is linear between an element's corners
    radius: array[real]  # [m], (pair,) of the first shape about its frame origin
    first_node: array[int]  # (pair,) of its tree
    depth: array[int]  # (pair,) of its tree
    box: array[vec3]  # [m], (node,) centre
    half: array[vec3]  # [m], (node,) half sides
    reach: array[real]  # [m], (pair,) depth up to which faces are searched
    margin: array[real]  # [m], (pair,) of relative motion a list lasts for
    first_contact: array[int]  # (pair,) in contacts: layer of the first x layer of the second
    layers: array[int]  # (pair,) number of layers of the second shape
    contacts: array[Constants]
    first_element: array[int]  # (pair + 1,) in element lists and element states
    first_candidate: array[int]  # (pair + 1,)
    lanes: int  # threads that share a pair


@struct
class ListState:
    """What is known about one pair's list. Written by `check_list` and the search."""

    stale: int  # 1: it is made anew in this step
    quiet: int  # 1: nothing on it can touch, so that forces need not look at it
    overflow: int  # 1: it had no room for all candidates
    tests: int  # faces compared, one with one, by the last search
    searches: int  # lists made since the last reset


@struct
class Lists:
    """Elements near the other surface and the faces they may touch. Made anew when a pair has moved on."""

    state: array2d[ListState]  # (world, pair)
    elements: array2d[int]  # (world, pair) elements on the list
    candidates: array2d[int]  # (world, pair) faces on the list
    slack: array2d[real]  # [m], (world, pair) of motion this list lasts for
    gap: array2d[real]  # [m], (world, pair) of motion before any listed element can touch
    position: array2d[vec3]  # [m], (world, pair) relative pose for which it was made
    rotation: array2d[mat33]
    face: array2d[int]  # (world, element) face of the first shape
    first: array2d[int]  # (world, element) its first candidate in `other`
    count: array2d[int]  # (world, element) number of its candidates
    doubtful: array2d[int]  # (world, element) 1: some listed face may look away from it
    other: array2d[int]  # (world, candidate) face f of the second shape; -1 - f: it may look away


@struct
class Elements:
    """Results of the last evaluation, in the order of the list, and the stick points of all faces."""

    area: array2d[real]  # [m^2], (world, element) in contact
    load: array2d[real]  # [N], (world, element) normal
    normal: array2d[vec3]  # (world, element) outward from the second shape, its axes
    centre: array2d[vec3]  # [m], (world, element) of the area in contact, second's axes
    friction: array2d[Friction]  # (world, element)
    state: array2d[int]  # (world, face of a pair) FREE, STUCK or SLIPPING
    anchor: array2d[vec3]  # [m], (world, face of a pair) where the face's middle sticks, second's axes
    over: array3d[int]  # (world, face of a pair, 3) 1 + face last found over its corners, 0: none


# ---- values of one thread -------------------------------------------------------------------------------


@struct
class Element:
    """A face of the first shape in the second's axes; in its own plane its corners are (0, 0), (L, 0), (a, b)."""

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
    """One pair in this step: where the first shape is, how it moves, and what follows from the step."""

    position: vec3  # [m]
    rotation: mat33
    velocity: vec3  # [m/s]
    angular_velocity: vec3  # [rad/s]
    centre: vec3  # [m] moments are about
    h: real  # [s] step
    now: real  # [s] from the end of the step, where depths are taken, back to now; 0 for two moving bodies
    reach: real  # [m] depth up to which faces are searched
    implicit: bool  # against the ground


@struct
class Totals:
    """Sums over the elements of one thread."""

    force: vec3  # [N] on the first shape
    moment: vec3  # [N m] about the centre
    block: Block
    depth: real  # [m] greatest
    area: real  # [m^2]
    stiffness: real  # [N/m] normal
    polygons: int
    touched: int  # 1: force or block is not zero
    flags: int  # kinds of status, bits


@struct
class Patch:
    """What friction of one element needs: sums over its contact polygons."""

    area: real  # [m^2]
    middle: vec3  # [m^3] area times centroid
    load: real  # [N] normal
    pressed: vec3  # [N] load times normal
    friction: Friction
