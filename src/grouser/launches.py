"""Kernel launches that are recorded once and replayed without Python in between.

On CUDA they are a graph. On the CPU they are a list of compiled functions with their arguments, which one compiled loop
calls; the list may contain functions of MuJoCo. Values for a recording are copied in one call as well.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import warp as wp

from grouser import device
from grouser.device import array, numpy_dtype, struct
from grouser.quiet_warp import check_room_to_compile, kernels_load

Call = tuple[int, int, int]  # the fields of NativeCall
SOURCES = {np.dtype(name): k for k, name in enumerate(("f8", "f4", "i4"))}  # number types that can be copied
TARGETS = {np.dtype(name): k for k, name in enumerate(("f8", "f4"))}  # types they can be copied to
Record = Callable[[Callable[..., Any]], Any]  # makes launches by calling its argument with kernel, dim, inputs

MODULE = device.module("grouser.launches")


@struct
class NativeCall:
    """A compiled function of two pointers and its arguments; for a kernel, launch bounds and kernel arguments."""

    function: wp.uint64  # address
    first: wp.uint64  # pointer
    second: wp.uint64  # pointer


RUN_THROUGH = """
    typedef void (*function)(void*, void*);
    for (int k = first; k < last; ++k) {
        ((function)calls.data[k].function)((void*)calls.data[k].first, (void*)calls.data[k].second);
    }
"""


@wp.func_native(RUN_THROUGH)
def run_through(calls: array[NativeCall], first: int, last: int): ...


@wp.kernel(module=MODULE)
def run_once(calls: array[NativeCall], count: int):
    run_through(calls, 0, count)


@wp.kernel(module=MODULE)
def run_repeatedly(
    calls: array[NativeCall], middle: int, count: int, times: int, alarm: array[int],
    done_out: array[int],
):  # fmt: skip
    """Run the calls `times` times. The last round, or the first one that raises an alarm, ends before call `middle`.

    A run ends in the middle of a step so that the host can inspect the state there and run the rest later.
    """
    done = int(0)
    going = int(1)
    while going == 1:
        run_through(calls, 0, middle)
        done += 1
        going = int(done < times)
        for k in range(alarm.shape[0]):
            if alarm[k] != 0:
                going = 0
        if going == 1:
            run_through(calls, middle, count)
    done_out[0] = done


@struct
class CopiedValue:
    """One number to copy: its source, and its target in row 0 of the buffer."""

    source: wp.uint64  # address
    source_kind: wp.uint64  # value of SOURCES
    target: wp.uint64  # address in row 0
    target_kind: wp.uint64  # value of TARGETS
    row_bytes: wp.uint64  # distance between rows of the buffer


COPY = """
    for (int k = 0; k < count; ++k) {
        auto const& one = values.data[k];
        const char* from = (const char*)one.source;
        char* to = (char*)one.target + row * one.row_bytes;
        double value = *(const int*)from;
        if (one.source_kind == 0) value = *(const double*)from;
        if (one.source_kind == 1) value = *(const float*)from;
        if (one.target_kind == 0) *(double*)to = value;
        else *(float*)to = (float)value;
    }
"""


@wp.func_native(COPY)
def copy_values(values: array[CopiedValue], count: int, row: int): ...


@wp.kernel(module=MODULE)
def copy_row(values: array[CopiedValue], count: int, row: int):
    """Copy all values into one row of their buffers."""
    copy_values(values, count, row)


@wp.func_native("*(unsigned long long*)address = value;")
def store(address: wp.uint64, value: wp.uint64): ...


@wp.kernel(module=MODULE)
def put_pointer(address: wp.uint64, value: wp.uint64):
    """Write a pointer to an address, for example that of a MuJoCo callback."""
    store(address, value)


class CompiledCall:
    """One kernel with its arguments, as a function of two pointers."""

    def __init__(self, kernel: Any, dim: Any, inputs: Sequence[Any]):
        check_room_to_compile(kernel.module)
        with kernels_load(kernel.module.name):
            wp.load_module(kernel.module, device="cpu")
            launch: Any = wp.launch(kernel, dim=dim, inputs=list(inputs), device="cpu", record_cmd=True)
        bounds, *values = launch.params
        names = [argument.label for argument in kernel.adj.args]
        fields = [(name, type(value)) for name, value in zip(names, values, strict=True)]
        self.arguments: Any = type("Arguments", (ctypes.Structure,), {"_fields_": fields})(*values)
        self._kept = launch, list(inputs)  # keep alive as long as the call exists
        self._function = launch.hooks.forward
        self._pointers = ctypes.byref(bounds), ctypes.byref(self.arguments)
        address = ctypes.cast(self._function, ctypes.c_void_p).value or 0
        self.call: Call = (address, ctypes.addressof(bounds), ctypes.addressof(self.arguments))

    def run(self) -> None:
        self._function(*self._pointers)


class Launches:
    """Kernel launches made by `record`. `run` replays them."""

    def __init__(self, record: Record, device: Any = "cpu"):
        self.calls: list[Call] = []  # on the CPU
        self._run: Callable[[], None]
        if wp.get_device(device).is_cpu:
            self._compiled: list[CompiledCall] = []
            record(self._record)
            self.calls = [compiled.call for compiled in self._compiled]
            self._run = self._compiled[0].run if len(self._compiled) == 1 else _one_call_for(self.calls)
            self._make = self._run  # not `record`, which may hold what should end before this does
        else:
            # Load the modules first: that is not possible during the capture.
            record(lambda kernel, dim, inputs: wp.load_module(kernel.module, device=device))
            with wp.ScopedCapture(device=device) as capture:
                record(lambda kernel, dim, inputs: wp.launch(kernel, dim=dim, inputs=inputs, device=device))
            graph: Any = capture.graph
            self._run = lambda: wp.capture_launch(graph)
            self._make = lambda: record(partial(wp.launch, device=device))

    def run(self) -> None:
        self._run()

    def make(self) -> None:
        """Make the launches one by one. During the capture of a graph they become part of it; `run` cannot."""
        self._make()

    def _record(self, kernel: Any, dim: Any, inputs: Sequence[Any]) -> None:
        self._compiled.append(CompiledCall(kernel, dim, inputs))


def only_if(flag: Any, record: Callable[[], None]) -> None:
    """Record launches that a graph leaves out while `flag`, (1,), is 0. Without a graph they are made in any case."""
    if flag.device.is_capturing and wp.is_conditional_graph_supported():
        wp.capture_if(flag, record)
    else:
        record()


def call_table(calls: Sequence[Call]) -> wp.array:
    """Array of calls for `run_repeatedly`."""
    table: Any = np.array(calls, np.uint64).reshape(-1, 3).view(numpy_dtype(NativeCall)).reshape(-1)
    return wp.array(table, dtype=NativeCall, device="cpu")


def _one_call_for(calls: Sequence[Call]) -> Callable[[], None]:
    return CompiledCall(run_once, 1, [call_table(calls), len(calls)]).run


class Loop:
    """Calls that a compiled loop repeats. A run ends in the middle of its last round."""

    def __init__(self, before: Sequence[Call], after: Sequence[Call], alarm: wp.array):
        self._done = wp.zeros(1, dtype=wp.int32, device="cpu")
        self._count = self._done.numpy()
        table = call_table([*before, *after])
        inputs = [table, len(before), len(before) + len(after), 1, alarm, self._done]
        self._rounds = CompiledCall(run_repeatedly, 1, inputs)
        self.finish = _one_call_for(after)  # runs the second part of the last round

    def run(self, times: int) -> int:
        """Run up to `times` rounds, the last without its second part. Returns the number; an alarm ends it early."""
        self._rounds.arguments.times = times
        self._rounds.run()
        return int(self._count[0])


class StepLaunches:
    """Launches of `evaluate` and `commit` of a module, recorded at first use and again when arrays are reallocated."""

    def __init__(self, evaluate: Record, commit: Record, device: Any):
        self._record, self._device = (evaluate, commit), device
        self._pair: tuple[Launches, Launches] | None = None
        self._generation = 0

    def recorded(self, generation: int = 0) -> tuple[Launches, Launches]:
        """Launches of `evaluate` and of `commit`. `generation` changes when arrays are reallocated."""
        if self._pair is None or generation != self._generation:
            evaluate, commit = self._record
            self._pair = Launches(evaluate, self._device), Launches(commit, self._device)
            self._generation = generation
        return self._pair


class Copies:
    """Copies values (world, *shape), with any strides, into rows of buffers (row, world, *shape)."""

    def __init__(self, pairs: Sequence[tuple[np.ndarray, np.ndarray]]):
        tables = [_copied_values(source, buffer) for source, buffer in pairs if source.size]
        table = np.concatenate([np.zeros(0, numpy_dtype(CopiedValue)), *tables])
        given = wp.array(table, dtype=CopiedValue, device="cpu")
        self._kept = list(pairs)
        self._call = CompiledCall(copy_row, 1, [given, len(table), 0])

    def take(self, row: int) -> None:
        """Copy all values into this row."""
        self._call.arguments.row = row
        self._call.run()


def _copied_values(source: np.ndarray, buffer: np.ndarray) -> Any:
    table: Any = np.zeros(source.size, numpy_dtype(CopiedValue))
    table["source"], table["source_kind"] = _addresses(source), SOURCES[source.dtype]
    table["target"], table["target_kind"] = _addresses(buffer[0]), TARGETS[buffer.dtype]
    table["row_bytes"] = buffer.strides[0]
    return table


def _addresses(values: np.ndarray) -> Any:
    """Memory addresses of all elements in C order."""
    steps = np.indices(values.shape).reshape(values.ndim, -1)
    return values.__array_interface__["data"][0] + np.asarray(values.strides) @ steps
