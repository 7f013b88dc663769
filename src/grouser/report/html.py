"""report.html: one self-contained file, made from the recording alone.

The pages are Jinja2 templates (`templates/`) with autoescape on: text from a recording is never taken as HTML.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from grouser.files import write_atomically
from grouser.recording import Recording
from grouser.report.energy import soil_energy
from grouser.report.figures import draw_figures
from grouser.report.summary import missed, summarise
from grouser.report.validity import validity_text
from grouser.report.wording import ALL_DIGITS, expectation_text, flat, number, unit_text, value_text

STATUS_LEVEL = {"complete": "good", "running": "warn", "interrupted": "warn", "stopped": "bad"}


class Badge(NamedTuple):
    """A short text on a coloured background: good, warn or bad."""

    level: str
    text: str


def write_report(
    recording: Recording,
    directory: str | Path,
    figures: Sequence[Path] | None = None,
    replay: str = "",
    summary: Mapping[str, Any] | None = None,
) -> Path:
    """Write report.html. Unless given, figures are drawn into `directory`/figures and the summary is computed.

    `replay`: a replay page to include.
    """
    directory = Path(directory)
    if figures is None:
        figures = draw_figures(recording, directory / "figures")
    return write_atomically(directory / "report.html", page(recording, figures, replay, summary))


@cache
def _templates():
    import jinja2

    loader = jinja2.PackageLoader("grouser.report", "templates")
    environment = jinja2.Environment(loader=loader, autoescape=True, undefined=jinja2.StrictUndefined)
    environment.filters["all_digits"] = lambda value: value_text(value, ALL_DIGITS)
    return environment


def render(template: str, **values: Any) -> str:
    """Render a page from a template. All values are escaped."""
    return _templates().get_template(template).render(values) + "\n"


def page(
    recording: Recording, figures: Sequence[Path], replay: str = "", summary: Mapping[str, Any] | None = None
) -> str:
    """HTML report of a run. `summary`: the summary of the recording, if it has been computed already."""
    summary, header = summary or summarise(recording), recording.header
    state = _state(recording)
    return render(
        "run.html",
        title=recording.title,
        overline="Grouser run",
        badges=_badges(recording, summary),
        state=state,
        state_level=STATUS_LEVEL.get(recording.status, "warn") if recording.status != "complete" else "warn",
        facts=_facts(recording, summary),
        metrics=_metrics(recording, summary),
        replay=replay,
        figures=_figures(header.get("figures", []), figures),
        notes=summary["notes"],
        energy=soil_energy(recording),
        validity=validity_text(summary["validity"]),
        settings=flat(summary["settings"]),
        provenance=header.get("provenance", {}),
        version=summary["version"],
        file=recording.path.name,
    )


def _badges(recording: Recording, summary: Mapping[str, Any]) -> list[Badge]:
    badges = [Badge(STATUS_LEVEL.get(recording.status, "warn"), recording.status)]
    judged = [metric["pass"] for metric in summary["metrics"].values() if metric["pass"] is not None]
    failed = missed(summary)
    if judged and recording.metrics:
        if failed:
            badges.append(Badge("bad", f"{len(failed)} of {len(judged)} expectations missed"))
        else:
            badges.append(Badge("good", f"all {len(judged)} expectations met"))
    return badges


def _state(recording: Recording) -> str:
    """Sentences that say why the report is incomplete; empty for a complete run."""
    words = {
        "running": f"The run has not ended: the data shown end at t = {number(recording.last_time)} s.",
        "interrupted": f"The run was interrupted: the recording ends at t = {number(recording.last_time)} s.",
        "stopped": f"The run stopped at t = {number(recording.sim_s)} s.",
    }
    text = words.get(recording.status, "")
    if recording.message and recording.status != "complete":
        text += f" {recording.message}"
    if not recording.metrics and recording.header.get("metrics"):
        text += " Its metrics were not computed."
    return text.strip()


def _facts(recording: Recording, summary: Mapping[str, Any]) -> dict[str, str]:
    """Short facts by title. Empty ones are left out."""
    wall, simulated = summary["wall_s"], summary["sim_s"]
    header = recording.header
    return {
        "simulated": f"{number(float(simulated))} s",
        "wall clock": f"{number(float(wall))} s" if wall is not None else "",
        "steps": number(summary["steps"]) if summary["steps"] is not None else "",
        "step": f"{number(1e3 * header['step'])} ms" if header.get("step") else "",
        "frames": number(len(recording)),
        "worlds": str(recording.worlds) if recording.worlds > 1 else "",
        "seed": str(header.get("seed", "")),
        "numbers": str(header.get("dtype", "")),
    }


def _metrics(recording: Recording, summary: Mapping[str, Any]) -> list[dict[str, Any]]:
    definitions = {m["name"]: m.get("definition") or "" for m in recording.header.get("metrics", [])}
    return [
        {
            "name": name,
            "definition": definitions.get(name, ""),
            "exact": metric["value"],
            "value": f"{value_text(metric['value'])} {unit_text(metric['unit'])}",
            "expected": expectation_text(metric),
            "source": metric["source"] or "",
            "badge": _verdict(metric["pass"], measured=bool(recording.metrics)),
        }
        for name, metric in summary["metrics"].items()
    ]


def _verdict(passed: bool | None, measured: bool) -> Badge | None:
    if passed is None:
        return None
    if not measured:
        return Badge("warn", "not measured")
    return Badge("good", "✓ met") if passed else Badge("bad", "✗ missed")


def _figures(declared: Sequence[Mapping[str, Any]], paths: Sequence[Path]) -> list[dict[str, str]]:
    return [
        picture(path, str(figure.get("title") or figure["name"]), str(figure.get("caption") or ""))
        for figure, path in (zip(declared, paths, strict=True) if paths else ())
    ]


def picture(path: Path, title: str, caption: str) -> dict[str, str]:
    """A PNG embedded in the page."""
    content = base64.b64encode(path.read_bytes()).decode("ascii")
    return {"name": path.stem, "title": title, "caption": caption, "content": content}
