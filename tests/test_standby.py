"""Threads that stand by: they take part, sleep when there is nothing to do, and leave the cores to others."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest
import warp as wp

from grouser.campaign.worker_pool import ONE_THREAD
from grouser.device import array, module
from grouser.errors import InputError
from grouser.launches import Launches
from grouser.standby import LINE, SEATS, Standby, choose_end, take_piece
from grouser.thread_count import VARIABLE, threads_wanted
from tests.waiting import eventually

MODULE = module("tests.standby")
PIECES = 64


@wp.kernel(module=MODULE)
def add_up(taken: array[int], times_out: array[int], sums_out: array[wp.float64], ends_out: array[int], work: int):
    """Count how often each piece is taken, from which end, and work on it for a while."""
    end = choose_end(taken)
    piece = take_piece(taken, PIECES, end)
    while piece < PIECES:
        times_out[piece] = times_out[piece] + 1
        ends_out[piece] = end
        total = wp.float64(0.0)
        for k in range(work):
            total += wp.sin(wp.float64(k + piece))
        sums_out[piece] = total
        piece = take_piece(taken, PIECES, end)


class Sum:
    """Work in pieces, recorded for some workers."""

    def __init__(self, workers: Standby, work: int = 200):
        self.pieces = wp.full(1, PIECES, dtype=wp.int32, device="cpu")
        self.taken, self.laps = (
            wp.zeros(2 * LINE, dtype=wp.int32, device="cpu"),
            wp.zeros(1, dtype=wp.int64, device="cpu"),
        )
        self.times = wp.zeros(PIECES, dtype=wp.int32, device="cpu")
        self.sums = wp.zeros(PIECES, dtype=wp.float64, device="cpu")
        self.ends = wp.zeros(PIECES, dtype=wp.int32, device="cpu")
        inputs = [self.taken, self.times, self.sums, self.ends, work]
        self.run = Launches(
            lambda launch: workers.launch(launch, add_up, inputs, self.pieces, self.taken, self.laps)
        ).run


@pytest.fixture
def workers() -> Iterator[Standby]:
    made = Standby(2)
    yield made
    made.close()
    assert not any(thread.is_alive() for thread in made._threads), "they end"


def served(workers: Standby, job: Sum) -> None:
    """Run a job until a worker has taken part."""
    before = workers.served()
    eventually(lambda: job.run() or workers.served() > before, "a worker takes part", period=0.0)


def test_every_piece_is_done_once_whoever_does_it(workers):
    """With pauses after which workers sleep, stay away or poll; jobs come and go."""
    pauses = np.random.default_rng(5).choice([0.0, 1e-5, 3e-4, 5e-3], 200)
    for _ in range(3):
        job = Sum(workers)
        job.run()
        first = job.sums.numpy().copy()
        for n, pause in enumerate(pauses):
            time.sleep(pause)
            job.sums.zero_()
            job.run()
            assert (job.times.numpy() == n + 2).all()
            assert np.array_equal(job.sums.numpy(), first)
        served(workers, job)
        del job


def test_pieces_that_lie_together_stay_with_one_thread():
    """Two threads take from either end until they meet: in the middle a piece may change hands, at the ends none."""
    one = Standby(1)
    try:
        job = Sum(one)
        for _ in range(20):
            eventually(lambda: job.run() or job.ends.numpy().any(), "the worker does a piece", period=0.0)
            ends = job.ends.numpy()
            assert (np.diff(ends) >= 0).all(), ends
    finally:
        one.close()


def test_a_worker_sleeps_when_there_is_nothing_to_do(workers):
    job = Sum(workers)
    served(workers, job)
    eventually(workers.asleep, "the workers sleep")
    before, start = time.process_time(), time.perf_counter()
    time.sleep(0.2)
    spent = time.process_time() - before
    assert spent < 0.5 * (time.perf_counter() - start), "nobody polls"
    served(workers, job)  # a request wakes it


def test_workers_step_back_where_the_cores_are_busy(workers):
    """Two busy processes for each core: whoever polls is kept off, and then stays away."""
    job = Sum(workers)
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2 * (os.cpu_count() or 1))]
    try:
        eventually(lambda: job.run() or workers.stepped_back() > 2, "the workers step back", period=0.0)
        times = job.times.numpy().copy()
        job.run()
        assert (job.times.numpy() == times + 1).all(), "work goes on without them"
    finally:
        for process in busy:
            process.kill()
            process.wait()
    served(workers, job)  # and comes back when they are gone


def test_stages_are_timed_and_single_pieces_done_without_workers(workers):
    job = Sum(workers)
    for change in (lambda: job.laps.fill_(1), lambda: (job.laps.fill_(0), job.pieces.fill_(1))):
        change()
        before = workers.board.numpy()[17]  # number of the last request
        job.run()
        assert workers.board.numpy()[17] == before


def test_a_second_caller_works_alone_while_the_first_has_the_workers(workers):
    job = Sum(workers)
    workers.board.numpy()[LINE] = 1  # as if another thread of Python were in a request
    before = workers.served()
    for _ in range(100):
        job.run()
    assert workers.served() == before
    assert (job.times.numpy() == 100).all()
    workers.board.numpy()[LINE] = 0


FORKED = """
import os, sys
from grouser.standby import Standby
from tests.test_standby import Sum
job = Sum(Standby(1))
for _ in range(100):
    job.run()
child = os.fork()
if child == 0:
    before = job.times.numpy().copy()
    job.run()
    os._exit(0 if (job.times.numpy() == before + 1).all() else 5)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_a_forked_process_has_no_workers_and_works_on():
    assert subprocess.run([sys.executable, "-W", "ignore", "-c", FORKED], cwd=Path(__file__).parents[1]).returncode == 0


# ---- how many threads ---------------------------------------------------------------------------------------------


def test_threads_come_from_the_environment_or_the_cores(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    for cores, threads in (({0}, 1), ({0, 1}, 2), ({0, 1, 2, 3}, 2)):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _, cores=cores: cores)
        assert threads_wanted() == threads
    monkeypatch.setenv(VARIABLE, "3")
    assert threads_wanted() == 3
    for wrong in ("0", "two", "-1", "1.5"):
        monkeypatch.setenv(VARIABLE, wrong)
        with pytest.raises(InputError, match=f"{VARIABLE}: '{wrong}'"):
            threads_wanted()


def test_worker_processes_have_one_thread(monkeypatch):
    """Those of sweeps, local and on Ray, are told so; others find out."""
    monkeypatch.delenv(VARIABLE, raising=False)
    assert ONE_THREAD[VARIABLE] == "1"
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        assert pool.submit(threads_wanted).result() == 1


def test_a_board_without_workers_is_a_call(workers):
    workers.forget()
    assert workers.board.numpy()[SEATS] == 0
    job, before = Sum(workers), workers.served()
    job.run()
    assert (job.times.numpy() == 1).all()
    assert workers.served() == before
