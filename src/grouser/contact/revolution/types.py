"""Device structs of contact between bodies of revolution: sections, pairs, lists, elements."""

from __future__ import annotations

from grouser.contact.pairs import PairBodies
from grouser.contact.penalty import Constants, Friction
from grouser.contact.rigid import Block
from grouser.device import array, array2d, struct
from grouser.precision import mat33, real, vec2, vec3

BLOCK = 4  # lines of a section that share a box
ARC = 4  # sectors that make a patch with a block
ARCS = 4  # such patches that are looked at together first
SMOOTH, JOINT, HARD = 0, 1, 2  # a sample: of a smooth curve, where lines meet nearly straight, a corner


@struct
class Line:
    """A line of a section, from one sample to the next, and the curve over it. Written by `update_section`."""

    point: vec2  # [m] r, z where it begins
    chord: vec2  # [m] from there to its end
    along: vec2  # its direction
    normal: vec2  # outward
    start: vec2  # normal of the curve at its start and end
    end: vec2
    tilt: vec2  # [m] slope of the curve against the line at its two ends, times the length
    corner: vec2  # normal at its first sample, for points that are nearest to it
    far_corner: vec2  # the same at its last sample
    speed: vec2  # [m/s] r, z of the shape itself at its first sample
    more_speed: vec2  # [m/s] by which that at its last sample differs
    length: real  # [m]
    bend: real  # [1/m] curvature, above 0 where it is convex
    sign: real  # 1 outer, -1 inner
    hard: int  # 1: its first sample is a corner
    far_hard: int  # 1: its last sample is a corner
    edge: int  # 1: the surface ends at its first sample
    far_edge: int  # 1: the surface ends at its last sample
    layer: int


@struct
class Box:
    """A box in the half plane (r, z)."""

    low: vec2  # [m] least r and z
    high: vec2  # [m] greatest r and z


@struct
class Sections:
    """Profiles one after another, each in the half plane (r, z) of its own axis. Line k leads from sample k on.

    The host writes what is the same in all worlds, and `point` and `speed`; `update_section` writes the rest.
    """

    first: array[int]  # (surface + 1,) in samples
    first_block: array[int]  # (surface + 1,)
    sign: array[real]  # (surface,) 1 outer, -1 inner
    edge: array2d[int]  # (surface, 2) 1: it ends at its first, last sample; 0: on the axis; -1: ring
    layer: array[int]  # (sample,) of the line that begins there
    curved: array[int]  # (sample,) 1: the line that begins there is the chord of a curve
    point: array2d[vec2]  # [m], (world, sample) r, z
    speed: array2d[vec2]  # [m/s], (world, sample) of the shape itself
    before: array2d[vec2]  # [m], (world, sample) samples for which all that follows was found
    before_speed: array2d[vec2]  # [m/s]
    path: array2d[real]  # [m], (world, surface) path its samples have covered since the start, at most
    height: array2d[real]  # [m], (world, surface) how far its curves are from their lines at most
    corner: array2d[vec2]  # (world, sample) normal
    kind: array2d[int]  # (world, sample) SMOOTH, JOINT or HARD
    line: array2d[Line]  # (world, sample)
    box: array2d[Box]  # (world, block of lines)


@struct
class Rounds:
    """How surfaces sit on their bodies and are divided round their axes. Written by the host."""

    sectors: array[int]  # (surface,)
    refine: array[int]  # (surface,) parts of a side of an element at the border
    first_angle: array[int]  # (surface,)
    angle: array[vec2]  # cos, sin; of every sector its middle, then those of its `refine` parts
    mount: array[vec3]  # [m], (surface,) origin in the body's axes
    mount_turn: array[mat33]  # (surface,) its axes in the body's


@struct
class Pairs:
    """The pairs that may touch. Elements of the first surface are mapped to the second. Written by the host."""

    bodies: PairBodies
    surface: array2d[int]  # (pair, 2)
    radius: array[real]  # [m], (pair,) of the first surface about its origin
    margin: array[real]  # [m], (pair,) of motion a list of near elements lasts for
    reach: array[real]  # [m], (pair,) depth up to which contact is searched
    first_contact: array[int]  # (pair,) in contacts: layer of the first x layer of the second
    layers: array[int]  # (pair,) number of layers of the second surface
    contacts: array[Constants]
    first_element: array[int]  # (pair + 1,)
    lanes: int  # threads that share a pair


@struct
class ListState:
    """What is known about one pair's list."""

    stale: int  # 1: it is made anew in this step
    asleep: int  # 1: the pair cannot touch in this step
    tests: int  # patches and elements looked at by the last search
    searches: int  # lists made since the start


@struct
class Lists:
    """Elements near the other surface, found anew when a pair has moved on. Written by `check_list` and the search.

    The result of a step does not depend on when a list was made. Element = line x sectors + sector.
    """

    state: array2d[ListState]  # (world, pair)
    listed: array2d[int]  # (world, pair) elements on the list
    position: array2d[vec3]  # [m], (world, pair) relative pose for which the list was made
    rotation: array2d[mat33]
    path: array2d[real]  # [m], (world, pair) of both sections then
    moved: array2d[real]  # [m], (world, pair) at most, since
    clear: array2d[real]  # [m], (world, pair) of motion in which nothing can come to touch
    clear_position: array2d[vec3]  # [m], (world, pair) from this pose on
    clear_rotation: array2d[mat33]
    clear_path: array2d[real]  # [m]
    element: array2d[int]  # (world, slot)
    first: array2d[int]  # (world, slot) first line of the other section it can be nearest to
    last: array2d[int]  # (world, slot) last of them
    gap: array2d[real]  # [m], (world, slot) it was at least this far apart when the list was made


@struct
class Elements:
    """Elements in contact, side by side, and the stick points of all. Written by the force and stick stages."""

    active_count: array2d[int]  # (world, pair) elements in contact
    mapped: array2d[int]  # (world, pair) points mapped in the last step
    tick: array[int]  # (world,) steps committed
    active: array2d[int]  # (world, slot) element
    area: array2d[real]  # [m^2], (world, slot) in contact
    load: array2d[real]  # [N], (world, slot) normal
    normal: array2d[vec3]  # (world, slot) outward from the second surface, its axes
    centre: array2d[vec3]  # [m], (world, slot) of the area in contact, second's axes
    surface_velocity: array2d[vec3]  # [m/s], (world, slot) at which the second's shape moves there
    friction: array2d[Friction]  # (world, slot)
    state: array2d[int]  # (world, element) FREE, STUCK or SLIPPING, as of `seen`
    seen: array2d[int]  # (world, element) tick at which it was in contact last
    anchor: array2d[vec3]  # [m], (world, element) where its middle sticks, second's axes


# ---- values of one thread -------------------------------------------------------------------------------


@struct
class Frame:
    """One pair in this step, in the second surface's axes: pose and motion of the first, and what follows from them."""

    at: vec3  # [m] its origin
    Rx: vec3  # its axes
    Ry: vec3
    Rz: vec3  # axis of revolution
    velocity: vec3  # [m/s] of its origin
    angular_velocity: vec3  # [rad/s]
    centre: vec3  # [m] moments are about
    reach: real  # [m] depth up to which contact is searched
    slack: real  # [m] how much nearer things may be than lines and poses say
    ahead: real  # [s] the step where it is implicit, else 0
    step_angle: real  # [rad] of a sector
    one: int  # first surface
    two: int  # second surface
    first_contact: int  # see Pairs
    layers: int


@struct
class Near:
    """An element that can touch: which lines its points can be nearest to, and how it lies."""

    first: int  # first line
    last: int  # last line
    touches: int  # 1: it can touch
    gap: real  # [m] at least this far apart; below 0 where it may touch
    deep: real  # 0 where it may be cut by the border, 1 where it lies inside


@struct
class Part:
    """A part of an element in contact."""

    area: real  # [m^2]
    point: vec3  # [m] centroid
    depth: real  # [m] there
    peak: real  # [m] greatest depth
    normal: vec3  # outward from the second surface
    facing: real  # cosine between the two surfaces
    velocity: vec3  # [m/s] against the second surface
    surface_velocity: vec3  # [m/s] of the second surface's shape itself
    layer: int  # of the second surface
    counts: int  # 1: it is a contact polygon of its own


@struct
class Touch:
    """Sums of an element."""

    touched: int  # 1: the wrench or the block is not zero
    force: vec3  # [N] on the first surface
    moment: vec3  # [N m] about Frame.centre
    weight: real  # [kg] of the last part, in B
    area: real  # [m^2]
    middle: vec3  # [m^3] area times centroid
    load: real  # [N] normal
    pressed: vec3  # [N] load times normal
    carried: vec3  # [N m/s] load times surface velocity
    friction: Friction
    stiffness: real  # [N/m] normal
    deepest: real  # [m]
    polygons: int
    flags: int  # kinds of status, bits


@struct
class Cut:
    """What is left of an element: area and centroid in its own plane."""

    area: real  # [m^2]
    x: real  # [m] along the section
    y: real  # [m] round the axis


@struct
class Totals:
    """Sums over the elements of one thread."""

    force: vec3  # [N] on the first surface
    moment: vec3  # [N m] about Frame.centre
    block: Block
    area: real  # [m^2]
    stiffness: real  # [N/m] normal
    depth: real  # [m] greatest
    polygons: int
    touched: int  # 1: force or block is not zero
    flags: int  # kinds of status, bits
    mapped: int  # points mapped
    clear: real  # [m] of motion in which nothing that is apart can come to touch
