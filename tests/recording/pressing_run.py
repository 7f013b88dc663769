"""A run told on its input when to press the ground: a patch for each line, in the file before it answers."""

import sys
from pathlib import Path

import numpy as np

from tests.recording.samples import TILE, Clock, sample


def main(path: Path) -> None:
    with sample(path, Clock()) as writer:
        for number, _ in enumerate(sys.stdin, 1):
            heights = np.full((1, TILE, TILE), -0.1, np.float32)
            writer.append_tiles(float(number), 0, np.array([[1, 2]], np.int32), heights)
            writer.flush()
            print("pressed", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
