"""Tables of a benchmark as Markdown, printed and put between markers into a page of docs/."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from pathlib import Path

from grouser.quiet_warp import start_warp

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "validation.md"
FIGURES = ROOT / "docs" / "figures"
MINUS = "\N{MINUS SIGN}"


def number(value: float, digits: int) -> str:
    """So many decimals, with a minus sign that is one and no minus before a zero."""
    text = f"{value:.{digits}f}"
    zero = not text.strip("-0.")
    return text.replace("-", "" if zero else MINUS)


def percent(share: float, digits: int = 1) -> str:
    return f"{number(100 * share, digits)} %"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table, columns as wide as they need to be."""
    lines = [list(head), *(list(row) for row in rows)]
    widths = [max(len(line[k]) for line in lines) for k in range(len(head))]
    lines.insert(1, ["-" * max(3, width) for width in widths])
    return "\n".join(
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |" for line in lines
    )


def publish(parts: dict[str, str], write: bool, file: Path = PAGE) -> None:
    """Print the parts; with `write`, put each between its markers in the file."""
    for text in parts.values():
        print(f"{text}\n")
    if not write:
        return
    page = file.read_text(encoding="utf-8")
    for marker, text in parts.items():
        begin, end = f"<!-- begin {marker} -->", f"<!-- end {marker} -->"
        if page.count(begin) != 1 or page.count(end) != 1:
            raise SystemExit(f"{file}: markers of {marker!r} not found once each: {begin} … {end}")
        head, rest = page.split(begin)
        page = f"{head}{begin}\n\n{text}\n\n{end}{rest.split(end)[1]}"
    file.write_text(page, encoding="utf-8")
    print(f"written: {file.relative_to(ROOT)}")


def asked_to_write(description: str | None, where: str = "docs/validation.md") -> bool:
    """Whether the command has the option --write. Starts Warp without its greeting."""
    parser = argparse.ArgumentParser(description=(description or "").partition("\n")[0])
    parser.add_argument("--write", action="store_true", help=f"put tables and figures into {where}")
    write = parser.parse_args().write
    quiet()
    return write


def quiet() -> None:
    """Start Warp without its greeting."""
    start_warp()
