"""The ground load of a bulldozer on level ground varies as the links pass below its rollers."""

import pytest

from benchmarks.track_bounce import bounce, heave_frequency

CONVERGED = 0.05  # relative: finer steps and markers change the bounce by less


@pytest.mark.long
def test_the_bounce_is_that_of_the_machine_not_of_the_step():
    as_it_is = bounce(0.8)
    assert as_it_is > 0.08
    assert bounce(0.8, markers=(8, 2)) == pytest.approx(as_it_is, rel=CONVERGED)
    assert bounce(0.8, step=0.5e-3) == pytest.approx(as_it_is, rel=CONVERGED)


@pytest.mark.long
def test_it_is_a_resonance_with_heave_which_road_arms_take_away():
    """Rollers lie 2.7 pitches apart: of the harmonics of the passing links the third acts on all of them together.

    On ground four times as stiff it meets the heave frequency, which is twice as high, at 0.58 m/s.
    """
    pitch, stiff = 0.2032, {"stiffness": 2e7}
    assert heave_frequency(2e7) * pitch / 3 == pytest.approx(0.6, rel=CONVERGED)
    assert heave_frequency(5e6) * pitch == pytest.approx(0.88, rel=CONVERGED)
    assert bounce(0.6, soil=stiff) > 2 * bounce(0.8, soil=stiff)
    fixed = bounce(0.8)
    assert fixed > 2 * bounce(0.6)
    assert bounce(0.8, rollers="road-arms") < 0.5 * fixed
