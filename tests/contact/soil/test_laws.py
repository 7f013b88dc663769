"""The scalar laws against their closed forms, called through kernels of one line each."""

from __future__ import annotations

import math

import numpy as np
import pytest
import warp as wp
from hypothesis import assume, given
from hypothesis import strategies as st

from grouser.contact.soil import laws
from grouser.contact.soil.pressure import CELLS, DEEPEST, FIRST, power_table, yield_at
from grouser.contact.soil.pressure import bekker as tabled_bekker
from grouser.contact.soil.types import Constants, Options
from grouser.precision import real, vec2, vec3, vec4
from grouser.terrain.soils import builtin_soils

wp.set_module_options({"enable_backward": False})

ROUND_OFF = 1e-12  # a few operations in float64
TABLE = 1e-5  # stated error of the table of powers
SHALLOW = 1e-4  # [m] beyond which that holds
REST_PEAK = 0.1 * 3 * math.sqrt(3) / 16  # of tau_max: greatest e x / (1 + x^2)^2 for e = 10 %, at x = 1/sqrt(3)
SOILS = builtin_soils().values()


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
def limit_kernel(p: real, covered: real, c: real, tan_phi: real, mu: real, out: wp.array(dtype=real)):
    out[0] = laws.shear_limit(p, covered, c, tan_phi, mu)


@wp.kernel
def shear_kernel(start: vec3, v: wp.array(dtype=vec3), h_over_k: real, out: wp.array(dtype=vec3)):
    s = start
    for q in range(v.shape[0]):
        s = laws.advance_shear(s, v[q], h_over_k)
        out[q] = s


@wp.kernel
def cap_kernel(p: real, covered: real, c: real, tan_phi: real, mu: real, out: wp.array(dtype=real)):
    out[0] = laws.interface_cap(p, covered, c, tan_phi, mu)


@wp.kernel
def end_kernel(s: vec3, v: vec3, h_over_k: real, cap: real, out: wp.array(dtype=vec3), grip: wp.array(dtype=real)):
    state, growth = laws.shear_at_end(s, v, h_over_k, cap)
    out[0] = state
    grip[0] = growth


@wp.kernel
def lug_kernel(h: real, p: real, c: real, tan_phi: real, mu: real, gamma: real, pitch: real, out: wp.array(dtype=real)):
    face = laws.face_force(h, p, c, tan_phi, gamma)
    out[0] = face
    out[1] = laws.lug_limit(p, face / pitch, c, tan_phi, mu)


@wp.kernel
def slip_kernel(v_t: vec3, travel: real, chi: real, layer: real, step: real, cell: real, out: wp.array(dtype=real)):
    out[0] = laws.slip_sinkage(v_t, travel, step)
    out[1] = laws.dug_height(v_t, chi, layer, step / cell)
    out[2] = laws.spinning_share(travel)


@wp.kernel
def weaken_kernel(levels: vec4, d: real, out: wp.array(dtype=vec4)):
    out[0] = laws.weaken(levels, d)


@wp.kernel
def friction_kernel(p: real, c: real, tan_phi: real, out: wp.array(dtype=real)):
    out[0] = laws.frictional_share(p, c, tan_phi)


@wp.kernel
def rest_kernel(s: wp.array(dtype=vec3), v: wp.array(dtype=vec3), out: wp.array(dtype=real)):
    i = wp.tid()
    out[i] = laws.rest_damping(s[i], v[i])


@wp.kernel
def parts_kernel(v: vec3, normal: vec3, out: wp.array(dtype=vec3), shares: wp.array(dtype=vec2)):
    v_n, sinkage, bulldozing = laws.displacement_parts(v, normal)
    out[0] = v_n
    shares[0] = vec2(sinkage, bulldozing)


@wp.kernel
def weight_kernel(at: wp.array(dtype=vec2), along: vec2, even: wp.array(dtype=real), ahead: wp.array(dtype=real)):
    i = wp.tid()
    w = laws.deposit_weight(at[i][0], at[i][1])
    even[i] = w
    ahead[i] = laws.directed_weight(at[i][0], at[i][1], along[0], along[1], w)


@wp.kernel
def flux_kernel(difference: wp.array(dtype=real), limit: real, out: wp.array(dtype=real)):
    i = wp.tid()
    out[i] = laws.erosion_flux(difference[i], limit)


def array(values, dtype=real) -> wp.array:
    return wp.array(np.atleast_1d(np.asarray(values, float)), dtype=dtype, device="cpu")


def launch(kernel, count: int, inputs: list, *outputs: tuple[int, object]) -> list[np.ndarray]:
    out = [wp.zeros(size, dtype=dtype, device="cpu") for size, dtype in outputs]
    wp.launch(kernel, dim=count, inputs=[*inputs, *out], device="cpu")
    return [o.numpy() for o in out]


def bekker(depth, k, n) -> np.ndarray:
    depth = np.atleast_1d(depth)
    return launch(bekker_kernel, len(depth), [array(depth), k, n], (len(depth), real))[0]


def options(n: float, k_e: float = 5e7):
    """What the table of powers and the yield pressure take from the soil."""
    o, constants = Options(), np.zeros(1, dtype=Constants.numpy_dtype())
    constants["n"], constants["k_e"], constants["per_k_e"] = n, k_e, 1 / k_e
    o.soils = wp.array(constants, dtype=Constants, device="cpu")
    o.powers = wp.array(power_table([n]), dtype=vec2, device="cpu")
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


def sheared(start, velocity, h_over_k) -> np.ndarray:
    velocity = np.atleast_2d(velocity)
    out = (len(velocity), vec3)
    return launch(shear_kernel, 1, [vec3(*start), array(velocity, vec3), h_over_k], out)[0]


depths = st.floats(1e-4, 0.2)  # [m]
moduli = st.floats(1e4, 1e7)  # [N/m^(n+2)]
exponents = st.floats(0.3, 2.0)
shares = st.floats(0, 1)


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


@pytest.mark.parametrize(
    ("mu", "expected"), [(-1.0, 1000 + 5000 * 0.5), (0.9, 1000 + 5000 * 0.5), (0.45, 0.45 * 5000), (0.0, 0.0)]
)
def test_shear_limit_is_the_lower_of_soil_and_wheel(mu, expected):
    """Krenn and Hirzinger 2009, eq. 5 against Krenn et al. 2008, eq. 19; below 0 no friction of the wheel is given."""
    assert launch(limit_kernel, 1, [5000.0, 1.0, 1000.0, 0.5, mu], (1, real))[0][0] == pytest.approx(expected)


def test_cohesion_acts_on_the_covered_share_of_a_cell():
    assert launch(limit_kernel, 1, [5000.0, 0.25, 1000.0, 0.5, -1.0], (1, real))[0][0] == pytest.approx(2750)


@given(st.floats(0, 1e5), shares, st.floats(0, 5e3), st.floats(0, 1.2), st.floats(-1, 1.2))
def test_a_sliding_interface_caps_the_shear_stress(p, covered, cohesion, tan_phi, mu):
    """(c + p tan(phi)) times the largest state is the lesser of the soil's own limit and mu p."""
    cap = launch(cap_kernel, 1, [p, covered, cohesion, tan_phi, mu], (1, real))[0][0]
    own = cohesion * covered + p * tan_phi
    assert own * cap == pytest.approx(own if mu < 0 else min(own, mu * p), rel=ROUND_OFF, abs=1e-300)
    assert 0 <= cap <= 1


def test_a_capped_shear_state_follows_the_soils_own_curve_up_to_the_cap():
    """Not the whole curve scaled: half of the cap takes the slip that the soil alone needs for it."""
    cap, step, steps = 0.6, 1e-3, 2000
    s, path = vec3(), []
    for _ in range(steps):
        (end,), _ = launch(end_kernel, 1, [s, vec3(1.0, 0.0, 0.0), step, cap], (1, vec3), (1, real))
        path.append(end[0])
        s = vec3(*end)
    j = step * np.arange(1, steps + 1)
    assert np.array(path) == pytest.approx(np.minimum(1 - np.exp(-j), cap), abs=step)
    assert path[-1] == pytest.approx(cap, rel=ROUND_OFF)


directions = st.tuples(*[st.floats(-1, 1)] * 3)


@given(directions, directions, st.floats(1e-4, 1e2), shares)
def test_a_capped_state_is_short_enough_and_its_block_does_not_push(s, v, h_over_k, cap):
    (end,), (grip,) = launch(end_kernel, 1, [vec3(*s), vec3(*v), h_over_k, cap], (1, vec3), (1, real))
    if cap < 1:
        assert np.linalg.norm(end) <= cap * (1 + ROUND_OFF)
    assert grip >= 0


@given(
    st.floats(1e-3, 0.1), st.floats(0, 1e5), st.floats(0, 5e3), st.floats(0, 45), st.floats(0, 1), st.floats(0.01, 10)
)
def test_lugs_hold_the_lesser_of_tip_plane_and_faces(h, p, c, phi_deg, mu, pitch):
    """Rankine: 1/2 gamma h^2 K_p + p h K_p + 2 c h sqrt(K_p) with K_p = tan^2(45 deg + phi/2); never the sum."""
    gamma, tan_phi = 1.6e4, math.tan(math.radians(phi_deg))
    root = math.tan(math.pi / 4 + math.radians(phi_deg) / 2)
    expected = 0.5 * gamma * h**2 * root**2 + p * h * root**2 + 2 * c * h * root
    face, limit = launch(lug_kernel, 1, [h, p, c, tan_phi, mu, gamma, pitch], (2, real))[0]
    assert face == pytest.approx(expected, rel=1e-9)
    assert limit == pytest.approx(min(c + p * tan_phi, expected / pitch + mu * p), rel=1e-9)


def test_faces_govern_where_lugs_are_few():
    """10 mm lugs under 10 kPa in dry sand: 30 of them shear a block off, 6 of them plough."""
    sand, h, p, radius = next(s for s in SOILS if s.name == "dry-sand"), 0.01, 1e4, 0.15
    tan_phi, mu = math.tan(math.radians(28)), math.tan(math.radians(28 * 2 / 3))
    plane = sand.cohesion + p * tan_phi
    for count, by_faces in ((30, False), (6, True)):
        pitch = 2 * math.pi * (radius + h) / count
        limit = launch(lug_kernel, 1, [h, p, sand.cohesion, tan_phi, mu, 1.6e4, pitch], (2, real))[0][1]
        assert (limit < 0.99 * plane) == by_faces


@pytest.mark.parametrize("slip", [0.1, 0.5, 0.9])
def test_a_column_of_soil_sinks_with_the_slip_of_the_surface(slip):
    """Below a flat contact of length L a column falls by j = s L, however slowly the wheel gets on."""
    rim, length, steps = 10.0, 0.1, 100  # [m/s] far above STUCK_SPEED
    travel = (1 - slip) * rim
    step = length / travel / steps
    fall = launch(slip_kernel, 1, [vec3(-slip * rim, 0.0, 0.0), travel, 0.3, 1e-3, step, 0.01], (3, real))[0][0]
    assert steps * fall == pytest.approx(slip * length, rel=2e-3)


@pytest.mark.parametrize("slip", [0.1, 0.5, 0.9])
def test_a_layer_that_moves_with_the_wheel_comes_from_the_front(slip):
    """Flux balance: while the edge crosses a cell, (1 - chi) t s / (1 - s) leaves it."""
    rim, cell, chi, layer = 10.0, 0.01, 0.3, 5e-3
    travel = (1 - slip) * rim
    out = launch(slip_kernel, 1, [vec3(-slip * rim, 0.0, 0.0), travel, chi, layer, cell / travel, cell], (3, real))[0]
    assert out[1] == pytest.approx((1 - chi) * layer * slip / (1 - slip), rel=2e-3)


def test_on_the_spot_the_band_digs_and_at_rest_nothing_does():
    spot = launch(slip_kernel, 1, [vec3(0.05, 0.0, 0.0), 0.0, 0.3, 1e-3, 5e-3, 0.01], (3, real))[0]
    assert spot[0] == 0
    assert spot[1] > 0
    assert spot[2] == 1
    rest = launch(slip_kernel, 1, [vec3(laws.STUCK_SPEED / 2, 0.0, 0.0), 0.01, 0.3, 1e-3, 5e-3, 0.01], (3, real))[0]
    assert tuple(rest[:2]) == (0, 0)


@given(node_levels(), st.floats(0, 0.1))
def test_soil_that_slip_weakens_keeps_its_surface_and_the_order_of_its_levels(levels, d):
    surface, virgin, packed, packed_virgin = launch(weaken_kernel, 1, [vec4(*levels), d], (1, vec4))[0][0]
    assert (surface, packed) == (levels[0], levels[2])
    assert virgin == max(levels[1] - d, surface)
    assert packed_virgin == max(levels[3] - d, packed)


@given(st.floats(0, 1e5), st.floats(0, 5e3), st.floats(0, 1.2))
def test_cohesion_does_not_dig(p, c, tan_phi):
    assume(p * tan_phi > 1e-6)
    share = launch(friction_kernel, 1, [p, c, tan_phi], (1, real))[0][0]
    assert share == pytest.approx(p * tan_phi / (c + p * tan_phi), rel=1e-9)


def shear_error(steps: int) -> float:
    """Greatest difference from 1 - exp(-j/K) over a slip of 3 K in `steps` steps."""
    travel = 3.0  # K
    s = sheared([0, 0, 0], np.tile([1.0, 0, 0], (steps, 1)), travel / steps)[:, 0]
    j = travel * np.arange(1, steps + 1) / steps
    return float(np.abs(s - (1 - np.exp(-j))).max())


def test_steady_slip_follows_janosi_to_first_order():
    """Backward Euler: error h/(2K) e^-1 j/K at most, halving with the step."""
    coarse, fine = shear_error(300), shear_error(600)
    assert coarse < 0.01 / 2  # half a step, in units of K
    assert coarse / fine == pytest.approx(2, rel=0.02)


def test_reversal_changes_sign_after_ln_2_of_k():
    """From full slip s = 1: s(j) = 2 exp(-j/K) - 1."""
    step = 1e-3
    s = sheared([1, 0, 0], np.tile([-1.0, 0, 0], (1000, 1)), step)[:, 0]
    assert step * (np.flatnonzero(s < 0)[0] + 1) == pytest.approx(math.log(2), abs=2 * step)
    assert s[-1] < -0.25


@given(st.lists(st.tuples(*[st.floats(-10, 10)] * 3), min_size=1, max_size=30), st.floats(1e-4, 1e3))
def test_shear_state_never_exceeds_one(velocities, h_over_k):
    s = sheared([0, 0, 0], velocities, h_over_k)
    assert (np.linalg.norm(s, axis=1) <= 1 + ROUND_OFF).all()


def test_a_body_at_rest_keeps_its_shear():
    """This holds a parked rover."""
    assert sheared([0.3, -0.2, 0.1], np.zeros((5, 3)), 0.3)[-1] == pytest.approx([0.3, -0.2, 0.1], rel=ROUND_OFF)


units = st.floats(-1, 1)


@given(st.tuples(units, units, units), st.tuples(units, units, units), st.floats(-6, 1))
def test_rest_damping_leaves_steady_slip_alone_and_stays_small(s, direction, log_speed):
    """Nil where s lies along v, else against v and at most 3.2 % of tau_max."""
    length = np.linalg.norm(direction)
    assume(length > 1e-3)
    v = np.array(direction) / length * 10.0**log_speed
    (d,) = launch(rest_kernel, 1, [array([s], vec3), array([v], vec3)], (1, real))[0]
    assert 0 <= d * np.linalg.norm(v) <= REST_PEAK * (1 + 1e-9)
    if np.dot(s, v) >= 0:
        assert d == 0


def test_rest_damping_brakes_a_swing_back():
    (d,) = launch(rest_kernel, 1, [array([[0.5, 0, 0]], vec3), array([[-1e-3, 0, 0]], vec3)], (1, real))[0]
    x = 1 / 8
    assert d == pytest.approx(0.1 * 125 / (1 + x * x) ** 2, rel=ROUND_OFF)


@given(st.tuples(units, units, units), st.tuples(units, units, st.floats(0.1, 3)))
def test_displacement_parts_sum_to_one(velocity, normal):
    """Krenn and Hirzinger 2009, eq. 6-8: sinkage, bulldozing and shear are v_Nz^2, v_Nxy^2, v_T^2 over v^2."""
    v, n = np.array(velocity), np.array(normal)
    assume(np.linalg.norm(v) > 1e-3)
    normal_part, ((sinkage, bulldozing),) = launch(parts_kernel, 1, [vec3(*v), vec3(*n)], (1, vec3), (1, vec2))
    v_n = v @ n / (n @ n) * n
    v_t = v - v_n
    assert normal_part[0] == pytest.approx(v_n, abs=1e-12)
    assert sinkage == pytest.approx(v_n[2] ** 2 / (v @ v), abs=1e-12)
    assert bulldozing == pytest.approx((v_n[0] ** 2 + v_n[1] ** 2) / (v @ v), abs=1e-12)
    assert sinkage + bulldozing + v_t @ v_t / (v @ v) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize(
    ("velocity", "normal", "expected"),
    [
        ((0, 0, -1), (0, 0, 2), (1, 0)),  # pressed straight down
        ((1, 0, 0), (1, 0, 0), (0, 1)),  # a wall pushed ahead
        ((1, 0, 0), (0, 0, 1), (0, 0)),  # a plate dragged along
        ((1, 0, 0), (-1, 0, 1), (0.25, 0.25)),  # half way
    ],
)
def test_displacement_parts_of_plain_motions(velocity, normal, expected):
    _, parts = launch(parts_kernel, 1, [vec3(*velocity), vec3(*normal)], (1, vec3), (1, vec2))
    assert tuple(parts[0]) == pytest.approx(expected, abs=1e-15)


def weights(at, along=(1.0, 0.0)) -> tuple[np.ndarray, np.ndarray]:
    at = np.atleast_2d(at)
    even, ahead = launch(weight_kernel, len(at), [array(at, vec2), vec2(*along)], (len(at), real), (len(at), real))
    return even, ahead


def test_deposit_weight_falls_with_the_square_of_distance():
    """Krenn et al. 2008, eq. 24; the quarter cell matters only near the source."""
    even, _ = weights([[3.0, 4.0], [5.0, 0.0], [0.0, -5.0], [50.0, 0.0], [0.0, 0.0]])
    assert even[0] == even[1] == even[2]
    assert even[1] / even[3] == pytest.approx(100, rel=0.01)
    assert even[4] == 4.0


@given(st.floats(0, 2 * math.pi), st.floats(0, 2 * math.pi), st.floats(1, 30))
def test_directed_weight_follows_the_squared_cosine(angle, direction, distance):
    """Krenn and Hirzinger 2009, eq. 10 with m = 2: nothing behind, cos^2 of what lies straight ahead."""
    along = np.array([math.cos(direction), math.sin(direction)])
    at = distance * np.array([math.cos(angle), math.sin(angle)])
    _, (here, straight) = weights([at, distance * along], along)
    cosine = max(math.cos(angle - direction), 0.0)
    assert here == pytest.approx(cosine**2 * straight, abs=1e-9)
    assert straight > 0


def flux(difference, limit: float) -> np.ndarray:
    difference = np.atleast_1d(difference)
    return launch(flux_kernel, len(difference), [array(difference), limit], (len(difference), real))[0]


@given(st.floats(-0.1, 0.1), st.floats(1e-3, 0.02))
def test_erosion_gives_one_node_what_the_other_loses(difference, limit):
    there, back = flux([difference, -difference], limit)
    assert there == -back


@given(st.floats(1e-3, 0.02), st.floats(0, 1))
def test_slopes_up_to_the_band_stand(limit, share):
    assert flux(share * limit * (1 + laws.EROSION_BAND) * (1 - 1e-9), limit)[0] == 0


@given(st.floats(1e-3, 0.02), st.floats(1.0001, 5))
def test_steeper_slopes_slide_until_they_rest_below_the_friction_angle(limit, factor):
    difference = limit * (1 + laws.EROSION_BAND) * factor
    expected = difference - laws.EROSION_REST * limit
    assert flux(difference, limit)[0] == pytest.approx(expected, rel=ROUND_OFF)


def test_band_is_within_what_a_slope_may_exceed():
    assert 0 < laws.EROSION_BAND < 0.01
    assert 0.9 <= laws.EROSION_REST <= 1
