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
                found += [call.lineno for part in call.args if calculates_with_floats(part)]
    return found


def has_literal(part: ast.expr) -> bool:
    return any(isinstance(node, ast.Constant) and isinstance(node.value, float) for node in ast.walk(part))


def float_constants() -> set[str]:
    """Names of all constants at the top of a file that are Python floats."""
    found = set()
    for path in SOURCE.rglob("*.py"):
        for line in ast.parse(path.read_text()).body:
            if isinstance(line, ast.Assign) and not isinstance(line.value, ast.Call) and has_literal(line.value):
                targets = [name for target in line.targets for name in ast.walk(target)]
                found |= {name.id for name in targets if isinstance(name, ast.Name)}
    return found


FLOATS = float_constants()


def calculates_with_floats(part: ast.expr) -> bool:
    """Whether an expression has arithmetic of float literals or of float constants of a Python module."""
    sums = [node for node in ast.walk(part) if isinstance(node, ast.BinOp)]
    return any(is_float(node) for each in sums for node in ast.walk(each))


def is_float(node: ast.AST) -> bool:
    if isinstance(node, ast.Constant):
        return isinstance(node.value, float)
    name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
    return name in FLOATS


def test_the_search_finds_what_it_looks_for():
    text = """@wp.func
def f(x: real):
    y = real(1.0 / 3.0) * x + real(2.0) * real(0.1) + real(2 * n)
    y += real(laws.HOLD * EROSION_BAND) + real(SHEAR_BAND)
    return real(-(1.0 + n)) * y
"""
    assert sorted(float32_arithmetic(text)) == [3, 4, 5]


def test_no_device_code_calculates_with_literals_before_it_makes_them_reals():
    files = {str(path.relative_to(SOURCE)): float32_arithmetic(path.read_text()) for path in SOURCE.rglob("*.py")}
    assert {name: lines for name, lines in files.items() if lines} == {}
