"""The estimate of the step's error, from forces as a body would get them."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp

from grouser.contact.soil import SoilModule, step_error, wheel
from grouser.contact.soil import types as t
from grouser.device import at
from grouser.precision import precision
from grouser.terrain import flat, soil
from grouser.terrain.ground import Ground
from tests.contact.soil.test_contact_velocity import sole
from tests.device_call import call
from tests.rig import ManufacturedMotion

STEP = 5e-3
LEAKY = 0.02  # of the estimate: sums forget the past in steps


def judged(forces: np.ndarray) -> tuple[float, int]:
    """Estimate and status of a wheel that rests in sand, while the account books these vertical forces [N], (step,)."""
    ground = Ground(flat(size=(1, 1), spacing=0.25, origin=(-0.5, -0.5)), soil("dry-sand"), 0.005)  # fine enough
    rig = ManufacturedMotion(SoilModule(ground, {"wheel": wheel(0.13, 0.1)}), step=STEP)
    rig.place(position=(0.0, 0.0, 0.12), rotation=rig.rotation).advance()
    for force in forces:
        got = np.zeros((1, 1, 6))
        got[..., 2] = force
        rig.out.effective.assign(got)
        rig.module.commit(STEP)
        rig.evaluate()
    e = rig.module.arrays.energy.error.numpy()[0]
    return float(e["change"] / e["force"] / 2), int(rig.out.status.numpy()[0, 0])


@pytest.mark.parametrize(
    ("amplitude", "period", "status"),
    [(0.0, 50, t.FINE), (0.5, 200, t.FINE), (0.5, 50, t.TWICE), (0.5, 25, t.FIVE_TIMES), (0.5, 8, t.TEN_TIMES)],
)
def test_a_force_that_swings_is_judged_by_its_change_in_a_step(amplitude, period, status):
    """A sine of 1 + a sin: sum |dF| / 2 is 2 a in a period, over as many steps as it has."""
    k = np.arange(400)
    error, said = judged(50.0 * (1 + amplitude * np.sin(2 * np.pi * k / period)))
    assert error == pytest.approx(2 * amplitude / period, rel=0.2, abs=LEAKY * 0.05)
    assert said == status


@pytest.mark.parametrize(("radius", "surface"), [(0.13, wheel(0.13, 0.1)), (0.0, sole(0.1))], ids=["wheel", "sole"])
def test_the_soil_below_a_body_that_travels_lags(radius, surface):
    """By half of the travel over the length of the contact; below a wheel by its square over the radius."""
    p, speed = precision("float64"), 2.0
    ground = Ground(flat(size=(1, 1), spacing=0.25, origin=(-0.5, -0.5)), soil("dry-sand"), 0.005)
    rig = ManufacturedMotion(SoilModule(ground, {"body": surface}), step=STEP)
    rig.place(position=(0.0, 0.0, -float(surface.vertices[:, 2].min()) - 0.01), rotation=rig.rotation)
    for _ in range(round(1.5 * step_error.LOADED / STEP)):
        rig.advance()
    arrays = rig.module.arrays
    touched = arrays.displacement.touched.numpy()[0]
    length = 0.005 * (touched["column1"] - touched["column0"] + 1)
    assert length >= 0.1  # the chord; spoil lies at its ends
    travel = STEP * speed
    lag = travel**2 / (radius * step_error.LAGGING) if radius else travel / 2 / length
    before = arrays.energy.error.numpy()[0]["lag"]
    given = [arrays.by_name[name] for name in ("g", "o", "b", "disp", "energy")]
    judge = at(step_error.judge_step, "float64")
    verdict = call(judge, *given, 0, 0, p.vec3(speed, 0.0, 0.0), returns=wp.int32)
    force = float(np.linalg.norm(arrays.energy.account.numpy()[0]["force"]))
    assert before == 0.0
    assert arrays.energy.error.numpy()[0]["lag"] == pytest.approx(force * lag)
    assert verdict == t.FINE, "a single step in more than a second"
    for _ in range(200):  # as many as in a second
        verdict = call(judge, *given, 0, 0, p.vec3(speed, 0.0, 0.0), returns=wp.int32)
    after = arrays.energy.error.numpy()[0]
    assert verdict == expected(after["lag"] / after["force"]) > t.FINE


def test_nothing_is_said_before_a_body_has_carried_load():
    steps = int(step_error.LOADED / STEP) - 2
    forces = 50.0 * (1 + 0.1 * np.sin(np.arange(3 * steps)))
    assert judged(forces[:steps])[1] == t.FINE
    assert judged(forces)[1] == t.TWICE


@pytest.mark.parametrize(
    ("height", "steps", "status"), [(2, 9, t.FINE), (8, 4, t.TWICE), (12, 3, t.FIVE_TIMES), (20, 2, t.TEN_TIMES)]
)
def test_a_landing_is_judged_by_the_square(height, steps, status):
    """A blow of `height` loads with `steps` steps to either side, then rest."""
    up = np.linspace(0, height, steps + 1)[1:]
    blow = np.concatenate([[0.0], up, up[:-1][::-1], np.ones(40)])
    during = blow[1 : 1 + round(step_error.LANDING / STEP)]
    error = np.abs(np.diff(blow[: len(during) + 1])).sum() / 2 / during.sum()
    assert judged(50.0 * blow)[1] == status == expected(error**2)


def expected(error: float) -> int:
    return [t.FINE, t.TWICE, t.FIVE_TIMES, t.TEN_TIMES][int(np.searchsorted([0.02, 0.04, 0.1], error))]


def test_the_note_names_the_step():
    ground = Ground(flat(size=(1, 1), spacing=0.25, origin=(-0.5, -0.5)), soil("dry-sand"), 0.01)
    module = SoilModule(ground, {"wheel": wheel(0.13, 0.1)})
    ManufacturedMotion(module, step=STEP)
    text, stops = module.explain(t.FIVE_TIMES)
    assert "1 ms" in text
    assert "10 %" in text
    assert "inaccurate" in text
    assert not stops
