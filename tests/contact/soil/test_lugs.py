"""Lugs that press with their tips: a wheel that is pushed down, and one that stands on hard ground."""

from __future__ import annotations

import math

import mujoco
import numpy as np
import pytest

from grouser.contact.soil import SoilModule, SoilOptions, wheel
from grouser.contact.soil.lugs import lug_pitch, lug_tips, rim_radius
from grouser.errors import InputError
from grouser.simulation import Simulation
from grouser.terrain import flat, soil
from grouser.terrain.ground import Ground
from grouser.terrain.soils import Soil
from tests.rig import ManufacturedMotion, check_implicit

RADIUS, WIDTH, LOAD = 0.15735, 0.165, 80.0  # [m, m, N] Ding et al. 2011
LUGS = {"grouser_height": 0.01, "grouser_count": 30, "grouser_width": 0.004}
STEP, SPEED = 2e-3, 0.02  # [s], [m/s] of the wheel that is pushed down
HARD = soil("hit-lss1").replace(k_phi=2.4e9, k_c=0.0, n=1.0)  # a thousand times as firm: it answers elastically
BOOK = 0.02  # of the load of the lugs: a lug of 4 mm has one point along its width
STILL = 1e-4  # [m/s] creep of a body at rest
BLOCK = 0.05  # of the largest entry: rim and tips share one cell, and the rim's damping counts on its whole area


def pushed(options: SoilOptions, material: Soil, lugs: bool = True) -> ManufacturedMotion:
    ground = Ground(flat(size=(1, 1), spacing=0.5, origin=(-0.5, -0.5)), material, 0.01)
    shape = wheel(RADIUS, WIDTH, **(LUGS if lugs else {}))
    return ManufacturedMotion(SoilModule(ground, {"wheel": shape}, options), step=STEP)


def push_to(rig: ManufacturedMotion, sinkage: float) -> float:
    """Push the wheel down from where its tips just touch until the rim is `sinkage` [m] deep. Returns the load [N]."""
    start = RADIUS + LUGS["grouser_height"] + 1e-3

    def pose(time: float):
        return np.array([0.0013, 0.0021, start - SPEED * time]), np.array([0.0, 0.0, 0.0, 1.0])

    rig.follow(pose, round((start - RADIUS + sinkage) / SPEED / STEP) - round(rig.time / STEP))
    return float(rig.wrench[0, 0, 2])


def lug_load(material: Soil, sinkage: float) -> float:
    """[N] by Bekker's law on every tip, beyond what the rim above it carries, at the end of the next step."""
    axle = RADIUS - sinkage - SPEED * STEP
    count = LUGS["grouser_count"]
    angle = 2 * np.pi * np.arange(count) / count + np.pi / 2
    k, n = material.pressure_modulus(WIDTH), material.n

    def carried(radius: float) -> np.ndarray:
        return k * np.maximum(radius * np.cos(angle) - axle, 0.0) ** n

    added = (carried(RADIUS + LUGS["grouser_height"]) - carried(RADIUS)) * np.cos(angle)
    return float(added.sum() * LUGS["grouser_width"] * WIDTH)


def test_tips_carry_before_the_rim_touches_and_beyond_it_after():
    """Frictionless, soil that only compacts: the load of the smooth wheel plus Bekker's law on the tips."""
    material = soil("hit-lss1").replace(compression=1.0)
    lugged = pushed(SoilOptions(friction="none", lugs="tips"), material)
    smooth = pushed(SoilOptions(friction="none"), material, lugs=False)
    raised = pushed(SoilOptions(friction="none"), material)
    for sinkage in (-0.007, -0.003, -0.0005, 0.001, 0.005, 0.01, 0.02):
        added = push_to(lugged, sinkage) - push_to(smooth, sinkage)
        assert added == pytest.approx(lug_load(material, sinkage), rel=BOOK)
        if sinkage < 0:
            assert push_to(raised, sinkage) == 0, "lugs by share need the rim in the soil"


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_tips_lie_on_their_circle_and_cover_what_lugs_cover(dtype):
    shape = wheel(RADIUS, WIDTH, **LUGS)
    tips = lug_tips(shape, 0.01)
    assert np.linalg.norm(tips.points[:, ::2], axis=1) == pytest.approx(RADIUS + LUGS["grouser_height"])
    total = LUGS["grouser_count"] * LUGS["grouser_width"] * WIDTH
    assert np.linalg.norm(tips.areas, axis=1).sum() == pytest.approx(total)
    assert rim_radius(shape) == pytest.approx(RADIUS)
    assert lug_pitch(shape) * LUGS["grouser_count"] == pytest.approx(2 * math.pi * (RADIUS + LUGS["grouser_height"]))
    assert lug_pitch(wheel(RADIUS, WIDTH)) == math.inf


# ---- hard ground -------------------------------------------------------------------------------------


def standing(law: str, turned: float = 0.0) -> Simulation:
    """A wheel that falls by a millimetre on ground a thousand times as firm as sand and may turn on its axle."""
    ground = Ground(flat(size=(2, 1), spacing=0.5, origin=(-1, -0.5)), HARD, 0.01)
    spec = mujoco.MjSpec()
    body = spec.worldbody.add_body(name="wheel", pos=[0, 0, RADIUS + LUGS["grouser_height"] + 1e-3])
    for name, axis in (("along", [1, 0, 0]), ("down", [0, 0, 1])):
        body.add_joint(name=name, type=mujoco.mjtJoint.mjJNT_SLIDE, axis=axis)
    body.add_joint(name="axle", type=mujoco.mjtJoint.mjJNT_HINGE, axis=[0, 1, 0])
    body.mass, body.explicitinertial, body.ipos, body.inertia = LOAD / 9.81, True, [0, 0, 0], [0.1, 0.1, 0.1]
    spec.add_key(qpos=[0, 0, turned])
    module = SoilModule(ground, {"wheel": wheel(RADIUS, WIDTH, **LUGS)}, SoilOptions(lugs=law))
    return Simulation(spec, [module], ground=ground, step=STEP)


def test_a_wheel_stands_on_its_tips_on_hard_ground():
    """On two lugs: the rim stays above the ground, and the wheel comes to rest."""
    sim = standing("tips")
    sim.step(round(3.0 / STEP))
    half_pitch = math.pi / LUGS["grouser_count"]
    lift = (RADIUS + LUGS["grouser_height"]) * math.cos(half_pitch) - RADIUS  # of the rim, on rigid ground
    give = LOAD / (2 * LUGS["grouser_width"] * WIDTH * 5e7 * math.cos(half_pitch))  # [m] of two tips, elastic
    clearance = sim.data.body("wheel").xpos[2] - RADIUS
    assert clearance == pytest.approx(lift - give, abs=0.1 * give)
    assert np.abs(sim.data.qvel).max() < STILL
    sunk = standing("share")
    sunk.step(round(1.0 / STEP))
    assert sunk.data.body("wheel").xpos[2] - RADIUS < 1e-3, "lugs by share: the rim lies on the ground"


def test_a_wheel_that_rocks_on_two_lugs_gains_no_speed():
    """A free wheel on elastic ground, started out of balance."""
    sim = standing("tips", turned=0.02)
    speeds = []
    for _ in range(4):
        fastest = 0.0
        for _ in range(100):
            sim.step(round(0.01 / STEP))
            fastest = max(fastest, abs(float(sim.data.qvel[2])))
        speeds.append(fastest)
    assert speeds[0] > 0.05, "it does rock"
    assert speeds == sorted(speeds, reverse=True)


def test_turning_alone_does_not_load_the_soil_below_a_tip():
    """The force on a tip is normal to it and has no moment, so a tip that turns down may not store energy."""
    rig = pushed(SoilOptions(friction="none", lugs="tips"), HARD)
    half_pitch = math.pi / LUGS["grouser_count"]
    axle = (RADIUS + LUGS["grouser_height"]) * math.cos(half_pitch)  # two tips just touch; one would be 0.9 mm deep

    def pose(time: float):
        turned = min(time, 1.0) * half_pitch / 2
        return np.array([0.0013, 0.0021, axle]), np.array([0.0, math.sin(turned), 0.0, math.cos(turned)])

    rig.follow(pose, round(1.0 / STEP))
    sunk = (RADIUS + LUGS["grouser_height"]) * (1 - math.cos(half_pitch))
    elastic = HARD.elastic_stiffness * LUGS["grouser_width"] * WIDTH * sunk  # [N] if the tip had been pushed down
    assert elastic > 25
    assert abs(float(rig.wrench[0, 0, 2])) < BOOK * elastic


def test_the_block_of_a_wheel_on_its_tips_is_the_slope_of_its_force():
    """At rest on tips alone, and with the rim in the soil: no jump within a micrometre."""
    material = soil("hit-lss1").replace(compression=1.0)
    for sinkage in (-0.004, 0.006):
        rig = pushed(SoilOptions(friction="none", lugs="tips"), material)
        push_to(rig, sinkage)
        position = rig.position.copy()
        position[..., 2] += 5e-5  # unload: the soil answers elastically
        rig.place(position=position, velocity=np.zeros(3), spin=np.zeros(3)).advance()
        rig.advance()
        check = check_implicit(rig, length=RADIUS, change=1e-6)
        assert check.error < BLOCK
        assert check.asymmetry < 1e-9
        assert check.least > -1e-9


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"lugs": "teeth"}, "lugs: 'teeth' is not known; allowed: share, tips"),
        ({"lug_carry": 1.5}, "lug_carry: 1.5 is not allowed; allowed: 0 to 1"),
        ({"slip_sinkage": -0.1}, "slip_sinkage: -0.1 is not allowed; it must be 0 or more"),
        ({"slip_sinkage": math.nan}, "slip_sinkage: nan is not allowed"),
        ({"interface_friction": "glues"}, "interface_friction: 'glues' is not known; allowed: scales, caps"),
    ],
)
def test_options_that_cannot_be(options, words):
    with pytest.raises(InputError, match=words):
        SoilOptions(**options)
