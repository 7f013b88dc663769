"""A plate pressed into soil carries what Bekker's law says, whatever the soil, the plate and the grid."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import grouser
from grouser.contact.soil import SoilModule, SoilOptions, prepare
from grouser.simulation.shapes import box
from grouser.terrain import flat, soil, soil_names
from grouser.terrain.ground import Ground
from tests.rig import ManufacturedMotion, quaternion

FORCE = 5e-3  # the bar: force against A (k_c/b + k_phi) z^n
EXPONENT = 5e-3  # what that bar lets the fitted exponent be off by
VOLUME = 1e-9  # the bar: round-off of a float64 run
EVEN_SHARE = 0.2  # of a cell's width over the plate's: what cells cut at a slant and counted as rectangles miss


def pressed(folder, **changes) -> dict:
    return grouser.run("plate-sinkage", changes, out=folder / "out", report=False).metrics


def held_to_the_bar(metrics: dict, n: float) -> None:
    assert metrics["force_error_rel"] < FORCE
    assert metrics["pressure_exponent"] == pytest.approx(n, rel=EXPONENT)
    assert metrics["volume_error_rel"] < VOLUME


@pytest.mark.parametrize("name", soil_names())
def test_every_soil_follows_bekker(tmp_path, name):
    held_to_the_bar(pressed(tmp_path, soil=name), soil(name).n)


@pytest.mark.parametrize("spacing", [0.01, 0.005])
@pytest.mark.parametrize(("length", "width"), [(0.1, 0.1), (0.3, 0.05), (0.1537, 0.0771), (0.077, 0.2013)], ids=str)
def test_size_and_edges_between_nodes_do_not_matter(tmp_path, length, width, spacing):
    changes = {"plate.length": length, "plate.width": width, "spacing": spacing, "depth": 0.03}
    held_to_the_bar(pressed(tmp_path, **changes), soil("dry-sand").n)


@pytest.mark.parametrize(
    "changes",
    [{"compression": 1.0}, {"compression": 0.0}, {"erosion": False}, {"speed": 0.05}, {"step": 1e-3}],
    ids=str,
)
def test_a_plate_pressed_straight_down_only_compacts(tmp_path, changes):
    """All of its displacement is sinkage (Krenn and Hirzinger 2009, eq. 6): share and mound do not matter."""
    held_to_the_bar(pressed(tmp_path, **changes), soil("dry-sand").n)


@pytest.mark.parametrize("load", [100.0, 500.0])
def test_a_load_instead_of_a_speed(tmp_path, load):
    """F = load at the end, so z = (load / (A k))^(1/n); the plate does not swing on the way there."""
    metrics = pressed(tmp_path, load=load)
    s = soil("dry-sand")
    held_to_the_bar(metrics, s.n)
    assert metrics["force_N"] == pytest.approx(load, rel=FORCE)
    assert metrics["sinkage_m"] == pytest.approx((load / (0.02 * s.pressure_modulus(0.1))) ** (1 / s.n), rel=FORCE)
    held_to_the_bar(metrics, s.n)


def force_on_plate(length: float, width: float, spacing: float, at, yaw: float, depth: float = 0.03) -> float:
    """Force over A k z^n on a plate put into the soil at once, anywhere."""
    material = soil("sandy-loam").replace(compression=1.0)
    ground = Ground(flat(size=(1.0, 1.0), spacing=0.25, origin=(-0.5, -0.5)), material, spacing)
    surface = prepare(*box(np.array([length / 2, width / 2, 0.02])), width=min(length, width))
    rig = ManufacturedMotion(SoilModule(ground, {"plate": surface}, SoilOptions(erosion=False)), step=5e-3)
    rig.place(position=(*at, 0.02 - depth), rotation=quaternion(np.array([0, 0, yaw]))).advance()
    k = material.pressure_modulus(min(length, width))
    return float(rig.wrench[0, 0, 2]) / (length * width * k * depth**material.n)


place = st.floats(-0.01, 0.01)
side = st.floats(0.06, 0.25)


@settings(max_examples=25)
@given(side, side, place, place, st.sampled_from([0.01, 0.005]))
def test_a_plate_may_lie_anywhere(length, width, x, y, spacing):
    assert force_on_plate(length, width, spacing, (x, y), 0.0) == pytest.approx(1, abs=FORCE)


@settings(max_examples=25)
@given(side, side, place, place, st.sampled_from([0.01, 0.005]), st.floats(-0.6, 0.6))
def test_a_plate_turned_on_the_grid_is_off_by_part_of_a_cell(length, width, x, y, spacing, yaw):
    bound = EVEN_SHARE * spacing / min(length, width)
    assert force_on_plate(length, width, spacing, (x, y), yaw) == pytest.approx(1, abs=bound)


def test_b_from_the_patch_when_none_is_given():
    """1/b = perimeter / (2 area) of the footprint, so a plate without a width of its own has b = l w / (l + w)."""
    length, width, depth = 0.2, 0.1, 0.03
    material = soil("clay").replace(compression=1.0, k_c=1e5)
    ground = Ground(flat(size=(1.0, 1.0), spacing=0.25, origin=(-0.505, -0.505)), material, 0.01)
    surface = prepare(*box(np.array([length / 2, width / 2, 0.02])))
    rig = ManufacturedMotion(SoilModule(ground, {"plate": surface}, SoilOptions(erosion=False)), step=5e-3)
    rig.place(position=(0, 0, 0.02), rotation=rig.rotation)
    for z in np.linspace(0.0, depth, 20):  # the patch of one step gives the b of the next
        rig.place(position=(0, 0, 0.02 - z)).advance()
    k = material.pressure_modulus(length * width / (length + width))
    assert rig.wrench[0, 0, 2] == pytest.approx(length * width * k * depth**material.n, rel=FORCE)
