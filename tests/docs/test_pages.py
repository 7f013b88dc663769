"""All pages: links lead somewhere, metrics are defined, commands are accepted."""

import re
import shlex
import shutil
import tomllib
from pathlib import Path

import pytest

from grouser import cli
from grouser.commands.exit_status import BAD_INPUT
from grouser.errors import GrouserError
from grouser.scenarios.registry import NAMES, scenario

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
STAND_INS = {"my.xml": "src/grouser/scenarios/cart.xml", "cart.xml": "src/grouser/scenarios/cart.xml"}
REFUSED = "--set sol=clay"  # a mistake that getting-started shows on purpose


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def prose(page: Path) -> str:
    return FENCE.sub("", page.read_text(encoding="utf-8"))


def anchors(page: Path) -> set[str]:
    """Headings as GitHub links to them."""
    headings = re.findall(r"^#+ +(.*)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_and_pictures_exist(page):
    broken = []
    for target in LINK.findall(prose(page)):
        if target.startswith(("http:", "https:", "mailto:")):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if not file.exists() or (anchor and anchor not in anchors(file)):
            broken.append(target)
    assert not broken


def test_every_page_is_reached_from_the_readme():
    reached, todo = set(), [ROOT / "README.md"]
    while todo:
        page = todo.pop()
        if page in reached:
            continue
        reached.add(page)
        targets = (target.partition("#")[0] for target in LINK.findall(prose(page)) if "://" not in target)
        todo += [file for target in targets if (file := (page.parent / target).resolve()).suffix == ".md"]
    assert set(PAGES) <= reached


def test_every_picture_is_shown():
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    pictures = [file.name for file in (ROOT / "docs" / "figures").iterdir()]
    assert [name for name in pictures if name not in text] == []


@pytest.mark.parametrize("name", NAMES)
def test_every_metric_is_defined_under_its_scenario(name):
    declared = scenario(name)
    text = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")
    sections = dict(re.findall(r"^## ([^\n]*)\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL))
    section = next((part for heading, part in sections.items() if name in re.split(r"[ ,]+", heading)), "")
    metrics = [metric["name"] for metric in declared.metrics(declared.settings())]
    assert [metric for metric in metrics if f"`{metric}`" not in section] == []


def command_lines() -> list[str]:
    """Lines of code blocks that call the command."""
    lines = []
    for page in PAGES:
        for language, text in FENCE.findall(page.read_text(encoding="utf-8")):
            if language in ("", "sh", "bash", "console"):
                calls = (line.removeprefix("$ ") for line in text.replace("\\\n", " ").splitlines())
                lines += [line for line in calls if line.startswith("grouser ")]
    return sorted(set(lines))


class NotRun(GrouserError):
    """Instead of a run: all that was asked for has been understood."""

    exit_status = 0


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The files the pages name, and commands that stop before they compute."""

    def understood(*_, **__):
        raise NotRun("understood")

    computing = ("run.execute", "sweep.sweep", "bench.bench", "doctor.doctor", "validate.run_sweep",
                 "identify._emulators", "identify.posterior", "samples.run_sweep", "continuation.find_run")  # fmt: skip
    showing = ("view.view", "view.foxglove", "export.export", "export.video", "export.report")
    for place in (f"commands.{name}" for name in (*computing, *showing)):
        monkeypatch.setattr(f"grouser.{place}", understood)
    monkeypatch.setattr("grouser.quiet_warp.start_warp", lambda: None)
    for page in PAGES:
        for _, text in FENCE.findall(page.read_text(encoding="utf-8")):
            if named := re.match(r"# (\S+\.yaml)\n", text):
                file = tmp_path / named[1]
                file.parent.mkdir(exist_ok=True)
                file.write_text(text, encoding="utf-8")
    for file, origin in STAND_INS.items():
        shutil.copy(ROOT / origin, tmp_path / file)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("line", command_lines())
def test_commands_are_accepted(folder, line, capsys):
    status = cli.status(shlex.split(line, comments=True)[1:])
    told = capsys.readouterr().err
    if REFUSED in line:
        assert status == BAD_INPUT
    else:
        assert (status, told) in [(0, "error: understood\n"), (0, "")]


def test_the_commands_of_the_pages_are_found():
    """Guards the test above: it looks at what it should."""
    assert any(line.startswith("grouser run --robot") for line in command_lines())
    assert len(command_lines()) > 15


def test_every_dependency_has_its_reason():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = {key: value for key, value in project["optional-dependencies"].items() if key != "dev"}
    packages = [re.split(r"[=<>\[]", line)[0] for line in sum(extras.values(), project["dependencies"])]
    packages = [name for name in packages if name != "grouser"]  # the extra `all` names the others
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8").split("## Dependencies")[1]
    named = set(re.findall(r"[\w.-]+", " ".join(re.findall(r"^\| ([^|]*) \|", page, re.MULTILINE))))
    assert set(packages) <= named


def test_make_targets_and_scripts_exist():
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        assert set(re.findall(r"(?:^|`)make ([a-z][\w-]*)", text, re.MULTILINE)) <= targets, page
        scripts = re.findall(r"\b(benchmarks/\w+\.py)", text)
        assert [script for script in scripts if not (ROOT / script).is_file()] == [], page
