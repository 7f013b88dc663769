"""Device structs of the soil module, for one float type: constants, bodies, windows."""

from functools import cache
from types import SimpleNamespace
from typing import Any

import warp as wp

from grouser.precision import precision
from grouser.terrain.ground import ground_types

FAR = 1.0e30  # height [m] of "no body above this node"
# marks of a node in a body's window; up to CLOSE its soil may slide, from CLOSE to HELD it is in the footprint
FREE, BORDER, CLOSE, CONTACT, HELD, BARE_NODE = range(6)
# columns of Window.box; boxes are first row, last row, first column, last column, empty where last < first
ROW0, COLUMN0, ROWS, COLUMNS, CONTACTS, BORDERS, CHANGED, EDGES, LOADED = range(9)
HIT = 9  # nodes below the body, in the window
LOOSE = 13  # nodes that may slide in this step, in the window
MOVED_BOX = 17  # nodes that did slide in this step, in the window
RESTLESS = 21  # nodes that may have become steep in the last step, in the grid
SWEEP = 25  # sweeps made so far, a stamp
DUG = 30  # nodes that slip drags soil off
NEAR = 26  # nodes where the body is in the soil or less than a cell above it, in the window
TOUCHED = 31  # nodes in contact, in the window
SEEN = 35  # writes to the window's tiles when it was last filled, fused kernels only
DIRTY = 36  # nodes that are not as `clear_node` left them, in the window, fused kernels only
SLID = 40  # nodes that slid while the body has been near, in the grid
PRESSED = 44  # nodes that points of small shapes press on
BOX = 45
# columns of Window.tally (sums since the start, in metres of node height)
REMOVED, COMPRESSED, MOVED = range(3)
# status codes
FINE, EDGE, LEFT, WINDOW_FULL, TILES_FULL, FAST, NOT_FINITE, BLOW = range(8)
JANOSI, LIMIT, NONE = 0, 1, 2  # shear laws
PARTS = 10  # of a block of displaced soil
SUMS = 31  # that the implicit block of a body comes from


def without_gaps(**structs: Any) -> str:
    """Native code that tells the compiler that the arrays of these structs have no gaps between their elements.

    Warp reads the stride of an array at run time; known ones save a load and a multiplication at every access.
    """
    arrays = [
        (f"{name}.{field}", variable.type.ndim - 1)
        for name, struct in structs.items()
        for field, variable in struct.vars.items()
        if isinstance(variable.type, wp.array)
    ]
    return "\n".join(f"__builtin_assume({a}.strides[{axis}] == (int)sizeof(*{a}.data));" for a, axis in arrays)


@cache
def soil_types(name: str) -> SimpleNamespace:
    p = precision(name)
    real, vec2, vec3, vec4 = p.real, p.vec2, p.vec3, p.vec4
    parts = wp.types.vector(PARTS, real)
    sums = wp.types.vector(SUMS, real)

    @wp.struct
    class Constants:
        """One soil; symbols of laws.py."""

        k_c: real
        k_phi: real
        n: real
        cohesion: real
        tan_phi: real
        shear_k: real
        k_e: real
        per_k_e: real
        damping_time: real
        chi: real
        mu: real  # below 0: none given
        tan_repose: real

    @wp.struct
    class Options:
        """Choices of the model; the same for all bodies and worlds."""

        soils: wp.array(dtype=Constants)
        powers: wp.array2d(dtype=vec2)  # (soil, cell) z^n as a table, see bekker.py
        step: wp.array(dtype=real)  # [s], (1,)
        sweeps: wp.int32  # of erosion in a step, at most; 0: none
        weakest: real  # least tangent of the slope a soil stands at
        margin: wp.int32  # nodes of soil round a footprint that may slide, at most
        spare: wp.int32  # nodes a window has round the footprint and round soil that slides
        samples: wp.int32  # sub-cell points along an axis where pressure varies within a cell
        block: wp.int32  # nodes along a block of displaced soil
        spoil: wp.int32  # 1: some soil displaces volume (chi < 1)
        loose: wp.int32  # 1: loose cover, 0: Krenn et al. 2008, eq. 29
        shear_law: wp.int32
        node_shear: wp.int32  # 1: the shear state stays with the soil's nodes, not with the body
        creep_speed: real  # [m/s] regularisation of the pure limit law
        fast: real  # [m] along the ground in a step beyond which results are rough
        hard: real  # [m] the same, down
        blow: real  # change of the downward travel of a step, over the depth, beyond which an impact is rough
        stages: wp.array(dtype=wp.int32)  # (1,) how many stages of commit run; below all of them only to time them
        several: wp.int32  # 1: others may change the ground between commit and evaluate

    @wp.struct
    class Bodies:
        """Surfaces of all bodies, one after another, and the shear state on their vertices."""

        rows: wp.array(dtype=wp.int32)  # (body,) row in motion
        first_vertex: wp.array(dtype=wp.int32)  # (body + 1,)
        first_triangle: wp.array(dtype=wp.int32)
        first_vertex_chunk: wp.array(dtype=wp.int32)
        first_triangle_chunk: wp.array(dtype=wp.int32)
        first_crease: wp.array(dtype=wp.int32)
        half: wp.array(dtype=vec3)  # [m], (body,) half sides of a box about the frame origin
        edge: wp.array(dtype=real)  # [m], (body,) longest edge
        grouser: wp.array(dtype=real)  # [m], (body,) height of the grousers
        per_width: wp.array2d(dtype=real)  # [1/m], (world, body) the 1/b of k_c/b
        from_patch: wp.array(dtype=wp.int32)  # (body,) 1: b follows the patch
        vertices: wp.array(dtype=vec3)  # [m], body frame
        normals: wp.array(dtype=vec3)
        lugs: wp.array(dtype=real)
        triangles: wp.array(dtype=wp.vec3i)
        bulge: wp.array(dtype=vec4)  # 4 x sag of the edges [m], 1 / (2 area) [1/m^2]
        creases: wp.array(dtype=wp.vec2i)
        vertex_spheres: wp.array(dtype=vec4)  # [m]
        triangle_spheres: wp.array(dtype=vec4)
        triangle_cones: wp.array(dtype=vec4)
        shear: wp.array2d(dtype=vec3)  # (world, vertex) state s, body frame
        placed: wp.array2d(dtype=vec3)  # (world, vertex) column, row [cells], height [m]
        near: wp.array2d(dtype=wp.int32)  # (world, vertex chunk) 1: close to the soil
        # shapes too small for nodes, see small_shapes.py
        first_shape: wp.array(dtype=wp.int32)  # (body + 1,)
        first_point: wp.array(dtype=wp.int32)  # (shape + 1,)
        first_rim: wp.array(dtype=wp.int32)
        points: wp.array(dtype=vec3)  # [m], body frame
        areas: wp.array(dtype=vec3)  # [m^2], (point,) along the outward normal, body frame
        rims: wp.array(dtype=vec3)  # [m], corners of the shapes, body frame
        first_point_chunk: wp.array(dtype=wp.int32)  # (shape + 1,)
        point_spheres: wp.array(dtype=vec4)  # [m], (point chunk,)
        point_near: wp.array2d(dtype=wp.int32)  # (world, point chunk) 1: close to the soil
        shape_across: wp.array(dtype=real)  # [m]
        shape_least: wp.array(dtype=real)  # [m] smallest b of k_c/b
        shape_from_patch: wp.array(dtype=wp.int32)  # 1: b follows the patch
        shape_per_width: wp.array2d(dtype=real)  # [1/m], (world, shape) the 1/b of k_c/b
        pressed: wp.array2d(dtype=real)  # [m], (world, point) level of the soil below it, FAR where that is the grid's
        point_shear: wp.array2d(dtype=vec3)  # (world, point) state s, body frame

    @wp.struct
    class Window:
        """The nodes round one body, copied from the tiles; flat, `side` nodes a row, one part per slot."""

        side: wp.int32
        blocks: wp.int32  # blocks along a side, at most
        box: wp.array2d(dtype=wp.int32)  # (slot, BOX)
        top: wp.array(dtype=real)  # [m], (slot,) highest soil near the body
        extent: wp.array2d(dtype=real)  # (slot, 4) columns and rows the low part of the body spans [cells]
        # (slot, 5) velocity [m/s] and spin [rad/s] now, the same a step ago, then `laws.left_out` [m] and one over
        # `laws.unforeseen` [1/m] of the next step
        motion: wp.array2d(dtype=vec3)
        lowest: wp.array(dtype=vec3)  # (slot,) vertex deepest below the undisturbed ground: column, row, height
        sinkage: wp.array(dtype=real)  # [m], (slot,)
        area: wp.array(dtype=real)  # [m^2], (slot,) of the loaded nodes
        tally: wp.array2d(dtype=real)  # [m], (slot, 3) removed, compressed, moved
        step_tally: wp.array2d(dtype=real)  # [m], (slot, 3) the same in this step, fine kernels only
        soil: wp.array(dtype=wp.int32)
        mark: wp.array(dtype=wp.int32)
        levels: wp.array(dtype=vec4)  # [m] surface, virgin, packed, packed virgin; see terrain/ground.py
        node_shear: wp.array(dtype=vec3)  # shear state of the nodes, where they keep it
        under: wp.array(dtype=real)  # [m] lower surface of the body, FAR where there is none
        triangle: wp.array(dtype=wp.int32)
        reach: wp.array(dtype=vec4)  # how far the body goes on past its last node east, west, north, south [cells]
        end: wp.array(
            dtype=vec4
        )  # at the end of the step: `under` [m], depth [m], how the soil gives way (see traction.py), its pressure [Pa]
        sunk: wp.array(dtype=real)  # [m] plastic sinkage of this step
        dug: wp.array(dtype=real)  # [m] dragged away by slip in this step
        share: wp.array(dtype=real)  # part of it that is sinkage proper, Krenn and Hirzinger 2009, eq. 6
        flow: wp.array(dtype=real)  # [m] gained or lost by sliding in this sweep
        spoil: wp.array(dtype=parts)  # displaced soil of a block
        listed: wp.array(dtype=wp.int32)  # border nodes of a slot, in order
        place: wp.array(dtype=p.vec2)  # column and row of the listed border nodes, fused kernels only
        weights: wp.array(dtype=vec3)  # of the listed border nodes for one block, fused kernels only
        received: wp.array(dtype=real)  # [m] by the listed border nodes, fused kernels only
        pairs: wp.array(
            dtype=wp.int32
        )  # neighbours that slide in this sweep: twice the node, plus 1 if the other is north
        steep: wp.array(dtype=wp.int32)  # (node,) in how many of them it is
        moved: wp.array(dtype=wp.int32)  # nodes that slid in this sweep
        queued: wp.array(dtype=wp.int32)  # (node,) sweep it last slid in
        loaded: wp.array(dtype=wp.int32)  # (block,) 1: it displaces soil, fine kernels only
        wrench_sum: wp.array(dtype=p.vec6)  # (slot,) sums of evaluate, fine kernels only
        block_sum: wp.array(dtype=sums)

    return SimpleNamespace(
        precision=p, ground=ground_types(name), Constants=Constants, Options=Options, Bodies=Bodies,
        Window=Window, parts=parts, sums=sums,
    )  # fmt: skip
