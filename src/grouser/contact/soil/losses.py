"""Where the work goes that a body does on the soil: an account by kind, each measured on its own.

The sum of all kinds should be the work. What is missing shows the errors of step and grid.

- stored: p^2 / (2 K_e) of all soil that the body presses now.
- sinkage, spoil: pressure times plastic sinkage. The share chi of it is compressed (sinkage), the rest is squeezed out
  to the sides and carried away (spoil).
- damping: the part of the pressure that damping adds, times the motion of the surface.
- shear: shear stress times slip. Its elastic part is included, so it may fall a little when a body swings back.
- faces: force of the soil ahead of steep faces times the motion of the face. Its elastic part is included, not in
  `stored`: it falls when a face draws back and gets some of it again.
"""

from __future__ import annotations

import warp as wp

from grouser.contact.soil.elements import Losses, LossSums
from grouser.contact.soil.types import Energy
from grouser.precision import real

SMALL_OFFSET = 1e-9  # [m] smaller offsets are round-off
MOST_DONE = 2.0  # largest `done_share`: the speed of a body that starts to move may grow manifold within a step

# Channels of the account, in the order of `kernels.observe`: sums since the start, except the energy stored now.
WORK = "work"  # received from the body
KINDS = ("stored", "sinkage", "spoil", "damping", "shear", "faces")
UNACCOUNTED = "unaccounted"
CHANNELS = (WORK, *(f"energy_{kind}" for kind in (*KINDS, UNACCOUNTED)))


@wp.func
def plus(a: Losses, b: Losses):
    """Add two sets of losses."""
    return Losses(
        a.stored + b.stored, a.sinkage + b.sinkage, a.spoil + b.spoil, a.damping + b.damping, a.shear + b.shear,
        a.faces + b.faces,
    )  # fmt: skip


@wp.func
def of_pressure(area: real, chi: real, stored: real, plastic: real, damped: real, shear: real):
    """Losses of soil that presses on the plan `area` [m^2]: energies per area [J/m^2], and the work of shear [J]."""
    worn = area * plastic
    return Losses(area * stored, chi * worn, (real(1.0) - chi) * worn, area * damped, shear, real(0.0))


@wp.func
def of_faces(received: real):
    """Losses of steep faces, from the work [J] that they did on the soil ahead of them."""
    zero = real(0.0)
    return Losses(zero, zero, zero, zero, zero, received)


@wp.func
def plastic_work(pressure: real, spare: real, fall: real):
    """Work [J/m^2] of a pressure on the plastic sinkage of a step: what the elastic limit leaves of its depth, `spare`.

    At most what the surface sinks, `fall` [m]: soil that an edge has passed over sideways was not pressed down.
    """
    return pressure * wp.min(wp.max(spare, real(0.0)), wp.max(fall, real(0.0)))


@wp.func
def elastic_energy(k_e: real, depth: real, limit: real):
    """Energy [J/m^2] of soil that is pressed by `depth` [m], of which it keeps at most `limit` [m]."""
    kept = wp.min(depth, limit)
    return real(0.5) * k_e * kept * kept


@wp.func
def yield_growth(y: real, n: real, depth: real, offset: real):
    """How much higher than `y` [Pa] the yield pressure is at `depth` [m], where y is that at `offset` [m] above it.

    Bekker's law to first order, n y offset / depth. The energy stored at the end of the step belongs to the depth
    there, and to the levels from which `commit` finds the elastic depth.
    """
    if wp.abs(offset) < real(SMALL_OFFSET):
        return real(0.0)
    return n * y * wp.min(wp.max(offset, real(0.0)) / wp.max(depth - offset, real(1.0e-12)), real(1.0))


@wp.func
def dissipated(a: Losses):
    """Sum [J] of all kinds but what is stored."""
    return a.sinkage + a.spoil + a.damping + a.shear + a.faces


@wp.func
def total(a: LossSums):
    """Sum [J] of all kinds since the start."""
    return a.stored + a.sinkage + a.spoil + a.damping + a.shear + a.faces


@wp.func
def done_share(received: real, foreseen: real, lost: real):
    """Factor on the losses foreseen for a step, from the work [J] that was received and that was foreseen.

    Losses are those of the velocity at the start of the step. A body that lands is slowed within the step and does
    less work than that; one that speeds up does more: received / foreseen. In steady motion the factor is 1. Soil that
    gives back its energy without a force loses more than the work, `lost` [J]: the factor then is about 1.
    """
    size = wp.max(wp.abs(foreseen), lost)
    if size == real(0.0):
        return real(1.0)
    more = wp.where(foreseen < real(0.0), foreseen - received, received - foreseen)
    return wp.clamp(real(1.0) + more / size, real(0.0), real(MOST_DONE))


@wp.func
def book_losses(energy: Energy, slot: int, received: real):
    """Add the work `received` [J] in the finished step, and where it went, to the totals."""
    a = energy.lost[slot]
    b = energy.losing[slot]
    s = done_share(received, energy.foreseen[slot], dissipated(b))
    # A light body on a stiff spring stops within the step: damping takes no more than the energy that is there.
    others = s * (b.sinkage + b.spoil + b.shear + b.faces)
    left = wp.max(received + real(a.stored) - b.stored - others, real(0.0))
    energy.work[slot] = energy.work[slot] + wp.float64(received)
    energy.lost[slot] = LossSums(
        wp.float64(b.stored), a.sinkage + wp.float64(s * b.sinkage), a.spoil + wp.float64(s * b.spoil),
        a.damping + wp.float64(wp.min(s * b.damping, left)), a.shear + wp.float64(s * b.shear),
        a.faces + wp.float64(s * b.faces),
    )  # fmt: skip


@wp.func
def book_stored_at_start(energy: Energy, slot: int, stored: real):
    """Begin the account of a body that starts in the soil: what is `stored` [J] there is work that it has done."""
    zero = wp.float64(0.0)
    energy.work[slot] = wp.float64(stored)
    energy.lost[slot] = LossSums(wp.float64(stored), zero, zero, zero, zero, zero)
