"""Reads a file whose writer was killed. Its first 48 bytes, the HDF5 superblock, still say "being written".

Such a file can also be opened with SWMR. But where a part of it is missing, HDF5 then waits for ever for a writer to
supply it. Therefore the flags are cleared in the bytes that HDF5 reads. The file itself is not changed.
Fields of superblock version 3: HDF5 File Format Specification 3.0, section II.A.
"""

from __future__ import annotations

import io
import os
import re
from pathlib import Path

import numpy as np

from grouser.recording.hdf5_recovery import lookup3, recovered_checksums

SIGNATURE = b"\x89HDF\r\n\x1a\n"
SIZE = 48  # bytes of a superblock whose addresses have 8 bytes
VERSION, FLAGS = 8, 11
END_OF_FILE = slice(28, 36)
CHECKSUM = slice(44, 48)
HEAP = re.compile(rb"GCOL\x01\0\0\0")  # signature of a global heap; its size follows
HEAP_SIGN = 8  # bytes of that signature
HEAP_HEADER = HEAP_OBJECT = 16  # bytes before the first object, and before the data of each


def end_of_file(path: Path) -> int:
    """End of the data [bytes] according to the superblock. Bytes after it are not needed."""
    with path.open("rb") as file:
        return int.from_bytes(file.read(SIZE)[END_OF_FILE], "little")


def is_closed(path: Path) -> bool:
    """Whether the writer has closed the file. Only superblocks of version 3 record this; others count as closed."""
    with path.open("rb") as file:
        block = file.read(SIZE)
    return len(block) < SIZE or block[VERSION] != 3 or block[FLAGS] == 0


def cleared(block: bytes, size: int) -> bytes:
    """The same superblock for a closed file that ends at `size` [bytes]."""
    new = bytearray(block)
    new[FLAGS] = 0
    new[END_OF_FILE] = size.to_bytes(8, "little")
    checksum = lookup3(np.frombuffer(new[: CHECKSUM.start], np.uint8)[None])[0]
    new[CHECKSUM] = int(checksum).to_bytes(4, "little")
    return bytes(new)


class Checked(io.FileIO):
    """The unchanged file, except that reading a damaged global heap raises OSError. HDF5 would loop for ever in it.

    The global heaps (texts of attributes) are the only HDF5 metadata in a recording without a checksum. HDF5 steps from
    one object to the next by their sizes, so an object of size 0 is an endless loop.
    HDF5 File Format Specification 3.0, section III.E.
    """

    def __init__(self, path: Path):
        super().__init__(path, "r")
        self._sound: set[int] = set()  # addresses of global heaps already checked

    def readinto(self, buffer) -> int:
        start = self.tell()
        count = super().readinto(buffer) or 0
        found = [start + hit.start() for hit in HEAP.finditer(memoryview(buffer).cast("B")[:count])]
        before = max(start - HEAP_SIGN + 1, 0)
        across = HEAP.search(os.pread(self.fileno(), 2 * HEAP_SIGN - 2, before))  # begins in an earlier block
        for address in [*found, *([before + across.start()] if across else [])]:
            if address not in self._sound:
                self._check_heap(address)
                self._sound.add(address)
        return count

    def _check_heap(self, address: int) -> None:
        size = int.from_bytes(os.pread(self.fileno(), HEAP_HEADER, address)[8:], "little")
        if size > os.fstat(self.fileno()).st_size - address:
            return  # the signature is part of other data, or HDF5 itself detects the end of the file
        heap, place = os.pread(self.fileno(), size, address), HEAP_HEADER
        while place + HEAP_OBJECT <= size:
            index, used = int.from_bytes(heap[place : place + 2], "little"), heap[place + 8 : place + HEAP_OBJECT]
            length = int.from_bytes(used, "little")
            if index == 0 and length == 0:
                raise OSError(f"a list of texts at byte {address + place} was overwritten")
            place += HEAP_OBJECT + -(-length // 8) * 8 if index else length  # free space: header included


class Snapshot(Checked):
    """The file as it would be if the writer had completed its last write and closed it."""

    def __init__(self, path: Path):
        super().__init__(path)
        self._size = os.fstat(self.fileno()).st_size
        block = self.read(SIZE) or b""
        known = len(block) == SIZE and block.startswith(SIGNATURE) and block[VERSION] == 3
        self._changes = {0: cleared(block, self._size), **recovered_checksums(path)} if known else {}

    def readinto(self, buffer) -> int:
        start = self.tell()
        count = super().readinto(buffer) or 0
        view = memoryview(buffer).cast("B")
        for place, new in self._changes.items():
            low, high = max(place, start), min(place + len(new), start + count)
            if low < high:
                view[low - start : high - start] = new[low - place : high - place]
        return count
