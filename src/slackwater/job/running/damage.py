"""Finds damaged states by reading every byte, after Spark has failed to read them.

Before a run only the lengths of files and checksums of their footers and of a sample are checked, because that is
cheap. Spark notices the rest while it reads: parquet and, on a local disk, a file of checksums beside each data file,
which Hadoop writes and verifies.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from slackwater.job.running.work import RunWork
from slackwater.job.store.data_files import is_whole
from slackwater.job.store.hadoop_crc import fits_checksums


def damaged_states(work: RunWork) -> frozenset[str]:
    """The states among those that a run reads which do not hold what they should."""
    return frozenset(
        name
        for name in work.reads & work.states.keys() - work.targets.keys()
        if any(not is_sound(work.store.state / file.path) for file in work.states[name].files)
    )


def damaged_file(work: RunWork, name: str) -> Path | None:
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
        if not fits_checksums(path):
            return False
        pq.ParquetFile(path, page_checksum_verification=True).read()
    except (OSError, pa.ArrowException):
        return False
    return True
