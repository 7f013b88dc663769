"""Device structs that are elements of the soil's arrays; `types.py` has the arrays and who writes them."""

from __future__ import annotations

import warp as wp

from grouser.device import struct
from grouser.precision import mat33, real, vec2, vec3, vec6

MANY = 1 << 20  # more rows than any window has


@struct
class Frame:
    """First row and column and size of a body's window in the grid; `rows` = 0: the body is far from the soil."""

    row0: int
    column0: int
    rows: int
    columns: int


@struct
class Box:
    """Nodes from a first to a last row and column, both inclusive; empty if last < first."""

    row0: int
    row1: int
    column0: int
    column1: int


EMPTY = (MANY, -1, MANY, -1)  # an empty Box; widening it by any box gives that box
ALL = (0, MANY, 0, MANY)  # a Box of all nodes


@struct
class Extent:
    """Columns and rows [cells] that the low part of a body spans; empty if last < first."""

    column0: real
    column1: real
    row0: real
    row1: real


@struct
class Travel:
    """Velocity of a body in the last step, and what the next evaluation derives from them."""

    velocity: vec3  # [m/s] at the end of the step
    yield_offset: real  # [m] `laws.yield_offset`
    per_prediction_error: real  # [1/m] one over `laws.prediction_error`
    far: real  # 1 if its contact travels `Options.part_travel` or more along the ground in a step, 0 below half of that


@struct
class Contacts:
    """Counts of one footprint."""

    nodes: int  # nodes in contact with the body's surface
    pressed: int  # nodes that points of small shapes press on
    border: int  # free nodes next to the footprint
    moves: int  # 1: soil moves in this step; teams only


@struct
class Tally:
    """Sums of node heights [m]. Multiply by the area of a cell to get volumes."""

    removed: real  # plastic sinkage
    compressed: real  # the part of it that was compressed
    moved: real  # change of the surface height


@struct
class Spoil:
    """Soil displaced by a block of the footprint, as sums of node heights [m]; Krenn and Hirzinger 2009, eq. 6-8."""

    volume: real  # sum of the three parts
    moment_column: real  # sums of volume times column and times row in the window
    moment_row: real
    sunk: real  # goes to all sides
    pushed: real  # goes ahead of the body (bulldozing)
    dragged: real  # goes along the slip (shear)
    push: vec2  # [m] mean direction of the pushed soil times its amount, along columns and rows
    drag: vec2  # the same of the dragged soil


@struct
class Deposit:
    """How the spoil of a block is distributed over the border nodes."""

    column: real  # centroid of the block, in the window
    row: real
    push: vec2  # directions, see Spoil
    drag: vec2
    even: real  # [m] height per unit weight of a border node, for soil that goes to all sides
    ahead: real  # the same for pushed soil
    along: real  # the same for dragged soil


@struct
class NodeEnd:
    """Body and soil at a node at the end of the step."""

    height: real  # [m] height of the body's lower surface, FAR where there is none
    depth: real  # [m] depth of the body in the soil, negative above it
    rise: real  # [m/s] speed with which the surface rises over the node at the end of the step
    yielding: real  # 1 if the soil yields, else 0
    yield_pressure: real  # [Pa]
    given_way: real  # [m] fall of the virgin level in the step: soil that is carried away takes it along


@struct
class CellLoad:
    """Load of one cell on the body above it. Slopes are those of the body's lower surface."""

    pressure: real  # [Pa] mean over the cell
    stiffness: real  # [Pa/m] mean over the cell
    pressure_zx: real  # [Pa] mean of the pressure times the slope along columns
    pressure_zy: real  # [Pa] the same along rows
    covered: real  # share of the cell that is in contact
    zx: real  # slope at the node along columns
    zy: real  # along rows
    stored: real  # [J/m^2] elastic energy
    plastic: real  # [J/m^2] work of the pressure on the plastic sinkage of the step
    damped: real  # [J/m^2] work of the damping in the step


@struct
class FaceView:
    """A steep face as its body is turned now. Vectors from the frame origin, world axes."""

    steep: int  # 0: it looks down or up too much to push soil ahead
    normal: vec3  # outward
    ahead: vec3  # horizontal direction in which it looks
    across: vec3  # horizontal, along the face
    middle: vec3  # [m]
    cot_rake: real  # cotangent of the angle between the face and the level ahead; positive: it looks up


@struct
class BlockSums:
    """Sums that give the implicit block of a body, see implicit.py. vec6: symmetric 3 x 3 as xx, xy, xz, yy, yz, zz."""

    nn: vec6  # c n n^T
    mn: mat33  # c m n^T
    mm: vec6  # c m m^T
    weight: real  # w
    lever: vec3  # w r
    lever2: vec6  # w r r^T


@struct
class Account:
    """Work exchanged between one body and the soil, see energy.py. Its sum is float64 as in LossSums."""

    stored_work: wp.float64  # [J] work received from the body minus work returned: the most the soil may return
    velocity: vec3  # [m/s] of the body at the start of the step
    angular_velocity: vec3  # [rad/s]
    change: vec3  # [m/s] change of the velocity in the last step that was booked
    angular_change: vec3  # [rad/s]
    force: vec3  # [N] effective force of that step
    status: int  # NEW, BOOKED or OPEN, see energy.py


@struct
class Losses:
    """Where the work of a body on the soil goes in one step [J], by kind. See losses.py."""

    stored: real  # elastic energy of the soil at the end of the step
    sinkage: real  # plastic work of the pressure on soil that is compressed
    spoil: real  # the same on soil that is displaced
    damping: real  # work of the damping of elastic soil
    shear: real  # work of the shear stress
    faces: real  # work of the force on steep faces


@struct
class LossSums:
    """The same since the start. Float64 in every build: in float32 a long sum would lose its small additions."""

    stored: wp.float64  # elastic energy of the soil now
    sinkage: wp.float64
    spoil: wp.float64
    damping: wp.float64
    shear: wp.float64
    faces: wp.float64


@struct
class StepError:
    """Sums for the estimate of the step's error, see step_error.py."""

    change: real  # [N] over the last steps: change of the force from step to step
    force: real  # [N] the force
    lag: real  # [N] the force times the lag of the soil below a body that travels
    loaded: real  # [s] time under load since the start
    landing_change: real  # [N] the same since the body touched down, until the landing is over
    landing_force: real  # [N]
    since_landing: real  # [s] time since it touched down
    verdict: int  # worst status so far


@struct
class Rebound:
    """A body that a landing throws up again, see rebound.py."""

    peak: real  # [N] largest force of the landing
    change: real  # [N] sum over the steps since then: fall of the force
    force: real  # [N] the force; negative: the soil has sprung back
    contact: real  # [s] time in contact, since it lifted off
    error: real  # relative, of the height of the rebound; 0: it has not lifted off
    left: real  # [m] sinkage at lift-off
    highest: real  # [m] sinkage at the highest place since then
    deepest: real  # [m] largest sinkage after that
    way: vec3  # [m] from the place of lift-off


@struct
class GridError:
    """Sums for the estimate of the grid's error, see grid_error.py."""

    change: real  # [N] over the last steps: force times its estimated error
    force: real  # [N] the force
    loaded: real  # [s] time under load since the start
    verdict: int  # worst so far, 0 to 3
