"""C++ types of structs of lanes: how they are gathered, scattered and blended."""

from __future__ import annotations

from typing import Any

import warp as wp

from grouser.lanes.prelude import LANES

MOST_RESULTS = 5  # of a function that returns a tuple


def pack_text(count: int) -> str:
    """C++ for a function that packs the results of another one."""
    letters = [f"x{k}" for k in range(count)]
    types = " ".join(f"typedef decltype(Up({x})) T{x};" for x in letters)
    fields = " ".join(f"T{x} {x};" for x in letters)
    return (
        f"const auto Pack{count} = LAMBDA({', '.join(f'const auto& {x}' for x in letters)}) {{\n"
        f"    {types}\n    struct Pack {{ {fields} enum {{ size = {count} }}; }};\n"
        f"    return Pack{{{', '.join(f'Up({x})' for x in letters)}}};\n}};\n"
    )


def lane_type(kind: Any) -> str:
    """C++ type of a field of a struct, in lanes."""
    if kind in (int, wp.int32):
        return "Ints"
    if getattr(kind, "_wp_generic_type_str_", None) == "vec_t":
        return f"wp::vec_t<{kind._shape_[0]}, Reals>"
    if getattr(kind, "_wp_generic_type_str_", None) == "mat_t":
        return f"wp::mat_t<{kind._shape_[0]}, {kind._shape_[1]}, Reals>"
    return "Reals"


def struct_text(struct: Any, name: str) -> str:
    """C++ for a struct in lanes, and for loading and storing elements of an array of it."""
    kinds = {field: lane_type(variable.type) for field, variable in struct.vars.items()}
    fields = " ".join(f"{kind} {field};" for field, kind in kinds.items())
    text = f"struct {name} {{ {fields} }};\n"
    if not set(kinds.values()) <= {"Reals", "Ints"}:  # never an element that lanes load one by one
        return text + f"const auto Load{name} = LAMBDA(const auto& list, int i) {{ return list.data[i]; }};\n"
    loads, gathered = gather_text(kinds)
    splat = ", ".join(f"({kind})(list.data[0].{field})" for field, kind in kinds.items())
    stores = " ".join(f"list.data[i[l]].{field} = x.{field}[l];" for field in kinds)
    return text + (
        f"const auto Load{name} = LAMBDA(const auto& list, const auto& i) {{\n"
        f"    if constexpr (SAME(i, int)) return list.data[i];\n"
        f"    else if (list.shape[0] == 1) return {name}{{{splat}}};\n"
        f"    else {{ {loads}return {name}{{{gathered}}}; }}\n}};\n"
        f"const auto Store{name} = LAMBDA(Ints on, const auto& list, const auto& i, const {name}& x) {{\n"
        f"{scatter_text(kinds)}    for (int l = 0; l < {LANES}; ++l) if (on[l]) {{ {stores} }}\n}};\n"
    )


def gather_text(kinds: dict[str, str]) -> tuple[str, str]:
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


def scatter_text(kinds: dict[str, str]) -> str:
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


def blend_text(structs: dict[Any, str]) -> str:
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
