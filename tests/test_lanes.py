"""Device functions in lanes give what they give one by one, also where lanes take different branches."""

from __future__ import annotations

from types import FunctionType
from typing import Any

import numpy as np
import pytest
import warp as wp

from grouser.device import array, module, numpy_dtype, struct
from grouser.lanes import END, LANES, lanes_of, name_of
from grouser.precision import real, vec2, vec3, vec4


@struct
class Spring:
    stiffness: real
    length: real
    limit: real
    damping: real


@wp.func
def branches(x: real, y: real):
    """Early returns, nested branches, a name that changes in some lanes."""
    if x < real(0.0):
        if y < real(0.0):
            return x * y
        return x - y
    z = y
    if x > real(1.0) and not y > real(0.5):
        z = real(2.0) * y
    elif y > real(0.0):
        z += x
    return z / (real(1.0) + wp.abs(x))


@wp.func
def sum_of_squares(x: real, y: real):
    """A loop whose length differs from lane to lane."""
    total = real(0.0)
    for c in range(int(wp.abs(x) * real(3.0))):
        total += wp.max(real(c) - y, real(0.0))
    return total


@wp.func
def turned(x: real, y: real):
    """Two results, vectors."""
    v = wp.cross(vec3(x, y, real(1.0)), vec3(y, real(0.5), x))
    return wp.dot(v, v), wp.length(v)


@wp.func
def both_results(x: real, y: real):
    square, length = turned(x, y)
    if y > x:
        length = -length
    return square + length


@wp.func
def of_table(x: real, y: real, springs: array[Spring], numbers: array[real]):
    """Elements of arrays at a different place in each lane. Places of lanes that are off are outside the arrays."""
    if x < real(0.0):
        return y
    k = int(x * real(4.0))
    spring = springs[k]
    return wp.min(spring.stiffness * (y - spring.length), spring.limit) + spring.damping * numbers[k]


@wp.func
def light_branches(x: real, y: real):
    """Branches of a few operations, which lanes take without a jump."""
    z = x
    if x > y:
        z = wp.max(x, y + real(0.5))
    else:
        z -= y
    if z > real(0.5):
        return z
    if y > real(0.0):
        return x * y - z
    return x + z


STAGE = """
for (int q = 0; q < (int)xs.shape[0]; q += {lanes}) {{
    const Ints on = Numbers(Run{{q}}) < (int)xs.shape[0], k = on ? Numbers(Run{{q}}) : (Ints)(0);
    const auto r = Up({name}(on, Load(xs, k), Load(ys, k){more}));
    for (int l = 0; l < {lanes}; ++l) if (on[l]) out.data[q + l] = r[l];
}}
"""
FUNCTIONS = (branches, sum_of_squares, both_results, of_table, light_branches)


def stub(xs: array[real], ys: array[real], springs: array[Spring], numbers: array[real], out: array[real]): ...


def in_lanes(function: Any) -> Any:
    """The function of all numbers of two arrays, eight at once."""
    more = ", springs, numbers" if function is of_table else ""
    stage = STAGE.format(lanes=LANES, name=name_of(function), more=more)
    named = FunctionType(stub.__code__, globals(), f"{function.key}_lanes")
    named.__annotations__, named.__qualname__ = stub.__annotations__, named.__name__
    return wp.func_native("typedef double real;\n" + lanes_of(function) + stage + END)(named)


lanes_0, lanes_1, lanes_2, lanes_3, lanes_4 = map(in_lanes, FUNCTIONS)


@wp.kernel(module=module("tests.test_lanes"))
def eight_at_once(
    xs: array[real], ys: array[real], springs: array[Spring], numbers: array[real], chosen: int, out: array[real]
):  # fmt: skip
    if chosen == 0:
        lanes_0(xs, ys, springs, numbers, out)
    elif chosen == 1:
        lanes_1(xs, ys, springs, numbers, out)
    elif chosen == 2:
        lanes_2(xs, ys, springs, numbers, out)
    elif chosen == 3:
        lanes_3(xs, ys, springs, numbers, out)
    else:
        lanes_4(xs, ys, springs, numbers, out)


@wp.kernel(module=module("tests.test_lanes"))
def one_by_one(
    xs: array[real], ys: array[real], springs: array[Spring], numbers: array[real], chosen: int, out: array[real]
):  # fmt: skip
    k = wp.tid()
    if chosen == 0:
        out[k] = branches(xs[k], ys[k])
    elif chosen == 1:
        out[k] = sum_of_squares(xs[k], ys[k])
    elif chosen == 2:
        out[k] = both_results(xs[k], ys[k])
    elif chosen == 3:
        out[k] = of_table(xs[k], ys[k], springs, numbers)
    else:
        out[k] = light_branches(xs[k], ys[k])


@pytest.mark.parametrize("chosen", range(len(FUNCTIONS)), ids=[function.key for function in FUNCTIONS])
def test_lanes_agree_with_one_by_one(chosen):
    random = np.random.default_rng(1)
    count = 5 * LANES + 3  # the last lanes are not all on
    xs, ys = random.uniform(-2, 2, count), random.uniform(-1, 1, count)
    springs = np.zeros(8, numpy_dtype(Spring))
    for name in springs.dtype.names:
        springs[name] = random.uniform(0, 1, 8)
    arrays = [
        wp.array(xs, dtype=wp.float64), wp.array(ys, dtype=wp.float64), wp.array(springs, dtype=Spring),
        wp.array(random.uniform(0, 1, 8), dtype=wp.float64),
    ]  # fmt: skip
    results = []
    for kernel, dim in ((one_by_one, count), (eight_at_once, 1)):
        out = wp.zeros(count, dtype=wp.float64)
        wp.launch(kernel, dim, inputs=[*arrays, chosen, out], device="cpu")
        results.append(out.numpy())
    assert np.array_equal(*results)
    assert len(set(results[0])) > 10


@wp.func
def store_some(
    x: real, k: int, whole: array[int], numbers: array[real], twos: array[vec2], threes: array[vec3], fours: array[vec4]
):
    """Elements of all kinds, stored in some lanes."""
    if x > real(0.0):
        whole[k] = int(x * real(8.0))
        numbers[k] = x
        twos[k] = vec2(x, real(2.0) * x)
        threes[k] = vec3(x, real(3.0) * x, real(4.0) * x)
        fours[k] = vec4(x, real(5.0) * x, real(6.0) * x, real(7.0) * x)


# Lanes that lie one after another in memory, and lanes anywhere: here the last elements first.
STORES = """
const int count = (int)xs.shape[0];
for (int q = 0; q < count; q += {lanes}) {{
    const Ints on = Numbers(Run{{q}}) < count, k = on ? (Ints)(count - 1) - Numbers(Run{{q}}) : (Ints)(0);
    const Ints there = on ? Numbers(Run{{q}}) : (Ints)(0);
    if (in_a_row) {name}(on, Load(xs, there), Run{{q}}, whole, numbers, twos, threes, fours);
    else {name}(on, Load(xs, k), k, whole, numbers, twos, threes, fours);
}}
"""


@wp.func_native(
    "typedef double real;\n"
    + lanes_of(store_some, valid=("k",))
    + STORES.format(lanes=LANES, name=name_of(store_some))
    + END
)
def store_lanes(
    xs: array[real], in_a_row: int, whole: array[int], numbers: array[real], twos: array[vec2], threes: array[vec3],
    fours: array[vec4],
): ...  # fmt: skip


@wp.kernel(module=module("tests.test_lanes"))
def store_both_ways(
    xs: array[real], way: int, whole: array[int], numbers: array[real], twos: array[vec2], threes: array[vec3],
    fours: array[vec4],
):  # fmt: skip
    if way < 2:
        store_lanes(xs, way, whole, numbers, twos, threes, fours)
    else:
        for k in range(xs.shape[0]):
            store_some(xs[k], k, whole, numbers, twos, threes, fours)


def test_lanes_store_what_they_are_to_and_nothing_else():
    """Elements of lanes that are off, and those past the last lane, keep what they held: it may be another thread's."""
    count, more = 5 * LANES + 3, LANES
    xs = np.random.default_rng(2).uniform(-1, 1, count)
    kinds = {wp.int32: (), wp.float64: (), vec2: (2,), vec3: (3,), vec4: (4,)}
    results = []
    for way in range(3):
        arrays = [wp.array(np.full((count + more, *parts), -7.0), dtype=kind) for kind, parts in kinds.items()]
        wp.launch(store_both_ways, 1, inputs=[wp.array(xs, dtype=wp.float64), way, *arrays], device="cpu")
        results.append([one.numpy() for one in arrays])
    for one_by_one, *lanes in zip(results[2], results[0], results[1], strict=True):
        assert (one_by_one[:count][xs <= 0] == -7).all()
        assert (one_by_one[count:] == -7).all()
        assert all(np.array_equal(one, one_by_one) for one in lanes)


@wp.func
def loop_that_returns(x: real):
    for c in range(3):
        if real(c) > x:
            return x
    return real(0.0)


@wp.func
def unknown_statement(x: real):
    while x > real(0.0):
        x -= real(1.0)
    return x


@pytest.mark.parametrize(
    ("function", "why"), [(loop_that_returns, "a return in a loop"), (unknown_statement, "not translated: while")]
)
def test_what_cannot_be_translated_is_named(function, why):
    with pytest.raises(TypeError, match=f"lanes: {function.key}, line .*{why}"):
        lanes_of(function)
