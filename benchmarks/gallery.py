"""Picture, clip and numbers of every scenario: `python benchmarks/gallery.py [NAME …] [--write]`.

Runs each scenario with the settings below (some shorter than its defaults), draws a picture and a clip of its recording
into docs/gallery/, and with --write puts its numbers into docs/gallery.md. Needs OpenGL (libegl1) and imageio-ffmpeg.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from page import ROOT, publish, quiet, table

from grouser.commands.run import execute
from grouser.recording import Recording
from grouser.report.wording import expectation_text, unit_text, value_text
from grouser.scenarios.registry import NAMES, scenario
from grouser.scenarios.settings import from_command

FOLDER = ROOT / "docs" / "gallery"
PAGE = ROOT / "docs" / "gallery.md"
SIZE, CLIP_SIZE = (720, 400), (320, 176)
PICTURES, CLIP_RATE = 22, 8.0
COLOURS = 192  # of a picture's palette: a quarter of the bytes
METRICS = 16  # shown of each


@dataclass(frozen=True)
class Entry:
    """How a scenario is shown: settings, camera, when, what Grouser draws."""

    options: tuple[str, ...] = ()
    camera: str = "follow"
    share: float = 0.9  # of the run, for the picture
    field: str = "sinkage"
    figure: str = ""  # in docs/figures
    forces: bool = True
    timed: bool = False  # the wall time is told


ENTRIES = {
    "blade": Entry(camera="wheel", figure="blade-pile.png"),
    "bulldozer-ditch": Entry(),
    "bulldozer-doze": Entry(figure="bulldozer-doze.png"),
    "bulldozer-drawbar": Entry(),
    "bulldozer-turn": Entry(),
    "docking-olev": Entry(figure="docking-forces.png"),
    "exomars-drawbar": Entry(figure="drawbar-pull.png"),
    "exomars-gradeability": Entry(
        ("trials=2", "starts=1", "length=0.4", "window=0.2", "settled_rise=0.5"), figure="gradeability-slip.png"
    ),
    "multi-pass": Entry(figure="multi-pass-forces.png", camera="follow"),
    "plate-sinkage": Entry(camera="wheel"),
    "robot": Entry(figure="robot-soil.png"),
    "rocks-and-sand": Entry(figure="rocks-and-sand-soil.png"),
    "rover-course": Entry(("waypoints=[[0,0],[0.8,0],[1.6,0.3]]",), figure="rover-course.png"),
    "single-wheel": Entry(("slip=0.4",), camera="wheel", figure="single-wheel.png"),
    "viking-rocks": Entry(("time=900",), figure="viking-drive-torque.png", timed=True),  # the paper's 15 min
}


def show(name: str, folder: Path) -> str:
    """Run one scenario, draw it, and give its section of the page."""
    from PIL import Image

    from grouser.viewer.video import film, pictures

    entry = ENTRIES.get(name, Entry())
    outcome = execute(from_command(name, entry.options), out=folder, report=False)
    with Recording(outcome.recording) as recording:
        start, end = float(recording.time[0]), float(recording.time[-1])
        time = start + entry.share * (end - start)
        image = next(pictures(recording, np.array([time]), (entry.camera,), SIZE, entry.field, entry.forces))
        FOLDER.mkdir(exist_ok=True)
        Image.fromarray(image).quantize(COLOURS, dither=Image.Dither.NONE).save(FOLDER / f"{name}.png", optimize=True)
        speed = max((end - start) * CLIP_RATE / PICTURES, 1e-3)
        film(
            recording, FOLDER / f"{name}.gif", cameras=(entry.camera,), size=CLIP_SIZE, rate=CLIP_RATE, speed=speed,
            field=entry.field, forces=entry.forces,
        )  # fmt: skip
    return section(name, entry, outcome.summary, end - start)


def section(name: str, entry: Entry, summary: dict[str, Any], simulated: float) -> str:
    described = scenario(name)
    command = f"grouser run {name}" + "".join(f" --set '{option}'" for option in entry.options)
    figure = f"\n\n[Grouser's figure](figures/{entry.figure})" if entry.figure else ""
    rows = [
        (f"`{metric}`", f"{value_text(told['value'])} {unit_text(told['unit'])}".strip(), expectation_text(told))
        for metric, told in summary["metrics"].items()
        if not metric.endswith("real_time_factor") and not isinstance(told["value"], list)
    ][:METRICS]
    numbers = table(("metric", "value", "expected"), rows) if rows else ""
    if entry.timed:
        wall = simulated / summary["metrics"]["real_time_factor"]["value"]
        spent = f"{simulated:.0f} s were computed in {wall:.0f} s of wall time on a machine of {os.cpu_count()} cores."
        numbers = f"{spent}\n\n{numbers}"
    return (
        f"{described.summary[0].upper()}{described.summary[1:]} ({described.source}).\n\n"
        f"![{name}](gallery/{name}.png) ![{name}, a clip](gallery/{name}.gif)\n\n"
        f"```\n{command}\n```\n\n{numbers}{figure}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", choices=[*NAMES, []])
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    quiet()
    for name in asked.names or NAMES:
        with tempfile.TemporaryDirectory() as folder:
            text = show(name, Path(folder) / name)
        page = PAGE.read_text(encoding="utf-8") if PAGE.exists() else "# Gallery\n"
        if asked.write and f"<!-- begin {name} -->" not in page:
            PAGE.write_text(f"{page.rstrip()}\n\n## {name}\n\n<!-- begin {name} -->\n<!-- end {name} -->\n")
        publish({name: text}, asked.write, PAGE)
        sizes = {path.name: path.stat().st_size for path in FOLDER.glob(f"{name}.*")}
        print(json.dumps(sizes))


if __name__ == "__main__":
    main()
