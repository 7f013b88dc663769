"""Kernels that derive the constants of soils on the device from the values of `Soil`, for each world."""

from __future__ import annotations

import math
from typing import Any

import warp as wp

from grouser.contact.soil.pressure import CELLS, DEEPEST
from grouser.contact.soil.types import Constants
from grouser.device import array, array2d, array3d, module
from grouser.precision import real, vec4
from grouser.terrain.soils import RANGES, WALL_SHARE

MODULE = module("grouser.contact.soil.soil_table")
FIELDS = tuple(RANGES)  # rows of `values`, in the order of the constants below
(
    N, K_C, K_PHI, COHESION, FRICTION_ANGLE, SHEAR_MODULUS, ELASTIC_STIFFNESS, DAMPING_TIME, WHEEL_FRICTION,
    COMPRESSION, REPOSE_ANGLE, DENSITY, WALL_FRICTION,
) = range(len(FIELDS))  # fmt: skip
NOT_GIVEN = -1.0  # in `values`, for fields that a soil may leave out
WIDTH = math.sqrt(DEEPEST) / CELLS  # interval of the table of powers, in sqrt of the depth
RADIANS = math.pi / 180


@wp.func
def allowed(field: int, value: wp.float64):
    """Whether a value is in the range that `soils.RANGES` allows for a field."""
    zero = wp.float64(0.0)
    if not wp.isfinite(value):
        return False
    if field == N or field == K_PHI or field == SHEAR_MODULUS or field == ELASTIC_STIFFNESS or field == DENSITY:
        return value > zero
    if field == WHEEL_FRICTION:
        return value >= zero or value == wp.float64(NOT_GIVEN)
    if field == FRICTION_ANGLE:
        return value >= zero and value < wp.float64(90.0)
    if field == WALL_FRICTION:
        return (value >= zero and value < wp.float64(90.0)) or value == wp.float64(NOT_GIVEN)
    if field == REPOSE_ANGLE:
        return (value > zero and value < wp.float64(90.0)) or value == wp.float64(NOT_GIVEN)
    if field == COMPRESSION:
        return value >= zero and value <= wp.float64(1.0)
    return value >= zero


@wp.func
def constants_of(values: array3d[wp.float64], world: int, soil: int, caps: int, coulomb: int, gravity: wp.float64):
    """Constants of a soil from its values: `model.soil_constants` on the device."""
    phi = values[FRICTION_ANGLE, world, soil] * wp.float64(RADIANS)
    tan_phi = wp.tan(phi)
    wall = values[WALL_FRICTION, world, soil] * wp.float64(RADIANS)
    if wall < wp.float64(0.0):
        wall = wp.float64(WALL_SHARE) * phi
    wall = wp.min(wall, phi)
    mu = values[WHEEL_FRICTION, world, soil]
    mu_rim = wp.where(mu < wp.float64(0.0), wp.tan(wall), mu)
    mu_cap = wp.float64(-1.0)
    largest = wp.float64(1.0)
    cohesion = values[COHESION, world, soil]
    if caps == 1:
        mu_cap = mu
        mu = wp.float64(-1.0)
        if mu_cap >= wp.float64(0.0) and mu_cap < tan_phi:
            largest = wp.min(mu_cap / tan_phi, wp.float64(1.0))
    if coulomb == 1:
        tan_phi = wp.where(mu < wp.float64(0.0), tan_phi, mu)
        cohesion = wp.float64(0.0)
    k_e = values[ELASTIC_STIFFNESS, world, soil]
    per_k_e = wp.float64(1.0) / k_e
    unit_weight = values[DENSITY, world, soil] * gravity
    return Constants(
        real(values[K_C, world, soil]), real(values[K_PHI, world, soil]), real(values[N, world, soil]),
        real(cohesion), real(tan_phi), real(values[SHEAR_MODULUS, world, soil]), real(k_e),
        real(per_k_e), real(values[DAMPING_TIME, world, soil]), real(values[COMPRESSION, world, soil]),
        real(mu), real(mu_cap), real(mu_rim), real(largest), real(slope_limit(values, world, soil)),
        real(unit_weight), real(phi), real(wall),
    )  # fmt: skip  # pyright: ignore[reportCallIssue] device structs take their fields


@wp.func
def slope_limit(values: array3d[wp.float64], world: int, soil: int):
    """Tangent of the steepest stable slope of a soil."""
    angle = values[REPOSE_ANGLE, world, soil]
    return wp.tan(wp.where(angle < wp.float64(0.0), values[FRICTION_ANGLE, world, soil], angle) * wp.float64(RADIANS))


@wp.kernel(module=MODULE)
def take_values(
    mask: array[int], given: array3d[wp.float64], values: array3d[wp.float64], refused_out: array[int]
):  # fmt: skip
    """Take over new values of the chosen worlds; NaN leaves one as it is. One thread per world.

    A world with a value out of range keeps all its soils and is marked.
    """
    world = wp.tid()
    if mask[world] == 0:
        return
    wrong = int(0)
    for field in range(given.shape[0]):
        for soil in range(given.shape[2]):
            value = given[field, world, soil]
            if not wp.isnan(value) and not allowed(field, value):
                wrong += 1
    refused_out[world] = wp.min(wrong, 1)
    if wrong == 0:
        for field in range(given.shape[0]):
            for soil in range(given.shape[2]):
                if not wp.isnan(given[field, world, soil]):
                    values[field, world, soil] = given[field, world, soil]


@wp.func
def power_and_slope(i: int, twice: wp.float64):
    """x^(2 n) at the start of interval `i` of the table of powers, and its slope per interval."""
    x = wp.float64(WIDTH) * wp.float64(i)
    slope = wp.float64(0.0)
    if i > 0:
        slope = twice * wp.pow(x, twice - wp.float64(1.0)) * wp.float64(WIDTH)
    return wp.pow(x, twice), slope


@wp.kernel(module=MODULE)
def derive_soils(
    mask: array[int], values: array3d[wp.float64], caps: int, coulomb: int, gravity: wp.float64, bodies: int,
    lanes: int, face: wp.float64, shortest: wp.float64, longest: wp.float64, spacing: wp.float64, most: int,
    soils_out: array[Constants], powers_out: array2d[vec4],
    weakest_out: array[real], spoil_out: array[real], margin_out: array[int],
):  # fmt: skip
    """Compute constants, tables of powers and bounds of the chosen worlds. `lanes` threads per world.

    `face` [m] to `most`: the fields of `Margin`.
    """
    world, lane = wp.tid()
    if mask[world] == 0:
        return
    count = values.shape[2]
    weakest = wp.float64(1.0e30)
    least = wp.float64(1.0)
    for soil in range(count):
        row = world * count + soil
        if lane == 0:
            soils_out[row] = constants_of(values, world, soil, caps, coulomb, gravity)
        weakest = wp.min(weakest, slope_limit(values, world, soil))
        least = wp.min(least, values[COMPRESSION, world, soil])
        twice = wp.float64(2.0) * values[N, world, soil]
        i = int(lane)
        while i < powers_out.shape[1]:
            value, slope = power_and_slope(i, twice)
            next_value, next_slope = power_and_slope(i + 1, twice)
            rise = next_value - value
            cubic = slope + next_slope - rise - rise
            powers_out[row, i] = vec4(real(value), real(slope), real(rise - slope - cubic), real(cubic))
            i += lanes
    if lane == 0:
        reach = wp.max(shortest, wp.min(face / weakest, longest))
        share = wp.float64(1.0) - least
        margin = wp.clamp(int(wp.rint(reach / spacing)), 2, most)
        for body in range(bodies):
            margin_out[world * bodies + body] = margin
            weakest_out[world * bodies + body] = real(weakest)
            spoil_out[world * bodies + body] = real(share)


@wp.kernel(module=MODULE)
def copy_column(source: array[Any], row_out: array2d[wp.float64], soil: int):
    """Copy values of one constant of one soil of each world."""
    world = wp.tid()
    row_out[world, soil] = wp.float64(source[world])
