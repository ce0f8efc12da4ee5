"""Checksums that identify a data file: of all its bytes, or of those that depend on the rest.

A parquet or ORC file ends with a footer that holds offsets, sizes and ranges of everything before it, so a file with
other rows nearly always has another footer. A text file has no footer, so all its bytes are read.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

SMALL = 1 << 20
"""Files of at most so many bytes are read in full."""
TAIL = 1 << 17
BLOCK, BLOCKS = 1 << 12, 64
"""Of larger ones: the bytes at the end, and blocks that lie evenly spread over the rest."""

_CHUNK = 1 << 20
_PARQUET = b"PAR1"
_PARQUET_END = 8
"""The length of the footer and the magic bytes."""


def checksum_of_file(file: BinaryIO, *, in_full: bool) -> str:
    """The checksum of an open file: of every byte, or of its footer and a sample of the rest."""
    size = os.fstat(file.fileno()).st_size
    digest = hashlib.blake2b(size.to_bytes(8, "big"), digest_size=12)
    for start, length in _all(size) if in_full or size <= SMALL else _sample(file, size):
        file.seek(start)
        digest.update(file.read(length))
    return digest.hexdigest()


def sampled_checksum(path: Path) -> str:
    """The checksum of a file's footer and of a sample of the rest."""
    with path.open("rb") as file:
        return checksum_of_file(file, in_full=False)


def _all(size: int) -> Iterator[tuple[int, int]]:
    yield from ((start, _CHUNK) for start in range(0, size, _CHUNK))


def _sample(file: BinaryIO, size: int) -> Iterator[tuple[int, int]]:
    tail = min(size, max(TAIL, _footer_length(file, size)))
    step = max(BLOCK, (size - tail) // BLOCKS)
    yield from ((start, BLOCK) for start in range(0, size - tail, step))
    yield size - tail, tail


def _footer_length(file: BinaryIO, size: int) -> int:
    """The bytes of a parquet footer, its end included; 0 for every other file."""
    file.seek(size - _PARQUET_END)
    end = file.read(_PARQUET_END)
    return int.from_bytes(end[:4], "little") + _PARQUET_END if end[4:] == _PARQUET else 0
