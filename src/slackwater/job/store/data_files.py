"""The files that runs wrote, recorded with size and checksum, and the check that they are complete."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from slackwater.errors import Place, StateError
from slackwater.job.store.checksums import sampled_checksum
from slackwater.job.store.manifest import DataFile, StateRecord

_HIDDEN = ("_", ".")
"""How names begin that Spark passes over: `_SUCCESS`, and the checksums that Hadoop writes."""


def data_file(path: Path, base: Path) -> DataFile:
    """A file that was just written, as a manifest names it."""
    try:
        size, checksum = path.stat().st_size, sampled_checksum(path)
    except OSError as error:
        raise _unreadable(path, error.strerror) from None
    return DataFile(path=path.relative_to(base).as_posix(), size=size, rows=rows_of_file(path), checksum=checksum)


def _unreadable(path: Path, why: object) -> StateError:
    return StateError(f"this file was just written and cannot be read: {why}", place=Place(str(path)))


def files_in(directory: Path) -> list[Path]:
    """What Spark would read in a directory, in order of the names."""
    if not directory.is_dir():
        return []
    return sorted(path for path in directory.iterdir() if not path.name.startswith(_HIDDEN))


def rows_of_file(path: Path) -> int | None:
    """The rows of a parquet file; None for a format that does not say."""
    if path.suffix != ".parquet":
        return None
    try:
        return int(pq.read_metadata(path).num_rows)
    except (OSError, pa.ArrowException) as error:
        raise _unreadable(path, error) from None


def all_whole(base: Path, files: Iterable[DataFile]) -> bool:
    """Whether files are there, each with the size and the checksum it had."""
    return all(is_whole(base / file.path, file) for file in files)


def is_whole(path: Path, file: DataFile) -> bool:
    """Whether a file has the size and the checksum it had; older versions recorded no checksum."""
    try:
        if not path.is_file() or path.stat().st_size != file.size:
            return False
        return file.checksum is None or sampled_checksum(path) == file.checksum
    except OSError:
        return False


def files_beside(base: Path, state: StateRecord) -> list[Path]:
    """Files in the directories of a state that are not its own."""
    own = {base / file.path for file in state.files}
    return [path for part in state.parts for path in files_in(base / part) if path not in own]
