"""Figures that other processes draw are those that would be drawn here, whatever becomes of the processes."""

import os
from pathlib import Path

import pytest

from grouser.commands import figure_workers
from grouser.commands.figure_workers import FigureWorkers
from grouser.errors import InputError
from grouser.report import draw_figures
from tests.report import runs

FIGURES = [
    {"name": "sinkage", "y": ["soil/sinkage"]},
    {"name": "pull", "y": ["soil/pull"]},
    {"name": "ruts", "kind": "map"},
]
WRONG = {"name": "wrong", "y": ["soil/wheels"]}


def started(count: int, **more) -> FigureWorkers:
    """With `count` processes, whatever the machine has."""
    made = FigureWorkers(**more)
    for _ in range(count):
        made.start()
    return made


def content(paths: list[Path]) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in paths}


def test_other_processes_draw_the_same_figures(tmp_path, monkeypatch):
    with runs.finished(tmp_path / "a.h5", figures=FIGURES) as recording:
        here = draw_figures(recording, tmp_path / "here")
        monkeypatch.setattr(figure_workers.figures, "draw_figure", None)  # nobody draws here
        with started(2) as workers:
            there = workers.draw(recording, tmp_path / "there")
    assert [path.name for path in there] == [path.name for path in here] == ["sinkage.png", "pull.png", "ruts.png"]
    assert content(there) == content(here)
    assert [process.poll() for process in workers._processes] == [0, 0], "they end with what they were for"


def test_what_a_dead_process_does_not_draw_is_drawn_here(tmp_path):
    with runs.finished(tmp_path / "a.h5", figures=FIGURES[:1]) as recording, started(1) as workers:
        workers._processes[0].kill()
        workers._processes[0].wait()
        paths = workers.draw(recording, tmp_path / "figures")
        assert content(paths) == content(draw_figures(recording, tmp_path / "here"))


def test_a_figure_with_a_fault_says_so_and_spares_the_others(tmp_path):
    with runs.finished(tmp_path / "a.h5", figures=[WRONG, FIGURES[0]]) as recording:
        with pytest.raises(InputError) as here:
            draw_figures(recording, tmp_path / "here")
        with started(1) as workers, pytest.raises(InputError) as there:
            workers.draw(recording, tmp_path / "there")
    assert str(there.value) == str(here.value)
    assert "figure 'wrong'" in str(there.value)
    assert (tmp_path / "there" / "sinkage.png").is_file()


def test_workers_start_before_the_end_of_a_run_that_lasts_where_a_core_is_to_spare(monkeypatch):
    begun: list[list[str]] = []
    monkeypatch.setattr(figure_workers.subprocess, "Popen", lambda command, **_: begun.append(command))
    now = [100.0]
    monkeypatch.setattr(figure_workers.time, "perf_counter", lambda: now[0])
    for cores, pinned, expected in (({3}, None, 0), ({3, 5}, None, 2), ({3, 5}, 3, 1), (set(range(9)), None, 2)):
        monkeypatch.setattr(figure_workers.os, "sched_getaffinity", lambda _, cores=cores: cores)
        begun.clear()
        workers = FigureWorkers(pinned)
        workers.start_near_end(0.0)
        now[0] += figure_workers.LASTED / 2
        workers.start_near_end(0.9)
        assert begun == [], "a short run is left alone"
        now[0] += 100 * figure_workers.LEFT
        workers.start_near_end(0.5)
        assert begun == [], "nobody waits through a long one"
        for later, most in ((0.0, 1), (0.5, 1), (0.6, 2), (1.0, 2)):
            now[0] += later * figure_workers.LOADING
            workers.start_near_end(0.995)
            assert len(begun) == min(most, expected), "one after the other"
        assert all(command[-1] == ("null" if pinned is None else "[5]") for command in begun)


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="Linux only")
def test_workers_keep_away_from_the_core_of_the_dynamics(tmp_path):
    allowed = os.sched_getaffinity(0)
    if len(allowed) < 2:
        pytest.skip("one core")
    with runs.finished(tmp_path / "a.h5", figures=FIGURES[:1]) as recording:
        workers = started(1, pinned=min(allowed))
        workers._close_inputs = lambda: None  # as long as it is looked at
        workers.draw(recording, tmp_path / "figures")
        seen = os.sched_getaffinity(workers._processes[0].pid)
        del workers._close_inputs
        with workers:
            pass
    assert seen == allowed - {min(allowed)}
