"""C++ that lanes begin and end with: types, and functions that take scalars or lanes."""

from __future__ import annotations

import re

LANES = 8
INLINE = "__attribute__((always_inline))"

# Types, and functions that take scalars (the same in all lanes) or lanes. V: a real number in each lane. M: an integer
# in each lane, or a mask: -1 where a lane is on, else 0.
PRELUDE = f"""
typedef real Reals __attribute__((ext_vector_type({LANES})));
typedef decltype((Reals)(real(0)) < (Reals)(real(0))) Ints;
typedef bool Bits __attribute__((ext_vector_type({LANES})));
typedef int Numbers32 __attribute__((ext_vector_type({LANES})));
#define LAMBDA(...) [&](__VA_ARGS__) {INLINE}
#define SAME(a, ...) __is_same(__remove_cvref(decltype(a)), __VA_ARGS__)
#define IS_NUMBER(a) (SAME(a, bool) || SAME(a, int) || SAME(a, real) || SAME(a, Reals) || SAME(a, Ints))
#define COUNT(a) ((int)(sizeof(a) / sizeof(Reals)))
const auto Mask = LAMBDA(Ints m) {{  // one bit a lane
    Bits bits = __builtin_convertvector(m, Bits);
    unsigned char byte;
    __builtin_memcpy(&byte, &bits, 1);
    return (unsigned)byte;
}};
const auto Any = LAMBDA(Ints m) {{ return Mask(m) != 0; }};
struct Run {{  // first, first + 1, first + 2, ...: an index in each lane, one after another in memory
    int first;
    int operator[](int l) const {{ return first + l; }}
}};
const auto Numbers = LAMBDA(const Run& run) {{
    Ints r;
    for (int l = 0; l < {LANES}; ++l) r[l] = run[l];
    return r;
}};
const auto Up = LAMBDA(const auto& x) {{  // to lanes
    if constexpr (SAME(x, bool)) return (Ints)(x ? -1 : 0);
    else if constexpr (SAME(x, int)) return (Ints)(x);
    else if constexpr (SAME(x, real)) return (Reals)(x);
    else if constexpr (SAME(x, Run)) return Numbers(x);
    else return x;
}};
const auto Number = LAMBDA(const auto& x) {{ if constexpr (SAME(x, Run)) return Numbers(x); else return x; }};
const auto VectorUp = LAMBDA(const auto& x) {{  // vectors to vectors of lanes; else as it is
    if constexpr (SAME(x, wp::vec_t<2, real>)) return wp::vec_t<2, Reals>((Reals)x.c[0], (Reals)x.c[1]);
    else if constexpr (SAME(x, wp::vec_t<3, real>))
        return wp::vec_t<3, Reals>((Reals)x.c[0], (Reals)x.c[1], (Reals)x.c[2]);
    else if constexpr (SAME(x, wp::vec_t<4, real>))
        return wp::vec_t<4, Reals>((Reals)x.c[0], (Reals)x.c[1], (Reals)x.c[2], (Reals)x.c[3]);
    else return x;
}};
const auto Each = LAMBDA(const auto& a, auto f) {{  // f of every component of a vector
    auto r = a;
    for (int q = 0; q < COUNT(a); ++q) ((Reals*)&r)[q] = f(q);
    return r;
}};
const auto Part = LAMBDA(const auto& a, int q) {{
    if constexpr (IS_NUMBER(a)) return (Reals)(a); else return ((const Reals*)&a)[q];
}};
#define ARITHMETIC(name, sign) const auto name = LAMBDA(const auto& a, const auto& b) {{ \\
    if constexpr (SAME(a, Run) || SAME(b, Run)) return Number(a) sign Number(b); \\
    else if constexpr (IS_NUMBER(a) && IS_NUMBER(b)) return a sign b; \\
    else if constexpr (IS_NUMBER(a)) return Each(b, LAMBDA(int q) {{ return Part(a, q) sign Part(b, q); }}); \\
    else return Each(a, LAMBDA(int q) {{ return Part(a, q) sign Part(b, q); }}); \\
}};
ARITHMETIC(Plus, +)
ARITHMETIC(Less, -)
ARITHMETIC(Divide, /)
ARITHMETIC(Times, *)
#undef ARITHMETIC
const auto Add = LAMBDA(const auto& a, const auto& b) {{
    if constexpr (SAME(a, Run) && SAME(b, int)) return Run{{a.first + b}};
    else if constexpr (SAME(a, int) && SAME(b, Run)) return Run{{a + b.first}};
    else return Plus(a, b);
}};
const auto Subtract = LAMBDA(const auto& a, const auto& b) {{
    if constexpr (SAME(a, Run) && SAME(b, int)) return Run{{a.first - b}}; else return Less(a, b);
}};
const auto Multiply = LAMBDA(const auto& a, const auto& b) {{
    if constexpr (SAME(a, wp::mat_t<3, 3, real>))
        return Each(b, LAMBDA(int q) {{
            return a.data[q][0] * b.c[0] + a.data[q][1] * b.c[1] + a.data[q][2] * b.c[2];
        }});
    else return Times(a, b);
}};
const auto Minus = LAMBDA(const auto& a) {{
    if constexpr (IS_NUMBER(a)) return -a;
    else return Each(a, LAMBDA(int q) {{ return -Part(a, q); }});
}};
const auto Both = LAMBDA(const auto& a, const auto& b) {{
    if constexpr (SAME(a, bool) && SAME(b, bool)) return a && b; else return Up(a) & Up(b);
}};
const auto Either = LAMBDA(const auto& a, const auto& b) {{
    if constexpr (SAME(a, bool) && SAME(b, bool)) return a || b; else return Up(a) | Up(b);
}};
const auto Opposite = LAMBDA(const auto& a) {{ if constexpr (SAME(a, bool)) return !a; else return ~a; }};
const auto Mix = LAMBDA(Ints m, const auto& a, const auto& b) {{  // a in the lanes of the mask, else b
    if constexpr (SAME(a, Ints) || SAME(a, Reals)) return m ? a : b;
    else return Each(a, LAMBDA(int q) {{ return m ? Part(a, q) : Part(b, q); }});
}};
const auto Where = LAMBDA(const auto& m, const auto& a, const auto& b) {{
    if constexpr (SAME(m, bool) && SAME(a, int) && SAME(b, int)) return m ? a : b;
    else if constexpr (SAME(m, bool)) return m ? Up(a) : Up(b);
    else return Mix(m, Up(a), Up(b));
}};
const auto Greater = LAMBDA(const auto& a, const auto& b) {{
    if constexpr (SAME(a, real) && SAME(b, real)) return a > b ? a : b;
    else return Mix(Up(a) > Up(b), Up(a), Up(b));
}};
const auto Lesser = LAMBDA(const auto& a, const auto& b) {{
    if constexpr (SAME(a, real) && SAME(b, real)) return a < b ? a : b;
    else return Mix(Up(a) < Up(b), Up(a), Up(b));
}};
const auto Clamped = LAMBDA(const auto& x, const auto& a, const auto& b) {{ return Lesser(Greater(a, x), b); }};
const auto Root = LAMBDA(const auto& a) {{ return __builtin_elementwise_sqrt(Up(a)); }};
const auto Size = LAMBDA(const auto& a) {{ return __builtin_elementwise_abs(Up(a)); }};
const auto Sign = LAMBDA(const auto& a) {{ return Where(Up(a) < (Reals)(real(0)), real(-1), real(1)); }};
const auto Floor = LAMBDA(const auto& a) {{ return __builtin_elementwise_floor(Up(a)); }};
const auto Ceiling = LAMBDA(const auto& a) {{ return __builtin_elementwise_ceil(Up(a)); }};
const auto Transposed = LAMBDA(const auto& a) {{ return wp::transpose(a); }};
const auto Dot = LAMBDA(const auto& a, const auto& b) {{
    auto r = a.c[0] * b.c[0];
    for (int q = 1; q < COUNT(a); ++q) r += a.c[q] * b.c[q];
    return r;
}};
const auto Length = LAMBDA(const auto& a) {{ return Root(Dot(a, a)); }};
const auto Cross = LAMBDA(const auto& a, const auto& b) {{
    return wp::vec_t<3, Reals>(a.c[1] * b.c[2] - a.c[2] * b.c[1], a.c[2] * b.c[0] - a.c[0] * b.c[2],
        a.c[0] * b.c[1] - a.c[1] * b.c[0]);
}};
const auto ToReal = LAMBDA(const auto& x) {{
    if constexpr (SAME(x, Ints)) return __builtin_convertvector(x, Reals);
    else if constexpr (SAME(x, Run)) return __builtin_convertvector(Numbers(x), Reals);
    else if constexpr (SAME(x, Reals)) return x;
    else return (real)x;
}};
const auto ToInt = LAMBDA(const auto& x) {{
    if constexpr (SAME(x, Reals)) return __builtin_convertvector(x, Ints);
    else if constexpr (SAME(x, Ints)) return x;
    else return (int)x;
}};
#define ONE_BY_ONE(name, call) const auto name = LAMBDA(Ints on, const auto& x, const auto&... more) {{ \\
    Reals r = (Reals)(real(0)), a = Up(x); \\
    for (int l = 0; l < {LANES}; ++l) if (on[l]) r[l] = call(a[l], Up(more)[l]...); \\
    return r; \\
}};
ONE_BY_ONE(Power, wp::pow)
ONE_BY_ONE(Logarithm, wp::log)
ONE_BY_ONE(Exponential, wp::exp)
// Place of an element in an array: that of the first one where a lane is off.
const auto Place = LAMBDA(Ints on, const auto& list, const auto& i) {{
    if constexpr (SAME(i, Ints)) return on ? i : (Ints)(0);
    else if constexpr (SAME(i, Run)) return i;
    else return (int)i;
}};
const auto Place2 = LAMBDA(Ints on, const auto& list, const auto& i, const auto& j) {{
    if constexpr (SAME(i, Ints) || SAME(j, Ints)) return on ? Up(i) * (Ints)(list.shape[1]) + Up(j) : (Ints)(0);
    else if constexpr (SAME(j, Run)) return Run{{(int)(i * list.shape[1]) + j.first}};
    else return (int)(i * list.shape[1] + j);
}};
const auto Place3 = LAMBDA(Ints on, const auto& list, const auto& h, const auto& i, const auto& j) {{
    if constexpr (SAME(h, Ints) || SAME(i, Ints) || SAME(j, Ints))
        return on ? (Up(h) * (Ints)(list.shape[1]) + Up(i)) * (Ints)(list.shape[2]) + Up(j) : (Ints)(0);
    else return (int)((h * list.shape[1] + i) * list.shape[2] + j);
}};
#define GATHERED(T, x) LAMBDA() {{ T v; for (int l = 0; l < {LANES}; ++l) v[l] = list.data[i[l]]x; return v; }}()
#define GATHER(field) GATHERED(Reals, field)
// Integers go through a register each: x86 has an instruction that loads eight at once, which takes longer.
#if defined(__x86_64__)
#define ALONE(x) LAMBDA() {{ int one = x; __asm__("" : "+r"(one)); return one; }}()
#else
#define ALONE(x) x
#endif
#define GATHER_INT(field) LAMBDA() {{ \\
    Numbers32 v; \\
    for (int l = 0; l < {LANES}; ++l) v[l] = ALONE(list.data[i[l]]field); \\
    return __builtin_convertvector(v, Ints); \\
}}()
// Numbers that lie side by side in memory, such as the components of a vector, at eight places: loaded together and
// then sorted into lanes, which takes half as long as one by one.
typedef real Quad __attribute__((ext_vector_type(4)));
typedef real Pair __attribute__((ext_vector_type(2)));
struct Four {{ Reals x0, x1, x2, x3; }};
#define JOINED(a, b) __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7)
#define LOW(a, b) __builtin_shufflevector(a, b, 0, 4, 8, 12, 1, 5, 9, 13)
#define HIGH(a, b) __builtin_shufflevector(a, b, 2, 6, 10, 14, 3, 7, 11, 15)
#define FIRST(a, b) __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11)
#define SECOND(a, b) __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15)
const auto Sorted = LAMBDA(auto quad) {{
    const Reals p = JOINED(quad(0), quad(1)), q = JOINED(quad(2), quad(3));
    const Reals r = JOINED(quad(4), quad(5)), s = JOINED(quad(6), quad(7));
    const Reals a = LOW(p, q), b = LOW(r, s), c = HIGH(p, q), d = HIGH(r, s);
    return Four{{FIRST(a, b), SECOND(a, b), FIRST(c, d), SECOND(c, d)}};
}};
const auto LoadFour = LAMBDA(auto from) {{
    return Sorted(LAMBDA(int l) {{ Quad v; __builtin_memcpy(&v, from(l), sizeof(v)); return v; }});
}};
const auto LoadThree = LAMBDA(auto from) {{
    return Sorted(LAMBDA(int l) {{
        Pair v, w;
        __builtin_memcpy(&v, from(l), sizeof(v));
        __builtin_memcpy(&w, from(l) + 1, sizeof(w));
        return __builtin_shufflevector(v, w, 0, 1, 3, 3);
    }});
}};
const auto LoadTwo = LAMBDA(auto from) {{
    return Sorted(LAMBDA(int l) {{
        Pair v;
        __builtin_memcpy(&v, from(l), sizeof(v));
        return __builtin_shufflevector(v, v, 0, 1, 0, 1);
    }});
}};
#define UNSORTED(a, b, k) __builtin_shufflevector(a, b, k, k + 4, k + 8, k + 12)
const auto Unsorted = LAMBDA(Reals x0, Reals x1, Reals x2, Reals x3, auto put) {{
    const Reals a = FIRST(x0, x1), b = SECOND(x0, x1), c = FIRST(x2, x3), d = SECOND(x2, x3);
    put(0, UNSORTED(a, c, 0));
    put(1, UNSORTED(a, c, 1));
    put(2, UNSORTED(a, c, 2));
    put(3, UNSORTED(a, c, 3));
    put(4, UNSORTED(b, d, 0));
    put(5, UNSORTED(b, d, 1));
    put(6, UNSORTED(b, d, 2));
    put(7, UNSORTED(b, d, 3));
}};
const auto StoreFour = LAMBDA(Reals x0, Reals x1, Reals x2, Reals x3, auto to) {{
    Unsorted(x0, x1, x2, x3, LAMBDA(int l, Quad v) {{ __builtin_memcpy(to(l), &v, sizeof(v)); }});
}};
// Elements of four numbers one after another in memory: as four vectors.
const auto LoadRun = LAMBDA(const real* from) {{
    Reals p, q, r, s;
    __builtin_memcpy(&p, from, sizeof(p));
    __builtin_memcpy(&q, from + {LANES}, sizeof(q));
    __builtin_memcpy(&r, from + 2 * {LANES}, sizeof(r));
    __builtin_memcpy(&s, from + 3 * {LANES}, sizeof(s));
    const Reals a = LOW(p, q), b = LOW(r, s), c = HIGH(p, q), d = HIGH(r, s);
    return Four{{FIRST(a, b), SECOND(a, b), FIRST(c, d), SECOND(c, d)}};
}};
const auto StoreRun = LAMBDA(Reals x0, Reals x1, Reals x2, Reals x3, real* to) {{
    const Reals a = FIRST(x0, x1), b = SECOND(x0, x1), c = FIRST(x2, x3), d = SECOND(x2, x3);
    const auto put = LAMBDA(int k, Reals v) {{ __builtin_memcpy(to + k * {LANES}, &v, sizeof(v)); }};
    put(0, JOINED(UNSORTED(a, c, 0), UNSORTED(a, c, 1)));
    put(1, JOINED(UNSORTED(a, c, 2), UNSORTED(a, c, 3)));
    put(2, JOINED(UNSORTED(b, d, 0), UNSORTED(b, d, 1)));
    put(3, JOINED(UNSORTED(b, d, 2), UNSORTED(b, d, 3)));
}};
#define ADDRESS LAMBDA(int l) {{ return (const real*)(list.data + i[l]); }}
const auto Load = LAMBDA(const auto& list, const auto& i) {{  // element of an array of numbers or vectors
    if constexpr (SAME(i, int)) return VectorUp(list.data[i]);
    else if constexpr (SAME(*list.data, real) && SAME(i, Run)) {{
        Reals v;
        __builtin_memcpy(&v, list.data + i.first, sizeof(v));
        return v;
    }} else if constexpr (SAME(*list.data, int) && SAME(i, Run)) {{
        Numbers32 v;
        __builtin_memcpy(&v, list.data + i.first, sizeof(v));
        return __builtin_convertvector(v, Ints);
    }} else if constexpr (SAME(*list.data, real)) return GATHER();
    else if constexpr (SAME(*list.data, int)) return GATHER_INT();
    else if constexpr (SAME(*list.data, wp::vec_t<2, real>)) {{
        const Four v = LoadTwo(ADDRESS);
        return wp::vec_t<2, Reals>(v.x0, v.x1);
    }} else if constexpr (SAME(*list.data, wp::vec_t<3, real>)) {{
        const Four v = LoadThree(ADDRESS);
        return wp::vec_t<3, Reals>(v.x0, v.x1, v.x2);
    }} else if constexpr (SAME(*list.data, wp::vec_t<4, real>) && SAME(i, Run)) {{
        const Four v = LoadRun((const real*)(list.data + i.first));
        return wp::vec_t<4, Reals>(v.x0, v.x1, v.x2, v.x3);
    }} else if constexpr (SAME(*list.data, wp::vec_t<6, real>)) {{
        wp::vec_t<6, Reals> v;
        for (int q = 0; q < 6; ++q) v.c[q] = GATHER(.c[q]);
        return v;
    }} else if constexpr (SAME(*list.data, wp::vec_t<4, real>)) {{
        const Four v = LoadFour(ADDRESS);
        return wp::vec_t<4, Reals>(v.x0, v.x1, v.x2, v.x3);
    }} else if constexpr (SAME(*list.data, wp::vec_t<2, int>))
        return wp::vec_t<2, Ints>(GATHER_INT(.c[0]), GATHER_INT(.c[1]));
    else return wp::vec_t<3, Ints>(GATHER_INT(.c[0]), GATHER_INT(.c[1]), GATHER_INT(.c[2]));
}};
const auto LoadPart = LAMBDA(const auto& list, const auto& i, int q) {{  // one component of an element
    if constexpr (SAME(i, int)) return list.data[i].c[q];
    else if constexpr (SAME(*list.data, wp::vec_t<4, real>) && SAME(i, Run)) {{
        const Four v = LoadRun((const real*)(list.data + i.first));
        return q == 0 ? v.x0 : q == 1 ? v.x1 : q == 2 ? v.x2 : v.x3;
    }} else if constexpr (SAME(list.data[0].c[0], int)) return GATHER_INT(.c[q]);
    else return GATHER(.c[q]);
}};
// Store numbers one after another in the lanes that are on, and touch no other: it may be another thread's.
#if __has_builtin(__builtin_masked_store)
const auto Keep = LAMBDA(Ints on, const auto& v, auto* to) {{
    __builtin_masked_store(__builtin_convertvector(on, Bits), v, to);
}};
#else
const auto Keep = LAMBDA(Ints on, const auto& v, auto* to) {{
    if (!Any(~on)) __builtin_memcpy(to, &v, sizeof(v));
    else for (int l = 0; l < {LANES}; ++l) if (on[l]) to[l] = v[l];
}};
#endif
#define TWICE(k) __builtin_shufflevector(on, on, k, k, k, k, k + 1, k + 1, k + 1, k + 1)
const auto KeepRun = LAMBDA(Ints on, Reals x0, Reals x1, Reals x2, Reals x3, real* to) {{
    const Reals a = FIRST(x0, x1), b = SECOND(x0, x1), c = FIRST(x2, x3), d = SECOND(x2, x3);
    Keep(TWICE(0), JOINED(UNSORTED(a, c, 0), UNSORTED(a, c, 1)), to);
    Keep(TWICE(2), JOINED(UNSORTED(a, c, 2), UNSORTED(a, c, 3)), to + {LANES});
    Keep(TWICE(4), JOINED(UNSORTED(b, d, 0), UNSORTED(b, d, 1)), to + 2 * {LANES});
    Keep(TWICE(6), JOINED(UNSORTED(b, d, 2), UNSORTED(b, d, 3)), to + 3 * {LANES});
}};
const auto Put = LAMBDA(Ints on, const auto& list, const auto& i, const auto& value) {{  // store an element of an array
    if constexpr (SAME(i, int)) {{  // the same element in all lanes
        if constexpr (SAME(*list.data, int) || SAME(*list.data, real)) list.data[i] = Up(value)[0];
        else for (int q = 0; q < COUNT(value); ++q) list.data[i].c[q] = value.c[q][0];
    }} else if constexpr (SAME(*list.data, int) && SAME(i, Run)) {{
        Keep(on, __builtin_convertvector(Up(value), Numbers32), list.data + i.first);
    }} else if constexpr (SAME(*list.data, real) && SAME(i, Run)) {{
        Keep(on, Up(value), list.data + i.first);
    }} else if constexpr (SAME(*list.data, int) || SAME(*list.data, real)) {{
        const auto v = Up(value);
        for (int l = 0; l < {LANES}; ++l) if (on[l]) list.data[i[l]] = v[l];
    }} else if constexpr (SAME(*list.data, wp::vec_t<4, real>) && SAME(i, Run)) {{
        const auto v = VectorUp(value);
        KeepRun(on, v.c[0], v.c[1], v.c[2], v.c[3], (real*)(list.data + i.first));
    }} else if constexpr (SAME(*list.data, wp::vec_t<4, real>)) {{
        const auto v = VectorUp(value);
        if (!Any(~on)) StoreFour(v.c[0], v.c[1], v.c[2], v.c[3], LAMBDA(int l) {{ return (real*)(list.data + i[l]); }});
        else for (int l = 0; l < {LANES}; ++l) if (on[l]) for (int q = 0; q < 4; ++q) list.data[i[l]].c[q] = v.c[q][l];
    }} else if constexpr (SAME(*list.data, wp::vec_t<3, real>)) {{
        const auto v = VectorUp(value);
        Unsorted(v.c[0], v.c[1], v.c[2], v.c[2], LAMBDA(int l, Quad quad) {{
            if (on[l]) __builtin_memcpy(list.data + i[l], &quad, 3 * sizeof(real));
        }});
    }} else {{
        const auto v = VectorUp(value);
        for (int l = 0; l < {LANES}; ++l)
            if (on[l]) for (int q = 0; q < COUNT(v); ++q) list.data[i[l]].c[q] = v.c[q][l];
    }}
}};
"""

# After the types of structs: `Blend` for all of them.
CHOICE = """
const auto Choose = LAMBDA(const auto& c, Ints on, auto yes, auto no) {  // the value of one function or the other
    if constexpr (SAME(c, bool)) {
        if (c) return Up(yes(on)); else return Up(no(on));
    } else {
        const Ints those = c & on, others = on & ~c;
        decltype(Up(yes(those))) a{};
        decltype(Up(no(others))) b{};
        if (Any(those)) a = Up(yes(those));
        if (Any(others)) b = Up(no(others));
        return Blend(those, a, b);
    }
};
const auto ChooseLight = LAMBDA(const auto& c, Ints on, auto yes, auto no) {  // the same of a few operations: no jump
    if constexpr (SAME(c, bool)) {
        if (c) return Up(yes(on)); else return Up(no(on));
    } else return Blend(c & on, Up(yes(c & on)), Up(no(on & ~c)));
};
const auto BranchLight = LAMBDA(const auto& c, Ints on, auto yes) {
    if constexpr (SAME(c, bool)) {
        if (c) yes(on);
    } else yes(c & on);
};
const auto Branch = LAMBDA(const auto& c, Ints on, auto yes) {
    if constexpr (SAME(c, bool)) {
        if (c) yes(on);
    } else {
        const Ints those = c & on;
        if (Any(those)) yes(those);
    }
};
"""
END = "".join(f"#undef {name}\n" for name in re.findall(r"#define (\w+)", PRELUDE))
