"""A core for the dynamics alone."""

import os
import threading

import pytest

from grouser.commands.cpu_affinity import pinned_to
from grouser.errors import InputError
from tests.waiting import PATIENCE

pytestmark = pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="Linux only")


def test_the_stepping_thread_has_the_core_and_others_do_not():
    allowed = os.sched_getaffinity(0)
    core, seen, ready, done = min(allowed), [], threading.Event(), threading.Event()

    def other():
        ready.set()
        done.wait(PATIENCE)
        seen.append(os.sched_getaffinity(0))

    thread = threading.Thread(target=other)
    thread.start()
    assert ready.wait(PATIENCE)
    with pinned_to(core):
        assert os.sched_getaffinity(0) == {core}
        done.set()
        thread.join(PATIENCE)
    assert seen == [allowed - {core} or allowed]
    assert os.sched_getaffinity(0) == allowed


def test_nothing_is_done_where_nothing_is_asked_for():
    before = os.sched_getaffinity(0)
    with pinned_to(None):
        assert os.sched_getaffinity(0) == before


def test_a_core_that_is_not_there_is_refused():
    with pytest.raises(InputError, match="--pin-core 4096: allowed are"), pinned_to(4096):
        pass
