"""Warp does arithmetic of literals in float32: `real(1.0 / 3.0)` is 0.33333334 in float64 too."""

from __future__ import annotations

import ast
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "grouser"


def float32_arithmetic(text: str) -> list[int]:
    """Lines of device code where a float type is made of a calculation with a literal that is no whole number of it."""
    found = []
    for function in ast.walk(ast.parse(text)):
        if not isinstance(function, ast.FunctionDef):
            continue
        if not any("wp.func" in ast.unparse(d) or "wp.kernel" in ast.unparse(d) for d in function.decorator_list):
            continue
        for call in ast.walk(function):
            if isinstance(call, ast.Call) and ast.unparse(call.func).split(".")[-1] in ("real", "float64"):
                found += [call.lineno for part in call.args if isinstance(part, ast.BinOp) and has_float(part)]
    return found


def has_float(part: ast.expr) -> bool:
    return any(isinstance(node, ast.Constant) and isinstance(node.value, float) for node in ast.walk(part))


def test_the_search_finds_what_it_looks_for():
    text = "@wp.func\ndef f(x: real):\n    return real(1.0 / 3.0) * x + real(2.0) * real(0.1)\n"
    assert float32_arithmetic(text) == [3]


def test_no_device_code_calculates_with_literals_before_it_makes_them_reals():
    files = {str(path.relative_to(SOURCE)): float32_arithmetic(path.read_text()) for path in SOURCE.rglob("*.py")}
    assert {name: lines for name, lines in files.items() if lines} == {}
