"""Device structs of contact between bodies of revolution, for one float type: sections, pairs, elements, sums."""

from functools import cache
from types import SimpleNamespace

import warp as wp

from grouser.contact.clipping import MOST_CORNERS
from grouser.contact.pairs import pair_types

BLOCK = 4  # lines of a section that share a box
ARC = 4  # sectors that make a patch with a block
ARCS = 4  # such patches that are looked at together first
SMOOTH, JOINT, HARD = 0, 1, 2  # a sample: of a smooth curve, where lines meet nearly straight, a corner
ACTIVE, MAPPED = range(2)  # columns of Elements.counts
COUNTS = 2
LISTED, STALE, ASLEEP, TESTS, SEARCHES = range(5)  # columns of Lists.counts
LIST_COUNTS = 5


@cache
def revolution_types(name: str) -> SimpleNamespace:
    shared = pair_types(name)
    p, Contact, Ends = shared.precision, shared.Contact, shared.Ends
    real, vec2, vec3, vec4, mat33 = p.real, p.vec2, p.vec3, p.vec4, p.mat33

    @wp.struct
    class Line:
        """A line of a section, from one sample to the next, and the curve over it."""

        point: vec2  # [m] r, z where it begins
        way: vec2  # [m] from there to its end
        along: vec2  # its direction
        normal: vec2  # outward
        start: vec2  # normal of the curve at its start and end
        end: vec2
        tilt: vec2  # [m] slope of the curve against the line at both ends, times the length
        corner: vec2  # normal at its first sample and at its last, where they are nearest to a point
        far_corner: vec2
        speed: vec2  # [m/s] of the shape itself at its first sample, and the difference to its last
        more_speed: vec2
        length: real  # [m]
        bend: real  # [1/m] curvature, above 0 where it is convex
        sign: real  # 1 outer, -1 inner
        hard: wp.int32  # 1: its first sample is a corner
        far_hard: wp.int32
        edge: wp.int32  # 1: the surface ends at its first sample
        far_edge: wp.int32
        layer: wp.int32

    @wp.struct
    class Sections:
        """Profiles one after another, each in the half plane (r, z) of its own axis. Line k leads from sample k on."""

        first: wp.array(dtype=wp.int32)  # (surface + 1,) in samples
        first_block: wp.array(dtype=wp.int32)  # (surface + 1,)
        sign: wp.array(dtype=real)  # (surface,) 1 outer, -1 inner
        edge: wp.array2d(dtype=wp.int32)  # (surface, 2) 1: it ends at its first, last sample; 0: on the axis; -1: ring
        layer: wp.array(dtype=wp.int32)  # (sample,) of the line that begins there
        curved: wp.array(dtype=wp.int32)  # (sample,) 1: the line that begins there is the chord of a curve
        point: wp.array2d(dtype=vec2)  # [m], (world, sample) r, z
        speed: wp.array2d(dtype=vec2)  # [m/s], (world, sample) of the shape itself
        before: wp.array2d(dtype=vec2)  # [m], (world, sample) samples for which all that follows was found
        before_speed: wp.array2d(dtype=vec2)
        wander: wp.array2d(dtype=real)  # [m], (world, surface) way its samples have gone since the start
        height: wp.array2d(dtype=real)  # [m], (world, surface) how far its curves are from their lines at most
        corner: wp.array2d(dtype=vec2)  # (world, sample) normal
        kind: wp.array2d(dtype=wp.int32)  # (world, sample) SMOOTH, JOINT or HARD
        line: wp.array2d(dtype=Line)  # (world, sample)
        box: wp.array2d(dtype=vec4)  # [m], (world, block) least r, z, greatest r, z

    @wp.struct
    class Rounds:
        """How surfaces sit on their bodies and are cut round their axes."""

        sectors: wp.array(dtype=wp.int32)  # (surface,)
        refine: wp.array(dtype=wp.int32)  # (surface,) parts of a side of an element at the border
        first_angle: wp.array(dtype=wp.int32)  # (surface,)
        angle: wp.array(dtype=vec2)  # cos, sin; of every sector its middle, then those of its `refine` parts
        mount: wp.array(dtype=vec3)  # [m], (surface,) origin in the body's axes
        mount_turn: wp.array(dtype=mat33)  # (surface,) its axes in the body's

    @wp.struct
    class Pairs:
        """Who may touch whom. The first surface carries the elements, they are mapped to the second."""

        ends: Ends
        surface: wp.array2d(dtype=wp.int32)  # (pair, 2)
        radius: wp.array(dtype=real)  # [m], (pair,) of the first surface about its origin
        margin: wp.array(dtype=real)  # [m], (pair,) of motion a list of near elements lasts for
        reach: wp.array(dtype=real)  # [m], (pair,) depth up to which contact is looked for
        first_contact: wp.array(dtype=wp.int32)  # (pair,) in contacts: layer of the first x layer of the second
        layers: wp.array(dtype=wp.int32)  # (pair,) number of layers of the second surface
        contacts: wp.array(dtype=Contact)
        first_element: wp.array(dtype=wp.int32)  # (pair + 1,)
        lanes: wp.int32  # threads that share a pair

    @wp.struct
    class Lists:
        """Elements near the other surface, found anew when a pair has moved on; what a step gives does not depend on
        when that was. Element = line x sectors + sector."""

        counts: wp.array3d(dtype=wp.int32)  # (world, pair, LIST_COUNTS)
        position: wp.array2d(dtype=vec3)  # (world, pair) where the list was made
        rotation: wp.array2d(dtype=mat33)
        wander: wp.array2d(dtype=real)  # [m], (world, pair) of both sections then
        moved: wp.array2d(dtype=real)  # [m], (world, pair) at most, since
        clear: wp.array2d(dtype=real)  # [m], (world, pair) of motion in which nothing can come to touch
        clear_position: wp.array2d(dtype=vec3)  # (world, pair) from this pose on
        clear_rotation: wp.array2d(dtype=mat33)
        clear_wander: wp.array2d(dtype=real)
        element: wp.array2d(dtype=wp.int32)  # (world, slot)
        first: wp.array2d(dtype=wp.int32)  # (world, slot) lines of the other section it can be nearest to
        last: wp.array2d(dtype=wp.int32)
        gap: wp.array2d(dtype=real)  # [m], (world, slot) it was at least this far apart when the list was made

    @wp.struct
    class Elements:
        """Elements in contact, side by side, and the stick points of all."""

        counts: wp.array3d(dtype=wp.int32)  # (world, pair, COUNTS)
        tick: wp.array(dtype=wp.int32)  # (world,) steps committed
        active: wp.array2d(dtype=wp.int32)  # (world, slot) element
        area: wp.array2d(dtype=real)  # [m^2], (world, slot) in contact
        load: wp.array2d(dtype=real)  # [N], (world, slot) normal
        normal: wp.array2d(dtype=vec3)  # (world, slot) outward from the second surface, its axes
        centre: wp.array2d(dtype=vec3)  # [m], (world, slot) of the area in contact, second's axes
        carry: wp.array2d(dtype=vec3)  # [m/s], (world, slot) at which the second's shape moves there
        tangential: wp.array2d(dtype=vec4)  # (world, slot) c_T A, d_T A, mu_stick F_N, mu_slip F_N
        state: wp.array2d(dtype=wp.int32)  # (world, element) FREE, STUCK or SLIPPING, as of `seen`
        seen: wp.array2d(dtype=wp.int32)  # (world, element) tick at which it was in contact last
        anchor: wp.array2d(dtype=vec3)  # [m], (world, element) where its middle sticks, second's axes

    @wp.struct
    class Frame:
        """Where the first surface stands against the second, in the second's axes, and what a pair has to know."""

        at: vec3  # [m] its origin
        Rx: vec3  # its axes
        Ry: vec3
        Rz: vec3
        velocity: vec3  # [m/s] of its origin
        spin: vec3  # [rad/s]
        centre: vec3  # [m] moments are about
        reach: real  # [m] depth up to which contact is looked for
        slack: real  # [m] how much nearer things may be than lines and poses say
        ahead: real  # [s] the step where it is implicit, else 0
        step_angle: real  # [rad] of a sector
        one: wp.int32  # the surfaces
        two: wp.int32
        first_contact: wp.int32
        layers: wp.int32

    @wp.struct
    class Near:
        """An element that can touch: which lines its points can be nearest to, and how it lies."""

        first: wp.int32
        last: wp.int32
        touches: wp.int32
        gap: real  # [m] at least this far apart; below 0 where it may touch
        deep: real  # 0 where it may be cut by the border, 1 where it lies inside

    @wp.struct
    class Part:
        """A part of an element in contact."""

        area: real  # [m^2]
        point: vec3  # [m] centroid
        depth: real  # [m] there
        peak: real  # [m] greatest depth
        normal: vec3  # outward from the second surface
        facing: real  # cosine between the two surfaces
        velocity: vec3  # [m/s] against the second surface
        drift: vec3  # [m/s] of the second surface's shape
        layer: wp.int32  # of the second surface
        counts: wp.int32  # 1: it is a contact polygon of its own

    @wp.struct
    class Touch:
        """Sums of an element."""

        pushed: wp.int32  # 1: the wrench or the block is not nil
        force: vec3  # [N] on the first surface
        moment: vec3  # [N m] about Frame.centre
        weight: real  # [kg] of the last part, in B
        area: real  # [m^2]
        middle: vec3  # [m^3] area times centroid
        load: real  # [N] normal
        pressed: vec3  # [N] load times normal
        carried: vec3  # load times drift
        tangential: vec4  # c_T A, d_T A, mu_stick F_N, mu_slip F_N
        stiffness: real  # [N/m] normal
        deepest: real  # [m]
        polygons: wp.int32
        flags: wp.int32

    @wp.struct
    class Block:
        """Parts of B: force by velocity, force by spin, torque by spin."""

        push: mat33
        mixed: mat33
        turn: mat33

    return SimpleNamespace(
        precision=p, polygon=wp.types.vector(MOST_CORNERS, real), Contact=Contact, Ends=Ends, Sections=Sections,
        Rounds=Rounds, Pairs=Pairs, Lists=Lists, Places=shared.Places, Elements=Elements, Sums=shared.Sums,
        Frame=Frame, Line=Line, Near=Near, Part=Part, Touch=Touch, Block=Block,
    )  # fmt: skip
