"""The thread beside the caller: every call is served once, also when it slept, and it ends with its owner."""

import gc
import threading
import time

import numpy as np
import warp as wp

from grouser.track.types import SEEN, SERVED
from grouser.track.worker import Worker

module = wp.get_module("tests.track.worker")
module.options["enable_backward"] = False


@wp.kernel(module=module)
def count_up(post: wp.array(dtype=wp.int32), count: wp.array(dtype=wp.int32)):
    if post[wp.static(SEEN)] != post[wp.static(SERVED)]:
        count[0] = count[0] + 1


def threads() -> int:
    return sum(thread.name == "track" for thread in threading.enumerate())


def test_every_call_is_served_once():
    before, count = threads(), wp.zeros(1, dtype=wp.int32, device="cpu")
    worker = Worker()
    inputs = [worker.post, count]
    worker.prepare(lambda: wp.launch(count_up, dim=1, inputs=inputs, device="cpu"))
    pauses = np.concatenate([np.zeros(300), np.random.default_rng(3).choice([0.0, 1e-5, 3e-4, 5e-3], 60)])
    for n, pause in enumerate(pauses):  # the longer ones find it asleep
        time.sleep(pause)
        worker.start()
        worker.wait()
        assert count.numpy()[0] == n + 1
    assert threads() == before + 1
    del worker
    gc.collect()
    for _ in range(100):
        if threads() == before:
            return
        time.sleep(0.01)
    raise AssertionError("the thread goes on without its owner")
