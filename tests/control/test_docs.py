"""The example of docs/driving.md runs as it stands there and does what it says."""

from pathlib import Path

import numpy as np


def test_the_example_drives_to_the_end_of_its_path(capsys):
    page = Path(__file__).parents[2] / "docs" / "driving.md"
    code = page.read_text(encoding="utf-8").split("```python\n")[1].split("```")[0]
    names = {}
    exec(compile(code, str(page), "exec"), names)
    capsys.readouterr()
    assert names["follower"].ended[0]
    assert np.hypot(*(names["sim"].data.body("chassis").xpos[:2] - (0.6, 0.1))) < 0.05
    assert names["odometry"].error[0] < 0.05
