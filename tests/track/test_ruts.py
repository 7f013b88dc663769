"""Ruts of tracks in plastic soil: their sides slide, and no soil is lost."""

import numpy as np
import pytest

from grouser.scenarios import tracked_machine as tracked
from grouser.terrain.generators import flat
from grouser.terrain.ground import Ground
from grouser.terrain.soils import soil
from grouser.track import SoilGround, TrackModule
from grouser.track import ground as track_ground

TOO_STEEP = 1.01  # of the slope limit: soil starts to slide 0.5 % above it, and is looked at every 10 ms
ROUND_OFF = 1e-12
RUT_TOLERANCE = 0.005  # of the depth, mean square over the rut: what waiting 5 ms changes
SPEED, DRIVEN = 2.0, 1.3  # [m/s], [s] after settling


@pytest.fixture(scope="module")
def driven():
    """A bulldozer that has driven off on dry sand, with slides and without them."""
    out = {}
    for erosion in (True, False):
        settings = tracked.MachineSettings(plastic={"name": "dry-sand"})
        ground = Ground(flat(size=(30.0, 10.0), spacing=1.0, origin=(-10.0, -5.0)), soil("dry-sand"), 0.05)
        sim = tracked.simulate(
            settings, tracked.ramped([(0.5, SPEED, SPEED)]), standing=SoilGround(ground, erosion=erosion)
        )
        sim.step(round((0.5 + DRIVEN) / settings.step))
        out[erosion] = sim
    return out


def _behind(sim) -> np.ndarray:
    """Heights [m] of the ground that the tracks have left."""
    rear = float(sim.data.xpos[sim.model.body("chassis").id][0]) - 0.5  # behind the shoes round the sprockets
    return sim.ground.heights(region=(-1.0, rear, -3.0, 3.0))


def _steepest(heights: np.ndarray, spacing: float) -> float:
    return max(float(np.abs(np.diff(heights, axis=axis)).max()) for axis in (0, 1)) / spacing


def test_soil_slides_at_the_sides_of_ruts(driven):
    limit = soil("dry-sand").slope_limit
    slid, stands = (_behind(driven[erosion]) for erosion in (True, False))
    assert slid.min() < -0.05, "there is a rut"
    assert _steepest(slid, 0.05) <= TOO_STEEP * limit
    assert _steepest(stands, 0.05) > 2 * limit, "without slides its walls stand"


def test_no_soil_is_lost(driven):
    """The change of all heights is what was compressed, summed over the grid, not by the module's own account."""
    for sim in driven.values():
        module = sim.modules[0]
        assert isinstance(module, TrackModule)
        assert module.volume_error().max() < ROUND_OFF
        removed, owed = (float(getattr(module._ruts, name).numpy().sum()) for name in ("removed", "owed"))
        rise = float(sim.ground.heights().sum())
        compressed = soil("dry-sand").compression * removed
        assert removed > 1.0
        assert rise == pytest.approx(-compressed - owed, abs=1e-9 * removed)


def test_a_run_on_soil_that_slides_continues_bit_for_bit(driven):
    sim = driven[True]
    saved = sim.checkpoint()
    ends = []
    for _ in range(2):
        sim.step(25)  # longer than the time between two looks at the slopes
        ends.append((sim.data.qpos.copy(), sim.ground.heights(region=(-1.0, 8.0, -3.0, 3.0))))
        sim.restore(saved)
    assert all(np.array_equal(a, b) for a, b in zip(*ends, strict=True))


def test_ruts_left_now_and_then_are_as_deep_as_those_of_every_step(monkeypatch):
    depths = {}
    for interval in (1e-3, track_ground.RUT_INTERVAL, 0.1):
        monkeypatch.setattr(track_ground, "RUT_INTERVAL", interval)
        ground = Ground(flat(size=(30.0, 10.0), spacing=1.0, origin=(-10.0, -5.0)), soil("dry-sand"), 0.05)
        settings = tracked.MachineSettings(plastic={"name": "dry-sand"})
        sim = tracked.simulate(
            settings, tracked.ramped([(0.0, SPEED, SPEED)]), standing=SoilGround(ground, erosion=False)
        )
        sim.step(1000)
        depths[interval] = -_behind(sim)
    every, now_and_then, seldom = depths.values()
    rut = every > 0.05
    assert rut.sum() > 100

    def off(heights) -> float:
        return float(np.sqrt(np.mean((heights[rut] / every[rut] - 1) ** 2)))

    assert off(now_and_then) < RUT_TOLERANCE < off(seldom)
