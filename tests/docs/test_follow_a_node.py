"""The way of a node through a step, in CONTRIBUTING, names functions that can be imported, in the order of the step."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import warp as wp

from grouser.contact.soil.stages import COMMIT, EVALUATE

ROOT = Path(__file__).parents[2]


def rows() -> list[tuple[str, str, str]]:
    """Stage, dotted name and file of each row of the table."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = text.split("## Follow one node of soil through a step")[1].split("\n## ")[0]
    return re.findall(r"^\| ([a-z ]+) \| \[`([\w.]+)`\]\(([\w./]+)\) \|", section, re.MULTILINE)


def test_ten_links_lead_to_device_functions():
    assert len(rows()) == 10
    for _, name, path in rows():
        module, function = name.rsplit(".", 1)
        found = getattr(importlib.import_module(module), function)
        assert isinstance(found, wp.Function), name
        assert (ROOT / path).samefile(Path(found.func.__code__.co_filename)), name


def test_links_follow_the_order_of_the_step():
    order = [(*COMMIT, *EVALUATE).index(stage) for stage, _, _ in rows()]
    assert order == sorted(order)
