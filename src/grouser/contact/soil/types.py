"""Device structs of the soil: constants, options, bodies, and the arrays of a step, grouped by who writes them.

A slot is one body of one world: slot = world * bodies + body. A node in the window of a slot has the index
k = slot * nodes + row * side + column, with row and column in the window. With one thread per world windows have room
for side x side nodes; a team of lanes packs the rows of a window without gaps, see `team_window.packed`.

Which stage writes which struct (`stages.py` has their order):

    Placement     place                      position, motion and extent of the body
    Window        gather, displace, erode    soil nodes around the body: levels and marks
    Skin          raster                     height of the body's lower surface over these nodes
    Vertices      place, shear               vertices of the body in grid coordinates, their shear state
    Points        displace                   points of small shapes: depth they have pressed, shear state
    Pushing       displace, push             steep faces: the force that the soil ahead of them bears
    Displacement  displace                   contact, sinkage and spoil of the step
    Slides        erode                      pairs of nodes that are too steep
    Prediction    predict, force             body and soil at the end of the next step
    Energy        force, book                work exchanged between body and soil
"""

from __future__ import annotations

from typing import Any

import warp as wp

from grouser.contact.soil.elements import (
    ALL,
    EMPTY,
    Account,
    BlockSums,
    Box,
    Contacts,
    Deposit,
    Extent,
    Frame,
    GridError,
    Losses,
    LossSums,
    NodeEnd,
    Rebound,
    Spoil,
    StepError,
    Tally,
    Travel,
)
from grouser.contact.soil.layout import (
    BLOCK,
    CHUNK,
    DISPLACE,
    ERODE,
    EVALUATE,
    FACE,
    FACE_BIN,
    FACE_SAMPLE,
    NODE,
    PAIR,
    PER_WORLD,
    POINT,
    POINT_CHUNK,
    SHAPE,
    SHEAR_NODE,
    SLOT,
    TEAMS,
    TOP,
    VERTEX,
    kept,
    laid_out,
    scratch,
)
from grouser.device import array, array2d, struct
from grouser.precision import mat33, quat, real, vec2, vec3, vec4, vec6

FAR = 1.0e30  # [m] height that stands for "no body above this node"
SEEN = wp.constant(real(0.1 * FAR))  # a height below this is that of a body
# Marks of a node. Soil marked FREE, BORDER, AHEAD or CLOSE may slide. CLOSE, CONTACT and HELD are in the footprint.
# AHEAD is soil that a blade pushes: no part of the blade is above it. BESIDE is a node that is not below the body, but
# part of its cell is.
FREE, BORDER, AHEAD, CLOSE, CONTACT, HELD, BESIDE, BARE_NODE = range(8)
RING = 2  # [nodes] farthest that a border node lies from the nodes below the body: one beyond a node marked BESIDE
# Status codes of a body; `model.REASONS` has their text. Codes from TWICE on: `model.verdicts`.
FINE, EDGE, LEFT, WINDOW_FULL, TILES_FULL, NOT_FINITE, TWICE, FIVE_TIMES, TEN_TIMES = range(9)
SHEAR_DISPLACEMENT, SHEAR_LIMIT, NO_SHEAR = range(3)  # shear laws
EAST, WEST, NORTH, SOUTH = range(4)  # components of Skin.reach


def without_gaps(**structs: Any) -> str:
    """Native code that tells the compiler that the arrays of these structs are contiguous along their last axis.

    Warp reads the stride of an array at run time. If the compiler knows it, every access saves a load and a
    multiplication.
    """
    arrays = [
        (f"{name}.{field}", variable.type.ndim - 1)
        for name, struct in structs.items()
        for field, variable in struct.vars.items()
        if hasattr(variable.type, "ndim")
    ]
    return "\n".join(f"__builtin_assume({a}.strides[{axis}] == (int)sizeof(*{a}.data));" for a, axis in arrays)


# ---- what does not change during a run ------------------------------------------------------------------


@struct
class Constants:
    """Constants of one soil, with the symbols of laws.py."""

    k_c: real  # [N/m^(n+1)]
    k_phi: real  # [N/m^(n+2)]
    n: real  # exponent of Bekker's law
    cohesion: real  # [Pa]
    tan_phi: real  # tangent of the friction angle
    shear_k: real  # [m] shear displacement modulus K
    k_e: real  # [Pa/m] elastic stiffness
    per_k_e: real  # [m/Pa] 1 / k_e
    damping_time: real  # [s] damping over stiffness
    chi: real  # share of the sinkage volume that is compressed
    mu: real  # friction coefficient of body on soil that scales the shear curve; negative: not given
    mu_cap: real  # friction coefficient of body on soil that caps the shear curve; negative: not given
    mu_rim: real  # friction coefficient of a rim between lugs: that of body on soil, or of a wall
    largest_shear: real  # largest length of the shear state: 1, less where friction of body on soil caps it
    tan_repose: real  # slope above which the soil slides
    unit_weight: real  # [N/m^3] density times gravity
    phi: real  # [rad] friction angle
    wall_angle: real  # [rad] friction angle between soil and a steep face


@struct
class Options:
    """Options of the model, and the soils."""

    soils: array[Constants]  # (soil,) those of world 0 first, if worlds have soils of their own
    active: array[int]  # (world,) 0: commit leaves this world as it is
    powers: array2d[vec4]  # (soil, cell) table of z^n, see pressure.py
    step: array[real]  # [s], (1,) step size
    sweeps: int  # maximum number of erosion sweeps per step; 0: no erosion
    weakest: array[real]  # (slot,) smallest slope limit (tangent) of the soils of its world
    margin: array[int]  # [nodes], (slot,) distance from a footprint within which soil may slide
    spare: int  # [nodes] extra window around the footprint and around soil that slides
    samples: int  # sub-cell points along an axis where the pressure varies within a cell
    block: int  # [nodes] width of a block of displaced soil
    spoil: int  # 1: some soil displaces volume (chi < 1)
    spoil_share: array[real]  # (slot,) largest share of the pressed volume that is displaced, 1 - chi
    loose: int  # 1: loose cover; 0: Krenn et al. 2008, eq. 29 literally
    shear_law: int  # SHEAR_DISPLACEMENT, SHEAR_LIMIT or NO_SHEAR
    lug_tips: int  # 1: lugs press with points on their tips; 0: they raise the pressure of the rim
    node_shear: int  # 1: soil nodes keep the shear state; 0: the body's vertices do
    digs: int  # 1: soil pushed or dragged away takes its virgin level along; 0: all sinkage leaves it where it was
    creep_speed: real  # [m/s] slip speed below which SHEAR_LIMIT is regularised
    part_travel: real  # [m] a step in which a body travels farther along the ground is committed in parts
    face_interval: real  # [m] advance or change of depth of a face after which its wedge is computed again
    stages: array[int]  # (2,) number of stages of commit and of evaluate to run; fewer than all only to time them
    laps: array[wp.int64]  # (2 + stages,) time spent in each stage, see stage_clock.py
    below: int  # index in `soils` of the soil below the bottom of the soil; negative: hard ground
    shared_ground: int  # 1: other bodies may change the ground between commit and evaluate
    directed_deposit: int  # krenn_stages.py, 1: Krenn and Hirzinger 2009, eq. 10; 0: Krenn et al. 2008, eq. 24 alone
    deposit_exponent: real  # m of Krenn and Hirzinger 2009, eq. 10


@struct
class Bulge:
    """Outward curvature of a triangle of a rounded surface, see `surface.bulges`; sags are zero on a sharp body."""

    sag_ab: real  # [m] four times the sag of each edge
    sag_bc: real
    sag_ca: real
    per_area: real  # [1/m^2] one over twice the area


@struct
class Sphere:
    """Bounding sphere of a chunk, body frame."""

    centre: vec3  # [m]
    radius: real  # [m]


@struct
class Cone:
    """Cone that contains the outward normals of all triangles of a chunk, body frame."""

    axis: vec3  # mean normal
    limit: real  # world z of the axis from which on no triangle faces down


@struct
class Bodies:
    """Surfaces of all bodies, one after another. Constant. `first_*` are start indices, with the end as last entry."""

    rows: array[int]  # (body,) row in `MotionArrays`
    first_vertex: array[int]  # (body + 1,)
    first_triangle: array[int]  # (body + 1,)
    first_vertex_chunk: array[int]  # (body + 1,)
    first_triangle_chunk: array[int]  # (body + 1,)
    first_crease: array[int]  # (body + 1,)
    half: array[vec3]  # [m], (body,) half sides of a bounding box centred at the frame origin
    edge: array[real]  # [m], (body,) longest edge
    grouser: array[real]  # [m], (body,) height of the grousers
    slip_sinkage: array[real]  # (body,) beta of `laws.slip_sinkage`; 0: sinkage by slip follows the velocities
    carried: array[real]  # [m], (body,) thickness of the layer of soil that lugs carry along
    per_pitch: array[real]  # [1/m], (body,) one over the distance of two grousers at their tips; 0: none
    tip_reach: array[real]  # [m], (body,) how far tips that press with points of their own reach out of the surface
    from_patch: array[int]  # (body,) 1: the width b is found from the contact patch
    rounded: array[int]  # (body,) 1: its surface is rounded somewhere
    rolls: array[real]  # [m], (body,) radius of a wheel; 0: it is none
    vertices: array[vec3]  # [m], (vertex,) body frame
    normals: array[vec3]  # (vertex,) outward, zero at a crease
    lugs: array[real]  # (vertex,) share of the surface around it that carries a grouser
    triangles: array[wp.vec3i]  # (triangle,) vertices, counter-clockwise from outside
    bulge: array[Bulge]  # (triangle,)
    creases: array[wp.vec2i]  # (crease,) vertices
    vertex_spheres: array[Sphere]  # (vertex chunk,)
    triangle_spheres: array[Sphere]  # (triangle chunk,)
    triangle_cones: array[Cone]  # (triangle chunk,)


@struct
class Lug:
    """What the points of a shape know of the lug whose tip they are."""

    height: real  # [m] 0: the shape is no lug
    per_pitch: real  # [1/m] one over the distance of two lugs
    share: real  # of the circle of the tips that is tip


@struct
class SmallShapes:
    """Shapes too small for the grid, as points with areas; see small_shapes.py. Constant."""

    first_shape: array[int]  # (body + 1,)
    first_point: array[int]  # (shape + 1,)
    first_point_chunk: array[int]  # (shape + 1,)
    first_rim: array[int]  # (shape + 1,)
    points: array[vec3]  # [m], (point,) body frame
    areas: array[vec3]  # [m^2], (point,) along the outward normal, body frame
    rims: array[vec3]  # [m], (corner,) corners of the shapes, body frame
    point_spheres: array[Sphere]  # (point chunk,)
    across: array[real]  # [m], (shape,) middle one of its three sizes
    least: array[real]  # [m], (shape,) lower bound of b in k_c/b
    lug: array[Lug]  # (shape,)
    from_patch: array[int]  # (shape,) 1: b is found from the contact patch


@struct
class Faces:
    """Steep faces of all bodies, see steep_faces.py. Constant. Body frame."""

    first_face: array[int]  # (body + 1,)
    first_edge: array[int]  # (face + 1,)
    normals: array[vec3]  # (face,) outward
    middles: array[vec3]  # [m], (face,)
    radii: array[real]  # [m], (face,) of a sphere about the middle
    cuts: array[int]  # (face,) what it does to the nodes that it passes: steep_faces.LEAVES, CUTS or BLADE
    spins: array[int]  # (face,) 1: the side of a wheel
    edge_starts: array[vec3]  # [m], (edge,) outline
    edge_ends: array[vec3]  # [m], (edge,)


@struct
class BodyMotion:
    """Motion of one body at the end of the step, world axes."""

    position: vec3  # [m] of the frame origin
    R: mat33  # body to world
    velocity: vec3  # [m/s]
    angular_velocity: vec3  # [rad/s]
    duration: real  # [s] of the step, or of the part of a step, that ends with this motion; stages of commit use it


@struct
class MotionArrays:
    """Pose and velocity of all bodies of the engine, from `module.Motion`."""

    position: array2d[vec3]  # [m], (world, row)
    rotation: array2d[quat]  # (world, row)
    velocity: array2d[vec3]  # [m/s], (world, row)
    angular_velocity: array2d[vec3]  # [rad/s], (world, row)


@wp.func
def body_motion(motion: MotionArrays, world: int, row: int):
    """Motion of one body at the end of the whole step. For its duration see `placement.motion_in_part`."""
    R = wp.quat_to_matrix(motion.rotation[world, row])
    at = motion.position[world, row]
    velocity = motion.velocity[world, row]
    omega = motion.angular_velocity[world, row]
    return BodyMotion(at, R, velocity, omega, real(0.0))  # pyright: ignore[reportCallIssue] device structs take their fields


# ---- arrays of a step, by who writes them -----------------------------------------------------------------


@laid_out
class Placement:
    """Position, motion and extent of each body. Written by placement.py."""

    travel: array[Travel] = kept(SLOT)
    top: array[real] = kept(SLOT)  # [m] highest soil within the body's reach
    below: array[real] = scratch(SLOT)  # [m] highest soil right below it: what lies beside an edge does not press on it
    extent: array[Extent] = scratch(SLOT)
    lowest: array[vec3] = kept(SLOT)  # vertex deepest below the undisturbed ground: column, row [cells], height [m]
    turn: array[int] = scratch(SLOT)  # order among the bodies of a world whose windows overlap; teams only
    parts: array[int] = scratch(SLOT)  # parts in which the soil follows the body through this step
    area: array[Box] = scratch(SLOT)  # nodes of the ground that it may write to in this step; teams: all
    seen: array[Box] = scratch(SLOT)  # nodes of the ground that its faces may look at besides; teams: all
    sinkage: array[real] = kept(SLOT)  # [m] of that vertex below the undisturbed ground


@laid_out
class Window:
    """Soil nodes around each body, copied from the tiles. The stages of commit change levels and marks."""

    side: int  # nodes from a row of a window to the next, and the most that a row may have
    nodes: int  # room for nodes in each window
    frame: array[Frame] = kept(SLOT)  # written by `choose_window`
    filled: array[Frame] = kept(SLOT)  # the frame whose nodes the window holds; teams only
    changed: array[int] = scratch(SLOT)  # 1: a stage has changed levels or shear states, which go back to the tiles
    writes_seen: array[int] = kept(SLOT)  # writes to the window's tiles when last copied; per-world kernels only
    written: array[Box] = kept(SLOT, EMPTY)  # grid nodes that the last commit wrote to the tiles; teams only
    dirty: array[Box] = kept(SLOT, ALL)  # nodes written since the last `clear_window`; per-world kernels only
    soil: array[int] = kept(NODE)  # index of the soil, negative: bare
    mark: array[int] = kept(NODE)  # FREE, BORDER, ...
    levels: array[vec4] = kept(NODE)  # [m] see terrain/ground.py
    node_shear: array[vec3] = kept(SHEAR_NODE)  # shear state, where nodes keep it


@laid_out
class Skin:
    """Lower surface of each body over the nodes of its window. Written by raster.py."""

    hit: array[Box] = scratch(SLOT, EMPTY)  # nodes below the body
    height: array[real] = kept(NODE)  # [m] of the lower surface, FAR where there is none
    triangle: array[int] = kept(NODE)  # the lowest one over the node
    reach: array[vec4] = kept(NODE)  # [cells] how far the body extends past its last node east, west, north, south


@laid_out
class Vertices:
    """Vertices of the bodies, which carry the shear state."""

    place: array2d[vec3] = kept(VERTEX, (0.0, 0.0, FAR))  # column, row [cells], height [m]; written by placement.py
    near_soil: array2d[int] = kept(CHUNK)  # 1: the chunk is close to the soil; written by placement.py
    shear: array2d[vec3] = kept(VERTEX)  # shear state s, body frame; written by shear.py


@laid_out
class Points:
    """State of the points of small shapes, whose footprints are too small for the grid. Written by points.py."""

    point_near: array2d[int] = kept(POINT_CHUNK)  # 1: the chunk is close to the soil
    pressed: array2d[real] = kept(POINT, FAR)  # [m] level to which the point has pressed the soil; FAR: not pressed
    point_shear: array2d[vec3] = kept(POINT)  # shear state s, body frame
    shape_per_width: array2d[real] = kept(SHAPE)  # [1/m] the 1/b of k_c/b
    shape_bottom: array2d[real] = kept(SHAPE, FAR)  # [m] lowest level to which its points have pressed the soil
    shape_rim: array2d[real] = kept(SHAPE)  # [m] of its highest downward point above the frame origin


@laid_out
class Pushing:
    """State of the steep faces of each world. Written by faces.py."""

    target: array2d[real] = kept(FACE)  # [N] force that the soil ahead can bear
    mobilised: array2d[real] = kept(FACE)  # [N] force at the farthest place of the face
    gap: array2d[real] = kept(FACE)  # [m] how far the face has drawn back from there
    depth: array2d[real] = kept(FACE)  # [m] mean depth of the toe below the soil; 0: not in the soil
    length: array2d[real] = kept(FACE)  # [m] of the part of the toe that is in the soil
    cot: array2d[real] = kept(FACE)  # cotangent of the slip plane
    at: array2d[vec3] = kept(FACE)  # [m] where the force acts, body frame
    wall: array2d[real] = kept(FACE)  # [rad] angle of the wall friction
    since: array2d[real] = kept(FACE)  # [m] motion since `target` was found
    unswept: array2d[real] = kept(FACE)  # [m] advance since nodes were cut
    seen_tile: array2d[int] = kept(TOP)  # tile whose top is known, counted from 1
    seen_stamp: array2d[int] = kept(TOP)  # number of times it had been written then
    seen_top: array2d[real] = kept(TOP)  # [m] height that none of its nodes exceeds
    swept: array[Box] = scratch(SLOT, EMPTY)  # nodes that faces have cut or held in this step
    toe: array2d[real] = scratch(FACE_SAMPLE)  # [m] heights along the toe of each face
    columns: array2d[vec6] = scratch(FACE_BIN)  # sums over columns of soil for each trial plane


@laid_out
class Displacement:
    """Contact and displaced soil of the step. Written by sinkage.py and spoil.py."""

    blocks: int  # room for blocks of each slot
    near: array[Box] = kept(SLOT, EMPTY)  # nodes where the body is in the soil or less than a cell above it
    touched: array[Box] = scratch(SLOT, EMPTY)  # nodes in contact
    contacts: array[Contacts] = scratch(SLOT)
    per_width: array[real] = kept(SLOT)  # [1/m] the 1/b of k_c/b
    tally: array[Tally] = kept(SLOT)  # sums since the start
    step_tally: array[Tally] = scratch(SLOT)  # sums of this step; teams only
    sunk: array[real] = scratch(NODE, stage=DISPLACE)  # [m] plastic sinkage
    dug: array[real] = scratch(NODE, stage=DISPLACE)  # [m] dragged away by slip
    weakened: array[real] = scratch(NODE, stage=DISPLACE)  # [m] fall of the virgin level by slip
    excess: array[vec6] = scratch(NODE, stage=DISPLACE)  # [m] of sunk, dug; to east, west, north, south
    share: array[real] = scratch(NODE, stage=DISPLACE)  # of downward motion, Krenn and Hirzinger 2009, eq. 6
    border: array[int] = scratch(NODE, stage=DISPLACE)  # list of the border nodes of each slot, in the window
    border_place: array[vec2] = scratch(NODE, only=PER_WORLD)  # their column and row
    weights: array[vec3] = scratch(NODE, only=PER_WORLD)  # their weights for one block: even, ahead, along
    received: array[real] = scratch(NODE, only=PER_WORLD)  # [m] height of soil they receive
    deposit: array[Deposit] = scratch(BLOCK, only=TEAMS, stage=DISPLACE)  # how the border shares it
    spoil: array[Spoil] = scratch(BLOCK, only=TEAMS, stage=DISPLACE)  # soil that each block displaces


@laid_out
class Slides:
    """Soil that slides. Written by erosion.py; `choose_window` clips `slid`."""

    loose: array[Box] = scratch(SLOT)  # nodes to check first in this step
    moving: array[Box] = scratch(SLOT, EMPTY)  # nodes that slid in this step
    recheck: array[Box] = kept(SLOT, EMPTY)  # nodes that the last step may have made too steep, grid indices
    slid: array[Box] = kept(SLOT, EMPTY)  # nodes that slid while the body has been near, grid indices
    sweeps: array[int] = kept(SLOT)  # number of sweeps so far, used as a stamp
    flow: array[real] = scratch(NODE, only=PER_WORLD)  # [m] height gained or lost in this sweep; zero between sweeps
    pair_flow: array[real] = scratch(PAIR, only=TEAMS, stage=ERODE)  # [m] height that slides in each pair
    pairs: array[int] = scratch(PAIR, stage=ERODE)  # list of the pairs that slide in this sweep, see `pair_code`
    steep: array[int] = scratch(NODE)  # number of pairs in which a node gives and takes; zero between steps
    moved: array[int] = scratch(NODE, stage=ERODE)  # list of the nodes of each slot that slid in this sweep
    queued: array[int] = kept(NODE)  # stamp of the sweep in which a node last slid


@laid_out
class Prediction:
    """Body and soil at the end of the next step. Written by traction.py."""

    end: array[NodeEnd] = scratch(NODE, stage=EVALUATE)
    area: array[real] = kept(SLOT)  # [m^2] area of the loaded nodes and points
    nodes: array[int] = scratch(NODE, only=TEAMS, stage=EVALUATE)  # list of the loaded nodes, in the window
    loaded: array[int] = scratch(SLOT)  # number of loaded nodes
    wrench: array[vec6] = scratch(SLOT)  # [N], [N m] sum over the loaded nodes
    sums: array[BlockSums] = scratch(SLOT)  # of the loaded nodes
    losses: array[Losses] = scratch(SLOT)  # of the loaded nodes


@laid_out
class Energy:
    """Energy accounts. Written by energy.py: `stored_work` once per step in commit, the motion in evaluate."""

    account: array[Account] = kept(SLOT)
    error: array[StepError] = kept(SLOT)  # written by step_error.py in commit
    rebound: array[Rebound] = kept(SLOT)  # written by rebound.py in commit
    grid: array[GridError] = kept(SLOT)  # written by grid_error.py in commit
    work: array[wp.float64] = kept(SLOT)  # [J] work received from the body since the start; written by losses.py
    lost: array[LossSums] = kept(SLOT)  # where it went; written by losses.py in commit
    losing: array[Losses] = kept(SLOT)  # the same foreseen for the next step; written in evaluate
    foreseen: array[real] = kept(SLOT)  # [J] work foreseen for the next step; written in evaluate
