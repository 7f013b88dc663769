"""Worlds with soils, terrains and resets of their own: each has the bits of a run in which it is alone."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import warp as wp

from grouser.contact.soil import SoilModule, SoilOptions, prepare, wheel
from grouser.contact.soil import types as t
from grouser.contact.soil.soil_table_kernels import FIELDS
from grouser.errors import InputError
from grouser.simulation.shapes import box
from grouser.terrain import flat, soil
from grouser.terrain.elevation import ElevationGrid
from grouser.terrain.ground import Ground
from grouser.terrain.soils import Soil
from tests.rig import ManufacturedMotion

STEP = 5e-3
SOILS = [soil("dry-sand"), soil("clay").replace(compression=0.5), soil("lunar-nominal")]
LEVEL = flat(size=(1.2, 1), spacing=0.2, origin=(-0.4, -0.5))
THREADS = ["per-world", "per-team"]


def rig(
    soils: Sequence[Soil], terrain: ElevationGrid | Sequence[ElevationGrid] = LEVEL, *, options: Any = None, **more: Any
) -> ManufacturedMotion:
    """A wheel and a plate in each world, on a soil of its own."""
    ground = Ground(terrain, spacing=0.01, worlds=len(soils), world_soils=soils, **more)
    bodies = {"wheel": wheel(0.15, 0.1), "plate": prepare(*box(np.array([0.08, 0.05, 0.02])))}
    module, dtype = SoilModule(ground, bodies, SoilOptions(**(options or {}))), more.get("dtype", "float64")
    return ManufacturedMotion(module, worlds=len(soils), step=STEP, dtype=dtype)


def drive(made: ManufacturedMotion, first: int, last: int, rises: Sequence[float] | None = None) -> None:
    """The wheel slips and digs, the plate sinks. `rises` [m] of the ground of each world below the bodies."""
    lift = np.zeros((made.worlds, 1, 3))
    lift[:, 0, 2] = rises if rises is not None else 0.0
    for k in range(first, last):
        time = k * STEP
        places = [[0.1 * time, 0.001, 0.15 - 0.05 * min(time, 0.4)], [-0.15, 0.03, 0.02 - 0.03 * time]]
        speeds = [[0.1, 0, -0.05 if time < 0.4 else 0.0], [0, 0, -0.03]]
        made.place(
            position=lift + places, rotation=made.rotation, velocity=np.array([speeds]),
            spin=np.array([[[0, 1.5, 0], [0, 0, 0]]]),
        ).advance()  # fmt: skip


def assert_world_is(made: ManufacturedMotion, world: int, alone: ManufacturedMotion, among: int = 0) -> None:
    """A world has the outputs, the state and the ground that world `among` of another rig has."""
    for name in ("wrench", "implicit", "status"):
        one, other = getattr(made.out, name).numpy()[world], getattr(alone.out, name).numpy()[among]
        assert np.array_equal(one, other), name
    states = made.module.arrays.layout.state, alone.module.arrays.layout.state
    for name, array in states[0].items():
        own, other = array.numpy().reshape(made.worlds, -1), states[1][name].numpy().reshape(alone.worlds, -1)
        # Windows have room for the weakest soil of all; numbers of soils count on from world to world.
        if name != "soil" and own.shape[1] == other.shape[1]:
            assert np.array_equal(own[world], other[among]), name
    assert np.array_equal(made.module.ground.heights(world), alone.module.ground.heights(among))


@pytest.mark.parametrize("threads", THREADS)
def test_a_world_on_its_own_soil_is_not_changed_by_the_worlds_beside_it(threads):
    options = {"threads": threads}
    together = rig(SOILS, options=options)
    drive(together, 0, 60)
    for world, own in enumerate(SOILS):
        alone = rig([own], options=options)
        drive(alone, 0, 60)
        assert_world_is(together, world, alone)
    forces = together.wrench[:, 0, 2]
    assert len(set(forces.tolist())) == len(SOILS), "the soils differ"


def test_soils_of_worlds_are_those_of_a_ground_with_one_soil():
    together = rig(SOILS)
    drive(together, 0, 60)
    for world, own in enumerate(SOILS):
        ground = Ground(LEVEL, own, 0.01)
        alone = ManufacturedMotion(SoilModule(ground, together.module.surfaces), step=STEP)
        drive(alone, 0, 60)
        assert np.array_equal(together.wrench[world], alone.wrench[0])
        assert np.array_equal(together.module.ground.heights(world), ground.heights())


@pytest.mark.parametrize("threads", THREADS)
def test_a_reset_in_mid_run_is_a_fresh_start_and_leaves_the_others(threads):
    options = {"threads": threads}
    going, other, fresh = (rig(SOILS, options=options) for _ in range(3))
    drive(going, 0, 40)
    drive(other, 0, 40)
    mask = wp.array([0, 1, 0], dtype=wp.int32, device="cpu")
    going.module.reset(mask)
    for array in vars(going.out).values():
        array.numpy()[1] = 0
    position = going.position.copy()
    drive_to(going, fresh, world=1)
    going.module.commit_worlds(STEP, mask)
    fresh.module.commit(STEP)
    going.evaluate()
    fresh.evaluate()
    assert_world_is(going, 1, fresh, 1)
    for world in (0, 2):
        assert np.array_equal(position[world], going.position[world])
        assert_world_is(going, world, other, world)


def drive_to(going: ManufacturedMotion, fresh: ManufacturedMotion, world: int) -> None:
    """Put the bodies of one world, and all of a fresh rig, in a place of their own."""
    at = np.array([[0.1, 0.0, 0.14], [0.4, 0.1, 0.015]])
    position, velocity, spin = going.position.copy(), going.velocity.copy(), going.spin.copy()
    position[world], velocity[world], spin[world] = at, 0, 0
    going.place(position, going.rotation, velocity, spin)
    fresh.place(np.broadcast_to(at, fresh.position.shape), fresh.rotation, np.zeros(3), np.zeros(3))


def test_soils_drawn_anew_are_those_of_a_fresh_start():
    going, fresh = rig(SOILS), rig([SOILS[0], SOILS[0], SOILS[2]])
    fields = {name: [getattr(SOILS[0], name) for _ in SOILS] for name in FIELDS if getattr(SOILS[0], name) is not None}
    going.module.set_soil([1], fields)
    going.module.reset([1])
    drive(going, 0, 40)
    drive(fresh, 0, 40)
    for world in range(3):
        assert_world_is(going, world, fresh, world)
    assert going.module.soils.soil_of(1).k_phi == SOILS[0].k_phi


@pytest.mark.parametrize(("dtype", "digits"), [("float64", 1e-13), ("float32", 2e-7)])
def test_constants_that_the_device_derives_are_those_of_the_host(dtype, digits):
    table = rig(SOILS, dtype=dtype).module.soils
    host = {name: array.numpy().copy() for name, array in table.state().items()}
    table.keep_values()
    for array in table.state().values():
        array.zero_()
    table._derive(wp.ones(3, dtype=wp.int32, device="cpu"))
    for name, array in table.state().items():
        there, here = host[name], array.numpy()
        for field in there.dtype.names or [...]:
            size = np.abs(there[field])
            if name == "soil_powers":  # coefficients are differences of powers: as right as the largest of an interval
                size = size.max(axis=-1, keepdims=True)
            assert (np.abs(here[field] - there[field]) <= digits * size).all(), f"{name} {field}"


def test_values_on_the_device_change_the_chosen_worlds_and_wrong_ones_leave_a_world_as_it_is():
    table = rig(SOILS).module.soils
    table._on_host = False  # as on CUDA
    table.keep_values()
    before = table.soils.numpy()["k_phi"].copy()
    mask = wp.array([1, 1, 0], dtype=wp.int32, device="cpu")
    table.set_values(mask, {"k_phi": wp.array([1e6, -1.0, 1e6], dtype=wp.float32, device="cpu"), "n": 0.9})
    assert table.refused.numpy().tolist() == [0, 1, 0]
    assert table.soils.numpy()["k_phi"].tolist() == [1e6, *before[1:]]
    assert table.soils.numpy()["n"].tolist() == [0.9, SOILS[1].n, SOILS[2].n]
    assert (table.soil_of(0).k_phi, table.soil_of(0).n) == (1e6, 0.9)
    table.set_soils([2], [(SOILS[0],)])
    assert table.soils.numpy()["k_phi"][2] == SOILS[0].k_phi


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"stickiness": 1.0}, "soil: constant 'stickiness' is not known"),
        ({"k_phi": [1.0, 2.0]}, r"soil: k_phi has shape \(2,\); allowed is \(3,\)"),
        ({"n": -1.0}, "n"),
    ],
)
def test_wrong_constants_are_refused(fields, said):
    with pytest.raises(InputError, match=said):
        rig(SOILS).module.set_soil([0, 1, 2], fields)


def test_worlds_that_share_a_soil_cannot_draw_their_own():
    made = ManufacturedMotion(SoilModule(Ground(LEVEL, SOILS[0], 0.01), {"wheel": wheel(0.15, 0.1)}), step=STEP)
    with pytest.raises(InputError, match="all worlds share one"):
        made.module.set_soil([0], {"n": 1.0})


def test_worlds_stand_on_terrains_of_their_own():
    terrains = [LEVEL, LEVEL.moved(z=0.3), ramp_like(LEVEL)]
    together = rig([SOILS[0]] * 3, terrains)
    assert [together.module.ground.terrain_of(w) for w in range(3)] == terrains
    drive(together, 0, 40, rises=[0, 0.3, 0])
    for world, terrain in enumerate(terrains):
        alone = rig([SOILS[0]], terrain)
        drive(alone, 0, 40, rises=[0.3 * (world == 1)])
        assert_world_is(together, world, alone)
    together.module.ground.set_terrain([2], 0)
    together.module.reset([2])
    assert together.module.ground.heights(2).max() == 0


def ramp_like(level: ElevationGrid) -> ElevationGrid:
    """A terrain of the same nodes that rises by 5 % along x."""
    return dataclasses.replace(level, heights=level.heights + 0.05 * (level.x - level.x[0]))


def test_terrains_of_another_size_are_refused():
    with pytest.raises(InputError, match="terrain: number 1 has other nodes"):
        Ground([LEVEL, flat(size=(2, 2))], SOILS[0])


def test_fixed_capacity_says_that_a_world_has_no_tile_left():
    made = rig(SOILS, capacity=2, fixed=True)
    drive(made, 0, 10)
    assert made.module.ground.capacity == 2
    assert (made.out.status.numpy() == t.TILES_FULL).any(axis=1).all()
    reason, fatal = made.module.explain(t.TILES_FULL)
    assert "tiles" in reason
    assert fatal


def test_volume_is_kept_in_every_world():
    made = rig(SOILS)
    drive(made, 0, 80)
    assert made.module.volume_error().max() < 1e-9


@pytest.mark.parametrize("threads", THREADS)
def test_worlds_that_share_scratch_have_the_bits_of_worlds_that_do_not(threads):
    apart, sharing = (rig(SOILS, options={"threads": threads, "worlds_at_once": n}) for n in (3, 2))
    drive(apart, 0, 60)
    drive(sharing, 0, 60)
    for world in range(3):
        assert_world_is(sharing, world, apart, world)
    assert sharing.module.memory() < apart.module.memory()
