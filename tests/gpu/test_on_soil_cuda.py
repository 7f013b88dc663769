"""Many worlds of a robot on CUDA: arrays on the device, resets by a mask, soils drawn there, what is refused."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp

import grouser
from grouser.contact.soil import SoilOptions
from grouser.errors import InputError, RunStopped
from grouser.simulation.simulation import Simulation
from grouser.terrain import soil

pytestmark = pytest.mark.gpu
WORLDS = 64
SAND = soil("dry-sand")


def carts(device: str = "cuda", soils=None, **more) -> Simulation:
    """Carts that drive, on soils from half to twice the stiffness of dry sand."""
    given = [SAND.replace(k_phi=SAND.k_phi * 2 ** (2 * k / WORLDS - 1)) for k in range(WORLDS)]
    worlds = more.pop("worlds", WORLDS)
    return grouser.on_soil(
        grouser.CART, given[:worlds] if soils is None else soils, "wheel.*", drive={"motor.*": 0.4}, worlds=worlds,
        device=device, **more,
    )  # fmt: skip


def sinkage(sim: Simulation) -> np.ndarray:
    seen = sim.observe()["soil/sinkage"]
    return np.array(seen.numpy() if isinstance(seen, wp.array) else seen)


def bits(sim: Simulation, worlds: list[int]) -> list[bytes]:
    return [array.numpy()[worlds].tobytes() for array in (sim.qpos, sim.qvel)] + [sinkage(sim)[worlds].tobytes()]


@pytest.fixture(scope="module")
def sim() -> Simulation:
    return carts()


@pytest.mark.skipif(not wp.is_cpu_available(), reason="Warp was packed without its compiler for the CPU")
def test_carts_on_their_own_soils_are_those_of_the_cpu(sim):
    sim.reset()
    reference = carts("cpu")
    sim.step(40)
    reference.step(40)
    np.testing.assert_allclose(sinkage(sim), sinkage(reference), rtol=1e-3)
    assert np.ptp(sinkage(sim)[:, 0]) > 0.2 * sinkage(sim)[:, 0].mean(), "the soils differ"


def test_a_reset_by_a_mask_is_a_fresh_start_and_the_others_go_on(sim):
    sim.reset()
    sim.step(20)
    fresh, others = bits(sim, [5, 9]), [k for k in range(WORLDS) if k not in (5, 9)]
    sim.step(20)
    later = bits(sim, others)
    sim.reset()
    sim.step(20)
    mask = np.zeros(WORLDS, bool)
    mask[[5, 9]] = True
    sim.reset(wp.array(mask, dtype=wp.bool, device="cuda"))
    sim.step(20)
    assert bits(sim, [5, 9]) == fresh
    assert bits(sim, others) == later


def test_worlds_that_share_scratch_have_the_same_bits(sim):
    sim.reset()
    sim.step(20)
    sharing = carts(options=SoilOptions(worlds_at_once=24))
    sharing.step(20)
    everyone = list(range(WORLDS))
    assert bits(sharing, everyone) == bits(sim, everyone)
    assert sharing.soil.memory() < sim.soil.memory()


def test_soils_are_drawn_on_the_device(sim):
    given = np.full(WORLDS, np.nan)
    given[3], given[4] = 2 * SAND.k_phi, -1.0
    before = [sim.soil.soils.soil_of(world).k_phi for world in (2, 4)]
    sim.set_soil(None, k_phi=wp.array(given, dtype=wp.float64, device="cuda"))
    assert sim.soil.soils.soil_of(3).k_phi == 2 * SAND.k_phi
    assert [sim.soil.soils.soil_of(world).k_phi for world in (2, 4)] == before
    assert np.flatnonzero(sim.soil.soils.refused.numpy()).tolist() == [4]
    drawn = carts(soils=lambda rng: SAND.replace(k_phi=rng.uniform(5e5, 2e6)), worlds=2)
    first = [drawn.soil.soils.soil_of(world).k_phi for world in range(2)]
    drawn.reset([1])
    assert drawn.soil.soils.soil_of(0).k_phi == first[0]
    assert drawn.soil.soils.soil_of(1).k_phi != first[1]


def test_a_failed_world_stands_still_and_is_counted(sim):
    sim.reset()
    controls = sim.ctrl.numpy()
    controls[7] = np.nan
    sim.ctrl.assign(controls)
    sim.step(5)
    assert np.flatnonzero(sim.diverged.numpy()).tolist() == [7]
    sim.reset_diverged()
    assert not sim.diverged.numpy().any()
    assert np.flatnonzero(sim.failures.numpy()).tolist() == [7]


def test_tiles_that_run_out_and_memory_that_is_too_small_are_one_line():
    few = carts(worlds=2, tiles=4)
    with pytest.raises(RunStopped, match="ran out of tiles"):
        few.step(300)
    with pytest.raises(InputError, match=r"worlds: 100000 take .* GiB .*: allowed are \d+ worlds"):
        carts(soils="dry-sand", worlds=100000, tiles=500)


def test_four_thousand_carts_stand_on_the_default_ground():
    many = carts(soils="dry-sand", worlds=4096)
    many.step(2)
    assert not many.diverged.numpy().any()


def test_torch_shares_the_arrays(sim):
    torch = pytest.importorskip("torch")
    sim.reset()
    ctrl = wp.to_torch(sim.ctrl)
    ctrl[:] = 0.0
    assert not sim.ctrl.numpy().any()
    sim.step(5)
    mask = torch.zeros(WORLDS, dtype=torch.bool, device="cuda")
    mask[0] = True
    sim.reset(mask)
    assert sim.ctrl.numpy()[0] == pytest.approx(0.4)
    assert wp.to_torch(sim.observe()["soil/force"]).shape == (WORLDS, 4, 3)
