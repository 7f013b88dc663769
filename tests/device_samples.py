"""Device code of every kind for test_device.py: structs, functions, constants, native code, a kernel."""

from __future__ import annotations

import warp as wp

from grouser import precision
from grouser.device import array, module, struct
from grouser.precision import area_slack, mat33, quat, real, vec3
from grouser.precision import real as number

HALF = wp.constant(real(0.5))
UP = wp.constant(vec3(0.0, 0.0, 1.0))
SWAP = wp.constant(mat33(0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0))
TENTH = 0.1  # a plain number of Python
kernels = module("tests.device_samples.kernels")


@struct
class Indices:
    """Nothing of a float type."""

    first: int
    last: int


@struct
class Point:
    place: vec3  # [m]
    weight: real


@struct
class Cloud:
    """Structs in a struct, in an array and beside one."""

    middle: Point
    span: Indices
    points: array[Point]
    exact: array[wp.float64]  # double whatever the type


@wp.func
def tenth():
    return real(TENTH)


@wp.func
def third(x: real):
    """1/3 has other digits in float32."""
    return x / real(3.0)


@wp.func
def nested(x: real):
    return third(x) + HALF


@wp.func
def sixth(x: real):
    """Calls what it may stand in for."""
    return third(x) * HALF


@wp.func
def renamed(x: number):
    return x * number(0.1)


@wp.func
def through_module(x: precision.real):
    return precision.real(0.1) * x + precision.area_slack


@wp.func
def round_off():
    return area_slack


@wp.func
def swapped(v: vec3):
    return SWAP * v + UP


@wp.func
def turned(q: quat, v: vec3):
    return wp.quat_rotate(q, v)


@wp.func
def several(cloud: Cloud, k: int):
    """A value and a struct's field; the array is written."""
    cloud.points[k].weight = third(cloud.middle.weight)
    cloud.exact[k] = wp.float64(cloud.points[k].weight)
    return cloud.points[k].weight, cloud.span.last


@wp.func_native("return 2 * x;")
def twice(x: real) -> real: ...


@wp.func
def twice_third(x: real):
    return twice(third(x))


@wp.kernel(module=kernels)
def weigh(cloud: Cloud, out: array[real]):
    k = wp.tid()
    out[k] = nested(cloud.points[k].weight)


def inside(factor: float):
    """A function that needs a name of the function round it."""

    @wp.func
    def scaled(x: real):
        return real(factor) * x

    return scaled
