"""Kernel launches recorded once and replayed at no cost but their own.

On CUDA that is a graph. On the CPU it is a list of compiled functions with their arguments, which one compiled loop
runs through; functions of MuJoCo can stand in the same list. What is recorded is copied in one call, too.
"""

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import warp as wp

Call = tuple[int, int, int]  # address of a function of two pointers, the two pointers
SOURCES = {np.dtype(name): k for k, name in enumerate(("f8", "f4", "i4"))}  # what can be copied
TARGETS = {np.dtype(name): k for k, name in enumerate(("f8", "f4"))}
Record = Callable[[Callable[..., Any]], Any]  # makes launches with the function it is given: kernel, dim, inputs

module = wp.get_module("grouser.launches")
module.options["enable_backward"] = False

RUN_THROUGH = """
    typedef void (*function)(void*, void*);
    for (int k = first; k < last; ++k) {
        const unsigned long long* call = &calls.data[3 * k];
        ((function)call[0])((void*)call[1], (void*)call[2]);
    }
"""


@wp.func_native(RUN_THROUGH)
def run_through(calls: wp.array(dtype=wp.uint64), first: int, last: int): ...


@wp.kernel(module=module)
def run_once(calls: wp.array(dtype=wp.uint64), count: int):
    run_through(calls, 0, count)


@wp.kernel(module=module)
def run_repeatedly(
    calls: wp.array(dtype=wp.uint64), middle: int, count: int, times: int, alarm: wp.array(dtype=wp.int32),
    done_out: wp.array(dtype=wp.int32),
):  # fmt: skip
    """The calls `times` times, but for those from `middle` on the last time, or the first time an alarm is on."""
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


COPY = """
    for (int k = 0; k < count; ++k) {
        const unsigned long long* line = &table.data[5 * k];  // address and kind of both ends, bytes from row to row
        const char* from = (const char*)line[0];
        char* to = (char*)line[2] + row * line[4];
        double value = *(const int*)from;
        if (line[1] == 0) value = *(const double*)from;
        if (line[1] == 1) value = *(const float*)from;
        if (line[3] == 0) *(double*)to = value;
        else *(float*)to = (float)value;
    }
"""


@wp.func_native(COPY)
def copy_values(table: wp.array(dtype=wp.uint64), count: int, row: int): ...


@wp.kernel(module=module)
def copy_row(table: wp.array(dtype=wp.uint64), count: int, row: int):
    copy_values(table, count, row)


@wp.func_native("*(unsigned long long*)address = value;")
def store(address: wp.uint64, value: wp.uint64): ...


@wp.kernel(module=module)
def put_pointer(address: wp.uint64, value: wp.uint64):
    store(address, value)


class CompiledCall:
    """One kernel with its arguments, as a function of two pointers."""

    def __init__(self, kernel: Any, dim: Any, inputs: Sequence[Any]):
        wp.load_module(kernel.module, device="cpu")
        launch: Any = wp.launch(kernel, dim=dim, inputs=list(inputs), device="cpu", record_cmd=True)
        bounds, *values = launch.params
        fields = [(f"value{k}", type(value)) for k, value in enumerate(values)]
        self.arguments: Any = type("Arguments", (ctypes.Structure,), {"_fields_": fields})(*values)
        self._kept = launch, list(inputs)  # as long as somebody can call
        self._function = launch.hooks.forward
        self._pointers = ctypes.byref(bounds), ctypes.byref(self.arguments)
        address = ctypes.cast(self._function, ctypes.c_void_p).value or 0
        self.call: Call = (address, ctypes.addressof(bounds), ctypes.addressof(self.arguments))

    def run(self) -> None:
        self._function(*self._pointers)


class Launches:
    """Launches of kernels, made by `record`; `run` repeats them."""

    def __init__(self, record: Record, device: Any = "cpu"):
        self.calls: list[Call] = []  # on the CPU
        self._run: Callable[[], None]
        if wp.get_device(device).is_cpu:
            self._compiled: list[CompiledCall] = []
            record(self._record)
            self.calls = [compiled.call for compiled in self._compiled]
            self._run = self._compiled[0].run if len(self._compiled) == 1 else _through(self.calls)
        else:
            record(lambda kernel, dim, inputs: wp.load_module(kernel.module, device=device))  # not while capturing
            with wp.ScopedCapture(device=device) as capture:
                record(lambda kernel, dim, inputs: wp.launch(kernel, dim=dim, inputs=inputs, device=device))
            graph: Any = capture.graph
            self._run = lambda: wp.capture_launch(graph)

    def run(self) -> None:
        self._run()

    def _record(self, kernel: Any, dim: Any, inputs: Sequence[Any]) -> None:
        self._compiled.append(CompiledCall(kernel, dim, inputs))


def call_table(calls: Sequence[Call]) -> wp.array:
    return wp.array(np.array(calls, np.uint64).reshape(-1), dtype=wp.uint64, device="cpu")


def _through(calls: Sequence[Call]) -> Callable[[], None]:
    return CompiledCall(run_once, 1, [call_table(calls), len(calls)]).run


class Loop:
    """Calls that a compiled loop repeats; a run ends in the middle of the last round."""

    def __init__(self, before: Sequence[Call], after: Sequence[Call], alarm: wp.array):
        self._done = wp.zeros(1, dtype=wp.int32, device="cpu")
        self._count = self._done.numpy()
        table = call_table([*before, *after])
        inputs = [table, len(before), len(before) + len(after), 1, alarm, self._done]
        self._rounds = CompiledCall(run_repeatedly, 1, inputs)
        self.finish = _through(after)  # what the last round left out

    def run(self, times: int) -> int:
        """Up to `times` rounds, the last without its second part; how many: fewer where an alarm went on."""
        self._rounds.arguments.value3 = times
        self._rounds.run()
        return int(self._count[0])


class StepLaunches:
    """Both halves of a module's step: recorded at first use, and again where arrays were replaced."""

    def __init__(self, evaluate: Record, commit: Record, device: Any):
        self._record, self._device = (evaluate, commit), device
        self._pair: tuple[Launches, Launches] | None = None
        self._generation = 0

    def recorded(self, generation: int = 0) -> tuple[Launches, Launches]:
        """To evaluate, to commit; `generation` changes with the arrays."""
        if self._pair is None or generation != self._generation:
            evaluate, commit = self._record
            self._pair = Launches(evaluate, self._device), Launches(commit, self._device)
            self._generation = generation
        return self._pair


class Copies:
    """From where values are (world, *shape), any strides, to rows of buffers (row, world, *shape)."""

    def __init__(self, pairs: Sequence[tuple[np.ndarray, np.ndarray]]):
        lines = [_lines(source, buffer) for source, buffer in pairs if source.size]
        table = np.concatenate(lines) if lines else np.zeros((0, 5), np.uint64)
        given = wp.array(table.reshape(-1), dtype=wp.uint64, device="cpu")
        self._kept = list(pairs)
        self._call = CompiledCall(copy_row, 1, [given, len(table), 0])

    def take(self, row: int) -> None:
        self._call.arguments.value2 = row
        self._call.run()


def _lines(source: np.ndarray, buffer: np.ndarray) -> np.ndarray:
    lines = np.zeros((source.size, 5), np.uint64)
    lines[:, 0], lines[:, 1] = _addresses(source), SOURCES[source.dtype]
    lines[:, 2], lines[:, 3] = _addresses(buffer[0]), TARGETS[buffer.dtype]
    lines[:, 4] = buffer.strides[0]
    return lines


def _addresses(array: np.ndarray) -> Any:
    """Of every element, in order of their indices."""
    steps = np.indices(array.shape).reshape(array.ndim, -1)
    return array.__array_interface__["data"][0] + np.asarray(array.strides) @ steps
