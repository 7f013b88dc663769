"""Executor that runs cases on a Ray cluster: one actor per core with one case at a time, or one per GPU with a batch.

Actors run a case in a temporary folder of their node and send the result back; the driver writes the same files as a
local sweep. So the nodes need Grouser, of the same version, and no folder in common. A dead actor is replaced, and its
case is run again as that of a dead local worker is.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import sys
import tempfile
import time
import warnings
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grouser
from grouser.campaign import worker
from grouser.campaign.executor import RETRIES, Job, SweepStopped
from grouser.campaign.worker import BatchRunner, Bundle, Order, Runner
from grouser.campaign.worker_pool import ONE_THREAD
from grouser.errors import InputError
from grouser.files import atomic_file

LOOK_EVERY = 1.0  # [s] how often time limits and the size of the cluster are looked at
LOOPBACK = "127.0.0.1"
STORE = 256 * 2**20  # [bytes] object store of a Ray started here; results are small, a recording is sent alone
QUIET = {  # settings of Ray, unless the user has others
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_DEDUP_LOGS_SKIP_REGEX": ".",  # its messages about dead workers on standard output; Grouser reports those cases
}


class CaseActor:
    """Runs cases on a node. Ray makes one of it per core, or per GPU if the runner takes batches to one."""

    def __init__(self, runner: Runner):
        self.runner = runner

    def warm(self, order: Order) -> str:
        """Load modules and compile kernels, once for each node. Returns the version of Grouser on this node."""
        with _first_of_the_node(order.digest):
            worker.warm(self.runner, order)
        return grouser.__version__

    def work(self, bundle: Bundle) -> list[tuple[dict[str, Any], bytes | None]]:
        """Run cases. Returns the result of each, and its recording if that is to be kept."""
        with tempfile.TemporaryDirectory(prefix="grouser-case-") as folder:
            places = [Path(folder) / order.case.name for order in bundle]
            for place in places:
                place.mkdir()
            results = worker.perform(self.runner, bundle, places)
            kept = [place / worker.KEPT for place in places]
            recordings = [file.read_bytes() if file.exists() else None for file in kept]
            return list(zip(results, recordings, strict=True))


@contextmanager
def _first_of_the_node(digest: str) -> Iterator[None]:
    """Let the first actor of a node warm up alone, so that kernels are compiled only once. The others follow."""
    place = Path(tempfile.gettempdir()) / f"grouser-warm-{os.getuid()}-{digest[:16]}"
    with place.open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        if file.tell():
            fcntl.flock(file, fcntl.LOCK_UN)
        yield
        if not file.tell():
            file.write("warm\n")


class RayCluster:
    """Executor on a Ray cluster: that of `address`, that of RAY_ADDRESS, or one that is started on this machine."""

    def __init__(self, address: str | None, workers: int | None):
        """`workers`: number of actors, by default one for each core of the cluster."""
        self.address = address or os.environ.get("RAY_ADDRESS") or None
        self.workers = workers
        if self.address is None and "ray" not in sys.modules:  # Ray reads its settings when it is imported
            _keep_to_this_machine()
        self.ray = _imported()

    def execute(self, job: Job) -> None:
        with self._connected():
            _Dispatcher(self.ray, job, self.workers).work()

    @contextmanager
    def _connected(self) -> Iterator[None]:
        """Connect to the cluster, or start one that only this machine can reach, and leave it at the end."""
        if self.ray.is_initialized():  # by the script that called grouser.sweep
            yield
            return
        quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
        here = {"include_dashboard": False, "object_store_memory": STORE, "_node_ip_address": LOOPBACK}
        try:
            with warnings.catch_warnings(action="ignore"):
                if self.address is None:
                    self.ray.init("local", num_cpus=self.workers, **here, **quiet)
                else:
                    self.ray.init(self.address, **quiet)
        except Exception as error:  # Ray raises a plain Exception too, if its processes take too long to start
            where = self.address or "ray"
            reason = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
            raise InputError(f"--on {where}: no Ray cluster can be reached: {reason.strip()}") from None
        try:
            if self.address is None and (where := self.ray.util.get_node_ip_address()) != LOOPBACK:
                raise SweepStopped(f"sweep stopped: Ray would listen on {where}, not only on {LOOPBACK}")
            yield
        finally:
            self.ray.shutdown()


def _keep_to_this_machine() -> None:
    """Let a Ray that is started here listen on the loopback address only, and obey only its driver.

    Without the first setting Ray on Linux takes the address of the network even if 127.0.0.1 is asked for. Others on
    this machine can reach the loopback address too, hence a token. Ray would keep one in the home folder for good; one
    made for this sweep is enough. Settings of the user stay.
    """
    os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
    if "RAY_AUTH_MODE" not in os.environ:
        os.environ["RAY_AUTH_MODE"] = "token"
        os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))


def _imported() -> Any:
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    try:
        import ray
    except ModuleNotFoundError:
        raise InputError("--on ray needs ray: pip install 'grouser[cluster]'") from None
    return ray


@dataclass
class _Actor:
    handle: Any
    bundle: Bundle | None = None  # the cases it runs; None: it is warming up
    due: float = float("inf")  # [s] of the monotonic clock, when they reach the time limit


class _Dispatcher:
    """Gives the cases of a job to actors until all have ended."""

    def __init__(self, ray: Any, job: Job, workers: int | None):
        self.ray, self.job, self.wanted = ray, job, workers
        self.waiting = deque(job.bundles)
        self.open = len(job.bundles)  # bundles that have not ended
        self.first = self.waiting[0][0]
        self.busy: dict[Any, _Actor] = {}  # by the reference to what it is to return
        self.runner = ray.put(job.runner)
        self.dead_before_a_case = 0  # actors that died while warming up, since one last got through
        self.gpus = job.runner.gpus if isinstance(job.runner, BatchRunner) else 0
        needs = {"num_cpus": 1, "num_gpus": self.gpus, "runtime_env": {"env_vars": ONE_THREAD}}
        self.actor = ray.remote(max_restarts=0, max_task_retries=0, **needs)(CaseActor)

    def work(self) -> None:
        look = 0.0
        try:
            while self.open:
                if time.monotonic() >= look:
                    self._grow()
                    self._end_overdue()
                    look = time.monotonic() + LOOK_EVERY
                ready, _ = self.ray.wait(list(self.busy), num_returns=1, timeout=LOOK_EVERY)
                for reference in ready:
                    self._collect(reference, self.busy.pop(reference))
        finally:
            for actor in self.busy.values():
                self.ray.kill(actor.handle)

    def _grow(self) -> None:
        """Have an actor for each core or GPU of the cluster, which may have grown, or for each bundle if those are
        fewer."""
        for _ in range(min(self._places(), self.open) - len(self.busy)):
            handle = self.actor.remote(self.runner)
            self.busy[handle.warm.remote(self.first)] = _Actor(handle)

    def _places(self) -> int:
        """Number of actors that the cluster has room for, or that are wanted."""
        there = self.ray.cluster_resources()
        if self.gpus and there.get("GPU", 0) < self.gpus:
            raise SweepStopped("the cluster has no GPU: allowed is --device cpu, or a cluster with one")
        room = there.get("GPU", 0) / self.gpus if self.gpus else there.get("CPU", 1)
        return self.wanted or max(1, int(room))

    def _end_overdue(self) -> None:
        """Kill actors whose cases take too long; `_grow` replaces them. A case that ran alone fails."""
        now = time.monotonic()
        for reference, actor in [pair for pair in self.busy.items() if pair[1].due <= now]:
            assert actor.bundle is not None  # only cases have a limit
            del self.busy[reference]
            self.ray.kill(actor.handle)
            self._again(self.job.overdue(actor.bundle))

    def _again(self, bundles: list[Bundle]) -> None:
        """A bundle has ended without results: run what is left of it again."""
        self.waiting.extendleft(reversed(bundles))
        self.open += len(bundles) - 1

    def _collect(self, reference: Any, actor: _Actor) -> None:
        """Take what an actor returns and give it the next case."""
        errors = self.ray.exceptions
        try:
            returned = self.ray.get(reference)
        except errors.RayTaskError as error:  # `perform` lets only a full disk through
            raise SweepStopped(
                f"sweep stopped: a worker of the cluster: {error.cause}; finished cases are kept"
            ) from None
        except errors.RayError as error:
            self._replace_dead(actor, error)
            return
        if actor.bundle is None:
            self._check_version(returned)
            self.dead_before_a_case = 0
        else:
            self._keep(actor.bundle, returned)
        if self.waiting:
            self._submit(actor)
        else:
            self.ray.kill(actor.handle)

    def _check_version(self, version: str) -> None:
        if version != grouser.__version__:
            raise SweepStopped(
                f"a node of the cluster has Grouser {version}, not {grouser.__version__}: install the same on all nodes"
            )

    def _submit(self, actor: _Actor) -> None:
        actor.bundle, limit = self.waiting.popleft(), self.job.time_limit
        actor.due = float("inf") if limit is None else time.monotonic() + limit
        self.busy[actor.handle.work.remote(actor.bundle)] = actor

    def _keep(self, bundle: Bundle, returned: list[tuple[dict[str, Any], bytes | None]]) -> None:
        """Write the results of cases, as a local worker does."""
        for order, (_, recording) in zip(bundle, returned, strict=True):
            if recording is not None:
                with atomic_file(worker.recording_file(order)) as part:
                    part.write_bytes(recording)
        self.job.ended(bundle, [worker.keep(order, found) for order, (found, _) in zip(bundle, returned, strict=True)])
        self.open -= 1

    def _replace_dead(self, actor: _Actor, error: Exception) -> None:
        """Run the cases of a dead actor again, unless they were tried too often. `_grow` makes another actor."""
        how = _why(error)
        if actor.bundle is None:
            self.dead_before_a_case += 1
            if self.dead_before_a_case > RETRIES + len(self.busy):
                raise SweepStopped(f"the workers of the cluster ended before their first case ({how})")
        else:
            self._again(self.job.died(actor.bundle, how))
        self._grow()


def _why(error: Exception) -> str:
    """How an actor died, in Ray's words, on one line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    said = [line for line in lines if "Error" in line or "exit" in line.lower()]
    return (said or lines or [type(error).__name__])[-1][:200]
