"""Stages `push` and `force`: the passive force of the soil ahead of steep faces.

The force is that of Coulomb's trial wedge (`wedge.py`) through the heights that are there; `face_cutting.py` moves the
soil. Faces that look down by more than `surface.UPRIGHT` press on nodes (`traction.py`) instead, so no part of a body
gets both forces. Coordinates s and l are those of `face_geometry.py`.
"""

from __future__ import annotations

import warp as wp

from grouser.contact.soil import boxes, implicit, team, wedge
from grouser.contact.soil import types as t
from grouser.contact.soil.elements import BlockSums, FaceView
from grouser.contact.soil.face_geometry import (
    SAMPLES,
    face_place,
    may_push,
    node_box,
    normal_speed,
    outline_face,
    plane_at,
    toe_at,
    toe_range,
    view_face,
)
from grouser.contact.soil.types import BodyMotion, Faces, Options, Placement, Pushing
from grouser.device import nonnegative, struct
from grouser.precision import real, vec2, vec3, vec4, vec6
from grouser.terrain.elevation import BARE
from grouser.terrain.ground import SURFACE, soil_at, surface_at
from grouser.terrain.ground import GroundArrays as Ground
from grouser.terrain.resting import AT_REST, REST_STEP, TILE

BINS = 24  # trial planes, at most as many as a team has lanes
IDLE, ADVANCE, WEIGH = range(3)  # what a face has to do in a step
LAST_BIN = BINS - 1
PLANES = wp.constant(real(BINS))
SURELY = wp.constant(real(1.0001 * BINS))  # planes, and a little more than round-off
NEXT = 1.001  # [cells] a node nearer than this is next to the face
FIRST_COT = wp.constant(real(3.0))  # cotangent of the first slip plane: a face that has just met the soil
AGAIN_ALONG = wp.constant(real(0.1))  # motion along the face, over its length, after which the wedge is computed again
AGAIN_IDLE = wp.constant(real(0.1))  # the same over the depth, for a face that mobilises hardly any of its force


# ---- commit: the force that the soil ahead can bear -----------------------------------------------------------


@wp.func
def add_column(push: Pushing, world: int, base: int, per_bin: real, depth: real, away: real, share: real, part: int):
    """Add a column of soil to the first trial plane that passes below its top: sums of depth and distance.

    The column stands `depth` [m] above the toe and `away` [m] from it, and counts by `share`. It carries weight on all
    planes flatter than depth / away. `part` is the pair of sums, 0 to 2.
    """
    if depth > real(0.0) and away * per_bin < PLANES * depth:  # else it is below all planes
        plane = int(away * per_bin / depth)
        q = nonnegative(base + wp.min(plane, LAST_BIN))
        sums = push.columns[world, q]
        sums[2 * part] = sums[2 * part] + share * depth
        sums[2 * part + 1] = sums[2 * part + 1] + share * away
        push.columns[world, q] = sums


@wp.func
def add_columns(push: Pushing, world: int, base: int, per_bin: real, depth: real, away: real, share: real, shift: real):
    """Add a column of soil as it is, and for the area of the plane a higher and a lower one; see `weigh_soil`."""
    add_column(push, world, base, per_bin, depth, away, share, 0)
    if shift > real(0.0):
        add_column(push, world, base, per_bin, depth + shift, away, share, 1)
        add_column(push, world, base, per_bin, depth - shift, away, share, 2)


@struct
class SoilAhead:
    """The soil of a node ahead of a face, as columns between the ends of the face and beside them."""

    depth: real  # [m] above the toe
    away: real  # [m] from the toe
    share: real  # of the cell between the ends of the face; 0: none
    away_beside: real  # [m] from the nearer end of the toe
    share_beside: real  # of the cell beside it, by what of its weight counts; 0: none
    along: real  # [m] place l of the node along the face


@wp.func
def soil_ahead(
    g: Ground, push: Pushing, view: FaceView, world: int, f: int, m: BodyMotion, l0: real, l1: real, reach: real,
    shift: real, brim: vec2, i: int, j: int, surface: real,
):  # fmt: skip
    """Find the columns of soil of a grid node, up to the line of `brim`. Shares are 0 out of reach or below the toe.

    `surface` [m] is the height of the soil there.
    """
    zero = real(0.0)
    half = real(0.5)
    at = face_place(g, m, view, i, j)
    l = at[1]
    toe = toe_at(push, world, f, l0, l1, l)
    x = at[0] - plane_at(view, toe)
    beside = wp.max(wp.max(l - l1, l0 - l), zero)
    if not (x > zero and x * x + beside * beside < reach * reach):  # pyright: ignore[reportOperatorIssue]
        return SoilAhead()
    depth = wp.min(surface - m.position[2] - toe, brim[0] + brim[1] * x)
    if depth + shift <= zero:
        return SoilAhead()
    # Share of the node's cell between the ends of the face; the rest is beside it.
    inside = wp.min(l + half * g.spacing, l1) - wp.max(l - half * g.spacing, l0)  # pyright: ignore[reportOperatorIssue]
    share = wp.clamp(inside * g.per_spacing, zero, real(1.0))
    away = zero
    weight = zero
    if share < real(1.0):
        out = wp.max(beside, half * (real(1.0) - share) * g.spacing)
        away = wp.sqrt(x * x + out * out)  # pyright: ignore[reportOperatorIssue]
        weight = (real(1.0) - share) * x / away
    return SoilAhead(depth, x, share, away, weight, l)


@wp.func
def next_to_face(g: Ground, soil: SoilAhead):
    """Share, share x depth, share x depth^2, share x depth^2 x l of a node next to the face; zero farther away."""
    if soil.away > real(NEXT) * g.spacing or soil.depth <= real(0.0):
        return vec4()
    weighted = soil.share * soil.depth
    return vec4(soil.share, weighted, weighted * soil.depth, weighted * soil.depth * soil.along)


@wp.func
def tile_top(
    g: Ground, push: Pushing, world: int, body: int, bodies: int, tile_row: int, tile_column: int, tile: int
):  # fmt: skip
    """Height [m] that no node of a tile exceeds, found again once the tile has been written. `tile`: its number.

    Each body remembers tops of its own: bodies may be on different threads.
    """
    stamp = int(-1)  # of a tile that is not allocated
    if tile >= 0:
        stamp = g.stamp[world, tile]
    elif tile <= AT_REST:
        stamp = -2 - g.rest_stamp[world, AT_REST - tile]
    code = tile_row * g.table.shape[2] + tile_column + 1  # 0: none has been looked at
    room = wp.max(push.seen_tile.shape[1] // bodies, 1)
    at = (body * room + code % room) % push.seen_tile.shape[1]  # teams remember one tile in all
    if push.seen_tile[world, at] == code and push.seen_stamp[world, at] == stamp:
        return push.seen_top[world, at]
    top = real(-t.FAR)
    for i in range(tile_row * TILE, wp.min(tile_row * TILE + TILE, g.rows)):
        for j in range(tile_column * TILE, wp.min(tile_column * TILE + TILE, g.columns)):
            top = wp.max(top, surface_at(g, world, i, j))
    top += real(REST_STEP)  # levels are rounded when a tile comes to rest
    push.seen_tile[world, at] = code
    push.seen_stamp[world, at] = stamp
    push.seen_top[world, at] = top
    return top


@wp.func
def planes_around(push: Pushing, world: int, f: int):
    """Cotangent of the slip plane of the last time, or of level ground the first time, and of the flattest plane tried.

    The trial planes lie around it.
    """
    cot = push.cot[world, f]
    if push.depth[world, f] == real(0.0):
        cot = FIRST_COT
    return cot, real(1.6) * cot + real(0.5)


@wp.func
def weighed_reach(g: Ground, push: Pushing, world: int, f: int, rise: real):
    """Distance [m] ahead of a face at which soil is weighed. `rise` [m]: of the highest soil above the lowest toe."""
    cot, most = planes_around(push, world, f)
    return most * (wp.max(rise, real(1.2) * push.depth[world, f]) + g.spacing)


@wp.func
def weigh_soil(
    g: Ground, faces: Faces, push: Pushing, place: Placement, view: FaceView, world: int, slot: int, f: int,
    m: BodyMotion, l0: real, l1: real, reach: real, per_bin: real, shift: real, brim: vec2, lowest: real,
):  # fmt: skip
    """Sum the soil ahead of a face for all trial planes. Returns sums over the nodes next to the face, see below.

    The sums are: share, share x depth, share x depth^2, share x depth^2 x l. Beside the ends of the face the plane
    continues as a cone about the end of the toe; of its soil the part along e counts (side wedges, McKyes 1985).
    `shift` [m] is added to and subtracted from the depths, for the area of the plane; zero where no area is needed.
    `lowest` [m] is the lowest height of the toe.
    """
    zero = real(0.0)
    near = vec4()
    bodies = faces.first_face.shape[0] - 1
    body = slot - world * bodies
    base = f * BINS
    for q in range(BINS):
        push.columns[world, base + q] = vec6()
    low, high = toe_range(push, view, world, f)
    # What lies beyond is being changed by other bodies, perhaps at this moment: see `body_groups.find_area`.
    box = boxes.common(node_box(g, m, view, low, high + reach, l0 - reach, l1 + reach), place.seen[slot])
    bottom = m.position[2] + lowest - shift
    nearest = high + real(NEXT) * g.spacing
    if view.cot_rake < real(0.0):  # beyond the ends of its toe the plane of a face that leans ahead is not known
        nearest = real(t.FAR)
    # A step of one column or one row, in the coordinates of the face.
    to_east = g.spacing * vec2(view.ahead[0], view.across[0])
    to_north = g.spacing * vec2(view.ahead[1], view.across[1])
    for tile_row in range(box.row0 // TILE, box.row1 // TILE + 1):
        i0 = wp.max(box.row0, tile_row * TILE)
        i1 = wp.min(box.row1, tile_row * TILE + TILE - 1)
        for tile_column in range(box.column0 // TILE, box.column1 // TILE + 1):
            j0 = wp.max(box.column0, tile_column * TILE)
            j1 = wp.min(box.column1, tile_column * TILE + TILE - 1)
            tile = g.table[world, tile_row, tile_column]
            corner = face_place(g, m, view, i0, j0)
            rows = real(i1 - i0)
            columns = real(j1 - j0)
            # Most tiles within reach stand so low, or so far aside, that no plane passes below their tops.
            least = corner[0] + wp.min(columns * to_east[0], zero) + wp.min(rows * to_north[0], zero)
            low_l = corner[1] + wp.min(columns * to_east[1], zero) + wp.min(rows * to_north[1], zero)
            high_l = corner[1] + wp.max(columns * to_east[1], zero) + wp.max(rows * to_north[1], zero)
            ahead = wp.max(least - high, zero)
            beside = wp.max(wp.max(low_l - l1, l0 - high_l), zero)
            last = j1
            if least > nearest or (view.cot_rake >= zero and beside > g.spacing):
                top = tile_top(g, push, world, body, bodies, tile_row, tile_column, tile)
                if wp.sqrt(ahead * ahead + beside * beside) * per_bin >= SURELY * (top - bottom):
                    last = j0 - 1
            if last >= j0:
                for i in range(i0, i1 + 1):
                    s = corner[0] + real(i - i0) * to_north[0]
                    j = int(j0)
                    while j <= last:
                        surface = real(0.0)
                        if tile >= 0:
                            surface = g.levels[world, tile, i % TILE, j % TILE][SURFACE]
                        else:
                            surface = surface_at(g, world, i, j)
                        # So do most nodes.
                        if s <= nearest or (s - high) * per_bin < SURELY * (surface - bottom):
                            soil = soil_ahead(g, push, view, world, f, m, l0, l1, reach, shift, brim, i, j, surface)
                            if soil.share > zero:
                                add_columns(push, world, base, per_bin, soil.depth, soil.away, soil.share, shift)
                                near += next_to_face(g, soil)
                            if soil.share_beside > zero:
                                add_columns(
                                    push, world, base, per_bin, soil.depth, soil.away_beside, soil.share_beside, shift
                                )
                        s += to_east[0]
                        j += 1
    return near


@wp.func
def weigh_soil_together(
    g: Ground, push: Pushing, view: FaceView, world: int, f: int, m: BodyMotion, l0: real, l1: real, reach: real,
    per_bin: real, shift: real, brim: vec2, lane: int, lanes: int,
):  # fmt: skip
    """The same by a team of lanes. Each lane looks at nodes of its own and sums up one trial plane."""
    low, high = toe_range(push, view, world, f)
    box = node_box(g, m, view, low, high + reach, l0 - reach, l1 + reach)
    width = wp.max(box.column1 - box.column0 + 1, 1)
    nodes = width * wp.max(box.row1 - box.row0 + 1, 0)
    near = vec4()
    sums = vec6()
    base = int(0)
    while base < nodes:
        q = base + lane
        soil = SoilAhead()
        if q < nodes:
            i = box.row0 + q // width
            j = box.column0 + q % width
            soil = soil_ahead(g, push, view, world, f, m, l0, l1, reach, shift, brim, i, j, surface_at(g, world, i, j))
        if soil.share > real(0.0):
            near += next_to_face(g, soil)
        sums = share_columns(sums, per_bin, soil.depth, soil.away, soil.share, shift, lane)
        sums = share_columns(sums, per_bin, soil.depth, soil.away_beside, soil.share_beside, shift, lane)
        base += lanes
    if lane < BINS:
        push.columns[world, f * BINS + lane] = sums
    team.sync()
    return vec4(team.total(near[0]), team.total(near[1]), team.total(near[2]), team.total(near[3]))


@wp.func
def plane_of(per_bin: real, depth: real, away: real, share: real):
    """First trial plane that passes below the top of a column of soil; negative: none does."""
    if share > real(0.0) and depth > real(0.0) and away * per_bin < PLANES * depth:
        return wp.min(int(away * per_bin / depth), LAST_BIN)
    return -1


@wp.func
def share_columns(sums: vec6, per_bin: real, depth: real, away: real, share: real, shift: real, lane: int):
    """Add the columns of all lanes, one each, to the sums of the lanes whose planes they belong to."""
    for part in range(3):
        if part == 0 or shift > real(0.0):
            d = depth
            if part == 1:
                d = depth + shift
            elif part == 2:
                d = depth - shift
            plane = plane_of(per_bin, d, away, share)
            left = team.lanes_where(wp.where(plane >= 0, 1, 0))
            while left != 0:  # in the order of the lanes, which is that of the nodes
                giver = team.lowest_lane(left)
                at = team.int_from_lane(plane, giver)
                by_depth = team.from_lane(share * d, giver)
                by_distance = team.from_lane(share * away, giver)
                if lane == at:
                    sums[2 * part] = sums[2 * part] + by_depth
                    sums[2 * part + 1] = sums[2 * part + 1] + by_distance
                left = left & (left - 1)
    return sums


@wp.func
def weakest_plane(
    g: Ground, push: Pushing, world: int, f: int, per_bin: real, shift: real, extra: real, rake: real,
    unit_weight: real, cohesion: real, phi: real, delta: real,
):  # fmt: skip
    """Least push [N] over all trial planes and the cotangent of that plane. `extra` [m^3] of soil lies on the face."""
    cell = g.spacing * g.spacing
    base = f * BINS
    sums = vec6()
    best = real(wedge.LOCKED)
    at = int(0)
    before = real(wedge.LOCKED)
    after = real(wedge.LOCKED)
    last = real(wedge.LOCKED)
    for q in range(BINS):
        sums += push.columns[world, base + q]
        slope = per_bin / real(q + 1)  # tangent of the plane whose columns are complete now
        volume = cell * (sums[0] - slope * sums[1]) + extra
        rho = wp.atan(slope)
        area = real(0.0)
        if shift > real(0.0):
            # Area in plan view: change of the volume with the depth. Counting nodes instead would jump row by row.
            plan = cell * ((sums[2] - slope * sums[3]) - (sums[4] - slope * sums[5])) / (real(2.0) * shift)
            area = plan / wp.cos(rho)
        p = wedge.passive_force(unit_weight * volume, area, cohesion, phi, delta, rake, rho)
        if p < best:
            best = p
            at = q
            before = last
            after = real(wedge.LOCKED)
        elif q == at + 1:
            after = p
        last = p
    cot = real(at + 1) / per_bin
    if before < real(wedge.LOCKED) and after < real(wedge.LOCKED):
        # Parabola through the best plane and its neighbours.
        bend = before - real(2.0) * best + after
        if bend > real(0.0):
            aside = real(0.5) * (before - after) / bend
            best -= real(0.25) * (before - after) * aside
            cot += aside / per_bin
    return best, cot


@wp.func
def forget_face(push: Pushing, world: int, f: int):
    """Reset a face that is out of the soil."""
    push.target[world, f] = real(0.0)
    push.mobilised[world, f] = real(0.0)
    push.gap[world, f] = real(0.0)
    push.depth[world, f] = real(0.0)
    push.length[world, f] = real(0.0)
    push.since[world, f] = real(0.0)
    push.unswept[world, f] = real(0.0)


@wp.func
def weigh_face(
    g: Ground, o: Options, faces: Faces, push: Pushing, place: Placement, view: FaceView, world: int, slot: int, f: int,
    m: BodyMotion, lane: int, lanes: int,
):  # fmt: skip
    """Find the passive force that the soil ahead of a face can bear, where it acts, and how deep the face is.

    A team of lanes, see team.py, sums up the soil; its first lane does the rest.
    """
    zero = real(0.0)
    outline = vec3()
    if lane == 0:
        outline = outline_face(faces, push, view, world, f, m, place.top[slot] - m.position[2])
    team.sync()
    l0 = team.first(outline[0])
    l1 = team.first(outline[1])
    if l0 >= l1:
        if lane == 0:
            forget_face(push, world, f)
        return
    # The soil is that at the middle of the face.
    row = wp.clamp(int(wp.floor((m.position[1] + view.middle[1] - g.y0) * g.per_spacing)), 0, g.rows - 1)
    column = wp.clamp(int(wp.floor((m.position[0] + view.middle[0] - g.x0) * g.per_spacing)), 0, g.columns - 1)
    index = int(g.first_soil[world])
    if g.base_soil.shape[0] > 1:
        index = soil_at(g, world, row, column)
    if index == BARE:
        if lane == 0:
            forget_face(push, world, f)
        return
    soil = o.soils[nonnegative(index)]
    cot, most = planes_around(push, world, f)
    per_bin = PLANES / most
    lowest = real(t.FAR)
    for q in range(SAMPLES):
        lowest = wp.min(lowest, push.toe[world, f * SAMPLES + q])
    reach = weighed_reach(g, push, world, f, place.top[slot] - m.position[2] - lowest)
    shift = zero
    if soil.cohesion > zero:  # else the area of the plane does not matter
        shift = real(0.5) * g.spacing / cot
    near = vec4()
    # Soil above the slope of repose from the top of the face slides by itself: no plane would carry it.
    height = team.first(outline[2]) - lowest
    brim = vec2(wp.max(height, push.depth[world, f]) + g.spacing, soil.tan_repose)
    if lanes == 1:
        near = weigh_soil(g, faces, push, place, view, world, slot, f, m, l0, l1, reach, per_bin, shift, brim, lowest)
    else:
        near = weigh_soil_together(g, push, view, world, f, m, l0, l1, reach, per_bin, shift, brim, lane, lanes)
    if lane > 0:
        return
    if near[0] <= zero or near[1] <= zero:
        forget_face(push, world, f)
        return
    depth = near[1] / near[0]
    # Soil on a face that looks up lies as high as at the toe, but not above the top of the face.
    on_face = wp.min(depth, height)
    extra = wp.max(view.cot_rake, zero) * (depth - real(0.5) * on_face) * on_face * (l1 - l0)
    rake = wp.atan2(real(1.0), view.cot_rake)
    target, cot = weakest_plane(
        g, push, world, f, per_bin, shift, extra, rake, soil.unit_weight, soil.cohesion, soil.phi, soil.wall_angle
    )
    if depth > height:  # the top of the face is below the surface: soil above it passes over
        target *= real(1.0) - (real(1.0) - height / depth) * (real(1.0) - height / depth)
    l = near[3] / near[2]
    toe = toe_at(push, world, f, l0, l1, l)
    z = toe + wp.min(depth, height) / real(3.0)  # pressure grows with depth: it acts at a third of the height
    point = plane_at(view, z) * view.ahead + l * view.across + vec3(zero, zero, z)
    push.target[world, f] = target
    push.cot[world, f] = cot
    push.depth[world, f] = depth
    push.length[world, f] = l1 - l0
    push.at[world, f] = wp.transpose(m.R) * point
    push.wall[world, f] = soil.wall_angle
    push.since[world, f] = zero


@wp.func
def start_face(
    g: Ground, o: Options, faces: Faces, push: Pushing, place: Placement, view: FaceView, world: int, slot: int, f: int,
    m: BodyMotion,
):  # fmt: skip
    """Find what a face has to do in this step: IDLE, ADVANCE or WEIGH. Resets a face that is out of the soil."""
    if not may_push(faces, push, place, world, slot, f, m):
        if push.depth[world, f] > real(0.0):
            forget_face(push, world, f)
        return IDLE
    if view.steep == 0:
        forget_face(push, world, f)
        return IDLE
    work, since = face_work(o, faces, push, view, world, f, m)
    if work != IDLE:
        push.since[world, f] = since
    return work


@wp.func
def face_work(o: Options, faces: Faces, push: Pushing, view: FaceView, world: int, f: int, m: BodyMotion):
    """What a steep face in the soil has to do in this step, and its motion [m] since its wedge was computed."""
    travel = face_travel(push, view, world, f, m)
    if push.mobilised[world, f] == real(0.0) and travel <= real(0.0):
        return IDLE, real(0.0)  # a face that does not push: the side of a wheel that rolls straight on costs nothing
    # The wedge is computed again after some advance, or when the body has moved down or up: the later, the less of its
    # force the face mobilises, so that the error of the force stays the same. The side of a wheel that wavers a little
    # mobilises a hundredth of it.
    moved = wp.abs(travel) + wp.abs(m.duration * m.velocity[2])  # pyright: ignore[reportOperatorIssue]
    if push.length[world, f] > real(0.0):
        along = travel_along(faces, push, view, world, f, m)
        moved += along * o.face_interval / (AGAIN_ALONG * push.length[world, f])
    since = push.since[world, f] + moved
    again = o.face_interval
    if push.mobilised[world, f] < push.target[world, f]:
        idle = wp.max(AGAIN_IDLE * push.depth[world, f], again)
        again = wp.min(again * push.target[world, f] / wp.max(push.mobilised[world, f], real(1.0e-12)), idle)
    work = int(ADVANCE)
    if push.depth[world, f] == real(0.0) or since > again:
        work = int(WEIGH)
    return work, since


@wp.func
def face_travel(push: Pushing, view: FaceView, world: int, f: int, m: BodyMotion):
    """Advance [m] of a face in the step, along its normal, where its force acts."""
    arm = view.middle
    if push.depth[world, f] > real(0.0):
        arm = m.R * push.at[world, f]
    return m.duration * normal_speed(view, m, arm)


@wp.func
def travel_along(faces: Faces, push: Pushing, view: FaceView, world: int, f: int, m: BodyMotion):
    """Distance [m] by which a face moves along itself over the ground in the step. A wheel goes with its axle."""
    v = m.velocity
    if faces.spins[f] == 0:
        v += wp.cross(m.angular_velocity, m.R * push.at[world, f])
    return m.duration * wp.abs(wp.dot(view.across, v))  # pyright: ignore[reportOperatorIssue]


@wp.func
def advance_face(g: Ground, push: Pushing, world: int, f: int, travel: real, along: real):
    """Advance the mobilised force of a face in the soil by its travel in the step: ahead and `along` itself [m]."""
    if push.depth[world, f] > real(0.0):
        distance = wedge.mobilising_distance(push.depth[world, f], g.spacing)
        mobilised, gap = wedge.leave_behind(push.mobilised[world, f], push.gap[world, f], along, push.length[world, f])
        mobilised, gap = wedge.advance_face(push.target[world, f], mobilised, gap, travel, distance)
        if gap > real(0.0):  # lifted out, the face keeps no more force than the soil ahead can still bear
            mobilised = wp.min(mobilised, push.target[world, f])
        push.mobilised[world, f] = mobilised
        push.gap[world, f] = gap


@wp.func
def move_face(
    g: Ground, o: Options, faces: Faces, push: Pushing, place: Placement, world: int, slot: int, f: int, m: BodyMotion,
    lane: int, lanes: int,
):  # fmt: skip
    """Advance the state of a face by the step that has ended. A team of lanes weighs the soil ahead of it."""
    view = view_face(faces, f, m)
    travel = real(0.0)
    along = real(0.0)
    work = int(0)
    if lane == 0:
        travel = face_travel(push, view, world, f, m)
        if push.length[world, f] > real(0.0):
            along = travel_along(faces, push, view, world, f, m)
        work = start_face(g, o, faces, push, place, view, world, slot, f, m)
    team.sync()
    work = team.most_int(work)
    if work == WEIGH:
        weigh_face(g, o, faces, push, place, view, world, slot, f, m, lane, lanes)
    if work != IDLE and lane == 0:
        advance_face(g, push, world, f, travel, along)
    team.sync()


@wp.func
def move_faces(
    g: Ground, o: Options, faces: Faces, push: Pushing, place: Placement, world: int, body: int, slot: int,
    m: BodyMotion,
):  # fmt: skip
    """Advance all steep faces of a body."""
    for f in range(faces.first_face[body], faces.first_face[body + 1]):
        move_face(g, o, faces, push, place, world, slot, f, m, 0, 1)


# ---- evaluate -----------------------------------------------------------------------------------------------


@wp.func
def joined(force: vec3, moment: vec3):
    """A wrench of force [N] and moment [N m]."""
    return vec6(force[0], force[1], force[2], moment[0], moment[1], moment[2])


@wp.func
def face_force(g: Ground, o: Options, faces: Faces, push: Pushing, world: int, f: int, m: BodyMotion):
    """Wrench and sums of the implicit block of one face at the end of the step."""
    view = view_face(faces, f, m)
    if view.steep == 0 or push.depth[world, f] <= real(0.0):
        return vec6(), BlockSums()
    arm = m.R * push.at[world, f]
    v = m.velocity + wp.cross(m.angular_velocity, arm)
    speed = wp.dot(view.normal, v)
    distance = wedge.mobilising_distance(push.depth[world, f], g.spacing)
    p, weight = wedge.face_push(
        push.target[world, f], push.mobilised[world, f], push.gap[world, f], speed, distance, o.step[0]
    )
    if p <= real(0.0):
        return vec6(), BlockSums()
    up = wp.normalize(vec3(real(0.0), real(0.0), real(1.0)) - view.normal[2] * view.normal)
    sliding = v - speed * view.normal
    if faces.spins[f] == 1:  # how a wheel drags the soil beside it round is not known: it only rises
        sliding = vec3()
    along = wedge.wall_direction(speed, real(1.0) / push.cot[world, f], up, sliding)
    delta = push.wall[world, f]
    force = p * (wp.sin(delta) * along - wp.cos(delta) * view.normal)
    moment = wp.cross(arm, force)
    wrench = joined(force, moment)
    c = wp.cos(delta) * weight
    return wrench, implicit.block_sums(c, view.normal, wp.cross(arm, view.normal), real(0.0), vec3())


@wp.func
def face_forces(g: Ground, o: Options, faces: Faces, push: Pushing, world: int, body: int, m: BodyMotion):
    """Wrench and sums of the implicit block of all steep faces of a body."""
    wrench = vec6()
    sums = BlockSums()
    for f in range(faces.first_face[body], faces.first_face[body + 1]):
        if push.depth[world, f] > real(0.0):
            part, share = face_force(g, o, faces, push, world, f, m)
            wrench += part
            sums = implicit.plus(sums, share)
    return wrench, sums


@wp.func
def has_faces(faces: Faces, body: int):
    """Whether a body has steep faces."""
    return faces.first_face[body + 1] > faces.first_face[body]
