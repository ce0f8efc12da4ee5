"""The files of checksums that Hadoop writes on a local disk, `.part-0.parquet.crc` beside `part-0.parquet`.

Hadoop verifies them as it reads, so one that is left from an older version of its file makes Spark fail.
"""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

_MAGIC = b"crc\0"
_HEADER = 8
"""Magic bytes, and how many bytes of the file each checksum stands for."""


def crc_file(path: Path) -> Path:
    """Where the checksums of a file are, if there are any."""
    return path.with_name(f".{path.name}.crc")


def has_length_of(path: Path) -> bool:
    """Whether a file is as long as the checksums beside it say; true where there are none that Hadoop would use."""
    try:
        with crc_file(path).open("rb") as file:
            header = file.read(_HEADER)
    except FileNotFoundError:
        return True
    if len(header) < _HEADER or header[:4] != _MAGIC:
        return True
    size, stored = int.from_bytes(header[4:], "big"), crc_file(path).stat().st_size - _HEADER
    return size > 0 and stored == 4 * -(-path.stat().st_size // size)


def fits_checksums(path: Path) -> bool:
    """Whether a file is what the checksums beside it say; true where there are none."""
    try:
        content = crc_file(path).read_bytes()
    except FileNotFoundError:
        return True
    if content[:4] != _MAGIC or len(content) % 4:
        return False
    size, *expected = struct.unpack(f">{len(content) // 4 - 1}I", content[4:])
    checksums: list[int] = []
    with path.open("rb") as file:
        while size and (chunk := file.read(size)):
            checksums.append(zlib.crc32(chunk))
    return checksums == expected
