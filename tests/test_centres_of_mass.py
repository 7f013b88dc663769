"""Who gives a body of MuJoCo its inertia says where the centre of mass is.

A body made with MjSpec that has `explicitinertial` and no `ipos` is compiled with its own `pos` for it: a wheel then
hangs beside its axle.
"""

from pathlib import Path

import mujoco
import pytest

ROOT = Path(__file__).parents[1]
PLACES = ("src", "tests", "benchmarks", "examples", "docs")
NEAR = 2  # lines above and below in which the centre is looked for


def test_why():
    spec = mujoco.MjSpec()
    spec.worldbody.add_body(name="body", pos=[1, 2, 3], mass=1, inertia=[1, 1, 1], explicitinertial=True)
    assert spec.compile().body("body").ipos == pytest.approx([1, 2, 3])


def test_every_inertia_has_a_centre():
    files = [file for place in PLACES for kind in ("*.py", "*.md") for file in (ROOT / place).rglob(kind)]
    lacking = []
    for file in files:
        lines = file.read_text(encoding="utf-8").splitlines()
        for k, line in enumerate(lines):
            near = " ".join(lines[max(k - NEAR, 0) : k + NEAR + 1])
            if "explicitinertial" in line and "ipos" not in near and file != Path(__file__):
                lacking.append(f"{file.relative_to(ROOT)}:{k + 1}")
    assert len(files) > 100
    assert lacking == []
