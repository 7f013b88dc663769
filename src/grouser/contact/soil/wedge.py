"""Laws of the passive force on a steep face: Coulomb's trial wedge and how its force builds up. Pure functions.

A face that moves into the soil pushes a wedge of it up a slip plane, which rises from the lower edge of the face (the
toe) at the angle rho. Forces on the wedge: its weight W, friction and cohesion on the plane of area A, and the push P
of the face, which is inclined to the normal of the face by the wall friction angle delta. Coulomb 1776: of all planes
the one with the least push forms. With a plane that is straight the force is too large for rough walls, by about 20 %
at delta = 2/3 phi (log spiral of Caquot and Kerisel 1948).
"""

from __future__ import annotations

import warp as wp

from grouser.precision import real, vec3

LOCKED = 1.0e30  # [N] push of a plane on which the wedge cannot slide
PASSIVE_STRAIN = 0.04 / 3.0  # displacement that mobilises 63 % of the passive force, over depth (assumed)
UNLOADING = 3.0  # stiffness of unloading over force per mobilising displacement (assumed)
FACE_DAMPING = 1.0e-3  # [s] damping over stiffness while a face is elastic (assumed)
# Share of the elastic force that is missing while a face draws back: sand keeps the energy of a swing (assumed).
LOSS = 0.8
SLOW = 1.0e-3  # [m/s] speed of drawing back from which on all of LOSS is missing (assumed)
CREEP = 1.0e-4  # [m/s] below this speed wall friction has no direction of its own: it points up the face (assumed)


@wp.func
def passive_force(weight: real, area: real, cohesion: real, phi: real, delta: real, rake: real, rho: real):
    """Push P [N] that moves the wedge above one slip plane; LOCKED if no push does. Coulomb 1776, McKyes 1985, eq. 3.4.

    `weight` [N] of the wedge, `area` [m^2] of the plane, angles [rad]. `rake` is the angle between the face and the
    level ahead: 90 degrees is vertical, less is a face that looks up.
    """
    lean = rake + delta + phi + rho
    if lean > real(3.1):
        return real(LOCKED)
    return (weight * wp.sin(rho + phi) + cohesion * area * wp.cos(phi)) / wp.sin(lean)


@wp.func
def mobilising_distance(depth: real, spacing: real):
    """Displacement [m] over which the force builds up: a share of the depth, but at least a cell.

    Within less than a cell the grid cannot say how the soil ahead changes.
    """
    return wp.max(real(PASSIVE_STRAIN) * depth, spacing)


@wp.func
def advance_face(target: real, mobilised: real, gap: real, travel: real, distance: real):
    """Mobilised force [N] and gap [m] of a face after it moved by `travel` [m] along its normal.

    Beyond its farthest place the force approaches `target` over `distance` [m], implicit in the travel. A face that
    draws back opens a gap, which it closes again before it meets fresh soil. With one state instead of two a face
    that vibrates would advance a little with every cycle.
    """
    left = gap - travel
    if left >= real(0.0):
        return mobilised, left
    share = -left / distance
    return (mobilised + share * target) / (real(1.0) + share), real(0.0)


@wp.func
def leave_behind(mobilised: real, gap: real, along: real, length: real):
    """Mobilised force [N] and gap [m] of a face that moved by `along` [m] along itself.

    It leaves soil behind that it has pushed, and meets as much that it has not: the share along / length, implicit in
    the travel. So the side of a wheel that rolls holds no load for good: at a slip angle a it mobilises
    1 / (1 + distance / (length tan(a))) of its force.
    """
    share = real(1.0) / (real(1.0) + along / length)
    return share * mobilised, share * gap


@wp.func
def kept_share(speed: real):
    """Share of the elastic force that a face still gets at this speed [m/s]: less than 1 while it draws back.

    Sand that was pushed hardly pushes back: a face that swings to and fro would else keep the energy of its swing.
    """
    return real(1.0) - real(LOSS) * wp.clamp(-speed / real(SLOW), real(0.0), real(1.0))


@wp.func
def face_push(target: real, mobilised: real, gap: real, speed: real, distance: real, step: real):
    """Push [N] of the soil at the end of a step, and its weight h D + h^2 K [kg] for the implicit block.

    `speed` [m/s] of the face along its normal. Below the farthest place the face is elastic; the push is never below
    zero. Its weight takes it as linear in the speed. So a light body gets a pull in a step in which its speed changes
    by more than about SLOW, or in which it leaves the elastic range: that of a damper, less than the force that draws
    the face back. In the next step it gets the push of its new speed.
    """
    zero = real(0.0)
    one = real(1.0)
    travel = step * speed
    stiffness = real(UNLOADING) * target / distance
    left = gap - travel
    if left < zero:
        share = -left / distance
        push = (mobilised + share * target) / (one + share)
        slope = wp.max(target - mobilised, zero) / (distance * (one + share) * (one + share))
        return push, step * step * slope
    elastic = mobilised - stiffness * (left - real(FACE_DAMPING) * speed)
    if elastic <= zero:
        return zero, zero
    if elastic >= mobilised:
        return mobilised, zero
    kept = kept_share(speed)
    weight = kept * step * (step + real(FACE_DAMPING)) * stiffness
    if kept < one and kept > one - real(LOSS):  # it changes with the speed
        weight += step * real(LOSS) * elastic / real(SLOW)
    return kept * elastic, weight


@wp.func
def wall_direction(advance: real, slope: real, up: vec3, sliding: vec3):
    """Direction, along the face, of the friction of the soil on the face.

    The wedge rises by `slope` times the speed `advance` [m/s] of the face and drags the face along; `sliding` [m/s] is
    the velocity of the face in its own plane, against which friction acts.
    """
    drag = (wp.max(advance, real(0.0)) * slope + real(CREEP)) * up - sliding
    return wp.normalize(drag)
