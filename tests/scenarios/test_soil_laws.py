"""`--set laws=…` chooses the papers' own laws in every scenario on plastic soil."""

from __future__ import annotations

import numpy as np
import pytest

from grouser.contact.soil import SoilModule
from grouser.errors import InputError
from grouser.scenarios import registry
from grouser.scenarios.settings import from_python
from grouser.scenarios.soil_choice import SoilChoice
from grouser.scenarios.soil_laws import SoilLaws

STEPS = 20
ON_SOIL = [
    name
    for name in registry.NAMES
    if (field := registry.scenario(name).settings.model_fields.get("soil")) and field.annotation is SoilChoice
]


def test_the_soil_scenarios_are_found():
    assert set(ON_SOIL) == {
        "blade", "exomars-drawbar", "exomars-gradeability", "multi-pass", "plate-sinkage", "robot", "rocks-and-sand",
        "rover-course", "single-wheel", "traverse",
    }  # fmt: skip


@pytest.mark.parametrize("name", ON_SOIL)
def test_every_soil_scenario_runs_by_the_laws_of_a_paper(name):
    scenario = registry.scenario(name)
    assert issubclass(scenario.settings, SoilLaws)
    sim = scenario.build(scenario.settings(laws="krenn2009", deposit_exponent=3.0, erosion_sweeps=4))
    modules = [module for module in sim.modules if isinstance(module, SoilModule)]
    assert modules
    for module in modules:
        if module.name != "soil-cover":  # multi-pass has the default laws beside those of the paper
            assert (module.options.laws, module.options.deposit_exponent, module.options.sweeps) == (
                "krenn2009",
                3.0,
                4,
            )
    sim.reset()
    for _ in range(STEPS):
        sim.step()
    for module in modules:
        assert np.isfinite(module.observe()["force"]).all()


def test_a_setting_that_contradicts_the_laws_is_refused():
    chosen = from_python("single-wheel", {"laws": "krenn2008", "friction": "mohr-coulomb"})
    with pytest.raises(InputError, match="contradicts laws: 'krenn2008', which needs 'coulomb'"):
        chosen.scenario.build(chosen.settings)
