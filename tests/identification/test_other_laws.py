"""How often data of another law are flagged, over soils of the prior. `-s` prints the counts of docs/identify.md."""

import numpy as np
import pytest

from grouser.identification.constants import STRESS, Prior
from grouser.identification.data import read_measurements
from grouser.identification.likelihood import Likelihood, exact_curves
from grouser.identification.posterior import posterior
from grouser.terrain.soils import soil
from tests.identification.synthetic import janosi, plates, shear

SOILS = 40
LAYER = 0.06  # [m] depth of the thin layer; plates sink in by up to 0.04 m


def saturating(soil, width, z):
    """Pressure that rises to a limit."""
    return (soil.k_c / width + soil.k_phi) * 0.03**soil.n * (1 - np.exp(-z / 0.015))


def thin_layer(soil, width, z):
    """Bekker's law in a layer over hard ground: near a power of the depth, so that another n can stand for it."""
    return (soil.k_c / width + soil.k_phi) * (-LAYER * np.log1p(-z / LAYER)) ** soil.n


def peaked(soil, pressure, j):
    """Dense soil: a peak of the stress."""
    return janosi(soil, pressure, j) * (1 + 0.4 * np.exp(-(((j - 0.012) / 0.006) ** 2)))


def flagged(names, kind, make, law):
    prior, rng, count = Prior.of(names, soil("dry-sand")), np.random.default_rng(21), 0
    for k in range(SOILS):
        truth = prior.soil(prior.draw(1, rng)[0], "truth")
        curves = tuple(exact_curves(read_measurements({kind: make(truth, rng, law)})))
        count += posterior(prior, Likelihood(curves), seed=k, effective=300).checks[0].deviates
    print(f"{law.__name__}: {count} of {SOILS} flagged")
    return count / SOILS


@pytest.mark.nightly
def test_laws_that_no_constants_can_stand_for_are_flagged():
    assert flagged(STRESS[:3], "plates", plates, saturating) >= 0.9
    assert flagged(STRESS[3:], "shear", shear, peaked) >= 0.9


@pytest.mark.nightly
def test_a_thin_layer_is_not_always_seen():
    """A known limit, stated in docs/identify.md: constants of deep soil can stand for many thin layers."""
    assert 0.2 <= flagged(STRESS[:3], "plates", plates, thin_layer) < 1.0
