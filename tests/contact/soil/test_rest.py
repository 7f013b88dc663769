"""Wheels that stand: parked on a slope, dropped, turned back."""

from __future__ import annotations

import math

import mujoco
import numpy as np
import pytest

from grouser.contact.soil import SoilModule, SoilOptions, Surface, prepare, wheel
from grouser.simulation import Simulation, on_soil
from grouser.simulation.shapes import box
from grouser.terrain import flat, slope, soil
from grouser.terrain.ground import Ground
from tests.rig import ManufacturedMotion
from tests.scenarios.soil_bin import built

CREEP = 1e-4  # [m] the bar, from 10 s to 70 s
DROP = 0.025  # sinkage against 0.2 ms; clay with chi = 0.3: 2.1 %, all others below 2 %
SILENT = 0.03  # the bar where the note on the step says nothing
SHEAR = 0.05  # of the limit: vertices on the edge of a plate whose normal is its side's shear less
STANDING = 1e-3  # of the weight: what still moves a second after a drop
RADIUS, WIDTH, MASS = 0.15, 0.1, 18.9
WHEEL = (wheel(RADIUS, WIDTH), MASS)


def standing(
    name: str, chi: float, *, slope_deg: float = 0.0, above: float = 0.0, x: float = 0.0,
    body: tuple[Surface, float] = WHEEL, **more
) -> Simulation:  # fmt: skip
    """A locked wheel that may slide along x and z, put down `above` [m] the ground; or another shape and mass [kg]."""
    surface, mass = body
    bottom = -float(surface.vertices[:, 2].min()) if surface is not WHEEL[0] else RADIUS
    angle = math.radians(slope_deg)
    spec = mujoco.MjSpec()
    wheel_body = spec.worldbody.add_body(
        name="wheel", pos=[x, 0.0013, bottom / math.cos(angle) + x * math.tan(angle) + above]
    )
    for joint, axis in (("x", [1, 0, 0]), ("z", [0, 0, 1])):
        wheel_body.add_joint(name=joint, type=mujoco.mjtJoint.mjJNT_SLIDE, axis=axis)
    wheel_body.mass, wheel_body.inertia, wheel_body.ipos = mass, [0.1, 0.1, 0.1], [0, 0, 0]
    wheel_body.explicitinertial = True
    terrain = slope(size=(2, 2), spacing=0.5, angle_deg=slope_deg) if slope_deg else flat(size=(2, 2), spacing=0.5)
    return on_soil(spec, soil(name).replace(compression=chi), {"wheel": surface}, terrain=terrain, place=False, **more)


def creep(simulation: Simulation) -> float:
    """[m] farthest from where it stood at 10 s, over the minute after."""
    every = round(5.0 / simulation.step_size)
    simulation.step(2 * every)
    start, worst = simulation.data.qpos.copy(), 0.0
    for _ in range(12):
        simulation.step(every)
        worst = max(worst, float(np.linalg.norm(simulation.data.qpos - start)))
    return worst


def test_a_parked_wheel_stays_on_a_slope():
    simulation = standing("sandy-loam", 0.3, slope_deg=10)
    assert creep(simulation) < CREEP
    pull = simulation.engine.slots[0].out.effective.numpy()[0, 0]
    assert pull[2] == pytest.approx(MASS * 9.81, rel=STANDING)
    assert abs(pull[0]) < STANDING * MASS * 9.81, "the world's x: soil only carries the weight"


@pytest.mark.long
@pytest.mark.parametrize("chi", [0.3, 1.0])
@pytest.mark.parametrize("name", ["sandy-loam", "dry-sand", "lunar-nominal", "clay", "hit-lss1"])
@pytest.mark.parametrize("changes", [{}, {"x": 0.0037}, {"spacing": 0.005}], ids=str)
def test_every_parked_wheel_stays(name, chi, changes):
    assert creep(standing(name, chi, slope_deg=10, **changes)) < CREEP


@pytest.mark.long
@pytest.mark.parametrize("chi", [0.3, 1.0])
@pytest.mark.parametrize("name", ["sandy-loam", "dry-sand", "lunar-nominal", "clay", "hit-lss1"])
@pytest.mark.parametrize("changes", [{"step": 1e-3}], ids=str)
def test_a_parked_wheel_stays_at_a_small_step(name, chi, changes):
    assert creep(standing(name, chi, slope_deg=10, **changes)) < CREEP


def test_a_wheel_on_frictionless_soil_would_slide():
    """What the tests above would see if shear did not hold."""
    simulation = standing("dry-sand", 1.0, slope_deg=10, options=SoilOptions(friction="none"))
    simulation.step(200)
    assert simulation.data.qpos[0] < -10 * CREEP


# ---- dropped -----------------------------------------------------------------------------------------


def dropped(
    name: str, chi: float, step: float, above: float, body: tuple[Surface, float] = WHEEL
) -> tuple[float, Simulation]:
    """Depth [m] of the rim 2 s after a fall."""
    simulation = standing(name, chi, above=above, step=step, body=body)
    simulation.step(round(2.0 / step))
    return -float(simulation.data.qpos[1]) - above, simulation


AT_REST = 1e-4  # [m/s] a hundredth of a creeping rover's speed
DROPPED = [("dry-sand", 0.3), ("clay", 1.0)] + [
    pytest.param(name, chi, marks=pytest.mark.long)
    for name in ("dry-sand", "sandy-loam", "clay", "lunar-nominal", "lete-sand", "hit-lss1", "exomars-test")
    for chi in (0.3, 1.0)
]


@pytest.mark.parametrize(("name", "chi"), DROPPED)
def test_a_dropped_wheel_comes_to_rest_where_small_steps_say(name, chi):
    """50 mm: it hits at 1 m/s, a millimetre in a step of 1 ms."""
    fine, _ = dropped(name, chi, 2e-4, 0.05)
    coarse, simulation = dropped(name, chi, 1e-3, 0.05)
    assert coarse == pytest.approx(fine, rel=DROP)
    loads = []
    for _ in range(500):  # on soft soil slides still make it tremble
        simulation.step()
        loads.append(simulation.engine.slots[0].out.effective.numpy()[0, 0, 2])
    assert np.mean(loads) == pytest.approx(MASS * 9.81, rel=STANDING)
    assert np.abs(simulation.data.qvel).max() < AT_REST


@pytest.mark.parametrize(("name", "chi"), DROPPED)
@pytest.mark.parametrize("above", [0.0, 0.02, 0.05])
def test_a_dropped_wheel_at_five_milliseconds_is_right_or_said_to_be_rough(name, chi, above):
    fine, _ = dropped(name, chi, 2e-4, above)
    coarse, simulation = dropped(name, chi, 5e-3, above)
    warned = any("inaccurate" in note for note in simulation.notes)
    assert warned or coarse == pytest.approx(fine, rel=SILENT)


def test_a_harder_fall_goes_deeper():
    depths = [dropped("dry-sand", 1.0, 5e-3, above)[0] for above in (0.0, 0.02, 0.1)]
    assert (np.diff(depths) > 1e-3).all()


# ---- turned back -------------------------------------------------------------------------------------


def reversal(name: str, chi: float) -> tuple[np.ndarray, np.ndarray]:
    """Torque [N m] of a wheel that spins on the spot and is turned back, over the travel [K] of its rim since."""
    settings, simulation = built(soil=name, slip=1.0, compression=chi)
    simulation.step(round(4.0 / simulation.step_size))  # 0.2 m of rim
    simulation.data.ctrl[1] *= -1
    read = next(channel for channel in simulation.channels() if channel.name == "wheel/torque").read
    turned = simulation.data.qpos[2]
    travel, torque = [], [float(read()[0])]
    while not travel or travel[-1] < 3 * soil(name).shear_modulus:
        simulation.step()
        travel.append(float(turned - simulation.data.qpos[2]) * settings.wheel.radius)
        torque.append(float(read()[0]))
    return np.array([0.0, *travel]) / soil(name).shear_modulus, np.array(torque)


@pytest.mark.parametrize(
    ("name", "chi"),
    [("dry-sand", 0.3)]
    + [pytest.param(n, c, marks=pytest.mark.long) for n in ("dry-sand", "sandy-loam", "clay") for c in (0.3, 1.0)],
)
def test_turning_back_turns_the_shear_force_within_a_travel_of_k(name, chi):
    travel, torque = reversal(name, chi)
    assert torque[0] > 0
    crossing = travel[np.flatnonzero(torque < 0)[0]]
    assert 0.2 < crossing < 1.0, "it holds on at first: the soil springs back before it slips the other way"
    assert (torque[travel > 1.0] < 0).all()
    assert torque[-1] < -0.7 * torque[0]


def test_shear_of_a_sliding_plate_follows_the_law():
    """All of a plate has one shear displacement: force over its limit is 1 - exp(-j/K), turned back 2 exp(-j/K) - 1.

    It slides at the depth it was pressed to, without faces: its sides and the soil ahead take part in nothing.
    """
    material = soil("dry-sand").replace(compression=1.0)
    k, depth, speed, step, count = material.shear_modulus, 0.02, 0.01, 2e-3, 1800
    ground = Ground(flat(size=(1.2, 0.6), spacing=0.3, origin=(-0.6, -0.3)), material, 0.01)
    plate = prepare(*box(np.array([0.1, 0.05, 0.02])), width=0.1)
    rig = ManufacturedMotion(SoilModule(ground, {"plate": plate}, SoilOptions(erosion=False, faces=False)), step=step)
    rig.place(position=(0, 0, 0.02 - depth), rotation=rig.rotation).advance()
    x, force = 0.0, []
    for direction in (1, -1):
        for _ in range(count):
            x += direction * speed * step
            rig.place(position=(x, 0, 0.02 - depth), velocity=(direction * speed, 0, 0)).advance()
            limit = 0.02 * material.cohesion + math.tan(math.radians(28)) * rig.wrench[0, 0, 2]
            force.append(-rig.wrench[0, 0, 0] / limit)
    forward, back = np.array(force[:count]), np.array(force[count:])
    j = speed * step * np.arange(1, count + 1) / k
    assert j[-1] == pytest.approx(2)
    assert forward == pytest.approx(1 - np.exp(-j), abs=SHEAR)
    turned = (1 + forward[-1]) * np.exp(-j) - 1
    assert back == pytest.approx(turned, abs=SHEAR)
