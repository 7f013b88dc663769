"""report.html: one file with everything in it, made from the recording alone."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any

from grouser.recording import Recording
from grouser.report.figures import draw_figures
from grouser.report.summary import missed, summarise
from grouser.report.wording import ALL_DIGITS, expectation_text, flat, number, unit_text, value_text

STATUS_LOOK = {"complete": "good", "running": "warn", "interrupted": "warn", "stopped": "bad"}


def write_report(
    recording: Recording, directory: str | Path, figures: Sequence[Path] | None = None, replay: str = ""
) -> Path:
    """Write report.html; draws the figures into `directory`/figures unless they are given. `replay`: a page to show."""
    directory = Path(directory)
    if figures is None:
        figures = draw_figures(recording, directory / "figures")
    return write_whole(directory / "report.html", page(recording, figures, replay))


def write_whole(path: Path, text: str) -> Path:
    """Write a file, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    try:
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    return path


def page(recording: Recording, figures: Sequence[Path], replay: str = "") -> str:
    """The whole page; everything that comes from the recording is escaped."""
    summary = summarise(recording)
    declared = recording.header.get("figures", [])
    sections = [
        _heading(recording, summary),
        _state(recording),
        _facts(recording, summary),
        _metrics(recording, summary),
        _replay(replay),
        _figures(declared, figures),
        _notes(recording),
        pairs("Settings", flat(summary["settings"])),
        pairs("Provenance", recording.header.get("provenance", {})),
        _footer(recording, summary),
    ]
    return document(str(summary["scenario"]), sections)


def document(title: str, sections: Sequence[str]) -> str:
    """A page of its own with the style of all reports."""
    style = resources.files("grouser.report").joinpath("page.css").read_text(encoding="utf-8")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(filter(None, sections))
        + "\n</main>\n</body>\n</html>\n"
    )


def _footer(recording: Recording, summary: Mapping[str, Any]) -> str:
    file = escape(recording.path.name)
    return f"<footer>Grouser {escape(str(summary['version']))}, from <code>{file}</code></footer>"


def _heading(recording: Recording, summary: Mapping[str, Any]) -> str:
    look = STATUS_LOOK.get(recording.status, "warn")
    badges = [f'<span class="badge {look}">{escape(recording.status)}</span>']
    judged = [metric["pass"] for metric in summary["metrics"].values() if metric["pass"] is not None]
    failed = missed(summary)
    if judged and recording.metrics:
        if failed:
            badges.append(f'<span class="badge bad">{len(failed)} of {len(judged)} expectations missed</span>')
        else:
            badges.append(f'<span class="badge good">all {len(judged)} expectations met</span>')
    return (
        '<header>\n<div class="overline">Grouser run</div>\n'
        f"<h1>{escape(str(summary['scenario']))}</h1>\n<div>{''.join(badges)}</div>\n</header>"
    )


def _state(recording: Recording) -> str:
    """Why a page may be thinner than expected."""
    words = {
        "running": f"The run goes on: what is shown ends at t = {number(recording.sim_s)} s.",
        "interrupted": f"The run was interrupted: the recording ends at t = {number(recording.sim_s)} s.",
        "stopped": f"The run stopped at t = {number(recording.sim_s)} s.",
    }
    text = words.get(recording.status, "")
    if recording.message and recording.status != "complete":
        text += f" {recording.message}"
    if not recording.metrics and recording.header.get("metrics"):
        text += " Its metrics have not been measured."
    look = STATUS_LOOK.get(recording.status, "warn") if recording.status != "complete" else "warn"
    return f'<div class="banner {look}">{escape(text.strip())}</div>' if text.strip() else ""


def _facts(recording: Recording, summary: Mapping[str, Any]) -> str:
    wall, simulated = summary["wall_s"], summary["sim_s"]
    header = recording.header
    facts = {
        "simulated": f"{number(float(simulated))} s",
        "wall clock": f"{number(float(wall))} s" if wall is not None else "",
        "steps": number(summary["steps"]) if summary["steps"] is not None else "",
        "step": f"{number(1e3 * header['step'])} ms" if header.get("step") else "",
        "frames": number(len(recording)),
        "worlds": str(recording.worlds) if recording.worlds > 1 else "",
        "seed": str(header.get("seed", "")),
        "numbers": str(header.get("dtype", "")),
    }
    return fact_cards(facts)


def fact_cards(facts: Mapping[str, str]) -> str:
    """Short facts side by side; empty ones are left out."""
    cells = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in facts.items() if value
    )
    return f'<dl class="facts">{cells}</dl>'


def _metrics(recording: Recording, summary: Mapping[str, Any]) -> str:
    if not summary["metrics"]:
        return ""
    definitions = {m["name"]: m.get("definition") or "" for m in recording.header.get("metrics", [])}
    rows = []
    for name, metric in summary["metrics"].items():
        unit = escape(unit_text(metric["unit"]))
        exact = "" if metric["value"] is None else f' title="{escape(str(metric["value"]))}"'
        definition, source = escape(definitions.get(name, "")), escape(metric["source"] or "")
        rows.append(
            f"<tr><td><code>{escape(name)}</code>"
            + (f'<span class="definition">{definition}</span>' if definition else "")
            + f'</td><td class="number"{exact}>{escape(value_text(metric["value"]))} {unit}</td>'
            f'<td class="number">{escape(expectation_text(metric))}'
            + (f'<span class="source">{source}</span>' if source else "")
            + f"</td><td>{_mark(metric['pass'], measured=bool(recording.metrics))}</td></tr>"
        )
    head = "<tr><th>metric</th><th>value</th><th>expected</th><th></th></tr>"
    return (
        f'<h2>Metrics</h2>\n<div class="card"><table><thead>{head}</thead>\n<tbody>\n'
        + "\n".join(rows)
        + "\n</tbody></table></div>"
    )


def _mark(passed: bool | None, measured: bool) -> str:
    if passed is None:
        return ""
    if not measured:
        return '<span class="badge warn">not measured</span>'
    return '<span class="badge good">✓ met</span>' if passed else '<span class="badge bad">✗ missed</span>'


def _figures(declared: Sequence[Mapping[str, Any]], paths: Sequence[Path]) -> str:
    if not paths:
        return ""
    parts = ["<h2>Figures</h2>"]
    for figure, path in zip(declared, paths, strict=True):
        parts.append(picture(path, str(figure.get("title") or figure["name"]), str(figure.get("caption") or "")))
    return "\n".join(parts)


def picture(path: Path, title: str, caption: str) -> str:
    """A PNG inside the page."""
    content = base64.b64encode(path.read_bytes()).decode("ascii")
    image = f'<img alt="{escape(title)}" src="data:image/png;base64,{content}">'
    below = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
    return f'<figure id="{escape(path.stem)}">{image}{below}</figure>'


def _replay(page: str) -> str:
    """A page within the page; it has no access to this one."""
    if not page:
        return ""
    return (
        '<h2>Replay</h2>\n<div class="card"><iframe title="Replay" loading="lazy" sandbox="allow-scripts" '
        f'style="width:100%;height:520px;border:0" srcdoc="{escape(page)}"></iframe></div>'
    )


def _notes(recording: Recording) -> str:
    notes = [*recording.header.get("notes", []), *recording.notes]
    if not notes:
        return ""
    items = "".join(f"<li>{escape(str(note))}</li>" for note in notes)
    return f'<h2>Notes</h2>\n<div class="card"><ul class="notes">{items}</ul></div>'


def pairs(title: str, values: Mapping[str, Any]) -> str:
    if not values:
        return ""
    rows = "\n".join(
        f"<tr><td><code>{escape(str(key))}</code></td><td>{escape(value_text(value, ALL_DIGITS))}</td></tr>"
        for key, value in values.items()
    )
    return f'<h2>{title}</h2>\n<div class="card"><table class="pairs"><tbody>\n{rows}\n</tbody></table></div>'
