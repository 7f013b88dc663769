"""Recovery of HDF5 metadata blocks that a killed process left half written.

A kill can interrupt a write at the end of a memory page, but not inside one. HDF5 puts every piece smaller than a file
page (`PAGED`) inside one page, so after a kill such a piece is either old or new: object headers, headers of chunk
indices, the superblock. Larger pieces start at the beginning of a file page. Of those, only the blocks of chunk
addresses are rewritten while a recording grows. Addresses are only ever added to a block. So in any mixture of old and
new pages the addresses of flushed chunks are right, and only the checksum at the end of the block is wrong.
HDF5 File Format Specification 3.0, section VII.D (extensible array).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from grouser.recording.schema import FILE_PAGE, MEMORY_PAGE

HEADER_BYTES = 72
HEADER, DATA_BLOCK, SUPER_BLOCK = b"EAHD", b"EADB", b"EASB"
ADDRESS = slice(6, 14)  # address of the header, in both kinds of block
ADDRESS_BYTES = 8
CHECKSUM_BYTES = 4


@dataclass(frozen=True)
class Index:
    """The fields of an index header that determine the size of its blocks."""

    element_bytes: int
    offset_bytes: int
    smallest: int  # elements in the smallest data block
    direct: int  # levels whose data blocks belong directly to the index
    page: int  # elements; a larger data block has one checksum for each page of so many elements

    @classmethod
    def read(cls, data: bytes) -> Index | None:
        if not data.startswith(HEADER) or len(data) < HEADER_BYTES or not (data[6] and data[9] and data[10]):
            return None
        return cls(data[6], -(-data[7] // 8), data[9], 2 * (data[10].bit_length() - 1), 1 << data[11])

    def level(self, offset: int) -> tuple[int, int]:
        """Number of data blocks of the level with this offset, and number of elements in each.

        The offset of a direct block needs care: HDF5 counts it from the first block of all, not of its level.
        """
        level = start = first = 0
        while True:
            blocks, elements = 1 << level // 2, self.smallest << (level + 1) // 2
            shift = first * elements if level < self.direct else 0
            if 0 <= offset - start - shift < blocks * elements:
                return blocks, elements
            level, start, first = level + 1, start + blocks * elements, first + blocks
            if start > offset and level >= self.direct:
                return blocks, 0

    def parts(self, kind: bytes, offset: int, room: int) -> list[int]:
        """Sizes [bytes] of the parts of a block with their own checksum, without it. Empty if they exceed `room`."""
        prefix = ADDRESS.stop + self.offset_bytes
        blocks, elements = self.level(offset)
        if not elements:
            return []
        pages = elements // self.page if elements > self.page else 0
        if kind == SUPER_BLOCK:
            return [prefix + blocks * (-(-pages // 8) + ADDRESS_BYTES)]
        if elements * self.element_bytes > room:  # the header is damaged
            return []
        if pages:
            return [prefix] + [self.page * self.element_bytes] * pages
        return [prefix + elements * self.element_bytes]


def recovered_checksums(path: Path) -> dict[int, bytes]:
    """Find checksums that do not match their block. Returns the right checksum by address."""
    data = np.memmap(path, np.uint8, "r")
    found: dict[int, list[int]] = {}  # size -> addresses
    for start, size in _parts(data):
        last = start + size + CHECKSUM_BYTES - 1
        if start // MEMORY_PAGE != last // MEMORY_PAGE:
            found.setdefault(size, []).append(start)
    result = {}
    for size, starts in found.items():
        checksums = lookup3(np.array([data[start : start + size] for start in starts]))
        for end, checksum in zip((start + size for start in starts), checksums, strict=True):
            fitting = int(checksum).to_bytes(CHECKSUM_BYTES, "little")
            if data[end : end + CHECKSUM_BYTES].tobytes() != fitting:
                result[end] = fitting
    return result


def _parts(data: np.ndarray) -> Iterator[tuple[int, int]]:
    """Address and size of every part with a checksum, in the blocks that start at the beginning of a file page."""
    pages = data[: len(data) // FILE_PAGE * FILE_PAGE].view("S4")[:: FILE_PAGE // 4]
    for page in FILE_PAGE * np.flatnonzero((pages == DATA_BLOCK) | (pages == SUPER_BLOCK)):
        start = int(page)
        prefix = data[start : start + ADDRESS.stop + ADDRESS_BYTES].tobytes()
        address = int.from_bytes(prefix[ADDRESS], "little")
        index = Index.read(data[address : address + HEADER_BYTES].tobytes())
        if index is None:
            continue
        offset = int.from_bytes(prefix[ADDRESS.stop : ADDRESS.stop + index.offset_bytes], "little")
        for size in index.parts(prefix[:4], offset, len(data) - start):
            if start + size + CHECKSUM_BYTES > len(data):
                break
            yield start, size
            start += size + CHECKSUM_BYTES


def lookup3(rows: np.ndarray) -> np.ndarray:
    """Checksum of HDF5 metadata for each row of bytes: Jenkins, lookup3.c, hashlittle (2006)."""
    count, size = rows.shape
    padded = np.zeros((count, max(-(-size // 12), 1) * 12), np.uint8)
    padded[:, :size] = rows
    words = np.ascontiguousarray(padded.view("<u4").T.astype(np.uint32))
    a = b = c = np.full(count, (0xDEADBEEF + size) & 0xFFFFFFFF, np.uint32)

    def rotated(x: np.ndarray, bits: int) -> np.ndarray:
        return x << np.uint32(bits) | x >> np.uint32(32 - bits)

    for k in range(0, len(words), 3):
        a, b, c = a + words[k], b + words[k + 1], c + words[k + 2]
        if k + 3 == len(words):
            break
        for bits in (4, 6, 8, 16, 19, 4):
            a = (a - c) ^ rotated(c, bits)
            c = c + b
            a, b, c = b, c, a
    for bits in (14, 11, 25, 16, 4, 14, 24):
        c = (c ^ b) - rotated(b, bits)
        a, b, c = b, c, a
    return b
