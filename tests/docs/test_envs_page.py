"""docs/envs.md: what it says of the policy of the package is what the files of its training say."""

from pathlib import Path

import pytest

from grouser.envs import rover_tasks

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "envs.md").read_text(encoding="utf-8")


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import trained_policy  # pyright: ignore[reportMissingImports] - a script beside page.py

    return trained_policy


def test_the_page_tells_the_training_and_the_comparison(script):
    text = PAGE.split("<!-- begin trained-policy -->")[1].split("<!-- end trained-policy -->")[0]
    assert text.strip() == script.account(*script.kept()), "python benchmarks/trained_policy.py --write"


def test_files_of_a_training_are_taken_together_or_not_at_all(script, tmp_path):
    (tmp_path / "curve.csv").write_text("")
    with pytest.raises(SystemExit, match=r"no policy\.npz, outside\.json"):
        script.take(tmp_path)


def test_rewards_and_ranges_of_the_page_are_those_of_the_task():
    gains = [f"{gain:g} " for gain in rover_tasks.REWARD.values()]
    line = next(line for line in PAGE.splitlines() if line.startswith("    8 (progress"))
    at = [line.find(gain) for gain in gains]
    assert at == sorted(at)
    assert at[0] >= 0
    rows = {line.split("`")[1]: line for line in PAGE.splitlines() if line.startswith("| `") and " to " in line}
    for name, bounds in rover_tasks.SOILS.items():
        cells = [cell.strip() for cell in rows[name].split("|")[2:4]]
        outside = rover_tasks.OUTSIDE.get(name, bounds)
        for cell, wanted in zip(cells, (bounds, outside), strict=True):
            if cell != "the same":
                assert [float(part) for part in cell.split(" to ")] == [wanted.low, wanted.high], name
            else:
                assert wanted == bounds
