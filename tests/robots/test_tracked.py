"""Machines on tracks: the bulldozer's tree and masses, the crawler that uses the same chain."""

import mujoco
import numpy as np
import pytest

from grouser.errors import InputError
from grouser.robots import bulldozer, crawler
from grouser.robots.bulldozer import Bulldozer
from grouser.robots.crawler import Crawler
from grouser.simulation import Simulation
from grouser.track import FlatGround, SoilValues, TrackModule

LOAD = 5e-3  # the crawler still swings a little after 0.8 s


def test_the_bulldozer_has_the_tree_of_the_paper():
    spec, tracks = bulldozer.build()
    model = spec.compile()
    parents = {model.body(b).name: model.body(model.body_parentid[b]).name for b in range(1, model.nbody)}
    for side in ("left", "right"):
        assert parents[f"sprocket_{side}"] == f"tandem_{side}"
        assert parents[f"front_{side}"] == f"frame_{side}"
        assert {parents[f"{part}_{side}"] for part in ("tandem", "frame", "equaliser")} == {"chassis"}
    assert parents["cab"] == "chassis"
    assert [len(track.assembly.position) for track in tracks] == [46, 46]
    assert model.body_mass.sum() == pytest.approx(15800.0)
    assert Bulldozer().total_mass == pytest.approx(19.94e3)


def test_the_equaliser_lets_the_frames_rock_against_each_other():
    """One frame up and the other down is free, both up winds the bar's spring."""
    spec, _ = bulldozer.build(gravity=0.0)
    model = spec.compile()
    data = mujoco.MjData(model)
    p = Bulldozer()
    ratio = (p.equaliser_x - p.pivot_x) / (p.gauge / 2)

    def twist(left, right):
        for side, angle, sign in (("left", left, 1), ("right", right, -1)):
            data.joint(f"pivot_{side}").qpos[0] = angle
            data.joint(f"equaliser_{side}").qpos[0] = -sign * ratio * angle
        mujoco.mj_forward(model, data)
        assert np.abs(data.efc_pos).max() < 1e-12  # the ties hold at these angles
        return data.ten_length[0]

    assert twist(0.05, -0.05) == pytest.approx(0.0, abs=1e-12)
    assert abs(twist(0.05, 0.05)) == pytest.approx(2 * ratio * 0.05)


def test_a_bulldozer_lighter_than_its_parts_is_refused():
    with pytest.raises(InputError, match="mass: 3000 kg is not allowed; its other parts are 4600 kg"):
        Bulldozer(mass=3000.0)


def test_the_crawler_stands_and_drives():
    p = Crawler()
    spec, tracks = crawler.build(p, place=(0, 0, p.start_height))
    soil = SoilValues(stiffness=2e6, damping=2e4, cohesion=500.0, shear_rate=200.0)
    module = TrackModule(tracks, FlatGround(soil=soil))
    sim = Simulation(spec, [module], step=1e-3)
    weight = (p.mass + sum(track.mass for track in tracks)) * 9.81
    sim.step(700)
    loads = []
    for _ in range(100):
        sim.step()
        loads.append(module.ground_force()[0, :, 2].sum())
    assert np.mean(loads) == pytest.approx(weight, rel=LOAD)
    sim.data.ctrl[:] = 0.3 / tracks[0].wheels[0].radius
    start = sim.data.qpos[0]
    sim.step(600)
    assert 0.12 < sim.data.qpos[0] - start < 0.18
    assert max(np.abs(module.lateral(k)).max() for k in (0, 1)) < 0.003
