"""Device structs of contact between bodies of revolution, for one float type: sections, pairs, elements, sums."""

from functools import cache
from types import SimpleNamespace

import warp as wp

from grouser.contact.clipping import MOST_CORNERS
from grouser.precision import precision

BLOCK = 4  # lines of a section that share a box
ARC = 4  # sectors that make a patch with a block
ARCS = 4  # such patches that are looked at together first
SMOOTH, JOINT, HARD = 0, 1, 2  # a sample: of a smooth curve, where lines meet nearly straight, a corner
ACTIVE, TESTS, QUERIES = range(3)  # columns of Elements.counts
COUNTS = 3
FREE, STUCK, SLIPPING = 0, 1, 2  # states of an element
# kinds of status in order of severity; a code is kind + KINDS * pair
FINE, KAPPA, DEEP, STIFF, LOST = range(5)
KINDS = 8


@cache
def revolution_types(name: str) -> SimpleNamespace:
    p = precision(name)
    real, vec2, vec3, vec4, vec6, mat33, mat66 = p.real, p.vec2, p.vec3, p.vec4, p.vec6, p.mat33, p.mat66

    @wp.struct
    class Contact:
        """Two layers in contact; symbols of penalty.py, per unit of area."""

        c: real  # [Pa/m]
        d: real  # [Pa s/m]
        c_t: real  # [Pa/m]
        d_t: real  # [Pa s/m]
        s_d0: real  # [m]
        mu_stick: real
        mu_slip: real
        thickness: real  # [m] of both layers
        far: wp.int32  # 1: kappa is far from 0

    @wp.struct
    class Sections:
        """Profiles one after another, each in the half plane (r, z) of its own axis. Line k leads from sample k on."""

        first: wp.array(dtype=wp.int32)  # (surface + 1,) in samples
        first_block: wp.array(dtype=wp.int32)  # (surface + 1,)
        sign: wp.array(dtype=real)  # (surface,) 1 outer, -1 inner
        edge: wp.array2d(dtype=wp.int32)  # (surface, 2) 1: it ends at its first, last sample; 0: on the axis; -1: ring
        sectors: wp.array(dtype=wp.int32)  # (surface,)
        first_angle: wp.array(dtype=wp.int32)  # (surface,)
        refine: wp.array(dtype=wp.int32)  # (surface,) parts of a side of an element at the border
        angle: wp.array(dtype=vec2)  # cos, sin; of every sector its middle, two of Gauss's, `refine` middles of parts
        layer: wp.array(dtype=wp.int32)  # (sample,) of the line that begins there
        mount: wp.array(dtype=vec3)  # [m], (surface,) origin in the body's axes
        mount_turn: wp.array(dtype=mat33)  # (surface,) its axes in the body's
        point: wp.array2d(dtype=vec2)  # [m], (world, sample) r, z
        speed: wp.array2d(dtype=vec2)  # [m/s], (world, sample) of the shape itself
        changed: wp.array2d(dtype=wp.int32)  # (world, surface) 1: what follows must be found anew
        along: wp.array2d(dtype=vec2)  # (world, sample) direction of the line
        length: wp.array2d(dtype=real)  # [m]
        curved: wp.array(dtype=wp.int32)  # (sample,) 1: the line that begins there is the chord of a curve
        corner: wp.array2d(dtype=vec2)  # (world, sample) normal
        sharp: wp.array2d(dtype=wp.int32)  # (world, sample) SMOOTH, JOINT or HARD
        start: wp.array2d(dtype=vec2)  # (world, sample) normal of the curve where the line begins
        end: wp.array2d(dtype=vec2)  # and where it ends
        tilt: wp.array2d(dtype=vec2)  # [m] slope of the curve against the line at both ends, times the length
        height: wp.array2d(dtype=real)  # [m], (world, surface) how far its curves are from their lines at most
        bend: wp.array2d(dtype=real)  # [1/m], (world, sample) curvature of the line
        low: wp.array2d(dtype=vec2)  # [m], (world, block) box
        high: wp.array2d(dtype=vec2)

    @wp.struct
    class Pairs:
        """Who may touch whom. The first surface carries the elements, they are mapped to the second."""

        surface: wp.array2d(dtype=wp.int32)  # (pair, 2)
        row: wp.array2d(dtype=wp.int32)  # (pair, 2) in motion, -1 where fixed
        out: wp.array2d(dtype=wp.int32)  # (pair, 2) output row, -1 where fixed
        named: wp.array(dtype=wp.int32)  # (pair,) 0 or 1: which of the two the channels speak of
        both_move: wp.array(dtype=wp.int32)  # (pair,) 1: both move
        radius: wp.array(dtype=real)  # [m], (pair,) of the first surface about its origin
        reach: wp.array(dtype=real)  # [m], (pair,) depth up to which contact is looked for
        stick_speed: wp.array(dtype=real)  # [m/s], (pair,) v_T0
        stiffest: wp.array(dtype=real)  # [N/m], (pair,) for which the step limit was found
        first_contact: wp.array(dtype=wp.int32)  # (pair,) in contacts: layer of the first x layer of the second
        layers: wp.array(dtype=wp.int32)  # (pair,) number of layers of the second surface
        contacts: wp.array(dtype=Contact)
        first_element: wp.array(dtype=wp.int32)  # (pair + 1,)
        step: wp.array(dtype=real)  # [s], (1,)
        lanes: wp.int32  # threads that share a pair

    @wp.struct
    class Places:
        """Pose and velocity of the first surface against the second, in the second's axes, of every pair."""

        position: wp.array2d(dtype=vec3)  # [m], (world, pair)
        rotation: wp.array2d(dtype=mat33)
        velocity: wp.array2d(dtype=vec3)  # [m/s] of the first's origin
        spin: wp.array2d(dtype=vec3)  # [rad/s]
        centre: wp.array2d(dtype=vec3)  # [m] frame origin of the body moments are about
        apart: wp.array2d(dtype=vec3)  # [m] from the second body's frame origin to that of the first, world axes
        world_position: wp.array2d(dtype=vec3)  # [m] of the second surface
        world_rotation: wp.array2d(dtype=mat33)
        twist: wp.array2d(dtype=vec6)  # of the body that is implicit, world axes, when it was evaluated

    @wp.struct
    class Elements:
        """Elements in contact (a list of each pair), and stick points of all. Element = line x sectors + sector."""

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
    class Sums:
        """Of every pair: wrench on the first surface about `Places.centre`, in the second's axes, and what is shown."""

        wrench: wp.array2d(dtype=vec6)  # (world, pair)
        block: wp.array2d(dtype=mat66)
        depth: wp.array2d(dtype=real)  # [m] greatest
        area: wp.array2d(dtype=real)  # [m^2]
        stiffness: wp.array2d(dtype=real)  # [N/m] normal
        polygons: wp.array2d(dtype=wp.int32)
        touched: wp.array2d(dtype=wp.int32)  # 1: the wrench or the block is not nil
        flags: wp.array2d(dtype=wp.int32)  # kinds of status seen, bits
        said: wp.array2d(dtype=wp.int32)  # 1: kappa has been spoken of
        named_wrench: wp.array2d(dtype=vec6)  # on the named body about its frame origin, world axes, as applied
        named_block: wp.array2d(dtype=mat66)
        effective: wp.array2d(dtype=vec6)  # the same as the body really got it over the last step

    return SimpleNamespace(
        precision=p, polygon=wp.types.vector(MOST_CORNERS, real), Contact=Contact, Sections=Sections, Pairs=Pairs,
        Places=Places, Elements=Elements, Sums=Sums,
    )  # fmt: skip
