"""The row counts of text files, stored by file.

A CSV or JSON file does not state its number of rows. Spark counts them once, with the options that the source is read
with. The file that stores the counts can be lost without harm: if it is damaged, of another version, or the options of
a source change, files are counted again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from slackwater.errors import StateError
from slackwater.job.store.manifest import Record, read_record, write_record
from slackwater.job.store.pins import FilePin
from slackwater.job.store.store import Store

VERSION = 1


class FileRows(Record):
    """The rows of a file; of a feed also those that it inserts, updates and deletes."""

    pin: FilePin
    rows: int
    kinds: tuple[int, int, int] | None = None


class SourceRows(Record):
    """What was counted of a source, and the way in which its files were read."""

    read_as: str
    files: tuple[FileRows, ...]


class RowsRecord(Record):
    """All that was counted, by source."""

    version: int
    sources: dict[str, SourceRows]


def known_rows(store: Store) -> dict[str, SourceRows]:
    """What was counted before; a damaged file only means counting again."""
    try:
        record = read_record(store.rows_file, RowsRecord)
    except StateError:
        return {}
    return dict(record.sources) if record is not None and record.version == VERSION else {}


def keep_rows(store: Store, rows: Mapping[str, SourceRows]) -> None:
    write_record(store.rows_file, RowsRecord(version=VERSION, sources=dict(rows)))


def by_path(files: Iterable[FileRows]) -> dict[str, FileRows]:
    return {file.pin.path: file for file in files}
