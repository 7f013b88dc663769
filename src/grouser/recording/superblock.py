"""Reading a file whose writer was killed: the first 48 bytes of HDF5 still say "being written".

Opened for SWMR such a file can be read too, but where a part of it is missing HDF5 then waits for ever for
a writer to bring it. So the flags are cleared in what HDF5 sees; the file itself stays as it is.
Fields of superblock version 3: HDF5 File Format Specification 3.0, section II.A.
"""

from __future__ import annotations

import io
import os
import struct
from pathlib import Path

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
    new[CHECKSUM] = lookup3(bytes(new[: CHECKSUM.start])).to_bytes(4, "little")
    return bytes(new)


class Snapshot(io.FileIO):
    """The file as HDF5 would find it had it been closed."""

    def __init__(self, path: Path):
        super().__init__(path, "r")
        self._size = os.fstat(self.fileno()).st_size
        block = self.read(SIZE) or b""
        known = len(block) == SIZE and block.startswith(SIGNATURE) and block[VERSION] == 3
        self._block = cleared(block, self._size) if known else block

    def readinto(self, buffer) -> int:
        start = self.tell()
        count = super().readinto(buffer) or 0
        overlap = self._block[start : start + count]
        memoryview(buffer).cast("B")[: len(overlap)] = overlap
        return count


def lookup3(data: bytes) -> int:
    """Checksum of HDF5 metadata: Jenkins, lookup3.c, hashlittle (2006)."""
    mask = 0xFFFFFFFF
    a = b = c = (0xDEADBEEF + len(data)) & mask

    def rotated(x: int, bits: int) -> int:
        return (x << bits | x >> (32 - bits)) & mask

    words = struct.unpack(f"<{-(-len(data) // 12) * 3}I", data + bytes(-len(data) % 12))
    for k in range(0, len(words), 3):
        a, b, c = (a + words[k]) & mask, (b + words[k + 1]) & mask, (c + words[k + 2]) & mask
        if k + 3 == len(words):
            break
        for bits in (4, 6, 8, 16, 19, 4):
            a = (a - c & mask) ^ rotated(c, bits)
            c = c + b & mask
            a, b, c = b, c, a
    for bits in (14, 11, 25, 16, 4, 14, 24):
        c = ((c ^ b) - rotated(b, bits)) & mask
        a, b, c = b, c, a
    return b
