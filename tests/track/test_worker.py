"""The thread beside the caller: every call is served once, also when it slept, and it ends with its owner."""

import gc
import threading
import time

import numpy as np
import warp as wp

from grouser.launches import Launches
from grouser.track.worker import Worker
from tests.waiting import eventually

module = wp.get_module("tests.track.worker")
module.options["enable_backward"] = False


@wp.kernel(module=module)
def count_up(enabled: wp.array(dtype=wp.int32), count: wp.array(dtype=wp.int32)):
    if enabled[0] == 1:
        count[0] = count[0] + 1


def threads() -> int:
    return sum(thread.name == "track" for thread in threading.enumerate())


def recorded(worker: Worker, count: wp.array) -> Launches:
    def record(launch) -> None:
        worker.call(launch, lambda launch, enabled: launch(count_up, 1, [enabled, count]))
        worker.wait(launch)

    return Launches(record)


def test_every_call_is_served_once_and_never_by_what_was_recorded_before():
    before, worker = threads(), Worker()
    pauses = np.concatenate([np.zeros(300), np.random.default_rng(3).choice([0.0, 1e-5, 3e-4, 5e-3], 60)])
    for _ in range(3):
        count = wp.zeros(1, dtype=wp.int32, device="cpu")
        calls = recorded(worker, count)
        for n, pause in enumerate(pauses):  # the longer ones find it asleep
            time.sleep(pause)
            worker.wake()
            calls.run()
            assert count.numpy()[0] == n + 1
    assert threads() == before + 1
    del worker
    gc.collect()
    eventually(lambda: threads() == before, "the thread ends with its owner")


def test_work_is_done_without_the_thread():
    worker, count = Worker(), wp.zeros(1, dtype=wp.int32, device="cpu")
    worker._thread.close()
    calls = recorded(worker, count)
    for _ in range(5):
        calls.run()
    assert count.numpy()[0] == 5
