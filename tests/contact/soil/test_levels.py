"""Pressure, yield and the levels of a node against their closed forms."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp
from hypothesis import assume, given
from hypothesis import strategies as st

from grouser.contact.soil import laws
from grouser.contact.soil.pressure import CELLS, DEEPEST, FIRST, power_table, yield_at
from grouser.contact.soil.pressure import bekker as tabled_bekker
from grouser.contact.soil.types import Constants, Options
from grouser.precision import real, vec3, vec4
from tests.contact.soil.law_calls import ROUND_OFF, SOILS, array, launch, shares

wp.set_module_options({"enable_backward": False})

TABLE = 1e-5  # stated error of the table of powers
SHALLOW = 1e-4  # [m] beyond which that holds


@wp.kernel
def bekker_kernel(depth: wp.array(dtype=real), k: real, n: real, out: wp.array(dtype=real)):
    i = wp.tid()
    out[i] = laws.bekker(depth[i], k, n)


@wp.kernel
def table_kernel(o: Options, depth: wp.array(dtype=real), k: real, out: wp.array(dtype=real)):
    i = wp.tid()
    out[i] = tabled_bekker(o, 0, k, depth[i])


@wp.kernel
def yield_kernel(o: Options, z: wp.array(dtype=real), levels: vec4, k: real, out: wp.array(dtype=real)):
    i = wp.tid()
    out[i] = yield_at(o, 0, k, z[i], levels)


@wp.kernel
def stiffness_kernel(k_e: real, spare: wp.array(dtype=real), per_off: real, out: wp.array(dtype=real)):
    i = wp.tid()
    out[i] = laws.yielding_stiffness(k_e, spare[i], per_off)


@wp.kernel
def change_kernel(
    start: vec4, change: wp.array(dtype=vec3), loose: int, out: wp.array(dtype=vec4)
):  # one thread: sink by change[0] of which change[1] compacts, or cover by change[2]
    levels = start
    for q in range(change.shape[0]):
        if change[q][0] > real(0.0):
            levels = laws.sink(levels, change[q][0], change[q][1])
        else:
            levels = laws.add_loose_soil(levels, change[q][2], loose)
        out[q] = levels


@wp.kernel
def weaken_kernel(levels: vec4, d: real, out: wp.array(dtype=vec4)):
    out[0] = laws.weaken(levels, d)


def bekker(depth, k, n) -> np.ndarray:
    depth = np.atleast_1d(depth)
    return launch(bekker_kernel, len(depth), [array(depth), k, n], (len(depth), real))[0]


def options(n: float, k_e: float = 5e7):
    """What the table of powers and the yield pressure take from the soil."""
    o, constants = Options(), np.zeros(1, dtype=Constants.numpy_dtype())
    constants["n"], constants["k_e"], constants["per_k_e"] = n, k_e, 1 / k_e
    o.soils = wp.array(constants, dtype=Constants, device="cpu")
    o.powers = wp.array(power_table([n]), dtype=vec4, device="cpu")
    return o


def tabled(depth, k, n) -> np.ndarray:
    depth = np.atleast_1d(depth)
    return launch(table_kernel, len(depth), [options(n), array(depth), k], (len(depth), real))[0]


def yield_pressure(z, levels, k, n, k_e) -> np.ndarray:
    z = np.atleast_1d(z)
    return launch(yield_kernel, len(z), [options(n, k_e), array(z), vec4(*levels), k], (len(z), real))[0]


def changed(levels, *changes: tuple[float, float, float], loose: bool = True) -> np.ndarray:
    """Levels after each of some changes (sinkage, compacted share, cover)."""
    out = (len(changes), vec4)
    return launch(change_kernel, 1, [vec4(*levels), array(changes, vec3), int(loose)], out)[0]


def sink(levels, d, a) -> np.ndarray:
    return changed(levels, (d, a, 0.0))[-1]


def cover(levels, f, *, loose: bool = True) -> np.ndarray:
    return changed(levels, (0.0, 0.0, f), loose=loose)[-1]


depths = st.floats(1e-4, 0.2)  # [m]
moduli = st.floats(1e4, 1e7)  # [N/m^(n+2)]
exponents = st.floats(0.3, 2.0)


@st.composite
def node_levels(draw) -> np.ndarray:
    """Levels the model can reach: C <= Z <= V_l, C <= V_c, cover or not."""
    surface = draw(st.floats(-0.1, 0.1))
    cover_depth = draw(st.one_of(st.just(0.0), st.floats(1e-4, 0.05)))
    packed = surface - cover_depth
    virgin = surface + draw(st.floats(0, 0.1))
    packed_virgin = virgin if cover_depth == 0 else packed + draw(st.floats(0, 0.1))
    return np.array([surface, virgin, packed, packed_virgin])


@pytest.mark.parametrize("soil", SOILS, ids=lambda soil: soil.name)
def test_bekker_is_k_z_to_the_n(soil):
    z = np.array([-0.01, 0.0, 1e-4, 0.01, 0.05, 0.2])
    k = soil.pressure_modulus(0.1)
    expected = np.where(z > 0, k * np.maximum(z, 0) ** soil.n, 0.0)
    assert bekker(z, k, soil.n) == pytest.approx(expected, rel=ROUND_OFF)


@given(st.floats(SHALLOW, 2.0), exponents)
def test_table_of_powers_is_as_close_as_stated(z, n):
    assert tabled(z, 1e6, n)[0] == pytest.approx(1e6 * z**n, rel=TABLE)


@pytest.mark.parametrize("n", [0.3, 0.5, 0.7, 1.0, 1.1, 1.5, 2.0])
def test_table_hands_over_to_the_power_at_both_ends(n):
    """A jump there would be a kink in the force; beyond the ends it is the power itself."""
    first = DEEPEST * (FIRST / CELLS) ** 2
    for end, outside in ((first, 1 - 1e-9), (DEEPEST, 1 + 1e-9)):
        inside = 2 - outside
        got = tabled([end * outside, end * inside], 1e6, n)
        exact = 1e6 * (end * np.array([outside, inside])) ** n
        assert got[0] == pytest.approx(exact[0], rel=ROUND_OFF)
        assert got[1] == pytest.approx(exact[1], rel=TABLE)
    assert list(tabled([0.0, -0.01], 1e6, n)) == [0.0, 0.0]


def test_virgin_soil_yields_along_bekker():
    y = yield_pressure([0.01, 0.0, -0.02], [0.0] * 4, 1e6, 0.7, 5e7)
    assert y == pytest.approx([0, 0, 1e6 * 0.02**0.7], rel=TABLE)


def test_pressed_soil_yields_at_the_pressure_that_pressed_it():
    """Krenn et al. 2008, eq. 29: p = k (z + z_0)^n with z from the lowered surface."""
    levels = sink([0.0] * 4, 0.03, 1.0)
    y = yield_pressure([-0.03, -0.04], levels, 1e6, 1.1, 5e7)
    assert y == pytest.approx(1e6 * np.array([0.03, 0.04]) ** 1.1, rel=TABLE)


def test_loose_cover_over_packed_soil_has_three_branches():
    """Cover as virgin soil; below it the packed soil elastically, then along its own virgin curve."""
    levels = [-0.02, -0.02, -0.03, 0.0]  # 10 mm of cover on soil once pressed 30 mm deep
    k, n, k_e = 1e6, 1.0, 5e7
    in_cover, reloaded, packed = -0.025, -0.0305, -0.035
    y = yield_pressure([in_cover, reloaded, packed], levels, k, n, k_e)
    assert y == pytest.approx([k * 0.005, k_e * 0.0005, k * 0.035], rel=TABLE)


@given(node_levels(), moduli, exponents, st.floats(1e6, 1e9), st.floats(-0.05, 0.2))
def test_yield_pressure_is_the_formula(levels, k, n, k_e, below):
    """y = max(k (V_l - z)^n, below C: min(k (V_c - z)^n, K_e (C - z)))."""
    surface, virgin, packed, packed_virgin = levels
    z = surface - below
    expected = k * max(virgin - z, 0.0) ** n
    if z < packed:
        expected = max(expected, min(k * max(packed_virgin - z, 0.0) ** n, k_e * (packed - z)))
    assert yield_pressure(z, levels, k, n, k_e)[0] == pytest.approx(expected, rel=TABLE, abs=k * SHALLOW**n * TABLE)


@given(node_levels(), moduli, exponents, st.floats(1e6, 1e9))
def test_yield_pressure_rises_with_depth_without_a_jump(levels, k, n, k_e):
    """From one height to the next it changes by no more than its steepest branch does."""
    step = 1e-5
    z = levels[0] - step * np.arange(1, 10000)
    y = yield_pressure(z, levels, k, n, k_e)
    rise = np.diff(y)
    error = 2 * TABLE * y[1:]
    virgin = [k * (np.maximum(v - z[1:], 0) ** n - np.maximum(v - z[:-1], 0) ** n) for v in levels[[1, 3]]]
    assert (rise >= -error).all()
    assert (rise <= np.maximum(np.maximum(*virgin), k_e * step) * (1 + 1e-9) + error).all()


def test_yielding_soil_is_as_stiff_as_its_secant():
    """Pressure y - K w at w = off is that of min(y, K_e (u - w)), and where soil does not yield K is K_e."""
    k_e, y, off, spare = 5e7, 2e4, 1e-4, np.array([-1e-5, 0.0, 2e-5, 9e-5, 1e-4, 1e-3])
    got = launch(stiffness_kernel, len(spare), [k_e, array(spare), 1 / off], (len(spare), real))[0]
    expected = np.minimum(y, k_e * (y / k_e + np.maximum(spare, 0) - off))
    assert y - got * off == pytest.approx(expected, rel=ROUND_OFF)


@given(node_levels(), st.floats(1e-9, 0.1), shares)
def test_sinking_lowers_the_surface_by_exactly_that(levels, d, a):
    assert sink(levels, d, a)[0] == levels[0] - d


@given(node_levels(), st.floats(-0.05, 0.1), st.booleans())
def test_cover_raises_the_surface_by_exactly_that(levels, f, loose):
    assume(f != 0)
    assert cover(levels, f, loose=loose)[0] == levels[0] + f


@given(node_levels(), depths, moduli, exponents, st.floats(1e6, 1e9))
def test_pressure_is_continuous_while_soil_gives_way(levels, below, k, n, k_e):
    """Krenn et al. 2008, eq. 29: min(K_e (Z - z), y(z)) is the same before and after compaction."""
    z = levels[0] - below

    def felt(state) -> tuple[float, float]:
        y = yield_pressure(z, state, k, n, k_e)[0]
        return min(k_e * (state[0] - z), y), y

    before, y = felt(levels)
    plastic = below - y / k_e
    assume(plastic > 1e-9)
    after, _ = felt(sink(levels, plastic, 1.0))
    assert after == pytest.approx(before, rel=4 * TABLE, abs=k_e * 1e-12)


@given(depths, shares)
def test_soil_carried_off_takes_its_virgin_level_along(d, a):
    """Only compaction builds pressure: z_0 = a d."""
    surface, virgin, packed, packed_virgin = sink([0.0] * 4, d, a)
    assert virgin - surface == pytest.approx(a * d, rel=1e-9, abs=1e-15)
    assert (packed, packed_virgin) == (surface, virgin)


@given(depths, st.floats(1e-4, 0.3))
def test_cover_to_the_letter_of_equation_29(z_0, h):
    """z_0 = max(0, z_0 - h), what is beyond it raises the virgin level."""
    surface, virgin, packed, packed_virgin = cover([-z_0, 0.0, -z_0, 0.0], h, loose=False)
    assert virgin - surface == pytest.approx(max(0.0, z_0 - h), abs=1e-15)
    assert (packed, packed_virgin) == (surface, virgin)


@given(depths, st.floats(1e-4, 0.3), st.floats(1e-4, 0.3))
def test_loose_cover_is_virgin_soil_on_packed_soil(z_0, first, second):
    """It yields from its own surface; the packed soil below keeps its level and its pressure."""
    once, twice = changed([-z_0, 0.0, -z_0, 0.0], (0, 0, first), (0, 0, second))
    assert once[1] == once[0] == -z_0 + first
    assert twice[1] == twice[0]
    assert tuple(twice[2:]) == (-z_0, 0.0)


def test_cover_bears_less_than_the_letter_says():
    """Why there is an option: sand slid back into a rut carries the pressure of its full depth under eq. 29."""
    rut = [-0.04, 0.0, -0.04, 0.0]
    at = -0.03
    loose = yield_pressure(at, cover(rut, 0.02), 1e6, 1.0, 5e7)[0]
    letter = yield_pressure(at, cover(rut, 0.02, loose=False), 1e6, 1.0, 5e7)[0]
    assert loose == pytest.approx(1e6 * 0.01, rel=TABLE)
    assert letter == pytest.approx(1e6 * 0.03, rel=TABLE)


@given(node_levels(), st.floats(1e-4, 0.02))
def test_soil_that_slides_off_takes_its_virgin_level_along(levels, f):
    surface, virgin, packed, packed_virgin = cover(levels, -f)
    assert virgin - surface >= levels[1] - levels[0] - 1e-15
    assert packed <= surface + 1e-15
    if surface >= levels[2]:
        assert (packed, packed_virgin) == (levels[2], levels[3])


@given(
    st.lists(
        st.one_of(
            st.tuples(st.floats(1e-6, 0.02), shares, st.just(0.0)),
            st.tuples(st.just(0.0), st.just(0.0), st.floats(-0.02, 0.03)),
        ),
        min_size=1,
        max_size=40,
    ),
    st.booleans(),
)
def test_levels_keep_their_order_whatever_happens(changes, loose):
    """C <= Z <= V_l and C <= V_c after any history, so that no depth is negative and no pressure imaginary."""
    history = changed([0.0] * 4, *changes, loose=loose)
    surface, virgin, packed, packed_virgin = history.T
    assert (packed <= surface + 1e-14).all()
    assert (virgin >= surface - 1e-14).all()
    assert (packed_virgin >= packed - 1e-14).all()


@given(node_levels(), st.floats(0, 0.1))
def test_soil_that_slip_weakens_keeps_its_surface_and_the_order_of_its_levels(levels, d):
    surface, virgin, packed, packed_virgin = launch(weaken_kernel, 1, [vec4(*levels), d], (1, vec4))[0][0]
    assert (surface, packed) == (levels[0], levels[2])
    assert virgin == max(levels[1] - d, surface)
    assert packed_virgin == max(levels[3] - d, packed)
