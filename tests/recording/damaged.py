"""Reads a recording over and over with bytes overwritten in ever new places; says on stdout what it is at.

A process of its own, so that one who waits for it notices when HDF5 does not come back.
"""

import random
import sys
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

from grouser.cli import status
from grouser.errors import InputError
from grouser.recording import Recording, repair

SIZES = (1, 4, 16, 64, 512, 1639, 4096)  # bytes overwritten
BOOKKEEPING = 30_000  # bytes at the start of a file, where most of HDF5's own data are


def read_all(path: Path) -> None:
    """Whatever a report, an export or a view would ask for."""
    with Recording(path) as recording:
        for name in recording.names():
            recording.read(name)
        recording.terrain()
        recording.surface_at()
        recording.shapes()
        for _ in recording.tiles_between(-1.0, float("inf")):
            pass


def variants(source: Path, folder: Path, count: int, seed: int) -> None:
    """Refused in one line, or read and repaired: anything else raises, and ends this process."""
    whole, draw, victim = source.read_bytes(), random.Random(seed), folder / "damaged.h5"
    for _ in range(count):
        size = draw.choice(SIZES)
        start = draw.randrange(BOOKKEEPING if draw.random() < 0.5 else len(whole))
        content = draw.choice((bytes, draw.randbytes))(size)
        print(f"{size} bytes at {start}", flush=True)
        victim.write_bytes((whole[:start] + content + whole[start + size :])[: len(whole)])
        for action in (read_all, repair):
            try:
                action(victim)
            except InputError as error:
                assert "\n" not in str(error)


def commands(victim: Path, whole: Path, folder: Path) -> None:
    """Every command that reads recordings, on one that is damaged."""
    for command in (
        ["repair", str(victim)],
        ["report", str(victim)],
        ["export", str(victim), "--format", "csv", "--format", "html", "--format", "mcap", "--out", str(folder)],
        ["compare", str(whole), str(victim)],
        ["view", str(victim), "--port", "0"],
        ["video", str(victim)],
    ):
        print(command[0], flush=True)
        with redirect_stdout(StringIO()):
            ended = status(command)
        assert ended == 2, f"{command[0]} ended with {ended}"


if __name__ == "__main__":
    source, folder = Path(sys.argv[2]), Path(sys.argv[3])
    if sys.argv[1] == "variants":
        variants(source, folder, int(sys.argv[4]), int(sys.argv[5]))
    else:
        commands(source, Path(sys.argv[4]), folder)
