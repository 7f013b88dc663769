"""Device structs of polygonal contact, for one float type: shapes, pairs, contact lists, elements."""

from functools import cache
from types import SimpleNamespace

import warp as wp

from grouser.contact.clipping import MOST_CORNERS
from grouser.contact.pairs import pair_types

# columns of Lists.counts
ELEMENTS, CANDIDATES, TESTS, STALE, OVERFLOW, SEARCHES, QUIET = range(7)
COUNTS = 7


@cache
def polygonal_types(name: str) -> SimpleNamespace:
    shared = pair_types(name)
    p, Contact, Ends = shared.precision, shared.Contact, shared.Ends
    real, vec3, vec4, mat33 = p.real, p.vec3, p.vec4, p.mat33

    @wp.struct
    class Shapes:
        """Surfaces one after another, in the axes of their bodies."""

        first_face: wp.array(dtype=wp.int32)  # (shape + 1,)
        bvh: wp.array(dtype=wp.uint64)  # (shape,) Warp's tree over the faces
        corners: wp.array2d(dtype=vec3)  # [m], (face, 3)
        normal: wp.array(dtype=vec3)  # (face,) outward
        layer: wp.array(dtype=wp.int32)  # (face,)

    @wp.struct
    class Pairs:
        """Who may touch whom. The first shape carries the elements, the second is what they meet.

        The first has a tree of boxes over its faces, each drawn `reach` inward. It is a heap: node k has the children
        2 k + 1 and 2 k + 2; leaf j of 2^depth holds the faces from count j / 2^depth on.
        """

        ends: Ends
        shape: wp.array2d(dtype=wp.int32)  # (pair, 2)
        linear: wp.array(dtype=wp.int32)  # (pair,) 1: depth is linear between an element's corners
        radius: wp.array(dtype=real)  # [m], (pair,) of the first shape about its frame origin
        first_node: wp.array(dtype=wp.int32)  # (pair,)
        depth: wp.array(dtype=wp.int32)  # (pair,) of the tree
        box: wp.array(dtype=vec3)  # [m], (node,) centre
        half: wp.array(dtype=vec3)  # [m], (node,) half sides
        reach: wp.array(dtype=real)  # [m], (pair,) depth up to which faces are looked for
        margin: wp.array(dtype=real)  # [m], (pair,) of relative motion a list lasts for
        first_contact: wp.array(dtype=wp.int32)  # (pair,) in contacts: layer of the first x layer of the second
        layers: wp.array(dtype=wp.int32)  # (pair,) number of layers of the second shape
        contacts: wp.array(dtype=Contact)
        first_element: wp.array(dtype=wp.int32)  # (pair + 1,) in element lists and element states
        first_candidate: wp.array(dtype=wp.int32)  # (pair + 1,)
        lanes: wp.int32  # threads that share a pair

    @wp.struct
    class Lists:
        """Elements near the other surface and the faces they may meet; found anew when a pair has moved on."""

        counts: wp.array3d(dtype=wp.int32)  # (world, pair, COUNTS)
        slack: wp.array2d(dtype=real)  # [m], (world, pair) of motion this list lasts for
        gap: wp.array2d(dtype=real)  # [m], (world, pair) of motion before any listed element can touch
        position: wp.array2d(dtype=vec3)  # (world, pair) where it was made
        rotation: wp.array2d(dtype=mat33)
        face: wp.array2d(dtype=wp.int32)  # (world, element) face of the first shape
        first: wp.array2d(dtype=wp.int32)  # (world, element) in other
        count: wp.array2d(dtype=wp.int32)  # (world, element)
        doubtful: wp.array2d(dtype=wp.int32)  # (world, element) 1: some listed face may look away
        other: wp.array2d(dtype=wp.int32)  # (world, candidate) face f of the second shape; -1 - f: it may look away

    @wp.struct
    class Elements:
        """Result of the last evaluation, in the order of the list, and the stick points of all faces."""

        area: wp.array2d(dtype=real)  # [m^2], (world, element) in contact
        load: wp.array2d(dtype=real)  # [N], (world, element) normal
        normal: wp.array2d(dtype=vec3)  # (world, element) outward from the second shape, its axes
        centre: wp.array2d(dtype=vec3)  # [m], (world, element) of the area in contact, second's axes
        tangential: wp.array2d(dtype=vec4)  # (world, element) c_T A, d_T A, mu_stick F_N, mu_slip F_N
        state: wp.array2d(dtype=wp.int32)  # (world, face of a pair) FREE, STUCK or SLIPPING
        anchor: wp.array2d(dtype=vec3)  # [m], (world, face of a pair) where the face's centre sticks, second's axes
        over: wp.array3d(dtype=wp.int32)  # (world, face of a pair, 3) 1 + face last met by its corners, 0: none

    return SimpleNamespace(
        precision=p, polygon=wp.types.vector(MOST_CORNERS, real), Ends=Ends, Shapes=Shapes, Pairs=Pairs,
        Places=shared.Places, Lists=Lists, Elements=Elements, Sums=shared.Sums,
    )  # fmt: skip
