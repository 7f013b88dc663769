"""Soil with a bottom and soil under another gravity, as users ask for them: scenarios, `on_soil`, messages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
from PIL import Image

import grouser
from grouser.errors import InputError
from grouser.scenarios.wheel_theory import rolling_wheel
from grouser.terrain import flat, soil
from grouser.terrain.ground import Ground
from grouser.track import SoilGround

WHEEL = {"compression": 1.0, "slip": 0.2}  # what the closed form knows
THEORY = 0.02  # the bar of `single-wheel` against its integrals on a 10 mm grid
SAME = 1e-3  # of sinkage, where all of the soil's stiffness is scaled with the load: start and damping differ
MOON = 1.62  # [m/s^2]


def wheel(folder: Path, **changes: Any) -> dict:
    return grouser.run("single-wheel", WHEEL | changes, out=folder / "out", report=False).metrics


@pytest.mark.parametrize("depth", [0.02, 0.04])
def test_a_wheel_on_a_layer_meets_its_integrals(tmp_path, depth):
    """The integrals of a rigid wheel with the pressure of the layer; those of twice the depth are missed."""
    got = wheel(tmp_path, soil_depth=depth, load=300.0)
    theory, other = (
        rolling_wheel(soil("dry-sand"), radius=0.15, width=0.1, load=300.0, slip=0.2, depth=d)
        for d in (depth, 2 * depth)
    )
    assert got["sinkage_m"] == pytest.approx(theory.sinkage, rel=THEORY)
    assert got["drawbar_pull_N"] == pytest.approx(theory.drawbar_pull, rel=THEORY)
    assert got["torque_Nm"] == pytest.approx(theory.torque, rel=THEORY)
    assert got["sinkage_m"] < (1 - 3 * THEORY) * other.sinkage


def test_the_hard_ground_carries_a_wheel_that_the_soil_cannot(tmp_path):
    """2 kN in 10 mm of sand: 60 mm deep without a bottom, and with one no deeper than that and its elastic give."""
    deep, got = wheel(tmp_path / "a", load=2000.0), wheel(tmp_path / "b", load=2000.0, soil_depth=0.01)
    give = got["load_N"] / 0.1 / 0.02 / soil("dry-sand").elastic_stiffness  # a patch of 20 mm or longer
    assert deep["sinkage_m"] > 0.04
    assert 0.008 < got["sinkage_m"] < 0.01 + give
    assert got["load_N"] == pytest.approx(2000.0, rel=0.01)


def test_a_slipping_wheel_digs_to_the_hard_ground_and_loses_no_soil(tmp_path):
    settings = {"soil_depth": 0.015, "slip": 0.6, "soil": "dry-sand"}
    got = grouser.run("single-wheel", settings, out=tmp_path / "out", report=False).metrics
    assert got["sinkage_m"] < 0.016
    assert got["volume_error_rel"] < 1e-9


def test_a_wheel_through_two_soils(tmp_path):
    """Over the same soil the depth does not matter. A firmer soil below carries it higher up."""
    load = {"load": 600.0, "soil_depth": 0.01}
    deep, same, firm = (
        wheel(tmp_path / name, **changes)["sinkage_m"]
        for name, changes in {
            "deep": {"load": 600.0}, "same": {**load, "soil_below": "dry-sand"},
            "firm": {**load, "soil_below": {"name": "dry-sand", "k_phi": 2e7}},
        }.items()
    )  # fmt: skip
    assert same == pytest.approx(deep, rel=1e-3)
    assert 0.01 < firm < 0.8 * deep


# ---- gravity ----------------------------------------------------------------------------------------------


def test_scaled_soil_sinks_the_same_mass_as_deep_under_any_gravity(tmp_path):
    """As Wong and Kobayashi 2012 found; resistance then is in proportion to g. Without scaling it sinks less."""
    dry = {"name": "dry-sand", "k_c": 0.0, "cohesion": 0.0}
    light = dry | {"elastic_stiffness": soil("dry-sand").elastic_stiffness * MOON / 9.81}  # else it would rebound less
    on_moon = {"soil": light, "gravity": MOON, "load": 18.9 * MOON}
    earth = wheel(tmp_path / "e", soil=dry, load=18.9 * 9.81)
    scaled, plain = (wheel(tmp_path / str(flag), **on_moon, scale_with_gravity=flag) for flag in (True, False))
    assert scaled["sinkage_m"] == pytest.approx(earth["sinkage_m"], rel=SAME)
    assert scaled["drawbar_pull_N"] == pytest.approx(earth["drawbar_pull_N"] * MOON / 9.81, rel=THEORY)
    assert plain["sinkage_m"] < 0.5 * earth["sinkage_m"]


def test_gravity_scales_the_frictional_modulus_alone():
    sand, light = soil("dry-sand"), soil("dry-sand").under_gravity(MOON)
    assert light.k_phi == pytest.approx(sand.k_phi * MOON / 9.81)
    assert light.replace(k_phi=sand.k_phi) == sand
    assert "Reece 1965" in light.sources["k_phi"]
    with pytest.raises(InputError, match="soil 'dry-sand': gravity = 0"):
        sand.under_gravity(0.0)


# ---- robots -----------------------------------------------------------------------------------------------


def ball(height: float = 0.3) -> mujoco.MjSpec:
    spec = mujoco.MjSpec()
    body = spec.worldbody.add_body(name="ball", pos=[0, 0, height])
    body.add_freejoint()
    body.add_geom(type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[0.1, 0, 0], density=500)
    return spec


def energy(sim: Any) -> float:
    """Kinetic and potential energy [J]."""
    data = sim.data
    mass = float(sim.model.body_mass[1])
    return 0.5 * mass * float(data.qvel[:3] @ data.qvel[:3]) + mass * 9.81 * float(data.qpos[2])


@pytest.mark.parametrize("below", [None, "clay"])
def test_a_ball_that_falls_on_a_layer_gains_no_energy(below):
    sim = grouser.on_soil(ball(), "dry-sand", depth=0.01, below=below, place=False)
    energies = [energy(sim)]
    for _ in range(300):
        sim.step()
        energies.append(energy(sim))
    assert max(energies) <= 1.01 * energies[0]
    assert energies[-1] < 0.5 * energies[0]


def test_notes_say_what_lies_below():
    sim = grouser.on_soil(ball(), "dry-sand", depth=0.02, below="clay", gravity=MOON, scale_with_gravity=True)
    assert "soil 20 mm deep, over clay" in sim.notes
    assert "k_phi of the soil times 0.1651 for gravity 1.62 m/s^2" in sim.notes
    assert sim.ground.soils[0].k_phi == pytest.approx(soil("dry-sand").k_phi * MOON / 9.81)


def test_a_map_of_depths_from_a_picture(tmp_path):
    """`soil_depth_map` is read like a terrain: 60 mm of soil under the cart's left wheels, 3 mm under the others."""
    rows = np.where(np.arange(101)[:, None] < 50, 60, 3) * np.ones((1, 101))  # the top of the picture is y > 0, left
    Image.fromarray(rows.astype(np.uint8)).save(tmp_path / "depth.png")
    Image.fromarray(np.zeros((101, 101), np.uint8)).save(tmp_path / "flat.png")
    options = {"spacing": 0.1, "scale": 1e-3}
    settings = {
        "bodies": "wheel.*", "time": 0.5, "soil": {"name": "dry-sand", "k_phi": 6e5},
        "terrain": {"file": tmp_path / "flat.png", **options},
        "soil_depth_map": {"file": tmp_path / "depth.png", **options},
    }  # fmt: skip
    grouser.run("robot", settings, out=tmp_path / "out", report=False)
    with grouser.Recording(tmp_path / "out" / "recording.h5") as recording:
        left, right = (np.mean([recording[f"soil/sinkage[wheel_{end}{side}]"][-1] for end in "fr"]) for side in "lr")
    assert left > 2 * right  # the cart leans, so that the edges of its right wheels are below the hard ground's level


@pytest.mark.parametrize(
    ("scenario", "changes", "words"),
    [
        ("single-wheel", {"soil_depth": 0}, "soil_depth"),
        ("single-wheel", {"soil_depth": "-2 cm"}, "soil_depth"),
        ("single-wheel", {"soil_below": "clay"}, "soil_below 'clay': give soil_depth too"),
        ("robot", {"soil_below": "clay"}, "below: 'clay' is not allowed without a depth"),
        ("robot", {"soil_depth": 0.1, "soil_depth_map": "a.png"}, "soil_depth and soil_depth_map are both given"),
    ],
)
def test_wrong_depths_are_refused_in_one_line(tmp_path, scenario, changes, words):
    with pytest.raises(InputError, match=words):
        grouser.run(scenario, changes, out=tmp_path / "out", report=False)


def test_tracks_refuse_soil_with_a_bottom():
    ground = Ground(flat(size=(1, 1), spacing=0.25), soil("clay"), 0.05, depth=0.1)
    with pytest.raises(InputError, match="tracks: a ground with a depth is not allowed"):
        SoilGround(ground)
