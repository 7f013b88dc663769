"""Device structs of convex contact: solids, poses, candidates, states, results."""

from functools import cache
from types import SimpleNamespace

import warp as wp

from grouser.precision import precision

FREE, STUCK, SLIPPING = 0, 1, 2
FACE, EDGE, VERTEX = 0, 1, 2  # kinds of contact
CANDIDATES, CONTACTS, POINTS, CORNERS, OVERFLOW, SEEN = range(6)  # columns of counts
COUNTS = 6
FULL = 1  # status


@cache
def convex_types(name: str) -> SimpleNamespace:
    p = precision(name)
    real, vec2, vec3, mat33, mat66 = p.real, p.vec2, p.vec3, p.mat33, p.mat66

    @wp.struct
    class Material:
        """Of a unit of area; symbols of penalty.py."""

        c: real  # [Pa/m]
        d: real  # [Pa s/m]
        c_t: real  # [Pa/m]
        d_t: real  # [Pa s/m]
        s_d0: real  # [m]
        mu_stick: real
        mu_slip: real
        stick_speed: real  # [m/s] v_T0
        spread: real  # [m] by which the pressure reaches beyond edges
        law: vec2  # numbers of a law of its own

    @wp.struct
    class Solids:
        """Parts, in the axes of their bodies, then course pieces, in the world's."""

        parts: wp.int32
        first_vertex: wp.array(dtype=wp.int32)  # (solid + 1,)
        vertex: wp.array(dtype=vec3)  # [m]
        cover: wp.array(dtype=wp.int64)  # (vertex,) bits of covered faces, see terrain/course.py
        ridge: wp.array(dtype=wp.int64)
        first_face: wp.array(dtype=wp.int32)  # (solid + 1,)
        normal: wp.array(dtype=vec3)  # (face,)
        offset: wp.array(dtype=real)  # [m], (face,)
        covered: wp.array(dtype=wp.int32)  # (face,)
        first_corner: wp.array(dtype=wp.int32)  # (face + 1,)
        corner: wp.array(dtype=wp.int32)  # vertex
        seam: wp.array(dtype=wp.int32)  # (corner,) 1: the edge from it on runs along a seam
        row: wp.array(dtype=wp.int32)  # (part,) in motion
        out: wp.array(dtype=wp.int32)  # (part,) output row
        radius: wp.array(dtype=real)  # [m], (part,) about the body's origin
        between: wp.array2d(dtype=wp.int32)  # (pair, 2) parts of bodies that both move
        bvh: wp.uint64  # over the course
        material: Material
        step: wp.array(dtype=real)  # [s], (1,)

    @wp.struct
    class Places:
        """Of every part: the pose now and at the end of the step."""

        position: wp.array(dtype=vec3)
        rotation: wp.array(dtype=mat33)
        ahead_position: wp.array(dtype=vec3)
        ahead_rotation: wp.array(dtype=mat33)
        velocity: wp.array(dtype=vec3)
        spin: wp.array(dtype=vec3)
        low: wp.array(dtype=vec3)  # [m] box round the part over the step
        high: wp.array(dtype=vec3)

    @wp.struct
    class Found:
        """Candidates, and what coal says of them."""

        pair: wp.array2d(dtype=wp.int32)  # (candidate, 2) part, solid
        guess: wp.array(dtype=vec3)  # (candidate,) direction of the last step, from the part to the other
        reach: wp.array(dtype=real)  # [m], (candidate,) distance up to which it matters
        touch: wp.array(dtype=wp.int32)  # (candidate,)
        normal: wp.array(dtype=vec3)  # from the part to the other
        distance: wp.array(dtype=real)  # [m] below 0 where they overlap
        point: wp.array(dtype=vec3)  # [m]
        counts: wp.array(dtype=wp.int32)  # (COUNTS,)

    @wp.struct
    class Sticks:
        """State of every contact: the stick spring's way at x is xi + phi n x (x - centre), and the pressure at the
        end of the step, on which friction of the next one rests, is pressure + slope . (x - centre)."""

        count: wp.array(dtype=wp.int32)  # (1,)
        pair: wp.array2d(dtype=wp.int32)  # (contact, 2) part, solid
        state: wp.array(dtype=wp.int32)
        normal: wp.array(dtype=vec3)  # pushes the part out
        centre: wp.array(dtype=vec3)  # [m], axes of the part's body: the patch goes along with it
        xi: wp.array(dtype=vec3)  # [m]
        phi: wp.array(dtype=real)  # [rad]
        pressure: wp.array(dtype=real)  # [Pa]
        slope: wp.array(dtype=vec3)  # [Pa/m]
        area: wp.array(dtype=real)  # [m^2]
        deepest: wp.array(dtype=real)  # [m]

    @wp.struct
    class Contacts:
        """Result of the last evaluation."""

        kind: wp.array(dtype=wp.int32)  # (contact,) FACE, EDGE, VERTEX
        deepest: wp.array(dtype=real)  # [m] at the end of the step
        force: wp.array(dtype=vec3)  # [N] on the part
        block: wp.array(dtype=mat66)  # its share of B
        pressed: wp.array(dtype=vec3)  # [m] centre of pressure
        first_point: wp.array(dtype=wp.int32)  # (contact + 1,)
        first_corner: wp.array(dtype=wp.int32)
        at: wp.array(dtype=vec3)  # [m], (point,)
        area: wp.array(dtype=real)  # [m^2]
        load: wp.array(dtype=real)  # [N]
        dip: wp.array(dtype=real)  # [m], (point,) depth
        corner: wp.array(dtype=vec3)  # [m], (corner,) of the clipped polygon
        depth: wp.array(dtype=real)  # [m], (corner,)
        stored: wp.array(dtype=real)  # [J], (1,)
        polygon: wp.array2d(dtype=vec3)  # room for clipping
        flag: wp.array2d(dtype=wp.int32)

    @wp.struct
    class Meeting:
        """Two solids that touch: where they are, how they move, and the patch between them."""

        a: wp.int32  # part
        b: wp.int32  # course piece or other part
        ground: wp.bool  # whether b is of the course
        now: real  # [s] from the end of the step, where the patch is found, back to now
        xa: vec3
        Ra: mat33
        va: vec3
        wa: vec3
        xb: vec3
        Rb: mat33
        vb: vec3
        wb: vec3
        n: vec3  # pushes a out of b
        deepest: real  # [m]
        origin: vec3  # depth of a place x along n: steep . (x - origin)
        steep: vec3
        kind: wp.int32
        first: wp.int32  # of its points
        points: wp.int32
        corners: wp.int32

    @wp.struct
    class Felt:
        """Contacts of the last step with the forces the parts really got."""

        count: wp.array(dtype=wp.int32)  # (1,)
        pair: wp.array2d(dtype=wp.int32)  # (contact, 2) part, solid
        kind: wp.array(dtype=wp.int32)
        deepest: wp.array(dtype=real)  # [m]
        place: wp.array(dtype=vec3)  # [m] centre of pressure
        force: wp.array(dtype=vec3)  # [N]

    return SimpleNamespace(
        precision=p, Material=Material, Solids=Solids, Places=Places, Found=Found, Sticks=Sticks,
        Contacts=Contacts, Felt=Felt, Meeting=Meeting,
    )  # fmt: skip
