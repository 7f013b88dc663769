"""The second thread of tracks: it is used where it makes steps shorter, and changes no number."""

import numpy as np
import pytest
import warp as wp

from grouser.contact.soil.stage_clock import ticks
from grouser.device import array, module
from grouser.launches import Launches
from grouser.scenarios import tracked_machine as tracked
from grouser.standby import Standby
from grouser.track import model, pace

MODULE = module("tests.track.pace")
SHORT, LONG = 20_000, 100_000  # [ticks] of steps; others who have the core for a while do not make up the difference


@wp.kernel(module=MODULE)
def step_of(pieces: array[int], with_one: int, with_two: int):
    """A step that lasts so many ticks with one thread or with two."""
    begun = ticks()
    lasts = wp.int64(with_one)
    if pieces[0] > 1:
        lasts = wp.int64(with_two)
    while ticks() - begun < lasts:
        pass


@pytest.mark.parametrize(("with_one", "with_two", "threads"), [(SHORT, LONG, 1), (LONG, SHORT, 2), (SHORT, SHORT, 1)])
def test_steps_run_with_the_threads_that_make_them_shorter(with_one, with_two, threads):
    paced, pieces = pace.new_pace(), wp.zeros(1, dtype=wp.int32, device="cpu")
    of_one_step = [0, 0]

    def record(launch) -> None:
        launch(pace.choose_threads, 1, [paced, pieces, 2])
        launch(step_of, 1, [pieces, with_one, with_two])

    steps = Launches(record)
    for n in range(pace.TRIAL + 10):
        steps.run()
        of_one_step[pieces.numpy()[0] - 1] += n < pace.TRIAL
    assert of_one_step == [pace.TRIAL // 2, pace.TRIAL // 2], "both are tried out"
    if with_one != with_two:  # equal steps differ by chance
        assert pace.chosen(paced) == pieces.numpy()[0] == threads


def test_what_is_faster_is_found_again():
    paced, pieces = pace.new_pace(), wp.zeros(1, dtype=wp.int32, device="cpu")
    chosen = []
    for with_one, with_two in ((SHORT, LONG), (LONG, SHORT)):
        paced.numpy()[pace.COUNT] = pace.PERIOD if chosen else 0

        def record(launch, one=with_one, two=with_two) -> None:
            launch(pace.choose_threads, 1, [paced, pieces, 2])
            launch(step_of, 1, [pieces, one, two])

        steps = Launches(record)
        for _ in range(pace.TRIAL + 2):
            steps.run()
        chosen.append(pace.chosen(paced))
    assert chosen == [1, 2]


def test_a_second_thread_changes_no_number(monkeypatch):
    beside = Standby(1)
    monkeypatch.setattr(model, "standby", lambda: beside)
    ends = []
    for threads in (1, 2):
        sim = tracked.simulate(tracked.MachineSettings(threads=threads), tracked.ramped([(0.02, 1.0, 0.5)]))
        sim.step(pace.TRIAL // 2)  # half of them with a second thread
        ends.append((sim.data.qpos.copy(), *(a.numpy().copy() for a in sim.modules[0].state().values())))
    for _ in range(20):  # a busy machine may keep it off its core
        if beside.served():
            break
        sim.step(pace.TRIAL)
    assert beside.served() > 0
    beside.close()
    assert all(np.array_equal(a, b) for a, b in zip(*ends, strict=True))
