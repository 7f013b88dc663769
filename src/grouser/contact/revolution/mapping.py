"""Map elements of one surface into the (radial, axial) half plane of the other: whether they touch, and how deep."""

from __future__ import annotations

import math

import warp as wp

from grouser.contact import clipping
from grouser.contact.pairs import RelativePoses
from grouser.contact.revolution import laws, section
from grouser.contact.revolution.types import Box, Cut, Frame, Line, Near, Pairs, Part, Rounds, Sections
from grouser.device import array2d, nonnegative
from grouser.precision import area_slack, real, vec2, vec3, vec4

TURN = 2 * math.pi
MARGIN = 1.5  # safety factor on the curvature of an element's depth, which is known at its middle only
TINY = 1e-30  # [m] keeps a quotient finite
WIDER = 1.000001  # factor on a bound that covers round-off


@wp.func
def frame_of(s: Sections, rounds: Rounds, pairs: Pairs, poses: RelativePoses, world: int, pair: int):
    """Collect what all elements of a pair need in this step.

    That is the pose and velocity of the first surface in the axes of the second, the pair's constants, and the
    distances `reach` and `slack` of the search.
    """
    F = Frame()
    R = poses.rotation[world, pair]
    F.at = poses.position[world, pair]
    F.Rx = vec3(R[0, 0], R[1, 0], R[2, 0])
    F.Ry = vec3(R[0, 1], R[1, 1], R[2, 1])
    F.Rz = vec3(R[0, 2], R[1, 2], R[2, 2])
    F.velocity = poses.velocity[world, pair]
    F.angular_velocity = poses.angular_velocity[world, pair]
    F.centre = poses.centre[world, pair]
    F.one = pairs.surface[pair, 0]
    F.two = pairs.surface[pair, 1]
    F.first_contact = pairs.first_contact[pair]
    F.layers = pairs.layers[pair]
    F.step_angle = real(TURN) / real(rounds.sectors[F.one])
    F.reach = pairs.reach[pair]
    # The search measures distances between chords at the predicted pose. The curves over the chords may be closer by
    # their heights. An element of an implicit contact counts also if it touches now and leaves during the step.
    F.slack = s.height[world, F.one] + s.height[world, F.two]
    if pairs.bodies.both_move[pair] == 0:
        F.ahead = pairs.bodies.step[0]
        F.slack += F.ahead * (wp.length(F.velocity) + pairs.radius[pair] * wp.length(F.angular_velocity))
    return F


@wp.func
def in_plane(x: vec3):
    """Image (r, z) of a point in the half plane."""
    return vec2(wp.sqrt(x[0] * x[0] + x[1] * x[1]), x[2])


@wp.func
def radial(x: vec3, r: real):
    """Unit vector from the axis to the point x at radius r."""
    if r > real(0.0):
        w = real(1.0) / r
        return vec3(w * x[0], w * x[1], real(0.0))
    return vec3(real(1.0), real(0.0), real(0.0))


@wp.func
def in_space(m: vec2, e: vec3):
    """A direction (r, z) of the half plane in space; e is the radial unit vector."""
    return vec3(m[0] * e[0], m[0] * e[1], m[1])


@wp.func
def ring_is_near(boxes: array2d[Box], world: int, block: int, first_block: int, last_block: int, F: Frame):
    """Whether the whole ring of a block of lines can come near the other section."""
    ring = laws.ring_box(F.at, F.Rz, boxes[world, block])
    grow = F.reach + F.slack
    for b in range(first_block, last_block):
        if laws.boxes_gap(ring, boxes[world, nonnegative(b)]) <= grow:
            return True
    return False


@wp.func
def patch_is_near(
    lines: array2d[Line], boxes: array2d[Box], world: int, first: int, last: int, first_block: int, block: int, a: vec2,
    sectors: real, F: Frame,
):  # fmt: skip
    """Whether some sectors of a block of lines can touch the other section, from a ball that contains them.

    `a` is cos and sin of their middle angle; all lie within `sectors` sectors of it.
    """
    half = real(0.5)
    box = boxes[world, nonnegative(block)]
    r = half * (box.low[0] + box.high[0])
    z = half * (box.low[1] + box.high[1])
    q = in_plane(F.at + z * F.Rz + r * (a[0] * F.Rx + a[1] * F.Ry))
    wide = box.high[0] * F.step_angle * sectors
    tall = half * (box.high[1] - box.low[1])
    deep = half * (box.high[0] - box.low[0])
    size = wp.sqrt(tall * tall + deep * deep + wide * wide) + F.slack
    line, along, gap2 = section.nearest(lines, boxes, world, first, last, first_block, q, size + F.reach)
    if line < 0:
        return False
    depth, m, past = section.depth_below(lines, world, q, line, along)
    return depth >= -size and past <= size


@wp.func
def middle_of(line: Line, step_angle: real):
    """Middle (r, z) of the elements on a line, half their length and half their largest width [m]."""
    half = real(0.5)
    middle = line.point + half * line.chord + laws.bulge(line.tilt, half) * line.normal
    w = half * step_angle * (middle[0] + half * wp.abs(line.chord[0]))
    return middle, half * line.length, w


@wp.func
def search_element(
    lines: array2d[Line], boxes: array2d[Box], world: int, first: int, last: int, first_block: int, F: Frame,
    line: Line, e_r: vec3, e_p: vec3,
):  # fmt: skip
    """Whether an element can touch within the slack, and which lines can then be nearest to its points."""
    near = Near()
    middle, l, w = middle_of(line, F.step_angle)
    size = wp.sqrt(l * l + w * w) + F.slack
    q = in_plane(F.at + middle[1] * F.Rz + middle[0] * e_r)
    k, along, gap2 = section.nearest(lines, boxes, world, first, last, first_block, q, size + F.reach)
    if k < 0:
        return near
    depth, m2, past = section.depth_below(lines, world, q, k, along)
    if depth < -size or past > size:
        return near
    bound = real(WIDER) * (wp.sqrt(gap2) + real(2.0) * size)
    low, high = section.window(lines, boxes, world, first, last, first_block, q, bound)
    near.first = low
    near.last = high
    near, part = map_middle(lines, world, F, line, near, e_r, e_p)
    return near


@wp.func
def surface_velocity(lines: array2d[Line], world: int, k: int, x: real, e: vec3):
    """Velocity [m/s] of the other section's shape itself, at x [m] along its line k."""
    share = wp.clamp(x / lines[world, k].length, real(0.0), real(1.0))
    return in_space(lines[world, k].speed + share * lines[world, k].more_speed, e)


@wp.func
def map_middle(lines: array2d[Line], world: int, F: Frame, line: Line, near: Near, e_r: vec3, e_p: vec3):
    """Map the middle of an element: whether it touches, how far it lies inside, and the whole element as one part.

    The depth is d + g x - k x^2 / 2 in both directions, where k is the curvature of the gap between the surfaces. Its
    mean is d - k l^2 / 6, and the centre of pressure lies g l^2 / (3 d) off the middle. Near corners and edges of the
    section, and where neighbouring lines are more curved, this expansion is not reliable: there `near.deep` is lower
    and the element is evaluated in parts.
    """
    part = Part()
    zero = real(0.0)
    half = real(0.5)
    middle, l, w = middle_of(line, F.step_angle)
    size = wp.sqrt(l * l + w * w)
    x = F.at + middle[1] * F.Rz + middle[0] * e_r
    q = in_plane(x)
    k, along, gap2 = section.nearest_of(lines, world, near.first, near.last, q)
    depth, m2, past = section.depth_below(lines, world, q, k, along)
    near.touches = 0
    near.deep = zero
    near.gap = wp.max(-depth, past) - size
    if near.gap > F.slack:
        return near, part
    e = radial(x, q[0])
    m = in_space(m2, e)
    n = line.normal
    if line.curvature != zero:
        n = laws.blend(line.start, line.end, half)
    u = line.sign * (n[0] * F.Rz - n[1] * e_r)
    gx = -wp.dot(u, m)
    gy = -wp.dot(e_p, m)
    grow = line.speed + half * line.more_speed
    part.surface_velocity = surface_velocity(lines, world, k, along, e)
    part.velocity = (
        F.velocity + wp.cross(F.angular_velocity, x - F.at) + grow[0] * e_r + grow[1] * F.Rz - part.surface_velocity
    )
    # Depth that decides what is in contact: the larger of the depths now and at the end of the step.
    bound = depth
    if F.ahead > zero:
        bound += F.ahead * wp.max(wp.dot(part.velocity, m), zero)
    rough = zero  # additional curvature of the section near the element, beyond that of the nearest line
    corner = zero
    if near.last > near.first:
        most, corner = section.roughness(lines, world, near.first, near.last, q, wp.sqrt(gap2) + real(2.0) * size, size)
        rough = wp.max(most - wp.abs(lines[world, k].curvature), zero)
    across = vec3(-e[1], e[0], zero)
    round_axis = m2[0] / wp.max(q[0], size)  # curvature around the axis of the surface through x parallel to the other
    tall = lines[world, k].curvature
    tall = tall / wp.max(real(1.0) - tall * depth, half)
    own = n[0] / wp.max(middle[0], w)
    curl = size * wp.max(wp.max(wp.abs(line.curvature), wp.abs(own)), wp.max(wp.abs(round_axis), wp.abs(tall) + rough))
    corner = wp.max(corner, wp.clamp(real(2.0) * curl - real(1.0), zero, real(1.0)))  # element is too large
    c_u = wp.dot(u, across)
    c_p = wp.dot(e_p, across)
    k_s = line.curvature + tall + (round_axis - tall) * c_u * c_u
    # A sector follows a circle, which leaves the tangent plane's straight line by y^2 r' / (2 r) towards the axis. On a
    # section that is not parallel to the other one, this changes the depth too.
    k_p = own + tall + (round_axis - tall) * c_p * c_p - gx * line.sign * n[1] / wp.max(middle[0], w)
    # What neighbouring lines add to the curvature counts only for the extent of the element within the half plane.
    tall_side = l * wp.sqrt(wp.max(real(1.0) - c_u * c_u, zero)) + w * wp.sqrt(wp.max(real(1.0) - c_p * c_p, zero))
    bend = half * (wp.abs(k_s) * l * l + wp.abs(k_p) * w * w + rough * tall_side * tall_side)
    bend += wp.abs((round_axis - tall) * c_u * c_p) * l * w
    near.k_s = k_s
    near.k_p = k_p
    near.bend = real(MARGIN) * bend
    near.corner = corner
    spread = near.bend + l * wp.abs(gx) + w * wp.abs(gy)
    near.gap = wp.max(near.gap, -bound - (spread + corner * wp.max(size - spread, zero)))
    if near.gap > F.slack:
        return near, part
    near.touches = 1
    near.deep = wp.min(laws.inner_share(bound, spread), real(1.0) - corner)
    near.deep = wp.min(near.deep, wp.clamp(-past / size - real(1.0), zero, real(1.0)))
    if near.deep > zero:
        third = real(1.0) / real(3.0)
        w = half * F.step_angle * middle[0]
        part.peak = depth + laws.climb(gx, k_s, l) + laws.climb(gy, k_p, w)
        x0 = third * half * l * line.chord[0] / middle[0]  # centroid of the trapezoid
        depth += gx * x0 - half * third * (k_s * l * l + k_p * w * w)
        part.facing = -(n[0] * wp.dot(e_r, m) + n[1] * wp.dot(F.Rz, m))
        part.area = real(4.0) * l * w
        part.depth = depth
        off = third / depth
        part.point = x + (x0 + off * gx * l * l) * u + (off * gy * w * w) * e_p
        part.velocity += wp.cross(F.angular_velocity, part.point - x)
        part.normal = m
        part.layer = lines[world, k].layer
        part.counts = wp.where(near.deep == real(1.0), 1, 0)
    return near, part


@wp.func
def cut_element(l: real, w0: real, w1: real, d: real, dx: real, dy: real):
    """Clip a trapezoid, 2 l long and 2 w0 to 2 w1 wide, to d + dx x + dy y > 0. Returns area and centroid.

    The same as `clipping.cut` and `clipping.moments`, but faster because the corners are not stored.
    """
    xs = vec4(-l, l, l, -l)
    ys = vec4(-w0, -w1, w1, w0)
    # Sum area and moments while walking around the clipped polygon, from one of its corners to the next.
    area = real(0.0)
    mx = real(0.0)
    my = real(0.0)
    x0 = real(0.0)
    y0 = real(0.0)
    first_x = real(0.0)
    first_y = real(0.0)
    count = int(0)
    for i in range(4):
        xi = xs[i]
        yi = ys[i]
        xj = xs[(i + 1) % 4]
        yj = ys[(i + 1) % 4]
        si = d + dx * xi + dy * yi
        sj = d + dx * xj + dy * yj
        for crossing in range(2):  # first the corner itself, then the crossing on the side to the next corner
            keep = si >= real(0.0)
            if crossing == 1:
                keep = (si < real(0.0)) != (sj < real(0.0))
            if keep:
                x = xi
                y = yi
                if crossing == 1:
                    share = si / (si - sj)
                    x = xi + share * (xj - xi)
                    y = yi + share * (yj - yi)
                if count == 0:
                    first_x = x
                    first_y = y
                else:
                    z = x0 * y - x * y0
                    area += z
                    mx += z * (x0 + x)
                    my += z * (y0 + y)
                x0 = x
                y0 = y
                count += 1
    # The side from the last corner back to the first.
    z = x0 * first_y - first_x * y0
    area += z
    mx += z * (x0 + first_x)
    my += z * (y0 + first_y)
    if area <= real(2.0) * area_slack * l * wp.max(w0, w1):  # a sliver: its centroid is round-off
        return Cut()
    over = real(1.0) / (real(3.0) * area)
    return Cut(real(0.5) * area, over * mx, over * my)


@wp.func
def cut_element_at_edge(
    l: real, w0: real, w1: real, d: real, dx: real, dy: real, past: real, past_x: real, past_y: real
):
    """As `cut_element`, and clip to the edge of the other surface: past + past_x x + past_y y < 0."""
    # Two cuts can leave up to six corners, which must be stored. That is slower, but only parts at an edge need it.
    px = clipping.coordinates()
    py = clipping.coordinates()
    px[0] = -l
    px[1] = l
    px[2] = l
    px[3] = -l
    py[0] = -w0
    py[1] = -w1
    py[2] = w1
    py[3] = w0
    count = int(4)
    px, py, count = clipping.cut(px, py, count, dx, dy, d)
    if count > 2:
        px, py, count = clipping.cut(px, py, count, -past_x, -past_y, -past)
    if count < 3:
        return Cut()
    m = clipping.moments(px, py, count)
    if m.area <= area_slack * l * wp.max(w0, w1):  # a sliver: its centroid is round-off
        return Cut()
    return Cut(m.area, m.x / m.area, m.y / m.area)


@wp.func
def map_part(
    lines: array2d[Line], world: int, F: Frame, line: Line, near: Near, e_r: vec3, e_p: vec3, f: real, count: int,
    last: bool,
):  # fmt: skip
    """Map one of count x count parts of an element, at the share f of its line.

    In the last pass it is clipped to what is in contact, with a depth that is linear in the part. Before, it counts
    only as far as it lies inside, with the mean depth and the centre of pressure of its curved gap, as in `map_middle`.
    """
    part = Part()
    zero = real(0.0)
    half = real(0.5)
    at = line.point + f * line.chord
    n = line.normal
    if line.curvature != zero:
        at += laws.bulge(line.tilt, f) * n
        n = laws.blend(line.start, line.end, f)
    x = F.at + at[1] * F.Rz + at[0] * e_r
    q = in_plane(x)
    k, along, gap2 = section.nearest_of(lines, world, near.first, near.last, q)
    depth, m2, past = section.depth_below(lines, world, q, k, along)
    l = half * line.length / real(count)
    w = half * F.step_angle * at[0] / real(count)
    if depth < -(l + w + F.slack):  # no point of the part can touch
        return part
    part.open = 1
    e = radial(x, q[0])
    m = in_space(m2, e)
    part.facing = -(n[0] * wp.dot(e_r, m) + n[1] * wp.dot(F.Rz, m))
    if part.facing <= zero:  # both surfaces look the same way: this is the far side of the body
        return part
    grow = line.speed + f * line.more_speed
    part.surface_velocity = surface_velocity(lines, world, k, along, e)
    part.velocity = (
        F.velocity + wp.cross(F.angular_velocity, x - F.at) + grow[0] * e_r + grow[1] * F.Rz - part.surface_velocity
    )
    # `bound` is the larger of the depths now and at the end of the step, and decides what is in contact. The force
    # itself uses `depth`.
    bound = depth
    if F.ahead > zero:
        bound += F.ahead * wp.max(wp.dot(part.velocity, m), zero)
    part.normal = m
    part.layer = lines[world, k].layer
    part.counts = 1
    u = line.sign * (n[0] * F.Rz - n[1] * e_r)
    # A sector gets wider with the radius, so the part is a trapezoid: half its width is w - dw to w + dw.
    dw = half * half * F.step_angle * line.chord[0] / real(count * count)
    dx = -wp.dot(u, m)
    dy = -wp.dot(e_p, m)
    most = wp.abs(dx) * l + wp.abs(dy) * (w + wp.abs(dw))
    size = wp.sqrt(l * l + w * w)
    spread = most + near.bend / real(count * count)
    if bound < -(spread + near.corner * wp.max(size - spread, zero)):
        part.open = 0
    part.deep = wp.min(laws.inner_share(bound, spread), real(1.0) - near.corner)
    part.deep = wp.min(part.deep, wp.clamp(-past / size - real(1.0), zero, real(1.0)))
    tall = lines[world, k].curvature
    if not last:
        if part.deep > zero:
            third = real(1.0) / real(3.0)
            # A part that leaves the ground may be above it at the end of the step. Its centre stays within it.
            off = third / wp.max(wp.max(depth, most), real(TINY))
            part.area = real(4.0) * l * w
            part.point = x + (l * dw / (real(3.0) * w) + off * dx * l * l) * u + (off * dy * w * w) * e_p
            part.depth = depth - half * third * (near.k_s * l * l + near.k_p * w * w)
            part.peak = depth + laws.climb(dx, line.curvature + tall, l) + laws.climb(dy, near.k_p, w)
            part.velocity += wp.cross(F.angular_velocity, part.point - x)
            part.counts = wp.where(part.deep == real(1.0), 1, 0)
        return part
    left = Cut()
    # Near an edge of the other surface, cut off what lies past it: it touches nothing. Without this a plug would leave
    # a tube in jumps, one part after another.
    if past > -(l + w + wp.abs(dw)):
        u2 = lines[world, k].along
        if along < half * lines[world, k].length:
            u2 = -u2
        out = in_space(u2, e)  # direction past the edge
        left = cut_element_at_edge(l, w - dw, w + dw, bound, dx, dy, past, wp.dot(out, u), wp.dot(out, e_p))
    elif bound >= most:  # all of it is in contact
        left = Cut(real(4.0) * l * w, l * dw / (real(3.0) * w), zero)
    elif bound > -most:
        left = cut_element(l, w - dw, w + dw, bound, dx, dy)
    if left.area <= zero:
        return part
    shift = left.x * u + left.y * e_p
    part.area = left.area
    part.point = x + shift
    part.depth = depth + dx * left.x + dy * left.y
    # The deepest point is at the middle, or uphill from it as far as the part or the curvature of the gap there allows.
    c_p = e_p[1] * e[0] - e_p[0] * e[1]
    own = (n[0] - dx * line.sign * n[1]) / wp.max(at[0], w)  # as in `map_middle`
    k_p = own + tall + (m2[0] / wp.max(q[0], l + w) - tall) * c_p * c_p
    part.peak = wp.max(part.depth, depth + laws.climb(dx, line.curvature + tall, l) + laws.climb(dy, k_p, w))
    part.velocity += wp.cross(F.angular_velocity, shift)
    return part
