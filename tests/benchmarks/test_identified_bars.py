"""What the benchmark of identified wheels calls a missed bar, with made-up errors."""

import pytest

from benchmarks.identified_bars import missed_bars


def rows(errors, held, points=42):
    """Pulls with these errors, and so many points in the bands."""
    return [{"quantity": "pull", "errors": errors, "inside": [k < held for k in range(points)]}]


@pytest.mark.parametrize(
    ("errors", "held", "said"),
    [
        ([0.1, 0.149, 0.9], 39, []),
        ([0.1, 0.15, 0.2], 39, ["pull: median error 15 %, bar 15 %"]),
        ([0.1], 32, ["90 % bands hold 32 of 42 points: by chance 34 to 41"]),
        ([0.1], 42, ["90 % bands hold 42 of 42 points: by chance 34 to 41"]),
    ],
)
def test_bars_of_measured_wheels(errors, held, said):
    assert missed_bars(rows(errors, held)) == said


def test_a_median_is_over_all_sets_of_a_quantity():
    assert missed_bars([*rows([0.3], 19, 21), *rows([0.1, 0.1], 19, 21)]) == []
