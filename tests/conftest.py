"""What all tests share: repeatable property tests, quiet libraries, one worker for the batch tests."""

from __future__ import annotations

import os

import pytest

os.environ.setdefault("MPLBACKEND", "Agg")

try:
    import hypothesis
except ImportError:  # a GPU machine that can install nothing runs tests/gpu without it
    pass
else:
    # No deadline: the first example of a test may compile kernels. The same examples every time.
    hypothesis.settings.register_profile("grouser", deadline=None, derandomize=True, max_examples=50)
    hypothesis.settings.load_profile("grouser")


@pytest.hookimpl(tryfirst=True)  # before xdist deals the tests out
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """MuJoCo Warp compiles for a minute and takes much memory: its tests stay on one worker."""
    for item in items:
        if item.get_closest_marker("batch"):
            item.add_marker(pytest.mark.xdist_group("batch"))
