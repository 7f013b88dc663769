"""The command line explains itself."""

import os
import subprocess
import sys

import pytest
import typer.main

from grouser import cli
from grouser.scenarios.registry import NAMES

COMMANDS = sorted(typer.main.get_command(cli.app).commands)  # type: ignore[attr-defined]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(command, capsys):
    assert cli.status([command, "--help"]) == 0
    text = capsys.readouterr().out
    assert f"Example: grouser {command}" in " ".join(text.split())


def test_alone_it_says_how_to_begin(capsys):
    assert cli.status([]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "Start with: grouser list" in text
    assert all(command in text for command in COMMANDS)


def test_run_without_a_name_lists_them(capsys):
    assert cli.status(["run"]) == 2
    error = capsys.readouterr().err
    assert all(name in error for name in NAMES)
    assert error.count("\n") == 1


def test_a_misspelt_name_gets_the_nearest(capsys):
    assert cli.status(["run", "exomars-drabar"]) == 2
    assert "did you mean 'exomars-drawbar'" in capsys.readouterr().err
    assert cli.status(["drive", "rover-curse"]) == 2
    assert "did you mean 'rover-course'" in capsys.readouterr().err
    assert cli.status(["exprot", "x"]) == 2
    assert "No such command 'exprot'" in capsys.readouterr().err


def test_the_shell_completes_names():
    words = {"_GROUSER_COMPLETE": "complete_bash", "COMP_WORDS": "grouser run single", "COMP_CWORD": "2"}
    command = [sys.executable, "-c", "from grouser.cli import main; main()"]
    done = subprocess.run(command, env={**os.environ, **words}, capture_output=True, text=True)
    assert done.stdout.split() == ["single-wheel"]


def test_a_scenario_that_cannot_be_driven_says_so(tmp_path, capsys):
    assert cli.status(["drive", "single-wheel", "--out", str(tmp_path / "x"), "--port", "0"]) == 2
    assert "nothing to drive" in capsys.readouterr().err
    assert not (tmp_path / "x").exists()
