"""A team of lanes: the threads that work together on one body. A warp of 32 lanes on CUDA, one lane on the CPU.

Lanes of a team run in step, so a team needs no barrier of its block: `sync` is enough for what one lane writes to be
seen by the others. Sums and the order of lists do not depend on which lane is faster, so results have the same bits in
every run. With one lane all of these functions return their argument, and a loop over a team's share of the work is a
plain loop.

All lanes of a team must call these functions together: never inside a branch that only some lanes take.
"""

from __future__ import annotations

import warp as wp

from grouser.precision import mat33, real, vec6

CUDA_LANES = 32

_REDUCE = """
#if defined(__CUDA_ARCH__)
    auto r = v;
    for (int s = 16; s > 0; s >>= 1) {{ auto q = __shfl_xor_sync(0xffffffffu, r, s); r = {join}; }}
    return r;
#else
    return v;
#endif
"""
_SUM_6 = """
#if defined(__CUDA_ARCH__)
    auto r = v;
    for (int c = 0; c < 6; ++c) {
        auto x = r[c];
        for (int s = 16; s > 0; s >>= 1) x += __shfl_xor_sync(0xffffffffu, x, s);
        r[c] = x;
    }
    return r;
#else
    return v;
#endif
"""
_SUM_33 = """
#if defined(__CUDA_ARCH__)
    auto r = v;
    for (int a = 0; a < 3; ++a) for (int c = 0; c < 3; ++c) {
        auto x = r.data[a][c];
        for (int s = 16; s > 0; s >>= 1) x += __shfl_xor_sync(0xffffffffu, x, s);
        r.data[a][c] = x;
    }
    return r;
#else
    return v;
#endif
"""
_FIRST = """
#if defined(__CUDA_ARCH__)
    return __shfl_sync(0xffffffffu, v, 0);
#else
    return v;
#endif
"""
_FROM_LANE = """
#if defined(__CUDA_ARCH__)
    return __shfl_sync(0xffffffffu, v, lane);
#else
    return v;
#endif
"""
_LANES_WHERE = """
#if defined(__CUDA_ARCH__)
    return (int)__ballot_sync(0xffffffffu, flag != 0);
#else
    return flag != 0 ? 1 : 0;
#endif
"""
_LOWEST = """
#if defined(__CUDA_ARCH__)
    return __ffs(lanes) - 1;
#else
    return 0;
#endif
"""
_RANK = """
#if defined(__CUDA_ARCH__)
    unsigned m = __ballot_sync(0xffffffffu, flag != 0);
    return __popc(m & ((1u << (threadIdx.x & 31)) - 1u));
#else
    return 0;
#endif
"""
_COUNT = """
#if defined(__CUDA_ARCH__)
    return __popc(__ballot_sync(0xffffffffu, flag != 0));
#else
    return flag != 0 ? 1 : 0;
#endif
"""


@wp.func_native("#if defined(__CUDA_ARCH__)\n    __syncwarp();\n#endif\n")
def sync():
    """Wait for all lanes. What they have written to memory before can be read by all of them after."""
    ...


@wp.func_native(_REDUCE.format(join="r + q"))
def total(v: real) -> real:
    """Sum over the lanes."""
    ...


@wp.func_native(_REDUCE.format(join="r + q"))
def total_int(v: int) -> int:
    """Sum over the lanes."""
    ...


@wp.func_native(_REDUCE.format(join="q < r ? q : r"))
def least(v: real) -> real:
    """Minimum over the lanes."""
    ...


@wp.func_native(_REDUCE.format(join="q > r ? q : r"))
def most(v: real) -> real:
    """Maximum over the lanes."""
    ...


@wp.func_native(_REDUCE.format(join="q < r ? q : r"))
def least_int(v: int) -> int:
    """Minimum over the lanes."""
    ...


@wp.func_native(_REDUCE.format(join="q > r ? q : r"))
def most_int(v: int) -> int:
    """Maximum over the lanes."""
    ...


@wp.func_native(_SUM_6)
def total_vector(v: vec6) -> vec6:
    """Sum over the lanes."""
    ...


@wp.func_native(_SUM_33)
def total_matrix(v: mat33) -> mat33:
    """Sum over the lanes."""
    ...


@wp.func_native(_FIRST)
def first(v: real) -> real:
    """Value of the first lane."""
    ...


@wp.func_native(_FROM_LANE)
def from_lane(v: real, lane: int) -> real:
    """Value of one lane."""
    ...


@wp.func_native(_FROM_LANE)
def int_from_lane(v: int, lane: int) -> int:
    """Value of one lane."""
    ...


@wp.func_native(_LANES_WHERE)
def lanes_where(flag: int) -> int:
    """Lanes whose `flag` is not 0, as bits of a number."""
    ...


@wp.func_native(_LOWEST)
def lowest_lane(lanes: int) -> int:
    """The first of some lanes given as bits."""
    ...


@wp.func_native(_RANK)
def rank(flag: int) -> int:
    """Number of lower lanes whose `flag` is not 0: the place of a lane's entry in a list."""
    ...


@wp.func_native(_COUNT)
def count(flag: int) -> int:
    """Number of lanes whose `flag` is not 0: how many entries a list gains."""
    ...
