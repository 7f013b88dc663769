"""Slip of the tracks of a bulldozer at a steady pull, over whole link pitches."""

import pytest

from benchmarks.track_slip import slip

NONE = 2e-3  # the chain is longer than its teeth say by T / K (0.7e-3 at rest), and each pitch ends with another ripple


def test_shoes_turn_about_the_tips_of_their_grousers_and_run_ahead():
    """Without a pull the chain lays itself down nearly as its pitch says, with grousers farther apart."""
    plain, with_grousers = slip(grousers=0), slip(grousers=1)
    assert plain == pytest.approx(0.0, abs=NONE)
    assert -6 * NONE < with_grousers < plain - 2 * NONE


@pytest.mark.long
def test_slip_grows_with_the_pull():
    slips = [slip(pull) for pull in (0.0, 25e3, 60e3, 100e3)]
    assert slips == sorted(slips)
    assert slips[2] - slips[0] > 6e-3
    assert slips[3] > 0.01
