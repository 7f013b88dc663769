"""Device functions for several elements at once: C++ with vector types, generated from their Python source.

A device function is written for one element, such as a node of soil, with branches where elements differ. A processor
can work on eight numbers at once, but a compiler does not find this in code with branches. `lanes_of` translates
functions, and those they call, into C++ in which every number is a vector of LANES numbers, one for each element
(a lane). A branch is run if any lane takes it, and changes only the lanes that do. There is one source of each law: its
device function. `tests/test_lanes.py` compares both, and `tests/contact/soil/test_node_lanes.py` node by node.

The text belongs into the body of a `wp.func_native`, where it defines a lambda for each function, called with the mask
of lanes that are on as last argument. Numbers that are the same in all lanes stay scalars. The C++ compiler finds the
types, so the text serves both float types; it must begin with `typedef ... real;`.

What can be translated: assignments, `if`, `for ... in range(...)` without `return` inside, `return`, arithmetic,
comparisons, structs, vectors, elements of arrays, tuples as results. A name must be assigned before the branch in which
it gets another value. Both sides of `and` and `or` are evaluated.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections import Counter
from collections.abc import Sequence
from typing import Any

import warp as wp

LANES = 8
INLINE = "__attribute__((always_inline))"

# Types, and functions that take scalars (the same in all lanes) or lanes. V: a real number in each lane. M: an integer
# in each lane, or a mask: -1 where a lane is on, else 0.
PRELUDE = f"""
typedef real Reals __attribute__((ext_vector_type({LANES})));
typedef decltype((Reals)(real(0)) < (Reals)(real(0))) Ints;
typedef bool Bits __attribute__((ext_vector_type({LANES})));
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
    if constexpr (SAME(m, bool)) return m ? Up(a) : Up(b); else return Mix(m, Up(a), Up(b));
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
const auto Floor = LAMBDA(const auto& a) {{ return __builtin_elementwise_floor(Up(a)); }};
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
    else return (int)(i * list.shape[1] + j);
}};
const auto Place3 = LAMBDA(Ints on, const auto& list, const auto& h, const auto& i, const auto& j) {{
    if constexpr (SAME(h, Ints) || SAME(i, Ints) || SAME(j, Ints))
        return on ? (Up(h) * (Ints)(list.shape[1]) + Up(i)) * (Ints)(list.shape[2]) + Up(j) : (Ints)(0);
    else return (int)((h * list.shape[1] + i) * list.shape[2] + j);
}};
#define GATHERED(T, x) LAMBDA() {{ T v; for (int l = 0; l < {LANES}; ++l) v[l] = list.data[i[l]]x; return v; }}()
#define GATHER(field) GATHERED(Reals, field)
#define GATHER_INT(field) GATHERED(Ints, field)
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
const auto StoreFour = LAMBDA(Reals x0, Reals x1, Reals x2, Reals x3, auto to) {{
    const Reals a = FIRST(x0, x1), b = SECOND(x0, x1), c = FIRST(x2, x3), d = SECOND(x2, x3);
    const auto put = LAMBDA(int l, Quad v) {{ __builtin_memcpy(to(l), &v, sizeof(v)); }};
    put(0, UNSORTED(a, c, 0));
    put(1, UNSORTED(a, c, 1));
    put(2, UNSORTED(a, c, 2));
    put(3, UNSORTED(a, c, 3));
    put(4, UNSORTED(b, d, 0));
    put(5, UNSORTED(b, d, 1));
    put(6, UNSORTED(b, d, 2));
    put(7, UNSORTED(b, d, 3));
}};
#define ADDRESS LAMBDA(int l) {{ return (const real*)(list.data + i[l]); }}
const auto Load = LAMBDA(const auto& list, const auto& i) {{  // element of an array of numbers or vectors
    if constexpr (SAME(i, int)) return VectorUp(list.data[i]);
    else if constexpr (SAME(*list.data, real) && SAME(i, Run)) {{
        Reals v;
        __builtin_memcpy(&v, list.data + i.first, sizeof(v));
        return v;
    }} else if constexpr (SAME(*list.data, real)) return GATHER();
    else if constexpr (SAME(*list.data, int)) return GATHER_INT();
    else if constexpr (SAME(*list.data, wp::vec_t<2, real>)) {{
        const Four v = LoadTwo(ADDRESS);
        return wp::vec_t<2, Reals>(v.x0, v.x1);
    }} else if constexpr (SAME(*list.data, wp::vec_t<3, real>)) {{
        const Four v = LoadThree(ADDRESS);
        return wp::vec_t<3, Reals>(v.x0, v.x1, v.x2);
    }} else if constexpr (SAME(*list.data, wp::vec_t<4, real>)) {{
        const Four v = LoadFour(ADDRESS);
        return wp::vec_t<4, Reals>(v.x0, v.x1, v.x2, v.x3);
    }} else return wp::vec_t<3, Ints>(GATHER_INT(.c[0]), GATHER_INT(.c[1]), GATHER_INT(.c[2]));
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

MOST_RESULTS = 5  # of a function that returns a tuple
ARITHMETIC = {ast.Add: "Add", ast.Sub: "Subtract", ast.Mult: "Multiply", ast.Div: "Divide", ast.FloorDiv: "Divide"}
COMPARISONS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
BUILTINS = {
    "min": "Lesser", "max": "Greater", "clamp": "Clamped", "abs": "Size", "sqrt": "Root", "where": "Where",
    "dot": "Dot", "cross": "Cross", "length": "Length", "floor": "Floor",
}  # fmt: skip
ONE_BY_ONE = {"pow": "Power", "log": "Logarithm", "exp": "Exponential"}  # no instruction does eight of these at once


def lanes_of(*functions: Any, valid: Sequence[str] = ()) -> str:
    """C++ text that defines a lambda for each device function, and all that it needs. See `name_of` for their names.

    `valid`: names of indices that are inside their arrays in every lane, also in those that are off.
    """
    program = _Program(frozenset(valid))
    for function in functions:
        program.add(function)
    return program.text()


def name_of(function: Any) -> str:
    """Name of the lambda of a device function; its first argument is the mask of lanes that are on."""
    return f"{function.func.__module__.rpartition('.')[2]}_{function.func.__name__}"


class _Program:
    """All functions and structs of one text."""

    def __init__(self, valid: frozenset[str]) -> None:
        self.valid = valid
        self.functions: dict[Any, str] = {}  # in the order in which C++ needs them
        self.structs: dict[Any, str] = {}
        self.stored: set[Any] = set()  # structs that are elements of arrays that are written

    def add(self, function: Any) -> str:
        if function not in self.functions:
            text = _Function(self, function.func).text()
            self.functions[function] = text
        return name_of(function)

    def add_struct(self, struct: Any) -> str:
        self.structs.setdefault(struct, f"{struct.cls.__name__}Lanes")
        return self.structs[struct]

    def text(self) -> str:
        packs = "".join(map(_pack, range(2, MOST_RESULTS + 1)))
        structs = "".join(_struct(struct, name) for struct, name in self.structs.items())
        parts = (PRELUDE, packs, structs, _blend(self.structs), CHOICE, *self.functions.values())
        return "".join(parts)


# ---- types ------------------------------------------------------------------------------------------------


def _pack(count: int) -> str:
    """C++ for a function that packs the results of another one."""
    letters = [f"x{k}" for k in range(count)]
    types = " ".join(f"typedef decltype(Up({x})) T{x};" for x in letters)
    fields = " ".join(f"T{x} {x};" for x in letters)
    return (
        f"const auto Pack{count} = LAMBDA({', '.join(f'const auto& {x}' for x in letters)}) {{\n"
        f"    {types}\n    struct Pack {{ {fields} enum {{ size = {count} }}; }};\n"
        f"    return Pack{{{', '.join(f'Up({x})' for x in letters)}}};\n}};\n"
    )


def _lane_type(kind: Any) -> str:
    """C++ type of a field of a struct, in lanes."""
    if kind in (int, wp.int32):
        return "Ints"
    if getattr(kind, "_wp_generic_type_str_", None) == "vec_t":
        return f"wp::vec_t<{kind._shape_[0]}, Reals>"
    if getattr(kind, "_wp_generic_type_str_", None) == "mat_t":
        return f"wp::mat_t<{kind._shape_[0]}, {kind._shape_[1]}, Reals>"
    return "Reals"


def _struct(struct: Any, name: str) -> str:
    """C++ for a struct in lanes, and for loading and storing elements of an array of it."""
    kinds = {field: _lane_type(variable.type) for field, variable in struct.vars.items()}
    fields = " ".join(f"{kind} {field};" for field, kind in kinds.items())
    text = f"struct {name} {{ {fields} }};\n"
    if not set(kinds.values()) <= {"Reals", "Ints"}:  # never an element that lanes load one by one
        return text + f"const auto Load{name} = LAMBDA(const auto& list, int i) {{ return list.data[i]; }};\n"
    loads, gathered = _gathered(kinds)
    splat = ", ".join(f"({kind})(list.data[0].{field})" for field, kind in kinds.items())
    stores = " ".join(f"list.data[i[l]].{field} = x.{field}[l];" for field in kinds)
    return text + (
        f"const auto Load{name} = LAMBDA(const auto& list, const auto& i) {{\n"
        f"    if constexpr (SAME(i, int)) return list.data[i];\n"
        f"    else if (list.shape[0] == 1) return {name}{{{splat}}};\n"
        f"    else {{ {loads}return {name}{{{gathered}}}; }}\n}};\n"
        f"const auto Store{name} = LAMBDA(Ints on, const auto& list, const auto& i, const {name}& x) {{\n"
        f"{_scattered(kinds)}    for (int l = 0; l < {LANES}; ++l) if (on[l]) {{ {stores} }}\n}};\n"
    )


def _gathered(kinds: dict[str, str]) -> tuple[str, str]:
    """C++ that loads an element of a struct in each lane, and its fields. Four real numbers are loaded at a time."""
    if len(kinds) < 4 or "Ints" in kinds.values():
        gathers = ("GATHER" + ("_INT" if kind == "Ints" else "") + f"(.{field})" for field, kind in kinds.items())
        return "", ", ".join(gathers)
    # The last group begins where it ends with the struct.
    firsts = [min(k, len(kinds) - 4) for k in range(0, len(kinds), 4)]
    loads = "".join(
        f"const Four v{k} = LoadFour(LAMBDA(int l) {{ return (const real*)(list.data + i[l]) + {k}; }});\n"
        for k in firsts
    )
    fields = [f"v{k}.x{n - k}" for n in range(len(kinds)) for k in [min(f for f in firsts if n - f < 4)]]
    return loads, ", ".join(fields)


def _scattered(kinds: dict[str, str]) -> str:
    """C++ that stores elements of a struct if all lanes are on, four real numbers at a time."""
    if len(kinds) < 4 or "Ints" in kinds.values():
        return ""
    fields = list(kinds)
    groups = {min(k, len(kinds) - 4) for k in range(0, len(kinds), 4)}
    stores = "".join(
        f"        StoreFour({', '.join(f'x.{field}' for field in fields[k : k + 4])}, "
        f"LAMBDA(int l) {{ return (real*)(list.data + i[l]) + {k}; }});\n"
        for k in sorted(groups)
    )
    return f"    if (!Any(~on)) {{\n{stores}        return;\n    }}\n"


def _blend(structs: dict[Any, str]) -> str:
    """C++ for `Blend`: one value or the other, lane by lane, of numbers, vectors, structs and packs."""
    text = "const auto BlendStruct = LAMBDA(Ints m, const auto& a, const auto& b) {\n"
    for struct, name in structs.items():
        mixed = ", ".join(f"Mix(m, a.{field}, b.{field})" for field in struct.vars)
        text += f"    if constexpr (SAME(a, {name})) return {name}{{{mixed}}}; else\n"
    text += "    return Mix(m, a, b);\n};\n"
    text += "const auto Blend = LAMBDA(Ints m, const auto& a, const auto& b) {\n"
    known = " || ".join(
        [f"SAME(a, {name})" for name in structs.values()] + ["IS_NUMBER(a)"]
        + [f"SAME(a, wp::vec_t<{n}, {kind}>)" for n in (2, 3, 4, 6) for kind in ("Reals", "Ints")]
        + ["SAME(a, wp::mat_t<3, 3, Reals>)"]
    )  # fmt: skip
    text += f"    typedef __remove_cvref(decltype(a)) T;\n    if constexpr ({known}) return BlendStruct(m, a, b);\n"
    for count in range(2, MOST_RESULTS + 1):
        mixed = ", ".join(f"BlendStruct(m, a.x{k}, b.x{k})" for k in range(count))
        text += f"    else if constexpr (T::size == {count}) return Pack{count}({mixed});\n"
    return text + "};\n"


# ---- functions ----------------------------------------------------------------------------------------------


class _Function:
    """Translation of one device function."""

    def __init__(self, program: _Program, function: Any):
        self.program, self.function, self.names = program, function, function.__globals__
        tree: Any = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
        self.tree: ast.FunctionDef = tree
        self.stores = Counter(n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
        self.stores.update(
            n.target.id for n in ast.walk(tree) if isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name)
        )
        self.depth = 0  # of branches and loops around the statement
        self.declared: dict[str, int] = {}  # names and the depth at which they were declared
        kinds = {a.arg: self._annotation(a) for a in tree.args.args}
        self.structs = {name: kind for name, kind in kinds.items() if hasattr(kind, "vars")}
        self.arrays = {name: kind for name, kind in kinds.items() if hasattr(kind, "ndim")}
        self.unpacked = 0

    def text(self) -> str:
        names = [a.arg for a in self.tree.args.args]
        self.declared = dict.fromkeys(names, 0)
        # A parameter that gets another value is copied.
        changed = [name for name in names if self.stores[name]]
        given = "".join(f", const auto& {name}{'_given' if name in changed else '_'}" for name in names)
        copies = "".join(f"auto {name}_ = Up({name}_given);\n" for name in changed)
        body = self._block(self.tree.body)
        return f"const auto {name_of(_Named(self.function))} = LAMBDA(Ints on{given}) {{\n{copies}{body}}};\n"

    def _annotation(self, argument: ast.arg) -> Any:
        assert argument.annotation is not None
        return eval(ast.unparse(argument.annotation), self.names)

    def _fail(self, node: ast.AST, why: str) -> TypeError:
        line = getattr(node, "lineno", 0)
        return TypeError(f"lanes: {self.function.__qualname__}, line {line}: {why}: {ast.unparse(node)}")

    # ---- statements ----

    def _block(self, statements: Sequence[ast.stmt]) -> str:
        """Statements up to the first return. What follows an `if` that may return belongs to its branches."""
        text = ""
        outer = dict(self.declared)
        for k, statement in enumerate(statements):
            if isinstance(statement, ast.If) and _may_return(statement):
                rest = statements[k + 1 :]
                condition = self.value(statement.test)
                yes, no = self._block([*statement.body, *rest]), self._block([*statement.orelse, *rest])
                text += f"return Choose({condition}, on, LAMBDA(Ints on) {{\n{yes}}}, LAMBDA(Ints on) {{\n{no}}});\n"
                self.declared = outer
                return text
            text += self._statement(statement)
            if isinstance(statement, ast.Return):
                break
        else:
            text += "return 0;\n"
        self.declared = outer
        return text

    def _statement(self, s: ast.stmt) -> str:
        if isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant):
            return ""  # docstring
        if isinstance(s, ast.Expr):
            return f"{self.value(s.value)};\n"
        if isinstance(s, ast.Return):
            if s.value is None:
                return "return 0;\n"
            return f"return {self._packed(s.value)};\n"
        if isinstance(s, ast.Assign):
            return self._assign(s.targets[0], s.value)
        if isinstance(s, ast.AugAssign):
            target = ast.Name(getattr(s.target, "id", ""), ast.Load())
            return self._assign(s.target, ast.BinOp(target, s.op, s.value))
        if isinstance(s, ast.If):
            return self._if(s)
        if isinstance(s, ast.For):
            return self._for(s)
        raise self._fail(s, "not translated")

    def _inner(self, statements: Sequence[ast.stmt]) -> str:
        if any(map(_may_return, statements)):
            raise self._fail(statements[0], "a return in a loop")
        self.depth += 1
        text = f"LAMBDA(Ints on) {{\n{self._block(statements)}}}"
        self.depth -= 1
        return text

    def _if(self, s: ast.If) -> str:
        condition = self.value(s.test)
        text = f"{{ const auto holds = {condition};\nBranch(holds, on, {self._inner(s.body)});\n"
        if s.orelse:
            text += f"Branch(Opposite(holds), on, {self._inner(s.orelse)});\n"
        return text + "}\n"

    def _for(self, s: ast.For) -> str:
        if not (isinstance(s.iter, ast.Call) and isinstance(s.target, ast.Name) and len(s.iter.args) < 3):
            raise self._fail(s, "not a loop over a range")
        first, last = (["0"] + [self.value(a) for a in s.iter.args])[-2:]
        before = dict(self.declared)
        self.declared[s.target.id] = self.depth + 1
        name, body = f"{s.target.id}_", self._inner(s.body)
        self.declared = before
        return (
            f"{{ const auto last = {last};\nfor (int {name} = {first}; ; ++{name}) {{\n"
            f"const Ints inside = on & Up({name} < last);\nif (!Any(inside)) break;\n"
            f"const auto body = {body};\nbody(inside);\n}} }}\n"
        )

    def _assign(self, target: ast.expr, value: ast.expr) -> str:
        if isinstance(target, ast.Name):
            return self._set(target.id, self.value(value))
        if isinstance(target, ast.Tuple):
            self.unpacked += 1
            pack = f"pack{self.unpacked}"
            parts = "".join(self._set(getattr(one, "id", ""), f"{pack}.x{k}") for k, one in enumerate(target.elts))
            return f"const auto {pack} = {self.value(value)};\n{parts}"
        if isinstance(target, ast.Subscript):
            array, kind = self._array(target.value)
            if array and hasattr(kind.dtype, "vars"):
                name = self.program.add_struct(kind.dtype)
                return f"Store{name}(on, {array}, {self._place(array, target.slice)}, {self.value(value)});\n"
        raise self._fail(target, "not assigned")

    def _set(self, name: str, value: str) -> str:
        """Declare a name, or change it in the lanes that are on. A name that changes holds lanes from the start."""
        changes = self.stores[name] > 1
        if name not in self.declared:
            self.declared[name] = self.depth
            return f"{'auto' if changes else 'const auto'} {name}_ = {f'Up({value})' if changes else value};\n"
        if self.declared[name] == self.depth:
            return f"{name}_ = Up({value});\n"
        return f"{name}_ = Blend(on, Up({value}), {name}_);\n"

    # ---- values ----

    def _packed(self, value: ast.expr) -> str:
        if isinstance(value, ast.Tuple):
            return f"Pack{len(value.elts)}({', '.join(map(self.value, value.elts))})"
        return self.value(value)

    def value(self, e: ast.expr) -> str:
        """C++ expression of a Python expression."""
        constant = self._constant(e)
        if constant is not None:
            return constant
        if isinstance(e, ast.Name):
            return f"{e.id}_"
        if isinstance(e, ast.BinOp) and type(e.op) in ARITHMETIC:
            return f"{ARITHMETIC[type(e.op)]}({self.value(e.left)}, {self.value(e.right)})"
        if isinstance(e, ast.BinOp) and isinstance(e.op, ast.Mod):
            return f"(Number({self.value(e.left)}) % Number({self.value(e.right)}))"
        if isinstance(e, ast.UnaryOp):
            name = "Minus" if isinstance(e.op, ast.USub) else "Opposite"
            return f"{name}({self.value(e.operand)})"
        if isinstance(e, ast.BoolOp):
            name, text = "Both" if isinstance(e.op, ast.And) else "Either", self.value(e.values[0])
            for more in e.values[1:]:
                text = f"{name}({text}, {self.value(more)})"
            return text
        if isinstance(e, ast.Compare) and len(e.ops) == 1:
            left, right = self.value(e.left), self.value(e.comparators[0])
            return f"(Number({left}) {COMPARISONS[type(e.ops[0])]} Number({right}))"
        if isinstance(e, ast.Attribute):
            array, _ = self._array(e)
            return array or f"VectorUp({self.value(e.value)}.{e.attr})"
        if isinstance(e, ast.Subscript):
            return self._element(e)
        if isinstance(e, ast.Call):
            return self._call(e)
        raise self._fail(e, "not translated")

    def _constant(self, e: ast.expr) -> str | None:
        """A number, given directly or by a global name."""
        value: Any = None
        if isinstance(e, ast.Constant):
            value = e.value
        elif isinstance(e, ast.Name) and e.id not in self.declared:
            value = self.names[e.id]
        elif isinstance(e, ast.Attribute) and isinstance(e.value, ast.Name) and e.value.id not in self.declared:
            value = getattr(self.names[e.value.id], e.attr)
        else:
            return None
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, int):
            return str(value)
        number = getattr(value, "value", value)  # of Warp's scalar types
        if isinstance(number, float):
            return f"real({float(number)!r})"
        raise self._fail(e, "not a number")

    def _array(self, e: ast.expr) -> tuple[str, Any]:
        """C++ name and type of an array that is a parameter or a field of one; empty if it is none."""
        if isinstance(e, ast.Name) and e.id in self.arrays:
            return f"{e.id}_", self.arrays[e.id]
        if isinstance(e, ast.Attribute) and isinstance(e.value, ast.Name) and e.value.id in self.structs:
            kind = self.structs[e.value.id].vars[e.attr].type
            if hasattr(kind, "ndim"):
                return f"{e.value.id}_.{e.attr}", kind
        return "", None

    def _place(self, array: str, index: ast.expr) -> str:
        if isinstance(index, ast.Tuple):
            return f"Place{len(index.elts)}(on, {array}, {', '.join(map(self.value, index.elts))})"
        names = {node.id for node in ast.walk(index) if isinstance(node, ast.Name)}
        # Not masked, an element that is loaded twice in different branches is loaded once.
        mask = "(Ints)(-1)" if names & self.program.valid else "on"
        return f"Place({mask}, {array}, {self.value(index)})"

    def _element(self, e: ast.Subscript) -> str:
        if isinstance(e.value, ast.Attribute) and e.value.attr == "shape":
            array, _ = self._array(e.value.value)
            return f"(int){array}.shape[{self.value(e.slice)}]"
        array, kind = self._array(e.value)
        if not array:
            return f"{self.value(e.value)}.c[{self.value(e.slice)}]"
        struct = self.program.add_struct(kind.dtype) if hasattr(kind.dtype, "vars") else ""
        return f"Load{struct}({array}, {self._place(array, e.slice)})"

    def _call(self, e: ast.Call) -> str:
        called = eval(ast.unparse(e.func), self.names)
        args = [self.value(a) for a in e.args]
        if isinstance(called, wp.Function) and called.func is None:
            if called.key in ONE_BY_ONE:
                return f"{ONE_BY_ONE[called.key]}(on, {', '.join(args)})"
            return f"{BUILTINS[called.key]}({', '.join(args)})"
        if isinstance(called, wp.Function):
            if called.key == "nonnegative":  # a hint to the compiler for scalar code
                return args[0]
            return f"{self.program.add(called)}(on{''.join(f', {a}' for a in args)})"
        if called is int:
            return f"ToInt({args[0]})"
        if called in (wp.float64, wp.float32):
            return f"ToReal({args[0]})"
        if hasattr(called, "vars"):
            values = args or [f"{_lane_type(v.type)}{{}}" for v in called.vars.values()]
            return f"{self.program.add_struct(called)}{{{', '.join(f'Up({a})' for a in values)}}}"
        return self._vector(_lane_type(called), args)

    @staticmethod
    def _vector(kind: str, args: Sequence[str]) -> str:
        """A vector or matrix from its components, row by row; zero without any."""
        parts = "".join(f" ((Reals*)&r)[{k}] = Up({a});" for k, a in enumerate(args))
        return f"LAMBDA() {{ {kind} r{{}};{parts} return r; }}()"


class _Named:
    """A plain function where `name_of` expects a device function."""

    def __init__(self, func: Any):
        self.func = func


def _may_return(statement: ast.stmt) -> bool:
    return any(isinstance(node, ast.Return) for node in ast.walk(statement))
