"""Translation of device functions into C++ of lanes."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections import Counter
from collections.abc import Sequence
from typing import Any

import warp as wp

from grouser.lanes import types
from grouser.lanes.prelude import CHOICE, PRELUDE

ARITHMETIC = {ast.Add: "Add", ast.Sub: "Subtract", ast.Mult: "Multiply", ast.Div: "Divide", ast.FloorDiv: "Divide"}
COMPARISONS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
BUILTINS = {
    "min": "Lesser", "max": "Greater", "clamp": "Clamped", "abs": "Size", "sqrt": "Root", "where": "Where",
    "dot": "Dot", "cross": "Cross", "length": "Length", "floor": "Floor", "ceil": "Ceiling", "sign": "Sign",
    "transpose": "Transposed",
}  # fmt: skip
QUICK = {"min", "max", "clamp", "abs", "where", "sign"}  # as quick as an addition
LIGHT = 12  # operations that take less time than a jump to somewhere else
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
        packs = "".join(map(types.pack_text, range(2, types.MOST_RESULTS + 1)))
        structs = "".join(types.struct_text(struct, name) for struct, name in self.structs.items())
        parts = (PRELUDE, packs, structs, types.blend_text(self.structs), CHOICE, *self.functions.values())
        return "".join(parts)


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
                choose = "ChooseLight" if self._is_light([*statement.body, *statement.orelse, *rest]) else "Choose"
                text += f"return {choose}({condition}, on, LAMBDA(Ints on) {{\n{yes}}}, LAMBDA(Ints on) {{\n{no}}});\n"
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
        branch = "BranchLight" if self._is_light(s.body) else "Branch"
        text = f"{{ const auto holds = {condition};\n{branch}(holds, on, {self._inner(s.body)});\n"
        if s.orelse:
            branch = "BranchLight" if self._is_light(s.orelse) else "Branch"
            text += f"{branch}(Opposite(holds), on, {self._inner(s.orelse)});\n"
        return text + "}\n"

    def _is_light(self, statements: Sequence[ast.stmt]) -> bool:
        """Whether statements take less time than a jump that was not foreseen: a few simple operations."""
        nodes = [node for statement in statements for node in ast.walk(statement)]
        operations = [node for node in nodes if isinstance(node, (ast.BinOp, ast.AugAssign, ast.Compare, ast.Call))]
        return len(operations) <= LIGHT and not any(map(self._takes_long, nodes))

    def _takes_long(self, node: ast.AST) -> bool:
        """Whether a part of a statement is more than one quick operation, or reads or writes memory."""
        if isinstance(node, ast.Call):
            called = eval(ast.unparse(node.func), self.names)
            return isinstance(called, wp.Function) and getattr(called, "key", "") not in QUICK
        if isinstance(node, (ast.BinOp, ast.AugAssign)):
            return isinstance(node.op, (ast.Div, ast.FloorDiv, ast.Mod))
        if isinstance(node, ast.Subscript):
            return bool(self._array(node.value)[0]) or isinstance(node.ctx, ast.Store)
        return isinstance(node, ast.For)

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
            if array:
                return f"Put(on, {array}, {self._place(array, target.slice)}, {self.value(value)});\n"
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
        names = {node.id for node in ast.walk(index) if isinstance(node, ast.Name)}
        # Not masked, an element that is loaded twice in different branches is loaded once.
        looked_up = any(  # may be anything in lanes that are off; not so a component of a vector that is valid
            isinstance(node, ast.Subscript) and getattr(node.value, "id", "") not in self.program.valid
            for node in ast.walk(index)
        )  # fmt: skip
        mask = "(Ints)(-1)" if names & self.program.valid and not looked_up else "on"
        if isinstance(index, ast.Tuple):
            return f"Place{len(index.elts)}({mask}, {array}, {', '.join(map(self.value, index.elts))})"
        return f"Place({mask}, {array}, {self.value(index)})"

    def _element(self, e: ast.Subscript) -> str:
        if isinstance(e.value, ast.Attribute) and e.value.attr == "shape":
            array, _ = self._array(e.value.value)
            return f"(int){array}.shape[{self.value(e.slice)}]"
        array, kind = self._array(e.value)
        if isinstance(e.value, ast.Subscript) and self._array(e.value.value)[0]:  # a component of a vector in an array
            array, _ = self._array(e.value.value)
            return f"LoadPart({array}, {self._place(array, e.value.slice)}, {self.value(e.slice)})"
        if not array and isinstance(e.slice, ast.Tuple):  # of a matrix that is the same in all lanes
            row, column = map(self.value, e.slice.elts)
            return f"{self.value(e.value)}.data[{row}][{column}]"
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
        if called is bool:
            return args[0]
        if called is int:
            return f"ToInt({args[0]})"
        if called in (wp.float64, wp.float32):
            return f"ToReal({args[0]})"
        if hasattr(called, "vars"):
            values = args or [f"{types.lane_type(v.type)}{{}}" for v in called.vars.values()]
            return f"{self.program.add_struct(called)}{{{', '.join(f'Up({a})' for a in values)}}}"
        return self._vector(types.lane_type(called), args)

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
