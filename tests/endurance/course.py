"""Hours on a closed course: a rover in processes of its own, which can be killed, and what they use on the way.

`python -m tests.endurance.course --hours 24 --kills 10` drives a simulated day twice, once killed.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread

import h5py
import numpy as np

ROOT = Path(__file__).parents[2]
RADIUS, CORNERS, SPEED = 2.0, 8, 0.05  # [m] of the course, its way points, [m/s] of the rover
SETTLED = 1.5  # laps after which memory and speed should stay as they are: all of the ground has been driven over
PROGRESS = re.compile(r": ([\d.]+) of [\d.]+ s")
DRIVEN = 0.9  # of the time of a run; then the rover stands at the end of its course, which is cheaper
TICKS = os.sysconf("SC_CLK_TCK")  # of processor time in a second
OFTEN = """
from grouser.commands import progress
progress.LINE_EVERY = 0.5  # seconds of wall time
from grouser.cli import main
main()
"""
CALM = {"OMP_NUM_THREADS": "1", "GROUSER_THREADS": "1"}  # processor time of the loop only
WALL_CLOCK = ("cost/increase",)  # channels that hold measured time


@dataclass(frozen=True)
class Sample:
    time: float  # [s] simulated
    used: float  # [s] of the processor
    memory: float  # [bytes] resident
    checkpointed: bool = True  # the process has written a checkpoint, whose copies it keeps room for


@dataclass
class Drive:
    """What was seen of a run: samples of each of its processes, one more than it was killed."""

    folder: Path
    processes: list[list[Sample]] = field(default_factory=list)

    @property
    def growth(self) -> float:
        """Memory [bytes] that the last process had more at its end than after SETTLED laps and its first checkpoint.

        Medians of a fifth each.
        """
        memory = [one.memory for one in self._settled if one.checkpointed]
        part = max(1, len(memory) // 5)
        return float(np.median(memory[-part:]) - np.median(memory[:part]))

    @property
    def hours(self) -> float:
        """Simulated time [h] over which growth is counted."""
        settled = [one.time for one in self._settled if one.checkpointed]
        return (settled[-1] - settled[0]) / 3600

    @property
    def slowing(self) -> float:
        """Speed in the last third of the last process over that in the first after SETTLED laps, less 1."""
        first, last = (_speed(part) for part in (self._settled[: self._third], self._settled[-self._third :]))
        return last / first - 1

    @property
    def speed(self) -> float:
        """Simulated seconds a second of the processor, without the start."""
        return _speed(self.processes[-1])

    @property
    def _settled(self) -> list[Sample]:
        samples = self.processes[-1]
        first, last = samples[0].time + SETTLED * lap_time(), DRIVEN * samples[-1].time
        return [one for one in samples if first < one.time < last]

    @property
    def _third(self) -> int:
        return max(2, len(self._settled) // 3)


def _speed(samples: Sequence[Sample]) -> float:
    first, last = samples[0], samples[-1]
    return (last.time - first.time) / (last.used - first.used)


def lap_time() -> float:
    return 2 * math.pi * RADIUS / SPEED


def waypoints() -> list[list[float]]:
    angles = 2 * np.pi * np.arange(CORNERS) / CORNERS
    places = np.column_stack([RADIUS * np.sin(angles), RADIUS * (1 - np.cos(angles))])
    return np.round(places, 3).tolist()


def command(out: Path, hours: float, spacing: float) -> list[str]:
    """A run of at least so long: it lasts 1.1 times the time of its laps."""
    laps = max(2, math.ceil(3600 * hours / (1.1 * lap_time())))
    settings = [f"waypoints={json.dumps(waypoints())}", f"laps={laps}", f"speed={SPEED}", f"spacing={spacing}"]
    given = [word for setting in settings for word in ("--set", setting)]
    return ["run", "rover-course", *given, "--no-report", "--out", str(out)]


def drive(out: Path, hours: float, *, kills: int = 0, spacing: float = 0.01, checkpoints: float = 60.0) -> Drive:
    """Drive, killed so many times at equal distances in time, each time some way after a checkpoint."""
    seen = Drive(out)
    whole = 3600 * hours
    for turn in range(kills + 1):
        until = whole * (turn + 1) / (kills + 1) if turn < kills else math.inf
        arguments = command(out, hours, spacing) if turn == 0 else ["run", "--continue", str(out), "--no-report"]
        seen.processes.append(watch([*arguments, "--checkpoints", str(checkpoints)], until, out / "checkpoint.npz"))
    return seen


def watch(arguments: list[str], until: float, checkpoint: Path) -> list[Sample]:
    """Run a command to its end, or kill it after `until` [s] of simulated time and a checkpoint of its own."""
    script = [sys.executable, "-c", OFTEN, *arguments]
    before = checkpoint.stat().st_mtime_ns if checkpoint.exists() else 0
    samples: list[Sample] = []
    quiet = {"stdout": subprocess.DEVNULL, "env": {**os.environ, **CALM}}
    with subprocess.Popen(script, cwd=ROOT, stderr=subprocess.PIPE, text=True, **quiet) as process:
        assert process.stderr is not None
        for line in process.stderr:
            found = PROGRESS.search(line)
            if not found:
                continue
            written = checkpoint.exists() and checkpoint.stat().st_mtime_ns != before
            samples.append(sample(process.pid, float(found[1]), written))
            if samples[-1].time > until and written:
                process.send_signal(signal.SIGKILL)
                break
    assert process.returncode in ((0, 1) if math.isinf(until) else (-signal.SIGKILL,)), process.returncode
    return samples


def sample(process: int, time: float, checkpointed: bool) -> Sample:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    resident = int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return Sample(time, (int(fields[11]) + int(fields[12])) / TICKS, resident, checkpointed)


def megabytes_a_minute(folder: Path) -> float:
    file = folder / "recording.h5"
    with h5py.File(file) as opened:
        minutes = float(opened["time"][-1]) / 60  # type: ignore[index]
    return file.stat().st_size / 1e6 / minutes


def volume_error(folder: Path) -> float:
    """Largest of all frames: soil lost less soil compressed, over soil displaced."""
    with h5py.File(folder / "recording.h5") as opened:
        return float(np.abs(opened["channels/soil/volume_error"][:]).max())  # type: ignore[index]


def differing(one: Path, other: Path) -> list[str]:
    """Datasets of two recordings that are not the same bit for bit, but the outcome, which has wall times."""
    found = []
    with h5py.File(one / "recording.h5") as a, h5py.File(other / "recording.h5") as b:
        names: list[str] = []
        a.visititems(lambda name, item: names.append(name) if isinstance(item, h5py.Dataset) else None)
        for name in names:
            if not name.endswith(("outcome/json", *WALL_CLOCK)) and not _same(a[name], b[name]):
                found.append(name)
    return found


def _same(one: h5py.Dataset, other: h5py.Dataset) -> bool:
    """In pieces: channels of a day are larger than memory should be."""
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    if not one.shape:
        return one[()] == other[()]
    rows = 20_000
    return all(
        one[k : k + rows].tobytes() == other[k : k + rows].tobytes() for k in range(0, max(1, one.shape[0]), rows)
    )


def table(straight: Drive, killed: Drive | None = None) -> str:
    time = straight.processes[-1][-1].time
    lines = [
        f"simulated time            {time / 3600:.2f} h",
        f"speed                     {straight.speed:.1f} s a second of the processor",
        f"speed, last / first third {100 * straight.slowing:+.1f} %",
        f"memory at the end         {straight.processes[-1][-1].memory / 1e6:.0f} MB",
        f"growth of memory          {straight.growth / 1e6:.1f} MB in {straight.hours:.2f} h",
        f"recording                 {megabytes_a_minute(straight.folder):.2f} MB a minute",
        f"volume error, largest     {volume_error(straight.folder):.2g}",
    ]
    if killed is not None:
        same = not differing(straight.folder, killed.folder)
        lines.append(f"killed {len(killed.processes) - 1} times           {'the same bits' if same else 'DIFFERS'}")
    return "\n".join(lines)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    options.add_argument("--hours", type=float, default=24.0)
    options.add_argument("--kills", type=int, default=10)
    options.add_argument("--spacing", type=float, default=0.01, help="of the soil's grid [m]")
    options.add_argument("--checkpoints", type=float, default=60.0, help="wall time between two of them [s]")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as place:
        straight, killed = both(Path(place), given.hours, given.kills, given.spacing, given.checkpoints)
        print(table(straight, killed))


def both(place: Path, hours: float, kills: int, spacing: float, checkpoints: float) -> tuple[Drive, Drive]:
    """Drive straight and killed, side by side."""
    ended: list[Drive] = []
    beside = Thread(target=lambda: ended.append(drive(place / "straight", hours, spacing=spacing)))
    beside.start()
    killed = drive(place / "killed", hours, kills=kills, spacing=spacing, checkpoints=checkpoints)
    beside.join()
    return ended[0], killed


if __name__ == "__main__":
    main()
