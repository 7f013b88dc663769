"""The example of the page on many worlds runs, and its worlds differ."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "batches.md"


def test_the_example_runs():
    code = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)[0]
    space: dict = {}
    exec(code, space)
    sinkage = space["sim"].observe()["soil/sinkage"]
    assert sinkage.shape == (16, 4)
    assert (sinkage > 0).all()
    assert len({tuple(row) for row in sinkage.tolist()}) == 16
