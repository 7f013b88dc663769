"""Forces at the points of a contact and their sums, and the stick spring of a contact after the step."""

from __future__ import annotations

import warp as wp

from grouser.contact import penalty
from grouser.contact.convex import laws
from grouser.contact.convex.patch import overlap_of, patch, pose_of, velocity_at
from grouser.contact.convex.types import (
    Candidates,
    Contacts,
    Overlap,
    Poses,
    Solids,
    StepContacts,
    Stick,
    Sticks,
    Totals,
)
from grouser.contact.penalty import FREE, SLIPPING, STUCK
from grouser.contact.rigid import wrench_of
from grouser.device import array2d
from grouser.precision import mat33, mat66, real, vec3, vec6

ALIKE = 0.99  # smallest cosine between normals of contacts of one part that share their friction state
SAME = 0.5  # smallest cosine between the normals of the same contact in two successive steps
A_POINT = 1.0e-12  # [m^2] mean square lever arm below which a patch is a point and cannot twist
LEVEL = 1.0e-9  # relative; makes the fit of a plane to the pressures well-posed if all points lie on a line


# ---- a step's start -------------------------------------------------------------------------------------


@wp.func
def stick_of(s: Solids, sticks: Sticks, q: Overlap, centre: vec3, area: real, lever: real):
    """Friction state of a contact at the start of the step, at `centre`.

    It is the contact's own state, or that of a contact with the neighbouring course piece: a part that crosses a seam
    must not lose its grip. Pressure and displacement come from the contact with the largest area, scaled so that the
    load does not grow.
    """
    own = int(-1)
    broad = int(-1)
    most = real(0.0)
    for j in range(sticks.count[0]):
        least = real(2.0)  # a cosine that cannot be reached
        if sticks.pair[j, 0] == q.a:
            if sticks.pair[j, 1] == q.b:
                least = real(SAME)
            elif q.b >= s.parts and sticks.pair[j, 1] >= s.parts:
                least = real(ALIKE)  # the part moves from one course piece to the next
        if wp.dot(sticks.normal[j], q.n) > least:
            if sticks.pair[j, 1] == q.b:
                own = j
            if sticks.area[j] > most:
                most = sticks.area[j]
                broad = j
    if own < 0:
        own = broad
    stick = Stick()
    stick.state = FREE
    if own >= 0:
        # A patch that has grown keeps its load and stick force, so pressure and displacement are scaled down. Across a
        # seam pressure and displacement stay the same.
        stick.state = sticks.state[own]
        share = wp.min(real(1.0), sticks.area[broad] / area)
        shift = centre - q.xa - q.Ra * sticks.centre[broad]
        # Likewise a patch that has become wider must not get more energy by its rotation: phi^2 lever does not grow.
        turned = share
        if lever > sticks.lever[broad]:
            turned = share * wp.sqrt(sticks.lever[broad] / lever)
        phi = turned * sticks.phi[broad] * wp.dot(sticks.normal[broad], q.n)
        xi = share * sticks.xi[broad] + phi * wp.cross(q.n, shift)
        stick.phi = phi
        stick.xi = xi - wp.dot(xi, q.n) * q.n
        stick.slope = share * sticks.slope[broad]
        stick.pressure = share * sticks.pressure[broad] + wp.dot(stick.slope, shift)
    return stick


# ---- forces ---------------------------------------------------------------------------------------------


@wp.func(inline=True)
def block_add(B: mat66, arm: vec3, K: mat33):
    """B + J^T K J with J = [I, -arm x]."""
    cross = wp.skew(arm)
    mixed = -K * cross
    turn = cross * mixed
    for r in range(3):
        for c in range(3):
            B[r, c] = B[r, c] + K[r, c]
            B[r, 3 + c] = B[r, 3 + c] + mixed[r, c]
            B[3 + c, r] = B[3 + c, r] + mixed[r, c]
            B[3 + r, 3 + c] = B[3 + r, 3 + c] + turn[r, c]
    return B


@wp.func(inline=True)
def add_pressure(s: Solids, e: Contacts, q: Overlap, stick: Stick, centre: vec3):
    """Sum the normal forces at the points of a contact. Writes the load of every point, which limits its friction."""
    zero = real(0.0)
    h = s.step[0]
    n = q.n
    totals = Totals()
    for i in range(q.first, q.first + q.points):
        x = e.at[i]
        w = e.area[i]
        depth = wp.dot(x - q.origin, q.steep)
        outward = wp.dot(velocity_at(q, x), n)
        e.load[i] = real(-1.0)
        e.point_depth[i] = depth
        # Skip points out of contact. A point that is leaving still counts if it is in contact now.
        if w <= zero or (depth <= zero and depth + q.now * outward <= zero):
            continue
        pressure, stiffness, damping = laws.penalty_pressure(depth, s.material)
        damping = penalty.release_damping(pressure, damping, outward)
        N = w * (pressure - damping * outward)
        # In an impact the predicted load at the end of the step is unreliable, so friction uses the load of the last
        # step.
        friction_load = w * wp.max(stick.pressure + wp.dot(stick.slope, x - centre), zero)
        if q.ground:
            weight = h * w * (h * stiffness + damping)
            totals.block = block_add(totals.block, x - q.xa, weight * wp.outer(n, n))
        else:
            N = wp.max(N, zero)
            friction_load = N
        e.load[i] = friction_load
        totals.force += N * n
        totals.moment += wp.cross(x - q.xa, N * n)
        totals.pressed += friction_load * x
        if depth > zero:
            totals.stored += real(0.5) * w * pressure * depth
        if friction_load > zero:
            totals.load += friction_load
            totals.area += w
    return totals


@wp.func(inline=True)
def add_friction(s: Solids, e: Contacts, q: Overlap, stick: Stick, centre: vec3, totals: Totals):
    """Add the friction at the points of a contact.

    Stiffness is distributed like the load, so that all points of a sliding patch start to slip together.
    """
    m = s.material
    h = s.step[0]
    n = q.n
    slipping = wp.where(stick.state == SLIPPING, 1, 0)
    along = wp.identity(n=3, dtype=real) - wp.outer(n, n)
    for i in range(q.first, q.first + q.points):
        friction_load = e.load[i]
        if friction_load > real(0.0):
            x = e.at[i]
            # Area by share of the load. With its own area a lightly loaded point would reach its limit before the
            # others, and a patch under a steady tangential force would creep.
            w = totals.area * friction_load / totals.load
            vt = along * velocity_at(q, x)
            xi = stick.xi + stick.phi * wp.cross(n, x - centre)
            totals.stored += real(0.5) * w * m.c_t * wp.dot(xi, xi)
            if q.ground:  # implicit: the force is that at the end of the step, where the spring is longer
                xi = xi + h * vt
            speed = wp.length(vt)
            slip = m.mu_slip * friction_load
            limit = penalty.friction_limit(slipping, speed, s.stick_speed, m.mu_stick * friction_load, slip)
            drag, slips = penalty.friction(w * (m.c_t * xi + m.d_t * vt), limit, slip)
            # A slipping point enters the block with the secant of its force. With the tangent, which is zero, friction
            # could reverse a slow motion within one step.
            weight = w * (h * m.c_t + m.d_t)
            if slips == 1:
                weight = penalty.friction_impedance(weight, slip, speed)
            totals.force += drag
            totals.moment += wp.cross(x - q.xa, drag)
            if q.ground:
                totals.block = block_add(totals.block, x - q.xa, (h * weight) * along)
    return totals


@wp.func
def pair_force(
    s: Solids, poses: Poses, found: Candidates, old: Sticks, fresh: Sticks, e: Contacts, k: int, slot: int,
    alone: bool, wrench_out: array2d[vec6], implicit_out: array2d[mat66],
):  # fmt: skip
    """Compute the forces of one pair and add them to its bodies. Returns whether the pair is in contact.

    `alone`: no other contact holds the part.
    """
    zero = real(0.0)
    q = overlap_of(s, poses, found.pair[k, 0], found.pair[k, 1])
    q.first = e.first_point[slot]
    q = patch(s, found, old, e, q, k, slot, alone)
    if q.points == 0:
        return False
    # Centre of the patch, about which the stick spring is displaced and rotated.
    centre = vec3()
    area = zero
    for i in range(q.first, q.first + q.points):
        centre += e.area[i] * e.at[i]
        area += e.area[i]
    if area <= zero:
        return False
    centre = centre / area
    lever = zero
    for i in range(q.first, q.first + q.points):
        lever += (e.area[i] / area) * wp.length_sq(e.at[i] - centre)
    stick = stick_of(s, old, q, centre, area, lever)
    totals = add_pressure(s, e, q, stick, centre)
    # No load in the first step of a contact with the course: friction there uses the pressure of the last step.
    if totals.load > zero:
        totals = add_friction(s, e, q, stick, centre, totals)
    row = s.out[q.a]
    force = totals.force
    wrench_out[0, row] = wrench_out[0, row] + wrench_of(force, totals.moment)
    # Only the course, which stands still, gives an implicit block: against another moving body the block of one body
    # would act as added mass. Two parts get opposite forces, each with the moment about its own origin.
    if q.ground:
        implicit_out[0, row] = implicit_out[0, row] + totals.block
    else:
        other = s.out[q.b]
        moment = totals.moment + wp.cross(q.xa - q.xb, force)
        wrench_out[0, other] = wrench_out[0, other] - wrench_of(force, moment)
    e.kind[slot] = q.kind
    e.deepest[slot] = q.deepest
    e.force[slot] = force
    e.block[slot] = totals.block
    # A contact that carries no load has no centre of pressure: use the middle of the patch.
    e.pressed[slot] = centre
    if totals.load > zero:
        e.pressed[slot] = totals.pressed / totals.load
    # From here on the slot is taken. A pair that returned above leaves it, and its room for points, to the next pair.
    e.first_point[slot + 1] = q.first + q.points
    e.first_corner[slot + 1] = e.first_corner[slot] + q.corners
    e.stored[0] = e.stored[0] + totals.stored
    # A trial state: `update_stick` advances it after the step, so that a step may be evaluated more than once.
    fresh.pair[slot, 0] = q.a
    fresh.pair[slot, 1] = q.b
    fresh.state[slot] = stick.state
    fresh.normal[slot] = q.n
    fresh.centre[slot] = centre
    fresh.xi[slot] = stick.xi
    fresh.phi[slot] = stick.phi
    return True


# ---- a step's end ---------------------------------------------------------------------------------------


@wp.func
def end_loads(s: Solids, poses: Poses, fresh: Sticks, e: Contacts, slot: int, v: vec3, w: vec3, x: vec3):
    """Set the loads of a contact's points at the end of the step, from the depth and velocity reached in the step.

    v [m/s] at x and w [rad/s] are the part's velocities at the end of the step; `poses` has those at its start.
    """
    h = s.step[0]
    n = fresh.normal[slot]
    a = fresh.pair[slot, 0]
    for i in range(e.first_point[slot], e.first_point[slot + 1]):
        if e.load[i] >= real(0.0):
            at = e.at[i]
            outward = wp.dot(v + wp.cross(w, at - x), n)
            before = wp.dot(poses.velocity[a] + wp.cross(poses.angular_velocity[a], at - x), n)
            depth = e.point_depth[i] - h * (outward - before)
            pressure, stiffness, damping = laws.penalty_pressure(depth, s.material)
            damping = penalty.release_damping(pressure, damping, outward)
            e.load[i] = e.area[i] * wp.max(pressure - damping * outward, real(0.0))


@wp.func
def record_contact(
    s: Solids, poses: Poses, fresh: Sticks, e: Contacts, step: StepContacts, slot: int, v: vec3, w: vec3
):
    """Record a contact with the force the part received, f - B a. v and w are those at the end of the step."""
    a = fresh.pair[slot, 0]
    change = wrench_of(v - poses.velocity[a], w - poses.angular_velocity[a])
    pull = (e.block[slot] * change) / s.step[0]
    step.pair[slot, 0] = a
    step.pair[slot, 1] = fresh.pair[slot, 1]
    step.kind[slot] = e.kind[slot]
    step.deepest[slot] = e.deepest[slot]
    step.force[slot] = e.force[slot] - vec3(pull[0], pull[1], pull[2])
    step.place[slot] = e.pressed[slot]


@wp.func
def share_rest(s: Solids, e: Contacts, step: StepContacts, effective: array2d[vec6]):
    """Share what a body received beyond the recorded forces of its contacts among those with the course.

    The engine computes f - B a with a = J (v+ - v) / h. The velocity of a body on joints also changes as its Jacobian J
    turns with them, by which `record_contact` is off. Shared by the contacts' impedance the sum is what was received.
    """
    for row in range(step.left.shape[0]):
        f = effective[0, row]
        step.left[row] = vec3(f[0], f[1], f[2])
        step.weight[row] = real(0.0)
    for slot in range(step.count[0]):
        row = s.out[step.pair[slot, 0]]
        other = step.pair[slot, 1]
        step.left[row] = step.left[row] - step.force[slot]
        if other < s.parts:
            step.left[s.out[other]] = step.left[s.out[other]] + step.force[slot]
        else:
            step.weight[row] = step.weight[row] + impedance(e.block[slot])
    for slot in range(step.count[0]):
        row = s.out[step.pair[slot, 0]]
        if step.pair[slot, 1] >= s.parts and step.weight[row] > real(0.0):
            share = impedance(e.block[slot]) / step.weight[row]
            step.force[slot] = step.force[slot] + share * step.left[row]


@wp.func
def impedance(block: mat66):
    """Sum of the impedances [N s/m] of a contact along the three axes."""
    return block[0, 0] + block[1, 1] + block[2, 2]


@wp.func
def update_stick(
    s: Solids, poses: Poses, old: Sticks, fresh: Sticks, e: Contacts, slot: int, count: int,
    xa: vec3, va: vec3, wa: vec3, xb: vec3, vb: vec3, wb: vec3,
):  # fmt: skip
    """Write the stick spring and the pressure of a contact after the step. Returns the number written so far.

    The spring of every point is stretched by the velocity at the end of the step; a slipping point keeps the slip force
    (return mapping). The displacements of all points are then fitted by one translation and one rotation of the patch,
    the pressures by a plane.
    """
    zero = real(0.0)
    m = s.material
    h = s.step[0]
    a = fresh.pair[slot, 0]
    b = fresh.pair[slot, 1]
    n = fresh.normal[slot]
    centre = fresh.centre[slot]
    xi = fresh.xi[slot] + h * wp.cross(wb, fresh.xi[slot])  # the spring turns with the other body
    slipping = wp.where(fresh.state[slot] == SLIPPING, 1, 0)
    area = zero
    load = zero
    middle = vec3()
    for i in range(e.first_point[slot], e.first_point[slot + 1]):
        if e.load[i] > zero:
            middle += e.load[i] * e.at[i]
            area += e.area[i]
            load += e.load[i]
    if load <= zero:
        return count
    middle = middle / load
    slid = zero
    twist = zero
    spread = zero
    broad = zero
    shift = vec3()
    tilt = vec3()
    moments = mat33()
    broad_middle = vec3()
    for i in range(e.first_point[slot], e.first_point[slot + 1]):
        if e.load[i] > zero:
            broad_middle += (e.area[i] / area) * e.at[i]
    for i in range(e.first_point[slot], e.first_point[slot + 1]):
        N = e.load[i]
        if N > zero:
            x = e.at[i]
            w = N / load
            v = va + wp.cross(wa, x - xa) - vb - wp.cross(wb, x - xb)
            v = v - wp.dot(v, n) * n
            drawn = xi + fresh.phi[slot] * wp.cross(n, x - centre) + h * v
            drawn = drawn - wp.dot(drawn, n) * n
            slip = m.mu_slip * N
            limit = penalty.friction_limit(slipping, wp.length(v), s.stick_speed, m.mu_stick * N, slip)
            trial = w * area * (m.c_t * drawn + m.d_t * v)
            kept, slips = penalty.elastic_displacement(drawn, trial, limit, slip, w * area * m.c_t)
            if wp.length_sq(kept) > wp.length_sq(drawn):
                kept = drawn  # only the damper made it slip: the spring must not get longer than it is stretched
            if slips == 1:
                slid += w
            # Translation and rotation about the centre of the load.
            lever = x - middle
            lever = lever - wp.dot(lever, n) * n
            shift += w * kept
            twist += w * wp.dot(wp.cross(lever, kept), n)
            spread += w * wp.dot(lever, lever)
            # Plane through the pressures, about the centre of the area.
            lever = x - broad_middle
            lever = lever - wp.dot(lever, n) * n
            tilt += N * lever
            moments += wp.outer(e.area[i] * lever, lever)
            broad += e.area[i] * wp.dot(lever, lever)
    old.pair[count, 0] = a
    old.pair[count, 1] = b
    old.normal[count] = n
    xp, Rp = pose_of(s, poses, a, b >= s.parts)  # the pose at which the points were found
    old.centre[count] = wp.transpose(Rp) * (middle - xp)
    old.xi[count] = shift
    old.phi[count] = zero
    old.lever[count] = spread
    old.area[count] = area
    old.deepest[count] = e.deepest[slot]
    old.slope[count] = vec3()
    if spread > real(A_POINT):
        old.phi[count] = twist / spread
    if broad > real(A_POINT) * area:
        # Along n, and across a line of points, the slope is undetermined: these terms make it zero.
        level = real(LEVEL) * broad
        moments += wp.diag(vec3(level, level, level)) + wp.outer(broad * n, n)
        old.slope[count] = wp.inverse(moments) * tilt
    old.pressure[count] = load / area + wp.dot(old.slope[count], middle - broad_middle)
    old.state[count] = wp.where(slid > real(0.5), int(SLIPPING), int(STUCK))
    return count + 1
