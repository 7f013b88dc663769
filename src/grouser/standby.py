"""Threads that stand by in compiled code and take a share of a step: no Python, no lock, no call of the system.

A step of a rover takes a fifth of a millisecond. Waking a thread takes a quarter of that, and Python's interpreter lock
may take longer. So a worker stays in one compiled loop and polls a word in memory. The caller opens a request, a
compiled function with its arguments, and runs it itself; a worker that sees the request runs the same function beside
it. The function takes its work piece by piece, one thread from the front and one from the back, so it is done whether
workers come or not. Then the caller closes the request and waits for those who are still inside.

A worker sleeps on a semaphore after SPIN without a request. If it was kept off its core it steps back: others need the
cores, and a caller who waits for a worker that does not run is slower than alone. It then stays away for BACK, and each
time it is kept off again for twice as long, up to LONGEST.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import warp as wp

from grouser import device
from grouser.device import array
from grouser.launches import CompiledCall, NativeCall, call_table
from grouser.thread_count import threads_wanted

MODULE = device.module("grouser.standby")
SPIN = 2_000_000  # [ns] without a request after which a worker sleeps: longer than Python takes for a frame
LOOK = 1_000_000  # [ns] at least, between two looks at how long the worker was kept off its core
WINDOW = 40_000_000  # [ns] over which that is summed up
KEPT_OFF = 10_000_000  # [ns] of a window for which others had its core: a thread that competes loses half of it
BACK = 20_000_000  # [ns] for which a worker stays away at first
LONGEST = 1_000_000_000  # [ns] for which it stays away at most
CALM = 500_000_000  # [ns] of work undisturbed after which it would stay away for BACK again
PATIENCE = 2000  # polls after which a caller who waits for a worker naps, so that others, or it, have its core

# Words of `taken`: pieces given, threads that came, pieces given from either end. They share a cache line.
GIVEN, CAME, FROM_FRONT, FROM_BACK, TAKEN = range(5)
FRONT, BACK_END = 0, 1

# Words of the board. Both sides read and write them atomically; those of one line belong together.
LINE = 16  # words: two cache lines, which processors fetch in pairs
OPEN, OWNER, LAST, FUNCTION, FIRST, SECOND, CORE, STOP = 0, *(LINE + k for k in range(6)), 2 * LINE
POST, WAIT, CLOCK, NAP, WHERE, MOVE, SEATS = (3 * LINE + k for k in range(7))
ALLOWED = 4 * LINE  # bits of the cores that this process may use
SEAT = 5 * LINE  # first word of the first worker's seat; each seat takes SEAT_SIZE
INSIDE, ASLEEP, SERVED, STEPPED_BACK, SEMAPHORE = 0, LINE, 2 * LINE, 2 * LINE + 1, 3 * LINE
SEAT_SIZE = 4 * LINE
AWAKE, SLEEPS, AWAY = 0, 1, 2  # values of ASLEEP
FUNCTIONS = {
    POST: "sem_post", WAIT: "sem_timedwait", CLOCK: "clock_gettime", NAP: "usleep", WHERE: "sched_getcpu",
    MOVE: "sched_setaffinity",
}  # fmt: skip

NAMES = f"""
    typedef unsigned long long word;
    typedef void (*function)(void*, void*);
    typedef signed (*of_pointer)(void*);  // `signed`, because Warp has a macro `int`
    typedef signed (*of_nothing)();
    typedef signed (*of_time)(signed, long long*);
    typedef signed (*until_time)(void*, long long*);
    typedef signed (*of_time_span)(unsigned);
    typedef signed (*to_cores)(signed, unsigned long, word*);
    enum {{ OPEN = {OPEN}, OWNER = {OWNER}, LAST = {LAST}, FUNCTION = {FUNCTION}, FIRST = {FIRST}, SECOND = {SECOND},
        CORE = {CORE}, STOP = {STOP}, POST = {POST}, WAIT = {WAIT}, CLOCK = {CLOCK}, NAP = {NAP}, WHERE = {WHERE},
        MOVE = {MOVE}, SEATS = {SEATS}, ALLOWED = {ALLOWED}, LINE = {LINE}, SEAT = {SEAT},
        INSIDE = {INSIDE}, ASLEEP = {ASLEEP}, SERVED = {SERVED}, STEPPED_BACK = {STEPPED_BACK},
        SEMAPHORE = {SEMAPHORE}, SEAT_SIZE = {SEAT_SIZE}, AWAKE = {AWAKE}, SLEEPS = {SLEEPS}, AWAY = {AWAY} }};
    #define AT(k) __atomic_load_n(&board.data[k], __ATOMIC_SEQ_CST)
    #define PUT(k, value) __atomic_store_n(&board.data[k], (word)(value), __ATOMIC_SEQ_CST)
    #define SWAP(k, old, value) __atomic_compare_exchange_n( \\
        &board.data[k], &(old), (word)(value), false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)
    #if defined(__x86_64__)
        #define PAUSE __builtin_ia32_pause()
    #elif defined(__aarch64__)
        #define PAUSE asm volatile("yield")
    #else
        #define PAUSE
    #endif
"""

# A caller and a worker each write one word and then read the other's: the order of both matters, hence SEQ_CST.
SHARE = (
    NAMES
    + """
    for (int k = 0; k < TAKEN; ++k) taken.data[k] = 0;
    function run = (function)calls.data[0].function;
    void* first = (void*)calls.data[0].first;
    void* second = (void*)calls.data[0].second;
    word seats = board.data[SEATS];
    word nobody = 0;
    bool alone = pieces.data[0] < 2 || laps.data[0] == 1 || seats == 0;
    if (alone || !SWAP(OWNER, nobody, 1)) {  // or another caller of this process has the workers now
        run(first, second);
        return;
    }
    board.data[FUNCTION] = (word)run;
    board.data[FIRST] = (word)first;
    board.data[SECOND] = (word)second;
    PUT(CORE, ((of_nothing)board.data[WHERE])());
    word number = board.data[LAST] + 1;
    board.data[LAST] = number;
    PUT(OPEN, number);
    for (word s = 0; s < seats; ++s) {
        int seat = SEAT + (int)s * SEAT_SIZE;
        word asleep = SLEEPS;
        if (AT(seat + ASLEEP) == SLEEPS && SWAP(seat + ASLEEP, asleep, AWAKE))
            ((of_pointer)board.data[POST])(&board.data[seat + SEMAPHORE]);
    }
    run(first, second);
    PUT(OPEN, 0);
    for (word s = 0; s < seats; ++s) {
        int seat = SEAT + (int)s * SEAT_SIZE;
        for (int polls = 0; AT(seat + INSIDE) != 0; ++polls) {
            PAUSE;
            if (polls > PATIENCE) ((of_time_span)board.data[NAP])(20);
        }
    }
    PUT(OWNER, 0);
    #undef AT
    #undef PUT
    #undef SWAP
    #undef PAUSE
""".replace("PATIENCE", str(PATIENCE)).replace("TAKEN", str(TAKEN))
)

SERVE = (
    NAMES
    + f"""
    enum {{ REAL_TIME = 0, MONOTONIC = 1, OF_THREAD = 3 }};  // clocks of POSIX
    const long long SPIN = {SPIN}, LOOK = {LOOK}, WINDOW = {WINDOW}, KEPT_OFF = {KEPT_OFF}, CALM = {CALM};
    const long long BACK = {BACK}, LONGEST = {LONGEST}, SECOND_NS = 1000000000;
"""
    + """
    int seat = SEAT + number * SEAT_SIZE;
    long long now[2];
    auto time = [&](signed which) {
        ((of_time)board.data[CLOCK])(which, now);
        return now[0] * SECOND_NS + now[1];
    };
    // Linux wakes a thread where it has slept, which may be the core of the caller, and leaves both there for a while.
    auto leave_core_of_caller = [&]() {
        word core = AT(CORE);
        if ((word)((of_nothing)board.data[WHERE])() != core || core >= 64 * LINE) return;
        word cores[LINE];
        for (unsigned k = 0; k < LINE; ++k) cores[k] = board.data[ALLOWED + k];
        cores[core / 64] &= ~(1ull << (core % 64));
        ((to_cores)board.data[MOVE])(0, sizeof(cores), cores);  // fails, and changes nothing, if no other core is left
    };
    word done = 0;
    // `seen`: the last look; `began`: the start of the window, since when others had the core for `lost`.
    long long used = time(OF_THREAD), seen = time(MONOTONIC), began = seen, lost = 0;
    long long last = seen, disturbed = seen, back = BACK;
    for (unsigned polls = 1; AT(STOP) == 0; ++polls) {
        word open = AT(OPEN);
        if (open != 0 && open != done) {
            PUT(seat + INSIDE, open);
            if (AT(OPEN) == open) {  // else the caller has closed it and does not wait for this worker
                ((function)board.data[FUNCTION])((void*)board.data[FIRST], (void*)board.data[SECOND]);
                board.data[seat + SERVED] += 1;
            }
            PUT(seat + INSIDE, 0);
            done = open;
            last = time(MONOTONIC);
            continue;
        }
        PAUSE;
        if (polls % 16 != 0) continue;
        leave_core_of_caller();
        long long t = time(MONOTONIC);
        long long rest = 0;
        if (t - seen > LOOK) {
            long long own = time(OF_THREAD);
            lost += (t - seen) - (own - used);
            seen = t;
            used = own;
            if (lost > KEPT_OFF) {
                back = t - disturbed > CALM ? BACK : (2 * back < LONGEST ? 2 * back : LONGEST);
                rest = back;
                board.data[seat + STEPPED_BACK] += 1;
            }
            if (t - began > WINDOW) {
                began = t;
                lost = 0;
            }
        }
        if (rest == 0 && t - last < SPIN) continue;
        PUT(seat + ASLEEP, rest > 0 ? AWAY : SLEEPS);
        if (rest > 0) {
            time(REAL_TIME);
            now[0] += (now[1] + rest) / SECOND_NS;
            now[1] = (now[1] + rest) % SECOND_NS;
            ((until_time)board.data[WAIT])(&board.data[seat + SEMAPHORE], now);
        } else if (AT(OPEN) == 0 || AT(OPEN) == done) {  // else a request came that woke nobody
            time(REAL_TIME);
            now[0] += 1;  // looks at STOP now and then
            while (AT(seat + ASLEEP) == SLEEPS && AT(STOP) == 0) {
                if (((until_time)board.data[WAIT])(&board.data[seat + SEMAPHORE], now) == 0) break;
                time(REAL_TIME);
                now[0] += 1;
            }
        }
        PUT(seat + ASLEEP, AWAKE);
        leave_core_of_caller();
        seen = last = began = time(MONOTONIC);
        used = time(OF_THREAD);
        lost = 0;
        if (rest > 0) disturbed = seen;
    }
    #undef AT
    #undef PUT
    #undef SWAP
    #undef PAUSE
"""
)


@wp.func_native(SHARE)
def open_request(
    calls: array[NativeCall], board: array[wp.uint64], pieces: array[int], taken: array[int], laps: array[wp.int64]
): ...


@wp.func_native(SERVE)
def serve_requests(board: array[wp.uint64], number: int): ...


@wp.kernel(module=MODULE)
def share_work(
    calls: array[NativeCall], board: array[wp.uint64], pieces: array[int], taken: array[int], laps: array[wp.int64]
):  # fmt: skip
    """Run a call here and in the workers at the same time, after `taken` is cleared. Here alone if there are fewer
    than two pieces of work, if `laps` says that stages are timed, or if no worker is free."""
    open_request(calls, board, pieces, taken, laps)


@wp.kernel(module=MODULE)
def serve(board: array[wp.uint64], number: int):
    """Serve requests until STOP is set. Runs in worker `number`."""
    serve_requests(board, number)


@wp.func_native("""
    #if defined(__CUDA_ARCH__)
        return atomicAdd(taken.data + word, 1);
    #else
        return __atomic_fetch_add(taken.data + word, 1, __ATOMIC_RELAXED);
    #endif
""")
def count_up(taken: array[int], word: int) -> int:
    """Add 1 to a word of `taken`. Returns what it was, which no other thread gets."""
    ...


@wp.func
def choose_end(taken: array[int]):
    """End of the row of pieces from which this thread takes: FRONT or BACK_END.

    Pieces that lie together stay with one thread from step to step, and what they work on in the cache of its core. The
    first to come, which is nearly always the caller, takes from the front.
    """
    return count_up(taken, CAME) % 2


@wp.func
def take_piece(taken: array[int], count: int, end: int):
    """Number of the next of `count` pieces of work, which no other thread gets; `count`: there is none left."""
    if count_up(taken, GIVEN) >= count:
        return count
    if end == FRONT:
        return count_up(taken, FROM_FRONT)
    return count - 1 - count_up(taken, FROM_BACK)


@wp.func
def take_back(taken: array[int]):
    """All pieces are there again, and nobody has come."""
    for word in range(TAKEN):
        taken[word] = 0


class Standby:
    """Worker threads of this process, and the board on which they look for requests."""

    def __init__(self, workers: int):
        self.workers = workers
        self.board = wp.zeros(SEAT + max(workers, 1) * SEAT_SIZE, dtype=wp.uint64, device="cpu")
        self._words = self.board.numpy()
        library = ctypes.CDLL(None)
        for word, name in FUNCTIONS.items():
            self._words[word] = ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0
        for core in os.sched_getaffinity(0):
            if core < 64 * LINE:
                self._words[ALLOWED + core // 64] |= np.uint64(1 << core % 64)
        for number in range(workers):
            if library.sem_init(ctypes.c_void_p(self._semaphore(number)), 0, 0):
                raise OSError("no semaphore")
        self._calls = [CompiledCall(serve, 1, [self.board, number]) for number in range(workers)]
        self._threads = [threading.Thread(target=call.run, daemon=True, name="standby") for call in self._calls]
        for thread in self._threads:
            thread.start()
        self._words[SEATS] = workers

    def launch(
        self, launch: Any, kernel: Any, inputs: Sequence[Any], pieces: wp.array, taken: wp.array, laps: wp.array
    ) -> None:
        """Record a call of a kernel with one thread, which the workers run too. It takes its work by `take_piece`."""
        call = CompiledCall(kernel, 1, inputs)
        table = call_table([call.call])
        table.call = call  # type: ignore[attr-defined] it lives as long as the table that points to it
        launch(share_work, 1, [table, self.board, pieces, taken, laps])

    def served(self) -> int:
        """Number of requests that workers have taken part in."""
        return self._sum(SERVED)

    def stepped_back(self) -> int:
        """How often workers have left the cores to others."""
        return self._sum(STEPPED_BACK)

    def asleep(self) -> bool:
        """Whether no worker polls."""
        return all(self._words[SEAT + k * SEAT_SIZE + ASLEEP] != AWAKE for k in range(self.workers))

    def close(self) -> None:
        """End the workers."""
        self.forget()
        self._words[STOP] = 1
        post = ctypes.CDLL(None).sem_post
        for number, thread in enumerate(self._threads):
            post(ctypes.c_void_p(self._semaphore(number)))
            thread.join(5.0)

    def forget(self) -> None:
        """Have no workers, as in a process that was forked: threads stay behind."""
        self._words[SEATS] = 0

    def _semaphore(self, number: int) -> int:
        return (self.board.ptr or 0) + 8 * (SEAT + number * SEAT_SIZE + SEMAPHORE)

    def _sum(self, word: int) -> int:
        seats = np.arange(self.workers) * SEAT_SIZE + SEAT
        return int(self._words[seats + word].sum())


_made: dict[int, Standby] = {}  # by number of workers


def standby() -> Standby | None:
    """The workers of this process. None if the caller is to work alone."""
    workers = threads_wanted() - 1
    if workers < 1 or not hasattr(os, "register_at_fork"):
        return None
    if workers not in _made:
        try:
            _made[workers] = made = Standby(workers)
        except (AttributeError, OSError, RuntimeError):  # a system without POSIX semaphores, or without threads left
            return None
        atexit.register(made.close)
        os.register_at_fork(after_in_child=made.forget)
    return _made[workers]
