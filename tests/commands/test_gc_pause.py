"""Garbage collection is paused while modules load, and complete afterwards."""

import gc

import pytest

from grouser.commands.gc_pause import gc_paused


def test_collection_resumes_and_nothing_stays_frozen():
    assert gc.isenabled()
    with gc_paused() as resume:
        assert not gc.isenabled()
        resume()
        assert gc.isenabled()
        assert gc.get_freeze_count() > 0
    assert gc.isenabled()
    assert gc.get_freeze_count() == 0
    with pytest.raises(ValueError, match="lost"), gc_paused():
        raise ValueError("lost")
    assert gc.isenabled()
