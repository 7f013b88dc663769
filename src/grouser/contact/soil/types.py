"""Device structs of the soil: constants and options, bodies, and the arrays of a step in groups by who writes them.

A slot is one body of one world: slot = world * bodies + body. A node of the window of a slot has the number
k = (slot * side + row) * side + column, row and column in the window.

Which stage writes which group (`stages.py` has their order):

    Placement     place                      where the body is, how it moves, what it spans
    Window        gather, displace, erode    the nodes of soil round it: levels and marks
    Skin          raster                     the lower surface of the body over these nodes
    Vertices      place, shear               vertices of the body in grid coordinates, their shear state
    Points        displace                   what points of small shapes have pressed, their shear state
    Displacement  displace                   contact, sinkage, spoil of the step
    Slides        erode                      pairs of nodes that are too steep
    Prediction    predict, force             the end of the next step
    Energy        force, book                work between the body and the soil
"""

from __future__ import annotations

from typing import Any

import warp as wp

from grouser.contact.soil.layout import (
    BLOCK,
    CHUNK,
    NODE,
    PAIR,
    POINT,
    POINT_CHUNK,
    SHAPE,
    SHEAR_NODE,
    SLOT,
    VERTEX,
    kept,
    laid_out,
    scratch,
)
from grouser.device import array, array2d, struct
from grouser.precision import mat33, quat, real, vec2, vec3, vec4, vec6

FAR = 1.0e30  # height [m] of "no body above this node"
SEEN = wp.constant(real(0.1 * FAR))  # heights below it are those of a body
MANY = 1 << 20  # more rows than any window has
# Marks of a node. Up to CLOSE its soil may slide, from CLOSE to HELD it is in the footprint.
FREE, BORDER, CLOSE, CONTACT, HELD, BARE_NODE = range(6)
# Status codes of a body; `model.py` has their text.
FINE, EDGE, LEFT, WINDOW_FULL, TILES_FULL, FAST, NOT_FINITE, BLOW = range(8)
SHEAR_DISPLACEMENT, SHEAR_LIMIT, NO_SHEAR = range(3)  # shear laws
EAST, WEST, NORTH, SOUTH = range(4)  # components of Skin.reach


def without_gaps(**structs: Any) -> str:
    """Native code that tells the compiler that the arrays of these structs have no gaps between their elements.

    Warp reads the stride of an array at run time; a known one saves a load and a multiplication at every access.
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
    """One soil; symbols of laws.py."""

    k_c: real  # [N/m^(n+1)]
    k_phi: real  # [N/m^(n+2)]
    n: real
    cohesion: real  # [Pa]
    tan_phi: real
    shear_k: real  # [m]
    k_e: real  # [Pa/m]
    per_k_e: real  # [m/Pa]
    damping_time: real  # [s]
    chi: real  # share of the sinkage volume that is compressed
    mu: real  # friction of body on soil; below 0: none given
    tan_repose: real  # slope at which it slides


@struct
class Options:
    """Choices of the model; the same for all bodies and worlds."""

    soils: array[Constants]  # (soil,)
    powers: array2d[vec2]  # (soil, cell) z^n as a table, see pressure.py
    step: array[real]  # [s], (1,)
    sweeps: int  # of erosion in a step, at most; 0: none
    weakest: real  # least tangent of the slope a soil stands at
    margin: int  # nodes of soil round a footprint that may slide, at most
    spare: int  # nodes a window has round the footprint and round soil that slides
    samples: int  # sub-cell points along an axis where pressure varies within a cell
    block: int  # nodes along a block of displaced soil
    spoil: int  # 1: some soil displaces volume (chi < 1)
    loose: int  # 1: loose cover, 0: Krenn et al. 2008, eq. 29 to the letter
    shear_law: int  # SHEAR_DISPLACEMENT, SHEAR_LIMIT or NO_SHEAR
    node_shear: int  # 1: the shear state stays with the soil's nodes, not with the body
    creep_speed: real  # [m/s] regularisation of the pure limit law
    fast: real  # [m] along the ground in a step beyond which results are rough
    hard: real  # [m] the same, down
    blow: real  # change of the downward travel of a step, over the depth, beyond which an impact is rough
    stages: array[int]  # (1,) how many stages of commit run; below all of them only to time them
    several: int  # 1: others may change the ground between commit and evaluate


@struct
class Bulge:
    """How far a triangle of a rounded surface bows out; all but the last are zero where the body is sharp."""

    sag_ab: real  # [m] four times the sag of its edges
    sag_bc: real
    sag_ca: real
    per_area: real  # [1/m^2] one over twice the area


@struct
class Sphere:
    """Holds all points of a chunk, body frame."""

    centre: vec3  # [m]
    radius: real  # [m]


@struct
class Cone:
    """Holds the outward normals of all triangles of a chunk, body frame."""

    axis: vec3  # mean normal
    limit: real  # world z of the axis from which on no triangle looks down


@struct
class Bodies:
    """Surfaces of all bodies, one after another. Constant."""

    rows: array[int]  # (body,) row in motion
    first_vertex: array[int]  # (body + 1,)
    first_triangle: array[int]  # (body + 1,)
    first_vertex_chunk: array[int]  # (body + 1,)
    first_triangle_chunk: array[int]  # (body + 1,)
    first_crease: array[int]  # (body + 1,)
    half: array[vec3]  # [m], (body,) half sides of a box about the frame origin
    edge: array[real]  # [m], (body,) longest edge
    grouser: array[real]  # [m], (body,) height of the grousers
    from_patch: array[int]  # (body,) 1: the width b follows the patch
    vertices: array[vec3]  # [m], (vertex,) body frame
    normals: array[vec3]  # (vertex,) outward, zero at a crease
    lugs: array[real]  # (vertex,) share of the surface round it that carries a grouser
    triangles: array[wp.vec3i]  # (triangle,) vertices, counter-clockwise from outside
    bulge: array[Bulge]  # (triangle,)
    creases: array[wp.vec2i]  # (crease,) vertices
    vertex_spheres: array[Sphere]  # (vertex chunk,)
    triangle_spheres: array[Sphere]  # (triangle chunk,)
    triangle_cones: array[Cone]  # (triangle chunk,)


@struct
class SmallShapes:
    """Shapes of the bodies that are too small for nodes, as points with areas; see small_shapes.py. Constant."""

    first_shape: array[int]  # (body + 1,)
    first_point: array[int]  # (shape + 1,)
    first_point_chunk: array[int]  # (shape + 1,)
    first_rim: array[int]  # (shape + 1,)
    points: array[vec3]  # [m], (point,) body frame
    areas: array[vec3]  # [m^2], (point,) along the outward normal, body frame
    rims: array[vec3]  # [m], (corner,) corners of the shapes, body frame
    point_spheres: array[Sphere]  # (point chunk,)
    across: array[real]  # [m], (shape,) middle one of its three sizes
    least: array[real]  # [m], (shape,) smallest b of k_c/b
    from_patch: array[int]  # (shape,) 1: b follows the patch


@struct
class BodyMotion:
    """Motion of one body at the end of the step, world axes."""

    position: vec3  # [m] of the frame origin
    R: mat33  # body to world
    velocity: vec3  # [m/s]
    angular_velocity: vec3  # [rad/s]


@struct
class MotionArrays:
    """Pose and velocity of all bodies of the engine, `module.Motion`."""

    position: array2d[vec3]  # [m], (world, row)
    rotation: array2d[quat]  # (world, row)
    velocity: array2d[vec3]  # [m/s], (world, row)
    angular_velocity: array2d[vec3]  # [rad/s], (world, row)


@wp.func
def body_motion(motion: MotionArrays, world: int, row: int):
    """Motion of one body."""
    R = wp.quat_to_matrix(motion.rotation[world, row])
    at = motion.position[world, row]
    velocity = motion.velocity[world, row]
    spin = motion.angular_velocity[world, row]
    return BodyMotion(at, R, velocity, spin)  # pyright: ignore[reportCallIssue] device structs take their fields


# ---- elements of the arrays below ------------------------------------------------------------------------


@struct
class Frame:
    """Where the window of a body lies in the grid; no rows: the body is far from the soil."""

    row0: int
    column0: int
    rows: int
    columns: int


@struct
class Box:
    """Nodes from a first to a last row and column, both counted in; empty where last < first."""

    row0: int
    row1: int
    column0: int
    column1: int


EMPTY = (MANY, -1, MANY, -1)  # a Box with no nodes, which widens to anything
ALL = (0, MANY, 0, MANY)


@struct
class Extent:
    """Columns and rows [cells] that the low part of a body spans; empty where last < first."""

    column0: real
    column1: real
    row0: real
    row1: real


@struct
class Travel:
    """How a body moved in the last two steps, and what the next step makes of it."""

    velocity: vec3  # [m/s] at the end of the step
    last_velocity: vec3  # [m/s] a step before
    left_out: real  # [m] `laws.left_out`
    per_unforeseen: real  # [1/m] one over `laws.unforeseen`


@struct
class Contacts:
    """Counts of one footprint."""

    nodes: int  # in contact
    pressed: int  # nodes that points of small shapes press on
    border: int  # free nodes beside the footprint
    edges: int  # sides of its cells that bound it; per-node kernels only
    dug: int  # nodes that slip drags soil off; per-node kernels only


@struct
class Tally:
    """Sums of node heights [m]; times the area of a cell they are volumes."""

    removed: real  # plastic sinkage
    compressed: real  # the part of it that vanished
    moved: real  # change of the surface


@struct
class Spoil:
    """Soil that a block of the footprint displaces; Krenn and Hirzinger 2009, eq. 6-8. Heights of nodes [m]."""

    volume: real  # sum of the three parts
    moment_column: real  # volume times column and row in the window
    moment_row: real
    sunk: real  # goes all round
    pushed: real  # goes ahead of the body (bulldozing)
    dragged: real  # goes along the slip (shear)
    push: vec2  # [m] sum of the directions of what is pushed, columns and rows
    drag: vec2  # the same of what is dragged


@struct
class Deposit:
    """How a block's spoil is shared out over the border nodes."""

    column: real  # centroid of the block, in the window
    row: real
    push: vec2  # directions, see Spoil
    drag: vec2
    even: real  # [m] per unit weight of a node, each part
    ahead: real
    along: real


@struct
class NodeEnd:
    """Body and soil at a node at the end of the step."""

    height: real  # [m] lower surface of the body, FAR where there is none
    depth: real  # [m] of it in the soil, below 0 above it
    yielding: real  # 1: the soil gives way, else 0
    bears: real  # [Pa] pressure at which it does


@struct
class CellLoad:
    """What the soil of one cell does to the body above it; slopes are those of the body's lower surface."""

    pressure: real  # [Pa] mean over the cell
    stiffness: real  # [Pa/m]
    pressure_zx: real  # [Pa] mean of the pressure times the slope along columns
    pressure_zy: real  # [Pa] the same along rows
    covered: real  # share of the cell that is in contact
    zx: real  # slope at the node along columns
    zy: real  # along rows


@struct
class BlockSums:
    """Sums from which the implicit block of a body comes, see implicit.py. Symmetric ones: xx, xy, xz, yy, yz, zz."""

    nn: vec6  # c n n^T
    mn: mat33  # c m n^T
    mm: vec6  # c m m^T
    weight: real  # w
    lever: vec3  # w r
    lever2: vec6  # w r r^T


@struct
class Account:
    """Work between one body and the soil, see energy.py."""

    held: real  # [J] taken from the body less given back: what the soil may give at most
    velocity: vec3  # [m/s] of the body at the start of the step
    angular_velocity: vec3  # [rad/s]
    status: int  # BOOKED or OPEN, see energy.py


# ---- arrays of a step, by who writes them -----------------------------------------------------------------


@laid_out
class Placement:
    """Where each body is and what it spans. Written by placement.py."""

    travel: array[Travel] = kept(SLOT)
    top: array[real] = scratch(SLOT)  # [m] highest soil within the body's reach
    extent: array[Extent] = scratch(SLOT)
    lowest: array[vec3] = kept(SLOT)  # vertex deepest below the undisturbed ground: column, row [cells], height [m]
    sinkage: array[real] = kept(SLOT)  # [m] of that vertex below the undisturbed ground


@laid_out
class Window:
    """Nodes of soil round each body, copied from the tiles. Levels and marks are moved on by every stage of commit."""

    side: int  # nodes along a window
    frame: array[Frame] = kept(SLOT)  # written by `open_window`
    changed: array[int] = scratch(SLOT)  # 1: a stage has changed levels or shear states, which go back to the tiles
    writes_seen: array[int] = kept(SLOT)  # writes to the window's tiles when it was last filled; per-world kernels only
    dirty: array[Box] = kept(SLOT, ALL)  # nodes not as `clear_node` leaves them; per-world kernels only
    soil: array[int] = kept(NODE)  # index of the soil, below 0: bare
    mark: array[int] = kept(NODE)  # FREE, BORDER, ...
    levels: array[vec4] = kept(NODE)  # [m] see terrain/ground.py
    node_shear: array[vec3] = kept(SHEAR_NODE)  # shear state, where nodes keep it


@laid_out
class Skin:
    """Lower surface of each body over the nodes of its window. Written by raster.py."""

    hit: array[Box] = scratch(SLOT, EMPTY)  # nodes below the body
    height: array[real] = kept(NODE)  # [m] of the lower surface, FAR where there is none
    triangle: array[int] = kept(NODE)  # the lowest one over the node
    reach: array[vec4] = kept(NODE)  # [cells] how far the body goes on past its last node east, west, north, south


@laid_out
class Vertices:
    """Vertices of the bodies, which carry the shear state."""

    place: array2d[vec3] = kept(VERTEX, (0.0, 0.0, FAR))  # column, row [cells], height [m]; written by placement.py
    near_soil: array2d[int] = kept(CHUNK)  # 1: the chunk is close to the soil; written by placement.py
    shear: array2d[vec3] = kept(VERTEX)  # shear state s, body frame; written by shear.py


@laid_out
class Points:
    """What points of small shapes keep: a print smaller than a cell has no place on the grid. Written by points.py."""

    point_near: array2d[int] = kept(POINT_CHUNK)  # 1: the chunk is close to the soil
    pressed: array2d[real] = kept(POINT, FAR)  # [m] level of the soil below the point, FAR where that is the grid's
    point_shear: array2d[vec3] = kept(POINT)  # shear state s, body frame
    shape_per_width: array2d[real] = kept(SHAPE)  # [1/m] the 1/b of k_c/b


@laid_out
class Displacement:
    """Contact and displaced soil of the step. Written by sinkage.py and spoil.py."""

    blocks: int  # blocks along a window, at most
    near: array[Box] = kept(SLOT, EMPTY)  # nodes where the body is in the soil or less than a cell above it
    touched: array[Box] = scratch(SLOT, EMPTY)  # nodes in contact
    contacts: array[Contacts] = scratch(SLOT)
    per_width: array[real] = kept(SLOT)  # [1/m] the 1/b of k_c/b
    tally: array[Tally] = kept(SLOT)  # since the start
    step_tally: array[Tally] = scratch(SLOT)  # of this step; per-node kernels only
    sunk: array[real] = scratch(NODE)  # [m] plastic sinkage
    dug: array[real] = scratch(NODE)  # [m] dragged away by slip
    share: array[real] = scratch(NODE)  # part of the sinkage that is sinkage proper, Krenn and Hirzinger 2009, eq. 6
    border: array[int] = scratch(NODE)  # per slot the border nodes in order, numbered in the window
    border_place: array[vec2] = scratch(NODE)  # their column and row; per-world kernels only
    weights: array[vec3] = scratch(NODE)  # of them for one block's spoil: even, ahead, along; per-world kernels only
    received: array[real] = scratch(NODE)  # [m] of soil they get; per-world kernels only
    deposit: array[Deposit] = scratch(BLOCK)  # per-node kernels only
    displaces: array[int] = scratch(BLOCK)  # 1: the block displaces soil; per-node kernels only


@laid_out
class Slides:
    """Soil that slides. Written by erosion.py; `open_window` clips `slid`."""

    loose: array[Box] = scratch(SLOT)  # nodes looked at first in this step
    moving: array[Box] = scratch(SLOT, EMPTY)  # nodes that did slide in this step
    restless: array[Box] = kept(SLOT, EMPTY)  # nodes that may have become steep in the last step, in the grid
    slid: array[Box] = kept(SLOT, EMPTY)  # nodes that slid while the body has been near, in the grid
    sweeps: array[int] = kept(SLOT)  # made so far, a stamp
    flow: array[real] = scratch(NODE)  # [m] gained or lost in this sweep; zero between sweeps
    pairs: array[int] = scratch(PAIR)  # per slot the pairs that slide in this sweep, see `pair_code`
    steep: array[int] = scratch(NODE)  # in how many of them a node gives and takes; zero between steps
    moved: array[int] = scratch(NODE)  # per slot the nodes that slid in this sweep
    queued: array[int] = kept(NODE)  # stamp of the sweep a node last slid in


@laid_out
class Prediction:
    """Body and soil at the end of the next step. Written by traction.py."""

    end: array[NodeEnd] = scratch(NODE)
    area: array[real] = kept(SLOT)  # [m^2] of the loaded nodes
    loaded: array[int] = scratch(SLOT)  # how many; per-node kernels only
    wrench: array[vec6] = scratch(SLOT)  # [N], [N m] sum over them; per-node kernels only
    sums: array[BlockSums] = scratch(SLOT)  # per-node kernels only


@laid_out
class Energy:
    """Written by energy.py: `held` once a step in commit, the motion in evaluate."""

    account: array[Account] = kept(SLOT)
