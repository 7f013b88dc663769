"""Device structs of contact between bodies of revolution: sections, pairs, lists, elements."""

from __future__ import annotations

from grouser.contact.pairs import PairBodies
from grouser.contact.penalty import Constants, Friction
from grouser.contact.rigid import Block
from grouser.device import array, array2d, struct
from grouser.precision import mat33, real, vec2, vec3

BLOCK = 4  # number of lines of a section that share a bounding box
ARC = 4  # number of sectors that form a patch with a block of lines
ARCS = 4  # number of such patches that are tested together first
SMOOTH, JOINT, HARD = 0, 1, 2  # kinds of samples: on a smooth curve; lines meet nearly straight; a corner


@struct
class Line:
    """A line of a section, from one sample to the next, and the curve over it. Written by `update_section`."""

    point: vec2  # [m] r, z where it begins
    chord: vec2  # [m] from there to its end
    along: vec2  # its direction
    normal: vec2  # outward
    start: vec2  # normal of the curve at its start
    end: vec2  # normal of the curve at its end
    tilt: vec2  # [m] slope of the curve relative to the line at its two ends, times the length
    corner: vec2  # normal at its first sample, used for points that are nearest to that sample
    far_corner: vec2  # the same at its last sample
    speed: vec2  # [m/s] velocity (r, z) of the shape itself at its first sample
    more_speed: vec2  # [m/s] the same at its last sample, minus `speed`
    length: real  # [m]
    curvature: real  # [1/m] positive if convex
    sign: real  # 1 outer, -1 inner
    hard: int  # 1: its first sample is a corner
    far_hard: int  # 1: its last sample is a corner
    edge: int  # 1: the surface ends at its first sample
    far_edge: int  # 1: the surface ends at its last sample
    layer: int


@struct
class Box:
    """A box in the half plane (r, z)."""

    low: vec2  # [m] smallest r and z
    high: vec2  # [m] largest r and z


@struct
class Sections:
    """Sections of all surfaces, one after another, each in the half plane (r, z) of its axis.

    Line k starts at sample k. The host writes the arrays that are the same in all worlds, and `point` and `speed`.
    `update_section` writes the rest.
    """

    first: array[int]  # (surface + 1,) in samples
    first_block: array[int]  # (surface + 1,)
    sign: array[real]  # (surface,) 1 outer, -1 inner
    edge: array2d[int]  # (surface, 2) 1: it ends at its first, last sample; 0: on the axis; -1: ring
    layer: array[int]  # (sample,) of the line that begins there
    curved: array[int]  # (sample,) 1: the line that begins there is the chord of a curve
    point: array2d[vec2]  # [m], (world, sample) r, z
    speed: array2d[vec2]  # [m/s], (world, sample) velocity of the shape itself
    before: array2d[vec2]  # [m], (world, sample) samples for which the following fields were computed
    before_speed: array2d[vec2]  # [m/s] and their velocities
    path: array2d[real]  # [m], (world, surface) upper bound of the path length of its samples since the start
    height: array2d[real]  # [m], (world, surface) upper bound of the distance of its curves from their lines
    corner: array2d[vec2]  # (world, sample) normal
    kind: array2d[int]  # (world, sample) SMOOTH, JOINT or HARD
    line: array2d[Line]  # (world, sample)
    box: array2d[Box]  # (world, block of lines)


@struct
class Rounds:
    """Position of surfaces on their bodies, and their division around the axis. Written by the host."""

    sectors: array[int]  # (surface,) number of sectors
    refine: array[int]  # (surface,) an element at the border is divided into refine x refine parts
    passes: array[int]  # (surface,) how often: parts still at the border are divided again
    stride: array[int]  # (surface,) entries in `angle` of one sector: 1 + refine + ... + refine^passes
    first_angle: array[int]  # (surface,) first entry in `angle`
    angle: array[vec2]  # cos, sin of the middle of every sector, each followed by those of its parts, pass after pass
    mount: array[vec3]  # [m], (surface,) origin in the body's axes
    mount_turn: array[mat33]  # (surface,) its axes in the body's


@struct
class Pairs:
    """The pairs that may touch. Elements of the first surface are mapped to the second. Written by the host."""

    bodies: PairBodies
    surface: array2d[int]  # (pair, 2)
    radius: array[real]  # [m], (pair,) largest distance of the first surface from its origin
    margin: array[real]  # [m], (pair,) relative motion for which a list stays valid
    reach: array[real]  # [m], (pair,) depth up to which contact is searched
    first_contact: array[int]  # (pair,) first entry in `contacts`: layers of the first x layers of the second
    layers: array[int]  # (pair,) number of layers of the second surface
    contacts: array[Constants]
    first_element: array[int]  # (pair + 1,)
    lanes: int  # number of threads that share a pair


@struct
class ListState:
    """State of one pair's list."""

    stale: int  # 1: it must be rebuilt in this step
    out_of_reach: int  # 1: the pair cannot touch in this step
    tests: int  # patches and elements tested by the last search
    searches: int  # number of searches since the start


@struct
class Lists:
    """Neighbour lists: elements near the other surface. Written by `check_list` and the search.

    The result of a step does not depend on when a list was built. Element = line x sectors + sector.
    """

    state: array2d[ListState]  # (world, pair)
    listed: array2d[int]  # (world, pair) elements on the list
    position: array2d[vec3]  # [m], (world, pair) relative pose for which the list was built
    rotation: array2d[mat33]
    path: array2d[real]  # [m], (world, pair) `Sections.path` of both surfaces at that time
    moved: array2d[real]  # [m], (world, pair) upper bound of the motion since
    clear: array2d[real]  # [m], (world, pair) relative motion during which nothing can touch
    clear_position: array2d[vec3]  # [m], (world, pair) pose from which `clear` is measured
    clear_rotation: array2d[mat33]
    clear_path: array2d[real]  # [m] and path length from which it is measured
    element: array2d[int]  # (world, slot)
    first: array2d[int]  # (world, slot) first line of the other section that can be nearest to it
    last: array2d[int]  # (world, slot) last such line
    gap: array2d[real]  # [m], (world, slot) smallest possible distance when the list was built


@struct
class Elements:
    """Elements in contact, in consecutive slots, and stick points of all. Written by the force and stick stages."""

    active_count: array2d[int]  # (world, pair) elements in contact
    mapped: array2d[int]  # (world, pair) points mapped in the last step
    tick: array[int]  # (world,) steps committed
    active: array2d[int]  # (world, slot) element
    area: array2d[real]  # [m^2], (world, slot) area in contact
    load: array2d[real]  # [N], (world, slot) normal force
    normal: array2d[vec3]  # (world, slot) outward from the second surface, its axes
    centre: array2d[vec3]  # [m], (world, slot) of the area in contact, second's axes
    surface_velocity: array2d[vec3]  # [m/s], (world, slot) velocity of the second's shape itself there
    friction: array2d[Friction]  # (world, slot)
    state: array2d[int]  # (world, element) FREE, STUCK or SLIPPING, as of `seen`
    seen: array2d[int]  # (world, element) tick at which it was last in contact
    anchor: array2d[vec3]  # [m], (world, element) stick point of its middle, second's axes


# ---- values of one thread -------------------------------------------------------------------------------


@struct
class Frame:
    """Pose and motion of the first surface of a pair in this step, in the second's axes, and constants of the pair."""

    at: vec3  # [m] its origin
    Rx: vec3  # its axes
    Ry: vec3
    Rz: vec3  # axis of revolution
    velocity: vec3  # [m/s] of its origin
    angular_velocity: vec3  # [rad/s]
    centre: vec3  # [m] point about which moments are taken
    reach: real  # [m] depth up to which contact is searched
    slack: real  # [m] how much closer the surfaces may be than chords and predicted poses show
    ahead: real  # [s] the step if the contact is implicit, else 0
    step_angle: real  # [rad] angle of a sector
    one: int  # first surface
    two: int  # second surface
    first_contact: int  # see Pairs
    layers: int


@struct
class Near:
    """Relation of an element to the other section: lines that can be nearest to it, and its distance."""

    first: int  # first line
    last: int  # last line
    touches: int  # 1: it can touch
    gap: real  # [m] lower bound of the distance; negative if it may touch
    deep: real  # 0 if the border of the contact may cut it, 1 if it lies inside
    k_s: real  # [1/m] curvature of the gap along the section
    k_p: real  # [1/m] the same around the axis
    bend: real  # [m] how much the depth may differ from its tangent plane within the element
    corner: real  # 1: near a corner of the other section, or too large for its curvature; 0: neither


@struct
class Part:
    """A part of an element in contact."""

    area: real  # [m^2]
    point: vec3  # [m] centroid
    depth: real  # [m] depth at the centroid
    peak: real  # [m] largest depth
    normal: vec3  # outward from the second surface
    facing: real  # cosine between the two surfaces
    velocity: vec3  # [m/s] relative to the second surface
    surface_velocity: vec3  # [m/s] of the second surface's shape itself
    layer: int  # layer of the second surface
    counts: int  # 1: it counts as a contact polygon
    open: int  # 1: some of it may be in contact
    deep: real  # 0 if the border of the contact may cut it, 1 if it lies inside


@struct
class Touch:
    """Sums of an element."""

    touched: int  # 1: the wrench or the block is not zero
    force: vec3  # [N] on the first surface
    moment: vec3  # [N m] about Frame.centre
    weight: real  # [kg] weight of the last part in B
    area: real  # [m^2]
    middle: vec3  # [m^3] area times centroid
    load: real  # [N] normal force
    pressed: vec3  # [N] normal force times normal
    carried: vec3  # [N m/s] normal force times surface velocity
    friction: Friction
    stiffness: real  # [N/m] normal stiffness
    deepest: real  # [m] largest depth
    pressure: real  # [Pa] largest elastic pressure
    polygons: int  # number of contact polygons
    mapped: int  # number of parts mapped
    flags: int  # kinds of status that occurred, as bits


@struct
class Cut:
    """Clipped part of an element: area, and centroid in the element's plane."""

    area: real  # [m^2]
    x: real  # [m] along the section
    y: real  # [m] around the axis


@struct
class Totals:
    """Sums over the elements of one thread."""

    force: vec3  # [N] on the first surface
    moment: vec3  # [N m] about Frame.centre
    block: Block
    area: real  # [m^2] contact area
    stiffness: real  # [N/m] normal stiffness
    depth: real  # [m] largest depth
    pressure: real  # [Pa] largest elastic pressure
    polygons: int  # number of contact polygons
    touched: int  # 1: force or block is not zero
    flags: int  # kinds of status that occurred, as bits
    mapped: int  # number of points mapped
    clear: real  # [m] relative motion during which no element that is apart can touch
