"""A vehicle whose tyres are rigid wheels on soil, on one ground with tracks and a blade."""

import mujoco
import numpy as np
import pytest

from grouser.contact.soil import prepare
from grouser.control import TorqueDrive
from grouser.errors import InputError
from grouser.robots import bulldozer
from grouser.robots.bulldozer import Bulldozer
from grouser.robots.dozer_blade import DozerBlade
from grouser.robots.vehicle import build
from grouser.robots.vehicle_file import vehicle
from grouser.simulation import Simulation
from grouser.terrain.generators import flat
from grouser.terrain.ground import Ground
from grouser.terrain.soils import soil
from grouser.track import SoilGround, TrackModule

CARRIED = 2e-3  # of the weight: the vehicle still swings a little
ROUND_OFF = 1e-9
STEP = 2e-3  # [s]


def _on(ground_soil, twist=(0.0, 0.0, 0.0), spacing=0.02, seconds=2.0):
    v = vehicle("vivi")
    ground = Ground(flat(size=(6.0, 3.0), spacing=0.5, origin=(-2.0, -1.5)), ground_soil, spacing)
    spec = build(v, position=(0.0, 0.0, v.rest_height()), wheels="rigid")
    sim = Simulation(
        spec, [v.soil_module(ground)], ground=ground, controllers=[TorqueDrive(v, twist=twist, period=STEP)], step=STEP
    )
    sim.step(round(seconds / STEP))
    return v, sim


def test_soil_carries_the_vehicle_and_springs_share_it():
    v, sim = _on(soil("dry-sand"))
    seen = sim.observe()
    load = seen["soil/force"][0, :, 2]
    assert load.sum() == pytest.approx(v.chassis.mass * 9.81, rel=CARRIED)
    assert (seen["soil/sinkage"][0] > 5e-3).all()
    travel = [float(sim.data.joint(f"strut_{w.name}").qpos[0]) for w in v.wheels]
    # A strut carries what the soil does, less its own wheel.
    assert np.array(travel) * v.suspension.stiffness == pytest.approx(load - v.wheel_mass * 9.81, rel=0.02)


def test_it_drives_and_leaves_ruts():
    v, sim = _on(soil("dry-sand"), twist=(0.4, 0.0, 0.0))
    assert 0.4 < float(sim.data.qpos[0]) < 0.8
    y = v.wheels[0].y
    assert sim.ground.heights(region=(0.0, 0.3, y - 0.03, y + 0.03)).max() < -5e-3, "behind the front wheels"
    assert np.abs(sim.ground.heights(region=(-1.5, 1.5, -0.05, 0.05))).max() == 0.0, "between the wheels"
    assert sim.modules[0].volume_error().max() < ROUND_OFF


def test_wheels_blade_foot_and_tracks_leave_their_prints_in_one_ground():
    """A vehicle stands beside a bulldozer with its blade in the soil and a foot on it; no soil is lost."""
    v, sand = vehicle("vivi"), soil("dry-sand")
    p = Bulldozer(dozer=DozerBlade(), dozer_clearance=0.0)
    spec, tracks = bulldozer.build(p, place=(0.0, 0.0, p.start_height))
    beside = spec.worldbody.add_frame(pos=[1.0, 3.2, 0.0])
    spec.attach(build(v, position=(0.0, 0.0, v.rest_height()), wheels="rigid"), prefix="vivi_", frame=beside)
    foot = spec.worldbody.add_body(name="foot", pos=[1.0, -3.0, 0.1], mass=200.0, inertia=[5, 5, 5], ipos=[0, 0, 0],
                                   explicitinertial=True)  # fmt: skip
    foot.add_joint(name="foot", type=mujoco.mjtJoint.mjJNT_SLIDE, axis=[0, 0, 1])
    corners = np.array([[x, y, z] for x in (-0.2, 0.2) for y in (-0.2, 0.2) for z in (-0.1, 0.1)])
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    box = prepare(corners, [t for a, b, c, d in quads for t in ((a, b, c), (a, c, d))])
    ground = Ground(flat(size=(12.0, 12.0), spacing=1.0, origin=(-3.0, -6.0)), sand, 0.05)
    module = v.soil_module(ground, "vivi_", blade=p.dozer.surface(), foot=box)
    sim = Simulation(spec, [TrackModule(tracks, SoilGround(ground)), module], ground=ground, step=1e-3)
    sim.step(400)
    prints = {
        "track": (1.0, 2.0, 0.8, 1.2), "blade": (4.3, 4.5, -1.0, 1.0), "wheel": (1.3, 1.4, 3.4, 3.6),
        "foot": (0.9, 1.1, -3.1, -2.9),
    }  # fmt: skip
    for name, region in prints.items():
        assert ground.heights(region=region).min() < -2e-3, name
    tally, ruts = module.arrays.displacement.tally.numpy(), sim.modules[0]._ruts
    removed, owed = (float(getattr(ruts, name).numpy().sum()) for name in ("removed", "owed"))
    compressed = sand.compression * removed + float(tally["compressed"].sum())
    assert float(ground.heights().sum()) == pytest.approx(-compressed - owed, abs=ROUND_OFF * removed)


def test_wheels_heavier_than_the_vehicle_are_refused():
    from dataclasses import replace

    with pytest.raises(InputError, match=r"rigid wheels of .* kg each are heavier than the vehicle, 80 kg"):
        build(replace(vehicle("vivi"), wheel_inertia=1.0), wheels="rigid")
