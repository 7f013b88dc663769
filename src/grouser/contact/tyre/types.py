"""Device structs of tyres: terrain, wheels, states of the wheels, and values of one thread."""

from __future__ import annotations

from grouser.device import array, array2d, struct
from grouser.precision import real, vec2, vec3

ON_GROUND, ON_WALL = 1, 2  # bits of WheelStates.touching


@struct
class Terrain:
    """Heights on a grid, and the slices of a wheel. Written by the host."""

    heights: array2d[real]  # [m], (row, column)
    rise_bound: array2d[real]  # [m], (row, column) most that the ground nearby rises above the tangent plane
    rows: int
    columns: int
    spacing: real  # [m]
    per_spacing: real  # [1/m]
    x0: real  # [m] of column 0
    y0: real  # [m] of row 0
    reach: real  # [m] sideways motion of a wheel by its suspension up to which `rise_bound` holds
    turns: array[vec2]  # (slices + 1,) sine and cosine of the angles of the slices
    half: vec2  # sine and cosine of half a slice
    slices: int  # number of slices of the lower half circle
    refine: int  # 1: search for the exact contact near the best slice


@struct
class Wheel:
    """One wheel: size, suspension and tyre (coefficients as in Pacejka 2006, chapter 4). Written by the host."""

    radius: real  # [m]
    stiffness: real  # [N/m] of the suspension
    saturation: real  # [m] H_sat
    progression: real  # [N/m^2]
    travel: real  # [m] largest travel; steep ground that needs more is a wall
    stop_stiffness: real  # [N/m] of the bump stop beyond it
    compression: real  # [N s/m] damping in compression
    rebound: real  # [N s/m] damping in rebound
    radial_stiffness: real  # [N/m] of the tyre, against walls
    radial_damping: real  # [N s/m]
    load: real  # [N] nominal load F_z0
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
    length_x: real  # [m] relaxation length
    length_y: real  # [m]
    peak: real  # slip at the largest force
    damping: real  # [s] damping of the tread at a standstill
    slow: real  # [m/s] speed below which the wheel counts as standing
    rolling: real  # rolling resistance over load
    load_free: int  # 1: F_x over load does not depend on the load


@struct
class WheelStates:
    """States of the wheels, (world, wheel). Written by `evaluate`; deflection, force and held by `commit`."""

    deflection: array2d[vec2]  # [m] deflection of the tread, longitudinal and lateral
    travel: array2d[real]  # [m] travel of the suspension
    angle: array2d[real]  # [rad] contact angle gamma from the suspension's axis
    arm: array2d[vec3]  # [m] from axle to contact
    along: array2d[vec3]  # direction of F_x
    across: array2d[vec3]  # direction of F_y
    normal: array2d[vec3]  # direction of N
    shift: array2d[vec3]  # [m] h b: from the position of the MuJoCo body to that of the lifted wheel
    slip: array2d[vec2]  # kappa, tan(alpha)
    force: array2d[vec3]  # [N] received forces F_x, F_y, N at the contact with the ground
    point: array2d[vec3]  # [m] contact point, world axes
    wall: array2d[real]  # [N] normal force of a wall
    touching: array2d[int]  # ON_GROUND + ON_WALL
    held: array2d[int]  # `touching` at the last commit


@struct
class WheelPose:
    """Pose and motion of one wheel, lifted by its suspension; world axes."""

    up: vec3  # direction of the suspension
    ahead: vec3  # rolling direction
    across: vec3  # direction of the axle
    axle: vec3  # [m]
    velocity: vec3  # [m/s] of the suspension's end
    angular_velocity: vec3  # [rad/s]
    chassis_angular_velocity: vec3  # [rad/s]


@struct
class Sample:
    """Ground at one point."""

    height: real  # [m]
    slope_x: real
    slope_y: real
    twist: real  # change of the gradient over a cell: 0 if the cell is a plane


@struct
class Crest:
    """A point of the rim where the travel has a local maximum."""

    turn: vec2  # sine and cosine of its angle from the suspension's axis
    travel: real  # [m] travel of the suspension that puts this point on the ground
    is_plane: bool  # whether the ground between the starting point and the crest is one plane


@struct
class Bound:
    """Test that excludes contact at an angle of the rim without a look at the ground there.

    If a sin(gamma) + b cos(gamma) <= c + d h, the rim's point at the angle gamma from the suspension's axis is above
    the ground when the suspension has travelled by h [m]. See `contact_search.tangent_bound`.
    """

    a: real
    b: real
    c: real
    d: real  # [1/m]


@struct
class GroundContact:
    """Contact of a wheel with the ground, carried by the suspension."""

    travel: real  # [m]
    sine: real  # of the contact's angle from the suspension's axis
    cosine: real
    wall_travel: real  # [m] largest travel that a wall would need


@struct
class WallContact:
    """Contact of a wheel with a wall."""

    depth: real  # [m] depth of the rim in the wall, along its radius; 0: no contact
    sine: real  # of the contact's angle from the suspension's axis
    cosine: real


@struct
class Slip:
    """Slip of the tread, including the shifts S_H."""

    along: real
    across: real
    size: real  # resultant
