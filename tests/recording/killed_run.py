"""A run to be killed: writes frames for ever and says on stdout how many are flushed."""

import sys
from pathlib import Path

import h5py  # noqa: F401 - imported before the clock of the test starts
import numpy as np

from tests.recording.samples import TILE, Clock, fill, sample


def main(path: Path) -> None:
    print("ready", flush=True)
    clock = Clock()
    writer = sample(path, clock, block=8)
    while True:
        fill(writer, clock, 5)
        heights = np.full((3, TILE, TILE), clock.time, np.float32)
        writer.append_tiles(clock.time, 0, np.arange(6, dtype=np.int32).reshape(3, 2), heights)
        writer.flush()
        print(writer.frames, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
