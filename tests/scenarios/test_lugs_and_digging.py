"""Rolling wheels with lugs on their tips, slip sinkage along the arc and soil carried by lugs, in the engine."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from grouser.terrain import soil
from grouser.terrain.soils import Soil
from tests.scenarios.soil_bin import built, errors, recorded, rolled

RADIUS, WIDTH, LOAD = 0.15, 0.10, 185.5  # [m, m, N] the wheel of `single-wheel`
BAR = 0.02  # sinkage, pull and torque against the integral on a 10 mm grid, as of the wheels without lugs
MOUND = 0.01  # what is left of the mound at chi = 0.99
VOLUME = 1e-9  # the bar: round-off of a float64 run
THIN = 1e-5  # [m] lugs so thin that their tips carry nothing: what is left is the shear of their plane and faces
POINTS = 4000
DING = {"soil": "hit-lss1", "load": 80.0, "wheel__radius": 0.15735, "wheel__width": 0.165}
LUGS = {"wheel__grouser_height": 0.01, "wheel__grouser_count": 30}


def arc(material: Soil, z: float, slip: float, beta: float, height: float, pitch: float) -> tuple[float, float, float]:
    """Load [N], pull [N] and torque [N m] of a wheel at the sinkage z [m]; see `scenarios/wheel_theory.py`.

    The virgin level falls by beta |v_T| v / (v + |v_T|) while a column of soil crosses the contact. Lugs move the shear
    to their tips, with the lesser of plane and faces.
    """
    r, k, n, k_e = RADIUS, material.pressure_modulus(WIDTH), material.n, material.elastic_stiffness
    front = math.acos(1 - z / r)
    theta = np.concatenate([front * (1 - np.linspace(0, 1, POINTS) ** 2), np.linspace(0, -0.2, POINTS // 2)[1:]])
    v = (1 - slip) * r  # at an angular velocity of 1
    v_t = r - v * np.cos(theta)
    fall = beta * v_t * v / (v + v_t) * r * np.cos(theta) / v  # by dtheta: a column moves by r cos(theta) dtheta
    lost = np.concatenate([[0.0], np.cumsum(0.5 * (fall[1:] + fall[:-1]) * -np.diff(theta))])
    depth = np.maximum(r * (np.cos(theta) - math.cos(front)) - lost, 0.0)
    bottom = k * depth[POINTS - 1] ** n
    unloading = np.where(theta >= 0, np.inf, np.maximum(bottom - k_e * r * (1 - np.cos(theta)), 0.0))
    sigma = np.minimum(k * depth**n, unloading)
    tips = r + height
    j = tips * (front - theta) - v * (math.sin(front) - np.sin(theta))
    tan_phi, c = math.tan(math.radians(material.friction_angle_deg)), material.cohesion
    limit = c + sigma * tan_phi
    if height > 0:
        root = math.tan(math.pi / 4 + math.radians(material.friction_angle_deg) / 2)
        weight = 9.81 * material.density
        face = (0.5 * weight * height**2 + sigma * height) * root**2 + 2 * c * height * root
        limit = np.minimum(limit, face / pitch + math.tan(math.radians(material.wall_angle_deg)) * sigma)
    tau = np.where(sigma > 0, limit, 0.0) * (1 - np.exp(-np.maximum(j, 0) / material.shear_modulus))

    def along(values: np.ndarray) -> float:
        return -r * WIDTH * float(np.trapezoid(values, theta))

    load = along(sigma * np.cos(theta) + tau * np.sin(theta))
    return load, along(tau * np.cos(theta) - sigma * np.sin(theta)), tips * along(tau)


def book(material: Soil, slip: float, beta: float = 0.0, height: float = 0.0, pitch: float = math.inf):
    """Sinkage [m], pull [N] and torque [N m] at which the wheel carries its load."""
    from scipy.optimize import brentq

    def surplus(z: float) -> float:
        return arc(material, z, slip, beta, height, pitch)[0] - LOAD

    z: Any = brentq(surplus, 1e-4, 0.7 * RADIUS)
    return float(z), *arc(material, float(z), slip, beta, height, pitch)[1:]


def resistance(material: Soil) -> float:
    from grouser.scenarios.wheel_theory import rolling_wheel

    wheel = {"radius": RADIUS, "width": WIDTH, "load": LOAD, "slip": 0.0}
    return abs(rolling_wheel(material, **wheel, friction=False).drawbar_pull)


# ---- lugs: the lesser of tip plane and faces ---------------------------------------------------------


def check_lugs(count: int, slip: float) -> None:
    material, height = soil("lunar-nominal"), 0.01
    pitch = 2 * math.pi * (RADIUS + height) / count
    metrics = rolled(
        soil="lunar-nominal", compression=1.0, slip=slip, lugs="tips", wheel__grouser_height=height,
        wheel__grouser_count=count, wheel__grouser_width=THIN,
    )  # fmt: skip
    got = errors(metrics, *book(material, slip, height=height, pitch=pitch), resistance(material))
    for what, error in got.items():
        assert abs(error) < BAR, what


def test_few_lugs_plough_and_many_shear_a_block_off():
    """Against the integrals; by the other rule 4 lugs would be off by a fifth."""
    check_lugs(30, 0.3)
    check_lugs(4, 0.3)
    material, height = soil("lunar-nominal"), 0.01
    plane, faces = (book(material, 0.3, height=height, pitch=pitch)[2] for pitch in (0.01, 0.25))
    assert plane > (1 + 4 * BAR) * faces


@pytest.mark.long
@pytest.mark.parametrize("count", [2, 8, 60])
@pytest.mark.parametrize("slip", [0.1, 0.6])
def test_lugs_of_any_number(count, slip):
    check_lugs(count, slip)


def test_friction_of_the_rim_does_not_limit_a_wheel_with_lugs():
    """Given for the soil it acts between the lugs only, where the tip plane gives way first."""
    free, given = (
        rolled(slip=0.3, lugs="tips", **DING, **LUGS, **more) for more in ({}, {"soil__wheel_friction": 0.39})
    )
    assert given["torque_Nm"] == pytest.approx(free["torque_Nm"], rel=BAR)


# ---- slip sinkage along the arc ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "slip", [0.3, pytest.param(0.1, marks=pytest.mark.long), pytest.param(0.5, marks=pytest.mark.long)]
)
def test_slip_sinks_a_wheel_as_the_integral_along_the_arc_says(slip):
    """At chi = 0.99, where there is next to no mound, and a beta that makes beta (1 - chi) a fifth; no cohesion."""
    share, chi = 0.2, 0.99
    material = soil("dry-sand").replace(cohesion=0.0)
    settings = {"soil__cohesion": 0.0, "compression": chi, "slip": slip}
    metrics = rolled(slip_sinkage=share / (1 - chi), **settings)
    got = errors(metrics, *book(material, slip, beta=share), resistance(material))
    for what, error in got.items():
        assert abs(error) < BAR + MOUND, what
    plain = errors(rolled(**settings), *book(material, slip, beta=share), resistance(material))
    assert abs(plain["sinkage"]) > BAR + MOUND, "without the option it does not sink that deep"


def test_slip_sinkage_leaves_soil_that_only_compacts_alone():
    """chi = 1: the closed forms, bit by bit, for every option."""
    plain, dug = (rolled(compression=1.0, slip=0.3, **more) for more in ({}, {"slip_sinkage": 0.5, "lug_carry": 0.5}))
    for what in ("sinkage_m", "drawbar_pull_N", "torque_Nm"):
        assert dug[what] == plain[what]


def test_slip_sinkage_deepens_with_slip_and_clay_resists():
    """Cohesion holds the soil together: in clay next to nothing is dug."""
    deep = {name: [rolled(soil=name, slip=s, slip_sinkage=0.5)["sinkage_m"] for s in (0.1, 0.5)] for name in
            ("hit-lss1", "clay")}  # fmt: skip
    sand, clay = (deep[name][1] - deep[name][0] for name in ("hit-lss1", "clay"))
    assert sand > 3e-3
    assert clay < 0.3 * sand


def test_a_wheel_on_the_spot_digs_in_with_either_law():
    """Along the arc nothing falls without travel: the band goes on."""
    for options in ({}, {"slip_sinkage": 0.5}):
        _, (time, sinkage) = recorded({"slip": 1.0, **options}, "time", "soil/sinkage")
        depth = np.interp([1.0, 3.0, 6.0, 9.9], time, sinkage[:, 0])
        assert (np.diff(depth) > 5e-4).all()


# ---- soil carried by lugs ----------------------------------------------------------------------------


def test_lugs_carry_soil_out_of_the_rut():
    """Deeper by about (1 - chi) q h s / (1 - s) where nothing else digs, and on the spot deeper from turn to turn."""
    slip, q = 0.6, 0.5
    plain, carried = (
        rolled(slip=slip, lugs="tips", slip_sinkage=1e-6, lug_carry=share, **DING, **LUGS)["sinkage_m"]
        for share in (0.0, q)
    )
    layer = (1 - soil("hit-lss1").compression) * q * 0.01 * slip / (1 - slip)
    assert 0.7 * layer < carried - plain < 1.5 * layer
    names = {name.replace("__", "."): value for name, value in {**DING, **LUGS}.items()}
    ends = []
    for share in (0.0, q):
        _, (sinkage,) = recorded({"slip": 1.0, "lugs": "tips", "lug_carry": share, **names}, "soil/sinkage")
        ends.append(float(sinkage[-1, 0]))
    assert ends[1] > 1.2 * ends[0]


@pytest.mark.parametrize(
    "options", [{"slip_sinkage": 0.5}, {"slip_sinkage": 0.5, "lugs": "tips", "lug_carry": 0.5, **LUGS}], ids=str
)
def test_volume_balances(options):
    settings, simulation = built(slip=0.5, **DING, **options)
    before = simulation.ground.heights().sum()
    simulation.step(round(8.0 / simulation.step_size))
    lost = (before - simulation.ground.heights().sum()) * settings.spacing**2
    channels = {channel.name: channel for channel in simulation.channels()}
    displaced = float(channels["soil/displaced_volume"].read().sum())
    assert displaced > 1e-4, "a tenth of a litre at least"
    assert float(channels["soil/volume_error"].read()[0]) < VOLUME
    assert abs(lost - settings.chosen_soil().compression * displaced) / displaced < VOLUME
