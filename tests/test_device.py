"""`device.at`: the same device code in float64 and float32."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp

from grouser.device import arrays, at, fields, kernels, zeros
from grouser.errors import InputError
from grouser.precision import precision
from tests import device_samples as samples
from tests import device_samples_read
from tests.device_call import call

TYPES = ["float64", "float32"]


def real(dtype: str):
    return precision(dtype).real


@pytest.mark.parametrize(
    "thing",
    [samples.Point, samples.nested, samples.weigh, samples.twice, samples.HALF, samples.UP, precision("float64").vec6],
)
def test_float64_is_the_code_as_it_stands(thing):
    assert at(thing, "float64") is thing


@pytest.mark.parametrize("thing", [samples.Point, samples.Cloud, samples.nested, samples.twice, samples.weigh])
def test_float32_is_made_once(thing):
    assert at(thing, "float32") is at(thing, "float32") is not thing


def test_what_holds_no_float_is_not_copied():
    assert at(samples.Indices, "float32") is samples.Indices
    assert at(wp.vec3i, "float32") is wp.vec3i
    assert at(wp.dot, "float32") is wp.dot
    assert at(3, "float32") == 3


def test_an_unknown_float_type_is_refused():
    with pytest.raises(InputError, match="float16"):
        at(samples.nested, "float16")


# ---- structs ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", TYPES)
def test_structs_hold_the_float_type(dtype):
    p, point, cloud = precision(dtype), at(samples.Point, dtype), at(samples.Cloud, dtype)
    assert point.vars["place"].type is p.vec3
    assert point.vars["weight"].type is p.real
    assert cloud.vars["middle"].type is point
    assert cloud.vars["points"].type.dtype is point
    assert cloud.vars["span"].type is samples.Indices
    assert cloud.vars["exact"].type.dtype is wp.float64


def test_structs_need_annotations_as_text():
    with pytest.raises(TypeError, match=r"Spring.*device_samples_read.*from __future__ import annotations"):
        at(device_samples_read.Spring, "float32")


# ---- functions ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", TYPES)
def test_literals_and_nested_functions_are_rounded_in_the_float_type(dtype):
    f = precision(dtype).numpy
    assert call(at(samples.tenth, dtype), returns=real(dtype)) == f(0.1)
    assert call(at(samples.third, dtype), real(dtype)(1), returns=real(dtype)) == f(1) / f(3)
    assert call(at(samples.nested, dtype), real(dtype)(1), returns=real(dtype)) == f(1) / f(3) + f(0.5)


@pytest.mark.parametrize("dtype", TYPES)
def test_a_float_type_under_another_name_follows(dtype):
    f = precision(dtype).numpy
    assert call(at(samples.renamed, dtype), real(dtype)(3), returns=real(dtype)) == f(3) * f(0.1)


@pytest.mark.parametrize("dtype", TYPES)
def test_names_of_modules_follow(dtype):
    f, slack = precision(dtype).numpy, precision(dtype).area_slack.value
    got = call(at(samples.through_module, dtype), real(dtype)(1), returns=real(dtype))
    assert got == f(0.1) * f(1) + f(slack)


@pytest.mark.parametrize("dtype", TYPES)
def test_constants_that_differ_by_type_are_those_of_the_type(dtype):
    p = precision(dtype)
    assert call(at(samples.round_off, dtype), returns=p.real) == p.numpy(p.slack**2)


@pytest.mark.parametrize("dtype", TYPES)
def test_constant_vectors_and_matrices_follow(dtype):
    p = precision(dtype)
    assert call(at(samples.swapped, dtype), p.vec3(1, 2, 3), returns=p.vec3).tolist() == [2, 1, 4]


@pytest.mark.parametrize("dtype", TYPES)
def test_quaternions_follow(dtype):
    p = precision(dtype)
    quarter = p.quat(0.0, 0.0, 1.0, 0.0)  # half a turn about z
    assert call(at(samples.turned, dtype), quarter, p.vec3(1, 2, 3), returns=p.vec3).tolist() == [-1, -2, 3]


@pytest.mark.parametrize("dtype", TYPES)
def test_native_functions_follow(dtype):
    f = precision(dtype).numpy
    assert call(at(samples.twice_third, dtype), real(dtype)(1), returns=real(dtype)) == 2 * (f(1) / f(3))


@pytest.mark.parametrize("dtype", TYPES)
def test_functions_take_structs_and_write_their_arrays(dtype):
    f = precision(dtype).numpy
    cloud = at(samples.Cloud, dtype)()
    cloud.middle.weight = 1.0
    cloud.span.last = 7
    cloud.points = wp.zeros(2, dtype=at(samples.Point, dtype), device="cpu")
    cloud.exact = wp.zeros(2, dtype=wp.float64, device="cpu")
    assert call(at(samples.several, dtype), cloud, 1, returns=(real(dtype), int)) == (f(1) / f(3), 7)
    assert cloud.points.numpy()["weight"].tolist() == [0, f(1) / f(3)]
    assert cloud.exact.numpy().tolist() == [0, float(f(1) / f(3))]


def test_functions_need_annotations_as_text():
    with pytest.raises(TypeError, match=r"same.*device_samples_read.*from __future__ import annotations"):
        at(device_samples_read.same, "float32")


@pytest.mark.parametrize("dtype", TYPES)
def test_a_function_can_stand_in_the_place_of_another(dtype):
    f = precision(dtype).numpy
    replaced = at(samples.nested, dtype, {samples.third: samples.renamed})
    assert call(replaced, real(dtype)(3), returns=real(dtype)) == f(3) * f(0.1) + f(0.5)
    assert call(at(samples.nested, dtype), real(dtype)(3), returns=real(dtype)) == 1.5
    assert (
        at(samples.Cloud, dtype, {samples.third: samples.renamed}).numpy_dtype()
        == at(samples.Cloud, dtype).numpy_dtype()
    )


@pytest.mark.parametrize("dtype", TYPES)
def test_a_function_can_call_the_one_it_replaces(dtype):
    replaced = at(samples.nested, dtype, {samples.third: samples.sixth})
    assert call(replaced, real(dtype)(3), returns=real(dtype)) == 1.0


def test_a_replaced_function_leaves_structs_of_float64_alone():
    assert at(samples.Cloud, "float64", {samples.third: samples.renamed}) is samples.Cloud


def test_annotations_that_hold_no_float_need_not_be_text():
    assert call(at(device_samples_read.next_one, "float32"), 3, returns=int) == 4


def test_a_function_inside_another_is_refused():
    with pytest.raises(TypeError, match=r"scaled refers to factor of an enclosing function"):
        at(samples.inside(2.0), "float32")


# ---- kernels ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", TYPES)
def test_kernels_follow(dtype):
    p, kernel = precision(dtype), at(samples.weigh, dtype)
    cloud = at(samples.Cloud, dtype)()
    weights = np.zeros(3, at(samples.Point, dtype).numpy_dtype())
    weights["weight"] = [1, 2, 3]
    cloud.points = wp.array(weights, dtype=at(samples.Point, dtype), device="cpu")
    out = wp.zeros(3, dtype=p.real, device="cpu")
    wp.launch(kernel, 3, inputs=[cloud, out], device="cpu")
    expected = np.arange(1, 4, dtype=p.numpy) / p.numpy(3) + p.numpy(0.5)
    assert out.numpy().tolist() == expected.tolist()


def test_kernels_of_a_float_type_share_a_module_and_its_options():
    single = at(samples.weigh, "float32").module
    assert single.name == "tests.device_samples.kernels.float32"
    assert single.options["enable_backward"] is False
    lawful = at(samples.weigh, "float64", {samples.third: samples.renamed}).module
    assert lawful.name == "tests.device_samples.kernels.renamed.float64"


# ---- host ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", TYPES)
def test_arrays_are_allocated_as_declared(dtype):
    cloud = zeros(at(samples.Cloud, dtype), "cpu", (3,), exact=(2,))
    assert cloud.points.shape == (3,)
    assert cloud.points.dtype is at(samples.Point, dtype)
    assert cloud.exact.shape == (2,)
    assert cloud.exact.dtype is wp.float64
    assert cloud.span.last == 0
    assert arrays(cloud=cloud) == {"cloud/points": cloud.points, "cloud/exact": cloud.exact}


def test_a_shape_of_no_field_is_refused():
    with pytest.raises(TypeError, match="no field 'colour'"):
        zeros(samples.Cloud, "cpu", (3,), colour=(2,))


def test_kernels_of_a_python_module_are_built_together():
    built = kernels(samples, "float32")
    assert built.weigh is at(samples.weigh, "float32")
    assert vars(built).keys() == {key for key, thing in vars(samples).items() if isinstance(thing, wp.Kernel)}


def test_fields_of_a_struct_are_named_in_order():
    assert list(fields(samples.Point)) == list(samples.Point.vars)
    assert fields(samples.Cloud)["exact"].dtype is wp.float64
