"""Reading a file whose writer was killed: the first 48 bytes of HDF5 still say "being written".

Opened for SWMR such a file can be read too, but where a part of it is missing HDF5 then waits for ever for
a writer to bring it. So the flags are cleared in what HDF5 sees; the file itself stays as it is.
Fields of superblock version 3: HDF5 File Format Specification 3.0, section II.A.
"""

from __future__ import annotations

import io
import os
from pathlib import Path

import numpy as np

from grouser.recording.torn import lookup3, mended

SIGNATURE = b"\x89HDF\r\n\x1a\n"
SIZE = 48  # bytes with addresses of 8 bytes
VERSION, FLAGS = 8, 11
END_OF_FILE = slice(28, 36)
CHECKSUM = slice(44, 48)


def end_of_file(path: Path) -> int:
    """Where the data end according to the file; what lies behind is not needed."""
    with path.open("rb") as file:
        return int.from_bytes(file.read(SIZE)[END_OF_FILE], "little")


def cleared(block: bytes, size: int) -> bytes:
    """A superblock of a closed file that ends at `size`."""
    new = bytearray(block)
    new[FLAGS] = 0
    new[END_OF_FILE] = size.to_bytes(8, "little")
    checksum = lookup3(np.frombuffer(new[: CHECKSUM.start], np.uint8)[None])[0]
    new[CHECKSUM] = int(checksum).to_bytes(4, "little")
    return bytes(new)


class Snapshot(io.FileIO):
    """The file as HDF5 would find it had it been closed and had the last write been whole."""

    def __init__(self, path: Path):
        super().__init__(path, "r")
        self._size = os.fstat(self.fileno()).st_size
        block = self.read(SIZE) or b""
        known = len(block) == SIZE and block.startswith(SIGNATURE) and block[VERSION] == 3
        self._changes = {0: cleared(block, self._size), **mended(path)} if known else {}

    def readinto(self, buffer) -> int:
        start = self.tell()
        count = super().readinto(buffer) or 0
        view = memoryview(buffer).cast("B")
        for place, new in self._changes.items():
            low, high = max(place, start), min(place + len(new), start + count)
            if low < high:
                view[low - start : high - start] = new[low - place : high - place]
        return count
