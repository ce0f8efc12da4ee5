"""States that look whole and are not: found by reading every byte, once Spark has failed over them.

Before a run only the lengths of files and checksums of their footers and of a sample are looked at, for that costs
little. Spark notices the rest while it reads: parquet and, on a local disk, a file of checksums beside each data file,
which Hadoop writes and verifies.
"""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from slackwater.job.data_files import is_whole
from slackwater.job.work import Work

_MAGIC = b"crc\0"


def damaged_states(work: Work) -> frozenset[str]:
    """The states among those that a run reads which do not hold what they should."""
    return frozenset(
        name
        for name in work.reads & work.states.keys() - work.targets.keys()
        if any(not is_sound(work.store.state / file.path) for file in work.states[name].files)
    )


def damaged_file(work: Work, name: str) -> Path | None:
    """The first file of a state that is not what it was."""
    state = work.states.get(name)
    for file in state.files if state is not None else ():
        path = work.store.state / file.path
        if not is_whole(path, file) or not is_sound(path):
            return path
    return None


def is_sound(path: Path) -> bool:
    """Whether a parquet file can be read to its last page and fits its checksums."""
    try:
        if not _fits_checksums(path):
            return False
        pq.ParquetFile(path, page_checksum_verification=True).read()
    except (OSError, pa.ArrowException):
        return False
    return True


def _fits_checksums(path: Path) -> bool:
    """Whether a file is what Hadoop's checksums beside it say; true where there are none."""
    try:
        told = path.with_name(f".{path.name}.crc").read_bytes()
    except FileNotFoundError:
        return True
    if told[:4] != _MAGIC or len(told) % 4:
        return False
    size, *expected = struct.unpack(f">{len(told) // 4 - 1}I", told[4:])
    found: list[int] = []
    with path.open("rb") as file:
        while size and (chunk := file.read(size)):
            found.append(zlib.crc32(chunk))
    return found == expected
