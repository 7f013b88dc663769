"""C++ of the stages that run in lanes: device functions translated by `grouser.lanes`, and how they get elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from grouser.lanes import END, LANES, lanes_of, name_of

# What all stages use. Lanes past the end of a list or a row repeat an element that is in it, or are off.
HELP = """
const Ints Everywhere = (Ints)(-1);
const auto Ahead = LAMBDA(int count) { return Numbers(Run{0}) < count; };  // the first lanes
const auto Sum = LAMBDA(Reals v) {
    real sum = v[0];
    for (int l = 1; l < LANES; ++l) sum += v[l];
    return sum;
};
const auto Least = LAMBDA(const auto& v) {
    auto least = v[0];
    for (int l = 1; l < LANES; ++l) least = v[l] < least ? v[l] : least;
    return least;
};
const auto Most = LAMBDA(const auto& v) {
    auto most = v[0];
    for (int l = 1; l < LANES; ++l) most = v[l] > most ? v[l] : most;
    return most;
};
const auto Append = LAMBDA(Ints on, Ints v, int* to) {  // numbers of the lanes that are on; writes LANES in any case
    const unsigned mask = Mask(on);
    Numbers32 numbers = __builtin_convertvector(v, Numbers32);
#if defined(__AVX512VL__)
    typedef int Packed __attribute__((vector_size(sizeof(Numbers32))));
    numbers = (Numbers32)__builtin_ia32_compresssi256_mask((Packed)numbers, (Packed)numbers, (unsigned char)mask);
    __builtin_memcpy(to, &numbers, sizeof(numbers));
#else
    int count = 0;
    for (int l = 0; l < LANES; ++l) {
        to[count] = numbers[l];
        count += mask >> l & 1;
    }
#endif
    return __builtin_popcount(mask);
};
const auto Listed = LAMBDA(const int* list, int count) {  // numbers of a list; the first one again past its end
    Numbers32 v;
    __builtin_memcpy(&v, list, sizeof(v));
    return Ahead(count) ? __builtin_convertvector(v, Ints) : (Ints)(list[0]);
};
"""


class _Declared:
    """Marks a function as native before its text is known: Warp reads the type of a result only of marked ones."""

    @staticmethod
    def func_native() -> Callable[[Any], Any]:
        return lambda function: function


declared = _Declared()


def text_of(stage: str, *, real: str = "g.spacing", whole: tuple[str, ...] = ("k",), **functions: Any) -> str:
    """Body of a native function: device functions in lanes, and a stage that calls them by these names.

    `real`: a number of the float type among the arguments. `whole`: names of indices inside their
    arrays in every lane, also in those that are off.
    """
    names = "".join(f"const auto& {name} = {name_of(function)};\n" for name, function in functions.items())
    code = f"typedef decltype({real}) real;\n" + lanes_of(*functions.values(), valid=whole) + HELP + names + stage
    return code.replace("LANES", str(LANES)) + END
