"""Read YAML text as a tree or a node graph. Grouser reads all YAML through this module.

A few bytes of YAML can expand to gigabytes (aliases of aliases), nest until the interpreter's stack overflows, or
contain themselves. Therefore the stream of parser events, in which nothing is expanded, is measured first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grouser.errors import InputError

MOST_BYTES = 4 << 20  # [bytes] of text; the largest sweep of 100,000 listed values has 2 MB
MOST_VALUES = 400_000  # with aliases expanded
HALF = re.compile("[\ud800-\udfff]")  # what escapes such as "\\ud83d" leave in a text; no file or message can hold it
DEEPEST = 50  # levels of nested mappings and lists; Grouser's own files have at most 6


def read_yaml(file: Path, allowed: str, *, positions: bool = False) -> Mapping[str, Any]:
    """Read the mapping in a file. `allowed` describes the expected content in messages.

    With `positions`, the nodes carry their line and column.
    """
    from ruamel.yaml import YAML

    text = read_text(file)
    with _readable(text, str(file)):
        tree = YAML(typ="rt" if positions else "safe", pure=True).load(text)
    if not isinstance(tree, Mapping) or not tree:
        raise InputError(f"{file}: holds {kind(tree)}: allowed is {allowed}")
    return tree


def compose(text: str, file: str) -> Any:
    """The node graph of one YAML document, each node with its position; None if the document is empty."""
    from ruamel.yaml import YAML

    with _readable(text, file):
        return YAML(typ="safe", pure=True).compose(text)


def read_text(file: Path) -> str:
    """Read the text of a file, at most up to the size limit, because the path may be a device without an end."""
    try:
        with file.open("rb") as opened:
            content = opened.read(MOST_BYTES + 1)
    except OSError as error:
        raise InputError(f"{file}: not readable: {error.strerror}") from None
    if len(content) > MOST_BYTES:
        raise InputError(f"{file}: longer than {MOST_BYTES} bytes, the most that is read as YAML")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{file}: not UTF-8 text: {error.reason} at byte {error.start}") from None


def kind(value: Any) -> str:
    """Describe a value in a message."""
    if value is None:
        return "nothing"
    return "a list" if isinstance(value, list) else repr(value)[:40]


@contextmanager
def _readable(text: str, file: str) -> Iterator[None]:
    """Measure the text before it is built. Errors of the YAML package become InputErrors."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    try:
        _measure(YAML(typ="safe", pure=True).parse(text), file)
        yield
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = _place(file, mark) if mark else file
        problem = " ".join(str(error.problem or error.context).split())
        if "\\t" in problem:
            problem = "the line is indented with a tab: allowed are spaces"
        raise InputError(f"{where}: not readable as YAML: {problem}") from None
    except (YAMLError, ValueError, TypeError) as error:  # ValueError and TypeError come from invalid tags and keys
        problem = next(iter(str(error).strip().splitlines()), type(error).__name__)
        raise InputError(f"{file}: not readable as YAML: {problem}") from None


@dataclass
class _Extent:
    """Size of a node with its aliases expanded."""

    anchor: str | None = None
    values: int = 1
    depth: int = 0  # nesting levels below the node

    def add(self, inner: _Extent) -> None:
        self.values += inner.values
        self.depth = max(self.depth, inner.depth + 1)


def _measure(events: Iterable[Any], file: str) -> None:
    """Raise an InputError if a document is too deep, too large with its aliases expanded, or contains itself."""
    from ruamel.yaml import events as kinds

    known: dict[str, _Extent | None] = {}  # by anchor; None while the node is still open
    above: list[_Extent] = []
    for event in events:
        if isinstance(event, kinds.CollectionStartEvent):
            above.append(_Extent(event.anchor))
            if event.anchor:
                known[event.anchor] = None
            node = above[-1]
        elif isinstance(event, kinds.CollectionEndEvent):
            node = above.pop()
        elif isinstance(event, kinds.AliasEvent):
            found = known.get(event.anchor, _Extent())  # the composer reports an unknown anchor
            if found is None:
                raise InputError(f"{_place(file, event.start_mark)}: an alias that contains itself")
            node = _Extent(None, found.values, found.depth)
        elif isinstance(event, kinds.ScalarEvent):
            if HALF.search(event.value):
                raise InputError(
                    f"{_place(file, event.start_mark)}: {event.value!r} holds half a character (a surrogate)"
                )
            node = _Extent(event.anchor)
        else:
            continue
        if len(above) + node.depth > DEEPEST:
            raise InputError(f"{_place(file, event.start_mark)}: nested deeper than {DEEPEST} levels")
        if isinstance(event, kinds.CollectionStartEvent):
            continue
        if node.anchor:
            known[node.anchor] = node
        if above:
            above[-1].add(node)
            if above[-1].values > MOST_VALUES:
                where = _place(file, event.start_mark)
                raise InputError(f"{where}: more than {MOST_VALUES} values with its aliases written out")


def _place(file: str, mark: Any) -> str:
    return f"{file}:{mark.line + 1}:{mark.column + 1}"
