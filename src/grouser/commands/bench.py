"""`grouser bench`: runs the benchmarks of the checkout, which are not part of the installed package."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import grouser
from grouser.errors import InputError


def bench(names: list[str], check: bool = False) -> int:
    """Run `benchmarks.run.main`. Without names, run all cases. With `check` a missed bar gives exit status 1."""
    root = checkout()
    if root is None:
        raise InputError(
            "benchmarks: not installed with the package; run this in a checkout that has benchmarks/run.py"
        )
    sys.path.insert(0, str(root))
    return int(importlib.import_module("benchmarks.run").main(names, check) or 0)


def checkout() -> Path | None:
    """The folder that contains benchmarks/run.py: the working directory, or the checkout of this package."""
    package = Path(grouser.__file__).resolve()
    for root in (Path.cwd(), package.parents[2]):
        if (root / "benchmarks" / "run.py").is_file():
            return root
    return None
