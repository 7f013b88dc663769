"""Device structs of tyres: terrain, wheels, what they are doing, and values of one thread."""

from __future__ import annotations

from grouser.device import array, array2d, struct
from grouser.precision import real, vec2, vec3

ON_GROUND, ON_WALL = 1, 2  # bits of WheelStates.touching


@struct
class Terrain:
    """Heights on a grid, and the slices of a wheel. Written by the host."""

    heights: array2d[real]  # [m], (row, column)
    rise_bound: array2d[real]  # [m], (row, column) that ground around rises at most over the tangent
    rows: int
    columns: int
    spacing: real  # [m]
    per_spacing: real  # [1/m]
    x0: real  # [m] of column 0
    y0: real  # [m] of row 0
    reach: real  # [m] that the suspension's travel may take a wheel aside where `rise_bound` is to hold
    turns: array[vec2]  # (slices + 1,) sine and cosine of their angles
    half: vec2  # sine and cosine of half a slice
    slices: int  # of the lower half circle
    refine: int  # 1: look round the best slice for the crest


@struct
class Wheel:
    """One wheel: its size, suspension and tyre (coefficients as in Pacejka 2006, chapter 4). Written by the host."""

    radius: real  # [m]
    stiffness: real  # [N/m] of the suspension
    saturation: real  # [m] H_sat
    progression: real  # [N/m^2]
    travel: real  # [m] beyond which it is a wall
    compression: real  # [N s/m] damping
    rebound: real  # [N s/m]
    radial_stiffness: real  # [N/m] of the tyre, against walls
    radial_damping: real  # [N s/m]
    load: real  # [N] nominal, F_z0
    cx: real
    dx1: real
    dx2: real
    ex1: real
    ex2: real
    ex3: real
    ex4: real
    kx1: real
    kx2: real
    kx3: real
    hx1: real
    hx2: real
    vx1: real
    vx2: real
    cy: real
    dy1: real
    dy2: real
    ey1: real
    ey2: real
    ky1: real
    ky2: real
    hy1: real
    hy2: real
    vy1: real
    vy2: real
    length_x: real  # [m] relaxation
    length_y: real  # [m]
    peak: real  # slip at the peak
    damping: real  # [s] of the tread at a standstill
    slow: real  # [m/s] below which it counts as one
    rolling: real  # resistance over load
    load_free: int  # 1: F_x over load does not depend on the load


@struct
class WheelStates:
    """What the wheels are doing, (world, wheel). Written by `evaluate`; deflection, force and held by `commit`."""

    deflection: array2d[vec2]  # [m] of the tread along and across
    travel: array2d[real]  # [m] of the suspension
    angle: array2d[real]  # [rad] gamma
    arm: array2d[vec3]  # [m] axle to contact
    along: array2d[vec3]  # direction of F_x
    across: array2d[vec3]  # direction of F_y
    normal: array2d[vec3]  # direction of N
    shift: array2d[vec3]  # [m] h b: from where the body is to where the wheel is
    slip: array2d[vec2]  # kappa, tan(alpha)
    force: array2d[vec3]  # [N] F_x, F_y, N really got, at the suspension's contact
    point: array2d[vec3]  # [m] contact, world
    wall: array2d[real]  # [N] of a wall
    touching: array2d[int]  # ON_GROUND + ON_WALL
    held: array2d[int]  # the same at the last commit


@struct
class WheelPose:
    """One wheel where its suspension has it; world axes."""

    up: vec3  # along the suspension
    ahead: vec3  # where it rolls
    across: vec3  # along its axle
    axle: vec3  # [m]
    velocity: vec3  # [m/s] of the suspension's end
    angular_velocity: vec3  # [rad/s]
    chassis_angular_velocity: vec3  # [rad/s]


@struct
class Sample:
    """The ground at a place."""

    height: real  # [m]
    slope_x: real
    slope_y: real
    twist: real  # change of the gradient over a cell: 0 where it is a plane


@struct
class Crest:
    """A place of the rim where the ground asks for the greatest travel."""

    turn: vec2  # sine and cosine of its angle from the suspension's axis
    travel: real  # [m] of the suspension
    is_plane: bool  # whether the ground from where it was found to there is one plane


@struct
class Bound:
    """At travel h the rim is over all ground where a sin + b cos <= c + d h."""

    a: real
    b: real
    c: real
    d: real


@struct
class GroundContact:
    """Where the suspension carries a wheel."""

    travel: real  # [m]
    sine: real  # of the contact's angle from the suspension's axis
    cosine: real
    wall_travel: real  # [m] greatest that a wall would ask for


@struct
class WallContact:
    """Where a wall pushes a wheel."""

    depth: real  # [m] of the rim, along its radius; 0: none
    sine: real  # of the contact's angle from the suspension's axis
    cosine: real


@struct
class Slip:
    """Slip of the tread with the shifts S_H."""

    along: real
    across: real
    size: real  # resultant
