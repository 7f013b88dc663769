"""What a fast wheel and a sliding foot feel does not depend on the step: bodies on prescribed paths."""

from __future__ import annotations

import numpy as np
import pytest

from grouser.contact.soil import SoilModule, SoilOptions, prepare, wheel
from grouser.contact.soil import types as t
from grouser.simulation.shapes import _arc, revolved
from grouser.terrain import flat, soil
from grouser.terrain.ground import Ground
from tests.rig import ManufacturedMotion, SteadyMotion

SAND = soil("dry-sand")
LONG, SHORT = 5e-3, 5e-4  # [s] the default step of a machine on wheels, and one that is short enough for all here
SECOND_ORDER = 0.2  # of (h v)^2 / 2R, which a prediction by velocity alone leaves out; the facets of the wheel are left
FAST = (
    0.05  # of the load, for pull and torque too: 2 % of sinkage, which the default step keeps to, are 4 % of the load
)
CARRIED = 0.1  # of what soil that is carried away takes off the yield pressure: the slope of the rim changes in a step
SLIDING = 0.05  # of the force on a sliding foot: what the default step keeps to
OTHER_GRID = 0.05, 0.15  # of drag and load: points on 10 mm against nodes on 3 mm, which carry a foot behind it too


def bed(surface, spacing: float = 0.01, material=SAND, **options) -> SoilModule:
    ground = Ground(flat(size=(3, 1), spacing=0.5, origin=(-0.5, -0.5)), material, spacing)
    return SoilModule(ground, {"body": surface}, SoilOptions(**options))


def predicted_and_true(step: float) -> np.ndarray:
    """Height [m] predicted for the end of a step of a rolling wheel, less the true one, at the nodes below it."""
    module = bed(wheel(0.13, 0.1))
    rig = ManufacturedMotion(module, step=step)
    path = SteadyMotion((0.0, 0.003, 0.11), velocity=(1.0, 0.0, 0.0), spin=(0.0, 8.0, 0.0))
    rig.place(*path(0.0), path.velocity, path.spin).advance()
    said, pressed = on_grid(module, module.arrays.prediction.end.numpy()["height"]), on_grid(module, under(module))
    rig.place(*path(step)).advance()
    error = said - on_grid(module, module.arrays.skin.height.numpy())
    return error[(pressed == 1) & (on_grid(module, under(module)) == 1)]


def under(module: SoilModule) -> np.ndarray:
    """Whether each node of the window is under the body."""
    marks = module.arrays.window.mark.numpy()
    return (marks == t.CONTACT) | (marks == t.HELD)


def on_grid(module: SoilModule, values: np.ndarray) -> np.ndarray:
    """Values of the nodes of the window, at their place in the grid; windows of two steps may differ."""
    side, frame = module.arrays.window.side, module.arrays.window.frame.numpy()[0]
    grid = np.full((module.ground.rows + side, module.ground.columns + side), np.nan)
    grid[frame["row0"] :, frame["column0"] :][:side, :side] = values[: side * side].reshape(side, side)
    return grid


def test_the_surface_of_a_rolling_wheel_is_predicted_to_second_order():
    errors = np.abs(predicted_and_true(LONG))
    assert len(errors) > 50
    assert errors.max() < SECOND_ORDER * LONG**2 / (2 * 0.13)


def levels_on_grid(module: SoilModule) -> list[np.ndarray]:
    return [on_grid(module, level) for level in module.arrays.window.levels.numpy().T]


def yield_pressures(module: SoilModule, material, levels: list[np.ndarray]) -> np.ndarray:
    """Yield pressure [Pa] under the body now: the loose cover's or that of the compacted soil, which reloads first."""
    surface = on_grid(module, module.arrays.skin.height.numpy())
    _, virgin, packed, packed_virgin = levels
    k = material.k_c * module.arrays.displacement.per_width.numpy()[0] + material.k_phi
    loose, firm = (k * np.maximum(level - surface, 0) ** material.n for level in (virgin, packed_virgin))
    return np.maximum(loose, np.minimum(firm, material.elastic_stiffness * (packed - surface)))


@pytest.mark.parametrize("chi", [0.0, 0.3])
def test_soil_that_a_wheel_carries_away_bears_as_little_at_the_end_of_the_step_as_is_said(chi):
    """20 mm deep at slip 0.3: a third of the sinkage of its front goes down, the rest ahead and along the rim."""
    material = SAND.replace(compression=chi)
    module = bed(wheel(0.13, 0.1), material=material, erosion=False)
    rig = ManufacturedMotion(module, step=LONG)
    path = SteadyMotion((0.0, 0.003, 0.11), velocity=(0.1, 0.0, 0.0), spin=(0.0, 0.1 / 0.7 / 0.13, 0.0))
    rig.follow(path, 200)
    end = module.arrays.prediction.end.numpy()
    said, presses = on_grid(module, end["yield_pressure"]), on_grid(module, end["yielding"])
    before = levels_on_grid(module)
    rig.follow(path, 1)
    presses = (presses == 1) & (on_grid(module, module.arrays.window.mark.numpy()) == t.CONTACT)
    true, late = (yield_pressures(module, material, levels) for levels in (levels_on_grid(module), before))
    assert presses.sum() > 30
    lost = (late - true)[presses].sum()
    assert lost > 1e-3 * true[presses].sum()
    assert np.abs(said - true)[presses].sum() < CARRIED * lost


def rolled(step: float) -> np.ndarray:
    """Mean wrench [N, N m], (6,) on a wheel that rolls through sand at 1 m/s and slip 0.1, 20 mm deep."""
    rig = ManufacturedMotion(bed(wheel(0.13, 0.1)), step=step)
    path = SteadyMotion((0.0, 0.0033, 0.11), velocity=(1.0, 0.0, 0.0), spin=(0.0, 1.0 / 0.9 / 0.13, 0.0))
    seen: list[np.ndarray] = []
    rig.follow(path, round(0.3 / step)).follow(path, round(0.4 / step), lambda: seen.append(rig.wrench[0, 0]))
    return np.mean(seen, axis=0)


def test_a_fast_wheel_is_carried_and_held_alike_at_every_step():
    fine, coarse = rolled(SHORT), rolled(LONG)
    load = fine[2]
    assert coarse[2] == pytest.approx(load, rel=FAST)
    assert coarse[0] == pytest.approx(fine[0], abs=0.2 * FAST * load)
    assert coarse[4] == pytest.approx(fine[4], rel=FAST)


def dragged(step: float, spacing: float = 0.01) -> np.ndarray:
    """Mean force [N], (3,) on a ball foot of 50 mm, pressed in by 15 mm and dragged at 0.2 m/s, without shear."""
    module = bed(prepare(*revolved(*_arc(0.025, 0.0))), spacing, SAND.replace(compression=1.0), friction="none")
    rig = ManufacturedMotion(module, step=step)
    seen: list[np.ndarray] = []

    def path(time: float):
        return np.array([0.2 * max(time - 0.1, 0.0), 0.0021, 0.025 - 0.15 * min(time, 0.1)]), rig.rotation[0, 0]

    rig.follow(path, round(0.3 / step)).follow(path, round(0.2 / step), lambda: seen.append(rig.wrench[0, 0, :3]))
    return np.mean(seen, axis=0)


def test_a_foot_that_slides_is_resisted_alike_at_every_step():
    fine, coarse = dragged(SHORT), dragged(LONG)
    assert fine[0] < 0
    assert coarse[0] == pytest.approx(fine[0], rel=SLIDING)
    assert coarse[2] == pytest.approx(fine[2], rel=SLIDING)


def test_a_foot_that_slides_is_resisted_by_points_as_by_nodes():
    points, nodes = dragged(2e-3), dragged(2e-3, spacing=0.003)
    assert points[0] == pytest.approx(nodes[0], rel=OTHER_GRID[0])
    assert points[2] == pytest.approx(nodes[2], rel=OTHER_GRID[1])
